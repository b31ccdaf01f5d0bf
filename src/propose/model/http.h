/*
 * Private to src/propose/model: libcurl, opened at run time. What is declared here of its interface
 * is what its manual calls stable: functions and the numbers of options do not change.
 */
#ifndef SMELT_PROPOSE_MODEL_HTTP_H
#define SMELT_PROPOSE_MODEL_HTTP_H

#include "base/base.h"

struct http_wait { /* curl_waitfd */
    int fd;
    short events, revents;
};

enum { HTTP_READABLE = 1, HTTP_WRITABLE = 4 };

struct http_list; /* curl_slist */

struct http {
    struct library *library;
    void *multi;
    void *(*easy_init)(void);
    void (*easy_cleanup)(void *easy);
    int (*easy_setopt)(void *easy, int option, ...);
    int (*easy_getinfo)(void *easy, int what, ...);
    const char *(*easy_strerror)(int code);
    struct http_list *(*slist_append)(struct http_list *list, const char *text);
    void (*slist_free_all)(struct http_list *list);
    int (*global_init)(long flags);
    void *(*multi_init)(void);
    int (*multi_add_handle)(void *multi, void *easy);
    int (*multi_remove_handle)(void *multi, void *easy);
    int (*multi_perform)(void *multi, int *running);
    int (*multi_poll)(void *multi, struct http_wait *extra, unsigned count, int milliseconds,
                      int *ready);
    void *(*multi_info_read)(void *multi, int *left);
    long (*getdate)(const char *text, const long *unused);
};

/* Opens the library. False: it is not there, or too old, and the error says what to install. */
bool http_open(struct http *http, struct error *error);

typedef size_t (*http_sink)(char *bytes, size_t size, size_t count, void *context);

struct http_call {
    const char *url;
    const char *body;          /* NULL: it is a question without one (GET) */
    struct http_list *headers; /* stays the caller's */
    double connect;            /* seconds */
    http_sink body_sink, header_sink;
    void *context;
    char *words; /* 256 bytes for the library's account of a failure */
};

/* Begins a transfer; its handle, or NULL. */
void *http_begin(struct http *http, const struct http_call *call);
/* A transfer that ended: its handle, the library's code (0: good) and the server's status; NULL:
 * none did. */
void *http_ended(struct http *http, int *code, long *status);
/* Ends a transfer, finished or not. */
void http_drop(struct http *http, void *easy);

#endif
