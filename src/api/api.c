/*
 * include/smelt.h over the rooms: sessions, errors as one string, verdicts as plain C.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "judge/judge.h"
#include "lang/lang.h"
#include "smelt.h"

struct smelt {
    struct arena arena; /* of the last call */
    char error[1000];
};

smelt *smelt_open(void)
{
    return calloc(1, sizeof(struct smelt));
}

void smelt_close(smelt *session)
{
    if (session)
        arena_release(&session->arena);
    free(session);
}

const char *smelt_error(const smelt *session)
{
    return session->error;
}

const char *smelt_version(void)
{
    return SMELT_VERSION;
}

/* One call, inside memory_try. */
struct call {
    smelt *session;
    const char *task;
    const char *const *settings;
    const char *source;
    const smelt_options *options;
    smelt_verdict *verdict;
    bool done;
};

static void keep_error(smelt *session, const struct error *error)
{
    struct text text = text_new(&session->arena);
    error_render(&text, error, false);
    snprintf(session->error, sizeof session->error, "%s", text.at);
}

static struct task *find_task(struct call *call, struct errors *errors)
{
    struct arena *arena = &call->session->arena;
    struct lang *lang = lang_new(arena, NULL);
    size_t count = 0;
    while (call->settings && call->settings[count])
        count++;
    bool is_file = strpbrk(call->task, "./") != NULL;
    struct lang_file *file = is_file ? lang_load(lang, call->task, errors) : NULL;
    if (is_file && (!file || errors->list.count > 0))
        return NULL;
    if (file && count == 0 && lang_task_count(file) > 0)
        return lang_task(lang, file, lang_task_ast(file, 0), errors);
    const struct ast_op *op = file && lang_op_count(file) > 0 ? lang_op(file, 0)
                              : file                          ? NULL
                                     : lang_find_op(lang, NULL, call->task);
    if (op)
        return lang_task_from_settings(lang, file, op, call->settings, count, errors);
    errors_add(errors, ERROR_NO_SUCH_OP, (struct place){0}, "there is no op '%s'", call->task);
    return NULL;
}

static void summarise(struct call *call, const struct verdict *verdict)
{
    struct text json_text = text_new(&call->session->arena);
    struct json json = json_new(&json_text, 2);
    verdict_write(&json, "kernel", verdict);
    double logs = 0, gains = 0;
    int timed = 0;
    *call->verdict =
        (smelt_verdict){.outcome = outcome_name(verdict->outcome),
                        .message = arena_string(&call->session->arena, verdict->message),
                        .json = json_text.at,
                        .microseconds = NAN,
                        .speedup = NAN,
                        .decided = true};
    for (int i = 0; i < verdict->case_count; i++) {
        const struct case_result *result = &verdict->cases[i];
        const struct speedup *headline = case_headline(result);
        if (isnan(result->microseconds) || !headline)
            continue;
        call->verdict->decided &= headline->decided;
        logs += log(result->microseconds);
        gains += log(headline->ratio.middle);
        timed++;
    }
    if (timed > 0) {
        call->verdict->microseconds = exp(logs / timed);
        call->verdict->speedup = exp(gains / timed);
    }
}

static void judge(void *context)
{
    struct call *call = context;
    struct arena *arena = &call->session->arena;
    struct errors errors = errors_new(arena);
    struct task *task = find_task(call, &errors);
    if (!task) {
        keep_error(call->session, &errors.list.at[0]);
        return;
    }
    static const smelt_options standard;
    const smelt_options *chosen = call->options ? call->options : &standard;
    struct judge_options options = {.threads = chosen->threads,
                                    .time_seconds = chosen->seconds,
                                    .check_only = chosen->check_only,
                                    .baselines = chosen->baselines,
                                    .only_case = -1,
                                    .only_draw = -1};
    struct error error = {0};
    if (chosen->isolation && !sandbox_level_parse(chosen->isolation, &options.isolation)) {
        snprintf(call->session->error, sizeof call->session->error,
                 "isolation is none, basic, strong or full");
        return;
    }
    const struct source source = {"kernel.c", call->source, strlen(call->source)};
    const struct source *sources[] = {&source};
    struct verdict verdict;
    if (judge_kernels(arena, task, sources, 1, &options, &verdict, &error)) {
        summarise(call, &verdict);
        call->done = true;
    } else {
        keep_error(call->session, &error);
    }
}

bool smelt_judge(smelt *session, const char *task, const char *const *settings,
                 const char *kernel_source, const smelt_options *options, smelt_verdict *verdict)
{
    struct call call = {session, task, settings, kernel_source, options, verdict, false};
    arena_reset(&session->arena);
    session->error[0] = 0;
    if (!memory_try(judge, &call)) {
        snprintf(session->error, sizeof session->error, "memory is exhausted");
        return false;
    }
    return call.done;
}
