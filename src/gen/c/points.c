/*
 * Single points of a program as C: the backward slice. Every tensor of every part is a place where
 * elements can be asked for; what is not known yet is computed by the stage that writes it, at the
 * one point that does (points_find.c), and what that reads is asked for in turn. The functions of
 * stages are those of the whole program, without their outer loops.
 *
 * Programs with loops over stages or scatters, and left sides that cannot be turned round, have no
 * such form; gen_points_c says so.
 */
#include <string.h>

#include "gen/c/emit.h"

/* ---- elements ---- */

static bool is_number(const struct emitter *emitter, int tensor)
{
    return dtype_is_float(emitter->part->tensors[tensor].dtype);
}

/* What a value of this type is computed in is narrower than what is kept. */
static const char *narrowing(const struct emitter *emitter, enum dtype type)
{
    return strcmp(emit_type(emitter, type), "float") == 0 ? "(float)" : "";
}

struct expression emit_fetch(struct emitter *emitter, int tensor, const char *offset)
{
    enum dtype type = emitter->part->tensors[tensor].dtype;
    const char *name = emitter->tensors[tensor].name;
    if (is_number(emitter, tensor))
        return emit_format(emitter, BINDS_UNARY, "%sfetch_number(%s, %s)", narrowing(emitter, type),
                           name, offset);
    return emit_format(emitter, BINDS_ATOM, "fetch_integer(%s, %s)", name, offset);
}

/* The value as the tensor keeps it, still a number in C. */
static const char *rounded_value(struct emitter *emitter, int tensor, const char *value,
                                 enum dtype of)
{
    const struct ir_tensor *info = &emitter->part->tensors[tensor];
    if (!info->declared)
        return value;
    const char *kept = emit_keep(emitter, info->dtype, value, of);
    return emit_is_coded(emitter, info->dtype) ? emit_load(emitter, info->dtype, kept).text : kept;
}

void emit_put(struct emitter *emitter, int tensor, const char *offset, const char *value,
              enum dtype of)
{
    const char *name = emitter->tensors[tensor].name;
    if (!is_number(emitter, tensor)) {
        emit_line(emitter, "put_integer(%s, %s, %s);", name, offset,
                  rounded_value(emitter, tensor, value, of));
        return;
    }
    const char *whole = emit_name(&emitter->names, "value");
    emit_line(emitter, "const %s %s = %s;", emit_type(emitter, of), whole, value);
    emit_line(emitter, "put_number(%s, %s, %s, %s);", name, offset,
              rounded_value(emitter, tensor, whole, of), whole);
}

/* ---- functions ---- */

/* What a function's body mentions of its part, as its own variables. */
static void write_locals(struct emitter *emitter, const struct text *body)
{
    struct map words = emit_words(emitter->arena, body);
    for (size_t i = 0; i < emitter->variables.count; i++) {
        const struct variable *variable = &emitter->variables.at[i];
        if (!map_has(&words, variable->name) || strcmp(variable->name, "exact") == 0)
            continue;
        if (variable->tensor >= 0)
            emit_line(emitter, "struct tensor *const %s = part->%s;", variable->name,
                      variable->name);
        else
            emit_line(emitter, "const %s %s = part->%s;", variable->type, variable->name,
                      variable->name);
    }
}

/* A function whose body was written to a text of its own. */
static void write_function(struct emitter *emitter, const char *head, const char *first,
                           const struct text *body)
{
    emitter->indent = 0;
    emit_blank(emitter);
    emit_line(emitter, "%s", head);
    emit_block(emitter);
    if (first)
        emit_line(emitter, "%s", first);
    write_locals(emitter, body);
    text_add_bytes(emitter->out, body->at, body->length);
    emit_close(emitter);
}

static const char *part_name(const struct emitter *emitter, const struct ir_part *part)
{
    return emit_part_plan(emitter, part)->name;
}

/* Of the part being written; emitter->part may be a widened copy of it. */
static const char *own_name(const struct emitter *emitter)
{
    return part_name(emitter, emitter->current);
}

/* ---- stages ---- */

/* The stage at given left indices; returns the function's name. */
static const char *write_at(struct emitter *emitter, const struct ir_stage *stage)
{
    struct text body = text_new(emitter->arena), head = text_new(emitter->arena);
    struct text *out = emitter->out;
    const char *tensor = emitter->part->tensors[stage->writes[0].tensor].name;
    const char *name = emit_name_forever(
        &emitter->names, arena_printf(emitter->arena, "%s_%s_at", emitter->part->name, tensor));
    emitter->out = &body;
    emitter->indent = 1;
    emitter->given = stage->kind == IR_SCAN ? stage->left_count - 1 : stage->left_count;
    emitter->given_names =
        arena_array(emitter->arena, (size_t)emitter->given + 1, sizeof *emitter->given_names);
    if (stage->kind == IR_MAP)
        emit_map(emitter, stage);
    else if (stage->kind == IR_REDUCE)
        emit_reduce(emitter, stage);
    else
        emit_scan(emitter, stage);
    emitter->out = out;
    text_printf(&head, "static void %s(const struct %s *part", name, own_name(emitter));
    for (int i = 0; i < emitter->given; i++)
        text_printf(&head, ", int64_t %s", emitter->given_names[i]);
    text_char(&head, ')');
    emit_blank(emitter);
    emitter->indent = 0;
    emit_line(emitter, "/* %s */", emitter->comment);
    write_function(emitter, head.at, NULL, &body);
    emitter->given = 0;
    return name;
}

/* Finds the point that writes the element, and evaluates the stage there. */
static const char *write_find(struct emitter *emitter, const struct ir_stage *stage, int write,
                              const char *at)
{
    struct text body = text_new(emitter->arena), call = text_new(emitter->arena);
    struct text *out = emitter->out;
    const char *tensor = emitter->part->tensors[stage->writes[write].tensor].name;
    const char *name = emit_name_forever(
        &emitter->names, arena_printf(emitter->arena, "%s_%s_find", emitter->part->name, tensor));
    emitter->out = &body;
    emitter->indent = 1;
    emit_find(emitter, stage, write);
    text_printf(&call, "%s(part", at);
    for (int i = 0; i < stage->left_count; i++)
        if (stage->kind != IR_SCAN || stage->indices[i] != stage->along)
            text_printf(&call, ", left_%d", i);
    emit_line(emitter, "%s);", call.at);
    emit_line(emitter, "return true;");
    emitter->out = out;
    write_function(emitter,
                   arena_printf(emitter->arena,
                                "static bool %s(const struct %s *part, int64_t place)", name,
                                own_name(emitter)),
                   NULL, &body);
    return name;
}

/* ---- calls ---- */

static void write_opening(struct emitter *emitter, const struct ir_stage *stage, int number)
{
    const struct ir_part *callee = stage->callee;
    size_t mark = emit_stage_start(emitter, stage);
    for (int i = 0; i < callee->scalar_count; i++)
        emit_place_use(emitter, stage->scalars[i], 0, 1);
    emit_place_finish(emitter);
    emit_place_write(emitter, 0);
    size_t most =
        (size_t)callee->symbol_count + (size_t)callee->scalar_count + (size_t)callee->input_count;
    const char **items = arena_array(emitter->arena, most + 1, sizeof *items);
    int count = 0;
    for (int i = 0; i < callee->symbol_count; i++)
        if (callee->symbols[i].kind != IR_SYMBOL_LET)
            items[count++] = emit_size(emitter, stage->sizes[i]).text;
    for (int i = 0; i < callee->scalar_count; i++)
        items[count++] = emit_text(emitter, stage->scalars[i]);
    for (int i = 0; i < callee->input_count; i++)
        items[count++] = emitter->tensors[stage->inputs[i]].name;
    emit_list(emitter,
              arena_printf(emitter->arena, "part->called_%d = %s_open", number,
                           part_name(emitter, callee)),
              items, count, ";");
    emit_stage_end(emitter, mark);
}

/* An output of a call: asked of the callee, which is entered when first needed. */
static void write_called(struct emitter *emitter, const struct ir_stage *stage, int number,
                         int output, const char *name)
{
    struct text body = text_new(emitter->arena);
    struct text *out = emitter->out;
    const struct ir_part *callee = stage->callee;
    int tensor = stage->outputs[output];
    enum dtype type = callee->tensors[callee->outputs[output]].dtype, of = dtype_compute(type);
    emitter->out = &body;
    emitter->indent = 1;
    emit_open(emitter, "if (!part->called_%d)", number);
    write_opening(emitter, stage, number);
    emit_close(emitter);
    emit_line(emitter, "if (!part->called_%d)", number);
    emit_line(emitter, "    return;");
    const char *value =
        arena_printf(emitter->arena, "%sfetch_%s(part->called_%d->outputs[%d], place)",
                     dtype_is_float(type) ? narrowing(emitter, of) : "",
                     dtype_is_float(type) ? "number" : "integer", number, output);
    size_t mark = emitter->names.stack.count;
    emit_put(emitter, tensor, "place", value, of);
    emit_names_free(&emitter->names, mark);
    emitter->out = out;
    write_function(
        emitter,
        arena_printf(emitter->arena, "static void %s(void *instance, int64_t place)", name),
        arena_printf(emitter->arena, "struct %s *part = instance;", own_name(emitter)), &body);
}

/* ---- parts ---- */

struct finders VECTOR(const char *);

struct tensor_functions { /* of one tensor */
    struct finders finders;
    const char *compute; /* NULL: it is an input */
};

static void write_struct(struct emitter *emitter)
{
    const struct ir_part *part = emitter->part;
    emit_blank(emitter);
    emit_line(emitter, "struct %s {", own_name(emitter));
    emitter->indent = 1;
    for (size_t i = 0; i < emitter->variables.count; i++) {
        const struct variable *variable = &emitter->variables.at[i];
        if (strcmp(variable->name, "exact") == 0)
            continue;
        if (variable->tensor >= 0)
            emit_line(emitter, "struct tensor *%s;", variable->name);
        else
            emit_line(emitter, "%s %s;", variable->type, variable->name);
    }
    for (int s = 0; s < part->stage_count; s++)
        if (part->stages[s].kind == IR_CALL)
            emit_line(emitter, "struct %s *called_%d;", part_name(emitter, part->stages[s].callee),
                      s);
    emit_line(emitter, "struct tensor *outputs[%d];", part->output_count + 1);
    emitter->indent = 0;
    emit_line(emitter, "};");
}

/* All functions of the part's tensors. */
static struct tensor_functions *write_tensors(struct emitter *emitter)
{
    const struct ir_part *part = emitter->part;
    struct tensor_functions *all =
        arena_array(emitter->arena, (size_t)part->tensor_count + 1, sizeof *all);
    for (int s = 0; s < part->stage_count; s++) {
        const struct ir_stage *stage = &part->stages[s];
        if (stage->kind == IR_CALL) {
            for (int o = 0; o < stage->callee->output_count; o++) {
                struct tensor_functions *own = &all[stage->outputs[o]];
                own->compute = emit_name_forever(
                    &emitter->names, arena_printf(emitter->arena, "%s_%s_called", part->name,
                                                  part->tensors[stage->outputs[o]].name));
                write_called(emitter, stage, s, o, own->compute);
            }
            continue;
        }
        const char *at = write_at(emitter, stage);
        for (int w = 0; w < stage->write_count; w++)
            vector_push(emitter->arena, &all[stage->writes[w].tensor].finders,
                        write_find(emitter, stage, w, at));
    }
    return all;
}

/* Asks one stage after the other whether it writes the element. */
static void write_computes(struct emitter *emitter, struct tensor_functions *all)
{
    const struct ir_part *part = emitter->part;
    for (int t = 0; t < part->tensor_count; t++) {
        if (all[t].compute || part->tensors[t].role == IR_TENSOR_INPUT)
            continue;
        all[t].compute =
            emit_name_forever(&emitter->names, arena_printf(emitter->arena, "%s_%s_compute",
                                                            part->name, part->tensors[t].name));
        emit_blank(emitter);
        emit_line(emitter, "static void %s(void *instance, int64_t place)", all[t].compute);
        emit_block(emitter);
        emit_line(emitter, "const struct %s *part = instance;", own_name(emitter));
        struct text list = text_new(emitter->arena);
        for (size_t f = 0; f < all[t].finders.count; f++)
            text_printf(&list, "%s%s(part, place)", f ? " || " : "", all[t].finders.at[f]);
        emit_line(emitter, "(void)part, (void)place%s%s%s;", list.length ? ", (void)(" : "",
                  list.at ? list.at : "", list.length ? ")" : "");
        emit_close(emitter);
    }
}

static void write_open(struct emitter *emitter, const struct definitions *definitions,
                       const struct tensor_functions *all)
{
    const struct ir_part *part = emitter->part;
    struct arena *arena = emitter->arena;
    const char *name = own_name(emitter);
    size_t most =
        (size_t)part->symbol_count + (size_t)part->scalar_count + (size_t)part->input_count + 1;
    const char **items = arena_array(arena, most, sizeof *items);
    int count = 0;
    for (int i = 0; i < part->symbol_count; i++)
        if (part->symbols[i].kind != IR_SYMBOL_LET)
            items[count++] = arena_printf(arena, "int64_t %s", emitter->symbols[i]);
    for (int i = 0; i < part->scalar_count; i++)
        items[count++] = arena_printf(arena, "%s %s", emit_type(emitter, part->scalars[i].dtype),
                                      emitter->scalars[i]);
    for (int i = 0; i < part->input_count; i++)
        items[count++] =
            arena_printf(arena, "struct tensor *%s", emitter->tensors[part->inputs[i]].name);
    if (count == 0)
        items[count++] = "void";
    emit_blank(emitter);
    emit_list(emitter, arena_printf(arena, "static struct %s *%s_open", name, name), items, count,
              "");
    emit_block(emitter);
    emit_line(emitter, "struct %s *part = room_take(sizeof *part);", name);
    emit_line(emitter, "if (!part)");
    emit_line(emitter, "    return NULL;");
    for (size_t i = 0; i < definitions->count; i++)
        emit_line(emitter, "const int64_t %s = %s;", definitions->at[i].name,
                  definitions->at[i].text);
    for (size_t i = 0; i < emitter->variables.count; i++) {
        const struct variable *variable = &emitter->variables.at[i];
        bool computed = variable->tensor >= 0 && all[variable->tensor].compute;
        if (strcmp(variable->name, "exact") == 0)
            continue;
        if (computed)
            emit_line(emitter, "part->%s = tensor_new(part, %s, %s);", variable->name,
                      all[variable->tensor].compute, emit_count(emitter, variable->tensor));
        else
            emit_line(emitter, "part->%s = %s;", variable->name, variable->name);
    }
    for (int i = 0; i < part->output_count; i++)
        emit_line(emitter, "part->outputs[%d] = part->%s;", i,
                  emitter->tensors[part->outputs[i]].name);
    emit_line(emitter, "return failed ? NULL : part;");
    emit_close(emitter);
}

static void write_part(struct emitter *emitter, const struct ir_part *part)
{
    size_t mark = emitter->names.stack.count;
    emitter->current = part;
    struct definitions definitions = emit_part_start(emitter, part);
    write_struct(emitter);
    struct tensor_functions *all = write_tensors(emitter);
    emitter->indent = 0;
    write_computes(emitter, all);
    write_open(emitter, &definitions, all);
    emit_names_free(&emitter->names, mark);
}

/* ---- the file ---- */

static void write_entry(struct emitter *emitter, const struct ir_part *root)
{
    static const char *const PARAMETERS[] = {"const int64_t *sizes",
                                             "const double *scalars",
                                             "const void *const *inputs",
                                             "int64_t count",
                                             "const int *which",
                                             "const int64_t *places",
                                             "void *values",
                                             "int exact",
                                             "double unit",
                                             "uint64_t seed",
                                             "int64_t memory"};
    struct arena *arena = emitter->arena;
    size_t most =
        (size_t)root->symbol_count + (size_t)root->scalar_count + (size_t)root->input_count + 1;
    const char **items = arena_array(arena, most, sizeof *items);
    int count = 0;
    for (int i = 0; i < root->symbol_count; i++)
        if (root->symbols[i].kind != IR_SYMBOL_LET)
            items[count++] = arena_printf(arena, "sizes[%d]", i);
    for (int i = 0; i < root->scalar_count; i++) {
        bool number = dtype_is_float(root->scalars[i].dtype);
        items[count++] = arena_printf(arena, "%sscalars[%d]%s",
                                      number ? narrowing(emitter, root->scalars[i].dtype) : "", i,
                                      number ? "" : " != 0.0");
    }
    for (int i = 0; i < root->input_count; i++)
        items[count++] = arena_printf(arena, "input_new(load_%s, inputs[%d], unit, seed + %d)",
                                      dtype_name(root->tensors[root->inputs[i]].dtype), i, i);
    emit_blank(emitter);
    emit_list(emitter, "int smelt_points", PARAMETERS, 11, "");
    emit_block(emitter);
    emit_line(emitter, "(void)sizes, (void)scalars, (void)inputs, (void)unit, (void)seed;");
    emit_line(emitter, "memory_left = memory;");
    emit_line(emitter, "failed = depth = 0;");
    emit_list(emitter,
              arena_printf(arena, "struct %s *part = %s_open", part_name(emitter, root),
                           part_name(emitter, root)),
              items, count, ";");
    emit_line(emitter, "if (part)");
    emit_line(emitter, "    answer(part->outputs, count, which, places, values, exact);");
    emit_line(emitter, "room_release();");
    emit_line(emitter, "return failed;");
    emit_close(emitter);
}

static bool stage_possible(struct emitter *emitter, const struct ir_stage *stage)
{
    if (stage->kind == IR_CALL)
        return true;
    if (stage->kind == IR_LOOP || stage->kind == IR_SCATTER)
        return false;
    for (int w = 0; w < stage->write_count; w++)
        if (!emit_find_possible(emitter, stage, w))
            return false;
    return true;
}

static bool program_possible(struct emitter *emitter)
{
    bool possible = true;
    for (int p = 0; possible && p < emitter->program->part_count; p++) {
        const struct ir_part *part = emitter->program->parts[p];
        size_t mark = emitter->names.stack.count;
        emit_part_start(emitter, part);
        for (int s = 0; possible && s < part->stage_count; s++)
            possible = stage_possible(emitter, &part->stages[s]);
        emit_names_free(&emitter->names, mark);
    }
    return possible;
}

bool gen_points_c(struct text *out, const struct ir_program *program, enum gen_form form)
{
    struct text body = text_new(out->arena);
    struct emitter emitter = {.form = form,
                              .points = true,
                              .part_start = "static",
                              .stage_start = "static",
                              .arena = out->arena,
                              .out = &body,
                              .names = emit_names_new(out->arena),
                              .monoids = map_new(out->arena),
                              .parts = map_new(out->arena),
                              .program = program};
    for (const char *const *name = emit_points_names; *name; name++)
        emit_name_forever(&emitter.names, *name);
    for (int i = 0; i < program->part_count; i++) {
        const struct ir_part *part = program->parts[i];
        struct part_plan *plan = arena_new(out->arena, struct part_plan);
        plan->name =
            emit_name_forever(&emitter.names, arena_printf(out->arena, "part_%s", part->name));
        map_set_bytes(&emitter.parts, &part, sizeof part, plan);
    }
    if (!program_possible(&emitter))
        return false;
    for (const char *const *piece = emit_points_runtime; *piece; piece++)
        text_add(&body, *piece);
    emit_monoids(&emitter);
    for (int i = 0; i < program->part_count; i++)
        write_part(&emitter, program->parts[i]);
    write_entry(&emitter, ir_root(program));
    text_printf(out, "/* Single points of %s. Written by smelt. */\n", ir_root(program)->name);
    emit_prelude(&emitter, out, &body);
    text_add_bytes(out, body.at, body.length);
    return true;
}
