/*
 * The cache of compiled oracles, and what a person is told when compiling does not work.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oracle_differ.h"
#include "os/os.h"
#include "test.h"

static const char DOUBLE[] =
    "ir 1 part double { size N input x f32[N] output y f32[N] signature (x) -> (y)\n"
    "map over n < N { %0 = index n %1 = read x [%0] %2 = add f32 %1, %1 y [%0] <- %2 } }";

/* The one object in the cache. */
static const char *object_path(void)
{
    const char *directory = arena_printf(differ_arena(), "%s/oracle", differ_cache());
    const char *found = NULL;
    DIR *handle = opendir(directory);
    CHECK(handle != NULL);
    for (struct dirent *entry; (entry = readdir(handle));) {
        if (strstr(entry->d_name, ".tmp"))
            test_fail(__FILE__, __LINE__, "%s was left behind", entry->d_name);
        if (strstr(entry->d_name, ".so")) {
            CHECK(!found);
            found = arena_printf(differ_arena(), "%s/%s", directory, entry->d_name);
        }
    }
    closedir(handle);
    CHECK(found != NULL);
    return found;
}

static void check_works(struct oracle_code *code, const struct ir_program *program)
{
    struct error error = {0};
    int64_t sizes[] = {3};
    struct ir_binding *binding = ir_bind(differ_arena(), program, sizes, NULL, &error);
    CHECK(binding != NULL);
    struct array *inputs = differ_draw(binding, 5);
    inputs[0].floats[1] = 21;
    struct array output;
    CHECK(oracle_run(differ_arena(), code, binding, inputs, &output, NULL, &error));
    CHECK_INT(output.count, 3);
    CHECK_DOUBLE(output.floats[1], 42);
}

TEST(cache_keeps_what_was_compiled)
{
    const struct ir_program *program = differ_parse(DOUBLE);
    struct stat first, second;
    oracle_close(differ_compile(program));
    CHECK(stat(object_path(), &first) == 0);
    CHECK_INT(first.st_mode & 0777, 0600);
    struct oracle_code *code = differ_compile(program);
    CHECK(stat(object_path(), &second) == 0);
    CHECK_INT(first.st_ino, second.st_ino);
    check_works(code, program);
    oracle_close(code);
    oracle_close(NULL);
}

static void check_rebuilt(const char *path, const char *bytes, size_t length)
{
    struct error error = {0};
    const struct ir_program *program = differ_parse(DOUBLE);
    CHECK(file_write(path, bytes, length, 0600, &error));
    struct oracle_code *code = differ_compile(program);
    check_works(code, program);
    oracle_close(code);
    size_t now = 0;
    file_read(differ_arena(), path, 1 << 24, &now, &error);
    CHECK(now > 1000);
}

TEST(cache_that_is_damaged_is_made_again)
{
    struct error error = {0};
    size_t length = 0;
    oracle_close(differ_compile(differ_parse(DOUBLE)));
    const char *path = object_path();
    char *bytes = file_read(differ_arena(), path, 1 << 24, &length, &error);
    CHECK(bytes != NULL);
    bytes[length / 2] ^= 1; /* one bit */
    check_rebuilt(path, bytes, length);
    bytes[length / 2] ^= 1;
    check_rebuilt(path, bytes, length / 2); /* cut short */
    check_rebuilt(path, bytes, 0);
    check_rebuilt(path, "not an object at all", 20);
}

TEST(cache_serves_several_processes_at_once)
{
    enum { PROCESSES = 4 };
    const struct ir_program *program = differ_parse(DOUBLE);
    pid_t children[PROCESSES];
    differ_cache();
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) {
            check_works(differ_compile(program), program);
            _exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        CHECK_INT(status, 0);
    }
    object_path();
}

TEST(compiler_that_is_not_there_says_what_to_install)
{
    struct error error = {0};
    differ_cache();
    setenv("SMELT_CC", "smelt-no-such-compiler", 1);
    CHECK(oracle_compile(differ_arena(), differ_parse(DOUBLE), &error) == NULL);
    CHECK_INT(error.code, ERROR_MISSING_TOOL);
    CHECK(strstr(error.message, "smelt-no-such-compiler") != NULL);
    CHECK(strstr(error.hint, "install") != NULL);
}

TEST(compiler_that_fails_is_quoted)
{
    struct error error = {0};
    const char *script = arena_printf(differ_arena(), "%s/cc", differ_cache());
    static const char TEXT[] =
        "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho 'line 1: no such thing'\nexit 1\n";
    CHECK(file_write(script, TEXT, sizeof TEXT - 1, 0700, &error));
    setenv("SMELT_CC", script, 1);
    CHECK(oracle_compile(differ_arena(), differ_parse(DOUBLE), &error) == NULL);
    CHECK_INT(error.code, ERROR_TOOL_FAILED);
    CHECK(strstr(error.detail, "no such thing") != NULL);
    CHECK(strstr(error.hint, "fault of smelt") != NULL);
    setenv("SMELT_CC", "false", 1);
    CHECK(oracle_compile(differ_arena(), differ_parse(DOUBLE), &error) == NULL);
    CHECK_INT(error.code, ERROR_TOOL_FAILED);
}

TEST(compiled_form_respects_the_memory_allowed)
{
    struct error error = {0};
    const struct ir_program *program = differ_parse(DOUBLE);
    struct oracle_code *code = differ_compile(program);
    int64_t sizes[] = {1000};
    struct ir_binding *binding = ir_bind(differ_arena(), program, sizes, NULL, &error);
    struct array *inputs = differ_draw(binding, 5), output;
    struct oracle_options options = {.memory = 1000};
    CHECK(!oracle_run(differ_arena(), code, binding, inputs, &output, &options, &error));
    CHECK_INT(error.code, ERROR_OUT_OF_MEMORY);
    options.memory = 1 << 20;
    CHECK(oracle_run(differ_arena(), code, binding, inputs, &output, &options, &error));
    oracle_close(code);
}

/* clang reads the same text and gives the same bits. */
TEST(compiled_by_another_compiler_agrees)
{
    if (!process_find(differ_arena(), "clang"))
        SKIP("clang is not installed");
    setenv("SMELT_CC", "clang", 1);
    differ("ir 1 part mixed { size N size M input x f32[N, M] output y bf16[N, M] output s f16[N]\n"
           "output a f32[M] output i i32[M] signature (x) -> (y, s, a, i)\n"
           "map over n < N, m < M { %0 = index n %1 = index m %2 = read x [%0, %1]\n"
           "    %3 = tanh f32 %2 %4 = round f32 %2 %5 = mul f32 %3, %4 %6 = sqrt f32 %2\n"
           "    %7 = min f32 %5, %6 y [%0, %1] <- %7 }\n"
           "reduce sum over n < N | m < M { %0 = index n %1 = index m %2 = read x [%0, %1]\n"
           "    %3 = mul f32 %2, %2 %4 = exp f32 %3 s [%0] <- %4 }\n"
           "reduce argmax over m < M | n < N { %0 = index n %1 = index m %2 = read x [%0, %1]\n"
           "    a [%1] <- %2 i [%1] <- %0 } }",
           12, 40);
}
