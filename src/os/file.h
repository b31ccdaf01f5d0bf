/*
 * Whole files, and the directories smelt keeps things in.
 */
#ifndef SMELT_OS_FILE_H
#define SMELT_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/*
 * The whole file, with a NUL after its end, in the arena; *length may be NULL. NULL with
 * CANNOT_READ when it cannot be read, is a directory, or is longer than `maximum` bytes.
 */
char *file_read(struct arena *arena, const char *path, size_t maximum, size_t *length,
                struct error *error);

/*
 * Writes the whole file or leaves what was there: a temporary beside it, flushed to disk, then
 * renamed over it. `mode` as for chmod. Devices and pipes are written to as they are.
 */
bool file_write(const char *path, const void *bytes, size_t length, unsigned mode,
                struct error *error);

/* Makes the directory and those above it, each 0700; one that is there already is fine. */
bool directory_make(const char *path, struct error *error);

/*
 * smelt's own directories, made when missing: $SMELT_CACHE, else $XDG_CACHE_HOME/smelt, else
 * ~/.cache/smelt; $XDG_CONFIG_HOME/smelt, else ~/.config/smelt; $XDG_DATA_HOME/smelt, else
 * ~/.local/share/smelt. `name` is a directory below it, or
 * NULL. Refused when somebody else owns it or may write to it, since code is loaded from there. In
 * the arena.
 */
char *directory_cache(struct arena *arena, const char *name, struct error *error);
char *directory_config(struct arena *arena, const char *name, struct error *error);
char *directory_data(struct arena *arena, const char *name, struct error *error);

/*
 * Removes the files of a folder of the cache that were not used for longest, until it holds no more
 * than it may (512 MB; SMELT_CACHE_MEGABYTES says otherwise). What was used in the last hour stays.
 */
void directory_trim(const char *path);
/* Says that a file was used now. */
void directory_touch(const char *path);

#endif
