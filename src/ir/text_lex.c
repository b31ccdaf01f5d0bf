/*
 * The text form, lowest level: tokens, names, numbers and sizes.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"

static int peek(const struct reader *r, size_t ahead)
{
    size_t at = r->offset + ahead;
    return at < r->source->length ? (unsigned char)r->source->text[at] : 0;
}

static void pass_space(struct reader *r)
{
    for (;;) {
        int c = peek(r, 0);
        if (c == '#') {
            while (r->offset < r->source->length && peek(r, 0) != '\n')
                r->offset++;
        } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            r->offset++;
        } else {
            return;
        }
    }
}

static const char *token_copy(struct reader *r, size_t start)
{
    return map_intern(&r->names, r->source->text + start, r->offset - start);
}

/* Digits as an int; what does not fit becomes INT32_MAX, which is beyond every count. */
static int pass_digits(struct reader *r)
{
    int64_t value = 0;

    for (; peek(r, 0) < 128 && isdigit(peek(r, 0)); r->offset++) {
        if (value < INT32_MAX)
            value = value * 10 + (peek(r, 0) - '0');
    }
    return value < INT32_MAX ? (int)value : INT32_MAX;
}

/* "%1": a name that could be taken for something else. */
static bool lex_quoted(struct reader *r)
{
    size_t start = ++r->offset;

    while (peek(r, 0) != '"') {
        if (r->offset - start >= IR_TEXT_NAME || peek(r, 0) < ' ' || peek(r, 0) > '~')
            return reader_fail(r, IR_SYNTAX, "a quoted name does not end, or has odd characters");
        r->offset++;
    }
    r->token.quoted = true;
    r->token.text = token_copy(r, start);
    r->offset++;
    return true;
}

/* A word may have dots inside: B.0, h.next. */
static bool lex_word(struct reader *r)
{
    size_t start = r->offset;

    while (ir_text_word(peek(r, 0)) || (peek(r, 0) == '.' && ir_text_word(peek(r, 1))))
        r->offset++;
    if (r->offset - start > IR_TEXT_NAME)
        return reader_fail(r, IR_LIMIT, "a name is longer than %d characters", IR_TEXT_NAME);
    r->token.text = token_copy(r, start);
    return true;
}

/* A word or a quoted name, then perhaps #5 or @0. */
static bool lex_name(struct reader *r)
{
    r->token.kind = TOKEN_NAME;
    if (!(peek(r, 0) == '"' ? lex_quoted(r) : lex_word(r)))
        return false;
    if ((peek(r, 0) == '#' || peek(r, 0) == '@') && peek(r, 1) < 128 && isdigit(peek(r, 1))) {
        r->token.suffix = (char)peek(r, 0);
        r->offset++;
        r->token.number = pass_digits(r);
    }
    return true;
}

static bool lex_number(struct reader *r)
{
    size_t start = r->offset;

    pass_digits(r);
    if (peek(r, 0) == '.' && isdigit(peek(r, 1))) {
        r->offset++;
        pass_digits(r);
    }
    if (peek(r, 0) == 'e' && (isdigit(peek(r, 1)) ||
                              ((peek(r, 1) == '-' || peek(r, 1) == '+') && isdigit(peek(r, 2))))) {
        r->offset += 2;
        pass_digits(r);
    }
    r->token.kind = TOKEN_NUMBER;
    if (r->offset - start > IR_TEXT_NAME)
        return reader_fail(r, IR_LIMIT, "a number is longer than %d characters", IR_TEXT_NAME);
    r->token.text = token_copy(r, start);
    return true;
}

static bool lex_sign(struct reader *r)
{
    static const char *const signs[] = {"<-", "->", "<=", "==", "!=", "..", "{", "}",
                                        "(",  ")",  "[",  "]",  ",",  "<",  "|", "=",
                                        "~",  "+",  "-",  "*",  "/",  "%"};

    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t length = strlen(signs[i]);
        if (peek(r, 0) == signs[i][0] && (length == 1 || peek(r, 1) == signs[i][1])) {
            r->token.kind = TOKEN_SIGN;
            r->token.text = signs[i];
            r->offset += length;
            return true;
        }
    }
    r->token.place.length = 1;
    return reader_fail(r, IR_SYNTAX, "a character that has no meaning here");
}

bool reader_next(struct reader *r)
{
    pass_space(r);
    int c = peek(r, 0);
    size_t start = r->offset;
    bool good = true;

    r->token = (struct token){.place = {r->source, start, 0}, .text = "the end of the text"};
    if (start == r->source->length)
        return true;
    if (c == '%' && peek(r, 1) < 128 && isdigit(peek(r, 1))) {
        r->offset++;
        r->token.kind = TOKEN_NODE;
        r->token.number = pass_digits(r);
        r->token.text = token_copy(r, start);
    } else if (c < 128 && isdigit(c)) {
        good = lex_number(r);
    } else if (ir_text_word(c) || c == '"') {
        good = lex_name(r);
    } else {
        good = lex_sign(r);
    }
    if (good)
        r->token.place.length = r->offset - start;
    return good;
}

bool reader_is(const struct reader *r, const char *text)
{
    bool bare = r->token.kind == TOKEN_NAME && !r->token.suffix && !r->token.quoted;

    return (r->token.kind == TOKEN_SIGN || bare) && strcmp(r->token.text, text) == 0;
}

bool reader_skip(struct reader *r, const char *text, bool *found)
{
    bool there = reader_is(r, text);

    if (found)
        *found = there;
    if (there)
        return reader_next(r);
    return found || reader_fail(r, IR_SYNTAX, "expected '%s', found '%s'", text, r->token.text);
}

bool reader_name(struct reader *r, const char **name)
{
    if (r->token.kind != TOKEN_NAME || r->token.suffix)
        return reader_fail(r, IR_SYNTAX, "expected a name, found '%s'", r->token.text);
    *name = r->token.text;
    return reader_next(r);
}

bool reader_type(struct reader *r, enum dtype *dtype)
{
    if (r->token.kind != TOKEN_NAME || r->token.suffix || !dtype_parse(r->token.text, dtype))
        return reader_fail(r, IR_SYNTAX, "expected a type such as f32, found '%s'", r->token.text);
    return reader_next(r);
}

bool reader_integer(struct reader *r, int64_t *value)
{
    bool negative;

    if (!reader_skip(r, "-", &negative))
        return false;
    const char *digits = r->token.text;
    if (r->token.kind != TOKEN_NUMBER || digits[strspn(digits, "0123456789")])
        return reader_fail(r, IR_SYNTAX, "expected an integer, found '%s'", digits);
    *value = 0;
    for (; *digits; digits++) {
        int digit = negative ? '0' - *digits : *digits - '0';
        if (__builtin_mul_overflow(*value, (int64_t)10, value) ||
            __builtin_add_overflow(*value, (int64_t)digit, value))
            return reader_fail(r, IR_INVALID, "the integer does not fit in 64 bits");
    }
    return reader_next(r);
}

bool reader_count(struct reader *r, int64_t low, int64_t high, int *value)
{
    struct token token = r->token;
    int64_t wide;

    if (!reader_integer(r, &wide))
        return false;
    if (wide < low || wide > high)
        return reader_fail_at(r, IR_INVALID, token.place, "%lld is not in %lld..%lld",
                              (long long)wide, (long long)low, (long long)high);
    *value = (int)wide;
    return true;
}

bool reader_number(struct reader *r, double *value)
{
    bool negative;

    if (!reader_skip(r, "-", &negative))
        return false;
    bool named = reader_is(r, "inf") || reader_is(r, "nan");
    if (r->token.kind != TOKEN_NUMBER && !named)
        return reader_fail(r, IR_SYNTAX, "expected a number, found '%s'", r->token.text);
    *value = strtod(r->token.text, NULL);
    if (negative)
        *value = -*value;
    return reader_next(r);
}

bool reader_room(struct reader *r, size_t count, size_t most, const char *what)
{
    return count < most || reader_fail(r, IR_LIMIT, "more than %zu %s", most, what);
}

bool reader_declare(struct reader *r, struct map *map, size_t number, const char *what,
                    const char **name)
{
    struct token token = r->token;

    if (!reader_room(r, number, IR_TEXT_ITEMS, "declarations of a kind") || !reader_name(r, name))
        return false;
    if (map_set(map, *name, (void *)(intptr_t)(number + 1)))
        return reader_fail_at(r, IR_INVALID, token.place, "%s '%s' is declared twice", what, *name);
    return true;
}

bool reader_look_up(struct reader *r, const struct map *map, const char *what, int *number)
{
    struct token token = r->token;
    const char *name = NULL;

    if (!reader_name(r, &name))
        return false;
    *number = (int)((intptr_t)map_get(map, name) - 1);
    if (*number < 0)
        return reader_fail_at(r, IR_INVALID, token.place, "no %s '%s'", what, name);
    return true;
}

/* ---- sizes ---- */

struct deep_size { /* a size and how deep it is: it is walked recursively later */
    const struct ir_size *size;
    int depth;
};

static bool size_sum(struct reader *r, int nesting, struct deep_size *out);

static bool size_join(struct reader *r, enum ir_size_op op, struct deep_size *a,
                      const struct deep_size *b)
{
    struct ir_size *size = arena_new(r->arena, struct ir_size);

    size->op = op;
    size->a = a->size;
    size->b = b->size;
    a->size = size;
    a->depth = 1 + (a->depth > b->depth ? a->depth : b->depth);
    if (a->depth > IR_TEXT_DEPTH)
        return reader_fail(r, IR_LIMIT, "a size has operations more than %d deep", IR_TEXT_DEPTH);
    return true;
}

/* min(a, b), after the name. */
static bool size_extreme(struct reader *r, int nesting, enum ir_size_op op, struct deep_size *out)
{
    struct deep_size b;

    return reader_next(r) && reader_skip(r, "(", NULL) && size_sum(r, nesting, out) &&
           reader_skip(r, ",", NULL) && size_sum(r, nesting, &b) && reader_skip(r, ")", NULL) &&
           size_join(r, op, out, &b);
}

static bool size_leaf(struct reader *r, int nesting, struct deep_size *out)
{
    int64_t value;
    int symbol;
    bool found;

    out->depth = 1;
    if (nesting > IR_TEXT_DEPTH)
        return reader_fail(r, IR_LIMIT, "a size is nested more than %d deep", IR_TEXT_DEPTH);
    if (!reader_skip(r, "(", &found))
        return false;
    if (found)
        return size_sum(r, nesting + 1, out) && reader_skip(r, ")", NULL);
    if (r->token.kind == TOKEN_NUMBER || reader_is(r, "-")) {
        if (!reader_integer(r, &value))
            return false;
        out->size = ir_size_constant(r->arena, value);
        return true;
    }
    if ((reader_is(r, "min") || reader_is(r, "max")) && peek(r, 0) == '(')
        return size_extreme(r, nesting + 1, reader_is(r, "min") ? IR_SIZE_MIN : IR_SIZE_MAX, out);
    if (!reader_look_up(r, &r->symbols, "size", &symbol))
        return false;
    out->size = ir_size_symbol(r->arena, symbol);
    return true;
}

static bool size_product(struct reader *r, int nesting, struct deep_size *out)
{
    if (!size_leaf(r, nesting, out))
        return false;
    for (;;) {
        struct deep_size b;
        enum ir_size_op op = reader_is(r, "*")   ? IR_SIZE_MUL
                             : reader_is(r, "/") ? IR_SIZE_DIV
                             : reader_is(r, "%") ? IR_SIZE_MOD
                                                 : IR_SIZE_CONSTANT;
        if (op == IR_SIZE_CONSTANT)
            return true;
        if (!reader_next(r) || !size_leaf(r, nesting, &b) || !size_join(r, op, out, &b))
            return false;
    }
}

static bool size_sum(struct reader *r, int nesting, struct deep_size *out)
{
    if (!size_product(r, nesting, out))
        return false;
    while (reader_is(r, "+") || reader_is(r, "-")) {
        struct deep_size b;
        enum ir_size_op op = reader_is(r, "+") ? IR_SIZE_ADD : IR_SIZE_SUB;
        if (!reader_next(r) || !size_product(r, nesting, &b) || !size_join(r, op, out, &b))
            return false;
    }
    return true;
}

bool reader_size(struct reader *r, const struct ir_size **size)
{
    struct deep_size deep;

    if (!size_sum(r, 0, &deep))
        return false;
    *size = deep.size;
    return true;
}
