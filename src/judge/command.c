/*
 * An external program as a baseline. It is started as PROGRAM ARGUMENTS... FOLDER, where the folder
 * has case.json and the inputs as .npy; it leaves its outputs there as .npy, and in seconds.txt how
 * long its calls took. Its outputs are compared with the reference like those of any kernel. Its
 * times are its own word.
 *
 * It runs with the rights of whoever started smelt, and it never sees the expected outputs.
 */
#include "judge/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge/refresh.h"
#include "judge/server.h"
#include "os/os.h"

extern char **environ;

enum { MOST_DRAWS = 4, MOST_ARGUMENTS = 80, MOST_SAMPLED = 512 };

struct command {
    const char *arguments[MOST_ARGUMENTS + 2]; /* the folder is the last */
    int argument_count;
    const char *const *environment;
    const struct ir_binding *binding;
    const struct draw *draws;
    int draw_count, launches;
    double timeout;
    struct folder folders[MOST_DRAWS];
    bool cold, stays;              /* a program for a device stays: see server.h */
    const struct drawn *drawn;     /* or NULL */
    struct sample_expected sample; /* with it */
};

/* ---- handing over ---- */

static void write_sizes(struct json *json, const struct ir_binding *binding)
{
    const struct ir_part *part = binding->part;
    json_object(json, "sizes");
    for (int i = 0; i < part->symbol_count; i++)
        if (!part->symbols[i].family)
            json_int(json, part->symbols[i].name, binding->sizes[i]);
    for (int f = 0; f < part->family_count; f++) {
        json_array(json, part->families[f].name);
        for (int i = 0; i < part->symbol_count; i++)
            if (part->symbols[i].family &&
                strcmp(part->symbols[i].family, part->families[f].name) == 0)
                json_int(json, NULL, binding->sizes[i]);
        json_end(json);
    }
    json_end(json);
    json_object(json, "scalars");
    for (int i = 0; i < part->scalar_count; i++)
        if (part->scalars[i].dtype == DTYPE_BOOL)
            json_bool(json, part->scalars[i].name, binding->scalars[i] != 0);
        else
            json_double(json, part->scalars[i].name, binding->scalars[i]);
    json_end(json);
}

/* How the tensor is made of the blocks in blocks.bin. */
static void write_drawing(struct json *json, const struct cell_drawing *drawing)
{
    json_object(json, "sequence");
    json_int(json, "bytes", (int64_t)drawing->bytes);
    json_int(json, "block", (int64_t)drawing->block);
    json_int(json, "block_bytes", (int64_t)drawing->block_bytes);
    json_int(json, "pages", (int64_t)drawing->pages);
    json_int(json, "page_bytes", CELL_PAGE);
    json_array(json, "places");
    for (uint64_t k = 0; drawing->stride && k * drawing->stride < drawing->bytes; k++)
        json_int(json, NULL, (int64_t)cell_page_place(drawing, k));
    json_end(json);
    json_end(json);
}

/* The elements of an output that are asked for. */
static void write_places(struct json *json, const struct sample_expected *sample, int output)
{
    json_array(json, "elements");
    for (int64_t p = 0; p < sample->count; p++)
        if (sample->places[p].output == output)
            json_int(json, NULL, sample->places[p].element);
    json_end(json);
}

static void write_tensors(struct json *json, const char *key, const char *prefix,
                          const struct array *arrays, int count, const struct command *command)
{
    char file[200];
    bool inputs = strcmp(prefix, "input") == 0;
    json_array(json, key);
    for (int i = 0; i < count; i++) {
        json_object(json, NULL);
        if (command->drawn && inputs)
            write_drawing(json, &command->drawn->drawings[0][i]);
        else if (command->drawn)
            write_places(json, &command->sample, i);
        json_string(json, "name", arrays[i].name);
        json_string(json, "dtype", dtype_name(arrays[i].dtype));
        json_array(json, "shape");
        for (int d = 0; d < arrays[i].rank; d++)
            json_int(json, NULL, arrays[i].dims[d]);
        json_end(json);
        snprintf(file, sizeof file, "%s-%s.npy", prefix, arrays[i].name);
        json_string(json, "file", file);
        json_end(json);
    }
    json_end(json);
}

static bool write_case(struct arena *arena, const struct command *command, const char *folder,
                       const struct draw *draw, const struct contest *contest, struct error *error)
{
    const struct ir_part *part = command->binding->part;
    struct text out = text_new(arena);
    struct json json = json_new(&out, 2);
    json_object(&json, NULL);
    json_string(&json, "schema", "smelt.case/1");
    json_string(&json, "op", part->name);
    write_sizes(&json, command->binding);
    write_tensors(&json, "inputs", "input", draw->inputs, part->input_count, command);
    write_tensors(&json, "outputs", "output", draw->expected, part->output_count, command);
    json_int(&json, "repeat", COMMAND_REPEAT);
    json_double(&json, "seconds", 0.5);
    json_int(&json, "slots", contest_slots(contest));
    json_bool(&json, "cold", command->cold);
    json_int(&json, "threads", contest->threads);
    json_end(&json);
    text_char(&out, '\n');
    if (!file_write(arena_printf(arena, "%s/case.json", folder), out.at, out.length, 0600, error))
        return false;
    if (command->drawn)
        return file_write(arena_printf(arena, "%s/blocks.bin", folder), command->drawn->file,
                          drawn_first_bytes(command->drawn), 0600, error);
    for (int i = 0; i < part->input_count; i++)
        if (!npy_write(arena_printf(arena, "%s/input-%s.npy", folder, draw->inputs[i].name),
                       &draw->inputs[i], error))
            return false;
    return true;
}

/* Ours, with the number of threads most libraries look for. */
static const char *const *make_environment(struct arena *arena, int threads)
{
    static const char *const names[] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                        "OPENBLAS_NUM_THREADS"};
    enum { NAMES = sizeof names / sizeof *names };
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    const char **made = arena_array(arena, count + NAMES + 1, sizeof *made);
    for (size_t i = 0; i < count; i++) {
        bool ours = false;
        for (size_t n = 0; n < NAMES; n++) {
            size_t length = strlen(names[n]);
            ours |= strncmp(environ[i], names[n], length) == 0 && environ[i][length] == '=';
        }
        if (!ours)
            made[kept++] = environ[i];
    }
    for (size_t n = 0; n < NAMES; n++)
        made[kept++] = arena_printf(arena, "%s=%d", names[n], threads);
    return made;
}

static void wait_for_server(const struct command *command);

struct command *command_open(struct arena *arena, const char *const *arguments,
                             const struct contest *contest, struct error *error)
{
    struct command *command = arena_new(arena, struct command);
    int draws = contest->draw_count < MOST_DRAWS ? contest->draw_count : MOST_DRAWS;
    bool good = true;
    command->binding = contest->binding;
    command->draws = contest->draws;
    command->cold = contest->cold;
    command->stays = contest->empty_device != NULL;
    command->timeout = COMMAND_SECONDS + contest->call_seconds;
    command->environment = make_environment(arena, contest->threads);
    while (arguments[command->argument_count] && command->argument_count < MOST_ARGUMENTS) {
        command->arguments[command->argument_count] = arguments[command->argument_count];
        command->argument_count++;
    }
    if (contest->sampling) {
        struct random random = random_new(contest->seed, 55);
        command->drawn = contest->pool->drawn;
        draws = 1;
        good = sample_expect(contest->sampling, contest->binding, command->drawn, 0, MOST_SAMPLED,
                             arena, &random, &command->sample, error);
    }
    for (int d = 0; good && d < draws; d++) {
        good = folder_make(arena, &command->folders[d], error);
        command->draw_count += good;
        good = good && write_case(arena, command, command->folders[d].path, &contest->draws[d],
                                  contest, error);
    }
    if (good && command->stays)
        wait_for_server(command);
    if (good)
        return command;
    command_close(command);
    return NULL;
}

void command_close(struct command *command)
{
    for (int d = 0; d < command->draw_count; d++)
        folder_remove(&command->folders[d]);
}

/* ---- reading back ---- */

static bool fail(struct command_lap *lap, enum outcome outcome, const char *message)
{
    lap->outcome = outcome;
    snprintf(lap->message, sizeof lap->message, "%.199s", message);
    return false;
}

/* The last line that says something: most programs end with their complaint. */
static const char *last_line(struct arena *arena, const char *text)
{
    const char *end = text + strlen(text);
    while (end > text && (end[-1] == '\n' || end[-1] == ' '))
        end--;
    const char *start = end;
    while (start > text && start[-1] != '\n')
        start--;
    return arena_copy(arena, start, (size_t)(end - start));
}

static bool read_outputs(struct arena *arena, const struct command *command, const char *folder,
                         const struct draw *draw, struct command_lap *lap)
{
    const struct ir_part *part = command->binding->part;
    const void **bytes = arena_array(arena, (size_t)part->output_count + 1, sizeof *bytes);
    for (int o = 0; o < part->output_count; o++) {
        const struct array *expected = &draw->expected[o];
        const char *name = arena_printf(arena, "output-%s.npy", expected->name);
        const char *path = arena_printf(arena, "%s/%s", folder, name);
        struct array array = {.name = expected->name};
        struct error error = {0};
        if (access(path, F_OK) != 0)
            return fail(lap, OUTCOME_LAUNCH_ERROR, arena_printf(arena, "it wrote no %s", name));
        if (!npy_read(arena, path, expected->dtype, &array, &error))
            return fail(lap, OUTCOME_LAUNCH_ERROR, error.message);
        bool same = array.rank == expected->rank;
        for (int d = 0; same && d < array.rank; d++)
            same = array.dims[d] == expected->dims[d];
        if (!same)
            return fail(lap, OUTCOME_WRONG,
                        arena_printf(arena, "%s does not have the shape of the output", name));
        char *encoded = arena_alloc(arena, (size_t)array.count * dtype_bytes(expected->dtype) + 1);
        array.dtype = expected->dtype;
        array_encode(&array, encoded);
        bytes[o] = encoded;
    }
    struct comparison comparison = {0};
    compare_outputs(command->binding, draw, bytes, &comparison);
    if (comparison.outcome == OUTCOME_OK)
        return true;
    return fail(lap, comparison.outcome,
                arena_printf(arena, "element %lld of '%s' is %.9g, expected %.9g; %lld of %lld off",
                             (long long)comparison.element, draw->expected[comparison.output].name,
                             comparison.got, comparison.expected, (long long)comparison.wrong,
                             (long long)comparison.total));
}

static bool read_seconds(struct arena *arena, const char *folder, struct command_lap *lap)
{
    struct error error = {0};
    struct times VECTOR(double) times = {0};
    const char *path = arena_printf(arena, "%s/seconds.txt", folder);
    if (access(path, F_OK) != 0)
        return fail(lap, OUTCOME_LAUNCH_ERROR, "it wrote no seconds.txt");
    const char *at = file_read(arena, path, COMMAND_BYTES, NULL, &error);
    if (!at)
        return fail(lap, OUTCOME_LAUNCH_ERROR, error.message);
    for (at += strspn(at, " \t\r\n"); *at; at += strspn(at, " \t\r\n")) {
        char *end;
        double seconds = strtod(at, &end);
        size_t length = strcspn(at, " \t\r\n");
        if (end != at + length || !(seconds > 0) || !isfinite(seconds))
            return fail(lap, OUTCOME_LAUNCH_ERROR,
                        arena_printf(arena, "'%.*s' in seconds.txt is no number above 0",
                                     (int)(length > 40 ? 40 : length), at));
        if (times.count == COMMAND_TIMES)
            return fail(lap, OUTCOME_LAUNCH_ERROR, "seconds.txt has over 100000 numbers");
        vector_push(arena, &times, seconds);
        at += length;
    }
    if (times.count == 0)
        return fail(lap, OUTCOME_LAUNCH_ERROR, "seconds.txt is empty");
    lap->seconds = interval_low(times.at, (int)times.count);
    return true;
}

/* What an earlier launch wrote must not pass for this one's. */
static void remove_answers(struct arena *arena, const struct command *command, const char *folder)
{
    const struct ir_part *part = command->binding->part;
    for (int o = 0; o < part->output_count; o++)
        unlink(arena_printf(arena, "%s/output-%s.npy", folder, command->draws[0].expected[o].name));
    unlink(arena_printf(arena, "%s/seconds.txt", folder));
}

/* It is started with --serve in place of its last two words, expression and folder. The words it is
 * started with; whether it should compile. */
static bool server_words(const char *const *arguments, int count, const char **words)
{
    int kept = 0;
    for (int i = 0; i + 1 < count; i++)
        if (strcmp(arguments[i], "--compile") != 0)
            words[kept++] = arguments[i];
    words[kept] = "--serve";
    words[kept + 1] = NULL;
    return kept + 1 < count;
}

static bool ask_server(struct arena *arena, struct command *command, struct command_lap *lap)
{
    const char *words[MOST_ARGUMENTS + 2] = {0};
    char answer[SERVER_LINE];
    struct error error = {0};
    struct text line = text_new(arena);
    struct json json = json_new(&line, 0);
    bool compiled = server_words(command->arguments, command->argument_count, words);
    json_object(&json, NULL);
    json_string(&json, "folder", command->arguments[command->argument_count]);
    json_string(&json, "expression", command->arguments[command->argument_count - 1]);
    json_bool(&json, "compile", compiled);
    json_end(&json);
    if (!server_ask(words, command->environment, line.at, command->timeout, answer, &error))
        return fail(lap, OUTCOME_LAUNCH_ERROR, error.message);
    return strcmp(answer, "done") == 0 || fail(lap, OUTCOME_LAUNCH_ERROR, answer);
}

/* Until it has done what it was told before: nothing else runs on the device while kernels are
 * timed. */
static void wait_for_server(const struct command *command)
{
    const char *words[MOST_ARGUMENTS + 2] = {0};
    char answer[SERVER_LINE];
    struct error ignored = {0};
    server_words(command->arguments, command->argument_count, words);
    (void)server_ask(words, command->environment, "{}", command->timeout, answer, &ignored);
}

void command_announce(struct arena *arena, const char *const *arguments,
                      const struct ir_binding *binding, int threads)
{
    const char *words[MOST_ARGUMENTS + 2] = {0};
    const struct ir_part *part = binding->part;
    struct text line = text_new(arena);
    struct json json = json_new(&line, 0);
    int count = 0;
    while (arguments[count] && count < MOST_ARGUMENTS)
        count++;
    bool compiled = server_words(arguments, count, words);
    if (!compiled)
        return;
    json_object(&json, NULL);
    json_string(&json, "expression", arguments[count - 1]);
    json_object(&json, "case");
    write_sizes(&json, binding);
    json_array(&json, "inputs");
    for (int i = 0; i < part->input_count; i++) {
        const struct ir_tensor *tensor = &part->tensors[part->inputs[i]];
        int64_t dims[IR_MAX_RANK];
        ir_tensor_shape(binding, part->inputs[i], dims);
        json_object(&json, NULL);
        json_string(&json, "name", tensor->name);
        json_string(&json, "dtype", dtype_name(tensor->dtype));
        json_array(&json, "shape");
        for (int d = 0; d < tensor->rank; d++)
            json_int(&json, NULL, dims[d]);
        json_end(&json);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    json_end(&json);
    server_tell(words, make_environment(arena, threads), line.at);
}

static bool run_program(struct arena *arena, struct command *command, struct command_lap *lap)
{
    if (command->stays)
        return ask_server(arena, command, lap);
    struct process_result result;
    struct error error = {0};
    struct process_request request = {.arguments = command->arguments,
                                      .environment = command->environment,
                                      .timeout = command->timeout};
    if (!process_run(arena, &request, &result, &error))
        return fail(lap, OUTCOME_LAUNCH_ERROR, error.message);
    if (result.end == PROCESS_TIMED_OUT)
        return fail(lap, OUTCOME_TIMEOUT,
                    arena_printf(arena, "it did not end within %.0f seconds", command->timeout));
    if (process_succeeded(&result))
        return true;
    return fail(lap, OUTCOME_LAUNCH_ERROR,
                arena_printf(arena, "it ended with %s %d: %s",
                             result.end == PROCESS_SIGNALLED ? "signal" : "status", result.status,
                             last_line(arena, result.output)));
}

void command_launch(struct command *command, struct command_lap *lap)
{
    struct arena arena = {0};
    int number = command->launches++ % command->draw_count;
    const char *folder = command->folders[number].path;
    *lap = (struct command_lap){.outcome = OUTCOME_OK};
    command->arguments[command->argument_count] = folder;
    remove_answers(&arena, command, folder);
    if (run_program(&arena, command, lap) &&
        read_outputs(&arena, command, folder,
                     command->drawn ? &command->sample.draw : &command->draws[number], lap))
        read_seconds(&arena, folder, lap);
    arena_release(&arena);
}
