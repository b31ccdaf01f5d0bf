/*
 * The lock that is held while something is timed: two at once would spoil each other's numbers.
 */
#ifndef SMELT_OS_LOCK_H
#define SMELT_OS_LOCK_H

/*
 * Waits until no other smelt on this machine, of whichever user, is timing. `waiting` (or NULL) is
 * called once when there is somebody to wait for. The result goes to lock_timing_end; it is -1 when
 * there is no lock to be had, which does not keep anybody from timing.
 */
int lock_timing_begin(void (*waiting)(void *context), void *context);
void lock_timing_end(int lock);

#endif
