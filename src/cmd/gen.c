/*
 * smelt gen: source code for an op: the kernel of a plan, or the plain one, which people and
 * proposers start from.
 */
#include <math.h>
#include <string.h>

#include "cmd/planned.h"
#include "gen/gen.h"
#include "judge/judge.h"
#include "os/os.h"

static const struct option options[] = {
    {.name = "plain",
     .help = "the plain kernel: readable C that is correct for all sizes, with the whole contract "
             "of a kernel in its head"},
    {.name = "reference",
     .help = "what large cases of these sizes are compared with on the device of --target: a plain "
             "kernel in double precision"},
    OPTIONS_PLANNED,
    OPTION_PLANNED_THREADS,
    {.name = "op", .argument = "NAME", .help = "the op of FILE"},
    {.name = "task", .argument = "NAME", .help = "the task of FILE"},
    {.name = "case",
     .letter = 'c',
     .argument = "I",
     .help = "the case whose types and ranks are meant, counted from 0 (the default)"},
    {.name = "out",
     .letter = 'o',
     .argument = "FILE",
     .help = "write to FILE instead of standard output"},
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt gen softmax.op", "the kernel of the best seed plan, for the first case"},
    {"smelt gen softmax.op --plan my.plan -o softmax.c", "the kernel of a plan you wrote"},
    {"smelt gen --plain softmax -o softmax.c", "an op of the library, at its default types"},
    {"smelt gen --plain softmax T=f16 'B=[2,3]'", "at other types and ranks"},
    {"smelt gen --plain softmax --target opencl", "the plain kernel for a device"},
    {"smelt gen --plain my_task.op --case 1", "for the second case of a file's task"},
    {"smelt gen --reference my_task.op --target cuda", "what its kernels are compared with"},
    {0},
};

/* ---- what its head says ---- */

/* The op as it was written, without the comments above it. */
const char *planned_op_text(struct arena *arena, const struct ast_op *op)
{
    if (!op->place.source || op->place.source != op->end.source)
        return NULL;
    size_t end = op->end.offset + op->end.length;
    return arena_copy(arena, op->place.source->text + op->place.offset, end - op->place.offset);
}

static const char *compiler_text(struct arena *arena)
{
    struct text text = text_new(arena);
    text_add(&text, "cc");
    for (const char *const *flag = judge_compiler_flags(); *flag; flag++)
        text_printf(&text, " %s", *flag);
    text_add(&text, " -o kernel.so kernel.c -lm");
    return text.at;
}

static void add_input(struct text *out, const struct ir_part *part, const struct task_input *input)
{
    const char *name = part->tensors[input->tensor].name;
    size_t before = out->length;
    text_printf(out, "%s", name);
    if (input->draw == DRAW_NORMAL || input->draw == DRAW_UNIFORM)
        text_printf(out, " ~ %s(%g, %g)", input->draw == DRAW_NORMAL ? "normal" : "uniform",
                    input->a, input->b);
    if (!isinf(input->low) || !isinf(input->high))
        text_printf(out, " in %c%g, %g%c", input->low_open ? '(' : '[', input->low, input->high,
                    input->high_open ? ')' : ']');
    if (out->length == before + strlen(name))
        text_truncate(out, before);
    else
        text_char(out, '\n');
}

/* What is said of inputs in the case, and of sizes in the task. */
static const char *domain_text(struct arena *arena, const struct task *task, int64_t which,
                               bool written)
{
    struct text text = text_new(arena);
    if (which < task->case_count) {
        const struct ir_part *part = ir_root(task->cases[which].program);
        for (int i = 0; i < part->input_count; i++)
            add_input(&text, part, &task->cases[which].inputs[i]);
    }
    for (int i = 0; i < task->range_count; i++)
        text_printf(&text, "%s in %lld..%lld\n", task->ranges[i].name,
                    (long long)task->ranges[i].low, (long long)task->ranges[i].high);
    for (int i = 0; written && i < task->case_count; i++)
        text_printf(&text, "case %s%s\n", task->cases[i].text,
                    task->cases[i].timed ? ", timed" : "");
    return text.at;
}

static bool write_file(struct invocation *invocation, const struct text *source)
{
    struct error error;
    if (file_write(option_value(invocation, "out"), source->at, source->length, 0644, &error))
        return true;
    errors_take(&invocation->errors, &error);
    return false;
}

static const char *target_name(struct invocation *invocation)
{
    return option_given(invocation, "target") ? option_value(invocation, "target") : "cpu";
}

static enum exit_code answer_json(struct invocation *invocation, const struct ir_program *program,
                                  const struct plan *plan, const struct planned *planned,
                                  const struct text *source)
{
    struct text out = text_new(invocation->arena), text = text_new(invocation->arena);
    struct json json = output_json_begin(invocation, &out);
    if (plan)
        plan_print(&text, plan, planned->ready->graph);
    json_string(&json, "op", ir_root(program)->name);
    json_string(&json, "target", target_name(invocation));
    json_string(&json, "form",
                plan                                    ? "plan"
                : option_given(invocation, "reference") ? "reference"
                                                        : "plain");
    if (plan)
        json_string(&json, "plan", text.at);
    json_string(&json, "file", option_value(invocation, "out"));
    json_string(&json, "source", source->at);
    return output_json_end(invocation, &json);
}

bool planned_print_plain(const struct planned *planned, struct text *source)
{
    struct invocation *invocation = planned->request.invocation;
    bool written = planned->request.subject.task && planned->request.settings.count == 0;
    const struct ir_part *part = ir_root(planned->program);
    enum dtype output = part->output_count ? part->tensors[part->outputs[0]].dtype : DTYPE_F32;
    struct gen_contract contract = {
        .op = planned_op_text(invocation->arena, planned->request.subject.op),
        .compiler = compiler_text(invocation->arena),
        .accuracy = judge_accuracy(invocation->arena, planned->task, output, written),
        .domain =
            domain_text(invocation->arena, planned->task, planned->request.first_case, written),
    };
    const char *target = target_name(invocation);
    if (strncmp(target, "cuda:", 5) == 0)
        target = "cuda";
    if (strncmp(target, "cpu", 3) == 0) {
        gen_kernel_c(source, planned->program, &contract);
        return true;
    }
    if (gen_plain_device(source, planned->program, target, &contract))
        return true;
    struct error *error = errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                                     "there is no target '%s'", target);
    error_hint(error, "targets are cpu, opencl and cuda");
    return false;
}

static bool print_reference(const struct planned *planned, struct text *source)
{
    struct invocation *invocation = planned->request.invocation;
    const struct task *task = planned->task;
    int64_t which = planned->request.first_case;
    const char *target = target_name(invocation);
    struct error problem = {0};
    struct ir_binding *binding =
        which < task->case_count
            ? ir_bind(invocation->arena, planned->program, task->cases[which].sizes,
                      task->cases[which].scalars, &problem)
            : NULL;
    if (strncmp(target, "cuda:", 5) == 0)
        target = "cuda";
    if (binding && gen_has_device(target) &&
        judge_print_reference(source, planned->program, binding->sizes, target))
        return true;
    struct error *error = errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                                     "there is no such reference on target '%s'", target);
    error_hint(error, "it is for opencl and cuda, for ops that do not compute in f64 themselves, "
                      "and for sizes: name a task, or sizes such as N=4096");
    return false;
}

static enum exit_code run(struct invocation *invocation)
{
    struct planned planned = {.request.invocation = invocation};
    struct text source = text_new(invocation->arena);
    struct plan *plan = NULL;
    bool plain = option_given(invocation, "plain");
    bool reference = option_given(invocation, "reference");
    if ((plain || reference) &&
        (option_given(invocation, "plan") || option_given(invocation, "pin"))) {
        struct error *error = errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                                         "--%s follows no plan", plain ? "plain" : "reference");
        error_hint(error, "leave out --%s, or --plan and --pin", plain ? "plain" : "reference");
        return EXIT_USAGE;
    }
    if (!planned_find(&planned))
        return EXIT_NO;
    if (reference) {
        if (!print_reference(&planned, &source))
            return EXIT_USAGE;
    } else if (plain) {
        if (!planned_print_plain(&planned, &source))
            return EXIT_USAGE;
    } else {
        if (!planned_prepare(&planned) || !(plan = planned_choose(&planned)))
            return EXIT_NO;
        planned_print(&planned, plan,
                      planned_op_text(invocation->arena, planned.request.subject.op), &source);
    }
    if (option_given(invocation, "out") && !write_file(invocation, &source))
        return EXIT_NO;
    if (invocation->json)
        return answer_json(invocation, planned.program, plan, &planned, &source);
    if (!option_given(invocation, "out"))
        output_text(&source);
    return EXIT_YES;
}

const struct command command_gen = {
    .name = "gen",
    .summary = "print a kernel of an op: by a plan, or plain",
    .operands = "FILE|OP [NAME=VALUE...]",
    .operand_kind = OPERAND_FILE_OR_OP,
    .least = 1,
    .most = -1,
    .description =
        "Prints a kernel for an op: one C file that can be judged as it is. It follows the best of "
        "the plans `smelt plan` lists, or the one in a file; see docs/plans.md. Its sizes are open "
        "unless the plan fixes them.\n\n"
        "With --plain it is the plain kernel, which people and proposers start from: slow, correct "
        "for all sizes, and its head has the manifest and, in words, everything a kernel must keep "
        "to: the entry point, order, types and shapes of tensors, sizes and scalars, alignment, "
        "threads, compiler flags, libraries and the accuracy that is asked for. See "
        "docs/kernel.md.\n\n"
        "A kernel is for certain types and ranks. For a file with a task they are those of the "
        "first case, or of the one --case names; for an op those of its defaults, or of the "
        "settings T=f16 B=[2,3]. Sizes that are given besides are those the plan is made to be "
        "good at; a plain kernel takes no notice of them.",
    .options = options,
    .examples = examples,
    .run = run,
};
