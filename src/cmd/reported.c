/*
 * The report of a run: made from the store and what is known of this machine, and where it goes.
 */
#include "cmd/reported.h"

#include <ctype.h>
#include <string.h>

#include "cmd/planned.h"
#include "machine/machine.h"
#include "os/file.h"
#include "report/report.h"

bool reported_page(struct stored *stored, const struct run *run, struct text *page,
                   struct error *error)
{
    struct arena *arena = stored->invocation->arena;
    struct machine machine;
    struct rates rates;
    planned_machine(arena, run->target, &machine, &rates);
    struct report_subject subject = {.engine = stored->engine,
                                     .store = stored->store,
                                     .run = *run,
                                     .machine = &machine,
                                     .rates = &rates,
                                     .program = "smelt " SMELT_VERSION};
    return report_write(arena, &subject, page, error);
}

/* The task's name as a file's: letters, digits, '_' and '-'. */
static const char *file_name(struct arena *arena, const struct run *run)
{
    enum { LONGEST = 80 };
    char name[LONGEST + 1] = "";
    for (size_t i = 0; i < LONGEST && run->task[i]; i++)
        name[i] = isalnum((unsigned char)run->task[i]) || run->task[i] == '-' ? run->task[i] : '_';
    return arena_printf(arena, "%s-%lld.html", name, (long long)run->id);
}

const char *reported_write(struct stored *stored, const struct run *run, const char *path,
                           const struct text *page, struct error *error)
{
    struct arena *arena = stored->invocation->arena;
    if (!path) {
        const char *slash = strrchr(stored->path, '/');
        const char *folder =
            slash ? arena_printf(arena, "%.*s/reports", (int)(slash - stored->path), stored->path)
                  : "reports";
        if (!directory_make(folder, error))
            return NULL;
        path = arena_printf(arena, "%s/%s", folder, file_name(arena, run));
    }
    return file_write(path, page->at, page->length, 0644, error) ? path : NULL;
}
