/*
 * Private to src/judge.
 */
#ifndef SMELT_JUDGE_PRIVATE_H
#define SMELT_JUDGE_PRIVATE_H

#include "judge/folder.h"
#include "judge/judge.h"
#include "judge/tool.h"
#include "kernel/kernel.h"
#include "oracle/oracle.h"
#include "os/counters.h"

enum { JUDGE_MAX_DRAWS = 8 };

struct target;        /* target/target.h */
struct launch_device; /* device.h */
struct references;    /* reference.h */
struct reference;

/* ---- compiling (compile.c) ---- */

struct compiled {
    bool done;                       /* the kernel compiled */
    const char *library;             /* path of the shared object, when done */
    const char *directory;           /* private; removed by compiled_release */
    struct folder folder;            /* the same */
    const char *output;              /* what the compiler said */
    const struct target *target;     /* NULL: the processor */
    char architecture[32];           /* of a device; "": its own */
    struct judge_resident *resident; /* compiles for it; NULL: a process of its own does */
    unsigned layers;                 /* it was confined by */
    double seconds;
    bool inspect;               /* wanted: look at what was made of it */
    struct binary_facts binary; /* when done and wanted */
};

/* False only when the compiler could not be run at all. */
bool compile_kernel(struct arena *arena, const struct source *source, struct compiled *compiled,
                    struct error *error);
void compiled_release(struct compiled *compiled);
/* The same in two steps: the folder with the source in it, and the compiler's work there. */
bool compile_prepare(struct arena *arena, const struct source *source, struct compiled *compiled,
                     struct error *error);
bool compile_prepared(struct arena *arena, struct compiled *compiled, struct error *error);

/* Compiling several kernels ahead, on other cores than the one that checks and times (ahead.c). */
struct ahead;
/* All are prepared. The caller compiles, too, what nobody else has begun when it is asked for. */
struct ahead *ahead_start(struct arena *arena, struct compiled *compiled, int count, int helpers);
/* Waits for one of them, or does it. False when the compiler could not be run. */
bool ahead_get(struct arena *arena, struct ahead *ahead, int number, struct error *error);
void ahead_stop(struct ahead *ahead);

/* Kernels that will be judged before long (announce.c). */
struct judge_announced {
    struct arena arena; /* it lies in it */
    struct source *sources;
    struct compiled *compiled;
    int count;
    struct ahead *ahead;
};
bool compile_prepare_all(struct arena *arena, const struct source *const *sources, int count,
                         bool inspect, struct compiled *compiled, struct error *error);
/* Those who compile, the judge among them. */
int judge_jobs(const struct judge_options *options);

/* The same for a source of ours or a baseline, which is kept for the next time (cache.c). */
bool compile_cached(struct arena *arena, const struct source *source, struct compiled *compiled,
                    struct error *error);
/* What a device loads, kept under the hash of all it was made from: into a file, and from one. */
bool binary_recall(struct arena *arena, const char *name, const char *to);
void binary_keep(struct arena *arena, const char *name, const char *from);
/* The answer kept to a question that was decided by trying, below `count`; -1: none. */
int choice_recall(struct arena *arena, const char *question, int count);
void choice_keep(struct arena *arena, const char *question, int answer);

/* What a compiler said, without what it said about files that are not the kernel's. */
const char *compile_own_words(struct arena *arena, const char *said);
/* Whether it plainly says that the kernel is at fault. */
bool compile_is_refused(const char *said);

/* The line of a source that addr2line names: "kernel.c:12: text". Nothing when it names none. */
void fault_quote_line(const struct source *source, const char *said, struct text *out);

/* ---- the yardstick (plain.c) ---- */

struct draw;
struct plain;
void plain_close(struct plain *plain);
/* The last one opened, kept: cases of one program share it. */
struct yardstick {
    const struct ir_program *program;
    struct plain *plain;
};
const struct plain *yardstick_get(struct arena *arena, struct yardstick *yardstick,
                                  const struct ir_program *program, struct error *error);
/* Bytes of scratch it takes at these sizes. */
int64_t plain_scratch(const struct plain *plain, const int64_t *sizes);
/* Whether its steps are rounded up and down, too, and who is allowed what it is off by then: nobody
 * else, or all elements the worst (directed.c). */
enum directed { DIRECTED_NOT, DIRECTED_EACH, DIRECTED_WORST };
enum directed directed_choose(const struct ir_program *program, const struct ir_binding *binding,
                              int bits);
/*
 * Allows twice the plain kernel's worst error over this draw, wherever that is more. False when it
 * could not be run: without it an honest kernel may look inaccurate.
 */
bool plain_raise_limits(const struct plain *plain, const struct ir_binding *binding,
                        struct draw *draw, bool near, enum directed directed, struct error *error);
/* The same for one output, given what the plain kernel made of it, in the output's type. */
void plain_raise_output(const struct array *expected, const char *bytes, double *limits);

/* ---- timing (timing.c) ---- */

struct candidate { /* a kernel on its way to a verdict */
    const struct source *source;
    struct compiled compiled;
    struct verdict *verdict;
};

struct candidates {
    struct candidate *at;
    int count;
    bool (*check)(void *context, int number); /* this one and all before it; false: judge failed */
    void *context;
    double checking; /* seconds in `check` */
};

/* Times the cases marked `time`, all kernels that are ok and the baselines against each other, and
 * fills in the verdicts. Kernels are checked when it is their turn. False when the judge failed. */
bool time_kernels(struct arena *arena, const struct task *task, const struct judge_options *options,
                  struct judge_draws *draws, uint64_t seed, struct candidates *candidates,
                  struct yardstick *yardstick, struct references *references, struct error *error);

/* ---- draws (draws.c): inputs, what is expected, how far off one may be ---- */

struct draw {
    const char *name;       /* "normal", "sparse" */
    struct array *inputs;   /* one per input of the root */
    struct array *expected; /* one per output, not rounded */
    double **limits;        /* per output, per element; NULL: must be exact */
    struct keys *keys;      /* per output; NULL: no index output has any */
    bool sampled;           /* expected are chosen elements, which are no neighbours */
};

enum { TIMING_DRAWS = 2 };

/* The draws of one of the task's cases, made for the first kernel and the same for all: what a
 * kernel did to earlier ones it cannot tell those that come. */
struct judge_drawn {
    bool made;
    struct draw draws[JUDGE_MAX_DRAWS];
    struct sample_shared *sampled; /* instead, of a case that is sampled; NULL: not made */
    bool timing_made;
    struct draw timing[TIMING_DRAWS];
    struct refresh_pool *pool; /* instead, of a case that is sampled; NULL: not made */
};

/* Makes one of the draws of a case; false with an error when memory or the oracle fails. */
bool draw_make(struct arena *arena, const struct task *task, const struct task_case *task_case,
               const struct ir_binding *binding, struct oracle_code *code,
               const struct plain *plain, int number, uint64_t seed, struct draw *draw,
               struct error *error);
int draw_count(const struct task_case *task_case);
/* Whether the input's values may be chosen freely. */
bool draw_is_free(const struct task_input *input, enum dtype dtype);
/* Makes values that were drawn as declared into those of draw `number`; rows are `row` long. */
void draw_vary(const struct task_input *input, int number, struct array *array, int64_t row,
               struct random *random);
/* The draws of a sampled case: the number of a draw, -1 when there are no more, and its name. */
int draw_sampled(const struct task_case *task_case, int number, const char **name);

/* ---- drawing in place (fill.c) ---- */

/*
 * Fills input number `input`, `count` elements in their own type. Large ones are drawn out of
 * FILL_TABLE values that were drawn as usual, so that nothing is ever widened whole.
 */
enum { FILL_TABLE = 1 << 16 };
bool fill_input(const struct task_case *task_case, const struct ir_binding *binding, int input,
                int number, uint64_t seed, void *out, struct error *error);
/* The same for so many values, more or fewer than the input has. */
bool fill_some(const struct task_case *task_case, const struct ir_binding *binding, int input,
               int number, uint64_t seed, int64_t count, void *out, struct error *error);
/* The same for a float input without such facts that is evaluated whole, all of it. */
bool fill_floats(const struct task_case *task_case, const struct ir_binding *binding, int input,
                 int number, uint64_t seed, struct array *array, struct error *error);
/* Whether an input has facts that hold for it as a whole: sorted, triangular, offsets. */
bool fill_fixed(const struct task_case *task_case, const struct ir_binding *binding, int input);

/* ---- limits (limits.c): how far off an element may be ---- */

struct limit_rule {
    int bits;         /* of the class; 0: exact */
    double unit, few; /* of the class, relative; how many of them */
    double moved;     /* times what an element moves by when its inputs do */
    double share;     /* of what its neighbours move by, at least */
    int rounds;       /* disturbances to average over, at least */
};
enum {
    COARSE_BITS = 11, /* classes of so few bits are close to the next lesser one */
    ORACLE_BITS = 53, /* of the oracle's own arithmetic */
};
/* Significant bits of a class; 0: must be exact. */
int limit_class_bits(const char *accuracy);
struct limit_rule limit_rule_make(struct arena *arena, const struct task *task,
                                  const struct ir_binding *binding);
/* How many values the longest reduction combines. */
double limit_longest(struct arena *arena, const struct ir_binding *binding);
/* From how far each element moved when the inputs did, to how far off it may be. */
void limit_settle(const struct limit_rule *rule, const struct array *expected, double *limits);

/* ---- index outputs (choice.c) ---- */

struct keys { /* what an index output chooses by; values NULL: it must be equal */
    struct array *values;
    double *limits;
    int64_t row, ranks; /* keys per choice, choices per row of keys */
};
/* Leaves *keys alone where the output is no index of computed keys. False: the oracle failed. */
bool keys_make(struct arena *arena, const struct ir_program *program,
               const struct ir_binding *binding, const struct limit_rule *rule,
               const struct array *inputs, const struct array *moved, int output, struct keys *keys,
               struct error *error);
/* Whether an index may stand for the expected one. */
bool keys_accept(const struct keys *keys, int64_t element, int64_t expected, int64_t got);

/* ---- memory (room.c) ---- */

struct room { /* how a case is judged */
    enum room_way { ROOM_WHOLE, ROOM_SAMPLED, ROOM_NONE } way;
    int64_t whole, sampled, limit; /* bytes either way takes, and what may be used */
    int64_t slice;                 /* sampled: bytes for what elements depend on */
};
struct room room_plan(const struct ir_binding *binding, int64_t scratch, int64_t plain_scratch,
                      int draws, const struct judge_options *options);
/* The same on a device, whose memory is its own: what is large is sampled. */
struct room room_plan_device(const struct ir_binding *binding, int64_t plain_scratch, int draws,
                             const struct judge_options *options);
/* "takes at least 34 GiB of memory, and 18 GiB may be used" */
const char *room_explain(struct arena *arena, const struct room *room);
/* Before anything else: says which cases do not fit; false when none does. */
bool room_check_task(struct arena *arena, const struct task *task,
                     const struct judge_options *options, bool device, struct error *error);

/* ---- held cases (held.c) ---- */

enum { JUDGE_HELD_CASES = 2 };

/* A case of the judge's own, like another but for its sizes; false when there is none. */
bool held_make(struct arena *arena, const struct task *task, const struct task_case *like,
               const struct kernel *kernel, uint64_t seed, struct task_case *out);

/* ---- comparing (compare.c) ---- */

struct comparison {
    enum outcome outcome; /* OK, WRONG or INACCURATE */
    int output;
    int64_t element; /* the first that is off */
    double expected, got, limit;
    int64_t wrong, total;
    double worst; /* in units of the limit */
    char pattern[200];
    enum mismatch_place place;
    enum mismatch_change change;
    double number;
    int dimension;
};

/* `bytes` are the outputs as the kernel left them, in their own types. */
void compare_outputs(const struct ir_binding *binding, const struct draw *draw,
                     const void *const *bytes, struct comparison *comparison);

/* ---- patterns (pattern.c): where wrong elements lie, and what they are instead ---- */

struct pattern_view {
    const struct array *expected;
    const double *limits; /* or NULL */
    enum dtype dtype;
    const char *bytes; /* what the kernel left */
    bool sampled;
};

/* Fills in what is said of the elements that are off; there is at least one. */
void pattern_find(const struct pattern_view *view, struct comparison *comparison);
/* The error of an element against the expected value of another, in units of the latter's limit. */
double pattern_error(const struct pattern_view *view, int64_t got, int64_t expected);
double pattern_got(const struct pattern_view *view, int64_t element);

/* ---- sampled cases (sample.c) ---- */

/* How a case is judged that is too large to evaluate whole: by elements chosen after each call. */
struct sampling {
    const struct task *task;
    const struct task_case *task_case;
    const struct oracle_slice *slice, *plain; /* NULL: the interpreter; no plain kernel */
    struct limit_rule rule;
    uint64_t seed;
    int64_t memory;                     /* for what elements depend on */
    int only_draw;                      /* -1: all */
    bool device;                        /* makes inputs for itself: see drawn.h */
    bool brief;                         /* fewer elements, where one takes long */
    const struct reference *reference;  /* on the device: reference.h; NULL: the processor's */
    const struct sample_shared *shared; /* made before, per draw: sample.h; NULL: after each call */
};

/* ---- launching (launch.c) ---- */

struct launch {
    const struct ir_binding *binding;
    const char *library;   /* shared object */
    const char *directory; /* it may be read by the cell */
    int64_t scratch;
    int threads;
    double seconds;  /* for one call */
    unsigned layers; /* wanted */
    const struct draw *draws;
    int draw_count;
    bool deterministic;
    bool opens_libraries;               /* a baseline of ours: it may read the system's libraries */
    const struct launch_device *device; /* NULL: the processor */
    struct judge_resident *resident;    /* where it is launched; NULL: in a cell of its own */
    const struct sampling *sampling;    /* instead of draws: a case too large to evaluate whole */
    bool count;                         /* what the processor counts while it is called */
};

struct launch_result {
    enum outcome outcome;
    int draw;
    unsigned layers;
    bool kept;       /* in a process that other kernels were in */
    bool not_loaded; /* the system refused to load the kernel */
    struct comparison comparison;
    int64_t sampled, elements;      /* with sampling: so many of so many were compared, per draw */
    uint64_t hash;                  /* with sampling: of the outputs of the first draw */
    struct counter_values counters; /* over `calls` calls */
    int calls;
    char message[400], detail[400];
};

/* Runs every draw twice, at different addresses, in a process of its own. */
bool launch_check(const struct launch *launch, struct launch_result *result, struct error *error);

#endif
