/*
 * The checked program. What the language says in notation, the IR says in full: concrete types and
 * ranks, every extent, every conversion, nothing left to infer. Sizes stay symbolic.
 *
 * A program is a list of parts, callees first, the root last. A part is one op at concrete types:
 * its symbols (sizes), tensors and a list of stages. A stage defines tensors from earlier ones: a
 * map, a reduction, a scan, a scatter, a call of another part, or a loop over stages.
 *
 * Inside a stage, values are a flat list of nodes in single assignment: a node's arguments stand
 * before it, so evaluating the list from front to back at one point of the domain evaluates the
 * stage there. Every node is total and cheap to evaluate even when its value is not wanted: the
 * only thing that must not happen is a read outside its tensor, and a read carries its own guard.
 *
 * Everything hangs on the program's arena and is not changed after checking.
 */
#ifndef SMELT_IR_IR_H
#define SMELT_IR_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "ir/dtype.h"

/* ---- sizes: integer expressions over the symbols of a part ---- */

enum ir_size_op {
    IR_SIZE_CONSTANT,
    IR_SIZE_SYMBOL,
    IR_SIZE_ADD,
    IR_SIZE_SUB,
    IR_SIZE_MUL,
    IR_SIZE_DIV, /* rounds down */
    IR_SIZE_MOD, /* rounds down */
    IR_SIZE_MIN,
    IR_SIZE_MAX,
};

struct ir_size {
    enum ir_size_op op;
    int64_t value; /* constant */
    int symbol;    /* symbol: number in the part */
    const struct ir_size *a, *b;
};

enum ir_symbol_kind {
    IR_SYMBOL_SIZE,      /* a size of an input: 0 or more */
    IR_SYMBOL_PARAMETER, /* an integer parameter: any value */
    IR_SYMBOL_LET,       /* defined from the ones before it */
};

struct ir_symbol {
    const char *name; /* "D"; elements of rank and list sizes: "B.0" */
    enum ir_symbol_kind kind;
    const struct ir_size *definition; /* let */
    bool has_default;                 /* parameter */
    int64_t value;                    /* the default */
    const char *family;               /* "B" for "B.0", else NULL */
    int member;                       /* 0 for "B.0" */
};

/* A family with no member at all (rank 0) must still be known by name: see ir_part.families. */
struct ir_family {
    const char *name;
    int count;
};

struct ir_type {      /* a type variable of the op, and what it stands for in this part */
    const char *name; /* "T" */
    enum dtype dtype;
};

struct ir_scalar { /* a float or bool parameter */
    const char *name;
    enum dtype dtype;
    bool has_default;
    double value; /* the default; bool: 0 or 1 */
};

enum ir_relation { IR_RELATION_EQ, IR_RELATION_NE, IR_RELATION_LT, IR_RELATION_LE };

struct ir_fact { /* `where`: must hold when sizes are bound */
    enum ir_relation relation;
    const struct ir_size *a, *b;
    struct place place;
};

/* ---- tensors ---- */

enum ir_tensor_role {
    IR_TENSOR_INPUT,
    IR_TENSOR_OUTPUT,
    IR_TENSOR_TEMPORARY,
    IR_TENSOR_STATE, /* carried by a loop: written by its init stage, then by the carry */
};

enum ir_property {
    IR_PROPERTY_INDEX = 1,      /* every value in 0 .. bound-1 */
    IR_PROPERTY_OFFSETS = 2,    /* ascending, first 0, last = bound: segments of `bound` rows */
    IR_PROPERTY_SORTED = 4,     /* ascending along the last dimension */
    IR_PROPERTY_TRIANGULAR = 8, /* zero above the diagonal of the last two dimensions */
    IR_PROPERTY_CONSTANT = 16,  /* the same from call to call (weights) */
};

enum { IR_MAX_RANK = 12 };

struct ir_tensor {
    const char *name;
    enum ir_tensor_role role;
    enum dtype dtype;
    bool declared; /* false: dtype is what it computes in, and the oracle never rounds it */
    int rank;
    const struct ir_size *const *dims;
    unsigned properties;         /* of inputs: enum ir_property */
    const struct ir_size *bound; /* of INDEX and OFFSETS */
    struct place place;
};

/* ---- nodes ---- */

enum ir_op {
#define IR_OP(name, text, arguments, class) IR_##name,
#include "ir/ops.def"
#undef IR_OP
    IR_OP_COUNT
};

enum { IR_NONE = -1 };

struct ir_node {
    enum ir_op op;
    enum dtype type; /* f64, f32, i64 or bool: what it computes in */
    int a, b, c;     /* arguments: earlier nodes of the same list, or IR_NONE */
    union {
        int64_t integer;            /* INT, BOOL */
        double number;              /* FLOAT */
        const struct ir_size *size; /* SIZE */
        int scalar;                 /* SCALAR: number in the part */
        int index;                  /* INDEX: number in the part */
        int param;                  /* PARAM: 0..width-1 left operand, width..2*width-1 right */
        enum dtype cast;            /* CAST */
        struct {
            int tensor;    /* READ: number in the part */
            const int *at; /* one integer node per dimension */
            int guard;     /* bool node or IR_NONE: when false, nothing is read */
            int otherwise; /* the value when not read, or IR_NONE: then zero */
            bool checked;  /* also not read when any index is out of bounds */
            bool proved;   /* shown in bounds for all sizes; else shown when sizes are bound */
        } read;
    };
    struct place place;
};

struct ir_nodes {
    struct ir_node *at;
    int count;
};

/* ---- monoids: how values are combined ---- */

enum ir_monoid_kind {
    IR_SUM,     /* unit 0 */
    IR_PRODUCT, /* unit 1 */
    IR_MAXIMUM, /* unit -inf, or the least i64; NaN wins */
    IR_MINIMUM, /* unit inf, or the greatest i64; NaN wins */
    IR_ALL,     /* and; unit true */
    IR_ANY,     /* or; unit false */
    IR_ARGMAX,  /* (value, index), unit (-inf or least, -1); NaN is greatest; ties: lower index */
    IR_ARGMIN,  /* (value, index), unit (inf or greatest, -1); NaN is least; ties: lower index */
    IR_TOPK,    /* (value, index), written in order of ARGMAX along the last left dimension */
    IR_BOTTOMK, /* the same in order of ARGMIN */
    IR_USER,
};

/*
 * ARGMAX compares -0 and +0 as equal, and all NaNs as equal. With an operand whose index is -1 (the
 * unit) it yields the other operand. TOPK pads with units when the domain has fewer elements than
 * ranks.
 */
struct ir_monoid {
    enum ir_monoid_kind kind;
    const char *name; /* "sum", "argmax", or the user's */
    int width;        /* components */
    bool ordered;     /* associative but not commutative: combine left to right */
    /* USER: results[i] computed by `nodes` from PARAM nodes; units[i] are constant nodes of it */
    struct ir_nodes nodes;
    const int *results, *units;
};

/* ---- stages ---- */

struct ir_index {
    const char *name;
    const struct ir_size *extent; /* runs over 0 .. extent-1; NULL: a range */
    int low, high;                /* range low .. high-1: nodes of the stage, of earlier indices */
};

enum ir_stage_kind { IR_MAP, IR_REDUCE, IR_SCAN, IR_SCATTER, IR_CALL, IR_LOOP };

struct ir_write {
    int tensor;
    const int *at; /* integer nodes, one per dimension: depend on left indices only */
    int value;     /* node */
};

struct ir_carry {    /* at the end of an iteration: state = next */
    int state, next; /* tensors of equal shape */
};

/*
 * MAP      every point of the domain writes its own element.
 * REDUCE   `indices` lists the left ones first (left_count of them), then the reduced ones. For
 * each left point the values over the reduced ones are combined in lexicographic order, starting
 *          from the unit; the result is written (rounded once, if declared). TOPK: the last
 * dimension of the written tensors is the rank; its index is not in the domain, and `at` lacks it.
 * SCAN     all indices are left; along `along` values are combined in order (reverse: from the
 * end), exclusive: the element itself is left out, so the first is the unit. SCATTER  the target
 * starts as a copy of tensor `from` (or all units), then every domain point in lexicographic order
 * combines its value into the element it addresses (`assign`: replaces it; the last wins). `at` may
 * depend on reads. The accumulator is rounded once, at the end. CALL     runs `callee` with tensors
 * and sizes of this part. LOOP     runs `body` for each value of `loop_index`, in order (or
 * reversed). Body temporaries are defined anew in each iteration. Outer loop indices may be used by
 * nodes inside.
 *
 * Points where `predicate` is false are left out (REDUCE, SCATTER; a SCAN has none, a MAP has
 * none). A MAP over a range index (segments of an OFFSETS input) has the segment's index first.
 */
struct ir_stage {
    enum ir_stage_kind kind;
    struct place place;
    /* MAP, REDUCE, SCAN, SCATTER */
    const int *indices; /* the domain, outermost first: numbers in the part */
    int index_count, left_count;
    struct ir_nodes nodes;
    int predicate; /* bool node or IR_NONE */
    const struct ir_write *writes;
    int write_count; /* the monoid's width; 1 for MAP */
    const struct ir_monoid *monoid;
    int along; /* SCAN: number in the part */
    bool reverse, exclusive;
    int from; /* SCATTER: tensor or IR_NONE */
    bool assign;
    /* CALL */
    const struct ir_part *callee;
    const int *inputs, *outputs;        /* tensors, as many as the callee has */
    const struct ir_size *const *sizes; /* one per symbol of the callee; LET: NULL */
    const int *scalars;                 /* one per scalar of the callee: nodes without
                                           reads and indices */
    /* LOOP */
    int loop_index;
    struct ir_stage *body;
    int body_count;
    const struct ir_carry *carries;
    int carry_count;
};

struct ir_part {
    const char *name; /* "conv2d"; made unique in a program: "conv2d.2" */
    struct place place;
    const struct ir_type *types;
    int type_count;
    const struct ir_symbol *symbols;
    int symbol_count;
    const struct ir_family *families;
    int family_count;
    const struct ir_scalar *scalars;
    int scalar_count;
    const struct ir_fact *facts;
    int fact_count;
    const struct ir_index *indices;
    int index_count;
    const struct ir_tensor *tensors;
    int tensor_count;
    const int *inputs, *outputs; /* tensors in order of the signature */
    int input_count, output_count;
    const struct ir_stage *stages;
    int stage_count;
    const struct ir_size *const *zeros; /* what rewrites rely on to be 0; not part of the text */
    int zero_count;
};

struct ir_program {
    const struct ir_part *const *parts; /* callees before callers; the last is the root */
    int part_count;
};

const char *ir_op_name(enum ir_op op);
bool ir_op_parse(const char *name, enum ir_op *op);
int ir_op_arguments(enum ir_op op);
const struct ir_part *ir_root(const struct ir_program *program);

/* ---- sizes (size.c) ---- */

struct ir_size *ir_size_constant(struct arena *arena, int64_t value);
struct ir_size *ir_size_symbol(struct arena *arena, int symbol);
/* Folds constants and the trivial (x + 0, x * 1). */
const struct ir_size *ir_size_make(struct arena *arena, enum ir_size_op op, const struct ir_size *a,
                                   const struct ir_size *b);
/* The same expression of the same symbols. */
bool ir_size_equal(const struct ir_size *a, const struct ir_size *b);
/* False when it overflows or divides by zero. `values` has one entry per symbol of the part. */
bool ir_size_eval(const struct ir_size *size, const int64_t *values, int64_t *result);
void ir_size_print(struct text *out, const struct ir_size *size, const struct ir_part *part);

/* ---- text form (text.c): prints and re-parses to the same program ---- */

void ir_print(struct text *out, const struct ir_program *program);
struct ir_program *ir_parse(struct arena *arena, const struct source *source, struct error *error);

/* ---- binding (bind.c): a part at concrete sizes ---- */

struct ir_binding {
    const struct ir_part *part;
    const int64_t *sizes;  /* one per symbol, lets computed */
    const double *scalars; /* one per scalar */
};

/*
 * Checks that all sizes are known and fit (facts hold, dimensions are not negative, element counts
 * do not overflow, slices cover, reads stay in bounds, the same inside every call) and computes the
 * lets. `sizes` and `scalars` hold the given values; missing sizes were filled in by the caller
 * with defaults. The binding lives in the arena. NULL with the error set when something does not
 * hold.
 */
struct ir_binding *ir_bind(struct arena *arena, const struct ir_program *program,
                           const int64_t *sizes, const double *scalars, struct error *error);
/* The binding of a callee. Cannot fail after ir_bind succeeded on the root. */
struct ir_binding *ir_bind_call(struct arena *arena, const struct ir_binding *caller,
                                const struct ir_stage *call);
/* Elements of a tensor, dims written to `dims` when not NULL. */
int64_t ir_tensor_shape(const struct ir_binding *binding, int tensor, int64_t *dims);

/* ---- work (work.c, wanted.c): what it takes at least, as the op is written ---- */

/*
 * Float operations, each function counted as one, combining too. Left out is what nobody wants:
 * temporaries, or the part of them, that nothing reads, terms whose condition does not hold, and
 * products with what is read outside of a tensor as 0. Conditions on data count as if they held.
 */
double ir_operations(const struct ir_binding *binding);
struct ir_work {
    double points;                  /* of the domain */
    double operations;              /* float ones, wanted or not */
    double read_bytes, write_bytes; /* of the tensors it reads and writes, each once and whole */
};

/* Of one stage of a flat part; a loop: of all its iterations. */
struct ir_work ir_stage_work(const struct ir_binding *binding, const struct ir_stage *stage);
/* Bytes of inputs and outputs, each once. */
double ir_bytes(const struct ir_binding *binding);
/* The most bytes of a tensor that stages can need: all of it, or, of a table that is read at places
 * data chooses, as many elements as are read. */
double ir_moved_bytes(const struct ir_binding *binding, int tensor);
/* Of inputs and outputs together: what a kernel need move and no more. */
double ir_least_bytes(const struct ir_binding *binding);

/* ---- folding (fold.c): nodes without reads and indices, such as arguments and monoids ---- */

struct ir_value { /* of a node: `number` when its type is a float, else `integer` */
    double number;
    int64_t integer;
};

/* Evaluates all nodes from front to back into values[]; params may be NULL when there are none. */
void ir_fold(const struct ir_nodes *nodes, const struct ir_binding *binding,
             const struct ir_value *params, struct ir_value *values);

/* ---- instances: equal parts recognised ---- */

struct ir_instance { /* a part at given sizes (as expressions of the root's), and how often it is
                        called */
    const struct ir_part *part;
    const char *sizes; /* "N=N, C=64" */
    int64_t calls;
};

struct ir_instances VECTOR(struct ir_instance);
/*
 * Callers before callees; the root, which nobody calls, is not among them. A call in a loop counts
 * once. Counts stop at INT64_MAX; of a part called at over a thousand sizes the rest is one
 * instance.
 */
void ir_list_instances(struct arena *arena, const struct ir_program *program,
                       struct ir_instances *out);

/* ---- flat programs (flatten.c): one part, calls written out ---- */

/*
 * The same values to the last bit, but for exact outputs that a called part wrote: those are then
 * as computed, too. Symbols, scalars, inputs and outputs are the root's, number for number; further
 * tensors and the indices of callees come behind the root's own.
 */
struct ir_program *ir_flatten(struct arena *arena, const struct ir_program *program);
/* The same with every float computed in f64, whatever the part takes and gives. */
struct ir_program *ir_flatten_wide(struct arena *arena, const struct ir_program *program);

/* ---- references for devices (reference.c, spread.c) ---- */

/* The op in double precision, flat: float outputs are f64 and as computed. */
struct ir_reference {
    struct ir_program *program;
    /* Two scalars it has besides: every float input is moved by about this part of itself, as
       struct oracle_options says, differently for each value of the second, an integer. */
    int disturbance, seed;
};
/* False where double precision is no higher one, or an output is read again in a loop. */
bool ir_reference(struct arena *arena, const struct ir_program *program,
                  struct ir_reference *reference);
/*
 * A flat program whose long reductions to few elements are made in pieces, so that a device with a
 * thread per element has something to do. Which ones, and how many pieces, is decided for these
 * sizes; the result is right for all.
 */
struct ir_program *ir_spread(struct arena *arena, const struct ir_program *program,
                             const int64_t *sizes);
/* The most points that one such thread goes through, one after the other; ranges count as one. */
double ir_longest_thread(const struct ir_program *program, const int64_t *sizes);

/* ---- dependences in a flat part (graph.c) ---- */

struct ir_numbers { /* ascending, each once */
    const int *at;
    int count;
};

/* Stages are those of the part; what happens inside a loop counts as the loop's. */
struct ir_graph {
    const struct ir_part *part;
    const struct ir_numbers *reads, *writes;    /* per stage: tensors */
    const struct ir_numbers *readers, *writers; /* per tensor: stages */
    const struct ir_numbers *after;             /* per stage: those that must have run before */
    const char *const *names;                   /* per stage: after the tensor, "y", "y.2" */
};

struct ir_graph *ir_graph_new(struct arena *arena, const struct ir_part *part);
/* Whether the stages can run as one: no way out of them leads back in. *between: a stage on one. */
bool ir_graph_convex(const struct ir_graph *graph, const bool *chosen, int *between);

/* ---- footprints (region.c): what a tile of a stage's domain reads ---- */

/*
 * An integer node as constant + sum of factors[i] * (index i of the stage), at these sizes; outer
 * loops count as standing still. False: it is nothing like that. `factors` has an entry per index.
 */
bool ir_affine(const struct ir_binding *binding, const struct ir_stage *stage, int node,
               int64_t *constant, int64_t *factors);
/*
 * The box of its tensor that a READ node touches while index i of the stage runs over tile[i]
 * consecutive values: its extents, and how many elements that is. A dimension that is read at
 * something not affine counts whole.
 */
double ir_region(const struct ir_binding *binding, const struct ir_stage *stage, int read,
                 const int64_t *tile, int64_t *box);
/* How often an element of that box is read in the tile, on average. */
double ir_reuse(const struct ir_binding *binding, const struct ir_stage *stage, int read,
                const int64_t *tile);

/* ---- reductions in one pass (stream.c) ---- */

enum ir_stream {
    IR_STREAM_NONE,
    IR_STREAM_EXP,    /* a sum of exp(e - m) [* g], m the maximum of e over the same indices: the
                         sum so far is scaled by exp(old m - new m) */
    IR_STREAM_MOMENT, /* a sum of (e - mean)^2, mean from the sum of e: sums of both are merged */
};

/*
 * Whether a reduction of a flat part can run in the same pass as an earlier one it reads, and which
 * (*earlier). Softmax, logsumexp and attention are of the first kind, variances of the second.
 */
enum ir_stream ir_stream(const struct ir_graph *graph, int stage, int *earlier);

/* ---- groups as programs (extract.c) ---- */

struct ir_extract {
    struct ir_program *program; /* symbols and scalars are the flat part's, number for number */
    const int *tensors;         /* of the flat part: the program's inputs, then its outputs */
    int tensor_count;
};

/*
 * The chosen stages of a flat part as a program of its own: it takes what they read from elsewhere,
 * and gives what they define of the tensors that are needed. A loop comes with the stages that
 * write what it carries.
 */
struct ir_extract ir_extract(struct arena *arena, const struct ir_graph *graph, const char *name,
                             const bool *chosen, const bool *needed);

/* ---- exactness (exact.c) ---- */

/* The float operations that round, in order of appearance: "sum, exp, div"; nothing: all is exact.
 */
void ir_print_inexact(struct text *out, const struct ir_program *program);

#endif
