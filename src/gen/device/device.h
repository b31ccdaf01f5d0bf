/*
 * Private to src/gen: the languages for devices, of which each is a row.
 */
#ifndef SMELT_GEN_DEVICE_DEVICE_H
#define SMELT_GEN_DEVICE_DEVICE_H

#include "gen/c/emit.h"

/* The language of a target; NULL: it is not one for devices. */
const struct dialect *dialect_of(const char *target);

#endif
