/*
 * Targets: kinds of machines that kernels run on, as rows of one table.
 *
 * A target compiles device code, takes memory on a device, launches functions and reads back. All
 * of it happens in the process that asks; the judge asks in a process of its own (runner.c), where
 * a kernel, or a driver that it breaks, does no harm. What a target lacks is an answer, not a
 * failure: an entry that is NULL, or `open` saying what is missing and how to get it.
 *
 * The drivers' libraries are opened at run time. No header of theirs is needed to build smelt.
 */
#ifndef SMELT_TARGET_TARGET_H
#define SMELT_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

enum {
    TARGET_NAME = 128,
    TARGET_MAX_ARGUMENTS = 256, /* of one launch; as src/kernel has it */
    TARGET_ALIGNMENT = 512,     /* of views, in bytes */
    TARGET_MAX_LOG = 64 << 10,  /* bytes of what a compiler says that are kept */
};

/* What is known of a device. 0 or "": not told. */
struct target_facts {
    char device[TARGET_NAME];   /* "NVIDIA H200" */
    char version[TARGET_NAME];  /* of driver or language: "OpenCL 3.0 PoCL 3.1" */
    char compiler[TARGET_NAME]; /* "NVRTC 13.0"; "": the driver's own */
    char architecture[32];      /* "sm_90a"; "" where there are none */
    int64_t block_threads;      /* most threads of a block */
    int64_t shared_bytes;       /* most shared memory of a block, dynamic one included */
    int64_t memory_bytes;
    int64_t cache_bytes; /* that all units share */
    int64_t units;       /* multiprocessors, compute units */
    bool doubles;        /* computes in double precision */
    bool gpu;            /* made for much work at once, beside the processor */
};

/* What the compiler says of one function. -1: not told. */
struct target_function_facts {
    char name[TARGET_NAME];
    int64_t registers, shared_bytes, spill_bytes; /* shared: without the dynamic part */
};

enum { TARGET_MAX_FUNCTIONS = 64 }; /* whose facts are kept */

struct target_build {
    bool done;          /* it compiled */
    struct text log;    /* what the compiler said */
    const char *binary; /* in the arena; NULL: the source itself is loaded */
    size_t binary_bytes;
    struct target_function_facts functions[TARGET_MAX_FUNCTIONS];
    int function_count;
};

struct target_memory {
    uintptr_t handle; /* of the driver's; 0: none */
};

struct target_argument {
    enum { TARGET_POINTER, TARGET_INTEGER, TARGET_REAL } kind;
    struct target_memory memory;
    int64_t integer;
    double real;
};

struct target_launch {
    const char *function;
    int64_t grid[3], block[3], shared; /* blocks; threads of a block; bytes */
    const struct target_argument *arguments;
    int argument_count;
};

/* y[batch, m, n] is the sum of a[batch, m, k] * b[batch, k, n], all row-major; an operand that is
 * transposed lies as a[k, m] or b[n, k]. Strides in elements. */
struct target_product {
    const char *dtype; /* "f32" */
    struct target_memory a, b, y;
    int64_t batch, m, n, k, a_stride, b_stride;
    bool a_transposed, b_transposed;
};

/* What a driver handed out and is to be given back: for the files of targets. */
struct target_handles {
    uintptr_t *at;
    size_t count, room;
};
bool target_handles_add(struct target_handles *handles, uintptr_t handle, struct error *error);

struct target;

struct device { /* opened; owned by whoever opened it */
    const struct target *target;
    void *state;
};

struct target {
    const char *name;    /* "opencl", as manifests have it */
    const char *title;   /* "OpenCL" */
    const char *source;  /* what a kernel's file is called: "kernel.cl" */
    const char *object;  /* and what it is loaded from: the same, or "kernel.cubin" */
    const char *install; /* a command that gets what is missing */
    /* What a confined process needs besides the system's libraries; both end with NULL. */
    const char *const *readable, *const *writable;
    const char *sanitizer; /* the tool that looks on for faults, NULL: there is none */
    unsigned without;      /* layers of confinement (os/sandbox.h) its driver does not work in */

    /* Opens the first device. False with MISSING_TOOL and a hint when there is none. */
    bool (*open)(struct device *device, struct error *error);
    void (*close)(struct device *device);
    /* Optional: gives back all memory and forgets what was loaded, as if it had just been opened.
     */
    bool (*renew)(struct device *device, struct error *error);
    void (*describe)(struct device *device, struct target_facts *facts);
    /*
     * Compiles; that it does not compile is an answer (build->done). The device may be NULL where
     * an architecture is given and the target can do without. False when the compiler cannot be
     * used.
     */
    bool (*compile)(struct arena *arena, struct device *device, const char *architecture,
                    const char *text, size_t length, struct target_build *build,
                    struct error *error);
    /* Loads what was compiled; its functions can be launched from then on. */
    bool (*load)(struct device *device, const char *bytes, size_t length, struct error *error);
    bool (*allocate)(struct device *device, size_t bytes, struct target_memory *memory,
                     struct error *error);
    /* A part of what was allocated; offset is a multiple of TARGET_ALIGNMENT. Lives as long. */
    bool (*view)(struct device *device, struct target_memory whole, size_t offset, size_t bytes,
                 struct target_memory *view, struct error *error);
    bool (*write)(struct device *device, struct target_memory memory, size_t offset,
                  const void *from, size_t bytes, struct error *error);
    bool (*read)(struct device *device, struct target_memory memory, size_t offset, void *to,
                 size_t bytes, struct error *error);
    /* In order with launches. */
    bool (*clear)(struct device *device, struct target_memory memory, size_t bytes,
                  struct error *error);
    /* Within what was allocated; stretches do not overlap. In order with launches, as `set` is. */
    bool (*copy)(struct device *device, struct target_memory memory, size_t to, size_t from,
                 size_t bytes, struct error *error);
    bool (*set)(struct device *device, struct target_memory memory, size_t offset,
                unsigned char value, size_t bytes, struct error *error);
    bool (*launch)(struct device *device, const struct target_launch *launch, struct error *error);
    /* Optional: products by the library of the vendor, opened by `products`, in order with
     * launches. */
    bool (*products)(struct device *device, struct error *error);
    bool (*product)(struct device *device, const struct target_product *product,
                    struct error *error);
    /*
     * Optional: what is launched, cleared and copied between the two is not done but kept, and
     * `replay` does it in one go, as often as it is called. NULL: the target cannot.
     */
    bool (*record)(struct device *device, struct error *error);
    bool (*recorded)(struct device *device, struct error *error);
    bool (*replay)(struct device *device, struct error *error);
    bool sure_clock; /* device code cannot reach what reads the device's clock */
    /* Starts the device's own clock. */
    bool (*begin)(struct device *device, struct error *error);
    /* Waits until all is done; the seconds since `begin` by the device's clock, -1: not told. */
    bool (*finish)(struct device *device, double *seconds, struct error *error);
};

/* All targets, ends with NULL; `cpu` is one whose kernels are called, not launched: open is NULL.
 */
extern const struct target *const targets[];
const struct target *target_find(const char *name);

extern const struct target target_cpu, target_opencl, target_cuda;

#endif
