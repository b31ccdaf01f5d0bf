/*
 * Kernels that are launched on a device: from manifest and sizes to the list of launches a cell
 * does, and compiling, in the confined process that runs the driver.
 */
#include "judge/device.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/resident.h"
#include "os/os.h"

const struct target *device_target(const struct source *source)
{
    char name[32], architecture[32];
    const struct target *target =
        kernel_read_target(source, name, architecture, sizeof name) ? target_find(name) : NULL;
    return target && target->open ? target : NULL;
}

bool device_check_targets(const struct source *const *sources, int count, struct error *error)
{
    for (int i = 1; i < count; i++) {
        const struct target *first = device_target(sources[0]), *other = device_target(sources[i]);
        if (first == other)
            continue;
        error_set(error, ERROR_USAGE, "%s is for target %s, %s for target %s", sources[0]->name,
                  first ? first->name : "cpu", sources[i]->name, other ? other->name : "cpu");
        error_hint(error, "judge kernels of different targets one after the other");
        return false;
    }
    return true;
}

/* ---- the program ---- */

struct packing {
    struct arena *arena;
    const struct kernel *kernel;
    const struct ir_binding *binding;
    struct launch_device *device;
    struct cell_steps VECTOR(struct cell_step) steps;
    struct cell_arguments VECTOR(struct cell_argument) arguments;
};

static bool fail(struct packing *packing, const char *format, const char *what, const char *name)
{
    packing->device->problem = arena_printf(packing->arena, format, what, name);
    return false;
}

static bool evaluate(struct packing *packing, const struct ir_size *size, int64_t least,
                     int64_t missing, const char *what, const char *name, int64_t *value)
{
    *value = missing;
    if (!size || (ir_size_eval(size, packing->binding->sizes, value) && *value >= least &&
                  *value <= INT_MAX))
        return true;
    return fail(packing, "the %s of '%s' is not possible at these sizes", what, name);
}

static struct cell_argument pack_argument(const struct packing *packing,
                                          struct kernel_argument argument)
{
    struct cell_argument out = {.number = argument.number};
    switch (argument.kind) {
    case KERNEL_TENSOR: out.kind = CELL_TENSOR; break;
    case KERNEL_BUFFER: out.kind = CELL_BUFFER; break;
    case KERNEL_COUNTER: out.kind = CELL_COUNTER; break;
    case KERNEL_SIZE:
        out.kind = CELL_INTEGER;
        out.integer = packing->binding->sizes[argument.number];
        break;
    case KERNEL_SCALAR:
        out.kind = CELL_REAL;
        out.real = packing->binding->scalars[argument.number];
        break;
    }
    return out;
}

static bool pack_step(struct packing *packing, const struct kernel_step *step)
{
    static const int kinds[] = {
        [KERNEL_LAUNCH] = CELL_LAUNCH, [KERNEL_REPEAT] = CELL_REPEAT, [KERNEL_END] = CELL_END};
    struct cell_step *out = vector_add(packing->arena, &packing->steps);
    *out = (struct cell_step){.kind = kinds[step->kind],
                              .first_argument = (uint32_t)packing->arguments.count,
                              .argument_count = (uint32_t)step->argument_count};
    const char *name = step->name ? step->name : "";
    if (strlen(name) >= sizeof out->name)
        return fail(packing, "a %s has too long a name: '%.200s'", "function", name);
    memcpy(out->name, name, strlen(name));
    for (int d = 0; d < 3; d++)
        if (!evaluate(packing, step->grid[d], 0, 1, "grid", name, &out->grid[d]) ||
            !evaluate(packing, step->block[d], 1, 1, "block", name, &out->block[d]))
            return false;
    for (int i = 0; i < step->argument_count; i++)
        vector_push(packing->arena, &packing->arguments,
                    pack_argument(packing, step->arguments[i]));
    return evaluate(packing, step->shared, 0, 0, "shared memory", name, &out->shared) &&
           evaluate(packing, step->count, 0, 0, "repeat", name, &out->count);
}

static void pack_all(struct packing *packing)
{
    const struct kernel *kernel = packing->kernel;
    const int64_t *sizes = packing->binding->sizes;
    struct cell_program head = {.magic = CELL_MAGIC,
                                .step_count = (uint32_t)packing->steps.count,
                                .argument_count = (uint32_t)packing->arguments.count,
                                .buffer_count = (uint32_t)kernel->buffer_count};
    struct text all = text_new(packing->arena);
    text_add_bytes(&all, (const char *)&head, sizeof head);
    text_add_bytes(&all, (const char *)packing->steps.at,
                   packing->steps.count * sizeof *packing->steps.at);
    text_add_bytes(&all, (const char *)packing->arguments.at,
                   packing->arguments.count * sizeof *packing->arguments.at);
    for (int i = 0; i < kernel->buffer_count; i++) {
        struct cell_buffer buffer = {.offset = (uint64_t)kernel_buffer_offset(kernel, i, sizes),
                                     .bytes =
                                         (uint64_t)kernel_buffer_bytes(&kernel->buffers[i], sizes),
                                     .zero = kernel->buffers[i].zero};
        text_add_bytes(&all, (const char *)&buffer, sizeof buffer);
    }
    packing->device->program = all.at;
    packing->device->bytes = all.length;
}

const struct launch_device *device_make(struct arena *arena, const struct kernel *kernel,
                                        const struct ir_binding *binding)
{
    const struct target *target = target_find(kernel->target);
    if (!target || !target->open)
        return NULL;
    struct launch_device *device = arena_new(arena, struct launch_device);
    *device = (struct launch_device){.target = target, .kernel = kernel};
    struct packing packing = {
        .arena = arena, .kernel = kernel, .binding = binding, .device = device};
    bool good = kernel_scratch(kernel, binding->sizes) >= 0 ||
                fail(&packing, "the %s%s cannot be that large", "buffers", "");
    for (int i = 0; good && i < kernel->step_count; i++)
        good = pack_step(&packing, &kernel->steps[i]);
    if (good)
        pack_all(&packing);
    return device;
}

const struct launch_device *device_make_product(struct arena *arena, const struct target *target,
                                                const struct baseline_product *product,
                                                const struct ir_binding *binding)
{
    const struct ir_size *const sizes[] = {product->batch, product->m, product->n, product->k};
    int64_t values[4] = {1, 1, 1, 1};
    struct launch_device *device = arena_new(arena, struct launch_device);
    *device = (struct launch_device){.target = target};
    for (int i = 0; i < 4; i++)
        if (sizes[i] && (!ir_size_eval(sizes[i], binding->sizes, &values[i]) || values[i] < 0 ||
                         values[i] > INT_MAX))
            device->problem = "the library does not take sizes this large";
    int64_t batch = values[0], m = values[1], n = values[2], k = values[3];
    int64_t a_stride = product->a.batched ? m * k : 0, b_stride = product->b.batched ? k * n : 0;
    if (!product->b.batched && product->a.batched && !product->a.transposed &&
        batch <= INT_MAX / (m > 0 ? m : 1)) { /* rows of one long matrix */
        m *= batch;
        batch = 1;
    }
    const int64_t integers[CELL_PRODUCT_ARGUMENTS] = {
        [CELL_PRODUCT_BATCH] = batch,
        [CELL_PRODUCT_M] = m,
        [CELL_PRODUCT_N] = n,
        [CELL_PRODUCT_K] = k,
        [CELL_PRODUCT_A_TRANSPOSED] = product->a.transposed,
        [CELL_PRODUCT_B_TRANSPOSED] = product->b.transposed,
        [CELL_PRODUCT_A_STRIDE] = a_stride,
        [CELL_PRODUCT_B_STRIDE] = b_stride};
    const int tensors[] = {[CELL_PRODUCT_A] = product->a.input,
                           [CELL_PRODUCT_B] = product->b.input,
                           [CELL_PRODUCT_Y] = product->output};
    struct cell_program head = {
        .magic = CELL_MAGIC, .step_count = 1, .argument_count = CELL_PRODUCT_ARGUMENTS};
    struct cell_step step = {.kind = CELL_PRODUCT, .argument_count = CELL_PRODUCT_ARGUMENTS};
    struct text all = text_new(arena);
    snprintf(step.name, sizeof step.name, "%s", dtype_name(product->dtype));
    text_add_bytes(&all, (const char *)&head, sizeof head);
    text_add_bytes(&all, (const char *)&step, sizeof step);
    for (int i = 0; i < CELL_PRODUCT_ARGUMENTS; i++) {
        bool tensor = i <= CELL_PRODUCT_Y;
        struct cell_argument argument = {.kind = tensor ? CELL_TENSOR : CELL_INTEGER,
                                         .number = tensor ? tensors[i] : 0,
                                         .integer = integers[i]};
        text_add_bytes(&all, (const char *)&argument, sizeof argument);
    }
    device->program = all.at;
    device->bytes = all.length;
    return device;
}

const struct launch_device *device_make_empty(struct arena *arena, const struct target *target)
{
    struct launch_device *device = arena_new(arena, struct launch_device);
    struct cell_program *head = arena_new(arena, struct cell_program);
    *head = (struct cell_program){.magic = CELL_MAGIC};
    *device = (struct launch_device){.target = target, .program = head, .bytes = sizeof *head};
    return device;
}

/* ---- the process of the driver ---- */

const char *device_find_runner(struct arena *arena, struct error *error)
{
    const char *path = launch_find_program(arena, "smelt-device", "SMELT_DEVICE");
    if (path)
        return path;
    error_set(error, ERROR_MISSING_TOOL, "the runner 'smelt-device' is not found");
    error_hint(error, "it is built by make, beside smelt; SMELT_DEVICE names another");
    return NULL;
}

const char *const *device_environment(struct arena *arena, const char *folder)
{
    static const char *const passed[] = {"SMELT_NVRTC", "SMELT_CUBLAS", "OCL_ICD_VENDORS",
                                         "CUDA_VISIBLE_DEVICES"};
    enum { PASSED = sizeof passed / sizeof *passed };
    const char *const all[] = {
        "PATH=/usr/local/bin:/usr/bin:/bin",
        arena_printf(arena, "TMPDIR=%s", folder),
        arena_printf(arena, "HOME=%s", folder),
        arena_printf(arena, "POCL_CACHE_DIR=%s", folder),
        arena_printf(arena, "XDG_CACHE_HOME=%s", folder),
        arena_printf(arena, "CUDA_CACHE_PATH=%s", folder),
        "CUDA_CACHE_DISABLE=1",
        "CUDA_MODULE_LOADING=EAGER",
        "LC_ALL=C",
    };
    size_t count = sizeof all / sizeof *all;
    const char **copy = arena_array(arena, count + PASSED + 1, sizeof *copy);
    memcpy(copy, all, sizeof all);
    for (int i = 0; i < PASSED; i++) {
        const char *value = getenv(passed[i]);
        if (value && *value)
            copy[count++] = arena_printf(arena, "%s=%s", passed[i], value);
    }
    return copy;
}

static const char *const *join(struct arena *arena, const char *const *first,
                               const char *const *second)
{
    struct paths VECTOR(const char *) paths = {0};
    for (; first && *first; first++)
        vector_push(arena, &paths, *first);
    for (; second && *second; second++)
        vector_push(arena, &paths, *second);
    vector_push(arena, &paths, NULL);
    return paths.at;
}

const char *const *device_readable(struct arena *arena, const struct target *target,
                                   const char *runner, const char *folder)
{
    const char *const usual[] = {
        "/usr",      "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives",
        "/dev/null", runner, folder,   NULL};
    static const char *const chosen[] = {"SMELT_NVRTC", "SMELT_CUBLAS"};
    const char *beside[3] = {NULL};
    for (int i = 0, count = 0; i < 2; i++) {
        const char *path = getenv(chosen[i]), *slash = path ? strrchr(path, '/') : NULL;
        if (slash)
            beside[count++] = arena_copy(arena, path, (size_t)(slash - path));
    }
    return join(arena, join(arena, usual, beside), target->readable);
}

const char *const *device_writable(struct arena *arena, const struct target *target,
                                   const char *folder)
{
    const char *const usual[] = {folder, "/dev/null", NULL};
    return join(arena, usual, target->writable);
}

/* ---- compiling ---- */

static bool report_unusable(const struct target *target, const char *said, struct error *error)
{
    size_t line = strcspn(said, "\n");
    const char *hint = said + line + (said[line] != 0);
    error_set(error, ERROR_MISSING_TOOL, "target %s cannot be used here: %.*s", target->name,
              (int)line, said);
    error_hint(error, "%.*s", (int)strcspn(hint, "\n"), hint);
    return false;
}

/*
 * Drivers write sources into files of their own; people know theirs by another name. What is said
 * about files of others is left out, as with other compilers, and the lines quoted from them.
 */
static const char *own_words(struct arena *arena, const struct compiled *compiled, const char *said)
{
    struct text out = text_new(arena);
    size_t folder = strlen(compiled->directory);
    bool foreign = false, line_start = true;
    for (const char *at = said; *at;) {
        size_t path = strcspn(at, ": \n'\"(");
        bool own = path > folder && strncmp(at, compiled->directory, folder) == 0;
        if (line_start && *at != ' ' && *at != '\t')
            foreign = *at == '/' && !own;
        line_start = *at == '\n';
        if (foreign) {
            at++;
        } else if (own) {
            text_add(&out, compiled->target->source);
            at += path;
        } else {
            text_char(&out, *at++);
        }
    }
    return out.at;
}

/* The value of a line "NAME VALUE" of what smelt-device says. */
const char *device_fact(struct arena *arena, const char *said, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = said; *line;) {
        size_t end = strcspn(line, "\n");
        if (end > length && strncmp(line, name, length) == 0 && line[length] == ' ')
            return arena_copy(arena, line + length + 1, end - length - 1);
        line += end + (line[end] != 0);
    }
    return "";
}

struct compiling {
    struct arena *arena;
    struct compiled *compiled;
    const char *runner;
    int seconds;
    struct tool_needs needs;
    const char *name; /* of the binary in the cache; "": it is not kept */
};

/* What the target says of itself; asked once, since drivers take their time to start. */
static struct {
    const struct target *target; /* NULL: none was asked yet */
    char said[1024];
} known;

static const char *remember(const struct target *target, const char *said)
{
    snprintf(known.said, sizeof known.said, "%s", said);
    known.target = target;
    return known.said;
}

static const char *describe(struct compiling *compiling, struct error *error)
{
    const struct compiled *compiled = compiling->compiled;
    const char *const arguments[] = {compiling->runner, "describe", compiled->target->name, NULL};
    struct tool_run run;
    if (known.target == compiled->target)
        return known.said;
    tool_run_needing(compiling->arena, arguments, compiled->directory, compiling->seconds,
                     &compiling->needs, &run);
    if (!run.started || !run.in_time || run.status != 0) {
        report_unusable(compiled->target, run.output, error);
        return NULL;
    }
    return remember(compiled->target, run.output);
}

const char *device_describe(struct arena *arena, const struct target *target, struct error *error)
{
    enum { DRIVER_SECONDS = 30 };
    const char *runner = device_find_runner(arena, error);
    const char *const arguments[] = {runner, "describe", target->name, NULL};
    struct process_request request = {
        .arguments = arguments, .timeout = DRIVER_SECONDS, .output_maximum = 4096};
    struct process_result result;
    if (known.target == target)
        return known.said;
    if (!runner || !process_run(arena, &request, &result, error))
        return NULL;
    if (process_succeeded(&result))
        return remember(target, result.output);
    report_unusable(target, result.end == PROCESS_EXITED ? result.output : "the driver breaks",
                    error);
    return NULL;
}

void device_machine(struct arena *arena, const struct target *target, const char *said,
                    struct machine *machine)
{
    struct machine_device device = {
        .target = target->name,
        .model = device_fact(arena, said, "device"),
        .version = device_fact(arena, said, "version"),
        .architecture = device_fact(arena, said, "architecture"),
        .units = atoi(device_fact(arena, said, "units")),
        .cache_bytes = strtoll(device_fact(arena, said, "cache"), NULL, 10),
        .memory_bytes = strtoll(device_fact(arena, said, "memory"), NULL, 10)};
    machine_describe_device(machine, &device);
}

void device_rates(struct arena *arena, const struct target *target, struct machine *machine,
                  struct rates *rates)
{
    struct error ignored = {0};
    const char *said = target ? device_describe(arena, target, &ignored) : NULL;
    *machine = (struct machine){0};
    *rates = (struct rates){0};
    if (target && !said)
        return;
    if (target)
        device_machine(arena, target, said, machine);
    else
        machine_describe(machine, "");
    if (machine_rates_load(arena, machine, rates) != MACHINE_KEPT_GOOD)
        *rates = (struct rates){0};
}

bool device_probe(struct arena *arena, const struct target *target, bool quick, struct rates *rates,
                  struct error *error)
{
    enum { PROBE_SECONDS = 300 };
    const char *runner = device_find_runner(arena, error);
    const char *const arguments[] = {runner, "probe", target->name, quick ? "quick" : "whole",
                                     NULL};
    struct process_request request = {
        .arguments = arguments, .timeout = PROBE_SECONDS, .output_maximum = 16384};
    struct process_result result;
    if (!runner || !process_run(arena, &request, &result, error))
        return false;
    if (machine_rates_take(result.output, rates) && process_succeeded(&result))
        return true;
    error_set(error, ERROR_TOOL_FAILED, "the %s device could not be measured", target->title);
    error_detail(error, "%.300s", result.output);
    return false;
}

/*
 * Where a binary is loaded, not the source: what it is made from, and by whom. The architecture is
 * the device's unless one was named; for that kernels would compile without a device, but not run.
 */
static bool name_binary(struct compiling *compiling, const char *path, struct error *error)
{
    struct arena *arena = compiling->arena;
    struct compiled *compiled = compiling->compiled;
    const struct target *target = compiled->target;
    size_t length = 0;
    const char *said = describe(compiling, error);
    if (!said)
        return false;
    const char *compiler = device_fact(arena, said, "compiler");
    if (!compiled->architecture[0])
        snprintf(compiled->architecture, sizeof compiled->architecture, "%s",
                 device_fact(arena, said, "architecture"));
    const char *text = file_read(arena, path, KERNEL_MAX_BYTES, &length, error);
    if (!text)
        return false;
    struct text all = text_new(arena);
    char hex[65];
    text_printf(&all, "smelt binary 1\n%s\n%s\n%s\n%s\n", SMELT_VERSION, target->name, compiler,
                compiled->architecture);
    text_add_bytes(&all, text, length);
    sha256_hex(all.at, all.length, hex);
    compiling->name = *compiler ? arena_string(arena, hex) : "";
    return true;
}

static bool run_compiler(struct compiling *compiling, struct error *error)
{
    struct arena *arena = compiling->arena;
    struct compiled *compiled = compiling->compiled;
    const struct target *target = compiled->target;
    const char *const arguments[] = {compiling->runner,
                                     "compile",
                                     target->name,
                                     compiled->architecture[0] ? compiled->architecture : "-",
                                     target->source,
                                     target->object,
                                     NULL};
    struct tool_run run;
    for (int tries = 0; tries < 2; tries++) {
        tool_run_needing(arena, arguments, compiled->directory, compiling->seconds,
                         &compiling->needs, &run);
        if (!run.started || !run.in_time || run.status >= 0)
            break; /* else a driver that broke: once more */
    }
    if (!run.started)
        return error_set(error, ERROR_TOOL_FAILED, "the compiler could not be run");
    if (run.in_time && run.status == 2)
        return report_unusable(target, run.output, error);
    compiled->layers = sandbox_available();
    compiled->seconds = run.seconds;
    compiled->output = run.in_time ? own_words(arena, compiled, run.output)
                                   : "the compiler did not finish in time\n";
    compiled->done = run.in_time && run.status == 0;
    if (compiled->done && *compiling->name)
        binary_keep(arena, compiling->name, compiled->library);
    return true;
}

static bool compile_resident(struct compiling *compiling)
{
    struct compiled *compiled = compiling->compiled;
    double start = clock_seconds();
    if (!compiled->resident || !resident_compile(compiled->resident, compiled, compiling->seconds))
        return false;
    compiled->done = true;
    compiled->layers = compiled->resident->layers;
    compiled->seconds = clock_seconds() - start;
    if (*compiling->name)
        binary_keep(compiling->arena, compiling->name, compiled->library);
    return true;
}

bool device_compile(struct arena *arena, struct compiled *compiled, int seconds,
                    struct error *error)
{
    const struct target *target = compiled->target;
    struct compiling compiling = {
        .arena = arena, .compiled = compiled, .seconds = seconds, .name = ""};
    compiling.runner = device_find_runner(arena, error);
    if (!compiling.runner)
        return false;
    compiling.needs = (struct tool_needs){
        .readable = device_readable(arena, target, compiling.runner, compiled->directory),
        .writable = device_writable(arena, target, compiled->directory),
        .environment = device_environment(arena, compiled->directory),
        .without = target->without};
    const char *path = arena_printf(arena, "%s/%s", compiled->directory, target->source);
    if (strcmp(target->source, target->object) != 0 && !name_binary(&compiling, path, error))
        return false;
    compiled->output = "";
    compiled->binary.unread = "it is not looked into on devices";
    compiled->done = *compiling.name && binary_recall(arena, compiling.name, compiled->library);
    return compiled->done || compile_resident(&compiling) || run_compiler(&compiling, error);
}
