/*
 * From an element back to the point that writes it.
 *
 * A left side is affine in the left indices and one-to-one. Each dimension is then a number in
 * mixed radix: bare `i`, `i + K`, or `g*O + o` with o < O, perhaps with signs turned. Dimensions
 * are solved one after the other, each for the indices the earlier ones left open. A left side that
 * does not come apart this way has no inverse here, and its tensor is evaluated whole.
 */
#include <stdlib.h>
#include <string.h>

#include "oracle/interpret.h"

/* ---- affine forms: values[0] the constant, then one coefficient per left position ---- */

struct forms {
    const struct walk *walk;
    int stride;
    int64_t *values;
    bool *affine;
};

static bool form_is_constant(const int64_t *form, int stride)
{
    for (int k = 1; k < stride; k++)
        if (form[k] != 0)
            return false;
    return true;
}

static bool form_multiply(const struct forms *f, const int64_t *a, const int64_t *b,
                          int64_t *result)
{
    if (!form_is_constant(b, f->stride)) {
        const int64_t *swapped = a;
        a = b;
        b = swapped;
    }
    bool exact = form_is_constant(b, f->stride);
    for (int k = 0; k < f->stride; k++)
        exact &= !__builtin_mul_overflow(a[k], b[0], &result[k]);
    return exact;
}

static bool form_add(const struct forms *f, const int64_t *a, const int64_t *b, bool subtract,
                     int64_t *result)
{
    bool exact = true;
    for (int k = 0; k < f->stride; k++)
        exact &= !(subtract ? __builtin_sub_overflow(a[k], b[k], &result[k])
                            : __builtin_add_overflow(a[k], b[k], &result[k]));
    return exact;
}

/* Whether the index is one of the left ones, whose coefficient it then sets. */
static bool form_index(const struct forms *f, int index, int64_t *form)
{
    for (int p = 0; p < f->walk->left; p++) {
        if (f->walk->order[p] == index) {
            form[p + 1] = 1;
            return true;
        }
    }
    return false;
}

static bool form_make(struct forms *f, int i)
{
    const struct ir_node *node = &f->walk->stage->nodes.at[i];
    int64_t *form = f->values + (int64_t)i * f->stride;
    int arguments = node->op == IR_READ ? 0 : ir_op_arguments(node->op);
    if ((arguments > 0 && !f->affine[node->a]) || (arguments > 1 && !f->affine[node->b]))
        return false;
    const int64_t *a = arguments > 0 ? f->values + (int64_t)node->a * f->stride : NULL;
    const int64_t *b = arguments > 1 ? f->values + (int64_t)node->b * f->stride : NULL;
    switch (node->op) {
    case IR_INT: form[0] = node->integer; return true;
    case IR_SIZE: return ir_size_eval(node->size, f->walk->frame->binding.sizes, &form[0]);
    case IR_INDEX: return form_index(f, node->index, form);
    case IR_ADD: return form_add(f, a, b, false, form);
    case IR_SUB: return form_add(f, a, b, true, form);
    case IR_NEG: return form_add(f, form, a, true, form); /* form is still zero */
    case IR_MUL: return form_multiply(f, a, b, form);
    default: return false;
    }
}

/* ---- the order of solving ---- */

/* The open positions of a dimension, greatest step first. */
static int open_positions(const struct inverse *v, int d, const bool *solved, int *positions)
{
    const int64_t *c = v->coefficient + (int64_t)d * v->left;
    int count = 0;
    for (int p = 0; p < v->left; p++) {
        if (solved[p] || c[p] == 0)
            continue;
        int k = count++;
        for (; k > 0 && llabs(c[positions[k - 1]]) < llabs(c[p]); k--)
            positions[k] = positions[k - 1];
        positions[k] = p;
    }
    return count;
}

/* Whether each step is longer than all shorter ones together can reach. */
static bool is_mixed_radix(const struct inverse *v, int d, const int *positions, int count)
{
    const int64_t *c = v->coefficient + (int64_t)d * v->left;
    int64_t reach = 0;
    for (int k = count - 1; k >= 0; k--) {
        int64_t more;
        if (llabs(c[positions[k]]) <= reach ||
            __builtin_mul_overflow(llabs(c[positions[k]]), v->walk->extent[positions[k]] - 1,
                                   &more) ||
            __builtin_add_overflow(reach, more, &reach))
            return false;
    }
    return true;
}

static bool find_order(struct inverse *v, bool *solved, bool *used, int *positions)
{
    int found = 0;
    for (bool progress = true; progress;) {
        progress = false;
        for (int d = 0; d < v->rank; d++) {
            if (used[d])
                continue;
            int count = open_positions(v, d, solved, positions);
            if (!is_mixed_radix(v, d, positions, count))
                continue;
            for (int k = 0; k < count; k++)
                solved[positions[k]] = true;
            used[d] = progress = true;
            v->order[found++] = d;
        }
    }
    for (int p = 0; p < v->left; p++)
        if (!solved[p] && v->walk->extent[p] != 1)
            return false;
    return found == v->rank;
}

static bool left_is_fixed(const struct walk *walk)
{
    if (walk->left > INVERSE_MAX_LEFT)
        return false;
    for (int p = 0; p < walk->left; p++)
        if (walk->extent[p] < 0)
            return false;
    return true;
}

static bool coefficients_fill(struct inverse *v, const struct ir_write *write)
{
    struct walk *walk = (struct walk *)v->walk;
    struct pool *pool = &walk->frame->run->pool;
    int nodes = walk->stage->nodes.count;
    struct forms f = {walk, v->left + 1, NULL, NULL};
    f.values = pool_take(pool, (int64_t)nodes * f.stride, sizeof *f.values);
    f.affine = pool_take(pool, nodes, sizeof *f.affine);
    for (int i = 0; i < nodes; i++)
        f.affine[i] = walk->early[i] && form_make(&f, i);
    bool affine = true;
    for (int d = 0; d < v->rank; d++) {
        const int64_t *form = f.values + (int64_t)write->at[d] * f.stride;
        affine &= f.affine[write->at[d]];
        v->constant[d] = form[0];
        for (int p = 0; p < v->left; p++) {
            v->coefficient[(int64_t)d * v->left + p] = form[p + 1];
            affine &= form[p + 1] != INT64_MIN;
        }
    }
    pool_give(pool, f.affine);
    pool_give(pool, f.values);
    return affine;
}

struct inverse *inverse_make(struct walk *walk, const struct ir_write *write, int rank)
{
    struct pool *pool = walk->frame->pool;
    struct inverse *v = pool_take(pool, 1, sizeof *v);
    v->rank = rank;
    v->left = walk->left;
    v->walk = walk;
    v->constant = pool_take(pool, rank, sizeof *v->constant);
    v->coefficient = pool_take(pool, (int64_t)rank * v->left, sizeof *v->coefficient);
    v->order = pool_take(pool, rank, sizeof *v->order);
    v->index = pool_take(pool, v->left, sizeof *v->index);
    if (walk->empty || !left_is_fixed(walk)) {
        v->possible = walk->empty; /* then it writes nothing, and that is known */
        return v;
    }
    struct pool *passing = &walk->frame->run->pool;
    bool *solved = pool_take(passing, v->left, sizeof *solved);
    bool *used = pool_take(passing, rank, sizeof *used);
    int *positions = pool_take(passing, v->left, sizeof *positions);
    v->possible = coefficients_fill(v, write) && find_order(v, solved, used, positions);
    pool_give(passing, positions);
    pool_give(passing, used);
    pool_give(passing, solved);
    return v;
}

/* ---- solving ---- */

/* Wraps when a left side leaves its tensor, which evaluating it then reports. */
static int64_t less_product(int64_t rest, int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)rest - (uint64_t)a * (uint64_t)b);
}

/* One dimension: takes the open positions out of `rest`, greatest step first. */
static bool solve_dimension(const struct inverse *v, int d, int64_t rest, bool *solved,
                            int64_t *index)
{
    const int64_t *c = v->coefficient + (int64_t)d * v->left;
    int positions[INVERSE_MAX_LEFT];
    int count = open_positions(v, d, solved, positions);
    for (int p = 0; p < v->left; p++)
        if (solved[p])
            rest = less_product(rest, c[p], index[p]);
    /* Counting a falling index from its other end makes every step a rising one. */
    for (int k = 0; k < count; k++)
        if (c[positions[k]] < 0)
            rest = less_product(rest, c[positions[k]], v->walk->extent[positions[k]] - 1);
    for (int k = 0; k < count; k++) {
        int p = positions[k];
        int64_t step = llabs(c[p]), last = v->walk->extent[p] - 1;
        if (rest < 0 || rest / step > last)
            return false;
        index[p] = c[p] < 0 ? last - rest / step : rest / step;
        rest %= step;
        solved[p] = true;
    }
    return rest == 0;
}

bool inverse_apply(const struct inverse *v, const int64_t *at, int64_t *index)
{
    if (v->walk->empty)
        return false;
    bool solved[INVERSE_MAX_LEFT] = {false};
    for (int p = 0; p < v->left; p++)
        index[p] = 0; /* stays so for an index with one value that stands nowhere */
    for (int k = 0; k < v->rank; k++) {
        int d = v->order[k];
        if (!solve_dimension(v, d, less_product(at[d], 1, v->constant[d]), solved, index))
            return false;
    }
    return true;
}
