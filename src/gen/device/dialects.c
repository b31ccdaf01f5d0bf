/*
 * What the languages for devices say differently. The text between is C that all of them take.
 */
#include <string.h>

#include "gen/device/device.h"

/* ---- OpenCL C 1.2, with double precision ---- */

static const char *const OPENCL_LINES[] = {
    "double",
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable",
    "int64_t INT64_MIN INT64_MAX",
    "typedef long int64_t;",
    "uint64_t",
    "typedef ulong uint64_t;",
    "int32_t",
    "typedef int int32_t;",
    "uint32_t",
    "typedef uint uint32_t;",
    "int16_t",
    "typedef short int16_t;",
    "uint16_t",
    "typedef ushort uint16_t;",
    "int8_t",
    "typedef char int8_t;",
    "uint8_t",
    "typedef uchar uint8_t;",
    "INT64_MIN",
    "#define INT64_MIN LONG_MIN",
    "INT64_MAX",
    "#define INT64_MAX LONG_MAX",
    "INT32_MIN",
    "#define INT32_MIN INT_MIN",
    "INT32_MAX",
    "#define INT32_MAX INT_MAX",
    "UINT32_MAX",
    "#define UINT32_MAX UINT_MAX",
    "INT16_MIN",
    "#define INT16_MIN SHRT_MIN",
    "INT16_MAX",
    "#define INT16_MAX SHRT_MAX",
    "INT8_MIN",
    "#define INT8_MIN CHAR_MIN",
    "INT8_MAX",
    "#define INT8_MAX CHAR_MAX",
    "UINT8_MAX",
    "#define UINT8_MAX UCHAR_MAX",
    "compare_swap_32",
    "/* Puts `after` where `before` still is; what was there. */\n"
    "#define compare_swap_32(place, before, after) \\\n"
    "    atomic_cmpxchg((volatile __global uint *)(place), before, after)",
    "compare_swap_64",
    "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
    "/* Puts `after` where `before` still is; what was there. */\n"
    "#define compare_swap_64(place, before, after) \\\n"
    "    atom_cmpxchg((volatile __global ulong *)(place), before, after)",
    "tanh",
    "\n"
    "/* Some devices have one that ends a little below 1: what is left of 1 - tanh(a) is wrong "
    "then. "
    "*/\n"
    "static float __attribute__((overloadable)) whole_tanh(float a)\n"
    "{\n"
    "    const float size = fabs(a);\n"
    "    return size > 0.55f ? copysign(1.0f - 2.0f / (exp(2.0f * size) + 1.0f), a) : tanh(a);\n"
    "}\n"
    "#ifdef cl_khr_fp64\n"
    "static double __attribute__((overloadable)) whole_tanh(double a)\n"
    "{\n"
    "    const double size = fabs(a);\n"
    "    return size > 0.55 ? copysign(1.0 - 2.0 / (exp(2.0 * size) + 1.0), a) : tanh(a);\n"
    "}\n"
    "#endif\n"
    "#define tanh(a) whole_tanh(a)\n",
    "__builtin_fabs",
    "#define __builtin_fabs fabs",
    "__builtin_fabsf",
    "#define __builtin_fabsf fabs",
    "__builtin_copysign",
    "#define __builtin_copysign copysign",
    "__builtin_copysignf",
    "#define __builtin_copysignf copysign",
    "__builtin_signbit",
    "#define __builtin_signbit signbit",
    NULL,
};

/* ---- CUDA C++, as NVRTC takes it: no headers ---- */

static const char *const CUDA_LINES[] = {
    "int64_t INT64_MIN INT64_MAX",
    "typedef long long int64_t;",
    "uint64_t",
    "typedef unsigned long long uint64_t;",
    "int32_t",
    "typedef int int32_t;",
    "uint32_t",
    "typedef unsigned int uint32_t;",
    "int16_t",
    "typedef short int16_t;",
    "uint16_t",
    "typedef unsigned short uint16_t;",
    "int8_t",
    "typedef signed char int8_t;",
    "uint8_t",
    "typedef unsigned char uint8_t;",
    "INT64_MIN",
    "#define INT64_MIN (-9223372036854775807LL - 1)",
    "INT64_MAX",
    "#define INT64_MAX 9223372036854775807LL",
    "INT32_MIN",
    "#define INT32_MIN (-2147483647 - 1)",
    "INT32_MAX",
    "#define INT32_MAX 2147483647",
    "UINT32_MAX",
    "#define UINT32_MAX 4294967295u",
    "INT16_MIN",
    "#define INT16_MIN (-32768)",
    "INT16_MAX",
    "#define INT16_MAX 32767",
    "INT8_MIN",
    "#define INT8_MIN (-128)",
    "INT8_MAX",
    "#define INT8_MAX 127",
    "UINT8_MAX",
    "#define UINT8_MAX 255",
    "compare_swap_32",
    "/* Puts `after` where `before` still is; what was there. */\n"
    "#define compare_swap_32(place, before, after) atomicCAS((unsigned *)(place), before, after)",
    "compare_swap_64",
    "/* Puts `after` where `before` still is; what was there. */\n"
    "#define compare_swap_64(place, before, after) \\\n"
    "    atomicCAS((unsigned long long *)(place), before, after)",
    "INFINITY",
    "#define INFINITY __int_as_float(0x7f800000)",
    "NAN",
    "#define NAN __int_as_float(0x7fffffff)",
    "__builtin_fabs",
    "#define __builtin_fabs fabs",
    "__builtin_fabsf",
    "#define __builtin_fabsf fabsf",
    "__builtin_copysign",
    "#define __builtin_copysign copysign",
    "__builtin_copysignf",
    "#define __builtin_copysignf copysignf",
    "__builtin_signbit",
    "#define __builtin_signbit signbit",
    "restrict",
    "#define restrict __restrict__",
    "copy_soon",
    "\n"
    "/* To shared memory, past the registers: see copies_wait. */\n"
    "template <int bytes> static __device__ inline void copy_soon(void *to, const void *from)\n"
    "{\n"
    "    const unsigned place = (unsigned)__cvta_generic_to_shared(to);\n"
    "    if (bytes == 16)\n"
    "        asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16;\" ::\"r\"(place), "
    "\"l\"(from));\n"
    "    else\n"
    "        asm volatile(\"cp.async.ca.shared.global [%0], [%1], %2;\" ::\"r\"(place), "
    "\"l\"(from),\n"
    "                     \"n\"(bytes));\n"
    "}\n",
    "copies_wait",
    "static __device__ inline void copies_wait() { asm volatile(\"cp.async.wait_all;\" ::: "
    "\"memory\"); }\n",
    "cluster_arrive cluster_wait",
    "\n"
    "/* All threads of all blocks of the cluster meet: here they arrive, there they wait. */\n"
    "static __device__ inline void cluster_arrive()\n"
    "{\n"
    "    asm volatile(\"barrier.cluster.arrive.relaxed.aligned;\" ::: \"memory\");\n"
    "}\n"
    "\n"
    "static __device__ inline void cluster_wait()\n"
    "{\n"
    "    asm volatile(\"barrier.cluster.wait.acquire.aligned;\" ::: \"memory\");\n"
    "}\n",
    "posts_open",
    "\n"
    "/* What blocks of a cluster post, an element each; behind them what counts the bytes. */\n"
    "template <int blocks, typename T> static __device__ inline void posts_open(T *posts)\n"
    "{\n"
    "    const unsigned counter = (unsigned)__cvta_generic_to_shared(posts + blocks);\n"
    "    if (threadIdx.x != 0)\n"
    "        return;\n"
    "    asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" ::\"r\"(counter) : \"memory\");\n"
    "    asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
    "    asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" "
    "::\"r\"(counter),\n"
    "                 \"n\"(blocks * (int)sizeof(T))\n"
    "                 : \"memory\");\n"
    "}\n"
    "\n"
    "/* The value of this block for all blocks; those of all blocks are there afterwards. Nobody "
    "posts\n"
    "   to a block that has left: it leaves when it has them all. */\n"
    "template <int blocks, typename T> static __device__ inline void post(T *posts, T value)\n"
    "{\n"
    "    const unsigned place = (unsigned)__cvta_generic_to_shared(posts);\n"
    "    const unsigned own_counter = place + blocks * (unsigned)sizeof(T);\n"
    "    unsigned own, to, counter, all = 0;\n"
    "    if (threadIdx.x < blocks) {\n"
    "        asm(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(own));\n"
    "        asm(\"mapa.shared::cluster.u32 %0, %1, %2;\"\n"
    "            : \"=r\"(to)\n"
    "            : \"r\"(place + own * (unsigned)sizeof(T)), \"r\"(threadIdx.x));\n"
    "        asm(\"mapa.shared::cluster.u32 %0, %1, %2;\"\n"
    "            : \"=r\"(counter)\n"
    "            : \"r\"(own_counter), \"r\"(threadIdx.x));\n"
    "        if constexpr (sizeof(T) == 4)\n"
    "            asm volatile(\"st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 \"\n"
    "                         \"[%0], %1, [%2];\" ::\"r\"(to),\n"
    "                         \"r\"(*(const unsigned *)&value), \"r\"(counter)\n"
    "                         : \"memory\");\n"
    "        else\n"
    "            asm volatile(\"st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 \"\n"
    "                         \"[%0], %1, [%2];\" ::\"r\"(to),\n"
    "                         \"l\"(*(const unsigned long long *)&value), \"r\"(counter)\n"
    "                         : \"memory\");\n"
    "    }\n"
    "    while (!all)\n"
    "        asm volatile(\"{\\n.reg .pred there;\\n\"\n"
    "                     \"mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 \"\n"
    "                     \"there, [%1], 0;\\n\"\n"
    "                     \"selp.u32 %0, 1, 0, there;\\n}\"\n"
    "                     : \"=r\"(all)\n"
    "                     : \"r\"(own_counter)\n"
    "                     : \"memory\");\n"
    "}\n",
    NULL,
};

/* One instruction instead of comparisons, where there is one. */
#define CUDA_EXTREME(verb, better, sign)                                                 \
    "/* NaN is passed on, -0 is below +0. */\n"                                          \
    "static __device__ inline float float_" verb "(float a, float b)\n"                  \
    "{\n"                                                                                \
    "#if __CUDA_ARCH__ >= 800\n"                                                         \
    "    float result;\n"                                                                \
    "    asm(\"" verb ".NaN.f32 %0, %1, %2;\" : \"=f\"(result) : \"f\"(a), \"f\"(b));\n" \
    "    return result;\n"                                                               \
    "#else\n"                                                                            \
    "    if (a != a || b != b)\n"                                                        \
    "        return NAN;\n"                                                              \
    "    return a " better " b || (a == b && " sign "signbit(a)) ? a : b;\n"             \
    "#endif\n"                                                                           \
    "}\n"

#define CUDA_ATOMIC(kind, verb, type, function, as)                                      \
    kind "_atomic_" verb, "static __device__ inline void " kind "_atomic_" verb "(" type \
                          " *place, " type " value)\n"                                   \
                          "{\n"                                                          \
                          "    " function "((" as " *)place, (" as ")value);\n"          \
                          "}\n"

static const char *const CUDA_PIECES[] = {
    "float_max",
    CUDA_EXTREME("max", ">", "!"),
    "float_min",
    CUDA_EXTREME("min", "<", ""),
    CUDA_ATOMIC("float", "add", "float", "atomicAdd", "float"),
    CUDA_ATOMIC("double", "add", "double", "atomicAdd", "double"),
    CUDA_ATOMIC("int", "add", "int64_t", "atomicAdd", "unsigned long long"),
    CUDA_ATOMIC("int", "max", "int64_t", "atomicMax", "long long"),
    CUDA_ATOMIC("int", "min", "int64_t", "atomicMin", "long long"),
    NULL,
};

/* Words of both languages that C lacks, and names that mean something there. */
static const char *const RESERVED[] = {
    "global",
    "local",
    "constant",
    "private",
    "kernel",
    "generic",
    "read_only",
    "write_only",
    "read_write",
    "pipe",
    "half",
    "uchar",
    "ushort",
    "uint",
    "ulong",
    "quad",
    "size_t",
    "event_t",
    "sampler_t",
    "class",
    "new",
    "delete",
    "this",
    "template",
    "typename",
    "operator",
    "public",
    "protected",
    "virtual",
    "namespace",
    "using",
    "try",
    "catch",
    "throw",
    "friend",
    "explicit",
    "mutable",
    "export",
    "true",
    "false",
    "bool",
    "and",
    "or",
    "not",
    "xor",
    "bitand",
    "bitor",
    "compl",
    "nullptr",
    "constexpr",
    "concept",
    "requires",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "dim3",
    "int2",
    "int4",
    "float2",
    "float4",
    "double2",
    "double4",
    "get_global_id",
    "get_global_size",
    "barrier",
    "fence",
    "kernel_exec",
    "uint2",
    "uint4",
    "uchar2",
    "uchar4",
    "ushort2",
    "ushort4",
    "cluster_arrive",
    "cluster_wait",
    "posts_open",
    "post",
    "copy_soon",
    "copies_wait",
    "compare_swap_32",
    "compare_swap_64",
    "whole_tanh",
    "atomicAdd",
    "atomicCAS",
    "atomicMax",
    "atomicMin",
    NULL,
};

static const char *const NUMBERS[] = {"0", "1", "2"}, *const LETTERS[] = {"x", "y", "z"};
static const char *const CUDA_EXCHANGES[] = {"__shfl_xor_sync", "__shfl_up_sync", "__shfl_sync"};

static const struct dialect DIALECTS[] = {
    {
        .target = "opencl",
        .kernel = "__kernel void",
        .global = "__global ",
        .alone = "restrict ",
        .inlined = "static inline",
        .structure = "(struct)",
        .first = "(int64_t)get_global_id(0)",
        .all = "(int64_t)get_global_size(0)",
        .shared = "__local ",
        .block = "(int64_t)get_group_id(%s)",
        .thread = "(int64_t)get_local_id(%s)",
        .dimensions = NUMBERS,
        .barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
        .memory_barrier = "barrier(CLK_GLOBAL_MEM_FENCE);",
        .bounds = "__kernel __attribute__((reqd_work_group_size(%d, %d, %d))) void",
        .lines = OPENCL_LINES,
        .reserved = RESERVED,
    },
    {
        .target = "cuda",
        .kernel = "extern \"C\" __global__ void",
        .global = "",
        .alone = "__restrict__ ",
        .inlined = "static __device__ inline",
        .structure = "",
        .first = "(int64_t)blockIdx.x * blockDim.x + threadIdx.x",
        .all = "(int64_t)gridDim.x * blockDim.x",
        .shared = "__shared__ ",
        .block = "(int64_t)blockIdx.%s",
        .thread = "(int64_t)threadIdx.%s",
        .dimensions = LETTERS,
        .barrier = "__syncthreads();",
        .memory_barrier = "__syncthreads();",
        .arrive = "cluster_arrive();",
        .wait = "cluster_wait();",
        .posts = "posts_open",
        .post = "post",
        .copy = "copy_soon",
        .copied = "copies_wait();",
        .cluster = " __cluster_dims__(%d, 1, 1)",
        .exchanges = CUDA_EXCHANGES,
        .bounds = "extern \"C\" __global__ void __launch_bounds__(%d * %d * %d, %d)",
        .suffixes = true,
        .lines = CUDA_LINES,
        .pieces = CUDA_PIECES,
        .reserved = RESERVED,
    },
};

const struct dialect *dialect_of(const char *target)
{
    for (size_t i = 0; i < sizeof DIALECTS / sizeof *DIALECTS; i++)
        if (strcmp(DIALECTS[i].target, target) == 0)
            return &DIALECTS[i];
    return NULL;
}
