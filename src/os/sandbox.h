/*
 * Running a program that nobody trusts.
 *
 * Confinement comes in layers, each taken where the host offers it and left out where not; which
 * ones are in force is known afterwards and can be demanded beforehand. Nothing here needs to be
 * root, and being root is given up.
 *
 *   limits      memory, processor time, processes, file sizes, no core dumps
 *   privileges  no new ones (setuid programs lose theirs), all capabilities dropped
 *   user        a user namespace of its own: root inside is nobody outside
 *   pid         sees no process but its own; dies with its init
 *   net, ipc    no network, no shared memory of others
 *   landlock    files: only the paths it was given
 *   seccomp     system calls: only those a compiler, or a cell, needs
 */
#ifndef SMELT_OS_SANDBOX_H
#define SMELT_OS_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/base.h"

enum sandbox_layer {
    SANDBOX_LIMITS = 1,
    SANDBOX_PRIVILEGES = 2,
    SANDBOX_USER = 4,
    SANDBOX_PID = 8,
    SANDBOX_NET = 16,
    SANDBOX_IPC = 32,
    SANDBOX_LANDLOCK = 64,
    SANDBOX_SECCOMP = 128,
};

/* What a person asks for at least. */
enum sandbox_level {
    SANDBOX_NONE,   /* whatever there is */
    SANDBOX_BASIC,  /* limits, privileges, seccomp */
    SANDBOX_STRONG, /* and landlock: files cannot be reached */
    SANDBOX_FULL,   /* and all namespaces */
};

bool sandbox_level_parse(const char *name, enum sandbox_level *level);
unsigned sandbox_level_layers(enum sandbox_level level);
/* The layers this host offers, found out once by trying each in a child process. */
unsigned sandbox_available(void);
/* "limits privileges user pid ..." */
void sandbox_print_layers(struct text *out, unsigned layers);

/* DEVICE: a compiler's, and those that drivers of devices make. */
enum sandbox_calls { SANDBOX_CALLS_ALL, SANDBOX_CALLS_COMPILER, SANDBOX_CALLS_DEVICE };

struct sandbox_policy {
    unsigned layers;             /* wanted; what the host lacks is left out */
    const char *const *readable; /* paths it may read and execute, ends with NULL */
    const char *const *writable; /* paths it may also write below, ends with NULL */
    bool moves_files;            /* from one folder to another, where both may be written */
    enum sandbox_calls calls;    /* a cell installs its own filter later */
    int64_t memory;              /* bytes of address space; 0: no limit */
    int64_t stack;               /* bytes of a thread's stack; 0: as it is here */
    int64_t file_bytes;          /* largest file it may write */
    int seconds;                 /* of processor time; 0: no limit */
    int processes;               /* most at once; 0: no limit */
};

struct sandbox_program {
    const char *const *arguments;   /* [0] is a path; ends with NULL */
    const char *const *environment; /* ends with NULL; NULL: empty */
    const char *directory;          /* NULL: "/" */
    const int *descriptors;         /* become 3, 4, ... in the program; nothing else is inherited */
    int descriptor_count;
    int output; /* becomes 1 and 2; -1: /dev/null */
};

struct sandbox_process {
    pid_t pid;       /* of the program: a child of the caller, to be waited for */
    pid_t init;      /* of its process namespace, or 0; killed by sandbox_kill */
    int leash;       /* open as long as the caller lives, so that both can tell; 0: none */
    unsigned layers; /* in force */
};

/* Until sandbox_show(what it returned) other programs of the same user cannot look into this one.
 */
bool sandbox_hide(void);
void sandbox_show(bool open);
/* A worker says right after fork that it dies when `parent`, which forked it, does. */
void sandbox_follow(pid_t parent);

/*
 * Starts it. The caller is its parent: it may stop, continue and wait for it. False when it could
 * not be started at all. A caller that wants a process namespace must not have threads. Confining
 * changes the caller too, so it should be a worker: a process forked for this and nothing else.
 */
bool sandbox_start(const struct sandbox_policy *policy, const struct sandbox_program *program,
                   struct sandbox_process *process, struct error *error);
/* False when the init of the process namespace has ended, which takes the program with it: then
 * that the program was killed says nothing about the program. */
bool sandbox_is_whole(const struct sandbox_process *process);
/*
 * Starts another program where one has run before, in the same namespaces, which costs a fraction.
 * Only where the first one could leave nothing behind there: it had a filter of system calls that
 * kept it from forking. False: sandbox_kill and sandbox_start are left to the caller's own worker.
 */
bool sandbox_again(const struct sandbox_policy *policy, const struct sandbox_program *program,
                   struct sandbox_process *process, struct error *error);
/* Kills everything that runs in it and reaps both. Safe to call twice. */
void sandbox_kill(struct sandbox_process *process);

#endif
