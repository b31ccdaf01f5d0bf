/*
 * Fuzzes the text form of programs. What is accepted must print, read back, and print the same; it
 * is also folded and counted, since whatever was accepted must be safe to work with.
 */
#include <stdint.h>
#include <string.h>

#include "ir/ir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct ir_program *parse(struct arena *arena, const char *text, size_t length)
{
    struct source *source = arena_new(arena, struct source);
    struct error error = {0};

    *source = (struct source){"input", arena_copy(arena, text, length), length};
    const struct ir_program *program = ir_parse(arena, source, &error);
    if (!program) { /* a reason, at a place that is there */
        if (!error.message[0] || error.place.offset + error.place.length > length)
            __builtin_trap();
        struct text out = text_new(arena);
        error_render(&out, &error, false);
    }
    return program;
}

static void fold(struct arena *arena, const struct ir_part *part, const struct ir_nodes *nodes,
                 int params)
{
    int64_t *sizes = arena_array(arena, (size_t)part->symbol_count + 1, sizeof *sizes);
    double *scalars = arena_array(arena, (size_t)part->scalar_count + 1, sizeof *scalars);
    struct ir_value *values = arena_array(arena, (size_t)nodes->count + 1, sizeof *values);
    struct ir_value *given = arena_array(arena, (size_t)params + 1, sizeof *given);
    struct ir_binding binding = {part, sizes, scalars};

    for (int i = 0; i < part->symbol_count; i++)
        sizes[i] = i - 2;
    ir_fold(nodes, &binding, given, values);
}

static void fold_stages(struct arena *arena, const struct ir_part *part,
                        const struct ir_stage *stages, int count)
{
    for (int i = 0; i < count; i++) {
        const struct ir_monoid *monoid = stages[i].monoid;
        if (monoid && monoid->kind == IR_USER)
            fold(arena, part, &monoid->nodes, 2 * monoid->width);
        if (stages[i].kind == IR_CALL)
            fold(arena, part, &stages[i].nodes, 0);
        fold_stages(arena, part, stages[i].body, stages[i].body_count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    const struct ir_program *program = parse(&arena, (const char *)data, size);

    if (program) {
        struct text once = text_new(&arena), twice = text_new(&arena);
        ir_print(&once, program);
        const struct ir_program *again = parse(&arena, once.at, once.length);
        if (!again)
            __builtin_trap();
        ir_print(&twice, again);
        if (strcmp(once.at, twice.at) != 0)
            __builtin_trap();
        for (int i = 0; i < program->part_count; i++)
            fold_stages(&arena, program->parts[i], program->parts[i]->stages,
                        program->parts[i]->stage_count);
        struct ir_instances instances = {0};
        ir_list_instances(&arena, program, &instances);
    }
    arena_release(&arena);
    return 0;
}
