/*
 * A batch: kernels written, recorded, judged side by side, diagnosed, and learned from.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnose.h"
#include "search/private.h"

/* ---- order ---- */

/* How much of the doubt about a guess is taken for hope; what a parent that is wrong counts. */
static const double CURIOSITY = 0.4, LOST = -3;
static const double FAULTY = -1.1;

static struct belief_step step_from(const struct search *search, const struct search_node *parent,
                                    const char *key, double promise)
{
    bool diagnosed = !search->options->no_diagnosis;
    return (struct belief_step){.class = diagnosed ? diagnosis_name(parent->diagnosis.class) : "",
                                .action = key,
                                .promise = promise,
                                .advice = diagnosed ? diagnose_advice(&parent->diagnosis, key) : 0};
}

void search_order(struct search *search, const struct search_node *parent,
                  struct proposal *proposals, int count, double *scores)
{
    struct know *know = search->options->no_experience ? NULL : search->options->know;
    enum diagnosis_class class = parent->diagnosis.class;
    double before = parent->record.fitness > 0 ? log(parent->record.fitness) : LOST;
    for (int i = 0; i < count; i++) {
        const struct proposal *proposal = &proposals[i];
        if (search->options->policy->blind) {
            scores[i] = random_uniform(&search->random);
            continue;
        }
        struct belief_step step = step_from(search, parent, proposal->key, proposal->promise);
        /* Drawn, not the mean: what nobody knows much about gets its turn. */
        scores[i] = before + belief_draw(&search->beliefs, &step, CURIOSITY, &search->random);
        if (know && know_never(know, class, proposal->key))
            scores[i] = -INFINITY;
    }
}

/* ---- before ---- */

static const char *put_object(struct search *search, struct search_node *node, const char *text,
                              struct error *error)
{
    char hash[65];
    if (!search->engine->object_put(search->store, text, strlen(text), hash, error))
        return NULL;
    return arena_string(&node->own, hash);
}

static bool record_proposal(struct search *search, struct search_node *node, const char *source,
                            struct arena *scratch, struct error *error)
{
    struct candidate *record = &node->record;
    struct text text = text_new(scratch);
    if (record->id) /* judged again; its parents may have retired */
        return true;
    record->proposed = search->seen.elapsed;
    record->run = search->run.id;
    record->parents[0] = node->parent ? node->parent->record.id : 0;
    record->parents[1] = node->mate ? node->mate->record.id : 0;
    if (!search->engine)
        return true;
    if (node->plan)
        plan_print(&text, node->plan, search->program->graph);
    record->plan = node->plan ? put_object(search, node, text.at, error) : NULL;
    record->kernel = record->plan || !node->plan ? put_object(search, node, source, error) : NULL;
    return record->kernel && search->engine->candidate_add(search->store, record, error);
}

/* ---- after ---- */

static void diagnose_node(struct search *search, struct search_node *node,
                          const struct search_judgement *judgement, struct arena *scratch)
{
    struct skeleton_cost cost = {0};
    struct skeleton_program program = *search->program;
    program.arena = scratch;
    if (node->plan)
        cost = skeleton_predict(&program, node->plan);
    const struct ir_binding *binding = search->program->binding;
    const struct skeleton_device *device = search->program->target->device;
    struct diagnose_subject subject = {
        .verdict = judgement->verdict,
        .which = -1,
        .read_bytes = ir_least_bytes(binding),
        .operations = ir_operations(binding),
        .number = MACHINE_F32,
        .planned_bytes = cost.bytes,
        .planned_operations = cost.operations,
        .threads = device ? 1 : search->threads, /* a device was measured as a whole */
        .vector_bits = device ? 0 : 8 * search->program->target->full_bytes,
        .device = device ? device->language : NULL,
        .machine = &search->machine,
        .rates = &search->rates,
    };
    if (judgement->diagnosis)
        node->diagnosis = *judgement->diagnosis;
    else
        diagnose(scratch, &subject, &node->diagnosis);
    node->diagnosis.pattern = search_word(search, node->diagnosis.pattern);
    node->diagnosis.text = arena_string(&node->own, node->diagnosis.text);
}

/* Of the first verdict; later ones are about the same kernel. */
static void note_time(const struct search *search, struct candidate *record)
{
    if (record->settled <= 0)
        record->settled = search_elapsed(search);
}

static bool record_verdict(struct search *search, struct search_node *node,
                           const struct search_judgement *judgement, struct arena *scratch,
                           struct error *error)
{
    struct candidate *record = &node->record;
    struct text text = text_new(scratch);
    struct json json = json_new(&text, 0);
    record->judged = true;
    record->outcome = judgement->verdict->outcome;
    record->fitness = record->outcome == OUTCOME_OK ? judgement->fitness : 0;
    record->microseconds = judgement->microseconds;
    node->speedup = judgement->speedup;
    record->floor = judgement->floor;
    if (judgement->binary && !record->binary) {
        record->binary = arena_string(&node->own, judgement->binary);
        node->twin = !fingerprints_add(&search->binaries, record->binary);
    }
    record->diagnosis = node->diagnosis.class;
    record->note = node->diagnosis.text;
    note_time(search, record);
    if (!search->engine)
        return true;
    json_object(&json, NULL);
    json_string(&json, "schema", "smelt.candidate/1");
    json_array(&json, "verdicts");
    verdict_write(&json, "kernel.c", judgement->verdict);
    json_end(&json);
    diagnosis_write(&json, "diagnosis", &node->diagnosis);
    json_end(&json);
    record->verdict = put_object(search, node, text.at, error);
    return record->verdict && search->engine->candidate_judge(search->store, record, error);
}

/* What came of another plan that gave the same binary. */
static bool record_twin(struct search *search, struct search_node *node,
                        const struct search_judgement *judgement, const struct search_node *twin,
                        struct error *error)
{
    struct candidate *record = &node->record;
    const struct candidate *judged = &twin->record;
    node->speedup = twin->speedup;
    node->diagnosis = twin->diagnosis;
    node->diagnosis.text = arena_printf(&node->own, "the same binary as candidate %lld: %s",
                                        (long long)judged->id, twin->diagnosis.text);
    record->judged = true;
    record->outcome = judged->outcome;
    record->fitness = judged->fitness;
    record->microseconds = judged->microseconds;
    record->floor = judged->floor;
    record->verdict = judged->verdict ? arena_string(&node->own, judged->verdict) : NULL;
    record->binary = arena_string(&node->own, judgement->binary);
    node->twin = true;
    record->diagnosis = node->diagnosis.class;
    record->note = node->diagnosis.text;
    note_time(search, record);
    search->twins++;
    return !search->engine || search->engine->candidate_judge(search->store, record, error);
}

/* A leap, or a time below what the machine is known to take, is more often luck than skill. */
static bool is_suspicious(const struct search *search, const struct search_node *node)
{
    enum { SETTLED = 12 };
    static const double leap = 1.3;
    const struct candidate *record = &node->record;
    double before = search->best ? search->best->record.fitness : 0;
    if (record->fitness <= before)
        return false;
    bool below = record->floor > 0 && record->microseconds < record->floor;
    return below || (search->judged >= SETTLED && record->fitness > leap * before);
}

void search_believe(struct search *search, const struct search_node *node)
{
    const struct search_node *parent = node->parent;
    if (!node->key || !parent || parent->record.fitness <= 0)
        return;
    /* What is not right is as bad as what is three times slower. */
    double gain =
        node->record.fitness > 0 ? log(node->record.fitness / parent->record.fitness) : FAULTY;
    struct belief_step step = step_from(search, parent, node->key, node->promise);
    belief_learn(&search->beliefs, &step, fmax(FAULTY, gain), 1);
}

static bool learn(struct search *search, struct search_node *node, struct error *error)
{
    struct know *know = search->options->know;
    bool better = node->record.fitness > (search->best ? search->best->record.fitness : 0);
    search->judged++;
    search->since_best = better ? 0 : search->since_best + 1;
    search->seen.outcomes[node->record.outcome]++;
    search->seen.right += node->record.outcome == OUTCOME_OK;
    search->seen.last = node;
    if (better)
        search->best = node;
    bandit_learn(search, node);
    search_believe(search, node);
    search->options->policy->learn(search, node);
    for (int i = 0; i < search->options->outside_count; i++)
        if (search->options->outside[i].learn)
            search->options->outside[i].learn(search->options->outside[i].context, search, node);
    if (!know || !node->parent || !node->key || node->parent->record.fitness <= 0)
        return true;
    double gain = node->record.fitness / node->parent->record.fitness;
    return know_learn(know, node->parent->diagnosis.class, node->key, gain, error);
}

/* How many times as fast as `other` it is: side by side where that was measured. */
static double advantage(struct search_node *const *nodes, const struct search_judgement *judgements,
                        int own, int other)
{
    const double *against = judgements[own].against;
    double before = nodes[other]->record.fitness;
    if (against && against[other] > 0)
        return against[other];
    return before > 0 ? nodes[own]->record.fitness / before : INFINITY;
}

/* Who of those judged side by side is the fastest against the others; -1: none is right. */
static int fastest_of(struct search_node *const *nodes, const struct search_judgement *judgements,
                      int count)
{
    int winner = -1;
    double best = -INFINITY;
    for (int i = 0; i < count; i++) {
        double score = 0;
        if (nodes[i]->record.fitness <= 0)
            continue;
        for (int k = 0; k < count; k++)
            if (k != i && nodes[k]->record.fitness > 0)
                score += log(advantage(nodes, judgements, i, k));
        if (score > best) {
            best = score;
            winner = i;
        }
    }
    return winner;
}

/* The fastest, unless it is hardly faster than what had the place before: of two that are as good
 * as equal, the one that was known longer is the better guess. */
static struct search_node *winner_of(const struct search *search, struct search_node *const *nodes,
                                     const struct search_judgement *judgements, int count)
{
    const struct search_node *const before[] = {search->champion, search->first};
    int winner = fastest_of(nodes, judgements, count);
    for (size_t b = 0; b < sizeof before / sizeof *before && winner >= 0; b++)
        for (int i = 0; i < count; i++)
            if (nodes[i] == before[b] && i != winner && nodes[i]->record.fitness > 0 &&
                advantage(nodes, judgements, winner, i) <= SEARCH_CLEARLY)
                winner = i;
    return winner >= 0 ? nodes[winner] : NULL;
}

struct judged { /* a batch on its way */
    struct arena scratch;
    struct search_judgement *judgements;
    const struct source **sources;
    struct plan **plans;
};

static const struct source *write_kernel(struct search *search, const struct search_node *node,
                                         struct arena *scratch)
{
    struct skeleton_program program = *search->program;
    struct text text = text_new(scratch);
    struct source *source = arena_new(scratch, struct source);
    program.arena = scratch;
    if (node->source)
        text_add(&text, node->source);
    else if (!search->options->no_kernels)
        propose_source(&program, node->plan, search->op, &text);
    *source = (struct source){"kernel.c", text.at, text.length};
    return source;
}

static bool write_kernels(struct search *search, struct search_node *const *nodes, int count,
                          struct judged *judged, struct error *error)
{
    for (int i = 0; i < count; i++) {
        judged->sources[i] = write_kernel(search, nodes[i], &judged->scratch);
        judged->plans[i] = nodes[i]->plan;
        if (!record_proposal(search, nodes[i], judged->sources[i]->text, &judged->scratch, error))
            return false;
    }
    return true;
}

/* Written again when they are judged: that takes a millisecond, and is the same. */
void search_announce(struct search *search, struct search_node *const *nodes, int count)
{
    const struct search_judge *judge = &search->options->judge;
    const struct source *sources[SEARCH_BATCH];
    struct arena scratch = {0};
    if (!judge->announce)
        return;
    for (int i = 0; i < count; i++)
        sources[i] = write_kernel(search, nodes[i], &scratch);
    judge->announce(judge->context, sources, count);
    arena_release(&scratch);
}

static bool judge_again(struct search *search, struct search_node *node, struct error *error)
{
    double before = node->record.fitness;
    search->repeats++;
    if (!search_judge_batch(search, &node, 1, SEARCH_CARE_AGAIN, error))
        return false;
    search->best = search_best_of(&search->nodes);
    char text[96];
    snprintf(text, sizeof text, "candidate %lld: %.4g times, then %.4g", (long long)node->record.id,
             before, node->record.fitness);
    return !search->engine ||
           search->engine->event_add(search->store, search->run.id, "measured again", text, error);
}

bool search_judge_batch(struct search *search, struct search_node *const *nodes, int count,
                        enum search_care care, struct error *error)
{
    bool again = care != SEARCH_CARE_USUAL;
    struct judged judged = {0};
    struct search_node *doubtful[SEARCH_BATCH];
    int doubts = 0;
    judged.judgements = arena_array(&judged.scratch, (size_t)count, sizeof *judged.judgements);
    judged.sources = arena_array(&judged.scratch, (size_t)count, sizeof *judged.sources);
    judged.plans = arena_array(&judged.scratch, (size_t)count, sizeof *judged.plans);
    const struct search_judge *judge = &search->options->judge;
    bool fine = write_kernels(search, nodes, count, &judged, error) &&
                judge->judge(judge->context, &judged.scratch, judged.sources, judged.plans, count,
                             care, judged.judgements, error);
    for (int i = 0; i < count && fine; i++) {
        const struct search_judgement *judgement = &judged.judgements[i];
        const struct search_node *twin =
            judgement->same_as ? nodes[judgement->same_as - 1] : judgement->twin;
        if (twin) {
            fine = record_twin(search, nodes[i], judgement, twin, error);
        } else {
            diagnose_node(search, nodes[i], judgement, &judged.scratch);
            fine = record_verdict(search, nodes[i], judgement, &judged.scratch, error);
            search->timed += !again && nodes[i]->record.fitness > 0 && !judgement->cut;
            if (fine && !again && doubts < SEARCH_BATCH && is_suspicious(search, nodes[i]))
                doubtful[doubts++] = nodes[i];
        }
        fine = fine && (again || learn(search, nodes[i], error));
    }
    search->winner = fine && again ? winner_of(search, nodes, judged.judgements, count) : NULL;
    arena_release(&judged.scratch);
    for (int i = 0; i < doubts && fine; i++)
        fine = judge_again(search, doubtful[i], error);
    return fine;
}
