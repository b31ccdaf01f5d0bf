/*
 * What the page is about, read from the store.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/private.h"

const struct candidate *report_find(const struct report *report, int64_t id)
{
    size_t low = 0, high = report->count;
    while (low < high) { /* in the order of their numbers */
        size_t middle = (low + high) / 2;
        if (report->all[middle].id == id)
            return &report->all[middle];
        if (report->all[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* The fastest of those who have most; a run that was killed has not said which it is. */
static const struct candidate *find_best(const struct report *report)
{
    const struct candidate *best =
        report->run->best ? report_find(report, report->run->best) : NULL;
    for (size_t i = 0; i < report->count && !report->run->best; i++)
        if (report->all[i].fitness > (best ? best->fitness : 0))
            best = &report->all[i];
    return best;
}

static void find_steps(struct report *report)
{
    const struct candidate *back[REPORT_STEPS];
    size_t count = 0;
    /* A parent is older than its children: this ends. */
    for (const struct candidate *at = report->best; at && count < REPORT_STEPS;) {
        back[count++] = at;
        const struct candidate *parent =
            at->parents[0] ? report_find(report, at->parents[0]) : NULL;
        at = parent && parent->id < at->id ? parent : NULL;
    }
    report->steps = arena_array(report->arena, count ? count : 1, sizeof(*report->steps));
    report->step_count = count;
    for (size_t i = 0; i < count; i++)
        report->steps[i] = back[count - 1 - i];
}

static const char *read_object(const struct report *report, const char *hash, size_t *length)
{
    struct error error;
    const struct report_subject *subject = report->subject;
    const char *text =
        hash ? subject->engine->object_get(subject->store, report->arena, hash, length, &error)
             : NULL;
    if (!text)
        *length = 0;
    return text ? text : "";
}

/* Kernels of a batch are compared with each other, too: those are no baselines. */
static const struct json_value *fastest_baseline(const struct json_value *timed)
{
    const struct json_value *speedups = json_member(timed, "speedups"), *fastest = NULL;
    for (const struct json_value *at = speedups ? speedups->first : NULL; at; at = at->next) {
        double time = json_number(at, "microseconds");
        if (strncmp(json_text(at, "baseline"), "candidate ", 10) == 0 || !(time > 0))
            continue;
        if (!fastest || time < json_number(fastest, "microseconds"))
            fastest = at;
    }
    return fastest;
}

static void read_verdict(struct report *report)
{
    size_t length;
    const char *text = read_object(report, report->best->verdict, &length);
    const struct json_value *root = json_read(report->arena, text, length);
    const struct json_value *verdicts = json_member(root, "verdicts");
    report->diagnosis = json_member(root, "diagnosis");
    report->verdict = verdicts ? verdicts->first : NULL;
    const struct json_value *cases = json_member(report->verdict, "cases");
    for (const struct json_value *at = cases ? cases->first : NULL; at; at = at->next)
        if (!report->timed && json_member(at, "microseconds"))
            report->timed = at;
    report->baseline = fastest_baseline(report->timed);
}

/* "bf16", from the kernel's own first lines: "// op softmax T=bf16 B=1". */
static const char *find_dtype(const struct report *report)
{
    static const char *const names[] = {"f64", "f32", "f16", "bf16", "i8"};
    const char *line = strstr(report->kernel, "// op ");
    size_t length = line ? strcspn(line, "\n") : 0;
    for (const char *at = line; at && (at = memchr(at, '=', length - (size_t)(at - line))); at++)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (strncmp(at + 1, names[i], strlen(names[i])) == 0)
                return names[i];
    return "f32";
}

static int find_threads(const char *settings)
{
    const char *at = settings ? strstr(settings, "--threads=") : NULL;
    int threads = at ? atoi(at + 10) : 1;
    return threads > 0 ? threads : 1;
}

/* A signature is the machine's, and behind a + the toolchain's. */
static bool is_here(const char *signature, const struct machine *machine)
{
    size_t length = machine ? strlen(machine->id) : 0;
    return signature && length > 0 && strncmp(signature, machine->id, length) == 0 &&
           (signature[length] == '\0' || signature[length] == '+');
}

bool report_read(struct report *report, struct error *error)
{
    const struct report_subject *subject = report->subject;
    struct store_candidates list = {0};
    struct candidate_query query = {.run = subject->run.id, .judged_only = true};
    size_t length;
    if (!subject->engine->candidate_list(subject->store, report->arena, &query, &list, error))
        return false;
    report->run = &subject->run;
    report->all = list.at;
    report->count = list.count;
    report->best = find_best(report);
    report->kernel = report->plan = "";
    report->threads =
        strcmp(report->run->target, "cpu") == 0 ? find_threads(report->run->settings) : 1;
    report->here = is_here(report->run->signature, subject->machine);
    find_steps(report);
    struct store_exchanges exchanges = {0};
    if (!subject->engine->exchange_list(subject->store, report->arena, subject->run.id, &exchanges,
                                        error))
        return false;
    report->tally = tally_of(report->arena, list.at, list.count, exchanges.at, exchanges.count,
                             report->best ? report->best->id : 0);
    if (report->best) {
        report->kernel = read_object(report, report->best->kernel, &length);
        report->plan = read_object(report, report->best->plan, &length);
        read_verdict(report);
    }
    report->dtype = find_dtype(report);
    return true;
}
