/*
 * Kernels, blocks, leaves and memory: everything of the low form but operations (apply.c).
 */
#include "loop/loop.h"

#include <math.h>

/* ---- kernels ---- */

struct loop_kernel *loop_kernel_new(struct arena *arena, const struct ir_part *part)
{
    struct loop_kernel *kernel = arena_new(arena, struct loop_kernel);
    kernel->arena = arena;
    kernel->part = part;
    return kernel;
}

struct loop_block *loop_block_new(struct arena *arena)
{
    struct loop_block *block = arena_new(arena, struct loop_block);
    block->arena = arena;
    return block;
}

struct loop_block *loop_function(struct loop_kernel *kernel, const char *name, const char *note)
{
    struct loop_function *function = vector_add(kernel->arena, &kernel->functions);
    function->name = name;
    function->note = note;
    function->body = loop_block_new(kernel->arena);
    return function->body;
}

static struct loop_buffer *buffer_new(struct arena *arena, const char *name, enum loop_space space,
                                      enum dtype dtype)
{
    struct loop_buffer *buffer = arena_new(arena, struct loop_buffer);
    *buffer = (struct loop_buffer){
        .name = name, .space = space, .dtype = dtype, .lanes = 1, .tensor = IR_NONE};
    return buffer;
}

void loop_function_plain(struct loop_kernel *kernel, const char *name, const char *note,
                         const struct ir_program *program, const struct loop_buffer *const *tensors)
{
    struct loop_function *function = vector_add(kernel->arena, &kernel->functions);
    function->name = name;
    function->note = note;
    function->plain = program;
    function->tensors = tensors;
}

static const struct ir_size *tensor_count(struct arena *arena, const struct ir_tensor *tensor)
{
    const struct ir_size *count = ir_size_constant(arena, 1);
    for (int i = 0; i < tensor->rank; i++)
        count = ir_size_make(arena, IR_SIZE_MUL, count, tensor->dims[i]);
    return count;
}

const struct loop_buffer *loop_tensor(struct loop_kernel *kernel, int tensor)
{
    for (size_t i = 0; i < kernel->buffers.count; i++) {
        if (kernel->buffers.at[i]->tensor == tensor)
            return kernel->buffers.at[i];
    }
    const struct ir_tensor *of = &kernel->part->tensors[tensor];
    bool argument = of->role == IR_TENSOR_INPUT || of->role == IR_TENSOR_OUTPUT;
    struct loop_buffer *buffer =
        buffer_new(kernel->arena, of->name, argument ? LOOP_TENSOR : LOOP_SCRATCH, of->dtype);
    buffer->tensor = tensor;
    buffer->count = tensor_count(kernel->arena, of);
    vector_push(kernel->arena, &kernel->buffers, buffer);
    return buffer;
}

const struct loop_buffer *loop_scratch(struct loop_kernel *kernel, const char *name,
                                       enum dtype dtype, const struct ir_size *count)
{
    struct loop_buffer *buffer = buffer_new(kernel->arena, name, LOOP_SCRATCH, dtype);
    buffer->count = count;
    vector_push(kernel->arena, &kernel->buffers, buffer);
    return buffer;
}

/* ---- leaves ---- */

static struct loop_expression *expression_new(struct arena *arena, enum loop_op op,
                                              enum dtype dtype, int lanes)
{
    struct loop_expression *expression = arena_new(arena, struct loop_expression);
    expression->op = op;
    expression->type = (struct loop_type){dtype, lanes};
    return expression;
}

loop_value loop_integer(struct arena *arena, int64_t value)
{
    struct loop_expression *expression = expression_new(arena, LOOP_INTEGER, DTYPE_I64, 1);
    expression->integer = value;
    return expression;
}

loop_value loop_bool(struct arena *arena, bool value)
{
    struct loop_expression *expression = expression_new(arena, LOOP_INTEGER, DTYPE_BOOL, 1);
    expression->integer = value;
    return expression;
}

loop_value loop_number(struct arena *arena, double value, enum dtype dtype)
{
    if (!dtype_is_float(dtype)) {
        struct loop_expression *integer = expression_new(arena, LOOP_INTEGER, dtype, 1);
        integer->integer = dtype_truncate(dtype, value);
        return integer;
    }
    struct loop_expression *expression =
        expression_new(arena, LOOP_NUMBER, dtype_compute(dtype), 1);
    expression->number = dtype == DTYPE_F64 ? value : (double)(float)value;
    return expression;
}

loop_value loop_of(struct arena *arena, const struct loop_variable *variable)
{
    struct loop_expression *expression =
        expression_new(arena, LOOP_VARIABLE, variable->type.dtype, variable->type.lanes);
    expression->variable = variable;
    return expression;
}

static loop_value outer_variable(struct arena *arena, enum loop_variable_kind kind,
                                 const char *name, enum dtype dtype, int number)
{
    struct loop_variable *variable = arena_new(arena, struct loop_variable);
    *variable = (struct loop_variable){name, kind, {dtype, 1}, number};
    return loop_of(arena, variable);
}

enum dtype loop_scalar_dtype(const struct ir_part *part, int scalar)
{
    enum dtype dtype = dtype_compute(part->scalars[scalar].dtype);
    for (int i = 0; dtype == DTYPE_F32 && i < part->tensor_count; i++) {
        bool argument =
            part->tensors[i].role == IR_TENSOR_INPUT || part->tensors[i].role == IR_TENSOR_OUTPUT;
        if (argument && part->tensors[i].dtype == DTYPE_F64)
            return DTYPE_F64;
    }
    return dtype;
}

loop_value loop_scalar(struct arena *arena, const struct ir_part *part, int scalar)
{
    return outer_variable(arena, LOOP_SCALAR, part->scalars[scalar].name,
                          loop_scalar_dtype(part, scalar), scalar);
}

static enum ir_op size_operation(enum ir_size_op op)
{
    switch (op) {
    case IR_SIZE_ADD: return IR_ADD;
    case IR_SIZE_SUB: return IR_SUB;
    case IR_SIZE_MUL: return IR_MUL;
    case IR_SIZE_DIV: return IR_FLOORDIV;
    case IR_SIZE_MOD: return IR_FLOORMOD;
    case IR_SIZE_MIN: return IR_MIN;
    default: return IR_MAX;
    }
}

loop_value loop_size(struct arena *arena, const struct ir_part *part, const struct ir_size *size)
{
    if (size->op == IR_SIZE_CONSTANT)
        return loop_integer(arena, size->value);
    if (size->op == IR_SIZE_SYMBOL)
        return outer_variable(arena, LOOP_SYMBOL, part->symbols[size->symbol].name, DTYPE_I64,
                              size->symbol);
    return loop_apply(arena, size_operation(size->op), loop_size(arena, part, size->a),
                      loop_size(arena, part, size->b), NULL);
}

loop_value loop_splat(struct arena *arena, loop_value a, int lanes)
{
    if (a->type.lanes == lanes)
        return a;
    struct loop_expression *expression = expression_new(arena, LOOP_SPLAT, a->type.dtype, lanes);
    expression->a = a;
    return expression;
}

loop_value loop_iota(struct arena *arena, int lanes)
{
    return lanes == 1 ? loop_integer(arena, 0) : expression_new(arena, LOOP_IOTA, DTYPE_I64, lanes);
}

loop_value loop_fold(struct arena *arena, enum ir_monoid_kind monoid, loop_value a)
{
    if (a->type.lanes == 1)
        return a;
    struct loop_expression *expression = expression_new(arena, LOOP_FOLD, a->type.dtype, 1);
    expression->a = a;
    expression->monoid = monoid;
    return expression;
}

loop_value loop_shuffle(struct arena *arena, loop_value a, loop_value b, const int *pattern,
                        int lanes)
{
    struct loop_expression *expression = expression_new(arena, LOOP_SHUFFLE, a->type.dtype, lanes);
    int *kept = arena_array(arena, (size_t)lanes, sizeof *kept);
    for (int i = 0; i < lanes; i++)
        kept[i] = pattern[i];
    expression->a = a;
    expression->b = b;
    expression->pattern = kept;
    return expression;
}

/* ---- words of several operands ---- */

loop_value loop_words(struct arena *arena, const struct loop_buffer *buffer, loop_value offset,
                      int lanes)
{
    struct loop_expression *load = expression_new(arena, LOOP_WORDS, DTYPE_I32, lanes);
    load->buffer = buffer;
    load->offset = offset;
    return load;
}

/* An operation on one vector of f32, and on two values, as wide as the wider one. */
static loop_value of_one(struct arena *arena, enum loop_op op, loop_value a)
{
    struct loop_expression *expression = expression_new(arena, op, DTYPE_F32, a->type.lanes);
    expression->a = a;
    return expression;
}

static loop_value of_two(struct arena *arena, enum loop_op op, enum dtype dtype, loop_value a,
                         loop_value b)
{
    int lanes = a->type.lanes > b->type.lanes ? a->type.lanes : b->type.lanes;
    struct loop_expression *expression = expression_new(arena, op, dtype, lanes);
    expression->a = loop_splat(arena, a, lanes);
    expression->b = loop_splat(arena, b, lanes);
    return expression;
}

loop_value loop_near(struct arena *arena, loop_value a)
{
    return of_one(arena, LOOP_NEAR, a);
}

loop_value loop_pair(struct arena *arena, loop_value low, loop_value high)
{
    return of_two(arena, LOOP_PAIR, DTYPE_I32, low, high);
}

loop_value loop_dot(struct arena *arena, enum loop_words words, loop_value a, loop_value b,
                    loop_value sum)
{
    struct loop_expression *expression =
        expression_new(arena, LOOP_DOT, sum->type.dtype, sum->type.lanes);
    expression->a = loop_splat(arena, a, sum->type.lanes);
    expression->b = loop_splat(arena, b, sum->type.lanes);
    expression->c = sum;
    expression->words = words;
    return expression;
}

/* ---- exponentials of what is known to be near ---- */

loop_value loop_decay(struct arena *arena, loop_value a)
{
    return of_one(arena, LOOP_DECAY, a);
}

loop_value loop_farther(struct arena *arena, loop_value a, loop_value b)
{
    return of_two(arena, LOOP_FARTHER, DTYPE_F32, a, b);
}

/* ---- monoids of width 1 ---- */

loop_value loop_combine(struct arena *arena, enum ir_monoid_kind monoid, loop_value a, loop_value b)
{
    static const enum ir_op OPERATIONS[] = {
        [IR_SUM] = IR_ADD,     [IR_PRODUCT] = IR_MUL, [IR_MAXIMUM] = IR_MAX,
        [IR_MINIMUM] = IR_MIN, [IR_ALL] = IR_AND,     [IR_ANY] = IR_OR,
    };
    return loop_apply(arena, OPERATIONS[monoid], a, b, NULL);
}

static loop_value unit_of_one(struct arena *arena, enum ir_monoid_kind monoid, enum dtype dtype)
{
    bool number = dtype_is_float(dtype);
    switch (monoid) {
    case IR_SUM: return loop_number(arena, 0, dtype);
    case IR_PRODUCT: return loop_number(arena, 1, dtype);
    case IR_ALL: return loop_bool(arena, true);
    case IR_ANY: return loop_bool(arena, false);
    case IR_MINIMUM:
        return number ? loop_number(arena, INFINITY, dtype) : loop_integer(arena, INT64_MAX);
    default: return number ? loop_number(arena, -INFINITY, dtype) : loop_integer(arena, INT64_MIN);
    }
}

loop_value loop_unit(struct arena *arena, enum ir_monoid_kind monoid, struct loop_type type)
{
    return loop_splat(arena, unit_of_one(arena, monoid, type.dtype), type.lanes);
}

/* ---- memory ---- */

enum dtype loop_buffer_dtype(const struct loop_buffer *buffer)
{
    return buffer->space == LOOP_STACK && buffer->lanes > 1 ? buffer->dtype
                                                            : dtype_compute(buffer->dtype);
}

static struct loop_expression *load_new(struct arena *arena, enum loop_op op,
                                        const struct loop_buffer *buffer, loop_value offset,
                                        int lanes)
{
    struct loop_expression *load = expression_new(arena, op, loop_buffer_dtype(buffer), lanes);
    load->buffer = buffer;
    load->offset = offset;
    return load;
}

static bool is_true(loop_value mask)
{
    return mask->op == LOOP_INTEGER && mask->integer != 0;
}

loop_value loop_load(struct arena *arena, const struct loop_buffer *buffer, loop_value offset,
                     int lanes)
{
    return load_new(arena, LOOP_LOAD, buffer, offset, lanes);
}

loop_value loop_load_part(struct arena *arena, const struct loop_buffer *buffer, loop_value offset,
                          int lanes, loop_value count, loop_value otherwise)
{
    struct loop_expression *load = load_new(arena, LOOP_LOAD, buffer, offset, lanes);
    load->count = count;
    load->otherwise = otherwise ? loop_splat(arena, otherwise, lanes) : NULL;
    return load;
}

loop_value loop_load_masked(struct arena *arena, const struct loop_buffer *buffer,
                            loop_value offset, int lanes, loop_value mask, loop_value otherwise)
{
    if (!mask || is_true(mask))
        return loop_load(arena, buffer, offset, lanes);
    struct loop_expression *load = load_new(arena, LOOP_LOAD, buffer, offset, lanes);
    load->mask = loop_splat(arena, mask, lanes);
    load->otherwise = otherwise ? loop_splat(arena, otherwise, lanes) : NULL;
    return load;
}

/* A place of each lane as what all have in common and what is left; NULL: there is no such part. */
struct apart {
    loop_value common, own;
};

static loop_value apart_join(struct arena *arena, enum ir_op op, loop_value a, loop_value b)
{
    if (!a || !b)
        return a || !b || op == IR_ADD ? (a ? a : b) : loop_apply(arena, IR_NEG, b, NULL, NULL);
    return loop_apply(arena, op, a, b, NULL);
}

static struct apart take_apart(struct arena *arena, loop_value place)
{
    if (place->type.lanes == 1)
        return (struct apart){place, NULL};
    if (place->op == LOOP_SPLAT)
        return (struct apart){place->a, NULL};
    if (place->op != LOOP_APPLY || place->type.dtype != DTYPE_I64)
        return (struct apart){NULL, place};
    if (place->apply == IR_ADD || place->apply == IR_SUB) {
        struct apart a = take_apart(arena, place->a), b = take_apart(arena, place->b);
        return (struct apart){apart_join(arena, place->apply, a.common, b.common),
                              apart_join(arena, place->apply, a.own, b.own)};
    }
    if (place->apply == IR_MUL) {
        struct apart a = take_apart(arena, place->a), b = take_apart(arena, place->b);
        struct apart many = a.own ? a : b;
        loop_value factor = a.own ? b.common : a.common;
        if (!a.own != !b.own && many.common)
            return (struct apart){loop_mul(arena, many.common, factor),
                                  loop_mul(arena, many.own, factor)};
    }
    return (struct apart){NULL, place};
}

loop_value loop_gather(struct arena *arena, const struct loop_buffer *buffer, loop_value offset,
                       loop_value mask, loop_value otherwise)
{
    int lanes = offset->type.lanes;
    if (lanes == 1)
        return loop_load_masked(arena, buffer, offset, 1, mask, otherwise);
    struct apart apart = take_apart(arena, offset);
    if (apart.common && apart.own)
        offset = loop_add(arena, apart.common, apart.own);
    struct loop_expression *load = load_new(arena, LOOP_GATHER, buffer, offset, lanes);
    if (mask && !is_true(mask)) {
        load->mask = loop_splat(arena, mask, lanes);
        load->otherwise = otherwise ? loop_splat(arena, otherwise, lanes) : NULL;
    }
    return load;
}

/* ---- statements ---- */

static struct loop_statement *statement_add(struct loop_block *block, enum loop_statement_kind kind)
{
    struct loop_statement *statement = vector_add(block->arena, &block->statements);
    statement->kind = kind;
    return statement;
}

static struct loop_statement *statement_last(struct loop_block *block)
{
    return &block->statements.at[block->statements.count - 1];
}

static struct loop_variable *variable_new(struct arena *arena, const char *name,
                                          enum loop_variable_kind kind, struct loop_type type)
{
    struct loop_variable *variable = arena_new(arena, struct loop_variable);
    *variable = (struct loop_variable){name, kind, type, IR_NONE};
    return variable;
}

struct loop_block *loop_for(struct loop_block *block, enum loop_kind kind, const char *name,
                            loop_value from, loop_value to, loop_value step,
                            struct loop_variable **variable)
{
    struct loop_statement *statement = statement_add(block, LOOP_FOR);
    struct loop_type type = {DTYPE_I64, 1};
    statement->loop = kind;
    statement->from = from;
    statement->to = to;
    statement->step = step ? step : loop_integer(block->arena, 1);
    statement->variable = variable_new(block->arena, name, LOOP_COUNTER, type);
    statement->body = loop_block_new(block->arena);
    if (variable)
        *variable = statement->variable;
    return statement->body;
}

void loop_note_loop(struct loop_block *block, const char *note)
{
    statement_last(block)->note = note;
}

void loop_team(struct loop_block *block)
{
    statement_last(block)->team = true;
}

struct loop_block *loop_if(struct loop_block *block, loop_value condition)
{
    struct loop_statement *statement = statement_add(block, LOOP_IF);
    statement->value = condition;
    statement->body = loop_block_new(block->arena);
    return statement->body;
}

struct loop_block *loop_else(struct loop_block *block)
{
    struct loop_statement *statement = statement_last(block);
    statement->otherwise = loop_block_new(block->arena);
    return statement->otherwise;
}

struct loop_variable *loop_let(struct loop_block *block, const char *name, loop_value value)
{
    struct loop_statement *statement = statement_add(block, LOOP_LET);
    statement->variable = variable_new(block->arena, name, LOOP_LOCAL, value->type);
    statement->value = value;
    return statement->variable;
}

struct loop_variable *loop_hold(struct loop_block *block, const char *name, loop_value value)
{
    struct loop_variable *variable = loop_let(block, name, value);
    statement_last(block)->held = true;
    return variable;
}

void loop_set(struct loop_block *block, struct loop_variable *variable, loop_value value)
{
    struct loop_statement *statement = statement_add(block, LOOP_SET);
    statement->variable = variable;
    statement->value = loop_splat(block->arena, value, variable->type.lanes);
}

const struct loop_buffer *loop_stack(struct loop_block *block, const char *name, enum dtype dtype,
                                     int lanes, int64_t elements)
{
    struct loop_statement *statement = statement_add(block, LOOP_DECLARE);
    struct loop_buffer *buffer = buffer_new(block->arena, name, LOOP_STACK, dtype);
    buffer->lanes = lanes;
    buffer->elements = elements;
    statement->buffer = buffer;
    return buffer;
}

struct loop_statement *loop_store(struct loop_block *block, const struct loop_buffer *buffer,
                                  loop_value offset, loop_value value)
{
    struct loop_statement *statement = statement_add(block, LOOP_STORE);
    statement->buffer = buffer;
    statement->offset = offset;
    statement->scatter = offset->type.lanes > 1;
    statement->value =
        loop_splat(block->arena, value, statement->scatter ? offset->type.lanes : buffer->lanes);
    if (value->type.lanes > 1)
        statement->value = value;
    return statement;
}

struct loop_statement *loop_store_words(struct loop_block *block, const struct loop_buffer *buffer,
                                        loop_value offset, loop_value value)
{
    struct loop_statement *statement = loop_store(block, buffer, offset, value);
    statement->words = true;
    return statement;
}

void loop_note(struct loop_block *block, const char *note)
{
    statement_add(block, LOOP_NOTE)->note = note;
}

void loop_prefetch(struct loop_block *block, const struct loop_buffer *buffer, loop_value offset)
{
    struct loop_statement *statement = statement_add(block, LOOP_PREFETCH);
    statement->buffer = buffer;
    statement->offset = offset;
}

void loop_prefetch_far(struct loop_block *block, const struct loop_buffer *buffer,
                       loop_value offset)
{
    loop_prefetch(block, buffer, offset);
    block->statements.at[block->statements.count - 1].far = true;
}

void loop_clear(struct loop_block *block, int first)
{
    int step = LOOP_CLEAR_STEP, number = (first + step - 1) / step * step;
    if (number <= LOOP_CLEAR_LAST)
        statement_add(block, LOOP_CLEAR)->first = number;
}

/* ---- tiles ---- */

void loop_tile(struct loop_block *block, enum loop_tile action)
{
    statement_add(block, LOOP_TILE)->tile = action;
}

void loop_tile_zero(struct loop_block *block, int tile)
{
    struct loop_statement *statement = statement_add(block, LOOP_TILE);
    statement->tile = LOOP_TILE_ZERO;
    statement->tiles[0] = tile;
}

void loop_tile_dot(struct loop_block *block, enum loop_tile_words words, int sum, int a, int b)
{
    struct loop_statement *statement = statement_add(block, LOOP_TILE);
    statement->tile = LOOP_TILE_DOT;
    statement->tile_words = words;
    statement->tiles[0] = sum;
    statement->tiles[1] = a;
    statement->tiles[2] = b;
}

void loop_tile_move(struct loop_block *block, enum loop_tile action, int tile,
                    const struct loop_buffer *buffer, loop_value offset, loop_value stride)
{
    struct loop_statement *statement = statement_add(block, LOOP_TILE);
    statement->tile = action;
    statement->tiles[0] = tile;
    statement->buffer = buffer;
    statement->offset = offset;
    statement->value = stride;
}
