/*
 * smelt export: what a search found, as C that needs nothing of smelt. Of a device it is the
 * kernels and the evidence: their manifests say how they are launched, by whatever drives the
 * device there.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/exported.h"
#include "cmd/run.h"
#include "cmd/stored.h"
#include "gen/gen.h"
#include "judge/judge.h"
#include "os/file.h"
#include "target/target.h"

static const struct option options[] = {OPTION_STORE, OPTION_JSON, {0}};

static const struct example examples[] = {
    {"smelt export last softmax/", "what the newest run found"},
    {"smelt export softmax_rows softmax/", "of all runs of a task: a variant per range of sizes"},
    {"cd softmax && sh build.sh && ./example", "build and call it"},
    {0},
};

/* ---- variants ---- */

static const char *holds_text(struct arena *arena, const struct kernel *kernel,
                              const struct ir_part *part)
{
    static const char *const relations[] = {"==", "!=", "<", "<="};
    struct text text = text_new(arena);
    for (int i = 0; i < kernel->holds_count; i++) {
        text_add(&text, i ? ", " : "");
        ir_size_print(&text, kernel->holds[i].a, part);
        text_printf(&text, " %s ", relations[kernel->holds[i].relation]);
        ir_size_print(&text, kernel->holds[i].b, part);
    }
    return text.length ? text.at : "";
}

static const struct kernel *parse_kernel(struct arena *arena, const char *name, const char *text,
                                         const struct ir_part *part)
{
    struct source *source = arena_new(arena, struct source);
    struct errors errors = errors_new(arena);
    *source = (struct source){name, text, strlen(text)};
    return kernel_parse(arena, source, part, &errors);
}

/* Before those it is better than: the more particular first, then the faster. */
static bool comes_before(const struct export_variant *a, const struct export_variant *b)
{
    bool special = a->holds[0] != 0, other = b->holds[0] != 0;
    return special != other ? special : a->candidate.fitness > b->candidate.fitness;
}

static void add_variant(struct export *export, const struct export_variant *variant)
{
    int place = 0;
    for (int i = 0; i < export->variant_count; i++)
        if (strcmp(export->variants[i].holds, variant->holds) == 0) {
            if (variant->candidate.fitness > export->variants[i].candidate.fitness)
                export->variants[i] = *variant;
            return;
        }
    if (export->variant_count == EXPORT_VARIANTS - 1)
        return; /* the fallback needs a place */
    while (place < export->variant_count && comes_before(&export->variants[place], variant))
        place++;
    memmove(&export->variants[place + 1], &export->variants[place],
            (size_t)(export->variant_count - place) * sizeof *variant);
    export->variants[place] = *variant;
    export->variant_count++;
}

/* One of another type or rank is for another table. */
static bool add_winner(struct stored *stored, struct export *export, const struct run *run)
{
    struct export_variant variant = {0};
    struct error error = {0};
    if (!run->best)
        return true;
    if (!stored->engine->candidate_get(stored->store, export->arena, run->best, &variant.candidate,
                                       &error))
        return stored_fail(stored, &error);
    variant.source = stored_object(stored, variant.candidate.kernel);
    if (!variant.source)
        return false;
    variant.kernel = parse_kernel(export->arena, "variant", variant.source, export->part);
    if (!variant.kernel || variant.candidate.outcome != OUTCOME_OK)
        return true;
    variant.holds = holds_text(export->arena, variant.kernel, export->part);
    add_variant(export, &variant);
    return true;
}

static bool find_variants(struct stored *stored, struct export *export, bool all)
{
    struct store_runs runs = {0};
    struct error error = {0};
    if (!stored->engine->run_list(stored->store, export->arena, &runs, &error))
        return stored_fail(stored, &error);
    for (size_t i = 0; i < runs.count; i++) {
        bool meant = runs.at[i].id == export->run.id ||
                     (all && strcmp(runs.at[i].task, export->run.task) == 0 &&
                      strcmp(runs.at[i].target, export->run.target) == 0);
        if (meant && !add_winner(stored, export, &runs.at[i]))
            return false;
    }
    if (export->variant_count == 0) {
        error_set(&error, ERROR_STORE_NOT_FOUND, "run %lld found nothing that is right",
                  (long long)export->run.id);
        error_hint(&error, "smelt show %lld says why", (long long)export->run.id);
        return stored_fail(stored, &error);
    }
    struct export_variant plain = {.holds = ""};
    struct text text = text_new(export->arena);
    if (export->ending)
        gen_plain_device(&text, export->program, export->run.target, &(struct gen_contract){0});
    else
        gen_plain_c(&text, export->program, GEN_PLAIN);
    plain.source = text.at;
    plain.kernel = parse_kernel(export->arena, "plain", text.at, export->part);
    if (!plain.kernel) {
        error_set(&error, ERROR_STORE_NOT_FOUND, "the plain kernel of '%s' has no manifest",
                  export->task->name);
        return stored_fail(stored, &error);
    }
    export->variants[export->variant_count++] = plain;
    return true;
}

/* ---- files ---- */

struct writer {
    struct invocation *invocation;
    const char *folder;
    struct written VECTOR(const char *) written;
};

static bool write_file(struct writer *writer, const char *name, const char *bytes, size_t length)
{
    struct error error = {0};
    const char *path = arena_printf(writer->invocation->arena, "%s/%s", writer->folder, name);
    if (!file_write(path, bytes, length, 0644, &error)) {
        errors_take(&writer->invocation->errors, &error);
        return false;
    }
    vector_push(writer->invocation->arena, &writer->written,
                arena_string(writer->invocation->arena, name));
    return true;
}

static bool write_text(struct writer *writer, const char *name, const struct text *text)
{
    return write_file(writer, name, text->at, text->length);
}

/* A folder of an earlier export is written over; another one that has something in it is not. */
static bool make_folder(struct writer *writer)
{
    struct arena *arena = writer->invocation->arena;
    struct error error = {0};
    const char *kernels = arena_printf(arena, "%s/kernels", writer->folder);
    bool made = mkdir(writer->folder, 0777) == 0;
    if (!made && access(arena_printf(arena, "%s/evidence.json", writer->folder), F_OK) != 0 &&
        rmdir(writer->folder) != 0) {
        error_set(&error, ERROR_CANNOT_WRITE, "%s is there already, and is no export",
                  writer->folder);
        error_hint(&error, "name a folder that is empty or not there");
        errors_take(&writer->invocation->errors, &error);
        return false;
    }
    mkdir(writer->folder, 0777);
    struct stat status;
    mkdir(kernels, 0777);
    if (stat(kernels, &status) == 0 && S_ISDIR(status.st_mode))
        return true;
    error_system(&error, ERROR_CANNOT_WRITE, "could not make %s", kernels);
    errors_take(&writer->invocation->errors, &error);
    return false;
}

static bool write_kernels(struct writer *writer, const struct export *export)
{
    const char *ending = export->ending ? export->ending : "c";
    for (int i = 0; i < export->variant_count; i++)
        if (!write_file(writer, arena_printf(export->arena, "kernels/variant_%d.%s", i, ending),
                        export->variants[i].source, strlen(export->variants[i].source)))
            return false;
    return true;
}

static bool write_code(struct writer *writer, const struct export *export)
{
    struct arena *arena = export->arena;
    struct text header = text_new(arena), table = text_new(arena);
    export_header(export, &header);
    export_table(export, &table);
    if (!write_text(writer, arena_printf(arena, "%s.h", export->name), &header) ||
        !write_text(writer, arena_printf(arena, "%s.c", export->name), &table))
        return false;
    for (int i = 0; i < export->variant_count; i++) {
        struct text wrapper = text_new(arena);
        export_wrapper(export, i, &wrapper);
        if (!write_text(writer, arena_printf(arena, "variant_%d.c", i), &wrapper))
            return false;
    }
    return write_kernels(writer, export);
}

/* The compiler's words are those kernels were judged with, less what is for shared objects. */
static bool write_build(struct writer *writer, const struct export *export)
{
    struct text build = text_new(export->arena);
    text_add(&build,
             "#!/bin/sh\n# Builds the example with the flags the kernels were judged with.\n"
             "${CC:-gcc}");
    for (const char *const *flag = judge_compiler_flags(); *flag; flag++)
        if (strcmp(*flag, "-shared") != 0 && strcmp(*flag, "-fPIC") != 0)
            text_printf(&build, " %s", *flag);
    text_printf(&build, " -o example example.c %s.c", export->name);
    for (int i = 0; i < export->variant_count; i++)
        text_printf(&build, " variant_%d.c", i);
    text_add(&build, " -lm\n");
    return write_text(writer, "build.sh", &build);
}

static void write_variant(struct json *json, const struct export_variant *variant, int number)
{
    json_object(json, NULL);
    json_int(json, "variant", number);
    json_int(json, "candidate", variant->candidate.id);
    json_int(json, "run", variant->candidate.run);
    json_string(json, "holds", variant->holds);
    json_string(json, "proposer", variant->candidate.id ? variant->candidate.proposer : "plain");
    if (variant->candidate.id) {
        json_double(json, "speedup", variant->candidate.fitness);
        json_double(json, "microseconds", variant->candidate.microseconds);
        json_double(json, "floor_microseconds", variant->candidate.floor);
        json_string(json, "diagnosis", diagnosis_name(variant->candidate.diagnosis));
        json_string(json, "note", variant->candidate.note);
        json_string(json, "kernel_sha256", variant->candidate.kernel);
    }
    json_end(json);
}

/* What the judge said is kept as it was stored, in files of their own. */
static bool write_evidence(struct writer *writer, struct stored *stored,
                           const struct export *export)
{
    struct arena *arena = export->arena;
    struct text text = text_new(arena);
    struct json json = json_new(&text, 2);
    json_object(&json, NULL);
    json_string(&json, "schema", "smelt.evidence/1");
    json_string(&json, "task", export->run.task);
    json_string(&json, "op", export->task->op_name);
    json_string(&json, "accuracy", export->task->accuracy);
    json_string(&json, "target", export->run.target);
    json_string(&json, "signature", export->run.signature);
    json_string(&json, "settings", export->run.settings);
    json_int(&json, "judged", export->run.judged);
    json_double(&json, "seconds", export->run.seconds);
    json_array(&json, "variants");
    for (int i = 0; i < export->variant_count; i++)
        write_variant(&json, &export->variants[i], i);
    json_end(&json);
    json_end(&json);
    text_char(&text, '\n');
    for (int i = 0; i < export->variant_count; i++) {
        const struct candidate *candidate = &export->variants[i].candidate;
        const char *verdict = candidate->verdict ? stored_object(stored, candidate->verdict) : "";
        const char *plan = candidate->plan ? stored_object(stored, candidate->plan) : "";
        if (!verdict || !plan)
            return false;
        if (*verdict && !write_file(writer, arena_printf(arena, "verdict_%d.json", i), verdict,
                                    strlen(verdict)))
            return false;
        if (*plan &&
            !write_file(writer, arena_printf(arena, "variant_%d.plan", i), plan, strlen(plan)))
            return false;
    }
    return write_text(writer, "evidence.json", &text);
}

static bool write_all(struct writer *writer, struct stored *stored, struct export *export)
{
    struct text data = text_new(export->arena), example = text_new(export->arena);
    struct error error = {0};
    if (export->ending)
        return make_folder(writer) && write_evidence(writer, stored, export) &&
               write_kernels(writer, export);
    if (!export_data(export, &data, &error)) {
        errors_take(&writer->invocation->errors, &error);
        return false;
    }
    export_example(export, &example);
    return make_folder(writer) && write_evidence(writer, stored, export) &&
           write_code(writer, export) && write_text(writer, "example.c", &example) &&
           write_text(writer, "example.bin", &data) && write_build(writer, export);
}

/* ---- the command ---- */

static enum exit_code answer(struct invocation *invocation, const struct export *export,
                             const struct writer *writer)
{
    struct text out = text_new(invocation->arena);
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        json_string(&json, "task", export->run.task);
        json_string(&json, "folder", writer->folder);
        json_array(&json, "variants");
        for (int i = 0; i < export->variant_count; i++)
            write_variant(&json, &export->variants[i], i);
        json_end(&json);
        json_array(&json, "files");
        for (size_t i = 0; i < writer->written.count; i++)
            json_string(&json, NULL, writer->written.at[i]);
        json_end(&json);
        return output_json_end(invocation, &json);
    }
    text_printf(&out, "%s: %d variants in %s\n", export->run.task, export->variant_count,
                writer->folder);
    for (int i = 0; i < export->variant_count; i++) {
        const struct export_variant *variant = &export->variants[i];
        text_printf(&out, "    %d. %s: ", i, variant->holds[0] ? variant->holds : "all sizes");
        if (variant->candidate.id)
            text_printf(&out, "candidate %lld, %.3g times the fastest baseline\n",
                        (long long)variant->candidate.id, variant->candidate.fitness);
        else
            text_add(&out, "plain\n");
    }
    if (export->ending)
        text_printf(&out, "    the first lines of %s/kernels/*.%s say how each is launched\n",
                    writer->folder, export->ending);
    else
        text_printf(
            &out,
            "    the call is declared in %s/%s.h; try it: cd %s && sh build.sh && ./example\n",
            writer->folder, export->name, writer->folder);
    output_text(&out);
    return EXIT_YES;
}

static enum exit_code run(struct invocation *invocation)
{
    struct stored stored;
    struct run_again again;
    struct export *export = arena_new(invocation->arena, struct export);
    struct writer writer = {.invocation = invocation, .folder = invocation->operands.at[1]};
    const char *word = invocation->operands.at[0];
    if (!stored_open(&stored, invocation, false))
        return errors_exit(&invocation->errors);
    *export = (struct export){.arena = invocation->arena, .folder = writer.folder};
    bool fine =
        stored_run(&stored, word, &export->run) && run_reopen(&stored, &export->run, &again);
    if (fine) {
        export->task = again.planned.task;
        export->program = again.planned.program;
        export->part = ir_root(again.planned.program);
        export->name = export_identifier(invocation->arena, export->run.task);
        if (again.planned.target.device)
            export->ending = strchr(target_find(export->run.target)->source, '.') + 1;
        fine = find_variants(&stored, export, strcmp(word, export->run.task) == 0) &&
               write_all(&writer, &stored, export);
    }
    stored_close(&stored);
    return fine ? answer(invocation, export, &writer) : errors_exit(&invocation->errors);
}

const struct command command_export = {
    .name = "export",
    .summary = "write what a run found as C that stands alone",
    .operands = "RUN|TASK DIR",
    .operand_kind = OPERAND_NONE,
    .least = 2,
    .most = 2,
    .description =
        "Writes a folder with a C function for the task of a run: a table of variants, each the "
        "winner for the sizes it holds for, the plain kernel last so that every size is done; a "
        "header; the kernels as they were judged, with their plans; an example that calls the "
        "function and compares with the reference; what the judge found, as JSON; and the command "
        "that builds it, which needs a C compiler only. Of a run on a device: the kernels, with "
        "their plans and what the judge found; how to launch them is said on top of each.\n\n"
        "For a task, the winners of all its runs on the target of the newest are put together, by "
        "the "
        "sizes they hold for.",
    .options = options,
    .examples = examples,
    .run = run,
};
