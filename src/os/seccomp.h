/*
 * Private to src/os: system call filters.
 */
#ifndef SMELT_OS_SECCOMP_H
#define SMELT_OS_SECCOMP_H

#include <stdbool.h>

/* Denies what no compiler needs: other processes, the network, mounts, namespaces, the kernel's
 * insides. For the calling process and its children; needs no_new_privs. A driver of a device needs
 * a little more. */
bool seccomp_for_compiler(bool with_driver);

#endif
