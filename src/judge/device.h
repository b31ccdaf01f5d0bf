/*
 * Private to src/judge: kernels that are launched on a device.
 */
#ifndef SMELT_JUDGE_DEVICE_H
#define SMELT_JUDGE_DEVICE_H

#include "baseline/baseline.h"
#include "judge/private.h"
#include "machine/machine.h"
#include "target/target.h"

enum { DEVICE_GUARD = 4096 }; /* bytes before and behind each tensor; multiple of the alignment */

/* What is launched, all sizes known: a struct cell_program. */
struct launch_device {
    const struct target *target;
    const struct kernel *kernel; /* NULL: nothing is launched at all */
    const void *program;
    size_t bytes;
    const char *problem; /* why it cannot be launched at these sizes; NULL: it can */
};

/* The target a source says it is for. */
const struct target *device_target(const struct source *source);
/* Kernels are compared with each other, so they are for one target: false when they are not. */
bool device_check_targets(const struct source *const *sources, int count, struct error *error);
/* NULL for a kernel of the processor. */
const struct launch_device *device_make(struct arena *arena, const struct kernel *kernel,
                                        const struct ir_binding *binding);
/* What a library of the target's vendor does instead of launches. */
const struct launch_device *device_make_product(struct arena *arena, const struct target *target,
                                                const struct baseline_product *product,
                                                const struct ir_binding *binding);
/* Launches nothing: what starting and stopping costs. */
const struct launch_device *device_make_empty(struct arena *arena, const struct target *target);

/* Compiles what compile_prepare wrote down. False when the target cannot be used here. */
bool device_compile(struct arena *arena, struct compiled *compiled, int seconds,
                    struct error *error);
/* The value of a line "NAME VALUE" of what `smelt-device describe` says; "": there is none. */
const char *device_fact(struct arena *arena, const char *said, const char *name);
/*
 * What the driver says of its first device, one fact per line, asked once per process. NULL: there
 * is none, and why.
 */
const char *device_describe(struct arena *arena, const struct target *target, struct error *error);
/* The same as a machine, for the rates that are kept of it. */
void device_machine(struct arena *arena, const struct target *target, const char *said,
                    struct machine *machine);
/*
 * The machine that kernels of a target (NULL: the processor) run on, and what was measured of it;
 * all 0 where nothing was, or where there is none.
 */
void device_rates(struct arena *arena, const struct target *target, struct machine *machine,
                  struct rates *rates);
/* Measures it, by smelt-device: a driver that breaks does not break smelt. */
bool device_probe(struct arena *arena, const struct target *target, bool quick, struct rates *rates,
                  struct error *error);
/* The environment of whatever runs a driver: its caches lie in the folder. Ends with NULL. */
const char *const *device_environment(struct arena *arena, const char *folder);
/* The path of smelt-device; NULL with an error when it is not found. */
const char *device_find_runner(struct arena *arena, struct error *error);
/* Paths a driver reads or writes, with the folder; end with NULL. */
const char *const *device_readable(struct arena *arena, const struct target *target,
                                   const char *runner, const char *folder);
const char *const *device_writable(struct arena *arena, const struct target *target,
                                   const char *folder);

#endif
