/*
 * A part as a C function: its sizes, its memory, and calls of the functions its stages became.
 */
#include "gen/c/emit.h"

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
        emit_variable(emitter, emitter->scalars[i], emit_type(emitter, part->scalars[i].dtype),
                      IR_NONE, false);
    }
    if (emitter->root && emitter->form == GEN_REFERENCE)
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
        if (emitter->form == GEN_REFERENCE && !emitter->points && emitter->root &&
            tensor->role == IR_TENSOR_OUTPUT && read[i] && tensor->declared &&
            emit_rounding(tensor->dtype))
            plan->reader =
                emit_name(&emitter->names, arena_printf(emitter->arena, "%s_rounded", plan->name));
        plan->dims = arena_array(emitter->arena, (size_t)tensor->rank + 1, sizeof *plan->dims);
        bool aliased = plan->reader != plan->name;
        emit_variable(emitter, plan->name, emit_element(emitter, tensor->dtype), i, aliased);
        if (aliased)
            emit_variable(emitter, plan->reader, emit_element(emitter, tensor->dtype), i, aliased);
    }
}

struct parameters { /* of a part: their names, and with their types */
    const char **names, **items;
    int count;
};

static void add_parameter(struct emitter *emitter, struct parameters *all, const char *type,
                          const char *name)
{
    all->names[all->count] = name;
    all->items[all->count++] = arena_printf(emitter->arena, "%s%s", type, name);
}

static struct parameters part_parameters(struct emitter *emitter, bool scratch)
{
    const struct ir_part *part = emitter->part;
    size_t most = (size_t)part->symbol_count + (size_t)part->scalar_count +
                  (size_t)part->input_count + (size_t)part->output_count + 2;
    struct parameters all = {.names = arena_array(emitter->arena, most, sizeof *all.names),
                             .items = arena_array(emitter->arena, most, sizeof *all.items)};
    for (int i = 0; i < part->symbol_count; i++) {
        if (part->symbols[i].kind != IR_SYMBOL_LET)
            add_parameter(emitter, &all, "int64_t ", emitter->symbols[i]);
    }
    for (int i = 0; i < part->scalar_count; i++) {
        const char *type = emit_type(emitter, part->scalars[i].dtype);
        add_parameter(emitter, &all, arena_printf(emitter->arena, "%s ", type),
                      emitter->scalars[i]);
    }
    for (int i = 0; i < part->input_count + part->output_count; i++) {
        bool input = i < part->input_count;
        int tensor = input ? part->inputs[i] : part->outputs[i - part->input_count];
        const char *type = emit_element(emitter, part->tensors[tensor].dtype);
        add_parameter(emitter, &all,
                      arena_printf(emitter->arena, "%s%s *", input ? "const " : "", type),
                      emitter->tensors[tensor].name);
    }
    if (emitter->form == GEN_REFERENCE && emitter->root)
        add_parameter(emitter, &all, "int ", "exact");
    if (scratch)
        add_parameter(emitter, &all, "char *", "scratch");
    return all;
}

/* ---- sizes that have a name: lets, and dimensions that are expressions ---- */

/* Every dimension becomes one word: a symbol, a literal, or a name for the expression. */
static struct definitions name_dimensions(struct emitter *emitter)
{
    const struct ir_part *part = emitter->part;
    struct definitions all = {0};
    struct map known = map_new(emitter->arena);
    for (int i = 0; i < part->symbol_count; i++) {
        if (part->symbols[i].kind == IR_SYMBOL_LET)
            vector_push(emitter->arena, &all,
                        (struct definition){emitter->symbols[i],
                                            emit_size(emitter, part->symbols[i].definition).text});
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
            vector_push(emitter->arena, &all, (struct definition){plan->dims[d], text});
        }
    }
    return all;
}

static void add_words(struct emitter *emitter, struct map *words, const char *text)
{
    struct text all = text_new(emitter->arena);
    text_add(&all, text);
    struct map more = emit_words(emitter->arena, &all);
    for (size_t i = 0; i < more.count; i++)
        map_set_bytes(words, more.entries[i].key, more.entries[i].length, words);
}

/* Only what is used: compilers, and readers, ask about the rest. */
void emit_definitions(struct emitter *emitter, const struct definitions *all, struct map *words)
{
    bool *used = arena_array(emitter->arena, all->count + 1, sizeof *used);
    for (size_t i = all->count; i-- > 0;) {
        used[i] = map_has(words, all->at[i].name);
        if (used[i])
            add_words(emitter, words, all->at[i].text);
    }
    for (size_t i = 0; i < all->count; i++) {
        if (used[i])
            emit_line(emitter, "const int64_t %s = %s;", all->at[i].name, all->at[i].text);
    }
}

static void emit_unused(struct emitter *emitter, const struct parameters *parameters,
                        const struct map *words)
{
    struct text list = text_new(emitter->arena);
    for (int i = 0; i < parameters->count; i++) {
        if (!map_has(words, parameters->names[i]))
            text_printf(&list, "%s(void)%s", list.length ? ", " : "", parameters->names[i]);
    }
    if (list.length)
        emit_line(emitter, "%s;", list.at);
}

/* ---- memory of the reference ---- */

static void emit_allocations(struct emitter *emitter)
{
    const struct ir_part *part = emitter->part;
    bool any = false;
    emit_line(emitter, "int status = DONE;");
    for (int i = 0; i < part->tensor_count; i++) {
        const struct tensor_plan *plan = &emitter->tensors[i];
        const char *type = emit_element(emitter, part->tensors[i].dtype);
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

/* ---- the whole ---- */

/* The stages' calls, and for a plain kernel what they want of the scratch. */
static struct text write_stages(struct emitter *emitter)
{
    const struct ir_part *part = emitter->part;
    struct text text = text_new(emitter->arena);
    struct text *out = emitter->out;
    emitter->pieces = (struct pieces){0};
    emitter->part_fails = false;
    for (int i = 0; emitter->form == GEN_PLAIN && i < part->tensor_count; i++) {
        if (is_local(&part->tensors[i]))
            emit_scratch_tensor(emitter, i);
    }
    emitter->out = &text;
    emitter->indent = 1;
    emit_stages(emitter, part->stages, part->stage_count);
    emitter->indent = 0;
    emitter->out = out;
    return text;
}

static void emit_body(struct emitter *emitter, const struct definitions *definitions,
                      const struct parameters *parameters, const struct text *stages)
{
    bool plain = emitter->form == GEN_PLAIN;
    struct text memory = text_new(emitter->arena);
    struct text *out = emitter->out;
    emitter->out = &memory;
    if (plain)
        emit_scratch_write(emitter);
    else
        emit_allocations(emitter);
    emitter->out = out;
    struct map words = emit_words(emitter->arena, stages);
    add_words(emitter, &words, memory.at);
    emit_definitions(emitter, definitions, &words);
    if (plain)
        emit_unused(emitter, parameters, &words);
    text_add_bytes(emitter->out, memory.at, memory.length);
    if (emitter->pieces.count || !plain)
        emit_blank(emitter);
    text_add_bytes(emitter->out, stages->at, stages->length);
    if (!plain) {
        emit_blank(emitter);
        text_add(emitter->out, "finish:\n");
        emit_frees(emitter);
        emit_line(emitter, "return status;");
    } else if (emitter->part_fails) {
        emit_line(emitter, "return DONE;");
    }
}

struct part_plan *emit_part_plan(const struct emitter *emitter, const struct ir_part *part)
{
    return map_get_bytes(&emitter->parts, &part, sizeof part);
}

static bool is_wide(const struct emitter *emitter, const struct ir_part *part)
{
    bool wide = false;
    for (int i = 0; i < part->tensor_count; i++)
        wide |= !is_local(&part->tensors[i]) && part->tensors[i].dtype == DTYPE_F64;
    return wide && emitter->form == GEN_PLAIN;
}

/* The part with temporaries as wide as everything else that is computed in it. */
static const struct ir_part *widened(struct emitter *emitter, const struct ir_part *part)
{
    struct ir_part *copy = arena_new(emitter->arena, struct ir_part);
    struct ir_tensor *tensors =
        arena_array(emitter->arena, (size_t)part->tensor_count + 1, sizeof *tensors);
    for (int i = 0; i < part->tensor_count; i++) {
        tensors[i] = part->tensors[i];
        if (is_local(&tensors[i]) && !tensors[i].declared && tensors[i].dtype == DTYPE_F32)
            tensors[i].dtype = DTYPE_F64;
    }
    *copy = *part;
    copy->tensors = tensors;
    return copy;
}

struct definitions emit_part_start(struct emitter *emitter, const struct ir_part *part)
{
    emitter->wide = is_wide(emitter, part);
    emitter->part = emitter->wide ? widened(emitter, part) : part;
    emitter->root = part == ir_root(emitter->program);
    emitter->functions = text_new(emitter->arena);
    name_symbols(emitter);
    name_tensors(emitter);
    return name_dimensions(emitter);
}

void emit_part(struct emitter *emitter, const struct ir_part *part)
{
    size_t mark = emitter->names.stack.count;
    struct part_plan *plan = emit_part_plan(emitter, part);
    struct definitions definitions = emit_part_start(emitter, part);
    struct text stages = write_stages(emitter);
    if (emitter->form == GEN_PLAIN) {
        plan->scratch = emit_scratch_size(emitter);
        plan->fails = emitter->part_fails;
    }
    text_add_bytes(emitter->out, emitter->functions.at, emitter->functions.length);
    struct parameters parameters = part_parameters(emitter, plan->scratch != NULL);
    const char *start = arena_printf(emitter->arena, "%s %s %s", emitter->part_start,
                                     plan->fails ? "int" : "void", plan->name);
    static const char *const NOTHING[] = {"void"};
    emit_blank(emitter);
    emit_list(emitter, start, parameters.count ? parameters.items : (const char **)NOTHING,
              parameters.count ? parameters.count : 1, "");
    emit_block(emitter);
    emit_body(emitter, &definitions, &parameters, &stages);
    emit_close(emitter);
    emit_names_free(&emitter->names, mark);
}
