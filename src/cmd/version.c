/*
 * smelt version: which smelt this is, and where it looks for its library.
 */
#include "cmd/command.h"
#include "lang/lang.h"

#ifndef SMELT_VERSION
#define SMELT_VERSION "unknown"
#endif

static const struct option options[] = {OPTION_JSON, {0}};

static const struct example examples[] = {
    {"smelt version", "the version and the library's folder"},
    {0},
};

static enum exit_code run(struct invocation *invocation)
{
    const char *library = lang_library_folder(invocation->arena);
    if (!invocation->json) {
        output_printf("smelt %s\n", SMELT_VERSION);
        output_printf("library: %s\n", library ? library : "not found (set SMELT_LIB)");
        return EXIT_YES;
    }
    struct text text = text_new(invocation->arena);
    struct json json = output_json_begin(invocation, &text);
    json_string(&json, "version", SMELT_VERSION);
    json_string(&json, "library", library);
    json_string(&json, "compiler", __VERSION__);
    return output_json_end(invocation, &json);
}

const struct command command_version = {
    .name = "version",
    .summary = "print the version and where the library is",
    .operands = "",
    .operand_kind = OPERAND_NONE,
    .most = 0,
    .description = "Prints the version of smelt and the folder its op library is read from.",
    .options = options,
    .examples = examples,
    .run = run,
};
