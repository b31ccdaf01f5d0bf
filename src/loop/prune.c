/*
 * Variables that nobody reads are taken out. Skeletons open indices without asking which of them
 * the values will mention; what is left over would only be in the reader's and the compiler's way.
 */
#include "loop/loop.h"

struct pruning {
    struct map used; /* addresses of variables and of expressions that were seen */
};

static bool is_seen(struct pruning *pruning, const void *address)
{
    if (map_get_bytes(&pruning->used, &address, sizeof address))
        return true;
    map_set_bytes(&pruning->used, &address, sizeof address, pruning);
    return false;
}

static void mark(struct pruning *pruning, loop_value value)
{
    if (!value || is_seen(pruning, value))
        return;
    if (value->variable)
        is_seen(pruning, value->variable);
    const loop_value parts[] = {value->a,    value->b,     value->c,        value->offset,
                                value->mask, value->count, value->otherwise};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        mark(pruning, parts[i]);
}

/* From the end, so that what only unread variables read is unread, too. */
static void prune_block(struct pruning *pruning, struct loop_block *block)
{
    struct loop_statements *statements = &block->statements;
    size_t kept = statements->count;
    for (size_t i = statements->count; i-- > 0;) {
        struct loop_statement statement = statements->at[i];
        if (statement.kind == LOOP_LET &&
            !map_get_bytes(&pruning->used, &statement.variable, sizeof statement.variable))
            continue;
        if (statement.kind == LOOP_SET)
            is_seen(pruning, statement.variable);
        if (statement.otherwise)
            prune_block(pruning, statement.otherwise);
        if (statement.body)
            prune_block(pruning, statement.body);
        const loop_value values[] = {statement.from,  statement.to,   statement.step,
                                     statement.value, statement.mask, statement.count,
                                     statement.offset};
        for (size_t v = 0; v < sizeof values / sizeof *values; v++)
            mark(pruning, values[v]);
        statements->at[--kept] = statement;
    }
    size_t count = statements->count - kept;
    for (size_t i = 0; i < count; i++)
        statements->at[i] = statements->at[kept + i];
    statements->count = count;
}

void loop_prune(struct loop_block *block)
{
    struct pruning pruning = {map_new(block->arena)};
    prune_block(&pruning, block);
}
