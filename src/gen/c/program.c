/*
 * A program as text: one C file, one function per part, callees first, and an entry that smelt
 * calls. The text is meant to be read: names are the program's, every stage says in the notation of
 * the language what it does.
 *
 * This file writes lines, the entry and the file as a whole; the rest is written by the other files
 * (see emit.h).
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

/* ---- the entry: the sizes include lets, scalars are doubles ---- */

static int entry_arguments(struct emitter *emitter, const struct ir_part *root, const char **items)
{
    struct arena *arena = emitter->arena;
    bool plain = emitter->form == GEN_PLAIN;
    int count = 0;
    for (int i = 0; i < root->symbol_count; i++) {
        if (root->symbols[i].kind != IR_SYMBOL_LET)
            items[count++] = arena_printf(arena, "sizes[%d]", i);
    }
    for (int i = 0; i < root->scalar_count; i++) {
        bool number = dtype_is_float(root->scalars[i].dtype);
        bool single = number && strcmp(emit_type(emitter, root->scalars[i].dtype), "float") == 0;
        items[count++] = arena_printf(arena, "%sscalars[%d]%s", single ? "(float)" : "", i,
                                      number ? "" : " != 0.0");
    }
    for (int i = 0; i < root->input_count; i++)
        items[count++] = arena_printf(arena, "%s[%d]", plain ? "tensors" : "inputs", i);
    for (int i = 0; i < root->output_count; i++)
        items[count++] = arena_printf(arena, "%s[%d]", plain ? "tensors" : "outputs",
                                      plain ? root->input_count + i : i);
    return count;
}

static const char **entry_items(struct emitter *emitter, const struct ir_part *root)
{
    size_t most = (size_t)root->symbol_count + (size_t)root->scalar_count +
                  (size_t)root->input_count + (size_t)root->output_count;
    return arena_array(emitter->arena, most + 2, sizeof(char *));
}

/* What src/oracle/compile.c calls: tensors in order of the signature. */
static void emit_reference_entry(struct emitter *emitter, const struct ir_part *root)
{
    static const char *const PARAMETERS[] = {"const int64_t *sizes", "const double *scalars",
                                             "const void *const *inputs", "void *const *outputs",
                                             "int exact"};
    const char **items = entry_items(emitter, root);
    int count = entry_arguments(emitter, root, items);
    const char *name = emit_part_plan(emitter, root)->name;
    items[count++] = "exact";
    emit_blank(emitter);
    emit_list(emitter, arena_printf(emitter->arena, "int %s", emitter->entry), PARAMETERS, 5, "");
    emit_block(emitter);
    emit_line(emitter, "(void)sizes, (void)scalars, (void)inputs, (void)outputs;");
    emit_list(emitter, arena_printf(emitter->arena, "return %s", name), items, count, ";");
    emit_close(emitter);
}

/* What src/kernel/kernel.h asks for. */
static void emit_kernel_entry(struct emitter *emitter, const struct ir_part *root)
{
    const struct part_plan *plan = emit_part_plan(emitter, root);
    const char **items = entry_items(emitter, root);
    int count = entry_arguments(emitter, root, items);
    struct text unused = text_new(emitter->arena);
    if (root->input_count + root->output_count == 0)
        text_add(&unused, "(void)tensors, ");
    if (root->symbol_count == 0)
        text_add(&unused, "(void)sizes, ");
    if (root->scalar_count == 0)
        text_add(&unused, "(void)scalars, ");
    if (plan->scratch)
        items[count++] = "scratch";
    else
        text_add(&unused, "(void)scratch, ");
    emit_blank(emitter);
    emit_line(emitter, "int kernel(void *const *tensors, const int64_t *sizes, "
                       "const double *scalars, void *scratch)");
    emit_block(emitter);
    if (unused.length) {
        text_truncate(&unused, unused.length - 2);
        emit_line(emitter, "%s;", unused.at);
    }
    if (plan->fails) {
        emit_list(emitter, arena_printf(emitter->arena, "return %s", plan->name), items, count,
                  ";");
    } else {
        emit_list(emitter, plan->name, items, count, ";");
        emit_line(emitter, "return 0;");
    }
    emit_close(emitter);
}

/* ---- the file ---- */

enum { MANY_STAGES = 200 }; /* of a program: then compilers are told to take it easy */

static int count_stages(const struct ir_program *program)
{
    int count = 0;
    for (int i = 0; i < program->part_count; i++)
        count += program->parts[i]->stage_count;
    return count;
}

static void name_parts(struct emitter *emitter)
{
    bool plain = emitter->form == GEN_PLAIN;
    for (int i = 0; i < emitter->program->part_count; i++) {
        const struct ir_part *part = emitter->program->parts[i];
        struct part_plan *plan = arena_new(emitter->arena, struct part_plan);
        plan->name = emit_name(&emitter->names, arena_printf(emitter->arena, "%s%s",
                                                             plain ? "op_" : "part_", part->name));
        plan->fails = !plain;
        map_set_bytes(&emitter->parts, &part, sizeof part, plan);
    }
}

void emit_parts(struct emitter *emitter)
{
    name_parts(emitter);
    emit_monoids(emitter);
    for (int i = 0; i < emitter->program->part_count; i++)
        emit_part(emitter, emitter->program->parts[i]);
}

/* Everything but what stands in front. */
static void emit_program(struct emitter *emitter)
{
    const struct ir_part *root = ir_root(emitter->program);
    emit_parts(emitter);
    if (emitter->form == GEN_PLAIN)
        emit_kernel_entry(emitter, root);
    else
        emit_reference_entry(emitter, root);
}

static const char REFERENCE_HEAD[] =
    "/*\n"
    " * %s in double precision, as smelt's oracle computes it. Written by smelt.\n"
    " *\n"
    " * Elements are double, or int64_t for integers and bool. Compile with -fwrapv,\n"
    " * -ffp-contract=off and -fno-builtin: the bits of the result depend on it.\n"
    " */\n";

struct emitter emit_new(struct text *body, enum gen_form form, bool big)
{
    return (struct emitter){
        .form = form,
        .part_start = big ? "PART" : "static",
        .stage_start = big ? "STAGE" : "static",
        .entry = "smelt_oracle",
        .arena = body->arena,
        .out = body,
        .names = emit_names_new(body->arena),
        .monoids = map_new(body->arena),
        .parts = map_new(body->arena),
    };
}

static void gen_c(struct text *out, const struct ir_program *program, enum gen_form form,
                  const struct gen_contract *contract)
{
    struct text body = text_new(out->arena);
    bool big = form == GEN_REFERENCE || count_stages(program) > MANY_STAGES;
    struct emitter emitter = emit_new(&body, form, big);
    emitter.program = program;
    emit_program(&emitter);
    if (form == GEN_PLAIN)
        emit_contract(&emitter, out, contract);
    else
        text_printf(out, REFERENCE_HEAD, ir_root(program)->name);
    emit_prelude(&emitter, out, &body);
    text_add_bytes(out, body.at, body.length);
}

void gen_references_c(struct text *out, const struct ir_program *const *programs, int count)
{
    struct text body = text_new(out->arena);
    struct emitter emitter = emit_new(&body, GEN_REFERENCE, true);
    for (int i = 0; i < count; i++) {
        emitter.program = programs[i];
        emitter.entry = arena_printf(out->arena, "smelt_oracle_%d", i);
        emit_program(&emitter);
    }
    text_printf(out, REFERENCE_HEAD, arena_printf(out->arena, "%d programs", count));
    emit_prelude(&emitter, out, &body);
    text_add_bytes(out, body.at, body.length);
}

void gen_plain_c(struct text *out, const struct ir_program *program, enum gen_form form)
{
    gen_c(out, program, form, &(struct gen_contract){0});
}

void gen_kernel_c(struct text *out, const struct ir_program *program,
                  const struct gen_contract *contract)
{
    gen_c(out, program, GEN_PLAIN, contract);
}
