/*
 * Nothing of the library goes unchecked: every operator has a description and a vector file with
 * enough shapes and with every type it admits. What is missing is listed in full.
 */
#include <stdio.h>
#include <string.h>

#include "lang/lang.h"
#include "lib_vectors.h"
#include "test.h"

enum { OPS_WANTED = 160, SHAPES_WANTED = 3 };

struct strings VECTOR(const char *);

static bool contains(const struct strings *strings, const char *string)
{
    for (size_t i = 0; i < strings->count; i++)
        if (strcmp(strings->at[i], string) == 0)
            return true;
    return false;
}

/* The type variable that a setting such as "T=f16" gives, or NULL. */
static const struct lang_type *type_of(const struct lang_types *types, const char *setting)
{
    size_t length = strcspn(setting, "=");
    for (size_t i = 0; i < types->count; i++)
        if (strlen(types->at[i].name) == length && memcmp(types->at[i].name, setting, length) == 0)
            return &types->at[i];
    return NULL;
}

/* The settings of a run, sorted into types ("T=f16") and everything else as one shape. */
static void take_run(struct arena *arena, const struct lang_types *types,
                     const struct vector_run *run, struct strings *shapes, struct strings *seen)
{
    struct text shape = text_new(arena);
    for (size_t i = 0; i < run->setting_count; i++) {
        if (type_of(types, run->settings[i]))
            vector_push(arena, seen, run->settings[i]);
        else
            text_printf(&shape, " %s", run->settings[i]);
    }
    if (!contains(shapes, shape.at))
        vector_push(arena, shapes, shape.at);
}

static void check_op(struct arena *arena, const struct ast_op *op, struct text *missing)
{
    const char *name = op->name.name;
    struct lang_types types = lang_types(arena, op);
    struct vector_runs runs = {0};
    struct strings shapes = {0}, seen = {0};
    struct error error = {0};
    if (!op->description || !op->description[0])
        text_printf(missing, "%s: no description\n", name);
    if (!vector_read(arena, arena_printf(arena, "%s/tests/vectors/%s.vec", repository_root(), name),
                     &runs, &error)) {
        text_printf(missing, "%s: no vectors: %s\n", name, error.message);
        return;
    }
    for (size_t i = 0; i < runs.count; i++)
        take_run(arena, &types, &runs.at[i], &shapes, &seen);
    if (shapes.count < SHAPES_WANTED)
        text_printf(missing, "%s: only %zu shapes\n", name, shapes.count);
    for (size_t t = 0; t < types.count; t++)
        for (int d = 0; d < DTYPE_COUNT; d++) {
            const char *setting =
                arena_printf(arena, "%s=%s", types.at[t].name, dtype_name((enum dtype)d));
            if (types.at[t].admits[d] && !contains(&seen, setting))
                text_printf(missing, "%s: no run with %s\n", name, setting);
        }
}

TEST(library_is_complete)
{
    struct arena arena = {0};
    struct errors errors = errors_new(&arena);
    struct lang *lang = lang_new(&arena, arena_printf(&arena, "%s/lib", repository_root()));
    struct lang_file *library = lang_library(lang, &errors);
    struct text missing = text_new(&arena);
    CHECK(library != NULL);
    size_t count = lang_op_count(library);
    for (size_t i = 0; i < count; i++)
        check_op(&arena, lang_op(library, i), &missing);
    if (count < OPS_WANTED)
        text_printf(&missing, "the library has %zu operators, %d are wanted\n", count, OPS_WANTED);
    if (missing.length)
        test_fail(__FILE__, __LINE__, "incomplete:\n%s", missing.at);
    arena_release(&arena);
}
