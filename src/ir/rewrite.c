/*
 * The rewrites. One row each.
 */
#include "ir/rewrite.h"

#include <string.h>

#include "ir/rewriting.h"

const struct ir_rewrite *const ir_rewrites[] = {
    &rewrite_reassociate, &rewrite_hoist,   &rewrite_factor, &rewrite_search,
    &rewrite_phases,      &rewrite_moments, &rewrite_lift,   NULL,
};

const struct ir_rewrite *ir_rewrite_find(const char *name)
{
    for (int i = 0; ir_rewrites[i]; i++) {
        if (strcmp(ir_rewrites[i]->name, name) == 0)
            return ir_rewrites[i];
    }
    return NULL;
}
