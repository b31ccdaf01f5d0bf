/*
 * An error as a person reads it: the sentence, the line it is about, and a caret under the place.
 *
 * Source text is somebody else's: it may hold tabs, bytes that are not UTF-8, or characters that
 * steer a terminal. A line is therefore turned into cells, the columns of a terminal, and only
 * harmless characters are passed on; caret and line are both measured in cells.
 */
#include "base/error.h"

#include <stdint.h>
#include <string.h>

enum {
    RENDER_INDENT = 4,
    RENDER_TAB = 4,
    RENDER_WIDTH = 160, /* cells of a line that are shown */
    RENDER_BEFORE = 60, /* of them before the caret, when the line is longer */
};

struct glyph {
    const char *at; /* what to print: a space for each cell of a tab, '?' for what is harmful */
    size_t length;  /* its bytes */
    size_t step;    /* bytes of source it stands for */
    size_t cells;
};

struct code_range {
    uint32_t first, last;
};

static const struct code_range harmful[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f}, /* controls */
    {0x200e, 0x200f}, {0x2028, 0x202e}, /* line separators, changes of direction */
    {0x2066, 0x2069}, {0xfff9, 0xfffb},
};
static const struct code_range no_cells[] = {
    {0x0300, 0x036f}, {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
};
static const struct code_range two_cells[] = {
    {0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

#define in_ranges(code, ranges) code_in((code), (ranges), sizeof(ranges) / sizeof(ranges)[0])

static bool code_in(uint32_t code, const struct code_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

static uint32_t decode(const char *at, size_t length)
{
    uint32_t code = (unsigned char)at[0];
    if (length > 1)
        code &= 0x7fu >> length;
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)at[i] & 0x3f);
    return code;
}

static struct glyph glyph_at(const char *at, size_t left, size_t cell)
{
    static const char spaces[RENDER_TAB] = {' ', ' ', ' ', ' '};
    size_t length = text_utf8(at, left);
    if (*at == '\t') {
        size_t cells = RENDER_TAB - cell % RENDER_TAB;
        return (struct glyph){.at = spaces, .length = cells, .step = 1, .cells = cells};
    }
    uint32_t code = length ? decode(at, length) : 0;
    if (in_ranges(code, harmful))
        return (struct glyph){.at = "?", .length = 1, .step = length ? length : 1, .cells = 1};
    size_t cells = in_ranges(code, no_cells) ? 0 : in_ranges(code, two_cells) ? 2 : 1;
    return (struct glyph){.at = at, .length = length, .step = length, .cells = cells};
}

/* Messages quote source text, so they are cleaned in the same way. */
static void render_clean(struct text *out, const char *string, size_t length)
{
    for (size_t i = 0, step; i < length; i += step) {
        struct glyph glyph = glyph_at(string + i, length - i, 0);
        step = glyph.step;
        text_add_bytes(out, glyph.at, string[i] == '\t' ? 1 : glyph.length);
    }
}

static void render_style(struct text *out, bool colour, const char *escape)
{
    if (colour)
        text_add(out, escape);
}

#define STYLE_BOLD "\033[1m"
#define STYLE_RED "\033[1;31m"
#define STYLE_CYAN "\033[1;36m"
#define STYLE_GREEN "\033[1;32m"
#define STYLE_PLAIN "\033[0m"

/* Where in the line of cells the place lies, and how many cells there are. */
struct extent {
    size_t from, to, total;
};

static struct extent measure(const char *text, struct line_column line, struct place place)
{
    struct extent extent = {0};
    size_t cell = 0;
    size_t from = place.offset < line.end ? place.offset : line.end;
    size_t to = place.length < line.end - from ? from + place.length : line.end;
    for (size_t i = line.start; i < line.end;) {
        struct glyph glyph = glyph_at(text + i, line.end - i, cell);
        if (i <= from)
            extent.from = cell;
        i += glyph.step;
        cell += glyph.cells;
        if (i <= to || (i > to && i - glyph.step < to))
            extent.to = cell;
    }
    if (from >= line.end)
        extent.from = cell;
    extent.total = cell;
    if (extent.to <= extent.from)
        extent.to = extent.from + 1;
    return extent;
}

static void render_line(struct text *out, struct place place, struct line_column line, bool colour)
{
    const char *text = place.source->text;
    struct extent extent = measure(text, line, place);
    size_t first = 0, last = extent.total;
    if (extent.total > RENDER_WIDTH) {
        first = extent.from > RENDER_BEFORE ? extent.from - RENDER_BEFORE : 0;
        if (first > extent.total - RENDER_WIDTH)
            first = extent.total - RENDER_WIDTH;
        last = first + RENDER_WIDTH;
    }
    const char *before = first > 0 ? "..." : "", *after = last < extent.total ? "..." : "";

    text_repeat(out, ' ', RENDER_INDENT);
    text_add(out, before);
    size_t cell = 0;
    for (size_t i = line.start; i < line.end && cell < last;) {
        struct glyph glyph = glyph_at(text + i, line.end - i, cell);
        i += glyph.step;
        cell += glyph.cells;
        if (cell - glyph.cells >= first && cell <= last)
            text_add_bytes(out, glyph.at, glyph.length);
        else if (cell > first) /* cut in two by the edge of the window */
            text_repeat(out, ' ',
                        (long)((cell < last ? cell : last) -
                               (cell - glyph.cells > first ? cell - glyph.cells : first)));
    }
    text_add(out, after);
    text_char(out, '\n');

    text_repeat(out, ' ', (long)(RENDER_INDENT + strlen(before) + extent.from - first));
    render_style(out, colour, STYLE_GREEN);
    text_char(out, '^');
    size_t to = extent.to > last && last > extent.from ? last : extent.to;
    text_repeat(out, '~', (long)(to - extent.from) - 1);
    render_style(out, colour, STYLE_PLAIN);
    text_char(out, '\n');
}

static void render_place(struct text *out, struct place place, struct line_column at, bool colour)
{
    const char *name = place.source->name ? place.source->name : "<text>";
    render_style(out, colour, STYLE_BOLD);
    render_clean(out, name, strlen(name));
    text_printf(out, ":%zu:%zu: ", at.line, at.column);
    render_style(out, colour, STYLE_PLAIN);
}

/* A detail may have several lines, such as the first lines a compiler said. */
static void render_detail(struct text *out, const char *detail)
{
    while (*detail) {
        size_t length = strcspn(detail, "\n");
        text_repeat(out, ' ', RENDER_INDENT);
        render_clean(out, detail, length);
        text_char(out, '\n');
        detail += length + (detail[length] == '\n');
    }
}

static void render_other(struct text *out, const struct error *error, bool colour)
{
    struct line_column at = source_locate(error->other.source, error->other.offset);
    render_place(out, error->other, at, colour);
    render_style(out, colour, STYLE_CYAN);
    text_add(out, "note: ");
    render_style(out, colour, STYLE_PLAIN);
    render_clean(out, error->other_note, strlen(error->other_note));
    text_char(out, '\n');
    render_line(out, error->other, at, colour);
}

void error_render(struct text *out, const struct error *error, bool colour)
{
    struct line_column at = {0};
    if (error->place.source) {
        at = source_locate(error->place.source, error->place.offset);
        render_place(out, error->place, at, colour);
    }
    render_style(out, colour, STYLE_RED);
    text_add(out, "error: ");
    render_style(out, colour, STYLE_PLAIN);
    render_clean(out, error->message, strlen(error->message));
    text_printf(out, " [%s]\n", error_name(error->code));
    if (error->place.source)
        render_line(out, error->place, at, colour);
    render_detail(out, error->detail);
    if (error->other.source)
        render_other(out, error, colour);
    if (error->hint[0]) {
        render_style(out, colour, STYLE_CYAN);
        text_add(out, "hint: ");
        render_style(out, colour, STYLE_PLAIN);
        render_clean(out, error->hint, strlen(error->hint));
        text_char(out, '\n');
    }
}
