/*
 * Whole files and smelt's own directories, and the ways in which they can be refused.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "os/os.h"
#include "test.h"

static struct arena arena;

/* A fresh directory; the tests leave nothing in it. */
static const char *fresh(void)
{
    char *path = arena_string(&arena, "/tmp/smelt-test-XXXXXX");
    CHECK(mkdtemp(path) != NULL);
    return path;
}

static const char *below(const char *directory, const char *name)
{
    return arena_printf(&arena, "%s/%s", directory, name);
}

static int entries(const char *path)
{
    int count = 0;
    DIR *directory = opendir(path);
    CHECK(directory != NULL);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count - 2;
}

TEST(file_reads_back_what_was_written)
{
    struct error error = {0};
    const char *directory = fresh(), *path = below(directory, "f");
    const char bytes[] = "one\0two\n";
    size_t length = 0;
    CHECK(file_write(path, bytes, sizeof bytes, 0640, &error));
    char *got = file_read(&arena, path, 100, &length, &error);
    CHECK(got != NULL);
    CHECK_INT(length, sizeof bytes);
    CHECK(memcmp(got, bytes, sizeof bytes) == 0);
    CHECK_INT(got[length], 0);
    struct stat status;
    CHECK(stat(path, &status) == 0);
    CHECK_INT(status.st_mode & 0777, 0640);
    CHECK(file_write(path, "", 0, 0600, &error));
    CHECK_STR(file_read(&arena, path, 0, &length, &error), "");
    CHECK_INT(length, 0);
    CHECK_INT(entries(directory), 1); /* no temporary is left */
    unlink(path);
    rmdir(directory);
}

TEST(file_longer_than_its_maximum_is_refused)
{
    struct error error = {0};
    const char *directory = fresh(), *path = below(directory, "f");
    CHECK(file_write(path, "0123456789", 10, 0600, &error));
    CHECK(file_read(&arena, path, 10, NULL, &error) != NULL);
    CHECK(file_read(&arena, path, 9, NULL, &error) == NULL);
    CHECK_INT(error.code, ERROR_CANNOT_READ);
    /* a file whose length is not known before */
    error = (struct error){0};
    CHECK(file_read(&arena, "/dev/zero", 100000, NULL, &error) == NULL);
    CHECK_INT(error.code, ERROR_CANNOT_READ);
    unlink(path);
    rmdir(directory);
}

TEST(file_without_a_known_length_is_read_whole)
{
    struct error error = {0};
    size_t length = 0;
    char *text = file_read(&arena, "/proc/self/status", 1 << 20, &length, &error);
    CHECK(text && length > 100 && strstr(text, "Pid:"));
}

TEST(file_that_cannot_be_read_or_written_says_so)
{
    struct error error = {0};
    const char *directory = fresh();
    CHECK(file_read(&arena, below(directory, "absent"), 100, NULL, &error) == NULL);
    CHECK_INT(error.code, ERROR_CANNOT_READ);
    CHECK(strstr(error.message, "No such file") != NULL);
    CHECK(file_read(&arena, directory, 100000, NULL, &error) == NULL);
    CHECK_INT(error.code, ERROR_CANNOT_READ);
    CHECK(!file_write(below(directory, "no/where"), "x", 1, 0600, &error));
    CHECK_INT(error.code, ERROR_CANNOT_WRITE);
    /* a failed write leaves neither a temporary nor half a file: the target is a directory here */
    const char *taken = below(directory, "taken");
    CHECK(mkdir(taken, 0700) == 0);
    CHECK(!file_write(taken, "x", 1, 0600, &error));
    CHECK_INT(entries(directory), 1);
    rmdir(taken);
    rmdir(directory);
}

/* What is a pipe stays one, and gets what is written. */
TEST(file_write_does_not_replace_what_is_no_file)
{
    struct error error = {0};
    struct stat status;
    char got[8] = "";
    const char *directory = fresh(), *pipe = below(directory, "pipe");
    CHECK(mkfifo(pipe, 0600) == 0);
    int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    CHECK(reader >= 0 && file_write(pipe, "words", 5, 0600, &error));
    CHECK_INT(read(reader, got, sizeof got - 1), 5);
    CHECK_STR(got, "words");
    CHECK(stat(pipe, &status) == 0 && S_ISFIFO(status.st_mode));
    CHECK_INT(entries(directory), 1);
    close(reader);
    unlink(pipe);
    rmdir(directory);
}

TEST(file_read_survives_running_out_of_memory)
{
    struct error error = {0};
    memory_fail_at(1);
    struct arena empty = {0};
    char *text = file_read(&empty, "/proc/self/status", 1 << 20, NULL, &error);
    memory_fail_at(0);
    CHECK(text == NULL);
    CHECK_INT(error.code, ERROR_OUT_OF_MEMORY);
    arena_release(&empty);
}

TEST(directory_cache_follows_the_rules)
{
    struct error error = {0};
    const char *home = fresh();
    struct stat status;
    setenv("HOME", home, 1);
    setenv("XDG_CACHE_HOME", "relative/is/ignored", 1);
    unsetenv("SMELT_CACHE");
    CHECK_STR(directory_cache(&arena, "oracle", &error), below(home, ".cache/smelt/oracle"));
    CHECK(stat(below(home, ".cache/smelt/oracle"), &status) == 0);
    CHECK_INT(status.st_mode & 0777, 0700);
    setenv("XDG_CACHE_HOME", below(home, "xdg"), 1);
    CHECK_STR(directory_cache(&arena, NULL, &error), below(home, "xdg/smelt"));
    setenv("SMELT_CACHE", below(home, "own"), 1);
    CHECK_STR(directory_cache(&arena, "oracle", &error), below(home, "own/oracle"));
    CHECK_STR(directory_cache(&arena, "oracle", &error), below(home, "own/oracle"));
    unsetenv("XDG_CONFIG_HOME");
    CHECK_STR(directory_config(&arena, NULL, &error), below(home, ".config/smelt"));
    const char *made[] = {
        ".cache/smelt/oracle", ".cache/smelt", ".cache",        "xdg/smelt", "xdg",
        "own/oracle",          "own",          ".config/smelt", ".config",   ""};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        CHECK(rmdir(below(home, made[i])) == 0);
}

TEST(directory_others_can_write_to_is_refused)
{
    struct error error = {0};
    const char *home = fresh();
    CHECK(mkdir(below(home, "oracle"), 0700) == 0);
    CHECK(chmod(below(home, "oracle"), 0777) == 0);
    setenv("SMELT_CACHE", home, 1);
    CHECK(directory_cache(&arena, "oracle", &error) == NULL);
    CHECK_INT(error.code, ERROR_CANNOT_WRITE);
    CHECK(strstr(error.hint, "SMELT_CACHE") != NULL);
    rmdir(below(home, "oracle"));
    rmdir(home);
}

TEST(directory_that_cannot_be_made_says_what_to_set)
{
    struct error error = {0};
    const char *home = fresh(), *file = below(home, "file");
    CHECK(file_write(file, "x", 1, 0600, &error));
    setenv("SMELT_CACHE", below(file, "below"), 1);
    CHECK(directory_cache(&arena, "oracle", &error) == NULL);
    CHECK_INT(error.code, ERROR_CANNOT_WRITE);
    CHECK(strstr(error.hint, "SMELT_CACHE") != NULL);
    char longer[5000];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK(!directory_make(longer, &error));
    CHECK(!directory_make("", &error));
    unlink(file);
    rmdir(home);
}
