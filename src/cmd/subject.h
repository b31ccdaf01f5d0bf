/*
 * What a command works on: files named on the command line, and the op or task meant by
 * `FILE|OP [--op NAME] [--task NAME]`.
 */
#ifndef SMELT_CMD_SUBJECT_H
#define SMELT_CMD_SUBJECT_H

#include "cmd/command.h"
#include "lang/lang.h"

enum {
    SUBJECT_FILE_BYTES = 64 << 20, /* largest file read whole here */
    SUBJECT_FILES = 10000,         /* files of one folder */
};

struct file_names VECTOR(const char *);

/*
 * The operands as files; a folder stands for all *.op in it, sorted. Operands that cannot be read
 * are added to errors, the others are listed all the same.
 */
struct file_names subject_files(struct invocation *invocation, struct errors *errors);
/* The files of a folder whose names end so (".op"), sorted, added to `files`. */
void subject_folder(struct invocation *invocation, const char *folder, const char *ending,
                    struct file_names *files, struct errors *errors);

/* The folder of a suite by its name, beside the library; NULL: there is none. */
const char *subject_suite(struct invocation *invocation, const char *name);

/* The whole file, or standard input for "-", which may be asked for again. NULL: error is set. */
const struct source *subject_read(struct invocation *invocation, const char *path,
                                  struct error *error);

struct subject {
    struct lang *lang;
    struct lang_file *file;      /* NULL: an op of the library */
    const struct ast_op *op;     /* never NULL */
    const struct ast_task *task; /* NULL: none was written for this op */
};

/* Whether the word names a file rather than an op: it has a dot or a slash, or is "-". */
bool subject_is_file(const char *word);
/* Finds what `word`, --op and --task mean. False: errors were added. */
bool subject_find(struct invocation *invocation, const char *word, const char *op_name,
                  const char *task_name, struct subject *subject, struct errors *errors);
/* Loads a file or standard input. NULL only when it cannot be read; errors may be added anyway. */
struct lang_file *subject_load(struct invocation *invocation, struct lang *lang, const char *path,
                               struct errors *errors);

#endif
