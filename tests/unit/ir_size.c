/* Sizes and the table of operations. */
#include "ir/ir.h"

#include <string.h>

#include "test.h"

static const struct ir_symbol SYMBOLS[] = {{.name = "N"}, {.name = "H"}, {.name = "stride"}};
static const struct ir_part PART = {.symbols = SYMBOLS, .symbol_count = 3};

static struct arena arena;

static const struct ir_size *number(int64_t value)
{
    return ir_size_constant(&arena, value);
}

static const struct ir_size *symbol(int i)
{
    return ir_size_symbol(&arena, i);
}

static const struct ir_size *make(enum ir_size_op op, const struct ir_size *a,
                                  const struct ir_size *b)
{
    return ir_size_make(&arena, op, a, b);
}

static const char *printed(const struct ir_size *size)
{
    struct text text = text_new(&arena);
    ir_size_print(&text, size, &PART);
    return text.at;
}

static const char *folded(enum ir_size_op op, const struct ir_size *a, const struct ir_size *b)
{
    return printed(make(op, a, b));
}

TEST(size_prints_few_parentheses)
{
    const struct ir_size *n = symbol(0), *h = symbol(1), *stride = symbol(2);
    const struct ir_size *out =
        make(IR_SIZE_ADD, make(IR_SIZE_DIV, make(IR_SIZE_SUB, h, number(1)), stride), number(1));

    CHECK_STR(printed(out), "(H - 1)/stride + 1");
    CHECK_STR(folded(IR_SIZE_SUB, n, make(IR_SIZE_SUB, h, stride)), "N - (H - stride)");
    CHECK_STR(folded(IR_SIZE_SUB, make(IR_SIZE_SUB, n, h), stride), "N - H - stride");
    CHECK_STR(folded(IR_SIZE_MUL, n, make(IR_SIZE_MUL, h, stride)), "N*(H*stride)");
    CHECK_STR(folded(IR_SIZE_MUL, make(IR_SIZE_MUL, n, h), stride), "N*H*stride");
    CHECK_STR(folded(IR_SIZE_MOD, make(IR_SIZE_MUL, n, h), number(4)), "N*H % 4");
    CHECK_STR(folded(IR_SIZE_MUL, make(IR_SIZE_MIN, n, make(IR_SIZE_ADD, h, stride)), number(-2)),
              "min(N, H + stride)*-2");
}

TEST(size_folds)
{
    const struct ir_size *n = symbol(0);

    CHECK_STR(folded(IR_SIZE_ADD, number(2), number(3)), "5");
    CHECK_STR(folded(IR_SIZE_ADD, n, number(0)), "N");
    CHECK_STR(folded(IR_SIZE_MUL, number(1), n), "N");
    CHECK_STR(folded(IR_SIZE_MUL, n, number(0)), "0");
    CHECK_STR(folded(IR_SIZE_SUB, n, n), "0");
    CHECK_STR(folded(IR_SIZE_DIV, n, number(1)), "N");
    CHECK_STR(folded(IR_SIZE_ADD, make(IR_SIZE_SUB, n, number(3)), number(1)), "N - 2");
    CHECK_STR(folded(IR_SIZE_ADD, make(IR_SIZE_SUB, n, number(3)), number(3)), "N");
    CHECK_STR(folded(IR_SIZE_ADD, n, number(-1)), "N - 1");
    /* What has no value is kept, to be reported when it is evaluated. */
    CHECK_STR(folded(IR_SIZE_DIV, number(1), number(0)), "1/0");
    CHECK_STR(folded(IR_SIZE_ADD, number(INT64_MAX), number(1)), "9223372036854775807 + 1");
    CHECK_STR(folded(IR_SIZE_MUL, make(IR_SIZE_DIV, n, number(0)), number(0)), "N/0*0");
}

static void check_divides(int64_t a, int64_t b, int64_t quotient, int64_t remainder)
{
    int64_t values[] = {a, b}, result;

    CHECK(ir_size_eval(make(IR_SIZE_DIV, symbol(0), symbol(1)), values, &result));
    CHECK_INT(result, quotient);
    CHECK(ir_size_eval(make(IR_SIZE_MOD, symbol(0), symbol(1)), values, &result));
    CHECK_INT(result, remainder);
}

TEST(size_divides_downwards)
{
    check_divides(7, 2, 3, 1);
    check_divides(-7, 2, -4, 1);
    check_divides(7, -2, -4, -1);
    check_divides(-7, -2, 3, -1);
    check_divides(-8, 2, -4, 0);
    check_divides(INT64_MIN, 1, INT64_MIN, 0);
}

static void check_no_value(enum ir_size_op op, int64_t a, int64_t b)
{
    int64_t values[] = {a, b}, result;
    CHECK(!ir_size_eval(make(op, symbol(0), symbol(1)), values, &result));
}

TEST(size_overflow_is_seen)
{
    check_no_value(IR_SIZE_ADD, INT64_MAX, 1);
    check_no_value(IR_SIZE_SUB, INT64_MIN, 1);
    check_no_value(IR_SIZE_MUL, INT64_C(1) << 32, INT64_C(1) << 31);
    check_no_value(IR_SIZE_DIV, INT64_MIN, -1);
    check_no_value(IR_SIZE_DIV, 1, 0);
    check_no_value(IR_SIZE_MOD, 1, 0);
    int64_t values[] = {INT64_MIN, -1}, result;
    CHECK(ir_size_eval(make(IR_SIZE_MOD, symbol(0), symbol(1)), values, &result) && result == 0);
    CHECK(ir_size_eval(make(IR_SIZE_MIN, symbol(0), symbol(1)), values, &result));
    CHECK_INT(result, INT64_MIN);
}

TEST(ops_have_names)
{
    for (int op = 0; op < IR_OP_COUNT; op++) {
        enum ir_op found;
        CHECK(ir_op_parse(ir_op_name((enum ir_op)op), &found));
        CHECK_INT(found, op);
    }
    CHECK_INT(ir_op_arguments(IR_SELECT), 3);
    CHECK_INT(ir_op_arguments(IR_ATAN2), 2);
    enum ir_op op;
    CHECK(!ir_op_parse("conv", &op));
}
