/*
 * From what a call said to what the client is told: the result of a tool, pages as resources, the
 * next step as a prompt.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "mcp/private.h"

enum { PAGES = 50 }; /* resources of one answer; the next ones follow by the cursor */

/* Errors as a person would read them. */
static const char *errors_text(struct arena *arena, const struct json_value *answer)
{
    struct text text = text_new(arena);
    const struct json_value *errors = json_member(answer, "errors");
    for (const struct json_value *each = errors ? errors->first : NULL; each; each = each->next) {
        const char *file = json_text(each, "file"), *hint = json_text(each, "hint");
        double line = json_number(each, "line");
        if (*file && line > 0)
            text_printf(&text, "%s:%.0f: ", file, line);
        text_printf(&text, "%s [%s]\n", json_text(each, "message"), json_text(each, "code"));
        if (*hint)
            text_printf(&text, "hint: %s\n", hint);
    }
    return text.length ? text.at : NULL;
}

/* Why there is no answer; NULL: there is one. */
static const char *failure_text(struct arena *arena, const struct mcp_call *call, int status,
                                const struct json_value *answer)
{
    const char *complaint = call->complained.length ? call->complained.at : "";
    if (call->excess)
        return arena_printf(arena, "the answer is longer than %d bytes", MCP_RESULT_BYTES);
    if (call->stop > 0 && !answer)
        return arena_printf(arena, "the call took longer than %d s and was ended",
                            MCP_CALL_SECONDS);
    if (!answer)
        return arena_printf(
            arena, "smelt gave no answer (%s %d)\n%s", WIFSIGNALED(status) ? "signal" : "exit code",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), complaint);
    return errors_text(arena, answer);
}

static void write_text(struct json *json, const char *text)
{
    json_array(json, "content");
    json_object(json, NULL);
    json_string(json, "type", "text");
    json_string(json, "text", text);
    json_end(json);
    json_end(json);
}

static void answer_tool(struct arena *arena, const struct mcp_call *call,
                        const struct json_value *answer, const char *failure, struct text *out)
{
    struct json json = mcp_answer_begin(out, call->id);
    const struct json_value *text = call->tool->text ? json_member(answer, call->tool->text) : NULL;
    if (failure) {
        write_text(&json, failure);
    } else if (text && text->kind == JSON_STRING) {
        write_text(&json, text->string);
    } else {
        struct text compact = text_new(arena);
        struct json whole = json_new(&compact, 0);
        json_raw(&whole, NULL, call->said.at);
        write_text(&json, compact.at);
        json_raw(&json, "structuredContent", compact.at);
    }
    json_bool(&json, "isError", failure != NULL);
    mcp_answer_end(&json);
}

/* ---- resources ---- */

static void write_page(struct json *json, struct arena *arena, const struct json_value *page)
{
    json_object(json, NULL);
    json_string(json, "uri", arena_printf(arena, "smelt://kb/%s", json_text(page, "page")));
    json_string(json, "name", json_text(page, "page"));
    json_string(json, "title", json_text(page, "title"));
    json_string(json, "description", json_text(page, "lead"));
    json_string(json, "mimeType", "text/markdown");
    json_end(json);
}

static void answer_pages(struct arena *arena, const struct mcp_call *call,
                         const struct json_value *answer, struct text *out)
{
    struct json json = mcp_answer_begin(out, call->id);
    const struct json_value *pages = json_member(answer, "pages");
    const struct json_value *page = pages ? pages->first : NULL, *last = NULL;
    bool found = !*call->after;
    int count = 0;
    for (; page && !found; page = page->next)
        found = strcmp(json_text(page, "page"), call->after) == 0;
    json_array(&json, "resources");
    for (; page && count < PAGES; page = page->next, count++) {
        write_page(&json, arena, page);
        last = page;
    }
    json_end(&json);
    if (page && last)
        json_string(&json, "nextCursor", json_text(last, "page"));
    mcp_answer_end(&json);
}

static void answer_page(const struct mcp_call *call, const struct json_value *answer,
                        struct text *out)
{
    struct json json = mcp_answer_begin(out, call->id);
    json_array(&json, "contents");
    json_object(&json, NULL);
    json_string(&json, "uri", call->uri);
    json_string(&json, "mimeType", "text/markdown");
    json_string(&json, "text", json_text(answer, "text"));
    json_end(&json);
    json_end(&json);
    mcp_answer_end(&json);
}

/* ---- prompts ---- */

static void answer_prompt(const struct mcp_call *call, const struct json_value *answer,
                          struct text *out)
{
    struct json json = mcp_answer_begin(out, call->id);
    json_string(&json, "description", "what to do next in the run");
    json_array(&json, "messages");
    json_object(&json, NULL);
    json_string(&json, "role", "user");
    json_object(&json, "content");
    json_string(&json, "type", "text");
    json_string(&json, "text", json_text(answer, "prompt"));
    json_end(&json);
    json_end(&json);
    json_end(&json);
    mcp_answer_end(&json);
}

void mcp_answer_call(struct arena *arena, const struct mcp_call *call, int status, struct text *out)
{
    const struct json_value *answer = call->said.length && !call->excess
                                          ? json_read(arena, call->said.at, call->said.length)
                                          : NULL;
    const char *failure = failure_text(arena, call, status, answer);
    if (call->kind == MCP_TOOL)
        answer_tool(arena, call, answer, failure, out);
    else if (failure)
        mcp_answer_error(out, call->id,
                         call->kind == MCP_PAGE ? MCP_NO_RESOURCE : MCP_INVALID_PARAMS, failure);
    else if (call->kind == MCP_PAGES)
        answer_pages(arena, call, answer, out);
    else if (call->kind == MCP_PAGE)
        answer_page(call, answer, out);
    else
        answer_prompt(call, answer, out);
}
