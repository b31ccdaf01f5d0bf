/*
 * A plan: every decision of *how*, none of *what*. Text that people edit, hash and diff.
 *
 *     plan cpu avx512
 *     fix R=3 S=3                      # the kernel is for these sizes only, and knows them
 *     inline t                         # a map computed where it is read
 *     group rows = m s y   skeleton row
 *         threads 2
 *         lanes   16
 *         keep    e
 *
 * The stages are those of the flat program (ir_flatten: calls written out), named after the tensor
 * they define: `y`, a second one `y.2`. Each stage is in one group or inlined. Groups run in order.
 *
 * A group's decisions are a flat list of key and value. Which keys there are, what values they may
 * have and whether a set of values is legal is the skeleton's to say (src/skeleton); this room
 * knows only slots: a key with a list of values. So parsing, printing, hashing, mutation, crossover
 * and pins are the same for all.
 */
#ifndef SMELT_PLAN_PLAN_H
#define SMELT_PLAN_PLAN_H

#include "base/base.h"
#include "ir/ir.h"

enum { PLAN_MAX_GROUPS = 4096, PLAN_MAX_DECISIONS = 64, PLAN_MAX_BYTES = 1 << 20 };

/* A value is a word; numbers are words of digits. Interned on the arena. */
struct plan_decision {
    const char *key, *value;
};

struct plan_group {
    const char *name;
    const int *stages; /* of the flat part, ascending */
    int stage_count;
    const char *skeleton;
    struct plan_decision *decisions; /* in the order of the skeleton's slots */
    int decision_count;
};

struct plan_fix { /* a size the kernel is made for */
    int symbol;
    int64_t value;
};

struct plan {
    const char *target, *machine; /* "cpu", "avx512" */
    const struct plan_fix *fixes;
    int fix_count;
    const int *inlined; /* stages */
    int inlined_count;
    struct plan_group *groups;
    int group_count;
};

/* What may be decided: filled in by a skeleton for a group. */
struct plan_slot {
    const char *key;
    const char *note;          /* one line for people: what it decides */
    const char *const *values; /* in an order in which neighbours are alike */
    int value_count;
    int seed; /* the value to start from */
};

/* ---- text (text.c) ---- */
void plan_print(struct text *out, const struct plan *plan, const struct ir_part *part);
/* Reads a plan for this flat part. What is misspelt gets a caret and the nearest name. */
struct plan *plan_parse(struct arena *arena, const struct source *source,
                        const struct ir_part *part, struct errors *errors);
/* Equal for plans that say the same, whatever names and order they were written with. */
struct hash plan_hash(const struct plan *plan, const struct ir_part *part);

/* ---- decisions ---- */
const char *plan_get(const struct plan_group *group, const char *key); /* NULL: not decided */
int64_t plan_number(const struct plan_group *group, const char *key, int64_t otherwise);
bool plan_is(const struct plan_group *group, const char *key, const char *value);
struct plan *plan_copy(struct arena *arena, const struct plan *plan);
void plan_set(struct arena *arena, struct plan_group *group, const char *key, const char *value);

#endif
