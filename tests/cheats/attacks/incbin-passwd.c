/*
 * Takes a file of the host along in the object, by way of the assembler.
 * Stopped by: landlock around the compiler.
 */
#include "rows.h"
#ifndef HONEST
__asm__(".data\ntaken: .incbin \"/etc/passwd\"\n.text");
#endif
KERNEL
{
    return ALL;
}
