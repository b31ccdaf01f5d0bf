/* Log lines, events and the secrets neither may show; the JSON writer. */
#include "base/log.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "test.h"

struct capture {
    FILE *stream;
    char *text;
    size_t length;
};

static void capture_open(struct capture *capture)
{
    capture->stream = open_memstream(&capture->text, &capture->length);
    CHECK(capture->stream != NULL);
}

static void capture_close(struct capture *capture)
{
    log_to(NULL);
    event_to(NULL);
    fclose(capture->stream);
}

TEST(log_levels)
{
    struct capture capture;
    capture_open(&capture);
    log_to(capture.stream);
    log_info("not shown");
    log_warn("disk %d%% full", 97);
    log_set_level(LOG_DEBUG);
    log_debug("shown");
    log_set_level(LOG_ERROR);
    log_warn("not shown");
    log_error("bad");
    capture_close(&capture);
    log_error("nowhere to go");
    CHECK_STR(capture.text, "smelt: warning: disk 97% full\nsmelt: debug: shown\n"
                            "smelt: error: bad\n");
    free(capture.text);

    enum log_level level;
    CHECK(log_level_parse("debug", &level) && level == LOG_DEBUG);
    CHECK(log_level_parse("warn", &level) && level == LOG_WARN);
    CHECK(log_level_parse("warning", &level) && level == LOG_WARN);
    CHECK(!log_level_parse("loud", &level));
}

/* A key given to smelt never reaches a log or an event file, however it is quoted there. */
TEST(log_hides_secrets)
{
    struct capture capture;
    capture_open(&capture);
    CHECK(!log_hide("short"));
    CHECK(!log_hide(NULL));
    CHECK(log_hide("sk-12345"));
    CHECK(log_hide("sk-12345")); /* known already */
    CHECK(log_hide("sk-12345-long"));
    CHECK(log_hide("quo\"ted\\key"));
    log_to(capture.stream);
    log_error("key=sk-12345, sk-12345-longer and quo\"ted\\key");
    event_to(capture.stream);
    event("x", event_string("a", "sk-12345"), event_string("b", "=quo\"ted\\key="));
    capture_close(&capture);
    char *line = strtok(capture.text, "\n");
    CHECK_STR(line, "smelt: error: key=******, ******er and ******");
    line = strtok(NULL, "\n");
    CHECK_STR(strstr(line, "\"a\""), "\"a\":\"******\",\"b\":\"=******=\"}");
    free(capture.text);
}

TEST(log_hides_up_to_64_secrets)
{
    char secret[32];
    for (int i = 0; i < 64; i++) {
        snprintf(secret, sizeof secret, "secret-number-%d", i);
        CHECK(log_hide(secret));
    }
    CHECK(!log_hide("one-too-many"));
    CHECK(log_hide("secret-number-3"));
}

TEST(event_lines_are_json)
{
    struct capture capture;
    capture_open(&capture);
    CHECK(!event_wanted());
    event("dropped", event_int("n", 1));
    event_to(capture.stream);
    CHECK(event_wanted());
    event("checked", event_string("op", "soft\nmax"), event_int("parts", -3),
          event_double("share", 0.5), event_bool("ok", true), event_string("none", NULL));
    capture_close(&capture);
    CHECK(strncmp(capture.text, "{\"event\":\"checked\",\"time\":", 26) == 0);
    CHECK_STR(strstr(capture.text, ",\"op\""),
              ",\"op\":\"soft\\nmax\",\"parts\":-3,\"share\":0.5,\"ok\":true,\"none\":null}\n");
    free(capture.text);
}

/* Running out of memory in a log line loses the line, not the work it reports on. */
TEST(log_survives_lack_of_memory)
{
    struct capture capture;
    capture_open(&capture);
    log_to(capture.stream);
    memory_fail_at(1);
    log_error("gone");
    event_to(capture.stream);
    memory_fail_at(1);
    event("gone", event_int("n", 1));
    memory_fail_at(1);
    CHECK(!log_hide("not-hidden"));
    CHECK(log_hide("now-hidden"));
    log_error("now-hidden here");
    capture_close(&capture);
    CHECK_STR(capture.text, "smelt: warning: a log line was lost: out of memory\n"
                            "{\"event\":\"event-lost\",\"why\":\"out of memory\"}\n"
                            "smelt: error: ****** here\n");
    free(capture.text);
}

static void *log_a_lot(void *context)
{
    for (int i = 0; i < 500; i++)
        log_error("%s", (const char *)context);
    return NULL;
}

/* Lines of several threads do not mix. */
TEST(log_is_thread_safe)
{
    struct capture capture;
    capture_open(&capture);
    log_to(capture.stream);
    pthread_t threads[4];
    static char words[4][8] = {"aaaaaa", "bbbbbb", "cccccc", "dddddd"};
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, log_a_lot, words[i]) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    capture_close(&capture);
    int lines = 0;
    for (char *line = strtok(capture.text, "\n"); line; line = strtok(NULL, "\n"), lines++)
        CHECK(strlen(line) == 20 && strspn(line + 14, (char[]){line[14], 0}) == 6);
    CHECK_INT(lines, 2000);
    free(capture.text);
}

static struct arena arena;

TEST(json_writes_both_styles)
{
    for (int indent = 0; indent <= 2; indent += 2) {
        struct text text = text_new(&arena);
        struct json json = json_new(&text, indent);
        json_object(&json, NULL);
        json_string(&json, "name", "softmax");
        json_array(&json, "sizes");
        json_int(&json, NULL, 4);
        json_int(&json, NULL, INT64_MIN);
        json_object(&json, NULL);
        json_end(&json);
        json_end(&json);
        json_array(&json, "empty");
        json_end(&json);
        json_bool(&json, "no", false);
        json_null(&json, "nil");
        json_end(&json);
        CHECK_STR(text.at, indent ? "{\n  \"name\": \"softmax\",\n  \"sizes\": [\n    4,\n"
                                    "    -9223372036854775808,\n    {}\n  ],\n  \"empty\": [],\n"
                                    "  \"no\": false,\n  \"nil\": null\n}"
                                  : "{\"name\":\"softmax\",\"sizes\":[4,-9223372036854775808,{}],"
                                    "\"empty\":[],\"no\":false,\"nil\":null}");
    }
    arena_release(&arena);
}

/* Any bytes make a valid JSON string. */
TEST(json_escapes)
{
    struct text text = text_new(&arena);
    struct json json = json_new(&text, 0);
    json_array(&json, NULL);
    json_string(&json, NULL, "\"\\/\b\f\n\r\t\x01\x7f\xc3\xa9");
    json_string_bytes(&json, NULL, "a\0b\xff\xed\xa0\x80", 7);
    json_double(&json, NULL, 0.1);
    json_double(&json, NULL, INFINITY);
    json_double(&json, NULL, -INFINITY);
    json_double(&json, NULL, NAN);
    json_end(&json);
    CHECK_STR(text.at, "[\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u007f\xc3\xa9\","
                       "\"a\\u0000b\\ufffd\\ufffd\\ufffd\\ufffd\",0.1,\"inf\",\"-inf\",\"nan\"]");
    arena_release(&arena);
}

static void misuse_key_missing(struct json *json)
{
    json_object(json, NULL);
    json_int(json, NULL, 1);
}

static void misuse_key_in_array(struct json *json)
{
    json_array(json, NULL);
    json_int(json, "key", 1);
}

static void misuse_two_values(struct json *json)
{
    json_int(json, NULL, 1);
    json_int(json, NULL, 1);
}

static void misuse_end(struct json *json)
{
    json_end(json);
}

static void misuse_depth(struct json *json)
{
    for (int i = 0; i < 1000; i++)
        json_array(json, NULL);
}

/* A bug in a report writer is found at once, not by whoever reads the broken file. */
TEST(json_misuse_aborts)
{
    static void (*const misuses[])(struct json *) = {
        misuse_key_missing, misuse_key_in_array, misuse_two_values, misuse_end, misuse_depth,
    };
    for (size_t i = 0; i < sizeof misuses / sizeof misuses[0]; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct text text = text_new(&arena);
            struct json json = json_new(&text, 0);
            misuses[i](&json);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}
