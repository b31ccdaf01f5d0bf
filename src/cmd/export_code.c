/*
 * The table of variants as C: a header, a dispatcher that picks the first kernel that holds for the
 * sizes of a call, and a wrapper per kernel.
 */
#include <ctype.h>
#include <string.h>

#include "cmd/exported.h"

/* ---- names ---- */

const char *export_identifier(struct arena *arena, const char *name)
{
    struct text text = text_new(arena);
    if (isdigit((unsigned char)name[0]))
        text_add(&text, "op_");
    for (; *name; name++)
        text_char(&text, isascii(*name) && isalnum((unsigned char)*name) ? *name : '_');
    return text.length ? text.at : "op";
}

static bool is_reserved(const char *name)
{
    static const char *const words[] = {
        "auto",     "break",  "case",    "char",   "const",    "continue", "default", "do",
        "double",   "else",   "enum",    "extern", "float",    "for",      "goto",    "if",
        "inline",   "int",    "long",    "return", "register", "restrict", "short",   "signed",
        "sizeof",   "static", "struct",  "switch", "typedef",  "union",    "void",    "volatile",
        "unsigned", "while",  "scratch", "sizes",  "scalars",  "tensors",  "main"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return false;
}

static const char *take_name(struct arena *arena, struct map *used, const char *name)
{
    const char *taken = export_identifier(arena, name);
    while (is_reserved(taken) || map_get(used, taken))
        taken = arena_printf(arena, "%s_", taken);
    map_set(used, taken, (void *)taken);
    return taken;
}

struct export_names export_names(struct arena *arena, const struct ir_part *part)
{
    struct map used = map_new(arena);
    struct export_names names = {
        .tensors = arena_array(arena, (size_t)part->tensor_count + 1, sizeof(char *)),
        .sizes = arena_array(arena, (size_t)part->symbol_count + 1, sizeof(char *)),
        .scalars = arena_array(arena, (size_t)part->scalar_count + 1, sizeof(char *))};
    for (int i = 0; i < part->input_count; i++)
        names.tensors[part->inputs[i]] =
            take_name(arena, &used, part->tensors[part->inputs[i]].name);
    for (int i = 0; i < part->output_count; i++)
        names.tensors[part->outputs[i]] =
            take_name(arena, &used, part->tensors[part->outputs[i]].name);
    for (int i = 0; i < part->symbol_count; i++)
        names.sizes[i] = take_name(arena, &used, part->symbols[i].name);
    for (int i = 0; i < part->scalar_count; i++)
        names.scalars[i] = take_name(arena, &used, part->scalars[i].name);
    return names;
}

const char *export_type(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F64: return "double";
    case DTYPE_F32: return "float";
    case DTYPE_F16:
    case DTYPE_BF16: return "uint16_t";
    case DTYPE_I64: return "int64_t";
    case DTYPE_I32: return "int32_t";
    case DTYPE_U32: return "uint32_t";
    case DTYPE_I16: return "int16_t";
    case DTYPE_I8: return "int8_t";
    default: return "uint8_t";
    }
}

/* ---- the header ---- */

static void print_sizes(struct text *out, const struct ir_part *part,
                        const struct export_names *names, bool first)
{
    for (int i = 0; i < part->symbol_count; i++) {
        if (part->symbols[i].kind == IR_SYMBOL_LET)
            continue;
        text_printf(out, "%sint64_t %s", first ? "" : ", ", names->sizes[i]);
        first = false;
    }
    if (first)
        text_add(out, "void");
}

static void print_call(struct text *out, const struct export *export,
                       const struct export_names *names)
{
    const struct ir_part *part = export->part;
    text_printf(out, "int %s(", export->name);
    for (int i = 0; i < part->input_count; i++)
        text_printf(out, "const %s *%s, ", export_type(part->tensors[part->inputs[i]].dtype),
                    names->tensors[part->inputs[i]]);
    for (int i = 0; i < part->output_count; i++)
        text_printf(out, "%s *%s, ", export_type(part->tensors[part->outputs[i]].dtype),
                    names->tensors[part->outputs[i]]);
    for (int i = 0; i < part->symbol_count; i++)
        if (part->symbols[i].kind != IR_SYMBOL_LET)
            text_printf(out, "int64_t %s, ", names->sizes[i]);
    for (int i = 0; i < part->scalar_count; i++)
        text_printf(out, "double %s, ", names->scalars[i]);
    text_add(out, "void *scratch)");
}

static void print_shape(struct text *out, const struct ir_part *part, int number,
                        const struct export_names *names)
{
    const struct ir_tensor *tensor = &part->tensors[number];
    text_printf(out, " *     %s: %s[", names->tensors[number], dtype_name(tensor->dtype));
    for (int d = 0; d < tensor->rank; d++) {
        text_add(out, d ? ", " : "");
        ir_size_print(out, tensor->dims[d], part);
    }
    text_add(out, "]\n");
}

void export_header(const struct export *export, struct text *out)
{
    const struct ir_part *part = export->part;
    struct export_names names = export_names(export->arena, part);
    text_printf(out, "/*\n * %s: op %s, written by smelt.\n *\n", export->name,
                export->task->op_name);
    text_add(out,
             " * Tensors are dense, row-major, 64-byte aligned, no two of them overlapping:\n");
    for (int i = 0; i < part->input_count; i++)
        print_shape(out, part, part->inputs[i], &names);
    for (int i = 0; i < part->output_count; i++)
        print_shape(out, part, part->outputs[i], &names);
    text_add(out, " * Threads are OpenMP's (OMP_NUM_THREADS).\n */\n");
    text_printf(out, "#ifndef EXPORT_%s_H\n#define EXPORT_%s_H\n\n#include <stdint.h>\n\n",
                export->name, export->name);
    text_printf(out,
                "/* Bytes of scratch a call at these sizes needs, 64-byte aligned. */\nint64_t "
                "%s_scratch(",
                export->name);
    print_sizes(out, part, &names, true);
    text_printf(out, ");\n/* The kernel a call at these sizes runs. */\nconst char *%s_variant(",
                export->name);
    print_sizes(out, part, &names, true);
    text_add(out, ");\n/* 0, or what the kernel says when it cannot do the call. */\n");
    print_call(out, export, &names);
    text_add(out, ";\n\n#endif\n");
}

/* ---- the table ---- */

static void print_size(struct text *out, const struct ir_size *size)
{
    static const char *const functions[] = {[IR_SIZE_DIV] = "divide",
                                            [IR_SIZE_MOD] = "modulo",
                                            [IR_SIZE_MIN] = "least",
                                            [IR_SIZE_MAX] = "most"};
    switch (size->op) {
    case IR_SIZE_CONSTANT: text_printf(out, "INT64_C(%lld)", (long long)size->value); return;
    case IR_SIZE_SYMBOL: text_printf(out, "s[%d]", size->symbol); return;
    case IR_SIZE_ADD:
    case IR_SIZE_SUB:
    case IR_SIZE_MUL:
        text_char(out, '(');
        print_size(out, size->a);
        text_printf(out, " %c ",
                    size->op == IR_SIZE_ADD   ? '+'
                    : size->op == IR_SIZE_SUB ? '-'
                                              : '*');
        print_size(out, size->b);
        text_char(out, ')');
        return;
    default:
        text_printf(out, "%s(", functions[size->op]);
        print_size(out, size->a);
        text_add(out, ", ");
        print_size(out, size->b);
        text_char(out, ')');
    }
}

static void print_variant(struct text *out, const struct export_variant *variant, int number)
{
    static const char *const relations[] = {"==", "!=", "<", "<="};
    text_printf(out, "static int holds_%d(const int64_t *s)\n{\n    (void)s;\n    return 1",
                number);
    for (int i = 0; i < variant->kernel->holds_count; i++) {
        text_add(out, " && ");
        print_size(out, variant->kernel->holds[i].a);
        text_printf(out, " %s ", relations[variant->kernel->holds[i].relation]);
        print_size(out, variant->kernel->holds[i].b);
    }
    text_printf(out,
                ";\n}\n\nstatic int64_t scratch_%d(const int64_t *s)\n{\n    (void)s;\n    return ",
                number);
    if (variant->kernel->scratch)
        print_size(out, variant->kernel->scratch);
    else
        text_char(out, '0');
    text_add(out, ";\n}\n\n");
}

static void print_fill(struct text *out, const struct ir_part *part,
                       const struct export_names *names)
{
    text_printf(out, "    int64_t s[%d] = {0};\n", part->symbol_count + 1);
    for (int i = 0; i < part->symbol_count; i++) {
        text_printf(out, "    s[%d] = ", i);
        if (part->symbols[i].kind == IR_SYMBOL_LET)
            print_size(out, part->symbols[i].definition);
        else
            text_add(out, names->sizes[i]);
        text_add(out, ";\n");
    }
}

static const char helpers[] =
    "static inline int64_t divide(int64_t a, int64_t b)\n{\n"
    "    return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));\n}\n\n"
    "static inline int64_t modulo(int64_t a, int64_t b)\n{\n"
    "    return b == 0 ? 0 : a - divide(a, b) * b;\n}\n\n"
    "static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }\n"
    "static inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }\n\n";

static void print_entry(const struct export *export, struct text *out,
                        const struct export_names *names)
{
    const struct ir_part *part = export->part;
    print_call(out, export, names);
    text_add(out, "\n{\n");
    print_fill(out, part, names);
    text_add(out, "    void *tensors[] = {");
    for (int i = 0; i < part->input_count; i++)
        text_printf(out, "(void *)%s, ", names->tensors[part->inputs[i]]);
    for (int i = 0; i < part->output_count; i++)
        text_printf(out, "%s, ", names->tensors[part->outputs[i]]);
    text_add(out, "0};\n    const double scalars[] = {");
    for (int i = 0; i < part->scalar_count; i++)
        text_printf(out, "%s, ", names->scalars[i]);
    text_add(out, "0};\n    return choose(s)->run(tensors, s, scalars, scratch);\n}\n");
}

void export_table(const struct export *export, struct text *out)
{
    const struct ir_part *part = export->part;
    struct export_names names = export_names(export->arena, part);
    text_printf(out,
                "/*\n * Which kernel of %s does a call: the first that holds for its sizes.\n */\n"
                "#include \"%s.h\"\n\n",
                export->name, export->name);
    text_add(out, "typedef int kernel_function(void *const *, const int64_t *, const double *,"
                  " void *);\nkernel_function ");
    for (int i = 0; i < export->variant_count; i++)
        text_printf(out, "%s%s_variant_%d", i ? ", " : "", export->name, i);
    text_printf(out, ";\n\n%s", helpers);
    for (int i = 0; i < export->variant_count; i++)
        print_variant(out, &export->variants[i], i);
    text_add(out, "static const struct variant {\n    const char *name;\n"
                  "    int (*holds)(const int64_t *s);\n"
                  "    int64_t (*scratch)(const int64_t *s);\n    kernel_function *run;\n"
                  "} variants[] = {\n");
    for (int i = 0; i < export->variant_count; i++) {
        const struct export_variant *variant = &export->variants[i];
        text_printf(out, "    {\"");
        if (variant->candidate.id)
            text_printf(out, "candidate %lld", (long long)variant->candidate.id);
        else
            text_add(out, "plain");
        text_printf(out, "\", holds_%d, scratch_%d, %s_variant_%d},\n", i, i, export->name, i);
    }
    text_add(out, "};\n\n/* The last one holds for all sizes. */\n"
                  "static const struct variant *choose(const int64_t *s)\n{\n"
                  "    const struct variant *variant = variants;\n"
                  "    while (!variant->holds(s))\n        variant++;\n    return variant;\n}\n\n");
    text_printf(out, "int64_t %s_scratch(", export->name);
    print_sizes(out, part, &names, true);
    text_add(out, ")\n{\n");
    print_fill(out, part, &names);
    text_printf(out, "    return choose(s)->scratch(s);\n}\n\nconst char *%s_variant(",
                export->name);
    print_sizes(out, part, &names, true);
    text_add(out, ")\n{\n");
    print_fill(out, part, &names);
    text_add(out, "    return choose(s)->name;\n}\n\n");
    print_entry(export, out, &names);
}

void export_wrapper(const struct export *export, int variant, struct text *out)
{
    text_printf(out,
                "/* The kernel as it was judged, under a name of its own. */\n"
                "#define kernel %s_variant_%d\n#include \"kernels/variant_%d.c\"\n",
                export->name, variant, variant);
}
