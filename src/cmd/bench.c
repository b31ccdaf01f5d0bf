/*
 * smelt bench: a suite of tasks, each kernel judged and timed side by side with its baselines.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/ablate.h"
#include "cmd/bench.h"
#include "cmd/judged.h"
#include "cmd/planned.h"
#include "cmd/subject.h"
#include "gen/gen.h"
#include "judge/judge.h"
#include "kernel/kernel.h"
#include "os/file.h"
#include "os/sandbox.h"

static const char *const kernels[] = {"seed", "plain", NULL};

static const struct option options[] = {
    {.name = "target",
     .argument = "TARGET",
     .help = "where kernels run: cpu (the default), opencl, cuda"},
    {.name = "kernel",
     .argument = "KIND",
     .choices = kernels,
     .help = "what is timed: seed (the kernel of the first plan, the default) or plain"},
    {.name = "task",
     .argument = "WORD",
     .repeated = true,
     .help = "only tasks whose name has this word in it, or another one given so"},
    {.name = "shard",
     .argument = "I/N",
     .help = "only the I-th of N parts of the tasks: every N-th file, from the I-th on"},
    {.name = "baseline",
     .letter = 'b',
     .argument = "NAME",
     .repeated = true,
     .help = "compare with this instead of the baselines each task names"},
    {.name = "threads", .argument = "N", .help = "threads kernels are given (1 when not given)"},
    {.name = "seconds",
     .argument = "S",
     .help = "time to spend on timing a case (1 when not given)"},
    {.name = "times", .help = "say below each row how long it took to make it"},
    {.name = "check-only", .help = "find out whether the kernels are right, do not time them"},
    {.name = "oracle",
     .argument = "WHERE",
     .choices = judged_oracles,
     .help = "who computes what large cases on a device are compared with, as for smelt judge: "
             "auto (the default), cpu or device"},
    {.name = "save", .argument = "FILE", .help = "keep the results in FILE"},
    {.name = "against", .argument = "FILE", .help = "compare with results kept earlier"},
    {.name = "measure",
     .argument = "N",
     .help = "with ablate: measure N plans of each task into a table in the folder of --save"},
    {.name = "seeds", .argument = "N", .help = "with ablate: searches per arm (100)"},
    {.name = "arm",
     .argument = "NAME",
     .repeated = true,
     .help = "with ablate: compare this way to search with the first, and no others; may be given "
             "several times"},
    {.name = "learn",
     .argument = "FOLDER",
     .help = "with ablate: experience is what searches on the tables of FOLDER leave behind, not "
             "on the other tables named"},
    {.name = "poor-start",
     .help = "with ablate: each search begins with a plan drawn from the slower half of the table, "
             "not with "
             "the first plans of a run"},
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt bench core", "the suite of common operators"},
    {"smelt bench peers --task matmul --threads 2 --save today.bench", "some of a suite, kept"},
    {"smelt bench peers --task matmul --against today.bench", "the same again, compared"},
    {"smelt bench my_tasks/", "task files of your own"},
    {"smelt bench gpu --target cuda -b torch -b torch-compile --shard 1/6",
     "a sixth of a suite, on a GPU"},
    {"smelt bench ablate bench/tables/*.table", "what the parts of the search are worth"},
    {0},
};

struct bench {
    struct invocation *invocation;
    struct judge_options judge;
    bool plain;
    struct skeleton_target target;
    int shard, shards; /* of the files: from 1 on */
    const char *word;  /* the first of --task; NULL: all tasks */
    bool times;
    struct judge_resident resident; /* kernels are our own: nobody suspects them */
    struct bench_rows rows;
    struct file_names files;
    enum exit_code exit;
};

static bool find_files(struct bench *bench)
{
    struct invocation *invocation = bench->invocation;
    for (size_t i = 0; i < invocation->operands.count; i++) {
        const char *word = invocation->operands.at[i];
        struct stat status;
        bool exists = stat(word, &status) == 0;
        const char *folder = exists ? NULL : subject_suite(invocation, word);
        if (folder)
            invocation->operands.at[i] = folder;
        else if (!exists) {
            error_hint(errors_add(&invocation->errors, ERROR_NO_FILES, (struct place){0},
                                  "there is no suite, folder or file '%s'", word),
                       "the suites are core, peers, recsys, gpu and aten");
            return false;
        }
    }
    bench->files = subject_files(invocation, &invocation->errors);
    return invocation->errors.list.count == 0;
}

static bool take_shard(struct bench *bench)
{
    const char *text = option_value(bench->invocation, "shard");
    char rest = 0;
    bench->shard = bench->shards = 1;
    if (!text || (sscanf(text, "%d/%d%c", &bench->shard, &bench->shards, &rest) == 2 &&
                  bench->shard >= 1 && bench->shard <= bench->shards))
        return true;
    error_hint(errors_add(&bench->invocation->errors, ERROR_USAGE, (struct place){0},
                          "--shard takes a part and how many there are, not '%s'", text),
               "--shard 2/6");
    return false;
}

static bool take_options(struct bench *bench)
{
    struct invocation *invocation = bench->invocation;
    int64_t threads = 1;
    double seconds = 1;
    if (!option_count(invocation, "threads", 1, MACHINE_THREADS, &threads) ||
        !option_number(invocation, "seconds", 3600, &seconds))
        return false;
    struct error error = {0};
    if (!planned_target(invocation->arena, option_value(invocation, "target"), &bench->target,
                        &error)) {
        errors_take(&invocation->errors, &error);
        return false;
    }
    if (!bench->target.device)
        bench->target.threads = (int)threads;
    const char *kind = option_value(invocation, "kernel");
    bench->plain = kind && strcmp(kind, "plain") == 0;
    bench->word = option_value(invocation, "task");
    bench->times = option_given(invocation, "times");
    if (!take_shard(bench))
        return false;
    bench->judge = (struct judge_options){
        .only_case = -1,
        .only_draw = -1,
        .threads = (int)threads,
        .time_seconds = seconds,
        .seconds = 60,
        .check_only = option_given(invocation, "check-only"),
        .oracle = judged_oracle(option_value(invocation, "oracle")),
    };
    if (bench->judge.check_only)
        bench->judge.resident = &bench->resident;
    struct names VECTOR(const char *) names = {0};
    size_t cursor = 0;
    for (const char *name; (name = option_next(invocation, "baseline", &cursor));)
        vector_push(invocation->arena, &names, name);
    if (names.count > 0) {
        vector_push(invocation->arena, &names, NULL);
        bench->judge.baselines = names.at;
    }
    return true;
}

/* ---- one task ---- */

/* The kernel for the types and ranks of a case: the plan's, or the plain one. */
static const struct source *write_kernel(struct bench *bench, const struct task *task, int which,
                                         struct error *error)
{
    struct arena *arena = bench->invocation->arena;
    struct text text = text_new(arena);
    const struct skeleton_device *device = bench->target.device;
    if (bench->plain && device)
        gen_plain_device(&text, task->cases[which].program, device->language,
                         &(struct gen_contract){0});
    else if (bench->plain)
        gen_plain_c(&text, task->cases[which].program, GEN_PLAIN);
    else if (!planned_seed(bench->invocation->scratch, task, which, &bench->target, &text, error))
        return NULL;
    struct source *source = arena_new(arena, struct source);
    *source = (struct source){.name = task->name, .text = text.at, .length = text.length};
    return source;
}

static struct bench_row *add_row(struct bench *bench, const struct task *task, const char *text,
                                 const char *outcome, const char *message)
{
    struct arena *arena = bench->invocation->arena;
    struct bench_row row = {.task = task->name,
                            .text = text,
                            .outcome = outcome,
                            .message = arena_printf(arena, "%s", message),
                            .microseconds = NAN};
    vector_push(arena, &bench->rows, row);
    return &bench->rows.at[bench->rows.count - 1];
}

/* "torch" is enough where each task has an expression of its own. */
static void shorten_names(struct bench *bench, struct case_result *result)
{
    for (int i = 0; i < result->speedup_count; i++) {
        const char *name = result->speedups[i].baseline;
        if (strncmp(name, "torch", 5) == 0)
            result->speedups[i].baseline =
                arena_copy(bench->invocation->arena, name, strcspn(name, ": "));
    }
}

/* One row per timed case, or one for all that went wrong. */
static void add_verdict(struct bench *bench, const struct task *task, const struct verdict *verdict)
{
    const char *outcome = outcome_name(verdict->outcome);
    int right = 0;
    for (int i = 0; i < verdict->case_count; i++)
        right += verdict->cases[i].outcome == OUTCOME_OK;
    if (verdict->outcome != OUTCOME_OK || bench->judge.check_only) {
        const char *message = verdict->outcome == OUTCOME_OK
                                  ? arena_printf(bench->invocation->arena, "right in %d case%s",
                                                 right, right == 1 ? "" : "s")
                                  : verdict->message;
        add_row(bench, task, "", outcome, message)->isolation = verdict->isolation;
        return;
    }
    for (int i = 0; i < verdict->case_count; i++) {
        struct case_result *result = &verdict->cases[i];
        if (result->held || isnan(result->microseconds))
            continue;
        struct bench_row *row = add_row(bench, task, result->text, outcome, "");
        row->isolation = verdict->isolation;
        row->microseconds = result->microseconds;
        row->gigabytes = result->gigabytes;
        row->gigaflops = result->gigaflops;
        row->floor = result->floor;
        row->speedups = result->speedups;
        row->compiling = verdict->compile_seconds;
        row->checking = verdict->check_seconds;
        row->timing = verdict->time_seconds;
        row->outside = verdict->outside_seconds;
        shorten_names(bench, result);
        row->absent_count = result->speedup_count;
        while (row->speedup_count < result->speedup_count &&
               !result->speedups[row->speedup_count].problem)
            row->speedup_count++; /* those that could not be compared with come last */
        row->absent_count -= row->speedup_count;
    }
}

static void run_kernel(struct bench *bench, const struct task *task, int which)
{
    struct arena *arena = bench->invocation->arena;
    struct verdict verdict = {0};
    struct error error = {0};
    const struct source *source = write_kernel(bench, task, which, &error);
    if (!source)
        add_row(bench, task, task->cases[which].text, "no kernel", error.message);
    else if (!judge_kernels(arena, task, &source, 1, &bench->judge, &verdict, &error))
        add_row(bench, task, task->cases[which].text, outcome_name(OUTCOME_JUDGE_FAULT),
                error.message);
    else
        add_verdict(bench, task, &verdict);
}

/* "T=f32 B=2": cases that differ in it need kernels of their own. */
static const char *instance_of(struct bench *bench, const struct task_case *one)
{
    struct text text = text_new(bench->invocation->arena);
    kernel_print_instance(&text, ir_root(one->program));
    return text.at;
}

static bool is_first_of_kind(struct bench *bench, const struct task *task, int which)
{
    const char *instance = instance_of(bench, &task->cases[which]);
    for (int i = 0; i < which; i++)
        if (strcmp(instance_of(bench, &task->cases[i]), instance) == 0)
            return false;
    return true;
}

static void run_task(struct bench *bench, const struct task *task)
{
    struct invocation *invocation = bench->invocation;
    size_t before = bench->rows.count;
    for (int i = 0; i < task->case_count; i++)
        if (is_first_of_kind(bench, task, i))
            run_kernel(bench, task, i);
    for (size_t i = before; i < bench->rows.count; i++) {
        const struct bench_row *row = &bench->rows.at[i];
        struct text line = text_new(invocation->arena);
        if (strcmp(row->outcome, "ok") != 0)
            bench->exit = exit_worse(bench->exit, EXIT_NO);
        if (i == 0)
            bench_print_head(&line, bench->judge.check_only);
        bench_print_row(&line, row);
        if (bench->times && row->timing > 0)
            bench_print_seconds(&line, row);
        if (!invocation->json)
            output_text(&line);
        fflush(stdout); /* whoever stops us has the rows so far */
    }
}

static bool is_wanted(const struct bench *bench, const struct task *task)
{
    size_t cursor = 0;
    if (!task || task->case_count == 0)
        return false;
    for (const char *word; (word = option_next(bench->invocation, "task", &cursor));)
        if (strstr(task->name, word))
            return true;
    return bench->word == NULL;
}

static void run_file(struct bench *bench, const char *path,
                     void (*what)(struct bench *bench, const struct task *task))
{
    struct invocation *invocation = bench->invocation;
    struct lang *lang = lang_new(invocation->arena, NULL);
    struct errors *errors = &invocation->errors;
    struct lang_file *file = subject_load(invocation, lang, path, errors);
    size_t count = file ? lang_task_count(file) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct task *task = lang_task(lang, file, lang_task_ast(file, i), errors);
        if (is_wanted(bench, task))
            what(bench, task);
    }
}

/* ---- ahead ---- */

enum { MOST_HELPERS = 4, CORES_EACH = 3 };

static void prepare_task(struct bench *bench, const struct task *task)
{
    struct error error = {0};
    for (int i = 0; i < task->case_count; i++) {
        const struct source *source =
            is_first_of_kind(bench, task, i) ? write_kernel(bench, task, i, &error) : NULL;
        if (source)
            judge_prepare(bench->invocation->arena, task, source);
    }
}

/*
 * On a device the processors have little to do while kernels are timed: where there are several,
 * they compile what the next rows need. How many helpers there are; they end by themselves, or with
 * us.
 */
static int start_helpers(struct bench *bench, pid_t *helpers)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int count = cores / CORES_EACH < MOST_HELPERS ? (int)(cores / CORES_EACH) : MOST_HELPERS;
    pid_t self = getpid();
    if (!bench->target.device || bench->judge.check_only)
        return 0;
    for (int h = 0; h < count; h++) {
        helpers[h] = fork();
        if (helpers[h] != 0)
            continue;
        sandbox_follow(self);
        size_t step = (size_t)bench->shards * (size_t)count;
        size_t first = (size_t)bench->shard - 1 + (size_t)bench->shards * (size_t)h;
        for (size_t i = first; i < bench->files.count; i += step)
            run_file(bench, bench->files.at[i], prepare_task);
        _exit(0);
    }
    return count;
}

static void end_helpers(const pid_t *helpers, int count)
{
    for (int h = 0; h < count; h++)
        if (helpers[h] > 0) {
            kill(helpers[h], SIGKILL);
            waitpid(helpers[h], NULL, 0);
        }
}

/* ---- all of them ---- */

static enum exit_code finish(struct bench *bench, const struct bench_rows *before)
{
    struct invocation *invocation = bench->invocation;
    const char *path = option_value(invocation, "save");
    struct text out = text_new(invocation->arena);
    if (path) {
        struct error error = {0};
        bench_save(&out, invocation->operands.at[0], &bench->rows);
        if (!file_write(path, out.at, out.length, 0644, &error)) {
            errors_take(&invocation->errors, &error);
            bench->exit = exit_worse(bench->exit, error_exit(error.code));
        }
        text_truncate(&out, 0);
    }
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        bench_write_rows(&json, &bench->rows);
        return exit_worse(bench->exit, output_json_end(invocation, &json));
    }
    if (bench->rows.count)
        bench_print_summary(&out, &bench->rows);
    if (before)
        bench_print_comparison(&out, &bench->rows, before);
    output_text(&out);
    return bench->exit;
}

static enum exit_code run(struct invocation *invocation)
{
    struct bench bench = {.invocation = invocation};
    const char *against = option_value(invocation, "against");
    const struct bench_rows *before = NULL;
    if (strcmp(invocation->operands.at[0], "ablate") == 0)
        return ablate_run(invocation);
    if (!take_options(&bench) || !find_files(&bench))
        return errors_exit(&invocation->errors);
    if (against) {
        struct error error = {0};
        const struct source *source = subject_read(invocation, against, &error);
        before = source ? bench_read(invocation->arena, source, &error) : NULL;
        if (!before) {
            errors_take(&invocation->errors, &error);
            return error_exit(error.code);
        }
    }
    pid_t helpers[MOST_HELPERS] = {0};
    int helper_count = start_helpers(&bench, helpers);
    for (size_t i = (size_t)bench.shard - 1; i < bench.files.count; i += (size_t)bench.shards)
        run_file(&bench, bench.files.at[i], run_task);
    end_helpers(helpers, helper_count);
    judge_resident_release(&bench.resident);
    if (bench.rows.count == 0 && invocation->errors.list.count == 0)
        error_hint(errors_add(&invocation->errors, ERROR_NO_FILES, (struct place){0},
                              "there is no task to time%s%s", bench.word ? " with the word " : "",
                              bench.word ? bench.word : ""),
                   "smelt check %s lists what there is", invocation->operands.at[0]);
    return exit_worse(finish(&bench, before), errors_exit(&invocation->errors));
}

const struct command command_bench = {
    .name = "bench",
    .summary = "time a suite of tasks against their baselines",
    .operands = "SUITE|FOLDER|FILE...",
    .operand_kind = OPERAND_FILE,
    .least = 1,
    .most = -1,
    .description =
        "Writes a kernel for every task of a suite, judges it, and times it side by side with the "
        "baselines the task names (plain when it names none). A line per timed case: the time of a "
        "call, bytes and operations per second of the op as it is written, how near that is to "
        "what "
        "the machine can do, and how many times as fast as each baseline; a question mark says "
        "that "
        "the interval still contains 1. The suites are core, peers, recsys, gpu and aten.\n\n"
        "Results that are kept with --save can be compared with later ones by --against. The "
        "comparison is between speed-ups over a baseline that was timed in both runs, not between "
        "times: machines are faster on some days than on others.\n\n"
        "`smelt bench ablate TABLE...` replays searches on plans measured once: how many "
        "evaluations they need until 95 % of the table's best, by policy, with and without "
        "diagnosis and experience (of all other tables, or of those of --learn; of other ops only: "
        "without what was learned on the same op at other sizes). `smelt bench ablate TASK.op... "
        "--measure N --save FOLDER` makes "
        "the tables.",
    .options = options,
    .examples = examples,
    .run = run,
};
