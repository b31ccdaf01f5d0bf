/*
 * Statements with indices: maps, reductions, scans and scatters.
 */
#include <string.h>

#include "lang/check_definition.h"

static bool is_ranking(const char *reducer)
{
    return reducer && (strcmp(reducer, "topk") == 0 || strcmp(reducer, "bottomk") == 0);
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
        struct entity *entity = NULL; /* x[ids] for x[ids[i]] */
        for (size_t i = 0; !entity && i < definition->stage.indices.count; i++)
            if (!definition->stage.indices.at[i].on_left)
                entity = builder_find(builder, definition->stage.indices.at[i].name);
        if (entity && entity->kind == ENTITY_TENSOR)
            error_hint(error, "if the tensor '%s' is meant, write its indices: %s[...]",
                       entity->name, entity->name);
        else
            error_hint(error,
                       "to sum over it write += (or max=, ...); else put it on the left too");
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
        error_hint(builder_error(builder, ERROR_BAD_SCAN, statement->place,
                                 "a scan needs an index to run along"),
                   "write one on both sides: y[t] scan += x[t]");
        return false;
    }
    definition->result.along = definition->order.at[definition->order.count - 1];
    if (!statement->along.name)
        return true;
    struct statement_index *index = stage_find_index(stage, statement->along.name, -1);
    if (!index || !index->on_left) {
        struct error *error = builder_error(builder, ERROR_BAD_SCAN, statement->along.place,
                                            "'%s' is no index of this scan", statement->along.name);
        error_hint(error, "name an index of the left side: y[n, t] scan += x[n, t] along t");
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
    for (int i = 0; i < definition->width; i++)
        if (!target_write(definition, (size_t)i, &writes[i]))
            return;
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

void check_definition(struct builder *builder, const struct ast_statement *statement)
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
