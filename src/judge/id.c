/*
 * The id of a failure, "SEED.CASE.DRAW", read back: it replays the very draw.
 */
#include <ctype.h>

#include "judge/judge.h"

/* Digits only, as failure_id writes them: neither signs nor spaces. */
static bool parse_digits(const char **at, int base, int least, int most, uint64_t *value)
{
    int count = 0;
    for (*value = 0; count <= most && isxdigit((unsigned char)**at); ++*at, count++) {
        int digit = isdigit((unsigned char)**at) ? **at - '0' : tolower(**at) - 'a' + 10;
        if (digit >= base)
            return false;
        *value = *value * (uint64_t)base + (uint64_t)digit;
    }
    return count >= least && count <= most;
}

bool judge_id_parse(const char *id, struct judge_options *options)
{
    enum { SEED_DIGITS = 16, NUMBER_DIGITS = 6 };
    uint64_t seed, number, draw;
    if (!parse_digits(&id, 16, SEED_DIGITS, SEED_DIGITS, &seed) || *id++ != '.' || seed == 0 ||
        !parse_digits(&id, 10, 1, NUMBER_DIGITS, &number) || *id++ != '.' ||
        !parse_digits(&id, 10, 1, NUMBER_DIGITS, &draw) || *id)
        return false;
    options->seed = seed;
    options->only_case = (int)number;
    options->only_draw = (int)draw;
    return true;
}
