/*
 * Candidates in memory, and those that only the store has.
 *
 * A run of any length keeps SEARCH_LIVE candidates or a few more: whom somebody points at, the
 * best, and of the others those there is still something to ask about, best first. The rest retire:
 * the store has them whole, and of each a fingerprint of its plan and one of its binary stay, so
 * that neither is tried twice. Whoever is wanted after all is recalled by number, plan or binary. A
 * fingerprint shared by two plans costs the search one proposal in about 10^14; offers and binaries
 * are looked up in the store and lose nothing by it.
 *
 * Without a store nobody retires.
 */
#include <stdlib.h>
#include <string.h>

#include "search/private.h"

/* ---- making ---- */

struct search_node *search_new_node(struct search *search, const char *hash)
{
    struct search_node *node =
        search->retired.count ? search->retired.at[--search->retired.count] : NULL;
    if (!node)
        node = arena_new(search->arena, struct search_node);
    arena_release(&node->own);
    *node = (struct search_node){
        .own = arena_inside(search->arena), .expert = -1, .island = -1, .record = {.island = -1}};
    node->record.run = search->run.id;
    memcpy(node->hash, hash, sizeof node->hash);
    vector_push(search->arena, &search->nodes, node);
    fingerprints_add(&search->known, hash);
    return node;
}

struct plan *search_read_plan(struct search *search, struct arena *scratch, const char *text)
{
    struct errors errors = errors_new(scratch);
    struct error error;
    struct source source = {"plan", text, strlen(text)};
    struct skeleton_program program = *search->program;
    program.arena = scratch;
    struct plan *plan = plan_parse(scratch, &source, program.graph, &errors);
    return plan && skeleton_check(&program, plan, &error) ? plan : NULL;
}

/* The plan again, in the node's own arena: nothing else of a candidate takes as much room, so
 * words are shared by all plans, and what a program is rewritten to by those that do the same. */
static struct plan *keep_plan(struct search *search, struct search_node *node,
                              struct arena *scratch, const struct plan *plan, const char *text)
{
    struct plan *kept = plan_keep(&node->own, &search->words, plan);
    if (plan->rewrite_count == 0)
        return kept;
    struct text key = text_new(scratch);
    for (int i = 0; i < plan->rewrite_count; i++)
        text_printf(&key, "%s %s %lld;", plan->rewrites[i].name, plan->rewrites[i].stage,
                    (long long)plan->rewrites[i].number);
    kept->graph = map_get(&search->graphs, key.at);
    if (kept->graph)
        return kept;
    struct errors errors = errors_new(scratch);
    struct source source = {"plan", text, strlen(text)};
    kept->graph = plan_parse(search->arena, &source, search->program->graph, &errors)->graph;
    map_set(&search->graphs, key.at, (void *)kept->graph);
    return kept;
}

static struct search_node *make_planned(struct search *search, struct arena *scratch,
                                        const struct plan *plan, const char *hash, const char *text)
{
    struct search_node *node = search_new_node(search, hash);
    node->plan = keep_plan(search, node, scratch, plan, text);
    return node;
}

static const char *keep_text(struct arena *arena, const char *text)
{
    return text ? arena_string(arena, text) : NULL;
}

void search_keep_record(struct search_node *node, const struct candidate *candidate)
{
    struct arena *own = &node->own;
    struct candidate *record = &node->record;
    *record = *candidate;
    record->proposer = keep_text(own, candidate->proposer);
    record->action = keep_text(own, candidate->action);
    record->why = keep_text(own, candidate->why);
    record->plan = keep_text(own, candidate->plan);
    record->kernel = keep_text(own, candidate->kernel);
    record->binary = keep_text(own, candidate->binary);
    record->verdict = keep_text(own, candidate->verdict);
    record->note = keep_text(own, candidate->note);
    node->diagnosis = (struct diagnosis){
        .class = candidate->diagnosis, .pattern = "", .text = record->note ? record->note : ""};
}

/* ---- finding ---- */

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

/* Others' candidates have numbers between our own, and recalled ones have old numbers. */
void search_put_in_order(struct search *search)
{
    struct search_nodes *nodes = &search->nodes;
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

static int expert_of(const char *proposer)
{
    static const char ours[] = "expert:";
    for (int i = 0; strncmp(proposer, ours, sizeof ours - 1) == 0 && experts[i]; i++)
        if (strcmp(experts[i]->name, proposer + sizeof ours - 1) == 0)
            return i;
    return -1;
}

/* What a candidate of the store has besides its plan or source. */
void search_take_record(struct search *search, struct search_node *node,
                        const struct candidate *candidate)
{
    search_keep_record(node, candidate);
    search_put_in_order(search);
    node->island = candidate->island;
    node->expert = expert_of(candidate->proposer);
    node->parent = search_find(search, candidate->parents[0]);
    node->mate = search_find(search, candidate->parents[1]);
}

/* A candidate the store has, in memory again; what came of it was learned long ago. NULL: it is
 * none of this run, or none any more. */
static struct search_node *recall(struct search *search, struct arena *scratch,
                                  const struct candidate *candidate)
{
    struct error error = {0};
    char hash[65];
    struct search_node *node = search_find(search, candidate->id);
    if (node || !candidate->id || candidate->run != search->run.id)
        return node;
    const char *name = candidate->plan ? candidate->plan : candidate->kernel;
    const char *text = search->engine->object_get(search->store, scratch, name, NULL, &error);
    if (!text)
        return NULL;
    if (candidate->plan) {
        struct plan *plan = search_read_plan(search, scratch, text);
        if (!plan)
            return NULL;
        plan_hash(plan, search->program->graph, hash);
        node = make_planned(search, scratch, plan, hash, text);
    } else {
        node = search_new_node(search, name);
        node->source = arena_string(&node->own, text);
    }
    search_take_record(search, node, candidate);
    return node;
}

struct search_node *search_recall(struct search *search, int64_t id)
{
    struct arena scratch = {0};
    struct candidate candidate;
    struct error error = {0};
    struct search_node *node = search_find(search, id);
    if (!node && search->engine && id &&
        search->engine->candidate_get(search->store, &scratch, id, &candidate, &error))
        node = recall(search, &scratch, &candidate);
    arena_release(&scratch);
    return node;
}

struct search_node *search_twin(struct search *search, const char *binary)
{
    struct arena scratch = {0};
    struct candidate candidate;
    struct error error = {0};
    struct search_node *twin = NULL;
    if (!fingerprints_have(&search->binaries, binary))
        return NULL;
    for (size_t i = 0; i < search->nodes.count && !twin; i++) {
        const struct candidate *record = &search->nodes.at[i]->record;
        if (record->judged && !search->nodes.at[i]->twin && record->binary &&
            strcmp(record->binary, binary) == 0)
            twin = search->nodes.at[i];
    }
    if (!twin && search->engine &&
        search->engine->candidate_twin(search->store, &scratch, search->run.id, NULL, binary,
                                       &candidate, &error))
        twin = recall(search, &scratch, &candidate);
    arena_release(&scratch);
    return twin;
}

/* Whoever has this plan or source: `hash` is its own, `object` that of its text in the store. */
static struct search_node *find_same(struct search *search, const char *hash, const char *object)
{
    struct arena scratch = {0};
    struct candidate candidate;
    struct error error = {0};
    struct search_node *same = NULL;
    if (!fingerprints_have(&search->known, hash))
        return NULL;
    for (size_t i = 0; i < search->nodes.count && !same; i++)
        if (strcmp(search->nodes.at[i]->hash, hash) == 0)
            same = search->nodes.at[i];
    if (!same && search->engine &&
        search->engine->candidate_twin(search->store, &scratch, search->run.id, object, NULL,
                                       &candidate, &error))
        same = recall(search, &scratch, &candidate);
    arena_release(&scratch);
    return same;
}

struct search_node *search_add_plan(struct search *search, const char *text,
                                    struct search_node **old)
{
    struct arena scratch = {0};
    struct plan *plan = search_read_plan(search, &scratch, text);
    struct search_node *node = NULL;
    char hash[65], object[65];
    *old = NULL;
    if (plan) {
        struct text printed = text_new(&scratch);
        plan_hash(plan, search->program->graph, hash);
        plan_print(&printed, plan, search->program->graph);
        sha256_hex(printed.at, printed.length, object);
        *old = find_same(search, hash, object);
        node = *old ? NULL : make_planned(search, &scratch, plan, hash, text);
    }
    arena_release(&scratch);
    return node;
}

struct search_node *search_add_source(struct search *search, const char *source,
                                      struct search_node **old)
{
    char hash[65];
    sha256_hex(source, strlen(source), hash);
    *old = find_same(search, hash, hash);
    if (*old)
        return NULL;
    struct search_node *node = search_new_node(search, hash);
    node->source = arena_string(&node->own, source);
    return node;
}

/* ---- retiring ---- */

/* The first plans stay: the search is measured by them. */
static bool is_seed(const struct search_node *node)
{
    const char *proposer = node->record.proposer;
    return proposer && (strcmp(proposer, "seed") == 0 || strcmp(proposer, "experience") == 0);
}

static void keep(struct search_node *node)
{
    if (node)
        node->kept = true;
}

/* Whom somebody points at. */
static void keep_needed(struct search *search)
{
    const struct search_options *options = search->options;
    for (size_t i = 0; i < search->nodes.count; i++) {
        struct search_node *node = search->nodes.at[i];
        if (!node->record.judged) { /* what it came from is learned about when it is judged */
            keep(node);
            keep(node->parent);
            keep(node->mate);
        }
        if (is_seed(node) || node->record.id == search->run.best || node == search->seen.last)
            keep(node);
        for (int k = 0; k < options->outside_count; k++)
            if (options->outside[k].holds &&
                options->outside[k].holds(options->outside[k].context, node))
                keep(node);
    }
    keep(search->best);
    keep(search->winner);
    keep(search->first);
    keep(search->champion);
    for (int i = 0; i < SEARCH_ISLANDS; i++)
        for (size_t k = 0; k < search->islands[i].population.count; k++)
            keep(search->islands[i].population.at[k]);
}

static int compare_fitness(const void *a, const void *b)
{
    const struct search_node *one = *(struct search_node *const *)a;
    const struct search_node *other = *(struct search_node *const *)b;
    if (one->record.fitness != other->record.fitness)
        return one->record.fitness > other->record.fitness ? -1 : 1;
    return (one->record.id > other->record.id) - (one->record.id < other->record.id);
}

/* The best, then those there is something to ask about, then the others, while there is room. */
static void keep_best(struct search *search, size_t room)
{
    enum { TOP = 16 };
    struct arena scratch = {0};
    size_t count = search->nodes.count, kept = 0;
    struct search_node **order = arena_array(&scratch, count, sizeof(struct search_node *));
    memcpy(order, search->nodes.at, count * sizeof *order);
    qsort(order, count, sizeof *order, compare_fitness);
    for (size_t i = 0; i < count && i < TOP; i++)
        keep(order[i]);
    for (size_t i = 0; i < count; i++)
        kept += order[i]->kept;
    for (int dry = 0; dry < 2; dry++)
        for (size_t i = 0; i < count && kept < room; i++)
            if (!order[i]->kept && (dry || (order[i]->plan && !bandit_is_dry(search, order[i])))) {
                keep(order[i]);
                kept++;
            }
    arena_release(&scratch);
}

/* Whoever came from somebody who leaves comes from the next one before; the store knows better. */
static void forget(struct search_node *node)
{
    while (node->parent && !node->parent->kept)
        node->parent = node->parent->parent;
    if (node->mate && !node->mate->kept)
        node->mate = NULL;
}

void search_retire(struct search *search)
{
    size_t most = search->options->live > 0 ? (size_t)search->options->live : SEARCH_LIVE, left = 0;
    if (!search->engine || search->nodes.count <= most)
        return;
    for (size_t i = 0; i < search->nodes.count; i++)
        search->nodes.at[i]->kept = false;
    keep_needed(search);
    keep_best(search, most - most / 4);
    for (int i = 0; i < SEARCH_ISLANDS; i++)
        if (search->islands[i].trying && !search->islands[i].trying->kept)
            search->islands[i].trying = NULL;
    for (size_t i = 0; i < search->nodes.count; i++)
        if (search->nodes.at[i]->kept)
            forget(search->nodes.at[i]);
    for (size_t i = 0; i < search->nodes.count; i++) {
        struct search_node *node = search->nodes.at[i];
        if (node->kept)
            search->nodes.at[left++] = node;
        else
            search_drop(search, node);
    }
    search->nodes.count = left;
}

void search_drop(struct search *search, struct search_node *node)
{
    arena_release(&node->own);
    vector_push(search->arena, &search->retired, node);
}
