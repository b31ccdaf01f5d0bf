/*
 * The normal form of a size: a sum of products of atoms, so that equal sizes print equally whatever
 * way they were written. For telling parts apart, not for proofs (those are in prove.c): what grows
 * too large is replaced by an atom named after its hash, which keeps equal things equal.
 */
#ifndef SMELT_IR_NORMAL_H
#define SMELT_IR_NORMAL_H

#include "ir/ir.h"

enum {
    NORMAL_TERMS = 32,
    NORMAL_DEGREE = 6,
    NORMAL_TEXT = 400, /* bytes of a printed form; longer ones are named by their hash */
};

struct normal_term {
    int64_t factor;
    int degree;
    int atoms[NORMAL_DEGREE]; /* ascending */
};

struct normal { /* terms sorted, no two alike, no zero factors; the constant is last */
    int count;
    const struct normal_term *terms;
};

/* Knows the atoms: what was made with one context may be combined and compared. */
struct normals {
    struct arena *arena;
    struct map atoms; /* text -> number + 1 */
};

struct normals normals_new(struct arena *arena);
/* An unknown by its name; the same name is the same unknown. */
const struct normal *normal_atom(struct normals *normals, const char *name);
/* The size with values[i] in place of symbol i. */
const struct normal *normal_size(struct normals *normals, const struct ir_size *size,
                                 const struct normal *const *values);
void normal_print(struct text *out, const struct normals *normals, const struct normal *normal);

#endif
