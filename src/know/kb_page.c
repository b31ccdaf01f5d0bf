/*
 * One page of the knowledge base: its head, its first paragraph, its fenced blocks.
 */
#include <ctype.h>
#include <string.h>

#include "know/kb.h"

struct reader {
    struct arena *arena;
    const struct source *source;
    size_t at; /* of the next line */
    struct kb_page *page;
    struct error *error;
    unsigned seen; /* keys of the head, by number */
};

struct line {
    const char *text;
    size_t length, offset;
};

static bool fail(struct reader *reader, struct line line, const char *message, const char *hint)
{
    struct place place = {reader->source, line.offset, line.length};
    error_at(reader->error, ERROR_KB_PAGE, place, "%s", message);
    error_hint(reader->error, "%s", hint);
    return false;
}

/* The next line without its end and blanks before that; false at the end of the text. */
static bool next_line(struct reader *reader, struct line *line)
{
    const char *text = reader->source->text + reader->at;
    size_t left = reader->source->length - reader->at;
    *line = (struct line){text, 0, reader->at};
    if (left == 0)
        return false;
    const char *end = memchr(text, '\n', left);
    line->length = end ? (size_t)(end - text) : left;
    reader->at += line->length + (end != NULL);
    while (line->length && isspace((unsigned char)text[line->length - 1]))
        line->length--;
    return true;
}

/* Words apart from each other by blanks; those of `words` by commas, so that they may be several.
 */
static bool split(struct reader *reader, struct line line, bool commas, struct kb_words *words)
{
    size_t at = 0;
    while (at < line.length) {
        size_t end = at;
        while (end < line.length && (commas ? line.text[end] != ',' : line.text[end] != ' '))
            end++;
        size_t first = at, last = end;
        while (first < last && line.text[first] == ' ')
            first++;
        while (last > first && line.text[last - 1] == ' ')
            last--;
        if (last > first) {
            if (words->count == KB_WORDS || last - first > KB_WORD_LENGTH)
                return fail(reader, line, "too many words, or one that is too long",
                            "64 words of 100 characters are the most");
            vector_push(reader->arena, words,
                        arena_copy(reader->arena, line.text + first, last - first));
        }
        at = end + 1;
    }
    return true;
}

/* ---- the head ---- */

static const char *const keys[] = {"title", "targets", "diagnosis", "structures", "words", NULL};

static bool read_key(struct reader *reader, struct line line)
{
    struct kb_page *page = reader->page;
    const char *colon = memchr(line.text, ':', line.length);
    size_t length = colon ? (size_t)(colon - line.text) : line.length;
    int key = 0;
    while (keys[key] && (strlen(keys[key]) != length || memcmp(keys[key], line.text, length) != 0))
        key++;
    if (!colon || !keys[key])
        return fail(reader, line, "a line of a page's head that says nothing smelt understands",
                    "title:, targets:, diagnosis:, structures: or words:, then ---");
    if (reader->seen & (1U << key))
        return fail(reader, line, "a page's head says the same thing twice", "leave out one");
    reader->seen |= 1U << key;
    struct line value = {colon + 1, line.length - length - 1, line.offset + length + 1};
    while (value.length && *value.text == ' ')
        value.text++, value.length--, value.offset++;
    struct kb_words *words[] = {NULL, &page->targets, &page->diagnoses, &page->structures,
                                &page->words};
    if (value.length == 0)
        return fail(reader, line, "a line of a page's head with nothing in it",
                    "say something, or leave the line out");
    if (key == 0)
        page->title = arena_copy(reader->arena, value.text, value.length);
    return key == 0 || split(reader, value, words[key] == &page->words, words[key]);
}

static bool is_rule(struct line line)
{
    return line.length == 3 && memcmp(line.text, "---", 3) == 0;
}

static bool read_head(struct reader *reader)
{
    struct kb_page *page = reader->page;
    struct line line, first;
    if (!next_line(reader, &first) || !is_rule(first))
        return fail(reader, (struct line){reader->source->text, 0, 0},
                    "a page begins with its head",
                    "write --- first, then title: and targets:, then --- again");
    for (;;) {
        if (!next_line(reader, &line))
            return fail(reader, first, "the head of this page has no end", "end it with ---");
        if (is_rule(line))
            break;
        if (line.length && !read_key(reader, line))
            return false;
    }
    if (!page->title || page->targets.count == 0)
        return fail(reader, first, "the head of this page lacks its title or targets",
                    "write title: ... and targets: any (or cpu, cpu:avx512, cuda, ...)");
    if (page->diagnoses.count == 0)
        vector_push(reader->arena, &page->diagnoses, "any");
    if (page->structures.count == 0)
        vector_push(reader->arena, &page->structures, "any");
    return true;
}

/* ---- the body ---- */

static bool is_fence(struct line line)
{
    return line.length >= 3 && memcmp(line.text, "```", 3) == 0;
}

static bool read_snippet(struct reader *reader, struct line fence)
{
    struct kb_snippet snippet = {.language = "text", .offset = reader->at};
    struct line line, info = {fence.text + 3, fence.length - 3, fence.offset + 3};
    struct kb_words words = {0};
    if (!split(reader, info, false, &words))
        return false;
    if (reader->page->snippets.count == KB_SNIPPETS)
        return fail(reader, fence, "a page has too many blocks", "32 are the most");
    if (words.count) {
        snippet.language = words.at[0];
        for (size_t i = 1; i < words.count; i++)
            vector_push(reader->arena, &snippet.check, words.at[i]);
    }
    do {
        if (!next_line(reader, &line))
            return fail(reader, fence, "a block that does not end", "end it with ```");
    } while (!is_fence(line));
    snippet.length = line.offset - snippet.offset;
    snippet.text = arena_copy(reader->arena, reader->source->text + snippet.offset, snippet.length);
    vector_push(reader->arena, &reader->page->snippets, snippet);
    return true;
}

static bool read_body(struct reader *reader)
{
    struct text lead = text_new(reader->arena);
    struct line line;
    bool leading = true;
    reader->page->body = reader->source->text + reader->at;
    while (next_line(reader, &line)) {
        if (is_fence(line)) {
            leading = leading && lead.length == 0;
            if (!read_snippet(reader, line))
                return false;
        } else if (line.length == 0) {
            leading = leading && lead.length == 0;
        } else if (leading) {
            if (lead.length)
                text_char(&lead, ' ');
            text_add_bytes(&lead, line.text, line.length);
        }
    }
    if (lead.length == 0)
        return fail(reader, (struct line){reader->source->text, 0, 0}, "a page that says nothing",
                    "write a paragraph after its head");
    reader->page->lead = lead.at;
    return true;
}

static bool is_text(const struct source *source)
{
    for (size_t at = 0, step; at < source->length; at += step) {
        step = text_utf8(source->text + at, source->length - at);
        if (step == 0 || source->text[at] == 0)
            return false;
    }
    return true;
}

bool kb_page_parse(struct arena *arena, const struct source *source, struct kb_page *page,
                   struct error *error)
{
    struct reader reader = {.arena = arena, .source = source, .page = page, .error = error};
    *page = (struct kb_page){.source = source};
    if (!is_text(source))
        return fail(&reader, (struct line){source->text, 0, 0}, "a page is text in UTF-8",
                    "save it as such");
    return read_head(&reader) && read_body(&reader);
}
