/*
 * Shared libraries opened at run time: compilers' output, GPU drivers, optional helpers.
 */
#ifndef SMELT_OS_LIBRARY_H
#define SMELT_OS_LIBRARY_H

#include "base/error.h"

struct library; /* opaque: what dlopen gave */

/*
 * A path, or a bare name that the system's loader searches for. All symbols are resolved at once,
 * and none become visible to other libraries. NULL with MISSING_TOOL when it cannot be loaded.
 */
struct library *library_open(const char *name, struct error *error);
/* The address of a symbol, valid until library_close. NULL with MISSING_TOOL when it has none. */
void *library_symbol(struct library *library, const char *symbol, struct error *error);
/* The same, into the pointer to a function that `function` points to. */
bool library_load(struct library *library, const char *symbol, void *function, struct error *error);
/* NULL is allowed. */
void library_close(struct library *library);

#endif
