/* Fuzzes the file of models: refused with a place, or models that can be asked. */
#include <stdint.h>
#include <string.h>

#include "propose/llm/llm.h"
#include "propose/model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct source source = {"models.conf", arena_copy(&arena, (const char *)data, size), size};
    struct models models = {0};
    struct error error = {0};
    bool read = model_config_parse(&arena, &source, &models, &error);
    if (read != (error.code == ERROR_NONE))
        __builtin_trap();
    for (size_t i = 0; read && i < models.count; i++) {
        const struct model *model = &models.at[i];
        if (!model->protocol || !model->url || !model->id || !model->limit ||
            model->window < LLM_WINDOW_LEAST || model->reply > model->window / 2 ||
            !(model->total > 0) || model->at_once < 1 || model->attempts < 1 ||
            model_find(&models, model->name) != model)
            __builtin_trap();
    }
    if (!read) {
        struct text shown = text_new(&arena);
        error_render(&shown, &error, false);
    }
    arena_release(&arena);
    return 0;
}
