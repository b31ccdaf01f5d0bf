/*
 * Looks from outside for a key in the environment and the command line of every process, as long
 * as a command runs.
 *
 *     watch NAME KEYFILE DECOY FINDINGS COMMAND...
 *
 * starts COMMAND with the key of KEYFILE in the variable NAME, and DECOY in WATCH_DECOY. The key
 * may be seen in the command itself until it has started a process of its own, and nowhere else.
 * The decoy is what shows that the watch sees anything. The file FINDINGS says who was seen,
 *
 *     seen cc1 4: 4 looked into, 0 with the decoy, 0 with the key
 *
 * the names of those that came from the command first, and all others in one line; then a sum. The
 * answer is that of the command, or 99 when the key was found.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1 << 20, PROCESSES = 8192, NAMES = 128, KEY_FOUND = 99 };

struct seen {
    int pid;
    char name[32];
    bool ours;                   /* it came from the command */
    bool looked, decoy, has_key; /* in any look */
};

static struct seen processes[PROCESSES];
static int process_count;
static char key[256];
static const char *decoy;

static size_t read_file(int pid, const char *what, char *bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, what);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    for (ssize_t got; fd >= 0 && length < MOST - 1; length += (size_t)got)
        if ((got = read(fd, bytes + length, MOST - 1 - length)) <= 0)
            break;
    if (fd >= 0)
        close(fd);
    bytes[length] = 0;
    return length;
}

/* The name and the parent of a process; false: it is gone. */
static bool read_stat(int pid, char name[32], int *parent)
{
    static char bytes[MOST];
    read_file(pid, "stat", bytes);
    char *open = strchr(bytes, '('), *close = strrchr(bytes, ')');
    if (!open || !close || sscanf(close + 1, " %*c %d", parent) != 1)
        return false;
    snprintf(name, 32, "%.*s", (int)(close - open - 1), open + 1);
    for (char *at = name; *at; at++)
        if (isspace((unsigned char)*at))
            *at = '_';
    return true;
}

/* A process is one entry for each name it has had: between fork and exec it is another program. */
static struct seen *entry_of(int pid, const char *name, bool ours)
{
    for (int i = process_count - 1; i >= 0; i--)
        if (processes[i].pid == pid && strcmp(processes[i].name, name) == 0)
            return &processes[i];
    if (process_count == PROCESSES)
        return NULL;
    struct seen *one = &processes[process_count++];
    *one = (struct seen){.pid = pid, .ours = ours};
    snprintf(one->name, sizeof one->name, "%s", name);
    return one;
}

static bool is_ours(int pid)
{
    for (int i = 0; i < process_count; i++)
        if (processes[i].pid == pid && processes[i].ours)
            return true;
    return false;
}

static void look(struct seen *one, bool may_have_key)
{
    static char bytes[MOST];
    static const char *const files[] = {"environ", "cmdline"};
    for (int i = 0; i < 2; i++) {
        size_t length = read_file(one->pid, files[i], bytes);
        one->looked |= length > 0;
        one->decoy |= memmem(bytes, length, decoy, strlen(decoy)) != NULL;
        if (!may_have_key && memmem(bytes, length, key, strlen(key)))
            one->has_key = true;
    }
}

/* All processes once; *begun: the command has started one of its own. */
static void look_around(int command, bool *begun)
{
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        int pid = atoi(entry->d_name), parent = 0;
        char name[32];
        if (pid <= 0 || pid == getpid() || !read_stat(pid, name, &parent))
            continue;
        bool child = pid != command && is_ours(parent);
        *begun |= child;
        struct seen *one = entry_of(pid, name, pid == command || child || is_ours(pid));
        if (one)
            look(one, pid == command && !*begun);
    }
    if (folder)
        closedir(folder);
}

static void print_sum(FILE *out, const char *name, bool ours, int sum[4])
{
    int own[4] = {0};
    for (int i = 0; i < process_count; i++) {
        const struct seen *one = &processes[i];
        if (one->ours != ours || (name && strcmp(one->name, name) != 0))
            continue;
        own[0]++;
        own[1] += one->looked;
        own[2] += one->decoy;
        own[3] += one->has_key;
    }
    fprintf(out, "seen %s %d: %d looked into, %d with the decoy, %d with the key\n",
            name ? name : "others", own[0], own[1], own[2], own[3]);
    for (int i = 0; i < 4; i++)
        sum[i] += own[i];
}

static bool print_all(FILE *out)
{
    const char *names[NAMES];
    int count = 0, sum[4] = {0};
    for (int i = 0; i < process_count; i++) {
        bool known = !processes[i].ours || count == NAMES;
        for (int k = 0; k < count && !known; k++)
            known = strcmp(names[k], processes[i].name) == 0;
        if (!known)
            names[count++] = processes[i].name;
    }
    for (int i = 0; i < count; i++)
        print_sum(out, names[i], true, sum);
    fprintf(out,
            "own: %d processes of %d names, %d looked into, %d with the decoy, %d with the key\n",
            sum[0], count, sum[1], sum[2], sum[3]);
    print_sum(out, NULL, false, sum);
    fclose(out);
    return sum[3] > 0;
}

int main(int count, char **arguments)
{
    FILE *file = count > 5 ? fopen(arguments[2], "r") : NULL;
    FILE *out = count > 5 ? fopen(arguments[4], "we") : NULL;
    int status = 0;
    bool begun = false;
    if (!file || !out || !fgets(key, sizeof key, file)) {
        fprintf(stderr, "watch NAME KEYFILE DECOY FINDINGS COMMAND...\n");
        return 3;
    }
    fclose(file);
    key[strcspn(key, "\n")] = 0;
    decoy = arguments[3];
    pid_t command = fork();
    if (command == 0) {
        setenv(arguments[1], key, 1);
        setenv("WATCH_DECOY", decoy, 1);
        execvp(arguments[5], arguments + 5);
        _exit(127);
    }
    entry_of(command, "watch", true);
    while (waitpid(command, &status, WNOHANG) == 0) {
        look_around(command, &begun);
        usleep(1000);
    }
    if (print_all(out))
        return KEY_FOUND;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}
