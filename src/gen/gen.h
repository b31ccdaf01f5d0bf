/*
 * Source code from programs. One folder per dialect; this header is what the others see.
 */
#ifndef SMELT_GEN_GEN_H
#define SMELT_GEN_GEN_H

#include "base/base.h"
#include "ir/ir.h"

/*
 * The plain lowering: any program as readable C, one loop nest per stage, nothing clever.
 *
 * GEN_REFERENCE is the compiled form of the oracle: every float a double, every integer an int64,
 * values rounded only where a type is declared. Entry: smelt_oracle (see src/oracle/compile.c).
 * GEN_PLAIN is a kernel: tensors in their own types, floats computed in float (double where the op
 * says f64), sums added up pairwise, entry and manifest as src/kernel/kernel.h says. It is where
 * people and proposers start from, and the yardstick of accuracy.
 */
enum gen_form { GEN_REFERENCE, GEN_PLAIN };

void gen_plain_c(struct text *out, const struct ir_program *program, enum gen_form form);

/* GEN_REFERENCE of several programs in one text, with entries smelt_oracle_0, smelt_oracle_1, ...
 */
void gen_references_c(struct text *out, const struct ir_program *const *programs, int count);

/* What the comment at the head of a plain kernel says besides; each NULL: it says nothing of that.
 */
struct gen_contract {
    const char *op;       /* the text of the op */
    const char *compiler; /* the command line kernels are compiled with */
    const char *accuracy; /* how far off a result may be, in numbers */
    const char *domain;   /* what inputs may be, and which sizes are asked for */
};

/* GEN_PLAIN with a contract for those who go on from there. */
void gen_kernel_c(struct text *out, const struct ir_program *program,
                  const struct gen_contract *contract);

#endif
