/*
 * From words on the command line to files, ops and tasks. What stays open is an error that lists
 * the possibilities; only among several tasks the first is taken, and a note says so.
 */
#include "cmd/subject.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

/* ---- files ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

/* A folder is open while names are copied: it must be closed even when memory runs out. */
struct listing {
    struct arena *arena;
    DIR *directory;
    const char *folder, *ending;
    struct file_names names;
    bool full;
};

static void listing_fill(void *context)
{
    struct listing *listing = context;
    size_t length = strlen(listing->folder);
    const char *slash = length && listing->folder[length - 1] == '/' ? "" : "/";
    struct dirent *entry;
    while ((entry = readdir(listing->directory))) {
        if (entry->d_name[0] == '.' || !ends_with(entry->d_name, listing->ending))
            continue;
        if (listing->names.count == SUBJECT_FILES) {
            listing->full = true;
            return;
        }
        vector_push(listing->arena, &listing->names,
                    arena_printf(listing->arena, "%s%s%s", listing->folder, slash, entry->d_name));
    }
}

void subject_folder(struct invocation *invocation, const char *folder, const char *ending,
                    struct file_names *files, struct errors *errors)
{
    struct listing listing = {.arena = invocation->arena,
                              .folder = folder,
                              .ending = ending,
                              .directory = opendir(folder)};
    struct error error;
    if (!listing.directory) {
        error_system(&error, ERROR_CANNOT_READ, "could not open %s", folder);
        errors_take(errors, &error);
        return;
    }
    bool enough = memory_try(listing_fill, &listing);
    closedir(listing.directory);
    if (!enough)
        memory_exhausted();
    if (listing.full || listing.names.count == 0) {
        if (listing.full)
            error_set(&error, ERROR_NO_FILES, "%s has more than %d %s files", folder, SUBJECT_FILES,
                      ending);
        else
            error_set(&error, ERROR_NO_FILES, "there is no %s file in %s", ending, folder);
        errors_take(errors, &error);
        return;
    }
    qsort(listing.names.at, listing.names.count, sizeof *listing.names.at, compare_names);
    for (size_t i = 0; i < listing.names.count; i++)
        vector_push(invocation->arena, files, listing.names.at[i]);
}

struct file_names subject_files(struct invocation *invocation, struct errors *errors)
{
    struct file_names files = {0};
    for (size_t i = 0; i < invocation->operands.count; i++) {
        struct stat status;
        const char *operand = invocation->operands.at[i];
        if (strcmp(operand, "-") != 0 && stat(operand, &status) == 0 && S_ISDIR(status.st_mode))
            subject_folder(invocation, operand, ".op", &files, errors);
        else
            vector_push(invocation->arena, &files, operand);
    }
    return files;
}

const char *subject_suite(struct invocation *invocation, const char *name)
{
    const char *library = lang_library_folder(invocation->arena);
    struct stat status;
    if (!library || strchr(name, '/'))
        return NULL;
    const char *folder = arena_printf(invocation->arena, "%s/../tasks/%s", library, name);
    if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode))
        return NULL;
    char *plain = realpath(folder, NULL);
    const char *kept = plain ? arena_string(invocation->arena, plain) : folder;
    free(plain);
    return kept;
}

/* Adds what a person who mistyped a file's name would like to know. */
static void hint_missing_file(struct arena *arena, const char *path, struct error *error)
{
    const char *longer = arena_printf(arena, "%s.op", path);
    if (access(path, F_OK) != 0 && access(longer, F_OK) == 0)
        error_hint(error, "there is a file %s", longer);
}

const struct source *subject_read(struct invocation *invocation, const char *path,
                                  struct error *error)
{
    bool is_input = strcmp(path, "-") == 0;
    if (is_input && invocation->input)
        return invocation->input;
    struct source *source = arena_new(invocation->arena, struct source);
    source->name = is_input ? "<stdin>" : path;
    source->text = file_read(invocation->arena, is_input ? "/dev/stdin" : path, SUBJECT_FILE_BYTES,
                             &source->length, error);
    if (source->text && is_input)
        invocation->input = source;
    if (source->text)
        return source;
    if (!is_input)
        hint_missing_file(invocation->arena, path, error);
    return NULL;
}

/* ---- ops and tasks ---- */

bool subject_is_file(const char *word)
{
    return strcmp(word, "-") == 0 || strpbrk(word, "./") != NULL;
}

struct lang_file *subject_load(struct invocation *invocation, struct lang *lang, const char *path,
                               struct errors *errors)
{
    struct error error;
    if (strcmp(path, "-") != 0) {
        struct lang_file *file = lang_load(lang, path, errors);
        if (!file && errors->list.count)
            hint_missing_file(invocation->arena, path, &errors->list.at[errors->list.count - 1]);
        return file;
    }
    const struct source *source = subject_read(invocation, path, &error);
    if (source)
        return lang_load_text(lang, source->name, source->text, source->length, errors);
    errors_take(errors, &error);
    return NULL;
}

static bool find_library_op(struct subject *subject, const char *name, struct errors *errors)
{
    struct place nowhere = {0};
    subject->op = lang_find_op(subject->lang, NULL, name);
    if (subject->op)
        return true;
    if (!lang_library(subject->lang, errors))
        return false;
    struct error *error =
        errors_add(errors, ERROR_UNKNOWN_OP, nowhere, "the library has no op '%s'", name);
    const char *nearest = lang_suggest_op(subject->lang, NULL, name);
    if (access(name, F_OK) == 0)
        error_hint(error, "for the file of this name, write './%s'", name);
    else if (nearest)
        error_hint(error, "did you mean '%s'?", nearest);
    else
        error_hint(error, "'smelt ops' lists them; a file is written with its ending: '%s.op'",
                   name);
    return false;
}

static bool find_named_op(struct subject *subject, const char *name, struct errors *errors)
{
    subject->op = lang_find_op(subject->lang, subject->file, name);
    if (subject->op)
        return true;
    struct error *error =
        errors_add(errors, ERROR_UNKNOWN_OP, (struct place){0}, "there is no op '%s' here", name);
    const char *nearest = lang_suggest_op(subject->lang, subject->file, name);
    if (nearest)
        error_hint(error, "did you mean '%s'?", nearest);
    return false;
}

/* The first task of the file, of the op `op_name` when that is not NULL. */
static const struct ast_task *first_task(const struct subject *subject, const char *op_name)
{
    for (size_t i = 0; i < lang_task_count(subject->file); i++) {
        const struct ast_task *task = lang_task_ast(subject->file, i);
        if (!op_name || strcmp(task->op.name, op_name) == 0)
            return task;
    }
    return NULL;
}

static bool find_named_task(struct arena *arena, struct subject *subject, const char *name,
                            struct errors *errors)
{
    struct names VECTOR(const char *) names = {0};
    for (size_t i = 0; i < lang_task_count(subject->file); i++) {
        const struct ast_task *task = lang_task_ast(subject->file, i);
        vector_push(arena, &names, task->name.name);
        if (strcmp(task->name.name, name) == 0)
            subject->task = task;
    }
    if (subject->task)
        return find_named_op(subject, subject->task->op.name, errors);
    struct error *error = errors_add(errors, ERROR_UNKNOWN_TASK, (struct place){0},
                                     "there is no task '%s' in this file", name);
    const char *nearest = spelling_nearest(name, names.at, names.count);
    if (nearest)
        error_hint(error, "did you mean '%s'?", nearest);
    else if (names.count)
        error_hint(error, "it has: %s%s", names.at[0], names.count > 1 ? " and others" : "");
    else
        error_hint(error, "it has no tasks at all: leave --task out");
    return false;
}

static bool find_only_op(struct arena *arena, struct subject *subject, const char *path,
                         struct errors *errors)
{
    size_t count = lang_op_count(subject->file);
    if (count == 1) {
        subject->op = lang_op(subject->file, 0);
        return true;
    }
    struct text names = text_new(arena);
    for (size_t i = 0; i < count; i++)
        text_printf(&names, "%s%s", i ? ", " : "", lang_op(subject->file, i)->name.name);
    struct error *error = errors_add(
        errors, count ? ERROR_SEVERAL_OPS : ERROR_NO_OP, (struct place){0},
        count ? "%s has %zu ops and no task: which one is meant?" : "%s has no op", path, count);
    if (count)
        error_hint(error, "add --op NAME, where NAME is one of: %s", names.at);
    return false;
}

static bool find_in_file(struct invocation *invocation, const char *path, const char *op_name,
                         const char *task_name, struct subject *subject, struct errors *errors)
{
    size_t before = errors->list.count;
    subject->file = subject_load(invocation, subject->lang, path, errors);
    if (!subject->file || errors->list.count > before)
        return false;
    if (task_name) {
        if (!find_named_task(invocation->arena, subject, task_name, errors))
            return false;
        if (!op_name || strcmp(subject->task->op.name, op_name) == 0)
            return true;
        errors_add(errors, ERROR_USAGE, (struct place){0}, "task '%s' is of op '%s', not of '%s'",
                   task_name, subject->task->op.name, op_name);
        return false;
    }
    subject->task = first_task(subject, op_name);
    if (op_name)
        return find_named_op(subject, op_name, errors);
    if (!subject->task)
        return find_only_op(invocation->arena, subject, path, errors);
    if (lang_task_count(subject->file) > 1 && !invocation->json)
        output_note(invocation, "%s has %zu tasks; this is the first, %s (--task chooses)", path,
                    lang_task_count(subject->file), subject->task->name.name);
    return find_named_op(subject, subject->task->op.name, errors);
}

bool subject_find(struct invocation *invocation, const char *word, const char *op_name,
                  const char *task_name, struct subject *subject, struct errors *errors)
{
    *subject = (struct subject){.lang = lang_new(invocation->arena, NULL)};
    if (subject_is_file(word))
        return find_in_file(invocation, word, op_name, task_name, subject, errors);
    if (op_name || task_name) {
        struct error *error =
            errors_add(errors, ERROR_USAGE, (struct place){0},
                       "--%s chooses within a file, and '%s' is the name of an op",
                       op_name ? "op" : "task", word);
        error_hint(error, "a file is written with its ending: '%s.op'", word);
        return false;
    }
    return find_library_op(subject, word, errors);
}
