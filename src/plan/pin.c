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
    const char *sign = text + left, *dot = memchr(text, '.', left);
    size_t length = *sign == '=' || *sign == '~' ? 1 : 2;
    *pin = (struct plan_pin){0};
    if (!*sign || !dot || dot == text || sign[-1] == '.' || (length == 2 && sign[1] != '=') ||
        !sign[length])
        return malformed(text, error);
    pin->place = arena_copy(arena, text, left);
    pin->value = arena_string(arena, sign + length);
    switch (*sign) {
    case '=': pin->kind = PLAN_PIN_FIX; return true;
    case '~': pin->kind = PLAN_PIN_PREFER; return true;
    case '!': pin->kind = PLAN_PIN_FORBID; return true;
    default: return read_bound(text, *sign == '<', pin, error);
    }
}

/* ---- use ---- */

static bool is_named(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

bool plan_pin_concerns(const struct plan_pin *pin, const struct plan_group *group,
                       const struct ir_graph *graph, const char *key)
{
    size_t whole = strlen(pin->place), tail = strlen(key) + 1;
    if (whole <= tail || pin->place[whole - tail] != '.' ||
        strcmp(pin->place + whole - tail + 1, key) != 0)
        return false;
    size_t length = whole - tail;
    if (is_named("*", pin->place, length) || is_named(group->name, pin->place, length))
        return true;
    for (int i = 0; i < group->stage_count; i++) {
        if (is_named(graph->names[group->stages[i]], pin->place, length))
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
        if (plan_pin_concerns(&pins->at[i], group, graph, key) && !pin_allows(&pins->at[i], value))
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
                plan_pin_concerns(&pins->at[i], group, graph, slot->key) &&
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
        if (plan_pin_concerns(&pins->at[i], group, graph, slot->key))
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
            pinned |= plan_pin_concerns(&pins->at[p], group, graph, slots->at[i].key);
        if (pinned)
            all &= apply_to_slot(arena, pins, group, graph, &slots->at[i], which);
    }
    return all;
}
