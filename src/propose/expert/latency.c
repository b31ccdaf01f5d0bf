/*
 * latency: more at once, less waiting, fewer overheads.
 */
#include "propose/expert/edit.h"

static const struct edit_key keys[] = {
    {"threads", "more threads share the work; for a little of it, starting them costs more"},
    {"parallel", "another loop may give every thread its share"},
    {"split.", "shares of rows, columns or terms give every thread as much to do"},
    {"split", "a long sum in several parts keeps more threads busy"},
    {"unroll", "several chains at once hide the latency of each"},
    {"items", "more loads of a thread under way at once"},
    {"team", "more threads for a row end it sooner; fewer meet less often"},
    {"keep", "all of a row under way at once"},
    {"rows", "several rows at once hide the latency of each"},
    {"chunk", "pieces of another size share out more evenly"},
    {"schedule", "iterations of different cost are shared out as they come"},
    {NULL, NULL},
};

static int concern(enum diagnosis_class class)
{
    return class == DIAGNOSIS_LATENCY ? 2 : class == DIAGNOSIS_NONE;
}

static int propose(const struct propose_view *view, struct proposal *proposals, int most)
{
    return edit_decisions(view, keys, proposals, most);
}

const struct proposer expert_latency = {
    .name = "latency",
    .note = "more at once and less waiting: threads, splitting, unrolled chains",
    .concern = concern,
    .propose = propose,
};
