/*
 * From an element back to the point of the stage that writes it: the left side is a sum of indices
 * times sizes in every dimension, and is solved for the indices.
 */
#include "gen/c/emit.h"

#include <string.h>

enum { FIND_TERMS = 8 }; /* indices in one dimension of a left side */

struct term {
    int index;
    const char *factor;
};

struct affine { /* a sum of indices times factors, plus a constant: C text */
    struct term terms[FIND_TERMS];
    int count;
    const char *constant;
    bool good;
};

static const char *sum_of(struct emitter *emitter, const char *a, const char *operator,
                          const char * b)
{
    if (strcmp(b, "0") == 0)
        return a;
    if (strcmp(a, "0") == 0 && operator[0] == '+')
        return b;
    return arena_printf(emitter->arena, "(%s %s %s)", a, operator, b);
}

static const char *product_of(struct emitter *emitter, const char *a, const char *b)
{
    if (strcmp(a, "1") == 0 || strcmp(b, "0") == 0)
        return b;
    if (strcmp(b, "1") == 0 || strcmp(a, "0") == 0)
        return a;
    return arena_printf(emitter->arena, "(%s * %s)", a, b);
}

static void affine_add(struct emitter *emitter, struct affine *to, const struct affine *from,
                       const char *operator)
{
    to->good &= from->good;
    to->constant = sum_of(emitter, to->constant, operator, from->constant);
    for (int i = 0; i < from->count; i++) {
        int k = 0;
        while (k < to->count && to->terms[k].index != from->terms[i].index)
            k++;
        if (k == FIND_TERMS) {
            to->good = false;
            return;
        }
        if (k == to->count)
            to->terms[to->count++] = (struct term){from->terms[i].index, "0"};
        to->terms[k].factor = sum_of(emitter, to->terms[k].factor, operator, from->terms[i].factor);
    }
}

static void affine_scale(struct emitter *emitter, struct affine *affine, const char *by)
{
    affine->constant = product_of(emitter, affine->constant, by);
    for (int i = 0; i < affine->count; i++)
        affine->terms[i].factor = product_of(emitter, affine->terms[i].factor, by);
}

static struct affine affine_of(struct emitter *emitter, const struct ir_nodes *nodes, int number)
{
    const struct ir_node *node = &nodes->at[number];
    struct affine a = {.constant = "0", .good = true};
    switch (node->op) {
    case IR_INDEX:
        a.terms[0] = (struct term){node->index, "1"};
        a.count = 1;
        return a;
    case IR_INT:
        a.constant = emit_within(emitter, emit_integer(emitter, node->integer), BINDS_ATOM);
        return a;
    case IR_SIZE:
        a.constant = emit_within(emitter, emit_size(emitter, node->size), BINDS_ATOM);
        return a;
    case IR_ADD:
    case IR_SUB: {
        a = affine_of(emitter, nodes, node->a);
        struct affine b = affine_of(emitter, nodes, node->b);
        affine_add(emitter, &a, &b, node->op == IR_ADD ? "+" : "-");
        return a;
    }
    case IR_MUL: {
        a = affine_of(emitter, nodes, node->a);
        struct affine b = affine_of(emitter, nodes, node->b);
        struct affine *sum = a.count ? &a : &b;
        bool good = a.good && b.good && (a.count == 0 || b.count == 0);
        affine_scale(emitter, sum, a.count ? b.constant : a.constant);
        sum->good = good;
        return *sum;
    }
    default: a.good = false; return a;
    }
}

static int written_rank(const struct emitter *emitter, const struct ir_stage *stage, int write)
{
    bool ranked = stage->kind == IR_REDUCE &&
                  (stage->monoid->kind == IR_TOPK || stage->monoid->kind == IR_BOTTOMK);
    return emitter->part->tensors[stage->writes[write].tensor].rank - ranked;
}

/* The number of a left index among those of the stage; -1: it is none. */
static int left_number(const struct ir_stage *stage, int index)
{
    for (int i = 0; i < stage->left_count; i++)
        if (stage->indices[i] == index)
            return i;
    return -1;
}

bool emit_find_possible(struct emitter *emitter, const struct ir_stage *stage, int write)
{
    bool *seen = arena_array(emitter->arena, (size_t)stage->left_count + 1, sizeof *seen);
    for (int d = 0; d < written_rank(emitter, stage, write); d++) {
        struct affine a = affine_of(emitter, &stage->nodes, stage->writes[write].at[d]);
        if (!a.good)
            return false;
        for (int i = 0; i < a.count; i++) {
            int left = left_number(stage, a.terms[i].index);
            if (left < 0)
                return false;
            seen[left] = true;
        }
    }
    for (int i = 0; i < stage->left_count; i++)
        if (!seen[i] || !emitter->part->indices[stage->indices[i]].extent)
            return false;
    return true;
}

static const char *extent_of(struct emitter *emitter, const struct ir_stage *stage, int left)
{
    return emit_size(emitter, emitter->part->indices[stage->indices[left]].extent).text;
}

/* One dimension: what is known already is taken off, the rest is solved for. */
static void find_dimension(struct emitter *emitter, const struct ir_stage *stage,
                           const struct affine *a, int dimension, bool *known)
{
    struct arena *arena = emitter->arena;
    const char *value = arena_printf(arena, "at_%d", dimension);
    struct text factors = text_new(arena), extents = text_new(arena);
    int unknown[FIND_TERMS], count = 0;
    value = sum_of(emitter, value, "-", a->constant);
    for (int i = 0; i < a->count; i++) {
        int left = left_number(stage, a->terms[i].index);
        if (known[left]) {
            const char *name = arena_printf(arena, "left_%d", left);
            value = sum_of(emitter, value, "-", product_of(emitter, name, a->terms[i].factor));
            continue;
        }
        text_printf(&factors, "%s%s", count ? ", " : "", a->terms[i].factor);
        text_printf(&extents, "%s%s", count ? ", " : "", extent_of(emitter, stage, left));
        unknown[count++] = left;
    }
    if (count == 0) {
        emit_line(emitter, "if (%s != 0)", value);
        emit_line(emitter, "    return false;");
        return;
    }
    if (count == 1 && strcmp(factors.at, "1") == 0) {
        emit_line(emitter, "const int64_t left_%d = %s;", unknown[0], value);
        emit_line(emitter, "if (left_%d < 0 || left_%d >= %s)", unknown[0], unknown[0], extents.at);
        emit_line(emitter, "    return false;");
    } else {
        emit_line(emitter, "int64_t solution_%d[%d];", dimension, count);
        emit_line(emitter, "const int64_t factors_%d[] = {%s}, extents_%d[] = {%s};", dimension,
                  factors.at, dimension, extents.at);
        emit_line(emitter, "if (!solve(%s, %d, factors_%d, extents_%d, solution_%d))", value, count,
                  dimension, dimension, dimension);
        emit_line(emitter, "    return false;");
        for (int i = 0; i < count; i++)
            emit_line(emitter, "const int64_t left_%d = solution_%d[%d];", unknown[i], dimension,
                      i);
    }
    for (int i = 0; i < count; i++)
        known[unknown[i]] = true;
}

void emit_find(struct emitter *emitter, const struct ir_stage *stage, int write)
{
    const struct ir_write *to = &stage->writes[write];
    const struct tensor_plan *plan = &emitter->tensors[to->tensor];
    int rank = written_rank(emitter, stage, write), all = emitter->part->tensors[to->tensor].rank;
    bool *known = arena_array(emitter->arena, (size_t)stage->left_count + 1, sizeof *known);
    bool *done = arena_array(emitter->arena, (size_t)rank + 1, sizeof *done);
    emit_line(emitter, "int64_t rest = place;");
    for (int d = all - 1; d >= 0; d--) {
        if (d < rank)
            emit_line(emitter, "const int64_t at_%d = rest %% %s;", d, plan->dims[d]);
        emit_line(emitter, "rest /= %s;", plan->dims[d]);
    }
    for (int solved = 0; solved < rank; solved++) { /* the one with the fewest unknowns first */
        int best = -1, fewest = FIND_TERMS + 1;
        for (int d = 0; d < rank; d++) {
            struct affine a = affine_of(emitter, &stage->nodes, to->at[d]);
            int open = 0;
            for (int i = 0; i < a.count; i++)
                open += !known[left_number(stage, a.terms[i].index)];
            if (!done[d] && open < fewest) {
                fewest = open;
                best = d;
            }
        }
        struct affine a = affine_of(emitter, &stage->nodes, to->at[best]);
        find_dimension(emitter, stage, &a, best, known);
        done[best] = true;
    }
}
