/*
 * Held cases: sizes the task does not name, drawn inside its `sizes` ranges and inside what the
 * kernel says it holds for. A kernel that works at the listed sizes only is found out by them. They
 * are small, since they are there for being right and not for being fast.
 */
#include <math.h>
#include <string.h>

#include "judge/private.h"

enum { TRIES = 400, MOST_ELEMENTS = 1 << 16 };

static const double most_operations = 4e6;

static const struct task_range *find_range(const struct task *task, const struct ir_symbol *symbol)
{
    for (int i = 0; i < task->range_count; i++)
        if (strcmp(task->ranges[i].name, symbol->family ? symbol->family : symbol->name) == 0)
            return &task->ranges[i];
    return NULL;
}

/* Small ones are as likely as large ones, round ones as odd ones. */
static int64_t draw_size(const struct task_range *range, int64_t listed, struct random *random)
{
    double low = range->low > 1 ? (double)range->low : 1, high = (double)range->high;
    if (random_below(random, 4) == 0 && listed >= range->low && listed <= range->high)
        return listed;
    int64_t size =
        high <= low ? range->low : (int64_t)(low * pow(high / low + 0.999, random_uniform(random)));
    int64_t unit = (int64_t)1 << random_below(random, 8);
    if (random_below(random, 2))
        size = size / unit * unit;
    return size < range->low ? range->low : size > range->high ? range->high : size;
}

static bool is_small(const struct ir_binding *binding)
{
    double elements = 0;
    for (int i = 0; i < binding->part->tensor_count; i++)
        elements += (double)ir_tensor_shape(binding, i, NULL);
    return elements <= MOST_ELEMENTS && ir_operations(binding) <= most_operations;
}

static bool is_listed(const struct task *task, const struct ir_program *program,
                      const int64_t *sizes)
{
    size_t bytes = (size_t)ir_root(program)->symbol_count * sizeof *sizes;
    for (int i = 0; i < task->case_count; i++)
        if (task->cases[i].program == program && memcmp(task->cases[i].sizes, sizes, bytes) == 0)
            return true;
    return false;
}

/* How many sizes no case of the task has, and how many of them could be drawn. */
static int count_new(const struct task *task, const struct task_case *like, const int64_t *sizes,
                     int *drawn)
{
    const struct ir_part *part = ir_root(like->program);
    int count = 0;
    *drawn = 0;
    for (int s = 0; s < part->symbol_count; s++) {
        const struct task_range *range = find_range(task, &part->symbols[s]);
        bool known = false;
        if (!range || range->low == range->high)
            continue;
        for (int i = 0; i < task->case_count && !known; i++)
            known = task->cases[i].program == like->program && task->cases[i].sizes[s] == sizes[s];
        count += !known;
        (*drawn)++;
    }
    return count;
}

static const char *describe(struct arena *arena, const struct ir_part *part, const int64_t *sizes)
{
    struct text text = text_new(arena);
    for (int i = 0; i < part->symbol_count; i++)
        if (part->symbols[i].kind != IR_SYMBOL_LET)
            text_printf(&text, "%s%s=%lld", text.length ? ", " : "", part->symbols[i].name,
                        (long long)sizes[i]);
    return text.at;
}

/*
 * A kernel may know the sizes it is shown one by one, so that their combinations tell it nothing.
 * At first some of the sizes have to be new, one or more up to all of them; where there are none
 * such, what no case is as a whole will do.
 */
bool held_make(struct arena *arena, const struct task *task, const struct task_case *like,
               const struct kernel *kernel, uint64_t seed, struct task_case *out)
{
    const struct ir_part *part = ir_root(like->program);
    struct random random = random_new(seed, 77);
    int64_t *sizes = arena_array(arena, (size_t)part->symbol_count + 1, sizeof *sizes);
    double share = random_uniform(&random);
    for (int try = 0; try < TRIES && task->range_count > 0; try++) {
        int drawn;
        for (int i = 0; i < part->symbol_count; i++) {
            const struct task_range *range = find_range(task, &part->symbols[i]);
            sizes[i] = range ? draw_size(range, like->sizes[i], &random) : like->sizes[i];
        }
        struct error ignored = {0};
        struct ir_binding *binding = ir_bind(arena, like->program, sizes, like->scalars, &ignored);
        if (!binding || !is_small(binding) || is_listed(task, like->program, binding->sizes) ||
            !kernel_holds(kernel, binding->sizes, NULL))
            continue;
        int fresh = count_new(task, like, binding->sizes, &drawn);
        int wanted = try < TRIES / 2 ? 1 + (int)(share * (drawn - 1) + 0.5) : 1;
        if (fresh < wanted && try < 3 * TRIES / 4)
            continue;
        *out = *like;
        out->sizes = binding->sizes;
        out->text = describe(arena, part, binding->sizes);
        out->timed = false;
        return true;
    }
    return false;
}
