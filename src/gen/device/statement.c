/*
 * What loops for devices have besides those for the CPU, as source: numbers of blocks and threads,
 * shared memory, barriers, vector moves, atomics, exchanges within a warp and between blocks.
 */
#include "gen/device/device.h"

static struct arena *arena_of(struct printer *printer)
{
    return printer->emitter->arena;
}

const char *print_number(struct printer *printer, const struct loop_variable *variable)
{
    const struct dialect *dialect = printer->emitter->dialect;
    const char *dimension = dialect->dimensions[variable->number];
    struct text text = text_new(arena_of(printer));
    /* the format has one place for the dimension */
    const char *format = variable->kind == LOOP_BLOCK ? dialect->block : dialect->thread;
    for (const char *c = format; *c; c++) {
        if (c[0] == '%' && c[1] == 's') {
            text_add(&text, dimension);
            c++;
        } else {
            text_char(&text, *c);
        }
    }
    return text.at;
}

struct expression print_exchange(struct printer *printer, loop_value value)
{
    struct emitter *emitter = printer->emitter;
    const char *function = emitter->dialect->exchanges[value->exchange];
    bool truth = value->type.dtype == DTYPE_BOOL;
    return emit_format(emitter, truth ? BINDS_COMPARE : BINDS_ATOM,
                       "%s(0xffffffffu, %s%s, (int)%s, %lld)%s", function, truth ? "(int)" : "",
                       truth ? emit_within(emitter, print_value(printer, value->a), BINDS_UNARY)
                             : print_value(printer, value->a).text,
                       emit_within(emitter, print_value(printer, value->b), BINDS_UNARY),
                       (long long)value->integer, truth ? " != 0" : "");
}

enum { POSTS_COUNTER = 8 }; /* bytes */

void print_device_declare(struct printer *printer, const struct loop_buffer *buffer,
                          const char *element, const char *name)
{
    const struct dialect *dialect = printer->emitter->dialect;
    bool shared = buffer->space == LOOP_SHARED;
    int64_t elements = buffer->elements;
    if (buffer->posts) /* behind them stands what counts them */
        elements += POSTS_COUNTER / (int64_t)dtype_bytes(buffer->dtype);
    emit_line(printer->emitter, "%s%s %s[%lld] __attribute__((aligned(16)));",
              shared ? dialect->shared : "", element, name, (long long)elements);
    if (buffer->posts)
        emit_line(printer->emitter, "%s<%d>(%s);", dialect->posts, buffer->posts, name);
}

/* ---- moves ---- */

/* A type as large as so many elements; one that may stand for any other. */
static const char *move_type(enum dtype dtype, int elements)
{
    size_t each = dtype_bytes(dtype), bytes = each * (size_t)elements;
    if (bytes == 16)
        return "uint4";
    if (bytes == 8)
        return each == 2 ? "ushort4" : "uint2";
    if (bytes == 4)
        return each == 2 ? "ushort2" : "uchar4";
    return "uchar2";
}

/* "*(const __global uint4 *)&x[i]" */
static const char *move_place(struct printer *printer, const struct loop_buffer *buffer,
                              loop_value offset, const char *type, bool read)
{
    const struct dialect *dialect = printer->emitter->dialect;
    /* pointers say their space in OpenCL only */
    bool spaces = dialect->global[0] != '\0';
    const char *space = !spaces || buffer->space == LOOP_STACK ? ""
                        : buffer->space == LOOP_SHARED         ? dialect->shared
                                                               : dialect->global;
    return arena_printf(arena_of(printer), "*(%s%s%s *)&%s[%s]", space, read ? "const " : "", type,
                        (const char *)map_get_bytes(&printer->names, &buffer, sizeof buffer),
                        print_value(printer, offset).text);
}

static void print_move(struct printer *printer, const struct loop_statement *statement)
{
    struct arena *arena = arena_of(printer);
    const struct loop_buffer *to = statement->buffer, *from = statement->from_buffer;
    loop_value to_offset = print_resolve(printer, statement->offset);
    loop_value from_offset = print_resolve(printer, statement->value);
    size_t bytes = dtype_bytes(to->dtype) * (size_t)statement->elements;
    if (statement->soon && printer->emitter->dialect->copy && bytes >= 4) {
        print_line(printer,
                   arena_printf(arena, "%s<%d>(&%s[%s], &%s[%s]);", printer->emitter->dialect->copy,
                                (int)bytes,
                                (const char *)map_get_bytes(&printer->names, &to, sizeof to),
                                print_value(printer, to_offset).text,
                                (const char *)map_get_bytes(&printer->names, &from, sizeof from),
                                print_value(printer, from_offset).text));
        return;
    }
    if (statement->elements == 1) {
        const char *to_name = map_get_bytes(&printer->names, &to, sizeof to);
        const char *from_name = map_get_bytes(&printer->names, &from, sizeof from);
        print_line(printer, arena_printf(arena, "%s[%s] = %s[%s];", to_name,
                                         print_value(printer, to_offset).text, from_name,
                                         print_value(printer, from_offset).text));
        return;
    }
    const char *type = move_type(to->dtype, statement->elements);
    print_line(printer,
               arena_printf(arena, "%s = %s;", move_place(printer, to, to_offset, type, false),
                            move_place(printer, from, from_offset, type, true)));
}

/* ---- atomics: functions of the prelude, by type ---- */

static void print_atomic(struct printer *printer, const struct loop_statement *statement)
{
    static const char *const VERBS[] = {
        [IR_SUM] = "add", [IR_PRODUCT] = "mul", [IR_MAXIMUM] = "max", [IR_MINIMUM] = "min"};
    const struct loop_buffer *buffer = statement->buffer;
    const char *kind = buffer->dtype == DTYPE_F32   ? "float"
                       : buffer->dtype == DTYPE_F64 ? "double"
                                                    : "int";
    loop_value offset = print_resolve(printer, statement->offset);
    loop_value value = print_resolve(printer, statement->value);
    print_line(printer,
               arena_printf(
                   arena_of(printer), "%s_atomic_%s(&%s[%s], %s);", kind, VERBS[statement->monoid],
                   (const char *)map_get_bytes(&printer->names, &buffer, sizeof buffer),
                   print_value(printer, offset).text, print_kept(printer, buffer->dtype, value)));
}

static void print_barrier(struct printer *printer, const struct loop_statement *statement)
{
    const struct dialect *dialect = printer->emitter->dialect;
    const char *const meetings[] = {[LOOP_CLUSTER_ALONE] = dialect->barrier,
                                    [LOOP_CLUSTER_ARRIVE] = dialect->arrive,
                                    [LOOP_CLUSTER_WAIT] = dialect->wait};
    if (!statement->soon)
        emit_line(printer->emitter, "%s",
                  statement->memory ? dialect->memory_barrier : meetings[statement->cluster]);
    else if (dialect->copied)
        emit_line(printer->emitter, "%s", dialect->copied);
}

static void print_post(struct printer *printer, const struct loop_statement *statement)
{
    const struct loop_buffer *buffer = statement->buffer;
    loop_value value = print_resolve(printer, statement->value);
    print_line(printer,
               arena_printf(arena_of(printer), "%s<%d>(%s, %s);", printer->emitter->dialect->post,
                            buffer->posts,
                            (const char *)map_get_bytes(&printer->names, &buffer, sizeof buffer),
                            print_value(printer, value).text));
}

void print_device_statement(struct printer *printer, const struct loop_statement *statement)
{
    switch (statement->kind) {
    case LOOP_BARRIER: print_barrier(printer, statement); break;
    case LOOP_POST: print_post(printer, statement); break;
    case LOOP_MOVE: print_move(printer, statement); break;
    default: print_atomic(printer, statement); break;
    }
}
