/*
 * Transcripts: blocks of indented lines, so that they can be read, compared and written by hand.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "propose/llm/llm.h"

static const char head[] = "smelt transcript 1";
static const char *const turn_names[] = {"user", "assistant"};

/* ---- writing ---- */

static void add_block(struct text *out, const char *name, const char *lines)
{
    if (!lines)
        return;
    text_printf(out, "%s\n", name);
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        if (length)
            text_add(out, "    ");
        text_add_bytes(out, lines, length);
        text_char(out, '\n');
        lines += length + (lines[length] == '\n');
    }
    text_add(out, "end\n");
}

void llm_transcript_begin(struct text *out)
{
    text_printf(out, "%s\n", head);
}

void llm_transcript_add(struct text *out, const struct llm_exchange *exchange)
{
    text_printf(out, "exchange %s %" PRId64 " %" PRId64 "\n", exchange->model, exchange->read,
                exchange->written);
    add_block(out, "parent", exchange->parent);
    add_block(out, "system", exchange->system);
    for (int i = 0; i < exchange->turn_count; i++)
        add_block(out, turn_names[i % 2], exchange->turns[i]);
    add_block(out, "reply", exchange->reply);
}

/* ---- reading ---- */

struct reader {
    struct arena *arena;
    const struct source *source;
    size_t at;
    struct error *error;
};

static bool fail(struct reader *reader, size_t at, const char *expected)
{
    const char *line = reader->source->text + at;
    struct place place = {reader->source, at, strcspn(line, "\n")};
    return error_at(reader->error, ERROR_BAD_TRANSCRIPT, place, "expected %s", expected);
}

/* The next line without its end; NULL: there is none. */
static char *next_line(struct reader *reader)
{
    const char *line = reader->source->text + reader->at;
    if (reader->at >= reader->source->length)
        return NULL;
    size_t length = strcspn(line, "\n");
    reader->at += length + (line[length] == '\n');
    return arena_copy(reader->arena, line, length);
}

static const char *read_block(struct reader *reader)
{
    struct text text = text_new(reader->arena);
    for (;;) {
        size_t start = reader->at;
        const char *line = next_line(reader);
        if (line && strcmp(line, "end") == 0)
            return text.length ? text.at : "";
        if (!line || (*line && strncmp(line, "    ", 4) != 0)) {
            fail(reader, start, "an indented line, or 'end'");
            return NULL;
        }
        text_printf(&text, "%s\n", *line ? line + 4 : "");
    }
}

static bool read_head(struct reader *reader, size_t start, char *line,
                      struct llm_exchange *exchange)
{
    char *rest = NULL, *end;
    const char *words[3];
    strtok_r(line, " ", &rest);
    for (int i = 0; i < 3; i++)
        words[i] = strtok_r(NULL, " ", &rest);
    if (!words[2] || strtok_r(NULL, " ", &rest))
        return fail(reader, start, "'exchange MODEL READ WRITTEN'");
    *exchange = (struct llm_exchange){.model = words[0]};
    for (int i = 1; i < 3; i++) {
        long long number = strtoll(words[i], &end, 10);
        if (*end || number < 0 || number > (1LL << 40))
            return fail(reader, start, "a number of tokens");
        *(i == 1 ? &exchange->read : &exchange->written) = number;
    }
    return true;
}

static bool read_part(struct reader *reader, size_t start, const char *name,
                      struct llm_exchange *exchange)
{
    bool turn =
        exchange->turn_count < LLM_TURNS && strcmp(name, turn_names[exchange->turn_count % 2]) == 0;
    const char **place = strcmp(name, "parent") == 0 && !exchange->parent   ? &exchange->parent
                         : strcmp(name, "system") == 0 && !exchange->system ? &exchange->system
                         : strcmp(name, "reply") == 0 && !exchange->reply   ? &exchange->reply
                         : turn ? &exchange->turns[exchange->turn_count]
                                : NULL;
    if (!place)
        return fail(reader, start, "parent, system, user, assistant or reply, each in its turn");
    exchange->turn_count += turn;
    return (*place = read_block(reader)) != NULL;
}

bool llm_transcript_parse(struct arena *arena, const struct source *source,
                          struct llm_exchanges *exchanges, struct error *error)
{
    struct reader reader = {.arena = arena, .source = source, .error = error};
    size_t start = 0;
    char *line = next_line(&reader);
    if (strlen(source->text) != source->length || !line || strcmp(line, head) != 0)
        return fail(&reader, 0, "'smelt transcript 1'");
    struct llm_exchange *exchange = NULL;
    while (start = reader.at, (line = next_line(&reader))) {
        if (!*line || *line == '#')
            continue;
        if (strncmp(line, "exchange ", 9) == 0) {
            if (exchanges->count == LLM_EXCHANGES)
                return fail(&reader, start, "an end: there are too many exchanges");
            exchange = vector_add(arena, exchanges);
            if (!read_head(&reader, start, line, exchange))
                return false;
        } else if (!exchange) {
            return fail(&reader, start, "'exchange MODEL READ WRITTEN'");
        } else if (!read_part(&reader, start, line, exchange)) {
            return false;
        }
    }
    return true;
}
