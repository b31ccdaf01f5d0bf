/*
 * Which ops cuBLAS is asked to compute, by their structure, and how it is asked.
 */
#include "baseline/baseline.h"
#include "kernel_run.h"
#include "lang/lang.h"
#include "lib_vectors.h"
#include "test.h"

static const struct recognised {
    const char *op, *settings[8];
    bool matches, a_transposed, b_transposed, a_batched, b_batched, vector;
} cases[] = {
    {"mm", {"M=5", "N=6", "K=7"}, true, false, false, false, false, false},
    {"mm", {"T=f64", "M=5", "N=6", "K=7"}, true, false, false, false, false, false},
    {"mm", {"T=bf16", "M=5", "N=6", "K=7"}, true, false, false, false, false, false},
    {"mm", {"T=i32", "M=5", "N=6", "K=7"}, false, false, false, false, false, false},
    {"bmm", {"B=3", "M=5", "N=6", "K=7"}, true, false, false, true, true, false},
    {"matmul_nt", {"B=[2]", "M=5", "N=6", "K=7"}, true, false, true, true, true, false},
    {"matmul_tn", {"B=[]", "M=5", "N=6", "K=7"}, true, true, false, false, false, false},
    {"matmul_tt", {"B=[2, 2]", "M=5", "N=6", "K=7"}, true, true, true, true, true, false},
    {"mv", {"M=9", "K=7"}, true, false, false, false, false, true},
    {"linear", {"B=[2, 3]", "K=7", "N=5"}, false, false, false, false, false, false},
    {"softmax", {"B=[4]", "D=9", "A=[]"}, false, false, false, false, false, false},
    {"conv1d", {"N=2", "C=3", "W=11", "O=4", "S=3"}, false, false, false, false, false, false},
};

TEST(cublas_recognises_products)
{
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct recognised *entry = &cases[i];
        struct errors errors = errors_new(&arena);
        struct lang *lang = lang_new(&arena, arena_printf(&arena, "%s/lib", repository_root()));
        const struct ast_op *op = lang_find_op(lang, NULL, entry->op);
        size_t count = 0;
        while (entry->settings[count])
            count++;
        const struct task *task =
            op ? lang_task_from_settings(lang, NULL, op, entry->settings, count, &errors) : NULL;
        CHECK(task != NULL);
        if (!task)
            continue;
        struct baseline baseline;
        struct error error = {0};
        enum baseline_answer answer =
            baseline_make(&arena, "cublas", task->cases[0].program, &baseline, &error);
        kernel_run_what = entry->op;
        CHECK_INT(answer, entry->matches ? BASELINE_READY : BASELINE_DOES_NOT_APPLY);
        if (answer != BASELINE_READY)
            continue;
        const struct baseline_product *product = baseline.variants[0].product;
        CHECK_INT(product->a.transposed, entry->a_transposed);
        CHECK_INT(product->b.transposed, entry->b_transposed);
        CHECK_INT(product->a.batched, entry->a_batched);
        CHECK_INT(product->b.batched, entry->b_batched);
        CHECK_INT(product->n == NULL, entry->vector);
    }
    arena_release(&arena);
}
