/*
 * The reference: what an op means, in double precision, in two forms that share no evaluation code
 * and agree bit for bit. The interpreter is slow and obviously right; the compiled form is C that
 * smelt writes, compiles once per program and keeps.
 *
 * Rules both follow (docs/language.md, "What it computes"): floats are double, integers int64;
 * a value is rounded only when it is stored to a tensor with a declared type, or cast; a reduction
 * runs over its indices in lexicographic order from the unit; libm as it is on this machine; no
 * contraction. NaNs are all alike.
 */
#ifndef SMELT_ORACLE_ORACLE_H
#define SMELT_ORACLE_ORACLE_H

#include "ir/ir.h"
#include "record/array.h"
#include "record/task.h"

/* Draws one array per input of the case, all within the task's facts. Same seed, same values. */
bool oracle_draw(struct arena *arena, const struct task_case *task_case,
                 const struct ir_binding *binding, uint64_t seed, struct array *inputs,
                 struct error *error);
/* The same for one input. */
bool oracle_draw_input(struct arena *arena, const struct task_case *task_case,
                       const struct ir_binding *binding, int input, uint64_t seed,
                       struct array *array, struct error *error);
/*
 * `count` values of one input, as one row: sorted and offsets as promised of a row, not triangular.
 * For inputs too large to be drawn whole.
 */
bool oracle_draw_some(struct arena *arena, const struct task_case *task_case,
                      const struct ir_binding *binding, int input, int64_t count, uint64_t seed,
                      struct array *array, struct error *error);
/* Whether the arrays fit the binding: shapes, types, and the facts promised about values. */
bool oracle_admit(const struct ir_binding *binding, const struct array *inputs,
                  struct error *error);

/* Bytes of memory that evaluating everything takes, inputs and outputs included; -1: over 2^63. */
int64_t oracle_memory(const struct ir_binding *binding);
/* Bytes this process may still take: physical memory, cgroup and rlimit considered. */
int64_t oracle_memory_available(void);
/*
 * About how many values evaluating everything computes. *certain (unless NULL): false when ranges
 * depend on data, which then count as one point.
 */
double oracle_steps(const struct ir_binding *binding, bool *certain);

struct oracle_options {
    /* Float outputs of the root keep their values as computed, not rounded to their type; whoever
       reads them inside the root still sees them rounded, integers wrap as ever, and what a called
       part writes was rounded by that part. */
    bool exact_outputs;
    int64_t memory; /* most bytes to take; 0: oracle_memory_available() */
    /* Points of raw inputs only: every float is read as if it were moved by about this part of
       itself (half to one and a half times it, either way), differently for each element and seed.
       0: as it is. */
    double disturbance;
    uint64_t disturbance_seed;
};
/* As a person says it: "3.2 GiB". */
enum { ORACLE_BYTES_TEXT = 40 };
void oracle_bytes_print(char *out, int64_t bytes);
/* False with the error set when `needed` bytes are more than the options or the machine allow. */
bool oracle_memory_admit(int64_t needed, const struct oracle_options *options, struct error *error);

/* Fills in outputs[] (one per output of the root, allocated in the arena). */
bool oracle_interpret(struct arena *arena, const struct ir_binding *binding,
                      const struct array *inputs, struct array *outputs,
                      const struct oracle_options *options, struct error *error);

/* Single output points, without evaluating whole tensors where that can be helped. */
struct oracle_points;
/* `options->memory` bounds what is kept between and during points. Inputs stay the caller's. */
struct oracle_points *oracle_points_open(struct arena *arena, const struct ir_binding *binding,
                                         const struct array *inputs,
                                         const struct oracle_options *options, struct error *error);
/* The value of output number `output` at index `at`; number for floats, integer for the rest. */
bool oracle_point(struct oracle_points *points, int output, const int64_t *at,
                  struct ir_value *value, struct error *error);

/* An element of an output, as a place in row-major order. */
struct oracle_place {
    int output;
    int64_t element;
};

/*
 * The compiled backward slice: given elements of outputs, from raw inputs (array.h), many times
 * faster than oracle_point and with the same bits. `plain`: in the types and the order of the plain
 * kernel instead. Programs with loops over stages or scatters, and those whose left sides cannot be
 * turned round, have none: then NULL without an error.
 */
struct oracle_slice;
/* Whether a program has one. */
bool oracle_slice_exists(struct arena *arena, const struct ir_program *program);
struct oracle_slice *oracle_slice_compile(struct arena *arena, const struct ir_program *program,
                                          bool plain, struct error *error);
void oracle_slice_close(struct oracle_slice *slice);
/*
 * Fills in values[], one per place. Without a slice, or where it cannot go on, by the interpreter.
 */
bool oracle_sample(const struct oracle_slice *slice, const struct ir_binding *binding,
                   const struct array *inputs, const struct oracle_place *places, int64_t count,
                   struct ir_value *values, const struct oracle_options *options,
                   struct error *error);

/* The compiled form: gen_plain_c of GEN_REFERENCE, as a loaded function. */
struct oracle_code;
/* Compiles or finds in the cache (XDG_CACHE_HOME/smelt/oracle, SMELT_CACHE). Lives until closed. */
struct oracle_code *oracle_compile(struct arena *arena, const struct ir_program *program,
                                   struct error *error);
/*
 * Several programs in one file and one compilation, which for small ones costs hardly more than a
 * single one: codes[i] runs programs[i], and each is closed by itself. The functions are called
 * smelt_oracle_0, smelt_oracle_1, ...
 */
bool oracle_compile_all(struct arena *arena, const struct ir_program *const *programs, int count,
                        struct oracle_code **codes, struct error *error);
bool oracle_run(struct arena *arena, const struct oracle_code *code,
                const struct ir_binding *binding, const struct array *inputs, struct array *outputs,
                const struct oracle_options *options, struct error *error);
void oracle_close(struct oracle_code *code);

#endif
