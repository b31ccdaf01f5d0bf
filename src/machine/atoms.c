/*
 * Atoms and precision schemes: which instructions multiply small operands and add, and how wide
 * operands are taken apart for them. See machine.h.
 */
#include "machine/machine.h"

#include <string.h>

const struct machine_atom machine_atoms[MACHINE_ATOM_COUNT] = {
    [MACHINE_BF16_DOT] = {"dot", "vdpbf16ps: two bf16 per lane", MACHINE_UNIT_AVX512, MACHINE_BF16,
                          MACHINE_AVX512_BF16, 2, 2, 1, 300e9},
    [MACHINE_I8_DOT] = {"dot", "vpdpbusd: four bytes per lane", MACHINE_UNIT_AVX512, MACHINE_I8,
                        MACHINE_AVX512_VNNI, 4, 4, 1, 600e9},
    [MACHINE_BF16_TILE] = {"tile", "tdpbf16ps: 16 x 32 by 32 x 16 bf16", MACHINE_UNIT_AMX,
                           MACHINE_BF16, MACHINE_AMX_BF16, 2, 32, 16, 2000e9},
    [MACHINE_I8_TILE] = {"tile", "tdpbssd: 16 x 64 by 64 x 16 bytes", MACHINE_UNIT_AMX, MACHINE_I8,
                         MACHINE_AMX_INT8, 4, 64, 16, 4000e9},
};

const struct machine_scheme machine_schemes[] = {
    {"bf16x6", 3, 24},
    {"bf16x3", 2, 16},
    {"bf16x1", 1, 8},
    {NULL, 0, 0},
};

const struct machine_scheme *machine_scheme_find(const char *name)
{
    for (const struct machine_scheme *scheme = machine_schemes; scheme->name; scheme++) {
        if (strcmp(scheme->name, name) == 0)
            return scheme;
    }
    return NULL;
}

int machine_scheme_products(int parts)
{
    return parts * (parts + 1) / 2;
}

int machine_class_bits(const char *name)
{
    static const struct {
        const char *name;
        int bits;
    } CLASSES[] = {{"f64", 53}, {"f32", 24}, {"tf32", 11}, {"f16", 11},
                   {"bf16", 8}, {"f8e4", 4}, {"f8e5", 3}};
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++) {
        if (strcmp(CLASSES[i].name, name) == 0)
            return CLASSES[i].bits;
    }
    return 64;
}
