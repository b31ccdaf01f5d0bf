/*
 * Time that only goes forward.
 */
#ifndef SMELT_OS_CLOCK_H
#define SMELT_OS_CLOCK_H

#include <stdint.h>

/* Since some moment in the past; never goes back, not touched by changes of the date. */
int64_t clock_nanoseconds(void);
double clock_seconds(void);

#endif
