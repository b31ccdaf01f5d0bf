/*
 * Every operator of lib/ against PyTorch: one test for each file of tests/vectors, evaluated by
 * both oracles, which must agree bit for bit, and compared with what PyTorch computed. A test is
 * called vectors_OP; `unit vectors_softmax` runs one, and without such an argument none runs.
 *
 * The repository is SMELT_ROOT, else the nearest folder above the program, else the working
 * directory.
 */
#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lang/lang.h"
#include "lib_vectors.h"
#include "oracle/oracle.h"
#include "oracle_differ.h"
#include "test.h"

/* ---- the repository ---- */

static bool has_vectors(const char *root)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/tests/vectors", root);
    return access(path, R_OK) == 0;
}

const char *repository_root(void)
{
    static char root[PATH_MAX];
    const char *given = getenv("SMELT_ROOT");
    if (root[0])
        return root;
    if (given && strlen(given) < sizeof root)
        return strcpy(root, given);
    ssize_t length = readlink("/proc/self/exe", root, sizeof root - 1);
    root[length > 0 ? length : 0] = '\0';
    for (char *slash; (slash = strrchr(root, '/'));) {
        *slash = '\0';
        if (has_vectors(root))
            return root;
    }
    return strcpy(root, ".");
}

void use_own_cache(void)
{
    static char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 16);
    if (length <= 0 || getenv("SMELT_CACHE"))
        return;
    path[length] = '\0';
    strcpy(strrchr(path, '/') + 1, "vector-cache");
    setenv("SMELT_CACHE", path, 1);
}

/* ---- one run ---- */

struct programs VECTOR(const struct ir_program *);

struct subject {
    struct arena *arena;   /* of everything */
    struct arena *scratch; /* of one run */
    struct lang *lang;
    struct lang_file *library;
    const struct ast_op *op;
    const struct task_case *cases[VECTOR_RUNS]; /* one per run */
    struct programs programs;                   /* the different ones among the cases' */
    struct oracle_code **codes;                 /* one per program */
    const struct vector_run *run;
};

static _Noreturn void complain(const struct subject *subject, const char *what, const char *detail)
{
    test_fail(__FILE__, __LINE__, "%s %s: %s%s%s", subject->op->name.name,
              subject->run ? subject->run->text : "", what, detail[0] ? ": " : "", detail);
}

static const struct task_case *find_case(struct subject *subject)
{
    struct errors errors = errors_new(subject->arena);
    const struct vector_run *run = subject->run;
    struct task *task = lang_task_from_settings(subject->lang, subject->library, subject->op,
                                                run->settings, run->setting_count, &errors);
    if (!task)
        complain(subject, "the settings do not fit",
                 errors.list.count ? errors.list.at[0].message : "");
    return &task->cases[0];
}

/* Cases of equal types and ranks share a program. All of them are compiled in one go. */
static void compile(struct subject *subject, const struct vector_runs *runs)
{
    struct error error = {0};
    for (size_t i = 0; i < runs->count; i++) {
        subject->run = &runs->at[i];
        subject->cases[i] = find_case(subject);
        bool known = false;
        for (size_t k = 0; k < subject->programs.count; k++)
            known |= subject->programs.at[k] == subject->cases[i]->program;
        if (!known)
            vector_push(subject->arena, &subject->programs, subject->cases[i]->program);
    }
    subject->run = NULL;
    size_t count = subject->programs.count;
    subject->codes = arena_array(subject->arena, count, sizeof(struct oracle_code *));
    if (!oracle_compile_all(subject->arena, subject->programs.at, (int)count, subject->codes,
                            &error))
        complain(subject, error.message, error.detail);
}

static const struct oracle_code *code_of(const struct subject *subject,
                                         const struct ir_program *program)
{
    size_t i = 0;
    while (subject->programs.at[i] != program)
        i++;
    return subject->codes[i];
}

static void check_declared(const struct subject *subject, const struct ir_binding *binding,
                           const int *tensors, int count, const struct vector_arrays *arrays)
{
    if ((size_t)count != arrays->count)
        complain(subject, "the file has another number of arrays", "");
    for (int i = 0; i < count; i++) {
        const struct ir_tensor *tensor = &binding->part->tensors[tensors[i]];
        const struct array *array = &arrays->at[i];
        int64_t dims[IR_MAX_RANK];
        ir_tensor_shape(binding, tensors[i], dims);
        if (strcmp(tensor->name, array->name) != 0 || tensor->dtype != array->dtype ||
            tensor->rank != array->rank ||
            memcmp(dims, array->dims, (size_t)array->rank * sizeof dims[0]) != 0)
            complain(subject, "another type or shape", array->name);
    }
}

/* The oracles' outputs, alike bit for bit. */
static struct array *evaluate(struct subject *subject, const struct ir_binding *binding,
                              const struct oracle_code *code, bool exact)
{
    size_t count = (size_t)binding->part->output_count;
    struct array *one = arena_array(subject->scratch, count, sizeof *one);
    struct array *two = arena_array(subject->scratch, count, sizeof *two);
    const struct array *inputs = subject->run->inputs.at;
    struct oracle_options options = {.exact_outputs = exact};
    struct error error = {0};
    if (!oracle_interpret(subject->scratch, binding, inputs, one, &options, &error) ||
        !oracle_run(subject->scratch, code, binding, inputs, two, &options, &error))
        complain(subject, error.message, error.detail);
    for (size_t i = 0; i < count; i++)
        for (int64_t e = 0; e < one[i].count; e++) {
            bool same = one[i].floats ? differ_same(one[i].floats[e], two[i].floats[e])
                                      : one[i].integers[e] == two[i].integers[e];
            if (!same)
                complain(subject, "the oracles differ", one[i].name);
        }
    return one;
}

/* ---- against the outside ---- */

/* What rounding may be relative to: see tools/vectors/README.md. */
static double scale_of(const struct vector_run *run, const struct array *expected)
{
    double scale = 0;
    for (int64_t i = 0; i < expected->count; i++)
        if (isfinite(expected->floats[i]))
            scale = fmax(scale, fabs(expected->floats[i]));
    return run->relative < 1e-6 ? fmin(scale, 1) : scale;
}

static bool is_near(double found, double expected, double limit)
{
    if (isnan(found) || isnan(expected))
        return isnan(found) && isnan(expected);
    return found == expected || (isfinite(expected) && fabs(found - expected) <= limit);
}

static void compare(const struct subject *subject, const struct array *found,
                    const struct array *expected)
{
    const struct vector_run *run = subject->run;
    double scale = expected->floats ? scale_of(run, expected) : 0;
    char text[200];
    for (int64_t i = 0; i < expected->count; i++) {
        if (expected->integers) {
            snprintf(text, sizeof text, "%s element %lld is %lld, PyTorch has %lld", expected->name,
                     (long long)i, (long long)found->integers[i], (long long)expected->integers[i]);
            if (found->integers[i] != expected->integers[i])
                complain(subject, text, "");
            continue;
        }
        double value = expected->floats[i];
        double limit = run->relative * fmax(fabs(value), scale) + run->absolute;
        snprintf(text, sizeof text, "%s element %lld is %.17g, PyTorch has %.17g", expected->name,
                 (long long)i, found->floats[i], value);
        if (!is_near(found->floats[i], value, limit))
            complain(subject, text, "");
    }
}

static void check_run(struct subject *subject, const struct task_case *task_case)
{
    const struct vector_run *run = subject->run;
    struct error error = {0};
    struct ir_binding *binding =
        ir_bind(subject->arena, task_case->program, task_case->sizes, task_case->scalars, &error);
    if (!binding)
        complain(subject, error.message, error.detail);
    const struct ir_part *part = binding->part;
    check_declared(subject, binding, part->inputs, part->input_count, &run->inputs);
    check_declared(subject, binding, part->outputs, part->output_count, &run->outputs);
    if (!oracle_admit(binding, run->inputs.at, &error))
        complain(subject, error.message, error.detail);
    const struct oracle_code *code = code_of(subject, task_case->program);
    evaluate(subject, binding, code, false);
    struct array *outputs = evaluate(subject, binding, code, true);
    for (int i = 0; i < part->output_count; i++)
        compare(subject, &outputs[i], &run->outputs.at[i]);
}

static void check_file(void)
{
    struct arena arena = {0}, scratch = {0};
    struct subject subject = {.arena = &arena, .scratch = &scratch};
    struct errors errors = errors_new(&arena);
    struct error error = {0};
    struct vector_runs runs = {0};
    const char *name = test_running->subject, *root = repository_root();
    use_own_cache();
    subject.lang = lang_new(&arena, arena_printf(&arena, "%s/lib", root));
    subject.library = lang_library(subject.lang, &errors);
    CHECK(subject.library != NULL);
    subject.op = lang_find_op(subject.lang, NULL, name);
    if (!subject.op)
        test_fail(__FILE__, __LINE__, "lib has no op '%s'", name);
    if (!vector_read(&arena, arena_printf(&arena, "%s/tests/vectors/%s.vec", root, name), &runs,
                     &error))
        test_fail(__FILE__, __LINE__, "%s", error.message);
    compile(&subject, &runs);
    for (size_t i = 0; i < runs.count; i++) {
        subject.run = &runs.at[i];
        check_run(&subject, subject.cases[i]);
        arena_reset(&scratch);
    }
    for (size_t i = 0; i < subject.programs.count; i++)
        oracle_close(subject.codes[i]);
    arena_release(&scratch);
    arena_release(&arena);
}

/* ---- one test per file ---- */

enum { FILES_MAXIMUM = 1000 };

__attribute__((constructor)) static void register_files(void)
{
    static struct test tests[FILES_MAXIMUM];
    static char names[FILES_MAXIMUM][80];
    char path[PATH_MAX + 32];
    struct dirent *entry;
    size_t count = 0;
    snprintf(path, sizeof path, "%s/tests/vectors", repository_root());
    DIR *folder = opendir(path);
    while (folder && count < FILES_MAXIMUM && (entry = readdir(folder))) {
        size_t length = strlen(entry->d_name);
        if (length <= 4 || length > 64 || strcmp(entry->d_name + length - 4, ".vec") != 0)
            continue;
        snprintf(names[count], sizeof names[count], "vectors_%.*s", (int)length - 4, entry->d_name);
        tests[count] = (struct test){names[count], __FILE__, __LINE__,
                                     check_file,   NULL,     names[count] + strlen("vectors_")};
        test_register(&tests[count++]);
    }
    if (folder)
        closedir(folder);
}
