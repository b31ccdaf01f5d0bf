/*
 * The vault: one mapping, made when the first secret is found.
 *
 * The strings of the environment lie where the kernel put them, and /proc/PID/environ of this
 * process and of every child that was only forked shows that place: so it is overwritten.
 */
#include "os/secret.h"

#include <string.h>
#include <strings.h>
#include <sys/mman.h>

extern char **environ;

static char *vault;
static size_t used;

static bool ends_like_secret(const char *name, size_t length)
{
    static const char *const ends[] = {"_KEY", "_TOKEN", "_SECRET", "_PASSWORD"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        if (length > end && strncasecmp(name + length - end, ends[i], end) == 0)
            return true;
    }
    return false;
}

bool secret_is_name(const char *name)
{
    return ends_like_secret(name, strlen(name));
}

static bool open_vault(void)
{
    void *made = vault ? vault
                       : mmap(NULL, SECRET_VAULT, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return false;
    if (!vault) {
        madvise(made, SECRET_VAULT, MADV_DONTFORK);
        madvise(made, SECRET_VAULT, MADV_DONTDUMP);
    }
    vault = made;
    return true;
}

/* "NAME=value" goes into the vault, where there is room, and is wiped where it was. */
static void take(char *entry)
{
    size_t length = strlen(entry);
    if (open_vault() && used + length + 2 <= SECRET_VAULT) {
        memcpy(vault + used, entry, length + 1);
        used += length + 1;
    }
    explicit_bzero(entry, length);
}

void secret_take_all(void)
{
    size_t kept = 0;
    for (size_t i = 0; environ && environ[i]; i++) {
        const char *equals = strchr(environ[i], '=');
        if (equals && ends_like_secret(environ[i], (size_t)(equals - environ[i])))
            take(environ[i]);
        else
            environ[kept++] = environ[i];
    }
    if (environ)
        environ[kept] = NULL;
}

const char *secret_value(const char *name)
{
    size_t length = strlen(name);
    for (size_t at = 0; vault && at < used; at += strlen(vault + at) + 1)
        if (strncmp(vault + at, name, length) == 0 && vault[at + length] == '=')
            return vault + at + length + 1;
    return NULL;
}
