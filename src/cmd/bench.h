/*
 * What `smelt bench` found, and how it is shown, kept and compared with an earlier run.
 */
#ifndef SMELT_CMD_BENCH_H
#define SMELT_CMD_BENCH_H

#include "cmd/command.h"
#include "record/verdict.h"

enum { BENCH_FILE_BYTES = 16 << 20, BENCH_BASELINES = 16 };

struct bench_row { /* a timed case of a task */
    const char *task, *text;
    const char *outcome;   /* "ok", or what went wrong */
    const char *message;   /* when it is not ok */
    const char *isolation; /* it was judged in; NULL: it was not */
    double microseconds;   /* nan: not timed */
    double gigabytes, gigaflops, floor;
    struct speedup *speedups;
    int speedup_count;
    double compiling, checking, timing, outside; /* seconds it took; outside: of timing, programs */
    int absent_count; /* more of them, behind: with the reason why there is no number */
};

struct bench_rows VECTOR(struct bench_row);

/* The fastest baseline of a row, or NULL. */
const struct speedup *bench_headline(const struct bench_row *row);
void bench_print_head(struct text *out, bool check_only);
void bench_print_row(struct text *out, const struct bench_row *row);
/* What it took to make the row. */
void bench_print_seconds(struct text *out, const struct bench_row *row);
/* How many are ok, and the geometric mean of the speed-up over each baseline. */
void bench_print_summary(struct text *out, const struct bench_rows *rows);
void bench_write_rows(struct json *json, const struct bench_rows *rows);
/* Of the verdict `row` was made from: text that bench_read reads. */
void bench_save(struct text *out, const char *suite, const struct bench_rows *rows);
/* Rows of an earlier run. NULL with the error set when the file is none. */
struct bench_rows *bench_read(struct arena *arena, const struct source *source,
                              struct error *error);
/*
 * Each task of both runs, by its speed-up over a baseline that was timed in both: so a machine that
 * is slower today does not look like a kernel that is.
 */
void bench_print_comparison(struct text *out, const struct bench_rows *now,
                            const struct bench_rows *before);

#endif
