/*
 * The text form of a program: everything in ir.h except places. text_parse.c reads it back;
 * printing what was read gives the same text.
 *
 * Numbers of symbols, scalars and nodes do not appear: order of appearance gives them. A tensor or
 * an index whose name alone would not find it is written name#number; a user's monoid is
 * name@number, numbered in order of first use.
 */
#include "ir/text.h"

#include <ctype.h>
#include <string.h>

#include "ir/ops.h"

struct printer {
    struct text *out;
    const struct ir_part *part;
    struct map tensors; /* name -> the one tensor of that name, or AMBIGUOUS */
    struct map monoids; /* printed body -> a number + 1, as a pointer */
    struct scope
    VECTOR(int) scope; /* indices that may be used: of the loops around, of the stage */
    int indent;
};

static const char AMBIGUOUS[1];

static const struct ir_text_monoid BUILT_IN[] = {
    {"sum", IR_SUM, 1},         {"product", IR_PRODUCT, 1}, {"max", IR_MAXIMUM, 1},
    {"min", IR_MINIMUM, 1},     {"all", IR_ALL, 1},         {"any", IR_ANY, 1},
    {"argmax", IR_ARGMAX, 2},   {"argmin", IR_ARGMIN, 2},   {"topk", IR_TOPK, 2},
    {"bottomk", IR_BOTTOMK, 2},
};

const struct ir_text_property IR_TEXT_PROPERTIES[IR_TEXT_PROPERTY_COUNT] = {
    {"index", IR_PROPERTY_INDEX, true},        {"offsets", IR_PROPERTY_OFFSETS, true},
    {"sorted", IR_PROPERTY_SORTED, false},     {"triangular", IR_PROPERTY_TRIANGULAR, false},
    {"constant", IR_PROPERTY_CONSTANT, false},
};

const struct ir_text_monoid *ir_text_monoid(const char *name, enum ir_monoid_kind kind)
{
    for (size_t i = 0; i < sizeof BUILT_IN / sizeof *BUILT_IN; i++) {
        if (name ? strcmp(BUILT_IN[i].name, name) == 0 : BUILT_IN[i].kind == kind)
            return &BUILT_IN[i];
    }
    return NULL;
}

bool ir_text_typed(enum ir_op op)
{
    enum ir_op_class class = ir_op_class(op);

    return class == IR_CLASS_ARITH || class == IR_CLASS_FLOAT || op == IR_FLOAT || op == IR_PARAM ||
           op == IR_TO_FLOAT || op == IR_SELECT;
}

bool ir_text_word(int c)
{
    return c < 128 && (isalnum(c) || c == '_');
}

/* ---- names ---- */

static bool is_plain(const char *name)
{
    if (isdigit((unsigned char)*name))
        return false;
    for (const char *c = name; *c; c++) {
        if (!ir_text_word((unsigned char)*c) &&
            !(*c == '.' && c > name && ir_text_word((unsigned char)c[1])))
            return false;
    }
    return *name != '\0';
}

static void line_start(struct printer *p)
{
    text_repeat(p->out, ' ', 4L * p->indent);
}

static void print_size(struct printer *p, const struct ir_size *size)
{
    ir_size_print(p->out, size, p->part);
}

static void print_tensor(struct printer *p, int tensor)
{
    const char *name = p->part->tensors[tensor].name;

    /* Tensors that the checker made have names like %1, which would read as a node. */
    text_printf(p->out, is_plain(name) ? "%s" : "\"%s\"", name);
    if (map_get(&p->tensors, name) == AMBIGUOUS)
        text_printf(p->out, "#%d", tensor);
}

/* The innermost index of that name is meant, unless a place in the scope is given. */
static void print_index(struct printer *p, int index)
{
    const char *name = p->part->indices[index].name;
    size_t named = p->scope.count, meant = p->scope.count;

    for (size_t i = 0; i < p->scope.count; i++) {
        if (strcmp(p->part->indices[p->scope.at[i]].name, name) == 0)
            named = i;
        if (p->scope.at[i] == index)
            meant = i;
    }
    text_add(p->out, name);
    if (named != meant)
        text_printf(p->out, "#%zu", meant);
}

static void print_nodes_list(struct printer *p, const int *nodes, int count)
{
    for (int i = 0; i < count; i++)
        text_printf(p->out, "%s%%%d", i ? ", " : "", nodes[i]);
}

static void print_tensor_list(struct printer *p, const int *tensors, int count)
{
    text_char(p->out, '(');
    for (int i = 0; i < count; i++) {
        text_add(p->out, i ? ", " : "");
        print_tensor(p, tensors[i]);
    }
    text_char(p->out, ')');
}

/* ---- nodes ---- */

static void print_read(struct printer *p, const struct ir_node *node)
{
    print_tensor(p, node->read.tensor);
    text_add(p->out, " [");
    print_nodes_list(p, node->read.at, p->part->tensors[node->read.tensor].rank);
    text_char(p->out, ']');
    if (node->read.guard != IR_NONE)
        text_printf(p->out, " guard %%%d", node->read.guard);
    if (node->read.otherwise != IR_NONE)
        text_printf(p->out, " else %%%d", node->read.otherwise);
    if (node->read.checked)
        text_add(p->out, " checked");
    if (node->read.proved)
        text_add(p->out, " proved");
}

static void print_node(struct printer *p, const struct ir_node *node)
{
    int arguments[3] = {node->a, node->b, node->c};

    text_printf(p->out, "%s ", ir_op_name(node->op));
    if (ir_text_typed(node->op))
        text_printf(p->out, "%s ", dtype_name(node->type));
    switch (node->op) {
    case IR_INT: text_printf(p->out, "%lld", (long long)node->integer); return;
    case IR_FLOAT: text_double(p->out, node->number); return;
    case IR_BOOL: text_add(p->out, node->integer ? "true" : "false"); return;
    case IR_SIZE: print_size(p, node->size); return;
    case IR_SCALAR: text_add(p->out, p->part->scalars[node->scalar].name); return;
    case IR_INDEX: print_index(p, node->index); return;
    case IR_PARAM: text_printf(p->out, "%d", node->param); return;
    case IR_READ: print_read(p, node); return;
    case IR_CAST: text_printf(p->out, "%s ", dtype_name(node->cast)); break;
    default: break;
    }
    print_nodes_list(p, arguments, ir_op_arguments(node->op));
}

static void print_nodes(struct printer *p, const struct ir_nodes *nodes)
{
    for (int i = 0; i < nodes->count; i++) {
        line_start(p);
        text_printf(p->out, "%%%d = ", i);
        print_node(p, &nodes->at[i]);
        text_char(p->out, '\n');
    }
}

/* ---- monoids ---- */

static void print_monoid_body(struct printer *p, const struct ir_monoid *monoid)
{
    text_printf(p->out, " width %d%s {\n", monoid->width, monoid->ordered ? " ordered" : "");
    p->indent = 1;
    print_nodes(p, &monoid->nodes);
    text_add(p->out, "    results(");
    print_nodes_list(p, monoid->results, monoid->width);
    text_add(p->out, ") units(");
    print_nodes_list(p, monoid->units, monoid->width);
    text_add(p->out, ")\n}\n");
}

/* The number of a user's monoid; monoids of the same name and body are one. */
static int monoid_number(struct printer *p, const struct ir_monoid *monoid, const char **body)
{
    struct text text = text_new(p->out->arena);
    struct printer inner = {.out = &text};

    text_printf(&text, "%s@", monoid->name);
    size_t name_length = text.length;
    print_monoid_body(&inner, monoid);
    *body = text.at + name_length;
    void *known = map_get(&p->monoids, text.at);
    if (known)
        return (int)((intptr_t)known - 1);
    map_set(&p->monoids, text.at, (void *)((intptr_t)p->monoids.count + 1));
    return (int)p->monoids.count - 1;
}

static void print_monoids(struct printer *p, const struct ir_stage *stages, int count)
{
    for (int i = 0; i < count; i++) {
        const struct ir_monoid *monoid = stages[i].monoid;
        print_monoids(p, stages[i].body, stages[i].body_count);
        if (!monoid || monoid->kind != IR_USER)
            continue;
        size_t known = p->monoids.count;
        const char *body;
        int number = monoid_number(p, monoid, &body);
        if (p->monoids.count > known)
            text_printf(p->out, "\nmonoid %s@%d%s", monoid->name, number, body);
    }
}

static void print_monoid_name(struct printer *p, const struct ir_stage *stage)
{
    const char *body;

    if (stage->kind == IR_SCATTER && stage->assign)
        text_add(p->out, " assign");
    else if (stage->monoid->kind != IR_USER)
        text_printf(p->out, " %s", ir_text_monoid(NULL, stage->monoid->kind)->name);
    else
        text_printf(p->out, " %s@%d", stage->monoid->name, monoid_number(p, stage->monoid, &body));
}

/* ---- stages ---- */

static void print_domain(struct printer *p, const struct ir_stage *stage)
{
    if (stage->index_count == 0 && stage->kind != IR_REDUCE)
        return;
    text_add(p->out, " over");
    for (int i = 0; i <= stage->index_count; i++) {
        bool bar = stage->kind == IR_REDUCE && i == stage->left_count;
        if (bar)
            text_add(p->out, " |");
        if (i == stage->index_count)
            break;
        const struct ir_index *index = &p->part->indices[stage->indices[i]];
        text_printf(p->out, "%s %s ", i && !bar ? "," : "", index->name);
        if (index->extent) {
            text_add(p->out, "< ");
            print_size(p, index->extent);
        } else {
            text_printf(p->out, "in %%%d .. %%%d", index->low, index->high);
        }
    }
}

static void print_writes(struct printer *p, const struct ir_stage *stage)
{
    bool ranked = stage->kind == IR_REDUCE &&
                  (stage->monoid->kind == IR_TOPK || stage->monoid->kind == IR_BOTTOMK);

    for (int i = 0; i < stage->write_count; i++) {
        const struct ir_write *write = &stage->writes[i];
        line_start(p);
        print_tensor(p, write->tensor);
        text_add(p->out, " [");
        print_nodes_list(p, write->at, p->part->tensors[write->tensor].rank - ranked);
        text_printf(p->out, "] <- %%%d\n", write->value);
    }
}

static void print_computation(struct printer *p, const struct ir_stage *stage)
{
    static const char *const names[] = {"map", "reduce", "scan", "scatter"};
    size_t outer = p->scope.count;

    text_add(p->out, names[stage->kind]);
    if (stage->kind != IR_MAP)
        print_monoid_name(p, stage);
    print_domain(p, stage);
    for (int i = 0; i < stage->index_count; i++)
        vector_push(p->out->arena, &p->scope, stage->indices[i]);
    if (stage->kind == IR_SCAN) {
        text_add(p->out, " along ");
        print_index(p, stage->along);
        text_add(p->out, stage->reverse ? " reverse" : "");
        text_add(p->out, stage->exclusive ? " exclusive" : "");
    }
    if (stage->kind == IR_SCATTER && stage->from != IR_NONE) {
        text_add(p->out, " from ");
        print_tensor(p, stage->from);
    }
    if ((stage->kind == IR_REDUCE || stage->kind == IR_SCATTER) && stage->predicate != IR_NONE)
        text_printf(p->out, " if %%%d", stage->predicate);
    text_add(p->out, " {\n");
    p->indent++;
    print_nodes(p, &stage->nodes);
    print_writes(p, stage);
    p->indent--;
    line_start(p);
    text_add(p->out, "}\n");
    p->scope.count = outer;
}

static void print_call(struct printer *p, const struct ir_stage *stage)
{
    const struct ir_part *callee = stage->callee;
    const char *separator = "";

    text_printf(p->out, "call %s ", callee->name);
    print_tensor_list(p, stage->inputs, callee->input_count);
    text_add(p->out, " -> ");
    print_tensor_list(p, stage->outputs, callee->output_count);
    text_add(p->out, " sizes(");
    for (int i = 0; i < callee->symbol_count; i++) {
        if (callee->symbols[i].kind == IR_SYMBOL_LET)
            continue;
        text_printf(p->out, "%s%s = ", separator, callee->symbols[i].name);
        print_size(p, stage->sizes[i]);
        separator = ", ";
    }
    text_add(p->out, ") scalars(");
    for (int i = 0; i < callee->scalar_count; i++)
        text_printf(p->out, "%s%s = %%%d", i ? ", " : "", callee->scalars[i].name,
                    stage->scalars[i]);
    text_add(p->out, ") {\n");
    p->indent++;
    print_nodes(p, &stage->nodes);
    p->indent--;
    line_start(p);
    text_add(p->out, "}\n");
}

static void print_stages(struct printer *p, const struct ir_stage *stages, int count);

static void print_loop(struct printer *p, const struct ir_stage *stage)
{
    const struct ir_index *index = &p->part->indices[stage->loop_index];

    text_printf(p->out, "loop %s < ", index->name);
    print_size(p, index->extent);
    text_add(p->out, stage->reverse ? " reverse" : "");
    text_add(p->out, " carry (");
    for (int i = 0; i < stage->carry_count; i++) {
        text_add(p->out, i ? ", " : "");
        print_tensor(p, stage->carries[i].state);
        text_add(p->out, " <- ");
        print_tensor(p, stage->carries[i].next);
    }
    text_add(p->out, ") {\n");
    vector_push(p->out->arena, &p->scope, stage->loop_index);
    p->indent++;
    print_stages(p, stage->body, stage->body_count);
    p->indent--;
    p->scope.count--;
    line_start(p);
    text_add(p->out, "}\n");
}

static void print_stages(struct printer *p, const struct ir_stage *stages, int count)
{
    for (int i = 0; i < count; i++) {
        line_start(p);
        switch (stages[i].kind) {
        case IR_CALL: print_call(p, &stages[i]); break;
        case IR_LOOP: print_loop(p, &stages[i]); break;
        default: print_computation(p, &stages[i]); break;
        }
    }
}

/* ---- parts ---- */

static void print_symbol(struct printer *p, const struct ir_symbol *symbol)
{
    static const char *const kinds[] = {"size", "parameter", "let"};

    text_printf(p->out, "    %s %s", kinds[symbol->kind], symbol->name);
    if (symbol->family)
        text_printf(p->out, " of %s[%d]", symbol->family, symbol->member);
    if (symbol->kind == IR_SYMBOL_LET) {
        text_add(p->out, " = ");
        print_size(p, symbol->definition);
    } else if (symbol->kind == IR_SYMBOL_PARAMETER && symbol->has_default) {
        text_printf(p->out, " = %lld", (long long)symbol->value);
    }
    text_char(p->out, '\n');
}

static void print_fact(struct printer *p, const struct ir_fact *fact)
{
    static const char *const relations[] = {"==", "!=", "<", "<="};

    text_add(p->out, "    fact ");
    print_size(p, fact->a);
    text_printf(p->out, " %s ", relations[fact->relation]);
    print_size(p, fact->b);
    text_char(p->out, '\n');
}

static void print_tensor_line(struct printer *p, int number)
{
    static const char *const roles[] = {"input", "output", "temporary", "state"};
    const struct ir_tensor *tensor = &p->part->tensors[number];

    text_printf(p->out, "    %s ", roles[tensor->role]);
    print_tensor(p, number);
    text_printf(p->out, " %s%s[", tensor->declared ? "" : "~", dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->rank; i++) {
        text_add(p->out, i ? ", " : "");
        print_size(p, tensor->dims[i]);
    }
    text_char(p->out, ']');
    for (size_t i = 0; i < IR_TEXT_PROPERTY_COUNT; i++) {
        const struct ir_text_property *property = &IR_TEXT_PROPERTIES[i];
        if (!(tensor->properties & property->bit))
            continue;
        text_printf(p->out, " %s", property->name);
        if (property->bounded) {
            text_char(p->out, '(');
            print_size(p, tensor->bound);
            text_char(p->out, ')');
        }
    }
    text_char(p->out, '\n');
}

static void print_part(struct printer *p, const struct ir_part *part)
{
    p->part = part;
    p->indent = 1;
    p->tensors = map_new(p->out->arena);
    for (int i = 0; i < part->tensor_count; i++) {
        const struct ir_tensor *tensor = &part->tensors[i];
        if (map_set(&p->tensors, tensor->name, (void *)tensor))
            map_set(&p->tensors, tensor->name, (void *)AMBIGUOUS);
    }
    text_printf(p->out, "\npart %s {\n", part->name);
    for (int i = 0; i < part->type_count; i++)
        text_printf(p->out, "    type %s %s\n", part->types[i].name,
                    dtype_name(part->types[i].dtype));
    for (int i = 0; i < part->symbol_count; i++)
        print_symbol(p, &part->symbols[i]);
    for (int i = 0; i < part->family_count; i++)
        text_printf(p->out, "    family %s %d\n", part->families[i].name, part->families[i].count);
    for (int i = 0; i < part->scalar_count; i++) {
        const struct ir_scalar *scalar = &part->scalars[i];
        text_printf(p->out, "    scalar %s %s", scalar->name, dtype_name(scalar->dtype));
        if (scalar->has_default) {
            text_add(p->out, " = ");
            text_double(p->out, scalar->value);
        }
        text_char(p->out, '\n');
    }
    for (int i = 0; i < part->fact_count; i++)
        print_fact(p, &part->facts[i]);
    for (int i = 0; i < part->tensor_count; i++)
        print_tensor_line(p, i);
    text_add(p->out, "    signature ");
    print_tensor_list(p, part->inputs, part->input_count);
    text_add(p->out, " -> ");
    print_tensor_list(p, part->outputs, part->output_count);
    text_char(p->out, '\n');
    print_stages(p, part->stages, part->stage_count);
    text_add(p->out, "}\n");
}

void ir_print(struct text *out, const struct ir_program *program)
{
    struct printer printer = {.out = out, .monoids = map_new(out->arena)};

    text_add(out, "ir 1\n");
    for (int i = 0; i < program->part_count; i++)
        print_monoids(&printer, program->parts[i]->stages, program->parts[i]->stage_count);
    for (int i = 0; i < program->part_count; i++)
        print_part(&printer, program->parts[i]);
}
