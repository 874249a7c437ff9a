/* Attention in tiles (Dao, Fu, Ermon, Rudra and Re, FlashAttention, 2022), as
   kernels/cpu/attention.c computes it. A block makes some columns of the results of a tile of
   queries, or of keys for their gradients; scores are never stored. Its threads are a square of 16
   by 16, each of which has R by R scores of a tile. Every result is the work of one block, in one
   order, so it is the same in every run. Weights of float32 are sums of float32: no sum is longer
   than a head's size or its keys. A program has the kernels for which MAKES_ and their names are
   defined. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/attention.h"
#include "op/dropout.h"
#include "op/op.h"

#include <stdio.h>
#include <string.h>
#endif

enum { ATTENTION_SIDE = 16, ATTENTION_DEPTH = 32 };
/* How the mask hides keys: not at all, by numbers to add to scores, or by zeros. */
enum { ATTENTION_NO_MASK, ATTENTION_NUMBERS, ATTENTION_BITS };

/* How many elements lie between batches, heads and rows. */
typedef struct attention_steps { int64_t batch, head, row; } attention_steps;

typedef struct attention_args {
  const void *q, *k, *v, *mask, *y, *lse, *dy;
  const int64_t *seed;
  void *out[3];
  void *dot;                           /* of each query: <dy, y> */
  int64_t batch, heads, groups, shared, q_len, k_len, size, v_size;
  attention_steps q_step, k_step, v_step, y_step;      /* those of gradients are the same */
  int64_t mask_step[4];
  int64_t rows, first;                 /* of dropout, as in jf_attention_drop */
  double scale, keep;
  uint32_t threshold;
  int32_t causal, mask_kind;
} attention_args;

#ifdef JF_DEVICE

/* T is the type of q, k, v, y and dy, O that of results, M that of a mask of numbers, L that of
   lse, A that of sums; R and COLUMNS, how many columns of the result a thread
   has, are given too. */
enum { N = ATTENTION_SIDE * R, WIDTH = ATTENTION_SIDE * COLUMNS, GAP = 16 / sizeof(A),
       AT_ONCE = COLUMNS < 4 ? COLUMNS : 4 };
#define HIDDEN (-(A)INFINITY)
#define THREADS __launch_bounds__(ATTENTION_SIDE * ATTENTION_SIDE, 1)
/* A loop over registers. */
#define ALL(i, n) _Pragma("unroll") for (int i = 0; i < (n); i++)
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

struct __align__(16) attention_room {
  A left[ATTENTION_DEPTH][N + GAP], right[ATTENTION_DEPTH][N + GAP];
  A p[N][N + GAP];                     /* weights, or the gradients of scores */
  A m[ATTENTION_SIDE][WIDTH];
};

/* Where a thread is in a tile: its first row and its first column. */
JF_INLINE int attention_row() { return (int)threadIdx.x / ATTENTION_SIDE * R; }
JF_INLINE int attention_column() { return (int)threadIdx.x % ATTENTION_SIDE * R; }

/* Rows of elements, `step` apart. */
struct attention_rows {
  const T *x;
  int64_t n, step;
};

/* What is left of them from row i on. */
JF_INLINE attention_rows attention_from(const T *x, int64_t n, const attention_steps &step,
                                        int64_t i)
{
  return { x + i * step.row, n - i, step.row };
}

/* Sets a tile's rows of x from element `from` on, with rows along lines. */
JF_INLINE void attention_load(A (*to)[N + GAP], const attention_rows &x, int64_t size, int64_t from)
{
  for (int t = threadIdx.x; t < N * ATTENTION_DEPTH; t += blockDim.x) {
    const int row = t / ATTENTION_DEPTH, d = t % ATTENTION_DEPTH;
    to[d][row] = row < x.n && from + d < size ? (A)jf_load(x.x[row * x.step + from + d]) : (A)0;
  }
}

/* sum[r][c] = <x of row r, y of row c>, for rows of `size` elements. */
JF_INLINE void attention_products(A (*sum)[R], attention_room &s, const attention_rows &x,
                                  const attention_rows &y, int64_t size)
{
  ALL(r, R)
    ALL(c, R) sum[r][c] = 0;
  for (int64_t from = 0; from < size; from += ATTENTION_DEPTH) {
    __syncthreads();
    attention_load(s.left, x, size, from);
    attention_load(s.right, y, size, from);
    __syncthreads();
    for (int d = 0; d < ATTENTION_DEPTH; d++) {
      A a[R], b[R];
      ALL(r, R) a[r] = s.left[d][attention_row() + r];
      ALL(c, R) b[c] = s.right[d][attention_column() + c];
      ALL(r, R)
        ALL(c, R) sum[r][c] += a[r] * b[c];
    }
  }
}

/* Column c of a thread's, of those that the block has. */
JF_INLINE int attention_own(int c)
{
  return c / AT_ONCE * (ATTENTION_SIDE * AT_ONCE) +
         (int)threadIdx.x % ATTENTION_SIDE * AT_ONCE + c % AT_ONCE;
}

/* out[r][c] += sum over l of p[l][r] x[l][c], for rows of x, `size` long, and their columns from
   `from` on. Careful: leaves out what p multiplies by 0, even if it is not finite. */
template <int CAREFUL>
JF_INLINE void attention_add(A (*out)[COLUMNS], attention_room &s, const attention_rows &x,
                             int64_t size, int64_t from)
{
  for (int first = 0; first < N && first < x.n; first += ATTENTION_SIDE) {
    __syncthreads();
    for (int t = threadIdx.x; t < ATTENTION_SIDE * WIDTH; t += blockDim.x) {
      const int l = t / WIDTH, c = t % WIDTH;
      s.m[l][c] = first + l < x.n && from + c < size
                ? (A)jf_load(x.x[(first + l) * x.step + from + c]) : (A)0;
    }
    __syncthreads();
    for (int l = 0; l < ATTENTION_SIDE; l++) {
      A a[R], b[COLUMNS];
      ALL(r, R) a[r] = s.p[first + l][attention_row() + r];
      ALL(c, COLUMNS) b[c] = s.m[l][attention_own(c)];
      ALL(r, R)
        ALL(c, COLUMNS)
          if (!CAREFUL || a[r] != 0) out[r][c] += a[r] * b[c];
    }
  }
}

/* A head of q, and what belongs to it. */
struct attention_head {
  const T *q, *k, *v, *y, *dy;
  const L *lse;
  const A *dot;
  int64_t row, mask;                   /* the first query, of all heads; its mask */
  int64_t q_at, y_at;                  /* where q and y begin in their tensors */
};

JF_INLINE attention_head attention_head_of(const attention_args &a, int64_t head)
{
  const int64_t batch = head / a.heads, h = head % a.heads;
  const int64_t group = h / a.shared, row = head * a.q_len;
  const int64_t q_at = batch * a.q_step.batch + h * a.q_step.head;
  const int64_t y_at = batch * a.y_step.batch + h * a.y_step.head;
  return { (const T *)a.q + q_at,
           (const T *)a.k + batch * a.k_step.batch + group * a.k_step.head,
           (const T *)a.v + batch * a.v_step.batch + group * a.v_step.head,
           (const T *)a.y + y_at, (const T *)a.dy + y_at, (const L *)a.lse + row,
           (const A *)a.dot + row, row, batch * a.mask_step[0] + h * a.mask_step[1], q_at, y_at };
}

/* The score of query i for key j, whose product is known. */
JF_INLINE A attention_score(const attention_args &a, const attention_head &h, A product, int64_t i,
                            int64_t j)
{
  const A score = product * (A)a.scale;
  const int64_t at = h.mask + i * a.mask_step[2] + j * a.mask_step[3];
  if (i >= a.q_len || j >= a.k_len || (a.causal && j > i)) return HIDDEN;
  if (a.mask_kind == ATTENTION_NO_MASK) return score;
  if (a.mask_kind == ATTENTION_BITS) return ((const int8_t *)a.mask)[at] ? score : HIDDEN;
  const A more = (A)jf_load(((const M *)a.mask)[at]);
  return more == HIDDEN ? HIDDEN : score + more;
}

/* exp(score - base), at most 1. */
JF_INLINE A attention_weight(A score, A base)
{
  const A log_p = score - base;
  if (score == HIDDEN || log_p < (A)-87) return 0;
  return exp(log_p > 0 ? (A)0 : log_p);
}

/* What dropout multiplies the weights of R keys from j on by; R divides 4. */
JF_INLINE void attention_kept(const attention_args &a, int64_t row, int64_t j, A *kept)
{
  if (!a.threshold) {
    ALL(c, R) kept[c] = 1;
    return;
  }
  const jf_words bits = jf_philox({ (uint64_t)*a.seed, 0, 0 },
                                  (uint64_t)(j / 4 * a.rows + a.first + row));
  ALL(c, R)
    kept[c] = bits.w[(j + c) & 3] >> 8 >= a.threshold ? (A)a.keep : (A)0;
}

/* ---- the results ---- */

struct attention_max { static __device__ __forceinline__ A of(A a, A b) { return b > a ? b : a; } };

/* Joins what the 16 threads of a row have. */
JF_INLINE A attention_row_max(A v)
{
  for (int lane = 8; lane; lane /= 2)
    v = attention_max::of(v, __shfl_xor_sync(0xffffffffu, v, lane));
  return v;
}
JF_INLINE A attention_row_sum(A v)
{
  for (int lane = 8; lane; lane /= 2) v += __shfl_xor_sync(0xffffffffu, v, lane);
  return v;
}

/* Takes one more tile of scores into the largest score, the sum of weights and the results. */
JF_INLINE void attention_join(const attention_args &a, const attention_head &h, attention_room &s,
                              A (*score)[R], A *most, A *all, A (*out)[COLUMNS], int64_t i,
                              int64_t j)
{
  __syncthreads();                     /* what was in s.p has been read */
  ALL(r, R) {
    A top = HIDDEN, kept[R];
    ALL(c, R) {
      score[r][c] = attention_score(a, h, score[r][c], i + r, j + c);
      top = attention_max::of(top, score[r][c]);
    }
    top = attention_max::of(most[r], attention_row_max(top));
    const A factor = most[r] == HIDDEN ? (A)0 : exp(most[r] - top);
    most[r] = top;
    all[r] *= factor;
    ALL(c, COLUMNS) out[r][c] *= factor;
    attention_kept(a, h.row + i + r, j, kept);
    ALL(c, R) {
      const A p = attention_weight(score[r][c], top);
      all[r] += p;
      const A weight = p == 0 || kept[c] == 0 ? (A)0 : p * kept[c];
      s.p[attention_column() + c][attention_row() + r] = weight;
    }
  }
}

/* Results of a tile of queries from `first` on, and their columns from `from` on. Gives whether
   some number is not finite. */
template <int CAREFUL>
JF_INLINE int attention_tile(const attention_args &a, attention_room &s, int64_t head,
                             int64_t first, int64_t from)
{
  const attention_head h = attention_head_of(a, head);
  const int64_t end = a.causal && first + N < a.k_len ? first + N : a.k_len;
  A out[R][COLUMNS] = { { 0 } }, most[R], all[R];
  int bad = 0;
  ALL(r, R) most[r] = HIDDEN, all[r] = 0;
  for (int64_t j = 0; j < end; j += N) {
    A score[R][R];
    attention_products(score, s, attention_from(h.q, a.q_len, a.q_step, first),
                       attention_from(h.k, a.k_len, a.k_step, j), a.size);
    attention_join(a, h, s, score, most, all, out, first + attention_row(),
                   j + attention_column());
    attention_add<CAREFUL>(out, s, attention_from(h.v, a.k_len, a.v_step, j), a.v_size, from);
  }
  ALL(r, R) {
    const int64_t i = first + attention_row() + r;
    const A sum = attention_row_sum(all[r]);
    if (i >= a.q_len) continue;
    ALL(c, COLUMNS) {
      const int64_t at = from + attention_own(c);
      const A v = sum == 0 ? (A)0 : out[r][c] / sum;
      bad |= v - v != 0;
      if (at < a.v_size) jf_store(&((O *)a.out[0])[h.y_at + i * a.y_step.row + at], v);
    }
    if (from == 0 && attention_column() == 0)
      jf_store(&((L *)a.out[1])[h.row + i], sum == 0 ? -HIDDEN : most[r] + log(sum));
  }
  return bad;
}

#ifdef MAKES_attention
JF_KERNEL THREADS attention(const attention_args a)
{
  __shared__ attention_room s;
  const int64_t tiles = (a.q_len + N - 1) / N, widths = (a.v_size + WIDTH - 1) / WIDTH;
  const int64_t head = blockIdx.x / (tiles * widths), rest = blockIdx.x % (tiles * widths);
  const int64_t first = rest / widths * N, from = rest % widths * WIDTH;
  if (__syncthreads_or(attention_tile<0>(a, s, head, first, from)))
    attention_tile<1>(a, s, head, first, from);
}
#endif

/* ---- gradients ---- */

/* <dy, y> of each query, a warp for each. */
#ifdef MAKES_attention_dot
JF_KERNEL THREADS attention_dot(const attention_args a)
{
  const int64_t warps = (int64_t)gridDim.x * blockDim.x / 32;
  for (int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
       i < a.batch * a.heads * a.q_len; i += warps) {
    const attention_head h = attention_head_of(a, i / a.q_len);
    const int64_t at = i % a.q_len * a.y_step.row;
    A sum = 0;
    for (int64_t l = threadIdx.x & 31; l < a.v_size; l += 32)
      sum += (A)jf_load(h.dy[at + l]) * (A)jf_load(h.y[at + l]);
    for (int lane = 16; lane; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
    if ((threadIdx.x & 31) == 0) ((A *)a.dot)[i] = sum;
  }
}
#endif

/* The weight of a key after dropout, or the gradient of its score but for the scale. */
JF_INLINE A attention_slope(A weight, A kept, A dp, A dot)
{
  return weight == 0 ? (A)0 : weight * ((kept == 0 ? (A)0 : kept * dp) - dot);
}
JF_INLINE A attention_dropped(A weight, A kept)
{
  return weight == 0 || kept == 0 ? (A)0 : weight * kept;
}

/* Makes of the products of a tile what is to be multiplied: slopes, or weights where VALUES. Rows
   of the tile are keys where BY_KEYS, else queries; i and j are the thread's first ones. */
template <int BY_KEYS, int VALUES>
JF_INLINE void attention_slopes(const attention_args &a, const attention_head &h, A (*score)[R],
                                A (*dp)[R], int64_t i, int64_t j)
{
  ALL(l, R) {
    const int there = i + l < a.q_len;
    const A lse = there ? (A)jf_load(h.lse[i + l]) : -HIDDEN;
    const A dot = there && !VALUES ? h.dot[i + l] : (A)0;
    A kept[R];
    attention_kept(a, h.row + i + l, j, kept);
    ALL(m, R) {
      A &at = BY_KEYS ? score[m][l] : score[l][m];
      const A w = attention_weight(attention_score(a, h, at, i + l, j + m), lse);
      at = VALUES ? attention_dropped(w, kept[m])
                  : attention_slope(w, kept[m], BY_KEYS ? dp[m][l] : dp[l][m], dot);
    }
  }
}

JF_INLINE void attention_keep_tile(attention_room &s, A (*score)[R])
{
  __syncthreads();                     /* what was in s.p has been read */
  ALL(r, R)
    ALL(c, R) s.p[attention_column() + c][attention_row() + r] = score[r][c];
}

/* The slopes of a tile of scores, of queries from i on and keys from j on. */
JF_INLINE void attention_query_slopes(const attention_args &a, attention_room &s,
                                      const attention_head &h, A (*score)[R], int64_t i, int64_t j)
{
  A dp[R][R];
  attention_products(score, s, attention_from(h.q, a.q_len, a.q_step, i),
                     attention_from(h.k, a.k_len, a.k_step, j), a.size);
  attention_products(dp, s, attention_from(h.dy, a.q_len, a.y_step, i),
                     attention_from(h.v, a.k_len, a.v_step, j), a.v_size);
  attention_slopes<0, 0>(a, h, score, dp, i + attention_row(), j + attention_column());
}

/* Writes rows `first` on of a result, n rows of `size` that are `step` apart, and says whether some
   is not finite. */
JF_INLINE int attention_put(O *to, A (*out)[COLUMNS], A scale, int64_t first, int64_t n,
                            int64_t step, int64_t size, int64_t from)
{
  int bad = 0;
  ALL(r, R)
    ALL(c, COLUMNS) {
      const int64_t i = first + attention_row() + r, at = from + attention_own(c);
      const A v = out[r][c] * scale;
      if (i >= n || at >= size) continue;
      bad |= v - v != 0;
      jf_store(&to[i * step + at], v);
    }
  return bad;
}

template <int CAREFUL>
JF_INLINE int attention_of_queries(const attention_args &a, attention_room &s, int64_t head,
                                   int64_t first, int64_t from)
{
  const attention_head h = attention_head_of(a, head);
  const int64_t end = a.causal && first + N < a.k_len ? first + N : a.k_len;
  A out[R][COLUMNS] = { { 0 } };
  for (int64_t j = 0; j < end; j += N) {
    A score[R][R];
    attention_query_slopes(a, s, h, score, first, j);
    attention_keep_tile(s, score);
    attention_add<CAREFUL>(out, s, attention_from(h.k, a.k_len, a.k_step, j), a.size, from);
  }
  return attention_put((O *)a.out[0] + h.q_at, out, (A)a.scale, first, a.q_len, a.q_step.row,
                       a.size, from);
}

/* Gradients of v where VALUES, else of k, of a tile of keys of a group. */
template <int VALUES, int CAREFUL>
JF_INLINE int attention_of_keys(const attention_args &a, attention_room &s, int64_t group,
                                int64_t first, int64_t from)
{
  const int64_t size = VALUES ? a.v_size : a.size;
  const attention_steps &step = VALUES ? a.v_step : a.k_step;
  A out[R][COLUMNS] = { { 0 } };
  for (int64_t n = 0; n < a.shared; n++) {
    const attention_head h = attention_head_of(a, group * a.shared + n);
    for (int64_t i = a.causal ? first : 0; i < a.q_len; i += N) {
      A score[R][R], dp[R][R];
      const attention_rows q = attention_from(h.q, a.q_len, a.q_step, i);
      const attention_rows dy = attention_from(h.dy, a.q_len, a.y_step, i);
      attention_products(score, s, attention_from(h.k, a.k_len, a.k_step, first), q, a.size);
      if (!VALUES)
        attention_products(dp, s, attention_from(h.v, a.k_len, a.v_step, first), dy, a.v_size);
      attention_slopes<1, VALUES>(a, h, score, dp, i + attention_column(), first + attention_row());
      attention_keep_tile(s, score);
      attention_add<CAREFUL>(out, s, VALUES ? dy : q, size, from);
    }
  }
  O *to = (O *)a.out[VALUES ? 2 : 1] + group / a.groups * step.batch + group % a.groups * step.head;
  return attention_put(to, out, VALUES ? (A)1 : (A)a.scale, first, a.k_len, step.row, size, from);
}

#define ATTENTION_GRADIENT(name, tile, length, size)                                       \
  JF_KERNEL THREADS name(const attention_args a)                                           \
  {                                                                                        \
    __shared__ attention_room s;                                                           \
    const int64_t tiles = (length + N - 1) / N, widths = (size + WIDTH - 1) / WIDTH;       \
    const int64_t head = blockIdx.x / (tiles * widths), rest = blockIdx.x % (tiles * widths); \
    const int64_t first = rest / widths * N, from = rest % widths * WIDTH;                 \
    if (__syncthreads_or(tile 0>(a, s, head, first, from)))                                \
      tile 1>(a, s, head, first, from);                                                    \
  }
#define KEYS attention_of_keys<0,
#define VALUES_OF attention_of_keys<1,
#ifdef MAKES_attention_dq
ATTENTION_GRADIENT(attention_dq, attention_of_queries<, a.q_len, a.size)
#endif
#ifdef MAKES_attention_dk
ATTENTION_GRADIENT(attention_dk, KEYS, a.k_len, a.size)
#endif
#ifdef MAKES_attention_dv
ATTENTION_GRADIENT(attention_dv, VALUES_OF, a.k_len, a.v_size)
#endif

/* Gradients of a mask, a tile of it for a block, which adds up what the mask is broadcast to. */
#ifdef MAKES_attention_mask
JF_KERNEL THREADS attention_mask(const attention_args a)
{
  __shared__ attention_room s;
  const int64_t *step = a.mask_step;
  const int64_t across = step[3] ? (a.k_len + N - 1) / N : 1;
  const int64_t down = step[2] ? (a.q_len + N - 1) / N : 1, n_head = step[1] ? a.heads : 1;
  const int64_t j0 = blockIdx.x % across * N, i0 = blockIdx.x / across % down * N;
  const int64_t h0 = blockIdx.x / (across * down) % n_head;
  const int64_t b0 = blockIdx.x / (across * down) / n_head;
  double sum[R][R] = { { 0 } };
  for (int64_t b = b0; b < (step[0] ? b0 + 1 : a.batch); b++)
    for (int64_t n = h0; n < (step[1] ? h0 + 1 : a.heads); n++)
      for (int64_t i = i0; i < (step[2] ? i0 + 1 : a.q_len); i += N)
        for (int64_t j = j0; j < (step[3] ? j0 + 1 : a.k_len); j += N) {
          const attention_head h = attention_head_of(a, b * a.heads + n);
          A score[R][R];
          attention_query_slopes(a, s, h, score, i, j);
          ALL(r, R)
            ALL(c, R) sum[r][c] += (double)score[r][c];
        }
  __syncthreads();
  ALL(r, R)
    ALL(c, R) s.p[attention_row() + r][attention_column() + c] = (A)sum[r][c];
  __syncthreads();
  for (int t = threadIdx.x; t < (step[2] ? N : 1) * (step[3] ? N : 1); t += blockDim.x) {
    const int r = step[3] ? t / N : t, c = step[3] ? t % N : 0;
    double all = 0;
    for (int u = r; u < (step[2] ? r + 1 : N); u++)
      for (int v = c; v < (step[3] ? c + 1 : N); v++) all += (double)s.p[u][v];
    if (i0 + r < a.q_len && j0 + c < a.k_len)
      jf_store(&((O *)a.out[0])[b0 * step[0] + h0 * step[1] + (i0 + r) * step[2]
                                + (j0 + c) * step[3]], (A)all);
  }
}
#endif

#else

extern const char jf_cuda_text_attention[];

/* A kernel of the gradients, which needs the grid of its results. */
typedef struct attention_step { jf_cuda_kernel *kernel; int64_t blocks; } attention_step;
typedef struct attention_call {
  attention_args args;
  jfl_dtype mask, lse;                 /* of numbers to add to scores, and of lse */
  int n;
  attention_step step[4];
} attention_call;

static int attention_accepts(const jf_kargs *k)
{
  return jf_is_float(k->in[0].dtype);
}

/* Rows and columns of a tile of scores. */
static int64_t attention_side(const jf_kargs *k)
{
  return ATTENTION_SIDE * (k->in[0].dtype == JFL_F64 ? 2 : 4);
}

/* How many columns of results of that size a thread has. */
static int attention_columns(int64_t size)
{
  int n = 1;
  while (n < 8 && n * ATTENTION_SIDE < size) n *= 2;
  return n;
}

static int64_t attention_parts(int64_t n, int64_t size) { return (n + size - 1) / size; }

/* Adds a launch for `heads` times a tile of `length` rows times some columns of `size`. Its kernel
   is a program of its own: one takes NVRTC a second, and no call needs all. */
static jfl_status attention_add_step(jf_kargs *k, attention_call *c, const char *name,
                                     int64_t heads, int64_t length, int64_t size)
{
  const int f64 = k->in[0].dtype == JFL_F64, columns = attention_columns(size);
  attention_step *s = &c->step[c->n];
  char makes[32];
  snprintf(makes, sizeof makes, "MAKES_%s", name);
  const jf_cuda_source source = { "attention", jf_cuda_text_attention, NULL, {
    JF_AS_DTYPE("T", k->in[0].dtype), JF_AS_DTYPE("O", k->out[0].dtype),
    JF_AS_DTYPE("M", c->mask), JF_AS_DTYPE("L", c->lse),
    JF_AS_TYPE("A", f64 ? "double" : "float"), JF_AS_NUMBER("R", f64 ? 2 : 4),
    JF_AS_NUMBER("COLUMNS", columns), JF_AS_NUMBER(makes, 1) } };
  s->blocks = heads * attention_parts(length, attention_side(k)) *
              attention_parts(size, columns * ATTENTION_SIDE);
  if (s->blocks == 0) return JFL_OK;
  if (s->blocks > INT32_MAX) return JFL_ENOSYS;
  JF_TRY(jf_cuda_find(k, &source, name, &s->kernel));
  c->n++;
  return JFL_OK;
}

static attention_steps attention_steps_of(const jf_attention *a, const jf_attention_dims *d, int of)
{
  const jf_attention_steps s = jf_attention_steps_of(a, d, of);
  return (attention_steps){ s.batch, s.head, s.row };
}

/* What does not change from run to run; `mask` is the number of the input that may be one. */
static jfl_status attention_new(const jf_kargs *k, int mask, attention_call **out)
{
  const jf_attention *a = k->attr;
  const jf_attention_dims d = jf_attention_dims_of(k);
  const jf_attention_mask m = jf_attention_mask_of(k, mask);
  attention_call *c = jf_new(sizeof *c);
  if (!c) return jf_fail(JFL_ENOMEM, "out of memory");
  c->args = (attention_args){
    .batch = d.batch, .heads = d.heads, .groups = d.groups, .shared = d.shared, .q_len = d.q_len,
    .k_len = d.k_len, .size = d.size, .v_size = d.v_size,
    .q_step = attention_steps_of(a, &d, JF_ATTENTION_Q),
    .k_step = attention_steps_of(a, &d, JF_ATTENTION_K),
    .v_step = attention_steps_of(a, &d, JF_ATTENTION_V),
    .y_step = attention_steps_of(a, &d, JF_ATTENTION_Y), .scale = a->scale, .keep = 1,
    .rows = a->rows ? a->rows : d.batch * d.heads * d.q_len, .first = a->first,
    .causal = a->causal,
  };
  if (a->dropout_rate > 0) {
    c->args.threshold = jf_dropout_threshold(a->dropout_rate);
    c->args.keep = 1 / (1 - a->dropout_rate);
  }
  if (m.tensor) c->args.mask_kind = m.tensor->dtype == JFL_I8 ? ATTENTION_BITS : ATTENTION_NUMBERS;
  memcpy(c->args.mask_step, m.step, sizeof m.step);
  c->mask = m.tensor ? m.tensor->dtype : k->in[0].dtype;
  c->lse = mask == JF_ATTENTION_MASK ? k->out[1].dtype : k->in[JF_ATTENTION_LSE].dtype;
  *out = c;
  return JFL_OK;
}

/* Where q, k or v, number `of`, or its gradient begins in tensor t. */
static void *attention_first(const jf_kargs *k, int of, const jf_tensor *t)
{
  const jf_attention_dims d = jf_attention_dims_of(k);
  return (char *)t->data + (size_t)jf_attention_steps_of(k->attr, &d, of).first
                         * jfl_dtype_size(t->dtype);
}

static void attention_addresses(const jf_kargs *k, int mask, attention_args *a)
{
  a->q = attention_first(k, JF_ATTENTION_Q, &k->in[JF_ATTENTION_Q]);
  a->k = attention_first(k, JF_ATTENTION_K, &k->in[JF_ATTENTION_K]);
  a->v = attention_first(k, JF_ATTENTION_V, &k->in[JF_ATTENTION_V]);
  if (a->mask_kind) a->mask = k->in[mask].data;
  if (a->threshold) a->seed = k->in[k->n_in - 1].data;
  for (int i = 0; i < k->n_out; i++) a->out[i] = k->out[i].data;
  if (mask == JF_ATTENTION_MASK) return;
  if (k->op == &jf_op_scaled_dot_product_attention_grad)
    for (int i = 0; i < 3; i++)
      a->out[i] = attention_first(k, i, &k->out[k->n_out > 1 ? i : 0]);
  a->y = k->in[JF_ATTENTION_Y].data;
  a->lse = k->in[JF_ATTENTION_LSE].data;
  a->dy = k->in[JF_ATTENTION_DY].data;
  a->dot = k->scratch;
}

static jfl_status attention_launch(const jf_kargs *k, int mask)
{
  const attention_call *c = k->state;
  attention_args a = c->args;
  attention_addresses(k, mask, &a);
  for (int i = 0; i < c->n; i++)
    JF_TRY(jf_cuda_launch(k, c->step[i].kernel, (jf_cuda_grid){ c->step[i].blocks,
                          ATTENTION_SIDE * ATTENTION_SIDE, 0 }, &a));
  return JFL_OK;
}

static jfl_status attention_ready(jf_kargs *k, attention_call *c, jfl_status e)
{
  if (e) jf_free(c);
  else k->state = c;
  return e;
}

static jfl_status attention_prepare(jf_kargs *k)
{
  attention_call *c = NULL;
  JF_TRY(attention_new(k, JF_ATTENTION_MASK, &c));
  const attention_args *a = &c->args;
  const int64_t width = a->v_size ? a->v_size : 1;         /* the second result is made too */
  return attention_ready(k, c, attention_add_step(k, c, "attention", a->batch * a->heads, a->q_len,
                                                  width));
}

/* The launch that computes <dy, y>, and the memory for it. */
static jfl_status attention_start(jf_kargs *k, attention_call **out)
{
  JF_TRY(attention_new(k, JF_ATTENTION_GRAD_MASK, out));
  const attention_args *a = &(*out)->args;
  const int64_t rows = a->batch * a->heads * a->q_len;
  k->scratch_size = (size_t)rows * (k->in[0].dtype == JFL_F64 ? sizeof(double) : sizeof(float));
  jfl_status e = attention_add_step(k, *out, "attention_dot", 1, rows, 1);
  if (e) jf_free(*out);
  return e;
}

static jfl_status attention_grad_prepare(jf_kargs *k)
{
  attention_call *c = NULL;
  JF_TRY(attention_start(k, &c));
  const attention_args *a = &c->args;
  const int64_t heads = a->batch * a->heads, groups = a->batch * a->groups;
  jfl_status e = attention_add_step(k, c, "attention_dq", heads, a->q_len, a->size);
  if (!e) e = attention_add_step(k, c, "attention_dk", groups, a->k_len, a->size);
  if (!e) e = attention_add_step(k, c, "attention_dv", groups, a->k_len, a->v_size);
  return attention_ready(k, c, e);
}

static jfl_status attention_mask_prepare(jf_kargs *k)
{
  attention_call *c = NULL;
  JF_TRY(attention_start(k, &c));
  const attention_args *a = &c->args;
  const int64_t *step = a->mask_step, side = attention_side(k);
  const int64_t blocks = (step[0] ? a->batch : 1) * (step[1] ? a->heads : 1) *
                         (step[2] ? attention_parts(a->q_len, side) : 1) *
                         (step[3] ? attention_parts(a->k_len, side) : 1);
  const int64_t some = jf_numel(&k->out[0].shape) ? blocks : 0;
  return attention_ready(k, c, attention_add_step(k, c, "attention_mask", some, 1, 1));
}

static jfl_status attention_run(const jf_kargs *k)
{
  return attention_launch(k, JF_ATTENTION_MASK);
}

static jfl_status attention_grad_run(const jf_kargs *k)
{
  return attention_launch(k, JF_ATTENTION_GRAD_MASK);
}

#define ATTENTIONS(op_, prepare_, run_) \
  .op = op_, .accepts = attention_accepts, .prepare = prepare_, .run = run_, .release = jf_free
JFL_CUDA(cuda_attention,
  ATTENTIONS("scaled_dot_product_attention", attention_prepare, attention_run))
JFL_CUDA(cuda_attention_grad,
  ATTENTIONS("scaled_dot_product_attention_grad", attention_grad_prepare, attention_grad_run))
JFL_CUDA(cuda_attention_mask_grad,
  ATTENTIONS("scaled_dot_product_attention_mask_grad", attention_mask_prepare, attention_grad_run))

#endif
