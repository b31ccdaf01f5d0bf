/*
 * OpenBLAS as a baseline for products of matrices: y[m, n] += a[m, k] * b[k, n] with either operand
 * transposed, and y[m] += a[m, k] * x[k], in f32 and f64.
 *
 * Debian's build takes recent processors for old ones and runs several times too slow unless
 * OPENBLAS_CORETYPE names a core that fits; so there is a variant per core and the best one counts.
 */
#include <dlfcn.h>
#include <string.h>

#include "baseline/private.h"
#include "baseline/product.h"

/* ---- the kernel ---- */

static void print_size(struct text *out, const struct ir_size *size)
{
    static const char *const signs[] = {
        [IR_SIZE_ADD] = "+", [IR_SIZE_SUB] = "-", [IR_SIZE_MUL] = "*"};
    if (size->op == IR_SIZE_CONSTANT) {
        text_printf(out, "%lld", (long long)size->value);
    } else if (size->op == IR_SIZE_SYMBOL) {
        text_printf(out, "sizes[%d]", size->symbol);
    } else {
        text_char(out, '(');
        print_size(out, size->a);
        text_printf(out, " %s ", signs[size->op]);
        print_size(out, size->b);
        text_char(out, ')');
    }
}

static bool is_plain_size(const struct ir_size *size)
{
    return !size || size->op <= IR_SIZE_SYMBOL ||
           (size->op <= IR_SIZE_MUL && is_plain_size(size->a) && is_plain_size(size->b));
}

static const char loader[] =
    "#include <dlfcn.h>\n"
    "#include <stdint.h>\n"
    "#include <stdlib.h>\n"
    "enum { ROW = 101, PLAIN = 111, TRANSPOSED = 112 };\n"
    "typedef void gemm_function(int, int, int, int, int, int, REAL, const REAL *, int, const REAL "
    "*,\n"
    "                           int, REAL, REAL *, int);\n"
    "typedef void gemv_function(int, int, int, int, REAL, const REAL *, int, const REAL *, int, "
    "REAL,\n"
    "                           REAL *, int);\n"
    "static void *entry;\n"
    "__attribute__((constructor)) static void load(void)\n"
    "{\n"
    "    const char *threads = getenv(\"OMP_NUM_THREADS\");\n"
    "    if (CORE[0])\n"
    "        setenv(\"OPENBLAS_CORETYPE\", CORE, 1);\n"
    "    setenv(\"OPENBLAS_NUM_THREADS\", threads ? threads : \"1\", 1);\n"
    "    void *library = dlopen(\"libopenblas.so.0\", RTLD_NOW);\n"
    "    entry = library ? dlsym(library, NAME) : NULL;\n"
    "}\n"
    "int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)\n"
    "{\n"
    "    (void)scalars, (void)scratch;\n"
    "    if (!entry)\n"
    "        return 1;\n";

static const struct source *print_kernel(struct arena *arena,
                                         const struct baseline_product *product, int output,
                                         const char *core)
{
    struct text out = text_new(arena);
    bool is_double = product->dtype == DTYPE_F64;
    text_printf(&out, "#define REAL %s\n#define CORE \"%s\"\n#define NAME \"cblas_%c%s\"\n",
                is_double ? "double" : "float", core, is_double ? 'd' : 's',
                product->n ? "gemm" : "gemv");
    text_add(&out, loader);
    const struct ir_size *const sizes[] = {product->m, product->n, product->k};
    for (int i = 0; i < 3; i++) {
        if (!sizes[i])
            continue;
        text_printf(&out, "    const int %c = (int)", "mnk"[i]);
        print_size(&out, sizes[i]);
        text_add(&out, ";\n");
    }
    const char *a = product->a.transposed ? "TRANSPOSED" : "PLAIN";
    const char *b = product->b.transposed ? "TRANSPOSED" : "PLAIN";
    if (product->n)
        text_printf(&out,
                    "    ((gemm_function *)entry)(ROW, %s, %s, m, n, k, 1, tensors[%d], %s, "
                    "tensors[%d], %s,\n                             0, tensors[%d], n);\n",
                    a, b, product->a.input, product->a.transposed ? "m" : "k", product->b.input,
                    product->b.transposed ? "k" : "n", output);
    else
        text_printf(
            &out,
            "    ((gemv_function *)entry)(ROW, %s, %s, %s, 1, tensors[%d], %s, tensors[%d], "
            "1, 0, tensors[%d], 1);\n",
            a, product->a.transposed ? "k" : "m", product->a.transposed ? "m" : "k",
            product->a.input, product->a.transposed ? "m" : "k", product->b.input, output);
    text_add(&out, "    return 0;\n}\n");
    struct source *source = arena_new(arena, struct source);
    *source = (struct source){"openblas.c", out.at, out.length};
    return source;
}

enum baseline_answer baseline_openblas(struct arena *arena, const char *argument,
                                       const struct ir_program *program, struct baseline *baseline,
                                       struct error *error)
{
    static const char *const cores[] = {"",           "Haswell",        "SkylakeX",
                                        "Cooperlake", "SapphireRapids", "Zen"};
    (void)argument;
    const struct ir_part *part = ir_root(program);
    struct baseline_product product = {0};
    bool matches = product_match(arena, part, &product) &&
                   (product.dtype == DTYPE_F32 || product.dtype == DTYPE_F64) &&
                   part->tensors[part->outputs[0]].rank == (product.n ? 2 : 1);
    if (!matches || !is_plain_size(product.m) || !is_plain_size(product.n) ||
        !is_plain_size(product.k)) {
        error_set(error, ERROR_USAGE, "OpenBLAS has nothing that computes '%s'", part->name);
        error_hint(error, "it does products of two matrices, or of a matrix and a vector");
        return BASELINE_DOES_NOT_APPLY;
    }
    void *library = dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        error_set(error, ERROR_MISSING_TOOL, "OpenBLAS is not installed");
        error_hint(error, "apt-get install libopenblas0");
        return BASELINE_DOES_NOT_APPLY;
    }
    dlclose(library);
    for (size_t i = 0; i < sizeof cores / sizeof *cores && i < BASELINE_VARIANTS; i++)
        baseline->variants[baseline->variant_count++] = (struct baseline_variant){
            .source = print_kernel(arena, &product, part->input_count, cores[i]),
            .setup = cores[i][0] ? arena_printf(arena, "OPENBLAS_CORETYPE=%s", cores[i])
                                 : "OPENBLAS_CORETYPE not set",
            .opens_libraries = true};
    return BASELINE_READY;
}
