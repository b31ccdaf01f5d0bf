/*
 * smelt doctor: compilers, libraries, and smelt's own files.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "baseline/baseline.h"
#include "cmd/doctor.h"
#include "judge/launch.h"
#include "lang/lang.h"
#include "machine/machine.h"

enum { TOOL_SECONDS = 20 };

/* ---- compilers ---- */

/* What a program says, cut to its first line; NULL when it fails. */
static const char *ask(struct doctor *doctor, const char *const *arguments)
{
    struct process_request request = {
        .arguments = arguments, .timeout = TOOL_SECONDS, .output_maximum = 4096};
    struct process_result result;
    struct error ignored;
    if (!process_run(doctor->arena, &request, &result, &ignored) || !process_succeeded(&result))
        return NULL;
    result.output[strcspn(result.output, "\n")] = '\0';
    return result.output;
}

static const char tiny[] = "int smelt_doctor(int x) { return x + 1; }\n";

struct trial {
    struct doctor *doctor;
    const char *compiler;
    char *source, *object; /* the files to make */
    const char *fault;     /* NULL: it works */
};

/* Compiles a function into a shared object, loads it and calls it. */
static void try_compiler(void *context)
{
    struct trial *trial = context;
    struct error error;
    const char *const arguments[] = {trial->compiler, "-O2",         "-fPIC", "-shared", "-o",
                                     trial->object,   trial->source, NULL};
    if (!file_write(trial->source, tiny, strlen(tiny), 0600, &error)) {
        trial->fault = arena_string(trial->doctor->arena, error.message);
        return;
    }
    if (!ask(trial->doctor, arguments)) {
        trial->fault = "cannot compile a shared object";
        return;
    }
    struct library *library = library_open(trial->object, &error);
    void *symbol = library ? library_symbol(library, "smelt_doctor", &error) : NULL;
    int (*function)(int) = NULL;
    memcpy(&function, &symbol, sizeof function);
    if (!function || function(41) != 42)
        trial->fault = "what it compiles cannot be loaded";
    library_close(library);
}

/* In a folder that is gone afterwards, also when memory runs out. What is wrong, or NULL. */
static const char *try_in_folder(struct doctor *doctor, const char *compiler)
{
    struct arena *arena = doctor->arena;
    const char *base = getenv("TMPDIR");
    char *folder = arena_printf(arena, "%s/smelt-doctor-XXXXXX", base && *base ? base : "/tmp");
    size_t length = strlen(folder);
    struct trial trial = {.doctor = doctor, .compiler = compiler};
    trial.source = arena_printf(arena, "%s/tiny.c", folder);
    trial.object = arena_printf(arena, "%s/tiny.so", folder);
    if (!mkdtemp(folder))
        return arena_printf(arena, "could not make a folder in %s: %s", base ? base : "/tmp",
                            strerror(errno));
    memcpy(trial.source, folder, length);
    memcpy(trial.object, folder, length);
    bool enough = memory_try(try_compiler, &trial);
    unlink(trial.source);
    unlink(trial.object);
    rmdir(folder);
    if (!enough)
        memory_exhausted();
    return trial.fault;
}

/* True when it is there and works. */
static bool check_compiler(struct doctor *doctor, const char *name, const char *command, bool vital,
                           const char *fix)
{
    char *path = process_find(doctor->arena, command);
    enum finding_state bad = vital ? FINDING_MISSING : FINDING_GAP;
    if (!path) {
        doctor_add(doctor, "compilers", name, bad, "%s is not found", command)->fix = fix;
        return false;
    }
    const char *version = ask(doctor, (const char *const[]){path, "--version", NULL});
    const char *fault = try_in_folder(doctor, path);
    if (fault) {
        doctor_add(doctor, "compilers", name, bad, "%s: %s", path, fault)->fix = fix;
        return false;
    }
    doctor_add(doctor, "compilers", name, FINDING_OK, "%s (%s)", version ? version : "works", path);
    return true;
}

void doctor_compilers(struct doctor *doctor)
{
    const char *chosen = getenv("SMELT_CC");
    const char *gcc = doctor_install(doctor, "gcc libc6-dev", "gcc glibc-devel");
    if (chosen && *chosen)
        check_compiler(doctor, "SMELT_CC", chosen, true, "unset SMELT_CC");
    check_compiler(doctor, "cc", "cc", !(chosen && *chosen), gcc);
    check_compiler(doctor, "gcc", "gcc", false, gcc);
    check_compiler(doctor, "clang", "clang", false, doctor_install(doctor, "clang", "clang"));
}

/* ---- libraries that are opened at run time ---- */

/*
 * Loading runs code of the library's own, and starts threads in some: in a child, which is killed
 * when it takes too long. The path of what was loaded, or NULL.
 */
static const char *load_elsewhere(struct doctor *doctor, const char *name)
{
    char path[PATH_MAX] = "";
    int ends[2], status = 1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    pid_t child = fork();
    if (child == 0) {
        struct link_map *map = NULL;
        int null = open("/dev/null", O_RDWR);
        dup2(null, 1); /* some greet */
        dup2(null, 2);
        alarm(TOOL_SECONDS);
        void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
        if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map)
            _exit(1);
        size_t length = strnlen(map->l_name, sizeof path - 1);
        _exit(write(ends[1], map->l_name, length) == (ssize_t)length ? 0 : 1);
    }
    close(ends[1]);
    ssize_t length = child > 0 ? read(ends[0], path, sizeof path - 1) : 0;
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0 || length <= 0)
        return NULL;
    path[length] = '\0';
    return arena_string(doctor->arena, path);
}

const char *doctor_find_library(struct doctor *doctor, const char *const *files)
{
    const char *path = NULL;
    for (; !path && *files; files++)
        path = load_elsewhere(doctor, *files);
    return path;
}

static void check_library(struct doctor *doctor, const char *group, const char *name,
                          const char *const *files, const char *use, const char *fix)
{
    const char *path = doctor_find_library(doctor, files);
    if (path)
        doctor_add(doctor, group, name, FINDING_OK, "%s", path);
    else
        doctor_add(doctor, group, name, FINDING_GAP, "not found: %s", use)->fix = fix;
}

/* ---- optional libraries ---- */

static void check_torch(struct doctor *doctor)
{
    const char *chosen = getenv("SMELT_PYTHON"), *version;
    bool is_chosen = chosen && *chosen;
    const char *python = baseline_python(doctor->arena, &version);
    if (!python) {
        doctor_add(doctor, "libraries", "torch", FINDING_GAP,
                   "%s is not found: no comparison with PyTorch", is_chosen ? chosen : "python3")
            ->fix = is_chosen ? "unset SMELT_PYTHON" : doctor_install(doctor, "python3", "python3");
        return;
    }
    if (version)
        doctor_add(doctor, "libraries", "torch", FINDING_OK, "%s (%s)", version, python);
    else
        doctor_add(doctor, "libraries", "torch", FINDING_GAP,
                   "%s has none: no comparison with PyTorch", python)
            ->fix = arena_printf(doctor->arena, "%s -m pip install torch", python);
}

void doctor_libraries(struct doctor *doctor)
{
    static const char *const openblas[] = {"libopenblas.so.0", NULL};
    static const char *const onednn[] = {"libdnnl.so.2", NULL}; /* whose interface is known */
    check_library(doctor, "libraries", "openblas", openblas, "no comparison with OpenBLAS",
                  doctor_install(doctor, "libopenblas0", "openblas"));
    check_library(doctor, "libraries", "onednn", onednn, "no comparison with oneDNN 2",
                  doctor_install(doctor, "libdnnl2", "onednn"));
    check_torch(doctor);
}

/* ---- smelt's own files ---- */

static void check_library_folder(struct doctor *doctor)
{
    struct errors errors = errors_new(doctor->arena);
    struct lang *lang = lang_new(doctor->arena, NULL);
    struct lang_file *library = lang_library(lang, &errors);
    const char *folder = lang_library_folder(doctor->arena);
    if (library && !errors.list.count)
        doctor_add(doctor, "smelt", "library", FINDING_OK, "%zu ops in %s", lang_op_count(library),
                   folder ? folder : "?");
    else
        doctor_add(doctor, "smelt", "library", FINDING_MISSING, "%s",
                   errors.list.count ? errors.list.at[0].message : "the op library is not found")
            ->fix = "export SMELT_LIB=FOLDER   with the folder of math.op and nn.op";
}

static void check_cache(struct doctor *doctor)
{
    struct error error = {0};
    char *folder = directory_cache(doctor->arena, NULL, &error);
    char *file =
        folder ? arena_printf(doctor->arena, "%s/doctor.%ld", folder, (long)getpid()) : NULL;
    bool good = file && file_write(file, "x", 1, 0600, &error);
    if (good)
        unlink(file);
    if (good)
        doctor_add(doctor, "smelt", "cache", FINDING_OK, "%s", folder);
    else
        doctor_add(doctor, "smelt", "cache", FINDING_MISSING, "%s", error.message)->fix =
            "export SMELT_CACHE=FOLDER   with a folder of your own, mode 700";
}

static void check_rates(struct doctor *doctor)
{
    struct machine machine;
    struct rates rates;
    machine_describe(&machine, "");
    enum machine_kept kept = machine_rates_load(doctor->arena, &machine, &rates);
    if (kept == MACHINE_KEPT_GOOD)
        doctor_add(doctor, "smelt", "rates", FINDING_OK, "measured for machine %s", machine.id);
    else
        doctor_add(doctor, "smelt", "rates", FINDING_GAP, "%s: kernels are shown without floors",
                   kept == MACHINE_KEPT_NONE ? "not measured yet" : "damaged")
            ->fix = "smelt probe";
}

void doctor_own(struct doctor *doctor)
{
    check_library_folder(doctor);
    const char *cell = launch_find_runner(doctor->arena);
    if (cell)
        doctor_add(doctor, "smelt", "cell", FINDING_OK, "%s", cell);
    else
        doctor_add(doctor, "smelt", "cell", FINDING_MISSING,
                   "smelt-cell, which kernels run in, is not found beside smelt")
            ->fix = "make install";
    check_cache(doctor);
    check_rates(doctor);
}
