/*
 * Allocation with one way to fail.
 *
 * Every byte smelt takes from the heap passes through here. A failed allocation does not return
 * NULL: it unwinds to the innermost memory_try, whose caller then reports that memory ran out. All
 * structures hang on arenas owned outside the try, so unwinding loses nothing and leaks nothing.
 * Without a memory_try around it, a failed allocation aborts.
 */
#ifndef SMELT_BASE_MEMORY_H
#define SMELT_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed memory of `size` bytes, owned by the caller, freed with memory_free. Never NULL. */
void *memory_alloc(size_t size);
/* Grows or shrinks; new bytes are not zeroed. The old pointer is gone. Never NULL. */
void *memory_resize(void *old, size_t size);
void memory_free(void *pointer);
/*
 * Large blocks go back to the system when they are freed, for good: without this the heap learns
 * from the first large block it sees freed to keep such blocks in its own, between small ones that
 * stay, and a run of hours grows. Called once, before anything large is taken.
 */
void memory_return_large_blocks(void);

/* Runs body(context). True when it returned, false when memory ran out inside it. Nests. */
bool memory_try(void (*body)(void *context), void *context);
/* Gives up as if an allocation had failed: for limits that are stated, such as arena_limit. */
_Noreturn void memory_exhausted(void);

/* Tests: the nth allocation from now on fails (1 is the next), 0 switches it off. */
void memory_fail_at(long n);
/* Tests: allocations made by this thread so far. */
long memory_count(void);

#endif
