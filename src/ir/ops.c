/*
 * The table of operations, generated from ops.def.
 */
#include "ir/ops.h"

#include <string.h>

static const struct {
    const char *name;
    int arguments;
    enum ir_op_class class;
} OPS[IR_OP_COUNT] = {
#define IR_OP(name, text, arguments, class) [IR_##name] = {text, arguments, IR_CLASS_##class},
#include "ir/ops.def"
#undef IR_OP
};

const char *ir_op_name(enum ir_op op)
{
    return OPS[op].name;
}

bool ir_op_parse(const char *name, enum ir_op *op)
{
    for (int i = 0; i < IR_OP_COUNT; i++) {
        if (strcmp(OPS[i].name, name) == 0) {
            *op = (enum ir_op)i;
            return true;
        }
    }
    return false;
}

int ir_op_arguments(enum ir_op op)
{
    return OPS[op].arguments;
}

enum ir_op_class ir_op_class(enum ir_op op)
{
    return OPS[op].class;
}

const struct ir_part *ir_root(const struct ir_program *program)
{
    return program->parts[program->part_count - 1];
}
