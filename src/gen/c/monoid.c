/*
 * Monoids as C: operators and prelude functions for those built in, a structure and two functions
 * for each of the user's.
 */
#include "gen/c/emit.h"

static const char *user_name(struct emitter *emitter, const struct ir_monoid *monoid)
{
    return map_get_bytes(&emitter->monoids, &monoid, sizeof monoid);
}

const char *emit_monoid_unit(struct emitter *emitter, const struct ir_monoid *monoid, int component,
                             enum dtype type)
{
    bool floats = dtype_is_float(type);
    switch (monoid->kind) {
    case IR_SUM: return emit_zero(emitter, type);
    case IR_PRODUCT: return floats ? emit_number(emitter, 1, type) : "1";
    case IR_ALL: return "1";
    case IR_ANY: return "0";
    case IR_MAXIMUM: return floats ? "-INFINITY" : "INT64_MIN";
    case IR_MINIMUM: return floats ? "INFINITY" : "INT64_MAX";
    case IR_ARGMAX:
    case IR_TOPK: return component ? "-1" : floats ? "-INFINITY" : "INT64_MIN";
    case IR_ARGMIN:
    case IR_BOTTOMK: return component ? "-1" : floats ? "INFINITY" : "INT64_MAX";
    case IR_USER: break;
    }
    return arena_printf(emitter->arena, "%s_unit().c%d", user_name(emitter, monoid), component);
}

int emit_monoid_mentions(const struct ir_monoid *monoid)
{
    return monoid->kind == IR_ARGMAX || monoid->kind == IR_ARGMIN ? 2 : 1;
}

/* What stands in front of the braces of a value. */
static const char *structure(struct emitter *emitter, const char *name)
{
    return emitter->dialect && !*emitter->dialect->structure
               ? name
               : arena_printf(emitter->arena, "(struct %s)", name);
}

static void combine_user(struct emitter *emitter, const struct ir_monoid *monoid,
                         const char *const *left, const char *const *right)
{
    const char *name = user_name(emitter, monoid), *start = structure(emitter, name);
    struct text a = text_new(emitter->arena), b = text_new(emitter->arena);
    for (int i = 0; i < monoid->width; i++) {
        text_printf(&a, "%s%s", i ? ", " : "", left[i]);
        text_printf(&b, "%s%s", i ? ", " : "", right[i]);
    }
    emit_line(emitter, "const struct %s next = %s_combine(%s{%s}, %s{%s});", name, name, start,
              a.at, start, b.at);
    for (int i = 0; i < monoid->width; i++)
        emit_line(emitter, "%s = next.c%d;", left[i], i);
}

static void combine_arithmetic(struct emitter *emitter, bool sum, const char *left,
                               const char *right, bool wraps)
{
    if (wraps)
        emit_line(emitter, "%s = int_%s(%s, %s);", left, sum ? "add" : "mul", left, right);
    else
        emit_line(emitter, "%s %s= %s;", left, sum ? "+" : "*", right);
}

void emit_monoid_combine(struct emitter *emitter, const struct ir_monoid *monoid,
                         const char *const *left, const char *const *right, const enum dtype *types)
{
    const char *kind = emit_kind(emitter, types[0]);
    /* a plain kernel is compiled without -fwrapv */
    bool wraps = emitter->form == GEN_PLAIN && !dtype_is_float(types[0]);
    const char *order = monoid->kind == IR_ARGMAX ? "argmax" : "argmin";
    switch (monoid->kind) {
    case IR_SUM:
    case IR_PRODUCT:
        combine_arithmetic(emitter, monoid->kind == IR_SUM, left[0], right[0], wraps);
        break;
    case IR_MAXIMUM:
        emit_line(emitter, "%s = %s_max(%s, %s);", left[0], kind, left[0], right[0]);
        break;
    case IR_MINIMUM:
        emit_line(emitter, "%s = %s_min(%s, %s);", left[0], kind, left[0], right[0]);
        break;
    case IR_ALL: emit_line(emitter, "%s = %s && (%s);", left[0], left[0], right[0]); break;
    case IR_ANY: emit_line(emitter, "%s = %s || (%s);", left[0], left[0], right[0]); break;
    case IR_USER: combine_user(emitter, monoid, left, right); break;
    default:
        emit_open(emitter, "if (%s_%s_before(%s, %s, %s, %s))", kind, order, right[0], right[1],
                  left[0], left[1]);
        emit_line(emitter, "%s = %s;", left[0], right[0]);
        emit_line(emitter, "%s = %s;", left[1], right[1]);
        emit_close(emitter);
    }
}

/* ---- definitions of the user's ---- */

static void emit_components(struct emitter *emitter, const struct ir_monoid *monoid,
                            const char *name, const int *nodes)
{
    struct text list = text_new(emitter->arena);
    for (int i = 0; i < monoid->width; i++)
        text_printf(&list, "%s%s", i ? ", " : "", emit_text(emitter, nodes[i]));
    emit_line(emitter, "return %s{%s};", structure(emitter, name), list.at);
    emit_close(emitter);
}

static void emit_monoid_function(struct emitter *emitter, const struct ir_monoid *monoid,
                                 const char *name, const int *nodes)
{
    emit_place_start(emitter, &monoid->nodes, 0);
    for (int i = 0; i < monoid->width; i++)
        emit_place_use(emitter, nodes[i], 0, 1);
    emit_place_finish(emitter);
    emit_place_write(emitter, 0);
    emit_components(emitter, monoid, name, nodes);
}

/* A monoid serves several parts: it is as wide as its widest value. */
static bool monoid_is_wide(const struct emitter *emitter, const struct ir_monoid *monoid)
{
    bool wide = false;
    for (int i = 0; i < monoid->nodes.count; i++)
        wide |= monoid->nodes.at[i].type == DTYPE_F64;
    return wide && emitter->form == GEN_PLAIN;
}

static void emit_monoid(struct emitter *emitter, const struct ir_monoid *monoid)
{
    if (user_name(emitter, monoid))
        return;
    emitter->wide = monoid_is_wide(emitter, monoid);
    const char *name =
        emit_name(&emitter->names, arena_printf(emitter->arena, "monoid_%s", monoid->name));
    /* the functions' names follow from it, and must be free as well */
    emit_name(&emitter->names, arena_printf(emitter->arena, "%s_unit", name));
    emit_name(&emitter->names, arena_printf(emitter->arena, "%s_combine", name));
    map_set_bytes(&emitter->monoids, &monoid, sizeof monoid, (void *)name);
    size_t mark = emitter->names.stack.count;
    const char **params =
        arena_array(emitter->arena, 2 * (size_t)monoid->width + 1, sizeof *params);
    emit_blank(emitter);
    emit_line(emitter, "struct %s {", name);
    for (int i = 0; i < monoid->width; i++) {
        emit_line(emitter, "    %s c%d;",
                  emit_type(emitter, monoid->nodes.at[monoid->results[i]].type), i);
        params[i] = arena_printf(emitter->arena, "left.c%d", i);
        params[monoid->width + i] = arena_printf(emitter->arena, "right.c%d", i);
    }
    emit_line(emitter, "};");
    emitter->params = params;
    const char *start = emitter->dialect ? emitter->dialect->inlined : "static inline";
    emit_open(emitter, "%s struct %s %s_unit(void)", start, name, name);
    emit_monoid_function(emitter, monoid, name, monoid->units);
    emit_open(emitter, "%s struct %s %s_combine(struct %s left, struct %s right)", start, name,
              name, name, name);
    emit_monoid_function(emitter, monoid, name, monoid->results);
    emit_names_free(&emitter->names, mark);
}

static void emit_monoids_of(struct emitter *emitter, const struct ir_stage *stages, int count)
{
    for (int i = 0; i < count; i++) {
        if (stages[i].kind == IR_LOOP)
            emit_monoids_of(emitter, stages[i].body, stages[i].body_count);
        else if (stages[i].kind != IR_CALL && stages[i].monoid && stages[i].monoid->kind == IR_USER)
            emit_monoid(emitter, stages[i].monoid);
    }
}

void emit_monoids(struct emitter *emitter)
{
    for (int i = 0; i < emitter->program->part_count; i++) {
        const struct ir_part *part = emitter->program->parts[i];
        emitter->part = part;
        emit_monoids_of(emitter, part->stages, part->stage_count);
    }
}
