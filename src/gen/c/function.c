/*
 * A stage as a function of its own, so that compilers see small functions whose pointers are told
 * apart (restrict), and a reader sees what each stage needs. The body is written first; the names
 * it mentions then make the list of parameters.
 */
#include <stdlib.h>
#include <string.h>

#include "gen/c/emit.h"

enum { LINE_LENGTH = 98 };

void emit_variable(struct emitter *emitter, const char *name, const char *type, int tensor,
                   bool aliased)
{
    vector_push(emitter->arena, &emitter->variables,
                (struct variable){name, type, tensor, aliased, 0});
    map_set(&emitter->variable_numbers, name, (void *)(intptr_t)emitter->variables.count);
}

void emit_variable_end(struct emitter *emitter, const char *name)
{
    map_set(&emitter->variable_numbers, name, NULL);
}

void emit_list(struct emitter *emitter, const char *prefix, const char *const *items, int count,
               const char *suffix)
{
    struct text line = text_new(emitter->arena);
    text_printf(&line, "%s(", prefix);
    for (int i = 0; i < count; i++) {
        size_t width = 4 * (size_t)emitter->indent + line.length + strlen(items[i]) + 2;
        if (i > 0 && width > LINE_LENGTH) {
            text_truncate(&line, line.length - 1); /* the blank behind the comma */
            emit_line(emitter, "%s", line.at);
            text_truncate(&line, 0);
            text_add(&line, "        ");
        }
        text_printf(&line, "%s%s", items[i], i + 1 < count ? ", " : "");
    }
    emit_line(emitter, "%s)%s", line.at, suffix);
}

static bool is_word_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word_rest(char c)
{
    return is_word_start(c) || (c >= '0' && c <= '9');
}

struct map emit_words(struct arena *arena, const struct text *text)
{
    struct map words = map_new(arena);
    for (size_t i = 0; i < text->length;) {
        size_t start = i;
        while (i < text->length && is_word_rest(text->at[i]))
            i++;
        if (i == start)
            i++;
        else if (is_word_start(text->at[start]))
            map_set_bytes(&words, text->at + start, i - start, arena);
    }
    return words;
}

struct mentioned VECTOR(int);

/* Numbers of the variables that occur in the text, each once. */
static struct mentioned variables_in(struct emitter *emitter, const struct text *text)
{
    struct mentioned found = {0};
    int stage = ++emitter->stage_count;
    for (size_t i = 0; i < text->length;) {
        size_t start = i;
        while (i < text->length && is_word_rest(text->at[i]))
            i++;
        if (i == start) {
            i++;
            continue;
        }
        if (!is_word_start(text->at[start])) /* a number, exponent and all */
            continue;
        intptr_t number =
            (intptr_t)map_get_bytes(&emitter->variable_numbers, text->at + start, i - start);
        if (number && emitter->variables.at[number - 1].wanted_by != stage) {
            emitter->variables.at[number - 1].wanted_by = stage;
            vector_push(emitter->arena, &found, (int)number - 1);
        }
    }
    return found;
}

static int compare_numbers(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

bool emit_stage_writes(const struct ir_stage *stage, int tensor)
{
    for (int i = 0; i < stage->write_count; i++) {
        if (stage->writes[i].tensor == tensor)
            return true;
    }
    return false;
}

static const char *parameter(struct emitter *emitter, const struct ir_stage *stage,
                             const struct variable *variable)
{
    if (variable->tensor == EMIT_BUFFER)
        return arena_printf(emitter->arena, "%s *restrict %s", variable->type, variable->name);
    if (variable->tensor == IR_NONE)
        return arena_printf(emitter->arena, "%s %s", variable->type, variable->name);
    return arena_printf(emitter->arena, "%s%s *%s%s",
                        emit_stage_writes(stage, variable->tensor) ? "" : "const ", variable->type,
                        variable->aliased ? "" : "restrict ", variable->name);
}

/* "softmax_m": the part and what the stage writes. */
static const char *function_name(struct emitter *emitter, const struct ir_stage *stage)
{
    const char *tensor = emitter->part->tensors[stage->writes[0].tensor].name;
    return emit_name_forever(&emitter->names,
                             arena_printf(emitter->arena, "%s_%s", emitter->part->name, tensor));
}

void emit_invocation(struct emitter *emitter, const char *name, const char *const *arguments,
                     int count, bool fails)
{
    struct arena *arena = emitter->arena;
    if (!fails) {
        emit_list(emitter, name, arguments, count, ";");
    } else if (emitter->form == GEN_PLAIN) {
        emitter->part_fails = true;
        emit_list(emitter, arena_printf(arena, "if (%s", name), arguments, count, " != DONE)");
        emit_line(emitter, "    return OUTSIDE;");
    } else {
        emit_list(emitter, arena_printf(arena, "status = %s", name), arguments, count, ";");
        emit_line(emitter, "if (status != DONE)");
        emit_line(emitter, "    goto finish;");
    }
}

void emit_function(struct emitter *emitter, const struct ir_stage *stage,
                   void (*write)(struct emitter *emitter, const struct ir_stage *stage))
{
    struct text body = text_new(emitter->arena);
    struct text *out = emitter->out;
    int indent = emitter->indent;
    emitter->out = &body;
    emitter->indent = 1;
    emitter->fails = false;
    write(emitter, stage);
    struct mentioned wanted = variables_in(emitter, &body);
    if (wanted.count)
        qsort(wanted.at, wanted.count, sizeof *wanted.at, compare_numbers);
    const char **parameters = arena_array(emitter->arena, wanted.count + 1, sizeof *parameters);
    const char **arguments = arena_array(emitter->arena, wanted.count + 1, sizeof *arguments);
    for (size_t i = 0; i < wanted.count; i++) {
        const struct variable *variable = &emitter->variables.at[wanted.at[i]];
        parameters[i] = parameter(emitter, stage, variable);
        arguments[i] = variable->name;
    }
    const char *name = function_name(emitter, stage);
    int count = (int)wanted.count;

    emitter->out = &emitter->functions;
    emitter->indent = 0;
    emit_blank(emitter);
    emit_line(emitter, "/* %s */", emitter->comment);
    if (count == 0)
        parameters[count++] = "void";
    emit_list(emitter,
              arena_printf(emitter->arena, "%s %s %s", emitter->stage_start,
                           emitter->fails ? "int" : "void", name),
              parameters, count, "");
    emit_block(emitter);
    text_add_bytes(emitter->out, body.at, body.length);
    if (emitter->fails)
        emit_line(emitter, "return DONE;");
    emit_close(emitter);

    emitter->out = out;
    emitter->indent = indent;
    emit_invocation(emitter, name, arguments, (int)wanted.count, emitter->fails);
}
