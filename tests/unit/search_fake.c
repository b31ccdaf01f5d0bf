/*
 * A search of softmax with a judge that is a function of the plan and a clock that counts.
 */
#include "search_fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_differ.h"
#include "test.h"

struct fake_store fake_store_open(void)
{
    struct fake_store store = {.folder = "/tmp/smelt-search-XXXXXX"};
    struct error error = {0};
    CHECK(mkdtemp(store.folder) != NULL);
    snprintf(store.path, sizeof store.path, "%s/store.db", store.folder);
    store.store = store_sqlite.open(store.path, false, &error);
    CHECK(store.store != NULL);
    return store;
}

void fake_store_close(struct fake_store *store)
{
    char command[64];
    store_sqlite.close(store->store);
    snprintf(command, sizeof command, "rm -rf %s", store->folder);
    CHECK(system(command) == 0);
}

static const char softmax[] = "ir 1\n"
                              "part softmax {\n"
                              "    size N\n"
                              "    size D\n"
                              "    input x f32[N, D]\n"
                              "    output y f32[N, D]\n"
                              "    temporary m ~f32[N]\n"
                              "    temporary s ~f32[N]\n"
                              "    signature (x) -> (y)\n"
                              "    reduce max over n < N | d < D {\n"
                              "        %0 = index n\n"
                              "        %1 = index d\n"
                              "        %2 = read x [%0, %1] proved\n"
                              "        m [%0] <- %2\n"
                              "    }\n"
                              "    reduce sum over n < N | d < D {\n"
                              "        %0 = index n\n"
                              "        %1 = index d\n"
                              "        %2 = read x [%0, %1] proved\n"
                              "        %3 = read m [%0] proved\n"
                              "        %4 = sub f32 %2, %3\n"
                              "        %5 = exp f32 %4\n"
                              "        s [%0] <- %5\n"
                              "    }\n"
                              "    map over n < N, d < D {\n"
                              "        %0 = index n\n"
                              "        %1 = index d\n"
                              "        %2 = read x [%0, %1] proved\n"
                              "        %3 = read m [%0] proved\n"
                              "        %4 = sub f32 %2, %3\n"
                              "        %5 = exp f32 %4\n"
                              "        %6 = read s [%0] proved\n"
                              "        %7 = fdiv f32 %5, %6\n"
                              "        y [%0, %1] <- %7\n"
                              "    }\n"
                              "}\n";

struct skeleton_program *fake_prepare_sized(struct arena *arena, int64_t rows, int64_t columns)
{
    static struct skeleton_target target;
    struct machine machine = {.threads = 2, .sets = 1 << MACHINE_AVX2};
    struct rates rates = {0};
    struct error error = {0};
    int64_t *sizes = arena_array(arena, 2, sizeof *sizes);
    static const double scalars[1];
    const struct ir_program *program = differ_parse(softmax);
    sizes[0] = rows;
    sizes[1] = columns;
    struct ir_binding *binding = ir_bind(arena, program, sizes, scalars, &error);
    CHECK(binding != NULL);
    target = skeleton_target_new(&machine, &rates);
    return skeleton_program_new(arena, program, binding, &target);
}

struct skeleton_program *fake_prepare(struct arena *arena)
{
    return fake_prepare_sized(arena, 4096, 1024);
}

/* Fitness from the plan's text; every seventh plan is wrong. */
bool fake_judge(void *context, struct arena *arena, const struct source *const *kernels,
                struct plan *const *plans, int count, enum search_care care,
                struct search_judgement *judgements, struct error *error)
{
    const struct skeleton_program *program = context;
    (void)kernels, (void)care, (void)error;
    for (int i = 0; i < count; i++) {
        char hash[65];
        struct verdict *verdict = arena_new(arena, struct verdict);
        if (plans[i])
            plan_hash(plans[i], program->graph, hash);
        else
            sha256_hex(kernels[i]->text, kernels[i]->length, hash);
        unsigned long number = strtoul((char[]){hash[0], hash[1], hash[2], hash[3], 0}, NULL, 16);
        verdict->outcome = number % 7 == 0 ? OUTCOME_WRONG : OUTCOME_OK;
        judgements[i] = (struct search_judgement){
            .verdict = verdict,
            .fitness = verdict->outcome == OUTCOME_OK ? 1 + (double)number / 65536 : 0,
            .microseconds = 100};
        if (!plans[i] && strstr(kernels[i]->text, "fast"))
            judgements[i].fitness = 5;
        if (!plans[i])
            verdict->outcome = judgements[i].fitness > 0 ? OUTCOME_OK : OUTCOME_WRONG;
    }
    return true;
}

size_t fake_digits = 1;

bool fake_judge_twins(void *context, struct arena *arena, const struct source *const *kernels,
                      struct plan *const *plans, int count, enum search_care care,
                      struct search_judgement *judgements, struct error *error)
{
    const struct skeleton_program *program = context;
    if (!fake_judge(context, arena, kernels, plans, count, care, judgements, error))
        return false;
    for (int i = 0; i < count && care == SEARCH_CARE_USUAL; i++) {
        char hash[65];
        plan_hash(plans[i], program->graph, hash);
        judgements[i].binary = arena_copy(arena, hash, fake_digits);
        judgements[i].twin = search_twin(fake_current, judgements[i].binary);
        for (int k = 0; k < i && !judgements[i].twin && !judgements[i].same_as; k++)
            if (!judgements[k].twin && strcmp(judgements[k].binary, judgements[i].binary) == 0)
                judgements[i].same_as = k + 1;
    }
    return true;
}

bool (*fake_judge_now)(void *context, struct arena *arena, const struct source *const *kernels,
                       struct plan *const *plans, int count, enum search_care care,
                       struct search_judgement *judgements, struct error *error) = fake_judge;

static double fake_time;
void (*fake_announce_now)(void *context, const struct source *const *kernels, int count);
const struct run *fake_going_on;
struct search *fake_current;
int fake_fail_at;
int fake_live;

double fake_clock(void)
{
    return fake_time += 0.01;
}

void fake_clock_reset(void)
{
    fake_time = 0;
}

static bool follow(void *context, const struct search_progress *progress)
{
    struct fake_trace *trace = context;
    if (progress->last)
        text_printf(&trace->text, "%lld %.6f %s\n", (long long)progress->judged,
                    progress->best ? progress->best->record.fitness : 0, progress->last->hash);
    return trace->stop_after == 0 || ++trace->calls < trace->stop_after;
}

struct search *fake_run(struct arena *arena, const char *policy, int64_t evaluations,
                        struct store *store, int64_t id, struct fake_trace *trace)
{
    struct error error = {0};
    struct search *search = arena_new(arena, struct search);
    struct search_options *options = arena_new(arena, struct search_options);
    struct skeleton_program *program = fake_prepare(arena);
    trace->text = text_new(arena);
    *options = (struct search_options){.policy = search_policy_find(policy),
                                       .budget = {.evaluations = evaluations},
                                       .seed = 42,
                                       .live = fake_live,
                                       .judge = {fake_judge_now, program, fake_announce_now},
                                       .progress = follow,
                                       .context = trace,
                                       .clock = fake_clock};
    *search = (struct search){
        .arena = arena,
        .options = options,
        .engine = store ? &store_sqlite : NULL,
        .store = store,
        .program = program,
        .threads = 1,
        .run = fake_going_on ? *fake_going_on
                             : (struct run){.id = id, .task = "softmax", .target = "cpu"}};
    fake_clock_reset();
    fake_current = search;
    enum search_end end = search_run(search, &error);
    if (!fake_fail_at) {
        CHECK_STR(error.message, "");
        CHECK(end != SEARCH_FAILED);
    }
    return search;
}
