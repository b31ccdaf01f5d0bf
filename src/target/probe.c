/*
 * How fast a device is: kernels of our own that do one thing each, timed by the device's clock, the
 * best of several. What is computed is used, so that no compiler leaves it out; who cannot compile
 * one of them (a type the device lacks) has no such rate.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/runner.h"

enum {
    BLOCK = 256,
    UNIT_BLOCKS = 8,
    TRIES = 7,
    LAUNCHES = 500,
    MOST_BYTES = 1 << 30,
    APART_WORDS = 64, /* of dependent loads */
};

/* ---- the kernels ---- */

static const char opencl_words[] = "#ifdef cl_khr_fp64\n"
                                   "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
                                   "#endif\n"
                                   "#define KERNEL __kernel void\n"
                                   "#define GLOBAL __global\n"
                                   "#define SHARED __local\n"
                                   "#define SYNC barrier(CLK_LOCAL_MEM_FENCE)\n"
                                   "#define FIRST ((long)get_global_id(0))\n"
                                   "#define ALL ((long)get_global_size(0))\n"
                                   "#define LOCAL ((long)get_local_id(0))\n"
                                   "#define FOUR(x) ((float4)(x, x, x, x))\n"
                                   "#define WIDE(type) type##8\n"
                                   "#define ONE(value) (value).s0\n"
                                   "typedef long number;\n";

static const char cuda_words[] =
    "#define KERNEL extern \"C\" __global__ void __launch_bounds__(256)\n"
    "#define GLOBAL\n"
    "#define SHARED __shared__\n"
    "#define SYNC __syncthreads()\n"
    "#define FIRST ((long long)blockIdx.x * blockDim.x + threadIdx.x)\n"
    "#define ALL ((long long)gridDim.x * blockDim.x)\n"
    "#define LOCAL ((long long)threadIdx.x)\n"
    "#define FOUR(value) make_float4(value, value, value, value)\n"
    "#define WIDE(type) type\n"
    "#define ONE(value) (value)\n"
    "typedef long long number;\n";

/* n is a power of two, in float4, of which each thread has four; rounds begin elsewhere, so that no
 * nearer cache serves. Values are as wide as the language has them: OpenCL on a processor needs
 * that. */
static const char common[] =
    "KERNEL nothing(GLOBAL float *x) { if (FIRST < 0) x[0] = 1; }\n"
    "KERNEL read(GLOBAL const float4 *x, GLOBAL float *y, number n, number rounds)\n"
    "{\n"
    "    float sum = 0;\n"
    "    for (number r = 0; r < rounds; r++)\n"
    "        for (number i = FIRST; i < n; i += 4 * ALL) {\n"
    "            number at = i + r * (n / 8 + 2048);\n"
    "            float4 a = x[at & (n - 1)], b = x[(at + ALL) & (n - 1)];\n"
    "            float4 c = x[(at + 2 * ALL) & (n - 1)], d = x[(at + 3 * ALL) & (n - 1)];\n"
    "            sum += a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;\n"
    "            sum += c.x + c.y + c.z + c.w + d.x + d.y + d.z + d.w;\n"
    "        }\n"
    "    if (sum == 12345.678f) y[0] = sum;\n"
    "}\n"
    "KERNEL fill(GLOBAL float4 *x, number n, number rounds)\n"
    "{\n"
    "    for (number r = 0; r < rounds; r++)\n"
    "        for (number i = FIRST; i < n; i += ALL) x[i] = FOUR((float)r);\n"
    "}\n"
    "KERNEL copy(GLOBAL const float4 *x, GLOBAL float4 *y, number n, number rounds)\n"
    "{\n"
    "    for (number r = 0; r < rounds; r++)\n"
    "        for (number i = FIRST; i < n; i += ALL) y[i] = x[i];\n"
    "}\n"
    "KERNEL shared_read(GLOBAL float *y, number rounds)\n"
    "{\n"
    "    SHARED float4 kept[256];\n"
    "    float4 sum = FOUR(0.0f);\n"
    "    kept[LOCAL] = FOUR((float)LOCAL);\n"
    "    SYNC;\n"
    "    for (number r = 0; r < rounds; r++) {\n"
    "        float4 a = kept[(LOCAL + r) & 255], b = kept[(LOCAL + 3 * r + 32) & 255];\n"
    "        sum.x += a.x + b.x; sum.y += a.y + b.y; sum.z += a.z + b.z; sum.w += a.w + b.w;\n"
    "    }\n"
    "    if (sum.x + sum.y + sum.z + sum.w == 12345.678f) y[0] = sum.x;\n"
    "}\n"
    "KERNEL chase(GLOBAL const int *x, GLOBAL float *y, number start, number rounds)\n"
    "{\n"
    "    int at = (int)start;\n"
    "    if (FIRST == 0) {\n"
    "        for (number r = 0; r < rounds; r++) at = x[at];\n"
    "        if (at < 0) y[0] = at;\n"
    "    }\n"
    "}\n"
    "#define ARITHMETIC(name, type) \\\n"
    "KERNEL name(GLOBAL float *y, number rounds) \\\n"
    "{ \\\n"
    "    WIDE(type) a[16], b = (WIDE(type))((type)1.0001), c = (WIDE(type))((type)(FIRST & 7)); "
    "\\\n"
    "    for (int i = 0; i < 16; i++) a[i] = (WIDE(type))((type)(i + FIRST % 3)); \\\n"
    "    for (number r = 0; r < rounds; r++) \\\n"
    "        _Pragma(\"unroll\") for (int i = 0; i < 16; i++) a[i] = a[i] * b + c; \\\n"
    "    WIDE(type) sum = a[0]; \\\n"
    "    for (int i = 1; i < 16; i++) sum += a[i]; \\\n"
    "    if (ONE(sum) == (type)12345.678) y[0] = (float)ONE(sum); \\\n"
    "}\n"
    "ARITHMETIC(f32, float)\n";

static const char doubles[] = "ARITHMETIC(f64, double)\n";

/* Two at a time, as CUDA has them; without headers only by their instructions. */
#define PACKED(name, instruction)                                                              \
    "KERNEL " name "(GLOBAL float *y, number rounds)\n"                                        \
    "{\n"                                                                                      \
    "    unsigned a[16], b = 0x3c003c00u, c = (unsigned)FIRST & 0x00010001u;\n"                \
    "    for (int i = 0; i < 16; i++) a[i] = (unsigned)(i + FIRST);\n"                         \
    "    for (number r = 0; r < rounds; r++)\n"                                                \
    "        _Pragma(\"unroll\") for (int i = 0; i < 16; i++)\n"                               \
    "            asm volatile(\"" instruction " %0, %0, %1, %2;\" : \"+r\"(a[i]) : \"r\"(b), " \
    "\"r\"(c));\n"                                                                             \
    "    unsigned sum = 0;\n"                                                                  \
    "    for (int i = 0; i < 16; i++) sum += a[i];\n"                                          \
    "    if (sum == 12345678u) y[0] = (float)sum;\n"                                           \
    "}\n"

static const char halves[] = PACKED("f16", "fma.rn.f16x2");
static const char brains[] = PACKED("bf16", "fma.rn.bf16x2");

/* ---- running ---- */

struct probe {
    struct arena *arena;
    struct device device;
    struct target_facts facts;
    double enough; /* seconds one measurement takes at least */
    int64_t turn;  /* how many chains of loads there were */
    struct target_memory x, y;
    size_t bytes; /* of each, a power of two */
    struct error *error;
};

static bool compile(struct probe *probe, const char *own)
{
    const struct target *target = probe->device.target;
    bool cuda = strcmp(target->name, "cuda") == 0;
    struct text source = text_new(probe->arena);
    struct target_build build;
    text_printf(&source, "%s%s%s", cuda ? cuda_words : opencl_words, common, own);
    if (!target->compile(probe->arena, &probe->device, NULL, source.at, source.length, &build,
                         probe->error))
        return false;
    if (!build.done)
        return error_set(probe->error, ERROR_TOOL_FAILED, "%.200s", build.log.at);
    return target->load(&probe->device, build.binary ? build.binary : source.at,
                        build.binary ? build.binary_bytes : source.length, probe->error);
}

struct work {
    const char *function;
    struct target_argument arguments[4];
    int count;
    int64_t threads; /* 0: as many as keep every unit busy */
    bool again;      /* a round is a launch: none finds in a cache what another left there */
    bool moves;      /* the argument before the last says where to begin: elsewhere each time */
};

static bool launch(struct probe *probe, const struct work *work)
{
    int64_t units = probe->facts.units > 0 ? probe->facts.units : 1;
    int64_t block = work->threads && work->threads < BLOCK ? work->threads : BLOCK;
    struct target_launch launch = {
        .function = work->function,
        .grid = {work->threads ? work->threads / block : units * UNIT_BLOCKS, 1, 1},
        .block = {block, 1, 1},
        .arguments = work->arguments,
        .argument_count = work->count};
    return probe->device.target->launch(&probe->device, &launch, probe->error);
}

static double time_once(struct probe *probe, const struct work *work)
{
    const struct target *target = probe->device.target;
    struct work once = *work;
    struct target_argument *rounds = &once.arguments[once.count - 1];
    int64_t launches = once.again ? rounds->integer : 1;
    double seconds = -1;
    if (once.again)
        rounds->integer = 1;
    if (once.moves)
        rounds[-1].integer = probe->turn++ * 104729 % rounds[-1].integer * APART_WORDS;
    bool good = target->begin(&probe->device, probe->error);
    for (int64_t i = 0; good && i < launches; i++)
        good = launch(probe, &once);
    return good && target->finish(&probe->device, &seconds, probe->error) ? seconds : -1;
}

/* Seconds of one round at best. The last argument is how many there are; -1: it failed. */
static double time_rounds(struct probe *probe, struct work *work)
{
    struct target_argument *rounds = &work->arguments[work->count - 1];
    double best = -1;
    for (rounds->integer = 1; rounds->integer < (int64_t)1 << 40; rounds->integer *= 2) {
        double seconds = time_once(probe, work);
        if (seconds < 0)
            return -1;
        if (seconds >= probe->enough)
            break;
    }
    for (int i = 0; i < TRIES; i++) {
        double seconds = time_once(probe, work);
        if (seconds < 0)
            return -1;
        if (seconds > 0 && (best < 0 || seconds < best))
            best = seconds;
    }
    return best / (double)rounds->integer;
}

static struct target_argument pointer(struct target_memory memory)
{
    return (struct target_argument){.kind = TARGET_POINTER, .memory = memory};
}

static struct target_argument integer(int64_t value)
{
    return (struct target_argument){.kind = TARGET_INTEGER, .integer = value};
}

static void say_rate(const char *what, double value)
{
    if (value > 0)
        dprintf(1, "%s %.6g\n", what, value);
}

/* ---- what is measured ---- */

static void measure_level(struct probe *probe, const char *level, size_t bytes, bool again)
{
    char name[80];
    int64_t count = (int64_t)(bytes / 16);
    struct work reading = {
        .function = "read",
        .arguments = {pointer(probe->x), pointer(probe->y), integer(count), integer(1)},
        .count = 4,
        .threads = count / 4,
        .again = again};
    struct work filling = {.function = "fill",
                           .arguments = {pointer(probe->x), integer(count), integer(1)},
                           .count = 3,
                           .threads = count / 4,
                           .again = again};
    struct work copying = {
        .function = "copy",
        .arguments = {pointer(probe->x), pointer(probe->y), integer(count / 2), integer(1)},
        .count = 4,
        .threads = count / 8,
        .again = again};
    snprintf(name, sizeof name, "bandwidth one %s read", level);
    say_rate(name, (double)bytes / time_rounds(probe, &reading));
    snprintf(name, sizeof name, "bandwidth one %s write", level);
    say_rate(name, (double)bytes / time_rounds(probe, &filling));
    snprintf(name, sizeof name, "bandwidth one %s copy", level);
    say_rate(name, (double)bytes / time_rounds(probe, &copying));
}

static double threads_of(const struct probe *probe)
{
    return (double)(probe->facts.units > 0 ? probe->facts.units : 1) * UNIT_BLOCKS * BLOCK;
}

static void measure_shared(struct probe *probe)
{
    struct work work = {
        .function = "shared_read", .arguments = {pointer(probe->y), integer(1)}, .count = 2};
    say_rate("bandwidth one L1 read", threads_of(probe) * 32 / time_rounds(probe, &work));
}

static void measure_arithmetic(struct probe *probe, const char *type, int packed)
{
    char name[80];
    struct work work = {.function = type, .arguments = {pointer(probe->y), integer(1)}, .count = 2};
    snprintf(name, sizeof name, "compute one device %s", type);
    say_rate(name, threads_of(probe) * 16 * 2 * packed / time_rounds(probe, &work));
}

/* Loads of which each says where the next is, far apart. */
static bool measure_latency(struct probe *probe, const char *level, size_t bytes)
{
    enum { APART = APART_WORDS * sizeof(int) };
    char name[80];
    int count = (int)(bytes / APART);
    int *links = calloc(bytes / sizeof(int), sizeof(int));
    if (!links)
        return error_set(probe->error, ERROR_OUT_OF_MEMORY, "no memory for a chain of loads");
    for (int i = 0; i < count; i++) /* count is a power of two: every place once */
        links[(int64_t)i * APART_WORDS] = (int)(((int64_t)i * 5 + 12345) % count) * APART_WORDS;
    bool good =
        probe->device.target->write(&probe->device, probe->x, 0, links, bytes, probe->error);
    struct work work = {
        .function = "chase",
        .arguments = {pointer(probe->x), pointer(probe->y), integer(count), integer(1)},
        .count = 4,
        .moves = true,
        .threads = 1};
    snprintf(name, sizeof name, "latency %s", level);
    if (good)
        say_rate(name, time_rounds(probe, &work));
    free(links);
    return good;
}

/* Seconds from one launch to the next, recorded where that can be, as the judge does. */
static bool measure_launch(struct probe *probe)
{
    const struct target *target = probe->device.target;
    struct work work = {.function = "nothing", .arguments = {pointer(probe->y)}, .count = 1};
    double best = -1, seconds;
    bool records = target->record != NULL, good = launch(probe, &work);
    if (good && records) {
        good = target->record(&probe->device, probe->error);
        for (int i = 0; good && i < LAUNCHES; i++)
            good = launch(probe, &work);
        good = target->recorded(&probe->device, probe->error) && good;
    }
    for (int try = 0; good && try < TRIES; try++) {
        good = target->begin(&probe->device, probe->error);
        for (int i = 0; good && !records && i < LAUNCHES; i++)
            good = launch(probe, &work);
        good = good && (!records || target->replay(&probe->device, probe->error)) &&
               target->finish(&probe->device, &seconds, probe->error);
        if (good && seconds > 0 && (best < 0 || seconds < best))
            best = seconds;
    }
    if (good)
        say_rate("call", best / LAUNCHES);
    return good;
}

/* The largest power of two that is no more. */
static size_t power_below(int64_t bytes)
{
    size_t power = 1 << 20;
    while (power < MOST_BYTES && (int64_t)(power * 2) <= bytes)
        power *= 2;
    return power;
}

static bool measure_all(struct probe *probe)
{
    const struct target *target = probe->device.target;
    int wide = strcmp(target->name, "opencl") == 0 ? 8 : 1;
    struct error ignored = {0};
    target->describe(&probe->device, &probe->facts);
    int64_t cache = probe->facts.cache_bytes > 0 ? probe->facts.cache_bytes : 4 << 20;
    int64_t wanted = 16 * cache > (64 << 20) ? 16 * cache : 64 << 20;
    int64_t room = probe->facts.memory_bytes / 8;
    probe->bytes = power_below(room > 0 && room < wanted ? room : wanted);
    if (!target->allocate(&probe->device, probe->bytes, &probe->x, probe->error) ||
        !target->allocate(&probe->device, probe->bytes, &probe->y, probe->error) ||
        !target->clear(&probe->device, probe->x, probe->bytes, probe->error) ||
        !target->clear(&probe->device, probe->y, probe->bytes, probe->error) || !compile(probe, ""))
        return false;
    measure_level(probe, "memory", probe->bytes, true);
    measure_level(probe, "L2", power_below(cache / 2), false);
    measure_shared(probe);
    measure_arithmetic(probe, "f32", wide);
    if (!measure_latency(probe, "memory", probe->bytes) ||
        !measure_latency(probe, "L2", power_below(cache / 2)) || !measure_launch(probe))
        return false;
    struct error *kept = probe->error;
    probe->error = &ignored; /* what a device lacks is not measured */
    if (probe->facts.doubles && compile(probe, doubles))
        measure_arithmetic(probe, "f64", wide);
    if (strcmp(target->name, "cuda") == 0 && compile(probe, halves))
        measure_arithmetic(probe, "f16", 2);
    if (strcmp(target->name, "cuda") == 0 && compile(probe, brains))
        measure_arithmetic(probe, "bf16", 2);
    probe->error = kept;
    return true;
}

bool probe_run(struct arena *arena, const struct target *target, bool quick, struct error *error)
{
    struct probe probe = {.arena = arena, .enough = quick ? 0.001 : 0.01, .error = error};
    if (!target->open(&probe.device, error))
        return false;
    bool good = measure_all(&probe);
    target->close(&probe.device);
    return good;
}
