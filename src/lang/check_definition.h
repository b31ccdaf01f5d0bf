/*
 * Private to src/lang: a statement with indices (a map, reduction, scan or scatter) on its way to a
 * stage.
 */
#ifndef SMELT_LANG_CHECK_DEFINITION_H
#define SMELT_LANG_CHECK_DEFINITION_H

#include "lang/check.h"

struct definition {
    struct stage_builder stage;
    const struct ast_statement *statement;
    struct ir_stage result;
    struct int_list order; /* indices of the domain, as numbers of the part */
    const struct ir_monoid *monoid;
    bool is_ranking; /* topk, bottomk */
    int values[CHECK_MAX_WIDTH];
    int tensors[CHECK_MAX_WIDTH];
    bool fresh[CHECK_MAX_WIDTH];
    int width;
};

void check_definition(struct builder *builder, const struct ast_statement *statement);

/* ---- left sides (check_target.c) ---- */

/* Lines the indices of a target up with its dimensions; false with an error reported. */
bool target_positions(struct definition *definition, size_t number, struct position *positions,
                      int *count);
/* Checks a left side, whose values are known, and makes the write; false with an error reported. */
bool target_write(struct definition *definition, size_t number, struct ir_write *write);

#endif
