/*
 * What is the same from one judgement to the next is compiled once: the plain kernel, baselines,
 * the empty kernel. And which way to set a baseline up was the fastest is remembered.
 *
 * An object is named by the hash of all it depends on: compiler, flags, machine, source. The file
 * is the object and a line with its checksum, which loaders ignore; it appears by a rename, and a
 * damaged one is made again. The folder is the user's alone, and a cell is let near nothing in it
 * but the one object it runs. A candidate is never kept, but for devices, whose compilers are slow:
 * there what the compiler makes of a source is, by the hash of both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "judge/device.h"
#include "machine/machine.h"
#include "os/os.h"

enum { OBJECT_MAXIMUM = 64 << 20, CHOICE_MAXIMUM = 16 };

static const char seal_word[] = "smelt-sha256 ";
enum { SEAL_LENGTH = sizeof seal_word - 1 + 64 + 1 };

/* The compiler's file tells versions apart without starting it. */
static bool name_object(struct arena *arena, const struct source *source, char hex[65])
{
    struct text all = text_new(arena);
    struct machine machine;
    char signature[MACHINE_SIGNATURE];
    struct stat status;
    const char *compiler = process_find(arena, getenv("SMELT_CC") ? getenv("SMELT_CC") : "cc");
    char *real = compiler ? realpath(compiler, NULL) : NULL;
    bool good = real && stat(real, &status) == 0;
    if (good) {
        machine_describe(&machine, "");
        machine_signature(signature, &machine);
        text_printf(&all, "smelt kernel 1\n%s %lld %lld.%09ld\n", real, (long long)status.st_size,
                    (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
        for (const char *const *flag = judge_compiler_flags(); *flag; flag++)
            text_printf(&all, "%s ", *flag);
        text_printf(&all, "\n%s\n", signature);
        text_add_bytes(&all, source->text, source->length);
        sha256_hex(all.at, all.length, hex);
    }
    free(real);
    return good;
}

const char *judge_toolchain(struct arena *arena)
{
    struct text all = text_new(arena);
    struct stat status;
    char hex[65];
    const char *compiler = process_find(arena, getenv("SMELT_CC") ? getenv("SMELT_CC") : "cc");
    char *real = compiler ? realpath(compiler, NULL) : NULL;
    if (!real || stat(real, &status) != 0) {
        free(real);
        return "none";
    }
    text_printf(&all, "%s %lld", real, (long long)status.st_size);
    free(real);
    for (const char *const *flag = judge_compiler_flags(); *flag; flag++)
        text_printf(&all, " %s", *flag);
    sha256_hex(all.at, all.length, hex);
    return arena_copy(arena, hex, 8);
}

static bool object_is_whole(const char *path)
{
    struct arena arena = {0};
    size_t length = 0;
    char hex[65];
    const char *bytes =
        access(path, R_OK) == 0 ? file_read(&arena, path, OBJECT_MAXIMUM, &length, NULL) : NULL;
    bool good = bytes && length > SEAL_LENGTH;
    if (good) {
        const char *seal = bytes + length - SEAL_LENGTH;
        sha256_hex(bytes, length - SEAL_LENGTH, hex);
        good = memcmp(seal, seal_word, sizeof seal_word - 1) == 0 &&
               memcmp(seal + sizeof seal_word - 1, hex, 64) == 0;
    }
    arena_release(&arena);
    return good;
}

/* The freshly compiled object, sealed, under its name in the cache. */
static bool keep_object(const char *library, const char *path)
{
    struct arena arena = {0};
    struct error ignored;
    struct text whole = text_new(&arena);
    size_t length;
    char hex[65];
    const char *bytes = file_read(&arena, library, OBJECT_MAXIMUM, &length, NULL);
    bool good = bytes != NULL;
    if (good) {
        sha256_hex(bytes, length, hex);
        text_add_bytes(&whole, bytes, length);
        text_printf(&whole, "%s%s\n", seal_word, hex);
        good = file_write(path, whole.at, whole.length, 0600, &ignored);
    }
    arena_release(&arena);
    return good;
}

bool compile_cached(struct arena *arena, const struct source *source, struct compiled *compiled,
                    struct error *error)
{
    struct error ignored = {0};
    char hex[65];
    const char *folder = directory_cache(arena, "kernels", &ignored);
    if (!folder || device_target(source) || !name_object(arena, source, hex))
        return compile_kernel(arena, source, compiled, error); /* nowhere to keep it */
    const char *path = arena_printf(arena, "%s/%s.so", folder, hex);
    if (!object_is_whole(path)) {
        if (!compile_kernel(arena, source, compiled, error) || !compiled->done ||
            !keep_object(compiled->library, path))
            return compiled->folder.path != NULL;
        compiled_release(compiled);
        directory_trim(folder);
    }
    directory_touch(path);
    *compiled = (struct compiled){.done = true, .library = path, .output = ""};
    return true;
}

/* ---- what a device loads ---- */

static const char *binary_path(struct arena *arena, const char *name)
{
    struct error ignored = {0};
    const char *folder = directory_cache(arena, "kernels", &ignored);
    return folder ? arena_printf(arena, "%s/%s.bin", folder, name) : NULL;
}

bool binary_recall(struct arena *arena, const char *name, const char *to)
{
    struct error ignored = {0};
    size_t length = 0;
    const char *path = binary_path(arena, name);
    if (!path || !object_is_whole(path))
        return false;
    const char *bytes = file_read(arena, path, OBJECT_MAXIMUM, &length, &ignored);
    directory_touch(path);
    return bytes && file_write(to, bytes, length - SEAL_LENGTH, 0600, &ignored);
}

void binary_keep(struct arena *arena, const char *name, const char *from)
{
    struct error ignored = {0};
    const char *path = binary_path(arena, name);
    if (path && keep_object(from, path))
        directory_trim(directory_cache(arena, "kernels", &ignored));
}

/* ---- choices ---- */

static const char *choice_path(struct arena *arena, const char *question)
{
    struct error ignored = {0};
    char hex[65];
    const char *folder = directory_cache(arena, "choices", &ignored);
    sha256_hex(question, strlen(question), hex);
    return folder ? arena_printf(arena, "%s/%s", folder, hex) : NULL;
}

int choice_recall(struct arena *arena, const char *question, int count)
{
    const char *path = choice_path(arena, question);
    const char *text =
        path && access(path, R_OK) == 0 ? file_read(arena, path, CHOICE_MAXIMUM, NULL, NULL) : NULL;
    int answer = text && text[0] >= '0' && text[0] <= '9' ? atoi(text) : -1;
    return answer < count ? answer : -1;
}

void choice_keep(struct arena *arena, const char *question, int answer)
{
    struct error ignored = {0};
    char text[CHOICE_MAXIMUM];
    const char *path = choice_path(arena, question);
    snprintf(text, sizeof text, "%d\n", answer);
    if (path)
        (void)file_write(path, text, strlen(text), 0600, &ignored);
}
