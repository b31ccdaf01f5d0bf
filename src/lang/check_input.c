/*
 * The inputs of a task: how each is drawn, and from which interval.
 */
#include <math.h>
#include <string.h>

#include "lang/check_task.h"

/* A builder that knows the sizes of a part, for the sizes inside index(V). */
static struct builder size_builder(struct tasking *tasking, const struct ir_part *part)
{
    static const struct instance_key nothing;
    struct builder builder = {.lang = tasking->lang,
                              .arena = tasking->lang->arena,
                              .errors = tasking->errors,
                              .file = tasking->file,
                              .key = &nothing,
                              .instance = arena_new(tasking->lang->arena, struct instance),
                              .part = *part};
    builder.names = map_new(tasking->lang->arena);
    for (int i = 0; i < part->symbol_count; i++)
        if (!part->symbols[i].family)
            builder_add(&builder, ENTITY_SYMBOL, part->symbols[i].name, (struct place){0}, i);
    for (int i = 0; i < part->family_count; i++) {
        int first = 0;
        while (first < part->symbol_count &&
               !(part->symbols[first].family &&
                 strcmp(part->symbols[first].family, part->families[i].name) == 0))
            first++;
        struct entity *entity =
            builder_add(&builder, ENTITY_EACH, part->families[i].name, (struct place){0}, first);
        entity->count = part->families[i].count;
    }
    return builder;
}

static bool draw_numbers(struct tasking *tasking, const struct ast_draw *draw,
                         struct task_input *input)
{
    if (draw->arguments.count == 2 && constant_number(draw->arguments.at[0], &input->a) &&
        constant_number(draw->arguments.at[1], &input->b))
        return true;
    error_hint(errors_add(tasking->errors, ERROR_BAD_DRAW, draw->place, "'%s' takes two numbers",
                          draw->name),
               strcmp(draw->name, "normal") == 0 ? "mean and deviation: normal(0, 1)"
                                                 : "least and greatest: uniform(0, 1)");
    return false;
}

static bool draw_bound(struct tasking *tasking, const struct ast_draw *draw,
                       const struct ir_part *part, struct task_input *input)
{
    if (draw->arguments.count != 1) {
        error_hint(errors_add(tasking->errors, ERROR_BAD_DRAW, draw->place, "'%s' takes one size",
                              draw->name),
                   "write %s(V): integers from 0 to V - 1", draw->name);
        return false;
    }
    struct builder builder = size_builder(tasking, part);
    input->bound = check_size(&builder, draw->arguments.at[0]);
    return input->bound != NULL;
}

static bool take_draw(struct tasking *tasking, const struct ast_draw *draw,
                      const struct ir_part *part, struct task_input *input)
{
    static const char *const known[] = {"normal", "uniform",    "index", "offsets",
                                        "sorted", "triangular", "const"};
    static const char *const wanted[] = {"floats",   "numbers",
                                         "integers", "integers in one dimension",
                                         "anything", "at least two dimensions",
                                         "anything"};
    const struct ir_tensor *tensor = &part->tensors[input->tensor];
    bool is_float = dtype_is_float(tensor->dtype), is_integer = dtype_is_integer(tensor->dtype);
    size_t kind = 0;
    while (kind < 7 && strcmp(known[kind], draw->name) != 0)
        kind++;
    bool fits = kind == 0   ? is_float
                : kind == 1 ? is_float || is_integer
                : kind <= 3 ? is_integer
                            : true;
    if (kind == 3)
        fits &= tensor->rank == 1;
    if (kind == 5)
        fits &= tensor->rank >= 2;
    if (kind == 7 || !fits) {
        struct error *error = errors_add(tasking->errors, ERROR_BAD_DRAW, draw->place,
                                         kind == 7 ? "there is no way to draw called '%s'"
                                                   : "'%s' does not fit this input",
                                         draw->name);
        if (kind != 7)
            error_detail(error, "'%s' is for %s, '%s' holds %s in %d dimension%s", draw->name,
                         wanted[kind], tensor->name, dtype_name(tensor->dtype), tensor->rank,
                         tensor->rank == 1 ? "" : "s");
        const char *near = kind == 7 ? spelling_nearest(draw->name, known, 7) : NULL;
        if (near)
            error_hint(error, "did you mean '%s'?", near);
        else if (kind == 7)
            error_hint(error,
                       "there are normal(m, s), uniform(a, b), index(V), offsets(E), sorted, "
                       "triangular, const");
        return false;
    }
    switch (kind) {
    case 0: input->draw = DRAW_NORMAL; return draw_numbers(tasking, draw, input);
    case 1: input->draw = DRAW_UNIFORM; return draw_numbers(tasking, draw, input);
    case 2: input->draw = DRAW_INDEX; return draw_bound(tasking, draw, part, input);
    case 3: input->draw = DRAW_OFFSETS; return draw_bound(tasking, draw, part, input);
    case 4: input->properties |= IR_PROPERTY_SORTED; break;
    case 5: input->properties |= IR_PROPERTY_TRIANGULAR; break;
    default: input->properties |= IR_PROPERTY_CONSTANT; break;
    }
    return true;
}

static bool take_interval(struct tasking *tasking, const struct ast_line *line,
                          struct task_input *input)
{
    if (!line->has_interval)
        return true;
    bool numbers =
        constant_number(line->low, &input->low) && constant_number(line->high, &input->high);
    input->low_open = line->low_open;
    input->high_open = line->high_open;
    bool empty =
        input->low_open || input->high_open ? input->low >= input->high : input->low > input->high;
    if (numbers && !empty)
        return true;
    error_hint(errors_add(tasking->errors, ERROR_BAD_DRAW, line->low->place,
                          numbers ? "this interval is empty" : "an interval is two numbers"),
               "write it like (0, 1] or [-1, inf)");
    return false;
}

/* Whether an input line is about this tensor: by its name, or by its list's. */
static bool line_names(const struct ast_line *line, const char *tensor)
{
    size_t length = strlen(line->name.name);
    return strncmp(tensor, line->name.name, length) == 0 &&
           (tensor[length] == 0 || tensor[length] == '.');
}

bool task_inputs(struct tasking *tasking, const struct ir_part *part, struct task_input *inputs)
{
    for (int i = 0; i < part->input_count; i++) {
        const struct ir_tensor *tensor = &part->tensors[part->inputs[i]];
        inputs[i] = (struct task_input){.tensor = part->inputs[i],
                                        .properties = tensor->properties,
                                        .bound = tensor->bound,
                                        .low = -INFINITY,
                                        .high = INFINITY};
        if (tensor->properties & IR_PROPERTY_INDEX)
            inputs[i].draw = DRAW_INDEX;
        if (tensor->properties & IR_PROPERTY_OFFSETS)
            inputs[i].draw = DRAW_OFFSETS;
    }
    bool good = true;
    for (size_t l = 0; l < tasking->ast->lines.count; l++) {
        const struct ast_line *line = &tasking->ast->lines.at[l];
        bool found = false;
        for (int i = 0; line->kind == AST_LINE_INPUT && i < part->input_count; i++) {
            if (!line_names(line, part->tensors[part->inputs[i]].name))
                continue;
            found = true;
            for (size_t d = 0; d < line->draws.count; d++)
                good &= take_draw(tasking, &line->draws.at[d], part, &inputs[i]);
            good &= take_interval(tasking, line, &inputs[i]);
        }
        if (line->kind == AST_LINE_INPUT && !found) {
            struct error *error =
                errors_add(tasking->errors, ERROR_UNDEFINED_NAME, line->name.place,
                           "op '%s' has no input '%s'", tasking->op->name.name, line->name.name);
            struct candidates VECTOR(const char *) names = {0};
            for (int i = 0; i < part->input_count; i++)
                vector_push(tasking->lang->arena, &names, part->tensors[part->inputs[i]].name);
            const char *near = spelling_nearest(line->name.name, names.at, names.count);
            if (near)
                error_hint(error, "did you mean '%s'?", near);
            good = false;
        }
    }
    return good;
}
