/*
 * Models without a network: streams cut anywhere, both protocols, counts that cannot be, the file
 * of models, transcripts that read back as they were.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/secret.h"
#include "propose/llm/llm.h"
#include "propose/model/model.h"
#include "test.h"

static struct source source_of(const char *text)
{
    return (struct source){"models.conf", text, strlen(text)};
}

static const struct model *one_model(struct arena *arena, const char *protocol)
{
    struct models *models = arena_new(arena, struct models);
    struct source *source = arena_new(arena, struct source);
    struct error error = {0};
    *source = source_of(
        arena_printf(arena, "model m\n protocol %s\n url http://127.0.0.1/v1/\n id x\n", protocol));
    CHECK(model_config_parse(arena, source, models, &error));
    return &models->at[0];
}

struct hearing {
    const struct model *model;
    struct model_stream stream;
};

static void take(void *context, const char *data, size_t length)
{
    struct hearing *hearing = context;
    model_stream_event(&hearing->stream, hearing->model, data, length);
}

/* The stream in pieces of so many bytes. */
static struct model_stream hear(struct arena *arena, const char *protocol, const char *bytes,
                                size_t piece)
{
    struct hearing *hearing = arena_new(arena, struct hearing);
    *hearing = (struct hearing){
        .model = one_model(arena, protocol),
        .stream = {.arena = arena, .text = text_new(arena), .read = -1, .written = -1, .stop = ""}};
    struct sse sse = sse_new(arena, take, hearing);
    size_t length = strlen(bytes);
    for (size_t at = 0; at < length; at += piece)
        CHECK(sse_push(&sse, bytes + at, length - at < piece ? length - at : piece));
    return hearing->stream;
}

TEST(model_streams_may_be_cut_anywhere)
{
    static const char openai[] =
        "\xef\xbb\xbf: comment\r\ndata: {\"choices\":[{\"delta\":\r\ndata: "
        "{\"content\":\"a\\n\"}}]}\r\n\r\n"
        "event: x\rdata:{\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}"
        "\r\rdata: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\n"
        "data: [DONE]\n\n";
    static const char anthropic[] =
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":"
        "{\"input_tokens\":5,\"cache_read_input_tokens\":2,\"output_tokens\":1}}}\n\n"
        "data: {\"type\":\"ping\"}\n\n"
        "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":"
        "\"a\\nb\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},"
        "\"usage\":{\"output_tokens\":2}}\n\ndata: {\"type\":\"message_stop\"}\n\n";
    for (size_t piece = 1; piece < 40; piece++)
        for (int i = 0; i < 2; i++) {
            struct arena arena = {0};
            struct model_stream stream =
                hear(&arena, i ? "anthropic" : "openai", i ? anthropic : openai, piece);
            CHECK_STR(stream.text.at, "a\nb");
            CHECK_INT(stream.read, 7);
            CHECK_INT(stream.written, 2);
            CHECK(stream.done && !stream.error);
            CHECK_STR(stream.stop, i ? "end_turn" : "stop");
            arena_release(&arena);
        }
}

TEST(model_counts_that_cannot_be_are_not_taken)
{
    struct arena arena = {0};
    struct model_stream stream = {.arena = &arena, .text = text_new(&arena)};
    text_repeat(&stream.text, 'x', 4000);
    stream.read = 1000;
    stream.written = 900;
    CHECK_STR(model_doubt(&stream, 4000, 2000), "");
    stream.written = 0;
    CHECK(strstr(model_doubt(&stream, 4000, 2000), "fewer"));
    stream.written = 1000000;
    CHECK(strstr(model_doubt(&stream, 4000, 2000), "more"));
    stream.written = -1;
    CHECK(strstr(model_doubt(&stream, 4000, 2000), "did not count"));
    stream.odd = true;
    CHECK(strstr(model_doubt(&stream, 4000, 2000), "no number"));
    arena_release(&arena);
}

TEST(model_requests_are_named_by_what_they_say)
{
    struct arena arena = {0};
    const struct model *model = one_model(&arena, "openai");
    struct model_request request = {
        .system = "s", .turns = {{"user", "u"}}, .turn_count = 1, .reply = 100};
    const char *first = model_request_hash(&arena, model, &request);
    CHECK_STR(model_request_hash(&arena, model, &request), first);
    request.money = 5; /* what it may cost does not matter to the server */
    CHECK_STR(model_request_hash(&arena, model, &request), first);
    request.turns[0].text = "v";
    CHECK(strcmp(model_request_hash(&arena, model, &request), first) != 0);
    CHECK_STR(model->url, "http://127.0.0.1/v1");
    CHECK(strstr(model_body(&arena, model, &request), "\"max_tokens\":100"));
    arena_release(&arena);
}

TEST(model_files_are_read_strictly)
{
    static const char head[] = "model m\n protocol openai\n url https://x/v1\n id y\n";
    static const struct {
        const char *line, *message;
    } faults[] = {
        {" window 5\n", "no window"},
        {" price 1\n", "no prices"},
        {" colour red\n", "no such line"},
        {" key-env PATH\n", "not named like a secret"},
        {" idle never\n", "no time"},
        {" temperature 9\n", "no temperature"},
        {" key-env A_KEY\n key-file /x\n", "two keys"},
        {"model m\n", "of this name already"},
        {"model a b\n", "no name"},
        {"model n\n", "lacks a line"},
        {" window 8k\n reply 6k\n", "more than half"},
        {" at-once 0\n", "no number"},
        {" url\n", "says nothing"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct arena arena = {0};
        struct models models = {0};
        struct error error = {0};
        struct source source = source_of(arena_printf(&arena, "%s%s", head, faults[i].line));
        CHECK(!model_config_parse(&arena, &source, &models, &error));
        CHECK(error.code == ERROR_BAD_MODELS && strstr(error.message, faults[i].message));
        arena_release(&arena);
    }
    struct arena arena = {0};
    struct models models = {0};
    struct error error = {0};
    struct source source = source_of(
        arena_printf(&arena,
                     "# one\n%s window 32k\n price 0.5 1.5\n key-env A_TOKEN\n total 5m\n"
                     "\nmodel n\n protocol anthropic\n url http://localhost:1/v1\n id z\n",
                     head));
    CHECK(model_config_parse(&arena, &source, &models, &error));
    CHECK_INT(models.count, 2);
    CHECK_INT(models.at[0].window, 32000);
    CHECK_INT(models.at[0].reply, 8000);
    CHECK(models.at[0].total == 300);
    CHECK(model_cost(&models.at[0], 1000000, 2000000) == 3.5);
    CHECK(model_find(&models, "n") == &models.at[1]);
    arena_release(&arena);
}

TEST(model_secrets_leave_the_environment)
{
    setenv("TEST_UNIT_API_KEY", "opensesame-unit", 1);
    secret_take_all();
    CHECK(getenv("TEST_UNIT_API_KEY") == NULL);
    CHECK_STR(secret_value("TEST_UNIT_API_KEY"), "opensesame-unit");
    CHECK(secret_value("TEST_UNIT_API") == NULL);
    CHECK(secret_is_name("x_token") && !secret_is_name("PATH") && !secret_is_name("_KEY"));
}

TEST(model_transcripts_read_back)
{
    struct arena arena = {0};
    struct text text = text_new(&arena);
    struct llm_exchange one = {.model = "m",
                               .read = 12,
                               .written = 3,
                               .parent = "int x;\n\n    end\n",
                               .system = "be right\n",
                               .turns = {"end\n", "exchange\n", "again\n"},
                               .turn_count = 3,
                               .reply = "  ```kernel\nend\n```\n"};
    llm_transcript_begin(&text);
    llm_transcript_add(&text, &one);
    llm_transcript_add(&text, &(struct llm_exchange){.model = "n", .system = ""});
    struct source source = {"x", text.at, text.length};
    struct llm_exchanges list = {0};
    struct error error = {0};
    CHECK(llm_transcript_parse(&arena, &source, &list, &error));
    CHECK_INT(list.count, 2);
    CHECK_STR(list.at[0].parent, one.parent);
    CHECK_STR(list.at[0].reply, one.reply);
    CHECK_STR(list.at[0].turns[1], one.turns[1]);
    CHECK_INT(list.at[0].turn_count, 3);
    CHECK(!list.at[1].reply && list.at[1].turn_count == 0);
    struct text again = text_new(&arena);
    llm_transcript_begin(&again);
    for (size_t i = 0; i < list.count; i++)
        llm_transcript_add(&again, &list.at[i]);
    CHECK_STR(again.at, text.at);
    static const char *const bad[] = {"smelt table 1\n",
                                      "smelt transcript 1\nuser\nend\n",
                                      "smelt transcript 1\nexchange m 1\n",
                                      "smelt transcript 1\nexchange m 1 -2\n",
                                      "smelt transcript 1\nexchange m 1 2\nuser\nx\n",
                                      "smelt transcript 1\nexchange m 1 2\nassistant\nend\n",
                                      "smelt transcript 1\nexchange m 1 2\nreply\n    x\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct source wrong = {"x", bad[i], strlen(bad[i])};
        struct llm_exchanges none = {0};
        error = (struct error){0};
        CHECK(!llm_transcript_parse(&arena, &wrong, &none, &error));
        CHECK_INT(error.code, ERROR_BAD_TRANSCRIPT);
    }
    arena_release(&arena);
}
