/*
 * What shows that the best kernel is right and as fast as said, and how to see it oneself.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "report/private.h"

/* ---- evidence ---- */

static void add_baselines(struct text *out, const struct json_value *one)
{
    const struct json_value *speedups = json_member(one, "speedups");
    bool any = false;
    for (const struct json_value *at = speedups ? speedups->first : NULL; at; at = at->next) {
        const struct json_value *ratio = json_member(at, "ratio");
        if (strncmp(json_text(at, "baseline"), "candidate ", 10) == 0 || !ratio)
            continue;
        text_printf(out, "%s<b>%.3g&times;</b> (%.3g to %.3g) ", any ? "<br>" : "",
                    json_number(ratio, "middle"), json_number(ratio, "low"),
                    json_number(ratio, "high"));
        html_escape(out, json_text(at, "baseline"));
        any = true;
    }
}

static void add_case(struct text *out, const struct json_value *one)
{
    const struct json_value *time = json_member(one, "microseconds");
    text_add(out, "<tr><td>");
    html_escape(out, json_text(one, "case"));
    if (json_truth(one, "held"))
        text_add(out, " <span class=tag>held</span>");
    text_add(out, "<td>");
    html_escape(out, json_text(one, "outcome"));
    double worst = json_number(one, "worst");
    text_add(out, "<td class=number>");
    if (worst >= 0)
        text_printf(out, "%.2g", worst);
    text_add(out, "<td class=number>");
    if (time)
        text_printf(out, "%.4g <small>(%.4g to %.4g)</small>", json_number(time, "middle"),
                    json_number(time, "low"), json_number(time, "high"));
    text_add(out, "<td>");
    add_baselines(out, one);
    text_add(out, "</tr>\n");
}

static void add_fact(struct text *out, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    text_printf(out, "<dt>%s<dd>", name);
    html_escape(out, value);
    text_add(out, "\n");
}

void report_evidence(struct text *out, const struct report *report)
{
    const struct json_value *cases = json_member(report->verdict, "cases");
    if (!cases)
        return;
    text_add(out,
             "<section><h2>The evidence</h2>\n<div class=scroll><table class=big>\n<tr><th>case"
             "<th>outcome<th>largest error<th>&micro;s<th class=wide>against</tr>\n");
    for (const struct json_value *at = cases->first; at; at = at->next)
        add_case(out, at);
    text_add(out, "</table></div>\n<p class=note>Errors are in units of what the accuracy class "
                  "allows, the largest over all draws of inputs; <span class=tag>held</span> cases "
                  "were drawn by the judge and not known before. Speed-ups have their 95&nbsp;% "
                  "intervals.</p>\n<dl>");
    add_fact(out, "compiled by", json_text(report->verdict, "compiler"));
    add_fact(out, "isolation", json_text(report->verdict, "isolation"));
    text_add(out, "</dl></section>\n");
}

/* ---- again ---- */

/* A word as a shell reads it back. */
static void add_word(struct text *out, const char *word, size_t length)
{
    struct text plain = text_new(out->arena);
    bool safe = length > 0;
    for (size_t i = 0; i < length; i++)
        safe = safe && (isalnum((unsigned char)word[i]) || strchr("_-./=:,%+@", word[i]));
    if (!safe)
        text_char(&plain, '\'');
    for (size_t i = 0; i < length; i++) {
        if (word[i] == '\'')
            text_add(&plain, "'\\''");
        else
            text_char(&plain, word[i]);
    }
    if (!safe)
        text_char(&plain, '\'');
    html_escape(out, plain.at);
}

static void add_command(struct text *out, const struct report *report)
{
    const char *at = report->run->settings ? report->run->settings : "";
    text_add(out, "smelt run");
    while (*at) {
        size_t length = strcspn(at, "\n");
        bool skipped = strncmp(at, "--seed=", 7) == 0;
        if (length > 0 && !skipped) {
            text_char(out, ' ');
            add_word(out, at, length);
        }
        at += length + (at[length] == '\n');
    }
    text_printf(out, " --seed=%llu\n", (unsigned long long)report->run->seed);
}

static void add_machine(struct text *out, const struct report *report)
{
    const struct machine *machine = report->subject->machine;
    if (report->here && machine->model[0])
        add_fact(out, "machine", machine->model);
    else
        add_fact(out, "machine", report->run->signature);
    if (strcmp(report->run->target, "cpu") == 0)
        text_printf(out, "<dt>threads of a kernel<dd>%d\n", report->threads);
    if (report->here) {
        text_add(out, "<dt>caches<dd>");
        for (int level = MACHINE_L1; level < MACHINE_CACHES; level++)
            if (machine->caches[level].bytes > 0)
                text_printf(out, "%s %lld KiB ", machine_level_name((enum machine_level)level),
                            (long long)(machine->caches[level].bytes >> 10));
        text_add(out, "\n");
    }
    add_fact(out, "written by", report->subject->program);
}

void report_repeat(struct text *out, const struct report *report)
{
    long long run = (long long)report->run->id;
    text_add(out, "<section><h2>How to repeat it</h2>\n<pre>");
    add_command(out, report);
    if (report->best)
        text_printf(
            out,
            "smelt best %lld -o kernel.c       <i class=c># the kernel as it was judged</i>\n"
            "smelt show %lld --tree            <i class=c># every candidate</i>\n",
            run, run);
    text_printf(out, "smelt resume %lld                 <i class=c># go on with this run</i>\n",
                run);
    text_add(out, "</pre>\n<p class=note>Timing differs from day to day, so a search with the same "
                  "seed need not go the same way; the judge measures side by side, so its ratios "
                  "do repeat.</p>\n<dl>");
    add_machine(out, report);
    text_add(out, "</dl></section>\n");
}
