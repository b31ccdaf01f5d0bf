/*
 * Our side of the worker: it is started, given keys and requests, and listened to.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/secret.h"
#include "propose/model/model.h"
#include "propose/model/wire.h"

bool model_send(int socket, char kind, int64_t number, const void *bytes, size_t length)
{
    struct wire_head head = {.kind = kind, .number = number, .length = length};
    const char *parts[2] = {(const char *)&head, bytes};
    size_t lengths[2] = {sizeof head, length};
    for (int part = 0; part < 2; part++)
        for (size_t sent = 0; sent < lengths[part];) {
            ssize_t count = send(socket, parts[part] + sent, lengths[part] - sent, MSG_NOSIGNAL);
            if (count < 0 && errno == EINTR)
                continue;
            if (count <= 0)
                return false;
            sent += (size_t)count;
        }
    return true;
}

/* Only what it needs stays open: not the store, not the files of others. */
static void become_worker(int socket, pid_t parent, const struct models *models)
{
    enum { OWN = 3 };
    signal(SIGINT, SIG_IGN); /* Ctrl-C is for the run: it ends us when it is done */
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0); /* nobody of this user looks into our memory */
    prctl(PR_SET_NAME, "smelt-models");
    if (getppid() != parent || dup2(socket, OWN) != OWN)
        _exit(0);
    for (int fd = OWN + 1; fd < 1024; fd++)
        close(fd);
    fcntl(OWN, F_SETFD, FD_CLOEXEC);
    model_worker(OWN, models);
}

static bool send_keys(struct model_client *client, const struct models *models)
{
    for (size_t i = 0; i < models->count; i++) {
        const struct model *model = &models->at[i];
        const char *value = model->key_variable ? secret_value(model->key_variable) : NULL;
        if (value && !model_send(client->socket, WIRE_KEY, (int64_t)i, value, strlen(value)))
            return false;
    }
    return true;
}

bool model_client_start(struct model_client *client, const struct models *models,
                        struct error *error)
{
    struct timeval patience = {.tv_sec = 30};
    int sockets[2];
    pid_t parent = getpid();
    *client = (struct model_client){.socket = -1};
    if (!model_transport_check(error))
        return false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return error_system(error, ERROR_TOOL_FAILED, "could not start the worker for models");
    client->pid = fork();
    if (client->pid == 0)
        become_worker(sockets[1], parent, models);
    close(sockets[1]);
    client->socket = sockets[0];
    client->inbox = text_new(&client->arena);
    setsockopt(client->socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (client->pid > 0 && send_keys(client, models))
        return true;
    error_system(error, ERROR_TOOL_FAILED, "could not start the worker for models");
    model_client_stop(client);
    return false;
}

void model_client_stop(struct model_client *client)
{
    if (client->socket >= 0)
        close(client->socket);
    if (client->pid > 0) {
        kill(client->pid, SIGKILL);
        while (waitpid(client->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    arena_release(&client->arena);
    *client = (struct model_client){.socket = -1, .ended = true};
}

int64_t model_client_ask(struct model_client *client, const struct models *models,
                         const struct model *model, const struct model_request *request)
{
    struct arena scratch = {0};
    struct text text = text_new(&scratch);
    struct json json = json_new(&text, 0);
    json_object(&json, NULL);
    json_int(&json, "model", model - models->at);
    json_bool(&json, "list", request->list);
    json_int(&json, "reply", request->reply);
    json_double(&json, "money", request->money);
    json_int(&json, "tokens", request->tokens);
    json_string(&json, "system", request->system ? request->system : "");
    json_array(&json, "turns");
    for (int i = 0; i < request->turn_count; i++) {
        json_object(&json, NULL);
        json_string(&json, "role", request->turns[i].role);
        json_string(&json, "text", request->turns[i].text);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    bool sent = !client->ended &&
                model_send(client->socket, WIRE_ASK, ++client->last, text.at, text.length);
    arena_release(&scratch);
    client->ended |= !sent;
    return sent ? client->last : 0;
}

/* ---- hearing ---- */

static int64_t whole(double number)
{
    return number >= 0 && number < 1e15 ? (int64_t)number : 0;
}

static bool read_reply(struct arena *arena, int64_t id, const char *text, size_t length,
                       struct model_reply *reply)
{
    const struct json_value *value = json_read(arena, text, length);
    if (!value)
        return false;
    *reply = (struct model_reply){.id = id,
                                  .fate = (enum model_fate)whole(json_number(value, "fate")),
                                  .text = json_text(value, "text"),
                                  .message = json_text(value, "message"),
                                  .stop = json_text(value, "stop"),
                                  .read = whole(json_number(value, "read")),
                                  .written = whole(json_number(value, "written")),
                                  .counted = json_truth(value, "counted"),
                                  .doubt = json_text(value, "doubt"),
                                  .attempts = (int)whole(json_number(value, "attempts")),
                                  .seconds = json_number(value, "seconds")};
    return reply->fate <= MODEL_REFUSED;
}

/* A whole message of the inbox, if there is one. */
static bool take_message(struct model_client *client, struct arena *arena,
                         struct model_reply *reply)
{
    struct wire_head head;
    if (client->inbox.length < sizeof head)
        return false;
    memcpy(&head, client->inbox.at, sizeof head);
    if (head.length > MODEL_MESSAGE_BYTES) {
        client->ended = true;
        return false;
    }
    if (client->inbox.length < sizeof head + head.length)
        return false;
    bool read = read_reply(arena, head.number, client->inbox.at + sizeof head, head.length, reply);
    size_t all = sizeof head + head.length;
    memmove(client->inbox.at, client->inbox.at + all, client->inbox.length - all);
    text_truncate(&client->inbox, client->inbox.length - all);
    client->ended |= !read;
    return read;
}

bool model_client_hear(struct model_client *client, struct arena *arena, double seconds,
                       struct model_reply *reply)
{
    double until = clock_seconds() + seconds;
    for (;;) {
        if (take_message(client, arena, reply))
            return true;
        if (client->ended)
            return false;
        char bytes[65536];
        double left = fmax(0, until - clock_seconds());
        struct pollfd one = {.fd = client->socket, .events = POLLIN};
        int ready = poll(&one, 1, (int)ceil(left * 1000));
        if (ready < 0 && errno == EINTR)
            return false;
        if (ready == 0)
            return false;
        ssize_t count = recv(client->socket, bytes, sizeof bytes, 0);
        if (count > 0)
            text_add_bytes(&client->inbox, bytes, (size_t)count);
        else if (count == 0 || errno != EINTR)
            client->ended = true;
    }
}
