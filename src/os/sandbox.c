/*
 * Confinement, layer by layer. See sandbox.h.
 *
 * The order matters. The caller makes the namespaces for its children (unshare) and forks the init
 * of the process namespace, which only sleeps: a program that is itself pid 1 cannot be stopped by
 * a signal of its own. Then it forks the program, which gives up the rest from the inside:
 * descriptors, limits, files, privileges, system calls; and only then runs.
 */
#include "os/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/seccomp.h"

/* ---- levels and names ---- */

static const struct {
    unsigned layer;
    const char *name;
} layer_names[] = {{SANDBOX_LIMITS, "limits"},     {SANDBOX_PRIVILEGES, "privileges"},
                   {SANDBOX_USER, "user"},         {SANDBOX_PID, "pid"},
                   {SANDBOX_NET, "net"},           {SANDBOX_IPC, "ipc"},
                   {SANDBOX_LANDLOCK, "landlock"}, {SANDBOX_SECCOMP, "seccomp"}};

enum {
    LAYER_COUNT = sizeof layer_names / sizeof *layer_names,
    LAYERS_NAMESPACES = SANDBOX_USER | SANDBOX_PID | SANDBOX_NET | SANDBOX_IPC,
};

bool sandbox_level_parse(const char *name, enum sandbox_level *level)
{
    static const char *const names[] = {"none", "basic", "strong", "full"};
    for (int i = 0; i < 4; i++)
        if (strcmp(names[i], name) == 0) {
            *level = (enum sandbox_level)i;
            return true;
        }
    return false;
}

unsigned sandbox_level_layers(enum sandbox_level level)
{
    unsigned layers = 0;
    if (level >= SANDBOX_BASIC)
        layers |= SANDBOX_LIMITS | SANDBOX_PRIVILEGES | SANDBOX_SECCOMP;
    if (level >= SANDBOX_STRONG)
        layers |= SANDBOX_LANDLOCK;
    if (level >= SANDBOX_FULL)
        layers |= LAYERS_NAMESPACES;
    return layers;
}

void sandbox_print_layers(struct text *out, unsigned layers)
{
    bool first = true;
    for (int i = 0; i < LAYER_COUNT; i++)
        if (layers & layer_names[i].layer) {
            text_printf(out, "%s%s", first ? "" : " ", layer_names[i].name);
            first = false;
        }
    if (first)
        text_add(out, "none");
}

/* ---- inside the program's process, before it runs ---- */

static bool set_limit(int resource, rlim_t value)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return false;
    if (limit.rlim_max != RLIM_INFINITY && value > limit.rlim_max)
        value = limit.rlim_max;
    limit = (struct rlimit){value, value};
    return setrlimit(resource, &limit) == 0;
}

static bool apply_limits(const struct sandbox_policy *policy)
{
    bool good = set_limit(RLIMIT_CORE, 0) && set_limit(RLIMIT_FSIZE, (rlim_t)policy->file_bytes) &&
                set_limit(RLIMIT_NOFILE, 64) && set_limit(RLIMIT_MEMLOCK, 0) &&
                set_limit(RLIMIT_MSGQUEUE, 0);
    if (policy->stack > 0)
        good = good && set_limit(RLIMIT_STACK, (rlim_t)policy->stack);
    if (policy->memory > 0)
        good = good && set_limit(RLIMIT_AS, (rlim_t)policy->memory);
    if (policy->seconds > 0)
        good = good && set_limit(RLIMIT_CPU, (rlim_t)policy->seconds);
    if (policy->processes > 0)
        good = good && set_limit(RLIMIT_NPROC, (rlim_t)policy->processes);
    return good;
}

static bool landlock_allow(int ruleset, const char *path, uint64_t access)
{
    int descriptor = open(path, O_PATH | O_CLOEXEC);
    if (descriptor < 0)
        return errno == ENOENT; /* what is not there need not be allowed */
    struct stat status;
    if (fstat(descriptor, &status) == 0 && !S_ISDIR(status.st_mode))
        access &= LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                  LANDLOCK_ACCESS_FS_WRITE_FILE;
    struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = descriptor};
    bool good = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    close(descriptor);
    return good;
}

static int landlock_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version < 0 ? 0 : (int)version;
}

/* Every right that exists is handled, so what is not allowed below is denied. */
static bool apply_landlock(const struct sandbox_policy *policy)
{
    uint64_t all = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
    uint64_t refer = LANDLOCK_ACCESS_FS_MAKE_SYM << 1, cut = LANDLOCK_ACCESS_FS_MAKE_SYM << 2;
    int version = landlock_version();
    if (version < 1)
        return false;
    if (version >= 2)
        all |= refer;
    if (version >= 3)
        all |= cut;
    struct landlock_ruleset_attr attribute = {.handled_access_fs = all};
    long ruleset = syscall(SYS_landlock_create_ruleset, &attribute, sizeof attribute, 0);
    if (ruleset < 0)
        return false;
    uint64_t reading =
        LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
    bool good = true;
    for (int i = 0; good && policy->readable && policy->readable[i]; i++)
        good = landlock_allow((int)ruleset, policy->readable[i], reading);
    for (int i = 0; good && policy->writable && policy->writable[i]; i++)
        good = landlock_allow((int)ruleset, policy->writable[i],
                              policy->moves_files ? all : all & ~refer);
    good = good && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    close((int)ruleset);
    return good;
}

static bool apply_privileges(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}, {0}};
    /* the bounding set first: it needs a capability that is about to go */
    for (int capability = 0; capability <= 63; capability++)
        if (prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1)
            prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_capset, &header, none) == 0;
}

/* Descriptors 0, 1, 2 and then the given ones from 3 on; all others are closed. */
static bool arrange_descriptors(const struct sandbox_program *program)
{
    enum { HIGH = 100 };
    int null = open("/dev/null", O_RDWR);
    if (null < 0)
        return false;
    int output = program->output >= 0 ? program->output : null;
    int high[16];
    if (program->descriptor_count > 16)
        return false;
    /* out of the way first, so that none overwrites another */
    int kept_output = fcntl(output, F_DUPFD, HIGH), kept_null = fcntl(null, F_DUPFD, HIGH);
    for (int i = 0; i < program->descriptor_count; i++)
        high[i] = fcntl(program->descriptors[i], F_DUPFD, HIGH);
    if (dup2(kept_null, 0) < 0 || dup2(kept_output, 1) < 0 || dup2(kept_output, 2) < 0)
        return false;
    for (int i = 0; i < program->descriptor_count; i++)
        if (high[i] < 0 || dup2(high[i], 3 + i) < 0)
            return false;
    return syscall(SYS_close_range, 3 + program->descriptor_count, ~0U, 0) == 0;
}

static bool wants(const struct sandbox_policy *policy, unsigned available, unsigned layer)
{
    return policy->layers & available & layer;
}

/* Exit codes of a child that did not come to run the program. */
enum { FAILED_DESCRIPTORS = 121, FAILED_LAYER = 122, FAILED_RUN = 123 };

static bool write_text(const char *path, const char *text)
{
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    bool good = write(descriptor, text, strlen(text)) == (ssize_t)strlen(text);
    close(descriptor);
    return good;
}

/*
 * A child that dies with its parent. A parent that was gone before the child said so is seen by
 * the pipe that only it holds open for writing.
 */
static void follow(const int *leash)
{
    struct pollfd end = {.fd = leash[0], .events = POLLIN};
    int gone = -1;
    close(leash[1]);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        _exit(FAILED_RUN);
    for (int tries = 0; gone < 0 && tries < 3; tries++)
        gone = poll(&end, 1, 0);
    if (gone != 0)
        _exit(FAILED_RUN);
}

void sandbox_follow(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(FAILED_RUN);
}

_Noreturn static void run_confined(const struct sandbox_policy *policy,
                                   const struct sandbox_program *program, unsigned available,
                                   const int *leash)
{
    static char *const nothing[] = {NULL};
    follow(leash);
    setpgid(0, 0);
    prctl(PR_SET_DUMPABLE, 1);                      /* or what is ours in /proc cannot be written */
    write_text("/proc/self/oom_score_adj", "1000"); /* when memory runs out it goes first */
    prctl(PR_SET_DUMPABLE, 0);
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int signal = 1; signal < 32; signal++)
        sigaction(signal, &standard, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (!arrange_descriptors(program) || chdir(program->directory ? program->directory : "/") != 0)
        _exit(FAILED_DESCRIPTORS);
    if ((wants(policy, available, SANDBOX_LIMITS) && !apply_limits(policy)) ||
        (wants(policy, available, SANDBOX_LANDLOCK) && !apply_landlock(policy)) ||
        (wants(policy, available, SANDBOX_PRIVILEGES) && !apply_privileges()) ||
        (wants(policy, available, SANDBOX_SECCOMP) && policy->calls != SANDBOX_CALLS_ALL &&
         !seccomp_for_compiler(policy->calls == SANDBOX_CALLS_DEVICE)))
        _exit(FAILED_LAYER);
    execve(program->arguments[0], (char *const *)program->arguments,
           program->environment ? (char *const *)program->environment : nothing);
    _exit(FAILED_RUN);
}

/* ---- namespaces ---- */

/*
 * A user namespace in which we are who we were: compilers fail without a map. Half of it is worse
 * than nothing: whoever is nobody inside cannot read files of its own any more.
 */
enum entered { ENTERED, ENTERED_NOT, ENTERED_HALF };

static enum entered enter_user_namespace(void)
{
    char map[64];
    uid_t user = geteuid();
    gid_t group = getegid();
    if (unshare(CLONE_NEWUSER) != 0)
        return ENTERED_NOT;
    write_text("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1\n", (unsigned)user, (unsigned)user);
    if (!write_text("/proc/self/uid_map", map))
        return ENTERED_HALF;
    snprintf(map, sizeof map, "%u %u 1\n", (unsigned)group, (unsigned)group);
    return write_text("/proc/self/gid_map", map) ? ENTERED : ENTERED_HALF;
}

/* Those that could be entered; false when none should be used, because one is half made. */
static bool enter_namespaces(unsigned layers, unsigned *which)
{
    unsigned entered = 0;
    enum entered user = layers & SANDBOX_USER ? enter_user_namespace() : ENTERED_NOT;
    if (user == ENTERED)
        entered |= SANDBOX_USER;
    if ((layers & SANDBOX_NET) && unshare(CLONE_NEWNET) == 0)
        entered |= SANDBOX_NET;
    if ((layers & SANDBOX_IPC) && unshare(CLONE_NEWIPC) == 0)
        entered |= SANDBOX_IPC;
    if ((layers & SANDBOX_PID) && unshare(CLONE_NEWPID) == 0)
        entered |= SANDBOX_PID;
    *which = entered;
    return user != ENTERED_HALF;
}

/* ---- what the host offers ---- */

/* What fails once for lack of memory or processes is not taken for a layer that is not there. */
static bool child_succeeds(bool (*attempt)(void), int tries)
{
    pid_t child = fork();
    if (child == 0)
        _exit(attempt() ? 0 : 1);
    int status = 1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    bool good = child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return good || (tries > 1 && child_succeeds(attempt, tries - 1));
}

static bool try_user(void)
{
    return enter_user_namespace() == ENTERED;
}
/* The others are tried the way they will be used: behind a user namespace where there is one. */
static bool try_flag(int flag)
{
    enter_user_namespace();
    return unshare(flag) == 0;
}
static bool try_pid(void)
{
    return try_flag(CLONE_NEWPID);
}
static bool try_net(void)
{
    return try_flag(CLONE_NEWNET);
}
static bool try_ipc(void)
{
    return try_flag(CLONE_NEWIPC);
}
static bool try_landlock(void)
{
    static const char *const readable[] = {"/", NULL};
    struct sandbox_policy policy = {.readable = readable};
    return apply_landlock(&policy);
}
static bool try_seccomp(void)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && seccomp_for_compiler(false);
}

/* SMELT_SANDBOX_WITHOUT="user pid": as if the host did not offer these. */
static unsigned left_out(void)
{
    const char *names = getenv("SMELT_SANDBOX_WITHOUT");
    unsigned layers = 0;
    for (size_t length; names && *names; names += length) {
        names += strspn(names, " ,");
        length = strcspn(names, " ,");
        for (int i = 0; i < LAYER_COUNT; i++)
            if (length == strlen(layer_names[i].name) &&
                strncmp(names, layer_names[i].name, length) == 0)
                layers |= layer_names[i].layer;
    }
    return layers;
}

unsigned sandbox_available(void)
{
    static unsigned known;
    if (known)
        return known;
    unsigned layers = SANDBOX_LIMITS | SANDBOX_PRIVILEGES;
    layers |= child_succeeds(try_user, 2) ? SANDBOX_USER : 0;
    layers |= child_succeeds(try_pid, 2) ? SANDBOX_PID : 0;
    layers |= child_succeeds(try_net, 2) ? SANDBOX_NET : 0;
    layers |= child_succeeds(try_ipc, 2) ? SANDBOX_IPC : 0;
    layers |= child_succeeds(try_landlock, 2) ? SANDBOX_LANDLOCK : 0;
    layers |= child_succeeds(try_seccomp, 2) ? SANDBOX_SECCOMP : 0;
    return known = layers & ~left_out();
}

/* ---- starting and ending ---- */

bool sandbox_hide(void)
{
    sandbox_available(); /* finding out writes files of ours in /proc */
    bool was_open = prctl(PR_GET_DUMPABLE) == 1;
    prctl(PR_SET_DUMPABLE, 0);
    return was_open;
}

void sandbox_show(bool open)
{
    if (open)
        prctl(PR_SET_DUMPABLE, 1);
}

static pid_t start_init(const int *leash)
{
    pid_t init = fork();
    if (init != 0)
        return init;
    follow(leash);
    syscall(SYS_close_range, 0U, ~0U, 0);
    for (;;)
        pause();
}

/* Waiting for something that was not killed would be for ever: it is tried more than once. */
static void kill_surely(pid_t pid)
{
    for (int i = 0; i < 3; i++)
        if (kill(pid, SIGKILL) == 0 || errno == ESRCH)
            return;
}

static void kill_program(struct sandbox_process *process)
{
    int status;
    if (process->pid > 0) {
        kill(-process->pid, SIGKILL);
        kill_surely(process->pid);
        while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    process->pid = 0;
}

static bool start_processes(const struct sandbox_policy *policy,
                            const struct sandbox_program *program, unsigned available,
                            struct sandbox_process *process)
{
    int leash[2];
    if (pipe2(leash, O_CLOEXEC) != 0)
        return false;
    if ((process->layers & SANDBOX_PID) && process->init == 0)
        process->init = start_init(leash);
    /* the child changes nothing in memory that matters here, and a caller with gigabytes of it
     * should not pay for a copy of its page tables */
    pid_t child = process->init < 0 ? -1 : vfork();
    if (child == 0)
        run_confined(policy, program, available, leash);
    process->pid = child;
    if (process->pid > 0)
        setpgid(process->pid, process->pid);
    int reason = errno;
    close(leash[0]);
    process->leash = leash[1];
    errno = reason;
    return process->pid > 0;
}

bool sandbox_start(const struct sandbox_policy *policy, const struct sandbox_program *program,
                   struct sandbox_process *process, struct error *error)
{
    unsigned available = sandbox_available();
    *process = (struct sandbox_process){0};
    prctl(PR_SET_DUMPABLE, 1); /* or the maps of a namespace cannot be written */
    unsigned namespaces = 0;
    bool whole = enter_namespaces(policy->layers & available & LAYERS_NAMESPACES, &namespaces);
    prctl(PR_SET_DUMPABLE, 0); /* our memory is no file for a program of the same user */
    process->layers = (policy->layers & available & ~LAYERS_NAMESPACES) | namespaces;
    if (whole && start_processes(policy, program, available, process))
        return true;
    error_system(error, ERROR_TOOL_FAILED, "could not start a confined process");
    sandbox_kill(process);
    return false;
}

bool sandbox_is_whole(const struct sandbox_process *process)
{
    siginfo_t information = {0};
    return process->init <= 0 ||
           (waitid(P_PID, (id_t)process->init, &information, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            information.si_pid == 0);
}

bool sandbox_again(const struct sandbox_policy *policy, const struct sandbox_program *program,
                   struct sandbox_process *process, struct error *error)
{
    int leash = process->leash;
    process->leash = 0;
    kill_program(process);
    bool good = start_processes(policy, program, sandbox_available(), process);
    if (leash > 0)
        close(leash);
    return good ||
           error_system(error, ERROR_TOOL_FAILED, "could not start another confined process");
}

void sandbox_kill(struct sandbox_process *process)
{
    int status;
    kill_program(process);
    if (process->init > 0) { /* takes everything left in the namespace with it */
        kill_surely(process->init);
        /* and waits until that is reaped, by us where a program made itself a sister */
        for (pid_t ended = 0; ended != process->init && (ended >= 0 || errno == EINTR);)
            ended = waitpid(-1, &status, __WALL);
    }
    if (process->leash > 0)
        close(process->leash);
    process->pid = process->init = process->leash = 0;
}
