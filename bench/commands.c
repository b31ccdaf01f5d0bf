/*
 * How long whole commands take, start-up included: commands SMELT
 *
 * Each is run several times and the median of the wall time is compared with what is promised.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 15 };

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* Wall time of one run in milliseconds, or a negative number if it did not end with 0. */
static double time_once(char *const *arguments)
{
    double start = now_ms();
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        dup2(nowhere, 1);
        dup2(nowhere, 2);
        execv(arguments[0], arguments);
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
        return -1;
    return now_ms() - start;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void row(const char *what, double limit_ms, char *smelt, char *command, char *file)
{
    char *arguments[] = {smelt, command, file, NULL};
    double times[RUNS];
    for (int i = 0; i < RUNS; i++) {
        times[i] = time_once(arguments);
        if (times[i] < 0) {
            printf("%s | failed | < %.0f ms | NO\n", what, limit_ms);
            return;
        }
    }
    qsort(times, RUNS, sizeof *times, compare);
    double median = times[RUNS / 2];
    printf("%s | %.1f ms | < %.0f ms | %s\n", what, median, limit_ms,
           median < limit_ms ? "yes" : "NO");
}

/* One op of `count` elementwise statements, each reading the one before. */
static void write_statements(FILE *file, const char *name, int count)
{
    fprintf(file, "op %s(x: f32[N]) -> (y: f32[N]) {\n    t0[i] = x[i]\n", name);
    for (int i = 1; i < count - 1; i++)
        fprintf(file, "    t%d[i] = t%d[i] * 0.5 + x[i]\n", i, i - 1);
    fprintf(file, "    y[i] = t%d[i]\n}\n", count - 2);
}

static void write_calls(FILE *file, int count)
{
    write_statements(file, "block", 20);
    fprintf(file, "\nop network(x: f32[N]) -> (y: f32[N]) {\n    t0 = block(x)\n");
    for (int i = 1; i < count - 1; i++)
        fprintf(file, "    t%d = block(t%d)\n", i, i - 1);
    fprintf(file, "    y = block(t%d)\n}\n", count - 2);
}

/* Names of the library, a function among them. */
static void write_small(FILE *file)
{
    fprintf(file, "op layer(x: f32[N, K], w: f32[M, K], b: f32[M]) -> (y: f32[N, M]) {\n"
                  "    t = linear(x, w, b)\n    y = gelu(t)\n}\n");
}

static bool begin_again(FILE *file)
{
    rewind(file);
    return ftruncate(fileno(file), 0) == 0;
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/smelt-bench-XXXXXX.op";
    int handle = mkstemps(path, 3);
    FILE *file = handle < 0 ? NULL : fdopen(handle, "w");
    if (argc != 2 || !file)
        return 3;
    row("start-up: smelt version", 10, argv[1], "version", NULL);

    write_small(file);
    fflush(file);
    row("smelt check, a small file that uses the library", 15, argv[1], "check", path);

    if (!begin_again(file))
        return 3;
    write_statements(file, "long_op", 2000);
    fflush(file);
    row("smelt check, one op of 2,000 statements", 100, argv[1], "check", path);

    if (!begin_again(file))
        return 3;
    write_calls(file, 300);
    fclose(file);
    row("smelt check, 300 calls of a 20-statement op", 100, argv[1], "check", path);
    unlink(path);
    return 0;
}
