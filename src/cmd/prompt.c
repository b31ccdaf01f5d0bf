/*
 * smelt prompt: what a language model is asked about a task, and what its reply makes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/prompted.h"
#include "kernel/kernel.h"
#include "os/file.h"

static const struct option options[] = {
    {.name = "parent",
     .argument = "C",
     .help = "go on from this: the number of a candidate, a run's task or 'last' (its best), or a "
             "kernel FILE.c; when not given, the kernel of the best seed plan"},
    {.name = "verdict",
     .argument = "FILE",
     .help = "what 'smelt judge --json' said about a parent that is a file"},
    {.name = "window",
     .argument = "N",
     .help = "tokens the model can hold, prompt and reply together: 8000 to 2000000, or 32k, 1M "
             "(128k when not given)"},
    {.name = "role", .argument = "NAME", .help = "the point of view of this expert: memory, ..."},
    {.name = "reply",
     .argument = "FILE",
     .help = "read a model's reply to this prompt (- is standard input) and print the kernel it "
             "makes; when it is malformed, what to answer the model"},
    {.name = "threads", .argument = "N", .help = "threads kernels are given (1 when not given)"},
    {.name = "out",
     .letter = 'o',
     .argument = "FILE",
     .help = "write to FILE instead of standard output"},
    {.name = "op", .argument = "NAME", .help = "the op of FILE"},
    {.name = "task", .argument = "NAME", .help = "the task of FILE"},
    {.name = "case", .letter = 'c', .argument = "I", .help = "the case that counts, from 0"},
    OPTIONS_PINS,
    OPTION_KB,
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt prompt softmax.op", "to write something better than what smelt starts from"},
    {"smelt prompt softmax.op --parent last --window 32k", "to go on from the best of a run"},
    {"smelt prompt softmax.op --parent mine.c --verdict mine.json", "to repair a kernel"},
    {"smelt prompt softmax.op --parent mine.c --reply answer.txt -o next.c",
     "the kernel that a reply makes of it"},
    {0},
};

/* ---- answers ---- */

static bool answer_text(struct invocation *invocation, const char *text)
{
    const char *path = option_value(invocation, "out");
    struct error error = {0};
    if (!path) {
        output_printf("%s", text);
        return true;
    }
    if (file_write(path, text, strlen(text), 0644, &error))
        return true;
    errors_take(&invocation->errors, &error);
    return false;
}

static void note_left_out(const struct invocation *invocation, const struct llm_prompt *prompt)
{
    struct text names = text_new(invocation->arena);
    size_t count = 0;
    for (size_t i = 0; i < prompt->pieces.count; i++)
        if (prompt->pieces.at[i].form == LLM_LEFT_OUT && count++ < 8)
            text_printf(&names, "%s%s", count > 1 ? ", " : "", prompt->pieces.at[i].name);
    output_note(invocation, "about %zu tokens, %zu of a window of %zu are left for the reply",
                prompt->tokens, prompt->reply, prompt->window);
    if (count)
        output_note(invocation, "there was no room for %zu of %zu pieces: %s%s", count,
                    prompt->pieces.count, names.at, count > 8 ? ", ..." : "");
}

static enum exit_code answer_json(struct invocation *invocation, const struct llm_prompt *prompt)
{
    static const char *const forms[] = {"left out", "brief", "whole"};
    struct text out = text_new(invocation->arena);
    struct json json = output_json_begin(invocation, &out);
    json_int(&json, "window", (int64_t)prompt->window);
    json_int(&json, "tokens", (int64_t)prompt->tokens);
    json_int(&json, "reply_tokens", (int64_t)prompt->reply);
    json_array(&json, "pieces");
    for (size_t i = 0; i < prompt->pieces.count; i++) {
        const struct llm_piece *piece = &prompt->pieces.at[i];
        json_object(&json, NULL);
        json_string(&json, "section", piece->section);
        json_string(&json, "name", piece->name);
        json_string(&json, "form", forms[piece->form]);
        json_int(&json, "tokens", (int64_t)piece->tokens);
        json_end(&json);
    }
    json_end(&json);
    json_string(&json, "system", prompt->system);
    json_string(&json, "user", prompt->user);
    return output_json_end(invocation, &json);
}

static enum exit_code ask(struct prompted *prompted, size_t window)
{
    struct invocation *invocation = prompted->planned.request.invocation;
    struct llm_prompt prompt;
    struct error error = {0};
    if (!llm_prompt_build(invocation->arena, &prompted->context, window, &prompt, &error)) {
        errors_take(&invocation->errors, &error);
        return EXIT_NO;
    }
    if (invocation->json)
        return answer_json(invocation, &prompt);
    bool written = answer_text(
        invocation, arena_printf(invocation->arena, "%s\n%s", prompt.system, prompt.user));
    note_left_out(invocation, &prompt);
    return written ? EXIT_YES : EXIT_ENVIRONMENT;
}

/* ---- replies ---- */

/* The kernel of a plan that a model wrote. */
static const char *kernel_of_plan(struct prompted *prompted, const char *text, struct error *error)
{
    struct arena *arena = prompted->planned.request.invocation->arena;
    struct errors errors = errors_new(arena);
    struct source *source = arena_new(arena, struct source);
    struct text kernel = text_new(arena);
    *source = (struct source){"plan", text, strlen(text)};
    struct plan *plan = plan_parse(arena, source, prompted->planned.ready->graph, &errors);
    if (!plan) {
        *error = errors.list.at[0];
        return NULL;
    }
    if (!skeleton_check(prompted->planned.ready, plan, error))
        return NULL;
    propose_source(prompted->planned.ready, plan,
                   planned_op_text(arena, prompted->planned.request.subject.op), &kernel);
    return kernel.at;
}

/* What the reply makes, checked as far as its manifest goes. NULL: error is set. */
static const char *kernel_of(struct prompted *prompted, const struct llm_reply *reply,
                             struct error *error)
{
    struct arena *arena = prompted->planned.request.invocation->arena;
    struct errors errors = errors_new(arena);
    if (reply->kind == LLM_PLAN)
        return kernel_of_plan(prompted, reply->text, error);
    const char *text = llm_reply_apply(arena, reply, prompted->context.kernel, error);
    if (!text)
        return NULL;
    struct source *source = arena_new(arena, struct source);
    *source = (struct source){"kernel.c", text, strlen(text)};
    if (kernel_parse(arena, source, ir_root(prompted->planned.program), &errors))
        return text;
    *error = errors.list.at[0];
    return NULL;
}

static enum exit_code answer_reply_json(struct invocation *invocation,
                                        const struct llm_reply *reply, const char *kernel,
                                        const char *repair)
{
    struct text out = text_new(invocation->arena);
    struct json json = output_json_begin(invocation, &out);
    json_string(&json, "kind", kernel ? llm_reply_kind_name(reply->kind) : NULL);
    json_string(&json, "change", reply->change);
    json_string(&json, "why", reply->why);
    json_double(&json, "expected", reply->expected);
    json_string(&json, "kernel", kernel);
    json_string(&json, "repair", repair);
    return output_json_end(invocation, &json);
}

static enum exit_code read_reply(struct prompted *prompted, const char *path)
{
    struct invocation *invocation = prompted->planned.request.invocation;
    struct error error = {0};
    struct llm_reply reply = {0};
    const char *kernel = NULL;
    const struct source *source = subject_read(invocation, path, &error);
    if (!source) {
        errors_take(&invocation->errors, &error);
        return error_exit(error.code);
    }
    struct text repair = text_new(invocation->arena);
    if (llm_reply_parse(invocation->arena, source, &reply, &error))
        kernel = kernel_of(prompted, &reply, &error);
    if (!kernel) {
        llm_repair(&repair, &error);
        errors_take(&invocation->errors, &error);
    }
    if (invocation->json) {
        if (kernel && option_given(invocation, "out") && !answer_text(invocation, kernel))
            return EXIT_ENVIRONMENT;
        enum exit_code code =
            answer_reply_json(invocation, &reply, kernel, kernel ? NULL : repair.at);
        return kernel ? code : exit_worse(code, EXIT_NO);
    }
    if (!kernel) {
        output_text(&repair);
        return EXIT_NO;
    }
    return answer_text(invocation, kernel) ? EXIT_YES : EXIT_ENVIRONMENT;
}

/* ---- the command ---- */

static enum exit_code run(struct invocation *invocation)
{
    struct prompted *prompted = arena_new(invocation->arena, struct prompted);
    const char *reply = option_value(invocation, "reply");
    size_t window;
    int64_t threads = 1;
    prompted->planned.request.invocation = prompted->invocation = invocation;
    prompted->from = option_value(invocation, "parent");
    prompted->judged = option_value(invocation, "verdict");
    if (!prompted_window(invocation, &window) ||
        !option_count(invocation, "threads", 1, MACHINE_THREADS, &threads) ||
        !prompted_role(invocation, &prompted->role))
        return EXIT_USAGE;
    prompted->threads = (int)threads;
    bool ready = prompted_gather(prompted, !reply);
    enum exit_code code = !ready  ? errors_exit(&invocation->errors)
                          : reply ? read_reply(prompted, reply)
                                  : ask(prompted, window);
    prompted_close(prompted);
    return code;
}

const struct command command_prompt = {
    .name = "prompt",
    .summary = "print what a language model is asked about a task, or read its reply",
    .operands = "FILE|OP [NAME=VALUE...]",
    .operand_kind = OPERAND_FILE_OR_OP,
    .least = 1,
    .most = -1,
    .description =
        "Prints the prompt of the next step from a parent kernel: the op and its contract, the "
        "machine with its measured rates, the parent with its verdict and diagnosis, what its "
        "relatives tried, what earlier runs learned, and pages of the knowledge base that fit. It "
        "is fitted to the model's window, best evidence first; the same question gives the same "
        "text. docs/prompt.md says how.\n\n"
        "With --reply it reads what a model answered and prints the kernel that comes of it: a "
        "whole kernel, edits of the parent, or a plan. A reply that is malformed gets the text of "
        "one request to repair it, and the exit code is 1.",
    .options = options,
    .examples = examples,
    .run = run,
};
