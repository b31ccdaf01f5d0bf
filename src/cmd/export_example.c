/*
 * The example of an export: a program of plain C that reads inputs and what the reference makes of
 * them from a file, calls the kernel, and says how far off the result is.
 */
#include <math.h>
#include <string.h>

#include "cmd/exported.h"

/* ---- the case ---- */

static double total_elements(const struct ir_binding *binding)
{
    const struct ir_part *part = binding->part;
    double total = 0;
    for (int i = 0; i < part->input_count; i++)
        total += (double)ir_tensor_shape(binding, part->inputs[i], NULL);
    for (int i = 0; i < part->output_count; i++)
        total += (double)ir_tensor_shape(binding, part->outputs[i], NULL);
    return total;
}

static struct ir_binding *bind(const struct export *export, const int64_t *sizes,
                               const double *scalars)
{
    struct error ignored;
    if (!kernel_holds(export->variants[0].kernel, sizes, NULL))
        return NULL;
    return ir_bind(export->arena, export->program, sizes, scalars, &ignored);
}

/* Sizes half as large, where that can be. */
static struct ir_binding *shrink(const struct export *export, const struct ir_binding *binding)
{
    enum { SMALL = 16 };
    const struct ir_part *part = export->part;
    int64_t *sizes = arena_array(export->arena, (size_t)part->symbol_count + 1, sizeof *sizes);
    bool changed = false;
    for (int i = 0; i < part->symbol_count; i++) {
        const struct ir_symbol *symbol = &part->symbols[i];
        sizes[i] = binding->sizes[i];
        if (symbol->kind == IR_SYMBOL_SIZE && sizes[i] >= 2 * SMALL) {
            sizes[i] /= 2;
            changed = true;
        }
        if (symbol->kind == IR_SYMBOL_LET && !ir_size_eval(symbol->definition, sizes, &sizes[i]))
            return NULL;
    }
    return changed ? bind(export, sizes, binding->scalars) : NULL;
}

/* The smallest case the first variant holds for, made smaller still. */
static bool choose_case(struct export *export, struct error *error)
{
    const struct task *task = export->task;
    for (int i = 0; i < task->case_count; i++) {
        const struct task_case *one = &task->cases[i];
        struct ir_binding *binding =
            one->program == export->program ? bind(export, one->sizes, one->scalars) : NULL;
        if (binding &&
            (!export->binding || total_elements(binding) < total_elements(export->binding))) {
            export->binding = binding;
            export->task_case = one;
        }
    }
    if (!export->binding)
        return error_set(error, ERROR_MISSING_SIZE,
                         "the kernel holds for no case of '%s': there is nothing to show it by",
                         task->name);
    while (total_elements(export->binding) > EXPORT_ELEMENTS) {
        struct ir_binding *smaller = shrink(export, export->binding);
        if (!smaller)
            break;
        export->binding = smaller;
    }
    return true;
}

/* ---- the data ---- */

/* As they are in memory; what is expected in double or int64, so that it can be compared. */
static void add_arrays(struct text *data, struct arena *arena, const struct array *arrays,
                       int count, bool wide)
{
    for (int i = 0; i < count; i++) {
        const struct array *array = &arrays[i];
        size_t bytes = (size_t)array->count * (wide ? 8 : dtype_bytes(array->dtype));
        char *at = arena_alloc(arena, bytes + 1);
        if (!wide)
            array_encode(array, at);
        else
            memcpy(at, array->floats ? (const void *)array->floats : (const void *)array->integers,
                   bytes);
        text_add_bytes(data, at, bytes);
    }
}

bool export_data(struct export *export, struct text *data, struct error *error)
{
    enum { SEED = 1 };
    struct arena *arena = export->arena;
    const struct ir_part *part = export->part;
    if (!choose_case(export, error))
        return false;
    if (total_elements(export->binding) * 8 > EXPORT_DATA_MOST)
        return error_set(error, ERROR_MISSING_SIZE,
                         "the smallest case of '%s' is too large for an example",
                         export->task->name);
    struct array *inputs = arena_array(arena, (size_t)part->input_count + 1, sizeof *inputs);
    struct array *outputs = arena_array(arena, (size_t)part->output_count + 1, sizeof *outputs);
    struct oracle_options options = {0};
    if (!oracle_draw(arena, export->task_case, export->binding, SEED, inputs, error))
        return false;
    struct oracle_code *code = oracle_compile(arena, export->program, error);
    if (!code)
        return false;
    bool good = oracle_run(arena, code, export->binding, inputs, outputs, &options, error);
    oracle_close(code);
    if (!good)
        return false;
    add_arrays(data, arena, inputs, part->input_count, false);
    add_arrays(data, arena, outputs, part->output_count, true);
    export->data_bytes = (int64_t)data->length;
    return true;
}

/* ---- the program ---- */

static const char example_start[] =
    "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    "#include <string.h>\n\n"
    "static void *buffer(size_t bytes)\n{\n"
    "    void *at = aligned_alloc(64, (bytes + 127) / 64 * 64);\n"
    "    if (!at)\n        exit(2);\n    return at;\n}\n\n"
    "static void *load(FILE *file, size_t bytes)\n{\n"
    "    void *at = buffer(bytes);\n"
    "    if (fread(at, 1, bytes, file) != bytes) {\n"
    "        fprintf(stderr, \"example.bin is too short\\n\");\n        exit(2);\n    }\n"
    "    return at;\n}\n\n"
    "static inline double from_f16(uint16_t bits)\n{\n"
    "    int exponent = bits >> 10 & 31;\n    double part = bits & 1023;\n"
    "    double size = exponent == 31   ? (part ? NAN : INFINITY)\n"
    "                  : exponent ? ldexp(1024 + part, exponent - 25)\n"
    "                             : ldexp(part, -24);\n"
    "    return bits >> 15 ? -size : size;\n}\n\n"
    "static inline double from_bf16(uint16_t bits)\n{\n"
    "    uint32_t wide = (uint32_t)bits << 16;\n    float value;\n"
    "    memcpy(&value, &wide, sizeof value);\n    return value;\n}\n\n";

/* How an element is read, what may be off, relative to the largest; NULL: not compared. */
static const char *reader(enum dtype dtype, const char **limit)
{
    *limit = "0.01"; /* of integers: this part of them, since ties may go either way */
    switch (dtype) {
    case DTYPE_F64: *limit = "1e-9"; return "(double)";
    case DTYPE_F32: *limit = "1e-4"; return "(double)";
    case DTYPE_F16: *limit = "1e-2"; return "from_f16";
    case DTYPE_BF16: *limit = "5e-2"; return "from_bf16";
    case DTYPE_F8E4:
    case DTYPE_F8E5: return NULL;
    default: return "(double)";
    }
}

static void print_compare(const struct export *export, struct text *out, int output,
                          const char *name)
{
    const struct ir_tensor *tensor = &export->part->tensors[export->part->outputs[output]];
    long long count = ir_tensor_shape(export->binding, export->part->outputs[output], NULL);
    bool floats = dtype_is_float(tensor->dtype);
    const char *limit, *read = reader(tensor->dtype, &limit);
    text_printf(out, "    %s *expected_%d = load(file, %lld * 8);\n", floats ? "double" : "int64_t",
                output, count);
    if (!read) {
        text_printf(out, "    (void)expected_%d;\n    printf(\"%s: not compared\\n\");\n", output,
                    name);
        return;
    }
    text_printf(out,
                "    {\n        double off = 0, largest = 0;\n"
                "        for (int64_t i = 0; i < %lld; i++) {\n"
                "            double got = %s(%s[i]), want = (double)expected_%d[i];\n",
                count, read, name, output);
    if (floats)
        text_add(out, "            if (isfinite(want) && fabs(want) > largest)\n"
                      "                largest = fabs(want);\n"
                      "            if (got == want || (isnan(got) && isnan(want)))\n"
                      "                continue;\n"
                      "            off = isfinite(got) ? fmax(off, fabs(got - want)) : INFINITY;\n"
                      "        }\n        off = largest > 0 ? off / largest : off;\n");
    else
        text_printf(out,
                    "            off += got != want;\n            largest = want;\n        }\n"
                    "        (void)largest;\n        off /= %lld;\n",
                    count > 0 ? count : 1);
    text_printf(
        out, "        printf(\"%s: %s %%.2g\\n\", off);\n        good &= off <= %s;\n    }\n", name,
        floats ? "off by at most this part of the largest:" : "part that differs:", limit);
}

void export_example(const struct export *export, struct text *out)
{
    const struct ir_part *part = export->part;
    struct export_names names = export_names(export->arena, part);
    text_printf(out,
                "/*\n * Calls %s once, on the inputs in example.bin, and compares with what the "
                "reference makes of them.\n */\n#include \"%s.h\"\n\n%s",
                export->name, export->name, example_start);
    text_add(out, "int main(void)\n{\n    FILE *file = fopen(\"example.bin\", \"rb\");\n"
                  "    int good = 1;\n    if (!file) {\n        perror(\"example.bin\");\n"
                  "        return 2;\n    }\n");
    for (int i = 0; i < part->input_count; i++) {
        const struct ir_tensor *tensor = &part->tensors[part->inputs[i]];
        long long count = ir_tensor_shape(export->binding, part->inputs[i], NULL);
        text_printf(out, "    %s *%s = load(file, %lld);\n", export_type(tensor->dtype),
                    names.tensors[part->inputs[i]], count * (long long)dtype_bytes(tensor->dtype));
    }
    for (int i = 0; i < part->output_count; i++) {
        const struct ir_tensor *tensor = &part->tensors[part->outputs[i]];
        long long count = ir_tensor_shape(export->binding, part->outputs[i], NULL);
        text_printf(out, "    %s *%s = buffer(%lld);\n", export_type(tensor->dtype),
                    names.tensors[part->outputs[i]], count * (long long)dtype_bytes(tensor->dtype));
    }
    struct text sizes = text_new(export->arena);
    for (int i = 0; i < part->symbol_count; i++)
        if (part->symbols[i].kind != IR_SYMBOL_LET)
            text_printf(&sizes, "%s%lld", sizes.length ? ", " : "",
                        (long long)export->binding->sizes[i]);
    const char *list = sizes.length ? sizes.at : "";
    text_printf(out, "    void *scratch = buffer((size_t)%s_scratch(%s));\n    int status = %s(",
                export->name, list, export->name);
    for (int i = 0; i < part->input_count; i++)
        text_printf(out, "%s, ", names.tensors[part->inputs[i]]);
    for (int i = 0; i < part->output_count; i++)
        text_printf(out, "%s, ", names.tensors[part->outputs[i]]);
    text_printf(out, "%s%s", list, sizes.length ? ", " : "");
    for (int i = 0; i < part->scalar_count; i++) {
        double value = export->binding->scalars[i];
        if (isfinite(value))
            text_printf(out, "%.17g, ", value);
        else
            text_printf(out, "%s, ", isnan(value) ? "NAN" : value > 0 ? "INFINITY" : "-INFINITY");
    }
    text_printf(out, "scratch);\n    printf(\"%s(%s) by %%s: %%d\\n\", %s_variant(%s), status);\n",
                export->name, list, export->name, list);
    for (int i = 0; i < part->output_count; i++)
        print_compare(export, out, i, names.tensors[part->outputs[i]]);
    text_add(out, "    fclose(file);\n    puts(good && status == 0 ? \"right\" : \"WRONG\");\n"
                  "    return good && status == 0 ? 0 : 1;\n}\n");
}
