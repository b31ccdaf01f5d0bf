/*
 * Products of matrices: one stage, a sum over one index of what two inputs give, each read by the
 * indices themselves.
 */
#include "baseline/product.h"

#include "baseline/match.h"

enum { MOST_BATCHES = 8 };

struct matching {
    const struct ir_part *part;
    const struct ir_stage *stage;
    int batches[MOST_BATCHES], batch_count; /* indices in front of m */
    int m, n, k;                            /* n -1: there is none */
};

/* Reads [.., first, last] or [.., last, first], with all of the batches in front or none of them;
 * [.., last] where there is no first. */
static bool match_operand(const struct matching *matching, int node, int first, int last,
                          struct baseline_operand *operand)
{
    const struct ir_stage *stage = matching->stage;
    const struct ir_node *read = &stage->nodes.at[node];
    int own = first < 0 ? 1 : 2;
    if (!match_read(stage, node, false, 0))
        return false;
    int rank = matching->part->tensors[read->read.tensor].rank, front = rank - own;
    operand->input = match_input(matching->part, read->read.tensor);
    operand->batched = front > 0;
    if (operand->input < 0 || (front != 0 && front != matching->batch_count) ||
        !match_indices(stage, read->read.at, front, matching->batches))
        return false;
    int one = match_bare(stage, read->read.at[front]);
    int two = own == 2 ? match_bare(stage, read->read.at[front + 1]) : -1;
    if (own == 1)
        return one == last;
    operand->transposed = one == last && two == first;
    return operand->transposed || (one == first && two == last);
}

static bool match_operands(struct matching *matching, int left, int right,
                           struct baseline_product *product)
{
    return match_operand(matching, left, matching->m, matching->k, &product->a) &&
           match_operand(matching, right, matching->n >= 0 ? matching->k : -1,
                         matching->n >= 0 ? matching->n : matching->k, &product->b);
}

/* With the last `own` indices of the result as m and n. */
static bool match_as(struct arena *arena, struct matching *matching, const int *written, int own,
                     struct baseline_product *product)
{
    const struct ir_stage *stage = matching->stage;
    const struct ir_index *indices = matching->part->indices;
    const struct ir_node *value = &stage->nodes.at[stage->writes[0].value];
    matching->batch_count = stage->left_count - own;
    if (matching->batch_count < 0 || matching->batch_count > MOST_BATCHES)
        return false;
    product->batch = ir_size_constant(arena, 1);
    for (int i = 0; i < matching->batch_count; i++) {
        matching->batches[i] = written[i];
        product->batch =
            ir_size_make(arena, IR_SIZE_MUL, product->batch, indices[written[i]].extent);
    }
    matching->m = written[matching->batch_count];
    matching->n = own == 2 ? written[matching->batch_count + 1] : -1;
    product->m = indices[matching->m].extent;
    product->n = matching->n >= 0 ? indices[matching->n].extent : NULL;
    product->k = indices[matching->k].extent;
    return match_operands(matching, value->a, value->b, product) ||
           match_operands(matching, value->b, value->a, product);
}

bool product_match(struct arena *arena, const struct ir_part *part,
                   struct baseline_product *product)
{
    const struct ir_stage *stage = part->stages;
    int written[MOST_BATCHES + 2];
    if (part->stage_count != 1 || stage->kind != IR_REDUCE || stage->monoid->kind != IR_SUM ||
        stage->predicate != IR_NONE || part->output_count != 1 ||
        stage->index_count != stage->left_count + 1 || stage->left_count < 1 ||
        stage->left_count > MOST_BATCHES + 2)
        return false;
    const struct ir_write *write = &stage->writes[0];
    *product = (struct baseline_product){.output = part->input_count,
                                         .dtype = part->tensors[write->tensor].dtype};
    if (stage->nodes.at[write->value].op != IR_MUL ||
        part->tensors[write->tensor].rank != stage->left_count)
        return false;
    for (int i = 0; i < part->input_count; i++)
        if (part->tensors[part->inputs[i]].dtype != product->dtype)
            return false;
    for (int i = 0; i < stage->index_count; i++)
        if (!part->indices[stage->indices[i]].extent)
            return false;
    for (int i = 0; i < stage->left_count; i++)
        if ((written[i] = match_bare(stage, write->at[i])) < 0)
            return false;
    struct matching matching = {
        .part = part, .stage = stage, .k = stage->indices[stage->left_count]};
    return (stage->left_count >= 2 && match_as(arena, &matching, written, 2, product)) ||
           match_as(arena, &matching, written, 1, product);
}
