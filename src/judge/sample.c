/*
 * Checking a case that is too large to evaluate whole. There is one slot; inputs are drawn right
 * into it. After each call the judge chooses elements of the outputs, and evaluates them, and what
 * they depend on, from the very bytes the kernel read. The kernel has run by then, so it cannot
 * know which they are. Two cells take turns: in one the buffers lie against the guard before them,
 * in the other against the one behind; the first draw runs in both.
 *
 * Half of the elements lie on a grid: first, last, at both sides of multiples of powers of two,
 * where tiles end, and at random; they share rows and columns, and so most of their work. The other
 * half lies anywhere. Both are fewer where one costs much.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge/reference.h"
#include "judge/sample.h"
#include "os/os.h"

enum {
    SAMPLE_MOST = 1536, /* elements of a draw, over all outputs */
    SAMPLE_LEAST = 48,
    BRIEF_LEAST = 16,  /* the same for whoever is in a hurry */
    DEVICE_LEAST = 16, /* the same where a device makes the inputs */
    SAMPLE_TRIAL = 32, /* evaluated first, to see what they cost */
    DEVICE_TRIAL = 16,
    GRID_MOST = 64, /* values of one index on the grid */
};

/* What evaluating all elements once may take; less where so much else is checked in the time. */
static const double evaluation_seconds = 2, device_seconds = 0.25, brief_seconds = 0.1;

/* ---- choosing ---- */

/* One side of a multiple of a power of two, an end, or anything. */
static int64_t grid_value(int64_t extent, int number, struct random *random)
{
    if (number == 0)
        return 0;
    if (number == 1)
        return extent - 1;
    if (number % 2 == 0) {
        int64_t unit = (int64_t)8 << random_below(random, 6);
        int64_t tiles = extent / unit;
        if (tiles > 0) {
            int64_t edge = unit * (1 + (int64_t)random_below(random, (uint64_t)tiles));
            edge -= (int64_t)random_below(random, 2);
            if (edge < extent)
                return edge;
        }
    }
    return (int64_t)random_below(random, (uint64_t)extent);
}

/* As many values per index as make about `wanted` combinations, those of short indices all. */
static void grid_shape(const int64_t *dims, int rank, int64_t wanted, int64_t *counts)
{
    double left = (double)wanted;
    bool *settled = (bool[IR_MAX_RANK]){false};
    for (int d = 0; d < rank; d++)
        counts[d] = 0;
    for (int round = 0; round < rank; round++) {
        int open = 0, least = -1;
        for (int d = 0; d < rank; d++) {
            open += !settled[d];
            if (!settled[d] && (least < 0 || dims[d] < dims[least]))
                least = d;
        }
        double share = pow(left, 1.0 / open);
        int64_t count = (int64_t)fmax(1, floor(share + 0.01));
        count = count < GRID_MOST || rank == 1 ? count : GRID_MOST;
        counts[least] = dims[least] < count ? dims[least] : count;
        left = fmax(1, left / (double)counts[least]);
        settled[least] = true;
    }
}

static int64_t choose_grid(const int64_t *dims, int rank, int output, int64_t wanted,
                           struct random *random, struct oracle_place *places)
{
    int64_t counts[IR_MAX_RANK], number[IR_MAX_RANK] = {0}, found = 0;
    int64_t(*values)[SAMPLE_MOST] = memory_alloc(sizeof *values * IR_MAX_RANK);
    grid_shape(dims, rank, wanted, counts);
    for (int d = 0; d < rank; d++)
        for (int64_t k = 0; k < counts[d]; k++)
            values[d][k] = counts[d] == dims[d] ? k : grid_value(dims[d], (int)k, random);
    for (bool more = true; more && found < wanted;) {
        int64_t element = 0;
        for (int d = 0; d < rank; d++)
            element = element * dims[d] + values[d][number[d]];
        places[found++] = (struct oracle_place){output, element};
        more = false;
        for (int d = rank; d-- > 0 && !more;) {
            more = ++number[d] < counts[d];
            if (!more)
                number[d] = 0;
        }
    }
    memory_free(values);
    return found;
}

static int compare_places(const void *left, const void *right)
{
    const struct oracle_place *a = left, *b = right;
    if (a->output != b->output)
        return a->output < b->output ? -1 : 1;
    return (a->element > b->element) - (a->element < b->element);
}

/* About `wanted` different elements of all outputs, in order. */
static int64_t choose(const struct ir_binding *binding, int64_t wanted, struct random *random,
                      struct oracle_place *places)
{
    const struct ir_part *part = binding->part;
    int64_t count = 0;
    for (int o = 0; o < part->output_count; o++) {
        int64_t dims[IR_MAX_RANK], total = ir_tensor_shape(binding, part->outputs[o], dims);
        int64_t share = wanted / part->output_count;
        if (total == 0)
            continue;
        if (total <= share) {
            for (int64_t e = 0; e < total; e++)
                places[count++] = (struct oracle_place){o, e};
            continue;
        }
        int rank = part->tensors[part->outputs[o]].rank;
        int64_t on_grid = choose_grid(dims, rank, o, share / 2 + 1, random, places + count);
        for (int64_t k = on_grid; k < share; k++)
            places[count + k] =
                (struct oracle_place){o, (int64_t)random_below(random, (uint64_t)total)};
        count += share > on_grid ? share : on_grid;
    }
    qsort(places, (size_t)count, sizeof *places, compare_places);
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++)
        if (kept == 0 || compare_places(&places[kept - 1], &places[i]) != 0)
            places[kept++] = places[i];
    return kept;
}

/* ---- evaluating ---- */

struct sample { /* one draw, after the call */
    const struct ir_binding *binding;
    const struct sampling *sampling;
    struct arena *arena;
    struct random random;
    int64_t most; /* elements */
    const struct array *inputs;
    const struct drawn *drawn; /* they are of this draw of it, or NULL */
    int number, slot;
    struct oracle_place *places;
    int64_t count;
    struct ir_value *values;
    struct draw draw;                    /* expected and limits, of the chosen elements only */
    const struct sample_expected *known; /* chosen before; NULL: after the call */
    void **got;                          /* per output: what the kernel left there */
    struct error *error;
};

struct sharing { /* what a process writes down */
    bool done;
    struct ir_value values[];
};

/*
 * oracle_sample by as many processes as there are processors: while a device is judged they have
 * nothing else to do, and an element may depend on millions of others. One process per part; those
 * of the calling one come first.
 */
static bool share_out(const struct oracle_slice *slice, const struct ir_binding *binding,
                      const struct array *inputs, const struct oracle_place *places, int64_t count,
                      struct ir_value *values, const struct oracle_options *options,
                      struct error *error)
{
    enum { MOST = 16 };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t parts = cores < MOST ? cores : MOST;
    parts = parts < count ? parts : count;
    size_t each = sizeof(struct sharing) + ((size_t)count + 1) * sizeof *values;
    size_t bytes = (size_t)(parts > 1 ? parts : 1) * each;
    char *shared = parts > 1 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                             : MAP_FAILED;
    if (shared == MAP_FAILED)
        return oracle_sample(slice, binding, inputs, places, count, values, options, error);
    pid_t helpers[MOST] = {0};
    for (int64_t p = 1; p < parts; p++) {
        int64_t first = count * p / parts, end = count * (p + 1) / parts;
        struct sharing *own = (void *)(shared + (size_t)p * each);
        helpers[p] = fork();
        if (helpers[p] != 0)
            continue;
        own->done = oracle_sample(slice, binding, inputs, places + first, end - first, own->values,
                                  options, error);
        _exit(0);
    }
    bool good =
        oracle_sample(slice, binding, inputs, places, count / parts, values, options, error);
    for (int64_t p = 1; p < parts; p++) {
        int64_t first = count * p / parts, end = count * (p + 1) / parts;
        const struct sharing *own = (void *)(shared + (size_t)p * each);
        while (helpers[p] > 0 && waitpid(helpers[p], NULL, 0) < 0 && errno == EINTR)
            ;
        if (own->done)
            memcpy(values + first, own->values, (size_t)(end - first) * sizeof *values);
        else /* it could not be started, or failed: here it says why */
            good = good && oracle_sample(slice, binding, inputs, places + first, end - first,
                                         values + first, options, error);
    }
    munmap(shared, bytes);
    return good;
}

static bool evaluate(struct sample *s, const struct oracle_slice *slice, int64_t count,
                     double disturbance, bool exact)
{
    struct oracle_options options = {.exact_outputs = exact,
                                     .memory = s->sampling->memory,
                                     .disturbance = disturbance,
                                     .disturbance_seed = random_u64(&s->random)};
    if (s->sampling->reference)
        return reference_values(s->sampling->reference, exact ? REFERENCE_EXACT : REFERENCE_PLAIN,
                                s->drawn, s->number, NULL, &options, s->places, count, s->values,
                                s->error);
    return (s->sampling->device ? share_out : oracle_sample)(
        slice, s->binding, s->inputs, s->places, count, s->values, &options, s->error);
}

bool sample_values(const struct sampling *sampling, const struct ir_binding *binding,
                   const struct drawn *drawn, int draw, const int64_t *turns,
                   const struct oracle_place *places, int64_t count, struct ir_value *values,
                   struct error *error)
{
    struct oracle_options options = {.exact_outputs = true, .memory = sampling->memory};
    if (sampling->reference)
        return reference_values(sampling->reference, REFERENCE_EXACT, drawn, draw, turns, &options,
                                places, count, values, error);
    struct arena arena = {0};
    bool good = share_out(sampling->slice, binding, drawn_inputs(&arena, drawn, draw, turns),
                          places, count, values, &options, error);
    arena_release(&arena);
    return good;
}

/* First a few, then as many as there is time for. */
static bool evaluate_all(struct sample *s)
{
    const struct ir_binding *binding = s->binding;
    size_t room = SAMPLE_MOST + 64 * (size_t)(binding->part->output_count + 1);
    bool device = s->sampling->device;
    double enough = device               ? device_seconds
                    : s->sampling->brief ? brief_seconds
                                         : evaluation_seconds;
    bool few = device || s->sampling->brief;
    int tried = few ? DEVICE_TRIAL : SAMPLE_TRIAL;
    int least = device ? DEVICE_LEAST : few ? BRIEF_LEAST : SAMPLE_LEAST;
    s->places = arena_array(s->arena, room, sizeof *s->places);
    s->values = arena_array(s->arena, room, sizeof *s->values);
    s->count = choose(binding, s->most, &s->random, s->places);
    double cost = 0, wanted = (double)s->most;
    if (s->count > SAMPLE_TRIAL && !s->sampling->reference) { /* which evaluates all anyway */
        struct oracle_place trial[SAMPLE_TRIAL];
        struct oracle_place *all = s->places;
        for (int i = 0; i < tried; i++)
            trial[i] = all[random_below(&s->random, (uint64_t)s->count)];
        s->places = trial;
        double start = clock_seconds();
        bool good = evaluate(s, s->sampling->slice, tried, 0, true);
        cost = (clock_seconds() - start) / tried;
        s->places = all;
        if (!good)
            return false;
        wanted = fmin(wanted, 2 * enough / fmax(cost, 1e-9));
        if (wanted < (double)s->count)
            s->count = choose(binding, (int64_t)fmax(wanted, least), &s->random, s->places);
    }
    return evaluate(s, s->sampling->slice, s->count, 0, true);
}

/* Splits values by output into the arrays of a draw. */
static void take_expected(struct sample *s)
{
    const struct ir_part *part = s->binding->part;
    size_t outputs = (size_t)part->output_count + 1;
    s->draw.sampled = true;
    s->draw.expected = arena_array(s->arena, outputs, sizeof *s->draw.expected);
    s->draw.limits = arena_array(s->arena, outputs, sizeof *s->draw.limits);
    int64_t at = 0;
    for (int o = 0; o < part->output_count; o++) {
        const struct ir_tensor *tensor = &part->tensors[part->outputs[o]];
        struct array *array = &s->draw.expected[o];
        int64_t first = at;
        while (at < s->count && s->places[at].output == o)
            at++;
        *array = (struct array){.name = tensor->name, .dtype = tensor->dtype, .rank = 1};
        array->dims[0] = array->count = at - first;
        array_alloc(s->arena, array);
        if (array->floats && s->sampling->rule.bits)
            s->draw.limits[o] = arena_array(s->arena, (size_t)array->count + 1, sizeof(double));
        for (int64_t i = 0; i < array->count; i++)
            if (array->floats)
                array->floats[i] = s->values[first + i].number;
            else
                array->integers[i] = s->values[first + i].integer;
    }
}

static void add_changes(struct sample *s)
{
    int64_t at = 0;
    for (int o = 0; o < s->binding->part->output_count; o++) {
        const struct array *expected = &s->draw.expected[o];
        for (int64_t i = 0; s->draw.limits[o] && i < expected->count; i++) {
            double change = fabs(s->values[at + i].number - expected->floats[i]);
            if (change < INFINITY)
                s->draw.limits[o][i] += change / s->sampling->rule.rounds;
        }
        at += expected->count;
    }
}

/* What the plain kernel would have made of these elements, as bytes of their types. */
static void raise_to_plain(struct sample *s)
{
    int64_t at = 0;
    for (int o = 0; o < s->binding->part->output_count; o++) {
        const struct array *expected = &s->draw.expected[o];
        size_t width = dtype_bytes(expected->dtype);
        if (s->draw.limits[o]) {
            char *bytes = arena_alloc(s->arena, (size_t)expected->count * width + 1);
            for (int64_t i = 0; i < expected->count; i++)
                dtype_store_float(expected->dtype, bytes + (size_t)i * width,
                                  s->values[at + i].number);
            plain_raise_output(expected, bytes, s->draw.limits[o]);
        }
        at += expected->count;
    }
}

static bool make_limits(struct sample *s)
{
    const struct limit_rule *rule = &s->sampling->rule;
    if (rule->bits == 0)
        return true;
    for (int round = 0; round < rule->rounds; round++) {
        if (!evaluate(s, s->sampling->slice, s->count, rule->unit, true))
            return false;
        add_changes(s);
    }
    for (int o = 0; o < s->binding->part->output_count; o++)
        if (s->draw.limits[o])
            limit_settle(rule, &s->draw.expected[o], s->draw.limits[o]);
    if (s->sampling->plain || s->sampling->reference) {
        if (!evaluate(s, s->sampling->plain, s->count, 0, false))
            return false;
        raise_to_plain(s);
    }
    return true;
}

/* What is expected of elements chosen now. */
static bool expect(struct sample *s)
{
    if (!evaluate_all(s))
        return false;
    take_expected(s);
    return make_limits(s);
}

/* The elements as the kernel left them. */
static void gather(struct sample *s, const struct worker *worker)
{
    const void *outputs[CELL_MAX_TENSORS];
    int64_t at = 0;
    size_t count = (size_t)s->binding->part->output_count;
    worker_output_pointers(worker, s->slot, outputs);
    s->got = arena_array(s->arena, count + 1, sizeof *s->got);
    for (int o = 0; o < s->binding->part->output_count; o++) {
        size_t width = dtype_bytes(s->draw.expected[o].dtype);
        s->got[o] = arena_alloc(s->arena, (size_t)s->draw.expected[o].count * width + 1);
        for (int64_t i = 0; i < s->draw.expected[o].count; i++, at++)
            memcpy((char *)s->got[o] + (size_t)i * width,
                   (const char *)outputs[o] + (size_t)s->places[at].element * width, width);
    }
}

static int64_t first_place(const struct sample *s, int output)
{
    int64_t at = 0;
    for (int o = 0; o < output; o++)
        at += s->draw.expected[o].count;
    return at;
}

bool sample_expect(const struct sampling *sampling, const struct ir_binding *binding,
                   const struct drawn *drawn, int draw, int64_t most, struct arena *arena,
                   struct random *random, struct sample_expected *out, struct error *error)
{
    struct sample sample = {.binding = binding,
                            .sampling = sampling,
                            .arena = arena,
                            .random = *random,
                            .most = most < SAMPLE_MOST ? most : SAMPLE_MOST,
                            .inputs = drawn_inputs(arena, drawn, draw, NULL),
                            .drawn = drawn,
                            .number = draw,
                            .error = error};
    bool good = expect(&sample);
    *random = sample.random;
    *out = (struct sample_expected){sample.places, sample.count, sample.draw};
    return good;
}

/* False: the judge or the cell failed, and the result says so. */
static bool compare_sample(struct worker *worker, struct sample *s)
{
    struct launch_result *result = worker->result;
    if (s->known) {
        s->places = s->known->places;
        s->count = s->known->count;
        s->draw = s->known->draw;
    } else if (!expect(s)) {
        return worker_fail(worker, OUTCOME_JUDGE_FAULT, s->error->message);
    }
    if (worker->drawn && !worker_fetch(worker, 0, s->places, s->count))
        return false;
    gather(s, worker);
    double worst = result->comparison.worst;
    compare_outputs(s->binding, &s->draw, (const void *const *)s->got, &result->comparison);
    result->comparison.worst = fmax(worst, result->comparison.worst);
    result->sampled = s->count;
    if (result->comparison.outcome == OUTCOME_OK)
        return true;
    int64_t at = first_place(s, result->comparison.output) + result->comparison.element;
    result->comparison.element = s->places[at].element;
    return true;
}

/* ---- a draw ---- */

struct array sample_shape(const struct ir_binding *binding, int number)
{
    const struct ir_tensor *tensor = &binding->part->tensors[number];
    struct array array = {.name = tensor->name, .dtype = tensor->dtype, .rank = tensor->rank};
    array.count = ir_tensor_shape(binding, number, array.dims);
    return array;
}

static uint64_t draw_seed(const struct sampling *sampling, int number)
{
    return hash_mix(sampling->seed, (uint64_t)number + 1);
}

/* By which elements are chosen: those that are shared are those of the first side, so that a
 * failure is found again without them. */
static struct random choice_random(const struct sampling *sampling, int number, int side)
{
    return random_new(hash_mix(sampling->seed, 100 + (uint64_t)number), 40 + (unsigned)side);
}

/* Of the only draw a device is given at a time. */
static struct drawn_recipe draw_recipe(const struct sampling *sampling, int number)
{
    return (struct drawn_recipe){.kinds = {draw_sampled(sampling->task_case, number, NULL)},
                                 .draw_count = 1,
                                 .seed = draw_seed(sampling, number)};
}

static struct array *raw_inputs(struct worker *worker, struct arena *arena)
{
    const struct ir_part *part = worker->part;
    struct array *inputs = arena_array(arena, (size_t)part->input_count + 1, sizeof *inputs);
    for (int i = 0; i < part->input_count; i++) {
        const struct cell_region *region = worker_region(worker, 0, i);
        inputs[i] = sample_shape(worker->launch->binding, part->inputs[i]);
        inputs[i].raw = worker->inputs + region->offset + region->data;
    }
    return inputs;
}

static bool fill_inputs(struct worker *worker, const struct sampling *sampling, int kind,
                        uint64_t seed, struct error *error)
{
    for (int i = 0; i < worker->part->input_count; i++) {
        const struct cell_region *region = worker_region(worker, 0, i);
        if (!fill_input(sampling->task_case, worker->launch->binding, i, kind, seed,
                        worker->inputs + region->offset + region->data, error))
            return false;
    }
    return true;
}

int sample_slot(const struct worker *worker, int side)
{
    return worker->slots > 1 ? side : 0;
}

static void copy_inputs(struct worker *worker, int slot, const struct sample_shared *shared)
{
    for (int i = 0; i < worker->part->input_count; i++) {
        const struct cell_region *region = worker_region(worker, slot, i);
        memcpy(worker->inputs + region->offset + region->data, shared->inputs[i],
               worker_tensor_bytes(worker, worker->part->inputs[i]));
    }
}

static bool share_draw(const struct sampling *sampling, const struct ir_binding *binding,
                       int number, struct arena *arena, struct sample_shared *out,
                       struct error *error)
{
    const struct ir_part *part = binding->part;
    int kind = draw_sampled(sampling->task_case, number, NULL);
    uint64_t seed = draw_seed(sampling, number);
    struct array *inputs = arena_array(arena, (size_t)part->input_count + 1, sizeof *inputs);
    for (int i = 0; i < part->input_count; i++) {
        inputs[i] = sample_shape(binding, part->inputs[i]);
        inputs[i].raw = out->inputs[i] =
            arena_alloc(arena, (size_t)inputs[i].count * dtype_bytes(inputs[i].dtype) + 1);
        if (!fill_input(sampling->task_case, binding, i, kind, seed, out->inputs[i], error))
            return false;
    }
    struct sample sample = {.binding = binding,
                            .sampling = sampling,
                            .arena = arena,
                            .random = choice_random(sampling, number, 0),
                            .most = SAMPLE_MOST,
                            .inputs = inputs,
                            .error = error};
    bool good = expect(&sample);
    out->expected = (struct sample_expected){sample.places, sample.count, sample.draw};
    return good;
}

/* A device makes the inputs again each time. */
static bool share_drawn(const struct sampling *sampling, const struct ir_binding *binding,
                        int number, struct arena *arena, struct sample_shared *out,
                        struct error *error)
{
    struct arena own = {0};
    struct random random = choice_random(sampling, number, 0);
    struct drawn_recipe recipe = draw_recipe(sampling, number);
    struct drawn *drawn = drawn_make(&own, sampling->task_case, binding, &recipe, error);
    bool good = drawn && sample_expect(sampling, binding, drawn, 0, SAMPLE_MOST, arena, &random,
                                       &out->expected, error);
    drawn_close(drawn);
    arena_release(&own);
    return good;
}

struct sample_shared *sample_share(const struct sampling *sampling,
                                   const struct ir_binding *binding, struct arena *arena,
                                   struct error *error)
{
    int count = 0;
    while (draw_sampled(sampling->task_case, count, NULL) >= 0)
        count++;
    struct sample_shared *shared = arena_array(arena, (size_t)count, sizeof *shared);
    for (int n = 0; n < count; n++)
        if (!(sampling->device ? share_drawn : share_draw)(sampling, binding, n, arena, &shared[n],
                                                           error))
            return NULL;
    return shared;
}

/* Inputs are those of the only draw of `drawn`; NULL: they lie in the slot. */
static bool compare_draw(struct worker *worker, const struct drawn *drawn, int number, int side)
{
    const struct sampling *sampling = worker->launch->sampling;
    struct arena arena = {0};
    struct error error = {0};
    struct sample sample = {.binding = worker->launch->binding,
                            .sampling = sampling,
                            .arena = &arena,
                            .most = SAMPLE_MOST,
                            .drawn = drawn,
                            .number = drawn ? 0 : number, /* drawn has one only */
                            .known = sampling->shared ? &sampling->shared[number].expected : NULL,
                            .slot = sample_slot(worker, side),
                            .error = &error};
    sample.random = choice_random(sampling, number, side);
    sample.inputs = drawn ? drawn_inputs(&arena, drawn, 0, NULL) : raw_inputs(worker, &arena);
    bool good = compare_sample(worker, &sample);
    arena_release(&arena);
    enum outcome outcome = worker->result->comparison.outcome;
    if (!good || outcome == OUTCOME_OK)
        return good;
    return worker_fail(worker, outcome,
                       outcome == OUTCOME_WRONG ? "the result is wrong"
                                                : "the result is not accurate enough");
}

/* The device makes the inputs, and gives back what it is asked for. */
static bool check_drawn(struct worker *worker, int number, int side)
{
    const struct launch *launch = worker->launch;
    struct arena arena = {0};
    struct error error = {0};
    unsigned char poison = (unsigned char)(side ? 0x5b : 0xdb);
    struct drawn_recipe recipe = draw_recipe(launch->sampling, number);
    struct drawn *drawn =
        drawn_make(&arena, launch->sampling->task_case, launch->binding, &recipe, &error);
    bool good = drawn || worker_fail(worker, OUTCOME_JUDGE_FAULT, error.message);
    if (good) {
        worker_take_drawn(worker, drawn);
        worker_draw(worker, 0, drawn, 0, NULL, poison, poison);
        good = worker_call(worker, 0) && compare_draw(worker, drawn, number, side);
    }
    drawn_close(drawn);
    arena_release(&arena);
    return good;
}

bool sample_check_draw(struct worker *worker, int number, int side)
{
    const struct sampling *sampling = worker->launch->sampling;
    struct error error = {0};
    const char *name;
    int kind = draw_sampled(sampling->task_case, number, &name);
    unsigned char poison = (unsigned char)(side ? 0x5b : 0xdb);
    if (worker->drawn)
        return check_drawn(worker, number, side);
    uint64_t seed = draw_seed(sampling, number);
    int slot = sample_slot(worker, side);
    if (sampling->shared)
        copy_inputs(worker, slot, &sampling->shared[number]);
    else if (!fill_inputs(worker, sampling, kind, seed, &error))
        return worker_fail(worker, OUTCOME_JUDGE_FAULT, error.message);
    worker_poison_outputs(worker, slot, poison);
    return worker_call(worker, slot) && compare_draw(worker, NULL, number, side);
}
