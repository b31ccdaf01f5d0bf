/*
 * A run that goes on: its candidates from the store, as they were judged. Those that were in flight
 * when it ended are judged first. While it goes on, what others put into it is taken likewise: a
 * run is shared through the store alone.
 */
#include <math.h>

#include "base/json_read.h"
#include "propose/expert/edit.h"
#include "search/private.h"

/* What came of it, learned from as if it had been judged just now. */
static void learn_verdict(struct search *search, struct search_node *node)
{
    const struct candidate *record = &node->record;
    if (!record->judged)
        return;
    if (record->binary)
        node->twin = !fingerprints_add(&search->binaries, record->binary);
    search->judged++;
    search->seen.outcomes[record->outcome]++;
    search->seen.right += record->outcome == OUTCOME_OK;
    if (record->fitness > (search->best ? search->best->record.fitness : 0)) {
        search->best = node;
        search->since_best = 0;
    } else {
        search->since_best++;
    }
    bandit_learn(search, node);
    search_believe(search, node);
    search->options->policy->learn(search, node);
}

/* What its diagnosis says beyond the class is in the object of the verdict: advice depends on it.
 */
static void read_pattern(struct search *search, struct arena *scratch, struct search_node *node)
{
    struct error error = {0};
    size_t length = 0;
    const char *text = node->record.verdict
                           ? search->engine->object_get(search->store, scratch,
                                                        node->record.verdict, &length, &error)
                           : NULL;
    const struct json_value *value = text ? json_read(scratch, text, length) : NULL;
    const struct json_value *diagnosis = value ? json_member(value, "diagnosis") : NULL;
    const char *pattern = diagnosis ? json_text(diagnosis, "pattern") : NULL;
    if (!pattern)
        return;
    node->diagnosis.pattern = search_word(search, pattern);
    node->diagnosis.reach = fmax(0, json_number(diagnosis, "reach"));
}

/* A parent that retired, as far as its child is learned from: what was the matter, its speed, and
 * its plan. False: it is none. */
static bool read_parent(struct search *search, struct arena *scratch, int64_t id,
                        struct search_node *parent)
{
    struct error error = {0};
    *parent = (struct search_node){0};
    if (!id || !search->engine->candidate_get(search->store, scratch, id, &parent->record, &error))
        return false;
    parent->diagnosis =
        (struct diagnosis){.class = parent->record.diagnosis, .pattern = "", .text = ""};
    read_pattern(search, scratch, parent);
    const char *text =
        parent->record.plan
            ? search->engine->object_get(search->store, scratch, parent->record.plan, NULL, &error)
            : NULL;
    parent->plan = text ? search_read_plan(search, scratch, text) : NULL;
    return true;
}

/* What the step that led to it was, as its proposal said it: beliefs are learned from that. */
static void read_step(struct search *search, struct arena *scratch, struct search_node *node)
{
    struct skeleton_program program = *search->program;
    struct proposal step;
    if (node->expert < 0 || !node->plan || !node->parent || !node->parent->plan)
        return;
    program.arena = scratch;
    struct propose_view view = {.program = &program, .parent = node->parent->plan};
    struct plan *plan = plan_copy(scratch, node->plan);
    if (!edit_take(&view, plan, "", &step))
        return;
    node->key = arena_string(&node->own, step.key);
    node->promise = step.promise;
}

/* NULL: the same plan or source is in the graph already. */
static struct search_node *take_candidate(struct search *search, struct arena *scratch,
                                          const struct candidate *candidate, const char *text)
{
    struct search_offer offer = {.source = candidate->plan ? NULL : text,
                                 .plan = candidate->plan ? text : NULL,
                                 .proposer = candidate->proposer,
                                 .island = -1};
    struct search_node *node = search_add_offer(search, &offer, NULL), gone;
    if (!node)
        return NULL;
    search_take_record(search, node, candidate);
    read_pattern(search, scratch, node);
    struct search_node *parent = node->parent;
    if (parent)
        parent->children++;
    else if (read_parent(search, scratch, candidate->parents[0], &gone))
        node->parent = &gone;
    read_step(search, scratch, node);
    learn_verdict(search, node);
    node->parent = parent;
    return node;
}

static char *text_of(struct search *search, struct arena *arena, const struct candidate *candidate,
                     struct error *error)
{
    const char *hash = candidate->plan ? candidate->plan : candidate->kernel;
    return search->engine->object_get(search->store, arena, hash, NULL, error);
}

static void look_at(struct search *search, const struct candidate *candidate)
{
    search->heard = candidate->id;
    if (!candidate->judged)
        vector_push(search->arena, &search->waiting, candidate->id);
}

/* The next few; false when that fails. *more: there may be others. */
static bool load_page(struct search *search, struct arena *scratch, bool *more, struct error *error)
{
    enum { PAGE = 256 };
    struct store_candidates list = {0};
    struct candidate_query query = {.run = search->run.id, .after = search->heard, .most = PAGE};
    if (!search->engine->candidate_list(search->store, scratch, &query, &list, error))
        return false;
    for (size_t i = 0; i < list.count; i++) {
        const char *text = text_of(search, scratch, &list.at[i], error);
        if (!text)
            return false;
        take_candidate(search, scratch, &list.at[i], text);
        look_at(search, &list.at[i]);
    }
    *more = list.count == PAGE;
    return true;
}

bool search_load(struct search *search, struct error *error)
{
    struct arena scratch = {0};
    bool fine = true, more = true;
    search->heard = 0;
    search->waiting.count = 0;
    while (fine && more) {
        fine = load_page(search, &scratch, &more, error);
        search_retire(search);
        arena_reset(&scratch);
    }
    arena_release(&scratch);
    if (!fine)
        return false;
    search->champion = search_recall(search, search->run.best);
    if (search->champion && search->champion->record.fitness <= 0)
        search->champion = NULL;
    return true;
}

/* One that has a verdict in the store and none in the graph. */
static bool hear_one(struct search *search, struct arena *scratch,
                     const struct candidate *candidate, struct error *error)
{
    struct search_node *node = search_find(search, candidate->id);
    if (node && node->record.judged)
        return true;
    if (node) {
        search_keep_record(node, candidate);
        learn_verdict(search, node);
    } else {
        const char *text = text_of(search, scratch, candidate, error);
        if (!text)
            return false;
        node = take_candidate(search, scratch, candidate, text);
    }
    if (!node)
        return true;
    search->foreign++;
    for (int i = 0; i < search->options->outside_count; i++)
        if (search->options->outside[i].learn)
            search->options->outside[i].learn(search->options->outside[i].context, search, node);
    return true;
}

/* Whether those that were still judged when they were looked at have a verdict now. */
static bool hear_waiting(struct search *search, struct arena *scratch, struct error *error)
{
    struct search_numbers *waiting = &search->waiting;
    size_t left = 0;
    bool fine = true;
    for (size_t i = 0; i < waiting->count; i++) {
        struct candidate candidate = {0};
        const struct search_node *node = search_find(search, waiting->at[i]);
        if (node && node->record.judged)
            continue;
        fine = fine && search->engine->candidate_get(search->store, scratch, waiting->at[i],
                                                     &candidate, error);
        if (!fine || !candidate.judged)
            waiting->at[left++] = waiting->at[i];
        else
            fine = hear_one(search, scratch, &candidate, error);
    }
    waiting->count = left;
    return fine;
}

bool search_hear(struct search *search, struct error *error)
{
    struct arena scratch = {0};
    struct store_candidates list = {0};
    struct candidate_query query = {.run = search->run.id, .after = search->heard};
    bool fine = !search->engine ||
                (hear_waiting(search, &scratch, error) &&
                 search->engine->candidate_list(search->store, &scratch, &query, &list, error));
    for (size_t i = 0; i < list.count && fine; i++) {
        fine = !list.at[i].judged || hear_one(search, &scratch, &list.at[i], error);
        look_at(search, &list.at[i]);
    }
    arena_release(&scratch);
    return fine;
}
