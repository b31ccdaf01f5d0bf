/*
 * Arrays on disk, in NumPy's .npy format. Reading trusts nothing: the shape is held against the
 * length of the file before any room is made for it. Writing is all or nothing: a file appears
 * under its name only when it is complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/npy.h"

enum { CHUNK = 16 << 10 }; /* bytes that pass through at a time */

static const char MAGIC[] = "\x93NUMPY";

static bool machine_is_big(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 0;
}

/* ---- reading ---- */

static bool read_truncated(const char *name, struct error *error)
{
    error_set(error, ERROR_BAD_ARRAY_FILE, "%s: the file ends too early", name);
    error_hint(error, "it was not written or copied to its end: write it again");
    return false;
}

static bool read_bytes(FILE *stream, void *at, size_t length, const char *name, struct error *error)
{
    if (fread(at, 1, length, stream) == length)
        return true;
    if (ferror(stream))
        return error_system(error, ERROR_CANNOT_READ, "could not read %s", name);
    return read_truncated(name, error);
}

/* Magic, version, length, dictionary. *start is where the elements begin. */
static bool read_header(FILE *stream, int64_t size, const char *name, struct npy_header *header,
                        int64_t *start, struct error *error)
{
    unsigned char head[12] = {0};
    char text[NPY_HEADER];
    size_t length;

    if (size < 10 || fread(head, 1, 8, stream) != 8 || memcmp(head, MAGIC, 6) != 0) {
        error_set(error, ERROR_BAD_ARRAY_FILE, "%s is not a .npy file", name);
        error_hint(error, "write it with numpy.save(path, array)");
        return false;
    }
    if (head[6] < 1 || head[6] > 3) {
        error_set(error, ERROR_BAD_ARRAY_FILE, "%s: version %d of the .npy format is not known",
                  name, head[6]);
        error_hint(error, "versions 1 to 3 are read: numpy.lib.format.write_array can choose");
        return false;
    }
    size_t field = head[6] == 1 ? 2 : 4;
    if (!read_bytes(stream, head + 8, field, name, error))
        return false;
    length = head[8] | (size_t)head[9] << 8 | (size_t)head[10] << 16 | (size_t)head[11] << 24;
    if (length > NPY_HEADER)
        return error_set(error, ERROR_BAD_ARRAY_FILE, "%s: a header of %zu bytes, more than %d",
                         name, length, NPY_HEADER);
    *start = (int64_t)(8 + field + length);
    return read_bytes(stream, text, length, name, error) &&
           npy_header_parse(text, length, name, header, error);
}

/* The kind of values both sides must agree on. */
static const char *kind_name(char kind)
{
    switch (kind) {
    case 'f': return "floats";
    case 'b': return "bools";
    case 'V': return "raw bytes";
    default: return "integers";
    }
}

/* Whether a file of this kind may be read as the type. */
static bool check_kind(const struct npy_header *header, enum dtype wanted, const char *name,
                       struct error *error)
{
    bool raw = header->kind == 'V';
    bool narrow = wanted == DTYPE_BF16 || wanted == DTYPE_F8E4 || wanted == DTYPE_F8E5;
    bool good;

    if (raw)
        good = narrow && (size_t)header->bytes == dtype_bytes(wanted);
    else if (dtype_is_float(wanted))
        good = header->kind == 'f';
    else if (wanted == DTYPE_BOOL)
        good = header->kind == 'b';
    else
        good = header->kind == 'i' || header->kind == 'u';
    if (good)
        return true;
    error_set(error, ERROR_ARRAY_MISMATCH, "%s holds %s, and %s is asked for", name,
              kind_name(header->kind), dtype_name(wanted));
    error_hint(error, "convert before saving: a.astype('%s')",
               dtype_is_float(wanted) ? "float32"
               : wanted == DTYPE_BOOL ? "bool"
                                      : "int64");
    return false;
}

/* The bytes of one element as a number, low byte first whatever their order was. */
static uint64_t element_bits(const unsigned char *at, const struct npy_header *header)
{
    uint64_t bits = 0;

    for (int i = 0; i < header->bytes; i++)
        bits |= (uint64_t)at[header->big ? header->bytes - 1 - i : i] << 8 * i;
    return bits;
}

static double element_float(uint64_t bits, const struct npy_header *header, enum dtype wanted)
{
    uint32_t word = (uint32_t)bits;
    uint16_t half = (uint16_t)bits;
    uint8_t byte = (uint8_t)bits;

    if (header->kind == 'V')
        return dtype_load_float(wanted, header->bytes == 2 ? (void *)&half : (void *)&byte);
    if (header->bytes == 8)
        return dtype_round(wanted, dtype_load_float(DTYPE_F64, &bits));
    if (header->bytes == 4)
        return dtype_round(wanted, dtype_load_float(DTYPE_F32, &word));
    return dtype_round(wanted, dtype_load_float(DTYPE_F16, &half));
}

/* False when it does not fit. */
static bool element_integer(uint64_t bits, const struct npy_header *header, enum dtype wanted,
                            int64_t *value)
{
    if (header->kind == 'b') {
        *value = bits != 0;
        return true;
    }
    if (header->kind == 'i') {
        int unused = 64 - 8 * header->bytes;
        *value = (int64_t)(bits << unused) >> unused;
    } else {
        if (bits > INT64_MAX)
            return false;
        *value = (int64_t)bits;
    }
    return dtype_wrap(wanted, *value) == *value;
}

/* Where in the array the elements of a file go, one after the other. */
struct position {
    int64_t at;
    bool fortran;
    int rank;
    const int64_t *dims;
    int64_t index[IR_MAX_RANK], strides[IR_MAX_RANK];
};

static struct position position_new(const struct npy_header *header)
{
    struct position position = {
        .fortran = header->fortran, .rank = header->rank, .dims = header->dims};
    int64_t stride = 1;

    for (int i = header->rank - 1; i >= 0 && header->count; i--) {
        position.strides[i] = stride;
        stride *= header->dims[i];
    }
    return position;
}

static void position_advance(struct position *position)
{
    if (!position->fortran) {
        position->at++;
        return;
    }
    for (int i = 0; i < position->rank; i++) {
        position->at += position->strides[i];
        if (++position->index[i] < position->dims[i])
            return;
        position->at -= position->dims[i] * position->strides[i];
        position->index[i] = 0;
    }
}

static bool read_element(const unsigned char *at, const struct npy_header *header,
                         struct array *array, int64_t position, const char *name,
                         struct error *error)
{
    uint64_t bits = element_bits(at, header);

    if (array->floats) {
        array->floats[position] = element_float(bits, header, array->dtype);
        return true;
    }
    if (element_integer(bits, header, array->dtype, &array->integers[position]))
        return true;
    if (header->kind == 'i')
        error_set(error, ERROR_ARRAY_MISMATCH, "%s: element %lld is %lld, which %s cannot hold",
                  name, (long long)position, (long long)array->integers[position],
                  dtype_name(array->dtype));
    else
        error_set(error, ERROR_ARRAY_MISMATCH, "%s: element %lld is %llu, which %s cannot hold",
                  name, (long long)position, (unsigned long long)bits, dtype_name(array->dtype));
    return false;
}

static bool read_elements(FILE *stream, const struct npy_header *header, struct array *array,
                          const char *name, struct error *error)
{
    unsigned char chunk[CHUNK];
    struct position position = position_new(header);
    int64_t per_chunk = CHUNK / header->bytes;

    for (int64_t left = header->count; left > 0;) {
        int64_t count = left < per_chunk ? left : per_chunk;
        if (!read_bytes(stream, chunk, (size_t)(count * header->bytes), name, error))
            return false;
        for (int64_t i = 0; i < count; i++) {
            if (!read_element(chunk + i * header->bytes, header, array, position.at, name, error))
                return false;
            position_advance(&position);
        }
        left -= count;
    }
    return true;
}

struct allocation {
    struct arena *arena;
    struct array *array;
};

static void allocate(void *context)
{
    struct allocation *allocation = context;
    array_alloc(allocation->arena, allocation->array);
}

bool npy_read_stream(struct arena *arena, FILE *stream, int64_t size, const char *name,
                     enum dtype wanted, struct array *array, struct error *error)
{
    struct npy_header header;
    int64_t start = 0, bytes;

    if (!read_header(stream, size, name, &header, &start, error) ||
        !check_kind(&header, wanted, name, error))
        return false;
    if (__builtin_mul_overflow(header.count, (int64_t)header.bytes, &bytes) || bytes > size - start)
        return read_truncated(name, error);
    if (bytes < size - start) {
        error_set(error, ERROR_BAD_ARRAY_FILE, "%s: %lld bytes follow the last element", name,
                  (long long)(size - start - bytes));
        error_hint(error, "a .npy file holds one array: save each under its own name");
        return false;
    }
    array->dtype = wanted;
    array->rank = header.rank;
    array->count = header.count;
    memcpy(array->dims, header.dims, sizeof array->dims);
    /* The stream is the caller's to close, so running out of memory must not pass it by. */
    if (!memory_try(allocate, &(struct allocation){arena, array})) {
        error_set(error, ERROR_OUT_OF_MEMORY, "%s: no room for its %lld elements", name,
                  (long long)header.count);
        return false;
    }
    return read_elements(stream, &header, array, name, error);
}

bool npy_read(struct arena *arena, const char *path, enum dtype wanted, struct array *array,
              struct error *error)
{
    /* Not blocking: a pipe without a writer would hang here. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;

    if (file < 0) {
        error_system(error, ERROR_CANNOT_READ, "could not open %s", path);
        error_hint(error, "give the name of a .npy file");
        return false;
    }
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(file);
        error_set(error, ERROR_CANNOT_READ, "could not read %s: it is not a regular file", path);
        error_hint(error, "give the name of a .npy file");
        return false;
    }
    FILE *stream = fdopen(file, "rb");
    if (!stream) {
        close(file);
        return error_system(error, ERROR_CANNOT_READ, "could not open %s", path);
    }
    bool good = npy_read_stream(arena, stream, status.st_size, path, wanted, array, error);
    fclose(stream);
    return good;
}

/* ---- writing ---- */

static const char *npy_type(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F64: return "f8";
    case DTYPE_F32: return "f4";
    case DTYPE_F16: return "f2";
    case DTYPE_BF16: return "V2";
    case DTYPE_I64: return "i8";
    case DTYPE_I32: return "i4";
    case DTYPE_U32: return "u4";
    case DTYPE_I16: return "i2";
    case DTYPE_I8: return "i1";
    case DTYPE_U8: return "u1";
    case DTYPE_BOOL: return "b1";
    default: return "V1";
    }
}

static bool write_header(FILE *stream, const struct array *array)
{
    enum { HEADER = 512 }; /* twelve dimensions of nineteen digits fit, and elements are aligned */
    char text[HEADER];
    char order = dtype_bytes(array->dtype) == 1 ? '|' : machine_is_big() ? '>' : '<';
    int length = snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                          order, npy_type(array->dtype));

    for (int i = 0; i < array->rank; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%lld", i ? ", " : "",
                           (long long)array->dims[i]);
    length += snprintf(text + length, sizeof text - (size_t)length, "%s), }",
                       array->rank == 1 ? "," : "");
    /* Spaces up to the newline, so that everything before the elements is a multiple of 64. */
    int padded = (10 + length + 1 + 63) / 64 * 64 - 10;
    memset(text + length, ' ', (size_t)(padded - length));
    text[padded - 1] = '\n';
    unsigned char head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    head[8] = (unsigned char)(padded & 255);
    head[9] = (unsigned char)(padded >> 8);
    return fwrite(head, 1, sizeof head, stream) == sizeof head &&
           fwrite(text, 1, (size_t)padded, stream) == (size_t)padded;
}

static bool write_elements(FILE *stream, const struct array *array)
{
    unsigned char chunk[CHUNK];
    size_t bytes = dtype_bytes(array->dtype), filled = 0;

    for (int64_t i = 0; i < array->count; i++) {
        if (array->floats)
            dtype_store_float(array->dtype, chunk + filled, array->floats[i]);
        else
            dtype_store_integer(array->dtype, chunk + filled, array->integers[i]);
        filled += bytes;
        if (filled == CHUNK || i + 1 == array->count) {
            if (fwrite(chunk, 1, filled, stream) != filled)
                return false;
            filled = 0;
        }
    }
    return true;
}

/* A new file beside the one that is meant, under a name nobody uses. */
static FILE *open_beside(const char *path, char *temporary, size_t size)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        int length = snprintf(temporary, size, "%s.%ld-%d", path, (long)getpid(), attempt);
        if (length < 0 || (size_t)length >= size) {
            errno = ENAMETOOLONG;
            return NULL;
        }
        int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0) {
            FILE *stream = fdopen(file, "wb");
            if (!stream) {
                close(file);
                unlink(temporary);
            }
            return stream;
        }
        if (errno != EEXIST)
            return NULL;
    }
    return NULL;
}

bool npy_write(const char *path, const struct array *array, struct error *error)
{
    char resolved[PATH_MAX], temporary[PATH_MAX + 32];
    const char *target = realpath(path, resolved) ? resolved : path; /* write through links */
    struct stat status;

    if (stat(target, &status) == 0 && !S_ISREG(status.st_mode)) {
        error_set(error, ERROR_CANNOT_WRITE, "could not write %s: it is not a regular file", path);
        error_hint(error, "give the name of a file that may be replaced");
        return false;
    }
    FILE *stream = open_beside(target, temporary, sizeof temporary);
    if (!stream)
        return error_system(error, ERROR_CANNOT_WRITE, "could not write %s", path);
    bool good = write_header(stream, array) && write_elements(stream, array);
    int reason = errno;
    if (fclose(stream) != 0 && good) {
        good = false;
        reason = errno;
    }
    if (good && rename(temporary, target) == 0)
        return true;
    errno = good ? errno : reason;
    error_system(error, ERROR_CANNOT_WRITE, "could not write %s", path);
    unlink(temporary);
    return false;
}
