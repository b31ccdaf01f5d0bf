/*
 * How much memory evaluating takes, and how much there is.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "oracle/interpret.h"

/* ---- what a part takes ---- */

struct estimate {
    struct arena *arena;
    struct map known; /* part and sizes -> int64_t: equal calls are looked at once */
    bool overflows;
    int depth;
};

static int64_t add(struct estimate *e, int64_t a, int64_t b)
{
    int64_t sum = 0;
    e->overflows |= __builtin_add_overflow(a, b, &sum);
    return sum;
}

static int64_t multiply(struct estimate *e, int64_t a, int64_t b)
{
    int64_t product = 0;
    e->overflows |= __builtin_mul_overflow(a, b, &product);
    return product;
}

static int64_t tensor_bytes(struct estimate *e, const struct ir_binding *binding, int tensor)
{
    const struct ir_tensor *t = &binding->part->tensors[tensor];
    int64_t count = 1;
    bool overflows = e->overflows;
    for (int d = 0; d < t->rank; d++) {
        int64_t dim = 0;
        e->overflows |= !ir_size_eval(t->dims[d], binding->sizes, &dim);
        if (dim <= 0) { /* nothing at all, however large the others are */
            e->overflows = overflows;
            return 0;
        }
        count = multiply(e, count, dim);
    }
    return multiply(e, count, sizeof(int64_t));
}

/* What the interpreter keeps beside the values of tensors: generously, per stage and node. */
static int64_t stages_overhead(const struct ir_stage *stages, int count)
{
    int64_t bytes = 0;
    for (int s = 0; s < count; s++) {
        bytes += 1024 + 64 * (int64_t)stages[s].nodes.count;
        if (stages[s].monoid)
            bytes += 16 * (int64_t)stages[s].monoid->nodes.count;
        if (stages[s].kind == IR_LOOP)
            bytes += stages_overhead(stages[s].body, stages[s].body_count);
    }
    return bytes;
}

static int64_t part_bytes(struct estimate *e, const struct ir_binding *binding);

static int64_t call_bytes(struct estimate *e, const struct ir_binding *caller,
                          const struct ir_stage *call)
{
    const struct ir_part *part = call->callee;
    struct ir_binding binding = {.part = part};
    int64_t *sizes = arena_array(e->arena, (size_t)part->symbol_count, sizeof *sizes);
    for (int i = 0; i < part->symbol_count; i++) {
        bool is_let = part->symbols[i].kind == IR_SYMBOL_LET;
        e->overflows |= !ir_size_eval(is_let ? part->symbols[i].definition : call->sizes[i],
                                      is_let ? sizes : caller->sizes, &sizes[i]);
    }
    binding.sizes = sizes;
    return part_bytes(e, &binding);
}

/* A ranking keeps twice the ranks it needs: see interpret_stage.c. */
static int64_t ranking_bytes(struct estimate *e, const struct ir_binding *binding,
                             const struct ir_stage *stage)
{
    bool ranks = stage->kind == IR_REDUCE &&
                 (stage->monoid->kind == IR_TOPK || stage->monoid->kind == IR_BOTTOMK);
    if (!ranks)
        return 0;
    const struct ir_tensor *t = &binding->part->tensors[stage->writes[0].tensor];
    int64_t count = 0;
    if (tensor_bytes(e, binding, stage->writes[0].tensor) > 0)
        e->overflows |= !ir_size_eval(t->dims[t->rank - 1], binding->sizes, &count);
    return multiply(e, count, 2 * (2 * sizeof(struct ir_value) + sizeof(int64_t)));
}

/* What a stage takes beside the tensors it mentions. Rankings stay until the part ends. */
static int64_t stage_bytes(struct estimate *e, const struct ir_binding *binding,
                           const struct ir_stage *stage)
{
    if (stage->kind == IR_CALL)
        return call_bytes(e, binding, stage);
    if (stage->kind != IR_LOOP)
        return 0;
    int64_t most = 0;
    for (int s = 0; s < stage->body_count; s++) {
        int64_t bytes = stage_bytes(e, binding, &stage->body[s]);
        most = bytes > most ? bytes : most;
    }
    if (!carry_crosses(stage))
        return most;
    int64_t kept = 0;
    for (int c = 0; c < stage->carry_count; c++)
        kept = add(e, kept, multiply(e, 2, tensor_bytes(e, binding, stage->carries[c].next)));
    return kept > most ? kept : most;
}

static int64_t rankings_bytes(struct estimate *e, const struct ir_binding *binding,
                              const struct ir_stage *stages, int count)
{
    int64_t bytes = 0;
    for (int s = 0; s < count; s++) {
        bytes = add(e, bytes, ranking_bytes(e, binding, &stages[s]));
        if (stages[s].kind == IR_LOOP)
            bytes = add(e, bytes, rankings_bytes(e, binding, stages[s].body, stages[s].body_count));
    }
    return bytes;
}

/* The most that temporaries of the part, and of parts it calls, take at any one time. */
static int64_t temporaries_bytes(struct estimate *e, const struct ir_binding *binding)
{
    const struct ir_part *part = binding->part;
    size_t tensors = (size_t)part->tensor_count, stages = (size_t)part->stage_count;
    int *first = arena_array(e->arena, tensors, sizeof *first);
    int *last = arena_array(e->arena, tensors, sizeof *last);
    int64_t *comes = arena_array(e->arena, stages + 1, sizeof *comes);
    int64_t *goes = arena_array(e->arena, stages + 1, sizeof *goes);
    part_lifetimes(part, first, last);
    for (int i = 0; i < part->input_count; i++)
        first[part->inputs[i]] = -1;
    for (int i = 0; i < part->output_count; i++)
        first[part->outputs[i]] = -1;
    for (int t = 0; t < part->tensor_count; t++) {
        if (first[t] < 0)
            continue;
        int64_t bytes = tensor_bytes(e, binding, t);
        comes[first[t]] = add(e, comes[first[t]], bytes);
        goes[last[t]] = add(e, goes[last[t]], bytes);
    }
    int64_t live = 0, most = 0;
    for (int s = 0; s < part->stage_count; s++) {
        live = add(e, live, comes[s]);
        int64_t now = add(e, live, stage_bytes(e, binding, &part->stages[s]));
        most = now > most ? now : most;
        live -= goes[s];
    }
    return most;
}

const void *binding_key(struct arena *arena, const struct ir_binding *binding, size_t *length)
{
    const struct ir_part *part = binding->part;
    *length = sizeof part + (size_t)part->symbol_count * sizeof(int64_t);
    char *key = arena_alloc(arena, *length);
    memcpy(key, &part, sizeof part);
    if (part->symbol_count > 0)
        memcpy(key + sizeof part, binding->sizes, *length - sizeof part);
    return key;
}

static int64_t part_bytes(struct estimate *e, const struct ir_binding *binding)
{
    const struct ir_part *part = binding->part;
    size_t length;
    const void *key = binding_key(e->arena, binding, &length);
    int64_t *found = map_get_bytes(&e->known, key, length);
    if (found)
        return *found;
    if (++e->depth > ORACLE_MAX_CALL_DEPTH) { /* refused when it is evaluated */
        e->depth--;
        return 0;
    }
    int64_t bytes = stages_overhead(part->stages, part->stage_count) + 1024 +
                    512 * (int64_t)part->tensor_count + 64 * (int64_t)part->index_count;
    bytes = add(e, bytes, rankings_bytes(e, binding, part->stages, part->stage_count));
    bytes = add(e, bytes, temporaries_bytes(e, binding));
    e->depth--;
    found = arena_new(e->arena, int64_t);
    *found = bytes;
    map_set_bytes(&e->known, key, length, found);
    return bytes;
}

struct estimation {
    const struct ir_binding *binding;
    struct arena arena;
    int64_t bytes;
};

static void estimation_run(void *context)
{
    struct estimation *estimation = context;
    const struct ir_binding *binding = estimation->binding;
    const struct ir_part *part = binding->part;
    struct estimate e = {.arena = &estimation->arena, .known = map_new(&estimation->arena)};
    int64_t bytes = part_bytes(&e, binding);
    for (int i = 0; i < part->input_count; i++)
        bytes = add(&e, bytes, tensor_bytes(&e, binding, part->inputs[i]));
    /* An output that is also read may have to be kept both exact and rounded. */
    for (int i = 0; i < part->output_count; i++)
        bytes = add(&e, bytes,
                    multiply(&e, part_reads(part, part->outputs[i]) ? 2 : 1,
                             tensor_bytes(&e, binding, part->outputs[i])));
    estimation->bytes = e.overflows ? -1 : bytes;
}

int64_t oracle_memory(const struct ir_binding *binding)
{
    struct estimation estimation = {.binding = binding};
    bool finished = memory_try(estimation_run, &estimation);
    arena_release(&estimation.arena);
    if (!finished)
        memory_exhausted();
    return estimation.bytes;
}

/* ---- what there is ---- */

/* The first number in a file; -1 when there is none ("max"), or no such file. */
static int64_t file_number(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    int64_t value = -1;
    if (fscanf(file, "%" SCNd64, &value) != 1)
        value = -1;
    fclose(file);
    return value;
}

/* The number behind `key` on a line of its own; -1 when it is not there. */
static int64_t file_entry(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    char line[256];
    int64_t value = -1;
    size_t length = strlen(key);
    while (value < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, key, length) == 0)
            sscanf(line + length, "%*[ :\t]%" SCNd64, &value);
    fclose(file);
    return value;
}

static int64_t lesser(int64_t a, int64_t b)
{
    return b >= 0 && b < a ? b : a;
}

struct group_files { /* what the two versions of cgroups call it */
    const char *limit, *used, *idle;
};

/* What is left to one control group; file pages that nobody uses count as free. */
static int64_t group_left(const char *folder, const struct group_files *names)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/%s", folder, names->limit);
    int64_t limit = file_number(path);
    if (limit < 0)
        return -1;
    snprintf(path, sizeof path, "%s/%s", folder, names->used);
    int64_t used = file_number(path);
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    int64_t idle = file_entry(path, names->idle);
    if (used < 0)
        return limit;
    used -= idle > 0 && idle < used ? idle : 0;
    return limit > used ? limit - used : 0;
}

/* The least that is left to the group and those around it. */
static int64_t groups_left(const char *root, const char *group, const struct group_files *names)
{
    char folder[4200];
    snprintf(folder, sizeof folder, "%s%s", root, group);
    int64_t least = INT64_MAX;
    for (size_t top = strlen(root); strlen(folder) > top;) {
        least = lesser(least, group_left(folder, names));
        *strrchr(folder, '/') = '\0';
    }
    return lesser(least, group_left(root, names));
}

static int64_t control_groups_left(void)
{
    static const struct group_files second = {"memory.max", "memory.current", "inactive_file"};
    static const struct group_files first = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                             "total_inactive_file"};
    int64_t least = INT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[4096];
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *group = strchr(line, '/');
        if (!group)
            continue;
        if (strcmp(group, "/") == 0)
            *group = '\0';
        if (strncmp(line, "0::", 3) == 0)
            least = lesser(least, groups_left("/sys/fs/cgroup", group, &second));
        else if (strstr(line, ":memory:"))
            least = lesser(least, groups_left("/sys/fs/cgroup/memory", group, &first));
    }
    if (file)
        fclose(file);
    return least;
}

static int64_t address_space_left(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur > INT64_MAX)
        return -1;
    int64_t pages = file_number("/proc/self/statm");
    int64_t used = pages > 0 ? pages * sysconf(_SC_PAGESIZE) : 0;
    return used < (int64_t)limit.rlim_cur ? (int64_t)limit.rlim_cur - used : 0;
}

int64_t oracle_memory_available(void)
{
    int64_t available = file_entry("/proc/meminfo", "MemAvailable");
    int64_t least = available < 0 ? INT64_MAX : available * 1024;
    least = lesser(least, control_groups_left());
    return lesser(least, address_space_left());
}

/* ---- yes or no ---- */

void oracle_bytes_print(char *out, int64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 0) {
        snprintf(out, ORACLE_BYTES_TEXT, "more than 8 EiB");
        return;
    }
    double amount = (double)bytes;
    int unit = 0;
    for (; amount >= 1024 && unit < 6; unit++)
        amount /= 1024;
    snprintf(out, ORACLE_BYTES_TEXT, unit == 0 || amount >= 100 ? "%.0f %s" : "%.1f %s", amount,
             units[unit]);
}

bool oracle_memory_admit(int64_t needed, const struct oracle_options *options, struct error *error)
{
    int64_t allowed = options && options->memory > 0 ? options->memory : oracle_memory_available();
    if (needed >= 0 && needed <= allowed)
        return true;
    char least[ORACLE_BYTES_TEXT], most[ORACLE_BYTES_TEXT];
    oracle_bytes_print(least, needed);
    oracle_bytes_print(most, allowed);
    error_set(error, ERROR_OUT_OF_MEMORY, "evaluating this takes %s of memory, and %s may be used",
              least, most);
    error_hint(error, "take a case with smaller sizes, or evaluate single points");
    return false;
}
