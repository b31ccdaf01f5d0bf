/*
 * Private to src/search: the steps of a run.
 */
#ifndef SMELT_SEARCH_PRIVATE_H
#define SMELT_SEARCH_PRIVATE_H

#include "search/search.h"

/* A node for the plan of this text; NULL: it is no legal plan, or there is one already, *old. */
struct search_node *search_add_plan(struct search *search, const char *text,
                                    struct search_node **old);
/* Whether a replay may try the plan of this hash; any other search may. */
bool search_may_try(const struct search *search, const char *hash);
/* The plans to begin with, as nodes (seeds.c). */
void search_add_seeds(struct search *search);
/* The same for the source of a kernel. */
struct search_node *search_add_source(struct search *search, const char *source,
                                      struct search_node **old);
/* A node of the graph, without plan, source or proposer. */
struct search_node *search_new_node(struct search *search, const char *hash);
/* It was taken out of search->nodes, and nobody points at it. */
void search_drop(struct search *search, struct search_node *node);
/* After a batch: where there are too many, those that matter least are left to the store. */
void search_retire(struct search *search);
/* The plan of this text, if it is one; what reading and checking it takes is left in `scratch`. */
struct plan *search_read_plan(struct search *search, struct arena *scratch, const char *text);
/* What the store has of a candidate besides its plan or source, as the node's own. */
void search_take_record(struct search *search, struct search_node *node,
                        const struct candidate *candidate);
/* The record alone. */
void search_keep_record(struct search_node *node, const struct candidate *candidate);
/* The last node of the graph to the place that its number gives it. */
void search_put_in_order(struct search *search);
/* The one copy of a text that many candidates have. */
const char *search_word(struct search *search, const char *text);
/* A node for an offer; NULL: its plan is none, or there is such a one already, which is *old (may
 * be NULL). */
struct search_node *search_add_offer(struct search *search, const struct search_offer *offer,
                                     struct search_node **old);
/* Offers that are ready, as nodes; how many. */
int search_take_offers(struct search *search, struct search_node **nodes, int most);
/* False: nothing is under way outside. */
bool search_wait_offers(struct search *search, double seconds);
/* Whom an expert can go on from: the node, its nearest ancestor with a plan, or else the best that
 * has one; NULL: none has. */
struct search_node *search_planned(const struct search *search, struct search_node *node);
/* Lowers, records, judges, diagnoses and, with the usual care, learns: those judged with more were
 * judged before. */
bool search_judge_batch(struct search *search, struct search_node *const *nodes, int count,
                        enum search_care care, struct error *error);
/* Tells the judge what comes after the next batch; none: nothing of what it was told. */
void search_announce(struct search *search, struct search_node *const *nodes, int count);
/* What each proposal is hoped to come to (a logarithm of fitness), by all that was seen so far;
 * -infinity: it never worked. */
void search_order(struct search *search, const struct search_node *parent,
                  struct proposal *proposals, int count, double *scores);

struct search_hope { /* a proposal, and what is hoped of it: see search_order */
    struct search_choice choice;
    struct proposal proposal;
    double score;
};
struct search_hopes VECTOR(struct search_hope);

/* The best of the hopes joined by others about the same parent, where more is hoped of all together
 * (combine.c). */
void search_combine(struct search *search, const struct skeleton_program *program,
                    struct search_hopes *hopes, struct search_hope *best);
/* A child was judged: what its step was worth. */
void search_believe(struct search *search, const struct search_node *node);
/* The best so far, before anything is compared once more: what is hardly faster than what had the
 * place before has to wait. NULL: none. */
struct search_node *search_standing(const struct search *search);
/* What an earlier sitting of the run left in the store. */
bool search_load(struct search *search, struct error *error);
/* What other processes put into the run and judged meanwhile; what they still judge comes later.
 * Between batches only. */
bool search_hear(struct search *search, struct error *error);
/* Seconds spent on the run, over all its sittings. */
double search_elapsed(const struct search *search);
/* False: the run is to end. */
bool search_tell(struct search *search, const char *doing);

#endif
