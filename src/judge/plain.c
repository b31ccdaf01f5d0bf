/*
 * The plain kernel as a yardstick: what the formula as it is written costs in the types it is
 * written in. Where it cancels (1 + erf(x) far to the left), no kernel of the same types does much
 * better, and none is asked to: a few times the worst error of the plain kernel over a draw is
 * always allowed. Where the plain kernel overflows and the reference does not, the element is not
 * judged.
 *
 * In class f64 it computes as the reference does, step by step, and shows no error at all. What the
 * formula costs there is seen when every step is rounded up, or down: errors of a unit each, all to
 * one side, as a kernel at its worst makes them. In class f32 that is seen, too, where it might be
 * lucky (directed.c).
 */
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gen/gen.h"
#include "judge/private.h"
#include "os/os.h"

typedef int kernel_entry(void *const *tensors, const int64_t *sizes, const double *scalars,
                         void *scratch);

struct plain {
    struct compiled compiled;
    struct library *library;
    kernel_entry *entry;
    struct kernel *kernel;
};

enum { PLAIN_TENSORS = 128 };

void plain_close(struct plain *plain)
{
    if (!plain)
        return;
    library_close(plain->library);
    plain->library = NULL;
    compiled_release(&plain->compiled);
}

static bool plain_open(struct arena *arena, struct plain *plain, const struct ir_program *program,
                       struct error *error)
{
    struct text text = text_new(arena);
    struct errors problems = errors_new(arena);
    gen_plain_c(&text, program, GEN_PLAIN);
    struct source *source = arena_new(arena, struct source);
    *source = (struct source){"plain.c", text.at, text.length};
    plain->kernel = kernel_parse(arena, source, ir_root(program), &problems);
    void *symbol = NULL;
    bool good = plain->kernel && compile_cached(arena, source, &plain->compiled, error);
    if (good && plain->compiled.done)
        plain->library = library_open(plain->compiled.library, error);
    if (plain->library)
        symbol = library_symbol(plain->library, "kernel", error);
    if (!symbol) {
        plain_close(plain);
        if (!plain->kernel || (good && !plain->compiled.done))
            error_set(error, ERROR_TOOL_FAILED, "the plain kernel of '%s' does not compile",
                      ir_root(program)->name);
        return false;
    }
    memcpy(&plain->entry, &symbol, sizeof symbol);
    return true;
}

int64_t plain_scratch(const struct plain *plain, const int64_t *sizes)
{
    int64_t bytes = kernel_scratch(plain->kernel, sizes);
    return bytes > 0 ? bytes : 0;
}

const struct plain *yardstick_get(struct arena *arena, struct yardstick *yardstick,
                                  const struct ir_program *program, struct error *error)
{
    if (yardstick->plain && yardstick->program == program)
        return yardstick->plain;
    plain_close(yardstick->plain);
    yardstick->program = program;
    yardstick->plain = NULL;
    /* kept before it is opened: what it has taken is given back even when memory runs out */
    yardstick->plain = arena_new(arena, struct plain);
    if (!plain_open(arena, yardstick->plain, program, error))
        yardstick->plain = NULL;
    return yardstick->plain;
}

/* All buffers in one mapping that a child shares: it runs there, so that nothing here can break. */
struct stage_set {
    void *tensors[PLAIN_TENSORS];
    char *memory;
    size_t bytes;
};

static size_t buffer_bytes(const struct ir_binding *binding, int tensor)
{
    size_t bytes = (size_t)ir_tensor_shape(binding, tensor, NULL) *
                   dtype_bytes(binding->part->tensors[tensor].dtype);
    return (bytes + 127) / 64 * 64;
}

static bool make_buffers(const struct plain *plain, const struct ir_binding *binding,
                         struct stage_set *set)
{
    const struct ir_part *part = binding->part;
    int count = part->input_count + part->output_count;
    int64_t scratch = kernel_scratch(plain->kernel, binding->sizes);
    if (count > PLAIN_TENSORS || scratch < 0)
        return false;
    set->bytes = (size_t)scratch + 64;
    for (int i = 0; i < count; i++)
        set->bytes +=
            buffer_bytes(binding, i < part->input_count ? part->inputs[i]
                                                        : part->outputs[i - part->input_count]);
    set->memory = mmap(NULL, set->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (set->memory == MAP_FAILED)
        return false;
    size_t at = ((size_t)scratch + 63) / 64 * 64; /* scratch comes first */
    for (int i = 0; i < count; i++) {
        set->tensors[i] = set->memory + at;
        at += buffer_bytes(binding, i < part->input_count ? part->inputs[i]
                                                          : part->outputs[i - part->input_count]);
    }
    return true;
}

/* Whether it said that it had done the call; false when it could not be run. */
static bool run_in_child(const struct plain *plain, const struct ir_binding *binding,
                         const struct stage_set *set, int rounding, bool *done)
{
    pid_t child = fork();
    if (child == 0)
        _exit(fesetround(rounding) == 0 &&
                      plain->entry(set->tensors, binding->sizes, binding->scalars, set->memory) == 0
                  ? 0
                  : 1);
    int status = 1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    *done = child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return child > 0 && WIFEXITED(status);
}

static void raise_output(const struct array *expected, const char *bytes, bool near, double *limits)
{
    enum { BLOCK = 256 };
    double found[BLOCK];
    size_t width = dtype_bytes(expected->dtype);
    /* rounding to the output's type is allowed for where it happens, see limits.c */
    int bits = limit_class_bits(dtype_name(expected->dtype));
    double worst = 0, half = ldexp(1, -bits), times = bits > COARSE_BITS ? 4 : 2;
    for (int64_t i = 0; i < expected->count; i++) {
        int64_t left = expected->count - i;
        if (i % BLOCK == 0)
            dtype_load_floats(expected->dtype, bytes + (size_t)i * width,
                              left < BLOCK ? left : BLOCK, found);
        double wanted = expected->floats[i], got = found[i % BLOCK];
        if (isfinite(wanted) && isfinite(got))
            worst = fmax(worst, fabs(got - wanted) - half * fabs(wanted));
        else if (!near && isfinite(wanted) && isfinite(dtype_round(expected->dtype, wanted)))
            limits[i] = INFINITY; /* it overflows on the way: not judged */
    }
    for (int64_t i = 0; i < expected->count; i++)
        limits[i] = fmax(limits[i], times * worst);
}

/* A few times what each element is off by. */
static void raise_each(const struct array *expected, const char *bytes, double *limits)
{
    size_t width = dtype_bytes(expected->dtype);
    int bits = limit_class_bits(dtype_name(expected->dtype));
    double times = bits > COARSE_BITS ? 4 : 2;
    for (int64_t i = 0; i < expected->count; i++) {
        double got = dtype_load_float(expected->dtype, bytes + (size_t)i * width);
        if (isfinite(expected->floats[i]) && isfinite(got))
            limits[i] = fmax(limits[i], times * fabs(got - expected->floats[i]));
    }
}

void plain_raise_output(const struct array *expected, const char *bytes, double *limits)
{
    raise_output(expected, bytes, false, limits);
}

bool plain_raise_limits(const struct plain *plain, const struct ir_binding *binding,
                        struct draw *draw, bool near, enum directed directed, struct error *error)
{
    static const int roundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD};
    const struct ir_part *part = binding->part;
    struct stage_set set = {0};
    if (!make_buffers(plain, binding, &set))
        return error_set(error, ERROR_OUT_OF_MEMORY, "no memory to run the plain kernel of '%s'",
                         part->name);
    for (int i = 0; i < part->input_count; i++)
        array_encode(&draw->inputs[i], set.tensors[i]);
    bool done, good = true;
    for (int r = 0; good && r < (directed ? 3 : 1); r++) {
        good = run_in_child(plain, binding, &set, roundings[r], &done);
        for (int o = 0; done && o < part->output_count; o++) {
            const char *bytes = set.tensors[part->input_count + o];
            if (draw->limits[o] && r > 0 && directed == DIRECTED_EACH)
                raise_each(&draw->expected[o], bytes, draw->limits[o]);
            else if (draw->limits[o])
                raise_output(&draw->expected[o], bytes, near || r > 0, draw->limits[o]);
        }
    }
    munmap(set.memory, set.bytes);
    return good || error_set(error, ERROR_TOOL_FAILED, "the plain kernel of '%s' could not be run",
                             part->name);
}
