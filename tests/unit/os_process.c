/*
 * Programs that smelt starts: what they print, how they end, and what happens when they do not.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"
#include "test.h"

static bool run(struct process_request request, struct process_result *result, struct error *error)
{
    static struct arena arena;
    *error = (struct error){0};
    return process_run(&arena, &request, result, error);
}

TEST(process_output_and_status_are_data)
{
    struct process_result result;
    struct error error;
    const char *arguments[] = {"sh", "-c", "echo out; echo err >&2; exit 7", NULL};
    CHECK(run((struct process_request){.arguments = arguments}, &result, &error));
    CHECK_INT(result.end, PROCESS_EXITED);
    CHECK_INT(result.status, 7);
    CHECK_STR(result.output, "out\nerr\n");
    CHECK_INT(result.length, 8);
    CHECK(!result.truncated);
    CHECK(!process_succeeded(&result));
}

TEST(process_arguments_pass_no_shell)
{
    struct process_result result;
    struct error error;
    const char *arguments[] = {"printf", "%s|", "a b", "$HOME", "*", "", NULL};
    CHECK(run((struct process_request){.arguments = arguments}, &result, &error));
    CHECK(process_succeeded(&result));
    CHECK_STR(result.output, "a b|$HOME|*||");
}

TEST(process_death_by_signal_is_data)
{
    struct process_result result;
    struct error error;
    const char *arguments[] = {"sh", "-c", "kill -SEGV $$", NULL};
    CHECK(run((struct process_request){.arguments = arguments}, &result, &error));
    CHECK_INT(result.end, PROCESS_SIGNALLED);
    CHECK_INT(result.status, SIGSEGV);
}

TEST(process_is_stopped_when_its_time_is_over)
{
    struct process_result result;
    struct error error;
    /* the sleep is a grandchild, which must go as well or the pipe stays open */
    const char *arguments[] = {"sh", "-c", "echo begun; sleep 50; echo never", NULL};
    double start = clock_seconds();
    CHECK(run((struct process_request){.arguments = arguments, .timeout = 0.3}, &result, &error));
    CHECK_INT(result.end, PROCESS_TIMED_OUT);
    CHECK_STR(result.output, "begun\n");
    CHECK(clock_seconds() - start < 10);
}

TEST(process_left_in_the_background_does_not_hold_us_up)
{
    struct process_result result;
    struct error error;
    const char *arguments[] = {"sh", "-c", "sleep 50 & echo done", NULL};
    double start = clock_seconds();
    CHECK(run((struct process_request){.arguments = arguments}, &result, &error));
    CHECK(process_succeeded(&result));
    CHECK_STR(result.output, "done\n");
    CHECK(clock_seconds() - start < 10);
}

TEST(process_output_stops_at_its_maximum)
{
    struct process_result result;
    struct error error;
    const char *arguments[] = {"sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo 123456789; done",
                               NULL};
    CHECK(run((struct process_request){.arguments = arguments, .output_maximum = 25}, &result,
              &error));
    CHECK(process_succeeded(&result));
    CHECK(result.truncated);
    CHECK_STR(result.output, "123456789\n123456789\n12345");
}

TEST(process_gets_the_environment_and_directory_asked_for)
{
    struct process_result result;
    struct error error;
    const char *arguments[] = {"/bin/sh", "-c", "echo $GREETING $HOME; pwd", NULL};
    const char *environment[] = {"GREETING=hello", NULL};
    struct process_request request = {
        .arguments = arguments, .environment = environment, .directory = "/"};
    CHECK(run(request, &result, &error));
    CHECK_STR(result.output, "hello\n/\n");
}

TEST(process_that_is_not_there_is_an_error)
{
    struct process_result result;
    struct error error;
    const char *absent[] = {"smelt-no-such-program", NULL};
    CHECK(!run((struct process_request){.arguments = absent}, &result, &error));
    CHECK_INT(error.code, ERROR_MISSING_TOOL);
    const char *directory[] = {"/", NULL};
    CHECK(!run((struct process_request){.arguments = directory}, &result, &error));
    CHECK_INT(error.code, ERROR_MISSING_TOOL);
    const char *fine[] = {"true", NULL};
    CHECK(!run((struct process_request){.arguments = fine, .directory = "/smelt-nowhere"}, &result,
               &error));
    CHECK(strstr(error.message, "true") != NULL);
}

TEST(process_with_an_unknown_format_is_an_error)
{
    struct arena arena = {0};
    struct process_result result;
    struct error error;
    char path[] = "/tmp/smelt-test-XXXXXX";
    CHECK(close(mkstemp(path)) == 0);
    CHECK(file_write(path, "\1\2\3\4", 4, 0700, &error));
    const char *arguments[] = {path, NULL};
    bool started = run((struct process_request){.arguments = arguments}, &result, &error);
    unlink(path);
    CHECK(!started);
    CHECK_INT(error.code, ERROR_TOOL_FAILED);
    arena_release(&arena);
}

TEST(process_find_looks_along_the_path)
{
    struct arena arena = {0};
    CHECK(process_find(&arena, "sh") != NULL);
    CHECK(process_find(&arena, "/bin/sh") != NULL);
    CHECK(process_find(&arena, "") == NULL);
    setenv("PATH", "/smelt-nowhere:/usr/bin:/bin", 1);
    const char *found = process_find(&arena, "sh");
    CHECK(found && found[0] == '/' && strstr(found, "/sh"));
    setenv("PATH", "/smelt-nowhere", 1);
    CHECK(process_find(&arena, "sh") == NULL);
    const char *own = process_own_path(&arena);
    CHECK(own && own[0] == '/' && access(own, X_OK) == 0);
    arena_release(&arena);
}

TEST(clock_goes_forward)
{
    int64_t before = clock_nanoseconds();
    usleep(2000);
    int64_t passed = clock_nanoseconds() - before;
    CHECK(passed >= 1000000);
}

TEST(library_opens_and_says_what_is_missing)
{
    struct error error = {0};
    struct library *library = library_open("libm.so.6", &error);
    CHECK(library != NULL);
    CHECK(library_symbol(library, "cos", &error) != NULL);
    CHECK(library_symbol(library, "smelt_no_such_symbol", &error) == NULL);
    CHECK_INT(error.code, ERROR_MISSING_TOOL);
    library_close(library);
    library_close(NULL);
    error = (struct error){0};
    CHECK(library_open("libsmelt-nowhere.so", &error) == NULL);
    CHECK_INT(error.code, ERROR_MISSING_TOOL);
    CHECK(strstr(error.message, "libsmelt-nowhere.so") != NULL);
    CHECK(error.detail[0] != '\0');
}
