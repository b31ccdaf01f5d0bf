/*
 * The run itself: seeds, then choose, propose, lower, judge, diagnose, record, until the budget is
 * spent; then the finalists once more, side by side.
 *
 * What a batch needs lives in an arena that is emptied after it; only plans and records stay.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "diagnose/diagnose.h"
#include "search/private.h"

enum {
    ASKED = 32,      /* proposals of one answer */
    ASKS = 6,        /* answers from which one proposal is taken */
    FRUITLESS = 200, /* answers without anything new before the search is exhausted */
    FINALISTS = 3,
};

/* Times as slow as the best plan so far: what the cost model says so of is not tried, though it may
 * be wrong. */
static const double HOPELESS = 3;

/* Seconds between two looks at the clock while nothing but proposals from outside is awaited. */
static const double PATIENCE = 0.2;

static const char *const ends[] = {
    [SEARCH_TIME] = "the time was up",
    [SEARCH_EVALUATIONS] = "as many candidates as asked for were judged",
    [SEARCH_STALL] = "nothing better was found for long",
    [SEARCH_TARGET] = "the speed-up asked for was reached",
    [SEARCH_FLOOR] = "it is near what the machine can do",
    [SEARCH_EXHAUSTED] = "there is nothing left to try",
    [SEARCH_STOPPED] = "it was stopped",
    [SEARCH_FAILED] = "it failed",
};

const char *search_end_name(enum search_end end)
{
    return ends[end];
}

static double real_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double search_elapsed(const struct search *search)
{
    double now = search->options->clock ? search->options->clock() : real_clock();
    return search->run.seconds + now - search->started;
}

/* ---- candidates ---- */

const char *search_word(struct search *search, const char *text)
{
    return map_intern(&search->words, text, strlen(text));
}

bool search_is_first(const struct search_node *node)
{
    return !node->parent && !node->record.parents[0];
}

bool search_may_try(const struct search *search, const char *hash)
{
    const struct search_options *options = search->options;
    return !options->allows || options->allows(options->replay, hash);
}

/* One expert about one parent; what is predicted to take longer than `slowest` is not for us.
 * False: the policy has nobody to ask about. */
static bool ask(struct search *search, const struct skeleton_program *program, double slowest,
                struct search_hopes *hopes)
{
    const struct search_options *options = search->options;
    struct search_choice choice;
    struct proposal proposals[PROPOSE_MOST];
    double scores[PROPOSE_MOST];
    if (!options->policy->choose(search, &choice))
        return false;
    bandit_note_asked(search, choice.parent, choice.expert);
    choice.parent = search_planned(search, choice.parent);
    if (!choice.parent)
        return true;
    if (choice.mate)
        choice.mate = search_planned(search, choice.mate);
    if (choice.mate == choice.parent)
        choice.mate = NULL;
    struct diagnosis none = {.class = DIAGNOSIS_NONE};
    struct propose_view view = {.program = program,
                                .parent = choice.parent->plan,
                                .mate = choice.mate ? choice.mate->plan : NULL,
                                .diagnosis =
                                    options->no_diagnosis ? &none : &choice.parent->diagnosis,
                                .random = &search->random,
                                .hash = choice.parent->hash};
    if (!options->propose) /* a replay asks once, and remembers */
        view.seconds = skeleton_predict(program, choice.parent->plan).seconds;
    int count = options->propose ? options->propose(options->replay, choice.expert, &view,
                                                    proposals, PROPOSE_MOST)
                                 : experts[choice.expert]->propose(&view, proposals, ASKED);
    bool news = false, judged = choice.parent->record.fitness > 0 && !options->policy->blind;
    search_order(search, choice.parent, proposals, count, scores);
    for (int i = 0; i < count; i++) {
        char own[65];
        const char *hash = proposals[i].hash;
        if (!hash) {
            plan_hash(proposals[i].plan, program->graph, own);
            hash = own;
        }
        bool hopeless = judged && view.seconds > slowest * proposals[i].promise;
        if (hopeless || scores[i] == -INFINITY || fingerprints_have(&search->known, hash) ||
            !search_may_try(search, hash)) {
            search->duplicates++;
            continue;
        }
        news = true;
        struct search_hope hope = {choice, proposals[i], scores[i]};
        vector_push(program->arena, hopes, hope);
    }
    unsigned char *dry = &choice.parent->dry[choice.expert];
    *dry = (unsigned char)(news ? 0 : *dry + (*dry < UCHAR_MAX));
    return true;
}

/* What the cost model says of a step, without what an expert adds to it to rank its proposals: what
 * is learned from can be found again from the plans alone. */
static double promise_of(const struct skeleton_program *program, const struct plan *from,
                         const struct plan *to)
{
    double before = skeleton_predict(program, from).seconds;
    double after = skeleton_predict(program, to).seconds;
    return before > 0 && after > 0 ? before / after : 0;
}

static struct search_node *add_found(struct search *search, struct arena *scratch,
                                     const struct search_hope *found)
{
    const struct search_choice *choice = &found->choice;
    const struct proposal *proposal = &found->proposal;
    struct text text = text_new(scratch);
    plan_print(&text, proposal->plan, search->program->graph);
    struct search_node *old, *node = search_add_plan(search, text.at, &old);
    if (!node)
        return NULL;
    node->parent = choice->parent;
    node->mate = choice->mate;
    node->expert = choice->expert;
    node->island = choice->island;
    struct skeleton_program program = *search->program;
    program.arena = scratch;
    node->promise = promise_of(&program, choice->parent->plan, proposal->plan);
    node->record.island = choice->island;
    node->record.proposer =
        search_word(search, arena_printf(scratch, "expert:%s", experts[choice->expert]->name));
    node->record.action = arena_string(&node->own, proposal->action);
    node->record.why = proposal->why;
    node->key = arena_string(&node->own, proposal->key);
    choice->parent->children++;
    if (choice->island >= 0)
        search->islands[choice->island].trying = node;
    return node;
}

/* Several are asked, and the most hopeful proposal is taken, with what goes well with it. False:
 * there is nobody to ask. */
static bool propose_node(struct search *search, struct arena *scratch, struct search_node **node)
{
    struct search_hopes hopes = {0};
    struct search_hope best = {.score = -INFINITY};
    struct skeleton_program program = *search->program;
    bool blind = search->options->policy->blind, anybody = false;
    program.arena = scratch;
    double slowest = INFINITY;
    if (search->best && search->best->plan && !search->options->propose)
        slowest = HOPELESS * skeleton_predict(&program, search->best->plan).seconds;
    belief_draw_anew(&search->beliefs);
    bandit_begin_round(search);
    for (int i = 0; i < (blind ? 1 : ASKS); i++)
        anybody |= ask(search, &program, slowest, &hopes);
    for (size_t i = 0; i < hopes.count; i++)
        if (hopes.at[i].score > best.score)
            best = hopes.at[i];
    if (hopes.count && !blind)
        search_combine(search, &program, &hopes, &best);
    *node = hopes.count ? add_found(search, scratch, &best) : NULL;
    return anybody;
}

/* ---- the end ---- */

static bool is_over(const struct search *search, enum search_end *end)
{
    const struct search_budget *budget = &search->options->budget;
    const struct candidate *best = search->best ? &search->best->record : NULL;
    if (budget->seconds > 0 && search_elapsed(search) >= budget->seconds)
        *end = SEARCH_TIME;
    else if (budget->evaluations > 0 && search->judged >= budget->evaluations)
        *end = SEARCH_EVALUATIONS;
    else if (budget->stall > 0 && search->since_best >= budget->stall)
        *end = SEARCH_STALL;
    else if (budget->fitness > 0 && best && best->fitness >= budget->fitness)
        *end = SEARCH_TARGET;
    else if (budget->of_floor > 0 && best && best->floor > 0 &&
             best->floor >= budget->of_floor * best->microseconds)
        *end = SEARCH_FLOOR;
    else
        return false;
    return true;
}

bool search_tell(struct search *search, const char *doing)
{
    struct search_progress *seen = &search->seen;
    seen->elapsed = search_elapsed(search);
    seen->judged = search->judged;
    seen->best = search->best;
    seen->per_second = seen->elapsed > 0 ? (double)search->judged / seen->elapsed : 0;
    seen->islands = search->islands;
    seen->doing = doing;
    return !search->options->progress || search->options->progress(search->options->context, seen);
}

static void add_finalist(struct search *search, struct search_nodes *finalists,
                         struct search_node *node)
{
    for (size_t i = 0; i < finalists->count; i++)
        if (finalists->at[i] == node)
            return;
    if (node && node->record.judged && node->record.fitness > 0)
        vector_push(search->arena, finalists, node);
}

/* The best that is not among them. */
static struct search_node *next_best(const struct search *search,
                                     const struct search_nodes *finalists)
{
    struct search_node *best = NULL;
    for (size_t n = 0; n < search->nodes.count; n++) {
        struct search_node *node = search->nodes.at[n];
        bool taken = false;
        for (size_t i = 0; i < finalists->count; i++)
            taken |= finalists->at[i] == node;
        if (!taken && node->record.judged && node->record.fitness > 0 &&
            (!best || node->record.fitness > best->record.fitness))
            best = node;
    }
    return best;
}

/*
 * The best few once more, longer, checked whole and side by side: luck does not repeat itself. What
 * had the place before is among them, so that a search never comes back with something slower. None
 * of them may be right after all: then it is the turn of those behind them.
 */
static bool judge_finalists(struct search *search, struct error *error)
{
    int most = search->options->finalists > 0 ? search->options->finalists : FINALISTS;
    search->winner = NULL;
    while (!search->winner) {
        struct search_nodes finalists = {0};
        for (int i = 0; i < most && i < SEARCH_BATCH - 2; i++)
            add_finalist(search, &finalists, next_best(search, &finalists));
        add_finalist(search, &finalists, search->first);
        add_finalist(search, &finalists, search->champion);
        if (finalists.count == 0 || !search_tell(search, "comparing the best once more"))
            return true;
        if (!search_judge_batch(search, finalists.at, (int)finalists.count, SEARCH_CARE_FINAL,
                                error))
            return false;
        search->best = search->winner;
    }
    return true;
}

struct search_node *search_standing(const struct search *search)
{
    struct search_node *const before[] = {search->champion, search->first};
    struct search_node *best = search->best;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (before[i] && best && best->record.fitness <= SEARCH_CLEARLY * before[i]->record.fitness)
            best = before[i];
    return best;
}

/* ---- the loop ---- */

/* What is known so far, so that a killed run can go on from it. */
static bool save_progress(struct search *search, struct error *error)
{
    struct run run = search->run;
    if (!search->engine)
        return true;
    run.seconds = search_elapsed(search);
    const struct search_node *best = search_standing(search);
    run.best = best ? best->record.id : 0;
    return search->engine->run_update(search->store, &run, error);
}

/* A batch, and what others did meanwhile. */
static bool judge_some(struct search *search, struct search_node *const *nodes, int count,
                       struct error *error)
{
    return search_judge_batch(search, nodes, count, SEARCH_CARE_USUAL, error) &&
           search_hear(search, error) && save_progress(search, error);
}

/*
 * Where a batch begins to draw is a matter of how many candidates there are, judged or made: so a
 * run that goes on from a store draws what it would have drawn.
 */
static void draw_from(struct search *search, int made)
{
    enum { DRAWS = 1 << 20 }; /* more than any batch takes */
    if (search->judged + made == search->drawn_for)
        return; /* asked once more about the same: not with the same numbers */
    search->drawn_for = search->judged + made;
    search->random.counter = (uint64_t)search->drawn_for * DRAWS;
}

static bool gather(struct search *search, struct arena *scratch, struct search_node **batch,
                   int most, int *count)
{
    int fruitless = 0;
    *count = search_take_offers(search, batch, most);
    while (*count < most && fruitless < FRUITLESS && !search->options->no_experts) {
        struct search_node *node = NULL;
        if (!propose_node(search, scratch, &node))
            break;
        if (node)
            batch[(*count)++] = node;
        else
            fruitless++;
    }
    return *count > 0;
}

struct batch {
    struct search_node *nodes[SEARCH_BATCH];
    int count;
};

/* How many the next batch may have, when so many are made already. */
static int room_for(const struct search *search, int made)
{
    int most = search->options->batch > 0 ? search->options->batch : 4;
    int64_t left = search->options->budget.evaluations - search->judged - made;
    most = most < SEARCH_BATCH ? most : SEARCH_BATCH;
    return search->options->budget.evaluations > 0 && left < most ? (int)left : most;
}

/*
 * The batch after the one at hand, from what is known before that one is judged: its kernels are
 * compiled while the others are timed. Where the judge cannot do that, knowing more is worth more.
 */
static void look_ahead(struct search *search, struct arena *scratch, const struct batch *now,
                       double batch_seconds, struct batch *next)
{
    double limit = search->options->budget.seconds;
    int room = room_for(search, now->count);
    bool late = limit > 0 && search_elapsed(search) + batch_seconds >= limit;
    if (!search->options->judge.announce || late || room < 1)
        return;
    draw_from(search, now->count);
    if (gather(search, scratch, next->nodes, room, &next->count))
        search_announce(search, next->nodes, next->count);
}

/* What was made and will not be judged, as if it had never been thought of. */
static void give_up(struct search *search, const struct batch *batch)
{
    size_t kept = 0;
    for (size_t i = 0; i < search->nodes.count; i++) {
        bool dropped = false;
        for (int k = 0; k < batch->count; k++)
            dropped |= batch->nodes[k] == search->nodes.at[i];
        if (dropped)
            search_drop(search, search->nodes.at[i]);
        else
            search->nodes.at[kept++] = search->nodes.at[i];
    }
    search->nodes.count = kept;
    for (int i = 0; i < SEARCH_ISLANDS; i++)
        search->islands[i].trying = NULL;
    search_announce(search, NULL, 0);
}

static enum search_end loop(struct search *search, struct error *error)
{
    struct arena scratch = {0};
    struct batch now, next = {0};
    enum search_end end = SEARCH_EXHAUSTED;
    double batch_seconds = 0;
    while (!is_over(search, &end)) {
        now = next;
        next.count = 0;
        if (now.count == 0)
            draw_from(search, 0);
        bool found =
            now.count > 0 || gather(search, &scratch, now.nodes, room_for(search, 0), &now.count);
        if (!found && !search_wait_offers(search, PATIENCE)) {
            end = SEARCH_EXHAUSTED;
            break;
        }
        double start = search_elapsed(search);
        if (found)
            look_ahead(search, &scratch, &now, batch_seconds, &next);
        if (!search_tell(search, found ? "judging" : "waiting for proposals")) {
            give_up(search, &now);
            end = SEARCH_STOPPED;
            break;
        }
        if (found ? !judge_some(search, now.nodes, now.count, error)
                  : !search_hear(search, error)) {
            end = SEARCH_FAILED;
            break;
        }
        batch_seconds = search_elapsed(search) - start;
        search_retire(search);
        arena_reset(&scratch);
    }
    give_up(search, &next);
    arena_release(&scratch);
    return end;
}

/* Of the plans the search began with. */
static struct search_node *best_first(const struct search *search)
{
    struct search_nodes firsts = {0};
    for (size_t i = 0; i < search->nodes.count; i++)
        if (search_is_first(search->nodes.at[i]) && search->nodes.at[i]->plan)
            vector_push(search->arena, &firsts, search->nodes.at[i]);
    return search_best_of(&firsts);
}

static enum search_end begin(struct search *search, struct error *error)
{
    struct search_node *batch[SEARCH_BATCH];
    int count = 0;
    search_add_seeds(search);
    if (!search_tell(search, "judging the first plans"))
        return SEARCH_STOPPED;
    for (size_t i = 0; i < search->nodes.count; i++) {
        if (!search->nodes.at[i]->record.judged)
            batch[count++] = search->nodes.at[i];
        bool full = count == SEARCH_BATCH || i + 1 == search->nodes.count;
        if (full && count > 0 && !judge_some(search, batch, count, error))
            return SEARCH_FAILED;
        count = full ? 0 : count;
    }
    search->first = best_first(search);
    return loop(search, error);
}

/* Verdicts come before crowns: what others crowned before ours was written is heard after it, and
 * then decided once more; what they crown later stands. */
static bool crown(struct search *search, struct error *error)
{
    int64_t before;
    do {
        before = search->foreign;
        search->run.best = search->best ? search->best->record.id : 0;
        if (!search->engine->run_update(search->store, &search->run, error) ||
            !search_hear(search, error))
            return false;
    } while (search->foreign != before);
    return true;
}

static bool finish(struct search *search, enum search_end end, struct error *error)
{
    struct run *run = &search->run;
    struct know *know = search->options->know;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    run->seconds = search_elapsed(search);
    run->ended = (double)now.tv_sec;
    run->state = end == SEARCH_FAILED ? RUN_FAILED : end == SEARCH_STOPPED ? RUN_STOPPED : RUN_DONE;
    if (!search->engine) {
        run->best = search->best ? search->best->record.id : 0;
        return true;
    }
    if (!crown(search, error))
        return false;
    return !know || !search->best || !search->best->record.plan ||
           know_winner(know, search->best->record.plan, search->best->record.fitness, error);
}

bool search_open(struct search *search, struct error *error)
{
    search->started = search->options->clock ? search->options->clock() : real_clock();
    search->random = random_new(search->options->seed, 0x5ea3c4);
    search->known = fingerprints_new(search->arena);
    search->binaries = fingerprints_new(search->arena);
    search->words = map_new(search->arena);
    search->graphs = map_new(search->arena);
    search->beliefs = belief_new(search->arena);
    if (search->options->know && !search->options->no_experience)
        know_teach(search->options->know, &search->beliefs, !search->options->no_diagnosis);
    if (search->run.id == 0)
        search->run.state = RUN_RUNNING;
    return !search->engine ||
           (search->run.id == 0 ? search->engine->run_add(search->store, &search->run, error)
                                : search_load(search, error));
}

static bool hold(struct search *search, struct error *error)
{
    return !search->engine || search->engine->run_hold(search->store, search->run.id, error);
}

enum search_end search_run(struct search *search, struct error *error)
{
    struct error late = {0};
    if (!search_open(search, error) || !hold(search, error))
        return SEARCH_FAILED;
    search->run.state = RUN_RUNNING;
    if (search->engine && !search->engine->run_update(search->store, &search->run, error))
        return SEARCH_FAILED;
    enum search_end end = begin(search, error);
    if (end != SEARCH_FAILED && end != SEARCH_STOPPED && !judge_finalists(search, error))
        end = SEARCH_FAILED;
    if (end == SEARCH_STOPPED)
        search->best = search_standing(search);
    if (!finish(search, end, end == SEARCH_FAILED ? &late : error))
        end = SEARCH_FAILED;
    return end;
}
