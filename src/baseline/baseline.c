/*
 * The table of baselines, and the two simple ones.
 */
#include "baseline/baseline.h"

#include <string.h>

#include "baseline/private.h"
#include "gen/gen.h"
#include "os/os.h"

enum { BASELINE_BYTES = 16 << 20 };

static const struct {
    const char *name;
    bool takes_argument; /* name:ARGUMENT */
    bool starts_program;
    baseline_maker *make;
} makers[] = {
    {"plain", false, false, baseline_plain},          {"kernel", true, false, baseline_kernel},
    {"openblas", false, false, baseline_openblas},    {"onednn", false, false, baseline_onednn},
    {"cublas", false, false, baseline_cublas},        {"torch", true, true, baseline_torch},
    {"torch-compile", true, true, baseline_compiled}, {"command", true, true, baseline_command},
};

static bool is_named(const char *entry, const char *name)
{
    size_t length = strcspn(name, ":");
    return strlen(entry) == length && strncmp(entry, name, length) == 0;
}

bool baseline_starts_program(const char *name)
{
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (is_named(makers[i].name, name))
            return makers[i].starts_program;
    return false;
}

enum baseline_answer baseline_make(struct arena *arena, const char *name,
                                   const struct ir_program *program, struct baseline *baseline,
                                   struct error *error)
{
    size_t length = strcspn(name, ":");
    *baseline = (struct baseline){.name = name};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (is_named(makers[i].name, name) && makers[i].takes_argument == (name[length] == ':'))
            return makers[i].make(arena, name[length] ? name + length + 1 : NULL, program, baseline,
                                  error);
    error_set(error, ERROR_USAGE, "there is no baseline '%s'", name);
    error_hint(error,
               "baselines are plain, kernel:FILE.c, openblas, onednn, cublas, torch:EXPRESSION, "
               "torch-compile:EXPRESSION and command:PROGRAM ARGUMENTS");
    return BASELINE_FAILED;
}

enum baseline_answer baseline_plain(struct arena *arena, const char *argument,
                                    const struct ir_program *program, struct baseline *baseline,
                                    struct error *error)
{
    (void)argument, (void)error;
    struct text text = text_new(arena);
    gen_plain_c(&text, program, GEN_PLAIN);
    struct source *source = arena_new(arena, struct source);
    *source = (struct source){"plain.c", text.at, text.length};
    baseline->variants[baseline->variant_count++] =
        (struct baseline_variant){.source = source, .setup = ""};
    return BASELINE_READY;
}

enum baseline_answer baseline_kernel(struct arena *arena, const char *argument,
                                     const struct ir_program *program, struct baseline *baseline,
                                     struct error *error)
{
    (void)program;
    struct source *source = arena_new(arena, struct source);
    source->name = argument;
    source->text = file_read(arena, argument, BASELINE_BYTES, &source->length, error);
    if (!source->text)
        return BASELINE_FAILED;
    baseline->variants[baseline->variant_count++] =
        (struct baseline_variant){.source = source, .setup = ""};
    return BASELINE_READY;
}
