/*
 * Candidates from outside: what a model, an agent or a person offers becomes a node of the graph
 * like one an expert made. One that is source only has no plan; an expert asked about it goes on
 * from the nearest ancestor that has one.
 */
#include "search/private.h"

struct search_node *search_add_offer(struct search *search, const struct search_offer *offer,
                                     struct search_node **old)
{
    struct search_node *other = NULL;
    struct search_node *node = offer->plan ? search_add_plan(search, offer->plan, &other)
                                           : search_add_source(search, offer->source, &other);
    if (old)
        *old = other;
    if (!node)
        return NULL;
    struct arena *arena = &node->own;
    node->parent = offer->parent;
    node->island = offer->island;
    node->record.island = offer->island;
    node->record.proposer = arena_string(arena, offer->proposer);
    node->record.action = offer->action ? arena_string(arena, offer->action) : NULL;
    node->record.why = offer->why ? arena_string(arena, offer->why) : NULL;
    node->record.expected = offer->expected;
    node->record.cost = offer->cost;
    node->record.tokens = offer->tokens;
    if (node->parent)
        node->parent->children++;
    return node;
}

int search_take_offers(struct search *search, struct search_node **nodes, int most)
{
    int count = 0;
    for (int i = 0; i < search->options->outside_count; i++) {
        const struct search_outside *outside = &search->options->outside[i];
        struct search_offer offers[SEARCH_BATCH];
        int ready =
            count < most ? outside->take(outside->context, search, offers, most - count) : 0;
        for (int k = 0; k < ready; k++) {
            struct search_node *node = search_add_offer(search, &offers[k], NULL);
            if (node)
                nodes[count++] = node;
            else
                search->duplicates++;
        }
    }
    return count;
}

bool search_wait_offers(struct search *search, double seconds)
{
    bool waiting = false;
    int count = search->options->outside_count;
    for (int i = 0; i < count; i++) {
        const struct search_outside *outside = &search->options->outside[i];
        waiting |= outside->wait(outside->context, seconds / count);
    }
    return waiting;
}

struct search_node *search_planned(const struct search *search, struct search_node *node)
{
    struct search_node *best = NULL;
    while (node && !node->plan)
        node = node->parent;
    for (size_t i = 0; !node && i < search->nodes.count; i++) {
        struct search_node *other = search->nodes.at[i];
        if (other->plan && other->record.judged &&
            (!best || other->record.fitness > best->record.fitness))
            best = other;
    }
    return node ? node : best;
}

/* ---- offers alone ---- */

/* Who is about as good as the best or better is compared with it side by side. */
static bool choose_best(struct search *search, struct search_node *const *nodes, int count,
                        struct error *error)
{
    static const double near = 0.9;
    struct search_node *champion = search_recall(search, search->run.best);
    struct search_node *finalists[SEARCH_BATCH];
    int filled = 0;
    bool fresh = false; /* the champion itself was not judged with care yet */
    if (!champion)
        champion = search->best;
    if (champion)
        finalists[filled++] = champion;
    for (int i = 0; i < count && filled < SEARCH_BATCH; i++) {
        fresh |= champion && nodes[i] == champion;
        if (champion && nodes[i] && nodes[i] != champion &&
            nodes[i]->record.fitness > near * champion->record.fitness)
            finalists[filled++] = nodes[i];
    }
    bool judged = filled > 1 || fresh;
    if (judged && !search_judge_batch(search, finalists, filled, SEARCH_CARE_FINAL, error))
        return false;
    search->best = judged ? search->winner : champion;
    return true;
}

/* The best as the store has it now: a search may be running in another process. */
static bool read_best(struct search *search, struct error *error)
{
    struct arena scratch = {0};
    struct store_runs runs = {0};
    bool fine = search->engine->run_list(search->store, &scratch, &runs, error);
    for (size_t i = 0; i < runs.count && fine; i++)
        if (runs.at[i].id == search->run.id)
            search->run.best = runs.at[i].best;
    arena_release(&scratch);
    return fine;
}

/* Who changed the best meanwhile may not have known of these: then they are compared with the new
 * one. A search that keeps changing it hears of them by itself. */
static bool crown(struct search *search, struct search_node *const *nodes, int count,
                  struct error *error)
{
    enum { TRIES = 4 };
    bool done = false;
    for (int i = 0; i < TRIES && !done; i++) {
        if (search->engine && (!read_best(search, error) || !search_hear(search, error)))
            return false;
        if (!choose_best(search, nodes, count, error))
            return false;
        int64_t before = search->run.best, best = search->best ? search->best->record.id : 0;
        double seconds = search_elapsed(search) - search->run.seconds;
        done = !search->engine;
        if (search->engine && !search->engine->run_crown(search->store, search->run.id, before,
                                                         best, seconds, &done, error))
            return false;
        if (done)
            search->run.best = best;
    }
    return true;
}

bool search_submit(struct search *search, const struct search_offer *offers, int count,
                   struct search_node **nodes, struct error *error)
{
    struct search_node *batch[SEARCH_BATCH];
    int filled = 0;
    bool fine = true;
    for (int i = 0; i < count && fine; i++) {
        struct search_node *old = NULL;
        struct search_node *node = search_add_offer(search, &offers[i], &old);
        nodes[i] = node ? node : old;
        if (nodes[i] && !nodes[i]->record.judged)
            batch[filled++] = nodes[i];
        if (filled == SEARCH_BATCH || (i + 1 == count && filled > 0)) {
            fine = search_judge_batch(search, batch, filled, SEARCH_CARE_USUAL, error);
            filled = 0;
        }
    }
    return fine && crown(search, nodes, count, error);
}

void search_source(const struct search *search, const struct search_node *node, struct text *out)
{
    if (node->source)
        text_add(out, node->source);
    else
        propose_source(search->program, node->plan, search->op, out);
}
