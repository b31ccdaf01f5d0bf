/*
 * Folders for the time of one judgement, and the removal of those whose judge was killed.
 *
 * A folder in use is locked through its own descriptor, and the system drops the lock with the last
 * process that holds it. So whatever carries our name, is ours and can be locked is left over.
 */
#include "judge/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "smelt-kernel-";

enum { TRIES = 100 };

enum { DEPTH = 16 }; /* of folders inside: the caches of drivers have some */

static void empty(int folder, int depth)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = again >= 0 ? fdopendir(again) : NULL;
    if (!entries && again >= 0)
        close(again);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(folder, entry->d_name, 0) != 0) {
            int inner = depth < DEPTH ? openat(folder, entry->d_name,
                                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                                      : -1;
            if (inner >= 0) {
                empty(inner, depth + 1);
                close(inner);
            }
            unlinkat(folder, entry->d_name, AT_REMOVEDIR);
        }
    if (entries)
        closedir(entries);
}

/* Locks a folder of ours that nobody else has locked; -1 when it is not, or is in use. */
static int lock_folder(int base, const char *name)
{
    struct stat status;
    int folder = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return -1;
    if (fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
        flock(folder, LOCK_EX | LOCK_NB) == 0)
        return folder;
    close(folder);
    return -1;
}

static void sweep(const char *base)
{
    int folder = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = folder >= 0 ? fdopendir(folder) : NULL;
    if (!entries && folder >= 0)
        close(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0)
            continue;
        int left = lock_folder(folder, entry->d_name);
        if (left < 0)
            continue;
        empty(left, 0);
        unlinkat(folder, entry->d_name, AT_REMOVEDIR);
        close(left);
    }
    if (entries)
        closedir(entries);
}

bool folder_make(struct arena *arena, struct folder *folder, struct error *error)
{
    static bool swept;
    const char *base = getenv("TMPDIR");
    base = base && *base ? base : "/tmp";
    *folder = (struct folder){.lock = -1};
    if (!swept)
        sweep(base);
    swept = true;
    /* another judge may sweep between making and locking: then there is no folder any more */
    for (int i = 0; i < TRIES; i++) {
        struct stat status;
        char *path = arena_printf(arena, "%s/%sXXXXXX", base, prefix);
        if (!mkdtemp(path))
            break;
        int lock = lock_folder(AT_FDCWD, path);
        if (lock >= 0 && fstat(lock, &status) == 0 && status.st_nlink > 0) {
            *folder = (struct folder){path, lock};
            return true;
        }
        if (lock >= 0)
            close(lock);
        rmdir(path); /* or it is there but cannot be locked: for lack of descriptors, say */
    }
    return error_system(error, ERROR_CANNOT_WRITE, "could not make a folder in %s", base);
}

void folder_remove(struct folder *folder)
{
    if (!folder->path)
        return;
    empty(folder->lock, 0);
    rmdir(folder->path);
    close(folder->lock);
    *folder = (struct folder){.lock = -1};
}
