/*
 * The page as a whole: head, headline, the pieces in order.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "report/private.h"

static void add_head(struct text *out, const struct report *report)
{
    text_add(out,
             "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
             "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
             "'unsafe-inline'\">\n"
             "<meta name=viewport content='width=device-width, initial-scale=1'>\n"
             "<meta name=color-scheme content='light dark'>\n<title>");
    html_escape(out, report->run->task);
    text_add(out, " - smelt</title>\n<style>\n");
    for (int i = 0; report_style[i]; i++)
        text_add(out, report_style[i]);
    text_add(out, "</style>\n</head>\n<body>\n<main>\n");
}

static void add_header(struct text *out, const struct report *report)
{
    const struct run *run = report->run;
    time_t when = (time_t)run->started;
    struct tm parts;
    char date[64] = "";
    if (localtime_r(&when, &parts))
        strftime(date, sizeof date, "%Y-%m-%d %H:%M", &parts);
    text_add(out, "<header><p class=brand>smelt <span>run</span> ");
    text_printf(out, "%lld</p>\n<h1>", (long long)run->id);
    html_escape(out, run->task);
    text_add(out, "</h1>\n<p class=sub>");
    if (report->timed) {
        html_escape(out, json_text(report->timed, "case"));
        text_add(out, " &middot; ");
    }
    html_escape(out, report->dtype);
    text_add(out, " &middot; ");
    html_escape(out, run->target);
    text_printf(out, ", %d thread%s &middot; %s &middot; %s</p></header>\n", report->threads,
                report->threads == 1 ? "" : "s", date, run_state_name(run->state));
}

/* ---- the headline ---- */

static void add_tile(struct text *out, const char *class, const char *number, const char *label)
{
    text_printf(out, "<div class='tile %s'><b>%s</b><span>", class, number);
    text_add(out, label);
    text_add(out, "</span></div>\n");
}

static void add_speed_tile(struct text *out, const struct report *report)
{
    struct text label = text_new(report->arena);
    const struct json_value *ratio = json_member(report->baseline, "ratio");
    text_add(&label, "as fast as ");
    if (report->baseline)
        html_escape(&label, json_text(report->baseline, "baseline"));
    else
        text_add(&label, "the baseline");
    if (ratio)
        text_printf(&label, "<small>95&nbsp;%% interval %.3g to %.3g</small>",
                    json_number(ratio, "low"), json_number(ratio, "high"));
    add_tile(out, "main",
             arena_printf(report->arena, "%.3g<em>&times;</em>", report->best->fitness), label.at);
}

static void add_time_tile(struct text *out, const struct report *report)
{
    struct text label = text_new(report->arena);
    double base = json_number(report->baseline, "microseconds");
    double gigabytes = json_number(report->timed, "gigabytes_per_second");
    double gigaflops = json_number(report->timed, "gigaflops");
    text_add(&label, "a call");
    if (base > 0) {
        text_add(&label, "; ");
        html_escape(&label, json_text(report->baseline, "baseline"));
        text_printf(&label, " takes %.4g &micro;s", base);
    }
    if (gigabytes > 0)
        text_printf(&label, "<small>%.3g GB/s, %.3g GFLOP/s</small>", gigabytes, gigaflops);
    add_tile(out, "",
             arena_printf(report->arena, "%.4g<em>&micro;s</em>", report->best->microseconds),
             label.at);
}

static void add_floor_tile(struct text *out, const struct report *report)
{
    const struct candidate *best = report->best;
    if (!(best->floor > 0) || !(best->microseconds > 0))
        return;
    double part = 100 * best->floor / best->microseconds;
    const char *label =
        arena_printf(report->arena,
                     "of what this machine can do<small>no kernel is below %.4g &micro;s</small>"
                     "<div class=meter><i style='width:%.1f%%'></i></div>",
                     best->floor, fmin(100, part));
    add_tile(out, "", arena_printf(report->arena, "%.0f<em>%%</em>", part), label);
}

static void add_tiles(struct text *out, const struct report *report)
{
    size_t right = 0;
    for (size_t i = 0; i < report->count; i++)
        right += report->all[i].outcome == OUTCOME_OK;
    text_add(out, "<div class=tiles>\n");
    if (report->best) {
        add_speed_tile(out, report);
        add_time_tile(out, report);
        add_floor_tile(out, report);
    }
    double seconds = report->run->seconds;
    const char *label =
        arena_printf(report->arena, "candidate%s in %.0f s<small>%zu right, %.2g a second</small>",
                     report->count == 1 ? "" : "s", seconds, right,
                     seconds > 0 ? (double)report->count / seconds : 0.0);
    add_tile(out, "", arena_printf(report->arena, "%zu", report->count), label);
    text_add(out, "</div>\n");
    if (!report->best) {
        text_add(out, "<p class=lead>Nothing right was found.</p>\n");
    } else if (report->best->note && *report->best->note) {
        text_add(out, "<p class=lead>What bounds it now: ");
        html_escape(out, report->best->note);
        text_add(out, ".</p>\n");
    }
}

/* ---- the kernel ---- */

static void add_kernel(struct text *out, const struct report *report)
{
    const struct json_value *actions = json_member(report->diagnosis, "actions");
    if (!report->best)
        return;
    text_add(out, "<section><h2>The kernel</h2>\n");
    if (actions && actions->first) {
        text_add(out, "<p>What may still help:</p><ul>\n");
        for (const struct json_value *at = actions->first; at; at = at->next) {
            text_add(out, "<li>");
            html_escape(out, at->kind == JSON_STRING ? at->string : json_text(at, "text"));
        }
        text_add(out, "</ul>\n");
    }
    if (*report->plan) {
        text_add(out, "<details open><summary>its plan</summary><pre>");
        html_escape(out, report->plan);
        text_add(out, "</pre></details>\n");
    }
    text_add(out, "<details><summary>its source</summary><pre class=code>");
    html_code(out, report->kernel);
    text_add(out, "</pre></details></section>\n");
}

bool report_write(struct arena *arena, const struct report_subject *subject, struct text *page,
                  struct error *error)
{
    struct report report = {.arena = arena, .subject = subject};
    if (!report_read(&report, error))
        return false;
    add_head(page, &report);
    add_header(page, &report);
    add_tiles(page, &report);
    report_curves(page, &report);
    report_history(page, &report);
    text_add(page, "<section><h2>Where it stands</h2>\n<div class=pair><div>");
    report_roofline(page, &report);
    text_add(page, "</div><div>");
    report_outcomes(page, &report);
    report_diagnoses(page, &report);
    text_add(page, "</div></div></section>\n");
    report_tree(page, &report);
    text_add(page, "<section>");
    report_experts(page, &report);
    report_proposers(page, &report);
    text_add(page, "</section>\n");
    report_table(page, &report);
    add_kernel(page, &report);
    report_evidence(page, &report);
    report_repeat(page, &report);
    text_add(page, "</main>\n</body>\n</html>\n");
    return true;
}
