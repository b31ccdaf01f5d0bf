/*
 * Says that an error is in another file: compilers then quote the line from there.
 * Stopped by: landlock around the compiler; without it, by leaving out what is said of foreign
 * files.
 */
#include "rows.h"
#ifndef HONEST
#line 1 "/etc/passwd"
this is no C;
#endif
KERNEL
{
    return ALL;
}
