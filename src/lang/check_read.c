/*
 * Reads: which tensor, which element, and whether it is certainly there.
 */
#include <string.h>

#include "lang/check.h"

/* The statement that defines a tensor, wherever in the body it stands. */
static const struct ast_statement *find_definition(const struct ast_statements *body,
                                                   const char *name)
{
    const struct ast_statement *found = NULL;
    for (size_t i = 0; i < body->count && !found; i++) {
        const struct ast_statement *statement = &body->at[i];
        for (size_t k = 0; k < statement->targets.count && !found; k++)
            if (strcmp(statement->targets.at[k].name, name) == 0)
                found = statement;
        for (size_t k = 0; k < statement->finals.count && !found; k++)
            if (strcmp(statement->finals.at[k].name, name) == 0)
                found = statement;
        if (!found)
            found = find_definition(&statement->body, name);
    }
    return found;
}

static void report_early(struct builder *builder, const char *name, struct place place,
                         const struct ast_statement *definition)
{
    struct error *error;
    if (definition && definition == builder->statement) {
        error = builder_error(builder, ERROR_USED_BEFORE_DEFINED, place,
                              "'%s' is read in its own definition", name);
        error_hint(error, "a running sum is a scan: y[i] scan += x[i]; other recurrences are "
                          "written with `loop`");
        return;
    }
    error = builder_error(builder, ERROR_USED_BEFORE_DEFINED, place,
                          "'%s' is read before it is defined", name);
    if (definition)
        error_note(error, definition->place, "defined here");
    error_hint(error, "move the statement that defines it up");
}

static void report_unknown(struct builder *builder, const char *name, struct place place)
{
    const struct ast_statement *definition =
        builder->op ? find_definition(&builder->op->body, name) : NULL;
    if (definition) {
        report_early(builder, name, place, definition);
        return;
    }
    struct error *error =
        builder_error(builder, ERROR_UNDEFINED_NAME, place, "unknown tensor '%s'", name);
    builder_suggest(builder, error, name, NULL, 0);
}

int check_tensor(struct builder *builder, const char *name, struct place place,
                 const struct ast_expression *element)
{
    struct entity *entity = builder_find(builder, name);
    if (!entity) {
        report_unknown(builder, name, place);
        return -1;
    }
    entity->used = true;
    if (entity->kind == ENTITY_FAILED) {
        errors_again(builder->errors);
        return -1;
    }
    if (entity->kind == ENTITY_LIST) {
        int64_t member;
        if (!element) {
            struct error *error =
                builder_error(builder, ERROR_BAD_LIST, place, "'%s' is a list of tensors", name);
            error_hint(error, "say which: %s[k][...] inside `each k in %s { ... }`", name, name);
            return -1;
        }
        if (!check_static(builder, element, &member))
            return -1;
        if (member < 0 || member >= entity->count) {
            builder_error(builder, ERROR_BAD_LIST, element->place,
                          "'%s' has %d member%s, no number %lld", name, entity->count,
                          entity->count == 1 ? "" : "s", (long long)member);
            return -1;
        }
        return entity->number + (int)member;
    }
    if (entity->kind != ENTITY_TENSOR) {
        struct error *error = builder_error(builder, ERROR_NOT_A_TENSOR, place,
                                            "'%s' is no tensor and takes no indices", name);
        error_hint(error, "it is a single value: leave the brackets out");
        return -1;
    }
    if (element) {
        struct error *error =
            builder_error(builder, ERROR_BAD_LIST, place, "'%s' is one tensor, not a list", name);
        error_hint(error, "put all indices into one pair of brackets: %s[i, j]", name);
        return -1;
    }
    return entity->number;
}

bool check_readable(struct builder *builder, int tensor, struct place place)
{
    struct tensor_info *info = &builder->infos.at[tensor];
    const char *name = builder->tensors.at[tensor].name;
    struct error *error;
    if (info->closed) {
        error = builder_error(builder, ERROR_LOOP_LOCAL, place,
                              "'%s' exists only inside the loop that defines it", name);
        error_hint(error, "index it by the loop's index, or carry it: with %s = ... -> result",
                   name);
        return false;
    }
    if (info->definitions == 0) {
        report_early(builder, name, place, find_definition(&builder->op->body, name));
        return false;
    }
    if (info->pending) {
        error = builder_error(builder, ERROR_USED_BEFORE_DEFINED, place,
                              "'%s' is complete only after the loop", name);
        error_hint(error, "what one step hands to the next is a state: with h = ... next h = ...");
        return false;
    }
    if (!info->read.source)
        info->read = place;
    return true;
}

/* ---- lining up indices with dimensions ---- */

static struct group *find_group(struct stage_builder *stage, const char *name)
{
    for (size_t i = 0; i < stage->groups.count; i++)
        if (strcmp(stage->groups.at[i].name, name) == 0)
            return &stage->groups.at[i];
    return NULL;
}

static struct error *rank_error(struct builder *builder, struct place place, const char *name,
                                int rank, int count)
{
    struct error *error =
        rank == 0
            ? builder_error(builder, ERROR_RANK_MISMATCH, place,
                            "'%s' has no dimensions, here %s %d %s", name,
                            count == 1 ? "is" : "are", count, count == 1 ? "index" : "indices")
            : builder_error(builder, ERROR_RANK_MISMATCH, place,
                            "'%s' has %d dimension%s, here %s %d %s", name, rank,
                            rank == 1 ? "" : "s", count == 1 ? "is" : "are", count,
                            count == 1 ? "index" : "indices");
    if (rank == 0)
        error_hint(error, "its one element is %s[]", name);
    return error;
}

/* How many dimensions each *b stands for; false with an error reported. */
static bool count_groups(struct stage_builder *stage, const struct ast_expressions *indices,
                         int rank, const struct tensor_info *info, const char *name,
                         struct place place)
{
    int singles = 0, groups = 0, known = 0, open = 0;
    size_t first_group = indices->count;
    for (size_t i = 0; i < indices->count; i++) {
        bool is_group = indices->at[i]->kind == AST_GROUP;
        first_group = is_group && i < first_group ? i : first_group;
        struct group *group = is_group ? find_group(stage, indices->at[i]->name) : NULL;
        singles += !is_group;
        groups += is_group;
        known += group && group->count > 0 ? group->count : 0;
        open += group && group->count < 0;
    }
    bool aligned = info && info->layout && info->layout_count == (int)indices->count;
    for (size_t i = 0; aligned && i < indices->count; i++)
        aligned = (indices->at[i]->kind == AST_GROUP) == (info->layout[i] != 0);
    for (size_t i = 0; i < indices->count && rank >= 0; i++) {
        if (indices->at[i]->kind != AST_GROUP)
            continue;
        struct group *group = find_group(stage, indices->at[i]->name);
        if (!group || group->count >= 0)
            continue;
        if (aligned)
            group->count = info->layout[i] < 0 ? 0 : info->layout[i];
        else if (open == 1 && rank - singles - known >= 0)
            group->count = rank - singles - known;
        if (group->count >= 0) {
            open--;
            known += group->count;
        }
    }
    if (rank >= 0 && open == 0 && singles + known != rank) {
        struct error *error = rank_error(stage->builder, place, name, rank, singles + known);
        if (groups)
            error_detail(error, "*%s stands for %d of them", indices->at[first_group]->name,
                         find_group(stage, indices->at[first_group]->name)->count);
        struct entity *entity = builder_find(stage->builder, name);
        if (entity && entity->kind == ENTITY_TENSOR) {
            struct text shape = text_new(stage->builder->arena);
            builder_print_shape(stage->builder, &shape, entity->number);
            error_note(error, entity->place, "'%s' has the shape %s", name, shape.at);
        }
        return false;
    }
    return true;
}

bool check_positions(struct stage_builder *stage, const struct ast_expressions *indices, int rank,
                     const struct tensor_info *info, const char *name, struct place place,
                     struct position *positions, int *count)
{
    *count = 0;
    if (!count_groups(stage, indices, rank, info, name, place))
        return false;
    for (size_t i = 0; i < indices->count; i++) {
        const struct ast_expression *index = indices->at[i];
        if (index->kind != AST_GROUP) {
            if (*count >= IR_MAX_RANK) {
                builder_error(stage->builder, ERROR_TOO_MANY, place, "more than %d dimensions",
                              IR_MAX_RANK);
                return false;
            }
            positions[(*count)++] = (struct position){index, NULL, -1};
            continue;
        }
        struct group *group = find_group(stage, index->name);
        if (!group || group->count < 0) {
            struct error *error =
                builder_error(stage->builder, ERROR_OPEN_EXTENT, index->place,
                              "how many indices *%s stands for follows from nothing", index->name);
            error_hint(error, "use it in a tensor of known shape, or write: over *%s < *B",
                       index->name);
            return false;
        }
        for (int k = 0; k < group->count; k++) {
            if (*count >= IR_MAX_RANK) {
                builder_error(stage->builder, ERROR_TOO_MANY, place, "more than %d dimensions",
                              IR_MAX_RANK);
                return false;
            }
            positions[(*count)++] = (struct position){NULL, index->name, k};
        }
    }
    if (rank >= 0 && *count != rank) {
        rank_error(stage->builder, place, name, rank, *count);
        return false;
    }
    return true;
}

struct statement_index *stage_find_index(struct stage_builder *stage, const char *name, int member)
{
    for (size_t i = 0; i < stage->indices.count; i++)
        if (stage->indices.at[i].member == member && strcmp(stage->indices.at[i].name, name) == 0)
            return &stage->indices.at[i];
    return NULL;
}

static int position_node(struct stage_builder *stage, const struct position *position,
                         struct place place)
{
    if (position->expression)
        return check_index_value(stage, position->expression);
    struct statement_index *index = stage_find_index(stage, position->group, position->member);
    return stage_node(stage, (struct ir_node){.op = IR_INDEX,
                                              .type = DTYPE_I64,
                                              .a = IR_NONE,
                                              .b = IR_NONE,
                                              .c = IR_NONE,
                                              .index = index->number,
                                              .place = place});
}

/* ---- bounds ---- */

static bool depends_on_data(const struct stage_builder *stage, int node)
{
    /* Nodes stand in order, so everything a node needs stands before it. A read among the last few
     * hundred may belong to something else: then a guard too many is attached, which is harmless.
     */
    const struct ir_node *entry = &stage->nodes.at[node];
    if (entry->op == IR_READ)
        return true;
    if (entry->op == IR_INDEX || entry->op == IR_SIZE || entry->op == IR_INT)
        return false;
    for (int i = node; i >= 0; i--)
        if (stage->nodes.at[i].op == IR_READ)
            return true;
    return false;
}

static bool shows_dim(struct stage_builder *stage, int tensor, int dim, int at, int guard)
{
    struct builder *builder = stage->builder;
    struct prover_mark mark = prover_mark(builder->prover);
    if (guard != IR_NONE)
        prover_assume_node(builder->prover, &builder->part, &stage->view, guard, true);
    bool shown = prover_shows_within(builder->prover, &builder->part, &stage->view, at,
                                     builder->tensors.at[tensor].dims[dim]);
    prover_return(builder->prover, mark);
    return shown;
}

static void doubt_read(struct stage_builder *stage, int tensor, int dim,
                       const struct position *position, struct place place)
{
    struct builder *builder = stage->builder;
    const char *quoted = builder_tensor_name(builder, tensor);
    const char *name = arena_printf(builder->arena, "%.*s", (int)strlen(quoted) - 2, quoted + 1);
    struct text index = text_new(builder->arena), extent = text_new(builder->arena);
    struct text last = text_new(builder->arena);
    builder_print_last(builder, &last, builder->tensors.at[tensor].dims[dim]);
    const struct ast_expression *expression = position ? position->expression : NULL;
    if (expression) {
        ast_print_expression(&index, expression);
        place = expression->place;
    } else {
        text_add(&index, "the index");
    }
    builder_print_size(builder, &extent, builder->tensors.at[tensor].dims[dim]);
    const char *message = arena_printf(
        builder->arena, "%s may be read out of bounds: %s is not shown to be in 0 .. %s", quoted,
        index.at, last.at);
    const char *hint = arena_printf(builder->arena,
                                    "say what is read outside: %s[... else 0]; or add a fact "
                                    "(where ...), or a task with cases, which are then checked",
                                    name);
    struct entity *data =
        expression && expression->kind == AST_READ ? builder_find(builder, expression->name) : NULL;
    if (data && data->kind == ENTITY_TENSOR &&
        builder->tensors.at[data->number].role == IR_TENSOR_INPUT)
        hint = arena_printf(builder->arena,
                            "declare what it holds: %s: %s[...] ~ index(%s); or say what is read "
                            "outside: %s[... else 0]",
                            data->name, dtype_name(builder->tensors.at[data->number].dtype),
                            extent.at, name);
    builder_doubt(builder, ERROR_READ_OUT_OF_BOUNDS, place, message, hint);
}

/* All conditions of '/!' as one node; IR_NONE when there are none left to test. */
static int exactness(struct stage_builder *stage, const struct int_list *exact)
{
    struct builder *builder = stage->builder;
    int all = IR_NONE;
    for (size_t i = 0; i < exact->count; i++) {
        const struct ir_node *equal = &stage->nodes.at[exact->at[i]];
        const struct poly *rest =
            prover_node(builder->prover, &builder->part, &stage->view, equal->a);
        if (prover_shows_equal(builder->prover, rest, poly_constant(builder->prover, 0)))
            continue;
        all = all == IR_NONE ? exact->at[i]
                             : stage_binary(stage, IR_AND, DTYPE_BOOL, all, exact->at[i]);
    }
    return all;
}

static int combine_guards(struct stage_builder *stage, int a, int b)
{
    if (a == IR_NONE || b == IR_NONE)
        return a == IR_NONE ? b : a;
    return stage_binary(stage, IR_AND, DTYPE_BOOL, a, b);
}

/* The read itself, once the tensor and the index nodes are known. */
static int make_read(struct stage_builder *stage, int tensor, const int *at,
                     const struct position *positions, const struct int_list *exact,
                     const struct ast_expression *otherwise, struct place place)
{
    struct builder *builder = stage->builder;
    int rank = builder->tensors.at[tensor].rank;
    struct ir_node node = {.op = IR_READ,
                           .type = dtype_compute(builder->tensors.at[tensor].dtype),
                           .a = IR_NONE,
                           .b = IR_NONE,
                           .c = IR_NONE,
                           .read = {.tensor = tensor,
                                    .at = at,
                                    .guard = IR_NONE,
                                    .otherwise = IR_NONE,
                                    .proved = true},
                           .place = place};
    int exactly = exact ? exactness(stage, exact) : IR_NONE;
    if (exactly != IR_NONE && !otherwise) {
        struct error *error =
            builder_error(builder, ERROR_EXACT_DIVISION, place, "'/!' may leave a remainder here");
        error_hint(error, "say what is read then: %s[... else 0]",
                   builder->tensors.at[tensor].name);
        return IR_NONE;
    }
    bool needs_guard = false;
    for (int d = 0; d < rank; d++) {
        bool shown = !depends_on_data(stage, at[d]) && shows_dim(stage, tensor, d, at[d], exactly);
        if (shown)
            continue;
        needs_guard = true;
        int guard = combine_guards(stage, stage->guard, exactly);
        if (shows_dim(stage, tensor, d, at[d], guard))
            continue;
        if (otherwise) {
            node.read.checked = true;
        } else {
            if (node.read.proved)
                doubt_read(stage, tensor, d, positions ? &positions[d] : NULL, place);
            node.read.proved = false;
        }
    }
    node.read.guard = needs_guard ? combine_guards(stage, stage->guard, exactly) : exactly;
    if (otherwise && (node.read.checked || exactly != IR_NONE)) {
        int value = check_value(stage, otherwise);
        if (value == IR_NONE)
            return IR_NONE;
        node.read.otherwise = stage_store(stage, value, builder->tensors.at[tensor].dtype,
                                          otherwise->place, builder->tensors.at[tensor].name);
        if (node.read.otherwise == IR_NONE)
            return IR_NONE;
        enum dtype type = stage_type(stage, node.read.otherwise);
        if (type != node.type) /* f64 beside f32 elements: read in f64 */
            node.read.otherwise = stage_unary(stage, IR_TO_FLOAT, node.type, node.read.otherwise);
    } else if (otherwise) {
        check_value(stage, otherwise); /* for its errors only */
    }
    return stage_node(stage, node);
}

/* In a whole-tensor statement a tensor's name is its element at the statement's place. */
static int whole_read(struct stage_builder *stage, int tensor, struct place place)
{
    struct builder *builder = stage->builder;
    if (!check_readable(builder, tensor, place))
        return IR_NONE;
    const struct ir_tensor *entry = &builder->tensors.at[tensor];
    bool fits = entry->rank == stage->whole_rank;
    for (int d = 0; fits && d < entry->rank; d++) {
        const struct ir_node *index = &stage->nodes.at[stage->whole_indices[d]];
        fits = builder_same_size(builder, entry->dims[d], builder->indices.at[index->index].extent);
    }
    if (!fits) {
        struct text shape = text_new(builder->arena), other = text_new(builder->arena);
        builder_print_shape(builder, &shape, tensor);
        builder_print_shape(builder, &other, stage->whole_like);
        struct error *error =
            builder_error(builder, ERROR_SHAPE_MISMATCH, place, "%s has the shape %s, %s has %s",
                          builder_tensor_name(builder, tensor), shape.at,
                          builder_tensor_name(builder, stage->whole_like), other.at);
        error_hint(error, "nothing is broadcast silently: write the indices out");
        return IR_NONE;
    }
    return make_read(stage, tensor, stage->whole_indices, NULL, NULL, NULL, place);
}

int check_read(struct stage_builder *stage, const struct ast_expression *expression)
{
    struct builder *builder = stage->builder;
    if (expression->kind == AST_CALL) {
        void *tensor = map_get_bytes(&stage->hoisted, &expression, sizeof expression);
        return whole_read(stage, (int)((intptr_t)tensor - 1), expression->place);
    }
    if (stage->fn || stage->params) {
        struct error *error =
            builder_error(builder, ERROR_UNDEFINED_NAME, expression->place,
                          "a %s cannot read tensors", stage->fn ? "fn" : "monoid");
        error_hint(error, "it works on single values: hand them over as %s",
                   stage->fn ? "parameters" : "components");
        return IR_NONE;
    }
    struct entity *entity = builder_find(builder, expression->name);
    if (expression->kind == AST_READ && entity &&
        (entity->kind == ENTITY_EACH || entity->kind == ENTITY_RANK)) {
        const struct ir_size *size = check_size(builder, expression);
        return size ? stage_size(stage, size) : IR_NONE;
    }
    struct place name_place =
        expression->kind == AST_READ ? expression->name_place : expression->place;
    int tensor = check_tensor(builder, expression->name, name_place, expression->element);
    if (tensor < 0)
        return IR_NONE;
    if (expression->kind == AST_NAME)
        return whole_read(stage, tensor, expression->place);
    if (!check_readable(builder, tensor, expression->place))
        return IR_NONE;
    struct position positions[IR_MAX_RANK];
    int rank = builder->tensors.at[tensor].rank, count;
    if (!check_positions(stage, &expression->list, rank, &builder->infos.at[tensor],
                         builder->tensors.at[tensor].name, expression->place, positions, &count))
        return IR_NONE;
    int *at = arena_array(builder->arena, (size_t)rank + 1, sizeof *at);
    struct int_list exact = {0}, *outer = stage->exact;
    stage->exact = &exact;
    bool good = true;
    for (int d = 0; d < rank; d++) {
        at[d] = position_node(stage, &positions[d], expression->place);
        good &= at[d] != IR_NONE;
    }
    stage->exact = outer;
    if (!good)
        return IR_NONE;
    return make_read(stage, tensor, at, positions, &exact, expression->a, expression->place);
}
