/*
 * Axes and chains of a group of stages: see nest.h.
 *
 * Two indices are the same axis when a tensor has both at the same dimension: first the tensors the
 * group itself defines, then any other.
 */
#include "skeleton/nest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void nest_refuse(struct skeleton_reason *why_not, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why_not->text, sizeof why_not->text, format, arguments);
    va_end(arguments);
}

const struct ir_stage *nest_stage(const struct nest *nest, int number)
{
    return &nest->group->part->stages[nest->group->stages[number]];
}

const struct ir_stage *nest_definer(const struct nest *nest, int tensor)
{
    for (int i = 0; i < nest->group->stage_count; i++) {
        const struct ir_stage *stage = nest_stage(nest, i);
        for (int k = 0; k < stage->write_count; k++) {
            if (stage->writes[k].tensor == tensor)
                return stage;
        }
    }
    return NULL;
}

/* ---- axes ---- */

/* The index that is the node, or -1. */
static int bare_index(const struct ir_stage *stage, int node)
{
    return stage->nodes.at[node].op == IR_INDEX ? stage->nodes.at[node].index : -1;
}

struct tensor_axes { /* of a tensor's dimensions; -1: none yet */
    int tensor;
    int dims[IR_MAX_RANK];
};

/* Dimensions whose index is known get an axis, those of the stage's indices that have none yet
 * get the dimension's. Of the tensors that were met: a group is small, its program may not be. */
struct matching {
    struct nest *nest;
    struct tensors_axes VECTOR(struct tensor_axes) met;
};

/* The axes of a tensor; they hold until another tensor is asked for. */
static int *axes_of_tensor(struct matching *matching, int tensor)
{
    for (size_t i = 0; i < matching->met.count; i++) {
        if (matching->met.at[i].tensor == tensor)
            return matching->met.at[i].dims;
    }
    struct tensor_axes made = {.tensor = tensor};
    memset(made.dims, -1, sizeof made.dims);
    vector_push(matching->nest->group->arena, &matching->met, made);
    return matching->met.at[matching->met.count - 1].dims;
}

static bool axis_taken(const struct nest *nest, const struct ir_stage *stage, int axis)
{
    for (int i = 0; i < stage->index_count; i++) {
        if (nest->axis_of[stage->indices[i]] == axis)
            return true;
    }
    return false;
}

static bool stage_has_index(const struct ir_stage *stage, int index)
{
    for (int i = 0; i < stage->index_count; i++) {
        if (stage->indices[i] == index)
            return true;
    }
    return false;
}

/* Through a map that is inlined: the axis that the dimension of a tensor read there has. */
static int inlined_axis(struct matching *matching, int tensor, int dimension, int depth)
{
    const struct skeleton_group *group = matching->nest->group;
    const struct ir_numbers *writers = &group->graph->writers[tensor];
    for (int i = 0; i < writers->count && depth < 16; i++) {
        const struct ir_stage *stage = &group->part->stages[writers->at[i]];
        if (!group->inlined[writers->at[i]] || stage->kind != IR_MAP)
            continue;
        int index = bare_index(stage, stage->writes[0].at[dimension]);
        for (int k = 0; index >= 0 && k < stage->nodes.count; k++) {
            const struct ir_node *node = &stage->nodes.at[k];
            int rank = node->op == IR_READ ? group->part->tensors[node->read.tensor].rank : 0;
            for (int d = 0; d < rank; d++) {
                if (bare_index(stage, node->read.at[d]) != index)
                    continue;
                int axis = axes_of_tensor(matching, node->read.tensor)[d];
                if (axis < 0)
                    axis = inlined_axis(matching, node->read.tensor, d, depth + 1);
                if (axis >= 0)
                    return axis;
            }
        }
    }
    return -1;
}

static void match_places(struct matching *matching, const struct ir_stage *stage, int tensor,
                         const int *at, int rank, bool learn)
{
    struct nest *nest = matching->nest;
    for (int d = 0; d < rank; d++) {
        int index = bare_index(stage, at[d]), axis = axes_of_tensor(matching, tensor)[d];
        if (index < 0 || !stage_has_index(stage, index))
            continue;
        if (axis < 0)
            axis = inlined_axis(matching, tensor, d, 0);
        if (learn && axis < 0)
            axis = nest->axis_of[index];
        axes_of_tensor(matching, tensor)[d] = axis;
        if (learn || axis < 0 || nest->axis_of[index] >= 0 || axis_taken(nest, stage, axis))
            continue;
        if (skeleton_sizes_equal(nest->axes[axis].extent, nest->group->part->indices[index].extent))
            nest->axis_of[index] = axis;
    }
}

static int write_rank(const struct nest *nest, const struct ir_stage *stage, int tensor)
{
    bool ranked = stage->monoid && stage->kind == IR_REDUCE &&
                  (stage->monoid->kind == IR_TOPK || stage->monoid->kind == IR_BOTTOMK);
    return nest->group->part->tensors[tensor].rank - ranked;
}

static void match_stage(struct matching *matching, const struct ir_stage *stage, bool learn)
{
    const struct ir_part *part = matching->nest->group->part;
    for (int own = 1; own >= 0; own--) { /* tensors of the group first */
        for (int i = 0; i < stage->nodes.count; i++) {
            const struct ir_node *node = &stage->nodes.at[i];
            if (node->op == IR_READ &&
                (nest_definer(matching->nest, node->read.tensor) != NULL) == own)
                match_places(matching, stage, node->read.tensor, node->read.at,
                             part->tensors[node->read.tensor].rank, learn);
        }
        for (int i = 0; own == 0 && i < stage->write_count; i++)
            match_places(matching, stage, stage->writes[i].tensor, stage->writes[i].at,
                         write_rank(matching->nest, stage, stage->writes[i].tensor), learn);
    }
}

static int index_named(const struct nest *nest, const struct ir_stage *stage, const char *name)
{
    for (int i = 0; i < stage->index_count; i++) {
        if (strcmp(nest->group->part->indices[stage->indices[i]].name, name) == 0)
            return stage->indices[i];
    }
    return -1;
}

/*
 * What no tensor tells: by extent, of the same name if there is one. Any assignment will do, as
 * nothing but reads of the group's own tensors ties the stages together.
 */
static void match_extents(struct nest *nest, const struct ir_stage *stage)
{
    for (int named = 1; named >= 0; named--) {
        for (int i = 0; i < stage->index_count; i++) {
            int index = stage->indices[i];
            const struct ir_index *info = &nest->group->part->indices[index];
            for (int axis = 0; axis < nest->axis_count && nest->axis_of[index] < 0; axis++) {
                int other = index_named(nest, nest_stage(nest, 0), info->name);
                if (named && (other < 0 || nest->axis_of[other] != axis))
                    continue;
                if (!axis_taken(nest, stage, axis) &&
                    skeleton_sizes_equal(nest->axes[axis].extent, info->extent))
                    nest->axis_of[index] = axis;
            }
        }
    }
}

static bool new_axes(struct nest *nest, const struct ir_stage *stage,
                     struct skeleton_reason *why_not)
{
    for (int i = 0; i < stage->index_count; i++) {
        int index = stage->indices[i];
        if (nest->axis_of[index] >= 0)
            continue;
        if (nest->axis_count == NEST_MAX_AXES) {
            nest_refuse(why_not, "more than %d indices", NEST_MAX_AXES);
            return false;
        }
        nest->axes[nest->axis_count].extent = nest->group->part->indices[index].extent;
        nest->axis_of[index] = nest->axis_count++;
    }
    return true;
}

static bool has_range(const struct nest *nest, const struct ir_stage *stage)
{
    for (int i = 0; i < stage->index_count; i++) {
        if (!nest->group->part->indices[stage->indices[i]].extent)
            return true;
    }
    return false;
}

/* ---- accesses ---- */

static void mark_loose(struct nest *nest, const struct ir_stage *stage, int node)
{
    int index = node == IR_NONE ? -1 : bare_index(stage, node);
    if (index >= 0 && nest->axis_of[index] >= 0)
        nest->axes[nest->axis_of[index]].loose = true;
}

static void add_access(struct nest *nest, const struct ir_stage *stage, int tensor, const int *at,
                       int rank, bool write)
{
    if (nest->accesses.count ==
        NEST_MAX_ACCESSES) { /* too many to keep: nothing is one in memory */
        for (int i = 0; i < nest->axis_count; i++)
            nest->axes[i].loose = true;
        return;
    }
    struct nest_access access = {.tensor = tensor, .write = write};
    for (int d = 0; d < IR_MAX_RANK; d++) {
        int index = d < rank ? bare_index(stage, at[d]) : -1;
        access.axes[d] = index < 0 ? -1 : nest->axis_of[index];
    }
    vector_push(nest->group->arena, &nest->accesses, access);
}

static void walk_nodes(struct nest *nest, const struct ir_stage *stage, int depth);

/* The stages of an inlined tensor are walked with their indices standing for those of the read. */
static bool walk_inlined(struct nest *nest, const struct ir_stage *stage,
                         const struct ir_node *read, int depth)
{
    const struct skeleton_group *group = nest->group;
    const struct ir_numbers *writers = &group->graph->writers[read->read.tensor];
    bool found = false;
    for (int i = 0; i < writers->count; i++) {
        const struct ir_stage *inner = &group->part->stages[writers->at[i]];
        if (!group->inlined[writers->at[i]] || inner->kind != IR_MAP)
            continue;
        found = true;
        for (int k = 0; k < inner->index_count; k++)
            nest->axis_of[inner->indices[k]] = -1;
        for (int d = 0; d < group->part->tensors[read->read.tensor].rank; d++) {
            int outer = bare_index(stage, read->read.at[d]);
            int index = bare_index(inner, inner->writes[0].at[d]);
            if (index >= 0 && outer >= 0)
                nest->axis_of[index] = nest->axis_of[outer];
            else if (outer >= 0)
                mark_loose(nest, stage, read->read.at[d]);
        }
        walk_nodes(nest, inner, depth + 1);
        for (int k = 0; k < inner->index_count; k++)
            nest->axis_of[inner->indices[k]] = -1;
    }
    return found;
}

static void walk_read(struct nest *nest, const struct ir_stage *stage, const struct ir_node *node,
                      int depth)
{
    int rank = nest->group->part->tensors[node->read.tensor].rank;
    for (int d = 0; node->read.checked && d < rank; d++)
        mark_loose(nest, stage, node->read.at[d]);
    mark_loose(nest, stage, node->read.guard);
    mark_loose(nest, stage, node->read.otherwise);
    if (depth > 64 || !walk_inlined(nest, stage, node, depth))
        add_access(nest, stage, node->read.tensor, node->read.at, rank, false);
}

static void walk_nodes(struct nest *nest, const struct ir_stage *stage, int depth)
{
    for (int i = 0; i < stage->nodes.count; i++) {
        const struct ir_node *node = &stage->nodes.at[i];
        int count = ir_op_arguments(node->op);
        if (node->op == IR_READ) {
            walk_read(nest, stage, node, depth);
            continue;
        }
        mark_loose(nest, stage, count > 0 ? node->a : IR_NONE);
        mark_loose(nest, stage, count > 1 ? node->b : IR_NONE);
        mark_loose(nest, stage, count > 2 ? node->c : IR_NONE);
    }
    for (int i = 0; i < stage->write_count; i++)
        mark_loose(nest, stage, stage->writes[i].value);
}

bool nest_init(struct nest *nest, const struct skeleton_group *group,
               struct skeleton_reason *why_not)
{
    const struct ir_part *part = group->part;
    struct arena *arena = group->arena;
    *nest = (struct nest){.group = group};
    nest->axis_of = arena_array(arena, (size_t)part->index_count + 1, sizeof(int));
    memset(nest->axis_of, -1, (size_t)part->index_count * sizeof(int));
    struct matching matching = {.nest = nest};
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = nest_stage(nest, i);
        if (stage->kind != IR_MAP && stage->kind != IR_REDUCE && stage->kind != IR_SCAN) {
            nest_refuse(why_not, "a stage is neither map, reduction nor scan");
            return false;
        }
        if (has_range(nest, stage)) {
            nest_refuse(why_not, "an index runs over a range that depends on data");
            return false;
        }
        match_stage(&matching, stage, false);
        if (i > 0)
            match_extents(nest, stage);
        if (!new_axes(nest, stage, why_not))
            return false;
        match_stage(&matching, stage, true);
    }
    for (int i = 0; i < group->stage_count; i++) {
        const struct ir_stage *stage = nest_stage(nest, i);
        walk_nodes(nest, stage, 0);
        for (int k = 0; k < stage->write_count; k++)
            add_access(nest, stage, stage->writes[k].tensor, stage->writes[k].at,
                       write_rank(nest, stage, stage->writes[k].tensor), true);
    }
    return true;
}

struct nest_axes nest_axes_of(const struct nest *nest, const struct ir_stage *stage, int from,
                              int to)
{
    struct nest_axes axes = {.count = 0};
    for (int i = from; i < to; i++)
        axes.at[axes.count++] = nest->axis_of[stage->indices[i]];
    return axes;
}

bool nest_axes_same(const struct nest_axes *a, const struct nest_axes *b)
{
    bool has[NEST_MAX_AXES] = {false};
    for (int i = 0; i < a->count; i++)
        has[a->at[i]] = true;
    for (int i = 0; i < b->count; i++) {
        if (!has[b->at[i]])
            return false;
    }
    return a->count == b->count;
}

/* ---- reads of what the group defines ---- */

static bool read_is_own(const struct nest *nest, const struct nest_access *access)
{
    const struct ir_stage *definer = nest_definer(nest, access->tensor);
    if (access->write || !definer)
        return true;
    const struct ir_write *write = definer->writes;
    while (write->tensor != access->tensor)
        write++;
    for (int d = 0; d < nest->group->part->tensors[access->tensor].rank; d++) {
        int own = bare_index(definer, write->at[d]);
        if (own < 0 || access->axes[d] < 0 || access->axes[d] != nest->axis_of[own])
            return false;
    }
    return true;
}

bool nest_reads_own(const struct nest *nest, struct skeleton_reason *why_not)
{
    for (size_t i = 0; i < nest->accesses.count; i++) {
        if (read_is_own(nest, &nest->accesses.at[i]))
            continue;
        nest_refuse(why_not, "%s is read at other places than where it was just defined",
                    nest->group->part->tensors[nest->accesses.at[i].tensor].name);
        return false;
    }
    return nest->accesses.count < NEST_MAX_ACCESSES;
}

/* ---- chains ---- */

static int dimension_of(const struct nest_access *access, int axis)
{
    for (int d = 0; d < IR_MAX_RANK; d++) {
        if (access->axes[d] == axis)
            return d;
    }
    return -1;
}

/* Whether b follows a wherever either occurs. */
static bool is_one_in_memory(const struct nest *nest, int a, int b)
{
    if (nest->axes[a].loose || nest->axes[b].loose)
        return false;
    for (size_t i = 0; i < nest->accesses.count; i++) {
        const struct nest_access *access = &nest->accesses.at[i];
        int at_a = dimension_of(access, a), at_b = dimension_of(access, b);
        if (at_a < 0 && at_b < 0)
            continue;
        if (at_a < 0 || at_b != at_a + 1 ||
            !skeleton_sizes_equal(nest->group->part->tensors[access->tensor].dims[at_b],
                                  nest->axes[b].extent))
            return false;
    }
    return true;
}

/* What the last stage that has the axis calls it. */
static const char *axis_name(const struct nest *nest, int axis)
{
    const char *name = NULL;
    for (int i = 0; i < nest->group->stage_count; i++) {
        const struct ir_stage *stage = nest_stage(nest, i);
        for (int k = 0; k < stage->index_count; k++) {
            if (nest->axis_of[stage->indices[k]] == axis)
                name = nest->group->part->indices[stage->indices[k]].name;
        }
    }
    return name;
}

struct nest_chains nest_chain(struct nest *nest, struct arena *arena, const struct nest_axes *axes)
{
    struct nest_chains chains = {.count = 0};
    for (int i = 0; i < axes->count; i++) {
        int axis = axes->at[i];
        bool follows = i > 0 && is_one_in_memory(nest, axes->at[i - 1], axis);
        if (!follows) {
            struct nest_chain *chain = &chains.at[chains.count++];
            *chain = (struct nest_chain){.extent = ir_size_constant(arena, 1)};
            chain->variable = arena_new(arena, struct loop_variable);
            chain->variable->kind = LOOP_COUNTER;
            chain->variable->type = (struct loop_type){DTYPE_I64, 1};
        }
        struct nest_chain *chain = &chains.at[chains.count - 1];
        chain->axes[chain->count++] = axis;
        chain->extent = ir_size_make(arena, IR_SIZE_MUL, chain->extent, nest->axes[axis].extent);
        chain->variable->name = axis_name(nest, axis);
    }
    return chains;
}

void nest_bind(const struct nest *nest, struct skeleton_values *values,
               const struct nest_chain *chain, loop_value value)
{
    loop_value zero = loop_integer(values->kernel->arena, 0);
    for (int s = 0; s < nest->group->stage_count; s++) {
        const struct ir_stage *stage = nest_stage(nest, s);
        for (int k = 0; k < stage->index_count; k++) {
            for (int i = 0; i < chain->count; i++) {
                if (nest->axis_of[stage->indices[k]] == chain->axes[i])
                    values->indices[stage->indices[k]] = i + 1 < chain->count ? zero : value;
            }
        }
    }
}

void nest_bind_all(const struct nest *nest, struct skeleton_values *values,
                   const struct nest_chains *chains)
{
    for (int i = 0; i < chains->count; i++)
        nest_bind(nest, values, &chains->at[i],
                  loop_of(values->kernel->arena, chains->at[i].variable));
}

loop_value nest_live(struct arena *arena, int lanes, loop_value count)
{
    return loop_less(arena, loop_narrow(arena, loop_iota(arena, lanes)), loop_narrow(arena, count));
}

/* ---- numbers ---- */

int64_t nest_size(const struct skeleton_group *group, const struct ir_size *size)
{
    int64_t value = 1;
    ir_size_eval(size, group->binding->sizes, &value);
    return value;
}

int64_t nest_extent(const struct nest *nest, const struct nest_chain *chain)
{
    return nest_size(nest->group, chain->extent);
}

double nest_bytes(const struct nest *nest)
{
    const struct ir_part *part = nest->group->part;
    bool *seen = arena_array(nest->group->arena, (size_t)part->tensor_count + 1, sizeof *seen);
    double bytes = 0;
    for (size_t i = 0; i < nest->accesses.count; i++) {
        int tensor = nest->accesses.at[i].tensor;
        bool own = nest_definer(nest, tensor) != NULL;
        if (seen[tensor] || (own && !nest->group->needed[tensor]))
            continue;
        seen[tensor] = true;
        bytes += ir_moved_bytes(nest->group->binding, tensor);
    }
    return bytes;
}

/* What a stage computes at a point, with what is computed where it is read. */
static double point_operations(const struct skeleton_group *group, const struct ir_stage *stage)
{
    double count = 0;
    for (int i = 0; i < stage->nodes.count; i++) {
        const struct ir_node *node = &stage->nodes.at[i];
        if (dtype_is_float(node->type) && ir_op_arguments(node->op) > 0)
            count += node->op >= IR_EXP && node->op <= IR_TGAMMA && node->op != IR_SQRT ? 12 : 1;
        if (node->op != IR_READ || !group->inlined)
            continue;
        const struct ir_numbers *writers = &group->graph->writers[node->read.tensor];
        for (int w = 0; w < writers->count; w++) {
            if (group->inlined[writers->at[w]])
                count += point_operations(group, &group->part->stages[writers->at[w]]);
        }
    }
    return count;
}

double nest_operations(const struct nest *nest, const struct ir_stage *stage)
{
    double points = 1;
    for (int i = 0; i < stage->index_count; i++)
        points *=
            (double)nest_size(nest->group, nest->group->part->indices[stage->indices[i]].extent);
    return points * (point_operations(nest->group, stage) + (stage->kind != IR_MAP));
}

int nest_value_bytes(const struct nest *nest)
{
    const struct ir_part *part = nest->group->part;
    bool floats = false;
    for (size_t i = 0; i < nest->accesses.count; i++) {
        enum dtype type = part->tensors[nest->accesses.at[i].tensor].dtype;
        floats |= dtype_is_float(type);
        if (type == DTYPE_F64)
            return 8;
    }
    return floats ? 4 : 8;
}
