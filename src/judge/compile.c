/*
 * Compiling a kernel, confined: the compiler reads the system's headers and writes into one private
 * folder, nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "judge/private.h"
#include "os/os.h"

enum { COMPILE_SECONDS = 60, COMPILE_OUTPUT = 16 << 10 };

const char *const *judge_compiler_flags(void)
{
    static const char *const flags[] = {"-std=gnu17", "-O3",   "-march=native", "-fopenmp",
                                        "-g",         "-fPIC", "-shared",       NULL};
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

/* In a process of its own, because confinement changes the process that starts it. */
static int compile_in_child(const struct sandbox_policy *policy,
                            const struct sandbox_program *program)
{
    struct sandbox_process process;
    struct error ignored;
    int status;
    if (!sandbox_start(policy, program, &process, &ignored))
        return 120;
    alarm(COMPILE_SECONDS); /* the child dies with us */
    while (waitpid(process.pid, &status, 0) < 0 && errno == EINTR)
        ;
    process.pid = 0;
    sandbox_kill(&process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 119;
}

static char *read_output(struct arena *arena, const char *path)
{
    char *text = arena_alloc(arena, COMPILE_OUTPUT + 1);
    FILE *file = fopen(path, "rb");
    if (file) {
        text[fread(text, 1, COMPILE_OUTPUT, file)] = 0;
        fclose(file);
    }
    return text;
}

bool compile_kernel(struct arena *arena, const struct source *source, struct compiled *compiled,
                    struct error *error)
{
    *compiled = (struct compiled){0};
    char *compiler = process_find(arena, getenv("SMELT_CC") ? getenv("SMELT_CC") : "cc");
    if (!compiler) {
        error_set(error, ERROR_MISSING_TOOL, "there is no C compiler");
        error_hint(error, "apt-get install gcc");
        return false;
    }
    const char *base = getenv("TMPDIR");
    char *folder = arena_printf(arena, "%s/smelt-kernel-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(folder))
        return error_system(error, ERROR_CANNOT_WRITE, "could not make a folder in %s", base);
    compiled->directory = folder;
    const char *input = arena_printf(arena, "%s/kernel.c", folder);
    const char *said = arena_printf(arena, "%s/said", folder);
    const char *library = arena_printf(arena, "%s/kernel.so", folder);
    if (!write_source(input, source, error))
        return false;
    const char *arguments[24] = {compiler};
    int count = 1;
    for (const char *const *flag = judge_compiler_flags(); *flag; flag++)
        arguments[count++] = *flag;
    const char *const rest[] = {"-o", "kernel.so", "kernel.c", "-lm"};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        arguments[count++] = rest[i];
    const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                       arena_printf(arena, "TMPDIR=%s", folder), "LC_ALL=C", NULL};
    const char *const readable[] = {
        "/usr",      "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives",
        "/dev/null", NULL};
    const char *const writable[] = {folder, "/dev/null", NULL};
    struct sandbox_policy policy = {.layers = ~0U,
                                    .readable = readable,
                                    .writable = writable,
                                    .calls = SANDBOX_CALLS_COMPILER,
                                    .memory = (int64_t)4 << 30,
                                    .file_bytes = 256 << 20,
                                    .seconds = COMPILE_SECONDS};
    int output = open(said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct sandbox_program program = {
        .arguments = arguments, .environment = environment, .directory = folder, .output = output};
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    compiled->layers = sandbox_available();
    pid_t child = fork();
    if (child == 0)
        _exit(compile_in_child(&policy, &program));
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (output >= 0)
        close(output);
    compiled->seconds =
        (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    compiled->output = read_output(arena, said);
    if (child < 0 || !WIFEXITED(status) ||
        (WEXITSTATUS(status) >= 119 && WEXITSTATUS(status) <= 123)) {
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
            compiled->output = "the compiler did not finish in time";
            return true;
        }
        return error_set(error, ERROR_TOOL_FAILED, "the compiler could not be run");
    }
    compiled->done = WEXITSTATUS(status) == 0;
    compiled->library = library;
    return true;
}

void compiled_release(struct compiled *compiled)
{
    static const char *const names[] = {"kernel.c", "kernel.so", "said"};
    char path[4200];
    for (size_t i = 0; compiled->directory && i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", compiled->directory, names[i]);
        unlink(path);
    }
    if (compiled->directory)
        rmdir(compiled->directory);
    compiled->directory = NULL;
}
