/*
 * `smelt export`: a winner and its fallback as C that stands alone.
 */
#ifndef SMELT_CMD_EXPORTED_H
#define SMELT_CMD_EXPORTED_H

#include "cmd/planned.h"
#include "kernel/kernel.h"
#include "store/store.h"

enum {
    EXPORT_VARIANTS = 64,       /* kernels of one table */
    EXPORT_ELEMENTS = 1 << 16,  /* of the example's tensors, where sizes can be made smaller */
    EXPORT_DATA_MOST = 1 << 28, /* bytes of the example's data */
};

struct export_variant {
    const char *source;
    const struct kernel *kernel;
    struct candidate candidate; /* id 0: the fallback */
    const char *holds;          /* "D == 1024", or "" */
};

struct export
{
    struct arena *arena;
    const char *name; /* a C identifier, of the task */
    const char *folder;
    const struct task *task;
    const struct ir_part *part;
    const struct ir_program *program;
    const char *ending; /* of kernels for a device: "cl", "cu"; NULL: C for the CPU */
    struct run run;
    struct export_variant variants[EXPORT_VARIANTS]; /* the fallback last */
    int variant_count;
    /* of the example */
    struct ir_binding *binding;
    const struct task_case *task_case;
    int64_t data_bytes;
};

/* C names of tensors, sizes and scalars, each once (export_code.c). */
struct export_names {
    const char **tensors, **sizes, **scalars; /* by number in the part */
};
struct export_names export_names(struct arena *arena, const struct ir_part *part);
const char *export_identifier(struct arena *arena, const char *name);
const char *export_type(enum dtype dtype); /* "float"; types C lacks are their bits */

void export_header(const struct export *export, struct text *out);
void export_table(const struct export *export, struct text *out);
/* One file per variant that gives its `kernel` a name of its own. */
void export_wrapper(const struct export *export, int variant, struct text *out);

/* The program that calls it, and the data it reads (export_example.c). */
void export_example(const struct export *export, struct text *out);
/* Chooses export->binding and makes the data: inputs, then what is expected. */
bool export_data(struct export *export, struct text *data, struct error *error);

#endif
