/*
 * A kernel of loops as one C file: manifest, what vectors need, a function per group, the entry.
 */
#include "gen/c/loop.h"

#include <string.h>

enum { LINE_LENGTH = 100, PIECE_ALIGN = 64 };

/* ---- lines ---- */

/* Where a line may go on below: behind a comma, before an operator. */
static bool may_break(const char *text, size_t at)
{
    if (text[at] != ' ' || text[at - 1] == '=')
        return false;
    return text[at - 1] == ',' || text[at - 1] == ';' ||
           strchr("+-*/?:&|=<>", text[at + 1]) != NULL;
}

/* How much of the text fits on a line of so many columns; all of it when it cannot be broken. The
 * break is where fewest parentheses are open, in the second half of the line if there is one. */
static size_t line_length(const char *text, long room)
{
    size_t length = strlen(text), best = 0;
    int depth = 0, least = 0;
    if ((long)length <= room)
        return length;
    for (size_t i = 1; text[i]; i++) {
        depth +=
            (text[i - 1] == '(' || text[i - 1] == '[') - (text[i - 1] == ')' || text[i - 1] == ']');
        if ((long)i > room && best)
            break;
        if (!may_break(text, i))
            continue;
        bool early = best && (long)best < room / 2 && (long)i <= room;
        if (!best || depth <= least || early) {
            best = i;
            least = depth;
        }
    }
    return best ? best : length;
}

void print_line(struct printer *printer, const char *text)
{
    long indent = 4L * printer->emitter->indent;
    size_t length = line_length(text, LINE_LENGTH - indent);
    emit_line(printer->emitter, "%.*s", (int)length, text);
    for (text += length; *text; text += length) {
        text++; /* the blank */
        length = line_length(text, LINE_LENGTH - indent - 8);
        emit_line(printer->emitter, "        %.*s", (int)length, text);
    }
}

/* ---- functions ---- */

struct items print_items(struct printer *printer)
{
    struct emitter *emitter = printer->emitter;
    const struct ir_part *part = printer->kernel->part;
    struct items items = {0};
    for (int i = 0; i < part->symbol_count; i++)
        vector_push(emitter->arena, &items,
                    (struct item){printer->symbols[i], "int64_t", NULL, i, ITEM_SYMBOL});
    for (int i = 0; i < part->scalar_count; i++)
        vector_push(emitter->arena, &items,
                    (struct item){printer->scalars[i],
                                  emit_type(emitter, loop_scalar_dtype(part, i)), NULL, i,
                                  ITEM_SCALAR});
    for (size_t i = 0; i < printer->kernel->buffers.count; i++) {
        const struct loop_buffer *buffer = printer->kernel->buffers.at[i];
        const char *name = map_get_bytes(&printer->names, &buffer, sizeof buffer);
        vector_push(
            emitter->arena, &items,
            (struct item){name, emit_element(emitter, buffer->dtype), buffer, (int)i, ITEM_BUFFER});
    }
    return items;
}

struct call { /* of a function, in the entry */
    const char *name;
    const char **arguments;
    int count;
    bool fails;
    const char *note; /* of a function written for another group that is alike; or NULL */
};
struct calls VECTOR(struct call);

struct written { /* a function, by its shape */
    const char *name;
    int *parameters; /* numbers of names in the shape */
};

struct text print_body(struct printer *printer, const struct loop_function *function)
{
    struct emitter *emitter = printer->emitter;
    struct arena *arena = emitter->arena;
    struct text body = text_new(arena), *out = emitter->out;
    printer->assigned = map_new(arena);
    printer->written = map_new(arena);
    printer->parts = map_new(arena);
    printer->parallel = false;
    print_survey(printer, function->body);
    emitter->out = &body;
    emitter->indent = 1;
    print_block(printer, function->body);
    emitter->out = out;
    emitter->indent = 0;
    return body;
}

/* "const float *restrict ": what stands in front of the parameter's name. */
static const char *parameter_type(struct printer *printer, const struct item *item)
{
    const struct dialect *dialect = printer->emitter->dialect;
    bool written = map_get_bytes(&printer->written, &item->buffer, sizeof item->buffer);
    if (!item->buffer)
        return arena_printf(printer->emitter->arena, "%s ", item->type);
    return arena_printf(printer->emitter->arena, "%s%s%s *%s", dialect ? dialect->global : "",
                        written ? "" : "const ", item->type,
                        dialect ? dialect->alone : "restrict ");
}

int print_shape_number(const struct shape *shape, const char *name)
{
    for (size_t i = 0; i < shape->names.count; i++) {
        if (strcmp(shape->names.at[i], name) == 0)
            return (int)i + 1;
    }
    return 0;
}

struct items print_choose(struct printer *printer, const struct items *items,
                          const struct text *body, struct shape *shape)
{
    struct arena *arena = printer->emitter->arena;
    struct map words = emit_words(arena, body);
    struct items chosen = {0};
    const char **types = arena_array(arena, shape->names.count + 1, sizeof *types);
    for (size_t i = 0; i < items->count; i++) {
        int number =
            map_has(&words, items->at[i].name) ? print_shape_number(shape, items->at[i].name) : 0;
        if (!number)
            continue;
        types[number] = parameter_type(printer, &items->at[i]);
        vector_push(arena, &chosen, items->at[i]);
    }
    for (size_t i = 1; i <= shape->names.count; i++) {
        if (types[i])
            text_printf(&shape->text, ", %s$%zu", types[i], i);
    }
    return chosen;
}

static void print_definition(struct printer *printer, const struct loop_function *function,
                             const struct items *chosen, const char *name, const struct text *body)
{
    struct emitter *emitter = printer->emitter;
    const char **parameters = arena_array(emitter->arena, chosen->count + 1, sizeof *parameters);
    parameters[0] = "void";
    for (size_t i = 0; i < chosen->count; i++)
        parameters[i] = arena_printf(emitter->arena, "%s%s",
                                     parameter_type(printer, &chosen->at[i]), chosen->at[i].name);
    emit_blank(emitter);
    if (function->note)
        emit_line(emitter, "/* %s */", function->note);
    emit_list(emitter, arena_printf(emitter->arena, "static void %s", name), parameters,
              chosen->count ? (int)chosen->count : 1, "");
    emit_block(emitter);
    text_add_bytes(emitter->out, body->at, body->length);
    emit_close(emitter);
}

/* Writes the function, unless one that is alike was written. */
static struct call print_function(struct printer *printer, const struct loop_function *function,
                                  const struct items *items)
{
    struct arena *arena = printer->emitter->arena;
    struct text body = print_body(printer, function);
    struct shape shape = emit_shape(arena, &body, &printer->given);
    struct items chosen = print_choose(printer, items, &body, &shape);
    struct call call = {.count = (int)chosen.count};
    call.arguments = arena_array(arena, chosen.count + 1, sizeof *call.arguments);
    struct written *known = map_get(&printer->functions, shape.text.at);
    if (known) {
        call.note = function->note;
        for (int i = 0; i < call.count; i++)
            call.arguments[i] = shape.names.at[known->parameters[i] - 1];
    } else {
        const char *wanted =
            arena_printf(arena, "%s_%s", printer->kernel->part->name, function->name);
        known = arena_new(arena, struct written);
        known->name = emit_name_forever(&printer->emitter->names, wanted);
        known->parameters = arena_array(arena, chosen.count + 1, sizeof *known->parameters);
        for (int i = 0; i < call.count; i++) {
            call.arguments[i] = chosen.at[i].name;
            known->parameters[i] = print_shape_number(&shape, chosen.at[i].name);
        }
        print_definition(printer, function, &chosen, known->name, &body);
        map_set(&printer->functions, shape.text.at, known);
    }
    call.name = known->name;
    return call;
}

/* ---- functions that are programs of their own ---- */

static struct call print_plain(struct printer *printer, const struct loop_function *function,
                               const struct ir_size **scratch)
{
    struct emitter *emitter = printer->emitter;
    struct arena *arena = emitter->arena;
    const struct ir_part *root = ir_root(function->plain);
    struct text body = text_new(arena), *out = emitter->out;
    size_t monoids = emitter->monoids.count;
    emitter->program = function->plain;
    emitter->expand = 0;
    emitter->out = &body;
    emit_parts(emitter);
    emitter->out = out;
    emitter->wide = false;
    emitter->indent = 0;
    const struct part_plan *plan = emit_part_plan(emitter, root);
    struct call call = {.name = plan->name, .fails = plan->fails};
    struct shape shape = emit_shape(arena, &body, &printer->given);
    struct written *known = map_get(&printer->functions, shape.text.at);
    if (known && monoids == emitter->monoids.count) { /* later ones may need new monoids */
        call.name = known->name;
        call.note = function->name;
    } else {
        known = arena_new(arena, struct written);
        known->name = plan->name;
        map_set(&printer->functions, shape.text.at, known);
        emit_blank(emitter);
        emit_line(emitter, "/* %s */", function->note ? function->note : function->name);
        text_add_bytes(emitter->out, body.at, body.length);
    }
    size_t most = (size_t)(root->symbol_count + root->scalar_count + root->input_count +
                           root->output_count + 1);
    call.arguments = arena_array(arena, most, sizeof *call.arguments);
    for (int i = 0; i < root->symbol_count; i++) {
        if (root->symbols[i].kind != IR_SYMBOL_LET)
            call.arguments[call.count++] = printer->symbols[i];
    }
    for (int i = 0; i < root->scalar_count; i++)
        call.arguments[call.count++] = printer->scalars[i];
    for (int i = 0; i < root->input_count + root->output_count; i++) {
        const struct loop_buffer *buffer = function->tensors[i];
        call.arguments[call.count++] = map_get_bytes(&printer->names, &buffer, sizeof buffer);
    }
    if (plan->scratch) {
        call.arguments[call.count++] = "memory";
        *scratch =
            *scratch ? ir_size_make(arena, IR_SIZE_MAX, *scratch, plan->scratch) : plan->scratch;
    }
    return call;
}

/* ---- scratch ---- */

static const struct ir_size *piece_bytes(struct arena *arena, const struct loop_buffer *buffer)
{
    const struct ir_size *bytes =
        ir_size_make(arena, IR_SIZE_MUL,
                     ir_size_constant(arena, (int64_t)dtype_bytes(buffer->dtype)), buffer->count);
    if (bytes->op == IR_SIZE_CONSTANT)
        return ir_size_constant(arena,
                                (bytes->value + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN);
    bytes = ir_size_make(arena, IR_SIZE_ADD, bytes, ir_size_constant(arena, PIECE_ALIGN - 1));
    bytes = ir_size_make(arena, IR_SIZE_DIV, bytes, ir_size_constant(arena, PIECE_ALIGN));
    return ir_size_make(arena, IR_SIZE_MUL, ir_size_constant(arena, PIECE_ALIGN), bytes);
}

static const struct ir_size *scratch_size(struct printer *printer, const struct ir_size *plain)
{
    struct arena *arena = printer->emitter->arena;
    const struct ir_size *size = plain;
    for (size_t i = 0; i < printer->kernel->buffers.count; i++) {
        const struct loop_buffer *buffer = printer->kernel->buffers.at[i];
        if (buffer->space != LOOP_SCRATCH)
            continue;
        const struct ir_size *bytes = piece_bytes(arena, buffer);
        size = size ? ir_size_make(arena, IR_SIZE_ADD, size, bytes) : bytes;
    }
    return size;
}

/* ---- the entry ---- */

int print_tensor_place(const struct ir_part *part, int tensor)
{
    for (int i = 0; i < part->input_count; i++) {
        if (part->inputs[i] == tensor)
            return i;
    }
    for (int i = 0; i < part->output_count; i++) {
        if (part->outputs[i] == tensor)
            return part->input_count + i;
    }
    return -1;
}

static void print_buffers(struct printer *printer)
{
    struct emitter *emitter = printer->emitter;
    const struct ir_part *part = printer->kernel->part;
    emitter->symbols = printer->symbols;
    for (size_t i = 0; i < printer->kernel->buffers.count; i++) {
        const struct loop_buffer *buffer = printer->kernel->buffers.at[i];
        const char *name = map_get_bytes(&printer->names, &buffer, sizeof buffer);
        const char *type = emit_element(emitter, buffer->dtype);
        if (buffer->space == LOOP_TENSOR) {
            bool input = part->tensors[buffer->tensor].role == IR_TENSOR_INPUT;
            emit_line(emitter, "%s%s *%s = tensors[%d];", input ? "const " : "", type, name,
                      print_tensor_place(part, buffer->tensor));
        } else {
            struct expression count = emit_size(emitter, buffer->count);
            emit_line(emitter, "%s *%s = scratch_take(&memory, %zu * %s);", type, name,
                      dtype_bytes(buffer->dtype), emit_within(emitter, count, BINDS_UNARY));
        }
    }
}

/* The line that says what is not made use of. */
static void print_unused(struct emitter *emitter, const struct text *body)
{
    static const char *const NAMES[] = {"tensors", "sizes", "scalars", "scratch"};
    struct map words = emit_words(emitter->arena, body);
    struct text line = text_new(emitter->arena);
    for (int i = 0; i < 4; i++) {
        if (!map_has(&words, NAMES[i]))
            text_printf(&line, "%s(void)%s", line.length ? ", " : "", NAMES[i]);
    }
    if (line.length)
        emit_line(emitter, "%s;", line.at);
}

static void print_entry(struct printer *printer, const struct calls *calls, bool scratch)
{
    struct emitter *emitter = printer->emitter;
    const struct ir_part *part = printer->kernel->part;
    struct text numbers = text_new(emitter->arena), rest = text_new(emitter->arena);
    struct text *out = emitter->out;
    emitter->out = &rest;
    emitter->indent = 1;
    if (scratch)
        emit_line(emitter, "char *memory = scratch;");
    print_buffers(printer);
    for (size_t i = 0; i < calls->count; i++) {
        const struct call *call = &calls->at[i];
        if (call->note)
            emit_line(emitter, "/* %s */", call->note);
        emit_invocation(emitter, call->name, call->arguments, call->count, call->fails);
    }
    struct map words = emit_words(emitter->arena, &rest);
    emitter->out = &numbers;
    for (int i = 0; i < part->symbol_count; i++) {
        if (map_has(&words, printer->symbols[i]))
            emit_line(emitter, "const int64_t %s = sizes[%d];", printer->symbols[i], i);
    }
    for (int i = 0; i < part->scalar_count; i++) {
        const char *type = emit_type(emitter, loop_scalar_dtype(part, i));
        bool truth = part->scalars[i].dtype == DTYPE_BOOL;
        if (map_has(&words, printer->scalars[i]))
            emit_line(emitter, "const %s %s = %s%sscalars[%d]%s;", type, printer->scalars[i],
                      strcmp(type, "float") == 0 ? "(float)" : "", "", i, truth ? " != 0.0" : "");
    }
    text_add_bytes(&numbers, rest.at, rest.length);
    emitter->out = out;
    emitter->indent = 0;
    emit_blank(emitter);
    emit_line(emitter, "int kernel(void *const *tensors, const int64_t *sizes, "
                       "const double *scalars, void *scratch)");
    emit_block(emitter);
    print_unused(emitter, &numbers);
    text_add_bytes(emitter->out, numbers.at, numbers.length);
    if (printer->streams) { /* threads of a team have met; without one nobody has ordered them */
        emit_line(emitter, "/* what went past the caches is there before anyone reads it */");
        emit_line(emitter, "stream_end();");
    }
    emit_line(emitter, "return 0;");
    emit_close(emitter);
}

/* ---- the file ---- */

static const char *outer_name(struct printer *printer, const char *wanted)
{
    struct arena *arena = printer->emitter->arena;
    if (vector_is_name(wanted))
        wanted = arena_printf(arena, "of_%s", wanted);
    return emit_name_forever(&printer->emitter->names, wanted);
}

void print_name_outer(struct printer *printer, const char *const *taken)
{
    struct arena *arena = printer->emitter->arena;
    const struct ir_part *part = printer->kernel->part;
    for (; *taken; taken++)
        outer_name(printer, *taken);
    printer->symbols = arena_array(arena, (size_t)part->symbol_count + 1, sizeof(char *));
    printer->scalars = arena_array(arena, (size_t)part->scalar_count + 1, sizeof(char *));
    for (int i = 0; i < part->symbol_count; i++)
        printer->symbols[i] = outer_name(printer, part->symbols[i].name);
    for (int i = 0; i < part->scalar_count; i++)
        printer->scalars[i] = outer_name(printer, part->scalars[i].name);
    for (size_t i = 0; i < printer->kernel->buffers.count; i++) {
        const struct loop_buffer *buffer = printer->kernel->buffers.at[i];
        map_set_bytes(&printer->names, &buffer, sizeof buffer,
                      (void *)outer_name(printer, buffer->name));
    }
}

static struct calls print_functions(struct printer *printer, const struct ir_size **scratch)
{
    const struct loop_kernel *kernel = printer->kernel;
    struct calls calls = {0};
    struct items items = print_items(printer);
    for (size_t i = 0; i < kernel->functions.count; i++) {
        const struct loop_function *function = &kernel->functions.at[i];
        struct call call = function->plain ? print_plain(printer, function, scratch)
                                           : print_function(printer, function, &items);
        vector_push(printer->emitter->arena, &calls, call);
    }
    return calls;
}

struct printer print_new(struct emitter *emitter, const struct loop_kernel *kernel)
{
    struct arena *arena = emitter->arena;
    return (struct printer){
        .emitter = emitter,
        .kernel = kernel,
        .names = map_new(arena),
        .numbers = map_new(arena),
        .unrolled = map_new(arena),
        .arrays = map_new(arena),
        .functions = map_new(arena),
        .given = map_new(arena),
    };
}

void gen_loop_c(struct text *out, const struct loop_kernel *kernel, const struct gen_head *head)
{
    static const char *const TAKEN[] = {"tensors", "sizes",  "scalars",   "scratch",
                                        "memory",  "INLINE", "HAS_MASKS", NULL};
    struct arena *arena = out->arena;
    struct text body = text_new(arena), vectors = text_new(arena), all = text_new(arena);
    struct emitter emitter = emit_new(&body, GEN_PLAIN, false);
    struct printer printer = print_new(&emitter, kernel);
    const struct ir_size *plain = NULL;
    emitter.names.given = &printer.given;
    print_name_outer(&printer, TAKEN);
    struct calls calls = print_functions(&printer, &plain);
    const struct ir_size *scratch = scratch_size(&printer, plain);
    print_entry(&printer, &calls, scratch != NULL);
    vector_prelude(arena, &vectors, &body);
    text_add_bytes(&all, vectors.at, vectors.length);
    text_add_bytes(&all, body.at, body.length);
    emit_head(&emitter, out, kernel->part, scratch, head);
    emit_prelude(&emitter, out, &all);
    text_add_bytes(out, all.at, all.length);
}
