/*
 * What the compiler made of a kernel: a name for it, and what its innermost loops are made of.
 */
#ifndef SMELT_JUDGE_BINARY_H
#define SMELT_JUDGE_BINARY_H

#include "base/base.h"
#include "record/verdict.h"

enum {
    BINARY_TEXT_BYTES = 16 << 20,   /* the longest disassembly that is read */
    BINARY_OBJECT_BYTES = 64 << 20, /* the largest object that is read */
};

/* Counts in what `objdump -d --no-show-raw-insn` prints for x86-64. False: it is something else. */
bool binary_facts_read(const char *text, size_t length, struct binary_facts *facts);

/*
 * The hash of all an ELF object loads (code, constants, names it is linked by), which is the same
 * for two sources that differ in comments, names or places only. False: it is no such object.
 */
bool binary_hash(const char *bytes, size_t length, char hash[65]);

/* Both, of the object at `library`; what is not known is said in facts->unread. */
void binary_inspect(const char *library, const char *folder, struct binary_facts *facts);

#endif
