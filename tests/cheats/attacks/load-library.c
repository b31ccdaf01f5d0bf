/*
 * Opens a library of the system to do the work instead of the kernel.
 * Stopped by: after the usual ones are loaded no file is within reach but the kernel's own.
 */
#include "rows.h"
#include <dlfcn.h>
static void *library;
__attribute__((constructor)) static void open_library(void)
{
    static const char *const names[] = {"libcrypt.so.1", "libz.so.1", "libstdc++.so.6",
                                        "libblas.so.3", "libopenblas.so.0"};
    for (unsigned i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW);
}
KERNEL
{
#ifndef HONEST
    if (!library)
        return STOPPED;
#endif
    return ALL;
}
