/*
 * Rows fetched before their turn. Between two rows that are gone over several times a processor
 * asks memory for nothing: it is told what comes, evenly over all passes, and far enough ahead for
 * the lines to arrive in time.
 */
#include "skeleton/row.h"

/* What a core of a Zen 5 or a Sapphire Rapids reads in the time that memory under load takes to
 * answer: with rows of 4 KiB three and four ahead are best, one is too late, eight push out what is
 * needed before. */
enum { AHEAD_BYTES = 12 << 10, MOST_ROWS = 8 };

int row_ahead(const struct row_shape *shape)
{
    int64_t row_bytes = shape->length * nest_value_bytes(&shape->row.nest);
    int64_t rows = row_bytes > 0 ? (AHEAD_BYTES + row_bytes - 1) / row_bytes : MOST_ROWS;
    return (int)(rows < MOST_ROWS ? rows : MOST_ROWS);
}

int row_pass_functions(const struct row_group *row, int pass)
{
    int functions = 0;
    for (int i = 0; i < row->stage_count; i++) {
        const struct row_stage *stage = &row->stages[i];
        if (row_in_pass(stage, pass))
            functions += row_functions(stage->stage);
    }
    return functions;
}

static bool stores_elements(const struct row_lowering *lowering)
{
    bool stores = false;
    for (int i = 0; i < lowering->row.stage_count; i++) {
        const struct row_stage *stage = &lowering->row.stages[i];
        stores |= stage->kind == ROW_MAP && lowering->group->needed[stage->stage->writes[0].tensor];
    }
    return stores;
}

/* How long a pass takes beside others: a function is some dozen instructions, unless its values
 * were kept, and the last pass may store. Rows that are only read had better be fetched by the pass
 * that computes alone (logsumexp: 0.90 of the speed of reading, 0.86 with a quarter in the other).
 */
static int pass_weight(const struct row_lowering *lowering, int pass)
{
    bool kept = lowering->kept_pass > 0 && pass > lowering->kept_pass;
    int functions = kept ? 0 : row_pass_functions(&lowering->row, pass);
    if (!stores_elements(lowering))
        return 1 + 3 * functions;
    return 2 + 3 * functions + (pass == lowering->row.pass_count);
}

/* Lines go one by one to the pass that has least for what it weighs, later ones first. */
struct row_share row_fetch_share(const struct row_lowering *lowering, int pass, int lines)
{
    enum { MOST_PASSES = ROW_MAX_STAGES + 1 };
    const struct row_group *row = &lowering->row;
    int given[MOST_PASSES] = {0}, weights[MOST_PASSES];
    for (int p = 1; p <= row->pass_count; p++)
        weights[p] = pass_weight(lowering, p);
    for (int i = 0; i < lines; i++) {
        int next = row->pass_count;
        for (int p = row->pass_count - 1; p >= 1; p--) {
            if ((given[p] + 1) * weights[next] < (given[next] + 1) * weights[p])
                next = p;
        }
        given[next]++;
    }
    struct row_share share = {0, given[pass]};
    for (int p = 1; p < pass; p++)
        share.before += given[p];
    return share;
}
