/*
 * How much faster the compiled oracle is than the interpreter, measured side by side: oracle SMELT
 *
 * The product of two 256 by 256 matrices, the second one stored by rows and by columns. The
 * interpreter runs once, the compiled form several times (the median counts), both on the same
 * inputs; their results must agree to the last bit, or the row says so.
 */
#include <stdio.h>
#include <string.h>

#include "oracle/oracle.h"
#include "os/os.h"

enum { SIZE = 256, RUNS = 9, PROMISED = 20 };

static const char PROGRAM[] =
    "ir 1 part matmul { size M size N size K input a f32[M, K] input b f32[%s]\n"
    "output y f32[M, N] signature (a, b) -> (y)\n"
    "reduce sum over m < M, n < N | k < K { %%0 = index m %%1 = index n %%2 = index k\n"
    "    %%3 = read a [%%0, %%2] %%4 = read b [%s] %%5 = mul f32 %%3, %%4 y [%%0, %%1] <- %%5 } }";

struct case_run {
    struct arena *arena;
    struct ir_binding *binding;
    struct array inputs[2];
    struct error error;
};

static bool prepare(struct case_run *run, const char *text)
{
    int64_t sizes[3] = {SIZE, SIZE, SIZE};
    struct source *source = arena_new(run->arena, struct source);
    *source = (struct source){"bench.ir", text, strlen(text)};
    struct ir_program *program = ir_parse(run->arena, source, &run->error);
    run->binding = program ? ir_bind(run->arena, program, sizes, NULL, &run->error) : NULL;
    if (!run->binding)
        return false;
    struct random random = random_new(1, 1);
    for (int i = 0; i < 2; i++) {
        run->inputs[i] = (struct array){.name = i ? "b" : "a", .dtype = DTYPE_F32, .rank = 2};
        run->inputs[i].count =
            ir_tensor_shape(run->binding, run->binding->part->inputs[i], run->inputs[i].dims);
        array_alloc(run->arena, &run->inputs[i]);
        for (int64_t j = 0; j < run->inputs[i].count; j++)
            run->inputs[i].floats[j] = dtype_round(DTYPE_F32, random_normal(&random));
    }
    return true;
}

/* Seconds of the interpreter over seconds of the compiled form; negative when one of them fails. */
static double measure(struct case_run *run, const char *text, double *interpreted, double *compiled)
{
    struct array slow, fast;
    struct ir_program program = {0};
    double times[RUNS];
    if (!prepare(run, text))
        return -1;
    program = (struct ir_program){.parts = &run->binding->part, .part_count = 1};
    struct oracle_code *code = oracle_compile(run->arena, &program, &run->error);
    if (!code)
        return -1;
    double start = clock_seconds();
    if (!oracle_interpret(run->arena, run->binding, run->inputs, &slow, NULL, &run->error))
        return -1;
    *interpreted = clock_seconds() - start;
    for (int i = 0; i < RUNS; i++) {
        start = clock_seconds();
        if (!oracle_run(run->arena, code, run->binding, run->inputs, &fast, NULL, &run->error))
            return -1;
        times[i] = clock_seconds() - start;
    }
    *compiled = statistics_median(times, RUNS);
    if (memcmp(slow.floats, fast.floats, (size_t)slow.count * sizeof *slow.floats) != 0) {
        error_set(&run->error, ERROR_ORACLES_DIFFER, "the results differ");
        return -1;
    }
    oracle_close(code);
    return *interpreted / *compiled;
}

static void row(struct arena *arena, const char *what, const char *shape, const char *read)
{
    struct case_run run = {.arena = arena};
    double interpreted = 0, compiled = 0;
    double ratio =
        measure(&run, arena_printf(arena, PROGRAM, shape, read), &interpreted, &compiled);
    if (ratio < 0)
        printf("%s | failed: %s | >= %dx | NO\n", what, run.error.message, PROMISED);
    else
        printf("%s | %.0fx (%.1f ms) | >= %dx | %s\n", what, ratio, 1e3 * compiled, PROMISED,
               ratio >= PROMISED ? "yes" : "NO");
}

int main(void)
{
    struct arena arena = {0};
    row(&arena, "compiled oracle to interpreter, 256^3 matmul", "K, N", "%2, %1");
    row(&arena, "the same, second matrix stored by columns", "N, K", "%1, %2");
    arena_release(&arena);
    return 0;
}
