/*
 * contract, atoms: which instruction multiplies, and in how many parts.
 *
 * Factors that are bf16 as they are, or bytes, go to instructions made for such operands. Factors
 * in f32 may be taken apart into bf16 (`precision`), if what is kept of them is enough for the
 * accuracy that is asked for.
 */
#include <stdio.h>
#include <string.h>

#include "skeleton/contract.h"
#include "skeleton/slots.h"

#define REFUSE(why, ...) (snprintf((why)->text, sizeof(why)->text, __VA_ARGS__), false)

/* ---- what factors are ---- */

bool contract_is_inlined(const struct skeleton_group *group, int tensor)
{
    for (int i = 0; group->inlined && i < group->part->stage_count; i++) {
        const struct ir_stage *stage = &group->part->stages[i];
        if (group->inlined[i] && stage->write_count && stage->writes[0].tensor == tensor)
            return true;
    }
    return false;
}

/* The only term of a factor, if that is an element of a tensor as it lies in memory, or zero; its
 * type. DTYPE_COUNT: something else. */
static enum dtype factor_dtype(const struct contract *contract, bool second)
{
    const struct ir_nodes *nodes = &contract->stage->nodes;
    const struct ir_node *node = NULL;
    for (int i = 0; i < contract->term_count; i++) {
        if (contract->terms[i].second != second)
            continue;
        if (node || contract->terms[i].inverse)
            return DTYPE_COUNT;
        node = &nodes->at[contract->terms[i].node];
    }
    while (node && node->op == IR_CAST && dtype_is_integer(node->cast) &&
           dtype_bytes(node->cast) > 1)
        node = &nodes->at[node->a];
    if (!node || node->op != IR_READ || contract_is_inlined(contract->group, node->read.tensor))
        return DTYPE_COUNT;
    if (node->read.otherwise != IR_NONE) {
        const struct ir_node *other = &nodes->at[node->read.otherwise];
        bool zero = (other->op == IR_FLOAT && other->number == 0) ||
                    (other->op == IR_INT && other->integer == 0);
        if (!zero)
            return DTYPE_COUNT;
    }
    return contract->group->part->tensors[node->read.tensor].dtype;
}

/* Every value of the type is one of bf16. */
static bool is_within_bf16(enum dtype dtype)
{
    return dtype == DTYPE_BF16 || dtype == DTYPE_F8E4 || dtype == DTYPE_F8E5;
}

static bool is_byte(enum dtype dtype)
{
    return dtype == DTYPE_I8 || dtype == DTYPE_U8;
}

bool contract_find_factors(struct contract *contract, struct skeleton_reason *why_not)
{
    const double *atoms = contract->group->target->atoms;
    enum dtype a = factor_dtype(contract, false), b = factor_dtype(contract, true);
    contract->factors = CONTRACT_WIDE;
    if (contract->dtype == DTYPE_F32 && is_within_bf16(a) && is_within_bf16(b))
        contract->factors = CONTRACT_BF16;
    if (dtype_is_float(contract->dtype))
        return true;
    if (contract->group->target->device) /* multiplies integers of any width */
        return true;
    if (!is_byte(a) || !is_byte(b) || contract->negative)
        return REFUSE(why_not, "the sum is of integers, but not of products of bytes");
    if (atoms[MACHINE_I8_DOT] <= 0 && atoms[MACHINE_I8_TILE] <= 0)
        return REFUSE(why_not, "the machine has no instruction for products of bytes");
    contract->factors = CONTRACT_BYTES;
    contract->row_dtype = a;
    contract->column_dtype = b;
    contract->element = 4; /* in lanes of 32 bits */
    return true;
}

/* ---- what is open ---- */

static const struct machine_atom *find_atom(const struct contract *contract, const char *name)
{
    bool bytes = contract->factors == CONTRACT_BYTES;
    for (int i = 0; i < MACHINE_ATOM_COUNT; i++) {
        const struct machine_atom *atom = &machine_atoms[i];
        if (contract->group->target->atoms[i] > 0 &&
            atom->operands == (bytes ? MACHINE_I8 : MACHINE_BF16) && strcmp(atom->name, name) == 0)
            return atom;
    }
    return NULL;
}

static double atom_rate(const struct contract *contract, const struct machine_atom *atom)
{
    return contract->group->target->atoms[atom - machine_atoms];
}

/* Whether factors can be taken apart at all. */
static bool has_schemes(const struct contract *contract)
{
    return contract->factors == CONTRACT_WIDE && contract->dtype == DTYPE_F32 &&
           (find_atom(contract, "dot") || find_atom(contract, "tile"));
}

static void open_atoms(const struct contract *contract, struct skeleton_slots *slots)
{
    struct arena *arena = contract->group->arena;
    const char **values = arena_array(arena, 4, sizeof *values);
    int count = 0, seed = 0;
    if (contract->factors == CONTRACT_BF16)
        values[count++] = "fma";
    if (find_atom(contract, "dot"))
        values[count++] = "dot";
    if (find_atom(contract, "tile"))
        values[count++] = "tile";
    seed = count - 1; /* the fastest there is */
    bool none = contract->factors == CONTRACT_WIDE && (count < 2 || !has_schemes(contract));
    if (!none && (count > 1 || contract->factors == CONTRACT_BYTES))
        vector_push(arena, slots,
                    (struct plan_slot){"atom",
                                       "the instruction that multiplies: lane by lane in f32, dot "
                                       "products of small operands, or tiles of them",
                                       values, count, seed});
}

bool contract_has_tiles(const struct skeleton_group *group)
{
    struct contract contract;
    struct skeleton_reason why_not;
    return contract_classify(group, &contract, &why_not) && find_atom(&contract, "tile");
}

void contract_open_atoms(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    struct contract contract;
    struct skeleton_reason why_not;
    if (!contract_classify(group, &contract, &why_not))
        return;
    open_atoms(&contract, slots);
    if (find_atom(&contract, "tile")) /* so fast that writing the results shows */
        slots_add_stores(group, slots, false);
    if (!has_schemes(&contract))
        return;
    const char **values = arena_array(group->arena, 8, sizeof *values);
    int count = 0;
    values[count++] = "whole";
    for (const struct machine_scheme *scheme = machine_schemes; scheme->name; scheme++) {
        if (scheme->bits >= group->accuracy)
            values[count++] = scheme->name;
    }
    if (count > 1)
        vector_push(group->arena, slots,
                    (struct plan_slot){"precision",
                                       "factors as they are, or in parts of bf16 and so many "
                                       "products of them",
                                       values, count, 0});
}

/* ---- what was decided ---- */

struct contract_choice contract_choose(const struct contract *contract,
                                       const struct plan_group *plan)
{
    struct contract_choice choice = {NULL, 1, 0};
    const char *name = plan_get(plan, "atom"), *precision = plan_get(plan, "precision");
    const struct machine_scheme *scheme = NULL;
    if (contract->factors == CONTRACT_WIDE) {
        scheme = precision ? machine_scheme_find(precision) : NULL;
        if (!scheme || !has_schemes(contract))
            return choice;
        choice.parts = scheme->parts;
    }
    if (!name || strcmp(name, "fma") != 0)
        choice.atom = find_atom(contract, name ? name : "tile");
    if (!choice.atom && (!name || contract->factors != CONTRACT_BF16))
        choice.atom = find_atom(contract, "dot");
    if (choice.atom)
        choice.rate = atom_rate(contract, choice.atom);
    return choice;
}

bool contract_choice_legal(const struct contract *contract, const struct plan_group *plan,
                           struct skeleton_reason *why_not)
{
    const char *precision = plan_get(plan, "precision");
    struct contract_choice choice = contract_choose(contract, plan);
    const struct machine_scheme *scheme = precision ? machine_scheme_find(precision) : NULL;
    if (scheme && scheme->bits < contract->group->accuracy)
        return REFUSE(why_not, "precision %s keeps %d bits, and the result must have %d",
                      scheme->name, scheme->bits, contract->group->accuracy);
    if (choice.atom && plan_is(plan, "merge", "yes"))
        return REFUSE(why_not, "atom %s takes columns line by line: merge no", choice.atom->name);
    return true;
}

/* A tile of the plan is one or two of the machine's each way. */
int contract_tile_rows(const struct machine_atom *atom, int64_t rows)
{
    return atom && atom->rows > 1 ? (rows > atom->rows ? 2 : 1) * atom->rows : (int)rows;
}

int contract_tile_vectors(const struct machine_atom *atom, int64_t vectors)
{
    return atom && atom->rows > 1 ? (vectors > 1 ? 2 : 1) : (int)vectors;
}
