/*
 * CUDA by its driver, opened at run time: the first device. The default stream keeps launches in
 * order.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/library.h"
#include "os/sandbox.h"
#include "target/cuda/api.h"
#include "target/cuda/cublas.h"
#include "target/cuda/nvrtc.h"

enum { MAX_FUNCTIONS = 1024 };

struct cuda {
#define DECLARE(symbol, name, arguments) int(*name) arguments;
    CUDA_FUNCTIONS(DECLARE)
#undef DECLARE
    int device;
    cu_handle context, module, stream, started, ended;
    struct cublas *cublas; /* NULL: it was not asked for */
    cu_handle graph;       /* of what was recorded; NULL: nothing */
    int64_t shared_most;
    struct {
        char name[TARGET_NAME];
        cu_handle function;
        int64_t shared; /* asked for so far */
    } functions[MAX_FUNCTIONS];
    int function_count;
    struct target_handles memories;
};

static bool fail(const struct cuda *cuda, struct error *error, int status, const char *what)
{
    const char *words = NULL;
    if (cuda->error_string)
        cuda->error_string(status, &words);
    return error_set(error, ERROR_TOOL_FAILED, "%s: %s (CUDA status %d)", what,
                     words ? words : "the driver refused", status);
}

static bool check(const struct cuda *cuda, struct error *error, int status, const char *what)
{
    return status == CU_SUCCESS || fail(cuda, error, status, what);
}

/* ---- opening ---- */

static bool load_functions(struct cuda *cuda, struct error *error)
{
    struct library *library = library_open("libcuda.so.1", error);
    if (!library) {
        error_set(error, ERROR_MISSING_TOOL, "libcuda.so.1 cannot be opened");
        error_hint(error, "%s", target_cuda.install);
        return false;
    }
    bool good = true;
#define LOAD(symbol, name, arguments) \
    good = good && library_load(library, symbol, &cuda->name, error);
    CUDA_FUNCTIONS(LOAD)
#undef LOAD
    return good;
}

static void cuda_close(struct device *device)
{
    struct cuda *cuda = device->state;
    if (cuda && cuda->context)
        cuda->context_release(cuda->device);
    if (cuda)
        free(cuda->memories.at);
    free(cuda);
    device->state = NULL;
}

static bool start(struct cuda *cuda, struct error *error)
{
    int count = 0, status = cuda->init(0);
    if (status == CU_SUCCESS)
        status = cuda->device_count(&count);
    if (status != CU_SUCCESS || count == 0) {
        fail(cuda, error, status, "there is no CUDA device");
        error->code = ERROR_MISSING_TOOL;
        error_hint(error, "%s", target_cuda.install);
        return false;
    }
    int optional = 0;
    bool good =
        check(cuda, error, cuda->device_get(&cuda->device, 0), "no CUDA device") &&
        check(cuda, error, cuda->context_retain(&cuda->context, cuda->device), "no CUDA context") &&
        check(cuda, error, cuda->context_set(cuda->context), "no CUDA context") &&
        check(cuda, error, cuda->stream_create(&cuda->stream, 0), "no CUDA stream") &&
        check(cuda, error, cuda->event_create(&cuda->started, 0), "no CUDA event") &&
        check(cuda, error, cuda->event_create(&cuda->ended, 0), "no CUDA event");
    if (good &&
        cuda->device_attribute(&optional, CU_ATTRIBUTE_SHARED_OPTIN, cuda->device) == CU_SUCCESS)
        cuda->shared_most = optional;
    if (good) /* nothing stays in the cache from call to call because it was told to */
        cuda->context_limit(CU_LIMIT_PERSISTING_L2, 0);
    return good;
}

static bool cuda_open(struct device *device, struct error *error)
{
    struct cuda *cuda = calloc(1, sizeof *cuda);
    *device = (struct device){&target_cuda, cuda};
    if (!cuda)
        return error_set(error, ERROR_OUT_OF_MEMORY, "no memory for a device");
    if (load_functions(cuda, error) && start(cuda, error))
        return true;
    cuda_close(device);
    return false;
}

static int attribute(const struct cuda *cuda, int which)
{
    int value = 0;
    cuda->device_attribute(&value, which, cuda->device);
    return value;
}

/* From Hopper on the instructions of one generation alone are worth having: "a". */
static void print_architecture(const struct cuda *cuda, char *out, size_t size)
{
    int major = attribute(cuda, CU_ATTRIBUTE_MAJOR), minor = attribute(cuda, CU_ATTRIBUTE_MINOR);
    snprintf(out, size, "sm_%d%d%s", major, minor, major >= 9 ? "a" : "");
}

static void cuda_describe(struct device *device, struct target_facts *facts)
{
    const struct cuda *cuda = device->state;
    size_t memory = 0;
    int version = 0;
    cuda->device_memory(&memory, cuda->device);
    cuda->version(&version);
    *facts = (struct target_facts){.block_threads = attribute(cuda, CU_ATTRIBUTE_BLOCK_THREADS),
                                   .shared_bytes = cuda->shared_most,
                                   .memory_bytes = (int64_t)memory,
                                   .cache_bytes = attribute(cuda, CU_ATTRIBUTE_CACHE),
                                   .units = attribute(cuda, CU_ATTRIBUTE_MULTIPROCESSORS),
                                   .doubles = true,
                                   .gpu = true};
    cuda->device_name(facts->device, TARGET_NAME, cuda->device);
    snprintf(facts->version, sizeof facts->version, "CUDA %d.%d", version / 1000,
             version % 1000 / 10);
    print_architecture(cuda, facts->architecture, sizeof facts->architecture);
    nvrtc_describe(facts->compiler, sizeof facts->compiler);
}

/* ---- programs ---- */

static bool cuda_compile(struct arena *arena, struct device *device, const char *architecture,
                         const char *text, size_t length, struct target_build *build,
                         struct error *error)
{
    char own[32];
    if (!architecture && !device) {
        error_set(error, ERROR_MISSING_TOOL, "no architecture is named, and there is no device");
        error_hint(error, "name one in the manifest: // target cuda sm_90a");
        return false;
    }
    if (!architecture)
        print_architecture(device->state, own, sizeof own);
    return nvrtc_compile(arena, architecture ? architecture : own, text, length, build, error);
}

static bool cuda_load(struct device *device, const char *bytes, size_t length, struct error *error)
{
    struct cuda *cuda = device->state;
    (void)length;
    return check(cuda, error, cuda->module_load(&cuda->module, bytes),
                 "the kernel cannot be loaded");
}

/* Its number; -1: an error was set. */
static int find_function(struct cuda *cuda, const char *name, struct error *error)
{
    for (int i = 0; i < cuda->function_count; i++)
        if (strcmp(cuda->functions[i].name, name) == 0)
            return i;
    if (cuda->function_count == MAX_FUNCTIONS || strlen(name) >= TARGET_NAME) {
        error_set(error, ERROR_TOOL_FAILED, "a kernel of too many functions");
        return -1;
    }
    int next = cuda->function_count;
    int status = cuda->module_function(&cuda->functions[next].function, cuda->module, name);
    if (status != CU_SUCCESS) {
        fail(cuda, error, status, name);
        return -1;
    }
    snprintf(cuda->functions[next].name, TARGET_NAME, "%s", name);
    /* clusters of more than 8 blocks: a device that has none may refuse, and launches as ever */
    cuda->function_set(cuda->functions[next].function, CU_FUNCTION_LARGE_CLUSTERS, 1);
    return cuda->function_count++;
}

/* ---- memory ---- */

static bool cuda_allocate(struct device *device, size_t bytes, struct target_memory *memory,
                          struct error *error)
{
    struct cuda *cuda = device->state;
    cu_pointer pointer = 0;
    bool good = check(cuda, error, cuda->allocate(&pointer, bytes), "no memory on the device");
    memory->handle = (uintptr_t)pointer;
    return good && target_handles_add(&cuda->memories, memory->handle, error);
}

static bool cuda_view(struct device *device, struct target_memory whole, size_t offset,
                      size_t bytes, struct target_memory *view, struct error *error)
{
    (void)device, (void)bytes, (void)error;
    view->handle = whole.handle + offset;
    return true;
}

static bool cuda_write(struct device *device, struct target_memory memory, size_t offset,
                       const void *from, size_t bytes, struct error *error)
{
    struct cuda *cuda = device->state;
    return check(cuda, error, cuda->copy_up(memory.handle + offset, from, bytes),
                 "memory of the device cannot be written");
}

static bool cuda_read(struct device *device, struct target_memory memory, size_t offset, void *to,
                      size_t bytes, struct error *error)
{
    struct cuda *cuda = device->state;
    return check(cuda, error, cuda->copy_down(to, memory.handle + offset, bytes),
                 "memory of the device cannot be read");
}

static bool cuda_clear(struct device *device, struct target_memory memory, size_t bytes,
                       struct error *error)
{
    struct cuda *cuda = device->state;
    return check(cuda, error, cuda->clear(memory.handle, 0, bytes, cuda->stream),
                 "memory of the device cannot be cleared");
}

static bool cuda_copy(struct device *device, struct target_memory memory, size_t to, size_t from,
                      size_t bytes, struct error *error)
{
    struct cuda *cuda = device->state;
    return check(cuda, error,
                 cuda->copy_within(memory.handle + to, memory.handle + from, bytes, cuda->stream),
                 "memory of the device cannot be copied");
}

static bool cuda_set(struct device *device, struct target_memory memory, size_t offset,
                     unsigned char value, size_t bytes, struct error *error)
{
    struct cuda *cuda = device->state;
    return check(cuda, error, cuda->clear(memory.handle + offset, value, bytes, cuda->stream),
                 "memory of the device cannot be set");
}

/* ---- launching ---- */

/* Dynamic shared memory beyond 48 KB has to be asked for. */
static bool ask_shared(struct cuda *cuda, int number, int64_t bytes, struct error *error)
{
    if (bytes <= CU_MINIMUM_SHARED || bytes <= cuda->functions[number].shared)
        return true;
    cuda->functions[number].shared = bytes;
    return check(cuda, error,
                 cuda->function_set(cuda->functions[number].function, CU_FUNCTION_SHARED_DYNAMIC,
                                    bytes > INT_MAX ? INT_MAX : (int)bytes),
                 "so much shared memory cannot be had");
}

static bool cuda_launch(struct device *device, const struct target_launch *launch,
                        struct error *error)
{
    struct cuda *cuda = device->state;
    uint64_t values[TARGET_MAX_ARGUMENTS];
    void *pointers[TARGET_MAX_ARGUMENTS];
    int number = find_function(cuda, launch->function, error);
    if (number < 0 || !ask_shared(cuda, number, launch->shared, error))
        return false;
    for (int i = 0; i < launch->argument_count; i++) {
        const struct target_argument *argument = &launch->arguments[i];
        if (argument->kind == TARGET_POINTER)
            values[i] = argument->memory.handle;
        else if (argument->kind == TARGET_INTEGER)
            values[i] = (uint64_t)argument->integer;
        else
            memcpy(&values[i], &argument->real, sizeof values[i]);
        pointers[i] = &values[i];
    }
    const int64_t *grid = launch->grid, *block = launch->block;
    int status =
        cuda->launch(cuda->functions[number].function, (unsigned)grid[0], (unsigned)grid[1],
                     (unsigned)grid[2], (unsigned)block[0], (unsigned)block[1], (unsigned)block[2],
                     (unsigned)launch->shared, cuda->stream, pointers, NULL);
    return check(cuda, error, status, launch->function);
}

static bool cuda_products(struct device *device, struct error *error)
{
    struct cuda *cuda = device->state;
    cuda->cublas = cublas_open(cuda->stream, error);
    return cuda->cublas != NULL;
}

static bool cuda_product(struct device *device, const struct target_product *product,
                         struct error *error)
{
    struct cuda *cuda = device->state;
    return cublas_product(cuda->cublas, product, error);
}

/* ---- graphs ---- */

static bool cuda_record(struct device *device, struct error *error)
{
    struct cuda *cuda = device->state;
    return check(cuda, error, cuda->capture_begin(cuda->stream, CU_CAPTURE_RELAXED),
                 "launches cannot be recorded");
}

static bool cuda_recorded(struct device *device, struct error *error)
{
    struct cuda *cuda = device->state;
    cu_handle graph = NULL;
    if (cuda->graph)
        cuda->graph_end(cuda->graph);
    cuda->graph = NULL;
    bool good =
        check(cuda, error, cuda->capture_end(cuda->stream, &graph),
              "launches cannot be recorded") &&
        check(cuda, error, cuda->graph_make(&cuda->graph, graph, 0), "no CUDA graph") &&
        check(cuda, error, cuda->graph_upload(cuda->graph, cuda->stream), "no CUDA graph") &&
        check(cuda, error, cuda->synchronize(), "no CUDA graph");
    if (graph)
        cuda->graph_destroy(graph);
    return good;
}

static bool cuda_replay(struct device *device, struct error *error)
{
    struct cuda *cuda = device->state;
    return check(cuda, error, cuda->graph_launch(cuda->graph, cuda->stream),
                 "recorded launches cannot be launched");
}

static bool cuda_renew(struct device *device, struct error *error)
{
    struct cuda *cuda = device->state;
    int status = cuda->synchronize();
    if (cuda->graph && status == CU_SUCCESS)
        status = cuda->graph_end(cuda->graph);
    while (cuda->memories.count > 0 && status == CU_SUCCESS)
        status = cuda->release(cuda->memories.at[--cuda->memories.count]);
    if (cuda->module && status == CU_SUCCESS)
        status = cuda->module_unload(cuda->module);
    cuda->graph = cuda->module = NULL;
    memset(cuda->functions, 0, sizeof *cuda->functions * (size_t)cuda->function_count);
    cuda->function_count = 0;
    return check(cuda, error, status, "memory of the device cannot be given back");
}

static bool cuda_begin(struct device *device, struct error *error)
{
    struct cuda *cuda = device->state;
    cuda->context_reset_cache();
    return check(cuda, error, cuda->event_record(cuda->started, cuda->stream),
                 "the clock cannot be read");
}

static bool cuda_finish(struct device *device, double *seconds, struct error *error)
{
    struct cuda *cuda = device->state;
    float milliseconds = 0;
    *seconds = -1;
    int recorded = cuda->event_record(cuda->ended, cuda->stream);
    if (!check(cuda, error, cuda->synchronize(), "the kernel failed"))
        return false;
    if (recorded == CU_SUCCESS &&
        cuda->event_elapsed(&milliseconds, cuda->started, cuda->ended) == CU_SUCCESS)
        *seconds = 1e-3 * (double)milliseconds;
    return true;
}

static const char *const readable[] = {"/proc",       "/sys", "/dev/urandom",
                                       "/etc/nvidia", "/opt", NULL};
/* It gives its threads names by way of /proc/self, under the numbers they have in our namespace. */
static const char *const writable[] = {"/proc/self",       "/dev/nvidiactl",
                                       "/dev/nvidia0",     "/dev/nvidia1",
                                       "/dev/nvidia2",     "/dev/nvidia3",
                                       "/dev/nvidia4",     "/dev/nvidia5",
                                       "/dev/nvidia6",     "/dev/nvidia7",
                                       "/dev/nvidia-uvm",  "/dev/nvidia-uvm-tools",
                                       "/dev/nvidia-caps", NULL};

const struct target target_cuda = {
    .name = "cuda",
    .title = "CUDA",
    .source = "kernel.cu",
    .object = "kernel.cubin",
    .install =
        "install the NVIDIA driver (package nvidia-driver) on a machine with a GPU of theirs",
    .readable = readable,
    .writable = writable,
    .sanitizer = "compute-sanitizer",
    .without = SANDBOX_PID,
    .open = cuda_open,
    .close = cuda_close,
    .renew = cuda_renew,
    .describe = cuda_describe,
    .compile = cuda_compile,
    .load = cuda_load,
    .allocate = cuda_allocate,
    .view = cuda_view,
    .write = cuda_write,
    .read = cuda_read,
    .clear = cuda_clear,
    .copy = cuda_copy,
    .set = cuda_set,
    .launch = cuda_launch,
    .products = cuda_products,
    .product = cuda_product,
    .record = cuda_record,
    .recorded = cuda_recorded,
    .replay = cuda_replay,
    .sure_clock = true,
    .begin = cuda_begin,
    .finish = cuda_finish,
};
