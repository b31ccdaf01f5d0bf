/*
 * Inputs drawn in place, in their own type: for cases too large to be widened. Small inputs, and
 * those whose rows hang together (sorted, offsets), are drawn as usual, row by row. Of a large one
 * a table of values is drawn as usual, facts, variants and all, and every element is one of them,
 * chosen by a hash of its place.
 */
#include <string.h>

#include "judge/private.h"

enum { WORD = 4 }; /* elements chosen by one hash, sixteen bits each */

_Static_assert(FILL_TABLE == 1 << 64 / WORD, "sixteen bits choose a value");

static uint64_t place_hash(uint64_t seed, uint64_t word)
{
    uint64_t bits = seed + word * 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
}

#define FILL(type)                                                  \
    do {                                                            \
        const type *values = table;                                 \
        type *to = out;                                             \
        int64_t e = 0;                                              \
        for (; e + WORD <= count; e += WORD) {                      \
            uint64_t bits = place_hash(seed, (uint64_t)e);          \
            to[e] = values[bits & 0xffff];                          \
            to[e + 1] = values[bits >> 16 & 0xffff];                \
            to[e + 2] = values[bits >> 32 & 0xffff];                \
            to[e + 3] = values[bits >> 48];                         \
        }                                                           \
        for (; e < count; e++)                                      \
            to[e] = values[place_hash(seed, (uint64_t)e) & 0xffff]; \
    } while (0)

static void fill_from_table(const void *table, size_t width, int64_t count, uint64_t seed,
                            void *out)
{
    switch (width) {
    case 1: FILL(uint8_t); break;
    case 2: FILL(uint16_t); break;
    case 4: FILL(uint32_t); break;
    default: FILL(uint64_t); break;
    }
}

struct filling { /* of one input */
    const struct task_case *task_case;
    const struct ir_binding *binding;
    int input, number;
    uint64_t seed;
    const struct ir_tensor *tensor;
    int64_t dims[IR_MAX_RANK], count, row;
    size_t width;
    struct arena arena; /* for one row or table */
    struct error *error;
};

static const struct task_input *asked(const struct filling *f)
{
    return f->task_case->inputs ? &f->task_case->inputs[f->input] : NULL;
}

/* `count` values as this draw has them. */
static bool draw_array(struct filling *f, int64_t count, uint64_t seed, struct array *array)
{
    arena_reset(&f->arena);
    if (!oracle_draw_some(&f->arena, f->task_case, f->binding, f->input, count, seed, array,
                          f->error))
        return false;
    struct random random = random_new(seed, 1000);
    if (asked(f) && f->number != 0 && draw_is_free(asked(f), f->tensor->dtype))
        draw_vary(asked(f), f->number, array, f->row, &random);
    return true;
}

/* The same in the type of the input. */
static bool draw_some(struct filling *f, int64_t count, uint64_t seed, char *out)
{
    struct array array;
    if (!draw_array(f, count, seed, &array))
        return false;
    array_encode(&array, out);
    return true;
}

static bool fill_rows(struct filling *f, char *out)
{
    for (int64_t e = 0; e < f->count; e += f->row)
        if (!draw_some(f, f->row, hash_mix(f->seed, (uint64_t)e), out + (size_t)e * f->width))
            return false;
    return true;
}

static void clear_above_diagonal(const struct filling *f, char *out)
{
    int64_t rows = f->tensor->rank > 1 ? f->dims[f->tensor->rank - 2] : 1;
    for (int64_t e = 0; f->tensor->rank > 1 && e < f->count; e += f->row) {
        int64_t first = e / f->row % rows + 1;
        if (first < f->row)
            memset(out + (size_t)(e + first) * f->width, 0, (size_t)(f->row - first) * f->width);
    }
}

bool fill_fixed(const struct task_case *task_case, const struct ir_binding *binding, int input)
{
    const unsigned fixed = IR_PROPERTY_SORTED | IR_PROPERTY_TRIANGULAR | IR_PROPERTY_OFFSETS;
    unsigned properties = binding->part->tensors[binding->part->inputs[input]].properties;
    properties |= task_case->inputs ? task_case->inputs[input].properties : 0;
    return properties & fixed;
}

static struct filling filling_new(const struct task_case *task_case,
                                  const struct ir_binding *binding, int input, int number,
                                  uint64_t seed, struct error *error)
{
    struct filling f = {.task_case = task_case,
                        .binding = binding,
                        .input = input,
                        .number = number,
                        .seed = hash_mix(seed, (uint64_t)input + 1),
                        .error = error};
    f.tensor = &binding->part->tensors[binding->part->inputs[input]];
    f.count = ir_tensor_shape(binding, binding->part->inputs[input], f.dims);
    f.row = f.tensor->rank ? f.dims[f.tensor->rank - 1] : 1;
    f.width = dtype_bytes(f.tensor->dtype);
    return f;
}

bool fill_floats(const struct task_case *task_case, const struct ir_binding *binding, int input,
                 int number, uint64_t seed, struct array *array, struct error *error)
{
    struct filling f = filling_new(task_case, binding, input, number, seed, error);
    struct array table;
    bool good = draw_array(&f, FILL_TABLE, f.seed, &table);
    if (good)
        fill_from_table(table.floats, sizeof *table.floats, array->count, f.seed, array->floats);
    arena_release(&f.arena);
    return good;
}

bool fill_some(const struct task_case *task_case, const struct ir_binding *binding, int input,
               int number, uint64_t seed, int64_t count, void *out, struct error *error)
{
    struct filling f = filling_new(task_case, binding, input, number, seed, error);
    f.count = count;
    unsigned properties = f.tensor->properties | (asked(&f) ? asked(&f)->properties : 0);
    bool good = true;
    if (f.count == 0)
        return true;
    if (properties & (IR_PROPERTY_SORTED | IR_PROPERTY_OFFSETS)) {
        good = fill_rows(&f, out);
    } else if (f.count <= FILL_TABLE) {
        good = draw_some(&f, f.count, f.seed, out);
    } else {
        char *table = memory_alloc((size_t)FILL_TABLE * f.width);
        good = draw_some(&f, FILL_TABLE, f.seed, table);
        if (good)
            fill_from_table(table, f.width, f.count, f.seed, out);
        memory_free(table);
    }
    if (properties & IR_PROPERTY_TRIANGULAR)
        clear_above_diagonal(&f, out);
    arena_release(&f.arena);
    return good;
}

bool fill_input(const struct task_case *task_case, const struct ir_binding *binding, int input,
                int number, uint64_t seed, void *out, struct error *error)
{
    int64_t count = ir_tensor_shape(binding, binding->part->inputs[input], NULL);
    return fill_some(task_case, binding, input, number, seed, count, out, error);
}
