/*
 * Arenas are a list of blocks, each twice as large as the one before. A block is filled from front
 * to back; a request that does not fit opens a new block.
 *
 * Invariants of a block: bytes from `dirty` on are zero as they came from the heap, so only what an
 * earlier use left behind has to be cleared again; filled <= capacity.
 *
 * Under AddressSanitizer everything not handed out is poisoned and a gap is left behind each piece,
 * so that running over the end of one piece is caught as it would be with malloc.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISONS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_POISONS 1
#endif

#ifdef ARENA_POISONS
#include <sanitizer/asan_interface.h>
enum { ARENA_GAP = 16 };
#define arena_hide(at, size) ASAN_POISON_MEMORY_REGION((at), (size))
#define arena_show(at, size) ASAN_UNPOISON_MEMORY_REGION((at), (size))
#else
enum { ARENA_GAP = 0 };
#define arena_hide(at, size) ((void)(at), (void)(size))
#define arena_show(at, size) ((void)(at), (void)(size))
#endif

#define ARENA_FIRST_BLOCK ((size_t)4 << 10)
/* Doubling stops here: beyond it, half-empty blocks would cost more than the saved calls. */
#define ARENA_LARGEST_STEP ((size_t)16 << 20)
#define ARENA_ALIGNMENT _Alignof(max_align_t)

struct arena_block {
    struct arena_block *next;
    size_t capacity, filled, dirty;
    max_align_t bytes[]; /* for its alignment only */
};

static char *block_bytes(struct arena_block *block)
{
    return (char *)block->bytes;
}

/* Nothing in it is in use any more. */
static void block_empty(struct arena_block *block)
{
    if (block->dirty < block->filled)
        block->dirty = block->filled;
    block->filled = 0;
    arena_hide(block->bytes, block->capacity);
}

static void block_free(struct arena *arena, struct arena_block *block)
{
    if (arena->outer) {
        block_empty(block);
        block->next = arena->outer->idle;
        arena->outer->idle = block;
        return;
    }
    arena_show(block->bytes, block->capacity);
    memory_free(block);
}

/* One that was given back and is neither too small nor far too large; NULL: none is. */
static struct arena_block *take_idle(struct arena *outer, size_t least, size_t capacity)
{
    for (struct arena_block **at = &outer->idle; *at; at = &(*at)->next) {
        struct arena_block *block = *at;
        if (block->capacity < least || block->capacity > 2 * capacity)
            continue;
        *at = block->next;
        return block;
    }
    return NULL;
}

static struct arena_block *block_new(struct arena *arena, size_t least, size_t capacity)
{
    struct arena *outer = arena->outer;
    struct arena_block *block = outer ? take_idle(outer, least, capacity) : NULL;
    if (block)
        return block;
    size_t size = sizeof *block + capacity;
    block = outer ? arena_alloc(outer, size) : memory_alloc(size);
    block->capacity = capacity;
    return block;
}

static struct arena_block *block_open(struct arena *arena, size_t least)
{
    size_t capacity = ARENA_FIRST_BLOCK;
    if (arena->head)
        capacity = arena->head->capacity < ARENA_LARGEST_STEP / 2 ? arena->head->capacity * 2
                                                                  : ARENA_LARGEST_STEP;
    while (arena->outer && capacity < least) /* few sizes, so that the next one can use it */
        capacity *= 2;
    if (capacity < least)
        capacity = least;
    struct arena_block *block = block_new(arena, least, capacity);
    block->next = arena->head;
    arena_hide(block->bytes, block->capacity);
    arena->head = block;
    return block;
}

void arena_init(struct arena *arena)
{
    *arena = (struct arena){0};
}

struct arena arena_inside(struct arena *outer)
{
    return (struct arena){.outer = outer};
}

void arena_reset(struct arena *arena)
{
    arena->used = 0;
    arena->idle = NULL;
    struct arena_block *kept = arena->head;
    if (!kept)
        return;
    for (struct arena_block *block = kept->next, *next; block; block = next) {
        next = block->next;
        block_free(arena, block);
    }
    kept->next = NULL;
    block_empty(kept);
}

void arena_release(struct arena *arena)
{
    for (struct arena_block *block = arena->head, *next; block; block = next) {
        next = block->next;
        block_free(arena, block);
    }
    arena->head = NULL;
    arena->idle = NULL;
    arena->used = 0;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        memory_exhausted();
    /* A piece of no bytes still gets an address of its own. */
    size_t rounded = (size + (size == 0) + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    if (arena->limit && (arena->used > arena->limit || rounded > arena->limit - arena->used))
        memory_exhausted();

    struct arena_block *block = arena->head;
    if (!block || block->capacity - block->filled < rounded + ARENA_GAP)
        block = block_open(arena, rounded + ARENA_GAP);

    char *piece = block_bytes(block) + block->filled;
    arena_show(piece, size);
    if (block->filled < block->dirty) {
        size_t stale = block->dirty - block->filled;
        memset(piece, 0, stale < size ? stale : size);
    }
    block->filled += rounded + ARENA_GAP;
    arena->used += rounded;
    return piece;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        memory_exhausted();
    return arena_alloc(arena, count * size);
}

char *arena_copy(struct arena *arena, const char *text, size_t length)
{
    if (length == SIZE_MAX)
        memory_exhausted();
    char *copy = arena_alloc(arena, length + 1);
    if (length)
        memcpy(copy, text, length);
    return copy;
}

char *arena_string(struct arena *arena, const char *text)
{
    return arena_copy(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    char near[256]; /* most are short: written once */
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(near, sizeof near, format, arguments);
    va_end(arguments);
    if (length < (int)sizeof near)
        return arena_copy(arena, near, length < 0 ? 0 : (size_t)length);
    char *result = arena_alloc(arena, (size_t)length + 1);
    va_start(arguments, format);
    vsnprintf(result, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return result;
}
