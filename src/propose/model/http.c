/*
 * libcurl: found by its names, asked for what is needed. Nothing is followed elsewhere, since a key
 * would go along, and only http and https are spoken.
 */
#include "propose/model/http.h"

#include <string.h>

#include "os/library.h"
#include "propose/model/model.h"

enum option { /* CURLOPT_... */
              OPTION_NOPROGRESS = 43,
              OPTION_POST = 47,
              OPTION_NOSIGNAL = 99,
              OPTION_CONNECT_MILLISECONDS = 156,
              OPTION_PROTOCOLS = 181,
              OPTION_WRITE_DATA = 10001,
              OPTION_URL = 10002,
              OPTION_PROXY = 10004,
              OPTION_ERROR_BUFFER = 10010,
              OPTION_POST_FIELDS = 10015,
              OPTION_USER_AGENT = 10018,
              OPTION_HTTP_HEADER = 10023,
              OPTION_HEADER_DATA = 10029,
              OPTION_WRITE_FUNCTION = 20011,
              OPTION_HEADER_FUNCTION = 20079,
              OPTION_POST_FIELD_SIZE = 30120,
};

enum { PROTOCOLS_HTTP = 1 | 2, INFO_STATUS = 0x200002, MESSAGE_DONE = 1, GLOBAL_DEFAULT = 3 };

struct message { /* CURLMsg */
    int kind;
    void *easy;
    union {
        void *whatever;
        int result;
    } data;
};

static bool find_all(struct http *http, struct error *error)
{
    const struct {
        const char *name;
        void *place;
    } symbols[] = {
        {"curl_easy_init", &http->easy_init},
        {"curl_easy_cleanup", &http->easy_cleanup},
        {"curl_easy_setopt", &http->easy_setopt},
        {"curl_easy_getinfo", &http->easy_getinfo},
        {"curl_easy_strerror", &http->easy_strerror},
        {"curl_slist_append", &http->slist_append},
        {"curl_slist_free_all", &http->slist_free_all},
        {"curl_global_init", &http->global_init},
        {"curl_multi_init", &http->multi_init},
        {"curl_multi_add_handle", &http->multi_add_handle},
        {"curl_multi_remove_handle", &http->multi_remove_handle},
        {"curl_multi_perform", &http->multi_perform},
        {"curl_multi_poll", &http->multi_poll},
        {"curl_multi_info_read", &http->multi_info_read},
        {"curl_getdate", &http->getdate},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = library_symbol(http->library, symbols[i].name, error);
        if (!found)
            return false;
        memcpy(symbols[i].place, &found, sizeof found); /* a function is no object in C */
    }
    return true;
}

static bool open_one(struct http *http, struct error *error)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    for (int i = 0; i < 2; i++) {
        http->library = library_open(names[i], error);
        if (http->library && find_all(http, error))
            return true;
        library_close(http->library);
    }
    error_set(error, ERROR_MISSING_TOOL, "models cannot be asked: libcurl is missing or too old");
    error_hint(error, "install libcurl4 (7.66 or newer); everything else works without it");
    return false;
}

bool http_open(struct http *http, struct error *error)
{
    *http = (struct http){0};
    if (!open_one(http, error))
        return false;
    http->global_init(GLOBAL_DEFAULT);
    http->multi = http->multi_init();
    return http->multi || error_set(error, ERROR_OUT_OF_MEMORY, "memory ran out for transfers");
}

bool model_transport_check(struct error *error)
{
    struct http http = {0};
    bool there = open_one(&http, error);
    if (there)
        library_close(http.library);
    return there;
}

static bool is_near(const char *url)
{
    return strncmp(url, "http://127.0.0.1", 16) == 0 || strncmp(url, "http://localhost", 16) == 0 ||
           strncmp(url, "http://[::1]", 12) == 0;
}

void *http_begin(struct http *http, const struct http_call *call)
{
    void *easy = http->easy_init();
    if (!easy)
        return NULL;
    http->easy_setopt(easy, OPTION_URL, call->url);
    http->easy_setopt(easy, OPTION_NOSIGNAL, 1L);
    http->easy_setopt(easy, OPTION_NOPROGRESS, 1L);
    http->easy_setopt(easy, OPTION_PROTOCOLS, (long)PROTOCOLS_HTTP);
    http->easy_setopt(easy, OPTION_CONNECT_MILLISECONDS, (long)(call->connect * 1000 + 1));
    http->easy_setopt(easy, OPTION_USER_AGENT, "smelt/" SMELT_VERSION);
    http->easy_setopt(easy, OPTION_ERROR_BUFFER, call->words);
    http->easy_setopt(easy, OPTION_HTTP_HEADER, call->headers);
    http->easy_setopt(easy, OPTION_WRITE_FUNCTION, call->body_sink);
    http->easy_setopt(easy, OPTION_WRITE_DATA, call->context);
    http->easy_setopt(easy, OPTION_HEADER_FUNCTION, call->header_sink);
    http->easy_setopt(easy, OPTION_HEADER_DATA, call->context);
    if (is_near(call->url))
        http->easy_setopt(easy, OPTION_PROXY, "");
    if (call->body) {
        http->easy_setopt(easy, OPTION_POST, 1L);
        http->easy_setopt(easy, OPTION_POST_FIELDS, call->body);
        http->easy_setopt(easy, OPTION_POST_FIELD_SIZE, (long long)strlen(call->body));
    }
    if (http->multi_add_handle(http->multi, easy) == 0)
        return easy;
    http->easy_cleanup(easy);
    return NULL;
}

void *http_ended(struct http *http, int *code, long *status)
{
    int left;
    const struct message *message;
    while ((message = http->multi_info_read(http->multi, &left)))
        if (message->kind == MESSAGE_DONE) {
            *code = message->data.result;
            *status = 0;
            http->easy_getinfo(message->easy, INFO_STATUS, status);
            return message->easy;
        }
    return NULL;
}

void http_drop(struct http *http, void *easy)
{
    http->multi_remove_handle(http->multi, easy);
    http->easy_cleanup(easy);
}
