/*
 * docs/cli.md and docs/errors.md. A test compares both files with what is printed here.
 */
#include "cmd/page.h"

static void markdown_options(struct text *out, const struct option *options)
{
    if (!options->name)
        return;
    text_add(out, "\n| option | meaning |\n|---|---|\n");
    for (; options->name; options++) {
        text_add(out, "| `");
        page_option(out, options);
        text_add(out, "` | ");
        for (const char *c = options->help; *c; c++)
            text_add_bytes(out, *c == '|' ? "\\|" : c, *c == '|' ? 2 : 1);
        text_add(out, " |\n");
    }
}

static void markdown_facts(struct text *out, const char *left, const char *right,
                           const struct page_fact *facts)
{
    text_printf(out, "\n| %s | %s |\n|---|---|\n", left, right);
    for (; facts->name; facts++)
        text_printf(out, "| `%s` | %s |\n", facts->name, facts->what);
}

static void markdown_command(struct text *out, const struct command *command)
{
    struct text synopsis = text_new(out->arena);
    text_printf(out, "\n## smelt %s\n\n", command->name);
    page_synopsis(&synopsis, command);
    text_add(out, "```\n");
    page_wrap(out, synopsis.at, 0);
    text_add(out, "```\n\n");
    page_wrap(out, command->description, 0);
    markdown_options(out, command->options);
    if (!command->examples->command)
        return;
    text_add(out, "\n```sh\n");
    for (const struct example *example = command->examples; example->command; example++)
        text_printf(out, "%s    # %s\n", example->command, example->what);
    text_add(out, "```\n");
}

void page_markdown(struct text *out)
{
    text_add(out, "# The command line\n\n");
    text_add(out, "<!-- Made by `smelt help --markdown`; a test compares. Do not edit. -->\n\n");
    page_wrap(out, page_about, 0);
    text_add(out, "\n| command | what it does |\n|---|---|\n");
    for (size_t i = 0; commands[i]; i++)
        text_printf(out, "| [`smelt %s`](#smelt-%s) | %s |\n", commands[i]->name, commands[i]->name,
                    commands[i]->summary);
    for (size_t i = 0; commands[i]; i++)
        markdown_command(out, commands[i]);
    text_add(out, "\n## Options of every command\n");
    markdown_options(out, global_options);
    text_add(out, "\n## Exit codes\n");
    markdown_facts(out, "code", "meaning", page_exit_codes);
    text_add(out, "\n## Environment\n");
    markdown_facts(out, "variable", "meaning", page_environment);
}

void page_errors(struct text *out)
{
    static const enum error_code codes[] = {
#define ERROR_CODE(name, number, exit, text) ERROR_##name,
#include "base/errors.def"
#undef ERROR_CODE
    };
    text_add(out, "# Errors\n\n");
    text_add(out, "<!-- Made by `smelt help --errors`; a test compares. Do not edit. -->\n\n");
    text_add(out,
             "Every error has a name, which is printed in brackets after its message, and a "
             "number;\nneither ever changes. The exit code is 1 when the error is about the "
             "input, 2 for a wrong\ncommand line, 3 when the environment lacks something.\n\n");
    text_add(out, "| number | name | exit | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        text_printf(out, "| %d | `%s` | %d | %s |\n", codes[i], error_name(codes[i]),
                    error_exit(codes[i]), error_summary(codes[i]));
}
