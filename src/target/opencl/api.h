/*
 * Private to src/target/opencl: the few functions and numbers of OpenCL 1.2 that are used, as its
 * specification gives them.
 */
#ifndef SMELT_TARGET_OPENCL_API_H
#define SMELT_TARGET_OPENCL_API_H

#include <stddef.h>
#include <stdint.h>

typedef void *cl_handle; /* platform, device, context, queue, program, kernel, memory, event */

enum {
    CL_SUCCESS = 0,
    CL_TRUE = 1,
    CL_DEVICE_TYPE_ALL_LOW = -1, /* all bits */
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_TYPE_GPU = 4,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_GLOBAL_MEM_CACHE_SIZE = 0x101E,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019,
    CL_DEVICE_NAME = 0x102B,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
    CL_MEM_READ_WRITE = 1,
    CL_BUFFER_CREATE_TYPE_REGION = 0x1220,
    CL_QUEUE_PROFILING_ENABLE = 2,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_PROFILING_COMMAND_START = 0x1282,
    CL_PROFILING_COMMAND_END = 0x1283,
};

struct cl_region {
    size_t origin, size;
};

/* Name without "cl", result, arguments. */
#define OPENCL_FUNCTIONS(F)                                                                       \
    F(GetPlatformIDs, int32_t, (uint32_t, cl_handle *, uint32_t *))                               \
    F(GetDeviceIDs, int32_t, (cl_handle, uint64_t, uint32_t, cl_handle *, uint32_t *))            \
    F(GetDeviceInfo, int32_t, (cl_handle, uint32_t, size_t, void *, size_t *))                    \
    F(CreateContext, cl_handle,                                                                   \
      (const intptr_t *, uint32_t, const cl_handle *, void *, void *, int32_t *))                 \
    F(ReleaseContext, int32_t, (cl_handle))                                                       \
    F(CreateCommandQueue, cl_handle, (cl_handle, cl_handle, uint64_t, int32_t *))                 \
    F(ReleaseCommandQueue, int32_t, (cl_handle))                                                  \
    F(CreateProgramWithSource, cl_handle,                                                         \
      (cl_handle, uint32_t, const char **, const size_t *, int32_t *))                            \
    F(BuildProgram, int32_t,                                                                      \
      (cl_handle, uint32_t, const cl_handle *, const char *, void *, void *))                     \
    F(GetProgramBuildInfo, int32_t, (cl_handle, cl_handle, uint32_t, size_t, void *, size_t *))   \
    F(ReleaseProgram, int32_t, (cl_handle))                                                       \
    F(CreateKernel, cl_handle, (cl_handle, const char *, int32_t *))                              \
    F(ReleaseKernel, int32_t, (cl_handle))                                                        \
    F(SetKernelArg, int32_t, (cl_handle, uint32_t, size_t, const void *))                         \
    F(CreateBuffer, cl_handle, (cl_handle, uint64_t, size_t, void *, int32_t *))                  \
    F(CreateSubBuffer, cl_handle, (cl_handle, uint64_t, uint32_t, const void *, int32_t *))       \
    F(ReleaseMemObject, int32_t, (cl_handle))                                                     \
    F(EnqueueWriteBuffer, int32_t,                                                                \
      (cl_handle, cl_handle, uint32_t, size_t, size_t, const void *, uint32_t, const cl_handle *, \
       cl_handle *))                                                                              \
    F(EnqueueReadBuffer, int32_t,                                                                 \
      (cl_handle, cl_handle, uint32_t, size_t, size_t, void *, uint32_t, const cl_handle *,       \
       cl_handle *))                                                                              \
    F(EnqueueCopyBuffer, int32_t,                                                                 \
      (cl_handle, cl_handle, cl_handle, size_t, size_t, size_t, uint32_t, const cl_handle *,      \
       cl_handle *))                                                                              \
    F(EnqueueFillBuffer, int32_t,                                                                 \
      (cl_handle, cl_handle, const void *, size_t, size_t, size_t, uint32_t, const cl_handle *,   \
       cl_handle *))                                                                              \
    F(EnqueueNDRangeKernel, int32_t,                                                              \
      (cl_handle, cl_handle, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,  \
       const cl_handle *, cl_handle *))                                                           \
    F(Finish, int32_t, (cl_handle))                                                               \
    F(GetEventProfilingInfo, int32_t, (cl_handle, uint32_t, size_t, void *, size_t *))            \
    F(ReleaseEvent, int32_t, (cl_handle))

#endif
