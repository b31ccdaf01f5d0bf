/*
 * Source text cut into tokens, one at a time and on demand: nothing is kept but the comments, so
 * that even a hostile file costs no memory here.
 */
#ifndef SMELT_LANG_LEX_H
#define SMELT_LANG_LEX_H

#include <stdbool.h>

#include "lang/ast.h"

enum {
    LEX_SOURCE_MAXIMUM = 64 << 20, /* bytes */
    LEX_COMMENT_MAXIMUM = 1 << 20, /* comments in a file; further ones are a fault */
    LEX_NAME_MAXIMUM = 128,        /* bytes */
    LEX_NUMBER_MAXIMUM = 128,      /* bytes */
};

enum token_kind {
    TOKEN_END, /* of the file; also what a parser in trouble sees */
    TOKEN_NAME,
    TOKEN_KEYWORD,
    TOKEN_SIGN, /* brackets, operators, punctuation */
    TOKEN_INTEGER,
    TOKEN_FLOAT,
    TOKEN_STRING,
    TOKEN_BAD, /* see fault */
};

/* What is wrong with a bad token, as static text: reporting is the parser's, if it gets there. */
struct token_fault {
    enum error_code code;
    bool quote; /* the message goes on after the token in quotes: "'-=' is no reduction" */
    const char *message, *hint;
};

struct token {
    enum token_kind kind;
    const char *text; /* NAME: interned; KEYWORD, SIGN: static */
    struct place place;
    bool line_start; /* first on its line */
    int64_t integer; /* INTEGER */
    double number;   /* FLOAT */
    const struct token_fault *fault;
};

struct lexer {
    struct arena *arena;
    struct map *names;
    const struct source *source;
    struct ast_comments *comments;
    size_t at;
    bool line_start;
    size_t line_breaks; /* since the last token or comment */
};

/* Skips a byte order mark. Comments found on the way are added to `comments`. */
struct lexer lexer_new(struct arena *arena, struct map *names, const struct source *source,
                       struct ast_comments *comments);
struct token lexer_next(struct lexer *lexer);

/* The text of a string token, its quotes and escapes undone; owned by the arena. */
const char *lexer_string(struct arena *arena, const struct token *token);

/* Size, UTF-8, no control characters: one fault at most, since such a file is hardly text. */
bool lexer_is_text(const struct source *source, struct errors *errors);

/* The reserved words, NULL at the end. */
extern const char *const lexer_keywords[];

#endif
