/*
 * `smelt run`, `smelt resume` and whoever goes by a run of the store: what is searched for
 * (run_setup.c), how it is shown while it goes on and told at the end (run_view.c), many at once
 * (run_many.c).
 */
#ifndef SMELT_CMD_RUN_H
#define SMELT_CMD_RUN_H

#include "cmd/planned.h"
#include "cmd/prompted.h"
#include "cmd/stored.h"
#include "search/judging.h"
#include "search/models.h"
#include "search/search.h"

enum { RUN_VIEW_LINES = 16 };

struct run_view {
    const struct invocation *invocation;
    const char *task;
    bool live;                  /* a terminal: the same few lines again and again */
    int drawn;                  /* lines on the screen that are to be drawn over */
    int widths[RUN_VIEW_LINES]; /* of those lines, in characters */
    int columns;                /* of the terminal */
    double said;                /* fitness that was said last, when not live */
    const struct search_budget *budget;
};

/* On standard error, so that results can be piped. */
void run_view_open(struct run_view *view, const struct invocation *invocation, const char *task,
                   const struct search_budget *budget);
bool run_view_show(void *view, const struct search_progress *progress);
void run_view_close(struct run_view *view);
/* Ctrl-C: the run ends cleanly at the next chance; a second one kills. */
void run_catch_interrupts(void);
bool run_interrupted(void);

struct run_files { /* what was written; NULL: was not */
    const char *kernel, *report;
};

/* ---- a search ---- */

struct run_models {              /* that take part; run_models.c */
    struct models models;        /* configured */
    struct llm_exchanges replay; /* --replay-llm */
    struct models_run run;
    struct prompted prompted;
};

struct run_request {
    struct planned planned;
    struct stored stored;
    struct judging judging;
    struct search_options options;
    struct search search;
    struct know know;
    struct run_view view;
    struct run_models models;
    bool begin_only; /* a budget of 0: others bring the candidates */
    enum search_end end;
    struct run_files files;
    struct tally tally; /* at the end */
};

/* --proposers and what belongs to it: after run_prepare. False: errors were added. */
bool run_models_take(struct run_request *request, struct invocation *invocation);
bool run_models_begin(struct run_request *request, struct error *error);
void run_models_end(struct run_request *request);

/* Options and task. False: errors were added. */
bool run_prepare(struct run_request *request, struct invocation *invocation);
/* The same for whoever is going to search: with the models, on a device that is there. */
bool run_prepare_search(struct run_request *request, struct invocation *invocation);
/* "cpu", "cuda": what the plans of the run are for. */
const char *run_target(const struct run_request *request);
/* The machine, and what is known of tasks like this; with the store open. */
void run_describe(struct run_request *request, struct invocation *invocation);
/* A new run of what was prepared. */
bool run_begin(struct run_request *request, struct invocation *invocation);
/* Searches and writes the files that were asked for. False: errors were added. */
bool run_search(struct run_request *request, struct invocation *invocation);
enum exit_code run_answer(struct run_request *request, struct invocation *invocation, bool fine);

/* Whether operands mean more than one task: a folder, several files. */
bool run_is_many(const struct invocation *invocation);
enum exit_code run_many(struct invocation *invocation);

/* The command line, a word per line, so that the run can be gone on with. */
const char *run_settings(struct invocation *invocation);
/* Of the machine that kernels of a language run on, and the compiler: winners were judged by them.
 */
const char *run_signature(struct arena *arena, const char *language);

/* ---- a run of the store ---- */

struct run_words VECTOR(char *);

/* Words as a command line of `smelt run`. */
bool run_parse(struct invocation *invocation, struct run_words *words, struct invocation *again);
/* Those a run was begun with, and a budget that is given now. */
bool run_words_again(struct stored *stored, const struct run *run, struct invocation *again);

struct run_again {
    struct planned planned;
    struct judge_options options; /* as its kernels were judged */
    struct know know;
};

/* The task of a run. False: errors were added. */
bool run_reopen(struct stored *stored, const struct run *run, struct run_again *again);

/* What a person would paste into a message. */
void run_print_summary(struct text *out, const struct run_request *request);
void run_write_summary(struct json *json, const struct run_request *request);

#endif
