/* oneDNN, opened at run time. dnnl.c hides the library's versions and types: a row describes a
   product or a convolution of float32 or bfloat16 tensors and gets a unit that runs it on one
   thread. Rows use units through pieces.h, which cuts large problems. */
#ifndef JF_DNNL_H
#define JF_DNNL_H

#include "dev/cpu/cpu.h"
#include "op/epilogue.h"

/* How far apart lines and matrices are in memory, in elements. */
typedef struct jf_dnnl_lines { int64_t lead, apart; } jf_dnnl_lines;

/* c (batch, m, n) = a b, batch by batch; a is (batch, m, k), transposed (batch, k, m), b alike. */
typedef struct jf_dnnl_matmul {
  int64_t batch, m, k, n;
  jf_dnnl_lines a, b, c;       /* the residual lies as c does */
  int transpose_a, transpose_b;
  int64_t panel;               /* pieces.h: b lies in panels, as op/matmul.h says; 0: it does not */
  int add;                     /* c += a b instead of c = a b */
  jfl_dtype from, to;          /* of a and b; of c, bias and residual */
  jf_epilogue epilogue;        /* bias (n), residual like c */
} jf_dnnl_matmul;

/* A convolution of x (batch, in_channels, in...), w (out_channels, in_channels / groups, kernel...)
   and y (batch, out_channels, out...). The tensors have `axes` of depth, height and width, the last
   ones; the extents of the others are 1. With `last`, channels are the last axis of each. Blocks of
   channels and packed filters are those of op/conv.h. */
typedef struct jf_dnnl_conv {
  int64_t batch, groups, in_channels, out_channels;
  int64_t in[3], out[3], kernel[3], stride[3], dilation[3], before[3], after[3];
  int axes, last;
  int64_t block;
  int block_x, block_y, packed;
  jfl_dtype from, to;          /* of the two operands; of the result, bias and residual */
  jf_epilogue epilogue;        /* of a forward call; with `bias`, JF_DNNL_FILTER_GRAD gives dbias */
} jf_dnnl_conv;

/* What is computed, and the two operands from which. */
typedef enum jf_dnnl_kind {
  JF_DNNL_FORWARD,        /* x, w -> y */
  JF_DNNL_DATA_GRAD,      /* dy, w -> dx */
  JF_DNNL_FILTER_GRAD     /* x, dy -> dw */
} jf_dnnl_kind;

/* The operands and results of a run; NULL for those that the problem does not have. */
typedef struct jf_dnnl_run {
  const void *a, *b;
  void *c;
  const void *bias, *residual;
  void *dbias;
  void *ready;                 /* b as jf_dnnl.ready has converted it; NULL: each run converts b */
  float scale;                 /* pieces.h: what a is multiplied by, where it can be; 0: nothing */
} jf_dnnl_run;

/* A product or a convolution, ready to run. Several lanes may run it at the same time, each with
   scratch of its own. */
typedef struct jf_dnnl_unit jf_dnnl_unit;

/* How many lanes are wanted; the unit, and how many bytes of scratch a lane needs. `ready`: bytes
   of b in the layout that the unit converts it to; 0: it takes b as it is. */
typedef struct jf_dnnl_make {
  int lanes;
  jf_dnnl_unit *unit;
  size_t scratch, ready;
} jf_dnnl_make;

/* What the library can do. */
typedef struct jf_dnnl {
  jfl_status (*matmul)(const jf_dnnl_matmul *m, jf_dnnl_make *make);
  jfl_status (*conv)(const jf_dnnl_conv *c, jf_dnnl_kind kind, jf_dnnl_make *make);
  jfl_status (*execute)(jf_dnnl_unit *u, int lane, void *scratch, jf_dnnl_run r);
  void (*release)(jf_dnnl_unit *u);
  /* Converts b once for many runs, of any lane; those are then given `to` as ready. */
  jfl_status (*ready)(jf_dnnl_unit *u, int lane, const void *b, void *to);
  /* Whether epilogues may have this activation. */
  int (*activates)(const char *act);
  /* How many channels the fast convolutions want in a block; 0: they want no blocks. */
  int64_t (*block)(void);
} jf_dnnl;

/* Opens the library the first time; returns NULL if it is not installed. */
const jf_dnnl *jf_dnnl_open(void);
/* For rows: whether the library is there, and the call's tensors are float32, or all that it reads
   are bfloat16 on a processor that multiplies these, and small enough for it. It counts in ints,
   and would divide by a number that overflowed. */
int jf_dnnl_accepts(const jf_kargs *k);

#endif
