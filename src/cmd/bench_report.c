/*
 * The table of `smelt bench`, its summary, and its form on disk: a line of tab-separated fields per
 * case and baseline, so that it diffs well and any tool can read it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/bench.h"

static const char file_head[] = "smelt bench 1";

const struct speedup *bench_headline(const struct bench_row *row)
{
    const struct speedup *fastest = NULL;
    for (int i = 0; i < row->speedup_count; i++)
        if (!fastest || row->speedups[i].microseconds < fastest->microseconds)
            fastest = &row->speedups[i];
    return fastest;
}

void bench_print_head(struct text *out, bool check_only)
{
    if (check_only)
        return;
    text_printf(out, "%-34s %11s %8s %9s %6s  %s\n", "task", "us", "GB/s", "GFLOP/s", "floor",
                "times as fast as");
}

void bench_print_row(struct text *out, const struct bench_row *row)
{
    if (isnan(row->microseconds)) {
        text_printf(out, "%-34s %s: %s\n", row->task, row->outcome, row->message);
        return;
    }
    text_printf(out, "%-34s %11.5g %8.3g %9.4g ", row->task, row->microseconds, row->gigabytes,
                row->gigaflops);
    if (row->floor > 0)
        text_printf(out, "%5.0f%% ", 100 * row->floor / row->microseconds);
    else
        text_printf(out, "%6s ", "-");
    for (int i = 0; i < row->speedup_count; i++) {
        const struct speedup *speedup = &row->speedups[i];
        text_printf(out, "%s%s %.3g%s", i ? ", " : " ", speedup->baseline, speedup->ratio.middle,
                    speedup->decided ? "" : "?");
    }
    text_char(out, '\n');
    for (int i = row->speedup_count; i < row->speedup_count + row->absent_count; i++)
        if (strstr(row->speedups[i].problem, "ask for it by") == NULL)
            text_printf(out, "    not compared with %s: %s\n", row->speedups[i].baseline,
                        row->speedups[i].problem);
}

void bench_print_seconds(struct text *out, const struct bench_row *row)
{
    text_printf(out, "    %.1f s compiling, %.1f checking, %.1f timing, %.1f of it in programs\n",
                row->compiling, row->checking, row->timing, row->outside);
}

/* The ratio over a baseline of that name; nan when the row has none. */
static double ratio_over(const struct bench_row *row, const char *baseline)
{
    for (int i = 0; i < row->speedup_count; i++)
        if (strcmp(row->speedups[i].baseline, baseline) == 0)
            return row->speedups[i].ratio.middle;
    return NAN;
}

struct mean { /* geometric */
    double sum, least;
    int count;
};

static void mean_add(struct mean *mean, double ratio)
{
    if (isnan(ratio) || ratio <= 0)
        return;
    mean->sum += log(ratio);
    mean->least = mean->count == 0 || ratio < mean->least ? ratio : mean->least;
    mean->count++;
}

static int collect_baselines(const struct bench_rows *rows, const char **names)
{
    int count = 0;
    for (size_t r = 0; r < rows->count; r++) {
        for (int i = 0; i < rows->at[r].speedup_count; i++) {
            int k = 0;
            while (k < count && strcmp(names[k], rows->at[r].speedups[i].baseline) != 0)
                k++;
            if (k == count && count < BENCH_BASELINES)
                names[count++] = rows->at[r].speedups[i].baseline;
        }
    }
    return count;
}

void bench_print_summary(struct text *out, const struct bench_rows *rows)
{
    const char *names[BENCH_BASELINES];
    int count = collect_baselines(rows, names);
    size_t right = 0;
    for (size_t r = 0; r < rows->count; r++)
        right += strcmp(rows->at[r].outcome, "ok") == 0;
    text_printf(out, "%zu of %zu ok\n", right, rows->count);
    struct mean headline = {0};
    for (size_t r = 0; r < rows->count; r++) {
        const struct speedup *fastest = bench_headline(&rows->at[r]);
        if (fastest)
            mean_add(&headline, fastest->ratio.middle);
    }
    if (headline.count)
        text_printf(out,
                    "%.3g times the fastest baseline of each (geometric mean of %d, least %.3g)\n",
                    exp(headline.sum / headline.count), headline.count, headline.least);
    for (int i = 0; i < count; i++) {
        struct mean mean = {0};
        for (size_t r = 0; r < rows->count; r++)
            mean_add(&mean, ratio_over(&rows->at[r], names[i]));
        if (mean.count)
            text_printf(out, "    %.3g times %s (%d, least %.3g)\n", exp(mean.sum / mean.count),
                        names[i], mean.count, mean.least);
    }
}

void bench_write_rows(struct json *json, const struct bench_rows *rows)
{
    json_array(json, "cases");
    for (size_t r = 0; r < rows->count; r++) {
        const struct bench_row *row = &rows->at[r];
        json_object(json, NULL);
        json_string(json, "task", row->task);
        json_string(json, "case", row->text);
        json_string(json, "outcome", row->outcome);
        if (row->isolation)
            json_string(json, "isolation", row->isolation);
        json_double(json, "microseconds", row->microseconds);
        json_double(json, "gigabytes_per_second", row->gigabytes);
        json_double(json, "gigaflops", row->gigaflops);
        json_double(json, "floor_microseconds", row->floor);
        json_array(json, "speedups");
        for (int i = 0; i < row->speedup_count; i++) {
            const struct speedup *speedup = &row->speedups[i];
            json_object(json, NULL);
            json_string(json, "baseline", speedup->baseline);
            json_double(json, "microseconds", speedup->microseconds);
            json_double(json, "ratio", speedup->ratio.middle);
            json_double(json, "low", speedup->ratio.low);
            json_double(json, "high", speedup->ratio.high);
            json_bool(json, "decided", speedup->decided);
            json_end(json);
        }
        json_end(json);
        json_end(json);
    }
    json_end(json);
}

/* ---- on disk ---- */

void bench_save(struct text *out, const char *suite, const struct bench_rows *rows)
{
    text_printf(out, "%s\t%s\n", file_head, suite);
    for (size_t r = 0; r < rows->count; r++) {
        const struct bench_row *row = &rows->at[r];
        text_printf(out, "case\t%s\t%s\t%s\t%.9g\t%.9g\t%.9g\t%.9g\n", row->task, row->text,
                    row->outcome, row->microseconds, row->gigabytes, row->gigaflops, row->floor);
        for (int i = 0; i < row->speedup_count; i++) {
            const struct speedup *speedup = &row->speedups[i];
            text_printf(out, "over\t%s\t%.9g\t%.9g\t%.9g\t%.9g\t%d\n", speedup->baseline,
                        speedup->microseconds, speedup->ratio.middle, speedup->ratio.low,
                        speedup->ratio.high, speedup->decided);
        }
    }
}

enum { FIELDS = 8 };

/* Splits a line in place; how many fields it had, FIELDS + 1 for more. */
static int split(char *line, char **fields)
{
    int count = 0;
    for (char *at = line; at; count++) {
        if (count == FIELDS)
            return FIELDS + 1;
        fields[count] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = 0;
    }
    return count;
}

static bool read_line(struct arena *arena, char *line, struct bench_rows *rows)
{
    char *fields[FIELDS];
    int count = split(line, fields);
    if (count == 8 && strcmp(fields[0], "case") == 0) {
        struct bench_row row = {.task = fields[1],
                                .text = fields[2],
                                .outcome = fields[3],
                                .message = "",
                                .microseconds = strtod(fields[4], NULL),
                                .gigabytes = strtod(fields[5], NULL),
                                .gigaflops = strtod(fields[6], NULL),
                                .floor = strtod(fields[7], NULL)};
        row.speedups = arena_array(arena, BENCH_BASELINES, sizeof *row.speedups);
        vector_push(arena, rows, row);
        return true;
    }
    if (count != 7 || strcmp(fields[0], "over") != 0 || rows->count == 0)
        return false;
    struct bench_row *row = &rows->at[rows->count - 1];
    if (row->speedup_count == BENCH_BASELINES)
        return false;
    row->speedups[row->speedup_count++] = (struct speedup){
        .baseline = fields[1],
        .microseconds = strtod(fields[2], NULL),
        .ratio = {strtod(fields[4], NULL), strtod(fields[3], NULL), strtod(fields[5], NULL)},
        .decided = strcmp(fields[6], "1") == 0,
    };
    return true;
}

struct bench_rows *bench_read(struct arena *arena, const struct source *source, struct error *error)
{
    struct bench_rows *rows = arena_new(arena, struct bench_rows);
    char *text = arena_printf(arena, "%s", source->text);
    int number = 1;
    for (char *next; *text; text = next, number++) {
        next = text + strcspn(text, "\n");
        if (*next)
            *next++ = 0;
        bool fits = number == 1 ? strncmp(text, file_head, strlen(file_head)) == 0
                                : read_line(arena, text, rows);
        if (!fits) {
            error_set(error, ERROR_BAD_BENCH_FILE, "line %d of %s is not of a saved bench", number,
                      source->name);
            error_hint(error, "smelt bench SUITE --save FILE writes one");
            return NULL;
        }
    }
    return rows;
}

/* ---- comparison ---- */

static const struct bench_row *find_row(const struct bench_rows *rows, const struct bench_row *like)
{
    for (size_t r = 0; r < rows->count; r++)
        if (strcmp(rows->at[r].task, like->task) == 0 && strcmp(rows->at[r].text, like->text) == 0)
            return &rows->at[r];
    return NULL;
}

void bench_print_comparison(struct text *out, const struct bench_rows *now,
                            const struct bench_rows *before)
{
    struct mean mean = {0};
    for (size_t r = 0; r < now->count; r++) {
        const struct bench_row *row = &now->at[r];
        const struct bench_row *old = find_row(before, row);
        for (int i = 0; old && i < row->speedup_count; i++) {
            const char *baseline = row->speedups[i].baseline;
            double then = ratio_over(old, baseline), ratio = row->speedups[i].ratio.middle;
            if (isnan(then))
                continue;
            text_printf(out, "%-34s %.3g times %s, was %.3g: %.3g\n", row->task, ratio, baseline,
                        then, ratio / then);
            mean_add(&mean, ratio / then);
            break;
        }
    }
    if (mean.count)
        text_printf(out, "%.3g times as fast as then (geometric mean of %d, least %.3g)\n",
                    exp(mean.sum / mean.count), mean.count, mean.least);
    else
        text_add(out, "no case was timed against the same baseline in both runs\n");
}
