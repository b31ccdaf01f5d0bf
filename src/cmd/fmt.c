/*
 * smelt fmt: files in the one style. A file is replaced whole or not at all, and only when that
 * changes it; one that does not parse is left alone.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/subject.h"
#include "os/file.h"

static const struct option options[] = {
    {.name = "check",
     .letter = 'c',
     .help = "change nothing; list the files that differ, exit 1 if any"},
    {.name = "stdout", .help = "print the formatted text instead of rewriting the file"},
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt fmt softmax.op", "format a file in place"},
    {"smelt fmt --check lib", "is every file of a folder formatted?"},
    {"smelt fmt - <softmax.op", "format standard input to standard output, as an editor would"},
    {0},
};

enum fmt_state { FMT_SAME, FMT_DIFFERS, FMT_FAILED };

/* The formatted text. False: the source has errors. */
static bool format(struct invocation *invocation, const struct source *source, struct text *text,
                   struct errors *errors)
{
    struct map names = map_new(invocation->arena);
    const struct ast_file *file = ast_parse(invocation->arena, &names, source, errors);
    if (errors->list.count)
        return false;
    ast_format(text, file);
    return true;
}

/* Writes to where a symbolic link points, so that the link stays one; keeps the permissions. */
static bool replace(const char *path, const struct text *text, struct error *error)
{
    struct stat status;
    char *target = realpath(path, NULL);
    if (!target || stat(target, &status) != 0) {
        free(target);
        return error_system(error, ERROR_CANNOT_WRITE, "could not find %s", path);
    }
    bool good = file_write(target, text->at, text->length, status.st_mode & 07777, error);
    free(target);
    return good;
}

static enum fmt_state fmt_file(struct invocation *invocation, const char *path,
                               struct errors *errors)
{
    struct error error = {0};
    const struct source *source = subject_read(invocation, path, &error);
    struct text text = text_new(invocation->arena);
    if (!source) {
        errors_take(errors, &error);
        return FMT_FAILED;
    }
    if (!format(invocation, source, &text, errors))
        return FMT_FAILED;
    bool same = text.length == source->length && memcmp(text.at, source->text, text.length) == 0;
    if (option_given(invocation, "check"))
        return same ? FMT_SAME : FMT_DIFFERS;
    if (!invocation->json && (option_given(invocation, "stdout") || strcmp(path, "-") == 0)) {
        output_text(&text);
        return FMT_SAME;
    }
    if (same)
        return FMT_SAME;
    if (strcmp(path, "-") != 0 && !option_given(invocation, "stdout") &&
        !replace(path, &text, &error)) {
        errors_take(errors, &error);
        return FMT_FAILED;
    }
    return FMT_DIFFERS;
}

static void json_file(struct json *json, const char *path, enum fmt_state state,
                      const struct errors *errors)
{
    json_object(json, NULL);
    json_string(json, "file", path);
    json_bool(json, "ok", state != FMT_FAILED);
    json_bool(json, "differs", state == FMT_DIFFERS);
    output_json_errors(json, errors);
    json_end(json);
}

static enum exit_code run(struct invocation *invocation)
{
    struct file_names files = subject_files(invocation, &invocation->errors);
    bool check = option_given(invocation, "check");
    enum exit_code code = EXIT_YES;
    struct text text = text_new(invocation->arena);
    struct json json;
    if (invocation->json) {
        json = output_json_begin(invocation, &text);
        json_array(&json, "files");
    }
    for (size_t i = 0; i < files.count; i++) {
        struct errors errors = errors_new(invocation->arena);
        enum fmt_state state = fmt_file(invocation, files.at[i], &errors);
        code = exit_worse(code, output_errors(invocation, &errors));
        if (state == FMT_DIFFERS && check)
            code = exit_worse(code, EXIT_NO);
        if (invocation->json)
            json_file(&json, files.at[i], state, &errors);
        else if (state == FMT_DIFFERS)
            output_printf(check ? "%s\n" : "%s: formatted\n", files.at[i]);
        event("formatted", event_string("file", files.at[i]),
              event_bool("differed", state == FMT_DIFFERS));
    }
    if (!invocation->json)
        return code;
    json_end(&json);
    return exit_worse(code, output_json_end(invocation, &json));
}

const struct command command_fmt = {
    .name = "fmt",
    .summary = "format files in the one style",
    .operands = "FILE...",
    .operand_kind = OPERAND_FILE,
    .least = 1,
    .most = -1,
    .description =
        "Rewrites each FILE in the one style of the language; there is nothing to configure. A "
        "file is replaced whole or not at all, only when it changes, and its name is then printed. "
        "A file with syntax errors is left alone. A folder stands for all .op files in it, and - "
        "for standard input, formatted to standard output.",
    .options = options,
    .examples = examples,
    .run = run,
};
