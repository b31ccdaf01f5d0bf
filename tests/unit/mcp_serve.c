/*
 * `smelt mcp` over standard input and output, as an agent uses it. These start smelt itself and
 * judge kernels: they are the suite `mcp`, run only when asked for.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mcp/mcp.h"
#include "mcp_client.h"
#include "os/clock.h"
#include "os/process.h"
#include "test.h"

static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":9999,\"method\":\"ping\"}";

static double error_of(const struct json_value *answer)
{
    return json_number(json_member(answer, "error"), "code");
}

static const struct json_value *data_of(const struct json_value *result)
{
    const struct json_value *data = json_member(result, "structuredContent");
    CHECK(data != NULL);
    return data;
}

/* A run of the task, begun over the protocol; its number as text. */
static const char *begin_run(struct client *client)
{
    const char *arguments = client_object(&client->arena, "text", client_task, NULL);
    const struct json_value *data = data_of(client_call(client, "start_run", arguments, false));
    const struct json_value *runs = json_member(data, "runs");
    CHECK(runs && runs->first);
    CHECK_STR(json_text(runs->first, "task"), "running_sum");
    return arena_printf(&client->arena, "%.0f", json_number(runs->first, "run"));
}

/* A client of a server with a store of its own, and a run in it. */
static const char *open_run(struct client *client, struct arena *arena)
{
    client_open(client, client_folder(arena));
    return begin_run(client);
}

/* ---- the session ---- */

/* Versions that are spoken are agreed on, others are answered with the newest. */
TEST(agents_versions)
{
    static const char *const versions[][2] = {{"2024-11-05", "2024-11-05"},
                                              {"2025-03-26", "2025-03-26"},
                                              {"2025-11-25", "2025-11-25"},
                                              {"1999-01-01", "2025-11-25"},
                                              {"2099-01-01", "2025-11-25"}};
    struct arena arena = {0};
    const char *folder = client_folder(&arena);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        struct client client;
        client_start(&client, folder);
        /* nothing but a ping before the session is open */
        CHECK_INT(error_of(client_request(&client, "tools/list", NULL)), MCP_INVALID_REQUEST);
        CHECK(json_member(client_request(&client, "ping", NULL), "result"));
        CHECK_INT(error_of(client_request(&client, "server/discover", "{}")), MCP_NO_METHOD);
        CHECK_INT(error_of(client_request(&client, "initialize", "{}")), MCP_INVALID_PARAMS);
        const char *params = arena_printf(
            &client.arena, "{\"protocolVersion\":\"%s\",\"capabilities\":{}}", versions[i][0]);
        const struct json_value *result =
            json_member(client_request(&client, "initialize", params), "result");
        CHECK_STR(json_text(result, "protocolVersion"), versions[i][1]);
        CHECK_STR(json_text(json_member(result, "serverInfo"), "name"), "smelt");
        CHECK(json_member(json_member(result, "capabilities"), "tools"));
        CHECK(json_member(client_request(&client, "tools/list", NULL), "result"));
        client_close(&client);
    }
    arena_release(&arena);
}

/* Every tool of the table is listed, with a schema that names its parameters. */
TEST(agents_tools)
{
    struct client client;
    struct arena arena = {0};
    client_open(&client, client_folder(&arena));
    const struct json_value *tools =
        json_member(json_member(client_request(&client, "tools/list", "{}"), "result"), "tools");
    const struct json_value *each = tools ? tools->first : NULL;
    for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++, each = each->next) {
        CHECK(each != NULL);
        CHECK_STR(json_text(each, "name"), tool->name);
        CHECK(strlen(json_text(each, "description")) > 20);
        const struct json_value *schema = json_member(each, "inputSchema");
        CHECK_STR(json_text(schema, "type"), "object");
        for (const struct mcp_parameter *one = tool->parameters; one->name; one++)
            CHECK(json_member(json_member(schema, "properties"), one->name) != NULL);
    }
    CHECK(each == NULL);
    client_close(&client);
    arena_release(&arena);
}

/* ---- what comes from outside ---- */

/* Whatever is sent, the answer is an error or nothing, and the server goes on. */
TEST(agents_garbage)
{
    static const char *const lines[] = {
        "",
        "nonsense",
        "{",
        "{}",
        "[]",
        "[1, 2, 3]",
        "null",
        "\"initialize\"",
        "\xff\xfe\x01\x02",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":7}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"rm\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"file:///"
        "etc/passwd\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"smelt://"
        "kb/../../README\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\",\"params\":{\"name\":\"x\"}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
        "cancelled\",\"params\":{\"requestId\":[]}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard-of\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}",
    };
    struct client client;
    struct arena arena = {0};
    client_open(&client, client_folder(&arena));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const struct json_value *answer;
        bool answered = false;
        client_send(&client, lines[i]);
        client_send(&client, ping);
        do {
            answer = client_receive(&client, 60);
            CHECK(answer != NULL);
            answered |= json_number(answer, "id") == 9999;
            if (json_number(answer, "id") != 9999)
                CHECK(json_member(answer, "error") != NULL);
        } while (!answered);
    }
    client_close(&client);
    arena_release(&arena);
}

/* Lines and arguments that are too long are refused, and cost nothing more. */
TEST(agents_huge)
{
    struct client client;
    struct arena arena = {0};
    client_open(&client, client_folder(&arena));
    size_t length = 3 * (size_t)MCP_MESSAGE_BYTES;
    char *line = arena_alloc(&client.arena, length + 1);
    memset(line, 'x', length);
    client_send(&client, line);
    const struct json_value *answer = client_receive(&client, 60);
    CHECK_INT(error_of(answer), MCP_PARSE);
    memset(line, '[', length); /* nested deeper than anything is read */
    line[MCP_MESSAGE_BYTES / 2] = 0;
    client_send(&client, line);
    CHECK_INT(error_of(client_receive(&client, 60)), MCP_PARSE);
    memset(line, ' ', MCP_SOURCE_BYTES + 1);
    line[MCP_SOURCE_BYTES + 1] = 0;
    const char *arguments = client_object(&client.arena, "task", "softmax", "kernel", line, NULL);
    const struct json_value *result = client_call(&client, "judge_kernel", arguments, true);
    CHECK(strstr(client_text(result), "longer than"));
    CHECK(json_member(client_request(&client, "ping", NULL), "result"));
    client_close(&client);
    arena_release(&arena);
}

/* No argument becomes an option of the command, and none that is not known is passed over. */
TEST(agents_arguments)
{
    struct client client;
    struct arena arena = {0};
    const char *folder = client_folder(&arena);
    client_open(&client, folder);
    const char *stolen = arena_printf(&client.arena, "%s/stolen", folder);
    const char *out = arena_printf(&client.arena, "--out=%s", stolen);
    static const char kernel[] = "// smelt kernel 1\n";
    struct arena *a = &client.arena;
    client_call(&client, "describe_task", client_object(a, "task", out, NULL), true);
    client_call(&client, "start_run", client_object(a, "task", out, NULL), true);
    client_call(&client, "read_knowledge", client_object(a, "page", "--json", NULL), true);
    client_call(&client, "best_kernel", client_object(a, "run", out, NULL), true);
    client_call(&client, "describe_task", client_object(a, "task", "softmax", "out", stolen, NULL),
                true);
    client_call(&client, "describe_task",
                client_object(a, "task", "softmax", "sizes", "[\"B=[8]\", \"-o\"]", NULL), true);
    client_call(&client, "describe_task", client_object(a, "task", "soft\nmax", NULL), true);
    client_call(&client, "describe_task", "{}", true);
    client_call(&client, "describe_task", "{\"task\": [1]}", true);
    client_call(&client, "judge_kernel", client_object(a, "kernel", kernel, NULL), true);
    client_call(&client, "submit_kernel",
                client_object(a, "run", "1", "kernel", kernel, "agent", "a b\tc", NULL), true);
    CHECK(access(stolen, F_OK) != 0);
    /* a number where a word is meant is what agents write */
    client_call(&client, "best_kernel", "{\"run\": 1}", true);
    client_close(&client);
    arena_release(&arena);
}

/* ---- a session of an agent ---- */

/* Everything over the protocol: a run, what to do next, wrong, plain and fast kernels, the best. */
TEST(agents_improve_a_kernel)
{
    struct client client;
    struct arena arena = {0};
    client_open(&client, client_folder(&arena));
    struct arena *a = &client.arena;
    const char *run = begin_run(&client);
    const char *about = client_object(a, "run", run, "window", "16k", NULL);
    const char *said = client_text(client_call(&client, "next_step", about, false));
    CHECK(strstr(said, "y[i] += x[j]") && strstr(said, "submit_kernel"));
    const char *file = arena_printf(a, "%s/running.op", client.folder);
    FILE *stream = fopen(file, "w");
    CHECK(stream && fputs(client_task, stream) >= 0 && fclose(stream) == 0);
    const char *plain = client_text(
        client_call(&client, "describe_task", client_object(a, "task", file, NULL), false));
    CHECK(strstr(plain, "// smelt kernel 1") == plain);

    /* what a kernel says about itself changes nothing: it is wrong, and nothing is kept of it */
    const struct json_value *data =
        data_of(client_call(&client, "judge_kernel",
                            client_object(a, "run", run, "kernel", client_wrong, NULL), false));
    const struct json_value *verdicts = json_member(data, "verdicts");
    CHECK_STR(json_text(verdicts ? verdicts->first : NULL, "outcome"), "wrong");
    data = data_of(client_call(&client, "run_status", client_object(a, "run", run, NULL), false));
    CHECK(json_member(data, "candidates") && !json_member(data, "candidates")->first);

    data = data_of(client_call(
        &client, "submit_kernel",
        client_object(a, "run", run, "kernel", plain, "change", "the plain kernel", NULL), false));
    CHECK_STR(json_text(data, "outcome"), "ok");
    CHECK_STR(json_text(data, "proposer"), "agent:Test-Agent");
    const char *first = arena_printf(a, "%.0f", json_number(data, "candidate"));

    data = data_of(client_call(&client, "submit_kernel",
                               client_object(a, "run", run, "kernel", client_wrong, "parent", first,
                                             "why", "it says so itself", NULL),
                               false));
    CHECK_STR(json_text(data, "outcome"), "wrong");
    CHECK_DOUBLE(json_number(data, "speedup"), 0);
    CHECK(!json_truth(data, "is_best"));

    /* the one that failed is to be mended, and its text is only shown */
    said = client_text(client_call(&client, "next_step", about, false));
    CHECK(strstr(said, "is not right: mend it"));

    data = data_of(client_call(&client, "submit_kernel",
                               client_object(a, "run", run, "kernel", client_fast, "parent", first,
                                             "change", "a sum that runs along", "why",
                                             "one step per element", "expected", "100", NULL),
                               false));
    CHECK_STR(json_text(data, "outcome"), "ok");
    CHECK(client.progress > 0);
    CHECK(json_truth(data, "is_best"));
    if (!(json_number(data, "over_parent") > 5))
        test_fail(__FILE__, __LINE__, "only %g times its parent", json_number(data, "over_parent"));
    const char *second = arena_printf(a, "%.0f", json_number(data, "candidate"));

    data = data_of(client_call(&client, "best_kernel", client_object(a, "run", run, NULL), false));
    CHECK_STR(json_text(data, "source"), client_fast);
    data = data_of(
        client_call(&client, "show_candidate", client_object(a, "candidate", second, NULL), false));
    CHECK_STR(json_text(data, "source"), client_fast);
    data = data_of(client_call(&client, "run_status",
                               client_object(a, "run", run, "log", "true", NULL), false));
    int count = 0;
    for (const struct json_value *one = json_member(data, "candidates")->first; one;
         one = one->next)
        count++;
    CHECK_INT(count, 3);
    client_close(&client);
    arena_release(&arena);
}

/* The tools that only tell something. */
TEST(agents_knowledge)
{
    struct client client;
    struct arena arena = {0};
    client_open(&client, client_folder(&arena));
    struct arena *a = &client.arena;
    const struct json_value *data = data_of(client_call(&client, "list_tasks", "{}", false));
    CHECK(json_member(data, "suites") && json_member(data, "suites")->first);
    data = data_of(client_call(&client, "search_knowledge",
                               client_object(a, "words", "streaming stores", "most", "3", NULL),
                               false));
    const struct json_value *page = json_member(data, "pages");
    CHECK(page && page->first);
    const char *name = json_text(page->first, "page");
    CHECK(strlen(client_text(client_call(&client, "read_knowledge",
                                         client_object(a, "page", name, NULL), false))) > 100);
    CHECK(strstr(client_text(client_call(&client, "list_runs", "{}", true)), "no store"));
    begin_run(&client);
    client_call(&client, "list_runs", "{}", false);
    client_call(&client, "list_experience", "{}", false);

    /* the same pages as resources, all of them */
    const char *cursor = "";
    int count = 0;
    do {
        const struct json_value *result = json_member(
            client_request(&client, "resources/list", client_object(a, "cursor", cursor, NULL)),
            "result");
        CHECK(json_member(result, "resources") != NULL);
        for (page = json_member(result, "resources")->first; page; page = page->next, count++)
            name = json_text(page, "uri");
        cursor = json_text(result, "nextCursor");
    } while (*cursor);
    CHECK(count >= 60);
    const struct json_value *contents = json_member(
        json_member(client_request(&client, "resources/read", client_object(a, "uri", name, NULL)),
                    "result"),
        "contents");
    CHECK(contents && strlen(json_text(contents->first, "text")) > 100);
    CHECK(json_member(client_request(&client, "prompts/list", NULL), "result"));
    CHECK(json_member(client_request(&client, "prompts/get",
                                     "{\"name\":\"next_step\",\"arguments\":{\"run\":\"last\"}}"),
                      "result"));
    client_close(&client);
    arena_release(&arena);
}

/* What is wrong with a kernel is said with evidence. */
TEST(agents_diagnose)
{
    struct client client;
    struct arena arena = {0};
    const char *run = open_run(&client, &arena);
    const struct json_value *data = data_of(
        client_call(&client, "diagnose_kernel",
                    client_object(&client.arena, "run", run, "kernel", client_wrong, NULL), false));
    CHECK(data->first != NULL);
    CHECK(
        strstr(client_text(client_call(
                   &client, "diagnose_kernel",
                   client_object(&client.arena, "run", run, "kernel", client_wrong, NULL), false)),
               "values"));
    client_close(&client);
    arena_release(&arena);
}

/* ---- long calls ---- */

/* While a call runs, others are served; cancelled, it ends, and is not answered. */
TEST(agents_cancel)
{
    struct client client;
    struct arena arena = {0};
    const char *run = open_run(&client, &arena);
    client_send_call(&client, "judge_kernel",
                     client_object(&client.arena, "run", run, "kernel", client_slow, NULL));
    int slow = client.id;
    const struct json_value *message = client_receive(&client, 60); /* the first progress */
    CHECK_STR(json_text(message, "method"), "notifications/progress");
    CHECK(json_number(json_member(message, "params"), "progress") > 0);
    client_send(&client, ping);
    do
        message = client_receive(&client, 60);
    while (message && json_number(message, "id") != 9999);
    CHECK(message != NULL);
    client_send(&client, arena_printf(&client.arena,
                                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                      "\"params\":{\"requestId\":%d,\"reason\":\"enough\"}}",
                                      slow));
    /* the next one is answered, that one never; nothing of it stays */
    client_send_call(&client, "list_runs", "{}");
    double begun = clock_seconds();
    do {
        message = client_receive(&client, 60);
        CHECK(message != NULL && json_number(message, "id") != slow);
    } while (json_number(message, "id") != client.id);
    close(client.to);
    while ((message = client_receive(&client, 60)))
        CHECK(json_number(message, "id") != slow);
    int status;
    CHECK(waitpid(client.pid, &status, 0) == client.pid && status == 0);
    CHECK(clock_seconds() - begun < 30);
    arena_release(&arena);
}

/* Told to end, the server ends its calls and itself. */
TEST(agents_end)
{
    struct client client;
    struct arena arena = {0};
    const char *run = open_run(&client, &arena);
    client_send_call(&client, "judge_kernel",
                     client_object(&client.arena, "run", run, "kernel", client_slow, NULL));
    CHECK(client_receive(&client, 60) != NULL);
    kill(client.pid, SIGTERM);
    int status;
    CHECK(waitpid(client.pid, &status, 0) == client.pid);
    CHECK_INT(status, 0);
    arena_release(&arena);
}

/* ---- one store ---- */

/* Two agents, each with its server, submit to one run at the same time: both are in it. */
TEST(agents_two_at_once)
{
    struct client one, two;
    struct arena arena = {0};
    const char *folder = client_folder(&arena);
    client_open(&one, folder);
    client_open(&two, folder);
    const char *run = begin_run(&one);
    client_send_call(
        &one, "submit_kernel",
        client_object(&one.arena, "run", run, "kernel", client_fast, "agent", "one", NULL));
    client_send_call(
        &two, "submit_kernel",
        client_object(&two.arena, "run", run, "kernel", client_wrong, "agent", "two", NULL));
    const struct json_value *first = data_of(json_member(client_await(&one, one.id), "result"));
    const struct json_value *second = data_of(json_member(client_await(&two, two.id), "result"));
    CHECK_STR(json_text(first, "outcome"), "ok");
    CHECK_STR(json_text(second, "outcome"), "wrong");
    CHECK(json_number(first, "candidate") != json_number(second, "candidate"));
    const char *text = client_text(
        client_call(&two, "run_status", client_object(&two.arena, "run", run, NULL), false));
    CHECK(strstr(text, "agent:one") && strstr(text, "agent:two"));
    text = client_text(
        client_call(&two, "best_kernel", client_object(&two.arena, "run", run, NULL), false));
    CHECK(strstr(text, "sum += x[i]"));
    client_close(&one);
    client_close(&two);
    arena_release(&arena);
}

/* Killed in mid-submission, nothing is lost: the candidate is there, and judged the next time. */
TEST(agents_killed)
{
    struct client client;
    struct arena arena = {0};
    const char *folder = client_folder(&arena);
    client_open(&client, folder);
    const char *run = arena_string(&arena, begin_run(&client));
    client_send_call(
        &client, "submit_kernel",
        client_object(&client.arena, "run", run, "kernel", client_slow, "change", "waits", NULL));
    double end = clock_seconds() + 20;
    const char *listed = "";
    struct client other;
    client_open(&other, folder);
    while (clock_seconds() < end && !strstr(listed, "agent:Test-Agent"))
        listed = client_text(client_call(&other, "run_status",
                                         client_object(&other.arena, "run", run, NULL), false));
    CHECK(strstr(listed, "agent:Test-Agent") != NULL);
    kill(client.pid, SIGKILL);
    CHECK(waitpid(client.pid, NULL, 0) == client.pid);
    const struct json_value *data = data_of(
        client_call(&other, "run_status", client_object(&other.arena, "run", run, NULL), false));
    const struct json_value *list = json_member(data, "candidates");
    CHECK(list && list->first && !list->first->next);
    CHECK(!json_truth(list->first, "judged"));
    const char *number = arena_printf(&other.arena, "%.0f", json_number(list->first, "candidate"));
    data = data_of(client_call(&other, "show_candidate",
                               client_object(&other.arena, "candidate", number, NULL), false));
    CHECK_STR(json_text(data, "source"), client_slow);
    data = data_of(client_call(&other, "submit_kernel",
                               client_object(&other.arena, "run", run, "kernel", client_slow, NULL),
                               false));
    CHECK_STR(json_text(data, "outcome"), "wrong");
    CHECK_DOUBLE(json_number(data, "candidate"), atof(number));
    client_close(&other);
    arena_release(&arena);
}
