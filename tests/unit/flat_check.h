/*
 * For tests: a flat program, and groups taken out of it, against the program they came from.
 */
#ifndef SMELT_TESTS_UNIT_FLAT_CHECK_H
#define SMELT_TESTS_UNIT_FLAT_CHECK_H

#include "oracle/oracle.h"

/*
 * Fails the test unless the flat program reads back as itself, and gives the same values bit for
 * bit, whole and as a group of all its stages; every prefix and rest of its stages must read back
 * as a program, too.
 */
void flat_check(const struct ir_program *program, const struct ir_binding *binding,
                const struct array *inputs);

#endif
