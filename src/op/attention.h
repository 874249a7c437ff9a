/* What attention's plain and fast kernels agree on. */
#ifndef JF_OP_ATTENTION_H
#define JF_OP_ATTENTION_H

#include "dev/kernel.h"

typedef struct jf_attention { double scale; int causal; } jf_attention;  /* infer completes scale */

/* The inputs of the op, and those that its gradients have behind the first three. */
enum { JF_ATTENTION_Q, JF_ATTENTION_K, JF_ATTENTION_V, JF_ATTENTION_MASK, JF_ATTENTION_Y = 3,
       JF_ATTENTION_LSE, JF_ATTENTION_DY, JF_ATTENTION_GRAD_MASK };

/* Extents of a call: q is (batch, heads, q_len, size), k (batch, groups, k_len, size), v (batch,
   groups, k_len, v_size); `shared` heads of q read one group of k and v. */
typedef struct jf_attention_dims {
  int64_t batch, heads, groups, shared, q_len, k_len, size, v_size;
} jf_attention_dims;
jf_attention_dims jf_attention_dims_of(const jf_kargs *k);

/* A mask, broadcast to (batch, heads, q_len, k_len): numbers to add to scores, or int8, where 0
   hides a key. No tensor: nothing is masked. */
typedef struct jf_attention_mask { const jf_tensor *tensor; int64_t step[4]; } jf_attention_mask;
jf_attention_mask jf_attention_mask_of(const jf_kargs *k, int input);
/* Which of its elements belongs to that query's first key. */
int64_t jf_attention_mask_row(const jf_attention_mask *m, int64_t batch, int64_t head, int64_t i);
/* What element `at` adds to a score. */
double jf_attention_mask_at(const jf_attention_mask *m, int64_t at);

/* How many of the keys query i may see. */
static inline int64_t jf_attention_seen(const jf_kargs *k, const jf_attention_dims *d, int64_t i)
{
  return ((const jf_attention *)k->attr)->causal && i + 1 < d->k_len ? i + 1 : d->k_len;
}

#endif
