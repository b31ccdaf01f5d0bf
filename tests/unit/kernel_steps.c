/*
 * What a manifest says to a device: buffers, launches, repeats, and every kind of fault in them.
 */
#include <string.h>

#include "kernel/kernel.h"
#include "test.h"

static const char ROWS[] =
    "ir 1 part rows { type T f32 size B.0 of B[0] size D scalar eps f32\n"
    "family B 1 input x f32[B.0, D] output y f32[B.0, D] signature (x) -> (y)\n"
    "map over b < B.0, d < D { %0 = index b %1 = index d %2 = read x [%0, %1]\n"
    "    y [%0, %1] <- %2 } }";

static struct arena arena;

static const struct ir_part *part(void)
{
    static const struct source source = {"test.ir", ROWS, sizeof ROWS - 1};
    struct error error = {0};
    const struct ir_program *program = ir_parse(&arena, &source, &error);
    if (!program)
        test_fail(__FILE__, __LINE__, "%s", error.message);
    return ir_root(program);
}

static struct kernel *parse(const char *text, struct errors *errors)
{
    struct source *source = arena_new(&arena, struct source);
    *source = (struct source){"k.cl", text, strlen(text)};
    *errors = errors_new(&arena);
    return kernel_parse(&arena, source, part(), errors);
}

#define HEAD "// smelt kernel 1\n// op rows T=f32 B=1\n"
#define OPENCL HEAD "// target opencl\n"

static const char WHOLE[] =
    OPENCL "// buffer part f32[B.0*2] zero\n"
           "// buffer kept i64[ceil(D, 8)]\n"
           "// launch first grid(ceil(B.0, 4), 2) block(32, 4) shared(4*D) args(x, part, B.0)\n"
           "// repeat t < D\n"
           "// launch next block(max(1, D)) args(part, kept, y, t, D, eps)\n"
           "// end\n";

TEST(steps_are_read_and_printed_as_they_were)
{
    struct errors errors;
    struct kernel *kernel = parse(WHOLE, &errors);
    if (!kernel)
        test_fail(__FILE__, __LINE__, "%s", errors.list.at[0].message);
    CHECK(kernel_on_device(kernel));
    CHECK_INT(kernel->buffer_count, 2);
    CHECK(kernel->buffers[0].zero && !kernel->buffers[1].zero);
    const int64_t sizes[] = {7, 20};
    CHECK_INT(kernel_buffer_bytes(&kernel->buffers[0], sizes), 7 * 2 * 4);
    CHECK_INT(kernel_buffer_bytes(&kernel->buffers[1], sizes), 3 * 8);
    CHECK_INT(kernel->step_count, 4);
    const struct kernel_step *step = &kernel->steps[0];
    int64_t value;
    CHECK_STR(step->name, "first");
    CHECK(ir_size_eval(step->grid[0], sizes, &value) && value == 2);
    CHECK(step->grid[1] && !step->grid[2] && step->shared && step->argument_count == 3);
    CHECK_INT(step->arguments[0].kind, KERNEL_TENSOR);
    CHECK_INT(step->arguments[1].kind, KERNEL_BUFFER);
    CHECK_INT(step->arguments[2].kind, KERNEL_SIZE);
    CHECK_INT(kernel->steps[1].kind, KERNEL_REPEAT);
    step = &kernel->steps[2];
    CHECK_INT(step->arguments[2].kind, KERNEL_TENSOR);
    CHECK_INT(step->arguments[2].number, 1);
    CHECK_INT(step->arguments[3].kind, KERNEL_COUNTER);
    CHECK_INT(step->arguments[5].kind, KERNEL_SCALAR);
    struct text text = text_new(&arena);
    kernel_print_manifest(&text, kernel, part());
    CHECK_STR(text.at, WHOLE);
}

TEST(steps_for_an_architecture)
{
    struct errors errors;
    struct kernel *kernel = parse(HEAD "// target cuda sm_90a\n// launch f args(x, y)\n", &errors);
    CHECK(kernel != NULL);
    CHECK_STR(kernel->target, "cuda");
    CHECK_STR(kernel->architecture, "sm_90a");
    struct text text = text_new(&arena);
    kernel_print_manifest(&text, kernel, part());
    CHECK_STR(text.at, HEAD "// target cuda sm_90a\n// launch f args(x, y)\n");
}

TEST(faults_in_steps_say_what_to_write)
{
    static const struct {
        const char *text;
        enum error_code code;
        const char *at, *hint;
    } faults[] = {
        {HEAD "// target cuda sm90\n// launch f args(x)\n", ERROR_MANIFEST_TARGET, "sm90",
         "sm_90a"},
        {HEAD "// target opencl sm_90\n// launch f args(x)\n", ERROR_MANIFEST_TARGET, "sm_90",
         "target opencl"},
        {HEAD "// target metal\n", ERROR_MANIFEST_TARGET, "metal", "opencl"},
        {OPENCL, ERROR_MANIFEST_MISSING, NULL, "launch"},
        {OPENCL "// launch f args(z)\n", ERROR_MANIFEST_ARGUMENT, "z", "x, y"},
        {OPENCL "// buffer part f32[4]\n// launch f args(x, par)\n", ERROR_MANIFEST_ARGUMENT, "par",
         "did you mean 'part'"},
        {OPENCL "// launch f grid(1, 2, 3, 4) args(x)\n", ERROR_MANIFEST_EXPRESSION, NULL, ""},
        {OPENCL "// launch f grid(1) grid(2) args(x)\n", ERROR_MANIFEST_REPEATED, "grid", "three"},
        {OPENCL "// launch f gird(1) args(x)\n", ERROR_MANIFEST_LINE, "gird", "grid(ceil"},
        {OPENCL "// launch f grid(1\n", ERROR_MANIFEST_LINE, NULL, "launch"},
        {OPENCL "// launch f grid(1)\n", ERROR_MANIFEST_LINE, NULL, "args"},
        {OPENCL "// launch f args(x,)\n", ERROR_MANIFEST_LINE, "x", "args"},
        {OPENCL "// buffer x f32[4]\n// launch f args(x)\n", ERROR_MANIFEST_REPEATED, "x",
         "another name"},
        {OPENCL "// buffer b g32[4]\n", ERROR_MANIFEST_LINE, "g32", "buffer part"},
        {OPENCL "// buffer b f32[4] one\n", ERROR_MANIFEST_LINE, "one", "zero"},
        {OPENCL "// launch f args(x)\n// buffer b f32[4]\n", ERROR_MANIFEST_LINE, NULL, "before"},
        {OPENCL "// repeat t < D\n// launch f args(x)\n", ERROR_MANIFEST_LINE, NULL, "// end"},
        {OPENCL "// launch f args(x)\n// end\n", ERROR_MANIFEST_LINE, NULL, "repeat"},
        {OPENCL "// scratch 4\n// launch f args(x)\n", ERROR_MANIFEST_LINE, "scratch", "buffer"},
        {HEAD "// target cpu\n// launch f args(x)\n", ERROR_MANIFEST_LINE, "launch", "opencl"},
        {"__kernel void f() {}\n", ERROR_MANIFEST_MISSING, NULL, "docs/kernel.md"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct errors errors;
        CHECK(parse(faults[i].text, &errors) == NULL);
        const struct error *error = &errors.list.at[0];
        if (error->code != faults[i].code || !strstr(error->hint, faults[i].hint))
            test_fail(__FILE__, __LINE__, "%s: %s (%s)", faults[i].text, error->message,
                      error->hint);
        if (faults[i].at)
            CHECK_STR(arena_copy(&arena, error->place.source->text + error->place.offset,
                                 error->place.length),
                      faults[i].at);
    }
}
