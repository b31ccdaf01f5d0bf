/*
 * Has the compiler fold a long computation: the work is done before the clock starts, or never.
 * Stopped by: the limit on the compiler's time.
 */
#include "rows.h"
#ifndef HONEST
#define R4(m, n) m(n##0) m(n##1) m(n##2) m(n##3)
#define U(n)                              \
    for (int i##n = 0; i##n < 64; i##n++) \
        a[i##n] = __builtin_sin(a[i##n]) + b[i##n % 7];
#define V(n) R4(U, n) R4(U, n##4) R4(U, n##5)
#define W(n) V(n##1) V(n##2) V(n##3) V(n##4) V(n##5) V(n##6) V(n##7) V(n##8)
#define X(n) W(n##1) W(n##2) W(n##3) W(n##4) W(n##5) W(n##6) W(n##7) W(n##8)
#pragma GCC optimize("unroll-all-loops")
double a[64], b[7];
void busy(void){X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)}
#endif
KERNEL
{
    return ALL;
}
