/*
 * Why a cell ended: from what its fault handler left in the report to buffer and element. The
 * report is the cell's, so all of it may be made up; what is read here chooses words and one kind
 * of failure over another, never success.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "judge/launch.h"
#include "os/os.h"

/* Which buffer an address belongs to; guards count to the buffer they guard. */
static bool find_buffer(const struct worker *worker, uint64_t address, int *slot, int *tensor)
{
    enum { REACH = 1 << 20 };
    const struct cell_report *report = &worker->seen;
    int count = worker->part->input_count + worker->part->output_count + 1;
    for (*slot = 0; *slot < worker->slots; ++*slot)
        for (*tensor = 0; *tensor < count; ++*tensor) {
            int number = cell_number(worker->control, *slot, *tensor);
            uint64_t mapped = report->mapped[number];
            uint64_t bytes = worker->control->regions[number].bytes;
            if (mapped && address + REACH >= mapped && address < mapped + bytes + REACH)
                return true;
        }
    return false;
}

static bool report_fault(struct worker *worker)
{
    const struct cell_report *report = &worker->seen;
    struct launch_result *result = worker->result;
    int slot, tensor;
    snprintf(result->detail, sizeof result->detail, "%llx",
             (unsigned long long)(report->instruction - report->base));
    if (report->signal != SIGSEGV && report->signal != SIGBUS) {
        snprintf(result->message, sizeof result->message, "the kernel was ended by %s",
                 strsignal(report->signal));
        result->outcome = OUTCOME_CRASH;
        return false;
    }
    if (!find_buffer(worker, report->address, &slot, &tensor)) {
        if (report->exhausted)
            return worker_fail(worker, OUTCOME_OUT_OF_MEMORY, "the kernel ran out of memory");
        snprintf(result->message, sizeof result->message,
                 "the kernel reached for an address outside of every buffer (%s)",
                 strsignal(report->signal));
        result->outcome = OUTCOME_CRASH;
        return false;
    }
    int inputs = worker->part->input_count, outputs = worker->part->output_count;
    const struct cell_region *region = worker_region(worker, slot, tensor);
    int64_t byte =
        (int64_t)(report->address - report->mapped[cell_number(worker->control, slot, tensor)] -
                  region->data);
    if (tensor == inputs + outputs) {
        snprintf(result->message, sizeof result->message,
                 "scratch was accessed at byte %lld of %lld", (long long)byte,
                 (long long)worker->launch->scratch);
        result->outcome = OUTCOME_OUT_OF_BOUNDS;
        return false;
    }
    int number =
        tensor < inputs ? worker->part->inputs[tensor] : worker->part->outputs[tensor - inputs];
    const struct ir_tensor *entry = &worker->part->tensors[number];
    int64_t element = byte / (int64_t)dtype_bytes(entry->dtype);
    int64_t total = ir_tensor_shape(worker->launch->binding, number, NULL);
    bool inside = byte >= 0 && element < total;
    snprintf(result->message, sizeof result->message,
             inside ? "input '%s' was written (element %lld of %lld)"
                    : "'%s' was accessed out of bounds, at element %lld of %lld",
             entry->name, (long long)element, (long long)total);
    result->outcome = inside ? OUTCOME_CRASH : OUTCOME_OUT_OF_BOUNDS;
    return false;
}

void fault_quote_line(const struct source *source, const char *said, struct text *out)
{
    enum { QUOTE_MOST = 200 };
    static const char own[] = "kernel.c:";
    const char *name = strstr(said, own);
    long line = name ? strtol(name + sizeof own - 1, NULL, 10) : 0;
    if (line <= 0 || line > INT_MAX)
        return;
    const char *text = source->text, *end = source->text + source->length;
    for (long i = 1; i < line && text; i++) {
        text = memchr(text, '\n', (size_t)(end - text));
        text = text ? text + 1 : NULL;
    }
    size_t length = 0;
    while (text && text + length < end && text[length] != '\n' && length < QUOTE_MOST)
        length++;
    text_printf(out, "%s:%ld: %.*s", source->name, line, (int)length, text ? text : "");
}

void worker_copy_words(char *out, size_t size, const char *words, size_t most)
{
    size_t n = 0;
    for (; n + 1 < size && n < most && words[n]; n++)
        out[n] = words[n] >= ' ' && words[n] <= '~' ? words[n] : '?';
    out[n] = 0;
}

bool worker_report_end(struct worker *worker, enum waited waited, int status)
{
    char message[400], words[256];
    if (waited == WAITED_LOST)
        return worker_fail(worker, OUTCOME_JUDGE_FAULT, "the cell could not be waited for");
    if (waited == WAITED_TOO_LONG)
        return worker_fail(worker, OUTCOME_TIMEOUT, "the kernel did not return in time");
    if (waited == WAITED_CROWDED) {
        snprintf(message, sizeof message, "the kernel started more than %d threads", MOST_THREADS);
        return worker_fail(worker, OUTCOME_CRASH, message);
    }
    kill(-worker->process.pid, SIGKILL); /* whatever it left behind */
    worker->process.pid = 0;
    worker->seen = *worker->report;
    worker_copy_words(words, sizeof words, worker->seen.message, sizeof worker->seen.message);
    if (!worker->prepared) {
        snprintf(message, sizeof message, "the cell could not be started: %s",
                 words[0] ? words : "it ended before it was ready");
        return worker_fail(worker, OUTCOME_JUDGE_FAULT, message);
    }
    if (!sandbox_is_whole(&worker->process))
        return worker_fail(worker, OUTCOME_JUDGE_FAULT, "the namespace of the cell has ended");
    if (worker->seen.state == CELL_FAULT)
        return report_fault(worker);
    if (worker->seen.state == CELL_NO_KERNEL) {
        worker->result->not_loaded = true;
        snprintf(message, sizeof message, "the kernel could not be loaded: %s", words);
        return worker_fail(worker, OUTCOME_LAUNCH_ERROR, message);
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return worker_fail(worker, OUTCOME_OUT_OF_MEMORY,
                           "the kernel was killed, most likely for memory");
    if (WIFSIGNALED(status)) {
        snprintf(message, sizeof message, "the kernel was ended by %s",
                 strsignal(WTERMSIG(status)));
        return worker_fail(worker, OUTCOME_CRASH, message);
    }
    return worker_fail(worker, OUTCOME_CRASH, "the kernel ended the process it ran in");
}
