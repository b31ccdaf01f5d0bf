/*
 * See lock.h. The lock is on a file in a folder that all users share.
 */
#include "os/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char path[] = "/tmp/smelt-timing.lock";

/*
 * Reading is enough for a lock, and all that somebody else's file allows. It is made only when it
 * is not there: in a sticky folder the kernel refuses O_CREAT on a file of another user.
 */
static int open_lock(void)
{
    int lock = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (lock < 0 && errno == ENOENT) {
        lock = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (lock >= 0)
            (void)fchmod(lock, 0644); /* whatever the umask: others must be able to read it */
    }
    if (lock < 0 && errno == EEXIST) /* another made it in between */
        lock = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return lock;
}

int lock_timing_begin(void (*waiting)(void *context), void *context)
{
    int lock = open_lock();
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0)
        return lock;
    if (errno == EWOULDBLOCK && waiting)
        waiting(context);
    while (flock(lock, LOCK_EX) != 0) {
        if (errno != EINTR) {
            close(lock);
            return -1;
        }
    }
    return lock;
}

void lock_timing_end(int lock)
{
    if (lock >= 0)
        close(lock);
}
