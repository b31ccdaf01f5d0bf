/*
 * A kernel of loops as a file for a device: manifest, a function per launch; groups that are plain
 * are written by plain.c. And what both kinds of files have in common.
 */
#include <string.h>

#include "gen/device/device.h"

/* ---- files ---- */

struct emitter device_emitter(struct text *body, const struct dialect *dialect)
{
    struct emitter emitter = emit_new(body, GEN_PLAIN, false);
    emitter.dialect = dialect;
    for (const char *const *word = dialect->reserved; *word; word++)
        emit_name_forever(&emitter.names, *word);
    return emitter;
}

static bool name_is_taken(const struct device_file *file, const char *name)
{
    const struct ir_part *part = file->part;
    bool taken = false;
    for (size_t i = 0; i < file->buffers.count; i++)
        taken |= strcmp(file->buffers.at[i].name, name) == 0;
    for (int i = 0; i < part->symbol_count; i++)
        taken |= strcmp(part->symbols[i].name, name) == 0;
    for (int i = 0; i < part->scalar_count; i++)
        taken |= strcmp(part->scalars[i].name, name) == 0;
    for (int i = 0; i < part->input_count; i++)
        taken |= strcmp(part->tensors[part->inputs[i]].name, name) == 0;
    for (int i = 0; i < part->output_count; i++)
        taken |= strcmp(part->tensors[part->outputs[i]].name, name) == 0;
    return taken;
}

int device_buffer(struct device_file *file, const char *wanted, enum dtype dtype,
                  const struct ir_size *count, bool zero)
{
    struct arena *arena = file->emitter->arena;
    char *plain = arena_string(arena, wanted);
    for (char *c = plain; *c; c++) /* a stage of a call may have a point in its name */
        *c = *c == '.' ? '_' : *c;
    const char *name = plain;
    for (int number = 2; name_is_taken(file, name); number++)
        name = arena_printf(arena, "%s_%d", plain, number);
    struct kernel_buffer buffer = {.name = name, .dtype = dtype, .count = count, .zero = zero};
    vector_push(arena, &file->buffers, buffer);
    return (int)file->buffers.count - 1;
}

void device_finish(struct device_file *file, struct text *out, const struct text *body,
                   const struct device_head *head)
{
    struct emitter *emitter = file->emitter;
    struct kernel kernel = {.target = emitter->dialect->target,
                            .buffers = file->buffers.at,
                            .buffer_count = (int)file->buffers.count,
                            .steps = file->steps.at,
                            .step_count = (int)file->steps.count};
    emit_device_head(emitter, out, file->part, &kernel, head->contract, head->head);
    text_char(out, '\n');
    emit_prelude(emitter, out, body);
    text_add_bytes(out, body->at, body->length);
}

/* ---- functions ---- */

struct launching {
    struct printer *printer;
    struct device_file *file;
    struct items items;
    struct kernel_argument *buffers; /* per buffer of the loops: what it is in the manifest */
};

struct written { /* a function, by its shape */
    const char *name;
    int *parameters; /* numbers of names in the shape */
};

static struct kernel_argument argument_of(const struct launching *launching,
                                          const struct item *item)
{
    switch (item->kind) {
    case ITEM_SYMBOL: return (struct kernel_argument){KERNEL_SIZE, item->number};
    case ITEM_SCALAR: return (struct kernel_argument){KERNEL_SCALAR, item->number};
    default: return launching->buffers[item->number];
    }
}

static const struct item *item_named(const struct launching *launching, const char *name)
{
    const struct item *found = NULL;
    for (size_t i = 0; i < launching->items.count; i++)
        if (strcmp(launching->items.at[i].name, name) == 0)
            found = &launching->items.at[i];
    return found;
}

/* Scalars come as doubles. */
static const char *parameter_text(struct printer *printer, const struct item *item,
                                  struct text *converted)
{
    struct arena *arena = printer->emitter->arena;
    const struct dialect *dialect = printer->emitter->dialect;
    if (item->kind == ITEM_SYMBOL)
        return arena_printf(arena, "int64_t %s", item->name);
    if (item->kind == ITEM_BUFFER)
        return arena_printf(
            arena, "%s%s%s *%s%s", dialect->global,
            map_get_bytes(&printer->written, &item->buffer, sizeof item->buffer) ? "" : "const ",
            item->type, dialect->alone, item->name);
    bool number = dtype_is_float(printer->kernel->part->scalars[item->number].dtype);
    text_printf(converted, "    const %s %s = %s%s_given%s;\n", item->type, item->name,
                number ? arena_printf(arena, "(%s)", item->type) : "", item->name,
                number ? "" : " != 0.0");
    return arena_printf(arena, "double %s_given", item->name);
}

static const char *kernel_start(struct emitter *emitter, const struct loop_launch *launch)
{
    char start[160];
    int block[3];
    for (int i = 0; i < 3; i++)
        block[i] = launch->block[i] ? launch->block[i] : 1;
    /* the format has a place for each dimension, and one more where blocks of a unit are asked for
     */
    snprintf(start, sizeof start, emitter->dialect->bounds, block[0], block[1], block[2],
             launch->minimum_blocks > 0 ? launch->minimum_blocks : 1);
    if (launch->cluster > 1 && emitter->dialect->cluster) {
        size_t length = strlen(start);
        snprintf(start + length, sizeof start - length, emitter->dialect->cluster, launch->cluster);
    }
    return arena_string(emitter->arena, start);
}

static void write_function(struct launching *launching, const struct loop_function *function,
                           const struct items *chosen, const char *name, const struct text *body)
{
    struct emitter *emitter = launching->printer->emitter;
    const char **parameters = arena_array(emitter->arena, chosen->count + 1, sizeof *parameters);
    struct text converted = text_new(emitter->arena);
    for (size_t i = 0; i < chosen->count; i++)
        parameters[i] = parameter_text(launching->printer, &chosen->at[i], &converted);
    emit_blank(emitter);
    if (function->note)
        emit_line(emitter, "/* %s */", function->note);
    emit_list(emitter,
              arena_printf(emitter->arena, "%s %s", kernel_start(emitter, function->launch), name),
              parameters, (int)chosen->count, "");
    emit_block(emitter);
    text_add(emitter->out, converted.length ? converted.at : "");
    text_add_bytes(emitter->out, body->at, body->length);
    emit_close(emitter);
}

static void add_launch(struct launching *launching, const struct loop_launch *launch,
                       const char *name, struct kernel_argument *arguments, int count)
{
    struct arena *arena = launching->printer->emitter->arena;
    struct kernel_step step = {
        .kind = KERNEL_LAUNCH, .name = name, .arguments = arguments, .argument_count = count};
    for (int i = 0; i < 3; i++) {
        step.grid[i] = launch->grid[i];
        step.block[i] = launch->block[i] ? ir_size_constant(arena, launch->block[i]) : NULL;
    }
    vector_push(arena, &launching->file->steps, step);
}

/* Writes the function, unless one that is alike was written, and its launch. */
static void print_launch(struct launching *launching, const struct loop_function *function)
{
    struct printer *printer = launching->printer;
    struct emitter *emitter = printer->emitter;
    struct arena *arena = emitter->arena;
    struct text body = print_body(printer, function);
    struct shape shape = emit_shape(arena, &body, &printer->given);
    struct items chosen = print_choose(printer, &launching->items, &body, &shape);
    struct kernel_argument *arguments = arena_array(arena, chosen.count + 1, sizeof *arguments);
    text_printf(&shape.text, ", %s", kernel_start(emitter, function->launch));
    struct written *known = map_get(&printer->functions, shape.text.at);
    for (size_t i = 0; known && i < chosen.count; i++)
        arguments[i] =
            argument_of(launching, item_named(launching, shape.names.at[known->parameters[i] - 1]));
    if (!known) {
        known = arena_new(arena, struct written);
        known->name = emit_name_forever(
            &emitter->names,
            arena_printf(arena, "%s_%s", printer->kernel->part->name, function->name));
        known->parameters = arena_array(arena, chosen.count + 1, sizeof *known->parameters);
        for (size_t i = 0; i < chosen.count; i++) {
            arguments[i] = argument_of(launching, &chosen.at[i]);
            known->parameters[i] = print_shape_number(&shape, chosen.at[i].name);
        }
        write_function(launching, function, &chosen, known->name, &body);
        map_set(&printer->functions, shape.text.at, known);
    }
    add_launch(launching, function->launch, known->name, arguments, (int)chosen.count);
}

static void print_plain(struct launching *launching, const struct loop_function *function)
{
    const struct ir_part *root = ir_root(function->plain);
    int count = root->input_count + root->output_count;
    const struct loop_kernel *kernel = launching->printer->kernel;
    struct kernel_argument *tensors =
        arena_array(launching->printer->emitter->arena, (size_t)count + 1, sizeof *tensors);
    for (int i = 0; i < count; i++)
        for (size_t b = 0; b < kernel->buffers.count; b++)
            if (kernel->buffers.at[b] == function->tensors[i])
                tensors[i] = launching->buffers[b];
    device_plain(launching->file, function->plain, tensors);
}

bool gen_loop_device(struct text *out, const struct loop_kernel *kernel, const char *target,
                     const struct gen_head *head)
{
    static const char *const TAKEN[] = {NULL};
    const struct dialect *dialect = dialect_of(target);
    if (!dialect)
        return false;
    struct arena *arena = out->arena;
    struct text body = text_new(arena);
    struct emitter emitter = device_emitter(&body, dialect);
    struct printer printer = print_new(&emitter, kernel);
    struct device_file file = {.emitter = &emitter, .part = kernel->part};
    struct launching launching = {.printer = &printer, .file = &file};
    emitter.names.given = &printer.given;
    print_name_outer(&printer, TAKEN);
    launching.items = print_items(&printer);
    launching.buffers = arena_array(arena, kernel->buffers.count + 1, sizeof *launching.buffers);
    for (size_t i = 0; i < kernel->buffers.count; i++) {
        const struct loop_buffer *buffer = kernel->buffers.at[i];
        launching.buffers[i] =
            buffer->space == LOOP_TENSOR
                ? (struct kernel_argument){KERNEL_TENSOR,
                                           print_tensor_place(kernel->part, buffer->tensor)}
                : (struct kernel_argument){KERNEL_BUFFER,
                                           device_buffer(&file, buffer->name, buffer->dtype,
                                                         buffer->count, buffer->zero)};
    }
    for (size_t i = 0; i < kernel->functions.count; i++) {
        const struct loop_function *function = &kernel->functions.at[i];
        if (function->plain)
            print_plain(&launching, function);
        else
            print_launch(&launching, function);
    }
    device_finish(&file, out, &body, &(struct device_head){.head = head});
    return true;
}
