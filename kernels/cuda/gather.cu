/* Ops that pick elements by indices: gather and gather_nd whole slices, dim_gather single elements,
   one_hot marks where an index points. What is out of range is reported and left out. */
#ifndef JF_DEVICE
#include "base/walk.h"
#include "op/attrs.h"
#include "blocks.cuh"
#include "dev/cuda/cuda.h"
#include "op/gather.h"
#include "op/index.h"

#include <string.h>
#endif

/* data is params, indices, y: y (planes, n, run) picks slices of params (planes, m, run), by ids
   that `outer` planes share. An id is a tuple of n_tuple numbers, number i of which is below
   extent[i] and counts step[i] slices. Runs are counted in elements of type V, which with NUMBERS
   are floats that params has in few bits (blocks.cuh). */
typedef struct gather_args {
  struct jf_cuda_head head;
  int64_t count, run, n, m, outer, n_tuple;
  int64_t extent[8], step[8];
} gather_args;

/* data is input, index, y of the extents d. Along the axis, of extent m in input, an index counts
   `along` elements; along others `step` is that of input. */
typedef struct pick_args {
  struct jf_cuda_head head;
  int64_t count, n, m, along, d[8], step[8];
} pick_args;

/* data is indices (before, after), y (before, depth, after); on, off: bytes of elements. */
typedef struct mark_args {
  struct jf_cuda_head head;
  int64_t count, depth, after;
  uint64_t on[2], off[2];
} mark_args;

#ifdef JF_DEVICE

/* Which slice the tuple at number j stands for; -1: none. */
JF_INLINE int64_t gather_slice(const gather_args &a, const I *id, int64_t j)
{
  int64_t at = 0;
  for (int64_t i = 0; i < a.n_tuple; i++) {
    const int64_t v = id[j * a.n_tuple + i];
    if (v < 0 || v >= a.extent[i]) {
      jf_report_least(a.head, JF_WRONG_INDEX, v, j * a.n_tuple + i, a.extent[i]);
      return -1;
    }
    at += v * a.step[i];
  }
  return at;
}

JF_INLINE V gather_at(const void *x, int64_t i)
{
#ifdef NUMBERS
  return block_number((const W *)x, i);
#endif
#ifndef NUMBERS
  return ((const V *)x)[i];
#endif
}

JF_KERNEL gather(const gather_args a)
{
  V *y = (V *)a.head.data[2];
  JF_EACH(i, a.count) {
    int64_t r, j;
    const int64_t line = jf_divide(i, a.run, &r), plane = jf_divide(line, a.n, &j);
    int64_t lane;
    const int64_t batch = jf_divide(plane, a.outer, &lane);
    const int64_t at = gather_slice(a, (const I *)a.head.data[1], batch * a.n + j);
    if (at >= 0) y[i] = gather_at(a.head.data[0], (plane * a.m + at) * a.run + r);
  }
}

JF_KERNEL pick(const pick_args a)
{
  const V *x = (const V *)a.head.data[0];
  V *y = (V *)a.head.data[2];
  JF_EACH(i, a.count) {
    const int64_t id = ((const I *)a.head.data[1])[i];
    if (id < 0 || id >= a.m) {
      jf_report_least(a.head, JF_WRONG_INDEX, id, i, a.m);
      continue;
    }
    int64_t rest = i, at = id * a.along, here;
    for (int k = (int)a.n - 1; k >= 0; k--) {
      rest = jf_divide(rest, a.d[k], &here);
      at += here * a.step[k];
    }
    y[i] = x[at];
  }
}

JF_KERNEL mark(const mark_args a)
{
  V *y = (V *)a.head.data[1];
  JF_EACH(i, a.count) {
    int64_t after, d;
    const int64_t before = jf_divide(jf_divide(i, a.after, &after), a.depth, &d);
    const int64_t at = before * a.after + after;
    const int64_t id = ((const I *)a.head.data[0])[at];
    if (id < 0 || id >= a.depth)
      jf_report_least(a.head, JF_WRONG_INDEX, id, at, a.depth);
    y[i] = *(const V *)(id == d ? a.on : a.off);
  }
}

#else

extern const char jf_cuda_text_gather[];

/* The source for elements that are moved as V, by indices of dtype t. */
static jfl_status gather_add(jf_kargs *k, const char *name, size_t element, jfl_dtype t,
                             int64_t count, const void *args, size_t size)
{
  const int is_block = jf_is_block(k->in[0].dtype);
  jf_text define = { 0 };
  char *text;
  if (is_block) jf_blocks_define(&define, k->in[0].dtype);
  JF_TRY(jf_text_take(&define, &text));
  const jf_cuda_source s = { "gather", jf_cuda_text_gather, text,
                             { JF_AS_TYPE("V", is_block ? "float" : jf_cuda_moved(element)),
                               JF_AS_DTYPE("I", t) } };
  const jfl_status e = jf_cuda_each(k, &s, name, count, args, size);
  jf_free(text);
  return e;
}

/* Counts runs in numbers, or in the largest elements that they consist of, and adds the launch. */
static jfl_status gather_of(jf_kargs *k, gather_args *a, int64_t lines)
{
  const int is_block = jf_is_block(k->in[0].dtype);
  size_t size = jfl_dtype_size(k->in[0].dtype);
  if (is_block) a->run *= jfl_dtype_numbers(k->in[0].dtype);
  for (; !is_block && size < 16 && a->run % 2 == 0; size *= 2) a->run /= 2;
  a->count = lines * a->run;
  return gather_add(k, "gather", size, k->in[1].dtype, a->count, a, sizeof *a);
}

static jfl_status gather_prepare(jf_kargs *k)
{
  const jf_gather *g = k->attr;
  const jf_picks p = jf_picks_of(&k->in[0].shape, &k->in[1].shape, g->axis, g->batch_dims);
  gather_args a = { .run = p.run, .n = p.n, .m = p.m, .outer = p.outer, .n_tuple = 1,
                    .extent = { p.m }, .step = { 1 } };
  return gather_of(k, &a, p.batches * p.outer * p.n);
}

static jfl_status gather_nd_prepare(jf_kargs *k)
{
  const jf_tuples t = jf_tuples_of(&k->in[1], &k->in[0].shape);
  gather_args a = { .run = t.run, .n = t.count, .m = 1, .outer = 1, .n_tuple = t.n };
  for (int i = 0; i < t.n; i++) {
    a.extent[i] = t.whole->d[i];
    a.step[i] = t.run ? t.step[i] / t.run : 0;
  }
  return gather_of(k, &a, t.count);
}

static jfl_status dim_gather_prepare(jf_kargs *k)
{
  const jfl_shape *x = &k->in[0].shape, *ids = &k->in[1].shape;
  const int64_t dim = ((const jf_dim_gather *)k->attr)->dim;
  int64_t step[1][JFL_MAXDIM];
  jf_nest nest = { .n = ids->n, .n_op = 1, .step = step };
  jf_dense_steps(x->n, x->d, 1, step[0]);
  memcpy(nest.d, ids->d, sizeof nest.d);
  pick_args a = { .count = jf_numel(ids), .m = x->d[dim], .along = step[0][dim] };
  step[0][dim] = 0;
  if (a.count) jf_nest_join(&nest, 0);
  a.n = nest.n;
  memcpy(a.d, nest.d, sizeof a.d);
  memcpy(a.step, step[0], sizeof a.step);
  return gather_add(k, "pick", jfl_dtype_size(k->in[0].dtype), k->in[1].dtype, a.count, &a,
                    sizeof a);
}

static jfl_status one_hot_prepare(jf_kargs *k)
{
  const jf_one_hot *o = k->attr;
  const jf_tensor *y = &k->out[0];
  const jf_axes s = jf_axes_at(&y->shape, o->axis);
  mark_args a = { .count = jf_numel(&y->shape), .depth = s.m, .after = s.after };
  jfl_number_put(y->dtype, a.on, 0, o->on_value);
  jfl_number_put(y->dtype, a.off, 0, o->off_value);
  return gather_add(k, "mark", jfl_dtype_size(y->dtype), k->in[0].dtype, a.count, &a, sizeof a);
}

JFL_CUDA(cuda_gather, JF_CUDA_LAUNCHED("gather quantized_gather", NULL, gather_prepare))
JFL_CUDA(cuda_gather_nd, JF_CUDA_LAUNCHED("gather_nd", NULL, gather_nd_prepare))
JFL_CUDA(cuda_dim_gather, JF_CUDA_LAUNCHED("dim_gather", NULL, dim_gather_prepare))
JFL_CUDA(cuda_one_hot, JF_CUDA_LAUNCHED("one_hot", NULL, one_hot_prepare))

#endif
