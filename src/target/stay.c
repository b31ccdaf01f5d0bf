/*
 * A cell that stays: it compiles and launches one kernel after the other in one process with one
 * context of the driver, since making a context takes longer than all else. For kernels that nobody
 * suspects: what one leaves behind in this process, the next one could find. The judge says on a
 * socket what is to be done (runtime/cell.h); at the first thing that goes wrong the process ends,
 * and the judge asks a cell of the usual kind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/runner.h"

enum { SOCKET = 3 };

/* The next order and the files that come with it; ends where there is none. */
static struct cell_order take_order(int *files, int *count)
{
    struct cell_order order = {0};
    char room[CMSG_SPACE(CELL_FILES * sizeof(int))];
    struct iovec bytes = {&order, sizeof order};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    ssize_t got = recvmsg(SOCKET, &message, MSG_CMSG_CLOEXEC);
    if (got != sizeof order || order.magic != CELL_MAGIC)
        _exit(got == 0 ? STATUS_GOOD : STATUS_UNUSABLE);
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *count = 0;
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        *count = (int)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(files, CMSG_DATA(head), (size_t)*count * sizeof *files);
    }
    return order;
}

static void answer(bool good)
{
    char byte = !good;
    if (send(SOCKET, &byte, 1, MSG_NOSIGNAL) != 1)
        _exit(STATUS_UNUSABLE);
}

/* All of a file, in the arena; NULL: it cannot be read. */
static char *read_file(struct arena *arena, int file, size_t *length)
{
    struct stat status;
    if (fstat(file, &status) != 0 || status.st_size > CELL_MAX_SOURCE)
        return NULL;
    *length = (size_t)status.st_size;
    char *bytes = arena_array(arena, *length + 1, 1);
    for (size_t at = 0; at < *length;) {
        ssize_t got = pread(file, bytes + at, *length - at, (off_t)at);
        if (got <= 0)
            return NULL;
        at += (size_t)got;
    }
    bytes[*length] = 0;
    return bytes;
}

static bool compile(struct arena *arena, struct device *device, const char *architecture,
                    const int *files)
{
    struct error error = {0};
    struct target_build build;
    size_t length = 0;
    const char *text = read_file(arena, files[0], &length);
    bool done = text &&
                device->target->compile(arena, device, *architecture ? architecture : NULL, text,
                                        length, &build, &error) &&
                build.done;
    for (size_t at = 0; done && build.binary && at < build.binary_bytes;) {
        ssize_t put = pwrite(files[1], build.binary + at, build.binary_bytes - at, (off_t)at);
        done = put > 0;
        at += done ? (size_t)put : 0;
    }
    close(files[0]);
    close(files[1]);
    return done;
}

static void open_launch(struct arena *arena, struct cell *cell, const int *files)
{
    size_t length = 0;
    cell_map(cell, files);
    cell_take_memory(cell);
    cell_catch_faults(cell->report);
    const char *bytes = read_file(arena, files[CELL_FILE_OBJECT], &length);
    close(files[CELL_FILE_OBJECT]);
    if (!bytes)
        cell_give_up(cell, "the object cannot be read");
    cell_load(cell, bytes, length);
}

/* The cell is as it was, but for the device, which stays open. */
static bool close_launch(struct cell *cell)
{
    struct error error = {0};
    struct device device = cell->device;
    bool good = device.target->renew(&device, &error);
    munmap((void *)(uintptr_t)cell->inputs, cell->control->input_bytes);
    munmap(cell->outputs, cell->control->output_bytes);
    munmap((void *)(uintptr_t)cell->program, cell->program_bytes);
    munmap((void *)(uintptr_t)cell->control, sizeof *cell->control);
    cell_catch_faults(NULL);
    munmap(cell->report, sizeof *cell->report);
    free(cell->views);
    free(cell->back);
    *cell = (struct cell){.device = device};
    return good;
}

_Noreturn void stay_serve(struct arena *arena, const struct target *target)
{
    struct cell cell = {0};
    struct error error = {0};
    if (!target->open(&cell.device, &error)) {
        dprintf(STDOUT_FILENO, "%s\n", error.message);
        _exit(STATUS_UNUSABLE);
    }
    for (;;) {
        int files[CELL_FILES], count = 0;
        bool good = true;
        struct cell_order order = take_order(files, &count);
        if (order.kind == CELL_COMPILE && count == 2)
            good = compile(arena, &cell.device, order.architecture, files);
        else if (order.kind == CELL_OPEN && count == CELL_FILES && !cell.program)
            open_launch(arena, &cell, files);
        else if (order.kind == CELL_PHASE && cell.program)
            cell_serve_phase(&cell);
        else if (order.kind == CELL_CLOSE && cell.program)
            good = close_launch(&cell);
        else
            _exit(STATUS_UNUSABLE);
        if (!cell.program)
            arena_reset(arena);
        answer(good);
    }
}
