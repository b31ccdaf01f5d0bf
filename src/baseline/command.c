/*
 * External programs as baselines: a program of the user's own, and PyTorch by way of a small
 * script. Here only the command line is made; src/judge/command.c hands over files, runs it and
 * reads back what it wrote.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "baseline/private.h"
#include "os/os.h"

enum { COMMAND_ARGUMENTS = 64, PYTHON_SECONDS = 20 };

/* The next word of a command line, as a shell would cut it: quotes of either kind keep spaces, a
 * backslash outside of single quotes keeps the next character. NULL at the end or, with *bad, when
 * a quote does not close. */
static char *next_word(struct arena *arena, const char **rest, bool *bad)
{
    const char *at = *rest;
    struct text word = text_new(arena);
    while (isspace((unsigned char)*at))
        at++;
    if (!*at)
        return NULL;
    char quote = 0;
    for (; *at && (quote || !isspace((unsigned char)*at)); at++) {
        if (quote && *at == quote)
            quote = 0;
        else if (!quote && (*at == '\'' || *at == '"'))
            quote = *at;
        else if (*at == '\\' && quote != '\'' && at[1])
            text_char(&word, *++at);
        else
            text_char(&word, *at);
    }
    *rest = at;
    *bad = quote != 0;
    return quote ? NULL : word.at;
}

enum baseline_answer baseline_command(struct arena *arena, const char *argument,
                                      const struct ir_program *program, struct baseline *baseline,
                                      struct error *error)
{
    (void)program;
    struct words VECTOR(const char *) words = {0};
    bool bad = false;
    for (char *word; (word = next_word(arena, &argument, &bad));)
        vector_push(arena, &words, word);
    if (bad || words.count == 0 || words.count > COMMAND_ARGUMENTS) {
        error_set(error, ERROR_USAGE,
                  bad               ? "a quote in the command of the baseline does not close"
                  : words.count > 0 ? "the command of the baseline has over 64 words"
                                    : "the baseline 'command:' names no program");
        error_hint(error, "--baseline 'command:python3 mine.py'");
        return BASELINE_FAILED;
    }
    if (!process_find(arena, words.at[0])) {
        error_set(error, ERROR_MISSING_TOOL, "the program '%s' of the baseline is not found",
                  words.at[0]);
        return BASELINE_FAILED;
    }
    vector_push(arena, &words, NULL);
    baseline->command = words.at;
    return BASELINE_READY;
}

/* ---- PyTorch ---- */

/* In the source tree or where it was installed; NULL when it is not found. */
static const char *find_script(struct arena *arena)
{
    static const char name[] = "baselines/torch_command.py";
    const char *own = process_own_path(arena);
    for (const char *end = own ? own + strlen(own) : NULL; end && end > own;) {
        while (end > own && *--end != '/') /* the build folder may be deeper than one level */
            ;
        const char *path = arena_printf(arena, "%.*s/tools/%s", (int)(end - own), own, name);
        if (access(path, R_OK) == 0)
            return path;
    }
    const char *installed = arena_printf(arena, "%s/%s", SMELT_DATA_DIR, name);
    return access(installed, R_OK) == 0 ? installed : NULL;
}

const char *baseline_python(struct arena *arena, const char **version)
{
    static const char question[] = "import importlib.metadata as m; print(m.version('torch'))";
    const char *chosen = getenv("SMELT_PYTHON");
    const char *python = process_find(arena, chosen && *chosen ? chosen : "python3");
    struct process_result result;
    struct error ignored;
    *version = NULL;
    if (!python)
        return NULL;
    const char *const arguments[] = {python, "-c", question, NULL};
    struct process_request request = {.arguments = arguments, .timeout = PYTHON_SECONDS};
    if (process_run(arena, &request, &result, &ignored) && process_succeeded(&result))
        *version = arena_copy(arena, result.output, strcspn(result.output, "\n"));
    return python;
}

static enum baseline_answer make_torch(struct arena *arena, const char *argument, bool compiled,
                                       struct baseline *baseline, struct error *error)
{
    const char *version;
    const char *python = baseline_python(arena, &version);
    const char *script = find_script(arena);
    if (!python || !version || !script) {
        error_set(error, ERROR_MISSING_TOOL, "%s%s", python && !version ? python : "",
                  !python    ? "there is no python3"
                  : !version ? " has no PyTorch"
                             : "torch_command.py, which belongs to smelt, is not found");
        error_hint(error,
                   "python3 -m pip install torch, or SMELT_PYTHON names a python that has it");
        return BASELINE_DOES_NOT_APPLY;
    }
    const char **words = arena_array(arena, 5, sizeof *words);
    int count = 0;
    words[count++] = python;
    words[count++] = script;
    if (compiled)
        words[count++] = "--compile";
    words[count++] = argument;
    baseline->command = words;
    baseline->name = arena_printf(arena, "%s (PyTorch %s, %s)", baseline->name, version,
                                  compiled ? "compiled" : "eager");
    return BASELINE_READY;
}

/* "--compile EXPRESSION" is how torch-compile was written before it had a name. */
enum baseline_answer baseline_torch(struct arena *arena, const char *argument,
                                    const struct ir_program *program, struct baseline *baseline,
                                    struct error *error)
{
    static const char compile[] = "--compile ";
    (void)program;
    bool compiled = strncmp(argument, compile, sizeof compile - 1) == 0;
    return make_torch(arena, argument + (compiled ? sizeof compile - 1 : 0), compiled, baseline,
                      error);
}

enum baseline_answer baseline_compiled(struct arena *arena, const char *argument,
                                       const struct ir_program *program, struct baseline *baseline,
                                       struct error *error)
{
    (void)program;
    return make_torch(arena, argument, true, baseline, error);
}
