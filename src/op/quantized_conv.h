/* Convolutions of numbers of 8 bits. */
#ifndef JF_OP_QUANTIZED_CONV_H
#define JF_OP_QUANTIZED_CONV_H

#include "op/conv.h"

/* quantized_conv2d(x, filters, scale, bias, extra...) -> y, where x is of int8 or uint8, filters
   are of int8, and scale and bias are (O) of float32. With s the whole number that conv2d would
   give for x and filters, v = scale[o] (s + bias[o]). If there are extra, these are a residual like
   y, of float32 or of 8 bits, and one number above 0: v = (v + residual) number. With relu, v is
   max(v, 0). y is v in float32; or v rounded, halves to the even one, + zero, as int8 or uint8. */
typedef struct jf_quantized_conv {
  jf_conv conv;                  /* data_format is "NHWC" */
  jfl_dtype dtype;               /* of y */
  int relu;
  int64_t zero;
} jf_quantized_conv;

/* How many products a sum may have, so that it fits an int32. */
enum { JF_MOST_PRODUCTS = INT32_MAX / (255 * 128) };

static inline int jf_is_byte(jfl_dtype t) { return t == JFL_I8 || t == JFL_U8; }

#endif
