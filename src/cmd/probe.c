/*
 * smelt probe: how fast this machine is, at best.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "judge/device.h"
#include "machine/machine.h"
#include "os/lock.h"
#include "os/process.h"

static const struct option options[] = {
    {.name = "target",
     .argument = "TARGET",
     .help = "measure the first device of opencl or cuda instead of the processor"},
    {.name = "quick", .help = "measure for about two seconds instead of eight"},
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt probe", "measure, and show the best ever seen on this machine"},
    {"smelt probe --quick --json", "the same for a program, less certain"},
    {"smelt probe --target cuda", "the GPU: memory, cache, shared memory, arithmetic, launches"},
    {0},
};

static void show_stage(void *context, const char *stage)
{
    struct invocation *invocation = context;
    event("probe", event_string("stage", stage));
    if (!invocation->json)
        output_note(invocation, "measuring %s", stage);
}

static void show_waiting(void *context)
{
    output_note(context, "another smelt is timing on this machine; waiting for it");
}

/* ---- the table ---- */

static void print_bytes(struct text *out, int64_t bytes)
{
    if (bytes >= (int64_t)10 << 30)
        text_printf(out, "%.0f GiB", (double)bytes / (1 << 30));
    else if (bytes >= (int64_t)10 << 20)
        text_printf(out, "%.0f MiB", (double)bytes / (1 << 20));
    else
        text_printf(out, "%.0f KiB", (double)bytes / (1 << 10));
}

static void print_machine(struct text *out, const struct machine *machine)
{
    text_printf(out, "%s (%s%s%s)\n", *machine->model ? machine->model : "unknown processor",
                machine->architecture, *machine->stepping ? ", " : "", machine->stepping);
    text_printf(out, "processors %d, of which %d may be used", machine->online, machine->allowed);
    if (machine->quota > 0)
        text_printf(out, ", quota %.2f", machine->quota);
    text_printf(out, "; kernel %s", machine->kernel);
    if (*machine->microcode)
        text_printf(out, "; microcode %s", machine->microcode);
    text_add(out, "\nmemory ");
    print_bytes(out, machine->memory_bytes);
    text_add(out, ", pages of ");
    print_bytes(out, machine->page_bytes);
    text_add(out, "; instruction sets");
    for (int set = 0; set < MACHINE_SET_COUNT; set++)
        if (machine_has(machine, (enum machine_set)set))
            text_printf(out, " %s", machine_set_name((enum machine_set)set));
    text_char(out, '\n');
}

/* Three digits, or a dash for what was not measured. */
static void print_cell(struct text *out, double value, int width)
{
    if (value <= 0)
        text_printf(out, "%*s", width, "-");
    else
        text_printf(out, "%*.*f", width, value < 10 ? 2 : value < 100 ? 1 : 0, value);
}

static const char *threads_text(struct arena *arena, int threads)
{
    return threads == 1 ? "1 thread" : arena_printf(arena, "%d threads", threads);
}

static void print_bandwidth(struct text *out, const struct machine *machine,
                            const struct rates *rates, enum machine_crew crew,
                            enum machine_level level)
{
    struct text name = text_new(out->arena);
    text_add(&name, machine_level_name(level));
    if (level < MACHINE_MEMORY && machine->caches[level].bytes) {
        text_add(&name, " ");
        print_bytes(&name, machine->caches[level].bytes);
    }
    int threads = crew == MACHINE_ONE ? 1 : machine->threads;
    text_printf(out, "  %-14s %-12s", name.at, threads_text(out->arena, threads));
    for (int mix = 0; mix < MACHINE_ROWS; mix++)
        print_cell(out, rates->bandwidth[crew][level][mix] * 1e-9, 13);
    text_char(out, '\n');
}

static void print_rows(struct text *out, const struct rates *rates)
{
    const double *memory = rates->bandwidth[MACHINE_ONE][MACHINE_MEMORY];
    text_printf(out, "  %-14s %-12s", "rows of 4 KiB", "1 thread");
    print_cell(out, memory[MACHINE_ROWS] * 1e-9, 13);
    text_add(out, " as they come, ");
    print_cell(out, memory[MACHINE_ROWS_AHEAD] * 1e-9, 0);
    text_add(out, " fetched ahead\n");
}

static bool has_unit(const struct rates *rates, enum machine_crew crew, int unit)
{
    for (int number = 0; number < MACHINE_NUMBER_COUNT; number++)
        if (rates->compute[crew][unit][number] > 0)
            return true;
    return false;
}

static void print_compute(struct text *out, const struct machine *machine,
                          const struct rates *rates, enum machine_crew crew)
{
    int threads = crew == MACHINE_ONE ? 1 : machine->threads;
    for (int unit = 0; unit < MACHINE_UNIT_COUNT; unit++) {
        if (!has_unit(rates, crew, unit))
            continue;
        text_printf(out, "  %-14s %-12s", machine_unit_name((enum machine_unit)unit),
                    threads_text(out->arena, threads));
        for (int number = 0; number < MACHINE_NUMBER_COUNT; number++)
            print_cell(out, rates->compute[crew][unit][number] * 1e-9, 13);
        text_char(out, '\n');
    }
}

static void print_head(const struct invocation *invocation, struct text *out, const char *title)
{
    text_printf(out, "\n%s%-29s%s", output_bold(invocation), title, output_plain(invocation));
}

static void print_rates(const struct invocation *invocation, struct text *out,
                        const struct machine *machine, const struct rates *rates)
{
    bool several = machine->threads > 1;
    print_head(invocation, out, "bandwidth, GB/s");
    for (int mix = 0; mix < MACHINE_ROWS; mix++)
        text_printf(out, "%13s", machine_mix_name((enum machine_mix)mix));
    text_char(out, '\n');
    for (int level = 0; level < MACHINE_LEVEL_COUNT; level++)
        print_bandwidth(out, machine, rates, MACHINE_ONE, (enum machine_level)level);
    if (several)
        print_bandwidth(out, machine, rates, MACHINE_ALL, MACHINE_MEMORY);
    print_rows(out, rates);

    print_head(invocation, out, "arithmetic, GFLOP/s");
    for (int number = 0; number < MACHINE_NUMBER_COUNT; number++)
        text_printf(out, "%13s", machine_number_name((enum machine_number)number));
    text_char(out, '\n');
    print_compute(out, machine, rates, MACHINE_ONE);
    if (several)
        print_compute(out, machine, rates, MACHINE_ALL);

    print_head(invocation, out, "latency, ns");
    for (int level = 0; level < MACHINE_LEVEL_COUNT; level++)
        text_printf(out, "%13s", machine_level_name((enum machine_level)level));
    text_printf(out, "%13s\n  %-27s", "call", "dependent load, 1 thread");
    for (int level = 0; level < MACHINE_LEVEL_COUNT; level++)
        print_cell(out, rates->latency[level] * 1e9, 13);
    print_cell(out, rates->call * 1e9, 13);
    text_char(out, '\n');
}

/* ---- how this time compares with the best ever ---- */

struct share {
    double logs;
    int count;
};

static void add_shares(struct share *share, const double *now, const double *best, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (now[i] > 0 && best[i] > 0) {
            share->logs += log(now[i] / best[i]);
            share->count++;
        }
}

/* The geometric mean over all bandwidths and arithmetic rates, 1 when this time was the best. */
static double share_of_best(const struct rates *now, const struct rates *best)
{
    struct share share = {0};
    add_shares(&share, &now->bandwidth[0][0][0], &best->bandwidth[0][0][0],
               sizeof now->bandwidth / sizeof(double));
    add_shares(&share, &now->compute[0][0][0], &best->compute[0][0][0],
               sizeof now->compute / sizeof(double));
    return share.count ? exp(share.logs / share.count) : 1;
}

/* ---- JSON ---- */

static void json_positive(struct json *json, const char *key, double value)
{
    if (value > 0)
        json_double(json, key, value);
}

static void json_crew(struct json *json, const struct rates *rates, enum machine_crew crew)
{
    json_object(json, machine_crew_name(crew));
    json_object(json, "bytes_per_second");
    for (int level = 0; level < MACHINE_LEVEL_COUNT; level++) {
        json_object(json, machine_level_name((enum machine_level)level));
        for (int mix = 0; mix < MACHINE_MIX_COUNT; mix++)
            json_positive(json, machine_mix_name((enum machine_mix)mix),
                          rates->bandwidth[crew][level][mix]);
        json_end(json);
    }
    json_end(json);
    json_object(json, "operations_per_second");
    for (int unit = 0; unit < MACHINE_UNIT_COUNT; unit++) {
        if (!has_unit(rates, crew, unit))
            continue;
        json_object(json, machine_unit_name((enum machine_unit)unit));
        for (int number = 0; number < MACHINE_NUMBER_COUNT; number++)
            json_positive(json, machine_number_name((enum machine_number)number),
                          rates->compute[crew][unit][number]);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static void json_rates(struct json *json, const char *key, const struct rates *rates)
{
    json_object(json, key);
    for (int crew = 0; crew < MACHINE_CREW_COUNT; crew++)
        json_crew(json, rates, (enum machine_crew)crew);
    json_object(json, "latency_seconds");
    for (int level = 0; level < MACHINE_LEVEL_COUNT; level++)
        json_positive(json, machine_level_name((enum machine_level)level), rates->latency[level]);
    json_end(json);
    json_positive(json, "call_seconds", rates->call);
    json_end(json);
}

static void json_machine(struct json *json, const struct machine *machine)
{
    json_object(json, "machine");
    json_string(json, "id", machine->id);
    json_string(json, "architecture", machine->architecture);
    json_string(json, "model", machine->model);
    json_string(json, "stepping", machine->stepping);
    json_string(json, "microcode", machine->microcode);
    json_string(json, "kernel", machine->kernel);
    json_int(json, "processors", machine->online);
    json_int(json, "allowed", machine->allowed);
    json_string(json, "affinity", machine->affinity);
    json_double(json, "quota", machine->quota);
    json_int(json, "threads", machine->threads);
    json_array(json, "sets");
    for (int set = 0; set < MACHINE_SET_COUNT; set++)
        if (machine_has(machine, (enum machine_set)set))
            json_string(json, NULL, machine_set_name((enum machine_set)set));
    json_end(json);
    json_object(json, "cache_bytes");
    for (int level = 0; level < MACHINE_CACHES; level++)
        json_int(json, machine_level_name((enum machine_level)level), machine->caches[level].bytes);
    json_end(json);
    json_int(json, "page_bytes", machine->page_bytes);
    json_int(json, "memory_bytes", machine->memory_bytes);
    json_end(json);
}

/* ---- the command ---- */

/* What is measured: this machine, or a device that is one. */
struct subject_machine {
    struct machine machine;
    const struct target *target; /* NULL: the processor */
    const char *said;            /* by the driver */
};

static bool measure(struct invocation *invocation, const struct subject_machine *subject,
                    struct rates *rates, struct error *error)
{
    struct machine_probe probe = {
        .quick = option_given(invocation, "quick"), .progress = show_stage, .context = invocation};
    int lock = lock_timing_begin(show_waiting, invocation);
    bool good = subject->target
                    ? device_probe(invocation->arena, subject->target, probe.quick, rates, error)
                    : machine_probe(&subject->machine, &probe, rates, error);
    lock_timing_end(lock);
    return good;
}

static bool choose(struct invocation *invocation, struct subject_machine *subject,
                   struct error *error)
{
    const char *name = option_value(invocation, "target");
    *subject = (struct subject_machine){0};
    if (!name || strcmp(name, "cpu") == 0) {
        machine_describe(&subject->machine, "");
        return true;
    }
    subject->target = target_find(name);
    if (!subject->target) {
        error_set(error, ERROR_USAGE, "there is no target '%s'", name);
        error_hint(error, "cpu, opencl or cuda");
        return false;
    }
    subject->said = device_describe(invocation->arena, subject->target, error);
    if (!subject->said)
        return false;
    device_machine(invocation->arena, subject->target, subject->said, &subject->machine);
    return true;
}

/* ---- the table of a device ---- */

static void print_device(const struct invocation *invocation, struct text *out,
                         const struct subject_machine *subject, const struct rates *rates)
{
    static const char *const names[] = {[MACHINE_L1] = "shared by a block",
                                        [MACHINE_L2] = "cache",
                                        [MACHINE_L3] = NULL,
                                        [MACHINE_MEMORY] = "memory"};
    const struct machine *machine = &subject->machine;
    struct arena *arena = out->arena;
    text_printf(out, "%s (%s%s%s), %s\n", machine->model, machine->architecture,
                *machine->stepping ? ", " : "", machine->stepping, machine->kernel);
    text_printf(out, "units %d; of a block: threads %s, shared memory ", machine->allowed,
                device_fact(arena, subject->said, "threads"));
    print_bytes(out, strtoll(device_fact(arena, subject->said, "shared"), NULL, 10));
    text_add(out, "; cache ");
    print_bytes(out, machine->caches[MACHINE_L2].bytes);
    text_add(out, ", memory ");
    print_bytes(out, machine->memory_bytes);
    text_char(out, '\n');
    print_head(invocation, out, "bandwidth, GB/s");
    for (int mix = 0; mix <= MACHINE_COPY; mix++)
        text_printf(out, "%13s", machine_mix_name((enum machine_mix)mix));
    text_char(out, '\n');
    for (int level = 0; level < MACHINE_LEVEL_COUNT; level++) {
        if (!names[level])
            continue;
        text_printf(out, "  %-27s", names[level]);
        for (int mix = 0; mix <= MACHINE_COPY; mix++)
            print_cell(out, rates->bandwidth[MACHINE_ONE][level][mix] * 1e-9, 13);
        text_char(out, '\n');
    }
    print_head(invocation, out, "arithmetic, GFLOP/s");
    for (int number = 0; number <= MACHINE_BF16; number++)
        text_printf(out, "%13s", machine_number_name((enum machine_number)number));
    text_printf(out, "\n  %-27s", "multiply-adds");
    for (int number = 0; number <= MACHINE_BF16; number++)
        print_cell(out, rates->compute[MACHINE_ONE][MACHINE_UNIT_DEVICE][number] * 1e-9, 13);
    print_head(invocation, out, "\nlatency, ns");
    text_printf(out, "%12s%13s%13s\n  %-27s", "cache", "memory", "launch",
                "dependent load; launches");
    print_cell(out, rates->latency[MACHINE_L2] * 1e9, 13);
    print_cell(out, rates->latency[MACHINE_MEMORY] * 1e9, 13);
    print_cell(out, rates->call * 1e9, 13);
    text_char(out, '\n');
}

static enum exit_code run(struct invocation *invocation)
{
    struct subject_machine subject;
    struct rates now, best;
    struct error error = {0};
    enum machine_kept before;
    if (!choose(invocation, &subject, &error) || !measure(invocation, &subject, &now, &error)) {
        errors_take(&invocation->errors, &error);
        return error_exit(error.code);
    }
    const struct machine *machine = &subject.machine;
    const char *path = NULL;
    bool kept = machine_rates_keep(invocation->arena, machine, &now, &best, &before, &error);
    if (kept)
        path = machine_rates_path(invocation->arena, machine, &error);
    else
        errors_take(&invocation->errors, &error);
    if (before == MACHINE_KEPT_DAMAGED && !invocation->json)
        output_note(invocation, "what was kept before was damaged, and was not used");
    double share = share_of_best(&now, &best);
    struct text out = text_new(invocation->arena);
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        json_machine(&json, machine);
        json_rates(&json, "best", &best);
        json_rates(&json, "now", &now);
        json_double(&json, "now_share_of_best", share);
        json_bool(&json, "kept_was_damaged", before == MACHINE_KEPT_DAMAGED);
        json_string(&json, "kept", path);
        return output_json_end(invocation, &json);
    }
    if (subject.target) {
        print_device(invocation, &out, &subject, &best);
    } else {
        print_machine(&out, machine);
        print_rates(invocation, &out, machine, &best);
    }
    text_printf(&out, "\nThe best ever seen on this %s; this time reached %.0f %% of it.\n",
                subject.target ? "device" : "machine", 100 * share);
    if (path)
        text_printf(&out, "Kept in %s\n", path);
    output_text(&out);
    return EXIT_YES;
}

const struct command command_probe = {
    .name = "probe",
    .summary = "measure how fast this machine is at best",
    .operands = "",
    .operand_kind = OPERAND_NONE,
    .most = 0,
    .description =
        "Measures bandwidth of caches and memory (reading, writing, copying, and with "
        "non-temporal stores: stream-write and stream-copy; rows of 4 KiB that are "
        "normalised, with and without being told what comes), arithmetic per instruction "
        "set and type, latency of dependent loads, and the cost of a call. A copy counts the bytes "
        "it "
        "reads and those it writes; a multiply-add counts as two operations.\n\n"
        "These are ceilings: the best of many short runs. The best ever seen is kept per machine, "
        "told apart by processor, microcode, kernel, quota and affinity, and is what the floors of "
        "'smelt judge' come from. Run it on a quiet machine, and again at another time: a better "
        "number replaces a worse one, never the other way round.\n\n"
        "With --target, the same of a device, by kernels of its own language: reading, writing and "
        "copying its memory and its cache, reading memory that a block shares (L1), multiply-adds "
        "of each type it has, dependent loads, and the time from one launch to the next. Kept per "
        "device, driver and architecture.",
    .options = options,
    .examples = examples,
    .run = run,
};
