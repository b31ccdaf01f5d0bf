/*
 * smelt kb check: the code on pages, compiled or judged as its first line says.
 *
 *     ```c gcc -mavx512f has=vfmadd no=vgather      compiles; what the assembly must (not) have
 *     ```c judge softmax B=[64] D=1024 -> ok        judged as a kernel; the outcome it must get
 *
 * Pages may come from anywhere: compilers run confined, as they do for kernels.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/kb.h"
#include "cmd/subject.h"
#include "judge/folder.h"
#include "judge/judge.h"
#include "judge/tool.h"
#include "machine/machine.h"
#include "os/file.h"
#include "os/process.h"

enum { CHECK_SECONDS = 60, CHECK_ARGUMENTS = 48, CHECK_ASSEMBLY = 16 << 20 };

struct checker {
    const char *name;
    const char *program;
    const char *file;             /* the name the block gets */
    const char *const *arguments; /* before the block's own flags */
    const char *prefix;           /* put before the one word a block gives; NULL: it gives flags */
};

static const char *const native[] = {"-std=gnu17", "-O3", "-fopenmp", "-S", NULL};
static const char *const cross[] = {"-std=gnu17", "-O3", "-S", NULL};
static const char *const cuda[] = {"-std=c++17", "-ptx", NULL};
static const char *const opencl[] = {
    "-x",      "cl",     "-cl-std=CL2.0", "-Xclang",    "-finclude-default-header",
    "-target", "spir64", "-O2",           "-emit-llvm", "-S",
    NULL};
static const char *const amdgcn[] = {"-x",
                                     "cl",
                                     "-cl-std=CL2.0",
                                     "-Xclang",
                                     "-finclude-default-header",
                                     "-target",
                                     "amdgcn-amd-amdhsa",
                                     "-nogpulib",
                                     "-O2",
                                     "-S",
                                     NULL};

/* One row per way to compile. */
static const struct checker checkers[] = {
    {"gcc", "gcc", "snippet.c", native, NULL},
    {"clang", "clang", "snippet.c", native, NULL},
    {"aarch64", "aarch64-linux-gnu-gcc", "snippet.c", cross, NULL},
    {"nvcc", "nvcc", "snippet.cu", cuda, "-arch="},
    {"opencl", "clang", "snippet.cl", opencl, NULL},
    {"amdgcn", "clang", "snippet.cl", amdgcn, "-mcpu="},
};

static struct kb_finding finding(enum kb_state state, const char *what)
{
    return (struct kb_finding){.state = state, .what = what};
}

/* What is said about each block, "has=WORD" and the like; the rest is the tool's. */
static const char *value_of(const char *word, const char *key)
{
    size_t length = strlen(key);
    return strncmp(word, key, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

/* Flags that choose what code is made, and nothing that reads, writes or loads files. */
static bool is_harmless(const char *flag)
{
    static const char *const good[] = {"-m", "-O", "-f", "-D", "-std=", "-W", "-cl-"};
    static const char *const bad[] = {"-fplugin", "-fdump", "-fprofile", "-Wl,", "-Wp,", "-Wa,"};
    bool known = false;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        known = known || strncmp(flag, good[i], strlen(good[i])) == 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        known = known && strncmp(flag, bad[i], strlen(bad[i])) != 0;
    return known;
}

/* ---- compiling ---- */

static struct kb_finding check_assembly(struct arena *arena, const struct kb_snippet *snippet,
                                        const char *path)
{
    struct error error = {0};
    const char *text = file_read(arena, path, CHECK_ASSEMBLY, NULL, &error);
    if (!text)
        return finding(KB_BAD, arena_string(arena, error.message));
    for (size_t i = 0; i < snippet->check.count; i++) {
        const char *has = value_of(snippet->check.at[i], "has");
        const char *no = value_of(snippet->check.at[i], "no");
        if (has && !strstr(text, has))
            return finding(KB_BAD, arena_printf(arena, "what it compiles to has no '%s'", has));
        if (no && strstr(text, no))
            return finding(KB_BAD, arena_printf(arena, "what it compiles to has '%s'", no));
    }
    return finding(KB_GOOD, "");
}

/* NULL: a word that is no flag of this checker. */
static const char *take_word(struct arena *arena, const struct checker *checker, const char *word)
{
    if (checker->prefix)
        return strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(word)
                   ? arena_printf(arena, "%s%s", checker->prefix, word)
                   : NULL;
    return is_harmless(word) ? word : NULL;
}

static struct kb_finding compile_in(struct arena *arena, const struct checker *checker,
                                    const struct kb_snippet *snippet, const char *folder)
{
    char *program = process_find(arena, checker->program);
    const char *arguments[CHECK_ARGUMENTS] = {program};
    int count = 1;
    struct error error = {0};
    if (!program)
        return finding(KB_SKIPPED, arena_printf(arena, "%s is not installed", checker->program));
    for (const char *const *flag = checker->arguments; *flag; flag++)
        arguments[count++] = *flag;
    for (size_t i = 1; i < snippet->check.count; i++) {
        const char *word = snippet->check.at[i];
        if (value_of(word, "has") || value_of(word, "no"))
            continue;
        const char *taken = take_word(arena, checker, word);
        if (!taken || count > CHECK_ARGUMENTS - 5)
            return finding(KB_BAD,
                           arena_printf(arena, "'%s' cannot be asked of %s", word, checker->name));
        arguments[count++] = taken;
    }
    arguments[count++] = "-o";
    arguments[count++] = "snippet.out";
    arguments[count++] = checker->file;
    struct tool_run run;
    if (!file_write(arena_printf(arena, "%s/%s", folder, checker->file), snippet->text,
                    snippet->length, 0600, &error))
        return finding(KB_BAD, arena_string(arena, error.message));
    tool_run(arena, arguments, folder, CHECK_SECONDS, &run);
    if (!run.started || !run.in_time)
        return finding(KB_BAD, run.started ? "the compiler did not finish in time"
                                           : "the compiler could not be run");
    if (run.status != 0)
        return finding(KB_BAD, run.output);
    return check_assembly(arena, snippet, arena_printf(arena, "%s/snippet.out", folder));
}

static struct kb_finding compile(struct arena *arena, const struct checker *checker,
                                 const struct kb_snippet *snippet)
{
    struct folder folder;
    struct error error = {0};
    if (!folder_make(arena, &folder, &error))
        return finding(KB_BAD, arena_string(arena, error.message));
    struct kb_finding found = compile_in(arena, checker, snippet, folder.path);
    folder_remove(&folder);
    return found;
}

/* ---- judging ---- */

struct judgement {
    const char *subject; /* op or task */
    struct kb_words settings;
    const char *expected; /* the outcome */
};

static struct kb_finding error_finding(struct arena *arena, const struct errors *errors)
{
    return finding(KB_BAD, errors->list.count ? arena_string(arena, errors->list.at[0].message)
                                              : "the task has no cases");
}

static struct kb_finding judge_as(struct invocation *invocation, const struct kb_page *page,
                                  const struct kb_snippet *snippet,
                                  const struct judgement *judgement)
{
    struct arena *arena = invocation->arena;
    struct errors errors = errors_new(arena);
    struct subject subject;
    struct verdict verdict = {0};
    struct error error = {0};
    if (!subject_find(invocation, judgement->subject, NULL, NULL, &subject, &errors))
        return error_finding(arena, &errors);
    const struct task *task =
        lang_task_from_settings(subject.lang, subject.file, subject.op, judgement->settings.at,
                                judgement->settings.count, &errors);
    if (!task || task->case_count == 0)
        return error_finding(arena, &errors);
    const struct source kernel = {page->source->name, snippet->text, snippet->length};
    const struct source *kernels[] = {&kernel};
    struct judge_options options = {.only_case = -1, .only_draw = -1, .check_only = true};
    if (!judge_kernels(arena, task, kernels, 1, &options, &verdict, &error))
        return finding(KB_BAD, arena_string(arena, error.message));
    if (strcmp(outcome_name(verdict.outcome), judgement->expected) == 0)
        return finding(KB_GOOD, "");
    return finding(KB_BAD,
                   arena_printf(arena, "judged %s, not %s: %s\n%s", outcome_name(verdict.outcome),
                                judgement->expected, verdict.message, verdict.detail));
}

static struct kb_finding judge(struct invocation *invocation, const struct kb_page *page,
                               const struct kb_snippet *snippet)
{
    struct judgement judgement = {.expected = "ok"};
    for (size_t i = 1; i < snippet->check.count; i++) {
        const char *word = snippet->check.at[i];
        if (strcmp(word, "->") == 0 && i + 1 < snippet->check.count)
            judgement.expected = snippet->check.at[++i];
        else if (value_of(word, "needs"))
            continue;
        else if (!judgement.subject)
            judgement.subject = word;
        else
            vector_push(invocation->arena, &judgement.settings, word);
    }
    if (!judgement.subject || subject_is_file(judgement.subject))
        return finding(KB_BAD, "it does not say for which op of the library it is a kernel");
    return judge_as(invocation, page, snippet, &judgement);
}

/* ---- ops ---- */

static struct kb_finding check_op(struct invocation *invocation, const struct kb_page *page,
                                  const struct kb_snippet *snippet)
{
    struct errors errors = errors_new(invocation->arena);
    struct lang *lang = lang_new(invocation->arena, NULL);
    struct lang_file *file =
        lang_load_text(lang, page->source->name, snippet->text, snippet->length, &errors);
    if (file && errors.list.count == 0 && lang_check(lang, file, &errors))
        return finding(KB_GOOD, "");
    return error_finding(invocation->arena, &errors);
}

/* ---- all ---- */

/* The instruction set a block needs to be run, that this machine does not have; or NULL. */
static const char *lacking(const struct kb_snippet *snippet)
{
    struct machine machine;
    const char *needed = NULL;
    for (size_t i = 0; i < snippet->check.count && !needed; i++)
        needed = value_of(snippet->check.at[i], "needs");
    if (!needed)
        return NULL;
    machine_describe(&machine, "");
    for (int set = 0; set < MACHINE_SET_COUNT; set++)
        if (strcmp(machine_set_name((enum machine_set)set), needed) == 0 &&
            machine_has(&machine, (enum machine_set)set))
            return NULL;
    return needed;
}

static struct kb_finding check_by(struct invocation *invocation, const struct kb_page *page,
                                  const struct kb_snippet *snippet)
{
    const char *tool = snippet->check.count ? snippet->check.at[0] : "";
    const char *lacks = lacking(snippet);
    if (lacks)
        return finding(KB_SKIPPED,
                       arena_printf(invocation->arena, "this machine has no %s", lacks));
    if (strcmp(tool, "judge") == 0)
        return judge(invocation, page, snippet);
    if (strcmp(tool, "op") == 0)
        return check_op(invocation, page, snippet);
    for (size_t i = 0; i < sizeof checkers / sizeof *checkers; i++)
        if (strcmp(tool, checkers[i].name) == 0)
            return compile(invocation->arena, &checkers[i], snippet);
    return finding(KB_BAD, "its first line does not say how to check it: gcc, clang, aarch64, "
                           "nvcc, opencl, amdgcn, judge or op");
}

struct kb_finding kb_check_snippet(struct invocation *invocation, const struct kb_page *page,
                                   const struct kb_snippet *snippet)
{
    struct text how = text_new(invocation->arena);
    text_add(&how, snippet->language);
    for (size_t i = 0; i < snippet->check.count; i++)
        text_printf(&how, " %s", snippet->check.at[i]);
    struct kb_finding found = check_by(invocation, page, snippet);
    found.how = how.at;
    return found;
}
