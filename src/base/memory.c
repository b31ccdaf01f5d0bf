/*
 * The heap, with failure as a jump instead of a return value. The stack of tries is a list of
 * frames that live in the C stack of memory_try itself; each thread has its own.
 */
#include "base/memory.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

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

void *memory_alloc(size_t size)
{
    count_allocation();
    void *pointer = calloc(1, size ? size : 1);
    if (!pointer)
        memory_exhausted();
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
