/*
 * dlopen with its errors in our form. A struct library is the loader's own handle, never looked
 * into.
 */
#include "os/library.h"

#include <dlfcn.h>
#include <string.h>

static const char *loader_says(void)
{
    const char *text = dlerror();
    return text ? text : "the loader does not say why";
}

struct library *library_open(const char *name, struct error *error)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        error_set(error, ERROR_MISSING_TOOL, "could not load the library %s", name);
        error_detail(error, "%s", loader_says());
    }
    return handle;
}

void *library_symbol(struct library *library, const char *symbol, struct error *error)
{
    dlerror(); /* what is left from before is not about this symbol */
    void *address = dlsym(library, symbol);
    if (!address) {
        error_set(error, ERROR_MISSING_TOOL, "the library has no symbol %s", symbol);
        error_detail(error, "%s", loader_says());
    }
    return address;
}

bool library_load(struct library *library, const char *symbol, void *function, struct error *error)
{
    void *address = library_symbol(library, symbol, error);
    memcpy(function, &address, sizeof address); /* C has no cast from one to the other */
    return address != NULL;
}

void library_close(struct library *library)
{
    if (library)
        dlclose(library);
}
