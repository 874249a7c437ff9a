/* sort, argsort and top_k. Lines that fit into one chunk are ordered at once; of longer ones chunks
   are, and merged, or for the largest few each chunk gives its own largest and those are ordered
   again. */
#ifndef JF_DEVICE
#include "op/attrs.h"
#include "op/index.h"
#include "order.cuh"
#endif

/* data is x (before, m, after), [y], positions, scratch. Of each line the first k in order are
   wanted. group: a power of 2 that a line fits into, if it fits into a chunk. */
typedef struct sort_args {
  struct order_args order;
  int64_t after, k, group, gives_y;
} sort_args;

#ifdef JF_DEVICE

/* T is the elements' type. Keys order as elements do: 0 and -0 are the same, a NaN is the largest;
   FLIP, 0 or -1, turns the order around. */
JF_INLINE K sort_key(float v)
{
  const uint32_t bits = __float_as_uint(v), size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (K)0xffffffffu;
  return (K)(bits >> 31 && size ? ~bits : size | 0x80000000u);
}
JF_INLINE K sort_key(double v)
{
  const uint64_t bits = (uint64_t)__double_as_longlong(v), size = bits & 0x7fffffffffffffffull;
  if (size > 0x7ff0000000000000ull) return (K)-1;
  return (K)(bits >> 63 && size ? ~bits : size | 0x8000000000000000ull);
}
JF_INLINE K sort_key(int64_t v) { return (K)((uint64_t)v ^ 0x8000000000000000ull); }
JF_INLINE K sort_key(int32_t v) { return (K)((uint32_t)v ^ 0x80000000u); }
JF_INLINE K sort_key(int8_t v) { return sort_key((int32_t)v); }
JF_INLINE K sort_key(uint8_t v) { return (K)v; }

/* Words of x. */
struct sort_from {
  const sort_args &a;
  JF_INLINE int64_t first(int64_t line) const
  {
    int64_t after;
    const int64_t before = jf_divide(line, a.after, &after);
    return before * a.order.m * a.after + after;
  }
  JF_INLINE order_word operator()(int64_t line, int64_t i) const
  {
    const T v = ((const T *)a.order.head.data[0])[first(line) + i * a.after];
    return { (K)(sort_key(v) ^ (K)FLIP), (K)i };
  }
};

/* Writes result i of a line, which came from position `from`. */
JF_INLINE void sort_write(const sort_args &a, int64_t line, int64_t i, int64_t from)
{
  int64_t after;
  const int64_t before = jf_divide(line, a.after, &after);
  const int64_t to = (before * a.k + i) * a.after + after;
  ((int32_t *)a.order.head.data[a.gives_y ? 2 : 1])[to] = (int32_t)from;
  if (a.gives_y)
    ((T *)a.order.head.data[1])[to] =
      ((const T *)a.order.head.data[0])[(before * a.order.m + from) * a.after + after];
}

/* Lines of up to `group` elements. Neighbouring threads take neighbouring elements of memory. */
JF_KERNEL sort_short(const sort_args a)
{
  __shared__ order_word s[ORDER_CHUNK];
  const int group = (int)a.group, n = ORDER_CHUNK / group, along = a.after == 1;
  const sort_from word = { a };
  for (int64_t b = blockIdx.x; b * n < a.order.lines; b += gridDim.x) {
    __syncthreads();
    for (int e = threadIdx.x; e < ORDER_CHUNK; e += blockDim.x) {
      const int l = along ? e / group : e % n, i = along ? e % group : e / n;
      s[l * group + i] = b * n + l < a.order.lines && i < a.order.m
                           ? word(b * n + l, i) : order_word{ ORDER_MOST, ORDER_MOST };
    }
    order_groups(s, group);
    for (int e = threadIdx.x; e < ORDER_CHUNK; e += blockDim.x) {
      const int l = along ? e / group : e % n, i = along ? e % group : e / n;
      if (b * n + l < a.order.lines && i < a.k)
        sort_write(a, b * n + l, i, (int64_t)s[l * group + i].at);
    }
  }
}

/* The chunks of longer lines, to scratch. */
JF_KERNEL sort_chunks(const sort_args a) { order_chunks_of(a.order, sort_from{ a }); }

/* Results of lines whose words, `keep` of each, are in order in scratch. */
JF_KERNEL sort_results(const sort_args a)
{
  const order_word *from = order_scratch(a.order) + a.order.from;
  JF_EACH(i, a.order.lines * a.k) {
    int64_t at, after = i, line;
    const int64_t row = jf_divide(i, a.after, &after), before = jf_divide(row, a.k, &at);
    line = before * a.after + after;
    sort_write(a, line, at, (int64_t)from[line * a.order.keep + at].at);
  }
}

#else

extern const char jf_cuda_text_sort[];

static int sort_is_wide(const jf_kargs *k) { return jfl_dtype_size(k->in[0].dtype) == 8; }

static jfl_status sort_add_short(jf_kargs *k, const jf_cuda_source *s, sort_args *a)
{
  for (a->group = 1; a->group < a->order.m; a->group *= 2) continue;
  const int64_t each = ORDER_CHUNK / a->group;
  const jf_cuda_grid grid = { (a->order.lines + each - 1) / each, ORDER_THREADS, 0 };
  return jf_cuda_prepare(k, s, "sort_short", grid, a, sizeof *a);
}

/* Orders whole lines. Gives the words of scratch that it takes. */
static jfl_status sort_add_merges(jf_kargs *k, const jf_cuda_source *s, sort_args *a,
                                  int64_t *words)
{
  order_args *o = &a->order;
  o->keep = ORDER_CHUNK;
  *words = 2 * o->lines * o->m;
  JF_TRY(jf_order_chunks(k, s, "sort_chunks", o, a, sizeof *a));
  o->to = *words / 2;
  JF_TRY(jf_order_merges(k, s, o));
  o->keep = o->m;
  return JFL_OK;
}

/* Takes the first k of each chunk of each line, until one chunk is left. */
static jfl_status sort_add_rounds(jf_kargs *k, const jf_cuda_source *s, sort_args *a,
                                  int64_t *words)
{
  order_args *o = &a->order;
  o->keep = a->k;
  JF_TRY(jf_order_chunks(k, s, "sort_chunks", o, a, sizeof *a));
  *words = 2 * o->lines * o->chunks * a->k;
  for (o->to = *words / 2; o->chunks > 1; ) {
    o->m = o->chunks * a->k;
    JF_TRY(jf_order_chunks(k, s, "order_chunks", o, o, sizeof *o));
    const int64_t was = o->from;
    o->from = o->to;
    o->to = was;
  }
  return JFL_OK;
}

static jfl_status sort_add_long(jf_kargs *k, const jf_cuda_source *s, sort_args *a)
{
  enum { FEW = ORDER_CHUNK / 4 };
  const int64_t m = a->order.m;
  int64_t words;
  JF_TRY((a->k <= FEW ? sort_add_rounds : sort_add_merges)(k, s, a, &words));
  a->order.m = m;
  k->scratch_size = (size_t)words * 2 * (sort_is_wide(k) ? 8 : 4);
  return jf_cuda_each(k, s, "sort_results", a->order.lines * a->k, a, sizeof *a);
}

static jfl_status sort_make(jf_kargs *k, int falls, sort_args *a)
{
  const jf_cuda_source s = { "sort", jf_cuda_text_sort, jf_cuda_order,
                             { JF_AS_DTYPE("T", k->in[0].dtype),
                               JF_AS_TYPE("K", sort_is_wide(k) ? "uint64_t" : "uint32_t"),
                               JF_AS_NUMBER("FLIP", falls ? -1 : 0) } };
  return a->order.m <= ORDER_CHUNK ? sort_add_short(k, &s, a) : sort_add_long(k, &s, a);
}

/* The first n of each line. */
static jfl_status sort_prepare(jf_kargs *k, int64_t axis, int falls, int64_t n)
{
  const jf_axes x = jf_axes_at(&k->in[0].shape, axis);
  sort_args a = { .order = { .lines = x.before * x.after, .m = x.m, .pointer = 1 + k->n_out },
                  .after = x.after, .k = n, .gives_y = k->n_out > 1 };
  return n && a.order.lines ? sort_make(k, falls, &a) : JFL_OK;
}

static jfl_status cuda_sort_prepare(jf_kargs *k)
{
  const jf_sort *a = k->attr;
  return sort_prepare(k, a->axis, jf_sort_falls(a), k->in[0].shape.d[a->axis]);
}

static jfl_status cuda_top_k_prepare(jf_kargs *k)
{
  const jf_top_k *a = k->attr;
  return sort_prepare(k, a->axis, 1, a->k);
}

/* Every dtype but those of 16 bits, of which the op has no kernels. */
static int sort_accepts(const jf_kargs *k)
{
  return k->in[0].dtype != JFL_F16 && k->in[0].dtype != JFL_BF16;
}

JFL_CUDA(cuda_sort, JF_CUDA_LAUNCHED("sort argsort", sort_accepts, cuda_sort_prepare))
JFL_CUDA(cuda_top_k, JF_CUDA_LAUNCHED("top_k", sort_accepts, cuda_top_k_prepare))

#endif
