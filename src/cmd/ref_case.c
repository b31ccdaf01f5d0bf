/*
 * One case of `smelt ref`: bind, draw or read the inputs, evaluate, compare, write.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/ref.h"
#include "os/clock.h"

struct evaluation {
    const struct ref_request *request;
    struct arena *arena;
    const struct ir_binding *binding;
    int64_t memory; /* what may be used, measured before inputs are drawn */
    struct ref_code *code;
    struct ref_result *result;
    struct error *error;
};

/* ---- memory ---- */

static const char *memory_words(struct arena *arena, int64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double amount = (double)bytes;
    size_t unit = 0;
    for (; amount >= 1000 && unit < 6; unit++)
        amount /= 1024;
    return arena_printf(arena, "%.3g %s", amount, units[unit]);
}

static bool fail_memory(const struct evaluation *evaluation, int64_t needed, bool points)
{
    struct error *error = evaluation->error;
    if (needed < 0)
        error_set(error, ERROR_OUT_OF_MEMORY, "this case needs more memory than can be counted");
    else
        error_set(error, ERROR_OUT_OF_MEMORY, "this case needs %s of memory, and %s may be used",
                  memory_words(evaluation->arena, needed),
                  memory_words(evaluation->arena, evaluation->memory));
    error_hint(error, points ? "use smaller sizes"
                             : "use smaller sizes, or evaluate single elements with --point");
    return false;
}

/* Bytes of all inputs as the reference holds them, or -1 when that overflows. */
static int64_t input_bytes(const struct ir_binding *binding)
{
    int64_t sum = 0, bytes;
    for (int i = 0; i < binding->part->input_count; i++) {
        int64_t count = ir_tensor_shape(binding, binding->part->inputs[i], NULL);
        if (__builtin_mul_overflow(count, (int64_t)8, &bytes) ||
            __builtin_add_overflow(sum, bytes, &sum))
            return -1;
    }
    return sum;
}

static bool check_memory(const struct evaluation *evaluation)
{
    bool points = evaluation->request->points.count > 0;
    int64_t needed = points ? input_bytes(evaluation->binding) : oracle_memory(evaluation->binding);
    if (evaluation->request->oracle == REF_BOTH && needed > 0)
        needed = needed > INT64_MAX / 2 ? -1 : needed * 2;
    if (needed >= 0 && needed <= evaluation->memory)
        return true;
    return fail_memory(evaluation, needed, points);
}

/* ---- time ---- */

/* Months when compiled, years when not: nobody means more. Single points may take far less. */
static const double most_steps = 1e16;

static bool check_time(const struct evaluation *evaluation)
{
    double steps = oracle_steps(evaluation->binding, NULL);
    if (steps <= most_steps || evaluation->request->points.count > 0)
        return true;
    error_set(evaluation->error, ERROR_TOO_MANY,
              "this case takes %.2g steps, and smelt begins nothing of more than %g", steps,
              most_steps);
    error_hint(evaluation->error, "use smaller sizes, or evaluate single elements with --point");
    return false;
}

/* ---- inputs ---- */

static int input_number(const struct ir_part *part, const char *name)
{
    for (int i = 0; i < part->input_count; i++)
        if (strcmp(part->tensors[part->inputs[i]].name, name) == 0)
            return i;
    return -1;
}

static bool take_file(const struct evaluation *evaluation, const struct ref_file *file)
{
    const struct ir_part *part = evaluation->binding->part;
    struct ref_result *result = evaluation->result;
    int number = input_number(part, file->name);
    if (number < 0) {
        error_set(evaluation->error, ERROR_UNKNOWN_INPUT,
                  "op '%s' has no input '%s' at these sizes", part->name, file->name);
        return false;
    }
    const struct ir_tensor *tensor = &part->tensors[part->inputs[number]];
    struct array array = file->array;
    if (array.dtype != tensor->dtype &&
        !npy_read(evaluation->arena, file->path, tensor->dtype, &array, evaluation->error))
        return false;
    array.name = tensor->name;
    result->inputs[number] = array;
    result->from_file[number] = true;
    return true;
}

static bool make_inputs(const struct evaluation *evaluation)
{
    const struct ref_request *request = evaluation->request;
    struct ref_result *result = evaluation->result;
    const struct ir_part *part = evaluation->binding->part;
    size_t count = (size_t)part->input_count;
    result->inputs = arena_array(evaluation->arena, count + 1, sizeof *result->inputs);
    result->from_file = arena_array(evaluation->arena, count + 1, sizeof *result->from_file);
    if (!oracle_draw(evaluation->arena, result->task_case, evaluation->binding, request->seed,
                     result->inputs, evaluation->error))
        return false;
    for (size_t i = 0; i < request->files.count; i++)
        if (!take_file(evaluation, &request->files.at[i]))
            return false;
    return oracle_admit(evaluation->binding, result->inputs, evaluation->error);
}

/* ---- evaluating ---- */

/* True when there is compiled code; false with *evaluation->error set, or a note when falling back.
 */
static bool compile(const struct evaluation *evaluation)
{
    struct ref_code *code = evaluation->code;
    const struct ir_program *program = evaluation->result->task_case->program;
    bool optional = evaluation->request->oracle == REF_AUTO;
    if (code->unavailable)
        return false;
    if (code->code && code->program == program)
        return true;
    if (code->code)
        oracle_close(code->code);
    code->program = program;
    code->code = oracle_compile(evaluation->request->invocation->arena, program, evaluation->error);
    if (code->code || !optional)
        return code->code != NULL;
    code->unavailable = true;
    output_note(evaluation->request->invocation, "evaluated by the interpreter, which is slow: %s",
                evaluation->error->message);
    return false;
}

static struct array *new_outputs(const struct evaluation *evaluation)
{
    size_t count = (size_t)evaluation->binding->part->output_count;
    return arena_array(evaluation->arena, count + 1, sizeof(struct array));
}

static bool run_compiled(const struct evaluation *evaluation, struct array *outputs)
{
    struct oracle_options options = {.memory = evaluation->memory};
    double start = clock_seconds();
    evaluation->result->oracle = "compiled";
    bool good = oracle_run(evaluation->arena, evaluation->code->code, evaluation->binding,
                           evaluation->result->inputs, outputs, &options, evaluation->error);
    evaluation->result->seconds += clock_seconds() - start;
    return good;
}

static bool run_interpreter(const struct evaluation *evaluation, struct array *outputs)
{
    struct oracle_options options = {.memory = evaluation->memory};
    double start = clock_seconds();
    evaluation->result->oracle = "interpreter";
    bool good = oracle_interpret(evaluation->arena, evaluation->binding, evaluation->result->inputs,
                                 outputs, &options, evaluation->error);
    evaluation->result->seconds += clock_seconds() - start;
    return good;
}

/* All NaNs are alike; zeros of different sign are not. */
static bool same_element(const struct array *a, const struct array *b, int64_t at)
{
    if (a->integers)
        return a->integers[at] == b->integers[at];
    return (isnan(a->floats[at]) && isnan(b->floats[at])) ||
           memcmp(&a->floats[at], &b->floats[at], sizeof a->floats[at]) == 0;
}

static bool compare(const struct array *compiled, const struct array *interpreted,
                    struct error *error)
{
    for (int64_t i = 0; i < compiled->count; i++) {
        if (same_element(compiled, interpreted, i))
            continue;
        error_set(error, ERROR_ORACLES_DIFFER, "the two forms of the reference differ in '%s'",
                  compiled->name);
        if (compiled->integers)
            error_detail(error, "element %lld: compiled %lld, interpreter %lld", (long long)i,
                         (long long)compiled->integers[i], (long long)interpreted->integers[i]);
        else
            error_detail(error, "element %lld: compiled %.17g, interpreter %.17g", (long long)i,
                         compiled->floats[i], interpreted->floats[i]);
        error_hint(error, "this is a fault of smelt or of the C compiler: please report it");
        return false;
    }
    return true;
}

static bool evaluate_both(const struct evaluation *evaluation)
{
    struct array *interpreted = new_outputs(evaluation);
    if (!run_interpreter(evaluation, interpreted))
        return false;
    if (!compile(evaluation) || !run_compiled(evaluation, evaluation->result->outputs))
        return false;
    for (int i = 0; i < evaluation->binding->part->output_count; i++)
        if (!compare(&evaluation->result->outputs[i], &interpreted[i], evaluation->error))
            return false;
    evaluation->result->oracle = "both";
    return true;
}

static bool evaluate(const struct evaluation *evaluation)
{
    enum ref_oracle form = evaluation->request->oracle;
    evaluation->result->outputs = new_outputs(evaluation);
    if (form == REF_BOTH)
        return evaluate_both(evaluation);
    if (form != REF_INTERPRETER && compile(evaluation))
        return run_compiled(evaluation, evaluation->result->outputs);
    if (form == REF_COMPILED)
        return false;
    return run_interpreter(evaluation, evaluation->result->outputs);
}

/* ---- points ---- */

static bool fail_point(const struct evaluation *evaluation, const char *text, const char *why)
{
    error_set(evaluation->error, ERROR_BAD_POINT, "'%s' is not an element of an output", text);
    error_detail(evaluation->error, "%s", why);
    error_hint(evaluation->error, "it is written like 'y[3,4]', counted from 0");
    return false;
}

/* The numbers of "[3, 4]"; -1 when it is not such a list or has too many. */
static int parse_indices(const char *at, int64_t *indices)
{
    int count = 0;
    if (*at == '\0')
        return 0;
    if (*at++ != '[')
        return -1;
    while (isspace((unsigned char)*at))
        at++;
    while (*at != ']') {
        char *end;
        errno = 0;
        if (count == IR_MAX_RANK || !isdigit((unsigned char)*at))
            return -1;
        indices[count++] = strtoll(at, &end, 10);
        if (errno)
            return -1;
        for (at = end; isspace((unsigned char)*at); at++)
            ;
        if (*at == ',')
            for (at++; isspace((unsigned char)*at); at++)
                ;
        else if (*at != ']')
            return -1;
    }
    return at[1] == '\0' ? count : -1;
}

static bool find_point(const struct evaluation *evaluation, const char *text, int *output,
                       int64_t *indices)
{
    const struct ir_part *part = evaluation->binding->part;
    size_t length = strcspn(text, "[");
    int64_t dims[IR_MAX_RANK];
    int count = parse_indices(text + length, indices);
    for (*output = 0; *output < part->output_count; ++*output) {
        const struct ir_tensor *tensor = &part->tensors[part->outputs[*output]];
        if (strlen(tensor->name) != length || memcmp(tensor->name, text, length) != 0)
            continue;
        if (count != tensor->rank)
            return fail_point(evaluation, text,
                              arena_printf(evaluation->arena, "'%s' has %d dimension%s",
                                           tensor->name, tensor->rank,
                                           tensor->rank == 1 ? "" : "s"));
        ir_tensor_shape(evaluation->binding, part->outputs[*output], dims);
        for (int i = 0; i < count; i++)
            if (indices[i] >= dims[i])
                return fail_point(evaluation, text,
                                  arena_printf(evaluation->arena,
                                               "dimension %d of '%s' has %lld elements", i,
                                               tensor->name, (long long)dims[i]));
        return true;
    }
    return fail_point(evaluation, text, "there is no output of this name");
}

static bool evaluate_points(const struct evaluation *evaluation)
{
    struct ref_result *result = evaluation->result;
    const struct ir_part *part = evaluation->binding->part;
    double start = clock_seconds();
    struct oracle_options options = {0};
    struct oracle_points *points = oracle_points_open(evaluation->arena, evaluation->binding,
                                                      result->inputs, &options, evaluation->error);
    result->oracle = "interpreter";
    if (!points)
        return false;
    for (size_t i = 0; i < evaluation->request->points.count; i++) {
        int output;
        int64_t indices[IR_MAX_RANK];
        struct ref_point point = {.text = evaluation->request->points.at[i]};
        if (!find_point(evaluation, point.text, &output, indices) ||
            !oracle_point(points, output, indices, &point.value, evaluation->error))
            return false;
        point.dtype = part->tensors[part->outputs[output]].dtype;
        vector_push(evaluation->arena, &result->points, point);
    }
    result->seconds = clock_seconds() - start;
    return true;
}

/* ---- writing ---- */

/* The folder and those above it, with the permissions a person's folders have. */
static bool make_folder(const char *path, struct arena *arena, struct error *error)
{
    struct stat status;
    char *part = arena_string(arena, path);
    for (char *at = part + 1;; at++) {
        char end = *at;
        if (end != '/' && end != '\0')
            continue;
        *at = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return error_system(error, ERROR_CANNOT_WRITE, "could not make the folder %s", part);
        *at = end;
        if (end == '\0')
            break;
    }
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return true;
    errno = ENOTDIR;
    return error_system(error, ERROR_CANNOT_WRITE, "could not write into %s", path);
}

static bool write_arrays(const struct evaluation *evaluation, const char *folder,
                         const struct array *arrays, int count)
{
    for (int i = 0; arrays && i < count; i++) {
        const char *path = arena_printf(evaluation->arena, "%s/%s.npy", folder, arrays[i].name);
        if (!npy_write(path, &arrays[i], evaluation->error))
            return false;
    }
    return true;
}

static bool write_result(const struct evaluation *evaluation)
{
    const struct ref_request *request = evaluation->request;
    struct ref_result *result = evaluation->result;
    const struct ir_part *part = evaluation->binding->part;
    if (!request->folder)
        return true;
    result->folder = request->folder;
    if (request->first_case != request->last_case)
        result->folder =
            arena_printf(evaluation->arena, "%s/case%d", request->folder, result->number);
    if (result->folder[0] == '\0') {
        error_set(evaluation->error, ERROR_USAGE, "--out needs the name of a folder");
        return false;
    }
    return make_folder(result->folder, evaluation->arena, evaluation->error) &&
           write_arrays(evaluation, result->folder, result->inputs, part->input_count) &&
           write_arrays(evaluation, result->folder, result->outputs, part->output_count);
}

bool ref_case(const struct ref_request *request, const struct task *task, int number,
              struct ref_code *code, struct ref_result *result, struct error *error)
{
    struct arena *arena = request->invocation->scratch;
    *result = (struct ref_result){.task_case = &task->cases[number], .number = number};
    const struct task_case *task_case = result->task_case;
    const struct ir_binding *binding =
        ir_bind(arena, task_case->program, task_case->sizes, task_case->scalars, error);
    if (!binding)
        return false;
    result->part = binding->part;
    struct evaluation evaluation = {.request = request,
                                    .arena = arena,
                                    .binding = binding,
                                    .memory = oracle_memory_available(),
                                    .code = code,
                                    .result = result,
                                    .error = error};
    if (!check_memory(&evaluation) || !check_time(&evaluation) || !make_inputs(&evaluation))
        return false;
    if (request->points.count ? !evaluate_points(&evaluation) : !evaluate(&evaluation))
        return false;
    return write_result(&evaluation);
}
