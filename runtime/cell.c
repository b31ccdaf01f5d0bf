/*
 * The cell: the small program a kernel runs in.
 *
 * Theory of operation. The judge starts this program confined and with an empty environment. It
 * maps the buffers it was given, each between pages that cannot be touched, gives up its
 * descriptors, installs a filter of system calls, and only then loads the kernel, because a shared
 * object may run code as soon as it is loaded. Then it stops itself. Whenever the judge continues
 * it, it makes the calls that are listed in the control block and stops again. It is never trusted:
 * the judge looks at the clock, at the outputs, and at nothing else.
 *
 * Needs libc only.
 */
#include "cell.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
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

enum { GUARD = 1 << 20, SIGNAL_STACK = 1 << 16 };

static struct cell_control *control;
static void *tensors[CELL_MAX_SLOTS][CELL_MAX_TENSORS + 1];

_Noreturn static void give_up(const char *message)
{
    if (control) {
        snprintf(control->message, sizeof control->message, "%s", message);
        control->state = CELL_NO_KERNEL;
    }
    _exit(1);
}

/* ---- buffers ---- */

static void *map_region(const struct cell_region *region, int descriptor, int protection)
{
    if (region->bytes == 0)
        return NULL;
    size_t length = region->bytes + 2 * (size_t)GUARD;
    char *reserved =
        mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED)
        give_up("no address space for the buffers");
    char *mapped = mmap(reserved + GUARD, region->bytes, protection,
                        MAP_SHARED | MAP_FIXED | MAP_POPULATE, descriptor, (off_t)region->offset);
    if (mapped == MAP_FAILED)
        give_up("the buffers could not be mapped");
    return mapped;
}

static void map_buffers(void)
{
    int count = control->input_count + control->output_count + 1;
    for (int slot = 0; slot < control->slot_count; slot++)
        for (int i = 0; i < count; i++) {
            bool is_input = i < control->input_count;
            const struct cell_region *region = &control->regions[slot][i];
            char *mapped =
                map_region(region, is_input ? 4 : 5, is_input ? PROT_READ : PROT_READ | PROT_WRITE);
            tensors[slot][i] = mapped ? mapped + region->data : NULL;
            control->mapped[slot][i] = (uint64_t)(uintptr_t)mapped;
        }
}

/* ---- faults ---- */

static void on_fault(int signal, siginfo_t *information, void *context)
{
    control->signal = signal;
    control->address = (uint64_t)(uintptr_t)information->si_addr;
#if defined(__x86_64__)
    control->instruction = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    control->instruction = ((ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
#endif
    control->state = CELL_FAULT;
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
        sigaction(signals[i], &action, NULL);
}

/* ---- the filter ---- */

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_ARGUMENT(n) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, args) + 8 * (n))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define DENY ANSWER(SECCOMP_RET_ERRNO | EPERM)

static bool install_filter(void)
{
#ifdef OWN_ARCHITECTURE
    static const int allowed[] = {
        SYS_read,
        SYS_write,
        SYS_openat,
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
        SYS_sched_setaffinity,
        SYS_madvise,
        SYS_getrandom,
        SYS_clock_gettime,
        SYS_clock_nanosleep,
        SYS_nanosleep,
        SYS_prlimit64,
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
    enum { COUNT = sizeof allowed / sizeof *allowed };
    const unsigned self = (unsigned)getpid();
    struct sock_filter program[COUNT * 2 + 48];
    unsigned n = 0;
#define ADD(...) program[n++] = (struct sock_filter)__VA_ARGS__
    ADD(LOAD(arch));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0));
    ADD(ANSWER(SECCOMP_RET_KILL_PROCESS));
    ADD(LOAD(nr));
    for (unsigned i = 0; i < COUNT; i++) {
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1));
        ADD(ANSWER(SECCOMP_RET_ALLOW));
    }
    /* a signal only to oneself: this is how the cell stops */
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kill, 1, 0));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 4));
    ADD(LOAD_ARGUMENT(0));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 0, 1));
    ADD(ANSWER(SECCOMP_RET_ALLOW));
    ADD(DENY);
    /* threads, not processes; clone3 hides its flags in memory, so libc is sent back to clone */
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1));
    ADD(ANSWER(SECCOMP_RET_ERRNO | ENOSYS));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
    ADD(LOAD_ARGUMENT(0));
    ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1));
    ADD(ANSWER(SECCOMP_RET_ALLOW));
    ADD(DENY);
    /* memory is writable or executable, never both */
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 5));
    ADD(LOAD_ARGUMENT(2));
    ADD(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_WRITE | PROT_EXEC, 1, 0));
    ADD(ANSWER(SECCOMP_RET_ALLOW));
    ADD(DENY);
    ADD(DENY);
#undef ADD
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
    syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA);
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
        control->base = (uint64_t)(uintptr_t)information.dli_fbase;
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
        unsigned slot = control->calls[i] % CELL_MAX_SLOTS;
        memcpy(sizes, control->sizes, sizeof sizes);
        memcpy(scalars, control->scalars, sizeof scalars);
        control->call = i;
        reset_arithmetic();
        int result = entry(tensors[slot], sizes, scalars, tensors[slot][scratch]);
        if (result != 0 && control->returned == 0)
            control->returned = result;
    }
}

int main(int count, char **arguments)
{
    control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
    if (control == MAP_FAILED || control->magic != CELL_MAGIC || count != 2) {
        control = NULL;
        give_up("");
    }
    char threads[16];
    snprintf(threads, sizeof threads, "%d", control->threads);
    setenv("OMP_NUM_THREADS", threads, 1);
    setenv("OMP_DYNAMIC", "false", 1);
    request_tiles();
    map_buffers();
    catch_faults();
    close(3);
    close(4);
    close(5);
    control->filtered = install_filter();
    kernel_entry *entry = load_kernel(arguments[1]);
    control->state = CELL_READY;
    for (;;) {
        kill(getpid(), SIGSTOP);
        control->state = CELL_RUNNING;
        run_calls(entry);
        control->state = CELL_DONE;
    }
}
