/*
 * Names of the program as C identifiers. "B.0" becomes B_0; what C or the prelude uses, or what is
 * in use here already, gets a number: D_2.
 */
#include <stdio.h>
#include <string.h>

#include "gen/c/emit.h"

enum { NAME_LENGTH = 60 }; /* longer names are cut: C compilers and readers have limits */

static char taken_mark; /* its address stands for "taken" */

struct names emit_names_new(struct arena *arena)
{
    struct names names = {.arena = arena, .taken = map_new(arena)};
    for (const char *const *word = emit_reserved; *word; word++)
        map_set(&names.taken, *word, &taken_mark);
    emit_prelude_names(&names.taken, &taken_mark);
    return names;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Double underscores and those in front belong to the compiler. */
static char *identifier_of(struct arena *arena, const char *wanted)
{
    char *name = arena_alloc(arena, NAME_LENGTH + 3);
    size_t length = 0;
    if (!is_letter(wanted[0]))
        name[length++] = 'v';
    for (const char *c = wanted; *c && length < NAME_LENGTH; c++) {
        bool plain = is_letter(*c) || (*c >= '0' && *c <= '9');
        if (plain)
            name[length++] = *c;
        else if (length > 0 && name[length - 1] != '_')
            name[length++] = '_';
    }
    while (length > 1 && name[length - 1] == '_')
        length--;
    name[length] = '\0';
    return name;
}

const char *emit_name_forever(struct names *names, const char *wanted)
{
    const char *name = identifier_of(names->arena, wanted);
    if (map_get(&names->taken, name)) {
        char numbered[NAME_LENGTH + 24];
        int length = snprintf(numbered, sizeof numbered, "%s_", name);
        for (int number = 2; map_get(&names->taken, numbered) || number == 2; number++)
            snprintf(numbered + length, sizeof numbered - (size_t)length, "%d", number);
        name = arena_string(names->arena, numbered);
    }
    map_set(&names->taken, name, &taken_mark);
    if (names->given)
        map_set(names->given, name, &taken_mark);
    return name;
}

const char *emit_name(struct names *names, const char *wanted)
{
    const char *name = emit_name_forever(names, wanted);
    vector_push(names->arena, &names->stack, name);
    return name;
}

void emit_names_free(struct names *names, size_t mark)
{
    while (names->stack.count > mark)
        map_set(&names->taken, names->stack.at[--names->stack.count], NULL);
}
