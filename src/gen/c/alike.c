/*
 * Functions that are the same but for names: groups of a program that are alike (the blocks of a
 * network) are written once and called for each.
 *
 * The shape of a text is the text with each name that was given here replaced by the number of its
 * first occurrence, without comments and with single blanks. Texts of one shape become each other
 * by renaming, so they do the same.
 */
#include <stdint.h>
#include <string.h>

#include "gen/c/emit.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9');
}

/* Past blanks and comments. */
static size_t skip_blanks(const char *text, size_t at)
{
    for (;;) {
        if (text[at] == ' ' || text[at] == '\n') {
            at++;
        } else if (text[at] == '/' && text[at + 1] == '*') {
            const char *end = strstr(text + at + 2, "*/");
            at = end ? (size_t)(end - text) + 2 : strlen(text);
        } else {
            return at;
        }
    }
}

/* The number of a name, given on first sight. */
static int number_of(struct shape *shape, struct map *numbers, const char *name, size_t length)
{
    intptr_t number = (intptr_t)map_get_bytes(numbers, name, length);
    if (!number) {
        vector_push(shape->text.arena, &shape->names, arena_copy(shape->text.arena, name, length));
        number = (intptr_t)shape->names.count;
        map_set_bytes(numbers, name, length, (void *)number);
    }
    return (int)number;
}

struct shape emit_shape(struct arena *arena, const struct text *text, const struct map *given)
{
    struct shape shape = {.text = text_new(arena)};
    struct map numbers = map_new(arena);
    const char *at = text->at;
    for (size_t i = skip_blanks(at, 0), end = i; i < text->length;
         end = i, i = skip_blanks(at, i)) {
        size_t start = i;
        while (is_word(at[i]))
            i++;
        i += i == start;
        bool field = start > 0 && at[start - 1] == '.';
        if (start != end)
            text_char(&shape.text, ' ');
        if (is_letter(at[start]) && !field && map_get_bytes(given, at + start, i - start))
            text_printf(&shape.text, "$%d", number_of(&shape, &numbers, at + start, i - start));
        else
            text_add_bytes(&shape.text, at + start, i - start);
    }
    return shape;
}
