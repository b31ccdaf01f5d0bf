/*
 * Calls of ops: types, ranks and sizes of the callee follow from the arguments, the rest is named.
 */
#include <string.h>

#include "lang/check.h"

/* CALL_MAX_TERMS: of one size in the caller's terms, all lets of the callee written out. */
enum { CALL_MAX_ARGUMENTS = 4096, CALL_MAX_TERMS = 1000, UNKNOWN_ATOMS = 1 << 24 };

/* One input of the callee and what is passed for it. */
struct argument {
    const struct ast_declaration *declaration;
    const char *name;
    int *tensors;
    int count;                   /* more than one only for a list */
    struct place place, *places; /* of the whole, of each member */
};

struct call {
    struct builder *builder;
    const struct ast_expression *expression;
    const struct ast_op *op;
    struct argument_list VECTOR(struct argument) arguments;
    struct instance_key key;
    struct instance *instance;
    const struct ir_part *part;
    const struct ir_size **sizes; /* per symbol of the callee, NULL: not known */
    struct stage_builder stage;   /* scalar arguments */
    int *scalars;
    int terms; /* left of CALL_MAX_TERMS */
};

/* ---- arguments ---- */

static bool take_argument(struct call *call, const struct ast_declaration *declaration,
                          const char *name, const struct ast_expression *expression)
{
    struct builder *builder = call->builder;
    struct argument argument = {
        .declaration = declaration, .name = name, .place = expression->place, .count = 1};
    bool is_list = expression->kind == AST_LIST;
    if (is_list != declaration->is_list) {
        struct error *error =
            builder_error(builder, ERROR_BAD_LIST, expression->place,
                          declaration->is_list ? "'%s' of %s takes a list of tensors"
                                               : "'%s' of %s takes one tensor, not a list",
                          name, call->op->name.name);
        if (declaration->is_list)
            error_hint(error, "write %s([a, b, c])", call->op->name.name);
        return false;
    }
    if (is_list && (expression->list.count == 0 || expression->list.count > CHECK_MAX_LIST)) {
        builder_error(builder, ERROR_BAD_LIST, expression->place, "a list has 1 to %d tensors",
                      CHECK_MAX_LIST);
        return false;
    }
    argument.count = is_list ? (int)expression->list.count : 1;
    argument.tensors =
        arena_array(builder->arena, (size_t)argument.count, sizeof *argument.tensors);
    argument.places = arena_array(builder->arena, (size_t)argument.count, sizeof *argument.places);
    for (int i = 0; i < argument.count; i++)
        argument.places[i] = is_list ? expression->list.at[i]->place : expression->place;
    for (int i = 0; i < argument.count; i++) {
        argument.tensors[i] =
            check_tensor_argument(builder, is_list ? expression->list.at[i] : expression);
        if (argument.tensors[i] < 0)
            return false;
    }
    if (is_list)
        *instance_list(&call->key, name) = argument.count;
    vector_push(builder->arena, &call->arguments, argument);
    return true;
}

static bool take_arguments(struct call *call)
{
    size_t wanted = 0, number = 0;
    for (size_t i = 0; i < call->op->inputs.count; i++)
        wanted += call->op->inputs.at[i].names.count;
    if (wanted != call->expression->list.count) {
        struct text signature = text_new(call->builder->arena);
        ast_print_signature(&signature, call->op);
        struct error *error =
            builder_error(call->builder, ERROR_ARGUMENT_COUNT, call->expression->place,
                          "%s takes %zu tensor%s, not %zu", call->op->name.name, wanted,
                          wanted == 1 ? "" : "s", call->expression->list.count);
        error_detail(error, "%s", signature.at);
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < call->op->inputs.count; i++) {
        const struct ast_declaration *input = &call->op->inputs.at[i];
        for (size_t k = 0; k < input->names.count; k++)
            good &= take_argument(call, input, input->names.at[k].name,
                                  call->expression->list.at[number++]);
    }
    return good;
}

/* ---- types and ranks ---- */

/*
 * A declared tensor says what T is. An undeclared temporary has no type of its own, only what it
 * computes in, so it fits any float type; it decides only where nothing else does.
 */
static const char *class_words(const char *class)
{
    return strcmp(class, "int") == 0      ? "integers"
           : strcmp(class, "number") == 0 ? "floats or integers"
                                          : "floats";
}

static bool bind_type(struct call *call, const struct argument *argument, int number)
{
    struct builder *builder = call->builder;
    const struct ir_tensor *tensor = &builder->tensors.at[number];
    enum dtype wanted, dtype = tensor->dtype;
    const char *type = argument->declaration->type;
    struct type_binding *binding = instance_type(&call->key, type);
    if (binding && !binding->bound) {
        if (!type_class_admits(call->op, type, dtype)) {
            struct error *error = builder_error(
                builder, ERROR_TYPE_CLASS, argument->place, "'%s' of %s takes %s, this is %s",
                argument->name, call->op->name.name, class_words(type_class(call->op, type)),
                dtype_name(dtype));
            error_hint(error, "the op says what %s may be: where %s: float, int, number or any",
                       type, type);
            return false;
        }
        binding->bound = true;
        binding->dtype = dtype;
        return true;
    }
    if (binding)
        wanted = binding->dtype;
    else if (!dtype_parse(type, &wanted))
        return false; /* the op itself is at fault, and says so */
    if (wanted == dtype || (!tensor->declared && dtype_is_float(dtype) && dtype_is_float(wanted)))
        return true;
    struct error *error = builder_error(builder, ERROR_TYPE_MISMATCH, argument->place,
                                        "'%s' of %s takes %s here, this is %s", argument->name,
                                        call->op->name.name, dtype_name(wanted), dtype_name(dtype));
    error_hint(error, "convert it first: t: %s[...], t[...] = %s(...)", dtype_name(wanted),
               dtype_name(wanted));
    return false;
}

/* Of several rank variables that nothing else settles, the first takes all and the others none: an
 * op over x: T[*B, D, *A] works on the last dimension unless the call says A=1. */
static bool bind_rank(struct call *call, const struct argument *argument, int rank)
{
    int others = 0;
    int *first = NULL;
    for (size_t i = 0; i < argument->declaration->dims.count; i++) {
        const struct ast_dim *dim = &argument->declaration->dims.at[i];
        int *known = dim->kind == AST_DIM_RANK ? instance_rank(&call->key, dim->name) : NULL;
        if (!known)
            others++;
        else if (*known >= 0)
            others += *known;
        else if (!first)
            first = known;
        else
            *known = 0;
    }
    if (first && rank >= others)
        *first = rank - others;
    if (first ? rank >= others : rank == others)
        return true;
    builder_error(call->builder, ERROR_RANK_MISMATCH, argument->place,
                  "'%s' of %s has %s%d dimension%s, this has %d", argument->name,
                  call->op->name.name, first ? "at least " : "", others, others == 1 ? "" : "s",
                  rank);
    return false;
}

/* sum(x; A=1): how many dimensions a rank variable takes, where the arguments leave it open. */
static bool bind_named_ranks(struct call *call)
{
    for (size_t i = 0; i < call->expression->named.count; i++) {
        const struct ast_named *named = &call->expression->named.at[i];
        int *rank = instance_rank(&call->key, named->name);
        int64_t count;
        if (!rank)
            continue;
        if (!check_static(call->builder, named->value, &count))
            return false;
        if (count < 0 || count > IR_MAX_RANK) {
            builder_error(call->builder, ERROR_RANK_MISMATCH, named->value->place,
                          "*%s stands for 0 to %d dimensions", named->name, IR_MAX_RANK);
            return false;
        }
        *rank = (int)count;
    }
    return true;
}

static bool bind_key(struct call *call)
{
    bool good = bind_named_ranks(call);
    for (int declared = 1; declared >= 0; declared--)
        for (size_t i = 0; i < call->arguments.count && good; i++) {
            const struct argument *argument = &call->arguments.at[i];
            for (int k = 0; k < argument->count && good; k++) {
                const struct ir_tensor *tensor = &call->builder->tensors.at[argument->tensors[k]];
                if (tensor->declared == (declared == 1))
                    good = bind_type(call, argument, argument->tensors[k]) &&
                           bind_rank(call, argument, tensor->rank);
            }
        }
    for (size_t i = 0; i < call->expression->named.count && good; i++) {
        const struct ast_named *named = &call->expression->named.at[i];
        struct type_binding *binding = instance_type(&call->key, named->name);
        if (!binding)
            continue;
        binding->bound =
            named->value->kind == AST_NAME &&
            check_type(call->builder, named->value->name, named->value->place, &binding->dtype);
        good = binding->bound;
    }
    for (size_t i = 0; i < call->key.types.count && good; i++) {
        const struct type_binding *binding = &call->key.types.at[i];
        if (binding->bound)
            continue;
        struct error *error = builder_error(
            call->builder, ERROR_TYPE_UNBOUND, call->expression->place,
            "type %s of %s follows from no argument", binding->name, call->op->name.name);
        error_hint(error, "give it: %s(...; %s=f32)", call->op->name.name, binding->name);
        good = false;
    }
    return good;
}

/* ---- sizes ---- */

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
    switch (size->op) {
    case IR_SIZE_ADD: return poly_add(prover, a, b);
    case IR_SIZE_SUB: return poly_subtract(prover, a, b);
    case IR_SIZE_MUL: return poly_multiply(prover, a, b);
    case IR_SIZE_DIV: return prover_divide(prover, a, b);
    case IR_SIZE_MOD:
        return poly_subtract(prover, a, poly_multiply(prover, prover_divide(prover, a, b), b));
    case IR_SIZE_MIN: return prover_least(prover, a, b);
    case IR_SIZE_MAX: return prover_greatest(prover, a, b);
    default: return NULL;
    }
}

/* A size of the callee in the caller's terms, unknown symbols as atoms of their own. */
static const struct poly *outer_poly(struct call *call, const struct ir_size *size)
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

/*
 * A size of the callee as one of the caller. NULL with an error reported when it is too long: a
 * chain of calls that each use a size twice would double it every time.
 */
static const struct ir_size *outer_size(struct call *call, const struct ir_size *size)
{
    const struct ir_size *simple = poly_to_size(call->builder->prover, outer_poly(call, size));
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
                    progress |= solve(call, unknown, outer_poly(call, size), outer->dims[d],
                                      argument->place);
                }
            }
        }
    }
    return progress;
}

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
                               .type = dtype_compute(scalar->dtype),
                               .a = IR_NONE,
                               .b = IR_NONE,
                               .c = IR_NONE};
        if (is_bool)
            node.integer = scalar->value != 0;
        else
            node.number = scalar->value;
        call->scalars[i] = stage_node(&call->stage, node);
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

/* ---- does it fit? ---- */

static bool dims_fit(struct call *call, const struct argument *argument, int number,
                     const struct ir_tensor *inner)
{
    struct builder *builder = call->builder;
    int tensor = argument->tensors[number];
    const struct ir_tensor *outer = &builder->tensors.at[tensor];
    for (int d = 0; d < inner->rank; d++) {
        const struct ir_size *wanted = outer_size(call, inner->dims[d]);
        if (!wanted)
            return false;
        if (builder_same_size(builder, wanted, outer->dims[d]))
            continue;
        struct text is = text_new(builder->arena), must = text_new(builder->arena);
        struct text form = text_new(builder->arena);
        builder_print_size(builder, &is, outer->dims[d]);
        ir_size_print(&form, inner->dims[d], call->part);
        builder_print_size(builder, &must, wanted);
        bool plain = strcmp(form.at, must.at) == 0;
        struct error *error =
            builder_error(builder, ERROR_SHAPE_MISMATCH, argument->places[number],
                          "dimension %d of %s is %s, but %s wants %s there%s%s%s", d + 1,
                          builder_tensor_name(builder, tensor), is.at, call->op->name.name, must.at,
                          plain ? "" : " (its ", plain ? "" : form.at, plain ? "" : ")");
        int64_t x, y;
        bool numbers = poly_is_constant(builder_poly(builder, wanted), &x) &&
                       poly_is_constant(builder_poly(builder, outer->dims[d]), &y);
        if (!numbers)
            error_hint(error, "if they are always equal, say so: where %s == %s", is.at, must.at);
        return false;
    }
    return true;
}

/* What the callee relies on in the values of an input must be promised by the caller's. */
static bool properties_fit(struct call *call, const struct argument *argument, int tensor,
                           const struct ir_tensor *inner)
{
    struct builder *builder = call->builder;
    const struct ir_tensor *outer = &builder->tensors.at[tensor];
    unsigned vital = inner->properties & (IR_PROPERTY_INDEX | IR_PROPERTY_OFFSETS);
    if (!vital)
        return true;
    const struct ir_size *bound = outer_size(call, inner->bound);
    if (!bound)
        return false;
    if ((outer->properties & vital) == vital && builder_same_size(builder, bound, outer->bound))
        return true;
    struct text size = text_new(builder->arena);
    builder_print_size(builder, &size, bound);
    const char *word = vital & IR_PROPERTY_INDEX ? "index" : "offsets";
    struct error *error =
        builder_error(builder, ERROR_BAD_FACT, argument->place,
                      "%s relies on '%s' being %s(%s), which is not known of '%s'",
                      call->op->name.name, argument->name, word, size.at, outer->name);
    error_hint(error, "declare the input with it: %s: %s[...] ~ %s(%s)", outer->name,
               dtype_name(outer->dtype), word, size.at);
    return false;
}

static bool everything_fits(struct call *call)
{
    int number = 0;
    for (size_t i = 0; i < call->arguments.count; i++) {
        const struct argument *argument = &call->arguments.at[i];
        for (int k = 0; k < argument->count; k++) {
            const struct ir_tensor *inner = &call->part->tensors[call->part->inputs[number++]];
            if (!dims_fit(call, argument, k, inner) ||
                !properties_fit(call, argument, argument->tensors[k], inner))
                return false;
        }
    }
    for (int i = 0; i < call->part->fact_count; i++) {
        const struct ir_fact *fact = &call->part->facts[i];
        int64_t a, b;
        if (!poly_is_constant(outer_poly(call, fact->a), &a) ||
            !poly_is_constant(outer_poly(call, fact->b), &b))
            continue; /* seen when sizes are bound */
        bool holds = fact->relation == IR_RELATION_EQ   ? a == b
                     : fact->relation == IR_RELATION_NE ? a != b
                     : fact->relation == IR_RELATION_LT ? a < b
                                                        : a <= b;
        if (holds)
            continue;
        static const char *const signs[] = {"==", "!=", "<", "<="};
        struct text left = text_new(call->builder->arena), right = text_new(call->builder->arena);
        ir_size_print(&left, fact->a, call->part);
        ir_size_print(&right, fact->b, call->part);
        struct error *error = builder_error(
            call->builder, ERROR_FACT_FAILS, call->expression->place,
            "%s asks for %s %s %s, here that is %lld %s %lld", call->op->name.name, left.at,
            signs[fact->relation], right.at, (long long)a, signs[fact->relation], (long long)b);
        error_note(error, fact->place, "asked for here");
        return false;
    }
    return true;
}

/* ---- results ---- */

static int make_result(struct call *call, int output, int wanted)
{
    struct builder *builder = call->builder;
    const struct ir_tensor *inner = &call->part->tensors[call->part->outputs[output]];
    const struct ir_size **dims =
        arena_array(builder->arena, (size_t)inner->rank + 1, sizeof *dims);
    for (int d = 0; d < inner->rank; d++) {
        dims[d] = outer_size(call, inner->dims[d]);
        if (!dims[d])
            return -1;
    }
    if (wanted >= 0) {
        const struct ir_tensor *target = &builder->tensors.at[wanted];
        bool same = target->rank == inner->rank;
        for (int d = 0; same && d < inner->rank; d++)
            same = builder_same_size(builder, target->dims[d], dims[d]);
        if (!same) {
            struct text is = text_new(builder->arena);
            for (int d = 0; d < inner->rank; d++) {
                text_add(&is, d ? ", " : "");
                builder_print_size(builder, &is, dims[d]);
            }
            struct text must = text_new(builder->arena);
            builder_print_shape(builder, &must, wanted);
            builder_error(builder, ERROR_SHAPE_MISMATCH, call->expression->place,
                          "%s gives the shape [%s], %s has %s", call->op->name.name, is.at,
                          builder_tensor_name(builder, wanted), must.at);
            return -1;
        }
        if (target->declared && target->dtype == inner->dtype && target->role != IR_TENSOR_STATE)
            return wanted;
    }
    return builder_temporary(builder, NULL, inner->dtype, true, inner->rank, dims,
                             call->expression->place);
}

static bool finish_call(struct call *call, const int *wanted, int *results, int count)
{
    struct builder *builder = call->builder;
    if (count != call->part->output_count) {
        struct error *error =
            builder_error(builder, ERROR_TUPLE_WIDTH, call->expression->place,
                          "%s gives %d result%s, here %s %d name%s for %s", call->op->name.name,
                          call->part->output_count, call->part->output_count == 1 ? "" : "s",
                          count == 1 ? "is" : "are", count, count == 1 ? "" : "s",
                          call->part->output_count == 1 ? "it" : "them");
        struct text names = text_new(builder->arena);
        for (int i = 0; i < call->part->output_count; i++)
            text_printf(&names, "%s%s", i ? ", " : "",
                        call->part->tensors[call->part->outputs[i]].name);
        error_hint(error,
                   call->part->output_count == 1 ? "write %s = %s(...)" : "write (%s) = %s(...)",
                   names.at, call->op->name.name);
        return false;
    }
    int *inputs = arena_array(builder->arena, (size_t)call->part->input_count + 1, sizeof *inputs);
    int *outputs = arena_array(builder->arena, (size_t)count + 1, sizeof *outputs);
    int number = 0;
    for (size_t i = 0; i < call->arguments.count; i++)
        for (int k = 0; k < call->arguments.at[i].count; k++)
            inputs[number++] = call->arguments.at[i].tensors[k];
    for (int i = 0; i < count; i++) {
        outputs[i] = make_result(call, i, wanted[i]);
        if (outputs[i] < 0)
            return false;
    }
    builder_stage(builder, &(struct ir_stage){.kind = IR_CALL,
                                              .place = call->expression->place,
                                              .predicate = IR_NONE,
                                              .from = IR_NONE,
                                              .along = IR_NONE,
                                              .nodes = call->stage.view,
                                              .callee = call->part,
                                              .inputs = inputs,
                                              .outputs = outputs,
                                              .sizes = call->sizes,
                                              .scalars = call->scalars});
    for (int i = 0; i < count; i++) {
        builder->infos.at[outputs[i]].definitions++;
        results[i] = outputs[i];
        if (wanted[i] >= 0 && outputs[i] != wanted[i]) {
            check_copy(builder, wanted[i], outputs[i], call->expression->place);
            results[i] = wanted[i];
        }
    }
    return true;
}

static bool find_part(struct call *call)
{
    struct builder *builder = call->builder;
    call->instance = instance_get(builder->lang, call->op, &call->key, builder->errors);
    if (!call->instance || !call->instance->part) {
        errors_again(builder->errors); /* the callee's fault was reported with the callee */
        return false;
    }
    call->part = call->instance->part;
    bool known = false;
    for (size_t i = 0; i < builder->instance->callees.count && !known; i++)
        known = builder->instance->callees.at[i] == call->instance;
    if (!known)
        vector_push(builder->arena, &builder->instance->callees, call->instance);
    return true;
}

bool check_call(struct builder *builder, const struct ast_expression *expression, const int *wanted,
                int *results, int count)
{
    struct call call = {.builder = builder, .expression = expression};
    call.op = lang_find_op(builder->lang, builder->file, expression->name);
    call.key = instance_key_new(builder->arena, call.op);
    if (expression->list.count > CALL_MAX_ARGUMENTS) {
        builder_error(builder, ERROR_TOO_MANY, expression->place, "more than %d arguments",
                      CALL_MAX_ARGUMENTS);
        return false;
    }
    if (!take_arguments(&call) || !bind_key(&call) || !find_part(&call))
        return false;
    stage_builder_init(&call.stage, builder);
    call.sizes =
        arena_array(builder->arena, (size_t)call.part->symbol_count + 1, sizeof *call.sizes);
    call.scalars =
        arena_array(builder->arena, (size_t)call.part->scalar_count + 1, sizeof *call.scalars);
    for (int i = 0; i < call.part->scalar_count; i++)
        call.scalars[i] = IR_NONE;
    for (size_t i = 0; i < expression->named.count; i++)
        if (!take_named(&call, &expression->named.at[i]))
            return false;
    if (!fill_defaults(&call))
        return false;
    size_t before = builder->errors->said;
    while (solve_round(&call))
        if (builder->errors->said > before)
            return false;
    if (builder->errors->said > before)
        return false;
    return report_unknown(&call) && everything_fits(&call) &&
           finish_call(&call, wanted, results, count);
}
