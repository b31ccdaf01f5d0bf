/*
 * What atoms stand for, and the search for a proof. See prove.h.
 */
#include <stdlib.h>

#include "ir/prover.h"

enum { PROVER_EFFORT = 600, PROVER_DEPTH = 6 };

static bool uses_lets(const struct prover *prover, const struct ir_size *size)
{
    if (!size || size->op == IR_SIZE_CONSTANT)
        return false;
    if (size->op == IR_SIZE_SYMBOL)
        return prover->part->symbols[size->symbol].kind == IR_SYMBOL_LET;
    return uses_lets(prover, size->a) || uses_lets(prover, size->b);
}

static void assume_facts(struct prover *prover, bool about_lets)
{
    for (int i = 0; i < prover->part->fact_count; i++) {
        const struct ir_fact *fact = &prover->part->facts[i];
        if ((uses_lets(prover, fact->a) || uses_lets(prover, fact->b)) == about_lets)
            prover_assume_relation(prover, fact->relation, prover_size(prover, fact->a),
                                   prover_size(prover, fact->b));
    }
}

struct prover *prover_new(struct arena *arena, const struct ir_part *part, const int64_t *values)
{
    struct prover *prover = arena_new(arena, struct prover);
    prover->arena = arena;
    prover->part = part;
    prover->values = values;
    if (values)
        return prover;
    /*
     * Lets once, in order: one may use another twice, which spelt out would double each time. Facts
     * about other sizes come before them, since what divides must be known as positive.
     */
    prover->lets = arena_array(arena, (size_t)part->symbol_count + 1, sizeof *prover->lets);
    assume_facts(prover, false);
    for (int i = 0; i < part->symbol_count; i++)
        if (part->symbols[i].kind == IR_SYMBOL_LET)
            prover->lets[i] = prover_size(prover, part->symbols[i].definition);
    assume_facts(prover, true);
    return prover;
}

struct prover_mark prover_mark(const struct prover *prover)
{
    return (struct prover_mark){prover->atoms.count, prover->facts.count};
}

void prover_return(struct prover *prover, struct prover_mark mark)
{
    prover->atoms.count = mark.atoms;
    prover->facts.count = mark.facts;
    for (size_t i = 0; i < mark.atoms; i++) {
        struct atom *atom = &prover->atoms.at[i];
        if (atom->learned > mark.facts) {
            atom->not_negative = false;
            atom->learned = 0;
        }
    }
}

/* ---- atoms ---- */

static int atom_find(struct prover *prover, enum atom_kind kind, int number, const struct poly *a,
                     const struct poly *b)
{
    for (size_t i = prover->atoms.count; i-- > 0;) {
        const struct atom *atom = &prover->atoms.at[i];
        if (atom->kind == kind && atom->number == number &&
            (kind < ATOM_DIVIDE || (poly_equal(atom->a, a) && poly_equal(atom->b, b))))
            return (int)i;
    }
    return -1;
}

static int atom_make(struct prover *prover, enum atom_kind kind, int number, const struct poly *a,
                     const struct poly *b)
{
    vector_push(prover->arena, &prover->atoms,
                (struct atom){.kind = kind, .number = number, .a = a, .b = b});
    return (int)prover->atoms.count - 1;
}

static const struct poly *prover_symbol(struct prover *prover, int number)
{
    const struct ir_symbol *symbol = &prover->part->symbols[number];
    if (prover->values)
        return poly_constant(prover, prover->values[number]);
    if (symbol->kind == IR_SYMBOL_LET)
        return prover->lets[number];
    int atom = atom_find(prover, ATOM_SYMBOL, number, NULL, NULL);
    if (atom < 0) {
        atom = atom_make(prover, ATOM_SYMBOL, number, NULL, NULL);
        prover->atoms.at[atom].not_negative = symbol->kind == IR_SYMBOL_SIZE;
    }
    return poly_atom(prover, atom);
}

const struct poly *prover_combine(struct prover *prover, enum ir_size_op op, const struct poly *a,
                                  const struct poly *b)
{
    switch (op) {
    case IR_SIZE_ADD: return poly_add(prover, a, b);
    case IR_SIZE_SUB: return poly_subtract(prover, a, b);
    case IR_SIZE_MUL: return poly_multiply(prover, a, b);
    case IR_SIZE_DIV: return prover_divide(prover, a, b);
    case IR_SIZE_MOD:
        return poly_subtract(prover, a, poly_multiply(prover, prover_divide(prover, a, b), b));
    case IR_SIZE_MIN: return prover_least(prover, a, b);
    case IR_SIZE_MAX: return prover_greatest(prover, a, b);
    default: return NULL;
    }
}

const struct poly *prover_size(struct prover *prover, const struct ir_size *size)
{
    if (size->op == IR_SIZE_CONSTANT)
        return poly_constant(prover, size->value);
    if (size->op == IR_SIZE_SYMBOL)
        return prover_symbol(prover, size->symbol);
    const struct poly *a = prover_size(prover, size->a), *b = prover_size(prover, size->b);
    return prover_combine(prover, size->op, a, b);
}

const struct poly *prover_index(struct prover *prover, int index)
{
    int atom = atom_find(prover, ATOM_INDEX, index, NULL, NULL);
    return poly_atom(prover, atom >= 0 ? atom : atom_make(prover, ATOM_INDEX, index, NULL, NULL));
}

const struct poly *prover_opaque(struct prover *prover, int number)
{
    int atom = atom_find(prover, ATOM_OPAQUE, number, NULL, NULL);
    return poly_atom(prover, atom >= 0 ? atom : atom_make(prover, ATOM_OPAQUE, number, NULL, NULL));
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

const struct poly *prover_divide(struct prover *prover, const struct poly *a, const struct poly *b)
{
    int64_t x, y;
    if (!a || !b)
        return NULL;
    if (poly_is_constant(b, &y)) {
        if (y == 0)
            return NULL;
        if (poly_is_constant(a, &x))
            return poly_constant(prover, floor_divide(x, y));
    }
    int atom = atom_find(prover, ATOM_DIVIDE, 0, a, b); /* first: showing things takes long */
    if (atom >= 0)
        return poly_atom(prover, atom);
    const struct poly *one = poly_constant(prover, 1);
    const struct poly *exact = poly_quotient(prover, a, b);
    bool positive = prover_shows(prover, poly_subtract(prover, b, one));
    if (exact && positive)
        return exact;
    atom = atom_make(prover, ATOM_DIVIDE, 0, a, b);
    const struct poly *quotient = poly_atom(prover, atom);
    if (positive) { /* 0 <= a - b*q <= b - 1 */
        const struct poly *rest = poly_subtract(prover, a, poly_multiply(prover, b, quotient));
        bool not_negative = prover_shows(prover, a);
        prover->atoms.at[atom].not_negative = not_negative;
        prover_assume(prover, rest);
        prover_assume(prover, poly_subtract(prover, poly_subtract(prover, b, one), rest));
    }
    return quotient;
}

static const struct poly *prover_choice(struct prover *prover, enum atom_kind kind, int sign,
                                        const struct poly *a, const struct poly *b)
{
    const struct poly *difference = poly_subtract(prover, b, a);
    const struct poly *opposite = poly_subtract(prover, a, b);
    if (!difference)
        return NULL;
    if (prover_shows(prover, sign > 0 ? opposite : difference))
        return a;
    if (prover_shows(prover, sign > 0 ? difference : opposite))
        return b;
    int atom = atom_find(prover, kind, 0, a, b);
    if (atom >= 0)
        return poly_atom(prover, atom);
    bool a_positive = prover_shows(prover, a), b_positive = prover_shows(prover, b);
    atom = atom_make(prover, kind, 0, a, b);
    prover->atoms.at[atom].not_negative =
        sign > 0 ? a_positive || b_positive : a_positive && b_positive;
    const struct poly *choice = poly_atom(prover, atom);
    prover_assume(prover,
                  sign > 0 ? poly_subtract(prover, choice, a) : poly_subtract(prover, a, choice));
    prover_assume(prover,
                  sign > 0 ? poly_subtract(prover, choice, b) : poly_subtract(prover, b, choice));
    return choice;
}

const struct poly *prover_least(struct prover *prover, const struct poly *a, const struct poly *b)
{
    return prover_choice(prover, ATOM_LEAST, -1, a, b);
}

const struct poly *prover_greatest(struct prover *prover, const struct poly *a,
                                   const struct poly *b)
{
    return prover_choice(prover, ATOM_GREATEST, 1, a, b);
}

/* ---- taking apart ---- */

static bool poly_split_kind(struct prover *prover, const struct poly *a, enum atom_kind kind,
                            int number, const struct poly **factor, const struct poly **rest)
{
    int atom = atom_find(prover, kind, number, NULL, NULL);
    if (atom >= 0)
        return poly_split_atom(prover, a, atom, factor, rest);
    *factor = poly_constant(prover, 0);
    *rest = a;
    return a != NULL;
}

bool poly_split(struct prover *prover, const struct poly *a, int index, const struct poly **factor,
                const struct poly **rest)
{
    return poly_split_kind(prover, a, ATOM_INDEX, index, factor, rest);
}

bool poly_split_symbol(struct prover *prover, const struct poly *a, int symbol,
                       const struct poly **factor, const struct poly **rest)
{
    return poly_split_kind(prover, a, ATOM_SYMBOL, symbol, factor, rest);
}

/* Quotients hold polynomials, which hold quotients: `budget` bounds what that makes as a tree. */
enum { SIZE_BUDGET = 1000 };

static const struct ir_size *sum_to_size(struct prover *prover, const struct poly *a, int *budget);

static const struct ir_size *atom_to_size(struct prover *prover, const struct atom *atom,
                                          int *budget)
{
    if (atom->kind == ATOM_SYMBOL)
        return ir_size_symbol(prover->arena, atom->number);
    if (atom->kind < ATOM_DIVIDE)
        return NULL;
    const struct ir_size *a = sum_to_size(prover, atom->a, budget);
    const struct ir_size *b = sum_to_size(prover, atom->b, budget);
    enum ir_size_op op = atom->kind == ATOM_DIVIDE  ? IR_SIZE_DIV
                         : atom->kind == ATOM_LEAST ? IR_SIZE_MIN
                                                    : IR_SIZE_MAX;
    return a && b ? ir_size_make(prover->arena, op, a, b) : NULL;
}

/* |factor| * atoms of one term. */
static const struct ir_size *term_to_size(struct prover *prover, const struct poly_term *term,
                                          int *budget)
{
    int64_t factor = term->factor < 0 ? -term->factor : term->factor;
    const struct ir_size *product = NULL;
    if (factor != 1 || term->degree == 0)
        product = ir_size_constant(prover->arena, factor);
    for (int i = 0; i < term->degree; i++) {
        const struct ir_size *atom =
            atom_to_size(prover, &prover->atoms.at[term->atoms[i]], budget);
        if (!atom)
            return NULL;
        product = product ? ir_size_make(prover->arena, IR_SIZE_MUL, product, atom) : atom;
    }
    return product;
}

static const struct ir_size *sum_to_size(struct prover *prover, const struct poly *a, int *budget)
{
    if (!a)
        return NULL;
    const struct ir_size *sum = NULL;
    for (int pass = 0; pass < 2; pass++) { /* positive terms first: N - 1, not -1 + N */
        for (int i = 0; i < a->count; i++) {
            if ((a->terms[i].factor < 0) != (pass == 1))
                continue;
            const struct ir_size *term =
                (*budget)-- > 0 ? term_to_size(prover, &a->terms[i], budget) : NULL;
            if (!term)
                return NULL;
            if (!sum && pass == 1)
                sum = ir_size_constant(prover->arena, 0);
            sum = sum ? ir_size_make(prover->arena, pass ? IR_SIZE_SUB : IR_SIZE_ADD, sum, term)
                      : term;
        }
    }
    return sum ? sum : ir_size_constant(prover->arena, 0);
}

const struct ir_size *poly_to_size(struct prover *prover, const struct poly *a)
{
    int budget = SIZE_BUDGET;
    return sum_to_size(prover, a, &budget);
}

/* ---- facts and questions ---- */

void prover_assume(struct prover *prover, const struct poly *fact)
{
    if (!fact || fact->count == 0 || (fact->count == 1 && fact->terms[0].degree == 0))
        return;
    /* x - c >= 0 with c >= 0 makes the atom x itself known as not negative. */
    const struct poly_term *first = &fact->terms[0];
    bool rest_negative = fact->count == 1 || (fact->count == 2 && fact->terms[1].degree == 0 &&
                                              fact->terms[1].factor <= 0);
    vector_push(prover->arena, &prover->facts, fact);
    struct atom *atom = first->degree == 1 ? &prover->atoms.at[first->atoms[0]] : NULL;
    if (atom && first->factor > 0 && rest_negative && !atom->not_negative) {
        atom->not_negative = true;
        atom->learned = prover->facts.count;
    }
}

void prover_assume_relation(struct prover *prover, enum ir_relation relation, const struct poly *a,
                            const struct poly *b)
{
    const struct poly *up = poly_subtract(prover, b, a), *down = poly_subtract(prover, a, b);
    switch (relation) {
    case IR_RELATION_LE: prover_assume(prover, up); break;
    case IR_RELATION_LT:
        prover_assume(prover, poly_subtract(prover, up, poly_constant(prover, 1)));
        break;
    case IR_RELATION_EQ:
        prover_assume(prover, up);
        prover_assume(prover, down);
        break;
    case IR_RELATION_NE: /* known not negative and not zero: at least one */
        if (prover_shows(prover, down))
            prover_assume(prover, poly_subtract(prover, down, poly_constant(prover, 1)));
        else if (prover_shows(prover, up))
            prover_assume(prover, poly_subtract(prover, up, poly_constant(prover, 1)));
        break;
    }
}

static bool monomial_not_negative(const struct prover *prover, const struct poly_term *term)
{
    for (int i = 0; i < term->degree; i++) {
        if (prover->atoms.at[term->atoms[i]].not_negative)
            continue;
        if (i + 1 < term->degree && term->atoms[i + 1] == term->atoms[i]) {
            i++; /* a square */
            continue;
        }
        return false;
    }
    return true;
}

/* The first term that stands in the way of "obviously not negative", or -1. */
static int poly_obstacle(const struct prover *prover, const struct poly *goal)
{
    int found = -1;
    for (int i = 0; i < goal->count; i++) {
        const struct poly_term *term = &goal->terms[i];
        bool harmless = term->factor > 0 && monomial_not_negative(prover, term);
        if (!harmless && (found < 0 || term->degree > 0))
            return i;
        if (!harmless)
            found = i;
    }
    return found;
}

static int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

static bool prover_search(struct prover *prover, const struct poly *goal, int depth);

/*
 * With q = a / b rounded down and b >= 1: rest - q >= 0 exactly when b*rest + b - 1 - a >= 0, and
 * rest + q >= 0 exactly when b*rest + a >= 0. The facts on q alone miss that q is whole.
 */
static bool search_divided(struct prover *prover, int atom, int64_t factor, const struct poly *rest,
                           int depth)
{
    const struct poly *a = prover->atoms.at[atom].a, *b = prover->atoms.at[atom].b;
    const struct poly *below = poly_subtract(prover, b, poly_constant(prover, 1));
    const struct poly *scaled = poly_multiply(prover, b, rest);
    if ((factor != 1 && factor != -1) || !prover_search(prover, below, depth - 1))
        return false;
    const struct poly *goal = factor > 0
                                  ? poly_add(prover, scaled, a)
                                  : poly_subtract(prover, poly_add(prover, scaled, below), a);
    return prover_search(prover, goal, depth - 1);
}

/* min(a, b) and max(a, b) are one of a and b: the goal must hold for either, where it is the one.
 */
static bool search_chosen(struct prover *prover, int atom, const struct poly *factor,
                          const struct poly *rest, int depth)
{
    bool greatest = prover->atoms.at[atom].kind == ATOM_GREATEST;
    const struct poly *choices[] = {prover->atoms.at[atom].a, prover->atoms.at[atom].b};
    for (int i = 0; i < 2; i++) {
        struct prover_mark mark = prover_mark(prover);
        const struct poly *ahead = poly_subtract(prover, choices[i], choices[1 - i]);
        const struct poly *behind = poly_subtract(prover, choices[1 - i], choices[i]);
        prover_assume(prover, greatest ? ahead : behind);
        const struct poly *goal = poly_add(prover, rest, poly_multiply(prover, factor, choices[i]));
        bool shown = prover_search(prover, goal, depth - 1);
        prover_return(prover, mark);
        if (!shown)
            return false;
    }
    return true;
}

/* Without its newest division or choice, which others cannot be made of, the goal is simpler. */
static bool search_apart(struct prover *prover, const struct poly *goal, int depth)
{
    int newest = -1;
    for (int i = 0; i < goal->count; i++)
        for (int k = 0; k < goal->terms[i].degree; k++)
            if (goal->terms[i].atoms[k] > newest &&
                prover->atoms.at[goal->terms[i].atoms[k]].kind >= ATOM_DIVIDE)
                newest = goal->terms[i].atoms[k];
    const struct poly *factor, *rest;
    int64_t value;
    if (newest < 0 || !poly_split_atom(prover, goal, newest, &factor, &rest))
        return false;
    if (prover->atoms.at[newest].kind != ATOM_DIVIDE)
        return search_chosen(prover, newest, factor, rest, depth);
    return poly_is_constant(factor, &value) && search_divided(prover, newest, value, rest, depth);
}

/*
 * goal >= 0 follows from goal - m*f >= 0 when f >= 0 is a fact and m a monomial that is not
 * negative. Choose f and m so that the obstacle goes away, and go on with what is left.
 */
static bool prover_search(struct prover *prover, const struct poly *goal, int depth)
{
    if (!goal || prover->effort-- <= 0)
        return false;
    int obstacle = poly_obstacle(prover, goal);
    if (obstacle < 0)
        return true;
    if (depth == 0)
        return false;
    if (prover->apart && search_apart(prover, goal, depth))
        return true;
    const struct poly_term *bad = &goal->terms[obstacle];
    for (size_t f = prover->facts.count; f-- > 0;) {
        const struct poly *fact = prover->facts.at[f];
        for (int i = 0; i < fact->count; i++) {
            const struct poly_term *term = &fact->terms[i];
            struct poly_term factor = {0};
            if (term->degree == 0 && bad->degree > 0)
                continue; /* would only raise the degree */
            if ((term->factor < 0) != (bad->factor < 0) || !term_divide(bad, term, &factor) ||
                !monomial_not_negative(prover, &factor))
                continue;
            int64_t common = greatest_common_divisor(bad->factor, term->factor);
            struct poly_term scale = {.factor = llabs(term->factor / common)};
            factor.factor = llabs(bad->factor / common);
            const struct poly *left = poly_times_term(prover, goal, &scale);
            const struct poly *used = poly_times_term(prover, fact, &factor);
            if (prover_search(prover, poly_subtract(prover, left, used), depth - 1))
                return true;
        }
    }
    return false;
}

bool prover_shows(struct prover *prover, const struct poly *goal)
{
    int64_t value;
    if (poly_is_constant(goal, &value))
        return value >= 0;
    int saved = prover->effort;
    bool shown = false;
    for (int apart = 0; !shown && apart < 2; apart++) {
        prover->effort = PROVER_EFFORT;
        prover->apart = apart;
        shown = prover_search(prover, goal, PROVER_DEPTH);
    }
    prover->effort = saved;
    prover->apart = false;
    return shown;
}

bool prover_shows_equal(struct prover *prover, const struct poly *a, const struct poly *b)
{
    if (!a || !b)
        return false;
    if (poly_equal(a, b))
        return true;
    const struct poly *difference = poly_subtract(prover, a, b);
    int64_t value;
    if (!difference || poly_is_constant(difference, &value))
        return false;
    return prover_shows(prover, difference) && prover_shows(prover, poly_subtract(prover, b, a));
}
