/*
 * What must hold of a kernel before it is printed: types and lanes agree, variables are in scope,
 * buffers are there. A skeleton that breaks it has a fault; the message says where.
 */
#include "loop/loop.h"

#include "ir/ops.h"

struct checker {
    const struct loop_kernel *kernel;
    const char *function;
    bool launched;    /* a function for devices */
    struct map scope; /* address of a variable or buffer -> non-NULL while it is known */
    struct error *error;
};

static bool wrong(const struct checker *checker, const char *what, const char *name)
{
    return error_set(checker->error, ERROR_LOOP_FAULT, "loops of '%s': %s%s%s%s", checker->function,
                     what, *name ? " '" : "", name, *name ? "'" : "");
}

static void enter(struct checker *checker, const void *address)
{
    map_set_bytes(&checker->scope, &address, sizeof address, checker);
}

static void leave(struct checker *checker, const void *address)
{
    map_set_bytes(&checker->scope, &address, sizeof address, NULL);
}

static bool is_known(const struct checker *checker, const void *address)
{
    return map_get_bytes(&checker->scope, &address, sizeof address) != NULL;
}

static bool check_value(struct checker *checker, loop_value value);

/* An argument that may be missing. */
static bool check_part(struct checker *checker, loop_value value)
{
    return !value || check_value(checker, value);
}

static bool check_scalar_integer(struct checker *checker, loop_value value, const char *what)
{
    if (!check_value(checker, value))
        return false;
    if (value->type.lanes != 1 || value->type.dtype != DTYPE_I64)
        return wrong(checker, what, "");
    return true;
}

static bool fits_lanes(loop_value value, int lanes)
{
    return !value || value->type.lanes == 1 || value->type.lanes == lanes;
}

static bool is_truth(loop_value value)
{
    return !value || value->type.dtype == DTYPE_BOOL;
}

/* What LOAD, GATHER and STORE have in common. */
static bool check_access(struct checker *checker, const struct loop_buffer *buffer,
                         loop_value offset, loop_value mask, loop_value count, int lanes,
                         bool spread)
{
    if (!is_known(checker, buffer))
        return wrong(checker, "no such buffer", buffer->name);
    if (!check_value(checker, offset) || !check_part(checker, mask) || !check_part(checker, count))
        return false;
    if (offset->type.dtype != DTYPE_I64 || offset->type.lanes != (spread ? lanes : 1))
        return wrong(checker, "an offset is not one integer, or one per lane, into", buffer->name);
    if (mask && (!is_truth(mask) || mask->type.lanes != lanes))
        return wrong(checker, "a mask has other lanes than what it masks, in", buffer->name);
    if (count && (count->type.lanes != 1 || count->type.dtype != DTYPE_I64))
        return wrong(checker, "a count is not one integer, for", buffer->name);
    if (buffer->lanes > 1 && (lanes != buffer->lanes || spread || mask || count))
        return wrong(checker, "vectors are taken whole from", buffer->name);
    return true;
}

static bool check_apply(struct checker *checker, loop_value value)
{
    loop_value a = value->a, b = value->b, c = value->c;
    int arguments = ir_op_arguments(value->apply);
    const char *name = ir_op_name(value->apply);
    bool select = value->apply == IR_SELECT;
    if (!a || (arguments > 1) != (b != NULL) || (arguments > 2) != (c != NULL))
        return wrong(checker, "wrong number of arguments for", name);
    if (!check_value(checker, a) || !check_part(checker, b) || !check_part(checker, c))
        return false;
    if (!fits_lanes(a, value->type.lanes) || !fits_lanes(b, value->type.lanes) ||
        !fits_lanes(c, value->type.lanes))
        return wrong(checker, "lanes differ in", name);
    loop_value first = select ? b : a, second = select ? c : b;
    if (second && first->type.dtype != second->type.dtype)
        return wrong(checker, "types differ in", name);
    enum ir_op_class class = ir_op_class(value->apply);
    if ((select || class == IR_CLASS_LOGIC) && !is_truth(a))
        return wrong(checker, "no truth value in", name);
    if ((class == IR_CLASS_FLOAT || class == IR_CLASS_TEST) && !dtype_is_float(a->type.dtype))
        return wrong(checker, "no float in", name);
    return true;
}

static bool check_shuffle(struct checker *checker, loop_value value)
{
    loop_value a = value->a, b = value->b ? value->b : value->a;
    if (!check_value(checker, a) || !check_value(checker, b))
        return false;
    if (a->type.lanes != b->type.lanes || a->type.dtype != b->type.dtype || a->type.lanes == 1)
        return wrong(checker, "what is shuffled differs in type or lanes", "");
    for (int i = 0; i < value->type.lanes; i++) {
        if (value->pattern[i] < 0 || value->pattern[i] >= 2 * a->type.lanes)
            return wrong(checker, "a shuffle asks for a lane there is not", "");
    }
    return true;
}

static bool is_words(loop_value value, int lanes)
{
    return value->type.dtype == DTYPE_I32 && value->type.lanes == lanes;
}

static bool check_dot(struct checker *checker, loop_value value)
{
    enum dtype sum = value->words == LOOP_BF16_BF16 ? DTYPE_F32 : DTYPE_I32;
    if (!check_value(checker, value->a) || !check_value(checker, value->b) ||
        !check_value(checker, value->c))
        return false;
    if (!is_words(value->a, value->type.lanes) || !is_words(value->b, value->type.lanes) ||
        value->c->type.lanes != value->type.lanes || value->c->type.dtype != sum)
        return wrong(checker, "what a dot product takes differs in type or lanes", "");
    return true;
}

static bool check_pair(struct checker *checker, loop_value value)
{
    if (!check_value(checker, value->a) || !check_value(checker, value->b))
        return false;
    if (value->a->type.dtype != DTYPE_F32 || value->b->type.dtype != DTYPE_F32)
        return wrong(checker, "a pair is not of f32", "");
    return true;
}

/* NEAR, DECAY, FARTHER: one or two vectors of f32. */
static bool check_near(struct checker *checker, loop_value value)
{
    loop_value a = value->a, b = value->b ? value->b : value->a;
    if (!check_value(checker, a) || !check_value(checker, b))
        return false;
    if (a->type.dtype != DTYPE_F32 || b->type.dtype != DTYPE_F32 ||
        a->type.lanes != value->type.lanes || b->type.lanes != value->type.lanes)
        return wrong(checker, "vectors are not of f32, or differ in lanes", "");
    return true;
}

static bool check_variable(struct checker *checker, const struct loop_variable *variable)
{
    const struct ir_part *part = checker->kernel->part;
    int number = variable->number;
    if (variable->kind == LOOP_SYMBOL)
        return (number >= 0 && number < part->symbol_count) ||
               wrong(checker, "no such size", variable->name);
    if (variable->kind == LOOP_SCALAR)
        return (number >= 0 && number < part->scalar_count) ||
               wrong(checker, "no such scalar", variable->name);
    if (variable->kind == LOOP_BLOCK || variable->kind == LOOP_THREAD)
        return (checker->launched && number >= 0 && number < 3) ||
               wrong(checker, "no thread of a device asks for", variable->name);
    return is_known(checker, variable) || wrong(checker, "not in scope:", variable->name);
}

static bool check_value(struct checker *checker, loop_value value)
{
    int lanes = value->type.lanes;
    if (lanes < 1 || lanes > LOOP_MAX_LANES || (lanes & (lanes - 1)) != 0)
        return wrong(checker, "lanes are not a power of two up to 64", "");
    switch (value->op) {
    case LOOP_INTEGER:
    case LOOP_NUMBER:
    case LOOP_IOTA: return true;
    case LOOP_VARIABLE: return check_variable(checker, value->variable);
    case LOOP_APPLY: return check_apply(checker, value);
    case LOOP_LOAD:
    case LOOP_GATHER:
        if (value->otherwise && value->otherwise->type.dtype != value->type.dtype)
            return wrong(checker, "the value where nothing is read has another type, of",
                         value->buffer->name);
        return check_access(checker, value->buffer, value->offset, value->mask, value->count, lanes,
                            value->op == LOOP_GATHER) &&
               check_part(checker, value->otherwise);
    case LOOP_SPLAT:
        return check_value(checker, value->a) &&
               (value->a->type.lanes == 1 || wrong(checker, "a vector is splat", ""));
    case LOOP_FOLD: return check_value(checker, value->a);
    case LOOP_SHUFFLE: return check_shuffle(checker, value);
    case LOOP_WORDS:
        return check_access(checker, value->buffer, value->offset, NULL, NULL, lanes, false);
    case LOOP_PAIR: return check_pair(checker, value);
    case LOOP_DOT: return check_dot(checker, value);
    case LOOP_NEAR:
    case LOOP_DECAY:
    case LOOP_FARTHER: return check_near(checker, value);
    case LOOP_EXCHANGE:
        return check_value(checker, value->a) &&
               check_scalar_integer(checker, value->b, "an exchange is with no integer");
    }
    return wrong(checker, "no such expression", "");
}

static bool check_block(struct checker *checker, const struct loop_block *block);

static bool check_for(struct checker *checker, const struct loop_statement *statement)
{
    if (!check_scalar_integer(checker, statement->from, "a bound is no integer") ||
        !check_scalar_integer(checker, statement->to, "a bound is no integer") ||
        !check_scalar_integer(checker, statement->step, "a step is no integer"))
        return false;
    if (statement->step->op == LOOP_INTEGER && statement->step->integer <= 0)
        return wrong(checker, "does not go up:", statement->variable->name);
    enter(checker, statement->variable);
    bool ok = check_block(checker, statement->body);
    leave(checker, statement->variable);
    return ok;
}

static bool check_store(struct checker *checker, const struct loop_statement *statement)
{
    const struct loop_buffer *buffer = statement->buffer;
    loop_value value = statement->value;
    if (!check_value(checker, value))
        return false;
    enum dtype wanted = loop_buffer_dtype(buffer), found = value->type.dtype;
    if (statement->words && (found != DTYPE_I32 || buffer->lanes > 1))
        return wrong(checker, "what is stored as words is no words, to", buffer->name);
    if (!statement->words && wanted != found &&
        !(dtype_is_float(wanted) && dtype_is_float(found)) &&
        !(dtype_is_integer(wanted) && dtype_is_integer(found)))
        return wrong(checker, "a value of another kind is stored to", buffer->name);
    return check_access(checker, buffer, statement->offset, statement->mask, statement->count,
                        value->type.lanes, statement->scatter);
}

static bool check_tile(struct checker *checker, const struct loop_statement *statement)
{
    for (int i = 0; i < 3; i++) {
        if (statement->tiles[i] < 0 || statement->tiles[i] > 7)
            return wrong(checker, "no such tile", "");
    }
    if (statement->tile < LOOP_TILE_LOAD || statement->tile > LOOP_TILE_STORE)
        return true;
    if (!is_known(checker, statement->buffer))
        return wrong(checker, "no such buffer", statement->buffer->name);
    return check_scalar_integer(checker, statement->offset, "an offset is no integer") &&
           check_scalar_integer(checker, statement->value, "a distance is no integer");
}

static bool check_move(struct checker *checker, const struct loop_statement *statement)
{
    const struct loop_buffer *to = statement->buffer, *from = statement->from_buffer;
    int64_t bytes = (int64_t)dtype_bytes(to->dtype) * statement->elements;
    if (!checker->launched || to->dtype != from->dtype || bytes > 16 || statement->elements < 1 ||
        (bytes & (bytes - 1)) != 0)
        return wrong(checker, "what is moved is of two types or too much, to", to->name);
    return check_access(checker, to, statement->offset, NULL, NULL, 1, false) &&
           check_access(checker, from, statement->value, NULL, NULL, 1, false);
}

static bool check_atomic(struct checker *checker, const struct loop_statement *statement)
{
    enum dtype dtype = statement->buffer->dtype;
    bool wide = dtype == DTYPE_F32 || dtype == DTYPE_F64 || dtype == DTYPE_I64;
    if (!checker->launched || statement->monoid > IR_MINIMUM || !wide)
        return wrong(checker, "nothing atomic of this kind, to", statement->buffer->name);
    return check_store(checker, statement);
}

static bool check_post(struct checker *checker, const struct loop_statement *statement)
{
    const struct loop_buffer *buffer = statement->buffer;
    if (!checker->launched || buffer->posts < 2 || !is_known(checker, buffer))
        return wrong(checker, "nothing is posted to", buffer->name);
    return check_value(checker, statement->value) &&
           ((statement->value->type.dtype == buffer->dtype && statement->value->type.lanes == 1) ||
            wrong(checker, "a value of another kind is posted to", buffer->name));
}

static bool same_type(struct loop_type a, struct loop_type b)
{
    return a.dtype == b.dtype && a.lanes == b.lanes;
}

static bool check_statement(struct checker *checker, const struct loop_statement *statement)
{
    switch (statement->kind) {
    case LOOP_FOR: return check_for(checker, statement);
    case LOOP_IF:
        if (!check_value(checker, statement->value))
            return false;
        if (statement->value->type.lanes != 1 || !is_truth(statement->value))
            return wrong(checker, "a condition is no single truth value", "");
        return check_block(checker, statement->body) &&
               (!statement->otherwise || check_block(checker, statement->otherwise));
    case LOOP_LET:
        if (!check_value(checker, statement->value))
            return false;
        enter(checker, statement->variable);
        return true;
    case LOOP_SET:
        if (!is_known(checker, statement->variable))
            return wrong(checker, "not in scope:", statement->variable->name);
        return check_value(checker, statement->value) &&
               (same_type(statement->value->type, statement->variable->type) ||
                wrong(checker, "set to another type:", statement->variable->name));
    case LOOP_DECLARE: enter(checker, statement->buffer); return true;
    case LOOP_STORE: return check_store(checker, statement);
    case LOOP_NOTE:
    case LOOP_CLEAR: return true;
    case LOOP_PREFETCH:
        return check_access(checker, statement->buffer, statement->offset, NULL, NULL, 1, false);
    case LOOP_TILE: return check_tile(checker, statement);
    case LOOP_BARRIER: return checker->launched || wrong(checker, "a barrier outside a device", "");
    case LOOP_MOVE: return check_move(checker, statement);
    case LOOP_ATOMIC: return check_atomic(checker, statement);
    case LOOP_POST: return check_post(checker, statement);
    }
    return wrong(checker, "no such statement", "");
}

static bool check_block(struct checker *checker, const struct loop_block *block)
{
    for (size_t i = 0; i < block->statements.count; i++) {
        if (!check_statement(checker, &block->statements.at[i]))
            return false;
    }
    for (size_t i = 0; i < block->statements.count; i++) {
        const struct loop_statement *statement = &block->statements.at[i];
        if (statement->kind == LOOP_LET)
            leave(checker, statement->variable);
        if (statement->kind == LOOP_DECLARE)
            leave(checker, statement->buffer);
    }
    return true;
}

bool loop_check(const struct loop_kernel *kernel, struct error *error)
{
    struct checker checker = {kernel, "", false, map_new(kernel->arena), error};
    for (size_t i = 0; i < kernel->buffers.count; i++)
        enter(&checker, kernel->buffers.at[i]);
    for (size_t i = 0; i < kernel->functions.count; i++) {
        const struct loop_function *function = &kernel->functions.at[i];
        checker.function = function->name;
        checker.launched = function->launch != NULL;
        if (!function->body && !function->plain)
            return wrong(&checker, "neither a body nor a program", "");
        if (function->body && !check_block(&checker, function->body))
            return false;
    }
    return true;
}
