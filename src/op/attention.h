/* What attention's plain and fast kernels agree on. */
#ifndef JF_OP_ATTENTION_H
#define JF_OP_ATTENTION_H

#include "dev/kernel.h"

typedef struct jf_attention {
  double scale;                /* infer completes it */
  int causal;
  double dropout_rate;         /* where it is not 0, the last input is the seed, one int64 */
  /* Set by passes: */
  int f32_result;              /* operands of 16 bits have results of float32 */
  int by_length;               /* heads lie behind lengths in q, k, v, y and their gradients */
  int64_t joint;               /* not 0, with by_length: q, k and v are one tensor, (batch, length,
                                  heads, size), whose last heads are those of so many groups of k,
                                  then of v; the gradients have one result, like it */
  int64_t rows, first;         /* of a part of a batch: how many queries the whole has in all heads,
                                  and which of them is the first; rows 0: it is the whole */
} jf_attention;

/* The inputs of the op, and those that its gradients have behind the first three. */
enum { JF_ATTENTION_Q, JF_ATTENTION_K, JF_ATTENTION_V, JF_ATTENTION_MASK, JF_ATTENTION_Y = 3,
       JF_ATTENTION_LSE, JF_ATTENTION_DY, JF_ATTENTION_GRAD_MASK };
/* The inputs of cached_attention behind the first three. */
enum { JF_ATTENTION_PAST_K = 3, JF_ATTENTION_PAST_V, JF_ATTENTION_LENGTH };

/* Extents of a call: q is (batch, heads, q_len, size), k (batch, groups, k_len, size), v (batch,
   groups, k_len, v_size); `shared` heads of q read one group of k and v. With by_length, axes 1 and
   2 have changed places. */
typedef struct jf_attention_dims {
  int64_t batch, heads, groups, shared, q_len, k_len, size, v_size;
} jf_attention_dims;
jf_attention_dims jf_attention_dims_of(const jf_kargs *k);
/* The shape (batch, heads, length, size) of q, k or v, number `of`, which lies in a tensor of shape
   s. */
jfl_shape jf_attention_turned(const jf_attention *a, const jfl_shape *s, int of);
/* How many elements lie before q, k, v or y in their tensors, and between batches, heads and
   rows. `of` is JF_ATTENTION_Q, ... or JF_ATTENTION_Y; gradients lie as what they belong to. */
typedef struct jf_attention_steps { int64_t first, batch, head, row; } jf_attention_steps;
jf_attention_steps jf_attention_steps_of(const jf_attention *a, const jf_attention_dims *d, int of);
struct jf_node;
/* Whether n is attention for which by_length may be set, before its gradient is made. */
int jf_attention_takes_lengths(const struct jf_node *n);

/* A mask, broadcast to (batch, heads, q_len, k_len): numbers to add to scores, of which -infinity
   hides a key, or int8, where 0 hides one. What is hidden counts for nothing, even if it is not
   finite. No tensor: nothing is masked. */
typedef struct jf_attention_mask { const jf_tensor *tensor; int64_t step[4]; } jf_attention_mask;
jf_attention_mask jf_attention_mask_of(const jf_kargs *k, int input);
/* Which of its elements belongs to that query's first key. */
int64_t jf_attention_mask_row(const jf_attention_mask *m, int64_t batch, int64_t head, int64_t i);
/* What element `at` adds to a score. */
double jf_attention_mask_at(const jf_attention_mask *m, int64_t at);

/* Weights of less than e to this power are 0 in all kernels. */
#define JF_ATTENTION_LEAST (-87)

/* Dropout of weights: key j of query `row`, of `rows` queries in all heads, is kept, times `keep`,
   unless the upper 24 bits of word j % 4 of jf_philox_at(seed, 0, j / 4 * rows + first + row) are
   below the threshold, so that all kernels and gradients find the same weights dropped. Threshold
   0: all are kept. */
typedef struct jf_attention_drop {
  uint64_t seed;
  uint32_t threshold;
  double keep;
  int64_t rows, first;
} jf_attention_drop;
jf_attention_drop jf_attention_drop_of(const jf_kargs *k);
/* How many seeds such a call has. */
static inline int jf_attention_seeds(const jf_attention *a) { return a->dropout_rate > 0; }

/* Checks a scale, and replaces 0 by 1 / sqrt(size). */
jfl_status jf_attention_check_scale(jf_attention *a, int64_t size);
/* Returns JFL_EDATA if a length of cached_attention leaves no room in its cache for new rows. */
jfl_status jf_cached_check(const jf_kargs *k);

/* The plain kernels of the op and of its gradients, and the scratch that each takes. */
extern const jf_kernel jf_attention_cpu[JFL_N_DTYPE], jf_attention_grad_cpu[JFL_N_DTYPE],
  jf_attention_mask_grad_cpu[JFL_N_DTYPE];
size_t jf_attention_scratch(const jf_kargs *k);
size_t jf_attention_grad_scratch(const jf_kargs *k);
size_t jf_attention_mask_scratch(const jf_kargs *k);

/* How many of the keys query i may see. */
static inline int64_t jf_attention_seen(const jf_kargs *k, const jf_attention_dims *d, int64_t i)
{
  return ((const jf_attention *)k->attr)->causal && i + 1 < d->k_len ? i + 1 : d->k_len;
}

#endif
