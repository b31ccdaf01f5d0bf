/*
 * smelt bench ablate: the options, and what the replays say.
 */
#include "cmd/ablate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/subject.h"
#include "os/file.h"

enum { RESAMPLES = 1000 };

/* ---- numbers ---- */

static double mean_of(const int *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return count ? sum / count : NAN;
}

/* The mean over some seeds, drawn with replacement; random NULL: over all. */
static double mean_drawn(const struct ablate *ablate, const int *values, struct random *random)
{
    double sum = 0;
    if (!random)
        return mean_of(values, ablate->seeds);
    for (int i = 0; i < ablate->seeds; i++)
        sum += values[random_below(random, (uint64_t)ablate->seeds)];
    return sum / ablate->seeds;
}

/* Evaluations of the first arm over those of this one: the geometric mean over tables. */
static double advantage(const struct ablate *ablate, int arm, struct random *random)
{
    double sum = 0;
    for (int i = 0; i < ablate->count; i++) {
        int c = random ? (int)random_below(random, (uint64_t)ablate->count) : i;
        const struct ablate_case *one = &ablate->cases[c];
        sum += log(mean_drawn(ablate, one->needed[0], random) /
                   mean_drawn(ablate, one->needed[arm], random));
    }
    return exp(sum / ablate->count);
}

/* By drawing tables and seeds anew: what other tasks and other luck might have said. */
static struct interval advantage_interval(const struct ablate *ablate, int arm)
{
    static double drawn[RESAMPLES];
    struct random random = random_new(1, (uint64_t)arm);
    for (int i = 0; i < RESAMPLES; i++)
        drawn[i] = advantage(ablate, arm, &random);
    return (struct interval){statistics_quantile(drawn, RESAMPLES, 0.025),
                             advantage(ablate, arm, NULL),
                             statistics_quantile(drawn, RESAMPLES, 0.975)};
}

static double geometric_mean(const struct ablate *ablate, int arm)
{
    double sum = 0;
    for (int c = 0; c < ablate->count; c++)
        sum += log(mean_of(ablate->cases[c].needed[arm], ablate->seeds));
    return exp(sum / ablate->count);
}

/* ---- telling ---- */

static void print_tables(struct text *out, const struct ablate *ablate)
{
    text_printf(out, "evaluations until 95 %% of the best of the table, mean of %d seeds%s\n\n",
                ablate->seeds, ablate->poor_start ? ", each from a plan of the slower half" : "");
    text_printf(out, "%-26s %6s", "table", "plans");
    for (int a = 0; a < ABLATE_ARMS; a++)
        if (!ablate->left_out[a])
            text_printf(out, "  %*s", (int)strlen(ablate_arms[a].name), ablate_arms[a].name);
    text_char(out, '\n');
    for (int c = 0; c < ablate->count; c++) {
        const struct ablate_case *one = &ablate->cases[c];
        text_printf(out, "%-26s %6zu", one->name, one->table->by_hash.count);
        for (int a = 0; a < ABLATE_ARMS; a++) {
            if (ablate->left_out[a])
                continue;
            const char *mark = one->reached[a] < ablate->seeds ? "*" : "";
            text_printf(out, "  %*.1f%s", (int)(strlen(ablate_arms[a].name) - strlen(mark)),
                        mean_of(one->needed[a], ablate->seeds), mark);
        }
        text_char(out, '\n');
    }
    text_add(out, "\n(*: some seeds never got there; they count as the whole table)\n\n");
}

static void print_arms(struct text *out, const struct ablate *ablate)
{
    text_printf(out, "%-24s %11s  %s\n", "arm", "evaluations", "times fewer than the first (95 %)");
    for (int a = 0; a < ABLATE_ARMS; a++) {
        if (ablate->left_out[a])
            continue;
        text_printf(out, "%-24s %11.1f", ablate_arms[a].name, geometric_mean(ablate, a));
        if (a > 0) {
            struct interval interval = advantage_interval(ablate, a);
            text_printf(out, "  %.2f (%.2f to %.2f)", interval.middle, interval.low, interval.high);
        }
        text_char(out, '\n');
    }
}

static void write_arms(struct json *json, const struct ablate *ablate)
{
    json_int(json, "seeds", ablate->seeds);
    json_array(json, "arms");
    for (int a = 0; a < ABLATE_ARMS; a++) {
        if (ablate->left_out[a])
            continue;
        struct interval interval = advantage_interval(ablate, a);
        json_object(json, NULL);
        json_string(json, "arm", ablate_arms[a].name);
        json_double(json, "evaluations", geometric_mean(ablate, a));
        json_double(json, "fewer", interval.middle);
        json_double(json, "low", interval.low);
        json_double(json, "high", interval.high);
        json_array(json, "tables");
        for (int c = 0; c < ablate->count; c++) {
            const struct ablate_case *one = &ablate->cases[c];
            json_object(json, NULL);
            json_string(json, "table", one->name);
            json_double(json, "evaluations", mean_of(one->needed[a], ablate->seeds));
            json_int(json, "reached", one->reached[a]);
            json_end(json);
        }
        json_end(json);
        json_end(json);
    }
    json_end(json);
}

/* ---- reading ---- */

static const char *stem_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return arena_copy(arena, name, strcspn(name, "."));
}

static bool read_table(struct ablate *ablate, const char *path)
{
    struct invocation *invocation = ablate->invocation;
    struct arena *arena = invocation->arena;
    struct ablate_case *one = &ablate->cases[ablate->all];
    struct error error = {0};
    if (ablate->all == ABLATE_TABLES) {
        errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                   "at most %d tables are compared at once", ABLATE_TABLES);
        return false;
    }
    const struct source *source = subject_read(invocation, path, &error);
    struct table *table = source ? table_parse(arena, source, &error) : NULL;
    if (!table) {
        errors_take(&invocation->errors, &error);
        return false;
    }
    one->target = table->target;
    if (!ablate_prepare(invocation, stem_of(arena, path), table->task, one))
        return false;
    one->table = table;
    size_t rows = table->rows.count;
    int bound = table_bind(arena, table, one->program);
    if (bound < 2 || (size_t)bound * 2 < rows) {
        error_hint(errors_add(&invocation->errors, ERROR_BAD_TABLE, (struct place){0},
                              "%s: only %d of %zu plans are still plans of its task", path, bound,
                              rows),
                   "measure it again: smelt bench ablate TASK.op --measure 200 --save FOLDER");
        return false;
    }
    ablate->all++;
    return true;
}

/* The tables that are searched on, then those of --learn: who teaches depends on whether there are
 * any of the latter. */
static bool read_tables(struct ablate *ablate)
{
    struct invocation *invocation = ablate->invocation;
    const char *folder = option_value(invocation, "learn");
    struct file_names teachers = {0};
    for (size_t i = 0; i < invocation->operands.count; i++)
        if (!read_table(ablate, invocation->operands.at[i]))
            return false;
    ablate->count = ablate->all;
    if (folder)
        subject_folder(invocation, folder, ".table", &teachers, &invocation->errors);
    for (size_t i = 0; i < teachers.count; i++)
        if (!read_table(ablate, teachers.at[i]))
            return false;
    for (int i = folder ? ablate->count : 0; i < ablate->all; i++)
        ablate->cases[i].teaches = true;
    return invocation->errors.list.count == 0;
}

/* Those of --arm and the first; all where none is named. */
static bool choose_arms(struct ablate *ablate)
{
    struct invocation *invocation = ablate->invocation;
    size_t cursor = 0;
    if (!option_given(invocation, "arm"))
        return true;
    for (int a = 1; a < ABLATE_ARMS; a++)
        ablate->left_out[a] = true;
    for (const char *name; (name = option_next(invocation, "arm", &cursor));) {
        int found = -1;
        for (int a = 0; a < ABLATE_ARMS; a++)
            if (strcmp(ablate_arms[a].name, name) == 0)
                found = a;
        if (found < 0) {
            error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                                  "there is no arm '%s'", name),
                       "'no diagnosis', 'experience', 'of other ops', 'greedy', 'mcts' or "
                       "'random'");
            return false;
        }
        ablate->left_out[found] = false;
    }
    return true;
}

static enum exit_code compare(struct invocation *invocation, int seeds)
{
    struct ablate *ablate = arena_new(invocation->arena, struct ablate);
    struct error error = {0};
    *ablate = (struct ablate){.invocation = invocation,
                              .seeds = seeds,
                              .poor_start = option_given(invocation, "poor-start")};
    if (!choose_arms(ablate) || !read_tables(ablate))
        return errors_exit(&invocation->errors);
    if (!ablate_replay(ablate, &error)) {
        errors_take(&invocation->errors, &error);
        return errors_exit(&invocation->errors);
    }
    struct text out = text_new(invocation->arena);
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        write_arms(&json, ablate);
        return output_json_end(invocation, &json);
    }
    print_tables(&out, ablate);
    print_arms(&out, ablate);
    output_text(&out);
    return EXIT_YES;
}

enum exit_code ablate_run(struct invocation *invocation)
{
    int64_t plans = 0, seeds = 100, threads = 1;
    double seconds = 0.3;
    struct operands *operands = &invocation->operands;
    memmove(operands->at, operands->at + 1, (operands->count - 1) * sizeof *operands->at);
    operands->count--;
    if (operands->count == 0) {
        error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                              "there is nothing to compare on"),
                   "name tables, such as bench/tables/*.table, or tasks and --measure");
        return EXIT_USAGE;
    }
    if (!option_count(invocation, "measure", 1, ABLATE_PLANS, &plans) ||
        !option_count(invocation, "seeds", 1, ABLATE_SEEDS, &seeds) ||
        !option_number(invocation, "seconds", 3600, &seconds) ||
        !option_count(invocation, "threads", 1, MACHINE_THREADS, &threads))
        return errors_exit(&invocation->errors);
    return plans > 0 ? ablate_measure(invocation, (int)plans, seconds, (int)threads)
                     : compare(invocation, (int)seeds);
}
