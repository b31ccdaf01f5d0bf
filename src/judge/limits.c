/*
 * How far off an element may be: the largest of
 *   - a few units of the accuracy class at the expected value,
 *   - a few times what the oracle's answer moves by on average when every input is disturbed by a
 * unit of the class: no kernel that computes in the class can be expected to do better, and one
 * that computes in a lesser class does thousands of times worse. "A few" grows with the longest
 * reduction, as the error of a plain loop does at worst: like terms added to a large one all round
 * to the same side, half a unit each. It grows up to a thousand: less than what rounding the inputs
 * to the next lesser class costs. The draw with few non-zeros keeps such rounding from averaging
 * out.
 *
 * Of the classes with few bits the next lesser one is only some eight times coarser (f16 and bf16),
 * so there "a few" is two, for lengths of all kinds: what is summed is summed in f32, and what
 * rounding the inputs to the class costs is known from moving them, averaged over more rounds.
 *
 * And twice the worst error of the plain kernel over the draw is always allowed, four times where
 * the next lesser class is thousands of times coarser (plain.c). Outputs of integers and truth
 * values must be equal; so must floats where the class is `exact`.
 */
#include <math.h>
#include <string.h>

#include "judge/private.h"

enum { BLOCK = 64, BF16_BITS = 8, CRUDE_BITS = 4, LONGEST = 2000 };

/* Below its least normal number a type is spaced evenly; and whether denormals of the wide ones
 * count is left to the kernel. */
static double spacing_near_zero(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F64: return 0x1p-1000;
    case DTYPE_F16: return 0x1p-24;
    case DTYPE_F8E4: return 0x1p-9;
    case DTYPE_F8E5: return 0x1p-16;
    default: return 0x1p-116;
    }
}

/* Significant bits of a class; 0: must be exact. */
int limit_class_bits(const char *accuracy)
{
    static const struct {
        const char *name;
        int bits;
    } classes[] = {{"exact", 0}, {"f64", 53}, {"f32", 24}, {"tf32", 11},
                   {"f16", 11},  {"bf16", 8}, {"f8e4", 4}, {"f8e5", 3}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(classes[i].name, accuracy) == 0)
            return classes[i].bits;
    return 24;
}

/* How many values the longest reduction combines, calls and loops included. */
static double longest_reduction(struct arena *arena, const struct ir_binding *binding,
                                const struct ir_stage *stages, int count)
{
    double longest = 1;
    for (int s = 0; s < count; s++) {
        const struct ir_stage *stage = &stages[s];
        double length = 1;
        if (stage->kind == IR_CALL) {
            struct ir_binding *callee = ir_bind_call(arena, binding, stage);
            if (callee)
                length = longest_reduction(arena, callee, callee->part->stages,
                                           callee->part->stage_count);
        } else if (stage->kind == IR_LOOP) {
            length = longest_reduction(arena, binding, stage->body, stage->body_count);
        }
        int first = stage->kind == IR_REDUCE    ? stage->left_count
                    : stage->kind == IR_SCATTER ? 0
                                                : stage->index_count;
        for (int i = first; i < stage->index_count; i++) {
            const struct ir_size *extent = binding->part->indices[stage->indices[i]].extent;
            int64_t value;
            if (extent && ir_size_eval(extent, binding->sizes, &value))
                length *= (double)(value > 0 ? value : 1);
        }
        int64_t along;
        if (stage->kind == IR_SCAN && binding->part->indices[stage->along].extent &&
            ir_size_eval(binding->part->indices[stage->along].extent, binding->sizes, &along))
            length *= (double)(along > 0 ? along : 1);
        longest = fmax(longest, length);
    }
    return longest;
}

/*
 * By chance an element may move little in every disturbance, though rounding harms it as much as
 * its neighbours: it is taken to move at least a share as far as the middle one of its block. What
 * never moves at all depends on no rounding and is left alone, but in the class of the oracle's own
 * arithmetic (`all`): there a unit may be lost in the oracle's rounding.
 */
static void even_out(double *changes, int64_t count, double share, bool all)
{
    for (int64_t start = 0; start < count; start += BLOCK) {
        int64_t end = start + BLOCK < count ? start + BLOCK : count;
        double moving[BLOCK];
        size_t found = 0;
        for (int64_t i = start; i < end; i++)
            if (changes[i] > 0)
                moving[found++] = changes[i];
        double least = found > 2 ? share * statistics_median_in_place(moving, found) : 0;
        for (int64_t i = start; i < end; i++)
            if (all || changes[i] > 0)
                changes[i] = fmax(changes[i], least);
    }
}

static struct limit_rule rule_of(int bits, double length)
{
    struct limit_rule rule = {.bits = bits, .unit = ldexp(1, 1 - bits), .rounds = 3};
    rule.few = 4 + fmin(length, LONGEST) / 2;
    if (bits >= ORACLE_BITS)
        rule.few *= 8;
    rule.moved = 2 * rule.few;
    rule.share = 0.5;
    if (bits <= COARSE_BITS) {
        rule.few = 2;
        rule.moved = bits > BF16_BITS ? 2.5 : 4; /* below bf16 comes f8e4, sixteen times coarser */
        rule.share = 1;
        rule.rounds = 8;
    }
    if (bits <= CRUDE_BITS) { /* nothing is linear any more: a rare leap must be seen once */
        rule.moved = 40;
        rule.rounds = 48;
    }
    return rule;
}

double limit_longest(struct arena *arena, const struct ir_binding *binding)
{
    const struct ir_part *part = binding->part;
    return longest_reduction(arena, binding, part->stages, part->stage_count);
}

struct limit_rule limit_rule_make(struct arena *arena, const struct task *task,
                                  const struct ir_binding *binding)
{
    return rule_of(limit_class_bits(task->accuracy), limit_longest(arena, binding));
}

/* ---- the same in words ---- */

static void print_cases(struct arena *arena, const struct task *task, struct text *out)
{
    enum { MOST_CASES = 8 };
    for (int i = 0; i < task->case_count && i < MOST_CASES; i++) {
        const struct task_case *task_case = &task->cases[i];
        struct error ignored = {0};
        struct ir_binding *binding =
            ir_bind(arena, task_case->program, task_case->sizes, task_case->scalars, &ignored);
        if (!binding)
            continue;
        struct limit_rule rule = limit_rule_make(arena, task, binding);
        text_printf(out, "\ncase %s: %.4g units, %.2g of a value", task_case->text, rule.few,
                    rule.few * rule.unit);
    }
}

const char *judge_accuracy(struct arena *arena, const struct task *task, enum dtype output,
                           bool cases)
{
    const char *class = task->accuracy ? task->accuracy : dtype_name(output);
    const char *repeat = task->deterministic ? "\nRepeated calls must give the very same." : "";
    int bits = limit_class_bits(class), own = limit_class_bits(dtype_name(output));
    struct text out = text_new(arena);
    if (bits == 0 || !dtype_is_float(output)) {
        text_printf(&out, "%s must be equal%s", bits == 0 ? "every element" : "integers and bools",
                    repeat);
        return out.at;
    }
    struct limit_rule rule = rule_of(bits, 0);
    text_printf(&out,
                "class %s, whose unit is %.2g of a value. An element may be off by the most of\n",
                class, rule.unit);
    if (bits <= COARSE_BITS)
        text_printf(&out, "%g units of itself, %g times what it changes by", rule.few, rule.moved);
    else
        text_printf(&out,
                    "%g + %gn units of itself (n: terms of the longest reduction, %d at most),\n"
                    "twice as many times what it changes by",
                    rule.few, rule_of(bits, 2).few / 2 - rule.few / 2, LONGEST);
    text_printf(&out,
                " when every input changes by a unit,\nand %d times the worst error of a plain "
                "kernel. Integers and bools must be equal.%s",
                own > COARSE_BITS ? 4 : 2, repeat);
    if (cases && bits > COARSE_BITS)
        print_cases(arena, task, &out);
    return out.at;
}

void limit_settle(const struct limit_rule *rule, const struct array *expected, double *limits)
{
    int own = limit_class_bits(dtype_name(expected->dtype));
    /* the output is rounded to its type too */
    double floor = fmax(rule->few * rule->unit, ldexp(1, 1 - own));
    double least = spacing_near_zero(expected->dtype);
    even_out(limits, expected->count, rule->share, rule->bits >= ORACLE_BITS);
    for (int64_t i = 0; i < expected->count; i++)
        limits[i] = fmax(floor * fabs(expected->floats[i]) + least, rule->moved * limits[i]);
}
