/*
 * Tables made: plans of a task judged by the real judge.
 */
#include <math.h>
#include <string.h>

#include "cmd/ablate.h"
#include "cmd/planned.h"
#include "cmd/subject.h"
#include "os/file.h"
#include "search/judging.h"

static const struct task_case *timed_case(const struct task *task)
{
    for (int i = 0; i < task->case_count; i++)
        if (task->cases[i].timed)
            return &task->cases[i];
    return NULL;
}

bool ablate_prepare(struct invocation *invocation, const char *name, const char *text,
                    struct ablate_case *out)
{
    struct arena *arena = invocation->arena;
    struct errors *errors = &invocation->errors;
    struct lang *lang = lang_new(arena, NULL);
    struct lang_file *file = lang_load_text(lang, name, text, strlen(text), errors);
    out->name = name;
    out->task = file && lang_task_count(file)
                    ? lang_task(lang, file, lang_task_ast(file, 0), errors)
                    : NULL;
    const struct task_case *one = out->task ? timed_case(out->task) : NULL;
    if (!one) {
        if (errors->list.count == 0)
            errors_add(errors, ERROR_MISSING_SIZE, (struct place){0},
                       "%s has no task with a case that is timed", name);
        return false;
    }
    struct ir_binding binding = {ir_root(one->program), one->sizes, one->scalars};
    out->program = skeleton_program_new(arena, one->program, &binding, &out->target);
    const struct ir_part *part = out->program->part;
    enum dtype dtype = part->output_count ? part->tensors[part->outputs[0]].dtype : DTYPE_F32;
    out->structure = know_structure(arena, planned_class(arena, out->program), part);
    out->shape = know_shape(arena, out->program->binding);
    out->dtype = dtype_name(dtype);
    return true;
}

struct survey {
    struct arena *arena;
    struct judging judging;
    struct search_options options;
    struct search search;
    struct ablate_case one;
    struct ablate_grid grid;
    struct map binaries; /* hash of a plan -> struct binary_facts */
};

/* ---- judging ---- */

static const char *hash_plan(struct survey *survey, const struct plan *plan)
{
    char hash[65];
    plan_hash(plan, survey->search.program->graph, hash);
    return arena_string(survey->arena, hash);
}

/*
 * The best are compared once more in a contest of their own, and baselines differ from contest to
 * contest. So their speed is told by the one all others were timed beside: else sixteen rows of a
 * table would be on another scale than the rest.
 */
static void anchor_finalists(const struct judging *judging, const struct source *const *kernels,
                             int count, struct search_judgement *judgements)
{
    int anchor = -1;
    for (int i = 0; i < count && judging->champion; i++)
        if (strcmp(kernels[i]->text, judging->champion->text) == 0)
            anchor = i;
    for (int i = 0; i < count && anchor >= 0; i++) {
        const double *against = judgements[i].against;
        double ratio = i == anchor ? 1 : against ? against[anchor] : NAN;
        if (judgements[i].fitness > 0 && ratio > 0)
            judgements[i].fitness = judging->champion_fitness * ratio;
    }
}

/* What binaries are made of does not outlive a batch: it is copied. */
static bool judge_and_note(void *context, struct arena *arena, const struct source *const *kernels,
                           struct plan *const *plans, int count, enum search_care care,
                           struct search_judgement *judgements, struct error *error)
{
    struct survey *survey = context;
    if (!judging_judge(&survey->judging, arena, kernels, plans, count, care, judgements, error))
        return false;
    if (care != SEARCH_CARE_USUAL)
        anchor_finalists(&survey->judging, kernels, count, judgements);
    for (int i = 0; i < count; i++) {
        const struct search_judgement *judgement = &judgements[i];
        const struct binary_facts *binary = judgement->verdict->binary, *noted = NULL;
        if (judgement->twin)
            noted = map_get(&survey->binaries, judgement->twin->hash);
        else if (judgement->same_as)
            noted = map_get(&survey->binaries, hash_plan(survey, plans[judgement->same_as - 1]));
        if (!noted && binary && binary->read) {
            struct binary_facts *copy = arena_new(survey->arena, struct binary_facts);
            *copy = *binary;
            noted = copy;
        }
        if (noted)
            map_set(&survey->binaries, hash_plan(survey, plans[i]), (void *)noted);
    }
    return true;
}

static void announce(void *context, const struct source *const *kernels, int count)
{
    struct survey *survey = context;
    judging_announce(&survey->judging, kernels, count);
}

/* ---- the table ---- */

static struct table *make_table(struct survey *survey, const char *text)
{
    struct arena *arena = survey->arena;
    const struct search *search = &survey->search;
    struct table *table = arena_new(arena, struct table);
    table->machine = arena_string(arena, search->machine.id);
    table->target = *search->program->target;
    table->task = text;
    for (size_t i = 0; i < search->nodes.count; i++) {
        const struct search_node *node = search->nodes.at[i];
        struct text plan = text_new(arena);
        /* below what the machine can do: a mistake, and not to be the best of a table */
        bool doubtful =
            node->record.floor > 0 && node->record.microseconds < 0.9 * node->record.floor;
        if (!node->record.judged || doubtful)
            continue;
        plan_print(&plan, node->plan, search->program->graph);
        struct table_row row = {.plan = plan.at,
                                .outcome = node->record.outcome,
                                .fitness = node->record.fitness,
                                .microseconds = node->record.microseconds,
                                .floor = node->record.floor,
                                .diagnosis = node->diagnosis.class};
        table_evidence(&row, &node->diagnosis, map_get(&survey->binaries, node->hash));
        vector_push(arena, &table->rows, row);
    }
    return table;
}

/* "folder/softmax.op" -> "softmax" */
static const char *stem_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return arena_copy(arena, name, strcspn(name, "."));
}

static bool measure_file(struct invocation *invocation, const char *path, const char *folder,
                         int plans, double seconds, int threads)
{
    struct arena *arena = invocation->arena;
    struct error error = {0};
    const struct source *source = subject_read(invocation, path, &error);
    struct survey *survey = arena_new(arena, struct survey);
    if (!source) {
        errors_take(&invocation->errors, &error);
        return false;
    }
    struct search *search = &survey->search;
    survey->arena = arena;
    survey->binaries = map_new(arena);
    machine_describe(&search->machine, "");
    if (machine_rates_load(arena, &search->machine, &search->rates) != MACHINE_KEPT_GOOD)
        search->rates = (struct rates){0};
    survey->one.target = skeleton_target_new(&search->machine, &search->rates);
    survey->one.target.threads = threads;
    if (!ablate_prepare(invocation, path, source->text, &survey->one))
        return false;
    survey->judging = (struct judging){
        .task = survey->one.task,
        .arena = arena,
        .search = search,
        .options = {.threads = threads, .time_seconds = seconds, .only_case = -1, .only_draw = -1}};
    survey->grid = (struct ablate_grid){.arena = arena, .program = survey->one.program};
    ablate_grid_make(&survey->grid, plans);
    survey->options = (struct search_options){
        .policy = search_policy_find("random"),
        .budget = {.evaluations = plans},
        .seed = 1,
        .batch = 6,                /* with a baseline and the one to beat: one contest */
        .finalists = SEARCH_BATCH, /* luck is not to be the best of a table */
        .no_experience = true,
        .propose = ablate_grid_next,
        .replay = &survey->grid,
        .judge = {judge_and_note, survey, announce}};
    search->arena = arena;
    search->options = &survey->options;
    search->program = survey->one.program;
    search->threads = threads;
    search->run = (struct run){.task = survey->one.task->name, .target = "cpu"};
    enum search_end end = search_run(search, &error);
    judge_draws_release(&survey->judging.draws);
    struct text out = text_new(arena);
    table_print(&out, make_table(survey, source->text));
    const char *name = arena_printf(arena, "%s/%s.table", folder, stem_of(arena, path));
    if (end == SEARCH_FAILED || !file_write(name, out.at, out.length, 0644, &error)) {
        errors_take(&invocation->errors, &error);
        return false;
    }
    if (!invocation->json)
        output_printf("%s: %lld plans in %.0f s\n", name, (long long)survey->search.judged,
                      survey->search.run.seconds);
    return true;
}

enum exit_code ablate_measure(struct invocation *invocation, int plans, double seconds, int threads)
{
    const char *folder = option_value(invocation, "save");
    struct error error = {0};
    if (!folder || !directory_make(folder, &error)) {
        if (folder)
            errors_take(&invocation->errors, &error);
        else
            error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0},
                                  "--measure needs a folder for the tables"),
                       "such as --save bench/tables");
        return errors_exit(&invocation->errors);
    }
    struct file_names files = subject_files(invocation, &invocation->errors);
    for (size_t i = 0; i < files.count && invocation->errors.list.count == 0; i++)
        measure_file(invocation, files.at[i], folder, plans, seconds, threads);
    if (invocation->json) {
        struct text out = text_new(invocation->arena);
        struct json json = output_json_begin(invocation, &out);
        json_string(&json, "folder", folder);
        return output_json_end(invocation, &json);
    }
    return errors_exit(&invocation->errors);
}
