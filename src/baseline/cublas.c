/*
 * cuBLAS as a baseline for products of matrices on CUDA, in f32 (TF32 stays off), f64, f16 and
 * bf16, with transposed operands and batches. The library is opened by smelt-device, which makes
 * the call itself: this only says which.
 */
#include "baseline/private.h"
#include "baseline/product.h"

/* The module that is loaded beside it has nothing to launch. */
static const char module[] = "// smelt kernel 1\n"
                             "// op product\n"
                             "// target cuda\n"
                             "\n"
                             "extern \"C\" __global__ void nothing()\n"
                             "{\n"
                             "}\n";

enum baseline_answer baseline_cublas(struct arena *arena, const char *argument,
                                     const struct ir_program *program, struct baseline *baseline,
                                     struct error *error)
{
    static const struct source source = {"cublas.cu", module, sizeof module - 1};
    (void)argument;
    const struct ir_part *part = ir_root(program);
    struct baseline_product *product = arena_new(arena, struct baseline_product);
    bool matches = product_match(arena, part, product);
    bool admitted = matches && (product->dtype == DTYPE_F32 || product->dtype == DTYPE_F64 ||
                                product->dtype == DTYPE_F16 || product->dtype == DTYPE_BF16);
    if (!admitted) {
        error_set(error, ERROR_USAGE, "cuBLAS has nothing that computes '%s'%s", part->name,
                  matches ? " in this type" : "");
        error_hint(error, "it does products of two matrices, or of a matrix and a vector, in f32, "
                          "f64, f16 and bf16");
        return BASELINE_DOES_NOT_APPLY;
    }
    baseline->variants[baseline->variant_count++] =
        (struct baseline_variant){.source = &source, .setup = "", .product = product};
    return BASELINE_READY;
}
