/*
 * Counters of another process: what the system counts is always there, what the processor counts
 * is there or said not to be.
 */
#include "os/counters.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

TEST(counters_count_another_process)
{
    struct counters counters;
    struct counter_values values;
    pid_t child = fork();
    if (child == 0) {
        for (;;)
            ;
    }
    CHECK(child > 0);
    counters_open(&counters, child);
    usleep(50000);
    counters_close(&counters, &values);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (values.have[COUNTER_NANOSECONDS])
        CHECK(values.value[COUNTER_NANOSECONDS] > 1000000);
    CHECK(values.have[COUNTER_CYCLES] || counters_unavailable() != NULL);
    CHECK(counters.descriptors[COUNTER_CYCLES] == -1);
}
