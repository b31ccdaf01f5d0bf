/*
 * Loops as C: every operation in vectors gives what one value at a time gives, tails and masks
 * leave alone what is not theirs.
 */
#include "gen/gen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/ops.h"
#include "kernel_run.h"
#include "loop/loop.h"
#include "os/os.h"
#include "test.h"

static struct arena arena;

/* ---- a part: N elements of some inputs, and outputs as many as a test wants ---- */

enum { MOST_TENSORS = 160 };

static int64_t elements = 777;

static struct ir_symbol symbols[1] = {{.name = "N"}};
static struct ir_tensor tensors[MOST_TENSORS];
static int inputs[MOST_TENSORS], outputs[MOST_TENSORS];
static struct ir_part part = {
    .name = "test",
    .symbols = symbols,
    .symbol_count = 1,
    .tensors = tensors,
    .inputs = inputs,
    .outputs = outputs,
};
static const struct ir_size *const *dims;

static int tensor_add(enum dtype dtype, bool input)
{
    int number = part.tensor_count++;
    CHECK(number < MOST_TENSORS);
    if (!dims) {
        const struct ir_size **one = arena_array(&arena, 1, sizeof *one);
        one[0] = ir_size_symbol(&arena, 0);
        dims = one;
    }
    tensors[number] = (struct ir_tensor){
        .name = arena_printf(&arena, "%s%d", input ? "a" : "y", number),
        .role = input ? IR_TENSOR_INPUT : IR_TENSOR_OUTPUT,
        .dtype = dtype,
        .declared = true,
        .rank = 1,
        .dims = dims,
    };
    if (input)
        inputs[part.input_count++] = number;
    else
        outputs[part.output_count++] = number;
    return number;
}

static void part_reset(void)
{
    part.tensor_count = part.input_count = part.output_count = 0;
}

/* ---- the kernel: whole vectors, then a part of one ---- */

static void write_map(struct loop_kernel *kernel, const char *name, int lanes, int output,
                      loop_value (*make)(struct loop_kernel *kernel, void *context, loop_value at),
                      void *context)
{
    struct loop_block *body = loop_function(kernel, name, NULL);
    loop_value size = loop_size(&arena, &part, dims[0]);
    loop_value step = loop_integer(&arena, lanes);
    loop_value whole = loop_mul(&arena, loop_apply(&arena, IR_FLOORDIV, size, step, NULL), step);
    struct loop_variable *i;
    struct loop_block *inside =
        loop_for(body, LOOP_PARALLEL, "i", loop_integer(&arena, 0), whole, step, &i);
    loop_value value = make(kernel, context, loop_of(&arena, i));
    loop_store(inside, loop_tensor(kernel, output), loop_of(&arena, i),
               loop_splat(&arena, loop_widen(&arena, value, i, lanes, NULL), lanes));
    struct loop_block *tail = loop_if(body, loop_less(&arena, whole, size));
    i = loop_let(tail, "i", whole);
    loop_value count = loop_of(&arena, loop_let(tail, "count", loop_sub(&arena, size, whole)));
    value = make(kernel, context, loop_of(&arena, i));
    loop_store(tail, loop_tensor(kernel, output), loop_of(&arena, i),
               loop_splat(&arena, loop_widen(&arena, value, i, lanes, count), lanes))
        ->count = count;
}

static void call_kernel(const struct loop_kernel *kernel, void **memory)
{
    struct text text = text_new(&arena);
    struct error error = {0};
    struct library *library;
    if (!loop_check(kernel, &error))
        kernel_run_complain("not well made", error.message);
    gen_loop_c(&text, kernel, &(struct gen_head){0});
    if (getenv("SMELT_SHOW"))
        fputs(text.at, stderr);
    kernel_function *function = kernel_run_compile(&arena, &text, false, &library);
    int64_t sizes[1] = {elements};
    CHECK_INT(function(memory, sizes, NULL, NULL), 0);
    /* the library stays open: its threads live on */
}

/* ---- other compilers and machines: the kernel as a program that reads inputs, writes outputs ----
 */

struct elsewhere {
    const char *compiler, *flags; /* flags: as a shell takes them */
    const char *runner;           /* what runs the program; "": nothing but this machine */
    const char *needs;            /* a word of /proc/cpuinfo, or "" */
};

static const char MAIN[] = "\n#include <stdio.h>\n"
                           "#include <stdlib.h>\n"
                           "int main(void)\n"
                           "{\n"
                           "    static const size_t bytes[] = {%s};\n"
                           "    static void *tensors[%d];\n"
                           "    for (int i = 0; i < %d; i++)\n"
                           "        tensors[i] = aligned_alloc(64, bytes[i] / 64 * 64 + 64);\n"
                           "    for (int i = 0; i < %d; i++)\n"
                           "        if (fread(tensors[i], 1, bytes[i], stdin) != bytes[i])\n"
                           "            return 2;\n"
                           "    const int64_t sizes[] = {%lld};\n"
                           "    if (kernel(tensors, sizes, NULL, NULL) != 0)\n"
                           "        return 3;\n"
                           "    for (int i = %d; i < %d; i++)\n"
                           "        fwrite(tensors[i], 1, bytes[i], stdout);\n"
                           "    return 0;\n"
                           "}\n";

static size_t tensor_bytes(int tensor)
{
    return (size_t)elements * dtype_bytes(tensors[tensor].dtype);
}

static bool machine_has(const char *word)
{
    char line[4096];
    FILE *file = fopen("/proc/cpuinfo", "r");
    bool found = !*word;
    while (file && !found && fgets(line, sizeof line, file))
        found = strstr(line, word) != NULL;
    if (file)
        fclose(file);
    return found;
}

static void run_elsewhere(const char *folder, const struct elsewhere *where)
{
    const char *command =
        arena_printf(&arena,
                     "cd %s && %s -std=gnu17 -O2 -Wall -Wextra -Werror "
                     "-Wno-unknown-pragmas -Wno-psabi %s -o kernel kernel.c -lm 2>&1 && "
                     "%s ./kernel <in >out",
                     folder, where->compiler, where->flags, where->runner);
    const char *arguments[] = {"/bin/sh", "-c", command, NULL};
    struct process_request request = {.arguments = arguments, .timeout = 120};
    struct process_result result;
    struct error error;
    if (!process_run(&arena, &request, &result, &error))
        kernel_run_complain(error.message, "");
    if (!process_succeeded(&result))
        kernel_run_complain(where->compiler, result.output);
}

static void call_elsewhere(const struct loop_kernel *kernel, void **memory,
                           const struct elsewhere *where)
{
    if (!process_find(&arena, where->compiler))
        SKIP("there is no %s", where->compiler);
    if (*where->runner && !process_find(&arena, where->runner))
        SKIP("there is no %s", where->runner);
    if (!machine_has(where->needs))
        SKIP("this machine has no %s", where->needs);
    char folder[] = "/tmp/smelt-loop-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    struct text text = text_new(&arena), bytes = text_new(&arena);
    gen_loop_c(&text, kernel, &(struct gen_head){0});
    for (int i = 0; i < part.tensor_count; i++)
        text_printf(&bytes, "%s%zu", i ? ", " : "", tensor_bytes(i));
    text_printf(&text, MAIN, bytes.at, part.tensor_count, part.tensor_count, part.input_count,
                (long long)elements, part.input_count, part.tensor_count);
    struct error error;
    CHECK(file_write(arena_printf(&arena, "%s/kernel.c", folder), text.at, text.length, 0600,
                     &error));
    FILE *file = fopen(arena_printf(&arena, "%s/in", folder), "wb");
    for (int i = 0; i < part.input_count; i++)
        CHECK(fwrite(memory[i], 1, tensor_bytes(i), file) == tensor_bytes(i));
    fclose(file);
    run_elsewhere(folder, where);
    file = fopen(arena_printf(&arena, "%s/out", folder), "rb");
    for (int i = part.input_count; i < part.tensor_count; i++)
        CHECK(fread(memory[i], 1, tensor_bytes(i), file) == tensor_bytes(i));
    fclose(file);
    static const char *const FILES[] = {"kernel.c", "kernel", "in", "out"};
    for (int i = 0; i < 4; i++)
        unlink(arena_printf(&arena, "%s/%s", folder, FILES[i]));
    rmdir(folder);
}

/* ---- every operation ---- */

struct operation {
    enum ir_op op;
    enum dtype type; /* of the arguments */
    int output;
};

static loop_value operation_make(struct loop_kernel *kernel, void *context, loop_value at)
{
    const struct operation *operation = context;
    int first = dtype_is_float(operation->type) ? 0 : 2; /* of the inputs */
    loop_value a = loop_load(&arena, loop_tensor(kernel, first), at, 1);
    loop_value b = loop_load(&arena, loop_tensor(kernel, first + 1), at, 1);
    loop_value zero = loop_number(&arena, 0, operation->type);
    enum ir_op_class class = ir_op_class(operation->op);
    if (class == IR_CLASS_LOGIC) {
        a = loop_less(&arena, a, zero);
        b = loop_less(&arena, b, zero);
    }
    if (operation->op == IR_SELECT)
        return loop_select(&arena, loop_less(&arena, a, zero), a, b);
    return loop_apply(&arena, operation->op, a, ir_op_arguments(operation->op) > 1 ? b : NULL,
                      NULL);
}

static double random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t bits = *state >> 33;
    static const double SPECIAL[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0, -1.0, 0.5, -2.5};
    if (bits % 11 == 0)
        return SPECIAL[bits / 11 % 9];
    double size = ldexp((double)(bits % 1000003) / 1000003.0, (int)(bits / 1000003 % 12) - 6);
    return (double)(float)(bits & 1 ? size : -size);
}

/* What one operation gives on single values, in double precision. */
static struct ir_value expected(const struct operation *operation, struct ir_value a,
                                struct ir_value b)
{
    bool logic = ir_op_class(operation->op) == IR_CLASS_LOGIC;
    bool number = dtype_is_float(operation->type);
    int64_t c = number ? a.number < 0 : a.integer < 0, d = number ? b.number < 0 : b.integer < 0;
    struct ir_node nodes[4] = {{.op = number ? IR_FLOAT : IR_INT, .type = operation->type},
                               {.op = number ? IR_FLOAT : IR_INT, .type = operation->type},
                               {.op = IR_BOOL, .type = DTYPE_BOOL}};
    nodes[2].integer = c;
    if (logic) {
        nodes[0] = nodes[1] = nodes[2];
        nodes[1].integer = d;
    } else if (number) {
        nodes[0].number = a.number;
        nodes[1].number = b.number;
    } else {
        nodes[0].integer = a.integer;
        nodes[1].integer = b.integer;
    }
    nodes[3] = (struct ir_node){.op = operation->op, .type = operation->type, .a = 0, .b = 1};
    if (operation->op == IR_SELECT) {
        nodes[3].a = 2;
        nodes[3].b = 0;
        nodes[3].c = 1;
    }
    enum ir_op_class class = ir_op_class(operation->op);
    if (logic || class == IR_CLASS_COMPARE || class == IR_CLASS_TEST)
        nodes[3].type = DTYPE_BOOL;
    struct ir_value values[4];
    ir_fold(&(struct ir_nodes){nodes, 4}, NULL, NULL, values);
    return values[3];
}

/* Within four units, zeros with their signs. */
static bool is_near(double found, double wanted, enum dtype type)
{
    double rounded = type == DTYPE_F32 ? (double)(float)wanted : wanted;
    if (isnan(rounded) || isnan(found))
        return isnan(rounded) && isnan(found);
    if (rounded == found)
        return rounded != 0 || signbit(rounded) == signbit(found);
    double unit = type == DTYPE_F32 ? fmax(fabs(wanted) * 0x1p-23, 0x1p-149)
                                    : fmax(fabs(wanted) * 0x1p-52, 0x1p-1074);
    return fabs(found - wanted) <= 4 * unit && (rounded != 0 || found != 0);
}

static void check_element(const struct operation *operation, void *const *memory, int64_t i)
{
    bool number = dtype_is_float(operation->type), same;
    int first = number ? 0 : 2;
    struct ir_value a = {0}, b = {0};
    size_t place = (size_t)i * dtype_bytes(operation->type);
    if (number) {
        a.number = dtype_load_float(operation->type, (char *)memory[first] + place);
        b.number = dtype_load_float(operation->type, (char *)memory[first + 1] + place);
    } else {
        a.integer = ((int64_t *)memory[first])[i];
        b.integer = ((int64_t *)memory[first + 1])[i];
    }
    struct ir_value wanted = expected(operation, a, b), found = {0};
    enum dtype type = tensors[operation->output].dtype;
    const void *at = (char *)memory[operation->output] + (size_t)i * dtype_bytes(type);
    if (dtype_is_float(type))
        same = is_near(found.number = dtype_load_float(type, at), wanted.number, type);
    else
        same = (found.integer = dtype_load_integer(type, at)) == wanted.integer;
    if (same)
        return;
    kernel_run_what =
        arena_printf(&arena, "%s(%.9g, %.9g) of %s", ir_op_name(operation->op),
                     number ? a.number : (double)a.integer, number ? b.number : (double)b.integer,
                     dtype_name(operation->type));
    kernel_run_complain(
        arena_printf(&arena, "is %.17g or %lld", found.number, (long long)found.integer),
        arena_printf(&arena, "not %.17g or %lld", wanted.number, (long long)wanted.integer));
}

static void check_outputs(const struct operation *operations, int count, void *const *memory)
{
    for (int k = 0; k < count; k++) {
        for (int64_t i = 0; i < elements; i++)
            check_element(&operations[k], memory, i);
    }
}

static bool is_tested(enum ir_op op, enum dtype type)
{
    bool number = dtype_is_float(type);
    switch (ir_op_class(op)) {
    case IR_CLASS_FLOAT:
    case IR_CLASS_TEST: return number;
    case IR_CLASS_INTEGER: return !number;
    case IR_CLASS_ARITH:
    case IR_CLASS_COMPARE: return true;
    case IR_CLASS_LOGIC: return number;
    default: return op == IR_SELECT;
    }
}

/* The float of these bits; all NaNs are alike here, signalling ones are not. */
static float float_of(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof bits);
    return isnan(number) ? NAN : number;
}

/* Random numbers; or floats of all sizes, evenly over their bits. */
static void draw_inputs(void **memory, enum dtype type, uint64_t state, bool all)
{
    for (int i = 0; i < part.tensor_count; i++) {
        size_t bytes = dtype_bytes(tensors[i].dtype);
        memory[i] = arena_alloc(&arena, (size_t)elements * bytes + 64);
        memory[i] = (char *)memory[i] + (64 - (uintptr_t)memory[i] % 64) % 64;
        for (size_t k = 0; k < (size_t)elements && i < 4; k++) {
            double value = random_number(&state);
            if (i == 0 && all)
                ((float *)memory[i])[k] = float_of((uint32_t)(k * 65521));
            else if (i < 2)
                dtype_store_float(type, (char *)memory[i] + k * bytes, value);
            else
                ((int64_t *)memory[i])[k] = dtype_truncate(DTYPE_I64, value * 1e3) % 70;
        }
    }
}

static void check_operations(enum dtype type, int lanes, bool all, const struct elsewhere *where)
{
    struct operation operations[2 * IR_OP_COUNT];
    void *memory[MOST_TENSORS];
    int count = 0;
    part_reset();
    tensor_add(type, true);
    tensor_add(type, true);
    tensor_add(DTYPE_I64, true);
    tensor_add(DTYPE_I64, true);
    struct loop_kernel *kernel = loop_kernel_new(&arena, &part);
    for (int op = 0; op < IR_OP_COUNT; op++) {
        for (int integer = 0; integer < 2; integer++) {
            struct operation *operation = &operations[count];
            *operation = (struct operation){(enum ir_op)op, integer ? DTYPE_I64 : type, 0};
            if (!is_tested(operation->op, operation->type))
                continue;
            enum ir_op_class class = ir_op_class(operation->op);
            bool truth =
                class == IR_CLASS_COMPARE || class == IR_CLASS_LOGIC || class == IR_CLASS_TEST;
            operation->output = tensor_add(truth ? DTYPE_BOOL : operation->type, false);
            write_map(kernel, ir_op_name(operation->op), lanes, operation->output, operation_make,
                      operation);
            count++;
        }
    }
    draw_inputs(memory, type, (uint64_t)lanes, all);
    kernel_run_what = arena_printf(&arena, "%s x%d", dtype_name(type), lanes);
    if (where)
        call_elsewhere(kernel, memory, where);
    else
        call_kernel(kernel, memory);
    check_outputs(operations, count, memory);
}

TEST(loop_operations_of_f32_in_16_lanes)
{
    check_operations(DTYPE_F32, 16, false, NULL);
}

TEST(loop_operations_of_f32_in_8_lanes)
{
    check_operations(DTYPE_F32, 8, false, NULL);
}

TEST(loop_operations_of_f64_in_8_lanes)
{
    check_operations(DTYPE_F64, 8, false, NULL);
}

/* A sample of all floats; `build/bench/math build/smelt --all` takes every one. */
TEST(loop_functions_over_all_floats)
{
    elements = 65536;
    check_operations(DTYPE_F32, 16, true, NULL);
}

TEST(loop_functions_over_all_floats_in_8_lanes)
{
    elements = 65536;
    check_operations(DTYPE_F32, 8, true, NULL);
}

/* e^-a where that is enough, and which of two is farther. */
static void check_decay(int lanes)
{
    elements = 65536;
    part_reset();
    int a = tensor_add(DTYPE_F32, true), b = tensor_add(DTYPE_F32, true);
    int y = tensor_add(DTYPE_F32, false), z = tensor_add(DTYPE_F32, false);
    struct loop_kernel *kernel = loop_kernel_new(&arena, &part);
    struct loop_block *body = loop_function(kernel, "decay", "of every element");
    struct loop_variable *i;
    struct loop_block *inner =
        loop_for(body, LOOP_SERIAL, "i", loop_integer(&arena, 0), loop_integer(&arena, elements),
                 loop_integer(&arena, lanes), &i);
    loop_value at = loop_of(&arena, i);
    loop_value first = loop_load(&arena, loop_tensor(kernel, a), at, lanes);
    loop_value second = loop_load(&arena, loop_tensor(kernel, b), at, lanes);
    loop_store(inner, loop_tensor(kernel, y), at, loop_decay(&arena, first));
    loop_store(inner, loop_tensor(kernel, z), at, loop_farther(&arena, first, second));
    void *memory[4];
    for (int k = 0; k < 4; k++)
        memory[k] = arena_array(&arena, (size_t)elements, sizeof(float));
    float *from = memory[0], *other = memory[1], *decays = memory[2], *farther = memory[3];
    for (int64_t k = 0; k < elements; k++) {
        from[k] = (float)((double)k * LOOP_DECAY_MOST / (double)(elements - 1));
        if (lanes == 16 && k >= elements - 16) /* these may be farther */
            from[k] = k % 2 ? INFINITY : (float)(1e4 * (double)(k % 16));
        other[k] = k % 3 == 0 ? NAN : k % 3 == 1 ? -1 : 40;
    }
    call_kernel(kernel, memory);
    for (int64_t k = 0; k < elements; k++) { /* off by as much as a move of a by half a unit */
        double wanted = exp(-(double)from[k]), units = 2 + from[k] / 4;
        if (from[k] > LOOP_DECAY_MOST && decays[k] == 0)
            continue;
        if (fabs(decays[k] - wanted) > units * 0x1p-23 * wanted)
            test_fail(__FILE__, __LINE__, "decay(%.9g) is %.9g, not %.9g", (double)from[k],
                      (double)decays[k], wanted);
        float far = k % 3 == 2 ? fmaxf(from[k], 40) : other[k];
        CHECK(memcmp(&farther[k], &far, sizeof far) == 0);
    }
    CHECK(decays[0] == 1);
}

TEST(loop_decay_of_what_is_near)
{
    check_decay(8);
}

TEST(loop_decay_in_16_lanes)
{
    check_decay(16);
}

TEST(loop_operations_by_clang)
{
    static const struct elsewhere CLANG = {"clang", "-march=native -ffp-contract=fast", "", ""};
    check_operations(DTYPE_F32, 16, false, &CLANG);
}

TEST(loop_operations_on_avx2)
{
    static const struct elsewhere AVX2 = {"gcc", "-mavx2 -mfma", "", "avx2"};
    check_operations(DTYPE_F32, 8, false, &AVX2);
}

TEST(loop_operations_without_any_extension)
{
    static const struct elsewhere PLAIN = {"gcc", "", "", ""};
    check_operations(DTYPE_F32, 4, false, &PLAIN);
}

TEST(loop_operations_on_aarch64)
{
    static const struct elsewhere ARM = {"aarch64-linux-gnu-gcc", "-static", "qemu-aarch64-static",
                                         ""};
    check_operations(DTYPE_F32, 4, false, &ARM);
}

/* ---- a tile of vectors, and what is read of it ---- */

TEST(loop_tile_becomes_variables)
{
    enum { ROWS = 4, COLUMNS = 2, LANES = 8 };
    part_reset();
    int a = tensor_add(DTYPE_F32, true), y = tensor_add(DTYPE_F32, false);
    struct loop_kernel *kernel = loop_kernel_new(&arena, &part);
    struct loop_block *body = loop_function(kernel, "tile", "sums of rows");
    const struct loop_buffer *tile = loop_stack(body, "acc", DTYPE_F32, LANES, ROWS * COLUMNS);
    loop_value zero = loop_integer(&arena, 0), rows = loop_integer(&arena, ROWS);
    struct loop_variable *i, *j, *k;
    struct loop_block *inner =
        loop_for(body, LOOP_UNROLL, "i", zero, loop_integer(&arena, ROWS * COLUMNS), NULL, &i);
    loop_store(inner, tile, loop_of(&arena, i), loop_number(&arena, 0, DTYPE_F32));
    struct loop_block *steps = loop_for(body, LOOP_SERIAL, "k", zero, rows, NULL, &k);
    inner = loop_for(steps, LOOP_UNROLL, "i", zero, rows, NULL, &i);
    inner = loop_for(inner, LOOP_UNROLL, "j", zero, loop_integer(&arena, COLUMNS), NULL, &j);
    loop_value place =
        loop_add(&arena, loop_mul(&arena, loop_of(&arena, i), loop_integer(&arena, COLUMNS)),
                 loop_of(&arena, j));
    loop_value from = loop_mul(&arena, place, loop_integer(&arena, LANES));
    loop_value more = loop_load(&arena, loop_tensor(kernel, a), from, LANES);
    loop_store(inner, tile, place, loop_add(&arena, loop_load(&arena, tile, place, LANES), more));
    inner = loop_for(body, LOOP_UNROLL, "i", zero, loop_integer(&arena, ROWS * COLUMNS), NULL, &i);
    loop_store(inner, loop_tensor(kernel, y),
               loop_mul(&arena, loop_of(&arena, i), loop_integer(&arena, LANES)),
               loop_load(&arena, tile, loop_of(&arena, i), LANES));

    struct text text = text_new(&arena);
    gen_loop_c(&text, kernel, &(struct gen_head){0});
    CHECK(strstr(text.at, "f32x8 acc_0, acc_1, acc_2") != NULL);
    CHECK(strstr(text.at, "acc_5 += f32x8_read(&a0[40]);") != NULL);
    float *memory[2];
    for (int t = 0; t < 2; t++) {
        memory[t] = arena_alloc(&arena, 4096);
        memory[t] += (64 - (uintptr_t)memory[t] % 64) % 64 / 4;
    }
    for (int n = 0; n < ROWS * COLUMNS * LANES; n++)
        memory[0][n] = (float)n;
    call_kernel(kernel, (void **)memory);
    for (int n = 0; n < ROWS * COLUMNS * LANES; n++)
        CHECK(memory[1][n] == (float)(4 * n));
}
