/*
 * Private to src/kernel: the expressions of a manifest, over the sizes of a part.
 *
 *     size   = term {("+" | "-") term}
 *     term   = factor {("*" | "/" | "%") factor}        "/" and "%" round down
 *     factor = integer | name | "(" size ")" | "-" factor
 *            | ("min" | "max" | "ceil") "(" size "," size ")"     ceil(a, b): a/b rounded up
 *     facts  = fact {"," fact}
 *     fact   = size ("==" | "!=" | "<" | "<=" | ">" | ">=") size
 *
 * A name is a size, parameter or let of the part; members of a rank variable are B.0, B.1 or B[0].
 */
#ifndef SMELT_KERNEL_EXPRESSION_H
#define SMELT_KERNEL_EXPRESSION_H

#include "kernel/kernel.h"

enum {
    EXPRESSION_DEPTH = 1000,        /* operations and brackets inside each other */
    EXPRESSION_OPERATIONS = 1 << 20 /* in one line */
};

/* The whole stretch `text` must be one size. NULL: an error was added. */
const struct ir_size *expression_size(struct arena *arena, const struct ir_part *part,
                                      struct place text, struct errors *errors);
/* One to `most` sizes with commas between; how many, 0: an error was added. */
int expression_sizes(struct arena *arena, const struct ir_part *part, struct place text, int most,
                     const struct ir_size **sizes, struct errors *errors);
/* ceil(a, b), as the expressions have it; its two operands, when a size is that. */
bool expression_is_ceil(const struct ir_size *size, const struct ir_size **a,
                        const struct ir_size **b);
/* The whole stretch must be facts. False: an error was added. */
bool expression_facts(struct arena *arena, const struct ir_part *part, struct place text,
                      struct kernel *kernel, struct errors *errors);

#endif
