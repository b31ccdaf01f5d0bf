/*
 * The pieces of a prompt: what is known, in words, each with what it is worth.
 */
#include <math.h>
#include <string.h>

#include "propose/llm/llm.h"

/* Less comes first. What a model acts on comes before what it may look up. */
enum {
    MUST = 0,
    DIAGNOSIS = 10,
    VERDICT = 12,
    RELATIVES = 20,
    PLAN = 25,
    PAGE_LEAD = 30, /* and one more for each page */
    EXPERIENCE = 45,
    PAGE_WHOLE = 50,
    VERDICT_WHOLE = 75,
    WINNERS = 78,
    RELATIVES_MORE = 80,
    EXPERIENCE_MORE = 82,
    EXAMPLES = 84,
    PAGE_FURTHER = 100, /* those beyond the first few */
};

enum { CASES = 64, PAGES_FIRST = 8, LINES_FIRST = 8, NOTE_LENGTH = 200, KERNEL_SHARE = 60 };

struct collector {
    struct arena *arena;
    const struct llm_context *context;
    size_t room;
    struct llm_pieces *pieces;
};

static void add(struct collector *collector, const char *section, const char *name,
                const char *brief, int brief_priority, const char *whole, int priority)
{
    if (whole && *whole && collector->pieces->count < LLM_PIECES)
        vector_push(collector->arena, collector->pieces,
                    (struct llm_piece){.section = section,
                                       .name = name,
                                       .text = {brief, whole},
                                       .priority = {brief_priority, priority}});
}

/* ---- quoting ---- */

void llm_quote(struct text *out, const char *language, const char *text)
{
    long run = 0, longest = 2;
    for (const char *c = text; *c; c++) {
        run = *c == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    text_repeat(out, '`', longest + 1);
    text_printf(out, "%s\n%s", language, text);
    if (out->at[out->length - 1] != '\n')
        text_char(out, '\n');
    text_repeat(out, '`', longest + 1);
    text_char(out, '\n');
}

static const char *quoted(struct arena *arena, const char *before, const char *language,
                          const char *text)
{
    struct text out = text_new(arena);
    text_add(&out, before);
    llm_quote(&out, language, text);
    return out.at;
}

/* One line of somebody's words: no line ends, no fences, not too long. */
static void add_note(struct text *out, const char *note)
{
    int count = 0;
    for (; note && *note && count < NOTE_LENGTH; note++, count++)
        text_char(out, (unsigned char)*note < ' ' || *note == '`' ? ' ' : *note);
    if (note && *note)
        text_add(out, " ...");
}

/* ---- the task ---- */

static void add_task(struct collector *collector)
{
    const struct llm_context *context = collector->context;
    struct text out = text_new(collector->arena);
    text_printf(&out, "Task `%s`, target `%s`.\n\n", context->task->name, context->target);
    llm_quote(&out, "text", context->contract);
    const struct task_case *first = context->task->case_count ? context->task->cases : NULL;
    for (int i = 0; first && !strstr(context->contract, first->text); i++) {
        const struct task_case *one = &context->task->cases[i];
        if (i == CASES || i == context->task->case_count)
            break;
        text_printf(&out, "%scase %s%s\n", i ? "" : "\n", one->text, one->timed ? ", timed" : "");
    }
    text_add(&out,
             context->device
                 ? "\nA kernel begins with such lines, here those of the plain one: buffers it "
                   "needs besides the tensors, and what is launched, in turn; `// holds "
                   "FACTS` may follow them:\n\n"
                 : "\nA kernel begins with these lines; `// holds FACTS` and `// scratch "
                   "BYTES` (expressions of sizes) may follow them:\n\n");
    llm_quote(&out, "c", context->manifest);
    if (context->task->cold)
        text_add(&out, "\nIt is timed with empty caches.\n");
    add(collector, "The task", "task", NULL, MUST, out.at, MUST);
}

static void add_pins(struct collector *collector)
{
    const struct llm_context *context = collector->context;
    struct text out = text_new(collector->arena);
    if (context->role) {
        text_printf(&out, "Your role in this search: %s", context->role);
        text_printf(&out, "%s%s.\n", context->role_note ? ": " : "",
                    context->role_note ? context->role_note : "");
    }
    if (context->pin_count) {
        text_add(&out, "\nWhoever asks has fixed these decisions; keep to them in whatever form "
                       "you answer:");
        for (int i = 0; i < context->pin_count; i++)
            text_printf(&out, "%s `%s`", i ? "," : "", context->pins[i]);
        text_add(&out, "\n");
    }
    add(collector, "What is wanted", "role and pins", NULL, MUST, out.at, MUST);
}

/* ---- the machine ---- */

static void add_rate(struct text *out, const char *name, double value, double unit,
                     const char *unit_name)
{
    if (value > 0)
        text_printf(out, "- %s: %.3g %s\n", name, value / unit, unit_name);
}

static void add_rates(struct text *out, const struct llm_context *context)
{
    const struct rates *rates = context->rates;
    enum machine_crew crew = context->threads > 1 ? MACHINE_ALL : MACHINE_ONE;
    const double *memory = rates->bandwidth[crew][MACHINE_MEMORY];
    double compute[MACHINE_NUMBER_COUNT] = {0}; /* by the best unit */
    for (int unit = 0; unit < MACHINE_UNIT_COUNT; unit++)
        for (int number = 0; number < MACHINE_NUMBER_COUNT; number++)
            compute[number] = fmax(compute[number], rates->compute[crew][unit][number]);
    if (memory[MACHINE_READ] <= 0) {
        text_add(out, "Its rates were not measured.\n");
        return;
    }
    text_printf(out, "Measured on %s:\n\n", crew == MACHINE_ALL ? "all threads" : "one thread");
    add_rate(out, "memory, reading", memory[MACHINE_READ], 1e9, "GB/s");
    add_rate(out, "memory, copying (bytes read and written)", memory[MACHINE_COPY], 1e9, "GB/s");
    add_rate(out, "memory, copying past the caches", memory[MACHINE_STREAM_COPY], 1e9, "GB/s");
    for (int level = 0; level < MACHINE_CACHES; level++)
        add_rate(out,
                 arena_printf(out->arena, "%s, reading, one thread",
                              machine_level_name((enum machine_level)level)),
                 rates->bandwidth[MACHINE_ONE][level][MACHINE_READ], 1e9, "GB/s");
    for (int number = 0; number < MACHINE_NUMBER_COUNT; number++)
        add_rate(out,
                 arena_printf(out->arena, "arithmetic, %s",
                              machine_number_name((enum machine_number)number)),
                 compute[number], 1e9, "GFLOP/s");
    for (int level = 0; level < MACHINE_LEVEL_COUNT; level++)
        add_rate(out,
                 arena_printf(out->arena, "latency of a dependent load, %s",
                              machine_level_name((enum machine_level)level)),
                 rates->latency[level], 1e-9, "ns");
}

static void add_machine(struct collector *collector)
{
    const struct llm_context *context = collector->context;
    const struct machine *machine = context->machine;
    struct text out = text_new(collector->arena);
    if (context->device)
        add(collector, "The machine", "device", NULL, MUST, context->device, MUST);
    if (!machine || context->device)
        return;
    text_printf(&out, "%s, %s; the kernel is given %d thread%s.", machine->model,
                machine->architecture, context->threads, context->threads == 1 ? "" : "s");
    text_add(&out, " Instructions:");
    for (int set = 0; set < MACHINE_SET_COUNT; set++)
        if (machine_has(machine, (enum machine_set)set))
            text_printf(&out, " %s", machine_set_name((enum machine_set)set));
    text_add(&out, ". Caches:");
    for (int level = 0; level < MACHINE_CACHES; level++)
        if (machine->caches[level].bytes)
            text_printf(&out, " %s %lld KB%s", machine_level_name((enum machine_level)level),
                        (long long)(machine->caches[level].bytes >> 10),
                        machine->caches[level].shared_by > 1 ? " (shared)" : "");
    text_add(&out, ".\n");
    const char *brief = arena_string(collector->arena, out.at);
    if (context->rates)
        add_rates(&out, context);
    add(collector, "The machine", "machine", brief, MUST, out.at, MUST);
}

/* ---- the parent ---- */

/* The first and last lines of a kernel that is too long, with a line that says so in between. */
static const char *cut_kernel(struct arena *arena, const char *kernel, size_t room)
{
    struct text out = text_new(arena);
    size_t length = strlen(kernel), used = 0, head = 0, tail = length, lines = 0;
    while (head < length) { /* a third from the beginning: manifest and helpers */
        size_t line = strcspn(kernel + head, "\n") + 1;
        line = head + line > length ? length - head : line;
        size_t tokens = llm_tokens(kernel + head, line);
        if (used + tokens > room / 3)
            break;
        used += tokens;
        head += line;
    }
    while (tail > head) { /* the rest from the end: the loops and the entry */
        size_t line = tail - 1;
        while (line > head && kernel[line - 1] != '\n')
            line--;
        size_t tokens = llm_tokens(kernel + line, tail - line);
        if (used + tokens > room)
            break;
        used += tokens;
        tail = line;
    }
    for (size_t i = head; i < tail; i++)
        lines += kernel[i] == '\n';
    text_add_bytes(&out, kernel, head);
    text_printf(&out, "/* ... %zu lines are not shown ... */\n", lines);
    text_add_bytes(&out, kernel + tail, length - tail);
    return out.at;
}

static void add_standing(struct collector *collector)
{
    const struct candidate *parent = collector->context->parent;
    struct text out = text_new(collector->arena);
    if (!parent || !parent->judged)
        return;
    text_printf(&out, "Candidate %lld, by %s", (long long)parent->id, parent->proposer);
    if (parent->outcome != OUTCOME_OK) {
        text_printf(&out, ": judged `%s`", outcome_name(parent->outcome));
    } else {
        text_printf(&out, ": right, %.4g us per call, %.3g times as fast as the fastest baseline",
                    parent->microseconds, parent->fitness);
        if (parent->floor > 0)
            text_printf(&out, "; no kernel can take less than about %.4g us here", parent->floor);
    }
    text_add(&out, ".\n\n");
    add(collector, "The parent", "standing", NULL, MUST, out.at, MUST);
}

static void add_parent(struct collector *collector)
{
    const struct llm_context *context = collector->context;
    struct arena *arena = collector->arena;
    struct text out = text_new(arena);
    const char *kernel = context->kernel;
    if (!kernel) {
        add(collector, "The parent", "parent", NULL, MUST,
            "There is none yet: write a whole kernel.\n", MUST);
        return;
    }
    size_t room = collector->room * KERNEL_SHARE / 100;
    add_standing(collector);
    if (llm_tokens(kernel, strlen(kernel)) > room) {
        kernel = cut_kernel(arena, kernel, room);
        text_add(&out, "It is too long to be shown whole; edits may only touch lines shown.\n\n");
    }
    llm_quote(&out, "c", kernel);
    add(collector, "The parent", "parent", NULL, MUST, out.at, MUST);
    if (context->plan)
        add(collector, "The parent", "plan", NULL, PLAN,
            quoted(arena, "\nIt was made by this plan, which may be changed instead:\n\n", "text",
                   context->plan),
            PLAN);
}

static void add_diagnosis(struct collector *collector)
{
    const struct diagnosis *diagnosis = collector->context->diagnosis;
    const char *section = "What the judge found";
    struct text out = text_new(collector->arena);
    if (diagnosis) {
        text_printf(&out, "Diagnosis: %s", diagnosis_name(diagnosis->class));
        if (diagnosis->pattern && *diagnosis->pattern)
            text_printf(&out, " (%s)", diagnosis->pattern);
        text_add(&out, ". ");
        add_note(&out, diagnosis->text);
        text_char(&out, '\n');
        for (int i = 0; i < diagnosis->fact_count; i++)
            text_printf(&out, "- %s: %.4g %s\n", diagnosis->facts[i].name,
                        diagnosis->facts[i].value, diagnosis->facts[i].unit);
        for (int i = 0; i < diagnosis->action_count; i++)
            text_printf(&out, "- would help: %s\n", diagnosis->actions[i]);
        add(collector, section, "diagnosis", NULL, DIAGNOSIS, out.at, DIAGNOSIS);
    }
    if (collector->context->verdict)
        add(collector, section, "verdict", NULL, 0,
            quoted(collector->arena, "\n", "json", collector->context->verdict),
            collector->context->parent && collector->context->parent->outcome != OUTCOME_OK
                ? VERDICT
                : VERDICT_WHOLE);
}

/* ---- what was tried ---- */

static void add_relative(struct text *out, const struct llm_relative *relative)
{
    static const char *const words[] = {"from it", "beside it", "before it", "best"};
    const struct candidate *candidate = relative->candidate;
    text_printf(out, "- %s, %lld by %s: ", words[relative->relation], (long long)candidate->id,
                candidate->proposer);
    add_note(out, candidate->action && *candidate->action ? candidate->action : "begun anew");
    if (!candidate->judged)
        text_add(out, "; not judged yet");
    else if (candidate->outcome != OUTCOME_OK)
        text_printf(out, "; %s", outcome_name(candidate->outcome));
    else
        text_printf(out, "; %.3g times the baseline", candidate->fitness);
    if (relative->gain > 0)
        text_printf(out, ", %.3g times its parent", relative->gain);
    if (candidate->judged && candidate->outcome != OUTCOME_OK && candidate->note) {
        text_add(out, ": ");
        add_note(out, candidate->note);
    }
    text_char(out, '\n');
}

static void add_relatives(struct collector *collector)
{
    const struct llm_context *context = collector->context;
    struct text out = text_new(collector->arena);
    const char *brief = NULL;
    for (int i = 0; i < context->relative_count && i < LLM_RELATIVES; i++) {
        if (i == LINES_FIRST)
            brief = arena_string(collector->arena, out.at);
        add_relative(&out, &context->relatives[i]);
    }
    add(collector, "What was tried", "relatives", brief, RELATIVES, out.length ? out.at : NULL,
        brief ? RELATIVES_MORE : RELATIVES);
}

static void add_experience(struct collector *collector)
{
    const struct llm_context *context = collector->context;
    struct text out = text_new(collector->arena);
    const char *brief = NULL;
    for (size_t i = 0; i < context->experience_count && i < LLM_RELATIVES; i++) {
        const struct experience *entry = &context->experience[i];
        int64_t right = entry->tries - entry->infeasible;
        if (i == LINES_FIRST)
            brief = arena_string(collector->arena, out.at);
        text_printf(&out, "- %s, %s: ", entry->structure, entry->diagnosis);
        add_note(&out, entry->action);
        text_printf(&out, "; %lld tries, %lld better, %lld worse, %lld not possible",
                    (long long)entry->tries, (long long)entry->wins, (long long)entry->losses,
                    (long long)entry->infeasible);
        if (right > 0)
            text_printf(&out, ", %.3g times as fast in the mean",
                        exp(entry->log_gain / (double)right));
        text_char(&out, '\n');
    }
    add(collector, "Experience with ops like this one", "experience", brief, EXPERIENCE,
        out.length ? out.at : NULL, brief ? EXPERIENCE_MORE : EXPERIENCE);
    for (int i = 0; i < context->winner_count; i++)
        add(collector, "Experience with ops like this one",
            arena_printf(collector->arena, "winner %d", i + 1), NULL, 0,
            quoted(collector->arena, "\nA plan that won on such an op:\n\n", "text",
                   context->winners[i]),
            WINNERS + i);
}

static void add_examples(struct collector *collector)
{
    const struct llm_context *context = collector->context;
    for (int i = 0; i < context->example_count; i++) {
        const struct llm_example *example = &context->examples[i];
        const char *before = arena_printf(
            collector->arena, "\nOf task `%s`, right and %.3g times as fast as its baseline:\n\n",
            example->task, example->fitness);
        add(collector, "Worked examples", example->task, NULL, 0,
            quoted(collector->arena, before, "c", example->kernel), EXAMPLES + i);
    }
}

/* ---- what is written ---- */

static void add_pages(struct collector *collector)
{
    const struct llm_context *context = collector->context;
    for (int i = 0; i < context->page_count; i++) {
        const struct kb_page *page = context->pages[i].page;
        const char *body = page->body + strspn(page->body, "\n");
        int far = i < PAGES_FIRST ? 0 : PAGE_FURTHER + i;
        const char *brief =
            arena_printf(collector->arena, "**%s.** %s\n\n", page->title, page->lead);
        const char *whole = arena_printf(collector->arena, "**%s**\n\n%s\n", page->title, body);
        add(collector, "Notes", page->id, brief, far ? far : PAGE_LEAD + i, whole,
            far ? far + 1 : PAGE_WHOLE + i);
    }
}

static void add_question(struct collector *collector)
{
    const struct llm_context *context = collector->context;
    const struct candidate *parent = context->parent;
    const char *text = !context->kernel ? "Write a kernel for this task.\n"
                       : parent && parent->judged && parent->outcome != OUTCOME_OK
                           ? "The parent is not right. Find out why and repair it.\n"
                           : "Propose the one change that will make the parent faster, or a "
                             "kernel of your own that will be.\n";
    add(collector, "What to do", "question", NULL, MUST, text, MUST);
}

void llm_collect(struct arena *arena, const struct llm_context *context, size_t room,
                 struct llm_pieces *pieces)
{
    struct collector collector = {arena, context, room, pieces};
    add_task(&collector);
    add_pins(&collector);
    add_machine(&collector);
    add_parent(&collector);
    add_diagnosis(&collector);
    add_relatives(&collector);
    add_experience(&collector);
    add_examples(&collector);
    add_pages(&collector);
    add_question(&collector);
}
