/*
 * smelt ref: evaluates an op by the reference, and shows and stores what came out.
 */
#include "cmd/ref.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const oracle_choices[] = {"interpreter", "compiled", "both", NULL};

static const struct option options[] = {
    {.name = "op", .argument = "NAME", .help = "the op of FILE to evaluate"},
    {.name = "task", .argument = "NAME", .help = "the task of FILE to take cases from"},
    {.name = "case",
     .letter = 'c',
     .argument = "I",
     .help = "the case to evaluate, counted from 0 (the default), or 'all'"},
    {.name = "size",
     .letter = 's',
     .argument = "NAME=VALUE",
     .repeated = true,
     .help = "a size, parameter or type instead of a case; the same as NAME=VALUE without --size"},
    {.name = "seed",
     .argument = "S",
     .help = "the seed inputs are drawn from (0 when not given); the same seed, the same values"},
    {.name = "in",
     .letter = 'i',
     .argument = "NAME=FILE.npy",
     .repeated = true,
     .help = "read this input from a file instead of drawing it; sizes that are not given follow "
             "from the shapes of such files"},
    {.name = "out",
     .letter = 'o',
     .argument = "DIR",
     .help = "write every input and output to DIR as NAME.npy"},
    {.name = "oracle",
     .argument = "FORM",
     .choices = oracle_choices,
     .help = "interpreter, compiled, or both, which are then compared bit for bit; when not given: "
             "compiled if there is a C compiler"},
    {.name = "point",
     .argument = "NAME[I,...]",
     .repeated = true,
     .help = "evaluate only this element of an output, such as 'y[3,4]'"},
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt ref softmax B=[8] D=16", "an op of the library at sizes of your choice"},
    {"smelt ref my_op.op --case 1 --out data", "the second case of a file, arrays kept in data/"},
    {"smelt ref my_op.op --in x=x.npy --out data", "on your own values; sizes follow from x.npy"},
    {"smelt ref mm M=64 N=64 K=64 T=f16 --oracle both", "evaluate twice and compare"},
    {"smelt ref softmax B=[4096] D=1024 --point 'y[17,3]'", "one element of a large result"},
    {0},
};

static bool usage(struct invocation *invocation, const char *message, const char *hint)
{
    struct error *error =
        errors_add(&invocation->errors, ERROR_USAGE, (struct place){0}, "%s", message);
    error_hint(error, "%s", hint);
    return false;
}

static bool add_setting(struct ref_request *request, const char *word)
{
    struct invocation *invocation = request->invocation;
    const char *equals = strchr(word, '=');
    if (!equals || equals == word || !equals[1] || strpbrk(word, "\r\n#"))
        return usage(invocation,
                     arena_printf(invocation->arena, "'%s' is not of the form NAME=VALUE", word),
                     "sizes are written like D=16, and all leading sizes together like B=[8, 4]");
    if (request->settings.count == REF_SETTINGS)
        return usage(invocation, "too many sizes", "an op has a few");
    vector_push(invocation->arena, &request->settings, word);
    return true;
}

static bool collect_settings(struct ref_request *request)
{
    struct invocation *invocation = request->invocation;
    const char *value;
    size_t cursor = 0;
    for (size_t i = 1; i < invocation->operands.count; i++)
        if (!add_setting(request, invocation->operands.at[i]))
            return false;
    while ((value = option_next(invocation, "size", &cursor)))
        if (!add_setting(request, value))
            return false;
    return true;
}

static bool collect_files(struct ref_request *request)
{
    struct invocation *invocation = request->invocation;
    const char *value;
    size_t cursor = 0;
    while ((value = option_next(invocation, "in", &cursor))) {
        const char *equals = strchr(value, '=');
        if (!equals || equals == value || !equals[1])
            return usage(invocation, arena_printf(invocation->arena, "--in cannot be '%s'", value),
                         "it is written like --in x=FILE.npy");
        const char *name = arena_copy(invocation->arena, value, (size_t)(equals - value));
        vector_push(invocation->arena, &request->files,
                    (struct ref_file){.name = name, .path = equals + 1});
    }
    return true;
}

/* A number that is not negative, and nothing else. */
static bool parse_number(const char *word, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(word, &end, 0);
    return isdigit((unsigned char)word[0]) && *end == '\0' && errno == 0;
}

static bool collect_numbers(struct ref_request *request)
{
    struct invocation *invocation = request->invocation;
    const char *seed = option_value(invocation, "seed"), *which = option_value(invocation, "case");
    uint64_t number = 0;
    if (seed && !parse_number(seed, &request->seed))
        return usage(invocation, arena_printf(invocation->arena, "--seed cannot be '%s'", seed),
                     "it is a number from 0 to 2^64-1");
    request->case_chosen = which != NULL;
    if (which && strcmp(which, "all") == 0)
        request->last_case = INT64_MAX;
    else if (which && (!parse_number(which, &number) || number > INT32_MAX))
        return usage(invocation, arena_printf(invocation->arena, "--case cannot be '%s'", which),
                     "it is the number of a case, counted from 0, or 'all'");
    else
        request->first_case = request->last_case = (int64_t)number;
    if (which && request->settings.count)
        return usage(invocation, "--case and sizes exclude each other",
                     "a case has all its sizes: leave out one of the two");
    return true;
}

static bool collect(struct ref_request *request)
{
    struct invocation *invocation = request->invocation;
    const char *form = option_value(invocation, "oracle"), *point;
    size_t cursor = 0;
    request->folder = option_value(invocation, "out");
    if (form)
        request->oracle = strcmp(form, "both") == 0          ? REF_BOTH
                          : strcmp(form, "interpreter") == 0 ? REF_INTERPRETER
                                                             : REF_COMPILED;
    while ((point = option_next(invocation, "point", &cursor)))
        vector_push(invocation->arena, &request->points, point);
    return collect_settings(request) && collect_files(request) && collect_numbers(request);
}

static bool choose_cases(struct ref_request *request, const struct task *task)
{
    struct invocation *invocation = request->invocation;
    if (request->last_case >= task->case_count && request->last_case != INT64_MAX) {
        struct error *error =
            errors_add(&invocation->errors, ERROR_UNKNOWN_CASE, (struct place){0},
                       "task '%s' has no case %lld", task->name, (long long)request->first_case);
        error_hint(error, "it has %d, numbered from 0", task->case_count);
        return false;
    }
    if (request->last_case == INT64_MAX)
        request->last_case = task->case_count - 1;
    return true;
}

/* The arrays of one case are given back before the next. */
static enum exit_code run_cases(struct ref_request *request, const struct task *task,
                                struct json *json)
{
    struct invocation *invocation = request->invocation;
    struct ref_code code = {0};
    enum exit_code answer = EXIT_YES;
    for (int64_t i = request->first_case; i <= request->last_case && answer == EXIT_YES; i++) {
        struct ref_result result = {0};
        struct error error = {0};
        if (!ref_case(request, task, (int)i, &code, &result, &error)) {
            errors_take(&invocation->errors, &error);
            answer = error_exit(error.code);
        } else if (json) {
            ref_json(json, &result);
        } else {
            if (i > request->first_case)
                output_printf("\n");
            ref_print(invocation, &result);
        }
        event("evaluated", event_string("op", task->op_name), event_int("case", i),
              event_double("seconds", result.seconds), event_bool("ok", answer == EXIT_YES));
        arena_reset(invocation->scratch);
    }
    if (code.code)
        oracle_close(code.code);
    return answer;
}

static enum exit_code run(struct invocation *invocation)
{
    struct ref_request request = {.invocation = invocation};
    struct errors *errors = &invocation->errors;
    if (!collect(&request) ||
        !subject_find(invocation, invocation->operands.at[0], option_value(invocation, "op"),
                      option_value(invocation, "task"), &request.subject, errors))
        return EXIT_NO;
    const struct task *task = ref_task(&request, errors);
    if (!task || !choose_cases(&request, task))
        return EXIT_NO;
    if (!invocation->json)
        return run_cases(&request, task, NULL);
    struct text text = text_new(invocation->arena);
    struct json json = output_json_begin(invocation, &text);
    json_string(&json, "op", task->op_name);
    json_string(&json, "task", request.subject.task ? request.subject.task->name.name : NULL);
    json_string(&json, "types", task->types);
    json_string(&json, "seed",
                arena_printf(invocation->arena, "%llu", (unsigned long long)request.seed));
    json_array(&json, "cases");
    enum exit_code code = run_cases(&request, task, &json);
    json_end(&json);
    return exit_worse(code, output_json_end(invocation, &json));
}

const struct command command_ref = {
    .name = "ref",
    .summary = "evaluate an op by the reference, in double precision",
    .operands = "FILE|OP [NAME=VALUE...]",
    .operand_kind = OPERAND_FILE_OR_OP,
    .least = 1,
    .most = -1,
    .description =
        "Evaluates an op exactly as the language defines it: floats in double precision, integers "
        "in 64 bits, rounded only where a declared type or a cast says so. This is what every "
        "kernel is compared with.\n\n"
        "What is evaluated is a case of a task in FILE, or any op of FILE or of the library at the "
        "sizes given: a size as D=16, all leading sizes together as B=[8, 4], a type as T=f16, a "
        "parameter as eps=1e-3. Inputs are drawn as the task says, or read from .npy files.\n\n"
        "Prints one line per input and output: its shape, least, greatest and mean value, how many "
        "elements are not a number, and the first ones.",
    .options = options,
    .examples = examples,
    .run = run,
};
