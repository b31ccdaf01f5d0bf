/*
 * For the tests of the library: where it is.
 */
#ifndef SMELT_TESTS_UNIT_LIB_VECTORS_H
#define SMELT_TESTS_UNIT_LIB_VECTORS_H

#include "vector_file.h"

/* SMELT_ROOT, else the folder above the program that has tests/vectors, else ".". */
const char *repository_root(void);
/* Compiled programs are kept beside the test program, not among those of the user. */
void use_own_cache(void);

#endif
