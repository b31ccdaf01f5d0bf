/*
 * What a run begins with: plans that won on tasks like this one, as far as they can be plans of it,
 * and the program's own first plans.
 */
#include "search/private.h"

enum { SEEDS = 6, KNOWN_PLANS = 4 };

static void add_seed(struct search *search, const char *text, const char *proposer)
{
    struct search_node *old, *node = search_add_plan(search, text, &old);
    if (node)
        node->record.proposer = proposer;
}

struct seeds {
    struct arena scratch; /* the plans live here */
    struct skeleton_program program;
    struct plan *plans[SEEDS];
    int count;
};

static void add_own_seeds(struct search *search, struct seeds *seeds)
{
    for (int i = 0; i < seeds->count; i++) {
        struct text text = text_new(&seeds->scratch);
        plan_print(&text, seeds->plans[i], search->program->graph);
        add_seed(search, text.at, "seed");
    }
}

/* A plan that won elsewhere, as one of this program. */
static void add_known(struct search *search, struct seeds *seeds, const char *winner)
{
    const struct search_options *options = search->options;
    struct plan *plan = skeleton_adapt(&seeds->program, winner, seeds->plans, seeds->count);
    struct text text = text_new(&seeds->scratch);
    if (!plan)
        return;
    plan_print(&text, plan, search->program->graph);
    const char *here = options->nearest ? options->nearest(options->replay, plan) : text.at;
    if (here)
        add_seed(search, here, "experience");
}

/* What won at other sizes is the best guess there is, and comes first; what won for another op is a
 * guess like others, and comes last. */
static void add_known_plans(struct search *search, struct seeds *seeds,
                            const struct know_plan *known, int count, bool same)
{
    for (int i = 0; i < count; i++)
        if (known[i].same == same)
            add_known(search, seeds, known[i].text);
}

/* Seeds that may not be tried. */
static void drop_forbidden(struct search *search)
{
    size_t kept = 0;
    for (size_t i = 0; i < search->nodes.count; i++)
        if (search_may_try(search, search->nodes.at[i]->hash))
            search->nodes.at[kept++] = search->nodes.at[i];
        else
            search_drop(search, search->nodes.at[i]);
    search->nodes.count = kept;
}

void search_add_seeds(struct search *search)
{
    struct know *know = search->options->no_experience ? NULL : search->options->know;
    struct know_plan known[KNOWN_PLANS];
    struct seeds seeds = {.program = *search->program};
    seeds.program.arena = &seeds.scratch;
    seeds.count = skeleton_seeds(&seeds.program, seeds.plans, SEEDS);
    int count = know ? know_plans(know, known, KNOWN_PLANS) : 0;
    add_known_plans(search, &seeds, known, count, true);
    if (search->options->start)
        add_seed(search, search->options->start, "seed");
    else
        add_own_seeds(search, &seeds);
    add_known_plans(search, &seeds, known, count, false);
    arena_release(&seeds.scratch);
    drop_forbidden(search);
}
