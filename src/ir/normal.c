/*
 * Arithmetic on normal forms of sizes.
 */
#include "ir/normal.h"

#include <string.h>

struct normals normals_new(struct arena *arena)
{
    return (struct normals){.arena = arena, .atoms = map_new(arena)};
}

/* A form in the making. */
struct draft {
    int count;
    struct normal_term terms[NORMAL_TERMS];
};

static const struct normal *draft_keep(struct normals *normals, const struct draft *draft)
{
    struct normal *normal = arena_new(normals->arena, struct normal);
    size_t bytes = (size_t)draft->count * sizeof *draft->terms;
    struct normal_term *terms = arena_alloc(normals->arena, bytes);

    memcpy(terms, draft->terms, bytes);
    normal->count = draft->count;
    normal->terms = terms;
    return normal;
}

static const struct normal *normal_term_alone(struct normals *normals, struct normal_term term)
{
    struct draft draft = {.count = term.factor != 0, .terms = {term}};
    return draft_keep(normals, &draft);
}

const struct normal *normal_atom(struct normals *normals, const char *name)
{
    intptr_t number = (intptr_t)map_get(&normals->atoms, name);

    if (!number) {
        number = (intptr_t)normals->atoms.count + 1;
        map_set(&normals->atoms, name, (void *)number);
    }
    return normal_term_alone(
        normals, (struct normal_term){.factor = 1, .degree = 1, .atoms = {(int)number - 1}});
}

static bool is_constant(const struct normal *normal, int64_t *value)
{
    *value = normal->count ? normal->terms[0].factor : 0;
    return normal->count == 0 || (normal->count == 1 && normal->terms[0].degree == 0);
}

/* Terms in the order of their first atom, then the second; what ends first comes last. */
static int term_compare(const struct normal_term *a, const struct normal_term *b)
{
    for (int i = 0; i < a->degree && i < b->degree; i++) {
        if (a->atoms[i] != b->atoms[i])
            return a->atoms[i] < b->atoms[i] ? -1 : 1;
    }
    return b->degree - a->degree;
}

/* Adds a term in its place; false when the form has no room for it or a factor overflows. */
static bool draft_include(struct draft *draft, const struct normal_term *term)
{
    int at = 0;

    while (at < draft->count && term_compare(&draft->terms[at], term) < 0)
        at++;
    if (at < draft->count && term_compare(&draft->terms[at], term) == 0) {
        int64_t *factor = &draft->terms[at].factor;
        if (__builtin_add_overflow(*factor, term->factor, factor))
            return false;
        if (*factor == 0) {
            draft->count--;
            memmove(&draft->terms[at], &draft->terms[at + 1],
                    (size_t)(draft->count - at) * sizeof *term);
        }
        return true;
    }
    if (draft->count == NORMAL_TERMS)
        return false;
    memmove(&draft->terms[at + 1], &draft->terms[at], (size_t)(draft->count - at) * sizeof *term);
    draft->terms[at] = *term;
    draft->count++;
    return true;
}

static bool term_multiply(const struct normal_term *a, const struct normal_term *b,
                          struct normal_term *product)
{
    int i = 0, j = 0;

    *product = (struct normal_term){.degree = a->degree + b->degree};
    if (product->degree > NORMAL_DEGREE ||
        __builtin_mul_overflow(a->factor, b->factor, &product->factor))
        return false;
    for (int k = 0; k < product->degree; k++) {
        bool first = j == b->degree || (i < a->degree && a->atoms[i] <= b->atoms[j]);
        product->atoms[k] = first ? a->atoms[i++] : b->atoms[j++];
    }
    return true;
}

/* a = quotient * b exactly; false when it is not so. */
static bool term_divide(const struct normal_term *a, const struct normal_term *b,
                        struct normal_term *quotient)
{
    int j = 0;

    *quotient = (struct normal_term){0};
    if (b->factor == 0 || b->factor == -1 || a->factor % b->factor != 0)
        return false;
    quotient->factor = a->factor / b->factor;
    for (int i = 0; i < a->degree; i++) {
        if (j < b->degree && a->atoms[i] == b->atoms[j])
            j++;
        else
            quotient->atoms[quotient->degree++] = a->atoms[i];
    }
    return j == b->degree;
}

static bool draft_add(struct draft *sum, const struct normal *a, int64_t sign)
{
    for (int i = 0; i < a->count; i++) {
        struct normal_term term = a->terms[i];
        if (__builtin_mul_overflow(term.factor, sign, &term.factor) || !draft_include(sum, &term))
            return false;
    }
    return true;
}

static bool draft_add_product(struct draft *sum, const struct normal *a, const struct normal *b)
{
    for (int i = 0; i < a->count; i++) {
        for (int j = 0; j < b->count; j++) {
            struct normal_term term;
            if (!term_multiply(&a->terms[i], &b->terms[j], &term) || !draft_include(sum, &term))
                return false;
        }
    }
    return true;
}

void normal_print(struct text *out, const struct normals *normals, const struct normal *normal)
{
    if (normal->count == 0)
        text_char(out, '0');
    for (int i = 0; i < normal->count; i++) {
        const struct normal_term *term = &normal->terms[i];
        /* The size of the least factor has no int64. */
        uint64_t size = term->factor < 0 ? 0 - (uint64_t)term->factor : (uint64_t)term->factor;
        text_add(out, term->factor < 0 ? (i ? " - " : "-") : (i ? " + " : ""));
        if (size != 1 || term->degree == 0)
            text_printf(out, "%llu%s", (unsigned long long)size, term->degree ? "*" : "");
        for (int j = 0; j < term->degree; j++)
            text_printf(out, "%s%s", j ? "*" : "", normals->atoms.entries[term->atoms[j]].key);
    }
}

static const char *normal_text(struct normals *normals, const struct normal *normal)
{
    struct text text = text_new(normals->arena);

    normal_print(&text, normals, normal);
    return text.at;
}

static const struct normal *atom_of_text(struct normals *normals, const char *text)
{
    char hex[65];

    if (strlen(text) <= NORMAL_TEXT)
        return normal_atom(normals, text);
    sha256_hex(text, strlen(text), hex);
    return normal_atom(normals, arena_printf(normals->arena, "{%.16s}", hex));
}

/* Parentheses only where the text would read otherwise without them. */
static const char *operand_text(struct normals *normals, const struct normal *normal, bool right)
{
    const char *text = normal_text(normals, normal);
    bool single =
        normal->count == 0 || (normal->count == 1 && normal->terms[0].factor > 0 &&
                               (normal->terms[0].degree == 0 ||
                                (normal->terms[0].factor == 1 && normal->terms[0].degree == 1)));

    if (single || (!right && normal->count == 1 && normal->terms[0].factor > 0))
        return text;
    return arena_printf(normals->arena, "(%s)", text);
}

/* What has no closer form: an atom that is named as it is written. */
static const struct normal *normal_opaque(struct normals *normals, enum ir_size_op op,
                                          const struct normal *a, const struct normal *b)
{
    static const char *const signs[] = {
        [IR_SIZE_ADD] = " + ", [IR_SIZE_SUB] = " - ", [IR_SIZE_MUL] = "*",
        [IR_SIZE_DIV] = "/",   [IR_SIZE_MOD] = " % ",
    };

    if (op == IR_SIZE_MIN || op == IR_SIZE_MAX) {
        const char *x = normal_text(normals, a), *y = normal_text(normals, b);
        bool swap = strcmp(x, y) > 0;
        return atom_of_text(normals, arena_printf(normals->arena, "%s(%s, %s)",
                                                  op == IR_SIZE_MIN ? "min" : "max", swap ? y : x,
                                                  swap ? x : y));
    }
    /* In its own parentheses, since it may become a factor. */
    return atom_of_text(normals,
                        arena_printf(normals->arena, "(%s%s%s)", operand_text(normals, a, false),
                                     signs[op], operand_text(normals, b, true)));
}

/* Splits a into b*quotient + rest, for b of one term: what b divides comes out. */
static void draft_divide(const struct normal *a, const struct normal_term *b,
                         struct draft *quotient, struct draft *rest)
{
    quotient->count = rest->count = 0;
    for (int i = 0; i < a->count; i++) {
        struct normal_term term = a->terms[i], whole;
        if (term_divide(&term, b, &whole)) {
            draft_include(quotient, &whole);
        } else if (term.degree == 0 && b->degree == 0) {
            int64_t left = term.factor % b->factor;
            whole = (struct normal_term){.factor = term.factor / b->factor - (left < 0)};
            if (whole.factor)
                draft_include(quotient, &whole);
            term.factor = left < 0 ? left + b->factor : left;
            draft_include(rest, &term);
        } else {
            draft_include(rest, &term);
        }
    }
}

/* floor((b*q + r)/b) = q + floor(r/b), and (b*q + r) mod b = r mod b. */
static const struct normal *normal_divide(struct normals *normals, enum ir_size_op op,
                                          const struct normal *a, const struct normal *b)
{
    struct draft quotient, rest;
    int64_t value;

    if (b->count != 1 || b->terms[0].factor <= 0)
        return normal_opaque(normals, op, a, b);
    draft_divide(a, &b->terms[0], &quotient, &rest);
    const struct normal *left = draft_keep(normals, &rest);
    bool less = rest.count == 0 || (b->terms[0].degree == 0 && is_constant(left, &value));
    if (op == IR_SIZE_MOD)
        return less ? left : normal_opaque(normals, op, left, b);
    if (!less && !draft_add(&quotient, normal_opaque(normals, op, left, b), 1))
        return normal_opaque(normals, op, a, b);
    return draft_keep(normals, &quotient);
}

static const struct normal *normal_extreme(struct normals *normals, enum ir_size_op op,
                                           const struct normal *a, const struct normal *b)
{
    struct draft difference = {0};
    int64_t value;

    if (draft_add(&difference, a, 1) && draft_add(&difference, b, -1) &&
        is_constant(&(struct normal){difference.count, difference.terms}, &value))
        return (value < 0) == (op == IR_SIZE_MIN) ? a : b;
    return normal_opaque(normals, op, a, b);
}

static const struct normal *normal_combine(struct normals *normals, enum ir_size_op op,
                                           const struct normal *a, const struct normal *b)
{
    struct draft draft = {0};
    bool good;

    switch (op) {
    case IR_SIZE_ADD: good = draft_add(&draft, a, 1) && draft_add(&draft, b, 1); break;
    case IR_SIZE_SUB: good = draft_add(&draft, a, 1) && draft_add(&draft, b, -1); break;
    case IR_SIZE_MUL: good = draft_add_product(&draft, a, b); break;
    case IR_SIZE_DIV:
    case IR_SIZE_MOD: return normal_divide(normals, op, a, b);
    default: return normal_extreme(normals, op, a, b);
    }
    return good ? draft_keep(normals, &draft) : normal_opaque(normals, op, a, b);
}

/* Keeps what is handed on short, however often it is handed on. */
static const struct normal *normal_limit(struct normals *normals, const struct normal *normal)
{
    const char *text = normal_text(normals, normal);

    return strlen(text) > NORMAL_TEXT ? atom_of_text(normals, text) : normal;
}

static const struct normal *normal_walk(struct normals *normals, const struct ir_size *size,
                                        const struct normal *const *values)
{
    if (size->op == IR_SIZE_CONSTANT)
        return normal_term_alone(normals, (struct normal_term){.factor = size->value});
    if (size->op == IR_SIZE_SYMBOL)
        return values[size->symbol];
    const struct normal *a = normal_walk(normals, size->a, values);
    return normal_combine(normals, size->op, a, normal_walk(normals, size->b, values));
}

const struct normal *normal_size(struct normals *normals, const struct ir_size *size,
                                 const struct normal *const *values)
{
    const struct normal *normal = normal_walk(normals, size, values);

    return normal->count > 1 ? normal_limit(normals, normal) : normal;
}
