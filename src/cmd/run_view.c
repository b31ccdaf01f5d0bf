/*
 * A run while it goes on: a few lines that change in place on a terminal, a line per improvement
 * elsewhere.
 */
#include "cmd/run.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
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

/* ---- live ---- */

/* It may have changed since the last time. */
static int terminal_columns(void)
{
    struct winsize window = {0};
    ioctl(STDERR_FILENO, TIOCGWINSZ, &window);
    return window.ws_col > 20 ? window.ws_col : 80;
}

/* What was drawn goes: a terminal that was made narrower shows a line in several. */
static void erase(void *context)
{
    struct run_view *view = context;
    int rows = 0, columns = terminal_columns();
    for (int i = 0; i < view->drawn && i < RUN_VIEW_LINES; i++)
        rows += view->widths[i] > columns ? (view->widths[i] + columns - 1) / columns : 1;
    if (rows)
        fprintf(stderr, "\033[%dA\r\033[J", rows);
    view->drawn = 0;
}

void run_view_open(struct run_view *view, const struct invocation *invocation, const char *task,
                   const struct search_budget *budget)
{
    *view = (struct run_view){.invocation = invocation,
                              .task = task,
                              .live = isatty(STDERR_FILENO) && !invocation->json,
                              .budget = budget};
    if (view->live)
        log_before(erase, view);
}

/* So much of a line that it does not wrap: what comes after it is drawn over the next time. */
static void end_line(struct run_view *view, struct text *line)
{
    size_t shown = 0, at = 0;
    while (at < line->length && shown < (size_t)view->columns - 1) {
        if (line->at[at] == '\033') { /* takes no room */
            at += strcspn(line->at + at, "m") + 1;
            continue;
        }
        size_t length = text_utf8(line->at + at, line->length - at);
        at += length ? length : 1;
        shown++;
    }
    fprintf(stderr, "%.*s%s\033[K\n", (int)at, line->at, output_plain(view->invocation));
    if (view->drawn < RUN_VIEW_LINES)
        view->widths[view->drawn++] = (int)shown;
    text_truncate(line, 0);
}

static void add_duration(struct text *line, double seconds)
{
    long whole = lround(fmax(0, seconds));
    if (whole >= 60)
        text_printf(line, "%ld:%02ld min", whole / 60, whole % 60);
    else
        text_printf(line, "%ld s", whole);
}

/* What the budget leaves; nothing when it sets no end. */
static void add_left(const struct run_view *view, const struct search_progress *progress,
                     struct text *line)
{
    double left = view->budget->seconds > 0 ? view->budget->seconds - progress->elapsed : INFINITY;
    if (view->budget->evaluations > 0 && progress->per_second > 0)
        left = fmin(left,
                    (double)(view->budget->evaluations - progress->judged) / progress->per_second);
    if (!isfinite(left))
        return;
    text_add(line, ", ");
    add_duration(line, left);
    text_add(line, " left");
}

static void add_best(const struct search_node *best, struct text *line)
{
    text_add(line, "  best         ");
    if (!best) {
        text_add(line, "nothing that is right yet");
        return;
    }
    text_printf(line, "%.3gx the baseline", best->record.fitness);
    if (best->speedup.high > 0)
        text_printf(line, " (%.3g to %.3g)", best->speedup.low, best->speedup.high);
    text_printf(line, ", %.4g us", best->record.microseconds);
    if (best->record.floor > 0)
        text_printf(line, ", %.0f %% of the floor",
                    100 * best->record.floor / best->record.microseconds);
}

static void add_outcomes(const struct search_progress *progress, struct text *line)
{
    bool first = true;
    text_add(line, "  outcomes     ");
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        if (!progress->outcomes[i])
            continue;
        text_printf(line, "%s%s %lld", first ? "" : ", ", outcome_name((enum outcome)i),
                    (long long)progress->outcomes[i]);
        first = false;
    }
}

static const char *action_of(const struct search_node *node)
{
    return node->record.action ? node->record.action : node->record.proposer;
}

static void add_last(const struct search_node *last, struct text *line)
{
    text_add(line, "  last         ");
    if (!last)
        return;
    if (last->record.outcome == OUTCOME_OK)
        text_printf(line, "%.3gx, ", last->record.fitness);
    else
        text_printf(line, "%s, ", outcome_name(last->record.outcome));
    text_printf(line, "%s: %s", diagnosis_name(last->diagnosis.class),
                last->diagnosis.text ? last->diagnosis.text : "");
}

/* Each with its best and what it tries. */
static void draw_islands(struct run_view *view, const struct search_progress *progress,
                         struct text *line)
{
    for (int i = 0; progress->islands && i < SEARCH_ISLANDS; i++) {
        const struct search_island *island = &progress->islands[i];
        if (island->population.count == 0)
            continue;
        text_printf(line, "  %-12s %.3gx", experts[island->role]->name,
                    island->population.at[0]->record.fitness);
        if (island->trying)
            text_printf(line, "  tries %s", action_of(island->trying));
        end_line(view, line);
    }
}

static void draw(struct run_view *view, const struct search_progress *progress)
{
    struct arena scratch = {0};
    struct text line = text_new(&scratch);
    erase(view);
    view->columns = terminal_columns();
    text_printf(&line, "%s%s%s: ", output_bold(view->invocation), view->task,
                output_plain(view->invocation));
    add_duration(&line, progress->elapsed);
    add_left(view, progress, &line);
    text_printf(&line, "; %lld judged, %.1f per second; %s", (long long)progress->judged,
                progress->per_second, progress->doing);
    end_line(view, &line);
    add_best(progress->best, &line);
    end_line(view, &line);
    add_outcomes(progress, &line);
    end_line(view, &line);
    add_last(progress->last, &line);
    end_line(view, &line);
    draw_islands(view, progress, &line);
    fflush(stderr);
    arena_release(&scratch);
}

/* ---- lines ---- */

static void say_better(struct run_view *view, const struct search_progress *progress)
{
    const struct candidate *best = &progress->best->record;
    fprintf(stderr, "%s: %.1f s, %lld judged: %.3g times the baseline, %.4g us (%s)\n", view->task,
            progress->elapsed, (long long)progress->judged, best->fitness, best->microseconds,
            action_of(progress->best));
}

/* For programs that look on. */
static void tell(const struct search_progress *progress)
{
    char doing[120];
    double best = progress->best ? progress->best->record.fitness : 0;
    snprintf(doing, sizeof doing, "%s; %lld judged, the best is %.3g times the baseline",
             progress->doing ? progress->doing : "searching", (long long)progress->judged, best);
    event("run", event_string("doing", doing), event_int("judged", progress->judged),
          event_double("best", best), event_double("elapsed", progress->elapsed));
}

bool run_view_show(void *context, const struct search_progress *progress)
{
    struct run_view *view = context;
    if (event_wanted())
        tell(progress);
    if (view->live) {
        draw(view, progress);
    } else if (!view->invocation->json && progress->best &&
               progress->best->record.fitness > view->said) {
        say_better(view, progress);
        view->said = progress->best->record.fitness;
    }
    return !interrupted;
}

void run_view_close(struct run_view *view)
{
    if (!view->live)
        return;
    erase(view);
    log_before(NULL, NULL);
}

/* ---- at the end ---- */

/* The best first plan is one of the finalists, so that the two were timed side by side. */
static void say_first(struct text *out, const struct search *search)
{
    const struct search_node *best = search->best, *first = search->first;
    if (!first || first->record.fitness <= 0)
        return;
    if (first == best)
        text_add(out, "    it is the best first plan: the search found nothing faster\n");
    else
        text_printf(out, "    %.3g times as fast as the best first plan\n",
                    best->record.fitness / first->record.fitness);
}

/* The sizes it was timed at, where there is one case of them. */
static void say_sizes(struct text *out, const struct task *task)
{
    const char *text = NULL;
    int timed = 0;
    for (int i = 0; task && i < task->case_count; i++)
        if (task->cases[i].timed) {
            text = task->cases[i].text;
            timed++;
        }
    if (timed == 1)
        text_printf(out, " at %s", text);
}

void run_print_summary(struct text *out, const struct run_request *request)
{
    const struct search *search = &request->search;
    const struct run_files *files = &request->files;
    enum search_end end = request->end;
    const struct search_node *best = search->best;
    text_printf(out, "%s: ", search->run.task);
    if (!best) {
        text_printf(out, "nothing right was found among %lld candidates; %s\n",
                    (long long)search->judged, search_end_name(end));
        if (tally_is_mixed(&request->tally))
            tally_print(out, &request->tally, "    ");
        if (files->report)
            text_printf(out, "    report: %s\n", files->report);
        return;
    }
    text_printf(out, "%.3g times as fast as the fastest baseline", best->record.fitness);
    if (best->speedup.high > 0)
        text_printf(out, " (%.3g to %.3g)", best->speedup.low, best->speedup.high);
    text_printf(out, ", %.4g us", best->record.microseconds);
    say_sizes(out, request->planned.task);
    if (best->record.floor > 0)
        text_printf(out, ", %.0f %% of what this machine can do",
                    100 * best->record.floor / best->record.microseconds);
    text_printf(out, "\n    %lld candidates judged in %.0f s, %lld of them right; %s\n",
                (long long)search->judged, search->run.seconds, (long long)search->seen.right,
                search_end_name(end));
    say_first(out, search);
    if (best->diagnosis.text[0])
        text_printf(out, "    what bounds it now: %s\n", best->diagnosis.text);
    if (tally_is_mixed(&request->tally))
        tally_print(out, &request->tally, "    ");
    if (files->kernel)
        text_printf(out, "    kernel: %s\n", files->kernel);
    if (files->report)
        text_printf(out, "    report: %s\n", files->report);
    if (search->run.id)
        text_printf(out, "    run %lld, candidate %lld: smelt show %lld; smelt best %lld -o FILE\n",
                    (long long)search->run.id, (long long)best->record.id,
                    (long long)search->run.id, (long long)search->run.id);
}

void run_write_summary(struct json *json, const struct run_request *request)
{
    const struct search *search = &request->search;
    const struct run_files *files = &request->files;
    enum search_end end = request->end;
    const struct search_node *best = search->best;
    json_object(json, NULL);
    json_string(json, "task", search->run.task);
    json_int(json, "run", search->run.id);
    json_int(json, "judged", search->judged);
    json_int(json, "right", search->seen.right);
    json_int(json, "timed", search->timed);
    json_double(json, "seconds", search->run.seconds);
    json_string(json, "end", search_end_name(end));
    json_int(json, "best", best ? best->record.id : 0);
    json_double(json, "speedup", best ? best->record.fitness : 0);
    json_object(json, "interval");
    json_double(json, "low", best ? best->speedup.low : 0);
    json_double(json, "high", best ? best->speedup.high : 0);
    json_end(json);
    json_double(json, "microseconds", best ? best->record.microseconds : NAN);
    json_double(json, "floor_microseconds", best ? best->record.floor : 0);
    json_string(json, "kernel", files->kernel);
    json_string(json, "report", files->report);
    tally_write(json, "proposers", &request->tally);
    json_end(json);
}
