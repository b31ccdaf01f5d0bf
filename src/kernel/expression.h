/*
 * Private to src/kernel: the expressions of a manifest, over the sizes of a part.
 *
 *     size   = term {("+" | "-") term}
 *     term   = factor {("*" | "/" | "%") factor}        "/" and "%" round down
 *     factor = integer | name | "(" size ")" | "-" factor | ("min" | "max") "(" size "," size ")"
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
/* The whole stretch must be facts. False: an error was added. */
bool expression_facts(struct arena *arena, const struct ir_part *part, struct place text,
                      struct kernel *kernel, struct errors *errors);

#endif
