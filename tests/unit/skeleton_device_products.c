/*
 * Products and attention on devices: NVRTC's compiler says that they take the shared memory that
 * was predicted, and that the registers they were given are enough. That they compute the right
 * thing is judged on a device (tests/cli/device_products.cli).
 */
#include <stdio.h>
#include <string.h>

#include "gen/gen.h"
#include "lang/lang.h"
#include "lib_vectors.h"
#include "skeleton/skeleton.h"
#include "target/target.h"
#include "test.h"

struct product {
    const char *op;
    const char *settings[12];
    const char *skeleton; /* of the first seed's last group */
};

static const struct product PRODUCTS[] = {
    {"matmul", {"B=[]", "M=4096", "N=4096", "K=4096"}, "contract"},
    {"matmul", {"T=f16", "B=[8]", "M=250", "N=1000", "K=60"}, "contract"},
    {"matmul", {"T=f64", "B=[]", "M=500", "N=500", "K=500"}, "contract"},
    {"matmul", {"B=[]", "M=64", "N=64", "K=65536"}, "contract"},
    {"conv2d",
     {"N=128", "G=1", "C=64", "H=128", "W=128", "O=128", "R=3", "S=3", "pad=1"},
     "contract"},
    {"cumsum", {"B=[32768]", "D=32768", "A=[]"}, "scan"},
    {"cumsum", {"T=f64", "B=[100]", "D=100", "A=[64]"}, "scan"},
    {"index_add", {"B=[]", "V=1000", "N=8192", "A=[64]"}, "scatter"},
    {"scatter_src", {"B=[100]", "V=50", "N=80", "A=[7]"}, "scatter"},
    {"jagged_softmax", {"E=20000", "S=300", "B=[64]"}, "jagged"},
    {"attention_causal", {"B=[32]", "L=1024", "S=1024", "E=64", "D=64"}, "attend"},
};

struct planned {
    const struct skeleton_program *program;
    struct plan *plan;
};

static struct planned planned_new(struct arena *arena, const struct product *product,
                                  const struct skeleton_target *target)
{
    struct errors errors = errors_new(arena);
    struct planned planned = {0};
    struct plan *plans[1];
    size_t count = 0;
    while (count < 12 && product->settings[count])
        count++;
    struct lang *lang = lang_new(arena, arena_printf(arena, "%s/lib", repository_root()));
    struct lang_file *library = lang_library(lang, &errors);
    const struct ast_op *op = library ? lang_find_op(lang, library, product->op) : NULL;
    CHECK(op != NULL);
    const struct task *task =
        lang_task_from_settings(lang, library, op, product->settings, count, &errors);
    CHECK(task != NULL);
    struct ir_binding *binding = arena_new(arena, struct ir_binding);
    *binding = (struct ir_binding){ir_root(task->cases[0].program), task->cases[0].sizes,
                                   task->cases[0].scalars};
    planned.program = skeleton_program_new(arena, task->cases[0].program, binding, target);
    CHECK(skeleton_seeds(planned.program, plans, 1) == 1);
    planned.plan = plans[0];
    return planned;
}

static const struct target *compiler(struct arena *arena)
{
    struct target_build build = {0};
    struct error error = {0};
    const struct target *cuda = target_find("cuda");
    const char *text = "extern \"C\" __global__ void nothing(void) {}";
    CHECK(cuda != NULL);
    if (!cuda->compile(arena, NULL, "sm_90a", text, strlen(text), &build, &error) || !build.done)
        SKIP("there is no NVRTC for sm_90a");
    return cuda;
}

TEST(device_products_take_what_was_predicted)
{
    struct arena arena = {0};
    const struct target *cuda = compiler(&arena);
    struct skeleton_device device;
    CHECK(skeleton_device_named(&device, "cuda", "sm_90a"));
    struct skeleton_target target = skeleton_target_device(&device);
    for (size_t i = 0; i < sizeof PRODUCTS / sizeof *PRODUCTS; i++) {
        struct arena own = {0};
        struct planned planned = planned_new(&own, &PRODUCTS[i], &target);
        const struct plan_group *group = &planned.plan->groups[planned.plan->group_count - 1];
        CHECK_STR(group->skeleton, PRODUCTS[i].skeleton);
        struct skeleton_cost cost = skeleton_predict(planned.program, planned.plan);
        struct loop_kernel *kernel = skeleton_lower(planned.program, planned.plan);
        struct error error = {0};
        CHECK(loop_check(kernel, &error));
        struct text text = text_new(&own);
        CHECK(gen_loop_device(&text, kernel, "cuda", &(struct gen_head){.architecture = "sm_90a"}));
        struct target_build build = {.log = text_new(&own)};
        CHECK(cuda->compile(&own, NULL, "sm_90a", text.at, text.length, &build, &error));
        if (!build.done)
            test_fail(__FILE__, __LINE__, "%s: %s", PRODUCTS[i].op, build.log.at);
        int64_t shared = 0;
        for (int f = 0; f < build.function_count; f++) {
            const struct target_function_facts *facts = &build.functions[f];
            shared = facts->shared_bytes > shared ? facts->shared_bytes : shared;
            if (facts->spill_bytes > 0)
                test_fail(__FILE__, __LINE__, "%s, number %zu, spills %lld bytes", PRODUCTS[i].op,
                          i, (long long)facts->spill_bytes);
        }
        CHECK_INT(shared, cost.shared);
        arena_release(&own);
    }
    arena_release(&arena);
}
