/*
 * Finding pages: the heads first (target, diagnosis, structure), then the text, by SQLite's
 * full-text index (FTS5) in memory. It is made anew for each process: pages are few and short.
 */
#include <ctype.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "know/kb.h"

/* What a head that names it is worth, against words that fit as well as any page's: 1.5. */
static const double DIAGNOSIS_WORTH = 2, STRUCTURE_WORTH = 1.5, TEXT_WORTH = 1.5, ANY_PART = 0.4;
static const double FAMILY = 0.9, EVERYBODY = 0.8, SPECIAL = 0.7;

bool kb_has_word(const struct kb_words *words, const char *word, size_t length)
{
    for (size_t i = 0; i < words->count; i++)
        if (strlen(words->at[i]) == length && memcmp(words->at[i], word, length) == 0)
            return true;
    return false;
}

/* ---- heads ---- */

static double fit_of(const char *page, const char *wanted)
{
    size_t page_family = strcspn(page, ":"), wanted_family = strcspn(wanted, ":");
    if (strcmp(page, "any") == 0)
        return EVERYBODY;
    if (strcmp(page, wanted) == 0)
        return 1;
    if (page_family != wanted_family || memcmp(page, wanted, page_family) != 0)
        return 0;
    if (!page[page_family])
        return FAMILY;
    return wanted[wanted_family] ? 0 : SPECIAL;
}

double kb_target_fit(const struct kb_page *page, const struct kb_words *targets)
{
    double best = targets->count == 0;
    for (size_t i = 0; i < targets->count; i++)
        for (size_t k = 0; k < page->targets.count; k++) {
            double fit = fit_of(page->targets.at[k], targets->at[i]);
            best = fit > best ? fit : best;
        }
    return best;
}

/* `wanted` may be several words joined by + and end with ":..." as structures of ops do. */
static double key_fit(const struct kb_words *words, const char *wanted, bool *named)
{
    *named = false;
    for (const char *at = wanted; at && *at && *at != ':';) {
        size_t length = strcspn(at, "+:");
        *named = *named || kb_has_word(words, at, length);
        at += length + (at[length] == '+');
    }
    return *named ? 1 : wanted && kb_has_word(words, "any", 3) ? ANY_PART : 0;
}

/* ---- text ---- */

static bool database_fail(sqlite3 *database, struct error *error)
{
    return error_set(error, ERROR_STORE_FAILED, "the knowledge base could not be searched: %s",
                     database ? sqlite3_errmsg(database) : "no memory");
}

static bool fill(sqlite3 *database, const struct kb *kb, struct error *error)
{
    sqlite3_stmt *insert = NULL;
    bool good =
        sqlite3_exec(database,
                     "PRAGMA journal_mode=OFF;"
                     "CREATE VIRTUAL TABLE page USING fts5(title, words, body, content='', "
                     "tokenize='porter unicode61');BEGIN",
                     NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(database, "INSERT INTO page(rowid, title, words, body) VALUES (?,?,?,?)",
                           -1, &insert, NULL) == SQLITE_OK;
    for (size_t i = 0; good && i < kb->pages.count; i++) {
        const struct kb_page *page = &kb->pages.at[i];
        struct text words = text_new(kb->arena);
        text_printf(&words, "%s", page->id);
        for (size_t k = 0; k < page->words.count; k++)
            text_printf(&words, " %s", page->words.at[k]);
        sqlite3_bind_int64(insert, 1, (sqlite3_int64)i + 1);
        sqlite3_bind_text(insert, 2, page->title, -1, SQLITE_STATIC);
        sqlite3_bind_text(insert, 3, words.at, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(insert, 4, page->body, -1, SQLITE_STATIC);
        good = sqlite3_step(insert) == SQLITE_DONE && sqlite3_reset(insert) == SQLITE_OK;
    }
    good = good && sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
    if (!good)
        database_fail(database, error);
    sqlite3_finalize(insert);
    return good;
}

static sqlite3 *database_of(struct kb *kb, struct error *error)
{
    sqlite3 *database = kb->text;
    if (database)
        return database;
    if (sqlite3_open(":memory:", &database) != SQLITE_OK || !fill(database, kb, error)) {
        if (!error->code)
            database_fail(database, error);
        sqlite3_close(database);
        return NULL;
    }
    kb->text = database;
    return database;
}

void kb_close(struct kb *kb)
{
    sqlite3_close(kb->text);
    kb->text = NULL;
}

/* Whatever was typed as a question of FTS5: each word in quotes, any of them. */
static const char *question_of(struct arena *arena, const char *words)
{
    struct text out = text_new(arena);
    int count = 0;
    for (const char *at = words; *at && count < KB_WORDS;) {
        size_t length = 0;
        while (at[length] && (isalnum((unsigned char)at[length]) || at[length] == '_' ||
                              (unsigned char)at[length] > 127))
            length++;
        if (length && length <= KB_WORD_LENGTH)
            text_printf(&out, "%s\"%.*s\"", count++ ? " OR " : "", (int)length, at);
        at += length ? length : 1;
    }
    return count ? out.at : NULL;
}

/* How well the words fit each page, 1 for the page they fit best. */
static bool rank_text(struct kb *kb, const char *words, double *fits, struct error *error)
{
    const char *question = question_of(kb->arena, words);
    sqlite3_stmt *select = NULL;
    double best = 0;
    sqlite3 *database = question ? database_of(kb, error) : NULL;
    if (!question)
        return true;
    if (!database || sqlite3_prepare_v2(database,
                                        "SELECT rowid, -bm25(page, 10.0, 6.0, 1.0) FROM page WHERE "
                                        "page MATCH ? ORDER BY 2 DESC",
                                        -1, &select, NULL) != SQLITE_OK)
        return database && database_fail(database, error);
    sqlite3_bind_text(select, 1, question, -1, SQLITE_STATIC);
    int state;
    while ((state = sqlite3_step(select)) == SQLITE_ROW) {
        sqlite3_int64 row = sqlite3_column_int64(select, 0);
        double score = sqlite3_column_double(select, 1);
        best = best > 0 ? best : score;
        if (row >= 1 && (size_t)row <= kb->pages.count && best > 0)
            fits[row - 1] = score > 1e-9 ? score / best : 1e-9;
    }
    if (state != SQLITE_DONE)
        database_fail(database, error);
    sqlite3_finalize(select);
    return state == SQLITE_DONE;
}

/* ---- both ---- */

static int compare_hits(const void *a, const void *b)
{
    const struct kb_hit *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return strcmp(x->page->id, y->page->id);
}

static bool rate(const struct kb_query *query, const struct kb_page *page, double text,
                 struct kb_hit *hit)
{
    double target = kb_target_fit(page, &query->targets);
    double diagnosis = key_fit(&page->diagnoses, query->diagnosis, &hit->named[1]);
    double structure = key_fit(&page->structures, query->structure, &hit->named[2]);
    hit->page = page;
    hit->text = text;
    hit->named[0] = query->targets.count && target > 0 && target != EVERYBODY;
    hit->score =
        target * (DIAGNOSIS_WORTH * diagnosis + STRUCTURE_WORTH * structure + TEXT_WORTH * text);
    bool asked = query->diagnosis || query->structure || query->words;
    return target > 0 && (!asked || text > 0 || hit->named[1] || hit->named[2]);
}

int kb_search(struct kb *kb, const struct kb_query *query, struct kb_hit *hits, int most,
              struct error *error)
{
    size_t count = kb->pages.count, found = 0;
    double *fits = arena_array(kb->arena, count + 1, sizeof *fits);
    struct kb_hit *all = arena_array(kb->arena, count + 1, sizeof *all);
    if (query->words && !rank_text(kb, query->words, fits, error))
        return -1;
    for (size_t i = 0; i < count; i++)
        found += rate(query, &kb->pages.at[i], fits[i], &all[found]);
    if (found)
        qsort(all, found, sizeof *all, compare_hits);
    int kept = found < (size_t)most ? (int)found : most;
    for (int i = 0; i < kept; i++)
        hits[i] = all[i];
    return kept;
}
