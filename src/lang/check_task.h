/*
 * Private to src/lang: a task on its way from its lines to what src/record calls a task.
 */
#ifndef SMELT_LANG_CHECK_TASK_H
#define SMELT_LANG_CHECK_TASK_H

#include "lang/check.h"

struct tasking {
    struct lang *lang;
    struct lang_file *file;
    struct errors *errors;
    const struct ast_task *ast;
    const struct ast_op *op;
    struct task *task;
    struct instance_key key; /* types bound, counts open */
};

/* Numbers that a line can write without knowing any size; false when it is no such number. */
bool constant_integer(const struct ast_expression *expression, int64_t *value);
bool constant_number(const struct ast_expression *expression, double *value);

/* How each input of the part is drawn; false with an error reported. */
bool task_inputs(struct tasking *tasking, const struct ir_part *part, struct task_input *inputs);
/* One case: the op at its ranks and lengths, bound to its sizes; false with an error reported. */
bool task_case(struct tasking *tasking, const struct ast_line *line, struct task_case *out);

#endif
