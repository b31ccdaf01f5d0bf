/*
 * The low form: what a kernel does, loop by loop, before any dialect's syntax. Skeletons build it,
 * printers in src/gen turn it into source.
 *
 * A kernel is a list of functions run one after the other. A function is a tree of statements:
 * loops, conditions, local variables, stores. Expressions are pure trees; a value has a type and a
 * number of lanes, all lanes computed alike. What a loop is bound to (threads of the CPU, blocks
 * and threads of a device) is the loop's kind; bodies do not know.
 *
 * Everything hangs on an arena and is immutable once built, but for a block, which grows.
 */
#ifndef SMELT_LOOP_LOOP_H
#define SMELT_LOOP_LOOP_H

#include "base/base.h"
#include "ir/ir.h"

enum { LOOP_MAX_LANES = 64, LOOP_DECAY_MOST = 87 };

/* f64, f32, i64, i32 or bool; lanes: 1 is a scalar. */
struct loop_type {
    enum dtype dtype;
    int lanes;
};

/* ---- variables and buffers ---- */

enum loop_variable_kind {
    LOOP_COUNTER, /* of a loop: i64, never assigned otherwise */
    LOOP_LOCAL,   /* declared by LOOP_LET, changed by LOOP_SET */
    /* those from here on are known by kind and number, not by address */
    LOOP_SYMBOL, /* a size of the part: i64 */
    LOOP_SCALAR, /* a scalar parameter of the part */
    LOOP_BLOCK,  /* of a device: the number of this block; `number` is the dimension */
    LOOP_THREAD, /* the number of this thread in its block, likewise */
};

struct loop_variable {
    const char *name; /* wanted; the printer makes it unique */
    enum loop_variable_kind kind;
    struct loop_type type;
    int number; /* SYMBOL, SCALAR: number in the part; BLOCK, THREAD: 0 to 2 */
};

enum loop_space {
    LOOP_TENSOR,  /* an input or output of the kernel */
    LOOP_SCRATCH, /* shared by all threads, a piece of the kernel's scratch */
    LOOP_STACK,   /* each thread's own, alive while the block that declares it runs */
    LOOP_SHARED,  /* of a device: of all threads of a block; declared at the top of a function */
};

struct loop_buffer {
    const char *name;
    enum loop_space space;
    enum dtype dtype; /* of an element in memory: any type */
    int lanes;  /* STACK: of an element, so that a tile of vectors can stay in registers; else 1 */
    int tensor; /* number in the part; IR_NONE: SCRATCH and STACK that hold no tensor */
    const struct ir_size *count; /* SCRATCH: elements, of the part's symbols */
    int64_t elements;            /* STACK, SHARED: how many */
    bool zero;                   /* SCRATCH of a device: cleared before each call */
    int posts; /* SHARED: so many blocks of a cluster post an element each, see LOOP_POST; else 0 */
};

/* ---- expressions ---- */

enum loop_op {
    LOOP_INTEGER,
    LOOP_NUMBER,
    LOOP_VARIABLE,
    LOOP_APPLY,   /* an operation of the IR, lane by lane; scalars among the arguments are splat.
                     Both sides of a SELECT are evaluated: reads need masks, scalar ones too */
    LOOP_LOAD,    /* consecutive elements from `offset` on, as many as lanes */
    LOOP_GATHER,  /* one element per lane: `offset` has as many lanes */
    LOOP_SPLAT,   /* a scalar in every lane */
    LOOP_IOTA,    /* 0, 1, 2, ... */
    LOOP_FOLD,    /* all lanes combined by a monoid of width 1: a scalar */
    LOOP_SHUFFLE, /* each lane one of a's or b's: `pattern` counts those of a, then those of b */
    LOOP_WORDS,   /* consecutive words of 4 bytes from element `offset` on, as they are: i32 */
    LOOP_NEAR,    /* the nearest number of bf16 to a's, which is finite and not too large: f32 */
    LOOP_PAIR,    /* a word per lane: a's lane in the lower half, b's in the upper; both are numbers
                     of bf16 */
    LOOP_DOT,     /* c + the products of what words a and b hold, lane by lane */
    LOOP_DECAY,   /* e^-a of an f32 between 0 and LOOP_DECAY_MOST; of others anything */
    LOOP_FARTHER, /* of two f32 the one whose bits are the greater number without sign: of numbers
                     from +0 on the greater; negative numbers and NaN go before those */
    LOOP_EXCHANGE, /* of a device: what a is in another thread of the warp (see below) */
};

/*
 * Which other thread: threads of a warp in groups of `integer` (a power of two) count from 0; b is
 * a number. All threads of the warp must be there.
 */
enum loop_exchange {
    LOOP_EXCHANGE_XOR,  /* the number of this one with the bits of b turned over */
    LOOP_EXCHANGE_UP,   /* b less than this one; its own where there is none */
    LOOP_EXCHANGE_FROM, /* b */
};

/* What the words of a dot product hold: the first term in the lowest bits. */
enum loop_words {
    LOOP_BF16_BF16, /* two of each, summed in f32 */
    LOOP_U8_I8,     /* four of each, summed in i32 */
};

struct loop_expression {
    enum loop_op op;
    struct loop_type type;
    int64_t integer;
    double number;
    const struct loop_variable *variable;
    enum ir_op apply;
    enum dtype cast; /* of APPLY CAST */
    const struct loop_expression *a, *b, *c;
    /* LOAD, GATHER */
    const struct loop_buffer *buffer;
    const struct loop_expression *offset;
    const struct loop_expression *mask; /* bool per lane, or NULL: nothing is read where false... */
    const struct loop_expression
        *count; /* scalar, or NULL: only the first `count` lanes are read... */
    const struct loop_expression *otherwise; /* ...and this is the value there; NULL: zero */
    enum ir_monoid_kind monoid;              /* FOLD */
    const int *pattern;                      /* SHUFFLE: one number per lane of the result */
    enum loop_words words;                   /* DOT */
    enum loop_exchange exchange;             /* EXCHANGE */
};

typedef const struct loop_expression *loop_value; /* an expression, wherever many are handled */

/* ---- statements ---- */

enum loop_cluster {                      /* how a barrier is met */
                    LOOP_CLUSTER_ALONE,  /* by the threads of a block */
                    LOOP_CLUSTER_ARRIVE, /* by all threads of a cluster: they do not wait yet... */
                    LOOP_CLUSTER_WAIT,   /* ...but here, until all have arrived */
};

enum loop_kind {
    LOOP_SERIAL,
    LOOP_PARALLEL, /* iterations independent: threads of the CPU, blocks of a device. Directly
                      nested ones are one space */
    LOOP_UNROLL,   /* constant bounds: written out, so that local tiles stay in registers */
};

enum loop_statement_kind {
    LOOP_FOR,
    LOOP_IF,
    LOOP_LET,
    LOOP_SET,
    LOOP_DECLARE, /* a STACK buffer */
    LOOP_STORE,
    LOOP_NOTE,     /* a comment */
    LOOP_PREFETCH, /* this place of the buffer will be read soon; it may lie outside */
    LOOP_CLEAR,    /* vector registers from a number on hold nothing for later */
    LOOP_TILE,     /* something with the machine's tile registers */
    /* of devices */
    LOOP_BARRIER, /* all threads of the block meet, and see what was written before */
    LOOP_MOVE,    /* `elements` side by side, at once: buffer[offset...] = from_buffer[value...] */
    LOOP_ATOMIC,  /* buffer[offset] = buffer[offset] . value, as if no one else were there */
    /* the value, the same in all threads of a block, becomes the element with the block's number in
     * this buffer of each block of the cluster; threads go on when all blocks have posted */
    LOOP_POST,
};

/*
 * Tile registers: eight, each of 16 rows of 16 words, of the thread that uses them. A product adds
 * to word n of row m of the first tile what words k of row m of the second and words n of row k of
 * the third hold, for all k.
 */
enum loop_tile {
    LOOP_TILE_BEGIN, /* before anything else is done with them */
    LOOP_TILE_END,
    LOOP_TILE_ZERO,
    LOOP_TILE_LOAD,
    LOOP_TILE_LOAD_ONCE, /* what is not soon read again: the nearest cache is kept for others */
    LOOP_TILE_STORE,
    LOOP_TILE_DOT,
};

enum loop_tile_words { /* what the words of the second and third tile hold */
                       LOOP_TILE_BF16,
                       LOOP_TILE_I8_I8,
                       LOOP_TILE_I8_U8,
                       LOOP_TILE_U8_I8,
                       LOOP_TILE_U8_U8,
};

struct loop_block {
    struct arena *arena;
    struct loop_statements VECTOR(struct loop_statement) statements;
};

struct loop_statement {
    enum loop_statement_kind kind;
    const char *note; /* FOR: what the plan decided here, or NULL; NOTE: the words */
    /* FOR: variable = from; variable < to; variable += step */
    enum loop_kind loop;
    struct loop_variable *variable; /* FOR, LET, SET */
    int first;                      /* CLEAR: the number; 0: what follows needs all of them */
    bool held; /* LET: kept in a register; else a compiler may load it again for each use */
    loop_value from, to, step;
    bool dynamic; /* PARALLEL: iterations differ in cost */
    bool team;    /* SERIAL: threads are there all the time, and meet after each PARALLEL inside;
                     nothing else inside stores to memory */
    /* IF: condition; LET, SET, STORE: value */
    loop_value value;
    struct loop_block *body, *otherwise; /* FOR, IF; otherwise may be NULL */
    /* STORE, DECLARE */
    const struct loop_buffer *buffer;
    loop_value offset;
    loop_value mask, count; /* as in LOAD */
    bool scatter;           /* one offset per lane */
    bool streaming;         /* will not be read soon: past the caches where the machine can */
    bool far;               /* PREFETCH: into the second-level cache */
    bool words;             /* the value is i32, stored as it is whatever the elements are */
    /* TILE; LOAD, STORE: `value` is the distance of rows in bytes */
    enum loop_tile tile;
    enum loop_tile_words tile_words;
    int tiles[3];
    /* MOVE: elements of one type, their places multiples of `elements`, a power of two; what is
     * moved is at most 16 bytes */
    const struct loop_buffer *from_buffer;
    int elements;
    enum ir_monoid_kind monoid; /* ATOMIC: up to IR_MINIMUM, of f32, f64 or i64 */
    enum loop_cluster cluster;  /* BARRIER */
    bool memory;                /* BARRIER: what threads wrote to memory is there for the others */
    bool soon; /* MOVE to shared memory: it may happen later; BARRIER: of nobody but this thread,
                  until all that it moves so is there */
};

/*
 * On a device a function is what one thread does: as many blocks as `grid` says run it, each of
 * `block` threads. NULL, 0: 1.
 */
struct loop_launch {
    const struct ir_size *grid[3];
    int block[3];
    int minimum_blocks; /* CUDA: so many blocks should fit a multiprocessor; 0: does not matter */
    int cluster; /* so many neighbouring blocks of the first dimension run at the same time and see
                    each other's shared memory; 0: 1 */
};

struct loop_function {
    const char *name; /* of the group */
    const char *note; /* what it computes */
    struct loop_block *body;
    /* Instead of a body: the group as a program of its own, which the dialect writes plainly.
     * Sizes and scalars are those of the kernel's part, number for number. */
    const struct ir_program *plain;
    const struct loop_buffer *const *tensors; /* plain: its inputs, then its outputs */
    const struct loop_launch *launch; /* of a device; NULL: a function of the CPU, or plain */
};

struct loop_kernel {
    struct arena *arena;
    const struct ir_part *part; /* symbols, scalars and tensors are its */
    struct loop_buffers VECTOR(struct loop_buffer *) buffers; /* TENSOR and SCRATCH */
    struct loop_functions VECTOR(struct loop_function) functions;
};

/* ---- building (build.c). Folds constants and the trivial; the arena is the block's or kernel's.
 * ---- */

struct loop_kernel *loop_kernel_new(struct arena *arena, const struct ir_part *part);
struct loop_block *loop_block_new(struct arena *arena);
struct loop_block *loop_function(struct loop_kernel *kernel, const char *name, const char *note);
/* The buffer of a tensor of the part, made on first use: the kernel's argument, or for a temporary
 * a piece of scratch as large as the tensor. All groups find the same one. */
const struct loop_buffer *loop_tensor(struct loop_kernel *kernel, int tensor);
/* A function that has a program instead of a body. */
void loop_function_plain(struct loop_kernel *kernel, const char *name, const char *note,
                         const struct ir_program *program,
                         const struct loop_buffer *const *tensors);
const struct loop_buffer *loop_scratch(struct loop_kernel *kernel, const char *name,
                                       enum dtype dtype, const struct ir_size *count);

/* What a load from the buffer gives: what its elements compute in; vectors on the stack stay as
 * they are. */
enum dtype loop_buffer_dtype(const struct loop_buffer *buffer);

loop_value loop_integer(struct arena *arena, int64_t value);
loop_value loop_bool(struct arena *arena, bool value);
loop_value loop_number(struct arena *arena, double value, enum dtype dtype);
loop_value loop_of(struct arena *arena, const struct loop_variable *variable);
loop_value loop_size(struct arena *arena, const struct ir_part *part, const struct ir_size *size);
loop_value loop_scalar(struct arena *arena, const struct ir_part *part, int scalar);
/* The type a scalar has in the kernel: floats are f64 where any argument is, as in plain kernels.
 */
enum dtype loop_scalar_dtype(const struct ir_part *part, int scalar);
/* Type and lanes follow from the arguments (b, c may be NULL) and the class of the operation. */
loop_value loop_apply(struct arena *arena, enum ir_op op, loop_value a, loop_value b, loop_value c);
/* The same tree; variables are the same when they are one, symbols and scalars by number. */
bool loop_equal(loop_value a, loop_value b);
loop_value loop_cast(struct arena *arena, enum dtype cast, loop_value a);
/* An i64 that fits, such as a number of a lane, in 32 bits: as wide as floats are. */
loop_value loop_narrow(struct arena *arena, loop_value a);
loop_value loop_to_float(struct arena *arena, enum dtype dtype, loop_value a);
loop_value loop_add(struct arena *arena, loop_value a, loop_value b);
loop_value loop_sub(struct arena *arena, loop_value a, loop_value b);
loop_value loop_mul(struct arena *arena, loop_value a, loop_value b);
loop_value loop_min(struct arena *arena, loop_value a, loop_value b);
loop_value loop_less(struct arena *arena, loop_value a, loop_value b);
loop_value loop_select(struct arena *arena, loop_value condition, loop_value a, loop_value b);
loop_value loop_splat(struct arena *arena, loop_value a, int lanes);
loop_value loop_iota(struct arena *arena, int lanes);
loop_value loop_fold(struct arena *arena, enum ir_monoid_kind monoid, loop_value a);
/* a and b of the same type; the result has `lanes` of their lanes, or one. */
loop_value loop_shuffle(struct arena *arena, loop_value a, loop_value b, const int *pattern,
                        int lanes);
loop_value loop_words(struct arena *arena, const struct loop_buffer *buffer, loop_value offset,
                      int lanes);
loop_value loop_near(struct arena *arena, loop_value a);
loop_value loop_pair(struct arena *arena, loop_value low, loop_value high);
loop_value loop_dot(struct arena *arena, enum loop_words words, loop_value a, loop_value b,
                    loop_value sum);
loop_value loop_decay(struct arena *arena, loop_value a);
loop_value loop_farther(struct arena *arena, loop_value a, loop_value b);
/* Two values combined by a monoid of width 1, as the IR says (max passes NaN on). */
loop_value loop_combine(struct arena *arena, enum ir_monoid_kind monoid, loop_value a,
                        loop_value b);
loop_value loop_unit(struct arena *arena, enum ir_monoid_kind monoid, struct loop_type type);
loop_value loop_load(struct arena *arena, const struct loop_buffer *buffer, loop_value offset,
                     int lanes);
loop_value loop_load_part(struct arena *arena, const struct loop_buffer *buffer, loop_value offset,
                          int lanes, loop_value count, loop_value otherwise);
loop_value loop_load_masked(struct arena *arena, const struct loop_buffer *buffer,
                            loop_value offset, int lanes, loop_value mask, loop_value otherwise);
loop_value loop_gather(struct arena *arena, const struct loop_buffer *buffer, loop_value offset,
                       loop_value mask, loop_value otherwise);

/*
 * Statements, added at the end of the block. The body returned is empty; step NULL is 1. Values are
 * splat to the lanes of the variable or buffer they go to. The statement of a store may be changed
 * (mask, count, streaming) until the block gets another.
 */
struct loop_block *loop_for(struct loop_block *block, enum loop_kind kind, const char *name,
                            loop_value from, loop_value to, loop_value step,
                            struct loop_variable **variable);
void loop_note_loop(struct loop_block *block, const char *note); /* on the FOR added last */
void loop_team(struct loop_block *block); /* the FOR added last: see `team` */
struct loop_block *loop_if(struct loop_block *block, loop_value condition);
struct loop_block *loop_else(struct loop_block *block); /* of the IF added last */
struct loop_variable *loop_let(struct loop_block *block, const char *name, loop_value value);
struct loop_variable *loop_hold(struct loop_block *block, const char *name, loop_value value);
void loop_set(struct loop_block *block, struct loop_variable *variable, loop_value value);
const struct loop_buffer *loop_stack(struct loop_block *block, const char *name, enum dtype dtype,
                                     int lanes, int64_t elements);
struct loop_statement *loop_store(struct loop_block *block, const struct loop_buffer *buffer,
                                  loop_value offset, loop_value value);
/* Words of 4 bytes from element `offset` on: `value` is i32. */
struct loop_statement *loop_store_words(struct loop_block *block, const struct loop_buffer *buffer,
                                        loop_value offset, loop_value value);
/* BEGIN, END; ZERO of one tile; DOT of three. */
void loop_tile(struct loop_block *block, enum loop_tile action);
void loop_tile_zero(struct loop_block *block, int tile);
void loop_tile_dot(struct loop_block *block, enum loop_tile_words words, int sum, int a, int b);
/* LOAD, STORE: 16 rows of 64 bytes, `stride` bytes apart. */
void loop_tile_move(struct loop_block *block, enum loop_tile action, int tile,
                    const struct loop_buffer *buffer, loop_value offset, loop_value stride);
void loop_note(struct loop_block *block, const char *note);
void loop_prefetch(struct loop_block *block, const struct loop_buffer *buffer, loop_value offset);
/* The same for what is read later: into the second-level cache only. */
void loop_prefetch_far(struct loop_block *block, const struct loop_buffer *buffer,
                       loop_value offset);
/* In a loop, from the number on that it does not need: gcc keeps addresses there that do not fit
 * elsewhere, and takes 9 cycles to fetch one, count it up and put it back. */
enum { LOOP_CLEAR_STEP = 4, LOOP_CLEAR_LAST = 20 };
void loop_clear(struct loop_block *block, int first);

/*
 * ---- devices (device.c): functions for one thread of many ----
 */
/* A function that is launched; the block returned is its body. */
struct loop_block *loop_launch(struct loop_kernel *kernel, const char *name, const char *note,
                               const struct loop_launch *launch);
loop_value loop_block_number(struct arena *arena, int dimension);
loop_value loop_thread_number(struct arena *arena, int dimension);
/* Shared by the threads of a block; `block` is the body of the function. */
const struct loop_buffer *loop_shared(struct loop_block *block, const char *name, enum dtype dtype,
                                      int64_t elements);
void loop_barrier(struct loop_block *block);
/* The same, and what threads of the block wrote to memory is there for the others. */
void loop_memory_barrier(struct loop_block *block);
/* Shared memory for what `blocks` of a cluster post once. All blocks must know of each other's
 * before: they arrive when it is declared, and wait before the first of them posts. */
const struct loop_buffer *loop_posts(struct loop_block *block, const char *name, enum dtype dtype,
                                     int blocks);
void loop_cluster_arrive(struct loop_block *block);
void loop_cluster_wait(struct loop_block *block);
void loop_post(struct loop_block *block, const struct loop_buffer *buffer, loop_value value);
/* Of what is moved `soon`: the thread goes on when it is there. Others need a barrier besides. */
void loop_wait(struct loop_block *block);
void loop_move(struct loop_block *block, const struct loop_buffer *to, loop_value to_offset,
               const struct loop_buffer *from, loop_value from_offset, int elements);
void loop_atomic(struct loop_block *block, enum ir_monoid_kind monoid,
                 const struct loop_buffer *buffer, loop_value offset, loop_value value);
/* A name should be given to what is exchanged: it must happen where all threads are. */
loop_value loop_exchange(struct arena *arena, enum loop_exchange exchange, loop_value value,
                         loop_value number, int width);

/* Takes variables that nobody reads out of a finished block (prune.c). */
void loop_prune(struct loop_block *block);

/* ---- widening (widen.c) ---- */

/*
 * The expression for `lanes` consecutive values of `variable` at once, from its present value on:
 * what does not depend on it stays scalar, loads become contiguous, splat or gathered according to
 * how their offsets depend on it. `count` (or NULL): only that many lanes are wanted, the others
 * read nothing. The result is scalar when nothing depends on the variable.
 */
loop_value loop_widen(struct arena *arena, loop_value value, const struct loop_variable *variable,
                      int lanes, loop_value count);
/* The change of a scalar integer when the variable goes up by one, free of the variable; NULL: not
 * the same everywhere. */
loop_value loop_step(struct arena *arena, loop_value value, const struct loop_variable *variable);
/* The expression with `by` in place of the variable. */
loop_value loop_substitute(struct arena *arena, loop_value value,
                           const struct loop_variable *variable, loop_value by);
/* The same with several: address of a variable -> loop_value. */
loop_value loop_replace(struct arena *arena, loop_value value, const struct map *by);
/* The same operation (neither a leaf nor a load) on other arguments, folded. */
loop_value loop_rebuild(struct arena *arena, loop_value value, loop_value a, loop_value b,
                        loop_value c);
bool loop_mentions(loop_value value, const struct loop_variable *variable);

/* ---- text (print.c), for people and tests; and what must hold of a kernel (check.c) ---- */

void loop_print(struct text *out, const struct loop_kernel *kernel);
/* Types and lanes agree, variables are in scope, buffers declared. A false is our bug. */
bool loop_check(const struct loop_kernel *kernel, struct error *error);

#endif
