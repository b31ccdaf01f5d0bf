/*
 * smelt ir: the checked program, as text that reads back.
 */
#include <string.h>

#include "cmd/subject.h"

static const struct option options[] = {
    {.name = "op", .argument = "NAME", .help = "the op of FILE to show"},
    {.name = "task", .argument = "NAME", .help = "the task of FILE whose first case is shown"},
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt ir softmax", "the program of a library op, at its default types and ranks"},
    {"smelt ir softmax.op >softmax.ir", "the program of the first case of a file's task"},
    {"smelt ir softmax.ir", "read it back, check it, and print it again"},
    {0},
};

/* Past blank lines and comments, which may stand before the first line of a program. */
static bool is_program(const struct source *source)
{
    const char *at = source->text;
    while (*at == '#' || *at == '\n' || *at == ' ' || *at == '\r')
        at += *at == '#' ? strcspn(at, "\n") : 1;
    return strncmp(at, "ir ", 3) == 0 && at[3] >= '0' && at[3] <= '9';
}

static const struct ir_program *program_of_op(struct invocation *invocation, const char *word)
{
    struct subject subject;
    struct errors *errors = &invocation->errors;
    if (!subject_find(invocation, word, option_value(invocation, "op"),
                      option_value(invocation, "task"), &subject, errors))
        return NULL;
    const struct task *task =
        subject.task ? lang_task(subject.lang, subject.file, subject.task, errors) : NULL;
    if (task && task->case_count > 0)
        return task->cases[0].program;
    if (subject.task && !task)
        return NULL;
    return lang_default_program(subject.lang, subject.file, subject.op, errors);
}

/* NULL: errors were added. */
static const struct ir_program *program_find(struct invocation *invocation, const char *word)
{
    struct error error = {0};
    if (!subject_is_file(word))
        return program_of_op(invocation, word);
    const struct source *source = subject_read(invocation, word, &error);
    if (source && !is_program(source))
        return program_of_op(invocation, word);
    const struct ir_program *program = source ? ir_parse(invocation->arena, source, &error) : NULL;
    if (!program)
        errors_take(&invocation->errors, &error);
    return program;
}

static void print_instances(struct text *out, const struct ir_program *program,
                            const struct ir_instances *instances)
{
    text_add(out, "# ");
    text_count(out, (size_t)program->part_count, "part");
    text_printf(out, ", root %s\n", ir_root(program)->name);
    for (size_t i = 0; i < instances->count; i++) {
        const struct ir_instance *instance = &instances->at[i];
        const char *sizes = instance->sizes ? instance->sizes : "";
        text_printf(out, "#   %s%s%s, ", instance->part->name, *sizes ? " at " : "", sizes);
        text_count(out, (size_t)instance->calls, "call");
        text_char(out, '\n');
    }
}

static enum exit_code answer_json(struct invocation *invocation, const struct ir_program *program,
                                  const struct ir_instances *instances)
{
    struct text text = text_new(invocation->arena), out = text_new(invocation->arena);
    struct json json = output_json_begin(invocation, &out);
    ir_print(&text, program);
    json_string(&json, "root", ir_root(program)->name);
    json_array(&json, "parts");
    for (int i = 0; i < program->part_count; i++) {
        const struct ir_part *part = program->parts[i];
        json_object(&json, NULL);
        json_string(&json, "name", part->name);
        json_int(&json, "stages", part->stage_count);
        json_int(&json, "tensors", part->tensor_count);
        json_end(&json);
    }
    json_end(&json);
    json_array(&json, "instances");
    for (size_t i = 0; i < instances->count; i++) {
        json_object(&json, NULL);
        json_string(&json, "part", instances->at[i].part->name);
        json_string(&json, "sizes", instances->at[i].sizes);
        json_int(&json, "calls", instances->at[i].calls);
        json_end(&json);
    }
    json_end(&json);
    json_string(&json, "text", text.at);
    return output_json_end(invocation, &json);
}

static enum exit_code run(struct invocation *invocation)
{
    const struct ir_program *program = program_find(invocation, invocation->operands.at[0]);
    if (!program)
        return EXIT_NO;
    struct ir_instances instances = {0};
    ir_list_instances(invocation->arena, program, &instances);
    if (invocation->json)
        return answer_json(invocation, program, &instances);
    struct text text = text_new(invocation->arena);
    print_instances(&text, program, &instances);
    ir_print(&text, program);
    output_text(&text);
    return EXIT_YES;
}

const struct command command_ir = {
    .name = "ir",
    .summary = "print the checked program of an op, with its parts",
    .operands = "FILE|OP",
    .operand_kind = OPERAND_FILE_OR_OP,
    .least = 1,
    .most = 1,
    .description =
        "Prints the program smelt works with after checking: every type, extent and conversion "
        "said in full, calls kept as parts, equal parts recognised. The comment at its head lists "
        "the parts with the sizes they are called at and how often.\n\n"
        "For a file with a task the program is that of the task's first case, otherwise that of "
        "the op at its default types and ranks. A file that is itself such a program is read, "
        "checked and printed again: the text reads back to the same program.",
    .options = options,
    .examples = examples,
    .run = run,
};
