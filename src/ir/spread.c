/*
 * Long reductions to few elements, in pieces:
 *
 *     s[b] += x[b, d]
 *
 * is one thread's work for each b where a device has a thread per element. With 1000 pieces of D it
 * becomes
 *
 *     s.pieces[b, piece] += x[b, d]          # d from piece * ceil(D, 1000), so many of them
 *     s[b]               += s.pieces[b, piece]
 *
 * Pieces follow each other, so what must be combined in order is. A piece beyond the end is empty:
 * its value is the unit.
 */
#include "ir/rewriting.h"

enum {
    FEW = 1 << 15,     /* elements that keep a device busy by themselves */
    LONG = 1 << 12,    /* points of a reduction that is worth cutting */
    THREADS = 1 << 17, /* that it is cut for */
};

static double extent_of(const struct ir_part *part, int index, const int64_t *sizes)
{
    int64_t value = 1;
    const struct ir_size *extent = part->indices[index].extent;
    return extent && ir_size_eval(extent, sizes, &value) ? (double)value : 1;
}

static double points_of(const struct ir_part *part, const struct ir_stage *stage, int from, int to,
                        const int64_t *sizes)
{
    double points = 1;
    for (int i = from; i < to; i++)
        points *= extent_of(part, stage->indices[i], sizes);
    return points;
}

/* How many pieces to cut the stage into, and along which of its indices; 0: none. */
static int64_t pieces_of(const struct ir_part *part, const struct ir_stage *stage,
                         const int64_t *sizes, int *along)
{
    if (stage->kind != IR_REDUCE || stage->monoid->kind == IR_TOPK ||
        stage->monoid->kind == IR_BOTTOMK || !rewriting_is_boxed(part, stage) ||
        stage->left_count >= IR_MAX_RANK)
        return 0;
    double elements = points_of(part, stage, 0, stage->left_count, sizes);
    double points = points_of(part, stage, stage->left_count, stage->index_count, sizes);
    if (elements < 1 || elements >= FEW || points < LONG)
        return 0;
    int last = stage->monoid->ordered ? stage->left_count + 1 : stage->index_count;
    double longest = 0;
    for (int i = stage->left_count; i < last; i++) {
        double extent = extent_of(part, stage->indices[i], sizes);
        if (extent < longest) /* of equals the last: neighbours read neighbours */
            continue;
        longest = extent;
        *along = stage->indices[i];
    }
    double pieces = THREADS / elements < longest ? THREADS / elements : longest;
    return pieces >= 2 ? (int64_t)pieces : 0;
}

/* An index that no other one is like; the node that is its value. */
static int add_index(struct rewriting_stage *stage, struct ir_index index, bool left)
{
    vector_push(stage->rewriting->arena, &stage->rewriting->indices, index);
    return rewriting_index(stage, (int)stage->rewriting->indices.count - 1, left);
}

static void add_stage(struct rewriting_stage *stage, const struct ir_stage *old, int predicate,
                      const struct ir_write *writes)
{
    struct ir_stage made = *old;
    made.indices = stage->indices.at;
    made.index_count = (int)stage->indices.count;
    made.left_count = stage->left_count;
    made.nodes = (struct ir_nodes){stage->nodes.at, (int)stage->nodes.count};
    made.predicate = predicate;
    made.writes = writes;
    vector_push(stage->rewriting->arena, &stage->rewriting->stages, made);
}

/* The index whose piece this is: from the piece's first value to that of the next. */
static int add_range(struct rewriting_stage *stage, const struct ir_index *index, int piece,
                     int64_t pieces)
{
    struct arena *arena = stage->rewriting->arena;
    const struct ir_size *count = ir_size_constant(arena, pieces);
    const struct ir_size *rest = ir_size_constant(arena, pieces - 1);
    const struct ir_size *each = ir_size_make(
        arena, IR_SIZE_DIV, ir_size_make(arena, IR_SIZE_ADD, index->extent, rest), count);
    int length = rewriting_size(stage, each), end = rewriting_size(stage, index->extent);
    int first = rewriting_node(stage, IR_MUL, DTYPE_I64, piece, length, IR_NONE);
    int low = rewriting_node(stage, IR_MIN, DTYPE_I64, first, end, IR_NONE);
    int next = rewriting_node(stage, IR_ADD, DTYPE_I64, low, length, IR_NONE);
    int high = rewriting_node(stage, IR_MIN, DTYPE_I64, next, end, IR_NONE);
    return add_index(stage, (struct ir_index){.name = index->name, .low = low, .high = high},
                     false);
}

/* The tensors the pieces are written to, one per component. */
static const int *add_pieces(struct rewriting *rewriting, const struct ir_stage *old, int along,
                             int64_t pieces)
{
    struct arena *arena = rewriting->arena;
    struct rewriting_stage stage = rewriting_stage_new(rewriting, old);
    struct rewriting_source source = rewriting_source_new(rewriting, old);
    size_t count = (size_t)old->write_count + 1;
    int *at = arena_array(arena, (size_t)old->left_count + 1, sizeof *at);
    int *tensors = arena_array(arena, count, sizeof *tensors);
    struct ir_write *writes = arena_array(arena, count, sizeof *writes);
    for (int i = 0; i < old->left_count; i++)
        at[i] = source.indices[old->indices[i]] = rewriting_index(&stage, old->indices[i], true);
    struct ir_index piece = {.name = "piece", .extent = ir_size_constant(arena, pieces)};
    at[old->left_count] = add_index(&stage, piece, true);
    for (int i = old->left_count; i < old->index_count; i++) {
        int index = old->indices[i];
        source.indices[index] = index == along ? add_range(&stage, &rewriting->old->indices[index],
                                                           at[old->left_count], pieces)
                                               : rewriting_index(&stage, index, false);
    }
    for (int w = 0; w < old->write_count; w++) {
        const struct ir_write *write = &old->writes[w];
        int value = rewriting_copy(&stage, &source, write->value);
        tensors[w] =
            rewriting_tensor(rewriting, rewriting->old->tensors[write->tensor].name, "pieces",
                             stage.nodes.at[value].type, stage.indices.at, old->left_count + 1);
        writes[w] = (struct ir_write){.tensor = tensors[w], .at = at, .value = value};
    }
    add_stage(&stage, old, rewriting_copy(&stage, &source, old->predicate), writes);
    return tensors;
}

/* What the stage gave, from its pieces. */
static void add_whole(struct rewriting *rewriting, const struct ir_stage *old, const int *tensors,
                      int64_t pieces)
{
    struct arena *arena = rewriting->arena;
    struct rewriting_stage stage = rewriting_stage_new(rewriting, old);
    struct rewriting_source source = rewriting_source_new(rewriting, old);
    struct ir_write *writes = arena_array(arena, (size_t)old->write_count + 1, sizeof *writes);
    int at[IR_MAX_RANK + 1];
    for (int i = 0; i < old->left_count; i++)
        at[i] = source.indices[old->indices[i]] = rewriting_index(&stage, old->indices[i], true);
    struct ir_index piece = {.name = "piece", .extent = ir_size_constant(arena, pieces)};
    at[old->left_count] = add_index(&stage, piece, false);
    for (int w = 0; w < old->write_count; w++) {
        const struct ir_write *write = &old->writes[w];
        int rank = rewriting->old->tensors[write->tensor].rank;
        int *places = arena_array(arena, (size_t)rank + 1, sizeof *places);
        for (int d = 0; d < rank; d++)
            places[d] = rewriting_copy(&stage, &source, write->at[d]);
        writes[w] = (struct ir_write){.tensor = write->tensor,
                                      .at = places,
                                      .value = rewriting_read(&stage, tensors[w], at, IR_NONE)};
    }
    add_stage(&stage, old, IR_NONE, writes);
}

struct ir_program *ir_spread(struct arena *arena, const struct ir_program *program,
                             const int64_t *sizes)
{
    const struct ir_part *part = ir_root(program);
    struct rewriting rewriting = rewriting_new(arena, part);
    for (int i = 0; i < part->stage_count; i++) {
        int along = IR_NONE;
        int64_t pieces = pieces_of(part, &part->stages[i], sizes, &along);
        if (pieces > 0)
            add_whole(&rewriting, &part->stages[i],
                      add_pieces(&rewriting, &part->stages[i], along, pieces), pieces);
        else
            rewriting_keep(&rewriting, i, i + 1);
    }
    return rewriting_end(&rewriting);
}

/* ---- how long threads are ---- */

static double longest_of(const struct ir_part *part, const struct ir_stage *stages, int count,
                         const int64_t *sizes)
{
    double longest = 1;
    for (int i = 0; i < count; i++) {
        const struct ir_stage *stage = &stages[i];
        double points = 1;
        switch (stage->kind) {
        case IR_REDUCE:
            points = points_of(part, stage, stage->left_count, stage->index_count, sizes);
            break;
        case IR_SCAN: points = extent_of(part, stage->along, sizes); break;
        case IR_SCATTER: points = points_of(part, stage, 0, stage->index_count, sizes); break;
        case IR_LOOP: points = longest_of(part, stage->body, stage->body_count, sizes); break;
        default: break;
        }
        longest = points > longest ? points : longest;
    }
    return longest;
}

double ir_longest_thread(const struct ir_program *program, const int64_t *sizes)
{
    const struct ir_part *part = ir_root(program);
    return longest_of(part, part->stages, part->stage_count, sizes);
}
