/*
 * The best so far, over evaluations and over time, with every candidate as a dot.
 */
#include <math.h>

#include "report/private.h"

/* What is a fiftieth of the best is drawn at the bottom. */
static struct scale speed_scale(const struct report *report)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < report->count; i++) {
        double fitness = report->all[i].fitness;
        high = fmax(high, fitness);
        low = fitness > 0 ? fmin(low, fitness) : low;
    }
    low = fmax(low, high / 50);
    return scale_log(low / 1.15, high * 1.15);
}

/* Runs of an older smelt do not say when their verdicts came. */
static double place_of(const struct report *report, size_t number, bool by_time)
{
    const struct candidate *candidate = &report->all[number];
    double time = candidate->settled > 0 ? candidate->settled : candidate->proposed;
    return by_time ? time : (double)(number + 1);
}

static void draw_dots(struct chart *chart, const struct report *report, bool by_time)
{
    size_t every = report->count / REPORT_DOTS + 1;
    double bottom = chart->y.from;
    for (size_t i = 0; i < report->count; i += every) {
        const struct candidate *candidate = &report->all[i];
        double x = scale_at(&chart->x, place_of(report, i, by_time));
        if (candidate->fitness > 0)
            text_printf(chart->out, "<circle class='dot %s' cx='%.1f' cy='%.1f' r=2.6 />\n",
                        report_colour(report_proposer(candidate)), x,
                        scale_at(&chart->y, candidate->fitness));
        else
            text_printf(chart->out, "<path class=failed d='M%.1f %.1fl4 4m0 -4l-4 4'/>\n", x - 2,
                        bottom - 8);
    }
}

static void draw_stairs(struct chart *chart, const struct report *report, bool by_time)
{
    double best = 0, x = 0, y = 0;
    struct text *out = chart->out;
    for (size_t i = 0; i < report->count; i++) {
        if (report->all[i].fitness <= best)
            continue;
        x = fmax(x, scale_at(&chart->x, place_of(report, i, by_time)));
        text_printf(out, best > 0 ? "H%.1f" : "<path class=stairs d='M%.1f", x);
        y = scale_at(&chart->y, report->all[i].fitness);
        text_printf(out, best > 0 ? "V%.1f" : " %.1f", y);
        best = report->all[i].fitness;
    }
    if (best > 0)
        text_printf(out, "H%.1f'/>\n<circle class=peak cx='%.1f' cy='%.1f' r=4.5 />\n", chart->x.to,
                    x, y);
}

static void draw_curve(struct text *out, const struct report *report, bool by_time)
{
    double last = place_of(report, report->count - 1, by_time);
    if (by_time)
        last = fmax(last, report->run->seconds);
    struct scale x = scale_linear(0, last);
    struct chart chart = chart_open(
        out, by_time ? "speed-up over time" : "speed-up over candidates judged", x,
        by_time ? "seconds" : "candidates judged", speed_scale(report), "times the baseline");
    draw_dots(&chart, report, by_time);
    draw_stairs(&chart, report, by_time);
    chart_close(&chart);
}

static void add_legend(struct text *out, const struct report *report)
{
    static const char *const names[] = {"seed",    "experience", "fusion",  "memory", "instruction",
                                        "latency", "tuning",     "algebra", "repair", "remedy"};
    text_add(out, "<p class=legend><span><i class=line></i>best so far</span>");
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        size_t count = 0;
        for (size_t i = 0; i < report->count; i++)
            count += report_colour(report_proposer(&report->all[i])) == report_colour(names[n]);
        if (count)
            text_printf(out, "<span><i class=%s></i>%s</span>", report_colour(names[n]), names[n]);
    }
    text_add(out, "<span><i class=cross>&times;</i>not right</span></p>\n");
}

void report_curves(struct text *out, const struct report *report)
{
    if (!report->best)
        return;
    text_add(out, "<section><h2>How it got there</h2>\n<div class=pair>");
    draw_curve(out, report, false);
    draw_curve(out, report, true);
    text_add(out, "</div>\n");
    add_legend(out, report);
    text_add(out, "<p class=note>Every dot is a candidate, as it was timed then; the line is the "
                  "best so far. The best few were timed once more at the end, so the number on top "
                  "may lie a little off the line.</p></section>\n");
}
