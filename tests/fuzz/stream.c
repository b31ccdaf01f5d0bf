/* Fuzzes what servers of models send: events cut anywhere, JSON of any kind, both protocols. The
 * first byte says where it is cut; the text that comes of it does not depend on that. */
#include <stdint.h>
#include <string.h>

#include "propose/model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct hearing {
    struct model model;
    struct model_stream stream;
};

static void take(void *context, const char *data, size_t length)
{
    struct hearing *hearing = context;
    model_stream_event(&hearing->stream, &hearing->model, data, length);
}

static struct model_stream hear(struct arena *arena, int protocol, const char *bytes, size_t length,
                                size_t piece)
{
    struct hearing *hearing = arena_new(arena, struct hearing);
    hearing->model.protocol = model_protocols[protocol];
    hearing->stream = (struct model_stream){
        .arena = arena, .text = text_new(arena), .read = -1, .written = -1, .stop = ""};
    struct sse sse = sse_new(arena, take, hearing);
    for (size_t at = 0; at < length; at += piece)
        if (!sse_push(&sse, bytes + at, length - at < piece ? length - at : piece))
            break;
    return hearing->stream;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    for (int protocol = 0; model_protocols[protocol]; protocol++) {
        struct arena arena = {0};
        const char *bytes = (const char *)data + 1;
        struct model_stream whole = hear(&arena, protocol, bytes, size - 1, size);
        struct model_stream cut = hear(&arena, protocol, bytes, size - 1, data[0] + 1u);
        if (strcmp(whole.text.at, cut.text.at) != 0 || whole.read != cut.read ||
            whole.written != cut.written || whole.done != cut.done || !whole.error != !cut.error ||
            strcmp(whole.stop, cut.stop) != 0)
            __builtin_trap();
        if (whole.read < -1 || whole.written < -1 || !model_doubt(&whole, size, 1000))
            __builtin_trap();
        struct model_stream plain = {
            .arena = &arena, .text = text_new(&arena), .read = -1, .written = -1, .stop = ""};
        struct model model = {.protocol = model_protocols[protocol]};
        model_stream_event(&plain, &model, bytes, size - 1);
        arena_release(&arena);
    }
    return 0;
}
