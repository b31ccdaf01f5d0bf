/*
 * Fuzzes everything in front of the reference: loading, checking, formatting, the text form of
 * programs, tasks and the interpreter. Nothing may crash, hang or take more memory than it is
 * given. What checks must still check when formatted, its programs must print and re-parse to
 * themselves, and a case that binds must evaluate: an access outside a tensor means that the
 * checker proved something false.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/lang.h"
#include "mutate.h"
#include "oracle/oracle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    FUZZ_MEMORY = 256 << 20,
    FUZZ_CASES = 8,        /* of one task: more show nothing new */
    FUZZ_ELEMENTS = 10000, /* of all inputs of a case */
    FUZZ_STEPS = 100000,
};

static void demand(bool holds, const char *what, const char *text)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n%s\n", what, text);
    abort();
}

/* Every error has a message, a place that is there, and can be shown. */
static const char *render_all(struct arena *arena, const struct errors *errors)
{
    struct text out = text_new(arena);
    for (size_t i = 0; i < errors->list.count; i++) {
        const struct error *error = &errors->list.at[i];
        const struct source *source = error->place.source;
        demand(error->message[0] != '\0', "an error says nothing", "");
        demand(!source || error->place.offset <= source->length, "an error is nowhere",
               error->message);
        error_render(&out, error, false);
    }
    return out.at;
}

/* ---- programs ---- */

static void print_and_reparse(struct arena *arena, const struct ir_program *program)
{
    struct text once = text_new(arena), twice = text_new(arena), said = text_new(arena);
    ir_print(&once, program);
    struct source *source = arena_new(arena, struct source);
    *source = (struct source){"printed.ir", once.at, once.length};
    struct error error = {0};
    const struct ir_program *again = ir_parse(arena, source, &error);
    if (!again && error.code == ERROR_IR_LIMIT)
        return;
    if (!again)
        error_render(&said, &error, false);
    demand(again, "a printed program does not parse", again ? "" : said.at);
    ir_print(&twice, again);
    demand(strcmp(once.at, twice.at) == 0, "a program prints differently once parsed", once.at);
}

/* ---- cases ---- */

static void evaluate(struct arena *arena, const struct task_case *task_case)
{
    struct error error = {0};
    const struct ir_binding *binding =
        ir_bind(arena, task_case->program, task_case->sizes, task_case->scalars, &error);
    demand(binding, "a case that was checked does not bind", error.message);
    const struct ir_part *part = binding->part;
    double elements = 0;
    for (int i = 0; i < part->input_count; i++)
        elements += (double)(uint64_t)ir_tensor_shape(binding, part->inputs[i], NULL);
    bool certain;
    if (elements > FUZZ_ELEMENTS || oracle_steps(binding, &certain) > FUZZ_STEPS || !certain)
        return;
    struct array *inputs = arena_array(arena, (size_t)part->input_count + 1, sizeof *inputs);
    struct array *outputs = arena_array(arena, (size_t)part->output_count + 1, sizeof *outputs);
    if (!oracle_draw(arena, task_case, binding, 1, inputs, &error)) {
        demand(error.code == ERROR_BAD_DRAW, "inputs are not drawn", error.message);
        return;
    }
    demand(oracle_admit(binding, inputs, &error), "what was drawn is not admitted", error.message);
    struct oracle_options options = {.memory = FUZZ_MEMORY};
    bool good = oracle_interpret(arena, binding, inputs, outputs, &options, &error);
    demand(good || error.code == ERROR_OUT_OF_MEMORY || error.code == ERROR_ORACLE_DEPTH,
           "a case that was checked does not evaluate", error.message);
}

/* ---- files ---- */

struct fuzz {
    struct arena arena;
    const char *text;
    size_t length;
};

static struct lang_file *load(struct lang *lang, const char *name, const char *text, size_t length,
                              struct errors *errors)
{
    struct lang_file *file = lang_load_text(lang, name, text, length, errors);
    if (file)
        lang_check(lang, file, errors);
    return file;
}

static void look_at_file(struct fuzz *fuzz, struct lang *lang, struct lang_file *file)
{
    struct errors errors = errors_new(&fuzz->arena);
    for (size_t i = 0; i < lang_op_count(file); i++) {
        const struct ir_program *program =
            lang_default_program(lang, file, lang_op(file, i), &errors);
        struct text line = text_new(&fuzz->arena);
        lang_suggest_case(&line, lang_op(file, i));
        lang_print_types(&line, lang_op(file, i));
        demand(program, "an op that was checked has no program", render_all(&fuzz->arena, &errors));
        print_and_reparse(&fuzz->arena, program);
        struct ir_instances instances = {0};
        ir_list_instances(&fuzz->arena, program, &instances);
    }
    for (size_t i = 0; i < lang_task_count(file); i++) {
        const struct task *task = lang_task(lang, file, lang_task_ast(file, i), &errors);
        demand(task, "a task that was checked is none", render_all(&fuzz->arena, &errors));
        for (int k = 0; k < task->case_count && k < FUZZ_CASES; k++)
            evaluate(&fuzz->arena, &task->cases[k]);
    }
}

static void fuzz_run(void *context)
{
    struct fuzz *fuzz = context;
    struct errors errors = errors_new(&fuzz->arena);
    struct lang *lang = lang_new(&fuzz->arena, "/nonexistent");
    struct lang_file *file = load(lang, "input.op", fuzz->text, fuzz->length, &errors);
    render_all(&fuzz->arena, &errors);
    if (!file || errors.list.count > 0)
        return;
    struct text formatted = text_new(&fuzz->arena);
    ast_format(&formatted, lang_ast(file));
    load(lang, "formatted.op", formatted.at, formatted.length, &errors);
    demand(errors.list.count == 0, "formatted text has errors", render_all(&fuzz->arena, &errors));
    look_at_file(fuzz, lang, file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz fuzz = {
        .arena = {.limit = FUZZ_MEMORY}, .text = (const char *)data, .length = size};
    memory_try(fuzz_run, &fuzz);
    arena_release(&fuzz.arena);
    return 0;
}
