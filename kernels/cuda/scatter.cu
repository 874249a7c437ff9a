/* Ops that put slices at the places that indices name: scatter_nd, tensor_scatter_nd_add and
   _update, dim_scatter_add, unsorted_segment_sum and segment_update. Slices are ordered by their
   places first, so that sums have one order. Then threads go through a few slices each; what of a
   sum several of them have is added up by one. Indices that are out of range are reported and left
   out. */
#ifndef JF_DEVICE
#include "base/walk.h"
#include "op/attrs.h"
#include "op/gather.h"
#include "op/op.h"
#include "optim/segment_update.h"
#include "order.cuh"

#include <string.h>
#endif

/* Slices are (lines, outer, m, run), y is (lines, outer, places, run); m indices of a line say
   where its slices belong. Word i of a line is the place of slice i, or `places` for none. at_*:
   numbers of the head's data; at_x is -1 where y begins as zeros. size: elements of y.
   An index is a tuple of n numbers, of which number i is below extent[i] and counts step[i] slices;
   `wrong` is what one is that is not. Or, for dim_scatter_add, it is one number below extent[0],
   which counts `along` places, and slice i of one element stands at an index of axes d, which count
   step[i]. */
typedef struct scatter_args {
  struct order_args order;
  int64_t outer, run, places, at_x, at_ids, at_slices, at_y, size;
  int64_t n, extent[8], step[8], d[8], along, ignored, wrong;
  int64_t at_rate;                     /* of two numbers whose product is the rate of steps */
  int64_t each, parts;                 /* slices of a thread, and how many such parts a line has */
  int64_t sums;                        /* the byte of scratch from where sums of parts are */
} scatter_args;

#ifdef JF_DEVICE

/* T is the elements' type, or one of their size; I that of indices. */
JF_INLINE void scatter_word(const scatter_args &a, int64_t i, int64_t place)
{
  int64_t at;
  jf_divide(i, a.order.m, &at);
  order_scratch(a.order)[a.order.from + i] = { (K)place, (K)at };
}

/* What y begins as. */
JF_INLINE void scatter_begin(const scatter_args &a)
{
  T *y = (T *)a.order.head.data[a.at_y];
  const T *x = a.at_x < 0 ? NULL : (const T *)a.order.head.data[a.at_x];
  if (x == y) return;
  JF_EACH(i, a.size) {
    T v = { };
    if (x) v = x[i];
    y[i] = v;
  }
}

/* Words of tuples. */
JF_KERNEL scatter_tuples(const scatter_args a)
{
  const I *id = (const I *)a.order.head.data[a.at_ids];
  scatter_begin(a);
  JF_EACH(i, a.order.lines * a.order.m) {
    int64_t place = 0;
    for (int64_t j = 0; j < a.n; j++) {
      const int64_t v = id[i * a.n + j];
      if (v < 0 || v >= a.extent[j]) {
        jf_report_least(a.order.head, (int)a.wrong, v, i * a.n + j, a.extent[j]);
        place = a.places;
        break;
      }
      place += v * a.step[j];
    }
    scatter_word(a, i, place == a.ignored ? a.places : place);
  }
}

/* Words of single elements along an axis. */
JF_KERNEL scatter_along(const scatter_args a)
{
  scatter_begin(a);
  JF_EACH(i, a.order.m) {
    const int64_t v = ((const I *)a.order.head.data[a.at_ids])[i];
    int64_t place = v * a.along, rest = i, here;
    for (int k = (int)a.n - 1; k >= 0; k--) {
      rest = jf_divide(rest, a.d[k], &here);
      place += here * a.step[k];
    }
    if (v < 0 || v >= a.extent[0]) {
      jf_report_least(a.order.head, (int)a.wrong, v, i, a.extent[0]);
      place = a.places;
    }
    scatter_word(a, i, place);
  }
}

/* Where a thread is: its line, its part of that, its column of the slices. */
struct scatter_place {
  int64_t line, part, column, outer, r;
  const order_word *word;
};

JF_INLINE scatter_place scatter_place_of(const scatter_args &a, int64_t i)
{
  scatter_place p;
  const int64_t row = jf_divide(i, a.outer * a.run, &p.column);
  p.line = jf_divide(row, a.parts, &p.part);
  p.outer = jf_divide(p.column, a.run, &p.r);
  p.word = order_scratch(a.order) + a.order.from + p.line * a.order.m;
  return p;
}

/* Where an element of a tensor (lines, outer, n, run) is. */
JF_INLINE int64_t scatter_offset(const scatter_args &a, const scatter_place &p, int64_t n,
                                 int64_t at)
{
  return ((p.line * a.outer + p.outer) * n + at) * a.run + p.r;
}

/* The last slice of each place. */
JF_KERNEL scatter_last(const scatter_args a)
{
  const T *u = (const T *)a.order.head.data[a.at_slices];
  T *y = (T *)a.order.head.data[a.at_y];
  JF_EACH(i, a.order.lines * a.parts * a.outer * a.run) {
    const scatter_place p = scatter_place_of(a, i);
    const order_word w = p.word[p.part];
    if (w.key == (K)a.places) continue;
    if (p.part + 1 < a.order.m && p.word[p.part + 1].key == w.key) continue;
    y[scatter_offset(a, p, a.places, w.key)] = u[scatter_offset(a, p, a.order.m, w.at)];
  }
}

#ifdef SUMS

/* The sums of a part's first place, where it began in an earlier part, and of its last place, where
   that goes on in the next one. A is the type of sums. */
JF_INLINE A *scatter_open(const scatter_args &a, const scatter_place &p, int64_t part, int last)
{
  A *sums = (A *)((char *)a.order.head.data[a.order.pointer] + a.sums);
  return sums + ((p.line * a.parts + part) * 2 + last) * a.outer * a.run + p.column;
}

JF_INLINE void scatter_add(const scatter_args &a, const scatter_place &p, K key, A sum)
{
  T *y = (T *)a.order.head.data[a.at_y] + scatter_offset(a, p, a.places, key);
#ifdef STEPS
  const double *rate = (const double *)a.order.head.data[a.at_rate];
  *y -= (T)(rate[0] * rate[1]) * sum;
#endif
#ifndef STEPS
  *y = (T)((A)*y + sum);
#endif
}

/* Whether y must not change: it is a variable, and something was found wrong. */
JF_INLINE int scatter_halts(const scatter_args &a)
{
  int halts = 0;
#ifdef STEPS
  halts = jf_halted(a.order.head);
#endif
  return halts;
}

/* Sums of the slices of a part. */
JF_KERNEL scatter_sum(const scatter_args a)
{
  const T *u = (const T *)a.order.head.data[a.at_slices];
  if (scatter_halts(a)) return;
  JF_EACH(i, a.order.lines * a.parts * a.outer * a.run) {
    const scatter_place p = scatter_place_of(a, i);
    const int64_t from = p.part * a.each, m = a.order.m;
    const int64_t to = from + a.each < m ? from + a.each : m;
    K key = p.word[from].key;
    int begun = from > 0 && p.word[from - 1].key == key;
    A sum = 0;
    for (int64_t s = from; s < to; s++) {
      const order_word w = p.word[s];
      if (w.key != key) {
        if (begun) *scatter_open(a, p, p.part, 0) = sum;
        else scatter_add(a, p, key, sum);
        begun = 0;
        sum = 0;
        key = w.key;
      }
      if (key == (K)a.places) break;
      sum += (A)u[scatter_offset(a, p, m, w.at)];
    }
    if (key == (K)a.places) continue;
    if (begun) *scatter_open(a, p, p.part, 0) = sum;
    else if (to < m && p.word[to].key == key) *scatter_open(a, p, p.part, 1) = sum;
    else scatter_add(a, p, key, sum);
  }
}

/* Adds up sums of places that several parts have: the thread of the part where one begins. */
JF_KERNEL scatter_join(const scatter_args a)
{
  if (scatter_halts(a)) return;
  JF_EACH(i, a.order.lines * a.parts * a.outer * a.run) {
    const scatter_place p = scatter_place_of(a, i);
    const int64_t from = p.part * a.each, m = a.order.m;
    int64_t to = from + a.each, part = p.part;
    if (to >= m) continue;
    const K key = p.word[to - 1].key;
    if (key == (K)a.places || p.word[to].key != key) continue;
    if (from > 0 && p.word[from - 1].key == key) continue;
    A sum = *scatter_open(a, p, part, 1);
    for (; to < m && p.word[to].key == key; to += a.each) sum += *scatter_open(a, p, ++part, 0);
    scatter_add(a, p, key, sum);
  }
}

#endif

#else

extern const char jf_cuda_text_scatter[];

/* What becomes of slices that have one place. */
typedef enum scatter_way { SCATTER_SUM, SCATTER_STEP, SCATTER_LAST } scatter_way;

/* Adds the launches that make y once words are there, and gives the scratch that all take. */
static jfl_status scatter_finish(jf_kargs *k, const jf_cuda_source *s, int is_last, int wide,
                                 scatter_args *a)
{
  enum { EACH = 32, EACH_OF_FEW = 8 };
  order_args *o = &a->order;
  const int64_t columns = a->outer * a->run, words = o->lines * o->m;
  o->to = o->from + words;
  JF_TRY(jf_order_add(k, s, o));
  a->each = is_last ? 1 : columns >= EACH ? EACH : EACH_OF_FEW;
  a->parts = (o->m + a->each - 1) / a->each;
  a->sums = 2 * words * (wide ? 16 : 8);
  const int64_t threads = o->lines * a->parts * columns;
  k->scratch_size = (size_t)a->sums;
  if (is_last) return jf_cuda_each(k, s, "scatter_last", threads, a, sizeof *a);
  k->scratch_size += (size_t)(2 * threads) * jfl_dtype_size(k->in[a->at_slices].dtype);
  JF_TRY(jf_cuda_each(k, s, "scatter_sum", threads, a, sizeof *a));
  return a->parts > 1 ? jf_cuda_each(k, s, "scatter_join", threads, a, sizeof *a) : JFL_OK;
}

/* `words` is the kernel that makes them. Sums are made in the elements' own type, but integers
   wrap. */
static jfl_status scatter_make(jf_kargs *k, const char *words, scatter_way way, scatter_args *a)
{
  const jfl_dtype t = k->in[a->at_slices].dtype;
  const int64_t n = a->order.lines * a->order.m, most = n > a->size ? n : a->size;
  const int wide = a->places >= UINT32_MAX || n >= UINT32_MAX;
  const jf_cuda_source s = { "scatter", jf_cuda_text_scatter, jf_cuda_order,
                             { JF_AS_DTYPE("T", t),
                               JF_AS_DTYPE("I", k->in[a->at_ids].dtype),
                               JF_AS_TYPE("K", wide ? "uint64_t" : "uint32_t"),
                               JF_AS_TYPE("A", jf_cuda_ctypes[t].wrapping),
                               JF_AS_NUMBER(way == SCATTER_LAST ? NULL : "SUMS", 1),
                               JF_AS_NUMBER(way == SCATTER_STEP ? "STEPS" : NULL, 1) } };
  a->order.pointer = k->n_in + k->n_out;
  if (most == 0) return JFL_OK;
  JF_TRY(jf_cuda_each(k, &s, words, most, a, sizeof *a));
  return n && a->size ? scatter_finish(k, &s, way == SCATTER_LAST, wide, a) : JFL_OK;
}

/* ---- the ops ---- */

static jfl_status scatter_nd_prepare(jf_kargs *k)
{
  const int ids = k->n_in - 2;
  const jf_tuples t = jf_tuples_of(&k->in[ids], &k->out[0].shape);
  scatter_args a = { .order = { .lines = 1, .m = t.count }, .outer = 1, .run = t.run, .places = 1,
                     .at_x = ids - 1, .at_ids = ids, .at_slices = ids + 1, .at_y = k->n_in,
                     .size = jf_numel(&k->out[0].shape), .n = t.n, .ignored = -1,
                     .wrong = JF_WRONG_INDEX };
  for (int i = 0; i < t.n; i++) {
    a.places *= t.whole->d[i];
    a.extent[i] = t.whole->d[i];
    a.step[i] = t.run ? t.step[i] / t.run : 0;
  }
  const int replaces = k->op == &jf_op_tensor_scatter_nd_update;
  return scatter_make(k, "scatter_tuples", replaces ? SCATTER_LAST : SCATTER_SUM, &a);
}

/* y: what the sums are added to, whose number among the tensors is at_y. */
static jfl_status segment_make(jf_kargs *k, const jf_tensor *y, int at_y, int ids, scatter_way way)
{
  const jf_segment_sum *g = k->attr;
  const jf_picks p = jf_picks_of(&y->shape, &k->in[ids].shape, g->axis, g->batch_dims);
  scatter_args a = { .order = { .lines = p.batches, .m = p.n }, .outer = p.outer, .run = p.run,
                     .places = p.m, .at_x = way == SCATTER_STEP ? at_y : -1, .at_ids = ids,
                     .at_slices = ids - 1, .at_y = at_y, .size = jf_numel(&y->shape), .n = 1,
                     .extent = { p.m }, .step = { 1 }, .ignored = g->ignored,
                     .wrong = JF_WRONG_SEGMENT, .at_rate = JF_SEGMENT_SCALARS };
  return scatter_make(k, "scatter_tuples", way, &a);
}

static jfl_status segment_sum_prepare(jf_kargs *k)
{
  return segment_make(k, &k->out[0], k->n_in, 1, SCATTER_SUM);
}

static jfl_status segment_update_prepare(jf_kargs *k)
{
  return segment_make(k, &k->in[JF_SEGMENT_PARAM], JF_SEGMENT_PARAM, JF_SEGMENT_IDS, SCATTER_STEP);
}

static jfl_status dim_scatter_prepare(jf_kargs *k)
{
  const jfl_shape *y = &k->out[0].shape, *ids = &k->in[1].shape;
  const int64_t dim = ((const jf_dim_gather *)k->attr)->dim, size = jf_numel(y);
  int64_t step[1][JFL_MAXDIM];
  jf_nest nest = { .n = ids->n, .n_op = 1, .step = step };
  jf_dense_steps(y->n, y->d, 1, step[0]);
  memcpy(nest.d, ids->d, sizeof nest.d);
  scatter_args a = { .order = { .lines = 1, .m = jf_numel(ids) }, .outer = 1, .run = 1,
                     .places = size, .at_ids = 1, .at_slices = 2, .at_y = 3, .size = size,
                     .extent = { y->d[dim] }, .along = step[0][dim], .ignored = -1,
                     .wrong = JF_WRONG_INDEX };
  step[0][dim] = 0;
  if (a.order.m) jf_nest_join(&nest, 0);
  a.n = nest.n;
  memcpy(a.d, nest.d, sizeof a.d);
  memcpy(a.step, step[0], sizeof a.step);
  return scatter_make(k, "scatter_along", SCATTER_SUM, &a);
}

static int scatter_accepts_sum(const jf_kargs *k)
{
  const jfl_dtype t = k->out[0].dtype;
  return t == JFL_F32 || t == JFL_F64 || t == JFL_I32 || t == JFL_I64;
}

static int scatter_accepts_step(const jf_kargs *k)
{
  const jfl_dtype t = k->in[JF_SEGMENT_PARAM].dtype;
  return t == JFL_F32 || t == JFL_F64;
}

JFL_CUDA(cuda_scatter_nd, JF_CUDA_LAUNCHED("scatter_nd tensor_scatter_nd_add", scatter_accepts_sum,
                                           scatter_nd_prepare))
JFL_CUDA(cuda_tensor_scatter_nd_update,
  JF_CUDA_LAUNCHED("tensor_scatter_nd_update", NULL, scatter_nd_prepare))
JFL_CUDA(cuda_unsorted_segment_sum,
  JF_CUDA_LAUNCHED("unsorted_segment_sum", scatter_accepts_sum, segment_sum_prepare))
JFL_CUDA(cuda_segment_update,
  JF_CUDA_LAUNCHED("segment_update", scatter_accepts_step, segment_update_prepare))
JFL_CUDA(cuda_dim_scatter_add,
  JF_CUDA_LAUNCHED("dim_scatter_add", scatter_accepts_sum, dim_scatter_prepare))

#endif
