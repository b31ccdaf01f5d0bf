/*
 * smelt as a library: the judge, for programs that write kernels and cannot be trusted to grade
 * them.
 *
 *     smelt *session = smelt_open();
 *     smelt_verdict verdict;
 *     if (smelt_judge(session, "softmax.op", NULL, source, NULL, &verdict))
 *         printf("%s: %s\n", verdict.outcome, verdict.message);
 *     else
 *         fprintf(stderr, "%s\n", smelt_error(session));
 *     smelt_close(session);
 *
 * Link with libsmelt.a, -lm -ldl -lpthread; smelt-cell must lie beside the program, or SMELT_CELL
 * name it. A session is used by one thread at a time. Judging forks: a program with threads should
 * judge from a process of its own.
 */
#ifndef SMELT_H
#define SMELT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct smelt smelt;

/* NULL only when memory is exhausted. */
smelt *smelt_open(void);
void smelt_close(smelt *session);
/* What went wrong in the last call that returned false, with its hint. Lives until the next call.
 */
const char *smelt_error(const smelt *session);
const char *smelt_version(void);

typedef struct {
    int threads;           /* given to the kernel; 0: 1 */
    double seconds;        /* for timing one case; 0: 3 */
    bool check_only;       /* do not time */
    const char *isolation; /* least accepted: "none", "basic", "strong", "full"; NULL: none */
    const char *const *baselines; /* ends with NULL; NULL: "plain" */
} smelt_options;

/* All strings live until the next call on the session. */
typedef struct {
    const char *outcome; /* "ok", "wrong", "out-of-bounds", ... */
    const char *message; /* one sentence */
    const char *json;    /* everything, as `smelt judge --json` prints one verdict */
    double microseconds; /* geometric mean over the timed cases; nan when not timed */
    double speedup;      /* the same, over the fastest baseline */
    bool decided;        /* every comparison is */
} smelt_verdict;

/*
 * Judges a kernel. `task` is a path of a file with a task, or the name of a library op; `settings`
 * ("B=[8]", "D=16"; ends with NULL) give the sizes when there is no task, or NULL. False when the
 * judge could not work; a kernel that fails is a verdict, not an error.
 */
bool smelt_judge(smelt *session, const char *task, const char *const *settings,
                 const char *kernel_source, const smelt_options *options, smelt_verdict *verdict);

#ifdef __cplusplus
}
#endif

#endif
