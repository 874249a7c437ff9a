/* Convolutions of numbers of 8 bits. */
#ifndef JF_OP_QUANTIZED_CONV_H
#define JF_OP_QUANTIZED_CONV_H

#include "op/conv.h"

/* quantized_conv2d(x, filters, scale, bias, extra...) -> y, where x is of int8 or uint8, filters
   are of int8, and scale and bias are (O) of float32. With s the whole number that conv2d would
   give for x and filters, v = scale[o] (s + bias[o]). If there are extra, these are a residual like
   y, of float32 or of 8 bits, and one number above 0: v = (v + residual - residual_zero) number.
   Where `first` is int8 or uint8, v is rounded to that before, as y is, with first_zero, which is
   then taken away again, and multiplied by a last number of extra. With relu, v is max(v, 0). y is
   v in float32; or v rounded, halves to the even one, + zero, as int8 or uint8. */
typedef struct jf_quantized_conv {
  jf_conv conv;                  /* data_format is "NHWC" */
  jfl_dtype dtype;               /* of y */
  int relu;
  int64_t zero;
  jfl_dtype first;
  int64_t first_zero, residual_zero;
} jf_quantized_conv;

/* How many products a sum may have, so that it fits an int32. */
enum { JF_MOST_PRODUCTS = INT32_MAX / (255 * 128) };

static inline int jf_is_byte(jfl_dtype t) { return t == JFL_I8 || t == JFL_U8; }
/* The least of its numbers; the greatest is 255 above. */
static inline int jf_least_byte(jfl_dtype t) { return t == JFL_U8 ? 0 : -128; }

#endif
