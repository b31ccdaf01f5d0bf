/*
 * The one style: how items, statements and comments are laid out. The pieces of a line are made by
 * format_piece.c.
 *
 * Comments are not in the tree; they are put back by their place. A comment that follows something
 * on its line stays there; one on its own line stays before what it stood before. A comment in the
 * middle of a statement moves to the line above it, one in the middle of a signature to the top of
 * the body (above the op it would become its description).
 */
#include "lang/format.h"

#include <string.h>

/* A left side longer than this is not lined up with its neighbours, nor are they with it. */
enum { ALIGNED_LEFT_SIDE = 30, ALIGNED_COMMENT = 70 };

struct formatter {
    struct text *out;
    const struct ast_file *file;
    size_t comment; /* the next one to print */
    size_t last;    /* how far in the source we are */
    bool fresh;     /* at the start of a file or body, where no blank line is wanted */
};

/* A line to print, and the stretch of source it stands for. */
struct row {
    const char *text;                   /* a piece */
    const struct ast_statement *define; /* NULL unless it may be lined up */
    size_t start, end;
    size_t limit; /* where the next thing starts: a comment beyond is not ours */
};
struct rows VECTOR(struct row);

static size_t place_end(struct place place)
{
    return place.offset + place.length;
}

/* ---- places and comments ---- */

static const struct ast_comment *comment_pending(const struct formatter *f, size_t before)
{
    const struct ast_comments *comments = &f->file->comments;
    if (f->comment >= comments->count || comments->at[f->comment].place.offset >= before)
        return NULL;
    return &comments->at[f->comment];
}

static size_t comment_first_from(const struct formatter *f, size_t offset)
{
    size_t low = 0, high = f->file->comments.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (f->file->comments.at[middle].place.offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* An empty line somewhere between the two. */
static bool blank_between(const struct formatter *f, size_t from, size_t to)
{
    int breaks = 0;
    for (size_t i = from; i < to; i++) {
        char c = f->file->source->text[i];
        if (c == '\n' && ++breaks == 2)
            return true;
        if (c != '\n' && c != ' ' && c != '\t' && c != '\r')
            breaks = 0;
    }
    return false;
}

static bool same_line(const struct formatter *f, size_t from, size_t to)
{
    return from <= to && !memchr(f->file->source->text + from, '\n', to - from);
}

/* Just behind the brace that opens a body; only space and comments stand before it. */
static size_t brace_after(const struct formatter *f, size_t offset)
{
    const char *text = f->file->source->text;
    while (text[offset] && text[offset] != '{')
        offset += text[offset] == '#' ? strcspn(text + offset, "\n") : 1;
    return text[offset] ? offset + 1 : offset;
}

/* The comment that follows `end` on its line, before `limit`; NULL if there is none. */
static const struct ast_comment *comment_beside(const struct formatter *f, size_t end, size_t limit)
{
    size_t i = comment_first_from(f, end);
    if (i >= f->file->comments.count)
        return NULL;
    const struct ast_comment *comment = &f->file->comments.at[i];
    if (comment->place.offset >= limit || !same_line(f, end, comment->place.offset))
        return NULL;
    return comment;
}

static void format_reach(struct formatter *f, size_t offset)
{
    f->last = offset > f->last ? offset : f->last;
    f->fresh = false;
}

static void format_blank(struct formatter *f, bool wanted)
{
    if (wanted && !f->fresh)
        text_char(f->out, '\n');
    f->fresh = true; /* one is enough */
}

static void format_comment_text(struct formatter *f, const struct ast_comment *comment)
{
    text_add_bytes(f->out, f->file->source->text + comment->place.offset, comment->place.length);
}

/* The comments up to `before`, each on its own line. `blanks`: empty lines between them stay. */
static void format_comments(struct formatter *f, size_t before, int indent, bool blanks)
{
    const struct ast_comment *comment;
    while ((comment = comment_pending(f, before))) {
        format_blank(f, blanks && comment->own_line && comment->blank_before);
        text_repeat(f->out, ' ', indent);
        format_comment_text(f, comment);
        text_char(f->out, '\n');
        format_reach(f, place_end(comment->place));
        f->comment++;
    }
}

/* What stands before something that reaches from start to end: comments, an empty line. */
static void format_lead(struct formatter *f, size_t start, size_t end, int indent)
{
    format_comments(f, start, indent, true);
    format_blank(f, blank_between(f, f->last, start));
    format_comments(f, end, indent, false);
    format_reach(f, end);
}

/* Ends the line, with the comment that belongs to it. */
static void format_line_end(struct formatter *f, size_t end, size_t limit, long spaces)
{
    const struct ast_comment *comment = comment_beside(f, end, limit);
    if (comment && comment == comment_pending(f, limit)) {
        text_repeat(f->out, ' ', spaces);
        format_comment_text(f, comment);
        format_reach(f, place_end(comment->place));
        f->comment++;
    }
    text_char(f->out, '\n');
    format_reach(f, end);
}

/* ---- rows: lines that are lined up with each other ---- */

/* Nothing but a line break, and perhaps the comment of the first, between two neighbours. */
static bool row_follows(const struct formatter *f, const struct row *row, const struct row *next)
{
    const struct ast_comment *beside = comment_beside(f, row->end, next->start);
    size_t from = beside ? place_end(beside->place) : row->end;
    size_t i = comment_first_from(f, from);
    bool comment = i < f->file->comments.count && f->file->comments.at[i].place.offset < next->end;
    return !comment && !blank_between(f, from, next->start);
}

static const char *piece_of(struct formatter *f, const struct ast_statement *define,
                            void (*format)(struct text *, const struct ast_statement *))
{
    struct text text = text_new(f->out->arena);
    format(&text, define);
    return text.at;
}

/* The definition with its left side and operator padded; 0 for none. */
static const char *define_piece(struct formatter *f, const struct ast_statement *define,
                                size_t left_width, size_t operator_width)
{
    struct text text = text_new(f->out->arena);
    const char *left = piece_of(f, define, format_left_side);
    const char *operator= piece_of(f, define, format_operator);
    text_printf(&text, "%s", left);
    text_repeat(&text, ' ', (long)left_width - (long)format_width(left));
    text_printf(&text, " %s", operator);
    text_repeat(&text, ' ', (long)operator_width - (long)strlen(operator));
    text_char(&text, ' ');
    format_right_side(&text, define);
    return text.at;
}

static void rows_align(struct formatter *f, struct rows *rows, int indent)
{
    size_t left_width = 0, operator_width = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct ast_statement *define = rows->at[i].define;
        if (!define)
            continue;
        size_t left = format_width(piece_of(f, define, format_left_side));
        size_t operator= strlen(piece_of(f, define, format_operator));
        if (left <= ALIGNED_LEFT_SIDE) {
            left_width = left > left_width ? left : left_width;
            operator_width = operator> operator_width ? operator: operator_width;
        }
    }
    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->at[i];
        if (!row->define)
            continue;
        if (format_width(piece_of(f, row->define, format_left_side)) > ALIGNED_LEFT_SIDE)
            continue;
        const char *piece = define_piece(f, row->define, left_width, operator_width);
        if ((size_t)indent + format_width(piece) <= FORMAT_WIDTH)
            row->text = piece;
    }
}

/* Prints the rows, their comments below each other, and forgets them. */
static void rows_flush(struct formatter *f, struct rows *rows, int indent)
{
    size_t widest = 0;
    rows_align(f, rows, indent);
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->at[i];
        size_t width = format_width(row->text);
        if (comment_beside(f, row->end, row->limit) && width > widest && width <= ALIGNED_COMMENT)
            widest = width;
    }
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->at[i];
        long short_by = (long)widest - (long)format_width(row->text);
        format_lead(f, row->start, row->end, indent);
        format_fill(f->out, row->text, indent, FORMAT_CONTINUATION);
        format_line_end(f, row->end, row->limit, short_by > 0 ? short_by + 2 : 2);
    }
    rows->count = 0;
}

/* Adds a row, printing those before it first unless it continues them. */
static void rows_add(struct formatter *f, struct rows *rows, struct row row, int indent)
{
    bool fits = (size_t)indent + format_width(row.text) <= FORMAT_WIDTH;
    const struct row *before = rows->count ? &rows->at[rows->count - 1] : NULL;
    if (before && (!fits || !before->define != !row.define || !row_follows(f, before, &row)))
        rows_flush(f, rows, indent);
    if (!fits)
        row.define = NULL; /* too long to be lined up */
    vector_push(f->out->arena, rows, row);
    if (!fits)
        rows_flush(f, rows, indent);
}

/* ---- statements ---- */

static void format_body(struct formatter *f, const struct ast_statements *body, int indent,
                        size_t close);

static size_t statement_end(const struct ast_statement *statement)
{
    if (statement->kind != AST_LOOP && statement->kind != AST_EACH)
        return place_end(statement->place);
    if (statement->finals.count)
        return place_end(statement->finals.at[statement->finals.count - 1].place);
    return place_end(statement->end);
}

static const char *head_piece(struct formatter *f, const struct ast_statement *statement)
{
    struct text text = text_new(f->out->arena);
    if (statement->kind == AST_EACH) {
        text_printf(&text, "each %s in %s {", statement->index.name, statement->list.name);
        return text.at;
    }
    text_printf(&text, "loop %s < ", statement->index.name);
    format_expression(&text, statement->high, FORMAT_SIZE);
    text_printf(&text, "%s with ", statement->reverse ? " rev" : "");
    for (size_t i = 0; i < statement->inits.count; i++) {
        const struct ast_statement *init = &statement->inits.at[i];
        if (i > 0)
            text_printf(&text, ",%c", FORMAT_BREAK);
        format_left_side(&text, init);
        text_add(&text, " = ");
        format_expression(&text, init->value, FORMAT_VALUE);
    }
    text_add(&text, " {");
    return text.at;
}

/* loop and each */
static void format_block(struct formatter *f, const struct ast_statement *statement, int indent,
                         size_t limit)
{
    size_t head = place_end(statement->place), close = statement->end.offset;
    size_t first = statement->body.count ? statement->body.at[0].place.offset : close;
    format_lead(f, statement->place.offset, head, indent);
    format_fill(f->out, head_piece(f, statement), indent, FORMAT_CONTINUATION);
    format_line_end(f, brace_after(f, head), first, 2);
    format_body(f, &statement->body, indent + FORMAT_INDENT, close);
    struct text tail = text_new(f->out->arena);
    text_char(&tail, '}');
    if (statement->finals.count) {
        text_add(&tail, " -> ");
        format_names(&tail, &statement->finals);
    }
    format_fill(f->out, tail.at, indent, FORMAT_CONTINUATION);
    format_line_end(f, statement_end(statement), limit, 2);
}

static struct row statement_row(struct formatter *f, const struct ast_statement *statement)
{
    struct row row = {.start = statement->place.offset, .end = place_end(statement->place)};
    if (statement->kind == AST_DEFINE) {
        row.define = statement;
        row.text = define_piece(f, statement, 0, 0);
        return row;
    }
    struct ast_declarations one = {.at = (struct ast_declaration *)&statement->declaration,
                                   .count = 1};
    struct text text = text_new(f->out->arena);
    format_declarations(&text, &one);
    row.text = text.at;
    return row;
}

/* The statements of a body and the comments up to its closing brace. */
static void format_body(struct formatter *f, const struct ast_statements *body, int indent,
                        size_t close)
{
    struct rows rows = {0};
    f->fresh = true;
    for (size_t i = 0; i < body->count; i++) {
        const struct ast_statement *statement = &body->at[i];
        size_t limit = i + 1 < body->count ? body->at[i + 1].place.offset : close;
        if (statement->kind == AST_LOOP || statement->kind == AST_EACH) {
            rows_flush(f, &rows, indent);
            format_block(f, statement, indent, limit);
        } else {
            struct row row = statement_row(f, statement);
            row.limit = limit;
            rows_add(f, &rows, row, indent);
        }
    }
    rows_flush(f, &rows, indent);
    format_comments(f, close, indent, true);
    format_reach(f, close);
}

/* ---- items ---- */

/* Consecutive clauses of a kind as one list; `broken`: each let on its own line. */
static void format_clauses(struct text *out, const struct ast_op *op, bool broken)
{
    for (size_t i = 0; i < op->clauses.count; i++) {
        const struct ast_clause *clause = &op->clauses.at[i];
        bool first = i == 0 || op->clauses.at[i - 1].kind != clause->kind;
        struct text piece = text_new(out->arena);
        if (first)
            text_add(&piece, clause->kind == AST_LET ? "let " : "where ");
        if (clause->kind == AST_LET)
            text_printf(&piece, "%s = ", clause->name.name);
        if (clause->value)
            format_expression(&piece, clause->value,
                              clause->kind == AST_LET ? FORMAT_SIZE : FORMAT_VALUE);
        else
            text_printf(&piece, "%s: %s", clause->name.name, clause->class.name);
        if (i + 1 < op->clauses.count && op->clauses.at[i + 1].kind == clause->kind)
            text_char(&piece, ',');
        int under = clause->kind == AST_LET ? 4 : 6; /* below the word's first */
        if (broken) {
            text_char(out, '\n');
            format_fill(out, piece.at, FORMAT_INDENT + (first ? 0 : under), FORMAT_CONTINUATION);
        } else {
            text_printf(out, " %s", piece.at);
        }
    }
}

static void format_op(struct formatter *f, const struct ast_op *op)
{
    struct text line = text_new(f->out->arena), inputs = text_new(f->out->arena);
    struct text outputs = text_new(f->out->arena);
    text_add(&inputs, "op ");
    format_inputs(&inputs, op);
    text_add(&outputs, "-> ");
    format_outputs(&outputs, op);
    text_printf(&line, "%s %s", inputs.at, outputs.at);
    format_clauses(&line, op, false);
    text_add(&line, " {");
    if (format_width(line.at) <= FORMAT_WIDTH) {
        format_fill(f->out, line.at, 0, 0);
    } else {
        format_fill(f->out, inputs.at, 0, FORMAT_CONTINUATION);
        text_char(f->out, '\n');
        format_fill(f->out, outputs.at, FORMAT_INDENT, FORMAT_CONTINUATION);
        format_clauses(f->out, op, true);
        text_add(f->out, "\n{");
    }
    size_t close = op->end.offset;
    size_t first = op->body.count ? op->body.at[0].place.offset : close;
    format_line_end(f, brace_after(f, place_end(op->place)), first, 2);
    format_body(f, &op->body, FORMAT_INDENT, close);
    text_char(f->out, '}');
}

/* A comment below the last line of a task that is indented as the lines are. */
static bool comment_is_inside(const struct formatter *f, const struct ast_comment *comment)
{
    size_t offset = comment->place.offset;
    return comment->own_line && offset > 0 && strchr(" \t", f->file->source->text[offset - 1]);
}

/* The lines of a task, all but the newline of the head. */
static void format_task(struct formatter *f, const struct ast_task *task, size_t limit)
{
    struct rows rows = {0};
    size_t count = task->lines.count;
    text_printf(f->out, "task %s of %s", task->name.name, task->op.name);
    format_line_end(f, place_end(task->place), count ? task->lines.at[0].place.offset : limit, 2);
    f->fresh = true;
    for (size_t i = 0; i < count; i++) {
        const struct ast_line *line = &task->lines.at[i];
        struct text text = text_new(f->out->arena);
        format_line(&text, line);
        struct row row = {.text = text.at,
                          .start = line->place.offset,
                          .end = place_end(line->place),
                          .limit = i + 1 < count ? task->lines.at[i + 1].place.offset : limit};
        rows_add(f, &rows, row, FORMAT_INDENT);
    }
    rows_flush(f, &rows, FORMAT_INDENT);
    const struct ast_comment *comment;
    while ((comment = comment_pending(f, limit)) && comment_is_inside(f, comment))
        format_comments(f, comment->place.offset + 1, FORMAT_INDENT, true);
}

static void format_fn(struct text *out, const struct ast_fn *fn)
{
    text_printf(out, "fn %s(", fn->name.name);
    format_names(out, &fn->parameters);
    text_add(out, ") = ");
    format_expression(out, fn->value, FORMAT_VALUE);
}

static void format_monoid(struct text *out, const struct ast_monoid *monoid)
{
    text_printf(out, "monoid %s(", monoid->name.name);
    format_names(out, &monoid->left);
    text_add(out, "; ");
    format_names(out, &monoid->right);
    text_add(out, ") = ");
    format_components(out, &monoid->results);
    text_printf(out, "%cunit ", FORMAT_BREAK);
    format_components(out, &monoid->units);
    if (monoid->ordered)
        text_printf(out, "%cordered", FORMAT_BREAK);
}

static void format_item(struct formatter *f, const struct ast_item *item, size_t limit)
{
    struct text piece = text_new(f->out->arena);
    switch (item->kind) {
    case AST_ITEM_INCLUDE:
        text_add(&piece, "include ");
        format_string(&piece, item->include.path);
        break;
    case AST_ITEM_FN: format_fn(&piece, &item->fn); break;
    case AST_ITEM_MONOID: format_monoid(&piece, &item->monoid); break;
    case AST_ITEM_OP: format_op(f, &item->op); break;
    case AST_ITEM_TASK: format_task(f, &item->task, limit); return;
    }
    if (piece.length > 0)
        format_fill(f->out, piece.at, 0, FORMAT_CONTINUATION);
    format_line_end(f, place_end(item->place), limit, 2);
}

/* Comments inside a signature belong to its body; others are hoisted above the item. */
static size_t item_hoists_until(const struct ast_item *item)
{
    if (item->kind == AST_ITEM_OP)
        return item->place.offset;
    return place_end(item->kind == AST_ITEM_TASK ? item->task.place : item->place);
}

/* Includes and fns may stand close together, as written; all else is one empty line apart. */
static bool items_close(const struct ast_item *a, const struct ast_item *b)
{
    return a && b && a->kind == b->kind && (a->kind == AST_ITEM_INCLUDE || a->kind == AST_ITEM_FN);
}

void ast_format(struct text *out, const struct ast_file *file)
{
    struct formatter f = {.out = out, .file = file, .fresh = true};
    const struct ast_item *before = NULL;
    for (size_t i = 0; i < file->items.count; i++) {
        const struct ast_item *item = file->items.at[i];
        size_t limit = i + 1 < file->items.count ? file->items.at[i + 1]->place.offset : SIZE_MAX;
        if (!items_close(before, item))
            format_blank(&f, true);
        format_lead(&f, item->place.offset, item_hoists_until(item), 0);
        format_item(&f, item, limit);
        before = item;
    }
    format_blank(&f, comment_pending(&f, SIZE_MAX) != NULL);
    format_comments(&f, SIZE_MAX, 0, true);
}
