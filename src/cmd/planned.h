/*
 * What `smelt plan` and `smelt gen` share: an op at types and ranks, the case to be good at, the
 * machine, pins, and a plan chosen or read.
 */
#ifndef SMELT_CMD_PLANNED_H
#define SMELT_CMD_PLANNED_H

#include "cmd/ref.h"
#include "skeleton/skeleton.h"

enum { PLANNED_SEEDS = 8, PLANNED_PINS = 100 };

/* Rows of the option tables of both. */
#define OPTIONS_PLANNED                                                              \
    {.name = "plan",                                                                 \
     .argument = "FILE",                                                             \
     .help = "the kernel of the plan in FILE, or of the first when it has several"}, \
        OPTIONS_PINS
/* Of those that only plan: others give kernels the threads they ask for. */
#define OPTION_PLANNED_THREADS                                                                \
    {                                                                                         \
        .name = "threads", .argument = "N",                                                   \
        .help = "plan for so many threads (when not given, for as many as the machine has); " \
                "judge, bench and run give kernels 1 when not told otherwise"                 \
    }
#define OPTIONS_PINS                                                                            \
    {.name = "target",                                                                          \
     .argument = "TARGET",                                                                      \
     .help = "cpu (the default: this machine), or as if it were another: cpu:amx, cpu:avx512, " \
             "cpu:avx2, cpu:portable; opencl or cuda (the device at hand), cuda:sm_90a"},       \
    {                                                                                           \
        .name = "pin", .argument = "PIN", .repeated = true,                                     \
        .help = "keep a decision: GROUP.KEY=VALUE, or <=, >=, != (forbid), ~ (prefer); GROUP "  \
                "may be a stage of it, or *"                                                    \
    }

struct planned {
    struct ref_request request; /* with its invocation */
    struct task *task;
    const struct ir_program *program;
    /* once prepared */
    struct skeleton_target target;
    struct plan_pins pins;
    struct skeleton_program *ready;
};

/* The op, its types and ranks, by operands and --op, --task, --case. False: errors were added. */
bool planned_find(struct planned *planned);
/* The machine, sizes and pins. */
bool planned_prepare(struct planned *planned);
/* Whether each pin speaks of a decision of some plan to begin with; else an error says which. */
bool planned_pins_concern(struct planned *planned);
/* The plan in --plan FILE, checked; without one, the best seed. NULL: errors were added. */
struct plan *planned_choose(struct planned *planned);
/* The kernel of a checked plan. */
void planned_print(const struct planned *planned, const struct plan *plan, const char *op,
                   struct text *source);

/* The plain kernel of the target, with the whole contract in its head (gen.c). False: there is no
 * such target, and errors say so. */
bool planned_print_plain(const struct planned *planned, struct text *source);
/* The op as it was written, without the comments above it; NULL: it was written nowhere (gen.c). */
const char *planned_op_text(struct arena *arena, const struct ast_op *op);
/* "row", "contract+map": the skeletons of the best seed. */
const char *planned_class(struct arena *arena, const struct skeleton_program *program);
/* The same by the first of its seed plans, which is dear to find. */
const char *planned_class_of(struct arena *arena, const struct plan *plan);

/* The target of that name, as --target has it; NULL: this machine. Lives in the arena
 * (planned_target.c). */
bool planned_target(struct arena *arena, const char *name, struct skeleton_target *target,
                    struct error *error);
/* The machine that kernels of a language (cpu, opencl, cuda) run on here, and what `smelt probe`
 * has measured of it: all 0 where it has not, or where there is none. */
void planned_machine(struct arena *arena, const char *language, struct machine *machine,
                     struct rates *rates);
/* Measures it, in seconds; `smelt probe` has more patience. */
bool planned_measure(struct arena *arena, const char *language, const struct machine *machine,
                     struct rates *rates, struct error *error);
/* Whether kernels for it can run here; planning them needs nothing. */
bool planned_target_is_there(struct arena *arena, const struct skeleton_target *target,
                             struct error *error);

/*
 * The kernel of the best seed plan for a case's types and ranks, good at the sizes of the first
 * timed case that has them. Takes `scratch` and gives it back.
 */
bool planned_seed(struct arena *scratch, const struct task *task, int which,
                  const struct skeleton_target *target, struct text *source, struct error *error);

#endif
