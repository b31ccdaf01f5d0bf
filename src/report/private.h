/*
 * Private to src/report: what the pieces of the page share.
 */
#ifndef SMELT_REPORT_PRIVATE_H
#define SMELT_REPORT_PRIVATE_H

#include "base/json_read.h"
#include "record/tally.h"
#include "report/report.h"

enum {
    REPORT_DOTS = 1500,     /* in a chart */
    REPORT_TREE = 500,      /* candidates in the graph */
    REPORT_TABLE = 20,      /* candidates in the table */
    REPORT_STEPS = 60,      /* steps to the best */
    REPORT_SOURCE = 200000, /* bytes of the kernel that are shown */
};

struct report {
    struct arena *arena;
    const struct report_subject *subject;
    const struct run *run;
    const struct candidate *all; /* judged, in order */
    size_t count;
    const struct candidate *best;   /* or NULL */
    const struct candidate **steps; /* from a seed to the best */
    size_t step_count;
    const char *kernel, *plan; /* of the best; "" when there is none */
    /* of the best, from its verdict */
    const struct json_value *verdict, *diagnosis;
    const struct json_value *timed;    /* the first case with a time, or NULL */
    const struct json_value *baseline; /* the fastest one of that case, or NULL */
    struct tally tally;                /* who found what */
    int threads;
    const char *dtype;
    bool here; /* the run was made on the machine in front of us */
};

/* read.c */
bool report_read(struct report *report, struct error *error);
/* By id; NULL: not in the run. */
const struct candidate *report_find(const struct report *report, int64_t id);

/* html.c */
void html_escape(struct text *out, const char *string);
void html_code(struct text *out, const char *source); /* C, with comments and words marked */
/* A candidate's proposer without "expert:"; the CSS class of its colour. */
const char *report_proposer(const struct candidate *candidate);
const char *report_colour(const char *proposer);

/* chart.c: a chart of 460 by 300 with axes */
struct scale {
    bool log;
    double low, high;
    double from, to; /* pixels */
};

struct chart {
    struct text *out;
    struct scale x, y;
    const char *x_unit, *y_unit;
};

struct scale scale_linear(double low, double high);
struct scale scale_log(double low, double high);
double scale_at(const struct scale *scale, double value);
/* Opens the SVG and draws grid, ticks and units; `title` is for those who cannot see it. */
struct chart chart_open(struct text *out, const char *title, struct scale x, const char *x_unit,
                        struct scale y, const char *y_unit);
void chart_close(struct chart *chart);
/* "1.5", "12k" */
void chart_number(struct text *out, double value);

/* the pieces */
void report_curves(struct text *out, const struct report *report);
void report_roofline(struct text *out, const struct report *report);
void report_tree(struct text *out, const struct report *report);
void report_outcomes(struct text *out, const struct report *report);
void report_diagnoses(struct text *out, const struct report *report);
void report_experts(struct text *out, const struct report *report);
void report_proposers(struct text *out, const struct report *report);
void report_history(struct text *out, const struct report *report);
void report_table(struct text *out, const struct report *report);
void report_evidence(struct text *out, const struct report *report);
void report_repeat(struct text *out, const struct report *report);
extern const char *const report_style[]; /* ends with NULL */

#endif
