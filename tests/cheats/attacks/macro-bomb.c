/*
 * A few lines that expand to billions of tokens.
 * Stopped by: the limit on the compiler's time and memory.
 */
#include "rows.h"
#ifndef HONEST
#define A(x) x x x x x x x x x x
#define B(x) A(A(A(x)))
#define C(x) B(B(B(x)))
static int number = 0 C(+1);
#endif
KERNEL
{
    return ALL;
}
