/*
 * What only functions for devices have: launches, the numbers of blocks and threads, shared
 * memory, barriers, vector moves, atomics, exchanges within a warp and between blocks.
 */
#include "loop/loop.h"

struct loop_block *loop_launch(struct loop_kernel *kernel, const char *name, const char *note,
                               const struct loop_launch *launch)
{
    struct loop_block *body = loop_function(kernel, name, note);
    struct loop_launch *kept = arena_new(kernel->arena, struct loop_launch);
    *kept = *launch;
    kernel->functions.at[kernel->functions.count - 1].launch = kept;
    return body;
}

/* Two values of the same dimension are equal by kind and number, as symbols are. */
static loop_value number_new(struct arena *arena, enum loop_variable_kind kind, const char *name,
                             int dimension)
{
    struct loop_variable *variable = arena_new(arena, struct loop_variable);
    *variable = (struct loop_variable){name, kind, {DTYPE_I64, 1}, dimension};
    return loop_of(arena, variable);
}

loop_value loop_block_number(struct arena *arena, int dimension)
{
    static const char *const NAMES[] = {"block.x", "block.y", "block.z"};
    return number_new(arena, LOOP_BLOCK, NAMES[dimension], dimension);
}

loop_value loop_thread_number(struct arena *arena, int dimension)
{
    static const char *const NAMES[] = {"thread.x", "thread.y", "thread.z"};
    return number_new(arena, LOOP_THREAD, NAMES[dimension], dimension);
}

static struct loop_statement *statement_add(struct loop_block *block, enum loop_statement_kind kind)
{
    struct loop_statement *statement = vector_add(block->arena, &block->statements);
    statement->kind = kind;
    return statement;
}

const struct loop_buffer *loop_shared(struct loop_block *block, const char *name, enum dtype dtype,
                                      int64_t elements)
{
    struct loop_buffer *buffer = arena_new(block->arena, struct loop_buffer);
    *buffer = (struct loop_buffer){.name = name,
                                   .space = LOOP_SHARED,
                                   .dtype = dtype,
                                   .lanes = 1,
                                   .tensor = IR_NONE,
                                   .elements = elements};
    statement_add(block, LOOP_DECLARE)->buffer = buffer;
    return buffer;
}

void loop_barrier(struct loop_block *block)
{
    statement_add(block, LOOP_BARRIER);
}

void loop_memory_barrier(struct loop_block *block)
{
    statement_add(block, LOOP_BARRIER)->memory = true;
}

const struct loop_buffer *loop_posts(struct loop_block *block, const char *name, enum dtype dtype,
                                     int blocks)
{
    const struct loop_buffer *buffer = loop_shared(block, name, dtype, blocks);
    ((struct loop_buffer *)buffer)->posts = blocks;
    return buffer;
}

void loop_cluster_arrive(struct loop_block *block)
{
    statement_add(block, LOOP_BARRIER)->cluster = LOOP_CLUSTER_ARRIVE;
}

void loop_cluster_wait(struct loop_block *block)
{
    statement_add(block, LOOP_BARRIER)->cluster = LOOP_CLUSTER_WAIT;
}

void loop_post(struct loop_block *block, const struct loop_buffer *buffer, loop_value value)
{
    struct loop_statement *statement = statement_add(block, LOOP_POST);
    statement->buffer = buffer;
    statement->value = value;
}

void loop_wait(struct loop_block *block)
{
    statement_add(block, LOOP_BARRIER)->soon = true;
}

void loop_move(struct loop_block *block, const struct loop_buffer *to, loop_value to_offset,
               const struct loop_buffer *from, loop_value from_offset, int elements)
{
    struct loop_statement *statement = statement_add(block, LOOP_MOVE);
    statement->buffer = to;
    statement->offset = to_offset;
    statement->from_buffer = from;
    statement->value = from_offset;
    statement->elements = elements;
}

void loop_atomic(struct loop_block *block, enum ir_monoid_kind monoid,
                 const struct loop_buffer *buffer, loop_value offset, loop_value value)
{
    struct loop_statement *statement = statement_add(block, LOOP_ATOMIC);
    statement->monoid = monoid;
    statement->buffer = buffer;
    statement->offset = offset;
    statement->value = value;
}

loop_value loop_exchange(struct arena *arena, enum loop_exchange exchange, loop_value value,
                         loop_value number, int width)
{
    struct loop_expression *made = arena_new(arena, struct loop_expression);
    made->op = LOOP_EXCHANGE;
    made->type = value->type;
    made->exchange = exchange;
    made->a = value;
    made->b = number;
    made->integer = width;
    return made;
}
