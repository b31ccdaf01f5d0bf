/*
 * The lines of a manifest that say what a device does: buffers, launches, repeats. Read in the
 * order they come, checked against the part, printed.
 */
#include <string.h>

#include "kernel/expression.h"
#include "kernel/manifest.h"

/* ---- names ---- */

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(char c)
{
    return is_name_start(c) || (c >= '0' && c <= '9');
}

static char first_of(struct place piece)
{
    return piece.length ? piece.source->text[piece.offset] : '\0';
}

static struct place piece_cut(struct place piece, size_t bytes)
{
    piece.offset += bytes;
    piece.length -= bytes;
    return piece_trim(piece);
}

/* Cuts an identifier off; its length is 0 when there is none. */
static struct place take_name(struct place *rest)
{
    struct place name = *rest = piece_trim(*rest);
    name.length = 0;
    if (is_name_start(first_of(*rest)))
        while (name.length < rest->length && is_name(name.source->text[name.offset + name.length]))
            name.length++;
    *rest = piece_cut(*rest, name.length);
    return name;
}

static struct place somewhere(struct place piece)
{
    if (piece.length == 0)
        piece.length = 1;
    return piece;
}

static bool fail_line(struct manifest *m, struct place place, const char *expected,
                      const char *example)
{
    struct error *error =
        errors_add(m->errors, ERROR_MANIFEST_LINE, somewhere(place), "expected %s%s", expected,
                   place.length ? "" : ", found the end of the line");
    error_hint(error, "for example: // %s", example);
    return false;
}

static bool fail_limit(struct manifest *m, struct place place, const char *what, int most)
{
    struct error *error = errors_add(m->errors, ERROR_MANIFEST_LIMIT, somewhere(place),
                                     "a manifest with more than %d %s", most, what);
    error_hint(error, "put more work into each launch");
    return false;
}

static const char *tensor_name(const struct ir_part *part, int number)
{
    int tensor = number < part->input_count ? part->inputs[number]
                                            : part->outputs[number - part->input_count];
    return part->tensors[tensor].name;
}

/* What a name stands for where it is an argument; false: nothing. */
static bool find_name(const struct manifest *m, const char *name, struct kernel_argument *found)
{
    const struct ir_part *part = m->part;
    for (int i = m->open_count; i-- > 0;)
        if (strcmp(m->counters[i], name) == 0)
            return *found = (struct kernel_argument){KERNEL_COUNTER, i}, true;
    for (size_t i = 0; i < m->buffers.count; i++)
        if (strcmp(m->buffers.at[i].name, name) == 0)
            return *found = (struct kernel_argument){KERNEL_BUFFER, (int)i}, true;
    for (int i = 0; i < part->input_count + part->output_count; i++)
        if (strcmp(tensor_name(part, i), name) == 0)
            return *found = (struct kernel_argument){KERNEL_TENSOR, i}, true;
    for (int i = 0; i < part->symbol_count; i++)
        if (strcmp(part->symbols[i].name, name) == 0)
            return *found = (struct kernel_argument){KERNEL_SIZE, i}, true;
    for (int i = 0; i < part->scalar_count; i++)
        if (strcmp(part->scalars[i].name, name) == 0)
            return *found = (struct kernel_argument){KERNEL_SCALAR, i}, true;
    return false;
}

/* A name of its own, of a buffer or a counter. */
static bool check_new_name(struct manifest *m, struct place place, const char *name)
{
    struct kernel_argument taken;
    if (!find_name(m, name, &taken))
        return true;
    static const char *const kinds[] = {"a tensor", "a buffer", "a size", "a scalar", "a counter"};
    struct error *error = errors_add(m->errors, ERROR_MANIFEST_REPEATED, place,
                                     "'%s' is the name of %s already", name, kinds[taken.kind]);
    error_hint(error, "choose another name");
    return false;
}

/* ---- buffers ---- */

static const char BUFFER_EXAMPLE[] = "buffer part f32[4*D] zero";

static bool read_dtype(struct manifest *m, struct place *rest, enum dtype *dtype)
{
    struct place word = take_name(rest);
    const char *text = piece_text(m->arena, word);
    if (word.length && dtype_parse(text, dtype))
        return true;
    return fail_line(m, word.length ? word : *rest, "a type: f32, i32, ...", BUFFER_EXAMPLE);
}

bool steps_read_buffer(struct manifest *m, struct place value)
{
    struct kernel_buffer buffer = {0};
    struct place rest = value, name = take_name(&rest);
    if (m->steps.count > 0) {
        error_hint(errors_add(m->errors, ERROR_MANIFEST_LINE, value, "a buffer after a launch"),
                   "buffers come before the first launch or repeat");
        return false;
    }
    if (!name.length)
        return fail_line(m, rest, "the name of a buffer", BUFFER_EXAMPLE);
    buffer.name = piece_text(m->arena, name);
    if (!check_new_name(m, name, buffer.name) || !read_dtype(m, &rest, &buffer.dtype))
        return false;
    const char *text = rest.source->text + rest.offset;
    size_t close = rest.length;
    while (close > 0 && text[close - 1] != ']')
        close--;
    if (first_of(rest) != '[' || close < 2)
        return fail_line(m, rest, "the number of elements in []", BUFFER_EXAMPLE);
    struct place count = {rest.source, rest.offset + 1, close - 2};
    buffer.count = expression_size(m->arena, m->part, piece_trim(count), m->errors);
    if (!buffer.count)
        return false;
    rest = piece_cut(rest, close);
    struct place zero = take_name(&rest);
    buffer.zero = zero.length > 0;
    if ((buffer.zero && strcmp(piece_text(m->arena, zero), "zero") != 0) || rest.length)
        return fail_line(m, rest.length ? rest : zero, "'zero' or the end of the line",
                         BUFFER_EXAMPLE);
    if (m->buffers.count == KERNEL_MAX_BUFFERS)
        return fail_limit(m, value, "buffers", KERNEL_MAX_BUFFERS);
    *vector_add(m->arena, &m->buffers) = buffer;
    return true;
}

/* ---- launches ---- */

static const char LAUNCH_EXAMPLE[] = "launch rows grid(ceil(N, 4)) block(32, 4) args(x, y, N)";

/* "rows(inside) rest": the word, what is inside, and what follows. */
static bool take_clause(struct manifest *m, struct place *rest, struct place *word,
                        struct place *inside)
{
    *word = take_name(rest);
    if (!word->length || first_of(*rest) != '(')
        return fail_line(m, *rest, word->length ? "'('" : "grid(), block(), shared() or args()",
                         LAUNCH_EXAMPLE);
    const char *text = rest->source->text + rest->offset;
    size_t at = 0;
    int depth = 0;
    for (; at < rest->length; at++) {
        depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
        if (depth == 0)
            break;
    }
    if (depth != 0)
        return fail_line(m, *rest, "')' for this one", LAUNCH_EXAMPLE);
    *inside = piece_trim((struct place){rest->source, rest->offset + 1, at - 1});
    *rest = piece_cut(*rest, at + 1);
    return true;
}

static bool fail_argument(struct manifest *m, struct place place, const char *name)
{
    const struct ir_part *part = m->part;
    size_t most = m->buffers.count + KERNEL_MAX_REPEATS + (size_t)part->input_count +
                  (size_t)part->output_count + (size_t)part->symbol_count +
                  (size_t)part->scalar_count;
    const char **names = arena_array(m->arena, most + 1, sizeof *names);
    size_t count = 0;
    for (int i = 0; i < part->input_count + part->output_count; i++)
        names[count++] = tensor_name(part, i);
    for (size_t i = 0; i < m->buffers.count; i++)
        names[count++] = m->buffers.at[i].name;
    for (int i = 0; i < part->symbol_count; i++)
        names[count++] = part->symbols[i].name;
    for (int i = 0; i < part->scalar_count; i++)
        names[count++] = part->scalars[i].name;
    for (int i = 0; i < m->open_count; i++)
        names[count++] = m->counters[i];
    struct error *error = errors_add(m->errors, ERROR_MANIFEST_ARGUMENT, somewhere(place),
                                     "nothing is called '%.60s' here", name);
    const char *nearest = spelling_nearest(name, names, count);
    struct text list = text_new(m->arena);
    for (size_t i = 0; i < count && list.length < 200; i++)
        text_printf(&list, "%s%s", i ? ", " : "", names[i]);
    if (nearest)
        error_hint(error, "did you mean '%s'?", nearest);
    else
        error_hint(error, "there are: %s", list.at);
    return false;
}

/* B[0] is B.0. */
static const char *argument_name(struct arena *arena, struct place word)
{
    const char *text = piece_text(arena, word), *open = strchr(text, '[');
    size_t length = strlen(text);
    if (!open || length < 4 || text[length - 1] != ']')
        return text;
    return arena_printf(arena, "%.*s.%.*s", (int)(open - text), text,
                        (int)(length - (size_t)(open - text) - 2), open + 1);
}

static bool read_arguments(struct manifest *m, struct place inside, struct kernel_step *step)
{
    struct argument_list VECTOR(struct kernel_argument) list = {0};
    while (inside.length) {
        const char *text = inside.source->text + inside.offset;
        const char *comma = memchr(text, ',', inside.length);
        size_t length = comma ? (size_t)(comma - text) : inside.length;
        struct place word = piece_trim((struct place){inside.source, inside.offset, length});
        const char *name = argument_name(m->arena, word);
        if (list.count == KERNEL_MAX_ARGUMENTS)
            return fail_limit(m, word, "arguments of one launch", KERNEL_MAX_ARGUMENTS);
        struct kernel_argument *argument = vector_add(m->arena, &list);
        if (!find_name(m, name, argument))
            return fail_argument(m, word, name);
        if (comma && length + 1 == inside.length)
            return fail_line(m, word, "an argument after the ','", LAUNCH_EXAMPLE);
        inside = comma ? piece_cut(inside, length + 1) : piece_cut(inside, length);
    }
    step->arguments = list.at;
    step->argument_count = (int)list.count;
    return true;
}

static bool read_clause(struct manifest *m, struct place word, struct place inside,
                        struct kernel_step *step, bool *has_arguments)
{
    const char *text = piece_text(m->arena, word);
    bool grid = strcmp(text, "grid") == 0, shared = strcmp(text, "shared") == 0;
    bool arguments = strcmp(text, "args") == 0;
    if (!grid && !shared && !arguments && strcmp(text, "block") != 0)
        return fail_line(m, word, "grid(), block(), shared() or args()", LAUNCH_EXAMPLE);
    bool twice = grid        ? step->grid[0] != NULL
                 : shared    ? step->shared != NULL
                 : arguments ? *has_arguments
                             : step->block[0] != NULL;
    if (twice) {
        struct error *error =
            errors_add(m->errors, ERROR_MANIFEST_REPEATED, word, "'%s' is said twice", text);
        error_hint(error, "up to three sizes go into one: grid(a, b, c)");
        return false;
    }
    if (arguments) {
        *has_arguments = true;
        return read_arguments(m, inside, step);
    }
    if (!inside.length)
        return fail_line(m, word, "a size in this one", LAUNCH_EXAMPLE);
    return expression_sizes(m->arena, m->part, inside, shared ? 1 : 3,
                            grid     ? step->grid
                            : shared ? &step->shared
                                     : step->block,
                            m->errors) > 0;
}

static bool add_step(struct manifest *m, struct place place, struct kernel_step step)
{
    if (m->steps.count == KERNEL_MAX_STEPS)
        return fail_limit(m, place, "steps", KERNEL_MAX_STEPS);
    *vector_add(m->arena, &m->steps) = step;
    return true;
}

bool steps_read_launch(struct manifest *m, struct place value)
{
    struct kernel_step step = {.kind = KERNEL_LAUNCH};
    struct place rest = value, name = take_name(&rest), word, inside;
    if (!name.length)
        return fail_line(m, rest, "the name of a function", LAUNCH_EXAMPLE);
    step.name = piece_text(m->arena, name);
    bool has_arguments = false;
    while (rest.length)
        if (!take_clause(m, &rest, &word, &inside) ||
            !read_clause(m, word, inside, &step, &has_arguments))
            return false;
    if (!has_arguments || step.argument_count == 0)
        return fail_line(m, rest, "args(...) with what the function is given", LAUNCH_EXAMPLE);
    return add_step(m, value, step);
}

/* ---- repeats ---- */

bool steps_read_repeat(struct manifest *m, struct place value)
{
    static const char example[] = "repeat t < T";
    struct place rest = value, name = take_name(&rest);
    if (!name.length || first_of(rest) != '<')
        return fail_line(m, name.length ? rest : value, name.length ? "'<'" : "a name", example);
    struct kernel_step step = {.kind = KERNEL_REPEAT, .name = piece_text(m->arena, name)};
    if (!check_new_name(m, name, step.name))
        return false;
    rest = piece_cut(rest, 1);
    if (!rest.length)
        return fail_line(m, rest, "how often", example);
    step.count = expression_size(m->arena, m->part, rest, m->errors);
    if (!step.count)
        return false;
    if (m->open_count == KERNEL_MAX_REPEATS)
        return fail_limit(m, value, "repeats inside each other", KERNEL_MAX_REPEATS);
    m->counters[m->open_count] = step.name;
    m->open[m->open_count++] = value;
    return add_step(m, value, step);
}

bool steps_read_end(struct manifest *m, struct place value)
{
    if (strcmp(piece_text(m->arena, value), "end") != 0)
        return fail_line(m, value, "nothing after 'end'", "end");
    if (m->open_count == 0) {
        error_hint(errors_add(m->errors, ERROR_MANIFEST_LINE, value, "'end' ends nothing"),
                   "take it out, or begin with: // repeat t < T");
        return false;
    }
    m->open_count--;
    return add_step(m, value, (struct kernel_step){.kind = KERNEL_END});
}

bool steps_finish(struct manifest *m, struct place head)
{
    struct kernel *kernel = m->kernel;
    kernel->buffers = m->buffers.at;
    kernel->buffer_count = (int)m->buffers.count;
    kernel->steps = m->steps.at;
    kernel->step_count = (int)m->steps.count;
    if (m->open_count > 0) {
        error_hint(errors_add(m->errors, ERROR_MANIFEST_LINE, m->open[m->open_count - 1],
                              "this repeat is not ended"),
                   "write '// end' after the launches that belong to it");
        return false;
    }
    if (m->errors->list.count || !kernel_on_device(kernel) || kernel->step_count > 0)
        return true;
    error_hint(errors_add(m->errors, ERROR_MANIFEST_MISSING, head,
                          "the manifest has no line 'launch', and the target is %s",
                          kernel->target),
               "for example: // %s", LAUNCH_EXAMPLE);
    return false;
}

/* ---- printing ---- */

static void print_size(struct text *out, const struct ir_size *size, const struct ir_part *part)
{
    const struct ir_size *a, *b;
    if (!expression_is_ceil(size, &a, &b)) {
        ir_size_print(out, size, part);
        return;
    }
    text_add(out, "ceil(");
    ir_size_print(out, a, part);
    text_add(out, ", ");
    ir_size_print(out, b, part);
    text_add(out, ")");
}

static void print_sizes(struct text *out, const char *word, const struct ir_size *const *sizes,
                        int most, const struct ir_part *part)
{
    int count = most;
    while (count > 0 && !sizes[count - 1])
        count--;
    if (count == 0)
        return;
    text_printf(out, " %s(", word);
    for (int i = 0; i < count; i++) {
        text_add(out, i ? ", " : "");
        if (sizes[i])
            print_size(out, sizes[i], part);
        else
            text_add(out, "1");
    }
    text_add(out, ")");
}

static const char *step_argument_name(const struct kernel *kernel, const struct ir_part *part,
                                      struct kernel_argument argument, const char *const *counters)
{
    switch (argument.kind) {
    case KERNEL_TENSOR: return tensor_name(part, argument.number);
    case KERNEL_BUFFER: return kernel->buffers[argument.number].name;
    case KERNEL_SIZE: return part->symbols[argument.number].name;
    case KERNEL_SCALAR: return part->scalars[argument.number].name;
    case KERNEL_COUNTER: return counters[argument.number];
    }
    return "";
}

static void print_launch(struct text *out, const struct kernel *kernel, const struct ir_part *part,
                         const struct kernel_step *step, const char *const *counters)
{
    text_printf(out, "// launch %s", step->name);
    print_sizes(out, "grid", step->grid, 3, part);
    print_sizes(out, "block", step->block, 3, part);
    print_sizes(out, "shared", &step->shared, 1, part);
    text_add(out, " args(");
    for (int i = 0; i < step->argument_count; i++)
        text_printf(out, "%s%s", i ? ", " : "",
                    step_argument_name(kernel, part, step->arguments[i], counters));
    text_add(out, ")\n");
}

void steps_print(struct text *out, const struct kernel *kernel, const struct ir_part *part)
{
    const char *counters[KERNEL_MAX_REPEATS];
    int open = 0;
    for (int i = 0; i < kernel->buffer_count; i++) {
        const struct kernel_buffer *buffer = &kernel->buffers[i];
        text_printf(out, "// buffer %s %s[", buffer->name, dtype_name(buffer->dtype));
        print_size(out, buffer->count, part);
        text_printf(out, "]%s\n", buffer->zero ? " zero" : "");
    }
    for (int i = 0; i < kernel->step_count; i++) {
        const struct kernel_step *step = &kernel->steps[i];
        if (step->kind == KERNEL_REPEAT) {
            text_printf(out, "// repeat %s < ", step->name);
            print_size(out, step->count, part);
            text_char(out, '\n');
            counters[open++] = step->name;
        } else if (step->kind == KERNEL_END) {
            text_add(out, "// end\n");
            open--;
        } else {
            print_launch(out, kernel, part, step, counters);
        }
    }
}
