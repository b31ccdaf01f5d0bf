/*
 * Timing. The unit of repetition is a launch: in every round each contestant is started afresh, so
 * that what differs from launch to launch (addresses, pages, luck) is part of the interval and not
 * hidden in it.
 *
 * What all contestants of a round can have in common, they have: the buffers, down to the very
 * pages, and the moment. Their batches (seat.c) take turns, in random order, a few milliseconds
 * apart, so that a slow stretch of the machine hits all of them. What a round contributes is the
 * ratio of their low times. Intervals are over rounds.
 */
#include "judge/contest.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge/command.h"
#include "judge/refresh.h"
#include "judge/seat.h"
#include "os/lock.h"
#include "os/os.h"

enum {
    WARM_BATCHES = 2, /* per launch, not counted */
    LEAST_TURNS = 5,
    FEW_TURNS = 3, /* where there is no time for more */
    MOST_TURNS = 64,
    COST_ROUNDS = 3,
    CUT_ROUNDS = 2, /* before a loser may be left out */
    COLD_BYTES = 8 << 20,
    LONG_ROUNDS = 4,        /* that a cell of a device lives where calls are long: try_launch */
    FEW_ROUNDS = 4,         /* will do where many take many times the seconds there are, or where a
                             * baseline is far behind */
    HASTY_ROUNDS = 3,       /* the least in haste */
    OVERTIME = 4,           /* so many times */
    DRAWN_ROOM = 512 << 20, /* bytes of the slots of a batch, where a device makes the inputs */
};

static const double cut_ratio = 1.3; /* slower than the leader by at least this, with certainty */
static const double hasty_ratio = 1.03; /* the same in haste */
static const double rest_ratio = 3;     /* a baseline that is so much slower is known well enough */
/*
 * Of the fastest contestant's batches in a round, at least. Launching takes some 2 ms of each, and
 * what differs from launch to launch only more launches make up for; but how low the low end of a
 * few batches is differs more. So the rounds that everybody plays are short, which is enough for
 * losers and for what is steady, and those after them long (docs/results/judge-timing.md).
 */
static const double round_seconds = 3e-3, late_round_seconds = 6e-3;
static const double batch_seconds = 3e-4; /* the length of one of them where there are calls */
static const double fair_seconds = 0.4;   /* after which somebody without patience is content */
static const double fair_width = 0.04;    /* with an interval of this width */
static const double small_share = 0.1;    /* of a batch: what starting costs, if not to follow */
static const double most_cost = 0.9;   /* of a batch: more is a disturbance of the empty kernel's */
static const double long_call = 5e-5;  /* on a device: no longer a matter of where things lie */
static const double slow_call = 0.1;   /* so long that one makes a round */
static const double hasty_call = 1e-3; /* so long that one warms up, in haste */
static const double hasty_turn = 5e-3; /* so long that two are enough */

/* The contest as it goes on. The last seat is the empty kernel's. */
struct round {
    const struct contest *contest;
    struct standing *standings;
    struct random *random;
    const char *runner;
    struct worker buffers; /* for all rounds; where in the files they lie differs */
    struct launch launch;
    struct launch_result ignored;
    struct seat seats[CONTEST_MAX + 1];
    bool seated[CONTEST_MAX + 1]; /* takes part in this round */
    double seconds[CONTEST_MAX + 1][MOST_TURNS];
    double device[CONTEST_MAX + 1][MOST_TURNS]; /* the same by the clock of the device */
    int number, calls, turns, turn;
    int turns_of[CONTEST_MAX + 1]; /* the first so many of them are its own */
    bool hasty;
    bool behind[CONTEST_MAX + 1]; /* in haste: so far that one turn will do */
    double call_seconds;          /* of the fastest contestant, in the round before */
    double cost;                  /* of starting and stopping, in this round */
    double costs[CONTEST_MOST_ROUNDS];
    bool cost_is_small; /* so that it was measured often enough */
    double start;       /* when the first began */
    double outside;     /* seconds of external programs, which are not charged to the others */
};

/* ---- what a batch is made of ---- */

static double call_bytes(const struct ir_binding *binding)
{
    const struct ir_part *part = binding->part;
    double bytes = 1;
    for (int i = 0; i < part->tensor_count; i++)
        if (part->tensors[i].role == IR_TENSOR_INPUT || part->tensors[i].role == IR_TENSOR_OUTPUT)
            bytes += (double)ir_tensor_shape(binding, i, NULL) *
                     (double)dtype_bytes(part->tensors[i].dtype);
    return bytes;
}

static int clamp(double value, int least, int most)
{
    return value < least ? least : value > most ? most : (int)value;
}

int contest_slots(const struct contest *contest)
{
    const struct ir_part *part = contest->binding->part;
    if (contest->sampling && contest->empty_device)
        return clamp(DRAWN_ROOM / call_bytes(contest->binding), 1, CELL_MAX_DRAWN_SLOTS);
    long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    double room = cache > 0 ? (double)cache / 2 : 512 << 10;
    if (contest->cold)
        room = COLD_BYTES;
    double fits = room / call_bytes(contest->binding);
    double most = CELL_MAX_REGIONS / (part->input_count + part->output_count + 1);
    if (most > CELL_MAX_SLOTS)
        most = CELL_MAX_SLOTS;
    int least = contest->sampling ? 1 : 2; /* memory may be scarce then */
    return clamp(fits, least, (int)most);
}

/* ---- what is written down ---- */

static const char *name_of(const struct contest *contest, int c)
{
    return c == contest->count ? "empty" : contest->contestants[c].name;
}

/* One line of the samples: launches and batches as they happen. */
static void write_down(const struct round *round, const char *what, int c, int calls, double start,
                       double seconds)
{
    if (round->contest->samples)
        fprintf(round->contest->samples, "%d\t%s\t%d\t%.9f\t%.9f\t%s\n", round->number, what, calls,
                start - round->start, seconds, name_of(round->contest, c));
}

/* ---- a round ---- */

static bool fail(struct round *round, int c, const struct seat_board *board)
{
    bool is_empty = c == round->contest->count;
    struct standing *standing = &round->standings[is_empty ? 0 : c];
    standing->outcome = is_empty || !board ? OUTCOME_JUDGE_FAULT : board->outcome;
    snprintf(standing->message, sizeof standing->message, "%.199s",
             board ? board->message : "no memory for a launch");
    return false;
}

static void shuffle(struct random *random, int *order, int count)
{
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int k = (int)random_below(random, (uint64_t)i + 1), kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
}

/*
 * A worker lives through all rounds where its cells can leave nothing behind, else through one. So
 * it does where the buffers are large and lie in the same place in every round: kernels that are
 * bound by memory were up to 3 % faster beside one worker than beside another, for as long as both
 * lived, and what differs from launch to launch belongs into the interval. The driver of a device
 * takes long to start; kernels that are not short do not differ from launch to launch there.
 */
static bool try_launch(struct round *round, int c)
{
    const struct contest *contest = round->contest;
    const struct contestant *first = &contest->contestants[0];
    const struct contestant empty = {.name = "empty",
                                     .library =
                                         contest->empty_device ? first->library : contest->empty,
                                     .directory = first->directory,
                                     .device = contest->empty_device,
                                     .is_empty = true};
    struct seat *seat = &round->seats[c];
    int rounds = round->call_seconds > long_call ? LONG_ROUNDS : 1;
    if (seat->worker > 0 && contest->empty_device && round->number % rounds != 0)
        return true;
    if (seat->worker > 0 && (!seat->board->may_launch || round->buffers.room == 1))
        seat_leave(seat);
    bool taken = seat->worker > 0 ||
                 seat_take(seat, contest, c == contest->count ? &empty : &contest->contestants[c],
                           &round->buffers, round->runner);
    return taken && seat_launch(seat, random_u64(round->random));
}

/* A kernel that has been loaded before is given a second chance to be. */
static bool launch(struct round *round, int c)
{
    struct seat *seat = &round->seats[c];
    double start = clock_seconds();
    bool good = try_launch(round, c);
    write_down(round, "launch", c, 0, start, clock_seconds() - start);
    if (good)
        return true;
    if (seat->board && seat->board->not_loaded) {
        seat_leave(seat);
        if (try_launch(round, c))
            return true;
    }
    return fail(round, c, seat->board);
}

/* Where the buffers lie in this round: the same place for all. */
static void choose_place(struct round *round)
{
    struct worker *buffers = &round->buffers;
    size_t spare = buffers->room - 1;
    buffers->control->input_base =
        PAGE * random_below(round->random, spare * buffers->input_bytes / PAGE + 1);
    buffers->control->output_base =
        PAGE * random_below(round->random, spare * buffers->output_bytes / PAGE + 1);
}

/* External programs rest after a few rounds: a ratio is over the rounds both took part in. */
static bool takes_part(const struct round *round, int c)
{
    const struct standing *standing = &round->standings[c];
    return !standing->cut &&
           !(round->contest->contestants[c].command &&
             standing->rounds >=
                 (round->contest->empty_device ? COMMAND_STAYING_ROUNDS : COMMAND_ROUNDS));
}

static bool take_seats(struct round *round)
{
    int order[CONTEST_MAX + 1], empty = round->contest->count;
    shuffle(round->random, order, empty + 1);
    choose_place(round);
    for (int i = 0; i <= empty; i++) {
        int c = order[i];
        round->seated[c] = c == empty ? !round->cost_is_small : takes_part(round, c);
        if (c < empty && round->contest->contestants[c].command)
            continue; /* it has no cell: see play_outside */
        if (!round->seated[c])
            seat_leave(&round->seats[c]);
        else if (!launch(round, c))
            return false;
    }
    return true;
}

/* Everybody once, in random order; seconds[] are theirs. */
static bool play_turn(struct round *round, int calls, bool counts, double *seconds,
                      double *by_device)
{
    int order[CONTEST_MAX + 1], count = round->contest->count + 1;
    shuffle(round->random, order, count);
    for (int i = 0; i < count; i++) {
        int c = order[i];
        bool waits = counts ? round->turn >= round->turns_of[c] : round->behind[c];
        if (!round->seated[c] || round->seats[c].worker <= 0 || waits)
            continue;
        double start = clock_seconds();
        if (!seat_play(&round->seats[c], calls, counts))
            return fail(round, c, round->seats[c].board);
        seconds[c] = round->seats[c].board->seconds;
        write_down(round, counts ? "batch" : "warm", c, calls, start, seconds[c]);
        if (by_device)
            by_device[c] = round->seats[c].board->device_seconds;
        double device = round->seats[c].board->device_seconds / calls;
        if (counts && c < round->contest->count && device > 0) {
            double *best = &round->standings[c].device;
            *best = *best > 0 ? fmin(*best, device) : device;
        }
    }
    return true;
}

/* The fastest of those that take part, and all of them together. */
static void survey(const struct round *round, const double *seconds, double *fastest, double *all)
{
    *fastest = INFINITY;
    *all = 0;
    for (int c = 0; c < round->contest->count; c++)
        if (round->seated[c] && !round->contest->contestants[c].command && !round->behind[c]) {
            *fastest = fmin(*fastest, seconds[c]);
            *all += seconds[c];
        }
}

/* The least of a few turns, where they are short: one that was disturbed would have batches too
 * short for all rounds. */
static bool try_calls(struct round *round, int calls, double *least)
{
    enum { TRIES = 3 };
    static const double short_turn = 5e-3;
    double fastest = 0, all;
    for (int i = 0; i < TRIES && fastest < short_turn; i++) {
        double seconds[CONTEST_MAX + 1] = {0};
        if (!play_turn(round, calls, false, seconds, NULL))
            return false;
        for (int c = 0; c <= round->contest->count; c++)
            least[c] = i == 0 ? seconds[c] : fmin(least[c], seconds[c]);
        survey(round, seconds, &fastest, &all);
    }
    return true;
}

/*
 * By the calls of the first trial: haste is for calls that take long, and for those with threads,
 * beside which nothing else is done. With one thread short ones are timed while others are
 * compiled, and that takes longer.
 */
static void settle_haste(struct round *round, const double *seconds)
{
    static const double far = 3, long_enough = 1e-4;
    const struct contest *contest = round->contest;
    double fastest, all;
    survey(round, seconds, &fastest, &all);
    round->hasty = contest->hasty && (contest->threads > 1 || round->call_seconds > long_enough);
    for (int c = 0; round->hasty && c < contest->count; c++)
        round->behind[c] = seconds[c] > far * fastest;
}

/*
 * First one call, which is not warm and may be slow; from it, how many make a batch; from a batch,
 * how many turns make a round.
 */
static bool warm_up(struct round *round)
{
    const struct contest *contest = round->contest;
    double seconds[CONTEST_MAX + 1] = {0}, fastest, all;
    if (round->calls == 0) {
        for (int trial = 1; trial <= round->buffers.slots; trial *= 4) {
            if (!try_calls(round, trial, seconds))
                return false;
            survey(round, seconds, &fastest, &all);
            round->call_seconds = fastest / trial;
            double cost = fmin(seconds[contest->count], most_cost * fastest);
            round->calls =
                clamp(batch_seconds / ((fastest - cost) / trial), 1, round->buffers.slots);
            if (round->calls <= 4 * trial)
                break;
        }
        settle_haste(round, seconds);
    }
    bool short_warm = round->call_seconds > (round->hasty ? hasty_call : slow_call);
    int warm = short_warm ? 1 : WARM_BATCHES;
    for (int b = 0; b < warm; b++)
        if (!play_turn(round, round->calls, false, seconds, NULL))
            return false;
    survey(round, seconds, &fastest, &all);
    double share = contest->seconds / CONTEST_LEAST_ROUNDS;
    double length = round->number < CONTEST_LEAST_ROUNDS ? round_seconds : late_round_seconds;
    int few = fastest > slow_call ? 1 : round->hasty && fastest > hasty_turn ? 2 : FEW_TURNS;
    round->turns = clamp(length / fastest, round->hasty ? few : LEAST_TURNS, MOST_TURNS);
    if (round->turns * all > share)
        round->turns = clamp(share / all, few, round->turns);
    for (int c = 0; c <= contest->count; c++)
        round->turns_of[c] = round->behind[c] ? 1 : round->turns;
    return true;
}

/* What starting and stopping costs; where that is little it is followed for some rounds only. */
static void settle_cost(struct round *round)
{
    int empty = round->contest->count;
    if (!round->cost_is_small) {
        double fastest = INFINITY;
        for (int c = 0; c < empty; c++)
            if (round->seated[c] && !round->contest->contestants[c].command)
                fastest = fmin(fastest, interval_low(round->seconds[c], round->turns_of[c]));
        round->costs[round->number] = interval_low(round->seconds[empty], round->turns_of[empty]);
        round->cost = statistics_median(round->costs, (size_t)round->number + 1);
        round->cost_is_small =
            round->number + 1 >= COST_ROUNDS && round->cost < small_share * fastest;
        if (!round->cost_is_small) /* then that of this very round is subtracted */
            round->cost = round->costs[round->number];
    }
}

/*
 * The time of a call. The clock of a device is the finer one where device code cannot reach it:
 * what starting and stopping costs is not in it, and is more than a short kernel takes. It is taken
 * unless the host's says that there was clearly more.
 */
static double lap_of(const struct round *round, int c)
{
    static const double share = 0.1, slack = 30e-6;
    int turns = round->turns_of[c];
    double low = interval_low(round->seconds[c], turns);
    double host = low - fmin(round->cost, most_cost * low);
    const struct launch_device *device = round->contest->empty_device;
    bool told = device && device->target->sure_clock;
    for (int t = 0; told && t < turns; t++)
        told = round->device[c][t] > 0;
    double own = told ? interval_low(round->device[c], turns) : 0;
    if (told && host <= own * (1 + share) + slack)
        host = own;
    return fmax(host / round->calls, 1e-10);
}

/* How far the usual batch of a launch is above its low ones: what the machine did beside it. */
static double noise_of(const struct round *round, int c)
{
    if (round->contest->contestants[c].command)
        return 0;
    double usual = statistics_median(round->seconds[c], (size_t)round->turns_of[c]);
    return usual / interval_low(round->seconds[c], round->turns_of[c]) - 1;
}

static void score(struct round *round, double *laps)
{
    int count = round->contest->count;
    settle_cost(round);
    for (int c = 0; c < count; c++)
        if (round->seated[c] && !round->contest->contestants[c].command)
            laps[c] = lap_of(round, c);
    for (int c = 0; c < count; c++) {
        struct standing *standing = &round->standings[c];
        if (!round->seated[c])
            continue;
        standing->laps[standing->rounds] = laps[c];
        standing->noise[standing->rounds] = noise_of(round, c);
        for (int d = 0; d < count; d++)
            if (round->seated[d])
                standing->ratios[d][standing->rounds] = laps[c] / laps[d];
    }
    for (int c = 0; c < count; c++)
        round->standings[c].rounds += round->seated[c];
}

/* Programs outside measure themselves. */
static bool play_outside(struct round *round, double *laps)
{
    for (int c = 0; c < round->contest->count; c++) {
        struct command *command = round->contest->contestants[c].command;
        struct command_lap found;
        if (!round->seated[c] || !command)
            continue;
        double start = clock_seconds();
        command_launch(command, &found);
        round->outside += clock_seconds() - start;
        round->standings[c].spent += clock_seconds() - start;
        write_down(round, "program", c, 1, start, found.seconds);
        laps[c] = fmax(found.seconds, 1e-10);
        if (found.outcome == OUTCOME_OK)
            continue;
        round->standings[c].outcome = found.outcome;
        snprintf(round->standings[c].message, sizeof round->standings[c].message, "%.199s",
                 found.message);
        return false;
    }
    return true;
}

static bool play_round(struct round *round)
{
    double laps[CONTEST_MAX] = {0};
    if (!take_seats(round) || !warm_up(round))
        return false;
    for (int t = 0; t < round->turns; t++) {
        double seconds[CONTEST_MAX + 1] = {0}, device[CONTEST_MAX + 1] = {0};
        round->turn = t;
        if (!play_turn(round, round->calls, true, seconds, device))
            return false;
        for (int c = 0; c <= round->contest->count; c++) {
            round->seconds[c][t] = seconds[c];
            round->device[c][t] = device[c];
        }
    }
    if (!play_outside(round, laps))
        return false;
    score(round, laps);
    round->call_seconds = INFINITY;
    for (int c = 0; c < round->contest->count; c++)
        if (round->seated[c] && !round->contest->contestants[c].command)
            round->call_seconds = fmin(round->call_seconds, laps[c]);
    round->number++;
    return true;
}

/* ---- standings ---- */

struct interval contest_ratio(const struct standing *standings, int a, int b)
{
    int rounds =
        standings[a].rounds < standings[b].rounds ? standings[a].rounds : standings[b].rounds;
    return interval_of_logs(standings[a].ratios[b], rounds);
}

struct interval contest_seconds(const struct standing *standing)
{
    return interval_of_logs(standing->laps, standing->rounds);
}

/* The fastest of the judged kernels so far. */
static int leader(const struct contest *contest, const struct standing *standings)
{
    int best = 0;
    for (int c = 1; c < contest->judged; c++)
        if (!standings[c].cut &&
            (standings[best].cut || contest_ratio(standings, c, best).middle < 1))
            best = c;
    return best;
}

/*
 * Whether somebody behind the leader has played enough to be left out: the ratio of a baseline is
 * what is told about a kernel, unless that is known of the champion.
 */
static bool may_leave(const struct round *round, int number)
{
    bool told = number >= round->contest->judged && !round->contest->champion;
    return round->standings[number].rounds >= (told ? FEW_ROUNDS : CUT_ROUNDS);
}

/* Leaves out who cannot win any more; the widest interval of those that remain. */
static double take_stock(const struct round *round)
{
    const struct contest *contest = round->contest;
    struct standing *standings = round->standings;
    int best = leader(contest, standings);
    double widest = 0;
    for (int c = 0; c < contest->count; c++) {
        if (c == best || !takes_part(round, c))
            continue;
        struct interval ratio = contest_ratio(standings, c, best);
        if (may_leave(round, c) &&
            interval_is_behind(standings[c].ratios[best], standings[c].rounds,
                               c >= contest->judged ? rest_ratio
                               : round->hasty       ? hasty_ratio
                                                    : cut_ratio))
            standings[c].cut = true, standings[c].ahead = best;
        else
            widest = fmax(widest, ratio.high / ratio.low - 1);
    }
    return widest;
}

/* Everybody who is new has lost: how a known champion compares with baselines is known. */
static bool is_settled(const struct round *round)
{
    bool settled = round->contest->champion && round->number >= CUT_ROUNDS;
    for (int c = 1; settled && c < round->contest->judged; c++)
        settled = round->standings[c].cut;
    return settled && !round->standings[0].cut;
}

static void say_waiting(void *context)
{
    (void)context;
    log_warn("another smelt is timing on this machine; waiting for it");
    event("judge", event_string("doing", "waiting: another smelt is timing on this machine"));
}

/* All that take part are on one core: handing over is quickest there. False: it stays as it was. */
static bool pin_to_one_core(cpu_set_t *before)
{
    cpu_set_t one;
    if (sched_getaffinity(0, sizeof *before, before) != 0)
        return false;
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
        if (CPU_ISSET(cpu, before)) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            return sched_setaffinity(0, sizeof one, &one) == 0;
        }
    return false;
}

static void play_rounds(struct round *round)
{
    const struct contest *contest = round->contest;
    bool makes_inputs = contest->sampling && contest->empty_device;
    round->start = clock_seconds();
    round->buffers = (struct worker){.launch = &round->launch,
                                     .part = contest->binding->part,
                                     .result = &round->ignored,
                                     .slots = contest_slots(contest),
                                     .packed = true,
                                     .drawn = makes_inputs ? contest->pool->drawn->bytes : 0};
    for (int c = 0; c <= contest->count; c++)
        round->seats[c] = (struct seat){.line = -1};
    bool good = worker_make_buffers(&round->buffers) || fail(round, 0, NULL);
    if (good)
        round->buffers.control->cold = contest->cold;
    if (good && makes_inputs)
        worker_take_drawn(&round->buffers, contest->pool->drawn);
    else if (good && contest->sampling)
        refresh_first(contest->pool, &round->buffers, round->random);
    while (good && round->number < CONTEST_MOST_ROUNDS && (good = play_round(round))) {
        double width = round->number >= CUT_ROUNDS ? take_stock(round) : INFINITY;
        double spent = clock_seconds() - round->start - round->outside;
        bool enough = width <= contest->width ||
                      (!contest->patient && spent > fair_seconds && width <= fair_width);
        int least = round->hasty                          ? HASTY_ROUNDS
                    : spent > OVERTIME * contest->seconds ? FEW_ROUNDS
                                                          : CONTEST_LEAST_ROUNDS;
        if (is_settled(round) || (round->number >= least && (enough || spent > contest->seconds)))
            break;
    }
    for (int c = 0; c <= contest->count; c++)
        seat_leave(&round->seats[c]);
    worker_release_buffers(&round->buffers);
}

bool contest_run(const struct contest *contest, struct standing *standings, struct error *error)
{
    struct arena arena = {0};
    const char *runner = launch_find_runner(&arena);
    if (!runner || contest->count > CONTEST_MAX) {
        arena_release(&arena);
        return error_set(error, ERROR_MISSING_TOOL, "the runner 'smelt-cell' is not found");
    }
    sandbox_available();
    int lock = lock_timing_begin(say_waiting, NULL);
    struct random random = random_new(contest->seed, 9);
    int64_t scratch = 0;
    for (int c = 0; c < contest->count; c++) {
        standings[c] = (struct standing){.outcome = OUTCOME_OK};
        if (contest->contestants[c].scratch > scratch)
            scratch = contest->contestants[c].scratch;
    }
    static struct round round;
    round = (struct round){.contest = contest,
                           .standings = standings,
                           .random = &random,
                           .runner = runner,
                           .launch = {.binding = contest->binding,
                                      .scratch = scratch,
                                      .threads = contest->threads,
                                      .seconds = contest->call_seconds,
                                      .device = contest->empty_device,
                                      .layers = ~0U}};
    cpu_set_t before;
    bool pinned = contest->threads == 1 && pin_to_one_core(&before);
    play_rounds(&round);
    if (pinned)
        sched_setaffinity(0, sizeof before, &before);
    lock_timing_end(lock);
    arena_release(&arena);
    return true;
}
