/*
 * Keeping a folder of things that can be made again from growing without end.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/file.h"

enum { TRIM_FILES = 65536, TRIM_IDLE_SECONDS = 3600 };

struct kept {
    char name[NAME_MAX + 1];
    long long bytes, used;
};

static int by_use(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    return (x->used > y->used) - (x->used < y->used);
}

/* SMELT_CACHE_MEGABYTES: the most that each folder of the cache may hold. */
static long long most_bytes(void)
{
    enum { MEGABYTES = 512 };
    const char *text = getenv("SMELT_CACHE_MEGABYTES");
    long long megabytes = text ? atoll(text) : 0;
    return (megabytes > 0 && megabytes < 1 << 20 ? megabytes : MEGABYTES) << 20;
}

static size_t list(DIR *entries, struct kept *files, long long *total)
{
    size_t count = 0;
    for (struct dirent *entry; count < TRIM_FILES && (entry = readdir(entries));) {
        struct stat status;
        if (fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode))
            continue;
        struct kept *file = &files[count++];
        memcpy(file->name, entry->d_name, strlen(entry->d_name) + 1);
        file->bytes = (long long)status.st_size;
        file->used = (long long)status.st_mtim.tv_sec;
        *total += file->bytes;
    }
    return count;
}

void directory_trim(const char *path)
{
    DIR *entries = opendir(path);
    struct kept *files = entries ? calloc(TRIM_FILES, sizeof *files) : NULL;
    long long total = 0, most = most_bytes(), now = (long long)time(NULL);
    size_t count = files ? list(entries, files, &total) : 0;
    if (total > most)
        qsort(files, count, sizeof *files, by_use);
    for (size_t i = 0; i < count && total > most; i++) {
        if (files[i].used > now - TRIM_IDLE_SECONDS)
            break; /* somebody may be about to load it */
        if (unlinkat(dirfd(entries), files[i].name, 0) == 0)
            total -= files[i].bytes;
    }
    free(files);
    if (entries)
        closedir(entries);
}

void directory_touch(const char *path)
{
    (void)utimensat(AT_FDCWD, path, NULL, 0);
}
