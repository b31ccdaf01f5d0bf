/*
 * smelt report: a run as one HTML page.
 */
#include <string.h>
#include <unistd.h>

#include "cmd/reported.h"
#include "os/file.h"

static const struct option options[] = {
    {.name = "out",
     .letter = 'o',
     .argument = "FILE",
     .help = "write it to FILE instead of TASK-RUN.html in the folder of the store's reports; - is "
             "standard output"},
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt report last", "of the newest run; prints where the page is"},
    {"smelt report 12 -o softmax.html", "of run 12, to a file of your choice"},
    {0},
};

static enum exit_code report(struct invocation *invocation)
{
    struct stored stored;
    struct run run;
    struct error error = {0};
    if (!stored_open(&stored, invocation, false))
        return errors_exit(&invocation->errors);
    const char *out = option_value(invocation, "out"), *path = NULL;
    struct text page = text_new(invocation->arena);
    bool to_terminal = out && strcmp(out, "-") == 0;
    bool done = stored_run(&stored, invocation->operands.at[0], &run) &&
                (reported_page(&stored, &run, &page, &error) || stored_fail(&stored, &error));
    if (done && !to_terminal) {
        path = reported_write(&stored, &run, out, &page, &error);
        done = path || stored_fail(&stored, &error);
    }
    stored_close(&stored);
    if (!done)
        return errors_exit(&invocation->errors);
    struct text text = text_new(invocation->arena);
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &text);
        json_int(&json, "run", run.id);
        json_string(&json, "task", run.task);
        json_string(&json, "report", path);
        json_int(&json, "bytes", (int64_t)page.length);
        return output_json_end(invocation, &json);
    }
    if (to_terminal)
        output_text(&page);
    else
        output_printf("%s\n", path);
    return EXIT_YES;
}

const struct command command_report = {
    .name = "report",
    .summary = "write a run as one HTML page",
    .operands = "RUN",
    .operand_kind = OPERAND_NONE,
    .least = 1,
    .most = 1,
    .description =
        "Writes what a run found as one HTML file that needs nothing else: the best kernel, the "
        "steps that led to it, the best speed-up over candidates and over time, the graph of "
        "candidates, outcomes, diagnoses, a roofline, the evidence, and how to repeat it. `smelt "
        "run` writes it at its end. RUN is a number, the name of a task, or `last`.",
    .options = options,
    .examples = examples,
    .run = report,
};
