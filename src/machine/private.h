/*
 * Private to src/machine: system files, the probes' pieces.
 */
#ifndef SMELT_MACHINE_PRIVATE_H
#define SMELT_MACHINE_PRIVATE_H

#include "machine/machine.h"

/* ---- system files (system.c) ---- */

enum { SYSTEM_FILE_BYTES = 16 << 10 }; /* read of one file of /proc or /sys; the rest is ignored */

/* The file root/path..., cut to `size` - 1 bytes, without the last newline. False when unreadable.
 */
bool system_read(char *out, size_t size, const char *root, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The number in such a file, or -1. */
int64_t system_number(const char *root, const char *path);
/* The value after "key :" or "key:" in a text of such lines, cut to fit. False when absent. */
bool system_field(const char *text, const char *key, char *out, size_t size);
/* How many numbers "0-3,8" lists; *first (or NULL) is the first of them. 0 when it is no list. */
int system_list_count(const char *list, int *first);

/* ---- limits of the control group (group.c) ---- */

/* Processors' worth of time granted, and bytes of memory; 0: no limit. Versions 1 and 2. */
void group_limits(const char *root, double *quota, int64_t *memory);

/* ---- instruction sets (sets.c) ---- */

/* What the processor and the operating system let us use; asks the processor itself. */
uint32_t sets_of_processor(void);

/* ---- a crew of threads (crew.c) ---- */

struct crew;

/* What one member does: `member` from 0. Returns nothing; called between two time stamps. */
typedef void crew_task(void *context, int member);

/*
 * `count` members (1: the calling thread itself), each on a processor of its own where there are
 * enough. NULL when threads or memory are lacking. Released by crew_end.
 */
struct crew *crew_begin(int count);
void crew_end(struct crew *crew);
int crew_count(const struct crew *crew);
/* All members do it, starting together; seconds from the first start to the last end. */
double crew_run(struct crew *crew, crew_task *task, void *context);

/* ---- probes ---- */

/* How long each measurement may take, in seconds. */
struct probe_budget {
    double cache, memory, compute, latency;
};

void probe_caches(const struct machine *machine, const struct probe_budget *budget,
                  struct rates *rates);
/* False when there was no memory to measure with. */
bool probe_memory(const struct machine *machine, const struct probe_budget *budget,
                  struct crew *crew, enum machine_crew kind, struct rates *rates);
/* Rows that are gone over several times (rows.c), with one thread; false: no memory, likewise. */
bool probe_rows(const struct machine *machine, const struct probe_budget *budget,
                struct rates *rates);
void probe_compute(const struct machine *machine, const struct probe_budget *budget,
                   struct crew *crew, enum machine_crew kind, struct rates *rates);
void probe_latency(const struct machine *machine, const struct probe_budget *budget,
                   struct rates *rates);
void probe_call(const struct probe_budget *budget, struct rates *rates);

/* The bytes that are surely held by a level, and by none nearer. */
size_t probe_level_bytes(const struct machine *machine, enum machine_level level);
/* The bytes to walk so that no cache helps, for `count` threads together. */
size_t probe_memory_bytes(const struct machine *machine, int count);
/* Memory of its own, in large pages where there are any, all touched when `touch`; or NULL. */
void *probe_map(size_t bytes, bool touch);
void probe_unmap(void *at, size_t bytes);

/* Memory traffic (traffic.c). A variant is one way to make a mix; the best one counts. */
typedef uint64_t traffic_walk(char *to, const char *from, size_t bytes);

struct traffic {
    enum machine_mix mix;
    int set; /* the enum machine_set it needs, or -1 */
    traffic_walk *walk;
};

extern const struct traffic traffic_variants[]; /* ends with walk NULL */

/* Arithmetic (arithmetic.c): `rounds` rounds of a fixed number of operations. */
typedef void arithmetic_spin(int64_t rounds);

struct arithmetic {
    enum machine_unit unit;
    enum machine_number number;
    int set;           /* the enum machine_set it needs, or -1 */
    double operations; /* per round */
    arithmetic_spin *spin;
};

extern const struct arithmetic arithmetic_variants[]; /* ends with spin NULL */

/* Asks the kernel for the right to use AMX tiles. False when refused. */
bool arithmetic_ask_tiles(void);

#endif
