/* Attention to keys and values that a cache keeps from earlier calls, and to new ones; and what
   puts the new ones into the cache. The keys of sequence b are the first length[b] of the cache's,
   then its new ones, of which query i sees those up to its own. The cache has room for both, so
   that what fails does so before anything is written:

     cache   | k0 k1 ... k(length-1) | ...   |        (batch, groups, most, size)
     new                               k0 k1 .. ki    (batch, groups, n, size)

   A cache is for prediction: there are no gradients. Sums are in double. A cache may have floats of
   16 bits where the others are float32. */
#include "dev/half.h"
#include "dev/number.h"
#include "op/attention.h"
#include "op/move.h"

#include <math.h>
#include <string.h>

JF_ATTRS(attrs,
  JF_FIELD(jf_attention, scale, NUM, "0", "what scores are multiplied by; 0: 1 / sqrt(size)"))

/* ---- shapes ---- */

/* Checks that input i has that shape of four axes. */
static jfl_status cached_check(const jf_infer *c, int i, int64_t batch, int64_t heads,
                               int64_t length, int64_t size)
{
  const jfl_shape want = { 4, { batch, heads, length, size } }, *got = &c->in[i]->shape;
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  if (jf_shape_eq(got, &want)) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, c->op->in[i], "must be %s, got %s", jf_shape_str(&want, s),
                          jf_shape_str(got, t));
}

static jfl_status cached_check_rank(const jf_infer *c, int i)
{
  char s[JF_SHAPE_STR];
  if (c->in[i]->shape.n == 4) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, c->op->in[i], "must have four axes (batch, heads, length, "
                          "size), got %s", jf_shape_str(&c->in[i]->shape, s));
}

/* Whether input `cache` has 16 bits for what input i has as float32. */
static int cached_is_narrow(const jf_infer *c, int cache, int i)
{
  return jf_is_half(c->in[cache]->dtype) && c->in[i]->dtype == JFL_F32;
}

static jfl_status cached_check_length(const jf_infer *c, int i, int64_t batch)
{
  const jfl_shape want = { 1, { batch } };
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  JF_TRY(jf_check_indices(c, i));
  if (jf_shape_eq(&c->in[i]->shape, &want)) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, c->op->in[i], "must have one number for each sequence, %s, "
                          "got %s", jf_shape_str(&want, s),
                          jf_shape_str(&c->in[i]->shape, t));
}

/* Fails because input i is longer than the cache. */
static jfl_status cached_fail_long(const jf_infer *c, int i, int64_t most)
{
  return jf_fail_argument(JFL_ESHAPE, c->op->in[i], "must be of length %lld or less, as the cache "
                          "is, got %lld", (long long)most, (long long)c->in[i]->shape.d[2]);
}

static jfl_status cached_infer(jf_infer *c)
{
  jf_attention *a = c->attr;
  for (int i = 0; i <= JF_ATTENTION_PAST_V; i++) JF_TRY(cached_check_rank(c, i));
  const int64_t *q = c->in[JF_ATTENTION_Q]->shape.d, *k = c->in[JF_ATTENTION_K]->shape.d;
  const int64_t *v = c->in[JF_ATTENTION_V]->shape.d, *past = c->in[JF_ATTENTION_PAST_K]->shape.d;
  const int64_t groups = k[1] > 0 && q[1] % k[1] == 0 ? k[1] : q[1];
  JF_TRY(jf_infer_dtype(c, JF_ATTENTION_K, 0));
  JF_TRY(jf_infer_dtype(c, JF_ATTENTION_V, 0));
  for (int i = JF_ATTENTION_PAST_K; i <= JF_ATTENTION_PAST_V; i++)
    if (!cached_is_narrow(c, i, 0)) JF_TRY(jf_infer_dtype(c, i, 0));
  JF_TRY(cached_check(c, JF_ATTENTION_K, q[0], groups, q[2], q[3]));
  JF_TRY(cached_check(c, JF_ATTENTION_V, q[0], groups, q[2], v[3]));
  if (k[2] > past[2]) return cached_fail_long(c, JF_ATTENTION_K, past[2]);
  JF_TRY(cached_check(c, JF_ATTENTION_PAST_K, q[0], groups, past[2], q[3]));
  JF_TRY(cached_check(c, JF_ATTENTION_PAST_V, q[0], groups, past[2], v[3]));
  JF_TRY(cached_check_length(c, JF_ATTENTION_LENGTH, q[0]));
  JF_TRY(jf_attention_check_scale(a, q[3]));
  a->causal = 1;
  c->shape[0] = c->in[0]->shape;
  c->shape[0].d[3] = v[3];
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

enum { APPEND_CACHE, APPEND_VALUE, APPEND_LENGTH };

static jfl_status append_infer(jf_infer *c)
{
  const int64_t *cache = c->in[APPEND_CACHE]->shape.d, *x = c->in[APPEND_VALUE]->shape.d;
  JF_TRY(cached_check_rank(c, APPEND_CACHE));
  JF_TRY(cached_check_rank(c, APPEND_VALUE));
  if (!cached_is_narrow(c, APPEND_CACHE, APPEND_VALUE))
    JF_TRY(jf_infer_dtype(c, APPEND_VALUE, APPEND_CACHE));
  JF_TRY(cached_check(c, APPEND_VALUE, cache[0], cache[1], x[2], cache[3]));
  if (x[2] > cache[2]) return cached_fail_long(c, APPEND_VALUE, cache[2]);
  return cached_check_length(c, APPEND_LENGTH, cache[0]);
}

/* ---- plain kernels ---- */

/* A query: where its keys are, in rows of k and of the cache, and how many of each it sees. */
typedef struct cached_row { int64_t at, own, past, n_own, n_past; } cached_row;

static cached_row cached_row_of(const jf_kargs *k, const jf_attention_dims *d, int64_t at)
{
  const int64_t head = at / d->q_len % d->heads, batch = at / d->q_len / d->heads;
  const int64_t group = batch * d->groups + head / d->shared;
  return (cached_row){ at, group * d->k_len, group * k->in[JF_ATTENTION_PAST_K].shape.d[2],
                       at % d->q_len + 1, jf_index_at(&k->in[JF_ATTENTION_LENGTH], batch) };
}

/* Where all scores are -infinity nothing has weight, as where all keys are hidden from attention
   without a cache. */
static double cached_weight(double score, double most)
{
  const double log_p = score - (most == -INFINITY ? 0 : most);
  return log_p < JF_ATTENTION_LEAST ? 0 : exp(log_p);
}

/* Key or value j of those that a row sees, by input `own` of its new ones; `room` is for one of 16
   bits. */
#define CACHED(D, T)                                                                     \
  static const T *cached_key_##D(const jf_kargs *k, const cached_row *r, int64_t j, int own, \
                                 T *room)                                                \
  {                                                                                      \
    const int past = j < r->n_past;                                                      \
    const jf_tensor *t = &k->in[past ? own + JF_ATTENTION_PAST_K - JF_ATTENTION_K : own]; \
    const int64_t size = t->shape.d[3];                                                  \
    const int64_t at = (past ? r->past + j : r->own + j - r->n_past) * size;             \
    if (!jf_is_half(t->dtype)) return (const T *)t->data + at;                           \
    for (int64_t l = 0; l < size; l++)                                                   \
      room[l] = (T)jfl_number_get(t->dtype, t->data, at + l);                            \
    return room;                                                                         \
  }                                                                                      \
  static void cached_row_##D(const jf_kargs *k, const jf_attention_dims *d, cached_row r) \
  {                                                                                      \
    const int64_t n = r.n_past + r.n_own;                                                \
    const T *q = (const T *)k->in[JF_ATTENTION_Q].data + r.at * d->size;                 \
    T *y = (T *)k->out[0].data + r.at * d->v_size;                                       \
    double *s = k->scratch, *sum = s + n, most = -INFINITY, all = 0;                     \
    T *room = (T *)(sum + d->v_size);                                                    \
    for (int64_t j = 0; j < n; j++) {                                                    \
      const T *key = cached_key_##D(k, &r, j, JF_ATTENTION_K, room);                     \
      s[j] = 0;                                                                          \
      for (int64_t l = 0; l < d->size; l++) s[j] += (double)q[l] * (double)key[l];       \
      s[j] *= ((const jf_attention *)k->attr)->scale;                                    \
      most = s[j] > most ? s[j] : most;                                                  \
    }                                                                                    \
    memset(sum, 0, (size_t)d->v_size * sizeof *sum);                                     \
    for (int64_t j = 0; j < n; j++) {                                                    \
      const T *value = cached_key_##D(k, &r, j, JF_ATTENTION_V, room);                   \
      const double p = cached_weight(s[j], most);                                        \
      all += p;                                                                          \
      for (int64_t l = 0; p != 0 && l < d->v_size; l++) sum[l] += p * (double)value[l];  \
    }                                                                                    \
    for (int64_t l = 0; l < d->v_size; l++) y[l] = all == 0 ? 0 : (T)(sum[l] / all);     \
  }                                                                                      \
  static jfl_status cached_##D(const jf_kargs *k)                                        \
  {                                                                                      \
    const jf_attention_dims d = jf_attention_dims_of(k);                                 \
    JF_TRY(jf_cached_check(k));                                                          \
    for (int64_t i = 0; i < d.batch * d.heads * d.q_len && !jf_loop_ends(); i++)         \
      cached_row_##D(k, &d, cached_row_of(k, &d, i));                                    \
    return JFL_OK;                                                                       \
  }

jfl_status jf_cached_check(const jf_kargs *k)
{
  const int64_t room = k->in[JF_ATTENTION_PAST_K].shape.d[2] - k->in[JF_ATTENTION_K].shape.d[2];
  return jf_check_range(k, JF_WRONG_LENGTH, &k->in[JF_ATTENTION_LENGTH], room + 1);
}

JF_EACH_FLOAT(CACHED)

static size_t cached_scratch(const jf_kargs *k)
{
  const jf_attention_dims d = jf_attention_dims_of(k);
  const int64_t most = k->in[JF_ATTENTION_PAST_K].shape.d[2] + d.k_len;
  const int64_t room = d.size > d.v_size ? d.size : d.v_size;
  return (size_t)(most + d.v_size + room) * sizeof(double);
}

/* As if caches were full. */
static double cached_flop(const jf_kargs *k)
{
  const jf_attention_dims d = jf_attention_dims_of(k);
  const double keys = (double)(k->in[JF_ATTENTION_PAST_K].shape.d[2] + d.k_len);
  return 2 * (double)(d.batch * d.heads * d.q_len) * keys * (double)(d.size + d.v_size);
}

/* Fails unless n rows that end at each length fit a cache of `most`; tells of lengths before. */
static jfl_status append_check(const jf_kargs *k, int64_t n, int64_t most)
{
  const jf_tensor *length = &k->in[APPEND_LENGTH];
  for (int64_t i = 0; i < length->shape.d[0]; i++) {
    const int64_t before = jf_index_at(length, i) - n;
    if (before < 0 || before > most - n)
      return jf_index_fault(k, JF_WRONG_LENGTH, before, i, most - n + 1);
  }
  return JFL_OK;
}

static jfl_status append(const jf_kargs *k)
{
  const jf_tensor *cache = &k->in[APPEND_CACHE], *x = &k->in[APPEND_VALUE];
  const int64_t *d = cache->shape.d, n = x->shape.d[2];
  const size_t size = jfl_dtype_size(cache->dtype);
  JF_TRY(append_check(k, n, d[2]));
  for (int64_t i = 0; i < d[0] * d[1]; i++) {
    const int64_t at = i * d[2] + jf_index_at(&k->in[APPEND_LENGTH], i / d[1]) - n;
    char *to = (char *)cache->data + (size_t)(at * d[3]) * size;
    const int64_t from = i * n * d[3];
    if (cache->dtype == x->dtype)
      memcpy(to, (const char *)x->data + (size_t)from * size, (size_t)(n * d[3]) * size);
    else
      jf_halves_put(cache->dtype, (uint16_t *)(void *)to, (const float *)x->data + from, n * d[3]);
  }
  return JFL_OK;
}

/* Sequences may be split. */
static void cached_signatures(jf_signatures *c)
{
  jf_signature_along(c, 0);
}

JFL_OP(cached_attention,
  .doc = "For each query the mean of the values that a cache has and of the new ones up to its "
         "own, weighted by softmax(scale q k^T). Of sequence b of the cache the first length[b] "
         "count. It may be of 16 bits where the rest is float32.",
  .in = { "q", "k", "v", "past_k", "past_v", "length" },
  .out = { "y" }, JF_WITH(attrs, jf_attention), .infer = cached_infer, .flags = JF_HALVES_BESIDE,
  .cpu = JF_KERNELS(JF_FLOATS(cached_)), .scratch = cached_scratch, .flop = cached_flop,
  .signatures = cached_signatures)

JFL_OP(cache_append,
  .doc = "Writes value (batch, heads, n, size) into a cache (batch, heads, most, size), of whose "
         "sequence b it becomes the last of the first length[b]. A cache of 16 bits takes "
         "float32, too.",
  .in = { "cache", "value", "length" }, .flags = JF_EFFECT, .mutates = 1 << APPEND_CACHE,
  .infer = append_infer, .cpu = JF_KERNELS(JF_EVERY_DTYPE(append)), .signatures = cached_signatures)
