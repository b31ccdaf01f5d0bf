/*
 * attend, which keys a block of queries can see: from the predicate, when that is made of
 * comparisons that bound the key by something that only rises, or only falls, with the query.
 * What it cannot tell is "all of them", which is always right.
 */
#include "skeleton/attend.h"

struct asked {
    struct arena *arena;
    const struct loop_variable *query, *key;
    loop_value first, last; /* queries */
    loop_value keys;
};

/* The greatest (or least) value over the block of something free of the key; NULL: not known. */
static loop_value extreme(const struct asked *asked, loop_value value, bool greatest)
{
    loop_value step = loop_step(asked->arena, value, asked->query);
    if (!step || step->op != LOOP_INTEGER)
        return NULL;
    bool last = (step->integer >= 0) == greatest;
    return loop_substitute(asked->arena, value, asked->query, last ? asked->last : asked->first);
}

/* low <= high, where the key stands on one side as it is. */
static void bound(const struct asked *asked, loop_value low, loop_value high, bool strict,
                  struct attend_span *span)
{
    struct arena *arena = asked->arena;
    loop_value zero = loop_integer(arena, 0), one = loop_integer(arena, strict ? 0 : 1);
    loop_value left = loop_step(arena, low, asked->key);
    loop_value right = loop_step(arena, high, asked->key);
    if (!left || !right || left->op != LOOP_INTEGER || right->op != LOOP_INTEGER)
        return;
    low = loop_substitute(arena, low, asked->key, zero);
    high = loop_substitute(arena, high, asked->key, zero);
    if (left->integer == 1 && right->integer == 0) { /* key <= high - low */
        loop_value most = extreme(asked, loop_sub(arena, high, low), true);
        if (most)
            span->to = loop_min(arena, span->to, loop_add(arena, most, one));
    }
    if (left->integer == 0 && right->integer == 1) { /* key >= low - high */
        loop_value least = extreme(asked, loop_sub(arena, low, high), false);
        if (least && strict)
            least = loop_add(arena, least, loop_integer(arena, 1));
        if (least)
            span->from = loop_apply(arena, IR_MAX, span->from, least, NULL);
    }
}

static bool is_free(const struct asked *asked, loop_value value)
{
    return !loop_mentions(value, asked->query) && !loop_mentions(value, asked->key);
}

static struct attend_span span_of(const struct asked *asked, loop_value value)
{
    struct arena *arena = asked->arena;
    struct attend_span span = {loop_integer(arena, 0), asked->keys};
    if (value->op != LOOP_APPLY)
        return span;
    if (value->apply == IR_AND) {
        struct attend_span a = span_of(asked, value->a), b = span_of(asked, value->b);
        span.from = loop_apply(arena, IR_MAX, a.from, b.from, NULL);
        span.to = loop_min(arena, a.to, b.to);
    }
    if (value->apply == IR_OR && (is_free(asked, value->a) || is_free(asked, value->b))) {
        loop_value all = is_free(asked, value->a) ? value->a : value->b;
        struct attend_span some = span_of(asked, all == value->a ? value->b : value->a);
        span.from = loop_select(arena, all, span.from, some.from);
        span.to = loop_select(arena, all, span.to, some.to);
    }
    bool compares = value->apply == IR_LE || value->apply == IR_LT;
    if (compares && value->a->type.dtype == DTYPE_I64)
        bound(asked, value->a, value->b, value->apply == IR_LT, &span);
    return span;
}

struct attend_span attend_span(struct arena *arena, const struct attend *attend,
                               loop_value predicate, loop_value first, loop_value last,
                               loop_value keys)
{
    struct asked asked = {
        arena, &attend->variables[attend->query], &attend->variables[attend->key], first, last,
        keys};
    struct attend_span span = {loop_integer(arena, 0), keys};
    return predicate ? span_of(&asked, predicate) : span;
}
