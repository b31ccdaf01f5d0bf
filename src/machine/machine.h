/*
 * machine: what is known of the device in front of us.
 *
 * Two things, kept apart. `struct machine` is read from the system and never measured: it is the
 * same from call to call, and its signature says whether rates measured earlier still hold.
 * `struct rates` is measured by machine_probe. Rates are ceilings: of many short runs the best is
 * kept, over all probes ever made on a machine with this signature, because what disturbs a
 * measurement only ever makes it slower. Floors for kernels follow from them.
 *
 * All structs are plain values: nothing in them points anywhere.
 */
#ifndef SMELT_MACHINE_MACHINE_H
#define SMELT_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/* ---- what the system tells ---- */

enum machine_set { /* instruction sets: a bit mask in struct machine */
                   MACHINE_SSE2,
                   MACHINE_AVX2, /* with FMA, which every processor with AVX2 that matters has */
                   MACHINE_AVX512F,
                   MACHINE_AVX512_BF16,
                   MACHINE_AVX512_FP16,
                   MACHINE_AVX512_VNNI,
                   MACHINE_AMX_BF16,
                   MACHINE_AMX_INT8,
                   MACHINE_NEON,
                   MACHINE_SET_COUNT,
};

enum machine_level { MACHINE_L1, MACHINE_L2, MACHINE_L3, MACHINE_MEMORY, MACHINE_LEVEL_COUNT };

enum { MACHINE_CACHES = MACHINE_MEMORY, MACHINE_THREADS = 1024, MACHINE_SIGNATURE = 1024 };

struct machine_cache {
    int64_t bytes; /* of one instance; 0: there is none, or the system does not tell */
    int shared_by; /* processors that share one instance; at least 1 */
};

struct machine {
    char architecture[16]; /* "x86_64" */
    char model[96];        /* "Intel(R) Xeon(R) ..."; control characters replaced */
    char stepping[64];     /* "family 25 model 17 stepping 1", or "" */
    char microcode[32];
    char kernel[96];   /* of the operating system: "6.1.0-18-amd64" */
    int online;        /* processors that are switched on */
    int allowed;       /* of these, those this process may run on (affinity) */
    char affinity[96]; /* "0-3,8"; ends with ",..." when it is longer */
    double quota;      /* processors' worth of time its control group grants; 0: no limit */
    int threads;       /* what is worth starting: the least of the above, at least 1 */
    uint32_t sets;     /* 1 << enum machine_set */
    struct machine_cache caches[MACHINE_CACHES];
    int64_t page_bytes, memory_bytes; /* memory: of the machine, or its control group's limit */
    char governor[32];                /* of the clock frequency: "performance"; "" when not told */
    int siblings;                     /* 2: two threads share a core; 0 when not told */
    char id[17];                      /* of the signature */
};

/*
 * Looks; never fails: what the system does not tell stays 0 or "". `root` is put before /proc and
 * /sys ("" for the real ones), so that tests can describe machines they do not have. Ask before
 * changing the affinity of this process: it is part of the signature.
 */
void machine_describe(struct machine *machine, const char *root);

/* What its driver tells of a device; "" and 0: not told. */
struct machine_device {
    const char *target, *model, *version, *architecture; /* "cuda", "NVIDIA H200", ... */
    int units;
    int64_t cache_bytes, memory_bytes;
};
/*
 * A device as a machine: one thread is all of it, L1 is the memory its blocks share, which holds
 * nothing when a kernel begins, L2 the cache of all units. Its rates are kept like those of others.
 */
void machine_describe_device(struct machine *machine, const struct machine_device *device);
bool machine_has(const struct machine *machine, enum machine_set set);
const char *machine_set_name(enum machine_set set);       /* "avx512f" */
const char *machine_level_name(enum machine_level level); /* "L1", "memory" */
/*
 * Everything that rates depend on, one "key value" per line: model, microcode, kernel, processors,
 * affinity, quota, instruction sets, caches. machine.id is its hash. `out` has MACHINE_SIGNATURE
 * bytes.
 */
void machine_signature(char *out, const struct machine *machine);

/* ---- what is measured ---- */

enum machine_mix { /* kinds of traffic; a copy counts what it reads and what it writes */
                   MACHINE_READ,
                   MACHINE_WRITE,
                   MACHINE_COPY,
                   MACHINE_STREAM_WRITE, /* non-temporal stores: past the caches; measured in memory
                                            only */
                   MACHINE_STREAM_COPY,
                   MACHINE_ROWS,       /* rows of 4 KiB normalised; in memory, by one thread */
                   MACHINE_ROWS_AHEAD, /* the same, told what is read three rows further on */
                   MACHINE_MIX_COUNT,
};

enum machine_unit { /* what computes */
                    MACHINE_UNIT_SCALAR,
                    MACHINE_UNIT_SSE2,
                    MACHINE_UNIT_AVX2,
                    MACHINE_UNIT_AVX512,
                    MACHINE_UNIT_AMX,
                    MACHINE_UNIT_NEON,
                    MACHINE_UNIT_DEVICE, /* all of a device, by multiply-adds of its threads */
                    MACHINE_UNIT_COUNT,
};

enum machine_number { /* kinds of operands; f16, bf16 and i8 accumulate in something wider or not */
                      MACHINE_F64,
                      MACHINE_F32,
                      MACHINE_F16,
                      MACHINE_BF16,
                      MACHINE_I8,
                      MACHINE_NUMBER_COUNT,
};

enum machine_crew { MACHINE_ONE, MACHINE_ALL, MACHINE_CREW_COUNT }; /* one thread, or all */

/* 0 is "not measured" throughout. */
struct rates {
    /* bytes per second; with all threads only in memory */
    double bandwidth[MACHINE_CREW_COUNT][MACHINE_LEVEL_COUNT][MACHINE_MIX_COUNT];
    /* operations per second; a multiply-add is two */
    double compute[MACHINE_CREW_COUNT][MACHINE_UNIT_COUNT][MACHINE_NUMBER_COUNT];
    double latency[MACHINE_LEVEL_COUNT]; /* seconds per dependent load */
    double call;                         /* seconds per call through a pointer */
};

const char *machine_mix_name(enum machine_mix mix);          /* "read", "stream-copy" */
const char *machine_unit_name(enum machine_unit unit);       /* "avx512" */
const char *machine_number_name(enum machine_number number); /* "f32" */
const char *machine_crew_name(enum machine_crew crew);       /* "one", "all" */
/* By the name of a type of the op language, such as "bf16". False when nothing is measured for it.
 */
bool machine_number_parse(const char *name, enum machine_number *number);

struct machine_probe {
    bool quick;                                      /* a tenth of the time, less certain */
    void (*progress)(void *context, const char *at); /* or NULL; called before each stage */
    void *context;
};

/*
 * Measures this machine, some seconds. Takes no lock: whoever calls it holds the timing lock
 * (os/lock.h). False only when memory to measure with could not be had.
 */
bool machine_probe(const struct machine *machine, const struct machine_probe *probe,
                   struct rates *rates, struct error *error);

/* The better of both in each place, into `best`. True when `seen` improved anything. */
bool machine_rates_merge(struct rates *best, const struct rates *seen);

/* ---- what is kept ---- */

enum machine_kept { MACHINE_KEPT_NONE, MACHINE_KEPT_GOOD, MACHINE_KEPT_DAMAGED };

enum { MACHINE_KEPT_BYTES = 64 << 10 }; /* a longer file is damaged */

/* The text form: the signature, one rate per line, a checksum. */
void machine_rates_print(struct text *out, const struct machine *machine,
                         const struct rates *rates);
/* DAMAGED when the text is not whole, or is of another machine; rates are then all 0. */
enum machine_kept machine_rates_parse(const char *text, size_t length,
                                      const struct machine *machine, struct rates *rates);

/* Lines "NAME VALUE" as others measured them; what is not understood is left out. True when there
 * was any rate among them. */
bool machine_rates_take(const char *lines, struct rates *rates);

/* Where rates of this machine are kept, below the cache directory; in the arena. NULL: error. */
char *machine_rates_path(struct arena *arena, const struct machine *machine, struct error *error);
/* What was kept. A file that cannot be read counts as NONE. */
enum machine_kept machine_rates_load(struct arena *arena, const struct machine *machine,
                                     struct rates *rates);
/* Replaces what is kept, whole or not at all. */
bool machine_rates_save(struct arena *arena, const struct machine *machine,
                        const struct rates *rates, struct error *error);
/*
 * Load, merge `seen`, save, with others kept out meanwhile. `best` is what is known now, also when
 * it could not be saved. *before says what was found (a damaged file is replaced); may be NULL.
 */
bool machine_rates_keep(struct arena *arena, const struct machine *machine,
                        const struct rates *seen, struct rates *best, enum machine_kept *before,
                        struct error *error);

/* ---- atoms and precision schemes (atoms.c) ---- */

/* Instructions that multiply operands narrower than what they sum in. */
enum machine_atom_number {
    MACHINE_BF16_DOT,
    MACHINE_I8_DOT,
    MACHINE_BF16_TILE,
    MACHINE_I8_TILE,
    MACHINE_ATOM_COUNT,
};

struct machine_atom {
    const char *name; /* in plans: "dot", "tile" */
    const char *note;
    enum machine_unit unit; /* that the probe measures */
    enum machine_number operands;
    enum machine_set set;
    int word;       /* operands in the 4 bytes that go to one lane */
    int terms;      /* summed by one instruction */
    int rows;       /* of results one instruction adds to */
    double typical; /* operations per core and second, where none were measured */
};

extern const struct machine_atom machine_atoms[MACHINE_ATOM_COUNT];

/*
 * f32 as the sum of parts in bf16, each the nearest to what the parts before leave. Of the products
 * of parts those are computed whose numbers, counted from 0, add up to less than there are parts:
 * 1 of 1, 3 of 4, 6 of 9.
 */
struct machine_scheme {
    const char *name; /* in plans: "bf16x6", after the products */
    int parts;
    int bits; /* of an operand that are kept: enough for accuracy classes of no more */
};

extern const struct machine_scheme machine_schemes[]; /* most accurate first; ends with NULL */
const struct machine_scheme *machine_scheme_find(const char *name);
int machine_scheme_products(int parts);
/* Significant bits of an accuracy class or type, such as "tf32"; of others and `exact`, 64. */
int machine_class_bits(const char *name);

/* ---- floors ---- */

/* What a kernel must at least do. */
struct machine_work {
    double read_bytes, write_bytes; /* each tensor once */
    double operations;              /* as the op is written; clever algebra may need fewer */
    enum machine_number number;     /* the accuracy that is asked for */
    int threads;                    /* the kernel may use; 0 counts as 1 */
    bool cold;                      /* inputs are in no cache when it starts */
};

struct machine_floor {
    double memory, compute, seconds; /* seconds is the larger; 0: nothing is known */
};

/* What no kernel can beat, as far as the rates go. */
struct machine_floor machine_floor(const struct machine *machine, const struct rates *rates,
                                   const struct machine_work *work);
/* The same as one number. */
double machine_floor_seconds(const struct machine *machine, const struct rates *rates,
                             const struct machine_work *work);
/* `bytes` over the fastest store rate of any kind seen anywhere: less cannot be honest. */
double machine_store_seconds(const struct rates *rates, double bytes, int threads);

/* ---- how quiet it is ---- */

enum { MACHINE_NOISE_RUNS = 50 };

/* A fixed stretch of arithmetic of about a millisecond, run again and again. */
struct machine_noise {
    double fastest, median, p95; /* seconds */
    double spread;               /* p95 / median - 1 */
    double slowdown;             /* median / fastest - 1 */
};

void machine_noise(struct machine_noise *noise);

#endif
