/* Attention to a cache of keys and values and to new ones, and what appends to the cache. A block
   has one query: each of its threads takes the score of one key of a tile, and then some columns of
   the weighted values. Weights are relative to the largest score so far, as keys go by. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/attention.h"

#include <stdio.h>
#endif

/* data is q, k, v, past_k, past_v, length, y. most: how many rows the cache has for each head. */
typedef struct cached_args {
  struct jf_cuda_head head;
  int64_t rows, heads, groups, shared, q_len, size, v_size, most;
  double scale;
} cached_args;

/* data is cache (batch, heads, most, size), value (batch, heads, n, size), length. */
typedef struct append_args {
  struct jf_cuda_head head;
  int64_t count, heads, most, n, size;
} append_args;

#ifdef JF_DEVICE

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

#ifdef COLUMNS

/* T is the elements' type, P that of the cache, A that in which they are computed, I that of
   lengths. COLUMNS: how many columns of the result a thread has. */
typedef decltype(jf_load(T())) A;
enum { CACHED_THREADS = 128 };
struct cached_sum { static JF_INLINE A of(A a, A b) { return a + b; } };
struct cached_max { static JF_INLINE A of(A a, A b) { return a > b ? a : b; } };

/* The keys or values of a query: `past` of a cache, then new ones. */
struct cached_rows {
  const P *old;
  const T *fresh;
  int64_t past, size;
  JF_INLINE cached_rows(const cached_args &p, int input, int64_t group, int64_t length, int64_t n)
    : old((const P *)p.head.data[input + 2] + group * p.most * n),
      fresh((const T *)p.head.data[input] + group * p.q_len * n), past(length), size(n) { }
  JF_INLINE A at(int64_t j, int64_t column) const
  {
    return j < past ? (A)jf_load(old[j * size + column])
                    : (A)jf_load(fresh[(j - past) * size + column]);
  }
};

JF_INLINE A cached_score(const cached_args &p, const T *q, const cached_rows &key, int64_t j)
{
  A s = 0;
  for (int64_t l = 0; l < p.size; l++) s += (A)jf_load(q[l]) * key.at(j, l);
  return s * (A)p.scale;
}

JF_INLINE void cached_query(const cached_args &p, int64_t row, int64_t group, int64_t length)
{
  __shared__ A weight[CACHED_THREADS];
  const cached_rows key(p, 1, group, length, p.size), value(p, 2, group, length, p.v_size);
  const T *q = (const T *)p.head.data[0] + row * p.size;
  T *y = (T *)p.head.data[6] + row * p.v_size;
  const int64_t total = length + row % p.q_len + 1;
  A most = -(A)INFINITY, all = 0, sum[COLUMNS];
  for (int c = 0; c < COLUMNS; c++) sum[c] = 0;
  for (int64_t from = 0; from < total; from += CACHED_THREADS) {
    const int64_t j = from + threadIdx.x, left = total - from;
    const int n = left < CACHED_THREADS ? (int)left : CACHED_THREADS;
    const A score = j < total ? cached_score(p, q, key, j) : -(A)INFINITY;
    const A top = jf_block_join<cached_max>(score, -(A)INFINITY), next = top > most ? top : most;
    const A base = next == -(A)INFINITY ? (A)0 : next;
    const A w = j < total ? exp(score - base) : (A)0, factor = exp(most - base);
    all = all * factor + jf_block_join<cached_sum>(w, (A)0);
    weight[threadIdx.x] = w;
    __syncthreads();
    for (int c = 0; c < COLUMNS; c++) {
      const int64_t column = threadIdx.x + c * CACHED_THREADS;
      sum[c] *= factor;
      for (int i = 0; i < n && column < p.v_size; i++)
        sum[c] += weight[i] * value.at(from + i, column);
    }
    __syncthreads();
    most = next;
  }
  for (int c = 0; c < COLUMNS; c++) {
    const int64_t column = threadIdx.x + c * CACHED_THREADS;
    if (column < p.v_size) jf_store(&y[column], all == 0 ? (A)0 : sum[c] / all);
  }
}

JF_KERNEL cached_attention(const cached_args p)
{
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const int64_t head = row / p.q_len % p.heads, batch = row / p.q_len / p.heads;
    const int64_t length = ((const I *)p.head.data[5])[batch];
    if (length >= 0 && length <= p.most - p.q_len)
      cached_query(p, row, batch * p.groups + head / p.shared, length);
    else if (threadIdx.x == 0)
      jf_report_least(p.head, JF_WRONG_LENGTH, length, batch, p.most - p.q_len + 1);
  }
}

#endif

#ifndef COLUMNS

/* T is the cache's type, or one of its size, V that of values, I that of lengths. */
#ifdef CONVERTS
JF_INLINE void append_put(T *to, V v) { jf_store(to, jf_load(v)); }
#endif
#ifndef CONVERTS
JF_INLINE void append_put(T *to, V v) { *to = v; }
#endif
JF_KERNEL cache_append(const append_args p)
{
  T *cache = (T *)p.head.data[0];
  if (jf_halted(p.head)) return;
  JF_EACH(i, p.count) {
    int64_t at, line;
    const int64_t row = jf_divide(i, p.size, &at), head = jf_divide(row, p.n, &line);
    const int64_t batch = head / p.heads;
    const int64_t before = (int64_t)((const I *)p.head.data[2])[batch] - p.n;
    if (before < 0 || before > p.most - p.n)
      jf_report_least(p.head, JF_WRONG_LENGTH, before, batch, p.most - p.n + 1);
    else append_put(&cache[(head * p.most + before + line) * p.size + at],
                    ((const V *)p.head.data[1])[i]);
  }
}

#endif

#else

extern const char jf_cuda_text_cached_attention[];

enum { CACHED_THREADS = 128, CACHED_COLUMNS = 64 };

static int64_t cached_columns(const jf_kargs *k)
{
  return (k->out[0].shape.d[3] + CACHED_THREADS - 1) / CACHED_THREADS;
}

static int cached_accepts(const jf_kargs *k)
{
  return cached_columns(k) <= CACHED_COLUMNS &&
         k->in[JF_ATTENTION_PAST_K].dtype == k->in[JF_ATTENTION_PAST_V].dtype;
}

static jfl_status cached_prepare(jf_kargs *k)
{
  const jf_attention_dims d = jf_attention_dims_of(k);
  const cached_args a = { .rows = d.batch * d.heads * d.q_len, .heads = d.heads,
                          .groups = d.groups, .shared = d.shared, .q_len = d.q_len, .size = d.size,
                          .v_size = d.v_size, .most = k->in[JF_ATTENTION_PAST_K].shape.d[2],
                          .scale = ((const jf_attention *)k->attr)->scale };
  const jf_cuda_source s = { "attention with a cache", jf_cuda_text_cached_attention, NULL,
                             { JF_AS_DTYPE("T", k->in[0].dtype),
                               JF_AS_DTYPE("P", k->in[JF_ATTENTION_PAST_K].dtype),
                               JF_AS_DTYPE("I", k->in[JF_ATTENTION_LENGTH].dtype),
                               JF_AS_NUMBER("COLUMNS", cached_columns(k)) } };
  const jf_cuda_grid grid = { .blocks = a.rows < INT32_MAX ? a.rows : INT32_MAX,
                              .threads = CACHED_THREADS };
  if (!jf_numel(&k->out[0].shape)) return JFL_OK;
  return jf_cuda_prepare(k, &s, "cached_attention", grid, &a, sizeof a);
}

static jfl_status append_prepare(jf_kargs *k)
{
  const int64_t *d = k->in[0].shape.d;
  const append_args a = { .count = jf_numel(&k->in[1].shape), .heads = d[1], .most = d[2],
                          .n = k->in[1].shape.d[2], .size = d[3] };
  const int converts = k->in[0].dtype != k->in[1].dtype;
  const char *moved = converts ? NULL : jf_cuda_moved(jfl_dtype_size(k->in[0].dtype));
  const jf_cuda_source s = { "cache", jf_cuda_text_cached_attention,
                             converts ? "#define CONVERTS\n" : NULL,
                             { JF_AS_DTYPE("I", k->in[2].dtype),
                               JF_AS_TYPE("T", moved ? moved : jf_cuda_stored(k->in[0].dtype)),
                               JF_AS_TYPE("V", moved ? moved : jf_cuda_stored(k->in[1].dtype)) } };
  return jf_cuda_each(k, &s, "cache_append", a.count, &a, sizeof a);
}

JFL_CUDA(cuda_cached_attention,
  JF_CUDA_LAUNCHED("cached_attention", cached_accepts, cached_prepare))
JFL_CUDA(cuda_cache_append, JF_CUDA_LAUNCHED("cache_append", NULL, append_prepare))

#endif
