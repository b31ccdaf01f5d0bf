/*
 * Private to poly.c and prove.c: what a prover knows.
 */
#ifndef SMELT_IR_PROVER_H
#define SMELT_IR_PROVER_H

#include "ir/prove.h"

enum atom_kind { ATOM_SYMBOL, ATOM_INDEX, ATOM_OPAQUE, ATOM_DIVIDE, ATOM_LEAST, ATOM_GREATEST };

struct atom {
    enum atom_kind kind;
    int number;
    const struct poly *a, *b;
    bool not_negative;
    size_t learned; /* the number of facts that made it not negative; 0: it always was */
};

struct atoms VECTOR(struct atom);
struct facts VECTOR(const struct poly *);

struct prover {
    struct arena *arena;
    const struct ir_part *part;
    const int64_t *values;
    struct atoms atoms;
    struct facts facts;
    const struct poly **lets; /* by symbol, without values: what each let is, or NULL */
    int effort;               /* steps left in the current search */
    bool apart;               /* the search also takes divisions and choices apart */
};

/* ---- polynomials (poly.c) ---- */

/* Zero, with room for `count` terms. */
struct poly *poly_alloc(struct prover *prover, int count);
const struct poly *poly_atom(struct prover *prover, int atom);
const struct poly *poly_times_term(struct prover *prover, const struct poly *a,
                                   const struct poly_term *term);
/* quotient = a / b as monomials; false when b does not divide a. Factors are left alone. */
bool term_divide(const struct poly_term *a, const struct poly_term *b, struct poly_term *quotient);
/* a = factor * atom + rest where neither holds the atom; false when it is not linear in it. */
bool poly_split_atom(struct prover *prover, const struct poly *a, int atom,
                     const struct poly **factor, const struct poly **rest);

#endif
