/*
 * The text form: what must hold of a program that was read, beyond its grammar. Types agree with
 * the classes of ops.def, tensors are defined before they are used, indices reach only where they
 * may.
 */
#include "ir/ops.h"
#include "ir/text.h"

bool check_kinds(enum dtype a, enum dtype b)
{
    return dtype_is_float(a) == dtype_is_float(b) && dtype_is_integer(a) == dtype_is_integer(b);
}

/* ---- nodes ---- */

static enum dtype type_of(const struct reader *r, int node)
{
    return r->nodes.at[node].type;
}

/* Whether each of a, b, c that is there is of the given kind. */
static bool arguments_are(const struct reader *r, const struct ir_node *node, enum dtype kind)
{
    return (node->a == IR_NONE || check_kinds(type_of(r, node->a), kind)) &&
           (node->b == IR_NONE || check_kinds(type_of(r, node->b), kind)) &&
           (node->c == IR_NONE || check_kinds(type_of(r, node->c), kind));
}

static bool types_agree(const struct reader *r, const struct ir_node *node)
{
    switch (ir_op_class(node->op)) {
    case IR_CLASS_FLOAT: return dtype_is_float(node->type) && arguments_are(r, node, node->type);
    case IR_CLASS_ARITH: return node->type != DTYPE_BOOL && arguments_are(r, node, node->type);
    case IR_CLASS_INTEGER: return arguments_are(r, node, DTYPE_I64);
    case IR_CLASS_COMPARE: return arguments_are(r, node, type_of(r, node->a));
    case IR_CLASS_LOGIC: return arguments_are(r, node, DTYPE_BOOL);
    case IR_CLASS_TEST: return arguments_are(r, node, DTYPE_F64);
    case IR_CLASS_OTHER: break;
    }
    switch (node->op) {
    case IR_FLOAT: return dtype_is_float(node->type);
    case IR_TO_FLOAT: return dtype_is_float(node->type) && type_of(r, node->a) != DTYPE_BOOL;
    case IR_SELECT:
        return type_of(r, node->a) == DTYPE_BOOL && check_kinds(type_of(r, node->b), node->type) &&
               check_kinds(type_of(r, node->c), node->type);
    default: return true;
    }
}

static bool check_read(struct reader *r, const struct ir_node *node, struct place place)
{
    const struct ir_tensor *tensor = &r->tensor_list.at[node->read.tensor];

    if (!(r->states.at[node->read.tensor] & TENSOR_DEFINED))
        return reader_fail_at(r, IR_INVALID, place, "'%s' is read before it is defined",
                              tensor->name);
    for (int i = 0; i < tensor->rank; i++) {
        if (type_of(r, node->read.at[i]) != DTYPE_I64)
            return reader_fail_at(r, IR_INVALID, place,
                                  "dimension %d of '%s' is not read at an "
                                  "integer",
                                  i, tensor->name);
    }
    if (node->read.guard != IR_NONE && type_of(r, node->read.guard) != DTYPE_BOOL)
        return reader_fail_at(r, IR_INVALID, place, "the guard is not a bool");
    if (node->read.otherwise != IR_NONE &&
        !check_kinds(type_of(r, node->read.otherwise), node->type))
        return reader_fail_at(r, IR_INVALID, place, "the value after 'else' is not a %s",
                              dtype_name(node->type));
    return true;
}

bool check_node(struct reader *r, const struct ir_node *node, struct place place)
{
    enum ir_op op = node->op;
    bool outside = op == IR_READ || op == IR_INDEX;

    if (dtype_compute(node->type) != node->type)
        return reader_fail_at(r, IR_INVALID, place, "nothing computes in %s",
                              dtype_name(node->type));
    if (r->monoid ? outside || op == IR_SIZE || op == IR_SCALAR : op == IR_PARAM)
        return reader_fail_at(r, IR_INVALID, place, "'%s' has no meaning %s a monoid",
                              ir_op_name(op), r->monoid ? "in" : "outside");
    if (r->constant && outside)
        return reader_fail_at(r, IR_INVALID, place, "an argument of a call cannot depend on '%s'",
                              ir_op_name(op));
    if (op == IR_PARAM && node->param >= 2 * r->monoid->width)
        return reader_fail_at(r, IR_INVALID, place, "a monoid of width %d has no param %d",
                              r->monoid->width, node->param);
    if (op == IR_READ && !check_read(r, node, place))
        return false;
    if (!types_agree(r, node))
        return reader_fail_at(r, IR_INVALID, place,
                              "the types of '%s' and its arguments do not "
                              "fit",
                              ir_op_name(op));
    return true;
}

static void needs_add(const struct reader *r, struct node_needs *needs, int node)
{
    if (node == IR_NONE)
        return;
    const struct node_needs *more = &r->needs.at[node];
    needs->position = more->position > needs->position ? more->position : needs->position;
    needs->reads |= more->reads;
    needs->params |= more->params;
}

struct node_needs check_needs(const struct reader *r, const struct ir_node *node)
{
    struct node_needs needs = {
        .position = -1, .reads = node->op == IR_READ, .params = node->op == IR_PARAM};

    needs_add(r, &needs, node->a);
    needs_add(r, &needs, node->b);
    needs_add(r, &needs, node->c);
    if (node->op == IR_INDEX) {
        for (size_t i = r->scope_outer; i < r->scope.count; i++) {
            if (r->scope.at[i] == node->index)
                needs.position = (int)(i - r->scope_outer);
        }
    }
    if (node->op == IR_READ) {
        for (int i = 0; i < r->tensor_list.at[node->read.tensor].rank; i++)
            needs_add(r, &needs, node->read.at[i]);
        needs_add(r, &needs, node->read.guard);
        needs_add(r, &needs, node->read.otherwise);
    }
    return needs;
}

/* ---- monoids ---- */

bool reader_check_monoid(struct reader *r, const struct ir_monoid *monoid, struct place place)
{
    for (int i = 0; i < monoid->width; i++) {
        if (!check_kinds(type_of(r, monoid->results[i]), type_of(r, monoid->units[i])))
            return reader_fail_at(r, IR_INVALID, place, "result and unit %d differ in type", i);
        if (r->needs.at[monoid->units[i]].params)
            return reader_fail_at(r, IR_INVALID, place, "unit %d is not a constant", i);
    }
    for (int i = 0; i < monoid->nodes.count; i++) {
        const struct ir_node *node = &monoid->nodes.at[i];
        if (node->op == IR_PARAM &&
            !check_kinds(node->type, type_of(r, monoid->results[node->param % monoid->width])))
            return reader_fail_at(r, IR_INVALID, node->place,
                                  "param %d differs in type from the result", node->param);
    }
    return true;
}

/* Whether the value of component i may have this type. */
static bool monoid_takes(const struct ir_monoid *monoid, int i, enum dtype type)
{
    switch (monoid->kind) {
    case IR_ALL:
    case IR_ANY: return type == DTYPE_BOOL;
    case IR_USER: return check_kinds(monoid->nodes.at[monoid->results[i]].type, type);
    default: return i == 0 ? type != DTYPE_BOOL : type == DTYPE_I64;
    }
}

/* ---- stages ---- */

static bool check_ranges(struct reader *r, const struct ir_stage *stage)
{
    for (int i = 0; i < stage->index_count; i++) {
        const struct ir_index *index = &r->index_list.at[stage->indices[i]];
        int ends[2] = {index->low, index->high};
        for (int end = 0; !index->extent && end < 2; end++) {
            if (ends[end] >= stage->nodes.count || type_of(r, ends[end]) != DTYPE_I64 ||
                r->needs.at[ends[end]].position >= i)
                return reader_fail_at(r, IR_INVALID, stage->place,
                                      "the range of '%s' must be integers that depend on the "
                                      "indices before it",
                                      index->name);
        }
    }
    if (stage->predicate != IR_NONE &&
        (stage->predicate >= stage->nodes.count || type_of(r, stage->predicate) != DTYPE_BOOL))
        return reader_fail_at(r, IR_INVALID, stage->place, "the condition is not a bool");
    return true;
}

/* Whether a stage may define this tensor. */
static bool check_target(struct reader *r, int tensor, struct place place)
{
    const struct ir_tensor *target = &r->tensor_list.at[tensor];

    if (target->role == IR_TENSOR_INPUT)
        return reader_fail_at(r, IR_INVALID, place, "the input '%s' cannot be written",
                              target->name);
    if (r->states.at[tensor] & TENSOR_CARRIED)
        return reader_fail_at(r, IR_INVALID, place, "the state '%s' is written by its loop alone",
                              target->name);
    return true;
}

static bool check_write(struct reader *r, const struct ir_stage *stage, int number)
{
    const struct ir_write *write = &stage->writes[number];
    const struct ir_tensor *tensor = &r->tensor_list.at[write->tensor];
    bool ranked =
        stage->monoid && (stage->monoid->kind == IR_TOPK || stage->monoid->kind == IR_BOTTOMK);

    if (!check_target(r, write->tensor, stage->place))
        return false;
    for (int i = 0; i < tensor->rank - ranked; i++) {
        const struct node_needs *needs = &r->needs.at[write->at[i]];
        bool left = needs->position < stage->left_count && !needs->reads;
        if (type_of(r, write->at[i]) != DTYPE_I64 || (stage->kind != IR_SCATTER && !left))
            return reader_fail_at(r, IR_INVALID, stage->place,
                                  "dimension %d of '%s' is not written at an integer made of left "
                                  "indices",
                                  i, tensor->name);
    }
    if (!check_kinds(tensor->dtype, type_of(r, write->value)) ||
        (stage->monoid && !monoid_takes(stage->monoid, number, type_of(r, write->value))))
        return reader_fail_at(r, IR_INVALID, stage->place, "the value written to '%s' is a %s",
                              tensor->name, dtype_name(type_of(r, write->value)));
    for (int i = 0; i < number; i++) {
        if (stage->writes[i].tensor == write->tensor)
            return reader_fail_at(r, IR_INVALID, stage->place, "'%s' is written twice",
                                  tensor->name);
    }
    for (int i = 0; i < stage->nodes.count; i++) {
        const struct ir_node *node = &stage->nodes.at[i];
        if (node->op == IR_READ && node->read.tensor == write->tensor)
            return reader_fail_at(r, IR_INVALID, node->place, "'%s' is read where it is written",
                                  tensor->name);
    }
    return true;
}

static bool check_from(struct reader *r, const struct ir_stage *stage)
{
    if (stage->from == IR_NONE)
        return true;
    const struct ir_tensor *from = &r->tensor_list.at[stage->from];
    const struct ir_tensor *target = &r->tensor_list.at[stage->writes[0].tensor];
    if (!(r->states.at[stage->from] & TENSOR_DEFINED) || from == target ||
        stage->write_count != 1 || from->rank != target->rank ||
        !check_kinds(from->dtype, target->dtype))
        return reader_fail_at(r, IR_INVALID, stage->place, "'%s' cannot be what '%s' starts from",
                              from->name, target->name);
    return true;
}

bool check_computation(struct reader *r, const struct ir_stage *stage)
{
    const struct ir_monoid *monoid = stage->monoid;
    int width = monoid ? monoid->width : 1;

    if (stage->write_count != width)
        return reader_fail_at(r, IR_INVALID, stage->place, "%d tensors are written, not %d", width,
                              stage->write_count);
    if (stage->kind != IR_REDUCE && monoid &&
        (monoid->kind == IR_TOPK || monoid->kind == IR_BOTTOMK))
        return reader_fail_at(r, IR_INVALID, stage->place, "'%s' is for reductions alone",
                              monoid->name);
    if (!check_ranges(r, stage))
        return false;
    for (int i = 0; i < stage->write_count; i++) {
        if (!check_write(r, stage, i))
            return false;
    }
    if (!check_from(r, stage))
        return false;
    for (int i = 0; i < stage->write_count; i++)
        r->states.at[stage->writes[i].tensor] |= TENSOR_DEFINED;
    return true;
}

/* Whether a tensor of this part can stand for one of the callee's. */
static bool check_argument(struct reader *r, const struct ir_stage *stage, int tensor,
                           int parameter)
{
    const struct ir_tensor *mine = &r->tensor_list.at[tensor];
    const struct ir_tensor *theirs = &stage->callee->tensors[parameter];

    if (mine->rank != theirs->rank || !check_kinds(mine->dtype, theirs->dtype))
        return reader_fail_at(r, IR_INVALID, stage->place,
                              "'%s' does not fit '%s' of '%s' in rank or type", mine->name,
                              theirs->name, stage->callee->name);
    return true;
}

static bool check_call_tensors(struct reader *r, const struct ir_stage *stage)
{
    const struct ir_part *callee = stage->callee;

    r->stamp++;
    for (int i = 0; i < callee->input_count; i++) {
        int tensor = stage->inputs[i];
        if (!check_argument(r, stage, tensor, callee->inputs[i]))
            return false;
        if (!(r->states.at[tensor] & TENSOR_DEFINED))
            return reader_fail_at(r, IR_INVALID, stage->place, "'%s' is read before it is defined",
                                  r->tensor_list.at[tensor].name);
        r->marks.at[tensor] = r->stamp;
    }
    for (int i = 0; i < callee->output_count; i++) {
        int tensor = stage->outputs[i];
        if (!check_argument(r, stage, tensor, callee->outputs[i]) ||
            !check_target(r, tensor, stage->place))
            return false;
        if (r->marks.at[tensor] == r->stamp)
            return reader_fail_at(r, IR_INVALID, stage->place,
                                  "'%s' is an output and something else in one call",
                                  r->tensor_list.at[tensor].name);
        r->marks.at[tensor] = r->stamp;
    }
    return true;
}

bool reader_check_call(struct reader *r, const struct ir_stage *stage)
{
    const struct ir_part *callee = stage->callee;

    if (!check_call_tensors(r, stage))
        return false;
    for (int i = 0; i < callee->scalar_count; i++) {
        if (stage->scalars[i] >= stage->nodes.count ||
            !check_kinds(type_of(r, stage->scalars[i]), callee->scalars[i].dtype))
            return reader_fail_at(r, IR_INVALID, stage->place, "scalar '%s' is not given a %s",
                                  callee->scalars[i].name, dtype_name(callee->scalars[i].dtype));
    }
    for (int i = 0; i < callee->output_count; i++)
        r->states.at[stage->outputs[i]] |= TENSOR_DEFINED;
    return true;
}

bool check_carries(struct reader *r, const struct ir_stage *stage)
{
    for (int i = 0; i < stage->carry_count; i++) {
        const struct ir_tensor *state = &r->tensor_list.at[stage->carries[i].state];
        const struct ir_tensor *next = &r->tensor_list.at[stage->carries[i].next];
        if (!(r->states.at[stage->carries[i].next] & TENSOR_DEFINED) || state->rank != next->rank ||
            !check_kinds(state->dtype, next->dtype))
            return reader_fail_at(r, IR_INVALID, stage->place, "'%s' cannot become '%s'",
                                  next->name, state->name);
    }
    return true;
}

/* Every tensor of that role is in the list, once, and nothing else is. */
static bool check_signature(struct reader *r, const int *tensors, int count,
                            enum ir_tensor_role role)
{
    int expected = 0;

    for (size_t i = 0; i < r->tensor_list.count; i++)
        expected += r->tensor_list.at[i].role == role;
    if (count != expected)
        return reader_fail_at(r, IR_INVALID, r->part->place,
                              "the signature of '%s' lists %d of %d inputs or outputs",
                              r->part->name, count, expected);
    r->stamp++;
    for (int i = 0; i < count; i++) {
        if (r->tensor_list.at[tensors[i]].role != role || r->marks.at[tensors[i]] == r->stamp)
            return reader_fail_at(r, IR_INVALID, r->part->place,
                                  "'%s' is in the wrong place of the signature, or twice",
                                  r->tensor_list.at[tensors[i]].name);
        r->marks.at[tensors[i]] = r->stamp;
    }
    return true;
}

bool check_part(struct reader *r)
{
    const struct ir_part *part = r->part;

    if (!check_signature(r, part->inputs, part->input_count, IR_TENSOR_INPUT) ||
        !check_signature(r, part->outputs, part->output_count, IR_TENSOR_OUTPUT))
        return false;
    for (int i = 0; i < part->output_count; i++) {
        if (!(r->states.at[part->outputs[i]] & TENSOR_DEFINED))
            return reader_fail_at(r, IR_INVALID, part->place, "output '%s' is never written",
                                  part->tensors[part->outputs[i]].name);
    }
    return true;
}
