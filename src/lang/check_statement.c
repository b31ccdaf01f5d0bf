/*
 * Statements with indices: maps, reductions, scans and scatters.
 */
#include <string.h>

#include "lang/check.h"

/* One statement on its way to a stage. */
struct definition {
    struct stage_builder stage;
    const struct ast_statement *statement;
    struct ir_stage result;
    struct int_list order; /* indices of the domain, as numbers of the part */
    const struct ir_monoid *monoid;
    bool is_ranking; /* topk, bottomk */
    int values[CHECK_MAX_WIDTH];
    int tensors[CHECK_MAX_WIDTH];
    bool fresh[CHECK_MAX_WIDTH];
    int width;
};

static bool is_ranking(const char *reducer)
{
    return reducer && (strcmp(reducer, "topk") == 0 || strcmp(reducer, "bottomk") == 0);
}

/* ---- whose definition this is ---- */

static int define_next(struct builder *builder, const struct ast_target *target,
                       struct entity *entity)
{
    for (size_t i = 0; builder->loop && entity && i < builder->loop->carries.count; i++) {
        const struct ir_carry *carry = &builder->loop->carries.at[i];
        if (entity->kind != ENTITY_TENSOR || carry->state != entity->number)
            continue;
        if (builder->infos.at[carry->next].definitions > 0 && !target->has_indices) {
            builder_error(builder, ERROR_DEFINED_TWICE, target->place,
                          "the next '%s' is defined twice", target->name);
            return -1;
        }
        return carry->next;
    }
    struct error *error = builder_error(builder, ERROR_MISPLACED_NEXT, target->place,
                                        "no loop here carries '%s'", target->name);
    error_hint(error, "start it at the loop: loop t < T with %s = ... { ... }", target->name);
    return -1;
}

int check_define(struct builder *builder, const struct ast_target *target, bool is_next,
                 bool *fresh)
{
    struct entity *entity = builder_find(builder, target->name);
    *fresh = false;
    if (is_next)
        return define_next(builder, target, entity);
    if (!entity || (entity->kind == ENTITY_TENSOR && builder->infos.at[entity->number].closed)) {
        *fresh = true;
        return -1;
    }
    struct error *error;
    if (entity->kind != ENTITY_TENSOR) {
        error = builder_error(builder, ERROR_DUPLICATE_NAME, target->name_place,
                              "'%s' is taken and cannot be a tensor", target->name);
        error_note(error, entity->place, "defined here");
        return -1;
    }
    const struct ir_tensor *tensor = &builder->tensors.at[entity->number];
    struct tensor_info *info = &builder->infos.at[entity->number];
    if (tensor->role == IR_TENSOR_INPUT) {
        error = builder_error(builder, ERROR_INPUT_WRITTEN, target->name_place,
                              "'%s' is an input and cannot be defined", target->name);
        error_hint(error, "choose another name for the result");
        return -1;
    }
    if (tensor->role == IR_TENSOR_STATE) {
        error = builder_error(builder, ERROR_DEFINED_TWICE, target->name_place,
                              "'%s' is carried by the loop", target->name);
        error_hint(error, "its new value is written: next %s = ...", target->name);
        return -1;
    }
    bool again = info->definitions > 0;
    if (again && (info->read.source || !target->has_indices || !info->has_shape)) {
        error = builder_error(builder, ERROR_DEFINED_TWICE, target->name_place,
                              info->read.source ? "'%s' is defined further after it was read"
                                                : "'%s' is defined a second time",
                              target->name);
        error_note(error, info->read.source ? info->read : info->defined,
                   info->read.source ? "read here" : "first defined here");
        return -1;
    }
    entity->used = entity->used || tensor->role == IR_TENSOR_OUTPUT;
    return entity->number;
}

/* How many of the loops around are indexed on the left, counted from the innermost. */
static bool uses_name(const struct ast_expression *expression, const char *name)
{
    if (!expression)
        return false;
    if (expression->kind == AST_NAME && strcmp(expression->name, name) == 0)
        return true;
    for (size_t i = 0; i < expression->list.count; i++)
        if (uses_name(expression->list.at[i], name))
            return true;
    return uses_name(expression->a, name) || uses_name(expression->b, name) ||
           uses_name(expression->c, name);
}

static int loops_on_left(struct builder *builder, const struct ast_target *target)
{
    int count = 0;
    for (struct loop_scope *loop = builder->loop; loop; loop = loop->outer) {
        bool used = false;
        for (size_t i = 0; i < target->indices.count; i++)
            used |= uses_name(target->indices.at[i], builder->indices.at[loop->index].name);
        if (!used)
            break;
        count++;
    }
    return count;
}

/* Enters the definition into the books. False with an error reported. */
static bool record_definition(struct builder *builder, int tensor, const struct ast_target *target)
{
    struct tensor_info *info = &builder->infos.at[tensor];
    int depth = info->is_next ? builder->loop_depth : info->depth;
    int indexed = loops_on_left(builder, target);
    if (builder->loop_depth - indexed > depth) {
        struct error *error = builder_error(
            builder, ERROR_NOT_ONE_TO_ONE, target->place,
            "'%s' would be defined again in every iteration of the loop", target->name);
        error_hint(error, "index it by the loop's index, or carry it as a state");
        return false;
    }
    struct loop_scope *loop = builder->loop;
    for (int i = builder->loop_depth; i > depth + 1; i--)
        loop = loop->outer;
    if (builder->loop_depth > depth)
        info->pending = loop;
    info->definitions++;
    info->latest = target->place;
    if (!info->defined.source)
        info->defined = target->place;
    return true;
}

/* ---- the domain, in order ---- */

static bool place_index(struct definition *definition, struct statement_index *index);

static bool place_names(struct definition *definition, const struct ast_expression *expression)
{
    if (!expression)
        return true;
    bool good = true;
    if (expression->kind == AST_NAME) {
        struct statement_index *index = stage_find_index(&definition->stage, expression->name, -1);
        good = !index || place_index(definition, index);
    }
    for (size_t i = 0; good && i < expression->list.count; i++)
        good = place_names(definition, expression->list.at[i]);
    return good && place_names(definition, expression->a) &&
           place_names(definition, expression->b) && place_names(definition, expression->c);
}

static bool place_index(struct definition *definition, struct statement_index *index)
{
    struct stage_builder *stage = &definition->stage;
    struct builder *builder = stage->builder;
    if (index->placed && index->number < 0) {
        error_hint(builder_error(builder, ERROR_BAD_RANGE, index->place,
                                 "the range of index '%s' depends on itself", index->name),
                   "the bounds of a range use indices whose extents are known without it");
        return false;
    }
    if (index->placed)
        return true;
    index->placed = true;
    index->number = -1; /* until the bounds are known */
    const char *name = index->member < 0
                           ? index->name
                           : arena_printf(builder->arena, "%s.%d", index->name, index->member);
    struct ir_index entry = {.name = name, .low = IR_NONE, .high = IR_NONE};
    if (index->range) { /* what the range depends on comes first */
        if (!place_names(definition, index->range->low) ||
            !place_names(definition, index->range->high))
            return false;
        entry.low = check_index_value(stage, index->range->low);
        entry.high = check_index_value(stage, index->range->high);
        if (entry.low == IR_NONE || entry.high == IR_NONE)
            return false;
    } else {
        entry.extent = index->extent;
    }
    vector_push(builder->arena, &builder->indices, entry);
    builder_sync(builder);
    index->number = (int)builder->indices.count - 1;
    vector_push(builder->arena, &definition->order, index->number);
    prover_enter_index(builder->prover, &builder->part, &stage->view, index->number);
    return true;
}

static bool target_positions(struct definition *definition, size_t number,
                             struct position *positions, int *count)
{
    struct stage_builder *stage = &definition->stage;
    const struct ast_target *target = &definition->statement->targets.at[number];
    int tensor = definition->tensors[number];
    bool shaped = tensor >= 0 && stage->builder->infos.at[tensor].has_shape;
    return check_positions(stage, &target->indices,
                           shaped ? stage->builder->tensors.at[tensor].rank : -1,
                           shaped ? &stage->builder->infos.at[tensor] : NULL, target->name,
                           target->place, positions, count);
}

/* The index of a ranking: last on the left, nowhere else, not part of the domain. */
static bool set_ranking_index(struct definition *definition)
{
    struct position positions[IR_MAX_RANK];
    int count;
    struct builder *builder = definition->stage.builder;
    const struct ast_target *target = &definition->statement->targets.at[0];
    if (!target_positions(definition, 0, positions, &count))
        return false;
    const struct ast_expression *last = count > 0 ? positions[count - 1].expression : NULL;
    struct statement_index *rank = last && last->kind == AST_NAME
                                       ? stage_find_index(&definition->stage, last->name, -1)
                                       : NULL;
    if (!rank || rank->on_right) {
        struct error *error = builder_error(builder, ERROR_BAD_RANKING, target->place,
                                            "the last index on the left of %s= counts the places",
                                            definition->statement->reducer);
        error_hint(error, "for example: (v[b, k], i[b, k]) %s= (x[b, d], d)",
                   definition->statement->reducer);
        return false;
    }
    rank->placed = true;
    vector_push(builder->arena, &builder->indices,
                (struct ir_index){.name = rank->name, .extent = rank->extent});
    builder_sync(builder);
    rank->number = (int)builder->indices.count - 1;
    return true;
}

static bool order_domain(struct definition *definition)
{
    struct stage_builder *stage = &definition->stage;
    if (definition->is_ranking && !set_ranking_index(definition))
        return false;
    for (size_t t = 0; t < definition->statement->targets.count; t++) {
        struct position positions[IR_MAX_RANK];
        int count;
        if (!target_positions(definition, t, positions, &count))
            return false;
        for (int d = 0; d < count; d++) {
            if (positions[d].expression) {
                if (!place_names(definition, positions[d].expression))
                    return false;
            } else if (!place_index(definition, stage_find_index(stage, positions[d].group,
                                                                 positions[d].member))) {
                return false;
            }
        }
    }
    definition->result.left_count = (int)definition->order.count;
    for (size_t i = 0; i < stage->indices.count; i++)
        if (!place_index(definition, &stage->indices.at[i]))
            return false;
    return true;
}

/* ---- right sides ---- */

/* "index 'd' stands", "indices 'd', 'e' stand": those of the domain from `from` on. */
static const char *describe_indices(struct definition *definition, int from, struct place *place)
{
    struct stage_builder *stage = &definition->stage;
    struct text names = text_new(stage->builder->arena);
    const char *last = NULL;
    int count = 0;
    *place = definition->statement->place;
    for (size_t i = (size_t)from; i < definition->order.count; i++)
        for (size_t k = 0; k < stage->indices.count; k++) {
            const struct statement_index *index = &stage->indices.at[k];
            bool again = index->member >= 0 && last && strcmp(last, index->name) == 0;
            if (index->number != definition->order.at[i] || again)
                continue;
            if (count++ == 0)
                *place = index->place;
            text_printf(&names, "%s'%s%s'", count > 1 ? ", " : "", index->member >= 0 ? "*" : "",
                        index->name);
            last = index->name;
        }
    return arena_printf(stage->builder->arena, "%s %s %s", count == 1 ? "index" : "indices",
                        names.at, count == 1 ? "stands" : "stand");
}

/* *b of a scalar: a sum over no dimensions is a sum of one element. */
static bool has_empty_group(const struct stage_builder *stage)
{
    for (size_t i = 0; i < stage->groups.count; i++)
        if (stage->groups.at[i].count == 0)
            return true;
    return false;
}

/* Whether what is left to reduce fits the kind of statement. */
static bool check_reduced(struct definition *definition)
{
    const struct ast_statement *statement = definition->statement;
    struct builder *builder = definition->stage.builder;
    int left = definition->result.left_count, all = (int)definition->order.count;
    struct error *error;
    struct place place;
    if (statement->is_scatter)
        return true;
    if (!statement->reducer && all > left) {
        const char *those = describe_indices(definition, left, &place);
        error = builder_error(builder, ERROR_REDUCED_IN_MAP, place, "%s on the right only", those);
        error_hint(error, "to sum over it write += (or max=, ...); else put it on the left too");
        return false;
    }
    if (statement->is_scan && all > left) {
        const char *those = describe_indices(definition, left, &place);
        error = builder_error(builder, ERROR_BAD_SCAN, place,
                              "%s on the right only: a scan reduces nothing", those);
        error_hint(error, "reduce in a statement of its own, then scan");
        return false;
    }
    if (statement->reducer && !statement->is_scan && all == left &&
        !has_empty_group(&definition->stage)) {
        error = builder_error(builder, ERROR_NOTHING_REDUCED, statement->operator_place,
                              "every index stands on the left: there is nothing to reduce");
        error_hint(error, "write =, or say over what: ... over k < K");
        return false;
    }
    return true;
}

static bool check_values(struct definition *definition)
{
    const struct ast_statement *statement = definition->statement;
    struct stage_builder *stage = &definition->stage;
    struct builder *builder = stage->builder;
    definition->result.predicate = IR_NONE;
    if (statement->condition) {
        if (!statement->reducer && !statement->is_scatter) {
            struct error *error =
                builder_error(builder, ERROR_BAD_RANGE, statement->condition->place,
                              "'if' leaves elements of a map undefined");
            error_hint(error, "write c ? a : b");
            return false;
        }
        if (statement->is_scan) {
            struct error *error = builder_error(builder, ERROR_BAD_SCAN,
                                                statement->condition->place, "a scan has no 'if'");
            error_hint(error, "scan c ? x : unit instead");
            return false;
        }
        definition->result.predicate = check_condition(stage, statement->condition);
        if (definition->result.predicate == IR_NONE)
            return false;
        stage->guard = definition->result.predicate;
    }
    bool is_tuple = statement->value->kind == AST_TUPLE;
    size_t width = is_tuple ? statement->value->list.count : 1;
    if (width != statement->targets.count || width > CHECK_MAX_WIDTH) {
        struct error *error = builder_error(
            builder, ERROR_TUPLE_WIDTH, statement->value->place,
            "%zu tensor%s on the left, %zu value%s on the right", statement->targets.count,
            statement->targets.count == 1 ? "" : "s", width, width == 1 ? "" : "s");
        error_hint(error, "write as many on both sides: (v[b], k[b]) argmax= (x[b, d], d)");
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < width; i++) {
        const struct ast_expression *value =
            is_tuple ? statement->value->list.at[i] : statement->value;
        definition->values[i] = check_value(stage, value);
        good &= definition->values[i] != IR_NONE;
    }
    definition->width = (int)width;
    return good;
}

/* The type each component is combined in, and the monoid. */
static bool check_reducer(struct definition *definition)
{
    const struct ast_statement *statement = definition->statement;
    struct stage_builder *stage = &definition->stage;
    enum dtype types[CHECK_MAX_WIDTH];
    if (!statement->reducer)
        return true;
    for (int i = 0; i < definition->width; i++) {
        types[i] = stage_type(stage, definition->values[i]);
        int tensor = definition->tensors[i];
        bool typed = tensor >= 0 && stage->builder->tensors.at[tensor].declared;
        enum dtype wanted =
            typed ? dtype_compute(stage->builder->tensors.at[tensor].dtype) : types[i];
        if (types[i] == DTYPE_I64 && dtype_is_float(wanted))
            types[i] = wanted; /* integers summed into a float tensor */
    }
    definition->monoid = check_monoid(stage->builder, statement->reducer, statement->operator_place,
                                      types, definition->width);
    if (!definition->monoid)
        return false;
    for (int i = 0; i < definition->width; i++)
        definition->values[i] = stage_convert(stage, definition->values[i], types[i]);
    return true;
}

/* ---- left sides ---- */

static bool fresh_shape(struct definition *definition, size_t number,
                        const struct position *positions, int count, const struct ir_size **dims)
{
    struct stage_builder *stage = &definition->stage;
    struct builder *builder = stage->builder;
    const struct ast_target *target = &definition->statement->targets.at[number];
    for (int d = 0; d < count; d++) {
        const struct ast_expression *expression = positions[d].expression;
        struct statement_index *index = NULL;
        if (!expression)
            index = stage_find_index(stage, positions[d].group, positions[d].member);
        else if (expression->kind == AST_NAME)
            index = stage_find_index(stage, expression->name, -1);
        struct entity *entity = expression && expression->kind == AST_NAME && !index
                                    ? builder_find(builder, expression->name)
                                    : NULL;
        if (index && index->extent)
            dims[d] = index->extent;
        else if (entity && entity->kind == ENTITY_INDEX)
            dims[d] = builder->indices.at[entity->number].extent;
        else {
            struct error *error = builder_error(
                builder, ERROR_SHAPE_UNKNOWN, expression ? expression->place : target->place,
                "the shape of '%s' does not follow from this", target->name);
            error_hint(error, "declare it above: %s: f32[...], or without a type: %s: [...]",
                       target->name, target->name);
            return false;
        }
    }
    return true;
}

static int make_fresh(struct definition *definition, size_t number,
                      const struct position *positions, int count)
{
    struct builder *builder = definition->stage.builder;
    const struct ast_target *target = &definition->statement->targets.at[number];
    const struct ir_size **dims = arena_array(builder->arena, (size_t)count + 1, sizeof *dims);
    int *layout = arena_array(builder->arena, target->indices.count + 1, sizeof *layout);
    if (!fresh_shape(definition, number, positions, count, dims))
        return -1;
    enum dtype type = stage_type(&definition->stage, definition->values[number]);
    int tensor =
        builder_temporary(builder, target->name, type, false, count, dims, target->name_place);
    struct tensor_info *info = &builder->infos.at[tensor];
    for (size_t i = 0; i < target->indices.count; i++) {
        const struct ast_expression *index = target->indices.at[i];
        int members = 0;
        for (int d = 0; d < count; d++)
            members += positions[d].group && index->kind == AST_GROUP &&
                       strcmp(positions[d].group, index->name) == 0;
        layout[i] = index->kind == AST_GROUP ? (members ? members : -1) : 0;
    }
    info->layout = layout;
    info->layout_count = (int)target->indices.count;
    info->depth = builder->loop_depth - loops_on_left(builder, target);
    info->defined = (struct place){0};
    builder_add(builder, ENTITY_TENSOR, target->name, target->name_place, tensor);
    return tensor;
}

static bool write_is_inside(struct definition *definition, int tensor, int dim, int at,
                            const struct ast_target *target)
{
    struct stage_builder *stage = &definition->stage;
    struct builder *builder = stage->builder;
    struct prover_mark mark = prover_mark(builder->prover);
    if (definition->result.predicate != IR_NONE)
        prover_assume_node(builder->prover, &builder->part, &stage->view,
                           definition->result.predicate, true);
    bool shown = prover_shows_within(builder->prover, &builder->part, &stage->view, at,
                                     builder->tensors.at[tensor].dims[dim]);
    prover_return(builder->prover, mark);
    if (shown)
        return true;
    struct text extent = text_new(builder->arena), last = text_new(builder->arena);
    builder_print_size(builder, &extent, builder->tensors.at[tensor].dims[dim]);
    builder_print_last(builder, &last, builder->tensors.at[tensor].dims[dim]);
    if (!definition->statement->is_scatter) { /* the numbers of a case will tell */
        builder_doubt(builder, ERROR_WRITE_OUT_OF_BOUNDS, target->place,
                      arena_printf(builder->arena,
                                   "'%s' may be written out of bounds: index %d is not shown to be "
                                   "in 0 .. %s",
                                   target->name, dim + 1, last.at),
                      "add a fact (where ...), or a task with cases, for which it is then checked");
        return true;
    }
    struct error *error =
        builder_error(builder, ERROR_WRITE_OUT_OF_BOUNDS, target->place,
                      "'%s' may be written out of bounds: index %d is not shown to be in 0 .. %s",
                      target->name, dim + 1, last.at);
    error_hint(error,
               "declare the index tensor `~ index(%s)`, or leave points out: over ... if ...",
               extent.at);
    return false;
}

static bool check_target(struct definition *definition, size_t number, struct ir_write *write)
{
    struct stage_builder *stage = &definition->stage;
    struct builder *builder = stage->builder;
    const struct ast_target *target = &definition->statement->targets.at[number];
    struct position positions[IR_MAX_RANK];
    int count;
    if (!target_positions(definition, number, positions, &count))
        return false;
    int tensor = definition->tensors[number];
    if (definition->fresh[number]) {
        tensor = make_fresh(definition, number, positions, count);
        if (tensor < 0)
            return false;
        definition->tensors[number] = tensor;
    }
    int *at = arena_array(builder->arena, (size_t)count + 1, sizeof *at);
    int written = definition->is_ranking ? count - 1 : count;
    for (int d = 0; d < written; d++) {
        at[d] = IR_NONE;
        if (positions[d].expression) {
            at[d] = check_index_value(stage, positions[d].expression);
        } else {
            struct statement_index *index =
                stage_find_index(stage, positions[d].group, positions[d].member);
            at[d] = stage_node(stage, (struct ir_node){.op = IR_INDEX,
                                                       .type = DTYPE_I64,
                                                       .a = IR_NONE,
                                                       .b = IR_NONE,
                                                       .c = IR_NONE,
                                                       .index = index->number});
        }
        if (at[d] == IR_NONE || !write_is_inside(definition, tensor, d, at[d], target))
            return false;
    }
    const struct ir_tensor *entry = &builder->tensors.at[tensor];
    bool typed = entry->declared || !definition->fresh[number];
    int value = definition->values[number];
    if (typed) {
        struct place place = definition->statement->value->place;
        value = stage_store(stage, value, entry->dtype, place, target->name);
    }
    if (value == IR_NONE)
        return false;
    struct entity *entity = builder_find(builder, target->name);
    if (entity && definition->width > 1) /* often only one component is wanted */
        entity->used = true;
    *write = (struct ir_write){tensor, at, value};
    return record_definition(builder, tensor, target);
}

/* An undeclared shape takes its type from its first definition. */
static void adopt_type(struct definition *definition, size_t number)
{
    struct builder *builder = definition->stage.builder;
    int tensor = definition->tensors[number];
    if (tensor < 0 || definition->fresh[number])
        return;
    struct ir_tensor *entry = &builder->tensors.at[tensor];
    if (!entry->declared && builder->infos.at[tensor].definitions == 0 &&
        entry->role == IR_TENSOR_TEMPORARY && !builder->infos.at[tensor].is_next)
        entry->dtype = stage_type(&definition->stage, definition->values[number]);
}

/* ---- kinds ---- */

static bool finish_scan(struct definition *definition)
{
    const struct ast_statement *statement = definition->statement;
    struct stage_builder *stage = &definition->stage;
    struct builder *builder = stage->builder;
    definition->result.kind = IR_SCAN;
    definition->result.reverse = statement->reverse;
    definition->result.exclusive = statement->exclusive;
    if (definition->order.count == 0) {
        builder_error(builder, ERROR_BAD_SCAN, statement->place,
                      "a scan needs an index to run along");
        return false;
    }
    definition->result.along = definition->order.at[definition->order.count - 1];
    if (!statement->along.name)
        return true;
    struct statement_index *index = stage_find_index(stage, statement->along.name, -1);
    if (!index || index->range) {
        struct error *error = builder_error(builder, ERROR_BAD_SCAN, statement->along.place,
                                            "'%s' is no index of this scan", statement->along.name);
        struct place ignored;
        error_hint(error, "it must run along one of its own: %s on the left",
                   describe_indices(definition, 0, &ignored));
        return false;
    }
    definition->result.along = index->number;
    return true;
}

static bool finish_scatter(struct definition *definition)
{
    const struct ast_statement *statement = definition->statement;
    struct builder *builder = definition->stage.builder;
    definition->result.kind = IR_SCATTER;
    definition->result.left_count = (int)definition->order.count;
    definition->result.assign = statement->reducer == NULL;
    if (definition->width != 1 || definition->is_ranking) {
        struct error *error = builder_error(builder, ERROR_BAD_SCATTER, statement->place,
                                            "a scatter writes one value at a time");
        error_hint(error, "write one scatter for each tensor");
        return false;
    }
    if (!statement->from.name) {
        if (statement->reducer)
            return true;
        struct error *error = builder_error(builder, ERROR_BAD_SCATTER, statement->place,
                                            "elements that are not written have no value");
        error_hint(error, "say where they come from: scatter y[...] = ... from y0");
        return false;
    }
    int from = check_tensor(builder, statement->from.name, statement->from.place, NULL);
    if (from < 0)
        return false;
    const struct ir_tensor *a = &builder->tensors.at[from];
    const struct ir_tensor *b = &builder->tensors.at[definition->tensors[0]];
    if (!check_readable(builder, from, statement->from.place))
        return false;
    if (dtype_compute(a->dtype) != dtype_compute(b->dtype)) {
        builder_error(builder, ERROR_BAD_SCATTER, statement->from.place,
                      "'%s' holds %s, '%s' starts from it and holds %s", a->name,
                      dtype_name(a->dtype), b->name, dtype_name(b->dtype));
        return false;
    }
    bool fits = a->rank == b->rank;
    for (int d = 0; fits && d < a->rank; d++)
        fits = builder_same_size(builder, a->dims[d], b->dims[d]);
    if (!fits) {
        struct text is = text_new(builder->arena), must = text_new(builder->arena);
        builder_print_shape(builder, &is, from);
        builder_print_shape(builder, &must, definition->tensors[0]);
        builder_error(builder, ERROR_BAD_SCATTER, statement->from.place,
                      "'%s' has the shape %s, '%s' starts from it and has %s", a->name, is.at,
                      b->name, must.at);
        return false;
    }
    definition->result.from = from;
    return true;
}

static bool modifiers_fit(struct builder *builder, const struct ast_statement *statement)
{
    struct error *error;
    if ((statement->reverse || statement->exclusive || statement->along.name) &&
        !statement->is_scan) {
        error = builder_error(builder, ERROR_BAD_SCAN, statement->place,
                              "'rev', 'excl' and 'along' belong to a scan");
        error_hint(error, "write: y[n, t] scan += x[n, t] rev");
        return false;
    }
    if (statement->is_scan && !statement->reducer) {
        error = builder_error(builder, ERROR_BAD_SCAN, statement->operator_place,
                              "a scan combines: = does not");
        error_hint(error, "write scan +=, scan max=, or a monoid's name");
        return false;
    }
    if (statement->is_scan && is_ranking(statement->reducer)) {
        builder_error(builder, ERROR_BAD_SCAN, statement->operator_place, "'%s' cannot be scanned",
                      statement->reducer);
        return false;
    }
    if (statement->from.name && !statement->is_scatter) {
        error = builder_error(builder, ERROR_BAD_SCATTER, statement->from.place,
                              "'from' belongs to a scatter");
        error_hint(error, "write: scatter y[ids[e]] += x[e] from y0");
        return false;
    }
    if (statement->is_scatter && (statement->is_scan || statement->is_next)) {
        builder_error(builder, ERROR_BAD_SCATTER, statement->place,
                      "a scatter is neither a scan nor a 'next'");
        return false;
    }
    return true;
}

static void finish_definition(struct definition *definition)
{
    const struct ast_statement *statement = definition->statement;
    struct stage_builder *stage = &definition->stage;
    struct builder *builder = stage->builder;
    struct ir_write *writes =
        arena_array(builder->arena, (size_t)definition->width, sizeof *writes);
    for (int i = 0; i < definition->width; i++) {
        adopt_type(definition, (size_t)i);
        if (!check_target(definition, (size_t)i, &writes[i]))
            return;
    }
    struct ir_stage *result = &definition->result;
    result->kind = statement->reducer ? IR_REDUCE : IR_MAP;
    result->from = IR_NONE;
    result->along = IR_NONE;
    result->place = statement->place;
    if ((statement->is_scan && !finish_scan(definition)) ||
        (statement->is_scatter && !finish_scatter(definition)))
        return;
    result->indices = definition->order.at;
    result->index_count = (int)definition->order.count;
    result->nodes = stage->view;
    result->writes = writes;
    result->write_count = definition->width;
    result->monoid = definition->monoid;
    for (int i = 0; !statement->is_scatter && i < definition->width; i++) {
        struct text why = text_new(builder->arena);
        if (ir_injective(builder->prover, &builder->part, result, i, &why))
            continue;
        struct error *error = builder_error(
            builder, ERROR_NOT_ONE_TO_ONE, statement->targets.at[i].place,
            "elements of '%s' may be written more than once", statement->targets.at[i].name);
        error_detail(error, "%s", why.at);
        bool by_data = false;
        for (size_t k = 0; k < statement->targets.at[i].indices.count; k++)
            by_data |= statement->targets.at[i].indices.at[k]->kind == AST_READ;
        error_hint(error,
                   by_data ? "to write where data says: scatter %s[...] += ..."
                           : "each index of %s stands on the left once, alone or as in "
                             "g*O + o",
                   statement->targets.at[i].name);
        return;
    }
    builder_stage(builder, result);
}

void check_poison(struct builder *builder, const struct ast_statement *statement)
{
    for (size_t i = 0; i < statement->targets.count; i++) {
        const struct ast_target *target = &statement->targets.at[i];
        struct entity *entity = builder_find(builder, target->name);
        bool is_tensor = entity && (entity->kind == ENTITY_TENSOR || entity->kind == ENTITY_LIST);
        if (!is_tensor ||
            (entity->kind == ENTITY_TENSOR && builder->infos.at[entity->number].closed))
            builder_add(builder, ENTITY_FAILED, target->name, target->name_place, 0);
        else if (entity->kind == ENTITY_TENSOR &&
                 builder->tensors.at[entity->number].role != IR_TENSOR_INPUT)
            builder->infos.at[entity->number].definitions++;
        bool is_state = entity && entity->kind == ENTITY_TENSOR && builder->loop;
        for (size_t c = 0; is_state && c < builder->loop->carries.count; c++)
            if (builder->loop->carries.at[c].state == entity->number)
                builder->infos.at[builder->loop->carries.at[c].next].definitions++;
    }
}

bool check_is_poisoned(struct builder *builder, const struct ast_expression *expression)
{
    if (!expression)
        return false;
    bool named = expression->kind == AST_NAME || expression->kind == AST_READ;
    struct entity *entity = named ? builder_find(builder, expression->name) : NULL;
    if (entity && entity->kind == ENTITY_FAILED)
        return true;
    for (size_t i = 0; i < expression->list.count; i++)
        if (check_is_poisoned(builder, expression->list.at[i]))
            return true;
    return check_is_poisoned(builder, expression->a) || check_is_poisoned(builder, expression->b) ||
           check_is_poisoned(builder, expression->c);
}

static bool statement_is_poisoned(struct builder *builder, const struct ast_statement *statement)
{
    bool poisoned = check_is_poisoned(builder, statement->value) ||
                    check_is_poisoned(builder, statement->condition);
    for (size_t i = 0; i < statement->over.count; i++)
        poisoned |= check_is_poisoned(builder, statement->over.at[i].low) ||
                    check_is_poisoned(builder, statement->over.at[i].high);
    for (size_t i = 0; i < statement->targets.count; i++) {
        struct entity *entity = builder_find(builder, statement->targets.at[i].name);
        poisoned |= entity && entity->kind == ENTITY_FAILED;
    }
    return poisoned;
}

static void define(struct builder *builder, const struct ast_statement *statement)
{
    struct definition *definition = arena_new(builder->arena, struct definition);
    definition->statement = statement;
    stage_builder_init(&definition->stage, builder);
    definition->is_ranking = is_ranking(statement->reducer);
    if (!modifiers_fit(builder, statement))
        return;
    if (statement->targets.count > CHECK_MAX_WIDTH) {
        builder_error(builder, ERROR_TOO_MANY, statement->place, "more than %d components",
                      CHECK_MAX_WIDTH);
        return;
    }
    for (size_t i = 0; i < statement->targets.count; i++) {
        definition->tensors[i] = check_define(builder, &statement->targets.at[i],
                                              statement->is_next, &definition->fresh[i]);
        if (definition->tensors[i] < 0 && !definition->fresh[i])
            return;
    }
    struct prover_mark mark = prover_mark(builder->prover);
    /* The name of a state stands for its shape: `next h[b, j]` has the shape of h. */
    if (check_domain(&definition->stage, statement) && order_domain(definition) &&
        check_reduced(definition) && check_values(definition) && check_reducer(definition))
        finish_definition(definition);
    prover_return(builder->prover, mark);
}

/* ---- declarations, each, and the list of statements ---- */

static void declare(struct builder *builder, const struct ast_declaration *declaration)
{
    for (size_t i = 0; i < declaration->names.count; i++) {
        const struct ast_name *name = &declaration->names.at[i];
        struct entity *entity = builder_find(builder, name->name);
        bool closed =
            entity && entity->kind == ENTITY_TENSOR && builder->infos.at[entity->number].closed;
        if (entity && !closed) {
            struct error *error = builder_error(builder, ERROR_DUPLICATE_NAME, name->place,
                                                "'%s' is defined already", name->name);
            error_note(error, entity->place, "first defined here");
            continue;
        }
        struct entity *failed = builder_add(builder, ENTITY_FAILED, name->name, name->place, 0);
        failed->used = true;
        struct ir_tensor tensor = {.name = name->name,
                                   .role = IR_TENSOR_TEMPORARY,
                                   .dtype = DTYPE_F32,
                                   .declared = declaration->type != NULL,
                                   .place = name->place};
        struct tensor_info info = {.depth = builder->loop_depth};
        if (declaration->type &&
            !check_type(builder, declaration->type, declaration->type_place, &tensor.dtype))
            continue;
        if (!check_dims(builder, &declaration->dims, 0, &tensor, &info))
            continue;
        int number = builder_tensor(builder, tensor, info);
        builder_drop(builder, name->name);
        builder_add(builder, ENTITY_TENSOR, name->name, name->place, number);
    }
}

static void each(struct builder *builder, const struct ast_statement *statement)
{
    struct entity *list = builder_find(builder, statement->list.name);
    bool counted = list && (list->kind == ENTITY_LIST || list->kind == ENTITY_EACH ||
                            list->kind == ENTITY_RANK);
    if (!counted) {
        struct error *error = builder_error(builder, ERROR_BAD_LIST, statement->list.place,
                                            "'%s' is no list", statement->list.name);
        error_hint(error, "`each` runs over a list input, declared as xs: T[N]...");
        return;
    }
    list->used = true;
    for (int k = 0; k < list->count; k++) {
        size_t before = builder->errors->said;
        struct entity *entity =
            builder_add(builder, ENTITY_STATIC, statement->index.name, statement->index.place, k);
        entity->used = true;
        check_statements(builder, &statement->body);
        builder_drop(builder, statement->index.name);
        if (builder->errors->said > before)
            return; /* the other members would say the same again */
    }
}

void check_statement(struct builder *builder, const struct ast_statement *statement)
{
    switch (statement->kind) {
    case AST_DECLARE: declare(builder, &statement->declaration); break;
    case AST_LOOP: check_loop(builder, statement); break;
    case AST_EACH: each(builder, statement); break;
    case AST_DEFINE: {
        size_t before = builder->errors->said;
        builder->statement = statement;
        if (statement_is_poisoned(builder, statement)) {
            check_poison(builder, statement);
            break;
        }
        bool indexed = statement->reducer || statement->is_scatter || statement->is_scan;
        for (size_t i = 0; i < statement->targets.count; i++)
            indexed |= statement->targets.at[i].has_indices;
        if (indexed)
            define(builder, statement);
        else
            check_whole(builder, statement);
        if (builder->errors->said > before)
            check_poison(builder, statement);
        break;
    }
    }
}

void check_statements(struct builder *builder, const struct ast_statements *statements)
{
    for (size_t i = 0; i < statements->count; i++)
        check_statement(builder, &statements->at[i]);
}
