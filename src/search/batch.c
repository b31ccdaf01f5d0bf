/*
 * A batch: kernels written, recorded, judged side by side, diagnosed, and learned from.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnose.h"
#include "search/private.h"

/* ---- order ---- */

static int compare_promise(const void *a, const void *b)
{
    const struct proposal *first = a, *second = b;
    return (first->promise < second->promise) - (first->promise > second->promise);
}

void search_order(struct search *search, enum diagnosis_class diagnosis, struct proposal *proposals,
                  int count)
{
    struct know *know = search->options->no_experience ? NULL : search->options->know;
    for (int i = 0; know && i < count; i++)
        proposals[i].promise *= know_factor(know, diagnosis, proposals[i].key);
    if (count > 1)
        qsort(proposals, (size_t)count, sizeof *proposals, compare_promise);
}

/* ---- before ---- */

static const char *put_object(struct search *search, const char *text, struct error *error)
{
    char hash[65];
    if (!search->engine->object_put(search->store, text, strlen(text), hash, error))
        return NULL;
    return arena_string(search->arena, hash);
}

static bool record_proposal(struct search *search, struct search_node *node, const char *source,
                            struct arena *scratch, struct error *error)
{
    struct candidate *record = &node->record;
    struct text text = text_new(scratch);
    record->proposed = search->seen.elapsed;
    record->run = search->run.id;
    record->parents[0] = node->parent ? node->parent->record.id : 0;
    record->parents[1] = node->mate ? node->mate->record.id : 0;
    if (!search->engine || record->id)
        return true;
    plan_print(&text, node->plan, search->program->graph);
    record->plan = put_object(search, text.at, error);
    record->kernel = record->plan ? put_object(search, source, error) : NULL;
    return record->kernel && search->engine->candidate_add(search->store, record, error);
}

/* ---- after ---- */

static void diagnose_node(struct search *search, struct search_node *node,
                          const struct search_judgement *judgement, struct arena *scratch)
{
    struct skeleton_cost cost = skeleton_predict(search->program, node->plan);
    const struct ir_binding *binding = search->program->binding;
    struct diagnose_subject subject = {
        .verdict = judgement->verdict,
        .which = -1,
        .read_bytes = ir_bytes(binding),
        .operations = ir_operations(binding),
        .number = MACHINE_F32,
        .planned_bytes = cost.bytes,
        .planned_operations = cost.operations,
        .threads = search->threads,
        .machine = &search->machine,
        .rates = &search->rates,
        .binary = judgement->facts,
    };
    (void)scratch;
    diagnose(search->arena, &subject, &node->diagnosis);
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
    record->binary = judgement->binary ? arena_string(search->arena, judgement->binary) : NULL;
    record->diagnosis = node->diagnosis.class;
    record->note = node->diagnosis.text;
    if (!search->engine)
        return true;
    json_object(&json, NULL);
    json_string(&json, "schema", "smelt.candidate/1");
    json_array(&json, "verdicts");
    verdict_write(&json, "kernel.c", judgement->verdict);
    json_end(&json);
    diagnosis_write(&json, "diagnosis", &node->diagnosis);
    json_end(&json);
    record->verdict = put_object(search, text.at, error);
    return record->verdict && search->engine->candidate_judge(search->store, record, error);
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
    search->options->policy->learn(search, node);
    if (!know || !node->parent || !node->key || node->parent->record.fitness <= 0)
        return true;
    double gain = node->record.fitness / node->parent->record.fitness;
    return know_learn(know, node->parent->diagnosis.class, node->key, gain, error);
}

bool search_judge_batch(struct search *search, struct search_node *const *nodes, int count,
                        bool again, struct error *error)
{
    struct arena scratch = {0};
    struct search_judgement *judgements = arena_array(&scratch, (size_t)count, sizeof *judgements);
    const struct source **sources = arena_array(&scratch, (size_t)count, sizeof *sources);
    struct plan **plans = arena_array(&scratch, (size_t)count, sizeof *plans);
    struct skeleton_program program = *search->program;
    program.arena = &scratch;
    bool fine = true;
    for (int i = 0; i < count && fine; i++) {
        struct text text = text_new(&scratch);
        struct source *source = arena_new(&scratch, struct source);
        propose_source(&program, nodes[i]->plan, search->op, &text);
        *source = (struct source){"kernel.c", text.at, text.length};
        sources[i] = source;
        plans[i] = nodes[i]->plan;
        fine = record_proposal(search, nodes[i], text.at, &scratch, error);
    }
    const struct search_judge *judge = &search->options->judge;
    fine = fine &&
           judge->judge(judge->context, &scratch, sources, plans, count, again, judgements, error);
    for (int i = 0; i < count && fine; i++) {
        diagnose_node(search, nodes[i], &judgements[i], &scratch);
        fine = record_verdict(search, nodes[i], &judgements[i], &scratch, error) &&
               (again || learn(search, nodes[i], error));
    }
    arena_release(&scratch);
    return fine;
}
