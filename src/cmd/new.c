/*
 * smelt new: a commented file to start from, which passes check, fmt --check and ref as it is.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "lang/lang.h"
#include "os/file.h"

enum { NAME_LONGEST = 100 };

static const struct option options[] = {
    {.name = "dir",
     .letter = 'd',
     .argument = "DIR",
     .help = "write the file into DIR, which must exist"},
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt new my_norm", "write my_norm.op"},
    {"smelt check my_norm.op && smelt ref my_norm.op", "and this is how it is used"},
    {0},
};

/* Every @ stands for the name. */
static const char template[] =
    "# @.op: an op and a task to start from. Change what you like, then\n"
    "#     smelt check @.op    says whether it is right\n"
    "#     smelt ref @.op      evaluates its first case\n"
    "#     smelt fmt @.op      puts it in the one style\n"
    "\n"
    "# Divides every row by its root mean square and scales it by g.\n"
    "#\n"
    "# x has any leading sizes *B and rows of D elements; T is any float type. eps is a parameter\n"
    "# with a default. The first sentence of this comment is the op's description.\n"
    "op @(x: T[*B, D], g: T[D]; eps: f32 = 1e-5) -> (y: T[*B, D]) {\n"
    "    # d stands only on the right, so it is reduced, here by a sum.\n"
    "    s[*b] += x[*b, d] * x[*b, d]\n"
    "    # All indices stand on the left: every element of y is defined once.\n"
    "    y[*b, d] = g[d] * x[*b, d] / sqrt(s[*b] / D + eps)\n"
    "}\n"
    "\n"
    "# The shapes that matter, how inputs are drawn, and how accurate a kernel has to be.\n"
    "task @_task of @\n"
    "    dtype T=f32\n"
    "    input x ~ normal(0, 3)\n"
    "    input g ~ uniform(0.5, 2)\n"
    "    accuracy f32\n"
    "    # The speed of `time` cases counts; the others are only checked.\n"
    "    case B=[8], D=64\n"
    "    case B=[2, 3], D=1\n"
    "    case B=[4096], D=1024 time\n";

static const char *fill_template(struct arena *arena, const char *name, size_t *length)
{
    struct text text = text_new(arena);
    for (const char *c = template; *c; c++) {
        if (*c == '@')
            text_add(&text, name);
        else
            text_char(&text, *c);
    }
    *length = text.length;
    return text.at;
}

/* The nearest identifier, to suggest: "my-op" gives "my_op". */
static const char *make_identifier(struct arena *arena, const char *name)
{
    struct text text = text_new(arena);
    size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".op") == 0)
        length -= 3;
    for (size_t i = 0; i < length && i < NAME_LONGEST; i++) {
        unsigned char c = (unsigned char)name[i];
        if (i == 0 && isdigit(c))
            text_add(&text, "op_");
        text_char(&text, isascii(c) && isalnum(c) ? (char)c : '_');
    }
    return text.length ? text.at : "my_op";
}

static bool is_identifier(const char *name)
{
    if (!(isascii(name[0]) && (isalpha((unsigned char)name[0]) || name[0] == '_')))
        return false;
    for (const char *c = name; *c; c++)
        if (!isascii(*c) || !(isalnum((unsigned char)*c) || *c == '_'))
            return false;
    return strlen(name) <= NAME_LONGEST;
}

/* A name may be an identifier and still be taken by the language: `max`, `task`. */
static bool check_name(struct invocation *invocation, const char *name, const char *text,
                       size_t length)
{
    struct arena *arena = invocation->arena;
    struct errors errors = errors_new(arena);
    struct error error;
    if (!is_identifier(name)) {
        error_set(&error, ERROR_BAD_NAME, "'%s' cannot be the name of an op", name);
        error_detail(&error,
                     "a name has letters, digits and _, starts with a letter, and is at "
                     "most %d long",
                     NAME_LONGEST);
        error_hint(&error, "for example: smelt new %s", make_identifier(arena, name));
        errors_take(&invocation->errors, &error);
        return false;
    }
    struct lang *lang = lang_new(arena, NULL);
    struct lang_file *file =
        lang_load_text(lang, arena_printf(arena, "%s.op", name), text, length, &errors);
    if (file && !errors.list.count)
        lang_check(lang, file, &errors);
    if (file && !errors.list.count)
        return true;
    error_set(&error, ERROR_BAD_NAME, "'%s' cannot be the name of an op", name);
    if (errors.list.count)
        error_detail(&error, "%s", errors.list.at[0].message);
    error_hint(&error, "for example: smelt new my_%s", name);
    errors_take(&invocation->errors, &error);
    return false;
}

/* Fails when the file is there, even if it came to be a moment ago. */
static bool write_new(const char *path, const char *text, size_t length, struct error *error)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) {
        error_set(error, ERROR_FILE_EXISTS, "%s is there already and was left as it is", path);
        error_hint(error, "choose another name, or another folder with --dir");
        return false;
    }
    if (file < 0)
        return error_system(error, ERROR_CANNOT_WRITE, "could not write %s", path);
    ssize_t put = write(file, text, length);
    int reason = put < 0 ? errno : ENOSPC;
    bool good = put == (ssize_t)length;
    if (close(file) != 0 && good) {
        reason = errno;
        good = false;
    }
    if (good)
        return true;
    unlink(path);
    errno = reason;
    return error_system(error, ERROR_CANNOT_WRITE, "could not write %s", path);
}

static enum exit_code run(struct invocation *invocation)
{
    const char *name = invocation->operands.at[0], *folder = option_value(invocation, "dir");
    size_t length;
    const char *text = fill_template(invocation->arena, name, &length);
    if (!check_name(invocation, name, text, length))
        return EXIT_USAGE;
    const char *path = folder && *folder ? arena_printf(invocation->arena, "%s/%s.op", folder, name)
                                         : arena_printf(invocation->arena, "%s.op", name);
    struct error error;
    if (!write_new(path, text, length, &error)) {
        errors_take(&invocation->errors, &error);
        return error_exit(error.code);
    }
    if (invocation->json) {
        struct text out = text_new(invocation->arena);
        struct json json = output_json_begin(invocation, &out);
        json_string(&json, "file", path);
        return output_json_end(invocation, &json);
    }
    output_printf("wrote %s; now try\n", path);
    output_printf("    smelt check %s\n    smelt ref %s\n", path, path);
    return EXIT_YES;
}

const struct command command_new = {
    .name = "new",
    .summary = "write a commented op and task to start from",
    .operands = "NAME",
    .operand_kind = OPERAND_NONE,
    .least = 1,
    .most = 1,
    .description =
        "Writes NAME.op: an op with a reduction and a task with three cases, each line explained. "
        "It checks, formats and evaluates as it is. A file that is there already is never touched.",
    .options = options,
    .examples = examples,
    .run = run,
};
