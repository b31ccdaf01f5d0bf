/*
 * Programs in text form for the tests of the oracle: reading, binding, evaluating, comparing.
 */
#ifndef SMELT_TESTS_UNIT_ORACLE_PROGRAM_H
#define SMELT_TESTS_UNIT_ORACLE_PROGRAM_H

#include "oracle/oracle.h"
#include "test.h"

struct oracle_program {
    const char *name, *text;
    int64_t sizes[6]; /* in order of the symbols; lets are computed */
};

/* A program per construct; the last has no name. */
extern const struct oracle_program ORACLE_PROGRAMS[];

/* Everything of one evaluation; in an arena of its own. */
struct evaluation {
    struct arena arena;
    const struct ir_program *program;
    struct ir_binding *binding;
    struct array *inputs, *outputs;
};

/* Reads and binds; fails the test when that fails. */
void evaluation_open(struct evaluation *e, const char *text, const int64_t *sizes);
/* Gives input number i its values, one per element. */
void evaluation_set(struct evaluation *e, int i, const double *values);
void evaluation_draw(struct evaluation *e, uint64_t seed);
void evaluation_run(struct evaluation *e, bool exact);
void evaluation_close(struct evaluation *e);

/* Whether two values are the same bits; all NaNs are alike. */
bool double_same(double a, double b);
/* Compares output number i with one expected value per element, bit for bit. */
void evaluation_expect(const char *file, int line, const struct evaluation *e, int i,
                       const double *expected, int64_t count);

#define EXPECT(e, i, ...)                                                          \
    evaluation_expect(__FILE__, __LINE__, (e), (i), (const double[]){__VA_ARGS__}, \
                      (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))
#define SET(e, i, ...) evaluation_set((e), (i), (const double[]){__VA_ARGS__})
#define SIZES(...) ((const int64_t[]){__VA_ARGS__, 0, 0, 0, 0, 0, 0})

#endif
