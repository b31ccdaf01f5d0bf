/*
 * Instances: which parts a program runs at which sizes, and how often. Equal ones are counted as
 * one.
 *
 * Parts are walked from the root down, callers before callees, so that an instance's count is final
 * when its own calls are walked: each instance is walked once, however many paths lead to it.
 */
#include <string.h>

#include "ir/normal.h"

enum {
    INSTANCES_OF_PART = 1000, /* told apart; further ones of a part are listed as one */
    INSTANCES_IN_ALL = 20000,
};

struct instance {
    struct ir_instance seen;
    const struct normal **values; /* one per symbol of the part */
    struct instance *next;        /* of the same part */
};

struct tally { /* the instances of one part, in order of discovery */
    struct instance *first, **last;
    int count;
};

struct walk {
    struct arena *arena;
    struct normals normals;
    struct map known;        /* part and sizes -> struct instance */
    struct map part_numbers; /* address of a part -> number + 1 */
    struct tally *tallies;   /* one per part */
    int total;
};

static void print_sizes(struct walk *walk, struct text *out, const struct ir_part *part,
                        const struct normal *const *values)
{
    const char *separator = "";

    for (int i = 0; i < part->symbol_count; i++) {
        if (part->symbols[i].kind == IR_SYMBOL_LET)
            continue;
        text_printf(out, "%s%s=", separator, part->symbols[i].name);
        normal_print(out, &walk->normals, values[i]);
        separator = ", ";
    }
}

/* The values of the callee's symbols, lets computed from the ones before. */
static const struct normal **callee_values(struct walk *walk, const struct instance *caller,
                                           const struct ir_stage *call)
{
    const struct ir_part *part = call->callee;
    const struct normal **values =
        arena_array(walk->arena, (size_t)part->symbol_count, sizeof *values);

    for (int i = 0; i < part->symbol_count; i++) {
        if (part->symbols[i].kind == IR_SYMBOL_LET)
            values[i] = normal_size(&walk->normals, part->symbols[i].definition, values);
        else
            values[i] = normal_size(&walk->normals, call->sizes[i], caller->values);
    }
    return values;
}

/* Values of which nothing is known, for the instances that are no longer told apart. */
static const struct normal **unknown_values(struct walk *walk, const struct ir_part *part)
{
    const struct normal **values =
        arena_array(walk->arena, (size_t)part->symbol_count, sizeof *values);

    for (int i = 0; i < part->symbol_count; i++)
        values[i] = normal_atom(&walk->normals, "?");
    return values;
}

static int part_number(const struct walk *walk, const struct ir_part *part)
{
    return (int)((intptr_t)map_get_bytes(&walk->part_numbers, &part, sizeof part) - 1);
}

static struct instance *instance_find(struct walk *walk, const struct ir_part *part,
                                      const struct normal **values, const char *sizes)
{
    int number = part_number(walk, part);
    const char *key = arena_printf(walk->arena, "%d %s", number, sizes);
    struct instance *instance = map_get(&walk->known, key);

    if (instance)
        return instance;
    instance = arena_new(walk->arena, struct instance);
    instance->seen = (struct ir_instance){.part = part, .sizes = sizes};
    instance->values = values;
    map_set(&walk->known, key, instance);
    struct tally *tally = &walk->tallies[number];
    *tally->last = instance;
    tally->last = &instance->next;
    tally->count++;
    walk->total++;
    return instance;
}

static void count_call(struct walk *walk, const struct instance *caller,
                       const struct ir_stage *call)
{
    const struct ir_part *part = call->callee;
    struct tally *tally = &walk->tallies[part_number(walk, part)];
    const struct normal **values;
    struct text sizes = text_new(walk->arena);

    if (tally->count >= INSTANCES_OF_PART || walk->total >= INSTANCES_IN_ALL) {
        values = unknown_values(walk, part);
        text_add(&sizes, "other sizes");
    } else {
        values = callee_values(walk, caller, call);
        print_sizes(walk, &sizes, part, values);
    }
    struct instance *callee = instance_find(walk, part, values, sizes.at);
    if (__builtin_add_overflow(callee->seen.calls, caller->seen.calls, &callee->seen.calls))
        callee->seen.calls = INT64_MAX;
}

static void count_calls(struct walk *walk, const struct instance *caller,
                        const struct ir_stage *stages, int count)
{
    for (int i = 0; i < count; i++) {
        if (stages[i].kind == IR_CALL)
            count_call(walk, caller, &stages[i]);
        else if (stages[i].kind == IR_LOOP)
            count_calls(walk, caller, stages[i].body, stages[i].body_count);
    }
}

static void walk_root(struct walk *walk, const struct ir_part *root)
{
    struct instance self = {.seen = {.part = root, .calls = 1}};

    self.values = arena_array(walk->arena, (size_t)root->symbol_count, sizeof *self.values);
    /* The root's lets stay names: that is how its reader knows them. */
    for (int i = 0; i < root->symbol_count; i++)
        self.values[i] = normal_atom(&walk->normals, root->symbols[i].name);
    count_calls(walk, &self, root->stages, root->stage_count);
}

void ir_list_instances(struct arena *arena, const struct ir_program *program,
                       struct ir_instances *out)
{
    struct walk walk = {
        .arena = arena,
        .normals = normals_new(arena),
        .known = map_new(arena),
        .part_numbers = map_new(arena),
        .tallies = arena_array(arena, (size_t)program->part_count, sizeof *walk.tallies),
    };

    for (int i = 0; i < program->part_count; i++) {
        const struct ir_part *part = program->parts[i];
        map_set_bytes(&walk.part_numbers, &part, sizeof part, (void *)(intptr_t)(i + 1));
        walk.tallies[i].last = &walk.tallies[i].first;
    }
    walk_root(&walk, ir_root(program));
    for (int i = program->part_count - 1; i >= 0; i--) {
        for (struct instance *at = walk.tallies[i].first; at; at = at->next) {
            vector_push(arena, out, at->seen);
            count_calls(&walk, at, at->seen.part->stages, at->seen.part->stage_count);
        }
    }
}
