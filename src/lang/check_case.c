/*
 * The cases of a task: ranks, lengths, sizes and parameters, and the op at them.
 */
#include <string.h>

#include "lang/check_task.h"

/* ---- ranks and lengths ---- */

static const struct ast_named *find_named(const struct ast_named_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->at[i].name, name) == 0)
            return &list->at[i];
    return NULL;
}

/* The list whose members' sizes are the family N: xs in xs: T[N...]... */
static const char *list_of_family(const struct ast_op *op, const char *family)
{
    for (size_t i = 0; i < op->inputs.count; i++)
        for (size_t d = 0; d < op->inputs.at[i].dims.count; d++)
            if (op->inputs.at[i].dims.at[d].kind == AST_DIM_EACH &&
                strcmp(op->inputs.at[i].dims.at[d].name, family) == 0)
                return op->inputs.at[i].names.at[0].name;
    return NULL;
}

/* All lists whose members' sizes are this family are equally long. */
static bool count_lists(const struct ast_op *op, const char *family, struct instance_key *key,
                        int count)
{
    bool fits = true;
    for (size_t i = 0; i < op->inputs.count; i++) {
        const struct ast_declaration *input = &op->inputs.at[i];
        bool belongs = false;
        for (size_t d = 0; d < input->dims.count; d++)
            belongs |= input->dims.at[d].kind == AST_DIM_EACH &&
                       strcmp(input->dims.at[d].name, family) == 0;
        for (size_t k = 0; belongs && k < input->names.count; k++) {
            int *length = instance_list(key, input->names.at[k].name);
            fits &= *length < 0 || *length == count;
            *length = count;
        }
    }
    return fits;
}

static void missing(struct tasking *tasking, struct place place, const char *name)
{
    struct error *error = errors_add(tasking->errors, ERROR_MISSING_SIZE, place,
                                     "'%s' of '%s' is not given", name, tasking->op->name.name);
    struct text line = text_new(tasking->lang->arena);
    lang_suggest_case(&line, tasking->op);
    error_hint(error, "a line that has everything: %s", line.at);
}

/* Ranks and list lengths, from how many sizes are given. */
static bool take_counts(struct tasking *tasking, const struct ast_line *line,
                        struct instance_key *key)
{
    for (size_t i = 0; i < line->named.count; i++) {
        const struct ast_named *named = &line->named.at[i];
        bool is_list = named->value->kind == AST_LIST;
        int count = is_list ? (int)named->value->list.count : 0;
        int *rank = instance_rank(key, named->name);
        const char *list = list_of_family(tasking->op, named->name);
        int *length = instance_list(key, list ? list : named->name);
        int64_t integer;
        if (count > CHECK_MAX_LIST) {
            errors_add(tasking->errors, ERROR_TOO_MANY, named->value->place, "more than %d sizes",
                       CHECK_MAX_LIST);
            return false;
        }
        if ((rank || list) && !is_list) {
            error_hint(errors_add(tasking->errors, ERROR_BAD_VALUE, named->value->place,
                                  "'%s' stands for several sizes", named->name),
                       "write them in brackets: %s=[4, 8]", named->name);
            return false;
        }
        if (rank) {
            *rank = count;
        } else if (length && list) {
            if (!count_lists(tasking->op, named->name, key, count)) {
                errors_add(tasking->errors, ERROR_BAD_VALUE, named->value->place,
                           "here %s %d size%s, but '%s' has another number of members",
                           count == 1 ? "is" : "are", count, count == 1 ? "" : "s", list);
                return false;
            }
        } else if (length) {
            if (!constant_integer(named->value, &integer) || integer < 1 ||
                integer > CHECK_MAX_LIST) {
                errors_add(tasking->errors, ERROR_BAD_VALUE, named->value->place,
                           "the list '%s' has 1 to %d members: write %s=2", named->name,
                           CHECK_MAX_LIST, named->name);
                return false;
            }
            *length = (int)integer;
        }
    }
    for (size_t i = 1; i < key->ranks.count; i++) /* as at a call: none unless said */
        if (key->ranks.at[i].count < 0)
            key->ranks.at[i].count = 0;
    for (size_t i = 0; i < key->ranks.count; i++)
        if (key->ranks.at[i].count < 0) {
            missing(tasking, line->place, key->ranks.at[i].name);
            return false;
        }
    for (size_t i = 0; i < key->lists.count; i++)
        if (key->lists.at[i].count < 0) {
            missing(tasking, line->place, key->lists.at[i].name);
            return false;
        }
    return true;
}

/* ---- sizes and parameters ---- */

static bool take_size(struct tasking *tasking, const struct ast_expression *value,
                      const struct ir_symbol *symbol, int64_t *size)
{
    if (value->kind == AST_LIST && !symbol->family) {
        error_hint(errors_add(tasking->errors, ERROR_BAD_VALUE, value->place, "'%s' is one size",
                              symbol->name),
                   "write %s=64", symbol->name);
        return false;
    }
    if (!constant_integer(value, size)) {
        error_hint(errors_add(tasking->errors, ERROR_BAD_VALUE, value->place,
                              "'%s' must be an integer that fits into 64 bits",
                              symbol->family ? symbol->family : symbol->name),
                   "write %s=64", symbol->family ? symbol->family : symbol->name);
        return false;
    }
    if (symbol->kind == IR_SYMBOL_SIZE && *size < 0) {
        error_hint(errors_add(tasking->errors, ERROR_SIZE_NEGATIVE, value->place,
                              "size '%s' is negative",
                              symbol->family ? symbol->family : symbol->name),
                   "sizes are 0 or more");
        return false;
    }
    return true;
}

static bool take_sizes(struct tasking *tasking, const struct ast_line *line,
                       const struct ir_part *part, int64_t *sizes)
{
    for (int i = 0; i < part->symbol_count; i++) {
        const struct ir_symbol *symbol = &part->symbols[i];
        const struct ast_named *named =
            find_named(&line->named, symbol->family ? symbol->family : symbol->name);
        if (symbol->kind == IR_SYMBOL_LET)
            continue;
        if (!named && symbol->has_default) {
            sizes[i] = symbol->value;
        } else if (!named) {
            missing(tasking, line->place, symbol->name);
            return false;
        } else {
            bool member = symbol->family && named->value->kind == AST_LIST;
            if (member && (size_t)symbol->member >= named->value->list.count) {
                errors_add(tasking->errors, ERROR_BAD_VALUE, named->value->place,
                           "lists that belong together have equally many sizes");
                return false;
            }
            if (!take_size(tasking, member ? named->value->list.at[symbol->member] : named->value,
                           symbol, &sizes[i]))
                return false;
        }
    }
    return true;
}

/* true and false; also 1 and 0, so that a parameter of type T can be set alike for every T. */
static bool take_truth(const struct ast_expression *value, double *scalar)
{
    *scalar = (double)value->integer;
    return value->kind == AST_BOOL ||
           (value->kind == AST_INTEGER && (value->integer == 0 || value->integer == 1));
}

static bool take_scalars(struct tasking *tasking, const struct ast_line *line,
                         const struct ir_part *part, double *scalars)
{
    for (int i = 0; i < part->scalar_count; i++) {
        const struct ir_scalar *scalar = &part->scalars[i];
        const struct ast_named *named = find_named(&line->named, scalar->name);
        if (!named && !scalar->has_default) {
            missing(tasking, line->place, scalar->name);
            return false;
        }
        bool good = true;
        if (!named)
            scalars[i] = scalar->value;
        else if (scalar->dtype == DTYPE_BOOL)
            good = take_truth(named->value, &scalars[i]);
        else
            good = constant_number(named->value, &scalars[i]);
        if (!good) {
            errors_add(tasking->errors, ERROR_BAD_VALUE, named->value->place, "'%s' must be %s",
                       scalar->name, scalar->dtype == DTYPE_BOOL ? "true or false" : "a number");
            return false;
        }
    }
    return true;
}

static bool names_are_known(struct tasking *tasking, const struct ast_line *line,
                            const struct ir_part *part, struct instance_key *key)
{
    struct candidates VECTOR(const char *) known = {0};
    for (int i = 0; i < part->symbol_count; i++)
        if (part->symbols[i].kind != IR_SYMBOL_LET && !part->symbols[i].family)
            vector_push(tasking->lang->arena, &known, part->symbols[i].name);
    for (int i = 0; i < part->family_count; i++)
        vector_push(tasking->lang->arena, &known, part->families[i].name);
    for (int i = 0; i < part->scalar_count; i++)
        vector_push(tasking->lang->arena, &known, part->scalars[i].name);
    for (size_t i = 0; i < key->lists.count; i++)
        vector_push(tasking->lang->arena, &known, key->lists.at[i].name);
    for (size_t i = 0; i < line->named.count; i++) {
        const struct ast_named *named = &line->named.at[i];
        bool found = false;
        for (size_t k = 0; k < known.count && !found; k++)
            found = strcmp(known.at[k], named->name) == 0;
        if (!found) {
            struct error *error = errors_add(tasking->errors, ERROR_UNKNOWN_SIZE, named->place,
                                             "op '%s' has no size or parameter '%s'",
                                             tasking->op->name.name, named->name);
            const char *near = spelling_nearest(named->name, known.at, known.count);
            struct text whole = text_new(tasking->lang->arena);
            lang_suggest_case(&whole, tasking->op);
            if (near)
                error_hint(error, "did you mean '%s'?", near);
            else
                error_hint(error, "a line that has everything: %s", whole.at);
            for (int k = 0; k < part->symbol_count; k++)
                if (part->symbols[k].kind == IR_SYMBOL_LET &&
                    strcmp(part->symbols[k].name, named->name) == 0)
                    error_detail(error, "the op computes it from the others");
            return false;
        }
        if (find_named(&line->named, named->name) != named) {
            errors_add(tasking->errors, ERROR_DUPLICATE_NAME, named->place, "'%s' is given twice",
                       named->name);
            return false;
        }
    }
    return true;
}

/* ---- the case ---- */

static const char *case_text(struct tasking *tasking, const struct ast_line *line)
{
    struct text text = text_new(tasking->lang->arena);
    for (size_t i = 0; i < line->named.count; i++) {
        const struct ast_expression *value = line->named.at[i].value;
        text_printf(&text, "%s%s=", i ? ", " : "", line->named.at[i].name);
        if (value->kind == AST_LIST)
            text_char(&text, '[');
        for (size_t k = 0; value->kind == AST_LIST && k < value->list.count; k++) {
            text_add(&text, k ? ", " : "");
            ast_print_expression(&text, value->list.at[k]);
        }
        if (value->kind == AST_LIST)
            text_char(&text, ']');
        else
            ast_print_expression(&text, value);
    }
    return text.at;
}

bool task_case(struct tasking *tasking, const struct ast_line *line, struct task_case *out)
{
    struct arena *arena = tasking->lang->arena;
    struct instance_key key = instance_key_new(arena, tasking->op);
    for (size_t i = 0; i < key.types.count; i++)
        key.types.at[i] = tasking->key.types.at[i];
    if (!take_counts(tasking, line, &key))
        return false;
    instance_key_default(&key, tasking->op);
    size_t before = tasking->errors->list.count;
    struct instance *instance = instance_get(tasking->lang, tasking->op, &key, tasking->errors);
    for (size_t i = before; i < tasking->errors->list.count; i++)
        if (!tasking->errors->list.at[i].other.source)
            error_note(&tasking->errors->list.at[i], line->place, "in this case");
        else if (!tasking->errors->list.at[i].detail[0])
            error_detail(&tasking->errors->list.at[i], "in the case %s", case_text(tasking, line));
    struct ir_program *program = instance_program(tasking->lang, instance);
    if (!program)
        return false;
    const struct ir_part *part = ir_root(program);
    int64_t *sizes = arena_array(arena, (size_t)part->symbol_count + 1, sizeof *sizes);
    double *scalars = arena_array(arena, (size_t)part->scalar_count + 1, sizeof *scalars);
    struct task_input *inputs = arena_array(arena, (size_t)part->input_count + 1, sizeof *inputs);
    if (!names_are_known(tasking, line, part, &key) || !take_sizes(tasking, line, part, sizes) ||
        !take_scalars(tasking, line, part, scalars) || !task_inputs(tasking, part, inputs))
        return false;
    struct error error = {0};
    struct ir_binding *binding = ir_bind(arena, program, sizes, scalars, &error);
    if (!binding) {
        if (!error.place.source)
            error.place = line->place;
        else if (!error.other.source)
            error_note(&error, line->place, "in this case");
        errors_take(tasking->errors, &error);
        return false;
    }
    *out = (struct task_case){.sizes = binding->sizes,
                              .scalars = binding->scalars,
                              .text = case_text(tasking, line),
                              .timed = line->timed,
                              .place = line->place,
                              .program = program,
                              .inputs = inputs};
    return true;
}
