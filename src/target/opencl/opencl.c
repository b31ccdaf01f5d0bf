/*
 * OpenCL 1.2 and later, through the ICD loader: the first device of the first platform that has
 * any.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/library.h"
#include "target/opencl/api.h"
#include "target/target.h"

enum { MAX_PLATFORMS = 16, MAX_KERNELS = 256 };

static const char OPTIONS[] = "-cl-std=CL1.2";

struct opencl {
    struct library *library;
#define DECLARE(name, result, arguments) result(*name) arguments;
    OPENCL_FUNCTIONS(DECLARE)
#undef DECLARE
    cl_handle device, context, queue;
    cl_handle program; /* the one built last, and its text: it stays until another is asked for */
    char *text;
    size_t text_length;
    struct {
        char name[TARGET_NAME];
        cl_handle kernel;
    } kernels[MAX_KERNELS];
    int kernel_count;
    cl_handle first, last;         /* events of the launches since begin */
    struct target_handles buffers; /* in the order they were made: parts after their wholes */
    uint64_t zero;
};

/* ---- words ---- */

static const char *status_name(int status)
{
    static const struct {
        int status;
        const char *name;
    } names[] = {
        {-4, "no memory for an object"},
        {-5, "out of resources"},
        {-6, "out of host memory"},
        {-11, "the program does not build"},
        {-45, "the program was not built"},
        {-46, "there is no function of this name"},
        {-48, "the kernel is invalid"},
        {-49, "a function has fewer arguments than the launch gives"},
        {-50, "an argument is of another kind than the function says"},
        {-51, "an argument is of another size than the function says"},
        {-52, "a function has more arguments than the launch gives"},
        {-53, "too many dimensions"},
        {-54, "the device cannot run blocks of this size"},
        {-55, "the device cannot run blocks of this shape"},
        {-61, "a buffer of this size is not possible"},
        {-63, "the grid is not possible"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].status == status)
            return names[i].name;
    return "the driver refused";
}

static bool fail(struct error *error, int status, const char *what)
{
    return error_set(error, ERROR_TOOL_FAILED, "%s: %s (OpenCL status %d)", what,
                     status_name(status), status);
}

static bool check(struct error *error, int status, const char *what)
{
    return status == CL_SUCCESS || fail(error, status, what);
}

/* ---- opening ---- */

static bool load_functions(struct opencl *cl, struct error *error)
{
    bool good = true;
#define LOAD(name, result, arguments) \
    good = good && library_load(cl->library, "cl" #name, &cl->name, error);
    OPENCL_FUNCTIONS(LOAD)
#undef LOAD
    return good;
}

static bool find_device(struct opencl *cl, struct error *error)
{
    cl_handle platforms[MAX_PLATFORMS];
    uint32_t count = 0, devices = 0;
    if (cl->GetPlatformIDs(MAX_PLATFORMS, platforms, &count) != CL_SUCCESS)
        count = 0;
    for (uint32_t i = 0; i < count && i < MAX_PLATFORMS; i++)
        if (cl->GetDeviceIDs(platforms[i], 0xFFFFFFFFu, 1, &cl->device, &devices) == CL_SUCCESS &&
            devices > 0)
            return true;
    error_set(error, ERROR_MISSING_TOOL,
              count ? "no OpenCL platform has a device" : "there is no OpenCL platform");
    error_hint(error, "%s, or the driver of your device", target_opencl.install);
    return false;
}

static void opencl_close(struct device *device)
{
    struct opencl *cl = device->state;
    if (!cl)
        return;
    if (cl->queue)
        cl->ReleaseCommandQueue(cl->queue);
    if (cl->program)
        cl->ReleaseProgram(cl->program);
    if (cl->context)
        cl->ReleaseContext(cl->context);
    free(cl->text);
    /* the library stays: drivers leave threads behind that run in it */
    free(cl->buffers.at);
    free(cl);
    device->state = NULL;
}

static bool opencl_open(struct device *device, struct error *error)
{
    struct opencl *cl = calloc(1, sizeof *cl);
    int32_t status = CL_SUCCESS;
    *device = (struct device){&target_opencl, cl};
    if (!cl)
        return error_set(error, ERROR_OUT_OF_MEMORY, "no memory for a device");
    cl->library = library_open("libOpenCL.so.1", error);
    if (!cl->library) {
        error_set(error, ERROR_MISSING_TOOL, "libOpenCL.so.1 cannot be opened");
        error_hint(error, "%s", target_opencl.install);
    }
    bool good = cl->library && load_functions(cl, error) && find_device(cl, error);
    if (good)
        cl->context = cl->CreateContext(NULL, 1, &cl->device, NULL, NULL, &status);
    if (good && cl->context)
        cl->queue =
            cl->CreateCommandQueue(cl->context, cl->device, CL_QUEUE_PROFILING_ENABLE, &status);
    if (good && !cl->queue)
        good = fail(error, status, "the OpenCL device cannot be used");
    if (!good)
        opencl_close(device);
    return good;
}

static int64_t ask_number(const struct opencl *cl, uint32_t what, size_t bytes)
{
    uint64_t value = 0;
    return cl->GetDeviceInfo(cl->device, what, bytes, &value, NULL) == CL_SUCCESS ? (int64_t)value
                                                                                  : 0;
}

static void opencl_describe(struct device *device, struct target_facts *facts)
{
    const struct opencl *cl = device->state;
    *facts = (struct target_facts){
        .block_threads = ask_number(cl, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t)),
        .shared_bytes = ask_number(cl, CL_DEVICE_LOCAL_MEM_SIZE, 8),
        .memory_bytes = ask_number(cl, CL_DEVICE_GLOBAL_MEM_SIZE, 8),
        .cache_bytes = ask_number(cl, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 8),
        .units = ask_number(cl, CL_DEVICE_MAX_COMPUTE_UNITS, 4),
        .doubles = ask_number(cl, CL_DEVICE_DOUBLE_FP_CONFIG, 8) != 0,
        .gpu = (ask_number(cl, CL_DEVICE_TYPE, 8) & CL_DEVICE_TYPE_GPU) != 0};
    if (cl->GetDeviceInfo(cl->device, CL_DEVICE_NAME, TARGET_NAME - 1, facts->device, NULL) != 0)
        snprintf(facts->device, sizeof facts->device, "an OpenCL device");
    cl->GetDeviceInfo(cl->device, CL_DEVICE_VERSION, TARGET_NAME - 1, facts->version, NULL);
}

/* ---- programs ---- */

static void take_log(const struct opencl *cl, cl_handle program, struct text *log)
{
    char *text = calloc(1, TARGET_MAX_LOG + 1);
    size_t length = 0;
    if (text &&
        cl->GetProgramBuildInfo(program, cl->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &length) ==
            CL_SUCCESS &&
        length <= TARGET_MAX_LOG &&
        cl->GetProgramBuildInfo(program, cl->device, CL_PROGRAM_BUILD_LOG, length, text, NULL) ==
            CL_SUCCESS)
        text_add(log, text);
    free(text);
}

static bool is_built(const struct opencl *cl, const char *text, size_t length)
{
    return cl->program && cl->text_length == length && memcmp(cl->text, text, length) == 0;
}

static void forget_program(struct opencl *cl)
{
    if (cl->program)
        cl->ReleaseProgram(cl->program);
    free(cl->text);
    cl->program = NULL;
    cl->text = NULL;
}

/*
 * Makes the program of a text the one that is loaded. Cases of one kernel follow each other in a
 * process that stays, and PoCL takes a tenth of a second even for what it has built before.
 */
static int32_t build(struct opencl *cl, const char *text, size_t length)
{
    int32_t status = CL_SUCCESS;
    if (is_built(cl, text, length))
        return status;
    forget_program(cl);
    cl->program = cl->CreateProgramWithSource(cl->context, 1, &text, &length, &status);
    if (cl->program)
        status = cl->BuildProgram(cl->program, 1, &cl->device, OPTIONS, NULL, NULL);
    cl->text = malloc(length);
    cl->text_length = cl->text ? length : SIZE_MAX; /* without its text it is never found again */
    if (cl->text)
        memcpy(cl->text, text, length);
    return status;
}

static bool opencl_compile(struct arena *arena, struct device *device, const char *architecture,
                           const char *text, size_t length, struct target_build *built,
                           struct error *error)
{
    *built = (struct target_build){.log = text_new(arena)};
    (void)architecture;
    if (!device) {
        error_set(error, ERROR_MISSING_TOOL, "OpenCL compiles for a device, and there is none");
        error_hint(error, "%s", target_opencl.install);
        return false;
    }
    struct opencl *cl = device->state;
    int32_t status = build(cl, text, length);
    if (!cl->program)
        return fail(error, status, "the program cannot be made");
    take_log(cl, cl->program, &built->log);
    built->done = status == CL_SUCCESS;
    if (!built->done)
        forget_program(cl);
    return true;
}

static bool opencl_load(struct device *device, const char *bytes, size_t length,
                        struct error *error)
{
    struct opencl *cl = device->state;
    int32_t status = build(cl, bytes, length);
    if (status != CL_SUCCESS)
        forget_program(cl);
    return check(error, status, "the program cannot be loaded");
}

static cl_handle find_kernel(struct opencl *cl, const char *name, struct error *error)
{
    for (int i = 0; i < cl->kernel_count; i++)
        if (strcmp(cl->kernels[i].name, name) == 0)
            return cl->kernels[i].kernel;
    int32_t status = CL_SUCCESS;
    if (cl->kernel_count == MAX_KERNELS || strlen(name) >= TARGET_NAME) {
        error_set(error, ERROR_TOOL_FAILED, "a kernel of too many functions");
        return NULL;
    }
    cl_handle kernel = cl->CreateKernel(cl->program, name, &status);
    if (!kernel) {
        error_set(error, ERROR_TOOL_FAILED, "'%s': %s (OpenCL status %d)", name,
                  status_name(status), status);
        return NULL;
    }
    snprintf(cl->kernels[cl->kernel_count].name, TARGET_NAME, "%s", name);
    cl->kernels[cl->kernel_count++].kernel = kernel;
    return kernel;
}

/* ---- memory ---- */

static bool opencl_allocate(struct device *device, size_t bytes, struct target_memory *memory,
                            struct error *error)
{
    struct opencl *cl = device->state;
    int32_t status = CL_SUCCESS;
    cl_handle made = cl->CreateBuffer(cl->context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    memory->handle = (uintptr_t)made;
    return made ? target_handles_add(&cl->buffers, memory->handle, error)
                : fail(error, status, "no memory on the device");
}

static bool opencl_view(struct device *device, struct target_memory whole, size_t offset,
                        size_t bytes, struct target_memory *view, struct error *error)
{
    struct opencl *cl = device->state;
    struct cl_region region = {offset, bytes ? bytes : 1};
    int32_t status = CL_SUCCESS;
    cl_handle made = cl->CreateSubBuffer((cl_handle)whole.handle, CL_MEM_READ_WRITE,
                                         CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    view->handle = (uintptr_t)made;
    return made ? target_handles_add(&cl->buffers, view->handle, error)
                : fail(error, status, "a part of a buffer cannot be made");
}

static bool opencl_write(struct device *device, struct target_memory memory, size_t offset,
                         const void *from, size_t bytes, struct error *error)
{
    struct opencl *cl = device->state;
    return check(error,
                 cl->EnqueueWriteBuffer(cl->queue, (cl_handle)memory.handle, CL_TRUE, offset, bytes,
                                        from, 0, NULL, NULL),
                 "memory of the device cannot be written");
}

static bool opencl_read(struct device *device, struct target_memory memory, size_t offset, void *to,
                        size_t bytes, struct error *error)
{
    struct opencl *cl = device->state;
    return check(error,
                 cl->EnqueueReadBuffer(cl->queue, (cl_handle)memory.handle, CL_TRUE, offset, bytes,
                                       to, 0, NULL, NULL),
                 "memory of the device cannot be read");
}

static bool opencl_clear(struct device *device, struct target_memory memory, size_t bytes,
                         struct error *error)
{
    struct opencl *cl = device->state;
    return check(error,
                 cl->EnqueueFillBuffer(cl->queue, (cl_handle)memory.handle, &cl->zero, 1, 0, bytes,
                                       0, NULL, NULL),
                 "memory of the device cannot be cleared");
}

static bool opencl_copy(struct device *device, struct target_memory memory, size_t to, size_t from,
                        size_t bytes, struct error *error)
{
    struct opencl *cl = device->state;
    cl_handle handle = (cl_handle)memory.handle;
    return check(error,
                 cl->EnqueueCopyBuffer(cl->queue, handle, handle, from, to, bytes, 0, NULL, NULL),
                 "memory of the device cannot be copied");
}

static bool opencl_set(struct device *device, struct target_memory memory, size_t offset,
                       unsigned char value, size_t bytes, struct error *error)
{
    struct opencl *cl = device->state;
    return check(error,
                 cl->EnqueueFillBuffer(cl->queue, (cl_handle)memory.handle, &value, 1, offset,
                                       bytes, 0, NULL, NULL),
                 "memory of the device cannot be set");
}

/* ---- launching ---- */

static int set_argument(const struct opencl *cl, cl_handle kernel, int number,
                        const struct target_argument *argument)
{
    cl_handle memory = (cl_handle)argument->memory.handle;
    switch (argument->kind) {
    case TARGET_POINTER: return cl->SetKernelArg(kernel, (uint32_t)number, sizeof memory, &memory);
    case TARGET_INTEGER:
        return cl->SetKernelArg(kernel, (uint32_t)number, sizeof argument->integer,
                                &argument->integer);
    case TARGET_REAL:
        return cl->SetKernelArg(kernel, (uint32_t)number, sizeof argument->real, &argument->real);
    }
    return -1;
}

static bool opencl_launch(struct device *device, const struct target_launch *launch,
                          struct error *error)
{
    struct opencl *cl = device->state;
    cl_handle kernel = find_kernel(cl, launch->function, error), event = NULL;
    if (!kernel)
        return false;
    int status = CL_SUCCESS, count = launch->argument_count;
    for (int i = 0; status == CL_SUCCESS && i < count; i++)
        status = set_argument(cl, kernel, i, &launch->arguments[i]);
    if (status == CL_SUCCESS && launch->shared > 0)
        status = cl->SetKernelArg(kernel, (uint32_t)count, (size_t)launch->shared, NULL);
    size_t local[3], global[3];
    for (int d = 0; d < 3; d++) {
        local[d] = (size_t)launch->block[d];
        global[d] = local[d] * (size_t)launch->grid[d];
    }
    if (status == CL_SUCCESS)
        status =
            cl->EnqueueNDRangeKernel(cl->queue, kernel, 3, NULL, global, local, 0, NULL, &event);
    if (status != CL_SUCCESS)
        return error_set(error, ERROR_TOOL_FAILED, "'%s': %s (OpenCL status %d)", launch->function,
                         status_name(status), status);
    cl_handle *kept = cl->first ? &cl->last : &cl->first;
    if (*kept)
        cl->ReleaseEvent(*kept);
    *kept = event;
    return true;
}

static void forget_events(struct opencl *cl)
{
    if (cl->first)
        cl->ReleaseEvent(cl->first);
    if (cl->last)
        cl->ReleaseEvent(cl->last);
    cl->first = cl->last = NULL;
}

static bool opencl_renew(struct device *device, struct error *error)
{
    struct opencl *cl = device->state;
    int32_t status = cl->Finish(cl->queue);
    forget_events(cl);
    for (int i = 0; i < cl->kernel_count; i++)
        status |= cl->ReleaseKernel(cl->kernels[i].kernel);
    while (cl->buffers.count > 0)
        status |= cl->ReleaseMemObject((cl_handle)cl->buffers.at[--cl->buffers.count]);
    cl->kernel_count = 0;
    return check(error, status, "memory of the device cannot be given back");
}

static bool opencl_begin(struct device *device, struct error *error)
{
    (void)error;
    forget_events(device->state);
    return true;
}

static bool opencl_finish(struct device *device, double *seconds, struct error *error)
{
    struct opencl *cl = device->state;
    uint64_t start = 0, end = 0;
    *seconds = -1;
    bool good = check(error, cl->Finish(cl->queue), "the device did not finish");
    cl_handle last = cl->last ? cl->last : cl->first;
    if (good && cl->first &&
        cl->GetEventProfilingInfo(cl->first, CL_PROFILING_COMMAND_START, 8, &start, NULL) == 0 &&
        cl->GetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, 8, &end, NULL) == 0)
        *seconds = 1e-9 * (double)(end - start);
    forget_events(cl);
    return good;
}

static const char *const readable[] = {"/etc/OpenCL",  "/proc/cpuinfo", "/proc/meminfo", "/sys",
                                       "/dev/urandom", "/dev/dri",      "/proc/driver",  NULL};
static const char *const writable[] = {"/dev/dri",
                                       "/dev/kfd",
                                       "/dev/nvidiactl",
                                       "/dev/nvidia0",
                                       "/dev/nvidia-uvm",
                                       "/dev/nvidia-uvm-tools",
                                       NULL};

const struct target target_opencl = {
    .name = "opencl",
    .title = "OpenCL",
    .source = "kernel.cl",
    .object = "kernel.cl",
    .install = "apt-get install ocl-icd-libopencl1 pocl-opencl-icd",
    .readable = readable,
    .writable = writable,
    .open = opencl_open,
    .close = opencl_close,
    .renew = opencl_renew,
    .describe = opencl_describe,
    .compile = opencl_compile,
    .load = opencl_load,
    .allocate = opencl_allocate,
    .view = opencl_view,
    .write = opencl_write,
    .read = opencl_read,
    .clear = opencl_clear,
    .copy = opencl_copy,
    .set = opencl_set,
    .launch = opencl_launch,
    .begin = opencl_begin,
    .finish = opencl_finish,
};
