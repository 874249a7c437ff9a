/* A graph of cuDNN's as it is run late: all that is known of it, in one piece (graph.c). */
#ifndef EMULATED_CUDNN_H
#define EMULATED_CUDNN_H

#include "emulated.h"

enum { T32 = 0, T64 = 1, T16 = 2, TI32 = 4, TB16 = 9, TBOOL = 11 };   /* its types */
enum { MODE_ADD = 0, MODE_MUL = 1, MODE_DIV = 6, MODE_SUB = 9, MODE_EXP = 13, MODE_LOG = 15,
       MODE_RELU = 100, MODE_AT_LEAST = 303, MODE_INDEX = 501, MODE_SELECT = 601,
       MODE_SUM = 0, MODE_MAX = 3 };                               /* of ops and of reductions */
enum { EMULATED_OPS = 24, EMULATED_TENSORS = 48, EMULATED_AXES = 6 };

typedef struct emulated_tensor {
  int64_t id, extent[EMULATED_AXES], step[EMULATED_AXES], alignment;
  int n, type, is_virtual;
  int by_value;                        /* it is the number `value` */
  float value;
  void *at;
} emulated_tensor;

typedef struct emulated_op {
  int sort;                            /* cuDNN's: 10 forward, 11 filter, 12 data, 13 pointwise, */
  int mode, axis;                      /* 19 matmul, 22 reduction, 31 reshape */
  int x, b, t, y;                      /* numbers of tensors; b: filters, or -1 */
  int64_t stride[3], dilation[3], before[3];
} emulated_op;

typedef struct emulated_run_args {
  int n_op, n_tensor;
  int tf32;                            /* float32 operands are read with 10 bits of mantissa */
  int spoil;                           /* results are wrong */
  int slow;                            /* it takes some milliseconds */
  emulated_op op[EMULATED_OPS];
  emulated_tensor tensor[EMULATED_TENSORS];
} emulated_run_args;

size_t emulated_type_size(int type);
/* Runs an emulated_run_args. */
void emulated_graph_run(void *args);

#endif
