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
    bool live;      /* a terminal: the same few lines again and again */
    int drawn;      /* lines on the screen that are to be drawn over */
    double last;    /* seconds of the run when it was drawn last */
    double said;    /* fitness that was said last, when not live */
    double seconds; /* of the budget; 0: none */
    double base_us; /* of the baseline, once known; 0 */
};

/* On standard error, so that results can be piped. */
void run_view_open(struct run_view *view, const struct invocation *invocation, const char *task,
                   double seconds);
bool run_view_show(void *view, const struct search_progress *progress);
void run_view_close(struct run_view *view);
/* Ctrl-C: the run ends cleanly at the next chance; a second one kills. */
void run_catch_interrupts(void);
bool run_interrupted(void);

/* What a person would paste into a message. */
void run_print_summary(struct text *out, const struct search *search, enum search_end end,
                       const char *kernel_path);
void run_write_summary(struct json *json, const struct search *search, enum search_end end);

#endif
