/*
 * Draws of a case: several distributions of inputs, the oracle's answer to each, and how far off an
 * element may be.
 *
 * The limit of an element is the largest of
 *   - a few units of the accuracy class at the expected value,
 *   - a few times what the oracle's answer moves by on average when every input is disturbed by a
 * unit of the class: no kernel that computes in the class can be expected to do better, and one
 * that computes in a lesser class does thousands of times worse. "A few" grows with the longest
 * reduction, as the error of a plain loop over like values does, up to a thousand: less than what
 * rounding the inputs to the next lesser class costs. The draw with few non-zeros keeps such
 * rounding from averaging out. And twice the worst error of the plain kernel over the draw is
 * always allowed (plain.c). Outputs of integers and truth values must be equal; so must floats
 * where the class is `exact`.
 */
#include <math.h>
#include <string.h>

#include "judge/private.h"

/* NUDGED is DECLARED with one value of each input changed: a result kept for inputs that look the
 * same at a glance does not pass. */
enum draw_number {
    DRAW_DECLARED,
    DRAW_NUDGED,
    DRAW_HEAVY,
    DRAW_LARGE,
    DRAW_TINY,
    DRAW_SPARSE,
    DRAW_VARIANTS
};

static const char *const draw_names[] = {
    "as declared",  "as before but for one value", "heavy tails",
    "large values", "small values and zeros",      "few non-zeros"};

/* Significant bits of a class; 0: must be exact. */
static int class_bits(const char *accuracy)
{
    static const struct {
        const char *name;
        int bits;
    } classes[] = {{"exact", 0}, {"f64", 53}, {"f32", 24}, {"tf32", 11},
                   {"f16", 11},  {"bf16", 8}, {"f8e4", 4}, {"f8e5", 3}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(classes[i].name, accuracy) == 0)
            return classes[i].bits;
    return 24;
}

static bool is_free(const struct task_input *input, enum dtype dtype)
{
    return dtype_is_float(dtype) && !(input->properties & (IR_PROPERTY_SORTED));
}

static bool any_free(const struct task_case *task_case)
{
    const struct ir_part *part = ir_root(task_case->program);
    for (int i = 0; i < part->input_count; i++)
        if (is_free(&task_case->inputs[i], part->tensors[part->inputs[i]].dtype))
            return true;
    return false;
}

int draw_count(const struct task_case *task_case)
{
    return any_free(task_case) ? DRAW_VARIANTS : 2; /* integers only: two independent draws */
}

static double clip(const struct task_input *input, double value, double fallback)
{
    bool low = input->low_open ? value > input->low : value >= input->low;
    bool high = input->high_open ? value < input->high : value <= input->high;
    return low && high ? value : fallback;
}

/* One value of a variant, made from the declared one. */
static double vary(enum draw_number variant, double value, struct random *random, int64_t row)
{
    switch (variant) {
    case DRAW_HEAVY: return value * exp(2 * random_normal(random));
    case DRAW_LARGE: return value * 64;
    case DRAW_TINY: {
        static const double pool[] = {0.0, -0.0, 1e-30, -1e-38, 0x1p-140, 1.0, -1.0};
        uint64_t pick = random_below(random, 14);
        return pick < 7 ? pool[pick] : value * 1e-3;
    }
    case DRAW_SPARSE:
        return random_below(random, (uint64_t)(row > 4 ? row / 4 : 1)) == 0 ? value : 0.0;
    default: return value;
    }
}

static void vary_input(const struct task_input *input, enum draw_number variant,
                       struct array *array, struct random *random)
{
    int64_t row = array->rank ? array->dims[array->rank - 1] : 1;
    for (int64_t i = 0; i < array->count; i++) {
        double declared = array->floats[i];
        if ((input->properties & IR_PROPERTY_TRIANGULAR) && declared == 0)
            continue;
        double value = dtype_round(array->dtype, vary(variant, declared, random, row));
        if (isinf(value) || isnan(value))
            value = declared;
        array->floats[i] = clip(input, value, declared);
    }
}

static void nudge_input(const struct task_input *input, struct array *array, struct random *random)
{
    if (array->count == 0)
        return;
    double *value = &array->floats[random_below(random, (uint64_t)array->count)];
    if ((input->properties & IR_PROPERTY_TRIANGULAR) && *value == 0)
        return;
    double other = dtype_round(array->dtype, *value == 0 ? 1 : -2 * *value);
    *value = clip(input, other, clip(input, dtype_round(array->dtype, *value / 2), *value));
}

static bool evaluate(struct arena *arena, const struct ir_binding *binding,
                     struct oracle_code *code, const struct array *inputs, struct array *outputs,
                     struct error *error)
{
    struct oracle_options options = {.exact_outputs = true};
    return code ? oracle_run(arena, code, binding, inputs, outputs, &options, error)
                : oracle_interpret(arena, binding, inputs, outputs, &options, error);
}

/* Every float input moved by about a unit of the class. By how much differs from value to value:
 * moved by equal amounts, like terms that cancel would seem to take no harm from rounding. */
static struct array *disturb(struct arena *arena, const struct ir_part *part,
                             const struct array *inputs, double unit, struct random *random)
{
    struct array *moved = arena_array(arena, (size_t)part->input_count + 1, sizeof *moved);
    for (int i = 0; i < part->input_count; i++) {
        moved[i] = inputs[i];
        if (!inputs[i].floats)
            continue;
        array_alloc(arena, &moved[i]);
        for (int64_t k = 0; k < inputs[i].count; k++) {
            double by = 2 * random_uniform(random) - 1;
            by += by < 0 ? -0.5 : 0.5;
            moved[i].floats[k] = inputs[i].floats[k] * (1 + unit * by);
        }
    }
    return moved;
}

/* More where it costs little. */
enum { DISTURBANCES = 3, DISTURBANCES_SMALL = 8, SMALL = 1 << 16, BLOCK = 64 };

/* How many values the longest reduction combines, calls and loops included. */
static double longest_reduction(struct arena *arena, const struct ir_binding *binding,
                                const struct ir_stage *stages, int count)
{
    double longest = 1;
    for (int s = 0; s < count; s++) {
        const struct ir_stage *stage = &stages[s];
        double length = 1;
        if (stage->kind == IR_CALL) {
            struct ir_binding *callee = ir_bind_call(arena, binding, stage);
            if (callee)
                length = longest_reduction(arena, callee, callee->part->stages,
                                           callee->part->stage_count);
        } else if (stage->kind == IR_LOOP) {
            length = longest_reduction(arena, binding, stage->body, stage->body_count);
        }
        int first = stage->kind == IR_REDUCE    ? stage->left_count
                    : stage->kind == IR_SCATTER ? 0
                                                : stage->index_count;
        for (int i = first; i < stage->index_count; i++) {
            const struct ir_size *extent = binding->part->indices[stage->indices[i]].extent;
            int64_t value;
            if (extent && ir_size_eval(extent, binding->sizes, &value))
                length *= (double)(value > 0 ? value : 1);
        }
        int64_t along;
        if (stage->kind == IR_SCAN && binding->part->indices[stage->along].extent &&
            ir_size_eval(binding->part->indices[stage->along].extent, binding->sizes, &along))
            length *= (double)(along > 0 ? along : 1);
        longest = fmax(longest, length);
    }
    return longest;
}

static int disturbance_count(const struct ir_binding *binding, const struct draw *draw)
{
    const struct ir_part *part = binding->part;
    int64_t elements = 0;
    for (int i = 0; i < part->input_count; i++)
        elements += draw->inputs[i].count;
    for (int o = 0; o < part->output_count; o++)
        elements += draw->expected[o].count;
    return elements < SMALL ? DISTURBANCES_SMALL : DISTURBANCES;
}

/*
 * By chance an element may move little in every disturbance, though rounding harms it as much as
 * its neighbours: it is taken to move at least half as far as the middle one of its block. What
 * never moves at all depends on no rounding and is left alone.
 */
static void even_out(double *changes, int64_t count)
{
    for (int64_t start = 0; start < count; start += BLOCK) {
        int64_t end = start + BLOCK < count ? start + BLOCK : count;
        double moving[BLOCK];
        size_t found = 0;
        for (int64_t i = start; i < end; i++)
            if (changes[i] > 0)
                moving[found++] = changes[i];
        double least = found > 2 ? statistics_median(moving, found) / 2 : 0;
        for (int64_t i = start; i < end; i++)
            if (changes[i] > 0)
                changes[i] = fmax(changes[i], least);
    }
}

/* How far each element moves on average; one disturbance alone may miss it. */
static bool add_changes(struct arena *arena, const struct ir_binding *binding,
                        struct oracle_code *code, const struct draw *draw, double unit,
                        struct random *random, double **changes, struct error *error)
{
    const struct ir_part *part = binding->part;
    int rounds = disturbance_count(binding, draw);
    for (int round = 0; round < rounds; round++) {
        struct array *moved = disturb(arena, part, draw->inputs, unit, random);
        struct array *outputs = arena_array(arena, (size_t)part->output_count + 1, sizeof *outputs);
        if (!evaluate(arena, binding, code, moved, outputs, error))
            return false;
        for (int o = 0; o < part->output_count; o++)
            for (int64_t i = 0; changes[o] && i < outputs[o].count; i++) {
                double change = fabs(outputs[o].floats[i] - draw->expected[o].floats[i]);
                if (change < INFINITY)
                    changes[o][i] += change / rounds;
            }
    }
    for (int o = 0; o < part->output_count; o++)
        if (changes[o])
            even_out(changes[o], draw->expected[o].count);
    return true;
}

static bool make_limits(struct arena *arena, const struct task *task,
                        const struct ir_binding *binding, struct oracle_code *code,
                        struct draw *draw, struct random *random, struct error *error)
{
    const struct ir_part *part = binding->part;
    int bits = class_bits(task->accuracy);
    draw->limits = arena_array(arena, (size_t)part->output_count + 1, sizeof *draw->limits);
    if (bits == 0)
        return true;
    double unit = ldexp(1, 1 - bits);
    double length = longest_reduction(arena, binding, part->stages, part->stage_count);
    double few = 4 + fmin(length / 4, 1000);
    for (int o = 0; o < part->output_count; o++)
        if (draw->expected[o].floats)
            draw->limits[o] =
                arena_array(arena, (size_t)draw->expected[o].count + 1, sizeof(double));
    if (!add_changes(arena, binding, code, draw, unit, random, draw->limits, error))
        return false;
    for (int o = 0; o < part->output_count; o++) {
        const struct array *expected = &draw->expected[o];
        if (!expected->floats)
            continue;
        int own = class_bits(dtype_name(expected->dtype));
        double floor =
            fmax(few * unit, ldexp(1, 1 - own)); /* the output is rounded to its type too */
        /* and whether denormals count is left to the kernel */
        double flushed = expected->dtype == DTYPE_F64 ? 0x1p-1000 : 0x1p-116;
        for (int64_t i = 0; i < expected->count; i++) {
            double moved = 2 * few * draw->limits[o][i];
            draw->limits[o][i] = fmax(floor * fabs(expected->floats[i]) + flushed, moved);
        }
    }
    return true;
}

bool draw_make(struct arena *arena, const struct task *task, const struct task_case *task_case,
               const struct ir_binding *binding, struct oracle_code *code,
               const struct plain *plain, int number, uint64_t seed, struct draw *draw,
               struct error *error)
{
    const struct ir_part *part = binding->part;
    *draw = (struct draw){.name = draw_names[number]};
    draw->inputs = arena_array(arena, (size_t)part->input_count + 1, sizeof *draw->inputs);
    draw->expected = arena_array(arena, (size_t)part->output_count + 1, sizeof *draw->expected);
    bool nudged = number == DRAW_NUDGED && any_free(task_case);
    uint64_t own_seed = hash_mix(seed, nudged ? DRAW_DECLARED + 1 : (uint64_t)number + 1);
    if (!oracle_draw(arena, task_case, binding, own_seed, draw->inputs, error))
        return false;
    struct random random = random_new(own_seed, 1000);
    for (int i = 0; i < part->input_count; i++) {
        const struct task_input *input = &task_case->inputs[i];
        if (number == DRAW_DECLARED || !is_free(input, draw->inputs[i].dtype))
            continue;
        if (nudged)
            nudge_input(input, &draw->inputs[i], &random);
        else
            vary_input(input, (enum draw_number)number, &draw->inputs[i], &random);
    }
    if (!evaluate(arena, binding, code, draw->inputs, draw->expected, error) ||
        !make_limits(arena, task, binding, code, draw, &random, error))
        return false;
    plain_raise_limits(plain, binding, draw);
    return true;
}
