/*
 * Lanes put elsewhere, as C. What scans do, zeros coming in, has functions of its own
 * (vector_values.c): compilers take a lane and a zero for two shuffles and a blend.
 */
#include "gen/c/loop.h"

#include <string.h>

/* Lanes of f32x8; 8 is zero. */
static const struct shift {
    const char *name;
    int pattern[8];
} SHIFTS[] = {
    {"up_1", {8, 0, 1, 2, 3, 4, 5, 6}},          {"down_1", {1, 2, 3, 4, 5, 6, 7, 8}},
    {"halves_up_1", {8, 0, 1, 2, 8, 4, 5, 6}},   {"halves_down_1", {1, 2, 3, 8, 5, 6, 7, 8}},
    {"halves_up_2", {8, 8, 0, 1, 8, 8, 4, 5}},   {"halves_down_2", {2, 3, 8, 8, 6, 7, 8, 8}},
    {"third_to_high", {8, 8, 8, 8, 3, 3, 3, 3}}, {"fourth_to_low", {4, 4, 4, 4, 8, 8, 8, 8}},
};

static bool is_zero(loop_value value)
{
    return value && value->op == LOOP_SPLAT && value->a->op == LOOP_NUMBER &&
           value->a->number == 0 && value->type.dtype == DTYPE_F32;
}

static const char *shift_name(loop_value value)
{
    if (value->type.lanes != 8 || value->a->type.lanes != 8 || !is_zero(value->b))
        return NULL;
    int pattern[8];
    for (int i = 0; i < 8; i++)
        pattern[i] = value->pattern[i] < 8 ? value->pattern[i] : 8;
    for (size_t i = 0; i < sizeof SHIFTS / sizeof *SHIFTS; i++) {
        if (memcmp(pattern, SHIFTS[i].pattern, sizeof pattern) == 0)
            return SHIFTS[i].name;
    }
    return NULL;
}

struct expression print_shuffle(struct printer *printer, loop_value value)
{
    struct emitter *emitter = printer->emitter;
    struct text list = text_new(emitter->arena);
    const char *a = emit_within(emitter, print_value(printer, value->a), BINDS_ATOM);
    int lanes = value->a->type.lanes;
    const char *shift = shift_name(value);
    if (shift)
        return emit_format(emitter, BINDS_ATOM, "f32x8_%s(%s)", shift,
                           print_value(printer, value->a).text);
    if (value->type.lanes == 1) {
        bool second = value->pattern[0] >= lanes;
        const char *from =
            second ? emit_within(emitter, print_value(printer, value->b), BINDS_ATOM) : a;
        return emit_format(emitter, BINDS_ATOM, "%s[%d]", from,
                           value->pattern[0] - (second ? lanes : 0));
    }
    for (int i = 0; i < value->type.lanes; i++)
        text_printf(&list, ", %d", value->pattern[i]);
    return emit_format(emitter, BINDS_ATOM, "__builtin_shufflevector(%s, %s%s)",
                       print_value(printer, value->a).text,
                       print_value(printer, value->b ? value->b : value->a).text, list.at);
}
