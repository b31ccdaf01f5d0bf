/*
 * Fuzzes tables of measured plans: what is read has numbers that make sense, and prints as a table
 * that reads back the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "search/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct table *parse(struct arena *arena, const char *text, size_t length)
{
    struct source source = {"fuzz.table", text, length};
    struct error error = {0};
    struct table *table = table_parse(arena, &source, &error);
    if (!table && (!error.message[0] || error.place.offset > length))
        abort();
    return table;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    const char *text = arena_copy(&arena, (const char *)data, size);
    struct table *table = parse(&arena, text, size);
    if (table) {
        struct text once = text_new(&arena), twice = text_new(&arena);
        for (size_t i = 0; i < table->rows.count; i++)
            if (!(table->rows.at[i].fitness >= 0 && table->rows.at[i].fitness <= 1e12))
                abort();
        table_print(&once, table);
        struct table *again = parse(&arena, once.at, once.length);
        if (!again || again->rows.count != table->rows.count)
            abort();
        table_print(&twice, again);
        if (strcmp(once.at, twice.at) != 0)
            abort();
    }
    arena_release(&arena);
    return 0;
}
