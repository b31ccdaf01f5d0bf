/*
 * smelt help: the option tables as pages to read, and as files for other programs.
 */
#include <string.h>

#include "cmd/page.h"

static const char *const shell_choices[] = {"bash", NULL};

static const struct option options[] = {
    {.name = "man", .help = "print the manual page smelt(1) in man's notation"},
    {.name = "markdown", .help = "print this reference as markdown, as in docs/cli.md"},
    {.name = "errors", .help = "print the list of all errors as markdown, as in docs/errors.md"},
    {.name = "completion",
     .argument = "SHELL",
     .choices = shell_choices,
     .help = "print the script that completes smelt's command line; SHELL is bash"},
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt help ref", "what 'smelt ref' does, its options, examples"},
    {"source <(smelt help --completion bash)", "complete in this shell from now on"},
    {"smelt help --man | man -l -", "read the manual page without installing it"},
    {0},
};

static void json_options(struct json *json, const struct option *table)
{
    json_array(json, "options");
    for (; table->name; table++) {
        json_object(json, NULL);
        json_string(json, "name", table->name);
        json_string(json, "argument", table->argument);
        json_bool(json, "repeated", table->repeated);
        if (table->choices) {
            json_array(json, "choices");
            for (size_t i = 0; table->choices[i]; i++)
                json_string(json, NULL, table->choices[i]);
            json_end(json);
        }
        json_string(json, "help", table->help);
        json_end(json);
    }
    json_end(json);
}

static void json_command(struct json *json, const struct command *command)
{
    json_object(json, NULL);
    json_string(json, "name", command->name);
    json_string(json, "summary", command->summary);
    json_string(json, "operands", command->operands);
    json_string(json, "description", command->description);
    json_options(json, command->options);
    json_array(json, "examples");
    for (const struct example *example = command->examples; example->command; example++) {
        json_object(json, NULL);
        json_string(json, "command", example->command);
        json_string(json, "what", example->what);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static enum exit_code answer_json(struct invocation *invocation, const struct command *only)
{
    struct text text = text_new(invocation->arena);
    struct json json = output_json_begin(invocation, &text);
    json_array(&json, "commands");
    for (size_t i = 0; commands[i]; i++)
        if (!only || only == commands[i])
            json_command(&json, commands[i]);
    json_end(&json);
    json_options(&json, global_options);
    return output_json_end(invocation, &json);
}

static const struct command *find_topic(struct invocation *invocation, const char *name)
{
    const struct command *command = command_find(name);
    if (command)
        return command;
    struct names VECTOR(const char *) names = {0};
    for (size_t i = 0; commands[i]; i++)
        vector_push(invocation->arena, &names, commands[i]->name);
    const char *nearest = spelling_nearest(name, names.at, names.count);
    struct error *error = errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                                     "there is no command '%s' to explain", name);
    if (nearest)
        error_hint(error, "did you mean 'smelt help %s'?", nearest);
    else
        error_hint(error, "'smelt help' lists the commands");
    return NULL;
}

static enum exit_code run(struct invocation *invocation)
{
    struct text text = text_new(invocation->arena);
    const struct command *topic = NULL;
    if (invocation->operands.count) {
        topic = find_topic(invocation, invocation->operands.at[0]);
        if (!topic)
            return EXIT_USAGE;
    }
    if (option_given(invocation, "json"))
        return answer_json(invocation, topic);
    if (option_given(invocation, "man"))
        page_man(&text);
    else if (option_given(invocation, "markdown"))
        page_markdown(&text);
    else if (option_given(invocation, "errors"))
        page_errors(&text);
    else if (option_given(invocation, "completion"))
        page_bash(&text);
    else if (topic)
        page_command(&text, topic, invocation->colour);
    else
        page_overview(&text, true, invocation->colour);
    output_text(&text);
    return EXIT_YES;
}

const struct command command_help = {
    .name = "help",
    .summary = "explain a command, or print the manual",
    .operands = "[COMMAND]",
    .operand_kind = OPERAND_COMMAND,
    .most = 1,
    .description = "Without a command: an overview of all of them. The manual page, the reference "
                   "in docs/ and the completion script are made from the same tables that parse "
                   "the command line, so they cannot disagree with it.",
    .options = options,
    .examples = examples,
    .run = run,
};
