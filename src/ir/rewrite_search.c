/*
 * search: what is looked for among sorted keys by going over all of them is found by halving.
 *
 *     y[b] += 1 if borders[k] < x[b]            # how many lie below
 *     p[b] min= n if keys[n] == x[b]            # the first that is equal
 *
 * becomes three stages. The number of halvings is part of the rewrite, so the stages hold for any
 * number of keys: what so many halvings leave, one key at the sizes they were chosen for, is gone
 * over as before.
 *
 *     y.from[b] = ...                           # a straight line of halvings
 *     y.rest[b] += 1 if borders[y.from[b] + r] < x[b]
 *     y[b]      = y.from[b] + y.rest[b]
 *
 * Step i has ceil(K / 2^i) keys left and asks the one in the middle, so every step has the same
 * length at every point, whatever was found before: lanes stay together.
 */
#include "ir/rewriting.h"

enum { SEARCH_STEPS = 40 };

struct search {
    const struct ir_stage *stage;
    int key;       /* the read of the sorted tensor */
    int wanted;    /* what its elements are compared with */
    int condition; /* true of a prefix of the keys */
    int extra;     /* the part of the condition that depends on no key, or IR_NONE */
    bool first;    /* the first equal key is wanted, else how many are in the prefix */
};

static const struct ir_node *node_of(const struct search *search, int number)
{
    return &search->stage->nodes.at[number];
}

static bool is_fixed(const struct ir_part *part, const struct search *search, int node)
{
    return !rewriting_depends(part, search->stage, node, search->stage->left_count,
                              search->stage->index_count);
}

/* An element of a sorted input at the index that is searched. */
static bool is_key(const struct ir_part *part, const struct search *search, int number)
{
    const struct ir_node *node = node_of(search, number);
    if (node->op != IR_READ || node->read.guard != IR_NONE || node->read.checked)
        return false;
    const struct ir_tensor *tensor = &part->tensors[node->read.tensor];
    if (tensor->role != IR_TENSOR_INPUT || !(tensor->properties & IR_PROPERTY_SORTED))
        return false;
    for (int i = 0; i < tensor->rank - 1; i++) {
        if (!is_fixed(part, search, node->read.at[i]))
            return false;
    }
    int index = search->stage->indices[search->stage->index_count - 1];
    const struct ir_node *last = node_of(search, node->read.at[tensor->rank - 1]);
    return last->op == IR_INDEX && last->index == index &&
           ir_size_equal(part->indices[index].extent, tensor->dims[tensor->rank - 1]);
}

/* Key < wanted, key <= wanted or key == wanted. */
static bool compares(const struct ir_part *part, struct search *search, enum ir_op op, int number)
{
    const struct ir_node *node = node_of(search, number);
    int key = node->a, wanted = node->b;
    if (node->op != op)
        return false;
    if (op == IR_EQ && !is_key(part, search, key)) {
        key = node->b;
        wanted = node->a;
    }
    if (!is_key(part, search, key) || !is_fixed(part, search, wanted) ||
        (search->key != IR_NONE && (search->key != key || search->wanted != wanted)))
        return false;
    search->key = key;
    search->wanted = wanted;
    return true;
}

/* Key < wanted or (something and key == wanted). */
static bool compares_also(const struct ir_part *part, struct search *search, int number)
{
    const struct ir_node *either = node_of(search, number);
    for (int swap = 0; either->op == IR_OR && swap < 2; swap++) {
        const struct ir_node *both = node_of(search, swap ? either->a : either->b);
        if (both->op != IR_AND || !compares(part, search, IR_LT, swap ? either->b : either->a))
            continue;
        for (int side = 0; side < 2; side++) {
            int extra = side ? both->b : both->a;
            if (is_fixed(part, search, extra) &&
                compares(part, search, IR_EQ, side ? both->a : both->b)) {
                search->extra = extra;
                return true;
            }
        }
    }
    return false;
}

static bool find_search(const struct ir_part *part, int number, struct search *search,
                        struct ir_reason *why_not)
{
    const struct ir_stage *stage = &part->stages[number];
    *search = (struct search){
        .stage = stage, .key = IR_NONE, .condition = stage->predicate, .extra = IR_NONE};
    if (stage->kind != IR_REDUCE || stage->index_count != stage->left_count + 1 ||
        stage->predicate == IR_NONE)
        return rewriting_refuse(why_not, "it is no reduction along one index under a condition");
    if (!rewriting_is_boxed(part, stage) || !rewriting_is_plain(part, stage))
        return rewriting_refuse(why_not, "it runs over ranges, or writes a slice");
    const struct ir_node *value = node_of(search, stage->writes[0].value);
    bool counts = stage->monoid->kind == IR_SUM && value->op == IR_INT && value->integer == 1;
    search->first = stage->monoid->kind == IR_MINIMUM && value->op == IR_INDEX &&
                    value->index == stage->indices[stage->left_count];
    if (!counts && !search->first)
        return rewriting_refuse(why_not, "it neither counts keys nor looks for the first");
    if (search->first ? compares(part, search, IR_EQ, stage->predicate)
                      : compares(part, search, IR_LT, stage->predicate) ||
                            compares(part, search, IR_LE, stage->predicate) ||
                            compares_also(part, search, stage->predicate))
        return true;
    return rewriting_refuse(why_not, "its condition does not compare sorted keys of an input with "
                                     "a value");
}

bool rewriting_is_search(const struct ir_part *part, int number)
{
    struct search search;
    struct ir_reason ignored;
    return find_search(part, number, &search, &ignored);
}

static bool match(const struct ir_graph *graph, int number, struct ir_reason *why_not)
{
    struct search search;
    return find_search(graph->part, number, &search, why_not);
}

/* ---- stages ---- */

struct place_of { /* a stage of the search under construction */
    struct rewriting_stage stage;
    struct rewriting_source source; /* of the old one: left indices and fixed values are known */
    int at[IR_MAX_RANK];            /* left indices */
    int places[IR_MAX_RANK];        /* of a key; the last is set by who reads one */
};

static struct place_of open_stage(struct rewriting *rewriting, const struct search *search)
{
    const struct ir_stage *old = search->stage;
    const struct ir_node *key = node_of(search, search->key);
    struct place_of open = {.stage = rewriting_stage_new(rewriting, old),
                            .source = rewriting_source_new(rewriting, old)};
    for (int i = 0; i < old->left_count; i++)
        open.source.indices[old->indices[i]] = open.at[i] =
            rewriting_index(&open.stage, old->indices[i], true);
    for (int i = 0; i < rewriting->old->tensors[key->read.tensor].rank - 1; i++)
        open.places[i] = rewriting_copy(&open.stage, &open.source, key->read.at[i]);
    rewriting_copy(&open.stage, &open.source, search->wanted);
    rewriting_copy(&open.stage, &open.source, search->extra);
    return open;
}

static int read_key(struct place_of *open, const struct search *search, int place, int guard)
{
    int tensor = node_of(search, search->key)->read.tensor;
    int rank = open->stage.rewriting->old->tensors[tensor].rank;
    open->places[rank - 1] = place;
    return rewriting_read(&open->stage, tensor, open->places, guard);
}

/* Whether the key is before what is looked for. */
static int is_before(struct place_of *open, const struct search *search, int key)
{
    struct rewriting_stage *stage = &open->stage;
    int wanted = open->source.copied[search->wanted];
    const struct ir_node *condition = node_of(search, search->condition);
    enum ir_op op = condition->op == IR_LE ? IR_LE : IR_LT;
    int before = rewriting_node(stage, op, DTYPE_BOOL, key, wanted, IR_NONE);
    if (search->extra == IR_NONE)
        return before;
    int also = rewriting_node(stage, IR_EQ, DTYPE_BOOL, key, wanted, IR_NONE);
    also = rewriting_node(stage, IR_AND, DTYPE_BOOL, open->source.copied[search->extra], also,
                          IR_NONE);
    return rewriting_node(stage, IR_OR, DTYPE_BOOL, before, also, IR_NONE);
}

static const struct ir_size *shifted(struct arena *arena, const struct ir_size *size, int64_t add,
                                     int64_t divide)
{
    size = ir_size_make(arena, IR_SIZE_ADD, size, ir_size_constant(arena, add));
    return ir_size_make(arena, IR_SIZE_DIV, size, ir_size_constant(arena, divide));
}

/*
 * The halvings: before the keys they leave, everything is before what is looked for. With one key
 * left a half is none, and the key that is asked makes no difference: a read stays in bounds
 * wherever there is a key at all, so one condition guards them all.
 */
static int add_halvings(struct rewriting *rewriting, const struct search *search,
                        const struct ir_size *keys, int steps)
{
    struct place_of open = open_stage(rewriting, search);
    struct rewriting_stage *stage = &open.stage;
    const struct ir_size *zero = ir_size_constant(rewriting->arena, 0);
    int from = rewriting_int(stage, 0);
    int some = rewriting_node(stage, IR_LT, DTYPE_BOOL, from, rewriting_size(stage, keys), IR_NONE);
    for (int i = 0; i < steps; i++) {
        const struct ir_size *half =
            shifted(rewriting->arena, keys, ((int64_t)1 << i) - 1, (int64_t)2 << i);
        const struct ir_size *before_half = ir_size_make(rewriting->arena, IR_SIZE_SUB, half,
                                                         ir_size_constant(rewriting->arena, 1));
        before_half = ir_size_make(rewriting->arena, IR_SIZE_MAX, before_half, zero);
        int place = rewriting_node(stage, IR_ADD, DTYPE_I64, from,
                                   rewriting_size(stage, before_half), IR_NONE);
        int before = is_before(&open, search, read_key(&open, search, place, some));
        int more =
            rewriting_node(stage, IR_ADD, DTYPE_I64, from, rewriting_size(stage, half), IR_NONE);
        from = rewriting_node(stage, IR_SELECT, DTYPE_I64, before, more, from);
    }
    const struct ir_stage *old = search->stage;
    const char *name = rewriting->old->tensors[old->writes[0].tensor].name;
    int tensor =
        rewriting_tensor(rewriting, name, "from", DTYPE_I64, old->indices, old->left_count);
    rewriting_finish(stage, NULL, IR_NONE, tensor, open.at, from);
    return tensor;
}

/* What the halvings leave, counted. */
static int add_rest(struct rewriting *rewriting, const struct search *search,
                    const struct ir_size *keys, int steps, int from)
{
    static const struct ir_monoid SUM = {.kind = IR_SUM, .name = "sum", .width = 1};
    const struct ir_stage *old = search->stage;
    const char *name = rewriting->old->tensors[old->writes[0].tensor].name;
    struct place_of open = open_stage(rewriting, search);
    struct rewriting_stage *stage = &open.stage;
    int index = rewriting_index(stage, old->indices[old->left_count], false);
    struct ir_index *rest = &rewriting->indices.at[stage->indices.at[old->left_count]];
    rest->extent = shifted(rewriting->arena, keys, ((int64_t)1 << steps) - 1, (int64_t)1 << steps);
    int start = rewriting_read(stage, from, open.at, IR_NONE);
    int place = rewriting_node(stage, IR_ADD, DTYPE_I64, start, index, IR_NONE);
    int before = is_before(&open, search, read_key(&open, search, place, IR_NONE));
    int tensor =
        rewriting_tensor(rewriting, name, "rest", DTYPE_I64, old->indices, old->left_count);
    rewriting_finish(stage, &SUM, before, tensor, open.at, rewriting_int(stage, 1));
    return tensor;
}

static void add_result(struct rewriting *rewriting, const struct search *search,
                       const struct ir_size *keys, int from, int rest)
{
    struct place_of open = open_stage(rewriting, search);
    struct rewriting_stage *stage = &open.stage;
    int start = rewriting_read(stage, from, open.at, IR_NONE);
    int more = rewriting_read(stage, rest, open.at, IR_NONE);
    int value = rewriting_node(stage, IR_ADD, DTYPE_I64, start, more, IR_NONE);
    if (search->first) {
        int is_there =
            rewriting_node(stage, IR_LT, DTYPE_BOOL, value, rewriting_size(stage, keys), IR_NONE);
        int key = read_key(&open, search, value, is_there);
        int equal = rewriting_node(stage, IR_EQ, DTYPE_BOOL, key,
                                   open.source.copied[search->wanted], IR_NONE);
        int found = rewriting_node(stage, IR_AND, DTYPE_BOOL, is_there, equal, IR_NONE);
        value = rewriting_node(stage, IR_SELECT, DTYPE_I64, found, value,
                               rewriting_int(stage, INT64_MAX));
    }
    rewriting_finish(stage, NULL, IR_NONE, search->stage->writes[0].tensor, open.at, value);
}

static const struct ir_size *key_count(const struct ir_part *part, const struct ir_stage *stage)
{
    return part->indices[stage->indices[stage->left_count]].extent;
}

static struct ir_program *apply(struct arena *arena, const struct ir_graph *graph, int number,
                                int64_t steps)
{
    const struct ir_part *part = graph->part;
    struct rewriting rewriting = rewriting_new(arena, part);
    struct ir_reason why_not;
    struct search search;
    find_search(part, number, &search, &why_not);
    const struct ir_size *keys = key_count(part, search.stage);
    rewriting_keep(&rewriting, 0, number);
    int from = add_halvings(&rewriting, &search, keys, (int)steps);
    int rest = add_rest(&rewriting, &search, keys, (int)steps, from);
    add_result(&rewriting, &search, keys, from, rest);
    rewriting_keep(&rewriting, number + 1, part->stage_count);
    return rewriting_end(&rewriting);
}

/* As many as leave one key. */
static int64_t choose(const struct ir_graph *graph, int number, const struct ir_binding *binding)
{
    int64_t keys = 1, steps = 1;
    ir_size_eval(key_count(graph->part, &graph->part->stages[number]), binding->sizes, &keys);
    while (steps < SEARCH_STEPS && (int64_t)1 << steps < keys)
        steps++;
    return steps;
}

const struct ir_rewrite rewrite_search = {
    .name = "search",
    .note = "what is looked for among sorted keys is found by halving",
    .number = "halvings",
    .least = 1,
    .most = SEARCH_STEPS,
    .match = match,
    .apply = apply,
    .choose = choose,
};
