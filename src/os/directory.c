/*
 * smelt's own directories, by the XDG base directory rules.
 */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Another process may make it at the same moment: that it is there is all that counts. */
static bool make_one(const char *path, struct error *error)
{
    if (is_directory(path) || mkdir(path, 0700) == 0)
        return true;
    int reason = errno;
    if (reason == EEXIST && is_directory(path))
        return true;
    errno = reason;
    return error_system(error, ERROR_CANNOT_WRITE, "could not make the directory %s", path);
}

bool directory_make(const char *path, struct error *error)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof part) {
        errno = length ? ENAMETOOLONG : ENOENT;
        return error_system(error, ERROR_CANNOT_WRITE, "could not make the directory %s", path);
    }
    if (is_directory(path))
        return true;
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (!make_one(part, error))
            return false;
    }
    return true;
}

/* Code is loaded from these directories, so nobody else may be able to put something there. */
static bool check_private(const char *path, struct error *error)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return error_system(error, ERROR_CANNOT_READ, "could not look at the directory %s", path);
    if (status.st_uid == geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH)))
        return true;
    error_set(error, ERROR_CANNOT_WRITE, "the directory %s is not safe to keep code in", path);
    error_detail(error,
                 status.st_uid == geteuid() ? "others may write to it" : "somebody else owns it");
    error_hint(error, "chmod 700 it, or set SMELT_CACHE to a directory of your own");
    return false;
}

/* The rules say that a relative path in an XDG variable is to be ignored. */
static const char *absolute_variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] == '/' ? value : NULL;
}

static char *directory_own(struct arena *arena, const char *override, const char *variable,
                           const char *below_home, const char *name, struct error *error)
{
    const char *base = override ? getenv(override) : NULL;
    const char *suffix = "";
    if (!base || !*base) {
        base = absolute_variable(variable);
        suffix = "/smelt";
    }
    if (!base) {
        const char *home = absolute_variable("HOME");
        struct passwd *user = home ? NULL : getpwuid(geteuid());
        if (user && user->pw_dir && user->pw_dir[0] == '/')
            home = user->pw_dir;
        if (!home) {
            error_set(error, ERROR_CANNOT_WRITE, "there is no home directory to keep files in");
            error_hint(error, "set HOME or %s to a directory", override ? override : variable);
            return NULL;
        }
        base = arena_printf(arena, "%s/%s", home, below_home);
    }
    char *path = arena_printf(arena, "%s%s%s%s", base, suffix, name ? "/" : "", name ? name : "");
    if (!directory_make(path, error)) {
        error_hint(error, "set %s to a directory that can be written",
                   override ? override : variable);
        return NULL;
    }
    return check_private(path, error) ? path : NULL;
}

char *directory_cache(struct arena *arena, const char *name, struct error *error)
{
    return directory_own(arena, "SMELT_CACHE", "XDG_CACHE_HOME", ".cache", name, error);
}

char *directory_config(struct arena *arena, const char *name, struct error *error)
{
    return directory_own(arena, NULL, "XDG_CONFIG_HOME", ".config", name, error);
}

char *directory_data(struct arena *arena, const char *name, struct error *error)
{
    return directory_own(arena, NULL, "XDG_DATA_HOME", ".local/share", name, error);
}
