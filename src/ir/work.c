/*
 * How much a program moves and computes at given sizes: the figures behind GB/s and GFLOP/s.
 */
#include "ir/work.h"

#include <math.h>

double ir_domain_points(const struct ir_binding *binding, const struct ir_stage *stage)
{
    const struct ir_part *part = binding->part;
    double points = 1;
    for (int i = 0; i < stage->index_count; i++) {
        const struct ir_index *index = &part->indices[stage->indices[i]];
        int64_t extent = 1;
        if (index->extent) {
            ir_size_eval(index->extent, binding->sizes, &extent);
        } else {
            /* segments of an offsets input share out its rows: count the rows once */
            const struct ir_node *low = &stage->nodes.at[index->low];
            const struct ir_tensor *tensor =
                low->op == IR_READ ? &part->tensors[low->read.tensor] : NULL;
            int64_t rows = 1, segments = 1;
            if (tensor && tensor->bound && tensor->rank == 1 &&
                ir_size_eval(tensor->bound, binding->sizes, &rows) &&
                ir_size_eval(tensor->dims[0], binding->sizes, &segments) && segments > 1)
                points /= (double)(segments - 1);
            extent = rows;
        }
        points *= (double)extent;
    }
    return points;
}

bool ir_node_computes(const struct ir_node *node)
{
    return node->op > IR_SELECT && dtype_is_float(node->type);
}

double ir_written_operations(const struct ir_binding *binding, const struct ir_stage *stages,
                             int count, struct arena *scratch)
{
    double total = 0;
    for (int i = 0; i < count; i++) {
        const struct ir_stage *stage = &stages[i];
        if (stage->kind == IR_CALL) {
            struct ir_binding *callee = ir_bind_call(scratch, binding, stage);
            if (callee)
                total += ir_written_operations(callee, callee->part->stages,
                                               callee->part->stage_count, scratch);
            continue;
        }
        if (stage->kind == IR_LOOP) {
            int64_t times = 1;
            ir_size_eval(binding->part->indices[stage->loop_index].extent, binding->sizes, &times);
            total += (double)times *
                     ir_written_operations(binding, stage->body, stage->body_count, scratch);
            continue;
        }
        int floats = stage->kind == IR_MAP ? 0 : 1; /* combining */
        for (int n = 0; n < stage->nodes.count; n++)
            floats += ir_node_computes(&stage->nodes.at[n]);
        total += floats * ir_domain_points(binding, stage);
    }
    return total;
}

/* ---- single stages ---- */

static double tensor_bytes(const struct ir_binding *binding, int tensor)
{
    return (double)ir_tensor_shape(binding, tensor, NULL) *
           (double)dtype_bytes(binding->part->tensors[tensor].dtype);
}

/* Each tensor counts once: where it is first read. */
static bool read_before(const struct ir_nodes *nodes, int node)
{
    for (int i = 0; i < node; i++) {
        if (nodes->at[i].op == IR_READ && nodes->at[i].read.tensor == nodes->at[node].read.tensor)
            return true;
    }
    return false;
}

struct ir_work ir_stage_work(const struct ir_binding *binding, const struct ir_stage *stage)
{
    struct ir_work work = {0};
    if (stage->kind == IR_LOOP) {
        int64_t times = 1;
        ir_size_eval(binding->part->indices[stage->loop_index].extent, binding->sizes, &times);
        for (int i = 0; i < stage->body_count; i++) {
            struct ir_work body = ir_stage_work(binding, &stage->body[i]);
            work.points += body.points * (double)times;
            work.operations += body.operations * (double)times;
            work.read_bytes += body.read_bytes * (double)times;
            work.write_bytes += body.write_bytes * (double)times;
        }
        return work;
    }
    work.points = ir_domain_points(binding, stage);
    work.operations = ir_written_operations(binding, stage, 1, NULL);
    for (int i = 0; i < stage->nodes.count; i++) {
        const struct ir_node *node = &stage->nodes.at[i];
        if (node->op == IR_READ && !read_before(&stage->nodes, i))
            work.read_bytes += tensor_bytes(binding, node->read.tensor);
    }
    for (int i = 0; i < stage->write_count; i++)
        work.write_bytes += tensor_bytes(binding, stage->writes[i].tensor);
    return work;
}

/* ---- reads at places that data chooses ---- */

static void want(const struct ir_binding *binding, const struct ir_node *node, bool *wanted)
{
    const int arguments[] = {node->a, node->b, node->c};
    if (node->op == IR_READ) {
        for (int d = 0; d < binding->part->tensors[node->read.tensor].rank; d++)
            wanted[node->read.at[d]] = true;
        return;
    }
    for (int i = 0; i < ir_op_arguments(node->op); i++)
        wanted[arguments[i]] = true;
}

/* At most so many elements are read there: one for each point of the indices its place has. */
static double read_elements(const struct ir_binding *binding, const struct ir_stage *stage,
                            int read)
{
    struct arena scratch = {0};
    const struct ir_part *part = binding->part;
    bool *wanted = arena_array(&scratch, (size_t)stage->nodes.count, sizeof *wanted);
    bool *used = arena_array(&scratch, (size_t)part->index_count + 1, sizeof *used);
    double points = 1;
    wanted[read] = true;
    for (int n = read; n >= 0; n--) { /* a node is behind those it is made of */
        const struct ir_node *node = &stage->nodes.at[n];
        if (!wanted[n])
            continue;
        if (node->op == IR_INDEX)
            used[node->index] = true;
        else
            want(binding, node, wanted);
    }
    for (int i = 0; i < part->index_count; i++) {
        int64_t extent = 1;
        if (used[i] && !part->indices[i].extent) /* a range: it may be any length */
            points = INFINITY;
        else if (used[i])
            ir_size_eval(part->indices[i].extent, binding->sizes, &extent);
        points *= (double)extent;
    }
    arena_release(&scratch);
    return points;
}

/* Whether a stage writes the tensor, or does not show what it reads. */
static bool stage_hides(const struct ir_stage *stage, int tensor)
{
    if (stage->kind == IR_LOOP || stage->kind == IR_CALL)
        return true;
    bool hides = stage->kind == IR_SCATTER && stage->from == tensor;
    for (int i = 0; i < stage->write_count; i++)
        hides |= stage->writes[i].tensor == tensor;
    return hides;
}

double ir_moved_bytes(const struct ir_binding *binding, int tensor)
{
    const struct ir_part *part = binding->part;
    double whole = tensor_bytes(binding, tensor), moved = 0;
    for (int i = 0; i < part->stage_count; i++) {
        const struct ir_stage *stage = &part->stages[i];
        if (stage_hides(stage, tensor))
            return whole;
        for (int n = 0; n < stage->nodes.count; n++) {
            const struct ir_node *node = &stage->nodes.at[n];
            if (node->op == IR_READ && node->read.tensor == tensor)
                moved += read_elements(binding, stage, n) *
                         (double)dtype_bytes(part->tensors[tensor].dtype);
        }
    }
    return moved < whole ? moved : whole;
}

/* ---- whole programs ---- */

/* Of inputs and outputs together, each counted by `bytes`. */
static double boundary_bytes(const struct ir_binding *binding,
                             double (*bytes)(const struct ir_binding *binding, int tensor))
{
    double total = 0;
    for (int i = 0; i < binding->part->tensor_count; i++) {
        const struct ir_tensor *tensor = &binding->part->tensors[i];
        if (tensor->role == IR_TENSOR_INPUT || tensor->role == IR_TENSOR_OUTPUT)
            total += bytes(binding, i);
    }
    return total;
}

double ir_bytes(const struct ir_binding *binding)
{
    return boundary_bytes(binding, tensor_bytes);
}

double ir_least_bytes(const struct ir_binding *binding)
{
    return boundary_bytes(binding, ir_moved_bytes);
}
