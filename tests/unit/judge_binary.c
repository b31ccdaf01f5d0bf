/*
 * The name of a binary: the same for sources that differ in words only, another for another
 * constant, and no reading beyond the end of what is no object.
 */
#include "judge/binary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/file.h"
#include "test.h"

static struct arena arena;

/* The object of a source, as kernels are compiled. */
static char *compile(const char *folder, const char *source, size_t *length)
{
    struct error error = {0};
    char path[96], command[256];
    snprintf(path, sizeof path, "%s/kernel.c", folder);
    CHECK(file_write(path, source, strlen(source), 0600, &error));
    snprintf(command, sizeof command, "cd %s && cc -O2 -g -fPIC -shared -o kernel.so kernel.c -lm",
             folder);
    CHECK(system(command) == 0);
    snprintf(path, sizeof path, "%s/kernel.so", folder);
    return file_read(&arena, path, BINARY_OBJECT_BYTES, length, &error);
}

TEST(binary_has_a_name_of_its_own)
{
    static const char *const sources[] = {
        "float kernel(float x)\n{\n    return x * 3.5f;\n}\n",
        "/* words */\n\nfloat kernel(float value)\n{\n    return 3.5f * value;\n}\n",
        "float kernel(float x)\n{\n    return x * 4.5f;\n}\n"};
    char folder[] = "/tmp/smelt-binary-XXXXXX", hashes[3][65], command[96];
    CHECK(mkdtemp(folder) != NULL);
    for (int i = 0; i < 3; i++) {
        size_t length = 0;
        char *bytes = compile(folder, sources[i], &length);
        CHECK(bytes != NULL);
        CHECK(binary_hash(bytes, length, hashes[i]));
        for (size_t cut = 0; i == 0 && cut < length; cut += 1 + cut / 7) {
            char hash[65];
            char *part = malloc(cut ? cut : 1);
            memcpy(part, bytes, cut);
            CHECK(!binary_hash(part, cut, hash)); /* the table of sections is at the end */
            free(part);
        }
    }
    CHECK_STR(hashes[0], hashes[1]);
    CHECK(strcmp(hashes[0], hashes[2]) != 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
    arena_release(&arena);
}
