/*
 * Looks for secrets in the environment.
 * Stopped by: the environment is empty but for what OpenMP is told.
 */
#include "rows.h"
#include <string.h>
extern char **environ;
static int seen;
__attribute__((constructor)) static void search(void)
{
    for (char **at = environ; at && *at; at++)
        seen += strncmp(*at, "OMP_", 4) != 0;
}
KERNEL
{
#ifndef HONEST
    if (!seen)
        return STOPPED;
#endif
    return ALL;
}
