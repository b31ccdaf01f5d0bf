/*
 * memory: fewer bytes moved, and those from nearer by.
 */
#include "propose/expert/edit.h"

static const struct edit_key keys[] = {
    {"vector", "a thread that moves 16 bytes at once needs fewer requests for as much"},
    {"width", "neighbouring threads at neighbouring places share what memory hands out"},
    {"side", "along rows or across them: whichever lies side by side"},
    {"stores", "results that nobody reads soon need not push others out of the caches"},
    {"keep", "what was computed once and kept near need not be read again"},
    {"stream", "passes over the same data made one read it once"},
    {"block.", "a block that fits a cache is read from memory once"},
    {"pack.", "packed panels are read in order, from few pages"},
    {"tile", "a tile in registers reads lines whole, whichever way they run"},
    {"order", "the order of loops decides what stays in the caches"},
    {"prefetch", "what is asked for early is there in time"},
    {"chunk", "a piece of rows per thread that fits its cache is read once"},
    {NULL, NULL},
};

static int concern(enum diagnosis_class class)
{
    return class == DIAGNOSIS_MEMORY ? 2 : class == DIAGNOSIS_NONE || class == DIAGNOSIS_LATENCY;
}

static int propose(const struct propose_view *view, struct proposal *proposals, int most)
{
    return edit_decisions(view, keys, proposals, most);
}

const struct proposer expert_memory = {
    .name = "memory",
    .note = "fewer bytes moved, and from nearer by: blocks, packing, keeping, streaming",
    .concern = concern,
    .propose = propose,
};
