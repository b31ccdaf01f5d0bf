/*
 * Finds out which files the host has, without reading them.
 * Stopped by: landlock around the compiler: what cannot be opened is not there.
 */
#include "rows.h"
KERNEL
{
#ifndef HONEST
#if !__has_include("/etc/passwd") && !__has_include("/proc/version")
    return STOPPED;
#endif
#endif
    return ALL;
}
