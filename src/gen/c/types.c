/*
 * The C types of values and of elements, and the way from one to the other.
 *
 * The reference computes and keeps every float as double and everything else as int64_t. A plain
 * kernel keeps elements in their own types, and computes in float, double, int64_t and bool. A part
 * that takes or gives an f64 is wide: there no float is narrower, since a constant such as sqrt(2),
 * which by itself is f32, would spoil all that it meets.
 */
#include "gen/c/emit.h"

#include <string.h>

const char *emit_type(const struct emitter *emitter, enum dtype type)
{
    if (emitter->form == GEN_REFERENCE)
        return dtype_is_float(type) ? "double" : "int64_t";
    switch (dtype_compute(type)) {
    case DTYPE_F64: return "double";
    case DTYPE_F32: return emitter->wide ? "double" : "float";
    case DTYPE_BOOL: return "bool";
    default: return "int64_t";
    }
}

const char *emit_element(const struct emitter *emitter, enum dtype type)
{
    if (emitter->form == GEN_REFERENCE)
        return emit_type(emitter, type);
    switch (type) {
    case DTYPE_F32: return "float";
    case DTYPE_F16:
    case DTYPE_BF16: return "uint16_t";
    case DTYPE_F8E4:
    case DTYPE_F8E5: return "uint8_t";
    case DTYPE_I32: return "int32_t";
    case DTYPE_U32: return "uint32_t";
    case DTYPE_I16: return "int16_t";
    case DTYPE_I8: return "int8_t";
    case DTYPE_U8: return "uint8_t";
    case DTYPE_BOOL: return emitter->dialect ? "uint8_t" : "bool"; /* some refuse it in memory */
    default: return emit_type(emitter, type);
    }
}

const char *emit_kind(const struct emitter *emitter, enum dtype type)
{
    return dtype_is_float(type) ? emit_type(emitter, type) : "int";
}

bool emit_is_coded(const struct emitter *emitter, enum dtype type)
{
    return emitter->form == GEN_PLAIN && dtype_is_float(type) && type != DTYPE_F64 &&
           type != DTYPE_F32;
}

struct expression emit_load(struct emitter *emitter, enum dtype type, const char *element)
{
    if (emit_is_coded(emitter, type))
        return emit_format(emitter, BINDS_ATOM, "%s_to_float(%s)", dtype_name(type), element);
    /* an unsigned int would draw what it meets to its own side */
    if (emitter->form == GEN_PLAIN && type == DTYPE_U32)
        return emit_format(emitter, BINDS_UNARY, "(int64_t)%s", element);
    bool narrow = emitter->form == GEN_PLAIN && !dtype_is_float(type) && type != DTYPE_I64;
    return (struct expression){element, BINDS_ATOM, narrow};
}

const char *emit_zero(const struct emitter *emitter, enum dtype type)
{
    if (!dtype_is_float(type))
        return "0";
    return strcmp(emit_type(emitter, type), "float") == 0 ? "0.0f" : "0.0";
}

/* ---- what is kept of a value ---- */

static const char *wrapped_to(enum dtype type)
{
    switch (type) {
    case DTYPE_I32: return "int32_t";
    case DTYPE_U32: return "uint32_t";
    case DTYPE_I16: return "int16_t";
    case DTYPE_I8: return "int8_t";
    case DTYPE_U8: return "uint8_t";
    default: return NULL;
    }
}

const char *emit_wrapping(enum dtype type)
{
    return wrapped_to(type);
}

const char *emit_rounding(enum dtype type)
{
    switch (type) {
    case DTYPE_F32: return "round_f32";
    case DTYPE_F16: return "round_f16";
    case DTYPE_BF16: return "round_bf16";
    case DTYPE_F8E4: return "round_f8e4";
    case DTYPE_F8E5: return "round_f8e5";
    default: return NULL;
    }
}

static const char *keep_double(struct emitter *emitter, enum dtype type, const char *value)
{
    const char *rounding = emit_rounding(type), *wrapping = wrapped_to(type);
    if (rounding)
        return arena_printf(emitter->arena, "%s(%s)", rounding, value);
    return wrapping ? arena_printf(emitter->arena, "(%s)(%s)", wrapping, value) : value;
}

const char *emit_keep(struct emitter *emitter, enum dtype type, const char *value, enum dtype of)
{
    if (emitter->form == GEN_REFERENCE)
        return keep_double(emitter, type, value);
    if (emit_is_coded(emitter, type))
        return arena_printf(emitter->arena, "%s_to_%s(%s)", emit_type(emitter, of),
                            dtype_name(type), value);
    if (type == DTYPE_F32 && strcmp(emit_type(emitter, of), "double") == 0)
        return arena_printf(emitter->arena, "(float)(%s)", value);
    const char *wrapping = wrapped_to(type);
    return wrapping ? arena_printf(emitter->arena, "(%s)(%s)", wrapping, value) : value;
}
