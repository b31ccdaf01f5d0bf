/*
 * The compiled oracle as text: one C file per program, one function per part, callees first, and an
 * entry that smelt calls. The text is meant to be read: names are the program's, every stage says
 * in the notation of the language what it does.
 *
 * This file writes the program and its parts; stages, values and monoids are written by the other
 * files (see emit.h).
 */
#include <stdarg.h>
#include <string.h>

#include "gen/c/emit.h"

static void emit_indent(struct emitter *emitter)
{
    text_repeat(emitter->out, ' ', 4L * emitter->indent);
}

void emit_blank(struct emitter *emitter)
{
    text_char(emitter->out, '\n');
}

void emit_line(struct emitter *emitter, const char *format, ...)
{
    va_list arguments;
    emit_indent(emitter);
    va_start(arguments, format);
    text_vprintf(emitter->out, format, arguments);
    va_end(arguments);
    text_char(emitter->out, '\n');
}

/* A function's brace stands on its own line, any other at the end of the line. */
void emit_open(struct emitter *emitter, const char *format, ...)
{
    va_list arguments;
    emit_indent(emitter);
    va_start(arguments, format);
    text_vprintf(emitter->out, format, arguments);
    va_end(arguments);
    text_add(emitter->out, emitter->indent == 0 ? "\n{\n" : " {\n");
    emitter->indent++;
}

void emit_block(struct emitter *emitter)
{
    emit_line(emitter, "{");
    emitter->indent++;
}

void emit_close(struct emitter *emitter)
{
    emitter->indent--;
    emit_line(emitter, "}");
}

/* ---- what is read again: an output of the root that is needs a rounded copy beside the exact one
 * ---- */

static void mark_read(const struct ir_stage *stages, int count, bool *read)
{
    for (int i = 0; i < count; i++) {
        const struct ir_stage *stage = &stages[i];
        if (stage->kind == IR_LOOP) {
            mark_read(stage->body, stage->body_count, read);
            for (int c = 0; c < stage->carry_count; c++)
                read[stage->carries[c].next] = true;
        } else if (stage->kind == IR_CALL) {
            for (int c = 0; c < stage->callee->input_count; c++)
                read[stage->inputs[c]] = true;
        } else {
            for (int n = 0; n < stage->nodes.count; n++) {
                if (stage->nodes.at[n].op == IR_READ)
                    read[stage->nodes.at[n].read.tensor] = true;
            }
            if (stage->kind == IR_SCATTER && stage->from != IR_NONE)
                read[stage->from] = true;
        }
    }
}

/* ---- parts ---- */

static bool is_local(const struct ir_tensor *tensor)
{
    return tensor->role == IR_TENSOR_TEMPORARY || tensor->role == IR_TENSOR_STATE;
}

static void name_symbols(struct emitter *emitter)
{
    const struct ir_part *part = emitter->part;
    emitter->symbols =
        arena_array(emitter->arena, (size_t)part->symbol_count + 1, sizeof *emitter->symbols);
    emitter->scalars =
        arena_array(emitter->arena, (size_t)part->scalar_count + 1, sizeof *emitter->scalars);
    emitter->indices =
        arena_array(emitter->arena, (size_t)part->index_count + 1, sizeof *emitter->indices);
    emitter->variables = (struct variables){0};
    emitter->variable_numbers = map_new(emitter->arena);
    for (int i = 0; i < part->symbol_count; i++) {
        emitter->symbols[i] = emit_name(&emitter->names, part->symbols[i].name);
        emit_variable(emitter, emitter->symbols[i], "int64_t", IR_NONE, false);
    }
    for (int i = 0; i < part->scalar_count; i++) {
        emitter->scalars[i] = emit_name(&emitter->names, part->scalars[i].name);
        emit_variable(emitter, emitter->scalars[i], emit_type(part->scalars[i].dtype), IR_NONE,
                      false);
    }
    if (emitter->root)
        emit_variable(emitter, "exact", "int", IR_NONE, false);
}

static void name_tensors(struct emitter *emitter)
{
    const struct ir_part *part = emitter->part;
    bool *read = arena_array(emitter->arena, (size_t)part->tensor_count + 1, sizeof *read);
    emitter->tensors =
        arena_array(emitter->arena, (size_t)part->tensor_count + 1, sizeof *emitter->tensors);
    mark_read(part->stages, part->stage_count, read);
    for (int i = 0; i < part->tensor_count; i++) {
        const struct ir_tensor *tensor = &part->tensors[i];
        struct tensor_plan *plan = &emitter->tensors[i];
        plan->name = plan->reader = emit_name(&emitter->names, tensor->name);
        if (emitter->root && tensor->role == IR_TENSOR_OUTPUT && read[i] && tensor->declared &&
            emit_rounding(tensor->dtype))
            plan->reader =
                emit_name(&emitter->names, arena_printf(emitter->arena, "%s_rounded", plan->name));
        plan->dims = arena_array(emitter->arena, (size_t)tensor->rank + 1, sizeof *plan->dims);
        bool aliased = plan->reader != plan->name;
        emit_variable(emitter, plan->name, emit_type(tensor->dtype), i, aliased);
        if (aliased)
            emit_variable(emitter, plan->reader, emit_type(tensor->dtype), i, aliased);
    }
}

static void emit_signature(struct emitter *emitter, const char *name)
{
    const struct ir_part *part = emitter->part;
    size_t most = (size_t)part->symbol_count + (size_t)part->scalar_count +
                  (size_t)part->input_count + (size_t)part->output_count;
    const char **items = arena_array(emitter->arena, most + 2, sizeof *items);
    int count = 0;
    for (int i = 0; i < part->symbol_count; i++) {
        if (part->symbols[i].kind != IR_SYMBOL_LET)
            items[count++] = arena_printf(emitter->arena, "int64_t %s", emitter->symbols[i]);
    }
    for (int i = 0; i < part->scalar_count; i++)
        items[count++] = arena_printf(emitter->arena, "%s %s", emit_type(part->scalars[i].dtype),
                                      emitter->scalars[i]);
    for (int i = 0; i < part->input_count; i++)
        items[count++] = arena_printf(emitter->arena, "const %s *%s",
                                      emit_type(part->tensors[part->inputs[i]].dtype),
                                      emitter->tensors[part->inputs[i]].name);
    for (int i = 0; i < part->output_count; i++)
        items[count++] =
            arena_printf(emitter->arena, "%s *%s", emit_type(part->tensors[part->outputs[i]].dtype),
                         emitter->tensors[part->outputs[i]].name);
    if (emitter->root)
        items[count++] = "int exact";
    if (count == 0)
        items[count++] = "void";
    emit_list(emitter, arena_printf(emitter->arena, "PART int %s", name), items, count, "");
    emit_block(emitter);
}

/* Every dimension becomes one word: a symbol, a literal, or a name for the expression. */
static void emit_dimensions(struct emitter *emitter)
{
    const struct ir_part *part = emitter->part;
    struct map known = map_new(emitter->arena);
    for (int i = 0; i < part->symbol_count; i++) {
        if (part->symbols[i].kind == IR_SYMBOL_LET)
            emit_line(emitter, "const int64_t %s = %s;", emitter->symbols[i],
                      emit_size(emitter, part->symbols[i].definition).text);
    }
    for (int t = 0; t < part->tensor_count; t++) {
        struct tensor_plan *plan = &emitter->tensors[t];
        for (int d = 0; d < part->tensors[t].rank; d++) {
            const struct ir_size *size = part->tensors[t].dims[d];
            const char *text = emit_size(emitter, size).text;
            bool word = size->op == IR_SIZE_CONSTANT || size->op == IR_SIZE_SYMBOL;
            plan->dims[d] = word ? text : map_get(&known, text);
            if (plan->dims[d])
                continue;
            plan->dims[d] = emit_name(&emitter->names,
                                      arena_printf(emitter->arena, "%s_size_%d", plan->name, d));
            map_set(&known, text, (void *)plan->dims[d]);
            emit_variable(emitter, plan->dims[d], "int64_t", IR_NONE, false);
            emit_line(emitter, "const int64_t %s = %s;", plan->dims[d], text);
        }
    }
}

static void emit_allocations(struct emitter *emitter)
{
    const struct ir_part *part = emitter->part;
    bool any = false;
    emit_line(emitter, "int status = DONE;");
    for (int i = 0; i < part->tensor_count; i++) {
        const struct tensor_plan *plan = &emitter->tensors[i];
        const char *type = emit_type(part->tensors[i].dtype);
        any |= is_local(&part->tensors[i]) || plan->reader != plan->name;
        if (is_local(&part->tensors[i]))
            emit_line(emitter, "%s *%s = tensor_alloc(%s, &status);", type, plan->name,
                      emit_count(emitter, i));
        else if (plan->reader != plan->name)
            emit_line(emitter, "%s *%s = exact ? tensor_alloc(%s, &status) : %s;", type,
                      plan->reader, emit_count(emitter, i), plan->name);
    }
    if (!any)
        return;
    emit_line(emitter, "if (status != DONE)");
    emit_line(emitter, "    goto finish;");
}

static void emit_frees(struct emitter *emitter)
{
    const struct ir_part *part = emitter->part;
    for (int i = 0; i < part->tensor_count; i++) {
        const struct tensor_plan *plan = &emitter->tensors[i];
        if (is_local(&part->tensors[i])) {
            emit_line(emitter, "free(%s);", plan->name);
        } else if (plan->reader != plan->name) {
            emit_line(emitter, "if (exact)");
            emit_line(emitter, "    free(%s);", plan->reader);
        }
    }
}

static void emit_part(struct emitter *emitter, const struct ir_part *part, const char *name)
{
    size_t mark = emitter->names.stack.count;
    emitter->part = part;
    emitter->root = part == ir_root(emitter->program);
    name_symbols(emitter);
    name_tensors(emitter);
    struct text body = text_new(emitter->arena);
    struct text *file = emitter->out;
    emitter->functions = text_new(emitter->arena);
    emitter->out = &body;
    emit_blank(emitter);
    emit_signature(emitter, name);
    emit_dimensions(emitter);
    emit_allocations(emitter);
    emit_blank(emitter);
    emit_stages(emitter, part->stages, part->stage_count);
    emit_blank(emitter);
    text_add(emitter->out, "finish:\n");
    emit_frees(emitter);
    emit_line(emitter, "return status;");
    emit_close(emitter);
    emitter->out = file;
    text_add_bytes(file, emitter->functions.at, emitter->functions.length);
    text_add_bytes(file, body.at, body.length);
    emit_names_free(&emitter->names, mark);
}

/* What smelt calls: the sizes include lets, scalars are doubles, tensors in order of the signature.
 */
static void emit_entry(struct emitter *emitter, const struct ir_part *root, const char *name)
{
    static const char *const PARAMETERS[] = {"const int64_t *sizes", "const double *scalars",
                                             "const void *const *inputs", "void *const *outputs",
                                             "int exact"};
    struct arena *arena = emitter->arena;
    size_t most = (size_t)root->symbol_count + (size_t)root->scalar_count +
                  (size_t)root->input_count + (size_t)root->output_count;
    const char **items = arena_array(arena, most + 1, sizeof *items);
    int count = 0;
    for (int i = 0; i < root->symbol_count; i++) {
        if (root->symbols[i].kind != IR_SYMBOL_LET)
            items[count++] = arena_printf(arena, "sizes[%d]", i);
    }
    for (int i = 0; i < root->scalar_count; i++)
        items[count++] = arena_printf(arena, "scalars[%d]%s", i,
                                      dtype_is_float(root->scalars[i].dtype) ? "" : " != 0.0");
    for (int i = 0; i < root->input_count; i++)
        items[count++] = arena_printf(arena, "inputs[%d]", i);
    for (int i = 0; i < root->output_count; i++)
        items[count++] = arena_printf(arena, "outputs[%d]", i);
    items[count++] = "exact";
    emit_blank(emitter);
    emit_list(emitter, "int smelt_oracle", PARAMETERS, 5, "");
    emit_block(emitter);
    emit_line(emitter, "(void)sizes, (void)scalars, (void)inputs, (void)outputs;");
    emit_list(emitter, arena_printf(arena, "return %s", name), items, count, ";");
    emit_close(emitter);
}

void gen_plain_c(struct text *out, const struct ir_program *program, enum gen_form form)
{
    (void)form;
    struct emitter emitter = {
        .arena = out->arena,
        .out = out,
        .names = emit_names_new(out->arena),
        .program = program,
        .monoids = map_new(out->arena),
        .parts = map_new(out->arena),
    };
    for (int i = 0; i < program->part_count; i++) {
        const struct ir_part *part = program->parts[i];
        const char *name =
            emit_name(&emitter.names, arena_printf(out->arena, "part_%s", part->name));
        map_set_bytes(&emitter.parts, &part, sizeof part, (void *)name);
    }
    const struct ir_part *root = ir_root(program);
    const char *root_name = map_get_bytes(&emitter.parts, &root, sizeof root);
    text_printf(out,
                "/*\n"
                " * %s in double precision, as smelt's oracle computes it. Written by smelt.\n"
                " *\n"
                " * Elements are double, or int64_t for integers and bool. Compile with -fwrapv,\n"
                " * -ffp-contract=off and -fno-builtin: the bits of the result depend on it.\n"
                " */\n",
                root_name);
    for (const char *const *piece = emit_prelude; *piece; piece++)
        text_add(out, *piece);
    emit_monoids(&emitter);
    for (int i = 0; i < program->part_count; i++) {
        const struct ir_part *part = program->parts[i];
        emit_part(&emitter, part, map_get_bytes(&emitter.parts, &part, sizeof part));
    }
    emit_entry(&emitter, root, root_name);
}
