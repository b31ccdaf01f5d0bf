/*
 * What bounds the speed of a kernel that is right.
 *
 * Three clocks are compared with the one on the wall: how long its bytes take at the rate of the
 * memory, how long its operations take at the peak of the units, and what is left. Where the first
 * fills most of the time it is bound by memory, where the second does by instructions. What
 * neither explains is waiting (latency, too little at once, starting threads), unless the binary
 * shows that the instructions are the wrong ones: scalar code, spills, calls, gathers, divisions.
 */
#include <math.h>

#include "diagnose/private.h"

enum {
    CLOSE = 80,     /* percent of a floor that counts as reached */
    REGISTERS = 16, /* a loop that puts aside as many vectors as there may be has far too many */
};

static double peak(const struct diagnose_subject *subject)
{
    enum machine_crew crew = subject->threads > 1 ? MACHINE_ALL : MACHINE_ONE;
    double best = 0;
    for (int unit = 0; unit < MACHINE_UNIT_COUNT; unit++)
        best = fmax(best, subject->rates->compute[crew][unit][subject->number]);
    return best;
}

/* The level the data lies in when the kernel starts again with the same buffers, unless caches are
 * emptied in between. */
static enum machine_level level_of(const struct diagnose_subject *subject, double bytes, bool cold)
{
    for (int level = MACHINE_L1; level < MACHINE_MEMORY && !cold; level++)
        if (subject->machine->caches[level].bytes > 0 &&
            bytes <= 0.5 * (double)subject->machine->caches[level].bytes)
            return (enum machine_level)level;
    return MACHINE_MEMORY;
}

/* The floor has one operation for a function, a plan as many as it takes: both are told to the same
 * person. */
static const char by_steps[] = ", each function counted by its steps";

static bool counts_steps(const struct diagnose_subject *subject)
{
    return subject->planned_operations > 1.2 * subject->operations;
}

static struct diagnose_clocks read_clocks(const struct diagnose_subject *subject,
                                          const struct case_result *result)
{
    if (subject->clocks)
        return *subject->clocks;
    double bytes = subject->read_bytes + subject->write_bytes;
    double moved = fmax(bytes, subject->planned_bytes);
    double operations = fmax(subject->operations, subject->planned_operations);
    enum machine_level level = level_of(subject, bytes, result->cold);
    enum machine_crew crew =
        subject->threads > 1 && level == MACHINE_MEMORY ? MACHINE_ALL : MACHINE_ONE;
    double rate = 0;
    for (int mix = 0; mix < MACHINE_MIX_COUNT; mix++)
        rate = fmax(rate, subject->rates->bandwidth[crew][level][mix]);
    if (crew == MACHINE_ONE && subject->threads > 1)
        rate *= subject->threads;
    struct diagnose_clocks clocks = {.wall = result->microseconds * 1e-6};
    clocks.memory = rate > 0 ? moved / rate : 0;
    clocks.compute = peak(subject) > 0 ? operations / peak(subject) : 0;
    return clocks;
}

struct diagnose_clocks diagnose_clocks(const struct diagnose_subject *subject)
{
    const struct case_result *result = diagnose_timed_case(subject);
    return result ? read_clocks(subject, result) : (struct diagnose_clocks){0};
}

static double needed_bytes(const struct diagnose_subject *subject)
{
    return subject->read_bytes + subject->write_bytes;
}

static bool judge_binary(const struct diagnose_subject *subject, struct diagnosis *diagnosis)
{
    const struct binary_facts *binary = subject->verdict->binary;
    if (!binary || !binary->read)
        return false;
    diagnosis_fact(diagnosis, "code", (double)binary->code_bytes, "byte");
    if (binary->loops == 0)
        return false;
    diagnosis_fact(diagnosis, "vector instructions in loops", binary->vector, "");
    diagnosis_fact(diagnosis, "scalar float instructions in loops", binary->scalar, "");
    diagnosis_fact(diagnosis, "vector width", binary->vector_bits, "bit");
    int work = binary->vector + binary->scalar;
    /* loops that do what vectors leave over are scalar in the best of kernels */
    if (binary->scalar > 2 * binary->vector) {
        diagnosis->pattern = "scalar";
        diagnosis_action(diagnosis, "vectorise the innermost loop");
    } else if (binary->spills * 5 > work || binary->spills > REGISTERS * binary->loops) {
        diagnosis->pattern = "spills";
        diagnosis_fact(diagnosis, "spills in loops", binary->spills, "");
        diagnosis_action(diagnosis, "make the register tile smaller");
    } else if (binary->calls > 0 && binary->calls * 4 >= binary->loops) {
        diagnosis->pattern = "calls";
        diagnosis_fact(diagnosis, "calls in loops", binary->calls, "");
        diagnosis_action(diagnosis, "compute functions in vectors instead of calling them");
    } else if (binary->gathers * 8 > work) {
        diagnosis->pattern = "gathers";
        diagnosis_fact(diagnosis, "gathers in loops", binary->gathers, "");
        diagnosis_action(diagnosis, "let lanes run along the index with unit stride, or pack");
    } else if (binary->vector > 0 && binary->vector_bits < subject->vector_bits) {
        diagnosis->pattern = "narrow";
        diagnosis->reach = (double)subject->vector_bits / binary->vector_bits;
        diagnosis_action(diagnosis, "let vectors be as wide as the machine's");
    } else if (binary->divisions * 8 > work) {
        diagnosis->pattern = "divisions";
        diagnosis_fact(diagnosis, "divisions in loops", binary->divisions, "");
        diagnosis_action(diagnosis, "divide once outside of the loop and multiply inside");
    } else {
        return false;
    }
    return true;
}

static void judge_clocks(struct arena *arena, const struct diagnose_subject *subject,
                         const struct diagnose_clocks *clocks, struct diagnosis *diagnosis)
{
    double memory = clocks->memory / clocks->wall, compute = clocks->compute / clocks->wall;
    bool wrong_instructions = judge_binary(subject, diagnosis);
    if (memory >= 0.6 && memory >= compute) {
        diagnosis->class = DIAGNOSIS_MEMORY;
        diagnosis->confidence = fmin(1, memory);
        diagnosis->text = arena_printf(arena, "moving its bytes takes %.0f %% of the time",
                                       100 * fmin(1, memory));
        if (subject->planned_bytes > 1.2 * needed_bytes(subject)) {
            diagnosis->pattern = "traffic";
            diagnosis_action(diagnosis, "what is moved more than once: fuse, block for the caches");
        }
        diagnosis_action(diagnosis, "move fewer bytes: fuse, block for the caches, narrower types");
    } else if (compute >= 0.5 || wrong_instructions) {
        diagnosis->class = DIAGNOSIS_INSTRUCTION;
        diagnosis->confidence = wrong_instructions ? 0.8 : fmin(1, compute);
        diagnosis->text =
            wrong_instructions
                ? arena_printf(arena, "its loops are full of the wrong instructions: %s",
                               diagnosis->pattern)
                : arena_printf(arena, "its operations take %.0f %% of the time at the peak rate%s",
                               100 * fmin(1, compute), counts_steps(subject) ? by_steps : "");
        diagnosis_action(diagnosis, "fewer instructions: larger register tiles, cheaper functions");
    } else if (memory >= 0.35 && memory > 2 * compute) {
        diagnosis->class = DIAGNOSIS_MEMORY;
        diagnosis->confidence = memory;
        diagnosis->text = arena_printf(arena,
                                       "moving its bytes takes %.0f %% of the time, and it does"
                                       " not keep the memory busy",
                                       100 * memory);
        diagnosis_action(diagnosis, subject->device
                                        ? "read more at once: more elements per thread, more blocks"
                                        : "read more at once: unroll, prefetch, more threads");
    } else {
        diagnosis->class = DIAGNOSIS_LATENCY;
        diagnosis->confidence = 0.6;
        diagnosis->text = arena_printf(arena,
                                       "neither bytes (%.0f %%) nor operations (%.0f %%) explain"
                                       " the time: it waits",
                                       100 * memory, 100 * compute);
        diagnosis_action(diagnosis,
                         subject->device
                             ? "more independent work at once: smaller blocks, several per unit"
                             : "more independent work at once: unroll, several rows, threads");
        if (subject->device && subject->rates->call > 0.3 * clocks->wall)
            diagnosis_action(diagnosis,
                             "fewer launches, or more work in one: starting takes as long");
        if (clocks->wall < 2e-5 && subject->threads > 1)
            diagnosis_action(diagnosis, "one thread: starting others takes longer than the work");
    }
}

void diagnose_speed(struct arena *arena, const struct diagnose_subject *subject,
                    const struct case_result *result, struct diagnosis *diagnosis)
{
    struct diagnose_clocks clocks = read_clocks(subject, result);
    diagnosis_fact(diagnosis, "time of a call", result->microseconds, "us");
    if (clocks.memory <= 0 && clocks.compute <= 0) {
        diagnosis->text = arena_printf(
            arena, "the rates of this %s are not known: run smelt probe%s%s",
            subject->device ? "device" : "machine", subject->device ? " --target " : "",
            subject->device ? subject->device : "");
        judge_binary(subject, diagnosis);
        return;
    }
    diagnosis_fact(diagnosis, "time its bytes take", clocks.memory * 1e6, "us");
    diagnosis_fact(diagnosis, "time its operations take", clocks.compute * 1e6, "us");
    if (subject->device && subject->rates->call > 0)
        diagnosis_fact(diagnosis, "time of one launch", subject->rates->call * 1e6, "us");
    if (result->floor > 0)
        diagnosis_fact(diagnosis, "part of the floor", 100 * result->floor / result->microseconds,
                       "%");
    if (subject->planned_bytes > 1.2 * needed_bytes(subject))
        diagnosis_fact(diagnosis, "bytes moved over bytes needed",
                       subject->planned_bytes / needed_bytes(subject), "");
    judge_clocks(arena, subject, &clocks, diagnosis);
    if (result->floor > 0 && 100 * result->floor >= CLOSE * result->microseconds) {
        diagnosis->confidence = fmin(diagnosis->confidence, 0.5);
        diagnosis->text =
            arena_printf(arena, "%s; it is near what this machine can do", diagnosis->text);
    }
}
