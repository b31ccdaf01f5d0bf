/*
 * How far off the functions of generated kernels are, and how fast:
 *
 *     math SMELT [--markdown | --all [FUNCTION]]
 *
 * Each function of one f32 argument is compiled as kernels have it, run over the floats (every
 * 251st bit pattern, or --all) and compared with libm in double precision. The unit is that of the
 * result as a float. NaN, infinities and the signs of zeros must come out as they are.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen/gen.h"
#include "judge/judge.h"
#include "os/library.h"
#include "os/os.h"

enum { CHUNK = 1 << 14, STRIDE = 251, RUNS = 9, PROMISED = 4 };

typedef int kernel_function(void *const *tensors, const int64_t *sizes, const double *scalars,
                            void *scratch);

static const struct {
    enum ir_op op;
    double (*exact)(double);
} FUNCTIONS[] = {
    {IR_EXP, exp},     {IR_EXP2, exp2},   {IR_EXPM1, expm1}, {IR_LOG, log},   {IR_LOG2, log2},
    {IR_LOG10, log10}, {IR_LOG1P, log1p}, {IR_SQRT, sqrt},   {IR_TANH, tanh}, {IR_SINH, sinh},
    {IR_COSH, cosh},   {IR_ERF, erf},     {IR_ERFC, erfc},   {IR_SIN, sin},   {IR_COS, cos},
};

enum { FUNCTION_COUNT = sizeof FUNCTIONS / sizeof *FUNCTIONS };

/* ---- the kernel: y[i] = f(x[i]), whole vectors only; or one value at a time ---- */

static struct text source_of(struct arena *arena, enum ir_op op, int lanes)
{
    static const struct ir_symbol SYMBOLS[] = {{.name = "N"}};
    static const int INPUTS[] = {0}, OUTPUTS[] = {1};
    const struct ir_size **dims = arena_array(arena, 1, sizeof *dims);
    dims[0] = ir_size_symbol(arena, 0);
    struct ir_tensor *tensors = arena_array(arena, 2, sizeof *tensors);
    tensors[0] = (struct ir_tensor){
        .name = "x", .role = IR_TENSOR_INPUT, .dtype = DTYPE_F32, .rank = 1, .dims = dims};
    tensors[1] = tensors[0];
    tensors[1].name = "y";
    tensors[1].role = IR_TENSOR_OUTPUT;
    struct ir_part *part = arena_new(arena, struct ir_part);
    *part = (struct ir_part){.name = "math",
                             .symbols = SYMBOLS,
                             .symbol_count = 1,
                             .tensors = tensors,
                             .tensor_count = 2,
                             .inputs = INPUTS,
                             .outputs = OUTPUTS,
                             .input_count = 1,
                             .output_count = 1};
    struct loop_kernel *kernel = loop_kernel_new(arena, part);
    struct loop_variable *i;
    struct loop_block *body =
        loop_for(loop_function(kernel, "function", NULL), LOOP_SERIAL, "i", loop_integer(arena, 0),
                 loop_size(arena, part, dims[0]), loop_integer(arena, lanes), &i);
    loop_value x = loop_load(arena, loop_tensor(kernel, 0), loop_of(arena, i), lanes);
    loop_store(body, loop_tensor(kernel, 1), loop_of(arena, i),
               loop_apply(arena, op, x, NULL, NULL));
    struct text text = text_new(arena);
    gen_loop_c(&text, kernel, &(struct gen_head){0});
    return text;
}

static kernel_function *compile(struct arena *arena, const struct text *text, int number)
{
    const char *input = arena_printf(arena, "/tmp/smelt-math-%d-%d.c", (int)getpid(), number);
    const char *output = arena_printf(arena, "/tmp/smelt-math-%d-%d.so", (int)getpid(), number);
    const char *arguments[40] = {process_find(arena, "cc")};
    struct process_request request = {.arguments = arguments, .timeout = 60};
    struct process_result result;
    struct error error;
    int count = 1;
    for (const char *const *flag = judge_compiler_flags(); *flag; flag++)
        arguments[count++] = *flag;
    arguments[count++] = "-o";
    arguments[count++] = output;
    arguments[count++] = input;
    arguments[count++] = "-lm";
    void *symbol = NULL;
    if (file_write(input, text->at, text->length, 0600, &error) &&
        process_run(arena, &request, &result, &error) && process_succeeded(&result)) {
        struct library *library = library_open(output, &error);
        symbol = library ? library_symbol(library, "kernel", &error) : NULL;
    }
    unlink(input);
    unlink(output);
    kernel_function *function = NULL;
    memcpy(&function, &symbol, sizeof symbol);
    return function;
}

/* ---- errors ---- */

struct worst {
    double units;
    float at;
    long wrong; /* NaN, infinity or the sign of a zero that is not as it must be */
    float wrong_at;
};

static void compare(struct worst *worst, float x, float found, double exact)
{
    float rounded = (float)exact;
    if (isnan(rounded) || isinf(rounded) || rounded == 0) {
        bool same =
            isnan(rounded) ? isnan(found) : rounded == found && signbit(rounded) == signbit(found);
        /* at the edge, the next float is as good */
        bool near = !isnan(exact) && !isnan(found) && x != 0 && isfinite(x) &&
                    fabs((double)found - exact) <= 0x1p-148;
        near |= isinf(rounded) && isfinite(exact) && found >= 0x1.fffffcp127f;
        if (!same && !near) {
            worst->wrong++;
            worst->wrong_at = x;
        }
        return;
    }
    int exponent;
    frexp(exact, &exponent);
    double unit = ldexp(1, exponent - 24 < -149 ? -149 : exponent - 24);
    double units = fabs((double)found - exact) / unit;
    if (!(units <= worst->units)) {
        worst->units = units;
        worst->at = x;
    }
}

static struct worst errors_of(kernel_function *kernel, double (*exact)(double), uint32_t stride)
{
    static float x[CHUNK] __attribute__((aligned(64))), y[CHUNK] __attribute__((aligned(64)));
    void *tensors[] = {x, y};
    int64_t sizes[] = {CHUNK};
    struct worst worst = {0};
    uint64_t bits = 0;
    while (bits >> 32 == 0) {
        for (int i = 0; i < CHUNK; i++, bits += stride) {
            uint32_t word = bits >> 32 ? 0 : (uint32_t)bits;
            memcpy(&x[i], &word, sizeof word);
        }
        kernel(tensors, sizes, NULL, NULL);
        for (int i = 0; i < CHUNK; i++)
            compare(&worst, x[i], y[i], exact((double)x[i]));
    }
    return worst;
}

/* ---- speed: nanoseconds per element of data that stays in the first cache ---- */

static double time_of(kernel_function *kernel)
{
    enum { COUNT = 2048, CALLS = 200 };
    static float x[COUNT] __attribute__((aligned(64))), y[COUNT] __attribute__((aligned(64)));
    void *tensors[] = {x, y};
    int64_t sizes[] = {COUNT};
    double best = INFINITY;
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)i / COUNT * 8.0f + 0.01f;
    for (int run = 0; run < RUNS; run++) {
        double start = clock_seconds();
        for (int call = 0; call < CALLS; call++)
            kernel(tensors, sizes, NULL, NULL);
        double time = (clock_seconds() - start) / CALLS / COUNT * 1e9;
        best = time < best ? time : best;
    }
    return best;
}

/* As wide as the vectors that kernels have on this machine. */
static int lanes_here(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512f") ? 16 : 8;
#else
    return 4;
#endif
}

int main(int count, char **arguments)
{
    bool markdown = count > 2 && strcmp(arguments[2], "--markdown") == 0;
    bool all = count > 2 && strcmp(arguments[2], "--all") == 0;
    struct arena arena = {0};
    if (markdown)
        printf("| function | worst error, units | at | ns per element | libm, one by one |\n"
               "|---|---|---|---|---|\n");
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        const char *name = ir_op_name(FUNCTIONS[i].op);
        if (count > 3 && strcmp(arguments[3], name) != 0)
            continue;
        struct text vectors = source_of(&arena, FUNCTIONS[i].op, lanes_here());
        struct text single = source_of(&arena, FUNCTIONS[i].op, 1);
        kernel_function *kernel = compile(&arena, &vectors, 2 * i);
        kernel_function *plain = compile(&arena, &single, 2 * i + 1);
        if (!kernel || !plain) {
            printf("%s | does not compile | | NO\n", name);
            continue;
        }
        struct worst worst = errors_of(kernel, FUNCTIONS[i].exact, all ? 1 : STRIDE);
        if (markdown)
            printf("| `%s` | %.2f | %.9g | %.2f | %.2f |\n", name, worst.units, (double)worst.at,
                   time_of(kernel), time_of(plain));
        else
            printf("error of %s in vectors, units | %.2f | %d | %s\n", name, worst.units, PROMISED,
                   worst.units <= PROMISED && !worst.wrong ? "yes" : "NO");
        if (worst.wrong)
            printf("%s: %ld special values are wrong, such as at %.9g | | none | NO\n", name,
                   worst.wrong, (double)worst.wrong_at);
        fflush(stdout);
    }
    arena_release(&arena);
    return 0;
}
