/*
 * Reading a reply: three lines of head, one block. Models think aloud, so lines that are none of
 * this are passed over; what is of this must be exactly right, or a kernel would be judged that
 * nobody meant.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "propose/llm/llm.h"

const char llm_reply_form[] =
    "Answer in this form, three lines and one block:\n"
    "\n"
    "change: what is different from the parent, in one line\n"
    "why: why that will help, in one line\n"
    "expect: how many times as fast as the parent it will be, a number such as 1.3\n"
    "\n"
    "then exactly one block of one of these kinds. A whole kernel:\n"
    "\n"
    "```kernel\n"
    "// smelt kernel 1\n"
    "(all of the file)\n"
    "```\n"
    "\n"
    "or edits of the parent, one or several, each with whole lines that stand in it exactly "
    "once:\n"
    "\n"
    "```edits\n"
    "<<<<<<< SEARCH\n"
    "(lines of the parent)\n"
    "=======\n"
    "(what stands there instead)\n"
    ">>>>>>> REPLACE\n"
    "```\n"
    "\n"
    "or a plan, where the parent has one:\n"
    "\n"
    "```plan\n"
    "(all of the plan, with other decisions)\n"
    "```\n"
    "\n"
    "You may think aloud before it. There must be no second block of these kinds.\n";

static const char *const kinds[] = {"kernel", "edits", "plan"};

const char *llm_reply_kind_name(enum llm_reply_kind kind)
{
    return kinds[kind];
}

struct line {
    const char *text;
    size_t length, offset; /* without the newline */
};

struct reader {
    struct arena *arena;
    const struct source *source;
    size_t at;
    struct llm_reply *reply;
    struct error *error;
    bool answered, expects;
};

static bool fail(struct reader *reader, struct line line, const char *message, const char *hint)
{
    size_t length = line.length < 60 ? line.length : 60;
    struct place place = {reader->source, line.offset, length};
    error_at(reader->error, ERROR_BAD_REPLY, place, "%s", message);
    error_hint(reader->error, "%s", hint);
    return false;
}

static bool next_line(struct reader *reader, struct line *line)
{
    size_t left = reader->source->length - reader->at;
    const char *text = reader->source->text + reader->at;
    const char *end = left ? memchr(text, '\n', left) : NULL;
    *line = (struct line){text, end ? (size_t)(end - text) : left, reader->at};
    reader->at += line->length + (end != NULL);
    if (line->length && text[line->length - 1] == '\r')
        line->length--;
    return left > 0;
}

static bool line_is(struct line line, const char *text)
{
    size_t length = strlen(text);
    while (line.length && (line.text[line.length - 1] == ' ' || line.text[line.length - 1] == '\t'))
        line.length--;
    return line.length == length && memcmp(line.text, text, length) == 0;
}

/* Backticks at the start of a line: three or more are a fence; 0: none. */
static size_t fence_of(struct line line)
{
    size_t count = 0;
    while (count < line.length && line.text[count] == '`')
        count++;
    return count >= 3 ? count : 0;
}

/* ---- blocks ---- */

/* The text up to the fence that closes it. */
static bool read_block(struct reader *reader, struct line open, size_t fence, struct line *body)
{
    struct line line;
    *body = (struct line){reader->source->text + reader->at, 0, reader->at};
    while (next_line(reader, &line)) {
        size_t closing = fence_of(line);
        while (line.length && line.text[line.length - 1] == ' ')
            line.length--;
        if (closing >= fence && closing == line.length) {
            body->length = line.offset - body->offset;
            return true;
        }
    }
    return fail(reader, open, "this block does not end", "end it with ``` on a line of its own");
}

enum mark { MARK_NONE, MARK_SEARCH, MARK_MIDDLE, MARK_REPLACE };

static enum mark mark_of(struct line line)
{
    return line_is(line, "<<<<<<< SEARCH")    ? MARK_SEARCH
           : line_is(line, "=======")         ? MARK_MIDDLE
           : line_is(line, ">>>>>>> REPLACE") ? MARK_REPLACE
                                              : MARK_NONE;
}

/* Lines up to `wanted`, another mark being a fault. */
static bool read_part(struct reader *reader, struct line open, enum mark wanted, const char **part)
{
    struct line line;
    size_t start = reader->at;
    while (next_line(reader, &line)) {
        enum mark mark = mark_of(line);
        if (mark == MARK_NONE)
            continue;
        if (mark != wanted)
            return fail(reader, line, "this mark does not belong here",
                        "an edit is <<<<<<< SEARCH, lines, =======, lines, >>>>>>> REPLACE");
        *part = arena_copy(reader->arena, reader->source->text + start, line.offset - start);
        return true;
    }
    return fail(reader, open, "this edit does not end", "end it with >>>>>>> REPLACE");
}

static bool read_edits(struct reader *outer, struct line body)
{
    /* A reader of the block alone, which counts places in the whole reply. */
    struct source *inner = arena_new(outer->arena, struct source);
    *inner = (struct source){outer->source->name, outer->source->text, body.offset + body.length};
    struct reader reader = {.arena = outer->arena,
                            .source = inner,
                            .at = body.offset,
                            .reply = outer->reply,
                            .error = outer->error};
    struct line line;
    bool good = true;
    while (good && next_line(&reader, &line)) {
        struct llm_edit edit = {.place = {outer->source, line.offset, line.length}};
        if (line_is(line, ""))
            continue;
        if (mark_of(line) != MARK_SEARCH)
            good = fail(&reader, line, "an edit begins with <<<<<<< SEARCH",
                        "only edits stand in a block of edits");
        else if (reader.reply->edits.count == LLM_EDITS)
            good = fail(&reader, line, "there are too many edits", "reply with a whole kernel");
        else
            good = read_part(&reader, line, MARK_MIDDLE, &edit.search) &&
                   read_part(&reader, line, MARK_REPLACE, &edit.replace);
        if (good && strspn(edit.search, " \t\r\n") == strlen(edit.search))
            good = fail(&reader, line, "an edit without lines to search for",
                        "give whole lines of the parent that stand in it exactly once");
        if (good)
            vector_push(outer->arena, &outer->reply->edits, edit);
    }
    if (good && outer->reply->edits.count == 0)
        good = fail(&reader, body, "a block of edits without one", "begin with <<<<<<< SEARCH");
    return good;
}

static bool read_answer(struct reader *reader, struct line open, struct line body, int kind)
{
    struct llm_reply *reply = reader->reply;
    if (reader->answered)
        return fail(reader, open, "there are two answers", "give exactly one block");
    reader->answered = true;
    reply->kind = (enum llm_reply_kind)kind;
    if (reply->kind == LLM_EDIT)
        return read_edits(reader, body);
    reply->text = arena_copy(reader->arena, body.text, body.length);
    return strspn(reply->text, " \t\r\n") < strlen(reply->text) ||
           fail(reader, open, "the block is empty", "put the whole text into it");
}

static bool read_fenced(struct reader *reader, struct line open, size_t fence)
{
    struct line body, info = {open.text + fence, open.length - fence, open.offset + fence};
    int kind = 0;
    while (kind < 3 && !line_is(info, kinds[kind]))
        kind++;
    return read_block(reader, open, fence, &body) &&
           (kind == 3 || read_answer(reader, open, body, kind));
}

/* ---- the head ---- */

static const char *line_text(struct reader *reader, struct line line, size_t key)
{
    size_t start = key, end = line.length;
    while (start < end && (line.text[start] == ' ' || line.text[start] == '\t'))
        start++;
    while (end > start && (line.text[end - 1] == ' ' || line.text[end - 1] == '\t'))
        end--;
    if (end - start > LLM_LINE)
        end = start + LLM_LINE;
    while (end > start && ((unsigned char)line.text[end] & 0xc0) == 0x80)
        end--; /* not within a character */
    return arena_copy(reader->arena, line.text + start, end - start);
}

static bool read_key(struct reader *reader, struct line line)
{
    static const char *const keys[] = {"change:", "why:", "expect:"};
    struct llm_reply *reply = reader->reply;
    int key = 0;
    while (key < 3 && (line.length < strlen(keys[key]) ||
                       memcmp(line.text, keys[key], strlen(keys[key])) != 0))
        key++;
    if (key == 3 || reader->answered)
        return true;
    bool again = key == 0 ? reply->change != NULL : key == 1 ? reply->why != NULL : reader->expects;
    const char *text = line_text(reader, line, strlen(keys[key]));
    char *end;
    if (again)
        return fail(reader, line, "this line is there twice", "say it once");
    if (!*text)
        return fail(reader, line, "this line says nothing", "say it in the same line");
    if (key == 0)
        reply->change = text;
    else if (key == 1)
        reply->why = text;
    if (key < 2)
        return true;
    reader->expects = true;
    reply->expected = strtod(text, &end);
    if (end != text && (*end == 'x' || *end == 'X')) /* 1.3x is what people write */
        end++;
    return (end != text && *end == 0 && reply->expected > 0 && reply->expected <= 1000) ||
           fail(reader, line, "what is expected is no number from 0 to 1000",
                "a number alone: 1.3 is three tenths faster, 1 as fast as the parent");
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

bool llm_reply_parse(struct arena *arena, const struct source *source, struct llm_reply *reply,
                     struct error *error)
{
    struct reader reader = {.arena = arena, .source = source, .reply = reply, .error = error};
    struct line line, nowhere = {source->text, 0, 0};
    *reply = (struct llm_reply){0};
    if (source->length > LLM_REPLY_BYTES || !is_text(source))
        return fail(&reader, nowhere, "a reply is text of at most 4 MB", "answer with less");
    while (next_line(&reader, &line)) {
        size_t fence = fence_of(line);
        if (fence ? !read_fenced(&reader, line, fence) : !read_key(&reader, line))
            return false;
    }
    nowhere.offset = source->length;
    if (!reader.answered)
        return fail(&reader, nowhere, "there is no block marked kernel, edits or plan",
                    "put the answer into a block that begins with ```kernel, ```edits or ```plan");
    if (!reply->change || !reply->why || !reader.expects)
        return fail(&reader, nowhere, "a line of the head is missing before the block",
                    "it has three: change: ..., why: ..., expect: NUMBER");
    return true;
}

void llm_repair(struct text *out, const struct error *error)
{
    struct line_column at = {0};
    if (error->place.source)
        at = source_locate(error->place.source, error->place.offset);
    text_printf(out, "Your reply could not be used: %s", error->message);
    if (at.line)
        text_printf(out, " (line %zu)", at.line);
    text_printf(out, "; %s.\nGive it again, all of it.\n\n%s", error->hint, llm_reply_form);
}
