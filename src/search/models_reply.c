/*
 * Questions on their way and what comes back: from the cache, a transcript or a server; accounted,
 * kept, read, and made an offer of. A malformed reply is sent back once.
 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "search/models.h"
#include "search/private.h"

/* ---- keeping ---- */

static struct llm_exchange exchange_of(const struct models_run *run, const struct models_ask *ask,
                                       const struct model_reply *reply)
{
    struct llm_exchange exchange = {.model = run->members[ask->member].model->name,
                                    .read = reply->read,
                                    .written = reply->written,
                                    .parent = ask->kernel,
                                    .system = ask->request.system,
                                    .turn_count = ask->request.turn_count,
                                    .reply = *reply->text ? reply->text : NULL};
    for (int i = 0; i < ask->request.turn_count; i++)
        exchange.turns[i] = ask->request.turns[i].text;
    return exchange;
}

static void keep(struct models_run *run, struct models_ask *ask, const struct model_reply *reply,
                 double cost)
{
    const struct search *search = run->search;
    struct llm_exchange whole = exchange_of(run, ask, reply);
    struct text text = text_new(&ask->arena);
    struct error error = {0};
    char hash[65];
    if (!search || !search->engine)
        return;
    llm_transcript_begin(&text);
    llm_transcript_add(&text, &whole);
    struct exchange record = {.run = search->run.id,
                              .model = whole.model,
                              .request = ask->hash,
                              .text = hash,
                              .message = reply->message,
                              .read = reply->read,
                              .written = reply->written,
                              .cost = cost,
                              .seconds = isfinite(reply->seconds) ? reply->seconds : 0};
    if (!search->engine->object_put(search->store, text.at, text.length, hash, &error) ||
        !search->engine->exchange_add(search->store, &record, &error))
        models_note(run, "an exchange with %s was not kept: %s", whole.model, error.message);
}

/* ---- sending ---- */

/* The transcript's answer: to this very question, to one about this kernel, or the next one. */
static const struct llm_exchange *find_replay(struct models_run *run, const struct models_ask *ask)
{
    const struct llm_exchange *found = NULL;
    size_t place = 0;
    int best = -1;
    const char *name = run->members[ask->member].model->name;
    for (size_t i = 0; i < run->replay->count; i++) {
        const struct llm_exchange *one = &run->replay->at[i];
        if (run->replayed[i] || strcmp(one->model, name) != 0 || !one->reply ||
            (one->turn_count > 1) != ask->repair)
            continue;
        int near = strcmp(one->turns[0], ask->request.turns[0].text) == 0                ? 2
                   : one->parent && ask->kernel && strcmp(one->parent, ask->kernel) == 0 ? 1
                                                                                         : 0;
        if (near > best) {
            best = near;
            found = one;
            place = i;
        }
    }
    if (found)
        run->replayed[place] = true;
    return found;
}

static void send_replay(struct models_run *run, struct models_ask *ask)
{
    struct models_member *member = &run->members[ask->member];
    const struct llm_exchange *found = find_replay(run, ask);
    struct model_reply reply = {.stop = "", .doubt = "", .message = "", .text = ""};
    if (!found) {
        member->off = true;
        member->why = "its transcript is at an end";
        member->asked--;
        arena_release(&ask->arena);
        *ask = (struct models_ask){0};
        return;
    }
    if (found->parent)
        ask->kernel = found->parent; /* edits are of that one */
    member->replayed++;
    reply.text = found->reply;
    reply.read = found->read;
    reply.written = found->written;
    reply.counted = true;
    models_take_reply(run, ask, &reply);
}

/* The reply of an earlier run to the same request: it costs nothing. */
static bool send_cached(struct models_run *run, struct models_ask *ask)
{
    const struct search *search = run->search;
    struct exchange old;
    struct error ignored;
    struct llm_exchanges list = {0};
    struct source *source = arena_new(&ask->arena, struct source);
    if (run->no_cache || !search->engine ||
        !search->engine->exchange_find(search->store, &ask->arena, ask->hash, search->run.id, &old,
                                       &ignored) ||
        !old.id)
        return false;
    source->name = "transcript";
    source->text =
        search->engine->object_get(search->store, &ask->arena, old.text, &source->length, &ignored);
    if (!source->text || !llm_transcript_parse(&ask->arena, source, &list, &ignored) ||
        list.count != 1 || !list.at[0].reply)
        return false;
    struct model_reply reply = {
        .stop = "", .doubt = "", .message = "", .text = list.at[0].reply, .counted = true};
    struct models_member *member = &run->members[ask->member];
    if (member->cached++ == 0)
        models_note(run, "model %s: its reply in run %lld to the same question is taken again",
                    member->model->name, (long long)old.run);
    models_take_reply(run, ask, &reply);
    return true;
}

/* The same question has the same hash in another run, where times are a little different and the
 * caps leave more or less room for the reply. */
static const char *question_hash(struct models_run *run, struct models_ask *ask)
{
    struct model_request question = ask->request;
    question.turns[0].text = ask->topic;
    question.reply = 0;
    return model_request_hash(&ask->arena, run->members[ask->member].model, &question);
}

void models_send(struct models_run *run, struct models_ask *ask)
{
    struct models_member *member = &run->members[ask->member];
    ask->hash = question_hash(run, ask);
    member->open++;
    if (run->replay) {
        member->open--;
        send_replay(run, ask);
        return;
    }
    if (send_cached(run, ask))
        return;
    if (run->money > 0)
        ask->request.money = fmax(1e-9, run->money - run->spent);
    if (run->tokens > 0)
        ask->request.tokens = run->tokens - run->used;
    ask->id = model_client_ask(&run->client, run->models, member->model, &ask->request);
    if (ask->id)
        return;
    member->open--;
    arena_release(&ask->arena);
    *ask = (struct models_ask){0};
}

/* ---- reading ---- */

static const char *check_plan(struct models_run *run, struct models_ask *ask, const char *text,
                              struct error *error)
{
    struct errors errors = errors_new(&ask->arena);
    struct source *source = arena_new(&ask->arena, struct source);
    struct skeleton_program program = *run->search->program;
    program.arena = &ask->arena;
    *source = (struct source){"plan", text, strlen(text)};
    struct plan *plan = plan_parse(&ask->arena, source, program.graph, &errors);
    if (!plan)
        *error = errors.list.at[0];
    return plan && skeleton_check(&program, plan, error) ? text : NULL;
}

/* The kernel, checked as far as its manifest goes: the rest is the judge's. */
static const char *check_kernel(struct models_run *run, struct models_ask *ask, const char *text,
                                struct error *error)
{
    struct errors errors = errors_new(&ask->arena);
    struct source *source = arena_new(&ask->arena, struct source);
    *source = (struct source){"kernel.c", text, strlen(text)};
    if (kernel_parse(&ask->arena, source, run->search->program->part, &errors))
        return text;
    *error = errors.list.at[0];
    return NULL;
}

static bool make_offer(struct models_run *run, struct models_ask *ask, const char *text,
                       struct error *error)
{
    struct source *source = arena_new(&ask->arena, struct source);
    struct llm_reply reply;
    *source = (struct source){"reply", text, strlen(text)};
    if (!llm_reply_parse(&ask->arena, source, &reply, error))
        return false;
    bool plan = reply.kind == LLM_PLAN;
    const char *made = plan ? reply.text : llm_reply_apply(&ask->arena, &reply, ask->kernel, error);
    made = !made  ? NULL
           : plan ? check_plan(run, ask, made, error)
                  : check_kernel(run, ask, made, error);
    if (!made)
        return false;
    ask->offer = (struct search_offer){
        .source = plan ? NULL : made,
        .plan = plan ? made : NULL,
        .proposer = arena_printf(&ask->arena, "model:%s", run->members[ask->member].model->name),
        .action = reply.change,
        .why = reply.why,
        .parent = ask->parent,
        .expected = reply.expected,
        .cost = ask->cost,
        .tokens = ask->tokens,
        .island = ask->offer.island};
    return true;
}

/* The reply goes back with what is wrong about it. False: it would not fit, or cost too much. */
static bool send_back(struct models_run *run, struct models_ask *ask, const char *said,
                      const struct error *error)
{
    const struct model *model = run->members[ask->member].model;
    struct text repair = text_new(&ask->arena);
    llm_repair(&repair, error);
    struct model_request *request = &ask->request;
    ask->prompt +=
        (int64_t)(llm_tokens(said, strlen(said)) + llm_tokens(repair.at, repair.length)) + 16;
    int64_t left = (int64_t)model->window - ask->prompt;
    int64_t reply = left < (int64_t)model->reply ? left : (int64_t)model->reply;
    request->reply = models_allow(run, model, ask->prompt, reply);
    if (request->reply == 0 || request->turn_count + 2 > MODEL_TURNS)
        return false;
    request->turns[request->turn_count++] = (struct model_turn){"assistant", said};
    request->turns[request->turn_count++] = (struct model_turn){"user", repair.at};
    ask->repair = true;
    models_send(run, ask);
    return true;
}

static void drop(struct models_ask *ask)
{
    arena_release(&ask->arena);
    *ask = (struct models_ask){0};
}

static void take_failure(struct models_run *run, struct models_ask *ask,
                         const struct model_reply *reply)
{
    struct models_member *member = &run->members[ask->member];
    const char *message = arena_string(&run->arena, reply->message);
    member->failed++;
    member->failures++;
    drop(ask);
    models_note(run, "model %s: %s", member->model->name, message);
    if (reply->fate == MODEL_REFUSED || member->failures >= MODELS_FAILURES) {
        member->off = true;
        member->why = message;
        models_note(run, "model %s is asked no more", member->model->name);
    }
}

void models_take_reply(struct models_run *run, struct models_ask *ask,
                       const struct model_reply *reply)
{
    struct models_member *member = &run->members[ask->member];
    double cost = model_cost(member->model, reply->read, reply->written);
    struct error error = {0};
    ask->id = 0;
    if (!run->replay)
        member->open--;
    run->spent += cost;
    run->used += reply->read + reply->written;
    member->read += reply->read;
    member->written += reply->written;
    member->cost += cost;
    ask->cost += cost;
    ask->tokens += reply->read + reply->written;
    keep(run, ask, reply, cost);
    if (*reply->doubt)
        models_note(run, "model %s: %s; tokens are guessed", member->model->name, reply->doubt);
    if (reply->fate != MODEL_OK) {
        take_failure(run, ask, reply);
        return;
    }
    member->failures = 0;
    const char *said = arena_string(&ask->arena, reply->text);
    if (make_offer(run, ask, said, &error)) {
        ask->ready = true;
        member->offered++;
        return;
    }
    member->malformed++;
    models_note(run, "model %s: %s reply cannot be used: %s", member->model->name,
                ask->repair ? "its repaired" : "its", error.message);
    if (ask->repair || !send_back(run, ask, said, &error))
        drop(ask);
}
