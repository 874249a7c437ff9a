/* How attention's tensors lie, and its plain kernels: one score at a time. Sums are in double. */
#include "op/attention.h"
#include "op/dropout.h"
#include "op/op.h"

#include <math.h>
#include <string.h>

jfl_shape jf_attention_turned(const jf_attention *a, const jfl_shape *s, int of)
{
  jfl_shape t = *s;
  if (a->by_length && s->n == 4) t.d[1] = s->d[2], t.d[2] = s->d[1];
  if (a->joint) t.d[1] = of == JF_ATTENTION_Q ? t.d[1] - 2 * a->joint : a->joint;
  return t;
}

jf_attention_dims jf_attention_dims_of(const jf_kargs *k)
{
  const jfl_shape q = jf_attention_turned(k->attr, &k->in[JF_ATTENTION_Q].shape, JF_ATTENTION_Q);
  const jfl_shape v = jf_attention_turned(k->attr, &k->in[JF_ATTENTION_V].shape, JF_ATTENTION_V);
  return (jf_attention_dims){ q.d[0], q.d[1], v.d[1], v.d[1] ? q.d[1] / v.d[1] : 0, q.d[2], v.d[2],
                              q.d[3], v.d[3] };
}

jf_attention_steps jf_attention_steps_of(const jf_attention *a, const jf_attention_dims *d, int of)
{
  const int keys = of == JF_ATTENTION_K || of == JF_ATTENTION_V;
  const int64_t size = of == JF_ATTENTION_V || of == JF_ATTENTION_Y ? d->v_size : d->size;
  const int64_t rows = keys ? d->k_len : d->q_len;
  int64_t heads = keys ? d->groups : d->heads, first = 0;
  if (a->joint && of != JF_ATTENTION_Y) {
    heads = d->heads + 2 * d->groups;
    if (keys) first = (d->heads + (of == JF_ATTENTION_V ? d->groups : 0)) * size;
  }
  const int64_t all = heads * rows * size;
  return a->by_length ? (jf_attention_steps){ first, all, size, heads * size }
                      : (jf_attention_steps){ 0, all, rows * size, size };
}

jf_attention_drop jf_attention_drop_of(const jf_kargs *k)
{
  const jf_attention *a = k->attr;
  const jf_attention_dims n = jf_attention_dims_of(k);
  jf_attention_drop d = { .keep = 1, .rows = n.batch * n.heads * n.q_len, .first = a->first };
  if (a->rows) d.rows = a->rows;
  if (!jf_attention_seeds(a)) return d;
  d.seed = (uint64_t)*(const int64_t *)k->in[k->n_in - 1].data;
  d.threshold = jf_dropout_threshold(a->dropout_rate);
  d.keep = 1 / (1 - a->dropout_rate);
  return d;
}

jf_attention_mask jf_attention_mask_of(const jf_kargs *k, int input)
{
  jf_attention_mask m = { NULL, { 0 } };
  if (k->n_in - jf_attention_seeds(k->attr) <= input) return m;
  m.tensor = &k->in[input];
  const jfl_shape *s = &m.tensor->shape;
  int64_t step = 1;
  for (int i = s->n - 1; i >= 0; step *= s->d[i--])
    m.step[4 - s->n + i] = s->d[i] == 1 ? 0 : step;
  return m;
}

int64_t jf_attention_mask_row(const jf_attention_mask *m, int64_t batch, int64_t head, int64_t i)
{
  return batch * m->step[0] + head * m->step[1] + i * m->step[2];
}

double jf_attention_mask_at(const jf_attention_mask *m, int64_t at)
{
  const void *x = m->tensor->data;
  switch (m->tensor->dtype) {
  case JFL_F32: return (double)((const float *)x)[at];
  case JFL_F64: return ((const double *)x)[at];
  default: return ((const int8_t *)x)[at] ? 0 : -INFINITY;
  }
}

/* ---- kernels ---- */

/* Where the rows of one query lie: in q, y and dy; and where those of its group begin in k and v,
   whose rows lie so many elements apart. */
typedef struct attention_row {
  const jf_kargs *k;
  jf_attention_dims d;
  jf_attention_mask mask;
  jf_attention_drop drop;
  int64_t row, q, y, keys, values, key_step, value_step, mask_at, seen;
} attention_row;

/* Sets r to the keys and values of group `at`, of those of all batches. */
static void attention_seek_group(attention_row *r, int64_t at)
{
  const jf_attention_dims *d = &r->d;
  const jf_attention *a = r->k->attr;
  const jf_attention_steps k = jf_attention_steps_of(a, d, JF_ATTENTION_K);
  const jf_attention_steps v = jf_attention_steps_of(a, d, JF_ATTENTION_V);
  const int64_t batch = at / d->groups, group = at % d->groups;
  r->keys = k.first + batch * k.batch + group * k.head;
  r->values = v.first + batch * v.batch + group * v.head;
  r->key_step = k.row;
  r->value_step = v.row;
}

/* Sets r to query `at`, of all queries of all heads. */
static void attention_seek(attention_row *r, int64_t at)
{
  const jf_attention_dims *d = &r->d;
  const jf_attention *a = r->k->attr;
  const jf_attention_steps q = jf_attention_steps_of(a, d, JF_ATTENTION_Q);
  const jf_attention_steps y = jf_attention_steps_of(a, d, JF_ATTENTION_Y);
  const int64_t i = at % d->q_len, head = at / d->q_len % d->heads;
  const int64_t batch = at / d->q_len / d->heads;
  r->row = at;
  r->q = batch * q.batch + head * q.head + i * q.row;
  r->y = batch * y.batch + head * y.head + i * y.row;
  attention_seek_group(r, batch * d->groups + head / d->shared);
  r->mask_at = r->mask.tensor ? jf_attention_mask_row(&r->mask, batch, head, i) : 0;
  r->seen = jf_attention_seen(r->k, d, i);
}

static attention_row attention_rows(const jf_kargs *k, int mask)
{
  attention_row r = { .k = k, .d = jf_attention_dims_of(k) };
  r.mask = jf_attention_mask_of(k, mask);
  r.drop = jf_attention_drop_of(k);
  return r;
}

/* What dropout multiplies the weight of key j by. */
static double attention_kept(const attention_row *r, int64_t j)
{
  const jf_attention_drop *d = &r->drop;
  if (!d->threshold) return 1;
  const jf_philox bits = jf_philox_at(d->seed, 0, (uint64_t)(j / 4 * d->rows + d->first + r->row));
  return bits.w[j % 4] >> 8 >= d->threshold ? d->keep : 0;
}

/* exp(score - base), which is at most 1 but for rounding, which must make no weight larger. */
static double attention_weight(double score, double base)
{
  const double log_p = score - base;
  if (score == -INFINITY || log_p < JF_ATTENTION_LEAST) return 0;
  return exp(log_p > 0 ? 0 : log_p);
}

#define TENSOR(T, name, input) const T *name = k->in[JF_ATTENTION_##input].data;

/* The score of the row's query for key j; -infinity if that is hidden. */
#define ATTENTION_SCORE(D, T)                                                     \
  static double attention_score_##D(const attention_row *r, int64_t j)            \
  {                                                                               \
    const jf_kargs *k = r->k;                                                     \
    const jf_attention_mask *m = &r->mask;                                        \
    const double more = m->tensor ? jf_attention_mask_at(m, r->mask_at + j * m->step[3]) : 0; \
    TENSOR(T, q, Q) TENSOR(T, keys, K)                                            \
    double s = 0;                                                                 \
    for (int64_t l = 0; l < r->d.size && !jf_loop_ends_at(l, 1); l++)             \
      s += (double)q[r->q + l] * (double)keys[r->keys + j * r->key_step + l];     \
    return more == -INFINITY ? more : s * ((const jf_attention *)k->attr)->scale + more; \
  }
/* y = sum_j p_j v_j, where p_j = exp(s_j - lse) and lse = log sum exp s_j. A query that sees no key
   gets 0, and as lse infinity, which makes its weights 0 in the gradients too. */
#define ATTENTION_ROW(D, T)                                                       \
  static void attention_row_##D(const attention_row *r, T *y, T *lse)             \
  {                                                                               \
    const jf_kargs *k = r->k;                                                     \
    TENSOR(T, v, V)                                                               \
    double *s = k->scratch, *sum = s + r->d.k_len, max = -INFINITY, all = 0;      \
    for (int64_t j = 0; j < r->seen; j++) {                                       \
      s[j] = attention_score_##D(r, j);                                           \
      max = s[j] > max ? s[j] : max;                                              \
    }                                                                             \
    memset(sum, 0, (size_t)r->d.v_size * sizeof *sum);                            \
    for (int64_t j = 0; j < r->seen; j++) {                                       \
      const double p = attention_weight(s[j], max);                               \
      const double kept = p == 0 ? 0 : attention_kept(r, j);                      \
      all += p;                                                                   \
      for (int64_t l = 0; kept != 0 && l < r->d.v_size; l++)                      \
        sum[l] += kept * p * (double)v[r->values + j * r->value_step + l];        \
    }                                                                             \
    for (int64_t l = 0; l < r->d.v_size; l++) y[l] = (T)(all == 0 ? 0 : sum[l] / all); \
    *lse = (T)(all == 0 ? INFINITY : max + log(all));                             \
  }
#define ATTENTION_FORWARD(D, T)                                                   \
  static jfl_status attention_forward_##D(const jf_kargs *k)                      \
  {                                                                               \
    attention_row r = attention_rows(k, JF_ATTENTION_MASK);                       \
    T *y = k->out[0].data, *lse = k->out[1].data;                                 \
    const int64_t n = jf_numel(&k->out[1].shape);                                 \
    for (int64_t i = 0; i < n && !jf_loop_ends(); i++) {                          \
      attention_seek(&r, i);                                                      \
      attention_row_##D(&r, y + r.y, lse + i);                                    \
    }                                                                             \
    return JFL_OK;                                                                \
  }

/* The weight that key j has for the query after dropout, *p, and the gradient of its score: with
   the weight w before dropout and what that multiplies it by, w (kept <dy, v_j> - <dy, y>). */
#define ATTENTION_SLOPE(D, T)                                                     \
  static double attention_slope_##D(const attention_row *r, int64_t j, double *p) \
  {                                                                               \
    const jf_kargs *k = r->k;                                                     \
    TENSOR(T, v, V) TENSOR(T, y, Y) TENSOR(T, lse, LSE) TENSOR(T, dy, DY)         \
    const double w = attention_weight(attention_score_##D(r, j), (double)lse[r->row]); \
    const double kept = w == 0 ? 0 : attention_kept(r, j);                        \
    double dp = 0, dot = 0;                                                       \
    *p = kept == 0 ? 0 : kept * w;                                                \
    for (int64_t l = 0; w != 0 && l < r->d.v_size && !jf_loop_ends_at(l, 1); l++) { \
      dp += (double)dy[r->y + l] * (double)v[r->values + j * r->value_step + l];  \
      dot += (double)dy[r->y + l] * (double)y[r->y + l];                          \
    }                                                                             \
    return w == 0 ? 0 : w * ((kept == 0 ? 0 : kept * dp) - dot);                  \
  }
/* Adds a query's part to dk and dv of its group, and sets dq. */
#define ATTENTION_BACK(D, T)                                                      \
  static void attention_back_##D(const attention_row *r, double *sum, T *dq)      \
  {                                                                               \
    const jf_kargs *k = r->k;                                                     \
    const double scale = ((const jf_attention *)k->attr)->scale;                  \
    const int64_t n = r->d.size, m = r->d.v_size;                                 \
    TENSOR(T, q, Q) TENSOR(T, keys, K) TENSOR(T, dy, DY)                          \
    double *own = sum, *dk = own + n, *dv = dk + r->d.k_len * n, p;               \
    memset(own, 0, (size_t)n * sizeof *own);                                      \
    for (int64_t j = 0; j < r->seen && !jf_loop_ends_at(j, n + m); j++) {         \
      const double ds = scale * attention_slope_##D(r, j, &p);                    \
      for (int64_t l = 0; p != 0 && l < m; l++) dv[j * m + l] += p * (double)dy[r->y + l]; \
      for (int64_t l = 0; ds != 0 && l < n; l++) {                                \
        own[l] += ds * (double)keys[r->keys + j * r->key_step + l];               \
        dk[j * n + l] += ds * (double)q[r->q + l];                                \
      }                                                                           \
    }                                                                             \
    for (int64_t l = 0; l < n; l++) dq[r->q + l] = (T)own[l];                     \
  }
#define ATTENTION_PUT(D, T)                                                       \
  static void attention_put_##D(T *to, int64_t step, const double *from, int64_t rows, int64_t n) \
  {                                                                               \
    for (int64_t j = 0; j < rows && !jf_loop_ends_at(j, n); j++)                  \
      for (int64_t l = 0; l < n; l++) to[j * step + l] = (T)from[j * n + l];      \
  }
#define ATTENTION_BACKWARD(D, T)                                                  \
  static jfl_status attention_backward_##D(const jf_kargs *k)                     \
  {                                                                               \
    attention_row r = attention_rows(k, JF_ATTENTION_GRAD_MASK);                  \
    const int64_t n = r.d.shared * r.d.q_len, nk = r.d.k_len * r.d.size;          \
    const int64_t nv = r.d.k_len * r.d.v_size;                                    \
    double *sum = k->scratch, *dk = sum + r.d.size;                               \
    T *to_k = k->out[k->n_out > 1 ? 1 : 0].data;                                  \
    T *to_v = k->out[k->n_out > 1 ? 2 : 0].data;                                  \
    for (int64_t g = 0; g < r.d.batch * r.d.groups && !jf_loop_ends(); g++) {     \
      memset(dk, 0, (size_t)(nk + nv) * sizeof *dk);                              \
      attention_seek_group(&r, g);                                                \
      for (int64_t i = g * n; i < (g + 1) * n && !jf_loop_ends(); i++) {          \
        attention_seek(&r, i);                                                    \
        attention_back_##D(&r, sum, k->out[0].data);                              \
      }                                                                           \
      attention_put_##D(to_k + r.keys, r.key_step, dk, r.d.k_len, r.d.size);      \
      attention_put_##D(to_v + r.values, r.value_step, dk + nk, r.d.k_len, r.d.v_size); \
    }                                                                             \
    return JFL_OK;                                                                \
  }
#define ATTENTION_MASK_BACKWARD(D, T)                                             \
  static jfl_status attention_mask_backward_##D(const jf_kargs *k)                \
  {                                                                               \
    attention_row r = attention_rows(k, JF_ATTENTION_GRAD_MASK);                  \
    const int64_t n = jf_numel(&k->out[0].shape);                                 \
    double *sum = memset(k->scratch, 0, (size_t)n * sizeof *sum), p;              \
    for (int64_t i = 0, rows = jf_numel(&k->in[JF_ATTENTION_LSE].shape);          \
         i < rows && !jf_loop_ends(); i++) {                                      \
      attention_seek(&r, i);                                                      \
      for (int64_t j = 0; j < r.seen && !jf_loop_ends_at(j, 8); j++)              \
        sum[r.mask_at + j * r.mask.step[3]] += attention_slope_##D(&r, j, &p);    \
    }                                                                             \
    for (int64_t l = 0; l < n; l++) ((T *)k->out[0].data)[l] = (T)sum[l];         \
    return JFL_OK;                                                                \
  }
JF_EACH_FLOAT(ATTENTION_SCORE)
JF_EACH_FLOAT(ATTENTION_ROW)
JF_EACH_FLOAT(ATTENTION_FORWARD)
JF_EACH_FLOAT(ATTENTION_SLOPE)
JF_EACH_FLOAT(ATTENTION_BACK)
JF_EACH_FLOAT(ATTENTION_PUT)
JF_EACH_FLOAT(ATTENTION_BACKWARD)
JF_EACH_FLOAT(ATTENTION_MASK_BACKWARD)

const jf_kernel jf_attention_cpu[JFL_N_DTYPE] = { JF_FLOATS(attention_forward_) };
const jf_kernel jf_attention_grad_cpu[JFL_N_DTYPE] = { JF_FLOATS(attention_backward_) };
const jf_kernel jf_attention_mask_grad_cpu[JFL_N_DTYPE] = { JF_FLOATS(attention_mask_backward_) };

size_t jf_attention_scratch(const jf_kargs *k)
{
  const jf_attention_dims d = jf_attention_dims_of(k);
  return (size_t)(d.k_len + d.v_size) * sizeof(double);
}

size_t jf_attention_grad_scratch(const jf_kargs *k)
{
  const jf_attention_dims d = jf_attention_dims_of(k);
  return (size_t)(d.size + d.k_len * (d.size + d.v_size)) * sizeof(double);
}

size_t jf_attention_mask_scratch(const jf_kargs *k)
{
  return (size_t)jf_numel(&k->out[0].shape) * sizeof(double);
}
