/*
 * Plans of a task measured once, so that searches can be replayed on them: hundreds of runs, and
 * no kernel is compiled. A replay may try what is in the table and nothing else.
 *
 * The text form has the task itself in it, so a table needs no other file:
 *
 *     smelt table 2
 *     machine 3f2a9c0d11e07b52
 *     target avx512 1 32768 1048576 16777216 1.1e+11 1e+10 6e+10 0 0 0 0
 *     threads 1
 *     task
 *         op softmax...
 *     end
 *     plan ok 19.1 83.5 19.09 instruction
 *         plan cpu avx512
 *         ...
 *     end
 *
 * After `target`: what plans could use where they were measured, so that they are legal, and
 * predicted alike, wherever the table is replayed (struct skeleton_target: its name, streaming, the
 * caches, the three rates, the atoms). After `plan`: outcome, speed-up, microseconds, floor,
 * diagnosis.
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
    const struct plan *bound; /* once bound: the plan itself */
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

/* Reads the plans as plans of the program; how many still are. */
int table_bind(struct arena *arena, struct table *table, const struct skeleton_program *program);
/* For search_options: the context is the table. */
bool table_judge(void *table, struct arena *arena, const struct source *const *kernels,
                 struct plan *const *plans, int count, bool finalists,
                 struct search_judgement *judgements, struct error *error);
bool table_allows(void *table, const char *hash);
/* Experts are asked once about each plan; of the answers those are kept that are in the table. Of
 * one who guesses (tuning) many guesses are kept, and some of them drawn each time. */
int table_propose(void *table, int expert, const struct propose_view *view,
                  struct proposal *proposals, int most);

#endif
