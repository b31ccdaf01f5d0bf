/*
 * How near kernels that move much and compute little are to copying:
 *
 *     copy SMELT [--markdown] [--threads N] [--plan FILE] [NAME...]
 *
 * The kernel of the first seed plan at 512 MB and more is timed in turns with loops that read and
 * write as many bytes: reading in one stream or two, storing through the caches or past them. The
 * ratio is the time of the best such loop by that of the kernel, so 1 is as fast as copying.
 * NAME chooses rows of the table below; a plan in a file takes the place of the seed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "judge/judge.h"
#include "os/library.h"
#include "os/os.h"

enum { ROUNDS = 9, MOST_TENSORS = 6, MOST_SIZES = 6, SMALL = 4, LABELS = 5 };

static const int64_t MEGABYTES = 1 << 20, SCRATCH = (int64_t)2 << 30;
static const double PROMISED = 0.9;

typedef int kernel_function(void *const *tensors, const int64_t *sizes, const double *scalars,
                            void *scratch);

/* Of a tensor: how many megabytes; SMALL: some thousand positive numbers or none, in the cache;
 * LABELS: numbers of classes. */
static const struct copy_case {
    const char *name, *arguments;
    int inputs[MOST_TENSORS], outputs[MOST_TENSORS]; /* ended by 0 */
    int64_t sizes[MOST_SIZES];
    double scalars[2];
} CASES[] = {
    {"softmax", "softmax B=[131072] A=[] D=1024", {512}, {512}, {131072, 1024}, {0}},
    {"layer_norm",
     "layer_norm B=[131072] N=[1024]",
     {512, SMALL, SMALL},
     {512},
     {131072, 1024},
     {1e-5}},
    {"rms_norm", "rms_norm B=[32768] N=[4096]", {512, SMALL}, {512}, {32768, 4096}, {1e-6}},
    {"gelu", "gelu B=[134217728]", {512}, {512}, {134217728}, {0}},
    {"batch_norm",
     "batch_norm N=668 C=64 S=[56,56]",
     {512, SMALL, SMALL, SMALL, SMALL},
     {512},
     {668, 64, 56, 56},
     {1e-5}},
    {"sum_last", "sum B=[65536] D=2048 A=[]", {512}, {SMALL}, {65536, 2048}, {0}},
    {"sum_first", "sum B=[] D=65536 A=[2048]", {512}, {SMALL}, {65536, 2048}, {0}},
    {"sum_all", "sum_all B=[134217728]", {512}, {SMALL}, {134217728}, {0}},
    {"max_middle", "amax B=[512] D=512 A=[512]", {512}, {SMALL}, {512, 512, 512}, {0}},
    {"argmax", "argmax B=[131072] D=1024 A=[]", {512}, {SMALL}, {131072, 1024}, {0}},
    {"logsumexp", "logsumexp B=[131072] D=1024 A=[]", {512}, {SMALL}, {131072, 1024}, {0}},
    {"cross_entropy",
     "cross_entropy N=131072 C=1024 S=[] I=i64",
     {512, LABELS},
     {SMALL},
     {-100, 131072, 1024},
     {0}},
    {"mse_loss", "mse_loss B=[67108864]", {256, 256}, {SMALL}, {67108864}, {0}},
    {"cumsum_last", "cumsum B=[32768] D=4096 A=[]", {512}, {512}, {32768, 4096}, {0}},
    {"cumsum_first", "cumsum B=[] D=32768 A=[4096]", {512}, {512}, {32768, 4096}, {0}},
    {"cumsum_reverse",
     "cumsum_reverse_exclusive B=[32768] D=4096 A=[]",
     {512},
     {512},
     {32768, 4096},
     {0}},
    {"permute", "to_channels_last N=668 C=64 S=[56,56]", {512}, {512}, {668, 64, 56, 56}, {0}},
};

enum { CASE_COUNT = sizeof CASES / sizeof *CASES };

/* ---- the loops to compare with, compiled as kernels are ---- */

enum loop_way { WAY_CACHED, WAY_STREAMING, WAY_INTERLEAVED, WAYS };

/* Reads all inputs and writes all outputs. Threads have a range each, or interleaved take pieces in
 * turn and store past the caches. */
typedef float loop_function(char *const *inputs, const int64_t *input_bytes, char *const *outputs,
                            const int64_t *output_bytes, int way);
typedef void threads_function(int threads);

static const char LOOPS[] =
    "#include <omp.h>\n"
    "#include <stdint.h>\n"
    "#include <string.h>\n"
    "#ifdef __AVX512F__\n"
    "enum { WIDE = 64 };\n"
    "#else\n"
    "enum { WIDE = 32 };\n"
    "#endif\n"
    "typedef float vector __attribute__((vector_size(WIDE), may_alias));\n"
    "typedef long long words __attribute__((vector_size(WIDE), may_alias));\n"
    "enum { PIECE = 64 * 1024, TENSORS = 6 };\n"
    "static float piece_read(const char *from)\n"
    "{\n"
    "    vector sums[4] = {{0}};\n"
    "    for (int64_t i = 0; i < PIECE; i += 4 * WIDE)\n"
    "        for (int k = 0; k < 4; k++)\n"
    "            sums[k] += *(const vector *)(from + i + WIDE * k);\n"
    "    sums[0] += sums[1] + sums[2] + sums[3];\n"
    "    return sums[0][0] + sums[0][7];\n"
    "}\n"
    "static void piece_copy(char *to, const char *from, int streaming)\n"
    "{\n"
    "    for (int64_t i = 0; i < PIECE; i += WIDE) {\n"
    "        words value = *(const words *)(from + i);\n"
    "#if defined __AVX512F__ && !defined __clang__\n"
    "        if (streaming) {\n"
    "            __builtin_ia32_movntdq512((words *)(to + i), value);\n"
    "            continue;\n"
    "        }\n"
    "#elif defined __AVX__ && !defined __clang__\n"
    "        if (streaming) {\n"
    "            __builtin_ia32_movntdq256((words *)(to + i), value);\n"
    "            continue;\n"
    "        }\n"
    "#endif\n"
    "        *(words *)(to + i) = value;\n"
    "    }\n"
    "}\n"
    "void threads(int count) { omp_set_num_threads(count); }\n"
    "float loops(char *const *inputs, const int64_t *input_bytes, char *const *outputs,\n"
    "            const int64_t *output_bytes, int way)\n"
    "{\n"
    "    int64_t most = 0;\n"
    "    float sum = 0;\n"
    "    for (int i = 0; i < TENSORS; i++) {\n"
    "        most = input_bytes[i] > most ? input_bytes[i] : most;\n"
    "        most = output_bytes[i] > most ? output_bytes[i] : most;\n"
    "    }\n"
    "    omp_set_schedule(omp_sched_static, way == 2 ? 1 : 0);\n"
    "#pragma omp parallel for schedule(runtime) reduction(+ : sum)\n"
    "    for (int64_t at = 0; at < most; at += PIECE) {\n"
    "        for (int i = 0; i < TENSORS; i++) {\n"
    "            if (at + PIECE <= output_bytes[i])\n"
    "                piece_copy(outputs[i] + at, inputs[i] + at, way != 0);\n"
    "            else if (at + PIECE <= input_bytes[i])\n"
    "                sum += piece_read(inputs[i] + at);\n"
    "        }\n"
    "    }\n"
    "    return sum;\n"
    "}\n";

/* ---- the kernel ---- */

static bool shell(struct arena *arena, const char *const *arguments)
{
    struct process_request request = {.arguments = arguments, .timeout = 120};
    struct process_result result;
    struct error error;
    return process_run(arena, &request, &result, &error) && process_succeeded(&result);
}

static struct library *source_compile(struct arena *arena, const char *source)
{
    const char *output = arena_printf(arena, "%s.so", source);
    const char *arguments[40] = {process_find(arena, "cc")};
    struct error error;
    int count = 1;
    for (const char *const *flag = judge_compiler_flags(); *flag; flag++)
        arguments[count++] = *flag;
    arguments[count++] = "-o";
    arguments[count++] = output;
    arguments[count++] = source;
    arguments[count++] = "-lm";
    struct library *library = shell(arena, arguments) ? library_open(output, &error) : NULL;
    unlink(source);
    unlink(output);
    return library;
}

static void *symbol_of(struct library *library, const char *name)
{
    struct error error;
    return library ? library_symbol(library, name, &error) : NULL;
}

static kernel_function *kernel_of(struct arena *arena, const char *smelt, const char *plan,
                                  const struct copy_case *chosen)
{
    const char *source =
        arena_printf(arena, "/tmp/smelt-copy-%d-%s.c", (int)getpid(), chosen->name);
    const char *arguments[40] = {smelt, "gen", "-o", source};
    int count = 4;
    char *words = arena_printf(arena, "%s", chosen->arguments), *rest = NULL;
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        arguments[count++] = word;
    if (plan) {
        arguments[count++] = "--plan";
        arguments[count++] = plan;
    }
    if (!shell(arena, arguments))
        return NULL;
    void *symbol = symbol_of(source_compile(arena, source), "kernel");
    kernel_function *function = NULL;
    memcpy(&function, &symbol, sizeof symbol);
    return function;
}

static bool loops_make(struct arena *arena, loop_function **loops, threads_function **threads)
{
    const char *source = arena_printf(arena, "/tmp/smelt-copy-%d.c", (int)getpid());
    struct error error;
    if (!file_write(source, LOOPS, sizeof LOOPS - 1, 0600, &error))
        return false;
    struct library *library = source_compile(arena, source);
    void *symbol = symbol_of(library, "loops");
    memcpy(loops, &symbol, sizeof symbol);
    symbol = symbol_of(library, "threads");
    memcpy(threads, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* ---- memory: as the judge has it ---- */

static char *memory_new(int64_t bytes)
{
    void *at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        fprintf(stderr, "copy: no memory of %lld bytes\n", (long long)bytes);
        exit(3);
    }
    return at;
}

static int64_t tensor_bytes(int megabytes)
{
    return megabytes == SMALL || megabytes == LABELS ? 8 * MEGABYTES : megabytes * MEGABYTES;
}

static char *tensor_new(int megabytes)
{
    int64_t bytes = tensor_bytes(megabytes);
    char *at = memory_new(bytes);
    uint32_t state = 1;
    for (int64_t i = 0; i < bytes / 8; i++) {
        state = state * 1664525 + 1013904223;
        if (megabytes == LABELS) {
            ((int64_t *)(void *)at)[i] = state >> 24;
            continue;
        }
        float *pair = (float *)(void *)at + 2 * i;
        pair[0] = (float)(state >> 8) * 0x1p-24f + 0.5f;
        pair[1] = (float)(state >> 12) * 0x1p-19f - 1.0f;
        if (megabytes == SMALL)
            pair[1] = pair[0];
    }
    return at;
}

/* ---- one row ---- */

struct copy_times {
    double kernel, loops[WAYS];
};

static volatile float used; /* so that the loops are not for nothing */

static struct copy_times case_time(kernel_function *kernel, loop_function *loops,
                                   const struct copy_case *chosen, char *scratch)
{
    struct copy_times times = {INFINITY, {INFINITY, INFINITY, INFINITY}};
    char *tensors[2 * MOST_TENSORS] = {0}, *inputs[MOST_TENSORS] = {0},
                      *outputs[MOST_TENSORS] = {0};
    int64_t input_bytes[MOST_TENSORS] = {0}, output_bytes[MOST_TENSORS] = {0};
    int count = 0;
    for (int i = 0; i < MOST_TENSORS && chosen->inputs[i]; i++) {
        tensors[count++] = inputs[i] = tensor_new(chosen->inputs[i]);
        input_bytes[i] = chosen->inputs[i] > LABELS ? tensor_bytes(chosen->inputs[i]) : 0;
    }
    for (int i = 0; i < MOST_TENSORS && chosen->outputs[i]; i++) {
        tensors[count++] = outputs[i] = tensor_new(chosen->outputs[i]);
        output_bytes[i] = chosen->outputs[i] > LABELS ? tensor_bytes(chosen->outputs[i]) : 0;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int way = -1; way < WAYS; way++) {
            double start = clock_seconds();
            if (way < 0 &&
                kernel((void *const *)tensors, chosen->sizes, chosen->scalars, scratch) != 0)
                return (struct copy_times){NAN, {0}};
            if (way >= 0)
                used = loops(inputs, input_bytes, outputs, output_bytes, way);
            double *best = way < 0 ? &times.kernel : &times.loops[way];
            double time = clock_seconds() - start;
            *best = time < *best && round > 0 ? time : *best;
        }
    }
    for (int i = 0; i < MOST_TENSORS; i++) {
        if (inputs[i])
            munmap(inputs[i], (size_t)tensor_bytes(chosen->inputs[i]));
        if (outputs[i])
            munmap(outputs[i], (size_t)tensor_bytes(chosen->outputs[i]));
    }
    return times;
}

static void case_print(const struct copy_case *chosen, const struct copy_times *times, int threads,
                       bool markdown)
{
    double best = times->loops[0];
    for (int way = 1; way < WAYS; way++)
        best = times->loops[way] < best ? times->loops[way] : best;
    double ratio = best / times->kernel;
    if (markdown)
        printf("| %s | %d | %.1f | %.1f | %.1f | %.1f | %.2f |\n", chosen->name, threads,
               1e3 * times->kernel, 1e3 * times->loops[WAY_CACHED],
               1e3 * times->loops[WAY_STREAMING], 1e3 * times->loops[WAY_INTERLEAVED], ratio);
    else
        printf("%s by copying, %d threads | %.2f | %.2f | %s\n", chosen->name, threads, ratio,
               PROMISED, ratio >= PROMISED ? "yes" : "NO");
    fflush(stdout);
}

int main(int count, char **arguments)
{
    bool markdown = false;
    const char *plan = NULL;
    int first = 2, most = (int)sysconf(_SC_NPROCESSORS_ONLN), least = 1;
    for (; first < count && arguments[first][0] == '-'; first++) {
        if (strcmp(arguments[first], "--markdown") == 0)
            markdown = true;
        else if (strcmp(arguments[first], "--threads") == 0 && first + 1 < count)
            least = most = atoi(arguments[++first]);
        else if (strcmp(arguments[first], "--plan") == 0 && first + 1 < count)
            plan = arguments[++first];
    }
    if (count < 2 || least < 1) {
        fprintf(stderr, "usage: copy SMELT [--markdown] [--threads N] [--plan FILE] [NAME...]\n");
        return 2;
    }
    if (markdown)
        printf("| kernel | threads | ms | cached loop, ms | streaming | interleaved | ratio |\n"
               "|---|---|---|---|---|---|---|\n");
    struct arena arena = {0};
    char *scratch = memory_new(SCRATCH);
    loop_function *loops = NULL;
    threads_function *threads_set = NULL;
    if (!loops_make(&arena, &loops, &threads_set))
        return 3;
    for (int i = 0; i < CASE_COUNT; i++) {
        bool wanted = first >= count;
        for (int k = first; k < count; k++)
            wanted |= strcmp(arguments[k], CASES[i].name) == 0;
        if (!wanted)
            continue;
        kernel_function *kernel = kernel_of(&arena, arguments[1], plan, &CASES[i]);
        if (!kernel) {
            printf("%s | cannot be made | | NO\n", CASES[i].name);
            continue;
        }
        for (int threads = least; threads <= most; threads += most > least ? most - least : 1) {
            threads_set(threads);
            struct copy_times times = case_time(kernel, loops, &CASES[i], scratch);
            case_print(&CASES[i], &times, threads, markdown);
        }
    }
    arena_release(&arena);
    return 0;
}
