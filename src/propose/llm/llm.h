/*
 * Language models as proposers, without the network: the prompt they get and the reply they give.
 *
 * There is one operator. What it asks for follows from what is known: a kernel that fails is to be
 * repaired, one that is slow to be made faster, and where there is none, one is to be written. The
 * prompt is made of pieces with a priority each, which are fitted into the model's window; the same
 * pieces and the same window give the same prompt. The reply is a whole kernel, edits of the
 * parent, or a plan, and is read strictly.
 *
 * Everything quoted in a prompt is somebody else's text: it is fenced so that it cannot end its own
 * fence, and the model is told that it is data.
 */
#ifndef SMELT_PROPOSE_LLM_LLM_H
#define SMELT_PROPOSE_LLM_LLM_H

#include "base/base.h"
#include "know/kb.h"
#include "machine/machine.h"
#include "record/search.h"
#include "record/task.h"

enum {
    LLM_WINDOW_LEAST = 8000,   /* tokens, prompt and reply together */
    LLM_WINDOW_MOST = 2000000, /* the largest that is believed */
    LLM_REPLY_SHARE = 4,       /* one part in so many of the window is left for the reply... */
    LLM_REPLY_MOST = 32000,    /* ...but no more than this */
    LLM_REPLY_BYTES = 4 << 20, /* of a reply that is read */
    LLM_EDITS = 256,           /* of one reply */
    LLM_LINE = 300,            /* characters kept of a line of the reply's head */
    LLM_RELATIVES = 64,        /* candidates told about */
    LLM_PIECES = 512,
};

/* ---- tokens (tokens.c) ---- */

/* About how many tokens the text takes, rather too many than too few. */
size_t llm_tokens(const char *text, size_t length);

/* ---- prompts (prompt.c, evidence.c) ---- */

enum llm_relation { LLM_CHILD, LLM_SIBLING, LLM_ANCESTOR, LLM_BEST };

struct llm_relative {
    enum llm_relation relation;
    const struct candidate *candidate;
    double gain; /* its fitness by its parent's; 0: not known */
};

struct llm_example { /* a kernel the judge found right, of a task like this one */
    const char *task;
    double fitness;
    const char *kernel;
};

/* What is known now. What is NULL or 0 is not known, and is left out. */
struct llm_context {
    const struct task *task;
    const char *target;   /* "cpu" */
    const char *contract; /* the op, its tensors and sizes, accuracy, cases: the head of a plain
                             kernel */
    const char *manifest; /* the lines a kernel of this op begins with */
    const char *device;   /* it is for, in words; NULL: the machine itself */
    const struct machine *machine;
    const struct rates *rates;
    int threads; /* a kernel is given */

    const char *kernel;             /* of the parent */
    const char *plan;               /* it was made by */
    const struct candidate *parent; /* its record */
    const char *verdict;            /* JSON */
    const struct diagnosis *diagnosis;

    const struct llm_relative *relatives;
    int relative_count;
    const struct experience *experience; /* most telling first */
    size_t experience_count;
    const char *const *winners; /* plans that won on tasks like this one */
    int winner_count;
    const struct llm_example *examples; /* nearest first */
    int example_count;
    const struct kb_hit *pages; /* best first */
    int page_count;
    const char *role, *role_note; /* of the island: "memory" and what that means */
    const char *const *pins;      /* as they were typed */
    int pin_count;
};

enum llm_form { LLM_LEFT_OUT, LLM_BRIEF, LLM_WHOLE };

struct llm_piece {
    const char *section, *name;
    const char *text[2]; /* brief (or NULL), whole */
    int priority[2];     /* of each form: less comes first; 0 of the whole: it must be there */
    enum llm_form form;  /* what was chosen */
    size_t tokens;       /* of that */
};
struct llm_pieces VECTOR(struct llm_piece);

struct llm_prompt {
    const char *system, *user;
    const char *topic;            /* what `user` asks, without what is measured anew in every run */
    size_t tokens, window, reply; /* of the prompt; in all; left for the reply */
    struct llm_pieces pieces;     /* in the order of the text */
};

/* False: the window is too small for what must be in it. Everything lives in the arena. */
bool llm_prompt_build(struct arena *arena, const struct llm_context *context, size_t window,
                      struct llm_prompt *prompt, struct error *error);

/* Private to this folder: the pieces, in the order of the text; `room` tokens are there for all. */
void llm_collect(struct arena *arena, const struct llm_context *context, size_t room,
                 struct llm_pieces *pieces);
/* Text that is shown as it is, in a fence that it cannot end. */
void llm_quote(struct text *out, const char *language, const char *text);

/* ---- replies (reply.c, edits.c) ---- */

enum llm_reply_kind { LLM_KERNEL, LLM_EDIT, LLM_PLAN };

struct llm_edit {
    const char *search, *replace; /* whole lines */
    struct place place;
};

struct llm_reply {
    enum llm_reply_kind kind;
    const char *change; /* what is different, in a line */
    const char *why;    /* in a line */
    double expected;    /* times as fast as the parent; 0: it did not say */
    const char *text;   /* of a kernel or plan */
    struct llm_edits VECTOR(struct llm_edit) edits;
};

/* The form a reply must have, for the prompt. */
extern const char llm_reply_form[];

/* Reads a reply. False: it is malformed, and the error says how, with its place. */
bool llm_reply_parse(struct arena *arena, const struct source *source, struct llm_reply *reply,
                     struct error *error);
/* The kernel a reply makes of its parent; for a plan its text. NULL: an edit does not fit. */
const char *llm_reply_apply(struct arena *arena, const struct llm_reply *reply, const char *parent,
                            struct error *error);
/* What to answer to a malformed reply, once. */
void llm_repair(struct text *out, const struct error *error);

const char *llm_reply_kind_name(enum llm_reply_kind kind); /* "kernel" */

/* ---- transcripts (transcript.c) ---- */

enum { LLM_TRANSCRIPT_BYTES = 64 << 20, LLM_EXCHANGES = 10000, LLM_TURNS = 4 };

/*
 * What was asked and said, whole, so that a run can be repeated without the model:
 *
 *     smelt transcript 1
 *     exchange fast 8123 2045
 *     parent
 *         // smelt kernel 1
 *         ...
 *     end
 *     system
 *         ...
 *     end
 *     user
 *         ...
 *     end
 *     reply
 *         ...
 *     end
 *
 * After `exchange`: the model, tokens read and written. A malformed reply is followed by an
 * exchange with `assistant` and a second `user`, the request to repair it.
 */
struct llm_exchange {
    const char *model;
    int64_t read, written;
    const char *parent; /* the kernel it is about; NULL: none */
    const char *system;
    const char *turns[LLM_TURNS]; /* user, assistant, user */
    int turn_count;
    const char *reply; /* NULL: none came */
};
struct llm_exchanges VECTOR(struct llm_exchange);

void llm_transcript_begin(struct text *out);
void llm_transcript_add(struct text *out, const struct llm_exchange *exchange);
/* False: it is no transcript, and the error says where. */
bool llm_transcript_parse(struct arena *arena, const struct source *source,
                          struct llm_exchanges *exchanges, struct error *error);

#endif
