/*
 * Footprints: which part of a tensor a tile of a stage's domain reads. Exact for reads at affine
 * places, an upper bound for others.
 */
#include "ir/ir.h"

static int index_position(const struct ir_stage *stage, int index)
{
    for (int i = 0; i < stage->index_count; i++) {
        if (stage->indices[i] == index)
            return i;
    }
    return IR_NONE;
}

static bool is_constant(const struct ir_stage *stage, const int64_t *factors)
{
    for (int i = 0; i < stage->index_count; i++) {
        if (factors[i] != 0)
            return false;
    }
    return true;
}

static bool add(const struct ir_stage *stage, const int64_t *more, int64_t by, int64_t *factors)
{
    for (int i = 0; i < stage->index_count; i++) {
        int64_t scaled;
        if (__builtin_mul_overflow(more[i], by, &scaled) ||
            __builtin_add_overflow(factors[i], scaled, &factors[i]))
            return false;
    }
    return true;
}

static bool leaf(const struct ir_binding *binding, const struct ir_stage *stage,
                 const struct ir_node *node, int64_t *constant, int64_t *factors)
{
    int position;
    switch (node->op) {
    case IR_INT: *constant = node->integer; return true;
    case IR_SIZE: return ir_size_eval(node->size, binding->sizes, constant);
    case IR_INDEX:
        position = index_position(stage, node->index);
        if (position != IR_NONE) /* an outer loop's stands still */
            factors[position] = 1;
        return true;
    default: return false;
    }
}

bool ir_affine(const struct ir_binding *binding, const struct ir_stage *stage, int number,
               int64_t *constant, int64_t *factors)
{
    const struct ir_node *node = &stage->nodes.at[number];
    int64_t other = 0;
    *constant = 0;
    for (int i = 0; i < stage->index_count; i++)
        factors[i] = 0;
    if (node->op != IR_ADD && node->op != IR_SUB && node->op != IR_MUL && node->op != IR_NEG)
        return leaf(binding, stage, node, constant, factors);
    if (!ir_affine(binding, stage, node->a, constant, factors))
        return false;
    if (node->op == IR_NEG) {
        *constant = -*constant;
        return add(stage, factors, -2, factors);
    }
    struct arena scratch = {0};
    int64_t *more = arena_array(&scratch, (size_t)stage->index_count + 1, sizeof *more);
    bool right = ir_affine(binding, stage, node->b, &other, more);
    if (right && node->op == IR_MUL) {
        bool swap = is_constant(stage, factors); /* then `more` is what is scaled */
        int64_t by = swap ? *constant : other;
        right = (swap || is_constant(stage, more)) &&
                !__builtin_mul_overflow(*constant, other, constant) &&
                (swap ? add(stage, more, by, factors) : add(stage, factors, by - 1, factors));
    } else if (right) {
        int64_t by = node->op == IR_ADD ? 1 : -1;
        right = !__builtin_add_overflow(*constant, by * other, constant) &&
                add(stage, more, by, factors);
    }
    arena_release(&scratch);
    return right;
}

/* How far the place moves while the tile is run through. */
static double reach(const struct ir_stage *stage, const int64_t *factors, const int64_t *tile)
{
    double far = 1;
    for (int i = 0; i < stage->index_count; i++) {
        double factor = (double)(factors[i] < 0 ? -factors[i] : factors[i]);
        far += factor * (double)(tile[i] > 0 ? tile[i] - 1 : 0);
    }
    return far;
}

double ir_region(const struct ir_binding *binding, const struct ir_stage *stage, int read,
                 const int64_t *tile, int64_t *box)
{
    const struct ir_node *node = &stage->nodes.at[read];
    int64_t dims[IR_MAX_RANK], constant;
    double elements = 1;
    struct arena scratch = {0};
    int64_t *factors = arena_array(&scratch, (size_t)stage->index_count + 1, sizeof *factors);
    ir_tensor_shape(binding, node->read.tensor, dims);
    for (int d = 0; d < binding->part->tensors[node->read.tensor].rank; d++) {
        box[d] = dims[d];
        if (ir_affine(binding, stage, node->read.at[d], &constant, factors)) {
            double far = reach(stage, factors, tile);
            box[d] = far < (double)dims[d] ? (int64_t)far : dims[d];
        }
        elements *= (double)box[d];
    }
    arena_release(&scratch);
    return elements;
}

double ir_reuse(const struct ir_binding *binding, const struct ir_stage *stage, int read,
                const int64_t *tile)
{
    int64_t box[IR_MAX_RANK];
    double points = 1, elements = ir_region(binding, stage, read, tile, box);
    for (int i = 0; i < stage->index_count; i++)
        points *= (double)tile[i];
    return elements > 0 ? points / elements : 0;
}
