/*
 * Replays a kept corpus through one fuzz target, without libFuzzer: each file named on the
 * command line, or found in a directory named there, is given to LLVMFuzzerTestOneInput once.
 * A crash ends the program: the name printed last is the culprit.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replayed;

static bool replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size ? size : 1); /* exact, so that a sanitizer sees overruns */
    if (!file || !data || fread(data, 1, size, file) != size) {
        fprintf(stderr, "could not read %s: %s\n", path, strerror(errno));
        return false;
    }
    fclose(file);
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    replayed++;
    return true;
}

static bool replay(const char *path)
{
    struct stat status;
    if (stat(path, &status)) {
        fprintf(stderr, "could not read %s: %s\n", path, strerror(errno));
        return false;
    }
    if (!S_ISDIR(status.st_mode))
        return replay_file(path, (size_t)status.st_size);

    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    bool right = count >= 0;
    for (int i = 0; i < count; i++) {
        char inner[4096];
        snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            right = replay(inner) && right;
        free(entries[i]);
    }
    free(entries);
    return right;
}

int main(int argc, char **argv)
{
    bool right = true;
    for (int i = 1; i < argc; i++)
        right = replay(argv[i]) && right;
    printf("%d passed, %d failed\n", replayed, right ? 0 : 1);
    return right ? 0 : 1;
}
