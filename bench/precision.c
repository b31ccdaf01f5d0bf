/*
 * How accurate products of f32 in parts of bf16 are, beside OpenBLAS:
 *
 *     precision SMELT [--markdown] [SIZE...]
 *
 * Products of square matrices of normal numbers, by kernels that take factors whole, by kernels
 * that take them apart (`precision bf16x6`), and by OpenBLAS. The error of an element is its
 * distance from the sum in double, in units of 2^-24 of the sum of the products' magnitudes; some
 * rows are looked at. Nothing is timed. Where the machine has no instruction for bf16 there is
 * nothing to compare.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "judge/judge.h"
#include "os/library.h"
#include "os/os.h"

enum { ROWS = 48, MOST_SIZES = 8, WAYS = 3 };

typedef int kernel_function(void *const *tensors, const int64_t *sizes, const double *scalars,
                            void *scratch);
typedef void sgemm_function(int order, int a_way, int b_way, int m, int n, int k, float alpha,
                            const float *a, int a_row, const float *b, int b_row, float beta,
                            float *y, int y_row);

struct errors_of { /* in units */
    double worst, mean;
};

static bool shell(struct arena *arena, const char *const *arguments)
{
    struct process_request request = {.arguments = arguments, .timeout = 120};
    struct process_result result;
    struct error error;
    return process_run(arena, &request, &result, &error) && process_succeeded(&result);
}

static void *symbol_of(struct library *library, const char *name)
{
    struct error error;
    return library ? library_symbol(library, name, &error) : NULL;
}

/* The kernel of the best plan with this precision; NULL: there is none here. */
static kernel_function *kernel_of(struct arena *arena, const char *smelt, const char *precision,
                                  int64_t size)
{
    const char *source = arena_printf(arena, "/tmp/smelt-precision-%d.c", (int)getpid());
    const char *output = arena_printf(arena, "%s.%s.%lld.so", source, precision, (long long)size);
    const char *generate[] = {smelt,
                              "gen",
                              "-o",
                              source,
                              "mm",
                              "T=f32",
                              arena_printf(arena, "M=%lld", (long long)size),
                              arena_printf(arena, "N=%lld", (long long)size),
                              arena_printf(arena, "K=%lld", (long long)size),
                              "--pin",
                              arena_printf(arena, "y.precision=%s", precision),
                              NULL};
    const char *compile[40] = {process_find(arena, "cc")};
    struct error error;
    int count = 1;
    for (const char *const *flag = judge_compiler_flags(); *flag; flag++)
        compile[count++] = *flag;
    const char *const rest[] = {"-o", output, source, "-lm"};
    for (int i = 0; i < 4; i++)
        compile[count++] = rest[i];
    bool made = shell(arena, generate) && shell(arena, compile);
    void *symbol = made ? symbol_of(library_open(output, &error), "kernel") : NULL;
    kernel_function *function = NULL;
    memcpy(&function, &symbol, sizeof symbol);
    unlink(source);
    unlink(output);
    return function;
}

static float *matrix_new(int64_t size, struct random *random)
{
    float *at = aligned_alloc(64, (size_t)(size * size) * sizeof *at);
    for (int64_t i = 0; at && random && i < size * size; i++)
        at[i] = (float)random_normal(random);
    return at;
}

static struct errors_of errors_find(const float *a, const float *b, const float *y, int64_t size)
{
    struct errors_of errors = {0, 0};
    double *sums = calloc((size_t)size * 2, sizeof *sums);
    for (int64_t r = 0; sums && r < ROWS; r++) {
        int64_t row = r * (size - 1) / (ROWS - 1);
        double *sizes = sums + size;
        memset(sums, 0, (size_t)size * 2 * sizeof *sums);
        for (int64_t k = 0; k < size; k++) {
            for (int64_t n = 0; n < size; n++) {
                double product = (double)a[row * size + k] * b[k * size + n];
                sums[n] += product;
                sizes[n] += fabs(product);
            }
        }
        for (int64_t n = 0; n < size; n++) {
            double error = fabs(y[row * size + n] - sums[n]) / sizes[n] * 0x1p24;
            errors.worst = fmax(errors.worst, error);
            errors.mean += error / (double)(ROWS * size);
        }
    }
    free(sums);
    return errors;
}

static void print_rows(bool markdown, int64_t size, const char *const *names,
                       const struct errors_of *errors, const bool *done)
{
    for (int i = 0; markdown && i < WAYS; i++)
        if (done[i])
            printf("| %lld | %s | %.3f | %.4f |\n", (long long)size, names[i], errors[i].worst,
                   errors[i].mean);
    if (markdown)
        return;
    if (!done[1] || !done[WAYS - 1]) {
        printf("bf16x6 at %lld | no bf16 or no OpenBLAS | |\n", (long long)size);
        return;
    }
    double ratio = errors[1].worst / errors[WAYS - 1].worst;
    printf("worst error of bf16x6 / OpenBLAS, %lld cubed | %.2f | <= 1 | %s\n", (long long)size,
           ratio, ratio <= 1 ? "yes" : "NO");
}

static bool compare(struct arena *arena, const char *smelt, int64_t size, bool markdown)
{
    static const char *const NAMES[WAYS] = {"whole", "bf16x6", "OpenBLAS"};
    struct random random = random_new(11, 7);
    struct errors_of errors[WAYS];
    bool done[WAYS] = {false};
    struct error error;
    float *a = matrix_new(size, &random), *b = matrix_new(size, &random);
    float *y = matrix_new(size, NULL);
    const int64_t sizes[] = {size, size, size};
    const double scalars[] = {0};
    void *scratch = aligned_alloc(64, (size_t)size * (size_t)size * 64 + (1 << 24));
    if (!a || !b || !y || !scratch)
        return false;
    for (int i = 0; i < WAYS - 1; i++) {
        kernel_function *kernel = kernel_of(arena, smelt, NAMES[i], size);
        void *const tensors[] = {a, b, y};
        if (!kernel || kernel(tensors, sizes, scalars, scratch) != 0)
            continue;
        errors[i] = errors_find(a, b, y, size);
        done[i] = true;
    }
    void *symbol = symbol_of(library_open("libopenblas.so.0", &error), "cblas_sgemm");
    sgemm_function *sgemm = NULL;
    memcpy(&sgemm, &symbol, sizeof symbol);
    if (sgemm) {
        int n = (int)size;
        sgemm(101, 111, 111, n, n, n, 1, a, n, b, n, 0, y, n);
        errors[WAYS - 1] = errors_find(a, b, y, size);
        done[WAYS - 1] = true;
    }
    print_rows(markdown, size, NAMES, errors, done);
    free(a), free(b), free(y), free(scratch);
    return true;
}

int main(int count, char **arguments)
{
    enum { ASK_FOR_STATE = 0x1023, STATE_TILE_DATA = 18 };
    struct arena arena = {0};
    int64_t sizes[MOST_SIZES] = {1024, 2048};
    int chosen = 0;
    bool markdown = false, fine = true;
#ifdef SYS_arch_prctl
    syscall(SYS_arch_prctl, ASK_FOR_STATE, STATE_TILE_DATA); /* fails where there are no tiles */
#endif
    for (int i = 2; i < count; i++) {
        if (strcmp(arguments[i], "--markdown") == 0)
            markdown = true;
        else if (chosen < MOST_SIZES)
            sizes[chosen++] = atoll(arguments[i]);
    }
    for (int i = 0; i < (chosen ? chosen : 2) && count > 1; i++)
        fine &= sizes[i] >= ROWS && compare(&arena, arguments[1], sizes[i], markdown);
    if (!fine || count < 2)
        fprintf(stderr, "usage: precision SMELT [--markdown] [SIZE...], sizes from %d on\n", ROWS);
    arena_release(&arena);
    return fine && count > 1 ? 0 : 1;
}
