/* param -= lr scale (a b): the step of plain SGD where a gradient is a matrix product, which is
   then never written. The attributes are those of matmul; lr and scale are float64 (1), scale may
   be left out. */
#ifndef JF_OP_MATMUL_UPDATE_H
#define JF_OP_MATMUL_UPDATE_H

#include "op/matmul.h"

/* Its inputs. */
enum { JF_STEP_PARAM, JF_STEP_A, JF_STEP_B, JF_STEP_LR, JF_STEP_SCALE };

/* lr scale. */
static inline double jf_step_rate(const jf_kargs *k)
{
  const double lr = *(const double *)k->in[JF_STEP_LR].data;
  return k->n_in > JF_STEP_SCALE ? lr * *(const double *)k->in[JF_STEP_SCALE].data : lr;
}

/* The product alone, as a call of matmul whose result is the parameter. */
static inline jf_kargs jf_step_product(const jf_kargs *k)
{
  jf_kargs p = *k;
  p.in = k->in + JF_STEP_A;
  p.out = k->in + JF_STEP_PARAM;
  p.n_in = 2;
  p.n_out = 1;
  return p;
}

#endif
