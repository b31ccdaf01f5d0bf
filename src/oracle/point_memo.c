/*
 * What is known for single points: which stages define a tensor, and which elements have been
 * computed.
 *
 * Elements are kept in an array of the tensor's own while arrays take less than half of the memory
 * that may be used; those of other tensors share one table, where a new element takes the place of
 * an old one.
 */
#include "oracle/points.h"

enum { POINT_TABLE = 1 << 20 }; /* most entries of the table that forgets */

struct oracle_points *points_of(struct run *run)
{
    return (struct oracle_points *)run;
}

/* ---- what is known of a frame's tensors ---- */

struct defining {
    struct frame *frame;
    struct plan *plan;
};

static void define_whole(void *context, int tensor, bool written)
{
    struct defining *d = context;
    if (written)
        d->frame->slabs[tensor]->memo->whole_only = true;
}

static void define_elements(struct defining *d)
{
    const struct ir_stage *stage = d->plan->stage;
    for (int w = 0; w < stage->write_count; w++) {
        struct slab_memo *memo = d->frame->slabs[stage->writes[w].tensor]->memo;
        struct definition *definition = pool_take(d->frame->pool, 1, sizeof *definition);
        *definition = (struct definition){memo->definitions, d->plan, w, NULL};
        memo->definitions = definition;
    }
}

void frame_define(struct frame *frame)
{
    const struct ir_part *part = frame->binding.part;
    frame->children = pool_take(frame->pool, part->stage_count, sizeof *frame->children);
    for (int t = 0; t < part->tensor_count; t++) {
        frame->slabs[t]->memo = pool_take(frame->pool, 1, sizeof(struct slab_memo));
        frame->slabs[t]->memo->call = frame->slabs[t]->memo->output = -1;
        frame->slabs[t]->memo->catching.wanted = -1;
    }
    for (int s = 0; s < part->stage_count; s++) {
        struct defining d = {frame, &frame->plans[s]};
        const struct ir_stage *stage = d.plan->stage;
        if (stage->kind == IR_SCATTER || stage->kind == IR_LOOP)
            stage_tensors(stage, define_whole, &d);
        else if (stage->kind != IR_CALL)
            define_elements(&d);
        for (int o = 0; stage->kind == IR_CALL && o < stage->callee->output_count; o++) {
            frame->slabs[stage->outputs[o]]->memo->call = s;
            frame->slabs[stage->outputs[o]]->memo->output = o;
        }
    }
}

/* ---- keeping elements ---- */

static bool bit_get(const uint64_t *bits, int64_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

static void memo_open(struct oracle_points *points, struct slab *slab)
{
    struct slab_memo *memo = slab->memo;
    int64_t words = slab->count / 64 + 1, bytes;
    memo->opened = true;
    if (__builtin_mul_overflow(slab->count + words + 16, (int64_t)sizeof(int64_t), &bytes) ||
        bytes > points->left / 2 || bytes > points->memory / 2 - points->in_arrays)
        return;
    points->in_arrays += bytes;
    slab_fill(&points->kept, slab);
    slab->whole = false;
    memo->known = pool_take(&points->kept, words, sizeof *memo->known);
}

static struct entry *table_place(struct oracle_points *points, const struct slab *slab,
                                 int64_t element)
{
    if (!points->table) {
        points->table_size = 16;
        while (points->table_size < POINT_TABLE &&
               2 * points->table_size * (int64_t)sizeof(struct entry) < points->memory / 8)
            points->table_size *= 2;
        points->table = pool_take(&points->kept, points->table_size, sizeof *points->table);
    }
    uint64_t hash = hash_mix((uint64_t)(uintptr_t)slab, (uint64_t)element);
    return &points->table[hash & (uint64_t)(points->table_size - 1)];
}

void point_keep(struct run *run, struct slab *slab, int64_t element, struct ir_value rounded,
                struct ir_value exact)
{
    struct slab_memo *memo = slab->memo;
    if (!memo->opened)
        memo_open(points_of(run), slab);
    if (element == memo->catching.wanted)
        memo->catching = (struct catching){element, true, rounded, exact};
    if (!memo->known) {
        *table_place(points_of(run), slab, element) = (struct entry){slab, element, rounded};
        return;
    }
    memo->known[element / 64] |= (uint64_t)1 << (element % 64);
    if (slab->is_float)
        slab->floats[element] = rounded.number;
    else
        slab->integers[element] = rounded.integer;
}

bool point_recall(struct oracle_points *points, struct slab *slab, int64_t element,
                  struct ir_value *value)
{
    struct slab_memo *memo = slab->memo;
    if (!memo->opened)
        memo_open(points, slab);
    if (!memo->known) {
        const struct entry *entry = table_place(points, slab, element);
        *value = entry->value;
        return entry->slab == slab && entry->element == element;
    }
    if (!bit_get(memo->known, element))
        return false;
    if (slab->is_float)
        value->number = slab->floats[element];
    else
        value->integer = slab->integers[element];
    return true;
}
