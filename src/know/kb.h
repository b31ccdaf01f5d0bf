/*
 * The knowledge base: folders of short pages, each with a head that says for what it is good.
 *
 *     ---
 *     title: Stores past the caches
 *     targets: cpu
 *     diagnosis: memory
 *     structures: map row
 *     words: non-temporal, streaming, write-allocate
 *     ---
 *     What to know, in a paragraph; then more of it, with code that is checked.
 *
 * A page is found by its head first (target, diagnosis, structure), by its text second. The
 * built-in folder comes with smelt; pages of users' folders are added to it, and one of the same
 * name takes the place of ours.
 */
#ifndef SMELT_KNOW_KB_H
#define SMELT_KNOW_KB_H

#include "base/base.h"

enum {
    KB_PAGE_BYTES = 64 << 10, /* of one page */
    KB_PAGES = 4096,          /* of all folders */
    KB_FOLDERS = 64,
    KB_DEPTH = 6,         /* folders within folders */
    KB_WORDS = 64,        /* of one line of a head, and of a question */
    KB_SNIPPETS = 32,     /* of one page */
    KB_WORD_LENGTH = 100, /* of one of them */
};

struct kb_words VECTOR(const char *);

/* A fenced block: "```c gcc -mavx2 has=vfmadd". */
struct kb_snippet {
    const char *language;  /* "c" */
    struct kb_words check; /* what follows it: how it is checked; none: it is not */
    const char *text;
    size_t length;
    size_t offset; /* of its first line in the file */
};
struct kb_snippets VECTOR(struct kb_snippet);

struct kb_page {
    const char *id; /* its path below the folder without ".md": "guidance/memory/streaming" */
    const struct source *source;
    bool own; /* of a user's folder */
    const char *title;
    struct kb_words targets, diagnoses, structures, words; /* "any" is a word like others */
    const char *body;                                      /* what follows the head */
    const char *lead;                                      /* its first paragraph, on one line */
    struct kb_snippets snippets;
};
struct kb_pages VECTOR(struct kb_page);

struct kb {
    struct arena *arena;
    struct kb_pages pages; /* in order of their ids */
    void *text;            /* the full-text index, made when first asked for; NULL */
};

/* Reads one page; `source` is kept. Everything but id and own is filled in. */
bool kb_page_parse(struct arena *arena, const struct source *source, struct kb_page *page,
                   struct error *error);

/* SMELT_KB_HOME, else kb beside the executable's folder (build tree), else the installed one; NULL:
 * none. */
const char *kb_home(struct arena *arena);
/*
 * The built-in folder, then those of the file kb.folders in the configuration (a folder per line,
 * # begins a comment), of SMELT_KB (separated by colons), and `more`. Pages that cannot be read are
 * added to errors and left out. Release it with kb_close.
 */
void kb_open(struct kb *kb, struct arena *arena, const char *const *more, size_t count,
             struct errors *errors);
void kb_close(struct kb *kb);
/* By id, or by the last part of it where only one page ends so. NULL: error has the nearest. */
const struct kb_page *kb_find(const struct kb *kb, const char *name, struct error *error);

struct kb_query {
    struct kb_words targets; /* any of these: "cpu:avx512", "cpu"; none: all */
    const char *diagnosis;   /* "memory"; NULL: any */
    const char *structure;   /* "row", "contract+map"; NULL: any */
    const char *words;       /* in anybody's words; NULL: none */
};

struct kb_hit {
    const struct kb_page *page;
    double score;  /* only for ranking */
    double text;   /* 0..1: how well the words fit; 0: not at all */
    bool named[3]; /* target, diagnosis, structure: the page's head names it, beyond "any" */
};

/*
 * Pages that fit, best first; how many, up to `most`. Pages for other targets are left out, and so
 * are those that have none of the words, unless the head names diagnosis or structure. -1: error.
 */
int kb_search(struct kb *kb, const struct kb_query *query, struct kb_hit *hits, int most,
              struct error *error);
/* Whether a page is for this target, 0..1; 0: it is for another one. */
double kb_target_fit(const struct kb_page *page, const struct kb_words *targets);
bool kb_has_word(const struct kb_words *words, const char *word, size_t length);

#endif
