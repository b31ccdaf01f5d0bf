/* How far off an element may be, and what an element is called that is farther off. */
#include <math.h>
#include <string.h>

#include "judge/private.h"
#include "oracle_program.h"

enum { TERMS = 1024 };

static const char sum_text[] = "ir 1\n"
                               "part total {\n"
                               "    size D\n"
                               "    input x f32[D]\n"
                               "    output y f32[]\n"
                               "    signature (x) -> (y)\n"
                               "    reduce sum over | d < D {\n"
                               "        %0 = index d\n"
                               "        %1 = read x [%0] proved\n"
                               "        y [] <- %1\n"
                               "    }\n"
                               "}\n";

/* A plain loop adds like terms to a large one: each is lost, by just under half a unit, and the
 * element may by chance not have moved in any disturbance. Honest kernels do that. */
TEST(limits_allow_a_plain_loop_over_like_terms)
{
    struct evaluation e;
    double values[TERMS];
    evaluation_open(&e, sum_text, SIZES(TERMS));
    values[0] = 1;
    for (int i = 1; i < TERMS; i++)
        values[i] = (float)(0.499 * 0x1p-23);
    evaluation_set(&e, 0, values);
    evaluation_run(&e, true);
    volatile float sum = 0;
    for (int i = 0; i < TERMS; i++)
        sum += (float)values[i];
    struct task task = {.accuracy = "f32"};
    struct limit_rule rule = limit_rule_make(&e.arena, &task, e.binding);
    double limit = 0;
    limit_settle(&rule, &e.outputs[0], &limit);
    CHECK(fabs((double)sum - e.outputs[0].floats[0]) < limit);
    evaluation_close(&e);
}

static enum outcome outcome_of(const struct evaluation *e, double limit, float got)
{
    double limits[1] = {limit}, *all[1] = {limits};
    const void *bytes[1] = {&got};
    struct draw draw = {.expected = e->outputs, .limits = all};
    struct comparison comparison;
    compare_outputs(e->binding, &draw, bytes, &comparison);
    return comparison.outcome;
}

/* Half of what it should be is not a matter of rounding, however wide limits are. */
TEST(comparison_calls_half_the_value_wrong)
{
    struct evaluation e;
    evaluation_open(&e, sum_text, SIZES(4));
    SET(&e, 0, 1, 2, 3, 4);
    evaluation_run(&e, true);
    CHECK_INT(outcome_of(&e, 0.01, 10.005F), OUTCOME_OK);
    CHECK_INT(outcome_of(&e, 0.01, 10.1F), OUTCOME_INACCURATE);
    CHECK_INT(outcome_of(&e, 0.01, 5), OUTCOME_WRONG);
    CHECK_INT(outcome_of(&e, 0.01, 0), OUTCOME_WRONG);
    CHECK_INT(outcome_of(&e, 1e-7, 10.1F), OUTCOME_WRONG);
    CHECK_INT(outcome_of(&e, 20, 5), OUTCOME_OK);
    evaluation_close(&e);
}
