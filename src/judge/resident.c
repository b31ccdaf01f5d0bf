/*
 * The process of a driver that stays, as the judge sees it: src/target/stay.c is the other end.
 *
 * Confining a child changes its parent, so a process of ours stands between, the keeper, which does
 * nothing but wait. Workers are forked for each launch as ever and talk to the cell over a socket
 * that they inherit, since a process that is not their child they cannot stop or wait for.
 */
#include "judge/resident.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

enum {
    MOST_LAUNCHES = 256, /* then a new one: drivers leak */
    MOST_FAILURES = 8    /* a driver that is asked by many at once may refuse now and then */
};

/* ---- starting and ending ---- */

_Noreturn static void keep(const struct sandbox_policy *policy,
                           const struct sandbox_program *program, int leash, int socket)
{
    struct sandbox_process process;
    struct error error = {0};
    bool started = sandbox_start(policy, program, &process, &error);
    close(socket); /* or whoever waits for the cell would not see it end */
    if (started && write(leash, &process.layers, sizeof process.layers) > 0)
        for (char byte; read(leash, &byte, 1) < 0 && errno == EINTR;)
            ;
    if (started)
        sandbox_kill(&process);
    _exit(0);
}

static bool start(struct judge_resident *resident, const struct target *target)
{
    struct error error = {0};
    struct folder folder;
    int leash[2] = {-1, -1}, socket[2] = {-1, -1};
    const char *runner = device_find_runner(&resident->arena, &error);
    if (!runner || !folder_make(&resident->arena, &folder, &error))
        return false;
    resident->target = target;
    resident->folder = folder.path;
    resident->folder_lock = folder.lock;
    resident->leash = resident->socket = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socket) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, leash) != 0)
        return false;
    const char *const arguments[] = {runner, "stay", target->name, NULL};
    struct sandbox_policy policy = {
        .layers = ~0U & ~target->without,
        .readable = device_readable(&resident->arena, target, runner, folder.path),
        .writable = device_writable(&resident->arena, target, folder.path),
        .moves_files = true,
        .calls = SANDBOX_CALLS_DEVICE,
        .file_bytes = 256 << 20};
    struct sandbox_program program = {.arguments = arguments,
                                      .environment =
                                          device_environment(&resident->arena, folder.path),
                                      .directory = folder.path,
                                      .descriptors = &socket[1],
                                      .descriptor_count = 1,
                                      .output = -1};
    pid_t self = getpid();
    sandbox_available(); /* found out once, here */
    resident->keeper = fork();
    if (resident->keeper == 0) {
        sandbox_follow(self);
        close(leash[0]);
        close(socket[0]);
        keep(&policy, &program, leash[1], socket[1]);
    }
    close(leash[1]);
    close(socket[1]);
    resident->leash = leash[0];
    resident->socket = socket[0];
    return resident->keeper > 0 &&
           read(leash[0], &resident->layers, sizeof resident->layers) == sizeof resident->layers;
}

void judge_resident_release(struct judge_resident *resident)
{
    int failures = resident->failures, status;
    if (resident->target) {
        struct folder folder = {resident->folder, resident->folder_lock};
        if (resident->leash >= 0)
            close(resident->leash);
        if (resident->socket >= 0)
            close(resident->socket);
        while (resident->keeper > 0 && waitpid(resident->keeper, &status, 0) < 0 && errno == EINTR)
            ;
        folder_remove(&folder);
    }
    arena_release(&resident->arena);
    *resident = (struct judge_resident){.failures = failures};
}

bool resident_ready(struct judge_resident *resident, const struct target *target)
{
    if (resident->target != target || resident->launches >= MOST_LAUNCHES)
        judge_resident_release(resident);
    if (resident->target)
        return true;
    if (resident->failures >= MOST_FAILURES || !target->renew)
        return false;
    if (start(resident, target))
        return true;
    resident_drop(resident);
    return false;
}

void resident_drop(struct judge_resident *resident)
{
    resident->failures = resident->worked ? 0 : resident->failures + 1;
    judge_resident_release(resident);
}

/* ---- orders ---- */

static bool order(const struct judge_resident *resident, enum cell_order_kind kind,
                  const char *architecture, const int *files, int count)
{
    struct cell_order asked = {.magic = CELL_MAGIC, .kind = kind};
    char room[CMSG_SPACE(CELL_FILES * sizeof(int))] = {0};
    struct iovec bytes = {&asked, sizeof asked};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
    size_t length = (size_t)count * sizeof *files;
    snprintf(asked.architecture, sizeof asked.architecture, "%s", architecture);
    if (count > 0) {
        message.msg_control = room;
        message.msg_controllen = CMSG_SPACE(length);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        *head = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(length)};
        memcpy(CMSG_DATA(head), files, length);
    }
    return sendmsg(resident->socket, &message, MSG_NOSIGNAL) == sizeof asked;
}

/* STOPPED: it is done, and all was well. */
static enum waited await(const struct judge_resident *resident, double seconds)
{
    struct pollfd end = {.fd = resident->socket, .events = POLLIN};
    char byte = 1;
    int ready = poll(&end, 1, (int)(1000 * seconds));
    if (ready == 0)
        return WAITED_TOO_LONG;
    return ready > 0 && read(resident->socket, &byte, 1) == 1 && byte == 0 ? WAITED_STOPPED
                                                                           : WAITED_ENDED;
}

bool resident_compile(struct judge_resident *resident, const struct compiled *compiled,
                      double seconds)
{
    const struct target *target = compiled->target;
    if (!resident_ready(resident, target))
        return false;
    int folder = open(compiled->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool binary = strcmp(target->source, target->object) != 0;
    int files[] = {openat(folder, target->source, O_RDONLY | O_CLOEXEC),
                   binary ? openat(folder, target->object, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)
                          : open("/dev/null", O_WRONLY | O_CLOEXEC)};
    bool good = files[0] >= 0 && files[1] >= 0 &&
                order(resident, CELL_COMPILE, compiled->architecture, files, 2) &&
                await(resident, seconds) == WAITED_STOPPED;
    for (int i = 0; i < 2; i++)
        if (files[i] >= 0)
            close(files[i]);
    close(folder);
    resident->worked |= good;
    if (!good)
        resident_drop(resident);
    return good;
}

bool resident_open(struct worker *worker)
{
    const struct launch *launch = worker->launch;
    int files[CELL_FILES];
    char *program =
        worker_make_file(&worker->descriptors[CELL_FILE_PROGRAM], launch->device->bytes, true);
    if (!program)
        return worker_fail(worker, OUTCOME_JUDGE_FAULT, "no memory for the launches");
    memcpy(program, launch->device->program, launch->device->bytes);
    worker->program = (struct cell_program *)(void *)program;
    memcpy(files, worker->descriptors, sizeof worker->descriptors);
    files[CELL_FILE_OBJECT] = open(launch->library, O_RDONLY | O_CLOEXEC);
    worker->result->kept = true;
    worker->result->layers = launch->resident->layers;
    bool good = files[CELL_FILE_OBJECT] >= 0 &&
                order(launch->resident, CELL_OPEN, "", files, CELL_FILES) &&
                await(launch->resident, launch->seconds + LOAD_SECONDS) == WAITED_STOPPED;
    return good || worker_fail(worker, OUTCOME_LAUNCH_ERROR, "the kernel could not be loaded");
}

enum waited resident_continue(struct worker *worker, double seconds)
{
    const struct judge_resident *resident = worker->launch->resident;
    return order(resident, CELL_PHASE, "", NULL, 0) ? await(resident, seconds) : WAITED_ENDED;
}

bool resident_close(struct worker *worker)
{
    const struct judge_resident *resident = worker->launch->resident;
    return order(resident, CELL_CLOSE, "", NULL, 0) &&
           await(resident, LOAD_SECONDS) == WAITED_STOPPED;
}
