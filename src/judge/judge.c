/*
 * Judging kernels, from sources to verdicts. See judge.h.
 */
#include "judge/judge.h"

#include <signal.h>
#include <sys/random.h>

#include "base/memory.h"
#include "judge/judging.h"
#include "judge/reference.h"
#include "judge/refresh.h"
#include "judge/rival.h"
#include "os/os.h"

/* False when the system has no randomness to give: a seed that can be guessed is no seed. */
static bool secret_seed(uint64_t *seed, struct error *error)
{
    for (int tries = 0; tries < 10; tries++)
        if (getrandom(seed, sizeof *seed, 0) == sizeof *seed && *seed != 0)
            return true;
    return error_system(error, ERROR_TOOL_FAILED, "could not draw a secret seed");
}

/* All kernels of one call, in a struct so that it can run inside memory_try. */
struct session {
    struct arena *arena;
    const struct task *task;
    const struct source *const *sources;
    int count;
    const struct judge_options *options;
    struct verdict *verdicts;
    struct error *error;
    struct candidates candidates;
    int checked;               /* so many of them */
    bool right;                /* one of those, at least */
    struct compiled *compiled; /* one per kernel */
    struct ahead *ahead;
    struct yardstick yardstick;
    struct references references;
    struct judge_draws *draws;
    uint64_t seed; /* of the order in which things are timed */
    bool good;
};

static bool start_compiling(struct session *session)
{
    if (!compile_prepare_all(session->arena, session->sources, session->count,
                             session->options->inspect, session->compiled, session->error))
        return false;
    if (session->count == 1) /* several are compiled ahead, on other cores */
        session->compiled[0].resident = session->options->resident;
    int jobs = judge_jobs(session->options);
    /* the judge compiles, too: it would wait otherwise */
    int helpers = (jobs < session->count ? jobs : session->count) - 1;
    session->ahead = ahead_start(session->arena, session->compiled, session->count, helpers);
    return true;
}

static bool check_up_to(void *context, int number)
{
    struct session *session = context;
    bool good = true;
    for (; good && session->checked <= number; session->checked++) {
        int i = session->checked;
        struct judging judging = {.arena = session->arena,
                                  .task = session->task,
                                  .options = session->options,
                                  .source = session->sources[i],
                                  .verdict = &session->verdicts[i],
                                  .error = session->error,
                                  .compiled = &session->compiled[i],
                                  .ahead = session->ahead,
                                  .number = i,
                                  .yardstick = &session->yardstick,
                                  .references = &session->references,
                                  .draws = session->draws,
                                  .seed = session->draws->seed};
        good = judging_check(&judging);
        session->candidates.at[i].compiled = session->compiled[i];
        session->right |= good && session->verdicts[i].outcome == OUTCOME_OK;
    }
    return good;
}

/*
 * Whether kernels are checked one group at a time, each when its contest comes: while one core is
 * busy with timing, the others compile those of later groups. Not where timing has the machine to
 * itself, nor with several cases, of which one is timed after the other.
 */
static bool is_checked_alongside(const struct session *session)
{
    int timed = 0;
    for (int i = 0; i < session->task->case_count; i++)
        timed += session->task->cases[i].timed;
    return timed == 1 && session->options->threads <= 1;
}

static void session_run(void *context)
{
    struct session *session = context;
    const struct judge_options *options = session->options;
    bool good = true;
    struct judge_draws *draws = session->draws;
    if (draws->task != session->task) {
        size_t cases = (size_t)session->task->case_count + 1;
        draws->cases = arena_array(&draws->arena, cases, sizeof *draws->cases);
        draws->task = session->task;
    }
    if (!session->ahead)
        good = start_compiling(session);
    /* Threads of a kernel wait for each other in loops: beside a compiler that takes ten times as
     * long. */
    for (int i = 0; good && options->threads > 1 && i < session->count; i++)
        good = ahead_get(session->arena, session->ahead, i, session->error);
    const struct target *target = session->count > 0 ? device_target(session->sources[0]) : NULL;
    if (good && target)
        rival_announce(session->arena, session->task, options, target);
    bool whole = options->only_case < 0 && options->only_draw < 0 && !options->check_only;
    bool waits = !whole || target || !is_checked_alongside(session);
    while (good && session->checked < session->count && (waits || !session->right))
        good = check_up_to(session, session->checked);
    if (good && session->right && whole) {
        event("judge", event_string("doing", "timing"));
        good = time_kernels(session->arena, session->task, options, draws, session->seed,
                            &session->candidates, &session->yardstick, &session->references,
                            session->error);
    }
    good = good && check_up_to(session, session->count - 1);
    session->good = good;
}

void judge_draws_release(struct judge_draws *draws)
{
    for (int i = 0; draws->cases && i < draws->task->case_count; i++)
        if (draws->cases[i].pool)
            drawn_close(draws->cases[i].pool->drawn);
    arena_release(&draws->arena);
    *draws = (struct judge_draws){0};
}

bool judge_kernels(struct arena *arena, const struct task *task,
                   const struct source *const *sources, int count,
                   const struct judge_options *options, struct verdict *verdicts,
                   struct error *error)
{
    if (!device_check_targets(sources, count, error) ||
        !room_check_task(arena, task, options, count > 0 && device_target(sources[0]), error))
        return false;
    struct session session = {.arena = arena,
                              .task = task,
                              .sources = sources,
                              .count = count,
                              .options = options,
                              .verdicts = verdicts,
                              .error = error,
                              .seed = options->seed};
    struct judge_draws own = {0};
    session.draws = options->draws ? options->draws : &own;
    if (!session.draws->task || session.draws->task != task) {
        judge_draws_release(session.draws);
        session.draws->seed = options->seed;
        if (!options->seed && !secret_seed(&session.draws->seed, error))
            return false;
    }
    if (!session.seed && !secret_seed(&session.seed, error))
        return false;
    struct judge_announced *announced =
        judge_is_announced(options->announced, sources, count) ? options->announced : NULL;
    session.candidates = (struct candidates){
        .at = arena_array(arena, (size_t)count + 1, sizeof *session.candidates.at),
        .count = count,
        .check = check_up_to,
        .context = &session};
    for (int i = 0; i < count; i++) {
        verdicts[i] = (struct verdict){.outcome = OUTCOME_JUDGE_FAULT};
        session.candidates.at[i] =
            (struct candidate){.source = sources[i], .verdict = &verdicts[i]};
    }
    session.compiled = announced ? announced->compiled
                                 : arena_array(arena, (size_t)count + 1, sizeof *session.compiled);
    session.ahead = announced ? announced->ahead : NULL;
    /* whoever ignores the end of its children is not told how they ended */
    struct sigaction standard = {.sa_handler = SIG_DFL}, before;
    bool changed = sigaction(SIGCHLD, &standard, &before) == 0;
    bool was_open = sandbox_hide(); /* seed and answers are in here */
    if (!memory_try(session_run, &session))
        session.good = error_set(error, ERROR_OUT_OF_MEMORY, "memory ran out while judging");
    if (session.ahead && !announced)
        ahead_stop(session.ahead);
    plain_close(session.yardstick.plain);
    references_release(&session.references);
    judge_draws_release(&own);
    for (int i = 0; i < count && !announced; i++)
        compiled_release(&session.compiled[i]);
    sandbox_show(was_open);
    if (changed)
        sigaction(SIGCHLD, &before, NULL);
    return session.good;
}

void judge_prepare(struct arena *arena, const struct task *task, const struct source *source)
{
    struct error ignored = {0};
    struct compiled compiled = {0};
    struct yardstick yardstick = {0};
    if (compile_prepare(arena, source, &compiled, &ignored))
        (void)compile_prepared(arena, &compiled, &ignored);
    compiled_release(&compiled);
    for (int i = 0; i < task->case_count; i++) {
        const struct ir_program *program = task->cases[i].program;
        if (i > 0 && program == task->cases[i - 1].program)
            continue;
        (void)yardstick_get(arena, &yardstick, program, &ignored);
        oracle_slice_close(oracle_slice_compile(arena, program, false, &ignored));
        oracle_slice_close(oracle_slice_compile(arena, program, true, &ignored));
        struct oracle_code *code = oracle_compile(arena, program, &ignored);
        if (code)
            oracle_close(code);
    }
    plain_close(yardstick.plain);
}
