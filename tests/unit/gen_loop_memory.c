/*
 * Loops as C: elements of every type to and from vectors, masks, gathers, folds and shuffles give
 * what the types say, and touch nothing else.
 */
#include <math.h>
#include <string.h>

#include "gen/gen.h"
#include "kernel_run.h"
#include "loop/loop.h"
#include "test.h"

enum { LANES = 16, ELEMENTS = 256 + 5, OUTPUTS = DTYPE_COUNT };

static struct arena arena;
static struct ir_symbol symbols[1] = {{.name = "N"}};
static struct ir_tensor tensors[2 + OUTPUTS];
static int inputs[2] = {0, 1}, outputs[OUTPUTS];
static struct ir_part part = {
    .name = "test",
    .symbols = symbols,
    .symbol_count = 1,
    .tensors = tensors,
    .inputs = inputs,
    .outputs = outputs,
    .input_count = 2,
};
static void *memory[2 + OUTPUTS];

static void tensor_add(enum dtype dtype, bool input)
{
    const struct ir_size **dims = arena_array(&arena, 1, sizeof *dims);
    int number = part.tensor_count++;
    dims[0] = ir_size_symbol(&arena, 0);
    tensors[number] = (struct ir_tensor){
        .name = arena_printf(&arena, "%s%d", input ? "x" : "y", number),
        .role = input ? IR_TENSOR_INPUT : IR_TENSOR_OUTPUT,
        .dtype = dtype,
        .declared = true,
        .rank = 1,
        .dims = dims,
    };
    if (!input)
        outputs[part.output_count++] = number;
    char *bytes = arena_alloc(&arena, 8 * ELEMENTS + 128);
    memory[number] = bytes + (64 - (uintptr_t)bytes % 64) % 64;
    memset(memory[number], 0x5a, 8 * ELEMENTS + 8);
}

/* An input x of this type, an input of indices, and outputs. */
static struct loop_kernel *kernel_new(enum dtype x)
{
    part.tensor_count = part.output_count = 0;
    tensor_add(x, true);
    tensor_add(DTYPE_I32, true);
    return loop_kernel_new(&arena, &part);
}

static void call(const struct loop_kernel *kernel)
{
    struct text text = text_new(&arena);
    struct error error = {0};
    struct library *library;
    int64_t sizes[1] = {ELEMENTS};
    if (!loop_check(kernel, &error))
        kernel_run_complain("not well made", error.message);
    gen_loop_c(&text, kernel, &(struct gen_head){0});
    kernel_function *function = kernel_run_compile(&arena, &text, false, &library);
    CHECK_INT(function(memory, sizes, NULL, NULL), 0);
}

static loop_value at(struct loop_variable *i)
{
    return loop_of(&arena, i);
}

static loop_value number(int64_t value)
{
    return loop_integer(&arena, value);
}

/* A loop over whole vectors, and in *tail the place and count of what is left. */
static struct loop_block *vectors(struct loop_kernel *kernel, const char *name,
                                  struct loop_variable **i)
{
    return loop_for(loop_function(kernel, name, NULL), LOOP_SERIAL, "i", number(0),
                    number(ELEMENTS - LANES + 1), number(LANES), i);
}

/* ---- conversions ---- */

static loop_value load_some(struct loop_kernel *kernel, loop_value place, bool part_only)
{
    const struct loop_buffer *x = loop_tensor(kernel, 0);
    return part_only ? loop_load_part(&arena, x, place, LANES, number(5), NULL)
                     : loop_load(&arena, x, place, LANES);
}

/* Stores x, cast to each type, to the output of that type: by vectors, then a part of one. */
static void write_casts(struct loop_kernel *kernel)
{
    for (int type = 0; type < DTYPE_COUNT; type++) {
        struct loop_variable *i;
        const struct loop_buffer *y = loop_tensor(kernel, 2 + type);
        struct loop_block *body = vectors(kernel, dtype_name((enum dtype)type), &i);
        loop_value value = load_some(kernel, at(i), false);
        loop_store(body, y, at(i), loop_cast(&arena, (enum dtype)type, value));
        struct loop_block *tail =
            loop_function(kernel, arena_printf(&arena, "%s_tail", y->name), NULL);
        value = load_some(kernel, number(ELEMENTS - 5), true);
        loop_store(tail, y, number(ELEMENTS - 5), loop_cast(&arena, (enum dtype)type, value))
            ->count = number(5);
    }
}

static double element(enum dtype type, const void *memory_of, int i)
{
    const char *place = (const char *)memory_of + (size_t)i * dtype_bytes(type);
    return dtype_is_float(type) ? dtype_load_float(type, place)
                                : (double)dtype_load_integer(type, place);
}

static double cast_of(enum dtype type, enum dtype from, const void *place)
{
    if (dtype_is_float(from)) {
        double value = dtype_load_float(from, place);
        if (type == DTYPE_BOOL)
            return value != 0;
        return dtype_is_float(type) ? dtype_round(type, value)
                                    : (double)dtype_truncate(type, value);
    }
    int64_t value = dtype_load_integer(from, place);
    if (dtype_is_float(type))
        return dtype_round(type, (double)value);
    return (double)dtype_wrap(type, value);
}

static void check_casts(enum dtype from)
{
    struct loop_kernel *kernel = kernel_new(from);
    for (int type = 0; type < DTYPE_COUNT; type++)
        tensor_add((enum dtype)type, false);
    write_casts(kernel);
    size_t bytes = dtype_bytes(from);
    for (int i = 0; i < ELEMENTS; i++) {
        static const double SPECIAL[] = {NAN, INFINITY, -INFINITY, -0.0, 65519.9, 3.3e38, 1e-7};
        char *place = (char *)memory[0] + (size_t)i * bytes;
        double value =
            i % 9 == 0 ? SPECIAL[i / 9 % 7] : ldexp((double)(i * 7919 % 1009) - 500, i % 23 - 16);
        if (dtype_is_float(from) && bytes == 1)
            *place = (char)i;
        else if (dtype_is_float(from))
            dtype_store_float(from, place, value);
        else
            dtype_store_integer(from, place, (int64_t)i * 7919 * 104729 - 50000000);
    }
    call(kernel);
    for (int type = 0; type < DTYPE_COUNT; type++) {
        for (int i = 0; i < ELEMENTS; i++) {
            double wanted = cast_of((enum dtype)type, from, (char *)memory[0] + (size_t)i * bytes);
            double found = element((enum dtype)type, memory[2 + type], i);
            if (found == wanted || (isnan(found) && isnan(wanted)))
                continue;
            kernel_run_what = arena_printf(&arena, "%s of %s %.17g", dtype_name((enum dtype)type),
                                           dtype_name(from), element(from, memory[0], i));
            kernel_run_complain(arena_printf(&arena, "is %.17g", found),
                                arena_printf(&arena, "not %.17g", wanted));
        }
        const unsigned char *beside = (unsigned char *)memory[2 + type];
        CHECK_INT(beside[ELEMENTS * dtype_bytes((enum dtype)type)], 0x5a);
    }
}

#define CASTS(type)                 \
    TEST(loop_converts_from_##type) \
    {                               \
        check_casts(DTYPE_##type);  \
    }
CASTS(F64)
CASTS(F32)
CASTS(F16)
CASTS(BF16)
CASTS(F8E4)
CASTS(F8E5)
CASTS(I64)
CASTS(I32)
CASTS(U32)
CASTS(I16)
CASTS(I8)
CASTS(U8)
CASTS(BOOL)

/* ---- masks, gathers, folds, shuffles ---- */

static loop_value masked(struct loop_kernel *kernel, struct loop_variable *i)
{
    /* only from 3 to 250, and 7 elsewhere: as a padded read is widened */
    loop_value place = loop_sub(&arena, at(i), number(3));
    loop_value inside =
        loop_apply(&arena, IR_AND, loop_apply(&arena, IR_LE, number(0), place, NULL),
                   loop_less(&arena, place, number(247)), NULL);
    loop_value one = loop_load_masked(&arena, loop_tensor(kernel, 0), place, 1, inside,
                                      loop_number(&arena, 7, DTYPE_F32));
    return loop_widen(&arena, one, i, LANES, NULL);
}

static loop_value gathered(struct loop_kernel *kernel, struct loop_variable *i, bool by_data)
{
    loop_value place = loop_sub(&arena, number(ELEMENTS - 1), at(i));
    if (by_data)
        place = loop_load(&arena, loop_tensor(kernel, 1), at(i), 1);
    loop_value one = loop_load(&arena, loop_tensor(kernel, 0), place, 1);
    return loop_widen(&arena, one, i, LANES, NULL);
}

static loop_value shuffled(struct loop_kernel *kernel, struct loop_variable *i)
{
    int pattern[LANES];
    loop_value a = loop_load(&arena, loop_tensor(kernel, 0), at(i), LANES);
    for (int lane = 0; lane < LANES; lane++)
        pattern[lane] = LANES - 1 - lane + (lane % 2) * LANES;
    return loop_shuffle(&arena, a, loop_add(&arena, a, loop_number(&arena, 1000, DTYPE_F32)),
                        pattern, LANES);
}

static loop_value folded(struct loop_kernel *kernel, struct loop_variable *i,
                         enum ir_monoid_kind monoid)
{
    loop_value a = loop_load(&arena, loop_tensor(kernel, 0), at(i), LANES);
    return loop_splat(&arena, loop_fold(&arena, monoid, a), LANES);
}

TEST(loop_masks_gathers_folds_and_shuffles)
{
    struct loop_kernel *kernel = kernel_new(DTYPE_F32);
    float *x = memory[0];
    int32_t *places = memory[1];
    for (int k = 0; k < 8; k++)
        tensor_add(DTYPE_F32, false);
    for (int k = 0; k < 7; k++) {
        struct loop_variable *i;
        struct loop_block *body = vectors(kernel, arena_printf(&arena, "test%d", k), &i);
        loop_value values[] = {masked(kernel, i),
                               gathered(kernel, i, false),
                               gathered(kernel, i, true),
                               shuffled(kernel, i),
                               folded(kernel, i, IR_SUM),
                               folded(kernel, i, IR_MAXIMUM),
                               loop_load(&arena, loop_tensor(kernel, 0), at(i), LANES)};
        struct loop_statement *store =
            loop_store(body, loop_tensor(kernel, 2 + k), at(i), values[k]);
        store->streaming = k == 0;
        if (k == 6) { /* back to front, and only what is positive */
            loop_value lanes = loop_sub(&arena, number(ELEMENTS - 1), at(i));
            store->offset =
                loop_sub(&arena, loop_splat(&arena, lanes, LANES), loop_iota(&arena, LANES));
            store->scatter = true;
            store->mask = loop_less(&arena, loop_number(&arena, 0, DTYPE_F32), values[6]);
        }
    }
    for (int i = 0; i < ELEMENTS; i++) {
        x[i] = (float)(i * 37 % 101 - 50);
        places[i] = i * 53 % ELEMENTS;
    }
    float *y[7];
    for (int k = 0; k < 7; k++)
        y[k] = memory[2 + k];
    for (int i = 0; i < ELEMENTS; i++)
        y[6][i] = -1;
    call(kernel);
    for (int i = 0; i < ELEMENTS - ELEMENTS % LANES; i++) {
        int base = i - i % LANES, lane = i % LANES;
        float sum = 0, most = -INFINITY;
        for (int k = 0; k < LANES; k++) {
            sum += x[base + k];
            most = fmaxf(most, x[base + k]);
        }
        CHECK(y[0][i] == (i >= 3 && i < 250 ? x[i - 3] : 7));
        CHECK(y[1][i] == x[ELEMENTS - 1 - i]);
        CHECK(y[2][i] == x[places[i]]);
        CHECK(y[3][i] == x[base + LANES - 1 - lane] + (lane % 2 ? 1000 : 0));
        CHECK(y[4][i] == sum && y[5][i] == most);
        CHECK(y[6][ELEMENTS - 1 - i] == (x[i] > 0 ? x[i] : -1));
    }
}
