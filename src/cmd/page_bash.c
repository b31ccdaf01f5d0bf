/*
 * Completion for bash, as a script that needs no other package. Words, choices and the kind of
 * operand all come from the option tables; names of library ops are asked from smelt itself.
 */
#include "cmd/page.h"

static const char script_head[] =
    "# bash completion for smelt. Made by `smelt help --completion bash`.\n"
    "_smelt_words() { mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W \"$2\" -- \"$1\"); "
    "}\n"
    "_smelt_ops() { _smelt_words \"$1\" \"$(smelt ops --names 2>/dev/null)\"; }\n"
    "_smelt_any() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$1\")\n"
    "}\n"
    "_smelt_files() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY \\\n"
    "        < <(compgen -d -- \"$1\"; compgen -f -X \"!*.$2\" -- \"$1\")\n"
    "}\n"
    "_smelt() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local command='' i words=''\n"
    "    COMPREPLY=()\n"
    "    # bash splits --color=al into three words.\n"
    "    if [[ $current == = ]]; then\n"
    "        current=\n"
    "    elif [[ $before == = ]]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        case ${COMP_WORDS[i]} in\n";

static const char script_middle[] = "    esac\n"
                                    "    if [[ $current == -* ]]; then\n"
                                    "        _smelt_words \"$current\" \"$words\"\n"
                                    "        return\n"
                                    "    fi\n"
                                    "    case $command in\n";

static void bash_choices(struct text *out, const struct option *option)
{
    text_add(out, "_smelt_words \"$current\" \"");
    for (const char *const *choice = option->choices; *choice; choice++)
        text_printf(out, "%s%s", choice == option->choices ? "" : " ", *choice);
    text_add(out, "\"; return ;;\n");
}

/* What follows an option that takes a value: a choice, or a file. */
static void bash_values(struct text *out, const char *command, const struct option *options)
{
    for (; options->name; options++) {
        if (!options->argument)
            continue;
        text_printf(out, "    %s:--%s", command, options->name);
        if (options->letter)
            text_printf(out, " | %s:-%c", command, options->letter);
        text_add(out, ") ");
        if (options->choices)
            bash_choices(out, options);
        else
            text_add(out, "_smelt_any \"$current\"; return ;;\n");
    }
}

static void bash_words(struct text *out, const struct option *options)
{
    for (; options->name; options++)
        text_printf(out, " --%s", options->name);
}

static void bash_operands(struct text *out, const struct command *command)
{
    static const char *const actions[] = {
        [OPERAND_NONE] = ":",
        [OPERAND_FILE] = "_smelt_files \"$current\" op",
        [OPERAND_FILE_OR_OP] = "_smelt_ops \"$current\"; _smelt_files \"$current\" op",
        [OPERAND_OP] = "_smelt_ops \"$current\"",
        [OPERAND_COMMAND] = "_smelt_words \"$current\" \"$names\"",
    };
    text_printf(out, "    %s) %s ;;\n", command->name, actions[command->operand_kind]);
}

void page_bash(struct text *out)
{
    text_add(out, script_head);
    text_add(out, "        ");
    for (size_t i = 0; commands[i]; i++)
        text_printf(out, "%s%s", i ? " | " : "", commands[i]->name);
    text_add(out,
             ") command=${COMP_WORDS[i]}; break ;;\n        esac\n    done\n    local names=\"");
    for (size_t i = 0; commands[i]; i++)
        text_printf(out, "%s%s", i ? " " : "", commands[i]->name);
    text_add(out, "\"\n    case $command:$before in\n");
    bash_values(out, "*", global_options);
    for (size_t i = 0; commands[i]; i++)
        bash_values(out, commands[i]->name, commands[i]->options);
    text_add(out, "    esac\n    case $command in\n");
    for (size_t i = 0; commands[i]; i++) {
        text_printf(out, "    %s) words=\"", commands[i]->name);
        bash_words(out, commands[i]->options);
        bash_words(out, global_options);
        text_add(out, "\" ;;\n");
    }
    text_add(out, "    *) words=\"");
    bash_words(out, global_options);
    text_add(out, "\" ;;\n");
    text_add(out, script_middle);
    text_add(out, "    '') _smelt_words \"$current\" \"$names\" ;;\n");
    for (size_t i = 0; commands[i]; i++)
        bash_operands(out, commands[i]);
    text_add(out, "    esac\n}\ncomplete -F _smelt smelt\n");
}
