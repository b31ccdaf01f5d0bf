/*
 * smelt diff: what differs between two candidates, or files: plans and sources.
 */
#include <string.h>
#include <unistd.h>

#include "base/diff.h"
#include "cmd/judged.h"
#include "cmd/stored.h"

enum { AROUND = 3 };

static const struct option options[] = {
    {.name = "plan", .help = "only the plans"},
    {.name = "source", .help = "only the sources"},
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt diff 12 40", "two candidates, by their numbers"},
    {"smelt diff softmax_rows mine.c", "the best of a task's newest run, and a file"},
    {"smelt diff 12 40 --plan", "what was decided differently"},
    {0},
};

struct side {
    const char *name;         /* "candidate 12", or the file */
    const char *plan;         /* NULL: it has none */
    const char *source;       /* NULL: it is a plan alone */
    struct candidate records; /* id 0: a file */
};

static bool read_file(struct invocation *invocation, const char *word, struct side *side)
{
    struct error error = {0};
    const struct source *file = subject_read(invocation, word, &error);
    if (!file) {
        errors_take(&invocation->errors, &error);
        return false;
    }
    side->name = word;
    if (strncmp(file->text, "plan ", 5) == 0) {
        side->plan = file->text;
        return true;
    }
    side->source = file->text;
    side->plan = judged_plan(invocation->arena, file->text);
    return true;
}

/* The store is opened by the first side that needs it. */
static bool read_candidate(struct stored *stored, struct invocation *invocation, const char *word,
                           struct side *side)
{
    if (!stored->store && !stored_open(stored, invocation, false))
        return false;
    if (!stored_candidate(stored, word, &side->records))
        return false;
    side->name = arena_printf(invocation->arena, "candidate %lld", (long long)side->records.id);
    side->source = stored_object(stored, side->records.kernel);
    side->plan = side->records.plan ? stored_object(stored, side->records.plan) : NULL;
    return side->source && (side->plan || !side->records.plan);
}

static bool read_side(struct stored *stored, struct invocation *invocation, const char *word,
                      struct side *side)
{
    bool file = subject_is_file(word) || access(word, F_OK) == 0;
    return file ? read_file(invocation, word, side)
                : read_candidate(stored, invocation, word, side);
}

static void print_side(struct text *out, const struct side *side)
{
    const struct candidate *record = &side->records;
    if (!record->id)
        return;
    text_printf(out, "%s, run %lld: ", side->name, (long long)record->run);
    if (!record->judged)
        text_add(out, "not judged\n");
    else if (record->outcome == OUTCOME_OK)
        text_printf(out, "%.3g times the baseline, %.4g us; %s\n", record->fitness,
                    record->microseconds, record->note ? record->note : "");
    else
        text_printf(out, "%s; %s\n", outcome_name(record->outcome),
                    record->note ? record->note : "");
}

static void write_side(struct json *json, const char *key, const struct side *side)
{
    json_object(json, key);
    json_string(json, "name", side->name);
    if (side->records.id) {
        json_int(json, "candidate", side->records.id);
        json_int(json, "run", side->records.run);
        json_double(json, "speedup", side->records.fitness);
        json_double(json, "microseconds", side->records.microseconds);
    }
    json_end(json);
}

/* True when they differ. */
static bool compare(struct invocation *invocation, const char *what, const struct side *sides,
                    const char *a, const char *b, struct text *out, struct json *json)
{
    struct arena *arena = invocation->arena;
    struct diff_lines lines = diff_texts(arena, a ? a : "", b ? b : "");
    bool differ = diff_any(&lines);
    struct text text = text_new(arena);
    diff_print(&text, &lines, arena_printf(arena, "%s, %s", sides[0].name, what),
               arena_printf(arena, "%s, %s", sides[1].name, what), AROUND);
    if (invocation->json) {
        json_object(json, what);
        json_bool(json, "same", !differ);
        json_string(json, "diff", differ ? text.at : "");
        json_end(json);
    } else if (differ) {
        text_add(out, text.at);
    } else {
        text_printf(out, "the %ss are the same\n", what);
    }
    return differ;
}

static enum exit_code run(struct invocation *invocation)
{
    struct stored stored = {0};
    struct side sides[2] = {0};
    bool fine = true;
    for (int i = 0; i < 2 && fine; i++)
        fine = read_side(&stored, invocation, invocation->operands.at[i], &sides[i]);
    stored_close(&stored);
    if (!fine)
        return errors_exit(&invocation->errors);
    bool plans = !option_given(invocation, "source"), sources = !option_given(invocation, "plan");
    struct text out = text_new(invocation->arena);
    struct json json = {0};
    bool differ = false;
    if (invocation->json) {
        json = output_json_begin(invocation, &out);
        write_side(&json, "a", &sides[0]);
        write_side(&json, "b", &sides[1]);
    } else {
        print_side(&out, &sides[0]);
        print_side(&out, &sides[1]);
    }
    if (plans && (sides[0].plan || sides[1].plan))
        differ |= compare(invocation, "plan", sides, sides[0].plan, sides[1].plan, &out, &json);
    if (sources && (sides[0].source || sides[1].source))
        differ |=
            compare(invocation, "source", sides, sides[0].source, sides[1].source, &out, &json);
    enum exit_code exit = differ ? EXIT_NO : EXIT_YES;
    if (invocation->json)
        return exit_worse(exit, output_json_end(invocation, &json));
    output_text(&out);
    return exit;
}

const struct command command_diff = {
    .name = "diff",
    .summary = "show what differs between two candidates or files",
    .operands = "A B",
    .operand_kind = OPERAND_FILE,
    .least = 2,
    .most = 2,
    .description =
        "Shows how two kernels differ, first in what their plans decide, then in their sources, as "
        "`diff -u` does. A and B are numbers of candidates, names of tasks or `last` (the best of "
        "the newest run), or files: a kernel, whose plan is read from its head, or a plan.\n\n"
        "The answer is 0 when they are the same, 1 when they differ.",
    .options = options,
    .examples = examples,
    .run = run,
};
