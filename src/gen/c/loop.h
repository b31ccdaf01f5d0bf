/*
 * Private to src/gen/c: what is known while C is written from loops (src/loop).
 *
 * Scalars are written by the same functions as in plain kernels (operation.c), vectors by names of
 * vector.h. A loop that is unrolled is written out, with its counter as a number; then an array of
 * vectors whose places are all numbers becomes as many variables, which compilers keep in
 * registers.
 */
#ifndef SMELT_GEN_C_LOOP_H
#define SMELT_GEN_C_LOOP_H

#include "gen/c/emit.h"
#include "gen/c/vector.h"
#include "loop/loop.h"

struct printer {
    struct emitter *emitter;
    const struct loop_kernel *kernel;
    const char **symbols, **scalars; /* C names, by number in the part */
    struct map names;                /* address of a variable or buffer -> C name */
    struct map numbers;              /* address of an unrolled counter -> loop_value, while open */
    struct map assigned;             /* address of a variable that is SET -> non-NULL */
    struct map unrolled;             /* address of a counter that is written out -> non-NULL */
    struct map arrays;    /* address of a stack buffer that must stay an array -> non-NULL */
    struct map written;   /* address of a buffer that is stored to -> non-NULL */
    struct map parts;     /* address of a stack buffer -> names of its elements: const char ** */
    struct map given;     /* names of the file's own -> non-NULL */
    struct map functions; /* shape of a function that was written -> struct written */
    int copies;           /* of unrolled loops open: how deep */
    bool team;            /* inside a loop that all threads run */
    bool streams;         /* something is stored past the caches */
    bool parallel;        /* inside a loop whose iterations are shared out */
};

/* A value, and the place of a buffer's element as an address: "&x[i]" or "x". */
struct expression print_shuffle(struct printer *printer, loop_value value); /* loop_shuffle.c */
struct expression print_value(struct printer *printer, loop_value value);
const char *print_address(struct printer *printer, const struct loop_buffer *buffer,
                          loop_value offset);
/* "f32x16", or "float". */
const char *print_type(struct printer *printer, struct loop_type type);
/* The type of elements in memory, as lanes: "u16x16" for bf16. */
const char *print_raw_type(struct printer *printer, enum dtype dtype, int lanes);
/* A value as elements of this type are kept in memory. */
const char *print_kept(struct printer *printer, enum dtype dtype, loop_value value);
/* An expression in the present copy of unrolled loops. */
loop_value print_resolve(struct printer *printer, loop_value value);
/* The variable that stands for an element of a buffer on the stack; NULL: it is an array. */
const char *print_element(struct printer *printer, const struct loop_buffer *buffer,
                          loop_value offset);

/* A line of code, continued where it is too long. */
void print_line(struct printer *printer, const char *text);
void print_block(struct printer *printer, const struct loop_block *block);
/* What is set, unrolled, stored to and indexed by more than numbers in a function. */
void print_survey(struct printer *printer, const struct loop_block *block);

/* ---- what files for devices share with those for C (loop_kernel.c) ---- */

struct item { /* what a function may be handed */
    const char *name, *type;
    const struct loop_buffer *buffer; /* NULL: a number */
    int number;                       /* of the symbol, scalar or buffer */
    enum { ITEM_SYMBOL, ITEM_SCALAR, ITEM_BUFFER } kind;
};
struct items VECTOR(struct item);

struct printer print_new(struct emitter *emitter, const struct loop_kernel *kernel);
/* Names for sizes, scalars and buffers; `taken` (ends with NULL) cannot be had. */
void print_name_outer(struct printer *printer, const char *const *taken);
struct items print_items(struct printer *printer);
/* The statements of a function as text. */
struct text print_body(struct printer *printer, const struct loop_function *function);
/* What the body needs of the items: its parameters, which are part of its shape. */
struct items print_choose(struct printer *printer, const struct items *items,
                          const struct text *body, struct shape *shape);
/* The name's number in the shape; 0: it has none. */
int print_shape_number(const struct shape *shape, const char *name);
/* Where in `tensors` a tensor of the part is. */
int print_tensor_place(const struct ir_part *part, int tensor);

/* ---- devices (device/statement.c) ---- */

/* "(int64_t)blockIdx.x": the number of this block or thread. */
const char *print_number(struct printer *printer, const struct loop_variable *variable);
struct expression print_exchange(struct printer *printer, loop_value value);
void print_device_declare(struct printer *printer, const struct loop_buffer *buffer,
                          const char *element, const char *name);
void print_device_statement(struct printer *printer, const struct loop_statement *statement);

#endif
