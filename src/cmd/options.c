/*
 * Reading the command line by the option tables.
 *
 * Long options take `--name=value` and `--name value`, short ones `-n value`, `-nvalue`, and flags
 * may stand together (`-ab`). `--` ends the options, `-` alone is an operand. Global options may
 * stand anywhere; a command's own stand after its name.
 */
#include "cmd/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAXIMUM = 100000 }; /* words on a command line */

struct words {
    int count, at;
    char *const *word;
    bool options_over;
};

static const struct option no_options[] = {{0}};

static const struct option *command_options(const struct invocation *invocation)
{
    return invocation->command ? invocation->command->options : no_options;
}

static const struct option *table_find(const struct option *table, const char *name, size_t length)
{
    for (; table->name; table++)
        if (strlen(table->name) == length && memcmp(table->name, name, length) == 0)
            return table;
    return NULL;
}

static const struct option *table_find_letter(const struct option *table, char letter)
{
    for (; table->name; table++)
        if (table->letter == letter)
            return table;
    return NULL;
}

/* The hint every usage error ends with, when nothing better is known. */
static void hint_help(const struct invocation *invocation, struct error *error)
{
    if (invocation->command)
        error_hint(error, "see 'smelt help %s'", invocation->command->name);
    else
        error_hint(error, "see 'smelt help'");
}

static struct error *usage_error(struct invocation *invocation, const char *message)
{
    struct error *error =
        errors_add(&invocation->errors, ERROR_USAGE, (struct place){0}, "%s", message);
    hint_help(invocation, error);
    return error;
}

/* An option that exists, but belongs to a command and stands before its name. */
static const struct command *owner_of(const char *name, size_t length)
{
    for (size_t i = 0; commands[i]; i++)
        if (table_find(commands[i]->options, name, length))
            return commands[i];
    return NULL;
}

static bool fail_unknown_option(struct invocation *invocation, const char *name, size_t length)
{
    struct arena *arena = invocation->arena;
    struct names VECTOR(const char *) names = {0};
    const struct option *tables[] = {command_options(invocation), global_options};
    for (size_t i = 0; i < 2; i++)
        for (const struct option *option = tables[i]; option->name; option++)
            vector_push(arena, &names, option->name);
    const char *wanted = arena_copy(arena, name, length);
    const char *nearest = spelling_nearest(wanted, names.at, names.count);
    struct error *error =
        usage_error(invocation, arena_printf(arena, "unknown option '--%s'", wanted));
    const struct command *owner = invocation->command ? NULL : owner_of(name, length);
    if (owner)
        error_hint(error, "it belongs after the command's name: 'smelt %s --%s ...'", owner->name,
                   wanted);
    else if (nearest && invocation->command)
        error_hint(error, "did you mean '--%s'? See 'smelt help %s'", nearest,
                   invocation->command->name);
    else if (nearest)
        error_hint(error, "did you mean '--%s'?", nearest);
    return false;
}

static bool check_choice(struct invocation *invocation, const struct option *option,
                         const char *value)
{
    struct text list = text_new(invocation->arena);
    size_t count = 0;
    for (; option->choices && option->choices[count]; count++) {
        if (strcmp(option->choices[count], value) == 0)
            return true;
        text_printf(&list, "%s%s", count ? ", " : "", option->choices[count]);
    }
    if (!option->choices)
        return true;
    struct error *error = usage_error(
        invocation, arena_printf(invocation->arena, "--%s cannot be '%s'", option->name, value));
    const char *nearest = spelling_nearest(value, option->choices, count);
    if (nearest)
        error_hint(error, "did you mean '%s'? It can be: %s", nearest, list.at);
    else
        error_hint(error, "it can be: %s", list.at);
    return false;
}

static bool option_add(struct invocation *invocation, const struct option *option,
                       const char *value)
{
    if (value && !check_choice(invocation, option, value))
        return false;
    vector_push(invocation->arena, &invocation->options,
                (struct option_use){.option = option, .value = value});
    return true;
}

/* The next word as the value of an option whose value does not stand in the same word. */
static bool take_value(struct invocation *invocation, struct words *words,
                       const struct option *option)
{
    if (words->at == words->count) {
        usage_error(invocation, arena_printf(invocation->arena, "--%s needs a value: --%s %s",
                                             option->name, option->name, option->argument));
        return false;
    }
    return option_add(invocation, option, words->word[words->at++]);
}

static bool parse_long(struct invocation *invocation, struct words *words, const char *name)
{
    size_t length = strcspn(name, "=");
    const char *value = name[length] ? name + length + 1 : NULL;
    const struct option *option = table_find(command_options(invocation), name, length);
    if (!option)
        option = table_find(global_options, name, length);
    if (!option)
        return fail_unknown_option(invocation, name, length);
    if (!option->argument && value) {
        usage_error(invocation,
                    arena_printf(invocation->arena, "--%s takes no value", option->name));
        return false;
    }
    if (option->argument && !value)
        return take_value(invocation, words, option);
    return option_add(invocation, option, value);
}

static bool parse_letters(struct invocation *invocation, struct words *words, const char *letters)
{
    for (; *letters; letters++) {
        const struct option *option = table_find_letter(command_options(invocation), *letters);
        if (!option)
            option = table_find_letter(global_options, *letters);
        if (!option) {
            usage_error(invocation,
                        arena_printf(invocation->arena, "unknown option '-%c'", *letters));
            return false;
        }
        if (!option->argument) {
            if (!option_add(invocation, option, NULL))
                return false;
            continue;
        }
        if (!letters[1])
            return take_value(invocation, words, option);
        return option_add(invocation, option, letters + 1);
    }
    return true;
}

static bool name_command(struct invocation *invocation, const char *name)
{
    invocation->command = command_find(name);
    if (invocation->command)
        return true;
    struct names VECTOR(const char *) names = {0};
    for (size_t i = 0; commands[i]; i++)
        vector_push(invocation->arena, &names, commands[i]->name);
    const char *nearest = spelling_nearest(name, names.at, names.count);
    struct error *error =
        usage_error(invocation, arena_printf(invocation->arena, "unknown command '%s'", name));
    size_t length = strlen(name);
    if (nearest)
        error_hint(error, "did you mean 'smelt %s'?", nearest);
    else if (length > 3 && strcmp(name + length - 3, ".op") == 0)
        error_hint(error, "a command comes first: 'smelt check %s'", name);
    return false;
}

static bool parse_word(struct invocation *invocation, struct words *words)
{
    const char *word = words->word[words->at++];
    if (!words->options_over && strcmp(word, "--") == 0)
        words->options_over = true;
    else if (!words->options_over && word[0] == '-' && word[1] == '-')
        return parse_long(invocation, words, word + 2);
    else if (!words->options_over && word[0] == '-' && word[1])
        return parse_letters(invocation, words, word + 1);
    else if (!invocation->command)
        return name_command(invocation, word);
    else
        vector_push(invocation->arena, &invocation->operands, word);
    return true;
}

static bool check_operands(struct invocation *invocation)
{
    const struct command *command = invocation->command;
    int given = (int)invocation->operands.count;
    if (given < command->least) {
        struct error *error = usage_error(
            invocation, arena_printf(invocation->arena, "'smelt %s' needs something to work on",
                                     command->name));
        error_detail(error, "usage: smelt %s %s", command->name, command->operands);
        return false;
    }
    if (command->most >= 0 && given > command->most) {
        usage_error(invocation,
                    arena_printf(invocation->arena, "'%s' is one word too many for 'smelt %s'",
                                 invocation->operands.at[command->most], command->name));
        return false;
    }
    return true;
}

bool options_parse(struct invocation *invocation, int count, char *const *words)
{
    struct words rest = {.count = count, .word = words};
    if (count > WORDS_MAXIMUM) {
        usage_error(invocation, "too many words on the command line");
        return false;
    }
    while (rest.at < rest.count)
        if (!parse_word(invocation, &rest))
            return false;
    invocation->json = invocation->command && table_find(invocation->command->options, "json", 4) &&
                       option_given(invocation, "json");
    if (!invocation->command || option_given(invocation, "help") ||
        option_given(invocation, "version"))
        return true;
    return check_operands(invocation);
}

bool options_want_json(int count, char *const *words)
{
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        if (strcmp(words[i], "--json") == 0)
            return true;
    return false;
}

static _Noreturn void option_bug(const char *name)
{
    fprintf(stderr, "smelt: bug: no table has an option '%s'\n", name);
    abort();
}

const char *option_next(const struct invocation *invocation, const char *name, size_t *cursor)
{
    size_t length = strlen(name);
    const struct option *option = table_find(command_options(invocation), name, length);
    if (!option)
        option = table_find(global_options, name, length);
    if (!option)
        option_bug(name);
    while (*cursor < invocation->options.count) {
        const struct option_use *use = &invocation->options.at[(*cursor)++];
        if (use->option == option)
            return use->value ? use->value : "";
    }
    return NULL;
}

bool option_given(const struct invocation *invocation, const char *name)
{
    return option_value(invocation, name) != NULL;
}

const char *option_value(const struct invocation *invocation, const char *name)
{
    const char *last = NULL, *value;
    size_t cursor = 0;
    while ((value = option_next(invocation, name, &cursor)))
        last = value;
    return last;
}

static bool refuse_number(struct invocation *invocation, const char *name, const char *text,
                          const char *wanted)
{
    error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                          "--%s takes %s, not '%s'", name, wanted, text),
               "smelt help %s", invocation->command->name);
    return false;
}

bool option_number(struct invocation *invocation, const char *name, double most, double *value)
{
    const char *text = option_value(invocation, name);
    char *end;
    if (!text)
        return true;
    double number = strtod(text, &end);
    if (*text == 0 || *end != 0 || !(number > 0 && number <= most))
        return refuse_number(
            invocation, name, text,
            arena_printf(invocation->arena, "a number above 0 and at most %g", most));
    *value = number;
    return true;
}

bool option_count(struct invocation *invocation, const char *name, int64_t least, int64_t most,
                  int64_t *value)
{
    const char *text = option_value(invocation, name);
    char *end;
    if (!text)
        return true;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (*text == 0 || *end != 0 || errno != 0 || number < least || number > most)
        return refuse_number(invocation, name, text,
                             arena_printf(invocation->arena, "a whole number from %lld to %lld",
                                          (long long)least, (long long)most));
    *value = number;
    return true;
}
