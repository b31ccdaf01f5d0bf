/*
 * instruction: fewer instructions for the same work.
 */
#include "propose/expert/edit.h"

static const struct edit_key keys[] = {
    {"lanes", "wider vectors do more per instruction"},
    {"tile.", "a larger register tile loads less per multiply-add; too large a one spills"},
    {"tile", "a larger register tile loads less per element; too large a one spills"},
    {"vector", "what a thread does once is done for more elements"},
    {"unroll", "a loop unrolled counts and jumps less"},
    {"atom", "another instruction may do the same work in fewer steps"},
    {"precision", "a product in parts may run on faster units"},
    {"stream", "an exponential less per element may be worth a pass more"},
    {"keep", "what is kept need not be computed again"},
    {NULL, NULL},
};

static int concern(enum diagnosis_class class)
{
    return class == DIAGNOSIS_INSTRUCTION ? 2 : class == DIAGNOSIS_NONE;
}

static int propose(const struct propose_view *view, struct proposal *proposals, int most)
{
    return edit_decisions(view, keys, proposals, most);
}

const struct proposer expert_instruction = {
    .name = "instruction",
    .note = "fewer instructions for the same work: lanes, register tiles, atoms, unrolling",
    .concern = concern,
    .propose = propose,
};
