/*
 * A plan: every decision of *how*, none of *what*. Text that people edit, hash and diff.
 *
 *     plan cpu avx512
 *     rewrite hoist s                  # the op is computed another way first
 *     fix R=3 S=3                      # the kernel is for these sizes only, and knows them
 *     inline t                         # a map computed where it is read
 *     group rows = m s y   skeleton row
 *         threads 2
 *         lanes   16
 *         keep    e
 *
 * The stages are those of the flat program (ir_flatten: calls written out), named after the tensor
 * they define: `y`, a second one `y.2`. Each stage is in one group or inlined. Groups run in order.
 * Rewrites come first: each names a stage as the ones before it left the program, and everything
 * below them is about the program they make (src/ir/rewrite.h).
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

enum {
    PLAN_MAX_GROUPS = 4096,
    PLAN_MAX_DECISIONS = 64,
    PLAN_MAX_REWRITES = 16,
    PLAN_MAX_BYTES = 1 << 20,
};

/* A value is a word; numbers are words of digits. On the arena. */
struct plan_decision {
    const char *key, *value;
    struct place place; /* where it was written; nowhere when nobody wrote it */
};

struct plan_group {
    const char *name;
    const int *stages; /* of the flat part, ascending */
    int stage_count;
    const char *skeleton;
    struct plan_decision *decisions; /* in the order of the skeleton's slots */
    int decision_count;
    struct place place; /* of its line */
    struct place skeleton_place;
};

struct plan_fix { /* a size the kernel is made for */
    int symbol;
    int64_t value;
};

struct plan_rewrite {
    const char *name, *stage; /* of ir_rewrites; as stages are named before it */
    int64_t number;           /* 0: it takes none */
    struct place place;
};

struct plan {
    const char *target, *machine; /* "cpu", "avx512" */
    const struct plan_rewrite *rewrites;
    int rewrite_count;
    const struct ir_graph *graph; /* what they make of the program; NULL: what the program is */
    const struct plan_fix *fixes;
    int fix_count;
    const int *inlined; /* stages */
    int inlined_count;
    struct plan_group *groups;
    int group_count;
    struct place place; /* of its first line */
    struct place inline_place;
};

/* What may be decided: filled in by a skeleton for a group. */
struct plan_slot {
    const char *key;
    const char *note;          /* one line for people: what it decides */
    const char *const *values; /* in an order in which neighbours are alike */
    int value_count;
    int seed; /* the value to start from */
};

struct plan_slots VECTOR(struct plan_slot);

/* ---- text (text.c, parse.c). `graph` is the program's own, as nothing rewrites it ---- */
void plan_print(struct text *out, const struct plan *plan, const struct ir_graph *graph);
/*
 * Reads a plan for this flat part: every stage in one group or inlined, each key once. What is
 * misspelt gets a caret and the nearest name. Whether it can be is the skeletons' to say.
 */
struct plan *plan_parse(struct arena *arena, const struct source *source,
                        const struct ir_graph *graph, struct errors *errors);
/* Equal for plans that say the same, whatever names and order they were written with. */
void plan_hash(const struct plan *plan, const struct ir_graph *graph, char hex[65]);

/* ---- decisions (plan.c) ---- */
const char *plan_get(const struct plan_group *group, const char *key); /* NULL: not decided */
int64_t plan_number(const struct plan_group *group, const char *key, int64_t otherwise);
bool plan_is(const struct plan_group *group, const char *key, const char *value);
struct plan *plan_copy(struct arena *arena, const struct plan *plan);
/* A copy that needs nothing of what it was copied from, except for the graph: its words are those
 * of the map. */
struct plan *plan_keep(struct arena *arena, struct map *words, const struct plan *plan);
void plan_set(struct arena *arena, struct plan_group *group, const char *key, const char *value);
/* A name for a group that no other has: `wanted`, or with a number behind. */
const char *plan_group_name(struct arena *arena, const struct plan *plan, const char *wanted);

/* ---- rewrites (rewrite.c) ---- */

/* The program after one more rewrite. NULL: it cannot be, and the reason. */
const struct ir_graph *plan_rewrite(struct arena *arena, const struct ir_graph *graph,
                                    const struct plan_rewrite *rewrite, struct error *error);
/* Whether two plans are about the same program: the same rewrites in the same order. */
bool plan_rewrites_equal(const struct plan *a, const struct plan *b);
/* Whether two plans of one program differ in decisions only: the same rewrites, the same skeletons
 * for the same stages. */
bool plan_kinds_equal(const struct plan *a, const struct plan *b);

/* ---- pins (pin.c): what a person wants of decisions, and the search keeps to ---- */

enum plan_pin_kind {
    PLAN_PIN_FIX,    /* rows.lanes=8 */
    PLAN_PIN_RANGE,  /* rows.lanes<=8, rows.lanes>=4: numbers */
    PLAN_PIN_PREFER, /* rows.lanes~8: start from it */
    PLAN_PIN_FORBID, /* rows.lanes!=8 */
};

struct plan_pin {
    enum plan_pin_kind kind;
    const char *place; /* GROUP.KEY: a name, or a stage of the group, or "*"; the key may be
                          "skeleton". Both may have dots */
    const char *value;
    int64_t low, high; /* RANGE */
};

struct plan_pins VECTOR(struct plan_pin);

/* Reads one pin. */
bool plan_pin_parse(struct arena *arena, const char *text, struct plan_pin *pin,
                    struct error *error);
/* Whether the pin speaks of this decision of the group. */
bool plan_pin_concerns(const struct plan_pin *pin, const struct plan_group *group,
                       const struct ir_graph *graph, const char *key);
/* Whether the pins allow this value of a group's decision. */
bool plan_pins_allow(const struct plan_pins *pins, const struct plan_group *group,
                     const struct ir_graph *graph, const char *key, const char *value);
/*
 * Takes from a group's slots the values that pins exclude; the seed moves to what is fixed,
 * preferred or nearest. False when nothing is left of a slot: *which says of which pin's.
 */
bool plan_pins_apply(struct arena *arena, const struct plan_pins *pins,
                     const struct plan_group *group, const struct ir_graph *graph,
                     struct plan_slots *slots, const struct plan_pin **which);

/* ---- change (mutate.c) ---- */

/* What the skeletons know, asked for while a plan changes. All of it keeps to the pins. */
struct plan_space {
    const struct ir_graph *graph;
    struct arena *arena;
    void *context;
    /* The slots of a group. */
    void (*open)(void *context, const struct plan *plan, int group, struct plan_slots *slots);
    /* Gives a group of new stages a skeleton and decisions that fit. False: none does. */
    bool (*fill)(void *context, struct plan *plan, int group);
    bool (*can_inline)(void *context, int stage);
    bool (*legal)(void *context, struct plan *plan); /* fills in what is open */
};

/* A legal neighbour of the plan: one decision moved to a value near by, another skeleton, two
 * groups made one, one made two, a map inlined or not. NULL: none was found in many tries. */
struct plan *plan_mutate(const struct plan_space *space, struct random *random,
                         const struct plan *plan);

enum plan_change { /* kinds of steps, a mask */
                   PLAN_CHANGE_DECISION = 1,
                   PLAN_CHANGE_SKELETON = 2,
                   PLAN_CHANGE_GROUPS = 4, /* merged, split, a map inlined or not */
                   PLAN_CHANGE_ANY = 7,
};

/* The same by steps of these kinds only. */
struct plan *plan_change(const struct plan_space *space, struct random *random,
                         const struct plan *plan, unsigned kinds);
/* A legal plan with groups and decisions of both; NULL: none was found. */
struct plan *plan_cross(const struct plan_space *space, struct random *random, const struct plan *a,
                        const struct plan *b);

#endif
