/*
 * How many tokens a text takes, guessed without any model's vocabulary.
 *
 * Vocabularies differ, but all of them cut text at the same places: a word with the blank before
 * it, a run of digits, a run of one mark, the blanks at the start of a line. Words that are common
 * are one token, others are cut into pieces of some letters. The guess is made to be a little high:
 * a prompt that is too long is refused, one that is too short only wastes some room.
 */
#include <ctype.h>

#include "propose/llm/llm.h"

enum {
    WORD_LETTERS = 5,  /* of a word in one token: code has many that are not common */
    NUMBER_DIGITS = 2, /* of a number; some vocabularies take 3, some 1 */
    BLANKS = 8,        /* of an indentation */
    MARKS = 4,         /* equal ones in a row: ====, ---- */
};

static size_t run_of(const char *text, size_t length, size_t at, int (*is)(int))
{
    size_t end = at;
    while (end < length && is((unsigned char)text[end]))
        end++;
    return end - at;
}

static int is_letter(int c)
{
    return isalpha(c) && c < 128;
}

static size_t pieces(size_t count, size_t each)
{
    return (count + each - 1) / each;
}

size_t llm_tokens(const char *text, size_t length)
{
    size_t tokens = 0;
    for (size_t at = 0, count; at < length; at += count) {
        unsigned char c = (unsigned char)text[at];
        count = 1;
        if (is_letter(c)) {
            count = run_of(text, length, at, is_letter);
            tokens += pieces(count, WORD_LETTERS);
        } else if (isdigit(c)) {
            count = run_of(text, length, at, isdigit);
            tokens += pieces(count, NUMBER_DIGITS);
        } else if (c == ' ') {
            while (at + count < length && text[at + count] == ' ')
                count++;
            tokens += count > 1 ? pieces(count, BLANKS) : 0; /* a single one goes with its word */
        } else {
            while (c < 128 && at + count < length && text[at + count] == (char)c)
                count++;
            tokens += c < 128 ? pieces(count, MARKS) : 1; /* of UTF-8: a token per byte */
        }
    }
    return tokens;
}
