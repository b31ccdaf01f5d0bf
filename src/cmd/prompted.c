/*
 * Gathering what a prompt may say: task, machine, parent, relatives, experience, pages.
 */
#include "cmd/prompted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"

static struct arena *arena_of(const struct prompted *prompted)
{
    return prompted->planned.request.invocation->arena;
}

/* ---- options ---- */

static bool usage(struct invocation *invocation, const char *name, const char *text,
                  const char *hint)
{
    error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                          "--%s cannot be '%s'", name, text),
               "%s", hint);
    return false;
}

bool prompted_window(struct invocation *invocation, size_t *window)
{
    const char *text = option_value(invocation, "window");
    char *end = NULL;
    *window = PROMPT_WINDOW;
    if (!text)
        return true;
    double amount = strtod(text, &end);
    if (*end == 'k' || *end == 'K')
        amount *= 1000, end++;
    else if (*end == 'M' || *end == 'm')
        amount *= 1e6, end++;
    *window = amount > 0 && amount < 1e9 ? (size_t)amount : 0;
    if (end != text && *end == 0 && *window >= LLM_WINDOW_LEAST && *window <= LLM_WINDOW_MOST)
        return true;
    return usage(invocation, "window", text, "a number from 8000 to 2000000, such as 32k or 1M");
}

bool prompted_role(struct invocation *invocation, const struct proposer **role)
{
    const char *name = option_value(invocation, "role");
    struct text names = text_new(invocation->arena);
    *role = name ? expert_find(name) : NULL;
    if (!name || *role)
        return true;
    for (int i = 0; experts[i]; i++)
        text_printf(&names, "%s%s", i ? ", " : "", experts[i]->name);
    return usage(invocation, "role", name, names.at);
}

/* ---- the task ---- */

/* The comment at the head of a plain kernel without its frame: the contract in words. */
static const char *unframe(struct arena *arena, const char *source)
{
    struct text out = text_new(arena);
    const char *at = strstr(source, "/*\n");
    const char *end = at ? strstr(at, "\n */") : NULL;
    for (at = at ? at + 3 : source; end && at < end;) {
        size_t length = strcspn(at, "\n");
        const char *line = at;
        size_t left = length;
        if (left >= 2 && line[0] == ' ' && line[1] == '*')
            line += 2, left -= 2;
        if (left && line[0] == ' ')
            line++, left--;
        bool own = left > 14 && strncmp(line, "A plain kernel", 14) == 0;
        bool empty = left == 0 && out.length > 1 && out.at[out.length - 2] == '\n';
        if (!own && !empty)
            text_printf(&out, "%.*s\n", (int)left, line);
        at += length + 1;
    }
    return out.length ? out.at : source;
}

static const char *target_of(const struct prompted *prompted)
{
    const struct skeleton_device *device = prompted->planned.target.device;
    return device ? device->language : "cpu";
}

/* What is not known of a device is left out. */
static const char *describe_device(struct arena *arena, const struct skeleton_device *device)
{
    struct text out = text_new(arena);
    text_printf(&out, "A device of %s%s%s.", device->language, *device->architecture ? ", " : "",
                device->architecture);
    if (device->units > 0)
        text_printf(&out, " %d multiprocessors", device->units);
    if (device->units > 0 && device->unit_threads > 0)
        text_printf(&out, " of up to %d threads at once", device->unit_threads);
    text_printf(&out, "%s a block has up to %d threads", device->units > 0 ? ";" : "",
                device->block_threads);
    if (device->warp > 1)
        text_printf(&out, " in warps of %d", device->warp);
    if (device->shared > 0)
        text_printf(&out, " and %lld KB of shared memory", (long long)(device->shared >> 10));
    text_add(&out, ".");
    if (device->bandwidth > 0 && device->compute > 0)
        text_printf(&out, " Memory: %.3g GB/s; f32 arithmetic: %.3g GFLOP/s.",
                    device->bandwidth / 1e9, device->compute / 1e9);
    if (device->launch > 0)
        text_printf(&out, " A launch takes at least %.3g us.", device->launch * 1e6);
    text_char(&out, '\n');
    return out.at;
}

/* The lines that a kernel begins with; on a device those of the plain one, with its launches. */
static const char *manifest_of(struct prompted *prompted, const char *plain)
{
    struct text out = text_new(arena_of(prompted));
    const char *at = plain;
    if (prompted->planned.target.device) {
        while (strncmp(at, "// ", 3) == 0)
            at += strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n');
        text_add_bytes(&out, plain, (size_t)(at - plain));
        return out.at;
    }
    text_printf(&out, "// smelt kernel 1\n// op %s ", ir_root(prompted->planned.program)->name);
    kernel_print_instance(&out, ir_root(prompted->planned.program));
    text_add(&out, "\n// target cpu\n");
    return out.at;
}

static void describe_task(struct prompted *prompted)
{
    struct arena *arena = arena_of(prompted);
    const struct skeleton_device *device = prompted->planned.target.device;
    struct text plain = text_new(arena);
    (void)planned_print_plain(&prompted->planned, &plain); /* planning knew the target */
    prompted->context.task = prompted->planned.task;
    prompted->context.target = target_of(prompted);
    prompted->context.device = device ? describe_device(arena, device) : NULL;
    prompted->context.contract = unframe(arena, plain.at);
    prompted->context.manifest = manifest_of(prompted, plain.at);
    planned_machine(arena, target_of(prompted), &prompted->machine, &prompted->rates);
    prompted->context.machine = &prompted->machine;
    prompted->context.threads = prompted->threads;
    prompted->context.rates = &prompted->rates;
}

static void describe_wishes(struct prompted *prompted)
{
    struct invocation *invocation = prompted->planned.request.invocation;
    struct pins VECTOR(const char *) pins = {0};
    size_t cursor = 0;
    for (const char *pin; (pin = option_next(invocation, "pin", &cursor));)
        vector_push(invocation->arena, &pins, pin);
    prompted->context.pins = pins.at;
    prompted->context.pin_count = (int)pins.count;
    if (prompted->role) {
        prompted->context.role = prompted->role->name;
        prompted->context.role_note = prompted->role->note;
    }
}

/* ---- the parent ---- */

static void seed_parent(struct prompted *prompted)
{
    struct arena *arena = arena_of(prompted);
    struct planned *planned = &prompted->planned;
    struct text source = text_new(arena), text = text_new(arena);
    struct plan *plan;
    if (skeleton_seeds(planned->ready, &plan, 1) == 0)
        return;
    if (!prompted->structure)
        prompted->structure =
            know_structure(arena, planned_class_of(arena, plan), planned->ready->part);
    planned_print(planned, plan, NULL, &source);
    plan_print(&text, plan, planned->ready->graph);
    prompted->context.kernel = source.at;
    prompted->context.plan = text.at;
}

static bool file_parent(struct prompted *prompted, const char *path)
{
    struct invocation *invocation = prompted->invocation;
    const char *verdict = prompted->judged;
    struct error error = {0};
    const struct source *source = subject_read(invocation, path, &error);
    const struct source *said =
        source && verdict ? subject_read(invocation, verdict, &error) : NULL;
    if (!source || (verdict && !said)) {
        errors_take(&invocation->errors, &error);
        return false;
    }
    prompted->context.kernel = source->text;
    prompted->context.verdict = said ? said->text : NULL;
    return true;
}

/* What the store has about prompted->parent. */
static bool take_parent(struct prompted *prompted)
{
    struct llm_context *context = &prompted->context;
    const struct candidate *parent = &prompted->parent;
    context->parent = parent;
    context->kernel = stored_object(&prompted->stored, parent->kernel);
    if (parent->plan)
        context->plan = stored_object(&prompted->stored, parent->plan);
    if (parent->verdict)
        context->verdict = stored_object(&prompted->stored, parent->verdict);
    if (parent->judged && parent->diagnosis != DIAGNOSIS_NONE) {
        prompted->diagnosis = (struct diagnosis){.class = parent->diagnosis, .text = parent->note};
        context->diagnosis = &prompted->diagnosis;
    }
    return context->kernel != NULL;
}

static bool stored_parent(struct prompted *prompted, const char *word)
{
    return stored_candidate(&prompted->stored, word, &prompted->parent) && take_parent(prompted);
}

static bool find_parent(struct prompted *prompted)
{
    struct invocation *invocation = prompted->invocation;
    const char *word = prompted->from;
    bool is_file = word && subject_is_file(word);
    struct errors before = invocation->errors;
    bool opened = stored_open(&prompted->stored, invocation, false);
    if (word && !is_file)
        return opened && stored_parent(prompted, word);
    if (!opened) /* a store is no must here */
        invocation->errors = before;
    if (word)
        return file_parent(prompted, word);
    seed_parent(prompted);
    return true;
}

/* ---- relatives ---- */

static double fitness_of(const struct store_candidates *list, int64_t id)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].id == id)
            return list->at[i].fitness;
    return 0;
}

static void add_relative(struct prompted *prompted, const struct store_candidates *list,
                         const struct candidate *candidate, enum llm_relation relation)
{
    struct llm_context *context = &prompted->context;
    double parent = fitness_of(list, candidate->parents[0]);
    for (int i = 0; i < context->relative_count; i++)
        if (prompted->relatives[i].candidate->id == candidate->id)
            return;
    if (context->relative_count == LLM_RELATIVES)
        return;
    prompted->relatives[context->relative_count++] =
        (struct llm_relative){relation, candidate, parent > 0 ? candidate->fitness / parent : 0};
}

static void add_related(struct prompted *prompted, const struct store_candidates *list,
                        enum llm_relation relation, int most)
{
    const struct candidate *parent = &prompted->parent;
    for (size_t i = 0; i < list->count && most > 0; i++) {
        const struct candidate *one = &list->at[i];
        bool is = relation == LLM_CHILD ? one->parents[0] == parent->id
                  : relation == LLM_SIBLING
                      ? parent->parents[0] && one->parents[0] == parent->parents[0]
                      : one->judged && one->outcome == OUTCOME_OK;
        if (!is || one->id == parent->id)
            continue;
        add_relative(prompted, list, one, relation);
        most--;
    }
}

/* Children first: what was tried from here. Then how it came about, the best, the siblings. */
static void find_relatives(struct prompted *prompted)
{
    struct stored *stored = &prompted->stored;
    struct store_candidates list = {0};
    struct error error = {0};
    struct candidate_query query = {
        .run = prompted->parent.run, .order = CANDIDATES_BY_FITNESS, .most = PROMPT_RUN};
    if (!prompted->context.parent ||
        !stored->engine->candidate_list(stored->store, arena_of(prompted), &query, &list, &error))
        return;
    prompted->context.relatives = prompted->relatives;
    add_related(prompted, &list, LLM_CHILD, 24);
    int64_t up = prompted->parent.parents[0];
    for (int step = 0; up && step < 8; step++) {
        const struct candidate *found = NULL;
        for (size_t i = 0; i < list.count && !found; i++)
            found = list.at[i].id == up ? &list.at[i] : NULL;
        if (!found)
            break;
        add_relative(prompted, &list, found, LLM_ANCESTOR);
        up = found->parents[0];
    }
    add_related(prompted, &list, LLM_BEST, 4);
    add_related(prompted, &list, LLM_SIBLING, 24);
}

/* ---- experience ---- */

static double telling(const struct prompted *prompted, const struct experience *entry)
{
    const struct diagnosis *diagnosis = prompted->context.diagnosis;
    double weight = (double)entry->tries;
    if (strcmp(entry->structure, prompted->know.structure) == 0)
        weight *= 4;
    if (diagnosis && strcmp(entry->diagnosis, diagnosis_name(diagnosis->class)) == 0)
        weight *= 4;
    return weight;
}

static void find_experience(struct prompted *prompted)
{
    struct arena *arena = arena_of(prompted);
    const struct know *know = &prompted->know;
    struct store_experiences list = {0}, kept = {0};
    struct error error = {0};
    const char *class = arena_copy(arena, know->structure, strcspn(know->structure, ":"));
    struct experience_query query = {.structure = class, .target = target_of(prompted)};
    if (!prompted->stored.store ||
        !know->engine->experience_list(know->store, arena, &query, &list, &error))
        return;
    for (size_t i = 0; i < list.count; i++) {
        if (strncmp(list.at[i].action, "plan ", 5) == 0)
            continue;
        size_t place = kept.count;
        if (place < PROMPT_EXPERIENCE)
            vector_push(arena, &kept, list.at[i]);
        else if (telling(prompted, &kept.at[--place]) >= telling(prompted, &list.at[i]))
            continue;
        for (; place && telling(prompted, &kept.at[place - 1]) < telling(prompted, &list.at[i]);
             place--)
            kept.at[place] = kept.at[place - 1];
        kept.at[place] = list.at[i];
    }
    prompted->context.experience = kept.at;
    prompted->context.experience_count = kept.count;
    struct know_plan plans[PROMPT_WINNERS];
    prompted->context.winners = prompted->winners;
    prompted->context.winner_count = know_plans(&prompted->know, plans, PROMPT_WINNERS);
    for (int i = 0; i < prompted->context.winner_count; i++)
        prompted->winners[i] = plans[i].text;
}

/* Of the run's best candidate, when it is right. */
static void take_example(struct prompted *prompted, const struct run *run)
{
    struct stored *stored = &prompted->stored;
    struct candidate best;
    struct error error = {0};
    for (int i = 0; i < prompted->context.example_count; i++)
        if (strcmp(prompted->examples[i].task, run->task) == 0)
            return;
    if (!stored->engine->candidate_get(stored->store, arena_of(prompted), run->best, &best,
                                       &error) ||
        best.outcome != OUTCOME_OK || best.id == prompted->parent.id)
        return;
    const char *kernel =
        stored->engine->object_get(stored->store, arena_of(prompted), best.kernel, NULL, &error);
    if (kernel)
        prompted->examples[prompted->context.example_count++] =
            (struct llm_example){run->task, best.fitness, kernel};
}

/* The best of other tasks' runs: those of the same structure first, then of the same class. */
static void find_examples(struct prompted *prompted)
{
    struct stored *stored = &prompted->stored;
    struct store_runs runs = {0};
    struct error error = {0};
    const char *structure = prompted->know.structure;
    size_t class = strcspn(structure, ":");
    if (!stored->store ||
        !stored->engine->run_list(stored->store, arena_of(prompted), &runs, &error))
        return;
    prompted->context.examples = prompted->examples;
    for (int near = 1; near >= 0; near--)
        for (size_t i = 0; i < runs.count; i++) {
            const struct run *run = &runs.at[i];
            bool same = run->structure && strcmp(run->structure, structure) == 0;
            bool alike = run->structure && strncmp(run->structure, structure, class + 1) == 0;
            if (prompted->context.example_count < PROMPT_EXAMPLES && run->best &&
                (near ? same : alike && !same) &&
                strcmp(run->task, prompted->planned.task->name) != 0)
                take_example(prompted, run);
        }
}

static void describe_situation(struct prompted *prompted)
{
    struct arena *arena = arena_of(prompted);
    const struct skeleton_program *program = prompted->planned.ready;
    const struct ir_part *part = program->part;
    const char *structure = prompted->structure;
    enum dtype dtype = part->output_count ? part->tensors[part->outputs[0]].dtype : DTYPE_F32;
    if (!structure)
        structure = know_structure(arena, planned_class(arena, program), part);
    prompted->know = (struct know){.arena = arena,
                                   .engine = prompted->stored.engine,
                                   .store = prompted->stored.store,
                                   .structure = structure,
                                   .shape = know_shape(arena, program->binding),
                                   .dtype = dtype_name(dtype),
                                   .target = target_of(prompted),
                                   .signature = arena_string(arena, prompted->machine.id)};
}

/* ---- pages ---- */

/* Whom pages may be for: "cuda:sm_90a" is for all of cuda as well. */
static void find_targets(struct prompted *prompted, struct kb_query *query)
{
    struct arena *arena = prompted->invocation->arena;
    const struct skeleton_target *target = &prompted->planned.target;
    bool any = target->device && !*target->device->architecture;
    vector_push(arena, &query->targets,
                any ? target_of(prompted)
                    : arena_printf(arena, "%s:%s", target_of(prompted), target->name));
    if (!target->device && machine_has(&prompted->machine, MACHINE_AMX_BF16))
        vector_push(arena, &query->targets, "cpu:amx");
    if (!target->device && machine_has(&prompted->machine, MACHINE_NEON))
        vector_push(arena, &query->targets, "cpu:arm");
}

static void find_pages(struct prompted *prompted)
{
    struct invocation *invocation = prompted->invocation;
    struct arena *arena = invocation->arena;
    struct errors unreadable = errors_new(arena);
    struct error error = {0};
    struct text words = text_new(arena);
    const struct diagnosis *diagnosis = prompted->context.diagnosis;
    struct kb_query query = {.structure = prompted->know.structure};
    find_targets(prompted, &query);
    text_printf(&words, "%s %s ", ir_root(prompted->planned.program)->name, prompted->know.dtype);
    if (diagnosis && diagnosis->text)
        text_add(&words, diagnosis->text);
    query.words = words.at;
    query.diagnosis = diagnosis        ? diagnosis_name(diagnosis->class)
                      : prompted->role ? prompted->role->name
                                       : NULL;
    if (!prompted->kb_opened)
        kb_given(invocation, &prompted->kb, &unreadable);
    prompted->kb_opened = true;
    int count = kb_search(&prompted->kb, &query, prompted->pages, PROMPT_PAGES, &error);
    prompted->context.pages = prompted->pages;
    prompted->context.page_count = count > 0 ? count : 0;
    for (size_t i = 0; i < unreadable.list.count; i++)
        output_note(invocation, "%s", unreadable.list.at[i].message);
}

/* ---- all ---- */

static void describe_all(struct prompted *prompted)
{
    describe_task(prompted);
    describe_wishes(prompted);
    describe_situation(prompted);
    find_relatives(prompted);
    find_experience(prompted);
    find_examples(prompted);
    find_pages(prompted);
}

bool prompted_gather(struct prompted *prompted, bool all)
{
    struct planned *planned = &prompted->planned;
    if (!planned_find(planned) || !planned_prepare(planned))
        return false;
    planned->target.threads = prompted->threads;
    if (!find_parent(prompted))
        return false;
    if (!all)
        return true;
    describe_all(prompted);
    return true;
}

bool prompted_about(struct prompted *prompted, const struct candidate *candidate,
                    const struct diagnosis *diagnosis)
{
    prompted->context = (struct llm_context){0};
    prompted->parent = *candidate;
    if (!take_parent(prompted))
        return false;
    if (diagnosis)
        prompted->context.diagnosis = diagnosis;
    describe_all(prompted);
    return true;
}

void prompted_close(struct prompted *prompted)
{
    kb_close(&prompted->kb);
    if (prompted->stored.store)
        stored_close(&prompted->stored);
}
