/*
 * smelt mcp: the server for coding agents.
 */
#include "mcp/mcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cmd/stored.h"
#include "os/process.h"
#include "os/secret.h"

static const struct option options[] = {
    {.name = "http",
     .help = "serve streamable HTTP on 127.0.0.1 instead of standard input and output; clients "
             "show the token of SMELT_MCP_TOKEN or, when that is not set, a new one that is "
             "printed at the start"},
    {.name = "port",
     .argument = "N",
     .help = "with --http: the port (8421 when not given; 0 takes one that is free)"},
    {.name = "tools", .help = "print the table of tools and end"},
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt mcp", "what a coding agent is configured to start"},
    {"smelt mcp --http --port 8421", "for agents that connect to a server"},
    {"smelt mcp --tools", "what it offers"},
    {0},
};

enum { PORT = 8421, TOKEN_LEAST = 16, TOKEN_MOST = 200 };

static bool usage(struct invocation *invocation, const char *what, const char *hint)
{
    error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0}, "%s", what), "%s",
               hint);
    return false;
}

static bool take_port(struct invocation *invocation, int *port)
{
    const char *text = option_value(invocation, "port");
    char *end = NULL;
    *port = option_given(invocation, "http") ? PORT : -1;
    if (!text)
        return true;
    long number = strtol(text, &end, 10);
    if (!option_given(invocation, "http"))
        return usage(invocation, "--port is for --http", "smelt mcp --http --port N");
    if (!*text || *end || number < 0 || number > 65535)
        return usage(invocation, "--port takes a number from 0 to 65535", "smelt help mcp");
    *port = (int)number;
    return true;
}

/* Letters and digits that nobody can guess. */
static const char *new_token(struct arena *arena)
{
    unsigned char bytes[24];
    struct text text = text_new(arena);
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return NULL;
    for (size_t i = 0; i < sizeof bytes; i++)
        text_printf(&text, "%02x", bytes[i]);
    return text.at;
}

/* It was taken out of the environment: calls are started without it. */
static bool take_token(struct invocation *invocation, const char **token, bool *given)
{
    const char *text = secret_value("SMELT_MCP_TOKEN");
    *given = text && *text;
    *token = *given ? text : new_token(invocation->arena);
    if (!*token || strlen(*token) < TOKEN_LEAST || strlen(*token) > TOKEN_MOST)
        return usage(invocation, "the token is too short or too long",
                     "SMELT_MCP_TOKEN has 16 to 200 characters");
    return true;
}

struct serving {
    struct invocation *invocation;
    const char *shown; /* the token, when clients cannot know it otherwise */
};

static void say_ready(void *context, int port)
{
    const struct serving *serving = context;
    output_note(serving->invocation, "listening on http://127.0.0.1:%d/mcp", port);
    if (serving->shown)
        output_note(serving->invocation, "clients say: Authorization: Bearer %s", serving->shown);
}

static enum exit_code show_tools(struct invocation *invocation)
{
    struct text out = text_new(invocation->arena);
    if (!invocation->json) {
        mcp_tools_markdown(&out);
        output_text(&out);
        return EXIT_YES;
    }
    struct json json = output_json_begin(invocation, &out);
    json_array(&json, "tools");
    for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++)
        mcp_tool_write(&json, tool);
    json_end(&json);
    return output_json_end(invocation, &json);
}

static enum exit_code run(struct invocation *invocation)
{
    struct serving serving = {.invocation = invocation};
    struct mcp_options chosen = {
        .input = STDIN_FILENO, .output = STDOUT_FILENO, .ready = say_ready, .context = &serving};
    const char *store = option_value(invocation, "store");
    struct error error = {0};
    bool given = false;
    if (option_given(invocation, "tools"))
        return show_tools(invocation);
    if (!take_port(invocation, &chosen.port) || !take_token(invocation, &chosen.token, &given))
        return EXIT_USAGE;
    if (chosen.port < 0)
        chosen.ready = NULL;
    serving.shown = given ? NULL : chosen.token;
    chosen.program = process_own_path(invocation->arena);
    if (!chosen.program) {
        error_set(&error, ERROR_MISSING_TOOL, "could not find out where smelt itself is");
        errors_take(&invocation->errors, &error);
        return EXIT_ENVIRONMENT;
    }
    if (store)
        setenv("SMELT_STORE", store, 1);
    if (mcp_serve(&chosen, &error))
        return EXIT_YES;
    errors_take(&invocation->errors, &error);
    return EXIT_ENVIRONMENT;
}

const struct command command_mcp = {
    .name = "mcp",
    .summary = "serve coding agents by the Model Context Protocol",
    .operands = "",
    .operand_kind = OPERAND_NONE,
    .least = 0,
    .most = 0,
    .description =
        "A coding agent starts this and talks to it over standard input and output: it lists "
        "tasks, begins runs, asks what is known about the next step, has kernels judged, and "
        "submits candidates, which enter the same graph as those of the search. Pages of the "
        "knowledge base are resources. docs/agents.md says how agents are set up.\n\n"
        "Every call is a smelt of its own: long ones report progress, can be cancelled, and hold "
        "up no others. The server ends when its input does, or when it is told to (SIGTERM).",
    .options = options,
    .examples = examples,
    .run = run,
};
