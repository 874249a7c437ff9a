/* What a library of products and convolutions does: a row describes one of float32 or bfloat16
   tensors and gets a unit that runs it on one thread. Rows use units through pieces.h, which cuts
   large problems. There are two such libraries: oneDNN (dnnl.h), and one of jfl's own, which is
   always there (own/own.h). */
#ifndef JF_UNITS_H
#define JF_UNITS_H

#include "dev/cpu/cpu.h"
#include "op/epilogue.h"

/* How far apart lines and matrices are in memory, in elements. */
typedef struct jf_unit_lines { int64_t lead, apart; } jf_unit_lines;

/* c (batch, m, n) = a b, batch by batch; a is (batch, m, k), transposed (batch, k, m), b alike. */
typedef struct jf_unit_matmul {
  int64_t batch, m, k, n;
  jf_unit_lines a, b, c;       /* the residual lies as c does */
  int transpose_a, transpose_b;
  int64_t panel;               /* pieces.h: b lies in panels, as op/matmul.h says; 0: it does not */
  int add;                     /* c += a b instead of c = a b */
  jfl_dtype from, to;          /* of a and b; of c, bias and residual */
  jf_epilogue epilogue;        /* bias (n), residual like c */
} jf_unit_matmul;

/* A convolution of x (batch, in_channels, in...), w (out_channels, in_channels / groups, kernel...)
   and y (batch, out_channels, out...). The tensors have `axes` of depth, height and width, the last
   ones; the extents of the others are 1. With `last`, channels are the last axis of each. Blocks of
   channels and packed filters are those of op/conv.h. */
typedef struct jf_unit_conv {
  int64_t batch, groups, in_channels, out_channels;
  int64_t in[3], out[3], kernel[3], stride[3], dilation[3], before[3], after[3];
  int axes, last;
  int64_t block;
  int block_x, block_y, packed;
  jfl_dtype from, to;          /* of the two operands; of the result, bias and residual */
  jf_epilogue epilogue;        /* of a forward call; with `bias`, JF_UNIT_FILTER_GRAD gives dbias */
} jf_unit_conv;

/* What is computed, and the two operands from which. */
typedef enum jf_unit_kind {
  JF_UNIT_FORWARD,        /* x, w -> y */
  JF_UNIT_DATA_GRAD,      /* dy, w -> dx */
  JF_UNIT_FILTER_GRAD     /* x, dy -> dw */
} jf_unit_kind;

/* The operands and results of a run; NULL for those that the problem does not have. */
typedef struct jf_unit_run {
  const void *a, *b;
  void *c;
  const void *bias, *residual;
  void *dbias;
  void *ready;                 /* b as jf_units.ready has converted it; NULL: each run converts b */
  const float *scale;          /* pieces.h: what a is multiplied by, where it can be; or NULL */
} jf_unit_run;

/* A product or a convolution, ready to run. Several lanes may run it at the same time, each with
   scratch of its own. What it is, its library knows. */
typedef void jf_unit_any;

/* How many lanes are wanted; the unit, and how many bytes of scratch a lane needs. `ready`: bytes
   of b in the layout that the unit converts it to; 0: it takes b as it is. */
typedef struct jf_unit_make {
  int lanes;
  jf_unit_any *unit;
  size_t scratch, ready;
} jf_unit_make;

/* What a library can do. */
typedef struct jf_units {
  jfl_status (*matmul)(const jf_unit_matmul *m, jf_unit_make *make);
  jfl_status (*conv)(const jf_unit_conv *c, jf_unit_kind kind, jf_unit_make *make);
  jfl_status (*execute)(jf_unit_any *u, int lane, void *scratch, jf_unit_run r);
  void (*release)(jf_unit_any *u);
  /* Converts b once for many runs, of any lane; those are then given `to` as ready. */
  jfl_status (*ready)(jf_unit_any *u, int lane, const void *b, void *to);
  /* Whether epilogues may have this activation. */
  int (*activates)(const char *act);
  /* How many channels the fast convolutions want in a block; 0: they want no blocks. */
  int64_t (*block)(void);
  int strided;                 /* lines of matrices that lie far apart, and scale, cost nothing */
} jf_units;

#endif
