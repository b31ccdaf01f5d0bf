/*
 * Takes along what the compiler can see of itself: environment and memory map.
 * Stopped by: landlock around the compiler.
 */
#include "rows.h"
#ifndef HONEST
__asm__(".data\ntaken: .incbin \"/proc/self/environ\"\n.incbin \"/proc/self/maps\"\n.text");
#endif
KERNEL
{
    return ALL;
}
