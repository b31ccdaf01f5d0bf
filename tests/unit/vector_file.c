/*
 * Reads vector files, strictly: what is not in the format is an error with its line.
 */
#include "vector_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "os/file.h"

struct reader {
    struct arena *arena;
    const char *path;
    int line;
    struct vector_runs *runs;
    struct error *error;
};

static bool fail(struct reader *reader, const char *what)
{
    return error_set(reader->error, ERROR_EXPECTED, "%s:%d: %s", reader->path, reader->line, what);
}

/* The next word, ended by one space or the end of the line; NULL when there is none. */
static char *take_word(char **at)
{
    char *word = *at;
    if (*word == '\0')
        return NULL;
    word += strcspn(word, " ");
    char *start = *at;
    *at = *word ? word + 1 : word;
    *word = '\0';
    return *start ? start : NULL;
}

static bool parse_double(const char *word, double *value)
{
    char *end;
    *value = strtod(word, &end);
    return end != word && *end == '\0';
}

static bool parse_integer(const char *word, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(word, &end, 10);
    return end != word && *end == '\0' && errno == 0;
}

static bool take_run(struct reader *reader, char *at)
{
    if (reader->runs->count == VECTOR_RUNS)
        return fail(reader, "too many runs");
    struct vector_run *run = vector_add(reader->arena, reader->runs);
    *run = (struct vector_run){.text = arena_string(reader->arena, at), .relative = -1};
    for (const char *word; *at;) {
        if (run->setting_count == VECTOR_SETTINGS)
            return fail(reader, "too many settings");
        if (!(word = take_word(&at)))
            return fail(reader, "two spaces");
        run->settings[run->setting_count++] = word;
    }
    return true;
}

static bool take_tolerance(struct reader *reader, struct vector_run *run, char *at)
{
    const char *relative = take_word(&at), *absolute = take_word(&at);
    if (!relative || !absolute || *at || !parse_double(relative, &run->relative) ||
        !parse_double(absolute, &run->absolute) || !(run->relative >= 0 && run->relative <= 1) ||
        !(run->absolute >= 0 && run->absolute <= 1))
        return fail(reader, "a tolerance is two numbers from 0 to 1");
    return true;
}

/* "[2, 3]: " up to the values. */
static bool take_shape(struct reader *reader, struct array *array, char **at)
{
    char *c = *at;
    array->count = 1;
    if (*c++ != '[')
        return fail(reader, "a shape is written like [2, 3]");
    while (*c != ']') {
        char *end;
        long long size = strtoll(c, &end, 10);
        if (end == c || size < 0 || size > VECTOR_ELEMENTS || array->rank == IR_MAX_RANK)
            return fail(reader, "a size that is none");
        array->dims[array->rank++] = size;
        array->count *= size;
        if (array->count > VECTOR_ELEMENTS)
            return fail(reader, "too many elements");
        c = strncmp(end, ", ", 2) == 0 ? end + 2 : end;
        if (c == end && *c != ']')
            return fail(reader, "a shape is written like [2, 3]");
    }
    if (c[1] != ':' || (c[2] != ' ' && c[2] != '\0'))
        return fail(reader, "a shape is followed by ': '");
    *at = c[2] ? c + 3 : c + 2;
    return true;
}

static bool take_values(struct reader *reader, struct array *array, bool is_input, char *at)
{
    array_alloc(reader->arena, array);
    for (int64_t i = 0; i < array->count; i++) {
        const char *word = take_word(&at);
        if (!word)
            return fail(reader, "too few elements");
        bool good = array->floats ? parse_double(word, &array->floats[i])
                                  : parse_integer(word, &array->integers[i]);
        if (!good)
            return fail(reader, "an element that is no number");
        if (array->floats && is_input)
            array->floats[i] = dtype_round(array->dtype, array->floats[i]);
        if (array->integers && dtype_wrap(array->dtype, array->integers[i]) != array->integers[i])
            return fail(reader, "an element that its type does not hold");
    }
    return *at ? fail(reader, "too many elements") : true;
}

static bool take_array(struct reader *reader, struct vector_arrays *arrays, bool is_input, char *at)
{
    const char *name = take_word(&at), *type = take_word(&at);
    struct array array = {.name = name};
    if (!name || !type || !dtype_parse(type, &array.dtype))
        return fail(reader, "an array has a name and a type");
    if (arrays->count == VECTOR_ARRAYS)
        return fail(reader, "too many arrays");
    if (!take_shape(reader, &array, &at) || !take_values(reader, &array, is_input, at))
        return false;
    vector_push(reader->arena, arrays, array);
    return true;
}

static bool take_line(struct reader *reader, char *at)
{
    if (*at == '\0' || *at == '#')
        return true;
    const char *word = take_word(&at);
    if (word && strcmp(word, "run") == 0)
        return take_run(reader, at);
    struct vector_run *run =
        reader->runs->count ? &reader->runs->at[reader->runs->count - 1] : NULL;
    if (!word || !run)
        return fail(reader, "a line before the first run");
    if (strcmp(word, "tolerance") == 0)
        return take_tolerance(reader, run, at);
    if (strcmp(word, "in") == 0)
        return take_array(reader, &run->inputs, true, at);
    if (strcmp(word, "out") == 0)
        return take_array(reader, &run->outputs, false, at);
    return fail(reader, "a line begins with run, tolerance, in or out");
}

static bool is_complete(struct reader *reader)
{
    for (size_t i = 0; i < reader->runs->count; i++)
        if (reader->runs->at[i].relative < 0 || reader->runs->at[i].outputs.count == 0)
            return fail(reader, "a run has no tolerance or no output");
    return reader->runs->count ? true : fail(reader, "no runs");
}

bool vector_read(struct arena *arena, const char *path, struct vector_runs *runs,
                 struct error *error)
{
    struct reader reader = {.arena = arena, .path = path, .runs = runs, .error = error};
    size_t length;
    char *at = file_read(arena, path, VECTOR_BYTES, &length, error);
    if (!at)
        return false;
    for (char *end = at + length; at < end;) {
        char *line = at;
        at += strcspn(at, "\n");
        if (*at != '\n')
            return fail(&reader, "a line without its end");
        *at++ = '\0';
        reader.line++;
        if (!take_line(&reader, line))
            return false;
    }
    return is_complete(&reader);
}
