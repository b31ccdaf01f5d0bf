/*
 * A kernel: source text with a manifest at its head that says what it is for.
 *
 *     // smelt kernel 1
 *     // op softmax T=f32 B=1        the op, its types, how many sizes each rank variable has
 *     // target cpu                   or opencl, or cuda with an architecture at will: cuda sm_90a
 *     // holds D % 4 == 0, D <= 8192  for which sizes it may be called; none: for all
 *     // scratch 4*D                  bytes it wants besides, an expression of sizes; none: 0
 *     // threads 1                    most threads it makes use of; none: as many as it is given
 *
 * On devices, instead of scratch and threads:
 *
 *     // buffer part f32[B.0*2] zero  memory besides the tensors; zero: cleared before each call
 *     // launch rows grid(ceil(B.0, 4)) block(32, 4) shared(4*D) args(x, part, y, B.0, D)
 *     // repeat t < T                 the lines up to `end` are done T times, t is an argument
 * there
 *     // end
 *
 * The same manifest serves experts, LLMs and people. A source without one is taken to hold for
 * everything the task asks.
 *
 * On `cpu` the source is C17 with one entry:
 *
 *     int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch);
 *
 * tensors: the inputs, then the outputs, in the order of the signature, dense, row-major, 64-byte
 * aligned, no two overlapping. sizes: one per symbol of the part (lets too), in the order of the
 * part. scalars: one per scalar of the part. scratch: 64-byte aligned, contents undefined.
 * Returns 0, or anything else to say that it cannot do this call.
 *
 * On devices the source is device code only; the host does the steps of the manifest in order, each
 * after the one before it is done. Arguments are pointers for tensors and buffers (512-byte
 * aligned), 64-bit integers for sizes and counters, doubles for scalars.
 *   opencl  __kernel void rows(__global const float *x, ..., long N, long D, __local char *shared)
 *           the last one only where the launch says shared(...)
 *   cuda    extern "C" __global__ void rows(const float *x, ..., long long N, long long D)
 *           dynamic shared memory is `extern __shared__`
 */
#ifndef SMELT_KERNEL_KERNEL_H
#define SMELT_KERNEL_KERNEL_H

#include "base/base.h"
#include "ir/ir.h"

struct kernel_buffer {
    const char *name;
    enum dtype dtype;
    const struct ir_size *count; /* elements */
    bool zero;                   /* cleared before each call */
};

enum kernel_argument_kind {
    KERNEL_TENSOR,  /* number: inputs first, then outputs, in the order of the signature */
    KERNEL_BUFFER,  /* number: of buffers */
    KERNEL_SIZE,    /* number: a symbol of the part */
    KERNEL_SCALAR,  /* number: a scalar of the part */
    KERNEL_COUNTER, /* number: of the open repeats, from the outermost */
};

struct kernel_argument {
    enum kernel_argument_kind kind;
    int number;
};

enum kernel_step_kind { KERNEL_LAUNCH, KERNEL_REPEAT, KERNEL_END };

/* A launch of no blocks at all, for sizes of 0, is left out. */
struct kernel_step {
    enum kernel_step_kind kind;
    const char *name;                         /* LAUNCH: the function; REPEAT: the counter */
    const struct ir_size *grid[3], *block[3]; /* LAUNCH; NULL: 1 */
    const struct ir_size *shared;             /* LAUNCH: bytes; NULL: 0 */
    const struct ir_size *count;              /* REPEAT */
    const struct kernel_argument *arguments;  /* LAUNCH */
    int argument_count;
};

struct kernel {
    const struct source *source;
    bool has_manifest;
    const char *op;              /* "softmax" */
    const char *instance;        /* "T=f32 B=1", or "" */
    const char *target;          /* "cpu", "opencl", "cuda" */
    const char *architecture;    /* "sm_90a"; NULL: the device's own */
    const struct ir_fact *holds; /* over the symbols of the part */
    int holds_count;
    const struct ir_size *scratch; /* NULL: none */
    int threads;                   /* 0: as many as it is given */
    const struct kernel_buffer *buffers;
    int buffer_count;
    const struct kernel_step *steps;
    int step_count;
};

enum {
    KERNEL_MAX_BYTES = 16 << 20,
    KERNEL_MAX_FACTS = 64,
    KERNEL_MAX_BUFFERS = 256,
    KERNEL_MAX_STEPS = 4096,
    KERNEL_MAX_ARGUMENTS = 256, /* of one launch */
    KERNEL_MAX_REPEATS = 4,     /* inside each other */
    KERNEL_ALIGNMENT = 512,     /* of tensors and buffers on a device, bytes */
    KERNEL_GAP = 4096,          /* at least so many bytes lie between buffers */
};

/* Whether it runs on a device, by the steps of its manifest, and not by a call of `kernel`. */
bool kernel_on_device(const struct kernel *kernel);

/* Reads the manifest against the part it is for. NULL with errors when it is malformed. */
struct kernel *kernel_parse(struct arena *arena, const struct source *source,
                            const struct ir_part *part, struct errors *errors);
/* The manifest lines, each with "// ", as kernel_parse reads them. */
void kernel_print_manifest(struct text *out, const struct kernel *kernel,
                           const struct ir_part *part);
/* "T=f32 B=1" of a part: what `op` lines carry. */
void kernel_print_instance(struct text *out, const struct ir_part *part);
/* Whether it may be called at these sizes (one per symbol); else *which is the fact that fails. */
bool kernel_holds(const struct kernel *kernel, const int64_t *sizes, const struct ir_fact **which);
/* The target and architecture ("" when there is none) a source names, before it is parsed. False:
 * it names none, or one longer than `size`. */
bool kernel_read_target(const struct source *source, char *target, char *architecture, size_t size);
/* Bytes of scratch at these sizes, on a device of all buffers with the gaps between them; -1 when
 * that overflows or is negative. */
int64_t kernel_scratch(const struct kernel *kernel, const int64_t *sizes);
/* Where in the scratch a buffer of a device lies; -1 when that overflows. */
int64_t kernel_buffer_offset(const struct kernel *kernel, int number, const int64_t *sizes);
/* Bytes of a buffer at these sizes; -1 when that overflows or is negative. */
int64_t kernel_buffer_bytes(const struct kernel_buffer *buffer, const int64_t *sizes);

#endif
