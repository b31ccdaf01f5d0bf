/*
 * The sizes and scalars of a callee: given by name, by default, or solved from the shapes passed.
 */
#include <string.h>

#include "lang/check_call.h"

/* CALL_MAX_TERMS: of one size in the caller's terms, all lets of the callee written out. */
enum { CALL_MAX_TERMS = 1000, UNKNOWN_ATOMS = 1 << 24 };

/* ---- the callee's sizes in the caller's terms ---- */

static const struct poly *outer_terms(struct call *call, const struct ir_size *size)
{
    struct prover *prover = call->builder->prover;
    if (call->terms-- <= 0)
        return NULL;
    if (size->op == IR_SIZE_CONSTANT)
        return poly_constant(prover, size->value);
    if (size->op == IR_SIZE_SYMBOL) {
        const struct ir_symbol *symbol = &call->part->symbols[size->symbol];
        if (symbol->kind == IR_SYMBOL_LET)
            return outer_terms(call, symbol->definition);
        if (call->sizes[size->symbol])
            return builder_poly(call->builder, call->sizes[size->symbol]);
        return prover_index(prover, UNKNOWN_ATOMS + size->symbol);
    }
    const struct poly *a = outer_terms(call, size->a), *b = outer_terms(call, size->b);
    return prover_combine(prover, size->op, a, b);
}

const struct poly *call_poly(struct call *call, const struct ir_size *size)
{
    call->terms = CALL_MAX_TERMS;
    return outer_terms(call, size);
}

static void count_unknown(struct call *call, const struct ir_size *size, int *unknown, int *count)
{
    if (size->op == IR_SIZE_CONSTANT || call->terms-- <= 0)
        return;
    if (size->op != IR_SIZE_SYMBOL) {
        count_unknown(call, size->a, unknown, count);
        count_unknown(call, size->b, unknown, count);
        return;
    }
    const struct ir_symbol *symbol = &call->part->symbols[size->symbol];
    if (symbol->kind == IR_SYMBOL_LET)
        count_unknown(call, symbol->definition, unknown, count);
    else if (!call->sizes[size->symbol] && *unknown != size->symbol) {
        *unknown = size->symbol;
        (*count)++;
    }
}

/* The whole expression again, for sizes no polynomial can hold. */
static const struct ir_size *substitute(struct call *call, const struct ir_size *size)
{
    if (call->terms-- <= 0)
        return NULL;
    if (size->op == IR_SIZE_CONSTANT)
        return size;
    if (size->op == IR_SIZE_SYMBOL) {
        const struct ir_symbol *symbol = &call->part->symbols[size->symbol];
        return symbol->kind == IR_SYMBOL_LET ? substitute(call, symbol->definition)
                                             : call->sizes[size->symbol];
    }
    const struct ir_size *a = substitute(call, size->a), *b = substitute(call, size->b);
    return a && b ? ir_size_make(call->builder->arena, size->op, a, b) : NULL;
}

static int size_terms(const struct ir_size *size, int most)
{
    if (most <= 0 || size->op == IR_SIZE_CONSTANT || size->op == IR_SIZE_SYMBOL)
        return 1;
    int left = size_terms(size->a, most - 1);
    return 1 + left + size_terms(size->b, most - 1 - left);
}

const struct ir_size *call_size(struct call *call, const struct ir_size *size)
{
    const struct ir_size *simple = poly_to_size(call->builder->prover, call_poly(call, size));
    call->terms = CALL_MAX_TERMS;
    const struct ir_size *outer = simple ? simple : substitute(call, size);
    if (outer && size_terms(outer, CALL_MAX_TERMS) < CALL_MAX_TERMS)
        return outer;
    struct error *error = builder_error(call->builder, ERROR_TOO_MANY, call->expression->place,
                                        "a size of %s has more than %d terms here",
                                        call->op->name.name, CALL_MAX_TERMS);
    error_hint(error, "use each size once in the shape of a result, or make it a parameter");
    return NULL;
}

/* ---- sizes from shapes ---- */

/* factor * unknown + rest == dim */
static bool solve(struct call *call, int unknown, const struct poly *inner,
                  const struct ir_size *dim, struct place place)
{
    struct builder *builder = call->builder;
    struct prover *prover = builder->prover;
    const struct poly *factor, *rest;
    if (!poly_split(prover, inner, UNKNOWN_ATOMS + unknown, &factor, &rest) || factor->count == 0)
        return false;
    const struct poly *product = poly_subtract(prover, builder_poly(builder, dim), rest);
    const struct poly *quotient = poly_quotient(prover, product, factor);
    const struct ir_size *size = poly_to_size(prover, quotient);
    if (!size) {
        const struct ir_size *a = poly_to_size(prover, product), *b = poly_to_size(prover, factor);
        if (!a || !b)
            return false;
        int64_t x, y;
        if (poly_is_constant(product, &x) && poly_is_constant(factor, &y)) {
            builder_error(builder, ERROR_DIVISIBILITY, place,
                          "%s of %s would be %lld/%lld, which leaves a remainder",
                          call->part->symbols[unknown].name, call->op->name.name, (long long)x,
                          (long long)y);
            return false;
        }
        const struct ir_size *remainder = ir_size_make(builder->arena, IR_SIZE_MOD, a, b);
        vector_push(builder->arena, &builder->facts,
                    (struct ir_fact){IR_RELATION_EQ, remainder, ir_size_constant(builder->arena, 0),
                                     place});
        builder_sync(builder);
        prover_assume_relation(prover, IR_RELATION_EQ, prover_size(prover, remainder),
                               poly_constant(prover, 0));
        size = ir_size_make(builder->arena, IR_SIZE_DIV, a, b);
    }
    call->sizes[unknown] = size;
    return true;
}

/* One round over all dimensions; true when something new became known. */
static bool solve_round(struct call *call)
{
    bool progress = false;
    int number = 0;
    for (size_t i = 0; i < call->arguments.count; i++) {
        const struct argument *argument = &call->arguments.at[i];
        for (int k = 0; k < argument->count; k++, number++) {
            const struct ir_tensor *inner = &call->part->tensors[call->part->inputs[number]];
            const struct ir_tensor *outer = &call->builder->tensors.at[argument->tensors[k]];
            for (int d = 0; d < inner->rank; d++) {
                const struct ir_size *size = inner->dims[d];
                int unknown = -1, count = 0;
                call->terms = CALL_MAX_TERMS;
                count_unknown(call, size, &unknown, &count);
                if (count != 1)
                    continue;
                if (size->op == IR_SIZE_SYMBOL && size->symbol == unknown) {
                    call->sizes[unknown] = outer->dims[d];
                    progress = true;
                } else {
                    progress |= solve(call, unknown, call_poly(call, size), outer->dims[d],
                                      argument->place);
                }
            }
        }
    }
    return progress;
}

/* ---- sizes and scalars by name, and by default ---- */

static bool take_named_size(struct call *call, const struct ast_named *named, int symbol)
{
    if (call->part->symbols[symbol].kind == IR_SYMBOL_LET) {
        builder_error(call->builder, ERROR_UNKNOWN_PARAMETER, named->place,
                      "'%s' is computed by %s and cannot be given", named->name,
                      call->op->name.name);
        return false;
    }
    call->sizes[symbol] = check_size(call->builder, named->value);
    return call->sizes[symbol] != NULL;
}

static bool take_named_scalar(struct call *call, const struct ast_named *named, int scalar)
{
    int value = check_value(&call->stage, named->value);
    if (value == IR_NONE)
        return false;
    call->scalars[scalar] = stage_store(&call->stage, value, call->part->scalars[scalar].dtype,
                                        named->value->place, named->name);
    return call->scalars[scalar] != IR_NONE;
}

static bool take_named(struct call *call, const struct ast_named *named)
{
    if (instance_type(&call->key, named->name) || instance_rank(&call->key, named->name))
        return true;
    for (int i = 0; i < call->part->symbol_count; i++)
        if (strcmp(call->part->symbols[i].name, named->name) == 0)
            return take_named_size(call, named, i);
    for (int i = 0; i < call->part->scalar_count; i++)
        if (strcmp(call->part->scalars[i].name, named->name) == 0)
            return take_named_scalar(call, named, i);
    struct error *error =
        builder_error(call->builder, ERROR_UNKNOWN_PARAMETER, named->place,
                      "%s has no parameter '%s'", call->op->name.name, named->name);
    struct candidates VECTOR(const char *) known = {0};
    for (int i = 0; i < call->part->symbol_count; i++)
        vector_push(call->builder->arena, &known, call->part->symbols[i].name);
    for (int i = 0; i < call->part->scalar_count; i++)
        vector_push(call->builder->arena, &known, call->part->scalars[i].name);
    const char *near = spelling_nearest(named->name, known.at, known.count);
    struct text signature = text_new(call->builder->arena);
    ast_print_signature(&signature, call->op);
    error_detail(error, "%s", signature.at);
    if (near)
        error_hint(error, "did you mean '%s'?", near);
    return false;
}

static bool fill_defaults(struct call *call)
{
    struct builder *builder = call->builder;
    for (int i = 0; i < call->part->symbol_count; i++) {
        const struct ir_symbol *symbol = &call->part->symbols[i];
        if (!call->sizes[i] && symbol->kind == IR_SYMBOL_PARAMETER && symbol->has_default)
            call->sizes[i] = ir_size_constant(builder->arena, symbol->value);
    }
    for (int i = 0; i < call->part->scalar_count; i++) {
        const struct ir_scalar *scalar = &call->part->scalars[i];
        if (call->scalars[i] != IR_NONE)
            continue;
        if (!scalar->has_default) {
            struct error *error = builder_error(
                builder, ERROR_MISSING_ARGUMENT, call->expression->place,
                "'%s' of %s is not given and has no default", scalar->name, call->op->name.name);
            error_hint(error, "give it: %s(...; %s=...)", call->op->name.name, scalar->name);
            return false;
        }
        bool is_bool = scalar->dtype == DTYPE_BOOL;
        struct ir_node node = {.op = is_bool ? IR_BOOL : IR_FLOAT,
                               .type = dtype_compute(scalar->dtype)};
        if (is_bool)
            node.integer = scalar->value != 0;
        else
            node.number = scalar->value;
        call->scalars[i] = stage_leaf(&call->stage, node, (struct place){0});
    }
    return true;
}

static bool report_unknown(struct call *call)
{
    for (int i = 0; i < call->part->symbol_count; i++) {
        const struct ir_symbol *symbol = &call->part->symbols[i];
        if (call->sizes[i] || symbol->kind == IR_SYMBOL_LET)
            continue;
        struct error *error = builder_error(
            call->builder, ERROR_MISSING_ARGUMENT, call->expression->place,
            symbol->kind == IR_SYMBOL_PARAMETER ? "'%s' of %s is not given and has no default"
                                                : "'%s' of %s follows from no argument",
            symbol->name, call->op->name.name);
        error_hint(error, "give it: %s(...; %s=...)", call->op->name.name, symbol->name);
        return false;
    }
    return true;
}

bool call_settle(struct call *call)
{
    struct builder *builder = call->builder;
    stage_builder_init(&call->stage, builder);
    call->sizes =
        arena_array(builder->arena, (size_t)call->part->symbol_count + 1, sizeof *call->sizes);
    call->scalars =
        arena_array(builder->arena, (size_t)call->part->scalar_count + 1, sizeof *call->scalars);
    for (int i = 0; i < call->part->scalar_count; i++)
        call->scalars[i] = IR_NONE;
    for (size_t i = 0; i < call->expression->named.count; i++)
        if (!take_named(call, &call->expression->named.at[i]))
            return false;
    if (!fill_defaults(call))
        return false;
    size_t before = builder->errors->said;
    while (solve_round(call))
        if (builder->errors->said > before)
            return false;
    if (builder->errors->said > before)
        return false;
    return report_unknown(call);
}
