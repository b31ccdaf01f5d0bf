/*
 * See match.h.
 */
#include "baseline/match.h"

#include <math.h>
#include <string.h>

/* ---- indices ---- */

int match_bare(const struct ir_stage *stage, int node)
{
    const struct ir_node *entry = &stage->nodes.at[node];
    return entry->op == IR_INDEX ? entry->index : -1;
}

int match_input(const struct ir_part *part, int tensor)
{
    for (int i = 0; i < part->input_count; i++)
        if (part->inputs[i] == tensor)
            return i;
    return -1;
}

bool match_same_size(const struct ir_size *a, const struct ir_size *b)
{
    if (a == b || a->op != b->op)
        return a == b;
    if (a->op == IR_SIZE_CONSTANT)
        return a->value == b->value;
    if (a->op == IR_SIZE_SYMBOL)
        return a->symbol == b->symbol;
    return match_same_size(a->a, b->a) && match_same_size(a->b, b->b);
}

bool match_indices(const struct ir_stage *stage, const int *at, int rank, const int *indices)
{
    for (int d = 0; d < rank; d++)
        if (match_bare(stage, at[d]) != indices[d])
            return false;
    return true;
}

bool match_read(const struct ir_stage *stage, int node, bool padded, double outside)
{
    const struct ir_node *read = &stage->nodes.at[node];
    if (read->op != IR_READ || read->read.guard != IR_NONE)
        return false;
    if (!read->read.checked)
        return true;
    if (read->read.otherwise == IR_NONE)
        return padded && outside == 0;
    const struct ir_node *otherwise = &stage->nodes.at[read->read.otherwise];
    return padded && otherwise->op == IR_FLOAT && otherwise->number == outside;
}

static bool add_term(struct arena *arena, struct match_affine *out, int index,
                     const struct ir_size *factor)
{
    for (int i = 0; i < out->count; i++)
        if (out->terms[i].index == index) {
            out->terms[i].factor = ir_size_make(arena, IR_SIZE_ADD, out->terms[i].factor, factor);
            return true;
        }
    if (out->count == MATCH_TERMS)
        return false;
    out->terms[out->count++] = (struct match_term){index, factor};
    return true;
}

/* Adds factor times the node. */
static bool add_node(struct arena *arena, const struct ir_stage *stage, int node,
                     const struct ir_size *factor, struct match_affine *out)
{
    const struct ir_node *entry = &stage->nodes.at[node];
    const struct ir_size *size = NULL;
    struct match_affine side = {0};
    switch (entry->op) {
    case IR_INDEX: return add_term(arena, out, entry->index, factor);
    case IR_INT: size = ir_size_constant(arena, entry->integer); break;
    case IR_SIZE: size = entry->size; break;
    case IR_ADD:
        return add_node(arena, stage, entry->a, factor, out) &&
               add_node(arena, stage, entry->b, factor, out);
    case IR_SUB:
        return add_node(arena, stage, entry->a, factor, out) &&
               add_node(arena, stage, entry->b,
                        ir_size_make(arena, IR_SIZE_SUB, ir_size_constant(arena, 0), factor), out);
    case IR_MUL:
        for (int swap = 0; swap < 2; swap++) {
            side = (struct match_affine){0};
            int constant = swap ? entry->a : entry->b, other = swap ? entry->b : entry->a;
            if (add_node(arena, stage, constant, ir_size_constant(arena, 1), &side) &&
                side.count == 0)
                return add_node(
                    arena, stage, other,
                    ir_size_make(arena, IR_SIZE_MUL, factor,
                                 side.constant ? side.constant : ir_size_constant(arena, 0)),
                    out);
        }
        return false;
    default: return false;
    }
    size = ir_size_make(arena, IR_SIZE_MUL, factor, size);
    out->constant = out->constant ? ir_size_make(arena, IR_SIZE_ADD, out->constant, size) : size;
    return true;
}

bool match_affine(struct arena *arena, const struct ir_stage *stage, int node,
                  struct match_affine *out)
{
    *out = (struct match_affine){0};
    return add_node(arena, stage, node, ir_size_constant(arena, 1), out);
}

/* ---- functions ---- */

static bool same_read(const struct ir_stage *stage, const struct ir_part *part, int a, int b)
{
    const struct ir_node *one = &stage->nodes.at[a], *two = &stage->nodes.at[b];
    if (one->read.tensor != two->read.tensor)
        return false;
    for (int d = 0; d < part->tensors[one->read.tensor].rank; d++)
        if (one->read.at[d] != two->read.at[d] &&
            (match_bare(stage, one->read.at[d]) < 0 ||
             match_bare(stage, one->read.at[d]) != match_bare(stage, two->read.at[d])))
            return false;
    return true;
}

/* Replaces what a value depends on; false when it depends on too much. */
static bool take_node(struct match_function *out, int node)
{
    struct ir_node *entry = &out->nodes.at[node];
    if (entry->op == IR_READ) {
        int number = 0;
        while (number < out->count && !same_read(out->stage, out->part, out->reads[number], node))
            number++;
        if (number == MATCH_READS || !match_read(out->stage, node, false, 0))
            return false;
        if (number == out->count)
            out->reads[out->count++] = node;
        entry->op = IR_PARAM;
        entry->param = number;
        entry->a = entry->b = entry->c = IR_NONE;
        return true;
    }
    if (entry->op == IR_INDEX)
        return false;
    int arguments = ir_op_arguments(entry->op);
    return entry->op == IR_PARAM || ((arguments < 1 || take_node(out, entry->a)) &&
                                     (arguments < 2 || take_node(out, entry->b)) &&
                                     (arguments < 3 || take_node(out, entry->c)));
}

bool match_function(struct arena *arena, const struct ir_part *part, const struct ir_stage *stage,
                    struct match_function *out)
{
    *out = (struct match_function){.part = part, .stage = stage};
    out->nodes.count = stage->nodes.count;
    out->nodes.at = arena_array(arena, (size_t)stage->nodes.count + 1, sizeof *out->nodes.at);
    memcpy(out->nodes.at, stage->nodes.at, (size_t)stage->nodes.count * sizeof *out->nodes.at);
    int64_t *sizes = arena_array(arena, (size_t)part->symbol_count + 1, sizeof *sizes);
    out->scalars = arena_array(arena, (size_t)part->scalar_count + 1, sizeof *out->scalars);
    for (int i = 0; i < part->symbol_count; i++)
        sizes[i] = 3 + 2 * i;
    for (int i = 0; i < part->scalar_count; i++)
        out->scalars[i] = 0.03125 * (i + 1);
    out->sizes = sizes;
    if (stage->write_count != 1 || !take_node(out, stage->writes[0].value))
        return false;
    for (int i = 0; i < out->nodes.count; i++) /* what no value depends on: places of reads */
        if (out->nodes.at[i].op == IR_READ || out->nodes.at[i].op == IR_INDEX)
            out->nodes.at[i] = (struct ir_node){
                .op = IR_FLOAT, .type = DTYPE_F64, .a = IR_NONE, .b = IR_NONE, .c = IR_NONE};
    return true;
}

static bool is_close(double got, double wanted)
{
    return (isnan(got) && isnan(wanted)) || got == wanted ||
           fabs(got - wanted) <= 1e-7 * (1e-3 + fabs(wanted));
}

bool match_agrees(const struct match_function *function, const int *order, match_formula *formula,
                  const void *context)
{
    enum { POINTS = 200 };
    static const double extremes[] = {0, 1, -1, 1e-6, -1e-6, 12, -12, 300, -300};
    struct arena arena = {0};
    struct ir_value *values =
        arena_array(&arena, (size_t)function->nodes.count + 1, sizeof *values);
    struct ir_binding binding = {function->part, function->sizes, function->scalars};
    struct random random = random_new(1, 1);
    bool good = true;
    for (int p = 0; good && p < POINTS; p++) {
        struct ir_value params[MATCH_READS];
        double ordered[MATCH_READS];
        for (int i = 0; i < function->count; i++) {
            size_t many = sizeof extremes / sizeof *extremes;
            params[i].number =
                p % 2 ? extremes[random_below(&random, many)] : random_normal(&random) * 2;
        }
        for (int i = 0; i < function->count; i++)
            ordered[i] = params[order[i]].number;
        ir_fold(&function->nodes, &binding, params, values);
        good = is_close(values[function->stage->writes[0].value].number, formula(ordered, context));
    }
    arena_release(&arena);
    return good;
}

/* ---- printing ---- */

void match_print_size(struct text *out, const struct ir_size *size)
{
    static const struct {
        const char *before, *between;
    } forms[] = {[IR_SIZE_ADD] = {"(", " + "},
                 [IR_SIZE_SUB] = {"(", " - "},
                 [IR_SIZE_MUL] = {"(", " * "},
                 [IR_SIZE_DIV] = {"floor_divide(", ", "},
                 [IR_SIZE_MOD] = {"floor_modulo(", ", "},
                 [IR_SIZE_MIN] = {"least(", ", "},
                 [IR_SIZE_MAX] = {"most(", ", "}};
    if (!size) {
        text_char(out, '0');
    } else if (size->op == IR_SIZE_CONSTANT) {
        text_printf(out, "%lld", (long long)size->value);
    } else if (size->op == IR_SIZE_SYMBOL) {
        text_printf(out, "sizes[%d]", size->symbol);
    } else {
        text_add(out, forms[size->op].before);
        match_print_size(out, size->a);
        text_add(out, forms[size->op].between);
        match_print_size(out, size->b);
        text_char(out, ')');
    }
}
