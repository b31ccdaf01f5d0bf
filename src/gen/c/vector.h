/*
 * Private to src/gen/c: vectors in C, of GCC's vector extensions only.
 *
 * A vector type is called by its lanes, f32x16; what is done with it begins with that name:
 * f32x16_exp. Truth values are i32x16 with all bits of a lane set or none, whatever is compared.
 * The loops mention such names, and a file gets the functions it mentions, each from one text for
 * all types and lanes.
 */
#ifndef SMELT_GEN_C_VECTOR_H
#define SMELT_GEN_C_VECTOR_H

#include "base/base.h"

/*
 * In the text of a piece stand for the vector it is made for, say f32x16:
 *
 *     $V f32x16    $E float    $N 16      $B 4 bytes of a lane   $Z 64 bytes in all
 *     $I i32x16    $U u32x16   $H f32x8   $M i32x16, truth       $T f32    $@ f
 *     $F f32x16    $D f64x16   $L i64x16  $W u16x16  $Y u8x16    $X u32x16  $S i16x16  $Q i8x16
 *     $w int       $k si       $b 512     what the builtins of x86 call it
 *     $[iota] 0, 1, ... 15     $[a] a, a, ... a     $[low] 0, ... 7     $[high] 8, ... 15
 */
struct vector_piece {
    const char *name;  /* after the type: "exp" */
    const char *types; /* of the lanes: "f32 f64"; "" for any */
    int bytes;         /* of the whole vector; 0: any. The first piece that fits is taken */
    const char *text;
};

/* In the order in which they are written: a piece mentions only earlier ones, or its own with fewer
 * lanes. Each table ends with a NULL name. */
extern const struct vector_piece vector_memory[], vector_values[], vector_words[], vector_math[],
    vector_libm[];

/* Types and functions the text mentions, in front of it. */
void vector_prelude(struct arena *arena, struct text *out, const struct text *text);
/* Whether a name could be one of a vector's: nothing else may be called so. */
bool vector_is_name(const char *name);

#endif
