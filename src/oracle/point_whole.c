/*
 * Tensors that single points cannot be had of: those that a scatter or a loop defines. All stages
 * that write the tensor are run, and since these may write other tensors too, so are the stages of
 * those.
 */
#include <string.h>

#include "oracle/points.h"

/* Stages that together define some tensors, and nothing else does. */
struct closure {
    const struct ir_part *part;
    bool *tensors, *stages, *escapes;
    bool *passing; /* tensors whose arrays are given back */
    bool touches;
};

static void closure_touch(void *context, int tensor, bool written)
{
    struct closure *c = context;
    c->touches |= written && c->tensors[tensor];
}

static void closure_take(void *context, int tensor, bool written)
{
    struct closure *c = context;
    c->tensors[tensor] |= written;
}

static void closure_escape(void *context, int tensor, bool written)
{
    struct closure *c = context;
    (void)written;
    c->escapes[tensor] = true;
}

static void closure_find(struct closure *c)
{
    for (bool grown = true; grown;) {
        grown = false;
        for (int s = 0; s < c->part->stage_count; s++) {
            c->touches = false;
            if (!c->stages[s])
                stage_tensors(&c->part->stages[s], closure_touch, c);
            if (!c->touches)
                continue;
            c->stages[s] = grown = true;
            stage_tensors(&c->part->stages[s], closure_take, c);
        }
    }
    for (int s = 0; s < c->part->stage_count; s++)
        if (!c->stages[s])
            stage_tensors(&c->part->stages[s], closure_escape, c);
    for (int i = 0; i < c->part->output_count; i++)
        c->escapes[c->part->outputs[i]] = true;
}

/* Arrays for all of them; those that nobody else mentions are given back afterwards. */
static void closure_fill(struct oracle_points *points, struct frame *frame, const struct closure *c)
{
    for (int t = 0; t < c->part->tensor_count; t++) {
        struct slab *slab = frame->slabs[t];
        if (!c->tensors[t])
            continue;
        if (!slab->floats && !slab->integers) {
            c->passing[t] = !c->escapes[t];
            slab_fill(c->passing[t] ? &points->run.pool : &points->kept, slab);
        }
        if (slab->memo->keeps_exact && !slab->exact)
            slab->exact = pool_take(&points->kept, slab->count, sizeof *slab->exact);
        slab->whole = true;
    }
}

static bool closure_run(struct frame *frame, const struct closure *c)
{
    bool done = true;
    for (int s = 0; s < c->part->stage_count && done; s++) {
        struct plan *plan = &frame->plans[s];
        struct walk *walk = plan->walk;
        if (!c->stages[s])
            continue;
        /* A slice of the tensor may be what asks for another one: then its walk is taken. */
        bool taken = walk && walk->active;
        if (taken)
            plan->walk = NULL;
        done = stage_run(frame, plan);
        if (taken)
            plan->walk = walk;
    }
    return done;
}

static void closure_leave(struct frame *frame, const struct closure *c, bool done)
{
    for (int t = 0; t < c->part->tensor_count; t++) {
        struct slab *slab = frame->slabs[t];
        if (!c->tensors[t])
            continue;
        slab->whole = done;
        slab->memo->whole_only = true;
        if (slab->memo->known && !done) /* the array may hold what a loop had half-way */
            memset(slab->memo->known, 0, (size_t)(slab->count / 64 + 1) * sizeof(uint64_t));
        if (c->passing[t])
            slab_empty(&frame->run->pool, slab);
    }
}

bool slab_evaluate_whole(struct oracle_points *points, struct slab *slab)
{
    struct frame *frame = slab->frame;
    struct pool *pool = &points->run.pool;
    const struct ir_part *part = frame->binding.part;
    struct closure c = {.part = part};
    c.tensors = pool_take(pool, part->tensor_count, sizeof *c.tensors);
    c.escapes = pool_take(pool, part->tensor_count, sizeof *c.escapes);
    c.passing = pool_take(pool, part->tensor_count, sizeof *c.passing);
    c.stages = pool_take(pool, part->stage_count, sizeof *c.stages);
    int64_t *index = pool_take(pool, part->index_count, sizeof *index);
    memcpy(index, frame->index, (size_t)part->index_count * sizeof *index);
    c.tensors[slab->number] = true;
    closure_find(&c);
    c.escapes[slab->number] = true;
    closure_fill(points, frame, &c);
    bool done = closure_run(frame, &c);
    closure_leave(frame, &c, done);
    memcpy(frame->index, index, (size_t)part->index_count * sizeof *index);
    pool_give(pool, index);
    pool_give(pool, c.stages);
    pool_give(pool, c.passing);
    pool_give(pool, c.escapes);
    pool_give(pool, c.tensors);
    return done;
}
