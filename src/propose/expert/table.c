/*
 * The experts. One row each.
 */
#include <string.h>

#include "propose/expert/edit.h"

const struct proposer *const experts[] = {
    &expert_fusion,  &expert_memory, &expert_instruction,
    &expert_latency, &expert_tuning, &expert_repair,
    &expert_algebra, &expert_remedy, NULL,
};

const struct proposer *expert_find(const char *name)
{
    for (int i = 0; experts[i]; i++)
        if (strcmp(experts[i]->name, name) == 0)
            return experts[i];
    return NULL;
}
