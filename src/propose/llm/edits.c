/*
 * Edits of a parent kernel: each names whole lines that stand in it exactly once, and what stands
 * there instead. All are found in the parent as it is, so their order does not matter.
 */
#include <stdlib.h>
#include <string.h>

#include "propose/llm/llm.h"

struct spot { /* where an edit goes */
    size_t start, end;
    const struct llm_edit *edit;
};

static bool fail(struct error *error, const struct llm_edit *edit, const char *message,
                 const char *hint)
{
    error_at(error, ERROR_BAD_EDIT, edit->place, "%s", message);
    error_hint(error, "%s", hint);
    return false;
}

/* How often the lines stand in the text; *start is the first place. */
static size_t find_lines(const char *text, const char *lines, size_t *start)
{
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, lines)); at++) {
        if (at > text && at[-1] != '\n')
            continue;
        if (found++ == 0)
            *start = (size_t)(at - text);
    }
    return found;
}

static int compare_spots(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* The lines with one end each, so that the last line of a file is a line like others. */
static const char *ended(struct arena *arena, const char *text)
{
    size_t length = strlen(text);
    return length && text[length - 1] != '\n' ? arena_printf(arena, "%s\n", text) : text;
}

static const char *edit(struct arena *arena, const struct llm_reply *reply, const char *parent,
                        struct error *error)
{
    const char *text = ended(arena, parent);
    size_t count = reply->edits.count, at = 0;
    struct spot *spots = arena_array(arena, count + 1, sizeof *spots);
    struct text out = text_new(arena);
    for (size_t i = 0; i < count; i++) {
        const struct llm_edit *one = &reply->edits.at[i];
        size_t found = find_lines(text, one->search, &spots[i].start);
        if (found != 1) {
            fail(error, one,
                 found ? "the lines of this edit stand in the parent more than once"
                       : "the lines of this edit do not stand in the parent",
                 found ? "add lines before or after them"
                       : "copy them exactly, blanks included, or give the whole kernel");
            return NULL;
        }
        spots[i].end = spots[i].start + strlen(one->search);
        spots[i].edit = one;
    }
    qsort(spots, count, sizeof *spots, compare_spots);
    for (size_t i = 0; i < count; i++) {
        if (spots[i].start < at) {
            fail(error, spots[i].edit, "two edits touch the same lines", "make them one");
            return NULL;
        }
        text_add_bytes(&out, text + at, spots[i].start - at);
        text_add(&out, spots[i].edit->replace);
        at = spots[i].end;
    }
    text_add(&out, text + at);
    if (out.length && strcmp(out.at, text) != 0)
        return out.at;
    fail(error, &reply->edits.at[0], "the edits change nothing, or leave nothing",
         "replace the lines by others");
    return NULL;
}

const char *llm_reply_apply(struct arena *arena, const struct llm_reply *reply, const char *parent,
                            struct error *error)
{
    return reply->kind == LLM_EDIT ? edit(arena, reply, parent, error) : reply->text;
}
