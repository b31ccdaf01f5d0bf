/*
 * A null target: the smallest one that works. Its device is plain memory, its only function adds a
 * number to every element. It shows what a target has to do, and that the table asks for no more.
 */
#include <stdlib.h>
#include <string.h>

#include "target/target.h"
#include "test.h"

static struct arena arena;

static const struct target target_null;

static bool null_open(struct device *device, struct error *error)
{
    (void)error;
    *device = (struct device){.target = &target_null};
    return true;
}

static void null_close(struct device *device)
{
    device->state = NULL;
}

static void null_describe(struct device *device, struct target_facts *facts)
{
    (void)device;
    *facts = (struct target_facts){.device = "null", .block_threads = 1, .doubles = true};
}

/* Its language has one word. */
static bool null_compile(struct arena *memory, struct device *device, const char *architecture,
                         const char *text, size_t length, struct target_build *build,
                         struct error *error)
{
    (void)device, (void)architecture, (void)error;
    *build = (struct target_build){.log = text_new(memory)};
    build->done = length == 3 && memcmp(text, "add", 3) == 0;
    if (!build->done)
        text_add(&build->log, "kernel.null:1: error: expected 'add'\n");
    return true;
}

static bool null_load(struct device *device, const char *bytes, size_t length, struct error *error)
{
    (void)device, (void)bytes, (void)length, (void)error;
    return true;
}

static bool null_allocate(struct device *device, size_t bytes, struct target_memory *memory,
                          struct error *error)
{
    (void)device, (void)error;
    memory->handle = (uintptr_t)arena_alloc(&arena, bytes);
    return true;
}

static bool null_view(struct device *device, struct target_memory whole, size_t offset,
                      size_t bytes, struct target_memory *view, struct error *error)
{
    (void)device, (void)bytes, (void)error;
    view->handle = whole.handle + offset;
    return true;
}

static bool null_write(struct device *device, struct target_memory memory, size_t offset,
                       const void *from, size_t bytes, struct error *error)
{
    (void)device, (void)error;
    memcpy((char *)memory.handle + offset, from, bytes);
    return true;
}

static bool null_read(struct device *device, struct target_memory memory, size_t offset, void *to,
                      size_t bytes, struct error *error)
{
    (void)device, (void)error;
    memcpy(to, (const char *)memory.handle + offset, bytes);
    return true;
}

static bool null_clear(struct device *device, struct target_memory memory, size_t bytes,
                       struct error *error)
{
    (void)device, (void)error;
    memset((char *)memory.handle, 0, bytes);
    return true;
}

static bool null_copy(struct device *device, struct target_memory memory, size_t to, size_t from,
                      size_t bytes, struct error *error)
{
    (void)device, (void)error;
    memcpy((char *)memory.handle + to, (const char *)memory.handle + from, bytes);
    return true;
}

static bool null_set(struct device *device, struct target_memory memory, size_t offset,
                     unsigned char value, size_t bytes, struct error *error)
{
    (void)device, (void)error;
    memset((char *)memory.handle + offset, value, bytes);
    return true;
}

static bool null_launch(struct device *device, const struct target_launch *launch,
                        struct error *error)
{
    (void)device;
    if (strcmp(launch->function, "add") != 0 || launch->argument_count != 2)
        return error_set(error, ERROR_TOOL_FAILED, "there is no function '%s'", launch->function);
    int64_t *values = (int64_t *)launch->arguments[0].memory.handle;
    for (int64_t i = 0; i < launch->grid[0] * launch->block[0]; i++)
        values[i] += launch->arguments[1].integer;
    return true;
}

static bool null_begin(struct device *device, struct error *error)
{
    (void)device, (void)error;
    return true;
}

static bool null_finish(struct device *device, double *seconds, struct error *error)
{
    (void)device, (void)error;
    *seconds = -1; /* it has no clock */
    return true;
}

static const struct target target_null = {
    .name = "null",
    .title = "null",
    .source = "kernel.null",
    .object = "kernel.null",
    .install = "",
    .open = null_open,
    .close = null_close,
    .describe = null_describe,
    .compile = null_compile,
    .load = null_load,
    .allocate = null_allocate,
    .view = null_view,
    .write = null_write,
    .read = null_read,
    .clear = null_clear,
    .copy = null_copy,
    .set = null_set,
    .launch = null_launch,
    .begin = null_begin,
    .finish = null_finish,
};

/* What every target does, given a kernel that adds `by` to 64 integers by a function `add`. */
static void try_target(const struct target *target, const char *wrong, const char *text)
{
    enum { COUNT = 64, BY = 5 };
    struct device device;
    struct error error = {0};
    struct target_build build;
    struct target_memory memory, view;
    int64_t values[2 * COUNT];
    double seconds;
    if (!target->open(&device, &error)) {
        CHECK_INT(error.code, ERROR_MISSING_TOOL);
        CHECK(error.hint[0] != 0);
        return;
    }
    CHECK(target->compile(&arena, &device, NULL, wrong, strlen(wrong), &build, &error));
    CHECK(!build.done && build.log.length > 0);
    CHECK(target->compile(&arena, &device, NULL, text, strlen(text), &build, &error));
    CHECK(build.done);
    CHECK(target->load(&device, build.binary ? build.binary : text,
                       build.binary ? build.binary_bytes : strlen(text), &error));
    CHECK(target->allocate(&device, sizeof values, &memory, &error));
    CHECK(target->view(&device, memory, TARGET_ALIGNMENT, COUNT * 8, &view, &error));
    for (int i = 0; i < 2 * COUNT; i++)
        values[i] = i;
    CHECK(target->write(&device, memory, 0, values, sizeof values, &error));
    struct target_argument arguments[] = {{.kind = TARGET_POINTER, .memory = view},
                                          {.kind = TARGET_INTEGER, .integer = BY}};
    struct target_launch launch = {.function = "add",
                                   .grid = {COUNT / 16, 1, 1},
                                   .block = {16, 1, 1},
                                   .arguments = arguments,
                                   .argument_count = 2};
    CHECK(target->begin(&device, &error));
    CHECK(target->launch(&device, &launch, &error));
    CHECK(target->launch(&device, &launch, &error));
    CHECK(target->finish(&device, &seconds, &error));
    memset(values, 0, sizeof values);
    CHECK(target->read(&device, memory, 0, values, sizeof values, &error));
    for (int i = 0; i < 2 * COUNT; i++)
        CHECK_INT(values[i], i < COUNT ? i : i + 2 * BY);
    CHECK(target->clear(&device, view, COUNT * 8, &error));
    CHECK(target->finish(&device, &seconds, &error));
    CHECK(target->read(&device, view, 0, values, COUNT * 8, &error));
    CHECK_INT(values[COUNT - 1], 0);
    CHECK(target->set(&device, memory, 8, 1, 8, &error));
    CHECK(target->copy(&device, memory, 16, 0, 16, &error));
    CHECK(target->read(&device, memory, 0, values, 32, &error));
    CHECK_INT(values[2], 0);
    CHECK_INT(values[3], 0x0101010101010101);
    launch.function = "subtract";
    CHECK(!target->launch(&device, &launch, &error));
    CHECK(error.message[0] != 0);
    target->close(&device);
}

TEST(target_null_does_what_a_target_does)
{
    try_target(&target_null, "subtract", "add");
}

TEST(target_opencl_does_what_a_target_does_or_says_what_is_missing)
{
    try_target(&target_opencl, "__kernel void add(",
               "__kernel void add(__global long *values, long by)"
               "{ values[get_global_id(0)] += by; }");
}

TEST(target_cuda_does_what_a_target_does_or_says_what_is_missing)
{
    try_target(&target_cuda, "extern \"C\" __global__ void add(",
               "extern \"C\" __global__ void add(long long *values, long long by)"
               "{ values[blockIdx.x * blockDim.x + threadIdx.x] += by; }");
}

TEST(targets_are_found_by_name)
{
    CHECK(target_find("cpu") == &target_cpu && !target_cpu.open);
    CHECK(target_find("opencl") == &target_opencl);
    CHECK(target_find("cuda") == &target_cuda);
    CHECK(target_find("metal") == NULL);
}

/* NVRTC compiles for an architecture without a GPU, and says what functions take. */
TEST(target_cuda_compiles_for_an_architecture)
{
    static const char text[] = "extern \"C\" __global__ void add(float *x, long long n)"
                               "{ __shared__ float kept[256]; kept[threadIdx.x] = x[n];"
                               "  __syncthreads(); x[threadIdx.x] = kept[255 - threadIdx.x]; }";
    struct target_build build;
    struct error error = {0};
    if (!target_cuda.compile(&arena, NULL, "sm_90a", text, sizeof text - 1, &build, &error)) {
        CHECK_INT(error.code, ERROR_MISSING_TOOL);
        CHECK(error.hint[0] != 0);
        return;
    }
    CHECK(build.done && build.binary_bytes > 0);
    CHECK(memcmp(build.binary, "\177ELF", 4) == 0);
    CHECK_INT(build.function_count, 1);
    CHECK_STR(build.functions[0].name, "add");
    CHECK(build.functions[0].registers > 0);
    CHECK_INT(build.functions[0].shared_bytes, 1024);
    CHECK_INT(build.functions[0].spill_bytes, 0);
}
