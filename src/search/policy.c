/*
 * Policies: which candidate to go on from.
 *
 * islands  several populations, each with a role, a view of its own on what is good to change; the
 *          best of all comes over when one stands still.
 * mcts     a tree search: from the seeds down to where reward and curiosity lead, a node getting
 *          more children the more often it was visited.
 * greedy   always from the best.
 * random   from anywhere, by anyone: what the others must beat.
 */
#include <math.h>
#include <string.h>

#include "search/search.h"

static const char *const roles[SEARCH_ISLANDS] = {"fusion", "memory", "instruction", "latency"};

const char *search_island_name(int island)
{
    return island >= 0 && island < SEARCH_ISLANDS ? roles[island] : NULL;
}

int search_island_find(const char *name, size_t length)
{
    for (int i = 0; i < SEARCH_ISLANDS; i++)
        if (strlen(roles[i]) == length && memcmp(roles[i], name, length) == 0)
            return i;
    return -1;
}

static int expert_number(const char *name)
{
    for (int i = 0; experts[i]; i++)
        if (strcmp(experts[i]->name, name) == 0)
            return i;
    return 0;
}

struct search_node *search_best_of(const struct search_nodes *nodes)
{
    struct search_node *best = NULL;
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->at[i]->record.judged && nodes->at[i]->record.fitness > 0 &&
            (!best || nodes->at[i]->record.fitness > best->record.fitness))
            best = nodes->at[i];
    return best;
}

/* Somebody to start from when nobody is right yet: the last one that was judged. */
static struct search_node *any_node(struct search *search)
{
    for (size_t i = search->nodes.count; i > 0; i--)
        if (search->nodes.at[i - 1]->record.judged)
            return search->nodes.at[i - 1];
    return NULL;
}

/* The best there is still something to ask about; NULL: none. */
static struct search_node *best_open(const struct search *search)
{
    struct search_node *best = NULL;
    for (size_t i = 0; i < search->nodes.count; i++) {
        struct search_node *node = search->nodes.at[i];
        if (node->record.judged && (!best || node->record.fitness > best->record.fitness) &&
            node->plan && !bandit_is_dry(search, node))
            best = node;
    }
    return best;
}

/* ---- islands ---- */

/* Plans that differ only in numbers are of one kind; so are kernels without a plan. */
static bool same_kind(const struct search_node *a, const struct search_node *b)
{
    if (!a->plan || !b->plan)
        return a->plan == b->plan;
    if (a->plan->group_count != b->plan->group_count)
        return false;
    for (int g = 0; g < a->plan->group_count; g++)
        if (strcmp(a->plan->groups[g].skeleton, b->plan->groups[g].skeleton) != 0 ||
            a->plan->groups[g].stage_count != b->plan->groups[g].stage_count)
            return false;
    return true;
}

/*
 * Best first. A population is full with SEARCH_POPULATION; then the worst of the most frequent kind
 * goes, so that one structure does not crowd out the others.
 */
static void settle(struct search *search, struct search_island *island, struct search_node *node)
{
    struct search_nodes *population = &island->population;
    size_t place = population->count;
    vector_push(search->arena, population, node);
    for (; place > 0 && population->at[place - 1]->record.fitness < node->record.fitness; place--)
        population->at[place] = population->at[place - 1];
    population->at[place] = node;
    if (population->count <= SEARCH_POPULATION)
        return;
    size_t leaves = population->count - 1, most = 0;
    for (size_t i = population->count; i-- > 1;) {
        size_t alike = 0;
        for (size_t k = 0; k < population->count; k++)
            alike += same_kind(population->at[i], population->at[k]);
        if (alike > most) {
            most = alike;
            leaves = i;
        }
    }
    memmove(&population->at[leaves], &population->at[leaves + 1],
            (population->count - leaves - 1) * sizeof *population->at);
    population->count--;
}

static const double OWN_ROLE = 0.4; /* how often an island asks the expert it is named after */

enum { STALE = 12 }; /* judged without a better one before somebody comes over */

static void islands_learn(struct search *search, struct search_node *node)
{
    bool seed = node->island < 0;
    for (int i = 0; i < SEARCH_ISLANDS; i++) {
        struct search_island *island = &search->islands[i];
        if (!seed && node->island != i)
            continue;
        double best =
            island->population.count ? island->population.at[0]->record.fitness : -INFINITY;
        island->role = expert_number(roles[i]);
        island->stale = node->record.fitness > best ? 0 : island->stale + 1;
        if (node->record.fitness > 0)
            settle(search, island, node);
        if (island->stale >= STALE && search->best && search->best->record.fitness > best) {
            settle(search, island, search->best);
            island->stale = 0;
        }
    }
}

/* The better of two drawn at random. */
static struct search_node *tournament(struct search *search, const struct search_nodes *population)
{
    size_t a = (size_t)random_below(&search->random, population->count);
    size_t b = (size_t)random_below(&search->random, population->count);
    return population->at[a < b ? a : b];
}

static bool islands_choose(struct search *search, struct search_choice *choice)
{
    enum { DRAWS = 4 };
    int number = (int)(search->judged % SEARCH_ISLANDS);
    number =
        (int)((uint64_t)number + random_below(&search->random, SEARCH_ISLANDS)) % SEARCH_ISLANDS;
    for (int i = 0; i < SEARCH_ISLANDS && search->options->island_no_experts[number]; i++)
        number = (number + 1) % SEARCH_ISLANDS;
    const struct search_island *island = &search->islands[number];
    const struct search_nodes *population = &island->population;
    *choice = (struct search_choice){.island = number};
    for (int i = 0; i < DRAWS && population->count && !choice->parent; i++) {
        struct search_node *drawn = tournament(search, population);
        if (!drawn->plan || !bandit_is_dry(search, drawn))
            choice->parent = drawn;
    }
    if (!choice->parent)
        choice->parent = best_open(search);
    if (!choice->parent)
        return false;
    if (population->count)
        choice->mate = tournament(search, population);
    bool own = random_uniform(&search->random) < OWN_ROLE && population->count &&
               !choice->parent->dry[island->role];
    choice->expert = own ? island->role : bandit_choose(search, choice->parent);
    return true;
}

/* ---- mcts ---- */

static const double CURIOSITY = 0.7, WIDENING = 1.5;

static void mcts_learn(struct search *search, struct search_node *node)
{
    double best = search->best ? search->best->record.fitness : 1;
    double reward = best > 0 ? node->record.fitness / best : 0;
    for (struct search_node *at = node; at; at = at->parent) {
        at->visits++;
        at->reward = fmax(at->reward, reward);
    }
}

static struct search_node *best_child(struct search *search, const struct search_node *parent)
{
    struct search_node *best = NULL;
    double best_score = -INFINITY, total = 1;
    for (size_t i = 0; i < search->nodes.count; i++)
        if (search->nodes.at[i]->parent == parent)
            total += search->nodes.at[i]->visits;
    for (size_t i = 0; i < search->nodes.count; i++) {
        struct search_node *node = search->nodes.at[i];
        if (node->parent != parent || !node->record.judged || node->record.fitness <= 0)
            continue;
        double score = node->reward + CURIOSITY * sqrt(log(total) / (node->visits + 1));
        if (score > best_score) {
            best_score = score;
            best = node;
        }
    }
    return best;
}

static bool mcts_choose(struct search *search, struct search_choice *choice)
{
    struct search_node *at = best_child(search, NULL);
    if (!at)
        at = any_node(search);
    while (at && at->children >= WIDENING * sqrt(at->visits + 1)) {
        struct search_node *next = best_child(search, at);
        if (!next)
            break;
        at = next;
    }
    if (!at || (at->plan && bandit_is_dry(search, at)))
        at = best_open(search);
    *choice = (struct search_choice){.parent = at, .mate = search->best, .island = -1};
    if (at)
        choice->expert = bandit_choose(search, at);
    return at != NULL;
}

/* ---- greedy, random ---- */

static void learn_nothing(struct search *search, struct search_node *node)
{
    (void)search, (void)node;
}

static bool greedy_choose(struct search *search, struct search_choice *choice)
{
    struct search_node *at = search->best ? search->best : any_node(search);
    if (!at || (at->plan && bandit_is_dry(search, at)))
        at = best_open(search);
    *choice = (struct search_choice){.parent = at, .island = -1};
    if (at)
        choice->expert = bandit_choose(search, at);
    return at != NULL;
}

static bool random_choose(struct search *search, struct search_choice *choice)
{
    enum { DRAWS = 32 };
    *choice = (struct search_choice){.expert = expert_number("tuning"), .island = -1};
    for (int i = 0; i < DRAWS && search->nodes.count; i++) {
        choice->parent = search->nodes.at[random_below(&search->random, search->nodes.count)];
        if (!choice->parent->dry[choice->expert])
            break;
    }
    return choice->parent != NULL;
}

static const struct search_policy
    policy_islands = {"islands", "populations with roles that exchange their best", false,
                      islands_choose, islands_learn},
    policy_mcts = {"mcts", "tree search by reward and curiosity", false, mcts_choose, mcts_learn},
    policy_greedy = {"greedy", "always from the best", false, greedy_choose, learn_nothing},
    policy_random = {"random", "from anywhere, by any step", true, random_choose, learn_nothing};

const struct search_policy *const search_policies[] = {&policy_islands, &policy_mcts,
                                                       &policy_greedy, &policy_random, NULL};

const struct search_policy *search_policy_find(const char *name)
{
    for (int i = 0; search_policies[i]; i++)
        if (strcmp(search_policies[i]->name, name) == 0)
            return search_policies[i];
    return NULL;
}
