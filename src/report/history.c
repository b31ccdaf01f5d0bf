/*
 * The steps from a first plan to the best kernel, and the best candidates as a table.
 */
#include <math.h>
#include <stdlib.h>

#include "report/private.h"

static void add_step(struct text *out, const struct candidate *at, const struct candidate *parent)
{
    text_printf(out, "<li class=%s><div class=speed>", report_colour(report_proposer(at)));
    if (at->fitness > 0)
        text_printf(out, "%.3g&times;", at->fitness);
    else
        text_add(out, outcome_name(at->outcome));
    text_add(out, "</div><div><b>");
    if (at->action)
        html_escape(out, at->action);
    else
        text_add(out, parent ? "a change" : "a first plan");
    text_add(out, "</b> <span class=tag>");
    html_escape(out, report_proposer(at));
    text_add(out, "</span>");
    if (parent && parent->fitness > 0 && at->fitness > 0) {
        double gain = 100 * (at->fitness / parent->fitness - 1);
        text_printf(out, " <span class=%s>%+.1f&nbsp;%%</span>", gain >= 0 ? "up" : "down", gain);
    }
    if (at->why) {
        text_add(out, "<p>");
        html_escape(out, at->why);
        text_add(out, "</p>");
    }
    if (at->note && *at->note) {
        text_add(out, "<p class=note>then: ");
        html_escape(out, at->note);
        text_add(out, "</p>");
    }
    text_add(out, "</div></li>\n");
}

void report_history(struct text *out, const struct report *report)
{
    if (!report->step_count)
        return;
    text_add(out, "<section><h2>The steps to the best</h2>\n<ol class=steps>\n");
    for (size_t i = 0; i < report->step_count; i++)
        add_step(out, report->steps[i], i ? report->steps[i - 1] : NULL);
    text_add(out, "</ol></section>\n");
}

/* ---- the table ---- */

static int compare_fitness(const void *a, const void *b)
{
    const struct candidate *first = *(const struct candidate *const *)a;
    const struct candidate *second = *(const struct candidate *const *)b;
    if (first->fitness != second->fitness)
        return first->fitness < second->fitness ? 1 : -1;
    return (first->id > second->id) - (first->id < second->id);
}

static void add_row(struct text *out, const struct report *report, const struct candidate *at)
{
    text_printf(out, "<tr%s><td class=number>%lld<td class=number>%.3g&times;<td class=number>%.4g",
                at == report->best ? " class=winner" : "", (long long)at->id, at->fitness,
                at->microseconds);
    text_add(out, "<td class=number>");
    if (at->floor > 0 && at->microseconds > 0)
        text_printf(out, "%.0f&nbsp;%%", 100 * at->floor / at->microseconds);
    text_printf(out, "<td class=who><i class='square %s'></i> ",
                report_colour(report_proposer(at)));
    html_escape(out, report_proposer(at));
    text_add(out, "<td>");
    html_escape(out, at->action ? at->action : "a first plan");
    text_printf(out, "<td>%s</tr>\n", diagnosis_name(at->diagnosis));
}

void report_table(struct text *out, const struct report *report)
{
    const struct candidate **order = arena_array(report->arena, report->count + 1, sizeof(*order));
    for (size_t i = 0; i < report->count; i++)
        order[i] = &report->all[i];
    if (!report->best)
        return;
    qsort(order, report->count, sizeof(*order), compare_fitness);
    text_printf(
        out, "<section><h2>The best candidates</h2>\n<div class=scroll><table class=big>\n<tr><th>"
             "candidate<th>speed-up<th>&micro;s<th>of the floor<th>proposer<th class=wide>"
             "changed<th>bound by</tr>\n");
    for (size_t i = 0; i < report->count && i < REPORT_TABLE && order[i]->fitness > 0; i++)
        add_row(out, report, order[i]);
    text_add(out, "</table></div></section>\n");
}
