/*
 * What the two halves of the formatter share. Private to src/lang/format*.c.
 *
 * Pieces of text are made on one line first; FORMAT_BREAK stands for a space at which the line may
 * be broken if it turns out too long. Control characters never come from a source, so it is free.
 */
#ifndef SMELT_LANG_FORMAT_H
#define SMELT_LANG_FORMAT_H

#include "lang/ast.h"

enum { FORMAT_BREAK = 1, FORMAT_WIDTH = 100, FORMAT_INDENT = 4, FORMAT_CONTINUATION = 8 };

/*
 * How tightly operators are written. Values have spaces around every operator but ^. In indices and
 * sizes * / % /! are tight, so that the terms of a sum stand out: x[n, g*C + c, p*stride - pad].
 */
enum format_style { FORMAT_VALUE, FORMAT_SIZE };

void format_expression(struct text *out, const struct ast_expression *expression,
                       enum format_style style);
/* A bound: in parentheses if it binds no tighter than a comparison. */
void format_bound(struct text *out, const struct ast_expression *expression);
/* low..high, with spaces around the dots when an end has operators */
void format_range(struct text *out, const struct ast_expression *low,
                  const struct ast_expression *high);
void format_names(struct text *out, const struct ast_names *names);
void format_dims(struct text *out, const struct ast_dims *dims);
void format_draws(struct text *out, const struct ast_draws *draws);
void format_declarations(struct text *out, const struct ast_declarations *list);
void format_named(struct text *out, const struct ast_named_list *list);
void format_string(struct text *out, const char *string); /* in quotes */
/* name(inputs; parameters), and (outputs) */
void format_inputs(struct text *out, const struct ast_op *op);
void format_outputs(struct text *out, const struct ast_op *op);
/* A tuple for two and more, the bare value for one. */
void format_components(struct text *out, const struct ast_expressions *list);

/* "y[i, j]", with next or scatter before it; "scan +="; what follows the operator. */
void format_left_side(struct text *out, const struct ast_statement *define);
void format_operator(struct text *out, const struct ast_statement *define);
void format_right_side(struct text *out, const struct ast_statement *define);
/* Everything between `task`'s indentation and the end of the line. */
void format_line(struct text *out, const struct ast_line *line);

/* Columns it takes on one line. */
size_t format_width(const char *piece);
/* Indents the piece and breaks it where it must be. No newline at the end. */
void format_fill(struct text *out, const char *piece, int indent, int continuation);

#endif
