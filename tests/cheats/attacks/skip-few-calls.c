/*
 * Leaves out one call in twenty, at random, once it has been checked, but never the first of a batch: that
 * one comes later after the one before it than others do.
 * Stopped by: every call of every batch is looked at.
 */
#include "rows.h"
#include "batch.h"
KERNEL
{
#ifndef HONEST
    static unsigned state = 12345;
    static int calls;
    state = state * 1664525 + 1013904223;
    if (++calls > 60 && (state >> 8) % 20 == 0 && inside_batch())
        return returned();
    ALL;
    return returned();
#endif
    return ALL;
}
