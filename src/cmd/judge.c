/*
 * smelt judge: is this kernel right?
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/judged.h"
#include "cmd/stored.h"
#include "judge/judge.h"
#include "machine/machine.h"

static const char *const caches[] = {"cold", "warm", NULL};
static const char *const levels[] = {"none", "basic", "strong", "full", NULL};

static const struct option options[] = {
    OPTIONS_JUDGED,
    {.name = "case", .letter = 'c', .argument = "I", .help = "only this case, counted from 0"},
    {.name = "threads", .argument = "N", .help = "threads the kernel is given (1 when not given)"},
    {.name = "jobs",
     .letter = 'j',
     .argument = "N",
     .help = "of several kernels, work on so many at once (one per processor when not given); "
             "they are timed one at a time"},
    {.name = "isolation",
     .argument = "LEVEL",
     .choices = levels,
     .help =
         "the least isolation that is accepted: none, basic (limits, privileges, system calls), "
         "strong (and files), full (and namespaces)"},
    {.name = "baseline",
     .letter = 'b',
     .argument = "NAME",
     .repeated = true,
     .help = "compare with this: plain (the plain kernel smelt writes), kernel:FILE.c (a kernel of "
             "your own), openblas, onednn, cublas, torch:EXPRESSION, command:PROGRAM ARGUMENTS, or "
             "the name "
             "of a baseline line of the task; not given: plain and those lines of the task that "
             "start no program"},
    {.name = "check-only", .help = "find out whether it is right, do not time it"},
    {.name = "cache",
     .argument = "STATE",
     .choices = caches,
     .help = "time with cold or warm caches, whatever the task says (warm when it says nothing)"},
    {.name = "seconds",
     .argument = "S",
     .help = "time to spend on timing one case (3 when not given)"},
    {.name = "timeout",
     .argument = "S",
     .help = "a call that takes longer counts as hung (10 when not given)"},
    {.name = "memory",
     .argument = "SIZE",
     .help = "most memory to take, such as 8G or 500M (four fifths of what there is when not "
             "given)"},
    {.name = "oracle",
     .argument = "WHERE",
     .choices = judged_oracles,
     .help = "who computes what large cases on a device are compared with: cpu, device (in double "
             "precision, in a process of its own), or auto, which is device for much work on a GPU "
             "(auto when not given)"},
    {.name = "replay",
     .argument = "ID",
     .help = "run the very draw again that a verdict names by this id"},
    {.name = "out",
     .letter = 'o',
     .argument = "DIR",
     .help = "write inputs and expected outputs of a failing draw to DIR as .npy files"},
    {.name = "samples",
     .argument = "FILE",
     .help = "write down every time that is measured: lines of round, what (launch, warm, batch, "
             "program), calls, when it began, seconds and name, separated by tabs"},
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt judge softmax.op kernel.c", "by all cases of the file's task"},
    {"smelt judge softmax B=[8] D=1024 kernel.c", "an op of the library at sizes of your choice"},
    {"smelt judge softmax.op kernel.cl", "on an OpenCL device"},
    {"smelt judge --run last new.c", "by the task of the newest run"},
    {"smelt judge softmax.op new.c --baseline kernel:old.c", "is the new one faster than mine?"},
    {"smelt judge softmax.op new.c --baseline 'torch:torch.softmax(x, -1)'", "than PyTorch?"},
    {"smelt judge softmax.op kernel.c --replay 3f2a9c0d11e07b52.0.4 --out data",
     "the draw that failed, again, with its arrays"},
    {0},
};

enum { CASES_MOST = 1024 };

struct request {
    struct judge_options options;
    struct judged judged;
};

static void take_baselines(struct invocation *invocation, struct judge_options *chosen)
{
    struct names VECTOR(const char *) names = {0};
    size_t cursor = 0;
    for (const char *name; (name = option_next(invocation, "baseline", &cursor));)
        vector_push(invocation->arena, &names, name);
    if (names.count == 0)
        return;
    vector_push(invocation->arena, &names, NULL);
    chosen->baselines = names.at;
}

/* "8G": a number and perhaps K, M, G or T. */
static bool take_memory(struct invocation *invocation, int64_t *bytes)
{
    static const char units[] = "KMGT";
    const char *text = option_value(invocation, "memory");
    char *end;
    if (!text)
        return true;
    double amount = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    for (int i = 0; unit && i <= unit - units; i++)
        amount *= 1024;
    if (end != text && (unit ? end[1] : end[0]) == 0 && amount >= 1 && amount < 0x1p62) {
        *bytes = (int64_t)amount;
        return true;
    }
    error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                          "--memory takes a size such as 8G or 500M, not '%s'", text),
               "smelt help judge");
    return false;
}

static bool take_options(struct invocation *invocation, struct request *request)
{
    struct judge_options *chosen = &request->options;
    *chosen = (struct judge_options){.only_case = -1, .only_draw = -1, .sanitize = true};
    chosen->check_only = option_given(invocation, "check-only");
    take_baselines(invocation, chosen);
    const char *level = option_value(invocation, "isolation");
    const char *id = option_value(invocation, "replay");
    if (level)
        sandbox_level_parse(level, &chosen->isolation);
    const char *cache = option_value(invocation, "cache");
    if (cache)
        chosen->cache = strcmp(cache, "cold") == 0 ? JUDGE_CACHE_COLD : JUDGE_CACHE_WARM;
    chosen->oracle = judged_oracle(option_value(invocation, "oracle"));
    chosen->keep = option_value(invocation, "out");
    chosen->samples = option_value(invocation, "samples");
    int64_t only_case = -1, threads = 0, jobs = 0;
    if (!option_count(invocation, "case", 0, CASES_MOST, &only_case) ||
        !option_count(invocation, "threads", 1, MACHINE_THREADS, &threads) ||
        !option_count(invocation, "jobs", 1, MACHINE_THREADS, &jobs) ||
        !take_memory(invocation, &chosen->memory) ||
        !option_number(invocation, "seconds", 1e6, &chosen->time_seconds) ||
        !option_number(invocation, "timeout", 1e6, &chosen->seconds))
        return false;
    chosen->only_case = (int)only_case;
    chosen->threads = (int)threads;
    chosen->jobs = (int)jobs;
    if (id && !judge_id_parse(id, chosen)) {
        error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                              "'%s' is no id of a verdict", id),
                   "copy it from the verdict: --replay 3f2a9c0d11e07b52.0.4");
        return false;
    }
    struct error error = {0};
    if (chosen->keep && mkdir(chosen->keep, 0777) != 0) {
        struct stat status;
        if (stat(chosen->keep, &status) != 0 || !S_ISDIR(status.st_mode)) {
            error_system(&error, ERROR_CANNOT_WRITE, "could not make %s", chosen->keep);
            errors_take(&invocation->errors, &error);
            return false;
        }
    }
    return true;
}

/* ---- words ---- */

static void print_index(struct text *out, const struct mismatch *mismatch)
{
    text_printf(out, "%s[", mismatch->tensor);
    for (int d = 0; d < mismatch->rank; d++)
        text_printf(out, "%s%lld", d ? ", " : "", (long long)mismatch->index[d]);
    text_char(out, ']');
}

static void print_case(struct text *out, const struct case_result *result)
{
    text_printf(out, "    %s %s: ", result->held ? "held case" : "case", result->text);
    if (result->refused) {
        text_printf(out, "not judged: it %s\n", result->refused);
        return;
    }
    text_add(out, outcome_name(result->outcome));
    if (result->sampled > 0)
        text_printf(out, ", checked at %lld of %.3g elements in each draw%s",
                    (long long)result->sampled, (double)result->elements,
                    result->device_oracle ? " by a reference on the device" : "");
    if (isnan(result->microseconds)) {
        text_char(out, '\n');
        return;
    }
    text_printf(out,
                ", %.4g us (%.4g to %.4g over %d launches, %s caches, noise %.2g %%), %.3g GB/s, "
                "%.3g GFLOP/s\n",
                result->microseconds, result->time.low, result->time.high, result->rounds,
                result->cold ? "cold" : "warm", 100 * result->noise, result->gigabytes,
                result->gigaflops);
    if (result->device_microseconds > 0)
        text_printf(out, "        %.4g us at best by the clock of the device\n",
                    result->device_microseconds);
    if (result->floor > 0)
        text_printf(out, "        %.0f %% of what this machine could do (%.4g us)\n",
                    100 * result->floor / result->microseconds, result->floor);
    const struct speedup *headline = case_headline(result);
    int compared = 0;
    for (int i = 0; i < result->speedup_count; i++)
        compared += !result->speedups[i].problem;
    for (int i = 0; i < result->speedup_count; i++) {
        const struct speedup *speedup = &result->speedups[i];
        if (speedup->problem) {
            text_printf(out, "        not compared with %s: %s\n", speedup->baseline,
                        speedup->problem);
            continue;
        }
        text_printf(out, "        %.3g times as fast as %s%s (%.3g to %.3g; %.4g us%s)%s\n",
                    speedup->ratio.middle, speedup->baseline,
                    speedup == headline && compared > 1 ? ", the fastest" : "", speedup->ratio.low,
                    speedup->ratio.high, speedup->microseconds,
                    speedup->self_reported ? ", self-reported" : "",
                    speedup->decided ? "" : ": undecided");
    }
}

static void print_verdict(struct invocation *invocation, const char *name,
                          const struct verdict *verdict)
{
    struct text out = text_new(invocation->arena);
    text_printf(&out, "%s: %s%s%s: %s\n", name, output_bold(invocation),
                outcome_name(verdict->outcome), output_plain(invocation), verdict->message);
    if (verdict->mismatch) {
        text_add(&out, "    ");
        print_index(&out, verdict->mismatch);
        double got = verdict->mismatch->got; /* which bits a NaN has tells nobody anything */
        text_printf(&out, " is %.9g, expected %.9g", isnan(got) ? NAN : got,
                    verdict->mismatch->expected);
        if (verdict->mismatch->limit > 0)
            text_printf(&out, " within %.2g", verdict->mismatch->limit);
        text_printf(&out, "\n    %s", verdict->mismatch->pattern);
        if (verdict->mismatch->draw)
            text_printf(&out, "; inputs: %s", verdict->mismatch->draw);
        text_char(&out, '\n');
    }
    for (const char *line = verdict->detail; *line;) {
        size_t length = strcspn(line, "\n");
        text_printf(&out, "    %.*s\n", (int)length, line);
        line += length + (line[length] != 0);
    }
    for (int i = 0; i < verdict->case_count; i++)
        print_case(&out, &verdict->cases[i]);
    if (verdict->id)
        text_printf(&out, "    replay with --replay %s\n", verdict->id);
    text_printf(&out, "    compiled in %.2f s, checked in %.2f s; isolation: %s\n",
                verdict->compile_seconds, verdict->check_seconds,
                verdict->isolation ? verdict->isolation : "compiler only");
    output_text(&out);
}

/* Whether a comparison in some timed case is open: the other may be faster or slower. */
static bool is_undecided(const struct verdict *verdict)
{
    for (int i = 0; i < verdict->case_count; i++)
        for (int k = 0; k < verdict->cases[i].speedup_count; k++)
            if (!verdict->cases[i].speedups[k].decided && !verdict->cases[i].speedups[k].problem)
                return true;
    return false;
}

static enum exit_code exit_of(const struct verdict *verdict)
{
    if (verdict->outcome == OUTCOME_OK)
        return is_undecided(verdict) ? EXIT_UNDECIDED : EXIT_YES;
    return verdict->outcome == OUTCOME_JUDGE_FAULT ? EXIT_ENVIRONMENT : EXIT_NO;
}

static bool is_timed(const struct verdict *verdict, int c)
{
    return c < verdict->case_count && verdict->outcome == OUTCOME_OK &&
           !isnan(verdict->cases[c].microseconds);
}

/* How one kernel compares with another they were timed beside; NULL: they were not. */
static const struct speedup *find_pair(const struct case_result *result, const char *other)
{
    for (int i = 0; i < result->speedup_count; i++)
        if (!result->speedups[i].problem && strcmp(result->speedups[i].baseline, other) == 0)
            return &result->speedups[i];
    return NULL;
}

/* By their own comparison, where there was one. */
static bool is_faster(const struct case_result *a, const struct case_result *b, const char *b_name)
{
    const struct speedup *pair = find_pair(a, b_name);
    return pair ? pair->ratio.middle > 1 : a->microseconds < b->microseconds;
}

/* Fastest first in each timed case, when there is more than one kernel. */
static void print_ranking(struct invocation *invocation, const struct request *request,
                          const struct verdict *verdicts)
{
    size_t count = request->judged.kernels.count;
    struct text out = text_new(invocation->arena);
    for (int c = 0; c < request->judged.task->case_count; c++) {
        bool *listed = arena_array(invocation->arena, count, sizeof *listed);
        const char *before = NULL;
        for (size_t place = 0; place < count; place++) {
            size_t best = count;
            for (size_t i = 0; i < count; i++)
                if (is_timed(&verdicts[i], c) && !listed[i] &&
                    (best == count || is_faster(&verdicts[i].cases[c], &verdicts[best].cases[c],
                                                request->judged.kernels.at[best]->name)))
                    best = i;
            if (best == count)
                break;
            listed[best] = true;
            if (place == 0)
                text_printf(&out, "ranking, case %s\n", request->judged.task->cases[c].text);
            const char *name = request->judged.kernels.at[best]->name;
            const struct case_result *result = &verdicts[best].cases[c];
            const struct speedup *pair = before ? find_pair(result, before) : NULL;
            text_printf(&out, "    %zu. %s  %.4g us", place + 1, name, result->microseconds);
            if (result->slower_than)
                text_printf(&out, "  (cut early: slower than %s)", result->slower_than);
            else if (pair && !pair->decided)
                text_add(&out, "  (undecided against the one before)");
            text_char(&out, '\n');
            before = name;
        }
    }
    output_text(&out);
}

/* What is not said is as in the run. */
static void take_run(struct request *request)
{
    const struct judge_options *as_run = &request->judged.as_run;
    if (!request->options.threads)
        request->options.threads = as_run->threads;
    if (!request->options.baselines)
        request->options.baselines = as_run->baselines;
}

static enum exit_code run(struct invocation *invocation)
{
    struct request request = {0};
    if (!take_options(invocation, &request) || !judged_find(&request.judged, invocation))
        return errors_exit(&invocation->errors);
    take_run(&request);
    size_t count = request.judged.kernels.count;
    struct verdict *verdicts = arena_array(invocation->arena, count, sizeof *verdicts);
    struct error error = {0};
    if (!judge_kernels(invocation->arena, request.judged.task, request.judged.kernels.at,
                       (int)count, &request.options, verdicts, &error)) {
        errors_take(&invocation->errors, &error);
        return error_exit(error.code);
    }
    enum exit_code exit = EXIT_YES;
    struct text out = text_new(invocation->arena);
    struct json json = {0};
    if (invocation->json) {
        json = output_json_begin(invocation, &out);
        json_string(&json, "task", request.judged.task->name);
        json_array(&json, "verdicts");
    }
    for (size_t i = 0; i < count; i++) {
        const char *name = request.judged.kernels.at[i]->name;
        if (invocation->json)
            verdict_write(&json, name, &verdicts[i]);
        else
            print_verdict(invocation, name, &verdicts[i]);
        exit = exit_worse(exit, exit_of(&verdicts[i]));
    }
    if (invocation->json) {
        json_end(&json);
        return exit_worse(exit, output_json_end(invocation, &json));
    }
    if (count > 1)
        print_ranking(invocation, &request, verdicts);
    return exit;
}

const struct command command_judge = {
    .name = "judge",
    .summary = "find out whether a kernel is right",
    .operands = "FILE|OP [NAME=VALUE...] KERNEL... | --run RUN KERNEL...",
    .operand_kind = OPERAND_FILE_OR_OP,
    .least = 1,
    .most = -1,
    .description =
        "Compiles a kernel, runs it on inputs it cannot foresee, and compares every element with "
        "the reference. Compiler and kernel are confined: no network, no files but their own, no "
        "other processes. The kernel never sees the answer, the seed, or which draw it works "
        "on.\n\n"
        "Each case is drawn in several ways: as the task says, with heavy tails, large, tiny, and "
        "with few non-zeros; each draw runs twice, at different addresses and over different "
        "rubbish, with pages that cannot be touched before and behind every buffer. An element may "
        "be off by a few units of the task's accuracy class, measured where the reference itself "
        "would move that far when its inputs do.\n\n"
        "What a kernel looks like is said in docs/kernel.md; 'smelt gen --plain' writes one to "
        "start from. Its manifest names the target: kernels for opencl and cuda run on the first "
        "device there is, which 'smelt doctor' names, and are compared with the plain kernel of "
        "that target.\n\n"
        "Cases marked `time` are then timed: every kernel and baseline in a process of its own, "
        "started "
        "afresh for every measurement, in random order, until the intervals are narrow or the time "
        "is up. Several kernels are ranked. The answer is 0 when every kernel is ok and every "
        "comparison decided, 1 when a kernel is not ok, 4 when all are ok and a comparison is "
        "undecided.",
    .options = options,
    .examples = examples,
    .run = run,
};
