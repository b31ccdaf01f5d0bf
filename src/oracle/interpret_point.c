/*
 * Single output points: an element is computed when it is asked for, from the stage that writes it,
 * by the same code that evaluates whole stages; what that reads is asked for in turn.
 *
 * What has been computed is kept: in an array of the tensor's own where there is room, else in a
 * table that forgets. A tensor that a scatter or a loop defines, or a left side that cannot be
 * turned round, is evaluated whole. A call is entered when one of its outputs is first asked for,
 * and its frame stays.
 *
 * Asking goes deep in a long chain of stages. Beyond POINT_DEPTH it stops and unwinds; what was
 * asked for there is computed first, from a shallow stack, and then the first question is put
 * again.
 */
#include "oracle/points.h"

enum {
    POINT_DEPTH = 300,       /* each level takes up to some 3 KiB of the C stack */
    POINT_PENDING = 1 << 20, /* questions put aside at once */
    POINT_SMALL = 1 << 16,   /* elements: asked for whole when the chain is too deep */
};

/* ---- elements ---- */

static void element_place(const struct slab *slab, int64_t element, int rank, int64_t *at)
{
    for (int d = slab->tensor->rank - 1; d >= 0; d--) {
        if (d < rank)
            at[d] = element % slab->dims[d];
        element /= slab->dims[d];
    }
}

/* The walk of a definition and the way back to its points. */
static bool definition_open(struct slab *slab, struct definition *definition)
{
    struct plan *plan = definition->plan;
    if (!plan->walk)
        plan->walk = walk_open(slab->frame, plan->stage);
    if (!plan->walk)
        return false;
    if (!definition->inverse)
        definition->inverse = inverse_make(plan->walk, &plan->stage->writes[definition->write],
                                           slab->tensor->rank - (plan->walk->ranking != NULL));
    return true;
}

/* Evaluates the stage at the point its inverse found, which writes the element among others. */
static bool definition_run(struct slab *slab, const struct definition *definition, int64_t element,
                           struct ir_value *value, struct ir_value *exact)
{
    struct frame *frame = slab->frame;
    struct slab_memo *memo = slab->memo;
    struct walk *walk = definition->plan->walk;
    if (walk->active)
        return error_at(frame->run->error, ERROR_ORACLE_PROGRAM, walk->stage->place,
                        "'%s' is defined by itself", slab->tensor->name);
    for (int p = 0; p < walk->count; p++)
        walk->saved[p] = frame->index[walk->order[p]];
    for (int p = 0; p < walk->left; p++)
        frame->index[walk->order[p]] = definition->inverse->index[p];
    /* Another slice of the same tensor may be under way: it gets its own back. */
    struct catching outer = memo->catching;
    memo->catching = (struct catching){.wanted = element};
    walk->active = true;
    bool done = walk_run_at(walk);
    walk->active = false;
    struct catching caught = memo->catching;
    memo->catching = outer;
    for (int p = 0; p < walk->count; p++)
        frame->index[walk->order[p]] = walk->saved[p];
    *value = caught.value;
    *exact = caught.exact;
    if (done && !caught.found)
        return error_at(frame->run->error, ERROR_ORACLE_PROGRAM, walk->stage->place,
                        "an element of '%s' is not written where its place says",
                        slab->tensor->name);
    return done;
}

static bool child_enter(struct frame *frame, int stage)
{
    const struct ir_stage *call = &frame->binding.part->stages[stage];
    if (frame->children[stage])
        return true;
    struct ir_binding binding;
    if (!frame_bind(frame, frame->pool, call, &binding))
        return false;
    struct frame *child = frame_open(frame->run, frame->pool, &binding);
    if (!child)
        return false;
    frame_define(child);
    if (!frame_connect_inputs(frame, call, child))
        return false;
    for (int o = 0; o < call->callee->output_count; o++)
        if (!slab_fits(frame->slabs[call->outputs[o]], child->slabs[call->callee->outputs[o]]))
            return error_at(frame->run->error, ERROR_ORACLE_PROGRAM, call->place,
                            "output %d does not fit the call of '%s'", o, call->callee->name);
    frame->children[stage] = child;
    return true;
}

/* Where a tensor that a call defines really comes from: the callee's output. */
static struct slab *slab_source(struct slab *slab)
{
    const struct slab_memo *memo = slab->memo;
    if (!child_enter(slab->frame, memo->call))
        return NULL;
    const struct ir_part *callee = slab->frame->binding.part->stages[memo->call].callee;
    return slab->frame->children[memo->call]->slabs[callee->outputs[memo->output]];
}

static bool slab_is_called(const struct slab *slab)
{
    return slab->memo && slab->memo->call >= 0 && !slab->memo->whole_only;
}

/* The definition that writes the element, with its point; NULL: none, or only as a whole. */
static bool definition_find(struct slab *slab, int64_t element, struct definition **found)
{
    int64_t at[IR_MAX_RANK];
    *found = NULL;
    for (struct definition *d = slab->memo->definitions; d && !slab->memo->whole_only;
         d = d->next) {
        if (!definition_open(slab, d))
            return false;
        if (!d->inverse->possible) {
            slab->memo->whole_only = true;
            return true;
        }
        element_place(slab, element, d->inverse->rank, at);
        if (inverse_apply(d->inverse, at, d->inverse->index)) {
            *found = d;
            return true;
        }
    }
    return true;
}

/* An element that is not known yet. */
static bool element_compute(struct oracle_points *points, struct slab *slab, int64_t element,
                            struct ir_value *value, struct ir_value *exact)
{
    struct definition *definition;
    *exact = (struct ir_value){0};
    if (slab_is_called(slab)) {
        struct slab *source = slab_source(slab);
        if (!source || !slab_read(&points->run, source, element, exact))
            return false;
        *value = slab_rounded(slab, *exact);
        point_keep(&points->run, slab, element, *value, *exact);
        return true;
    }
    if (!definition_find(slab, element, &definition))
        return false;
    if (definition)
        return definition_run(slab, definition, element, value, exact);
    if (!slab->memo->whole_only) { /* what no stage writes stays zero */
        *value = *exact;
        point_keep(&points->run, slab, element, *value, *exact);
        return true;
    }
    if (!slab->whole && !slab_evaluate_whole(points, slab))
        return false;
    if (!slab_read(&points->run, slab, element, value))
        return false;
    *exact = *value;
    if (slab->exact)
        exact->number = slab->exact[element];
    return true;
}

static bool point_fetch(struct run *run, struct slab *slab, int64_t element, struct ir_value *value)
{
    struct oracle_points *points = points_of(run);
    struct ir_value exact;
    /* Outputs of calls are known in the callee alone, unless they change type on the way. */
    while (slab_is_called(slab)) {
        struct slab *source = slab_source(slab);
        if (!source)
            return false;
        if (slab->rounds && slab->tensor->dtype != source->tensor->dtype)
            break;
        slab = source;
    }
    if (slab->whole)
        return slab_read(run, slab, element, value);
    if (point_recall(points, slab, element, value))
        return true;
    if (points->depth >= POINT_DEPTH) {
        struct question question = {slab, element};
        const struct ir_value *pinned = map_get_bytes(&points->pinned, &question, sizeof question);
        if (pinned)
            *value = *pinned;
        else
            points->deep = question;
        return pinned != NULL;
    }
    points->depth++;
    bool done = element_compute(points, slab, element, value, &exact);
    points->depth--;
    return done;
}

/* ---- questions ---- */

/* An answer to a question that was put aside: kept for good, with its neighbours if they are few.
 */
static bool question_settle(struct oracle_points *points, const struct question *question)
{
    struct slab *slab = question->slab;
    struct ir_value value = {0};
    if (slab->memo->known && slab->count <= POINT_SMALL) {
        for (int64_t e = 0; e < slab->count; e++)
            if (!slab_read(&points->run, slab, e, &value))
                return false;
        return true;
    }
    if (!slab_read(&points->run, slab, question->element, &value))
        return false;
    struct ir_value *pinned = pool_take(&points->kept, 1, sizeof *pinned);
    *pinned = value;
    map_set_bytes(&points->pinned, question, sizeof *question, pinned);
    return true;
}

static bool question_answer(struct oracle_points *points, struct slab *slab, int64_t element,
                            struct ir_value *value)
{
    struct ir_value exact;
    if (!slab->memo->keeps_exact)
        return slab_read(&points->run, slab, element, value);
    if (!element_compute(points, slab, element, value, &exact))
        return false;
    *value = exact;
    return true;
}

struct asking {
    struct oracle_points *points;
    struct slab *slab;
    int64_t element;
    struct ir_value *value;
    bool done;
};

static void ask(void *context)
{
    struct asking *a = context;
    struct oracle_points *points = a->points;
    points->pending.count = 0;
    for (;;) {
        size_t waiting = points->pending.count;
        points->deep.slab = NULL;
        points->depth = points->run.depth = 0;
        bool done = waiting ? question_settle(points, &points->pending.at[waiting - 1])
                            : question_answer(points, a->slab, a->element, a->value);
        if (done && waiting == 0) {
            a->done = true;
            return;
        }
        if (done) {
            points->pending.count--;
            continue;
        }
        pool_release(&points->run.pool, NULL);
        if (!points->deep.slab)
            return;
        if (waiting >= POINT_PENDING)
            memory_exhausted();
        vector_push(points->arena, &points->pending, points->deep);
    }
}

static bool memory_is_short(const struct oracle_points *points, struct error *error)
{
    char most[ORACLE_BYTES_TEXT];
    oracle_bytes_print(most, points->memory);
    error_set(error, ERROR_OUT_OF_MEMORY,
              "evaluating a point takes more than the %s that may be used", most);
    error_hint(error,
               "allow more memory, or take a case with smaller sizes: tensors that a loop or "
               "a scatter defines are evaluated whole");
    return false;
}

bool oracle_point(struct oracle_points *points, int output, const int64_t *at,
                  struct ir_value *value, struct error *error)
{
    struct error ignored;
    points->run.error = error ? error : &ignored;
    const struct ir_part *part = points->root->binding.part;
    struct slab *slab = points->root->slabs[part->outputs[output]];
    int64_t element = 0;
    for (int d = 0; d < slab->tensor->rank; d++) {
        if (at[d] < 0 || at[d] >= slab->dims[d]) {
            char asked[SHAPE_TEXT], shape[SHAPE_TEXT];
            shape_print(asked, at, slab->tensor->rank);
            shape_print(shape, slab->dims, slab->tensor->rank);
            return error_set(error, ERROR_BAD_POINT, "%s%s is no element: %s has the shape %s",
                             slab->tensor->name, asked, slab->tensor->name, shape);
        }
        element = element * slab->dims[d] + at[d];
    }
    *value = (struct ir_value){0};
    struct asking a = {points, slab, element, value, false};
    /* After memory ran out half-way nothing is sure about what is known, so that is the end. */
    points->broken = points->broken || !memory_try(ask, &a);
    pool_release(&points->run.pool, NULL);
    return points->broken ? memory_is_short(points, error) : a.done;
}

/* ---- opening ---- */

struct opening {
    struct oracle_points *points;
    const struct ir_binding *binding;
    const struct array *inputs;
    const struct oracle_options *options;
    bool done;
};

static void points_connect(void *context)
{
    struct opening *o = context;
    struct oracle_points *points = o->points;
    const struct ir_part *part = o->binding->part;
    points->root = frame_open(&points->run, &points->kept, o->binding);
    if (!points->root)
        return;
    frame_define(points->root);
    for (int i = 0; i < part->input_count; i++) {
        struct slab *slab = points->root->slabs[part->inputs[i]];
        if (!slab_from_array(slab, &o->inputs[i], points->run.error))
            return;
        slab->unit = slab->raw ? o->options->disturbance : 0;
        slab->seed = slab_seed(o->options->disturbance_seed + (uint64_t)i);
    }
    for (int i = 0; i < part->output_count && points->exact; i++) {
        struct slab *slab = points->root->slabs[part->outputs[i]];
        if (!slab->is_float || !slab->rounds)
            continue;
        slab->memo->keeps_exact = part_reads(part, part->outputs[i]);
        slab->rounds = slab->memo->keeps_exact;
    }
    o->done = true;
}

struct oracle_points *oracle_points_open(struct arena *arena, const struct ir_binding *binding,
                                         const struct array *inputs,
                                         const struct oracle_options *options, struct error *error)
{
    struct error ignored;
    struct oracle_points *points = arena_new(arena, struct oracle_points);
    points->arena = arena;
    points->memory = options && options->memory > 0 ? options->memory : oracle_memory_available();
    points->left = points->memory;
    points->exact = options && options->exact_outputs;
    points->kept = (struct pool){.left = &points->left, .arena = arena};
    points->run = (struct run){.pool = {.left = &points->left},
                               .error = error ? error : &ignored,
                               .fetch = point_fetch,
                               .keep = point_keep};
    points->pinned = map_new(arena);
    static const struct oracle_options standard;
    struct opening o = {points, binding, inputs, options ? options : &standard, false};
    bool finished = memory_try(points_connect, &o);
    pool_release(&points->run.pool, NULL);
    if (!finished)
        memory_is_short(points, error);
    return finished && o.done ? points : NULL;
}
