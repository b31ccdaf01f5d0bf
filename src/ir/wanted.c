/*
 * Float operations that somebody wants: what a kernel that computes nothing in vain has to do. A
 * floor that counts more than that lies above what the machine can do.
 *
 * Stages are visited from the last to the first, so that it is known of every temporary which share
 * of it is read. In a stage, conditions on indices are tried at points spread evenly over the
 * domain: which nodes are needed there, and which terms are 0. What is not simple counts as wanted.
 * What is the same along an index is computed once for all of it, and a factor that all terms of a
 * sum have in common is multiplied with the sum.
 */
#include <math.h>

#include "ir/ops.h"
#include "ir/rewriting.h"
#include "ir/work.h"

enum { POINTS = 4096, MOST_INDICES = 32 };

/* Which share of a tensor is wanted, and the dimensions that decides in. */
struct want {
    double share;
    unsigned dims;
};

/* A stage at one point of its domain. */
struct point {
    const struct ir_binding *binding;
    const struct ir_stage *stage;
    bool anywhere; /* no point in particular: indices have no value */
    int64_t at[MOST_INDICES];
    struct ir_value *values;
    bool *known, *zero, *needed; /* per node */
    const double *weights;       /* per node: of one operation, what each point has to bear */
    double operations;
};

/* Over the points of a stage. */
struct survey {
    double operations;   /* per point */
    double most;         /* at one of them */
    double *needed;      /* per node: the share of points that need it */
    unsigned conditions; /* indices that decide, by their place in the stage */
};

/* ---- what is known at a point ---- */

static int index_place(const struct ir_stage *stage, int index)
{
    for (int i = 0; i < stage->index_count && i < MOST_INDICES; i++)
        if (stage->indices[i] == index)
            return i;
    return IR_NONE;
}

/* Whether a read gives something else than an element: true or false, or -1 when that depends. */
static int read_is_outside(const struct point *point, const struct ir_node *node)
{
    const struct ir_tensor *tensor = &point->binding->part->tensors[node->read.tensor];
    int guard = node->read.guard, answer = 0;
    if (guard != IR_NONE && point->known[guard] && !point->values[guard].integer)
        return 1;
    if (guard != IR_NONE && !point->known[guard])
        answer = -1;
    for (int d = 0; node->read.checked && d < tensor->rank; d++) {
        int64_t extent;
        int at = node->read.at[d];
        if (!point->known[at] || !ir_size_eval(tensor->dims[d], point->binding->sizes, &extent))
            answer = -1;
        else if (point->values[at].integer < 0 || point->values[at].integer >= extent)
            return 1;
    }
    return answer;
}

static bool is_zero(const struct point *point, const struct ir_node *node)
{
    switch (node->op) {
    case IR_MUL: return point->zero[node->a] || point->zero[node->b];
    case IR_DIV:
    case IR_NEG:
    case IR_TO_FLOAT:
    case IR_CAST: return point->zero[node->a];
    case IR_SELECT:
        return point->known[node->a] &&
               point->zero[point->values[node->a].integer ? node->b : node->c];
    case IR_READ:
        return read_is_outside(point, node) == 1 &&
               (node->read.otherwise == IR_NONE || point->zero[node->read.otherwise]);
    default: return false;
    }
}

static bool arguments_known(const struct point *point, const struct ir_node *node)
{
    const int arguments[] = {node->a, node->b, node->c};
    for (int i = 0; i < ir_op_arguments(node->op); i++)
        if (!point->known[arguments[i]])
            return false;
    return node->op != IR_READ && node->op != IR_PARAM;
}

static void look(struct point *point)
{
    const struct ir_nodes *nodes = &point->stage->nodes;
    for (int n = 0; n < nodes->count; n++) {
        const struct ir_node *node = &nodes->at[n];
        point->needed[n] = false;
        if (node->op == IR_INDEX) {
            int place = index_place(point->stage, node->index);
            point->known[n] = !point->anywhere && place != IR_NONE &&
                              point->binding->part->indices[node->index].extent;
            point->values[n].integer = point->known[n] ? point->at[place] : 0;
        } else {
            point->known[n] = arguments_known(point, node);
            if (point->known[n])
                point->values[n] = ir_fold_node(nodes, n, point->binding, point->values);
        }
        bool floats = dtype_is_float(node->type);
        point->zero[n] =
            (point->known[n] && floats && point->values[n].number == 0) || is_zero(point, node);
    }
}

/* ---- what is needed there ---- */

static void need(struct point *point, int number)
{
    const struct ir_node *node = number == IR_NONE ? NULL : &point->stage->nodes.at[number];
    if (!node || point->needed[number] || point->known[number] || point->zero[number])
        return;
    point->needed[number] = true;
    point->operations += ir_node_computes(node) ? point->weights[number] : 0;
    if (node->op == IR_SELECT) {
        need(point, node->a);
        if (!point->known[node->a] || point->values[node->a].integer)
            need(point, node->b);
        if (!point->known[node->a] || !point->values[node->a].integer)
            need(point, node->c);
    } else if (node->op == IR_READ) {
        int outside = read_is_outside(point, node);
        int rank = point->binding->part->tensors[node->read.tensor].rank;
        for (int d = 0; outside != 1 && d < rank; d++)
            need(point, node->read.at[d]);
        need(point, node->read.guard);
        if (outside)
            need(point, node->read.otherwise);
        point->needed[number] = outside != 1;
    } else {
        const int arguments[] = {node->a, node->b, node->c};
        for (int i = 0; i < ir_op_arguments(node->op); i++)
            need(point, arguments[i]);
    }
}

static void visit(struct point *point)
{
    const struct ir_stage *stage = point->stage;
    point->operations = 0;
    look(point);
    if (stage->predicate != IR_NONE) {
        if (point->known[stage->predicate] && !point->values[stage->predicate].integer)
            return;
        need(point, stage->predicate);
    }
    bool sums = stage->monoid && stage->monoid->kind == IR_SUM &&
                (stage->kind == IR_REDUCE || stage->kind == IR_SCATTER);
    if (sums && point->zero[stage->writes[0].value])
        return;
    point->operations += stage->kind == IR_MAP ? 0 : 1; /* combining */
    for (int i = 0; i < stage->write_count; i++) {
        const struct ir_tensor *tensor = &point->binding->part->tensors[stage->writes[i].tensor];
        int ranked =
            stage->monoid && (stage->monoid->kind == IR_TOPK || stage->monoid->kind == IR_BOTTOMK);
        need(point, stage->writes[i].value);
        for (int d = 0; d < tensor->rank - ranked; d++)
            need(point, stage->writes[i].at[d]);
    }
}

/* ---- over a domain ---- */

/* The indices a node depends on, by their places, given those of the nodes before it. */
static unsigned depends_on(const struct ir_binding *binding, const struct ir_stage *stage, int n,
                           const unsigned *before)
{
    const struct ir_node *node = &stage->nodes.at[n];
    unsigned found = 0;
    if (node->op == IR_INDEX) {
        int place = index_place(stage, node->index);
        return place == IR_NONE ? 0 : 1U << place;
    }
    if (node->op == IR_READ) {
        for (int d = 0; d < binding->part->tensors[node->read.tensor].rank; d++)
            found |= before[node->read.at[d]];
        return found | (node->read.guard == IR_NONE ? 0 : before[node->read.guard]);
    }
    const int arguments[] = {node->a, node->b, node->c};
    for (int i = 0; i < ir_op_arguments(node->op); i++)
        found |= before[arguments[i]];
    return found;
}

static unsigned *find_dependences(const struct ir_binding *binding, const struct ir_stage *stage,
                                  struct arena *scratch)
{
    unsigned *depends = arena_array(scratch, (size_t)stage->nodes.count + 1, sizeof *depends);
    for (int n = 0; n < stage->nodes.count; n++)
        depends[n] = depends_on(binding, stage, n, depends);
    return depends;
}

/* One over the points of the indices at these places. */
static double share_of_one(const struct ir_binding *binding, const struct ir_stage *stage,
                           unsigned places)
{
    double share = 1;
    for (int i = 0; i < stage->index_count && i < MOST_INDICES; i++) {
        const struct ir_size *size = binding->part->indices[stage->indices[i]].extent;
        int64_t extent;
        if ((places >> i & 1) && size && ir_size_eval(size, binding->sizes, &extent) && extent > 1)
            share /= (double)extent;
    }
    return share;
}

/* The factors of a sum's terms that are the same in all of them. */
static void take_out_factors(const struct ir_binding *binding, const struct ir_stage *stage,
                             const unsigned *depends, double *weights)
{
    bool sums = stage->monoid && stage->monoid->kind == IR_SUM && stage->kind == IR_REDUCE;
    unsigned reduced = 0;
    for (int i = stage->left_count; i < stage->index_count && i < MOST_INDICES; i++)
        reduced |= 1U << i;
    for (int n = sums ? stage->writes[0].value : IR_NONE; n != IR_NONE;) {
        const struct ir_node *node = &stage->nodes.at[n];
        bool product = node->op == IR_MUL || node->op == IR_DIV;
        int rest = IR_NONE;
        if (product && !(depends[node->b] & reduced))
            rest = node->a;
        else if (node->op == IR_MUL && !(depends[node->a] & reduced))
            rest = node->b;
        if (rest != IR_NONE)
            weights[n] *= share_of_one(binding, stage, depends[n] & reduced);
        n = rest;
    }
}

static const double *weigh(const struct ir_binding *binding, const struct ir_stage *stage,
                           struct arena *scratch)
{
    const unsigned *depends = find_dependences(binding, stage, scratch);
    double *weights = arena_array(scratch, (size_t)stage->nodes.count + 1, sizeof *weights);
    for (int n = 0; n < stage->nodes.count; n++)
        weights[n] = share_of_one(binding, stage, ~depends[n]);
    take_out_factors(binding, stage, depends, weights);
    return weights;
}

static unsigned find_conditions(const struct ir_binding *binding, const struct ir_stage *stage,
                                struct arena *scratch)
{
    const unsigned *depends = find_dependences(binding, stage, scratch);
    unsigned found = 0;
    for (int n = 0; n < stage->nodes.count; n++) {
        const struct ir_node *node = &stage->nodes.at[n];
        if (node->op == IR_SELECT)
            found |= depends[node->a];
        if (node->op == IR_READ && (node->read.checked || node->read.guard != IR_NONE))
            found |= depends[n];
    }
    return found | (stage->predicate == IR_NONE ? 0 : depends[stage->predicate]);
}

/* Multiples of irrational numbers, without their whole parts, are spread evenly. */
static void choose_point(struct point *point, int number)
{
    static const double steps[] = {0.41421356237309505, 0.7320508075688772, 0.2360679774997898,
                                   0.6457513110645906,  0.3166247903553998, 0.6055512754639891,
                                   0.1231056256176606,  0.358898943540674};
    enum { STEPS = sizeof steps / sizeof *steps };
    const struct ir_stage *stage = point->stage;
    for (int i = 0; i < stage->index_count && i < MOST_INDICES; i++) {
        const struct ir_size *size = point->binding->part->indices[stage->indices[i]].extent;
        double part = fmod((number + 0.5) * steps[i % STEPS] * (1 + i / STEPS), 1);
        int64_t extent = 1;
        if (size)
            ir_size_eval(size, point->binding->sizes, &extent);
        point->at[i] = (int64_t)(part * (double)extent);
    }
}

static struct survey survey_stage(const struct ir_binding *binding, const struct ir_stage *stage,
                                  struct arena *scratch)
{
    size_t count = (size_t)stage->nodes.count + 1;
    struct survey survey = {.needed = arena_array(scratch, count, sizeof(double)),
                            .conditions = find_conditions(binding, stage, scratch)};
    struct point point = {.binding = binding,
                          .stage = stage,
                          .anywhere = survey.conditions == 0 || stage->index_count > MOST_INDICES,
                          .values = arena_array(scratch, count, sizeof *point.values),
                          .weights = weigh(binding, stage, scratch),
                          .known = arena_array(scratch, count, sizeof(bool)),
                          .zero = arena_array(scratch, count, sizeof(bool)),
                          .needed = arena_array(scratch, count, sizeof(bool))};
    int points = point.anywhere ? 1 : POINTS;
    for (int p = 0; p < points; p++) {
        choose_point(&point, p);
        visit(&point);
        survey.operations += point.operations / points;
        survey.most = fmax(survey.most, point.operations);
        for (int n = 0; n < stage->nodes.count; n++)
            survey.needed[n] += point.needed[n] ? 1.0 / points : 0;
    }
    return survey;
}

/* ---- what is wanted of what is read ---- */

/* The indices a tensor is read or written at where each stands alone, one per dimension; ~0U when
 * they do not. places[d] is that of dimension d. */
static unsigned plain_indices(const struct ir_stage *stage, const int *at, int rank, int *places)
{
    unsigned found = 0;
    for (int d = 0; d < rank; d++) {
        const struct ir_node *node = &stage->nodes.at[at[d]];
        int place = node->op == IR_INDEX ? index_place(stage, node->index) : IR_NONE;
        if (place == IR_NONE || (found >> place & 1))
            return ~0U;
        places[d] = place;
        found |= 1U << place;
    }
    return found;
}

static void want_more(struct want *want, struct want by)
{
    if (by.share > want->share)
        *want = by;
}

/* `share` of the stage's points are wanted, by the indices `decided`. */
static void want_reads(const struct ir_binding *binding, const struct ir_stage *stage,
                       const struct survey *survey, double share, unsigned decided,
                       struct want *wants)
{
    for (int n = 0; n < stage->nodes.count; n++) {
        const struct ir_node *node = &stage->nodes.at[n];
        if (node->op != IR_READ || survey->needed[n] <= 0)
            continue;
        int places[IR_MAX_RANK], rank = binding->part->tensors[node->read.tensor].rank;
        unsigned at = plain_indices(stage, node->read.at, rank, places), by = 0;
        struct want want = {.share = 1};
        if (at != ~0U && !(decided & ~at)) {
            want.share = share;
            by |= decided;
        }
        if (at != ~0U && !(survey->conditions & ~at)) {
            bool alike = by & survey->conditions; /* the same condition, most likely */
            want.share =
                alike ? fmin(want.share, survey->needed[n]) : want.share * survey->needed[n];
            by |= survey->conditions;
        }
        for (int d = 0; at != ~0U && d < rank; d++)
            want.dims |= by >> places[d] & 1 ? 1U << d : 0;
        want_more(&wants[node->read.tensor], want);
    }
}

/* How much of what a stage writes is wanted, and the indices that decide. */
static double wanted_share(const struct ir_binding *binding, const struct ir_stage *stage,
                           const struct want *wants, unsigned *decided)
{
    struct want most = {0};
    *decided = 0;
    for (int i = 0; i < stage->write_count; i++) {
        const struct ir_write *write = &stage->writes[i];
        const struct want *want = &wants[write->tensor];
        if (want->share <= most.share)
            continue;
        int places[IR_MAX_RANK], rank = binding->part->tensors[write->tensor].rank;
        bool ranked =
            stage->monoid && (stage->monoid->kind == IR_TOPK || stage->monoid->kind == IR_BOTTOMK);
        unsigned at = ranked ? ~0U : plain_indices(stage, write->at, rank, places);
        most = *want;
        *decided = 0;
        for (int d = 0; at != ~0U && d < rank; d++)
            *decided |= want->dims >> d & 1 ? 1U << places[d] : 0;
        if (at == ~0U && want->share < 1)
            *decided = ~0U; /* it cannot be said of what is read */
    }
    /* an element of a scan needs those before it, a scatter writes anywhere */
    bool whole = stage->kind == IR_SCAN || stage->kind == IR_SCATTER;
    if (whole)
        *decided = 0;
    return whole && most.share > 0 ? 1 : most.share;
}

/* Sorted keys among which something is looked for need not be gone over: halving will do. */
static double needed_points(const struct ir_binding *binding, const struct ir_stage *stage)
{
    const struct ir_part *part = binding->part;
    double points = ir_domain_points(binding, stage);
    int64_t keys = 0;
    if (!rewriting_is_search(part, (int)(stage - part->stages)) ||
        !ir_size_eval(part->indices[stage->indices[stage->index_count - 1]].extent, binding->sizes,
                      &keys) ||
        keys < 2)
        return points;
    return points / (double)keys * (1 + ceil(log2((double)keys)));
}

static double count_stage(const struct ir_binding *binding, const struct ir_stage *stage,
                          struct want *wants, struct arena *scratch)
{
    unsigned decided;
    double share = wanted_share(binding, stage, wants, &decided);
    if (share <= 0)
        return 0;
    struct survey survey = survey_stage(binding, stage, scratch);
    want_reads(binding, stage, &survey, share, decided, wants);
    if (stage->from != IR_NONE && stage->kind == IR_SCATTER)
        want_more(&wants[stage->from], (struct want){.share = 1});
    double operations = decided & survey.conditions /* the same condition, which counts once */
                            ? fmin(survey.operations, share * survey.most)
                            : share * survey.operations;
    return operations * needed_points(binding, stage);
}

static double count_part(const struct ir_binding *binding, struct arena *scratch)
{
    const struct ir_part *part = binding->part;
    struct want *wants = arena_array(scratch, (size_t)part->tensor_count + 1, sizeof *wants);
    double total = 0;
    for (int o = 0; o < part->output_count; o++)
        wants[part->outputs[o]].share = 1;
    for (int s = part->stage_count; s-- > 0;) {
        const struct ir_stage *stage = &part->stages[s];
        if (stage->kind == IR_CALL) {
            struct ir_binding *callee = ir_bind_call(scratch, binding, stage);
            bool wanted = false;
            for (int o = 0; o < stage->callee->output_count; o++)
                wanted |= wants[stage->outputs[o]].share > 0;
            total += callee && wanted ? count_part(callee, scratch) : 0;
            for (int i = 0; wanted && i < stage->callee->input_count; i++)
                wants[stage->inputs[i]] = (struct want){.share = 1};
        } else if (stage->kind == IR_LOOP) {
            total += ir_written_operations(binding, stage, 1, scratch);
            for (int t = 0; t < part->tensor_count; t++)
                wants[t] = (struct want){.share = 1};
        } else {
            total += count_stage(binding, stage, wants, scratch);
        }
    }
    return total;
}

double ir_operations(const struct ir_binding *binding)
{
    struct arena scratch = {0};
    double total = count_part(binding, &scratch);
    arena_release(&scratch);
    return total;
}
