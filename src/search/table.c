/*
 * Tables of measured plans: the text form, and the judge that answers from one.
 */
#include "search/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = "smelt table 3", older[] = "smelt table 2";

/* ---- evidence ---- */

enum { EVIDENCE = 12 }; /* numbers of a line */

/* Where the counts of the binary are, in the order of the text. */
static void counts_of(struct table_row *row, int *counts[EVIDENCE - 3])
{
    struct binary_facts *binary = &row->binary;
    int *all[EVIDENCE - 3] = {&binary->loops,       &binary->vector,    &binary->scalar,
                              &binary->vector_bits, &binary->fused,     &binary->spills,
                              &binary->gathers,     &binary->divisions, &binary->calls};
    memcpy(counts, all, sizeof all);
}

void table_evidence(struct table_row *row, const struct diagnosis *diagnosis,
                    const struct binary_facts *binary)
{
    for (int i = 0; i < diagnosis->fact_count; i++) {
        const struct diagnosis_fact *fact = &diagnosis->facts[i];
        if (strcmp(fact->name, "time its bytes take") == 0)
            row->memory = fact->value;
        if (strcmp(fact->name, "time its operations take") == 0)
            row->compute = fact->value;
    }
    if (binary && binary->read)
        row->binary = *binary;
}

static bool has_evidence(const struct table_row *row)
{
    return row->memory > 0 || row->compute > 0 || row->binary.read;
}

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

static void print_target(struct text *out, const struct skeleton_target *target)
{
    text_printf(out, "target %s %d %lld %lld %lld %.6g %.6g %.6g", target->name, target->streaming,
                (long long)target->l1, (long long)target->l2, (long long)target->l3, target->fma,
                target->memory, target->l2_rate);
    for (int i = 0; i < MACHINE_ATOM_COUNT; i++)
        text_printf(out, " %.6g", target->atoms[i]);
    if (target->full_bytes < target->vector_bytes)
        text_printf(out, " %d", target->full_bytes);
    text_char(out, '\n');
}

static void print_evidence(struct text *out, const struct table_row *row)
{
    int *counts[EVIDENCE - 3];
    struct table_row copy = *row;
    if (!has_evidence(row))
        return;
    counts_of(&copy, counts);
    text_printf(out, "evidence %.5g %.5g %lld", row->memory, row->compute,
                (long long)(row->binary.read ? row->binary.code_bytes : 0));
    for (int i = 0; i < EVIDENCE - 3; i++)
        text_printf(out, " %d", row->binary.read ? *counts[i] : 0);
    text_char(out, '\n');
}

void table_print(struct text *out, const struct table *table)
{
    text_printf(out, "%s\nmachine %s\n", head, table->machine);
    print_target(out, &table->target);
    text_printf(out, "threads %d\ntask\n", table->target.threads);
    print_indented(out, table->task);
    for (size_t i = 0; i < table->rows.count; i++) {
        const struct table_row *row = &table->rows.at[i];
        text_printf(out, "plan %s %.5g %.5g %.5g %s\n", outcome_name(row->outcome), row->fitness,
                    isnan(row->microseconds) ? 0 : row->microseconds, row->floor,
                    diagnosis_name(row->diagnosis));
        print_evidence(out, row);
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

/* The line of evidence, if there is one. */
static bool read_evidence(struct reader *reader, struct table_row *row)
{
    const char *start = reader->at;
    double numbers[EVIDENCE] = {0};
    int *counts[EVIDENCE - 3], count = 0;
    if (strncmp(start, "evidence ", 9) != 0)
        return true;
    char *rest = NULL, *line = next_line(reader) + 9;
    bool fine = true;
    for (char *word = strtok_r(line, " ", &rest), *end; word && fine;
         word = strtok_r(NULL, " ", &rest), count++) {
        fine = count < EVIDENCE;
        if (!fine)
            break;
        numbers[count] = strtod(word, &end);
        /* counts are whole numbers, and print as such */
        fine = *end == 0 && numbers[count] >= 0 && numbers[count] < 1e9 &&
               (count < 2 || numbers[count] == floor(numbers[count]));
    }
    if (!fine || count != EVIDENCE)
        return fail(reader, start, "'evidence' and twelve numbers");
    counts_of(row, counts);
    row->memory = numbers[0];
    row->compute = numbers[1];
    row->binary.code_bytes = (int64_t)numbers[2];
    row->binary.read = numbers[2] > 0;
    for (int i = 0; i < EVIDENCE - 3; i++)
        *counts[i] = (int)numbers[i + 3];
    return true;
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
    if (!read_evidence(reader, &row))
        return false;
    row.plan = read_block(reader);
    if (row.plan)
        vector_push(reader->arena, &table->rows, row);
    return row.plan != NULL;
}

/* The words after `target`. */
static bool read_target(char *line, struct skeleton_target *target)
{
    enum { RATES = 7, WIDTH = RATES + MACHINE_ATOM_COUNT, NUMBERS };
    double numbers[NUMBERS] = {0};
    int count = 0;
    char *rest = NULL, *name = strtok_r(line, " ", &rest);
    bool fine = name && skeleton_target_limit(target, name);
    for (char *word, *end; fine && (word = strtok_r(NULL, " ", &rest)); count++) {
        fine = count < NUMBERS;
        if (!fine)
            break;
        numbers[count] = strtod(word, &end);
        fine = *end == 0 && numbers[count] >= 0 && numbers[count] < 1e15;
    }
    if (!fine || count < RATES)
        return false;
    target->streaming = numbers[0] > 0;
    target->l1 = (int64_t)numbers[1];
    target->l2 = (int64_t)numbers[2];
    target->l3 = (int64_t)numbers[3];
    target->fma = numbers[4];
    target->memory = numbers[5];
    target->l2_rate = numbers[6];
    memcpy(target->atoms, numbers + RATES, sizeof target->atoms);
    if (count > WIDTH) {
        target->full_bytes = (int)fmin(numbers[WIDTH], 1 << 20);
        if (target->full_bytes < 1 || target->full_bytes >= target->vector_bytes)
            return false;
    }
    return target->l1 > 0 && target->l2 > 0 && target->l3 > 0 && target->fma > 0 &&
           target->memory > 0 && target->l2_rate > 0;
}

/* What stands before the plans. */
static bool read_head(struct reader *reader, struct table *table)
{
    const char *start = reader->at, *line = next_line(reader);
    if (strlen(reader->source->text) != reader->source->length || !line ||
        (strcmp(line, head) != 0 && strcmp(line, older) != 0))
        return fail(reader, start, "'smelt table 3'");
    start = reader->at;
    line = next_line(reader);
    if (!line || strncmp(line, "machine ", 8) != 0)
        return fail(reader, start, "'machine ID'");
    table->machine = line + 8;
    start = reader->at;
    char *words = next_line(reader);
    if (!words || strncmp(words, "target ", 7) != 0 || !read_target(words + 7, &table->target))
        return fail(reader, start, "'target NAME' and its numbers");
    start = reader->at;
    line = next_line(reader);
    int threads = line && strncmp(line, "threads ", 8) == 0 ? atoi(line + 8) : 0;
    table->target.threads = threads;
    if (threads < 1 || threads > MACHINE_THREADS)
        return fail(reader, start, "'threads N'");
    start = reader->at;
    line = next_line(reader);
    if (!line || strcmp(line, "task") != 0)
        return fail(reader, start, "'task'");
    table->task = read_block(reader);
    return table->task != NULL;
}

struct table *table_parse(struct arena *arena, const struct source *source, struct error *error)
{
    struct table *table = arena_new(arena, struct table);
    struct reader reader = {arena, source, source->text, error};
    bool fine = read_head(&reader, table);
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

/* What is the matter with the plan of a row, from the numbers that were measured. */
static const struct diagnosis *diagnose_row(struct arena *arena, const struct table *table,
                                            const struct table_row *row)
{
    struct diagnosis *diagnosis = arena_new(arena, struct diagnosis);
    *diagnosis = (struct diagnosis){.class = row->diagnosis, .pattern = "", .text = ""};
    if (row->outcome != OUTCOME_OK || !has_evidence(row))
        return diagnosis;
    struct case_result timed = {.microseconds = row->microseconds, .floor = row->floor};
    struct verdict verdict = {.cases = &timed, .case_count = 1, .binary = &row->binary};
    struct diagnose_clocks clocks = {row->microseconds * 1e-6, row->memory * 1e-6,
                                     row->compute * 1e-6};
    struct skeleton_cost cost = skeleton_predict(table->program, row->bound);
    struct diagnose_subject subject = {.verdict = &verdict,
                                       .which = -1,
                                       .read_bytes = ir_least_bytes(table->program->binding),
                                       .operations = ir_operations(table->program->binding),
                                       .planned_bytes = cost.bytes,
                                       .planned_operations = cost.operations,
                                       .threads = table->target.threads,
                                       .vector_bits = 8 * table->target.full_bytes,
                                       .clocks = &clocks};
    diagnose(arena, &subject, diagnosis);
    return diagnosis;
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
        row->bound = plan;
        row->found = diagnose_row(arena, table, row);
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

/* Decisions alike, less a little for how far numbers are apart where they differ. */
static double likeness(const struct plan *a, const struct plan *b)
{
    double alike = 0;
    for (int g = 0; g < a->group_count; g++)
        for (int d = 0; d < a->groups[g].decision_count; d++) {
            const struct plan_decision *decision = &a->groups[g].decisions[d];
            const char *other = plan_get(&b->groups[g], decision->key);
            double own = strtod(decision->value, NULL), theirs = other ? strtod(other, NULL) : 0;
            if (other && strcmp(other, decision->value) == 0)
                alike++;
            else if (own > 0 && theirs > 0)
                alike -= 0.01 * fabs(log(own / theirs));
        }
    return alike;
}

const char *table_nearest(void *context, const struct plan *plan)
{
    const struct table *table = context;
    const char *nearest = NULL;
    double most = -INFINITY;
    for (size_t i = 0; i < table->rows.count; i++) {
        const struct table_row *row = &table->rows.at[i];
        if (!plan_kinds_equal(row->bound, plan))
            continue;
        double alike = likeness(row->bound, plan) - (row->bound->fix_count != plan->fix_count);
        if (alike > most) {
            most = alike;
            nearest = row->plan;
        }
    }
    return nearest;
}

bool table_judge(void *context, struct arena *arena, const struct source *const *kernels,
                 struct plan *const *plans, int count, enum search_care care,
                 struct search_judgement *judgements, struct error *error)
{
    const struct table *table = context;
    (void)kernels, (void)care;
    for (int i = 0; i < count; i++) {
        char hash[65];
        plan_hash(plans[i], table->program->graph, hash);
        const struct table_row *row = map_get(&table->by_hash, hash);
        if (!row)
            return error_set(error, ERROR_BAD_TABLE, "a plan that is not in the table was tried");
        struct verdict *verdict = arena_new(arena, struct verdict);
        verdict->outcome = row->outcome;
        judgements[i] = (struct search_judgement){.verdict = verdict,
                                                  .fitness = row->fitness,
                                                  .microseconds = row->microseconds,
                                                  .floor = row->floor,
                                                  .diagnosis = row->found};
    }
    return true;
}

/* ---- experts ---- */

struct answers {
    struct proposal *at;
    int count;
    bool guesses;
};

enum { GUESSES = 4, DRAWN = 8 }; /* rounds of them; how many are told at once */

static bool is_kept(const struct table *table, const struct answers *answers, const char *hash)
{
    if (!table_allows((void *)table, hash))
        return true;
    for (int i = 0; i < answers->count; i++)
        if (strcmp(answers->at[i].hash, hash) == 0)
            return true;
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
            kept->hash = arena_string(table->arena, hash);
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
