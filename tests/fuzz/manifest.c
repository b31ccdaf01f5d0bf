/* Fuzzes the manifest of kernels: refused with a reason, or printed as something that reads back.
 */
#include "kernel/kernel.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char PART[] =
    "ir 1 part softmax { type T f32 size B.0 of B[0] size D family B 1 input x f32[B.0, D]\n"
    "output y f32[B.0, D] signature (x) -> (y)\n"
    "map over b < B.0, d < D { %0 = index b %1 = index d %2 = read x [%0, %1]\n"
    "    y [%0, %1] <- %2 } }";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct source program_text = {"part.ir", PART, sizeof PART - 1};
    const struct ir_program *program = ir_parse(&arena, &program_text, NULL);
    const struct ir_part *part = ir_root(program);
    struct source source = {"k.c", arena_copy(&arena, (const char *)data, size), size};
    struct errors errors = errors_new(&arena);
    struct kernel *kernel = kernel_parse(&arena, &source, part, &errors);
    if (!kernel != (errors.list.count > 0))
        __builtin_trap();
    if (kernel) {
        static const int64_t sizes[] = {3, 40};
        struct text first = text_new(&arena), second = text_new(&arena);
        kernel_print_manifest(&first, kernel, part);
        struct source again_text = {"k.c", first.at, first.length};
        struct kernel *again = kernel_parse(&arena, &again_text, part, &errors);
        if (!again)
            __builtin_trap();
        kernel_print_manifest(&second, again, part);
        if (strcmp(first.at, second.at) != 0 ||
            kernel_holds(kernel, sizes, NULL) != kernel_holds(again, sizes, NULL) ||
            kernel_scratch(kernel, sizes) != kernel_scratch(again, sizes))
            __builtin_trap();
    }
    for (size_t i = 0; i < errors.list.count; i++) {
        struct text text = text_new(&arena);
        error_render(&text, &errors.list.at[i], false);
    }
    arena_release(&arena);
    return 0;
}
