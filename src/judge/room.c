/*
 * How a case is judged: evaluated whole, by sampled elements, or not at all. Decided beforehand,
 * from what each way takes of memory and work.
 */
#include <stdio.h>

#include "judge/private.h"

static const double share_of_available = 0.8; /* of the machine's memory, unless told otherwise */
static const double most_steps = 1.5e9;       /* values one evaluation computes */
static const double brief_steps = 2e7;        /* the same for whoever is in a hurry */
static const double device_steps = 8e6;       /* the same on a device, whose kernels take less */

enum { SLICE_LEAST = 64 << 20, SLICE_MOST = 1 << 30 }; /* bytes for what elements depend on */

static int64_t room_limit(const struct judge_options *options)
{
    if (options->memory > 0)
        return options->memory;
    return (int64_t)(share_of_available * (double)oracle_memory_available());
}

static double tensor_bytes(const struct ir_binding *binding, int tensor, bool widened)
{
    size_t width = widened ? sizeof(double) : dtype_bytes(binding->part->tensors[tensor].dtype);
    return (double)ir_tensor_shape(binding, tensor, NULL) * (double)width;
}

/* Buffers the kernel sees, once: inputs, outputs and scratch in their own types. */
static double buffer_bytes(const struct ir_binding *binding, int64_t scratch)
{
    const struct ir_part *part = binding->part;
    double bytes = (double)scratch;
    for (int i = 0; i < part->input_count; i++)
        bytes += tensor_bytes(binding, part->inputs[i], false);
    for (int o = 0; o < part->output_count; o++)
        bytes += tensor_bytes(binding, part->outputs[o], false);
    return bytes;
}

/* All draws with expected values and limits, one evaluation with moved inputs, the buffers of two
 * slots, and those of the plain kernel. */
static double whole_bytes(const struct ir_binding *binding, int64_t scratch, int64_t plain_scratch,
                          int draws)
{
    const struct ir_part *part = binding->part;
    double inputs = 0, outputs = 0, evaluation = (double)oracle_memory(binding);
    for (int i = 0; i < part->input_count; i++)
        inputs += tensor_bytes(binding, part->inputs[i], true);
    for (int o = 0; o < part->output_count; o++)
        outputs += tensor_bytes(binding, part->outputs[o], true);
    if (evaluation < 0)
        evaluation = 1e19;
    return draws * (inputs + 2 * outputs) + evaluation + inputs + outputs +
           2 * buffer_bytes(binding, scratch) + buffer_bytes(binding, plain_scratch);
}

/* An index may stand for another of the same value, which is known of whole rows only. */
static bool may_be_brief(const struct ir_part *part)
{
    for (int o = 0; o < part->output_count; o++)
        if (!dtype_is_float(part->tensors[part->outputs[o]].dtype))
            return false;
    return true;
}

static int64_t to_bytes(double bytes)
{
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

struct room room_plan(const struct ir_binding *binding, int64_t scratch, int64_t plain_scratch,
                      int draws, const struct judge_options *options)
{
    int64_t limit = room_limit(options);
    struct room room = {.limit = limit};
    double whole = whole_bytes(binding, scratch, plain_scratch, draws);
    double sampled = buffer_bytes(binding, scratch) + SLICE_LEAST;
    room.whole = to_bytes(whole);
    room.sampled = to_bytes(sampled);
    double most = options->brief && may_be_brief(binding->part) ? brief_steps : most_steps;
    if (room.whole <= limit && oracle_steps(binding, NULL) <= most) {
        room.way = ROOM_WHOLE;
    } else if (room.sampled <= limit) {
        room.way = ROOM_SAMPLED;
        int64_t left = limit - room.sampled + SLICE_LEAST;
        room.slice = left < SLICE_MOST ? left : SLICE_MOST;
    } else {
        room.way = ROOM_NONE;
    }
    return room;
}

/* Of what is sampled the host has a block of values per input: see drawn.h. */
struct room room_plan_device(const struct ir_binding *binding, int64_t plain_scratch, int draws,
                             const struct judge_options *options)
{
    struct room room = room_plan(binding, 0, plain_scratch, draws, options);
    int64_t limit = room.limit;
    enum { BLOCKS = 4 << 26 };
    room.sampled = (int64_t)SLICE_LEAST + (int64_t)BLOCKS * binding->part->input_count;
    int64_t left = limit - room.sampled + SLICE_LEAST;
    room.slice = left < SLICE_MOST ? left : SLICE_MOST;
    if (room.way != ROOM_WHOLE || oracle_steps(binding, NULL) > device_steps)
        room.way = room.sampled <= limit ? ROOM_SAMPLED : ROOM_NONE;
    return room;
}

const char *room_explain(struct arena *arena, const struct room *room)
{
    char least[ORACLE_BYTES_TEXT], most[ORACLE_BYTES_TEXT];
    oracle_bytes_print(least, room->sampled);
    oracle_bytes_print(most, room->limit);
    return arena_printf(arena, "takes at least %s of memory, and %s may be used", least, most);
}

bool room_check_task(struct arena *arena, const struct task *task,
                     const struct judge_options *options, bool device, struct error *error)
{
    struct text left_out = text_new(arena);
    int judged = 0, refused = 0;
    for (int i = 0; i < task->case_count; i++) {
        const struct task_case *task_case = &task->cases[i];
        if (options->only_case >= 0 && options->only_case != i)
            continue;
        struct ir_binding *binding =
            ir_bind(arena, task_case->program, task_case->sizes, task_case->scalars, error);
        if (!binding)
            return false;
        int draws = draw_count(task_case);
        struct room room = device ? room_plan_device(binding, 0, draws, options)
                                  : room_plan(binding, 0, 0, draws, options);
        judged++;
        if (room.way != ROOM_NONE)
            continue;
        refused++;
        error_set(error, ERROR_OUT_OF_MEMORY, "case %s %s", task_case->text,
                  room_explain(arena, &room));
        error_hint(error, "allow more with --memory SIZE, or take smaller sizes");
        text_printf(&left_out, "%scase %s %s: it is left out", refused > 1 ? "; " : "",
                    task_case->text, room_explain(arena, &room));
    }
    if (refused > 0 && refused == judged)
        return false;
    if (refused > 0)
        log_warn("%s", left_out.at);
    *error = (struct error){0};
    return true;
}
