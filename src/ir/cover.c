/*
 * Left sides: is the map from indices to elements one-to-one, and do the statements that define
 * slices of a tensor together write every element exactly once?
 *
 * Along one dimension a write reaches offset + stride * (0 .. count-1): a `stripe`. Over all
 * dimensions that makes a box; slices are compared as boxes.
 */
#include "ir/prove.h"

struct stripe {
    const struct poly *offset, *stride, *count; /* count NULL: not of this form */
};

struct box {
    struct stripe stripes[IR_MAX_RANK];
};

struct boxes VECTOR(struct box);

struct left_side {
    const struct ir_part *part;
    const struct ir_stage *stage;
    const int *loops; /* enclosing loop indices */
    int loop_count;
};

enum { LEFT_INDICES = 64 };

/* How many values an index takes on the left: its extent, or all rows for segments of offsets. */
static const struct poly *index_count(struct prover *prover, const struct left_side *left,
                                      int index)
{
    const struct ir_index *entry = &left->part->indices[index];
    if (entry->extent)
        return prover_size(prover, entry->extent);
    const struct ir_node *low = &left->stage->nodes.at[entry->low];
    const struct ir_node *high = &left->stage->nodes.at[entry->high];
    if (low->op != IR_READ || high->op != IR_READ || low->read.tensor != high->read.tensor)
        return NULL;
    const struct ir_tensor *offsets = &left->part->tensors[low->read.tensor];
    if (!(offsets->properties & IR_PROPERTY_OFFSETS) || offsets->rank != 1)
        return NULL;
    const struct poly *segment =
        prover_node(prover, left->part, &left->stage->nodes, low->read.at[0]);
    const struct poly *next =
        prover_node(prover, left->part, &left->stage->nodes, high->read.at[0]);
    const struct poly *one = poly_constant(prover, 1);
    if (!poly_equal(next, poly_add(prover, segment, one)))
        return NULL;
    /* The segment's own index must run over all segments. */
    for (int i = 0; i < left->stage->index_count; i++) {
        int other = left->stage->indices[i];
        const struct ir_size *extent = left->part->indices[other].extent;
        if (!extent || !poly_equal(segment, prover_index(prover, other)))
            continue;
        const struct poly *segments =
            poly_subtract(prover, prover_size(prover, offsets->dims[0]), one);
        if (prover_shows_equal(prover, prover_size(prover, extent), segments))
            return prover_size(prover, offsets->bound);
    }
    return NULL;
}

static int left_indices(const struct left_side *left, int *out)
{
    int count = 0;
    for (int i = 0; i < left->loop_count && count < LEFT_INDICES; i++)
        out[count++] = left->loops[i];
    for (int i = 0; i < left->stage->left_count && count < LEFT_INDICES; i++)
        out[count++] = left->stage->indices[i];
    return count;
}

struct digit { /* one index in a position: factor * index */
    int index;
    const struct poly *factor, *count;
};

/* Splits a position into offset and digits; false when it is not linear in the indices. */
static bool position_digits(struct prover *prover, const struct left_side *left,
                            const struct poly *at, struct digit *digits, int *digit_count,
                            const struct poly **offset)
{
    int indices[LEFT_INDICES];
    int count = left_indices(left, indices);
    *digit_count = 0;
    for (int i = 0; i < count; i++) {
        const struct poly *factor, *rest;
        if (!poly_split(prover, at, indices[i], &factor, &rest))
            return false;
        if (factor->count == 0)
            continue;
        struct digit *digit = &digits[(*digit_count)++];
        *digit = (struct digit){indices[i], factor, index_count(prover, left, indices[i])};
        at = rest;
        const struct poly *opposite = poly_subtract(prover, poly_constant(prover, 0), factor);
        const struct poly *one = poly_constant(prover, 1);
        if (digit->count && prover_shows(prover, poly_subtract(prover, opposite, one))) {
            /* N-1-i runs backwards over the same elements: count from the other end */
            const struct poly *last = poly_subtract(prover, digit->count, one);
            at = poly_add(prover, at, poly_multiply(prover, factor, last));
            digit->factor = opposite;
        }
    }
    *offset = at;
    for (int i = 0; i < *digit_count; i++) { /* no product of two indices */
        const struct poly *factor, *rest;
        for (int j = 0; j < count; j++)
            if (!poly_split(prover, digits[i].factor, indices[j], &factor, &rest) ||
                factor->count != 0)
                return false;
    }
    return at != NULL;
}

/*
 * Mixed radix: the digit whose factor divides all others comes first, then each next factor must be
 * at least the reach of the digits before it. `tight` says that it was always exactly that, so that
 * the whole stripe is reached.
 */
static bool position_stripe(struct prover *prover, struct digit *digits, int count,
                            const struct poly *offset, struct stripe *stripe, bool *tight)
{
    const struct poly *one = poly_constant(prover, 1);
    *stripe = (struct stripe){offset, one, one};
    *tight = true;
    const struct poly *reach = NULL; /* the least factor that does not collide */
    int64_t times;
    for (int i = count - 1; i >= 0; i--) /* what has one value moves nothing, whatever its factor */
        if (digits[i].count && poly_is_constant(digits[i].count, &times) && times == 1)
            digits[i] = digits[--count];
    while (count > 0) {
        int chosen = -1;
        for (int i = 0; i < count && chosen < 0; i++) {
            bool least = true;
            for (int j = 0; j < count && least; j++)
                least = poly_quotient(prover, digits[j].factor, digits[i].factor) != NULL;
            if (least && (!reach || poly_equal(digits[i].factor, reach)))
                chosen = i;
        }
        for (int i = 0; i < count && chosen < 0; i++)
            if (!reach || prover_shows(prover, poly_subtract(prover, digits[i].factor, reach))) {
                chosen = i;
                *tight = false;
            }
        if (chosen < 0 || !digits[chosen].count)
            return false;
        if (!reach) {
            if (!prover_shows(prover, poly_subtract(prover, digits[chosen].factor, one)))
                return false; /* a factor of zero, or one that may be */
            stripe->stride = digits[chosen].factor;
        }
        stripe->count = poly_multiply(prover, stripe->count, digits[chosen].count);
        reach = poly_multiply(prover, digits[chosen].factor, digits[chosen].count);
        digits[chosen] = digits[--count];
    }
    return true;
}

bool ir_injective(struct prover *prover, const struct ir_part *part, const struct ir_stage *stage,
                  int write, struct text *why)
{
    struct left_side left = {part, stage, NULL, 0};
    bool used[LEFT_INDICES] = {false};
    int rank = part->tensors[stage->writes[write].tensor].rank;
    bool ranked =
        stage->monoid && (stage->monoid->kind == IR_TOPK || stage->monoid->kind == IR_BOTTOMK);
    for (int d = 0; d < rank - (ranked ? 1 : 0); d++) {
        const struct poly *at =
            prover_node(prover, part, &stage->nodes, stage->writes[write].at[d]);
        struct digit digits[LEFT_INDICES];
        const struct poly *offset;
        struct stripe stripe;
        int count;
        bool tight;
        bool shown = position_digits(prover, &left, at, digits, &count, &offset);
        for (int i = 0; shown && i < count; i++)
            for (int k = 0; k < stage->left_count && k < LEFT_INDICES; k++)
                used[k] |= stage->indices[k] == digits[i].index;
        if (!shown || !position_stripe(prover, digits, count, offset, &stripe, &tight)) {
            text_printf(why, "position %d may give the same place for different indices", d + 1);
            return false;
        }
    }
    for (int k = 0; k < stage->left_count && k < LEFT_INDICES; k++) {
        const struct ir_index *index = &part->indices[stage->indices[k]];
        bool segment = false; /* the segment's index is known from the row's */
        for (int j = k + 1; j < stage->left_count; j++)
            segment |= part->indices[stage->indices[j]].extent == NULL;
        if (!used[k] && !segment) {
            text_printf(why, "index '%s' does not reach the left side", index->name);
            return false;
        }
    }
    return true;
}

/* The box a write reaches. Stripes whose form is unknown have no count. */
static void write_box(struct prover *prover, const struct left_side *left, int write,
                      struct box *box)
{
    const struct ir_stage *stage = left->stage;
    const struct ir_tensor *tensor = &left->part->tensors[stage->writes[write].tensor];
    bool ranked =
        stage->monoid && (stage->monoid->kind == IR_TOPK || stage->monoid->kind == IR_BOTTOMK);
    int seen[LEFT_INDICES], seen_count = 0;
    for (int d = 0; d < tensor->rank; d++) {
        struct digit digits[LEFT_INDICES];
        const struct poly *offset, *at;
        int count;
        bool tight = false;
        struct stripe *stripe = &box->stripes[d];
        if (ranked && d == tensor->rank - 1) {
            *stripe = (struct stripe){poly_constant(prover, 0), poly_constant(prover, 1),
                                      prover_size(prover, tensor->dims[d])};
            continue;
        }
        at = prover_node(prover, left->part, &stage->nodes, stage->writes[write].at[d]);
        bool shown = position_digits(prover, left, at, digits, &count, &offset);
        for (int i = 0; shown && i < count; i++) { /* y[i, i] is no box */
            for (int k = 0; k < seen_count; k++)
                shown &= seen[k] != digits[i].index;
            if (seen_count < LEFT_INDICES)
                seen[seen_count++] = digits[i].index;
        }
        shown = shown && position_stripe(prover, digits, count, offset, stripe, &tight) && tight;
        if (!shown)
            stripe->count = NULL;
    }
}

/* ---- what defines a tensor ---- */

struct definition {
    const struct ir_stage *stage;
    int write;
    const int *loops; /* enclosing loop indices */
    int loop_count;
};

struct definition_list VECTOR(struct definition);

struct definitions { /* of one tensor */
    struct definition_list list;
    bool whole; /* some stage defines all of it at once */
};

struct ir_definitions {
    struct arena *arena;
    const struct ir_part *part;
    struct definitions *of; /* by tensor */
};

static void definitions_gather(struct ir_definitions *definitions, const struct ir_stage *stages,
                               int count, const int *loops, int loop_count)
{
    for (int i = 0; i < count; i++) {
        const struct ir_stage *stage = &stages[i];
        if (stage->kind == IR_LOOP) {
            int *inner = arena_array(definitions->arena, (size_t)loop_count + 1, sizeof *inner);
            for (int k = 0; k < loop_count; k++)
                inner[k] = loops[k];
            inner[loop_count] = stage->loop_index;
            definitions_gather(definitions, stage->body, stage->body_count, inner, loop_count + 1);
            for (int c = 0; c < stage->carry_count; c++)
                definitions->of[stage->carries[c].state].whole = true;
        }
        for (int o = 0; stage->kind == IR_CALL && o < stage->callee->output_count; o++)
            definitions->of[stage->outputs[o]].whole = true;
        for (int w = 0; w < stage->write_count; w++) {
            struct definitions *own = &definitions->of[stage->writes[w].tensor];
            own->whole |= stage->kind == IR_SCATTER;
            if (!own->whole)
                vector_push(definitions->arena, &own->list,
                            (struct definition){stage, w, loops, loop_count});
        }
    }
}

struct ir_definitions *ir_definitions_new(struct arena *arena, const struct ir_part *part)
{
    struct ir_definitions *definitions = arena_new(arena, struct ir_definitions);
    definitions->arena = arena;
    definitions->part = part;
    definitions->of = arena_array(arena, (size_t)part->tensor_count + 1, sizeof *definitions->of);
    definitions_gather(definitions, part->stages, part->stage_count, NULL, 0);
    return definitions;
}

static void gather_boxes(struct prover *prover, const struct ir_part *part,
                         const struct definition_list *list, struct arena *arena,
                         struct boxes *boxes)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct definition *definition = &list->at[i];
        struct left_side left = {part, definition->stage, definition->loops,
                                 definition->loop_count};
        write_box(prover, &left, definition->write, vector_add(arena, boxes));
    }
}

/* ---- with symbols ---- */

static bool stripe_is_full(struct prover *prover, const struct stripe *stripe,
                           const struct poly *dim)
{
    int64_t offset, stride;
    return stripe->count && poly_is_constant(stripe->offset, &offset) && offset == 0 &&
           poly_is_constant(stripe->stride, &stride) && stride == 1 &&
           prover_shows_equal(prover, stripe->count, dim);
}

/* Along one dimension: one after the other from 0 to the end, in any order of writing. */
static bool boxes_follow(struct prover *prover, const struct boxes *boxes, int d,
                         const struct poly *dim, struct arena *arena)
{
    bool *used = arena_array(arena, boxes->count, sizeof *used);
    const struct poly *reached = poly_constant(prover, 0);
    for (size_t round = 0; round < boxes->count; round++) {
        bool found = false;
        for (size_t i = 0; i < boxes->count && !found; i++) {
            const struct stripe *stripe = &boxes->at[i].stripes[d];
            int64_t stride;
            found = !used[i] && stripe->count && poly_is_constant(stripe->stride, &stride) &&
                    stride == 1 && prover_shows_equal(prover, stripe->offset, reached);
            if (found) {
                used[i] = true;
                reached = poly_add(prover, reached, stripe->count);
            }
        }
        if (!found)
            return false;
    }
    return prover_shows_equal(prover, reached, dim);
}

/* Along one dimension: as many stripes as the stride is wide, each starting one further. */
static bool boxes_interleave(struct prover *prover, const struct boxes *boxes, int d,
                             const struct poly *dim, struct arena *arena)
{
    bool *used = arena_array(arena, boxes->count, sizeof *used);
    int64_t width = (int64_t)boxes->count;
    for (size_t i = 0; i < boxes->count; i++) {
        const struct stripe *stripe = &boxes->at[i].stripes[d];
        int64_t stride, offset;
        if (!stripe->count || !poly_is_constant(stripe->stride, &stride) || stride != width ||
            !poly_is_constant(stripe->offset, &offset) || offset < 0 || offset >= width ||
            used[offset])
            return false;
        used[offset] = true;
        const struct poly *reach = poly_multiply(prover, stripe->count, stripe->stride);
        if (!prover_shows_equal(prover, reach, dim))
            return false;
    }
    return true;
}

static enum cover cover_symbolic(struct prover *prover, const struct ir_tensor *tensor,
                                 const struct boxes *boxes, struct arena *arena, struct text *why)
{
    int open = -1;
    for (int d = 0; d < tensor->rank; d++) {
        const struct poly *dim = prover_size(prover, tensor->dims[d]);
        bool full = true;
        for (size_t i = 0; i < boxes->count && full; i++)
            full = stripe_is_full(prover, &boxes->at[i].stripes[d], dim);
        if (full)
            continue;
        if (open >= 0 || (!boxes_follow(prover, boxes, d, dim, arena) &&
                          !boxes_interleave(prover, boxes, d, dim, arena))) {
            text_printf(why, "dimension %d of '%s' is not shown to be written whole", d + 1,
                        tensor->name);
            return COVER_UNKNOWN;
        }
        open = d;
    }
    if (open < 0 && boxes->count > 1) {
        text_printf(why, "%zu statements each write all of '%s'", boxes->count, tensor->name);
        return COVER_NO;
    }
    return COVER_YES;
}

/* ---- with numbers ---- */

/* Products of sizes that each fit into 64 bits. */
__extension__ typedef __int128 wide;

struct span {
    int64_t offset, stride, count;
};

/* The inverse of a modulo m, where they have no common divisor. */
static wide inverse(wide a, wide m)
{
    wide r = m, next = a % m, x = 0, y = 1;
    while (next != 0) {
        wide quotient = r / next, rest = r - quotient * next, left = x - quotient * y;
        r = next;
        next = rest;
        x = y;
        y = left;
    }
    return (x % m + m) % m;
}

static wide greatest_common_divisor(wide a, wide b)
{
    while (b != 0) {
        wide rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Whether two progressions share an element: the first common one, by congruence. */
static bool spans_meet(struct span a, struct span b)
{
    if (a.count == 0 || b.count == 0)
        return false;
    wide low = a.offset > b.offset ? a.offset : b.offset;
    wide a_last = a.offset + (wide)(a.count - 1) * a.stride;
    wide b_last = b.offset + (wide)(b.count - 1) * b.stride;
    wide high = a_last < b_last ? a_last : b_last;
    wide common = greatest_common_divisor(a.stride, b.stride);
    wide apart = (wide)b.offset - a.offset;
    if (low > high || apart % common != 0)
        return false;
    /* a.offset + i * a.stride = b.offset modulo b.stride; the least i, then the first from low */
    wide modulus = b.stride / common;
    wide residue = (apart / common % modulus + modulus) % modulus;
    wide i = residue * inverse(a.stride / common, modulus) % modulus;
    wide first = a.offset + i * a.stride, step = modulus * a.stride;
    if (first < low)
        first += (low - first + step - 1) / step * step;
    return first <= high;
}

/* The number of elements; false when it is negative or beyond what can be counted. */
static bool volume_of(const int64_t *counts, int rank, wide *volume)
{
    bool empty = false, large = false;
    *volume = 1;
    for (int d = 0; d < rank; d++) {
        if (counts[d] < 0)
            return false;
        empty |= counts[d] == 0;
        large |= *volume > INT64_MAX;
        if (!large)
            *volume *= counts[d];
    }
    if (empty)
        *volume = 0;
    return empty || (!large && *volume <= INT64_MAX);
}

static bool box_spans(const struct ir_tensor *tensor, const struct box *box, struct span *spans)
{
    for (int d = 0; d < tensor->rank; d++) {
        const struct stripe *stripe = &box->stripes[d];
        if (!stripe->count || !poly_is_constant(stripe->offset, &spans[d].offset) ||
            !poly_is_constant(stripe->stride, &spans[d].stride) ||
            !poly_is_constant(stripe->count, &spans[d].count))
            return false;
    }
    return true;
}

static enum cover cover_numeric(struct prover *prover, const struct ir_tensor *tensor,
                                const struct boxes *boxes, struct arena *arena, struct text *why)
{
    struct span *spans = arena_array(arena, boxes->count * IR_MAX_RANK + 1, sizeof *spans);
    wide written = 0, wanted;
    int64_t dims[IR_MAX_RANK];
    for (int d = 0; d < tensor->rank; d++)
        if (!poly_is_constant(prover_size(prover, tensor->dims[d]), &dims[d]))
            return COVER_UNKNOWN;
    if (!volume_of(dims, tensor->rank, &wanted))
        return COVER_UNKNOWN;
    for (size_t i = 0; i < boxes->count; i++) {
        struct span *own = &spans[i * IR_MAX_RANK];
        if (!box_spans(tensor, &boxes->at[i], own)) {
            text_printf(why, "a left side of '%s' reaches no regular part of it", tensor->name);
            return COVER_UNKNOWN;
        }
        int64_t counts[IR_MAX_RANK];
        wide volume;
        for (int d = 0; d < tensor->rank; d++)
            counts[d] = own[d].count;
        if (!volume_of(counts, tensor->rank, &volume))
            return COVER_UNKNOWN;
        for (int d = 0; volume > 0 && d < tensor->rank; d++)
            if (own[d].offset < 0 ||
                own[d].offset + (wide)(own[d].count - 1) * own[d].stride >= dims[d]) {
                text_printf(why, "a write reaches outside of dimension %d of '%s'", d + 1,
                            tensor->name);
                return COVER_NO;
            }
        for (size_t j = 0; volume > 0 && j < i; j++) {
            bool meet = true;
            for (int d = 0; d < tensor->rank && meet; d++)
                meet = spans_meet(own[d], spans[j * IR_MAX_RANK + (size_t)d]);
            if (meet) {
                text_printf(why, "slices %zu and %zu of '%s' overlap", j + 1, i + 1, tensor->name);
                return COVER_NO;
            }
        }
        written += volume;
    }
    if (written == wanted)
        return COVER_YES;
    text_printf(why, "%lld of %lld elements of '%s' are written", (long long)written,
                (long long)wanted, tensor->name);
    return COVER_NO;
}

static enum cover cover_boxes(struct prover *prover, const struct ir_tensor *tensor,
                              const struct boxes *boxes, struct text *why)
{
    enum cover cover = cover_symbolic(prover, tensor, boxes, why->arena, why);
    if (cover == COVER_YES)
        return cover;
    size_t length = why->length;
    enum cover numeric = cover_numeric(prover, tensor, boxes, why->arena, why);
    if (numeric == COVER_UNKNOWN)
        text_truncate(why, length);
    else if (numeric == COVER_YES)
        return numeric;
    else { /* the numbers say more than the symbols did */
        char *said = arena_string(why->arena, why->at + length);
        text_truncate(why, 0);
        text_add(why, said);
    }
    return numeric == COVER_UNKNOWN ? cover : numeric;
}

enum cover ir_cover(struct prover *prover, const struct ir_definitions *definitions, int number,
                    struct text *why)
{
    const struct ir_part *part = definitions->part;
    const struct definitions *own = &definitions->of[number];
    const struct ir_tensor *tensor = &part->tensors[number];
    if (tensor->role == IR_TENSOR_INPUT || own->whole)
        return COVER_YES;
    if (own->list.count == 0) {
        text_printf(why, "'%s' is never defined", tensor->name);
        return COVER_NO;
    }
    struct boxes boxes = {0};
    struct prover_mark mark = prover_mark(prover);
    gather_boxes(prover, part, &own->list, why->arena, &boxes);
    enum cover cover = cover_boxes(prover, tensor, &boxes, why);
    prover_return(prover, mark);
    return cover;
}
