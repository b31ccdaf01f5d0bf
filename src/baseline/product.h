/*
 * Private to src/baseline: products of matrices, recognised by their structure.
 */
#ifndef SMELT_BASELINE_PRODUCT_H
#define SMELT_BASELINE_PRODUCT_H

#include "baseline/baseline.h"

/*
 * y[.., m, n] += a[.., m, k] * b[.., k, n] with either operand transposed, and either operand the
 * same for all that stands in front; y[.., m] += a[.., m, k] * b[.., k] has no n. False: it is
 * none.
 */
bool product_match(struct arena *arena, const struct ir_part *part,
                   struct baseline_product *product);

#endif
