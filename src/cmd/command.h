/*
 * What a subcommand is, and what it may call.
 *
 * A subcommand is one file that exports one `const struct command`, and one line in the table in
 * main.c. Its option table says everything about its options once: parsing, `smelt help`, the
 * manual page, docs/cli.md and shell completion are all made from it.
 *
 * Only this folder prints or exits. A command's run function answers with an exit code; errors go
 * to invocation.errors and are shown, as text or as JSON, by whoever started it.
 */
#ifndef SMELT_CMD_COMMAND_H
#define SMELT_CMD_COMMAND_H

#include "base/base.h"

struct invocation;

/* ---- the table ---- */

struct option {
    const char *name;           /* long form, without the dashes; NULL ends the table */
    char letter;                /* short form, or 0 */
    const char *argument;       /* "DIR"; NULL: a flag */
    bool repeated;              /* may be given several times, and each counts */
    const char *const *choices; /* the only values allowed, or NULL */
    const char *help;           /* one or two sentences without the final stop */
};

/* Every command that has data to give has this row. */
#define OPTION_JSON                                                                        \
    {                                                                                      \
        .name = "json", .help = "print one JSON object on standard output instead of text" \
    }

struct example {
    const char *command;
    const char *what;
};

/* What operands are, so that the shell can complete them. */
enum operand_kind { OPERAND_NONE, OPERAND_FILE, OPERAND_FILE_OR_OP, OPERAND_OP, OPERAND_COMMAND };

struct command {
    const char *name;
    const char *summary;            /* completes the line "smelt NAME  ...", no final stop */
    const char *operands;           /* "FILE...", "" for none */
    enum operand_kind operand_kind; /* for completion */
    int least, most;                /* how many operands; most -1: any number */
    const char *description;        /* paragraphs separated by an empty line */
    const struct option *options;
    const struct example *examples; /* the last row is empty */
    int schema;                     /* of its JSON answer; 0 stands for 1 */
    enum exit_code (*run)(struct invocation *invocation);
};

extern const struct command *const commands[]; /* NULL ends it */
extern const struct option global_options[];   /* accepted before and after the command's name */

const struct command *command_find(const char *name);

/* ---- one call of smelt ---- */

struct option_use {
    const struct option *option;
    const char *value;
};

struct invocation {
    struct arena *arena;           /* as long as the call */
    struct arena *scratch;         /* for one item of several; whoever fills it resets it */
    const struct command *command; /* NULL: none was named */
    struct option_uses VECTOR(struct option_use) options;
    struct operands VECTOR(const char *) operands;
    struct errors errors;       /* shown at the end, unless invocation_report came before */
    const struct source *input; /* standard input, once it was read */
    bool json;                  /* --json was given */
    bool colour, colour_notes;  /* on standard output, on standard error */
};

/* Fills in the invocation from the words after the program's name. False: errors has a USAGE. */
bool options_parse(struct invocation *invocation, int count, char *const *words);
/* Whether words, which may be nonsense, ask for JSON: so that even a usage error is given as JSON.
 */
bool options_want_json(int count, char *const *words);

/* Questions about options. Asking for one that is not in the table is a bug. */
bool option_given(const struct invocation *invocation, const char *name);
/* The last value given, or NULL. */
const char *option_value(const struct invocation *invocation, const char *name);
/* The values of a repeated option one by one; *cursor starts at 0; NULL at the end. */
const char *option_next(const struct invocation *invocation, const char *name, size_t *cursor);
/*
 * Numbers. *value stays as it is where the option is not given; false with an error when what was
 * given is none, or beyond its bounds.
 */
bool option_number(struct invocation *invocation, const char *name, double most, double *value);
bool option_count(struct invocation *invocation, const char *name, int64_t least, int64_t most,
                  int64_t *value);

/* ---- output (output.c) ---- */

/* Standard output. A failure to write is remembered and reported by output_finish. */
void output_text(const struct text *text);
void output_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Flushes; false with the error set when anything written did not arrive. */
bool output_finish(struct error *error);
/* "note: ..." on standard error, for people; output before it is flushed first. */
void output_note(const struct invocation *invocation, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Escapes for a word in bold, empty when there is no colour. */
const char *output_bold(const struct invocation *invocation);
const char *output_plain(const struct invocation *invocation);

/* Shows errors on standard error (nothing is shown with --json) and gives the exit code they mean.
 */
enum exit_code output_errors(const struct invocation *invocation, const struct errors *errors);
enum exit_code errors_exit(const struct errors *errors);
/* The worse of two: environment, usage, no, yes. */
enum exit_code exit_worse(enum exit_code a, enum exit_code b);

/* JSON answers: {"schema": "smelt.check/1", ..., "errors": [...]}. */
struct json output_json_begin(const struct invocation *invocation, struct text *text);
/* Adds an "errors" array to the object that is open. */
void output_json_errors(struct json *json, const struct errors *errors);
/* Ends the object with invocation.errors, prints it, and forgets the errors: they are told. */
enum exit_code output_json_end(struct invocation *invocation, struct json *json);

/* "1 op", "2 ops" */
void text_count(struct text *text, size_t count, const char *noun);

#endif
