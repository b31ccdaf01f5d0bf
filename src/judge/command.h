/*
 * Private to src/judge: an external program as a baseline. docs/judge.md has the protocol.
 */
#ifndef SMELT_JUDGE_COMMAND_H
#define SMELT_JUDGE_COMMAND_H

#include "judge/contest.h"

enum {
    COMMAND_ROUNDS = 5,         /* launches of it in a contest: many programs are slow to start */
    COMMAND_STAYING_ROUNDS = 3, /* and questions to one that stays */
    COMMAND_REPEAT = 50,        /* calls it is asked to time, */
    COMMAND_SECONDS = 60,       /* and how long it may take, over the limit of a call */
    COMMAND_TIMES = 100000,     /* most numbers it may give back */
    COMMAND_BYTES = 4 << 20,    /* the largest seconds.txt that is read */
};

struct command;

/*
 * Folders with the inputs of every draw of the contest, which stays the caller's; NULL with the
 * error set. Where the contest's inputs are made by a device, there is one, with what they are made
 * of, and the program is asked for the elements that are compared.
 */
struct command *command_open(struct arena *arena, const char *const *arguments,
                             const struct contest *contest, struct error *error);
void command_close(struct command *command);
/* Tells a program that stays what it will be asked for on a device: it may compile meanwhile. */
void command_announce(struct arena *arena, const char *const *arguments,
                      const struct ir_binding *binding, int threads);

/* How one launch of it fared. */
struct command_lap {
    enum outcome outcome; /* OK: its outputs are right and it said how long a call takes */
    char message[200];
    double seconds; /* of one call: the low end of what it wrote, as for kernels */
};

/* Runs it on one of the draws, in turn, and compares its outputs. */
void command_launch(struct command *command, struct command_lap *lap);

#endif
