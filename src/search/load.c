/*
 * A run that goes on: its candidates from the store, as they were judged. Those that were in flight
 * when it ended are judged first. While it goes on, what others put into it is taken likewise: a
 * run is shared through the store alone.
 */
#include <string.h>

#include "search/private.h"

/* Nodes come in the order of their numbers. */
struct search_node *search_find(const struct search *search, int64_t id)
{
    size_t low = 0, high = search->nodes.count;
    while (id && low < high) {
        size_t middle = low + (high - low) / 2;
        struct search_node *node = search->nodes.at[middle];
        if (node->record.id == id)
            return node;
        if (node->record.id && node->record.id < id) /* 0: of the batch that is being made */
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int expert_of(const char *proposer)
{
    static const char ours[] = "expert:";
    for (int i = 0; strncmp(proposer, ours, sizeof ours - 1) == 0 && experts[i]; i++)
        if (strcmp(experts[i]->name, proposer + sizeof ours - 1) == 0)
            return i;
    return -1;
}

/* Others' candidates have numbers between our own. */
static void put_in_order(struct search_nodes *nodes)
{
    size_t place = nodes->count - 1;
    struct search_node *last = nodes->at[place];
    for (; place > 0; place--) {
        int64_t before = nodes->at[place - 1]->record.id;
        if (before && before < last->record.id)
            break;
        nodes->at[place] = nodes->at[place - 1];
    }
    nodes->at[place] = last;
}

static void take_verdict(struct search *search, struct search_node *node,
                         const struct candidate *candidate)
{
    node->record = *candidate;
    node->diagnosis = (struct diagnosis){.class = candidate->diagnosis,
                                         .pattern = "",
                                         .text = candidate->note ? candidate->note : ""};
    if (!candidate->judged)
        return;
    if (candidate->binary && !map_get(&search->by_binary, candidate->binary))
        map_set(&search->by_binary, candidate->binary, node);
    search->judged++;
    search->seen.outcomes[candidate->outcome]++;
    search->seen.right += candidate->outcome == OUTCOME_OK;
    if (candidate->fitness > (search->best ? search->best->record.fitness : 0)) {
        search->best = node;
        search->since_best = 0;
    } else {
        search->since_best++;
    }
    bandit_learn(search, node);
    search_believe(search, node);
    search->options->policy->learn(search, node);
}

/* NULL: the same plan or source is in the graph already. */
static struct search_node *take_candidate(struct search *search, const struct candidate *candidate,
                                          const char *text)
{
    struct search_offer offer = {.source = candidate->plan ? NULL : text,
                                 .plan = candidate->plan ? text : NULL,
                                 .proposer = candidate->proposer,
                                 .island = -1};
    struct search_node *node = search_add_offer(search, &offer, NULL);
    if (!node)
        return NULL;
    node->record = *candidate;
    put_in_order(&search->nodes);
    node->island = candidate->island;
    node->expert = expert_of(candidate->proposer);
    node->parent = search_find(search, candidate->parents[0]);
    node->mate = search_find(search, candidate->parents[1]);
    if (node->parent)
        node->parent->children++;
    take_verdict(search, node, candidate);
    return node;
}

static char *text_of(struct search *search, struct arena *arena, const struct candidate *candidate,
                     struct error *error)
{
    const char *hash = candidate->plan ? candidate->plan : candidate->kernel;
    return search->engine->object_get(search->store, arena, hash, NULL, error);
}

bool search_load(struct search *search, struct error *error)
{
    struct store_candidates list = {0};
    struct candidate_query query = {.run = search->run.id};
    bool whole = true;
    if (!search->engine->candidate_list(search->store, search->arena, &query, &list, error))
        return false;
    for (size_t i = 0; i < list.count; i++) {
        const char *text = text_of(search, search->arena, &list.at[i], error);
        if (!text)
            return false;
        take_candidate(search, &list.at[i], text);
        whole = whole && list.at[i].judged;
        if (whole)
            search->heard = list.at[i].id;
    }
    search->champion = search_find(search, search->run.best);
    if (search->champion && search->champion->record.fitness <= 0)
        search->champion = NULL;
    /* The numbers drawn before are not drawn again. */
    search->random.counter = (uint64_t)search->judged * 1000;
    return true;
}

/* One that has a verdict in the store and none in the graph. */
static bool hear_one(struct search *search, struct arena *scratch, struct search_node *node,
                     int64_t id, struct error *error)
{
    struct candidate candidate;
    if (!search->engine->candidate_get(search->store, search->arena, id, &candidate, error))
        return false;
    if (node) {
        take_verdict(search, node, &candidate);
    } else {
        const char *text = text_of(search, scratch, &candidate, error);
        if (!text)
            return false;
        node = take_candidate(search, &candidate, text);
    }
    if (!node)
        return true;
    search->foreign++;
    for (int i = 0; i < search->options->outside_count; i++)
        if (search->options->outside[i].learn)
            search->options->outside[i].learn(search->options->outside[i].context, search, node);
    return true;
}

bool search_hear(struct search *search, struct error *error)
{
    struct arena scratch = {0};
    struct store_candidates list = {0};
    struct candidate_query query = {.run = search->run.id, .after = search->heard};
    bool whole = true;
    bool fine = !search->engine ||
                search->engine->candidate_list(search->store, &scratch, &query, &list, error);
    for (size_t i = 0; i < list.count && fine; i++) {
        int64_t id = list.at[i].id;
        struct search_node *node = search_find(search, id);
        if (list.at[i].judged && !(node && node->record.judged))
            fine = hear_one(search, &scratch, node, id, error);
        whole = whole && list.at[i].judged;
        if (whole)
            search->heard = id;
    }
    arena_release(&scratch);
    return fine;
}
