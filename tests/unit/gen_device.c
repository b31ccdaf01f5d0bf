/*
 * Plain kernels for devices: every operator of the library has one in every language, and its
 * manifest reads back as it was written. That they compute the right thing is shown where there is
 * a device (tests/device).
 */
#include <stdio.h>
#include <string.h>

#include "gen/gen.h"
#include "kernel/kernel.h"
#include "kernel_run.h"
#include "lang/lang.h"
#include "lib_vectors.h"
#include "test.h"

static const char *const TARGETS[] = {"opencl", "cuda"};

static struct kernel *written(struct arena *arena, const struct ir_program *program,
                              const char *target, struct text *text)
{
    struct errors errors = errors_new(arena);
    CHECK(gen_plain_device(text, program, target, &(struct gen_contract){0}));
    struct source *source = arena_new(arena, struct source);
    *source = (struct source){.name = "kernel", .text = text->at, .length = text->length};
    struct kernel *kernel = kernel_parse(arena, source, ir_root(program), &errors);
    if (!kernel)
        fprintf(stderr, "%s\n%s\n", errors.list.at[0].message, text->at);
    CHECK(kernel != NULL);
    return kernel;
}

TEST(device_library_manifests)
{
    struct arena arena = {0};
    struct errors errors = errors_new(&arena);
    struct lang *lang = lang_new(&arena, arena_printf(&arena, "%s/lib", repository_root()));
    struct lang_file *library = lang_library(lang, &errors);
    CHECK(library != NULL);
    for (size_t i = 0; i < lang_op_count(library); i++) {
        struct arena own = {0};
        struct settings settings = kernel_run_settings(&own, lang_op(library, i));
        struct task *task = lang_task_from_settings(lang, library, lang_op(library, i), settings.at,
                                                    settings.count, &errors);
        CHECK(task != NULL);
        for (size_t t = 0; t < sizeof TARGETS / sizeof *TARGETS; t++) {
            const struct ir_program *program = task->cases[0].program;
            struct text text = text_new(&own), again = text_new(&own);
            struct kernel *kernel = written(&own, program, TARGETS[t], &text);
            CHECK_STR(kernel->target, TARGETS[t]);
            CHECK(kernel->step_count > 0);
            kernel_print_manifest(&again, kernel, ir_root(program));
            CHECK(strncmp(text.at, again.at, again.length) == 0);
        }
        arena_release(&own);
    }
    arena_release(&arena);
}
