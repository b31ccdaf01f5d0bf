/*
 * Interpreter against compiled form.
 */
#include "oracle_differ.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static struct arena arena;
static char cache[] = "/tmp/smelt-test-XXXXXX";

struct arena *differ_arena(void)
{
    return &arena;
}

static void remove_directory(const char *path)
{
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        const char *below = arena_printf(&arena, "%s/%s", path, entry->d_name);
        if (unlink(below) != 0)
            remove_directory(below);
    }
    if (directory)
        closedir(directory);
    rmdir(path);
}

static pid_t owner;

/* By destructor: tests end by exit or _exit; what a failed one leaves is below /tmp. */
__attribute__((destructor)) static void cache_remove(void)
{
    if (owner && owner == getpid())
        remove_directory(cache);
}

const char *differ_cache(void)
{
    if (!owner) {
        CHECK(mkdtemp(cache) != NULL);
        owner = getpid();
        setenv("SMELT_CACHE", cache, 1);
    }
    return cache;
}

const struct ir_program *differ_parse(const char *text)
{
    struct source *source = arena_new(&arena, struct source);
    struct error error = {0};
    *source = (struct source){"test.ir", text, strlen(text)};
    const struct ir_program *program = ir_parse(&arena, source, &error);
    if (!program)
        test_fail(__FILE__, __LINE__, "at %.40s: %s", text + error.place.offset, error.message);
    return program;
}

struct oracle_code *differ_compile(const struct ir_program *program)
{
    struct error error = {0};
    differ_cache();
    struct oracle_code *code = oracle_compile(&arena, program, &error);
    if (!code)
        test_fail(__FILE__, __LINE__, "%s\n%s\n%s", error.message, error.detail, error.hint);
    return code;
}

/* ---- inputs ---- */

static double draw_float(struct random *random)
{
    static const double HARD[] = {0.0,      -0.0,  1.0,     -1.0,  INFINITY, -INFINITY, NAN,
                                  65504.0,  448.0, 0x1p-24, 1e-40, 1e300,    -1e300,    0.5,
                                  0x1p-149, 2.5,   -3.5,    1e17,  464.0,    57344.0,   61440.0};
    if (random_below(random, 8) == 0)
        return HARD[random_below(random, sizeof HARD / sizeof HARD[0])];
    return random_normal(random) * 3;
}

static int64_t draw_integer(struct random *random)
{
    static const int64_t HARD[] = {0, -1, 1, INT64_MIN, INT64_MAX, INT32_MIN, 255, 1LL << 53, 63};
    if (random_below(random, 8) == 0)
        return HARD[random_below(random, sizeof HARD / sizeof HARD[0])];
    return (int64_t)random_below(random, 17) - 8;
}

static void draw_offsets(struct random *random, struct array *array, int64_t bound)
{
    for (int64_t i = 1; i < array->count; i++) {
        int64_t left = bound - array->integers[i - 1];
        array->integers[i] =
            array->integers[i - 1] + (int64_t)random_below(random, (uint64_t)left + 1);
    }
    if (array->count > 0)
        array->integers[array->count - 1] = bound;
}

/* False when no values are as the program promises: an index into nothing. */
static bool draw_array(struct random *random, const struct ir_binding *binding, int tensor,
                       struct array *array)
{
    const struct ir_tensor *info = &binding->part->tensors[tensor];
    int64_t bound = 0;
    if (info->bound)
        CHECK(ir_size_eval(info->bound, binding->sizes, &bound));
    if ((info->properties & IR_PROPERTY_INDEX) && bound == 0 && array->count > 0)
        return false;
    for (int64_t i = 0; i < array->count; i++) {
        if (array->floats)
            array->floats[i] = dtype_round(info->dtype, draw_float(random));
        else if (info->properties & IR_PROPERTY_INDEX)
            array->integers[i] = (int64_t)random_below(random, (uint64_t)bound);
        else if (!(info->properties & IR_PROPERTY_OFFSETS))
            array->integers[i] =
                dtype_wrap(info->dtype, info->dtype == DTYPE_BOOL ? (int64_t)random_below(random, 2)
                                                                  : draw_integer(random));
    }
    if (info->properties & IR_PROPERTY_OFFSETS)
        draw_offsets(random, array, bound);
    return !(info->properties & IR_PROPERTY_OFFSETS) || array->count > 1 || bound == 0;
}

struct array *differ_draw(const struct ir_binding *binding, uint64_t seed)
{
    const struct ir_part *part = binding->part;
    struct array *inputs = arena_array(&arena, (size_t)part->input_count + 1, sizeof *inputs);
    struct random random = random_new(seed, 1);
    for (int i = 0; i < part->input_count; i++) {
        const struct ir_tensor *info = &part->tensors[part->inputs[i]];
        inputs[i] = (struct array){.name = info->name, .dtype = info->dtype, .rank = info->rank};
        inputs[i].count = ir_tensor_shape(binding, part->inputs[i], inputs[i].dims);
        array_alloc(&arena, &inputs[i]);
        if (!draw_array(&random, binding, part->inputs[i], &inputs[i]))
            return NULL;
    }
    return inputs;
}

/* ---- comparison ---- */

bool differ_same(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static void check_outputs(const struct ir_binding *binding, const struct array *a,
                          const struct array *b, bool exact)
{
    for (int o = 0; o < binding->part->output_count; o++) {
        CHECK_STR(a[o].name, b[o].name);
        CHECK_INT(a[o].dtype, b[o].dtype);
        CHECK_INT(a[o].count, b[o].count);
        for (int64_t i = 0; i < a[o].count; i++) {
            if (a[o].floats ? !differ_same(a[o].floats[i], b[o].floats[i])
                            : a[o].integers[i] != b[o].integers[i])
                test_fail(__FILE__, __LINE__,
                          "%s, output %s%s, element %lld of %lld: compiled %a (%lld), "
                          "interpreted %a (%lld)",
                          binding->part->name, a[o].name, exact ? " (exact)" : "", (long long)i,
                          (long long)a[o].count, a[o].floats ? a[o].floats[i] : 0.0,
                          a[o].integers ? (long long)a[o].integers[i] : 0,
                          b[o].floats ? b[o].floats[i] : 0.0,
                          b[o].integers ? (long long)b[o].integers[i] : 0);
        }
    }
}

void differ_check(const struct oracle_code *code, const struct ir_binding *binding,
                  const struct array *inputs)
{
    size_t count = (size_t)binding->part->output_count + 1;
    for (int exact = 0; exact < 2; exact++) {
        struct oracle_options options = {.exact_outputs = exact};
        struct array *compiled = arena_array(&arena, count, sizeof *compiled);
        struct array *interpreted = arena_array(&arena, count, sizeof *interpreted);
        struct error error = {0};
        if (!oracle_run(&arena, code, binding, inputs, compiled, &options, &error) ||
            !oracle_interpret(&arena, binding, inputs, interpreted, &options, &error))
            test_fail(__FILE__, __LINE__, "%s: %s", error.message, error.detail);
        check_outputs(binding, compiled, interpreted, exact);
    }
}

void differ(const char *text, int rounds, int64_t largest)
{
    const struct ir_program *program = differ_parse(text);
    const struct ir_part *root = ir_root(program);
    struct oracle_code *code = differ_compile(program);
    struct random random = random_new(7, 0);
    struct error error = {0};
    int bound = 0;
    for (int round = 0; round < rounds; round++) {
        int64_t *sizes = arena_array(&arena, (size_t)root->symbol_count + 1, sizeof *sizes);
        double *scalars = arena_array(&arena, (size_t)root->scalar_count + 1, sizeof *scalars);
        for (int i = 0; i < root->symbol_count; i++)
            sizes[i] = root->symbols[i].has_default
                           ? root->symbols[i].value
                           : (int64_t)random_below(&random, (uint64_t)largest + 1);
        for (int i = 0; i < root->scalar_count; i++)
            scalars[i] = root->scalars[i].dtype == DTYPE_BOOL ? (double)random_below(&random, 2)
                                                              : random_normal(&random);
        struct ir_binding *binding = ir_bind(&arena, program, sizes, scalars, &error);
        if (!binding)
            continue;
        const struct array *inputs = differ_draw(binding, (uint64_t)round);
        if (!inputs)
            continue;
        differ_check(code, binding, inputs);
        bound++;
    }
    oracle_close(code);
    if (bound == 0)
        test_fail(__FILE__, __LINE__, "no shape binds: %s", error.message);
}
