/*
 * The option tables as something to read: pages for a terminal, the manual page, docs/cli.md, and
 * the script that completes for bash. Nothing is said twice; a fact that is in no table is in
 * page.c.
 */
#ifndef SMELT_CMD_PAGE_H
#define SMELT_CMD_PAGE_H

#include "cmd/command.h"

struct page_fact {
    const char *name, *what; /* name NULL ends a list */
};

extern const char page_about[]; /* what smelt is, in a paragraph */
extern const struct page_fact page_first_steps[];
extern const struct page_fact page_exit_codes[];
extern const struct page_fact page_environment[];

/* What `smelt` alone says, and with everything every command shares, what `smelt help` says. */
void page_overview(struct text *out, bool full, bool colour);
/* What `smelt help COMMAND` says. */
void page_command(struct text *out, const struct command *command, bool colour);
void page_man(struct text *out);
void page_markdown(struct text *out);
void page_errors(struct text *out); /* docs/errors.md, from errors.def */
void page_bash(struct text *out);

/* "smelt ref FILE|OP [SETTING...] [OPTION...]" */
void page_synopsis(struct text *out, const struct command *command);
/* "-o, --out DIR": how the option is typed. */
void page_option(struct text *out, const struct option *option);
/* Words wrapped to lines of a terminal; lines that begin with a space are left as they are. */
void page_wrap(struct text *out, const char *words, int indent);

#endif
