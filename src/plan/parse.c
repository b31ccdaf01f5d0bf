/*
 * A plan read from text: line by line, each by what its first word says. All faults are found in
 * one go, each with its place and what to write instead.
 *
 *     plan TARGET MACHINE
 *     rewrite NAME STAGE [NUMBER]
 *     fix SIZE=NUMBER ...
 *     inline STAGE ...
 *     group NAME = STAGE ...  skeleton NAME
 *         KEY VALUE
 */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

enum { WORD_BYTES = 200 };

struct group_list VECTOR(struct plan_group);
struct decision_list VECTOR(struct plan_decision);
struct stage_list VECTOR(int);
struct fix_list VECTOR(struct plan_fix);
struct rewrite_list VECTOR(struct plan_rewrite);

struct plan_reader {
    struct arena *arena;
    const struct source *source;
    const struct ir_graph *graph;
    struct errors *errors;
    struct map stages; /* name -> number + 1 */
    const char **said; /* per stage: where it was put, or NULL */
    struct group_list groups;
    struct decision_list decisions; /* of the last group */
    struct stage_list inlined;
    struct fix_list fixes;
    struct rewrite_list rewrites;
    struct plan *plan;
    bool sick; /* the last group could not be read: what it decides is passed over */
    bool lost; /* a rewrite could not be made: what the rest is about is not known */
};

static struct error *fault(struct plan_reader *r, enum error_code code, struct place place,
                           const char *message)
{
    return errors_add(r->errors, code, place, "%s", message);
}

/* ---- words ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\0';
}

/* The next word of the line; length 0: there is none. */
static struct place next_word(struct place *line)
{
    const char *text = line->source->text;
    while (line->length && is_blank(text[line->offset]))
        line->offset++, line->length--;
    struct place word = *line;
    word.length = 0;
    while (word.length < line->length && !is_blank(text[word.offset + word.length]))
        word.length++;
    line->offset += word.length;
    line->length -= word.length;
    return word;
}

static const char *word_text(struct plan_reader *r, struct place word)
{
    return arena_copy(r->arena, word.source->text + word.offset, word.length);
}

static bool word_is(struct place word, const char *text)
{
    return word.length == strlen(text) &&
           memcmp(word.source->text + word.offset, text, word.length) == 0;
}

/* A place at the end of what was read, for what is missing there. */
static struct place line_end(const struct place *line)
{
    return (struct place){line->source, line->offset, 0};
}

static void expect_end(struct plan_reader *r, struct place *line)
{
    struct place word = next_word(line);
    if (word.length)
        fault(r, ERROR_PLAN_LINE, word, "nothing more is expected here");
}

/* ---- names ---- */

static void suggest(struct plan_reader *r, struct error *error, const char *name)
{
    size_t count = (size_t)r->graph->part->stage_count;
    const char *nearest = spelling_nearest(name, r->graph->names, count);
    if (nearest)
        error_hint(error, "did you mean '%s'?", nearest);
    else
        error_hint(error, "stages are named after the tensors they define: see smelt plan");
}

/* The number of a stage that is put somewhere now. */
static bool take_stage(struct plan_reader *r, struct place word, const char *where,
                       struct stage_list *list)
{
    const char *name = word_text(r, word);
    intptr_t number = (intptr_t)map_get(&r->stages, name);
    if (number == 0) {
        struct error *error =
            errors_add(r->errors, ERROR_PLAN_STAGE, word, "there is no stage '%s'", name);
        suggest(r, error, name);
        return false;
    }
    if (r->said[number - 1]) {
        struct error *error = errors_add(r->errors, ERROR_PLAN_REPEATED, word,
                                         "stage '%s' is %s already", name, r->said[number - 1]);
        error_hint(error, "each stage is in one group, or inlined");
        return false;
    }
    r->said[number - 1] = where;
    vector_push(r->arena, list, (int)number - 1);
    return true;
}

static int compare_stages(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void sort_stages(struct stage_list *list)
{
    if (list->count > 1)
        qsort(list->at, list->count, sizeof *list->at, compare_stages);
}

/* ---- lines ---- */

static void read_plan(struct plan_reader *r, struct place *line, struct place word)
{
    struct place target = next_word(line), machine = next_word(line);
    if (r->plan->target) {
        fault(r, ERROR_PLAN_REPEATED, word, "'plan' is said twice");
        return;
    }
    if (!target.length || !machine.length) {
        error_hint(fault(r, ERROR_PLAN_LINE, line_end(line), "what is the plan for?"),
                   "write: plan cpu avx512");
        r->plan->target = r->plan->machine = "";
        return;
    }
    r->plan->target = word_text(r, target);
    r->plan->machine = word_text(r, machine);
    r->plan->place = place_join(word, machine);
    expect_end(r, line);
}

/* The stages there are to name. */
static void know_stages(struct plan_reader *r)
{
    size_t count = (size_t)r->graph->part->stage_count;
    r->stages = map_new(r->arena);
    r->said = arena_array(r->arena, count + 1, sizeof *r->said);
    for (size_t i = 0; i < count; i++)
        map_set(&r->stages, r->graph->names[i], (void *)(intptr_t)(i + 1));
}

static void read_rewrite(struct plan_reader *r, struct place *line, struct place first)
{
    struct place name = next_word(line), stage = next_word(line), number = next_word(line);
    struct error error = {0};
    r->lost = true;
    if (!name.length || !stage.length) {
        error_hint(fault(r, ERROR_PLAN_LINE, first, "what is rewritten, and how?"),
                   "write: rewrite hoist s");
        return;
    }
    if (r->groups.count || r->inlined.count) {
        error_hint(fault(r, ERROR_PLAN_LINE, first, "rewrites stand before groups and inlining"),
                   "what follows them is about the program they make");
        return;
    }
    if (r->rewrites.count == PLAN_MAX_REWRITES) {
        fault(r, ERROR_PLAN_LIMIT, first, "there are too many rewrites");
        return;
    }
    const char *digits = word_text(r, number);
    if (number.length && (number.length > 9 || strspn(digits, "0123456789") != number.length ||
                          strtoll(digits, NULL, 10) == 0)) {
        fault(r, ERROR_PLAN_LINE, number, "this is no number");
        return;
    }
    struct plan_rewrite rewrite = {.name = word_text(r, name),
                                   .stage = word_text(r, stage),
                                   .number = strtoll(digits, NULL, 10),
                                   .place = place_join(first, number.length ? number : stage)};
    const struct ir_graph *graph = plan_rewrite(r->arena, r->graph, &rewrite, &error);
    if (!graph) {
        errors_take(r->errors, &error);
        return;
    }
    r->lost = false;
    r->graph = graph;
    know_stages(r);
    vector_push(r->arena, &r->rewrites, rewrite);
    expect_end(r, line);
}

static void read_fix(struct plan_reader *r, struct place *line, struct place first)
{
    const struct ir_part *part = r->graph->part;
    struct place word = next_word(line);
    if (!word.length)
        fault(r, ERROR_PLAN_LINE, first, "which sizes are fixed?");
    for (; word.length; word = next_word(line)) {
        const char *text = word_text(r, word), *equals = strchr(text, '=');
        char *end = NULL;
        int64_t value = equals ? strtoll(equals + 1, &end, 10) : 0;
        int symbol = -1;
        if (!equals || !equals[1] || *end || value < 0 || strlen(equals + 1) > 15) {
            error_hint(fault(r, ERROR_PLAN_LINE, word, "this fixes no size"), "write: fix R=3");
            continue;
        }
        for (int i = 0; i < part->symbol_count; i++) {
            if (strlen(part->symbols[i].name) == (size_t)(equals - text) &&
                strncmp(part->symbols[i].name, text, (size_t)(equals - text)) == 0)
                symbol = i;
        }
        bool again = false;
        for (size_t i = 0; i < r->fixes.count; i++)
            again |= r->fixes.at[i].symbol == symbol;
        if (symbol < 0)
            errors_add(r->errors, ERROR_PLAN_STAGE, word, "the op has no size '%.*s'",
                       (int)(equals - text), text);
        else if (again)
            fault(r, ERROR_PLAN_REPEATED, word, "this size is fixed already");
        else
            vector_push(r->arena, &r->fixes, (struct plan_fix){symbol, value});
    }
}

static void read_inline(struct plan_reader *r, struct place *line, struct place first)
{
    struct place word = next_word(line);
    if (!word.length)
        fault(r, ERROR_PLAN_LINE, first, "which stages are inlined?");
    for (; word.length; word = next_word(line)) {
        r->plan->inline_place = place_join(first, word);
        take_stage(r, word, "inlined", &r->inlined);
    }
}

static void end_group(struct plan_reader *r)
{
    if (r->groups.count == 0 || r->sick)
        return;
    struct plan_group *group = &r->groups.at[r->groups.count - 1];
    group->decisions = r->decisions.at;
    group->decision_count = (int)r->decisions.count;
    r->decisions = (struct decision_list){0};
}

static bool group_taken(const struct plan_reader *r, const char *name)
{
    for (size_t i = 0; i < r->groups.count; i++) {
        if (strcmp(r->groups.at[i].name, name) == 0)
            return true;
    }
    return false;
}

static void read_group(struct plan_reader *r, struct place *line, struct place first)
{
    struct plan_group group = {.place = first};
    struct stage_list stages = {0};
    end_group(r);
    r->sick = true;
    struct place name = next_word(line), equals = next_word(line), word = next_word(line);
    if (!name.length || !word_is(equals, "=")) {
        error_hint(fault(r, ERROR_PLAN_LINE, first, "this is no group"),
                   "write: group rows = m s y  skeleton row");
        return;
    }
    group.name = word_text(r, name);
    const char *where = arena_printf(r->arena, "in group '%s'", group.name);
    for (; word.length && !word_is(word, "skeleton"); word = next_word(line))
        take_stage(r, word, where, &stages);
    struct place skeleton = next_word(line);
    group.place = place_join(first, name);
    if (group_taken(r, group.name)) {
        fault(r, ERROR_PLAN_REPEATED, name, "there is a group of this name already");
    } else if (!word.length || !skeleton.length) {
        error_hint(fault(r, ERROR_PLAN_LINE, line_end(line), "which skeleton has the group?"),
                   "end the line with: skeleton plain");
    } else if (stages.count == 0) {
        fault(r, ERROR_PLAN_LINE, name, "the group has no stages");
    } else if (r->groups.count == PLAN_MAX_GROUPS) {
        fault(r, ERROR_PLAN_LIMIT, name, "there are too many groups");
    } else {
        sort_stages(&stages);
        group.stages = stages.at;
        group.stage_count = (int)stages.count;
        group.skeleton = word_text(r, skeleton);
        group.skeleton_place = skeleton;
        vector_push(r->arena, &r->groups, group);
        r->sick = false;
        expect_end(r, line);
    }
}

static void read_decision(struct plan_reader *r, struct place *line, struct place key)
{
    struct place value = next_word(line);
    if (r->sick)
        return;
    if (r->groups.count == 0) {
        error_hint(fault(r, ERROR_PLAN_LINE, key, "a decision stands below a group"),
                   "lines before the first group begin with plan, rewrite, fix or inline");
        return;
    }
    if (!value.length) {
        error_hint(fault(r, ERROR_PLAN_LINE, key, "this says nothing"),
                   "a decision is a key and a value: lanes 16");
        return;
    }
    const char *name = word_text(r, key);
    for (size_t i = 0; i < r->decisions.count; i++) {
        if (strcmp(r->decisions.at[i].key, name) == 0) {
            fault(r, ERROR_PLAN_REPEATED, key, "this is decided already");
            return;
        }
    }
    if (r->decisions.count == PLAN_MAX_DECISIONS) {
        fault(r, ERROR_PLAN_LIMIT, key, "a group has too many decisions");
        return;
    }
    vector_push(r->arena, &r->decisions,
                (struct plan_decision){name, word_text(r, value), place_join(key, value)});
    expect_end(r, line);
}

static void read_line(struct plan_reader *r, struct place line)
{
    struct place word = next_word(&line);
    if (!word.length)
        return;
    if (word.length > WORD_BYTES) {
        fault(r, ERROR_PLAN_LIMIT, word, "this word is too long");
        return;
    }
    if (word_is(word, "plan"))
        read_plan(r, &line, word);
    else if (!r->plan->target)
        error_hint(fault(r, ERROR_PLAN_MISSING, word, "a plan begins with what it is for"),
                   "write first: plan cpu avx512"),
            r->plan->target = r->plan->machine = "";
    else if (word_is(word, "rewrite"))
        read_rewrite(r, &line, word);
    else if (word_is(word, "fix"))
        read_fix(r, &line, word);
    else if (word_is(word, "inline"))
        read_inline(r, &line, word);
    else if (word_is(word, "group"))
        read_group(r, &line, word);
    else
        read_decision(r, &line, word);
}

static void read_lines(struct plan_reader *r)
{
    const char *text = r->source->text;
    for (size_t at = 0; at < r->source->length && !r->lost;) {
        const char *newline = memchr(text + at, '\n', r->source->length - at);
        size_t end = newline ? (size_t)(newline - text) : r->source->length;
        const char *comment = memchr(text + at, '#', end - at);
        size_t stop = comment ? (size_t)(comment - text) : end;
        read_line(r, (struct place){r->source, at, stop - at});
        at = end + 1;
    }
    end_group(r);
}

static void check_whole(struct plan_reader *r)
{
    struct place end = {r->source, r->source->length, 0};
    if (!r->plan->target)
        error_hint(fault(r, ERROR_PLAN_MISSING, end, "there is no plan"),
                   "it begins with: plan cpu avx512");
    if (r->errors->said)
        return;
    for (int i = 0; i < r->graph->part->stage_count; i++) {
        if (r->said[i])
            continue;
        error_hint(errors_add(r->errors, ERROR_PLAN_MISSING, end, "stage '%s' is in no group",
                              r->graph->names[i]),
                   "put it into a group: group %s = %s  skeleton plain", r->graph->names[i],
                   r->graph->names[i]);
        return;
    }
}

struct plan *plan_parse(struct arena *arena, const struct source *source,
                        const struct ir_graph *graph, struct errors *errors)
{
    size_t before = errors->said;
    struct plan_reader r = {.arena = arena,
                            .source = source,
                            .graph = graph,
                            .errors = errors,
                            .plan = arena_new(arena, struct plan)};
    if (source->length > PLAN_MAX_BYTES) {
        errors_add(errors, ERROR_PLAN_LIMIT, (struct place){source, 0, 0},
                   "a plan has at most %d bytes", PLAN_MAX_BYTES);
        return NULL;
    }
    know_stages(&r);
    read_lines(&r);
    check_whole(&r);
    if (errors->said != before)
        return NULL;
    sort_stages(&r.inlined);
    r.plan->graph = r.graph;
    r.plan->rewrites = r.rewrites.at;
    r.plan->rewrite_count = (int)r.rewrites.count;
    r.plan->fixes = r.fixes.at;
    r.plan->fix_count = (int)r.fixes.count;
    r.plan->inlined = r.inlined.at;
    r.plan->inlined_count = (int)r.inlined.count;
    r.plan->groups = r.groups.at;
    r.plan->group_count = (int)r.groups.count;
    return r.plan;
}
