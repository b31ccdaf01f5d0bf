/*
 * The head of a plain kernel: its manifest, and in words everything whoever goes on from it must
 * know: entry, order and types of what comes in, what is promised and what is asked for.
 */
#include "gen/c/emit.h"

#include <string.h>

#include "kernel/kernel.h"

/* Lines of a comment; what would end it, or seem to begin another, is taken apart. */
static void comment_lines(struct text *out, const char *before, const char *lines)
{
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        text_add(out, length ? before : " *");
        for (size_t i = 0; i < length; i++) {
            text_char(out, lines[i]);
            if ((lines[i] == '*' && lines[i + 1] == '/') ||
                (lines[i] == '/' && lines[i + 1] == '*'))
                text_char(out, ' ');
        }
        text_char(out, '\n');
        lines += length + (lines[length] == '\n');
    }
}

static void print_tensor(struct text *out, const struct ir_part *part, int tensor)
{
    const struct ir_tensor *info = &part->tensors[tensor];
    text_printf(out, "%s: %s[", info->name, dtype_name(info->dtype));
    for (int i = 0; i < info->rank; i++) {
        text_add(out, i ? ", " : "");
        ir_size_print(out, info->dims[i], part);
    }
    text_char(out, ']');
}

static void print_signature(struct emitter *emitter, struct text *out, const struct ir_part *part)
{
    struct text line = text_new(emitter->arena);
    text_printf(&line, "%.*s(", (int)strcspn(part->name, "."), part->name);
    for (int i = 0; i < part->input_count; i++) {
        text_add(&line, i ? ", " : "");
        print_tensor(&line, part, part->inputs[i]);
    }
    text_add(&line, ") -> (");
    for (int i = 0; i < part->output_count; i++) {
        text_add(&line, i ? ", " : "");
        print_tensor(&line, part, part->outputs[i]);
    }
    text_add(&line, ")");
    comment_lines(out, " * ", line.at);
}

/* What is known of an input's values. */
static void print_properties(struct text *out, const struct ir_part *part, int tensor)
{
    const struct ir_tensor *info = &part->tensors[tensor];
    if (info->properties & IR_PROPERTY_INDEX) {
        text_add(out, "; every value in 0 .. ");
        ir_size_print(out, info->bound, part);
        text_add(out, " - 1");
    }
    if (info->properties & IR_PROPERTY_OFFSETS) {
        text_add(out, "; ascending from 0 to ");
        ir_size_print(out, info->bound, part);
    }
    if (info->properties & IR_PROPERTY_SORTED)
        text_add(out, "; ascending along the last dimension");
    if (info->properties & IR_PROPERTY_TRIANGULAR)
        text_add(out, "; zero above the diagonal");
    if (info->properties & IR_PROPERTY_CONSTANT)
        text_add(out, "; the same from call to call");
}

static const char *coding(enum dtype type)
{
    switch (type) {
    case DTYPE_F16: return ", the bits of an IEEE half";
    case DTYPE_BF16: return ", the upper half of a float's bits";
    case DTYPE_F8E4: return ", e4m3: 4 bits of exponent, no infinity";
    case DTYPE_F8E5: return ", e5m2: 5 bits of exponent";
    default: return "";
    }
}

static void print_tensors(struct emitter *emitter, struct text *out, const struct ir_part *part)
{
    for (int i = 0; i < part->input_count + part->output_count; i++) {
        bool input = i < part->input_count;
        int tensor = input ? part->inputs[i] : part->outputs[i - part->input_count];
        enum dtype type = part->tensors[tensor].dtype;
        struct text line = text_new(emitter->arena);
        text_printf(&line, "    tensors[%d]  %s ", i, input ? "in " : "out");
        print_tensor(&line, part, tensor);
        text_printf(&line, ", %s%s%s", input ? "const " : "", emit_element(emitter, type),
                    coding(type));
        print_properties(&line, part, tensor);
        comment_lines(out, " * ", line.at);
    }
}

static void print_numbers(struct emitter *emitter, struct text *out, const struct ir_part *part)
{
    static const char *const RELATIONS[] = {"==", "!=", "<", "<="};
    struct text lines = text_new(emitter->arena);
    for (int i = 0; i < part->symbol_count; i++) {
        const struct ir_symbol *symbol = &part->symbols[i];
        text_printf(&lines, "    sizes[%d]    %s", i, symbol->name);
        if (symbol->kind == IR_SYMBOL_LET) {
            text_add(&lines, " = ");
            ir_size_print(&lines, symbol->definition, part);
        }
        text_add(&lines, symbol->kind == IR_SYMBOL_PARAMETER ? ", a parameter\n" : "\n");
    }
    for (int i = 0; i < part->scalar_count; i++)
        text_printf(&lines, "    scalars[%d]  %s%s\n", i, part->scalars[i].name,
                    part->scalars[i].dtype == DTYPE_BOOL ? ", 0 or 1" : "");
    for (int i = 0; i < part->fact_count; i++) {
        text_add(&lines, i ? ", " : "    where ");
        ir_size_print(&lines, part->facts[i].a, part);
        text_printf(&lines, " %s ", RELATIONS[part->facts[i].relation]);
        ir_size_print(&lines, part->facts[i].b, part);
        text_add(&lines, i + 1 == part->fact_count ? "\n" : "");
    }
    if (lines.length)
        comment_lines(out, " * ", lines.at);
}

static const char RULES[] =
    "Tensors are dense, row-major and 64-byte aligned; no two overlap. Inputs cannot be written "
    "to.\n"
    "Outputs come with anything in them, and every element must be written. Nothing beside them "
    "may\n"
    "be touched but the scratch: as many bytes as the manifest asks for, 64-byte aligned, with\n"
    "anything in them. Nothing may be kept from one call to the next. Sizes may be 0.\n"
    "Threads: as many as omp_get_max_threads() says, of OpenMP or none. Only the C library, libm "
    "and\n"
    "libgomp are linked.\n";

static void print_paragraph(struct text *out, const char *title, const char *lines)
{
    if (!lines || !*lines)
        return;
    text_printf(out, " *\n * %s\n", title);
    comment_lines(out, " *     ", lines);
}

void emit_contract(struct emitter *emitter, struct text *out, const struct gen_contract *contract)
{
    const struct ir_part *root = ir_root(emitter->program);
    struct text instance = text_new(emitter->arena);
    kernel_print_instance(&instance, root);
    struct kernel kernel = {
        .op = arena_copy(emitter->arena, root->name, strcspn(root->name, ".")),
        .instance = instance.at,
        .target = "cpu",
        .scratch = emit_part_plan(emitter, root)->scratch,
        .threads = 1,
    };
    kernel_print_manifest(out, &kernel, root);
    text_add(out, "\n/*\n");
    print_signature(emitter, out, root);
    text_add(out,
             " *\n * A plain kernel, written by smelt: correct, and not meant to be fast. Go on "
             "from here.\n");
    print_paragraph(out, "The op:", contract->op);
    text_add(
        out,
        " *\n * int kernel(void *const *tensors, const int64_t *sizes, const double *scalars,"
        "\n *            void *scratch);\n * returns 0, or anything else to say that it cannot "
        "do this call.\n *\n");
    print_tensors(emitter, out, root);
    print_numbers(emitter, out, root);
    text_add(out, " *\n");
    comment_lines(out, " * ", RULES);
    print_paragraph(out, "Inputs and sizes:", contract->domain);
    print_paragraph(out, "Accuracy:", contract->accuracy);
    print_paragraph(out, "Compiled with:", contract->compiler);
    text_add(out, " */\n");
}

void emit_head(struct emitter *emitter, struct text *out, const struct ir_part *part,
               const struct ir_size *scratch, const struct gen_head *head)
{
    struct text instance = text_new(emitter->arena);
    kernel_print_instance(&instance, part);
    struct kernel kernel = {
        .op = arena_copy(emitter->arena, part->name, strcspn(part->name, ".")),
        .instance = instance.at,
        .target = "cpu",
        .holds = head->holds,
        .holds_count = head->holds_count,
        .scratch = scratch,
        .threads = head->threads,
    };
    kernel_print_manifest(out, &kernel, part);
    text_add(out, "\n/*\n");
    print_signature(emitter, out, part);
    text_add(out, " *\n * Written by smelt.\n");
    print_paragraph(out, "The op:", head->op);
    print_paragraph(out, "The plan:", head->plan);
    text_add(out, " */\n");
}

void emit_device_head(struct emitter *emitter, struct text *out, const struct ir_part *part,
                      struct kernel *kernel, const struct gen_contract *contract,
                      const struct gen_head *head)
{
    struct text instance = text_new(emitter->arena);
    kernel_print_instance(&instance, part);
    kernel->op = arena_copy(emitter->arena, part->name, strcspn(part->name, "."));
    kernel->instance = instance.at;
    kernel->holds = head ? head->holds : NULL;
    kernel->holds_count = head ? head->holds_count : 0;
    kernel->architecture = head ? head->architecture : NULL;
    kernel_print_manifest(out, kernel, part);
    text_add(out, "\n/*\n");
    print_signature(emitter, out, part);
    if (head) {
        text_add(out, " *\n * Written by smelt.\n");
        print_paragraph(out, "The op:", head->op);
        print_paragraph(out, "The plan:", head->plan);
        text_add(out, " */\n");
        return;
    }
    text_add(out,
             " *\n * A plain kernel, written by smelt: correct, and not meant to be fast. Go on "
             "from here.\n");
    print_paragraph(out, "The op:", contract->op);
    print_paragraph(out, "Inputs and sizes:", contract->domain);
    print_paragraph(out, "Accuracy:", contract->accuracy);
    text_add(out, " */\n");
}
