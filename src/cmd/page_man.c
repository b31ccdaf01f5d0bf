/*
 * smelt(1) in man's own notation, complete: every command, option, exit code and variable.
 */
#include "cmd/page.h"

#include <string.h>

#ifndef SMELT_VERSION
#define SMELT_VERSION "unknown"
#endif

/* Text as man should print it: a line never starts with a control character, dashes stay dashes. */
static void man_escape(struct text *out, const char *words, size_t length)
{
    bool line_start = out->length == 0 || out->at[out->length - 1] == '\n';
    for (size_t i = 0; i < length; i++) {
        if (line_start && (words[i] == '.' || words[i] == '\''))
            text_add(out, "\\&");
        line_start = words[i] == '\n';
        if (words[i] == '\\')
            text_add(out, "\\e");
        else if (words[i] == '-')
            text_add(out, "\\-");
        else if (words[i] == '\'')
            text_add(out, "\\(aq");
        else if (words[i] == '^')
            text_add(out, "\\(ha");
        else if (words[i] == '~')
            text_add(out, "\\(ti");
        else
            text_char(out, words[i]);
    }
}

static void man_words(struct text *out, const char *words)
{
    man_escape(out, words, strlen(words));
}

/* Paragraphs are filled, lines that begin with a space stand as they are. */
static void man_paragraphs(struct text *out, const char *words)
{
    bool verbatim = false;
    while (*words) {
        size_t length = strcspn(words, "\n");
        if (verbatim != (*words == ' ')) {
            verbatim = !verbatim;
            text_add(out, verbatim ? ".PP\n.nf\n" : ".fi\n");
        }
        if (length == 0)
            text_add(out, ".PP\n");
        man_escape(out, words, length);
        if (length)
            text_char(out, '\n');
        words += length + (words[length] == '\n');
    }
    if (verbatim)
        text_add(out, ".fi\n");
}

static void man_options(struct text *out, const struct option *options)
{
    for (; options->name; options++) {
        text_add(out, ".TP\n");
        if (options->letter)
            text_printf(out, "\\fB\\-%c\\fR, ", options->letter);
        text_add(out, "\\fB\\-\\-");
        man_words(out, options->name);
        text_add(out, "\\fR");
        if (options->argument) {
            text_add(out, " \\fI");
            man_words(out, options->argument);
            text_add(out, "\\fR");
        }
        text_char(out, '\n');
        man_words(out, options->help);
        text_add(out, ".\n");
    }
}

static void man_command(struct text *out, const struct command *command)
{
    text_printf(out, ".SS smelt %s\n", command->name);
    man_words(out, command->summary);
    text_add(out, ".\n.PP\n");
    struct text synopsis = text_new(out->arena);
    page_synopsis(&synopsis, command);
    man_words(out, synopsis.at);
    text_add(out, "\n.PP\n");
    man_paragraphs(out, command->description);
    man_options(out, command->options);
    for (const struct example *example = command->examples; example->command; example++) {
        text_add(out, example == command->examples ? ".PP\nExamples:\n.TP\n" : ".TP\n");
        man_words(out, example->command);
        text_char(out, '\n');
        man_words(out, example->what);
        text_char(out, '\n');
    }
}

static void man_facts(struct text *out, const struct page_fact *facts)
{
    for (; facts->name; facts++) {
        text_add(out, ".TP\n.B ");
        man_words(out, facts->name);
        text_char(out, '\n');
        man_words(out, facts->what);
        text_char(out, '\n');
    }
}

void page_man(struct text *out)
{
    text_add(out, ".\\\" Made by `smelt help --man` from the option tables.\n");
    text_printf(out, ".TH SMELT 1 \"\" \"smelt %s\" \"User Commands\"\n", SMELT_VERSION);
    text_add(out, ".SH NAME\nsmelt \\- state operators, check and evaluate them\n");
    text_add(out, ".SH SYNOPSIS\n.B smelt\n\\fICOMMAND\\fR [\\fIOPTION\\fR...] "
                  "[\\fIOPERAND\\fR...]\n");
    text_add(out, ".SH DESCRIPTION\n");
    man_paragraphs(out, page_about);
    text_add(out, ".PP\nTo try first:\n");
    man_facts(out, page_first_steps);
    text_add(out, ".SH COMMANDS\n");
    for (size_t i = 0; commands[i]; i++)
        man_command(out, commands[i]);
    text_add(out, ".SH OPTIONS OF EVERY COMMAND\n");
    man_options(out, global_options);
    text_add(out, ".SH EXIT STATUS\n");
    man_facts(out, page_exit_codes);
    text_add(out, ".SH ENVIRONMENT\n");
    man_facts(out, page_environment);
}
