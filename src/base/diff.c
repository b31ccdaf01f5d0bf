/*
 * The shortest way from one text to another, by Myers' greedy search: for every number of changes,
 * how far one gets along each diagonal.
 */
#include "base/diff.h"

#include <string.h>

struct line {
    const char *text;
    size_t length;
};
struct lines VECTOR(struct line);

static struct lines split(struct arena *arena, const char *text)
{
    struct lines lines = {0};
    while (*text && lines.count < DIFF_LINES_MOST) {
        size_t length = strcspn(text, "\n");
        vector_push(arena, &lines, ((struct line){text, length}));
        text += length + (text[length] != 0);
    }
    return lines;
}

static bool same(const struct line *a, const struct line *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

struct search {
    struct lines before, after;
    int first, before_end, after_end; /* what is alike at both ends is left out */
    int **reached;                    /* after each number of changes, along diagonals -d..d */
    int steps;
};

static int at(const int *reached, int steps, int diagonal)
{
    return reached[diagonal + steps];
}

/* Whether the way to a diagonal comes from the one above (a line added), or from the one below. */
static bool comes_down(const int *last, int steps, int diagonal)
{
    return diagonal == -steps || (diagonal != steps && at(last, steps - 1, diagonal - 1) <
                                                           at(last, steps - 1, diagonal + 1));
}

/* How far along `diagonal` with `steps` changes, given how far with one less. */
static int advance(const struct search *search, const int *last, int steps, int diagonal)
{
    int x = 0;
    if (steps > 0)
        x = comes_down(last, steps, diagonal) ? at(last, steps - 1, diagonal + 1)
                                              : at(last, steps - 1, diagonal - 1) + 1;
    int y = x - diagonal;
    while (search->first + x < search->before_end && search->first + y < search->after_end &&
           same(&search->before.at[search->first + x], &search->after.at[search->first + y])) {
        x++;
        y++;
    }
    return x;
}

/* False: there are too many changes. */
static bool find(struct arena *arena, struct search *search)
{
    int width = search->before_end - search->first, height = search->after_end - search->first;
    search->reached = arena_array(arena, DIFF_STEPS_MOST + 1, sizeof *search->reached);
    for (int steps = 0; steps <= DIFF_STEPS_MOST; steps++) {
        int *reached = arena_array(arena, (size_t)(2 * steps + 1), sizeof *reached);
        search->reached[steps] = reached;
        for (int diagonal = -steps; diagonal <= steps; diagonal++) {
            if ((diagonal + steps) % 2)
                continue;
            int x = advance(search, steps ? search->reached[steps - 1] : NULL, steps, diagonal);
            reached[diagonal + steps] = x;
            if (x >= width && x - diagonal >= height) {
                search->steps = steps;
                return true;
            }
        }
    }
    return false;
}

static void push(struct arena *arena, struct diff_lines *out, const struct search *search,
                 enum diff_kind kind, int x, int y)
{
    const struct line *line = kind == DIFF_ADDED ? &search->after.at[y] : &search->before.at[x];
    vector_push(arena, out,
                ((struct diff_line){kind, line->text, line->length, kind == DIFF_ADDED ? 0 : x + 1,
                                    kind == DIFF_REMOVED ? 0 : y + 1}));
}

/* The way found, from its end to its start, into `out` backwards. */
static void walk_back(struct arena *arena, const struct search *search, struct diff_lines *out)
{
    int x = search->before_end - search->first, y = search->after_end - search->first;
    for (int steps = search->steps; steps > 0; steps--) {
        const int *last = search->reached[steps - 1];
        int diagonal = x - y;
        bool down = comes_down(last, steps, diagonal);
        int from = down ? diagonal + 1 : diagonal - 1;
        int from_x = at(last, steps - 1, from), from_y = from_x - from;
        while (x > from_x + !down && y > from_y + down)
            push(arena, out, search, DIFF_SAME, search->first + --x, search->first + --y);
        if (down)
            push(arena, out, search, DIFF_ADDED, 0, search->first + --y);
        else
            push(arena, out, search, DIFF_REMOVED, search->first + --x, 0);
    }
    while (x > 0 && y > 0)
        push(arena, out, search, DIFF_SAME, search->first + --x, search->first + --y);
}

struct diff_lines diff_texts(struct arena *arena, const char *before, const char *after)
{
    struct search search = {.before = split(arena, before), .after = split(arena, after)};
    struct diff_lines out = {0}, middle = {0};
    int lines = (int)search.before.count, others = (int)search.after.count;
    while (search.first < lines && search.first < others &&
           same(&search.before.at[search.first], &search.after.at[search.first])) {
        push(arena, &out, &search, DIFF_SAME, search.first, search.first);
        search.first++;
    }
    search.before_end = lines;
    search.after_end = others;
    while (search.before_end > search.first && search.after_end > search.first &&
           same(&search.before.at[search.before_end - 1], &search.after.at[search.after_end - 1])) {
        search.before_end--;
        search.after_end--;
    }
    if (find(arena, &search)) {
        walk_back(arena, &search, &middle);
        for (size_t i = middle.count; i > 0; i--)
            vector_push(arena, &out, middle.at[i - 1]);
    } else {
        for (int x = search.first; x < search.before_end; x++)
            push(arena, &out, &search, DIFF_REMOVED, x, 0);
        for (int y = search.first; y < search.after_end; y++)
            push(arena, &out, &search, DIFF_ADDED, 0, y);
    }
    for (int i = 0; search.before_end + i < lines; i++)
        push(arena, &out, &search, DIFF_SAME, search.before_end + i, search.after_end + i);
    return out;
}

bool diff_any(const struct diff_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        if (lines->at[i].kind != DIFF_SAME)
            return true;
    return false;
}

/* ---- as `diff -u` prints it ---- */

/* Where a hunk that begins at `start` ends: when nothing changes for long. */
static size_t hunk_end(const struct diff_lines *lines, size_t start, int around)
{
    size_t end = start, quiet = 0;
    for (size_t i = start; i < lines->count && quiet <= 2 * (size_t)around; i++) {
        quiet = lines->at[i].kind == DIFF_SAME ? quiet + 1 : 0;
        if (quiet == 0)
            end = i + 1;
    }
    end += (size_t)around;
    return end < lines->count ? end : lines->count;
}

static void print_hunk(struct text *out, const struct diff_lines *lines, size_t start, size_t end)
{
    int before = 0, after = 0, before_count = 0, after_count = 0;
    for (size_t i = start; i < end; i++) {
        const struct diff_line *line = &lines->at[i];
        if (line->before && !before)
            before = line->before;
        if (line->after && !after)
            after = line->after;
        before_count += line->kind != DIFF_ADDED;
        after_count += line->kind != DIFF_REMOVED;
    }
    text_printf(out, "@@ -%d,%d +%d,%d @@\n", before, before_count, after, after_count);
    for (size_t i = start; i < end; i++)
        text_printf(out, "%c%.*s\n", " -+"[lines->at[i].kind], (int)lines -> at[i].length,
                    lines->at[i].text);
}

void diff_print(struct text *out, const struct diff_lines *lines, const char *before,
                const char *after, int around)
{
    if (!diff_any(lines))
        return;
    text_printf(out, "--- %s\n+++ %s\n", before, after);
    for (size_t i = 0; i < lines->count; i++) {
        if (lines->at[i].kind == DIFF_SAME)
            continue;
        size_t start = i > (size_t)around ? i - (size_t)around : 0;
        size_t end = hunk_end(lines, i, around);
        print_hunk(out, lines, start, end);
        i = end;
    }
}
