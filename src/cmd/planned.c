/*
 * What is planned, for what, and by which plan; and the kernel of a plan.
 */
#include "cmd/planned.h"

#include <string.h>

#include "propose/propose.h"

static bool usage(struct invocation *invocation, const char *message, const char *hint)
{
    struct error *error =
        errors_add(&invocation->errors, ERROR_USAGE, (struct place){0}, "%s", message);
    error_hint(error, "%s", hint);
    return false;
}

/* ---- what is meant ---- */

static bool is_set(const struct ref_request *request, const char *setting)
{
    size_t length = strcspn(setting, "=") + 1;
    for (size_t i = 0; i < request->settings.count; i++)
        if (strncmp(request->settings.at[i], setting, length) == 0)
            return true;
    return false;
}

static bool is_rank(const struct ast_op *op, const char *setting)
{
    size_t length = strcspn(setting, "=");
    for (size_t i = 0; i < op->inputs.count; i++)
        for (size_t d = 0; d < op->inputs.at[i].dims.count; d++) {
            const struct ast_dim *dim = &op->inputs.at[i].dims.at[d];
            if (dim->kind == AST_DIM_RANK && strlen(dim->name) == length &&
                strncmp(dim->name, setting, length) == 0)
                return true;
        }
    return false;
}

/* "B=[4]", "D=16": the words of the case that would be suggested. */
static struct ref_settings suggested(struct ref_request *request)
{
    struct arena *arena = request->invocation->arena;
    struct text line = text_new(arena), word = text_new(arena);
    struct ref_settings words = {0};
    int depth = 0;
    lang_suggest_case(&line, request->subject.op);
    for (const char *c = line.at + strcspn(line.at, " ");; c++) {
        depth += (*c == '[') - (*c == ']');
        if (*c && (*c != ',' || depth > 0)) {
            if (*c != ' ')
                text_char(&word, *c);
            continue;
        }
        if (word.length)
            vector_push(arena, &words, arena_string(arena, word.at));
        text_truncate(&word, 0);
        if (!*c)
            return words;
    }
}

/* Sizes that were not said do not matter here: those that would be suggested do. Ranks matter:
 * once some sizes were said, a group that was not is empty, as it is where a kernel is judged. */
static void fill_settings(struct ref_request *request)
{
    struct ref_settings words = suggested(request);
    bool said = false;
    for (size_t i = 0; i < words.count; i++)
        said |= is_set(request, words.at[i]);
    for (size_t i = 0; i < words.count; i++)
        if (!is_set(request, words.at[i]) && !(said && is_rank(request->subject.op, words.at[i])))
            vector_push(request->invocation->arena, &request->settings, words.at[i]);
}

static bool collect(struct ref_request *request)
{
    struct invocation *invocation = request->invocation;
    for (size_t i = 1; i < invocation->operands.count; i++) {
        const char *word = invocation->operands.at[i];
        const char *equals = strchr(word, '=');
        if (!equals || equals == word || !equals[1] || strpbrk(word, "\r\n#"))
            return usage(
                invocation,
                arena_printf(invocation->arena, "'%s' is not of the form NAME=VALUE", word),
                "types are written like T=f16, ranks like B=[8, 4]");
        if (request->settings.count == REF_SETTINGS)
            return usage(invocation, "too many settings", "an op has a few");
        vector_push(invocation->arena, &request->settings, word);
    }
    const char *which = option_value(invocation, "case");
    size_t digits = which ? strspn(which, "0123456789") : 0;
    if (which && (digits == 0 || digits > 9 || which[digits]))
        return usage(invocation, arena_printf(invocation->arena, "--case cannot be '%s'", which),
                     "it is the number of a case, counted from 0");
    if (which && request->settings.count)
        return usage(invocation, "--case and settings exclude each other",
                     "a case has its own types and sizes: leave out one of the two");
    request->case_chosen = which != NULL;
    for (size_t i = 0; i < digits; i++)
        request->first_case = request->first_case * 10 + (which[i] - '0');
    return true;
}

static const struct ir_program *find_program(struct ref_request *request, struct task **task)
{
    struct invocation *invocation = request->invocation;
    struct errors *errors = &invocation->errors;
    if (request->settings.count || (!request->subject.task && !request->case_chosen))
        fill_settings(request);
    *task = ref_task(request, errors);
    if (!*task)
        return NULL;
    if (request->first_case < (*task)->case_count)
        return (*task)->cases[request->first_case].program;
    if ((*task)->case_count == 0)
        return lang_default_program(request->subject.lang, request->subject.file,
                                    request->subject.op, errors);
    struct error *error =
        errors_add(errors, ERROR_UNKNOWN_CASE, (struct place){0}, "task '%s' has no case %lld",
                   (*task)->name, (long long)request->first_case);
    error_hint(error, "it has %d, numbered from 0", (*task)->case_count);
    return NULL;
}

bool planned_find(struct planned *planned)
{
    struct ref_request *request = &planned->request;
    struct invocation *invocation = request->invocation;
    if (!collect(request) ||
        !subject_find(invocation, invocation->operands.at[0], option_value(invocation, "op"),
                      option_value(invocation, "task"), &request->subject, &invocation->errors))
        return false;
    planned->program = find_program(request, &planned->task);
    return planned->program != NULL;
}

/* ---- for what ---- */

static bool choose_target(struct planned *planned)
{
    struct invocation *invocation = planned->request.invocation;
    struct error error = {0};
    if (!planned_target(invocation->arena, option_value(invocation, "target"), &planned->target,
                        &error)) {
        errors_take(&invocation->errors, &error);
        return false;
    }
    int64_t threads = planned->target.threads;
    if (!option_count(invocation, "threads", 1, MACHINE_THREADS, &threads))
        return false;
    if (planned->target.device && option_given(invocation, "threads"))
        return usage(invocation, "--threads is for plans for the processor",
                     "the decision 'threads' of a device's plan can be pinned");
    planned->target.threads = (int)threads;
    return true;
}

static bool read_pins(struct planned *planned)
{
    struct invocation *invocation = planned->request.invocation;
    size_t cursor = 0;
    for (const char *text; (text = option_next(invocation, "pin", &cursor));) {
        struct plan_pin pin;
        struct error error;
        if (planned->pins.count == PLANNED_PINS)
            return usage(invocation, "there are too many pins", "a hundred is the most");
        if (!plan_pin_parse(invocation->arena, text, &pin, &error)) {
            errors_take(&invocation->errors, &error);
            return false;
        }
        vector_push(invocation->arena, &planned->pins, pin);
    }
    return true;
}

enum { SIZE_UNKNOWN = 64 }; /* where nobody says what sizes there will be */

/* Sizes to be good at where there is no case: only predictions depend on them. */
static struct ir_binding guess_sizes(struct arena *arena, const struct ir_part *part)
{
    int64_t *sizes = arena_array(arena, (size_t)part->symbol_count + 1, sizeof *sizes);
    double *scalars = arena_array(arena, (size_t)part->scalar_count + 1, sizeof *scalars);
    for (int i = 0; i < part->symbol_count; i++) {
        const struct ir_symbol *symbol = &part->symbols[i];
        sizes[i] = symbol->has_default ? symbol->value : SIZE_UNKNOWN;
        if (symbol->kind == IR_SYMBOL_LET && !ir_size_eval(symbol->definition, sizes, &sizes[i]))
            sizes[i] = SIZE_UNKNOWN;
    }
    return (struct ir_binding){part, sizes, scalars};
}

/* The first timed case of this program, else the one that was chosen. */
static const struct task_case *choose_case(const struct planned *planned)
{
    const struct task *task = planned->task;
    int64_t chosen = planned->request.first_case;
    if (chosen >= task->case_count)
        return NULL;
    for (int i = 0; i < task->case_count && !planned->request.case_chosen; i++) {
        if (task->cases[i].timed && task->cases[i].program == planned->program)
            return &task->cases[i];
    }
    return &task->cases[chosen];
}

bool planned_prepare(struct planned *planned)
{
    struct arena *arena = planned->request.invocation->arena;
    const struct task_case *task_case = choose_case(planned);
    struct ir_binding binding;
    if (!choose_target(planned) || !read_pins(planned))
        return false;
    if (task_case)
        binding =
            (struct ir_binding){ir_root(planned->program), task_case->sizes, task_case->scalars};
    else
        binding = guess_sizes(arena, ir_root(planned->program));
    planned->ready = skeleton_program_new(arena, planned->program, &binding, &planned->target);
    if (planned->pins.count)
        planned->ready->pins = &planned->pins;
    if (planned->task && planned->task->accuracy)
        planned->ready->accuracy = machine_class_bits(planned->task->accuracy);
    return true;
}

/* ---- by which plan ---- */

/* A file may hold several plans, as `smelt plan` prints them: the first counts. */
static size_t first_plan(const struct source *source)
{
    int seen = 0;
    for (const char *at = source->text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const char *word = at + strspn(at, " \t");
        if (strncmp(word, "plan", 4) == 0 && (word[4] == ' ' || word[4] == '\t') && seen++)
            return (size_t)(at - source->text);
    }
    return source->length;
}

static struct plan *read_plan(struct planned *planned, const char *path)
{
    struct invocation *invocation = planned->request.invocation;
    struct error error = {0};
    const struct source *whole = subject_read(invocation, path, &error);
    if (!whole) {
        errors_take(&invocation->errors, &error);
        return NULL;
    }
    struct source *source = arena_new(invocation->arena, struct source);
    *source = *whole;
    source->length = first_plan(whole);
    source->text = arena_copy(invocation->arena, whole->text, source->length);
    struct plan *plan =
        plan_parse(invocation->arena, source, planned->ready->graph, &invocation->errors);
    if (plan && !skeleton_check(planned->ready, plan, &error)) {
        errors_take(&invocation->errors, &error);
        return NULL;
    }
    return plan;
}

/* Whether all cases of the program have the sizes that the plan fixes. */
static bool plan_holds(struct arena *scratch, const struct task *task,
                       const struct ir_program *program, const struct skeleton_target *target,
                       const struct plan *plan)
{
    for (int i = 0; i < task->case_count && plan->fix_count; i++) {
        const struct task_case *other = &task->cases[i];
        if (other->program != program)
            continue;
        struct ir_binding binding = {ir_root(program), other->sizes, other->scalars};
        const struct skeleton_program *ready =
            skeleton_program_new(scratch, program, &binding, target);
        for (int j = 0; j < plan->fix_count; j++) {
            if (ready->binding->sizes[plan->fixes[j].symbol] != plan->fixes[j].value)
                return false;
        }
    }
    return true;
}

/* Of an op, one that holds for all sizes where there is one; of a task, for all of its cases. */
static struct plan *first_that_holds(struct planned *planned)
{
    struct invocation *invocation = planned->request.invocation;
    bool task = planned->request.subject.task && planned->request.settings.count == 0;
    struct plan *plans[PLANNED_SEEDS];
    int count = skeleton_seeds(planned->ready, plans, task ? PLANNED_SEEDS : 1);
    for (int i = 0; i < count; i++) {
        if (!task || plan_holds(invocation->arena, planned->task, planned->program,
                                &planned->target, plans[i]))
            return plans[i];
    }
    return NULL;
}

static bool pin_concerns_plan(const struct plan_pin *pin, const struct plan *plan,
                              const struct ir_graph *graph)
{
    for (int g = 0; g < plan->group_count; g++) {
        const struct plan_group *group = &plan->groups[g];
        if (plan_pin_concerns(pin, group, graph, "skeleton"))
            return true;
        for (int d = 0; d < group->decision_count; d++) {
            if (plan_pin_concerns(pin, group, graph, group->decisions[d].key))
                return true;
        }
    }
    return false;
}

bool planned_pins_concern(struct planned *planned)
{
    struct invocation *invocation = planned->request.invocation;
    struct plan *plans[PLANNED_SEEDS];
    if (planned->pins.count == 0)
        return true;
    int count = skeleton_seeds(planned->ready, plans, PLANNED_SEEDS);
    for (size_t i = 0; i < planned->pins.count && count > 0; i++) {
        const struct plan_pin *pin = &planned->pins.at[i];
        bool found = false;
        for (int p = 0; p < count; p++)
            found |= pin_concerns_plan(pin, plans[p],
                                       skeleton_program_of(planned->ready, plans[p])->graph);
        if (found)
            continue;
        struct error *error = errors_add(&invocation->errors, ERROR_PLAN_PIN, (struct place){0},
                                         "with these pins no plan has a decision '%s'", pin->place);
        error_hint(error,
                   "'smelt plan --explain' without pins shows groups, decisions and their values");
        return false;
    }
    return true;
}

struct plan *planned_choose(struct planned *planned)
{
    struct invocation *invocation = planned->request.invocation;
    struct plan *plan;
    if (option_given(invocation, "plan"))
        return read_plan(planned, option_value(invocation, "plan"));
    if (!planned_pins_concern(planned))
        return NULL;
    plan = first_that_holds(planned);
    if (plan)
        return plan;
    errors_add(&invocation->errors, ERROR_PLAN_PIN, (struct place){0},
               "the pins leave no plan that can be");
    return NULL;
}

/* ---- the kernel ---- */

const char *planned_class(struct arena *arena, const struct skeleton_program *program)
{
    struct plan *plan;
    return skeleton_seeds(program, &plan, 1) ? planned_class_of(arena, plan) : "none";
}

const char *planned_class_of(struct arena *arena, const struct plan *plan)
{
    struct text text = text_new(arena);
    for (int g = 0; g < plan->group_count; g++)
        if (!strstr(text.at ? text.at : "", plan->groups[g].skeleton))
            text_printf(&text, "%s%s", text.length ? "+" : "", plan->groups[g].skeleton);
    return text.length ? text.at : "none";
}

void planned_print(const struct planned *planned, const struct plan *plan, const char *op,
                   struct text *source)
{
    propose_source(planned->ready, plan, op, source);
}

bool planned_seed(struct arena *scratch, const struct task *task, int which,
                  const struct skeleton_target *target, struct text *source, struct error *error)
{
    const struct ir_program *program = task->cases[which].program;
    const struct task_case *good_at = &task->cases[which];
    struct plan *plans[PLANNED_SEEDS], *plan = NULL;
    for (int i = task->case_count - 1; i >= 0; i--) {
        if (task->cases[i].timed && task->cases[i].program == program)
            good_at = &task->cases[i];
    }
    struct ir_binding binding = {ir_root(program), good_at->sizes, good_at->scalars};
    struct skeleton_program *ready = skeleton_program_new(scratch, program, &binding, target);
    if (task->accuracy)
        ready->accuracy = machine_class_bits(task->accuracy);
    int count = skeleton_seeds(ready, plans, PLANNED_SEEDS);
    for (int i = count - 1; i >= 0; i--) {
        if (plan_holds(scratch, task, program, target, plans[i]))
            plan = plans[i];
    }
    if (plan)
        propose_source(ready, plan, NULL, source);
    else
        error_set(error, ERROR_PLAN_ILLEGAL, "no plan was found for '%s'", task->name);
    arena_reset(scratch);
    return plan != NULL;
}
