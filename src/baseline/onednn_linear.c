/*
 * Convolutions and products of matrices, recognised for oneDNN. Both are a sum of products of two
 * reads, perhaps followed by a stage that adds a bias and applies a function.
 */
#include <string.h>

#include "baseline/onednn.h"

/* The first stage sums products: its two factors, else false. */
static bool sum_of_products(const struct ir_part *part, int factors[2])
{
    const struct ir_stage *stage = &part->stages[0];
    if (stage->kind != IR_REDUCE || stage->monoid->kind != IR_SUM || stage->predicate != IR_NONE ||
        stage->write_count != 1)
        return false;
    const struct ir_node *value = &stage->nodes.at[stage->writes[0].value];
    if (value->op != IR_MUL || stage->nodes.at[value->a].op != IR_READ ||
        stage->nodes.at[value->b].op != IR_READ)
        return false;
    for (int i = 0; i < stage->index_count; i++)
        if (!part->indices[stage->indices[i]].extent)
            return false;
    factors[0] = value->a;
    factors[1] = value->b;
    return match_input(part, stage->nodes.at[value->a].read.tensor) >= 0 &&
           match_input(part, stage->nodes.at[value->b].read.tensor) >= 0;
}

static const struct ir_size *extent(const struct ir_part *part, int index)
{
    return part->indices[index].extent;
}

/* ---- windows ---- */

bool onednn_match_window(struct arena *arena, const struct ir_part *part,
                         const struct ir_stage *stage, int node, int p, int r, int d,
                         struct onednn_window *window)
{
    struct match_affine at;
    if (p < 0 || r < 0 || !match_affine(arena, stage, node, &at) || at.count != 2)
        return false;
    int first = at.terms[0].index == p ? 0 : 1;
    if (at.terms[first].index != p || at.terms[1 - first].index != r)
        return false;
    window->stride[d] = at.terms[first].factor;
    window->dilation[d] = at.terms[1 - first].factor;
    window->low[d] = at.constant
                         ? ir_size_make(arena, IR_SIZE_SUB, ir_size_constant(arena, 0), at.constant)
                         : NULL;
    window->out[d] = extent(part, p);
    window->size[d] = extent(part, r);
    return true;
}

void onednn_print_window(struct text *out, const struct onednn_window *window)
{
    const struct ir_size *const *const lists[] = {window->in,     window->out,      window->size,
                                                  window->stride, window->dilation, window->low};
    text_add(out, "(struct window){");
    for (int i = 0; i < 6; i++) {
        text_add(out, i ? ", {" : "{");
        for (int d = 0; d < window->spatial; d++) {
            text_add(out, d ? ", " : "");
            match_print_size(out, lists[i][d]);
        }
        text_char(out, '}');
    }
    text_char(out, '}');
}

/* ---- convolutions ---- */

struct convolution {
    int x, w; /* inputs */
    const struct ir_size *n, *groups, *c, *o;
    struct onednn_window window;
};

/* Channels: o or g*O + o on the left and in the weights; c, g*C + c or g in the input. */
static bool match_channels(struct arena *arena, const struct ir_part *part, const struct ir_node *x,
                           const struct ir_node *w, struct convolution *out, int *reduced)
{
    const struct ir_stage *stage = &part->stages[0];
    struct match_affine left, weight, input;
    int c = match_bare(stage, w->read.at[1]);
    if (!match_affine(arena, stage, stage->writes[0].at[1], &left) ||
        !match_affine(arena, stage, w->read.at[0], &weight) ||
        !match_affine(arena, stage, x->read.at[1], &input) || left.constant || weight.constant ||
        input.constant || left.count != weight.count || left.count < 1 || left.count > 2)
        return false;
    for (int i = 0; i < left.count; i++)
        if (left.terms[i].index != weight.terms[i].index ||
            !match_same_size(left.terms[i].factor, weight.terms[i].factor))
            return false;
    const struct ir_size *one = ir_size_constant(arena, 1);
    *reduced = c >= 0;
    out->groups = out->c = one;
    if (left.count == 1) {
        out->o = extent(part, left.terms[0].index);
        out->c = c >= 0 ? extent(part, c) : one;
        return c >= 0 && input.count == 1 && input.terms[0].index == c &&
               match_same_size(input.terms[0].factor, one);
    }
    int g = left.terms[0].index, o = left.terms[1].index;
    out->groups = extent(part, g);
    out->o = extent(part, o);
    if (!match_same_size(left.terms[0].factor, out->o) ||
        !match_same_size(left.terms[1].factor, one))
        return false;
    if (c < 0) /* one channel of the input per group */
        return input.count == 1 && input.terms[0].index == g &&
               match_same_size(input.terms[0].factor, one) &&
               match_same_size(part->tensors[w->read.tensor].dims[1], one);
    out->c = extent(part, c);
    return input.count == 2 && input.terms[0].index == g && input.terms[1].index == c &&
           match_same_size(input.terms[0].factor, out->c) &&
           match_same_size(input.terms[1].factor, one);
}

static bool match_convolution(struct arena *arena, const struct ir_part *part, int x_node,
                              int w_node, struct convolution *out)
{
    const struct ir_stage *stage = &part->stages[0];
    const struct ir_node *x = &stage->nodes.at[x_node], *w = &stage->nodes.at[w_node];
    const struct ir_write *write = &stage->writes[0];
    int rank = part->tensors[x->read.tensor].rank, reduced = 0;
    if (rank < 3 || rank > 5 || part->tensors[w->read.tensor].rank != rank ||
        part->tensors[write->tensor].rank != rank || !match_read(stage, x_node, true, 0) ||
        !match_read(stage, w_node, false, 0))
        return false;
    int n = match_bare(stage, write->at[0]);
    if (n < 0 || match_bare(stage, x->read.at[0]) != n ||
        !match_channels(arena, part, x, w, out, &reduced))
        return false;
    out->window.spatial = rank - 2;
    for (int d = 0; d < rank - 2; d++) {
        out->window.in[d] = part->tensors[x->read.tensor].dims[2 + d];
        if (!onednn_match_window(arena, part, stage, x->read.at[2 + d],
                                 match_bare(stage, write->at[2 + d]),
                                 match_bare(stage, w->read.at[2 + d]), d, &out->window))
            return false;
    }
    out->n = extent(part, n);
    out->x = match_input(part, x->read.tensor);
    out->w = match_input(part, w->read.tensor);
    return stage->index_count - stage->left_count == rank - 2 + reduced;
}

static void print_number(struct text *out, const char *name, const struct ir_size *size)
{
    text_printf(out, ", .%s = ", name);
    match_print_size(out, size);
}

bool onednn_convolution(struct arena *arena, const struct ir_part *part, struct onednn_match *match)
{
    int factors[2];
    struct convolution found = {0};
    struct onednn_finish finish;
    if (!sum_of_products(part, factors) ||
        (!match_convolution(arena, part, factors[0], factors[1], &found) &&
         !match_convolution(arena, part, factors[1], factors[0], &found)) ||
        !onednn_match_finish(arena, part, 1, &finish))
        return false;
    struct text *out = &match->call;
    text_printf(out,
                "    return make_convolution((struct convolution){.spatial = %d, .src = %d, "
                ".weights = %d, .bias = %d, .dst = %d",
                found.window.spatial, found.x, found.w, finish.bias, part->input_count);
    print_number(out, "n", found.n);
    print_number(out, "groups", found.groups);
    print_number(out, "c", found.c);
    print_number(out, "o", found.o);
    text_add(out, "}, ");
    onednn_print_window(out, &found.window);
    onednn_print_finish(out, &finish);
    match->most = ONEDNN_ALL_ANY_AUTO;
    return true;
}

/* ---- products ---- */

/* Which of a stage's left indices are the batch, rows and columns, in this order. */
struct product {
    int left[IR_MAX_RANK], batch, rows, columns, k;
};

/* Whether an operand is addressed by batch, then own indices and k; or k and its only own one. */
static bool match_operand(const struct ir_stage *stage, const struct ir_node *read, int rank,
                          const struct product *product, bool is_first, bool *transposed)
{
    int own = is_first ? product->rows : product->columns, list[IR_MAX_RANK + 1];
    int first = product->batch + (is_first ? 0 : product->rows), count = product->batch;
    if (rank != product->batch + own + 1)
        return false;
    memcpy(list, product->left, sizeof(int) * (size_t)product->batch);
    int k_last[IR_MAX_RANK + 1], k_first[IR_MAX_RANK + 1];
    memcpy(k_last, list, sizeof(int) * (size_t)count);
    memcpy(k_first, list, sizeof(int) * (size_t)count);
    memcpy(k_last + count, product->left + first, sizeof(int) * (size_t)own);
    k_last[count + own] = product->k;
    k_first[count] = product->k;
    memcpy(k_first + count + 1, product->left + first, sizeof(int) * (size_t)own);
    bool last = match_indices(stage, read->read.at, rank, k_last);
    bool leading = match_indices(stage, read->read.at, rank, k_first);
    *transposed = is_first ? !last : !leading;
    return is_first ? last || (leading && own == 1) : leading || (last && own == 1);
}

/* Whether an index is among those a read is addressed by. */
static bool reads_index(const struct ir_stage *stage, const struct ir_node *read, int rank,
                        int index)
{
    for (int d = 0; d < rank; d++)
        if (match_bare(stage, read->read.at[d]) == index)
            return true;
    return false;
}

static bool match_product(const struct ir_part *part, int a_node, int b_node,
                          struct product *product, bool transposed[2])
{
    const struct ir_stage *stage = &part->stages[0];
    const struct ir_node *a = &stage->nodes.at[a_node], *b = &stage->nodes.at[b_node];
    int a_rank = part->tensors[a->read.tensor].rank, b_rank = part->tensors[b->read.tensor].rank;
    int rank = part->tensors[stage->writes[0].tensor].rank;
    *product = (struct product){.k = stage->indices[stage->index_count - 1]};
    if (stage->index_count != stage->left_count + 1 || stage->left_count != rank || rank < 1 ||
        !match_read(stage, a_node, false, 0) || !match_read(stage, b_node, false, 0))
        return false;
    for (int d = 0; d < rank; d++) {
        int index = product->left[d] = match_bare(stage, stage->writes[0].at[d]);
        bool in_a = index >= 0 && reads_index(stage, a, a_rank, index);
        bool in_b = index >= 0 && reads_index(stage, b, b_rank, index);
        int kind = in_a && in_b ? 0 : in_a ? 1 : 2;
        if ((!in_a && !in_b) || (kind < 2 && product->columns) || (kind < 1 && product->rows))
            return false;
        product->batch += kind == 0;
        product->rows += kind == 1;
        product->columns += kind == 2;
    }
    return match_operand(stage, a, a_rank, product, true, &transposed[0]) &&
           match_operand(stage, b, b_rank, product, false, &transposed[1]);
}

static void print_extents(struct text *out, const struct ir_part *part, const char *name,
                          const int *indices, int count)
{
    text_printf(out, ", .%s = 1", name);
    for (int i = 0; i < count; i++) {
        text_add(out, " * ");
        match_print_size(out, extent(part, indices[i]));
    }
}

bool onednn_product(struct arena *arena, const struct ir_part *part, struct onednn_match *match)
{
    int factors[2];
    struct product product;
    struct onednn_finish finish;
    bool transposed[2];
    if (!sum_of_products(part, factors))
        return false;
    bool swapped = !match_product(part, factors[0], factors[1], &product, transposed);
    if (swapped && !match_product(part, factors[1], factors[0], &product, transposed))
        return false;
    if (!onednn_match_finish(arena, part, product.batch + product.rows + product.columns - 1,
                             &finish) ||
        (finish.bias >= 0 && product.columns != 1))
        return false;
    const struct ir_stage *stage = &part->stages[0];
    int a = match_input(part, stage->nodes.at[factors[swapped]].read.tensor);
    int b = match_input(part, stage->nodes.at[factors[!swapped]].read.tensor);
    struct text *out = &match->call;
    text_printf(out,
                "    return make_product((struct product){.a = %d, .b = %d, .bias = %d, .dst = %d, "
                ".a_transposed = %d, .b_transposed = %d",
                a, b, finish.bias, part->input_count, transposed[0], transposed[1]);
    print_extents(out, part, "batch", product.left, product.batch);
    print_extents(out, part, "m", product.left + product.batch, product.rows);
    print_extents(out, part, "n", product.left + product.batch + product.rows, product.columns);
    print_extents(out, part, "k", &product.k, 1);
    text_char(out, '}');
    onednn_print_finish(out, &finish);
    match->most = ONEDNN_WEIGHTS_ANY;
    return true;
}
