/*
 * Quotes a file of the host in the compiler's complaints about it.
 * Stopped by: landlock around the compiler; without it, by leaving out what is said of foreign
 * files.
 */
#include "rows.h"
#ifndef HONEST
#include "/etc/passwd"
#endif
KERNEL
{
    return ALL;
}
