/*
 * Which operations of a program round. Moving, comparing, choosing, the least and the greatest,
 * integers and bools are exact; so are the float operations whose result is always a number of the
 * type (floor, abs, fmod, ...).
 */
#include <string.h>

#include "ir/ir.h"

enum { SUM = IR_OP_COUNT, PRODUCT, KINDS };

struct listing {
    struct text *out;
    bool listed[KINDS];
};

static void list(struct listing *listing, int kind, const char *name)
{
    if (listing->listed[kind])
        return;
    listing->listed[kind] = true;
    text_printf(listing->out, "%s%s", listing->out->length ? ", " : "", name);
}

static bool is_rounded(const struct ir_node *node)
{
    if (!dtype_is_float(node->type) || ir_op_arguments(node->op) < 1)
        return false;
    switch (node->op) {
    case IR_TO_FLOAT:
    case IR_CAST:
    case IR_SELECT:
    case IR_NEG:
    case IR_ABS:
    case IR_SIGN:
    case IR_MIN:
    case IR_MAX:
    case IR_FLOOR:
    case IR_CEIL:
    case IR_TRUNC:
    case IR_ROUND:
    case IR_FMOD:
    case IR_COPYSIGN: return false;
    default: return true;
    }
}

static void list_nodes(struct listing *listing, const struct ir_nodes *nodes)
{
    for (int i = 0; i < nodes->count; i++)
        if (is_rounded(&nodes->at[i]))
            list(listing, (int)nodes->at[i].op,
                 nodes->at[i].op == IR_DIV ? "div" : ir_op_name(nodes->at[i].op));
}

static void list_stages(struct listing *listing, const struct ir_stage *stages, int count)
{
    for (int s = 0; s < count; s++) {
        const struct ir_stage *stage = &stages[s];
        list_nodes(listing, &stage->nodes);
        if (stage->monoid) {
            bool is_float = stage->write_count > 0 &&
                            dtype_is_float(stage->nodes.at[stage->writes[0].value].type);
            if (stage->monoid->kind == IR_SUM && is_float)
                list(listing, SUM, "sum");
            if (stage->monoid->kind == IR_PRODUCT && is_float)
                list(listing, PRODUCT, "product");
            list_nodes(listing, &stage->monoid->nodes);
        }
        if (stage->kind == IR_LOOP)
            list_stages(listing, stage->body, stage->body_count);
    }
}

void ir_print_inexact(struct text *out, const struct ir_program *program)
{
    struct text own = text_new(out->arena);
    struct listing listing = {.out = &own};
    for (int p = 0; p < program->part_count; p++)
        list_stages(&listing, program->parts[p]->stages, program->parts[p]->stage_count);
    text_add(out, own.at);
}
