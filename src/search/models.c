/*
 * Whom to ask about what: models by what they gained for what they cost, candidates by how good
 * they are and how often they were asked about.
 */
#include "search/models.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "search/private.h"

void models_note(struct models_run *run, const char *format, ...)
{
    char text[600];
    struct error ignored;
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (run->say)
        run->say(run->context, text);
    const struct search *search = run->search;
    if (search && search->engine)
        search->engine->event_add(search->store, search->run.id, "model", text, &ignored);
}

/* ---- caps ---- */

/* What requests under way may still take, at worst. */
static void reserved(const struct models_run *run, double *money, int64_t *tokens)
{
    *money = 0;
    *tokens = 0;
    for (int i = 0; i < MODELS_ASKS; i++) {
        const struct models_ask *ask = &run->asks[i];
        if (!ask->id)
            continue;
        *money += model_cost(run->members[ask->member].model, ask->prompt, ask->request.reply);
        *tokens += ask->prompt + ask->request.reply;
    }
}

int64_t models_allow(struct models_run *run, const struct model *model, int64_t prompt,
                     int64_t reply)
{
    double money;
    int64_t tokens;
    reserved(run, &money, &tokens);
    if (run->ending)
        return 0;
    if (run->tokens > 0) {
        int64_t left = run->tokens - run->used - tokens - prompt;
        reply = left < reply ? left : reply;
    }
    if (run->money > 0) {
        double left = run->money - run->spent - money - model_cost(model, prompt, 0);
        if (left < 0)
            reply = 0;
        else if (model->price_written > 0 && left / model->price_written * 1e6 < (double)reply)
            reply = (int64_t)(left / model->price_written * 1e6);
    }
    return reply >= MODELS_LEAST ? reply : 0;
}

/* ---- whom ---- */

static double mean_cost(const struct models_run *run)
{
    double cost = 0, asked = 0;
    for (int i = 0; i < run->count; i++) {
        cost += run->members[i].cost;
        asked += (double)run->members[i].asked;
    }
    return asked > 0 ? cost / asked : 0;
}

/* What a question gained in the mean, for what it cost beside the others: one that costs nothing is
 * worth four times the mean one that gains as much. */
static double worth(const struct models_run *run, const struct models_member *member, double gain)
{
    static const double least = 0.25;
    double usual = mean_cost(run);
    double cost = usual > 0 && member->asked > 0 ? member->cost / (double)member->asked / usual : 1;
    return gain / (least + (1 - least) * cost);
}

/* The same with what it may gain although it did not so far: less, the more often it was asked. */
static double hope(const struct models_run *run, const struct models_member *member, double total)
{
    static const double trust = 1, prior = 0.1, explore = 0.2;
    double asked = (double)member->asked + trust;
    return worth(run, member,
                 (member->gain + trust * prior) / asked + explore * sqrt(log(total + 2) / asked));
}

static bool is_busy(const struct models_member *member)
{
    return !member->off && member->open >= member->model->at_once;
}

/* Models are asked side by side, but whoever is hoped to gain less than half of what another one
 * does gain waits while that one is busy: else all would be asked alike, and paid for. */
static int choose_member(const struct models_run *run, const bool *idle)
{
    double total = 0, best_hope = 0, busy = 0;
    int best = -1;
    for (int i = 0; i < run->count; i++) {
        const struct models_member *member = &run->members[i];
        total += (double)member->asked;
        if (is_busy(member))
            busy = fmax(busy, worth(run, member, member->gain / (double)member->asked));
    }
    for (int i = 0; i < run->count; i++) {
        const struct models_member *member = &run->members[i];
        if (member->off || idle[i] || is_busy(member))
            continue;
        double own = hope(run, member, total);
        if (own >= busy / 2 && own > best_hope) {
            best = i;
            best_hope = own;
        }
    }
    return best;
}

/* ---- about what ---- */

static const char *asked_key(const struct search_node *node, int member, char key[80])
{
    snprintf(key, 80, "%s %d", node->hash, member);
    return key;
}

static int times_asked(const struct models_run *run, const struct search_node *node, int member)
{
    char key[80];
    return (int)(uintptr_t)map_get(&run->asked, asked_key(node, member, key));
}

static bool is_open(const struct models_run *run, const struct search_node *node, int member)
{
    for (int i = 0; i < MODELS_ASKS; i++)
        if (run->asks[i].used && run->asks[i].parent == node && run->asks[i].member == member)
            return true;
    return false;
}

/* The best few of the graph, where there are no islands. */
static struct search_nodes find_best(struct models_run *run, int most)
{
    struct search_nodes best = {0};
    const struct search_nodes *nodes = &run->search->nodes;
    for (int n = 0; n < most; n++) {
        struct search_node *found = NULL;
        for (size_t i = 0; i < nodes->count; i++) {
            struct search_node *node = nodes->at[i];
            bool taken = !node->record.judged || node->record.fitness <= 0;
            for (size_t k = 0; k < best.count; k++)
                taken |= best.at[k] == node;
            if (!taken && (!found || node->record.fitness > found->record.fitness))
                found = node;
        }
        if (found)
            vector_push(&run->arena, &best, found);
    }
    return best;
}

/* Of a population the best that was asked about least; NULL: all were often enough. */
static struct search_node *least_asked(struct models_run *run, const struct search_nodes *nodes,
                                       int member)
{
    enum { FEW = 4 };
    for (int times = 0; times < MODELS_PER_NODE; times++)
        for (size_t i = 0; i < nodes->count && i < FEW; i++)
            if (times_asked(run, nodes->at[i], member) <= times &&
                !is_open(run, nodes->at[i], member))
                return nodes->at[i];
    return NULL;
}

static struct search_node *choose_parent(struct models_run *run, int number, int *island)
{
    struct models_member *member = &run->members[number];
    struct search *search = run->search;
    struct search_node *broken = member->broken;
    *island = -1;
    member->broken = NULL;
    if (broken) {
        *island = broken->island;
        return broken;
    }
    bool islands = false;
    for (int i = 0; i < SEARCH_ISLANDS; i++)
        islands |= search->islands[i].population.count > 0;
    if (!islands) {
        struct search_nodes best = find_best(run, 4);
        return least_asked(run, &best, number);
    }
    for (int i = 0; i < SEARCH_ISLANDS; i++) {
        int at = (member->next_island + i) % SEARCH_ISLANDS;
        if (member->islands && !(member->islands & 1u << at))
            continue;
        struct search_node *found = least_asked(run, &search->islands[at].population, number);
        if (!found)
            continue;
        member->next_island = at + 1;
        *island = at;
        return found;
    }
    return NULL;
}

/* ---- asking ---- */

static struct models_ask *free_ask(struct models_run *run)
{
    for (int i = 0; i < MODELS_ASKS; i++)
        if (!run->asks[i].used)
            return &run->asks[i];
    return NULL;
}

static void give_up(struct models_run *run, struct models_member *member, const char *why)
{
    member->off = true;
    member->why = arena_string(&run->arena, why);
    models_note(run, "model %s is asked no more: %s", member->model->name, why);
}

static bool write_question(struct models_run *run, struct models_ask *ask, int island)
{
    struct models_member *member = &run->members[ask->member];
    const struct model *model = member->model;
    struct search *search = run->search;
    const struct proposer *role = island >= 0 ? experts[search->islands[island].role] : NULL;
    struct llm_prompt prompt;
    struct error error = {0};
    struct text kernel = text_new(&ask->arena);
    if (!run->prompt(run->context, &ask->arena, search, ask->parent, role, model->window, &prompt,
                     &error)) {
        give_up(run, member, error.message);
        return false;
    }
    search_source(search, ask->parent, &kernel);
    ask->kernel = kernel.at;
    ask->topic = prompt.topic;
    ask->prompt = (int64_t)prompt.tokens;
    int64_t most = (int64_t)(model->reply < prompt.reply ? model->reply : prompt.reply);
    ask->request = (struct model_request){.system = prompt.system,
                                          .turns = {{"user", prompt.user}},
                                          .turn_count = 1,
                                          .reply = models_allow(run, model, ask->prompt, most)};
    return true;
}

/* False: there is nothing to ask this model now. */
static bool ask_member(struct models_run *run, int number)
{
    struct models_ask *ask = free_ask(run);
    int island;
    struct search_node *parent = ask ? choose_parent(run, number, &island) : NULL;
    if (!parent)
        return false;
    *ask = (struct models_ask){.used = true, .member = number, .parent = parent};
    ask->offer.island = island;
    if (!write_question(run, ask, island) || ask->request.reply == 0) {
        bool capped = !run->members[number].off;
        arena_release(&ask->arena);
        *ask = (struct models_ask){0};
        if (capped && !run->capped)
            models_note(run,
                        "no more questions: what is left of the cap is too little for a reply");
        run->capped |= capped;
        return false;
    }
    char key[80];
    int times = times_asked(run, parent, number);
    map_set(&run->asked, asked_key(parent, number, key), (void *)(uintptr_t)(times + 1));
    run->members[number].asked++;
    models_send(run, ask);
    return true;
}

static void ask_more(struct models_run *run)
{
    bool idle[MODELS] = {false};
    for (int number; !run->capped && (number = choose_member(run, idle)) >= 0;)
        idle[number] = !ask_member(run, number);
}

/* ---- for the search ---- */

static void hear(struct models_run *run, double seconds)
{
    struct arena scratch = {0};
    struct model_reply reply;
    while (run->started && model_client_hear(&run->client, &scratch, seconds, &reply)) {
        seconds = 0;
        for (int i = 0; i < MODELS_ASKS; i++)
            if (run->asks[i].used && run->asks[i].id == reply.id)
                models_take_reply(run, &run->asks[i], &reply);
        arena_reset(&scratch);
    }
    arena_release(&scratch);
    if (!run->started || !run->client.ended)
        return;
    for (int i = 0; i < run->count; i++)
        if (!run->members[i].off)
            give_up(run, &run->members[i], "the process that talks to servers ended");
    for (int i = 0; i < MODELS_ASKS; i++)
        if (run->asks[i].id) {
            arena_release(&run->asks[i].arena);
            run->asks[i] = (struct models_ask){0};
        }
}

/* Caps are for the run, over all its sittings. */
static void recall(struct models_run *run)
{
    const struct search *search = run->search;
    struct arena scratch = {0};
    struct store_exchanges list = {0};
    struct error ignored;
    run->recalled = true;
    if (search->engine &&
        search->engine->exchange_list(search->store, &scratch, search->run.id, &list, &ignored))
        for (size_t i = 0; i < list.count; i++) {
            run->spent += list.at[i].cost;
            run->used += list.at[i].read + list.at[i].written;
        }
    arena_release(&scratch);
}

static int take(void *context, struct search *search, struct search_offer *offers, int most)
{
    struct models_run *run = context;
    int count = 0;
    run->search = search;
    if (!run->recalled)
        recall(run);
    for (int i = 0; i < MODELS_ASKS; i++)
        if (run->asks[i].delivered) {
            arena_release(&run->asks[i].arena);
            run->asks[i] = (struct models_ask){0};
        }
    hear(run, 0);
    ask_more(run);
    for (int i = 0; i < MODELS_ASKS && count < most; i++)
        if (run->asks[i].ready && !run->asks[i].delivered) {
            run->asks[i].delivered = true;
            offers[count++] = run->asks[i].offer;
        }
    return count;
}

static bool wait(void *context, double seconds)
{
    struct models_run *run = context;
    bool open = false, ready = false;
    for (int i = 0; i < MODELS_ASKS; i++) {
        open |= run->asks[i].id != 0;
        ready |= run->asks[i].ready && !run->asks[i].delivered;
    }
    if (open && !ready)
        hear(run, seconds);
    return open || ready;
}

/* The gain of a proposal is what the bandit of the experts counts, too. */
static void learn(void *context, struct search *search, const struct search_node *node)
{
    struct models_run *run = context;
    static const char ours[] = "model:";
    struct models_member *member = NULL;
    (void)search;
    for (int i = 0; i < run->count && strncmp(node->record.proposer, ours, 6) == 0; i++)
        if (strcmp(run->members[i].model->name, node->record.proposer + 6) == 0)
            member = &run->members[i];
    if (!member)
        return;
    double before = node->parent ? node->parent->record.fitness : 0, now = node->record.fitness;
    member->gain +=
        before > 0 && now > before ? fmin(1, log(now / before)) : before <= 0 && now > 0;
    if (before > 0 && now > 0 && node->record.expected > 0) {
        member->expected += log(node->record.expected);
        member->got += log(now / before);
        member->compared++;
    }
    if (node->record.outcome == OUTCOME_OK) {
        member->repairs = 0;
    } else if (++member->repairs <= MODELS_REPAIRS) {
        member->broken = (struct search_node *)node;
    } else {
        member->repairs = 0;
    }
}

/* Questions under way, and what is to be repaired. */
static bool holds(void *context, const struct search_node *node)
{
    const struct models_run *run = context;
    bool held = false;
    for (int i = 0; i < MODELS_ASKS; i++)
        held |= run->asks[i].used && run->asks[i].parent == node;
    for (int i = 0; i < run->count; i++)
        held |= run->members[i].broken == node;
    return held;
}

struct search_outside models_outside(struct models_run *run)
{
    return (struct search_outside){take, wait, learn, run, holds};
}

bool models_begin(struct models_run *run, struct error *error)
{
    run->asked = map_new(&run->arena);
    if (run->replay) {
        run->replayed = arena_array(&run->arena, run->replay->count + 1, sizeof *run->replayed);
        return true;
    }
    run->started = model_client_start(&run->client, run->models, error);
    return run->started;
}

void models_end(struct models_run *run)
{
    run->ending = true; /* what has come is accounted for, but nothing is asked */
    if (run->search)
        hear(run, 0);
    for (int i = 0; i < MODELS_ASKS; i++) {
        struct models_ask *ask = &run->asks[i];
        if (ask->id) {
            struct model_reply gone = {.fate = MODEL_FAILED,
                                       .text = "",
                                       .message = "the run ended before its reply",
                                       .stop = "",
                                       .doubt = "",
                                       .read = ask->prompt};
            models_take_reply(run, ask, &gone);
        }
        arena_release(&run->asks[i].arena);
    }
    if (run->started)
        model_client_stop(&run->client);
    run->started = false;
}
