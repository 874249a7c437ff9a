/* What the plain and fast kernels of recurrent layers agree on. */
#ifndef JF_OP_RECURRENT_H
#define JF_OP_RECURRENT_H

#include "dev/kernel.h"

#define JF_RECURRENT_CELLS \
  typedef enum jf_recurrent_cell { JF_RNN_TANH, JF_RNN_RELU, JF_LSTM, JF_GRU } jf_recurrent_cell;
JF_RECURRENT_CELLS
/* The texts of the cells and of what a step does to a unit (op/scalar.h), whose numbers have the
   type `real`: the functions unit_forward and unit_backward of recurrent.c. */
extern const char jf_recurrent_cells_text[], jf_unit_text[], jf_unit_forward_text[],
  jf_unit_backward_text[];
typedef struct jf_recurrent {
  const char *cell;
  int reverse;
  jf_recurrent_cell kind;                /* set by infer */
} jf_recurrent;

/* The inputs of the op and of its gradient. What comes last depends on the cell: LSTM has c0 (and
   in the gradient gates, cells, c0 and perhaps dcells), GRU bias (gates), the others nothing. */
enum { JF_RNN_X, JF_RNN_WEIGHT, JF_RNN_H0, JF_RNN_EXTRA };
enum { JF_BACK_WEIGHT, JF_BACK_H0, JF_BACK_Y, JF_BACK_DY, JF_BACK_GATES, JF_BACK_CELLS,
       JF_BACK_C0, JF_BACK_DCELLS };

/* Extents of a call; `gates` is how many rows of the weight a unit has, `saved` how many numbers of
   it the gradient needs. */
typedef struct jf_recurrent_dims {
  int64_t length, batch, units, gates, saved;
} jf_recurrent_dims;
/* steps: a tensor (length, batch, ...); state: one (batch, units). */
jf_recurrent_dims jf_recurrent_dims_of(const jf_recurrent *a, const jfl_shape *steps,
                                       const jfl_shape *state);

/* The n-th step that is taken, and the one before it in that order, or -1. */
static inline int64_t jf_recurrent_step(const jf_recurrent *a, int64_t length, int64_t n)
{
  return a->reverse ? length - 1 - n : n;
}
static inline int64_t jf_recurrent_before(const jf_recurrent *a, int64_t length, int64_t t)
{
  const int64_t before = a->reverse ? t + 1 : t - 1;
  return before < length ? before : -1;
}

#endif
