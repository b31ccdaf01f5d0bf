/*
 * Names of outcomes, and verdicts as JSON.
 */
#include "record/verdict.h"

#include <math.h>

const char *outcome_name(enum outcome outcome)
{
    static const char *const names[] = {
        "ok",         "compile-error", "launch-error",  "crash",
        "timeout",    "out-of-memory", "out-of-bounds", "wrong",
        "inaccurate", "unstable",      "cheat",         "unsupported",
        "judge-fault"};
    return outcome < OUTCOME_COUNT ? names[outcome] : "judge-fault";
}

const char *mismatch_place_name(enum mismatch_place place)
{
    static const char *const names[] = {"scattered", "everywhere", "single",   "tail",
                                        "rows",      "columns",    "boundary", "regular"};
    return place < MISMATCH_PLACE_COUNT ? names[place] : "scattered";
}

const char *mismatch_change_name(enum mismatch_change change)
{
    static const char *const names[] = {"",       "nan",    "not written", "zero",
                                        "scaled", "offset", "transposed",  "shifted"};
    return change < MISMATCH_CHANGE_COUNT ? names[change] : "";
}

const struct speedup *case_headline(const struct case_result *result)
{
    const struct speedup *headline = NULL;
    for (int i = 0; i < result->speedup_count; i++) {
        const struct speedup *speedup = &result->speedups[i];
        if (!speedup->problem && (!headline || speedup->ratio.middle < headline->ratio.middle))
            headline = speedup;
    }
    return headline;
}

static void write_interval(struct json *json, const char *key, const struct interval *interval)
{
    json_object(json, key);
    json_double(json, "low", interval->low);
    json_double(json, "middle", interval->middle);
    json_double(json, "high", interval->high);
    json_end(json);
}

static void write_times(struct json *json, const struct case_result *result)
{
    if (isnan(result->microseconds))
        return;
    write_interval(json, "microseconds", &result->time);
    json_double(json, "gigabytes_per_second", result->gigabytes);
    json_double(json, "gigaflops", result->gigaflops);
    json_int(json, "launches", result->rounds);
    json_double(json, "noise", result->noise);
    if (result->device_microseconds > 0)
        json_double(json, "device_microseconds", result->device_microseconds);
    json_string(json, "cache", result->cold ? "cold" : "warm");
    json_double(json, "floor_microseconds", result->floor);
    if (result->slower_than)
        json_string(json, "slower_than", result->slower_than);
    const struct speedup *headline = case_headline(result);
    json_array(json, "speedups");
    for (int i = 0; i < result->speedup_count; i++) {
        const struct speedup *speedup = &result->speedups[i];
        json_object(json, NULL);
        json_string(json, "baseline", speedup->baseline);
        json_string(json, "problem", speedup->problem);
        if (!speedup->problem) {
            json_double(json, "microseconds", speedup->microseconds);
            json_bool(json, "self_reported", speedup->self_reported);
            write_interval(json, "ratio", &speedup->ratio);
            json_bool(json, "decided", speedup->decided);
            json_bool(json, "fastest", speedup == headline);
        }
        json_end(json);
    }
    json_end(json);
}

static void write_binary(struct json *json, const struct binary_facts *binary)
{
    json_object(json, "binary");
    json_string(json, "hash", binary->hash);
    json_string(json, "unread", binary->unread);
    if (binary->read) {
        json_int(json, "code_bytes", binary->code_bytes);
        json_int(json, "instructions", binary->instructions);
        json_int(json, "innermost_loops", binary->loops);
        json_int(json, "vector_bits", binary->vector_bits);
        json_int(json, "vector", binary->vector);
        json_int(json, "scalar", binary->scalar);
        json_int(json, "multiply_adds", binary->fused);
        json_int(json, "spills", binary->spills);
        json_int(json, "gathers", binary->gathers);
        json_int(json, "divisions", binary->divisions);
        json_int(json, "calls", binary->calls);
    }
    json_end(json);
}

static void write_counts(struct json *json, const struct processor_counts *counts)
{
    json_object(json, "counters");
    json_string(json, "case", counts->case_text);
    json_string(json, "missing", counts->missing);
    if (counts->nanoseconds > 0)
        json_double(json, "nanoseconds", counts->nanoseconds);
    if (counts->cycles > 0)
        json_double(json, "cycles", counts->cycles);
    if (counts->instructions > 0)
        json_double(json, "instructions", counts->instructions);
    if (counts->cycles > 0) {
        json_double(json, "cache_misses", counts->cache_misses);
        json_double(json, "branch_misses", counts->branch_misses);
    }
    json_end(json);
}

void verdict_write(struct json *json, const char *name, const struct verdict *verdict)
{
    json_object(json, NULL);
    json_string(json, "kernel", name);
    json_string(json, "outcome", outcome_name(verdict->outcome));
    json_string(json, "message", verdict->message);
    json_string(json, "detail", verdict->detail);
    json_string(json, "id", verdict->id);
    if (verdict->mismatch) {
        const struct mismatch *mismatch = verdict->mismatch;
        json_object(json, "mismatch");
        json_string(json, "tensor", mismatch->tensor);
        json_array(json, "index");
        for (int d = 0; d < mismatch->rank; d++)
            json_int(json, NULL, mismatch->index[d]);
        json_end(json);
        json_double(json, "expected", mismatch->expected);
        json_double(json, "got", mismatch->got);
        json_double(json, "limit", mismatch->limit);
        json_int(json, "wrong", mismatch->wrong);
        json_int(json, "total", mismatch->total);
        json_string(json, "pattern", mismatch->pattern);
        json_string(json, "place", mismatch_place_name(mismatch->place));
        json_string(json, "change", mismatch_change_name(mismatch->change));
        json_string(json, "draw", mismatch->draw);
        json_end(json);
    }
    json_array(json, "cases");
    for (int i = 0; i < verdict->case_count; i++) {
        json_object(json, NULL);
        json_string(json, "case", verdict->cases[i].text);
        json_bool(json, "held", verdict->cases[i].held);
        json_string(json, "outcome", outcome_name(verdict->cases[i].outcome));
        json_double(json, "worst", verdict->cases[i].worst);
        if (verdict->cases[i].sampled > 0) {
            json_int(json, "sampled", verdict->cases[i].sampled);
            json_int(json, "elements", verdict->cases[i].elements);
            json_string(json, "oracle", verdict->cases[i].device_oracle ? "device" : "cpu");
        }
        if (verdict->cases[i].refused)
            json_string(json, "refused", verdict->cases[i].refused);
        write_times(json, &verdict->cases[i]);
        json_end(json);
    }
    json_end(json);
    if (verdict->binary)
        write_binary(json, verdict->binary);
    if (verdict->counts)
        write_counts(json, verdict->counts);
    json_string(json, "isolation", verdict->isolation);
    json_string(json, "compiler", verdict->compiler);
    json_double(json, "compile_seconds", verdict->compile_seconds);
    json_double(json, "check_seconds", verdict->check_seconds);
    json_end(json);
}
