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

struct item { /* what a function may be handed */
    const char *name, *type;
    const struct loop_buffer *buffer; /* NULL: a number */
};
struct items VECTOR(struct item);

static struct items list_items(struct printer *printer)
{
    struct emitter *emitter = printer->emitter;
    const struct ir_part *part = printer->kernel->part;
    struct items items = {0};
    for (int i = 0; i < part->symbol_count; i++)
        vector_push(emitter->arena, &items, (struct item){printer->symbols[i], "int64_t", NULL});
    for (int i = 0; i < part->scalar_count; i++)
        vector_push(
            emitter->arena, &items,
            (struct item){printer->scalars[i], emit_type(emitter, part->scalars[i].dtype), NULL});
    for (size_t i = 0; i < printer->kernel->buffers.count; i++) {
        const struct loop_buffer *buffer = printer->kernel->buffers.at[i];
        const char *name = map_get_bytes(&printer->names, &buffer, sizeof buffer);
        vector_push(emitter->arena, &items,
                    (struct item){name, emit_element(emitter, buffer->dtype), buffer});
    }
    return items;
}

struct call { /* of a function, in the entry */
    const char *name;
    const char **arguments;
    int count;
    bool fails;
};
struct calls VECTOR(struct call);

static struct call print_function(struct printer *printer, const struct loop_function *function,
                                  const struct items *items)
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

    struct map words = emit_words(arena, &body);
    const char *wanted = arena_printf(arena, "%s_%s", printer->kernel->part->name, function->name);
    struct call call = {.name = emit_name_forever(&emitter->names, wanted)};
    const char **parameters = arena_array(arena, items->count + 1, sizeof *parameters);
    call.arguments = arena_array(arena, items->count + 1, sizeof *call.arguments);
    for (size_t i = 0; i < items->count; i++) {
        const struct item *item = &items->at[i];
        if (!map_has(&words, item->name))
            continue;
        bool written = map_get_bytes(&printer->written, &item->buffer, sizeof item->buffer);
        parameters[call.count] = item->buffer
                                     ? arena_printf(arena, "%s%s *restrict %s",
                                                    written ? "" : "const ", item->type, item->name)
                                     : arena_printf(arena, "%s %s", item->type, item->name);
        call.arguments[call.count++] = item->name;
    }
    emit_blank(emitter);
    if (function->note)
        emit_line(emitter, "/* %s */", function->note);
    parameters[0] = call.count ? parameters[0] : "void";
    emit_list(emitter, arena_printf(arena, "static void %s", call.name), parameters,
              call.count ? call.count : 1, "");
    emit_block(emitter);
    text_add_bytes(emitter->out, body.at, body.length);
    emit_close(emitter);
    return call;
}

/* ---- functions that are programs of their own ---- */

static struct call print_plain(struct printer *printer, const struct loop_function *function,
                               const struct ir_size **scratch)
{
    struct emitter *emitter = printer->emitter;
    struct arena *arena = emitter->arena;
    const struct ir_part *root = ir_root(function->plain);
    emitter->program = function->plain;
    emitter->expand = 0;
    if (function->note) {
        emit_blank(emitter);
        emit_line(emitter, "/* %s */", function->note);
    }
    emit_parts(emitter);
    emitter->wide = false;
    emitter->indent = 0;
    const struct part_plan *plan = emit_part_plan(emitter, root);
    struct call call = {.name = plan->name, .fails = plan->fails};
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

/* Where in `tensors` a tensor of the part is. */
static int tensor_place(const struct ir_part *part, int tensor)
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
                      tensor_place(part, buffer->tensor));
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
        emit_invocation(emitter, call->name, call->arguments, call->count, call->fails);
    }
    struct map words = emit_words(emitter->arena, &rest);
    emitter->out = &numbers;
    for (int i = 0; i < part->symbol_count; i++) {
        if (map_has(&words, printer->symbols[i]))
            emit_line(emitter, "const int64_t %s = sizes[%d];", printer->symbols[i], i);
    }
    for (int i = 0; i < part->scalar_count; i++) {
        const char *type = emit_type(emitter, part->scalars[i].dtype);
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

static void name_outer(struct printer *printer)
{
    struct arena *arena = printer->emitter->arena;
    const struct ir_part *part = printer->kernel->part;
    static const char *const TAKEN[] = {"tensors", "sizes",  "scalars",  "scratch",
                                        "memory",  "INLINE", "HAS_MASKS"};
    for (size_t i = 0; i < sizeof TAKEN / sizeof *TAKEN; i++)
        outer_name(printer, TAKEN[i]);
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
    struct items items = list_items(printer);
    for (size_t i = 0; i < kernel->functions.count; i++) {
        const struct loop_function *function = &kernel->functions.at[i];
        struct call call = function->plain ? print_plain(printer, function, scratch)
                                           : print_function(printer, function, &items);
        vector_push(printer->emitter->arena, &calls, call);
    }
    return calls;
}

void gen_loop_c(struct text *out, const struct loop_kernel *kernel, const struct gen_head *head)
{
    struct arena *arena = out->arena;
    struct text body = text_new(arena), vectors = text_new(arena), all = text_new(arena);
    struct emitter emitter = emit_new(&body, GEN_PLAIN, false);
    struct printer printer = {
        .emitter = &emitter,
        .kernel = kernel,
        .names = map_new(arena),
        .numbers = map_new(arena),
        .unrolled = map_new(arena),
        .arrays = map_new(arena),
    };
    const struct ir_size *plain = NULL;
    name_outer(&printer);
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
