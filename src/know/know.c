/*
 * Retrieval from experience.
 */
#include "know/know.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an entry counts by how near it was learned. */
static const double SAME_STRUCTURE = 1, SAME_CLASS = 0.5, OTHER_CLASS = 0.1, OTHER_MACHINE = 0.3;

/* Of one action: more of the same adds nothing. */
static const double TRIES_COUNTED = 4;

/* ---- what makes tasks alike ---- */

static void hash_stage(struct sha256 *sha, const struct ir_part *part, const struct ir_stage *stage)
{
    int facts[8] = {(int)stage->kind,
                    stage->index_count,
                    stage->left_count,
                    stage->monoid ? (int)stage->monoid->kind : -1,
                    stage->reverse,
                    stage->exclusive,
                    stage->predicate != IR_NONE,
                    stage->body_count};
    sha256_add(sha, facts, sizeof facts);
    for (int i = 0; i < stage->nodes.count; i++) {
        const struct ir_node *node = &stage->nodes.at[i];
        int shape[5] = {(int)node->op, node->a, node->b, node->c, 0};
        if (node->op == IR_READ)
            shape[4] = part->tensors[node->read.tensor].rank;
        sha256_add(sha, shape, sizeof shape);
    }
    for (int i = 0; i < stage->body_count; i++)
        hash_stage(sha, part, &stage->body[i]);
}

const char *know_structure(struct arena *arena, const char *class, const struct ir_part *flat)
{
    struct sha256 sha;
    unsigned char digest[32];
    sha256_start(&sha);
    for (int i = 0; i < flat->stage_count; i++)
        hash_stage(&sha, flat, &flat->stages[i]);
    sha256_finish(&sha, digest);
    char hex[13];
    for (int i = 0; i < 6; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    return arena_printf(arena, "%s:%s", class, hex);
}

const char *know_shape(struct arena *arena, const struct ir_binding *binding)
{
    double elements = 1;
    const struct ir_part *part = binding->part;
    for (int i = 0; i < part->input_count; i++)
        elements += (double)ir_tensor_shape(binding, part->inputs[i], NULL);
    for (int i = 0; i < part->output_count; i++)
        elements += (double)ir_tensor_shape(binding, part->outputs[i], NULL);
    return arena_printf(arena, "1e%d", (int)floor(log10(elements)));
}

/* ---- reading ---- */

static size_t class_length(const char *structure)
{
    return strcspn(structure, ":");
}

static double nearness(const struct know *know, const struct experience *entry)
{
    double weight = OTHER_CLASS;
    size_t length = class_length(know->structure);
    if (strcmp(entry->structure, know->structure) == 0)
        weight = SAME_STRUCTURE;
    else if (class_length(entry->structure) == length &&
             strncmp(entry->structure, know->structure, length) == 0)
        weight = SAME_CLASS;
    if (strcmp(entry->signature, know->signature) != 0)
        weight *= OTHER_MACHINE;
    return weight;
}

static struct know_action *find(struct know *know, struct arena *scratch, const char *diagnosis,
                                const char *action, const char **key)
{
    *key = arena_printf(scratch, "%s\t%s", diagnosis, action);
    return map_get(&know->actions, *key);
}

static void add_entry(struct know *know, const struct experience *entry, double weight)
{
    const char *key;
    struct know_action *known = find(know, know->arena, entry->diagnosis, entry->action, &key);
    if (!known) {
        known = arena_new(know->arena, struct know_action);
        map_set(&know->actions, key, known);
    }
    known->tries += weight * (double)entry->tries;
    known->wins += weight * (double)entry->wins;
    known->infeasible += weight * (double)entry->infeasible;
    known->log_gain += weight * entry->log_gain;
}

static void read_all(struct know *know)
{
    struct store_experiences list = {0};
    struct error error = {0};
    know->ready = true;
    know->actions = map_new(know->arena);
    struct experience_query query = {.target = know->target};
    if (!know->store ||
        !know->engine->experience_list(know->store, know->arena, &query, &list, &error))
        return;
    for (size_t i = 0; i < list.count; i++)
        if (strncmp(list.at[i].action, "plan ", 5) != 0)
            add_entry(know, &list.at[i], nearness(know, &list.at[i]));
}

bool know_never(struct know *know, enum diagnosis_class diagnosis, const char *action)
{
    if (!know->ready)
        read_all(know);
    if (know->actions.count == 0)
        return false;
    struct arena scratch = {0}; /* it is asked about every proposal of a run */
    const char *key;
    const struct know_action *known = find(know, &scratch, diagnosis_name(diagnosis), action, &key);
    arena_release(&scratch);
    return known && known->wins == 0 && known->infeasible >= 3;
}

void know_teach(struct know *know, struct belief_set *beliefs, bool classes)
{
    struct store_experiences list = {0};
    struct error error = {0};
    struct experience_query query = {.target = know->target};
    if (!know->store ||
        !know->engine->experience_list(know->store, know->arena, &query, &list, &error))
        return;
    for (size_t i = 0; i < list.count; i++) {
        const struct experience *entry = &list.at[i];
        double right = (double)(entry->tries - entry->infeasible);
        if (strncmp(entry->action, "plan ", 5) == 0 || right <= 0)
            continue;
        struct belief_step step = {.class = classes ? entry->diagnosis : "",
                                   .action = entry->action};
        belief_learn(beliefs, &step, entry->log_gain / right,
                     nearness(know, entry) * fmin(right, TRIES_COUNTED));
    }
}

struct won {
    const char *hash;
    double score;
    bool same;
};

/* How much a plan is wanted: of the same stages before others, of sizes near these before those far
 * away, of the same type before another. */
static double affinity(const struct know *know, const struct experience *entry)
{
    static const double A_POWER_OF_TEN = 0.05, TYPE = 0.1;
    int own = 0, other = 0;
    double score = nearness(know, entry) + TYPE * (strcmp(entry->dtype, know->dtype) == 0);
    if (sscanf(know->shape, "1e%d", &own) == 1 && sscanf(entry->shape, "1e%d", &other) == 1)
        score -= A_POWER_OF_TEN * abs(own - other);
    return score;
}

int know_plans(struct know *know, struct know_plan *plans, int most)
{
    enum { KEPT = 16 };
    struct won kept[KEPT];
    struct store_experiences list = {0};
    struct error error = {0};
    int count = 0, found = 0;
    size_t length = class_length(know->structure);
    const char *class = arena_copy(know->arena, know->structure, length);
    struct experience_query query = {
        .structure = class, .target = know->target, .diagnosis = "won"};
    if (!know->store ||
        !know->engine->experience_list(know->store, know->arena, &query, &list, &error))
        return 0;
    for (size_t i = 0; i < list.count; i++) {
        const struct experience *entry = &list.at[i];
        double score = affinity(know, entry);
        if (strncmp(entry->action, "plan ", 5) != 0 ||
            (count == KEPT && kept[KEPT - 1].score >= score))
            continue;
        int place = count < KEPT ? count++ : KEPT - 1;
        for (; place > 0 && kept[place - 1].score < score; place--)
            kept[place] = kept[place - 1];
        kept[place] =
            (struct won){entry->action + 5, score, strcmp(entry->structure, know->structure) == 0};
    }
    for (int i = 0; i < count && found < most; i++) {
        const char *text =
            know->engine->object_get(know->store, know->arena, kept[i].hash, NULL, &error);
        if (text)
            plans[found++] = (struct know_plan){text, kept[i].same};
    }
    return found;
}

/* ---- learning ---- */

static struct experience entry_of(const struct know *know, const char *diagnosis,
                                  const char *action)
{
    return (struct experience){.structure = know->structure,
                               .shape = know->shape,
                               .dtype = know->dtype,
                               .target = know->target,
                               .signature = know->signature,
                               .diagnosis = diagnosis,
                               .action = action,
                               .tries = 1};
}

bool know_learn(struct know *know, enum diagnosis_class diagnosis, const char *action, double gain,
                struct error *error)
{
    struct experience entry = entry_of(know, diagnosis_name(diagnosis), action);
    entry.wins = gain > 1.01;
    entry.losses = gain > 0 && gain < 0.99;
    entry.infeasible = gain <= 0;
    entry.log_gain = gain > 0 ? log(gain) : 0;
    if (know->ready)
        add_entry(know, &entry, SAME_STRUCTURE);
    return !know->store || know->frozen ||
           know->engine->experience_add(know->store, &entry, 1, error);
}

bool know_winner(struct know *know, const char *plan_hash, double fitness, struct error *error)
{
    struct experience entry =
        entry_of(know, "won", arena_printf(know->arena, "plan %s", plan_hash));
    entry.wins = 1;
    entry.log_gain = fitness > 0 ? log(fitness) : 0;
    return !know->store || know->frozen ||
           know->engine->experience_add(know->store, &entry, 1, error);
}
