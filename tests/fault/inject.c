/*
 * Makes one system call of a program fail: the nth that it, its children or theirs make.
 *
 *   inject [--tools] [--few] [--seconds S] [--report FILE] N CHOICE PROGRAM ARGUMENT...
 *
 * N 0 fails nothing. CHOICE turns through the errors the call can give on a working machine: no
 * memory, no descriptors, no processes, no room, a bad disk, a signal. Calls that cannot fail are
 * not counted. Programs other than smelt and its cell (compilers) are not counted unless --tools
 * is given, and then only they are.
 *
 * The report says how many calls were counted, which one failed, and which processes were left
 * when the program ended. The exit status is the program's; 124: it did not end in S seconds and
 * all of it was killed; 125: tracing is not possible here.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT = 125, LATE = 124, MOST_TRACEES = 4096, GRACE_SECONDS = 2 };

#ifdef __x86_64__

/* ---- what can fail, and how ---- */

struct rule {
    long call;
    const char *name;
    int errors[5];
};

#define RULE(call, ...)    \
    {                      \
        SYS_##call, #call, \
        {                  \
            __VA_ARGS__    \
        }                  \
    }

static const struct rule rules[] = {
    RULE(access, EIO, ENOMEM),
    RULE(brk, ENOMEM),
    RULE(capset, EPERM),
    RULE(chdir, EIO, EACCES, ENOMEM),
    RULE(chmod, EIO, EPERM),
    RULE(clock_getres, EINVAL),
    RULE(clock_gettime, EINVAL),
    RULE(clock_nanosleep, EINTR),
    RULE(clone, EAGAIN, ENOMEM),
    RULE(clone3, EAGAIN, ENOMEM),
    RULE(close, EINTR, EIO),
    RULE(close_range, ENOMEM),
    RULE(dup, EMFILE),
    RULE(dup2, EMFILE, EINTR),
    RULE(execve, ENOMEM, EACCES, EAGAIN),
    RULE(faccessat2, EIO, ENOMEM),
    RULE(fallocate, ENOSPC, EIO, EINTR),
    RULE(fchmod, EIO, EPERM),
    RULE(fcntl, EMFILE, ENOMEM, EPERM),
    RULE(flock, EINTR, ENOLCK),
    RULE(fork, EAGAIN, ENOMEM),
    RULE(fstat, EIO, ENOMEM),
    RULE(fsync, EIO, ENOSPC),
    RULE(ftruncate, ENOSPC, EIO, EINTR),
    RULE(getcwd, ENOMEM),
    RULE(getdents64, EIO, ENOMEM),
    RULE(getrandom, EAGAIN, EINTR),
    RULE(kill, EPERM),
    RULE(landlock_add_rule, ENOMEM),
    RULE(landlock_create_ruleset, EMFILE, ENOMEM),
    RULE(landlock_restrict_self, ENOMEM, EPERM),
    RULE(memfd_create, EMFILE, ENOMEM),
    RULE(mkdir, ENOSPC, EACCES, EIO),
    RULE(mlock, ENOMEM),
    RULE(mmap, ENOMEM, EAGAIN),
    RULE(mprotect, ENOMEM),
    RULE(mremap, ENOMEM),
    RULE(munmap, ENOMEM),
    RULE(newfstatat, EIO, ENOMEM, EACCES),
    RULE(open, EMFILE, ENOMEM, EIO, EACCES),
    RULE(openat, EMFILE, ENOMEM, EIO, EACCES),
    RULE(pipe2, EMFILE, ENFILE),
    RULE(poll, EINTR, ENOMEM),
    RULE(ppoll, EINTR, ENOMEM),
    RULE(prctl, EPERM),
    RULE(pread64, EIO),
    RULE(prlimit64, EPERM),
    RULE(read, EIO, EINTR),
    RULE(readlink, EIO, ENOMEM),
    RULE(rename, ENOSPC, EIO),
    RULE(rmdir, EIO, EBUSY),
    RULE(sched_getaffinity, EPERM),
    RULE(sched_setaffinity, EPERM),
    RULE(seccomp, ENOMEM),
    RULE(setpgid, EPERM),
    RULE(sigaltstack, ENOMEM),
    RULE(unlink, EIO, EBUSY),
    RULE(unlinkat, EIO, EBUSY),
    RULE(unshare, ENOSPC, EPERM, ENOMEM),
    RULE(vfork, EAGAIN, ENOMEM),
    RULE(wait4, EINTR),
    RULE(waitid, EINTR),
    RULE(write, ENOSPC, EIO),
};

/*
 * Where in a program a call is made, told by its stack: the same depth and the same instruction are
 * taken for the same place. A place counts the first time, the second, the fourth, the eighth, so
 * that a loop of a thousand turns is not a thousand faults; with --few the first time, the second,
 * the sixteenth, the 128th.
 */
struct place {
    long call;
    unsigned long long role, instruction, stack;
    long times;
};

enum { MOST_PLACES = 1 << 15 };

static struct place places[MOST_PLACES];
static bool few;

static bool time_counts(long times)
{
    enum { EVERY_THIRD_BIT = 022222222 };
    bool power = (times & (times - 1)) == 0;
    return power && (!few || times == 1 || (times & EVERY_THIRD_BIT));
}

static bool place_counts(struct place wanted)
{
    unsigned long long hash = wanted.instruction * 0x9e3779b97f4a7c15U ^ wanted.stack * 31 ^
                              wanted.role * 7 ^ (unsigned long long)wanted.call;
    for (unsigned long long i = hash; i < hash + MOST_PLACES; i++) {
        struct place *place = &places[(i ^ i >> 32) % MOST_PLACES];
        if (place->times == 0)
            *place = wanted;
        if (place->call != wanted.call || place->role != wanted.role ||
            place->instruction != wanted.instruction || place->stack != wanted.stack)
            continue;
        place->times++;
        return time_counts(place->times);
    }
    return true;
}

static const struct rule *rule_find(long call)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].call == call)
            return &rules[i];
    return NULL;
}

/* ---- the processes ---- */

enum role { ROLE_SMELT, ROLE_CELL, ROLE_TOOL };

static const char *const role_names[] = {"smelt", "cell", "tool"};

struct tracee {
    pid_t pid;
    enum role role;
    bool failing; /* its call is the one that fails */
};

static struct tracee tracees[MOST_TRACEES];
static int tracee_count;
static pid_t main_pid;
static long counted, wanted, choice;
static bool tools, failed;
static bool begun; /* smelt is in main: before that, what fails is told by the loader */
static unsigned long long kept_argument;
static int error_given, left;
static const char *report_path = "/dev/null";
static volatile sig_atomic_t late;
static char failure[200];
static long counts[3][sizeof rules / sizeof *rules]; /* by role and rule */

static enum role role_of(pid_t pid)
{
    char path[64], program[4096];
    snprintf(path, sizeof path, "/proc/%ld/exe", (long)pid);
    ssize_t length = readlink(path, program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    const char *name = strrchr(program, '/');
    name = name ? name + 1 : program;
    if (strcmp(name, "smelt-cell") == 0)
        return ROLE_CELL;
    return strcmp(name, "smelt") == 0 || !*name ? ROLE_SMELT : ROLE_TOOL;
}

static struct tracee *tracee_find(pid_t pid)
{
    for (int i = 0; i < tracee_count; i++)
        if (tracees[i].pid == pid)
            return &tracees[i];
    if (tracee_count == MOST_TRACEES) {
        fprintf(stderr, "inject: more than %d processes\n", MOST_TRACEES);
        exit(CANNOT);
    }
    tracees[tracee_count] = (struct tracee){.pid = pid, .role = role_of(pid)};
    return &tracees[tracee_count++];
}

static void tracee_remove(pid_t pid)
{
    for (int i = 0; i < tracee_count; i++)
        if (tracees[i].pid == pid)
            tracees[i] = tracees[--tracee_count];
}

/* ---- failing a call ---- */

/* A regular file is never interrupted. */
static bool is_pipe(pid_t pid, unsigned long long descriptor)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%ld/fd/%llu", (long)pid, descriptor);
    return stat(path, &status) == 0 && S_ISFIFO(status.st_mode);
}

static int error_choose(const struct rule *rule, pid_t pid, unsigned long long first)
{
    int count = 0, errors[5];
    for (int i = 0; i < 5 && rule->errors[i]; i++)
        if (rule->call != SYS_read || rule->errors[i] != EINTR || is_pipe(pid, first))
            errors[count++] = rule->errors[i];
    return errors[choice % count];
}

/* What was given up stays given up, whatever the answer. */
static bool takes_effect(long call)
{
    return call == SYS_close;
}

/* What is said to a person is tried elsewhere, on full disks (tests/fault/run). */
static bool is_speech(const struct user_regs_struct *registers)
{
    return registers->orig_rax == SYS_write && (registers->rdi == 1 || registers->rdi == 2);
}

static void on_entry(struct tracee *tracee)
{
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, tracee->pid, NULL, &registers) != 0)
        return;
    long call = (long)registers.orig_rax;
    const struct rule *rule = rule_find(call);
    if (tracee->role == ROLE_SMELT && call == SYS_rt_sigaction)
        begun = true;
    if (tracee->role == ROLE_SMELT && !begun)
        return;
    if (!rule || is_speech(&registers))
        return;
    struct place place = {call, tracee->role, registers.rip, registers.rsp, 0};
    if (!place_counts(place))
        return;
    counts[tracee->role][rule - rules]++;
    if (++counted != wanted)
        return;
    failed = tracee->failing = true;
    error_given = error_choose(rule, tracee->pid, registers.rdi);
    snprintf(failure, sizeof failure, "failed %ld %s %s %s (%llx, %llx)\n", counted,
             role_names[tracee->role], rule->name, strerrorname_np(error_given),
             (unsigned long long)registers.rdi, (unsigned long long)registers.rsi);
    if (takes_effect(call))
        return;
    kept_argument = registers.rdi;
    if (call == SYS_brk) /* one that fails answers where the break is */
        registers.rdi = 0;
    else
        registers.orig_rax = (unsigned long long)-1;
    ptrace(PTRACE_SETREGS, tracee->pid, NULL, &registers);
}

static void on_exit_of_call(struct tracee *tracee)
{
    struct user_regs_struct registers;
    if (!tracee->failing || ptrace(PTRACE_GETREGS, tracee->pid, NULL, &registers) != 0)
        return;
    tracee->failing = false;
    if (strstr(failure, " brk ")) /* the answer is already right */
        registers.rdi = kept_argument;
    else
        registers.rax = (unsigned long long)-error_given;
    ptrace(PTRACE_SETREGS, tracee->pid, NULL, &registers);
}

/* Calls are looked at as long as one of this process may be the one. */
static void go_on(struct tracee *tracee, int signal)
{
    bool in_scope = (tracee->role == ROLE_TOOL) == tools;
    bool watched = tracee->failing || (in_scope && !failed);
    ptrace(watched ? PTRACE_SYSCALL : PTRACE_CONT, tracee->pid, NULL, (void *)(long)signal);
}

/* ---- the loop ---- */

static void on_alarm(int signal)
{
    (void)signal;
    late = 1;
}

static void kill_all(void)
{
    for (int i = 0; i < tracee_count; i++)
        kill(tracees[i].pid, SIGKILL);
}

static void on_stop(pid_t pid, int status)
{
    struct tracee *tracee = tracee_find(pid);
    int signal = WSTOPSIG(status), event = status >> 16;
    if (signal == (SIGTRAP | 0x80)) {
        struct __ptrace_syscall_info information = {0};
        ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof information, &information);
        if (information.op == PTRACE_SYSCALL_INFO_ENTRY && !failed)
            on_entry(tracee);
        else if (information.op == PTRACE_SYSCALL_INFO_EXIT)
            on_exit_of_call(tracee);
        go_on(tracee, 0);
    } else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
        ptrace(PTRACE_LISTEN, pid, NULL, NULL); /* it is stopped, and stays so */
    } else if (event) {
        if (event == PTRACE_EVENT_EXEC)
            tracee->role = role_of(pid);
        go_on(tracee, 0);
    } else {
        go_on(tracee, signal);
    }
}

static int follow_all(void)
{
    int result = -1;
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0 && errno == EINTR) {
            if (!late)
                continue;
            left = tracee_count;
            kill_all();
            if (result < 0)
                result = LATE;
            late = 0;
            alarm(1);
        } else if (pid < 0) {
            return result;
        } else if (WIFSTOPPED(status)) {
            on_stop(pid, status);
        } else {
            tracee_remove(pid);
            if (pid != main_pid || result >= 0)
                continue;
            result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            late = 0;
            alarm(GRACE_SECONDS); /* then what is left is left over */
        }
    }
}

static void write_report(void)
{
    FILE *report = fopen(report_path, "w");
    if (!report)
        return;
    fprintf(report, "calls %ld\n%s", counted, failure);
    for (int role = 0; role < 3; role++)
        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
            if (counts[role][i])
                fprintf(report, "count %s %s %ld\n", role_names[role], rules[i].name,
                        counts[role][i]);
    if (left > 0)
        fprintf(report, "left %d processes\n", left);
    fclose(report);
}

static int trace(char **arguments)
{
    main_pid = fork();
    if (main_pid == 0) {
        personality(ADDR_NO_RANDOMIZE); /* or no two launches have a place in common */
        raise(SIGSTOP);
        execv(arguments[0], arguments);
        _exit(127);
    }
    int status;
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (main_pid < 0 || waitpid(main_pid, &status, WUNTRACED) != main_pid ||
        ptrace(PTRACE_SEIZE, main_pid, NULL, (void *)options) != 0) {
        perror("inject: a process cannot be traced here");
        if (main_pid > 0)
            kill(main_pid, SIGKILL);
        return CANNOT;
    }
    tracees[tracee_count++] = (struct tracee){
        .pid = main_pid, .role = tools ? ROLE_SMELT : ROLE_TOOL}; /* out of scope before exec */
    kill(main_pid, SIGCONT);
    return follow_all();
}

int main(int count, char **arguments)
{
    unsigned seconds = 60;
    int at = 1;
    for (; at < count && arguments[at][0] == '-'; at++) {
        if (strcmp(arguments[at], "--tools") == 0)
            tools = true;
        else if (strcmp(arguments[at], "--few") == 0)
            few = true;
        else if (strcmp(arguments[at], "--seconds") == 0 && at + 1 < count)
            seconds = (unsigned)atoi(arguments[++at]);
        else if (strcmp(arguments[at], "--report") == 0 && at + 1 < count)
            report_path = arguments[++at];
    }
    if (count - at < 3) {
        fprintf(stderr,
                "inject [--tools] [--few] [--seconds S] [--report FILE] N CHOICE PROGRAM ...\n");
        return CANNOT;
    }
    wanted = atol(arguments[at]);
    choice = atol(arguments[at + 1]);
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    alarm(seconds);
    int result = trace(&arguments[at + 2]);
    write_report();
    return result;
}

#else

int main(void)
{
    fprintf(stderr, "inject: only x86-64 is known\n");
    return CANNOT;
}

#endif
