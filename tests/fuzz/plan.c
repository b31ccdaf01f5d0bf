/* Fuzzes plans: refused with a reason, or printed as something that reads back as the same. */
#include "plan/plan.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char PART[] =
    "ir 1 part softmax { type T f32 size B.0 of B[0] size D family B 1 input x f32[B.0, D]\n"
    "output y f32[B.0, D] temporary m ~f32[B.0] temporary s ~f32[B.0] signature (x) -> (y)\n"
    "reduce max over b < B.0 | d < D { %0 = index b %1 = index d %2 = read x [%0, %1]\n"
    "    m [%0] <- %2 }\n"
    "reduce sum over b < B.0 | d < D { %0 = index b %1 = index d %2 = read x [%0, %1]\n"
    "    s [%0] <- %2 }\n"
    "map over b < B.0, d < D { %0 = index b %1 = index d %2 = read x [%0, %1]\n"
    "    %3 = read m [%0] y [%0, %1] <- %2 } }";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct source program_text = {"part.ir", PART, sizeof PART - 1};
    const struct ir_program *program = ir_parse(&arena, &program_text, NULL);
    const struct ir_graph *graph = ir_graph_new(&arena, ir_root(program));
    struct source source = {"a.plan", arena_copy(&arena, (const char *)data, size), size};
    struct errors errors = errors_new(&arena);
    struct plan *plan = plan_parse(&arena, &source, graph, &errors);
    if (!plan != (errors.said > 0))
        __builtin_trap();
    if (plan) {
        struct text first = text_new(&arena), second = text_new(&arena);
        char hash[65], again_hash[65];
        plan_print(&first, plan, graph);
        struct source again_text = {"a.plan", first.at, first.length};
        struct plan *again = plan_parse(&arena, &again_text, graph, &errors);
        if (!again)
            __builtin_trap();
        plan_print(&second, again, graph);
        plan_hash(plan, graph, hash);
        plan_hash(again, graph, again_hash);
        if (strcmp(first.at, second.at) != 0 || strcmp(hash, again_hash) != 0)
            __builtin_trap();
    }
    for (size_t i = 0; i < errors.list.count; i++) {
        struct text text = text_new(&arena);
        error_render(&text, &errors.list.at[i], false);
    }
    arena_release(&arena);
    return 0;
}
