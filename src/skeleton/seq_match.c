/*
 * seq, what fits: a loop whose steps are sums of products and maps of them, point by point.
 */
#include <stdio.h>
#include <string.h>

#include "skeleton/seq.h"

#define REFUSE(why, ...) (snprintf((why)->text, sizeof(why)->text, __VA_ARGS__), false)

/* ---- the group ---- */

static int carry_of(const struct ir_stage *loop, int tensor)
{
    for (int i = 0; i < loop->carry_count; i++) {
        if (loop->carries[i].state == tensor)
            return i;
    }
    return -1;
}

/* The loop is the last stage; those before it are maps that its states begin with. */
static bool find_loop(struct seq *seq, struct skeleton_reason *why_not)
{
    const struct skeleton_group *group = seq->group;
    const struct ir_part *part = group->part;
    seq->loop = &part->stages[group->stages[group->stage_count - 1]];
    if (seq->loop->kind != IR_LOOP)
        return REFUSE(why_not, "the last stage is no loop");
    if (seq->loop->body_count > SEQ_MAX_STAGES)
        return REFUSE(why_not, "a step has more than %d stages", SEQ_MAX_STAGES);
    for (int i = 0; i + 1 < group->stage_count; i++) {
        const struct ir_stage *stage = &part->stages[group->stages[i]];
        if (stage->kind != IR_MAP || carry_of(seq->loop, stage->writes[0].tensor) < 0)
            return REFUSE(why_not, "what is before the loop is no map of what it carries");
        for (int k = 0; k < stage->index_count; k++) {
            if (!part->indices[stage->indices[k]].extent)
                return REFUSE(why_not, "an index runs over a range");
        }
    }
    return true;
}

/* The stages of a step as a part of their own, with the tensors and indices of the whole. */
static void make_body(struct seq *seq)
{
    const struct skeleton_group *group = seq->group;
    struct ir_part *part = arena_new(group->arena, struct ir_part);
    *part = *group->part;
    part->stages = seq->loop->body;
    part->stage_count = seq->loop->body_count;
    bool *inlined = arena_array(group->arena, (size_t)part->stage_count + 1, sizeof *inlined);
    int *stages = arena_array(group->arena, (size_t)part->stage_count + 1, sizeof *stages);
    for (int i = 0; i < part->stage_count; i++) {
        inlined[i] = part->stages[i].kind == IR_MAP;
        stages[i] = i;
    }
    seq->body = *group;
    seq->body.part = part;
    seq->body.graph = ir_graph_new(group->arena, part);
    seq->body.stages = stages;
    seq->body.stage_count = part->stage_count;
    seq->body.inlined = inlined;
}

static bool check_body(struct seq *seq, struct skeleton_reason *why_not)
{
    const struct ir_part *part = seq->body.part;
    const struct ir_graph *graph = seq->body.graph, *outer = seq->group->graph;
    for (int i = 0; i < part->stage_count; i++) {
        const struct ir_stage *stage = &part->stages[i];
        if (stage->kind != IR_MAP && stage->kind != IR_REDUCE)
            return REFUSE(why_not, "a stage of the step is neither map nor sum");
        int tensor = stage->writes[0].tensor;
        if (graph->writers[tensor].count > 1)
            return REFUSE(why_not, "several stages of the step define parts of one tensor");
        bool read = graph->readers[tensor].count > 0;
        if (stage->kind == IR_MAP && read && !skeleton_can_inline(part, tensor))
            return REFUSE(why_not, "a map of the step is read at places that tell no point of it");
        for (int d = 0; read && d < part->tensors[tensor].rank; d++) {
            const struct ir_node *at = &stage->nodes.at[stage->writes[0].at[d]];
            if (at->op != IR_INDEX || at->index == seq->loop->loop_index)
                return REFUSE(why_not, "a step reads what it wrote at a place of its own");
        }
        for (int r = 0; r < graph->reads[i].count; r++) {
            const struct ir_numbers *writers = &outer->writers[graph->reads[i].at[r]];
            for (int w = 0; w < writers->count; w++) {
                if (seq->group->inlined[writers->at[w]])
                    return REFUSE(why_not, "the loop reads what is inlined");
            }
        }
    }
    return true;
}

/* ---- sums ---- */

static int64_t known_size(const struct skeleton_group *group, const struct ir_size *size)
{
    if (size->op == IR_SIZE_CONSTANT)
        return size->value;
    for (int i = 0; i < group->fix_count && size->op == IR_SIZE_SYMBOL; i++) {
        if (group->fixes[i].symbol == size->symbol)
            return group->fixes[i].value;
    }
    return 0;
}

static const struct ir_size *extent_of(const struct seq *seq, int index)
{
    return seq->body.part->indices[index].extent;
}

/* Rows and lanes of all sums are the same; gates are few and known. */
static bool check_sum(struct seq *seq, struct seq_sum *sum, struct skeleton_reason *why_not)
{
    const struct contract_indices *sets = sum->contract.sets;
    const struct contract_indices *first = seq->sums[0].contract.sets;
    const struct contract_indices *columns = &sets[CONTRACT_N];
    if (sets[CONTRACT_BATCH].count > 0 || columns->count == 0)
        return REFUSE(why_not, "a sum of the step has a batch, or no columns");
    sum->gates = 1;
    for (int i = 0; i + 1 < columns->count; i++) {
        int64_t size = known_size(seq->group, extent_of(seq, columns->at[i]));
        if (size < 1 || size > SEQ_MAX_GATES)
            return REFUSE(why_not, "the number of gates is not known, or more than %d",
                          SEQ_MAX_GATES);
        sum->gates *= (int)size;
        seq->axes[columns->at[i]] = SEQ_OTHER;
    }
    sum->first_gate = seq->gates;
    seq->gates += sum->gates;
    if (seq->gates > SEQ_MAX_GATES || sum->gates > SEQ_MAX_GATES)
        return REFUSE(why_not, "a step has more than %d gates", SEQ_MAX_GATES);
    int lane = columns->at[columns->count - 1];
    int lane_first = first[CONTRACT_N].at[first[CONTRACT_N].count - 1];
    bool same = sets[CONTRACT_M].count == first[CONTRACT_M].count &&
                sum->contract.dtype == seq->sums[0].contract.dtype &&
                skeleton_sizes_equal(extent_of(seq, lane), extent_of(seq, lane_first));
    for (int i = 0; same && i < sets[CONTRACT_M].count; i++) {
        same = skeleton_sizes_equal(extent_of(seq, sets[CONTRACT_M].at[i]),
                                    extent_of(seq, first[CONTRACT_M].at[i]));
        seq->axes[sets[CONTRACT_M].at[i]] = i;
    }
    seq->axes[lane] = SEQ_LANE;
    return same || REFUSE(why_not, "the sums of the step have different rows or columns");
}

static bool find_sums(struct seq *seq, struct skeleton_reason *why_not)
{
    for (int i = 0; i < seq->body.stage_count; i++) {
        if (seq->body.part->stages[i].kind != IR_REDUCE)
            continue;
        if (seq->sum_count == SEQ_MAX_SUMS)
            return REFUSE(why_not, "a step has more than %d sums", SEQ_MAX_SUMS);
        struct seq_sum *sum = &seq->sums[seq->sum_count++];
        sum->group = seq->body;
        sum->stages[0] = i;
        sum->group.stages = sum->stages;
        sum->group.stage_count = 1;
        if (!contract_classify(&sum->group, &sum->contract, why_not) ||
            !check_sum(seq, sum, why_not))
            return false;
    }
    if (!seq->sum_count)
        return REFUSE(why_not, "the loop has no sum of products inside");
    seq->rows = seq->sums[0].contract.sets[CONTRACT_M].count;
    seq->dtype = seq->sums[0].contract.dtype;
    seq->lanes = seq->group->target->vector_bytes / (int)dtype_bytes(seq->dtype);
    return true;
}

/* ---- maps ---- */

/* The axis of a tensor's dimension, from the index its stage of the step writes it at. */
static int tensor_axis(const struct seq *seq, int tensor, int dimension)
{
    const struct ir_numbers *writers = &seq->body.graph->writers[tensor];
    if (writers->count != 1)
        return -1;
    const struct ir_stage *stage = &seq->body.part->stages[writers->at[0]];
    const struct ir_node *node = &stage->nodes.at[stage->writes[0].at[dimension]];
    return node->op == IR_INDEX ? seq->axes[node->index] : -1;
}

/* The indices of a map are what the tensors of the step that it reads have there. */
static bool find_axes(struct seq *seq, const struct ir_stage *stage,
                      struct skeleton_reason *why_not)
{
    const struct ir_part *part = seq->body.part;
    for (int i = 0; i < stage->nodes.count; i++) {
        const struct ir_node *node = &stage->nodes.at[i];
        int rank = node->op == IR_READ ? part->tensors[node->read.tensor].rank : 0;
        for (int d = 0; d < rank; d++) {
            const struct ir_node *at = &stage->nodes.at[node->read.at[d]];
            int axis = tensor_axis(seq, node->read.tensor, d);
            if (at->op != IR_INDEX || at->index == seq->loop->loop_index || axis < 0)
                continue;
            if (seq->axes[at->index] >= 0 && seq->axes[at->index] != axis)
                return REFUSE(why_not, "a map of the step reads across its points");
            seq->axes[at->index] = axis;
        }
    }
    return true;
}

/* A map that leaves the step has all rows and the lane, and little else. */
static bool check_store(struct seq *seq, const struct ir_stage *stage,
                        struct skeleton_reason *why_not)
{
    int64_t copies = 1;
    int found = 0;
    for (int i = 0; i < stage->index_count; i++) {
        int axis = seq->axes[stage->indices[i]];
        const struct ir_size *extent = extent_of(seq, stage->indices[i]);
        if (!extent)
            return REFUSE(why_not, "an index runs over a range");
        if (axis < 0 || axis == SEQ_OTHER) {
            int64_t size = known_size(seq->group, extent);
            copies *= size > 0 && size <= SEQ_MAX_COPIES ? size : SEQ_MAX_COPIES + 1;
            seq->axes[stage->indices[i]] = SEQ_OTHER;
            if (copies > SEQ_MAX_COPIES)
                return REFUSE(why_not, "what a step gives has more than rows, columns and gates");
            continue;
        }
        const struct contract_indices *sets = seq->sums[0].contract.sets;
        int like = axis == SEQ_LANE ? sets[CONTRACT_N].at[sets[CONTRACT_N].count - 1]
                                    : sets[CONTRACT_M].at[axis];
        if (!skeleton_sizes_equal(extent, extent_of(seq, like)))
            return REFUSE(why_not, "what a step gives has other rows or columns than its sums");
        found++;
    }
    return found == seq->rows + 1 || REFUSE(why_not, "what a step gives has not all its points");
}

static bool add_store(struct seq *seq, const struct ir_stage *stage, int state,
                      struct skeleton_reason *why_not)
{
    if (stage->kind != IR_MAP)
        return REFUSE(why_not, "a sum itself leaves the step");
    if (seq->store_count == SEQ_MAX_STAGES)
        return REFUSE(why_not, "a step gives more than %d tensors", SEQ_MAX_STAGES);
    seq->stores[seq->store_count++] = (struct seq_store){stage, state};
    return check_store(seq, stage, why_not);
}

static bool find_stores(struct seq *seq, struct skeleton_reason *why_not)
{
    for (int i = 0; i < seq->body.stage_count; i++) {
        const struct ir_stage *stage = &seq->body.part->stages[i];
        int tensor = stage->writes[0].tensor;
        if (stage->kind == IR_MAP && !find_axes(seq, stage, why_not))
            return false;
        if (seq->group->needed[tensor] && !add_store(seq, stage, -1, why_not))
            return false;
        for (int c = 0; c < seq->loop->carry_count; c++) {
            if (seq->loop->carries[c].next == tensor && !add_store(seq, stage, c, why_not))
                return false;
        }
    }
    for (int c = 0; c < seq->loop->carry_count; c++) {
        if (seq->body.graph->writers[seq->loop->carries[c].next].count != 1)
            return REFUSE(why_not, "what is carried on is not what one map of the step gives");
    }
    return true;
}

/* ---- a step, as a trial ---- */

/* Everything a step computes, at points that stand for all: does it read what it may? */
static const struct seq_code *trial(const struct seq *seq)
{
    struct arena *arena = seq->group->arena;
    struct loop_kernel *kernel = loop_kernel_new(arena, seq->group->part);
    struct seq_code *code = seq_code_new(seq, kernel, 1, 1);
    struct loop_block *block = loop_block_new(arena);
    loop_value stored[2 * SEQ_MAX_STAGES * SEQ_MAX_COPIES];
    const struct loop_buffer *buffers[SEQ_MAX_STAGES * SEQ_MAX_COPIES];
    for (int i = 0; i < seq->gates; i++)
        code->gates[i] = loop_of(arena, loop_let(block, "gate", loop_number(arena, 0, seq->dtype)));
    for (int i = 0; i < seq->rows; i++)
        code->rows[i] = loop_of(arena, loop_let(block, "row", loop_integer(arena, 0)));
    seq_collect(code, stored, buffers);
    code->row_only = true;
    for (int i = 0; i < seq->sum_count; i++) {
        struct contract_code *sum = &code->sums[i];
        const struct contract_indices *sets = sum->contract->sets;
        for (int s = CONTRACT_M; s <= CONTRACT_K; s++) {
            for (int k = 0; k < sets[s].count; k++)
                code->values.indices[sets[s].at[k]] =
                    s == CONTRACT_M
                        ? code->rows[k]
                        : loop_of(arena, loop_let(block, "index", loop_integer(arena, 0)));
        }
        code->gates = NULL; /* no sums where sums are made */
        contract_factor(sum, false);
        code->constant = true;
        loop_value columns = contract_factor(sum, true);
        code->constant = false;
        code->failed |=
            loop_mentions(columns, code->values.indices[seq->loop->loop_index]->variable);
    }
    return code;
}

bool seq_rows_alone(const struct seq *seq)
{
    return trial(seq)->row_only;
}

const struct seq *seq_match_group(const struct skeleton_group *group,
                                  struct skeleton_reason *why_not)
{
    struct seq *seq = arena_new(group->arena, struct seq);
    seq->group = group;
    if (!find_loop(seq, why_not))
        return NULL;
    make_body(seq);
    seq->axes = arena_array(group->arena, (size_t)group->part->index_count + 1, sizeof *seq->axes);
    memset(seq->axes, -1, (size_t)group->part->index_count * sizeof *seq->axes);
    if (!check_body(seq, why_not) || !find_sums(seq, why_not) || !find_stores(seq, why_not))
        return NULL;
    if (trial(seq)->failed) {
        snprintf(why_not->text, sizeof why_not->text,
                 "a step reads sums of other points than its own, or weights that change");
        return NULL;
    }
    return seq;
}
