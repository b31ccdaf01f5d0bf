/*
 * The compiled oracle agrees with the interpreter bit for bit, stage by stage, over random shapes
 * that include empty ones, on values that include the hard ones.
 */
#include "oracle_differ.h"
#include "test.h"

enum { ROUNDS = 24, LARGEST = 5 };

TEST(compiled_softmax_in_f16)
{
    differ("ir 1 part softmax { size B.0 of B[0] size D family B 1 scalar eps f32 = 1e-05\n"
           "input x f16[B.0, D] output y f16[B.0, D] temporary m ~f32[B.0] temporary s ~f32[B.0]\n"
           "signature (x) -> (y)\n"
           "reduce max over b < B.0 | d < D { %0 = index b %1 = index d %2 = read x [%0, %1]\n"
           "    m [%0] <- %2 }\n"
           "reduce sum over b < B.0 | d < D { %0 = index b %1 = index d %2 = read x [%0, %1]\n"
           "    %3 = read m [%0] %4 = sub f32 %2, %3 %5 = exp f32 %4 s [%0] <- %5 }\n"
           "map over b < B.0, d < D { %0 = index b %1 = index d %2 = read x [%0, %1]\n"
           "    %3 = read m [%0] %4 = sub f32 %2, %3 %5 = exp f32 %4 %6 = read s [%0]\n"
           "    %7 = scalar eps %8 = add f32 %6, %7 %9 = fdiv f32 %5, %8 y [%0, %1] <- %9 } }",
           ROUNDS, 9);
}

/* Neighbouring sums side by side: along the rows of one operand, across those of the other. */
TEST(compiled_products_of_matrices)
{
    differ("ir 1 part product { size M size N size K\n"
           "input a f32[M, K] input b f32[K, N] input w f32[N, K]\n"
           "output y f32[M, N] output z bf16[M, N] output t f64[N, M] signature (a, b, w) -> (y, "
           "z, t)\n"
           "reduce sum over m < M, n < N | k < K { %0 = index m %1 = index n %2 = index k\n"
           "    %3 = read a [%0, %2] %4 = read b [%2, %1] %5 = mul f32 %3, %4 y [%0, %1] <- %5 }\n"
           "reduce sum over m < M, n < N | k < K { %0 = index m %1 = index n %2 = index k\n"
           "    %3 = read a [%0, %2] %4 = read w [%1, %2] %5 = mul f32 %3, %4 z [%0, %1] <- %5 }\n"
           "reduce max over n < N, m < M | k < K if %6 { %0 = index m %1 = index n %2 = index k\n"
           "    %3 = read a [%0, %2] %4 = read w [%1, %2] %5 = mul f32 %3, %4 %6 = lt %3, %4\n"
           "    t [%1, %0] <- %5 } }",
           ROUNDS, 70);
}

TEST(compiled_convolution_with_padding)
{
    differ("ir 1 part conv { size N size C size H size K size R parameter stride = 2\n"
           "parameter pad = 1 let P = (H + 2*pad - R)/stride + 1 fact 1 <= R fact R <= H + 2*pad\n"
           "input x f32[N, C, H] input w f32[2*K, C, R] output y f32[N, 2*K, P]\n"
           "signature (x, w) -> (y)\n"
           "reduce sum over n < N, g < 2, k < K, p < P | c < C, r < R {\n"
           "    %0 = index n %1 = index k %2 = index p %3 = index c %4 = index r\n"
           "    %5 = size stride %6 = mul i64 %2, %5 %7 = size pad %8 = sub i64 %6, %7\n"
           "    %9 = add i64 %8, %4 %10 = float f32 0.25\n"
           "    %11 = read x [%0, %3, %9] else %10 checked\n"
           "    %12 = index g %13 = size K %14 = mul i64 %12, %13 %15 = add i64 %14, %1\n"
           "    %16 = read w [%15, %3, %4] %17 = mul f32 %11, %16 y [%0, %15, %2] <- %17 } }",
           40, LARGEST);
}

/* A read that belongs outside of a loop must not happen when the loop is empty. */
TEST(compiled_reads_move_out_of_loops_safely)
{
    differ("ir 1 part hoist { size N size M input x f32[N] input c f32[] output y f32[N, M]\n"
           "output z f32[M] output s f32[] signature (x, c) -> (y, z, s)\n"
           "map over n < N, m < M { %0 = index n %1 = index m %2 = read x [%0] %3 = read c []\n"
           "    %4 = exp f32 %2 %5 = add f32 %4, %3 y [%0, %1] <- %5 }\n"
           "reduce sum over m < M | n < N { %0 = index n %1 = index m %2 = read x [%0]\n"
           "    %3 = int 0 %4 = read x [%3] %5 = mul f32 %2, %4 %6 = to_float f32 %1\n"
           "    %7 = add f32 %5, %6 z [%1] <- %7 }\n"
           "reduce product over | n < N, m < M { %0 = index n %1 = read x [%0] %2 = int 0\n"
           "    %3 = read x [%2] %4 = add f32 %1, %3 s [] <- %4 } }",
           ROUNDS, 3);
}

TEST(compiled_reductions_of_every_kind)
{
    differ("ir 1 part all { size N size M input x f32[N, M] input i i32[N, M] input p bool[N, M]\n"
           "output a f16[N] output b f64[N] output c i8[N] output d i64[] output e bool[N]\n"
           "output f bool[] output g u32[M] output h f32[]\n"
           "signature (x, i, p) -> (a, b, c, d, e, f, g, h)\n"
           "reduce product over n < N | m < M { %0 = index n %1 = index m %2 = read x [%0, %1]\n"
           "    a [%0] <- %2 }\n"
           "reduce min over n < N | m < M if %3 { %0 = index n %1 = index m %2 = read x [%0, %1]\n"
           "    %3 = read p [%0, %1] b [%0] <- %2 }\n"
           "reduce sum over n < N | m < M { %0 = index n %1 = index m %2 = read i [%0, %1]\n"
           "    c [%0] <- %2 }\n"
           "reduce max over | n < N, m < M if %3 { %0 = index n %1 = index m %2 = read i [%0, %1]\n"
           "    %3 = read p [%0, %1] d [] <- %2 }\n"
           "reduce all over n < N | m < M { %0 = index n %1 = index m %2 = read p [%0, %1]\n"
           "    e [%0] <- %2 }\n"
           "reduce any over | n < N, m < M { %0 = index n %1 = index m %2 = read p [%0, %1]\n"
           "    f [] <- %2 }\n"
           "reduce product over m < M | n < N if %5 { %0 = index n %1 = index m\n"
           "    %2 = read i [%0, %1] %3 = size N %4 = int 2 %5 = le %4, %3 g [%1] <- %2 }\n"
           "reduce sum over | if %2 { %0 = size N %1 = int 1 %2 = lt %1, %0 %3 = float f32 -0\n"
           "    h [] <- %3 } }",
           ROUNDS, LARGEST);
}

TEST(compiled_arguments_and_ranks)
{
    differ("ir 1 part best { size N size M size K input x f32[N, M] input i i16[N, M]\n"
           "output a f16[N] output b i32[N] output c i64[] output d i64[]\n"
           "output e bf16[N, K] output f i8[N, K] output g i64[K] output h i64[K]\n"
           "signature (x, i) -> (a, b, c, d, e, f, g, h)\n"
           "reduce argmax over n < N | m < M { %0 = index n %1 = index m %2 = read x [%0, %1]\n"
           "    a [%0] <- %2 b [%0] <- %1 }\n"
           "reduce argmin over | n < N, m < M if %9 { %0 = index n %1 = index m\n"
           "    %2 = read i [%0, %1] %3 = size M %4 = mul i64 %0, %3 %5 = add i64 %4, %1\n"
           "    %6 = int 3 %7 = mod %5, %6 %8 = int 1 %9 = ne %7, %8 c [] <- %2 d [] <- %5 }\n"
           "reduce topk over n < N | m < M { %0 = index n %1 = index m %2 = read x [%0, %1]\n"
           "    e [%0] <- %2 f [%0] <- %1 }\n"
           "reduce bottomk over | n < N, m < M { %0 = index n %1 = index m %2 = read i [%0, %1]\n"
           "    g [] <- %2 h [] <- %1 } }",
           40, 6);
}

static const char MONOIDS[] =
    "ir 1\n"
    "monoid lse@0 width 2 ordered { %0 = param f64 0 %1 = param f64 1 %2 = param f64 2\n"
    "    %3 = param f64 3 %4 = max f64 %0, %2 %5 = sub f64 %0, %4 %6 = exp f64 %5\n"
    "    %7 = mul f64 %1, %6 %8 = sub f64 %2, %4 %9 = exp f64 %8 %10 = mul f64 %3, %9\n"
    "    %11 = add f64 %7, %10 %12 = float f64 -1e+30 %13 = float f64 0\n"
    "    results(%4, %11) units(%12, %13) }\n"
    "monoid mix@1 width 1 { %0 = param i64 0 %1 = param i64 1 %2 = bitxor %0, %1 %3 = int 0\n"
    "    results(%2) units(%3) }\n"
    "part p { size N size M input x f32[N, M] input i i64[M] output a f32[N] output b f64[N]\n"
    "output c i32[] output u f32[N, M] output v ~f64[N, M] output w u8[M]\n"
    "signature (x, i) -> (a, b, c, u, v, w)\n"
    "reduce lse@0 over n < N | m < M { %0 = index n %1 = index m %2 = read x [%0, %1]\n"
    "    %3 = float f64 1 a [%0] <- %2 b [%0] <- %3 }\n"
    "reduce mix@1 over | m < M { %0 = index m %1 = read i [%0] c [] <- %1 }\n"
    "scan lse@0 over n < N, m < M along n reverse { %0 = index n %1 = index m\n"
    "    %2 = read x [%0, %1] %3 = float f64 1 u [%0, %1] <- %2 v [%0, %1] <- %3 }\n"
    "scan mix@1 over m < M along m exclusive { %0 = index m %1 = read i [%0] w [%0] <- %1 } }";

TEST(compiled_monoids_of_the_user)
{
    differ(MONOIDS, ROUNDS, LARGEST);
}

TEST(compiled_scans)
{
    differ("ir 1 part scans { size N size T input x f16[N, T] input i i64[N, T]\n"
           "output a f16[N, T] output b f32[N, T] output c f8e4[N, T] output d i8[N, T]\n"
           "output e f32[N, T] output f i64[N, T] signature (x, i) -> (a, b, c, d, e, f)\n"
           "scan sum over n < N, t < T along t { %0 = index n %1 = index t\n"
           "    %2 = read x [%0, %1] a [%0, %1] <- %2 }\n"
           "scan sum over n < N, t < T along n exclusive { %0 = index n %1 = index t\n"
           "    %2 = read x [%0, %1] b [%0, %1] <- %2 }\n"
           "scan max over n < N, t < T along t reverse { %0 = index n %1 = index t\n"
           "    %2 = read x [%0, %1] c [%0, %1] <- %2 }\n"
           "scan product over n < N, t < T along t reverse exclusive { %0 = index n %1 = index t\n"
           "    %2 = read i [%0, %1] d [%0, %1] <- %2 }\n"
           "scan argmin over n < N, t < T along t { %0 = index n %1 = index t\n"
           "    %2 = read x [%0, %1] e [%0, %1] <- %2 f [%0, %1] <- %1 } }",
           ROUNDS, LARGEST);
}

TEST(compiled_scatters)
{
    differ("ir 1 part scatters { size E size V size D input ids i32[E] index(V)\n"
           "input x f32[E, D] input i i16[E] input y0 f16[V, D]\n"
           "output a f16[V, D] output b f32[V] output c i8[V] output d f32[V, D]\n"
           "output e f64[V] output f i64[V] signature (ids, x, i, y0) -> (a, b, c, d, e, f)\n"
           "scatter sum over e < E, d < D from y0 { %0 = index e %1 = index d %2 = read ids [%0]\n"
           "    %3 = read x [%0, %1] a [%2, %1] <- %3 }\n"
           "scatter max over e < E, d < D if %4 { %0 = index e %1 = index d %2 = read ids [%0]\n"
           "    %3 = read x [%0, %1] %4 = isfinite %3 b [%2] <- %3 }\n"
           "scatter sum over e < E if %4 { %0 = index e %1 = read ids [%0] %2 = read i [%0]\n"
           "    %3 = size D %4 = lt %2, %3 c [%1] <- %2 }\n"
           "scatter assign over e < E, d < D from y0 { %0 = index e %1 = index d\n"
           "    %2 = read ids [%0] %3 = read x [%0, %1] d [%2, %1] <- %3 }\n"
           "scatter argmax over e < E, d < D { %0 = index e %1 = index d %2 = read ids [%0]\n"
           "    %3 = read x [%0, %1] e [%2] <- %3 f [%2] <- %0 } }",
           ROUNDS, LARGEST);
}

TEST(compiled_segments)
{
    differ("ir 1 part jagged { size S size E size D input off i64[S + 1] offsets(E)\n"
           "input x f32[E, D] output t f32[S, D] output z f16[E, D] output c f32[E]\n"
           "signature (off, x) -> (t, z, c)\n"
           "reduce sum over s < S, d < D | e in %1 .. %4 { %0 = index s %1 = read off [%0]\n"
           "    %2 = int 1 %3 = add i64 %0, %2 %4 = read off [%3] %5 = index e %6 = index d\n"
           "    %7 = read x [%5, %6] %8 = read x [%1, %6] %9 = sub f32 %7, %8 t [%0, %6] <- %9 }\n"
           "map over s < S, e in %1 .. %4, d < D { %0 = index s %1 = read off [%0] %2 = int 1\n"
           "    %3 = add i64 %0, %2 %4 = read off [%3] %5 = index e %6 = index d\n"
           "    %7 = read t [%0, %6] %8 = read x [%5, %6] %9 = fdiv f32 %8, %7 z [%5, %6] <- %9 }\n"
           "reduce max over s < S, e in %1 .. %4 | d < D { %0 = index s %1 = read off [%0]\n"
           "    %2 = int 1 %3 = add i64 %0, %2 %4 = read off [%3] %5 = index e %6 = index d\n"
           "    %7 = read x [%5, %6] %8 = int 0 %9 = read x [%5, %8] %10 = add f32 %7, %9\n"
           "    c [%5] <- %10 } }",
           ROUNDS, LARGEST);
}

TEST(compiled_calls)
{
    differ(
        "ir 1\n"
        "part scale { size N parameter k = 2 let M = N*k + 1 scalar by f32 = 2 scalar on bool = 1\n"
        "input x f32[N] output y f16[N] output l i64[] signature (x) -> (y, l)\n"
        "map over n < N { %0 = index n %1 = read x [%0] %2 = scalar by %3 = mul f32 %1, %2\n"
        "    %4 = scalar on %5 = select f32 %4, %3, %1 y [%0] <- %5 }\n"
        "map { %0 = size M l [] <- %0 } }\n"
        "part twice { size N scalar by f32 input x f32[N] output y f16[N] temporary t f16[N]\n"
        "temporary l#3 i64[] temporary l#4 i64[] signature (x) -> (y)\n"
        "call scale (x) -> (t, l#3) sizes(N = N, k = 2) scalars(by = %0, on = %1) {\n"
        "    %0 = scalar by %1 = bool true }\n"
        "call scale (t) -> (y, l#4) sizes(N = N, k = N) scalars(by = %2, on = %3) {\n"
        "    %0 = scalar by %1 = float f32 1 %2 = add f32 %0, %1 %3 = lt %0, %1 } }\n"
        "part top { size A size B scalar s f32 scalar flag bool input x f32[A] input y f32[A]\n"
        "output u f16[A] output v f32[A] output l i64[] signature (x, y) -> (u, v, l)\n"
        "call scale (y) -> (u, l) sizes(N = A, k = A*B - 3) scalars(by = %0, on = %1) {\n"
        "    %0 = scalar s %1 = scalar flag }\n"
        "map over a < A { %0 = index a %1 = read u [%0] %2 = read x [%0] %3 = add f32 %1, %2\n"
        "    v [%0] <- %3 } }",
        ROUNDS, LARGEST);
}

/* Two states that change places, a slice per step, steps backwards, a loop inside a loop. */
TEST(compiled_loops)
{
    differ("ir 1\n"
           "part step { size N scalar by f32 input h f32[N] output g f16[N] signature (h) -> (g)\n"
           "map over n < N { %0 = index n %1 = read h [%0] %2 = scalar by %3 = mul f32 %1, %2\n"
           "    g [%0] <- %3 } }\n"
           "part rnn { size T size N input h0 f32[N] input x f32[T, N] output y f16[T, N]\n"
           "output hn f32[N] output z i64[N] state h f16[N] state g ~f32[N] state k i64[N]\n"
           "temporary h.next f16[N] temporary g.next ~f32[N] temporary k.next i64[N]\n"
           "signature (h0, x) -> (y, hn, z)\n"
           "map over n < N { %0 = index n %1 = read h0 [%0] h [%0] <- %1 }\n"
           "map over n < N { %0 = index n %1 = read h0 [%0] %2 = neg f32 %1 g [%0] <- %2 }\n"
           "map over n < N { %0 = index n k [%0] <- %0 }\n"
           "loop t < T reverse carry (h <- h.next, g <- g.next, k <- k.next) {\n"
           "    call step (g) -> (h.next) sizes(N = N) scalars(by = %0) { %0 = float f32 0.7 }\n"
           "    map over n < N { %0 = index n %1 = index t %2 = read h [%0]\n"
           "        %3 = read x [%1, %0] %4 = add f32 %2, %3 %5 = to_float f32 %1\n"
           "        %6 = mul f32 %4, %5 g.next [%0] <- %6 }\n"
           "    map over n < N { %0 = index n %1 = index t %2 = read g.next [%0]\n"
           "        %3 = read h.next [%0] %4 = sub f32 %2, %3 y [%1, %0] <- %4 }\n"
           "    map over t < N { %0 = index t %1 = index t#0 %2 = read k [%0]\n"
           "        %3 = mul i64 %2, %1 %4 = add i64 %3, %0 k.next [%0] <- %4 }\n"
           "}\n"
           "map over n < N { %0 = index n %1 = read g [%0] hn [%0] <- %1 }\n"
           "map over n < N { %0 = index n %1 = read k [%0] z [%0] <- %1 } }",
           ROUNDS, LARGEST);
}

TEST(compiled_states_that_change_places)
{
    differ("ir 1 part swap { size T size N input a f32[N] output u f32[N] output v f32[N]\n"
           "state p f32[N] state q f32[N] signature (a) -> (u, v)\n"
           "map over n < N { %0 = index n %1 = read a [%0] p [%0] <- %1 }\n"
           "map over n < N { %0 = index n %1 = read a [%0] %2 = neg f32 %1 q [%0] <- %2 }\n"
           "loop t < T carry (p <- q, q <- p) { }\n"
           "map over n < N { %0 = index n %1 = read p [%0] u [%0] <- %1 }\n"
           "map over n < N { %0 = index n %1 = read q [%0] v [%0] <- %1 } }",
           ROUNDS, LARGEST);
}

/* What was the index of a loop may be anything afterwards. */
TEST(compiled_names_end_with_their_loop)
{
    differ("ir 1 part scopes { size T size N input a f32[N] output u f32[N] state p f32[N]\n"
           "temporary q f32[N] signature (a) -> (u)\n"
           "map over t < N { %0 = index t %1 = read a [%0] p [%0] <- %1 }\n"
           "loop t < T carry (p <- q) { map over n < N { %0 = index n %1 = read p [%0]\n"
           "    %2 = index t %3 = to_float f32 %2 %4 = add f32 %1, %3 q [%0] <- %4 } }\n"
           "map over t < N { %0 = index t %1 = read p [%0] %2 = to_float f32 %0\n"
           "    %3 = mul f32 %1, %2 u [%0] <- %3 } }",
           ROUNDS, LARGEST);
}

/* Slices that together make a tensor; an output that is read again, rounded, though kept exact. */
TEST(compiled_slices_and_outputs_read_again)
{
    differ("ir 1 part cat { size A size B input x f64[A] input y f64[B] output z f8e5[A + B]\n"
           "output s f16[A + B] output t bf16[] output r f8e4[A + B] signature (x, y) -> (z, s, t, "
           "r)\n"
           "map over a < A { %0 = index a %1 = read x [%0] z [%0] <- %1 }\n"
           "map over b < B { %0 = index b %1 = read y [%0] %2 = size A %3 = add i64 %0, %2\n"
           "    z [%3] <- %1 }\n"
           "scan sum over i < A + B along i { %0 = index i %1 = read z [%0] s [%0] <- %1 }\n"
           "reduce sum over | i < A + B { %0 = index i %1 = read s [%0] t [] <- %1 }\n"
           "scatter sum over i < A + B from s { %0 = index i %1 = read t [] %2 = read z [%0]\n"
           "    %3 = mul f32 %1, %2 r [%0] <- %3 } }",
           ROUNDS, LARGEST);
}

/* Names that mean something in C, or here; names of several things at once. */
TEST(compiled_names_are_free)
{
    differ("ir 1\n"
           "part main { size int input exp f32[int] output for f32[int] signature (exp) -> (for)\n"
           "map over status < int { %0 = index status %1 = read exp [%0] %2 = exp f32 %1\n"
           "    for [%0] <- %2 } }\n"
           "part smelt_oracle { size value size exact scalar rank f32 scalar free f32\n"
           "input double f32[value, exact] output return f32[value, exact]\n"
           "output y_rounded f16[value] output y f16[value] temporary NULL f32[value]\n"
           "temporary sizes f32[value] signature (double) -> (return, y_rounded, y)\n"
           "map over value < value, exact < exact { %0 = index value %1 = index exact\n"
           "    %2 = read double [%0, %1] %3 = scalar rank %4 = mul f32 %2, %3 %5 = scalar free\n"
           "    %6 = add f32 %4, %5 return [%0, %1] <- %6 }\n"
           "reduce sum over finish < value | next < exact { %0 = index finish %1 = index next\n"
           "    %2 = read return [%0, %1] y [%0] <- %2 }\n"
           "map over n < value { %0 = index n %1 = read y [%0] %2 = exp f32 %1 NULL [%0] <- %2 }\n"
           "call main (NULL) -> (sizes) sizes(int = value) scalars() { }\n"
           "map over n < value { %0 = index n %1 = read sizes [%0] y_rounded [%0] <- %1 } }",
           ROUNDS, LARGEST);
}

/* No tensors but one, no loops, constants only: and numbers that C would not compute in 64 bits. */
TEST(compiled_constants_are_wide)
{
    differ("ir 1 part wide { output a i64[] output b i64[] output c f64[] output d f64[]\n"
           "output e i64[2] signature () -> (a, b, c, d, e)\n"
           "map { %0 = int 2000000000 %1 = add i64 %0, %0 %2 = mul i64 %1, %0 %3 = int 3\n"
           "    %4 = bool true %5 = select i64 %4, %0, %3 %6 = add i64 %5, %0 %7 = mul i64 %2, %6\n"
           "    a [] <- %7 }\n"
           "map { %0 = int -9223372036854775808 %1 = int -1 %2 = div %0, %1 %3 = neg i64 %2\n"
           "    %4 = abs i64 %3 %5 = int -5 %6 = neg i64 %5 %7 = sub i64 %4, %6 %8 = bitnot %7\n"
           "    b [] <- %8 }\n"
           "map { %0 = float f64 -inf %1 = neg f64 %0 %2 = float f64 -2.5 %3 = neg f64 %2\n"
           "    %4 = sub f64 %3, %2 %5 = fdiv f64 %4, %1 %6 = neg f64 %5 c [] <- %6 }\n"
           "map { %0 = float f64 nan %1 = float f64 1 %2 = copysign f64 %1, %0 %3 = neg f64 %0\n"
           "    %4 = copysign f64 %1, %3 %5 = add f64 %2, %4 d [] <- %5 }\n"
           "map over i < 2 { %0 = index i %1 = bool true %2 = cast i64 %1 %3 = shl %2, %0\n"
           "    e [%0] <- %3 } }",
           1, 1);
}

/* An expression as deep as it is long stays within what compilers take. */
TEST(compiled_long_chains)
{
    struct text text = text_new(differ_arena());
    text_add(&text, "ir 1 part chain { size N input x f64[N] output y f64[N] signature (x) -> (y)\n"
                    "map over n < N { %0 = index n %1 = read x [%0]\n");
    for (int i = 2; i < 1500; i++)
        text_printf(&text, "%%%d = %s f64 %%%d, %%%d\n", i, i % 3 ? "add" : "mul", i - 1,
                    i > 40 ? i - 30 : 1);
    text_add(&text, "y [%0] <- %1499 } }");
    differ(text.at, 3, LARGEST);
}
