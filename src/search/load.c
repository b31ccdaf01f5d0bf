/*
 * A run that goes on: its candidates from the store, as they were judged. Those that were in flight
 * when it ended are judged first.
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

static void take_candidate(struct search *search, const struct candidate *candidate,
                           const char *text)
{
    struct search_offer offer = {.source = candidate->plan ? NULL : text,
                                 .plan = candidate->plan ? text : NULL,
                                 .proposer = candidate->proposer,
                                 .island = -1};
    struct search_node *node = search_add_offer(search, &offer, NULL);
    if (!node)
        return;
    node->record = *candidate;
    node->island = candidate->island;
    node->expert = expert_of(candidate->proposer);
    node->parent = search_find(search, candidate->parents[0]);
    node->mate = search_find(search, candidate->parents[1]);
    node->diagnosis = (struct diagnosis){.class = candidate->diagnosis,
                                         .pattern = "",
                                         .text = candidate->note ? candidate->note : ""};
    if (node->parent)
        node->parent->children++;
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

bool search_load(struct search *search, struct error *error)
{
    struct store_candidates list = {0};
    struct candidate_query query = {.run = search->run.id};
    if (!search->engine->candidate_list(search->store, search->arena, &query, &list, error))
        return false;
    for (size_t i = 0; i < list.count; i++) {
        const struct candidate *candidate = &list.at[i];
        const char *hash = candidate->plan ? candidate->plan : candidate->kernel;
        const char *text =
            search->engine->object_get(search->store, search->arena, hash, NULL, error);
        if (!text)
            return false;
        take_candidate(search, candidate, text);
    }
    search->champion = search_find(search, search->run.best);
    if (search->champion && search->champion->record.fitness <= 0)
        search->champion = NULL;
    /* The numbers drawn before are not drawn again. */
    search->random.counter = (uint64_t)search->judged * 1000;
    return true;
}
