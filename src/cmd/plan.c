/*
 * smelt plan: the plans to begin with, and what they are predicted to cost.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/planned.h"
#include "ir/rewrite.h"

static const struct option options[] = {
    {.name = "only",
     .argument = "N",
     .help = "only the N-th of the plans, counted from 1 in order of predicted cost"},
    {.name = "random",
     .argument = "N",
     .help = "instead of the seeds, N plans (at most 99) reached from the best by random legal "
             "changes, one after the other"},
    {.name = "seed", .argument = "S", .help = "what --random draws from (0 when not given)"},
    {.name = "explain",
     .help = "say beside each decision what it decides and which values it may have"},
    OPTIONS_PINS,
    OPTION_PLANNED_THREADS,
    {.name = "op", .argument = "NAME", .help = "the op of FILE"},
    {.name = "task", .argument = "NAME", .help = "the task of FILE"},
    {.name = "case",
     .letter = 'c',
     .argument = "I",
     .help = "the case whose types, ranks and sizes are meant, counted from 0; without it the "
             "types of the first and the sizes of the first timed one"},
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt plan softmax.op", "the plans for the first case of a file's task"},
    {"smelt plan softmax.op --only 1 >my.plan", "one of them, to edit; then smelt gen --plan"},
    {"smelt plan softmax.op --only 1 --explain", "with what each decision means"},
    {"smelt plan softmax 'B=[4096]' D=1024", "for an op of the library at given sizes"},
    {"smelt plan softmax.op --pin '*.threads=1'", "with a decision kept"},
    {0},
};

enum { PLANS_SHOWN = 99 };

struct listing {
    struct planned planned;
    struct plan *plans[PLANS_SHOWN];
    int count, first, last; /* of those shown, from 0 */
};

/* Plans on a random walk from the best seed, in place of the seeds. */
static bool walk_plans(struct listing *listing)
{
    struct invocation *invocation = listing->planned.request.invocation;
    int64_t wanted = 0, seed = 0;
    if (!option_count(invocation, "random", 0, PLANS_SHOWN, &wanted) ||
        !option_count(invocation, "seed", 0, INT64_MAX, &seed))
        return false;
    if (wanted == 0)
        return true;
    struct plan_space space = skeleton_space(listing->planned.ready, listing->plans[0]);
    struct random random = random_new((uint64_t)seed, 0);
    struct plan *plan = listing->plans[0];
    listing->count = 0;
    while (listing->count < wanted && (plan = plan_mutate(&space, &random, plan)))
        listing->plans[listing->count++] = plan;
    if (listing->count)
        return true;
    errors_add(&invocation->errors, ERROR_PLAN_PIN, (struct place){0},
               "the best plan has no neighbour that is legal");
    return false;
}

static bool choose_shown(struct listing *listing)
{
    struct invocation *invocation = listing->planned.request.invocation;
    int64_t number = 0;
    listing->first = 0;
    listing->last = listing->count - 1;
    if (!option_count(invocation, "only", 1, listing->count, &number))
        return false;
    if (number > 0)
        listing->first = listing->last = (int)number - 1;
    return true;
}

static void print_scaled(struct text *out, double value, const char *unit)
{
    static const char *const PREFIXES[] = {"", "k", "M", "G", "T"};
    int prefix = 0;
    for (; value >= 1000 && prefix < 4; prefix++)
        value /= 1000;
    text_printf(out, "%.3g %s%s", value, PREFIXES[prefix], unit);
}

static void print_seconds(struct text *out, double seconds)
{
    if (seconds < 1e-3)
        text_printf(out, "%.3g us", seconds * 1e6);
    else if (seconds < 1)
        text_printf(out, "%.3g ms", seconds * 1e3);
    else
        text_printf(out, "%.3g s", seconds);
}

/* ---- decisions explained: comments, so that the text stays a plan ---- */

enum { VALUES_SHOWN = 12, DECISION_COLUMNS = 26 };

static const struct plan_slot *find_slot(const struct plan_slots *slots, const char *key)
{
    for (size_t i = 0; i < slots->count; i++) {
        if (strcmp(slots->at[i].key, key) == 0)
            return &slots->at[i];
    }
    return NULL;
}

static void explain_decision(struct text *out, const struct plan_decision *decision,
                             const struct plan_slot *slot)
{
    size_t start = out->length;
    text_printf(out, "    %-8s %s", decision->key, decision->value);
    text_repeat(out, ' ', DECISION_COLUMNS - (long)(out->length - start));
    text_printf(out, " # %s", slot && slot->note ? slot->note : "");
    for (int i = 0; slot && i < slot->value_count && i < VALUES_SHOWN; i++)
        text_printf(out, "%s%s", i ? ", " : ": ", slot->values[i]);
    text_add(out, slot && slot->value_count > VALUES_SHOWN ? ", ...\n" : "\n");
}

static void explain_plan(struct listing *listing, struct text *out, const struct plan *plan)
{
    const struct skeleton_program *ready = skeleton_program_of(listing->planned.ready, plan);
    struct plan bare = *plan;
    bare.group_count = 0;
    for (int i = 0; i < plan->rewrite_count; i++) {
        const struct ir_rewrite *rewrite = ir_rewrite_find(plan->rewrites[i].name);
        text_printf(out, "# rewrite %s %s: %s\n", rewrite->name, plan->rewrites[i].stage,
                    rewrite->note);
    }
    plan_print(out, &bare, ready->graph);
    for (int g = 0; g < plan->group_count; g++) {
        const struct plan_group *group = &plan->groups[g];
        const struct skeleton *skeleton = skeleton_find(ready->target, group->skeleton);
        struct skeleton_group seen = skeleton_group_of(ready, plan, g);
        struct plan_slots slots = {0};
        struct skeleton_cost cost = skeleton->predict(&seen, group);
        skeleton_open(ready, &seen, group, &slots);
        text_printf(out, "group %s =", group->name);
        for (int i = 0; i < group->stage_count; i++)
            text_printf(out, " %s", ready->graph->names[group->stages[i]]);
        text_printf(out, "  skeleton %s  # ", group->skeleton);
        print_seconds(out, cost.seconds);
        text_printf(out, "; %s\n", skeleton->note);
        for (int d = 0; d < group->decision_count; d++)
            explain_decision(out, &group->decisions[d], find_slot(&slots, group->decisions[d].key));
    }
}

static void print_plan(struct listing *listing, struct text *out, int number)
{
    struct skeleton_program *ready = listing->planned.ready;
    const struct plan *plan = listing->plans[number];
    struct skeleton_cost cost = skeleton_predict(ready, plan);
    text_printf(out, "# plan %d of %d: predicted ", number + 1, listing->count);
    print_seconds(out, cost.seconds);
    text_add(out, ", ");
    print_scaled(out, cost.bytes, "B");
    text_add(out, " moved, ");
    print_scaled(out, cost.operations, "operations\n");
    if (option_given(listing->planned.request.invocation, "explain"))
        explain_plan(listing, out, plan);
    else
        plan_print(out, plan, ready->graph);
}

static void json_plan(struct listing *listing, struct json *json, int number)
{
    struct skeleton_program *ready = listing->planned.ready;
    const struct plan *plan = listing->plans[number];
    struct skeleton_cost cost = skeleton_predict(ready, plan);
    struct text text = text_new(ready->arena);
    char hash[65];
    plan_print(&text, plan, ready->graph);
    plan_hash(plan, ready->graph, hash);
    json_object(json, NULL);
    json_string(json, "hash", hash);
    json_double(json, "seconds", cost.seconds);
    json_double(json, "bytes", cost.bytes);
    json_double(json, "operations", cost.operations);
    json_int(json, "scratch", cost.scratch);
    json_string(json, "plan", text.at);
    json_end(json);
}

static enum exit_code run(struct invocation *invocation)
{
    struct listing listing = {.planned.request.invocation = invocation};
    struct planned *planned = &listing.planned;
    if (!planned_find(planned) || !planned_prepare(planned) || !planned_pins_concern(planned))
        return EXIT_NO;
    listing.count = skeleton_seeds(planned->ready, listing.plans, PLANNED_SEEDS);
    if (listing.count == 0) {
        errors_add(&invocation->errors, ERROR_PLAN_PIN, (struct place){0},
                   "the pins leave no plan that can be");
        return EXIT_NO;
    }
    if (!walk_plans(&listing) || !choose_shown(&listing))
        return EXIT_USAGE;
    struct text out = text_new(invocation->arena);
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        json_string(&json, "op", ir_root(planned->program)->name);
        json_string(&json, "target",
                    planned->target.device ? planned->target.device->language : "cpu");
        json_string(&json, "machine", planned->target.name);
        json_array(&json, "plans");
        for (int i = listing.first; i <= listing.last; i++)
            json_plan(&listing, &json, i);
        json_end(&json);
        return output_json_end(invocation, &json);
    }
    for (int i = listing.first; i <= listing.last; i++) {
        text_add(&out, i > listing.first ? "\n" : "");
        print_plan(&listing, &out, i);
    }
    output_text(&out);
    return EXIT_YES;
}

const struct command command_plan = {
    .name = "plan",
    .summary = "print the plans to begin with, and what they are predicted to cost",
    .operands = "FILE|OP [NAME=VALUE...]",
    .operand_kind = OPERAND_FILE_OR_OP,
    .least = 1,
    .most = -1,
    .description =
        "Prints plans for an op, best first by a prediction that measures nothing: which stages "
        "form a group, which skeleton each group has, and what is decided in it. The text can be "
        "edited and given to `smelt gen --plan`, which says why when a plan cannot be. See "
        "docs/plans.md.\n\n"
        "Sizes matter: for a file with a task they are those of its first timed case, or of the "
        "one --case names; for an op those of the settings.",
    .options = options,
    .examples = examples,
    .run = run,
};
