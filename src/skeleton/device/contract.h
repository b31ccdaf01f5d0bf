/*
 * contract on devices. A block of threads computes a tile of the product: both factors come
 * through shared memory, `tile.k` terms at a time, and every thread keeps `thread.m` x `thread.n`
 * sums in registers. While terms are multiplied, the next ones are on their way.
 *
 *     rows[stage][term][row], columns[stage][term][column]       shared memory
 *     for tiles of terms
 *         fetch the next tile into registers                      (contract_bring.c)
 *         for terms of this one
 *             quads of rows and of columns from shared memory; thread.m x thread.n multiply-adds
 *         put what was fetched into the other stage
 *         barrier
 *     the maps that follow, and stores                            (contract_finish.c)
 *
 * Lanes of a warp are lanes_m x lanes_n, each with quads side by side, so that what a warp reads
 * from shared memory at once lies in different banks.
 */
#ifndef SMELT_SKELETON_DEVICE_CONTRACT_H
#define SMELT_SKELETON_DEVICE_CONTRACT_H

#include "skeleton/contract.h"

enum {
    BLOCKS_MAX_LOADS = 32,   /* of a thread, per tile of a factor */
    BLOCKS_MAX_COLUMNS = 16, /* of a thread */
    BLOCKS_WARP = 32,
    BLOCKS_MOST_THREADS = 1024,
    BLOCKS_WIDE = 16, /* bytes that are moved at once */
    BLOCKS_MAX_DIFFERENCES = 4,
};

/* Terms that the sum leaves out: those for which a difference is below 0. */
enum { BLOCKS_ROW, BLOCKS_COLUMN, BLOCKS_TERM };
struct blocks_leave {
    int count;                                /* 0: there are none */
    const struct loop_variable *variables[3]; /* stand for row, column and term */
    loop_value differences[BLOCKS_MAX_DIFFERENCES];
    int64_t steps[BLOCKS_MAX_DIFFERENCES][3]; /* how each changes with them; with the term by 1 */
};

/* What a plan decided, as numbers. */
struct blocks_decisions {
    int tile_m, tile_n, tile_k;
    int thread_m, thread_n;
    int stages;   /* of shared memory: 1, 2 */
    int vector;   /* elements read from memory at once, at most */
    int pad;      /* elements between terms of a factor that is turned over */
    int raster;   /* rows of tiles that are worked on together */
    int resident; /* blocks a multiprocessor should hold */
    int split;    /* shares of the terms */
    bool pack_a, pack_b;
    bool nested; /* one index of the terms is cut into tiles, the others are loops around it */
    /* what follows from them */
    int threads;
    int lanes_m, lanes_n; /* of a warp */
    int quad_m, quad_n;   /* side by side in a thread */
};

/* How the threads of a block bring a tile of a factor into shared memory. */
struct blocks_bring {
    bool second;
    bool packed;
    bool along;       /* neighbours are terms; else they are rows or columns */
    int span;         /* rows or columns of a tile */
    int vector;       /* elements read at once; more than 1: of one tensor, as they are */
    int stride;       /* of terms in shared memory */
    int groups;       /* vectors side by side along what neighbours are */
    int loads;        /* vectors of a thread */
    int active;       /* threads that bring something */
    enum dtype dtype; /* as fetched */
    int tensor;       /* vector > 1 and not packed */
    loop_value place[BLOCKS_MAX_LOADS]; /* row or column of the tile, per load */
    loop_value term[BLOCKS_MAX_LOADS];  /* of the tile */
    loop_value digits[BLOCKS_MAX_LOADS][CONTRACT_MAX_INDICES]; /* what the place means */
    loop_value aligned;                                        /* vectors can be read as such */
    const struct loop_buffer *shared, *held, *panel;
};

struct blocks_code {
    struct contract_code code; /* indices and values */
    const struct contract *contract;
    struct arena *arena;
    struct blocks_decisions d;
    loop_value thread;
    loop_value m, n, k; /* sizes; nested: k is that of the index which is cut */
    loop_value batch;   /* 1: there is none */
    loop_value row_tiles, column_tiles, term_tiles;
    loop_value slice, share; /* of the batch, of the terms */
    loop_value row_first, column_first;
    loop_value row, column;     /* of the tile: this thread's first */
    int cut;                    /* nested: number of the index in K */
    struct loop_variable *term; /* first term of the tile that is fetched next */
    struct loop_variable *tile; /* its number */
    struct loop_variable *outer[CONTRACT_MAX_INDICES]; /* nested: the other indices of K */
    struct blocks_bring bring[2];
    struct blocks_leave leave;
    const struct loop_buffer *sums, *partial;
};

/* contract.c */
extern const struct skeleton skeleton_device_contract;
struct blocks_decisions blocks_decide(const struct contract *contract,
                                      const struct plan_group *plan);
/* How a factor is brought, so far as the plan says. */
struct blocks_bring blocks_bring_of(const struct contract *contract,
                                    const struct blocks_decisions *d, bool second);
/* Exact. */
int64_t blocks_shared_bytes(const struct contract *contract, const struct blocks_decisions *d);
/* At least what compilers take, as far as seen. */
int blocks_registers(const struct contract *contract, const struct blocks_decisions *d);
/* The index of K that is cut into tiles when they are nested: the longest. */
int blocks_cut(const struct contract *contract);

/* contract_seed.c */
struct skeleton_cost blocks_predict(const struct skeleton_group *group,
                                    const struct plan_group *plan);
int blocks_seeds(const struct skeleton_group *group, struct plan_group *plans, int most);

/* contract_bring.c */
void blocks_bring_open(struct blocks_code *code, struct loop_block *block,
                       struct blocks_bring *bring);
void blocks_bring_fetch(struct blocks_code *code, struct loop_block *block,
                        const struct blocks_bring *bring);
void blocks_bring_put(struct blocks_code *code, struct loop_block *block,
                      const struct blocks_bring *bring, loop_value stage);
/* A factor copied once, in the order in which tiles read it. */
void blocks_pack(struct blocks_code *code, struct blocks_bring *bring, const char *name);

/* contract_lower.c */
void blocks_lower(const struct skeleton_group *group, const struct plan_group *plan,
                  struct loop_kernel *kernel);
/* Sizes of sets, for buffers and launches. */
const struct ir_size *blocks_size(const struct blocks_code *code, enum contract_set set);
const struct ir_size *blocks_ceil(const struct blocks_code *code, const struct ir_size *size,
                                  int64_t by);
const struct ir_size *blocks_term_tiles(const struct blocks_code *code);
/* The terms of tile number `tile` are open from here on: `term` and `outer`. */
void blocks_open_terms(struct blocks_code *code, struct loop_block *block, loop_value tile);
/* The indices of K for term `term` of the tile that is open. */
void blocks_open_term(struct blocks_code *code, struct loop_block *block, loop_value term);

/* contract_leave.c */
/* Whether the terms that the sum leaves out can be told tile by tile, or why not. */
bool blocks_leave_fits(const struct contract *contract, struct skeleton_reason *why_not);
/* The same, where the indices of BATCH are open; the others are, as what stands for them. */
bool blocks_leave_of(const struct contract *contract, struct skeleton_values *values,
                     struct blocks_leave *leave, struct skeleton_reason *why_not);
/* The tiles of terms of which the block needs any; as they are where no terms are left out. */
void blocks_leave_range(struct blocks_code *code, struct loop_block *block, loop_value *from,
                        loop_value *to);
/* Whether a tile of terms is needed whole. */
loop_value blocks_leave_none(struct blocks_code *code, loop_value first_term);
/* Whether this term is part of that sum. */
loop_value blocks_leave_keeps(struct blocks_code *code, loop_value row, loop_value column,
                              loop_value term);

/* contract_finish.c */
void blocks_finish(struct blocks_code *code, struct loop_block *block);
/* Sums of shares of the terms, added up and finished. */
void blocks_join(struct blocks_code *code, const char *name);

#endif
