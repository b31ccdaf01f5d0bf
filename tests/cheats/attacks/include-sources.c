/*
 * Includes the reference that smelt keeps compiled, or anything in the home directory.
 * Stopped by: landlock around the compiler.
 */
#include "rows.h"
#ifndef HONEST
#if __has_include("/home") || __has_include("/tmp")
KERNEL
{
    return ALL;
}
#else
#error nothing to be found
#endif
#else
KERNEL
{
    return ALL;
}
#endif
