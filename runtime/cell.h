/*
 * What the judge and the cell say to each other: two shared blocks. The judge writes the control
 * block before the cell starts and between runs; the cell cannot write it. The cell writes the
 * report; nothing in it is believed: it serves messages only, verdicts come from the bytes of the
 * outputs.
 *
 * Descriptors in the cell: 3 the control block and 4 the inputs (neither can be written there), 5
 * the outputs, 6 the report. Argument 1 is the path of the kernel's shared object.
 *
 * The cell of a device (src/target/runner.c) keeps to the same, and has one more descriptor: 7, a
 * struct cell_program that says what is launched.
 *
 * One that stays from launch to launch (src/target/stay.c) does not stop. Its descriptor 3 is a
 * socket, on which each order is answered by one byte, 0 or why not, when it is done.
 */
#ifndef SMELT_RUNTIME_CELL_H
#define SMELT_RUNTIME_CELL_H

#include <stdint.h>

enum {
    CELL_MAGIC = 0x736d6c74,
    CELL_MAX_TENSORS = 64, /* and one more for scratch */
    CELL_MAX_SLOTS = 4096,
    CELL_MAX_CALLS = 4096,
    CELL_MAX_REGIONS = 16640, /* of all slots together */
    CELL_MAX_SIZES = 256,
    CELL_MAX_SCALARS = 64,
    CELL_MAX_DRAWN_SLOTS = 64,
    CELL_MAX_PLACES = 2048,
    CELL_PAGE = 4096,
};

/* Where a tensor of a slot lies in its file, and where its data starts within that stretch. */
struct cell_region {
    uint64_t offset, bytes; /* multiples of the page size unless packed; bytes 0: nothing there */
    uint64_t data;          /* multiple of 64 */
};

/* The cell stops twice before the first call: PREPARED, when nothing of the kernel has run yet,
 * and READY, when it is loaded. */
enum cell_state {
    CELL_STARTING,
    CELL_PREPARED,
    CELL_READY,
    CELL_RUNNING,
    CELL_DONE,
    CELL_NO_KERNEL,
    CELL_FAULT
};

/* What a cell does when it is continued. On the processor it is all one; on a device only what
 * happens in RUN is on the clock. */
enum cell_phase { CELL_WHOLE, CELL_UPLOAD, CELL_RUN, CELL_DOWNLOAD, CELL_FETCH };

/*
 * An input that a device makes for itself, since copying it would take too long: a window of a
 * sequence, which is a block of values again and again, but in each `stride` bytes of it one page
 * has values of its own. Block and pages lie in the file of inputs.
 */
struct cell_drawing {
    uint64_t bytes, start;        /* of the window; where in the sequence it begins */
    uint64_t block, block_bytes;  /* in the file */
    uint64_t pages, stride, seed; /* in the file; stride 0: there are none */
};

/* Where in the sequence the page number `which` stands. */
static inline uint64_t cell_page_place(const struct cell_drawing *drawing, uint64_t which)
{
    uint64_t bits = (drawing->seed + which) * 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    return which * drawing->stride +
           (bits ^ bits >> 29) % (drawing->stride / CELL_PAGE) * CELL_PAGE;
}

struct cell_place { /* some bytes of an output, to be fetched */
    uint32_t slot, tensor;
    uint64_t at, bytes; /* from where its data starts */
};

/* Where inputs are made by the device: nothing is copied but what is asked for. */
struct cell_drawn {
    int32_t used;
    uint32_t generation;           /* goes up when blocks and pages have changed */
    uint64_t blocks, blocks_bytes; /* all of them, in the file of inputs */
    unsigned char around[CELL_MAX_DRAWN_SLOTS], inside[CELL_MAX_DRAWN_SLOTS]; /* rubbish */
    struct cell_drawing drawings[CELL_MAX_DRAWN_SLOTS][CELL_MAX_TENSORS];
    uint32_t place_count;
    struct cell_place places[CELL_MAX_PLACES];
};

struct cell_control { /* from the judge */
    uint32_t magic;
    uint32_t phase;
    int32_t cold;                      /* a device: caches are emptied before RUN */
    int32_t input_count, output_count; /* the region after the outputs is scratch */
    int32_t slot_count, threads;
    int32_t confine_files, confine_calls; /* layers to be put on before the kernel is loaded */
    int32_t makes_code; /* a library of ours: memory may be writable and executable at once */
    int32_t packed;     /* one mapping per file instead of one per region */
    uint64_t input_base, output_base;   /* where in the files, when packed */
    uint64_t input_bytes, output_bytes; /* how much of them */
    int64_t sizes[CELL_MAX_SIZES];
    double scalars[CELL_MAX_SCALARS];
    struct cell_region regions[CELL_MAX_REGIONS]; /* slot after slot: see cell_number */
    uint32_t call_count;
    uint16_t calls[CELL_MAX_CALLS]; /* slots */
    struct cell_drawn drawn;
};

/* Where in `regions` a tensor of a slot stands: inputs first, then outputs, then scratch. */
static inline int cell_number(const struct cell_control *control, int slot, int tensor)
{
    return slot * (control->input_count + control->output_count + 1) + tensor;
}

struct cell_report { /* from the cell */
    uint32_t state;
    int32_t returned; /* the first result that was not 0 */
    uint32_t call;    /* the call under way */
    int32_t signal;
    int32_t exhausted;                   /* at a fault: there was no memory left to be had */
    uint64_t address, instruction, base; /* of a fault; base: where the kernel was loaded */
    uint64_t mapped[CELL_MAX_REGIONS];
    char message[256];
    /* from the cell of a device */
    double device_seconds; /* of the last RUN, by the device's clock; below 0: not told */
    int32_t failed;        /* 1: a launch was refused, 2: it broke the device; see message */
    int32_t changed;       /* 1 + the number of an input that was written... */
    uint64_t changed_byte; /* ...and where in its region */
};

/* ---- what a device does, with all sizes known ---- */

enum { CELL_MAX_PROGRAM = 64 << 20 };

enum cell_argument_kind { CELL_TENSOR, CELL_BUFFER, CELL_INTEGER, CELL_REAL, CELL_COUNTER };
enum cell_step_kind { CELL_LAUNCH, CELL_REPEAT, CELL_END, CELL_PRODUCT };

/* The arguments of a PRODUCT, which a library of the vendor's does: y[batch, m, n] is the sum of
 * a[batch, m, k] * b[batch, k, n]. Strides in elements; that of an operand which is the same for
 * all batches is 0. */
enum cell_product {
    CELL_PRODUCT_A, /* tensors */
    CELL_PRODUCT_B,
    CELL_PRODUCT_Y,
    CELL_PRODUCT_BATCH, /* integers */
    CELL_PRODUCT_M,
    CELL_PRODUCT_N,
    CELL_PRODUCT_K,
    CELL_PRODUCT_A_TRANSPOSED,
    CELL_PRODUCT_B_TRANSPOSED,
    CELL_PRODUCT_A_STRIDE,
    CELL_PRODUCT_B_STRIDE,
    CELL_PRODUCT_ARGUMENTS
};

struct cell_argument {
    int32_t kind, number; /* TENSOR, BUFFER, COUNTER */
    int64_t integer;
    double real;
};

struct cell_step {
    int32_t kind;
    uint32_t first_argument, argument_count;
    int64_t grid[3], block[3], shared, count;
    char name[128]; /* LAUNCH: the function; PRODUCT: the type of the elements, "f32" */
};

struct cell_buffer { /* in the scratch region, from where its data starts */
    uint64_t offset, bytes;
    int32_t zero;
};

/*
 * One call for somebody who looks on, a sanitizer: the head of a file, after which come the program
 * and, where inputs are given, those, one after the other; else they are zeros.
 */
struct cell_trace {
    uint32_t magic, input_count, output_count, given;
    uint64_t program_bytes, bytes[CELL_MAX_TENSORS]; /* of each tensor, exactly */
};

/* The arrays follow the head, in this order. */
struct cell_program {
    uint32_t magic, step_count, argument_count, buffer_count;
};

/* ---- a cell that stays ---- */

/* COMPILE comes with two files, source and object, OPEN with those of a launch. PHASE does what the
 * control block says, CLOSE gives back what the launch took. */
enum cell_order_kind { CELL_COMPILE, CELL_OPEN, CELL_PHASE, CELL_CLOSE };

enum cell_file {
    CELL_FILE_CONTROL,
    CELL_FILE_INPUTS,
    CELL_FILE_OUTPUTS,
    CELL_FILE_REPORT,
    CELL_FILE_PROGRAM,
    CELL_FILE_OBJECT,
    CELL_FILES
};

struct cell_order {
    uint32_t magic, kind;
    char architecture[32]; /* to compile for; "": the device's own */
};

#endif
