/*
 * smelt gen: source code for an op. So far the plain kernel, which people and proposers start from.
 */
#include <math.h>
#include <string.h>

#include "cmd/ref.h"
#include "gen/gen.h"
#include "judge/judge.h"
#include "os/os.h"

static const struct option options[] = {
    {.name = "plain",
     .help = "the plain kernel: readable C that is correct for all sizes, with the whole contract "
             "of a kernel in its head"},
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
    {"smelt gen --plain softmax -o softmax.c", "an op of the library, at its default types"},
    {"smelt gen --plain softmax T=f16 'B=[2,3]'", "at other types and ranks"},
    {"smelt gen --plain my_task.op --case 1", "for the second case of a file's task"},
    {0},
};

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

/* Sizes that were not said do not matter here: those of the case that would be suggested do. */
static void fill_settings(struct ref_request *request)
{
    struct arena *arena = request->invocation->arena;
    struct text line = text_new(arena), word = text_new(arena);
    int depth = 0;
    lang_suggest_case(&line, request->subject.op);
    for (const char *c = line.at + strcspn(line.at, " ");; c++) {
        depth += (*c == '[') - (*c == ']');
        if (*c && (*c != ',' || depth > 0)) {
            if (*c != ' ')
                text_char(&word, *c);
            continue;
        }
        if (word.length && !is_set(request, word.at))
            vector_push(arena, &request->settings, arena_string(arena, word.at));
        text_truncate(&word, 0);
        if (!*c)
            return;
    }
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

/* ---- what its head says ---- */

/* The op as it was written, without the comments above it. */
static const char *op_text(struct arena *arena, const struct ast_op *op)
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

/* The rule of src/judge/draws.c, with the unit of the class in numbers. */
static const char *accuracy_text(struct arena *arena, const struct task *task,
                                 const struct ir_part *part)
{
    enum dtype class = part->output_count ? part->tensors[part->outputs[0]].dtype : DTYPE_F32;
    if (task->accuracy)
        dtype_parse(task->accuracy, &class);
    double unit = 1; /* half the distance from 1 to the next number of the class */
    while (dtype_is_float(class) && dtype_round(class, 1 + unit) != 1)
        unit /= 2;
    const char *repeat = task->deterministic ? "\nRepeated calls must give the very same." : "";
    if (!dtype_is_float(class))
        return arena_printf(arena, "integers and bools must be equal%s", repeat);
    return arena_printf(
        arena,
        "class %s, whose unit is %.2g of a value. An element may be off by the more of "
        "a few\nunits of itself, and a few times what it changes by when every input "
        "changes by a\nunit. Integers and bools must be equal.%s",
        dtype_name(class), unit, repeat);
}

static bool write_file(struct invocation *invocation, const struct text *source)
{
    struct error error;
    if (file_write(option_value(invocation, "out"), source->at, source->length, 0644, &error))
        return true;
    errors_take(&invocation->errors, &error);
    return false;
}

static enum exit_code answer_json(struct invocation *invocation, const struct ir_program *program,
                                  const struct text *source)
{
    struct text out = text_new(invocation->arena);
    struct json json = output_json_begin(invocation, &out);
    json_string(&json, "op", ir_root(program)->name);
    json_string(&json, "target", "cpu");
    json_string(&json, "form", "plain");
    json_string(&json, "file", option_value(invocation, "out"));
    json_string(&json, "source", source->at);
    return output_json_end(invocation, &json);
}

static enum exit_code run(struct invocation *invocation)
{
    struct ref_request request = {.invocation = invocation};
    struct task *task;
    if (!option_given(invocation, "plain")) {
        usage(invocation, "what is to be generated?", "add --plain for the plain kernel");
        return EXIT_USAGE;
    }
    if (!collect(&request) ||
        !subject_find(invocation, invocation->operands.at[0], option_value(invocation, "op"),
                      option_value(invocation, "task"), &request.subject, &invocation->errors))
        return EXIT_NO;
    bool written = request.subject.task && request.settings.count == 0;
    const struct ir_program *program = find_program(&request, &task);
    if (!program)
        return EXIT_NO;
    struct gen_contract contract = {
        .op = op_text(invocation->arena, request.subject.op),
        .compiler = compiler_text(invocation->arena),
        .accuracy = accuracy_text(invocation->arena, task, ir_root(program)),
        .domain = domain_text(invocation->arena, task, request.first_case, written),
    };
    struct text source = text_new(invocation->arena);
    gen_kernel_c(&source, program, &contract);
    if (option_given(invocation, "out") && !write_file(invocation, &source))
        return EXIT_NO;
    if (invocation->json)
        return answer_json(invocation, program, &source);
    if (!option_given(invocation, "out"))
        output_text(&source);
    return EXIT_YES;
}

const struct command command_gen = {
    .name = "gen",
    .summary = "print the plain kernel of an op, to start from",
    .operands = "FILE|OP [NAME=VALUE...]",
    .operand_kind = OPERAND_FILE_OR_OP,
    .least = 1,
    .most = -1,
    .description =
        "Prints a kernel for an op: one C file that is correct for all sizes and can be judged as "
        "it "
        "is. Its head has the manifest and, in words, everything a kernel must keep to: the entry "
        "point, order, types and shapes of tensors, sizes and scalars, alignment, threads, "
        "compiler "
        "flags, libraries and the accuracy that is asked for. See docs/kernel.md.\n\n"
        "A kernel is for certain types and ranks. For a file with a task they are those of the "
        "first "
        "case, or of the one --case names; for an op those of its defaults, or of the settings "
        "T=f16 "
        "B=[2,3]. Sizes that are given besides do not matter: the kernel takes them when it is "
        "called.",
    .options = options,
    .examples = examples,
    .run = run,
};
