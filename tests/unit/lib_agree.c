/*
 * Interpreter and compiled oracle, and the flat program, agree bit for bit on every op of lib/ over
 * random shapes, empty and odd ones among them, with hard values (NaN, infinities, zeros of both
 * signs) in the inputs; and on every case of the manual's and the examples' tasks. One test per
 * file, called agreement_lib_FILE and agreement_case_FILE; they run only when asked for: see
 * tests/run.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flat_check.h"
#include "lang/lang.h"
#include "lib_vectors.h"
#include "oracle/oracle.h"
#include "oracle_differ.h"
#include "test.h"

enum { SETTINGS_MAXIMUM = 64, SHAPES = 2, CASES = 4, TRIES = 60 };

static const double most_steps = 200000;

struct subject {
    const char *what; /* the op and its settings */
    const struct task_case *task_case;
    const struct ir_binding *binding;
};

struct programs VECTOR(const struct ir_program *);

struct agreement {
    struct arena *arena;
    struct lang *lang;
    struct subjects VECTOR(struct subject) subjects;
    struct programs programs; /* the different ones */
    struct random random;
};

/* Kept when it binds and is not too much work. */
static bool take_case(struct agreement *agreement, const char *what,
                      const struct task_case *task_case, struct error *error)
{
    const struct ir_binding *binding =
        ir_bind(agreement->arena, task_case->program, task_case->sizes, task_case->scalars, error);
    if (!binding)
        return false;
    if (oracle_steps(binding, NULL) > most_steps)
        return error_set(error, ERROR_TOO_MANY, "too much work");
    const struct subject subject = {what, task_case, binding};
    vector_push(agreement->arena, &agreement->subjects, subject);
    for (size_t i = 0; i < agreement->programs.count; i++)
        if (agreement->programs.at[i] == task_case->program)
            return true;
    vector_push(agreement->arena, &agreement->programs, task_case->program);
    return true;
}

/* Hard values where the op takes any, else what it asks for; NULL when nothing is like that. */
static const struct array *draw(struct agreement *agreement, const struct subject *subject,
                                uint64_t seed)
{
    const struct ir_binding *binding = subject->binding;
    struct error error = {0};
    struct array *hard = differ_draw(binding, seed);
    if (hard && oracle_admit(binding, hard, &error))
        return hard;
    size_t count = (size_t)binding->part->input_count + 1;
    struct array *inputs = arena_array(agreement->arena, count, sizeof *inputs);
    if (oracle_draw(agreement->arena, subject->task_case, binding, seed, inputs, &error))
        return inputs;
    CHECK_INT(error.code, ERROR_BAD_DRAW);
    return NULL;
}

static void compare_all(struct agreement *agreement)
{
    struct error error = {0};
    int count = (int)agreement->programs.count;
    struct oracle_code **codes = arena_array(agreement->arena, (size_t)count + 1, sizeof *codes);
    use_own_cache();
    if (count &&
        !oracle_compile_all(agreement->arena, agreement->programs.at, count, codes, &error))
        test_fail(__FILE__, __LINE__, "%s\n%s", error.message, error.detail);
    for (size_t i = 0; i < agreement->subjects.count; i++) {
        const struct subject *subject = &agreement->subjects.at[i];
        size_t number = 0;
        while (agreement->programs.at[number] != subject->task_case->program)
            number++;
        const struct array *inputs = draw(agreement, subject, i);
        printf("%s\n", subject->what); /* shown when the test fails */
        if (inputs) {
            differ_check(codes[number], subject->binding, inputs);
            flat_check(subject->task_case->program, subject->binding, inputs);
        }
    }
    for (int i = 0; i < count; i++)
        oracle_close(codes[i]);
}

/* ---- ops of the library ---- */

static int64_t draw_size(struct random *random)
{
    static const int64_t sizes[] = {0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 9, 17};
    return sizes[random_below(random, sizeof sizes / sizeof *sizes)];
}

/* "[4]" stands for sizes of one rank, "[4, 8]" for those of list members, "8" for a size. */
static const char *draw_setting(struct agreement *agreement, const char *name, const char *value,
                                int shape)
{
    struct text out = text_new(agreement->arena);
    bool members = strchr(value, ',') != NULL;
    text_printf(&out, "%s=", name);
    if (value[0] == '[') {
        int count = (members ? 2 : 1) + (shape == 0 ? 0 : 1);
        for (int i = 0; i < count; i++)
            text_printf(&out, "%s%lld", i ? ", " : "[", (long long)draw_size(&agreement->random));
        text_add(&out, "]");
    } else if (strcmp(value, "8") == 0) {
        text_printf(&out, "%lld", (long long)draw_size(&agreement->random));
    } else if (strcmp(value, "2") == 0) {
        text_printf(&out, "%llu", 1 + (unsigned long long)random_below(&agreement->random, 3));
    } else {
        text_add(&out, value);
    }
    return out.at;
}

/* Splits "case A=[4, 8], D=8" into settings, each as said or drawn anew. */
static size_t draw_settings(struct agreement *agreement, const char *line, bool as_said, int shape,
                            const char **settings)
{
    char *copy = arena_string(agreement->arena, line + strlen("case"));
    size_t count = 0;
    for (char *at = copy; *at && count < SETTINGS_MAXIMUM;) {
        at += strspn(at, " ,");
        char *name = at;
        at += strcspn(at, "=");
        if (!*at)
            break;
        *at++ = '\0';
        char *value = at;
        at += *at == '[' ? strcspn(at, "]") + 1 : strcspn(at, ",");
        char end = *at;
        *at = '\0';
        settings[count++] = as_said ? arena_printf(agreement->arena, "%s=%s", name, value)
                                    : draw_setting(agreement, name, value, shape);
        at += end != '\0';
    }
    return count;
}

static const char *join(struct arena *arena, const char *name, const char **settings, size_t count)
{
    struct text out = text_new(arena);
    text_add(&out, name);
    for (size_t i = 0; i < count; i++)
        text_printf(&out, " %s", settings[i]);
    return out.at;
}

static void take_op(struct agreement *agreement, struct lang_file *file, const struct ast_op *op)
{
    struct text line = text_new(agreement->arena);
    const char *settings[SETTINGS_MAXIMUM];
    int taken = 0;
    struct error error = {0};
    lang_suggest_case(&line, op);
    for (int i = 0; i < TRIES && taken < CASES; i++) {
        struct errors errors = errors_new(agreement->arena);
        size_t count =
            draw_settings(agreement, line.at, i == 0, i < TRIES / 2 ? i % SHAPES : 0, settings);
        const struct task *task =
            lang_task_from_settings(agreement->lang, file, op, settings, count, &errors);
        const char *what = join(agreement->arena, op->name.name, settings, count);
        if (!task && i == 0 && errors.list.count)
            error = errors.list.at[0];
        if (task)
            taken += take_case(agreement, what, &task->cases[0], &error);
    }
    if (taken == 0)
        test_fail(__FILE__, __LINE__, "no sizes were found for %s: %s", op->name.name,
                  error.message);
}

static void check_library_file(void)
{
    struct arena *arena = differ_arena();
    const char *root = repository_root();
    struct agreement agreement = {.arena = arena, .random = random_new(1, 2)};
    struct errors errors = errors_new(arena);
    agreement.lang = lang_new(arena, arena_printf(arena, "%s/lib", root));
    struct lang_file *file = lang_load(
        agreement.lang, arena_printf(arena, "%s/lib/%s", root, test_running->subject), &errors);
    CHECK(file && errors.list.count == 0);
    for (size_t i = 0; i < lang_op_count(file); i++)
        take_op(&agreement, file, lang_op(file, i));
    compare_all(&agreement);
}

/* ---- cases as written ---- */

static void take_cases(struct agreement *agreement, const char *name, const char *text,
                       size_t length)
{
    struct errors errors = errors_new(agreement->arena);
    struct lang_file *file = lang_load_text(agreement->lang, name, text, length, &errors);
    for (size_t i = 0; file && errors.list.count == 0 && i < lang_task_count(file); i++) {
        const struct ast_task *ast = lang_task_ast(file, i);
        const struct task *task = lang_task(agreement->lang, file, ast, &errors);
        for (int k = 0; task && k < task->case_count; k++) {
            struct error error = {0};
            take_case(agreement,
                      arena_printf(agreement->arena, "%s: task %s, case %d", name, task->name, k),
                      &task->cases[k], &error);
        }
    }
}

/* The blocks marked as op; those marked with an error have no case that binds. */
static void take_manual(struct agreement *agreement, const char *path, const char *text)
{
    static const char mark[] = "```op\n", end[] = "\n```";
    for (const char *at = text; (at = strstr(at, mark));) {
        at += strlen(mark);
        const char *stop = strstr(at, end);
        if (!stop)
            return;
        take_cases(agreement, path, at, (size_t)(stop - at) + 1);
        at = stop;
    }
}

static void check_case_file(void)
{
    struct arena *arena = differ_arena();
    const char *root = repository_root();
    const char *path = arena_printf(arena, "%s/%s", root, test_running->subject);
    struct agreement agreement = {.arena = arena};
    struct text text = text_new(arena);
    char buffer[4096];
    size_t count;
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while ((count = fread(buffer, 1, sizeof buffer, file)) > 0)
        text_add_bytes(&text, buffer, count);
    fclose(file);
    agreement.lang = lang_new(arena, arena_printf(arena, "%s/lib", root));
    if (strstr(path, ".md"))
        take_manual(&agreement, path, text.at);
    else
        take_cases(&agreement, path, text.at, text.length);
    compare_all(&agreement);
}

/* ---- one test per file ---- */

enum { FILES_MAXIMUM = 200 };

static void register_folder(const char *folder, const char *ending, const char *prefix,
                            bool with_folder, void (*run)(void))
{
    static struct test tests[FILES_MAXIMUM];
    static char names[FILES_MAXIMUM][96], subjects[FILES_MAXIMUM][96];
    static size_t count;
    char path[PATH_MAX + 32];
    struct dirent *entry;
    snprintf(path, sizeof path, "%s/%s", repository_root(), folder);
    DIR *open = opendir(path);
    while (open && count < FILES_MAXIMUM && (entry = readdir(open))) {
        size_t length = strlen(entry->d_name), tail = strlen(ending);
        if (length <= tail || length > 60 || strcmp(entry->d_name + length - tail, ending) != 0)
            continue;
        snprintf(names[count], sizeof names[count], "%s%.*s", prefix, (int)(length - tail),
                 entry->d_name);
        snprintf(subjects[count], sizeof subjects[count], "%s%s%.60s", with_folder ? folder : "",
                 with_folder ? "/" : "", entry->d_name);
        tests[count] = (struct test){names[count], __FILE__, __LINE__, run, NULL, subjects[count]};
        test_register(&tests[count++]);
    }
    if (open)
        closedir(open);
}

__attribute__((constructor)) static void register_files(void)
{
    register_folder("lib", ".op", "agreement_lib_", false, check_library_file);
    register_folder("docs", ".md", "agreement_case_", true, check_case_file);
    register_folder("examples", ".op", "agreement_case_", true, check_case_file);
}
