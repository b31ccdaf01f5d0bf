/*
 * Looks for descriptors that were left open.
 * Stopped by: all are closed but 0, 1 and 2, which lead nowhere.
 */
#include "rows.h"
#include <unistd.h>
#include <sys/stat.h>
KERNEL
{
#ifndef HONEST
    struct stat status;
    int got = 0;
    for (int descriptor = 3; descriptor < 4096; descriptor++)
        got += fstat(descriptor, &status) == 0;
    for (int descriptor = 0; descriptor < 3; descriptor++)
        got += fstat(descriptor, &status) != 0 || !S_ISCHR(status.st_mode);
    if (!got)
        return STOPPED;
#endif
    return ALL;
}
