/*
 * How much a run keeps: memory SMELT [CANDIDATES]
 *
 * A search of so many candidates (4,000) with a judge that answers at once, kept in a store as any
 * run is. What is kept for one more candidate, from the first quarter on, are two fingerprints; of
 * those that retire the rest is in the store alone. What the process holds in all is looked at,
 * too: it has the store's own memory in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lang/lang.h"
#include "search/search.h"

enum { CANDIDATES = 4000, PROMISED = 150 };
static const double FLAT = 1.1; /* times what was held after the first quarter */

/* A product has more plans that are not hopeless than anybody will ask for. */
static const char text[] = "task memory of mm\n"
                           "    dtype T=f32\n"
                           "    accuracy f32\n"
                           "    case M=300, K=400, N=200 time\n";

/* Fitness from the plan; every seventh is wrong. */
static bool judge(void *context, struct arena *arena, const struct source *const *kernels,
                  struct plan *const *plans, int count, enum search_care care,
                  struct search_judgement *judgements, struct error *error)
{
    const struct skeleton_program *program = context;
    (void)kernels, (void)care, (void)error;
    for (int i = 0; i < count; i++) {
        char hash[65];
        struct verdict *verdict = arena_new(arena, struct verdict);
        plan_hash(plans[i], program->graph, hash);
        unsigned long number = strtoul((char[]){hash[0], hash[1], hash[2], hash[3], 0}, NULL, 16);
        verdict->outcome = number % 7 == 0 ? OUTCOME_WRONG : OUTCOME_OK;
        judgements[i] = (struct search_judgement){.verdict = verdict,
                                                  .fitness = 1 + (double)number / 65536,
                                                  .microseconds = 100,
                                                  .binary = arena_string(arena, hash)};
    }
    return true;
}

struct sight {
    int64_t judged;
    size_t kept; /* bytes, by the search */
    double held; /* megabytes, by the process */
};

/* After the first quarter, where most of it has been seen (what is kept for the words many have in
 * common is there, and whoever can be in memory is), and at the end. */
static struct sight first, last;
static struct arena *kept;
static int64_t wanted;

static double held(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static bool look(void *context, const struct search_progress *progress)
{
    (void)context;
    last = (struct sight){progress->judged, kept->used, held()};
    if (!first.judged && progress->judged >= wanted / 4)
        first = last;
    return true;
}

static bool run(struct arena *arena, const struct task *task, const char *path, struct error *error)
{
    struct machine machine = {.threads = 2, .sets = 1 << MACHINE_AVX2};
    struct rates rates = {0};
    kept = arena;
    struct skeleton_target target = skeleton_target_new(&machine, &rates);
    const struct ir_program *program = task->cases[0].program;
    struct ir_binding binding = {ir_root(program), task->cases[0].sizes, task->cases[0].scalars};
    struct skeleton_program *ready = skeleton_program_new(arena, program, &binding, &target);
    struct search_options options = {.policy = search_policy_find("islands"),
                                     .budget = {.evaluations = wanted},
                                     .seed = 1,
                                     .judge = {judge, ready},
                                     .progress = look};
    struct search search = {.arena = arena,
                            .options = &options,
                            .engine = &store_sqlite,
                            .store = store_sqlite.open(path, false, error),
                            .program = ready,
                            .threads = 1,
                            .run = {.task = "memory", .target = "cpu", .settings = ""}};
    bool fine = search.store && search_run(&search, error) != SEARCH_FAILED;
    if (search.store)
        store_sqlite.close(search.store);
    return fine;
}

int main(int argc, char **argv)
{
    struct arena arena = {0};
    struct errors errors = errors_new(&arena);
    struct error error = {0};
    wanted = argc > 2 ? atoll(argv[2]) : CANDIDATES;
    if (argc < 2 || !strchr(argv[1], '/') || wanted < 100) {
        fprintf(stderr, "usage: memory PATH/SMELT [CANDIDATES]\n");
        return 2;
    }
    int length = (int)(strrchr(argv[1], '/') - argv[1]);
    const char *library = arena_printf(&arena, "%.*s/../lib", length, argv[1]);
    struct lang *lang = lang_new(&arena, library);
    struct lang_file *file = lang_load_text(lang, "memory.op", text, strlen(text), &errors);
    const struct task *task = file && lang_task_count(file)
                                  ? lang_task(lang, file, lang_task_ast(file, 0), &errors)
                                  : NULL;
    char folder[] = "/tmp/smelt-memory-XXXXXX";
    if (!task || !mkdtemp(folder)) {
        fprintf(stderr, "the task could not be made\n");
        return 1;
    }
    const char *path = arena_printf(&arena, "%s/store.db", folder);
    bool fine = run(&arena, task, path, &error);
    double each = fine && last.judged > first.judged
                      ? (double)(last.kept - first.kept) / (double)(last.judged - first.judged)
                      : -1;
    printf("memory a run keeps for a candidate, %lld to %lld | %.0f bytes | < %d bytes | %s\n",
           (long long)first.judged, (long long)last.judged, each, PROMISED,
           each >= 0 && each < PROMISED ? "yes" : "NO");
    printf(
        "memory of the whole process, from there to here | %.1f to %.1f MB | < %.1f times | %s\n",
        first.held, last.held, FLAT, last.held < FLAT * first.held ? "yes" : "NO");
    unlink(path);
    rmdir(folder);
    return !fine;
}
