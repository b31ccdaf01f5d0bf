/*
 * What the files of the row skeleton share. Private to the room.
 *
 * All stages of the group live on left axes (a row each) and reduced axes (along the row):
 *
 *     REDUCE   a value per row, from all elements of the row
 *     VALUE    a map of row values to a row value
 *     MAP      a value per element
 *     TOTAL    a reduction of everything to one value: first per row, then over the rows
 *     FINAL    a map of totals
 *
 * A row is gone over in passes: a reduction is in the first pass in which all row values it reads
 * are known, a map of elements likewise.
 */
#ifndef SMELT_SKELETON_ROW_H
#define SMELT_SKELETON_ROW_H

#include "skeleton/nest.h"
#include "skeleton/soon.h"

enum { ROW_MAX_STAGES = 64, ROW_MAX_UNROLL = 8, ROW_CHUNK = 16384 };

enum row_kind { ROW_REDUCE, ROW_VALUE, ROW_MAP, ROW_TOTAL, ROW_FINAL };

struct row_stage {
    const struct ir_stage *stage;
    enum row_kind kind;
    int pass;      /* REDUCE, MAP, TOTAL along the row: 1 and up; VALUE, TOTAL of rows: 0 */
    bool elements; /* TOTAL: of elements rather than rows */
    const struct loop_buffer *partial[2]; /* TOTAL, or REDUCE by chunks: values not yet combined */
    /* while its pass is written */
    struct loop_variable *sums[ROW_MAX_UNROLL], *places[ROW_MAX_UNROLL];
    struct loop_variable *totals[ROW_MAX_UNROLL]; /* of a long sum: see row_long.c; else NULL */
    struct loop_variable *odd; /* quick, of two components: lanes that saw a NaN */
    struct loop_variable *far; /* quick, of decays: the farthest below the maximum, or NULL */
    /* after its pass; per vector of rows side by side */
    loop_value results[ROW_MAX_UNROLL], result_places[ROW_MAX_UNROLL];
    struct loop_variable *found[2]; /* the same as variables, lanes along the row */
};

struct row_group {
    struct nest nest;
    struct nest_axes left, reduced;
    struct row_stage stages[ROW_MAX_STAGES];
    int stage_count, pass_count;
};

/* The group sorted out, or why it is none. */
bool row_group_init(struct row_group *row, const struct skeleton_group *group,
                    struct skeleton_reason *why_not);

/* The group at the sizes it is planned for. */
struct row_shape {
    struct row_group row;
    struct nest_chains left, reduced;
    int64_t rows, length, inner;
    int across; /* the left chain rows lie side by side along, or -1 */
    double bytes, operations;
    bool stores, heavy; /* elements are written; functions are computed more than once */
};
struct row_shape row_shape_of(const struct skeleton_group *group);
/* How many functions of mathematics a stage computes. */
int row_functions(const struct ir_stage *stage);

/* Entries of the skeleton's row (row_choose.c). */
void row_choose_open(const struct skeleton_group *group, struct skeleton_slots *slots);
bool row_choose_legal(const struct skeleton_group *group, const struct plan_group *plan,
                      struct skeleton_reason *why_not);
struct skeleton_cost row_choose_predict(const struct skeleton_group *group,
                                        const struct plan_group *plan);

struct row_lowering {
    const struct skeleton_group *group;
    const struct plan_group *plan;
    struct loop_kernel *kernel;
    struct arena *arena;
    struct row_group row;
    struct nest_chains left, reduced;
    struct skeleton_values values;
    int lanes, unroll;
    bool streaming, masks, reciprocal;
    bool brief; /* short code before fast code: for rows that are rare or not those planned for */
    bool quick; /* rows are taken to hold ordinary numbers: see row_quick.c */
    enum loop_kind kind; /* of the loops over rows */
    int vector;          /* the vector of rows that values are now made for */
    int64_t longest;     /* no row, or chunk of one, has more elements; 0: that is not known */
    /* while sums are long: elements of a piece, else 0; elements since sums were last put aside;
     * whether accumulators are rows of their own, and not folded */
    int64_t piece;
    struct loop_variable *since;
    bool apart;
    /* elements kept from one pass for a later one */
    const struct loop_buffer *kept;
    loop_value kept_value; /* what they are, in terms of the inner chain's variable */
    int kept_pass;
    /* what the first pass of a row will load is fetched so many rows before; 0: it is not */
    int rows_ahead;
    struct soon_loads soon;
    const struct loop_variable *row_counter; /* of the innermost loop over rows */
};

/* ---- row_reduce.c: accumulators ---- */

/* Two components: a value and where it was. */
bool row_is_indexed(const struct row_stage *stage);
/* Declares the accumulators: `vectors` of them. */
void row_sums_open(struct row_lowering *lowering, struct loop_block *block, struct row_stage *stage,
                   int vectors, int lanes);
/* The value, and of an indexed one the number along the row of the first of the vectors that are
 * added together, in 32 bits. `live`: lanes that count, or NULL. */
void row_sums_add(struct row_lowering *lowering, struct loop_block *block, struct row_stage *stage,
                  int vector, const loop_value *values, loop_value live);
/* i64 places of a vector whose lanes do not run along the row. */
loop_value row_place(struct row_lowering *lowering, const struct row_stage *stage, int vector);
/* All accumulators and their lanes as one value; of long sums without what was put aside... */
loop_value row_sums_join(struct row_lowering *lowering, const struct row_stage *stage, int vectors);
/* ...and with it. */
void row_sums_fold(struct row_lowering *lowering, struct loop_block *block, struct row_stage *stage,
                   int vectors, loop_value results[2]);

/* ---- row_long.c: sums too long for one accumulator ---- */

/* Where rows planned for have no long sums but others may, `together` elements added in one step:
 * whether a row has none, and in `*most` how many elements it has then at most. NULL: it makes no
 * difference. */
loop_value row_is_short(struct row_lowering *lowering, int64_t together, int64_t *most);
/* Before the accumulators of a pass are opened, `together` elements added in one step: whether its
 * sums may be long. `apart`: accumulators are rows of their own. */
void row_long_pass(struct row_lowering *lowering, struct loop_block *block, int pass,
                   int64_t together, bool apart);
/* The same for parts of one stage, as many as there may be. */
void row_long_parts(struct row_lowering *lowering, struct loop_block *block,
                    const struct row_stage *stage, int64_t together);
bool row_is_long(const struct row_lowering *lowering, const struct row_stage *stage);
/* Totals of the stage, where it is long: row_sums_open does this. */
void row_long_open(struct row_lowering *lowering, struct loop_block *block, struct row_stage *stage,
                   int vectors, int lanes);
/* A block for the accumulators to be put aside in, when they have taken a piece; then they take
 * `more` elements. NULL: sums are not long. */
struct loop_block *row_long_check(struct row_lowering *lowering, struct loop_block *block,
                                  loop_value more);
/* What they hold is added to the totals, and they begin anew. */
void row_long_aside(struct row_lowering *lowering, struct loop_block *block, int vectors);
/* from..to in pieces, in the block returned from `*from` to `*to`; `*aside` as above. */
struct loop_block *row_long_pieces(struct row_lowering *lowering, struct loop_block *block,
                                   loop_value *from, loop_value *to, struct loop_block **aside);
/* The sum with what was put aside before; the stage's totals are done with. */
loop_value row_long_sum(struct row_lowering *lowering, struct row_stage *stage, int vector,
                        loop_value sum);

/* ---- row_quick.c ---- */

/* How many passes, from the first on, can be done the quick way: 0 to 2. The loops over rows are
 * open. */
int row_quick_passes(struct row_lowering *lowering);
/* What is below the maximum of its row, of which the value is an exponential in the second of them:
 * then loop_decay of it is the same. NULL: it is no such value. */
loop_value row_quick_decay(struct row_lowering *lowering, loop_value value);
/* Whether a decay that is too far for it shows in the sum: AVX-512 scales by any power of 2. */
bool row_decay_is_whole(const struct row_lowering *lowering);
/* They are, and again with care where that was wrong. */
void row_quick(struct row_lowering *lowering, struct loop_block *block, int passes);

/* ---- row_ahead.c: rows fetched before their turn ---- */

/* How many rows ahead, for rows as long as those planned for. */
int row_ahead(const struct row_shape *shape);
/* Of `lines` lines that an iteration of each pass goes over: how many a pass fetches, and how many
 * passes before it do. */
struct row_share {
    int before, lines;
};
struct row_share row_fetch_share(const struct row_lowering *lowering, int pass, int lines);
/* The functions of mathematics that a pass computes of every element. */
int row_pass_functions(const struct row_group *row, int pass);

/* ---- row_pass.c: loops along the row ---- */

/* A pass along a whole row, and its row values. */
void row_pass(struct row_lowering *lowering, struct loop_block *block, int pass);

/* Everything of one pass along the row from..to, lanes along it; NULL: the whole row. */
void row_pass_along(struct row_lowering *lowering, struct loop_block *block, int pass,
                    loop_value from, loop_value to);
bool row_in_pass(const struct row_stage *stage, int pass);
/* What a stage combines or stores at the present point; and where it stores it. */
loop_value row_element(struct row_lowering *lowering, struct row_stage *stage);
loop_value row_offset(struct row_lowering *lowering, const struct ir_stage *ir, int write);
/* Divisions by what is the same for the whole row become products, when so decided. */
loop_value row_divide(struct row_lowering *lowering, loop_value value);
/* A row value, rounded as its tensor wants it. */
void row_stage_finish(struct row_lowering *lowering, struct loop_block *block,
                      struct row_stage *stage, int vectors);
/* Row values that are needed, and the row's part of totals, are stored. */
void row_store_values(struct row_lowering *lowering, struct loop_block *block, int vectors,
                      const struct nest_chain *across, loop_value from, loop_value count);

/* ---- row_finite.c ---- */

/* The values as they are in rows where what they are guarded against does not happen, and the
 * condition for it; NULL: they have no such guards. */
loop_value row_finite(struct arena *arena, const struct loop_variable *along, loop_value *values,
                      int count);

/* ---- row_across.c ---- */

/* All passes for vectors of rows side by side, from column `from` on. */
void row_across(struct row_lowering *lowering, struct loop_block *block,
                const struct nest_chain *across, int vectors, loop_value from, loop_value count);
loop_value row_resolve(void *context, struct skeleton_values *values, int tensor,
                       const loop_value *at);
/* The number of the row among all. */
loop_value row_number(struct row_lowering *lowering);

/* ---- row_columns.c ---- */

/* One pass with the accumulators of up to `most` rows side by side in memory. */
void row_columns(struct row_lowering *lowering, struct loop_block *block,
                 const struct nest_chain *chain, int64_t most);
/* The same where threads share the terms, not the columns; there are no other rows. */
void row_columns_split(struct row_lowering *lowering, struct loop_block *block,
                       const struct nest_chain *chain, int64_t most);

/* ---- row_total.c ---- */

/* Buffers for what is combined later; after the loops over rows, the function that does it. */
void row_totals_open(struct row_lowering *lowering);
void row_totals_finish(struct row_lowering *lowering);
/* Each pass a function of its own, rows cut into chunks that threads share. */
void row_split(struct row_lowering *lowering);
/* Opens the loops over rows, all but `except`, and binds their counters. */
struct loop_block *row_loops(struct row_lowering *lowering, struct loop_block *block,
                             const struct nest_chain *except);

#endif
