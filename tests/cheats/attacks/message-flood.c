/*
 * Makes the compiler say a hundred thousand things.
 * Stopped by: what it says is read and all but the beginning dropped.
 */
#include "rows.h"
#ifndef HONEST
#define M _Pragma("message \"flood flood flood flood flood flood flood flood flood flood flood\"")
#define A(x) x x x x x x x x x x
A(A(A(A(M))))
#error enough
#endif
KERNEL
{
    return ALL;
}
