/*
 * Threads of a block combining what each has: by exchanges where a warp can, else through shared
 * memory. All threads of a team get the result, the same to the bit.
 */
#include "skeleton/device/device.h"

static enum ir_monoid_kind simple(enum ir_monoid_kind monoid)
{
    return monoid == IR_ARGMAX ? IR_MAXIMUM : monoid == IR_ARGMIN ? IR_MINIMUM : monoid;
}

bool device_is_indexed(enum ir_monoid_kind monoid)
{
    return monoid == IR_ARGMAX || monoid == IR_ARGMIN;
}

struct device_pair device_unit(struct arena *arena, enum ir_monoid_kind monoid, enum dtype dtype)
{
    struct loop_type type = {dtype, 1};
    return (struct device_pair){loop_unit(arena, simple(monoid), type), loop_integer(arena, -1)};
}

/* Whether the second takes the first's place: the better value, of equal ones the lower place; a
 * NaN is better than any number. */
static loop_value second_wins(struct arena *arena, enum ir_monoid_kind monoid,
                              struct device_pair first, struct device_pair second)
{
    loop_value zero = loop_integer(arena, 0), a = first.value, b = second.value;
    loop_value better = monoid == IR_ARGMAX ? loop_less(arena, a, b) : loop_less(arena, b, a);
    loop_value same = loop_apply(arena, IR_EQ, a, b, NULL);
    if (dtype_is_float(a->type.dtype)) {
        loop_value a_nan = loop_apply(arena, IR_NE, a, a, NULL);
        loop_value b_nan = loop_apply(arena, IR_NE, b, b, NULL);
        loop_value only =
            loop_apply(arena, IR_AND, b_nan, loop_apply(arena, IR_NOT, a_nan, NULL, NULL), NULL);
        better = loop_apply(arena, IR_OR, better, only, NULL);
        same = loop_apply(arena, IR_OR, same, loop_apply(arena, IR_AND, a_nan, b_nan, NULL), NULL);
    }
    loop_value lower = loop_less(arena, second.place, first.place);
    better = loop_apply(arena, IR_OR, better, loop_apply(arena, IR_AND, same, lower, NULL), NULL);
    better = loop_apply(arena, IR_OR, loop_less(arena, first.place, zero), better, NULL);
    return loop_apply(arena, IR_AND, loop_apply(arena, IR_LE, zero, second.place, NULL), better,
                      NULL);
}

void device_combine_one(struct loop_block *block, enum ir_monoid_kind monoid,
                        struct loop_variable *value, struct loop_variable *place,
                        struct device_pair other)
{
    struct arena *arena = block->arena;
    loop_value old = loop_of(arena, value);
    if (!device_is_indexed(monoid)) {
        loop_set(block, value, loop_combine(arena, monoid, old, other.value));
        return;
    }
    struct device_pair first = {old, loop_of(arena, place)};
    other.value = device_name(block, "other", other.value);
    other.place = device_name(block, "other_place", other.place);
    loop_value wins = device_name(block, "wins", second_wins(arena, monoid, first, other));
    loop_set(block, value, loop_select(arena, wins, other.value, first.value));
    loop_set(block, place, loop_select(arena, wins, other.place, first.place));
}

/* ---- a team ---- */

static void exchange(struct loop_block *block, enum ir_monoid_kind monoid,
                     struct loop_variable *value, struct loop_variable *place, int from, int to,
                     int warp)
{
    struct arena *arena = block->arena;
    for (int step = from; step >= to && step > 0; step /= 2) {
        loop_value number = loop_integer(arena, step);
        struct device_pair other = {
            .value = loop_exchange(arena, LOOP_EXCHANGE_XOR, loop_of(arena, value), number, warp)};
        other.value = device_name(block, "other", other.value);
        if (device_is_indexed(monoid))
            other.place = device_name(
                block, "other_place",
                loop_exchange(arena, LOOP_EXCHANGE_XOR, loop_of(arena, place), number, warp));
        device_combine_one(block, monoid, value, place, other);
    }
}

/* Memory for one value, and one place, of each thread; made once for each type. */
static void shared_take(struct device_team *team, enum dtype dtype, bool indexed)
{
    for (int i = 0; i < team->shared_count; i++)
        if (team->shared[i]->dtype == dtype)
            team->now = team->shared[i];
    if (!team->now || team->now->dtype != dtype) {
        team->now = loop_shared(team->top, "values", dtype, team->threads);
        team->shared[team->shared_count++] = team->now;
    }
    if (indexed && !team->places)
        team->places = loop_shared(team->top, "places", DTYPE_I64, team->threads);
}

static void put(struct device_team *team, struct loop_block *block, loop_value at,
                struct loop_variable *value, struct loop_variable *place)
{
    loop_store(block, team->now, at, loop_of(block->arena, value));
    if (place)
        loop_store(block, team->places, at, loop_of(block->arena, place));
}

static struct device_pair take(struct device_team *team, struct loop_block *block, loop_value at,
                               bool indexed)
{
    struct arena *arena = block->arena;
    at = device_name(block, "at", at);
    struct device_pair pair = {.value = loop_load(arena, team->now, at, 1)};
    pair.value = device_name(block, "other", pair.value);
    if (indexed)
        pair.place = device_name(block, "other_place", loop_load(arena, team->places, at, 1));
    return pair;
}

/* Through shared memory: partners whose numbers differ in one bit meet, bit after bit. */
static void meet(struct device_team *team, struct loop_block *block, enum ir_monoid_kind monoid,
                 struct loop_variable *value, struct loop_variable *place)
{
    struct arena *arena = block->arena;
    loop_value thread = loop_thread_number(arena, 0);
    bool indexed = device_is_indexed(monoid);
    int bits = 0;
    while (1 << bits < team->width)
        bits++;
    struct loop_variable *counter;
    struct loop_block *body = loop_for(block, LOOP_SERIAL, "bit", loop_integer(arena, 0),
                                       loop_integer(arena, bits), NULL, &counter);
    loop_value apart =
        loop_apply(arena, IR_SHL, loop_integer(arena, team->stride), loop_of(arena, counter), NULL);
    loop_value partner = loop_apply(arena, IR_BITXOR, thread, apart, NULL);
    put(team, body, thread, value, indexed ? place : NULL);
    loop_barrier(body);
    struct device_pair other = take(team, body, partner, indexed);
    loop_barrier(body);
    device_combine_one(body, monoid, value, place, other);
}

/* Each warp by exchanges; then what the warps of the team have, by every warp once more. */
static void meet_warps(struct device_team *team, struct loop_block *block,
                       enum ir_monoid_kind monoid, struct loop_variable *value,
                       struct loop_variable *place)
{
    struct arena *arena = block->arena;
    int warp = team->device->warp, warps = team->width / warp;
    loop_value thread = loop_thread_number(arena, 0), size = loop_integer(arena, warp);
    bool indexed = device_is_indexed(monoid);
    exchange(block, monoid, value, place, warp / 2, 1, warp);
    loop_value lane = device_name(block, "lane", device_remainder(arena, thread, size));
    loop_value number = device_name(block, "warp", device_quotient(arena, thread, size));
    struct loop_block *first =
        loop_if(block, loop_apply(arena, IR_EQ, lane, loop_integer(arena, 0), NULL));
    put(team, first, number, value, indexed ? place : NULL);
    loop_barrier(block);
    loop_value count = loop_integer(arena, warps);
    loop_value begin =
        loop_sub(arena, number, device_remainder(arena, number, count)); /* of the team's */
    struct device_pair other =
        take(team, block, loop_add(arena, begin, device_remainder(arena, lane, count)), indexed);
    loop_barrier(block);
    loop_set(block, value, other.value);
    if (indexed)
        loop_set(block, place, other.place);
    exchange(block, monoid, value, place, warps / 2, 1, warp);
}

/* As it is posted: truth values are too small. */
static enum dtype posted_dtype(enum dtype dtype)
{
    return dtype == DTYPE_BOOL ? DTYPE_I64 : dtype;
}

/* One value of each block, in every block: this thread's is that of the block with its number. */
static loop_value trade(struct device_team *team, struct loop_block *block,
                        const struct loop_buffer *posts, loop_value value)
{
    struct arena *arena = block->arena;
    loop_value one = loop_integer(arena, 1), zero = loop_integer(arena, 0);
    bool truth = value->type.dtype == DTYPE_BOOL;
    loop_post(block, posts, truth ? loop_select(arena, value, one, zero) : value);
    loop_value number =
        device_remainder(arena, loop_thread_number(arena, 0), loop_integer(arena, team->cluster));
    loop_value other = loop_load(arena, posts, number, 1);
    return truth ? loop_apply(arena, IR_NE, other, zero, NULL) : other;
}

/* What the blocks of a cluster have: each posts its value to all, and every warp reads them. */
static void meet_blocks(struct device_team *team, struct loop_block *block,
                        enum ir_monoid_kind monoid, struct loop_variable *value,
                        struct loop_variable *place)
{
    struct arena *arena = block->arena;
    int meeting = team->meetings++;
    if (meeting == 0)
        loop_cluster_wait(block);
    loop_set(block, value, trade(team, block, team->posts[meeting], loop_of(arena, value)));
    if (team->posted_places[meeting])
        loop_set(block, place,
                 trade(team, block, team->posted_places[meeting], loop_of(arena, place)));
    exchange(block, monoid, value, place, team->cluster / 2, 1, team->device->warp);
}

static bool meets_in_warp(const struct device_team *team)
{
    return team->device->warp > 1 && team->stride * team->width <= team->device->warp;
}

void device_combine_prepare(struct device_team *team, enum ir_monoid_kind monoid, enum dtype dtype)
{
    bool indexed = device_is_indexed(monoid);
    if (team->width > 1 && !meets_in_warp(team))
        shared_take(team, dtype, indexed);
    if (team->cluster > 1) {
        team->posts[team->meetings] =
            loop_posts(team->top, "posts", posted_dtype(dtype), team->cluster);
        if (indexed)
            team->posted_places[team->meetings] =
                loop_posts(team->top, "posted_places", DTYPE_I64, team->cluster);
        team->meetings++;
    }
}

static void meet_threads(struct device_team *team, struct loop_block *block,
                         enum ir_monoid_kind monoid, struct loop_variable *value,
                         struct loop_variable *place)
{
    int warp = team->device->warp;
    if (team->width == 1)
        return;
    if (meets_in_warp(team)) {
        exchange(block, monoid, value, place, team->stride * team->width / 2, team->stride, warp);
        return;
    }
    shared_take(team, value->type.dtype, device_is_indexed(monoid));
    if (warp > 1 && team->stride == 1 && team->width / warp <= warp)
        meet_warps(team, block, monoid, value, place);
    else
        meet(team, block, monoid, value, place);
}

void device_combine(struct device_team *team, struct loop_block *block, enum ir_monoid_kind monoid,
                    struct loop_variable *value, struct loop_variable *place)
{
    meet_threads(team, block, monoid, value, place);
    if (team->cluster > 1)
        meet_blocks(team, block, monoid, value, place);
}
