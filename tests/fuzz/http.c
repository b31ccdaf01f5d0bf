/* Fuzzes the heads of HTTP requests: part of one, refused with a status, or a request whose strings
 * are there and whose size is within the limit; and nobody gets in without the token. */
#include <stdint.h>
#include <string.h>

#include "mcp/mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char token[] = "0123456789abcdef";
    struct arena arena = {0};
    struct mcp_request request;
    size_t used = 0;
    int status = 0;
    const char *reason = NULL;
    char *text = arena_copy(&arena, (const char *)data, size);
    enum mcp_head head = mcp_request_parse(&arena, text, size, &request, &used, &status, &reason);
    if (head == MCP_HEAD_BAD && (status < 400 || status > 599 || !reason))
        __builtin_trap();
    if (head == MCP_HEAD_PART && size > MCP_HEAD_BYTES)
        __builtin_trap();
    if (head == MCP_HEAD_WHOLE) {
        if (used > size || used == 0 || request.body > MCP_MESSAGE_BYTES || !request.method[0] ||
            request.path[0] != '/')
            __builtin_trap();
        int refused = mcp_request_refused(&request, token);
        if (refused != 0 && refused != 401 && refused != 403)
            __builtin_trap();
        if (refused == 0 && !strstr(request.authorization, token))
            __builtin_trap();
    }
    arena_release(&arena);
    return 0;
}
