/*
 * Kernels compiled and called in the process of the test.
 */
#ifndef SMELT_TESTS_UNIT_KERNEL_RUN_H
#define SMELT_TESTS_UNIT_KERNEL_RUN_H

#include "kernel/kernel.h"
#include "lang/lang.h"
#include "oracle/oracle.h"
#include "os/library.h"

typedef int kernel_function(void *const *tensors, const int64_t *sizes, const double *scalars,
                            void *scratch);

/* What is being tested, for complaints. */
extern const char *kernel_run_what;
_Noreturn void kernel_run_complain(const char *message, const char *detail);

/*
 * The judge's flags, or `quick` with less optimisation. A warning fails the test; so does one of
 * clang, where there is clang, unless it is to be quick.
 */
kernel_function *kernel_run_compile(struct arena *arena, const struct text *source, bool quick,
                                    struct library **library);
/*
 * Calls it with the memory its manifest asks for and no more, and compares with the interpreter:
 * an element may be off by two units at its own size and `slack` units at that of the largest; no
 * slack: it must be the very same.
 */
void kernel_run_check(struct arena *arena, const struct ir_binding *binding,
                      const struct array *inputs, kernel_function *function,
                      const struct kernel *kernel, double slack);

/* The case that is suggested for an op as settings: "B=[4,2]" "D=4". */
struct settings VECTOR(const char *);
struct settings kernel_run_settings(struct arena *arena, const struct ast_op *op);

#endif
