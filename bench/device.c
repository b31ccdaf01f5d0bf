/*
 * How near kernels for a device that move much and compute little are to copying:
 *
 *     device [--target cuda] [--tries N] [--no-check] [--pin GROUP.KEY=VALUE]... [NAME...]
 *
 * A NAME is one of the table below, or OP:SIZES, such as 'softmax:B=[512],D=262144,A=[]', or the
 * file of a task, whose first case is taken.
 * Times the kernel of the first plan at 512 MB and more by the device's own clock, beside a copy of
 * 512 MB to 512 MB, and compares its results with the plain kernel's where that is quick enough.
 * --tries N times N neighbours of the best plan besides and prints the best one; --pin decides
 * something in all plans but the copy's. Each kernel runs
 * in a process of its own, which is not confined: for machines where one may measure, not for
 * kernels one does not trust.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gen/gen.h"
#include "kernel/kernel.h"
#include "lang/lang.h"
#include "propose/propose.h"
#include "record/task.h"
#include "skeleton/skeleton.h"
#include "target/target.h"

enum { ROUNDS = 7, MOST_TENSORS = 16, CHUNK = 16 << 20, SAMPLES = 4096 };

static const struct device_case {
    const char *name, *op, *sizes; /* op NULL: of a task, whose file it is named after */
    bool check;                    /* the plain kernel is quick enough to compare with */
} CASES[] = {
    {"copy", "relu", "B=[134217728]", true},
    {"add", "add", "B=[134217728]", true},
    {"gelu", "gelu", "B=[134217728]", true},
    {"softmax_128", "softmax", "B=[1048576], D=128, A=[]", true},
    {"softmax_1024", "softmax", "B=[131072], D=1024, A=[]", true},
    {"softmax_4096", "softmax", "B=[32768], D=4096, A=[]", true},
    {"softmax_12000", "softmax", "B=[11184], D=12000, A=[]", true},
    {"softmax_48000", "softmax", "B=[2796], D=48000, A=[]", true},
    {"softmax_400000", "softmax", "B=[335], D=400000, A=[]", true},
    {"softmax_1000", "softmax", "B=[134217], D=1001, A=[]", true},
    {"layer_norm", "layer_norm", "B=[131072], N=[1024]", true},
    {"layer_norm_8192", "layer_norm", "B=[16384], N=[8192]", true},
    {"rms_norm", "rms_norm", "B=[32768], N=[4096]", true},
    {"sum_last", "sum", "B=[65536], D=2048, A=[]", true},
    {"sum_first", "sum", "B=[], D=65536, A=[2048]", true},
    {"sum_middle", "sum", "B=[128], D=4096, A=[1024]", true},
    {"sum_all", "sum_all", "B=[134217728]", false},
    {"max_last", "amax", "B=[65536], D=2048, A=[]", true},
    {"max_first", "amax", "B=[], D=65536, A=[2048]", true},
    {"max_middle", "amax", "B=[512], D=512, A=[512]", true},
    {"argmax", "argmax", "B=[131072], D=1024, A=[]", true},
    {"logsumexp", "logsumexp", "B=[131072], D=1024, A=[]", true},
    {"batch_norm", "batch_norm", "N=668, C=64, S=[56,56]", true},
};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES };

struct session {
    struct arena arena;
    const struct target *target;
    struct device device;
    struct skeleton_device facts;
    struct skeleton_target plans_for;
    struct lang *lang;
    struct plan_pins pins;
    int tries;
    bool unchecked;
};

struct subject { /* one case, its memory filled */
    const struct ir_program *program;
    const struct ir_part *part;
    struct ir_binding binding;
    struct target_memory tensors[MOST_TENSORS];
    int64_t bytes[MOST_TENSORS], moved;
    enum dtype dtypes[MOST_TENSORS];
    int tensor_count;
};

static void fail(const struct error *error)
{
    fprintf(stderr, "device: %s\n", error->message);
    exit(1);
}

/* ---- memory ---- */

static void fill(struct session *session, struct subject *subject, int number, enum dtype dtype)
{
    static float numbers[CHUNK / 4];
    struct error error = {0};
    uint32_t state = 1;
    for (int i = 0; i < CHUNK / 4; i++) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = (float)(state >> 8) / (float)(1 << 23) + 0.125f; /* above 0: variances too */
    }
    bool floats = dtype == DTYPE_F32;
    if (!floats)
        memset(numbers, 0, sizeof numbers);
    for (int64_t at = 0; at < subject->bytes[number]; at += CHUNK) {
        int64_t rest = subject->bytes[number] - at;
        if (!session->target->write(&session->device, subject->tensors[number], (size_t)at, numbers,
                                    (size_t)(rest < CHUNK ? rest : CHUNK), &error))
            fail(&error);
    }
}

static bool prepare(struct session *session, const struct device_case *one, struct subject *subject)
{
    struct errors errors = errors_new(&session->arena);
    const char *text =
        arena_printf(&session->arena, "task t of %s\n    dtype T=f32\n    case %s  time\n",
                     one->op ? one->op : "", one->sizes ? one->sizes : "");
    struct lang_file *file =
        one->op ? lang_load_text(session->lang, "bench", text, strlen(text), &errors)
                : lang_load(session->lang, one->name, &errors);
    struct task *task =
        file ? lang_task(session->lang, file, lang_task_ast(file, 0), &errors) : NULL;
    if (!task) {
        printf("%-16s cannot be: %s\n", one->name,
               errors.list.count ? errors.list.at[0].message : "?");
        return false;
    }
    *subject = (struct subject){.program = task->cases[0].program};
    subject->part = ir_root(subject->program);
    subject->binding =
        (struct ir_binding){subject->part, task->cases[0].sizes, task->cases[0].scalars};
    for (int i = 0; i < subject->part->input_count + subject->part->output_count; i++) {
        bool input = i < subject->part->input_count;
        int tensor = input ? subject->part->inputs[i]
                           : subject->part->outputs[i - subject->part->input_count];
        subject->dtypes[i] = subject->part->tensors[tensor].dtype;
        subject->bytes[i] = ir_tensor_shape(&subject->binding, tensor, NULL) *
                            (int64_t)dtype_bytes(subject->dtypes[i]);
        subject->moved += subject->bytes[i];
        subject->tensor_count++;
    }
    return true;
}

static void allocate(struct session *session, struct subject *subject)
{
    struct error error = {0};
    for (int i = 0; i < subject->tensor_count; i++) {
        if (!session->target->allocate(&session->device, (size_t)subject->bytes[i] + 512,
                                       &subject->tensors[i], &error))
            fail(&error);
        if (i < subject->part->input_count)
            fill(session, subject, i, subject->dtypes[i]);
    }
}

/* ---- a kernel ---- */

struct measured { /* of one kernel, from the process it ran in */
    double seconds;
    double samples[SAMPLES]; /* of the first output */
};

struct loaded {
    struct kernel *kernel;
    struct target_memory buffers[64];
};

static bool load(struct session *session, const struct subject *subject, const struct text *text,
                 struct loaded *loaded)
{
    struct errors errors = errors_new(&session->arena);
    struct error error = {0};
    struct target_build build;
    struct source *source = arena_new(&session->arena, struct source);
    *source = (struct source){.name = "kernel", .text = text->at, .length = text->length};
    loaded->kernel = kernel_parse(&session->arena, source, subject->part, &errors);
    if (!loaded->kernel) {
        printf("    manifest: %s\n", errors.list.at[0].message);
        return false;
    }
    if (!session->target->compile(&session->arena, &session->device, loaded->kernel->architecture,
                                  text->at, text->length, &build, &error))
        fail(&error);
    if (!build.done) {
        printf("    does not compile: %.300s\n", build.log.at);
        return false;
    }
    const char *bytes = build.binary ? build.binary : text->at;
    size_t length = build.binary ? build.binary_bytes : text->length;
    if (!session->target->load(&session->device, bytes, length, &error))
        fail(&error);
    for (int i = 0; i < loaded->kernel->buffer_count; i++) {
        int64_t size = kernel_buffer_bytes(&loaded->kernel->buffers[i], subject->binding.sizes);
        if (!session->target->allocate(&session->device, (size_t)size + 512, &loaded->buffers[i],
                                       &error))
            fail(&error);
    }
    return true;
}

static int64_t number_of(const struct ir_size *size, const int64_t *sizes, int64_t otherwise)
{
    int64_t value = otherwise;
    if (size)
        ir_size_eval(size, sizes, &value);
    return value;
}

static bool launch(struct session *session, const struct subject *subject,
                   const struct loaded *loaded, const struct kernel_step *step)
{
    struct error error = {0};
    struct target_argument arguments[64];
    struct target_launch out = {.function = step->name,
                                .arguments = arguments,
                                .argument_count = step->argument_count,
                                .shared = number_of(step->shared, subject->binding.sizes, 0)};
    for (int i = 0; i < 3; i++) {
        out.grid[i] = number_of(step->grid[i], subject->binding.sizes, 1);
        out.block[i] = number_of(step->block[i], subject->binding.sizes, 1);
    }
    for (int i = 0; i < step->argument_count; i++) {
        int number = step->arguments[i].number;
        arguments[i] = (struct target_argument){.kind = TARGET_POINTER};
        switch (step->arguments[i].kind) {
        case KERNEL_TENSOR: arguments[i].memory = subject->tensors[number]; break;
        case KERNEL_BUFFER: arguments[i].memory = loaded->buffers[number]; break;
        case KERNEL_SIZE:
            arguments[i].kind = TARGET_INTEGER;
            arguments[i].integer = subject->binding.sizes[number];
            break;
        case KERNEL_SCALAR:
            arguments[i].kind = TARGET_REAL;
            arguments[i].real = subject->binding.scalars[number];
            break;
        case KERNEL_COUNTER: return false;
        }
    }
    if (!session->target->launch(&session->device, &out, &error)) {
        printf("    launch: %s\n", error.message);
        return false;
    }
    return true;
}

/* Seconds of one call, the least of some; INFINITY: it cannot be. */
static double time_kernel(struct session *session, const struct subject *subject,
                          const struct text *text, int rounds)
{
    struct loaded loaded = {0};
    struct error error = {0};
    double least = INFINITY, seconds;
    if (!load(session, subject, text, &loaded))
        return INFINITY;
    for (int round = 0; round < rounds; round++) {
        if (!session->target->begin(&session->device, &error))
            fail(&error);
        for (int i = 0; i < loaded.kernel->step_count; i++)
            if (loaded.kernel->steps[i].kind != KERNEL_LAUNCH ||
                !launch(session, subject, &loaded, &loaded.kernel->steps[i]))
                return INFINITY;
        if (!session->target->finish(&session->device, &seconds, &error)) {
            printf("    %s\n", error.message);
            return INFINITY;
        }
        least = seconds < least ? seconds : least;
    }
    return least;
}

/* ---- a process of its own ---- */

/* Elements of the first output, spread over all of it. */
static void take_samples(struct session *session, const struct subject *subject,
                         struct measured *outcome)
{
    int output = subject->part->input_count;
    struct error error = {0};
    int64_t size = (int64_t)dtype_bytes(subject->dtypes[output]);
    int64_t count = subject->bytes[output] / size;
    for (int i = 0; i < SAMPLES; i++) {
        int64_t at = (int64_t)((double)i / SAMPLES * (double)count) + i % 7;
        unsigned char bytes[8] = {0};
        at = at < count ? at : count - 1;
        if (!session->target->read(&session->device, subject->tensors[output], (size_t)(at * size),
                                   bytes, (size_t)size, &error))
            fail(&error);
        float single;
        int64_t whole;
        memcpy(&single, bytes, sizeof single);
        memcpy(&whole, bytes, sizeof whole);
        outcome->samples[i] = subject->dtypes[output] == DTYPE_F32 ? single : (double)whole;
    }
}

static struct measured run_kernel(struct session *session, struct subject *subject,
                                  const struct text *text, int rounds)
{
    static struct measured outcome;
    int pipes[2];
    outcome = (struct measured){.seconds = INFINITY};
    fflush(stdout);
    if (pipe(pipes) != 0)
        return outcome;
    pid_t child = fork();
    if (child == 0) {
        struct error error = {0};
        if (!session->target->open(&session->device, &error))
            fail(&error);
        allocate(session, subject);
        outcome.seconds = time_kernel(session, subject, text, rounds);
        if (isfinite(outcome.seconds))
            take_samples(session, subject, &outcome);
        fflush(stdout);
        size_t done = 0;
        for (ssize_t put = 1; put > 0 && done < sizeof outcome; done += (size_t)put)
            put = write(pipes[1], (const char *)&outcome + done, sizeof outcome - done);
        _exit(0);
    }
    close(pipes[1]);
    size_t done = 0;
    for (ssize_t got = 1; got > 0 && done < sizeof outcome; done += (size_t)(got > 0 ? got : 0))
        got = read(pipes[0], (char *)&outcome + done, sizeof outcome - done);
    if (done < sizeof outcome)
        outcome.seconds = INFINITY;
    close(pipes[0]);
    waitpid(child, NULL, 0);
    return outcome;
}

static double difference(const struct measured *a, const struct measured *b)
{
    double most = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double apart = fabs(a->samples[i] - b->samples[i]) / (fabs(b->samples[i]) + 1e-20);
        most = apart > most || apart != apart ? apart : most;
    }
    return most;
}

/* ---- one case ---- */

static struct measured run_plan(struct session *session, struct subject *subject,
                                const struct skeleton_program *program, const struct plan *plan)
{
    struct text text = text_new(&session->arena);
    propose_source(program, plan, NULL, &text);
    return run_kernel(session, subject, &text, ROUNDS);
}

static struct plan *try_neighbours(struct session *session, struct subject *subject,
                                   const struct skeleton_program *program, struct plan *best,
                                   double *seconds)
{
    struct random random = random_new(1, 0);
    for (int i = 0; i < session->tries; i++) {
        struct plan_space space = skeleton_space(program, best);
        struct plan *other = plan_mutate(&space, &random, best);
        double tried = other ? run_plan(session, subject, program, other).seconds : INFINITY;
        if (tried < 0.99 * *seconds) {
            *seconds = tried;
            best = other;
        }
    }
    return best;
}

static void run_case(struct session *session, const struct device_case *one, double *copy)
{
    struct subject subject;
    struct plan *seeds[4], *best; /* of several: those that fix sizes are among them */
    char compared[32] = "-";
    if (!prepare(session, one, &subject))
        return;
    struct skeleton_program *program = skeleton_program_new(&session->arena, subject.program,
                                                            &subject.binding, &session->plans_for);
    if (session->pins.count && strcmp(one->name, "copy") != 0)
        program->pins = &session->pins;
    if (skeleton_seeds(program, seeds, 4) == 0) {
        printf("%-16s no plan\n", one->name);
        return;
    }
    best = seeds[0];
    struct measured first = run_plan(session, &subject, program, best);
    double seconds = first.seconds, predicted = skeleton_predict(program, best).seconds;
    if (one->check && !session->unchecked) {
        struct text plain = text_new(&session->arena);
        gen_plain_device(&plain, subject.program, session->target->name, &(struct gen_contract){0});
        struct measured outcome = run_kernel(session, &subject, &plain, 1);
        snprintf(compared, sizeof compared, "%.1e", difference(&first, &outcome));
    }
    best = try_neighbours(session, &subject, program, best, &seconds);
    double rate = (double)subject.moved / seconds / 1e9;
    if (strcmp(one->name, "copy") == 0)
        *copy = rate;
    printf("%-16s %9.1f us %7.1f GB/s %6.3f of copy, predicted %8.1f us, first %8.1f us, differs "
           "%s\n",
           one->name, seconds * 1e6, rate, *copy > 0 ? rate / *copy : NAN, predicted * 1e6,
           first.seconds * 1e6, compared);
    if (session->tries) {
        struct text text = text_new(&session->arena);
        plan_print(&text, best, program->graph);
        printf("%s\n", text.at);
    }
    fflush(stdout);
}

/* What the driver tells, asked in a process of its own as well: it must not be open when others
 * are made. */
static bool ask(struct session *session, struct target_facts *facts)
{
    int pipes[2];
    if (pipe(pipes) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        struct error error = {0};
        if (!session->target->open(&session->device, &error))
            fail(&error);
        session->target->describe(&session->device, facts);
        _exit(write(pipes[1], facts, sizeof *facts) == (ssize_t)sizeof *facts ? 0 : 1);
    }
    close(pipes[1]);
    bool told = read(pipes[0], facts, sizeof *facts) == (ssize_t)sizeof *facts;
    close(pipes[0]);
    waitpid(child, NULL, 0);
    return told;
}

static void add_pin(struct session *session, const char *text)
{
    struct error error = {0};
    struct plan_pin pin;
    if (!plan_pin_parse(&session->arena, text, &pin, &error))
        fail(&error);
    vector_push(&session->arena, &session->pins, pin);
}

int main(int count, char **words)
{
    struct session session = {0};
    struct target_facts facts;
    const char *target = "cuda", *only[CASE_COUNT], *owns[CASE_COUNT];
    int chosen = 0, own = 0;
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--target") == 0 && i + 1 < count)
            target = words[++i];
        else if (strcmp(words[i], "--tries") == 0 && i + 1 < count)
            session.tries = atoi(words[++i]);
        else if (strcmp(words[i], "--no-check") == 0)
            session.unchecked = true;
        else if (strcmp(words[i], "--pin") == 0 && i + 1 < count)
            add_pin(&session, words[++i]);
        else if ((strchr(words[i], ':') || strstr(words[i], ".op")) && own < CASE_COUNT)
            owns[own++] = words[i];
        else if (chosen < CASE_COUNT)
            only[chosen++] = words[i];
    }
    session.target = target_find(target);
    if (!session.target || !session.target->open ||
        !skeleton_device_named(&session.facts, target, NULL)) {
        fprintf(stderr, "device: there is no target %s\n", target);
        return 2;
    }
    if (!ask(&session, &facts))
        return 3;
    if (facts.architecture[0] && !skeleton_device_named(&session.facts, target, facts.architecture))
        session.facts.architecture = facts.architecture;
    session.facts.units = facts.units > 0 ? (int)facts.units : session.facts.units;
    session.plans_for = skeleton_target_device(&session.facts);
    session.lang = lang_new(&session.arena, lang_library_folder(&session.arena));
    double copy = 0;
    for (int i = 0; i < CASE_COUNT; i++) {
        bool wanted = chosen + own == 0 || i == 0;
        for (int k = 0; k < chosen; k++)
            wanted |= strcmp(only[k], CASES[i].name) == 0;
        if (!wanted)
            continue;
        run_case(&session, &CASES[i], &copy);
    }
    for (int i = 0; i < own; i++) {
        const char *colon = strchr(owns[i], ':');
        struct device_case one = {.name = owns[i], .check = true};
        if (colon) {
            one.op = arena_copy(&session.arena, owns[i], (size_t)(colon - owns[i]));
            one.sizes = colon + 1;
        }
        run_case(&session, &one, &copy);
    }
    arena_release(&session.arena);
    return 0;
}
