/*
 * Diagnoses: verdicts and numbers made up so that the answer is known.
 */
#include "diagnose/diagnose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "judge/binary.h"
#include "test.h"

static struct arena arena;
static struct machine machine = {.threads = 1,
                                 .caches = {{32 << 10, 1}, {1 << 20, 1}, {32 << 20, 1}}};
static struct rates rates;
static struct case_result timed = {.outcome = OUTCOME_OK, .microseconds = 1000};
static struct verdict verdict = {.cases = &timed, .case_count = 1};

static struct diagnosis ask(double bytes, double operations, const struct binary_facts *binary)
{
    struct diagnosis diagnosis;
    struct diagnose_subject subject = {.verdict = &verdict,
                                       .which = -1,
                                       .read_bytes = bytes / 2,
                                       .write_bytes = bytes / 2,
                                       .operations = operations,
                                       .number = MACHINE_F32,
                                       .threads = 1,
                                       .vector_bits = 256,
                                       .machine = &machine,
                                       .rates = &rates};
    verdict.binary = binary;
    rates.bandwidth[MACHINE_ONE][MACHINE_MEMORY][MACHINE_COPY] = 10e9;
    rates.compute[MACHINE_ONE][MACHINE_UNIT_AVX2][MACHINE_F32] = 100e9;
    diagnose(&arena, &subject, &diagnosis);
    return diagnosis;
}

/* 100 MB at 10 GB/s are 10 ms; a kernel that takes 11 ms is bound by memory, whatever else. */
TEST(diagnose_tells_memory_from_instructions_from_waiting)
{
    timed.microseconds = 11000;
    CHECK_INT(ask(100e6, 1e6, NULL).class, DIAGNOSIS_MEMORY);
    timed.microseconds = 1500;
    CHECK_INT(ask(1e6, 100e6, NULL).class, DIAGNOSIS_INSTRUCTION);
    timed.microseconds = 100000;
    CHECK_INT(ask(100e6, 1e6, NULL).class, DIAGNOSIS_LATENCY);
    struct binary_facts scalar = {.read = true, .loops = 1, .scalar = 10, .vector = 1};
    struct diagnosis found = ask(100e6, 1e6, &scalar);
    CHECK_INT(found.class, DIAGNOSIS_INSTRUCTION);
    CHECK_STR(found.pattern, "scalar");
    CHECK(found.action_count > 0 && found.fact_count >= 3);
    arena_release(&arena);
}

/* 10 MB lie in the cache of 32 MiB, whose rate is not known, unless it is emptied before each call.
 */
TEST(diagnose_knows_that_caches_were_emptied)
{
    timed.microseconds = 1100;
    CHECK_INT(ask(10e6, 1e6, NULL).class, DIAGNOSIS_LATENCY);
    timed.cold = true;
    CHECK_INT(ask(10e6, 1e6, NULL).class, DIAGNOSIS_MEMORY);
    timed.cold = false;
    arena_release(&arena);
}

TEST(diagnose_knows_devices_by_their_own_rates)
{
    struct diagnosis diagnosis;
    struct machine device = {.threads = 1, .caches = {[MACHINE_L2] = {60 << 20, 1}}};
    struct rates measured = {0};
    struct diagnose_subject subject = {.verdict = &verdict,
                                       .which = -1,
                                       .read_bytes = 1e9,
                                       .operations = 1e6,
                                       .threads = 1,
                                       .device = "cuda",
                                       .machine = &device,
                                       .rates = &measured};
    verdict.binary = NULL;
    timed.microseconds = 300;
    diagnose(&arena, &subject, &diagnosis);
    CHECK_STR(diagnosis.text,
              "the rates of this device are not known: run smelt probe --target cuda");
    measured.bandwidth[MACHINE_ONE][MACHINE_MEMORY][MACHINE_READ] = 4e12;
    measured.bandwidth[MACHINE_ONE][MACHINE_L2][MACHINE_READ] = 8e12;
    measured.call = 2e-6;
    diagnose(&arena, &subject, &diagnosis);
    CHECK_INT(diagnosis.class, DIAGNOSIS_MEMORY);
    subject.read_bytes = 1e6;
    timed.microseconds = 5;
    diagnose(&arena, &subject, &diagnosis);
    CHECK_INT(diagnosis.class, DIAGNOSIS_LATENCY);
    CHECK(diagnosis.action_count == 2 && strstr(diagnosis.actions[1], "fewer launches"));
    arena_release(&arena);
}

TEST(diagnose_sees_narrow_vectors)
{
    struct binary_facts narrow = {.read = true, .loops = 1, .vector = 10, .vector_bits = 128};
    CHECK_STR(ask(1e6, 1e6, &narrow).pattern, "narrow");
    CHECK(ask(1e6, 1e6, &narrow).reach == 2);
    struct binary_facts crowded = {
        .read = true, .loops = 3, .vector = 1000, .vector_bits = 256, .spills = 49};
    CHECK_STR(ask(1e6, 1e6, &crowded).pattern, "spills");
    crowded.spills = 48;
    CHECK_STR(ask(1e6, 1e6, &crowded).pattern, "");
    narrow.vector_bits = 256;
    CHECK_STR(ask(1e6, 1e6, &narrow).pattern, "");
    arena_release(&arena);
}

/* Replays have no machine and no rates, but the clocks that were read then. */
TEST(diagnose_takes_clocks_as_they_are)
{
    struct diagnosis diagnosis;
    struct diagnose_clocks clocks = {1e-3, 9e-4, 1e-4};
    struct diagnose_subject subject = {
        .verdict = &verdict, .which = -1, .threads = 1, .clocks = &clocks};
    verdict.binary = NULL;
    diagnose(&arena, &subject, &diagnosis);
    CHECK_INT(diagnosis.class, DIAGNOSIS_MEMORY);
    clocks.memory = 1e-4;
    diagnose(&arena, &subject, &diagnosis);
    CHECK_INT(diagnosis.class, DIAGNOSIS_LATENCY);
    arena_release(&arena);
}

TEST(diagnose_says_which_changes_would_help)
{
    struct diagnosis spills = {.class = DIAGNOSIS_INSTRUCTION, .pattern = "spills"};
    CHECK(diagnose_advice(&spills, "row.lanes 32 -> 8") > 0);
    CHECK(diagnose_advice(&spills, "row.lanes 8 -> 32") < 0);
    CHECK(diagnose_advice(&spills, "contract.tile.m 14 -> 6") > 0);
    CHECK(diagnose_advice(&spills, "row.lanes 32 -> 8; row.unroll 2 -> 4") == 0);
    CHECK(diagnose_advice(&spills, "row.keep no -> 4096") == 0);
    struct diagnosis narrow = {.class = DIAGNOSIS_INSTRUCTION, .pattern = "narrow", .reach = 2};
    CHECK(diagnose_advice(&narrow, "row.lanes 4 -> 8") > 0);
    CHECK(diagnose_advice(&narrow, "row.lanes 4 -> 16") < 0); /* wider than the machine's */
    CHECK(diagnose_advice(&narrow, "row.lanes 4 -> 2") < 0);
    struct diagnosis waits = {.class = DIAGNOSIS_LATENCY, .pattern = ""};
    CHECK(diagnose_advice(&waits, "contract.tile.m 1 -> 6") >
          diagnose_advice(&waits, "map.divide exact -> reciprocal"));
    struct diagnosis divisions = {.class = DIAGNOSIS_INSTRUCTION, .pattern = "divisions"};
    CHECK(diagnose_advice(&divisions, "map.divide exact -> reciprocal") > 0);
    CHECK(diagnose_advice(&divisions, "map.divide reciprocal -> exact") < 0);
    struct diagnosis none = {.class = DIAGNOSIS_NONE};
    static const char *const any[] = {
        "row.lanes 8 -> 16", "", "; ", "a.b", "a.b c", "a.b c -> ", "row of 2 stages instead of 1",
        ". -> . -> ."};
    for (size_t i = 0; i < sizeof any / sizeof *any; i++) {
        CHECK(diagnose_advice(&none, any[i]) == 0);
        CHECK(fabs(diagnose_advice(&spills, any[i])) <= 3);
    }
}

TEST(diagnose_names_what_is_wrong)
{
    struct diagnosis diagnosis;
    struct mismatch mismatch = {.expected = 2, .got = 4, .wrong = 10, .total = 10, .pattern = ""};
    mismatch.change = MISMATCH_SCALED;
    struct verdict wrong = {.outcome = OUTCOME_WRONG, .mismatch = &mismatch};
    struct diagnose_subject subject = {
        .verdict = &wrong, .which = -1, .machine = &machine, .rates = &rates};
    diagnose(&arena, &subject, &diagnosis);
    CHECK_INT(diagnosis.class, DIAGNOSIS_VALUES);
    CHECK_STR(diagnosis.pattern, "scaled");
    mismatch.got = NAN;
    mismatch.change = MISMATCH_NAN;
    diagnose(&arena, &subject, &diagnosis);
    CHECK_STR(diagnosis.pattern, "nan");
    wrong = (struct verdict){.outcome = OUTCOME_COMPILE_ERROR};
    snprintf(wrong.detail, sizeof wrong.detail, "kernel.c:3: error: 'x' undeclared");
    diagnose(&arena, &subject, &diagnosis);
    CHECK_INT(diagnosis.class, DIAGNOSIS_COMPILE);
    CHECK_STR(diagnosis.pattern, "undeclared name");
    static const enum outcome others[] = {OUTCOME_CRASH, OUTCOME_UNSTABLE, OUTCOME_TIMEOUT};
    static const enum diagnosis_class classes[] = {DIAGNOSIS_BOUNDS, DIAGNOSIS_RACE,
                                                   DIAGNOSIS_HANG};
    for (int i = 0; i < 3; i++) {
        wrong = (struct verdict){.outcome = others[i]};
        diagnose(&arena, &subject, &diagnosis);
        CHECK_INT(diagnosis.class, classes[i]);
        CHECK(diagnosis.action_count > 0);
    }
    arena_release(&arena);
}

/* An outer loop around an inner one: only the inner one counts. */
TEST(diagnose_counts_innermost_loops)
{
    static const char text[] = "0000000000001000 <kernel>:\n"
                               "    1000:\tvmovups (%rax),%zmm9\n"
                               "    1008:\tvmovups (%rax,%rcx),%zmm0\n"
                               "    1010:\tvfmadd231ps %zmm1,%zmm0,%zmm2\n"
                               "    1018:\tvmovaps %zmm2,0x40(%rsp)\n"
                               "    1020:\tadd    $0x40,%rcx\n"
                               "    1024:\tjne    1008 <kernel+0x8>\n"
                               "    1026:\tvdivss %xmm1,%xmm0,%xmm0\n"
                               "    102a:\tjmp    1000 <kernel>\n";
    struct binary_facts facts = {0};
    CHECK(binary_facts_read(text, sizeof text - 1, &facts));
    CHECK_INT(facts.instructions, 8);
    CHECK_INT(facts.loops, 1);
    CHECK_INT(facts.vector, 3);
    CHECK_INT(facts.vector_bits, 512);
    CHECK_INT(facts.fused, 1);
    CHECK_INT(facts.spills, 1);
    CHECK_INT(facts.divisions, 0);
    CHECK(!binary_facts_read("hello", 5, &facts));
}
