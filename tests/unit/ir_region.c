/*
 * What tiles read, and which reductions can share a pass: the figures plans are made from.
 */
#include "lang/lang.h"
#include "lib_vectors.h"
#include "oracle_differ.h"
#include "test.h"

#include <string.h>

struct known {
    const struct ir_graph *graph;
    struct ir_binding *binding;
};

/* A flat program of op text at these sizes (in the order of its symbols). */
static struct known know(const char *text, const int64_t *sizes)
{
    struct arena *arena = differ_arena();
    struct errors errors = errors_new(arena);
    struct error error = {0};
    struct lang *lang = lang_new(arena, arena_printf(arena, "%s/lib", repository_root()));
    struct lang_file *file = lang_load_text(lang, "test.op", text, strlen(text), &errors);
    const struct ir_program *program =
        file ? lang_default_program(lang, file, lang_op(file, 0), &errors) : NULL;
    if (!program)
        test_fail(__FILE__, __LINE__, "%s", errors.list.at[0].message);
    const struct ir_program *flat = ir_flatten(arena, program);
    struct known known = {ir_graph_new(arena, ir_root(flat)),
                          ir_bind(arena, flat, sizes, NULL, &error)};
    if (!known.binding)
        test_fail(__FILE__, __LINE__, "%s", error.message);
    return known;
}

static int stage_named(const struct known *known, const char *name)
{
    for (int i = 0; i < known->graph->part->stage_count; i++) {
        if (strcmp(known->graph->names[i], name) == 0)
            return i;
    }
    test_fail(__FILE__, __LINE__, "no stage %s", name);
}

static int read_of(const struct known *known, const struct ir_stage *stage, const char *tensor)
{
    for (int i = 0; i < stage->nodes.count; i++) {
        if (stage->nodes.at[i].op == IR_READ &&
            strcmp(known->graph->part->tensors[stage->nodes.at[i].read.tensor].name, tensor) == 0)
            return i;
    }
    test_fail(__FILE__, __LINE__, "%s is not read", tensor);
}

TEST(region_of_a_product_and_a_window)
{
    int64_t box[IR_MAX_RANK];
    struct known product = know("op p(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) {\n"
                                "    c[m, n] += a[m, k] * b[k, n]\n}\n",
                                (int64_t[]){100, 80, 60});
    const struct ir_stage *stage = &product.graph->part->stages[0];
    int64_t tile[] = {6, 16, 32}; /* m, n, k */
    CHECK_DOUBLE(ir_region(product.binding, stage, read_of(&product, stage, "a"), tile, box),
                 6 * 32);
    CHECK_DOUBLE(ir_reuse(product.binding, stage, read_of(&product, stage, "a"), tile), 16);
    CHECK_DOUBLE(ir_reuse(product.binding, stage, read_of(&product, stage, "b"), tile), 6);
    CHECK_DOUBLE(ir_stage_work(product.binding, stage).operations, 2.0 * 100 * 80 * 60);

    struct known window = know("op w(x: f32[H], w: f32[R]) -> (y: f32[H]) {\n"
                               "    y[h] += x[2*h + r - 1 else 0] * w[r]\n}\n",
                               (int64_t[]){50, 3});
    stage = &window.graph->part->stages[0];
    int64_t part[] = {8, 3};
    CHECK_DOUBLE(ir_region(window.binding, stage, read_of(&window, stage, "x"), part, box),
                 1 + 2 * 7 + 2);
    int64_t all[] = {50, 3}; /* no more than there is */
    CHECK_DOUBLE(ir_region(window.binding, stage, read_of(&window, stage, "x"), all, box), 50);
}

TEST(streams_are_recognised)
{
    int earlier = -1;
    struct known soft = know("op s(x: f32[N, D]) -> (y: f32[N, D]) {\n"
                             "    m[n] max= x[n, d]\n    s[n] += exp(x[n, d] - m[n])\n"
                             "    y[n, d] = exp(x[n, d] - m[n]) / s[n]\n}\n",
                             (int64_t[]){4, 5});
    CHECK_INT(ir_stream(soft.graph, stage_named(&soft, "s"), &earlier), IR_STREAM_EXP);
    CHECK_STR(soft.graph->names[earlier], "m");
    CHECK_INT(ir_stream(soft.graph, stage_named(&soft, "m"), &earlier), IR_STREAM_NONE);
    CHECK_INT(ir_stream(soft.graph, stage_named(&soft, "y"), &earlier), IR_STREAM_NONE);

    struct known attend =
        know("op a(q: f32[I, K], k: f32[J, K], v: f32[J, V]) -> (o: f32[I, V]) {\n"
             "    s[i, j] += q[i, c] * k[j, c]\n    m[i] max= s[i, j]\n"
             "    z[i] += exp(s[i, j] - m[i])\n"
             "    p[i, e] += exp(s[i, j] - m[i]) * v[j, e]\n    o[i, e] = p[i, e] / z[i]\n}\n",
             (int64_t[]){4, 5, 6, 7});
    CHECK_INT(ir_stream(attend.graph, stage_named(&attend, "p"), &earlier), IR_STREAM_EXP);
    CHECK_STR(attend.graph->names[earlier], "m");
    CHECK_INT(ir_stream(attend.graph, stage_named(&attend, "s"), &earlier), IR_STREAM_NONE);

    struct known variance = know("op v(x: f32[N, D]) -> (y: f32[N]) {\n"
                                 "    t[n] += x[n, d]\n    u[n] = t[n] / D\n"
                                 "    y[n] += (x[n, d] - u[n]) ^ 2\n}\n",
                                 (int64_t[]){4, 5});
    CHECK_INT(ir_stream(variance.graph, stage_named(&variance, "y"), &earlier), IR_STREAM_MOMENT);
    CHECK_STR(variance.graph->names[earlier], "t");

    struct known other = know("op o(x: f32[N, D], w: f32[N, D]) -> (y: f32[N]) {\n"
                              "    m[n] max= w[n, d]\n    y[n] += exp(x[n, d] - m[n])\n}\n",
                              (int64_t[]){4, 5}); /* the maximum of something else */
    CHECK_INT(ir_stream(other.graph, stage_named(&other, "y"), &earlier), IR_STREAM_NONE);
}

/* A group that something runs in the middle of cannot run as one. */
TEST(groups_must_be_convex)
{
    struct known known = know("op s(x: f32[N, D]) -> (y: f32[N, D]) {\n"
                              "    m[n] max= x[n, d]\n    s[n] += exp(x[n, d] - m[n])\n"
                              "    y[n, d] = exp(x[n, d] - m[n]) / s[n]\n}\n",
                              (int64_t[]){4, 5});
    int between = -1;
    CHECK(ir_graph_convex(known.graph, (bool[]){true, true, false}, &between));
    CHECK(ir_graph_convex(known.graph, (bool[]){true, true, true}, &between));
    CHECK(!ir_graph_convex(known.graph, (bool[]){true, false, true}, &between));
    CHECK_STR(known.graph->names[between], "s");
}
