/*
 * Private to src/target/cuda: the few functions and numbers of the CUDA driver and of NVRTC that
 * are used, as their manuals give them.
 */
#ifndef SMELT_TARGET_CUDA_API_H
#define SMELT_TARGET_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

typedef void *cu_handle; /* context, module, function, event */
typedef uint64_t cu_pointer;

enum {
    CU_SUCCESS = 0,
    CU_ATTRIBUTE_BLOCK_THREADS = 1,
    CU_ATTRIBUTE_MULTIPROCESSORS = 16,
    CU_ATTRIBUTE_CACHE = 38,
    CU_ATTRIBUTE_MAJOR = 75,
    CU_ATTRIBUTE_MINOR = 76,
    CU_ATTRIBUTE_SHARED_OPTIN = 97,
    CU_FUNCTION_SHARED_DYNAMIC = 8,  /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
    CU_FUNCTION_LARGE_CLUSTERS = 14, /* CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED */
    CU_LIMIT_PERSISTING_L2 = 6,
    CU_CAPTURE_RELAXED = 2,
    CU_MINIMUM_SHARED = 48 << 10, /* more has to be asked for */
};

/* Name in the library, name here, arguments. All return a status. */
#define CUDA_FUNCTIONS(F)                                                                          \
    F("cuInit", init, (unsigned))                                                                  \
    F("cuDriverGetVersion", version, (int *))                                                      \
    F("cuGetErrorString", error_string, (int, const char **))                                      \
    F("cuDeviceGetCount", device_count, (int *))                                                   \
    F("cuDeviceGet", device_get, (int *, int))                                                     \
    F("cuDeviceGetName", device_name, (char *, int, int))                                          \
    F("cuDeviceTotalMem_v2", device_memory, (size_t *, int))                                       \
    F("cuDeviceGetAttribute", device_attribute, (int *, int, int))                                 \
    F("cuDevicePrimaryCtxRetain", context_retain, (cu_handle *, int))                              \
    F("cuDevicePrimaryCtxRelease_v2", context_release, (int))                                      \
    F("cuCtxSetCurrent", context_set, (cu_handle))                                                 \
    F("cuCtxSynchronize", synchronize, (void))                                                     \
    F("cuCtxSetLimit", context_limit, (int, size_t))                                               \
    F("cuCtxResetPersistingL2Cache", context_reset_cache, (void))                                  \
    F("cuModuleLoadData", module_load, (cu_handle *, const void *))                                \
    F("cuModuleUnload", module_unload, (cu_handle))                                                \
    F("cuModuleGetFunction", module_function, (cu_handle *, cu_handle, const char *))              \
    F("cuFuncSetAttribute", function_set, (cu_handle, int, int))                                   \
    F("cuMemAlloc_v2", allocate, (cu_pointer *, size_t))                                           \
    F("cuMemFree_v2", release, (cu_pointer))                                                       \
    F("cuMemcpyHtoD_v2", copy_up, (cu_pointer, const void *, size_t))                              \
    F("cuMemcpyDtoH_v2", copy_down, (void *, cu_pointer, size_t))                                  \
    F("cuMemcpyDtoDAsync_v2", copy_within, (cu_pointer, cu_pointer, size_t, cu_handle))            \
    F("cuMemsetD8Async", clear, (cu_pointer, unsigned char, size_t, cu_handle))                    \
    F("cuLaunchKernel", launch,                                                                    \
      (cu_handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cu_handle, \
       void **, void **))                                                                          \
    F("cuStreamCreate", stream_create, (cu_handle *, unsigned))                                    \
    F("cuStreamBeginCapture_v2", capture_begin, (cu_handle, int))                                  \
    F("cuStreamEndCapture", capture_end, (cu_handle, cu_handle *))                                 \
    F("cuGraphInstantiateWithFlags", graph_make, (cu_handle *, cu_handle, unsigned long long))     \
    F("cuGraphUpload", graph_upload, (cu_handle, cu_handle))                                       \
    F("cuGraphLaunch", graph_launch, (cu_handle, cu_handle))                                       \
    F("cuGraphExecDestroy", graph_end, (cu_handle))                                                \
    F("cuGraphDestroy", graph_destroy, (cu_handle))                                                \
    F("cuEventCreate", event_create, (cu_handle *, unsigned))                                      \
    F("cuEventRecord", event_record, (cu_handle, cu_handle))                                       \
    F("cuEventElapsedTime", event_elapsed, (float *, cu_handle, cu_handle))

#define NVRTC_FUNCTIONS(F)                                                                      \
    F("nvrtcVersion", version, (int *, int *))                                                  \
    F("nvrtcCreateProgram", create,                                                             \
      (cu_handle *, const char *, const char *, int, const char *const *, const char *const *)) \
    F("nvrtcDestroyProgram", destroy, (cu_handle *))                                            \
    F("nvrtcCompileProgram", compile, (cu_handle, int, const char *const *))                    \
    F("nvrtcGetProgramLogSize", log_size, (cu_handle, size_t *))                                \
    F("nvrtcGetProgramLog", log, (cu_handle, char *))                                           \
    F("nvrtcGetCUBINSize", cubin_size, (cu_handle, size_t *))                                   \
    F("nvrtcGetCUBIN", cubin, (cu_handle, char *))

#endif
