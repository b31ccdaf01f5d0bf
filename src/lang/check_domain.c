/*
 * The indices of a statement and how far each runs.
 *
 * An extent comes from `over`, from a bare use in a tensor of known shape, or from a dimension
 * written G*O that is indexed g*O + o. What stays open is an error.
 */
#include <string.h>

#include "lang/check.h"

/* ---- finding the indices ---- */

static struct statement_index *note_index(struct stage_builder *stage, const char *name,
                                          struct place place)
{
    struct statement_index *index = stage_find_index(stage, name, -1);
    if (index)
        return index;
    index = vector_add(stage->builder->arena, &stage->indices);
    *index = (struct statement_index){.name = name, .member = -1, .place = place, .number = -1};
    return index;
}

static void note_group(struct stage_builder *stage, const char *name, struct place place)
{
    for (size_t i = 0; i < stage->groups.count; i++)
        if (strcmp(stage->groups.at[i].name, name) == 0)
            return;
    vector_push(stage->builder->arena, &stage->groups, (struct group){name, -1, place});
}

static void collect_name(struct stage_builder *stage, const struct ast_expression *expression,
                         bool bracketed, bool left)
{
    struct entity *entity = builder_find(stage->builder, expression->name);
    bool is_value = entity && (entity->kind == ENTITY_SYMBOL || entity->kind == ENTITY_SCALAR ||
                               entity->kind == ENTITY_INDEX || entity->kind == ENTITY_STATIC);
    if (is_value || (entity && !bracketed))
        return;
    struct statement_index *index = note_index(stage, expression->name, expression->place);
    index->bracketed |= bracketed;
    index->on_left |= left;
    index->on_right |= !left;
}

static void collect(struct stage_builder *stage, const struct ast_expression *expression,
                    bool bracketed, bool left)
{
    if (!expression)
        return;
    if (expression->kind == AST_NAME)
        collect_name(stage, expression, bracketed, left);
    else if (expression->kind == AST_GROUP)
        note_group(stage, expression->name, expression->place);
    struct entity *entity =
        expression->kind == AST_READ ? builder_find(stage->builder, expression->name) : NULL;
    bool is_size = (entity && (entity->kind == ENTITY_EACH || entity->kind == ENTITY_RANK)) ||
                   (expression->kind == AST_CALL &&
                    (strcmp(expression->name, "sum") == 0 || strcmp(expression->name, "len") == 0));
    for (size_t i = 0; !is_size && i < expression->list.count; i++)
        collect(stage, expression->list.at[i], bracketed || expression->kind == AST_READ, left);
    bool is_read = expression->kind == AST_READ;
    collect(stage, expression->a, bracketed && !is_read, left);
    collect(stage, expression->b, bracketed, left);
    collect(stage, expression->c, bracketed, left);
}

/* ---- visiting the reads ---- */

typedef void read_visitor(struct stage_builder *stage, const struct ast_expression *read,
                          void *context);

static void visit_reads(struct stage_builder *stage, const struct ast_expression *expression,
                        read_visitor *visitor, void *context)
{
    if (!expression)
        return;
    for (size_t i = 0; i < expression->list.count; i++)
        visit_reads(stage, expression->list.at[i], visitor, context);
    visit_reads(stage, expression->a, visitor, context);
    visit_reads(stage, expression->b, visitor, context);
    visit_reads(stage, expression->c, visitor, context);
    if (expression->kind == AST_READ)
        visitor(stage, expression, context);
}

/* The tensor of a read without reporting anything: what is wrong with it is said later. */
static int quiet_tensor(struct builder *builder, const char *name,
                        const struct ast_expression *element)
{
    struct entity *entity = builder_find(builder, name);
    if (!entity)
        return -1;
    if (entity->kind == ENTITY_TENSOR && !element)
        return builder->infos.at[entity->number].closed ? -1 : entity->number;
    if (entity->kind != ENTITY_LIST || !element)
        return -1;
    struct entity *member = element->kind == AST_NAME ? builder_find(builder, element->name) : NULL;
    int64_t number = element->kind == AST_INTEGER              ? element->integer
                     : member && member->kind == ENTITY_STATIC ? member->number
                                                               : -1;
    return number >= 0 && number < entity->count ? entity->number + (int)number : -1;
}

/* ---- groups ---- */

static void count_groups_in_read(struct stage_builder *stage, const struct ast_expression *read,
                                 void *context)
{
    bool *good = context;
    int tensor = quiet_tensor(stage->builder, read->name, read->element);
    bool grouped = false;
    for (size_t i = 0; i < read->list.count; i++)
        grouped |= read->list.at[i]->kind == AST_GROUP;
    if (tensor < 0 || !grouped || !*good)
        return;
    struct position positions[IR_MAX_RANK];
    int count, rank = stage->builder->tensors.at[tensor].rank;
    size_t open = 0;
    for (size_t i = 0; i < stage->groups.count; i++)
        open += stage->groups.at[i].count < 0;
    struct errors scratch = errors_new(stage->builder->arena);
    struct errors *errors = stage->builder->errors;
    if (open > 1) /* another read may settle it */
        stage->builder->errors = &scratch;
    *good = check_positions(stage, &read->list, rank, &stage->builder->infos.at[tensor], read->name,
                            read->place, positions, &count) ||
            open > 1;
    stage->builder->errors = errors;
}

static bool count_groups(struct stage_builder *stage, const struct ast_statement *statement)
{
    struct builder *builder = stage->builder;
    bool good = true;
    for (size_t i = 0; i < statement->over.count; i++) {
        const struct ast_domain *domain = &statement->over.at[i];
        if (!domain->is_group)
            continue;
        note_group(stage, domain->name, domain->place);
        struct entity *entity = builder_find(builder, domain->high->name);
        if (!entity || entity->kind != ENTITY_RANK) {
            struct error *error = builder_error(builder, ERROR_UNDEFINED_NAME, domain->high->place,
                                                "unknown sizes '*%s'", domain->high->name);
            error_hint(error, "write the name that stands in an input, as in x: T[*B, D]");
            return false;
        }
        entity->used = true;
        for (size_t k = 0; k < stage->groups.count; k++)
            if (strcmp(stage->groups.at[k].name, domain->name) == 0)
                stage->groups.at[k].count = entity->count;
    }
    visit_reads(stage, statement->value, count_groups_in_read, &good);
    visit_reads(stage, statement->condition, count_groups_in_read, &good);
    for (size_t i = 0; i < statement->targets.count && good; i++) {
        const struct ast_target *target = &statement->targets.at[i];
        int tensor = quiet_tensor(builder, target->name, NULL);
        struct position positions[IR_MAX_RANK];
        int count;
        bool shaped = tensor >= 0 && builder->infos.at[tensor].has_shape;
        if (shaped)
            good = check_positions(stage, &target->indices, builder->tensors.at[tensor].rank,
                                   &builder->infos.at[tensor], target->name, target->place,
                                   positions, &count);
    }
    for (size_t i = 0; i < stage->groups.count && good; i++) {
        struct group *group = &stage->groups.at[i];
        if (group->count < 0) {
            struct error *error =
                builder_error(builder, ERROR_OPEN_EXTENT, group->place,
                              "how many indices *%s stands for follows from nothing", group->name);
            error_hint(error, "use it in a tensor of known shape, or write: over *%s < *B",
                       group->name);
            return false;
        }
        for (int k = 0; k < group->count; k++) {
            struct statement_index *index = vector_add(builder->arena, &stage->indices);
            *index = (struct statement_index){.name = group->name,
                                              .member = k,
                                              .place = group->place,
                                              .bracketed = true,
                                              .number = -1};
        }
    }
    return good;
}

/* ---- extents from `over` ---- */

static bool set_explicit(struct stage_builder *stage, struct statement_index *index,
                         const struct ir_size *extent, struct place place)
{
    if (index->explicit_extent || index->range) {
        builder_error(stage->builder, ERROR_DUPLICATE_NAME, place, "index '%s' is bounded twice",
                      index->name);
        return false;
    }
    index->extent = extent;
    index->explicit_extent = true;
    index->extent_place = place;
    index->extent_from = "`over`";
    return extent != NULL;
}

/* Whether a bound reads a tensor or uses an index of the statement. */
static bool depends(struct stage_builder *stage, const struct ast_expression *expression)
{
    if (!expression)
        return false;
    if (expression->kind == AST_READ)
        return quiet_tensor(stage->builder, expression->name, expression->element) >= 0;
    if (expression->kind == AST_NAME && !builder_find(stage->builder, expression->name) &&
        stage_find_index(stage, expression->name, -1))
        return true;
    return depends(stage, expression->a) || depends(stage, expression->b);
}

static bool take_over(struct stage_builder *stage, const struct ast_domain *domain)
{
    struct builder *builder = stage->builder;
    if (domain->is_group) {
        struct entity *entity = builder_find(builder, domain->high->name);
        for (int k = 0; k < entity->count; k++) {
            struct statement_index *index = stage_find_index(stage, domain->name, k);
            if (index &&
                !set_explicit(stage, index, ir_size_symbol(builder->arena, entity->number + k),
                              domain->place))
                return false;
        }
        return true;
    }
    struct entity *entity = builder_find(builder, domain->name);
    if (entity && entity->kind != ENTITY_TENSOR && entity->kind != ENTITY_LIST) {
        struct error *error = builder_error(builder, ERROR_DUPLICATE_NAME, domain->place,
                                            "'%s' is taken and cannot be an index", domain->name);
        error_note(error, entity->place, "defined here");
        return false;
    }
    struct statement_index *index = note_index(stage, domain->name, domain->place);
    index->bracketed = true;
    if (!domain->low && depends(stage, domain->high)) {
        struct error *error = builder_error(builder, ERROR_BAD_SIZE, domain->high->place,
                                            "this bound is no size: it depends on %s",
                                            domain->high->kind == AST_READ ? "data" : "an index");
        struct text bound = text_new(builder->arena);
        ast_print_expression(&bound, domain->high);
        error_hint(error, "write a range: over %s in 0 .. %s", domain->name, bound.at);
        return false;
    }
    if (!domain->low)
        return set_explicit(stage, index, check_size(builder, domain->high), domain->place);
    if (index->range || index->explicit_extent) {
        builder_error(builder, ERROR_DUPLICATE_NAME, domain->place, "index '%s' is bounded twice",
                      index->name);
        return false;
    }
    index->range = domain;
    return true;
}

/* ---- extents from bare uses ---- */

static bool take_extent(struct stage_builder *stage, struct statement_index *index,
                        const struct ir_size *extent, struct place place, const char *from)
{
    struct builder *builder = stage->builder;
    if (index->range || index->explicit_extent)
        return true;
    if (!index->extent) {
        index->extent = extent;
        index->extent_place = place;
        index->extent_from = from;
        return true;
    }
    if (builder_same_size(builder, index->extent, extent))
        return true;
    struct text one = text_new(builder->arena), other = text_new(builder->arena);
    builder_print_size(builder, &one, index->extent);
    builder_print_size(builder, &other, extent);
    struct error *error = builder_error(
        builder, ERROR_EXTENT_MISMATCH, place,
        "index '%s%s' runs to %s here (%s), but to %s elsewhere (%s)", index->member < 0 ? "" : "*",
        index->name, other.at, from, one.at, index->extent_from);
    error_note(error, index->extent_place, "the other use");
    int64_t a, b;
    if (index->member >= 0)
        error_hint(error,
                   "if the sizes are always equal, give them the same name in the signature");
    else if (poly_is_constant(builder_poly(builder, index->extent), &a) &&
             poly_is_constant(builder_poly(builder, extent), &b))
        error_hint(error, "use two indices, or say how far this one runs: ... over %s < %lld",
                   index->name, (long long)(a < b ? a : b));
    else
        error_hint(error, "say how far: over %s < %s; or, if they are always equal: where %s == %s",
                   index->name, one.at, one.at, other.at);
    return false;
}

struct extents {
    bool good;
    const struct ast_expression *skip[2]; /* bounds of a range */
};

static void take_bare(struct stage_builder *stage, int tensor, const struct position *positions,
                      int count, struct place place, bool *good)
{
    struct builder *builder = stage->builder;
    const struct ir_tensor *entry = &builder->tensors.at[tensor];
    for (int d = 0; d < count && *good; d++) {
        const struct ast_expression *expression = positions[d].expression;
        struct statement_index *index = NULL;
        if (!expression)
            index = stage_find_index(stage, positions[d].group, positions[d].member);
        else if (expression->kind == AST_NAME)
            index = stage_find_index(stage, expression->name, -1);
        if (index)
            *good = take_extent(
                stage, index, entry->dims[d], expression ? expression->place : place,
                arena_printf(builder->arena, "dimension %d of '%s'", d + 1, entry->name));
    }
}

static void bare_read(struct stage_builder *stage, const struct ast_expression *read, void *context)
{
    struct extents *extents = context;
    int tensor = quiet_tensor(stage->builder, read->name, read->element);
    if (tensor < 0 || !extents->good || read == extents->skip[0] || read == extents->skip[1])
        return;
    struct position positions[IR_MAX_RANK];
    int count;
    extents->good = check_positions(stage, &read->list, stage->builder->tensors.at[tensor].rank,
                                    &stage->builder->infos.at[tensor], read->name, read->place,
                                    positions, &count);
    if (extents->good)
        take_bare(stage, tensor, positions, count, read->place, &extents->good);
}

/* off[s] .. off[s+1]: s runs over the segments, one fewer than there are offsets. */
static bool take_segments(struct stage_builder *stage, const struct ast_domain *domain)
{
    const struct ast_expression *low = domain->low, *high = domain->high;
    if (low->kind != AST_READ || high->kind != AST_READ || strcmp(low->name, high->name) != 0 ||
        low->list.count != 1 || high->list.count != 1 || low->list.at[0]->kind != AST_NAME)
        return false;
    const struct ast_expression *next = high->list.at[0], *segment = low->list.at[0];
    bool follows = next->kind == AST_BINARY &&
                   next->operator== AST_ADD && next->a->kind == AST_NAME &&
                       strcmp(next->a->name, segment->name) == 0 &&
                   next->b->kind == AST_INTEGER && next->b->integer == 1;
    struct statement_index *index = stage_find_index(stage, segment->name, -1);
    int tensor = quiet_tensor(stage->builder, low->name, NULL);
    if (!follows || !index || tensor < 0 || stage->builder->tensors.at[tensor].rank != 1)
        return false;
    if (index->extent || index->range)
        return true;
    struct builder *builder = stage->builder;
    const struct poly *offsets = builder_poly(builder, builder->tensors.at[tensor].dims[0]);
    const struct poly *segments =
        poly_subtract(builder->prover, offsets, poly_constant(builder->prover, 1));
    index->extent = poly_to_size(builder->prover, segments);
    index->extent_place = low->place;
    index->extent_from = "the segments";
    return true;
}

/* ---- extents from products: dimension G*O indexed g*O + o ---- */

/* An index expression as a polynomial over provisional index atoms; NULL when it is anything else.
 */
static const struct poly *index_poly(struct stage_builder *stage,
                                     const struct ast_expression *expression, int base)
{
    struct builder *builder = stage->builder;
    struct prover *prover = builder->prover;
    if (expression->kind == AST_INTEGER)
        return poly_constant(prover, expression->integer);
    if (expression->kind == AST_NAME) {
        struct statement_index *index = stage_find_index(stage, expression->name, -1);
        if (index)
            return prover_index(prover, base + (int)(index - stage->indices.at));
        struct entity *entity = builder_find(builder, expression->name);
        if (entity && entity->kind == ENTITY_SYMBOL)
            return builder_poly(builder, ir_size_symbol(builder->arena, entity->number));
        if (entity && entity->kind == ENTITY_STATIC)
            return poly_constant(prover, entity->number);
        if (entity && entity->kind == ENTITY_INDEX)
            return prover_index(prover, entity->number);
        return NULL;
    }
    if (expression->kind != AST_BINARY)
        return NULL;
    const struct poly *a = index_poly(stage, expression->a, base);
    const struct poly *b = index_poly(stage, expression->b, base);
    switch (expression->operator) {
    case AST_ADD: return poly_add(prover, a, b);
    case AST_SUBTRACT: return poly_subtract(prover, a, b);
    case AST_MULTIPLY: return poly_multiply(prover, a, b);
    default: return NULL;
    }
}

/* Splits dim by the factors of the indices: the innermost has factor 1. */
static void take_radix(struct stage_builder *stage, const struct poly *at,
                       const struct ir_size *dim, int base, struct place place)
{
    struct builder *builder = stage->builder;
    struct prover *prover = builder->prover;
    const struct poly *reach = builder_poly(builder, dim);
    struct {
        struct statement_index *index;
        const struct poly *factor;
    } digits[8];
    int count = 0;
    for (size_t i = 0; i < stage->indices.count; i++) {
        const struct poly *factor, *rest;
        if (!poly_split(prover, at, base + (int)i, &factor, &rest) || count == 8)
            return;
        if (factor->count == 0)
            continue;
        digits[count].index = &stage->indices.at[i];
        digits[count++].factor = factor;
        at = rest;
    }
    int64_t offset;
    if (count < 2 || !poly_is_constant(at, &offset) || offset != 0)
        return;
    for (int i = 0; i < count; i++) /* i + j: how far each runs is anybody's guess */
        for (int k = 0; k < i; k++)
            if (poly_equal(digits[i].factor, digits[k].factor))
                return;
    while (count > 0) { /* the largest factor is the one all others divide */
        int largest = -1;
        for (int i = 0; i < count && largest < 0; i++) {
            bool divides = true;
            for (int k = 0; k < count && divides; k++)
                divides = poly_quotient(prover, digits[i].factor, digits[k].factor) != NULL;
            largest = divides ? i : -1;
        }
        if (largest < 0)
            return;
        const struct poly *extent = poly_quotient(prover, reach, digits[largest].factor);
        const struct ir_size *size = poly_to_size(prover, extent);
        if (!size)
            return;
        struct statement_index *index = digits[largest].index;
        if (!index->extent && !index->range) {
            index->extent = size;
            index->extent_place = place;
            index->extent_from = "a product of sizes";
        }
        reach = digits[largest].factor;
        digits[largest] = digits[--count];
    }
}

static void take_products(struct stage_builder *stage, int tensor, const struct position *positions,
                          int count)
{
    /* Provisional atoms: numbers no index of the part has yet. */
    int base = (int)stage->builder->indices.count + 1000;
    struct prover_mark mark = prover_mark(stage->builder->prover);
    for (int d = 0; d < count; d++) {
        if (!positions[d].expression || positions[d].expression->kind != AST_BINARY)
            continue;
        const struct poly *at = index_poly(stage, positions[d].expression, base);
        if (at)
            take_radix(stage, at, stage->builder->tensors.at[tensor].dims[d], base,
                       positions[d].expression->place);
    }
    prover_return(stage->builder->prover, mark);
}

static void product_read(struct stage_builder *stage, const struct ast_expression *read,
                         void *context)
{
    (void)context;
    int tensor = quiet_tensor(stage->builder, read->name, read->element);
    struct position positions[IR_MAX_RANK];
    int count;
    if (tensor >= 0 && check_positions(stage, &read->list, stage->builder->tensors.at[tensor].rank,
                                       &stage->builder->infos.at[tensor], read->name, read->place,
                                       positions, &count))
        take_products(stage, tensor, positions, count);
}

/* ---- all together ---- */

static bool any_open(const struct stage_builder *stage)
{
    for (size_t i = 0; i < stage->indices.count; i++)
        if (!stage->indices.at[i].extent && !stage->indices.at[i].range)
            return true;
    return false;
}

static bool target_extents(struct stage_builder *stage, const struct ast_statement *statement,
                           bool products)
{
    bool good = true;
    for (size_t i = 0; i < statement->targets.count && good; i++) {
        const struct ast_target *target = &statement->targets.at[i];
        int tensor = quiet_tensor(stage->builder, target->name, NULL);
        struct position positions[IR_MAX_RANK];
        int count;
        if (tensor < 0 || !stage->builder->infos.at[tensor].has_shape)
            continue;
        if (!check_positions(stage, &target->indices, stage->builder->tensors.at[tensor].rank,
                             &stage->builder->infos.at[tensor], target->name, target->place,
                             positions, &count))
            return false;
        if (products)
            take_products(stage, tensor, positions, count);
        else
            take_bare(stage, tensor, positions, count, target->place, &good);
    }
    return good;
}

static bool report_open(struct stage_builder *stage)
{
    bool good = true;
    for (size_t i = 0; i < stage->indices.count; i++) {
        struct statement_index *index = &stage->indices.at[i];
        if (index->extent || index->range)
            continue;
        struct error *error =
            builder_error(stage->builder, ERROR_OPEN_EXTENT, index->place,
                          "how far index '%s' runs follows from nothing", index->name);
        error_detail(error, "it stands alone in no dimension of a tensor whose shape is known");
        if (stage->builder->is_start)
            error_hint(error, "declare the state above the loop, with its sizes: h: f32[...]");
        else if (!index->on_right)
            error_hint(error,
                       "say it: ... over %s < N; or declare the tensor on the left above: "
                       "t: f32[...]",
                       index->name);
        else
            error_hint(error, "say it: ... over %s < N", index->name);
        good = false;
    }
    return good;
}

/* Names outside of brackets that are not bounded by `over` are no indices. */
static void drop_unbracketed(struct stage_builder *stage)
{
    size_t kept = 0;
    for (size_t i = 0; i < stage->indices.count; i++)
        if (stage->indices.at[i].bracketed)
            stage->indices.at[kept++] = stage->indices.at[i];
    stage->indices.count = kept;
}

bool check_domain(struct stage_builder *stage, const struct ast_statement *statement)
{
    for (size_t i = 0; i < statement->targets.count; i++)
        for (size_t k = 0; k < statement->targets.at[i].indices.count; k++)
            collect(stage, statement->targets.at[i].indices.at[k], true, true);
    collect(stage, statement->value, false, false);
    collect(stage, statement->condition, false, false);
    for (size_t i = 0; i < statement->over.count; i++)
        if (statement->over.at[i].low) {
            collect(stage, statement->over.at[i].low, false, false);
            collect(stage, statement->over.at[i].high, false, false);
        }
    for (size_t i = 0; i < statement->over.count; i++)
        if (!statement->over.at[i].is_group)
            note_index(stage, statement->over.at[i].name, statement->over.at[i].place)->bracketed =
                true;
    drop_unbracketed(stage);
    if (!count_groups(stage, statement))
        return false;
    struct extents extents = {.good = true};
    for (size_t i = 0; i < statement->over.count; i++)
        if (!take_over(stage, &statement->over.at[i]))
            return false;
    visit_reads(stage, statement->value, bare_read, &extents);
    visit_reads(stage, statement->condition, bare_read, &extents);
    if (!extents.good || !target_extents(stage, statement, false))
        return false;
    for (size_t i = 0; i < statement->over.count; i++) {
        const struct ast_domain *domain = &statement->over.at[i];
        if (!domain->low)
            continue;
        bool segments = take_segments(stage, domain);
        extents.skip[0] = segments ? domain->low : NULL;
        extents.skip[1] = segments ? domain->high : NULL;
        visit_reads(stage, domain->low, bare_read, &extents);
        visit_reads(stage, domain->high, bare_read, &extents);
        if (!extents.good)
            return false;
    }
    if (any_open(stage)) {
        visit_reads(stage, statement->value, product_read, NULL);
        visit_reads(stage, statement->condition, product_read, NULL);
        if (!target_extents(stage, statement, true))
            return false;
    }
    return report_open(stage);
}
