/*
 * contract: a sum of products as a product of matrices. Private to the contract_*.c files.
 *
 * The indices of the sum fall into four sets. M: on the left, only the first factor depends on it.
 * N: on the left, only the second does. K: summed over. BATCH: the rest, on the left. Each set is
 * counted through as one number; its indices are the digits.
 *
 * The last index of N runs in lanes, so that a vector is one place of the other N indices and
 * several places of the last: convolutions read and write rows of images then, whatever their
 * padding. Where the last indices are one in everything that is written, they may run in lanes
 * together, counted through: a vector is several rows of a small image then.
 *
 * A plan may have the factors change places (lanes rows: M and N are exchanged), or have the terms
 * run in lanes (lanes terms: each sum is a vector of partial sums, a column is no vector but one
 * element wide).
 */
#ifndef SMELT_SKELETON_CONTRACT_H
#define SMELT_SKELETON_CONTRACT_H

#include "skeleton/skeleton.h"

enum {
    CONTRACT_MAX_TERMS = 8,    /* a product of more is for `row` */
    CONTRACT_MAX_INDICES = 16, /* of one set */
    CONTRACT_MAX_AFTER = 32,   /* maps after the sum */
    CONTRACT_MAX_ROWS = 32,
    CONTRACT_MAX_VECTORS = 8,
    CONTRACT_MAX_SHARES = 256, /* of one product */
    CONTRACT_SPARE_TERMS = 1,  /* room after a panel of rows, for vectors wider than those */
};

enum contract_set {
    CONTRACT_BATCH,
    CONTRACT_M,
    CONTRACT_N,
    CONTRACT_K,
    CONTRACT_SETS,
    CONTRACT_NOWHERE = CONTRACT_SETS,
};

struct contract_term { /* of the product: multiplied, or divided by */
    int node;
    bool inverse;
    bool second; /* part of the factor that runs in lanes */
};

struct contract_indices {
    int at[CONTRACT_MAX_INDICES]; /* numbers in the part, outermost first */
    int count;
    double size; /* at the binding */
};

enum contract_factors {
    CONTRACT_WIDE,  /* as wide as what is summed, or computed */
    CONTRACT_BF16,  /* read from memory, and no more than bf16 */
    CONTRACT_BYTES, /* i8 or u8, read from memory; the sum is of integers */
};

struct contract {
    const struct skeleton_group *group;
    const struct ir_stage *stage; /* the sum */
    int tensor;                   /* what it defines */
    enum dtype dtype;             /* summed in */
    int element;                  /* bytes */
    struct contract_term terms[CONTRACT_MAX_TERMS];
    int term_count;
    bool negative;
    struct contract_indices sets[CONTRACT_SETS];
    const struct ir_stage *after[CONTRACT_MAX_AFTER]; /* maps of the group, in order */
    int after_count;
    bool columns_contiguous; /* the second factor is an element, lanes are neighbours */
    bool rows_contiguous;    /* the first factor is an element, terms are neighbours */
    bool rows_adjacent;      /* the same, rows are neighbours */
    bool terms_contiguous;   /* the second factor is an element, terms are neighbours */
    bool written_contiguous; /* lanes are neighbours in the sum */
    int mergeable;           /* last indices of N that are one in what is written: at least 1 */
    enum contract_factors factors;
    enum dtype row_dtype, column_dtype; /* BYTES: of the factors */
};

/* The instruction that a plan says, and how factors are taken apart for it. */
struct contract_choice {
    const struct machine_atom *atom; /* NULL: multiply-adds, lane by lane */
    int parts;                       /* of each factor */
    double rate;                     /* of the atom, per core and second */
};

/* contract_atom.c */
bool contract_find_factors(struct contract *contract, struct skeleton_reason *why_not);
/* Whether the machine has tiles for factors of this type. */
bool contract_has_tiles(const struct skeleton_group *group);
void contract_open_atoms(const struct skeleton_group *group, struct skeleton_slots *slots);
struct contract_choice contract_choose(const struct contract *contract,
                                       const struct plan_group *plan);
bool contract_choice_legal(const struct contract *contract, const struct plan_group *plan,
                           struct skeleton_reason *why_not);
/* Whether the tensor is computed where it is read. */
bool contract_is_inlined(const struct skeleton_group *group, int tensor);
int contract_tile_rows(const struct machine_atom *atom, int64_t rows);
int contract_tile_vectors(const struct machine_atom *atom, int64_t vectors);

/* What a plan decided, as numbers. */
struct contract_decisions {
    int lanes;
    bool along; /* terms run in lanes */
    int64_t rows, columns, block_m, block_n, block_k;
    int64_t vectors; /* of a tile; along: columns */
    bool pack_a, pack_b, merge, slices, serial, columns_shared, shares;
    int64_t split_m, split_n, split_k;
    struct contract_choice choice;
};

/* contract.c */
struct contract_decisions contract_decide(const struct contract *contract,
                                          const struct plan_group *plan);
const struct plan_slot *contract_slot(const char *key);
/* Whether a map after the sum divides. */
bool contract_divides_after(const struct skeleton_group *group);
bool contract_legal(const struct skeleton_group *group, const struct plan_group *plan,
                    struct skeleton_reason *why_not);
/* Vector registers that a tile's loop needs; tiles of the machine have registers of their own. */
int64_t contract_registers(const struct contract_decisions *d);

/* contract_cost.c */
struct skeleton_cost contract_predict(const struct skeleton_group *group,
                                      const struct plan_group *plan);
/* Vectors that all columns take when the last `merged` indices run in lanes together. */
double contract_vectors(const struct contract *contract, int merged, int lanes);
/* Whether rows, columns and terms are counted by one index each, the factors bare elements. */
bool contract_is_simple(const struct contract *contract);
/* Seconds of one product of that kind. */
double contract_simple_cost(const struct contract *contract, const struct contract_decisions *d);
/* The tile that wastes least on edges, on loads, on waiting. */
void contract_best_tile(const struct contract *contract, const struct contract_choice *choice,
                        int merged, int lanes, int *rows, int *vectors);

/* contract_seed.c */
int contract_seeds(const struct skeleton_group *group, struct plan_group *plans, int most);

void contract_lower(const struct skeleton_group *group, const struct plan_group *plan,
                    struct loop_kernel *kernel);

/* contract_merge.c */
int contract_mergeable(const struct contract *contract);
/* Whether node `number` has one of the indices anywhere in it. */
bool contract_mentions(const struct ir_part *part, const struct ir_nodes *nodes, int number,
                       const int *indices, int count);

/* contract_match.c */
/* The stages of the group after the first, which must be maps of what that defines. */
bool contract_add_maps(struct contract *contract, struct skeleton_reason *why_not);
bool contract_classify(const struct skeleton_group *group, struct contract *contract,
                       struct skeleton_reason *why_not);
/* The same with the factors where the plan has them. */
bool contract_classify_plan(const struct skeleton_group *group, const struct plan_group *plan,
                            struct contract *contract, struct skeleton_reason *why_not);

/* What the plan decided, and the sizes as expressions. */
struct contract_code {
    const struct contract *contract;
    struct arena *arena;
    struct loop_kernel *kernel;
    struct skeleton_values values;
    int lanes, rows, vectors;          /* of a tile: rows x vectors of lanes */
    int64_t block_m, block_n, block_k; /* rows, columns, terms */
    bool pack_a, pack_b;               /* copied into panels */
    bool slices;                       /* threads share out the batch, not the tiles */
    bool serial;                       /* one thread does all */
    bool whole_rows;                   /* rows are packed once, for all terms */
    bool rows_by_block;                /* rows are packed by the thread that has the block */
    bool along;                        /* terms run in lanes; `vectors` counts columns */
    bool shares;                       /* threads have shares, and panels of their own */
    int64_t split_m, split_n, split_k; /* shares of rows, columns, terms */
    bool streaming;                    /* results go past the caches */
    bool reciprocal;                   /* maps after divide by multiplying where they can */
    int merged;                        /* indices of N that run in lanes together */
    loop_value m, k;                   /* sizes of the sets */
    loop_value lane_extent;            /* of the indices that run in lanes */
    loop_value lane_blocks;            /* vectors it takes */
    loop_value vector_total;           /* all of N */
    loop_value row_panels, column_panels;
    const struct loop_buffer *a, *b, *partial;
    loop_value slice;                 /* number of the batch; NULL: panels are shared */
    loop_value column_terms;          /* room of a panel of columns; NULL: block_k */
    loop_value share;                 /* whose panels; NULL: there is one */
    loop_value room_a, room_b;        /* panels of rows and columns a share has room for */
    loop_value row_from, row_to;      /* panels of rows are packed and counted from; NULL: all */
    loop_value column_from;           /* panels of columns are counted from; NULL: from 0 */
    loop_value terms_from, terms_to;  /* of the share; NULL: all */
    loop_value part;                  /* which sums are put aside; NULL: there is one */
    const struct loop_variable *lane; /* stands for the index that runs in lanes */
    loop_value *done;                 /* per tensor: what a map of the group gave here */
    /* what is done with each result that is needed; NULL: it is stored as a vector */
    void (*store)(void *context, struct loop_block *block, int tensor, loop_value offset,
                  loop_value value);
    void *store_context;
    /* with an atom: factors are packed as words of small operands (contract_words.c) */
    const struct machine_atom *atom; /* NULL: none */
    int parts;                       /* of each factor */
    enum dtype row_dtype, column_dtype;
    loop_value row_length;                 /* operands a packed row has room for */
    const struct loop_buffer *column_sums; /* of bytes, for what rows were moved by */
    const struct loop_buffer *row_outside, *column_outside; /* in parts: 1 where that fails */
    /* terms for which a panel of columns stays in the first-level cache, and where the sums of the
     * machine's tiles wait meanwhile; 0: there are no more */
    int64_t piece;
    const struct loop_buffer *aside;
};

/* A panel of columns: which places its vectors stand for. */
struct contract_columns {
    loop_value outer[CONTRACT_MAX_VECTORS][CONTRACT_MAX_INDICES]; /* the other N indices */
    loop_value from[CONTRACT_MAX_VECTORS];                        /* first place of the lanes */
    loop_value count[CONTRACT_MAX_VECTORS];                       /* lanes that exist */
};

/* contract_values.c */
void contract_open_set(struct contract_code *code, struct loop_block *block, enum contract_set set,
                       loop_value number);
void contract_open_column(struct contract_code *code, struct loop_block *block, loop_value number,
                          struct contract_columns *columns, int slot);
void contract_open_columns(struct contract_code *code, struct loop_block *block, loop_value panel,
                           struct contract_columns *columns);
void contract_open_vector(struct contract_code *code, const struct contract_columns *columns,
                          int vector);
loop_value contract_factor(struct contract_code *code, bool second);
loop_value contract_row(struct contract_code *code, loop_value panel, loop_value row);
/* The place of N indices from `first` on, counted through by `number`. */
void contract_open_digits(struct contract_code *code, struct loop_block *block, const int *indices,
                          int count, loop_value number);

/* contract_inside.c */
/* Whether the second factor, a load, needs no guards in the panel, whatever the term. NULL: that is
 * not known, or it has none. The indices of terms are others then. */
loop_value contract_columns_inside(struct contract_code *code,
                                   const struct contract_columns *columns);

/* contract_pack.c */
enum loop_kind contract_shared_loop(const struct contract_code *code);
/* Whether the value is an element in memory, and the next one for the next value of the variable.
 */
bool contract_steps_by_one(loop_value value, const struct loop_variable *variable,
                           struct arena *arena);
/* As many vectors as they have lanes: a square turned over. */
void contract_transpose(struct contract_code *code, struct loop_block *block, loop_value *vectors);
int64_t contract_column_width(const struct contract_code *code); /* elements of a term, packed */
loop_value contract_row_place(struct contract_code *code, loop_value panel, loop_value term);
loop_value contract_column_place(struct contract_code *code, loop_value panel, loop_value term);
void contract_pack_columns(struct contract_code *code, struct loop_block *block, loop_value to,
                           loop_value first, loop_value terms);

/* contract_share.c: the loops around tiles, for all or for one thread each */
void contract_lower_tiles(struct contract_code *code, struct loop_block *block, loop_value first,
                          loop_value terms);
void contract_lower_shares(struct contract_code *code, struct loop_block *block);
struct loop_block *contract_terms_loop(struct contract_code *code, struct loop_block *block,
                                       loop_value *first, loop_value *terms);

struct contract_tile;
/* contract_along.c: terms in lanes */
void contract_along_pack(struct contract_code *code, struct loop_block *block, bool second,
                         loop_value panel, loop_value first, loop_value terms);
void contract_along_terms(struct contract_code *code, struct loop_block *block,
                          const struct contract_tile *tile, const struct loop_buffer *sums);
void contract_along_store(struct contract_code *code, struct loop_block *block,
                          const struct contract_tile *tile, const struct loop_buffer *sums);

struct contract_tile {
    loop_value row_panel, column_panel;
    loop_value first, terms; /* of the sum */
    /* what was found outside of the loop over rows; NULL: nothing, or terms run in lanes */
    const struct contract_columns *columns;
    /* the terms of the piece it is about; NULL: all */
    loop_value piece_from, piece_to;
};

/* contract_rows.c */
void contract_pack_rows(struct contract_code *code, struct loop_block *block, loop_value first,
                        loop_value terms);

/* contract_words.c: panels of words, and sums of their products */
/* What the choice changes of what was decided. */
void contract_words_open(struct contract_code *code, const struct contract_choice *choice);
/* Whether bytes of rows are moved by 128: the other type is multiplied. */
bool contract_rows_moved(const struct contract_code *code);
void contract_pack_row_words(struct contract_code *code, struct loop_block *block, loop_value first,
                             loop_value terms);
void contract_pack_column_words(struct contract_code *code, struct loop_block *block, loop_value to,
                                loop_value first, loop_value terms);
/* Rows are packed block by block, those of one thread after the other into the same place, or all
 * of them before: the number of a panel there. */
loop_value contract_row_number(struct contract_code *code, loop_value panel);
/* Places of words: of a row and term, of the tile of rows that begins with them, and of the first
 * column of a panel. */
loop_value contract_row_word(struct contract_code *code, loop_value panel, int part, loop_value row,
                             loop_value term);
loop_value contract_row_tile(struct contract_code *code, loop_value panel, int part, loop_value row,
                             loop_value term);
loop_value contract_column_word(struct contract_code *code, loop_value panel, int part,
                                loop_value term, int vector);
/* The sum of bytes of each column of a vector, over the block of terms. */
loop_value contract_column_sum(struct contract_code *code, loop_value panel, int vector);
/* Whether a factor of the tile cannot be taken apart. */
loop_value contract_is_outside(struct contract_code *code, const struct contract_tile *tile);
/* Sums of 32 bits as they go on: wider, and without what rows were moved by. */
void contract_widen_sums(struct contract_code *code, struct loop_block *block,
                         const struct contract_tile *tile, const struct loop_buffer *dots,
                         const struct loop_buffer *sums);
/* contract_tiles.c: the same as contract_word_terms by the machine's tiles. Around all tiles of a
 * thread stands what opens and closes the registers. */
void contract_tile_terms(struct contract_code *code, struct loop_block *block,
                         const struct contract_tile *tile, const struct loop_buffer *sums);
/* Terms of a piece, for what is decided so far. */
int64_t contract_tile_piece(const struct contract_code *code);
/* Whether the piece is the last of the block; NULL: there is one. */
loop_value contract_tile_last(struct contract_code *code, const struct contract_tile *tile);
void contract_tiles_begin(struct contract_code *code, struct loop_block *block);
void contract_tiles_end(struct contract_code *code, struct loop_block *block);
/* contract_dot.c: the sums of a block of terms, from nothing. */
void contract_word_terms(struct contract_code *code, struct loop_block *block,
                         const struct contract_tile *tile, const struct loop_buffer *sums);

/* contract_tile.c: one tile of rows x columns over a block of the sum */
void contract_tile(struct contract_code *code, struct loop_block *block,
                   const struct contract_tile *tile);
/* The sums that shares of the terms put aside, added up and finished. */
void contract_tile_join(struct contract_code *code, struct loop_block *block,
                        const struct contract_tile *tile);
/* The maps after the sum, and what is needed of them stored, for one vector of a row. */
void contract_finish(struct contract_code *code, struct loop_block *block, loop_value sum,
                     const struct skeleton_lanes *lanes);

#endif
