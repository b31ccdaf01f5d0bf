/*
 * The text form of loops, for people and tests. Not read back: loops are always made from a plan.
 */
#include "loop/loop.h"

static void print_value(struct text *out, loop_value value);

static void print_type(struct text *out, struct loop_type type)
{
    text_add(out, dtype_name(type.dtype));
    if (type.lanes > 1)
        text_printf(out, "x%d", type.lanes);
}

static const char *infix_of(enum ir_op op)
{
    switch (op) {
    case IR_ADD: return "+";
    case IR_SUB: return "-";
    case IR_MUL: return "*";
    case IR_DIV: return "/";
    case IR_EQ: return "==";
    case IR_NE: return "!=";
    case IR_LT: return "<";
    case IR_LE: return "<=";
    default: return NULL;
    }
}

static void print_apply(struct text *out, loop_value value)
{
    const char *infix = infix_of(value->apply);
    if (infix) {
        text_char(out, '(');
        print_value(out, value->a);
        text_printf(out, " %s ", infix);
        print_value(out, value->b);
        text_char(out, ')');
        return;
    }
    if (value->apply == IR_CAST || value->apply == IR_TO_FLOAT)
        text_add(out,
                 value->apply == IR_CAST ? dtype_name(value->cast) : dtype_name(value->type.dtype));
    else
        text_add(out, ir_op_name(value->apply));
    text_char(out, '(');
    print_value(out, value->a);
    for (int i = 0; i < 2; i++) {
        loop_value next = i == 0 ? value->b : value->c;
        if (!next)
            continue;
        text_add(out, ", ");
        print_value(out, next);
    }
    text_char(out, ')');
}

/* " count n", " mask m", " else v": what is not for all lanes. */
static void print_limits(struct text *out, loop_value mask, loop_value count, loop_value otherwise)
{
    const char *const words[] = {" count ", " mask ", " else "};
    loop_value values[] = {count, mask, otherwise};
    for (int i = 0; i < 3; i++) {
        if (!values[i])
            continue;
        text_add(out, words[i]);
        print_value(out, values[i]);
    }
}

static void print_load(struct text *out, loop_value value)
{
    text_printf(out, "%s%s[",
                value->op == LOOP_GATHER  ? "gather "
                : value->op == LOOP_WORDS ? "words "
                                          : "",
                value->buffer->name);
    print_value(out, value->offset);
    text_char(out, ']');
    if (value->type.lanes > 1 && value->op != LOOP_GATHER && value->buffer->lanes == 1)
        text_printf(out, ".x%d", value->type.lanes);
    print_limits(out, value->mask, value->count, value->otherwise);
}

static void print_shuffle(struct text *out, loop_value value)
{
    text_add(out, "shuffle(");
    print_value(out, value->a);
    if (value->b) {
        text_add(out, ", ");
        print_value(out, value->b);
    }
    text_add(out, ";");
    for (int i = 0; i < value->type.lanes; i++)
        text_printf(out, " %d", value->pattern[i]);
    text_char(out, ')');
}

/* pair(low, high), dot bf16(a, b) + sum */
static void print_words(struct text *out, loop_value value)
{
    bool dot = value->op == LOOP_DOT;
    text_add(out, !dot ? "pair(" : value->words == LOOP_BF16_BF16 ? "dot bf16(" : "dot u8 i8(");
    print_value(out, value->a);
    text_add(out, ", ");
    print_value(out, value->b);
    text_add(out, dot ? ") + " : ")");
    if (dot)
        print_value(out, value->c);
}

/* near bf16(a), decay(a), farther(a, b) */
static void print_near(struct text *out, loop_value value)
{
    text_add(out, value->op == LOOP_NEAR ? "near bf16(" : value->b ? "farther(" : "decay(");
    print_value(out, value->a);
    if (value->b) {
        text_add(out, ", ");
        print_value(out, value->b);
    }
    text_char(out, ')');
}

/* exchange xor 8 of 32(sum) */
static void print_exchange(struct text *out, loop_value value)
{
    static const char *const NAMES[] = {"xor", "up", "from"};
    text_printf(out, "exchange %s ", NAMES[value->exchange]);
    print_value(out, value->b);
    text_printf(out, " of %lld(", (long long)value->integer);
    print_value(out, value->a);
    text_char(out, ')');
}

static const char *monoid_name(enum ir_monoid_kind monoid)
{
    static const char *const NAMES[] = {
        [IR_SUM] = "sum",     [IR_PRODUCT] = "product", [IR_MAXIMUM] = "max",
        [IR_MINIMUM] = "min", [IR_ALL] = "all",         [IR_ANY] = "any",
    };
    return monoid <= IR_ANY ? NAMES[monoid] : "?";
}

static void print_value(struct text *out, loop_value value)
{
    switch (value->op) {
    case LOOP_INTEGER:
        if (value->type.dtype == DTYPE_BOOL)
            text_add(out, value->integer ? "true" : "false");
        else
            text_printf(out, "%lld", (long long)value->integer);
        break;
    case LOOP_NUMBER: text_double(out, value->number); break;
    case LOOP_VARIABLE: text_add(out, value->variable->name); break;
    case LOOP_APPLY: print_apply(out, value); break;
    case LOOP_LOAD:
    case LOOP_GATHER: print_load(out, value); break;
    case LOOP_SPLAT:
        text_printf(out, "splat%d(", value->type.lanes);
        print_value(out, value->a);
        text_char(out, ')');
        break;
    case LOOP_IOTA: text_printf(out, "iota%d", value->type.lanes); break;
    case LOOP_FOLD:
        text_printf(out, "fold %s(", monoid_name(value->monoid));
        print_value(out, value->a);
        text_char(out, ')');
        break;
    case LOOP_SHUFFLE: print_shuffle(out, value); break;
    case LOOP_WORDS: print_load(out, value); break;
    case LOOP_PAIR:
    case LOOP_DOT: print_words(out, value); break;
    case LOOP_NEAR:
    case LOOP_DECAY:
    case LOOP_FARTHER: print_near(out, value); break;
    case LOOP_EXCHANGE: print_exchange(out, value); break;
    }
}

static void print_block(struct text *out, const struct loop_block *block, int indent);

static void print_for(struct text *out, const struct loop_statement *statement, int indent)
{
    static const char *const KINDS[] = {
        [LOOP_SERIAL] = "for", [LOOP_PARALLEL] = "parallel", [LOOP_UNROLL] = "unroll"};
    text_printf(out, "%s%s%s %s = ", statement->team ? "team " : "",
                statement->dynamic ? "dynamic " : "", KINDS[statement->loop],
                statement->variable->name);
    print_value(out, statement->from);
    text_add(out, " .. ");
    print_value(out, statement->to);
    text_add(out, " by ");
    print_value(out, statement->step);
    text_printf(out, "%s%s\n", statement->note ? "   # " : "",
                statement->note ? statement->note : "");
    print_block(out, statement->body, indent + 1);
}

static void print_store(struct text *out, const struct loop_statement *statement)
{
    text_printf(out, "%s%s%s%s[", statement->streaming ? "stream " : "",
                statement->scatter ? "scatter " : "", statement->words ? "words " : "",
                statement->buffer->name);
    print_value(out, statement->offset);
    text_add(out, "] = ");
    print_value(out, statement->value);
    print_limits(out, statement->mask, statement->count, NULL);
    text_char(out, '\n');
}

static void print_tile(struct text *out, const struct loop_statement *statement)
{
    static const char *const NAMES[] = {"begin",     "end",   "zero", "load",
                                        "load once", "store", "dot"};
    static const char *const WORDS[] = {"bf16", "i8 i8", "i8 u8", "u8 i8", "u8 u8"};
    text_printf(out, "tile %s", NAMES[statement->tile]);
    if (statement->tile == LOOP_TILE_DOT)
        text_printf(out, " %s %d %d %d", WORDS[statement->tile_words], statement->tiles[0],
                    statement->tiles[1], statement->tiles[2]);
    else if (statement->tile >= LOOP_TILE_ZERO)
        text_printf(out, " %d", statement->tiles[0]);
    if (statement->buffer) {
        text_printf(out, " %s[", statement->buffer->name);
        print_value(out, statement->offset);
        text_add(out, "] by ");
        print_value(out, statement->value);
    }
    text_char(out, '\n');
}

static void print_move(struct text *out, const struct loop_statement *statement)
{
    text_printf(out, "move %s[", statement->buffer->name);
    print_value(out, statement->offset);
    text_printf(out, "].x%d = %s[", statement->elements, statement->from_buffer->name);
    print_value(out, statement->value);
    text_add(out, "]\n");
}

static void print_atomic(struct text *out, const struct loop_statement *statement)
{
    text_printf(out, "atomic %s %s[", monoid_name(statement->monoid), statement->buffer->name);
    print_value(out, statement->offset);
    text_add(out, "] = ");
    print_value(out, statement->value);
    text_char(out, '\n');
}

static void print_statement(struct text *out, const struct loop_statement *statement, int indent)
{
    text_repeat(out, ' ', 4L * indent);
    switch (statement->kind) {
    case LOOP_FOR: print_for(out, statement, indent); break;
    case LOOP_IF:
        text_add(out, "if ");
        print_value(out, statement->value);
        text_char(out, '\n');
        print_block(out, statement->body, indent + 1);
        if (statement->otherwise) {
            text_repeat(out, ' ', 4L * indent);
            text_add(out, "else\n");
            print_block(out, statement->otherwise, indent + 1);
        }
        break;
    case LOOP_LET:
    case LOOP_SET:
        if (statement->kind == LOOP_LET) {
            text_add(out, statement->held ? "hold " : "");
            print_type(out, statement->variable->type);
            text_char(out, ' ');
        }
        text_printf(out, "%s = ", statement->variable->name);
        print_value(out, statement->value);
        text_char(out, '\n');
        break;
    case LOOP_DECLARE:
        text_add(out, statement->buffer->space == LOOP_SHARED ? "shared " : "");
        print_type(out, (struct loop_type){statement->buffer->dtype, statement->buffer->lanes});
        text_printf(out, " %s[%lld]\n", statement->buffer->name,
                    (long long)statement->buffer->elements);
        break;
    case LOOP_STORE: print_store(out, statement); break;
    case LOOP_NOTE: text_printf(out, "# %s\n", statement->note); break;
    case LOOP_PREFETCH:
        text_printf(out, "prefetch %s%s[", statement->far ? "far " : "", statement->buffer->name);
        print_value(out, statement->offset);
        text_add(out, "]\n");
        break;
    case LOOP_CLEAR: text_printf(out, "clear %d\n", statement->first); break;
    case LOOP_TILE: print_tile(out, statement); break;
    case LOOP_BARRIER:
        text_add(out, statement->soon                             ? "wait\n"
                      : statement->memory                         ? "memory barrier\n"
                      : statement->cluster == LOOP_CLUSTER_ALONE  ? "barrier\n"
                      : statement->cluster == LOOP_CLUSTER_ARRIVE ? "cluster arrive\n"
                                                                  : "cluster wait\n");
        break;
    case LOOP_MOVE: print_move(out, statement); break;
    case LOOP_ATOMIC: print_atomic(out, statement); break;
    case LOOP_POST:
        text_printf(out, "post %s = ", statement->buffer->name);
        print_value(out, statement->value);
        text_char(out, '\n');
        break;
    }
}

static void print_block(struct text *out, const struct loop_block *block, int indent)
{
    for (size_t i = 0; i < block->statements.count; i++)
        print_statement(out, &block->statements.at[i], indent);
}

static void print_launch(struct text *out, const struct loop_kernel *kernel,
                         const struct loop_launch *launch)
{
    text_add(out, "    launch grid(");
    for (int i = 0; i < 3 && launch->grid[i]; i++) {
        text_add(out, i ? ", " : "");
        ir_size_print(out, launch->grid[i], kernel->part);
    }
    text_add(out, ") block(");
    for (int i = 0; i < 3 && launch->block[i]; i++)
        text_printf(out, "%s%d", i ? ", " : "", launch->block[i]);
    text_add(out, ")\n");
}

void loop_print(struct text *out, const struct loop_kernel *kernel)
{
    for (size_t i = 0; i < kernel->buffers.count; i++) {
        const struct loop_buffer *buffer = kernel->buffers.at[i];
        if (buffer->space != LOOP_SCRATCH)
            continue;
        text_printf(out, "scratch %s: %s[", buffer->name, dtype_name(buffer->dtype));
        ir_size_print(out, buffer->count, kernel->part);
        text_add(out, "]\n");
    }
    for (size_t i = 0; i < kernel->functions.count; i++) {
        const struct loop_function *function = &kernel->functions.at[i];
        text_printf(out, "function %s%s%s%s\n", function->name, function->plain ? " plain" : "",
                    function->note ? "   # " : "", function->note ? function->note : "");
        if (function->launch)
            print_launch(out, kernel, function->launch);
        if (function->body)
            print_block(out, function->body, 1);
    }
}
