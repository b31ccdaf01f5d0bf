/*
 * The worker: a loop around libcurl that takes requests from a socket and gives replies.
 *
 * A request has several attempts. What may pass by itself (a busy server, a broken connection, a
 * stream that ends early) is tried again after a pause that doubles, or as long as the server asks
 * for; what will not (a wrong key, an unknown model) is told at once. No byte for `idle` seconds
 * ends an attempt, `total` seconds end the request, pauses included. Nothing else is waited for.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "propose/llm/llm.h"
#include "propose/model/http.h"
#include "propose/model/model.h"
#include "propose/model/wire.h"

enum { JOBS = 64, ERROR_BODY = 64 << 10 };

static const double FIRST_PAUSE = 0.5, LONGEST_PAUSE = 60;

struct job {
    int64_t id; /* 0: free */
    struct worker *worker;
    const struct model *model;
    int number; /* of the model */
    struct arena arena;
    struct model_request request;
    const char *body;
    size_t prompt_bytes, prompt_tokens;
    /* over all attempts */
    double started, resume; /* resume: when the next attempt may begin */
    int attempts;
    int64_t read, written;
    bool counted;
    const char *doubt;
    /* of this attempt */
    void *easy; /* NULL: none is running */
    struct http_list *headers;
    struct arena attempt;
    struct sse sse;
    struct model_stream stream;
    struct text plain; /* what is no stream of events */
    bool is_plain, typed, too_long;
    size_t received;
    double heard, retry_after; /* retry_after below 0: the server did not say */
    char words[256];
};

struct worker {
    int socket;
    const struct models *models;
    struct http http;
    char keys[MODELS][MODEL_KEY_BYTES + 1];
    struct arena arena;
    struct text inbox, outbox;
    struct job jobs[JOBS];
    uint64_t random;
};

/* ---- keys ---- */

static const char *read_key_file(struct worker *worker, int number)
{
    struct stat about;
    char *key = worker->keys[number];
    int fd = open(worker->models->at[number].key_file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    bool safe = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
                about.st_uid == geteuid() && (about.st_mode & 077) == 0;
    ssize_t length = safe ? read(fd, key, MODEL_KEY_BYTES) : -1;
    if (fd >= 0)
        close(fd);
    key[length > 0 ? length : 0] = 0;
    key[strcspn(key, "\r\n")] = 0;
    return safe ? "" : "others may read the file of its key, or it is gone";
}

static void take_key(struct worker *worker, int64_t number, const char *bytes, size_t length)
{
    if (number < 0 || number >= (int64_t)worker->models->count || length > MODEL_KEY_BYTES)
        return;
    memcpy(worker->keys[number], bytes, length);
    worker->keys[number][length] = 0;
}

/* The text without keys: a server may say back what it was told. */
static const char *without_keys(struct worker *worker, struct arena *arena, const char *text)
{
    for (size_t i = 0; i < worker->models->count; i++) {
        const char *key = worker->keys[i], *at = text, *found;
        if (strlen(key) < 4 || !strstr(text, key))
            continue;
        struct text out = text_new(arena);
        for (; (found = strstr(at, key)); at = found + strlen(key)) {
            text_add_bytes(&out, at, (size_t)(found - at));
            text_add(&out, "***");
        }
        text_add(&out, at);
        text = out.at;
    }
    return text;
}

/* ---- replies ---- */

static void give(struct job *job, enum model_fate fate, const char *text, const char *message)
{
    struct worker *worker = job->worker;
    struct arena *arena = &job->arena;
    struct text out = text_new(arena);
    struct json json = json_new(&out, 0);
    json_object(&json, NULL);
    json_int(&json, "fate", fate);
    json_string(&json, "text", without_keys(worker, arena, text));
    json_string(&json, "message", without_keys(worker, arena, message));
    json_string(&json, "stop",
                job->stream.stop ? without_keys(worker, arena, job->stream.stop) : "");
    json_int(&json, "read", job->read);
    json_int(&json, "written", job->written);
    json_bool(&json, "counted", job->counted);
    json_string(&json, "doubt", job->doubt);
    json_int(&json, "attempts", job->attempts);
    json_double(&json, "seconds", clock_seconds() - job->started);
    json_end(&json);
    struct wire_head head = {.kind = WIRE_REPLY, .number = job->id, .length = out.length};
    text_add_bytes(&worker->outbox, (const char *)&head, sizeof head);
    text_add_bytes(&worker->outbox, out.at, out.length);
}

static void end_attempt(struct job *job)
{
    if (job->easy)
        http_drop(&job->worker->http, job->easy);
    job->easy = NULL;
    if (job->headers)
        job->worker->http.slist_free_all(job->headers);
    job->headers = NULL;
}

static void end_job(struct job *job, enum model_fate fate, const char *text, const char *message)
{
    give(job, fate, text, message);
    end_attempt(job);
    arena_release(&job->attempt);
    arena_release(&job->arena);
    *job = (struct job){0};
}

/* What an attempt cost, whether or not it served: the server's count where it can be. */
static void account(struct job *job)
{
    struct model_stream *stream = &job->stream;
    if (stream->read < 0 && stream->written < 0 && stream->text.length == 0 && !stream->done)
        return; /* nothing was answered */
    const char *doubt = model_doubt(stream, job->prompt_bytes, job->request.reply);
    if (*doubt) {
        job->counted = false;
        job->doubt = doubt;
        job->read += (int64_t)job->prompt_tokens;
        job->written += (int64_t)llm_tokens(stream->text.at, stream->text.length);
    } else {
        job->read += stream->read;
        job->written += stream->written;
    }
}

/* ---- attempts ---- */

static void take_event(void *context, const char *data, size_t length)
{
    struct job *job = context;
    model_stream_event(&job->stream, job->model, data, length);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
    struct job *job = context;
    size_t length = size * count;
    job->heard = clock_seconds();
    job->received += length;
    job->too_long |= job->received > MODEL_STREAM_BYTES;
    if (job->too_long)
        return 0;
    if (job->is_plain) {
        if (job->plain.length + length <= MODEL_TEXT_BYTES * 2)
            text_add_bytes(&job->plain, bytes, length);
        return length;
    }
    job->too_long |= !sse_push(&job->sse, bytes, length);
    return job->too_long || job->stream.error ? 0 : length;
}

static bool header_value(const char *line, size_t length, const char *name, char *value,
                         size_t room)
{
    size_t head = strlen(name);
    if (length <= head || strncasecmp(line, name, head) != 0)
        return false;
    while (head < length && line[head] == ' ')
        head++;
    while (length > head && strchr("\r\n ", line[length - 1]))
        length--;
    if (length - head >= room)
        return false;
    memcpy(value, line + head, length - head);
    value[length - head] = 0;
    return true;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
    struct job *job = context;
    size_t length = size * count;
    char value[128], *end;
    job->heard = clock_seconds();
    if (length > 9 && strncasecmp(bytes, "http/", 5) == 0) {
        const char *blank = memchr(bytes, ' ', length);
        /* a refusal is said in plain words, not in events */
        job->is_plain = blank && blank + 1 < bytes + length && blank[1] != '2';
        job->typed = false;
    } else if (header_value(bytes, length, "content-type:", value, sizeof value)) {
        job->typed = true;
        job->is_plain |= strstr(value, "json") != NULL;
    } else if (header_value(bytes, length, "retry-after-ms:", value, sizeof value)) {
        double wait = strtod(value, &end);
        if (end != value && wait >= 0)
            job->retry_after = wait / 1000;
    } else if (header_value(bytes, length, "retry-after:", value, sizeof value) &&
               job->retry_after < 0) {
        double wait = strtod(value, &end);
        long date = end == value ? job->worker->http.getdate(value, NULL) : -1;
        if (end != value && wait >= 0)
            job->retry_after = wait;
        else if (date >= 0)
            job->retry_after = fmax(0, (double)date - (double)time(NULL));
    }
    return length;
}

static bool begin_attempt(struct job *job)
{
    struct worker *worker = job->worker;
    const struct model_protocol *protocol = job->model->protocol;
    char line[MODEL_KEY_BYTES + 64];
    struct http_call call = {.body = job->request.list ? NULL : job->body,
                             .connect = job->model->connect,
                             .body_sink = take_body,
                             .header_sink = take_header,
                             .context = job,
                             .words = job->words};
    arena_reset(&job->attempt);
    job->attempts++;
    job->received = 0;
    job->is_plain = job->typed = job->too_long = false;
    job->heard = clock_seconds();
    job->retry_after = -1;
    job->words[0] = 0;
    job->plain = text_new(&job->attempt);
    job->sse = sse_new(&job->attempt, take_event, job);
    job->stream = (struct model_stream){.arena = &job->attempt,
                                        .text = text_new(&job->attempt),
                                        .read = -1,
                                        .written = -1,
                                        .stop = ""};
    job->headers = worker->http.slist_append(NULL, "Content-Type: application/json");
    job->headers = worker->http.slist_append(
        job->headers, job->request.list ? "Accept: application/json" : "Accept: text/event-stream");
    if (protocol->version_header)
        job->headers = worker->http.slist_append(job->headers, protocol->version_header);
    if (*worker->keys[job->number]) {
        int length =
            snprintf(line, sizeof line, "%s%s", protocol->key_header, worker->keys[job->number]);
        if (length > 0 && (size_t)length < sizeof line && !strpbrk(line, "\r\n"))
            job->headers = worker->http.slist_append(job->headers, line);
        explicit_bzero(line, sizeof line);
    }
    call.url = arena_printf(&job->attempt, "%s/%s", job->model->url,
                            job->request.list ? "models" : protocol->path);
    call.headers = job->headers;
    job->easy = http_begin(&worker->http, &call);
    return job->easy != NULL;
}

/* Up to a fifth more or less, so that several do not come back together. */
static double spread(struct worker *worker, double seconds)
{
    worker->random = worker->random * 6364136223846793005u + 1442695040888963407u;
    return seconds * (0.8 + 0.4 * (double)(worker->random >> 40) / (double)(1 << 24));
}

/* Whether another attempt, should its reply come whole, could cost more than is left. */
static bool is_too_dear(const struct job *job)
{
    const struct model_request *request = &job->request;
    int64_t read = job->read + (int64_t)job->prompt_tokens, written = job->written + request->reply;
    if (job->read == 0 && job->written == 0)
        return false; /* the attempts so far cost nothing */
    return (request->tokens > 0 && read + written > request->tokens) ||
           (request->money > 0 && model_cost(job->model, read, written) > request->money);
}

/* The attempt failed in a way that may pass. */
static void try_again(struct job *job, const char *why)
{
    double now = clock_seconds();
    double pause = fmin(LONGEST_PAUSE, FIRST_PAUSE * pow(2, job->attempts - 1));
    pause = job->retry_after >= 0 ? job->retry_after : spread(job->worker, pause);
    why = arena_string(&job->arena, why);
    end_attempt(job);
    if (is_too_dear(job)) {
        end_job(job, MODEL_FAILED, "",
                arena_printf(&job->arena, "%s; asking again could cost more than is left", why));
    } else if (job->attempts >= job->model->attempts) {
        end_job(job, MODEL_FAILED, "",
                arena_printf(&job->arena, "%s (%d attempt%s)", why, job->attempts,
                             job->attempts == 1 ? "" : "s"));
    } else if (now + pause > job->started + job->model->total) {
        end_job(job, MODEL_FAILED, "",
                arena_printf(&job->arena,
                             "%s; it is to be asked again in %.0f s, which is too late", why,
                             pause));
    } else {
        job->resume = now + pause;
    }
}

/* ---- ends of attempts ---- */

static const char *server_words(struct job *job)
{
    const struct json_value *value = json_read(&job->attempt, job->plain.at, job->plain.length);
    const struct json_value *error = json_member(value, "error");
    const char *words = error && error->kind == JSON_STRING ? error->string
                        : error                             ? json_text(error, "message")
                                                            : json_text(value, "message");
    size_t length = strlen(words);
    return arena_copy(&job->arena, words, length < 200 ? length : 200);
}

static void take_status(struct job *job, long status)
{
    const char *words = server_words(job);
    const char *why =
        arena_printf(&job->arena, "the server answered %ld%s%s", status, *words ? ": " : "", words);
    if (status == 408 || status == 409 || status == 429 || status >= 500)
        try_again(job, why);
    else
        end_job(job, status == 400 || status == 413 ? MODEL_FAILED : MODEL_REFUSED, "", why);
}

static void take_list(struct job *job)
{
    const struct json_value *value = json_read(&job->attempt, job->plain.at, job->plain.length);
    const struct json_value *list = json_member(value, "data");
    struct text out = text_new(&job->arena);
    for (const struct json_value *one = list ? list->first : NULL; one; one = one->next)
        if (*json_text(one, "id"))
            text_printf(&out, "%s\n", json_text(one, "id"));
    if (list)
        end_job(job, MODEL_OK, out.at, "");
    else
        end_job(job, MODEL_FAILED, "", "its list of models is not as it should be");
}

static void attempt_ended(struct job *job, int code, long status)
{
    struct model_stream *stream = &job->stream;
    if (job->too_long) {
        account(job);
        end_job(job, MODEL_FAILED, "", "its reply is longer than what is read");
        return;
    }
    if (code != 0 && !stream->error && status < 400) {
        account(job);
        const char *words = *job->words ? job->words : job->worker->http.easy_strerror(code);
        try_again(job, arena_printf(&job->attempt, "%s",
                                    status == 0 ? words : "the connection broke within its reply"));
        return;
    }
    if (status >= 300 || status < 200) {
        take_status(job, status);
        return;
    }
    if (job->request.list) {
        take_list(job);
        return;
    }
    if (job->is_plain)
        model_stream_event(stream, job->model, job->plain.at, job->plain.length);
    account(job);
    if (stream->error)
        try_again(job, arena_printf(&job->attempt, "its reply failed: %.300s", stream->error));
    else if (!stream->done)
        try_again(job, "its reply ended early");
    else if (stream->text.length == 0)
        try_again(job, "its reply is empty");
    else
        end_job(job, MODEL_OK, stream->text.at, "");
}

static void look_at_clock(struct job *job, double now)
{
    if (now - job->started > job->model->total) {
        if (job->easy)
            account(job);
        end_job(job, MODEL_FAILED, "",
                arena_printf(&job->arena, "no whole reply within %.3g s", job->model->total));
    } else if (job->easy && now - job->heard > job->model->idle) {
        account(job);
        try_again(job,
                  arena_printf(&job->attempt, "nothing was heard for %.3g s", job->model->idle));
    } else if (!job->easy && now >= job->resume && !begin_attempt(job)) {
        end_job(job, MODEL_FAILED, "", "a transfer could not be begun");
    }
}

/* ---- requests ---- */

static void take_request(struct worker *worker, int64_t id, const char *text, size_t length)
{
    struct job *job = NULL;
    for (int i = 0; i < JOBS && !job; i++)
        job = worker->jobs[i].id ? NULL : &worker->jobs[i];
    if (!job)
        return; /* more than anybody asks at once: MODELS times at-once is guarded by the asker */
    *job = (struct job){.id = id, .worker = worker, .counted = true, .doubt = ""};
    const struct json_value *value = json_read(&job->arena, text, length);
    double number = json_number(value, "model");
    if (!(number >= 0) || number >= (double)worker->models->count) {
        *job = (struct job){0};
        return;
    }
    job->number = (int)number;
    job->model = &worker->models->at[job->number];
    job->started = clock_seconds();
    job->request = (struct model_request){.system = json_text(value, "system"),
                                          .reply = (int64_t)json_number(value, "reply"),
                                          .money = json_number(value, "money"),
                                          .tokens = (int64_t)json_number(value, "tokens"),
                                          .list = json_truth(value, "list")};
    const struct json_value *turns = json_member(value, "turns");
    job->prompt_bytes = strlen(job->request.system);
    job->prompt_tokens = llm_tokens(job->request.system, job->prompt_bytes);
    for (const struct json_value *turn = turns ? turns->first : NULL;
         turn && job->request.turn_count < MODEL_TURNS; turn = turn->next) {
        const char *said = json_text(turn, "text");
        job->request.turns[job->request.turn_count++] =
            (struct model_turn){json_text(turn, "role"), said};
        job->prompt_bytes += strlen(said);
        job->prompt_tokens += llm_tokens(said, strlen(said)) + 8;
    }
    job->body = model_body(&job->arena, job->model, &job->request);
    const char *unsafe = job->model->key_file ? read_key_file(worker, job->number) : "";
    if (*unsafe)
        end_job(job, MODEL_REFUSED, "", unsafe);
}

/* ---- the loop ---- */

static void take_messages(struct worker *worker)
{
    struct wire_head head;
    size_t at = 0;
    while (worker->inbox.length - at >= sizeof head) {
        memcpy(&head, worker->inbox.at + at, sizeof head);
        if (head.length > MODEL_MESSAGE_BYTES)
            _exit(1);
        if (worker->inbox.length - at < sizeof head + head.length)
            break;
        const char *bytes = worker->inbox.at + at + sizeof head;
        if (head.kind == WIRE_KEY)
            take_key(worker, head.number, bytes, head.length);
        else
            take_request(worker, head.number, bytes, head.length);
        at += sizeof head + head.length;
    }
    memmove(worker->inbox.at, worker->inbox.at + at, worker->inbox.length - at);
    text_truncate(&worker->inbox, worker->inbox.length - at);
}

/* Whoever started us is gone when nothing can be read or written any more. */
static void exchange(struct worker *worker)
{
    char bytes[65536];
    for (;;) {
        ssize_t count = recv(worker->socket, bytes, sizeof bytes, MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
            _exit(0);
        if (count < 0)
            break;
        text_add_bytes(&worker->inbox, bytes, (size_t)count);
    }
    explicit_bzero(bytes, sizeof bytes);
    if (worker->inbox.length)
        take_messages(worker);
    if (worker->outbox.length) {
        ssize_t count = send(worker->socket, worker->outbox.at, worker->outbox.length,
                             MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0 && errno != EAGAIN && errno != EINTR)
            _exit(0);
        size_t sent = count > 0 ? (size_t)count : 0;
        memmove(worker->outbox.at, worker->outbox.at + sent, worker->outbox.length - sent);
        text_truncate(&worker->outbox, worker->outbox.length - sent);
    }
}

/* Until something is due: the next pause that ends, the next silence that is too long. */
static int milliseconds_left(const struct worker *worker)
{
    double now = clock_seconds(), least = 1;
    for (int i = 0; i < JOBS; i++) {
        const struct job *job = &worker->jobs[i];
        if (!job->id)
            continue;
        double due = job->easy ? job->heard + job->model->idle : job->resume;
        least = fmin(least, fmin(due, job->started + job->model->total) - now);
    }
    return least > 0 ? (int)ceil(least * 1000) : 1;
}

static void step(struct worker *worker)
{
    struct http *http = &worker->http;
    int running, code;
    long status;
    void *easy;
    exchange(worker);
    http->multi_perform(http->multi, &running);
    while ((easy = http_ended(http, &code, &status)))
        for (int i = 0; i < JOBS; i++)
            if (worker->jobs[i].easy == easy)
                attempt_ended(&worker->jobs[i], code, status);
    double now = clock_seconds();
    for (int i = 0; i < JOBS; i++)
        if (worker->jobs[i].id)
            look_at_clock(&worker->jobs[i], now);
    exchange(worker);
    struct http_wait own = {.fd = worker->socket,
                            .events = worker->outbox.length ? HTTP_READABLE | HTTP_WRITABLE
                                                            : HTTP_READABLE};
    http->multi_poll(http->multi, &own, 1, milliseconds_left(worker), &running);
}

static void loop(void *context)
{
    struct worker *worker = context;
    struct error error;
    worker->inbox = text_new(&worker->arena);
    worker->outbox = text_new(&worker->arena);
    worker->random = (uint64_t)clock_nanoseconds();
    if (!http_open(&worker->http, &error))
        _exit(1);
    for (;;)
        step(worker);
}

_Noreturn void model_worker(int socket, const struct models *models)
{
    static struct worker worker;
    worker.socket = socket;
    worker.models = models;
    memory_try(loop, &worker); /* it comes back only when memory ran out */
    _exit(1);
}
