/*
 * A lifetime: memory that is handed out piece by piece and given back all at once.
 */
#ifndef SMELT_BASE_ARENA_H
#define SMELT_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *head; /* newest block first */
    size_t used;              /* bytes handed out since the last reset */
    size_t limit;             /* 0: none; above it memory_exhausted() is called */
    struct arena *outer;      /* its blocks come from there; NULL: from the heap */
    struct arena_block *idle; /* blocks that inner arenas gave back, for the next ones */
};

/* An all-zero struct arena is ready for use; arena_init is the same thing said aloud. */
void arena_init(struct arena *arena);
/*
 * An arena inside another one: what it gives back goes to the arenas made inside the same outer one
 * later, and all of it is gone with the outer one, whether it was given back or not. For things
 * that come and go while something longer lasts: the candidates of a run.
 */
struct arena arena_inside(struct arena *outer);
/* Gives everything back, keeps the newest block for reuse. */
void arena_reset(struct arena *arena);
/* Gives everything back to the heap, or to the outer arena. */
void arena_release(struct arena *arena);

/* Zeroed, aligned for any type, owned by the arena. Never NULL (see memory.h). */
void *arena_alloc(struct arena *arena, size_t size);
/* count * size with the product checked; an overflow counts as memory exhausted. */
void *arena_array(struct arena *arena, size_t count, size_t size);
char *arena_copy(struct arena *arena, const char *text, size_t length); /* adds the NUL */
char *arena_string(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define arena_new(arena, type) ((type *)arena_alloc((arena), sizeof(type)))

#endif
