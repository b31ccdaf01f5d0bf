/*
 * The table of skeletons: one row per file. Where several fit a group, the first is tried first.
 */
#include "skeleton/skeleton.h"

#include <string.h>

extern const struct skeleton skeleton_attend, skeleton_contract, skeleton_jagged, skeleton_map,
    skeleton_plain, skeleton_row, skeleton_scan, skeleton_scatter, skeleton_seq, skeleton_window;

static const struct skeleton *const CPU[] = {
    &skeleton_attend,
    &skeleton_contract,
    &skeleton_window,
    &skeleton_seq,
    &skeleton_scatter,
    &skeleton_jagged,
    &skeleton_scan,
    &skeleton_row,
    &skeleton_map,
    &skeleton_plain, /* fits everything: stays last */
    NULL,
};

extern const struct skeleton skeleton_device_attend, skeleton_device_contract,
    skeleton_device_jagged, skeleton_device_map, skeleton_device_row, skeleton_device_scan,
    skeleton_device_scatter, skeleton_device_seq, skeleton_device_window;

static const struct skeleton *const DEVICE[] = {
    &skeleton_device_attend,
    &skeleton_device_contract,
    &skeleton_device_window,
    &skeleton_device_seq,
    &skeleton_device_scatter,
    &skeleton_device_jagged,
    &skeleton_device_scan,
    &skeleton_device_row,
    &skeleton_device_map,
    &skeleton_plain, /* fits everything: stays last */
    NULL,
};

const struct skeleton *const *skeleton_table(const struct skeleton_target *target)
{
    return target && target->device ? DEVICE : CPU;
}

const struct skeleton *skeleton_find(const struct skeleton_target *target, const char *name)
{
    for (const struct skeleton *const *at = skeleton_table(target); *at; at++) {
        if (strcmp((*at)->name, name) == 0)
            return *at;
    }
    return NULL;
}
