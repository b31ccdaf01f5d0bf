/*
 * A skeleton is a named arrangement of loops for a group of stages: it says whether it fits, which
 * decisions are open, whether they are legal together, what they will cost, which to try first,
 * and writes the loops. One file each, one row in the table; the same silhouette.
 *
 * "Does not fit" and "not legal" are answers with a reason, not errors.
 */
#ifndef SMELT_SKELETON_SKELETON_H
#define SMELT_SKELETON_SKELETON_H

#include "base/base.h"
#include "ir/ir.h"
#include "loop/loop.h"
#include "machine/machine.h"
#include "plan/plan.h"

/* A machine of blocks and threads. */
struct skeleton_device {
    const char *language;     /* "cuda", "opencl" */
    const char *architecture; /* "sm_90a"; "": it has none */
    int warp;                 /* threads that exchange values directly; 1: they cannot */
    int block_threads;        /* most of a block */
    int cluster;              /* most blocks of a cluster; 0: it has none */
    int64_t shared;           /* bytes of shared memory a block may have */
    int64_t unit_shared;      /* and a multiprocessor has */
    int unit_threads;         /* most threads on a multiprocessor at once */
    int unit_registers;       /* of 4 bytes, of a multiprocessor; 0: not known */
    int units;                /* multiprocessors */
    int64_t cache;            /* bytes of the last one */
    double bandwidth;         /* bytes per second, read and written together */
    double compute;           /* f32 operations per second, a multiply-add is two */
    double launch;            /* seconds a launch takes at least */
};

/* What code is made for: read from the machine, or named. */
struct skeleton_target {
    const char *name; /* "avx512", "avx2", "portable"; of a device its architecture, or "any" */
    const struct skeleton_device *device; /* NULL: the CPU. Of what follows a device has nothing */
    int vector_bytes;                     /* 64, 32, 16 */
    int full_bytes; /* of the narrowest vectors that compute as fast as the machine can */
    int registers;  /* vector registers: 32, 16 */
    bool masks;     /* partial loads and stores are cheap */
    bool streaming; /* has stores past the caches */
    bool follows;   /* reads rows of a page ahead by itself, and is no faster when told */
    /* operations per core and second of what multiplies small operands; 0: the machine has none */
    double atoms[MACHINE_ATOM_COUNT];
    int64_t l1, l2, l3; /* bytes a core may call its own */
    int threads;
    /* per core and second, for the cost model: from the probe when there is one, else typical */
    double fma, memory, l2_rate; /* f32 operations, a multiply-add is two; bytes */
};

/* From what the system tells and what was measured (all 0: nothing was). */
struct skeleton_target skeleton_target_new(const struct machine *machine,
                                           const struct rates *rates);
/* The same machine as if it had this and no more: "amx", "avx512", "avx2", "portable". False: no
 * such name. */
bool skeleton_target_limit(struct skeleton_target *target, const char *name);

/* A device of a language that is known by its architecture (NULL or "": the first row there is).
 * False: there is no such row. The device may be changed before it is used. */
bool skeleton_device_named(struct skeleton_device *device, const char *language,
                           const char *architecture);
struct skeleton_target skeleton_target_device(const struct skeleton_device *device);

/* A group as a skeleton sees it. */
struct skeleton_group {
    struct arena *arena;
    const struct ir_part *part; /* the flat part */
    const struct ir_graph *graph;
    const int *stages;
    int stage_count;
    const bool *inlined;              /* per stage of the part: computed where it is read */
    const bool *needed;               /* per tensor: read after the group, or an output */
    const struct ir_binding *binding; /* the sizes to be good at: the first timed case */
    const struct plan_fix *fixes;     /* the sizes that are known when code is written */
    int fix_count;
    const struct skeleton_target *target;
    int accuracy; /* significant bits results must have */
};

struct skeleton_slots VECTOR(struct plan_slot);
struct skeleton_reason { /* why not; empty: no reason against it */
    char text[240];
};

struct skeleton_cost {      /* of one call */
    double seconds;         /* what the model expects */
    double bytes;           /* moved to and from memory */
    double operations;      /* done, repeated ones too */
    int64_t stack, scratch; /* bytes */
    int vectors;            /* registers a loop body holds at once; of a device: of a thread */
    int64_t shared;         /* bytes of a block of a device, exactly; 0: none, or not foreseen */
};

struct skeleton {
    const char *name;
    const char *note; /* one line */
    bool (*match)(const struct skeleton_group *group, struct skeleton_reason *why_not);
    void (*open)(const struct skeleton_group *group, struct skeleton_slots *slots);
    bool (*legal)(const struct skeleton_group *group, const struct plan_group *plan,
                  struct skeleton_reason *why_not);
    struct skeleton_cost (*predict)(const struct skeleton_group *group,
                                    const struct plan_group *plan);
    /* Better values for the seeds of the slots, from an analytic model; up to `most` plans, best
     * first. NULL: the slots' own seeds. */
    int (*seeds)(const struct skeleton_group *group, struct plan_group *plans, int most);
    /* Writes the group as functions of the kernel. Only for plans that are legal. */
    void (*lower)(const struct skeleton_group *group, const struct plan_group *plan,
                  struct loop_kernel *kernel);
};

/* Most special first; ends with NULL. The same names on all kinds of machines, where they fit. */
const struct skeleton *const *skeleton_table(const struct skeleton_target *target);
/* NULL: there is none of that name. Target NULL: on whichever machine. */
const struct skeleton *skeleton_find(const struct skeleton_target *target, const char *name);

/*
 * ---- whole plans (whole.c, check.c, seed.c) ----
 */
struct skeleton_program { /* what is planned, for what */
    struct arena *arena;
    const struct ir_program *flat;
    const struct ir_part *part; /* its only one */
    const struct ir_graph *graph;
    const struct ir_binding *binding; /* of the flat part */
    const struct skeleton_target *target;
    int accuracy; /* significant bits of the class asked for; at first those of the outputs' type */
    const struct plan_pins *pins;        /* NULL: none */
    const struct plan_rewrite *rewrites; /* that made it what it is */
    int rewrite_count;
};

/* `binding` is one of the program's root; everything lives in the arena. */
struct skeleton_program *skeleton_program_new(struct arena *arena, const struct ir_program *program,
                                              const struct ir_binding *binding,
                                              const struct skeleton_target *target);

/*
 * ---- rewrites (rewrite.c): a plan may be about another program that computes the same ----
 *
 * All functions below take any program of the family and look at the plan for which one is meant.
 */
/* The program that the plan is about. */
const struct skeleton_program *skeleton_program_of(const struct skeleton_program *program,
                                                   const struct plan *plan);
/* The program with these rewrites after its own. NULL: they cannot be, and why. */
const struct skeleton_program *skeleton_rewrite(const struct skeleton_program *program,
                                                const struct plan_rewrite *rewrites, int count,
                                                struct error *error);
/* Programs one rewrite further, up to `most`; how many. */
int skeleton_rewrites(const struct skeleton_program *program,
                      const struct skeleton_program **further, int most);

/* Group number `group` of a plan, as its skeleton sees it. */
struct skeleton_group skeleton_group_of(const struct skeleton_program *program,
                                        const struct plan *plan, int group);
/* The same for many groups of one plan: what they have in common is found once, and holds while
 * stages stay in their groups. */
struct skeleton_view {
    const bool *inlined, *needed; /* per stage; per tensor, as the group that writes it asks */
    struct arena *scratch;        /* of the groups made from it; NULL: the program's arena */
};
struct skeleton_view skeleton_view_new(const struct skeleton_program *program,
                                       const struct plan *plan);
struct skeleton_group skeleton_group_in(const struct skeleton_program *program,
                                        const struct plan *plan, const struct skeleton_view *view,
                                        int group);
/*
 * Fills in what the plan leaves open, in the order of the slots, and says whether it can be: stages
 * run after what they read, skeletons fit, values are among those there are and legal together.
 * False: the first reason against it, with its place if the plan was written.
 */
bool skeleton_check(const struct skeleton_program *program, struct plan *plan, struct error *error);
/* The same for one group by itself. */
bool skeleton_check_group(const struct skeleton_program *program, struct plan *plan,
                          const struct skeleton_view *view, int group, struct error *error);
/* The group's slots, with what pins leave of them. */
void skeleton_open(const struct skeleton_program *program, const struct skeleton_group *group,
                   const struct plan_group *plan, struct plan_slots *slots);
/* Of a plan that was checked. Groups run one after the other, so what they take adds up. */
struct skeleton_cost skeleton_predict(const struct skeleton_program *program,
                                      const struct plan *plan);
/* Plans to begin with, all legal, best first by prediction; up to `most`, at least one unless pins
 * forbid all. */
int skeleton_seeds(const struct skeleton_program *program, struct plan **plans, int most);
/* The best of them that rewrites no further than the program is; NULL: pins forbid all. */
struct plan *skeleton_seed(const struct skeleton_program *program);
/* The text of a plan that was good for a program like this one, at other sizes or with other names,
 * made a legal plan of this one (adapt.c); `seeds` are its own first plans. NULL: it cannot be. */
struct plan *skeleton_adapt(const struct skeleton_program *program, const char *text,
                            struct plan *const *seeds, int count);
/* What change of a plan asks (see plan_space). */
struct plan_space skeleton_space(const struct skeleton_program *program, const struct plan *plan);
/* The kernel of a plan that was checked. */
struct loop_kernel *skeleton_lower(const struct skeleton_program *program, const struct plan *plan);

/*
 * ---- values (value.c): IR nodes as expressions ----
 *
 * An environment says what each index of the part is now, and where tensors that the group itself
 * defines are to be found: an expression made from their indices by `resolve`. Tensors nobody
 * resolves are inlined when their stage is, else loaded from their buffer.
 */
struct skeleton_values {
    const struct skeleton_group *group;
    struct loop_kernel *kernel;
    struct loop_block *block; /* where names are given to what is used twice; NULL: nowhere */
    loop_value *indices;      /* per index of the part; NULL: not open */
    loop_value (*resolve)(void *context, struct skeleton_values *values, int tensor,
                          const loop_value *at);
    void *context;
    loop_value guard; /* when the present value is wanted: nothing is loaded else; NULL: always */
    struct map *memo; /* of value.c; NULL at first, and again when `resolve` says something else */
};

/* The value of a node of a stage at the present indices. */
loop_value skeleton_value(struct skeleton_values *values, const struct ir_stage *stage, int node);
/* The element of a tensor at these indices, rounded to its type if it is declared. */
loop_value skeleton_element(struct skeleton_values *values, int tensor, const loop_value *at);
/* Row-major offset of an element. */
loop_value skeleton_offset(struct skeleton_values *values, int tensor, const loop_value *at);
/* The buffer a tensor of the part lives in: the kernel's argument or a piece of scratch. */
const struct loop_buffer *skeleton_buffer(struct skeleton_values *values, int tensor);
/* A size as an expression: a constant where the plan fixes it. */
loop_value skeleton_size(struct skeleton_values *values, const struct ir_size *size);
/* A size with the numbers of what the plan fixes in it. */
const struct ir_size *skeleton_size_fixed(const struct skeleton_group *group,
                                          const struct ir_size *size);
/* The same expression of the same symbols. */
bool skeleton_sizes_equal(const struct ir_size *a, const struct ir_size *b);
/* A value as the tensor will hold it: rounded if the tensor is declared. */
loop_value skeleton_round(struct skeleton_values *values, int tensor, loop_value value);
/* Whether a read of the tensor can be written as the expression its stages compute: maps whose
 * places can be solved for their indices. */
bool skeleton_can_inline(const struct ir_part *part, int tensor);

/*
 * ---- sharing (share.c) ----
 *
 * Values are replaced in place by ones that use variables. Equal parts need not be one in memory.
 */
/* What occurs in the values more than once gets a name in the block. */
void skeleton_share(struct loop_block *block, loop_value *values, int count);
/* What depends on none of the variables gets a name in the block: a loop over them follows. */
void skeleton_hoist(struct loop_block *block, const struct loop_variable *const *variables,
                    int variable_count, loop_value *values, int count);

struct skeleton_lanes { /* the variable takes the values from, from + 1, ... in its lanes */
    const struct loop_variable *variable;
    int lanes;
    loop_value from;  /* whatever the variable stands for where the values are used */
    loop_value count; /* only so many lanes are wanted; NULL: all */
};

/* Scalar values as vectors, as loop_widen and loop_substitute make them; float values that occur
 * more than once get a name in the block. Values that do not depend on the variable stay scalar. */
void skeleton_widen(struct loop_block *block, const struct skeleton_lanes *lanes,
                    loop_value *values, int count);

/* The value with products in place of divisions by what does not depend on the variable. */
loop_value skeleton_reciprocal(struct arena *arena, loop_value value,
                               const struct loop_variable *variable);

#endif
