/*
 * The memory of a plain kernel: every temporary, and every buffer that a stage wants besides, is a
 * piece of the scratch the caller hands in. A part's own pieces stand first; behind them each part
 * it calls has its own, one after the other in the same place. How much that is in all is a size
 * over the symbols of the root, and stands in the manifest.
 */
#include "gen/c/emit.h"

#include <string.h>

enum { PIECE_ALIGN = 64 };

static const struct ir_size *make(struct emitter *emitter, enum ir_size_op op,
                                  const struct ir_size *a, const struct ir_size *b)
{
    return ir_size_make(emitter->arena, op, a, b);
}

static const struct ir_size *constant(struct emitter *emitter, int64_t value)
{
    return ir_size_constant(emitter->arena, value);
}

/* Bytes of so many elements, up to the next boundary. */
static const struct ir_size *piece_bytes(struct emitter *emitter, size_t element,
                                         const struct ir_size *const *dims, int rank)
{
    const struct ir_size *bytes = constant(emitter, (int64_t)element);
    for (int i = 0; i < rank; i++)
        bytes = make(emitter, IR_SIZE_MUL, bytes, dims[i]);
    if (element % PIECE_ALIGN == 0)
        return bytes;
    bytes = make(emitter, IR_SIZE_ADD, bytes, constant(emitter, PIECE_ALIGN - 1));
    bytes = make(emitter, IR_SIZE_DIV, bytes, constant(emitter, PIECE_ALIGN));
    return make(emitter, IR_SIZE_MUL, constant(emitter, PIECE_ALIGN), bytes);
}

static size_t type_bytes(const struct emitter *emitter, const char *type)
{
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        if (strcmp(emit_element(emitter, (enum dtype)dtype), type) == 0)
            return dtype_bytes((enum dtype)dtype);
    }
    return 8;
}

static void add_piece(struct emitter *emitter, const char *name, const char *type,
                      const struct ir_size *const *dims, int rank, const char *count)
{
    size_t element = type_bytes(emitter, type);
    const struct ir_size *elements = constant(emitter, 1);
    for (int i = 0; i < rank; i++)
        elements = make(emitter, IR_SIZE_MUL, elements, dims[i]);
    vector_push(
        emitter->arena, &emitter->pieces,
        (struct piece){.name = name,
                       .type = type,
                       .count = elements,
                       .bytes = strcmp(count, "1") == 0
                                    ? arena_printf(emitter->arena, "%zu", element)
                                    : arena_printf(emitter->arena, "%zu * %s", element, count),
                       .size = piece_bytes(emitter, element, dims, rank)});
}

void emit_scratch_tensor(struct emitter *emitter, int tensor)
{
    const struct ir_tensor *info = &emitter->part->tensors[tensor];
    add_piece(emitter, emitter->tensors[tensor].name, emit_element(emitter, info->dtype),
              info->dims, info->rank, emit_count(emitter, tensor));
}

const char *emit_scratch_like(struct emitter *emitter, int tensor, bool row, const char *type,
                              const char *wanted)
{
    const struct ir_tensor *info = &emitter->part->tensors[tensor];
    const char *name = emit_name_forever(&emitter->names, wanted);
    int from = row ? info->rank - 1 : 0;
    const char *count = row ? emitter->tensors[tensor].dims[from] : emit_count(emitter, tensor);
    add_piece(emitter, name, type, info->dims + from, info->rank - from, count);
    emit_variable(emitter, name, type, EMIT_BUFFER, false);
    return name;
}

void emit_scratch_write(struct emitter *emitter)
{
    for (size_t i = 0; i < emitter->pieces.count; i++) {
        const struct piece *piece = &emitter->pieces.at[i];
        emit_line(emitter, "%s *%s = scratch_take(&scratch, %s);", piece->type, piece->name,
                  piece->bytes);
    }
}

/* ---- how much in all ---- */

/* A size of the callee, said in sizes of the caller. */
static const struct ir_size *substitute(struct emitter *emitter, const struct ir_size *size,
                                        const struct ir_stage *call, const struct ir_size **known)
{
    const struct ir_part *callee = call->callee;
    if (size->op == IR_SIZE_CONSTANT)
        return size;
    if (size->op != IR_SIZE_SYMBOL) {
        const struct ir_size *a = substitute(emitter, size->a, call, known);
        return make(emitter, size->op, a, substitute(emitter, size->b, call, known));
    }
    if (known[size->symbol])
        return known[size->symbol];
    const struct ir_symbol *symbol = &callee->symbols[size->symbol];
    return known[size->symbol] = symbol->kind == IR_SYMBOL_LET
                                     ? substitute(emitter, symbol->definition, call, known)
                                     : call->sizes[size->symbol];
}

static const char *size_text(struct emitter *emitter, const struct ir_size *size)
{
    struct text text = text_new(emitter->arena);
    ir_size_print(&text, size, emitter->part);
    return text.at;
}

struct sizes VECTOR(const struct ir_size *);

/* Joins all from `from` up to `to`, as a tree that is not deeper than it must be. */
static const struct ir_size *join(struct emitter *emitter, enum ir_size_op op,
                                  const struct sizes *sizes, size_t from, size_t to)
{
    if (to - from == 1)
        return sizes->at[from];
    size_t middle = from + (to - from + 1) / 2;
    const struct ir_size *left = join(emitter, op, sizes, from, middle);
    return make(emitter, op, left, join(emitter, op, sizes, middle, to));
}

/* The pieces of this part; equal ones are counted. */
static const struct ir_size *own_size(struct emitter *emitter)
{
    struct map counts = map_new(emitter->arena);
    struct sizes sizes = {0};
    for (size_t i = 0; i < emitter->pieces.count; i++) {
        const char *text = size_text(emitter, emitter->pieces.at[i].size);
        intptr_t count = (intptr_t)map_get(&counts, text);
        if (count == 0)
            vector_push(emitter->arena, &sizes, emitter->pieces.at[i].size);
        map_set(&counts, text, (void *)(count + 1));
    }
    for (size_t i = 0; i < sizes.count; i++) {
        intptr_t count = (intptr_t)map_get(&counts, size_text(emitter, sizes.at[i]));
        sizes.at[i] = make(emitter, IR_SIZE_MUL, constant(emitter, count), sizes.at[i]);
    }
    return sizes.count ? join(emitter, IR_SIZE_ADD, &sizes, 0, sizes.count) : NULL;
}

static void add_calls(struct emitter *emitter, const struct ir_stage *stages, int count,
                      struct map *seen, struct sizes *sizes)
{
    for (int i = 0; i < count; i++) {
        if (stages[i].kind == IR_LOOP)
            add_calls(emitter, stages[i].body, stages[i].body_count, seen, sizes);
        if (stages[i].kind != IR_CALL)
            continue;
        const struct ir_part *callee = stages[i].callee;
        const struct part_plan *plan = emit_part_plan(emitter, callee);
        if (!plan->scratch)
            continue;
        const struct ir_size **known =
            arena_array(emitter->arena, (size_t)callee->symbol_count + 1, sizeof *known);
        const struct ir_size *size = substitute(emitter, plan->scratch, &stages[i], known);
        if (!map_set(seen, size_text(emitter, size), sizes))
            vector_push(emitter->arena, sizes, size);
    }
}

const struct ir_size *emit_scratch_size(struct emitter *emitter)
{
    struct map seen = map_new(emitter->arena);
    struct sizes calls = {0};
    const struct ir_size *own = own_size(emitter);
    add_calls(emitter, emitter->part->stages, emitter->part->stage_count, &seen, &calls);
    if (calls.count == 0)
        return own;
    const struct ir_size *most = join(emitter, IR_SIZE_MAX, &calls, 0, calls.count);
    return own ? make(emitter, IR_SIZE_ADD, own, most) : most;
}
