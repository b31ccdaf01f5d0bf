/*
 * What printer and parser of the text form share: the words that stand for enum values; and the
 * parser's state, which is used by text_lex.c (tokens and sizes), text_parse.c (declarations),
 * text_stage.c (stages and nodes) and text_check.c (what must hold).
 */
#ifndef SMELT_IR_TEXT_H
#define SMELT_IR_TEXT_H

#include "ir/ir.h"

/* ---- words ---- */

struct ir_text_monoid {
    const char *name;
    enum ir_monoid_kind kind;
    int width;
};

/* A built-in monoid by name, or with name NULL by kind. NULL when there is none. */
const struct ir_text_monoid *ir_text_monoid(const char *name, enum ir_monoid_kind kind);

struct ir_text_property {
    const char *name;
    unsigned bit;
    bool bounded;
};

enum { IR_TEXT_PROPERTY_COUNT = 5 };
extern const struct ir_text_property IR_TEXT_PROPERTIES[IR_TEXT_PROPERTY_COUNT];

/* Whether a node of this operation is written with its type, because nothing else tells it. */
bool ir_text_typed(enum ir_op op);

/* What a bare name is made of; a dot may stand between such characters. */
bool ir_text_word(int character);

/* ---- reading ---- */

enum { /* the most of each thing that is read */
       IR_TEXT_BYTES = 64 << 20,
       IR_TEXT_NAME = 200,        /* characters of a name */
       IR_TEXT_ITEMS = 1 << 16,   /* parts, or symbols, tensors, facts... of a part */
       IR_TEXT_INDICES = 1 << 20, /* of a part, over all its stages */
       IR_TEXT_NODES = 1 << 20,   /* of one list */
       IR_TEXT_WIDTH = 64,        /* of a monoid */
       IR_TEXT_LOOPS = 16,        /* loops within loops */
       IR_TEXT_DEPTH = 200,       /* of a size: operations within operations */
};

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_NODE, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    struct place place;
    const char *text; /* the name without its suffix, or the number, or the sign */
    char suffix;      /* of a name: '#', '@' or 0 */
    bool quoted;      /* a name that is no keyword whatever it says */
    int number;       /* of a node, or after the suffix */
};

enum tensor_state { TENSOR_DEFINED = 1, TENSOR_CARRIED = 2 };

/* What a node depends on. */
struct node_needs {
    int position; /* the last of the stage's own indices, or -1 */
    bool reads, params;
};

struct reader {
    struct arena *arena;
    const struct source *source;
    struct error *error;
    size_t offset; /* behind the token */
    struct token token;
    struct map names; /* the one copy of each word */

    struct part_list VECTOR(const struct ir_part *) parts;
    struct map part_names;
    struct monoid_list VECTOR(struct ir_monoid *) monoids;

    /* the part that is being read */
    struct ir_part *part;
    struct map types, symbols, scalars, tensors, families; /* name -> number + 1, as a pointer */
    struct type_list VECTOR(struct ir_type) type_list;
    struct symbol_list VECTOR(struct ir_symbol) symbol_list;
    struct family_list VECTOR(struct ir_family) family_list;
    struct scalar_list VECTOR(struct ir_scalar) scalar_list;
    struct fact_list VECTOR(struct ir_fact) fact_list;
    struct tensor_list VECTOR(struct ir_tensor) tensor_list;
    struct state_list VECTOR(unsigned char) states; /* one enum tensor_state set per tensor */
    struct mark_list VECTOR(unsigned) marks; /* per tensor: the last stamp that was put on it */
    unsigned stamp;
    struct index_list VECTOR(struct ir_index) index_list;

    /* the stage or monoid that is being read */
    struct scope_list VECTOR(int) scope; /* indices of the loops around, then of the stage */
    size_t scope_outer;                  /* how many are of loops */
    int loops;
    struct node_list VECTOR(struct ir_node) nodes;
    struct needs_list VECTOR(struct node_needs) needs;
    const struct ir_monoid *monoid; /* when its body is being read */
    bool constant;                  /* arguments of a call: no reads, no indices */
};

#define reader_fail(r, code, ...) error_at((r)->error, ERROR_##code, (r)->token.place, __VA_ARGS__)
#define reader_fail_at(r, code, place, ...) error_at((r)->error, ERROR_##code, (place), __VA_ARGS__)

/* Reads the next token into reader->token. */
bool reader_next(struct reader *r);
/* Whether the token is this sign or this bare word. */
bool reader_is(const struct reader *r, const char *text);
/* Passes it if it is there; *found may be NULL, then it must be there. */
bool reader_skip(struct reader *r, const char *text, bool *found);
bool reader_name(struct reader *r, const char **name); /* without suffix */
bool reader_type(struct reader *r, enum dtype *dtype);
bool reader_integer(struct reader *r, int64_t *value);
bool reader_count(struct reader *r, int64_t low, int64_t high, int *value);
bool reader_number(struct reader *r, double *value);
bool reader_size(struct reader *r, const struct ir_size **size);
/* A new name: *map gets number + 1 under it; an error when it was there already. */
bool reader_declare(struct reader *r, struct map *map, size_t number, const char *what,
                    const char **name);
/* A name that must be known. */
bool reader_look_up(struct reader *r, const struct map *map, const char *what, int *number);
bool reader_tensor(struct reader *r, int *tensor);
/* Fails when one more would be above the maximum. */
bool reader_room(struct reader *r, size_t count, size_t most, const char *what);

/* `(a, b)`: tensors into an array of the arena. */
bool reader_tensors(struct reader *r, const int **tensors, int *count);
bool reader_nodes(struct reader *r, struct ir_nodes *nodes);
bool reader_node(struct reader *r, int *node); /* %3: must stand before */
bool reader_node_list(struct reader *r, const char *open, const char *close, const int **nodes,
                      int *count);
bool reader_stages(struct reader *r, struct ir_stage **stages, int *count);

/* Whether two types belong together: both float, both integer, both bool. */
bool check_kinds(enum dtype a, enum dtype b);
bool check_node(struct reader *r, const struct ir_node *node, struct place place);
struct node_needs check_needs(const struct reader *r, const struct ir_node *node);
bool reader_check_monoid(struct reader *r, const struct ir_monoid *monoid, struct place place);
bool check_computation(struct reader *r, const struct ir_stage *stage);
bool reader_check_call(struct reader *r, const struct ir_stage *stage);
bool check_carries(struct reader *r, const struct ir_stage *stage);
bool check_part(struct reader *r);

#endif
