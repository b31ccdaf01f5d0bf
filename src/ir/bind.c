/*
 * A program at concrete sizes: everything that could not be shown for all sizes is checked here for
 * these, in the root and in every part it calls, each distinct (part, sizes) once.
 */
#include <string.h>

#include "ir/ir.h"
#include "ir/prove.h"

enum { BIND_MAX_ELEMENTS_LOG2 = 60 };

struct binder {
    struct arena *arena;
    struct map done; /* part and sizes, as bytes -> anything */
    struct error *error;
};

static void print_sizes(struct text *out, const struct ir_binding *binding)
{
    const struct ir_part *part = binding->part;
    bool first = true;
    for (int i = 0; i < part->symbol_count; i++) {
        const struct ir_symbol *symbol = &part->symbols[i];
        if (symbol->kind == IR_SYMBOL_LET)
            continue;
        if (!symbol->family) {
            text_printf(out, "%s%s=%lld", first ? "" : ", ", symbol->name,
                        (long long)binding->sizes[i]);
        } else { /* B=[4, 8], as it is written in a case */
            if (symbol->member == 0)
                text_printf(out, "%s%s=[", first ? "" : ", ", symbol->family);
            text_printf(out, "%s%lld", symbol->member ? ", " : "", (long long)binding->sizes[i]);
            bool last = i + 1 == part->symbol_count || part->symbols[i + 1].member == 0;
            text_add(out, last ? "]" : "");
        }
        first = false;
    }
}

/* Adds "with N=3, D=4 in softmax" to what was said. */
static bool explain(struct binder *binder, const struct ir_binding *binding)
{
    struct text sizes = text_new(binder->arena);
    print_sizes(&sizes, binding);
    if (sizes.length)
        error_detail(binder->error, "in '%s' with %s", binding->part->name, sizes.at);
    else
        error_detail(binder->error, "in '%s'", binding->part->name);
    return false;
}

static bool bind_lets(struct binder *binder, struct ir_binding *binding, int64_t *sizes)
{
    const struct ir_part *part = binding->part;
    for (int i = 0; i < part->symbol_count; i++) {
        const struct ir_symbol *symbol = &part->symbols[i];
        if (symbol->kind == IR_SYMBOL_SIZE && sizes[i] < 0) {
            error_at(binder->error, ERROR_SIZE_NEGATIVE, part->place, "size %s is %lld",
                     symbol->name, (long long)sizes[i]);
            error_hint(binder->error, "sizes are 0 or more");
            return explain(binder, binding);
        }
        if (symbol->kind == IR_SYMBOL_LET && !ir_size_eval(symbol->definition, sizes, &sizes[i])) {
            error_at(binder->error, ERROR_SIZE_OVERFLOW, part->place,
                     "'%s' cannot be computed: it overflows 64 bits or divides by zero",
                     symbol->name);
            return explain(binder, binding);
        }
    }
    return true;
}

static bool relation_holds(enum ir_relation relation, int64_t a, int64_t b)
{
    switch (relation) {
    case IR_RELATION_EQ: return a == b;
    case IR_RELATION_NE: return a != b;
    case IR_RELATION_LT: return a < b;
    case IR_RELATION_LE: return a <= b;
    }
    return false;
}

static bool bind_facts(struct binder *binder, const struct ir_binding *binding)
{
    static const char *const signs[] = {"==", "!=", "<", "<="};
    const struct ir_part *part = binding->part;
    for (int i = 0; i < part->fact_count; i++) {
        const struct ir_fact *fact = &part->facts[i];
        int64_t a, b;
        if (ir_size_eval(fact->a, binding->sizes, &a) &&
            ir_size_eval(fact->b, binding->sizes, &b) && relation_holds(fact->relation, a, b))
            continue;
        struct text left = text_new(binder->arena), right = text_new(binder->arena);
        ir_size_print(&left, fact->a, part);
        ir_size_print(&right, fact->b, part);
        error_at(binder->error, ERROR_FACT_FAILS, fact->place, "%s %s %s does not hold", left.at,
                 signs[fact->relation], right.at);
        error_hint(binder->error, "choose sizes for which it holds");
        return explain(binder, binding);
    }
    return true;
}

static bool bind_tensors(struct binder *binder, const struct ir_binding *binding)
{
    const struct ir_part *part = binding->part;
    for (int i = 0; i < part->tensor_count; i++) {
        const struct ir_tensor *tensor = &part->tensors[i];
        int64_t elements = 1;
        bool empty = false, large = false;
        for (int d = 0; d < tensor->rank; d++) {
            int64_t dim;
            if (!ir_size_eval(tensor->dims[d], binding->sizes, &dim)) {
                error_at(binder->error, ERROR_SIZE_OVERFLOW, tensor->place,
                         "dimension %d of '%s' overflows 64 bits or divides by zero", d + 1,
                         tensor->name);
                return explain(binder, binding);
            }
            if (dim < 0) {
                error_at(binder->error, ERROR_SIZE_NEGATIVE, tensor->place,
                         "dimension %d of '%s' is %lld", d + 1, tensor->name, (long long)dim);
                error_hint(binder->error, "choose sizes for which every dimension is 0 or more");
                return explain(binder, binding);
            }
            empty |= dim == 0;
            large |= __builtin_mul_overflow(elements, dim ? dim : 1, &elements) ||
                     elements > ((int64_t)1 << BIND_MAX_ELEMENTS_LOG2);
            if (large)
                elements = 1;
        }
        if (large && !empty) {
            error_at(binder->error, ERROR_SIZE_OVERFLOW, tensor->place,
                     "'%s' would have more than 2^%d elements", tensor->name,
                     BIND_MAX_ELEMENTS_LOG2);
            error_hint(binder->error, "choose smaller sizes");
            return explain(binder, binding);
        }
    }
    return true;
}

/* Whether the domain has no point at all: then nothing is read. */
static bool stage_is_empty(const struct ir_binding *binding, const struct ir_stage *stage)
{
    for (int i = 0; i < stage->index_count; i++) {
        const struct ir_size *extent = binding->part->indices[stage->indices[i]].extent;
        int64_t value;
        if (extent && ir_size_eval(extent, binding->sizes, &value) && value <= 0)
            return true;
    }
    return false;
}

static bool bind_reads(struct binder *binder, const struct ir_binding *binding,
                       const struct ir_stage *stage, struct prover *prover)
{
    const struct ir_part *part = binding->part;
    if (stage_is_empty(binding, stage))
        return true;
    struct prover_mark mark = prover_mark(prover);
    bool entered = false;
    for (int n = 0; n < stage->nodes.count; n++) {
        const struct ir_node *node = &stage->nodes.at[n];
        if (node->op != IR_READ || node->read.proved || node->read.checked)
            continue;
        if (!entered)
            prover_enter_stage(prover, part, stage);
        entered = true;
        const struct ir_tensor *tensor = &part->tensors[node->read.tensor];
        for (int d = 0; d < tensor->rank; d++) {
            if (prover_shows_read(prover, part, &stage->nodes, n, d))
                continue;
            int64_t dim = 0;
            ir_size_eval(tensor->dims[d], binding->sizes, &dim);
            if (dim == 0)
                error_at(binder->error, ERROR_READ_OUT_OF_BOUNDS, node->place,
                         "'%s' is read, but dimension %d of it is empty", tensor->name, d + 1);
            else
                error_at(binder->error, ERROR_READ_OUT_OF_BOUNDS, node->place,
                         "'%s' may be read out of bounds: index %d is not shown to be in 0 .. %lld",
                         tensor->name, d + 1, (long long)dim - 1);
            error_hint(binder->error, "say what is read outside: %s[... else 0]", tensor->name);
            return explain(binder, binding);
        }
    }
    prover_return(prover, mark);
    return true;
}

static bool bind_part(struct binder *binder, struct ir_binding *binding);

static bool bind_stages(struct binder *binder, const struct ir_binding *binding,
                        const struct ir_stage *stages, int count, struct prover *prover)
{
    for (int i = 0; i < count; i++) {
        const struct ir_stage *stage = &stages[i];
        if (stage->kind == IR_CALL) {
            struct ir_binding *callee = ir_bind_call(binder->arena, binding, stage);
            if (!callee) {
                error_at(binder->error, ERROR_SIZE_OVERFLOW, stage->place,
                         "a size of '%s' overflows 64 bits or divides by zero here",
                         stage->callee->name);
                return explain(binder, binding);
            }
            if (!bind_part(binder, callee))
                return false;
        } else if (stage->kind == IR_LOOP) {
            struct prover_mark mark = prover_mark(prover);
            prover_enter_index(prover, binding->part, &stage->nodes, stage->loop_index);
            if (!bind_stages(binder, binding, stage->body, stage->body_count, prover))
                return false;
            prover_return(prover, mark);
        } else if (!bind_reads(binder, binding, stage, prover)) {
            return false;
        }
    }
    return true;
}

/* The last statement that writes a tensor, or NULL. */
static const struct ir_stage *last_writer(const struct ir_stage *stages, int count, int tensor)
{
    const struct ir_stage *found = NULL;
    for (int i = count - 1; i >= 0 && !found; i--) {
        for (int w = 0; w < stages[i].write_count && !found; w++)
            if (stages[i].writes[w].tensor == tensor)
                found = &stages[i];
        if (!found && stages[i].kind == IR_LOOP)
            found = last_writer(stages[i].body, stages[i].body_count, tensor);
    }
    return found;
}

static bool bind_covers(struct binder *binder, const struct ir_binding *binding,
                        struct prover *prover)
{
    const struct ir_definitions *definitions = ir_definitions_new(binder->arena, binding->part);
    for (int i = 0; i < binding->part->tensor_count; i++) {
        struct text why = text_new(binder->arena);
        if (ir_cover(prover, definitions, i, &why) == COVER_YES)
            continue;
        const struct ir_part *part = binding->part;
        const struct ir_stage *stage = last_writer(part->stages, part->stage_count, i);
        error_at(binder->error, ERROR_SLICES, stage ? stage->place : part->tensors[i].place, "%s",
                 why.at);
        return explain(binder, binding);
    }
    return true;
}

static bool bind_part(struct binder *binder, struct ir_binding *binding)
{
    const struct ir_part *part = binding->part;
    size_t bytes = (size_t)part->symbol_count * sizeof(int64_t);
    char *key = arena_alloc(binder->arena, sizeof part + bytes);
    memcpy(key, &part, sizeof part);
    if (bytes)
        memcpy(key + sizeof part, binding->sizes, bytes);
    if (map_get_bytes(&binder->done, key, sizeof part + bytes))
        return true;
    map_set_bytes(&binder->done, key, sizeof part + bytes, key);
    struct prover *prover = prover_new(binder->arena, part, binding->sizes);
    return bind_facts(binder, binding) && bind_tensors(binder, binding) &&
           bind_covers(binder, binding, prover) &&
           bind_stages(binder, binding, part->stages, part->stage_count, prover);
}

static struct ir_binding *binding_new(struct arena *arena, const struct ir_part *part,
                                      int64_t **sizes, double **scalars)
{
    struct ir_binding *binding = arena_new(arena, struct ir_binding);
    binding->part = part;
    *sizes = arena_array(arena, (size_t)part->symbol_count + 1, sizeof **sizes);
    *scalars = arena_array(arena, (size_t)part->scalar_count + 1, sizeof **scalars);
    binding->sizes = *sizes;
    binding->scalars = *scalars;
    return binding;
}

struct ir_binding *ir_bind(struct arena *arena, const struct ir_program *program,
                           const int64_t *sizes, const double *scalars, struct error *error)
{
    const struct ir_part *part = ir_root(program);
    struct error ignored;
    struct binder binder = {.arena = arena, .error = error ? error : &ignored};
    binder.done = map_new(arena);
    int64_t *own_sizes;
    double *own_scalars;
    struct ir_binding *binding = binding_new(arena, part, &own_sizes, &own_scalars);
    for (int i = 0; i < part->symbol_count; i++)
        own_sizes[i] = part->symbols[i].kind == IR_SYMBOL_LET ? 0 : sizes[i];
    for (int i = 0; i < part->scalar_count; i++)
        own_scalars[i] = scalars[i];
    if (!bind_lets(&binder, binding, own_sizes) || !bind_part(&binder, binding))
        return NULL;
    return binding;
}

struct ir_binding *ir_bind_call(struct arena *arena, const struct ir_binding *caller,
                                const struct ir_stage *call)
{
    const struct ir_part *part = call->callee;
    int64_t *sizes;
    double *scalars;
    struct ir_binding *binding = binding_new(arena, part, &sizes, &scalars);
    for (int i = 0; i < part->symbol_count; i++) {
        const struct ir_size *size =
            part->symbols[i].kind == IR_SYMBOL_LET ? part->symbols[i].definition : call->sizes[i];
        const int64_t *from = part->symbols[i].kind == IR_SYMBOL_LET ? sizes : caller->sizes;
        if (!ir_size_eval(size, from, &sizes[i]))
            return NULL;
    }
    struct ir_value *values = arena_array(arena, (size_t)call->nodes.count + 1, sizeof *values);
    ir_fold(&call->nodes, caller, NULL, values);
    for (int i = 0; i < part->scalar_count; i++) {
        const struct ir_node *node = &call->nodes.at[call->scalars[i]];
        const struct ir_value *value = &values[call->scalars[i]];
        scalars[i] = dtype_is_float(node->type) ? value->number : (double)value->integer;
    }
    return binding;
}

int64_t ir_tensor_shape(const struct ir_binding *binding, int tensor, int64_t *dims)
{
    const struct ir_tensor *entry = &binding->part->tensors[tensor];
    uint64_t count = 1; /* unsigned: an empty tensor may have large dimensions */
    for (int d = 0; d < entry->rank; d++) {
        int64_t dim = 0;
        ir_size_eval(entry->dims[d], binding->sizes, &dim);
        if (dims)
            dims[d] = dim;
        count *= (uint64_t)dim;
    }
    return (int64_t)count;
}
