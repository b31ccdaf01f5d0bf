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

/* One operand: which of the two roles its first dimension has. */
struct operand {
    int input;       /* number among the inputs */
    bool transposed; /* a is read [k, m], b is read [n, k] */
};

struct product {
    struct operand a, b;
    const struct ir_size *m, *n, *k; /* n NULL: b is a vector */
    enum dtype dtype;
};

static int input_number(const struct ir_part *part, int tensor)
{
    for (int i = 0; i < part->input_count; i++)
        if (part->inputs[i] == tensor)
            return i;
    return -1;
}

/* The index a dimension is read with, when it is nothing but an index; else -1. */
static int bare_index(const struct ir_stage *stage, int node)
{
    const struct ir_node *entry = &stage->nodes.at[node];
    return entry->op == IR_INDEX ? entry->index : -1;
}

/* Reads [first, last] or [last, first]? */
static bool match_operand(const struct ir_part *part, const struct ir_stage *stage, int node,
                          int first, int last, struct operand *operand)
{
    const struct ir_node *read = &stage->nodes.at[node];
    if (read->op != IR_READ || read->read.guard != IR_NONE || read->read.checked)
        return false;
    int rank = part->tensors[read->read.tensor].rank;
    operand->input = input_number(part, read->read.tensor);
    if (operand->input < 0 || rank != (first < 0 ? 1 : 2))
        return false;
    int one = bare_index(stage, read->read.at[0]);
    int two = rank == 2 ? bare_index(stage, read->read.at[1]) : -1;
    if (rank == 1)
        return one == last;
    operand->transposed = one == last && two == first;
    return operand->transposed || (one == first && two == last);
}

static bool match_product(const struct ir_part *part, struct product *product)
{
    const struct ir_stage *stage = part->stages;
    if (part->stage_count != 1 || stage->kind != IR_REDUCE || stage->monoid->kind != IR_SUM ||
        stage->predicate != IR_NONE || part->output_count != 1 ||
        stage->index_count != stage->left_count + 1 || stage->left_count < 1 ||
        stage->left_count > 2)
        return false;
    const struct ir_write *write = &stage->writes[0];
    const struct ir_node *value = &stage->nodes.at[write->value];
    product->dtype = part->tensors[write->tensor].dtype;
    if (value->op != IR_MUL || (product->dtype != DTYPE_F32 && product->dtype != DTYPE_F64))
        return false;
    for (int i = 0; i < part->input_count; i++)
        if (part->tensors[part->inputs[i]].dtype != product->dtype)
            return false;
    int m = bare_index(stage, write->at[0]);
    int n = stage->left_count == 2 ? bare_index(stage, write->at[1]) : -1;
    int k = stage->indices[stage->left_count];
    if (m < 0 || (stage->left_count == 2 && n < 0))
        return false;
    product->m = part->indices[m].extent;
    product->n = n >= 0 ? part->indices[n].extent : NULL;
    product->k = part->indices[k].extent;
    int sides[2] = {value->a, value->b};
    for (int swap = 0; swap < 2; swap++)
        if (match_operand(part, stage, sides[swap], m, k, &product->a) &&
            (n >= 0 ? match_operand(part, stage, sides[1 - swap], k, n, &product->b)
                    : match_operand(part, stage, sides[1 - swap], -1, k, &product->b)))
            return true;
    return false;
}

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

static const struct source *print_kernel(struct arena *arena, const struct product *product,
                                         int output, const char *core)
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
    struct product product = {0};
    if (!match_product(part, &product) || !is_plain_size(product.m) || !is_plain_size(product.n) ||
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
            print_kernel(arena, &product, part->input_count, cores[i]),
            cores[i][0] ? arena_printf(arena, "OPENBLAS_CORETYPE=%s", cores[i])
                        : "OPENBLAS_CORETYPE not set",
            true};
    return BASELINE_READY;
}
