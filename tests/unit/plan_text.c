/*
 * Plans as text: what people write is read, printed and hashed as they mean it, and what cannot be
 * read is told with its place.
 */
#include <string.h>

#include "oracle_differ.h"
#include "oracle_program.h"
#include "plan/plan.h"
#include "test.h"

static const struct ir_graph *softmax_graph(void)
{
    const struct ir_program *flat =
        ir_flatten(differ_arena(), differ_parse(ORACLE_PROGRAMS[0].text));
    return ir_graph_new(differ_arena(), ir_root(flat));
}

static struct plan *read_plan(const char *text, struct errors *errors)
{
    struct source *source = arena_new(differ_arena(), struct source);
    *source = (struct source){"test.plan", text, strlen(text)};
    *errors = errors_new(differ_arena());
    return plan_parse(differ_arena(), source, softmax_graph(), errors);
}

static const char *print_again(const char *text)
{
    struct errors errors;
    struct text out = text_new(differ_arena());
    struct plan *plan = read_plan(text, &errors);
    if (!plan)
        test_fail(__FILE__, __LINE__, "%s", errors.list.at[0].message);
    plan_print(&out, plan, softmax_graph());
    return out.at;
}

TEST(plan_prints_what_it_read)
{
    const char *text = "plan cpu avx512\n"
                       "fix D=64\n"
                       "inline m\n"
                       "group rows = s y  skeleton row\n"
                       "    lanes    16\n"
                       "    threads  2\n";
    CHECK_STR(print_again(text), text);
    CHECK_STR(print_again("# a comment\n\n  plan\tcpu   avx512\nfix D=64 # one\ninline m\n"
                          "group rows = y s skeleton row\nlanes 16\nthreads 2"),
              text);
}

TEST(plan_hash_ignores_names_and_order)
{
    static const char *const SAME[] = {
        "plan cpu avx2\ngroup a = m s skeleton row\nlanes 8\nthreads 1\ngroup b = y skeleton map\n",
        "plan cpu avx2\ngroup q = s m skeleton row\nthreads 1\nlanes 8\ngroup r = y skeleton map\n",
        "plan cpu avx2\ngroup r = y skeleton map\ngroup q = m s skeleton row\nthreads 1\nlanes 8\n",
    };
    static const char *const OTHER[] = {
        "plan cpu avx2\ngroup a = m s skeleton row\nlanes 4\nthreads 1\ngroup b = y skeleton map\n",
        "plan cpu avx2\ngroup a = m skeleton row\nlanes 8\nthreads 1\ngroup b = s y skeleton map\n",
        "plan cpu avx512\ngroup a = m s skeleton row\nlanes 8\nthreads 1\ngroup b = y skeleton "
        "map\n",
        "plan cpu avx2\nfix D=3\ngroup a = m s skeleton row\nlanes 8\nthreads 1\ngroup b = y "
        "skeleton map\n",
    };
    struct errors errors;
    char first[65], hash[65];
    plan_hash(read_plan(SAME[0], &errors), softmax_graph(), first);
    for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++) {
        plan_hash(read_plan(SAME[i], &errors), softmax_graph(), hash);
        CHECK_STR(hash, first);
    }
    for (size_t i = 0; i < sizeof OTHER / sizeof *OTHER; i++) {
        plan_hash(read_plan(OTHER[i], &errors), softmax_graph(), hash);
        CHECK(strcmp(hash, first) != 0);
    }
}

/* Every fault has a place, a code, and where it can be a hint. */
TEST(plan_faults_are_told)
{
    static const struct {
        const char *text;
        enum error_code code;
        const char *at, *hint;
    } FAULTS[] = {
        {"", ERROR_PLAN_MISSING, "", "plan cpu"},
        {"group a = m s y skeleton row\n", ERROR_PLAN_MISSING, "group", "plan cpu"},
        {"plan cpu\n", ERROR_PLAN_LINE, "\n", "plan cpu avx512"},
        {"plan cpu avx2\nplan cpu avx2\n", ERROR_PLAN_REPEATED, "plan cpu avx2\n", ""},
        {"plan cpu avx2\ngroup a = m s yy skeleton row\n", ERROR_PLAN_STAGE, "yy", "'y'"},
        {"plan cpu avx2\ngroup a = m s skeleton row\n", ERROR_PLAN_MISSING, "", "group y = y"},
        {"plan cpu avx2\ninline m\ngroup a = m s y skeleton row\n", ERROR_PLAN_REPEATED, "m s y",
         "one group"},
        {"plan cpu avx2\ngroup a = m s y\n", ERROR_PLAN_LINE, "\n", "skeleton plain"},
        {"plan cpu avx2\ngroup a m s y skeleton row\n", ERROR_PLAN_LINE, "group a", "group rows"},
        {"plan cpu avx2\ngroup a = skeleton row\n", ERROR_PLAN_LINE, "a = ", ""},
        {"plan cpu avx2\nlanes 4\n", ERROR_PLAN_LINE, "lanes", "plan, rewrite, fix or inline"},
        {"plan cpu avx2\nrewrite hoist\n", ERROR_PLAN_LINE, "rewrite", "rewrite hoist s"},
        {"plan cpu avx2\nrewrite hoits s\n", ERROR_PLAN_STAGE, "rewrite", "'hoist'"},
        {"plan cpu avx2\nrewrite hoist q\n", ERROR_PLAN_STAGE, "rewrite", ""},
        {"plan cpu avx2\nrewrite hoist m\n", ERROR_PLAN_ILLEGAL, "rewrite", ""},
        {"plan cpu avx2\nrewrite search m\n", ERROR_PLAN_ILLEGAL, "rewrite", "from 1 to 40"},
        {"plan cpu avx2\nrewrite search m x\n", ERROR_PLAN_LINE, "x", ""},
        {"plan cpu avx2\ngroup a = m s y skeleton row\n lanes\n", ERROR_PLAN_LINE, "lanes\n",
         "lanes 16"},
        {"plan cpu avx2\ngroup a = m s y skeleton row\n x 1\n x 2\n", ERROR_PLAN_REPEATED, "x 2",
         ""},
        {"plan cpu avx2\ngroup a = m s y skeleton row more\n", ERROR_PLAN_LINE, "more", ""},
        {"plan cpu avx2\nfix Q=3\ngroup a = m s y skeleton row\n", ERROR_PLAN_STAGE, "Q=3", ""},
        {"plan cpu avx2\nfix D=x\ngroup a = m s y skeleton row\n", ERROR_PLAN_LINE, "D=x",
         "fix R=3"},
        {"plan cpu avx2\nfix D=1 D=2\ngroup a = m s y skeleton row\n", ERROR_PLAN_REPEATED, "D=2",
         ""},
    };
    for (size_t i = 0; i < sizeof FAULTS / sizeof *FAULTS; i++) {
        struct errors errors;
        if (read_plan(FAULTS[i].text, &errors))
            test_fail(__FILE__, __LINE__, "was read: %s", FAULTS[i].text);
        const struct error *error = &errors.list.at[0];
        if (error->code != FAULTS[i].code ||
            strncmp(error->place.source->text + error->place.offset, FAULTS[i].at,
                    strlen(FAULTS[i].at)) != 0 ||
            !strstr(error->hint, FAULTS[i].hint))
            test_fail(__FILE__, __LINE__, "%s: %s at '%.10s', hint %s", FAULTS[i].text,
                      error->message, error->place.source->text + error->place.offset, error->hint);
    }
}

TEST(plan_decisions_are_set_and_copied)
{
    struct errors errors;
    struct plan *plan =
        read_plan("plan cpu avx2\ngroup a = m s y skeleton row\nlanes 8\n", &errors);
    struct plan *copy = plan_copy(differ_arena(), plan);
    plan_set(differ_arena(), &copy->groups[0], "lanes", "4");
    plan_set(differ_arena(), &copy->groups[0], "keep", "e");
    CHECK_INT(plan_number(&plan->groups[0], "lanes", 0), 8);
    CHECK_INT(plan_number(&copy->groups[0], "lanes", 0), 4);
    CHECK_INT(plan_number(&copy->groups[0], "keep", 7), 7);
    CHECK(plan_is(&copy->groups[0], "keep", "e") && !plan_get(&plan->groups[0], "keep"));
}

/* ---- pins ---- */

static const char *const LANES[] = {"1", "4", "8", "16"};

/* What one pin leaves of the slot lanes, as text: values, then the seed. */
static const char *pinned_slot(const char *key, const char *text)
{
    struct arena *arena = differ_arena();
    struct errors errors;
    struct error error;
    struct plan_pins pins = {0};
    struct plan_pin pin;
    const struct plan_pin *which = NULL;
    struct plan *plan = read_plan("plan cpu avx2\ngroup a.b = m s y skeleton row\n", &errors);
    if (!plan_pin_parse(arena, text, &pin, &error))
        return "malformed";
    vector_push(arena, &pins, pin);
    struct plan_slots slots = {0};
    vector_push(arena, &slots,
                (struct plan_slot){.key = key, .values = LANES, .value_count = 4, .seed = 3});
    if (!plan_pins_apply(arena, &pins, &plan->groups[0], softmax_graph(), &slots, &which))
        return which == &pins.at[0] ? "nothing" : "nothing, for no reason";
    struct text out = text_new(arena);
    for (int i = 0; i < slots.at[0].value_count; i++)
        text_printf(&out, "%s ", slots.at[0].values[i]);
    text_printf(&out, "from %s", slots.at[0].values[slots.at[0].seed]);
    return out.at;
}

static const char *pinned(const char *text)
{
    return pinned_slot("lanes", text);
}

TEST(plan_pins_name_keys_with_dots)
{
    CHECK_STR(pinned_slot("tile.m", "a.b.tile.m=8"), "8 from 8");
    CHECK_STR(pinned_slot("tile.m", "m.tile.m<=4"), "1 4 from 4");
    CHECK_STR(pinned_slot("tile.m", "*.tile.m=4"), "4 from 4");
    CHECK_STR(pinned_slot("tile.m", "*.m=4"), "1 4 8 16 from 16");
    CHECK_STR(pinned_slot("m", "*.tile.m=4"), "1 4 8 16 from 16");
}

TEST(plan_pins_narrow_slots)
{
    CHECK_STR(pinned("a.b.lanes=8"), "8 from 8");
    CHECK_STR(pinned("m.lanes=8"), "8 from 8");
    CHECK_STR(pinned("*.lanes<=8"), "1 4 8 from 8");
    CHECK_STR(pinned("*.lanes>=8"), "8 16 from 16");
    CHECK_STR(pinned("*.lanes!=16"), "1 4 8 from 8");
    CHECK_STR(pinned("*.lanes~4"), "1 4 8 16 from 4");
    CHECK_STR(pinned("other.lanes=8"), "1 4 8 16 from 16");
    CHECK_STR(pinned("*.threads=8"), "1 4 8 16 from 16");
    CHECK_STR(pinned("*.lanes=3"), "nothing");
    static const char *const MALFORMED[] = {
        "",         "lanes=8",   "a.=8",       ".lanes=8", "a.lanes",
        "a.lanes=", "a.lanes<8", "a.lanes<=x", "a.lanes!8"};
    for (size_t i = 0; i < sizeof MALFORMED / sizeof *MALFORMED; i++)
        CHECK_STR(pinned(MALFORMED[i]), "malformed");
}
