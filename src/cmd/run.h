/*
 * `smelt run` and `smelt resume`: how a search is shown while it goes on, and told at the end.
 */
#ifndef SMELT_CMD_RUN_H
#define SMELT_CMD_RUN_H

#include "cmd/command.h"
#include "search/search.h"

struct run_view {
    const struct invocation *invocation;
    const char *task;
    bool live;   /* a terminal: the same few lines again and again */
    int drawn;   /* lines on the screen that are to be drawn over */
    int columns; /* of the terminal */
    double said; /* fitness that was said last, when not live */
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

/* What a person would paste into a message. */
void run_print_summary(struct text *out, const struct search *search, enum search_end end,
                       const struct run_files *files);
void run_write_summary(struct json *json, const struct search *search, enum search_end end,
                       const struct run_files *files);

#endif
