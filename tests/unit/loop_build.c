/* The low form: what folds while it is built, how it widens, what the checker says. */
#include "loop/loop.h"

#include <string.h>

#include "test.h"

static struct arena arena;
static const struct ir_symbol SYMBOLS[] = {{.name = "N"}, {.name = "D"}};
static const struct ir_size N = {.op = IR_SIZE_SYMBOL, .symbol = 0};
static const struct ir_size D = {.op = IR_SIZE_SYMBOL, .symbol = 1};
static const struct ir_size *const DIMS[] = {&N, &D};
static const struct ir_tensor TENSORS[] = {
    {.name = "x", .role = IR_TENSOR_INPUT, .dtype = DTYPE_F32, .rank = 2, .dims = DIMS},
    {.name = "y", .role = IR_TENSOR_OUTPUT, .dtype = DTYPE_F32, .rank = 2, .dims = DIMS},
    {.name = "t", .role = IR_TENSOR_TEMPORARY, .dtype = DTYPE_F32, .rank = 2, .dims = DIMS},
};
static const struct ir_part PART = {
    .name = "test", .symbols = SYMBOLS, .symbol_count = 2, .tensors = TENSORS, .tensor_count = 3};

static struct loop_kernel *kernel;
static struct loop_block *block;
static struct loop_variable *i, *j;

/* Two loops, i around j; what is tested goes inside. */
static void start(void)
{
    kernel = loop_kernel_new(&arena, &PART);
    struct loop_block *body = loop_function(kernel, "f", NULL);
    loop_value zero = loop_integer(&arena, 0);
    body = loop_for(body, LOOP_PARALLEL, "i", zero, loop_size(&arena, &PART, &N), NULL, &i);
    block = loop_for(body, LOOP_SERIAL, "j", zero, loop_size(&arena, &PART, &D), NULL, &j);
}

static loop_value integer(int64_t value)
{
    return loop_integer(&arena, value);
}

static loop_value of(struct loop_variable *variable)
{
    return loop_of(&arena, variable);
}

/* The value as the text form has it. */
static const char *printed(loop_value value)
{
    struct loop_kernel *one = loop_kernel_new(&arena, &PART);
    loop_let(loop_function(one, "f", NULL), "v", value);
    struct text text = text_new(&arena);
    loop_print(&text, one);
    char *from = strstr(text.at, " = ") + 3;
    from[strlen(from) - 1] = '\0';
    return from;
}

TEST(loop_folds_integers)
{
    start();
    loop_value n = loop_size(&arena, &PART, &N);
    CHECK_STR(printed(loop_add(&arena, integer(2), integer(3))), "5");
    CHECK_STR(printed(loop_add(&arena, of(i), integer(0))), "i");
    CHECK_STR(printed(loop_mul(&arena, integer(1), of(i))), "i");
    CHECK_STR(printed(loop_mul(&arena, of(i), integer(0))), "0");
    CHECK_STR(printed(loop_add(&arena, loop_add(&arena, of(i), integer(3)), integer(4))),
              "(i + 7)");
    CHECK_STR(printed(loop_add(&arena, loop_sub(&arena, n, of(i)), of(i))), "N");
    CHECK_STR(printed(loop_sub(&arena, loop_add(&arena, of(i), integer(8)), of(i))), "8");
    CHECK_STR(printed(loop_apply(&arena, IR_FLOORMOD, loop_mul(&arena, of(i), integer(32)),
                                 integer(16), NULL)),
              "0");
    CHECK_STR(printed(loop_select(&arena, loop_less(&arena, integer(1), integer(2)), of(i), of(j))),
              "i");
    /* the same size, made twice */
    CHECK(loop_equal(n, loop_size(&arena, &PART, &N)));
}

TEST(loop_folds_floats_only_where_no_bit_changes)
{
    start();
    loop_value x = loop_load(&arena, loop_tensor(kernel, 0), of(i), 1);
    loop_value zero = loop_number(&arena, 0, DTYPE_F32), one = loop_number(&arena, 1, DTYPE_F32);
    CHECK_STR(printed(loop_mul(&arena, x, one)), "x[i]");
    CHECK_STR(printed(loop_add(&arena, x, zero)), "(x[i] + 0)"); /* -0 + 0 is 0 */
    CHECK_STR(printed(loop_mul(&arena, x, zero)), "(x[i] * 0)"); /* NaN */
}

static loop_value row_major(loop_value row, loop_value column)
{
    return loop_add(&arena, loop_mul(&arena, row, loop_size(&arena, &PART, &D)), column);
}

TEST(loop_widens_by_how_offsets_depend)
{
    start();
    const struct loop_buffer *x = loop_tensor(kernel, 0);
    loop_value one = loop_load(&arena, x, row_major(of(i), of(j)), 1);
    /* along the row: consecutive; down the column: a gather; not at all: as it was */
    CHECK_STR(printed(loop_widen(&arena, one, j, 8, NULL)), "x[((i * D) + j)].x8");
    CHECK(loop_widen(&arena, one, i, 8, NULL)->op == LOOP_GATHER);
    struct loop_variable *k = loop_let(block, "k", integer(0));
    CHECK(loop_widen(&arena, one, k, 8, NULL) == one);
    /* only some lanes: nothing else is read */
    CHECK_STR(printed(loop_widen(&arena, one, j, 8, of(k))), "x[((i * D) + j)].x8 count k");
    CHECK(loop_widen(&arena, one, i, 8, of(k))->mask != NULL);
    CHECK_STR(printed(loop_step(&arena, row_major(of(i), of(j)), i)), "D");
    CHECK(loop_step(&arena, loop_mul(&arena, of(i), of(i)), i) == NULL);
    loop_value sum = loop_add(&arena, one, loop_to_float(&arena, DTYPE_F32, of(j)));
    CHECK_STR(printed(loop_widen(&arena, sum, j, 4, NULL)),
              "(x[((i * D) + j)].x4 + f32((j + iota4)))");
}

TEST(loop_temporaries_are_scratch_found_by_all)
{
    start();
    const struct loop_buffer *t = loop_tensor(kernel, 2);
    CHECK(t->space == LOOP_SCRATCH && t == loop_tensor(kernel, 2));
    struct text text = text_new(&arena);
    loop_store(block, t, row_major(of(i), of(j)), loop_number(&arena, 1, DTYPE_F32));
    loop_print(&text, kernel);
    CHECK_STR(text.at, "scratch t: f32[N*D]\n"
                       "function f\n"
                       "    parallel i = 0 .. N by 1\n"
                       "        for j = 0 .. D by 1\n"
                       "            t[((i * D) + j)] = 1\n");
}

static void check_refused(const char *why)
{
    struct error error = {0};
    CHECK(!loop_check(kernel, &error));
    if (!strstr(error.message, why))
        CHECK_STR(error.message, why);
}

TEST(loop_check_sees_faults)
{
    struct error error = {0};
    start();
    loop_store(block, loop_tensor(kernel, 1), of(j), loop_number(&arena, 1, DTYPE_F32));
    CHECK(loop_check(kernel, &error));
    loop_let(block, "v", loop_load(&arena, loop_tensor(kernel, 0), of(j), 3));
    check_refused("power of two");
    start();
    loop_let(loop_function(kernel, "g", NULL), "v", of(j));
    check_refused("not in scope: 'j'");
    start();
    loop_let(block, "v", loop_add(&arena, of(j), loop_number(&arena, 1, DTYPE_F32)));
    check_refused("types differ in 'add'");
    start();
    loop_store(block, loop_tensor(kernel, 1), of(j), of(j));
    check_refused("another kind is stored to 'y'");
}
