/*
 * What the system tells about the machine, and the signature made of it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "machine/private.h"

/* The name of each instruction set, and the words of /proc/cpuinfo that must all be there. */
static const struct {
    const char *name;
    const char *flags[3];
} set_facts[MACHINE_SET_COUNT] = {
    [MACHINE_SSE2] = {"sse2", {"sse2"}},
    [MACHINE_AVX2] = {"avx2", {"avx2", "fma"}},
    [MACHINE_AVX512F] = {"avx512f", {"avx512f"}},
    [MACHINE_AVX512_BF16] = {"avx512-bf16", {"avx512f", "avx512_bf16"}},
    [MACHINE_AVX512_FP16] = {"avx512-fp16", {"avx512f", "avx512_fp16"}},
    [MACHINE_AVX512_VNNI] = {"avx512-vnni", {"avx512f", "avx512_vnni"}},
    [MACHINE_AMX_BF16] = {"amx-bf16", {"amx_tile", "amx_bf16"}},
    [MACHINE_AMX_INT8] = {"amx-int8", {"amx_tile", "amx_int8"}},
    [MACHINE_NEON] = {"neon", {"asimd"}},
};

static const char *const level_names[MACHINE_LEVEL_COUNT] = {"L1", "L2", "L3", "memory"};

const char *machine_set_name(enum machine_set set)
{
    return set_facts[set].name;
}

const char *machine_level_name(enum machine_level level)
{
    return level_names[level];
}

bool machine_has(const struct machine *machine, enum machine_set set)
{
    return machine->sets >> set & 1;
}

/* Whether `word` stands among the words of `list`. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(list, word); at; at = strstr(at + length, word))
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

static uint32_t sets_of_flags(const char *flags)
{
    uint32_t sets = 0;
    for (int set = 0; set < MACHINE_SET_COUNT; set++) {
        bool all = true;
        for (int i = 0; i < 3 && set_facts[set].flags[i]; i++)
            all = all && has_word(flags, set_facts[set].flags[i]);
        if (all)
            sets |= 1U << set;
    }
    return sets;
}

/*
 * The kernel may have switched off what the processor has, and says so in its list; a container may
 * show no list, or that of another machine. What both have can be used.
 */
static uint32_t find_sets(const char *information, bool real)
{
    char flags[4096];
    bool listed = system_field(information, "flags", flags, sizeof flags) ||
                  system_field(information, "Features", flags, sizeof flags);
    if (!real)
        return sets_of_flags(flags);
    return sets_of_processor() & (listed ? sets_of_flags(flags) : ~0U);
}

static void describe_processor(struct machine *machine, const char *root)
{
    char text[SYSTEM_FILE_BYTES], a[8], b[8], c[8];
    system_read(text, sizeof text, root, "/proc/cpuinfo");
    machine->sets = find_sets(text, !*root);
    system_field(text, "microcode", machine->microcode, sizeof machine->microcode);
    if (system_field(text, "model name", machine->model, sizeof machine->model)) {
        system_field(text, "cpu family", a, sizeof a);
        system_field(text, "model", b, sizeof b);
        system_field(text, "stepping", c, sizeof c);
        snprintf(machine->stepping, sizeof machine->stepping, "family %s model %s stepping %s", a,
                 b, c);
    } else if (system_field(text, "CPU implementer", a, sizeof a)) {
        system_field(text, "CPU part", b, sizeof b);
        system_field(text, "CPU revision", c, sizeof c);
        snprintf(machine->model, sizeof machine->model, "implementer %s part %s", a, b);
        snprintf(machine->stepping, sizeof machine->stepping, "revision %s", c);
    }
}

/* Numbers as the kernel lists them: "0-3,8". */
static void describe_count(struct machine *machine, const char *root, int *first)
{
    char text[SYSTEM_FILE_BYTES], list[1024];
    if (system_read(text, sizeof text, root, "/sys/devices/system/cpu/online"))
        machine->online = system_list_count(text, NULL);
    system_read(text, sizeof text, root, "/proc/self/status");
    if (system_field(text, "Cpus_allowed_list", list, sizeof list)) {
        machine->allowed = system_list_count(list, first);
        bool fits = strlen(list) < sizeof machine->affinity;
        snprintf(machine->affinity, sizeof machine->affinity, "%.*s%s",
                 fits ? (int)sizeof machine->affinity : (int)sizeof machine->affinity - 5, list,
                 fits ? "" : ",...");
    }
    if (machine->online < 1)
        machine->online =
            machine->allowed > 0 ? machine->allowed : (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (machine->online < 1)
        machine->online = 1;
    if (machine->allowed < 1 || machine->allowed > machine->online)
        machine->allowed = machine->online;
}

static int64_t parse_bytes(const char *text)
{
    char *unit;
    int64_t value = strtoll(text, &unit, 10);
    if (value < 0 || value > (int64_t)1 << 40)
        return 0;
    return *unit == 'K' ? value << 10 : *unit == 'M' ? value << 20 : value;
}

/* Data and unified caches of one processor. */
static void describe_caches(struct machine *machine, const char *root, int processor)
{
    static const char folder[] = "/sys/devices/system/cpu/cpu%d/cache/index%d/%s";
    static const int asked[MACHINE_CACHES] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                              _SC_LEVEL3_CACHE_SIZE};
    char type[32], level[32], size[32], shared[1024];
    for (int index = 0; index < 16; index++) {
        if (!system_read(level, sizeof level, root, folder, processor, index, "level"))
            break;
        system_read(type, sizeof type, root, folder, processor, index, "type");
        system_read(size, sizeof size, root, folder, processor, index, "size");
        system_read(shared, sizeof shared, root, folder, processor, index, "shared_cpu_list");
        int at = level[0] - '1';
        if (at < 0 || at >= MACHINE_CACHES || strcmp(type, "Instruction") == 0)
            continue;
        machine->caches[at] =
            (struct machine_cache){parse_bytes(size), system_list_count(shared, NULL)};
    }
    for (int at = 0; at < MACHINE_CACHES; at++) {
        struct machine_cache *cache = &machine->caches[at];
        if (!cache->bytes && !*root && sysconf(asked[at]) > 0)
            cache->bytes = sysconf(asked[at]);
        if (cache->shared_by < 1)
            cache->shared_by = 1;
    }
}

static void describe_memory(struct machine *machine, const char *root, int64_t limit)
{
    char text[SYSTEM_FILE_BYTES], total[64];
    machine->page_bytes = sysconf(_SC_PAGESIZE);
    system_read(text, sizeof text, root, "/proc/meminfo");
    if (system_field(text, "MemTotal", total, sizeof total))
        machine->memory_bytes = strtoll(total, NULL, 10) << 10;
    if (limit > 0 && (machine->memory_bytes <= 0 || limit < machine->memory_bytes))
        machine->memory_bytes = limit;
}

static void set_id(struct machine *machine)
{
    char signature[MACHINE_SIGNATURE], hex[65];
    machine_signature(signature, machine);
    sha256_hex(signature, strlen(signature), hex);
    memcpy(machine->id, hex, sizeof machine->id - 1);
}

void machine_describe(struct machine *machine, const char *root)
{
    struct utsname names;
    int64_t limit;
    char text[256];
    int first = 0;
    *machine = (struct machine){0};
    if (uname(&names) == 0)
        snprintf(machine->architecture, sizeof machine->architecture, "%.15s", names.machine);
    system_read(machine->kernel, sizeof machine->kernel, root, "/proc/sys/kernel/osrelease");
    describe_processor(machine, root);
    describe_count(machine, root, &first);
    describe_caches(machine, root, first);
    group_limits(root, &machine->quota, &limit);
    describe_memory(machine, root, limit);
    machine->threads = machine->allowed;
    if (machine->quota > 0 && machine->quota < machine->threads)
        machine->threads = machine->quota < 1 ? 1 : (int)machine->quota;
    if (machine->threads > MACHINE_THREADS)
        machine->threads = MACHINE_THREADS;
    system_read(machine->governor, sizeof machine->governor, root,
                "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", first);
    if (system_read(text, sizeof text, root,
                    "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", first))
        machine->siblings = system_list_count(text, NULL);
    set_id(machine);
}

void machine_describe_device(struct machine *machine, const struct machine_device *device)
{
    *machine = (struct machine){
        .online = 1, .allowed = device->units, .threads = 1, .memory_bytes = device->memory_bytes};
    for (int at = 0; at < MACHINE_CACHES; at++)
        machine->caches[at].shared_by = 1;
    machine->caches[MACHINE_L2].bytes = device->cache_bytes;
    snprintf(machine->architecture, sizeof machine->architecture, "%.15s", device->target);
    snprintf(machine->model, sizeof machine->model, "%.95s", device->model);
    snprintf(machine->stepping, sizeof machine->stepping, "%.63s", device->architecture);
    snprintf(machine->kernel, sizeof machine->kernel, "%.95s", device->version);
    set_id(machine);
}

/* Adds to a signature, which has room for all that the fields of struct machine can hold. */
static void add(char *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(char *out, const char *format, ...)
{
    size_t length = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + length, MACHINE_SIGNATURE - length, format, arguments);
    va_end(arguments);
}

void machine_signature(char *out, const struct machine *machine)
{
    out[0] = '\0';
    add(out, "architecture %s\nmodel %s\n", machine->architecture, machine->model);
    add(out, "stepping %s\nmicrocode %s\n", machine->stepping, machine->microcode);
    add(out, "kernel %s\n", machine->kernel);
    add(out, "processors %d allowed %d list %s quota %.3f siblings %d\n", machine->online,
        machine->allowed, machine->affinity, machine->quota, machine->siblings);
    add(out, "sets");
    for (int set = 0; set < MACHINE_SET_COUNT; set++)
        if (machine_has(machine, (enum machine_set)set))
            add(out, " %s", machine_set_name((enum machine_set)set));
    add(out, "\ncaches");
    for (int at = 0; at < MACHINE_CACHES; at++)
        add(out, " %lld/%d", (long long)machine->caches[at].bytes, machine->caches[at].shared_by);
    add(out, "\npage %lld\n", (long long)machine->page_bytes);
}
