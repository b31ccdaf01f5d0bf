/*
 * The pieces of `smelt ref`: what is to be evaluated (ref_task.c), evaluating one case
 * (ref_case.c), and telling the result (ref_report.c). ref.c is the command itself.
 */
#ifndef SMELT_CMD_REF_H
#define SMELT_CMD_REF_H

#include "cmd/subject.h"
#include "oracle/oracle.h"

enum {
    REF_SETTINGS = 1000, /* NAME=VALUE on one command line */
};

/* An input to read: --in x=FILE.npy. */
struct ref_file {
    const char *name, *path;
    struct array array; /* as read: array.dtype is a guess until sizes and types are bound */
};
struct ref_files VECTOR(struct ref_file);

struct ref_settings VECTOR(const char *); /* "D=16" */

enum ref_oracle { REF_AUTO, REF_INTERPRETER, REF_COMPILED, REF_BOTH };

struct ref_request {
    struct invocation *invocation;
    struct subject subject;
    struct ref_settings settings;
    struct ref_files files;
    int64_t first_case, last_case; /* last -1: only the first; INT64_MAX: all that follow */
    bool case_chosen;
    uint64_t seed;
    enum ref_oracle oracle;
    const char *folder; /* --out, or NULL */
    struct ref_settings points;
};

/* The task to evaluate: as written, or with one case made of settings and of the files' shapes. */
struct task *ref_task(struct ref_request *request, struct errors *errors);

struct ref_point {
    const char *text; /* "y[3, 4]" */
    enum dtype dtype;
    struct ir_value value;
};
struct ref_points VECTOR(struct ref_point);

struct ref_result { /* one case */
    const struct task_case *task_case;
    int number;
    const struct ir_part *part;
    struct array *inputs, *outputs; /* outputs NULL when only points were asked for */
    bool *from_file;                /* one per input */
    const char *oracle;             /* what evaluated it: "compiled", "interpreter", "both" */
    double seconds;
    struct ref_points points;
    const char *folder; /* where the arrays were written, or NULL */
};

/* A compiled program is kept from case to case. */
struct ref_code {
    const struct ir_program *program;
    struct oracle_code *code;
    bool unavailable; /* a note said why */
};

bool ref_case(const struct ref_request *request, const struct task *task, int number,
              struct ref_code *code, struct ref_result *result, struct error *error);

void ref_print(const struct invocation *invocation, const struct ref_result *result);
void ref_json(struct json *json, const struct ref_result *result);

#endif
