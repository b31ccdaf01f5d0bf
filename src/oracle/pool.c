/*
 * Pieces of memory on a list, so that a run that ends early, even by running out of memory, can
 * give back everything it took.
 */
#include "oracle/interpret.h"

#include <stdint.h>

struct pool_piece {
    struct pool_piece *older, *newer;
    int64_t bytes;
    max_align_t room[];
};

void *pool_take(struct pool *pool, int64_t count, size_t size)
{
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) ||
        bytes > INT64_MAX / 2 - sizeof(struct pool_piece))
        memory_exhausted();
    bytes += sizeof(struct pool_piece);
    if (pool->left && (int64_t)bytes > *pool->left)
        memory_exhausted();
    struct pool_piece *piece = pool->arena ? arena_alloc(pool->arena, bytes) : memory_alloc(bytes);
    piece->bytes = (int64_t)bytes;
    piece->older = pool->newest;
    if (pool->newest)
        pool->newest->newer = piece;
    pool->newest = piece;
    if (pool->left)
        *pool->left -= piece->bytes;
    pool->used += piece->bytes;
    if (pool->used > pool->most)
        pool->most = pool->used;
    return piece->room;
}

void pool_give(struct pool *pool, void *room)
{
    if (!room || pool->arena)
        return;
    struct pool_piece *piece =
        (struct pool_piece *)((char *)room - offsetof(struct pool_piece, room));
    if (piece->newer)
        piece->newer->older = piece->older;
    else
        pool->newest = piece->older;
    if (piece->older)
        piece->older->newer = piece->newer;
    pool->used -= piece->bytes;
    if (pool->left)
        *pool->left += piece->bytes;
    memory_free(piece);
}

struct pool_piece *pool_mark(const struct pool *pool)
{
    return pool->newest;
}

void pool_release(struct pool *pool, struct pool_piece *mark)
{
    while (!pool->arena && pool->newest && pool->newest != mark)
        pool_give(pool, pool->newest->room);
}
