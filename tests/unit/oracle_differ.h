/*
 * For the tests of the compiled oracle: programs given as IR text, run in both forms and compared
 * bit for bit.
 */
#ifndef SMELT_TESTS_UNIT_ORACLE_DIFFER_H
#define SMELT_TESTS_UNIT_ORACLE_DIFFER_H

#include "oracle/oracle.h"

/* The program; a text that does not parse fails the test. In the arena of the tests. */
const struct ir_program *differ_parse(const char *text);
/* The arena of the tests: given back when the test's process ends. */
struct arena *differ_arena(void);
/* Points SMELT_CACHE to a fresh directory, which is removed when the test ends. */
const char *differ_cache(void);
/* Compiles, or fails the test with what the compiler said. */
struct oracle_code *differ_compile(const struct ir_program *program);

/*
 * Draws inputs for the binding: values of their types, hard ones among them, within what the
 * program promises about them (index, offsets). NULL when no values are like that.
 */
struct array *differ_draw(const struct ir_binding *binding, uint64_t seed);
/* Runs both forms on the inputs, exact outputs too, and fails the test where they differ. */
void differ_check(const struct oracle_code *code, const struct ir_binding *binding,
                  const struct array *inputs);
/* All of the above: `rounds` random shapes with sizes up to `largest`; some of them must bind. */
void differ(const char *text, int rounds, int64_t largest);

bool differ_same(double a, double b); /* same bits; NaNs are alike */

#endif
