/*
 * How long questions about a large store take: store SMELT
 *
 * A store with one run of 100,000 candidates is made, each with a plan, a kernel and a verdict of
 * its own, and asked for its runs, its best, the run and a candidate.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/store.h"

enum { CANDIDATES = 100000, RUNS = 15, PROMISED_MS = 300 };

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* ---- the store ---- */

/* Every insert of a run is a transaction of its own; here all are one, by the same schema. */
static const char fill[] =
    "BEGIN;"
    "INSERT OR IGNORE INTO object SELECT lower(hex(sha)), text FROM (WITH RECURSIVE n(i) AS"
    " (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT"
    " CAST(printf('%032d', i) AS BLOB) AS sha, printf('%.*c', 900 + i % 2000, 'k') AS text FROM n);"
    "INSERT INTO candidate (run, parent, other_parent, proposer, action, why, island, plan, kernel,"
    " binary, proposed, judged, outcome, fitness, microseconds, floor, verdict, diagnosis, note)"
    " SELECT 1, max(1, i / 3), 0, 'expert:memory', 'y.lanes 8 -> 16', 'wider vectors', i % 4,"
    " lower(hex(printf('%032d', 3 * i))), lower(hex(printf('%032d', 3 * i + 1))),"
    " lower(hex(printf('%032d', i))), i * 0.2, 1, CASE WHEN i % 9 THEN 'ok' ELSE 'wrong' END,"
    " CASE WHEN i % 9 THEN 1 + (i * 7919 % 100003) / 100003.0 ELSE 0 END, 100.0, 40.0,"
    " lower(hex(printf('%032d', 3 * i + 2))), 'memory', 'moving its bytes takes 71 % of the time'"
    " FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
    " SELECT i FROM n);"
    "UPDATE run SET best = (SELECT id FROM candidate ORDER BY fitness DESC LIMIT 1);"
    "COMMIT;";

static int make(const char *path)
{
    struct error error = {0};
    struct run run = {.task = "large", .target = "cpu", .settings = "", .state = RUN_DONE};
    struct store *store = store_sqlite.open(path, false, &error);
    if (!store || !store_sqlite.run_add(store, &run, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    /* the best has a kernel that can be printed */
    char hash[65];
    if (!store_sqlite.object_put(store, "// smelt kernel 1\n", 18, hash, &error))
        return 1;
    store_sqlite.close(store);
    sqlite3 *database;
    char *said = NULL;
    if (sqlite3_open(path, &database) != SQLITE_OK ||
        sqlite3_exec(database, fill, NULL, NULL, &said) != SQLITE_OK) {
        fprintf(stderr, "%s\n", said ? said : "could not open");
        return 1;
    }
    char *update = sqlite3_mprintf("UPDATE candidate SET kernel = %Q, plan = %Q WHERE id ="
                                   " (SELECT best FROM run)",
                                   hash, hash);
    int bad = sqlite3_exec(database, update, NULL, NULL, NULL) != SQLITE_OK;
    sqlite3_free(update);
    sqlite3_close(database);
    return bad;
}

/* ---- questions ---- */

static double time_once(char *const *arguments)
{
    double start = now_ms();
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        dup2(nowhere, 1);
        dup2(nowhere, 2);
        execv(arguments[0], arguments);
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
        return -1;
    return now_ms() - start;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void row(char *smelt, char *store, const char *what, char *const *words)
{
    char *arguments[8] = {smelt};
    double times[RUNS];
    int count = 1;
    for (; words[count - 1]; count++)
        arguments[count] = words[count - 1];
    arguments[count++] = "--store";
    arguments[count] = store;
    for (int i = 0; i < RUNS; i++) {
        times[i] = time_once(arguments);
        if (times[i] < 0) {
            printf("%s | failed | < %d ms | NO\n", what, PROMISED_MS);
            return;
        }
    }
    qsort(times, RUNS, sizeof *times, compare);
    printf("%s | %.1f ms | < %d ms | %s\n", what, times[RUNS / 2], PROMISED_MS,
           times[RUNS / 2] < PROMISED_MS ? "yes" : "NO");
}

int main(int count, char **words)
{
    char folder[] = "/tmp/smelt-bench-XXXXXX", path[64];
    if (count < 2 || !mkdtemp(folder))
        return 3;
    snprintf(path, sizeof path, "%s/store.db", folder);
    int bad = make(path);
    if (!bad) {
        row(words[1], path, "100,000 candidates: smelt runs", (char *[]){"runs", NULL});
        row(words[1], path, "100,000 candidates: smelt show", (char *[]){"show", "last", NULL});
        row(words[1], path, "100,000 candidates: smelt show of a candidate",
            (char *[]){"show", "50000", "--candidate", "--json", NULL});
        row(words[1], path, "100,000 candidates: smelt best", (char *[]){"best", "last", NULL});
    }
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        char file[80];
        snprintf(file, sizeof file, "%s%s", path, ends[i]);
        unlink(file);
    }
    rmdir(folder);
    return bad;
}
