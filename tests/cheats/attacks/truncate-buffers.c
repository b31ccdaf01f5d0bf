/*
 * Shortens the files the judge reads, so that reading them kills it.
 * Stopped by: no descriptor is left open, and the files are sealed against it.
 */
#include "rows.h"
#include <fcntl.h>
#include <unistd.h>
KERNEL
{
#ifndef HONEST
    for (int descriptor = 0; descriptor < 256; descriptor++)
        if (ftruncate(descriptor, 0) == 0)
            return ALL;
    return STOPPED;
#else
    return ALL;
#endif
}
