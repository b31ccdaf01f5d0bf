/*
 * Draws of a case: several distributions of inputs, and the oracle's answer to each. How far off an
 * element may be is said in limits.c; cases too large for this are drawn by fill.c.
 */
#include <math.h>
#include <string.h>

#include "judge/private.h"

/* NUDGED is DECLARED with one value of each input changed: a result kept for inputs that look the
 * same at a glance does not pass. */
enum draw_number {
    DRAW_DECLARED,
    DRAW_NUDGED,
    DRAW_NUDGED_TWICE, /* who looks at some elements may have looked at the one */
    DRAW_HEAVY,
    DRAW_LARGE,
    DRAW_TINY,
    DRAW_SPARSE,
    DRAW_VARIANTS
};

static const char *const draw_names[] = {"as declared",
                                         "as before but for one value",
                                         "as before but for another value",
                                         "heavy tails",
                                         "large values",
                                         "small values and zeros",
                                         "few non-zeros"};

bool draw_is_free(const struct task_input *input, enum dtype dtype)
{
    return dtype_is_float(dtype) && !(input->properties & (IR_PROPERTY_SORTED));
}

static bool any_free(const struct task_case *task_case)
{
    const struct ir_part *part = ir_root(task_case->program);
    for (int i = 0; i < part->input_count; i++)
        if (draw_is_free(&task_case->inputs[i], part->tensors[part->inputs[i]].dtype))
            return true;
    return false;
}

int draw_count(const struct task_case *task_case)
{
    return any_free(task_case) ? DRAW_VARIANTS : 2; /* integers only: two independent draws */
}

int draw_sampled(const struct task_case *task_case, int number, const char **name)
{
    static const enum draw_number kinds[] = {DRAW_DECLARED, DRAW_SPARSE, DRAW_HEAVY};
    bool free = any_free(task_case);
    int count = free ? (int)(sizeof kinds / sizeof *kinds) : 1;
    if (name && number < count)
        *name = draw_names[free ? kinds[number] : DRAW_DECLARED];
    return number < count ? (int)(free ? kinds[number] : DRAW_DECLARED) : -1;
}

static int64_t row_length(const struct array *array)
{
    return array->rank ? array->dims[array->rank - 1] : 1;
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

void draw_vary(const struct task_input *input, int variant, struct array *array, int64_t row,
               struct random *random)
{
    for (int64_t i = 0; i < array->count; i++) {
        double declared = array->floats[i];
        if ((input->properties & IR_PROPERTY_TRIANGULAR) && declared == 0)
            continue;
        double value =
            dtype_round(array->dtype, vary((enum draw_number)variant, declared, random, row));
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

/*
 * Values of [0, 1) for many elements, sixteen bits each: by how much an input is moved need not be
 * drawn finely, and drawing it with care would take longer than all that is done with it.
 */
struct scatter {
    uint64_t seed, bits;
};

static struct scatter scatter_new(struct random *random)
{
    return (struct scatter){.seed = random_u64(random)};
}

static double scatter_at(struct scatter *scatter, int64_t element)
{
    if (element % 4 == 0) /* mixed twice: neighbours' bits go round evenly after once, and cancel */
        scatter->bits = hash_mix(hash_mix(scatter->seed, (uint64_t)element), scatter->seed);
    double value = (double)(scatter->bits & 0xffff) * 0x1p-16;
    scatter->bits >>= 16;
    return value;
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
        struct scatter scatter = scatter_new(random);
        for (int64_t k = 0; k < inputs[i].count; k++) {
            double by = 2 * scatter_at(&scatter, k) - 1;
            by += by < 0 ? -0.5 : 0.5;
            moved[i].floats[k] = inputs[i].floats[k] * (1 + unit * by);
        }
    }
    return moved;
}

/* More where it costs little. */
enum { DISTURBANCES_SMALL = 8, SMALL = 1 << 16 };

static int disturbance_count(const struct ir_binding *binding, const struct draw *draw)
{
    const struct ir_part *part = binding->part;
    int64_t elements = 0;
    for (int i = 0; i < part->input_count; i++)
        elements += draw->inputs[i].count;
    for (int o = 0; o < part->output_count; o++)
        elements += draw->expected[o].count;
    return elements < SMALL ? DISTURBANCES_SMALL : 0;
}

/* One disturbance; what it takes is the arena's. */
static bool add_changes(struct arena *arena, const struct ir_binding *binding,
                        struct oracle_code *code, const struct limit_rule *rule,
                        const struct draw *draw, struct random *random, int rounds,
                        struct error *error)
{
    const struct ir_part *part = binding->part;
    struct array *moved = disturb(arena, part, draw->inputs, rule->unit, random);
    struct array *outputs = arena_array(arena, (size_t)part->output_count + 1, sizeof *outputs);
    if (!evaluate(arena, binding, code, moved, outputs, error))
        return false;
    for (int o = 0; o < part->output_count; o++)
        for (int64_t i = 0; draw->limits[o] && i < outputs[o].count; i++) {
            double change = fabs(outputs[o].floats[i] - draw->expected[o].floats[i]);
            if (change < INFINITY)
                draw->limits[o][i] += change / rounds;
        }
    return true;
}

/* How far each element moves on average; one disturbance alone may miss it. */
static bool make_limits(struct arena *arena, const struct ir_binding *binding,
                        struct oracle_code *code, const struct limit_rule *rule, struct draw *draw,
                        struct random *random, struct error *error)
{
    const struct ir_part *part = binding->part;
    int rounds = disturbance_count(binding, draw);
    rounds = rounds > rule->rounds ? rounds : rule->rounds;
    double **changes = arena_array(arena, (size_t)part->output_count + 1, sizeof *changes);
    draw->limits = changes;
    for (int o = 0; rule->bits && o < part->output_count; o++)
        if (draw->expected[o].floats)
            changes[o] = arena_array(arena, (size_t)draw->expected[o].count + 1, sizeof(double));
    struct arena own = {0};
    for (int round = 0; rule->bits && round < rounds; round++) {
        arena_reset(&own);
        if (!add_changes(&own, binding, code, rule, draw, random, rounds, error)) {
            arena_release(&own);
            return false;
        }
    }
    arena_release(&own);
    for (int o = 0; o < part->output_count; o++)
        if (changes[o])
            limit_settle(rule, &draw->expected[o], changes[o]);
    return true;
}

/*
 * The plain kernel may be lucky at a few elements: where a formula loses digits (1 + erf(x) below
 * 0), its result may fall on the right one by chance, and no other way to compute erf would be
 * close enough. So its errors are taken from some draws nearby, too: each value up to a quarter
 * smaller.
 */
enum { NEAR_DRAWS = 8, NEAR_ELEMENTS = 32 };

static bool look_near(const struct ir_binding *binding, struct oracle_code *code,
                      const struct plain *plain, struct draw *draw, enum directed directed,
                      struct random *random, struct error *error)
{
    const struct ir_part *part = binding->part;
    struct arena own = {0};
    int64_t elements = 0;
    bool good = true;
    for (int o = 0; o < part->output_count; o++)
        elements += draw->limits[o] ? draw->expected[o].count : 0;
    for (int d = 0; good && elements > 0 && elements <= NEAR_ELEMENTS && d < NEAR_DRAWS; d++) {
        struct draw near = {.limits = draw->limits};
        arena_reset(&own);
        near.inputs = arena_array(&own, (size_t)part->input_count + 1, sizeof *near.inputs);
        near.expected = arena_array(&own, (size_t)part->output_count + 1, sizeof *near.expected);
        for (int i = 0; i < part->input_count; i++) {
            near.inputs[i] = draw->inputs[i];
            if (!draw->inputs[i].floats)
                continue;
            array_alloc(&own, &near.inputs[i]);
            struct scatter scatter = scatter_new(random);
            for (int64_t k = 0; k < near.inputs[i].count; k++)
                near.inputs[i].floats[k] =
                    dtype_round(near.inputs[i].dtype,
                                draw->inputs[i].floats[k] * (1 - 0.25 * scatter_at(&scatter, k)));
        }
        good = evaluate(&own, binding, code, near.inputs, near.expected, error) &&
               plain_raise_limits(plain, binding, &near, true,
                                  directed == DIRECTED_WORST ? directed : DIRECTED_NOT, error);
    }
    arena_release(&own);
    return good;
}

/*
 * Input number `input` of a draw of the kind `number`. Large ones of floats are made of some tens
 * of thousands of values: drawing every one would take as long as all else that is done with them.
 */
static bool draw_one(struct arena *arena, const struct task_case *task_case,
                     const struct ir_binding *binding, int input, int number, uint64_t seed,
                     struct random *random, struct array *array, struct error *error)
{
    enum { LARGE = 4 * FILL_TABLE };
    const struct ir_tensor *tensor = &binding->part->tensors[binding->part->inputs[input]];
    const struct task_input *asked = &task_case->inputs[input];
    *array = (struct array){.name = tensor->name, .dtype = tensor->dtype, .rank = tensor->rank};
    array->count = ir_tensor_shape(binding, binding->part->inputs[input], array->dims);
    if (dtype_is_float(tensor->dtype) && array->count >= LARGE &&
        !fill_fixed(task_case, binding, input)) {
        array_alloc(arena, array);
        return fill_floats(task_case, binding, input, number, seed, array, error);
    }
    if (!oracle_draw_input(arena, task_case, binding, input, seed, array, error))
        return false;
    if (number != DRAW_DECLARED && draw_is_free(asked, array->dtype))
        draw_vary(asked, number, array, row_length(array), random);
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
    bool nudged = (number == DRAW_NUDGED || number == DRAW_NUDGED_TWICE) && any_free(task_case);
    uint64_t own_seed = hash_mix(seed, nudged ? DRAW_DECLARED + 1 : (uint64_t)number + 1);
    struct random random = random_new(own_seed, 1000);
    for (int i = 0; i < part->input_count; i++)
        if (!draw_one(arena, task_case, binding, i, nudged ? DRAW_DECLARED : number, own_seed,
                      &random, &draw->inputs[i], error))
            return false;
    int passes =
        nudged ? 1 + (number == DRAW_NUDGED_TWICE) : 0; /* the first as in the draw before */
    for (int i = 0; i < passes * part->input_count; i++) {
        const struct task_input *input = &task_case->inputs[i % part->input_count];
        struct array *array = &draw->inputs[i % part->input_count];
        if (draw_is_free(input, array->dtype))
            nudge_input(input, array, &random);
    }
    struct limit_rule rule = limit_rule_make(arena, task, binding);
    if (!evaluate(arena, binding, code, draw->inputs, draw->expected, error) ||
        !make_limits(arena, binding, code, &rule, draw, &random, error))
        return false;
    enum directed directed = directed_choose(task_case->program, binding, rule.bits);
    if (!plain_raise_limits(plain, binding, draw, false, directed, error) ||
        (rule.bits && !look_near(binding, code, plain, draw, directed, &random, error)))
        return false;
    draw->keys = arena_array(arena, (size_t)part->output_count + 1, sizeof *draw->keys);
    bool good = true;
    for (int o = 0; good && o < part->output_count; o++)
        if (draw->expected[o].integers)
            good = keys_make(arena, task_case->program, binding, &rule, draw->inputs,
                             disturb(arena, part, draw->inputs, rule.unit, &random), o,
                             &draw->keys[o], error);
    return good;
}
