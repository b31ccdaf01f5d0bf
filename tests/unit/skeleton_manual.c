/*
 * docs/plans.md explains every decision of every skeleton, in the section of that skeleton.
 */
#include <glob.h>
#include <string.h>

#include "lang/lang.h"
#include "lib_vectors.h"
#include "os/os.h"
#include "skeleton/skeleton.h"
#include "test.h"

struct manual {
    struct arena *arena;
    const char *page;
    struct map opened; /* name of a skeleton that fitted something -> non-NULL */
    struct map looked; /* "row keep" -> non-NULL */
};

/* The text of "### Inside `NAME`" up to the next heading, or NULL. */
static const char *section_of(const struct manual *manual, const char *name)
{
    const char *title = arena_printf(manual->arena, "### Inside `%s`\n", name);
    const char *start = strstr(manual->page, title);
    const char *end = start ? strstr(start + 3, "\n##") : NULL;
    if (!end)
        return NULL;
    return arena_copy(manual->arena, start, (size_t)(end - start));
}

static void check_slots(struct manual *manual, const char *name, const struct skeleton_slots *slots)
{
    const char *section = slots->count ? section_of(manual, name) : "";
    if (!section)
        test_fail(__FILE__, __LINE__, "docs/plans.md has no section \"Inside `%s`\"", name);
    for (size_t i = 0; i < slots->count; i++) {
        const char *key = slots->at[i].key;
        if (map_set(&manual->looked, arena_printf(manual->arena, "%s %s", name, key), manual))
            continue;
        if (!strstr(section, arena_printf(manual->arena, "`%s`", key)) &&
            !strstr(section, arena_printf(manual->arena, "`%s ", key)))
            test_fail(__FILE__, __LINE__, "docs/plans.md says nothing of `%s` of %s", key, name);
    }
}

/* Every group of every seed plan, with every skeleton that fits it. */
static void check_task(struct manual *manual, const struct task *task)
{
    struct machine machine;
    struct rates rates = {0};
    struct plan *plans[8];
    machine_describe(&machine, "");
    struct skeleton_target target = skeleton_target_new(&machine, &rates);
    struct ir_binding binding = {ir_root(task->cases[0].program), task->cases[0].sizes,
                                 task->cases[0].scalars};
    const struct skeleton_program *program =
        skeleton_program_new(manual->arena, task->cases[0].program, &binding, &target);
    int count = skeleton_seeds(program, plans, 8);
    for (int p = 0; p < count; p++) {
        for (int g = 0; g < plans[p]->group_count; g++) {
            struct skeleton_group group = skeleton_group_of(program, plans[p], g);
            for (const struct skeleton *const *at = skeleton_table(NULL); *at; at++) {
                struct skeleton_reason why_not = {""};
                struct skeleton_slots slots = {0};
                if (!(*at)->match(&group, &why_not))
                    continue;
                (*at)->open(&group, &slots);
                map_set(&manual->opened, (*at)->name, manual);
                check_slots(manual, (*at)->name, &slots);
            }
        }
    }
}

TEST(manual_explains_every_decision)
{
    struct arena arena = {0};
    struct error error = {0};
    struct errors errors = errors_new(&arena);
    const char *root = repository_root();
    struct manual manual = {.arena = &arena, .opened = map_new(&arena), .looked = map_new(&arena)};
    manual.page =
        file_read(&arena, arena_printf(&arena, "%s/docs/plans.md", root), 1 << 20, NULL, &error);
    CHECK(manual.page != NULL);
    glob_t files;
    CHECK(glob(arena_printf(&arena, "%s/tasks/core/*.op", root), 0, NULL, &files) == 0);
    struct lang *lang = lang_new(&arena, arena_printf(&arena, "%s/lib", root));
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct lang_file *file = lang_load(lang, files.gl_pathv[i], &errors);
        const struct task *task = file && lang_task_count(file)
                                      ? lang_task(lang, file, lang_task_ast(file, 0), &errors)
                                      : NULL;
        if (!task || task->case_count == 0)
            test_fail(__FILE__, __LINE__, "%s has no task", files.gl_pathv[i]);
        check_task(&manual, task);
    }
    globfree(&files);
    for (const struct skeleton *const *at = skeleton_table(NULL); *at; at++) {
        if (!map_has(&manual.opened, (*at)->name))
            test_fail(__FILE__, __LINE__, "no task of core is for skeleton %s", (*at)->name);
    }
    arena_release(&arena);
}
