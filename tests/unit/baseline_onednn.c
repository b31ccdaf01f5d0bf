/*
 * What oneDNN is asked to compute, and what it is not: ops are recognised by their structure and
 * their values, so the names and the way a formula is written do not matter, and what only looks
 * alike is left alone. Where the library is installed, what it computes is compared as well.
 */
#include <string.h>

#include "baseline/baseline.h"
#include "kernel_run.h"
#include "lang/lang.h"
#include "lib_vectors.h"
#include "test.h"

static const struct recognised {
    const char *op, *settings[12], *call; /* NULL: it has nothing of the kind */
} cases[] = {
    {"mm", {"M=5", "N=6", "K=7"}, "make_product("},
    {"bmm", {"B=3", "M=5", "N=6", "K=7"}, "make_product("},
    {"matmul_nt", {"B=[2]", "M=5", "N=6", "K=7"}, ".b_transposed = 1"},
    {"matmul_tn", {"B=[]", "M=5", "N=6", "K=7"}, ".a_transposed = 1, .b_transposed = 0"},
    {"matmul_tt", {"B=[2, 2]", "M=5", "N=6", "K=7"}, ".a_transposed = 1, .b_transposed = 1"},
    {"mv", {"M=9", "K=7"}, "make_product("},
    {"linear", {"B=[2, 3]", "K=7", "N=5"}, ".bias = 2"},
    {"linear_gelu", {"B=[4]", "K=7", "N=5"}, ", 0x30, 0)"},
    {"linear_relu", {"B=[4]", "K=7", "N=5"}, ", 0x1f, 0)"},
    {"conv1d", {"N=2", "C=3", "W=11", "O=4", "S=3", "pad=1", "stride=2"}, ".spatial = 1"},
    {"conv2d", {"N=2", "C=3", "H=8", "W=9", "O=4", "R=3", "S=2", "pad=1", "dil=2"}, ".spatial = 2"},
    {"conv2d", {"N=1", "C=2", "G=2", "H=8", "W=9", "O=3", "R=3", "S=3"}, "make_convolution("},
    {"conv2d_no_bias", {"N=1", "C=3", "H=8", "W=9", "O=4", "R=1", "S=1"}, ".bias = -1"},
    {"depthwise_conv2d", {"N=1", "C=4", "M=2", "H=8", "W=9", "R=3", "S=3"}, "make_convolution("},
    {"conv3d", {"N=1", "C=2", "D=4", "H=5", "W=6", "O=3", "U=2", "R=2", "S=2"}, ".spatial = 3"},
    {"softmax", {"B=[4]", "D=9", "A=[]"}, "make_softmax(0, 1, 0"},
    {"softmax", {"B=[4]", "D=9", "A=[3]"}, "make_softmax(0, 1, 0"},
    {"log_softmax", {"B=[2, 4]", "D=9", "A=[]"}, "make_softmax(0, 1, 1"},
    {"layer_norm", {"B=[4]", "N=[3, 5]"}, "make_layer_norm(0, 1, 2, 3"},
    {"batch_norm", {"N=3", "C=4", "S=[5, 2]"}, "make_batch_norm(0, 3, 4, 1, 2, 5"},
    {"gelu", {"B=[50]"}, ", 0x30, 0)"},
    {"tanh", {"B=[5, 10]"}, ", 0x2f, 0)"},
    {"sigmoid", {"B=[50]"}, ", 0xaf, 0)"},
    {"relu", {"B=[50]"}, ", 0x1f, 0)"},
    {"max_pool2d", {"B=[2]", "H=9", "W=8", "size=3", "stride=2", "pad=1"}, "make_max_pooling("},
    {"relu6", {"B=[50]"}, NULL},
    {"rms_norm", {"B=[4]", "N=[9]"}, NULL},
    {"int_mm", {"M=5", "N=6", "K=7"}, NULL},
    {"mm", {"T=f64", "M=5", "N=6", "K=7"}, NULL},
    {"avg_pool2d", {"B=[2]", "H=9", "W=8", "size=3", "stride=2"}, NULL},
    {"addmm", {"M=5", "N=6", "K=7"}, NULL},
};

static const struct task *make_task(struct arena *arena, const struct recognised *entry)
{
    struct errors errors = errors_new(arena);
    struct lang *lang = lang_new(arena, arena_printf(arena, "%s/lib", repository_root()));
    const struct ast_op *op = lang_find_op(lang, NULL, entry->op);
    size_t count = 0;
    while (entry->settings[count])
        count++;
    kernel_run_what = entry->op;
    const struct task *task =
        op ? lang_task_from_settings(lang, NULL, op, entry->settings, count, &errors) : NULL;
    if (!task)
        kernel_run_complain("cannot be had", op ? errors.list.at[0].message : "no such op");
    return task;
}

/* Without the library the answer is that it is missing, which is said of nothing else. */
TEST(onednn_recognises_ops)
{
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct task *task = make_task(&arena, &cases[i]);
        struct baseline baseline;
        struct error error = {0};
        enum baseline_answer answer =
            baseline_make(&arena, "onednn", task->cases[0].program, &baseline, &error);
        CHECK(answer != BASELINE_FAILED);
        if (!cases[i].call) {
            CHECK_INT(answer, BASELINE_DOES_NOT_APPLY);
            CHECK_INT(error.code, ERROR_USAGE);
        } else if (answer == BASELINE_DOES_NOT_APPLY) {
            if (error.code != ERROR_MISSING_TOOL)
                kernel_run_complain("is not recognised", "");
        } else if (!strstr(baseline.variants[0].source->text, cases[i].call)) {
            const char *body = strstr(baseline.variants[0].source->text, "scalars;\n");
            kernel_run_complain("is taken for something else", body ? body : "");
        }
    }
    arena_release(&arena);
}

/* All ways to set it up give what the op says. */
TEST(onednn_computes_them)
{
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!cases[i].call)
            continue;
        const struct task_case *task_case = make_task(&arena, &cases[i])->cases;
        struct baseline baseline;
        struct error error = {0};
        if (baseline_make(&arena, "onednn", task_case->program, &baseline, &error) !=
            BASELINE_READY)
            SKIP("libdnnl.so.2 is not installed (./bootstrap --tests)");
        struct ir_binding *binding =
            ir_bind(&arena, task_case->program, task_case->sizes, task_case->scalars, &error);
        CHECK(binding != NULL);
        struct array *inputs =
            arena_array(&arena, (size_t)binding->part->input_count + 1, sizeof *inputs);
        CHECK(oracle_draw(&arena, task_case, binding, i + 1, inputs, &error));
        for (int v = 0; v < baseline.variant_count; v++) {
            const struct source *source = baseline.variants[v].source;
            struct errors errors = errors_new(&arena);
            struct text text = text_new(&arena);
            struct library *library;
            text_add_bytes(&text, source->text, source->length);
            struct kernel *kernel = kernel_parse(&arena, source, binding->part, &errors);
            CHECK(kernel != NULL);
            kernel_function *function = kernel_run_compile(&arena, &text, i > 0 || v > 0, &library);
            kernel_run_check(&arena, binding, inputs, function, kernel, 64);
            library_close(library);
        }
    }
    arena_release(&arena);
}

/* A formula counts by its values, not by the way it is written; nearly the same is not the same. */
TEST(onednn_reads_formulas_by_value)
{
    static const struct {
        const char *formula;
        bool known;
    } formulas[] = {
        {"max(0, x[i])", true},
        {"x[i] > 0 ? x[i] : 0", true},
        {"x[i] / (exp(0 - x[i]) + 1)", true},
        {"0.5 * x[i] * erfc(0 - x[i] / sqrt(2))", true},
        {"max(0, min(x[i], 100))", false},
        {"x[i] > 0 ? x[i] : 0.01 * x[i]", false},
        {"x[i] + i", false},
        {"x[N - 1 - i]", false},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        struct errors errors = errors_new(&arena);
        struct lang *lang = lang_new(&arena, arena_printf(&arena, "%s/lib", repository_root()));
        const char *text = arena_printf(
            &arena, "op own(x: f32[N]) -> (y: f32[N]) {\n    y[i] = %s over i < N\n}\n",
            formulas[i].formula);
        struct lang_file *file = lang_load_text(lang, "own.op", text, strlen(text), &errors);
        const char *const settings[] = {"N=9"};
        kernel_run_what = formulas[i].formula;
        const struct task *task =
            errors.list.count
                ? NULL
                : lang_task_from_settings(lang, file, lang_op(file, 0), settings, 1, &errors);
        if (!task)
            kernel_run_complain("is not accepted", errors.list.at[0].message);
        struct baseline baseline;
        struct error error = {0};
        enum baseline_answer answer =
            baseline_make(&arena, "onednn", task->cases[0].program, &baseline, &error);
        bool known = answer == BASELINE_READY || error.code == ERROR_MISSING_TOOL;
        if (known != formulas[i].known)
            kernel_run_complain(known ? "is taken for one of oneDNN's" : "is not recognised", "");
    }
    arena_release(&arena);
}
