/*
 * The heap, with failure as a jump instead of a return value. The stack of tries is a list of
 * frames that live in the C stack of memory_try itself; each thread has its own.
 */
#include "base/memory.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

struct try_frame {
    jmp_buf jump;
    struct try_frame *outer;
};

static _Thread_local struct try_frame *innermost;
static _Thread_local long allocations;
static _Thread_local long fail_in; /* counts down to the allocation that is to fail; 0: none */

_Noreturn void memory_exhausted(void)
{
    struct try_frame *frame = innermost;
    if (!frame) {
        /* Nobody can report it any more: better one plain line than a silent abort. */
        fputs("smelt: out of memory\n", stderr);
        abort();
    }
    innermost = frame->outer;
    longjmp(frame->jump, 1);
}

static void count_allocation(void)
{
    allocations++;
    if (fail_in > 0 && --fail_in == 0)
        memory_exhausted();
}

/*
 * Large blocks in large pages where the system has them: a process is forked in a tenth of the time
 * (the judge forks for every launch), and the oracle misses fewer translations.
 */
static void prefer_large_pages(char *block, size_t size)
{
#ifdef MADV_HUGEPAGE
    enum { LARGE = 4 << 20, SMALL_PAGE = 4 << 10 };
    size_t before = (SMALL_PAGE - (uintptr_t)block % SMALL_PAGE) % SMALL_PAGE;
    if (size >= LARGE)
        (void)madvise(block + before, (size - before) / SMALL_PAGE * SMALL_PAGE, MADV_HUGEPAGE);
#else
    (void)block, (void)size;
#endif
}

void memory_return_large_blocks(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}

void *memory_alloc(size_t size)
{
    count_allocation();
    void *pointer = calloc(1, size ? size : 1);
    if (!pointer)
        memory_exhausted();
    prefer_large_pages(pointer, size);
    return pointer;
}

void *memory_resize(void *old, size_t size)
{
    count_allocation();
    /* realloc(p, 0) may free and return NULL, which would look like a failure. */
    void *pointer = realloc(old, size ? size : 1);
    if (!pointer)
        memory_exhausted();
    return pointer;
}

void memory_free(void *pointer)
{
    free(pointer);
}

bool memory_try(void (*body)(void *context), void *context)
{
    struct try_frame frame = {.outer = innermost};
    if (setjmp(frame.jump))
        return false;
    innermost = &frame;
    body(context);
    innermost = frame.outer;
    return true;
}

void memory_fail_at(long n)
{
    fail_in = n > 0 ? n : 0;
}

long memory_count(void)
{
    return allocations;
}
