/* oneDNN, opened at run time. This pair hides its versions and types: rows describe a product or a
   convolution of float32 tensors, and get a state to run. */
#ifndef JF_DNNL_H
#define JF_DNNL_H

#include "dev/cpu/cpu.h"
#include "op/epilogue.h"

/* c (batch, m, n) = a b, batch by batch; a is (batch, m, k), transposed (batch, k, m), b alike. */
typedef struct jf_dnnl_matmul {
  int64_t batch, m, k, n;
  int transpose_a, transpose_b;
  int add;                     /* c += a b instead */
  jf_epilogue epilogue;        /* bias (n), residual like c */
} jf_dnnl_matmul;

/* A 2-D convolution: x (batch, in_channels, in...), w (out_channels, in_channels / groups,
   kernel...), y (batch, out_channels, out...). Pairs are height, width. Blocks of channels and
   packed filters are as op/conv2d.h says. */
typedef struct jf_dnnl_conv {
  int64_t batch, groups, in_channels, out_channels;
  int64_t in[2], out[2], kernel[2], stride[2], dilation[2], before[2], after[2];
  int64_t block;
  int block_x, block_y, packed;
  jf_epilogue epilogue;        /* forward; with bias JF_DNNL_FILTER_GRAD gives dbias */
} jf_dnnl_conv;

/* What is computed, from which two operands. */
typedef enum jf_dnnl_kind {
  JF_DNNL_FORWARD,        /* x, w -> y */
  JF_DNNL_DATA_GRAD,      /* dy, w -> dx */
  JF_DNNL_FILTER_GRAD     /* x, dy -> dw */
} jf_dnnl_kind;

/* Operands and results of one run; what the problem does not have is NULL. */
typedef struct jf_dnnl_run {
  const void *a, *b;
  void *c;
  const void *bias, *residual;
  void *dbias;
} jf_dnnl_run;

/* What the library does for rows. The first two set k->state and *scratch (bytes); they read
   k->threads. */
typedef struct jf_dnnl {
  jfl_status (*matmul)(const jf_dnnl_matmul *m, jf_kargs *k, size_t *scratch);
  jfl_status (*conv)(const jf_dnnl_conv *c, jf_dnnl_kind kind, jf_kargs *k, size_t *scratch);
  jfl_status (*execute)(const jf_kargs *k, jf_dnnl_run r);
  void (*release)(void *state);
  /* Whether an epilogue may have this activation. */
  int (*activates)(const char *act);
  /* How many channels the fast convolutions want side by side; 0: they have no such wish. */
  int64_t (*block)(void);
} jf_dnnl;

/* NULL where the library is not there; opens it the first time. */
const jf_dnnl *jf_dnnl_open(void);
/* For rows: whether the library is there, and a call's tensors are float32 and of sizes that are
   ints, as they are within the library; it divides by what overflowed. */
int jf_dnnl_accepts(const jf_kargs *k);
/* For rows: returns a state of the above. */
void jf_dnnl_release(void *state);

#endif
