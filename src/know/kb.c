/*
 * Folders of the knowledge base: where they are, which pages they have, and one page by its name.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "know/kb.h"
#include "os/file.h"
#include "os/process.h"

struct folders VECTOR(const char *);

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

const char *kb_home(struct arena *arena)
{
    const char *chosen = getenv("SMELT_KB_HOME");
    if (chosen && *chosen)
        return is_folder(chosen) ? chosen : NULL;
    char *self = process_own_path(arena);
    for (int up = 0; self && up < 2; up++) {
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = 0;
    }
    const char *beside = self ? arena_printf(arena, "%s/kb", self) : NULL;
    if (beside && is_folder(beside))
        return beside;
    return is_folder(SMELT_DATA_DIR "/kb") ? SMELT_DATA_DIR "/kb" : NULL;
}

/* ---- which folders ---- */

static void add_folder(struct arena *arena, struct folders *folders, const char *path,
                       struct errors *errors)
{
    if (!is_folder(path))
        error_hint(errors_add(errors, ERROR_CANNOT_READ, (struct place){0},
                              "there is no folder %s of a knowledge base", path),
                   "--kb, SMELT_KB and the file kb.folders name folders with pages");
    else if (folders->count == KB_FOLDERS)
        errors_add(errors, ERROR_TOO_MANY, (struct place){0},
                   "a knowledge base has at most %d folders", KB_FOLDERS);
    else
        vector_push(arena, folders, path);
}

/* `list` is cut into pieces at `separator`. */
static void add_list(struct arena *arena, struct folders *folders, char *list, char separator,
                     struct errors *errors)
{
    while (list && *list) {
        char *end = strchr(list, separator);
        if (end)
            *end++ = 0;
        if (separator == '\n') {
            list += strspn(list, " \t");
            size_t length = strcspn(list, "#\r");
            while (length && (list[length - 1] == ' ' || list[length - 1] == '\t'))
                length--;
            list[length] = 0;
        }
        if (*list)
            add_folder(arena, folders, list, errors);
        list = end;
    }
}

static void add_configured(struct arena *arena, struct folders *folders, struct errors *errors)
{
    enum { CONFIGURATION_BYTES = 64 << 10 };
    struct error ignored;
    struct stat status;
    const char *home = getenv("XDG_CONFIG_HOME"), *user = getenv("HOME");
    const char *path = home && *home   ? arena_printf(arena, "%s/smelt/kb.folders", home)
                       : user && *user ? arena_printf(arena, "%s/.config/smelt/kb.folders", user)
                                       : NULL;
    if (!path || stat(path, &status) != 0)
        return;
    char *text = file_read(arena, path, CONFIGURATION_BYTES, NULL, &ignored);
    if (text)
        add_list(arena, folders, text, '\n', errors);
    else
        errors_take(errors, &ignored);
}

/* ---- which pages ---- */

struct loading {
    struct kb *kb;
    struct map by_id; /* number of the page + 1 */
    struct errors *errors;
    bool own;
};

static void load_page(struct loading *loading, const char *path, const char *id)
{
    struct arena *arena = loading->kb->arena;
    struct kb_pages *pages = &loading->kb->pages;
    struct source *source = arena_new(arena, struct source);
    struct kb_page page;
    struct error error = {0};
    source->name = path;
    source->text = file_read(arena, path, KB_PAGE_BYTES, &source->length, &error);
    if (!source->text || !kb_page_parse(arena, source, &page, &error)) {
        errors_take(loading->errors, &error);
        return;
    }
    page.id = id;
    page.own = loading->own;
    size_t known = (size_t)(uintptr_t)map_get(&loading->by_id, id);
    if (known) {
        pages->at[known - 1] = page;
    } else if (pages->count < KB_PAGES) {
        vector_push(arena, pages, page);
        map_set(&loading->by_id, id, (void *)(uintptr_t)pages->count);
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The visible entries of a folder, sorted, so that all machines agree. */
static struct folders list_folder(struct arena *arena, const char *path)
{
    struct folders names = {0};
    DIR *folder = opendir(path);
    if (!folder)
        return names;
    for (struct dirent *entry; (entry = readdir(folder)) && names.count < KB_PAGES;)
        if (entry->d_name[0] != '.')
            vector_push(arena, &names, arena_string(arena, entry->d_name));
    closedir(folder);
    if (names.count)
        qsort(names.at, names.count, sizeof *names.at, compare_names);
    return names;
}

static void load_folder(struct loading *loading, const char *path, const char *prefix, int depth)
{
    struct arena *arena = loading->kb->arena;
    struct folders names = list_folder(arena, path);
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.at[i];
        size_t length = strlen(name);
        const char *inner = arena_printf(arena, "%s/%s", path, name);
        bool is_page = length > 3 && strcmp(name + length - 3, ".md") == 0;
        bool is_map = !*prefix && (strcmp(name, "index.md") == 0 || strcmp(name, "README.md") == 0);
        if (is_page && !is_map)
            load_page(loading, inner, arena_printf(arena, "%s%.*s", prefix, (int)length - 3, name));
        else if (!is_page && depth < KB_DEPTH && is_folder(inner))
            load_folder(loading, inner, arena_printf(arena, "%s%s/", prefix, name), depth + 1);
    }
}

static int compare_pages(const void *a, const void *b)
{
    return strcmp(((const struct kb_page *)a)->id, ((const struct kb_page *)b)->id);
}

void kb_open(struct kb *kb, struct arena *arena, const char *const *more, size_t count,
             struct errors *errors)
{
    struct folders folders = {0};
    const char *home = kb_home(arena);
    const char *listed = getenv("SMELT_KB");
    *kb = (struct kb){.arena = arena};
    add_configured(arena, &folders, errors);
    if (listed)
        add_list(arena, &folders, arena_string(arena, listed), ':', errors);
    for (size_t i = 0; i < count; i++)
        add_folder(arena, &folders, more[i], errors);
    struct loading loading = {.kb = kb, .by_id = map_new(arena), .errors = errors};
    if (home)
        load_folder(&loading, home, "", 0);
    else
        error_hint(errors_add(errors, ERROR_CANNOT_READ, (struct place){0},
                              "the knowledge base is not found"),
                   "set SMELT_KB_HOME to the folder kb that comes with smelt");
    loading.own = true;
    for (size_t i = 0; i < folders.count; i++)
        load_folder(&loading, folders.at[i], "", 0);
    if (kb->pages.count)
        qsort(kb->pages.at, kb->pages.count, sizeof *kb->pages.at, compare_pages);
}

/* ---- one page ---- */

const struct kb_page *kb_find(const struct kb *kb, const char *name, struct error *error)
{
    const struct kb_page *found = NULL;
    size_t length = strlen(name), matches = 0;
    const char **ids = arena_array(kb->arena, kb->pages.count + 1, sizeof *ids);
    for (size_t i = 0; i < kb->pages.count; i++) {
        const struct kb_page *page = &kb->pages.at[i];
        const char *last = strrchr(page->id, '/');
        ids[i] = last ? last + 1 : page->id;
        if (strcmp(page->id, name) == 0)
            return page;
        size_t whole = strlen(page->id);
        bool ends = whole > length && page->id[whole - length - 1] == '/' &&
                    strcmp(page->id + whole - length, name) == 0;
        matches += ends;
        found = ends ? page : found;
    }
    if (matches == 1)
        return found;
    const char *nearest = spelling_nearest(name, ids, kb->pages.count);
    if (matches > 1)
        error_set(error, ERROR_KB_NOT_FOUND, "several pages are called '%s'", name);
    else
        error_set(error, ERROR_KB_NOT_FOUND, "the knowledge base has no page '%s'", name);
    if (matches <= 1 && nearest)
        error_hint(error, "did you mean '%s'?", nearest);
    else
        error_hint(error, "smelt kb list has them all, with the folders they are in");
    return NULL;
}
