/*
 * The compiled oracle: writes C (src/gen/c), has the system's compiler make a shared object of it,
 * keeps that in the cache, loads it and calls it.
 *
 * An object's name is the hash of everything it depends on: source, compiler, flags, machine. The
 * file is the object followed by a line with its checksum (loaders ignore what follows), so one
 * rename makes it appear whole, and a damaged one is noticed and made again. Several processes may
 * do so at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "gen/gen.h"
#include "oracle/object.h"
#include "oracle/oracle.h"
#include "os/os.h"

enum {
    OBJECT_MAXIMUM = 256 << 20,      /* bytes of a compiled object */
    COMPILE_SECONDS = 600,           /* then the compiler is stopped */
    MACHINE_FILE_MAXIMUM = 16 << 20, /* bytes of /proc/cpuinfo */
};

/*
 * What the bits depend on: no contraction, no folding of libm calls, integers that wrap. What only
 * speed depends on: the rest. -fno-trapping-math and -fno-math-errno change flags and errno, which
 * nobody reads, never values.
 */
static const char *const FLAGS[] = {
    "-std=c17",
    "-O3", /* half the time of -O2 where neighbouring sums lie far apart */
    "-fwrapv",
    "-ffp-contract=off",
    "-fno-builtin",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-w",
    "-fPIC",
    "-shared",
#ifdef __x86_64__
    "-march=native",
#endif
};

enum { FLAG_COUNT = sizeof FLAGS / sizeof FLAGS[0] };

typedef int oracle_function(const int64_t *sizes, const double *scalars, const void *const *inputs,
                            void *const *outputs, int exact);

struct oracle_code {
    struct library *library;
    oracle_function *run;
};

/* What the generated code returns: see src/gen/c/prelude.c. */
enum oracle_status { STATUS_DONE, STATUS_NO_MEMORY, STATUS_OUTSIDE };

static const char *compiler_find(struct arena *arena, struct error *error)
{
    const char *wanted = getenv("SMELT_CC");
    if (!wanted || !*wanted)
        wanted = "cc";
    const char *path = process_find(arena, wanted);
    if (!path) {
        error_set(error, ERROR_MISSING_TOOL, "the C compiler %s is not there", wanted);
        error_hint(error, "install one (Debian: apt install gcc libc6-dev), or set SMELT_CC");
    }
    return path;
}

static bool compiler_version(struct arena *arena, const char *compiler, const char **version,
                             struct error *error)
{
    const char *arguments[] = {compiler, "--version", NULL};
    struct process_request request = {.arguments = arguments, .timeout = 60};
    struct process_result result;
    if (!process_run(arena, &request, &result, error))
        return false;
    if (!process_succeeded(&result)) {
        error_set(error, ERROR_TOOL_FAILED, "%s --version failed", compiler);
        error_hint(error, "set SMELT_CC to a working C compiler");
        return false;
    }
    *version = result.output;
    return true;
}

/* -march=native gives other code on another processor: what the first one says of itself. */
static void add_machine(struct arena *arena, struct text *out)
{
    static const char *const LINES[] = {"vendor_id",       "cpu family", "model",    "flags",
                                        "CPU implementer", "CPU part",   "Features", "isa"};
    struct utsname system;
    if (uname(&system) == 0)
        text_printf(out, "%s %s\n", system.sysname, system.machine);
    const char *line = file_read(arena, "/proc/cpuinfo", MACHINE_FILE_MAXIMUM, NULL, NULL);
    const char *end = line ? strstr(line, "\n\n") : NULL;
    while (line && *line && line != end + 1) {
        size_t length = strcspn(line, "\n");
        for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
            if (strncmp(line, LINES[i], strlen(LINES[i])) == 0) {
                text_add_bytes(out, line, length);
                text_char(out, '\n');
                break;
            }
        }
        line += length + (line[length] == '\n');
    }
}

static void object_key(struct arena *arena, const struct text *source, const char *version,
                       char hex[65])
{
    struct text all = text_new(arena);
    text_printf(&all, "smelt oracle 1\n%s\n", version);
    for (int i = 0; i < FLAG_COUNT; i++)
        text_printf(&all, "%s ", FLAGS[i]);
    add_machine(arena, &all);
    text_add_bytes(&all, source->at, source->length);
    sha256_hex(all.at, all.length, hex);
}

/* ---- the file in the cache: the object, then "smelt-sha256 <hash of the object>\n" ---- */

static const char SEAL[] = "smelt-sha256 ";
enum { SEAL_LENGTH = sizeof SEAL - 1 + 64 + 1 };

static bool object_is_whole(struct arena *arena, const char *path)
{
    size_t length;
    if (access(path, R_OK) != 0)
        return false;
    const char *bytes = file_read(arena, path, OBJECT_MAXIMUM, &length, NULL);
    if (!bytes || length < SEAL_LENGTH)
        return false;
    const char *seal = bytes + length - SEAL_LENGTH;
    char hex[65];
    sha256_hex(bytes, length - SEAL_LENGTH, hex);
    return memcmp(seal, SEAL, sizeof SEAL - 1) == 0 &&
           memcmp(seal + sizeof SEAL - 1, hex, 64) == 0 && seal[SEAL_LENGTH - 1] == '\n';
}

static bool object_seal(struct arena *arena, const char *made, const char *path,
                        struct error *error)
{
    size_t length;
    const char *bytes = file_read(arena, made, OBJECT_MAXIMUM - SEAL_LENGTH, &length, error);
    if (!bytes)
        return false;
    struct text whole = text_new(arena);
    char hex[65];
    sha256_hex(bytes, length, hex);
    text_add_bytes(&whole, bytes, length);
    text_printf(&whole, "%s%s\n", SEAL, hex);
    return file_write(path, whole.at, whole.length, 0600, error);
}

static bool compile_failed(const char *compiler, const char *source,
                           const struct process_result *result, struct error *error)
{
    if (result->end == PROCESS_TIMED_OUT)
        error_set(error, ERROR_TOOL_FAILED, "%s took longer than %d seconds", compiler,
                  COMPILE_SECONDS);
    else
        error_set(error, ERROR_TOOL_FAILED, "%s could not compile the C that smelt wrote",
                  compiler);
    error_detail(error, "%.380s", result->output);
    error_hint(error, "this is a fault of smelt; please report it with the file %s", source);
    return false;
}

/* Compiles to a name of this process's own, then puts the sealed object in place. */
static bool object_make(struct arena *arena, const char *compiler, const struct text *source,
                        const char *stem, const char *path, struct error *error)
{
    const char *written = arena_printf(arena, "%s.c", stem);
    const char *made = arena_printf(arena, "%s.%ld.tmp", stem, (long)getpid());
    if (!file_write(written, source->at, source->length, 0600, error))
        return false;
    const char *arguments[FLAG_COUNT + 6] = {compiler};
    int count = 1;
    for (int i = 0; i < FLAG_COUNT; i++)
        arguments[count++] = FLAGS[i];
    arguments[count++] = "-o";
    arguments[count++] = made;
    arguments[count++] = written;
    arguments[count++] = "-lm";
    struct process_request request = {.arguments = arguments, .timeout = COMPILE_SECONDS};
    struct process_result result;
    bool good = process_run(arena, &request, &result, error);
    if (good && !process_succeeded(&result))
        good = compile_failed(compiler, written, &result, error);
    if (good)
        good = object_seal(arena, made, path, error);
    unlink(made);
    return good;
}

static struct oracle_code *object_load(struct arena *arena, const char *path, const char *entry,
                                       struct error *error)
{
    struct library *library = library_open(path, error);
    if (!library)
        return NULL;
    void *symbol = library_symbol(library, entry, error);
    if (!symbol) {
        library_close(library);
        return NULL;
    }
    struct oracle_code *code = arena_new(arena, struct oracle_code);
    code->library = library;
    memcpy(&code->run, &symbol, sizeof symbol); /* ISO C has no cast from data to function */
    return code;
}

/* The object of a source, made now or found in the cache: its path. */
static const char *object_find(struct arena *arena, const struct text *source, struct error *error)
{
    const char *version;
    const char *compiler = compiler_find(arena, error);
    if (!compiler || !compiler_version(arena, compiler, &version, error))
        return NULL;
    const char *directory = directory_cache(arena, "oracle", error);
    if (!directory)
        return NULL;
    char key[65];
    object_key(arena, source, version, key);
    const char *stem = arena_printf(arena, "%s/%s", directory, key);
    const char *path = arena_printf(arena, "%s.so", stem);
    if (!object_is_whole(arena, path)) {
        if (!object_make(arena, compiler, source, stem, path, error))
            return NULL;
        directory_trim(directory);
    }
    directory_touch(path);
    return path;
}

struct library *object_open(struct arena *arena, const struct text *source, const char *entry,
                            void **symbol, struct error *error)
{
    const char *path = object_find(arena, source, error);
    struct library *library = path ? library_open(path, error) : NULL;
    *symbol = library ? library_symbol(library, entry, error) : NULL;
    if (library && !*symbol) {
        library_close(library);
        return NULL;
    }
    return library;
}

struct oracle_code *oracle_compile(struct arena *arena, const struct ir_program *program,
                                   struct error *error)
{
    struct text source = text_new(arena);
    gen_plain_c(&source, program, GEN_REFERENCE);
    const char *path = object_find(arena, &source, error);
    return path ? object_load(arena, path, "smelt_oracle", error) : NULL;
}

bool oracle_compile_all(struct arena *arena, const struct ir_program *const *programs, int count,
                        struct oracle_code **codes, struct error *error)
{
    struct text source = text_new(arena);
    gen_references_c(&source, programs, count);
    const char *path = object_find(arena, &source, error);
    for (int i = 0; path && i < count; i++) {
        codes[i] = object_load(arena, path, arena_printf(arena, "smelt_oracle_%d", i), error);
        if (codes[i])
            continue;
        while (i-- > 0)
            oracle_close(codes[i]);
        return false;
    }
    return path != NULL;
}

void oracle_close(struct oracle_code *code)
{
    if (!code)
        return;
    library_close(code->library);
    code->library = NULL;
    code->run = NULL;
}

/* ---- running ---- */

static void outputs_alloc(struct arena *arena, const struct ir_binding *binding,
                          struct array *outputs)
{
    const struct ir_part *part = binding->part;
    for (int i = 0; i < part->output_count; i++) {
        const struct ir_tensor *tensor = &part->tensors[part->outputs[i]];
        outputs[i] =
            (struct array){.name = tensor->name, .dtype = tensor->dtype, .rank = tensor->rank};
        outputs[i].count = ir_tensor_shape(binding, part->outputs[i], outputs[i].dims);
        array_alloc(arena, &outputs[i]);
    }
}

bool oracle_run(struct arena *arena, const struct oracle_code *code,
                const struct ir_binding *binding, const struct array *inputs, struct array *outputs,
                const struct oracle_options *options, struct error *error)
{
    const struct ir_part *part = binding->part;
    if (!oracle_admit(binding, inputs, error) ||
        !oracle_memory_admit(oracle_memory(binding), options, error))
        return false;
    outputs_alloc(arena, binding, outputs);
    const void **from = arena_array(arena, (size_t)part->input_count + 1, sizeof *from);
    void **to = arena_array(arena, (size_t)part->output_count + 1, sizeof *to);
    for (int i = 0; i < part->input_count; i++)
        from[i] = inputs[i].floats ? (const void *)inputs[i].floats : inputs[i].integers;
    for (int i = 0; i < part->output_count; i++)
        to[i] = outputs[i].floats ? (void *)outputs[i].floats : outputs[i].integers;
    switch (
        code->run(binding->sizes, binding->scalars, from, to, options && options->exact_outputs)) {
    case STATUS_DONE: return true;
    case STATUS_NO_MEMORY:
        error_set(error, ERROR_OUT_OF_MEMORY, "memory ran out while evaluating %s", part->name);
        error_hint(error, "choose smaller sizes");
        return false;
    default:
        return error_set(error, ERROR_ORACLE_BOUNDS,
                         "an index that %s scatters to lies outside its tensor", part->name);
    }
}
