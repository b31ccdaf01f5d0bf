/*
 * Why a candidate fails, or what bounds its speed, with the numbers that show it.
 *
 * A diagnosis is a judgement about evidence others gathered: the verdict, the counts of the plan,
 * the rates of the machine, facts of the binary. Nothing is measured here.
 */
#ifndef SMELT_DIAGNOSE_DIAGNOSE_H
#define SMELT_DIAGNOSE_DIAGNOSE_H

#include "base/base.h"
#include "machine/machine.h"
#include "record/search.h"

/* What the compiler made of a kernel, counted in its disassembly. */
struct binary_facts {
    int instructions;   /* in all functions of the kernel itself */
    int loops;          /* innermost ones: a jump back with no other in between */
    int vector;         /* vector instructions in innermost loops... */
    int scalar;         /* ...and scalar floating-point ones */
    int vector_bits;    /* the widest registers used in innermost loops; 0: none */
    int fused;          /* multiply-adds in innermost loops */
    int spills;         /* vector stores to and loads from the stack in innermost loops */
    int gathers;        /* gathered loads in innermost loops */
    int divisions;      /* divisions and square roots in innermost loops */
    int calls;          /* calls in innermost loops */
    int64_t code_bytes; /* of the kernel's functions */
};

enum { BINARY_TEXT_BYTES = 64 << 20 }; /* the longest disassembly that is read */

/* Reads what `objdump -d --no-show-raw-insn` prints for x86-64. False: it is something else. */
bool binary_facts_read(const char *text, size_t length, struct binary_facts *facts);

struct diagnose_subject {
    const struct verdict *verdict;
    int which; /* case of the verdict whose speed is asked about; -1: the first timed one */
    /* of that case, as the op is written */
    double read_bytes, write_bytes, operations;
    enum machine_number number;
    /* of that case, as the plan does it; 0: there is no plan */
    double planned_bytes, planned_operations;
    int threads;
    const struct machine *machine;
    const struct rates *rates;         /* all 0: nothing was measured */
    const struct binary_facts *binary; /* or NULL */
};

/* Everything it points to lives in the arena. */
void diagnose(struct arena *arena, const struct diagnose_subject *subject,
              struct diagnosis *diagnosis);
/* As an object of JSON. */
void diagnosis_write(struct json *json, const char *name, const struct diagnosis *diagnosis);

#endif
