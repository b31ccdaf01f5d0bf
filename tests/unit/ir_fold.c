/* Folding: what every operation gives, its edges above all. */
#include "ir/ir.h"

#include <math.h>

#include "test.h"

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static int64_t integer(enum ir_op op, int64_t a, int64_t b)
{
    struct ir_node nodes[] = {
        {.op = IR_INT, .type = DTYPE_I64, .a = IR_NONE, .b = IR_NONE, .c = IR_NONE, .integer = a},
        {.op = IR_INT, .type = DTYPE_I64, .a = IR_NONE, .b = IR_NONE, .c = IR_NONE, .integer = b},
        {.op = op, .type = DTYPE_I64, .a = 0, .b = 1, .c = IR_NONE},
    };
    struct ir_value values[3];

    ir_fold(&(struct ir_nodes){nodes, 3}, NULL, NULL, values);
    return values[2].integer;
}

static struct ir_value floats(enum ir_op op, double a, double b)
{
    struct ir_node nodes[] = {
        {.op = IR_FLOAT, .type = DTYPE_F32, .a = IR_NONE, .b = IR_NONE, .c = IR_NONE, .number = a},
        {.op = IR_FLOAT, .type = DTYPE_F64, .a = IR_NONE, .b = IR_NONE, .c = IR_NONE, .number = b},
        {.op = op, .type = DTYPE_F64, .a = 0, .b = 1, .c = IR_NONE},
    };
    struct ir_value values[3];

    ir_fold(&(struct ir_nodes){nodes, 3}, NULL, NULL, values);
    return values[2];
}

static struct ir_value cast(enum dtype from, struct ir_value value, enum dtype to)
{
    struct ir_node nodes[] = {
        {.op = IR_PARAM, .type = from, .a = IR_NONE, .b = IR_NONE, .c = IR_NONE, .param = 0},
        {.op = IR_CAST, .type = dtype_compute(to), .a = 0, .b = IR_NONE, .c = IR_NONE, .cast = to},
    };
    struct ir_value values[2];

    ir_fold(&(struct ir_nodes){nodes, 2}, NULL, &value, values);
    return values[1];
}

TEST(fold_integers)
{
    CHECK_INT(integer(IR_FLOORDIV, -7, 2), -4);
    CHECK_INT(integer(IR_FLOORMOD, -7, 2), 1);
    CHECK_INT(integer(IR_FLOORMOD, 7, -2), -1);
    CHECK_INT(integer(IR_QUOT, -7, 2), -3);
    CHECK_INT(integer(IR_REM, -7, 2), -1);
    for (int op = IR_FLOORDIV; op <= IR_REM; op++)
        CHECK_INT(integer((enum ir_op)op, 5, 0), 0);
    CHECK_INT(integer(IR_FLOORDIV, INT64_MIN, -1), INT64_MIN);
    CHECK_INT(integer(IR_QUOT, INT64_MIN, -1), INT64_MIN);
    CHECK_INT(integer(IR_FLOORMOD, INT64_MIN, -1), 0);
    CHECK_INT(integer(IR_REM, INT64_MIN, -1), 0);
    CHECK_INT(integer(IR_ADD, INT64_MAX, 1), INT64_MIN);
    CHECK_INT(integer(IR_MUL, INT64_MAX, 2), -2);
    CHECK_INT(integer(IR_ABS, INT64_MIN, 0), INT64_MIN);
    CHECK_INT(integer(IR_NEG, INT64_MIN, 0), INT64_MIN);
    CHECK_INT(integer(IR_SIGN, -3, 0), -1);
    CHECK_INT(integer(IR_SHL, 3, 65), 6);
    CHECK_INT(integer(IR_SHR, -8, 1), -4);
    CHECK_INT(integer(IR_SHR, -8, -63), -4);
    CHECK_INT(integer(IR_BITNOT, 0, 0), -1);
    CHECK_INT(integer(IR_LT, -1, 1), 1);
}

TEST(fold_floats)
{
    CHECK(same(floats(IR_MIN, 0.0, -0.0).number, -0.0));
    CHECK(same(floats(IR_MIN, -0.0, 0.0).number, -0.0));
    CHECK(same(floats(IR_MAX, -0.0, 0.0).number, 0.0));
    CHECK(same(floats(IR_MAX, 0.0, -0.0).number, 0.0));
    CHECK(same(floats(IR_MAX, NAN, 1).number, NAN));
    CHECK(same(floats(IR_MIN, 1, NAN).number, NAN));
    CHECK(same(floats(IR_SIGN, -0.0, 0).number, 0.0));
    CHECK(same(floats(IR_SIGN, NAN, 0).number, NAN));
    CHECK(same(floats(IR_ROUND, 2.5, 0).number, 2));
    CHECK(same(floats(IR_ROUND, -0.5, 0).number, -0.0));
    CHECK(same(floats(IR_FMOD, -7, 2).number, -1));
    CHECK(same(floats(IR_COPYSIGN, -3, NAN).number, 3));
    CHECK(same(floats(IR_COPYSIGN, 3, -0.0).number, -3));
    CHECK(same(floats(IR_DIV, 1, -0.0).number, -INFINITY));
    CHECK(same(floats(IR_ATAN2, 0, -1).number, atan2(0, -1)));
    /* An f32 node does not round: only casts do. */
    CHECK(same(floats(IR_ADD, 0.1, 0.2).number, 0.1 + 0.2));
    CHECK_INT(floats(IR_EQ, NAN, NAN).integer, 0);
    CHECK_INT(floats(IR_NE, NAN, NAN).integer, 1);
    CHECK_INT(floats(IR_EQ, 0.0, -0.0).integer, 1);
    CHECK_INT(floats(IR_ISINF, -INFINITY, 0).integer, 1);
}

/* Every operation has a value; none falls through. */
TEST(fold_is_total)
{
    for (int op = IR_ADD; op < IR_OP_COUNT; op++) {
        if (op >= IR_FLOORDIV && op <= IR_SHR)
            integer((enum ir_op)op, INT64_MIN, 0);
        else
            floats((enum ir_op)op, NAN, -1);
    }
}

TEST(fold_casts)
{
    CHECK(same(cast(DTYPE_F32, (struct ir_value){.number = 0.1}, DTYPE_F32).number, (double)0.1f));
    CHECK(same(cast(DTYPE_F32, (struct ir_value){.number = 65520}, DTYPE_F16).number, INFINITY));
    CHECK_INT(cast(DTYPE_F32, (struct ir_value){.number = -1.5}, DTYPE_I8).integer, -1);
    CHECK_INT(cast(DTYPE_F32, (struct ir_value){.number = 300}, DTYPE_U8).integer, 255);
    CHECK_INT(cast(DTYPE_F32, (struct ir_value){.number = 0.5}, DTYPE_BOOL).integer, 1);
    CHECK_INT(cast(DTYPE_I64, (struct ir_value){.integer = 300}, DTYPE_U8).integer, 44);
    CHECK_INT(cast(DTYPE_I64, (struct ir_value){.integer = 256}, DTYPE_BOOL).integer, 1);
    CHECK(same(cast(DTYPE_I64, (struct ir_value){.integer = 2049}, DTYPE_F16).number, 2048));
    CHECK(same(cast(DTYPE_BOOL, (struct ir_value){.integer = 1}, DTYPE_F64).number, 1));
}

TEST(fold_sizes_scalars_and_choice)
{
    struct arena arena = {0};
    const struct ir_size *n = ir_size_symbol(&arena, 0);
    struct ir_node nodes[] = {
        {.op = IR_SIZE, .type = DTYPE_I64, .a = -1, .b = -1, .c = -1, .size = n},
        {.op = IR_TO_FLOAT, .type = DTYPE_F32, .a = 0, .b = -1, .c = -1},
        {.op = IR_SCALAR, .type = DTYPE_F32, .a = -1, .b = -1, .c = -1, .scalar = 0},
        {.op = IR_SCALAR, .type = DTYPE_BOOL, .a = -1, .b = -1, .c = -1, .scalar = 1},
        {.op = IR_SELECT, .type = DTYPE_F32, .a = 3, .b = 1, .c = 2},
        {.op = IR_NOT, .type = DTYPE_BOOL, .a = 3, .b = -1, .c = -1},
        {.op = IR_SELECT, .type = DTYPE_F32, .a = 5, .b = 1, .c = 2},
    };
    int64_t sizes[] = {(INT64_C(1) << 53) - 1};
    double scalars[] = {0.25, 1};
    struct ir_binding binding = {.sizes = sizes, .scalars = scalars};
    struct ir_value values[7];

    ir_fold(&(struct ir_nodes){nodes, 7}, &binding, NULL, values);
    CHECK(values[4].number == 0x1p53 - 1);
    CHECK(values[6].number == 0.25);
    CHECK_INT(values[5].integer, 0);
    arena_release(&arena);
}
