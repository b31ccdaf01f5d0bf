/*
 * Where kernels stand against the machine: operations per second over operations per byte, below
 * the roofs that the measured rates make.
 */
#include <math.h>
#include <string.h>

#include "report/private.h"

struct roof {
    const char *name;
    double rate; /* bytes or operations per second */
};

static double best_bandwidth(const struct report *report, enum machine_crew crew,
                             enum machine_level level)
{
    double best = 0;
    for (int mix = 0; mix < MACHINE_MIX_COUNT; mix++)
        best = fmax(best, report->subject->rates->bandwidth[crew][level][mix]);
    return best;
}

/* Caches are measured with one thread; each further thread has its own. */
static int memory_roofs(const struct report *report, struct roof *roofs)
{
    int count = 0;
    enum machine_crew crew = report->threads > 1 ? MACHINE_ALL : MACHINE_ONE;
    for (int level = MACHINE_L1; level <= MACHINE_MEMORY; level++) {
        double rate =
            level == MACHINE_MEMORY
                ? best_bandwidth(report, crew, (enum machine_level)level)
                : best_bandwidth(report, MACHINE_ONE, (enum machine_level)level) * report->threads;
        if (rate > 0)
            roofs[count++] = (struct roof){machine_level_name((enum machine_level)level), rate};
    }
    return count;
}

static struct roof compute_roof(const struct report *report)
{
    enum machine_number number = MACHINE_F32;
    enum machine_crew crew = report->threads > 1 ? MACHINE_ALL : MACHINE_ONE;
    struct roof roof = {.name = ""};
    machine_number_parse(report->dtype, &number);
    for (int unit = 0; unit < MACHINE_UNIT_COUNT; unit++) {
        double rate = report->subject->rates->compute[crew][unit][number];
        if (rate > roof.rate)
            roof = (struct roof){machine_unit_name((enum machine_unit)unit), rate};
    }
    return roof;
}

static void draw_roofs(struct chart *chart, const struct report *report, const struct roof *memory,
                       int count, const struct roof *peak)
{
    struct text *out = chart->out;
    for (int i = 0; i < count; i++) {
        double knee = peak->rate / memory[i].rate, left = chart->x.low;
        /* The roof begins where it enters the picture from below. */
        left = fmax(left, chart->y.low * 1e9 / memory[i].rate);
        double x = scale_at(&chart->x, left), y = scale_at(&chart->y, left * memory[i].rate / 1e9);
        double right = fmin(knee, chart->x.high);
        text_printf(out, "<path class='roof%s' d='M%.1f %.1fL%.1f %.1f'/>\n",
                    i + 1 == count ? " far" : "", x, y, scale_at(&chart->x, right),
                    scale_at(&chart->y, right * memory[i].rate / 1e9));
        if (i == 0 && count > 1)
            text_printf(out, "<text class=small x='%.1f' y='%.1f'>%s</text>\n", x + 4, y - 8,
                        memory[i].name);
        else if (i + 1 == count)
            text_printf(out, "<text class=small x='%.1f' y='%.1f'>%s</text>\n", x + 12, y + 12,
                        memory[i].name);
    }
    double y = scale_at(&chart->y, peak->rate / 1e9);
    double knee = count ? peak->rate / memory[0].rate : chart->x.low;
    text_printf(out, "<path class='roof far' d='M%.1f %.1fH%.1f'/>\n", scale_at(&chart->x, knee), y,
                chart->x.to);
    text_printf(out, "<text class=small x='%.1f' y='%.1f' text-anchor=end>%s %s</text>\n",
                chart->x.to, y - 5, peak->name, report->dtype);
}

static void draw_points(struct chart *chart, const struct report *report, double x,
                        double operations)
{
    struct text *out = chart->out;
    size_t every = report->count / REPORT_DOTS + 1;
    double at = scale_at(&chart->x, x);
    for (size_t i = 0; i < report->count; i += every)
        if (report->all[i].fitness > 0 && report->all[i].microseconds > 0)
            text_printf(out, "<circle class='dot faint' cx='%.1f' cy='%.1f' r=2.6 />\n", at,
                        scale_at(&chart->y, operations / report->all[i].microseconds / 1e3));
    double base = json_number(report->baseline, "microseconds");
    bool right = at < 0.6 * chart->x.to;
    const char *anchor = right ? "start" : "end";
    double aside = right ? 10 : -10;
    if (base > 0) {
        double y = scale_at(&chart->y, operations / base / 1e3);
        text_printf(out, "<path class=base d='M%.1f %.1fl5 5l-5 5l-5 -5z'/>", at, y - 5);
        text_printf(out, "<text class=small x='%.1f' y='%.1f' text-anchor=%s>", at + aside, y + 4,
                    anchor);
        html_escape(out, json_text(report->baseline, "baseline"));
        text_add(out, "</text>\n");
    }
    double y = scale_at(&chart->y, operations / report->best->microseconds / 1e3);
    text_printf(out, "<circle class=peak cx='%.1f' cy='%.1f' r=5 />", at, y);
    text_printf(out, "<text class=strong x='%.1f' y='%.1f' text-anchor=%s>best</text>\n",
                at + aside, y + 4, anchor);
}

/* Why there is no roofline; NULL: there is one. */
static const char *missing(const struct report *report, int roofs, const struct roof *peak)
{
    if (!report->here)
        return "the run was made on another machine, whose rates are not here.";
    if (roofs == 0 || peak->rate <= 0)
        return "the rates of this machine are not known; smelt probe measures them.";
    if (!(json_number(report->timed, "gigaflops") > 0) ||
        !(json_number(report->timed, "gigabytes_per_second") > 0) ||
        !(report->best->microseconds > 0))
        return "the op computes nothing that is counted, it only moves data.";
    return NULL;
}

/* The lowest rate that is shown: of the slowest kernel, but no thousandth of the best. */
static double lowest(const struct report *report, double operations)
{
    double best = operations / report->best->microseconds / 1e3;
    double low = best, base = json_number(report->baseline, "microseconds");
    for (size_t i = 0; i < report->count; i++)
        if (report->all[i].microseconds > 0)
            low = fmin(low, operations / report->all[i].microseconds / 1e3);
    if (base > 0)
        low = fmin(low, operations / base / 1e3);
    return fmax(low, best / 1000) / 2;
}

static void draw_roofline(struct text *out, const struct report *report)
{
    struct roof memory[MACHINE_LEVEL_COUNT];
    int count = memory_roofs(report, memory);
    struct roof peak = compute_roof(report);
    const char *why = missing(report, count, &peak);
    if (why) {
        text_printf(out, "<p class=note>There is no roofline: %s</p>\n", why);
        return;
    }
    double flops = json_number(report->timed, "gigaflops");
    double intensity = flops / json_number(report->timed, "gigabytes_per_second");
    double operations = flops * report->best->microseconds * 1e3;
    double slope = memory[count - 1].rate, knee = peak.rate / slope;
    double low = fmin(lowest(report, operations), fmin(intensity, knee) * slope / 1e9);
    struct chart chart =
        chart_open(out, "roofline", scale_log(fmin(intensity, knee) / 8, fmax(intensity, knee) * 8),
                   "operations per byte", scale_log(low, peak.rate / 1e9 * 2.5), "GFLOP/s");
    draw_roofs(&chart, report, memory, count, &peak);
    draw_points(&chart, report, intensity, operations);
    chart_close(&chart);
    text_add(out, "<p class=legend>Roofs:");
    for (int i = 0; i < count; i++)
        text_printf(out, "<span>%s %.3g GB/s</span>", memory[i].name, memory[i].rate / 1e9);
    text_printf(out, "<span>%s %s %.3g GFLOP/s</span></p>\n", peak.name, report->dtype,
                peak.rate / 1e9);
}

void report_roofline(struct text *out, const struct report *report)
{
    if (!report->best)
        return;
    text_add(out, "<h3>Against the machine</h3>\n");
    draw_roofline(out, report);
    text_printf(out,
                "<p class=note>Operations and bytes are those of the op as it is written, each "
                "tensor counted once; the roofs are what <code>smelt probe</code> measured for %d "
                "thread%s. Data that stays in a cache between calls may be read faster than memory "
                "allows.</p>\n",
                report->threads, report->threads == 1 ? "" : "s");
}
