/*
 * window on devices: a few neighbours of each element combined, with the maps after it: pooling,
 * depthwise convolutions, short filters. The window is written out, so its size must be known.
 *
 *     thread: one place of the innermost index, `items` lines one below the other
 *         what the windows of these lines read, each element once
 *         the results, what follows, the stores
 *
 * Neighbouring threads read neighbours, and lines that overlap are read once by a thread.
 */
#include <math.h>
#include <stdio.h>

#include "skeleton/device/device.h"
#include "skeleton/slots.h"
#include "skeleton/window.h"

#define REFUSE(why, ...) (snprintf((why)->text, sizeof(why)->text, __VA_ARGS__), false)

enum { MOST_READS = 128 }; /* of a thread */
static const char *const LENGTHS[] = {"any", "known"};

static bool window_device_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    struct window window;
    return window_fits(group, &window, why_not);
}

static void window_device_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    device_slot(group, slots, "threads", "of a block", 64, 512, 256);
    device_slot(group, slots, "items", "lines of results of a thread", 1, 8, 1);
    slots_add(group, slots, "length", "a version for the sizes at hand besides that for any",
              LENGTHS, 2, group->target->device->warp > 1);
}

static bool window_device_legal(const struct skeleton_group *group, const struct plan_group *plan,
                                struct skeleton_reason *why_not)
{
    struct window window;
    if (!window_fits(group, &window, why_not))
        return false;
    int64_t items = plan_number(plan, "items", 1), threads = plan_number(plan, "threads", 256);
    if (items > 1 && window.line == IR_NONE)
        return REFUSE(why_not, "there is one line, not %d", (int)items);
    if (items > 1 && items * window.size > MOST_READS)
        return REFUSE(why_not, "%d windows of %d elements are more than a thread keeps", (int)items,
                      (int)window.size);
    if (threads > group->target->device->block_threads)
        return REFUSE(why_not, "%d threads are more than the %d a block may have", (int)threads,
                      group->target->device->block_threads);
    return true;
}

static struct skeleton_cost window_device_predict(const struct skeleton_group *group,
                                                  const struct plan_group *plan)
{
    enum { STEPS = 6, AROUND = 40 }; /* instructions of an element of the window, of a thread */
    struct window window;
    struct skeleton_reason ignored;
    struct skeleton_cost cost = {0};
    if (!window_fits(group, &window, &ignored))
        return cost;
    double count = window_results(group, window.stage);
    double items = (double)plan_number(plan, "items", 1);
    double threads = (double)plan_number(plan, "threads", 256);
    double shared = window.size > 1 ? 1 + (items - 1) / (2 * items) : 1; /* lines read once */
    struct device_launch launch = {
        .blocks = ceil(count / items / threads),
        .threads = (int)threads,
        .registers = fmin(255, 32 + items * 8),
        .bytes = 2 * count * window.sum.element,
        .unique = 2 * count * window.sum.element,
        .in_flight = fmin(16, items * (double)window.size) * window.sum.element,
        .operations = count * ((double)window.size * STEPS / shared + AROUND / items),
    };
    cost.operations = 2 * count * (double)window.size;
    cost.bytes = launch.bytes;
    cost.vectors = (int)launch.registers;
    cost.seconds = device_seconds(group->target->device, &launch);
    return cost;
}

static int window_device_seeds(const struct skeleton_group *group, struct plan_group *plans,
                               int most)
{
    static const char *const ITEMS[] = {"4", "2", "8", "1"};
    struct skeleton_reason why_not;
    int count = 0;
    for (size_t i = 0; i < sizeof ITEMS / sizeof *ITEMS && count < most; i++) {
        plan_set(group->arena, &plans[count], "threads", "256");
        plan_set(group->arena, &plans[count], "items", ITEMS[i]);
        plan_set(group->arena, &plans[count], "length", LENGTHS[group->target->device->warp > 1]);
        count += window_device_legal(group, &plans[count], &why_not);
    }
    return count;
}

/* ---- the loops ---- */

struct sliding {
    const struct window *window;
    struct contract_code code; /* indices, values, the maps after */
    struct arena *arena;
    loop_value line_first, lines; /* this thread's first line; how many there are */
};

/* The window of the result whose indices are open, combined. */
static loop_value combine(struct sliding *s)
{
    const struct window *window = s->window;
    const struct ir_stage *stage = window->stage;
    loop_value result = NULL;
    for (int64_t at = 0; at < window->size; at++) {
        int64_t rest = at;
        for (int i = stage->index_count - 1; i >= stage->left_count; i--) {
            int64_t extent = window->extents[i - stage->left_count];
            s->code.values.indices[stage->indices[i]] = loop_integer(s->arena, rest % extent);
            rest /= extent;
        }
        loop_value value = skeleton_value(&s->code.values, stage, stage->writes[0].value);
        result = result ? loop_combine(s->arena, stage->monoid->kind, result, value) : value;
    }
    return result;
}

static void finish(struct sliding *s, struct loop_block *block, loop_value result)
{
    struct skeleton_lanes lanes = {.variable = s->code.lane, .lanes = 1};
    lanes.from = loop_integer(s->arena, 0);
    result = loop_of(s->arena, loop_let(block, "result", result));
    contract_finish(&s->code, block, result, &lanes);
}

static void open_line(struct sliding *s, struct loop_block *block, loop_value step)
{
    if (s->window->line != IR_NONE)
        s->code.values.indices[s->window->line] =
            device_name(block, "line", loop_add(s->arena, s->line_first, step));
}

/* All lines of a thread: what several windows read has one name. */
static void lower_lines(struct sliding *s, struct loop_block *block, int items)
{
    struct arena *arena = s->arena;
    loop_value *results = arena_array(arena, (size_t)items + 1, sizeof *results);
    for (int i = 0; i < items; i++) {
        if (s->window->line != IR_NONE)
            s->code.values.indices[s->window->line] =
                loop_add(arena, s->line_first, loop_integer(arena, i));
        results[i] = combine(s);
    }
    skeleton_share(block, results, items);
    for (int i = 0; i < items; i++) {
        open_line(s, block, loop_integer(arena, i));
        finish(s, block, results[i]);
    }
}

/* What a thread's number means: the innermost index runs fastest, then groups of lines. */
static void open_thread(struct sliding *s, struct loop_block *block, loop_value at, int items)
{
    const struct window *window = s->window;
    const struct ir_stage *stage = window->stage;
    const struct ir_part *part = window->sum.group->part;
    struct arena *arena = s->arena;
    loop_value wide = skeleton_size(&s->code.values, part->indices[window->lane].extent);
    loop_value lane = device_name(block, "lane", device_remainder(arena, at, wide));
    s->code.values.indices[window->lane] = lane;
    at = device_name(block, "rest", device_quotient(arena, at, wide));
    if (window->line != IR_NONE) {
        loop_value high = skeleton_size(
            &s->code.values, device_blocks(arena, part->indices[window->line].extent, items));
        loop_value first = device_remainder(arena, at, high);
        first = loop_mul(arena, first, loop_integer(arena, items));
        s->line_first = device_name(block, "line_first", first);
        s->lines = skeleton_size(&s->code.values, part->indices[window->line].extent);
        at = device_name(block, "rest", device_quotient(arena, at, high));
    }
    int others[WINDOW_INDICES], count = 0;
    for (int i = 0; i < stage->left_count; i++) {
        if (stage->indices[i] != window->lane && stage->indices[i] != window->line)
            others[count++] = stage->indices[i];
    }
    contract_open_digits(&s->code, block, others, count, at);
}

/* Threads that there is something to do for. */
static const struct ir_size *thread_count(const struct window *window, struct arena *arena,
                                          int items)
{
    const struct ir_stage *stage = window->stage;
    const struct ir_size *size = ir_size_constant(arena, 1);
    for (int i = 0; i < stage->left_count; i++) {
        const struct ir_size *extent = window->sum.group->part->indices[stage->indices[i]].extent;
        if (stage->indices[i] == window->line)
            extent = device_blocks(arena, extent, items);
        size = ir_size_make(arena, IR_SIZE_MUL, size, extent);
    }
    return size;
}

struct opened { /* a group and its plan */
    struct window window;
    int items, threads;
};

static bool open_group(const struct skeleton_group *group, const struct plan_group *plan,
                       struct opened *opened)
{
    struct skeleton_reason ignored;
    opened->items = (int)plan_number(plan, "items", 1);
    opened->threads = (int)plan_number(plan, "threads", 256);
    return window_fits(group, &opened->window, &ignored);
}

/* What a thread does. */
static void write_thread(const struct skeleton_group *group, const struct plan_group *plan,
                         struct loop_kernel *kernel, struct loop_block *block)
{
    struct opened opened;
    struct arena *arena = kernel->arena;
    if (!open_group(group, plan, &opened))
        return;
    const struct window *window = &opened.window;
    int items = opened.items, threads = opened.threads;
    struct sliding s = {.window = window, .arena = arena};
    struct loop_variable *lane = arena_new(arena, struct loop_variable);
    *lane = (struct loop_variable){"lane", LOOP_COUNTER, {DTYPE_I64, 1}, 0};
    s.code = (struct contract_code){
        .contract = &window->sum, .arena = arena, .kernel = kernel, .lane = lane, .merged = 1};
    s.code.values = (struct skeleton_values){.group = group, .kernel = kernel};
    s.code.values.indices =
        arena_array(arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    loop_value at = loop_mul(arena, loop_block_number(arena, 0), loop_integer(arena, threads));
    at = device_name(block, "at", loop_add(arena, at, loop_thread_number(arena, 0)));
    loop_value all = skeleton_size(&s.code.values, thread_count(window, arena, items));
    struct loop_block *body = loop_if(block, loop_less(arena, at, all));
    open_thread(&s, body, at, items);
    if (items == 1) {
        lower_lines(&s, body, 1);
    } else { /* the last lines of an image may be fewer */
        loop_value end = loop_add(arena, s.line_first, loop_integer(arena, items));
        struct loop_variable *step;
        lower_lines(&s, loop_if(body, loop_apply(arena, IR_LE, end, s.lines, NULL)), items);
        loop_value left = loop_sub(arena, s.lines, s.line_first);
        struct loop_block *each = loop_for(loop_else(body), LOOP_SERIAL, "step",
                                           loop_integer(arena, 0), left, NULL, &step);
        s.code.values.memo = NULL;
        open_line(&s, each, loop_of(arena, step));
        finish(&s, each, combine(&s));
    }
}

static void window_device_lower(const struct skeleton_group *group, const struct plan_group *plan,
                                struct loop_kernel *kernel)
{
    struct opened opened;
    struct arena *arena = kernel->arena;
    if (!open_group(group, plan, &opened))
        return;
    const struct ir_size *count = thread_count(&opened.window, arena, opened.items);
    struct loop_launch launch = {.grid = {device_blocks(arena, count, opened.threads)},
                                 .block = {opened.threads}};
    struct loop_block *top =
        loop_launch(kernel, plan->name, "neighbours of each element, combined", &launch);
    struct loop_block *block = top;
    if (plan_is(plan, "length", "known")) {
        const struct ir_stage *stage = opened.window.stage;
        const struct ir_size *sizes[WINDOW_INDICES];
        loop_value condition;
        for (int i = 1; i < stage->left_count; i++)
            sizes[i - 1] = group->part->indices[stage->indices[i]].extent;
        const struct skeleton_group *known =
            device_known(arena, group, sizes, stage->left_count - 1, &condition);
        write_thread(known, plan, kernel, condition ? loop_if(top, condition) : top);
        block = condition ? loop_else(top) : NULL;
    }
    if (block)
        write_thread(group, plan, kernel, block);
    loop_prune(top);
}

const struct skeleton skeleton_device_window = {
    .name = "window",
    .note = "few neighbours of each element, written out: pooling, depthwise convolutions",
    .match = window_device_match,
    .open = window_device_open,
    .legal = window_device_legal,
    .predict = window_device_predict,
    .seeds = window_device_seeds,
    .lower = window_device_lower,
};
