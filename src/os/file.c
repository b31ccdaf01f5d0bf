/*
 * Reading and replacing whole files.
 */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

/* A signal may interrupt, and the system may take less than it was offered. */
static ssize_t read_fully(int file, char *to, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(file, to + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

static bool write_fully(int file, const char *from, size_t size)
{
    while (size > 0) {
        ssize_t put = write(file, from, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        from += put;
        size -= (size_t)put;
    }
    return true;
}

static bool too_long(const char *path, size_t maximum, struct error *error)
{
    error_set(error, ERROR_CANNOT_READ, "%s is longer than the %zu bytes smelt reads", path,
              maximum);
    error_hint(error, "is it the right file?");
    return false;
}

/*
 * Reads through a buffer that doubles: files below /proc claim to be empty. The buffer comes from
 * the arena before the file is opened or while nothing else is held but the descriptor in `file`.
 */
struct reading {
    struct arena *arena;
    int file;
    size_t maximum, expected;
    char *bytes;
    size_t length;
    bool failed, exceeded;
};

static void reading_run(void *context)
{
    struct reading *reading = context;
    size_t capacity = reading->expected + 1;
    reading->bytes = arena_alloc(reading->arena, capacity + 1);
    for (;;) {
        ssize_t got =
            read_fully(reading->file, reading->bytes + reading->length, capacity - reading->length);
        if (got < 0) {
            reading->failed = true;
            return;
        }
        reading->length += (size_t)got;
        if (reading->length > reading->maximum) {
            reading->exceeded = true;
            return;
        }
        if (reading->length < capacity)
            break;
        size_t larger = capacity > SIZE_MAX / 4 ? SIZE_MAX / 2 : capacity * 2;
        char *moved = arena_alloc(reading->arena, larger + 1);
        memcpy(moved, reading->bytes, reading->length);
        reading->bytes = moved;
        capacity = larger;
    }
    reading->bytes[reading->length] = '\0';
}

char *file_read(struct arena *arena, const char *path, size_t maximum, size_t *length,
                struct error *error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        error_system(error, ERROR_CANNOT_READ, "could not open %s", path);
        return NULL;
    }
    struct stat status;
    if (fstat(file, &status) != 0)
        status = (struct stat){0};
    bool regular = S_ISREG(status.st_mode);
    if (regular && (uintmax_t)status.st_size > maximum) {
        close(file);
        too_long(path, maximum, error);
        return NULL;
    }
    struct reading reading = {.arena = arena, .file = file, .maximum = maximum};
    reading.expected = regular ? (size_t)status.st_size : 0;
    if (reading.expected < 4095)
        reading.expected = 4095;
    bool enough = memory_try(reading_run, &reading);
    int reason = errno;
    close(file);
    errno = reason;
    if (!enough)
        error_set(error, ERROR_OUT_OF_MEMORY, "not enough memory to read %s", path);
    else if (reading.failed)
        error_system(error, ERROR_CANNOT_READ, "could not read %s", path);
    else if (reading.exceeded)
        too_long(path, maximum, error);
    if (!enough || reading.failed || reading.exceeded)
        return NULL;
    if (length)
        *length = reading.length;
    return reading.bytes;
}

/* So that the new name survives a crash too. Some file systems refuse; the file itself is safe. */
static void directory_flush(const char *path)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (length >= sizeof directory)
        return;
    memcpy(directory, path, length);
    directory[length] = '\0';
    int handle = open(length ? directory : slash ? "/" : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0)
        return;
    fsync(handle);
    close(handle);
}

/* Devices and pipes are written to, not replaced: /dev/null must stay what it is. */
static bool is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static bool write_special(const char *path, const void *bytes, size_t length, struct error *error)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool good = file >= 0 && write_fully(file, bytes, length);
    int reason = errno;
    if (file >= 0 && close(file) != 0 && good) {
        good = false;
        reason = errno;
    }
    errno = reason;
    return good || error_system(error, ERROR_CANNOT_WRITE, "could not write %s", path);
}

bool file_write(const char *path, const void *bytes, size_t length, unsigned mode,
                struct error *error)
{
    char temporary[PATH_MAX];
    if (is_special(path))
        return write_special(path, bytes, length, error);
    int needed = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    if (needed < 0 || (size_t)needed >= sizeof temporary) {
        errno = ENAMETOOLONG;
        return error_system(error, ERROR_CANNOT_WRITE, "could not write %s", path);
    }
    int file = mkostemp(temporary, O_CLOEXEC);
    if (file < 0)
        return error_system(error, ERROR_CANNOT_WRITE, "could not write %s", path);
    bool good = write_fully(file, bytes, length) && fchmod(file, mode) == 0 && fsync(file) == 0;
    int reason = errno;
    if (close(file) != 0 && good) {
        good = false;
        reason = errno;
    }
    if (good && rename(temporary, path) != 0) {
        good = false;
        reason = errno;
    }
    if (!good) {
        unlink(temporary);
        errno = reason;
        return error_system(error, ERROR_CANNOT_WRITE, "could not write %s", path);
    }
    directory_flush(path);
    return true;
}
