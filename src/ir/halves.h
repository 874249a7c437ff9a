/* Ops that compute in float32 and read and write floats of 16 bits. */
#ifndef JF_IR_HALVES_H
#define JF_IR_HALVES_H

#include "ir/ir.h"

/* The jf_halves in the attributes of such an op, NULL for other ops. */
static inline jf_halves *jf_halves_of(const jfl_op *op, const void *attr)
{
  return op->mixed && !op->mixed->inputs
             ? (jf_halves *)(void *)((char *)attr + op->mixed->result) : NULL;
}
static inline int jf_has_halves(const jfl_op *op, const void *attr)
{
  const jf_halves *h = jf_halves_of(op, attr);
  return h && (h->reads || h->writes);
}

/* The dtype as which an op's rule sees input i. */
static inline jfl_dtype jf_halves_seen(const jf_infer *c, int i)
{
  const jf_halves *h = jf_halves_of(c->op, c->attr);
  const int narrow = h && h->reads >> i & 1 && c->in[i]->dtype == JFL_BF16;
  return narrow ? JFL_F32 : c->in[i]->dtype;
}
/* Gives outputs that dtype, or bfloat16. */
static inline void jf_halves_infer(jf_infer *c, jfl_dtype t)
{
  const jf_halves *h = jf_halves_of(c->op, c->attr);
  for (int i = 0; i < c->n_out; i++) c->dtype[i] = h->writes >> i & 1 ? JFL_BF16 : t;
}

#endif
