/*
 * Private to src/lang: how an op becomes a part.
 *
 * An op is checked at concrete types, ranks and list lengths (an instance), with sizes as symbols.
 * One builder makes one part; one stage_builder makes the nodes of one statement.
 */
#ifndef SMELT_LANG_CHECK_H
#define SMELT_LANG_CHECK_H

#include "ir/prove.h"
#include "lang/lang.h"

enum {
    CHECK_MAX_FN_NESTING = 100,
    CHECK_MAX_OP_NESTING = 100,
    CHECK_MAX_NODES = 200000,   /* in one statement */
    CHECK_MAX_STAGES = 1000000, /* in one program */
    CHECK_MAX_LIST = 1024,
    CHECK_MAX_WIDTH = 8, /* components of a tuple */
};

/* ---- what was loaded (lang.c) ---- */

struct lang_files VECTOR(struct lang_file *);

struct lang_file {
    const char *path; /* NULL for text */
    struct ast_file *ast;
    bool faulty; /* it did not parse: what is missing would be missed everywhere */
    struct lang_files includes;
    struct map fns, monoids, ops, tasks; /* own ones by name */
    struct ast_ops VECTOR(const struct ast_op *) op_list;
    struct ast_tasks VECTOR(const struct ast_task *) task_list;
    int visit;
};

struct lang {
    struct arena *arena;
    struct map names;
    struct map files; /* by path */
    const char *library_folder;
    struct lang_file *library;
    bool library_tried;
    int visit;
    struct map instances; /* key text -> struct instance */
    struct map monoids;   /* key text -> struct ir_monoid */
    struct map owners;    /* address of an item as bytes -> struct lang_file */
    struct op_stack VECTOR(const struct ast_op *) in_progress;
    long stages; /* made so far */
};

struct lang_file *lang_owner(struct lang *lang, const void *item);
const struct ast_fn *lang_find_fn(struct lang *lang, struct lang_file *file, const char *name);
const struct ast_monoid *lang_find_monoid(struct lang *lang, struct lang_file *file,
                                          const char *name);
/* The nearest fn, op or monoid, or NULL. */
const char *lang_suggest_fn(struct lang *lang, struct lang_file *file, const char *name);
const char *lang_suggest_monoid(struct lang *lang, struct lang_file *file, const char *name);

/* ---- instances ---- */

struct type_binding {
    const char *name;
    bool bound;
    enum dtype dtype;
};

struct count_binding { /* a rank variable, or a list */
    const char *name;
    int count; /* -1: not known */
};

/* What an op is checked at. */
struct instance_key {
    struct type_bindings VECTOR(struct type_binding) types;
    struct count_bindings VECTOR(struct count_binding) ranks, lists;
};

struct doubt { /* something shown only when sizes are bound */
    enum error_code code;
    struct place place;
    const char *message, *hint;
};

struct instance {
    const struct ast_op *op;
    const struct ir_part *part; /* NULL: it has errors, reported already */
    struct doubts VECTOR(struct doubt) doubts;
    struct instance_list VECTOR(struct instance *) callees; /* in order of first call */
    struct ir_program *program;                             /* made when first asked for */
};

struct instance_key instance_key_new(struct arena *arena, const struct ast_op *op);
struct type_binding *instance_type(struct instance_key *key, const char *name);
int *instance_rank(struct instance_key *key, const char *name);
int *instance_list(struct instance_key *key, const char *name);
/* Types not bound get their default, ranks 2, lists 2. */
void instance_key_default(struct instance_key *key, const struct ast_op *op);
bool type_class_admits(const struct ast_op *op, const char *variable, enum dtype dtype);
const char *type_class(const struct ast_op *op, const char *variable);
struct instance *instance_get(struct lang *lang, const struct ast_op *op,
                              const struct instance_key *key, struct errors *errors);
/* All parts an instance needs, callees first. NULL when it has errors. */
struct ir_program *instance_program(struct lang *lang, struct instance *instance);

/* ---- the builder of one part ---- */

enum entity_kind {
    ENTITY_SYMBOL, /* a size, parameter or let */
    ENTITY_SCALAR,
    ENTITY_TENSOR,
    ENTITY_LIST,   /* xs: its tensors are number .. number+count-1 */
    ENTITY_RANK,   /* *B: its symbols are number .. number+count-1 */
    ENTITY_EACH,   /* N...: likewise, one per list member */
    ENTITY_INDEX,  /* of a loop around the statement */
    ENTITY_STATIC, /* of an `each` around the statement: a number */
    ENTITY_FAILED, /* its definition has an error: what uses it is not judged */
};

struct entity {
    enum entity_kind kind;
    const char *name;
    struct place place;
    int number, count;
    bool used;
    struct entity *outer; /* what it hides */
};

struct tensor_info { /* beside each ir_tensor */
    bool has_shape;  /* declared, or defined already */
    bool is_next;    /* the next value of a state */
    int definitions; /* statements that define it (a slice of it) */
    int depth;       /* loops around its first definition, less those indexed on its left */
    bool closed;     /* belonged to a loop that has ended */
    const struct loop_scope *pending; /* the loop that writes it slice by slice, until it ends */
    struct place read;                /* first place it was read at, after definition */
    const int
        *layout; /* per written position: 0 one dimension, n > 0 a group of n, -1 an empty group */
    int layout_count;
    struct place defined, latest;
};

struct loop_scope {
    struct loop_scope *outer;
    int index;
    struct ir_carries VECTOR(struct ir_carry) carries;
    struct place place;
};

struct symbols VECTOR(struct ir_symbol);
struct families VECTOR(struct ir_family);
struct scalars VECTOR(struct ir_scalar);
struct fact_list VECTOR(struct ir_fact);
struct indices VECTOR(struct ir_index);
struct tensors VECTOR(struct ir_tensor);
struct tensor_infos VECTOR(struct tensor_info);
struct stages VECTOR(struct ir_stage);

struct builder {
    struct lang *lang;
    struct arena *arena;
    struct errors *errors;
    struct lang_file *file;
    const struct ast_op *op;
    const struct instance_key *key;
    struct instance *instance;
    size_t errors_before;
    struct ir_part part; /* kept in step with the vectors below */
    struct symbols symbols;
    struct families families;
    struct scalars scalars;
    struct fact_list facts;
    struct indices indices;
    struct tensors tensors;
    struct tensor_infos infos;
    struct map names; /* struct entity */
    struct prover *prover;
    struct stages *stages; /* where finished statements go */
    struct loop_scope *loop;
    int loop_depth;
    int fresh;                             /* numbers for unnamed temporaries */
    const struct ast_statement *statement; /* being checked */
    bool is_start;                         /* it is the start of a state */
};

void builder_sync(struct builder *builder);
/* Adds an error at a place and returns it, for detail and hint. Never NULL. */
struct error *builder_error(struct builder *builder, enum error_code code, struct place place,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));
void builder_doubt(struct builder *builder, enum error_code code, struct place place,
                   const char *message, const char *hint);
struct entity *builder_find(struct builder *builder, const char *name);
struct entity *builder_add(struct builder *builder, enum entity_kind kind, const char *name,
                           struct place place, int number);
void builder_drop(struct builder *builder, const char *name); /* shows what it hid again */
/* " (did you mean 'x'?)" as a hint on the error, among names known here and `more`. */
void builder_suggest(struct builder *builder, struct error *error, const char *name,
                     const char *const *more, size_t count);
int builder_tensor(struct builder *builder, struct ir_tensor tensor, struct tensor_info info);
int builder_temporary(struct builder *builder, const char *name, enum dtype dtype, bool declared,
                      int rank, const struct ir_size *const *dims, struct place place);
const struct poly *builder_poly(struct builder *builder, const struct ir_size *size);
bool builder_same_size(struct builder *builder, const struct ir_size *a, const struct ir_size *b);
/* The last index of a dimension: one less than its size. */
void builder_print_last(struct builder *builder, struct text *out, const struct ir_size *size);
/* 'x', 'xs[0]', the next 'h', or "the result" of a call inside an expression. */
const char *builder_tensor_name(struct builder *builder, int tensor);
void builder_print_shape(struct builder *builder, struct text *out, int tensor);
void builder_print_size(struct builder *builder, struct text *out, const struct ir_size *size);

/* ---- sizes and signatures (check_size.c, check_signature.c) ---- */

/* A size expression of the op; NULL with an error reported. */
const struct ir_size *check_size(struct builder *builder, const struct ast_expression *expression);
/* A number known now, such as the k of xs[k]; false with an error reported. */
bool check_static(struct builder *builder, const struct ast_expression *expression, int64_t *value);
bool check_type(struct builder *builder, const char *name, struct place place, enum dtype *dtype);
bool check_dims(struct builder *builder, const struct ast_dims *dims, int member,
                struct ir_tensor *tensor, struct tensor_info *info);
void check_signature(struct builder *builder);

/* ---- one statement (check_domain.c, check_expression.c, check_statement.c) ---- */

struct statement_index {
    const char *name;   /* "d"; members of a group: the group's name */
    int member;         /* of a group, else -1 */
    struct place place; /* first use */
    bool on_left, on_right, bracketed;
    const struct ir_size *extent;
    struct place extent_place; /* the use it came from */
    const char *extent_from;   /* "dimension 2 of 'x'" */
    bool explicit_extent;      /* over */
    const struct ast_domain *range;
    int number; /* in the part, once made */
    bool placed;
};
struct statement_indices VECTOR(struct statement_index);

struct group {
    const char *name;
    int count; /* -1: not known */
    struct place place;
};
struct groups VECTOR(struct group);

struct fn_binding {
    const char *name;
    int node;
};

struct fn_scope {
    const struct fn_scope *outer;
    const struct ast_fn *fn;
    struct lang_file *file;
    const struct fn_binding *bindings;
    size_t count;
    int depth;
};

struct node_list VECTOR(struct ir_node);
struct int_list VECTOR(int);

struct stage_builder {
    struct builder *builder;
    struct node_list nodes;
    struct ir_nodes view; /* of the above */
    struct map known;     /* node bytes -> number + 1 */
    struct map fn_values; /* fn and arguments -> node + 1 */
    struct statement_indices indices;
    struct groups groups;
    int guard;                  /* condition under which this is evaluated, or IR_NONE */
    bool in_index;              /* inside brackets: '/' rounds down */
    struct int_list *exact;     /* inside brackets: conditions of '/!' */
    bool whole;                 /* names of tensors stand for their elements */
    const int *whole_indices;   /* nodes, one per dimension */
    int whole_rank, whole_like; /* like: the tensor whose shape it is */
    struct map hoisted;         /* whole: address of a call -> tensor + 1 */
    const struct fn_scope *fn;
    const struct fn_binding *params; /* monoid: names -> PARAM nodes */
    size_t param_count;
};

void stage_builder_init(struct stage_builder *stage, struct builder *builder);
int stage_node(struct stage_builder *stage, struct ir_node node);
int stage_integer(struct stage_builder *stage, int64_t value);
int stage_unary(struct stage_builder *stage, enum ir_op op, enum dtype type, int a);
int stage_binary(struct stage_builder *stage, enum ir_op op, enum dtype type, int a, int b);
int stage_size(struct stage_builder *stage, const struct ir_size *size);
enum dtype stage_type(const struct stage_builder *stage, int node);
/* Converts i64 -> float, f32 -> f64; IR_NONE stays. */
int stage_convert(struct stage_builder *stage, int node, enum dtype type);
/* Converts a value for storage in a tensor of this type, or reports. */
int stage_store(struct stage_builder *stage, int node, enum dtype dtype, struct place place,
                const char *target);

/* The value of an expression as a node, or IR_NONE with an error reported. */
int check_value(struct stage_builder *stage, const struct ast_expression *expression);
int check_condition(struct stage_builder *stage, const struct ast_expression *expression);
int check_index_value(struct stage_builder *stage, const struct ast_expression *expression);
int check_read(struct stage_builder *stage, const struct ast_expression *expression);
bool check_is_builtin(const char *name);
bool check_is_constant(const char *name); /* inf, nan, pi */

/* The tensor a read or target names; -1 with an error reported. */
int check_tensor(struct builder *builder, const char *name, struct place place,
                 const struct ast_expression *element);
/* Whether the tensor has its values at this point of the program; false with an error reported. */
bool check_readable(struct builder *builder, int tensor, struct place place);
/* One entry per dimension: an expression, or a member of a group. */
struct position {
    const struct ast_expression *expression;
    const char *group;
    int member;
};
/* Lines indices up with dimensions; false with an error reported. `rank` -1: not known. */
bool check_positions(struct stage_builder *stage, const struct ast_expressions *indices, int rank,
                     const struct tensor_info *info, const char *name, struct place place,
                     struct position *positions, int *count);
struct statement_index *stage_find_index(struct stage_builder *stage, const char *name, int member);
/* Finds all indices of a statement and their extents; false with an error reported. */
bool check_domain(struct stage_builder *stage, const struct ast_statement *statement);

/* Makes the targets of a faulty statement known, so that one fault gives one message. */
void check_poison(struct builder *builder, const struct ast_statement *statement);
/* Whether something in it has failed before. */
bool check_is_poisoned(struct builder *builder, const struct ast_expression *expression);
void check_statement(struct builder *builder, const struct ast_statement *statement);
void check_statements(struct builder *builder, const struct ast_statements *statements);
void check_loop(struct builder *builder, const struct ast_statement *statement);
/* Appends a finished stage. */
void builder_stage(struct builder *builder, const struct ir_stage *stage);
/* A tensor is about to be defined here. Returns its number or -1; *fresh: it has no shape yet. */
int check_define(struct builder *builder, const struct ast_target *target, bool is_next,
                 bool *fresh);
void check_copy(struct builder *builder, int to, int from, struct place place);

/* ---- calls and whole tensors (check_call.c) ---- */

/* Runs an op; fills in result tensors. False with an error reported. */
bool check_call(struct builder *builder, const struct ast_expression *call, const int *wanted,
                int *results, int count);
/* A tensor expression as a tensor: a name, a call, or an elementwise expression. */
int check_tensor_argument(struct builder *builder, const struct ast_expression *expression);
void check_whole(struct builder *builder, const struct ast_statement *statement);

/* ---- monoids (check_monoid.c) ---- */

/* `types` says what the values are, and is changed to what they must be converted to. */
const struct ir_monoid *check_monoid(struct builder *builder, const char *name, struct place place,
                                     enum dtype *types, int width);
void check_monoid_definition(struct lang *lang, struct lang_file *file,
                             const struct ast_monoid *monoid, struct errors *errors);
void check_fn_definition(struct lang *lang, struct lang_file *file, const struct ast_fn *fn,
                         struct errors *errors);

#endif
