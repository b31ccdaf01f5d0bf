/*
 * Private to src/propose/model: messages between a run and its worker. Both are the same program,
 * so numbers travel as they lie in memory.
 */
#ifndef SMELT_PROPOSE_MODEL_WIRE_H
#define SMELT_PROPOSE_MODEL_WIRE_H

#include <stdint.h>

enum {
    WIRE_KEY = 'k',   /* to the worker: number is a model's, the bytes are its key */
    WIRE_ASK = 'a',   /* to the worker: a request as JSON */
    WIRE_REPLY = 'r', /* from it: a reply as JSON */
};

struct wire_head {
    char kind;
    int64_t number;
    uint64_t length; /* of what follows */
};

#endif
