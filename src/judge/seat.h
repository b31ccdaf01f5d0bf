/*
 * Private to src/judge: one launch of a kernel that is timed, batch by batch, at the contest's
 * word.
 */
#ifndef SMELT_JUDGE_SEAT_H
#define SMELT_JUDGE_SEAT_H

#include "judge/contest.h"
#include "judge/refresh.h"

/* What a worker tells about its cell; shared memory. */
struct seat_board {
    enum outcome outcome; /* OK, or why the last batch failed */
    char message[200];
    double seconds;        /* of the last batch, starting and stopping included */
    double device_seconds; /* the same by the clock of a device, without that; not above 0: none */
    bool not_loaded;       /* see struct launch_result */
    bool may_launch;       /* the worker can start another cell */
};

/* A worker with its cell, both alive between batches; the cell is stopped then. */
struct seat {
    struct seat_board *board;
    pid_t worker;
    int line; /* to the worker; -1: there is none */
};

/* Starts a worker. `buffers` were made before and are shared by all seats. */
bool seat_take(struct seat *seat, const struct contest *contest,
               const struct contestant *contestant, const struct worker *buffers,
               const char *runner);
/*
 * Starts a cell of its own, in place of the one before. The control block says where the buffers
 * lie. False when the kernel could not be started: the board says why.
 */
bool seat_launch(struct seat *seat, uint64_t seed);
/* One batch of so many calls on fresh values; when it counts its outputs are compared, too. */
bool seat_play(struct seat *seat, int calls, bool counts);
/* Ends both. Safe after any failure. */
void seat_leave(struct seat *seat);

/* Brings all memory a kernel will touch out of the caches (flush.c). */
void flush_memory(const void *memory, size_t bytes);

#endif
