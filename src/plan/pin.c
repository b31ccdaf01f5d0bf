/*
 * Pins: what a person wants of decisions. `rows.lanes=8` fixes, `rows.lanes<=8` and `>=` bound,
 * `rows.lanes~8` prefers, `rows.lanes!=8` forbids. The group is named by itself, by one of its
 * stages, or `*` for all; the key may be `skeleton`.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

static bool malformed(const char *text, struct error *error)
{
    error_set(error, ERROR_PLAN_PIN, "'%.100s' is no pin", text);
    error_hint(error, "write GROUP.KEY=VALUE, or <=, >=, != or ~ instead of =: rows.lanes<=8");
    return false;
}

static bool read_bound(const char *text, bool upper, struct plan_pin *pin, struct error *error)
{
    char *end;
    long long bound = strtoll(pin->value, &end, 10);
    if (*end || end == pin->value || strlen(pin->value) > 18)
        return malformed(text, error);
    pin->kind = PLAN_PIN_RANGE;
    pin->low = upper ? INT64_MIN : bound;
    pin->high = upper ? bound : INT64_MAX;
    return true;
}

bool plan_pin_parse(struct arena *arena, const char *text, struct plan_pin *pin,
                    struct error *error)
{
    size_t left = strcspn(text, "=<>!~");
    const char *sign = text + left;
    const char *dot = NULL;
    for (size_t i = 0; i < left; i++) /* names of groups have dots, keys do not */
        dot = text[i] == '.' ? text + i : dot;
    size_t length = *sign == '=' || *sign == '~' ? 1 : 2;
    *pin = (struct plan_pin){0};
    if (!*sign || !dot || dot == text || dot + 1 == sign || (length == 2 && sign[1] != '=') ||
        !sign[length])
        return malformed(text, error);
    pin->group = arena_copy(arena, text, (size_t)(dot - text));
    pin->key = arena_copy(arena, dot + 1, (size_t)(sign - dot - 1));
    pin->value = arena_string(arena, sign + length);
    switch (*sign) {
    case '=': pin->kind = PLAN_PIN_FIX; return true;
    case '~': pin->kind = PLAN_PIN_PREFER; return true;
    case '!': pin->kind = PLAN_PIN_FORBID; return true;
    default: return read_bound(text, *sign == '<', pin, error);
    }
}

/* ---- use ---- */

static bool pin_concerns(const struct plan_pin *pin, const struct plan_group *group,
                         const struct ir_graph *graph, const char *key)
{
    if (strcmp(pin->key, key) != 0)
        return false;
    if (strcmp(pin->group, "*") == 0 || strcmp(pin->group, group->name) == 0)
        return true;
    for (int i = 0; i < group->stage_count; i++) {
        if (strcmp(graph->names[group->stages[i]], pin->group) == 0)
            return true;
    }
    return false;
}

static bool pin_allows(const struct plan_pin *pin, const char *value)
{
    char *end;
    long long number = strtoll(value, &end, 10);
    switch (pin->kind) {
    case PLAN_PIN_FIX: return strcmp(value, pin->value) == 0;
    case PLAN_PIN_FORBID: return strcmp(value, pin->value) != 0;
    case PLAN_PIN_RANGE: return !*end && end != value && number >= pin->low && number <= pin->high;
    case PLAN_PIN_PREFER: return true;
    }
    return true;
}

bool plan_pins_allow(const struct plan_pins *pins, const struct plan_group *group,
                     const struct ir_graph *graph, const char *key, const char *value)
{
    for (size_t i = 0; i < pins->count; i++) {
        if (pin_concerns(&pins->at[i], group, graph, key) && !pin_allows(&pins->at[i], value))
            return false;
    }
    return true;
}

/* The values of one slot that are left, and where to start among them. */
static bool apply_to_slot(struct arena *arena, const struct plan_pins *pins,
                          const struct plan_group *group, const struct ir_graph *graph,
                          struct plan_slot *slot, const struct plan_pin **which)
{
    const char **values = arena_array(arena, (size_t)slot->value_count + 1, sizeof(const char *));
    int count = 0, seed = 0, distance = INT32_MAX;
    for (int v = 0; v < slot->value_count; v++) {
        if (!plan_pins_allow(pins, group, graph, slot->key, slot->values[v]))
            continue;
        int away = abs(v - slot->seed);
        for (size_t i = 0; i < pins->count; i++) {
            if (pins->at[i].kind == PLAN_PIN_PREFER &&
                pin_concerns(&pins->at[i], group, graph, slot->key) &&
                strcmp(pins->at[i].value, slot->values[v]) == 0)
                away = -1;
        }
        if (away < distance) {
            distance = away;
            seed = count;
        }
        values[count++] = slot->values[v];
    }
    slot->values = values;
    slot->value_count = count;
    slot->seed = seed;
    for (size_t i = 0; count == 0 && i < pins->count; i++) {
        if (pin_concerns(&pins->at[i], group, graph, slot->key))
            *which = &pins->at[i];
    }
    return count > 0;
}

bool plan_pins_apply(struct arena *arena, const struct plan_pins *pins,
                     const struct plan_group *group, const struct ir_graph *graph,
                     struct plan_slots *slots, const struct plan_pin **which)
{
    bool all = true;
    for (size_t i = 0; i < slots->count; i++) {
        bool pinned = false;
        for (size_t p = 0; p < pins->count; p++)
            pinned |= pin_concerns(&pins->at[p], group, graph, slots->at[i].key);
        if (pinned)
            all &= apply_to_slot(arena, pins, group, graph, &slots->at[i], which);
    }
    return all;
}
