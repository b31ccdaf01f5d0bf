/*
 * Private to src/judge: a worker and its cell, shared by checking and timing.
 */
#ifndef SMELT_JUDGE_LAUNCH_H
#define SMELT_JUDGE_LAUNCH_H

#include "judge/device.h"
#include "runtime/cell.h"

enum { PAGE = 4096, ALIGNMENT = 64, LOAD_SECONDS = 10, MOST_THREADS = 1024 };

struct worker {
    const struct launch *launch;
    const struct ir_part *part;
    struct launch_result *result;
    struct cell_control *control;     /* ours: the cell cannot write it */
    struct cell_report *report;       /* the cell's: believe nothing */
    struct cell_report seen;          /* a copy of it, once the cell has ended */
    char *inputs, *outputs;           /* the two files, mapped */
    size_t input_bytes, output_bytes; /* what the slots take */
    size_t room;                      /* of the files: so many times that, to lie elsewhere */
    int descriptors[5];               /* the last one of devices: what is launched */
    struct cell_program *program;     /* the same, mapped */
    struct sandbox_process process;
    bool called;   /* a call was made: a driver compiles the last bit when it comes to it */
    bool prepared; /* the cell stood ready before anything of the kernel ran */
    bool again;    /* another cell ran here before, and could leave nothing behind */
    int slots;
    int side;     /* of the guard the first slot lies against: 0 before it, 1 behind */
    bool packed;  /* slots close together, without guards: for timing */
    size_t drawn; /* bytes for blocks, where the device makes inputs for itself; 0: it does not */
    unsigned char around[CELL_MAX_SLOTS]; /* what the bytes beside the data were filled with */
    unsigned char inside[CELL_MAX_SLOTS]; /* and outputs and scratch themselves */
};

enum waited {
    WAITED_STOPPED,
    WAITED_ENDED,
    WAITED_TOO_LONG,
    WAITED_CROWDED,
    WAITED_LOST, /* the system does not say how it is: our fault, not the kernel's */
};

/* Sets the outcome and returns false. */
bool worker_fail(struct worker *worker, enum outcome outcome, const char *message);
size_t worker_tensor_bytes(const struct worker *worker, int tensor);
/* Of a slot, inputs first, then outputs, then scratch. */
struct cell_region *worker_region(const struct worker *worker, int slot, int tensor);
/* The control block and the files of inputs and outputs. Workers forked afterwards share them, and
 * with them the very pages: kernels that are compared find the same luck. */
bool worker_make_buffers(struct worker *worker);
void worker_release_buffers(struct worker *worker);
/* A file in memory of which nothing can be cut off, mapped; cells cannot write a sealed one. */
char *worker_make_file(int *descriptor, size_t bytes, bool sealed_for_writing);
bool worker_start_cell(struct worker *worker, const char *runner);
enum waited worker_wait(struct worker *worker, double seconds, int *status);
/* Lets the cell run until it stops again or ends. */
enum waited worker_continue(struct worker *worker, double seconds, int *status);
/* Says why the cell ended or did not stop; returns false. */
bool worker_report_end(struct worker *worker, enum waited waited, int status);
/* Words of the cell's are the kernel's: only what is plain to read is passed on. */
void worker_copy_words(char *out, size_t size, const char *words, size_t most);
void worker_output_pointers(const struct worker *worker, int slot, const void **pointers);
/* Rubbish over the outputs and scratch of a slot, and around them. */
void worker_poison_outputs(struct worker *worker, int slot, unsigned char poison);
/* One call of the kernel on a slot; what lies around its buffers must be as it was. */
bool worker_call(struct worker *worker, int slot);
/* The hash of all outputs of a slot. */
uint64_t worker_output_hash(const struct worker *worker, int slot);

/* ---- devices (device_cell.c) ---- */

bool worker_start_device(struct worker *worker);
/* What a scalar of the part is from the next call on. */
void worker_set_scalar(struct worker *worker, int scalar, double value);
/* Seconds for the next call: the first one on a device is given more. */
double worker_patience(struct worker *worker);
/* What the cell of a device says after a call, as far as it speaks against the kernel. */
bool worker_device_good(struct worker *worker, int slot);
/* The bytes between the buffers of a device are as they were. */
bool worker_gaps_intact(struct worker *worker, int slot);

/* One draw of a sampled case, in the only slot: see sample.c. */
bool sample_check_draw(struct worker *worker, int number, int side);
/* Where the buffers of a side lie. */
int sample_slot(const struct worker *worker, int side);

/* The path of smelt-cell; NULL when it is not found. */
const char *launch_find_runner(struct arena *arena);
/* The same of another program that lies beside smelt; `variable` of the environment overrides. */
const char *launch_find_program(struct arena *arena, const char *name, const char *variable);

#endif
