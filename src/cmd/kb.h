/*
 * The pieces of `smelt kb`: kb.c is the command, kb_check.c looks after the code on pages.
 */
#ifndef SMELT_CMD_KB_H
#define SMELT_CMD_KB_H

#include "cmd/command.h"
#include "know/kb.h"

/* A row of the option table of every command that uses the knowledge base. */
#define OPTION_KB                                                                         \
    {                                                                                     \
        .name = "kb", .argument = "DIR", .repeated = true,                                \
        .help = "a folder of pages of your own, besides those of SMELT_KB and kb.folders" \
    }

/* The knowledge base with the folders of --kb. Pages that cannot be read are added to errors. */
void kb_given(struct invocation *invocation, struct kb *kb, struct errors *errors);

enum kb_state { KB_GOOD, KB_BAD, KB_SKIPPED };

struct kb_finding { /* about one block of a page */
    enum kb_state state;
    const char *how;  /* "gcc -mavx2" */
    const char *what; /* why not, or why it was left out; "" */
    double seconds;
};

/* Compiles or judges a block as its first line says. */
struct kb_finding kb_check_snippet(struct invocation *invocation, const struct kb_page *page,
                                   const struct kb_snippet *snippet);

#endif
