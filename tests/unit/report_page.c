/*
 * The report: nothing from outside breaks out of the text it belongs to, a long run makes no long
 * page, and what a reader looks for is there. JSON that is read back.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_read.h"
#include "report/report.h"
#include "test.h"

static char folder[] = "/tmp/smelt-report-XXXXXX";
static char file[64];

/* Whoever sees one of these words inside of a tag has been broken into. */
static const char hostile[] = "</title></script><script>evil()</script>' onload='evil()\" "
                              "onload=\"evil()<img src=x onerror=evil()>&lt;\x01\xff\xe2\x80\xae*/";

static void remove_folder(void)
{
    char name[80];
    static const char *const endings[] = {"", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", file, endings[i]);
        unlink(name);
    }
    rmdir(folder);
}

static struct store *open_store(void)
{
    struct error error = {0};
    CHECK(mkdtemp(folder) != NULL);
    snprintf(file, sizeof file, "%s/store.db", folder);
    atexit(remove_folder);
    struct store *store = store_sqlite.open(file, false, &error);
    CHECK(store != NULL);
    return store;
}

/* A run in which everything that is text is the word. */
static struct run fill(struct arena *arena, struct store *store, const char *word, int count)
{
    struct error error = {0};
    char kernel[65], plan[65], verdict[65];
    struct text text = text_new(arena);
    text_printf(&text, "// op %s T=f32\n/* %s */ int x = 'a'; \"%s\n", word, word, word);
    CHECK(store_sqlite.object_put(store, text.at, text.length, kernel, &error));
    CHECK(store_sqlite.object_put(store, word, strlen(word), plan, &error));
    text_truncate(&text, 0);
    struct json json = json_new(&text, 0);
    json_object(&json, NULL);
    json_array(&json, "verdicts");
    json_object(&json, NULL);
    json_string(&json, "compiler", word);
    json_array(&json, "cases");
    json_object(&json, NULL);
    json_string(&json, "case", word);
    json_string(&json, "outcome", word);
    json_object(&json, "microseconds");
    json_double(&json, "middle", 12.5);
    json_end(&json);
    json_double(&json, "gigaflops", 8);
    json_double(&json, "gigabytes_per_second", 4);
    json_array(&json, "speedups");
    json_object(&json, NULL);
    json_string(&json, "baseline", word);
    json_double(&json, "microseconds", 50);
    json_object(&json, "ratio");
    json_double(&json, "low", 3.5);
    json_double(&json, "middle", 4);
    json_double(&json, "high", 4.5);
    for (int i = 0; i < 7; i++)
        json_end(&json);
    json_object(&json, "diagnosis");
    json_array(&json, "actions");
    json_string(&json, NULL, word);
    for (int i = 0; i < 3; i++)
        json_end(&json);
    CHECK(store_sqlite.object_put(store, text.at, text.length, verdict, &error));
    struct run run = {.task = word,
                      .target = word,
                      .signature = "here",
                      .settings = arena_printf(arena, "%s\n--threads=2\n", word),
                      .started = 1,
                      .seconds = 10};
    CHECK(store_sqlite.run_add(store, &run, &error));
    for (int i = 0; i < count; i++) {
        struct candidate candidate = {.run = run.id,
                                      .proposer = i ? word : "seed",
                                      .action = word,
                                      .why = word,
                                      .plan = plan,
                                      .kernel = kernel,
                                      .verdict = verdict,
                                      .judged = true,
                                      .outcome = i % 5 == 4 ? OUTCOME_WRONG : OUTCOME_OK,
                                      .fitness = i % 5 == 4 ? 0 : 1 + 3.0 * i / count,
                                      .microseconds = 12.5,
                                      .floor = 5,
                                      .proposed = 0.1 * i,
                                      .settled = 0.1 * i + 50,
                                      .diagnosis = DIAGNOSIS_MEMORY,
                                      .note = word};
        candidate.parents[0] = i ? (i + 1) / 2 : 0;
        CHECK(store_sqlite.candidate_add(store, &candidate, &error));
        CHECK(store_sqlite.candidate_judge(store, &candidate, &error));
    }
    return run;
}

static struct text write_page(struct arena *arena, struct store *store, const struct run *run)
{
    struct error error = {0};
    static struct machine machine = {.id = "here", .model = "a machine"};
    static struct rates rates;
    for (int crew = 0; crew < MACHINE_CREW_COUNT; crew++) { /* devices have one */
        rates.bandwidth[crew][MACHINE_MEMORY][MACHINE_READ] = 1e10;
        rates.compute[crew][MACHINE_UNIT_AVX2][MACHINE_F32] = 1e11;
    }
    struct report_subject subject = {.engine = &store_sqlite,
                                     .store = store,
                                     .run = *run,
                                     .machine = &machine,
                                     .rates = &rates,
                                     .program = "smelt test"};
    struct text page = text_new(arena);
    CHECK(report_write(arena, &subject, &page, &error));
    return page;
}

/* Every tag is one that the page is made of, and none has a word from outside in it. */
static void check_tags(const char *page)
{
    static const char *const known[] = {
        "!doctype", "html", "head", "meta",  "title", "style",   "body",    "main",
        "header",   "p",    "span", "h1",    "h2",    "h3",      "section", "div",
        "table",    "tr",   "td",   "th",    "svg",   "path",    "text",    "circle",
        "i",        "b",    "em",   "small", "ol",    "ul",      "li",      "pre",
        "code",     "dl",   "dt",   "dd",    "br",    "details", "summary"};
    for (const char *at = page; (at = strchr(at, '<')); at++) {
        const char *name = at + 1 + (at[1] == '/'), *end = strchr(at, '>');
        size_t length = strcspn(name, " />\n");
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            found |= strlen(known[i]) == length && memcmp(known[i], name, length) == 0;
        if (!found || !end)
            test_fail(__FILE__, __LINE__, "a tag that is not ours: %.40s", at);
        for (const char *inside = at; inside < end; inside++)
            CHECK(strncmp(inside, "evil", 4) != 0 && strncmp(inside, "http:", 5) != 0);
    }
    CHECK(!strstr(page, "<script") && !strstr(page, "src=x onerror=evil()>"));
}

/* Names, comments and messages that try to become tags are shown as the text they are. */
TEST(report_escapes_what_comes_from_outside)
{
    struct arena arena = {0};
    struct store *store = open_store();
    struct run run = fill(&arena, store, hostile, 12);
    struct text page = write_page(&arena, store, &run);
    check_tags(page.at);
    CHECK(strstr(page.at, "&lt;script&gt;evil()&lt;/script&gt;&#39; onload=&#39;evil()&quot;"));
    CHECK(strlen(page.at) == page.length);
    for (size_t i = 0; i < page.length;) { /* a browser is told that it is UTF-8 */
        size_t length = text_utf8(page.at + i, page.length - i);
        CHECK(length > 0);
        i += length;
    }
    store_sqlite.close(store);
}

TEST(report_has_what_a_reader_looks_for)
{
    struct arena arena = {0};
    struct store *store = open_store();
    struct run run = fill(&arena, store, "softmax rows", 12);
    struct text page = write_page(&arena, store, &run);
    static const char *const wanted[] = {"default-src 'none'",
                                         "<h1>softmax rows</h1>",
                                         "95&nbsp;% interval 3.5 to 4.5",
                                         "How it got there",
                                         "The steps to the best",
                                         "aria-label='roofline'",
                                         "the graph of candidates",
                                         "Outcomes",
                                         "smelt run &#39;softmax rows&#39; --threads=2",
                                         "The evidence",
                                         "smelt resume 1"};
    check_tags(page.at);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (!strstr(page.at, wanted[i]))
            test_fail(__FILE__, __LINE__, "the page has no %s", wanted[i]);
    /* dots stand where verdicts came, 50 s after the proposals: on the right */
    const char *dot = strstr(page.at, "aria-label='speed-up over time'");
    dot = dot ? strstr(dot, "<circle class='dot") : NULL;
    dot = dot ? strstr(dot, "cx='") : NULL;
    CHECK(dot && strtod(dot + 4, NULL) > 300);
    store_sqlite.close(store);
}

/* A page of a long run is still one that can be mailed. */
TEST(report_of_a_long_run_is_not_long)
{
    struct arena arena = {0};
    struct store *store = open_store();
    struct run run = fill(&arena, store, "long", 6000);
    struct text page = write_page(&arena, store, &run);
    CHECK(page.length < 1200000);
    CHECK(strstr(page.at, "Of 6000 candidates the best are drawn"));
    store_sqlite.close(store);
}

TEST(report_of_a_run_without_candidates)
{
    struct arena arena = {0};
    struct store *store = open_store();
    struct run run = fill(&arena, store, "nothing", 0);
    struct text page = write_page(&arena, store, &run);
    check_tags(page.at);
    CHECK(strstr(page.at, "Nothing right was found."));
    store_sqlite.close(store);
}

/* ---- JSON ---- */

TEST(json_reads_what_it_writes)
{
    struct arena arena = {0};
    struct text text = text_new(&arena);
    struct json json = json_new(&text, 2);
    json_object(&json, NULL);
    json_string(&json, "name", "a \"b\" \\ \n \xe2\x82\xac \x01");
    json_double(&json, "number", -1.25e-7);
    json_double(&json, "infinite", INFINITY);
    json_bool(&json, "yes", true);
    json_null(&json, "none");
    json_array(&json, "list");
    json_int(&json, NULL, 1);
    json_int(&json, NULL, 2);
    json_end(&json);
    json_end(&json);
    const struct json_value *value = json_read(&arena, text.at, text.length);
    CHECK(value != NULL);
    CHECK_STR(json_text(value, "name"), "a \"b\" \\ \n \xe2\x82\xac \x01");
    CHECK_DOUBLE(json_number(value, "number"), -1.25e-7);
    CHECK(isinf(json_number(value, "infinite")) && isnan(json_number(value, "none")));
    CHECK(json_truth(value, "yes") && !json_truth(value, "name"));
    CHECK_DOUBLE(json_member(value, "list")->first->next->number, 2);
    CHECK(!json_member(NULL, "x") && !json_member(json_member(value, "list"), "x"));
}

TEST(json_refuses_what_is_none)
{
    static const char *const bad[] = {"",         "{",     "[1,]",     "{\"a\":1,}",  "01",
                                      "1.",       "nul",   "\"\\x\"",  "\"\\ud800\"", "[1] 2",
                                      "\"\xff\"", "{1:2}", "\"a\nb\"", "-",           "\"\\u12\""};
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (json_read(&arena, bad[i], strlen(bad[i])))
            test_fail(__FILE__, __LINE__, "taken for JSON: %s", bad[i]);
    char deep[2 * JSON_READ_DEPTH + 5];
    memset(deep, '[', sizeof deep);
    memset(deep + JSON_READ_DEPTH + 2, ']', JSON_READ_DEPTH + 2);
    CHECK(!json_read(&arena, deep, 2 * JSON_READ_DEPTH + 4));
    CHECK_STR(json_read(&arena, "\"\\ud83d\\ude00\\u0000\"", 20)->string,
              "\xf0\x9f\x98\x80\xef\xbf\xbd");
}
