/*
 * The expressions of a manifest: see expression.h for the grammar. One function per rule.
 */
#include "kernel/expression.h"

#include <string.h>

struct scanner {
    struct arena *arena;
    const struct ir_part *part;
    const struct source *source;
    size_t at, end;
    struct errors *errors;
    int operations;
};

struct parsed { /* a size, and how deep it is: it is walked recursively later */
    const struct ir_size *size;
    int depth;
};

static bool parse_sum(struct scanner *s, int nesting, struct parsed *out);

/* ---- characters ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static char peek(const struct scanner *s, size_t ahead)
{
    return s->at + ahead < s->end ? s->source->text[s->at + ahead] : '\0';
}

static void pass_blanks(struct scanner *s)
{
    while (peek(s, 0) == ' ' || peek(s, 0) == '\t')
        s->at++;
}

static struct place place_of(const struct scanner *s, size_t start, size_t end)
{
    return (struct place){s->source, start, end > start ? end - start : 1};
}

static bool fail_here(struct scanner *s, const char *expected)
{
    pass_blanks(s);
    size_t length = s->at < s->end ? text_utf8(s->source->text + s->at, s->end - s->at) : 0;
    struct place place = place_of(s, s->at, s->at + length);
    struct error *error = length ? errors_add(s->errors, ERROR_MANIFEST_EXPRESSION, place,
                                              "expected %s, found '%.*s'", expected, (int)length,
                                              s->source->text + s->at)
                                 : errors_add(s->errors, ERROR_MANIFEST_EXPRESSION, place,
                                              "expected %s, found the end of the line", expected);
    error_hint(error, "sizes are made of integers, names, + - * / %% min max ceil and parentheses");
    return false;
}

static bool fail_limit(struct scanner *s, const char *what, int most)
{
    errors_add(s->errors, ERROR_MANIFEST_LIMIT, place_of(s, s->at, s->at),
               "an expression with more than %d %s", most, what);
    return false;
}

static bool skip(struct scanner *s, const char *sign)
{
    pass_blanks(s);
    size_t length = strlen(sign);
    for (size_t i = 0; i < length; i++) {
        if (peek(s, i) != sign[i])
            return false;
    }
    s->at += length;
    return true;
}

static bool need(struct scanner *s, const char *sign)
{
    return skip(s, sign) || fail_here(s, arena_printf(s->arena, "'%s'", sign));
}

/* ---- names and numbers ---- */

static bool fail_symbol(struct scanner *s, size_t start, const char *name)
{
    const struct ir_part *part = s->part;
    const char **names = arena_array(s->arena, (size_t)part->symbol_count + 1, sizeof *names);
    struct text list = text_new(s->arena);
    for (int i = 0; i < part->symbol_count; i++) {
        names[i] = part->symbols[i].name;
        if (list.length < 200)
            text_printf(&list, "%s%s", i ? ", " : "", names[i]);
        else if (i + 1 == part->symbol_count)
            text_add(&list, ", ...");
    }
    struct error *error = errors_add(s->errors, ERROR_MANIFEST_SYMBOL, place_of(s, start, s->at),
                                     "op '%s' has no size '%s'", part->name, name);
    const char *nearest = spelling_nearest(name, names, (size_t)part->symbol_count);
    if (nearest)
        error_hint(error, "did you mean '%s'?", nearest);
    else if (list.length)
        error_hint(error, "its sizes are: %s", list.at);
    else
        error_hint(error, "it has no sizes at all");
    return false;
}

/* "D", "B.0", and B[0] as people write it. */
static const char *scan_name(struct scanner *s)
{
    size_t start = s->at;
    while (is_letter(peek(s, 0)) || is_digit(peek(s, 0)) ||
           (peek(s, 0) == '.' && (is_letter(peek(s, 1)) || is_digit(peek(s, 1)))))
        s->at++;
    const char *name = arena_copy(s->arena, s->source->text + start, s->at - start);
    if (peek(s, 0) != '[')
        return name;
    size_t digits = 1;
    while (is_digit(peek(s, digits)))
        digits++;
    if (digits == 1 || peek(s, digits) != ']')
        return name;
    name = arena_printf(s->arena, "%s.%.*s", name, (int)digits - 1, s->source->text + s->at + 1);
    s->at += digits + 1;
    return name;
}

static bool parse_symbol(struct scanner *s, size_t start, const char *name, struct parsed *out)
{
    for (int i = 0; i < s->part->symbol_count; i++) {
        if (strcmp(s->part->symbols[i].name, name) == 0) {
            *out = (struct parsed){ir_size_symbol(s->arena, i), 1};
            return true;
        }
    }
    return fail_symbol(s, start, name);
}

static bool parse_integer(struct scanner *s, struct parsed *out)
{
    size_t start = s->at;
    int64_t value = 0;
    bool fits = true;
    for (; is_digit(peek(s, 0)); s->at++)
        fits = fits && !__builtin_mul_overflow(value, (int64_t)10, &value) &&
               !__builtin_add_overflow(value, (int64_t)(peek(s, 0) - '0'), &value);
    if (is_letter(peek(s, 0)) || peek(s, 0) == '.')
        return fail_here(s, "an integer or an operator");
    if (!fits) {
        errors_add(s->errors, ERROR_MANIFEST_EXPRESSION, place_of(s, start, s->at),
                   "the integer does not fit in 64 bits");
        return false;
    }
    *out = (struct parsed){ir_size_constant(s->arena, value), 1};
    return true;
}

/* ---- the rules ---- */

/* Kept as written, not folded: a manifest prints as it was read. */
static bool join(struct scanner *s, enum ir_size_op op, struct parsed *a, const struct parsed *b)
{
    struct ir_size *size = arena_new(s->arena, struct ir_size);
    size->op = op;
    size->a = a->size;
    size->b = b->size;
    a->size = size;
    a->depth = 1 + (a->depth > b->depth ? a->depth : b->depth);
    if (a->depth > EXPRESSION_DEPTH)
        return fail_limit(s, "operations inside each other", EXPRESSION_DEPTH);
    if (++s->operations > EXPRESSION_OPERATIONS)
        return fail_limit(s, "operations", EXPRESSION_OPERATIONS);
    return true;
}

/* a/b rounded up, as (a + b - 1)/b; of a constant b, as (a + 3)/4. */
static bool join_ceil(struct scanner *s, struct parsed *a, const struct parsed *b)
{
    struct parsed one = {ir_size_constant(s->arena, 1), 1};
    if (b->size->op == IR_SIZE_CONSTANT && b->size->value > 1) {
        struct parsed less = {ir_size_constant(s->arena, b->size->value - 1), 1};
        return join(s, IR_SIZE_ADD, a, &less) && join(s, IR_SIZE_DIV, a, b);
    }
    return join(s, IR_SIZE_ADD, a, b) && join(s, IR_SIZE_SUB, a, &one) &&
           join(s, IR_SIZE_DIV, a, b);
}

bool expression_is_ceil(const struct ir_size *size, const struct ir_size **a,
                        const struct ir_size **b)
{
    if (size->op != IR_SIZE_DIV)
        return false;
    const struct ir_size *sum = size->a, *by = size->b;
    *b = by;
    if (by->op == IR_SIZE_CONSTANT && by->value > 1) {
        *a = sum->a;
        return sum->op == IR_SIZE_ADD && sum->b->op == IR_SIZE_CONSTANT &&
               sum->b->value == by->value - 1;
    }
    if (sum->op != IR_SIZE_SUB || sum->b->op != IR_SIZE_CONSTANT || sum->b->value != 1 ||
        sum->a->op != IR_SIZE_ADD || !ir_size_equal(sum->a->b, by))
        return false;
    *a = sum->a->a;
    return true;
}

static bool parse_negative(struct scanner *s, int nesting, struct parsed *out);

static bool parse_factor(struct scanner *s, int nesting, struct parsed *out)
{
    if (nesting > EXPRESSION_DEPTH)
        return fail_limit(s, "brackets inside each other", EXPRESSION_DEPTH);
    if (skip(s, "("))
        return parse_sum(s, nesting + 1, out) && need(s, ")");
    if (skip(s, "-"))
        return parse_negative(s, nesting + 1, out);
    if (is_digit(peek(s, 0)))
        return parse_integer(s, out);
    if (!is_letter(peek(s, 0)))
        return fail_here(s, "a size");
    size_t start = s->at;
    const char *name = scan_name(s);
    bool least = strcmp(name, "min") == 0, up = strcmp(name, "ceil") == 0;
    struct parsed other;
    if ((least || up || strcmp(name, "max") == 0) && skip(s, "("))
        return parse_sum(s, nesting + 1, out) && need(s, ",") &&
               parse_sum(s, nesting + 1, &other) && need(s, ")") &&
               (up ? join_ceil(s, out, &other)
                   : join(s, least ? IR_SIZE_MIN : IR_SIZE_MAX, out, &other));
    return parse_symbol(s, start, name, out);
}

/* A negative number is a constant, anything else is taken from 0. */
static bool parse_negative(struct scanner *s, int nesting, struct parsed *out)
{
    struct parsed operand;
    if (!parse_factor(s, nesting, &operand))
        return false;
    if (operand.size->op == IR_SIZE_CONSTANT) {
        *out = (struct parsed){ir_size_constant(s->arena, -operand.size->value), 1};
        return true;
    }
    *out = (struct parsed){ir_size_constant(s->arena, 0), 1};
    return join(s, IR_SIZE_SUB, out, &operand);
}

static bool parse_product(struct scanner *s, int nesting, struct parsed *out)
{
    if (!parse_factor(s, nesting, out))
        return false;
    for (;;) {
        struct parsed other;
        enum ir_size_op op = skip(s, "*")   ? IR_SIZE_MUL
                             : skip(s, "/") ? IR_SIZE_DIV
                             : skip(s, "%") ? IR_SIZE_MOD
                                            : IR_SIZE_CONSTANT;
        if (op == IR_SIZE_CONSTANT)
            return true;
        if (!parse_factor(s, nesting, &other) || !join(s, op, out, &other))
            return false;
    }
}

static bool parse_sum(struct scanner *s, int nesting, struct parsed *out)
{
    if (!parse_product(s, nesting, out))
        return false;
    for (;;) {
        struct parsed other;
        enum ir_size_op op = skip(s, "+")   ? IR_SIZE_ADD
                             : skip(s, "-") ? IR_SIZE_SUB
                                            : IR_SIZE_CONSTANT;
        if (op == IR_SIZE_CONSTANT)
            return true;
        if (!parse_product(s, nesting, &other) || !join(s, op, out, &other))
            return false;
    }
}

/* a > b is kept as b < a. */
static bool parse_fact(struct scanner *s, struct ir_fact *fact)
{
    static const struct {
        const char *sign;
        enum ir_relation relation;
        bool swapped;
    } RELATIONS[] = {
        {"==", IR_RELATION_EQ, false}, {"!=", IR_RELATION_NE, false}, {"<=", IR_RELATION_LE, false},
        {">=", IR_RELATION_LE, true},  {"<", IR_RELATION_LT, false},  {">", IR_RELATION_LT, true},
    };
    enum { COUNT = sizeof RELATIONS / sizeof *RELATIONS };
    struct parsed a, b;
    pass_blanks(s);
    size_t start = s->at, which = 0;
    if (!parse_sum(s, 0, &a))
        return false;
    while (which < COUNT && !skip(s, RELATIONS[which].sign))
        which++;
    if (which == COUNT)
        return fail_here(s, "a comparison: == != < <= > >=");
    if (!parse_sum(s, 0, &b))
        return false;
    bool swapped = RELATIONS[which].swapped;
    *fact = (struct ir_fact){.relation = RELATIONS[which].relation,
                             .a = swapped ? b.size : a.size,
                             .b = swapped ? a.size : b.size,
                             .place = place_of(s, start, s->at)};
    return true;
}

static struct scanner scanner_new(struct arena *arena, const struct ir_part *part,
                                  struct place text, struct errors *errors)
{
    return (struct scanner){.arena = arena,
                            .part = part,
                            .source = text.source,
                            .at = text.offset,
                            .end = text.offset + text.length,
                            .errors = errors};
}

const struct ir_size *expression_size(struct arena *arena, const struct ir_part *part,
                                      struct place text, struct errors *errors)
{
    struct scanner s = scanner_new(arena, part, text, errors);
    struct parsed parsed;
    if (!parse_sum(&s, 0, &parsed))
        return NULL;
    pass_blanks(&s);
    if (s.at < s.end) {
        fail_here(&s, "an operator or the end of the line");
        return NULL;
    }
    return parsed.size;
}

int expression_sizes(struct arena *arena, const struct ir_part *part, struct place text, int most,
                     const struct ir_size **sizes, struct errors *errors)
{
    struct scanner s = scanner_new(arena, part, text, errors);
    int count = 0;
    do {
        struct parsed parsed;
        if (count == most) {
            fail_here(&s, arena_printf(arena, "no more than %d sizes", most));
            return 0;
        }
        if (!parse_sum(&s, 0, &parsed))
            return 0;
        sizes[count++] = parsed.size;
    } while (skip(&s, ","));
    pass_blanks(&s);
    if (s.at < s.end) {
        fail_here(&s, "an operator, ',' or ')'");
        return 0;
    }
    return count;
}

bool expression_facts(struct arena *arena, const struct ir_part *part, struct place text,
                      struct kernel *kernel, struct errors *errors)
{
    struct scanner s = scanner_new(arena, part, text, errors);
    struct facts VECTOR(struct ir_fact) facts = {0};
    do {
        struct ir_fact *fact = vector_add(arena, &facts);
        if (facts.count > KERNEL_MAX_FACTS)
            return fail_limit(&s, "facts", KERNEL_MAX_FACTS);
        if (!parse_fact(&s, fact))
            return false;
    } while (skip(&s, ","));
    pass_blanks(&s);
    if (s.at < s.end)
        return fail_here(&s, "an operator, ',' or the end of the line");
    kernel->holds = facts.at;
    kernel->holds_count = (int)facts.count;
    return true;
}
