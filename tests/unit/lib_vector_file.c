/*
 * Vector files are read strictly: one that was cut off or edited by hand is refused with its line,
 * never half believed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"
#include "vector_file.h"

static bool read_text(struct arena *arena, const char *text, struct vector_runs *runs,
                      struct error *error)
{
    char path[] = "/tmp/smelt-vectors-XXXXXX";
    int file = mkstemp(path);
    CHECK(file >= 0);
    CHECK_INT(write(file, text, strlen(text)), strlen(text));
    close(file);
    bool good = vector_read(arena, path, runs, error);
    unlink(path);
    return good;
}

static const char GOOD[] = "# a comment\n\nrun B=[2,1] T=f16\ntolerance 1e-12 0\n"
                           "in x f16 [2, 1]: 0.1 -inf\nin n i8 []: -128\n"
                           "out y f16 [0, 3]:\nout z bool [2]: 1 0\n";

TEST(vector_file_reads)
{
    struct arena arena = {0};
    struct vector_runs runs = {0};
    struct error error = {0};
    if (!read_text(&arena, GOOD, &runs, &error))
        test_fail(__FILE__, __LINE__, "%s", error.message);
    CHECK_INT(runs.count, 1);
    CHECK_INT(runs.at[0].setting_count, 2);
    CHECK_STR(runs.at[0].settings[1], "T=f16");
    CHECK_INT(runs.at[0].inputs.count, 2);
    CHECK_DOUBLE(runs.at[0].inputs.at[0].floats[0], dtype_round(DTYPE_F16, 0.1));
    CHECK_INT(runs.at[0].inputs.at[1].integers[0], -128);
    CHECK_INT(runs.at[0].outputs.at[0].count, 0);
    arena_release(&arena);
}

TEST(vector_file_refuses)
{
    static const char *const BAD[] = {
        "",
        "in x f32 [1]: 1\n",
        "run D=1\nin x f32 [1]: 1\nout y f32 [1]: 1\n",
        "run D=1\ntolerance 1e-12 0\n",
        "run D=1\ntolerance 1e-12\nout y f32 [1]: 1\n",
        "run D=1\ntolerance 2 0\nout y f32 [1]: 1\n",
        "run D=1\ntolerance nan 0\nout y f32 [1]: 1\n",
        "run D=1\ntolerance 0 0\nout y f32 [1]: 1 2\n",
        "run D=1\ntolerance 0 0\nout y f32 [2]: 1\n",
        "run D=1\ntolerance 0 0\nout y f32 [1]: 1x\n",
        "run D=1\ntolerance 0 0\nout y f33 [1]: 1\n",
        "run D=1\ntolerance 0 0\nout y i8 [1]: 128\n",
        "run D=1\ntolerance 0 0\nout y bool [1]: 2\n",
        "run D=1\ntolerance 0 0\nout y f32 [-1]: 1\n",
        "run D=1\ntolerance 0 0\nout y f32 [4096, 4096]: 1\n",
        "run D=1\ntolerance 0 0\nout y f32 [1,1]: 1\n",
        "run D=1\ntolerance 0 0\nout y f32 [1]: 1",
        "run D=1\ntolerance 0 0\nouts y f32 [1]: 1\n",
    };
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct arena arena = {0};
        struct vector_runs runs = {0};
        struct error error = {0};
        if (read_text(&arena, BAD[i], &runs, &error))
            test_fail(__FILE__, __LINE__, "read without complaint:\n%s", BAD[i]);
        arena_release(&arena);
    }
}

/* Cut off anywhere: an error, or whole runs only. */
TEST(vector_file_cut_off)
{
    for (size_t length = 0; length + 1 < sizeof GOOD; length++) {
        struct arena arena = {0};
        struct vector_runs runs = {0};
        struct error error = {0};
        const char *text = arena_copy(&arena, GOOD, length);
        if (read_text(&arena, text, &runs, &error))
            CHECK(length > 0 && GOOD[length - 1] == '\n' && runs.at[0].outputs.count > 0);
        arena_release(&arena);
    }
}
