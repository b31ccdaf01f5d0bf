/*
 * The text form, middle level: nodes and stages.
 */
#include <string.h>

#include "ir/ops.h"
#include "ir/text.h"

/* ---- references ---- */

bool reader_tensor(struct reader *r, int *tensor)
{
    struct token token = r->token;

    if (token.kind != TOKEN_NAME || token.suffix != '#') {
        if (token.kind == TOKEN_NAME && (intptr_t)map_get(&r->tensors, token.text) < 0)
            return reader_fail(r, IR_INVALID, "there are several tensors '%s': write %s#number",
                               token.text, token.text);
        return reader_look_up(r, &r->tensors, "tensor", tensor);
    }
    *tensor = token.number;
    if ((size_t)token.number >= r->tensor_list.count ||
        strcmp(r->tensor_list.at[token.number].name, token.text) != 0)
        return reader_fail(r, IR_INVALID, "no tensor '%s#%d'", token.text, token.number);
    return reader_next(r);
}

/* The innermost index of that name, or name#position in the scope. */
static bool parse_index(struct reader *r, int *index, int *position)
{
    struct token token = r->token;
    size_t found = r->scope.count;

    if (token.kind != TOKEN_NAME || token.suffix == '@')
        return reader_fail(r, IR_SYNTAX, "expected an index, found '%s'", token.text);
    for (size_t i = 0; i < r->scope.count; i++) {
        if (strcmp(r->index_list.at[r->scope.at[i]].name, token.text) == 0 &&
            (!token.suffix || i == (size_t)token.number))
            found = i;
    }
    if (found == r->scope.count)
        return reader_fail(r, IR_INVALID, "no index '%s' here", token.text);
    *index = r->scope.at[found];
    *position = (int)found;
    return reader_next(r);
}

bool reader_node(struct reader *r, int *node)
{
    if (r->token.kind != TOKEN_NODE)
        return reader_fail(r, IR_SYNTAX, "expected a node such as %%0, found '%s'", r->token.text);
    if ((size_t)r->token.number >= r->nodes.count)
        return reader_fail(r, IR_INVALID, "node %s is not defined before it is used",
                           r->token.text);
    *node = r->token.number;
    return reader_next(r);
}

struct int_list VECTOR(int);

bool reader_node_list(struct reader *r, const char *open, const char *close, const int **nodes,
                      int *count)
{
    struct int_list list = {0};
    int node;

    if (!reader_skip(r, open, NULL))
        return false;
    bool more = !reader_is(r, close);
    while (more) {
        if (!reader_room(r, list.count, IR_TEXT_WIDTH, "nodes in a list") || !reader_node(r, &node))
            return false;
        vector_push(r->arena, &list, node);
        if (!reader_skip(r, ",", &more))
            return false;
    }
    *nodes = list.at;
    *count = (int)list.count;
    return reader_skip(r, close, NULL);
}

bool reader_tensors(struct reader *r, const int **tensors, int *count)
{
    struct int_list list = {0};
    int tensor;

    if (!reader_skip(r, "(", NULL))
        return false;
    bool more = !reader_is(r, ")");
    while (more) {
        if (!reader_room(r, list.count, IR_TEXT_ITEMS, "tensors in a list") ||
            !reader_tensor(r, &tensor))
            return false;
        vector_push(r->arena, &list, tensor);
        if (!reader_skip(r, ",", &more))
            return false;
    }
    *tensors = list.at;
    *count = (int)list.count;
    return reader_skip(r, ")", NULL);
}

/* ---- nodes ---- */

static bool parse_read(struct reader *r, struct ir_node *node)
{
    struct token token = r->token;
    bool found;
    int count;

    node->read.guard = node->read.otherwise = IR_NONE;
    if (!reader_tensor(r, &node->read.tensor) ||
        !reader_node_list(r, "[", "]", &node->read.at, &count) || !reader_skip(r, "guard", &found))
        return false;
    const struct ir_tensor *tensor = &r->tensor_list.at[node->read.tensor];
    node->type = dtype_compute(tensor->dtype);
    if (count != tensor->rank)
        return reader_fail_at(r, IR_INVALID, token.place, "'%s' has rank %d, not %d", tensor->name,
                              tensor->rank, count);
    if (found && !reader_node(r, &node->read.guard))
        return false;
    if (!reader_skip(r, "else", &found) || (found && !reader_node(r, &node->read.otherwise)))
        return false;
    return reader_skip(r, "checked", &node->read.checked) &&
           reader_skip(r, "proved", &node->read.proved);
}

static bool parse_bool(struct reader *r, struct ir_node *node)
{
    node->type = DTYPE_BOOL;
    node->integer = reader_is(r, "true");
    if (!reader_is(r, "true") && !reader_is(r, "false"))
        return reader_fail(r, IR_SYNTAX, "expected true or false, found '%s'", r->token.text);
    return reader_next(r);
}

/* A leaf, or a conversion whose type follows the word; *leaf is false when arguments follow. */
static bool parse_special(struct reader *r, struct ir_node *node, bool *leaf)
{
    int position;

    *leaf = true;
    node->type = DTYPE_I64;
    if (ir_text_typed(node->op) && !reader_type(r, &node->type))
        return false;
    switch (node->op) {
    case IR_INT: return reader_integer(r, &node->integer);
    case IR_FLOAT: return reader_number(r, &node->number);
    case IR_BOOL: return parse_bool(r, node);
    case IR_SIZE: return reader_size(r, &node->size);
    case IR_INDEX: return parse_index(r, &node->index, &position);
    case IR_PARAM: return reader_count(r, 0, 2 * IR_TEXT_WIDTH, &node->param);
    case IR_READ: return parse_read(r, node);
    case IR_SCALAR:
        if (!reader_look_up(r, &r->scalars, "scalar", &node->scalar))
            return false;
        node->type = dtype_compute(r->scalar_list.at[node->scalar].dtype);
        return true;
    case IR_CAST:
        *leaf = false;
        if (!reader_type(r, &node->cast))
            return false;
        node->type = dtype_compute(node->cast);
        return true;
    default: *leaf = false; return true;
    }
}

static bool parse_node(struct reader *r)
{
    struct ir_node node = {.a = IR_NONE, .b = IR_NONE, .c = IR_NONE, .place = r->token.place};
    int *arguments[] = {&node.a, &node.b, &node.c};
    const char *name;
    bool leaf;

    if ((size_t)r->token.number != r->nodes.count)
        return reader_fail(r, IR_INVALID, "node %s stands where %%%zu must stand", r->token.text,
                           r->nodes.count);
    if (!reader_room(r, r->nodes.count, IR_TEXT_NODES, "nodes") || !reader_next(r) ||
        !reader_skip(r, "=", NULL))
        return false;
    struct token token = r->token;
    if (!reader_name(r, &name))
        return false;
    if (!ir_op_parse(name, &node.op))
        return reader_fail_at(r, IR_SYNTAX, token.place, "no operation '%s'", name);
    if (!parse_special(r, &node, &leaf))
        return false;
    for (int i = 0; !leaf && i < ir_op_arguments(node.op); i++) {
        if ((i && !reader_skip(r, ",", NULL)) || !reader_node(r, arguments[i]))
            return false;
    }
    enum ir_op_class class = ir_op_class(node.op);
    if (class == IR_CLASS_COMPARE || class == IR_CLASS_LOGIC || class == IR_CLASS_TEST)
        node.type = DTYPE_BOOL;
    if (!check_node(r, &node, token.place))
        return false;
    vector_push(r->arena, &r->needs, check_needs(r, &node));
    vector_push(r->arena, &r->nodes, node);
    return true;
}

bool reader_nodes(struct reader *r, struct ir_nodes *nodes)
{
    r->nodes = (struct node_list){0};
    r->needs = (struct needs_list){0};
    while (r->token.kind == TOKEN_NODE) {
        if (!parse_node(r))
            return false;
    }
    nodes->at = r->nodes.at;
    nodes->count = (int)r->nodes.count;
    return true;
}

/* ---- stages ---- */

/* A node named in the header, before the nodes: looked at again when they are known. */
static bool parse_early_node(struct reader *r, int *node)
{
    if (r->token.kind != TOKEN_NODE)
        return reader_fail(r, IR_SYNTAX, "expected a node such as %%0, found '%s'", r->token.text);
    *node = r->token.number;
    return reader_next(r);
}

static bool parse_new_index(struct reader *r, bool range)
{
    struct ir_index index = {.low = IR_NONE, .high = IR_NONE};
    bool found;

    if (!reader_room(r, r->index_list.count, IR_TEXT_INDICES, "indices") ||
        !reader_name(r, &index.name) || !reader_skip(r, "<", &found))
        return false;
    if (found || !range) {
        if (!found)
            return reader_skip(r, "<", NULL);
        if (!reader_size(r, &index.extent))
            return false;
    } else if (!reader_skip(r, "in", NULL) || !parse_early_node(r, &index.low) ||
               !reader_skip(r, "..", NULL) || !parse_early_node(r, &index.high)) {
        return false;
    }
    vector_push(r->arena, &r->scope, (int)r->index_list.count);
    vector_push(r->arena, &r->index_list, index);
    return true;
}

static bool parse_new_indices(struct reader *r)
{
    bool more = true;

    while (more) {
        if (!reader_room(r, r->scope.count - r->scope_outer, IR_TEXT_WIDTH, "indices in a stage") ||
            !parse_new_index(r, true) || !reader_skip(r, ",", &more))
            return false;
    }
    return true;
}

/* over b < B, c < C | d < D */
static bool parse_domain(struct reader *r, struct ir_stage *stage)
{
    bool reduces = stage->kind == IR_REDUCE, found;

    if (!reader_skip(r, "over", reduces ? NULL : &found))
        return false;
    if (reduces) {
        if (!reader_is(r, "|") && !parse_new_indices(r))
            return false;
        stage->left_count = (int)(r->scope.count - r->scope_outer);
        if (!reader_skip(r, "|", NULL))
            return false;
        found = !reader_is(r, "{") && !reader_is(r, "if");
    }
    if (found && !parse_new_indices(r))
        return false;
    stage->index_count = (int)(r->scope.count - r->scope_outer);
    if (!reduces)
        stage->left_count = stage->index_count;
    int *indices = arena_array(r->arena, (size_t)stage->index_count, sizeof *indices);
    for (int i = 0; i < stage->index_count; i++)
        indices[i] = r->scope.at[r->scope_outer + (size_t)i];
    stage->indices = indices;
    return true;
}

static bool parse_monoid_name(struct reader *r, struct ir_stage *stage)
{
    struct token token = r->token;

    if (stage->kind == IR_SCATTER && reader_is(r, "assign")) {
        stage->assign = true;
        return reader_next(r);
    }
    if (token.kind != TOKEN_NAME || token.suffix == '#')
        return reader_fail(r, IR_SYNTAX, "expected a monoid, found '%s'", token.text);
    if (token.suffix == '@') {
        if ((size_t)token.number >= r->monoids.count ||
            strcmp(r->monoids.at[token.number]->name, token.text) != 0)
            return reader_fail(r, IR_INVALID, "no monoid '%s@%d'", token.text, token.number);
        stage->monoid = r->monoids.at[token.number];
        return reader_next(r);
    }
    const struct ir_text_monoid *known = ir_text_monoid(token.text, IR_USER);
    if (!known)
        return reader_fail(r, IR_INVALID, "no monoid '%s'", token.text);
    struct ir_monoid *monoid = arena_new(r->arena, struct ir_monoid);
    monoid->kind = known->kind;
    monoid->name = known->name;
    monoid->width = known->width;
    stage->monoid = monoid;
    return reader_next(r);
}

/* along t reverse exclusive; from y0; if %3 */
static bool parse_conditions(struct reader *r, struct ir_stage *stage)
{
    bool found;
    int position;

    if (stage->kind == IR_SCAN) {
        if (!reader_skip(r, "along", NULL))
            return false;
        struct token token = r->token;
        if (!parse_index(r, &stage->along, &position))
            return false;
        if ((size_t)position < r->scope_outer)
            return reader_fail_at(r, IR_INVALID, token.place,
                                  "a scan runs along an index of its own");
        return reader_skip(r, "reverse", &stage->reverse) &&
               reader_skip(r, "exclusive", &stage->exclusive);
    }
    if (stage->kind == IR_SCATTER) {
        if (!reader_skip(r, "from", &found) || (found && !reader_tensor(r, &stage->from)))
            return false;
    }
    if (stage->kind == IR_REDUCE || stage->kind == IR_SCATTER) {
        if (!reader_skip(r, "if", &found) || (found && !parse_early_node(r, &stage->predicate)))
            return false;
    }
    return true;
}

static bool parse_writes(struct reader *r, struct ir_stage *stage)
{
    struct write_list VECTOR(struct ir_write) writes = {0};
    bool ranked = stage->kind == IR_REDUCE &&
                  (stage->monoid->kind == IR_TOPK || stage->monoid->kind == IR_BOTTOMK);

    while (!reader_is(r, "}")) {
        struct ir_write write;
        struct token token = r->token;
        int count;
        if (!reader_room(r, writes.count, IR_TEXT_WIDTH, "writes") ||
            !reader_tensor(r, &write.tensor) || !reader_node_list(r, "[", "]", &write.at, &count) ||
            !reader_skip(r, "<-", NULL) || !reader_node(r, &write.value))
            return false;
        const struct ir_tensor *tensor = &r->tensor_list.at[write.tensor];
        if (count != tensor->rank - ranked)
            return reader_fail_at(r, IR_INVALID, token.place, "'%s' has rank %d: %d nodes, not %d",
                                  tensor->name, tensor->rank, tensor->rank - ranked, count);
        vector_push(r->arena, &writes, write);
    }
    stage->writes = writes.at;
    stage->write_count = (int)writes.count;
    return true;
}

static bool parse_computation(struct reader *r, struct ir_stage *stage)
{
    r->scope_outer = r->scope.count;
    bool good = reader_next(r) && (stage->kind == IR_MAP || parse_monoid_name(r, stage)) &&
                parse_domain(r, stage) && parse_conditions(r, stage) && reader_skip(r, "{", NULL) &&
                reader_nodes(r, &stage->nodes) && parse_writes(r, stage) &&
                check_computation(r, stage) && reader_skip(r, "}", NULL);
    r->scope.count = r->scope_outer;
    return good;
}

static bool parse_call_sizes(struct reader *r, struct ir_stage *stage)
{
    const struct ir_part *callee = stage->callee;
    const struct ir_size **sizes =
        arena_array(r->arena, (size_t)callee->symbol_count, sizeof *sizes);
    bool first = true;

    stage->sizes = sizes;
    if (!reader_skip(r, "sizes", NULL) || !reader_skip(r, "(", NULL))
        return false;
    for (int i = 0; i < callee->symbol_count; i++) {
        if (callee->symbols[i].kind == IR_SYMBOL_LET)
            continue;
        if ((!first && !reader_skip(r, ",", NULL)) ||
            !reader_skip(r, callee->symbols[i].name, NULL) || !reader_skip(r, "=", NULL) ||
            !reader_size(r, &sizes[i]))
            return false;
        first = false;
    }
    return reader_skip(r, ")", NULL);
}

/* The nodes follow: which ones the scalars are is looked at again then. */
static bool parse_call_scalars(struct reader *r, struct ir_stage *stage)
{
    const struct ir_part *callee = stage->callee;
    int *scalars = arena_array(r->arena, (size_t)callee->scalar_count, sizeof *scalars);

    stage->scalars = scalars;
    if (!reader_skip(r, "scalars", NULL) || !reader_skip(r, "(", NULL))
        return false;
    for (int i = 0; i < callee->scalar_count; i++) {
        if ((i && !reader_skip(r, ",", NULL)) || !reader_skip(r, callee->scalars[i].name, NULL) ||
            !reader_skip(r, "=", NULL) || !parse_early_node(r, &scalars[i]))
            return false;
    }
    return reader_skip(r, ")", NULL);
}

static bool parse_call(struct reader *r, struct ir_stage *stage)
{
    int callee, inputs, outputs;

    if (!reader_next(r) || !reader_look_up(r, &r->part_names, "part", &callee))
        return false;
    if ((size_t)callee >= r->parts.count)
        return reader_fail_at(r, IR_INVALID, stage->place, "a part cannot call itself");
    stage->callee = r->parts.at[callee];
    if (!reader_tensors(r, &stage->inputs, &inputs) || !reader_skip(r, "->", NULL) ||
        !reader_tensors(r, &stage->outputs, &outputs))
        return false;
    if (inputs != stage->callee->input_count || outputs != stage->callee->output_count)
        return reader_fail_at(r, IR_INVALID, stage->place, "'%s' takes %d tensors and gives %d",
                              stage->callee->name, stage->callee->input_count,
                              stage->callee->output_count);
    if (!parse_call_sizes(r, stage) || !parse_call_scalars(r, stage) || !reader_skip(r, "{", NULL))
        return false;
    r->constant = true;
    if (!reader_nodes(r, &stage->nodes))
        return false;
    r->constant = false;
    return reader_check_call(r, stage) && reader_skip(r, "}", NULL);
}

static bool parse_carries(struct reader *r, struct ir_stage *stage)
{
    struct carry_list VECTOR(struct ir_carry) carries = {0};

    if (!reader_skip(r, "carry", NULL) || !reader_skip(r, "(", NULL))
        return false;
    bool more = !reader_is(r, ")");
    while (more) {
        struct ir_carry carry;
        struct token token = r->token;
        if (!reader_room(r, carries.count, IR_TEXT_ITEMS, "carries") ||
            !reader_tensor(r, &carry.state) || !reader_skip(r, "<-", NULL) ||
            !reader_tensor(r, &carry.next) || !reader_skip(r, ",", &more))
            return false;
        const struct ir_tensor *state = &r->tensor_list.at[carry.state];
        if (state->role != IR_TENSOR_STATE || r->states.at[carry.state] != TENSOR_DEFINED)
            return reader_fail_at(r, IR_INVALID, token.place,
                                  "'%s' is not a state that is defined and carried only here",
                                  state->name);
        r->states.at[carry.state] |= TENSOR_CARRIED;
        vector_push(r->arena, &carries, carry);
    }
    stage->carries = carries.at;
    stage->carry_count = (int)carries.count;
    return reader_skip(r, ")", NULL);
}

static bool parse_loop(struct reader *r, struct ir_stage *stage)
{
    if (!reader_next(r) || !parse_new_index(r, false))
        return false;
    stage->loop_index = (int)r->index_list.count - 1;
    if (!reader_skip(r, "reverse", &stage->reverse) || !parse_carries(r, stage) ||
        !reader_skip(r, "{", NULL))
        return false;
    if (++r->loops > IR_TEXT_LOOPS)
        return reader_fail_at(r, IR_LIMIT, stage->place, "loops are nested more than %d deep",
                              IR_TEXT_LOOPS);
    if (!reader_stages(r, &stage->body, &stage->body_count))
        return false;
    r->loops--;
    r->scope.count--;
    return check_carries(r, stage) && reader_skip(r, "}", NULL);
}

bool reader_stages(struct reader *r, struct ir_stage **stages, int *count)
{
    static const char *const words[] = {"map", "reduce", "scan", "scatter", "call", "loop"};
    struct stage_list VECTOR(struct ir_stage) list = {0};

    while (!reader_is(r, "}")) {
        struct ir_stage stage = {
            .place = r->token.place, .predicate = IR_NONE, .along = IR_NONE, .from = IR_NONE};
        int kind = 0;
        while (kind <= IR_LOOP && !reader_is(r, words[kind]))
            kind++;
        if (kind > IR_LOOP)
            return reader_fail(r, IR_SYNTAX, "expected a stage or '}', found '%s'", r->token.text);
        stage.kind = (enum ir_stage_kind)kind;
        if (!reader_room(r, list.count, IR_TEXT_ITEMS, "stages"))
            return false;
        if (!(kind == IR_CALL   ? parse_call(r, &stage)
              : kind == IR_LOOP ? parse_loop(r, &stage)
                                : parse_computation(r, &stage)))
            return false;
        vector_push(r->arena, &list, stage);
    }
    *stages = list.at;
    *count = (int)list.count;
    return true;
}
