/*
 * Any program as kernels for a device: one per stage, in order, the calls written out first. The
 * body of a stage is the C of src/gen/c, whose outer loops are given: each thread has its own
 * values of their indices. What a stage keeps for a later one lies in buffers of the manifest, and
 * loops over stages are the manifest's, too.
 */
#include <string.h>

#include "gen/device/device.h"

enum { BLOCK = 256, MOST_BLOCKS = 1 << 16 };

struct device {
    struct emitter *emitter;
    struct device_file *file;
    struct definitions definitions;
    struct counters VECTOR(const struct ir_stage *) counters; /* of the loops we are in */
};

/* ---- arguments ---- */

struct signature {
    struct parameters VECTOR(const char *) parameters;
    struct arguments VECTOR(struct kernel_argument) arguments;
    struct text converted; /* lines: what parameters become first */
};

static void add(struct device *device, struct signature *signature, enum kernel_argument_kind kind,
                int number, const char *parameter)
{
    struct arena *arena = device->emitter->arena;
    vector_push(arena, &signature->parameters, parameter);
    vector_push(arena, &signature->arguments, (struct kernel_argument){kind, number});
}

static const char *pointer(struct emitter *emitter, bool written, const char *type,
                           const char *name)
{
    const struct dialect *dialect = emitter->dialect;
    return arena_printf(emitter->arena, "%s%s%s *%s%s", dialect->global, written ? "" : "const ",
                        type, dialect->alone, name);
}

static void add_numbers(struct device *device, const struct map *words, struct signature *signature)
{
    struct emitter *emitter = device->emitter;
    const struct ir_part *part = emitter->part;
    for (size_t i = 0; i < device->counters.count; i++) {
        const struct ir_stage *loop = device->counters.at[i];
        const char *name = emitter->indices[loop->loop_index];
        if (!map_has(words, name))
            continue;
        const char *given = loop->reverse ? emit_name(&emitter->names, "step") : name;
        add(device, signature, KERNEL_COUNTER, (int)i,
            arena_printf(emitter->arena, "int64_t %s", given));
        if (loop->reverse) {
            struct expression extent = emit_size(emitter, part->indices[loop->loop_index].extent);
            text_printf(&signature->converted, "    const int64_t %s = %s - 1 - %s;\n", name,
                        emit_within(emitter, extent, BINDS_SUM), given);
        }
    }
    for (int i = 0; i < part->symbol_count; i++)
        if (part->symbols[i].kind != IR_SYMBOL_LET && map_has(words, emitter->symbols[i]))
            add(device, signature, KERNEL_SIZE, i,
                arena_printf(emitter->arena, "int64_t %s", emitter->symbols[i]));
    for (int i = 0; i < part->scalar_count; i++) {
        const char *name = emitter->scalars[i], *type = emit_type(emitter, part->scalars[i].dtype);
        if (!map_has(words, name))
            continue;
        const char *given =
            emit_name(&emitter->names, arena_printf(emitter->arena, "%s_given", name));
        add(device, signature, KERNEL_SCALAR, i, arena_printf(emitter->arena, "double %s", given));
        bool number = dtype_is_float(part->scalars[i].dtype);
        text_printf(&signature->converted, "    const %s %s = %s%s%s;\n", type, name,
                    number ? arena_printf(emitter->arena, "(%s)", type) : "", given,
                    number ? "" : " != 0.0");
    }
}

static void add_tensors(struct device *device, const struct map *words,
                        const struct ir_stage *stage, const char *also_written,
                        struct signature *signature)
{
    struct emitter *emitter = device->emitter;
    const struct ir_part *part = emitter->part;
    for (int i = 0; i < part->input_count + part->output_count; i++) {
        int tensor = i < part->input_count ? part->inputs[i] : part->outputs[i - part->input_count];
        const char *name = emitter->tensors[tensor].name;
        bool written = (stage && emit_stage_writes(stage, tensor)) || name == also_written;
        if (map_has(words, name))
            add(device, signature, KERNEL_TENSOR, i,
                pointer(emitter, written, emit_element(emitter, part->tensors[tensor].dtype),
                        name));
    }
    for (size_t i = 0; i < emitter->pieces.count; i++) {
        const struct piece *piece = &emitter->pieces.at[i];
        bool written = true; /* buffers of one stage are for writing */
        for (int t = 0; t < part->tensor_count; t++)
            if (emitter->tensors[t].name == piece->name)
                written = (stage && emit_stage_writes(stage, t)) || piece->name == also_written;
        if (map_has(words, piece->name))
            add(device, signature, KERNEL_BUFFER, (int)i,
                pointer(emitter, written, piece->type, piece->name));
    }
}

/* ---- kernels ---- */

static const struct ir_size *size_of(struct emitter *emitter, enum ir_size_op op,
                                     const struct ir_size *a, int64_t b)
{
    return ir_size_make(emitter->arena, op, a, ir_size_constant(emitter->arena, b));
}

/* What a kernel is made of. */
struct body {
    struct text text;             /* of one point, indented by 2, or of everything, by 1 */
    const char *point;            /* name of the point's number; NULL: there is one thread */
    const struct ir_size *points; /* how many */
    struct text indices;          /* lines: what the number means */
    const struct ir_stage *stage; /* or NULL: a copy... */
    const char *written;          /* ...to this */
    const char *name, *comment;
};

static void add_words(struct emitter *emitter, struct map *words, const char *text)
{
    struct text all = text_new(emitter->arena);
    text_add(&all, text);
    struct map more = emit_words(emitter->arena, &all);
    for (size_t i = 0; i < more.count; i++)
        map_set_bytes(words, more.entries[i].key, more.entries[i].length, words);
}

static void add_launch(struct device *device, const struct body *body,
                       const struct signature *signature)
{
    struct emitter *emitter = device->emitter;
    struct kernel_step step = {.kind = KERNEL_LAUNCH,
                               .name = body->name,
                               .arguments = signature->arguments.at,
                               .argument_count = (int)signature->arguments.count};
    if (body->point) {
        const struct ir_size *blocks = size_of(emitter, IR_SIZE_ADD, body->points, BLOCK - 1);
        blocks = size_of(emitter, IR_SIZE_DIV, blocks, BLOCK);
        step.grid[0] = size_of(emitter, IR_SIZE_MIN, blocks, MOST_BLOCKS);
        step.block[0] = ir_size_constant(emitter->arena, BLOCK);
    }
    vector_push(emitter->arena, &device->file->steps, step);
}

static void write_kernel(struct device *device, const struct body *body)
{
    struct emitter *emitter = device->emitter;
    const struct dialect *dialect = emitter->dialect;
    struct text *out = emitter->out, definitions = text_new(emitter->arena);
    struct signature signature = {.converted = text_new(emitter->arena)};
    struct map words = emit_words(emitter->arena, &body->text);
    add_words(emitter, &words, body->indices.at ? body->indices.at : "");
    const char *end = body->point ? emit_size(emitter, body->points).text : "";
    add_words(emitter, &words, end);
    for (size_t i = 0; i < device->counters.count; i++) { /* a reversed one asks for its end */
        const struct ir_stage *loop = device->counters.at[i];
        if (loop->reverse && map_has(&words, emitter->indices[loop->loop_index]))
            add_words(emitter, &words,
                      emit_size(emitter, emitter->part->indices[loop->loop_index].extent).text);
    }
    emitter->out = &definitions;
    emitter->indent = 1;
    emit_definitions(emitter, &device->definitions, &words);
    add_tensors(device, &words, body->stage, body->written, &signature);
    add_numbers(device, &words, &signature);

    emitter->out = &emitter->functions;
    emitter->indent = 0;
    emit_blank(emitter);
    emit_line(emitter, "/* %s */", body->comment);
    emit_list(emitter, arena_printf(emitter->arena, "%s %s", dialect->kernel, body->name),
              signature.parameters.at, (int)signature.parameters.count, "");
    emit_block(emitter);
    text_add(emitter->out, definitions.length ? definitions.at : "");
    text_add(emitter->out, signature.converted.length ? signature.converted.at : "");
    if (body->point) {
        emit_open(emitter, "for (int64_t %s = %s; %s < %s; %s += %s)", body->point, dialect->first,
                  body->point, end, body->point, dialect->all);
        text_add(emitter->out, body->indices.length ? body->indices.at : "");
    }
    text_add_bytes(emitter->out, body->text.at, body->text.length);
    if (body->point)
        emit_close(emitter);
    emit_close(emitter);
    add_launch(device, body, &signature);
    emitter->out = out;
}

static const char *kernel_name(struct emitter *emitter, const char *what)
{
    return emit_name_forever(&emitter->names,
                             arena_printf(emitter->arena, "%s_%s",
                                          arena_copy(emitter->arena, emitter->part->name,
                                                     strcspn(emitter->part->name, ".")),
                                          what));
}

/* ---- stages ---- */

/* The loops whose points are independent: those in front that have an extent. */
static int independent(const struct emitter *emitter, const struct ir_stage *stage, int *indices)
{
    int most = stage->kind == IR_REDUCE    ? stage->left_count
               : stage->kind == IR_SCATTER ? 0
                                           : stage->index_count;
    int count = 0;
    for (int i = 0; i < most; i++) {
        int index = stage->indices[i];
        if (stage->kind == IR_SCAN && index == stage->along)
            continue;
        if (!emitter->part->indices[index].extent)
            break;
        indices[count++] = index;
    }
    return count;
}

/* Lines that say what the number of a point means, innermost index last. */
static void tell_indices(struct emitter *emitter, struct body *body, const int *indices, int count,
                         const char *const *names)
{
    const char *rest = body->point;
    for (int i = count; i-- > 0;) {
        const struct ir_size *extent = emitter->part->indices[indices[i]].extent;
        const char *text = emit_within(emitter, emit_size(emitter, extent), BINDS_UNARY);
        if (i == 0) {
            text_printf(&body->indices, "        const int64_t %s = %s;\n", names[i], rest);
            break;
        }
        text_printf(&body->indices, "        const int64_t %s = %s %% %s;\n", names[i],
                    strchr(rest, '/') ? arena_printf(emitter->arena, "(%s)", rest) : rest, text);
        rest = arena_printf(emitter->arena, "%s / %s", rest, text);
    }
}

static void write_stage(struct device *device, const struct ir_stage *stage)
{
    struct emitter *emitter = device->emitter;
    int *indices = arena_array(emitter->arena, (size_t)stage->index_count + 1, sizeof *indices);
    int count = independent(emitter, stage, indices);
    struct text *out = emitter->out;
    struct body body = {
        .text = text_new(emitter->arena), .indices = text_new(emitter->arena), .stage = stage};
    size_t mark = emitter->names.stack.count;
    if (count > 0) {
        body.point = emit_name(&emitter->names, "point");
        body.points = ir_size_constant(emitter->arena, 1);
        for (int i = 0; i < count; i++)
            body.points = ir_size_make(emitter->arena, IR_SIZE_MUL, body.points,
                                       emitter->part->indices[indices[i]].extent);
    }
    emitter->given = count;
    emitter->given_names = arena_array(emitter->arena, (size_t)count + 1, sizeof(char *));
    emitter->out = &body.text;
    emitter->indent = count > 0 ? 2 : 1;
    switch (stage->kind) {
    case IR_MAP: emit_map(emitter, stage); break;
    case IR_REDUCE: emit_reduce(emitter, stage); break;
    case IR_SCAN: emit_scan(emitter, stage); break;
    default: emit_scatter(emitter, stage); break;
    }
    tell_indices(emitter, &body, indices, count, emitter->given_names);
    emitter->given = 0;
    emitter->out = out;
    body.comment = emitter->comment;
    body.name = kernel_name(emitter, emitter->part->tensors[stage->writes[0].tensor].name);
    write_kernel(device, &body);
    emit_names_free(&emitter->names, mark);
}

/* All elements of a tensor, from one place to another. */
static void write_copy(struct device *device, const char *to, enum dtype to_type, const char *from,
                       enum dtype from_type, int tensor)
{
    struct emitter *emitter = device->emitter;
    const struct ir_tensor *info = &emitter->part->tensors[tensor];
    size_t mark = emitter->names.stack.count;
    struct body body = {.text = text_new(emitter->arena),
                        .point = emit_name(&emitter->names, "point"),
                        .points = ir_size_constant(emitter->arena, 1),
                        .written = to,
                        .name = kernel_name(emitter, arena_printf(emitter->arena, "to_%s", to)),
                        .comment = arena_printf(emitter->arena, "%s = %s", to, from)};
    for (int i = 0; i < info->rank; i++)
        body.points = ir_size_make(emitter->arena, IR_SIZE_MUL, body.points, info->dims[i]);
    const char *value = arena_printf(emitter->arena, "%s[%s]", from, body.point);
    if (to_type != from_type)
        value = emit_keep(emitter, to_type, emit_load(emitter, from_type, value).text,
                          dtype_compute(from_type));
    text_printf(&body.text, "        %s[%s] = %s;\n", to, body.point, value);
    write_kernel(device, &body);
    emit_names_free(&emitter->names, mark);
}

static void write_carries(struct device *device, const struct ir_stage *stage)
{
    struct emitter *emitter = device->emitter;
    const struct ir_tensor *tensors = emitter->part->tensors;
    const char **from = arena_array(emitter->arena, (size_t)stage->carry_count + 1, sizeof *from);
    for (int i = 0; i < stage->carry_count; i++) {
        int next = stage->carries[i].next;
        from[i] = emitter->tensors[next].reader;
        if (!emit_carry_needs_copy(stage, i))
            continue;
        const char *copy =
            emit_scratch_like(emitter, next, false, emit_element(emitter, tensors[next].dtype),
                              arena_printf(emitter->arena, "%s_before", from[i]));
        write_copy(device, copy, tensors[next].dtype, from[i], tensors[next].dtype, next);
        from[i] = copy;
    }
    for (int i = 0; i < stage->carry_count; i++) {
        const struct ir_carry *carry = &stage->carries[i];
        if (carry->state != carry->next)
            write_copy(device, emitter->tensors[carry->state].name, tensors[carry->state].dtype,
                       from[i], tensors[carry->next].dtype, carry->state);
    }
}

static void write_stages(struct device *device, const struct ir_stage *stages, int count);

static void write_loop(struct device *device, const struct ir_stage *stage)
{
    struct emitter *emitter = device->emitter;
    size_t mark = emitter->names.stack.count;
    const char *name = emit_name(&emitter->names, emitter->part->indices[stage->loop_index].name);
    emitter->indices[stage->loop_index] = name;
    vector_push(emitter->arena, &device->counters, stage);
    vector_push(emitter->arena, &device->file->steps,
                ((struct kernel_step){.kind = KERNEL_REPEAT,
                                      .name = name,
                                      .count = emitter->part->indices[stage->loop_index].extent}));
    write_stages(device, stage->body, stage->body_count);
    write_carries(device, stage);
    vector_push(emitter->arena, &device->file->steps, ((struct kernel_step){.kind = KERNEL_END}));
    device->counters.count--;
    emitter->indices[stage->loop_index] = NULL;
    emit_names_free(&emitter->names, mark);
}

static void write_stages(struct device *device, const struct ir_stage *stages, int count)
{
    for (int i = 0; i < count; i++) {
        if (stages[i].kind == IR_LOOP)
            write_loop(device, &stages[i]);
        else
            write_stage(device, &stages[i]);
    }
}

/* ---- the file ---- */

static enum dtype dtype_of(const struct emitter *emitter, const char *type)
{
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        if (strcmp(emit_element(emitter, (enum dtype)dtype), type) == 0)
            return (enum dtype)dtype;
    return DTYPE_U8;
}

/* Arguments as the file counts them, of the steps from `first` on. */
static void renumber(struct device_file *file, size_t first, int first_buffer,
                     const struct kernel_argument *tensors)
{
    for (size_t i = first; i < file->steps.count; i++) {
        struct kernel_step *step = &file->steps.at[i];
        struct kernel_argument *arguments =
            arena_array(file->emitter->arena, (size_t)step->argument_count + 1, sizeof *arguments);
        for (int k = 0; k < step->argument_count; k++) {
            arguments[k] = step->arguments[k];
            if (arguments[k].kind == KERNEL_BUFFER)
                arguments[k].number += first_buffer;
            else if (arguments[k].kind == KERNEL_TENSOR && tensors)
                arguments[k] = tensors[arguments[k].number];
        }
        step->arguments = arguments;
    }
}

void device_plain(struct device_file *file, const struct ir_program *flat,
                  const struct kernel_argument *tensors)
{
    struct emitter *emitter = file->emitter;
    size_t mark = emitter->names.stack.count, first = file->steps.count;
    int first_buffer = (int)file->buffers.count;
    emitter->program = flat;
    emitter->expand = 0;
    emitter->pieces = (struct pieces){0};
    emit_monoids(emitter);
    struct device device = {.emitter = emitter, .file = file};
    device.definitions = emit_part_start(emitter, ir_root(flat));
    for (int i = 0; i < emitter->part->tensor_count; i++)
        if (emitter->part->tensors[i].role == IR_TENSOR_TEMPORARY ||
            emitter->part->tensors[i].role == IR_TENSOR_STATE)
            emit_scratch_tensor(emitter, i);
    write_stages(&device, emitter->part->stages, emitter->part->stage_count);
    for (size_t i = 0; i < emitter->pieces.count; i++) {
        const struct piece *piece = &emitter->pieces.at[i];
        device_buffer(file, piece->name, dtype_of(emitter, piece->type), piece->count, false);
    }
    renumber(file, first, first_buffer, tensors);
    text_add_bytes(emitter->out, emitter->functions.at, emitter->functions.length);
    emit_names_free(&emitter->names, mark);
    emitter->wide = false;
    emitter->indent = 0;
}

bool gen_has_device(const char *target)
{
    return dialect_of(target) != NULL;
}

bool gen_plain_device(struct text *out, const struct ir_program *program, const char *target,
                      const struct gen_contract *contract)
{
    const struct dialect *dialect = dialect_of(target);
    if (!dialect)
        return false;
    struct text body = text_new(out->arena);
    struct emitter emitter = device_emitter(&body, dialect);
    struct device_file file = {.emitter = &emitter, .part = ir_root(program)};
    device_plain(&file, ir_flatten(out->arena, program), NULL);
    device_finish(&file, out, &body, &(struct device_head){.contract = contract});
    return true;
}
