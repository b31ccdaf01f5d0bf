/*
 * Compiling ahead. Compiling takes longer than anything else about a small kernel, and timing needs
 * one core only: while the judge checks and times on one, helpers compile what comes next on the
 * others. Whoever is free takes the next kernel, the judge too when the one it needs is not begun.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "judge/private.h"

enum { SAID_MOST = 4096, HELPERS_MOST = 64 };

enum entry_state { ENTRY_FREE, ENTRY_TAKEN, ENTRY_COMPILED, ENTRY_FAILED };

/* What a helper found, in shared memory. */
struct entry {
    atomic_int state;
    bool done;
    unsigned layers;
    double seconds;
    struct binary_facts binary;
    char said[SAID_MOST];
};

struct ahead {
    struct compiled *compiled;
    struct entry *entries;
    bool *have; /* those that were asked for */
    int count, helper_count;
    pid_t helpers[HELPERS_MOST];
};

static bool take(struct entry *entry)
{
    int expected = ENTRY_FREE;
    return atomic_compare_exchange_strong(&entry->state, &expected, ENTRY_TAKEN);
}

/* An entry that was taken. */
static void compile_entry(struct ahead *ahead, int number)
{
    struct entry *entry = &ahead->entries[number];
    struct arena arena = {0};
    struct error ignored = {0};
    struct compiled compiled = ahead->compiled[number];
    bool good = compile_prepared(&arena, &compiled, &ignored);
    entry->done = compiled.done;
    entry->layers = compiled.layers;
    entry->seconds = compiled.seconds;
    entry->binary = compiled.binary;
    if (good)
        snprintf(entry->said, sizeof entry->said, "%s", compiled.output);
    atomic_store(&entry->state, good ? ENTRY_COMPILED : ENTRY_FAILED);
    arena_release(&arena);
}

static void help(struct ahead *ahead)
{
    for (int i = 0; i < ahead->count; i++)
        if (take(&ahead->entries[i]))
            compile_entry(ahead, i);
}

/* Instead of waiting: a kernel that nobody has begun. False: there is none. */
static bool help_once(struct ahead *ahead, int after)
{
    for (int i = after + 1; i < ahead->count; i++) {
        if (!take(&ahead->entries[i]))
            continue;
        compile_entry(ahead, i);
        return true;
    }
    return false;
}

/* Timing takes the last core: see contest.c. */
static void leave_the_last_core(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2)
        return;
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &allowed))
        last--;
    CPU_CLR(last, &allowed);
    sched_setaffinity(0, sizeof allowed, &allowed);
}

struct ahead *ahead_start(struct arena *arena, struct compiled *compiled, int count, int helpers)
{
    struct ahead *ahead = arena_new(arena, struct ahead);
    *ahead = (struct ahead){.compiled = compiled,
                            .have = arena_array(arena, (size_t)count + 1, sizeof *ahead->have),
                            .count = count};
    size_t bytes = (size_t)count * sizeof *ahead->entries;
    if (helpers < 1)
        return ahead;
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ahead->entries = shared == MAP_FAILED ? NULL : shared;
    pid_t self = getpid();
    sandbox_available();
    while (ahead->entries && ahead->helper_count < helpers && ahead->helper_count < HELPERS_MOST) {
        pid_t helper = fork();
        if (helper == 0) {
            sandbox_follow(self);
            leave_the_last_core();
            help(ahead);
            _exit(0);
        }
        if (helper < 0)
            break; /* then with fewer */
        ahead->helpers[ahead->helper_count++] = helper;
    }
    return ahead;
}

static bool any_helper_left(struct ahead *ahead)
{
    for (int h = 0; h < ahead->helper_count;) {
        if (waitpid(ahead->helpers[h], NULL, WNOHANG) == 0)
            return true;
        ahead->helpers[h] = ahead->helpers[--ahead->helper_count];
    }
    return false;
}

static bool get(struct arena *arena, struct ahead *ahead, int number, struct error *error)
{
    struct compiled *compiled = &ahead->compiled[number];
    struct entry *entry = ahead->entries ? &ahead->entries[number] : NULL;
    const struct timespec pause = {0, 500000};
    if (!entry || take(entry))
        return compile_prepared(arena, compiled, error);
    while (atomic_load(&entry->state) == ENTRY_TAKEN && any_helper_left(ahead))
        if (!help_once(ahead, number))
            nanosleep(&pause, NULL);
    if (atomic_load(&entry->state) != ENTRY_COMPILED) /* a helper failed or died: once more, here */
        return compile_prepared(arena, compiled, error);
    compiled->done = entry->done;
    compiled->layers = entry->layers;
    compiled->seconds = entry->seconds;
    compiled->binary = entry->binary;
    compiled->output = arena_string(arena, entry->said);
    return true;
}

bool ahead_get(struct arena *arena, struct ahead *ahead, int number, struct error *error)
{
    if (!ahead->have[number])
        ahead->have[number] = get(arena, ahead, number, error);
    return ahead->have[number];
}

void ahead_stop(struct ahead *ahead)
{
    for (int h = 0; h < ahead->helper_count; h++) {
        kill(ahead->helpers[h], SIGKILL); /* what it runs dies with it */
        while (waitpid(ahead->helpers[h], NULL, 0) < 0 && errno == EINTR)
            ;
    }
    ahead->helper_count = 0;
    if (ahead->entries)
        munmap(ahead->entries, (size_t)ahead->count * sizeof *ahead->entries);
    ahead->entries = NULL;
}
