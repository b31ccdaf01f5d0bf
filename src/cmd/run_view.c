/*
 * A run while it goes on: a few lines that change in place on a terminal, a line per improvement
 * elsewhere.
 */
#include "cmd/run.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void note_interrupt(int number)
{
    (void)number;
    interrupted = 1;
    signal(SIGINT, SIG_DFL);
}

void run_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = note_interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool run_interrupted(void)
{
    return interrupted;
}

void run_view_open(struct run_view *view, const struct invocation *invocation, const char *task,
                   double seconds)
{
    *view = (struct run_view){.invocation = invocation,
                              .task = task,
                              .live = isatty(STDERR_FILENO) && !invocation->json,
                              .last = -1,
                              .seconds = seconds};
}

/* ---- live ---- */

static void print_outcomes(const struct search_progress *progress)
{
    fprintf(stderr, "  outcomes   ");
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (progress->outcomes[i])
            fprintf(stderr, "%s %lld  ", outcome_name((enum outcome)i),
                    (long long)progress->outcomes[i]);
    fprintf(stderr, "\033[K\n");
}

static void print_islands(const struct search_progress *progress)
{
    fprintf(stderr, "  islands    ");
    for (int i = 0; i < SEARCH_ISLANDS; i++) {
        const struct search_island *island = &progress->islands[i];
        if (island->population.count)
            fprintf(stderr, "%s %.3g  ", experts[island->role]->name,
                    island->population.at[0]->record.fitness);
    }
    fprintf(stderr, "\033[K\n");
}

static int draw(struct run_view *view, const struct search_progress *progress)
{
    const struct search_node *best = progress->best, *last = progress->last;
    int lines = 4;
    if (view->drawn)
        fprintf(stderr, "\033[%dA", view->drawn);
    fprintf(stderr, "%s%s%s: %.0f s", output_bold(view->invocation), view->task,
            output_plain(view->invocation), progress->elapsed);
    if (view->seconds > 0)
        fprintf(stderr, " of %.0f", view->seconds);
    fprintf(stderr, ", %lld judged, %.1f per second, %s\033[K\n", (long long)progress->judged,
            progress->per_second, progress->doing);
    if (best && best->record.floor > 0)
        fprintf(stderr,
                "  best       %.3g times the baseline, %.4g us, %.0f %% of the floor\033[K\n",
                best->record.fitness, best->record.microseconds,
                100 * best->record.floor / best->record.microseconds);
    else if (best)
        fprintf(stderr, "  best       %.3g times the baseline, %.4g us\033[K\n",
                best->record.fitness, best->record.microseconds);
    else
        fprintf(stderr, "  best       nothing that is right yet\033[K\n");
    if (last)
        fprintf(stderr, "  last       %.60s: %s%s\033[K\n",
                last->record.action ? last->record.action : last->record.proposer,
                last->record.outcome == OUTCOME_OK ? "" : outcome_name(last->record.outcome),
                last->record.outcome == OUTCOME_OK ? last->diagnosis.text : "");
    else
        fprintf(stderr, "  last\033[K\n");
    print_outcomes(progress);
    if (progress->islands && progress->islands[0].population.count) {
        print_islands(progress);
        lines++;
    }
    fflush(stderr);
    return lines;
}

/* ---- lines ---- */

static void say_better(struct run_view *view, const struct search_progress *progress)
{
    const struct candidate *best = &progress->best->record;
    fprintf(stderr, "%s: %.1f s, %lld judged: %.3g times the baseline, %.4g us (%s)\n", view->task,
            progress->elapsed, (long long)progress->judged, best->fitness, best->microseconds,
            best->action ? best->action : best->proposer);
}

bool run_view_show(void *context, const struct search_progress *progress)
{
    struct run_view *view = context;
    if (view->live) {
        view->drawn = draw(view, progress);
        view->last = progress->elapsed;
    } else if (!view->invocation->json && progress->best &&
               progress->best->record.fitness > view->said) {
        say_better(view, progress);
        view->said = progress->best->record.fitness;
    }
    return !interrupted;
}

void run_view_close(struct run_view *view)
{
    if (view->live && view->drawn)
        fprintf(stderr, "\033[%dA\033[J", view->drawn);
    view->drawn = 0;
}

/* ---- at the end ---- */

static int count_seeds(const struct search *search, double *best)
{
    int count = 0;
    *best = 0;
    for (size_t i = 0; i < search->nodes.count; i++) {
        const struct search_node *node = search->nodes.at[i];
        if (node->parent)
            continue;
        count++;
        *best = fmax(*best, node->record.fitness);
    }
    return count;
}

void run_print_summary(struct text *out, const struct search *search, enum search_end end,
                       const char *kernel_path)
{
    const struct search_node *best = search->best;
    double seed;
    int seeds = count_seeds(search, &seed);
    text_printf(out, "%s: ", search->run.task);
    if (!best) {
        text_printf(out, "nothing right was found among %lld candidates; %s\n",
                    (long long)search->judged, search_end_name(end));
        return;
    }
    text_printf(out, "%.3g times as fast as the fastest baseline, %.4g us", best->record.fitness,
                best->record.microseconds);
    if (best->record.floor > 0)
        text_printf(out, ", %.0f %% of what this machine can do",
                    100 * best->record.floor / best->record.microseconds);
    text_printf(out, "\n    %lld candidates judged in %.0f s, %lld of them right; %s\n",
                (long long)search->judged, search->run.seconds, (long long)search->seen.right,
                search_end_name(end));
    if (seed > 0)
        text_printf(out, "    the best of %d first plans was %.3g times the baseline\n", seeds,
                    seed);
    if (best->diagnosis.text[0])
        text_printf(out, "    what bounds it now: %s\n", best->diagnosis.text);
    if (kernel_path)
        text_printf(out, "    kernel: %s\n", kernel_path);
    if (search->run.id)
        text_printf(out,
                    "    run %lld, candidate %lld: smelt show %lld; smelt best %lld -o FILE.c\n",
                    (long long)search->run.id, (long long)best->record.id,
                    (long long)search->run.id, (long long)search->run.id);
}

void run_write_summary(struct json *json, const struct search *search, enum search_end end)
{
    const struct search_node *best = search->best;
    json_object(json, NULL);
    json_string(json, "task", search->run.task);
    json_int(json, "run", search->run.id);
    json_int(json, "judged", search->judged);
    json_int(json, "right", search->seen.right);
    json_double(json, "seconds", search->run.seconds);
    json_string(json, "end", search_end_name(end));
    json_int(json, "best", best ? best->record.id : 0);
    json_double(json, "speedup", best ? best->record.fitness : 0);
    json_double(json, "microseconds", best ? best->record.microseconds : NAN);
    json_double(json, "floor_microseconds", best ? best->record.floor : 0);
    json_end(json);
}
