/* What plans are made for: how wide vectors must be to compute as fast as the machine can. */
#include "skeleton/skeleton.h"
#include "test.h"

static struct skeleton_target target_with(double wide, double narrow)
{
    struct machine machine = {.threads = 1};
    struct rates rates = {0};
    machine.sets |= 1u << MACHINE_AVX512F | 1u << MACHINE_AVX2;
    rates.compute[MACHINE_ONE][MACHINE_UNIT_AVX512][MACHINE_F32] = wide;
    rates.compute[MACHINE_ONE][MACHINE_UNIT_AVX2][MACHINE_F32] = narrow;
    return skeleton_target_new(&machine, &rates);
}

TEST(skeleton_target_vectors_wide_enough)
{
    CHECK_INT(target_with(118e9, 118e9).full_bytes, 32); /* wide ones take twice as long */
    CHECK_INT(target_with(118e9, 118e9).vector_bytes, 64);
    CHECK_INT(target_with(173e9, 100e9).full_bytes, 64);
    CHECK_INT(target_with(0, 0).full_bytes, 64); /* not measured yet */
}

TEST(skeleton_target_limited)
{
    struct skeleton_target target = target_with(118e9, 118e9);
    CHECK(skeleton_target_limit(&target, "avx2"));
    CHECK_INT(target.full_bytes, 32);
    CHECK_INT(target.vector_bytes, 32);
}

/* Rows are fetched ahead unless the machine was seen to be as fast without. */
TEST(skeleton_target_told_of_rows)
{
    struct machine machine = {.threads = 2};
    struct rates rates = {0};
    CHECK(!skeleton_target_new(&machine, &rates).follows); /* not measured yet */
    rates.bandwidth[MACHINE_ONE][MACHINE_MEMORY][MACHINE_ROWS] = 60e9;
    rates.bandwidth[MACHINE_ONE][MACHINE_MEMORY][MACHINE_ROWS_AHEAD] = 74e9;
    CHECK(!skeleton_target_new(&machine, &rates).follows);
    rates.bandwidth[MACHINE_ONE][MACHINE_MEMORY][MACHINE_ROWS_AHEAD] = 60.5e9;
    CHECK(skeleton_target_new(&machine, &rates).follows);
}
