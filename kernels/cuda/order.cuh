/* Putting words in order on the GPU. A word is a key and a position; no two words of a line are the
   same, so there is one order of them, and equal keys keep the order of their positions. Chunks are
   ordered in shared memory by a bitonic network, whose comparisons all rise, then merged by
   twos. */
#ifndef JF_ORDER_CUH
#define JF_ORDER_CUH

#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#endif

enum { ORDER_CHUNK = 1024, ORDER_THREADS = 256 };

/* Words lie in scratch, which is number `pointer` of the head's data: lines of m words from word
   `from` on become lines from word `to` on. Of each chunk `keep` words stay. run: the length of
   what is merged. */
typedef struct order_args {
  struct jf_cuda_head head;
  int64_t pointer, lines, m, chunks, keep, run, from, to;
} order_args;

#if defined(JF_DEVICE)

/* K is the type of keys: uint32_t or uint64_t. */
struct __align__(2 * sizeof(K)) order_word { K key, at; };
#define ORDER_MOST ((K)-1)

JF_INLINE int order_before(const order_word &a, const order_word &b)
{
  return a.key < b.key || (a.key == b.key && a.at < b.at);
}

JF_INLINE void order_pair(order_word *s, int a, int b)
{
  const order_word low = s[a], high = s[b];
  if (!order_before(high, low)) return;
  s[a] = high;
  s[b] = low;
}

/* Orders each `group` words of ORDER_CHUNK, which is a power of 2. All threads of a block call it
   with the same words in shared memory, which are there for all afterwards. */
JF_INLINE void order_groups(order_word *s, int group)
{
  for (int size = 2; size <= group; size *= 2) {
    const int half = size / 2;
    __syncthreads();
    for (int i = threadIdx.x; i < ORDER_CHUNK / 2; i += blockDim.x) {
      const int base = i / half * size, at = i & (half - 1);
      order_pair(s, base + at, base + size - 1 - at);
    }
    for (int step = half / 2; step; step /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < ORDER_CHUNK / 2; i += blockDim.x) {
        const int a = 2 * i - (i & (step - 1));
        order_pair(s, a, a + step);
      }
    }
  }
  __syncthreads();
}

JF_INLINE order_word *order_scratch(const order_args &o)
{
  return (order_word *)o.head.data[o.pointer];
}

/* Orders the chunks of each line and keeps the first words of each, a block for each chunk.
   word(line, i) gives word i of a line. */
template <class Word> JF_INLINE void order_chunks_of(const order_args &o, const Word &word)
{
  __shared__ order_word s[ORDER_CHUNK];
  for (int64_t b = blockIdx.x; b < o.lines * o.chunks; b += gridDim.x) {
    const int64_t line = b / o.chunks, first = b % o.chunks * ORDER_CHUNK;
    order_word *to = order_scratch(o) + o.to;
    const int n = (int)(o.m - first < ORDER_CHUNK ? o.m - first : ORDER_CHUNK);
    __syncthreads();
    for (int i = threadIdx.x; i < ORDER_CHUNK; i += blockDim.x)
      s[i] = i < n ? word(line, first + i) : order_word{ ORDER_MOST, ORDER_MOST };
    order_groups(s, ORDER_CHUNK);
    if (o.keep < ORDER_CHUNK) {
      for (int i = threadIdx.x; i < o.keep; i += blockDim.x) to[b * o.keep + i] = s[i];
    } else {
      for (int i = threadIdx.x; i < n; i += blockDim.x) to[line * o.m + first + i] = s[i];
    }
  }
}

struct order_from {
  const order_word *from;
  int64_t m;
  JF_INLINE order_word operator()(int64_t line, int64_t i) const { return from[line * m + i]; }
};

JF_KERNEL order_chunks(const order_args o)
{
  order_chunks_of(o, order_from{ order_scratch(o) + o.from, o.m });
}

/* How many of the first n words of a and b together, both in order, are of a. */
JF_INLINE int64_t order_share(const order_word *a, int64_t n_a, const order_word *b, int64_t n_b,
                              int64_t n)
{
  int64_t low = n > n_b ? n - n_b : 0, high = n < n_a ? n : n_a;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (order_before(a[middle], b[n - middle - 1])) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Merges runs of `run` words by twos. A block makes ORDER_CHUNK words of a result: it finds which
   of both runs they are, and its threads share those out in the same way. */
JF_KERNEL order_merge(const order_args o)
{
  enum { EACH = ORDER_CHUNK / ORDER_THREADS };
  __shared__ order_word s[ORDER_CHUNK];
  __shared__ int64_t cut[2];
  for (int64_t b = blockIdx.x; b < o.lines * o.chunks; b += gridDim.x) {
    const int64_t line = b / o.chunks, first = b % o.chunks * ORDER_CHUNK;
    const int64_t base = first / (2 * o.run) * (2 * o.run), left = o.m - base;
    const int64_t n_a = left < o.run ? left : o.run;
    const int64_t n_b = left - n_a < o.run ? left - n_a : o.run;
    const order_word *x = order_scratch(o) + o.from + line * o.m + base, *y = x + n_a;
    order_word *to = order_scratch(o) + o.to + line * o.m + first;
    const int64_t low = first - base, all = n_a + n_b;
    const int64_t high = low + ORDER_CHUNK < all ? low + ORDER_CHUNK : all;
    __syncthreads();
    if (threadIdx.x < 2)
      cut[threadIdx.x] = order_share(x, n_a, y, n_b, threadIdx.x ? high : low);
    __syncthreads();
    const int n = (int)(high - low), m = (int)(cut[1] - cut[0]);
    x += cut[0];
    y += low - cut[0];
    for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = i < m ? x[i] : y[i - m];
    __syncthreads();
    const int at = threadIdx.x * EACH, end = at + EACH < n ? at + EACH : n;
    if (at >= n) continue;
    int i = (int)order_share(s, m, s + m, n - m, at), j = m + at - i;
    for (int k = at; k < end; k++)
      to[k] = j >= n || (i < m && order_before(s[i], s[j])) ? s[i++] : s[j++];
  }
}

#endif

#ifndef JF_DEVICE

/* This file's part for the device: what a source that orders words has as `define`. K is the type
   of keys, uint32_t or uint64_t. */
extern const char jf_cuda_order[];
/* Adds launches that order words in scratch; o says where they are and what is known of them:
   pointer, lines, m, from, to. o->from says where the words are then, and o->to where they were
   last. */
jfl_status jf_order_add(jf_kargs *k, const jf_cuda_source *s, order_args *o);
/* Adds launches that order words whose chunks are in order already. */
jfl_status jf_order_merges(jf_kargs *k, const jf_cuda_source *s, order_args *o);
/* Adds a launch of a kernel of that source that has a block for each chunk of words; sets
   o->chunks. The kernel's parameter is at `args`, of which *o is the beginning. */
jfl_status jf_order_chunks(jf_kargs *k, const jf_cuda_source *s, const char *name, order_args *o,
                           const void *args, size_t size);

#endif
#endif
