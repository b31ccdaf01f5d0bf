/*
 * Scales, axes and ticks: what the charts have in common.
 */
#include <math.h>
#include <stdio.h>

#include "report/private.h"

/* Small enough to be read on a phone, where it is shown narrower. */
enum { WIDTH = 460, HEIGHT = 290, LEFT = 44, RIGHT = 12, TOP = 22, BOTTOM = 36, TICKS = 24 };

struct scale scale_linear(double low, double high)
{
    if (!(high > low))
        high = low + 1;
    return (struct scale){.low = low, .high = high};
}

struct scale scale_log(double low, double high)
{
    if (!(low > 0))
        low = 1e-3;
    if (!(high > low))
        high = low * 2;
    return (struct scale){.log = true, .low = low, .high = high};
}

double scale_at(const struct scale *scale, double value)
{
    double part = scale->log ? log(fmax(value, 1e-300) / scale->low) / log(scale->high / scale->low)
                             : (value - scale->low) / (scale->high - scale->low);
    return scale->from + (scale->to - scale->from) * fmin(1.02, fmax(-0.02, part));
}

void chart_number(struct text *out, double value)
{
    if (value >= 1e6)
        text_printf(out, "%.3gM", value / 1e6);
    else if (value >= 1e4)
        text_printf(out, "%.3gk", value / 1e3);
    else
        text_printf(out, "%.3g", value);
}

/* ---- ticks ---- */

static int ticks_linear(const struct scale *scale, double *ticks)
{
    double rough = (scale->high - scale->low) / 5, power = pow(10, floor(log10(rough)));
    double step = rough / power > 5   ? 10 * power
                  : rough / power > 2 ? 5 * power
                  : rough / power > 1 ? 2 * power
                                      : power;
    int count = 0;
    for (double at = ceil(scale->low / step) * step; at <= scale->high * 1.0001 && count < TICKS;
         at += step)
        ticks[count++] = at;
    return count;
}

/* Powers of ten; where those are few, 2 and 5 between them, or all nine. */
static int ticks_log(const struct scale *scale, double *ticks)
{
    static const double few[] = {1}, some[] = {1, 2, 5}, many[] = {1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9};
    double decades = log10(scale->high / scale->low);
    const double *steps = decades > 3 ? few : decades > 1.2 ? some : many;
    int step_count = decades > 3 ? 1 : decades > 1.2 ? 3 : 10, count = 0;
    double power = pow(10, floor(log10(scale->low)));
    if (decades < 0.25)
        return ticks_linear(scale, ticks);
    for (; power <= scale->high && count < TICKS; power *= 10)
        for (int i = 0; i < step_count && count < TICKS; i++)
            if (power * steps[i] >= scale->low * 0.999 && power * steps[i] <= scale->high * 1.001)
                ticks[count++] = power * steps[i];
    return count;
}

static int find_ticks(const struct scale *scale, double *ticks)
{
    return scale->log ? ticks_log(scale, ticks) : ticks_linear(scale, ticks);
}

/* ---- the frame ---- */

static void draw_axes(const struct chart *chart)
{
    struct text *out = chart->out;
    double ticks[TICKS], last = -1e9;
    int count = find_ticks(&chart->y, ticks);
    for (int i = 0; i < count; i++) {
        double y = scale_at(&chart->y, ticks[i]);
        text_printf(out, "<path class=grid d='M%d %.1fH%d'/>", LEFT, y, WIDTH - RIGHT);
        if (fabs(y - last) < 16)
            continue;
        text_printf(out, "<text x=%d y='%.1f' text-anchor=end>", LEFT - 6, y + 4);
        chart_number(out, ticks[i]);
        text_add(out, "</text>\n");
        last = y;
    }
    count = find_ticks(&chart->x, ticks);
    last = -1e9;
    for (int i = 0; i < count; i++) {
        double x = scale_at(&chart->x, ticks[i]);
        text_printf(out, "<path class=tick d='M%.1f %dv4'/>", x, HEIGHT - BOTTOM);
        if (fabs(x - last) < 34)
            continue;
        text_printf(out, "<text x='%.1f' y=%d text-anchor=middle>", x, HEIGHT - BOTTOM + 17);
        chart_number(out, ticks[i]);
        text_add(out, "</text>\n");
        last = x;
    }
    text_printf(out, "<path class=axis d='M%d %dH%d'/>\n", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT);
    text_printf(out, "<text class=unit x=%d y=%d text-anchor=end>%s</text>\n", WIDTH - RIGHT,
                HEIGHT - 4, chart->x_unit);
    text_printf(out, "<text class=unit x=0 y=12>%s</text>\n", chart->y_unit);
}

struct chart chart_open(struct text *out, const char *title, struct scale x, const char *x_unit,
                        struct scale y, const char *y_unit)
{
    struct chart chart = {.out = out, .x = x, .y = y, .x_unit = x_unit, .y_unit = y_unit};
    chart.x.from = LEFT + 4;
    chart.x.to = WIDTH - RIGHT - 4;
    chart.y.from = HEIGHT - BOTTOM;
    chart.y.to = TOP + 4;
    text_printf(out, "<svg class=chart viewBox='0 0 %d %d' role=img aria-label='%s'>\n", WIDTH,
                HEIGHT, title);
    draw_axes(&chart);
    return chart;
}

void chart_close(struct chart *chart)
{
    text_add(chart->out, "</svg>\n");
}
