/*
 * The cell: the small program a kernel runs in.
 *
 * Theory of operation. The judge starts this program confined and with an empty environment. It
 * maps the buffers it was given, each between pages that cannot be touched, gives up its
 * descriptors, installs a filter of system calls, and only then loads the kernel, because a shared
 * object may run code as soon as it is loaded. It stops itself once before and once after that.
 * Whenever the judge continues it, it makes the calls that are listed in the control block and
 * stops again. It is never trusted: the judge looks at the clock, at the outputs, and at nothing
 * else.
 *
 * Needs libc only.
 */
#include "cell.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

typedef int kernel_entry(void *const *tensors, const int64_t *sizes, const double *scalars,
                         void *scratch);

enum { GUARD = 1 << 20, SIGNAL_STACK = 1 << 16, SCARCE = 64 << 20 };

static const struct cell_control *control;
static struct cell_report *report;
static void *tensors[CELL_MAX_REGIONS];

_Noreturn static void give_up(const char *message)
{
    if (report) {
        snprintf(report->message, sizeof report->message, "%s", message);
        report->state = CELL_NO_KERNEL;
    }
    _exit(1);
}

/* ---- buffers ---- */

/* A stretch of a file between pages that cannot be touched. */
static char *map_stretch(uint64_t offset, uint64_t bytes, int descriptor, int protection)
{
    if (bytes == 0)
        return NULL;
    size_t length = bytes + 2 * (size_t)GUARD;
    char *reserved =
        mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED)
        give_up("no address space for the buffers");
    char *mapped = mmap(reserved + GUARD, bytes, protection, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
                        descriptor, (off_t)offset);
    if (mapped == MAP_FAILED)
        give_up("the buffers could not be mapped");
    return mapped;
}

static void map_buffers(void)
{
    enum { INPUTS = 4, OUTPUTS = 5 };
    int count = control->input_count + control->output_count + 1;
    char *inputs = NULL, *outputs = NULL;
    if (control->packed) {
        inputs = map_stretch(control->input_base, control->input_bytes, INPUTS, PROT_READ);
        outputs = map_stretch(control->output_base, control->output_bytes, OUTPUTS,
                              PROT_READ | PROT_WRITE);
    }
    for (int slot = 0; slot < control->slot_count; slot++)
        for (int i = 0; i < count; i++) {
            bool is_input = i < control->input_count;
            int number = cell_number(control, slot, i);
            const struct cell_region *region = &control->regions[number];
            char *mapped =
                control->packed
                    ? (is_input ? inputs : outputs) + region->offset
                    : map_stretch(region->offset, region->bytes, is_input ? INPUTS : OUTPUTS,
                                  is_input ? PROT_READ : PROT_READ | PROT_WRITE);
            tensors[number] = mapped ? mapped + region->data : NULL;
            report->mapped[number] = (uint64_t)(uintptr_t)mapped;
        }
}

/* ---- faults ---- */

static void on_fault(int signal, siginfo_t *information, void *context)
{
    report->signal = signal;
    report->address = (uint64_t)(uintptr_t)information->si_addr;
#if defined(__x86_64__)
    report->instruction = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    report->instruction = ((ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
#endif
    /* a kernel that asked for too much memory and did not look at the answer ends here */
    report->exhausted =
        mmap(NULL, SCARCE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
        mmap(NULL, SCARCE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
    report->state = CELL_FAULT;
    _exit(2);
}

static void catch_faults(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    stack_t stack = {.ss_size = SIGNAL_STACK};
    stack.ss_sp =
        mmap(NULL, SIGNAL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) != 0)
        give_up("no stack for signals");
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], &action, NULL) != 0)
            give_up("signals could not be caught");
}

/* ---- files ---- */

/*
 * What a kernel may be linked with is loaded before, so that afterwards no file needs to be within
 * reach but the kernel's own: a library that does the work instead cannot be opened.
 */
static void load_companions(void)
{
    static const char *const names[] = {"libm.so.6", "libmvec.so.1", "libgomp.so.1", "libomp.so.5",
                                        "libgcc_s.so.1"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
}

static void confine_files(const char *only)
{
    uint64_t reading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE;
    struct landlock_ruleset_attr attribute = {.handled_access_fs =
                                                  (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attribute, sizeof attribute, 0);
    int file = open(only, O_PATH | O_CLOEXEC);
    struct landlock_path_beneath_attr rule = {.allowed_access = reading, .parent_fd = file};
    bool good =
        ruleset >= 0 && file >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
        syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 &&
        syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    if (!good)
        give_up("files could not be put out of reach");
    close(ruleset);
    close(file);
}

/* ---- the filter ---- */

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* The lower half of an argument; both architectures store it first. */
#define LOAD_ARGUMENT(n) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, args) + 8 * (n))
#define LOAD_UPPER(n) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, args) + 8 * (n) + 4)
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), yes, no)
#define IF_LEAST(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned)(value), yes, no)
#define IF_ANY_BIT(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (unsigned)(bits), yes, no)
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define ALLOW ANSWER(SECCOMP_RET_ALLOW)
#define DENY ANSWER(SECCOMP_RET_ERRNO | EPERM)

#ifdef OWN_ARCHITECTURE
/* Allowed whatever the arguments. */
static const int free_calls[] = {
    SYS_read,
    SYS_write,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_lseek,
    SYS_pread64,
    SYS_munmap,
    SYS_brk,
    SYS_futex,
    SYS_sched_yield,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_exit,
    SYS_exit_group,
    SYS_gettid,
    SYS_getpid,
    SYS_sched_getaffinity,
    SYS_madvise,
    SYS_getrandom,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_set_tid_address,
    SYS_sysinfo,
    SYS_uname,
    SYS_getcpu,
    SYS_restart_syscall,
    SYS_mremap,
#ifdef SYS_access
    SYS_access,
#endif
#ifdef SYS_readlink
    SYS_readlink,
#endif
};

enum { FREE_COUNT = sizeof free_calls / sizeof *free_calls, RULE_MOST = 64 };

/* Allowed with the right arguments: each group begins with the number of its call loaded, and ends
 * with an answer. Returns how many were written. */
static unsigned add_rules(struct sock_filter *program)
{
    const unsigned self = (unsigned)getpid();
    const unsigned forbidden = control->makes_code ? 0 : PROT_WRITE | PROT_EXEC;
    const unsigned writing = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
    const struct sock_filter rules[] = {
        /* it stops itself: nobody else, and nothing but a stop */
        IF_EQUAL(SYS_kill, 0, 6),
        LOAD_ARGUMENT(0),
        IF_EQUAL(self, 0, 2),
        LOAD_ARGUMENT(1),
        IF_EQUAL(SIGSTOP, 1, 0),
        DENY,
        ALLOW,
        /* its threads may be signalled, but not ended, stopped or continued */
        IF_EQUAL(SYS_tgkill, 0, 9),
        LOAD_ARGUMENT(0),
        IF_EQUAL(self, 0, 5),
        LOAD_ARGUMENT(2),
        IF_EQUAL(SIGKILL, 3, 0),
        IF_LEAST(SIGTTOU + 1, 3, 0),
        IF_LEAST(SIGCONT, 1, 0),
        ALLOW,
        DENY,
        ALLOW,
        /* threads, not processes; clone3 hides its flags in memory, so libc is sent back to clone
         */
        IF_EQUAL(SYS_clone3, 0, 1),
        ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
        IF_EQUAL(SYS_clone, 0, 4),
        LOAD_ARGUMENT(0),
        IF_ANY_BIT(CLONE_THREAD, 0, 1),
        ALLOW,
        DENY,
        /* files are opened for reading */
        IF_EQUAL(SYS_openat, 0, 4),
        LOAD_ARGUMENT(2),
        IF_ANY_BIT(writing, 1, 0),
        ALLOW,
        DENY,
        /* limits are looked at, its own */
        IF_EQUAL(SYS_prlimit64, 0, 9),
        LOAD_ARGUMENT(0),
        IF_EQUAL(0, 1, 0),
        IF_EQUAL(self, 0, 4),
        LOAD_ARGUMENT(2),
        IF_EQUAL(0, 0, 2),
        LOAD_UPPER(2),
        IF_EQUAL(0, 1, 0),
        DENY,
        ALLOW,
        /* memory is writable or executable, never both, but for libraries that make code */
        IF_EQUAL(SYS_mmap, 1, 0),
        IF_EQUAL(SYS_mprotect, 0, 5),
        LOAD_ARGUMENT(2),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, forbidden),
        IF_EQUAL(PROT_WRITE | PROT_EXEC, 1, 0),
        ALLOW,
        DENY,
        DENY,
    };
    _Static_assert(sizeof rules / sizeof *rules <= RULE_MOST, "room for the rules");
    memcpy(program, rules, sizeof rules);
    return sizeof rules / sizeof *rules;
}
#endif

static bool install_filter(void)
{
#ifdef OWN_ARCHITECTURE
    struct sock_filter program[FREE_COUNT * 2 + RULE_MOST + 4] = {
        LOAD(arch), IF_EQUAL(OWN_ARCHITECTURE, 1, 0), ANSWER(SECCOMP_RET_KILL_PROCESS), LOAD(nr)};
    unsigned n = 4;
    for (unsigned i = 0; i < FREE_COUNT; i++) {
        program[n++] = (struct sock_filter)IF_EQUAL(free_calls[i], 0, 1);
        program[n++] = (struct sock_filter)ALLOW;
    }
    n += add_rules(&program[n]);
    struct sock_fprog filter = {(unsigned short)n, program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
#else
    return false;
#endif
}

/* ---- running ---- */

/* Loading an object built with -ffast-math changes how the whole process rounds: undo it. */
static void reset_arithmetic(void)
{
#if defined(__x86_64__)
    unsigned standard = 0x1f80;
    __asm__ volatile("ldmxcsr %0\n\tfninit" : : "m"(standard));
#elif defined(__aarch64__)
    uint64_t zero = 0;
    __asm__ volatile("msr fpcr, %0" : : "r"(zero));
#endif
}

/* The tile registers of AMX must be asked for, once, before the filter. */
static void request_tiles(void)
{
#if defined(__x86_64__)
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    if (syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) != 0)
        syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA); /* for lack of memory, perhaps */
#endif
}

static kernel_entry *load_kernel(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        give_up(dlerror());
    void *symbol = dlsym(library, "kernel");
    if (!symbol)
        give_up("there is no function 'kernel' in it");
    Dl_info information;
    if (dladdr(symbol, &information))
        report->base = (uint64_t)(uintptr_t)information.dli_fbase;
    kernel_entry *entry;
    memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

static void run_calls(kernel_entry *entry)
{
    int scratch = control->input_count + control->output_count;
    int64_t sizes[CELL_MAX_SIZES];
    double scalars[CELL_MAX_SCALARS];
    for (uint32_t i = 0; i < control->call_count && i < CELL_MAX_CALLS; i++) {
        void **own = &tensors[cell_number(control, control->calls[i], 0)];
        memcpy(sizes, control->sizes, sizeof sizes);
        memcpy(scalars, control->scalars, sizeof scalars);
        report->call = i;
        reset_arithmetic();
        int result = entry(own, sizes, scalars, own[scratch]);
        if (result != 0 && report->returned == 0)
            report->returned = result;
    }
}

/* Going on without having stopped would look like the kernel's doing. */
static void stop(void)
{
    while (kill(getpid(), SIGSTOP) != 0)
        ;
}

_Noreturn static void serve(const char *path)
{
    report->state = CELL_PREPARED;
    stop();
    kernel_entry *entry = load_kernel(path);
    report->state = CELL_READY;
    for (;;) {
        stop();
        report->state = CELL_RUNNING;
        run_calls(entry);
        report->state = CELL_DONE;
    }
}

int main(int count, char **arguments)
{
    void *orders = mmap(NULL, sizeof *control, PROT_READ, MAP_SHARED, 3, 0);
    void *answers = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED, 6, 0);
    if (orders == MAP_FAILED || answers == MAP_FAILED || count != 2)
        give_up("");
    control = orders;
    report = answers;
    if (control->magic != CELL_MAGIC)
        give_up("the runner and the judge are not of the same version");
    char threads[16];
    snprintf(threads, sizeof threads, "%d", control->threads);
    setenv("OMP_NUM_THREADS", threads, 1);
    setenv("OMP_DYNAMIC", "false", 1);
    request_tiles();
    map_buffers();
    catch_faults();
    for (int descriptor = 3; descriptor <= 6; descriptor++)
        close(descriptor);
    load_companions();
    if (control->confine_files)
        confine_files(arguments[1]);
    if (control->confine_calls && !install_filter())
        give_up("system calls could not be put out of reach");
    serve(arguments[1]);
}
