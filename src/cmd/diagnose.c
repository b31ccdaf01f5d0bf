/*
 * smelt diagnose: why a kernel fails, or what bounds its speed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/judged.h"
#include "cmd/planned.h"
#include "cmd/stored.h"
#include "diagnose/diagnose.h"
#include "kernel/kernel.h"
#include "skeleton/skeleton.h"

static const struct option options[] = {
    OPTIONS_JUDGED,
    {.name = "threads", .argument = "N", .help = "threads the kernel is given (1 when not given)"},
    {.name = "seconds",
     .argument = "S",
     .help = "time to spend on timing one case (1 when not given)"},
    OPTION_STORE,
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt diagnose softmax.op kernel.c", "by the file's task"},
    {"smelt diagnose softmax 'B=[64]' D=1000 kernel.c", "an op of the library at given sizes"},
    {"smelt diagnose softmax.op kernel.c --json", "with all numbers, for programs"},
    {0},
};

struct request {
    struct judged judged;
    struct judge_options options;
    const char *device; /* the kernels' language; NULL: the processor's */
    struct machine machine;
    struct rates rates;
};

static bool take_options(struct invocation *invocation, struct request *request)
{
    int64_t threads = 1;
    double seconds = 1;
    if (!option_count(invocation, "threads", 1, MACHINE_THREADS, &threads) ||
        !option_number(invocation, "seconds", 3600, &seconds))
        return false;
    request->options = (struct judge_options){.only_case = -1,
                                              .only_draw = -1,
                                              .threads = (int)threads,
                                              .time_seconds = seconds,
                                              .inspect = true,
                                              .sanitize = true,
                                              .count = true};
    return true;
}

/* ---- the numbers of a case ---- */

/* What the plan in the kernel's head moves and computes, where there is one for this case. */
static void count_plan(struct request *request, struct invocation *invocation,
                       const struct source *kernel, const struct task_case *task_case,
                       struct diagnose_subject *subject)
{
    struct arena *arena = invocation->arena;
    const char *text = judged_plan(arena, kernel->text);
    if (!text)
        return;
    struct ir_binding binding = {ir_root(task_case->program), task_case->sizes, task_case->scalars};
    struct skeleton_target *target = arena_new(arena, struct skeleton_target);
    struct error error = {0};
    if (!planned_target(arena, request->device, target, &error))
        return;
    target->threads = request->options.threads;
    struct skeleton_program *program =
        skeleton_program_new(arena, task_case->program, &binding, target);
    struct source source = {"plan", text, strlen(text)};
    struct errors ignored = errors_new(arena);
    struct plan *plan = plan_parse(arena, &source, program->graph, &ignored);
    if (!plan || !skeleton_check(program, plan, &error))
        return; /* of another op, machine or version: then without */
    struct skeleton_cost cost = skeleton_predict(program, plan);
    subject->planned_bytes = cost.bytes;
    subject->planned_operations = cost.operations;
}

static void count_op(struct invocation *invocation, const struct task_case *task_case,
                     struct diagnose_subject *subject)
{
    struct error error;
    const struct ir_binding *binding = ir_bind(invocation->arena, task_case->program,
                                               task_case->sizes, task_case->scalars, &error);
    if (!binding)
        return;
    subject->read_bytes = ir_least_bytes(binding);
    subject->operations = ir_operations(binding);
}

static int vector_bits(const struct request *request)
{
    return request->device ? 0
                           : 8 * skeleton_target_new(&request->machine, &request->rates).full_bytes;
}

static struct diagnosis ask(struct request *request, struct invocation *invocation,
                            const struct source *kernel, const struct verdict *verdict)
{
    const struct task *task = request->judged.task;
    struct diagnosis diagnosis;
    struct diagnose_subject subject = {.verdict = verdict,
                                       .which = -1,
                                       .number = MACHINE_F32,
                                       .threads = request->device ? 1 : request->options.threads,
                                       .vector_bits = vector_bits(request),
                                       .device = request->device,
                                       .machine = &request->machine,
                                       .rates = &request->rates};
    if (task->accuracy)
        machine_number_parse(task->accuracy, &subject.number);
    for (int i = 0; i < task->case_count && i < verdict->case_count; i++) {
        if (isnan(verdict->cases[i].microseconds))
            continue;
        count_op(invocation, &task->cases[i], &subject);
        count_plan(request, invocation, kernel, &task->cases[i], &subject);
        break;
    }
    diagnose(invocation->arena, &subject, &diagnosis);
    return diagnosis;
}

/* ---- words ---- */

static void print_binary(struct text *out, const struct binary_facts *binary)
{
    text_add(out, "    binary: ");
    if (!binary->read) {
        text_printf(out, "not looked into: %s\n", binary->unread ? binary->unread : "no answer");
        return;
    }
    text_printf(out, "%lld bytes of code, %d innermost loops, ", (long long)binary->code_bytes,
                binary->loops);
    if (binary->vector_bits)
        text_printf(out, "vectors of %d bit", binary->vector_bits);
    else
        text_add(out, "no vectors in them");
    text_printf(out,
                "\n        in these loops: %d vector and %d scalar float instructions, %d "
                "multiply-adds,\n        %d spills, %d gathers, %d divisions, %d calls\n",
                binary->vector, binary->scalar, binary->fused, binary->spills, binary->gathers,
                binary->divisions, binary->calls);
}

static void print_counts(struct text *out, const struct processor_counts *counts)
{
    text_add(out, "    hardware counters: ");
    if (counts->missing)
        text_printf(out, "not here (%s)\n", counts->missing);
    else
        text_printf(out,
                    "%.3g instructions in %.3g cycles a call, %.3g cache misses, %.3g branch "
                    "misses (case %s)\n",
                    counts->instructions, counts->cycles, counts->cache_misses,
                    counts->branch_misses, counts->case_text);
}

static void print_diagnosis(struct invocation *invocation, const char *name,
                            const struct verdict *verdict, const struct diagnosis *diagnosis)
{
    struct text out = text_new(invocation->arena);
    text_printf(&out, "%s: %s: %s%s%s%s%s", name, outcome_name(verdict->outcome),
                output_bold(invocation), diagnosis_name(diagnosis->class), output_plain(invocation),
                diagnosis->pattern[0] ? ", " : "", diagnosis->pattern);
    text_printf(&out, " (confidence %.0f %%)\n", 100 * diagnosis->confidence);
    if (diagnosis->text[0])
        text_printf(&out, "    %s\n", diagnosis->text);
    for (int i = 0; i < diagnosis->fact_count; i++)
        text_printf(&out, "%s        %-36s %.4g%s%s\n", i ? "" : "    evidence\n",
                    diagnosis->facts[i].name, diagnosis->facts[i].value,
                    diagnosis->facts[i].unit[0] ? " " : "", diagnosis->facts[i].unit);
    for (int i = 0; i < diagnosis->action_count; i++)
        text_printf(&out, "%s        %d. %s\n", i ? "" : "    what would help, most first\n", i + 1,
                    diagnosis->actions[i]);
    if (verdict->binary)
        print_binary(&out, verdict->binary);
    if (verdict->counts)
        print_counts(&out, verdict->counts);
    if (verdict->id)
        text_printf(&out, "    replay: smelt judge ... --replay %s --out DIR\n", verdict->id);
    output_text(&out);
}

/* The language a kernel says it is written in; NULL: the processor's. */
static const char *device_of(struct arena *arena, const struct source *kernel)
{
    char name[32], architecture[32];
    bool named = kernel_read_target(kernel, name, architecture, sizeof name);
    return named && strcmp(name, "cpu") != 0 ? arena_string(arena, name) : NULL;
}

static enum exit_code run(struct invocation *invocation)
{
    struct request request = {0};
    struct error error = {0};
    if (!take_options(invocation, &request) || !judged_find(&request.judged, invocation))
        return errors_exit(&invocation->errors);
    request.device = device_of(invocation->arena, request.judged.kernels.at[0]);
    planned_machine(invocation->arena, request.device ? request.device : "cpu", &request.machine,
                    &request.rates);
    if (!option_given(invocation, "threads") && request.judged.as_run.threads)
        request.options.threads = request.judged.as_run.threads;
    size_t count = request.judged.kernels.count;
    struct verdict *verdicts = arena_array(invocation->arena, count, sizeof *verdicts);
    if (!judge_kernels(invocation->arena, request.judged.task, request.judged.kernels.at,
                       (int)count, &request.options, verdicts, &error)) {
        errors_take(&invocation->errors, &error);
        return error_exit(error.code);
    }
    enum exit_code exit = EXIT_YES;
    struct text out = text_new(invocation->arena);
    struct json json = {0};
    if (invocation->json) {
        json = output_json_begin(invocation, &out);
        json_string(&json, "task", request.judged.task->name);
        json_array(&json, "kernels");
    }
    for (size_t i = 0; i < count; i++) {
        const struct source *kernel = request.judged.kernels.at[i];
        struct diagnosis diagnosis = ask(&request, invocation, kernel, &verdicts[i]);
        if (verdicts[i].outcome != OUTCOME_OK)
            exit = exit_worse(exit, verdicts[i].outcome == OUTCOME_JUDGE_FAULT ? EXIT_ENVIRONMENT
                                                                               : EXIT_NO);
        if (!invocation->json) {
            print_diagnosis(invocation, kernel->name, &verdicts[i], &diagnosis);
            continue;
        }
        json_object(&json, NULL);
        json_string(&json, "kernel", kernel->name);
        diagnosis_write(&json, "diagnosis", &diagnosis);
        json_array(&json, "verdicts");
        verdict_write(&json, kernel->name, &verdicts[i]);
        json_end(&json);
        json_end(&json);
    }
    if (!invocation->json)
        return exit;
    json_end(&json);
    return exit_worse(exit, output_json_end(invocation, &json));
}

const struct command command_diagnose = {
    .name = "diagnose",
    .summary = "say why a kernel fails, or what bounds its speed",
    .operands = "FILE|OP [NAME=VALUE...] KERNEL.c... | --run RUN KERNEL.c...",
    .operand_kind = OPERAND_FILE_OR_OP,
    .least = 1,
    .most = -1,
    .description =
        "Judges a kernel, then says what is the matter with it: the place and kind of a compile "
        "error; the buffer and element it reached for out of bounds; the pattern of wrong results "
        "(the tail, edges, whole rows, transposed, scaled, shifted by a step, NaN, never written, "
        "too inexact, different from call to call); or, for a kernel that is right, whether "
        "memory, instructions or waiting bounds it.\n\n"
        "Evidence are the times, the rates of the machine (smelt probe), the counts of the plan in "
        "the kernel's head, and what the compiler made of it, read from its disassembly (objdump). "
        "Hardware counters are read where the system offers them. What is not known is said. Every "
        "candidate of a run is diagnosed in the same way: `smelt show N --candidate`.\n\n"
        "The answer is 0 when every kernel is right, 1 when one is not.",
    .options = options,
    .examples = examples,
    .run = run,
};
