/*
 * Several programs in one compilation: parts and stages of equal names do not get in each other's
 * way, and each program outlives the closing of the others.
 */
#include <stdlib.h>

#include "oracle_differ.h"
#include "oracle_program.h"
#include "test.h"

enum { PROGRAMS = 6 };

TEST(compile_all_runs_each_program)
{
    const struct ir_program *programs[PROGRAMS];
    struct oracle_code *codes[PROGRAMS];
    struct error error = {0};
    int count = 0;
    differ_cache();
    /* every program twice: all names clash */
    for (const struct oracle_program *p = ORACLE_PROGRAMS; p->name && count < PROGRAMS; p++) {
        programs[count++] = differ_parse(p->text);
        programs[count++] = differ_parse(p->text);
    }
    if (!oracle_compile_all(differ_arena(), programs, count, codes, &error))
        test_fail(__FILE__, __LINE__, "%s: %s", error.message, error.detail);
    for (int i = 0; i < count; i++) {
        int64_t sizes[8] = {3, 3, 3, 3, 3, 3, 3, 3};
        double scalars[8] = {0};
        struct ir_binding *binding = ir_bind(differ_arena(), programs[i], sizes, scalars, &error);
        struct array *inputs = binding ? differ_draw(binding, 1) : NULL;
        if (inputs)
            differ_check(codes[i], binding, inputs);
        oracle_close(codes[i]);
    }
}

TEST(compile_all_says_what_is_wrong)
{
    const struct ir_program *program = differ_parse(ORACLE_PROGRAMS[0].text);
    struct oracle_code *code = NULL;
    struct error error = {0};
    differ_cache();
    setenv("SMELT_CC", "/nowhere/cc", 1);
    CHECK(!oracle_compile_all(differ_arena(), &program, 1, &code, &error));
    CHECK_INT(error.code, ERROR_MISSING_TOOL);
}
