/*
 * Tasks from a command line, and the line that a task for an op may begin with.
 */
#include <ctype.h>
#include <string.h>

#include "lang/check.h"

/* ---- tasks from a command line ---- */

struct task *lang_task_from_settings(struct lang *lang, struct lang_file *file,
                                     const struct ast_op *op, const char *const *settings,
                                     size_t count, struct errors *errors)
{
    struct instance_key key = instance_key_new(lang->arena, op);
    struct text types = text_new(lang->arena), sizes = text_new(lang->arena);
    for (size_t i = 0; i < count; i++) {
        const char *equals = strchr(settings[i], '=');
        const char *name =
            equals ? arena_copy(lang->arena, settings[i], (size_t)(equals - settings[i]))
                   : settings[i];
        if (!equals || strpbrk(settings[i], "\n#")) {
            error_hint(errors_add(errors, ERROR_BAD_VALUE, (struct place){0}, "'%s' is no setting",
                                  settings[i]),
                       "write NAME=VALUE, for example D=64 or B=[4, 8]");
            return NULL;
        }
        struct text *text = instance_type(&key, name) ? &types : &sizes;
        text_printf(text, "%s%s", text->length ? ", " : "", settings[i]);
    }
    struct text source = text_new(lang->arena);
    text_printf(&source, "task %s of %s\n", op->name.name, op->name.name);
    if (types.length)
        text_printf(&source, "dtype %s\n", types.at);
    text_printf(&source, "case %s\n", sizes.at);
    struct errors found = errors_new(lang->arena);
    struct lang_file *typed = lang_load_text(lang, "settings", source.at, source.length, &found);
    if (found.list.count == 0 && typed->task_list.count == 1) {
        if (file)
            vector_push(lang->arena, &typed->includes, file);
        return lang_task(lang, typed, typed->task_list.at[0], errors);
    }
    for (size_t i = 0; i < found.list.count; i++)
        errors_take(errors, &found.list.at[i]);
    return NULL;
}

/* ---- suggestions ---- */

struct suggestion {
    struct text *out;
    const struct ast_op *op;
    struct map said;
};

static bool is_given(const struct ast_op *op, const char *name)
{
    for (size_t i = 0; i < op->clauses.count; i++)
        if (op->clauses.at[i].kind == AST_LET && strcmp(op->clauses.at[i].name.name, name) == 0)
            return true;
    for (size_t i = 0; i < op->parameters.count; i++)
        for (size_t k = 0; k < op->parameters.at[i].names.count; k++)
            if (strcmp(op->parameters.at[i].names.at[k].name, name) == 0)
                return true;
    return false;
}

static void say(struct suggestion *suggestion, const char *name, const char *value)
{
    if (map_has(&suggestion->said, name))
        return;
    text_printf(suggestion->out, "%s%s=%s", suggestion->said.count ? ", " : " ", name, value);
    map_set(&suggestion->said, name, suggestion);
}

static void say_sizes(struct suggestion *suggestion, const struct ast_expression *expression)
{
    if (!expression)
        return;
    if (expression->kind == AST_NAME && !is_given(suggestion->op, expression->name))
        say(suggestion, expression->name, "8");
    say_sizes(suggestion, expression->a);
    say_sizes(suggestion, expression->b);
    for (size_t i = 0; expression->kind == AST_CALL && i < expression->list.count; i++)
        say_sizes(suggestion, expression->list.at[i]);
}

/* A value that fits a parameter of this type; 1 fits whatever T may be. */
static const char *sample(const char *type)
{
    if (strcmp(type, "int") == 0)
        return "2";
    return strcmp(type, "bool") == 0 ? "true" : isupper((unsigned char)type[0]) ? "1" : "1.0";
}

void lang_suggest_case(struct text *out, const struct ast_op *op)
{
    struct suggestion suggestion = {.out = out, .op = op, .said = map_new(out->arena)};
    text_add(out, "case");
    for (size_t i = 0; i < op->inputs.count; i++) {
        const struct ast_declaration *input = &op->inputs.at[i];
        bool each = false;
        for (size_t d = 0; d < input->dims.count; d++) {
            const struct ast_dim *dim = &input->dims.at[d];
            each |= dim->kind == AST_DIM_EACH;
            if (dim->kind == AST_DIM_SIZE)
                say_sizes(&suggestion, dim->size);
            else
                say(&suggestion, dim->name, dim->kind == AST_DIM_RANK ? "[4]" : "[4, 8]");
        }
        for (size_t k = 0; input->is_list && !each && k < input->names.count; k++)
            say(&suggestion, input->names.at[k].name, "2");
        for (size_t k = 0; k < input->facts.count; k++)
            for (size_t a = 0; a < input->facts.at[k].arguments.count; a++)
                say_sizes(&suggestion, input->facts.at[k].arguments.at[a]);
    }
    for (size_t i = 0; i < op->parameters.count; i++) {
        const struct ast_declaration *parameter = &op->parameters.at[i];
        for (size_t k = 0; !parameter->initial && k < parameter->names.count; k++)
            if (strcmp(parameter->type, "type") != 0)
                say(&suggestion, parameter->names.at[k].name, sample(parameter->type));
    }
}
