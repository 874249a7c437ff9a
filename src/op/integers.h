/* How a graph says that numbers stand for integers, as quantized networks have them:
   v = (q - zero) scale, where q is of int8 or uint8 and zero is a whole number, and
   q = x / scale, rounded, + zero. */
#ifndef JF_OP_INTEGERS_H
#define JF_OP_INTEGERS_H

#include "ir/ir.h"
#include "op/quantized_conv.h"

/* If v is integers times a scale, gives the integers, else NULL. zero: what is subtracted from them
   before that. */
jfl_value *jf_integers_of(const jfl_value *v, jfl_value **scale, int *zero);

/* A product as conv2d: of images, or of the rows of x and of `factor`. `line`: what each filter is
   multiplied by; act: what is applied in the end, if that is not relu; these, bias and residual may
   be NULL. */
typedef struct jf_integer_product {
  jfl_value *x, *factor, *line, *bias, *residual;
  const jfl_op *act;
  int relu;
  const jf_conv *conv;                   /* of images; NULL: of rows */
} jf_integer_product;
/* Whether n is a product that quantized_conv2d may compute, if its operands are integers. */
int jf_integer_product_of(const jf_node *n, jf_integer_product *out);

/* What n, which reads v, is on the way from a product to integers. The first two and views keep the
   order of numbers, so that they may as well come after the rounding. */
typedef enum jf_integer_step {
  JF_STEP_NONE, JF_STEP_RELU, JF_STEP_POOL, JF_STEP_VIEW, JF_STEP_DIVIDE, JF_STEP_ROUND,
  JF_STEP_SHIFT, JF_STEP_CONVERT
} jf_integer_step;
jf_integer_step jf_integer_step_of(const jf_node *n, const jfl_value *v);
/* By what a node of JF_STEP_DIVIDE divides: *number, or where that is 0 its second input. */
jfl_value *jf_integer_divisor(const jf_node *n, double *number);
/* The whole number that a node adds or subtracts, or 0 where it does not have one of 8 bits. */
int jf_integer_shift(const jf_node *n);

/* Emits v, rounded to integers of that scale and back. */
jfl_value *jf_emit_rounded(jfl_graph *g, jfl_value *v, jfl_value *scale, jfl_dtype to);

#endif
