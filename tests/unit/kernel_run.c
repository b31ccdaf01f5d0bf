/*
 * Kernels in this process, for tests of those that can be trusted: compiled with the judge's flags,
 * called on guarded memory, compared with the interpreter.
 */
#include "kernel_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge/judge.h"
#include "machine/machine.h"
#include "os/os.h"
#include "test.h"

enum { GUARD = 256, POISON = 0xa5 };

const char *kernel_run_what = "";

_Noreturn void kernel_run_complain(const char *message, const char *detail)
{
    test_fail(__FILE__, __LINE__, "%s: %s%s%s", kernel_run_what, message, *detail ? ": " : "",
              detail);
}

/* ---- compiling ---- */

static char folder[64];

static void remove_folder(void)
{
    rmdir(folder);
}

static const char *in_folder(struct arena *arena, const char *name)
{
    if (!folder[0]) {
        strcpy(folder, "/tmp/smelt-plain-XXXXXX");
        CHECK(mkdtemp(folder) != NULL);
        atexit(remove_folder);
    }
    return arena_printf(arena, "%s/%s", folder, name);
}

static void compiler_run(struct arena *arena, const char *const *arguments)
{
    struct process_request request = {.arguments = arguments, .timeout = 60};
    struct process_result result;
    struct error error;
    if (!process_run(arena, &request, &result, &error))
        kernel_run_complain(error.message, "");
    if (!process_succeeded(&result))
        kernel_run_complain("does not compile", result.output);
}

/* Without AVX-512 the compiler takes vectors of 64 bytes apart, which takes it up to a minute at
 * -O3. */
static bool is_slow(const struct text *source)
{
    struct machine machine;
    machine_describe(&machine, "");
    return !machine_has(&machine, MACHINE_AVX512F) && strstr(source->at, "vector_size(64)");
}

/* Both compilers say nothing; the flags are the judge's, or with less optimisation. */
kernel_function *kernel_run_compile(struct arena *arena, const struct text *source, bool quick,
                                    struct library **library)
{
    static int number; /* a name that was loaded before would be taken for the same library */
    const char *input = in_folder(arena, "kernel.c");
    const char *output = in_folder(arena, arena_printf(arena, "kernel%d.so", number++));
    const char *arguments[32] = {"cc", "-Wall", "-Wextra", "-Werror"};
    const char *clang[] = {process_find(arena, "clang"),
                           "-std=gnu17",
                           "-Wall",
                           "-Wextra",
                           "-Werror",
                           "-fsyntax-only",
                           input,
                           NULL};
    struct error error;
    bool less = quick || is_slow(source);
    int count = 4;
    arguments[0] = process_find(arena, "cc");
    for (const char *const *flag = judge_compiler_flags(); *flag; flag++)
        arguments[count++] = less && strcmp(*flag, "-O3") == 0 ? "-O1" : *flag;
    arguments[count++] = "-o";
    arguments[count++] = output;
    arguments[count++] = input;
    arguments[count++] = "-lm";
    if (!file_write(input, source->at, source->length, 0600, &error))
        kernel_run_complain(error.message, "");
    compiler_run(arena, arguments);
    if (clang[0] && !quick)
        compiler_run(arena, clang);
    *library = library_open(output, &error);
    unlink(input);
    unlink(output);
    void *symbol = *library ? library_symbol(*library, "kernel", &error) : NULL;
    if (!symbol)
        kernel_run_complain(error.message, "");
    kernel_function *function;
    memcpy(&function, &symbol, sizeof symbol);
    return function;
}

/* ---- running ---- */

/* So many bytes on a boundary of 64, with guards on both sides. */
static unsigned char *guarded(struct arena *arena, size_t bytes)
{
    unsigned char *memory = arena_alloc(arena, bytes + 2 * GUARD + 64);
    unsigned char *data = memory + GUARD;
    data += (64 - (uintptr_t)data % 64) % 64;
    memset(data - GUARD, POISON, bytes + 2 * GUARD);
    return data;
}

static void check_guards(const unsigned char *data, size_t bytes, const char *name)
{
    for (size_t i = 1; i <= GUARD; i++)
        if (data[-(ptrdiff_t)i] != POISON || data[bytes + i - 1] != POISON)
            kernel_run_complain("wrote beside", name);
}

static void *input_bytes(struct arena *arena, const struct array *array)
{
    size_t element = dtype_bytes(array->dtype);
    unsigned char *data = guarded(arena, element * (size_t)array->count);
    for (int64_t i = 0; i < array->count; i++) {
        if (array->floats)
            dtype_store_float(array->dtype, data + element * (size_t)i, array->floats[i]);
        else
            dtype_store_integer(array->dtype, data + element * (size_t)i, array->integers[i]);
    }
    return data;
}

/* Half a unit in the last place, relative. */
static double unit_of(enum dtype type)
{
    switch (type) {
    case DTYPE_F64: return 0x1p-53;
    case DTYPE_F16: return 0x1p-11;
    case DTYPE_BF16: return 0x1p-8;
    case DTYPE_F8E4: return 0x1p-4;
    case DTYPE_F8E5: return 0x1p-3;
    default: return 0x1p-24;
    }
}

/* No slack: the very same, zeros of both signs too. */
static void compare(const struct array *expected, const unsigned char *data, double slack)
{
    size_t element = dtype_bytes(expected->dtype);
    double largest = 0;
    char message[200];
    for (int64_t i = 0; expected->floats && i < expected->count; i++)
        if (isfinite(expected->floats[i]))
            largest = fmax(largest, fabs(expected->floats[i]));
    for (int64_t i = 0; i < expected->count; i++) {
        const void *at = data + element * (size_t)i;
        if (expected->integers) {
            int64_t got = dtype_load_integer(expected->dtype, at);
            if (got == expected->integers[i])
                continue;
            snprintf(message, sizeof message, "%s at %lld is %lld, expected %lld", expected->name,
                     (long long)i, (long long)got, (long long)expected->integers[i]);
            kernel_run_complain(message, "");
        }
        double got = dtype_load_float(expected->dtype, at), wanted = expected->floats[i];
        double limit = unit_of(expected->dtype) * (2 * fabs(wanted) + slack * largest) + 1e-30;
        if (slack == 0)
            limit = signbit(wanted) == signbit(got) ? 0 : -1;
        if ((isnan(wanted) && isnan(got)) || (wanted == got && limit >= 0) ||
            fabs(wanted - got) <= limit)
            continue;
        snprintf(message, sizeof message, "%s at %lld is %.9g, expected %.9g within %.2g",
                 expected->name, (long long)i, got, wanted, limit);
        kernel_run_complain(message, "");
    }
}

/* Calls the kernel at the binding and compares with the interpreter. */
void kernel_run_check(struct arena *arena, const struct ir_binding *binding,
                      const struct array *inputs, kernel_function *function,
                      const struct kernel *kernel, double slack)
{
    const struct ir_part *part = binding->part;
    struct array outputs[64];
    void *tensors[128];
    struct error error = {0};
    CHECK(part->output_count <= 64 && part->input_count <= 64);
    if (!oracle_interpret(arena, binding, inputs, outputs, NULL, &error))
        kernel_run_complain(error.message, error.detail);
    for (int i = 0; i < part->input_count; i++)
        tensors[i] = input_bytes(arena, &inputs[i]);
    for (int i = 0; i < part->output_count; i++)
        tensors[part->input_count + i] =
            guarded(arena, dtype_bytes(outputs[i].dtype) * (size_t)outputs[i].count);
    int64_t bytes = kernel_scratch(kernel, binding->sizes);
    if (bytes < 0)
        kernel_run_complain("scratch has no size", "");
    unsigned char *scratch = guarded(arena, (size_t)bytes);
    if (function(tensors, binding->sizes, binding->scalars, scratch) != 0)
        kernel_run_complain("the kernel says that it cannot do this", "");
    check_guards(scratch, (size_t)bytes, "its scratch");
    for (int i = 0; i < part->output_count; i++) {
        size_t size = dtype_bytes(outputs[i].dtype) * (size_t)outputs[i].count;
        check_guards(tensors[part->input_count + i], size, outputs[i].name);
        compare(&outputs[i], tensors[part->input_count + i], slack);
    }
}

/* ---- cases ---- */

struct settings kernel_run_settings(struct arena *arena, const struct ast_op *op)
{
    struct settings all = {0};
    struct text line = text_new(arena), word = text_new(arena);
    int depth = 0;
    lang_suggest_case(&line, op);
    for (const char *c = line.at + strcspn(line.at, " ");; c++) {
        depth += (*c == '[') - (*c == ']');
        if (*c && (*c != ',' || depth > 0)) {
            if (*c != ' ')
                text_char(&word, *c);
            continue;
        }
        /* small enough for the interpreter, also where there are ten of them */
        if (word.length > 2 && strcmp(word.at + word.length - 2, "=8") == 0)
            word.at[word.length - 1] = '4';
        if (word.length)
            vector_push(arena, &all, arena_string(arena, word.at));
        text_truncate(&word, 0);
        if (!*c)
            return all;
    }
}
