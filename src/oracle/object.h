/*
 * Private to src/oracle: compiled objects and their cache (compile.c).
 */
#ifndef SMELT_ORACLE_OBJECT_H
#define SMELT_ORACLE_OBJECT_H

#include "base/base.h"
#include "os/os.h"

/* Compiles the source or finds it in the cache, loads it and looks up a function. The library is
 * the caller's to close; NULL with the error set. */
struct library *object_open(struct arena *arena, const struct text *source, const char *entry,
                            void **symbol, struct error *error);

#endif
