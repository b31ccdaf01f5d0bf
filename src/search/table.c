/*
 * Tables of measured plans: the text form, and the judge that answers from one.
 */
#include "search/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = "smelt table 1";

/* ---- printing ---- */

static void print_indented(struct text *out, const char *lines)
{
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        text_add(out, "    ");
        text_add_bytes(out, lines, length);
        text_char(out, '\n');
        lines += length + (lines[length] == '\n');
    }
    text_add(out, "end\n");
}

void table_print(struct text *out, const struct table *table)
{
    text_printf(out, "%s\nmachine %s\nthreads %d\ntask\n", head, table->machine, table->threads);
    print_indented(out, table->task);
    for (size_t i = 0; i < table->rows.count; i++) {
        const struct table_row *row = &table->rows.at[i];
        text_printf(out, "plan %s %.5g %.5g %.5g %s\n", outcome_name(row->outcome), row->fitness,
                    isnan(row->microseconds) ? 0 : row->microseconds, row->floor,
                    diagnosis_name(row->diagnosis));
        print_indented(out, row->plan);
    }
}

/* ---- parsing ---- */

struct reader {
    struct arena *arena;
    const struct source *source;
    const char *at; /* the line to be read next */
    struct error *error;
};

static bool fail(struct reader *reader, const char *line, const char *expected)
{
    struct place place = {reader->source, (size_t)(line - reader->source->text),
                          strcspn(line, "\n")};
    return error_at(reader->error, ERROR_BAD_TABLE, place, "expected %s", expected);
}

/* The next line, without its end; NULL: there is none. */
static char *next_line(struct reader *reader)
{
    if (!*reader->at)
        return NULL;
    size_t length = strcspn(reader->at, "\n");
    char *line = arena_copy(reader->arena, reader->at, length);
    reader->at += length + (reader->at[length] == '\n');
    return line;
}

/* Indented lines up to `end`. */
static const char *read_block(struct reader *reader)
{
    struct text text = text_new(reader->arena);
    for (;;) {
        const char *start = reader->at, *line = next_line(reader);
        if (!line || (strcmp(line, "end") != 0 && strncmp(line, "    ", 4) != 0 && *line)) {
            fail(reader, start, "an indented line, or 'end'");
            return NULL;
        }
        if (strcmp(line, "end") == 0)
            return text.length ? text.at : "";
        text_printf(&text, "%s\n", *line ? line + 4 : "");
    }
}

static bool outcome_parse(const char *name, enum outcome *outcome)
{
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (strcmp(outcome_name((enum outcome)i), name) == 0) {
            *outcome = (enum outcome)i;
            return true;
        }
    return false;
}

static bool read_row(struct reader *reader, struct table *table)
{
    const char *start = reader->at;
    char *line = next_line(reader), *rest = NULL, *word = strtok_r(line, " ", &rest);
    struct table_row row = {0};
    double numbers[3];
    bool fine = word && strcmp(word, "plan") == 0 && (word = strtok_r(NULL, " ", &rest)) &&
                outcome_parse(word, &row.outcome);
    for (int i = 0; i < 3 && fine; i++) {
        char *end = NULL;
        word = strtok_r(NULL, " ", &rest);
        numbers[i] = word ? strtod(word, &end) : 0;
        fine = word && *end == 0 && numbers[i] >= 0 && numbers[i] < 1e12;
    }
    fine = fine && (word = strtok_r(NULL, " ", &rest)) && diagnosis_parse(word, &row.diagnosis) &&
           !strtok_r(NULL, " ", &rest);
    if (!fine)
        return fail(reader, start, "'plan OUTCOME SPEEDUP MICROSECONDS FLOOR DIAGNOSIS'");
    if (table->rows.count == TABLE_ROWS)
        return fail(reader, start, "an end: there are too many plans");
    row.fitness = numbers[0];
    row.microseconds = numbers[1];
    row.floor = numbers[2];
    row.plan = read_block(reader);
    if (row.plan)
        vector_push(reader->arena, &table->rows, row);
    return row.plan != NULL;
}

struct table *table_parse(struct arena *arena, const struct source *source, struct error *error)
{
    struct table *table = arena_new(arena, struct table);
    struct reader reader = {arena, source, source->text, error};
    const char *start = reader.at, *line = next_line(&reader);
    if (strlen(source->text) != source->length || !line || strcmp(line, head) != 0) {
        fail(&reader, start, "'smelt table 1'");
        return NULL;
    }
    start = reader.at;
    line = next_line(&reader);
    if (!line || strncmp(line, "machine ", 8) != 0) {
        fail(&reader, start, "'machine ID'");
        return NULL;
    }
    table->machine = line + 8;
    start = reader.at;
    line = next_line(&reader);
    table->threads = line && strncmp(line, "threads ", 8) == 0 ? atoi(line + 8) : 0;
    const char *then = reader.at;
    line = next_line(&reader);
    if (table->threads < 1 || table->threads > MACHINE_THREADS || !line ||
        strcmp(line, "task") != 0) {
        fail(&reader, table->threads < 1 ? start : then, "'threads N' and 'task'");
        return NULL;
    }
    table->task = read_block(&reader);
    bool fine = table->task != NULL;
    while (fine && *reader.at)
        fine = read_row(&reader, table);
    return fine ? table : NULL;
}

/* ---- answering ---- */

/* NULL: the text is no plan of the program (any more). */
static struct plan *adopt(struct arena *arena, const struct skeleton_program *program,
                          const char *text)
{
    struct errors errors = errors_new(arena);
    struct error error;
    struct source source = {"plan", text, strlen(text)};
    struct plan *plan = plan_parse(arena, &source, program->graph, &errors);
    return plan && skeleton_check(program, plan, &error) ? plan : NULL;
}

int table_bind(struct arena *arena, struct table *table, const struct skeleton_program *program)
{
    size_t kept = 0;
    table->by_hash = map_new(arena);
    table->program = program;
    table->arena = arena;
    table->answers = map_new(arena);
    table->best = 0;
    for (size_t i = 0; i < table->rows.count; i++) {
        struct plan *plan = adopt(arena, program, table->rows.at[i].plan);
        char hash[65];
        if (!plan)
            continue;
        struct table_row *row = &table->rows.at[kept++];
        *row = table->rows.at[i];
        plan_hash(plan, program->graph, hash);
        map_set(&table->by_hash, hash, row);
        table->best = fmax(table->best, row->fitness);
    }
    table->rows.count = kept;
    return (int)kept;
}

bool table_allows(void *context, const char *hash)
{
    const struct table *table = context;
    return map_get(&table->by_hash, hash) != NULL;
}

bool table_judge(void *context, struct arena *arena, const struct source *const *kernels,
                 struct plan *const *plans, int count, bool finalists,
                 struct search_judgement *judgements, struct error *error)
{
    const struct table *table = context;
    (void)kernels, (void)finalists;
    for (int i = 0; i < count; i++) {
        char hash[65];
        plan_hash(plans[i], table->program->graph, hash);
        const struct table_row *row = map_get(&table->by_hash, hash);
        if (!row)
            return error_set(error, ERROR_BAD_TABLE, "a plan that is not in the table was tried");
        struct verdict *verdict = arena_new(arena, struct verdict);
        struct diagnosis *diagnosis = arena_new(arena, struct diagnosis);
        verdict->outcome = row->outcome;
        *diagnosis = (struct diagnosis){.class = row->diagnosis, .pattern = "", .text = ""};
        judgements[i] = (struct search_judgement){.verdict = verdict,
                                                  .fitness = row->fitness,
                                                  .microseconds = row->microseconds,
                                                  .floor = row->floor,
                                                  .diagnosis = diagnosis};
    }
    return true;
}

/* ---- experts ---- */

struct answers {
    struct proposal *at;
    int count;
    bool guesses;
};

enum { GUESSES = 8, DRAWN = 4 }; /* rounds of them; how many are told at once */

static bool is_kept(const struct table *table, const struct answers *answers, const char *hash)
{
    if (!table_allows((void *)table, hash))
        return true;
    for (int i = 0; i < answers->count; i++) {
        char other[65];
        plan_hash(answers->at[i].plan, table->program->graph, other);
        if (strcmp(other, hash) == 0)
            return true;
    }
    return false;
}

static struct answers *ask(struct table *table, int expert, const struct propose_view *view)
{
    struct answers *answers = arena_new(table->arena, struct answers);
    struct arena scratch = {0};
    struct skeleton_program program = *table->program;
    struct propose_view own = {.program = &program,
                               .parent = view->parent,
                               .diagnosis = view->diagnosis,
                               .random = view->random};
    program.arena = &scratch;
    answers->guesses = strcmp(experts[expert]->name, "tuning") == 0;
    answers->at = arena_array(table->arena, GUESSES * PROPOSE_MOST, sizeof *answers->at);
    for (int round = 0; round < (answers->guesses ? GUESSES : 1); round++) {
        struct proposal proposals[PROPOSE_MOST];
        int count = experts[expert]->propose(&own, proposals, PROPOSE_MOST);
        for (int i = 0; i < count; i++) {
            char hash[65];
            plan_hash(proposals[i].plan, program.graph, hash);
            if (is_kept(table, answers, hash))
                continue;
            struct text text = text_new(&scratch);
            plan_print(&text, proposals[i].plan, program.graph);
            struct plan *plan = adopt(table->arena, table->program, text.at);
            if (!plan)
                continue;
            struct proposal *kept = &answers->at[answers->count++];
            *kept = proposals[i];
            kept->plan = plan;
            kept->action = arena_string(table->arena, proposals[i].action);
            kept->key = arena_string(table->arena, proposals[i].key);
        }
    }
    arena_release(&scratch);
    return answers;
}

int table_propose(void *context, int expert, const struct propose_view *view,
                  struct proposal *proposals, int most)
{
    struct table *table = context;
    char key[80];
    plan_hash(view->parent, table->program->graph, key);
    snprintf(key + 64, sizeof key - 64, " %d", expert);
    struct answers *answers = map_get(&table->answers, key);
    if (!answers) {
        answers = ask(table, expert, view);
        map_set(&table->answers, key, answers);
    }
    int count = 0;
    if (answers->guesses) {
        for (; count < DRAWN && count < most && answers->count > 0; count++)
            proposals[count] = answers->at[random_below(view->random, (uint64_t)answers->count)];
        return count;
    }
    for (; count < answers->count && count < most; count++)
        proposals[count] = answers->at[count];
    return count;
}
