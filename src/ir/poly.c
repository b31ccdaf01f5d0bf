/*
 * Polynomials over atoms: sums, products, exact quotients. See prove.h.
 */
#include "ir/prover.h"

static int term_compare(const struct poly_term *a, const struct poly_term *b)
{
    if (a->degree != b->degree)
        return a->degree > b->degree ? -1 : 1;
    for (int i = 0; i < a->degree; i++)
        if (a->atoms[i] != b->atoms[i])
            return a->atoms[i] < b->atoms[i] ? -1 : 1;
    return 0;
}

struct poly *poly_alloc(struct prover *prover, int count)
{
    return arena_alloc(prover->arena,
                       sizeof(struct poly) + (size_t)count * sizeof(struct poly_term));
}

/*
 * No factor is ever INT64_MIN, so that every one may be negated and divided by -1: what would have
 * it is too big to say.
 */
const struct poly *poly_constant(struct prover *prover, int64_t value)
{
    if (value == INT64_MIN)
        return NULL;
    struct poly *poly = poly_alloc(prover, 1);
    poly->count = value != 0;
    poly->terms[0].factor = value;
    return poly;
}

const struct poly *poly_atom(struct prover *prover, int atom)
{
    struct poly *poly = poly_alloc(prover, 1);
    poly->count = 1;
    poly->terms[0] = (struct poly_term){.factor = 1, .degree = 1, .atoms = {atom}};
    return poly;
}

/* a + factor * b, by merging two sorted lists. */
static const struct poly *poly_combine(struct prover *prover, const struct poly *a, int64_t factor,
                                       const struct poly *b)
{
    if (!a || !b || a->count + b->count > POLY_TERMS)
        return NULL;
    struct poly *sum = poly_alloc(prover, a->count + b->count);
    int i = 0, j = 0;
    while (i < a->count || j < b->count) {
        int order = i == a->count   ? 1
                    : j == b->count ? -1
                                    : term_compare(&a->terms[i], &b->terms[j]);
        struct poly_term term = order <= 0 ? a->terms[i] : b->terms[j];
        int64_t scaled = 0;
        if (order >= 0 && __builtin_mul_overflow(b->terms[j].factor, factor, &scaled))
            return NULL;
        term.factor = order <= 0 ? a->terms[i].factor : 0;
        if (__builtin_add_overflow(term.factor, scaled, &term.factor) || term.factor == INT64_MIN)
            return NULL;
        i += order <= 0;
        j += order >= 0;
        if (term.factor != 0)
            sum->terms[sum->count++] = term;
    }
    return sum;
}

const struct poly *poly_add(struct prover *prover, const struct poly *a, const struct poly *b)
{
    return poly_combine(prover, a, 1, b);
}

const struct poly *poly_subtract(struct prover *prover, const struct poly *a, const struct poly *b)
{
    return poly_combine(prover, a, -1, b);
}

/* The product of two terms; false when the degree or the factor grows too large. */
static bool term_multiply(const struct poly_term *a, const struct poly_term *b,
                          struct poly_term *product)
{
    if (a->degree + b->degree > POLY_DEGREE ||
        __builtin_mul_overflow(a->factor, b->factor, &product->factor) ||
        product->factor == INT64_MIN)
        return false;
    product->degree = a->degree + b->degree;
    int i = 0, j = 0;
    for (int k = 0; k < product->degree; k++) {
        bool left = j == b->degree || (i < a->degree && a->atoms[i] <= b->atoms[j]);
        product->atoms[k] = left ? a->atoms[i++] : b->atoms[j++];
    }
    return true;
}

const struct poly *poly_times_term(struct prover *prover, const struct poly *a,
                                   const struct poly_term *term)
{
    struct poly *product = poly_alloc(prover, a->count);
    product->count = a->count;
    for (int i = 0; i < a->count; i++)
        if (!term_multiply(&a->terms[i], term, &product->terms[i]))
            return NULL;
    /* Multiplying by one term may reorder terms of one degree. */
    for (int i = 1; i < product->count; i++) {
        struct poly_term moved = product->terms[i];
        int j = i;
        for (; j > 0 && term_compare(&product->terms[j - 1], &moved) > 0; j--)
            product->terms[j] = product->terms[j - 1];
        product->terms[j] = moved;
    }
    return product;
}

const struct poly *poly_multiply(struct prover *prover, const struct poly *a, const struct poly *b)
{
    if (!a || !b)
        return NULL;
    const struct poly *sum = poly_constant(prover, 0);
    for (int i = 0; i < b->count && sum; i++)
        sum = poly_add(prover, sum, poly_times_term(prover, a, &b->terms[i]));
    return sum;
}

bool term_divide(const struct poly_term *a, const struct poly_term *b, struct poly_term *quotient)
{
    if (b->degree > a->degree)
        return false;
    quotient->degree = 0;
    int j = 0;
    for (int i = 0; i < a->degree; i++) {
        if (j < b->degree && a->atoms[i] == b->atoms[j])
            j++;
        else
            quotient->atoms[quotient->degree++] = a->atoms[i];
    }
    return j == b->degree;
}

const struct poly *poly_quotient(struct prover *prover, const struct poly *a, const struct poly *b)
{
    if (!a || !b || b->count == 0)
        return NULL;
    const struct poly *rest = a, *quotient = poly_constant(prover, 0);
    for (int step = 0; rest && quotient && rest->count > 0; step++) {
        struct poly_term term = {0};
        if (step > POLY_TERMS || !term_divide(&rest->terms[0], &b->terms[0], &term) ||
            rest->terms[0].factor % b->terms[0].factor != 0)
            return NULL;
        term.factor = rest->terms[0].factor / b->terms[0].factor;
        struct poly *one = poly_alloc(prover, 1);
        one->count = 1;
        one->terms[0] = term;
        quotient = poly_add(prover, quotient, one);
        rest = poly_subtract(prover, rest, poly_times_term(prover, b, &term));
    }
    return rest ? quotient : NULL;
}

bool poly_equal(const struct poly *a, const struct poly *b)
{
    if (!a || !b || a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (a->terms[i].factor != b->terms[i].factor ||
            term_compare(&a->terms[i], &b->terms[i]) != 0)
            return false;
    return true;
}

bool poly_is_constant(const struct poly *a, int64_t *value)
{
    if (!a || a->count > 1 || (a->count == 1 && a->terms[0].degree > 0))
        return false;
    *value = a->count ? a->terms[0].factor : 0;
    return true;
}

bool poly_split_atom(struct prover *prover, const struct poly *a, int atom,
                     const struct poly **factor, const struct poly **rest)
{
    if (!a)
        return false;
    struct poly *with = poly_alloc(prover, a->count), *without = poly_alloc(prover, a->count);
    struct poly_term one = {.degree = 1, .atoms = {atom}};
    for (int i = 0; i < a->count; i++) {
        struct poly_term quotient = {.factor = a->terms[i].factor};
        if (!term_divide(&a->terms[i], &one, &quotient)) {
            without->terms[without->count++] = a->terms[i];
            continue;
        }
        for (int k = 0; k < quotient.degree; k++)
            if (quotient.atoms[k] == atom)
                return false;
        with->terms[with->count++] = quotient;
    }
    *factor = with;
    *rest = without;
    return true;
}
