/*
 * Fuzzes lexer, parser and formatter: nothing may crash or hang; what parses must format to
 * something that parses to the same tree, keeps every comment and formats to itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/ast_dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds, const char *what, const char *a, const char *b)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n--- one\n%s\n--- other\n%s\n", what, a, b);
    abort();
}

/* Every error can be shown. */
static void render_all(struct arena *arena, const struct errors *errors)
{
    struct text out = text_new(arena);
    for (size_t i = 0; i < errors->list.count; i++)
        error_render(&out, &errors->list.at[i], false);
}

static size_t comment_bytes(const struct ast_file *file)
{
    size_t sum = 0;
    for (size_t i = 0; i < file->comments.count; i++)
        sum += file->comments.at[i].place.length;
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct map names = map_new(&arena);
    struct errors errors = errors_new(&arena);
    struct source source = {"input.op", arena_copy(&arena, (const char *)data, size), size};
    struct ast_file *file = ast_parse(&arena, &names, &source, &errors);
    render_all(&arena, &errors);
    if (errors.list.count == 0) {
        struct text once = text_new(&arena), twice = text_new(&arena);
        struct text meant = text_new(&arena), read = text_new(&arena);
        ast_format(&once, file);
        struct source formatted = {"formatted.op", once.at, once.length};
        struct ast_file *again = ast_parse(&arena, &names, &formatted, &errors);
        demand(errors.list.count == 0, "formatted text has errors", source.text, once.at);
        ast_format(&twice, again);
        demand(strcmp(once.at, twice.at) == 0, "formatting is not idempotent", once.at, twice.at);
        dump_file(&meant, file);
        dump_file(&read, again);
        demand(strcmp(meant.at, read.at) == 0, "formatting changed the meaning", meant.at, read.at);
        demand(comment_bytes(file) == comment_bytes(again), "formatting lost a comment",
               source.text, once.at);
    }
    arena_release(&arena);
    return 0;
}
