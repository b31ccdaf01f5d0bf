/*
 * From the pieces (vector.h) to the text of a file: which are mentioned, for which types and lanes.
 */
#include "gen/c/vector.h"

#include <stdlib.h>
#include <string.h>

#include "gen/c/emit.h"

enum { MOST_LANES_LOG = 6, TYPE_COUNT = 10 };

static const struct lane_type {
    const char *name, *element;
    int bytes;
    const char *builtin_type, *builtin_name; /* of integers as wide, to x86 */
} TYPES[TYPE_COUNT] = {
    {"f32", "float", 4, "int", "si"},      {"f64", "double", 8, "long long", "di"},
    {"i32", "int32_t", 4, "int", "si"},    {"i64", "int64_t", 8, "long long", "di"},
    {"u32", "uint32_t", 4, "int", "si"},   {"u64", "uint64_t", 8, "long long", "di"},
    {"u16", "uint16_t", 2, "short", "hi"}, {"i16", "int16_t", 2, "short", "hi"},
    {"u8", "uint8_t", 1, "char", "qi"},    {"i8", "int8_t", 1, "char", "qi"},
};

struct vector_type {
    int type, lanes_log;
};

/* "f32x16_exp" is a type, 4, and "exp"; "" when nothing follows the type. */
static bool parse_name(const char *word, size_t length, struct vector_type *type, const char **rest)
{
    for (int i = 0; i < TYPE_COUNT; i++) {
        size_t head = strlen(TYPES[i].name);
        if (length <= head + 1 || strncmp(word, TYPES[i].name, head) != 0 || word[head] != 'x')
            continue;
        char *end;
        long lanes = strtol(word + head + 1, &end, 10);
        type->type = i;
        for (type->lanes_log = 1; type->lanes_log <= MOST_LANES_LOG; type->lanes_log++) {
            if (lanes == 1L << type->lanes_log)
                break;
        }
        if (type->lanes_log > MOST_LANES_LOG)
            return false;
        *rest = *end == '_' ? end + 1 : "";
        return (size_t)(end - word) == length || *end == '_';
    }
    return false;
}

bool vector_is_name(const char *name)
{
    struct vector_type type;
    const char *rest;
    return parse_name(name, strlen(name), &type, &rest);
}

/* ---- a piece for a type ---- */

static void add_list(struct text *out, const char *what, int lanes)
{
    enum { PER_LINE = 16 };
    bool low = strcmp(what, "low") == 0, high = strcmp(what, "high") == 0;
    bool numbers = low || high || strcmp(what, "iota") == 0;
    int from = high ? lanes / 2 : 0, to = low ? lanes / 2 : lanes;
    for (int i = from; i < to; i++) {
        text_add(out, i == from ? "" : (i - from) % PER_LINE ? ", " : ",\n        ");
        if (numbers)
            text_printf(out, "%d", i);
        else
            text_add(out, what);
    }
}

static void add_letter(struct text *out, char letter, struct vector_type type)
{
    const struct lane_type *lane = &TYPES[type.type];
    int lanes = 1 << type.lanes_log;
    bool wide = lane->bytes == 8;
    switch (letter) {
    case 'V': text_printf(out, "%sx%d", lane->name, lanes); break;
    case 'H': text_printf(out, "%sx%d", lane->name, lanes / 2); break;
    case 'T': text_add(out, lane->name); break;
    case 'E': text_add(out, lane->element); break;
    case 'N': text_printf(out, "%d", lanes); break;
    case 'B': text_printf(out, "%d", lane->bytes); break;
    case 'Z': text_printf(out, "%d", lane->bytes * lanes); break;
    case 'b': text_printf(out, "%d", lane->bytes * lanes * 8); break;
    case 'I': text_printf(out, "%sx%d", wide ? "i64" : "i32", lanes); break;
    case 'U': text_printf(out, "%sx%d", wide ? "u64" : "u32", lanes); break;
    case 'M': text_printf(out, "i32x%d", lanes); break;
    case 'F': text_printf(out, "f32x%d", lanes); break;
    case 'D': text_printf(out, "f64x%d", lanes); break;
    case 'L': text_printf(out, "i64x%d", lanes); break;
    case 'X': text_printf(out, "u32x%d", lanes); break;
    case 'W': text_printf(out, "u16x%d", lanes); break;
    case 'Y': text_printf(out, "u8x%d", lanes); break;
    case 'S': text_printf(out, "i16x%d", lanes); break;
    case 'Q': text_printf(out, "i8x%d", lanes); break;
    case '@': text_add(out, strcmp(lane->name, "f32") == 0 ? "f" : ""); break;
    case 'w': text_add(out, lane->builtin_type); break;
    case 'k': text_add(out, lane->builtin_name); break;
    default: text_char(out, letter); break;
    }
}

static const char *instantiate(struct arena *arena, const char *text, struct vector_type type)
{
    struct text out = text_new(arena);
    while (*text) {
        size_t plain = strcspn(text, "$");
        text_add_bytes(&out, text, plain);
        text += plain;
        if (*text == '\0')
            break;
        if (text[1] == '[') {
            size_t length = strcspn(text, "]");
            add_list(&out, arena_copy(arena, text + 2, length - 2), 1 << type.lanes_log);
            text += length + 1;
        } else {
            add_letter(&out, text[1], type);
            text += 2;
        }
    }
    return out.at;
}

/* ---- which ---- */

static const struct vector_piece *const TABLES[] = {vector_memory, vector_values, vector_words,
                                                    vector_math, vector_libm};

enum { TABLE_COUNT = sizeof TABLES / sizeof *TABLES };

static bool fits(const struct vector_piece *piece, const char *name, struct vector_type type)
{
    const struct lane_type *lane = &TYPES[type.type];
    if (strcmp(piece->name, name) != 0)
        return false;
    if (piece->bytes && piece->bytes != lane->bytes << type.lanes_log)
        return false;
    if (!*piece->types)
        return true;
    const char *found = strstr(piece->types, lane->name);
    size_t length = strlen(lane->name);
    return found && (found[length] == ' ' || found[length] == '\0');
}

struct wanted_piece {
    const struct vector_piece *piece;
    struct vector_type type;
    const char *text;
    int order;
};
struct wanted_pieces VECTOR(struct wanted_piece);

static bool find_piece(const char *name, struct vector_type type, struct wanted_piece *found)
{
    int order = 0;
    for (int table = 0; table < TABLE_COUNT; table++) {
        for (const struct vector_piece *piece = TABLES[table]; piece->name; piece++, order++) {
            if (fits(piece, name, type)) {
                *found = (struct wanted_piece){piece, type, NULL, order};
                return true;
            }
        }
    }
    return false;
}

static int compare_pieces(const void *a, const void *b)
{
    const struct wanted_piece *x = a, *y = b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    if (x->type.lanes_log != y->type.lanes_log)
        return x->type.lanes_log < y->type.lanes_log ? -1 : 1;
    return (x->type.type > y->type.type) - (x->type.type < y->type.type);
}

static void add_words(struct arena *arena, struct map *words, const char *text)
{
    struct text all = text_new(arena);
    text_add(&all, text);
    struct map more = emit_words(arena, &all);
    for (size_t i = 0; i < more.count; i++)
        map_set_bytes(words, more.entries[i].key, more.entries[i].length, words);
}

static void print_types(struct text *out, bool used[TYPE_COUNT][MOST_LANES_LOG + 1])
{
    bool first = true;
    for (int type = 0; type < TYPE_COUNT; type++) {
        for (int lanes = 1; lanes <= MOST_LANES_LOG; lanes++) {
            if (!used[type][lanes])
                continue;
            text_printf(out, "%stypedef %s %sx%d __attribute__((vector_size(%d)));\n",
                        first ? "\n" : "", TYPES[type].element, TYPES[type].name, 1 << lanes,
                        TYPES[type].bytes << lanes);
            first = false;
        }
    }
}

static const char HAS_MASKS[] =
    "\n#if defined __AVX512VL__ && defined __AVX512BW__ && defined __AVX512DQ__\n"
    "#define HAS_MASKS 1 /* loads and stores of some lanes only */\n"
    "#endif\n";

/* Some vectors fit no register to be passed in: since all is inlined there is nothing to say. */
static const char INLINED[] =
    "\n#define INLINE static inline __attribute__((always_inline, unused))\n"
    "#ifndef __clang__\n"
    "#pragma GCC diagnostic ignored \"-Wpsabi\"\n"
    "#endif\n";

void vector_prelude(struct arena *arena, struct text *out, const struct text *text)
{
    bool used[TYPE_COUNT][MOST_LANES_LOG + 1] = {{false}};
    struct wanted_pieces wanted = {0};
    struct map words = map_new(arena);
    add_words(arena, &words, text->at);
    for (size_t i = 0; i < words.count; i++) { /* grows meanwhile */
        struct vector_type type;
        const char *name;
        struct wanted_piece found;
        const char *word = arena_copy(arena, words.entries[i].key, words.entries[i].length);
        if (!parse_name(word, words.entries[i].length, &type, &name))
            continue;
        used[type.type][type.lanes_log] = true;
        if (!*name || !find_piece(name, type, &found))
            continue;
        found.text = instantiate(arena, found.piece->text, type);
        add_words(arena, &words, found.text);
        vector_push(arena, &wanted, found);
    }
    if (wanted.count)
        qsort(wanted.at, wanted.count, sizeof *wanted.at, compare_pieces);
    if (wanted.count)
        text_add(out, INLINED);
    if (map_has(&words, "HAS_MASKS"))
        text_add(out, HAS_MASKS);
    print_types(out, used);
    for (size_t i = 0; i < wanted.count; i++)
        text_printf(out, "\n%s", wanted.at[i].text);
}
