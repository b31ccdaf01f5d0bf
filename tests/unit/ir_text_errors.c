/* The text form refuses what a checked program could not be, and says where. */
#include "ir/ir.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

static struct arena arena;

/* The error's name and the word it points at, as "ir-invalid at x". */
static const char *refusal(const char *text)
{
    struct source source = {"test.ir", text, strlen(text)};
    struct error error = {0};

    if (ir_parse(&arena, &source, &error))
        return "accepted";
    CHECK(error.message[0] != '\0');
    return arena_printf(&arena, "%s at %.*s", error_name(error.code), (int)error.place.length,
                        text + error.place.offset);
}

#define HEAD "ir 1 part p { size N scalar s f32 input x f32[N] input i i64[N] output y f32[N] "
#define SIGNED HEAD "signature (x, i) -> (y) "
#define STAGE SIGNED "map over n < N { %0 = index n %1 = read x [%0] "

/* A whole program around one node, which is the third. */
static const char *node_refusal(const char *node)
{
    return refusal(arena_printf(&arena, "%s%s y [%%0] <- %%1 } }", STAGE, node));
}

TEST(ir_text_refuses_bad_grammar)
{
    CHECK_STR(refusal(""), "ir-syntax at ");
    CHECK_STR(refusal("ir 2"), "ir-invalid at 2");
    CHECK_STR(refusal("ir 1"), "ir-syntax at ");
    CHECK_STR(refusal("ir 1 part p"), "ir-syntax at ");
    CHECK_STR(refusal("ir 1 part p { size"), "ir-syntax at ");
    CHECK_STR(refusal("ir 1 part p { thing"), "ir-syntax at thing");
    CHECK_STR(refusal("ir 1 part p \x80"), "ir-syntax at \x80");
    CHECK_STR(refusal(SIGNED "}"), "ir-invalid at p");
    CHECK_STR(refusal(SIGNED "fold {} }"), "ir-syntax at fold");
    CHECK_STR(refusal(STAGE "y [%0] <- %1 } } more"), "ir-syntax at more");
    CHECK_STR(refusal(STAGE "y [%0] <- %1 } }"), "accepted");
}

TEST(ir_text_refuses_bad_declarations)
{
    CHECK_STR(refusal("ir 1 part p { size N size N"), "ir-invalid at N");
    CHECK_STR(refusal("ir 1 part p { let N = N + 1"), "ir-invalid at N");
    CHECK_STR(refusal("ir 1 part p { let N = 9223372036854775808"),
              "ir-invalid at 9223372036854775808");
    CHECK_STR(refusal("ir 1 part p { scalar s i32"), "ir-invalid at i32");
    CHECK_STR(refusal("ir 1 part p { scalar s bool = 2"), "ir-invalid at 2");
    CHECK_STR(refusal("ir 1 part p { input x f33[]"), "ir-syntax at f33");
    CHECK_STR(refusal("ir 1 part p { input x ~f16[]"), "ir-invalid at input");
    CHECK_STR(refusal("ir 1 part p { input x f32[] input x f32[]"), "ir-invalid at x");
    CHECK_STR(refusal("ir 1 part p { input x#1 f32[]"), "ir-invalid at x#1");
    CHECK_STR(refusal("ir 1 part p { input x f32[1,1,1,1,1,1,1,1,1,1,1,1,1]"), "ir-limit at 1");
    CHECK_STR(refusal("ir 1 part p { size N input x f32[N] index(N)"), "ir-invalid at index");
    CHECK_STR(refusal("ir 1 part p { size N input x i32[N] triangular"),
              "ir-invalid at triangular");
    CHECK_STR(refusal("ir 1 part p { size N output x i32[N] sorted"), "ir-invalid at sorted");
    CHECK_STR(refusal("ir 1 part p { size N input x i32[N] index(N) offsets(N)"),
              "ir-invalid at offsets");
    CHECK_STR(refusal(HEAD "signature (x) -> (y) }"), "ir-invalid at p");
    CHECK_STR(refusal(HEAD "signature (x, x) -> (y) }"), "ir-invalid at p");
    CHECK_STR(refusal(HEAD "signature (x, y) -> (i) }"), "ir-invalid at p");
}

TEST(ir_text_refuses_bad_nodes)
{
    CHECK_STR(node_refusal(""), "accepted");
    CHECK_STR(node_refusal("%3 = int 1"), "ir-invalid at %3");
    CHECK_STR(node_refusal("%2 = conv %0"), "ir-syntax at conv");
    CHECK_STR(node_refusal("%2 = neg f32 %2"), "ir-invalid at %2");
    CHECK_STR(node_refusal("%2 = neg f16 %1"), "ir-invalid at neg");
    CHECK_STR(node_refusal("%2 = add f32 %0, %1"), "ir-invalid at add");
    CHECK_STR(node_refusal("%2 = add i64 %0, %1"), "ir-invalid at add");
    CHECK_STR(node_refusal("%2 = exp i64 %0"), "ir-invalid at exp");
    CHECK_STR(node_refusal("%2 = mod %0, %1"), "ir-invalid at mod");
    CHECK_STR(node_refusal("%2 = lt %0, %1"), "ir-invalid at lt");
    CHECK_STR(node_refusal("%2 = and %0, %0"), "ir-invalid at and");
    CHECK_STR(node_refusal("%2 = isnan %0"), "ir-invalid at isnan");
    CHECK_STR(node_refusal("%2 = select f32 %0, %1, %1"), "ir-invalid at select");
    CHECK_STR(node_refusal("%2 = index m"), "ir-invalid at m");
    CHECK_STR(node_refusal("%2 = index n#1"), "ir-invalid at n#1");
    CHECK_STR(node_refusal("%2 = scalar t"), "ir-invalid at t");
    CHECK_STR(node_refusal("%2 = size M"), "ir-invalid at M");
    CHECK_STR(node_refusal("%2 = param f32 0"), "ir-invalid at param");
    CHECK_STR(node_refusal("%2 = read z [%0]"), "ir-invalid at z");
    CHECK_STR(node_refusal("%2 = read x []"), "ir-invalid at x");
    CHECK_STR(node_refusal("%2 = read x [%1]"), "ir-invalid at read");
    CHECK_STR(node_refusal("%2 = read y [%0]"), "ir-invalid at read");
    CHECK_STR(node_refusal("%2 = read x [%0] guard %0"), "ir-invalid at read");
    CHECK_STR(node_refusal("%2 = read x [%0] else %0"), "ir-invalid at read");
}

TEST(ir_text_refuses_bad_stages)
{
    CHECK_STR(refusal(STAGE "y [] <- %1 } }"), "ir-invalid at y");
    CHECK_STR(refusal(STAGE "y [%1] <- %1 } }"), "ir-invalid at map");
    CHECK_STR(refusal(STAGE "y [%0] <- %0 } }"), "ir-invalid at map");
    CHECK_STR(refusal(STAGE "x [%0] <- %1 } }"), "ir-invalid at map");
    CHECK_STR(refusal(STAGE "} }"), "ir-invalid at map");
    CHECK_STR(refusal(STAGE "%2 = read i [%0] y [%2] <- %1 } }"), "ir-invalid at map");
    CHECK_STR(refusal(STAGE "y [%0] <- %1 y [%0] <- %1 } }"), "ir-invalid at map");
    CHECK_STR(refusal(SIGNED "reduce sum over | n < N { %0 = index n %1 = read x [%0] "
                             "y [%0] <- %1 } }"),
              "ir-invalid at reduce");
    CHECK_STR(refusal(SIGNED "reduce lse@0 over |"), "ir-invalid at lse@0");
    CHECK_STR(refusal(SIGNED "reduce mean over |"), "ir-invalid at mean");
    CHECK_STR(refusal(SIGNED "reduce any over n < N | { %0 = index n %1 = read x [%0] "
                             "y [%0] <- %1 } }"),
              "ir-invalid at reduce");
    CHECK_STR(refusal(SIGNED "reduce sum over n < N | if %0 { %0 = index n %1 = read x [%0] "
                             "y [%0] <- %1 } }"),
              "ir-invalid at reduce");
    CHECK_STR(refusal(SIGNED "map over n in %0 .. %0 { %0 = index n %1 = read x [%0] "
                             "y [%0] <- %1 } }"),
              "ir-invalid at map");
    CHECK_STR(refusal(SIGNED "scan topk over n < N along n { %0 = index n %1 = read x [%0] "
                             "y [%0] <- %1 y [%0] <- %1 } }"),
              "ir-invalid at scan");
    CHECK_STR(refusal(SIGNED "scan sum over n < N along m"), "ir-invalid at m");
    CHECK_STR(refusal(SIGNED "scatter sum over n < N from i { %0 = index n %1 = read x [%0] "
                             "y [%0] <- %1 } }"),
              "ir-invalid at scatter");
    CHECK_STR(refusal(SIGNED "call p (x, i) -> (y)"), "ir-invalid at call");
    CHECK_STR(refusal(SIGNED "call q (x, i) -> (y)"), "ir-invalid at q");
    CHECK_STR(refusal(SIGNED "loop t < N carry (x <- y) { } }"), "ir-invalid at x");
}

TEST(ir_text_refuses_bad_calls_and_loops)
{
#define CALLEE                                                                       \
    "ir 1 part q { size M scalar s f32 input x f32[M] output y f32[M] "              \
    "signature (x) -> (y) map over n < M { %0 = index n %1 = read x [%0] "           \
    "y [%0] <- %1 } } part p { size N input x f32[N] input i i64[N] state h f32[N] " \
    "temporary t f32[N] output y f32[N] signature (x, i) -> (y) "
#define GOOD "call q (x) -> (y) sizes(M = N) scalars(s = %0) { %0 = float f32 1 } "

    CHECK_STR(refusal(CALLEE GOOD "}"), "accepted");
    CHECK_STR(refusal(CALLEE "call q (x, i) -> (y)"), "ir-invalid at call");
    CHECK_STR(refusal(CALLEE "call q (x) -> (y) sizes(N = N)"), "ir-syntax at N");
    CHECK_STR(refusal(CALLEE "call q (x) -> (y) sizes(M = N) scalars(s = %1) { %0 = int 1 }"),
              "ir-invalid at call");
    CHECK_STR(refusal(CALLEE "call q (x) -> (y) sizes(M = N) scalars(s = %0) { %0 = int 1 }"),
              "ir-invalid at call");
    CHECK_STR(refusal(CALLEE "call q (i) -> (y) sizes(M = N) scalars(s = %0) { %0 = float f32 1 }"),
              "ir-invalid at call");
    CHECK_STR(refusal(CALLEE "call q (t) -> (y) sizes(M = N) scalars(s = %0) { %0 = float f32 1 }"),
              "ir-invalid at call");
    CHECK_STR(refusal(CALLEE "call q (x) -> (x) sizes(M = N) scalars(s = %0) { %0 = float f32 1 }"),
              "ir-invalid at call");
    CHECK_STR(refusal(CALLEE "call q (x) -> (y) sizes(M = N) scalars(s = %0) { %0 = read x [] }"),
              "ir-invalid at x");
    CHECK_STR(refusal(CALLEE "loop t < N carry (h <- t) { }"), "ir-invalid at h");
    CHECK_STR(refusal(CALLEE "map over n < N { %0 = index n %1 = float f32 1 h [%0] <- %1 } "
                             "loop t < N carry (h <- t) { }"),
              "ir-invalid at loop");
    CHECK_STR(refusal(CALLEE "map over n < N { %0 = index n %1 = float f32 1 h [%0] <- %1 } "
                             "loop t < N carry (h <- x, h <- x) { }"),
              "ir-invalid at h");
    CHECK_STR(refusal(CALLEE "map over n < N { %0 = index n %1 = float f32 1 h [%0] <- %1 } "
                             "loop t < N carry (h <- x) { map over n < N { %0 = index n "
                             "%1 = float f32 1 h [%0] <- %1 } }"),
              "ir-invalid at map");
}

TEST(ir_text_refuses_bad_monoids)
{
    CHECK_STR(refusal("ir 1 monoid m@1 width 1"), "ir-syntax at m@1");
    CHECK_STR(refusal("ir 1 monoid m@0 width 0"), "ir-invalid at 0");
    CHECK_STR(refusal("ir 1 monoid m@0 width 1 { %0 = param f32 2"), "ir-invalid at param");
    CHECK_STR(refusal("ir 1 monoid m@0 width 1 { %0 = size 1"), "ir-invalid at size");
    CHECK_STR(refusal("ir 1 monoid m@0 width 1 { %0 = param f32 0 results(%0) units(%0) }"),
              "ir-invalid at m@0");
    CHECK_STR(refusal("ir 1 monoid m@0 width 1 { %0 = param f32 0 %1 = int 0 "
                      "results(%0) units(%1) }"),
              "ir-invalid at m@0");
    CHECK_STR(refusal("ir 1 monoid m@0 width 1 { %0 = param f32 0 %1 = int 0 "
                      "results(%1) units(%1) }"),
              "ir-invalid at %0");
    CHECK_STR(refusal("ir 1 monoid m@0 width 1 { %0 = float f32 0 results(%0, %0) units(%0) }"),
              "ir-invalid at m@0");
}

/* Depth is limited, so that no text can exhaust the stack. */
TEST(ir_text_limits_depth)
{
    struct text deep = text_new(&arena), chain = text_new(&arena), loops = text_new(&arena);

    text_add(&deep, "ir 1 part p { let N = ");
    text_repeat(&deep, '(', 1000000);
    CHECK_STR(refusal(deep.at), "ir-limit at (");
    text_add(&chain, "ir 1 part p { let N = 1");
    for (int i = 0; i < 100000; i++)
        text_add(&chain, " + 1");
    CHECK_STR(refusal(chain.at), "ir-limit at +");
    text_add(&loops, SIGNED);
    for (int i = 0; i < 1000; i++)
        text_add(&loops, "loop t < N carry () { ");
    CHECK_STR(refusal(loops.at), "ir-limit at loop");
    struct text name = text_new(&arena);
    text_add(&name, "ir 1 part ");
    text_repeat(&name, 'a', 1000);
    CHECK(strncmp(refusal(name.at), "ir-limit", 8) == 0);
}
