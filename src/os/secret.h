/*
 * Secrets that come with the environment: API keys and the like. They are taken out of it before
 * anything is started, so that no compiler, no kernel and no helper finds them there, and kept in
 * pages that neither a child nor a core dump gets.
 */
#ifndef SMELT_OS_SECRET_H
#define SMELT_OS_SECRET_H

#include <stdbool.h>
#include <stddef.h>

enum { SECRET_VAULT = 64 << 10 }; /* bytes kept, names and all */

/* Whether a variable of this name holds a secret: it ends in _KEY, _TOKEN, _SECRET or _PASSWORD. */
bool secret_is_name(const char *name);
/* Takes every such variable out of the environment, and wipes it there. Call it first of all. */
void secret_take_all(void);
/* What the variable held; NULL: there was none. Not to be copied into memory of our own: hand it
 * over as it is. */
const char *secret_value(const char *name);

#endif
