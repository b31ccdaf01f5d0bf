/*
 * Arithmetic as fast as it goes: independent chains of one instruction, enough of them to fill the
 * pipelines of any processor so far, in registers only.
 *
 * The instructions are written out, so that no compiler joins, drops or reorders them, whatever its
 * flags are. Values are ordinary numbers: some processors hurry over zeros, some stumble over
 * denormals.
 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machine/private.h"

#if defined(__x86_64__)

/* Twelve accumulators and two operands: what sixteen registers hold. */
/* clang-format off */
#define TWELVE(DO, ...) \
    DO(0, __VA_ARGS__) DO(1, __VA_ARGS__) DO(2, __VA_ARGS__) DO(3, __VA_ARGS__) \
    DO(4, __VA_ARGS__) DO(5, __VA_ARGS__) DO(6, __VA_ARGS__) DO(7, __VA_ARGS__) \
    DO(8, __VA_ARGS__) DO(9, __VA_ARGS__) DO(10, __VA_ARGS__) DO(11, __VA_ARGS__)
/* clang-format on */

#define DECLARE(i, type) type s##i = {0};
#define FUSED(i, instruction) \
    __asm__ volatile(instruction " %1, %2, %0" : "+v"(s##i) : "v"(a), "v"(b));
#define FUSED_VEX(i, instruction) \
    __asm__ volatile(instruction " %1, %2, %0" : "+x"(s##i) : "x"(a), "x"(b));

/* acc += a * b, 24 times per round. */
#define SPIN_FUSED(name, targets, type, fill, instruction, FUSE)                \
    __attribute__((target(targets), noinline)) static void name(int64_t rounds) \
    {                                                                           \
        type a, b;                                                              \
        fill(&a, sizeof a);                                                     \
        fill(&b, sizeof b);                                                     \
        TWELVE(DECLARE, type)                                                   \
        for (int64_t i = 0; i < rounds; i++) {                                  \
            TWELVE(FUSE, instruction)                                           \
            TWELVE(FUSE, instruction)                                           \
        }                                                                       \
    }

typedef float float_4 __attribute__((vector_size(16)));
typedef double double_2 __attribute__((vector_size(16)));
typedef float float_8 __attribute__((vector_size(32)));
typedef double double_4 __attribute__((vector_size(32)));
typedef float float_16 __attribute__((vector_size(64)));
typedef double double_8 __attribute__((vector_size(64)));

/* Copied in: the registers hold other types than the values. */
#define FILL(name, type, value)                                                \
    static void name(void *at, size_t bytes)                                   \
    {                                                                          \
        for (size_t i = 0; i < bytes / sizeof(type); i++) {                    \
            type element = (type)(value);                                      \
            memcpy((char *)at + i * sizeof element, &element, sizeof element); \
        }                                                                      \
    }

FILL(fill_f32, float, 0.37 + (double)i)
FILL(fill_f64, double, 0.37 + (double)i)
FILL(fill_16, uint16_t, 0x3f80 + i % 8) /* about 1 as bf16, 1.9 as f16 */
FILL(fill_8, uint8_t, i % 64 + 1)

SPIN_FUSED(spin_avx2_f32, "avx2,fma", float_8, fill_f32, "vfmadd231ps", FUSED_VEX)
SPIN_FUSED(spin_avx2_f64, "avx2,fma", double_4, fill_f64, "vfmadd231pd", FUSED_VEX)
SPIN_FUSED(spin_avx512_f32, "avx512f", float_16, fill_f32, "vfmadd231ps", FUSED)
SPIN_FUSED(spin_avx512_f64, "avx512f", double_8, fill_f64, "vfmadd231pd", FUSED)
SPIN_FUSED(spin_avx512_f16, "avx512f", float_16, fill_16, "vfmadd231ph", FUSED)
SPIN_FUSED(spin_avx512_bf16, "avx512f", float_16, fill_16, "vdpbf16ps", FUSED)
SPIN_FUSED(spin_avx512_i8, "avx512f", float_16, fill_8, "vpdpbusd", FUSED)

/* Without fused instructions: as many additions as multiplications, which may run side by side. */
#define ADD(i, add, multiply) __asm__ volatile(add " %1, %0" : "+x"(s##i) : "x"(a));
#define MULTIPLY(i, add, multiply) __asm__ volatile(multiply " %1, %0" : "+x"(s##i) : "x"(b));
/* clang-format off */
#define PAIRS(...) \
    ADD(0, __VA_ARGS__) MULTIPLY(6, __VA_ARGS__) \
    ADD(1, __VA_ARGS__) MULTIPLY(7, __VA_ARGS__) \
    ADD(2, __VA_ARGS__) MULTIPLY(8, __VA_ARGS__) \
    ADD(3, __VA_ARGS__) MULTIPLY(9, __VA_ARGS__) \
    ADD(4, __VA_ARGS__) MULTIPLY(10, __VA_ARGS__) \
    ADD(5, __VA_ARGS__) MULTIPLY(11, __VA_ARGS__)
/* clang-format on */

/* 24 instructions per round; multiplying by 1 keeps the numbers ordinary. */
#define SPIN_PAIRED(name, type, element, add, multiply)           \
    __attribute__((noinline)) static void name(int64_t rounds)    \
    {                                                             \
        type a, b;                                                \
        for (size_t i = 0; i < sizeof a / sizeof(element); i++) { \
            ((element *)&a)[i] = (element)0.37;                   \
            ((element *)&b)[i] = (element)1;                      \
        }                                                         \
        TWELVE(START, type)                                       \
        for (int64_t i = 0; i < rounds; i++) {                    \
            PAIRS(add, multiply)                                  \
            PAIRS(add, multiply)                                  \
        }                                                         \
    }
#define START(i, type) type s##i = a;

SPIN_PAIRED(spin_scalar_f32, float_4, float, "addss", "mulss")
SPIN_PAIRED(spin_scalar_f64, double_2, double, "addsd", "mulsd")
SPIN_PAIRED(spin_sse2_f32, float_4, float, "addps", "mulps")
SPIN_PAIRED(spin_sse2_f64, double_2, double, "addpd", "mulpd")

/*
 * Tiles: 16 rows of 64 bytes, four accumulators. The compiler knows nothing of tile registers and
 * leaves them alone. One round is eight products of 16 x 64 bytes by 64 bytes x 16.
 */
struct tile_shape {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

#define TILE_ROUND(product)                                                             \
    product " %%tmm6, %%tmm4, %%tmm0\n\t" product " %%tmm7, %%tmm4, %%tmm1\n\t" product \
            " %%tmm6, %%tmm5, %%tmm2\n\t" product " %%tmm7, %%tmm5, %%tmm3\n\t"

#define SPIN_TILES(name, fill, product)                                                   \
    __attribute__((noinline)) static void name(int64_t rounds)                            \
    {                                                                                     \
        _Alignas(64) struct tile_shape shape = {.palette = 1};                            \
        _Alignas(64) char values[1024];                                                   \
        for (int i = 0; i < 8; i++) {                                                     \
            shape.row_bytes[i] = 64;                                                      \
            shape.rows[i] = 16;                                                           \
        }                                                                                 \
        fill(values, sizeof values);                                                      \
        __asm__ volatile("ldtilecfg %0\n\t"                                               \
                         "tilezero %%tmm0\n\ttilezero %%tmm1\n\t"                         \
                         "tilezero %%tmm2\n\ttilezero %%tmm3\n\t"                         \
                         "tileloadd (%1,%2,1), %%tmm4\n\ttileloadd (%1,%2,1), %%tmm5\n\t" \
                         "tileloadd (%1,%2,1), %%tmm6\n\ttileloadd (%1,%2,1), %%tmm7\n\t" \
                         :                                                                \
                         : "m"(shape), "r"(values), "r"((int64_t)64)                      \
                         : "memory");                                                     \
        for (int64_t i = 0; i < rounds; i++)                                              \
            __asm__ volatile(TILE_ROUND(product) TILE_ROUND(product)::: "memory");        \
        __asm__ volatile("tilerelease" ::: "memory");                                     \
    }

SPIN_TILES(spin_amx_bf16, fill_16, "tdpbf16ps")
SPIN_TILES(spin_amx_i8, fill_8, "tdpbssd")

bool arithmetic_ask_tiles(void)
{
    enum { ASK_FOR_STATE = 0x1023, STATE_TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, ASK_FOR_STATE, STATE_TILE_DATA) == 0;
}

const struct arithmetic arithmetic_variants[] = {
    {MACHINE_UNIT_SCALAR, MACHINE_F32, MACHINE_SSE2, 24, spin_scalar_f32},
    {MACHINE_UNIT_SCALAR, MACHINE_F64, MACHINE_SSE2, 24, spin_scalar_f64},
    {MACHINE_UNIT_SSE2, MACHINE_F32, MACHINE_SSE2, 24 * 4, spin_sse2_f32},
    {MACHINE_UNIT_SSE2, MACHINE_F64, MACHINE_SSE2, 24 * 2, spin_sse2_f64},
    {MACHINE_UNIT_AVX2, MACHINE_F32, MACHINE_AVX2, 24 * 16, spin_avx2_f32},
    {MACHINE_UNIT_AVX2, MACHINE_F64, MACHINE_AVX2, 24 * 8, spin_avx2_f64},
    {MACHINE_UNIT_AVX512, MACHINE_F32, MACHINE_AVX512F, 24 * 32, spin_avx512_f32},
    {MACHINE_UNIT_AVX512, MACHINE_F64, MACHINE_AVX512F, 24 * 16, spin_avx512_f64},
    {MACHINE_UNIT_AVX512, MACHINE_F16, MACHINE_AVX512_FP16, 24 * 64, spin_avx512_f16},
    {MACHINE_UNIT_AVX512, MACHINE_BF16, MACHINE_AVX512_BF16, 24 * 64, spin_avx512_bf16},
    {MACHINE_UNIT_AVX512, MACHINE_I8, MACHINE_AVX512_VNNI, 24 * 128, spin_avx512_i8},
    {MACHINE_UNIT_AMX, MACHINE_BF16, MACHINE_AMX_BF16, 8.0 * 16 * 16 * 32 * 2, spin_amx_bf16},
    {MACHINE_UNIT_AMX, MACHINE_I8, MACHINE_AMX_INT8, 8.0 * 16 * 16 * 64 * 2, spin_amx_i8},
    {0},
};

#elif defined(__aarch64__)

/* clang-format off */
#define SIXTEEN(DO, ...) \
    DO(0, __VA_ARGS__) DO(1, __VA_ARGS__) DO(2, __VA_ARGS__) DO(3, __VA_ARGS__) \
    DO(4, __VA_ARGS__) DO(5, __VA_ARGS__) DO(6, __VA_ARGS__) DO(7, __VA_ARGS__) \
    DO(8, __VA_ARGS__) DO(9, __VA_ARGS__) DO(10, __VA_ARGS__) DO(11, __VA_ARGS__) \
    DO(12, __VA_ARGS__) DO(13, __VA_ARGS__) DO(14, __VA_ARGS__) DO(15, __VA_ARGS__)
/* clang-format on */

#define START(i, type) type s##i = a;
#define FUSED(i, instruction) __asm__ volatile(instruction : "+w"(s##i) : "w"(a), "w"(b));

/* 32 fused instructions per round. */
#define SPIN_FUSED(name, type, element, instruction)              \
    __attribute__((noinline)) static void name(int64_t rounds)    \
    {                                                             \
        type a, b;                                                \
        for (size_t i = 0; i < sizeof a / sizeof(element); i++) { \
            ((element *)&a)[i] = (element)0.37;                   \
            ((element *)&b)[i] = (element)0.73;                   \
        }                                                         \
        SIXTEEN(START, type)                                      \
        for (int64_t i = 0; i < rounds; i++) {                    \
            SIXTEEN(FUSED, instruction)                           \
            SIXTEEN(FUSED, instruction)                           \
        }                                                         \
    }

typedef float float_4 __attribute__((vector_size(16)));
typedef double double_2 __attribute__((vector_size(16)));

SPIN_FUSED(spin_scalar_f32, float, float, "fmadd %s0, %s1, %s2, %s0")
SPIN_FUSED(spin_scalar_f64, double, double, "fmadd %d0, %d1, %d2, %d0")
SPIN_FUSED(spin_neon_f32, float_4, float, "fmla %0.4s, %1.4s, %2.4s")
SPIN_FUSED(spin_neon_f64, double_2, double, "fmla %0.2d, %1.2d, %2.2d")

bool arithmetic_ask_tiles(void)
{
    return false;
}

const struct arithmetic arithmetic_variants[] = {
    {MACHINE_UNIT_SCALAR, MACHINE_F32, -1, 32 * 2, spin_scalar_f32},
    {MACHINE_UNIT_SCALAR, MACHINE_F64, -1, 32 * 2, spin_scalar_f64},
    {MACHINE_UNIT_NEON, MACHINE_F32, MACHINE_NEON, 32 * 8, spin_neon_f32},
    {MACHINE_UNIT_NEON, MACHINE_F64, MACHINE_NEON, 32 * 4, spin_neon_f64},
    {0},
};

#else

/* Plain C: what the compiler makes of it is what there is to measure. */
#define SPIN_PLAIN(name, element)                              \
    __attribute__((noinline)) static void name(int64_t rounds) \
    {                                                          \
        volatile element sink;                                 \
        element s[8], factor = (element)0.999;                 \
        for (int k = 0; k < 8; k++)                            \
            s[k] = (element)(k + 1);                           \
        for (int64_t i = 0; i < rounds; i++)                   \
            for (int k = 0; k < 8; k++)                        \
                s[k] = s[k] * factor + (element)0.37;          \
        for (int k = 0; k < 8; k++)                            \
            sink = s[k];                                       \
        (void)sink;                                            \
    }

SPIN_PLAIN(spin_scalar_f32, float)
SPIN_PLAIN(spin_scalar_f64, double)

bool arithmetic_ask_tiles(void)
{
    return false;
}

const struct arithmetic arithmetic_variants[] = {
    {MACHINE_UNIT_SCALAR, MACHINE_F32, -1, 16, spin_scalar_f32},
    {MACHINE_UNIT_SCALAR, MACHINE_F64, -1, 16, spin_scalar_f64},
    {0},
};

#endif
