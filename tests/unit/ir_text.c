/* The text form: every construct of ir.h survives printing and reading. */
#include "ir/ir.h"

#include <math.h>
#include <string.h>

#include "test.h"

static struct arena arena;

static const struct ir_program *parsed(const char *text)
{
    struct source *source = arena_new(&arena, struct source);
    struct error error = {0};

    *source = (struct source){"test.ir", text, strlen(text)};
    const struct ir_program *program = ir_parse(&arena, source, &error);
    if (!program)
        test_fail(__FILE__, __LINE__, "at %.30s: %s", text + error.place.offset, error.message);
    return program;
}

static const char *printed(const struct ir_program *program)
{
    struct text out = text_new(&arena);
    ir_print(&out, program);
    return out.at;
}

static void check_same(const char *text)
{
    CHECK_STR(printed(parsed(text)), text);
}

static const char SOFTMAX[] = "ir 1\n"
                              "\n"
                              "part softmax {\n"
                              "    size B.0 of B[0]\n"
                              "    size D\n"
                              "    parameter stride = 1\n"
                              "    parameter pad\n"
                              "    let P = (D + 2*pad - 1)/stride + 1\n"
                              "    family B 1\n"
                              "    family C 0\n"
                              "    scalar eps f32 = 1e-05\n"
                              "    scalar causal bool\n"
                              "    fact D % 4 == 0\n"
                              "    fact min(P, 3) <= max(D, B.0 - (D - 1))\n"
                              "    fact P != D\n"
                              "    fact -9223372036854775808 < P\n"
                              "    input x f32[B.0, D]\n"
                              "    output y bf16[B.0, D]\n"
                              "    temporary m ~f32[B.0]\n"
                              "    temporary s ~f32[B.0]\n"
                              "    signature (x) -> (y)\n"
                              "    reduce max over b < B.0 | d < D {\n"
                              "        %0 = index b\n"
                              "        %1 = index d\n"
                              "        %2 = read x [%0, %1] proved\n"
                              "        m [%0] <- %2\n"
                              "    }\n"
                              "    reduce sum over b < B.0 | d < D if %5 {\n"
                              "        %0 = index b\n"
                              "        %1 = index d\n"
                              "        %2 = read x [%0, %1] proved\n"
                              "        %3 = read m [%0]\n"
                              "        %4 = sub f32 %2, %3\n"
                              "        %5 = isfinite %4\n"
                              "        %6 = exp f32 %4\n"
                              "        s [%0] <- %6\n"
                              "    }\n"
                              "    map over b < B.0, d < D {\n"
                              "        %0 = index b\n"
                              "        %1 = index d\n"
                              "        %2 = size D - 1\n"
                              "        %3 = lt %1, %2\n"
                              "        %4 = float f32 -0.5\n"
                              "        %5 = read x [%0, %1] guard %3 else %4 checked proved\n"
                              "        %6 = scalar eps\n"
                              "        %7 = max f32 %5, %6\n"
                              "        %8 = scalar causal\n"
                              "        %9 = select f32 %8, %7, %5\n"
                              "        %10 = cast f16 %9\n"
                              "        %11 = to_float f64 %2\n"
                              "        %12 = int -7\n"
                              "        %13 = mod %12, %2\n"
                              "        %14 = bool true\n"
                              "        %15 = and %14, %3\n"
                              "        y [%0, %1] <- %10\n"
                              "    }\n"
                              "}\n";

TEST(ir_text_map_and_reduce)
{
    check_same(SOFTMAX);
    const struct ir_part *part = ir_root(parsed(SOFTMAX));
    CHECK_INT(part->symbol_count, 5);
    CHECK_STR(part->symbols[0].family, "B");
    CHECK_INT(part->symbols[2].value, 1);
    CHECK(!part->symbols[3].has_default);
    CHECK_INT(part->index_count, 6);
    CHECK_INT(part->stages[1].predicate, 5);
    CHECK_INT(part->stages[0].left_count, 1);
    CHECK_INT(part->stages[2].nodes.at[10].type, DTYPE_F32);
    CHECK(!part->tensors[2].declared && part->tensors[1].declared);
    int64_t values[] = {8, 16, 2, 1, 0}, result;
    CHECK(ir_size_eval(part->symbols[4].definition, values, &result));
    CHECK_INT(result, 9);
}

TEST(ir_text_monoids)
{
    check_same("ir 1\n"
               "\n"
               "monoid lse@0 width 2 ordered {\n"
               "    %0 = param f32 0\n"
               "    %1 = param f32 1\n"
               "    %2 = param f32 2\n"
               "    %3 = param f32 3\n"
               "    %4 = max f32 %0, %2\n"
               "    %5 = add f32 %1, %3\n"
               "    %6 = float f32 -inf\n"
               "    %7 = float f32 0\n"
               "    results(%4, %5) units(%6, %7)\n"
               "}\n"
               "\n"
               "monoid lse@1 width 1 {\n"
               "    %0 = param i64 0\n"
               "    %1 = param i64 1\n"
               "    %2 = bitxor %0, %1\n"
               "    %3 = int 0\n"
               "    results(%2) units(%3)\n"
               "}\n"
               "\n"
               "part p {\n"
               "    size N\n"
               "    size K\n"
               "    input x f32[N]\n"
               "    input i i32[N]\n"
               "    output a f32[]\n"
               "    output b f32[]\n"
               "    output c u8[N]\n"
               "    output v f32[K]\n"
               "    output j i64[K]\n"
               "    output any bool[]\n"
               "    temporary \"%1\" ~i64[]\n"
               "    signature (x, i) -> (a, b, c, v, j, any)\n"
               "    reduce lse@0 over | n < N {\n"
               "        %0 = index n\n"
               "        %1 = read x [%0] proved\n"
               "        %2 = float f32 1\n"
               "        a [] <- %1\n"
               "        b [] <- %2\n"
               "    }\n"
               "    scan lse@1 over n < N along n reverse exclusive {\n"
               "        %0 = index n\n"
               "        %1 = read i [%0] proved\n"
               "        c [%0] <- %1\n"
               "    }\n"
               "    reduce topk over | n < N {\n"
               "        %0 = index n\n"
               "        %1 = read x [%0] proved\n"
               "        v [] <- %1\n"
               "        j [] <- %0\n"
               "    }\n"
               "    reduce any over | {\n"
               "        %0 = bool false\n"
               "        any [] <- %0\n"
               "    }\n"
               "    map {\n"
               "        %0 = int 1\n"
               "        \"%1\" [] <- %0\n"
               "    }\n"
               "}\n");
}

TEST(ir_text_ranges_scatter_and_properties)
{
    check_same("ir 1\n"
               "\n"
               "part p {\n"
               "    size S\n"
               "    size E\n"
               "    size V\n"
               "    input off i64[S + 1] offsets(E) constant\n"
               "    input ids i32[E] index(V) sorted\n"
               "    input w f32[V, V] triangular\n"
               "    input y0 f32[V]\n"
               "    input x f32[E]\n"
               "    output y f32[V]\n"
               "    output z f32[E]\n"
               "    output u f32[V]\n"
               "    output t f32[S]\n"
               "    signature (off, ids, w, y0, x) -> (y, z, u, t)\n"
               "    scatter sum over e < E from y0 if %3 {\n"
               "        %0 = index e\n"
               "        %1 = read ids [%0] proved\n"
               "        %2 = read x [%0] proved\n"
               "        %3 = isfinite %2\n"
               "        y [%1] <- %2\n"
               "    }\n"
               "    scatter assign over e < E {\n"
               "        %0 = index e\n"
               "        %1 = read ids [%0] proved\n"
               "        %2 = read x [%0] proved\n"
               "        u [%1] <- %2\n"
               "    }\n"
               "    reduce sum over s < S | e in %1 .. %4 {\n"
               "        %0 = index s\n"
               "        %1 = read off [%0] proved\n"
               "        %2 = int 1\n"
               "        %3 = add i64 %0, %2\n"
               "        %4 = read off [%3] proved\n"
               "        %5 = index e\n"
               "        %6 = read x [%5] proved\n"
               "        t [%0] <- %6\n"
               "    }\n"
               "    map over s < S, e in %1 .. %4 {\n"
               "        %0 = index s\n"
               "        %1 = read off [%0] proved\n"
               "        %2 = int 1\n"
               "        %3 = add i64 %0, %2\n"
               "        %4 = read off [%3] proved\n"
               "        %5 = index e\n"
               "        %6 = read t [%0] proved\n"
               "        z [%5] <- %6\n"
               "    }\n"
               "}\n");
}

TEST(ir_text_calls_and_loops)
{
    check_same(
        "ir 1\n"
        "\n"
        "part scale {\n"
        "    size N\n"
        "    parameter k = 2\n"
        "    let M = N*k\n"
        "    scalar by f32 = nan\n"
        "    scalar on bool = 1\n"
        "    input x f32[N]\n"
        "    output y f32[N]\n"
        "    signature (x) -> (y)\n"
        "    map over n < N {\n"
        "        %0 = index n\n"
        "        %1 = read x [%0] proved\n"
        "        %2 = scalar by\n"
        "        %3 = mul f32 %1, %2\n"
        "        y [%0] <- %3\n"
        "    }\n"
        "}\n"
        "\n"
        "part rnn.2 {\n"
        "    size T\n"
        "    size N\n"
        "    input h0 f32[N]\n"
        "    output y f32[T, N]\n"
        "    state h f32[N]\n"
        "    temporary h.next f32[N]\n"
        "    temporary t#4 ~f32[N]\n"
        "    temporary t#5 ~f64[]\n"
        "    signature (h0) -> (y)\n"
        "    map over n < N {\n"
        "        %0 = index n\n"
        "        %1 = read h0 [%0] proved\n"
        "        h [%0] <- %1\n"
        "    }\n"
        "    loop t < T reverse carry (h <- h.next) {\n"
        "        call scale (h) -> (t#4) sizes(N = N, k = N + 1) scalars(by = %2, on = %3) {\n"
        "            %0 = float f32 0.5\n"
        "            %1 = size T\n"
        "            %2 = to_float f32 %1\n"
        "            %3 = bool false\n"
        "        }\n"
        "        map {\n"
        "            %0 = float f64 0\n"
        "            t#5 [] <- %0\n"
        "        }\n"
        "        loop t < T carry () {\n"
        "            map over t < N {\n"
        "                %0 = index t\n"
        "                %1 = index t#0\n"
        "                %2 = index t#1\n"
        "                %3 = read t#4 [%0] proved\n"
        "                y [%1, %0] <- %3\n"
        "            }\n"
        "        }\n"
        "        map over n < N {\n"
        "            %0 = index n\n"
        "            %1 = read t#4 [%0] proved\n"
        "            h.next [%0] <- %1\n"
        "        }\n"
        "    }\n"
        "}\n");
}

/* One node per operation, so that a new row of ops.def is printed and read without more ado. */
TEST(ir_text_every_operation)
{
    static const char head[] = "ir 1\npart p { input x f64[] input i i64[] input b bool[] "
                               "output y f64[] signature (x, i, b) -> (y) map {\n"
                               "%0 = read x [] %1 = read i [] %2 = read b []\n";
    struct text text = text_new(&arena);
    int count = 3;

    text_add(&text, head);
    for (int op = IR_SUB; op < IR_OP_COUNT; op++) {
        const char *name = ir_op_name((enum ir_op)op);
        bool integer = op >= IR_FLOORDIV && op <= IR_SHR;
        bool logic = op >= IR_AND && op <= IR_NOT;
        bool typed = !integer && !(op >= IR_EQ && op <= IR_ISFINITE);
        text_printf(&text, "%%%d = %s%s", count++, name, typed ? " f64" : "");
        for (int i = 0; i < ir_op_arguments((enum ir_op)op); i++)
            text_printf(&text, "%s%%%d", i ? ", " : " ", integer ? 1 : logic ? 2 : 0);
        text_char(&text, '\n');
    }
    text_add(&text, "y [] <- %0 } }");
    const char *once = printed(parsed(text.at));
    CHECK_STR(printed(parsed(once)), once);
    CHECK_INT(ir_root(parsed(once))->stages[0].nodes.count, count);
}

TEST(ir_text_numbers)
{
    const struct ir_part *part = ir_root(
        parsed("ir 1 part p { output y f64[] signature () -> (y) map {"
               "%0 = float f64 0.1 %1 = float f64 -0 %2 = float f64 5e-324 %3 = float f32 1e+300 "
               "%4 = float f64 nan %5 = int -9223372036854775808 %6 = float f64 -inf # comment\n"
               "y [] <- %0 } }"));
    const struct ir_node *nodes = part->stages[0].nodes.at;

    CHECK(nodes[0].number == 0.1 && nodes[2].number == 5e-324 && nodes[3].number == 1e300);
    CHECK(nodes[1].number == 0 && signbit(nodes[1].number));
    CHECK(isnan(nodes[4].number) && nodes[6].number == -INFINITY);
    CHECK(nodes[5].integer == INT64_MIN);
}
