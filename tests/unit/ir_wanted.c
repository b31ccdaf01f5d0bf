/* What of an op is work: floors and GFLOP/s are made from it. */
#include <math.h>

#include "oracle_program.h"

static double operations_of(const char *text, const int64_t *sizes)
{
    struct evaluation e;
    evaluation_open(&e, text, sizes);
    double operations = ir_operations(e.binding);
    evaluation_close(&e);
    return operations;
}

/* Scores of which only those up to the diagonal are read, by way of another temporary. */
static const char causal[] = "ir 1\n"
                             "part causal {\n"
                             "    size L\n"
                             "    size E\n"
                             "    input q f32[L, E]\n"
                             "    input k f32[L, E]\n"
                             "    output y f32[L]\n"
                             "    temporary r ~f32[L, L]\n"
                             "    temporary s ~f32[L, L]\n"
                             "    temporary unused ~f32[L, L]\n"
                             "    signature (q, k) -> (y)\n"
                             "    reduce sum over l < L, t < L | e < E {\n"
                             "        %0 = index l\n"
                             "        %1 = index t\n"
                             "        %2 = index e\n"
                             "        %3 = read q [%0, %2] proved\n"
                             "        %4 = read k [%1, %2] proved\n"
                             "        %5 = mul f32 %3, %4\n"
                             "        r [%0, %1] <- %5\n"
                             "    }\n"
                             "    map over l < L, t < L {\n"
                             "        %0 = index l\n"
                             "        %1 = index t\n"
                             "        %2 = read r [%0, %1] proved\n"
                             "        %3 = exp f32 %2\n"
                             "        s [%0, %1] <- %3\n"
                             "    }\n"
                             "    map over l < L, t < L {\n"
                             "        %0 = index l\n"
                             "        %1 = index t\n"
                             "        %2 = read r [%0, %1] proved\n"
                             "        %3 = exp f32 %2\n"
                             "        unused [%0, %1] <- %3\n"
                             "    }\n"
                             "    reduce sum over l < L | t < L if %3 {\n"
                             "        %0 = index l\n"
                             "        %1 = index t\n"
                             "        %2 = read s [%0, %1] proved\n"
                             "        %3 = le %1, %0\n"
                             "        y [%0] <- %2\n"
                             "    }\n"
                             "}\n";

TEST(operations_count_what_is_wanted_through_temporaries)
{
    enum { L = 64, E = 32 };
    double pairs = L * (L + 1) / 2.0, all = pairs * (2 * E + 1 + 1);
    double found = operations_of(causal, SIZES(L, E));
    CHECK(found > 0.98 * all && found < 1.02 * all);
}

/* Three taps over H, what is outside is 0: at both ends one of them is no work. */
static const char padded[] = "ir 1\n"
                             "part padded {\n"
                             "    size H\n"
                             "    input x f32[H]\n"
                             "    input w f32[3]\n"
                             "    output y f32[H]\n"
                             "    signature (x, w) -> (y)\n"
                             "    reduce sum over h < H | r < 3 {\n"
                             "        %0 = index h\n"
                             "        %1 = index r\n"
                             "        %2 = int 1\n"
                             "        %3 = add i64 %0, %1\n"
                             "        %4 = sub i64 %3, %2\n"
                             "        %5 = read x [%4] checked\n"
                             "        %6 = read w [%1] proved\n"
                             "        %7 = mul f32 %5, %6\n"
                             "        y [%0] <- %7\n"
                             "    }\n"
                             "}\n";

TEST(operations_leave_out_terms_that_are_zero)
{
    double found = operations_of(padded, SIZES(8));
    CHECK(found > 0.98 * 2 * (3 * 8 - 2) && found < 1.02 * 2 * (3 * 8 - 2));
}

/* Weights that are the same for all columns, and a divisor that all terms share. */
static const char weighted[] = "ir 1\n"
                               "part weighted {\n"
                               "    size L\n"
                               "    size S\n"
                               "    size D\n"
                               "    input s f32[L, S]\n"
                               "    input v f32[S, D]\n"
                               "    input z f32[L]\n"
                               "    output y f32[L, D]\n"
                               "    signature (s, v, z) -> (y)\n"
                               "    reduce sum over l < L, d < D | t < S {\n"
                               "        %0 = index l\n"
                               "        %1 = index d\n"
                               "        %2 = index t\n"
                               "        %3 = read s [%0, %2] proved\n"
                               "        %4 = exp f32 %3\n"
                               "        %5 = read v [%2, %1] proved\n"
                               "        %6 = mul f32 %4, %5\n"
                               "        %7 = read z [%0] proved\n"
                               "        %8 = fdiv f32 %6, %7\n"
                               "        y [%0, %1] <- %8\n"
                               "    }\n"
                               "}\n";

TEST(operations_that_are_the_same_count_once)
{
    enum { L = 8, S = 16, D = 32 };
    double multiply_adds = 2.0 * L * S * D, exponentials = L * S, divisions = L * D;
    double found = operations_of(weighted, SIZES(L, S, D));
    CHECK(fabs(found - (multiply_adds + exponentials + divisions)) < 0.5);
}

/* How many of some sorted borders lie below a value. */
static const char buckets[] = "ir 1\n"
                              "part bucket {\n"
                              "    size B\n"
                              "    size K\n"
                              "    input x f32[B]\n"
                              "    input borders f32[K] sorted\n"
                              "    output y i64[B]\n"
                              "    signature (x, borders) -> (y)\n"
                              "    reduce sum over b < B | k < K if %4 {\n"
                              "        %0 = index k\n"
                              "        %1 = read borders [%0] proved\n"
                              "        %2 = index b\n"
                              "        %3 = read x [%2] proved\n"
                              "        %4 = lt %1, %3\n"
                              "        %5 = int 1\n"
                              "        y [%2] <- %5\n"
                              "    }\n"
                              "}\n";

TEST(operations_of_a_search_are_those_of_halving)
{
    double few = operations_of(buckets, SIZES(100, 1024)),
           many = operations_of(buckets, SIZES(100, 1 << 20));
    CHECK(few > 0);
    CHECK_DOUBLE(11 * many, 21 * few);
}
