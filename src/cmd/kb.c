/*
 * smelt kb: what is known about writing fast kernels, listed, searched, shown, checked.
 */
#include "cmd/kb.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/page.h"
#include "record/search.h"
#include "skeleton/skeleton.h"

enum { HITS = 100, HITS_USUAL = 10 };

static const struct option options[] = {
    {.name = "target",
     .argument = "TARGET",
     .repeated = true,
     .help = "only what helps there: cpu, cpu:avx512, cuda, cuda:sm_90a, opencl, ..."},
    {.name = "diagnosis",
     .argument = "NAME",
     .help = "where this is the matter: memory, instruction, latency, precision, ..."},
    {.name = "structure", .argument = "WORD", .help = "for ops like this: row, contract, ..."},
    {.name = "most", .letter = 'n', .argument = "N", .help = "search: so many pages at most (10)"},
    {.name = "markdown", .help = "list: as kb/index.md, from which this is compared"},
    OPTION_KB,
    OPTION_JSON,
    {0},
};

static const struct example examples[] = {
    {"smelt kb list --target cpu --diagnosis memory", "pages about memory on processors"},
    {"smelt kb search bank conflicts --target cuda", "by what they say, best first"},
    {"smelt kb show streaming-stores", "one page"},
    {"smelt kb check", "compile or judge all code on all pages"},
    {"smelt kb list --kb ~/accelerator", "with pages of your own"},
    {0},
};

struct request {
    struct invocation *invocation;
    struct kb kb;
    struct kb_query query;
    int most;
};

void kb_given(struct invocation *invocation, struct kb *kb, struct errors *errors)
{
    struct kb_words folders = {0};
    size_t cursor = 0;
    for (const char *folder; (folder = option_next(invocation, "kb", &cursor));)
        vector_push(invocation->arena, &folders, folder);
    kb_open(kb, invocation->arena, folders.at, folders.count, errors);
}

/* ---- what is asked ---- */

static bool usage(struct invocation *invocation, const char *message, const char *hint)
{
    error_hint(errors_add(&invocation->errors, ERROR_USAGE, (struct place){0}, "%s", message), "%s",
               hint);
    return false;
}

static bool take_query(struct request *request)
{
    struct invocation *invocation = request->invocation;
    struct text words = text_new(invocation->arena);
    enum diagnosis_class ignored;
    size_t cursor = 0;
    const char *most = option_value(invocation, "most");
    char *end = NULL;
    long number = most ? strtol(most, &end, 10) : HITS_USUAL;
    if (most && (!*most || *end || number < 1 || number > HITS))
        return usage(invocation, arena_printf(invocation->arena, "--most cannot be '%s'", most),
                     "it is a number from 1 to 100");
    request->most = (int)number;
    for (const char *target; (target = option_next(invocation, "target", &cursor));)
        vector_push(invocation->arena, &request->query.targets, target);
    request->query.diagnosis = option_value(invocation, "diagnosis");
    request->query.structure = option_value(invocation, "structure");
    if (request->query.diagnosis && !diagnosis_parse(request->query.diagnosis, &ignored))
        return usage(
            invocation,
            arena_printf(invocation->arena, "there is no diagnosis '%s'", request->query.diagnosis),
            "compile, launch, bounds, values, precision, race, hang, memory, instruction "
            "or latency");
    for (size_t i = 1; i < invocation->operands.count; i++)
        text_printf(&words, "%s%s", i > 1 ? " " : "", invocation->operands.at[i]);
    request->query.words = words.length ? words.at : NULL;
    return true;
}

/* ---- answers ---- */

static void print_words(struct text *out, const struct kb_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        text_printf(out, "%s%s", i ? " " : "", words->at[i]);
}

static void write_words(struct json *json, const char *key, const struct kb_words *words)
{
    json_array(json, key);
    for (size_t i = 0; i < words->count; i++)
        json_string(json, NULL, words->at[i]);
    json_end(json);
}

static void write_page(struct json *json, const struct kb_page *page)
{
    json_string(json, "page", page->id);
    json_string(json, "title", page->title);
    write_words(json, "targets", &page->targets);
    write_words(json, "diagnosis", &page->diagnoses);
    write_words(json, "structures", &page->structures);
    write_words(json, "words", &page->words);
    json_string(json, "file", page->source->name);
    json_bool(json, "own", page->own);
    json_string(json, "lead", page->lead);
}

static enum exit_code write_hits(struct request *request, const struct kb_hit *hits, int count)
{
    struct invocation *invocation = request->invocation;
    struct text out = text_new(invocation->arena);
    struct json json = output_json_begin(invocation, &out);
    json_array(&json, "pages");
    for (int i = 0; i < count; i++) {
        json_object(&json, NULL);
        write_page(&json, hits[i].page);
        if (request->query.words)
            json_double(&json, "score", hits[i].score);
        json_end(&json);
    }
    json_end(&json);
    enum exit_code code = output_json_end(invocation, &json);
    return count ? code : exit_worse(code, EXIT_NO);
}

static void print_cell(struct text *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            text_char(out, '\\');
        text_char(out, *text);
    }
}

/* kb/index.md: what a model or a person reads to know what there is to read. */
static void print_index(struct text *out, const struct kb *kb)
{
    const char *folder = "";
    size_t length = 0;
    text_add(out, "# What is known about fast kernels\n\n"
                  "<!-- Made by `smelt kb list --markdown`; a test compares. Do not edit. -->\n\n"
                  "Each page is short and says for what it is good: on which targets, when which "
                  "diagnosis was\nmade, for which structure of ops. `smelt kb search WORDS` finds "
                  "pages, `smelt kb show PAGE` prints\none, `smelt kb check` compiles or judges "
                  "all code on them.\n");
    for (size_t i = 0; i < kb->pages.count; i++) {
        const struct kb_page *page = &kb->pages.at[i];
        const char *last = strrchr(page->id, '/');
        size_t own = last ? (size_t)(last - page->id) : 0;
        if (i == 0 || own != length || memcmp(folder, page->id, own) != 0) {
            folder = page->id;
            length = own;
            text_printf(out, "\n## %.*s\n\n| page | about | diagnosis | structures | targets |\n",
                        (int)own, page->id);
            text_add(out, "|---|---|---|---|---|\n");
        }
        text_printf(out, "| [%s](%s.md) | ", last ? last + 1 : page->id, page->id);
        print_cell(out, page->title);
        text_add(out, " | ");
        print_words(out, &page->diagnoses);
        text_add(out, " | ");
        print_words(out, &page->structures);
        text_add(out, " | ");
        print_words(out, &page->targets);
        text_add(out, " |\n");
    }
}

static void print_list(struct invocation *invocation, const struct kb_hit *hits, int count)
{
    struct text out = text_new(invocation->arena);
    int width = 0;
    for (int i = 0; i < count; i++) {
        int length = (int)strlen(hits[i].page->id);
        width = length > width ? length : width;
    }
    for (int i = 0; i < count; i++) {
        const struct kb_page *page = hits[i].page;
        text_printf(&out, "%s%-*s%s  %s\n", output_bold(invocation), width, page->id,
                    output_plain(invocation), page->title);
    }
    output_text(&out);
}

static enum exit_code do_list(struct request *request)
{
    struct invocation *invocation = request->invocation;
    const struct kb *kb = &request->kb;
    if (option_given(invocation, "markdown")) {
        struct text out = text_new(invocation->arena);
        print_index(&out, kb);
        output_text(&out);
        return EXIT_YES;
    }
    struct kb_hit *hits = arena_array(invocation->arena, kb->pages.count + 1, sizeof *hits);
    int count = 0;
    for (size_t i = 0; i < kb->pages.count; i++) {
        const struct kb_page *page = &kb->pages.at[i];
        const char *diagnosis = request->query.diagnosis, *structure = request->query.structure;
        if (kb_target_fit(page, &request->query.targets) > 0 &&
            (!diagnosis || kb_has_word(&page->diagnoses, diagnosis, strlen(diagnosis))) &&
            (!structure || kb_has_word(&page->structures, structure, strlen(structure))))
            hits[count++].page = page;
    }
    if (invocation->json)
        return write_hits(request, hits, count);
    print_list(invocation, hits, count);
    if (count == 0)
        output_note(invocation, "no page is about that; smelt kb list has them all");
    return count ? EXIT_YES : EXIT_NO;
}

static void print_hit(struct text *out, const struct invocation *invocation,
                      const struct kb_page *page)
{
    text_printf(out, "%s%s%s  %s\n", output_bold(invocation), page->id, output_plain(invocation),
                page->title);
    page_wrap(out, page->lead, 4);
}

static enum exit_code do_search(struct request *request)
{
    struct invocation *invocation = request->invocation;
    struct kb_hit hits[HITS];
    struct error error = {0};
    const struct kb_query *query = &request->query;
    if (!query->words && !query->diagnosis && !query->structure) {
        usage(invocation, "there is nothing to search for",
              "smelt kb search WORDS, --diagnosis or --structure");
        return EXIT_USAGE;
    }
    int count = kb_search(&request->kb, query, hits, request->most, &error);
    if (count < 0) {
        errors_take(&invocation->errors, &error);
        return EXIT_ENVIRONMENT;
    }
    if (invocation->json)
        return write_hits(request, hits, count);
    struct text out = text_new(invocation->arena);
    for (int i = 0; i < count; i++)
        print_hit(&out, invocation, hits[i].page);
    output_text(&out);
    if (count == 0)
        output_note(invocation, "no page has these words; smelt kb list has all titles");
    return count ? EXIT_YES : EXIT_NO;
}

static enum exit_code do_show(struct request *request)
{
    struct invocation *invocation = request->invocation;
    struct text out = text_new(invocation->arena);
    struct error error = {0};
    const struct kb_page *page = kb_find(&request->kb, invocation->operands.at[1], &error);
    if (!page) {
        errors_take(&invocation->errors, &error);
        return EXIT_NO;
    }
    if (invocation->json) {
        struct json json = output_json_begin(invocation, &out);
        write_page(&json, page);
        json_string(&json, "text", page->body);
        return output_json_end(invocation, &json);
    }
    text_printf(&out, "%s%s%s\n", output_bold(invocation), page->title, output_plain(invocation));
    text_add(&out, "targets ");
    print_words(&out, &page->targets);
    text_add(&out, "; diagnosis ");
    print_words(&out, &page->diagnoses);
    text_add(&out, "; structures ");
    print_words(&out, &page->structures);
    text_printf(&out, "\n\n%s", page->body + strspn(page->body, "\n"));
    output_text(&out);
    return EXIT_YES;
}

/* ---- check ---- */

struct counts {
    int good, bad, skipped;
};

static void report(struct request *request, struct json *json, const struct kb_page *page,
                   const struct kb_snippet *snippet, const struct kb_finding *found)
{
    static const char *const states[] = {"ok", "bad", "skipped"};
    struct line_column at = source_locate(page->source, snippet->offset);
    if (json) {
        json_object(json, NULL);
        json_string(json, "page", page->id);
        json_int(json, "line", (int64_t)at.line);
        json_string(json, "check", found->how);
        json_string(json, "state", states[found->state]);
        json_string(json, "reason", found->what);
        json_end(json);
    } else if (found->state == KB_SKIPPED) {
        output_printf("skip %s:%zu (%s): %s\n", page->id, at.line, found->how, found->what);
    } else if (found->state == KB_BAD) {
        struct place place = {page->source, snippet->offset, 0};
        struct error *error = errors_add(&request->invocation->errors, ERROR_KB_SNIPPET, place,
                                         "this is not what '%s' says", found->how);
        char *words = arena_string(request->invocation->arena, found->what);
        for (char *end; (end = strchr(words, '\n'));)
            *end = ' ';
        error_hint(error, "%.300s", words);
    }
}

/* Words of the head that nobody would ever ask for. */
static bool check_head(struct request *request, const struct kb_page *page)
{
    static const char *const shapes[] = {"any", "scatter", "seq", NULL};
    struct errors *errors = &request->invocation->errors;
    struct place place = {page->source, 0, 3};
    size_t before = errors->said;
    enum diagnosis_class ignored;
    for (size_t i = 0; i < page->diagnoses.count; i++)
        if (strcmp(page->diagnoses.at[i], "any") != 0 &&
            !diagnosis_parse(page->diagnoses.at[i], &ignored))
            errors_add(errors, ERROR_KB_PAGE, place, "there is no diagnosis '%s'",
                       page->diagnoses.at[i]);
    for (size_t i = 0; i < page->structures.count; i++) {
        bool known = skeleton_find(NULL, page->structures.at[i]) != NULL;
        for (const char *const *shape = shapes; *shape; shape++)
            known = known || strcmp(*shape, page->structures.at[i]) == 0;
        if (!known)
            errors_add(errors, ERROR_KB_PAGE, place, "there is no structure '%s'",
                       page->structures.at[i]);
    }
    return errors->said == before;
}

static void check_page(struct request *request, const struct kb_page *page, struct json *json,
                       struct counts *counts)
{
    if (!check_head(request, page))
        counts->bad++;
    for (size_t i = 0; i < page->snippets.count; i++) {
        const struct kb_snippet *snippet = &page->snippets.at[i];
        if (snippet->check.count == 0 && strcmp(snippet->language, "text") == 0)
            continue;
        struct kb_finding found = kb_check_snippet(request->invocation, page, snippet);
        counts->good += found.state == KB_GOOD;
        counts->bad += found.state == KB_BAD;
        counts->skipped += found.state == KB_SKIPPED;
        report(request, json, page, snippet, &found);
    }
}

static enum exit_code do_check(struct request *request)
{
    struct invocation *invocation = request->invocation;
    struct text out = text_new(invocation->arena);
    struct json storage = {0}, *json = NULL;
    struct counts counts = {.bad = (int)invocation->errors.said};
    struct error error = {0};
    if (invocation->json) {
        storage = output_json_begin(invocation, &out);
        json = &storage;
        json_array(json, "snippets");
    }
    for (size_t i = 1; i < invocation->operands.count; i++) {
        const struct kb_page *page = kb_find(&request->kb, invocation->operands.at[i], &error);
        if (page)
            check_page(request, page, json, &counts);
        else
            errors_take(&invocation->errors, &error);
    }
    for (size_t i = 0; invocation->operands.count == 1 && i < request->kb.pages.count; i++)
        check_page(request, &request->kb.pages.at[i], json, &counts);
    if (json) {
        json_end(json);
        return exit_worse(output_json_end(invocation, json), counts.bad ? EXIT_NO : EXIT_YES);
    }
    output_printf("%d passed, %d failed, %d skipped\n", counts.good, counts.bad, counts.skipped);
    return counts.bad ? EXIT_NO : EXIT_YES;
}

/* ---- the command ---- */

static const struct action {
    const char *name;
    int least, most; /* words after it; -1: any number */
    enum exit_code (*run)(struct request *request);
} actions[] = {
    {"list", 0, 0, do_list},
    {"search", 0, -1, do_search},
    {"show", 1, 1, do_show},
    {"check", 0, -1, do_check},
};

static enum exit_code run(struct invocation *invocation)
{
    struct request request = {.invocation = invocation};
    const char *name = invocation->operands.at[0];
    int words = (int)invocation->operands.count - 1;
    const struct action *action = NULL;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, name) == 0)
            action = &actions[i];
    if (!action || words < action->least || (action->most >= 0 && words > action->most)) {
        usage(invocation,
              action ? arena_printf(invocation->arena, "kb %s takes %s", name,
                                    action->most == 0 ? "no words" : "one page")
                     : arena_printf(invocation->arena, "kb cannot '%s'", name),
              "list, search WORDS, show PAGE or check [PAGE...]");
        return EXIT_USAGE;
    }
    if (!take_query(&request))
        return EXIT_USAGE;
    kb_given(invocation, &request.kb, &invocation->errors);
    enum exit_code code = action->run(&request);
    kb_close(&request.kb);
    return code;
}

const struct command command_kb = {
    .name = "kb",
    .summary = "list, search, show or check what is known about fast kernels",
    .operands = "list|search|show|check [WORD...]",
    .least = 1,
    .most = -1,
    .description =
        "The knowledge base is a folder of short pages: rules, guidance by what bounds a kernel, "
        "hardware. Each says in its head for which targets, diagnoses and structures of ops it is; "
        "that is what `--target`, `--diagnosis` and `--structure` ask for. A search goes by the "
        "heads first, then by the words in titles and text, best first.\n\n"
        "Folders of your own are added by --kb, by SMELT_KB (separated by colons) and by the file "
        "kb.folders in ~/.config/smelt (a folder per line); a page of the same name takes the "
        "place of ours. docs/kb.md says how pages are written.\n\n"
        "`check` compiles or judges the code on pages as its first line says, and passes over what "
        "there is no compiler or machine for.",
    .options = options,
    .examples = examples,
    .run = run,
};
