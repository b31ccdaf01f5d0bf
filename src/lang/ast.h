/*
 * What was written, as it was written: the tree the parser builds, the formatter prints and the
 * checker reads. Names are interned (equal names are equal pointers) and every node has its place.
 */
#ifndef SMELT_LANG_AST_H
#define SMELT_LANG_AST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

/* ---- expressions: values, indices and sizes alike ---- */

enum ast_kind {
    AST_INTEGER,     /* 42 */
    AST_FLOAT,       /* 0.5, 1e-5 */
    AST_BOOL,        /* true, false */
    AST_NAME,        /* x, inf, nan, pi */
    AST_GROUP,       /* *b: the indices of a rank variable */
    AST_READ,        /* x[i, j else 0]; xs[k][i, j]; N[k] */
    AST_CALL,        /* exp(x), conv2d(x, w; pad=1), f16(x) */
    AST_UNARY,       /* -a, not a */
    AST_BINARY,      /* a + b, ... */
    AST_CONDITIONAL, /* c ? a : b */
    AST_TUPLE,       /* (a, b): right side of a tuple reduction */
    AST_LIST,        /* [a, b]: argument for a list parameter; sizes of a rank in a case */
};

enum ast_operator {
    AST_NEGATE,
    AST_NOT,
    AST_ADD,
    AST_SUBTRACT,
    AST_MULTIPLY,
    AST_DIVIDE,       /* /   sizes and indices: rounds down; values: floats only */
    AST_REMAINDER,    /* %   sizes and indices */
    AST_DIVIDE_EXACT, /* /!  indices */
    AST_FLOOR_DIVIDE, /* div integer values */
    AST_MODULO,       /* mod integer values */
    AST_POWER,        /* ^   right associative, binds tighter than unary minus */
    AST_EQUAL,
    AST_UNEQUAL,
    AST_LESS,
    AST_LESS_EQUAL,
    AST_GREATER,
    AST_GREATER_EQUAL,
    AST_AND,
    AST_OR,
};

/* The parser refuses what is higher or larger, so that everybody may recurse over the tree. */
enum { AST_HEIGHT_MAXIMUM = 1000, AST_NESTING_MAXIMUM = 200, AST_NODE_MAXIMUM = 1 << 20 };

struct ast_expressions VECTOR(struct ast_expression *);

struct ast_named { /* pad=1 in a call, B=[4, 5] in a case */
    const char *name;
    struct ast_expression *value;
    struct place place; /* of the name */
};
struct ast_named_list VECTOR(struct ast_named);

struct ast_expression {
    enum ast_kind kind;
    struct place place;
    enum ast_operator operator;     /* UNARY, BINARY */
    int64_t integer;                /* INTEGER; BOOL: 0 or 1 */
    double number;                  /* FLOAT */
    const char *spelling;           /* INTEGER, FLOAT: as written, for the formatter */
    const char *name;               /* NAME, GROUP, READ (tensor), CALL (function) */
    struct place name_place;        /* READ, CALL: of the name alone */
    struct ast_expression *element; /* READ: the k of xs[k][...], else NULL */
    struct ast_expressions list;    /* READ: indices; CALL: arguments; TUPLE, LIST: members */
    struct ast_named_list named;    /* CALL: after the semicolon */
    struct ast_expression *a, *b,
        *c;             /* UNARY a; BINARY a b; CONDITIONAL a ? b : c; READ: a = else */
    bool parenthesised; /* stood in parentheses: the formatter keeps only needed ones */
    int height;         /* of the tree from here: at most AST_HEIGHT_MAXIMUM */
};

/* ---- declarations ---- */

struct ast_name {
    const char *name;
    struct place place;
};
struct ast_names VECTOR(struct ast_name);

/* `index(V)`, `normal(0, 3)`, `sorted`, `const`: after ~ in a signature or a task */
struct ast_draw {
    const char *name;
    struct place place;
    struct ast_expressions arguments;
};
struct ast_draws VECTOR(struct ast_draw);

enum ast_dim_kind { AST_DIM_SIZE, AST_DIM_RANK, AST_DIM_EACH }; /* N*2; *B; N... */

struct ast_dim {
    enum ast_dim_kind kind;
    struct place place;
    struct ast_expression *size; /* SIZE */
    const char *name;            /* RANK, EACH */
};
struct ast_dims VECTOR(struct ast_dim);

/* x, w: T[N, D]... ~ index(V)   |  t: [N, D]  |  eps: f32 = 1e-5  |  stride: int = 1 */
struct ast_declaration {
    struct place place;
    struct ast_names names;
    const char *type; /* "f32", "T", "int"; NULL when left out: t: [N, D] */
    struct place type_place;
    bool has_dims; /* false for parameters after the semicolon */
    struct ast_dims dims;
    bool is_list;                   /* ... */
    struct ast_draws facts;         /* after ~ */
    struct ast_expression *initial; /* = default, parameters only */
};
struct ast_declarations VECTOR(struct ast_declaration);

/* ---- statements ---- */

enum ast_statement_kind { AST_DECLARE, AST_DEFINE, AST_LOOP, AST_EACH };

struct ast_target { /* y, y[i, j] */
    const char *name;
    struct place place, name_place;
    bool has_indices;
    struct ast_expressions indices;
};
struct ast_targets VECTOR(struct ast_target);

struct ast_domain { /* i < E  |  e in a .. b  |  *b < *B */
    const char *name;
    struct place place;
    bool is_group;              /* *b < *B: high is an AST_GROUP */
    struct ast_expression *low; /* NULL for i < E */
    struct ast_expression *high;
};
struct ast_domains VECTOR(struct ast_domain);

struct ast_statements VECTOR(struct ast_statement);

struct ast_statement {
    enum ast_statement_kind kind;
    struct place place; /* DEFINE: the whole; LOOP, EACH: the head */
    struct ast_declaration declaration;
    /* DEFINE */
    bool is_next, is_scatter, is_scan;
    bool is_tuple; /* left side in parentheses */
    struct ast_targets targets;
    const char *reducer; /* NULL for =, else "+", "*", "max", "and", or a monoid's name */
    struct place operator_place;
    struct ast_expression *value;
    struct ast_domains over;
    struct ast_expression *condition; /* if */
    bool reverse, exclusive;          /* rev, excl; LOOP: rev */
    struct ast_name along, from;      /* .name NULL when absent */
    /* LOOP: loop NAME < high with inits { body } -> finals;  EACH: each NAME in LIST { body } */
    struct ast_name index, list;
    struct ast_expression *high;
    struct ast_statements inits; /* DEFINE statements with one target and = */
    struct ast_statements body;
    struct ast_names finals;
    struct place end; /* LOOP, EACH: the closing brace */
};

/* ---- top level ---- */

struct ast_fn {
    struct ast_name name;
    struct place place;
    struct ast_names parameters;
    struct ast_expression *value;
};

struct ast_monoid {
    struct ast_name name;
    struct place place;
    struct ast_names left, right;
    struct ast_expressions results, units;
    bool ordered;
};

enum ast_clause_kind { AST_LET, AST_WHERE };

struct ast_clause { /* let P = ...  |  where H % p == 0  |  where T: int (value NULL, class set) */
    enum ast_clause_kind kind;
    struct ast_name name;         /* LET; WHERE T: class */
    struct ast_expression *value; /* LET; WHERE condition */
    struct ast_name class;        /* WHERE T: "float", "int", "any" */
    struct place place;
};
struct ast_clauses VECTOR(struct ast_clause);

struct ast_op {
    struct ast_name name;
    struct place place;      /* `op` to the end of the signature */
    const char *description; /* the comment lines right above, without #, or NULL */
    struct ast_declarations inputs, parameters, outputs;
    struct ast_clauses clauses;
    struct ast_statements body;
    struct place end; /* the closing brace */
};

enum ast_line_kind {
    AST_LINE_DTYPE,
    AST_LINE_INPUT,
    AST_LINE_ACCURACY,
    AST_LINE_CACHE,
    AST_LINE_DETERMINISTIC,
    AST_LINE_SIZES,
    AST_LINE_CASE,
    AST_LINE_BASELINE,
};

struct ast_range { /* D in 1..400000 */
    struct ast_name name;
    struct ast_expression *low, *high;
};
struct ast_ranges VECTOR(struct ast_range);

struct ast_line {
    enum ast_line_kind kind;
    struct place place;
    struct ast_name name;        /* INPUT, ACCURACY (class), CACHE, BASELINE */
    struct ast_named_list named; /* DTYPE: T=f32 (value AST_NAME); CASE */
    struct ast_draws draws;      /* INPUT: after ~ */
    bool has_interval;           /* INPUT: in (low, high] */
    struct ast_expression *low, *high;
    bool low_open, high_open;
    bool deterministic;       /* ACCURACY: the word follows */
    struct ast_ranges ranges; /* SIZES */
    bool timed;               /* CASE */
    const char *text;         /* BASELINE: the string, or NULL */
};
struct ast_lines VECTOR(struct ast_line);

struct ast_task {
    struct ast_name name, op;
    struct place place;
    struct ast_lines lines;
};

struct ast_include {
    const char *path;
    struct place place;
};

enum ast_item_kind { AST_ITEM_INCLUDE, AST_ITEM_FN, AST_ITEM_MONOID, AST_ITEM_OP, AST_ITEM_TASK };

struct ast_item {
    enum ast_item_kind kind;
    struct place place;
    struct ast_include include;
    struct ast_fn fn;
    struct ast_monoid monoid;
    struct ast_op op;
    struct ast_task task;
};
struct ast_items VECTOR(struct ast_item *);

struct ast_comment {
    struct place place; /* from # to the end of the line */
    bool own_line;      /* nothing but space before it */
    bool blank_before;  /* an empty line stands before it */
};
struct ast_comments VECTOR(struct ast_comment);

struct ast_file {
    const struct source *source;
    struct ast_items items;
    struct ast_comments comments; /* in order */
};

/*
 * Parses a whole source. Names are interned in `names`. Faults are added to `errors` (parsing goes
 * on at the next statement or item); the file is returned all the same, without the faulty pieces.
 */
struct ast_file *ast_parse(struct arena *arena, struct map *names, const struct source *source,
                           struct errors *errors);

/* The one style. Only for files that parsed without errors. */
void ast_format(struct text *out, const struct ast_file *file);
/* One expression as the formatter would write it: for messages. */
void ast_print_expression(struct text *out, const struct ast_expression *expression);
/* An op's signature on one line: "softmax(x: T[*B, D]) -> (y: T[*B, D])". */
void ast_print_signature(struct text *out, const struct ast_op *op);

#endif
