/*
 * The header of a .npy file: a Python dictionary with 'descr', 'fortran_order' and 'shape', in any
 * order, each once. Only this much of Python is understood; anything else is refused.
 */
#include <ctype.h>
#include <string.h>

#include "record/npy.h"

struct scan {
    const char *at, *end;
    const char *name;
    struct npy_header *header;
    struct error *error;
};

static bool scan_fail(struct scan *scan, const char *what)
{
    error_set(scan->error, ERROR_BAD_ARRAY_FILE, "%s: the header is damaged: %s", scan->name, what);
    error_hint(scan->error, "write the file again with numpy.save");
    return false;
}

/* The next character that is not a space, or 0. */
static int scan_peek(struct scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\t'))
        scan->at++;
    return scan->at < scan->end ? (unsigned char)*scan->at : 0;
}

static bool scan_accept(struct scan *scan, char c)
{
    if (scan_peek(scan) != (unsigned char)c)
        return false;
    scan->at++;
    return true;
}

/* A quoted string without escapes, copied into a small field. */
static bool scan_string(struct scan *scan, char *out, size_t size)
{
    int quote = scan_peek(scan);
    size_t length = 0;

    if (quote != '\'' && quote != '"')
        return scan_fail(scan, "expected a quoted string");
    for (scan->at++; scan->at < scan->end && *scan->at != quote; scan->at++) {
        if (length + 1 == size || *scan->at == '\\' || !isprint((unsigned char)*scan->at))
            return scan_fail(scan, "a string in it is too long or has odd characters");
        out[length++] = *scan->at;
    }
    out[length] = '\0';
    if (scan->at == scan->end)
        return scan_fail(scan, "a string in it does not end");
    scan->at++;
    return true;
}

static bool scan_bool(struct scan *scan, bool *value)
{
    static const char *const words[] = {"False", "True"};

    scan_peek(scan);
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(scan->end - scan->at) >= length && memcmp(scan->at, words[i], length) == 0) {
            scan->at += length;
            *value = i == 1;
            return true;
        }
    }
    return scan_fail(scan, "'fortran_order' is neither True nor False");
}

static bool scan_dimension(struct scan *scan, int64_t *value)
{
    if (!isdigit(scan_peek(scan)))
        return scan_fail(scan, "a dimension is not a number");
    *value = 0;
    for (; scan->at < scan->end && isdigit((unsigned char)*scan->at); scan->at++) {
        if (__builtin_mul_overflow(*value, (int64_t)10, value) ||
            __builtin_add_overflow(*value, (int64_t)(*scan->at - '0'), value))
            return scan_fail(scan, "a dimension does not fit in 64 bits");
    }
    if (scan->at < scan->end && *scan->at == 'L') /* as Python 2 wrote it */
        scan->at++;
    return true;
}

static bool scan_shape(struct scan *scan)
{
    struct npy_header *header = scan->header;

    if (!scan_accept(scan, '('))
        return scan_fail(scan, "'shape' is not a tuple");
    while (!scan_accept(scan, ')')) {
        if (header->rank == IR_MAX_RANK) {
            error_set(scan->error, ERROR_BAD_ARRAY_FILE, "%s: more than %d dimensions", scan->name,
                      IR_MAX_RANK);
            return false;
        }
        if (!scan_dimension(scan, &header->dims[header->rank++]))
            return false;
        if (!scan_accept(scan, ',') && scan_peek(scan) != ')')
            return scan_fail(scan, "'shape' is not a tuple");
    }
    return true;
}

/* '<f4': byte order, kind, size. */
static bool scan_descr(struct scan *scan)
{
    struct npy_header *header = scan->header;
    char descr[32];
    const char *at = descr;

    if (scan_peek(scan) == '[') {
        error_set(scan->error, ERROR_BAD_ARRAY_FILE, "%s: a record array, with named fields",
                  scan->name);
        error_hint(scan->error, "save one field of it: numpy.save(path, a['field'])");
        return false;
    }
    if (!scan_string(scan, descr, sizeof descr))
        return false;
    const uint16_t one = 1;
    bool native_big = *(const unsigned char *)&one == 0;
    header->big = *at == '>' || (*at != '<' && native_big);
    if (strchr("<>=|", *at) && *at)
        at++;
    header->kind = *at;
    header->bytes = *at && isdigit((unsigned char)at[1]) && !at[2] ? at[1] - '0' : 0;
    static const char *const known[] = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1",
                                        "u2", "u4", "u8", "b1", "V1", "V2", "?"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i], at) == 0) {
            if (*at == '?')
                header->kind = 'b', header->bytes = 1;
            return true;
        }
    }
    error_set(scan->error, ERROR_BAD_ARRAY_FILE, "%s: elements of type '%s' are not read",
              scan->name, descr);
    error_hint(scan->error, "convert before saving, as in a.astype('float32')");
    return false;
}

static bool scan_entry(struct scan *scan, unsigned *seen)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    char key[32];
    int i = 0;

    if (!scan_string(scan, key, sizeof key))
        return false;
    while (i < 3 && strcmp(keys[i], key) != 0)
        i++;
    if (i == 3 || *seen & 1u << i)
        return scan_fail(scan, "a key in it is unknown or stands twice");
    *seen |= 1u << i;
    if (!scan_accept(scan, ':'))
        return scan_fail(scan, "expected ':'");
    if (i == 0)
        return scan_descr(scan);
    return i == 1 ? scan_bool(scan, &scan->header->fortran) : scan_shape(scan);
}

static bool header_count(struct scan *scan)
{
    struct npy_header *header = scan->header;
    int64_t product = 1; /* without the zeros, so that strides do not overflow either */
    bool empty = false;

    for (int i = 0; i < header->rank; i++) {
        empty |= header->dims[i] == 0;
        if (header->dims[i] && __builtin_mul_overflow(product, header->dims[i], &product))
            return scan_fail(scan, "the number of elements does not fit in 64 bits");
    }
    header->count = empty ? 0 : product;
    return true;
}

bool npy_header_parse(const char *text, size_t length, const char *name, struct npy_header *header,
                      struct error *error)
{
    struct scan scan = {text, text + length, name, header, error};
    unsigned seen = 0;

    *header = (struct npy_header){0};
    if (!scan_accept(&scan, '{'))
        return scan_fail(&scan, "expected '{'");
    while (!scan_accept(&scan, '}')) {
        if (!scan_entry(&scan, &seen))
            return false;
        if (!scan_accept(&scan, ',') && scan_peek(&scan) != '}')
            return scan_fail(&scan, "expected ',' or '}'");
    }
    if (seen != 7)
        return scan_fail(&scan, "'descr', 'fortran_order' or 'shape' is missing");
    if (scan_peek(&scan) != 0 || scan.at != scan.end)
        return scan_fail(&scan, "something follows the '}'");
    return header_count(&scan);
}
