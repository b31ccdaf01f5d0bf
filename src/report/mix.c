/*
 * What came of the candidates: outcomes, diagnoses, experts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/private.h"

static double percent(size_t part, size_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- outcomes ---- */

static const char *outcome_class(enum outcome outcome)
{
    return outcome == OUTCOME_OK ? "good" : outcome == OUTCOME_JUDGE_FAULT ? "ours" : "bad";
}

void report_outcomes(struct text *out, const struct report *report)
{
    size_t counts[OUTCOME_COUNT] = {0};
    for (size_t i = 0; i < report->count; i++)
        counts[report->all[i].outcome]++;
    text_add(out, "<h3>Outcomes</h3>\n<div class=stack>");
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (counts[i])
            text_printf(out, "<i class=%s style='flex:%zu'></i>", outcome_class((enum outcome)i),
                        counts[i]);
    text_add(out, "</div>\n<table class=narrow>\n");
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (counts[i])
            text_printf(out,
                        "<tr><td><i class='square %s'></i> %s</td><td class=number>%zu</td>"
                        "<td class=number>%.3g&nbsp;%%</td></tr>\n",
                        outcome_class((enum outcome)i), outcome_name((enum outcome)i), counts[i],
                        percent(counts[i], report->count));
    text_add(out, "</table>\n");
}

/* ---- diagnoses ---- */

static const char *diagnosis_says(enum diagnosis_class class)
{
    static const char *const says[DIAGNOSIS_COUNT] = {
        [DIAGNOSIS_NONE] = "nothing stands out",
        [DIAGNOSIS_COMPILE] = "the compiler refused it",
        [DIAGNOSIS_LAUNCH] = "it could not be started",
        [DIAGNOSIS_BOUNDS] = "it touched what is not its own",
        [DIAGNOSIS_VALUES] = "wrong results",
        [DIAGNOSIS_PRECISION] = "results too inexact",
        [DIAGNOSIS_RACE] = "results differ from call to call",
        [DIAGNOSIS_HANG] = "no end within the time given",
        [DIAGNOSIS_MEMORY] = "bound by bytes moved",
        [DIAGNOSIS_INSTRUCTION] = "bound by instructions",
        [DIAGNOSIS_LATENCY] = "bound by waiting",
    };
    return says[class];
}

/* The best one of a class speaks for it; of those that are not right, the last one. */
static const struct candidate *speaker(const struct report *report, enum diagnosis_class class,
                                       size_t *count)
{
    const struct candidate *found = NULL;
    *count = 0;
    for (size_t i = 0; i < report->count; i++) {
        const struct candidate *candidate = &report->all[i];
        if (candidate->diagnosis != class)
            continue;
        (*count)++;
        if (!found || candidate->fitness >= found->fitness)
            found = candidate;
    }
    return found;
}

void report_diagnoses(struct text *out, const struct report *report)
{
    text_add(out, "<h3>Diagnoses</h3>\n<div class=scroll><table>\n<tr><th>what<th>count"
                  "<th class=wide>the best of them</tr>\n");
    for (int i = 0; i < DIAGNOSIS_COUNT; i++) {
        size_t count;
        const struct candidate *candidate = speaker(report, (enum diagnosis_class)i, &count);
        if (!candidate)
            continue;
        text_printf(out,
                    "<tr><td>%s<td class=number>%zu<div class=bar><i style='width:%.3g%%'></i>"
                    "</div><td>",
                    diagnosis_says((enum diagnosis_class)i), count, percent(count, report->count));
        if (candidate->fitness > 0)
            text_printf(out, "<b>%.3g&times;</b> ", candidate->fitness);
        html_escape(out, candidate->note);
        text_add(out, "</tr>\n");
    }
    text_add(out, "</table></div>\n");
}

/* ---- experts ---- */

struct record { /* of a proposer */
    const char *name;
    size_t asked, right, better;
    double log_gain, best;
};

struct records VECTOR(struct record);

static struct record *find_record(const struct report *report, struct records *records,
                                  const char *name)
{
    for (size_t i = 0; i < records->count; i++)
        if (strcmp(records->at[i].name, name) == 0)
            return &records->at[i];
    vector_push(report->arena, records, (struct record){.name = name});
    return &records->at[records->count - 1];
}

static int compare_asked(const void *a, const void *b)
{
    const struct record *first = a, *second = b;
    return (first->asked < second->asked) - (first->asked > second->asked);
}

static struct records count_experts(const struct report *report)
{
    struct records records = {0};
    for (size_t i = 0; i < report->count; i++) {
        const struct candidate *candidate = &report->all[i];
        const struct candidate *parent =
            candidate->parents[0] ? report_find(report, candidate->parents[0]) : NULL;
        struct record *record = find_record(report, &records, report_proposer(candidate));
        record->asked++;
        record->right += candidate->fitness > 0;
        record->best = fmax(record->best, candidate->fitness);
        if (parent && parent->fitness > 0 && candidate->fitness > 1.01 * parent->fitness) {
            record->better++;
            record->log_gain += log(candidate->fitness / parent->fitness);
        }
    }
    if (records.count > 1)
        qsort(records.at, records.count, sizeof *records.at, compare_asked);
    return records;
}

void report_experts(struct text *out, const struct report *report)
{
    struct records records = count_experts(report);
    text_add(out, "<h3>Who proposed what</h3>\n<div class=scroll><table>\n<tr><th>proposer"
                  "<th>asked<th>right<th>faster than its parent<th>by, on average<th>best</tr>\n");
    for (size_t i = 0; i < records.count && i < REPORT_TABLE; i++) {
        const struct record *record = &records.at[i];
        text_printf(out, "<tr><td class=who><i class='square %s'></i> ",
                    report_colour(record->name));
        html_escape(out, record->name);
        text_printf(out,
                    "<td class=number>%zu<td class=number>%zu<td class=number>%zu<td class=number>",
                    record->asked, record->right, record->better);
        if (record->better)
            text_printf(out, "%.1f&nbsp;%%",
                        100 * expm1(record->log_gain / (double)record->better));
        text_add(out, "<td class=number>");
        if (record->best > 0)
            text_printf(out, "%.3g&times;", record->best);
        text_add(out, "</tr>\n");
    }
    text_add(out, "</table></div>\n");
}

/* ---- who ---- */

/* Only where somebody else than experts took part: what these did is said above. */
void report_proposers(struct text *out, const struct report *report)
{
    if (!tally_is_mixed(&report->tally))
        return;
    text_add(out, "<h2>Who found what at which cost</h2>\n<div class=scroll><table class=big><tr>"
                  "<th>proposer<th>tried<th>right<th>better than the parent<th>best<th>tokens"
                  "<th>cost<th>expected<th>came</tr>\n");
    for (size_t i = 0; i < report->tally.count; i++) {
        const struct tally_row *row = &report->tally.at[i];
        text_add(out, "<tr><td>");
        html_escape(out, row->proposer);
        text_printf(out,
                    "%s<td class=number>%lld<td class=number>%lld<td class=number>%lld<td "
                    "class=number>%.3g&times;"
                    "<td class=number>%lld<td class=number>%.4g",
                    row->winner ? " (won)" : "", (long long)row->candidates, (long long)row->right,
                    (long long)row->better, row->best, (long long)row->tokens, row->cost);
        if (row->compared)
            text_printf(out, "<td class=number>%.3g&times;<td class=number>%.3g&times;</tr>\n",
                        row->expected, row->got);
        else
            text_add(out, "<td class=number>&ndash;<td class=number>&ndash;</tr>\n");
    }
    text_add(out, "</table></div>\n");
}
