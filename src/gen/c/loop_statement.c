/*
 * Statements of loops as C.
 */
#include "gen/c/loop.h"

#include <string.h>

static struct arena *arena_of(struct printer *printer)
{
    return printer->emitter->arena;
}

static void mark(struct map *map, const void *address)
{
    map_set_bytes(map, &address, sizeof address, map);
}

static bool is_marked(const struct map *map, const void *address)
{
    return map_get_bytes(map, &address, sizeof address) != NULL;
}

/* ---- what there is in a function ---- */

static bool is_integer(loop_value value)
{
    return value->op == LOOP_INTEGER;
}

/* Whether only counters of unrolled loops, and numbers, are in an offset. */
static bool is_known(struct printer *printer, loop_value value)
{
    if (!value)
        return true;
    if (value->op == LOOP_VARIABLE)
        return is_marked(&printer->unrolled, value->variable);
    if (value->op == LOOP_LOAD || value->op == LOOP_GATHER || value->op == LOOP_WORDS)
        return false;
    return is_known(printer, value->a) && is_known(printer, value->b) &&
           is_known(printer, value->c);
}

static void survey_value(struct printer *printer, loop_value value)
{
    if (!value)
        return;
    if (value->buffer && value->buffer->space == LOOP_STACK &&
        (value->type.lanes != value->buffer->lanes || !is_known(printer, value->offset)))
        mark(&printer->arrays, value->buffer);
    survey_value(printer, value->a);
    survey_value(printer, value->b);
    survey_value(printer, value->c);
    survey_value(printer, value->offset);
    survey_value(printer, value->mask);
    survey_value(printer, value->count);
    survey_value(printer, value->otherwise);
}

static void survey_statement(struct printer *printer, const struct loop_statement *statement)
{
    if (statement->kind == LOOP_FOR && statement->loop == LOOP_UNROLL &&
        is_known(printer, statement->from) && is_known(printer, statement->to))
        mark(&printer->unrolled, statement->variable);
    if (statement->kind == LOOP_SET)
        mark(&printer->assigned, statement->variable);
    if (statement->kind == LOOP_STORE) {
        mark(&printer->written, statement->buffer);
        if (statement->buffer->space == LOOP_STACK &&
            (statement->value->type.lanes != statement->buffer->lanes || statement->mask ||
             statement->count || !is_known(printer, statement->offset)))
            mark(&printer->arrays, statement->buffer);
    }
    if (statement->kind == LOOP_MOVE || statement->kind == LOOP_ATOMIC ||
        statement->kind == LOOP_POST)
        mark(&printer->written, statement->buffer);
    if (statement->kind == LOOP_TILE && statement->buffer) {
        if (statement->tile == LOOP_TILE_STORE)
            mark(&printer->written, statement->buffer);
        if (statement->buffer->space == LOOP_STACK)
            mark(&printer->arrays, statement->buffer);
    }
    survey_value(printer, statement->from);
    survey_value(printer, statement->to);
    survey_value(printer, statement->step);
    survey_value(printer, statement->value);
    survey_value(printer, statement->offset);
    survey_value(printer, statement->mask);
    survey_value(printer, statement->count);
    if (statement->body)
        print_survey(printer, statement->body);
    if (statement->otherwise)
        print_survey(printer, statement->otherwise);
}

void print_survey(struct printer *printer, const struct loop_block *block)
{
    for (size_t i = 0; i < block->statements.count; i++)
        survey_statement(printer, &block->statements.at[i]);
}

/* ---- names ---- */

static const char *name_new(struct printer *printer, const char *wanted)
{
    struct emitter *emitter = printer->emitter;
    if (vector_is_name(wanted))
        wanted = arena_printf(emitter->arena, "of_%s", wanted);
    return emit_name(&emitter->names, wanted);
}

static const char *name_variable(struct printer *printer, const struct loop_variable *variable)
{
    const char *name = name_new(printer, variable->name);
    map_set_bytes(&printer->names, &variable, sizeof variable, (void *)name);
    return name;
}

static const char *resolved_text(struct printer *printer, loop_value value)
{
    return print_value(printer, print_resolve(printer, value)).text;
}

/* ---- simple statements ---- */

static void print_let(struct printer *printer, const struct loop_statement *statement)
{
    const char *value = resolved_text(printer, statement->value); /* before the name is taken */
    const char *type = print_type(printer, statement->variable->type);
    if (statement->held && statement->variable->type.lanes > 1 && !printer->emitter->dialect)
        value = arena_printf(arena_of(printer), "%s_hold(%s)", type, value);
    bool changes = is_marked(&printer->assigned, statement->variable);
    const char *name = name_variable(printer, statement->variable);
    print_line(printer, arena_printf(arena_of(printer), "%s%s %s = %s;", changes ? "" : "const ",
                                     type, name, value));
}

/* name = value; or name += more when the value is that. */
static void print_assignment(struct printer *printer, const char *name, const char *value)
{
    size_t length = strlen(name);
    const char *rest = value + length;
    bool adds = strncmp(value, name, length) == 0 && strncmp(rest, " + ", 3) == 0;
    int depth = 0; /* of the rest: a sum of more than two is not one that is added */
    for (const char *c = adds ? rest + 3 : ""; *c; c++) {
        depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
        if (depth == 0 && *c == ' ' && strchr("+-?<>=!&|", c[1]))
            adds = false;
    }
    print_line(printer, adds ? arena_printf(arena_of(printer), "%s += %s;", name, rest + 3)
                             : arena_printf(arena_of(printer), "%s = %s;", name, value));
}

static void print_set(struct printer *printer, const struct loop_statement *statement)
{
    const struct loop_variable *variable = statement->variable;
    const char *name = map_get_bytes(&printer->names, &variable, sizeof variable);
    print_assignment(printer, name, resolved_text(printer, statement->value));
}

/* A buffer on the stack: an array, or as many variables. */
static void print_declare(struct printer *printer, const struct loop_statement *statement)
{
    enum { MOST_PARTS = 4096, PER_LINE = 8 };
    const struct loop_buffer *buffer = statement->buffer;
    struct arena *arena = arena_of(printer);
    struct loop_type type = {buffer->dtype, buffer->lanes};
    const char *element = buffer->lanes > 1 ? print_type(printer, type)
                                            : emit_element(printer->emitter, buffer->dtype);
    if (printer->emitter->dialect || is_marked(&printer->arrays, buffer) ||
        buffer->elements > MOST_PARTS) {
        const char *name = name_new(printer, buffer->name);
        map_set_bytes(&printer->names, &buffer, sizeof buffer, (void *)name);
        if (printer->emitter->dialect) {
            print_device_declare(printer, buffer, element, name);
            return;
        }
        emit_line(printer->emitter, "%s %s[%lld] __attribute__((aligned(64)));", element, name,
                  (long long)buffer->elements);
        return;
    }
    const char **parts = arena_array(arena, (size_t)buffer->elements + 1, sizeof *parts);
    struct text line = text_new(arena);
    for (int64_t i = 0; i < buffer->elements; i++) {
        const char *wanted = arena_printf(arena, "%s_%lld", buffer->name, (long long)i);
        parts[i] = name_new(printer, buffer->elements == 1 ? buffer->name : wanted);
        text_printf(&line, "%s%s", i ? ", " : "", parts[i]);
    }
    map_set_bytes(&printer->parts, &buffer, sizeof buffer, parts);
    print_line(printer, arena_printf(arena, "%s %s;", element, line.at));
}

/* The mask of a store; NULL: none. */
static loop_value store_mask(struct printer *printer, const struct loop_statement *statement)
{
    struct arena *arena = arena_of(printer);
    int lanes = statement->value->type.lanes;
    loop_value mask = statement->mask ? print_resolve(printer, statement->mask) : NULL;
    if (!statement->count || (!mask && lanes > 1 && !statement->scatter))
        return mask;
    loop_value count = print_resolve(printer, statement->count);
    loop_value lane =
        lanes > 1 ? loop_narrow(arena, loop_iota(arena, lanes)) : loop_integer(arena, 0);
    loop_value first = loop_less(arena, lane, lanes > 1 ? loop_narrow(arena, count) : count);
    return mask ? loop_apply(arena, IR_AND, mask, first, NULL) : first;
}

static void print_scalar_store(struct printer *printer, const struct loop_statement *statement,
                               const char *place, const char *value)
{
    loop_value mask = store_mask(printer, statement);
    if (mask)
        print_line(printer,
                   arena_printf(arena_of(printer), "if (%s)", print_value(printer, mask).text));
    printer->emitter->indent += mask != NULL;
    print_assignment(printer, place, value);
    printer->emitter->indent -= mask != NULL;
}

static void print_vector_store(struct printer *printer, const struct loop_statement *statement,
                               loop_value offset, const char *value)
{
    struct arena *arena = arena_of(printer);
    const struct loop_buffer *buffer = statement->buffer;
    int lanes = statement->value->type.lanes;
    const char *raw = print_raw_type(printer, buffer->dtype, lanes);
    const char *where = statement->scatter ? map_get_bytes(&printer->names, &buffer, sizeof buffer)
                                           : print_address(printer, buffer, offset);
    if (buffer->dtype == DTYPE_BOOL)
        where = arena_printf(arena, "(uint8_t *)%s", where);
    if (statement->scatter)
        where = arena_printf(arena, "%s, %s", where, print_value(printer, offset).text);
    loop_value mask = store_mask(printer, statement);
    const char *verb = statement->scatter ? "scatter" : "write", *rest = "";
    if (mask) {
        verb = statement->scatter ? "scatter_masked" : "write_masked";
        rest = arena_printf(arena, ", %s", print_value(printer, mask).text);
    } else if (statement->count) {
        verb = "write_part";
        rest = arena_printf(arena, ", %s", resolved_text(printer, statement->count));
    } else if (statement->streaming && !statement->scatter) {
        verb = "stream";
        printer->streams = true;
    }
    print_line(printer, arena_printf(arena, "%s_%s(%s, %s%s);", raw, verb, where, value, rest));
}

static void print_store(struct printer *printer, const struct loop_statement *statement)
{
    struct arena *arena = arena_of(printer);
    const struct loop_buffer *buffer = statement->buffer;
    loop_value offset = print_resolve(printer, statement->offset);
    loop_value value = print_resolve(printer, statement->value);
    if (statement->words) {
        print_line(printer,
                   arena_printf(arena, "%s_write_words(%s, %s);", print_type(printer, value->type),
                                print_address(printer, buffer, offset),
                                print_value(printer, value).text));
        return;
    }
    const char *element = print_element(printer, buffer, offset);
    bool registers = buffer->space == LOOP_STACK && buffer->lanes > 1;
    if (value->type.lanes > 1 && !registers) {
        print_vector_store(printer, statement, offset, print_kept(printer, buffer->dtype, value));
        return;
    }
    const char *text =
        registers ? print_value(printer, value).text : print_kept(printer, buffer->dtype, value);
    if (!element)
        element = arena_printf(arena, "%s[%s]",
                               (const char *)map_get_bytes(&printer->names, &buffer, sizeof buffer),
                               print_value(printer, offset).text);
    print_scalar_store(printer, statement, element, text);
}

/* ---- loops ---- */

static void print_statements(struct printer *printer, const struct loop_block *block);

/* Written out once per value of the counter. */
static bool print_unrolled(struct printer *printer, const struct loop_statement *statement)
{
    struct arena *arena = arena_of(printer);
    loop_value from = print_resolve(printer, statement->from);
    loop_value to = print_resolve(printer, statement->to);
    loop_value step = print_resolve(printer, statement->step);
    if (!is_integer(from) || !is_integer(to) || !is_integer(step) || step->integer <= 0)
        return false;
    const struct loop_variable *counter = statement->variable;
    printer->copies++;
    for (int64_t i = from->integer; i < to->integer; i += step->integer) {
        map_set_bytes(&printer->numbers, &counter, sizeof counter, (void *)loop_integer(arena, i));
        print_statements(printer, statement->body);
    }
    printer->copies--;
    map_set_bytes(&printer->numbers, &counter, sizeof counter, NULL);
    return true;
}

/* The one statement of a block that is a parallel loop, too, over bounds that do not depend on the
 * loops outside: then both are one space. NULL: there is none. */
static const struct loop_statement *parallel_inside(const struct loop_statement *statement,
                                                    const struct loop_statement *outermost)
{
    if (statement->body->statements.count != 1)
        return NULL;
    const struct loop_statement *inner = &statement->body->statements.at[0];
    if (inner->kind != LOOP_FOR || inner->loop != LOOP_PARALLEL)
        return NULL;
    for (const struct loop_statement *outer = outermost;; outer = &outer->body->statements.at[0]) {
        if (loop_mentions(inner->from, outer->variable) ||
            loop_mentions(inner->to, outer->variable))
            return NULL;
        if (outer == statement)
            return inner;
    }
}

static void print_note(struct printer *printer, const char *note)
{
    if (note)
        emit_line(printer->emitter, "/* %s */", note);
}

static void print_loop_head(struct printer *printer, const struct loop_statement *statement)
{
    const char *from = resolved_text(printer, statement->from);
    const char *to = emit_within(
        printer->emitter, print_value(printer, print_resolve(printer, statement->to)), BINDS_SUM);
    loop_value step = print_resolve(printer, statement->step);
    const char *name = name_variable(printer, statement->variable);
    const char *next =
        is_integer(step) && step->integer == 1
            ? arena_printf(arena_of(printer), "%s++", name)
            : arena_printf(arena_of(printer), "%s += %s", name, print_value(printer, step).text);
    print_line(printer, arena_printf(arena_of(printer), "for (int64_t %s = %s; %s < %s; %s) {",
                                     name, from, name, to, next));
    printer->emitter->indent++;
}

static void print_parallel(struct printer *printer, const struct loop_statement *statement)
{
    const struct loop_statement *innermost = statement, *inner;
    int depth = 1;
    print_note(printer, statement->note);
    while ((inner = parallel_inside(innermost, statement)) != NULL) {
        print_note(printer, inner->note);
        innermost = inner;
        depth++;
    }
    text_add(printer->emitter->out, printer->team ? "#pragma omp for" : "#pragma omp parallel for");
    if (depth > 1)
        text_printf(printer->emitter->out, " collapse(%d)", depth);
    text_printf(printer->emitter->out, " schedule(%s)\n",
                statement->dynamic ? "dynamic" : "static");
    size_t names = printer->emitter->names.stack.count;
    printer->parallel = true;
    for (const struct loop_statement *loop = statement;; loop = &loop->body->statements.at[0]) {
        print_loop_head(printer, loop);
        if (loop == innermost)
            break;
    }
    print_block(printer, innermost->body);
    for (int i = 0; i < depth; i++)
        emit_close(printer->emitter);
    printer->parallel = false;
    emit_names_free(&printer->emitter->names, names);
}

static void print_for(struct printer *printer, const struct loop_statement *statement)
{
    if (statement->loop == LOOP_PARALLEL && !printer->parallel) {
        print_parallel(printer, statement);
        return;
    }
    print_note(printer, statement->note);
    if (statement->loop == LOOP_UNROLL && printer->emitter->dialect)
        emit_line(printer->emitter, "#pragma unroll");
    else if (statement->loop == LOOP_UNROLL && print_unrolled(printer, statement))
        return;
    size_t names = printer->emitter->names.stack.count;
    bool team = statement->team && !printer->parallel && !printer->team;
    if (team)
        text_add(printer->emitter->out, "#pragma omp parallel\n");
    printer->team |= team;
    print_loop_head(printer, statement);
    print_block(printer, statement->body);
    emit_close(printer->emitter);
    printer->team &= !team;
    emit_names_free(&printer->emitter->names, names);
}

static void print_if(struct printer *printer, const struct loop_statement *statement)
{
    loop_value condition = print_resolve(printer, statement->value);
    if (is_integer(condition)) { /* known in this copy of an unrolled loop */
        const struct loop_block *block =
            condition->integer ? statement->body : statement->otherwise;
        if (block)
            print_statements(printer, block);
        return;
    }
    print_line(printer,
               arena_printf(arena_of(printer), "if (%s) {", print_value(printer, condition).text));
    printer->emitter->indent++;
    print_block(printer, statement->body);
    if (statement->otherwise && statement->otherwise->statements.count) {
        printer->emitter->indent--;
        emit_open(printer->emitter, "} else");
        print_block(printer, statement->otherwise);
    }
    emit_close(printer->emitter);
}

static void print_tile(struct printer *printer, const struct loop_statement *statement)
{
    static const char *const WORDS[] = {"bf16", "i8_i8", "i8_u8", "u8_i8", "u8_u8"};
    static const char *const MOVES[] = {"load", "load_once", "store"};
    struct arena *arena = arena_of(printer);
    const int *tiles = statement->tiles;
    const char *text = "";
    switch (statement->tile) {
    case LOOP_TILE_BEGIN: text = "begin()"; break;
    case LOOP_TILE_END: text = "end()"; break;
    case LOOP_TILE_ZERO: text = arena_printf(arena, "zero(%d)", tiles[0]); break;
    case LOOP_TILE_LOAD:
    case LOOP_TILE_LOAD_ONCE:
    case LOOP_TILE_STORE:
        text = arena_printf(
            arena, "%s(%d, %s, %s)", MOVES[statement->tile - LOOP_TILE_LOAD], tiles[0],
            print_address(printer, statement->buffer, print_resolve(printer, statement->offset)),
            resolved_text(printer, statement->value));
        break;
    case LOOP_TILE_DOT:
        text = arena_printf(arena, "dot_%s(%d, %d, %d)", WORDS[statement->tile_words], tiles[0],
                            tiles[1], tiles[2]);
        break;
    }
    print_line(printer, arena_printf(arena, "i32x16_tile_%s;", text));
}

static void print_statement(struct printer *printer, const struct loop_statement *statement)
{
    switch (statement->kind) {
    case LOOP_FOR: print_for(printer, statement); break;
    case LOOP_IF: print_if(printer, statement); break;
    case LOOP_LET: print_let(printer, statement); break;
    case LOOP_SET: print_set(printer, statement); break;
    case LOOP_DECLARE: print_declare(printer, statement); break;
    case LOOP_STORE: print_store(printer, statement); break;
    case LOOP_NOTE: print_note(printer, statement->note); break;
    case LOOP_PREFETCH:
        emit_line(
            printer->emitter, "__builtin_prefetch(%s%s);",
            print_address(printer, statement->buffer, print_resolve(printer, statement->offset)),
            statement->far ? ", 0, 2" : "");
        break;
    case LOOP_CLEAR:
        if (statement->first)
            emit_line(printer->emitter, "registers_from_%d();", statement->first);
        else
            emit_line(printer->emitter, "registers_clear();");
        break;
    case LOOP_TILE: print_tile(printer, statement); break;
    case LOOP_BARRIER:
    case LOOP_MOVE:
    case LOOP_ATOMIC:
    case LOOP_POST: print_device_statement(printer, statement); break;
    }
}

/* Without a block of C around them: names stay in use until that ends. */
static void print_statements(struct printer *printer, const struct loop_block *block)
{
    for (size_t i = 0; i < block->statements.count; i++)
        print_statement(printer, &block->statements.at[i]);
}

void print_block(struct printer *printer, const struct loop_block *block)
{
    size_t names = printer->emitter->names.stack.count;
    print_statements(printer, block);
    emit_names_free(&printer->emitter->names, names);
}
