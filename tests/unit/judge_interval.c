/* How sure the judge is of a ratio. */
#include <math.h>

#include "base/random.h"
#include "judge/contest.h"
#include "test.h"

/* Ratios of twelve launches; now and then the machine does something else. */
TEST(interval_of_launches_covers)
{
    struct random random = random_new(31, 0);
    int covered = 0;
    for (int trial = 0; trial < 1000; trial++) {
        double ratios[12];
        for (int i = 0; i < 12; i++)
            ratios[i] =
                exp(0.02 * random_normal(&random) * (random_uniform(&random) < 0.05 ? 8 : 1));
        struct interval found = interval_of_logs(ratios, 12);
        covered += found.low <= 1 && found.high >= 1;
    }
    CHECK(covered > 920 && covered < 990);
}

TEST(interval_decides_only_what_is_clear)
{
    CHECK(interval_decides((struct interval){1.01, 1.02, 1.03}));
    CHECK(interval_decides((struct interval){0.90, 0.92, 0.94}));
    CHECK(!interval_decides((struct interval){0.99, 1.01, 1.03}));
    /* wide ones only when far from 1 */
    CHECK(!interval_decides((struct interval){1.01, 1.08, 1.16}));
    CHECK(!interval_decides((struct interval){0.86, 0.93, 0.99}));
    CHECK(interval_decides((struct interval){1.80, 2.00, 2.20}));
    CHECK(interval_decides((struct interval){0.40, 0.50, 0.60}));
    CHECK(interval_decides((struct interval){144, 2.9e4, 5.9e6}));
}

/* Two rounds that are 18 % apart say little: who is left out after them stays undecided for good.
 */
TEST(interval_leaves_out_only_who_is_surely_slower)
{
    CHECK(!interval_is_behind((const double[]){1.7, 2.0}, 2, 1.3));
    CHECK(!interval_decides(interval_of_logs((const double[]){1.7, 2.0}, 2)));
    CHECK(interval_is_behind((const double[]){1.95, 2.0}, 2, 1.3));
    CHECK(interval_is_behind((const double[]){1.7, 2.0, 1.8, 1.9}, 4, 1.3));
    CHECK(interval_is_behind((const double[]){1.40, 1.42, 1.41, 1.40}, 4, 1.3));
    CHECK(!interval_is_behind((const double[]){1.2, 1.21, 1.2, 1.2}, 4, 1.3));
    CHECK(!interval_is_behind((const double[]){2.0, 2.0, 2.0, 2.0}, 4, 3));
}
