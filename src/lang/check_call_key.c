/*
 * What a call settles of its callee before it is checked: types and ranks.
 */
#include <string.h>

#include "lang/check_call.h"

/* ---- types ---- */

static const char *class_words(const char *class)
{
    return strcmp(class, "int") == 0      ? "integers"
           : strcmp(class, "number") == 0 ? "floats or integers"
                                          : "floats";
}

/*
 * A declared tensor says what T is. An undeclared temporary has no type of its own, only what it
 * computes in, so it fits any float type; it decides only where nothing else does.
 */
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

/* ---- ranks ---- */

/* How many dimensions of an argument are settled; *open gets the first rank variable that is not.
 */
static int count_settled(struct call *call, const struct argument *argument, int **open,
                         int *open_count)
{
    int settled = 0;
    *open = NULL;
    *open_count = 0;
    for (size_t i = 0; i < argument->declaration->dims.count; i++) {
        const struct ast_dim *dim = &argument->declaration->dims.at[i];
        int *known = dim->kind == AST_DIM_RANK ? instance_rank(&call->key, dim->name) : NULL;
        settled += !known ? 1 : *known >= 0 ? *known : 0;
        if (!known || *known >= 0)
            continue;
        ++*open_count;
        if (!*open)
            *open = known;
    }
    return settled;
}

/*
 * Ranks from the arguments. Those with one open rank variable settle it; where several stay open
 * the first takes all and the others none: an op over x: T[*B, D, *A] works on the last dimension
 * unless the call says A=1.
 */
static void bind_ranks(struct call *call)
{
    for (int most = 1; most <= IR_MAX_RANK; most++)
        for (size_t i = 0; i < call->arguments.count; i++) {
            const struct argument *argument = &call->arguments.at[i];
            int rank = call->builder->tensors.at[argument->tensors[0]].rank, *open, open_count;
            int settled = count_settled(call, argument, &open, &open_count);
            if (!open || open_count > most || rank < settled)
                continue;
            *open = rank - settled;
            for (size_t d = 0; d < argument->declaration->dims.count; d++) {
                const struct ast_dim *dim = &argument->declaration->dims.at[d];
                int *known =
                    dim->kind == AST_DIM_RANK ? instance_rank(&call->key, dim->name) : NULL;
                if (known && *known < 0)
                    *known = 0;
            }
            most = 0; /* what is known now may settle others */
            break;
        }
}

static bool rank_fits(struct call *call, const struct argument *argument, int rank)
{
    int *open, open_count;
    int settled = count_settled(call, argument, &open, &open_count);
    if (!open && rank == settled)
        return true;
    builder_error(call->builder, ERROR_RANK_MISMATCH, argument->place,
                  "'%s' of %s has %s%d dimension%s, this has %d", argument->name,
                  call->op->name.name, open ? "at least " : "", settled, settled == 1 ? "" : "s",
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

/* ---- both, and what is named ---- */

bool call_bind_key(struct call *call)
{
    bool good = bind_named_ranks(call);
    if (good)
        bind_ranks(call);
    for (int declared = 1; declared >= 0; declared--)
        for (size_t i = 0; i < call->arguments.count && good; i++) {
            const struct argument *argument = &call->arguments.at[i];
            for (int k = 0; k < argument->count && good; k++) {
                const struct ir_tensor *tensor = &call->builder->tensors.at[argument->tensors[k]];
                if (tensor->declared == (declared == 1))
                    good = bind_type(call, argument, argument->tensors[k]) &&
                           rank_fits(call, argument, tensor->rank);
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
