/*
 * Mutations of op files that keep most of their sense, so that the fuzzer reaches the checker and
 * not only the parser: tokens are replaced by tokens of the same kind, lines are moved and copied,
 * also from another input. Included by the target that wants them; libFuzzer finds them by name.
 */
#ifndef SMELT_TESTS_FUZZ_MUTATE_H
#define SMELT_TESTS_FUZZ_MUTATE_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer's own; not there when a corpus is only replayed. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maximum);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maximum, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t maximum, unsigned seed);

enum token_kind { TOKEN_NAME, TOKEN_NUMBER, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    size_t at, length;
};

enum { MUTATE_TOKENS = 4096, MUTATE_BYTES = 1 << 16 };

struct text_tokens {
    struct token at[MUTATE_TOKENS];
    size_t count;
};

static bool is_word(uint8_t byte)
{
    return isalnum(byte) || byte == '_' || byte == '.';
}

static void split_tokens(const uint8_t *data, size_t size, struct text_tokens *tokens)
{
    tokens->count = 0;
    for (size_t i = 0; i < size && tokens->count < MUTATE_TOKENS;) {
        size_t start = i++;
        if (isspace(data[start]))
            continue;
        enum token_kind kind = isdigit(data[start])                         ? TOKEN_NUMBER
                               : isalpha(data[start]) || data[start] == '_' ? TOKEN_NAME
                                                                            : TOKEN_SIGN;
        if (kind == TOKEN_SIGN)
            while (i < size && strchr("=.>!", data[i]) && data[i] && i < start + 3)
                i++;
        else
            while (i < size && is_word(data[i]))
                i++;
        tokens->at[tokens->count++] = (struct token){kind, start, i - start};
    }
}

/* data[at, at+length) becomes `with`; false when there is no room. */
static bool replace(uint8_t *data, size_t *size, size_t maximum, size_t at, size_t length,
                    const uint8_t *with, size_t with_length)
{
    static uint8_t copy[MUTATE_BYTES];
    if (with_length > sizeof copy || *size - length + with_length > maximum)
        return false;
    memcpy(copy, with, with_length); /* it may be part of what moves */
    memmove(data + at + with_length, data + at + length, *size - at - length);
    memcpy(data + at, copy, with_length);
    *size = *size - length + with_length;
    return true;
}

static const char *const mutate_words[] = {"T",
                                           "U",
                                           "N",
                                           "D",
                                           "*B",
                                           "*b",
                                           "x",
                                           "y",
                                           "i",
                                           "k",
                                           "e",
                                           "s",
                                           "f32",
                                           "f16",
                                           "f64",
                                           "i32",
                                           "i64",
                                           "bool",
                                           "u8",
                                           "f8e4",
                                           "int",
                                           "type",
                                           "over",
                                           "if",
                                           "else 0",
                                           "in",
                                           "rev",
                                           "excl",
                                           "along",
                                           "from",
                                           "scan",
                                           "scatter",
                                           "loop",
                                           "next",
                                           "each",
                                           "with",
                                           "where",
                                           "let",
                                           "and",
                                           "or",
                                           "not",
                                           "div",
                                           "mod",
                                           "sum",
                                           "len",
                                           "exp",
                                           "max",
                                           "min",
                                           "sqrt",
                                           "abs",
                                           "isnan",
                                           "true",
                                           "nan",
                                           "inf",
                                           "index(N)",
                                           "offsets(N)",
                                           "sorted",
                                           "triangular",
                                           "const",
                                           "normal(0, 1)",
                                           "uniform(0, 3)",
                                           "relu",
                                           "quot",
                                           "rem",
                                           "shl",
                                           "bitand",
                                           "ordered",
                                           "unit",
                                           "time",
                                           "deterministic"};
static const char *const mutate_numbers[] = {"0",
                                             "1",
                                             "2",
                                             "3",
                                             "-1",
                                             "-2",
                                             "4",
                                             "5",
                                             "7",
                                             "8",
                                             "16",
                                             "17",
                                             "64",
                                             "0.5",
                                             "1e-5",
                                             "1e300",
                                             "127",
                                             "255",
                                             "256",
                                             "65504",
                                             "2147483648",
                                             "4294967296",
                                             "4611686018427387904",
                                             "9223372036854775807"};
static const char *const mutate_signs[] = {
    "+",       "-",       "*",     "/",        "%",  "/!",  "^",    "==",   "!=",   "<",
    "<=",      ">",       ">=",    "=",        "+=", "*=",  "max=", "min=", "and=", "or=",
    "argmax=", "argmin=", "topk=", "bottomk=", "?",  ":",   ",",    ";",    "(",    ")",
    "[",       "]",       "{",     "}",        "..", "...", "->",   "~"};

#define MUTATE_PICK(list, random) (list)[(random) % (sizeof(list) / sizeof *(list))]

static const char *pick_word(enum token_kind kind, unsigned random)
{
    switch (kind) {
    case TOKEN_NAME: return MUTATE_PICK(mutate_words, random);
    case TOKEN_NUMBER: return MUTATE_PICK(mutate_numbers, random);
    default: return MUTATE_PICK(mutate_signs, random);
    }
}

static bool mutate_token(uint8_t *data, size_t *size, size_t maximum)
{
    static struct text_tokens tokens;
    split_tokens(data, *size, &tokens);
    if (tokens.count == 0)
        return false;
    const struct token *token = &tokens.at[(size_t)rand() % tokens.count];
    const struct token *other = &tokens.at[(size_t)rand() % tokens.count];
    int what = rand() % 8;
    if (what < 4) { /* one of the same kind from elsewhere in the file */
        for (int tries = 0; tries < 20 && other->kind != token->kind; tries++)
            other = &tokens.at[(size_t)rand() % tokens.count];
        return replace(data, size, maximum, token->at, token->length, data + other->at,
                       other->length);
    }
    if (what == 4)
        return replace(data, size, maximum, token->at, token->length, data, 0);
    const char *word =
        pick_word(what == 5 ? (enum token_kind)(rand() % 3) : token->kind, (unsigned)rand());
    return replace(data, size, maximum, token->at, what == 5 ? 0 : token->length,
                   (const uint8_t *)word, strlen(word));
}

/* A range of whole lines; *length 0 when there are none. */
static void pick_lines(const uint8_t *data, size_t size, size_t *at, size_t *length)
{
    *at = *length = 0;
    if (size == 0)
        return;
    size_t start = (size_t)rand() % size;
    while (start > 0 && data[start - 1] != '\n')
        start--;
    size_t end = start;
    for (int lines = rand() % 4 == 0 ? 1 + rand() % 8 : 1; lines > 0 && end < size; lines--) {
        while (end < size && data[end] != '\n')
            end++;
        end += end < size;
    }
    *at = start;
    *length = end - start;
}

static bool mutate_lines(uint8_t *data, size_t *size, size_t maximum)
{
    size_t at, length, to, ignored;
    pick_lines(data, *size, &at, &length);
    pick_lines(data, *size, &to, &ignored);
    if (rand() % 2)
        return replace(data, size, maximum, at, length, data, 0);
    return replace(data, size, maximum, to, 0, data + at, length);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maximum, unsigned seed)
{
    srand(seed);
    if (rand() % 8 == 0)
        return LLVMFuzzerMutate(data, size, maximum);
    bool changed = false;
    for (int i = 1 + rand() % 4; i > 0; i--)
        changed |= rand() % 5 == 0 ? mutate_lines(data, &size, maximum)
                                   : mutate_token(data, &size, maximum);
    return changed ? size : LLVMFuzzerMutate(data, size, maximum);
}

/* Lines of the second go somewhere into the first. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t maximum, unsigned seed)
{
    size_t size = a_size < maximum ? a_size : maximum, at, length, to, covered;
    srand(seed);
    memcpy(out, a, size);
    pick_lines(b, b_size, &at, &length);
    pick_lines(out, size, &to, &covered);
    replace(out, &size, maximum, to, rand() % 2 ? covered : 0, b + at, length);
    return size;
}

#endif
