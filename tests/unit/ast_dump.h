/*
 * The tree in full, one bracket per node and nothing about layout: two sources mean the same if
 * their dumps are equal. For the tests of parser and formatter, and their fuzzer.
 */
#ifndef SMELT_TESTS_UNIT_AST_DUMP_H
#define SMELT_TESTS_UNIT_AST_DUMP_H

#include <inttypes.h>

#include "lang/ast.h"

static inline void dump_expression(struct text *out, const struct ast_expression *e)
{
    if (!e) {
        text_add(out, " -");
        return;
    }
    text_printf(out, " (%d", (int)e->kind);
    if (e->kind == AST_UNARY || e->kind == AST_BINARY)
        text_printf(out, ":%d", (int)e->operator);
    if (e->kind == AST_INTEGER || e->kind == AST_BOOL)
        text_printf(out, " %" PRId64, e->integer);
    if (e->kind == AST_FLOAT)
        text_printf(out, " %a", e->number);
    text_printf(out, " %s", e->name);
    if (e->element)
        dump_expression(out, e->element);
    for (size_t i = 0; i < e->list.count; i++)
        dump_expression(out, e->list.at[i]);
    for (size_t i = 0; i < e->named.count; i++) {
        text_printf(out, " %s=", e->named.at[i].name);
        dump_expression(out, e->named.at[i].value);
    }
    if (e->kind == AST_READ)
        text_add(out, " else");
    if (e->a)
        dump_expression(out, e->a);
    if (e->b)
        dump_expression(out, e->b);
    if (e->c)
        dump_expression(out, e->c);
    text_char(out, ')');
}

static inline void dump_expressions(struct text *out, const struct ast_expressions *list)
{
    text_printf(out, " [%zu", list->count);
    for (size_t i = 0; i < list->count; i++)
        dump_expression(out, list->at[i]);
    text_char(out, ']');
}

static inline void dump_names(struct text *out, const struct ast_names *names)
{
    text_printf(out, " [%zu", names->count);
    for (size_t i = 0; i < names->count; i++)
        text_printf(out, " %s", names->at[i].name);
    text_char(out, ']');
}

static inline void dump_draws(struct text *out, const struct ast_draws *draws)
{
    for (size_t i = 0; i < draws->count; i++) {
        text_printf(out, " ~%s", draws->at[i].name);
        dump_expressions(out, &draws->at[i].arguments);
    }
}

static inline void dump_declaration(struct text *out, const struct ast_declaration *declaration)
{
    dump_names(out, &declaration->names);
    text_printf(out, ": %s %d %d", declaration->type ? declaration->type : "-",
                declaration->has_dims, declaration->is_list);
    for (size_t i = 0; i < declaration->dims.count; i++) {
        const struct ast_dim *dim = &declaration->dims.at[i];
        text_printf(out, " %d %s", (int)dim->kind, dim->name ? dim->name : "");
        dump_expression(out, dim->size);
    }
    dump_draws(out, &declaration->facts);
    dump_expression(out, declaration->initial);
}

static inline void dump_declarations(struct text *out, const struct ast_declarations *list)
{
    for (size_t i = 0; i < list->count; i++)
        dump_declaration(out, &list->at[i]);
    text_char(out, '\n');
}

static inline void dump_statements(struct text *out, const struct ast_statements *list);

static inline void dump_statement(struct text *out, const struct ast_statement *s)
{
    text_printf(out, "\n%d %d%d%d%d%d%d %s %s %s", (int)s->kind, s->is_next, s->is_scatter,
                s->is_scan, s->is_tuple, s->reverse, s->exclusive, s->reducer ? s->reducer : "=",
                s->along.name ? s->along.name : "-", s->from.name ? s->from.name : "-");
    dump_declaration(out, &s->declaration);
    for (size_t i = 0; i < s->targets.count; i++) {
        text_printf(out, " %s %d", s->targets.at[i].name, s->targets.at[i].has_indices);
        dump_expressions(out, &s->targets.at[i].indices);
    }
    dump_expression(out, s->value);
    dump_expression(out, s->condition);
    for (size_t i = 0; i < s->over.count; i++) {
        text_printf(out, " over %s %d", s->over.at[i].name, s->over.at[i].is_group);
        dump_expression(out, s->over.at[i].low);
        dump_expression(out, s->over.at[i].high);
    }
    text_printf(out, " %s %s", s->index.name ? s->index.name : "-",
                s->list.name ? s->list.name : "-");
    dump_expression(out, s->high);
    dump_statements(out, &s->inits);
    dump_statements(out, &s->body);
    dump_names(out, &s->finals);
}

static inline void dump_statements(struct text *out, const struct ast_statements *list)
{
    text_printf(out, " {%zu", list->count);
    for (size_t i = 0; i < list->count; i++)
        dump_statement(out, &list->at[i]);
    text_char(out, '}');
}

static inline void dump_line(struct text *out, const struct ast_line *line)
{
    text_printf(out, "\nline %d %s %d%d%d%d%d %s", (int)line->kind,
                line->name.name ? line->name.name : "-", line->has_interval, line->low_open,
                line->high_open, line->deterministic, line->timed, line->text ? line->text : "-");
    for (size_t i = 0; i < line->named.count; i++) {
        text_printf(out, " %s=", line->named.at[i].name);
        dump_expression(out, line->named.at[i].value);
    }
    dump_draws(out, &line->draws);
    dump_expression(out, line->low);
    dump_expression(out, line->high);
    for (size_t i = 0; i < line->ranges.count; i++) {
        text_printf(out, " %s", line->ranges.at[i].name.name);
        dump_expression(out, line->ranges.at[i].low);
        dump_expression(out, line->ranges.at[i].high);
    }
}

static inline void dump_op(struct text *out, const struct ast_op *op)
{
    text_printf(out, "op %s %s", op->name.name, op->description ? op->description : "-");
    dump_declarations(out, &op->inputs);
    dump_declarations(out, &op->parameters);
    dump_declarations(out, &op->outputs);
    for (size_t i = 0; i < op->clauses.count; i++) {
        const struct ast_clause *clause = &op->clauses.at[i];
        text_printf(out, " clause %d %s %s", (int)clause->kind,
                    clause->name.name ? clause->name.name : "-",
                    clause->class.name ? clause->class.name : "-");
        dump_expression(out, clause->value);
    }
    dump_statements(out, &op->body);
}

static inline void dump_item(struct text *out, const struct ast_item *item)
{
    switch (item->kind) {
    case AST_ITEM_INCLUDE: text_printf(out, "include %s", item->include.path); break;
    case AST_ITEM_FN:
        text_printf(out, "fn %s", item->fn.name.name);
        dump_names(out, &item->fn.parameters);
        dump_expression(out, item->fn.value);
        break;
    case AST_ITEM_MONOID:
        text_printf(out, "monoid %s %d", item->monoid.name.name, item->monoid.ordered);
        dump_names(out, &item->monoid.left);
        dump_names(out, &item->monoid.right);
        dump_expressions(out, &item->monoid.results);
        dump_expressions(out, &item->monoid.units);
        break;
    case AST_ITEM_OP: dump_op(out, &item->op); break;
    case AST_ITEM_TASK:
        text_printf(out, "task %s of %s", item->task.name.name, item->task.op.name);
        for (size_t i = 0; i < item->task.lines.count; i++)
            dump_line(out, &item->task.lines.at[i]);
        break;
    }
    text_char(out, '\n');
}

static inline void dump_file(struct text *out, const struct ast_file *file)
{
    for (size_t i = 0; i < file->items.count; i++)
        dump_item(out, file->items.at[i]);
}

#endif
