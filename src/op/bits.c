/* Ops on the bits of integers; negative ones are in two's complement. A negative number of places
   to shift by is a large one as U. */
#include "op/elementwise.h"

#define BITS_OF(TILE, id, EXPR)                                         \
  JF_TEXT(id, #EXPR)                                                    \
  TILE(id, I8, int8_t, uint8_t, int8_t, JF_NO_ATTRS, EXPR)              \
  TILE(id, U8, uint8_t, uint8_t, uint8_t, JF_NO_ATTRS, EXPR)            \
  TILE(id, I32, int32_t, uint32_t, int32_t, JF_NO_ATTRS, EXPR)          \
  TILE(id, I64, int64_t, uint64_t, int64_t, JF_NO_ATTRS, EXPR)          \
  static const jf_loop id##_loop[JFL_N_DTYPE] = { BITS(id##_) };        \
  static const jf_kernel id##_cpu[JFL_N_DTYPE] = { BITS(id##_plain_) };
#define BITS(p) [JFL_I8] = p##I8, [JFL_U8] = p##U8, [JFL_I32] = p##I32, [JFL_I64] = p##I64

BITS_OF(JF_BINARY_LOOP, bitwise_and, a & b)
BITS_OF(JF_BINARY_LOOP, bitwise_or, a | b)
BITS_OF(JF_BINARY_LOOP, bitwise_xor, a ^ b)
BITS_OF(JF_UNARY_LOOP, bitwise_not, ~a)
BITS_OF(JF_BINARY_LOOP, shift_left, (U)b < 8 * sizeof(T) ? (U)a << b : 0)
BITS_OF(JF_BINARY_LOOP, shift_right,
  (U)b < 8 * sizeof(T) ? a >> b : a >> (8 * sizeof(T) - 1) >> 1)

JFL_OP(bitwise_and, .doc = "The bits that both x and y have.", .path = "math.bitwise_and",
  JF_OF_TWO(bitwise_and), .flags = JF_COMMUTES)

JFL_OP(bitwise_or, .doc = "The bits that x or y has.", .path = "math.bitwise_or",
  JF_OF_TWO(bitwise_or), .flags = JF_COMMUTES)

JFL_OP(bitwise_xor, .doc = "The bits that x and y differ in.", .path = "math.bitwise_xor",
  JF_OF_TWO(bitwise_xor), .flags = JF_COMMUTES)

JFL_OP(bitwise_not, .doc = "The bits that x does not have.", .path = "math.bitwise_not",
  JF_OF_ONE(bitwise_not))

JFL_OP(shift_left, .doc = "x times 2 to the power of y, whose bits beyond the dtype's are lost; 0 "
  "where y is negative, or at least as many as there are.", .path = "math.shift_left",
  JF_OF_TWO(shift_left))

JFL_OP(shift_right, .doc = "x by 2 to the power of y, rounded down; where y is negative or at "
  "least as many as there are bits, 0, or -1 for negative x.", .path = "math.shift_right",
  JF_OF_TWO(shift_right))
