/*
 * Whether a plan can be. Legality is apart from taste: a plan that is refused gets a reason, with
 * the place where it was written.
 */
#include "skeleton/skeleton.h"

#include <string.h>

struct checker {
    const struct skeleton_program *program;
    struct plan *plan;
    struct error *error;
    int *owner; /* per stage: its group; INLINED */
    struct skeleton_view view;
};

enum { INLINED = -1 };

static const char *stage_name(const struct checker *c, int stage)
{
    return c->program->graph->names[stage];
}

/* ---- inlined stages ---- */

static bool check_inlined(struct checker *c, int stage)
{
    const struct ir_graph *graph = c->program->graph;
    const struct ir_part *part = c->program->part;
    const char *name = stage_name(c, stage);
    struct place place = c->plan->inline_place;
    if (part->stages[stage].kind != IR_MAP)
        return error_at(c->error, ERROR_PLAN_ILLEGAL, place,
                        "stage '%s' cannot be inlined: only maps can be computed where they are "
                        "read",
                        name);
    int tensor = part->stages[stage].writes[0].tensor;
    if (part->tensors[tensor].role != IR_TENSOR_TEMPORARY)
        return error_at(c->error, ERROR_PLAN_ILLEGAL, place,
                        "stage '%s' cannot be inlined: its tensor is %s", name,
                        part->tensors[tensor].role == IR_TENSOR_OUTPUT ? "an output"
                                                                       : "carried by a loop");
    for (int i = 0; i < graph->writers[tensor].count; i++) {
        if (c->owner[graph->writers[tensor].at[i]] != INLINED)
            return error_at(c->error, ERROR_PLAN_ILLEGAL, place,
                            "stage '%s' cannot be inlined while '%s' is not: both define '%s'",
                            name, stage_name(c, graph->writers[tensor].at[i]),
                            part->tensors[tensor].name);
    }
    if (!skeleton_can_inline(part, tensor))
        return error_at(c->error, ERROR_PLAN_ILLEGAL, place,
                        "stage '%s' cannot be inlined: the point that computes an element does "
                        "not follow from its place",
                        name);
    return true;
}

/* ---- the order of groups ---- */

/* A stage and, through inlined ones, what it reads must have run before group `group`. */
static bool check_reads(struct checker *c, int group, int stage, int *seen)
{
    const struct ir_numbers *after = &c->program->graph->after[stage];
    for (int i = 0; i < after->count; i++) {
        int before = after->at[i];
        if (c->owner[before] == INLINED && seen[before] != group + 1) {
            seen[before] = group + 1;
            if (!check_reads(c, group, before, seen))
                return false;
        } else if (c->owner[before] > group) {
            error_at(c->error, ERROR_PLAN_ILLEGAL, c->plan->groups[group].place,
                     "group '%s' runs before group '%s', but stage '%s' reads what '%s' defines",
                     c->plan->groups[group].name, c->plan->groups[c->owner[before]].name,
                     stage_name(c, stage), stage_name(c, before));
            error_hint(c->error, "groups run in the order in which they are written");
            return false;
        }
    }
    return true;
}

/* What a loop carries is written before it and by it: one group must have both. */
static bool check_states(struct checker *c)
{
    const struct ir_part *part = c->program->part;
    for (int t = 0; t < part->tensor_count; t++) {
        const struct ir_numbers *writers = &c->program->graph->writers[t];
        for (int i = 1; part->tensors[t].role == IR_TENSOR_STATE && i < writers->count; i++) {
            int a = writers->at[0], b = writers->at[i];
            if (c->owner[a] != c->owner[b])
                return error_at(c->error, ERROR_PLAN_ILLEGAL,
                                c->plan->groups[c->owner[b] < 0 ? 0 : c->owner[b]].place,
                                "stages '%s' and '%s' belong into one group: a loop carries '%s'",
                                stage_name(c, a), stage_name(c, b), part->tensors[t].name);
        }
    }
    return true;
}

/* ---- decisions ---- */

static const struct plan_slot *find_slot(const struct plan_slots *slots, const char *key)
{
    for (size_t i = 0; i < slots->count; i++) {
        if (strcmp(slots->at[i].key, key) == 0)
            return &slots->at[i];
    }
    return NULL;
}

static bool unknown_key(struct checker *c, const struct plan_group *group,
                        const struct plan_slots *slots, const struct plan_decision *decision)
{
    const char **keys = arena_array(c->program->arena, slots->count + 1, sizeof(const char *));
    for (size_t i = 0; i < slots->count; i++)
        keys[i] = slots->at[i].key;
    const char *nearest = spelling_nearest(decision->key, keys, slots->count);
    error_at(c->error, ERROR_PLAN_LINE, decision->place,
             "skeleton %s decides nothing called '%s' here", group->skeleton, decision->key);
    if (nearest)
        error_hint(c->error, "did you mean '%s'?", nearest);
    return false;
}

static bool unknown_value(struct checker *c, const struct plan_slot *slot,
                          const struct plan_decision *decision)
{
    struct text values = text_new(c->program->arena);
    for (int i = 0; i < slot->value_count && values.length < 200; i++)
        text_printf(&values, "%s%s", i ? ", " : "", slot->values[i]);
    error_at(c->error, ERROR_PLAN_ILLEGAL, decision->place, "%s cannot be %s here", slot->key,
             decision->value);
    if (slot->value_count)
        error_hint(c->error, "it can be %s", values.at);
    return false;
}

static bool has_value(const struct plan_slot *slot, const char *value)
{
    for (int i = 0; i < slot->value_count; i++) {
        if (strcmp(slot->values[i], value) == 0)
            return true;
    }
    return false;
}

/* Decisions in the order of the slots, what is open filled in. */
static bool complete(struct checker *c, struct plan_group *group, const struct plan_slots *slots)
{
    struct arena *arena = c->program->arena;
    for (int i = 0; i < group->decision_count; i++) {
        const struct plan_slot *slot = find_slot(slots, group->decisions[i].key);
        if (!slot)
            return unknown_key(c, group, slots, &group->decisions[i]);
        if (!has_value(slot, group->decisions[i].value))
            return unknown_value(c, slot, &group->decisions[i]);
    }
    struct plan_decision *decisions = arena_array(arena, slots->count + 1, sizeof *decisions);
    for (size_t i = 0; i < slots->count; i++) {
        const struct plan_slot *slot = &slots->at[i];
        decisions[i] = (struct plan_decision){.key = slot->key};
        if (slot->value_count)
            decisions[i].value = slot->values[slot->seed];
        for (int d = 0; d < group->decision_count; d++) {
            if (strcmp(group->decisions[d].key, slot->key) == 0)
                decisions[i] = group->decisions[d];
        }
        if (!decisions[i].value)
            return error_at(c->error, ERROR_PLAN_PIN, group->place,
                            "pins leave no value for %s of group '%s'", slot->key, group->name);
    }
    for (size_t i = 0; i < slots->count; i++) { /* slots may go before the plan does */
        decisions[i].key = arena_string(arena, decisions[i].key);
        decisions[i].value = arena_string(arena, decisions[i].value);
    }
    group->decisions = decisions;
    group->decision_count = (int)slots->count;
    return true;
}

static bool check_group(struct checker *c, int number)
{
    struct plan_group *plan = &c->plan->groups[number];
    const struct skeleton *skeleton = skeleton_find(c->program->target, plan->skeleton);
    struct skeleton_reason why_not = {""};
    struct plan_slots slots = {0};
    if (!skeleton)
        return error_at(c->error, ERROR_PLAN_STAGE, plan->skeleton_place,
                        "there is no skeleton '%s'", plan->skeleton);
    if (c->program->pins &&
        !plan_pins_allow(c->program->pins, plan, c->program->graph, "skeleton", plan->skeleton))
        return error_at(c->error, ERROR_PLAN_PIN, plan->skeleton_place,
                        "a pin forbids skeleton %s for group '%s'", plan->skeleton, plan->name);
    struct skeleton_group group = skeleton_group_in(c->program, c->plan, &c->view, number);
    if (!skeleton->match(&group, &why_not))
        return error_at(c->error, ERROR_PLAN_ILLEGAL, plan->skeleton_place,
                        "skeleton %s does not fit group '%s': %s", plan->skeleton, plan->name,
                        why_not.text);
    skeleton_open(c->program, &group, plan, &slots);
    if (!complete(c, plan, &slots))
        return false;
    if (!skeleton->legal(&group, plan, &why_not))
        return error_at(c->error, ERROR_PLAN_ILLEGAL, plan->place, "group '%s' cannot be: %s",
                        plan->name, why_not.text);
    return true;
}

bool skeleton_check_group(const struct skeleton_program *program, struct plan *plan,
                          const struct skeleton_view *view, int group, struct error *error)
{
    struct checker c = {
        .program = skeleton_program_of(program, plan), .plan = plan, .error = error, .view = *view};
    return check_group(&c, group);
}

/* ---- the whole ---- */

static bool check_target(struct checker *c)
{
    struct skeleton_target target = *c->program->target;
    const struct plan *plan = c->plan;
    const struct skeleton_device *device = target.device;
    if (device && strcmp(plan->target, device->language) == 0) {
        if (strcmp(plan->machine, target.name) == 0)
            return true;
        error_at(c->error, ERROR_PLAN_TARGET, plan->place, "the plan is for %s, this is %s",
                 plan->machine, target.name);
        error_hint(c->error, "write %s, or choose it by --target %s:%s", target.name,
                   device->language, plan->machine);
        return false;
    }
    if (device || strcmp(plan->target, "cpu") != 0)
        return error_at(c->error, ERROR_PLAN_TARGET, plan->place,
                        device ? "the plan is for the target %s" : "there is no target '%s'",
                        plan->target);
    if (!skeleton_target_limit(&target, plan->machine)) {
        error_at(c->error, ERROR_PLAN_TARGET, plan->place, "there is no machine '%s'",
                 plan->machine);
        error_hint(c->error, "avx512, avx2 or portable");
        return false;
    }
    if (strcmp(plan->machine, c->program->target->name) == 0)
        return true;
    error_at(c->error, ERROR_PLAN_TARGET, plan->place, "the plan is for %s, this is %s",
             plan->machine, c->program->target->name);
    error_hint(c->error, "write %s, or choose the machine by --target cpu:%s",
               c->program->target->name, plan->machine);
    return false;
}

/* The first size in `size` that the plan leaves open, or -1. */
static int open_symbol(const struct ir_size *size)
{
    if (size->op == IR_SIZE_CONSTANT || size->op == IR_SIZE_SYMBOL)
        return size->op == IR_SIZE_SYMBOL ? size->symbol : -1;
    int symbol = open_symbol(size->a);
    return symbol >= 0 ? symbol : open_symbol(size->b);
}

/* What rewrites rely on must follow from the sizes the plan fixes. */
static bool check_zeros(struct checker *c)
{
    const struct ir_part *part = c->program->part;
    const struct plan *plan = c->plan;
    struct skeleton_group group = {.arena = c->program->arena,
                                   .part = part,
                                   .fixes = plan->fixes,
                                   .fix_count = plan->fix_count};
    for (int i = 0; i < part->zero_count; i++) {
        const struct ir_size *zero = skeleton_size_fixed(&group, part->zeros[i]);
        int symbol = open_symbol(zero);
        if (symbol < 0 && zero->value == 0)
            continue;
        error_at(c->error, ERROR_PLAN_ILLEGAL, plan->place,
                 "its rewrites hold for some sizes only, and these are %s",
                 symbol < 0 ? "others" : "not fixed");
        if (symbol >= 0)
            error_hint(c->error, "fix %s=%lld", part->symbols[symbol].name,
                       (long long)c->program->binding->sizes[symbol]);
        return false;
    }
    return true;
}

bool skeleton_check(const struct skeleton_program *program, struct plan *plan, struct error *error)
{
    program = skeleton_program_of(program, plan);
    int stages = program->part->stage_count;
    struct checker c = {.program = program, .plan = plan, .error = error};
    c.owner = arena_array(program->arena, (size_t)stages + 1, sizeof *c.owner);
    for (int i = 0; i < stages; i++)
        c.owner[i] = INLINED;
    for (int g = 0; g < plan->group_count; g++) {
        for (int i = 0; i < plan->groups[g].stage_count; i++)
            c.owner[plan->groups[g].stages[i]] = g;
    }
    if (!check_target(&c) || !check_zeros(&c))
        return false;
    for (int i = 0; i < plan->inlined_count; i++) {
        if (!check_inlined(&c, plan->inlined[i]))
            return false;
    }
    if (!check_states(&c))
        return false;
    int *seen = arena_array(program->arena, (size_t)stages + 1, sizeof *seen);
    for (int g = 0; g < plan->group_count; g++) {
        for (int i = 0; i < plan->groups[g].stage_count; i++) {
            if (!check_reads(&c, g, plan->groups[g].stages[i], seen))
                return false;
        }
    }
    c.view = skeleton_view_new(program, plan);
    struct arena scratch = {0};
    c.view.scratch = &scratch;
    bool legal = true;
    for (int g = 0; legal && g < plan->group_count; g++) {
        legal = check_group(&c, g);
        arena_reset(&scratch);
    }
    arena_release(&scratch);
    return legal;
}
