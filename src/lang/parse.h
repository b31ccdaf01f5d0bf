/*
 * What the files of the parser share. Private to src/lang/parse*.c.
 *
 * The parser is written as if nothing went wrong. The first fault of a statement is reported and
 * puts the parser into panic: from then on it sees only the end of the file, so that every rule
 * returns by itself, and says nothing more. Whoever can go on (a body, a task, the file) then calls
 * one of the parser_recover functions, which gives the real token back and skips to a safe place.
 * So no rule checks whether another one failed, and no rule ever returns NULL.
 */
#ifndef SMELT_LANG_PARSE_H
#define SMELT_LANG_PARSE_H

#include "lang/lex.h"

struct parser {
    struct arena *arena;
    struct errors *errors;
    struct lexer lexer;
    struct token token, next; /* the one to read and the one after it */
    struct place last;        /* of the token read before */
    size_t indent;            /* columns before the first token of the current line */
    bool panicking;
    struct token stuck;   /* in panic: the token at which it began */
    struct error unheard; /* in panic: receives further faults */
    int depth;            /* of nested expressions and bodies */
    size_t nodes;         /* made so far */
    bool unclosed;        /* a missing } was reported */
    struct place suspect; /* in this op: a { whose } looks like that of another */
    const char *suspect_what;
    size_t tuple_at; /* offset of a ( that may open a tuple, else SIZE_MAX */
};

/* ---- tokens ---- */

bool parser_at(const struct parser *parser, const char *text);      /* a sign or a keyword */
bool parser_at_word(const struct parser *parser, const char *text); /* a name spelt so */
bool parser_next_is(const struct parser *parser, const char *text); /* the token after it */
bool parser_at_end(const struct parser *parser);
void parser_advance(struct parser *parser);
bool parser_accept(struct parser *parser, const char *text);
/* "expected ')' after the arguments of exp": the format gives what follows the sign. */
void parser_expect(struct parser *parser, const char *text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a closing bracket, with a note where it was opened. */
void parser_close(struct parser *parser, const char *text, struct place open, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));
/* A name, or "expected WHAT". In panic the name is "". */
struct ast_name parser_name(struct parser *parser, const char *what);
/* From the start of `first` to the end of the last token read. */
struct place parser_since(const struct parser *parser, struct place first);
/* Where something is missing: the current token, or the end of the line before it. */
struct place parser_gap(const struct parser *parser);
/* The current token for a message: "'max'", "the end of the file". */
const char *parser_found(struct parser *parser);

/* ---- faults ---- */

/* Reports (unless in panic) and panics. Never NULL. */
struct error *parser_fault(struct parser *parser, enum error_code code, struct place place,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));
/* "expected WHAT", with what was found. */
struct error *parser_fault_expected(struct parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* One level deeper; false, with a fault, when that is too deep. Leave only what was entered. */
bool parser_enter(struct parser *parser);
void parser_leave(struct parser *parser);
/* Counts one more piece of the tree. */
void parser_count(struct parser *parser);

/* To the next statement of this body or its }, or the next item. `start`: where it began. */
void parser_recover_statement(struct parser *parser, size_t start, size_t indent);
/* To the first name or keyword on a line. */
void parser_recover_line(struct parser *parser, size_t start);
/* To the next item. */
void parser_recover_item(struct parser *parser, size_t start);
bool parser_at_item(const struct parser *parser); /* include, fn, monoid, op, task */

/* ---- rules ---- */

struct ast_expression *parse_expression(struct parser *parser);
struct ast_expression *parse_sum(struct parser *parser);   /* no comparisons: a bound */
struct ast_expression *parse_tuple(struct parser *parser); /* an expression or (a, b) */
void parse_indices(struct parser *parser, struct ast_expressions *indices, const char *of);

void parse_body(struct parser *parser, struct ast_statements *statements, struct place *end,
                const char *what);
void parse_op(struct parser *parser, struct ast_op *op);
void parse_names(struct parser *parser, struct ast_names *names, const char *what);
/* [N, *B, K...] with the brackets */
void parse_dims(struct parser *parser, struct ast_dims *dims);
/* After ~. On a task line a draw does not start a line. */
void parse_draws(struct parser *parser, struct ast_draws *draws, bool on_line);
void parse_task(struct parser *parser, struct ast_task *task);

#endif
