/*
 * Whether the plain kernel runs with every step rounded up, and down, too: see plain.c.
 *
 * In class f64 it has to, since rounded to nearest it is the reference itself. In the class below
 * it may be lucky: of a row with one large value the gradient of a norm is the difference of two
 * numbers that are nearly equal, no input that is moved moves it much, and in the one such element
 * of a small draw the plain kernel may happen to round right. So small cases have it, each element
 * by itself: what one of them loses is no excuse for the others.
 *
 * Not where the op itself rounds: up, or down, it would be another op.
 */
#include "judge/private.h"

static const double most_steps = 1e6; /* values one evaluation computes: more have more elements */

static bool nodes_round(const struct ir_nodes *nodes)
{
    for (int i = 0; i < nodes->count; i++)
        if (nodes->at[i].op == IR_ROUND)
            return true;
    return false;
}

static bool stages_round(const struct ir_stage *stages, int count)
{
    for (int s = 0; s < count; s++)
        if (nodes_round(&stages[s].nodes) ||
            (stages[s].monoid && nodes_round(&stages[s].monoid->nodes)) ||
            stages_round(stages[s].body, stages[s].body_count))
            return true;
    return false;
}

enum directed directed_choose(const struct ir_program *program, const struct ir_binding *binding,
                              int bits)
{
    for (int p = 0; p < program->part_count; p++)
        if (stages_round(program->parts[p]->stages, program->parts[p]->stage_count))
            return DIRECTED_NOT;
    if (bits >= ORACLE_BITS)
        return DIRECTED_WORST;
    return bits > COARSE_BITS && oracle_steps(binding, NULL) <= most_steps ? DIRECTED_EACH
                                                                           : DIRECTED_NOT;
}
