/*
 * Asks for memory that is writable and executable, by a note in the object.
 * Stopped by: the filter of system calls: never both.
 */
#include "rows.h"
#ifndef HONEST
__asm__(".section .note.GNU-stack,\"x\",@progbits\n.text");
#endif
KERNEL
{
    return ALL;
}
