/*
 * Private to src/gen/c: what is known while C is written from a program.
 *
 * A stage becomes a nest of loops. Every node of the stage is evaluated at the shallowest depth of
 * the nest where its arguments are known: depth 0 stands before all loops, depth d inside the first
 * d. A node used once, at its own depth, is written inside the expression that uses it; others get
 * a name. A read moves out of a loop only with a test that the loop is not empty, since it may be
 * out of bounds when it is, and never out of a loop over a range.
 */
#ifndef SMELT_GEN_C_EMIT_H
#define SMELT_GEN_C_EMIT_H

#include "gen/gen.h"

/* ---- names (names.c): C identifiers, each used for one thing at a time ---- */

struct names {
    struct arena *arena;
    struct map taken; /* identifier -> non-NULL while it means something */
    struct name_stack VECTOR(const char *) stack;
    struct map *given; /* names given while this is set -> non-NULL; NULL: nobody asks */
};

struct names emit_names_new(struct arena *arena);
/* An identifier like `wanted` that means nothing else here. Lives in the arena. */
const char *emit_name(struct names *names, const char *wanted);
/* The same, for the rest of the file. */
const char *emit_name_forever(struct names *names, const char *wanted);
/* What was taken after `mark` (an earlier names->stack.count) is free again. */
void emit_names_free(struct names *names, size_t mark);

/* ---- texts that are alike but for names (alike.c) ---- */

struct shape {
    struct text text; /* equal for texts that become each other by renaming */
    struct shape_names VECTOR(const char *) names; /* those renamed; number 1 comes first */
};

/* The shape of a text in which the names `given` mean nothing outside. */
struct shape emit_shape(struct arena *arena, const struct text *text, const struct map *given);

/* ---- expressions ---- */

/* How tightly the outermost operator of an expression binds, loosest first. */
enum binding_power {
    BINDS_CHOICE, /* ?: and the bit operators, whose order nobody remembers */
    BINDS_OR,
    BINDS_AND,
    BINDS_COMPARE,
    BINDS_SUM,
    BINDS_PRODUCT,
    BINDS_UNARY,
    BINDS_ATOM,
};

struct expression {
    const char *text;
    enum binding_power binds;
    bool narrow; /* its type in C may be int: a literal, a comparison. Arithmetic widens it first */
};

/* ---- one stage ---- */

struct node_plan {
    int depth;                /* of the nest: where it is evaluated */
    int limit;                /* the deepest place where it is needed */
    int uses;                 /* by nodes of the stage and by the stage itself; 0: not wanted */
    int used_at;              /* the depth of its use, when there is one */
    int bits;                 /* an integer is less than 2^bits in size; 64: it may be any */
    bool data;                /* its value depends on a read */
    const char *name;         /* NULL: written where it is used */
    struct expression inside; /* what is written there */
};

struct loop_plan { /* one loop of the nest */
    int index;     /* number in the part */
    bool reverse;
};

struct tensor_plan {
    const char *name;   /* written through this */
    const char *reader; /* read through this: differs for outputs of the root that are read again */
    const char **dims;  /* as C: a name or a literal */
};

enum { EMIT_BUFFER = -2 };

struct variable { /* of a part: what a stage's function may ask for as a parameter */
    const char *name, *type;
    int tensor;    /* or IR_NONE: a number; EMIT_BUFFER: a piece of scratch for this one stage */
    bool aliased;  /* another pointer may point to the same elements */
    int wanted_by; /* the last stage that mentions it */
};

struct piece { /* of the scratch: a plain kernel's only memory */
    const char *name, *type, *bytes;
    const struct ir_size *count; /* elements */
    const struct ir_size *size;  /* the bytes, up to the next boundary */
};

struct part_plan {
    const char *name;              /* of its C function */
    const struct ir_size *scratch; /* bytes it takes, its calls included; NULL: none */
    bool fails;                    /* its function returns a status */
};

/* What a language for devices says differently from C. The type names of <stdint.h> are in all. */
struct dialect {
    const char *target;         /* "opencl" */
    const char *kernel;         /* what a kernel begins with, up to its name */
    const char *global;         /* in front of what a pointer into device memory points to */
    const char *alone;          /* behind such a pointer: nothing else points there */
    const char *inlined;        /* what other functions begin with */
    const char *structure;      /* "": the name of a structure is in front of its value's braces */
    const char *first, *all;    /* the number of this thread, and how many there are */
    const char *shared;         /* in front of a declaration of shared memory */
    const char *block, *thread; /* formats: their numbers in a dimension */
    const char *const *dimensions; /* what the formats take */
    const char *barrier;           /* a statement */
    const char *memory_barrier;    /* likewise; what was written to memory is there for the block */
    const char *arrive, *wait;     /* likewise, of all blocks of a cluster; NULL: there are none */
    const char *posts, *post;      /* functions: memory for what they post; posting */
    const char *copy, *copied;    /* a function that moves later, a statement that waits; or NULL */
    const char *cluster;          /* format: behind what a kernel of such a cluster begins with */
    const char *const *exchanges; /* functions by enum loop_exchange; NULL: a warp has none */
    const char *bounds; /* format: what a kernel begins with that has so many threads a block */
    bool suffixes;      /* functions for float end in f */
    const char *const *lines;    /* pairs: words, and a line for files that have one of them */
    const char *const *pieces;   /* pairs: the name of a piece of the prelude, its text here */
    const char *const *reserved; /* names that are taken */
};

struct emitter {
    enum gen_form form;
    const struct dialect *dialect;        /* NULL: C */
    const char *part_start, *stage_start; /* what their functions begin with: "static" */
    const char *entry;                    /* of the reference: "smelt_oracle" */
    struct arena *arena;
    struct text *out;
    int indent;
    struct text functions; /* of the stages of the part being written: they come before it */
    struct names names;
    const struct ir_program *program;
    struct map monoids; /* address of a user monoid -> its C name */
    struct map parts;   /* address of a part -> struct part_plan */
    /* the part being written */
    const struct ir_part *part; /* in a wide part temporaries are, too */
    bool root;
    bool wide;                       /* plain: no float is narrower than double; see types.c */
    const char **symbols, **scalars; /* C names */
    const char **indices;            /* C names, each while its loop is open */
    struct tensor_plan *tensors;
    struct variables VECTOR(struct variable) variables; /* in order of declaration */
    struct map variable_numbers;                        /* name -> number + 1, as a pointer */
    int stage_count;
    struct pieces VECTOR(struct piece) pieces; /* of the scratch, in order */
    bool part_fails;
    /* the stage being written */
    const char *comment; /* what it does, in the notation of the language */
    bool fails;          /* its function returns a status */
    const struct ir_nodes *nodes;
    struct node_plan *plans;
    struct loop_plan *loops;
    int loop_count;
    int predicate;    /* node or IR_NONE: points where it is false are skipped... */
    int predicate_at; /* ...at this depth, by `continue`; 0: the stage does it */
    int expand;       /* nodes at this depth or deeper are written out, not named; see lanes */
    int lanes_from;   /* deeper than this, the innermost loop is known not to be empty */
    const char *const *params; /* inside a monoid: what PARAM nodes are called */
    /* single points (points.c): stages are functions of their left indices, elements are asked for
     */
    bool points;
    const struct ir_part *current; /* the part as it stands in the program */
    int given;                     /* so many outer loops are not opened: their indices are given */
    const char **given_names;      /* what those are called */
};

/* Writes to `body`; `big`: there are so many parts that compilers are told to take it easy. */
struct emitter emit_new(struct text *body, enum gen_form form, bool big);
/* Functions of all parts of emitter->program, callees first. */
void emit_parts(struct emitter *emitter);

/* A line of code, indented. */
void emit_line(struct emitter *emitter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void emit_blank(struct emitter *emitter);
/* An opening brace, then deeper; emit_open: after a line such as `if (x)`. */
void emit_block(struct emitter *emitter);
void emit_open(struct emitter *emitter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void emit_close(struct emitter *emitter);

/* ---- types (types.c) ---- */

/* What values of this type are computed in, in C. */
const char *emit_type(const struct emitter *emitter, enum dtype type);
/* What elements of a tensor of this type are kept in, in C. */
const char *emit_element(const struct emitter *emitter, enum dtype type);
/* What the prelude's functions for values of this type begin with: "float", "double" or "int". */
const char *emit_kind(const struct emitter *emitter, enum dtype type);
/* Whether elements are bits of a float type that C lacks. */
bool emit_is_coded(const struct emitter *emitter, enum dtype type);
const char *emit_zero(const struct emitter *emitter, enum dtype type); /* "0.0f" */
const char *emit_rounding(enum dtype type); /* "round_f16" in double precision, or NULL */
const char *emit_wrapping(enum dtype type); /* "int8_t", or NULL */
/* The value of an element. */
struct expression emit_load(struct emitter *emitter, enum dtype type, const char *element);
/* What a declared tensor of this type keeps of a value that was computed in type `of`. */
const char *emit_keep(struct emitter *emitter, enum dtype type, const char *value, enum dtype of);

/* ---- values (value.c, operation.c) ---- */

const char *emit_number(struct emitter *emitter, double value, enum dtype type);
struct expression emit_integer(struct emitter *emitter, int64_t value);
/* Text in parentheses unless it binds at least as tightly as asked. */
const char *emit_within(struct emitter *emitter, struct expression inner, enum binding_power least);
struct expression emit_binary(struct emitter *emitter, struct expression a, const char *operator,
                              struct expression b, enum binding_power binds);
struct expression emit_format(struct emitter *emitter, enum binding_power binds, const char *format,
                              ...) __attribute__((format(printf, 3, 4)));

/* A size over the part's symbols. */
struct expression emit_size(struct emitter *emitter, const struct ir_size *size);
/* The number of elements of a tensor. */
const char *emit_count(struct emitter *emitter, int tensor);
/* An operation applied to arguments that are already written. */
struct expression emit_operation(struct emitter *emitter, const struct ir_node *node);
/* A node: its name, or the expression. The nodes it needs were written before. */
struct expression emit_node(struct emitter *emitter, int node);
const char *emit_text(struct emitter *emitter, int node);
/* The offset of an element in row-major order, given the nodes of its first `count` indices. */
struct expression emit_offset(struct emitter *emitter, int tensor, const int *at, int count);
/* What the stage does, in the notation of the language, for a comment. */
const char *emit_notation(struct emitter *emitter, const struct ir_stage *stage);

/* ---- where nodes go (place.c) ---- */

/* A nest over no index yet, and no node wanted. */
void emit_place_start(struct emitter *emitter, const struct ir_nodes *nodes, int most_loops);
/* Adds a loop inside those there are, and names its index. */
void emit_place_loop(struct emitter *emitter, int index, bool reverse);
/* The node is needed `count` times at this depth. IR_NONE is allowed. */
void emit_place_use(struct emitter *emitter, int node, int depth, int count);
/* Decides on every node that is wanted. Range bounds count by themselves. */
void emit_place_finish(struct emitter *emitter);
/* Writes the nodes that belong at this depth and need a name. */
void emit_place_write(struct emitter *emitter, int depth);
/* Whether emit_place_write has something to write at this depth. */
bool emit_place_has(const struct emitter *emitter, int depth);
/* The depth an index of the part is bound at: 0 outside the nest. */
int emit_place_depth(const struct emitter *emitter, int index);
/* Calls visit(context, argument) for each argument of a node. */
void emit_arguments(const struct ir_node *node, const struct ir_part *part,
                    void (*visit)(void *context, int argument), void *context);

/* ---- monoids (monoid.c) ---- */

/* A structure, a unit and a combination for every user monoid of the program. */
void emit_monoids(struct emitter *emitter);
/* The unit of a component, for values of this type. */
const char *emit_monoid_unit(struct emitter *emitter, const struct ir_monoid *monoid, int component,
                             enum dtype type);
/* Writes `left = left . right`: lvalues and values, one per component; types of the values. */
void emit_monoid_combine(struct emitter *emitter, const struct ir_monoid *monoid,
                         const char *const *left, const char *const *right,
                         const enum dtype *types);
/* How often the combination mentions its right side. */
int emit_monoid_mentions(const struct ir_monoid *monoid);

/* ---- parts (part.c) and the memory of plain kernels (scratch.c) ---- */

struct part_plan *emit_part_plan(const struct emitter *emitter, const struct ir_part *part);
/* Writes a part and the functions of its stages; callees before callers. */
void emit_part(struct emitter *emitter, const struct ir_part *part);
/* A size that has a name: a let, or a dimension that is an expression. */
struct definition {
    const char *name, *text;
};
struct definitions VECTOR(struct definition);
/* Those that `words` mention, and what they mention, as lines; `words` grows by that. */
void emit_definitions(struct emitter *emitter, const struct definitions *all, struct map *words);
/* Makes it the part being written: names for its symbols, tensors and dimensions. */
struct definitions emit_part_start(struct emitter *emitter, const struct ir_part *part);
/* A piece of scratch for a temporary. */
void emit_scratch_tensor(struct emitter *emitter, int tensor);
/* One of `type` elements, as many as the tensor (or its last dimension) has; its name is new. */
const char *emit_scratch_like(struct emitter *emitter, int tensor, bool row, const char *type,
                              const char *wanted);
/* Takes all pieces. */
void emit_scratch_write(struct emitter *emitter);
/* How many bytes the part takes, its calls included. NULL: none. */
const struct ir_size *emit_scratch_size(struct emitter *emitter);

/* ---- functions (function.c) ---- */

/* A variable of the part that stages may use. */
void emit_variable(struct emitter *emitter, const char *name, const char *type, int tensor,
                   bool aliased);
/* Its scope is over: the name may mean something else now. */
void emit_variable_end(struct emitter *emitter, const char *name);
/* Lets `write` write the stage as a function of its own, and calls that function here. */
void emit_function(struct emitter *emitter, const struct ir_stage *stage,
                   void (*write)(struct emitter *emitter, const struct ir_stage *stage));
/* Calls a function; one that fails ends this one. */
void emit_invocation(struct emitter *emitter, const char *name, const char *const *arguments,
                     int count, bool fails);
/* Whether a stage writes the tensor. */
bool emit_stage_writes(const struct ir_stage *stage, int tensor);
/* The words (names, not numbers) of a text: word -> non-NULL. */
struct map emit_words(struct arena *arena, const struct text *text);
/* prefix(item, item, ...)suffix, in lines of readable length. */
void emit_list(struct emitter *emitter, const char *prefix, const char *const *items, int count,
               const char *suffix);

/* ---- stages (stage.c, reduce.c) ---- */

void emit_stages(struct emitter *emitter, const struct ir_stage *stages, int count);
void emit_map(struct emitter *emitter, const struct ir_stage *stage);
void emit_scatter(struct emitter *emitter, const struct ir_stage *stage);
void emit_reduce(struct emitter *emitter, const struct ir_stage *stage);
void emit_scan(struct emitter *emitter, const struct ir_stage *stage);

/* Whether what a carry takes changes before it is taken: all happen at once. */
bool emit_carry_needs_copy(const struct ir_stage *stage, int carry);
/* Starts on a stage: all plans empty. What it returns goes to emit_stage_end. */
size_t emit_stage_start(struct emitter *emitter, const struct ir_stage *stage);
/* Once everything is placed: the comment, and the nodes before all loops. */
void emit_stage_open(struct emitter *emitter, const struct ir_stage *stage);
void emit_stage_end(struct emitter *emitter, size_t mark);
/* Opens loops number `from` up to `to`, writing the nodes of each depth. */
void emit_nest_open(struct emitter *emitter, int from, int to);
void emit_nest_close(struct emitter *emitter, int from, int to);
/* Stores a value, computed in type `of`, to an element, rounded as the tensor asks. */
void emit_store(struct emitter *emitter, int tensor, const char *offset, const char *value,
                enum dtype of);
/* Reference only: stores all elements of a tensor again, for those built up unrounded. */
void emit_store_all(struct emitter *emitter, int tensor);

/* ---- single points (points.c, points_find.c, points_runtime.c) ---- */

/* Text that the functions of a points file call, and the names it takes. */
extern const char *const emit_points_runtime[]; /* in pieces; ends with NULL */
extern const char *const emit_points_names[];   /* ends with NULL */
/* Whether the point that writes an element can be found from the element's place. */
bool emit_find_possible(struct emitter *emitter, const struct ir_stage *stage, int write);
/*
 * Writes lines that find it: `return false;` when the stage does not write the element, else the
 * indices are in left_0, left_1, ..., in order of the stage. Uses `element`.
 */
void emit_find(struct emitter *emitter, const struct ir_stage *stage, int write);
/* An element that is asked for. */
struct expression emit_fetch(struct emitter *emitter, int tensor, const char *offset);
/* An element that is known now. */
void emit_put(struct emitter *emitter, int tensor, const char *offset, const char *value,
              enum dtype of);

/* ---- the file (prelude.c, reserved.c, contract.c) ---- */

/* What the text mentions and C lacks, in front of it. */
void emit_prelude(struct emitter *emitter, struct text *out, const struct text *text);
/* Adds every name the prelude may define. */
void emit_prelude_names(struct map *taken, void *mark);
extern const char *const emit_reserved[]; /* other names that are taken, ends with NULL */
struct kernel;
/* The manifest of a kernel for a device, and what it computes: plain, or by a plan. */
void emit_device_head(struct emitter *emitter, struct text *out, const struct ir_part *part,
                      struct kernel *kernel, const struct gen_contract *contract,
                      const struct gen_head *head);
/* The manifest, and a comment with the whole contract. */
void emit_contract(struct emitter *emitter, struct text *out, const struct gen_contract *contract);
/* The same for a kernel made from loops. */
void emit_head(struct emitter *emitter, struct text *out, const struct ir_part *part,
               const struct ir_size *scratch, const struct gen_head *head);

#endif
