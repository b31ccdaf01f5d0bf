/*
 * The manifest at the head of a kernel: read, checked against the part it is for, printed.
 *
 * It starts with `// smelt kernel 1` and goes on while lines start with `//` and a word. Every line
 * is one entry of a table; all faults are collected, so that one look repairs them all.
 */
#include "kernel/kernel.h"

#include <string.h>

#include "kernel/expression.h"
#include "kernel/manifest.h"

static const char HEAD[] = "// smelt kernel";

enum { LINE_BYTES = 4 << 20, KERNEL_MAX_THREADS = 4096 };

/* ---- pieces of text ---- */

const char *piece_text(struct arena *arena, struct place piece)
{
    return arena_copy(arena, piece.source->text + piece.offset, piece.length);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

struct place piece_trim(struct place piece)
{
    const char *text = piece.source->text;
    while (piece.length && is_blank(text[piece.offset]))
        piece.offset++, piece.length--;
    while (piece.length && is_blank(text[piece.offset + piece.length - 1]))
        piece.length--;
    return piece;
}

/* The line that starts at this offset, without its end. */
static struct place line_at(const struct source *source, size_t offset)
{
    const char *end = memchr(source->text + offset, '\n', source->length - offset);
    size_t length = end ? (size_t)(end - source->text) - offset : source->length - offset;
    return piece_trim((struct place){source, offset, length});
}

static size_t line_after(const struct source *source, size_t offset)
{
    const char *end = memchr(source->text + offset, '\n', source->length - offset);
    return end ? (size_t)(end - source->text) + 1 : source->length;
}

static bool piece_starts(struct place piece, const char *with)
{
    size_t length = strlen(with);
    return piece.length >= length && memcmp(piece.source->text + piece.offset, with, length) == 0;
}

/* Cuts the first word off. */
struct place piece_word(struct place *piece)
{
    struct place word = *piece = piece_trim(*piece);
    word.length = 0;
    while (word.length < piece->length && !is_blank(word.source->text[word.offset + word.length]))
        word.length++;
    piece->offset += word.length;
    piece->length -= word.length;
    *piece = piece_trim(*piece);
    return word;
}

/* ---- which instance of the op ---- */

/* Inputs of a list are named xs.0, xs.1: how long the one is that input `first` begins; else 0. */
static int list_length(const struct ir_part *part, int first, const char **dot)
{
    const char *name = part->tensors[part->inputs[first]].name;
    *dot = strrchr(name, '.');
    if (!*dot || strcmp(*dot, ".0") != 0)
        return 0;
    int count = 1;
    while (first + count < part->input_count &&
           strncmp(part->tensors[part->inputs[first + count]].name, name,
                   (size_t)(*dot - name) + 1) == 0)
        count++;
    return count;
}

void kernel_print_instance(struct text *out, const struct ir_part *part)
{
    const char *between = "";
    for (int i = 0; i < part->type_count; i++, between = " ")
        text_printf(out, "%s%s=%s", between, part->types[i].name, dtype_name(part->types[i].dtype));
    for (int i = 0; i < part->family_count; i++) {
        if (i > 0 && part->families[i].count == 0)
            continue; /* as in a case: later rank variables are none unless said */
        text_printf(out, "%s%s=%d", between, part->families[i].name, part->families[i].count);
        between = " ";
    }
    for (int i = 0; i < part->input_count; i++) {
        const char *dot, *name = part->tensors[part->inputs[i]].name;
        int count = list_length(part, i, &dot);
        if (count == 0)
            continue;
        text_printf(out, "%s%.*s=%d", between, (int)(dot - name), name, count);
        between = " ";
    }
}

/* "conv2d" for the part "conv2d.2", which is told apart from another of the same op. */
static const char *op_name(struct arena *arena, const struct ir_part *part)
{
    return arena_copy(arena, part->name, strcspn(part->name, "."));
}

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length) {
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* The same words in any order. */
static bool check_instance(struct manifest *m, struct place piece, const char *name)
{
    struct text wanted = text_new(m->arena);
    kernel_print_instance(&wanted, m->part);
    struct place rest = piece, wrong = {0};
    int given = 0, asked = 0;
    for (const char *at = wanted.at; *at; at += strspn(at, " ")) {
        asked++;
        at += strcspn(at, " ");
    }
    struct text seen = text_new(m->arena);
    while (rest.length) {
        struct place word = piece_word(&rest);
        const char *text = piece_text(m->arena, word);
        given++;
        if (!wrong.source && (!has_word(wanted.at, text) || has_word(seen.at, text)))
            wrong = word;
        text_printf(&seen, "%s ", text);
    }
    m->kernel->instance = wanted.at;
    if (!wrong.source && given == asked)
        return true;
    struct error *error =
        errors_add(m->errors, ERROR_MANIFEST_INSTANCE, wrong.source ? wrong : piece,
                   "the kernel is for %s%s%s, the task asks for %s%s%s", name, given ? " " : "",
                   piece_text(m->arena, piece), name, asked ? " " : "", wanted.at);
    error_hint(error, "write '// op %s%s%s', or judge it by a task for what it says", name,
               asked ? " " : "", wanted.at);
    return false;
}

/* ---- the entries ---- */

static bool read_op(struct manifest *m, struct place value)
{
    struct place rest = value, word = piece_word(&rest);
    const char *wanted = op_name(m->arena, m->part);
    m->kernel->op = piece_text(m->arena, word);
    if (strcmp(m->kernel->op, wanted) != 0) {
        struct error *error =
            errors_add(m->errors, ERROR_MANIFEST_OP, word,
                       "the kernel is for op '%s', the task for op '%s'", m->kernel->op, wanted);
        error_hint(error, "give it a task of its own op, or correct its manifest");
        return false;
    }
    return check_instance(m, rest, wanted);
}

static const char *const TARGETS[] = {"cpu", "opencl", "cuda"};

enum { TARGET_COUNT = sizeof TARGETS / sizeof *TARGETS };

bool kernel_on_device(const struct kernel *kernel)
{
    return strcmp(kernel->target, "cpu") != 0;
}

/* cuda alone is followed by an architecture: sm_90, sm_90a */
static bool read_architecture(struct manifest *m, struct place value)
{
    const char *text = piece_text(m->arena, value);
    size_t digits = piece_starts(value, "sm_") ? strspn(text + 3, "0123456789") : 0;
    size_t letter = digits ? strspn(text + 3 + digits, "af") : 0;
    m->kernel->architecture = text;
    if (strcmp(m->kernel->target, "cuda") == 0 && digits >= 2 && digits <= 3 && letter <= 1 &&
        !text[3 + digits + letter])
        return true;
    struct error *error =
        errors_add(m->errors, ERROR_MANIFEST_TARGET, value,
                   "target '%s' has no architecture '%.60s'", m->kernel->target, text);
    error_hint(error, "write '// target %s'%s", m->kernel->target,
               strcmp(m->kernel->target, "cuda") == 0 ? ", or for example '// target cuda sm_90a'"
                                                      : "");
    return false;
}

static bool read_target(struct manifest *m, struct place value)
{
    struct place rest = value, word = piece_word(&rest);
    m->kernel->target = piece_text(m->arena, word);
    for (int i = 0; i < TARGET_COUNT; i++)
        if (strcmp(m->kernel->target, TARGETS[i]) == 0)
            return rest.length == 0 || read_architecture(m, rest);
    struct error *error =
        errors_add(m->errors, ERROR_MANIFEST_TARGET, word, "no target '%.60s'", m->kernel->target);
    error_hint(error, "write '// target cpu', '// target opencl' or '// target cuda'");
    m->kernel->target = "cpu";
    return false;
}

static bool read_holds(struct manifest *m, struct place value)
{
    return expression_facts(m->arena, m->part, value, m->kernel, m->errors);
}

static bool read_scratch(struct manifest *m, struct place value)
{
    m->kernel->scratch = expression_size(m->arena, m->part, value, m->errors);
    return m->kernel->scratch != NULL;
}

static bool read_threads(struct manifest *m, struct place value)
{
    const char *text = piece_text(m->arena, value);
    size_t digits = strspn(text, "0123456789");
    int count = 0;
    for (size_t i = 0; i < digits && count <= KERNEL_MAX_THREADS; i++)
        count = count * 10 + (text[i] - '0');
    if (text[digits] || count < 1 || count > KERNEL_MAX_THREADS) {
        struct error *error =
            errors_add(m->errors, ERROR_MANIFEST_LINE, value, "threads cannot be '%s'", text);
        error_hint(error, "it is a number from 1 to %d; leave the line out for any number",
                   KERNEL_MAX_THREADS);
        return false;
    }
    m->kernel->threads = count;
    return true;
}

static const struct entry {
    const char *word;
    const char *example; /* of what follows */
    bool needed;
    enum { ON_ALL, ON_CPU, ON_DEVICES } where;
    bool many; /* may stand more than once */
    bool (*read)(struct manifest *m, struct place value);
} ENTRIES[] = {
    {"op", "op softmax T=f32 B=1", true, ON_ALL, false, read_op},
    {"target", "target cpu", true, ON_ALL, false, read_target},
    {"holds", "holds D % 4 == 0, D <= 8192", false, ON_ALL, false, read_holds},
    {"scratch", "scratch 4*D", false, ON_CPU, false, read_scratch},
    {"threads", "threads 1", false, ON_CPU, false, read_threads},
    {"buffer", "buffer part f32[4*D] zero", false, ON_DEVICES, true, steps_read_buffer},
    {"launch", "launch rows grid(N) block(128) args(x, y, N)", false, ON_DEVICES, true,
     steps_read_launch},
    {"repeat", "repeat t < T", false, ON_DEVICES, true, steps_read_repeat},
    {"end", NULL, false, ON_DEVICES, true, steps_read_end},
};

enum { ENTRY_COUNT = sizeof ENTRIES / sizeof *ENTRIES };

static void fail_word(struct manifest *m, struct place word)
{
    const char *text = piece_text(m->arena, word), *names[ENTRY_COUNT];
    for (int i = 0; i < ENTRY_COUNT; i++)
        names[i] = ENTRIES[i].word;
    struct error *error =
        errors_add(m->errors, ERROR_MANIFEST_LINE, word, "a manifest has no line '%.60s'", text);
    const char *nearest = spelling_nearest(text, names, ENTRY_COUNT);
    if (nearest)
        error_hint(error, "did you mean '%s'?", nearest);
    else
        error_hint(error,
                   "its lines are op, target, holds, scratch and threads, on devices buffer, "
                   "launch, repeat and end; an empty line ends it, other comments come "
                   "after that");
}

static bool read_line(struct manifest *m, struct place line, struct place *seen)
{
    const char *zero = memchr(line.source->text + line.offset, '\0', line.length);
    if (zero) {
        struct place place = {line.source, (size_t)(zero - line.source->text), 1};
        errors_add(m->errors, ERROR_MANIFEST_LINE, place, "a zero byte in a manifest");
        return false;
    }
    struct place value = line, word = piece_word(&value);
    const char *text = piece_text(m->arena, word);
    int entry = 0;
    while (entry < ENTRY_COUNT && strcmp(text, ENTRIES[entry].word) != 0)
        entry++;
    if (entry == ENTRY_COUNT) {
        fail_word(m, word);
        return false;
    }
    if (seen[entry].source && !ENTRIES[entry].many) {
        struct error *error =
            errors_add(m->errors, ERROR_MANIFEST_REPEATED, word, "'%s' is said twice", text);
        error_note(error, seen[entry], "the first time");
        error_hint(error, "one line says all of it: several facts are joined by commas");
        return false;
    }
    if (!seen[entry].source)
        seen[entry] = word;
    if (!ENTRIES[entry].example)
        return ENTRIES[entry].read(m, value.length ? value : word);
    if (value.length == 0 || value.length > LINE_BYTES) {
        struct error *error = errors_add(
            m->errors, value.length ? ERROR_MANIFEST_LIMIT : ERROR_MANIFEST_LINE, word,
            value.length ? "the line '%s' is longer than what is read" : "'%s' says nothing", text);
        error_hint(error, "for example: // %s", ENTRIES[entry].example);
        return false;
    }
    return ENTRIES[entry].read(m, value);
}

/* ---- the whole ---- */

static struct place after_slashes(struct place line)
{
    line.offset += 2;
    line.length -= 2;
    return piece_trim(line);
}

static bool check_version(struct manifest *m, struct place line)
{
    struct place version = line;
    version.offset += sizeof HEAD - 1;
    version.length -= sizeof HEAD - 1;
    version = piece_trim(version);
    const char *text = piece_text(m->arena, version);
    if (strcmp(text, "1") == 0)
        return true;
    struct error *error =
        errors_add(m->errors, ERROR_MANIFEST_VERSION, version.length ? version : line,
                   "a manifest of version '%s'", text);
    error_hint(error, "this smelt reads version 1: %s 1", HEAD);
    return false;
}

/* One that stands lower would be overlooked, and the kernel called at sizes it cannot do. */
static bool check_head(struct manifest *m, const struct source *source, size_t start)
{
    for (size_t at = start; at < source->length; at = line_after(source, at)) {
        struct place line = line_at(source, at);
        if (!piece_starts(line, HEAD))
            continue;
        struct error *error = errors_add(m->errors, ERROR_MANIFEST_PLACE, line,
                                         "a manifest that is not the first thing in the file");
        error_hint(error, "move it to the top, above all other comments and code");
        return false;
    }
    return true;
}

static size_t pass_empty_lines(const struct source *source)
{
    size_t at = 0;
    while (at < source->length && (is_blank(source->text[at]) || source->text[at] == '\n'))
        at++;
    return at;
}

/* Lines that its target has no use for. */
static bool check_lines_fit(struct manifest *m, const struct place *seen)
{
    bool device = kernel_on_device(m->kernel), good = true;
    for (int i = 0; i < ENTRY_COUNT; i++) {
        if (!seen[i].source || ENTRIES[i].where != (device ? ON_CPU : ON_DEVICES))
            continue;
        struct error *error = errors_add(m->errors, ERROR_MANIFEST_LINE, seen[i],
                                         "a kernel for target %s has no line '%s'",
                                         m->kernel->target, ENTRIES[i].word);
        if (device)
            error_hint(error, "take it out; memory besides the tensors is asked for by "
                              "'// buffer part f32[4*D]'");
        else
            error_hint(error, "take it out, or say '// target opencl' or '// target cuda'");
        good = false;
    }
    return good;
}

static bool read_lines(struct manifest *m, const struct source *source, size_t at)
{
    struct place seen[ENTRY_COUNT] = {{0}}, head = line_at(source, at);
    if (!check_version(m, head))
        return false;
    bool good = true;
    for (at = line_after(source, at); at < source->length; at = line_after(source, at)) {
        struct place line = line_at(source, at);
        if (!piece_starts(line, "//") || after_slashes(line).length == 0)
            break;
        if (!read_line(m, after_slashes(line), seen))
            good = false;
    }
    struct text missing = text_new(m->arena), example = text_new(m->arena);
    for (int i = 0; i < ENTRY_COUNT; i++) {
        if (!ENTRIES[i].needed || seen[i].source)
            continue;
        text_printf(&missing, "%s'%s'", missing.length ? " and no line " : "", ENTRIES[i].word);
        text_printf(&example, "%s// %s", example.length ? ", and " : "", ENTRIES[i].example);
    }
    if (missing.length) {
        error_hint(errors_add(m->errors, ERROR_MANIFEST_MISSING, head,
                              "the manifest has no line %s", missing.at),
                   "for example: %s", example.at);
        good = false;
    }
    if (seen[1].source && !check_lines_fit(m, seen))
        good = false;
    return steps_finish(m, head) && check_head(m, source, at) && good;
}

bool kernel_read_target(const struct source *source, char *target, char *architecture, size_t size)
{
    size_t at = pass_empty_lines(source);
    *target = *architecture = 0;
    if (at >= source->length || !piece_starts(line_at(source, at), HEAD))
        return false;
    for (at = line_after(source, at); at < source->length; at = line_after(source, at)) {
        struct place line = line_at(source, at);
        if (!piece_starts(line, "//") || after_slashes(line).length == 0)
            break;
        struct place rest = after_slashes(line), word = piece_word(&rest);
        if (word.length != strlen("target") || !piece_starts(word, "target"))
            continue;
        word = piece_word(&rest);
        if (word.length >= size || rest.length >= size)
            return false;
        memcpy(target, source->text + word.offset, word.length);
        memcpy(architecture, source->text + rest.offset, rest.length);
        target[word.length] = architecture[rest.length] = 0;
        return true;
    }
    return false;
}

static bool names_device_code(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcmp(dot, ".cl") == 0 || strcmp(dot, ".cu") == 0);
}

struct kernel *kernel_parse(struct arena *arena, const struct source *source,
                            const struct ir_part *part, struct errors *errors)
{
    struct kernel *kernel = arena_new(arena, struct kernel);
    struct manifest m = {.arena = arena, .part = part, .kernel = kernel, .errors = errors};
    *kernel = (struct kernel){
        .source = source, .op = op_name(arena, part), .instance = "", .target = "cpu"};
    if (source->length > KERNEL_MAX_BYTES) {
        errors_add(errors, ERROR_MANIFEST_LIMIT, (struct place){0},
                   "%s is larger than the %d MiB a kernel may have", source->name,
                   KERNEL_MAX_BYTES >> 20);
        return NULL;
    }
    size_t start = pass_empty_lines(source);
    kernel->has_manifest = start < source->length && piece_starts(line_at(source, start), HEAD);
    if (kernel->has_manifest)
        return read_lines(&m, source, start) ? kernel : NULL;
    if (names_device_code(source->name)) {
        error_hint(errors_add(errors, ERROR_MANIFEST_MISSING, (struct place){0},
                              "%s has no manifest", source->name),
                   "device code says at its head how it is launched: see docs/kernel.md, or begin "
                   "with what smelt gen --plain --target opencl prints");
        return NULL;
    }
    struct text instance = text_new(arena);
    kernel_print_instance(&instance, part);
    kernel->instance = instance.at;
    return check_head(&m, source, start) ? kernel : NULL;
}

void kernel_print_manifest(struct text *out, const struct kernel *kernel,
                           const struct ir_part *part)
{
    static const char *const RELATIONS[] = {"==", "!=", "<", "<="};
    text_printf(out, "%s 1\n// op %s%s%s\n// target %s%s%s\n", HEAD, kernel->op,
                *kernel->instance ? " " : "", kernel->instance, kernel->target,
                kernel->architecture ? " " : "", kernel->architecture ? kernel->architecture : "");
    for (int i = 0; i < kernel->holds_count; i++) {
        text_add(out, i ? ", " : "// holds ");
        ir_size_print(out, kernel->holds[i].a, part);
        text_printf(out, " %s ", RELATIONS[kernel->holds[i].relation]);
        ir_size_print(out, kernel->holds[i].b, part);
    }
    if (kernel->holds_count > 0)
        text_char(out, '\n');
    if (kernel->scratch) {
        text_add(out, "// scratch ");
        ir_size_print(out, kernel->scratch, part);
        text_char(out, '\n');
    }
    if (kernel->threads > 0)
        text_printf(out, "// threads %d\n", kernel->threads);
    steps_print(out, kernel, part);
}

static bool fact_holds(const struct ir_fact *fact, const int64_t *sizes)
{
    int64_t a, b;
    if (!ir_size_eval(fact->a, sizes, &a) || !ir_size_eval(fact->b, sizes, &b))
        return false;
    switch (fact->relation) {
    case IR_RELATION_EQ: return a == b;
    case IR_RELATION_NE: return a != b;
    case IR_RELATION_LT: return a < b;
    case IR_RELATION_LE: return a <= b;
    }
    return false;
}

bool kernel_holds(const struct kernel *kernel, const int64_t *sizes, const struct ir_fact **which)
{
    for (int i = 0; i < kernel->holds_count; i++) {
        if (fact_holds(&kernel->holds[i], sizes))
            continue;
        if (which)
            *which = &kernel->holds[i];
        return false;
    }
    return true;
}

/* Where the buffers before this one end, or, of the one past the last, what all take. */
static int64_t buffers_end(const struct kernel *kernel, int number, const int64_t *sizes)
{
    int64_t end = 0;
    for (int i = 0; i < number; i++) {
        int64_t bytes = kernel_buffer_bytes(&kernel->buffers[i], sizes);
        if (i > 0)
            end = (end + KERNEL_GAP + KERNEL_ALIGNMENT - 1) / KERNEL_ALIGNMENT * KERNEL_ALIGNMENT;
        if (bytes < 0 || bytes > INT64_MAX / 4 || end > INT64_MAX / 4)
            return -1;
        end += bytes;
    }
    return end;
}

int64_t kernel_buffer_offset(const struct kernel *kernel, int number, const int64_t *sizes)
{
    int64_t end = buffers_end(kernel, number, sizes);
    if (end < 0 || number == 0)
        return end;
    return (end + KERNEL_GAP + KERNEL_ALIGNMENT - 1) / KERNEL_ALIGNMENT * KERNEL_ALIGNMENT;
}

int64_t kernel_scratch(const struct kernel *kernel, const int64_t *sizes)
{
    int64_t bytes = 0;
    if (kernel->buffer_count > 0)
        return buffers_end(kernel, kernel->buffer_count, sizes);
    if (!kernel->scratch)
        return 0;
    return ir_size_eval(kernel->scratch, sizes, &bytes) && bytes >= 0 ? bytes : -1;
}

int64_t kernel_buffer_bytes(const struct kernel_buffer *buffer, const int64_t *sizes)
{
    int64_t count, bytes;
    if (!ir_size_eval(buffer->count, sizes, &count) || count < 0 ||
        __builtin_mul_overflow(count, (int64_t)dtype_bytes(buffer->dtype), &bytes))
        return -1;
    return bytes;
}
