/*
 * Loading files, finding names, checking what was loaded. See lang.h.
 */
#include "lang/lang.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lang/check.h"

enum { LANG_MAX_BYTES = 64 << 20, LANG_MAX_INCLUDES = 1000, LANG_MAX_LIBRARY_FILES = 1000 };

struct lang *lang_new(struct arena *arena, const char *library)
{
    struct lang *lang = arena_new(arena, struct lang);
    lang->arena = arena;
    lang->names = map_new(arena);
    lang->files = map_new(arena);
    lang->instances = map_new(arena);
    lang->monoids = map_new(arena);
    lang->owners = map_new(arena);
    lang->library_folder = library ? library : lang_library_folder(arena);
    return lang;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_regular(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

const char *lang_library_folder(struct arena *arena)
{
    const char *chosen = getenv("SMELT_LIB");
    if (chosen && *chosen)
        return is_folder(chosen) ? chosen : NULL;
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    for (int up = 0; length > 0 && up < 2; up++)
        while (length > 0 && self[--length] != '/')
            ;
    if (length > 0) {
        const char *beside = arena_printf(arena, "%.*s/lib", (int)length, self);
        /* the build tree's, not a system's lib folder */
        if (is_folder(beside) && access(arena_printf(arena, "%s/math.op", beside), R_OK) == 0)
            return beside;
    }
#ifdef SMELT_DATA_DIR
    if (is_folder(SMELT_DATA_DIR "/lib"))
        return SMELT_DATA_DIR "/lib";
#endif
    return NULL;
}

/* ---- files ---- */

/*
 * Files only: an include is chosen by whoever wrote the text, and a pipe or device may never end,
 * or wait for ever.
 */
static FILE *open_regular(const char *path, struct error *error)
{
    struct stat status;
    int handle = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = handle < 0 ? NULL : fdopen(handle, "rb");
    if (!file || fstat(handle, &status) != 0) {
        error_system(error, ERROR_CANNOT_READ, "could not open %s", path);
    } else if (S_ISREG(status.st_mode)) {
        return file;
    } else {
        error_set(error, ERROR_CANNOT_READ, "%s is not a file with an end", path);
        error_hint(error, "write it to a file first, or give it on standard input with '-'");
    }
    if (file)
        fclose(file);
    else if (handle >= 0)
        close(handle);
    return NULL;
}

static char *read_whole(struct arena *arena, const char *path, size_t *length, struct error *error)
{
    FILE *file = open_regular(path, error);
    if (!file)
        return NULL;
    struct text text = text_new(arena);
    static const size_t step = 1 << 16;
    char *buffer = arena_alloc(arena, step);
    size_t count;
    while ((count = fread(buffer, 1, step, file)) > 0 && text.length <= LANG_MAX_BYTES)
        text_add_bytes(&text, buffer, count);
    bool failed = ferror(file);
    if (failed)
        error_system(error, ERROR_CANNOT_READ, "could not read %s", path);
    fclose(file);
    if (!failed && text.length > LANG_MAX_BYTES) {
        error_set(error, ERROR_CANNOT_READ, "%s is larger than %d MiB", path, LANG_MAX_BYTES >> 20);
        return NULL;
    }
    *length = text.length;
    return failed ? NULL : text.at;
}

static void own(struct lang *lang, const void *item, struct lang_file *file)
{
    map_set_bytes(&lang->owners, &item, sizeof item, file);
}

struct lang_file *lang_owner(struct lang *lang, const void *item)
{
    return map_get_bytes(&lang->owners, &item, sizeof item);
}

static void enter_name(struct map *map, const struct ast_name *name, void *value,
                       struct place (*place_of)(const void *), struct errors *errors)
{
    void *known = map_get(map, name->name);
    if (known) {
        struct error *error = errors_add(errors, ERROR_DUPLICATE_NAME, name->place,
                                         "'%s' is defined twice in this file", name->name);
        error_note(error, place_of(known), "first defined here");
        return;
    }
    map_set(map, name->name, value);
}

static struct place fn_place(const void *fn)
{
    return ((const struct ast_fn *)fn)->name.place;
}
static struct place monoid_place(const void *monoid)
{
    return ((const struct ast_monoid *)monoid)->name.place;
}
static struct place op_place(const void *op)
{
    return ((const struct ast_op *)op)->name.place;
}
static struct place task_place(const void *task)
{
    return ((const struct ast_task *)task)->name.place;
}

static struct lang_file *load_include(struct lang *lang, struct lang_file *from,
                                      const struct ast_include *include, struct errors *errors);

/* Sorts the items of a parsed file into its maps and follows its includes. */
static void enter_items(struct lang *lang, struct lang_file *file, struct errors *errors)
{
    for (size_t i = 0; i < file->ast->items.count; i++) {
        struct ast_item *item = file->ast->items.at[i];
        switch (item->kind) {
        case AST_ITEM_FN:
            enter_name(&file->fns, &item->fn.name, &item->fn, fn_place, errors);
            own(lang, &item->fn, file);
            break;
        case AST_ITEM_MONOID:
            enter_name(&file->monoids, &item->monoid.name, &item->monoid, monoid_place, errors);
            own(lang, &item->monoid, file);
            break;
        case AST_ITEM_OP:
            enter_name(&file->ops, &item->op.name, &item->op, op_place, errors);
            vector_push(lang->arena, &file->op_list, &item->op);
            own(lang, &item->op, file);
            break;
        case AST_ITEM_TASK:
            enter_name(&file->tasks, &item->task.name, &item->task, task_place, errors);
            vector_push(lang->arena, &file->task_list, &item->task);
            own(lang, &item->task, file);
            break;
        case AST_ITEM_INCLUDE: {
            struct lang_file *other = load_include(lang, file, &item->include, errors);
            if (other)
                vector_push(lang->arena, &file->includes, other);
            break;
        }
        }
    }
}

static struct lang_file *make_file(struct lang *lang, const char *name, const char *path,
                                   const char *text, size_t length, struct errors *errors)
{
    struct source *source = arena_new(lang->arena, struct source);
    *source = (struct source){arena_string(lang->arena, name), text, length};
    struct lang_file *file = arena_new(lang->arena, struct lang_file);
    file->path = path;
    file->fns = map_new(lang->arena);
    file->monoids = map_new(lang->arena);
    file->ops = map_new(lang->arena);
    file->tasks = map_new(lang->arena);
    if (path)
        map_set(&lang->files, path, file);
    size_t before = errors->said;
    file->ast = ast_parse(lang->arena, &lang->names, source, errors);
    enter_items(lang, file, errors);
    file->faulty = errors->said > before;
    return file;
}

/* One spelling per file, so that it is loaded once. */
static const char *canonical(struct arena *arena, const char *path)
{
    char *real = realpath(path, NULL);
    const char *kept = arena_string(arena, real ? real : path);
    free(real);
    return kept;
}

struct lang_file *lang_load(struct lang *lang, const char *path, struct errors *errors)
{
    const char *key = canonical(lang->arena, path);
    struct lang_file *known = map_get(&lang->files, key);
    if (known)
        return known;
    size_t length;
    struct error error = {0};
    char *text = read_whole(lang->arena, path, &length, &error);
    if (!text) {
        if (!error.hint[0])
            error_hint(&error, "check the path and the permissions");
        errors_take(errors, &error);
        return NULL;
    }
    return make_file(lang, path, key, text, length, errors);
}

struct lang_file *lang_load_text(struct lang *lang, const char *name, const char *text,
                                 size_t length, struct errors *errors)
{
    return make_file(lang, name, NULL, arena_copy(lang->arena, text, length), length, errors);
}

static struct lang_file *load_include(struct lang *lang, struct lang_file *from,
                                      const struct ast_include *include, struct errors *errors)
{
    const char *name = from->ast ? from->ast->source->name : "";
    const char *slash = strrchr(name, '/');
    const char *beside =
        slash && include->path[0] != '/'
            ? arena_printf(lang->arena, "%.*s/%s", (int)(slash - name), name, include->path)
            : include->path;
    const char *candidates[2] = {beside, NULL};
    if (lang->library_folder && include->path[0] != '/')
        candidates[1] = arena_printf(lang->arena, "%s/%s", lang->library_folder, include->path);
    if (lang->files.count > LANG_MAX_INCLUDES) {
        errors_add(errors, ERROR_TOO_MANY, include->place, "more than %d files", LANG_MAX_INCLUDES);
        return NULL;
    }
    for (int i = 0; i < 2; i++)
        if (candidates[i] && access(candidates[i], R_OK) == 0 && is_regular(candidates[i]))
            return lang_load(lang, candidates[i], errors);
    struct error *error = errors_add(errors, ERROR_INCLUDE_FAILED, include->place,
                                     "could not find \"%s\"", include->path);
    error_detail(error, "there is no %s%s", candidates[0],
                 candidates[1] ? ", and none in the library" : "");
    error_hint(error, "paths are relative to the including file, then to the library");
    return NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct lang_file *lang_library(struct lang *lang, struct errors *errors)
{
    if (lang->library_tried) {
        if (!lang->library && errors)
            error_hint(errors_add(errors, ERROR_NO_LIBRARY, (struct place){0},
                                  "the op library is not found"),
                       "set SMELT_LIB to the folder with math.op and nn.op");
        return lang->library;
    }
    lang->library_tried = true;
    DIR *folder = lang->library_folder ? opendir(lang->library_folder) : NULL;
    if (!folder)
        return lang_library(lang, errors);
    struct name_list VECTOR(const char *) names = {0};
    for (struct dirent *entry; (entry = readdir(folder)) && names.count < LANG_MAX_LIBRARY_FILES;) {
        size_t length = strlen(entry->d_name);
        if (length > 3 && strcmp(entry->d_name + length - 3, ".op") == 0)
            vector_push(lang->arena, &names, arena_string(lang->arena, entry->d_name));
    }
    closedir(folder);
    if (names.count)
        qsort(names.at, names.count, sizeof *names.at, compare_names);
    struct errors ignored = errors_new(lang->arena);
    struct lang_file *library = arena_new(lang->arena, struct lang_file);
    library->fns = map_new(lang->arena);
    library->monoids = map_new(lang->arena);
    library->ops = map_new(lang->arena);
    library->tasks = map_new(lang->arena);
    for (size_t i = 0; i < names.count; i++) {
        const char *path = arena_printf(lang->arena, "%s/%s", lang->library_folder, names.at[i]);
        struct lang_file *file = lang_load(lang, path, errors ? errors : &ignored);
        if (!file)
            continue;
        vector_push(lang->arena, &library->includes, file);
        for (size_t k = 0; k < file->op_list.count; k++)
            vector_push(lang->arena, &library->op_list, file->op_list.at[k]);
    }
    lang->library = library;
    return library;
}

/* ---- finding names ---- */

enum name_space { SPACE_FN, SPACE_MONOID, SPACE_OP };

static const struct map *space(const struct lang_file *file, enum name_space which)
{
    return which == SPACE_FN ? &file->fns : which == SPACE_MONOID ? &file->monoids : &file->ops;
}

static void *find_in(struct lang *lang, struct lang_file *file, enum name_space which,
                     const char *name)
{
    if (!file || file->visit == lang->visit)
        return NULL;
    file->visit = lang->visit;
    void *found = map_get(space(file, which), name);
    for (size_t i = 0; !found && i < file->includes.count; i++)
        found = find_in(lang, file->includes.at[i], which, name);
    return found;
}

static void *find(struct lang *lang, struct lang_file *file, enum name_space which,
                  const char *name)
{
    lang->visit++;
    void *found = find_in(lang, file, which, name);
    return found ? found : find_in(lang, lang_library(lang, NULL), which, name);
}

const struct ast_fn *lang_find_fn(struct lang *lang, struct lang_file *file, const char *name)
{
    return find(lang, file, SPACE_FN, name);
}

const struct ast_monoid *lang_find_monoid(struct lang *lang, struct lang_file *file,
                                          const char *name)
{
    return find(lang, file, SPACE_MONOID, name);
}

const struct ast_op *lang_find_op(struct lang *lang, struct lang_file *file, const char *name)
{
    return find(lang, file, SPACE_OP, name);
}

struct name_vector VECTOR(const char *);

static void list_names(struct lang *lang, struct lang_file *file, enum name_space which,
                       struct name_vector *names)
{
    if (!file || file->visit == lang->visit)
        return;
    file->visit = lang->visit;
    const struct map *map = space(file, which);
    for (size_t i = 0; i < map->count; i++)
        vector_push(lang->arena, names, map->entries[i].key);
    for (size_t i = 0; i < file->includes.count; i++)
        list_names(lang, file->includes.at[i], which, names);
}

static const char *suggest(struct lang *lang, struct lang_file *file, enum name_space which,
                           const char *name)
{
    struct name_vector names = {0};
    lang->visit++;
    list_names(lang, file, which, &names);
    list_names(lang, lang_library(lang, NULL), which, &names);
    if (which == SPACE_FN)
        for (int i = 0; i < IR_OP_COUNT; i++)
            if (check_is_builtin(ir_op_name((enum ir_op)i)))
                vector_push(lang->arena, &names, ir_op_name((enum ir_op)i));
    return spelling_nearest(name, names.at, names.count);
}

const char *lang_suggest_fn(struct lang *lang, struct lang_file *file, const char *name)
{
    return suggest(lang, file, SPACE_FN, name);
}

const char *lang_suggest_monoid(struct lang *lang, struct lang_file *file, const char *name)
{
    return suggest(lang, file, SPACE_MONOID, name);
}

const char *lang_suggest_op(struct lang *lang, struct lang_file *file, const char *name)
{
    return suggest(lang, file, SPACE_OP, name);
}

/* ---- what is in a file ---- */

const struct ast_file *lang_ast(const struct lang_file *file)
{
    return file->ast;
}

size_t lang_op_count(const struct lang_file *file)
{
    return file->op_list.count;
}

const struct ast_op *lang_op(const struct lang_file *file, size_t number)
{
    return file->op_list.at[number];
}

size_t lang_task_count(const struct lang_file *file)
{
    return file->task_list.count;
}

const struct ast_task *lang_task_ast(const struct lang_file *file, size_t number)
{
    return file->task_list.at[number];
}

/* ---- checking ---- */

/* The types an op is tried at: one of each kind its variables admit. */
static bool representative(const struct ast_op *op, struct instance_key *key, int round)
{
    static const enum dtype kinds[] = {DTYPE_F32, DTYPE_I32, DTYPE_BOOL};
    bool differs = round == 0;
    for (size_t i = 0; i < key->types.count; i++) {
        struct type_binding *binding = &key->types.at[i];
        if (round > 0 && !type_class_admits(op, binding->name, kinds[round]))
            continue;
        if (round == 0 && !type_class_admits(op, binding->name, kinds[0]))
            continue;
        differs |= round > 0 && type_class_admits(op, binding->name, DTYPE_F32);
        binding->dtype = kinds[round];
        binding->bound = true;
    }
    return differs;
}

/* Adds "when T is bool" to what holds only then. */
static void explain_types(struct error *error, const struct ast_op *op,
                          const struct instance_key *key, int round)
{
    bool typed = error->code == ERROR_TYPE_MISMATCH || error->code == ERROR_INTEGER_DIVISION ||
                 error->code == ERROR_NOT_AN_INDEX || error->code == ERROR_NOT_A_CONDITION;
    bool mixed = false;
    for (size_t i = 0; i < key->types.count; i++)
        mixed |= strcmp(type_class(op, key->types.at[i].name), "float") != 0;
    if (!mixed || (round == 0 && !typed) || error->detail[0])
        return;
    char types[sizeof error->detail] = "";
    size_t length = 0;
    for (size_t i = 0; i < key->types.count && length < sizeof types; i++)
        length +=
            (size_t)snprintf(types + length, sizeof types - length, "%s%s is %s", i ? ", " : "",
                             key->types.at[i].name, dtype_name(key->types.at[i].dtype));
    error_detail(error, "when %s", types);
}

static struct instance *check_op(struct lang *lang, const struct ast_op *op, struct errors *errors)
{
    struct instance *first = NULL;
    for (int round = 0; round < 3; round++) {
        struct instance_key key = instance_key_new(lang->arena, op);
        if (!representative(op, &key, round))
            continue;
        instance_key_default(&key, op);
        size_t before = errors->list.count;
        struct instance *instance = instance_get(lang, op, &key, errors);
        for (size_t i = before; i < errors->list.count; i++)
            explain_types(&errors->list.at[i], op, &key, round);
        if (round == 0)
            first = instance;
        if (!instance || !instance->part)
            return NULL;
    }
    return first;
}

/* Ops that a task with cases reaches are checked at the sizes of the cases. */
static void mark_reached(struct arena *arena, struct map *reached, const struct instance *instance)
{
    if (!instance || map_get_bytes(reached, &instance->op, sizeof(void *)))
        return;
    map_set_bytes(reached, &instance->op, sizeof(void *), reached);
    for (size_t i = 0; i < instance->callees.count; i++)
        mark_reached(arena, reached, instance->callees.at[i]);
}

static void report_doubts(const struct instance *instance, struct errors *errors)
{
    for (size_t i = 0; i < instance->doubts.count; i++) {
        const struct doubt *doubt = &instance->doubts.at[i];
        error_hint(errors_add(errors, doubt->code, doubt->place, "%s", doubt->message), "%s",
                   doubt->hint);
    }
}

bool lang_check(struct lang *lang, struct lang_file *file, struct errors *errors)
{
    size_t before = errors->said;
    if (file->faulty)
        return false;
    struct map reached = map_new(lang->arena);
    struct instance **instances =
        arena_array(lang->arena, file->op_list.count + 1, sizeof *instances);
    for (size_t i = 0; i < file->ast->items.count; i++) {
        const struct ast_item *item = file->ast->items.at[i];
        if (item->kind == AST_ITEM_FN)
            check_fn_definition(lang, file, &item->fn, errors);
        else if (item->kind == AST_ITEM_MONOID)
            check_monoid_definition(lang, file, &item->monoid, errors);
    }
    for (size_t i = 0; i < file->op_list.count; i++)
        instances[i] = check_op(lang, file->op_list.at[i], errors);
    for (size_t i = 0; i < file->task_list.count; i++) {
        const struct ast_task *ast = file->task_list.at[i];
        bool has_case = false;
        for (size_t k = 0; k < ast->lines.count; k++)
            has_case |= ast->lines.at[k].kind == AST_LINE_CASE;
        lang_task(lang, file, ast, errors);
        for (size_t k = 0; has_case && k < file->op_list.count; k++)
            if (strcmp(file->op_list.at[k]->name.name, ast->op.name) == 0)
                mark_reached(lang->arena, &reached, instances[k]);
    }
    for (size_t i = 0; i < file->op_list.count; i++)
        if (instances[i] && instances[i]->doubts.count > 0 &&
            !map_get_bytes(&reached, &file->op_list.at[i], sizeof(void *)))
            report_doubts(instances[i], errors);
    return errors->said == before;
}

const struct ir_program *lang_default_program(struct lang *lang, struct lang_file *file,
                                              const struct ast_op *op, struct errors *errors)
{
    (void)file;
    struct instance_key key = instance_key_new(lang->arena, op);
    instance_key_default(&key, op);
    return instance_program(lang, instance_get(lang, op, &key, errors));
}

struct lang_types lang_types(struct arena *arena, const struct ast_op *op)
{
    struct instance_key key = instance_key_new(arena, op);
    struct lang_types types = {0};
    for (size_t i = 0; i < key.types.count; i++) {
        struct lang_type *type = vector_add(arena, &types);
        type->name = key.types.at[i].name;
        type->class = type_class(op, type->name);
        for (int d = 0; d < DTYPE_COUNT; d++)
            type->admits[d] = type_class_admits(op, type->name, (enum dtype)d);
    }
    return types;
}

void lang_print_types(struct text *out, const struct ast_op *op)
{
    struct lang_types types = lang_types(out->arena, op);
    for (size_t i = 0; i < types.count; i++) {
        text_printf(out, "%s%s:", i ? "; " : "", types.at[i].name);
        for (int d = 0; d < DTYPE_COUNT; d++)
            if (types.at[i].admits[d])
                text_printf(out, " %s", dtype_name((enum dtype)d));
    }
}
