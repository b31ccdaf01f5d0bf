/*
 * Fuzzes the file of measured rates. Its checksum would stop a fuzzer at the door, so when the
 * first byte is odd the right head and sum are put around the rest. What is believed is finite,
 * positive, and printed as something that reads back the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct arena *arena, const struct machine *machine, const char *text,
                  size_t length)
{
    struct rates rates, again;
    if (machine_rates_parse(text, length, machine, &rates) != MACHINE_KEPT_GOOD)
        return;
    const double *values = (const double *)&rates.bandwidth;
    for (size_t i = 0; i < sizeof rates.bandwidth / sizeof *values; i++)
        if (!(values[i] >= 0 && values[i] <= 1e18))
            abort();
    struct text out = text_new(arena);
    machine_rates_print(&out, machine, &rates);
    if (machine_rates_parse(out.at, out.length, machine, &again) != MACHINE_KEPT_GOOD ||
        memcmp(&rates, &again, sizeof rates) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    static struct machine machine = {.id = "0123456789abcdef"};
    if (size < 1)
        return 0;
    const char *rest = arena_copy(&arena, (const char *)data + 1, size - 1);
    struct text whole = text_new(&arena);
    if (data[0] & 1) {
        char sum[65];
        text_printf(&whole, "smelt rates 1\nmachine %s\n", machine.id);
        text_add_bytes(&whole, rest, size - 1);
        sha256_hex(whole.at, whole.length, sum);
        text_printf(&whole, "sum %s\n", sum);
    } else {
        text_add_bytes(&whole, rest, size - 1);
    }
    check(&arena, &machine, whole.at, whole.length);
    arena_release(&arena);
    return 0;
}
