/*
 * The lexer. A token that is wrong in itself (a number like 12ab, an operator of another language)
 * becomes a TOKEN_BAD that knows what a person meant; it is reported only if the parser reaches it.
 */
#include "lang/lex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const lexer_keywords[] = {
    "include", "fn",   "monoid", "op",      "task", "let",     "where", "over",
    "if",      "else", "scan",   "scatter", "loop", "with",    "next",  "each",
    "in",      "rev",  "excl",   "along",   "from", "and",     "or",    "not",
    "div",     "mod",  "true",   "false",   "unit", "ordered", NULL,
};

/* Longest first among those that begin alike. */
static const char *const signs[] = {
    "...", "..", "->", "/!", "==", "!=", "<=", ">=", "+=", "*=", "(", ")", "[", "]", "{",  "}",
    ",",   ";",  ":",  "=",  "<",  ">",  "?",  "~",  "+",  "-",  "*", "/", "%", "^", NULL,
};

/* Habits from other languages. Looked up before the signs, longest first. */
static const struct habit {
    const char *text;
    struct token_fault fault;
} habits[] = {
#define HABIT(text, message, hint)                  \
    {                                               \
        text,                                       \
        {                                           \
            ERROR_BAD_OPERATOR, true, message, hint \
        }                                           \
    }
    HABIT("===", "is not an operator", "equality is `==`"),
    HABIT("**", "is not an operator", "a power is written `a ^ b`"),
    HABIT("//", "is not an operator", "a comment starts with `#`; integers divide with `div`"),
    HABIT("/*", "does not start a comment", "a comment starts with `#` and ends with the line"),
    HABIT("-=", "is not a reduction", "to subtract, sum the negatives: `+= -(...)`"),
    HABIT("/=", "is not a reduction", "to divide, multiply the reciprocals: `*= 1 / (...)`"),
    HABIT("%=", "is not a reduction", "reductions are `+= *= max= min= and= or=` and monoids"),
    HABIT("^=", "is not a reduction", "reductions are `+= *= max= min= and= or=` and monoids"),
    HABIT("&=", "is not a reduction", "write `and=`"),
    HABIT("|=", "is not a reduction", "write `or=`"),
    HABIT(":=", "is not an operator", "a definition is written with `=`"),
    HABIT("&&", "is not an operator", "write `and`"),
    HABIT("||", "is not an operator", "write `or`"),
    HABIT("&", "is not an operator", "write `and`; for bits bitand(a, b)"),
    HABIT("|", "is not an operator", "write `or`; for bits bitor(a, b)"),
    HABIT("<>", "is not an operator", "inequality is `!=`"),
    HABIT("<<", "is not an operator", "write shl(a, n) for integers"),
    HABIT(">>", "is not an operator", "write shr(a, n) for integers"),
    HABIT("=>", "is not an operator", "`->` leads to the outputs; at least is `>=`"),
    HABIT("=<", "is not an operator", "at most is `<=`"),
    HABIT("++", "is not an operator", "there is no increment: every tensor is defined once"),
    HABIT("@", "is not an operator", "a matrix product is a sum: `c[i, j] += a[i, k] * b[k, j]`"),
    HABIT("\xe2\x88\x92", "is not the minus sign of a keyboard", "write `-`"),
    HABIT("\xe2\x80\x93", "is a dash", "write `-`"),
    HABIT("\xc3\x97", "is not an operator", "write `*`"),
    HABIT("\xc2\xb7", "is not an operator", "write `*`"),
    HABIT("\xc3\xb7", "is not an operator", "write `/`"),
    HABIT("\xe2\x89\xa4", "is not an operator", "write `<=`"),
    HABIT("\xe2\x89\xa5", "is not an operator", "write `>=`"),
    HABIT("\xe2\x89\xa0", "is not an operator", "write `!=`"),
    HABIT("\xe2\x86\x92", "is not an operator", "write `->`"),
#undef HABIT
    {"!=", {0}}, /* a real sign, before the habit it begins with */
    {"!", {ERROR_BAD_OPERATOR, true, "is not an operator", "write `not`"}},
    {"\xe2\x88\x9e", {ERROR_BAD_CHARACTER, true, "is not a name", "write `inf`"}},
    {"\xcf\x80", {ERROR_BAD_CHARACTER, true, "is not a name", "write `pi`"}},
    {"\xe2\x80\x9c", {ERROR_BAD_CHARACTER, true, "is a typographic quote", "write \""}},
    {"\xe2\x80\x9d", {ERROR_BAD_CHARACTER, true, "is a typographic quote", "write \""}},
    {"'",
     {ERROR_BAD_CHARACTER, false, "a single quote starts nothing",
      "strings stand in double quotes: \"...\""}},
};

static const struct token_fault
    fault_character = {ERROR_BAD_CHARACTER, true, "does not belong here", ""},
    fault_unicode = {ERROR_BAD_CHARACTER, true, "stands outside a comment or string",
                     "names are made of letters a-z A-Z, digits and _"},
    fault_dot = {ERROR_BAD_CHARACTER, true, "does not belong here",
                 "tensors have no fields: sizes are named in the signature, x: T[N, D]"},
    fault_string = {ERROR_UNFINISHED_STRING, false, "this string does not end on its line",
                    "close it with \" before the line ends"},
    fault_escape = {ERROR_BAD_ESCAPE, false, "this string holds an unknown escape",
                    "known are \\\" \\\\ \\n and \\t; a backslash itself is \\\\"},
    fault_name = {ERROR_NAME_TOO_LONG, false, "this name is longer than 128 characters",
                  "choose a shorter name"},
    fault_long_number = {ERROR_BAD_NUMBER, false, "this number is longer than 128 characters",
                         "write it with an exponent, like 1.5e10"},
    fault_comments = {ERROR_TOO_LARGE, false, "this file has more than a million comments",
                      "split the file and `include` the pieces"},
    fault_no_fraction = {ERROR_BAD_NUMBER, true, "has no digits after its point",
                         "write a zero there: `5.0`"},
    fault_no_whole = {ERROR_BAD_NUMBER, true, "has no digit before its point",
                      "write a zero there: `0.5`"},
    fault_exponent = {ERROR_BAD_NUMBER, true, "has no digits in its exponent",
                      "write it like `1e-5`"},
    fault_zeros = {ERROR_BAD_NUMBER, true, "starts with a zero",
                   "leave the zeros out; there are no octal numbers (0x10 is hexadecimal)"},
    fault_underscore = {ERROR_BAD_NUMBER, true, "has a _ that is not between two digits",
                        "write it like `1_000_000`"},
    fault_suffix = {ERROR_BAD_NUMBER, true, "is not a number",
                    "a number carries no suffix and a name does not start with a digit"},
    fault_radix = {ERROR_BAD_NUMBER, true, "is not a number",
                   "numbers are decimal or hexadecimal, like 0x1F"},
    fault_integer = {ERROR_NUMBER_TOO_LARGE, true, "does not fit into 64 bits",
                     "the largest integer is 9223372036854775807; a float may be larger: 1e20"},
    fault_float = {ERROR_NUMBER_TOO_LARGE, true, "is larger than any f64",
                   "the largest is about 1.8e308; infinity is written `inf`"};

struct lexer lexer_new(struct arena *arena, struct map *names, const struct source *source,
                       struct ast_comments *comments)
{
    struct lexer lexer = {.arena = arena,
                          .names = names,
                          .source = source,
                          .comments = comments,
                          .line_start = true,
                          .line_breaks = 0};
    if (source->length >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0)
        lexer.at = 3;
    return lexer;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hexadecimal(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word(char c)
{
    return is_letter(c) || is_digit(c);
}

/* Bytes of the character that starts with this one; the source is known to be UTF-8. */
static size_t character_length(unsigned char c)
{
    return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

static struct place lexer_place(const struct lexer *lexer, size_t start)
{
    return (struct place){lexer->source, start, lexer->at - start};
}

/* Whether the file has too many comments is seen by the caller: false. */
static bool comment_take(struct lexer *lexer)
{
    const char *text = lexer->source->text;
    size_t start = lexer->at, end = start;
    while (end < lexer->source->length && text[end] != '\n')
        end++;
    lexer->at = end;
    while (end > start && (text[end - 1] == '\r' || text[end - 1] == ' ' || text[end - 1] == '\t'))
        end--;
    if (lexer->comments->count >= LEX_COMMENT_MAXIMUM)
        return false;
    struct ast_comment comment = {.place = {lexer->source, start, end - start},
                                  .own_line = lexer->line_start,
                                  .blank_before = lexer->line_breaks > 1};
    vector_push(lexer->arena, lexer->comments, comment);
    lexer->line_breaks = 0;
    return true;
}

/* Up to the next token. False when a comment is one too many. */
static bool space_skip(struct lexer *lexer)
{
    const char *text = lexer->source->text;
    while (lexer->at < lexer->source->length) {
        char c = text[lexer->at];
        if (c == '\n') {
            lexer->line_start = true;
            lexer->line_breaks++;
            lexer->at++;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            lexer->at++;
        } else if (c == '#') {
            if (!comment_take(lexer))
                return false;
        } else {
            break;
        }
    }
    return true;
}

static struct token token_bad(struct token token, const struct token_fault *fault)
{
    token.kind = TOKEN_BAD;
    token.fault = fault;
    return token;
}

static struct token lex_name(struct lexer *lexer, struct token token)
{
    const char *text = lexer->source->text;
    size_t start = lexer->at;
    while (lexer->at < lexer->source->length && is_word(text[lexer->at]))
        lexer->at++;
    token.place = lexer_place(lexer, start);
    size_t length = token.place.length;
    for (const char *const *word = lexer_keywords; *word; word++) {
        if ((*word)[0] == text[start] && strlen(*word) == length &&
            memcmp(*word, text + start, length) == 0) {
            token.kind = TOKEN_KEYWORD;
            token.text = *word;
            return token;
        }
    }
    if (length > LEX_NAME_MAXIMUM)
        return token_bad(token, &fault_name);
    token.kind = TOKEN_NAME;
    token.text = map_intern(lexer->names, text + start, length);
    return token;
}

/* The extent of what a person would take for one number: 0x1F, 1_000, 1.5e-7, also 12ab, 1.2.3. */
static size_t number_extent(const char *text, size_t at, size_t length)
{
    size_t start = at;
    bool hexadecimal = at + 1 < length && text[at] == '0' && (text[at + 1] | 32) == 'x';
    while (at < length) {
        char c = text[at];
        bool exponent = !hexadecimal && at > start && (text[at - 1] | 32) == 'e';
        if (is_word(c) || ((c == '+' || c == '-') && exponent))
            at++;
        else if (c == '.' && !(at + 1 < length && text[at + 1] == '.'))
            at++;
        else
            break;
    }
    return at;
}

/* What is wrong with the spelling, or NULL. `digits` receives it without underscores. */
static const struct token_fault *number_check(const char *text, size_t length, char *digits,
                                              bool *is_float)
{
    size_t out = 0, i = 0;
    bool hexadecimal = length > 2 && text[0] == '0' && (text[1] | 32) == 'x';
    *is_float = false;
    if (length > LEX_NUMBER_MAXIMUM)
        return &fault_long_number;
    if (text[0] == '.')
        return &fault_no_whole;
    for (i = 0; i < length; i++) {
        if (text[i] != '_')
            digits[out++] = text[i];
        else if (i == 0 || i + 1 >= length || !is_hexadecimal(text[i - 1]) ||
                 !is_hexadecimal(text[i + 1]))
            return &fault_underscore;
    }
    digits[out] = 0;
    if (hexadecimal) {
        for (i = 2; i < out && is_hexadecimal(digits[i]); i++)
            ;
        return i < out ? &fault_radix : NULL;
    }
    if (length > 1 && text[0] == '0' && (is_letter(text[1]) && (text[1] | 32) != 'e'))
        return &fault_radix;
    for (i = 0; is_digit(digits[i]); i++)
        ;
    if (i > 1 && digits[0] == '0')
        return &fault_zeros;
    if (digits[i] == '.') {
        *is_float = true;
        if (!is_digit(digits[++i]))
            return &fault_no_fraction;
        while (is_digit(digits[i]))
            i++;
    }
    if ((digits[i] | 32) == 'e') {
        *is_float = true;
        i++;
        if (digits[i] == '+' || digits[i] == '-')
            i++;
        if (!is_digit(digits[i]))
            return &fault_exponent;
        while (is_digit(digits[i]))
            i++;
    }
    return i < out ? &fault_suffix : NULL;
}

static struct token lex_number(struct lexer *lexer, struct token token)
{
    const char *text = lexer->source->text;
    size_t start = lexer->at;
    char digits[LEX_NUMBER_MAXIMUM + 1];
    bool is_float;
    lexer->at = number_extent(text, start, lexer->source->length);
    token.place = lexer_place(lexer, start);
    const struct token_fault *fault =
        number_check(text + start, token.place.length, digits, &is_float);
    if (fault)
        return token_bad(token, fault);
    errno = 0;
    if (is_float) {
        token.kind = TOKEN_FLOAT;
        token.number = strtod(digits, NULL);
        return token.number > 1.7976931348623157e308 ? token_bad(token, &fault_float) : token;
    }
    token.kind = TOKEN_INTEGER;
    bool hexadecimal = digits[0] == '0' && (digits[1] | 32) == 'x';
    token.integer = strtoll(digits, NULL, hexadecimal ? 16 : 10);
    return errno == ERANGE ? token_bad(token, &fault_integer) : token;
}

static struct token lex_string(struct lexer *lexer, struct token token)
{
    const char *text = lexer->source->text;
    size_t start = lexer->at++, length = lexer->source->length;
    bool bad_escape = false;
    while (lexer->at < length && text[lexer->at] != '"' && text[lexer->at] != '\n') {
        bool escape = text[lexer->at] == '\\' && lexer->at + 1 < length;
        if (escape && text[lexer->at + 1] != '\n') {
            lexer->at++;
            bad_escape |= strchr("\"\\nt", text[lexer->at]) == NULL;
        }
        lexer->at++;
    }
    bool closed = lexer->at < length && text[lexer->at] == '"';
    lexer->at += closed;
    token.place = lexer_place(lexer, start);
    token.kind = TOKEN_STRING;
    if (!closed)
        return token_bad(token, &fault_string);
    return bad_escape ? token_bad(token, &fault_escape) : token;
}

static bool lexer_sees(const struct lexer *lexer, const char *text)
{
    if (lexer->source->text[lexer->at] != text[0])
        return false;
    size_t length = strlen(text);
    return lexer->source->length - lexer->at >= length &&
           memcmp(lexer->source->text + lexer->at, text, length) == 0;
}

static struct token lex_sign(struct lexer *lexer, struct token token)
{
    size_t start = lexer->at;
    bool plain = strchr("()[]{},;?~", lexer->source->text[start]) != NULL;
    for (size_t i = 0; i < sizeof habits / sizeof *habits && !plain; i++) {
        if (!lexer_sees(lexer, habits[i].text))
            continue;
        if (!habits[i].fault.message)
            break;
        lexer->at += strlen(habits[i].text);
        token.place = lexer_place(lexer, start);
        return token_bad(token, &habits[i].fault);
    }
    for (const char *const *sign = signs; *sign; sign++) {
        if (!lexer_sees(lexer, *sign))
            continue;
        lexer->at += strlen(*sign);
        token.place = lexer_place(lexer, start);
        token.kind = TOKEN_SIGN;
        token.text = *sign;
        return token;
    }
    unsigned char c = (unsigned char)lexer->source->text[start];
    lexer->at += character_length(c);
    if (lexer->at > lexer->source->length)
        lexer->at = lexer->source->length;
    token.place = lexer_place(lexer, start);
    return token_bad(token, c >= 0x80 ? &fault_unicode : c == '.' ? &fault_dot : &fault_character);
}

struct token lexer_next(struct lexer *lexer)
{
    struct token token = {.kind = TOKEN_END};
    bool fits = space_skip(lexer);
    token.line_start = lexer->line_start;
    lexer->line_start = false;
    lexer->line_breaks = 0;
    token.place = lexer_place(lexer, lexer->at);
    if (!fits) {
        lexer->at = lexer->source->length;
        return token_bad(token, &fault_comments);
    }
    if (lexer->at >= lexer->source->length)
        return token;
    const char *text = lexer->source->text + lexer->at;
    if (is_letter(*text))
        return lex_name(lexer, token);
    if (is_digit(*text) ||
        (*text == '.' && lexer->at + 1 < lexer->source->length && is_digit(text[1])))
        return lex_number(lexer, token);
    if (*text == '"')
        return lex_string(lexer, token);
    return lex_sign(lexer, token);
}

const char *lexer_string(struct arena *arena, const struct token *token)
{
    const char *from = token->place.source->text + token->place.offset + 1;
    size_t length = token->place.length - 2, out = 0;
    char *text = arena_alloc(arena, length + 1);
    for (size_t i = 0; i < length; i++) {
        if (from[i] == '\\') {
            i++;
            text[out++] = from[i] == 'n' ? '\n' : from[i] == 't' ? '\t' : from[i];
        } else {
            text[out++] = from[i];
        }
    }
    return text;
}

/* Bytes of the well-formed UTF-8 character at text, 0 if there is none. */
static size_t utf8_check(const unsigned char *text, size_t length)
{
    unsigned char c = text[0];
    size_t size = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (size == 0 || size > length)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    /* too long a form, surrogates, beyond U+10FFFF */
    if ((c == 0xe0 && text[1] < 0xa0) || (c == 0xed && text[1] > 0x9f) ||
        (c == 0xf0 && text[1] < 0x90) || (c == 0xf4 && text[1] > 0x8f))
        return 0;
    return size;
}

bool lexer_is_text(const struct source *source, struct errors *errors)
{
    const unsigned char *text = (const unsigned char *)source->text;
    if (source->length > LEX_SOURCE_MAXIMUM) {
        struct error *error = errors_add(errors, ERROR_TOO_LARGE, (struct place){0},
                                         "'%.200s' is larger than 64 MiB", source->name);
        error_detail(error, "it has %zu bytes", source->length);
        error_hint(error, "split it and `include` the pieces");
        return false;
    }
    for (size_t i = 0, size; i < source->length; i += size) {
        unsigned char c = text[i];
        struct place place = {source, i, 1};
        size = utf8_check(text + i, source->length - i);
        if (size == 0) {
            struct error *error =
                errors_add(errors, ERROR_INVALID_UTF8, place, "byte 0x%02x is not valid UTF-8", c);
            error_hint(error, "save the file as UTF-8");
            return false;
        }
        bool line_end = c == '\r' && i + 1 < source->length && text[i + 1] == '\n';
        if ((c < 0x20 && c != '\n' && c != '\t' && !line_end) || c == 0x7f) {
            struct error *error = errors_add(errors, ERROR_BAD_CHARACTER, place,
                                             "control character 0x%02x in the text", c);
            error_hint(error, c == 0      ? "is this a text file?"
                              : c == '\r' ? "end lines with a line feed"
                                          : "take it out");
            return false;
        }
    }
    return true;
}
