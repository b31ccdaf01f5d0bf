/*
 * Bytes on their way in or out: they come at one end and go at the other.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "mcp/private.h"

enum { CHUNK = 64 << 10 };

static void reserve(struct mcp_buffer *buffer, size_t more)
{
    size_t needed = buffer->length + more + 1;
    if (needed <= buffer->capacity)
        return;
    size_t capacity = buffer->capacity ? buffer->capacity : 4096;
    while (capacity < needed)
        capacity *= 2;
    buffer->at = memory_resize(buffer->at, capacity);
    buffer->capacity = capacity;
}

void mcp_buffer_add(struct mcp_buffer *buffer, const char *bytes, size_t length)
{
    reserve(buffer, length);
    memcpy(buffer->at + buffer->length, bytes, length);
    buffer->length += length;
    buffer->at[buffer->length] = 0;
}

void mcp_buffer_drop(struct mcp_buffer *buffer, size_t length)
{
    if (length >= buffer->length) {
        if (buffer->capacity > CHUNK)
            mcp_buffer_release(buffer);
        buffer->length = 0;
        return;
    }
    memmove(buffer->at, buffer->at + length, buffer->length - length + 1);
    buffer->length -= length;
}

void mcp_buffer_release(struct mcp_buffer *buffer)
{
    memory_free(buffer->at);
    *buffer = (struct mcp_buffer){0};
}

ssize_t mcp_buffer_read(struct mcp_buffer *buffer, int from, size_t most)
{
    size_t room = most > buffer->length ? most - buffer->length : 0;
    if (room == 0)
        return -1;
    if (room > CHUNK)
        room = CHUNK;
    reserve(buffer, room);
    ssize_t got = read(from, buffer->at + buffer->length, room);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? -1 : 0;
    buffer->length += (size_t)got;
    buffer->at[buffer->length] = 0;
    return got;
}
