/*
 * Rates as text, and the file they are kept in: one per signature, below the cache directory.
 *
 *     smelt rates 1
 *     machine 3f2a...                  the id, and then the signature itself
 *     | model ...
 *     bandwidth one L1 read 2.1e+11
 *     compute all avx512 f32 1.5e+11
 *     latency memory 9.1e-08
 *     call 1.2e-09
 *     sum 61b4...                      of all that stands before
 *
 * The best ever seen only grows, so a wrong number would stay for good: what is not whole to the
 * last byte is not believed.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "machine/private.h"
#include "os/os.h"

static const char head[] = "smelt rates 1\n";

enum { SUM_DIGITS = 64 };

static void print_line(struct text *out, const char *what, double value)
{
    if (value <= 0 || !isfinite(value))
        return;
    text_add(out, what);
    text_char(out, ' ');
    text_double(out, value);
    text_char(out, '\n');
}

/* Calls `each` with the name of every rate there can be. */
typedef bool rate_visitor(void *context, const char *name, double *value);

static bool visit_crew(struct rates *rates, int crew, rate_visitor *each, void *context)
{
    char name[80];
    const char *who = machine_crew_name((enum machine_crew)crew);
    for (int level = 0; level < MACHINE_LEVEL_COUNT; level++)
        for (int mix = 0; mix < MACHINE_MIX_COUNT; mix++) {
            snprintf(name, sizeof name, "bandwidth %s %s %s", who,
                     machine_level_name((enum machine_level)level),
                     machine_mix_name((enum machine_mix)mix));
            if (!each(context, name, &rates->bandwidth[crew][level][mix]))
                return false;
        }
    for (int unit = 0; unit < MACHINE_UNIT_COUNT; unit++)
        for (int number = 0; number < MACHINE_NUMBER_COUNT; number++) {
            snprintf(name, sizeof name, "compute %s %s %s", who,
                     machine_unit_name((enum machine_unit)unit),
                     machine_number_name((enum machine_number)number));
            if (!each(context, name, &rates->compute[crew][unit][number]))
                return false;
        }
    return true;
}

/* Ends early, with false, when `each` says so. */
static bool visit_rates(struct rates *rates, rate_visitor *each, void *context)
{
    char name[80];
    for (int crew = 0; crew < MACHINE_CREW_COUNT; crew++)
        if (!visit_crew(rates, crew, each, context))
            return false;
    for (int level = 0; level < MACHINE_LEVEL_COUNT; level++) {
        snprintf(name, sizeof name, "latency %s", machine_level_name((enum machine_level)level));
        if (!each(context, name, &rates->latency[level]))
            return false;
    }
    return each(context, "call", &rates->call);
}

static bool print_rate(void *context, const char *name, double *value)
{
    print_line(context, name, *value);
    return true;
}

void machine_rates_print(struct text *out, const struct machine *machine, const struct rates *rates)
{
    struct rates copy = *rates; /* visited, not changed */
    char signature[MACHINE_SIGNATURE], sum[SUM_DIGITS + 1];
    size_t start = out->length;
    machine_signature(signature, machine);
    text_printf(out, "%smachine %s\n", head, machine->id);
    for (const char *line = signature; *line;) {
        size_t length = strcspn(line, "\n");
        text_add(out, "| ");
        text_add_bytes(out, line, length);
        text_char(out, '\n');
        line += length + (line[length] == '\n');
    }
    visit_rates(&copy, print_rate, out);
    sha256_hex(out->at + start, out->length - start, sum);
    text_printf(out, "sum %s\n", sum);
}

/* ---- reading ---- */

struct wanted {
    const char *line;
    size_t length; /* of the name on the line */
    double value;
};

/* False, to end the search, when this is the one. */
static bool match_rate(void *context, const char *name, double *value)
{
    const struct wanted *wanted = context;
    if (strlen(name) != wanted->length || memcmp(name, wanted->line, wanted->length) != 0)
        return true;
    *value = wanted->value;
    return false;
}

/* "NAME VALUE\n"; the value is positive, and nothing a machine of this world could not have. */
static bool parse_line(const char *line, size_t length, struct rates *rates)
{
    char copy[160], *end;
    if (length >= sizeof copy)
        return false;
    memcpy(copy, line, length);
    copy[length] = '\0';
    char *space = strrchr(copy, ' ');
    if (!space || !space[1])
        return false;
    struct wanted wanted = {copy, (size_t)(space - copy), strtod(space + 1, &end)};
    if (*end || !isfinite(wanted.value) || wanted.value <= 0 || wanted.value > 1e18)
        return false;
    return !visit_rates(rates, match_rate, &wanted);
}

/* The text without its last line, when that line is the right sum; else 0. */
static size_t check_sum(const char *text, size_t length)
{
    char sum[SUM_DIGITS + 1];
    size_t last = 4 + SUM_DIGITS + 1; /* "sum ", digits, newline */
    if (length < last + sizeof head || text[length - last - 1] != '\n')
        return 0;
    const char *line = text + length - last;
    sha256_hex(text, length - last, sum);
    if (memcmp(line, "sum ", 4) != 0 || memcmp(line + 4, sum, SUM_DIGITS) != 0 ||
        line[last - 1] != '\n')
        return 0;
    return length - last;
}

static bool parse_body(const char *text, size_t length, const struct machine *machine,
                       struct rates *rates)
{
    char owner[64];
    const char *end = text + length, *line = text + strlen(head);
    int owner_length = snprintf(owner, sizeof owner, "machine %s\n", machine->id);
    if (memcmp(text, head, strlen(head)) != 0 || end - line < owner_length ||
        memcmp(line, owner, (size_t)owner_length) != 0)
        return false;
    for (line += owner_length; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        if (!newline)
            return false;
        if (*line != '|' && !parse_line(line, (size_t)(newline - line), rates))
            return false;
        line = newline + 1;
    }
    return true;
}

enum machine_kept machine_rates_parse(const char *text, size_t length,
                                      const struct machine *machine, struct rates *rates)
{
    *rates = (struct rates){0};
    size_t body = length <= MACHINE_KEPT_BYTES ? check_sum(text, length) : 0;
    if (body && parse_body(text, body, machine, rates))
        return MACHINE_KEPT_GOOD;
    *rates = (struct rates){0};
    return MACHINE_KEPT_DAMAGED;
}

bool machine_rates_take(const char *lines, struct rates *rates)
{
    bool any = false;
    *rates = (struct rates){0};
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        any |= parse_line(lines, length, rates);
        lines += length + (lines[length] != 0);
    }
    return any;
}

/* ---- the file ---- */

char *machine_rates_path(struct arena *arena, const struct machine *machine, struct error *error)
{
    char *folder = directory_cache(arena, "machine", error);
    return folder ? arena_printf(arena, "%s/%s.rates", folder, machine->id) : NULL;
}

enum machine_kept machine_rates_load(struct arena *arena, const struct machine *machine,
                                     struct rates *rates)
{
    struct error ignored;
    size_t length;
    *rates = (struct rates){0};
    char *path = machine_rates_path(arena, machine, &ignored);
    if (!path || access(path, F_OK) != 0)
        return MACHINE_KEPT_NONE;
    char *text = file_read(arena, path, MACHINE_KEPT_BYTES, &length, &ignored);
    return text ? machine_rates_parse(text, length, machine, rates) : MACHINE_KEPT_DAMAGED;
}

bool machine_rates_save(struct arena *arena, const struct machine *machine,
                        const struct rates *rates, struct error *error)
{
    char *path = machine_rates_path(arena, machine, error);
    if (!path)
        return false;
    struct text text = text_new(arena);
    machine_rates_print(&text, machine, rates);
    return file_write(path, text.at, text.length, 0600, error);
}

struct keeping {
    struct arena *arena;
    const struct machine *machine;
    const struct rates *seen;
    struct rates *best;
    enum machine_kept before;
    struct error *error;
    bool good;
};

static void keep_locked(void *context)
{
    struct keeping *keeping = context;
    keeping->before = machine_rates_load(keeping->arena, keeping->machine, keeping->best);
    bool improved = machine_rates_merge(keeping->best, keeping->seen);
    keeping->good =
        (!improved && keeping->before == MACHINE_KEPT_GOOD) ||
        machine_rates_save(keeping->arena, keeping->machine, keeping->best, keeping->error);
}

bool machine_rates_keep(struct arena *arena, const struct machine *machine,
                        const struct rates *seen, struct rates *best, enum machine_kept *before,
                        struct error *error)
{
    struct keeping keeping = {arena, machine, seen, best, MACHINE_KEPT_NONE, error, false};
    if (before)
        *before = MACHINE_KEPT_NONE;
    *best = *seen;
    char *folder = directory_cache(arena, "machine", error);
    if (!folder)
        return false;
    /* two that merge at once would lose one's findings; without a lock they may, and no more */
    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0)
        flock(lock, LOCK_EX);
    bool enough = memory_try(keep_locked, &keeping);
    if (lock >= 0)
        close(lock);
    if (!enough)
        memory_exhausted();
    if (before)
        *before = keeping.before;
    return keeping.good;
}
