/*
 * The library: a folder of op files, consulted when a name is found nowhere else.
 *
 * Most files need a handful of its names, so it is not parsed whole for one of them: its texts are
 * scanned for the words that begin an item, and only the file that has the name is loaded. Whoever
 * wants all of it (a list, a suggestion) loads all of it.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lang/check.h"

enum { LIBRARY_MAX_FILES = 1000 };

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
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

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct library_paths VECTOR(const char *);

/* In order of their names, so that all machines agree which of two definitions is first. */
static bool list_paths(struct lang *lang, struct library_paths *paths)
{
    DIR *folder = lang->library_folder ? opendir(lang->library_folder) : NULL;
    if (!folder)
        return false;
    for (struct dirent *entry; (entry = readdir(folder)) && paths->count < LIBRARY_MAX_FILES;) {
        size_t length = strlen(entry->d_name);
        if (length > 3 && strcmp(entry->d_name + length - 3, ".op") == 0)
            vector_push(lang->arena, paths,
                        arena_printf(lang->arena, "%s/%s", lang->library_folder, entry->d_name));
    }
    closedir(folder);
    if (paths->count)
        qsort(paths->at, paths->count, sizeof *paths->at, compare_names);
    return true;
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
    struct library_paths paths = {0};
    if (!list_paths(lang, &paths))
        return lang_library(lang, errors);
    struct errors ignored = errors_new(lang->arena);
    struct lang_file *library = arena_new(lang->arena, struct lang_file);
    library->fns = map_new(lang->arena);
    library->monoids = map_new(lang->arena);
    library->ops = map_new(lang->arena);
    library->tasks = map_new(lang->arena);
    for (size_t i = 0; i < paths.count; i++) {
        struct lang_file *file = lang_load(lang, paths.at[i], errors ? errors : &ignored);
        if (!file)
            continue;
        vector_push(lang->arena, &library->includes, file);
        for (size_t k = 0; k < file->op_list.count; k++)
            vector_push(lang->arena, &library->op_list, file->op_list.at[k]);
    }
    lang->library = library;
    return library;
}

/* ---- one name of it ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static void enter_item(struct lang *lang, const char *path, const char *word, size_t word_length,
                       const char *name, size_t name_length)
{
    static const char *const words[SPACE_COUNT] = {"fn", "monoid", "op"};
    for (int i = 0; i < SPACE_COUNT; i++) {
        struct map *items = &lang->library_items[i];
        if (strlen(words[i]) == word_length && memcmp(word, words[i], word_length) == 0 &&
            !map_get_bytes(items, name, name_length))
            map_set_bytes(items, name, name_length, (void *)path);
    }
}

/* These words are reserved: outside comments and strings each begins an item, whose name follows.
 */
static void scan_text(struct lang *lang, const char *path, const char *text, size_t length)
{
    const char *word = "";
    size_t word_length = 0;
    for (size_t i = 0; i < length;) {
        size_t start = i++;
        if (text[start] == '#' || text[start] == '"') {
            while (i < length && text[i] != '\n' && (text[start] == '#' || text[i] != '"'))
                i += text[i] == '\\' && text[start] == '"' ? 2 : 1;
            continue;
        }
        if (!is_word(text[start]))
            continue;
        while (i < length && is_word(text[i]))
            i++;
        enter_item(lang, path, word, word_length, text + start, i - start);
        word = text + start;
        word_length = i - start;
    }
}

static void scan_library(struct lang *lang)
{
    struct library_paths paths = {0};
    for (int i = 0; i < SPACE_COUNT; i++)
        lang->library_items[i] = map_new(lang->arena);
    lang->library_scanned = true;
    list_paths(lang, &paths);
    for (size_t i = 0; i < paths.count; i++) {
        size_t length = 0;
        const char *text = lang_read(lang->arena, paths.at[i], &length, NULL);
        if (text)
            scan_text(lang, paths.at[i], text, length);
    }
}

struct lang_file *library_file(struct lang *lang, enum name_space space, const char *name)
{
    if (!lang->library_scanned)
        scan_library(lang);
    const char *path = map_get(&lang->library_items[space], name);
    struct errors ignored = errors_new(lang->arena);
    return path ? lang_load(lang, path, &ignored) : NULL;
}
