/*
 * What is believed of decisions: a step that was seen says something about those that were not.
 */
#include <math.h>

#include "know/belief.h"
#include "test.h"

static struct belief guess_of(struct belief_set *set, const char *class, const char *action,
                              double promise)
{
    struct belief_step step = {.class = class, .action = action, .promise = promise};
    return belief_guess(set, &step);
}

static void learn_from(struct belief_set *set, const char *class, const char *action,
                       double promise, double log_gain, double weight)
{
    struct belief_step step = {.class = class, .action = action, .promise = promise};
    belief_learn(set, &step, log_gain, weight);
}

TEST(belief_begins_with_half_of_what_the_model_says)
{
    struct arena arena = {0};
    struct belief_set set = belief_new(&arena);
    struct belief guess = guess_of(&set, "memory", "row.lanes 8 -> 16", 2);
    CHECK(fabs(guess.mean - 0.5 * log(2)) < 1e-12);
    CHECK(guess.variance > 0);
    CHECK(guess_of(&set, "memory", "row.lanes 8 -> 16", 0).mean == 0);
    arena_release(&arena);
}

TEST(belief_goes_from_one_step_to_others)
{
    struct arena arena = {0};
    struct belief_set set = belief_new(&arena);
    double doubt = guess_of(&set, "memory", "row.lanes 8 -> 16", 0).variance;
    for (int i = 0; i < 3; i++)
        learn_from(&set, "memory", "row.lanes 8 -> 16", 0, 0.5, 1);
    struct belief same = guess_of(&set, "memory", "row.lanes 8 -> 16", 0);
    CHECK(same.mean > 0.35 && same.mean < 0.5);
    CHECK(same.variance < doubt / 2);
    double back = guess_of(&set, "memory", "row.lanes 16 -> 8", 0).mean;
    CHECK(fabs(back + same.mean) < 1e-12);
    double other = guess_of(&set, "memory", "row.lanes 4 -> 16", 0).mean;
    CHECK(other > 0 && other < same.mean);
    double elsewhere = guess_of(&set, "latency", "row.lanes 8 -> 16", 0).mean;
    CHECK(elsewhere > 0 && elsewhere < same.mean);
    CHECK(guess_of(&set, "memory", "row.unroll 8 -> 16", 0).mean == 0);
    double both = guess_of(&set, "memory", "row.lanes 8 -> 16; row.unroll 2 -> 4", 0).mean;
    CHECK(fabs(both - same.mean) < 1e-12);
    arena_release(&arena);
}

TEST(belief_learns_whom_to_trust)
{
    struct arena arena = {0};
    struct belief_set set = belief_new(&arena);
    for (int i = 0; i < 20; i++) /* the model promises twice the speed, nothing comes of it */
        learn_from(&set, "", arena_printf(&arena, "row.block.%d 2 -> 4", i), 2, 0, 1);
    CHECK(guess_of(&set, "", "scan.chunk 1 -> 2", 2).mean < 0.25 * log(2));
    /* so does a diagnosis whose advice comes to nothing, and one that is right gains */
    struct belief_step advised = {.class = "", .action = "", .advice = 1};
    double before = belief_guess(&set, &advised).mean;
    for (int i = 0; i < 5; i++)
        belief_learn(&set, &advised, -0.1, 1);
    CHECK(before > 0 && belief_guess(&set, &advised).mean < 0);
    for (int i = 0; i < 20; i++)
        belief_learn(&set, &advised, 0.5, 1);
    CHECK(belief_guess(&set, &advised).mean > before);
    /* a faint word moves less than a loud one */
    struct belief_set faint = belief_new(&arena), loud = belief_new(&arena);
    learn_from(&faint, "", "row.lanes 8 -> 16", 0, 1, 0.05);
    learn_from(&loud, "", "row.lanes 8 -> 16", 0, 1, 1);
    CHECK(guess_of(&faint, "", "row.lanes 8 -> 16", 0).mean <
          guess_of(&loud, "", "row.lanes 8 -> 16", 0).mean);
    arena_release(&arena);
}

/* In one world steps to the same value are alike; in the next they may be worth something else. */
TEST(belief_draws_whole_worlds)
{
    struct arena arena = {0};
    struct random random = random_new(1, 2);
    struct belief_set set = belief_new(&arena);
    struct belief_step step = {.class = "", .action = "row.lanes 8 -> 16"};
    struct belief_step back = {.class = "", .action = "row.lanes 16 -> 8"};
    struct belief_step both = {.class = "", .action = "row.lanes 8 -> 16; row.unroll 2 -> 4"};
    struct belief_step other = {.class = "", .action = "row.unroll 2 -> 4"};
    double sum = 0, squares = 0;
    for (int i = 0; i < 2000; i++) {
        belief_draw_anew(&set);
        double gain = belief_draw(&set, &step, 1, &random);
        CHECK(belief_draw(&set, &step, 1, &random) == gain);
        CHECK(belief_draw(&set, &back, 1, &random) == -gain);
        double more = belief_draw(&set, &other, 1, &random);
        CHECK(fabs(belief_draw(&set, &both, 1, &random) - gain - more) < 1e-12);
        sum += gain;
        squares += gain * gain;
    }
    double variance = belief_guess(&set, &step).variance;
    CHECK(fabs(sum / 2000) < 0.03);
    CHECK(squares / 2000 > 0.8 * variance && squares / 2000 < 1.2 * variance);
    arena_release(&arena);
}

/* Actions are text from a store somebody may have imported: any text is one. */
TEST(belief_takes_any_action)
{
    struct arena arena = {0};
    struct belief_set set = belief_new(&arena);
    char longest[4000];
    for (size_t i = 0; i + 1 < sizeof longest; i++)
        longest[i] = "a -> b; "[i % 8];
    longest[sizeof longest - 1] = 0;
    const char *const odd[] = {"", "; ", " -> ", "a -> ", " -> b", "a b -> ", "fused", longest};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        learn_from(&set, "memory", odd[i], 1, 0.1, 1);
        CHECK(isfinite(guess_of(&set, "memory", odd[i], 1).mean));
    }
    arena_release(&arena);
}
