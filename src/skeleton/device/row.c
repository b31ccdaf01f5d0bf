/*
 * Reductions and what hangs on them, on a device: softmax, normalisations, sums and extremes along
 * any axis. What is decided, and what it costs; row_lower.c writes it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skeleton/device/row.h"
#include "skeleton/slots.h"

/* ---- sorting out ---- */

static struct row_stage *stage_of(struct device_row *row, int tensor, int *component)
{
    for (int i = 0; i < row->row.stage_count; i++) {
        struct row_stage *stage = &row->row.stages[i];
        for (int k = 0; k < stage->stage->write_count; k++) {
            *component = k;
            if (stage->stage->writes[k].tensor == tensor)
                return stage;
        }
    }
    return NULL;
}

static loop_value results_resolve(void *context, struct skeleton_values *values, int tensor,
                                  const loop_value *at)
{
    (void)at;
    struct device_row *row = context;
    int component;
    struct row_stage *stage = stage_of(row, tensor, &component);
    if (!stage)
        return NULL;
    struct device_row_stage *own = &row->stages[stage - row->row.stages];
    if (stage->kind == ROW_REDUCE)
        return loop_load(row->arena, component ? own->places : own->sums, row->element, 1);
    return skeleton_round(values, tensor,
                          skeleton_value(values, stage->stage, stage->stage->writes[0].value));
}

const struct nest_chain *device_row_lane(const struct device_row *row)
{
    return row->is_across ? &row->left.at[row->across] : &row->reduced.at[row->reduced.count - 1];
}

int device_row_sums(const struct device_row *row)
{
    return row->is_across ? row->elements : 1;
}

/* Nothing was computed yet: results are asked for at element 0 of buffers that are not written. */
static void dummy_results(struct device_row *row)
{
    row->element = loop_integer(row->arena, 0);
    for (int i = 0; i < row->row.stage_count; i++) {
        const struct ir_stage *ir = row->row.stages[i].stage;
        struct loop_block *nowhere = loop_block_new(row->arena);
        if (row->row.stages[i].kind != ROW_REDUCE)
            continue;
        row->stages[i].sums =
            loop_stack(nowhere, "sum", ir->nodes.at[ir->writes[0].value].type, 1, 1);
        row->stages[i].places = loop_stack(nowhere, "place", DTYPE_I64, 1, 1);
    }
}

void device_row_collect(struct device_row *row, int pass, struct device_loads *loads)
{
    struct skeleton_values *values = &row->values;
    const struct loop_variable *along = device_row_lane(row)->variable;
    values->memo = NULL;
    for (int i = 0; i < row->row.stage_count; i++) {
        struct device_row_stage *own = &row->stages[i];
        const struct ir_stage *ir = row->row.stages[i].stage;
        int tensor = ir->writes[0].tensor;
        bool map = row->row.stages[i].kind == ROW_MAP;
        if (!row_in_pass(&row->row.stages[i], pass) || (map && !row->group->needed[tensor]))
            continue;
        own->value = skeleton_value(values, ir, ir->writes[0].value);
        if (map) {
            loop_value at[IR_MAX_RANK];
            for (int d = 0; d < row->group->part->tensors[tensor].rank; d++)
                at[d] = skeleton_value(values, ir, ir->writes[0].at[d]);
            own->offset = skeleton_offset(values, tensor, at);
            own->buffer = skeleton_buffer(values, tensor);
            own->value = skeleton_round(values, tensor, own->value);
        } else if (ir->predicate != IR_NONE) {
            own->value =
                loop_select(row->arena, skeleton_value(values, ir, ir->predicate), own->value,
                            loop_unit(row->arena, ir->monoid->kind, own->value->type));
        }
        if (device_is_indexed(ir->monoid && !map ? ir->monoid->kind : IR_SUM))
            own->place = skeleton_value(values, ir, ir->writes[1].value);
        if (row->reciprocal && !row->is_across)
            own->value = skeleton_reciprocal(row->arena, own->value, along);
        if (row->reciprocal && row->is_across && row->reduced.count == 1)
            own->value = skeleton_reciprocal(row->arena, own->value, row->reduced.at[0].variable);
        device_loads_add(row->arena, loads, own->value, along);
    }
}

void device_row_align(struct device_row *row, struct device_loads *loads)
{
    const struct nest_chains *lists[] = {&row->left, &row->reduced};
    for (size_t i = 0; i < loads->count; i++)
        loads->at[i].vector = device_is_aligned(row->group, loads->at[i].load->offset, lists, 2,
                                                device_row_lane(row)->variable, row->elements);
}

bool device_row_store_aligned(struct device_row *row, const struct device_row_stage *stage)
{
    const struct nest_chains *lists[] = {&row->left, &row->reduced};
    const struct loop_variable *along = device_row_lane(row)->variable;
    return device_is_dense(row->arena, stage->offset, along) &&
           device_is_aligned(row->group, stage->offset, lists, 2, along, row->elements);
}

/* How many loads are dense along the chain that is now the lane. */
static struct device_loads all_loads(struct device_row *row)
{
    struct device_loads loads = {0};
    dummy_results(row);
    for (int pass = 1; pass <= row->row.pass_count; pass++)
        device_row_collect(row, pass, &loads);
    return loads;
}

static void find_direction(struct device_row *row)
{
    size_t most = 0;
    row->is_across = false;
    row->can_along = true;
    size_t along = all_loads(row).count;
    row->is_across = true;
    for (int i = 0; i < row->left.count; i++) {
        row->across = i;
        size_t count = all_loads(row).count;
        if (count > most) {
            most = count;
            row->can_across = true;
        }
    }
    for (int i = 0; i < row->left.count && row->can_across; i++) {
        row->across = i;
        if (all_loads(row).count == most)
            break;
    }
    row->is_across = row->can_across && most > along;
}

bool device_row_init(struct device_row *row, const struct skeleton_group *group,
                     struct loop_kernel *kernel, struct skeleton_reason *why_not)
{
    *row = (struct device_row){.group = group, .kernel = kernel, .arena = kernel->arena};
    if (!row_group_init(&row->row, group, why_not))
        return false;
    for (int i = 0; i < row->row.stage_count; i++) {
        if (row->row.stages[i].kind >= ROW_TOTAL) {
            nest_refuse(why_not, "what combines rows is a group of its own on a device");
            return false;
        }
    }
    row->left = nest_chain(&row->row.nest, row->arena, &row->row.left);
    row->reduced = nest_chain(&row->row.nest, row->arena, &row->row.reduced);
    row->values = (struct skeleton_values){
        .group = group, .kernel = kernel, .resolve = results_resolve, .context = row};
    row->values.indices =
        arena_array(row->arena, (size_t)group->part->index_count + 1, sizeof(loop_value));
    nest_bind_all(&row->row.nest, &row->values, &row->left);
    nest_bind_all(&row->row.nest, &row->values, &row->reduced);
    row->rows = row->length = 1;
    for (int i = 0; i < row->left.count; i++)
        row->rows *= nest_extent(&row->row.nest, &row->left.at[i]);
    for (int i = 0; i < row->reduced.count; i++)
        row->length *= nest_extent(&row->row.nest, &row->reduced.at[i]);
    find_direction(row);
    struct device_loads loads = all_loads(row);
    row->smallest = 8;
    for (size_t i = 0; i < loads.count; i++) {
        int bytes = (int)dtype_bytes(loads.at[i].buffer->dtype);
        row->smallest = bytes < row->smallest ? bytes : row->smallest;
        row->load_bytes += bytes;
    }
    row->kept_bytes = row->load_bytes;
    row->kept_loads = (int)loads.count;
    if (row->row.pass_count > 1) {
        struct device_loads early = {0};
        row->kept_bytes = 0;
        for (int pass = 1; pass < row->row.pass_count; pass++)
            device_row_collect(row, pass, &early);
        for (size_t i = 0; i < early.count; i++)
            row->kept_bytes += (int)dtype_bytes(early.at[i].buffer->dtype);
        row->kept_loads = (int)early.count;
        row->kept_dtype = early.count ? early.at[0].buffer->dtype : DTYPE_F32;
    }
    for (int i = 0; i < row->row.stage_count; i++)
        row->stores |= row->row.stages[i].kind == ROW_MAP &&
                       group->needed[row->row.stages[i].stage->writes[0].tensor];
    return true;
}

static bool row_match(const struct skeleton_group *group, struct skeleton_reason *why_not)
{
    struct row_group row;
    if (!row_group_init(&row, group, why_not))
        return false;
    for (int i = 0; i < row.stage_count; i++) {
        if (row.stages[i].kind >= ROW_TOTAL) {
            nest_refuse(why_not, "what combines rows is a group of its own on a device");
            return false;
        }
    }
    return true;
}

/* ---- decisions ---- */

static const char *const SIDES[] = {"along", "across"};
static const char *const DIVISIONS[] = {"exact", "reciprocal"};
static const char *const LENGTHS[] = {"any", "known"};
static const char *const KEEPS[] = {"0",  "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",
                                    "10", "12", "13", "14", "16", "20", "24", "25", "28", "32"};
static const char *const STASHES[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"};
static const char *const RESIDENTS[] = {"1", "2", "3", "4", "5", "6", "8", "10", "12", "16"};
enum {
    KEEP_COUNT = sizeof KEEPS / sizeof *KEEPS,
    STASH_COUNT = sizeof STASHES / sizeof *STASHES,
    RESIDENT_COUNT = sizeof RESIDENTS / sizeof *RESIDENTS,
    TEAM_KEEP = 8,
    MOST_KEEP = 28,
    CLUSTER_TEAM = 256, /* threads of each block of a cluster */
    MOST_SPLIT = 1024,
    MOST_WRITTEN = 48, /* elements: PoCL takes 4 s to compile 32 of a softmax, 11 s for 68 */
};

void device_row_decide(struct device_row *row, const struct plan_group *plan)
{
    row->plan = plan;
    row->is_across = plan_is(plan, "side", "across");
    row->threads = (int)plan_number(plan, "threads", 256);
    row->team = (int)plan_number(plan, "team", 32);
    row->elements = (int)plan_number(plan, "vector", 1);
    row->keep = (int)plan_number(plan, "keep", 0);
    row->unroll = (int)plan_number(plan, "unroll", 1);
    row->stash = (int)plan_number(plan, "stash", 0);
    row->split = (int)plan_number(plan, "split", 1);
    row->cluster = (int)plan_number(plan, "cluster", 1);
    row->resident = (int)plan_number(plan, "resident", 1);
    row->is_known = plan_is(plan, "length", "known");
    row->reciprocal = plan_is(plan, "divide", "reciprocal");
}

static int vector_seed(struct device_row *row)
{
    struct device_loads loads = all_loads(row);
    int64_t extent = nest_extent(&row->row.nest, device_row_lane(row));
    for (int elements = 16 / row->smallest; elements > 1; elements /= 2) {
        row->elements = elements > 8 ? 8 : elements;
        device_row_align(row, &loads);
        size_t fit = 0;
        for (size_t i = 0; i < loads.count; i++)
            fit += loads.at[i].vector;
        if (2 * fit > loads.count && extent >= row->elements)
            return row->elements;
    }
    return 1;
}

static int64_t power_above(int64_t value)
{
    int64_t power = 1;
    while (power < value)
        power *= 2;
    return power;
}

struct row_seed {
    int64_t threads, team, keep, stash, unroll, split, cluster;
};

/* Registers of a thread beside the vectors it holds. */
enum { OTHER_REGISTERS = 15 };

/* Vectors a thread can keep beside everything else it needs. */
static int64_t keep_limit(const struct device_row *row, int64_t threads, int elements)
{
    const struct skeleton_device *device = row->group->target->device;
    int64_t bytes = (int64_t)row->kept_bytes * elements;
    int64_t registers = device->unit_registers ? device->unit_registers / threads / 8 * 8 : 160;
    registers = (registers > 220 ? 220 : registers) - OTHER_REGISTERS;
    int64_t most = registers > 0 && bytes > 0 ? registers * 4 / bytes : 0;
    return most > MOST_KEEP ? MOST_KEEP : most;
}

/* Rows that are gone over again, and too long for two blocks on a multiprocessor to keep: as many
 * blocks as it takes, and as many of them at once as there can be, but more than one: while some
 * wait for each other, others move. */
static void seed_cluster(const struct device_row *row, int64_t steps, int elements,
                         struct row_seed *seed)
{
    const struct skeleton_device *device = row->group->target->device;
    if (row->row.pass_count == 1 || device->cluster < 2 || device->block_threads < CLUSTER_TEAM ||
        steps <= seed->team * keep_limit(row, 2 * seed->team, elements))
        return;
    for (int at_once = 4; at_once > 1; at_once--) {
        int64_t most = keep_limit(row, (int64_t)at_once * CLUSTER_TEAM, elements), blocks = 2;
        while (blocks < device->cluster && steps > blocks * CLUSTER_TEAM * most)
            blocks *= 2;
        if (steps > blocks * CLUSTER_TEAM * most || row->rows * blocks < device->units / 2)
            continue;
        seed->cluster = blocks;
        seed->team = seed->threads = CLUSTER_TEAM;
        return;
    }
}

static struct row_seed seed_along(const struct device_row *row, int elements)
{
    const struct skeleton_device *device = row->group->target->device;
    int64_t steps = (row->length + elements - 1) / elements, most = device->block_threads;
    bool slow = device->warp == 1; /* threads meet in shared memory only */
    most = slow && most > 64 ? 64 : most;
    struct row_seed seed = {.unroll = 4, .split = 1, .cluster = 1};
    seed.team = power_above((steps + TEAM_KEEP - 1) / TEAM_KEEP);
    seed.team = seed.team < 8 && steps >= 8 ? 8 : seed.team;
    seed.team = seed.team > 512 ? 512 : seed.team;
    seed.team = seed.team > most ? most : slow && seed.team > 16 ? 16 : seed.team;
    while (seed.team * 2 <= most && seed.team < 32 && row->rows * seed.team < 16 * device->units)
        seed.team *= 2; /* few rows: more threads for each */
    seed.threads = seed.team < 128 ? 128 : seed.team;
    seed.threads = seed.threads > most ? most : seed.threads;
    if (seed.team == seed.threads)
        seed_cluster(row, steps, elements, &seed);
    bool few = row->rows < device->units && steps > 8 * seed.team && seed.cluster == 1;
    if (few) {
        seed.team = seed.threads = most < 256 ? most : 256;
        while (seed.split < MOST_SPLIT && seed.split * row->rows < 8 * device->units &&
               seed.split * seed.team * 8 < steps)
            seed.split *= 2;
    }
    int64_t needed = (steps + seed.team * seed.cluster - 1) / (seed.team * seed.cluster);
    bool again = row->row.pass_count > 1 && seed.split == 1;
    int64_t most_keep = keep_limit(row, seed.threads, elements);
    seed.keep = again && needed <= 2 * most_keep ? needed : 0;
    seed.keep = seed.keep > most_keep ? most_keep : seed.keep; /* the rest is read again */
    if (row->row.pass_count == 1 && needed <= 8 && seed.split == 1)
        seed.keep = needed;                         /* all that is read is under way at once */
    if (seed.cluster > 1 && row->kept_loads == 1) { /* half of it, so that more rows are there */
        seed.stash = seed.keep / 2 < STASH_COUNT ? seed.keep / 2 : STASH_COUNT - 1;
        seed.keep -= seed.stash;
    }
    if (slow) /* a device that is a processor: caches keep a row, and compilers take long */
        seed.keep = 0, seed.unroll = 1;
    return seed;
}

static struct row_seed seed_across(struct device_row *row, int elements)
{
    const struct skeleton_device *device = row->group->target->device;
    int64_t columns = nest_extent(&row->row.nest, &row->left.at[row->across]);
    struct row_seed seed = {.unroll = 4, .split = 1, .cluster = 1, .threads = 256};
    seed.threads = seed.threads > device->block_threads ? device->block_threads : seed.threads;
    seed.threads = device->warp == 1 && seed.threads > 64 ? 64 : seed.threads;
    seed.team = device->warp == 1 ? 16 : 32;
    while (seed.team > 1 && seed.team / 2 * elements >= columns)
        seed.team /= 2;
    int64_t depth = seed.threads / seed.team;
    while (depth > 1 && depth / 2 >= row->length) {
        depth /= 2;
        seed.threads /= 2;
    }
    int64_t pieces = (columns + seed.team * elements - 1) / (seed.team * elements);
    int64_t blocks = pieces * (columns ? row->rows / columns : 1);
    while (seed.split < MOST_SPLIT && blocks * seed.split < 8 * device->units &&
           seed.split * depth * 8 < row->length)
        seed.split *= 2;
    int64_t needed = (row->length + depth - 1) / depth;
    seed.keep = row->row.pass_count > 1 && seed.split == 1 && needed <= 16 ? needed : 0;
    if (device->warp == 1)
        seed.keep = 0, seed.unroll = 1;
    return seed;
}

/* Whether the stage sums in f64. */
static bool is_wide(const struct row_stage *stage)
{
    const struct ir_stage *ir = stage->stage;
    return stage->kind == ROW_REDUCE && ir->nodes.at[ir->writes[0].value].type == DTYPE_F64;
}

/* What a thread holds at once: what it keeps, and what the last pass reads besides. */
static double row_registers(const struct device_row *row)
{
    int late = row->load_bytes - row->kept_bytes;
    double vectors = (double)row->keep * row->kept_bytes + (double)row->unroll * late;
    vectors = fmax(vectors, (double)row->unroll * row->load_bytes);
    double sums = 0, each = 4;
    for (int i = 0; i < row->row.stage_count; i++) {
        bool wide = is_wide(&row->row.stages[i]);
        if (row->row.stages[i].kind != ROW_REDUCE)
            continue;
        sums += (wide ? 8 : 4) * device_row_sums(row);
        each = wide ? 8 : each;
    }
    sums += 2 * each * row->elements;
    return OTHER_REGISTERS + (vectors * row->elements + sums - 40) / 4;
}

/* Blocks that have room on a multiprocessor with these registers. */
static int64_t resident_seed(const struct device_row *row)
{
    const struct skeleton_device *device = row->group->target->device;
    /* where a block has several rows it must find out which are there */
    double guards = row->team < row->threads || row->is_across ? 7 : row->stash ? 8 : 0;
    double registers = ceil((row_registers(row) + guards) / 8) * 8;
    double blocks = fmin(floor(device->unit_registers / (registers * row->threads)),
                         floor((double)device->unit_threads / row->threads));
    return blocks < 1 ? 1 : (int64_t)blocks;
}

static int nearest(const char *const *values, int count, int64_t wanted)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        found = atoi(values[i]) <= wanted ? i : found;
    return found;
}

/* Decisions that only some devices leave open. */
static void open_device(struct device_row *row, const struct row_seed *seed, int keep,
                        struct skeleton_slots *slots)
{
    const struct skeleton_group *group = row->group;
    const struct skeleton_device *device = group->target->device;
    if (device->warp > 1)
        slots_add(group, slots, "stash", "vectors more that a thread keeps in shared memory",
                  STASHES, STASH_COUNT, (int)seed->stash);
    if (device->cluster > 1)
        device_slot(group, slots, "cluster", "blocks that share a row and meet", 1, device->cluster,
                    seed->cluster);
    if (device->unit_registers) {
        row->threads = (int)seed->threads;
        row->team = (int)seed->team;
        row->stash = (int)seed->stash;
        row->keep = keep;
        row->unroll = (int)seed->unroll;
        slots_add(group, slots, "resident", "blocks a multiprocessor should hold", RESIDENTS,
                  RESIDENT_COUNT, nearest(RESIDENTS, RESIDENT_COUNT, resident_seed(row)));
    }
    slots_add(group, slots, "length", "a version for the sizes at hand besides that for any",
              LENGTHS, 2, device->warp > 1);
}

static void row_open(const struct skeleton_group *group, struct skeleton_slots *slots)
{
    const struct skeleton_device *device = group->target->device;
    struct device_row row;
    struct skeleton_reason ignored = {""};
    device_row_init(&row, group, loop_kernel_new(group->arena, group->part), &ignored);
    int elements = vector_seed(&row), keep = 0;
    row.elements = elements;
    struct row_seed seed = row.is_across ? seed_across(&row, elements) : seed_along(&row, elements);
    while (keep + 1 < KEEP_COUNT && atoi(KEEPS[keep]) < seed.keep)
        keep++;
    if (!row.is_across && keep && atoi(KEEPS[keep]) > keep_limit(&row, seed.threads, elements))
        keep--;
    slots_add(group, slots, "side", "vectors along a row, or across rows side by side", SIDES,
              row.can_across ? 2 : 1, row.is_across);
    device_slot(group, slots, "threads", "of a block", 32, device->block_threads, seed.threads);
    device_slot(group, slots, "team", "threads of a row; across: of columns", 1,
                device->block_threads, seed.team);
    device_slot(group, slots, "vector", "elements a thread loads at once", 1, 16, elements);
    slots_add(group, slots, "keep", "vectors a thread keeps from pass to pass", KEEPS, KEEP_COUNT,
              keep);
    device_slot(group, slots, "unroll", "vectors under way where they are not kept", 1, 16,
                seed.unroll);
    device_slot(group, slots, "split", "blocks that share a row", 1, MOST_SPLIT, seed.split);
    open_device(&row, &seed, atoi(KEEPS[keep]), slots);
    slots_add(group, slots, "divide", "by a row's value, or times its reciprocal", DIVISIONS, 2,
              device->warp > 1 ? slots_division_is_smooth(group, 0)
                               : slots_division_may_differ(group, 0));
}

static double row_shared(const struct device_row *row)
{
    return 16.0 * row->threads +
           (double)row->threads * row->stash * row->elements * row->kept_bytes;
}

static bool row_legal(const struct skeleton_group *group, const struct plan_group *plan,
                      struct skeleton_reason *why_not)
{
    const struct skeleton_device *device = group->target->device;
    struct device_row row;
    if (!device_row_init(&row, group, loop_kernel_new(group->arena, group->part), why_not))
        return false;
    device_row_decide(&row, plan);
    double most = 1024;
    int written = (row.keep + row.unroll) * row.elements;
    if (device->unit_registers)
        most = fmin(230, (double)device->unit_registers / (row.threads * row.resident));
    if (row.is_across && !row.can_across)
        nest_refuse(why_not, "rows do not lie side by side");
    else if (row.team > row.threads)
        nest_refuse(why_not, "a block has fewer threads than a team");
    else if (row.split > 1 && !row.is_across && row.team != row.threads)
        nest_refuse(why_not, "a block that shares a row is one team");
    else if (row.cluster > 1 && (row.is_across || row.split > 1 || row.team != row.threads))
        nest_refuse(why_not, "blocks of a cluster share one row along it, each is a team");
    else if (row.resident > 1 && row.threads * row.resident > device->unit_threads)
        nest_refuse(why_not, "a multiprocessor has no more than %d threads", device->unit_threads);
    else if (row.stash && row.kept_loads != 1)
        nest_refuse(why_not, "what is stashed is one tensor, not %d", row.kept_loads);
    else if (row.stash && row_shared(&row) - 4.0 * row.threads > DEVICE_STATIC_SHARED)
        nest_refuse(why_not, "a block would stash %.0f bytes", row_shared(&row));
    else if (row.split > 1 && row.keep + row.stash > 0)
        nest_refuse(why_not, "nothing is kept from launch to launch");
    else if (row_registers(&row) > most)
        nest_refuse(why_not, "what a thread keeps would take %.0f registers", row_registers(&row));
    else if (!device->unit_registers && written > MOST_WRITTEN)
        nest_refuse(why_not, "%d elements written one by one take a processor's driver too long",
                    written);
    else if (row_shared(&row) > (double)device->shared)
        nest_refuse(why_not, "a block would take %.0f bytes of shared memory", row_shared(&row));
    else
        return true;
    return false;
}

/* What later passes read again: all that is not kept; cheaper where the last cache still has it. */
static double reread_bytes(const struct device_row *row, const struct device_launch *launch,
                           double steps)
{
    static const double from_cache = 0.4;
    const struct skeleton_device *device = row->group->target->device;
    double bytes = (double)row->rows * (double)row->length * row->load_bytes;
    int keep = row->keep + row->stash;
    double again = steps > keep ? 1 - keep / steps : 0;
    double at_once = device_resident(device, launch) * device->units / fmax(launch->blocks, 1);
    bool near = row->split == 1 && fmin(at_once, 1) * bytes < 0.7 * (double)device->cache;
    return bytes * again * (row->row.pass_count - 1) * (near ? from_cache : 1);
}

static struct skeleton_cost row_predict(const struct skeleton_group *group,
                                        const struct plan_group *plan)
{
    const struct skeleton_device *device = group->target->device;
    struct device_row row;
    struct skeleton_reason ignored = {""};
    device_row_init(&row, group, loop_kernel_new(group->arena, group->part), &ignored);
    device_row_decide(&row, plan);
    struct skeleton_cost cost = {0};
    struct device_launch launch = {
        .threads = row.threads, .registers = row_registers(&row), .shared = row_shared(&row)};
    if (row.resident == 1) /* compilers take what they are not forbidden */
        launch.registers *= 1.5;
    double points = (double)row.rows * (double)row.length, steps;
    double columns = row.is_across ? (double)nest_extent(&row.row.nest, device_row_lane(&row)) : 1;
    int lanes = row.is_across ? row.threads / row.team : row.team;
    if (row.is_across) {
        double pieces = ceil(columns / (row.team * row.elements));
        launch.blocks = pieces * (double)row.rows / fmax(columns, 1) * row.split;
        steps = (double)row.length / (lanes * row.split);
    } else {
        launch.blocks = ceil((double)row.rows * row.team / row.threads) * row.split * row.cluster;
        steps = (double)row.length / row.elements / (lanes * row.split * row.cluster);
    }
    bool kept = row.keep + row.stash >= steps;
    launch.unique = nest_bytes(&row.row.nest);
    launch.fetched = points * row.load_bytes;
    launch.bytes = device_bytes(&row.row.nest, device_row_lane(&row), points);
    launch.bytes += reread_bytes(&row, &launch, steps);
    double under_way = fmin(kept ? row.keep + row.stash : row.unroll, fmax(steps, 1));
    launch.in_flight = under_way * row.elements * fmax(row.load_bytes, 2);
    static const double wide_operation = 4; /* in those on f32: half as many units, conversions */
    double wide = 0;
    for (int i = 0; i < group->stage_count; i++) {
        double operations = nest_operations(&row.row.nest, row.row.stages[i].stage);
        cost.operations += operations;
        wide += is_wide(&row.row.stages[i]) ? operations * (wide_operation - 1) : 0;
    }
    /* what teams do besides elements: threads that have none, and combining */
    double threads = launch.blocks * row.threads, waste = steps < 1 ? 1 / steps : 1;
    double meeting = threads * row.row.stage_count * 12 * log2(lanes + 1);
    double guards = row.is_known ? 1 + 6.0 / row.elements : 3 + 20.0 / row.elements;
    launch.operations = (cost.operations + wide) * waste + points * guards + meeting;
    cost.bytes = launch.bytes;
    cost.vectors = (int)launch.registers;
    cost.seconds = device_seconds(device, &launch);
    /* one wave of blocks waits for each row from the first byte to the last */
    double wait = steps * 60e-9 / fmax(under_way, 1) + 1e-6;
    cost.seconds = fmax(cost.seconds, device->launch + wait);
    if (row.split > 1)
        cost.seconds += row.row.pass_count * device->launch + 1e-6;
    return cost;
}

const struct skeleton skeleton_device_row = {
    .name = "row",
    .note = "reductions and what hangs on them, rows shared by teams of threads",
    .match = row_match,
    .open = row_open,
    .legal = row_legal,
    .predict = row_predict,
    .lower = device_row_lower,
};
