/*
 * A CUDA driver without a GPU, for tests: its device is plain memory. It runs no code of kernels;
 * by name it knows `copy`, which copies integers, `product`, which multiplies two matrices, and
 * `fault`, after which the device is lost. What is tried with it is smelt's side: compiling,
 * loading, arguments, clocks, failures.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NOT_FOUND = 500, NO_BINARY = 200, LOST = 700, MAJOR = 75, MINOR = 76 };

static int lost;

static int copy_function, product_function, fault_function, idle_function;

/* Kernels of `smelt probe`, which do nothing here. */
static int is_probe(const char *name)
{
    static const char *const names[] = {"nothing", "read", "fill", "shared_read", "chase",
                                        "f32",     "f64",  "f16",  "bf16"};
    for (int i = 0; i < 9; i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

#define DEFINE(name, arguments) \
    int name arguments;         \
    int name arguments

DEFINE(cuInit, (unsigned flags))
{
    return (void)flags, 0;
}
DEFINE(cuDriverGetVersion, (int *version))
{
    return *version = 13000, 0;
}
DEFINE(cuGetErrorString, (int status, const char **text))
{
    return *text = status == NOT_FOUND ? "named symbol not found" : "the device is lost", 0;
}
DEFINE(cuGetExportTable, (const void **table, const void *id))
{
    return (void)table, (void)id, NOT_FOUND; /* NVRTC asks for it */
}
DEFINE(cuDeviceGetCount, (int *count))
{
    return *count = 1, 0;
}
DEFINE(cuDeviceGet, (int *device, int number))
{
    return *device = number, 0;
}
DEFINE(cuDeviceGetName, (char *name, int size, int device))
{
    return (void)device, snprintf(name, (size_t)size, "a device of tests"), 0;
}
DEFINE(cuDeviceTotalMem_v2, (size_t * bytes, int device))
{
    return (void)device, *bytes = 1 << 30, 0;
}
DEFINE(cuDeviceGetAttribute, (int *value, int which, int device))
{
    return (void)device, *value = which == MAJOR ? 9 : which == MINOR ? 0 : 1024, 0;
}
DEFINE(cuDevicePrimaryCtxRetain, (void **context, int device))
{
    return (void)device, *context = &lost, 0;
}
DEFINE(cuDevicePrimaryCtxRelease_v2, (int device))
{
    return (void)device, 0;
}
DEFINE(cuCtxSetCurrent, (void *context))
{
    return (void)context, 0;
}
DEFINE(cuCtxSynchronize, (void))
{
    return lost;
}
DEFINE(cuCtxSetLimit, (int limit, size_t value))
{
    return (void)limit, (void)value, 0;
}
DEFINE(cuCtxResetPersistingL2Cache, (void))
{
    return 0;
}
DEFINE(cuModuleLoadData, (void **module, const void *image))
{
    return *module = &lost, memcmp(image, "\177ELF", 4) == 0 ? 0 : NO_BINARY;
}
DEFINE(cuModuleUnload, (void *module))
{
    return (void)module, 0;
}
DEFINE(cuModuleGetFunction, (void **function, void *module, const char *name))
{
    (void)module;
    *function = strcmp(name, "copy") == 0      ? &copy_function
                : strcmp(name, "product") == 0 ? &product_function
                : strcmp(name, "fault") == 0   ? &fault_function
                : is_probe(name)               ? &idle_function
                                               : NULL;
    return *function ? 0 : NOT_FOUND;
}
DEFINE(cuFuncSetAttribute, (void *function, int attribute, int value))
{
    return (void)function, (void)attribute, (void)value, 0;
}
DEFINE(cuMemAlloc_v2, (uint64_t * pointer, size_t bytes))
{
    return *pointer = (uint64_t)(uintptr_t)malloc(bytes), 0;
}
DEFINE(cuMemFree_v2, (uint64_t pointer))
{
    return free((void *)(uintptr_t)pointer), 0;
}
DEFINE(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes))
{
    return memcpy((void *)(uintptr_t)to, from, bytes), lost;
}
DEFINE(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes))
{
    return memcpy(to, (const void *)(uintptr_t)from, bytes), lost;
}
DEFINE(cuMemcpyDtoDAsync_v2, (uint64_t to, uint64_t from, size_t bytes, void *stream))
{
    return (void)stream, memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes), lost;
}
DEFINE(cuMemsetD8Async, (uint64_t at, unsigned char value, size_t bytes, void *stream))
{
    return (void)stream, memset((void *)(uintptr_t)at, value, bytes), lost;
}

/* Launches that are recorded: their arguments. */
enum { MOST_RECORDED = 8192 };
static struct recorded {
    int64_t *x, *y, count;
    const float *a, *b; /* not NULL: a product */
    float *c;
    int64_t m, n, k;
} recorded[MOST_RECORDED];
static int recorded_count, is_recording;

DEFINE(cuStreamCreate, (void **stream, unsigned flags))
{
    return (void)flags, *stream = &recorded_count, 0;
}
DEFINE(cuStreamBeginCapture_v2, (void *stream, int mode))
{
    return (void)stream, (void)mode, recorded_count = 0, is_recording = 1, 0;
}
DEFINE(cuStreamEndCapture, (void *stream, void **graph))
{
    return (void)stream, *graph = recorded, is_recording = 0;
}
DEFINE(cuGraphInstantiateWithFlags, (void **made, void *graph, unsigned long long flags))
{
    return (void)flags, *made = graph, 0;
}
DEFINE(cuGraphUpload, (void *graph, void *stream))
{
    return (void)graph, (void)stream, 0;
}
static void copy(const struct recorded *given)
{
    const volatile int64_t *x = given->x;
    volatile int64_t *y = given->y;
    for (int64_t i = 0; i < given->count; i++)
        y[i] = x[i];
}
static void product(const struct recorded *given)
{
    for (int64_t i = 0; i < given->m; i++)
        for (int64_t j = 0; j < given->n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < given->k; l++)
                sum += (double)given->a[i * given->k + l] * (double)given->b[l * given->n + j];
            given->c[i * given->n + j] = (float)sum;
        }
}
static void work(const struct recorded *given)
{
    given->a ? product(given) : copy(given);
}
static int do_or_record(const struct recorded *given)
{
    if (!is_recording)
        work(given);
    else if (recorded_count < MOST_RECORDED)
        recorded[recorded_count++] = *given;
    return 0;
}
DEFINE(cuGraphLaunch, (void *graph, void *stream))
{
    (void)graph, (void)stream;
    for (int i = 0; i < recorded_count; i++)
        work(&recorded[i]);
    return lost;
}

/* The cuBLAS of tests is this library, too: one product, columns first. */
DEFINE(cublasCreate_v2, (void **handle))
{
    return *handle = &lost, 0;
}
DEFINE(cublasSetStream_v2, (void *handle, void *stream))
{
    return (void)handle, (void)stream, 0;
}
DEFINE(cublasSgemv_v2, (void *handle))
{
    return (void)handle, NOT_FOUND;
}
DEFINE(cublasGemmStridedBatchedEx,
       (void *handle, int b_turned, int a_turned, int n, int m, int k, const void *one, uint64_t b,
        int b_type, int b_rows, long long b_stride, uint64_t a, int a_type, int a_rows,
        long long a_stride, const void *zero, uint64_t c, int c_type, int c_rows,
        long long c_stride, int batch, int compute, int algorithm))
{
    (void)handle, (void)one, (void)zero, (void)b_stride, (void)a_stride, (void)c_stride;
    (void)compute, (void)algorithm;
    if (b_turned || a_turned || b_type || a_type || c_type || b_rows != n || a_rows != k ||
        c_rows != n || batch != 1)
        return NOT_FOUND;
    struct recorded given = {.a = (const float *)(uintptr_t)a,
                             .b = (const float *)(uintptr_t)b,
                             .c = (float *)(uintptr_t)c,
                             .m = m,
                             .n = n,
                             .k = k};
    return do_or_record(&given);
}
DEFINE(cuGraphExecDestroy, (void *graph))
{
    return (void)graph, 0;
}
DEFINE(cuGraphDestroy, (void *graph))
{
    return (void)graph, 0;
}

/* copy(const long long *x, long long *y, long long n), product(a, b, y, M, N, K) */
DEFINE(cuLaunchKernel, (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        void *stream, void **parameters, void **extra))
{
    (void)grid_y, (void)grid_z, (void)block_y, (void)block_z, (void)shared, (void)stream,
        (void)extra;
    if (function == &fault_function)
        return lost = LOST, 0;
    if (function == &idle_function)
        return 0;
    struct recorded given = {0};
    if (function == &product_function) {
        given = (struct recorded){.a = *(float **)parameters[0],
                                  .b = *(float **)parameters[1],
                                  .c = *(float **)parameters[2],
                                  .m = *(int64_t *)parameters[3],
                                  .n = *(int64_t *)parameters[4],
                                  .k = *(int64_t *)parameters[5]};
        return do_or_record(&given);
    }
    given = (struct recorded){.x = *(int64_t **)parameters[0],
                              .y = *(int64_t **)parameters[1],
                              .count = *(int64_t *)parameters[2]};
    if ((int64_t)grid_x * block_x < given.count)
        given.count = (int64_t)grid_x * block_x;
    return do_or_record(&given);
}
DEFINE(cuEventCreate, (void **event, unsigned flags))
{
    return (void)flags, *event = malloc(sizeof(struct timespec)), 0;
}
DEFINE(cuEventRecord, (void *event, void *stream))
{
    return (void)stream, clock_gettime(CLOCK_MONOTONIC, event);
}
DEFINE(cuEventElapsedTime, (float *milliseconds, const void *from, const void *to))
{
    const struct timespec *a = from, *b = to;
    *milliseconds =
        (float)(b->tv_sec - a->tv_sec) * 1e3f + (float)(b->tv_nsec - a->tv_nsec) * 1e-6f;
    return 0;
}
