/*
 * Compiling CUDA C++ by NVRTC, opened at run time. Works without a GPU, for an architecture that is
 * named. What functions take (registers, shared memory, spills) is what ptxas says about them.
 */
#include "target/cuda/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/library.h"
#include "target/cuda/api.h"

struct nvrtc {
#define DECLARE(symbol, name, arguments) int(*name) arguments;
    NVRTC_FUNCTIONS(DECLARE)
#undef DECLARE
};

static bool open_library(struct nvrtc *nvrtc, struct error *error)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                        "libnvrtc.so.11.1", "libnvrtc.so"};
    const char *chosen = getenv("SMELT_NVRTC");
    struct library *library = chosen && *chosen ? library_open(chosen, error) : NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = library_open(names[i], error);
    if (!library) {
        error_set(error, ERROR_MISSING_TOOL, "libnvrtc cannot be opened");
        error_hint(error, "install the NVRTC of the CUDA toolkit (package cuda-nvrtc), or name the "
                          "file: SMELT_NVRTC=/path/of/libnvrtc.so.12");
        return false;
    }
    bool good = true;
#define LOAD(symbol, name, arguments) \
    good = good && library_load(library, symbol, &nvrtc->name, error);
    NVRTC_FUNCTIONS(LOAD)
#undef LOAD
    return good;
}

void nvrtc_describe(char *out, size_t size)
{
    struct nvrtc nvrtc = {0};
    struct error ignored = {0};
    int major = 0, minor = 0;
    bool good = open_library(&nvrtc, &ignored) && nvrtc.version(&major, &minor) == CU_SUCCESS;
    *out = 0;
    if (good)
        snprintf(out, size, "NVRTC %d.%d", major, minor);
}

/* The number after the last `word` that ends before `end`; -1: there is none. */
static int64_t number_before(const char *line, const char *end, const char *word)
{
    const char *at = strstr(line, word);
    if (!at || at >= end)
        return -1;
    while (at > line && at[-1] == ' ')
        at--;
    while (at > line && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return strtoll(at, NULL, 10);
}

/*
 * "ptxas info    : Compiling entry function 'rows' for 'sm_90a'", then lines that say "0 bytes
 * spill stores" and "Used 24 registers, 4096 bytes smem".
 */
static void read_facts(const char *log, struct target_build *build)
{
    static const char entry[] = "Compiling entry function '";
    struct target_function_facts *facts = NULL;
    for (const char *line = log; *line;) {
        const char *end = line + strcspn(line, "\n");
        const char *name = strstr(line, entry);
        if (name && name < end && build->function_count < TARGET_MAX_FUNCTIONS) {
            name += sizeof entry - 1;
            facts = &build->functions[build->function_count++];
            *facts = (struct target_function_facts){.registers = -1, .spill_bytes = -1};
            snprintf(facts->name, sizeof facts->name, "%.*s", (int)strcspn(name, "'\n"), name);
        }
        int64_t spills = number_before(line, end, " bytes spill stores");
        int64_t registers = number_before(line, end, " registers");
        int64_t shared = number_before(line, end, " bytes smem");
        if (facts && spills >= 0)
            facts->spill_bytes = spills;
        if (facts && registers >= 0) {
            facts->registers = registers;
            facts->shared_bytes = shared > 0 ? shared : 0;
        }
        line = end + (*end != 0);
    }
}

/* Without what ptxas says about functions: that is for machines. */
static void keep_words(const char *log, struct text *out)
{
    for (const char *line = log; *line;) {
        size_t length = strcspn(line, "\n");
        if (strncmp(line, "ptxas ", 6) != 0 && strncmp(line, "    ", 4) != 0)
            text_printf(out, "%.*s\n", (int)length, line);
        line += length + (line[length] != 0);
    }
}

static const char *take_log(struct arena *arena, const struct nvrtc *nvrtc, cu_handle program)
{
    size_t size = 0;
    if (nvrtc->log_size(program, &size) != CU_SUCCESS || size == 0 || size > TARGET_MAX_LOG * 16)
        return "";
    char *log = arena_alloc(arena, size + 1);
    log[size] = 0;
    return nvrtc->log(program, log) == CU_SUCCESS ? log : "";
}

bool nvrtc_compile(struct arena *arena, const char *architecture, const char *text, size_t length,
                   struct target_build *build, struct error *error)
{
    struct nvrtc nvrtc = {0};
    cu_handle program = NULL;
    size_t size = 0;
    *build = (struct target_build){.log = text_new(arena)};
    if (!open_library(&nvrtc, error))
        return false;
    const char *source = arena_copy(arena, text, length);
    const char *const options[] = {arena_printf(arena, "--gpu-architecture=%s", architecture),
                                   "--std=c++20", "--ptxas-options=-v", "-lineinfo"};
    if (nvrtc.create(&program, source, "kernel.cu", 0, NULL, NULL) != CU_SUCCESS)
        return error_set(error, ERROR_TOOL_FAILED, "NVRTC takes no program");
    int status = nvrtc.compile(program, (int)(sizeof options / sizeof *options), options);
    const char *log = take_log(arena, &nvrtc, program);
    build->done = status == CU_SUCCESS;
    if (build->done)
        read_facts(log, build);
    keep_words(log, &build->log);
    if (build->done && nvrtc.cubin_size(program, &size) == CU_SUCCESS && size > 0) {
        char *binary = arena_alloc(arena, size);
        build->done = nvrtc.cubin(program, binary) == CU_SUCCESS;
        build->binary = binary;
        build->binary_bytes = size;
    }
    if (!build->done && build->log.length == 0)
        text_printf(&build->log, "NVRTC gives status %d for architecture %s\n", status,
                    architecture);
    nvrtc.destroy(&program);
    return true;
}
