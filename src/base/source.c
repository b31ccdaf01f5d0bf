/*
 * From offsets to lines and columns. Works from the start of the text every time: it is asked only
 * when something is shown to a person.
 */
#include "base/source.h"

#include "base/text.h"

struct line_column source_locate(const struct source *source, size_t offset)
{
    const char *text = source->text;
    if (offset > source->length)
        offset = source->length;
    struct line_column at = {.line = 1, .column = 1};
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            at.line++;
            at.start = i + 1;
        }
    }
    at.end = at.start;
    while (at.end < source->length && text[at.end] != '\n')
        at.end++;
    if (at.end > at.start && at.end < source->length && text[at.end - 1] == '\r')
        at.end--;
    /* A byte that is not UTF-8 counts as a character of its own, as it is shown as one. */
    for (size_t i = at.start; i < offset; at.column++) {
        size_t length = text_utf8(text + i, source->length - i);
        i += length ? length : 1;
        if (i > offset) /* the offset points into the middle of this one */
            break;
    }
    return at;
}

struct place place_join(struct place a, struct place b)
{
    if (!a.source)
        return b;
    if (!b.source || b.source != a.source || b.offset + b.length < a.offset)
        return a;
    a.length = b.offset + b.length - a.offset;
    return a;
}
