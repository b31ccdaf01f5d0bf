/*
 * Experience as text: a head, then one line of tab-separated fields per entry. It diffs, merges and
 * travels by mail.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "know/know.h"

static const char head[] = "smelt wisdom 1";

enum { FIELDS = 12, WISDOM_MOST = 1 << 20, WISDOM_FIELD = 300 };

void wisdom_print(struct text *out, const struct store_experiences *entries)
{
    text_printf(out, "%s\n", head);
    for (size_t i = 0; i < entries->count; i++) {
        const struct experience *entry = &entries->at[i];
        text_printf(out,
                    "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64
                    "\t%.9g\n",
                    entry->structure, entry->shape, entry->dtype, entry->target, entry->signature,
                    entry->diagnosis, entry->action, entry->tries, entry->wins, entry->losses,
                    entry->infeasible, entry->log_gain);
    }
}

static bool read_count(const char *text, int64_t *count)
{
    char *end;
    *count = strtoll(text, &end, 10);
    return *text && *end == 0 && *count >= 0 && *count <= 1000000000;
}

static bool read_entry(char *line, struct experience *entry)
{
    char *fields[FIELDS];
    int count = 0;
    for (char *at = line; at && count < FIELDS; count++) {
        fields[count] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = 0;
        else if (count != FIELDS - 1)
            return false;
        if (strlen(fields[count]) > WISDOM_FIELD)
            return false;
    }
    char *end;
    *entry = (struct experience){fields[0], fields[1], fields[2], fields[3],
                                 fields[4], fields[5], fields[6], 0,
                                 0,         0,         0,         strtod(fields[11], &end)};
    return count == FIELDS && *fields[11] && *end == 0 && isfinite(entry->log_gain) &&
           read_count(fields[7], &entry->tries) && read_count(fields[8], &entry->wins) &&
           read_count(fields[9], &entry->losses) && read_count(fields[10], &entry->infeasible);
}

bool wisdom_parse(struct arena *arena, const struct source *source,
                  struct store_experiences *entries, struct error *error)
{
    char *text = arena_copy(arena, source->text, source->length);
    int number = 1;
    for (char *next; *text; text = next, number++) {
        struct experience entry;
        next = text + strcspn(text, "\n");
        if (*next)
            *next++ = 0;
        bool fits = number == 1 ? strcmp(text, head) == 0 : read_entry(text, &entry);
        if (!fits || entries->count == WISDOM_MOST) {
            error_set(error, ERROR_BAD_WISDOM, "line %d of %s is not of wisdom", number,
                      source->name);
            error_hint(error, "smelt experience export writes it; nothing was imported");
            return false;
        }
        if (number > 1)
            vector_push(arena, entries, entry);
    }
    if (number == 1)
        return error_set(error, ERROR_BAD_WISDOM, "%s is empty", source->name);
    return true;
}
