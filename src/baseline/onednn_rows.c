/*
 * Softmax, normalisations, functions of one value and maxima over windows, recognised for oneDNN.
 */
#include <math.h>
#include <string.h>

#include "baseline/onednn.h"

/* The bare indices a stage writes its tensor at; false when one is not bare. */
static bool left_indices(const struct ir_part *part, const struct ir_stage *stage, int *indices)
{
    for (int d = 0; d < part->tensors[stage->writes[0].tensor].rank; d++)
        if ((indices[d] = match_bare(stage, stage->writes[0].at[d])) < 0)
            return false;
    return true;
}

static bool is_reduction(const struct ir_stage *stage, enum ir_monoid_kind kind)
{
    return stage->kind == IR_REDUCE && stage->monoid->kind == kind && stage->predicate == IR_NONE &&
           stage->write_count == 1;
}

/* The read of a tensor among those of a function: its place in `reads`, or -1. */
static int find_read(const struct match_function *function, int tensor)
{
    for (int i = 0; i < function->count; i++)
        if (function->stage->nodes.at[function->reads[i]].read.tensor == tensor)
            return i;
    return -1;
}

static const struct ir_node *read_node(const struct match_function *function, int number)
{
    return &function->stage->nodes.at[function->reads[number]];
}

static void print_sizes(struct text *out, const struct ir_tensor *tensor, int from, int to)
{
    text_char(out, '1');
    for (int d = from; d < to; d++) {
        text_add(out, " * ");
        match_print_size(out, tensor->dims[d]);
    }
}

/* ---- rows: a tensor x with some dimensions reduced ---- */

struct rows {
    int x, rank;     /* the tensor; an input */
    int from, count; /* its dimensions from .. from+count-1 are reduced, the others kept in order */
};

/* Whether x is read at the left indices with the reduced ones put in. */
static bool reads_rows(const struct ir_part *part, const struct ir_stage *stage,
                       const struct ir_node *read, struct rows *rows, bool first)
{
    int left[IR_MAX_RANK], kept = part->tensors[stage->writes[0].tensor].rank;
    int reduced = stage->index_count - stage->left_count, k = 0;
    int rank = part->tensors[read->read.tensor].rank;
    if (!left_indices(part, stage, left) || rank != kept + reduced || reduced < 1)
        return false;
    int from = -1;
    for (int d = 0; d < rank; d++) {
        int index = match_bare(stage, read->read.at[d]);
        bool is_left = k < kept && index == left[k];
        if (is_left) {
            k++;
            continue;
        }
        from = from < 0 ? d : from;
        if (d - from >= reduced || index != stage->indices[stage->left_count + d - from])
            return false;
    }
    if (first)
        *rows = (struct rows){read->read.tensor, rank, from, reduced};
    return read->read.tensor == rows->x && from == rows->from && reduced == rows->count;
}

/* Whether the reads of a function are x whole, and tensors of one value per row. */
static bool reads_parts(const struct match_function *function, const struct rows *rows,
                        const int *tensors, int count, int *order)
{
    const struct ir_stage *stage = function->stage;
    int whole[IR_MAX_RANK], kept[IR_MAX_RANK], n = 0;
    int x = find_read(function, rows->x);
    if (x < 0)
        return false;
    for (int d = 0; d < rows->rank; d++) {
        if ((whole[d] = match_bare(stage, read_node(function, x)->read.at[d])) < 0)
            return false;
        if (d < rows->from || d >= rows->from + rows->count)
            kept[n++] = whole[d];
    }
    order[0] = x;
    for (int i = 0; i < count; i++) {
        order[1 + i] = find_read(function, tensors[i]);
        if (order[1 + i] < 0 ||
            !match_indices(stage, read_node(function, order[1 + i])->read.at, n, kept))
            return false;
    }
    int left[IR_MAX_RANK];
    return stage->kind == IR_REDUCE || (left_indices(function->part, stage, left) &&
                                        memcmp(left, whole, sizeof(int) * (size_t)rows->rank) == 0);
}

/* ---- softmax ---- */

static double exponential(const double *v, const void *context)
{
    (void)context;
    return exp(v[0] - v[1]);
}

static double share(const double *v, const void *context)
{
    (void)context;
    return exp(v[0] - v[1]) / v[2];
}

static double log_share(const double *v, const void *context)
{
    (void)context;
    return v[0] - v[1] - log(v[2]);
}

bool onednn_softmax(struct arena *arena, const struct ir_part *part, struct onednn_match *match)
{
    const struct ir_stage *stages = part->stages;
    struct match_function greatest, sum, result;
    struct rows rows;
    int order[MATCH_READS];
    if (part->stage_count != 3 || !is_reduction(&stages[0], IR_MAXIMUM) ||
        !is_reduction(&stages[1], IR_SUM) || stages[2].kind != IR_MAP ||
        stages[2].writes[0].tensor != part->outputs[0] ||
        !match_function(arena, part, &stages[0], &greatest) || greatest.count != 1 ||
        stages[0].writes[0].value != greatest.reads[0] ||
        !reads_rows(part, &stages[0], read_node(&greatest, 0), &rows, true) || rows.count != 1 ||
        match_input(part, rows.x) < 0)
        return false;
    const int made[] = {stages[0].writes[0].tensor, stages[1].writes[0].tensor};
    if (!match_function(arena, part, &stages[1], &sum) || sum.count != 2 ||
        !reads_parts(&sum, &rows, made, 1, order) ||
        !reads_rows(part, &stages[1], read_node(&sum, order[0]), &rows, false) ||
        !match_agrees(&sum, order, exponential, NULL) ||
        !match_function(arena, part, &stages[2], &result) || result.count != 3 ||
        !reads_parts(&result, &rows, made, 2, order))
        return false;
    bool logarithm = match_agrees(&result, order, log_share, NULL);
    if (!logarithm && !match_agrees(&result, order, share, NULL))
        return false;
    const struct ir_tensor *x = &part->tensors[rows.x];
    text_printf(&match->call, "    return make_softmax(%d, %d, %d, ", match_input(part, rows.x),
                part->input_count, logarithm);
    print_sizes(&match->call, x, 0, rows.from);
    text_add(&match->call, ", ");
    print_sizes(&match->call, x, rows.from, rows.from + 1);
    text_add(&match->call, ", ");
    print_sizes(&match->call, x, rows.from + 1, x->rank);
    text_add(&match->call, ");\n");
    return true;
}

/* ---- the small number under a root ---- */

/* A scalar of the part, or a constant of the stage: each is tried. */
struct epsilon {
    double value; /* as it is while functions are tried */
    double count; /* elements of a row, made up */
    int scalar;   /* -1: a constant */
};

static bool try_epsilons(const struct match_function *function, const int *order,
                         match_formula *formula, struct epsilon *epsilon)
{
    for (int i = 0; i < function->part->scalar_count; i++) {
        epsilon->scalar = i;
        epsilon->value = function->scalars[i];
        if (match_agrees(function, order, formula, epsilon))
            return true;
    }
    epsilon->scalar = -1;
    for (int i = 0; i < function->nodes.count; i++) {
        epsilon->value = function->nodes.at[i].number;
        if (function->nodes.at[i].op == IR_FLOAT && epsilon->value > 0 &&
            match_agrees(function, order, formula, epsilon))
            return true;
    }
    return false;
}

static void print_epsilon(struct text *out, const struct epsilon *epsilon)
{
    if (epsilon->scalar >= 0)
        text_printf(out, ", scalars[%d]);\n", epsilon->scalar);
    else
        text_printf(out, ", %.17g);\n", epsilon->value);
}

/* ---- layer norm ---- */

static double itself(const double *v, const void *context)
{
    (void)context;
    return v[0];
}

static double mean_of(const double *v, const void *context)
{
    const struct epsilon *epsilon = context;
    return v[0] / epsilon->count;
}

static double square_distance(const double *v, const void *context)
{
    (void)context;
    return (v[0] - v[1]) * (v[0] - v[1]);
}

/* x, mean, sum of squares, scale, shift */
static double normalised(const double *v, const void *context)
{
    const struct epsilon *epsilon = context;
    return (v[0] - v[1]) / sqrt(v[2] / epsilon->count + epsilon->value) * v[3] + v[4];
}

/* Scale and shift are read at the reduced dimensions of x; which is which is found by trying. */
static bool match_scale(struct match_function *result, const struct rows *rows, int *order,
                        struct epsilon *epsilon)
{
    const struct ir_node *x = read_node(result, order[0]);
    int whole[IR_MAX_RANK], count = 3;
    for (int d = 0; d < rows->rank; d++)
        whole[d] = match_bare(result->stage, x->read.at[d]);
    for (int i = 0; i < result->count; i++) {
        if (i == order[0] || i == order[1] || i == order[2])
            continue;
        const struct ir_node *read = read_node(result, i);
        if (count > 4 || match_input(result->part, read->read.tensor) < 0 ||
            result->part->tensors[read->read.tensor].rank != rows->count ||
            !match_indices(result->stage, read->read.at, rows->count, whole + rows->from))
            return false;
        order[count++] = i;
    }
    if (count != 5)
        return false;
    if (try_epsilons(result, order, normalised, epsilon))
        return true;
    int kept = order[3];
    order[3] = order[4];
    order[4] = kept;
    return try_epsilons(result, order, normalised, epsilon);
}

bool onednn_layer_norm(struct arena *arena, const struct ir_part *part, struct onednn_match *match)
{
    const struct ir_stage *stages = part->stages;
    struct match_function sum, mean, squares, result;
    struct rows rows;
    struct epsilon epsilon = {.count = 1};
    int order[MATCH_READS] = {0}, indices[IR_MAX_RANK];
    if (part->stage_count != 4 || !is_reduction(&stages[0], IR_SUM) || stages[1].kind != IR_MAP ||
        !is_reduction(&stages[2], IR_SUM) || stages[3].kind != IR_MAP ||
        !match_function(arena, part, &stages[0], &sum) || sum.count != 1 ||
        !match_agrees(&sum, order, itself, NULL) ||
        !reads_rows(part, &stages[0], read_node(&sum, 0), &rows, true) ||
        match_input(part, rows.x) < 0 || rows.from + rows.count != rows.rank)
        return false;
    for (int d = rows.from; d < rows.rank; d++) {
        int64_t extent = 0;
        ir_size_eval(part->tensors[rows.x].dims[d], sum.sizes, &extent);
        epsilon.count *= (double)extent;
    }
    const int made[] = {stages[1].writes[0].tensor, stages[2].writes[0].tensor};
    if (!match_function(arena, part, &stages[1], &mean) || mean.count != 1 ||
        read_node(&mean, 0)->read.tensor != stages[0].writes[0].tensor ||
        !left_indices(part, &stages[1], indices) ||
        !match_indices(&stages[1], read_node(&mean, 0)->read.at, rows.from, indices) ||
        !match_agrees(&mean, order, mean_of, &epsilon) ||
        !match_function(arena, part, &stages[2], &squares) || squares.count != 2 ||
        !reads_parts(&squares, &rows, made, 1, order) ||
        !reads_rows(part, &stages[2], read_node(&squares, order[0]), &rows, false) ||
        !match_agrees(&squares, order, square_distance, NULL) ||
        !match_function(arena, part, &stages[3], &result) || result.count != 5 ||
        stages[3].writes[0].tensor != part->outputs[0] ||
        !reads_parts(&result, &rows, made, 2, order) ||
        !match_scale(&result, &rows, order, &epsilon))
        return false;
    const struct ir_tensor *x = &part->tensors[rows.x];
    text_printf(&match->call, "    return make_layer_norm(%d, %d, %d, %d, ",
                match_input(part, rows.x),
                match_input(part, read_node(&result, order[3])->read.tensor),
                match_input(part, read_node(&result, order[4])->read.tensor), part->input_count);
    print_sizes(&match->call, x, 0, rows.from);
    text_add(&match->call, ", ");
    print_sizes(&match->call, x, rows.from, x->rank);
    print_epsilon(&match->call, &epsilon);
    return true;
}

/* ---- batch norm, with statistics given ---- */

/* x, mean, variance, scale, shift */
static double standardised(const double *v, const void *context)
{
    const struct epsilon *epsilon = context;
    return (v[0] - v[1]) / sqrt(v[2] + epsilon->value) * v[3] + v[4];
}

/* Which of the four vectors plays which part is found by trying all orders. */
static bool match_roles(const struct match_function *function, int *order, int place,
                        struct epsilon *epsilon)
{
    if (place == 5)
        return try_epsilons(function, order, standardised, epsilon);
    for (int i = place; i < 5; i++) {
        int kept = order[place];
        order[place] = order[i];
        order[i] = kept;
        if (match_roles(function, order, place + 1, epsilon))
            return true;
        order[i] = order[place];
        order[place] = kept;
    }
    return false;
}

bool onednn_batch_norm(struct arena *arena, const struct ir_part *part, struct onednn_match *match)
{
    const struct ir_stage *stage = part->stages;
    struct match_function function;
    struct epsilon epsilon = {0};
    int left[IR_MAX_RANK], order[5], x = -1, count = 1, input[5];
    int rank = part->tensors[part->outputs[0]].rank;
    if (part->stage_count != 1 || stage->kind != IR_MAP || rank < 2 ||
        !left_indices(part, stage, left) || !match_function(arena, part, stage, &function) ||
        function.count != 5)
        return false;
    for (int i = 0; i < 5; i++) {
        const struct ir_node *read = read_node(&function, i);
        input[i] = match_input(part, read->read.tensor);
        bool whole = part->tensors[read->read.tensor].rank == rank &&
                     match_indices(stage, read->read.at, rank, left);
        bool vector = part->tensors[read->read.tensor].rank == 1 &&
                      match_bare(stage, read->read.at[0]) == left[1];
        if (input[i] < 0 || (!whole && !vector) || (whole && x >= 0) || (vector && count == 5))
            return false;
        if (whole)
            x = i;
        else
            order[count++] = i;
    }
    order[0] = x;
    if (x < 0 || !match_roles(&function, order, 1, &epsilon))
        return false;
    const struct ir_tensor *tensor = &part->tensors[part->outputs[0]];
    text_printf(&match->call, "    return make_batch_norm(%d, %d, %d, %d, %d, %d, ",
                input[order[0]], input[order[1]], input[order[2]], input[order[3]], input[order[4]],
                part->input_count);
    print_sizes(&match->call, tensor, 0, 1);
    text_add(&match->call, ", ");
    print_sizes(&match->call, tensor, 1, 2);
    text_add(&match->call, ", ");
    print_sizes(&match->call, tensor, 2, rank);
    print_epsilon(&match->call, &epsilon);
    return true;
}

/* ---- functions of one value ---- */

bool onednn_pointwise(struct arena *arena, const struct ir_part *part, struct onednn_match *match)
{
    const struct ir_stage *stage = part->stages;
    struct match_function function;
    int left[IR_MAX_RANK], rank = part->tensors[part->outputs[0]].rank;
    if (part->stage_count != 1 || stage->kind != IR_MAP || !left_indices(part, stage, left) ||
        !match_function(arena, part, stage, &function) || function.count != 1)
        return false;
    const struct ir_node *read = read_node(&function, 0);
    int input = match_input(part, read->read.tensor);
    const struct onednn_activation *activation = onednn_find_activation(&function);
    if (input < 0 || part->tensors[read->read.tensor].rank != rank ||
        !match_indices(stage, read->read.at, rank, left) || !activation || activation->code == 0)
        return false;
    text_printf(&match->call, "    return make_pointwise(%d, %d, ", input, part->input_count);
    print_sizes(&match->call, &part->tensors[part->outputs[0]], 0, rank);
    text_printf(&match->call, ", 0x%x, %g);\n", (unsigned)activation->code, activation->alpha);
    return true;
}

/* ---- maxima over windows ---- */

bool onednn_max_pooling(struct arena *arena, const struct ir_part *part, struct onednn_match *match)
{
    const struct ir_stage *stage = part->stages;
    int left[IR_MAX_RANK], rank = part->tensors[part->outputs[0]].rank;
    struct onednn_window window = {0};
    if (part->stage_count != 1 || !is_reduction(stage, IR_MAXIMUM) ||
        !left_indices(part, stage, left) ||
        !match_read(stage, stage->writes[0].value, true, -INFINITY))
        return false;
    const struct ir_node *read = &stage->nodes.at[stage->writes[0].value];
    const struct ir_tensor *x = &part->tensors[read->read.tensor];
    int input = match_input(part, read->read.tensor);
    window.spatial = stage->index_count - stage->left_count;
    int planes = rank - window.spatial;
    if (input < 0 || x->rank != rank || window.spatial < 1 || window.spatial > 3 || planes < 0 ||
        !match_indices(stage, read->read.at, planes, left))
        return false;
    for (int d = 0; d < window.spatial; d++) {
        int r = stage->indices[stage->left_count + d];
        window.in[d] = x->dims[planes + d];
        if (!part->indices[r].extent ||
            !onednn_match_window(arena, part, stage, read->read.at[planes + d], left[planes + d], r,
                                 d, &window))
            return false;
    }
    text_printf(&match->call, "    return make_max_pooling(%d, %d, %d, ", input, part->input_count,
                window.spatial);
    print_sizes(&match->call, x, 0, planes);
    text_add(&match->call, ", ");
    onednn_print_window(&match->call, &window);
    text_add(&match->call, ");\n");
    return true;
}
