/*
 * The table of skeletons: one row per file. Where several fit a group, the first is tried first.
 */
#include "skeleton/skeleton.h"

#include <string.h>

extern const struct skeleton skeleton_attend, skeleton_contract, skeleton_jagged, skeleton_map,
    skeleton_plain, skeleton_row, skeleton_scan, skeleton_scatter, skeleton_seq, skeleton_window;

const struct skeleton *const skeletons[] = {
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

const struct skeleton *skeleton_find(const char *name)
{
    for (const struct skeleton *const *at = skeletons; *at; at++) {
        if (strcmp((*at)->name, name) == 0)
            return *at;
    }
    return NULL;
}
