/*
 * Text from outside made harmless, and C made readable.
 */
#include <ctype.h>
#include <string.h>

#include "report/private.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Characters that turn the direction of writing: what they show is not what is there. */
static bool is_turning(const char *at, size_t length)
{
    const unsigned char *u = (const unsigned char *)at;
    if (length != 3 || u[0] != 0xe2)
        return false;
    return (u[1] == 0x80 && ((u[2] >= 0xaa && u[2] <= 0xae) || u[2] == 0x8e || u[2] == 0x8f)) ||
           (u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9);
}

static void escape_bytes(struct text *out, const char *at, size_t left)
{
    while (left > 0) {
        size_t length = text_utf8(at, left);
        unsigned char c = (unsigned char)*at;
        bool control = length == 1 && (c < 0x20 || c == 0x7f) && c != '\n' && c != '\t';
        if (length == 0 || control || is_turning(at, length))
            text_add(out, replacement);
        else if (c == '&')
            text_add(out, "&amp;");
        else if (c == '<')
            text_add(out, "&lt;");
        else if (c == '>')
            text_add(out, "&gt;");
        else if (c == '"')
            text_add(out, "&quot;");
        else if (c == '\'')
            text_add(out, "&#39;");
        else
            text_add_bytes(out, at, length);
        length += length == 0;
        at += length;
        left -= length;
    }
}

void html_escape(struct text *out, const char *string)
{
    if (string)
        escape_bytes(out, string, strlen(string));
}

/* ---- C ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool is_keyword(const char *at, size_t length)
{
    static const char *const words[] = {
        "int",    "long",   "double", "float",  "void",   "char",    "const",    "static",
        "for",    "if",     "else",   "while",  "return", "typedef", "struct",   "unsigned",
        "sizeof", "inline", "do",     "switch", "case",   "break",   "continue", "restrict",
        "enum",   "union",  "short",  "signed", "goto",   "default", "extern"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == length && memcmp(words[i], at, length) == 0)
            return true;
    return false;
}

/* Where the piece that begins here ends, and what it is: c comment, k keyword, n number, s string,
 * p preprocessor; 0: nothing special. */
static size_t piece_at(const char *at, bool line_begins, char *kind)
{
    *kind = 0;
    if (at[0] == '/' && at[1] == '/') {
        *kind = 'c';
        return strcspn(at, "\n");
    }
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        *kind = 'c';
        return end ? (size_t)(end + 2 - at) : strlen(at);
    }
    if (*at == '#' && line_begins) {
        *kind = 'p';
        return strcspn(at, "\n");
    }
    if (*at == '"' || *at == '\'') {
        size_t length = 1;
        while (at[length] && at[length] != *at && at[length] != '\n')
            length += at[length] == '\\' && at[length + 1] ? 2 : 1;
        *kind = 's';
        return length + (at[length] == *at);
    }
    size_t length = 0;
    while (is_word(at[length]) || (length > 0 && isdigit((unsigned char)*at) && at[length] == '.'))
        length++;
    if (length > 0)
        *kind = isdigit((unsigned char)*at) ? 'n' : is_keyword(at, length) ? 'k' : 0;
    return length > 0 ? length : 1;
}

void html_code(struct text *out, const char *source)
{
    size_t left = strlen(source);
    bool shortened = left > REPORT_SOURCE, line_begins = true;
    const char *end = source + (shortened ? REPORT_SOURCE : left);
    while (source < end) {
        char kind;
        size_t length = piece_at(source, line_begins, &kind);
        if (length > (size_t)(end - source))
            length = (size_t)(end - source);
        if (kind)
            text_printf(out, "<i class=%c>", kind);
        /* Bytes of one character stay together. */
        while ((unsigned char)source[0] >= 0x80 && source + length < end &&
               ((unsigned char)source[length] & 0xc0) == 0x80)
            length++;
        escape_bytes(out, source, length);
        if (kind)
            text_add(out, "</i>");
        line_begins = *source == '\n' || (line_begins && *source == ' ');
        source += length;
    }
    if (shortened)
        text_add(out, "\n(shortened here; smelt best prints all of it)\n");
}

/* ---- who proposed it ---- */

const char *report_proposer(const struct candidate *candidate)
{
    const char *proposer = candidate->proposer ? candidate->proposer : "";
    return strncmp(proposer, "expert:", 7) == 0 ? proposer + 7 : proposer;
}

const char *report_colour(const char *proposer)
{
    static const char *const known[][2] = {
        {"seed", "p0"},       {"fusion", "p1"}, {"memory", "p2"},  {"instruction", "p3"},
        {"latency", "p4"},    {"tuning", "p5"}, {"algebra", "p6"}, {"repair", "p7"},
        {"experience", "p8"}, {"remedy", "p10"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i][0], proposer) == 0)
            return known[i][1];
    return "p9";
}
