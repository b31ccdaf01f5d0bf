/*
 * Where a kernel for a device went wrong: the case that failed is done once more, in a process that
 * the vendor's sanitizer looks into (smelt-device trace), and what the sanitizer says is read. The
 * verdict does not depend on it.
 */
#include "judge/sanitizer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/launch.h"
#include "os/os.h"

enum { SANITIZER_SECONDS = 60, MOST_INPUT_BYTES = 256 << 20 };

/* ---- reading ---- */

/* A line without the bar at its front; NULL: it is none of the sanitizer's. */
static const char *after_bar(const char *line)
{
    size_t bar = strspn(line, "=");
    return bar >= 8 && line[bar] == ' ' ? line + bar + strspn(line + bar, " ") : NULL;
}

static void copy_line(char *out, const char *from, size_t length)
{
    size_t n = 0;
    for (; n < length && n + 1 < SANITIZER_WORDS; n++)
        out[n] = from[n] >= ' ' && from[n] <= '~' ? from[n] : '?';
    out[n] = 0;
}

/* "(1,2,3)" */
static bool read_three(const char *at, int64_t *out)
{
    char *end = NULL;
    if (*at++ != '(')
        return false;
    for (int d = 0; d < 3; d++) {
        long long value = strtoll(at, &end, 10);
        if (end == at || value < 0 || *end != (d < 2 ? ',' : ')'))
            return false;
        out[d] = value;
        at = end + 1;
    }
    return true;
}

/* "rows(float *)+0x160 in kernel.cu:12" or "... in /tmp/kernel.cu:12:rows" */
static void read_place(const char *at, const char *end, char *function, int *line)
{
    static const char own[] = "kernel.cu:";
    const char *name = strstr(at, own);
    if (function)
        copy_line(function, at, strcspn(at, "(+ \n"));
    if (!name || name >= end)
        return;
    long number = strtol(name + sizeof own - 1, NULL, 10);
    *line = number > 0 && number < INT_MAX ? (int)number : 0;
}

/* The end of a line after a word it has; NULL: it has not. */
static const char *after_word(const char *line, const char *end, const char *word)
{
    const char *found = strstr(line, word);
    return found && found + strlen(word) <= end ? found + strlen(word) : NULL;
}

static void read_line(const char *line, const char *end, struct sanitizer_finding *finding)
{
    const char *at;
    if (strncmp(line, "at ", 3) == 0 && !finding->function[0]) {
        read_place(line + 3, end, finding->function, &finding->line);
    } else if (strncmp(line, "and ", 4) == 0 && (at = after_word(line, end, " access at "))) {
        if (!finding->other_line)
            read_place(at, end, NULL, &finding->other_line);
    } else if (strncmp(line, "by thread ", 10) == 0 && !finding->has_thread) {
        at = after_word(line, end, " in block ");
        finding->has_thread =
            at && read_three(line + 10, finding->thread) && read_three(at, finding->block);
    } else if (((at = after_word(line, end, "Address 0x")) && at == line + 10) ||
               ((at = after_word(line, end, "Access at 0x")) && at == line + 12) ||
               ((at = after_word(line, end, "Access to 0x")) && at == line + 12)) {
        char *rest = NULL;
        finding->address = strtoull(at, &rest, 16);
        while (rest < end && *rest == ' ')
            rest++;
        copy_line(finding->note, rest, (size_t)(end - rest));
    }
}

/* What is a finding, and not about the tool, the process or the driver. */
static bool begins_finding(const char *line)
{
    static const char *const words[] = {"Invalid ",         "Misaligned ",   "Uninitialized ",
                                        "Error: Race ",     "Barrier error", "Divergent ",
                                        "Error: Potential "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(line, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

bool sanitizer_read(const char *said, struct sanitizer_finding *finding)
{
    bool found = false;
    *finding = (struct sanitizer_finding){0};
    for (const char *line = said; *line;) {
        const char *end = line + strcspn(line, "\n"), *words = after_bar(line);
        bool begins = words && words < end && begins_finding(words);
        if (begins && found)
            break; /* the first is enough */
        if (begins) {
            const char *race = after_word(words, end, " access at ");
            found = true;
            copy_line(finding->what, words, (size_t)(end - words));
            if (race)
                read_place(race, end, finding->function, &finding->line);
        } else if (found && words && words < end) {
            read_line(words, end, finding);
        } else if (found) {
            break; /* a bar alone closes it */
        }
        line = end + (*end != 0);
    }
    return found;
}

/* ---- telling ---- */

static void quote(struct arena *arena, const struct source *source, int line, struct text *out)
{
    struct text quoted = text_new(arena);
    fault_quote_line(source, arena_printf(arena, "kernel.c:%d", line), &quoted);
    if (quoted.length)
        text_printf(out, "\n%s", quoted.at);
}

/* Which tensor or buffer an address is nearest to: "kind number 0xaddress bytes" are the lines the
 * traced process printed. */
static void tell_address(const struct sanitizer_case *failed, const char *said, uint64_t address,
                         struct text *out)
{
    const struct ir_part *part = failed->binding->part;
    const struct kernel *kernel = failed->device->kernel;
    const char *best = NULL;
    uint64_t nearest = 1 << 20;
    long long byte = 0, bytes = 0;
    for (const char *line = said; *line; line += strcspn(line, "\n"), line += *line != 0) {
        char kind[8];
        int number;
        unsigned long long start, length;
        if (sscanf(line, "%7s %d 0x%llx %llu\n", kind, &number, &start, &length) != 4 || number < 0)
            continue;
        uint64_t away = address < start            ? start - address
                        : address < start + length ? 0
                                                   : address - start - length + 1;
        const char *name = NULL;
        if (strcmp(kind, "tensor") == 0 && number < part->input_count)
            name = part->tensors[part->inputs[number]].name;
        else if (strcmp(kind, "tensor") == 0 && number < part->input_count + part->output_count)
            name = part->tensors[part->outputs[number - part->input_count]].name;
        else if (strcmp(kind, "buffer") == 0 && kernel && number < kernel->buffer_count)
            name = kernel->buffers[number].name;
        if (!name || away >= nearest)
            continue;
        nearest = away;
        best = name;
        byte = (long long)(address - start);
        bytes = (long long)length;
    }
    if (best)
        text_printf(out, ", byte %lld of %lld of '%s'", byte, bytes, best);
}

static void tell(struct arena *arena, const struct sanitizer_case *failed, const char *tool,
                 const char *said, const struct sanitizer_finding *finding, struct text *out)
{
    text_printf(out, "%s: %s", tool, finding->what);
    if (finding->function[0])
        text_printf(out, ", in %s", finding->function);
    if (finding->has_thread)
        text_printf(out, ", thread (%lld, %lld, %lld) of block (%lld, %lld, %lld)",
                    (long long)finding->thread[0], (long long)finding->thread[1],
                    (long long)finding->thread[2], (long long)finding->block[0],
                    (long long)finding->block[1], (long long)finding->block[2]);
    if (finding->address) {
        text_printf(out, ", address 0x%llx", (unsigned long long)finding->address);
        tell_address(failed, said, finding->address, out);
        if (finding->note[0])
            text_printf(out, " (%s)", finding->note);
    }
    if (finding->line)
        quote(arena, failed->source, finding->line, out);
    if (finding->other_line && finding->other_line != finding->line)
        quote(arena, failed->source, finding->other_line, out);
}

/* ---- running ---- */

/* The case as a file. NULL: it cannot be written. */
static const char *write_trace(struct arena *arena, const struct sanitizer_case *failed)
{
    const struct ir_binding *binding = failed->binding;
    const struct ir_part *part = binding->part;
    struct cell_trace head = {.magic = CELL_MAGIC,
                              .input_count = (uint32_t)part->input_count,
                              .output_count = (uint32_t)part->output_count,
                              .program_bytes = failed->device->bytes};
    struct text all = text_new(arena);
    struct error ignored = {0};
    size_t given = 0;
    for (int i = 0; i < part->input_count + part->output_count; i++) {
        int tensor = i < part->input_count ? part->inputs[i] : part->outputs[i - part->input_count];
        head.bytes[i] = (uint64_t)ir_tensor_shape(binding, tensor, NULL) *
                        dtype_bytes(part->tensors[tensor].dtype);
        given += i < part->input_count ? (size_t)head.bytes[i] : 0;
    }
    head.given = failed->inputs && given <= MOST_INPUT_BYTES;
    text_add_bytes(&all, (const char *)&head, sizeof head);
    text_add_bytes(&all, failed->device->program, failed->device->bytes);
    for (int i = 0; head.given && i < part->input_count; i++) {
        char *bytes = arena_alloc(arena, (size_t)head.bytes[i] + 1);
        array_encode(&failed->inputs[i], bytes);
        text_add_bytes(&all, bytes, (size_t)head.bytes[i]);
    }
    const char *path = arena_printf(arena, "%s/trace", failed->directory);
    return file_write(path, all.at, all.length, 0600, &ignored) ? path : NULL;
}

/* SMELT_SANITIZER names another, or none. */
static const char *find_tool(struct arena *arena, const struct target *target, bool *wanted)
{
    const char *chosen = getenv("SMELT_SANITIZER");
    *wanted = target->sanitizer && !(chosen && strcmp(chosen, "none") == 0);
    if (!*wanted)
        return NULL;
    const char *found = process_find(arena, chosen && *chosen ? chosen : target->sanitizer);
    return found || (chosen && *chosen)
               ? found
               : process_find(arena,
                              arena_printf(arena, "/usr/local/cuda/bin/%s", target->sanitizer));
}

/* One of its tools over the case; true when something was found, or it cannot be run at all. */
static bool run_tool(struct arena *arena, const struct sanitizer_case *failed, const char *program,
                     const char *tool, const char *trace, struct text *out)
{
    const struct target *target = failed->device->target;
    struct error ignored = {0};
    const char *runner = device_find_runner(arena, &ignored);
    if (!runner)
        return false;
    const char *const arguments[] = {program, "--tool", tool,         "--print-limit", "1",
                                     runner,  "trace",  target->name, failed->library, trace,
                                     NULL};
    /* It talks to the process it looks into, over a socket and shared memory, and stops it. What
     * runs there is ours; the kernel's own code is on the device. */
    unsigned apart = SANDBOX_PID | SANDBOX_NET | SANDBOX_IPC | SANDBOX_SECCOMP | SANDBOX_LANDLOCK;
    struct tool_needs needs = {.readable =
                                   device_readable(arena, target, runner, failed->directory),
                               .writable = device_writable(arena, target, failed->directory),
                               .environment = device_environment(arena, failed->directory),
                               .without = target->without | apart};
    struct tool_run run;
    struct sanitizer_finding finding;
    tool_run_needing(arena, arguments, failed->directory, SANITIZER_SECONDS, &needs, &run);
    if (run.started && sanitizer_read(run.output, &finding)) {
        tell(arena, failed, tool, run.output, &finding, out);
        return true;
    }
    if (run.started && strstr(run.output, "========= "))
        return false;
    char words[SANITIZER_WORDS];
    copy_line(words, run.started ? run.output : "", run.started ? strcspn(run.output, "\n") : 0);
    text_printf(out, "%s could not be run: %s", target->sanitizer,
                !run.started ? "it does not start"
                : *words     ? words
                             : "it says nothing");
    return true;
}

void sanitizer_explain(struct arena *arena, const struct sanitizer_case *failed, struct text *out)
{
    static const char *const tools[] = {"memcheck", "racecheck", "initcheck"};
    bool faulted = failed->outcome == OUTCOME_CRASH || failed->outcome == OUTCOME_OUT_OF_BOUNDS;
    const struct target *target = failed->device->target;
    bool wanted;
    const char *program = find_tool(arena, target, &wanted);
    if (!wanted || !failed->device->program)
        return;
    if (!program) {
        if (faulted)
            text_printf(out,
                        "%s, which names thread and line, is not found: apt-get install "
                        "cuda-sanitizer-13-0, or SMELT_SANITIZER names it",
                        target->sanitizer);
        return;
    }
    const char *trace = write_trace(arena, failed);
    bool done = !trace;
    for (size_t i = 0; !done && i < (faulted ? 1 : sizeof tools / sizeof *tools); i++)
        done = run_tool(arena, failed, program, tools[i], trace, out);
}
