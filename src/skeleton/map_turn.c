/*
 * Maps that read along one index and write along another: transposes, and what is computed on the
 * way. As many lines are read as a vector has lanes, the square is turned over in registers, and as
 * many lines are written. Within a block the longer way is along what is read, so that memory sees
 * a few long streams. Squares that lie side by side in the results are written together, as many as
 * make a line of the cache: a line that goes past the caches in halves, one long after the other,
 * costs memory two writes of parts.
 */
#include "skeleton/map.h"

#include <string.h>

/* ---- which ---- */

static int chain_ending_in(const struct nest_chains *chains, int axis)
{
    for (int i = 0; axis >= 0 && i < chains->count; i++) {
        if (chains->at[i].axes[chains->at[i].count - 1] == axis)
            return i;
    }
    return -1;
}

int map_turn_chain(const struct nest *nest, const struct nest_chains *chains, int *lanes)
{
    const struct ir_part *part = nest->group->part;
    int written = -1, turned = -1;
    for (size_t i = 0; i < nest->accesses.count; i++) {
        const struct nest_access *access = &nest->accesses.at[i];
        int rank = part->tensors[access->tensor].rank;
        int last = rank ? chain_ending_in(chains, access->axes[rank - 1]) : -1;
        if (!access->write)
            continue;
        if (last < 0 || (written >= 0 && written != last))
            return -1;
        written = last;
    }
    for (size_t i = 0; i < nest->accesses.count && written >= 0; i++) {
        const struct nest_access *access = &nest->accesses.at[i];
        int rank = part->tensors[access->tensor].rank;
        int last = rank ? chain_ending_in(chains, access->axes[rank - 1]) : -1;
        bool both = false; /* it has the index of results as well */
        for (int d = 0; d + 1 < rank; d++)
            both |= access->axes[d] >= 0 && chain_ending_in(chains, access->axes[d]) == written;
        if (!access->write && both && last >= 0 && last != written && turned < 0)
            turned = last;
    }
    *lanes = written;
    return turned;
}

/* ---- loads that are turned over ---- */

struct turn_loads VECTOR(loop_value);

struct turn {
    struct map_lowering *lowering;
    const struct loop_variable *along, *lane; /* read along, written along */
    struct turn_loads loads;
    loop_value *vectors; /* per square and load `lanes` of them, first as read, then turned */
};

static bool is_step(struct arena *arena, loop_value offset, const struct loop_variable *variable,
                    int64_t by)
{
    loop_value step = loop_step(arena, offset, variable);
    return step && step->op == LOOP_INTEGER && step->integer == by;
}

static bool is_turned(const struct turn *turn, loop_value load)
{
    struct arena *arena = turn->lowering->arena;
    return load->op == LOOP_LOAD && !load->mask && !load->count && load->type.lanes == 1 &&
           load->type.dtype != DTYPE_BOOL && is_step(arena, load->offset, turn->along, 1) &&
           loop_mentions(load->offset, turn->lane) && !is_step(arena, load->offset, turn->lane, 1);
}

static int load_number(const struct turn *turn, loop_value load)
{
    for (size_t i = 0; i < turn->loads.count; i++) {
        loop_value other = turn->loads.at[i];
        if (other->buffer == load->buffer && loop_equal(other->offset, load->offset))
            return (int)i;
    }
    return -1;
}

static void collect_loads(struct turn *turn, loop_value value, struct map *seen)
{
    if (!value || map_get_bytes(seen, &value, sizeof value))
        return;
    map_set_bytes(seen, &value, sizeof value, turn);
    if (value->op == LOOP_LOAD && is_turned(turn, value) && load_number(turn, value) < 0)
        vector_push(turn->lowering->arena, &turn->loads, value);
    if (value->op != LOOP_APPLY)
        return;
    collect_loads(turn, value->a, seen);
    collect_loads(turn, value->b, seen);
    collect_loads(turn, value->c, seen);
}

/* The vectors of a load in one of the squares side by side. */
static loop_value *square_vectors(const struct turn *turn, int square, int load)
{
    return &turn->vectors[(square * (int)turn->loads.count + load) * turn->lowering->lanes];
}

/* The value with line `line` of a square in place of what was loaded. */
static loop_value use_line(const struct turn *turn, loop_value value, int square, int line,
                           struct map *done)
{
    struct arena *arena = turn->lowering->arena;
    if (!value || (value->op != LOOP_APPLY && value->op != LOOP_LOAD))
        return value;
    loop_value known = map_get_bytes(done, &value, sizeof value);
    if (known)
        return known;
    loop_value result = value;
    if (value->op == LOOP_LOAD) {
        int number = is_turned(turn, value) ? load_number(turn, value) : -1;
        if (number >= 0)
            result = square_vectors(turn, square, number)[line];
    } else {
        loop_value a = use_line(turn, value->a, square, line, done),
                   b = use_line(turn, value->b, square, line, done),
                   c = use_line(turn, value->c, square, line, done);
        if (a != value->a || b != value->b || c != value->c)
            result = loop_rebuild(arena, value, a, b, c);
    }
    map_set_bytes(done, &value, sizeof value, (void *)result);
    return result;
}

/* ---- a square ---- */

struct turn_square {
    int number;                         /* among those side by side */
    loop_value lane, along;             /* where it begins */
    loop_value lane_count, along_count; /* NULL: it is whole */
    loop_value lane_last;               /* with counts: beyond this nothing may be read */
};

/* One of the two vectors that a pair becomes when the halves of each run of 2 * size lanes, one of
 * each vector, change places. */
static loop_value exchange(struct arena *arena, loop_value a, loop_value b, int size, bool upper)
{
    int lanes = a->type.lanes;
    int *pattern = arena_array(arena, (size_t)lanes, sizeof *pattern);
    for (int i = 0; i < lanes; i++)
        pattern[i] = (i & size ? lanes : 0) + (i & ~size) + (upper ? size : 0);
    return loop_shuffle(arena, a, b, pattern, lanes);
}

static void turn_over(struct arena *arena, struct loop_block *block, loop_value *vectors, int lanes)
{
    for (int size = lanes / 2; size >= 1; size /= 2) {
        for (int i = 0; i < lanes; i++) {
            if (i & size)
                continue;
            loop_value low = exchange(arena, vectors[i], vectors[i + size], size, false);
            loop_value high = exchange(arena, vectors[i], vectors[i + size], size, true);
            vectors[i] = loop_of(arena, loop_let(block, "low", low));
            vectors[i + size] = loop_of(arena, loop_let(block, "high", high));
        }
    }
}

static void square_read(struct turn *turn, struct loop_block *block,
                        const struct turn_square *square, int number)
{
    struct arena *arena = turn->lowering->arena;
    int lanes = turn->lowering->lanes;
    loop_value *vectors = square_vectors(turn, square->number, number);
    const struct skeleton_lanes along = {turn->along, lanes, square->along, square->along_count};
    for (int i = 0; i < lanes; i++) {
        loop_value line = loop_add(arena, square->lane, loop_integer(arena, i));
        if (square->lane_count)
            line = loop_min(arena, line, square->lane_last);
        vectors[i] = loop_substitute(arena, turn->loads.at[number], turn->lane, line);
        skeleton_widen(block, &along, &vectors[i], 1);
        vectors[i] = loop_of(arena, loop_let(block, "along", vectors[i]));
    }
    turn_over(arena, block, vectors, lanes);
}

static void square_write(struct turn *turn, struct loop_block *block,
                         const struct turn_square *square, int line)
{
    struct map_lowering *lowering = turn->lowering;
    struct arena *arena = lowering->arena;
    int count = lowering->store_count;
    loop_value at = loop_add(arena, square->along, loop_integer(arena, line));
    loop_value *wide = arena_array(arena, (size_t)count + 1, sizeof *wide);
    struct map done = map_new(arena);
    if (square->along_count)
        block = loop_if(block, loop_less(arena, loop_integer(arena, line), square->along_count));
    for (int i = 0; i < count; i++) {
        wide[i] = use_line(turn, lowering->stored[2 * i + 1], square->number, line, &done);
        wide[i] = loop_substitute(arena, wide[i], turn->along, at);
    }
    const struct skeleton_lanes side = {turn->lane, lowering->lanes, square->lane,
                                        square->lane_count};
    skeleton_widen(block, &side, wide, count);
    for (int i = 0; i < count; i++) {
        loop_value offset = loop_substitute(arena, lowering->stored[2 * i], turn->along, at);
        offset = loop_substitute(arena, offset, turn->lane, square->lane);
        struct loop_statement *store = loop_store(block, lowering->buffers[i], offset,
                                                  loop_splat(arena, wide[i], lowering->lanes));
        store->count = square->lane_count;
        store->streaming = lowering->streaming && !square->lane_count;
    }
}

/* So many squares side by side: each line of the results is written through all of them. */
static void squares_turn(struct turn *turn, struct loop_block *block,
                         const struct turn_square *first, int count)
{
    struct arena *arena = turn->lowering->arena;
    struct turn_square squares[MAP_MAX_SQUARES];
    for (int k = 0; k < count; k++) {
        loop_value before = loop_integer(arena, (int64_t)k * turn->lowering->lanes);
        squares[k] = *first;
        squares[k].number = k;
        squares[k].lane = loop_add(arena, first->lane, before);
        for (size_t i = 0; i < turn->loads.count; i++)
            square_read(turn, block, &squares[k], (int)i);
    }
    for (int i = 0; i < turn->lowering->lanes; i++) {
        for (int k = 0; k < count; k++)
            square_write(turn, block, &squares[k], i);
    }
}

/* ---- loops ---- */

/* A block of the chain in steps of `chunk`: from, and to as a name. */
static struct loop_block *open_block(struct map_lowering *lowering, struct loop_block *block,
                                     enum loop_kind kind, const struct nest_chain *chain,
                                     loop_value *from)
{
    struct arena *arena = lowering->arena;
    struct loop_variable *counter;
    block = loop_for(block, kind, chain->variable->name, loop_integer(arena, 0),
                     skeleton_size(&lowering->values, chain->extent),
                     loop_integer(arena, plan_number(lowering->plan, "chunk", 512)), &counter);
    *from = loop_of(arena, counter);
    return block;
}

static loop_value block_end(struct map_lowering *lowering, struct loop_block *block,
                            const struct nest_chain *chain, loop_value from)
{
    struct arena *arena = lowering->arena;
    loop_value chunk = loop_integer(arena, plan_number(lowering->plan, "chunk", 512));
    loop_value end = loop_min(arena, loop_add(arena, from, chunk),
                              skeleton_size(&lowering->values, chain->extent));
    return loop_of(arena, loop_let(block, "to", end));
}

/* One by one, with counts. */
static void edge_turn(struct turn *turn, struct loop_block *block, struct turn_square square,
                      loop_value lane_to, loop_value along_left)
{
    struct arena *arena = turn->lowering->arena;
    loop_value lanes = loop_integer(arena, turn->lowering->lanes);
    loop_note(block, "squares at the edge");
    if (turn->lowering->squares > 1) {
        loop_value side =
            loop_integer(arena, (int64_t)turn->lowering->squares * turn->lowering->lanes);
        struct loop_variable *counter;
        block =
            loop_for(block, LOOP_SERIAL, turn->lane->name, square.lane,
                     loop_min(arena, loop_add(arena, square.lane, side), lane_to), lanes, &counter);
        square.lane = loop_of(arena, counter);
    }
    loop_value lane_left = loop_sub(arena, lane_to, square.lane);
    square.lane_count = loop_of(arena, loop_let(block, "lines", loop_min(arena, lanes, lane_left)));
    square.along_count =
        loop_of(arena, loop_let(block, "wanted", loop_min(arena, lanes, along_left)));
    square.lane_last = loop_sub(arena, lane_to, loop_integer(arena, 1));
    squares_turn(turn, block, &square, 1);
}

/* Whole squares, and those at the edges. */
static void block_turn(struct turn *turn, struct loop_block *block, loop_value lane,
                       loop_value lane_to, loop_value along, loop_value along_to)
{
    struct arena *arena = turn->lowering->arena;
    int squares = turn->lowering->squares;
    loop_value lanes = loop_integer(arena, turn->lowering->lanes);
    loop_value side = loop_integer(arena, (int64_t)squares * turn->lowering->lanes);
    struct loop_variable *outer, *inner;
    block = loop_for(block, LOOP_SERIAL, turn->lane->name, lane, lane_to, side, &outer);
    block = loop_for(block, LOOP_SERIAL, turn->along->name, along, along_to, lanes, &inner);
    struct turn_square square = {.lane = loop_of(arena, outer), .along = loop_of(arena, inner)};
    loop_value lane_left = loop_sub(arena, lane_to, square.lane);
    loop_value along_left = loop_sub(arena, along_to, square.along);
    loop_value whole = loop_apply(arena, IR_AND, loop_apply(arena, IR_LE, side, lane_left, NULL),
                                  loop_apply(arena, IR_LE, lanes, along_left, NULL), NULL);
    squares_turn(turn, loop_if(block, whole), &square, squares);
    edge_turn(turn, loop_else(block), square, lane_to, along_left);
}

void map_turn(struct map_lowering *lowering, struct loop_block *block, enum loop_kind kind)
{
    struct arena *arena = lowering->arena;
    const struct nest_chain *lane = &lowering->chains.at[lowering->lane_chain];
    const struct nest_chain *along = &lowering->chains.at[lowering->turn_chain];
    struct turn turn = {.lowering = lowering, .along = along->variable, .lane = lane->variable};
    loop_value along_from, lane_from;
    block = open_block(lowering, block, kind, along, &along_from);
    block = open_block(lowering, block, kind, lane, &lane_from);
    loop_value along_to = block_end(lowering, block, along, along_from);
    loop_value lane_to = block_end(lowering, block, lane, lane_from);
    const struct loop_variable *variables[] = {lane->variable, along->variable};
    skeleton_hoist(block, variables, 2, lowering->stored, 2 * lowering->store_count);
    struct map seen = map_new(arena);
    for (int i = 0; i < lowering->store_count; i++)
        collect_loads(&turn, lowering->stored[2 * i + 1], &seen);
    size_t vectors = (size_t)(lowering->squares * lowering->lanes) * (turn.loads.count + 1);
    turn.vectors = arena_array(arena, vectors, sizeof *turn.vectors);
    block_turn(&turn, block, lane_from, lane_to, along_from, along_to);
}
