/* Attributes of matmul. */
#ifndef JF_OP_MATMUL_H
#define JF_OP_MATMUL_H

#include "op/epilogue.h"

/* Each flag says that the last two axes of that operand are swapped. Passes set
   `f32_result`: operands of 16 bits then have a product of float32; and `panel`: then b, one matrix
   of n lines that transpose_b is for, lies in panels of so many lines, a divisor of n, each of them
   transposed. */
typedef struct jf_matmul { int transpose_a, transpose_b, f32_result, panel; } jf_matmul;

/* matmul_fused(a, b, extra...) -> y: a product and its epilogue. Kernels of matmul may be given a
   call of matmul_fused, as its attributes begin with those of matmul.
     matmul_kept(a, b, extra...) -> y, kept: the same; kept is what the activation reads. */
typedef struct jf_matmul_fused {
  jf_matmul product;
  jf_epilogue epilogue;
} jf_matmul_fused;

/* matmul_slope(a, b, kept) -> y: a product, times what the op `act` gives for kept. */
typedef struct jf_matmul_slope {
  jf_matmul product;
  const char *act;
  const jf_loop *loop;           /* the loops of that op by dtype; set by infer */
} jf_matmul_slope;

/* matmul_summed(a, b) -> y, sums: a product, and the sums of factor number `of` over its first
   axis, which is the one that the product sums over. */
typedef struct jf_matmul_summed { jf_matmul product; int of; } jf_matmul_summed;

/* The axis of factor number i, of shape s, that is left if it is summed so; -1: it cannot be. */
int jf_matmul_sum_axis(const jf_matmul *p, const jfl_shape *s, int i);

/* What the records of all these say: how mixed precision runs the product, and how much work it
   is. */
struct jf_mixed;
extern const struct jf_mixed jf_matmul_mixed;
double jf_matmul_flop(const jf_kargs *k);
#define JF_OF_PRODUCT .mixed = &jf_matmul_mixed, .flop = jf_matmul_flop

struct jf_node;
/* The op, matmul_slope, that makes n's product and multiplies it; NULL: n is no product for it. */
const struct jfl_op *jf_matmul_sloped(const struct jf_node *n);

/* Whether n is a product for which `panel` may be set. */
int jf_matmul_takes_panels(const struct jf_node *n);

/* The axis of input 1 along which columns of the result lie; -1: n is no matmul. */
int jf_matmul_columns(const struct jf_node *n);

struct jf_foldctx;
/* What stands for the transpose that is the node of c, where it swaps the last two axes of a
   product that nothing else reads; else NULL. */
jfl_value *jf_fold_transposed(struct jf_foldctx *c);

/* The attributes of a jf_matmul that is member `at` of struct T. */
#define JF_MATMUL_ATTRS(T, at)                                                          \
  { "transpose_a", JF_ATTR_BOOL, offsetof(T, at transpose_a), "false",                  \
    "read the last two axes of a in reverse", NULL },                                   \
  { "transpose_b", JF_ATTR_BOOL, offsetof(T, at transpose_b), "false", "the same for b", NULL }

#endif
