/* What a library of products and convolutions does: a row describes one of float32 or bfloat16
   tensors and gets a unit that runs it on one thread. Rows use units through pieces.h, which cuts
   large problems. There are two such libraries: oneDNN (dnnl.h), and one of jfl's own, which is
   always there (own/own.h). */
#ifndef JF_PRIMITIVES_H
#define JF_PRIMITIVES_H

#include "dev/cpu/cpu.h"
#include "op/epilogue.h"

/* How far apart lines and matrices are in memory, in elements. */
typedef struct jf_primitive_lines { int64_t lead, apart; } jf_primitive_lines;

/* c (batch, m, n) = a b, batch by batch; a is (batch, m, k), transposed (batch, k, m), b alike. */
typedef struct jf_primitive_matmul {
  int64_t batch, m, k, n;
  jf_primitive_lines a, b, c;  /* the residual lies as c does */
  int transpose_a, transpose_b;
  int64_t panel;               /* pieces.h: b lies in panels, as op/matmul.h says; 0: it does not */
  int add;                     /* c += a b instead of c = a b */
  jfl_dtype from, to;          /* of a and b; of c, bias and residual */
  jf_epilogue epilogue;        /* bias (n), residual like c */
} jf_primitive_matmul;

/* A convolution of x (batch, in_channels, in...), w (out_channels, in_channels / groups, kernel...)
   and y (batch, out_channels, out...). The tensors have `axes` of depth, height and width, the last
   ones; the extents of the others are 1. With `last`, channels are the last axis of each. Blocks of
   channels and packed filters are those of op/conv.h. */
typedef struct jf_primitive_conv {
  int64_t batch, groups, in_channels, out_channels;
  int64_t in[3], out[3], kernel[3], stride[3], dilation[3], before[3], after[3];
  int axes, last;
  int64_t block;
  int block_x, block_y, packed;
  jfl_dtype from, to;          /* of the two operands; of the result, bias and residual */
  jf_epilogue epilogue;        /* of a forward call; with `bias`, JF_UNIT_FILTER_GRAD gives dbias */
  /* A forward call as op/quantized_conv.h says: filters are of int8, `from` is int8 or uint8. With
     epilogue.residual there are a residual of that dtype and a number. */
  int scaled, relu, zero, first_zero;
  jfl_dtype residual, first;
} jf_primitive_conv;

/* What is computed, and the two operands from which. */
typedef enum jf_primitive_kind {
  JF_UNIT_FORWARD,        /* x, w -> y */
  JF_UNIT_DATA_GRAD,      /* dy, w -> dx */
  JF_UNIT_FILTER_GRAD     /* x, dy -> dw */
} jf_primitive_kind;

/* The operands and results of a run; NULL for those that the problem does not have. */
typedef struct jf_primitive_run {
  const void *a, *b;
  void *c;
  const void *bias, *residual;
  void *dbias;
  void *ready;                 /* b as jf_primitives.ready made it; NULL: each run converts b */
  const float *scale;          /* pieces.h: what a is multiplied by, where it can be; or NULL */
  /* Of a scaled convolution, whose bias is `bias`. With a residual: shift is added to it; ratio is
     there if sums are rounded `first`. */
  const float *factor, *number, *ratio, *shift;
} jf_primitive_run;

/* A product or a convolution, ready to run. Several workers may run it at the same time, each with
   scratch of its own. What it is, its library knows. */
typedef void jf_primitive_any;

/* How many workers are wanted; the unit, and how many bytes of scratch a worker needs. `ready`:
   bytes of b in the layout that the unit converts it to; 0: it takes b as it is. */
typedef struct jf_primitive_make {
  int workers;
  jf_primitive_any *unit;
  size_t scratch, ready;
} jf_primitive_make;

/* What a library can do. */
typedef struct jf_primitives {
  jfl_status (*matmul)(const jf_primitive_matmul *m, jf_primitive_make *make);
  jfl_status (*conv)(const jf_primitive_conv *c, jf_primitive_kind kind, jf_primitive_make *make);
  jfl_status (*execute)(jf_primitive_any *u, int worker, void *scratch, jf_primitive_run r);
  void (*release)(jf_primitive_any *u);
  /* Converts b once for many runs, of any worker; those are then given `to` as ready. */
  jfl_status (*ready)(jf_primitive_any *u, int worker, const void *b, void *to);
  /* A hash of how that lies, which differs where another unit would convert b to something else;
     0: it is for this unit alone. */
  uint64_t (*form)(const jf_primitive_any *u);
  /* Whether epilogues may have this activation. */
  int (*activates)(const char *act);
  /* How many channels the fast convolutions want in a block; 0: they want no blocks. */
  int64_t (*block)(void);
  int strided;                 /* lines of matrices that lie far apart, and scale, cost nothing */
} jf_primitives;

#endif
