/*
 * Plans of a task measured once, so that searches can be replayed on them: hundreds of runs, and
 * no kernel is compiled. A replay may try what is in the table and nothing else.
 *
 * The text form has the task itself in it, so a table needs no other file:
 *
 *     smelt table 3
 *     machine 3f2a9c0d11e07b52
 *     target avx512 1 32768 1048576 16777216 1.1e+11 1e+10 6e+10 0 0 0 0
 *     threads 1
 *     task
 *         op softmax...
 *     end
 *     plan ok 19.1 83.5 19.09 instruction
     evidence 12.5 40.1 812 2 60 4 256 12 0 0 0 0
 *         plan cpu avx512
 *         ...
 *     end
 *
 * After `target`: what plans could use where they were measured, so that they are legal, and
 * predicted alike, wherever the table is replayed (struct skeleton_target: its name, streaming, the
 * caches, the three rates, the atoms). After `plan`: outcome, speed-up, microseconds, floor,
 * diagnosis. After `evidence`, which may be missing: what the diagnosis was made of, so that
 another
 * way to make one can be tried without measuring again: microseconds its bytes and its operations
 * take, and of its innermost loops what struct binary_facts counts (bytes of code, loops, vector
 * and scalar instructions, widest vectors, multiply-adds, spills, gathers, divisions, calls).
 * Tables of version 2 have none.
 */
#ifndef SMELT_SEARCH_TABLE_H
#define SMELT_SEARCH_TABLE_H

#include "search/search.h"

enum { TABLE_BYTES = 64 << 20, TABLE_ROWS = 100000 };

struct table_row {
    const char *plan; /* its text */
    enum outcome outcome;
    double fitness, microseconds, floor;
    enum diagnosis_class diagnosis;
    double memory, compute;     /* microseconds its bytes and operations take; 0: not known */
    struct binary_facts binary; /* read: its counts are known */
    /* once bound */
    const struct plan *bound;
    const struct diagnosis *found; /* from the evidence, where there is some */
};

struct table {
    const char *machine, *task;    /* its id; the text of the task */
    struct skeleton_target target; /* with the threads kernels were given */
    struct table_rows VECTOR(struct table_row) rows;
    /* once bound */
    const struct skeleton_program *program;
    struct map by_hash; /* of a plan -> row */
    struct arena *arena;
    struct map answers; /* of experts, about the plans of the table */
    double best;        /* fitness */
};

void table_print(struct text *out, const struct table *table);
/* NULL: it is no table, and error says where. */
struct table *table_parse(struct arena *arena, const struct source *source, struct error *error);

/* The evidence of a row; what is in the diagnosis and the verdict of a search. */
void table_evidence(struct table_row *row, const struct diagnosis *diagnosis,
                    const struct binary_facts *binary);
/* Reads the plans as plans of the program; how many still are. */
int table_bind(struct arena *arena, struct table *table, const struct skeleton_program *program);
/* For search_options: the context is the table. */
bool table_judge(void *table, struct arena *arena, const struct source *const *kernels,
                 struct plan *const *plans, int count, enum search_care care,
                 struct search_judgement *judgements, struct error *error);
bool table_allows(void *table, const char *hash);
/* The plan with the same groups and skeletons that decides most things as this one does. */
const char *table_nearest(void *table, const struct plan *plan);
/* Experts are asked once about each plan; of the answers those are kept that are in the table. Of
 * one who guesses (tuning) many guesses are kept, and some of them drawn each time. */
int table_propose(void *table, int expert, const struct propose_view *view,
                  struct proposal *proposals, int most);

#endif
