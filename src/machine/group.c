/*
 * What the control group of this process grants: time and memory.
 *
 * A limit of any group above counts too. Inside a container the path that /proc names may lie
 * outside of what is mounted; then the files at the mount's root are those of this container.
 */
#include <stdlib.h>
#include <string.h>

#include "machine/private.h"

enum { GROUP_PATH = 1024 };

struct group {
    const char *root, *mount; /* "/sys/fs/cgroup/cpu" */
    double quota;
    int64_t memory;
};

static void take_quota(struct group *group, double limit, double period)
{
    if (limit > 0 && period > 0 && (group->quota <= 0 || limit / period < group->quota))
        group->quota = limit / period;
}

/* Version 1 says "no limit" by a number near the largest there is. */
static void take_memory(struct group *group, int64_t bytes)
{
    if (bytes > 0 && bytes < (int64_t)1 << 60 && (!group->memory || bytes < group->memory))
        group->memory = bytes;
}

static void read_version_1(struct group *group, const char *path)
{
    char text[64], period[64];
    if (system_read(text, sizeof text, group->root, "%s%s/cpu.cfs_quota_us", group->mount, path) &&
        system_read(period, sizeof period, group->root, "%s%s/cpu.cfs_period_us", group->mount,
                    path))
        take_quota(group, strtod(text, NULL), strtod(period, NULL));
    if (system_read(text, sizeof text, group->root, "%s%s/memory.limit_in_bytes", group->mount,
                    path))
        take_memory(group, strtoll(text, NULL, 10));
}

static void read_version_2(struct group *group, const char *path)
{
    char text[64], *rest;
    if (system_read(text, sizeof text, group->root, "%s%s/cpu.max", group->mount, path)) {
        double limit = strtod(text, &rest); /* "max 100000" gives 0 */
        take_quota(group, limit, strtod(rest, NULL));
    }
    if (system_read(text, sizeof text, group->root, "%s%s/memory.max", group->mount, path))
        take_memory(group, strtoll(text, NULL, 10));
}

/* The group itself, those above it, and at last the root of the mount. */
static void read_upwards(struct group *group, const char *path)
{
    char at[GROUP_PATH];
    size_t length = strlen(path);
    if (length >= sizeof at)
        return;
    memcpy(at, path, length + 1);
    while (length && at[length - 1] == '/')
        at[--length] = '\0';
    for (;;) {
        read_version_1(group, at);
        read_version_2(group, at);
        char *slash = strrchr(at, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* One line of /proc/self/cgroup: "4:cpu,cpuacct:/a/b", or "0::/a/b" for version 2. */
static void read_line(struct group *group, char *line)
{
    static const char *const version_2[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return;
    *path++ = '\0';
    controllers++;
    if (!*controllers) {
        for (size_t i = 0; i < sizeof version_2 / sizeof *version_2; i++) {
            group->mount = version_2[i];
            read_upwards(group, path);
        }
        return;
    }
    char mount[128];
    if (strlen(controllers) > 64)
        return;
    /* the mount carries the name of all controllers, or of each as a link */
    for (char *name = controllers; name; name = strchr(name, ',')) {
        name += *name == ',';
        size_t length = strcspn(name, ",");
        if (!(length == 3 && memcmp(name, "cpu", 3) == 0) &&
            !(length == 6 && memcmp(name, "memory", 6) == 0))
            continue;
        memcpy(mount, "/sys/fs/cgroup/", 15);
        memcpy(mount + 15, name, length);
        mount[15 + length] = '\0';
        group->mount = mount;
        read_upwards(group, path);
    }
}

void group_limits(const char *root, double *quota, int64_t *memory)
{
    char text[SYSTEM_FILE_BYTES];
    struct group group = {.root = root};
    if (system_read(text, sizeof text, root, "/proc/self/cgroup")) {
        char *line = text;
        while (line) {
            char *next = strchr(line, '\n');
            if (next)
                *next++ = '\0';
            read_line(&group, line);
            line = next;
        }
    }
    *quota = group.quota;
    *memory = group.memory;
}
