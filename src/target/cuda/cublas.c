/*
 * Products of matrices by cuBLAS, opened at run time. It knows columns first where we have rows
 * first, so it is asked for the transposed product of the operands in turn.
 */
#include "target/cuda/cublas.h"

#include <stdlib.h>
#include <string.h>

#include "os/library.h"

enum { PLAIN = 0, TRANSPOSED = 1, DEFAULT_ALGORITHM = -1 };

/* Of the elements, and what is computed in: f32 means f32, without TF32. */
static const struct type {
    const char *name;
    int elements, compute;
    bool doubles;
} types[] = {
    {"f32", 0, 68, false}, {"f64", 1, 70, true}, {"f16", 2, 68, false}, {"bf16", 14, 68, false}};

#define CUBLAS_FUNCTIONS(F)                                                                      \
    F("cublasCreate_v2", create, (cu_handle *))                                                  \
    F("cublasSetStream_v2", set_stream, (cu_handle, cu_handle))                                  \
    F("cublasSgemv_v2", vector_f32,                                                              \
      (cu_handle, int, int, int, const float *, const float *, int, const float *, int,          \
       const float *, float *, int))                                                             \
    F("cublasGemmStridedBatchedEx", product,                                                     \
      (cu_handle, int, int, int, int, int, const void *, cu_pointer, int, int, long long,        \
       cu_pointer, int, int, long long, const void *, cu_pointer, int, int, long long, int, int, \
       int))

struct cublas {
#define DECLARE(symbol, name, arguments) int(*name) arguments;
    CUBLAS_FUNCTIONS(DECLARE)
#undef DECLARE
    cu_handle handle;
};

static bool load_functions(struct cublas *cublas, struct error *error)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                        "libcublas.so"};
    const char *chosen = getenv("SMELT_CUBLAS");
    bool named = chosen && *chosen;
    struct library *library = named ? library_open(chosen, error) : NULL;
    for (size_t i = 0; !library && !named && i < sizeof names / sizeof *names; i++)
        library = library_open(names[i], error);
    if (!library) {
        error_set(error, ERROR_MISSING_TOOL, "%s cannot be opened", named ? chosen : "libcublas");
        error_hint(error, "install the cuBLAS of the CUDA toolkit (package libcublas), or name the "
                          "file: SMELT_CUBLAS=/path/of/libcublas.so.12");
        return false;
    }
    bool good = true;
#define LOAD(symbol, name, arguments) \
    good = good && library_load(library, symbol, &cublas->name, error);
    CUBLAS_FUNCTIONS(LOAD)
#undef LOAD
    return good;
}

static bool check(struct error *error, int status, const char *what)
{
    return status == CU_SUCCESS ||
           error_set(error, ERROR_TOOL_FAILED, "%s (cuBLAS status %d)", what, status);
}

struct cublas *cublas_open(cu_handle stream, struct error *error)
{
    struct cublas *cublas = calloc(1, sizeof *cublas);
    if (!cublas) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for cuBLAS");
        return NULL;
    }
    if (load_functions(cublas, error) &&
        check(error, cublas->create(&cublas->handle), "cuBLAS does not start") &&
        check(error, cublas->set_stream(cublas->handle, stream), "cuBLAS takes no stream"))
        return cublas;
    free(cublas);
    return NULL;
}

bool cublas_product(struct cublas *cublas, const struct target_product *product,
                    struct error *error)
{
    static const double one = 1, zero = 0;
    static const float one_f32 = 1, zero_f32 = 0;
    const struct type *type = NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, product->dtype) == 0)
            type = &types[i];
    if (!type)
        return error_set(error, ERROR_USAGE, "cuBLAS has no products in %s", product->dtype);
    int m = (int)product->m, n = (int)product->n, k = (int)product->k;
    int a_rows = product->a_transposed ? m : k, b_rows = product->b_transposed ? k : n;
    if (m == 0 || n == 0 || product->batch == 0)
        return true;
    if (n == 1 && product->batch == 1 && k > 0 && type == &types[0])
        return check(error,
                     cublas->vector_f32(cublas->handle, product->a_transposed ? PLAIN : TRANSPOSED,
                                        a_rows, product->a_transposed ? k : m, &one_f32,
                                        (const float *)product->a.handle, a_rows,
                                        (const float *)product->b.handle, 1, &zero_f32,
                                        (float *)product->y.handle, 1),
                     "cublasSgemv failed");
    int status = cublas->product(cublas->handle, product->b_transposed ? TRANSPOSED : PLAIN,
                                 product->a_transposed ? TRANSPOSED : PLAIN, n, m, k,
                                 type->doubles ? (const void *)&one : &one_f32, product->b.handle,
                                 type->elements, b_rows > 0 ? b_rows : 1, product->b_stride,
                                 product->a.handle, type->elements, a_rows > 0 ? a_rows : 1,
                                 product->a_stride, type->doubles ? (const void *)&zero : &zero_f32,
                                 product->y.handle, type->elements, n, (long long)m * n,
                                 (int)product->batch, type->compute, DEFAULT_ALGORITHM);
    return check(error, status, "cublasGemmStridedBatchedEx failed");
}
