/*
 * Private to src/baseline: the pieces of the oneDNN baseline. onednn.c is the baseline, the
 * matchers are in onednn_linear.c (convolutions and products), onednn_rows.c (the rest), the text
 * that every kernel starts with is in onednn_prelude.c.
 */
#ifndef SMELT_BASELINE_ONEDNN_H
#define SMELT_BASELINE_ONEDNN_H

#include "baseline/match.h"

extern const char *const onednn_prelude[]; /* lines, ends with NULL */

/* How layouts are chosen; the same numbers as in the prelude. */
enum onednn_mode {
    ONEDNN_PLAIN,
    ONEDNN_WEIGHTS_ANY,
    ONEDNN_ALL_ANY,
    ONEDNN_ALL_ANY_AUTO, /* and the algorithm, too */
    ONEDNN_MODES
};

/* A function of one value that oneDNN has; code 0: the identity. */
struct onednn_activation {
    const char *name;
    int code;
    double alpha;
    double (*formula)(double);
};

/* What a part turned out to be. */
struct onednn_match {
    struct text call;      /* the body of set_up */
    enum onednn_mode most; /* the ways to set it up: 0 .. most */
};

/* One kind of primitive: false when the part is something else. */
typedef bool onednn_matcher(struct arena *arena, const struct ir_part *part,
                            struct onednn_match *match);
onednn_matcher onednn_convolution, onednn_product, onednn_softmax, onednn_layer_norm,
    onednn_batch_norm, onednn_pointwise, onednn_max_pooling;

/* The function of one value, after adding a second one where the function reads two; NULL: none. */
const struct onednn_activation *onednn_find_activation(const struct match_function *function);
/* Two-step ops: the tensor the first stage writes, bias and activation of the second. */
struct onednn_finish {
    int bias; /* input, or -1 */
    const struct onednn_activation *activation;
};
/*
 * The second stage of a part, y = f(t + b[channel]), where t is what the first one writes and the
 * channel is dimension `channel` of y; or there is none and the first writes the output.
 */
bool onednn_match_finish(struct arena *arena, const struct ir_part *part, int channel,
                         struct onednn_finish *finish);
/* ", 0x1f, 0);" */
void onednn_print_finish(struct text *out, const struct onednn_finish *finish);

/* The spatial dimensions of convolutions and pooling. */
struct onednn_window {
    int spatial;
    const struct ir_size *in[3], *out[3], *size[3], *stride[3], *dilation[3], *low[3];
};
/* Dimension d: the read is at p*stride - low + r*dilation, with p, r and their extents given. */
bool onednn_match_window(struct arena *arena, const struct ir_part *part,
                         const struct ir_stage *stage, int node, int p, int r, int d,
                         struct onednn_window *window);
void onednn_print_window(struct text *out, const struct onednn_window *window);

#endif
