/*
 * The pieces of `smelt doctor`: doctor.c is the command, the checks are in doctor_tools.c
 * (compilers, libraries, smelt's own files), doctor_devices.c and doctor_host.c (isolation,
 * processors, noise).
 */
#ifndef SMELT_CMD_DOCTOR_H
#define SMELT_CMD_DOCTOR_H

#include "cmd/command.h"
#include "os/os.h"

enum finding_state {
    FINDING_OK,
    FINDING_NONE,    /* this machine has no such thing, and no command gives it one */
    FINDING_GAP,     /* smelt works, with less */
    FINDING_MISSING, /* and smelt does not work */
};

struct finding {
    const char *group, *name; /* "compilers", "cc" */
    enum finding_state state;
    const char *what; /* what was found */
    const char *fix;  /* the command that closes the gap, or NULL */
};

struct doctor {
    struct arena *arena;
    struct findings VECTOR(struct finding) findings;
};

/* A new finding, valid until the next one, so that a fix can be added. */
struct finding *doctor_add(struct doctor *doctor, const char *group, const char *name,
                           enum finding_state state, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* How to install a package on this system. */
const char *doctor_install(struct doctor *doctor, const char *debian, const char *fedora);

/* The path of the first of several libraries that can be loaded; NULL when there is none. */
const char *doctor_find_library(struct doctor *doctor, const char *const *files);

void doctor_compilers(struct doctor *doctor);
void doctor_isolation(struct doctor *doctor);
void doctor_machine(struct doctor *doctor);
void doctor_devices(struct doctor *doctor);
void doctor_libraries(struct doctor *doctor);
void doctor_own(struct doctor *doctor); /* library, cell, folders, rates */

#endif
