/*
 * The reference on a device: the op in double precision, one thread per element
 * (src/ir/reference.c, src/gen/device/plain.c), and the plain kernel in the op's own types. Each
 * runs in a confined process of its own, the usual cell of a device, driven by a process that
 * answers questions: which values do these elements have for these inputs? No context is shared
 * with a kernel that is judged.
 *
 * It is believed only after it has given the processor's answers in the small cases of the task, by
 * the very binaries that serve the large one.
 */
#include "judge/reference.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "gen/gen.h"
#include "judge/sample.h"
#include "os/os.h"

enum { MOST_PLACES = 8192, CALL_SECONDS = 120 };

/* Fewer values the processor computes in the time it takes to start; more points in one thread
 * take a device longer than the processor. */
static const double least_steps = 2e8, longest_thread = 1 << 24;
static const double share_of_memory = 0.6; /* of the device's: kernels and baselines want some */

struct question { /* shared with the process that answers */
    struct drawn_recipe recipe;
    int draw;
    bool turned;
    int64_t turns[CELL_MAX_TENSORS];
    double disturbance, disturbance_seed;
    int64_t count;
    struct oracle_place places[MOST_PLACES];
    struct ir_value values[MOST_PLACES];
    bool good;
    char message[400];
};

struct form {
    struct source source;
    struct compiled compiled;
    const struct ir_part *part;
    const struct kernel *kernel;
    /* the process, where it runs */
    pid_t process;
    int socket; /* to ask by */
    struct question *question;
};

struct reference {
    const struct target *target;
    const struct task_case *task_case; /* the one it runs for */
    const struct ir_binding *binding;
    int disturbance, seed; /* scalars of the exact form */
    struct form forms[REFERENCE_FORMS];
};

/* ---- the process that answers ---- */

struct serving {
    const struct reference *reference;
    struct form *form;
    bool exact;
    int socket;
    struct arena arena, drawn_arena;
    struct launch launch;
    struct launch_result result;
    struct worker worker;
    struct drawn *drawn;
};

/* Sizes are the case's, number for number; scalars, too, and those of the reference behind them. */
static struct ir_binding *bind_form(struct arena *arena, const struct form *form,
                                    const struct ir_binding *binding)
{
    struct ir_binding *own = arena_new(arena, struct ir_binding);
    double *scalars = arena_array(arena, (size_t)form->part->scalar_count + 1, sizeof *scalars);
    for (int i = 0; i < binding->part->scalar_count; i++)
        scalars[i] = binding->scalars[i];
    *own = (struct ir_binding){.part = form->part, .sizes = binding->sizes, .scalars = scalars};
    return own;
}

static bool start(struct serving *serving)
{
    const struct reference *reference = serving->reference;
    const struct form *form = serving->form;
    const struct ir_binding *binding = bind_form(&serving->arena, form, reference->binding);
    serving->launch =
        (struct launch){.binding = binding,
                        .library = form->compiled.library,
                        .directory = form->compiled.directory,
                        .scratch = kernel_scratch(form->kernel, binding->sizes),
                        .threads = 1,
                        .seconds = CALL_SECONDS,
                        .layers = ~0U,
                        .device = device_make(&serving->arena, form->kernel, binding)};
    struct worker *worker = &serving->worker;
    *worker = (struct worker){
        .launch = &serving->launch,
        .part = form->part,
        .result = &serving->result,
        .slots = 1,
        .drawn = drawn_bytes(reference->task_case, reference->binding, DRAWN_MOST_DRAWS, true)};
    if (serving->launch.device->problem)
        return worker_fail(worker, OUTCOME_JUDGE_FAULT, serving->launch.device->problem);
    if (!worker_make_buffers(worker))
        return false;
    worker->control->drawn.used = 1;
    return worker_start_cell(worker, "");
}

static bool same_recipe(const struct drawn_recipe *a, const struct drawn_recipe *b)
{
    bool same = a->draw_count == b->draw_count && a->turns == b->turns && a->seed == b->seed;
    for (int i = 0; same && i < a->draw_count; i++)
        same = a->kinds[i] == b->kinds[i];
    return same;
}

/* Inputs as the question says, unless they are there already. */
static bool take_inputs(struct serving *serving, const struct question *question)
{
    struct error error = {0};
    if (serving->drawn && same_recipe(&serving->drawn->recipe, &question->recipe))
        return true;
    drawn_close(serving->drawn);
    arena_reset(&serving->drawn_arena);
    serving->drawn = drawn_make(&serving->drawn_arena, serving->reference->task_case,
                                serving->reference->binding, &question->recipe, &error);
    if (!serving->drawn)
        return worker_fail(&serving->worker, OUTCOME_JUDGE_FAULT, error.message);
    worker_take_drawn(&serving->worker, serving->drawn);
    return true;
}

static void read_values(const struct worker *worker, struct question *question)
{
    const void *outputs[CELL_MAX_TENSORS];
    worker_output_pointers(worker, 0, outputs);
    for (int64_t p = 0; p < question->count; p++) {
        const struct oracle_place *place = &question->places[p];
        enum dtype dtype = worker->part->tensors[worker->part->outputs[place->output]].dtype;
        const char *at =
            (const char *)outputs[place->output] + (size_t)place->element * dtype_bytes(dtype);
        question->values[p] = (struct ir_value){0};
        if (dtype_is_float(dtype))
            question->values[p].number = dtype_load_float(dtype, at);
        else
            question->values[p].integer = dtype_load_integer(dtype, at);
    }
}

static bool answer(struct serving *serving, struct question *question)
{
    const struct reference *reference = serving->reference;
    struct worker *worker = &serving->worker;
    if (!take_inputs(serving, question))
        return false;
    if (serving->exact) {
        worker_set_scalar(worker, reference->disturbance, question->disturbance);
        worker_set_scalar(worker, reference->seed, question->disturbance_seed);
    }
    worker_draw(worker, 0, serving->drawn, question->draw,
                question->turned ? question->turns : NULL, 0, 0);
    if (!worker_call(worker, 0) || !worker_fetch(worker, 0, question->places, question->count))
        return false;
    read_values(worker, question);
    return true;
}

static void serve(void *context)
{
    struct serving *serving = context;
    struct question *question = serving->form->question;
    char word;
    bool good = start(serving);
    while (read(serving->socket, &word, 1) == 1) {
        question->good = good && answer(serving, question);
        snprintf(question->message, sizeof question->message, "%s", serving->result.message);
        if (write(serving->socket, &word, 1) != 1)
            return;
    }
}

static bool start_form(struct reference *reference, enum reference_form number, struct error *error)
{
    struct form *form = &reference->forms[number];
    int sockets[2];
    if (!form->question) {
        void *shared = mmap(NULL, sizeof *form->question, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED)
            return error_system(error, ERROR_OUT_OF_MEMORY, "no memory for a reference");
        form->question = shared;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return error_system(error, ERROR_TOOL_FAILED, "a reference could not be started");
    pid_t self = getpid();
    form->process = fork();
    if (form->process == 0) {
        struct serving serving = {.reference = reference,
                                  .form = form,
                                  .exact = number == REFERENCE_EXACT,
                                  .socket = sockets[1]};
        sandbox_follow(self);
        signal(SIGINT, SIG_IGN); /* Ctrl-C is for the run: it ends us when it is done */
        close(sockets[0]);
        bool enough = memory_try(serve, &serving);
        sandbox_kill(&serving.worker.process);
        _exit(enough ? 0 : 1);
    }
    close(sockets[1]);
    form->socket = sockets[0];
    return form->process > 0 ||
           error_system(error, ERROR_TOOL_FAILED, "a reference could not be started");
}

static void stop_form(struct form *form)
{
    if (form->socket > 0)
        close(form->socket); /* which ends it, unless it is in the midst of something */
    if (form->process > 0) {
        kill(form->process, SIGKILL);
        while (waitpid(form->process, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    form->socket = 0;
    form->process = 0;
}

static bool start_forms(struct reference *reference, const struct task_case *task_case,
                        const struct ir_binding *binding, struct error *error)
{
    reference->task_case = task_case;
    reference->binding = binding;
    sandbox_available(); /* found out once, here */
    return start_form(reference, REFERENCE_EXACT, error) &&
           start_form(reference, REFERENCE_PLAIN, error);
}

static void stop_forms(struct reference *reference)
{
    for (int i = 0; i < REFERENCE_FORMS; i++)
        stop_form(&reference->forms[i]);
}

bool reference_values(const struct reference *reference, enum reference_form number,
                      const struct drawn *drawn, int draw, const int64_t *turns,
                      const struct oracle_options *options, const struct oracle_place *places,
                      int64_t count, struct ir_value *values, struct error *error)
{
    const struct form *form = &reference->forms[number];
    struct question *question = form->question;
    char word = 'v';
    for (int64_t first = 0; first < count; first += MOST_PLACES) {
        size_t some = (size_t)(count - first < MOST_PLACES ? count - first : MOST_PLACES);
        question->recipe = drawn->recipe;
        question->draw = draw;
        question->turned = turns != NULL;
        if (turns)
            memcpy(question->turns, turns, sizeof question->turns);
        question->disturbance = options->disturbance;
        question->disturbance_seed = (double)(options->disturbance_seed >> 12); /* exactly */
        question->count = (int64_t)some;
        memcpy(question->places, places + first, some * sizeof *places);
        if (send(form->socket, &word, 1, MSG_NOSIGNAL) != 1 || read(form->socket, &word, 1) != 1)
            return error_set(error, ERROR_TOOL_FAILED, "the reference on the device ended");
        if (!question->good)
            return error_set(error, ERROR_TOOL_FAILED, "the reference on the device failed: %.200s",
                             question->message);
        memcpy(values + first, question->values, some * sizeof *values);
    }
    return true;
}

/* ---- making ---- */

/* Kernel and binary of one form. False without an error: the device does not take it. */
static bool make_form(struct arena *arena, struct form *form, const struct ir_program *program,
                      const struct target *target, struct error *error)
{
    struct gen_contract contract = {0};
    struct text text = text_new(arena);
    struct errors problems = errors_new(arena);
    form->part = ir_root(program);
    if (!gen_plain_device(&text, program, target->name, &contract))
        return false;
    form->source = (struct source){"reference", text.at, text.length};
    form->kernel = kernel_parse(arena, &form->source, form->part, &problems);
    if (!form->kernel || !compile_kernel(arena, &form->source, &form->compiled, error))
        return false;
    if (form->compiled.done)
        return true;
    log_warn("the reference for the device does not compile: %.300s", form->compiled.output);
    return false;
}

static double form_bytes(struct arena *arena, const struct form *form,
                         const struct ir_binding *binding)
{
    struct ir_binding *own = bind_form(arena, form, binding);
    return ir_bytes(own) + (double)kernel_scratch(form->kernel, own->sizes);
}

/* ---- believing ---- */

/* A millionth of what a kernel may be off by: what double precision and two libraries' functions
 * leave is a thousandth of that. */
static bool is_equal(const struct array *expected, const double *limits, int64_t element,
                     const struct ir_value *value, enum reference_form form)
{
    static const double least = 0x1p-40;
    double share = form == REFERENCE_EXACT ? 1e-6 : 16;
    if (!expected->floats)
        return expected->integers[element] == value->integer;
    double wanted = expected->floats[element], got = value->number;
    double allowed = fmax(limits ? share * limits[element] : 0, least * fabs(wanted));
    return got == wanted || (isnan(got) && isnan(wanted)) || fabs(got - wanted) <= allowed ||
           /* the plain kernel has the op's types, which hold less than double */
           (form == REFERENCE_PLAIN && isinf(got) && got == dtype_round(expected->dtype, wanted)) ||
           (limits && isinf(limits[element]));
}

static bool compare_values(const struct reference *reference, const struct sample_expected *sample,
                           const struct ir_value *values, enum reference_form form,
                           struct error *error)
{
    const struct ir_part *part = reference->binding->part;
    int64_t at = 0;
    for (int o = 0; o < part->output_count; o++) {
        const struct array *expected = &sample->draw.expected[o];
        for (int64_t i = 0; i < expected->count; i++, at++) {
            if (is_equal(expected, sample->draw.limits[o], i, &values[at], form))
                continue;
            bool number = expected->floats != NULL;
            error_set(error, ERROR_TOOL_FAILED,
                      "the %s on %s differs from the processor's: element %lld of '%s' is %.17g, "
                      "not %.17g, in case %.100s",
                      form == REFERENCE_EXACT ? "reference" : "plain kernel",
                      reference->target->name, (long long)sample->places[at].element,
                      expected->name, number ? values[at].number : (double)values[at].integer,
                      number ? expected->floats[i] : (double)expected->integers[i],
                      reference->task_case->text);
            error_hint(error, "judge with --oracle cpu, and report this: a driver or smelt is at "
                              "fault");
            return false;
        }
    }
    return true;
}

static bool compare_draw(const struct reference *reference, const struct sampling *sampling,
                         int kind, struct arena *arena, struct error *error)
{
    struct drawn_recipe recipe = {.kinds = {kind}, .draw_count = 1, .seed = sampling->seed};
    struct random random = random_new(sampling->seed, 90);
    struct oracle_options exactly = {.exact_outputs = true};
    struct sample_expected sample;
    struct drawn *drawn =
        drawn_make(arena, reference->task_case, reference->binding, &recipe, error);
    bool good = drawn && sample_expect(sampling, reference->binding, drawn, 0, MOST_PLACES, arena,
                                       &random, &sample, error);
    for (int form = 0; good && form < REFERENCE_FORMS; form++) {
        struct ir_value *values = arena_array(arena, (size_t)sample.count + 1, sizeof *values);
        good = reference_values(reference, form, drawn, 0, NULL, &exactly, sample.places,
                                sample.count, values, error) &&
               compare_values(reference, &sample, values, form, error);
    }
    drawn_close(drawn);
    return good;
}

/* One small case, by the processor and by the device. */
static bool agrees(struct reference *reference, const struct reference_case *wanted,
                   const struct task_case *small, struct error *error)
{
    struct arena arena = {0};
    struct ir_binding *binding =
        ir_bind(&arena, small->program, small->sizes, small->scalars, error);
    struct oracle_slice *slice =
        binding ? oracle_slice_compile(&arena, small->program, false, error) : NULL;
    struct oracle_slice *plain =
        slice ? oracle_slice_compile(&arena, small->program, true, error) : NULL;
    bool good = error->code == ERROR_NONE && start_forms(reference, small, binding, error);
    if (good) {
        struct sampling sampling = {.task = wanted->task,
                                    .task_case = small,
                                    .slice = slice,
                                    .plain = plain,
                                    .rule = limit_rule_make(&arena, wanted->task, binding),
                                    .seed = hash_mix(wanted->seed, 3000),
                                    .memory = 1 << 30,
                                    .only_draw = -1};
        for (int n = 0, kind; good && (kind = draw_sampled(small, n, NULL)) >= 0; n++)
            good = compare_draw(reference, &sampling, kind, &arena, error);
    }
    stop_forms(reference);
    oracle_slice_close(slice);
    oracle_slice_close(plain);
    arena_release(&arena);
    return good;
}

/* What agreed once need not be asked again, as long as nothing has changed. */
static const char *question_of(struct arena *arena, const struct reference *reference,
                               const char *said)
{
    struct text text = text_new(arena);
    text_printf(&text, "reference 1\n%s\n%s\n", SMELT_VERSION, said);
    for (int i = 0; i < REFERENCE_FORMS; i++)
        text_add(&text, reference->forms[i].source.text);
    return text.at;
}

/* False without an error: there is no case small enough. */
static bool is_believed(struct arena *arena, struct reference *reference,
                        const struct reference_case *wanted, const char *said, struct error *error)
{
    const char *question = question_of(arena, reference, said);
    int agreed = choice_recall(arena, question, 2) == 1 ? 1 : 0;
    for (int i = 0; !agreed && i < wanted->task->case_count; i++) {
        const struct task_case *small = &wanted->task->cases[i];
        if (small->program != wanted->task_case->program)
            continue;
        struct ir_binding *binding =
            ir_bind(arena, small->program, small->sizes, small->scalars, error);
        if (!binding)
            return false;
        if (oracle_steps(binding, NULL) >= least_steps)
            continue;
        if (!agrees(reference, wanted, small, error))
            return false;
        choice_keep(arena, question, agreed = 1);
    }
    return agreed;
}

/* ---- whether there is one ---- */

bool judge_print_reference(struct text *out, const struct ir_program *program, const int64_t *sizes,
                           const char *target)
{
    struct ir_reference exact;
    struct gen_contract contract = {0};
    return ir_reference(out->arena, program, &exact) &&
           gen_plain_device(out, ir_spread(out->arena, exact.program, sizes), target, &contract);
}

/* NULL: it is one; else why not. */
static const char *make(struct arena *arena, struct reference *reference,
                        const struct reference_case *wanted, const char *said, struct error *error)
{
    const struct ir_program *program = wanted->task_case->program;
    const int64_t *sizes = wanted->binding->sizes;
    struct ir_reference exact;
    if (limit_class_bits(wanted->task->accuracy) >= 53 || !ir_reference(arena, program, &exact))
        return "double precision is no more than the task's own";
    struct ir_program *programs[REFERENCE_FORMS] = {
        ir_spread(arena, exact.program, sizes),
        ir_spread(arena, ir_flatten(arena, program), sizes)};
    reference->disturbance = exact.disturbance;
    reference->seed = exact.seed;
    if (ir_longest_thread(programs[0], sizes) > longest_thread)
        return "a thread of the device would have too much to do";
    double bytes = 0, memory = strtod(device_fact(arena, said, "memory"), NULL);
    for (int i = 0; i < REFERENCE_FORMS; i++) {
        if (!make_form(arena, &reference->forms[i], programs[i], wanted->target, error))
            return "it does not compile there";
        bytes += form_bytes(arena, &reference->forms[i], wanted->binding);
    }
    if (bytes > share_of_memory * memory)
        return "the device has not enough memory";
    if (!is_believed(arena, reference, wanted, said, error))
        return "no case of the task is small enough to check it by";
    return start_forms(reference, wanted->task_case, wanted->binding, error)
               ? NULL
               : "it could not be started";
}

static bool is_wanted(struct arena *arena, const struct reference_case *wanted, const char **said,
                      struct error *error)
{
    enum judge_oracle oracle = wanted->options->oracle;
    if (!wanted->target || oracle == JUDGE_ORACLE_CPU ||
        (oracle == JUDGE_ORACLE_AUTO && oracle_steps(wanted->binding, NULL) < least_steps))
        return false;
    *said = device_describe(arena, wanted->target, error);
    return *said && atoi(device_fact(arena, *said, "doubles")) > 0 &&
           (oracle == JUDGE_ORACLE_DEVICE || atoi(device_fact(arena, *said, "gpu")) > 0);
}

const struct reference *reference_get(struct references *references,
                                      const struct reference_case *wanted, struct error *error)
{
    if (references->number == wanted->number + 1)
        return references->open;
    references_release(references);
    references->number = wanted->number + 1;
    struct arena *arena = &references->arena;
    const char *said = NULL;
    if (!is_wanted(arena, wanted, &said, error))
        return NULL;
    struct reference *reference = arena_new(arena, struct reference);
    reference->target = wanted->target;
    references->open = reference; /* so that it is released whatever happens */
    const char *why_not = make(arena, reference, wanted, said, error);
    if (!why_not)
        return reference;
    references_release(references);
    references->number = wanted->number + 1;
    if (wanted->options->oracle == JUDGE_ORACLE_DEVICE) {
        if (error->code == ERROR_NONE) {
            error_set(error, ERROR_USAGE, "case %.100s has no reference on the device: %s",
                      wanted->task_case->text, why_not);
            error_hint(error, "leave it to smelt which one is used: --oracle auto");
        }
        return NULL;
    }
    log_warn("case %s is compared with the processor's reference: %s", wanted->task_case->text,
             error->code != ERROR_NONE ? error->message : why_not);
    *error = (struct error){0};
    return NULL;
}

void references_release(struct references *references)
{
    struct reference *open = references->open;
    if (open) {
        stop_forms(open);
        for (int i = 0; i < REFERENCE_FORMS; i++) {
            compiled_release(&open->forms[i].compiled);
            if (open->forms[i].question)
                munmap(open->forms[i].question, sizeof *open->forms[i].question);
        }
    }
    arena_release(&references->arena);
    *references = (struct references){0};
}
