/*
 * Counters by perf_event_open(2).
 */
#include "os/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} table[] = {
    [COUNTER_NANOSECONDS] = {"nanoseconds", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    [COUNTER_CYCLES] = {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    [COUNTER_INSTRUCTIONS] = {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    [COUNTER_CACHE_MISSES] = {"cache misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    [COUNTER_BRANCH_MISSES] = {"branch misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
};

const char *counter_name(enum counter counter)
{
    return table[counter].name;
}

static int open_counter(enum counter counter, pid_t process)
{
    struct perf_event_attr attributes = {.size = sizeof attributes,
                                         .type = table[counter].type,
                                         .config = table[counter].config,
                                         .inherit = 1,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &attributes, process, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void counters_open(struct counters *counters, pid_t process)
{
    for (int i = 0; i < COUNTER_COUNT; i++)
        counters->descriptors[i] = open_counter((enum counter)i, process);
}

void counters_close(struct counters *counters, struct counter_values *values)
{
    *values = (struct counter_values){0};
    for (int i = 0; i < COUNTER_COUNT; i++) {
        uint64_t value;
        if (counters->descriptors[i] < 0)
            continue;
        values->have[i] = read(counters->descriptors[i], &value, sizeof value) == sizeof value;
        if (values->have[i])
            values->value[i] = value;
        close(counters->descriptors[i]);
        counters->descriptors[i] = -1;
    }
}

const char *counters_unavailable(void)
{
    int descriptor = open_counter(COUNTER_CYCLES, 0);
    if (descriptor >= 0) {
        close(descriptor);
        return NULL;
    }
    switch (errno) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP: return "this machine, or its virtual processor, offers none";
    case EACCES:
    case EPERM: return "the system does not let us: see /proc/sys/kernel/perf_event_paranoid";
    case ENOSYS: return "this system has no perf_event_open";
    default: return strerror(errno);
    }
}
