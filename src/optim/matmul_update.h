/* matmul_update(param, a, b, scalars): param -= lr scale (a b). It is a step along a gradient that
   is a matrix product, without storing the gradient. The attributes are those of matmul; scalars
   are the numbers of a step, of which it reads the scale and the rate. */
#ifndef JF_OPTIM_MATMUL_UPDATE_H
#define JF_OPTIM_MATMUL_UPDATE_H

#include "op/matmul.h"
#include "optim/update.h"

/* The inputs by number. */
enum { JF_STEP_PARAM, JF_STEP_A, JF_STEP_B, JF_STEP_SCALARS };

/* The factor lr scale of the product. */
static inline double jf_step_rate(const jf_kargs *k)
{
  const double *scalar = jf_update_scalars(k);
  return scalar[JF_RATE] * scalar[JF_SCALE];
}

/* The product alone, as a call of matmul that has the parameter as its result. */
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
