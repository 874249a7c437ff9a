/* Attention: softmax(scale q k^T + mask) v, one score at a time, so that no matrix of scores is
   made. Its second result, the logarithm of the sum of exp of each query's scores, lets the
   gradients compute any weight anew (Dao, Fu, Ermon, Rudra and Re, FlashAttention, 2022). Sums are
   in double. */
#include "op/attention.h"
#include "dev/half.h"
#include "op/dropout.h"
#include "op/move.h"

#include <math.h>
#include <string.h>

/* Scores of float32 must stay within its range. */
#define MOST_SCALE 1e30

JF_ATTRS(attrs,
  JF_FIELD(jf_attention, scale, NUM, "0", "what scores are multiplied by; 0: 1 / sqrt(size)"),
  JF_FIELD(jf_attention, causal, BOOL, "false", "query i sees keys 0 to i only"),
  JF_FIELD(jf_attention, dropout_rate, NUM, "0", "the share of weights to zero, in [0, 1); if not "
           "0, one int64 behind the mask is the seed"))

/* The shape (batch, heads, length, size) of q, k or v, number `of`, which lies in a tensor of shape
   s. */
static jfl_shape attention_turned(const jf_attention *a, const jfl_shape *s, int of)
{
  jfl_shape t = *s;
  if (a->by_length && s->n == 4) t.d[1] = s->d[2], t.d[2] = s->d[1];
  if (a->joint) t.d[1] = of == JF_ATTENTION_Q ? t.d[1] - 2 * a->joint : a->joint;
  return t;
}

jf_attention_dims jf_attention_dims_of(const jf_kargs *k)
{
  const jfl_shape q = attention_turned(k->attr, &k->in[JF_ATTENTION_Q].shape, JF_ATTENTION_Q);
  const jfl_shape v = attention_turned(k->attr, &k->in[JF_ATTENTION_V].shape, JF_ATTENTION_V);
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

int jf_attention_takes_lengths(const jf_node *n)
{
  const jf_attention *a = n->attr;
  return n->op == &jf_op_scaled_dot_product_attention && !a->by_length;
}

static int attention_seeds(const jf_attention *a) { return a->dropout_rate > 0; }

jf_attention_drop jf_attention_drop_of(const jf_kargs *k)
{
  const jf_attention *a = k->attr;
  const jf_attention_dims n = jf_attention_dims_of(k);
  jf_attention_drop d = { .keep = 1, .rows = n.batch * n.heads * n.q_len, .first = a->first };
  if (a->rows) d.rows = a->rows;
  if (!attention_seeds(a)) return d;
  d.seed = (uint64_t)*(const int64_t *)k->in[k->n_in - 1].data;
  d.threshold = jf_dropout_threshold(a->dropout_rate);
  d.keep = 1 / (1 - a->dropout_rate);
  return d;
}

jf_attention_mask jf_attention_mask_of(const jf_kargs *k, int input)
{
  jf_attention_mask m = { NULL, { 0 } };
  if (k->n_in - attention_seeds(k->attr) <= input) return m;
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

/* ---- shapes ---- */

static jfl_status attention_check_rank(const jf_infer *c, int i)
{
  char s[JF_SHAPE_STR];
  JF_TRY(jf_infer_dtype(c, i, 0));
  if (c->in[i]->shape.n == 4) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, c->op->in[i], "must have four axes (batch, heads, length, "
                          "size), got %s", jf_shape_str(&c->in[i]->shape, s));
}

static jfl_status attention_check_mask(const jf_infer *c, int i)
{
  const jfl_value *m = c->in[i];
  const jfl_shape q = attention_turned(c->attr, &c->in[0]->shape, JF_ATTENTION_Q);
  const jfl_shape keys = attention_turned(c->attr, &c->in[1]->shape, JF_ATTENTION_K);
  const int64_t want[] = { q.d[0], q.d[1], q.d[2], keys.d[2] };
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  const int narrower = ((const jf_attention *)c->attr)->f32_result && m->dtype == JFL_F32;
  if (m->dtype != JFL_I8 && m->dtype != c->in[0]->dtype && !narrower)
    return jf_fail_argument(JFL_EDTYPE, "mask", "must be int8 (0 hides a key) or %s (numbers to "
                            "add to scores), got %s", jfl_dtype_name(c->in[0]->dtype),
                            jfl_dtype_name(m->dtype));
  int fit = m->shape.n <= 4;
  for (int j = 0; fit && j < m->shape.n; j++)
    fit = m->shape.d[j] == 1 || m->shape.d[j] == want[4 - m->shape.n + j];
  if (fit) return JFL_OK;
  const jfl_shape scores = { 4, { want[0], want[1], want[2], want[3] } };
  return jf_fail_argument(JFL_ESHAPE, "mask", "must broadcast to the scores %s, got %s",
                          jf_shape_str(&scores, s), jf_shape_str(&m->shape, t));
}

/* Checks the mask, which is input `mask` if there is one, and the seed behind it. */
static jfl_status attention_check_more(const jf_infer *c, int mask)
{
  const jf_attention *a = c->attr;
  char s[JF_SHAPE_STR];
  if (!(a->dropout_rate >= 0 && a->dropout_rate < 1))
    return jf_fail_argument(JFL_EINVAL, "dropout_rate", "must be in [0, 1), got %g",
                            a->dropout_rate);
  const int seeds = attention_seeds(a), masks = c->n_in - mask - seeds;
  if (masks < 0)
    return jf_fail_argument(JFL_EINVAL, "seed", "must be given, as dropout_rate is not 0");
  if (masks > 1)
    return jf_fail_argument(JFL_EINVAL, "mask", "must be one tensor, got %d", masks);
  const jfl_value *seed = seeds ? c->in[c->n_in - 1] : NULL;
  if (seed && (seed->dtype != JFL_I64 || jf_numel(&seed->shape) != 1))
    return jf_fail_argument(JFL_ESHAPE, "seed", "must be one int64, got %s %s",
                            jfl_dtype_name(seed->dtype), jf_shape_str(&seed->shape, s));
  return masks ? attention_check_mask(c, mask) : JFL_OK;
}

jfl_status jf_attention_check_scale(jf_attention *a, int64_t size)
{
  if (!(fabs(a->scale) <= MOST_SCALE))
    return jf_fail_argument(JFL_EINVAL, "scale", "must be a number from -1e30 to 1e30, got %g",
                            a->scale);
  if (a->scale == 0) a->scale = size ? 1 / sqrt((double)size) : 1;
  return JFL_OK;
}

/* Checks q, k, v and what comes behind other inputs, from number `mask` on; completes the
   scale. */
static jfl_status attention_check(jf_infer *c, int mask)
{
  jf_attention *a = c->attr;
  for (int i = 0; i < 3; i++) JF_TRY(attention_check_rank(c, i));
  jfl_shape shape[3];
  for (int i = 0; i < 3; i++) shape[i] = attention_turned(a, &c->in[i]->shape, i);
  const jfl_shape *q = &shape[0], *k = &shape[1], *v = &shape[2];
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  const int heads = k->d[1] ? q->d[1] % k->d[1] == 0 : q->d[1] == 0;
  if (k->d[0] != q->d[0] || k->d[3] != q->d[3] || !heads)
    return jf_fail_argument(JFL_ESHAPE, "k", "must have the batch and the size of q %s, and its "
                            "heads or a divisor of them, got %s", jf_shape_str(q, s),
                            jf_shape_str(k, t));
  if (v->d[0] != k->d[0] || v->d[1] != k->d[1] || v->d[2] != k->d[2])
    return jf_fail_argument(JFL_ESHAPE, "v", "must have the batch, heads and length of k %s, "
                            "got %s", jf_shape_str(k, s), jf_shape_str(v, t));
  JF_TRY(jf_attention_check_scale(a, q->d[3]));
  return attention_check_more(c, mask);
}

/* The dtype of results, and that of lse, which is at least float32. */
static jfl_dtype attention_result(const jf_infer *c)
{
  return ((const jf_attention *)c->attr)->f32_result ? JFL_F32 : c->in[0]->dtype;
}
static jfl_dtype attention_lse(const jf_infer *c)
{
  return jf_is_half(c->in[0]->dtype) ? JFL_F32 : c->in[0]->dtype;
}

/* The shape of y. */
static jfl_shape attention_y(const jf_infer *c)
{
  const jf_attention *a = c->attr;
  jfl_shape s = c->in[0]->shape;
  if (a->joint) s.d[2] -= 2 * a->joint;
  s.d[3] = c->in[2]->shape.d[3];
  return s;
}

static jfl_status attention_infer(jf_infer *c)
{
  JF_TRY(attention_check(c, JF_ATTENTION_MASK));
  c->shape[0] = attention_y(c);
  c->shape[1] = attention_turned(c->attr, &c->in[0]->shape, JF_ATTENTION_Q);
  c->shape[1].n = 3;
  c->dtype[0] = attention_result(c);
  c->dtype[1] = attention_lse(c);
  return JFL_OK;
}

/* Checks what the gradients read beside the op's inputs. */
static jfl_status attention_check_grad(jf_infer *c)
{
  JF_TRY(attention_check(c, JF_ATTENTION_GRAD_MASK));
  jfl_shape lse = attention_turned(c->attr, &c->in[0]->shape, JF_ATTENTION_Q);
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  lse.n = 3;
  for (int i = JF_ATTENTION_Y; i <= JF_ATTENTION_DY; i++) {
    const jfl_dtype dtype = i == JF_ATTENTION_LSE ? attention_lse(c) : c->in[0]->dtype;
    const jfl_shape want = i == JF_ATTENTION_LSE ? lse : attention_y(c);
    const int narrow = i == JF_ATTENTION_LSE && c->in[i]->dtype == c->in[0]->dtype;
    if ((c->in[i]->dtype != dtype && !narrow) || !jf_shape_eq(&c->in[i]->shape, &want))
      return jf_fail_argument(JFL_ESHAPE, c->op->in[i], "must be %s %s, got %s %s",
                              jfl_dtype_name(c->in[0]->dtype), jf_shape_str(&want, s),
                              jfl_dtype_name(c->in[i]->dtype),
                              jf_shape_str(&c->in[i]->shape, t));
  }
  return JFL_OK;
}

static jfl_status attention_grad_infer(jf_infer *c)
{
  JF_TRY(attention_check_grad(c));
  c->n_out = ((const jf_attention *)c->attr)->joint ? 1 : 3;
  for (int i = 0; i < c->n_out; i++) {
    c->shape[i] = c->in[i]->shape;
    c->dtype[i] = attention_result(c);
  }
  return JFL_OK;
}

static jfl_status attention_mask_grad_infer(jf_infer *c)
{
  JF_TRY(attention_check_grad(c));
  if (c->n_in - attention_seeds(c->attr) <= JF_ATTENTION_GRAD_MASK ||
      !jf_is_float(c->in[JF_ATTENTION_GRAD_MASK]->dtype))
    return jf_fail_argument(JFL_EINVAL, "mask", "must be numbers to add to scores");
  c->shape[0] = c->in[JF_ATTENTION_GRAD_MASK]->shape;
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

/* ---- plain kernels ---- */

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

static size_t attention_scratch(const jf_kargs *k)
{
  const jf_attention_dims d = jf_attention_dims_of(k);
  return (size_t)(d.k_len + d.v_size) * sizeof(double);
}

static size_t attention_grad_scratch(const jf_kargs *k)
{
  const jf_attention_dims d = jf_attention_dims_of(k);
  return (size_t)(d.size + d.k_len * (d.size + d.v_size)) * sizeof(double);
}

static size_t attention_mask_scratch(const jf_kargs *k)
{
  return (size_t)jf_numel(&k->out[0].shape) * sizeof(double);
}

static double attention_flop(const jf_kargs *k)
{
  const jf_attention_dims d = jf_attention_dims_of(k);
  const double half = ((const jf_attention *)k->attr)->causal ? 0.5 : 1;
  const double rows = (double)(d.batch * d.heads * d.q_len);
  return half * 2 * rows * (double)d.k_len * (double)(d.size + d.v_size);
}

static double attention_grad_flop(const jf_kargs *k) { return 2.5 * attention_flop(k); }

/* ---- gradients ---- */

static void attention_grad(jf_gradctx *c)
{
  const jf_node *n = c->node;
  jfl_value *in[JF_ATTENTION_GRAD_MASK + 2] = { c->in[0], c->in[1], c->in[2], c->out[0], c->out[1],
                                                c->dy[0] };
  const int more = n->n_in - JF_ATTENTION_MASK;            /* a mask and a seed, if there are any */
  for (int i = 0; i < more; i++) in[JF_ATTENTION_GRAD_MASK + i] = c->in[JF_ATTENTION_MASK + i];
  const size_t n_in = JF_ATTENTION_GRAD_MASK + (size_t)more;
  if (!c->dy[0]) return;
  jfl_value *dq = jf_emit(c->g, &jf_op_scaled_dot_product_attention_grad, n->attr, in, n_in);
  for (int i = 0; dq && i < dq->node->n_out; i++) c->dx[i] = dq->node->out[i];
  if (more > attention_seeds(n->attr) && jf_is_float(c->in[JF_ATTENTION_MASK]->dtype))
    c->dx[3] = jf_emit(c->g, &jf_op_scaled_dot_product_attention_mask_grad, n->attr, in, n_in);
}

/* Mixed precision rounds q, k and v, and for the gradients y and dy too. */
static const jf_mixed mixed = { .inputs = 0x07, .result = offsetof(jf_attention, f32_result) };
static const jf_mixed grad_mixed = { .inputs = 0x2f,
                                     .result = offsetof(jf_attention, f32_result) };

#define ATTENTION(rule) \
  JF_WITH(attrs, jf_attention), .flags = JF_VARIADIC | JF_OPTIONAL, .infer = rule, \
  .share = attention_share
/* Behind the mask there may be a seed. */
#define ATTENTION_GRAD_IN .in = { "q", "k", "v", "y", "lse", "dy", "mask" }

/* Makes the mask, input i if there is one, lie along that axis of the scores; gives how. */
static jfl_distribution attention_split_mask(const jf_node *n, int i, int axis, jf_signature *s)
{
  if (n->n_in - attention_seeds(n->attr) <= i) return JF_ON_ALL;
  const int own = axis - 4 + n->in[i]->shape.n;
  if (own >= 0 && n->in[i]->shape.d[own] > 1) s->in[i] = JF_ALONG(own);
  return s->in[i];
}

/* Adds a split of all but the mask along an axis: 0, the batch, or 1, heads. */
static jf_signature *attention_along(jf_signatures *c, int axis, int mask, jfl_distribution *masked)
{
  jf_signature *s = jf_signature_add(c);
  for (int i = 0; i < mask; i++) s->in[i] = JF_ALONG(axis);
  for (int i = 0; i < c->node->n_out; i++) s->out[i] = JF_ALONG(axis);
  *masked = attention_split_mask(c->node, mask, axis, s);
  return s;
}

/* Whether heads may be split: each part has the keys that its queries read, and no weights of it
   are dropped, as their queries do not follow each other in the whole. */
static int attention_splits_heads(const jf_signatures *c)
{
  const int64_t heads = c->node->in[JF_ATTENTION_Q]->shape.d[1];
  const int64_t groups = c->node->in[JF_ATTENTION_K]->shape.d[1];
  if (((const jf_attention *)c->node->attr)->by_length) return 0;
  return !attention_seeds(c->node->attr)
         && (heads == groups || (heads % c->parts == 0 && groups % c->parts == 0));
}

/* Queries may be split too, unless one's number says which keys it sees. */
static void attention_signatures(jf_signatures *c)
{
  jfl_distribution masked;
  for (int axis = 0; axis < 1 + attention_splits_heads(c); axis++)
    attention_along(c, axis, JF_ATTENTION_MASK, &masked);
  const jf_attention *a = c->node->attr;
  if (attention_seeds(a) || a->causal || a->by_length) return;
  jf_signature *s = attention_along(c, 2, JF_ATTENTION_MASK, &masked);
  s->in[JF_ATTENTION_K] = s->in[JF_ATTENTION_V] = JF_ON_ALL;
}

static void attention_grad_signatures(jf_signatures *c)
{
  jfl_distribution masked;
  for (int axis = 0; axis < 1 + attention_splits_heads(c); axis++)
    attention_along(c, axis, JF_ATTENTION_GRAD_MASK, &masked);
}

/* Where all parts read the same mask, its gradient is the sum of theirs. */
static void attention_mask_grad_signatures(jf_signatures *c)
{
  jfl_distribution masked;
  for (int axis = 0; axis < 1 + attention_splits_heads(c); axis++) {
    jf_signature *s = attention_along(c, axis, JF_ATTENTION_GRAD_MASK, &masked);
    s->out[0] = masked.kind == JFL_SPLIT ? masked : JF_AS_SUM;
  }
}

/* Weights are dropped as in the whole. */
static void attention_share(jf_share *s)
{
  const jfl_distribution q = s->signature->in[JF_ATTENTION_Q];
  const int64_t *d = s->node->in[JF_ATTENTION_Q]->shape.d;
  jf_attention *a = s->attr;
  if (q.kind != JFL_SPLIT || q.axis != 0) return;
  a->rows = d[0] * d[1] * d[2];
  a->first = s->first_in[JF_ATTENTION_Q] * d[1] * d[2];
}

JFL_OP(scaled_dot_product_attention,
  .doc = "For each query the mean of the values v, weighted by softmax(scale q k^T + mask).",
  .in = {"q", "k", "v", "mask"}, .out = {"y", "lse"}, .n_public = 1, ATTENTION(attention_infer),
  .grad = attention_grad, .cpu = JF_KERNELS(JF_FLOATS(attention_forward_)),
  .scratch = attention_scratch, .flop = attention_flop, .mixed = &mixed,
  .signatures = attention_signatures)

JFL_OP(scaled_dot_product_attention_grad,
  .doc = "Gradients of scaled_dot_product_attention at output y, whose scores have the logarithm "
         "of the sum of exponentials lse.",
  ATTENTION_GRAD_IN, .out = {"dq", "dk", "dv"}, ATTENTION(attention_grad_infer),
  .cpu = JF_KERNELS(JF_FLOATS(attention_backward_)), .scratch = attention_grad_scratch,
  .flop = attention_grad_flop, .mixed = &grad_mixed, .signatures = attention_grad_signatures)

JFL_OP(scaled_dot_product_attention_mask_grad,
  .doc = "Gradient of scaled_dot_product_attention for a mask of numbers.",
  ATTENTION_GRAD_IN, .out = {"dmask"}, ATTENTION(attention_mask_grad_infer),
  .cpu = JF_KERNELS(JF_FLOATS(attention_mask_backward_)), .scratch = attention_mask_scratch,
  .signatures = attention_mask_grad_signatures)
