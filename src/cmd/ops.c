/*
 * smelt ops: what the library has.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "lang/lang.h"

static const struct option options[] = {
    {.name = "names", .help = "print only the names, one per line"},
    {.name = "markdown", .help = "print a table per file, as in docs/ops.md"},
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt ops", "all ops of the library"},
    {"smelt ops norm", "those with 'norm' in their name"},
    {"smelt ops 'conv*'", "those whose name begins with 'conv'"},
    {0},
};

struct found VECTOR(const struct ast_op *);

static bool matches(const char *pattern, const char *name)
{
    if (!pattern)
        return true;
    if (strpbrk(pattern, "*?["))
        return fnmatch(pattern, name, 0) == 0;
    return strcasestr(name, pattern) != NULL;
}

/* The description up to its first full stop, on one line. */
static void first_sentence(struct text *out, const char *description)
{
    for (const char *c = description ? description : ""; *c; c++) {
        if (c[0] == '\n' && c[1] == '\n')
            return;
        text_char(out, *c == '\n' ? ' ' : *c);
        if (c[0] == '.' && (c[1] == ' ' || c[1] == '\n'))
            return;
    }
}

static const char *sentence_of(struct arena *arena, const struct ast_op *op)
{
    struct text text = text_new(arena);
    first_sentence(&text, op->description);
    return text.at;
}

static const char *signature_of(struct arena *arena, const struct ast_op *op)
{
    struct text text = text_new(arena);
    ast_print_signature(&text, op);
    return text.at;
}

static const char *types_of(struct arena *arena, const struct ast_op *op)
{
    struct text text = text_new(arena);
    lang_print_types(&text, op);
    return text.at;
}

static const char *file_of(const struct ast_op *op)
{
    const char *name = op->place.source ? op->place.source->name : "";
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static void print_op(struct invocation *invocation, const struct ast_op *op)
{
    struct arena *arena = invocation->arena;
    const char *signature = signature_of(arena, op), *sentence = sentence_of(arena, op);
    const char *types = types_of(arena, op);
    size_t name = strlen(op->name.name);
    bool named = strncmp(signature, op->name.name, name) == 0;
    if (named)
        output_printf("%s%s%s%s\n", output_bold(invocation), op->name.name,
                      output_plain(invocation), signature + name);
    else
        output_printf("%s\n", signature);
    if (sentence[0])
        output_printf("    %s\n", sentence);
    if (types[0])
        output_printf("    %s\n", types);
}

static void json_types(struct json *json, struct arena *arena, const struct ast_op *op)
{
    struct lang_types types = lang_types(arena, op);
    json_array(json, "types");
    for (size_t i = 0; i < types.count; i++) {
        json_object(json, NULL);
        json_string(json, "name", types.at[i].name);
        json_string(json, "class", types.at[i].class);
        json_array(json, "dtypes");
        for (int d = 0; d < DTYPE_COUNT; d++)
            if (types.at[i].admits[d])
                json_string(json, NULL, dtype_name((enum dtype)d));
        json_end(json);
        json_end(json);
    }
    json_end(json);
}

static void json_declarations(struct json *json, const char *key,
                              const struct ast_declarations *declarations)
{
    json_array(json, key);
    for (size_t i = 0; i < declarations->count; i++)
        for (size_t k = 0; k < declarations->at[i].names.count; k++) {
            json_object(json, NULL);
            json_string(json, "name", declarations->at[i].names.at[k].name);
            json_string(json, "type", declarations->at[i].type);
            if (declarations->at[i].is_list)
                json_bool(json, "list", true);
            json_end(json);
        }
    json_end(json);
}

/* ---- docs/ops.md ---- */

static const char page_head[] =
    "# Operators\n\n"
    "<!-- Made by `smelt ops --markdown`; a test compares. Do not edit. -->\n\n"
    "The library has %zu operators. How a signature reads is in [language.md](language.md); which "
    "of\n"
    "PyTorch's operators each stands for is in [aten.md](aten.md).\n\n"
    "Types: **float** is f64 f32 f16 bf16 f8e4 f8e5, **int** is i64 i32 u32 i16 i8 u8, **number** "
    "is both,\n"
    "**any** also bool. The last column tells what rounds when the values are floats; an operator "
    "that is\n"
    "*exact* moves, compares, chooses, or counts, and every right implementation gives the same "
    "bits.\n";

/* The whole description on one line, safe inside a table. */
static void print_cell(struct text *out, const char *text)
{
    for (const char *c = text ? text : ""; *c; c++) {
        if (*c == '|')
            text_char(out, '\\');
        text_char(out, *c == '\n' ? ' ' : *c);
    }
}

static bool print_markdown_row(struct text *out, struct lang *lang, const struct ast_op *op,
                               struct errors *errors)
{
    const struct ir_program *program = lang_default_program(lang, NULL, op, errors);
    struct lang_types types = lang_types(out->arena, op);
    struct text inexact = text_new(out->arena);
    if (!program)
        return false;
    ir_print_inexact(&inexact, program);
    text_add(out, "| `");
    print_cell(out, signature_of(out->arena, op));
    text_add(out, "` | ");
    print_cell(out, op->description);
    text_add(out, " | ");
    for (size_t i = 0; i < types.count; i++)
        text_printf(out, "%s%s: %s", i ? ", " : "", types.at[i].name, types.at[i].class);
    text_printf(out, "%s | %s |\n", types.count ? "" : "as written",
                inexact.length ? inexact.at : "*exact*");
    return true;
}

static enum exit_code answer_markdown(struct invocation *invocation, struct lang *lang,
                                      const struct found *found)
{
    struct text text = text_new(invocation->arena);
    const char *file = "";
    text_printf(&text, page_head, found->count);
    for (size_t i = 0; i < found->count; i++) {
        if (strcmp(file, file_of(found->at[i])) != 0) {
            file = file_of(found->at[i]);
            text_printf(&text, "\n## lib/%s\n\n| operator | what it does | types | rounds in |\n",
                        file);
            text_add(&text, "|---|---|---|---|\n");
        }
        if (!print_markdown_row(&text, lang, found->at[i], &invocation->errors))
            return EXIT_NO;
    }
    output_text(&text);
    return EXIT_YES;
}

/* Which operations round; null for an op that has errors. */
static void json_inexact(struct json *json, struct lang *lang, const struct ast_op *op)
{
    struct errors ignored = errors_new(json->out->arena);
    const struct ir_program *program = lang_default_program(lang, NULL, op, &ignored);
    struct text text = text_new(json->out->arena);
    if (program)
        ir_print_inexact(&text, program);
    json_string(json, "inexact", program ? text.at : NULL);
}

static enum exit_code answer_json(struct invocation *invocation, struct lang *lang,
                                  const struct found *found)
{
    struct arena *arena = invocation->arena;
    struct text text = text_new(arena);
    struct json json = output_json_begin(invocation, &text);
    json_array(&json, "ops");
    for (size_t i = 0; i < found->count; i++) {
        const struct ast_op *op = found->at[i];
        struct text line = text_new(arena);
        lang_suggest_case(&line, op);
        json_object(&json, NULL);
        json_string(&json, "name", op->name.name);
        json_string(&json, "signature", signature_of(arena, op));
        json_string(&json, "description", op->description);
        json_types(&json, arena, op);
        json_declarations(&json, "inputs", &op->inputs);
        json_declarations(&json, "parameters", &op->parameters);
        json_declarations(&json, "outputs", &op->outputs);
        json_inexact(&json, lang, op);
        json_string(&json, "file", file_of(op));
        json_string(&json, "case", line.at);
        json_end(&json);
    }
    json_end(&json);
    return output_json_end(invocation, &json);
}

static int compare_ops(const void *a, const void *b)
{
    const struct ast_op *const *x = a, *const *y = b;
    return strcmp((*x)->name.name, (*y)->name.name);
}

static enum exit_code nothing_found(struct invocation *invocation, struct lang *lang,
                                    const char *pattern)
{
    if (invocation->json || option_given(invocation, "names"))
        return EXIT_NO;
    const char *nearest = pattern ? lang_suggest_op(lang, NULL, pattern) : NULL;
    if (nearest)
        output_note(invocation, "no op of the library fits '%s'; did you mean '%s'?", pattern,
                    nearest);
    else if (pattern)
        output_note(invocation, "no op of the library fits '%s'", pattern);
    else
        output_note(invocation, "the library has no ops");
    return EXIT_NO;
}

static enum exit_code run(struct invocation *invocation)
{
    const char *pattern = invocation->operands.count ? invocation->operands.at[0] : NULL;
    struct lang *lang = lang_new(invocation->arena, NULL);
    struct lang_file *library = lang_library(lang, &invocation->errors);
    struct found found = {0};
    if (!library)
        return EXIT_ENVIRONMENT;
    for (size_t i = 0; i < lang_op_count(library); i++)
        if (matches(pattern, lang_op(library, i)->name.name))
            vector_push(invocation->arena, &found, lang_op(library, i));
    if (option_given(invocation, "markdown") && found.count)
        return answer_markdown(invocation, lang, &found);
    if (found.count)
        qsort(found.at, found.count, sizeof *found.at, compare_ops);
    enum exit_code code = EXIT_YES;
    if (invocation->json)
        code = answer_json(invocation, lang, &found);
    if (!found.count)
        return exit_worse(code, nothing_found(invocation, lang, pattern));
    for (size_t i = 0; !invocation->json && i < found.count; i++) {
        if (option_given(invocation, "names"))
            output_printf("%s\n", found.at[i]->name.name);
        else
            print_op(invocation, found.at[i]);
    }
    return code;
}

const struct command command_ops = {
    .name = "ops",
    .schema = 2, /* types are a list */
    .summary = "list the ops of the library",
    .operands = "[PATTERN]",
    .operand_kind = OPERAND_OP,
    .most = 1,
    .description =
        "Lists the ops of the library: signature, what each does, and the types it takes. PATTERN "
        "is a part of a name, or a glob with * ? or [ ] for the whole name. When nothing fits, the "
        "exit code is 1.\n\n"
        "An op of the library can be given by name wherever a command takes a task, with its sizes "
        "beside it, as in 'smelt ref softmax B=[8] D=16'.",
    .options = options,
    .examples = examples,
    .run = run,
};
