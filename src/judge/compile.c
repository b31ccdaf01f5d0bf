/*
 * Compiling a kernel, confined: the compiler reads the system's headers and writes into one private
 * folder, nothing else.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/binary.h"
#include "judge/device.h"
#include "os/os.h"

enum { COMPILE_SECONDS = 60 };

const char *const *judge_compiler_flags(void)
{
    static const char *const flags[] = {"-std=gnu17", "-O3",   "-march=native", "-fopenmp",
                                        "-g1",        "-fPIC", "-shared",       NULL};
    return flags;
}

static bool write_source(const char *path, const struct source *source, struct error *error)
{
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(source->text, 1, source->length, file) == source->length;
    if (file && fclose(file) != 0)
        good = false;
    return good || error_system(error, ERROR_CANNOT_WRITE, "could not write %s", path);
}

/* SMELT_COMPILE_SECONDS: the longest a compiler may take. */
static int compile_seconds(void)
{
    const char *text = getenv("SMELT_COMPILE_SECONDS");
    int seconds = text ? atoi(text) : 0;
    return seconds > 0 && seconds <= 3600 ? seconds : COMPILE_SECONDS;
}

/* "PATH:12:" at the start of a line, where PATH is neither the kernel nor a file of the system. */
static bool is_foreign(const char *line)
{
    static const char *const own[] = {"kernel.c:", "/usr/", "<"};
    size_t path = strcspn(line, ": \n");
    if (line[path] != ':' || !isdigit((unsigned char)line[path + 1]))
        return false;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strncmp(line, own[i], strlen(own[i])) == 0)
            return false;
    return true;
}

/*
 * Compilers quote the lines they complain about, and a source may include any file it can name.
 * Where files are not out of reach, what is said about those of others is left out.
 */
const char *compile_own_words(struct arena *arena, const char *said)
{
    struct text kept = text_new(arena);
    bool foreign = false;
    for (const char *line = said; *line;) {
        size_t length = strcspn(line, "\n");
        if (line[0] != ' ' && line[0] != '\t')
            foreign = is_foreign(line);
        if (!foreign)
            text_printf(&kept, "%.*s\n", (int)length, line);
        line += length + (line[length] != 0);
    }
    return kept.at;
}

/* "kernel.c:14:7: error: ..." somewhere: the compiler has read the kernel and refuses it. With a
 * path behind that it is a file it could not read. */
bool compile_is_refused(const char *said)
{
    static const char name[] = "kernel.c:", word[] = ": error: ";
    for (const char *line = said; *line;) {
        size_t length = strcspn(line, "\n");
        const char *found = strncmp(line, name, sizeof name - 1) == 0 ? strstr(line, word) : NULL;
        if (found && found < line + length && found[sizeof word - 1] != '/')
            return true;
        line += length + (line[length] != 0);
    }
    return false;
}

/*
 * A compiler also fails when memory, processes or room run out, and then says so in many ways. What
 * it does not plainly say about the kernel it has to say twice.
 */
static void run_compiler(struct arena *arena, const char *const *arguments, const char *folder,
                         struct tool_run *run)
{
    tool_run(arena, arguments, folder, compile_seconds(), run);
    if (run->started && run->in_time && run->status != 0 && !compile_is_refused(run->output))
        tool_run(arena, arguments, folder, compile_seconds(), run);
}

bool compile_prepare(struct arena *arena, const struct source *source, struct compiled *compiled,
                     struct error *error)
{
    *compiled = (struct compiled){0};
    if (!folder_make(arena, &compiled->folder, error))
        return false;
    compiled->directory = compiled->folder.path;
    compiled->target = device_target(source);
    const struct target *target = compiled->target ? compiled->target : &target_cpu;
    char name[sizeof compiled->architecture];
    if (compiled->target)
        kernel_read_target(source, name, compiled->architecture, sizeof name);
    compiled->library = arena_printf(arena, "%s/%s", compiled->directory, target->object);
    return write_source(arena_printf(arena, "%s/%s", compiled->directory, target->source), source,
                        error);
}

bool compile_prepared(struct arena *arena, struct compiled *compiled, struct error *error)
{
    if (compiled->target)
        return device_compile(arena, compiled, compile_seconds(), error);
    char *compiler = process_find(arena, getenv("SMELT_CC") ? getenv("SMELT_CC") : "cc");
    if (!compiler) {
        error_set(error, ERROR_MISSING_TOOL, "there is no C compiler");
        error_hint(error, "apt-get install gcc");
        return false;
    }
    const char *arguments[24] = {compiler};
    int count = 1;
    for (const char *const *flag = judge_compiler_flags(); *flag; flag++)
        arguments[count++] = *flag;
    const char *const rest[] = {"-o", "kernel.so", "kernel.c", "-lm"};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        arguments[count++] = rest[i];
    struct tool_run run;
    run_compiler(arena, arguments, compiled->directory, &run);
    if (!run.started)
        return error_set(error, ERROR_TOOL_FAILED, "the compiler could not be run");
    compiled->layers = sandbox_available();
    compiled->seconds = run.seconds;
    compiled->output = run.in_time ? compile_own_words(arena, run.output)
                                   : "the compiler did not finish in time\n";
    compiled->done = run.status == 0;
    if (compiled->done && compiled->inspect)
        binary_inspect(compiled->library, compiled->directory, &compiled->binary);
    return true;
}

bool compile_kernel(struct arena *arena, const struct source *source, struct compiled *compiled,
                    struct error *error)
{
    return compile_prepare(arena, source, compiled, error) &&
           compile_prepared(arena, compiled, error);
}

void compiled_release(struct compiled *compiled)
{
    folder_remove(&compiled->folder);
    compiled->directory = NULL;
}
