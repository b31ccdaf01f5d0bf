/* Instances: equal parts are recognised however their sizes are written, and counted fast. */
#include "ir/ir.h"

#include <string.h>

#include "test.h"

static struct arena arena;

static const struct ir_program *parsed(const char *text)
{
    struct source source = {"test.ir", text, strlen(text)};
    struct error error = {0};
    const struct ir_program *program = ir_parse(&arena, &source, &error);

    if (!program)
        test_fail(__FILE__, __LINE__, "at %.40s: %s", text + error.place.offset, error.message);
    return program;
}

/* "part(sizes) x calls; ..." */
static const char *listed(const char *text)
{
    struct ir_instances instances = {0};
    struct text out = text_new(&arena);

    ir_list_instances(&arena, parsed(text), &instances);
    for (size_t i = 0; i < instances.count; i++)
        text_printf(&out, "%s%s(%s) x %lld", i ? "; " : "", instances.at[i].part->name,
                    instances.at[i].sizes, (long long)instances.at[i].calls);
    return out.at;
}

/* A part that does nothing with its sizes but have them. */
static void add_part(struct text *text, const char *name, const char *sizes, const char *calls)
{
    text_printf(text,
                "part %s { %s input x f32[] output y f32[] temporary t f32[] signature (x) -> (y) "
                "%s map { %%0 = read x [] y [] <- %%0 } }\n",
                name, sizes, calls);
}

static const char *call(const char *name, const char *sizes)
{
    return arena_printf(&arena, "call %s (x) -> (t) sizes(%s) scalars() {} ", name, sizes);
}

static const char *calling(const char *callee_sizes, const char *sizes, const char *calls)
{
    struct text text = text_new(&arena);

    text_add(&text, "ir 1\n");
    add_part(&text, "f", callee_sizes, "");
    add_part(&text, "root", sizes, calls);
    return listed(text.at);
}

TEST(instances_of_none)
{
    CHECK_STR(calling("size N", "size M", ""), "");
}

TEST(instances_are_equal_by_value)
{
    const char *calls =
        arena_printf(&arena, "%s%s%s%s", call("f", "N = 2*M + 4"), call("f", "N = (M + 2)*2"),
                     call("f", "N = 4 + M + M"), call("f", "N = (8*M + 17)/4"));

    CHECK_STR(calling("size N", "size M", calls), "f(N=2*M + 4) x 4");
    calls = arena_printf(&arena, "%s%s%s", call("f", "N = M*K/K"), call("f", "N = M + (3 - 3)*K"),
                         call("f", "N = min(M, M + 1)"));
    CHECK_STR(calling("size N", "size M size K", calls), "f(N=M) x 3");
    calls = arena_printf(&arena, "%s%s%s", call("f", "N = min(M, K)"), call("f", "N = min(K, M)"),
                         call("f", "N = (M*4 + K) % 4"));
    CHECK_STR(calling("size N", "size M size K", calls), "f(N=min(K, M)) x 2; f(N=(K % 4)) x 1");
    calls = arena_printf(&arena, "%s%s", call("f", "N = (M - 1)/K + 1"),
                         call("f", "N = (K + M - 1)/K"));
    CHECK_STR(calling("size N", "size M size K", calls), "f(N=((M - 1)/K) + 1) x 2");
    calls = arena_printf(&arena, "%s%s", call("f", "N = 0"), call("f", "N = M/0"));
    CHECK_STR(calling("size N", "size M", calls), "f(N=0) x 1; f(N=(M/0)) x 1");
}

/* Sizes reach the inner part through the outer one; lets are computed on the way, loops count once.
 */
TEST(instances_are_counted_through_calls)
{
    struct text text = text_new(&arena);

    text_add(&text, "ir 1\n");
    add_part(&text, "inner", "size A", "");
    add_part(&text, "outer", "size H parameter pad let P = H + 2*pad - 2",
             arena_printf(&arena, "%s%s", call("inner", "A = P"), call("inner", "A = H")));
    add_part(&text, "root", "size N let M = N*3",
             arena_printf(&arena, "%s loop t < N carry () { %s } %s",
                          call("outer", "H = N, pad = 1"), call("outer", "H = N, pad = 1"),
                          call("outer", "H = M, pad = 0")));
    CHECK_STR(listed(text.at), "outer(H=N, pad=1) x 2; outer(H=M, pad=0) x 1; "
                               "inner(A=N) x 4; inner(A=M - 2) x 1; inner(A=M) x 1");
}

/* Forty levels of two calls each: counted, not walked. Seventy: the count stops at its maximum. */
TEST(instances_do_not_explode)
{
    for (int levels = 40; levels <= 70; levels += 30) {
        struct text text = text_new(&arena);
        text_add(&text, "ir 1\n");
        add_part(&text, "p0", "size N", "");
        for (int i = 1; i <= levels; i++) {
            const char *one = call(arena_printf(&arena, "p%d", i - 1), "N = N + 1");
            add_part(&text, arena_printf(&arena, "p%d", i), "size N",
                     arena_printf(&arena, "%s%s", one, one));
        }
        struct ir_instances instances = {0};
        ir_list_instances(&arena, parsed(text.at), &instances);
        CHECK_INT(instances.count, levels);
        CHECK_STR(instances.at[levels - 1].part->name, "p0");
        CHECK_STR(instances.at[levels - 1].sizes, arena_printf(&arena, "N=N + %d", levels));
        CHECK_INT(instances.at[levels - 1].calls, levels == 40 ? INT64_C(1) << 40 : INT64_MAX);
    }
}

/* Sizes that double their text at every level are cut short, and still told apart. */
TEST(instances_keep_sizes_short)
{
    struct text text = text_new(&arena);

    text_add(&text, "ir 1\n");
    add_part(&text, "p0", "size N", "");
    for (int i = 1; i <= 60; i++) {
        const char *callee = arena_printf(&arena, "p%d", i - 1);
        add_part(&text, arena_printf(&arena, "p%d", i), "size N",
                 arena_printf(&arena, "%s%s", call(callee, "N = N*N/(N + 1) + N % 7"),
                              call(callee, "N = N*N/(N + 2) + N % 7")));
    }
    struct ir_instances instances = {0};
    ir_list_instances(&arena, parsed(text.at), &instances);
    CHECK(instances.count > 1000 && instances.count < 60 * 1001);
    for (size_t i = 0; i < instances.count; i++)
        CHECK(strlen(instances.at[i].sizes) < 500);
    CHECK(arena.used < (size_t)400 << 20);
}
