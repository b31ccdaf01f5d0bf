/*
 * Source code from programs. One folder per dialect; this header is what the others see.
 */
#ifndef SMELT_GEN_GEN_H
#define SMELT_GEN_GEN_H

#include "base/base.h"
#include "ir/ir.h"
#include "loop/loop.h"

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

/*
 * Single points: a function smelt_points that computes given elements of given outputs and what
 * they depend on, from inputs in their own types (see src/oracle/slice.c). False when the program
 * has no such form: it has loops over stages, scatters, or left sides that cannot be turned round.
 */
bool gen_points_c(struct text *out, const struct ir_program *program, enum gen_form form);

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

/*
 * The plain lowering for a device: a kernel per stage, an element of its result per thread; what
 * cannot be split is one thread's. False: there is no such language.
 */
bool gen_has_device(const char *target);
bool gen_plain_device(struct text *out, const struct ir_program *program, const char *target,
                      const struct gen_contract *contract);

/*
 * ---- from loops (src/loop) ----
 *
 * Readable C17 with GCC's vector extensions, no header of intrinsics; gcc and clang take it, for
 * x86 and AArch64. Functions run in order, each as the loops say.
 */
struct gen_head {
    const struct ir_fact *holds; /* sizes the kernel is for */
    int holds_count;
    int threads;              /* most it makes use of; 0: as many as it is given */
    const char *op;           /* the text of the op, or NULL */
    const char *plan;         /* the text of the plan, or NULL */
    const char *architecture; /* of a device, for the manifest; NULL: whichever it has */
};

void gen_loop_c(struct text *out, const struct loop_kernel *kernel, const struct gen_head *head);
/* The same for a device: functions are launched, as loop_launch says. False: no such language. */
bool gen_loop_device(struct text *out, const struct loop_kernel *kernel, const char *target,
                     const struct gen_head *head);

#endif
