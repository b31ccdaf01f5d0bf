/*
 * contract on devices, sums that leave terms out, as products of triangular matrices do:
 *
 *     y[m, n] += a[m, k] * b[k, n] if m <= k and k <= n
 *
 * A condition is one or several differences, none of which may be below 0: here k - m and n - k.
 * Each goes up or down evenly with row, column and term, so its least and its greatest value in a
 * tile are known: tiles of terms in which one is always below 0 are never fetched, those in which
 * none ever is are multiplied as they are, and only in the others each term is looked at. Factors
 * are not set to zero instead: where the other is infinite the product would be NaN.
 */
#include <stdio.h>

#include "skeleton/device/contract.h"
#include "skeleton/device/device.h"

#define REFUSE(why, ...) (snprintf((why)->text, sizeof(why)->text, __VA_ARGS__), false)

static loop_value number(const struct blocks_code *code, int64_t value)
{
    return loop_integer(code->arena, value);
}

/* ---- what can be said tile by tile ---- */

/* Factors are fetched where terms are left out, too: no read may rely on the condition. */
static bool reads_stay_inside(const struct contract *contract)
{
    const struct ir_part *part = contract->group->part;
    const struct ir_nodes *nodes = &contract->stage->nodes;
    for (int i = 0; i < nodes->count; i++) {
        const struct ir_node *node = &nodes->at[i];
        if (node->op != IR_READ || node->read.checked)
            continue;
        const struct ir_tensor *tensor = &part->tensors[node->read.tensor];
        for (int d = 0; d < tensor->rank; d++) {
            const struct ir_node *at = &nodes->at[node->read.at[d]];
            if (at->op != IR_INDEX || !part->indices[at->index].extent ||
                !skeleton_sizes_equal(part->indices[at->index].extent, tensor->dims[d]))
                return false;
        }
    }
    return true;
}

static bool add_differences(struct blocks_leave *leave, const struct contract *contract,
                            struct skeleton_values *values, int node)
{
    struct arena *arena = values->kernel->arena;
    const struct ir_node *condition = &contract->stage->nodes.at[node];
    if (condition->op == IR_AND)
        return add_differences(leave, contract, values, condition->a) &&
               add_differences(leave, contract, values, condition->b);
    if (condition->op != IR_LE && condition->op != IR_LT)
        return false;
    loop_value low = skeleton_value(values, contract->stage, condition->a);
    loop_value high = skeleton_value(values, contract->stage, condition->b);
    if (low->type.dtype != DTYPE_I64 || high->type.dtype != DTYPE_I64 ||
        leave->count == BLOCKS_MAX_DIFFERENCES)
        return false;
    loop_value difference = loop_sub(arena, high, low);
    if (condition->op == IR_LT)
        difference = loop_sub(arena, difference, loop_integer(arena, 1));
    for (int i = 0; i < 3; i++) {
        loop_value step = loop_step(arena, difference, leave->variables[i]);
        if (!step || step->op != LOOP_INTEGER)
            return false;
        leave->steps[leave->count][i] = step->integer;
    }
    int64_t along = leave->steps[leave->count][BLOCKS_TERM];
    leave->differences[leave->count++] = difference;
    return along >= -1 && along <= 1;
}

static struct loop_variable *stand_in(struct arena *arena, const char *name)
{
    struct loop_variable *variable = arena_new(arena, struct loop_variable);
    *variable = (struct loop_variable){name, LOOP_COUNTER, {DTYPE_I64, 1}, 0};
    return variable;
}

bool blocks_leave_of(const struct contract *contract, struct skeleton_values *values,
                     struct blocks_leave *leave, struct skeleton_reason *why_not)
{
    static const enum contract_set SETS[] = {CONTRACT_M, CONTRACT_N, CONTRACT_K};
    static const char *const NAMES[] = {"row", "column", "term"};
    struct arena *arena = values->kernel->arena;
    *leave = (struct blocks_leave){0};
    if (contract->stage->predicate == IR_NONE)
        return true;
    for (int i = 0; i < 3; i++) {
        const struct contract_indices *set = &contract->sets[SETS[i]];
        leave->variables[i] = stand_in(arena, NAMES[i]);
        if (set->count > 1)
            return REFUSE(why_not, "the sum leaves terms out, and several indices are its %ss",
                          NAMES[i]);
        if (set->count == 1)
            values->indices[set->at[0]] = loop_of(arena, leave->variables[i]);
    }
    values->memo = NULL;
    if (!reads_stay_inside(contract))
        return REFUSE(why_not, "the sum leaves terms out, and may not read what belongs to them");
    if (!add_differences(leave, contract, values, contract->stage->predicate))
        return REFUSE(why_not, "which terms the sum leaves out cannot be told tile by tile");
    values->memo = NULL;
    return true;
}

bool blocks_leave_fits(const struct contract *contract, struct skeleton_reason *why_not)
{
    const struct skeleton_group *group = contract->group;
    const struct contract_indices *batch = &contract->sets[CONTRACT_BATCH];
    struct blocks_leave leave;
    struct skeleton_values values = {.group = group,
                                     .kernel = loop_kernel_new(group->arena, group->part)};
    values.indices =
        arena_array(group->arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    for (int i = 0; i < batch->count; i++)
        values.indices[batch->at[i]] = loop_of(group->arena, stand_in(group->arena, "slice"));
    return blocks_leave_of(contract, &values, &leave, why_not);
}

/* ---- in a tile ---- */

/* The difference at its least or greatest in the block's rows and columns and these terms. */
static loop_value extreme(struct blocks_code *code, int which, bool greatest, loop_value first_term,
                          int64_t terms)
{
    struct arena *arena = code->arena;
    const struct blocks_leave *leave = &code->leave;
    const loop_value firsts[] = {code->row_first, code->column_first, first_term};
    const int64_t spans[] = {code->d.tile_m, code->d.tile_n, terms};
    loop_value value = leave->differences[which];
    for (int i = 0; i < 3; i++) {
        bool at_end = leave->steps[which][i] > 0 ? greatest : !greatest;
        loop_value at = at_end ? loop_add(arena, firsts[i], number(code, spans[i] - 1)) : firsts[i];
        value = loop_substitute(arena, value, leave->variables[i], at);
    }
    return value;
}

void blocks_leave_range(struct blocks_code *code, struct loop_block *block, loop_value *from,
                        loop_value *to)
{
    struct arena *arena = code->arena;
    loop_value zero = number(code, 0), first = zero, end = code->k;
    if (code->leave.count == 0)
        return;
    for (int i = 0; i < code->leave.count; i++) {
        loop_value greatest = device_name(block, "most", extreme(code, i, true, zero, 1));
        int64_t step = code->leave.steps[i][BLOCKS_TERM];
        if (step > 0)
            first = loop_apply(arena, IR_MAX, first, loop_sub(arena, zero, greatest), NULL);
        else if (step < 0)
            end = loop_min(arena, end, loop_add(arena, greatest, number(code, 1)));
        else
            end = loop_select(arena, loop_less(arena, greatest, zero), zero, end);
    }
    first = device_quotient(arena, first, number(code, code->d.tile_k));
    *from = device_name(block, "first_tile", first);
    end = loop_apply(arena, IR_MAX, end, zero, NULL);
    end = loop_add(arena, end, number(code, code->d.tile_k - 1));
    end = device_quotient(arena, end, number(code, code->d.tile_k));
    *to = device_name(block, "end_tile", loop_apply(arena, IR_MAX, end, *from, NULL));
}

loop_value blocks_leave_none(struct blocks_code *code, loop_value first_term)
{
    struct arena *arena = code->arena;
    loop_value all = NULL;
    for (int i = 0; i < code->leave.count; i++) {
        loop_value least = extreme(code, i, false, first_term, code->d.tile_k);
        all = device_and(arena, all, loop_apply(arena, IR_LE, number(code, 0), least, NULL));
    }
    return all;
}

loop_value blocks_leave_keeps(struct blocks_code *code, loop_value row, loop_value column,
                              loop_value term)
{
    struct arena *arena = code->arena;
    const loop_value places[] = {row, column, term};
    loop_value all = NULL;
    for (int i = 0; i < code->leave.count; i++) {
        loop_value value = code->leave.differences[i];
        for (int v = 0; v < 3; v++)
            value = loop_substitute(arena, value, code->leave.variables[v], places[v]);
        all = device_and(arena, all, loop_apply(arena, IR_LE, number(code, 0), value, NULL));
    }
    return all;
}
