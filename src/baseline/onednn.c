/*
 * oneDNN as a baseline, where the op is one of its primitives: convolutions, products of matrices,
 * softmax, normalisations, maxima over windows, functions of one value; in f32, bf16 and f16.
 *
 * It is set up as its experts would: the primitive is made before anything is timed, layouts are
 * tried both as the tensors come and as oneDNN likes them best, and the best way counts. Tensors
 * come and go dense and row-major, and all inputs change from call to call; so reorders, of weights
 * too, are part of the call.
 *
 * Only version 2 of its C interface is known, which is what Debian 12 has.
 */
#include "baseline/onednn.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "baseline/private.h"

static onednn_matcher *const matchers[] = {onednn_convolution, onednn_product,    onednn_softmax,
                                           onednn_layer_norm,  onednn_batch_norm, onednn_pointwise,
                                           onednn_max_pooling};

/* ---- functions of one value ---- */

static double identity(double x)
{
    return x;
}

static double relu(double x)
{
    return fmax(x, 0);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double swish(double x)
{
    return x / (1 + exp(-x));
}

static double gelu(double x)
{
    return 0.5 * x * (1 + erf(x * M_SQRT1_2));
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double square(double x)
{
    return x * x;
}

static const struct onednn_activation activations[] = {
    {"identity", 0, 0, identity},  {"relu", 0x1f, 0, relu}, {"tanh", 0x2f, 0, tanh},
    {"square", 0x4f, 0, square},   {"abs", 0x5f, 0, fabs},  {"sqrt", 0x6f, 0, sqrt},
    {"sigmoid", 0xaf, 0, sigmoid}, {"exp", 0xbf, 0, exp},   {"gelu_tanh", 0xcf, 0, gelu_tanh},
    {"silu", 0xdf, 1, swish},      {"log", 0xef, 0, log},   {"gelu", 0x30, 0, gelu},
};

static double of_one(const double *values, const void *context)
{
    const struct onednn_activation *activation = context;
    return activation->formula(values[0]);
}

static double of_sum(const double *values, const void *context)
{
    const struct onednn_activation *activation = context;
    return activation->formula(values[0] + values[1]);
}

const struct onednn_activation *onednn_find_activation(const struct match_function *function)
{
    static const int order[] = {0, 1};
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (match_agrees(function, order, function->count == 2 ? of_sum : of_one, &activations[i]))
            return &activations[i];
    return NULL;
}

/* ---- the second of two stages ---- */

bool onednn_match_finish(struct arena *arena, const struct ir_part *part, int channel,
                         struct onednn_finish *finish)
{
    const struct ir_stage *first = &part->stages[0], *second = &part->stages[1];
    const struct ir_write *written = &first->writes[0];
    int rank = part->tensors[written->tensor].rank, indices[IR_MAX_RANK];
    struct match_function function;
    *finish = (struct onednn_finish){-1, &activations[0]};
    if (part->stage_count == 1)
        return written->tensor == part->outputs[0];
    if (part->stage_count != 2 || second->kind != IR_MAP ||
        second->writes[0].tensor != part->outputs[0] ||
        !match_function(arena, part, second, &function) || function.count < 1 ||
        function.count > 2 || part->tensors[part->outputs[0]].rank != rank)
        return false;
    for (int d = 0; d < rank; d++)
        if ((indices[d] = match_bare(second, second->writes[0].at[d])) < 0)
            return false;
    bool has_result = false;
    for (int i = 0; i < function.count; i++) {
        const struct ir_node *read = &second->nodes.at[function.reads[i]];
        if (read->read.tensor == written->tensor) {
            has_result = match_indices(second, read->read.at, rank, indices);
        } else {
            finish->bias = match_input(part, read->read.tensor);
            if (finish->bias < 0 || part->tensors[read->read.tensor].rank != 1 ||
                match_bare(second, read->read.at[0]) != indices[channel])
                return false;
        }
    }
    finish->activation = has_result ? onednn_find_activation(&function) : NULL;
    return finish->activation != NULL;
}

void onednn_print_finish(struct text *out, const struct onednn_finish *finish)
{
    text_printf(out, ", 0x%x, %g);\n", (unsigned)finish->activation->code,
                finish->activation->alpha);
}

/* ---- the baseline ---- */

static const char *isa_name(int isa)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {{0x1, "SSE4.1"},
                 {0x3, "AVX"},
                 {0x7, "AVX2"},
                 {0x407, "AVX2 with VNNI"},
                 {0x27, "AVX-512"},
                 {0x67, "AVX-512 with VNNI"},
                 {0xe7, "AVX-512 with bf16"},
                 {0x3e7, "AVX-512 with AMX"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == isa)
            return names[i].name;
    return "an unknown instruction set";
}

/* "2.6.3, AVX-512 with AMX"; NULL when the library is not there. */
static const char *describe_library(struct arena *arena)
{
    struct version {
        int major, minor, patch;
    };
    union {
        void *symbol;
        const struct version *(*version)(void);
        int (*isa)(void);
    } version, isa;
    void *library = dlopen("libdnnl.so.2", RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return NULL;
    version.symbol = dlsym(library, "dnnl_version");
    isa.symbol = dlsym(library, "dnnl_get_effective_cpu_isa");
    const char *text = NULL;
    if (version.symbol && isa.symbol)
        text =
            arena_printf(arena, "%d.%d.%d, %s", version.version()->major, version.version()->minor,
                         version.version()->patch, isa_name(isa.isa()));
    dlclose(library);
    return text;
}

/* 0: a type it does not compute in. */
static int type_code(const struct ir_part *part)
{
    enum dtype dtype = part->tensors[part->outputs[0]].dtype;
    for (int i = 0; i < part->input_count; i++)
        if (part->tensors[part->inputs[i]].dtype != dtype)
            return 0;
    return dtype == DTYPE_F32 ? 3 : dtype == DTYPE_BF16 ? 2 : dtype == DTYPE_F16 ? 1 : 0;
}

static const struct source *print_kernel(struct arena *arena, const struct onednn_match *match,
                                         int mode, int type)
{
    struct text out = text_new(arena);
    text_printf(&out, "#define TYPE %d\n#define MODE %d\n", type, mode);
    for (const char *const *line = onednn_prelude; *line; line++)
        text_printf(&out, "%s\n", *line);
    text_add(&out, "static int set_up(const int64_t *sizes, const double *scalars)\n{\n"
                   "    (void)sizes, (void)scalars;\n");
    text_add(&out, match->call.at);
    text_add(&out, "}\n");
    struct source *source = arena_new(arena, struct source);
    *source = (struct source){"onednn.c", out.at, out.length};
    return source;
}

enum baseline_answer baseline_onednn(struct arena *arena, const char *argument,
                                     const struct ir_program *program, struct baseline *baseline,
                                     struct error *error)
{
    static const char *const setups[] = {
        "layouts as they come", "weights reordered in every call",
        "all tensors reordered in every call",
        "all tensors reordered in every call, algorithm of its choice"};
    (void)argument;
    const struct ir_part *part = ir_root(program);
    int type = type_code(part);
    struct onednn_match match = {.call = text_new(arena)};
    bool found = false;
    for (size_t i = 0; !found && type && i < sizeof matchers / sizeof *matchers; i++)
        found =
            part->output_count == 1 && part->stage_count > 0 && matchers[i](arena, part, &match);
    if (!found) {
        error_set(error, ERROR_USAGE, "oneDNN has nothing that computes '%s'", part->name);
        error_hint(error, "it does convolutions, products, softmax, layer and batch norm, maxima "
                          "over windows and some functions of one value, in f32, bf16 and f16");
        return BASELINE_DOES_NOT_APPLY;
    }
    const char *library = describe_library(arena);
    if (!library) {
        error_set(error, ERROR_MISSING_TOOL, "oneDNN 2 is not installed");
        error_hint(error, "apt-get install libdnnl2");
        return BASELINE_DOES_NOT_APPLY;
    }
    for (int mode = 0; mode <= (int)match.most && mode < BASELINE_VARIANTS; mode++)
        baseline->variants[baseline->variant_count++] =
            (struct baseline_variant){.source = print_kernel(arena, &match, mode, type),
                                      .setup = arena_printf(arena, "%s, %s", library, setups[mode]),
                                      .opens_libraries = true};
    return BASELINE_READY;
}
