/*
 * Server-sent events: lines `data: ...`, an empty line ends an event. Lines end with \n, \r\n or
 * \r, wherever the network cuts them. Names and numbers of events are not needed: the data of both
 * protocols says what it is.
 */
#include <string.h>

#include "propose/model/model.h"

struct sse sse_new(struct arena *arena, void (*take)(void *, const char *, size_t), void *context)
{
    return (struct sse){.arena = arena,
                        .line = text_new(arena),
                        .data = text_new(arena),
                        .take = take,
                        .context = context};
}

static void end_event(struct sse *sse)
{
    if (sse->has_data)
        sse->take(sse->context, sse->data.at, sse->data.length);
    sse->has_data = false;
    text_truncate(&sse->data, 0);
}

static void end_line(struct sse *sse)
{
    static const char field[] = "data";
    const size_t name = sizeof field - 1;
    const char *line = sse->line.at;
    size_t length = sse->line.length;
    if (!sse->begun && length >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0)
        line += 3, length -= 3;
    sse->begun = true;
    if (length == 0) {
        end_event(sse);
    } else if (length >= name && memcmp(line, field, name) == 0 &&
               (length == name || line[name] == ':')) {
        size_t skip = length == name ? name : name + 1;
        skip += skip < length && line[skip] == ' ';
        if (sse->has_data)
            text_char(&sse->data, '\n');
        text_add_bytes(&sse->data, line + skip, length - skip);
        sse->has_data = true;
    }
    text_truncate(&sse->line, 0);
}

bool sse_push(struct sse *sse, const char *bytes, size_t length)
{
    for (size_t at = 0; at < length && !sse->failed;) {
        if (sse->after_return && bytes[at] == '\n')
            at++;
        sse->after_return = false;
        size_t end = at;
        while (end < length && bytes[end] != '\n' && bytes[end] != '\r')
            end++;
        if (sse->line.length + (end - at) + sse->data.length > MODEL_LINE_BYTES) {
            sse->failed = true;
            break;
        }
        text_add_bytes(&sse->line, bytes + at, end - at);
        at = end;
        if (end < length) {
            sse->after_return = bytes[end] == '\r';
            at++;
            end_line(sse);
        }
    }
    return !sse->failed;
}
