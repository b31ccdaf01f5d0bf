/*
 * How long the code of a plan takes to make: generation SMELT
 *
 * For each task of the suite core, in this process: the seed plans (once) and the kernel of the
 * best of them (lowered and printed, median of several). Then long programs. With --each behind
 * SMELT: a line for each task.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gen/gen.h"
#include "lang/lang.h"
#include "skeleton/skeleton.h"

enum { RUNS = 7 };

/* Of the processor: one thread computes, and on a busy machine others must not count. */
static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct taken { /* milliseconds; bytes of the kernel */
    double plan, code;
    size_t length;
};

static struct taken time_task(struct arena *arena, const struct task *task)
{
    struct machine machine = {0};
    struct rates rates = {0};
    struct taken taken = {0};
    struct plan *plan;
    machine_describe(&machine, "");
    struct skeleton_target target = skeleton_target_new(&machine, &rates);
    const struct ir_program *program = task->cases[0].program;
    struct ir_binding binding = {ir_root(program), task->cases[0].sizes, task->cases[0].scalars};
    double start = now_ms(), times[RUNS];
    const struct skeleton_program *ready = skeleton_program_new(arena, program, &binding, &target);
    if (skeleton_seeds(ready, &plan, 1) != 1)
        return (struct taken){-1, -1, 0};
    taken.plan = now_ms() - start;
    struct arena scratch = {0}; /* as a search has it, from candidate to candidate */
    struct skeleton_program again = *ready;
    again.arena = &scratch;
    for (int i = 0; i < RUNS; i++) {
        struct gen_head head = {0};
        struct text source = text_new(&scratch);
        start = now_ms();
        gen_loop_c(&source, skeleton_lower(&again, plan), &head);
        times[i] = now_ms() - start;
        taken.length = source.length;
        arena_reset(&scratch);
    }
    arena_release(&scratch);
    qsort(times, RUNS, sizeof *times, compare);
    taken.code = times[RUNS / 2];
    return taken;
}

static struct taken time_file(const char *library, const char *path, const char *text)
{
    struct arena arena = {0};
    struct errors errors = errors_new(&arena);
    struct lang *lang = lang_new(&arena, library);
    struct lang_file *file = text ? lang_load_text(lang, path, text, strlen(text), &errors)
                                  : lang_load(lang, path, &errors);
    const struct task *task = file && lang_task_count(file)
                                  ? lang_task(lang, file, lang_task_ast(file, 0), &errors)
                                  : NULL;
    struct taken taken = {-1, -1, 0};
    if (task && task->case_count)
        taken = time_task(&arena, task);
    arena_release(&arena);
    return taken;
}

static void row(const char *what, double measured, double limit)
{
    printf("%s | %.1f ms | < %.0f ms | %s\n", what, measured, limit,
           measured >= 0 && measured < limit ? "yes" : "NO");
}

/* The slowest of a suite; `each`: with a line for each task. */
static void time_suite(struct arena *arena, const char *library, bool each)
{
    struct taken worst = {0};
    const char *slowest = "";
    glob_t files;
    if (glob(arena_printf(arena, "%s/../tasks/core/*.op", library), 0, NULL, &files) != 0) {
        printf("the suite core | not there | < 5 ms | NO\n");
        return;
    }
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct taken taken = time_file(library, files.gl_pathv[i], NULL);
        const char *name = strrchr(files.gl_pathv[i], '/') + 1;
        if (each)
            printf("%-40s plans %7.2f ms, code %6.2f ms, %6zu bytes\n", name, taken.plan,
                   taken.code, taken.length);
        if (taken.code > worst.code || taken.code < 0) {
            worst.code = taken.code < 0 ? 1e9 : taken.code;
            slowest = arena_string(arena, name);
        }
        worst.plan = taken.plan > worst.plan ? taken.plan : worst.plan;
    }
    globfree(&files);
    row(arena_printf(arena, "code of a plan, slowest of core (%.*s)", (int)strcspn(slowest, "."),
                     slowest),
        worst.code, 5);
    row("seed plans, slowest of core", worst.plan, 50);
}

/* A chain of `count` / 4 softmaxes, each written out in four statements. */
static const char *long_program(struct arena *arena, int count)
{
    struct text text = text_new(arena);
    text_add(&text, "op long(t0: f32[B, D]) -> (y: f32[B, D]) {\n");
    for (int i = 0; i < count / 4; i++) {
        bool last = i == count / 4 - 1;
        text_printf(&text, "    m%d[b] max= t%d[b, d]\n", i, i);
        text_printf(&text, "    e%d[b, d] = exp(t%d[b, d] - m%d[b])\n", i, i, i);
        text_printf(&text, "    s%d[b] += e%d[b, d]\n", i, i);
        text_printf(&text, last ? "    y" : "    t%d", i + 1);
        text_printf(&text, "[b, d] = e%d[b, d] / s%d[b]\n", i, i);
    }
    text_add(&text, "}\n\ntask long_rows of long\n    case B=64, D=1024 time\n");
    return text.at;
}

static void time_long(struct arena *arena, int count, double limit)
{
    struct taken taken = time_file(NULL, "long.op", long_program(arena, count));
    row(arena_printf(arena, "seed plans of %d statements", count), taken.plan, limit);
    row(arena_printf(arena, "their code (%zu KB)", taken.length >> 10), taken.code, limit);
}

int main(int count, char **arguments)
{
    struct arena arena = {0};
    bool each = count > 2 && strcmp(arguments[2], "--each") == 0;
    if (count < 2 || !strchr(arguments[1], '/')) {
        fprintf(stderr, "usage: generation PATH/SMELT [--each]\n");
        return 2;
    }
    int length = (int)(strrchr(arguments[1], '/') - arguments[1]);
    time_suite(&arena, arena_printf(&arena, "%.*s/../lib", length, arguments[1]), each);
    time_long(&arena, 200, 100);
    time_long(&arena, 2000, 1000);
    arena_release(&arena);
    return 0;
}
