/*
 * Numbers written in the lines of a task.
 */
#include <math.h>
#include <string.h>

#include "lang/check_task.h"

bool constant_integer(const struct ast_expression *expression, int64_t *value)
{
    int64_t a, b;
    if (expression->kind == AST_INTEGER) {
        *value = expression->integer;
        return true;
    }
    if (expression->kind == AST_UNARY && expression->operator== AST_NEGATE)
        return constant_integer(expression->a, &a) && !__builtin_sub_overflow((int64_t)0, a, value);
    if (expression->kind != AST_BINARY || !constant_integer(expression->a, &a) ||
        !constant_integer(expression->b, &b))
        return false;
    switch (expression->operator) {
    case AST_ADD: return !__builtin_add_overflow(a, b, value);
    case AST_SUBTRACT: return !__builtin_sub_overflow(a, b, value);
    case AST_MULTIPLY: return !__builtin_mul_overflow(a, b, value);
    case AST_POWER:
        *value = 1;
        for (int64_t i = 0; i < b; i++)
            if (i > 64 || __builtin_mul_overflow(*value, a, value))
                return false;
        return b >= 0;
    default: return false;
    }
}

bool constant_number(const struct ast_expression *expression, double *value)
{
    int64_t integer;
    double a, b;
    if (expression->kind == AST_FLOAT) {
        *value = expression->number;
        return true;
    }
    if (expression->kind == AST_NAME) {
        *value = strcmp(expression->name, "inf") == 0   ? INFINITY
                 : strcmp(expression->name, "nan") == 0 ? NAN
                                                        : 3.14159265358979323846;
        return strcmp(expression->name, "inf") == 0 || strcmp(expression->name, "nan") == 0 ||
               strcmp(expression->name, "pi") == 0;
    }
    if (expression->kind == AST_UNARY && expression->operator== AST_NEGATE) {
        bool good = constant_number(expression->a, &a);
        *value = -a;
        return good;
    }
    if (expression->kind == AST_BINARY && expression->operator== AST_DIVIDE) {
        bool good = constant_number(expression->a, &a) && constant_number(expression->b, &b);
        *value = good ? a / b : 0;
        return good;
    }
    bool good = constant_integer(expression, &integer);
    *value = good ? (double)integer : 0;
    return good;
}
