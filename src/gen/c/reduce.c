/*
 * Reductions and scans. The order in which an element's terms are combined is part of the meaning
 * and is never changed; what may change is how elements take turns: neighbouring elements of the
 * last left index are combined side by side ("lanes"), so that their long chains of additions
 * overlap.
 */
#include <limits.h>
#include <string.h>

#include "gen/c/emit.h"

struct accumulators { /* one per component */
    const char **names;
    const char **values;
    enum dtype *types;
    int count;
};

static struct accumulators accumulators_new(struct emitter *emitter, const struct ir_stage *stage)
{
    struct accumulators all = {.count = stage->write_count};
    all.names = arena_array(emitter->arena, (size_t)all.count, sizeof *all.names);
    all.values = arena_array(emitter->arena, (size_t)all.count, sizeof *all.values);
    all.types = arena_array(emitter->arena, (size_t)all.count, sizeof *all.types);
    for (int i = 0; i < all.count; i++) {
        const struct ir_write *write = &stage->writes[i];
        all.types[i] = emitter->nodes->at[write->value].type;
        all.names[i] =
            emit_name(&emitter->names, arena_printf(emitter->arena, "%s_so_far",
                                                    emitter->tensors[write->tensor].name));
    }
    return all;
}

static void accumulators_start(struct emitter *emitter, const struct ir_stage *stage,
                               const struct accumulators *all)
{
    for (int i = 0; i < all->count; i++)
        emit_line(emitter, "%s %s = %s;", emit_type(emitter, all->types[i]), all->names[i],
                  emit_monoid_unit(emitter, stage->monoid, i, all->types[i]));
}

static void accumulators_combine(struct emitter *emitter, const struct ir_stage *stage,
                                 const struct accumulators *all)
{
    for (int i = 0; i < all->count; i++)
        all->values[i] = emit_text(emitter, stage->writes[i].value);
    emit_monoid_combine(emitter, stage->monoid, all->names, all->values, all->types);
}

static void accumulators_store(struct emitter *emitter, const struct ir_stage *stage,
                               const struct accumulators *all)
{
    for (int i = 0; i < all->count; i++) {
        const struct ir_write *write = &stage->writes[i];
        int rank = emitter->part->tensors[write->tensor].rank;
        emit_store(emitter, write->tensor,
                   emit_offset(emitter, write->tensor, write->at, rank).text, all->names[i],
                   all->types[i]);
    }
}

/* ---- sums of a plain kernel: added up in pairs, see the prelude ---- */

static bool is_pairwise(const struct emitter *emitter, const struct ir_stage *stage)
{
    return emitter->form == GEN_PLAIN && stage->monoid->kind == IR_SUM &&
           dtype_is_float(emitter->nodes->at[stage->writes[0].value].type);
}

struct pairwise {
    const char *levels, *count; /* names */
    const char *kind;           /* "float" */
};

/* `lanes`: how many sums side by side, or NULL for one. */
static struct pairwise pairwise_start(struct emitter *emitter, const struct ir_stage *stage,
                                      const struct accumulators *all, const char *lanes)
{
    const char *tensor = emitter->tensors[stage->writes[0].tensor].name;
    struct pairwise sums = {.kind = emit_kind(emitter, all->types[0])};
    sums.levels = emit_name(&emitter->names, arena_printf(emitter->arena, "%s_levels", tensor));
    sums.count = emit_name(&emitter->names, arena_printf(emitter->arena, "%s_count", tensor));
    emit_line(emitter, "%s %s[SUM_LEVELS%s%s];", sums.kind, sums.levels, lanes ? " * " : "",
              lanes ? lanes : "");
    emit_line(emitter, "int64_t %s = 0;", sums.count);
    return sums;
}

static bool is_ranked(const struct ir_stage *stage)
{
    return stage->monoid->kind == IR_TOPK || stage->monoid->kind == IR_BOTTOMK;
}

/* Tells the nodes' plans what the stage needs and where. */
static void use_all(struct emitter *emitter, const struct ir_stage *stage, int write_depth,
                    int first_skip)
{
    int depth = emitter->loop_count;
    for (int i = 0; i < stage->write_count; i++) {
        const struct ir_write *write = &stage->writes[i];
        int rank = emitter->part->tensors[write->tensor].rank - is_ranked(stage);
        emit_place_use(emitter, write->value, depth, emit_monoid_mentions(stage->monoid));
        for (int d = 0; d < rank; d++)
            emit_place_use(emitter, write->at[d], write_depth, 1);
    }
    emit_place_use(emitter, stage->predicate, depth, 1);
    emit_place_finish(emitter);
    emitter->predicate = stage->predicate;
    if (stage->predicate != IR_NONE && first_skip <= depth) {
        int known = emitter->plans[stage->predicate].depth;
        emitter->predicate_at = known > first_skip ? known : first_skip;
    }
}

/* ---- lanes ---- */

struct dependence { /* of a node, on an index and on data */
    const char *flags;
    char found;
};

enum { ON_INDEX = 1, ON_DATA = 2 };

static void visit_dependence(void *context, int argument)
{
    struct dependence *dependence = context;
    dependence->found |= dependence->flags[argument];
}

/* For each node: does it depend on this index, on a read? */
static const char *node_dependence(struct emitter *emitter, const struct ir_nodes *nodes, int index)
{
    char *flags = arena_alloc(emitter->arena, (size_t)nodes->count + 1);
    for (int i = 0; i < nodes->count; i++) {
        const struct ir_node *node = &nodes->at[i];
        struct dependence dependence = {flags, 0};
        emit_arguments(node, emitter->part, visit_dependence, &dependence);
        if (node->op == IR_INDEX && node->index == index)
            dependence.found |= ON_INDEX;
        if (node->op == IR_READ)
            dependence.found |= ON_DATA;
        flags[i] = dependence.found;
    }
    return flags;
}

static bool lanes_apply(struct emitter *emitter, const struct ir_stage *stage)
{
    if (stage->monoid->kind > IR_ANY || stage->left_count == 0 ||
        stage->left_count == stage->index_count)
        return false;
    int lane = stage->indices[stage->left_count - 1];
    const struct ir_size *extent = emitter->part->indices[lane].extent;
    if (!extent || (extent->op == IR_SIZE_CONSTANT && extent->value <= 1))
        return false;
    const char *flags = node_dependence(emitter, &stage->nodes, lane);
    for (int i = stage->left_count; i < stage->index_count; i++) {
        const struct ir_index *index = &emitter->part->indices[stage->indices[i]];
        if (!index->extent && ((flags[index->low] | flags[index->high]) & ON_INDEX))
            return false;
    }
    const struct ir_write *write = &stage->writes[0];
    for (int d = 0; d < emitter->part->tensors[write->tensor].rank; d++) {
        if (flags[write->at[d]] & ON_DATA)
            return false;
    }
    return true;
}

/* Whether neighbouring lanes read neighbouring elements: then many lanes share cache lines. */
static bool lanes_near(struct emitter *emitter)
{
    int depth = emitter->loop_count;
    for (int i = 0; i < emitter->nodes->count; i++) {
        const struct ir_node *node = &emitter->nodes->at[i];
        if (node->op != IR_READ || emitter->plans[i].uses == 0 || emitter->plans[i].depth < depth)
            continue;
        int rank = emitter->part->tensors[node->read.tensor].rank;
        for (int d = 0; d + 1 < rank; d++) {
            if (emitter->plans[node->read.at[d]].depth == depth)
                return false;
        }
    }
    return true;
}

static void emit_reduce_lanes(struct emitter *emitter, const struct ir_stage *stage)
{
    size_t mark = emit_stage_start(emitter, stage);
    int outer = stage->left_count - 1;
    int lane = stage->indices[outer];
    for (int i = 0; i < stage->index_count; i++) {
        if (i != outer)
            emit_place_loop(emitter, stage->indices[i], false);
    }
    emit_place_loop(emitter, lane, false);
    int depth = emitter->loop_count;
    use_all(emitter, stage, depth, outer + 1);
    emitter->lanes_from = outer;
    emit_stage_open(emitter, stage);
    emit_nest_open(emitter, 0, outer);

    struct accumulators all = accumulators_new(emitter, stage);
    const char *name = emitter->indices[lane];
    const char *lanes = lanes_near(emitter) ? "LANES_NEAR" : "LANES_FAR";
    const char *extent = emit_size(emitter, emitter->part->indices[lane].extent).text;
    const char *first = emit_name(&emitter->names, arena_printf(emitter->arena, "%s_first", name));
    const char *end = emit_name(&emitter->names, arena_printf(emitter->arena, "%s_end", name));
    const char *each = arena_printf(emitter->arena, "for (int64_t %s = %s; %s < %s; %s++)", name,
                                    first, name, end, name);
    const char *array = all.names[0];
    bool pairs = is_pairwise(emitter, stage);
    struct pairwise sums = {0};
    emit_open(emitter, "for (int64_t %s = 0; %s < %s; %s += %s)", first, first, extent, first,
              lanes);
    emit_line(emitter, "const int64_t %s = int_min(%s + %s, %s);", end, first, lanes, extent);
    emit_line(emitter, "%s %s[%s]%s;", emit_type(emitter, all.types[0]), array, lanes,
              pairs ? " = {0}" : ""); /* sums of lanes that do not exist are added up as well */
    if (pairs)
        sums = pairwise_start(emitter, stage, &all, lanes);
    all.names[0] = arena_printf(emitter->arena, "%s[%s - %s]", array, name, first);
    const char *unit = emit_monoid_unit(emitter, stage->monoid, 0, all.types[0]);
    if (!pairs) {
        emit_line(emitter, "%s", each);
        emit_line(emitter, "    %s = %s;", all.names[0], unit);
    }
    emit_nest_open(emitter, outer, depth - 1);
    emit_open(emitter, "%s", each);
    emit_place_write(emitter, depth);
    if (emitter->predicate != IR_NONE && emitter->predicate_at == depth) {
        if (pairs)
            emit_line(emitter, "%s = %s;", all.names[0], unit);
        emit_line(emitter, "if (!(%s))", emit_text(emitter, emitter->predicate));
        emit_line(emitter, "    continue;");
    }
    if (pairs)
        emit_line(emitter, "%s = %s;", all.names[0], emit_text(emitter, stage->writes[0].value));
    else
        accumulators_combine(emitter, stage, &all);
    emit_close(emitter);
    if (pairs)
        emit_line(emitter, "%s_sums_add(%s, %s, %s, %s++);", sums.kind, sums.levels, lanes, array,
                  sums.count);
    emit_nest_close(emitter, outer, depth - 1);
    if (pairs)
        emit_line(emitter, "%s_sums_finish(%s, %s, %s, %s);", sums.kind, sums.levels, lanes, array,
                  sums.count);
    emitter->expand = depth; /* the names given inside the loop before are gone */
    emit_open(emitter, "%s", each);
    accumulators_store(emitter, stage, &all);
    emit_close(emitter);
    emit_close(emitter);
    emit_nest_close(emitter, 0, outer);
    emit_stage_end(emitter, mark);
}

/* ---- topk: the ordered list is kept in the row it will be written to ---- */

/* Where the list is kept: the row itself, unless that would round it; then a buffer. */
static const char *ranked_row(struct emitter *emitter, int tensor, enum dtype type,
                              const char *base, const char *wanted)
{
    const char *name = emitter->tensors[tensor].name, *in_c = emit_type(emitter, type);
    int last = emitter->part->tensors[tensor].rank - 1;
    if (emitter->points) {
        emit_line(emitter, "%s *%s = row_take(%s);", in_c, wanted,
                  emitter->tensors[tensor].dims[last]);
        emit_line(emitter, "if (!%s)", wanted);
        emit_line(emitter, "    return;");
        return wanted;
    }
    const char *global = emitter->dialect ? emitter->dialect->global : "";
    bool rounds = strcmp(in_c, emit_element(emitter, emitter->part->tensors[tensor].dtype)) != 0;
    if (rounds && !emitter->dialect)
        return emit_scratch_like(emitter, tensor, true, in_c, wanted);
    if (rounds) /* every thread has its row */
        name = emit_scratch_like(emitter, tensor, false, in_c,
                                 arena_printf(emitter->arena, "%s_exact", name));
    emit_line(emitter, "%s%s *%s = %s + %s;", global, in_c, wanted, name, base);
    if (!rounds)
        return wanted;
    return arena_string(emitter->arena, wanted); /* another address: it has to be stored */
}

static void emit_ranked(struct emitter *emitter, const struct ir_stage *stage)
{
    struct accumulators all = accumulators_new(emitter, stage);
    const char *count = NULL;
    const char *bases[2] = {NULL, NULL}, *const wanted[2] = {all.names[0], all.names[1]};
    for (int i = 0; i < 2; i++) {
        int tensor = stage->writes[i].tensor;
        int last = emitter->part->tensors[tensor].rank - 1;
        count = emitter->tensors[tensor].dims[last];
        struct expression row = emit_offset(emitter, tensor, stage->writes[i].at, last);
        struct expression width = {count, BINDS_ATOM, false};
        bases[i] = emit_binary(emitter, row, "*", width, BINDS_PRODUCT).text;
        all.names[i] = ranked_row(emitter, tensor, all.types[i], bases[i], all.names[i]);
    }
    emit_open(emitter, "for (int64_t rank = 0; rank < %s; rank++)", count);
    for (int i = 0; i < 2; i++)
        emit_line(emitter, "%s[rank] = %s;", all.names[i],
                  emit_monoid_unit(emitter, stage->monoid, i, all.types[i]));
    emit_close(emitter);
    emit_nest_open(emitter, stage->left_count, emitter->loop_count);
    emit_line(
        emitter, "%s%s_%s(%s, %s, %s, %s, %s);",
        emitter->predicate == IR_NONE || emitter->predicate_at > 0
            ? ""
            : arena_printf(emitter->arena, "if (%s) ", emit_text(emitter, emitter->predicate)),
        emit_kind(emitter, all.types[0]), stage->monoid->kind == IR_TOPK ? "topk" : "bottomk",
        all.names[0], all.names[1], count, emit_text(emitter, stage->writes[0].value),
        emit_text(emitter, stage->writes[1].value));
    emit_nest_close(emitter, stage->left_count, emitter->loop_count);
    bool in_place = emitter->form == GEN_PLAIN && !emitter->points;
    bool stored[2] = {in_place && all.names[0] == wanted[0], in_place && all.names[1] == wanted[1]};
    if (stored[0] && stored[1])
        return;
    emit_open(emitter, "for (int64_t rank = 0; rank < %s; rank++)", count);
    for (int i = 0; i < 2; i++)
        if (!stored[i])
            emit_store(emitter, stage->writes[i].tensor,
                       arena_printf(emitter->arena, "%s + rank", bases[i]),
                       arena_printf(emitter->arena, "%s[rank]", all.names[i]), all.types[i]);
    emit_close(emitter);
    for (int i = 0; emitter->points && i < 2; i++)
        emit_line(emitter, "row_give(%s);", all.names[i]);
}

/* ---- one element after the other ---- */

static void combine_one(struct emitter *emitter, const struct ir_stage *stage,
                        const struct accumulators *all, const struct pairwise *sums)
{
    if (sums->kind)
        emit_line(emitter, "%s_sum_add(%s, %s, %s++);", sums->kind, sums->levels,
                  emit_text(emitter, stage->writes[0].value), sums->count);
    else
        accumulators_combine(emitter, stage, all);
}

static void emit_each(struct emitter *emitter, const struct ir_stage *stage)
{
    struct accumulators all = accumulators_new(emitter, stage);
    struct pairwise sums = {0};
    if (is_pairwise(emitter, stage))
        sums = pairwise_start(emitter, stage, &all, NULL);
    else
        accumulators_start(emitter, stage, &all);
    emit_nest_open(emitter, stage->left_count, emitter->loop_count);
    bool wrapped = emitter->predicate != IR_NONE && emitter->predicate_at == 0;
    if (wrapped)
        emit_open(emitter, "if (%s)", emit_text(emitter, emitter->predicate));
    else if (emitter->loop_count == stage->left_count)
        emit_block(emitter);
    combine_one(emitter, stage, &all, &sums);
    if (wrapped || emitter->loop_count == stage->left_count)
        emit_close(emitter);
    emit_nest_close(emitter, stage->left_count, emitter->loop_count);
    if (sums.kind)
        all.names[0] = arena_printf(emitter->arena, "%s_sum_finish(%s, %s)", sums.kind, sums.levels,
                                    sums.count);
    accumulators_store(emitter, stage, &all);
}

void emit_reduce(struct emitter *emitter, const struct ir_stage *stage)
{
    if (!emitter->points && !emitter->dialect && lanes_apply(emitter, stage)) {
        emit_reduce_lanes(emitter, stage);
        return;
    }
    size_t mark = emit_stage_start(emitter, stage);
    for (int i = 0; i < stage->index_count; i++)
        emit_place_loop(emitter, stage->indices[i], false);
    use_all(emitter, stage, stage->left_count, stage->left_count + 1);
    emit_stage_open(emitter, stage);
    emit_nest_open(emitter, 0, stage->left_count);
    if (is_ranked(stage))
        emit_ranked(emitter, stage);
    else
        emit_each(emitter, stage);
    emit_nest_close(emitter, 0, stage->left_count);
    emit_stage_end(emitter, mark);
}

void emit_scan(struct emitter *emitter, const struct ir_stage *stage)
{
    size_t mark = emit_stage_start(emitter, stage);
    for (int i = 0; i < stage->index_count; i++) {
        if (stage->indices[i] != stage->along)
            emit_place_loop(emitter, stage->indices[i], false);
    }
    emit_place_loop(emitter, stage->along, stage->reverse);
    int depth = emitter->loop_count;
    use_all(emitter, stage, depth, INT_MAX);
    emit_stage_open(emitter, stage);
    emit_nest_open(emitter, 0, depth - 1);
    struct accumulators all = accumulators_new(emitter, stage);
    accumulators_start(emitter, stage, &all);
    emit_nest_open(emitter, depth - 1, depth);
    if (stage->exclusive)
        accumulators_store(emitter, stage, &all);
    accumulators_combine(emitter, stage, &all);
    if (!stage->exclusive)
        accumulators_store(emitter, stage, &all);
    emit_nest_close(emitter, depth - 1, depth);
    emit_nest_close(emitter, 0, depth - 1);
    emit_stage_end(emitter, mark);
}
