/*
 * Calls of ops: types, ranks and sizes of the callee follow from the arguments, the rest is named.
 */
#include <string.h>

#include "lang/check_call.h"

enum { CALL_MAX_ARGUMENTS = 4096 };

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

/* The family of sizes of a list's members: N in xs: T[N...]... */
static const char *list_family(const struct ast_declaration *declaration)
{
    for (size_t i = 0; declaration->is_list && i < declaration->dims.count; i++)
        if (declaration->dims.at[i].kind == AST_DIM_EACH)
            return declaration->dims.at[i].name;
    return NULL;
}

/* Lists that share a family of sizes are equally long. */
static bool lists_match(struct call *call)
{
    for (size_t i = 0; i < call->arguments.count; i++)
        for (size_t k = 0; k < i; k++) {
            const struct argument *a = &call->arguments.at[k], *b = &call->arguments.at[i];
            const char *one = list_family(a->declaration), *other = list_family(b->declaration);
            if (!one || !other || strcmp(one, other) != 0 || a->count == b->count)
                continue;
            struct error *error =
                builder_error(call->builder, ERROR_SHAPE_MISMATCH, b->place,
                              "'%s' and '%s' of %s are lists of equal length, here %d and %d",
                              a->name, b->name, call->op->name.name, a->count, b->count);
            error_note(error, a->place, "the other list");
            return false;
        }
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
    return good && lists_match(call);
}

/* ---- does it fit? ---- */

static bool dims_fit(struct call *call, const struct argument *argument, int number,
                     const struct ir_tensor *inner)
{
    struct builder *builder = call->builder;
    int tensor = argument->tensors[number];
    const struct ir_tensor *outer = &builder->tensors.at[tensor];
    for (int d = 0; d < inner->rank; d++) {
        const struct ir_size *wanted = call_size(call, inner->dims[d]);
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
    const struct ir_size *bound = call_size(call, inner->bound);
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
        if (!poly_is_constant(call_poly(call, fact->a), &a) ||
            !poly_is_constant(call_poly(call, fact->b), &b))
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
        dims[d] = call_size(call, inner->dims[d]);
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
    if (!take_arguments(&call) || !call_bind_key(&call) || !find_part(&call))
        return false;
    return call_settle(&call) && everything_fits(&call) &&
           finish_call(&call, wanted, results, count);
}
