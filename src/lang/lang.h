/*
 * From text to checked programs and tasks.
 *
 * A `struct lang` holds everything loaded: files, their includes, and the library, which is loaded
 * when a name is found nowhere else. Faults in what was written are collected in `struct errors`;
 * the file and op they belong to stay usable for finding more. All results live in the arena given
 * to lang_new.
 */
#ifndef SMELT_LANG_LANG_H
#define SMELT_LANG_LANG_H

#include "base/base.h"
#include "ir/ir.h"
#include "lang/ast.h"
#include "record/task.h"

struct lang;
struct lang_file; /* a loaded file with its includes */

/* `library` is the folder of *.op files; NULL: see lang_library_folder. */
struct lang *lang_new(struct arena *arena, const char *library);
/* SMELT_LIB, else ../lib beside the executable's folder (build tree), else the installed one. NULL
 * when none exists. */
const char *lang_library_folder(struct arena *arena);

/* Reads and parses; includes too. NULL only when the file itself cannot be read. */
struct lang_file *lang_load(struct lang *lang, const char *path, struct errors *errors);
/* The same for text that is no file. */
struct lang_file *lang_load_text(struct lang *lang, const char *name, const char *text,
                                 size_t length, struct errors *errors);
/* The library's files as one, loaded once. NULL with an error when there is no library. */
struct lang_file *lang_library(struct lang *lang, struct errors *errors);

const struct ast_file *lang_ast(const struct lang_file *file); /* of the file itself */

/* Checks every fn, monoid, op and task of the file itself. True when no error was added. */
bool lang_check(struct lang *lang, struct lang_file *file, struct errors *errors);

/* The ops and tasks of the file itself, in order. */
size_t lang_op_count(const struct lang_file *file);
const struct ast_op *lang_op(const struct lang_file *file, size_t number);
size_t lang_task_count(const struct lang_file *file);
const struct ast_task *lang_task_ast(const struct lang_file *file, size_t number);
/* By name: in the file (may be NULL), its includes, the library. NULL when there is none. */
const struct ast_op *lang_find_op(struct lang *lang, struct lang_file *file, const char *name);
/* The nearest name of an op, for a hint, or NULL. */
const char *lang_suggest_op(struct lang *lang, struct lang_file *file, const char *name);

/* A task as written. NULL when it has errors. */
struct task *lang_task(struct lang *lang, struct lang_file *file, const struct ast_task *ast,
                       struct errors *errors);
/*
 * A task for an op with one case made of settings as typed on a command line: "B=[8]", "D=16",
 * "T=f16", "pad=1", "eps=1e-3". Types not said: f32 for float and any, i32 for int. A size not said
 * without a default is an error that lists them all and shows a line to type.
 */
struct task *lang_task_from_settings(struct lang *lang, struct lang_file *file,
                                     const struct ast_op *op, const char *const *settings,
                                     size_t count, struct errors *errors);
/* A case line that fits the op: "case B=[4], D=64". */
void lang_suggest_case(struct text *out, const struct ast_op *op);

/*
 * The checked program of an op at its default types and ranks (float f32, int i32, any f32, rank 2,
 * lists of 2). NULL when it has errors.
 */
const struct ir_program *lang_default_program(struct lang *lang, struct lang_file *file,
                                              const struct ast_op *op, struct errors *errors);

/* The type variables of an op, in order, and what each may stand for. */
struct lang_type {
    const char *name, *class; /* "T", "float" */
    bool admits[DTYPE_COUNT];
};
struct lang_types VECTOR(struct lang_type);
struct lang_types lang_types(struct arena *arena, const struct ast_op *op);
/* The same as text: "T: f64 f32 f16 bf16 f8e4 f8e5". */
void lang_print_types(struct text *out, const struct ast_op *op);

#endif
