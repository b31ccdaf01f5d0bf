/*
 * Kernels that are announced: while others are judged, those that come next are compiled. Timing
 * with one thread takes one core, and compiling is the longest part of judging a small kernel.
 */
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "judge/private.h"
#include "os/os.h"

int judge_jobs(const struct judge_options *options)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return options->jobs > 0 ? options->jobs : cores > 0 && cores < 64 ? (int)cores : 1;
}

bool compile_prepare_all(struct arena *arena, const struct source *const *sources, int count,
                         bool inspect, struct compiled *compiled, struct error *error)
{
    bool good = true;
    for (int i = 0; good && i < count; i++) {
        good = compile_prepare(arena, sources[i], &compiled[i], error);
        compiled[i].inspect = inspect;
    }
    return good;
}

/* In a struct so that it can run inside memory_try. */
struct announcing {
    const struct source *const *sources;
    int count, helpers;
    bool inspect;
    struct judge_announced *announced;
};

static void begin(void *context)
{
    struct announcing *call = context;
    struct arena arena = {0};
    size_t count = (size_t)call->count;
    struct error ignored = {0};
    struct judge_announced *announced = arena_new(&arena, struct judge_announced);
    announced->arena = arena;
    call->announced = announced; /* from here on it is reachable from outside */
    announced->sources = arena_array(&announced->arena, count, sizeof *announced->sources);
    announced->compiled = arena_array(&announced->arena, count, sizeof *announced->compiled);
    announced->count = call->count;
    for (int i = 0; i < call->count; i++) {
        const struct source *source = call->sources[i];
        announced->sources[i] = *source;
        announced->sources[i].text = arena_copy(&announced->arena, source->text, source->length);
    }
    if (compile_prepare_all(&announced->arena, call->sources, call->count, call->inspect,
                            announced->compiled, &ignored))
        announced->ahead =
            ahead_start(&announced->arena, announced->compiled, call->count, call->helpers);
}

struct judge_announced *judge_announce(const struct source *const *sources, int count,
                                       const struct judge_options *options)
{
    int others = judge_jobs(options) - 1;
    struct announcing call = {sources, count, others < count ? others : count, options->inspect,
                              NULL};
    if (call.helpers < 1 || options->threads > 1) /* which have the machine to themselves */
        return NULL;
    bool was_open = sandbox_hide(); /* helpers are copies of us: earlier draws are in here */
    bool enough = memory_try(begin, &call);
    sandbox_show(was_open);
    if (enough && call.announced->ahead)
        return call.announced;
    judge_announced_release(call.announced); /* what fails is found out when it is judged */
    return NULL;
}

bool judge_is_announced(const struct judge_announced *announced,
                        const struct source *const *sources, int count)
{
    bool same = announced && announced->count == count;
    for (int i = 0; same && i < count; i++)
        same = announced->sources[i].length == sources[i]->length &&
               memcmp(announced->sources[i].text, sources[i]->text, sources[i]->length) == 0;
    return same;
}

void judge_announced_release(struct judge_announced *announced)
{
    if (!announced)
        return;
    struct arena arena = announced->arena;
    if (announced->ahead)
        ahead_stop(announced->ahead);
    for (int i = 0; i < announced->count; i++)
        compiled_release(&announced->compiled[i]);
    arena_release(&arena);
}
