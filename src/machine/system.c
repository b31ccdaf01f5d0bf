/*
 * Small files of /proc and /sys.
 */
#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/private.h"

bool system_read(char *out, size_t size, const char *root, const char *format, ...)
{
    char path[PATH_MAX];
    int head = snprintf(path, sizeof path, "%s", root);
    out[0] = '\0';
    if (head < 0 || (size_t)head >= sizeof path)
        return false;
    va_list arguments;
    va_start(arguments, format);
    int tail = vsnprintf(path + head, sizeof path - (size_t)head, format, arguments);
    va_end(arguments);
    if (tail < 0 || (size_t)tail >= sizeof path - (size_t)head)
        return false;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t length = fread(out, 1, size - 1, file);
    bool good = !ferror(file);
    fclose(file);
    out[length] = '\0';
    if (length && out[length - 1] == '\n')
        out[length - 1] = '\0';
    return good;
}

int64_t system_number(const char *root, const char *path)
{
    char text[64], *end;
    if (!system_read(text, sizeof text, root, "%s", path) || !isdigit((unsigned char)text[0]))
        return -1;
    long long value = strtoll(text, &end, 10);
    return value;
}

/* What others wrote ends in our files and on our terminal: printable ASCII only. */
static void copy_clean(char *out, size_t size, const char *from, size_t length)
{
    size_t used = 0;
    for (size_t i = 0; i < length && used + 1 < size; i++)
        out[used++] = isascii(from[i]) && isprint((unsigned char)from[i]) ? from[i] : '?';
    while (used && out[used - 1] == ' ')
        used--;
    out[used] = '\0';
}

bool system_field(const char *text, const char *key, char *out, size_t size)
{
    size_t length = strlen(key);
    out[0] = '\0';
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) != 0)
            continue;
        const char *at = line + length;
        at += strspn(at, " \t");
        if (*at != ':')
            continue;
        at++;
        at += strspn(at, " \t");
        copy_clean(out, size, at, strcspn(at, "\n"));
        return true;
    }
    return false;
}

int system_list_count(const char *list, int *first)
{
    enum { HIGHEST = 1 << 20 };
    int count = 0;
    bool any = false;
    while (isdigit((unsigned char)*list)) {
        char *end;
        long low = strtol(list, &end, 10), high = low;
        if (*end == '-')
            high = strtol(end + 1, &end, 10);
        if (low < 0 || high < low || high > HIGHEST)
            return 0;
        if (!any && first)
            *first = (int)low;
        any = true;
        count += (int)(high - low + 1);
        if (count > HIGHEST)
            return 0;
        list = *end == ',' ? end + 1 : end;
    }
    return count;
}
