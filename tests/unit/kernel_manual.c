/*
 * The example in docs/kernel.md is a kernel: it compiles without a warning and is right.
 */
#include <math.h>
#include <string.h>

#include "kernel_run.h"
#include "lang/lang.h"
#include "lib_vectors.h"
#include "os/os.h"
#include "test.h"

static struct text example_of(struct arena *arena)
{
    struct error error = {0};
    const char *page = file_read(arena, arena_printf(arena, "%s/docs/kernel.md", repository_root()),
                                 1 << 20, NULL, &error);
    if (!page)
        test_fail(__FILE__, __LINE__, "%s", error.message);
    const char *start = strstr(page, "```c\n");
    const char *end = start ? strstr(start + 5, "```") : NULL;
    CHECK(end != NULL);
    struct text text = text_new(arena);
    text_add_bytes(&text, start + 5, (size_t)(end - start - 5));
    return text;
}

static void check_at(struct arena *arena, struct lang *lang, const char *rows, const char *columns,
                     const struct text *text, kernel_function *function)
{
    struct errors errors = errors_new(arena);
    struct error error = {0};
    const struct ast_op *op = lang_find_op(lang, NULL, "softmax");
    const char *settings[] = {rows, columns};
    struct task *task = lang_task_from_settings(lang, NULL, op, settings, 2, &errors);
    CHECK(task != NULL);
    const struct task_case *task_case = &task->cases[0];
    struct ir_binding *binding =
        ir_bind(arena, task_case->program, task_case->sizes, task_case->scalars, &error);
    CHECK(binding != NULL);
    struct source *source = arena_new(arena, struct source);
    *source = (struct source){"kernel.md", text->at, text->length};
    struct kernel *kernel = kernel_parse(arena, source, binding->part, &errors);
    if (!kernel)
        test_fail(__FILE__, __LINE__, "%s", errors.list.at[0].message);
    CHECK(kernel_holds(kernel, binding->sizes, NULL));
    struct array input;
    CHECK(oracle_draw(arena, task_case, binding, 3, &input, &error));
    for (int64_t i = 0; i < input.count; i++)
        input.floats[i] = dtype_round(DTYPE_F32, input.floats[i] * (i % 3 ? 1 : 40));
    if (input.count > 40) {
        input.floats[5] = -INFINITY;
        input.floats[input.count - 1] = NAN;
    }
    kernel_run_check(arena, binding, &input, function, kernel, 64);
}

TEST(manual_example_is_a_kernel)
{
    struct arena arena = {0};
    struct library *library;
    struct lang *lang = lang_new(&arena, arena_printf(&arena, "%s/lib", repository_root()));
    struct text text = example_of(&arena);
    kernel_run_what = "docs/kernel.md";
    kernel_function *function = kernel_run_compile(&arena, &text, false, &library);
    check_at(&arena, lang, "B=[3]", "D=32", &text, function);
    check_at(&arena, lang, "B=[1]", "D=16", &text, function);
    check_at(&arena, lang, "B=[5]", "D=1024", &text, function);
    check_at(&arena, lang, "B=[5]", "D=0", &text, function);
    check_at(&arena, lang, "B=[0]", "D=48", &text, function);
    arena_release(&arena); /* the library stays: threads of OpenMP live in it */
}
