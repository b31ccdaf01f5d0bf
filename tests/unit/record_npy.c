/* Arrays on disk: what is written is read back, what is damaged is refused before it is believed.
 */
#include "record/npy.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static struct arena arena;

/* A directory of the test's own, and a path in it. */
static const char *scratch(const char *name)
{
    static char directory[64];

    if (!directory[0]) {
        strcpy(directory, "/tmp/smelt-npy-XXXXXX");
        CHECK(mkdtemp(directory) != NULL);
    }
    return arena_printf(&arena, "%s/%s", directory, name);
}

static void scratch_clear(void)
{
    const char *command = arena_printf(&arena, "rm -rf '%s'", scratch(""));
    CHECK_INT(system(command), 0);
}

static struct array array_of(enum dtype dtype, int rank, const int64_t *dims)
{
    struct array array = {.dtype = dtype, .rank = rank, .count = 1};

    for (int i = 0; i < rank; i++) {
        array.dims[i] = dims[i];
        array.count *= dims[i];
    }
    array_alloc(&arena, &array);
    return array;
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void check_equal(const struct array *a, const struct array *b)
{
    CHECK_INT(a->dtype, b->dtype);
    CHECK_INT(a->rank, b->rank);
    CHECK_INT(a->count, b->count);
    for (int i = 0; i < a->rank; i++)
        CHECK_INT(a->dims[i], b->dims[i]);
    for (int64_t i = 0; i < a->count; i++)
        CHECK(a->floats ? same(a->floats[i], b->floats[i]) : a->integers[i] == b->integers[i]);
}

static void fill(struct array *array)
{
    for (int64_t i = 0; i < array->count; i++) {
        if (array->floats)
            array->floats[i] = dtype_round(array->dtype, (double)(i - 7) * 0.3);
        else
            array->integers[i] = dtype_wrap(array->dtype, i * 1234567 - 7);
    }
    if (array->floats && array->count > 3) {
        array->floats[0] = NAN;
        array->floats[1] = dtype_round(array->dtype, -INFINITY);
        array->floats[2] = -0.0;
    }
}

TEST(npy_returns_what_was_written)
{
    static const int64_t shapes[][3] = {{0, 0, 0}, {5000, 0, 0}, {3, 7, 0}, {2, 0, 3}, {2, 3, 4}};
    static const int ranks[] = {0, 1, 2, 3, 3};
    const char *path = scratch("a.npy");
    struct error error = {0};

    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        for (int i = 0; i < 5; i++) {
            struct array out = array_of((enum dtype)dtype, ranks[i], shapes[i]), in = {0};
            fill(&out);
            CHECK(npy_write(path, &out, &error));
            CHECK(npy_read(&arena, path, out.dtype, &in, &error));
            check_equal(&in, &out);
        }
    }
    scratch_clear();
}

/* A file's bytes: version, header text and elements; `written` writes it. */
static const char *written(int version, const char *header, const void *elements, size_t length)
{
    const char *path = scratch("b.npy");
    FILE *file = fopen(path, "wb");
    size_t size = strlen(header);
    unsigned char head[12] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};

    head[8] = (unsigned char)size;
    head[9] = (unsigned char)(size >> 8);
    fwrite(head, 1, version == 1 ? 10 : 12, file);
    fwrite(header, 1, size, file);
    fwrite(elements, 1, length, file);
    fclose(file);
    return path;
}

/* What reading says: the error's name, or "read". */
static const char *answer(const char *path, enum dtype wanted, struct array *array)
{
    struct error error = {0};

    if (npy_read(&arena, path, wanted, array, &error))
        return "read";
    CHECK(error.message[0] && strstr(error.message, ".npy"));
    return error_name(error.code);
}

static const char *header_answer(const char *header, size_t bytes)
{
    static const char zeros[64];
    struct array array = {0};
    return answer(written(1, header, zeros, bytes), DTYPE_F32, &array);
}

TEST(npy_reads_all_versions_and_orders)
{
    static const unsigned char big[] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};
    static const unsigned char shorts[] = {1, 2, 3, 4, 5, 0xff};
    struct array array = {0};

    for (int version = 1; version <= 3; version++) {
        const char *path =
            written(version, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }\n", big, 8);
        CHECK_STR(answer(path, DTYPE_F16, &array), "read");
        CHECK(array.floats[0] == 1 && array.floats[1] == -2);
    }
    const char *path =
        written(1, "{\"shape\":(3L,),\"descr\":\">i2\",\"fortran_order\":False}", shorts, 6);
    CHECK_STR(answer(path, DTYPE_I64, &array), "read");
    CHECK(array.integers[0] == 0x102 && array.integers[2] == 0x5ff);
    scratch_clear();
}

/* Column by column in the file, row by row in memory. */
TEST(npy_transposes_fortran_order)
{
    static const unsigned char bytes[24] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                            12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};
    struct array array = {0};
    const char *path =
        written(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }", bytes, 24);

    CHECK_STR(answer(path, DTYPE_U8, &array), "read");
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k < 4; k++)
                CHECK_INT(array.integers[(i * 3 + j) * 4 + k], i + 2 * j + 6 * k);
        }
    }
    path = written(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (), }", bytes, 1);
    CHECK_STR(answer(path, DTYPE_U8, &array), "read");
    scratch_clear();
}

TEST(npy_converts_within_a_kind)
{
    static const int64_t numbers[] = {255, -1};
    static const unsigned char huge[] = {255, 255, 255, 255, 255, 255, 255, 255};
    static const float floats[] = {65520, 0.1f};
    struct array array = {0};
    const char *path =
        written(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}", numbers, 8);

    CHECK_STR(answer(path, DTYPE_U8, &array), "read");
    CHECK_STR(answer(path, DTYPE_I8, &array), "array-mismatch");
    CHECK_STR(answer(path, DTYPE_F32, &array), "array-mismatch");
    CHECK_STR(answer(path, DTYPE_BOOL, &array), "array-mismatch");
    path = written(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}", numbers, 16);
    CHECK_STR(answer(path, DTYPE_U32, &array), "array-mismatch");
    CHECK_STR(answer(path, DTYPE_I16, &array), "read");
    path = written(1, "{'descr': '<u8', 'fortran_order': False, 'shape': (1,)}", huge, 8);
    CHECK_STR(answer(path, DTYPE_I64, &array), "array-mismatch");
    path = written(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", floats, 8);
    CHECK_STR(answer(path, DTYPE_F16, &array), "read");
    CHECK(array.floats[0] == INFINITY);
    CHECK_STR(answer(path, DTYPE_I64, &array), "array-mismatch");
    path = written(1, "{'descr': '|V2', 'fortran_order': False, 'shape': (2,)}", floats, 4);
    CHECK_STR(answer(path, DTYPE_BF16, &array), "read");
    CHECK_STR(answer(path, DTYPE_F16, &array), "array-mismatch");
    CHECK_STR(answer(path, DTYPE_F8E4, &array), "array-mismatch");
    scratch_clear();
}

TEST(npy_refuses_damage)
{
    static const char *const bad[] = {
        "",
        "{",
        "}",
        "{}",
        "()",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<U1', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4\\x00', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_STR(header_answer(bad[i], 4), "bad-array-file");
    CHECK_STR(header_answer("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 4), "read");
    scratch_clear();
}

/* Cut anywhere, a good file is refused. */
TEST(npy_refuses_every_truncation)
{
    struct array array = array_of(DTYPE_F32, 1, (int64_t[]){3}), in = {0};
    const char *path = scratch("c.npy");
    struct error error = {0};
    struct stat status;

    CHECK(npy_write(path, &array, &error));
    CHECK(stat(path, &status) == 0);
    for (off_t size = status.st_size - 1; size >= 0; size--) {
        CHECK(truncate(path, size) == 0);
        CHECK_STR(answer(path, DTYPE_F32, &in), "bad-array-file");
    }
    scratch_clear();
}

TEST(npy_names_what_cannot_be_read)
{
    struct array array = {0};
    const char *pipe = scratch("pipe.npy");

    CHECK_STR(answer(scratch("missing.npy"), DTYPE_F32, &array), "cannot-read");
    CHECK(mkfifo(pipe, 0600) == 0);
    CHECK_STR(answer(pipe, DTYPE_F32, &array), "cannot-read");
    struct error error = {0};
    CHECK(!npy_read(&arena, scratch(""), DTYPE_F32, &array, &error));
    CHECK_STR(error_name(error.code), "cannot-read");
    scratch_clear();
}

static int files_in_scratch(void)
{
    FILE *list = popen(arena_printf(&arena, "ls -A '%s' | wc -l", scratch("")), "r");
    int count = -1;

    CHECK(list && fscanf(list, "%d", &count) == 1);
    pclose(list);
    return count;
}

/* A full disk: the old file stays as it was, and nothing else is left behind. */
TEST(npy_write_is_all_or_nothing)
{
    struct array small = array_of(DTYPE_U8, 1, (int64_t[]){4}), in = {0};
    struct array large = array_of(DTYPE_F64, 1, (int64_t[]){100000});
    const char *path = scratch("d.npy");
    struct error error = {0};

    CHECK(npy_write(path, &small, &error));
    struct rlimit limit = {4096, 4096};
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(!npy_write(path, &large, &error));
    CHECK_STR(error_name(error.code), "cannot-write");
    CHECK_STR(answer(path, DTYPE_U8, &in), "read");
    CHECK_INT(files_in_scratch(), 1);
    scratch_clear();
}

TEST(npy_write_refuses_odd_targets)
{
    struct array array = array_of(DTYPE_U8, 0, NULL);
    struct error error = {0};

    CHECK(!npy_write("/dev/null", &array, &error));
    CHECK_STR(error_name(error.code), "cannot-write");
    CHECK(!npy_write(scratch("no/such/folder.npy"), &array, &error));
    CHECK_STR(error_name(error.code), "cannot-write");
    const char *link = scratch("link.npy"), *target = scratch("target.npy");
    CHECK(npy_write(target, &array, &error) && symlink(target, link) == 0);
    CHECK(npy_write(link, &array, &error));
    struct stat status;
    CHECK(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
    scratch_clear();
}

/* Memory that runs out while reading is an error like any other. */
TEST(npy_read_without_memory)
{
    struct array array = array_of(DTYPE_F64, 1, (int64_t[]){100000}), in = {0};
    struct arena narrow = {.limit = 1000};
    const char *path = scratch("e.npy");
    struct error error = {0};

    CHECK(npy_write(path, &array, &error));
    CHECK(!npy_read(&narrow, path, DTYPE_F64, &in, &error));
    CHECK_STR(error_name(error.code), "out-of-memory");
    arena_release(&narrow);
    scratch_clear();
}

/* Both ways with NumPy itself. */
TEST(npy_agrees_with_numpy)
{
    if (system("python3 -c 'import numpy' 2>/dev/null") != 0)
        SKIP("python3 has no numpy");
    static const int64_t dims[] = {2, 3};
    static const enum dtype types[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_I64, DTYPE_I32,
                                       DTYPE_U32, DTYPE_I16, DTYPE_I8,  DTYPE_U8,  DTYPE_BOOL};
    const char *path = scratch("mine.npy"), *other = scratch("theirs.npy");
    struct error error = {0};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct array out = array_of(types[i], 2, dims), in = {0};
        fill(&out);
        CHECK(npy_write(path, &out, &error));
        /* NumPy reads mine, turns it round, and saves it in Fortran order and the other bytes. */
        const char *command = arena_printf(
            &arena,
            "python3 -c \"import numpy as n; a = n.load('%s'); assert a.shape == (2, 3); "
            "b = n.asfortranarray(a); n.save('%s', b.astype(b.dtype.newbyteorder('>')))\"",
            path, other);
        CHECK_INT(system(command), 0);
        CHECK(npy_read(&arena, other, types[i], &in, &error));
        check_equal(&in, &out);
    }
    scratch_clear();
}
