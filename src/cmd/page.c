/*
 * The pages a terminal shows, and the facts about smelt that no option table holds.
 */
#include "cmd/page.h"

#include <string.h>

enum { PAGE_WIDTH = 80, PAGE_INDENT = 2, PAGE_COLUMN = 12 };

const char page_about[] =
    "smelt is for operators of tensor programs. You state what to compute in a few lines of the op "
    "language, without saying how; smelt checks it, and evaluates it in higher precision. That "
    "reference is what every kernel is measured against.";

const struct page_fact page_first_steps[] = {
    {"smelt ops", "see what the library has"},
    {"smelt ref sort B=[8] D=16", "evaluate one of its ops"},
    {"smelt new my_op", "start a file of your own"},
    {0},
};

const struct page_fact page_exit_codes[] = {
    {"0", "yes: it worked, or the answer is yes"},
    {"1", "no: an answer about the input, such as a file with errors"},
    {"2", "usage: the command line does not say what to do"},
    {"3", "the environment lacks something: memory, a file, a compiler, room on the disk"},
    {0},
};

const struct page_fact page_environment[] = {
    {"NO_COLOR", "when set and not empty, nothing is coloured unless --color=always says so"},
    {"SMELT_LIB", "the folder of the op library, instead of the installed one"},
    {"SMELT_CACHE",
     "the folder for compiled references and measured rates, instead of one below XDG_CACHE_HOME"},
    {"SMELT_CC", "the C compiler for references and kernels, instead of cc"},
    {"SMELT_COMPILE_SECONDS", "the longest a kernel may take to compile; 60 when not set"},
    {"SMELT_CELL", "the program kernels run in, instead of the smelt-cell beside smelt"},
    {"SMELT_PYTHON", "the python that runs PyTorch for comparison, instead of python3"},
    {"SMELT_LLM_CONFIG", "the file of language models, instead of models.conf below "
                         "XDG_CONFIG_HOME"},
    {"SMELT_LLM_URL, SMELT_LLM_MODEL",
     "a language model called env; SMELT_LLM_PROTOCOL, SMELT_LLM_WINDOW, SMELT_LLM_PRICE and "
     "SMELT_LLM_KEY say more about it"},
    {"SMELT_SANDBOX_WITHOUT",
     "layers of isolation to do without, as if the host lacked them: \"user pid\""},
    {"SMELT_STORE", "where runs are kept, instead of store.db below XDG_DATA_HOME/smelt"},
    {"TMPDIR", "where kernels are compiled; /tmp when not set"},
    {"XDG_CACHE_HOME", "where caches go; $HOME/.cache when not set"},
    {"XDG_DATA_HOME", "where runs are kept; $HOME/.local/share when not set"},
    {"SMELT_MCP_TOKEN", "what clients of `smelt mcp --http` must show; 16 to 200 characters"},
    {"SMELT_FAIL_ALLOCATION",
     "for tests: the allocation with this number fails, as if memory had run out"},
    {0},
};

static void style(struct text *out, bool colour, const char *escape)
{
    if (colour)
        text_add(out, escape);
}

static void heading(struct text *out, bool colour, const char *title)
{
    text_char(out, '\n');
    style(out, colour, "\033[1m");
    text_add(out, title);
    style(out, colour, "\033[0m");
    text_char(out, '\n');
}

/* One line of words; returns what is left. */
static const char *wrap_line(struct text *out, const char *words, int indent)
{
    int column = indent;
    text_repeat(out, ' ', indent);
    bool first = true;
    while (*words && *words != '\n') {
        size_t length = strcspn(words, " \n");
        if (!first && column + 1 + (int)length > PAGE_WIDTH)
            break;
        if (!first)
            text_char(out, ' ');
        column += (int)length + !first;
        text_add_bytes(out, words, length);
        words += length;
        words += strspn(words, " ");
        first = false;
    }
    text_char(out, '\n');
    return words;
}

void page_wrap(struct text *out, const char *words, int indent)
{
    while (*words) {
        size_t length = strcspn(words, "\n");
        if (length == 0 || *words == ' ') {
            if (length)
                text_repeat(out, ' ', indent);
            text_add_bytes(out, words, length);
            text_char(out, '\n');
            words += length;
        } else {
            while (*words && *words != '\n')
                words = wrap_line(out, words, indent);
        }
        words += *words == '\n';
    }
}

void page_synopsis(struct text *out, const struct command *command)
{
    text_printf(out, "smelt %s%s%s", command->name, command->operands[0] ? " " : "",
                command->operands);
    for (const struct option *option = command->options; option->name; option++) {
        text_printf(out, " [--%s%s%s]%s", option->name, option->argument ? " " : "",
                    option->argument ? option->argument : "", option->repeated ? "..." : "");
    }
}

void page_option(struct text *out, const struct option *option)
{
    if (option->letter)
        text_printf(out, "-%c, ", option->letter);
    text_printf(out, "--%s%s%s", option->name, option->argument ? " " : "",
                option->argument ? option->argument : "");
}

static void page_options(struct text *out, const struct option *options)
{
    for (; options->name; options++) {
        text_repeat(out, ' ', PAGE_INDENT);
        page_option(out, options);
        text_char(out, '\n');
        page_wrap(out, options->help, PAGE_INDENT + 6);
    }
}

static void pad(struct text *out, const char *word, int width)
{
    text_add(out, word);
    text_repeat(out, ' ', width - (int)strlen(word));
}

static void page_facts(struct text *out, const struct page_fact *facts, int width)
{
    for (; facts->name; facts++) {
        text_repeat(out, ' ', PAGE_INDENT);
        pad(out, facts->name, width);
        text_printf(out, "%s\n", facts->what);
    }
}

void page_overview(struct text *out, bool full, bool colour)
{
    page_wrap(out, page_about, 0);
    heading(out, colour, "Try first");
    page_facts(out, page_first_steps, 32);
    heading(out, colour, "Commands");
    for (size_t i = 0; commands[i]; i++) {
        text_repeat(out, ' ', PAGE_INDENT);
        style(out, colour, "\033[1m");
        pad(out, commands[i]->name, PAGE_COLUMN);
        style(out, colour, "\033[0m");
        text_printf(out, "%s\n", commands[i]->summary);
    }
    if (full) {
        heading(out, colour, "Options of every command");
        page_options(out, global_options);
        heading(out, colour, "Exit codes");
        page_facts(out, page_exit_codes, 4);
    }
    text_add(out, "\n'smelt help COMMAND' explains a command and shows examples.\n");
}

void page_command(struct text *out, const struct command *command, bool colour)
{
    struct text synopsis = text_new(out->arena);
    style(out, colour, "\033[1m");
    text_printf(out, "smelt %s", command->name);
    style(out, colour, "\033[0m");
    text_printf(out, ": %s\n\n", command->summary);
    page_synopsis(&synopsis, command);
    text_add(out, "usage: ");
    /* Continuation lines stand under the first word after `usage: `. */
    struct text wrapped = text_new(out->arena);
    page_wrap(&wrapped, synopsis.at, 7);
    text_add(out, wrapped.at + 7);
    text_char(out, '\n');
    page_wrap(out, command->description, 0);
    if (command->options->name) {
        heading(out, colour, "Options");
        page_options(out, command->options);
    }
    if (command->examples->command) {
        heading(out, colour, "Examples");
        for (const struct example *example = command->examples; example->command; example++) {
            text_printf(out, "  %s\n", example->command);
            page_wrap(out, example->what, PAGE_INDENT + 6);
        }
    }
    text_add(out,
             "\nOptions of every command (--color, --log, --events) are shown by 'smelt help'.\n");
}
