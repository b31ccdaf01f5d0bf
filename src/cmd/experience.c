/*
 * smelt experience: what was learned, shown, taken elsewhere, brought in, forgotten.
 */
#include <math.h>
#include <string.h>

#include "cmd/stored.h"
#include "cmd/subject.h"
#include "know/know.h"
#include "os/file.h"

static const struct option options[] = {
    {.name = "structure", .argument = "WORD", .help = "only of ops like this: row, contract, ..."},
    {.name = "diagnosis",
     .argument = "NAME",
     .help = "only where this was the matter: memory, ..."},
    {.name = "action", .argument = "TEXT", .help = "only this change"},
    {.name = "out", .letter = 'o', .argument = "FILE", .help = "export: write to FILE"},
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt experience list --diagnosis memory", "what was tried where memory was the bound"},
    {"smelt experience export -o mine.wisdom", "all of it, as text"},
    {"smelt experience import theirs.wisdom", "all of a file's entries, or none"},
    {"smelt experience forget --structure row", "as if it had never been"},
    {0},
};

static struct experience_query query_of(const struct invocation *invocation)
{
    return (struct experience_query){.structure = option_value(invocation, "structure"),
                                     .diagnosis = option_value(invocation, "diagnosis"),
                                     .action = option_value(invocation, "action")};
}

static bool list_entries(struct stored *stored, struct store_experiences *list)
{
    struct experience_query query = query_of(stored->invocation);
    struct error error = {0};
    return stored->engine->experience_list(stored->store, stored->invocation->arena, &query, list,
                                           &error) ||
           stored_fail(stored, &error);
}

static double mean_gain(const struct experience *entry)
{
    int64_t right = entry->tries - entry->infeasible;
    return right > 0 ? exp(entry->log_gain / (double)right) : 0;
}

static void write_entries(struct invocation *invocation, const struct store_experiences *list)
{
    struct text out = text_new(invocation->arena);
    struct json json = output_json_begin(invocation, &out);
    json_array(&json, "entries");
    for (size_t i = 0; i < list->count; i++) {
        const struct experience *entry = &list->at[i];
        json_object(&json, NULL);
        json_string(&json, "structure", entry->structure);
        json_string(&json, "shape", entry->shape);
        json_string(&json, "dtype", entry->dtype);
        json_string(&json, "target", entry->target);
        json_string(&json, "signature", entry->signature);
        json_string(&json, "diagnosis", entry->diagnosis);
        json_string(&json, "action", entry->action);
        json_int(&json, "tries", entry->tries);
        json_int(&json, "wins", entry->wins);
        json_int(&json, "losses", entry->losses);
        json_int(&json, "infeasible", entry->infeasible);
        json_double(&json, "mean_gain", mean_gain(entry));
        json_end(&json);
    }
    json_end(&json);
    output_json_end(invocation, &json);
}

static bool do_list(struct stored *stored)
{
    struct invocation *invocation = stored->invocation;
    struct store_experiences list = {0};
    if (!list_entries(stored, &list))
        return false;
    if (invocation->json) {
        write_entries(invocation, &list);
        return true;
    }
    struct text out = text_new(invocation->arena);
    if (list.count == 0)
        text_add(&out, "nothing was learned yet\n");
    else
        text_printf(&out, "%5s %5s %6s  %-12s %-28s %s\n", "tries", "wins", "gain", "diagnosis",
                    "op", "action");
    for (size_t i = 0; i < list.count; i++) {
        const struct experience *entry = &list.at[i];
        text_printf(&out, "%5lld %5lld %6.2f  %-12s %-28s %.60s\n", (long long)entry->tries,
                    (long long)entry->wins, mean_gain(entry), entry->diagnosis, entry->structure,
                    entry->action);
    }
    output_text(&out);
    return true;
}

static bool do_export(struct stored *stored)
{
    struct invocation *invocation = stored->invocation;
    struct store_experiences list = {0};
    struct error error = {0};
    const char *path = option_value(invocation, "out");
    struct text out = text_new(invocation->arena);
    if (!list_entries(stored, &list))
        return false;
    wisdom_print(&out, &list);
    if (!path)
        output_text(&out);
    return !path || file_write(path, out.at, out.length, 0644, &error) ||
           stored_fail(stored, &error);
}

static bool do_import(struct stored *stored, const char *path)
{
    struct invocation *invocation = stored->invocation;
    struct store_experiences list = {0};
    struct error error = {0};
    const struct source *source = subject_read(invocation, path, &error);
    bool done = source && wisdom_parse(invocation->arena, source, &list, &error) &&
                stored->engine->experience_add(stored->store, list.at, list.count, &error);
    if (!done)
        return stored_fail(stored, &error);
    output_printf("%zu entries imported\n", list.count);
    return true;
}

static bool do_forget(struct stored *stored)
{
    struct experience_query query = query_of(stored->invocation);
    struct error error = {0};
    int64_t forgotten;
    if (!stored->engine->experience_forget(stored->store, &query, &forgotten, &error))
        return stored_fail(stored, &error);
    output_printf("%lld entries forgotten\n", (long long)forgotten);
    return true;
}

static enum exit_code run(struct invocation *invocation)
{
    struct stored stored;
    const char *what = invocation->operands.at[0];
    bool imports = strcmp(what, "import") == 0;
    bool known = imports || strcmp(what, "list") == 0 || strcmp(what, "export") == 0 ||
                 strcmp(what, "forget") == 0;
    if (!known || (imports != (invocation->operands.count == 2))) {
        error_hint(
            errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                       known ? "import takes one file, the others none" : "experience cannot '%s'",
                       what),
            "list, export, import FILE or forget");
        return EXIT_USAGE;
    }
    if (!stored_open(&stored, invocation, imports))
        return errors_exit(&invocation->errors);
    bool done = imports                       ? do_import(&stored, invocation->operands.at[1])
                : strcmp(what, "list") == 0   ? do_list(&stored)
                : strcmp(what, "export") == 0 ? do_export(&stored)
                                              : do_forget(&stored);
    stored_close(&stored);
    return done ? EXIT_YES : errors_exit(&invocation->errors);
}

const struct command command_experience = {
    .name = "experience",
    .summary = "show, export, import or forget what runs have learned",
    .operands = "list|export|import|forget [FILE]",
    .operand_kind = OPERAND_FILE,
    .least = 1,
    .most = 2,
    .description =
        "What came of each kind of change to plans, by what the op is like, what the diagnosis was "
        "and on which machine. It is recorded by every run and orders what later runs try first. "
        "As text it can be taken to another machine, where it counts for less than what was "
        "learned there; an import takes all entries of a file or none.",
    .options = options,
    .examples = examples,
    .run = run,
};
