/*
 * A model of the tile instructions of AMX, for kernels that are tested where there are none. It is
 * included in front of a kernel and takes the names the kernel would give to the instructions.
 *
 * Follows the pseudo-code of Intel's manual: shapes are checked as the instructions check them
 * (what would be #UD or #GP ends the program), rows beyond a tile's are zero, products of bf16 are
 * summed in two chains per result that are added at the end, rounded to nearest, with numbers below
 * the least normal one taken for zero; products of bytes wrap. Each thread has tiles of its own.
 */
#ifndef TILE_MODEL_H
#define TILE_MODEL_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MODEL static __attribute__((unused))

enum { MODEL_TILES = 8, MODEL_ROWS = 16, MODEL_BYTES = 64 };

static __thread struct {
    int palette; /* 0: not configured */
    int rows[MODEL_TILES], bytes[MODEL_TILES];
    uint8_t data[MODEL_TILES][MODEL_ROWS][MODEL_BYTES];
} model_tiles;

MODEL void model_require(int holds)
{
    if (!holds)
        abort();
}

/* 64 bytes: palette, start row, 14 reserved, then bytes of a row and rows, 16 places each. */
MODEL void model_configure(const void *shape)
{
    const uint8_t *at = shape;
    memset(&model_tiles, 0, sizeof model_tiles);
    if (at[0] == 0)
        return;
    model_require(at[0] == 1);
    for (int i = 2; i < 16; i++)
        model_require(at[i] == 0);
    for (int i = 0; i < 16; i++) {
        int bytes = at[16 + 2 * i] | at[17 + 2 * i] << 8, rows = at[48 + i];
        model_require(i < MODEL_TILES || (bytes == 0 && rows == 0));
        model_require(bytes <= MODEL_BYTES && rows <= MODEL_ROWS);
        model_require((bytes == 0) == (rows == 0));
        if (i < MODEL_TILES) {
            model_tiles.bytes[i] = bytes;
            model_tiles.rows[i] = rows;
        }
    }
    model_tiles.palette = 1;
}

MODEL void model_end(void)
{
    memset(&model_tiles, 0, sizeof model_tiles);
}

MODEL void model_valid(int tile)
{
    model_require(model_tiles.palette == 1 && tile >= 0 && tile < MODEL_TILES &&
                  model_tiles.rows[tile] > 0);
}

MODEL void model_zero(int tile)
{
    model_valid(tile);
    memset(model_tiles.data[tile], 0, sizeof model_tiles.data[tile]);
}

MODEL void model_load(int tile, const void *at, int64_t stride)
{
    model_zero(tile);
    for (int r = 0; r < model_tiles.rows[tile]; r++)
        memcpy(model_tiles.data[tile][r], (const uint8_t *)at + r * stride,
               (size_t)model_tiles.bytes[tile]);
}

MODEL void model_store(int tile, void *at, int64_t stride)
{
    model_valid(tile);
    for (int r = 0; r < model_tiles.rows[tile]; r++)
        memcpy((uint8_t *)at + r * stride, model_tiles.data[tile][r],
               (size_t)model_tiles.bytes[tile]);
}

/* Shapes must agree, and no tile may be named twice. */
MODEL void model_product(int sum, int a, int b)
{
    model_valid(sum);
    model_valid(a);
    model_valid(b);
    model_require(sum != a && sum != b && a != b);
    model_require(model_tiles.rows[sum] == model_tiles.rows[a]);
    model_require(model_tiles.bytes[sum] == model_tiles.bytes[b]);
    model_require(model_tiles.bytes[a] == 4 * model_tiles.rows[b]);
}

MODEL float model_flush(float value)
{
    return fabsf(value) < 0x1p-126f ? copysignf(0, value) : value;
}

MODEL float model_bf16(const uint8_t *row, int number)
{
    uint32_t bits = (uint32_t)row[2 * number + 1] << 24 | (uint32_t)row[2 * number] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return model_flush(value);
}

MODEL void model_dot_bf16(int sum, int a, int b)
{
    model_product(sum, a, b);
    for (int m = 0; m < model_tiles.rows[sum]; m++) {
        const uint8_t *row = model_tiles.data[a][m];
        for (int n = 0; n < model_tiles.bytes[sum] / 4; n++) {
            float chains[2] = {0, 0}, before;
            for (int k = 0; k < model_tiles.bytes[a] / 4; k++)
                for (int i = 0; i < 2; i++)
                    chains[i] =
                        model_flush(fmaf(model_bf16(row, 2 * k + i),
                                         model_bf16(model_tiles.data[b][k], 2 * n + i), chains[i]));
            memcpy(&before, &model_tiles.data[sum][m][4 * n], sizeof before);
            float both = model_flush(chains[0] + chains[1]);
            float after = model_flush(model_flush(before) + both);
            memcpy(&model_tiles.data[sum][m][4 * n], &after, sizeof after);
        }
    }
}

MODEL void model_dot_bytes(int sum, int a, int b, int a_signed, int b_signed)
{
    model_product(sum, a, b);
    for (int m = 0; m < model_tiles.rows[sum]; m++) {
        for (int n = 0; n < model_tiles.bytes[sum] / 4; n++) {
            uint32_t total;
            memcpy(&total, &model_tiles.data[sum][m][4 * n], sizeof total);
            for (int k = 0; k < model_tiles.bytes[a]; k++) {
                uint8_t x = model_tiles.data[a][m][k],
                        y = model_tiles.data[b][k / 4][4 * n + k % 4];
                int32_t p = a_signed ? (int8_t)x : x, q = b_signed ? (int8_t)y : y;
                total += (uint32_t)(p * q);
            }
            memcpy(&model_tiles.data[sum][m][4 * n], &total, sizeof total);
        }
    }
}

#define i32x16_tile_configure(shape) model_configure(shape)
#define i32x16_tile_end() model_end()
#define i32x16_tile_zero(tile) model_zero(tile)
#define i32x16_tile_load(tile, at, stride) model_load(tile, at, stride)
#define i32x16_tile_load_once(tile, at, stride) model_load(tile, at, stride)
#define i32x16_tile_store(tile, at, stride) model_store(tile, at, stride)
#define i32x16_tile_dot_bf16(sum, a, b) model_dot_bf16(sum, a, b)
#define i32x16_tile_dot_i8_i8(sum, a, b) model_dot_bytes(sum, a, b, 1, 1)
#define i32x16_tile_dot_i8_u8(sum, a, b) model_dot_bytes(sum, a, b, 1, 0)
#define i32x16_tile_dot_u8_i8(sum, a, b) model_dot_bytes(sum, a, b, 0, 1)
#define i32x16_tile_dot_u8_u8(sum, a, b) model_dot_bytes(sum, a, b, 0, 0)

#endif
