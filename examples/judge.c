/*
 * Calling the judge from another program:
 *
 *     make examples && build/examples/judge examples/softmax.op examples/softmax_kernel.c
 */
#include <stdio.h>
#include <stdlib.h>

#include "smelt.h"

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    rewind(file);
    char *text = calloc(1, (size_t)length + 1);
    if (text && fread(text, 1, (size_t)length, file) != (size_t)length)
        text[0] = 0;
    fclose(file);
    return text;
}

int main(int count, char **arguments)
{
    char *source = count == 3 ? read_file(arguments[2]) : NULL;
    if (!source) {
        fprintf(stderr, "usage: judge TASK.op KERNEL.c\n");
        return 2;
    }
    smelt *session = smelt_open();
    smelt_verdict verdict;
    bool judged = smelt_judge(session, arguments[1], NULL, source, NULL, &verdict);
    if (judged)
        printf("%s: %s\n%.4g us, %.3g times as fast as the fastest baseline\n", verdict.outcome,
               verdict.message, verdict.microseconds, verdict.speedup);
    else
        fprintf(stderr, "%s\n", smelt_error(session));
    smelt_close(session);
    free(source);
    return judged ? 0 : 3;
}
