/*
 * Fuzzes what a cell may write into its report: whatever stands there, the verdict is a failure of
 * the kernel told in plain words, and no name or number of it leads astray.
 *
 * The first byte chooses how the cell ended, the rest is laid over the report, from its end when
 * the second byte is odd (the report is large and its words stand last).
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "judge/launch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char PART[] =
    "ir 1 part softmax { type T f32 size B.0 of B[0] size D family B 1 input x f32[B.0, D]\n"
    "output y f32[B.0, D] signature (x) -> (y)\n"
    "map over b < B.0, d < D { %0 = index b %1 = index d %2 = read x [%0, %1]\n"
    "    y [%0, %1] <- %2 } }";

enum { NOBODY = 0x3ffffff0 }; /* no process has this number */

static bool is_plain(const char *words, size_t size)
{
    size_t length = strnlen(words, size);
    for (size_t i = 0; i < length; i++)
        if (words[i] < ' ' || words[i] > '~')
            return false;
    return length < size;
}

static void lay_over(struct cell_report *report, const uint8_t *data, size_t size, bool at_end)
{
    size_t most = size < sizeof *report ? size : sizeof *report;
    memcpy((char *)report + (at_end ? sizeof *report - most : 0), data, most);
    if (at_end && most >= 4) /* and say something about the state all the same */
        report->state = data[0] % 8, report->signal = data[1], report->exhausted = data[2] & 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t sizes[] = {3, 40};
    static struct cell_control control;
    if (size < 2)
        return 0;
    struct arena arena = {0};
    struct source text = {"part.ir", PART, sizeof PART - 1};
    const struct ir_program *program = ir_parse(&arena, &text, NULL);
    struct cell_report *report = arena_new(&arena, struct cell_report);
    struct launch_result result = {.outcome = OUTCOME_OK};
    struct launch launch = {.binding = ir_bind(&arena, program, sizes, NULL, NULL), .scratch = 100};
    control.input_count = ir_root(program)->input_count;
    control.output_count = ir_root(program)->output_count;
    for (int slot = 0; slot < 2; slot++)
        for (int i = 0; i < 3; i++)
            control.regions[cell_number(&control, slot, i)] =
                (struct cell_region){0, 4096, slot ? 4096 - 512 : 0};
    struct worker *worker = arena_new(&arena, struct worker);
    *worker = (struct worker){.launch = &launch,
                              .part = ir_root(program),
                              .result = &result,
                              .control = &control,
                              .report = report,
                              .prepared = data[0] & 1,
                              .slots = 2};
    worker->process.pid = NOBODY;
    lay_over(report, data + 2, size - 2, data[1] & 1);
    worker_report_end(worker, data[0] >> 1 & 7 ? WAITED_ENDED : WAITED_TOO_LONG, data[0] & 0x7f);
    if (result.outcome == OUTCOME_OK || !result.message[0] ||
        !is_plain(result.message, sizeof result.message) ||
        !is_plain(result.detail, sizeof result.detail))
        abort();
    arena_release(&arena);
    return 0;
}
