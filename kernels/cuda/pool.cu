/* Pooling over height and width, and its gradients: one thread for each element of a result, so
   that sums have one order. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/op.h"
#include "op/pool2d.h"
#endif

/* x is (outer, height, width, inner), y (outer, rows, columns, inner). */
typedef struct pool_args {
  struct jf_cuda_head head;
  int64_t height, width, rows, columns, inner;
  int64_t kernel[2], stride[2], pad[2];
  int64_t count;                       /* elements of the result */
} pool_args;

#ifdef JF_DEVICE

/* The cells of x in a window: rows top to bottom - 1, columns left to right - 1. */
struct pool_window { int64_t top, bottom, left, right; };

JF_INLINE int64_t pool_least(int64_t a, int64_t b) { return a < b ? a : b; }
JF_INLINE int64_t pool_inside(int64_t cell) { return cell > 0 ? cell : 0; }

JF_INLINE pool_window pool_window_at(const pool_args &p, int64_t i, int64_t j)
{
  const int64_t top = i * p.stride[0] - p.pad[0], left = j * p.stride[1] - p.pad[1];
  return { pool_inside(top), pool_least(top + p.kernel[0], p.height), pool_inside(left),
           pool_least(left + p.kernel[1], p.width) };
}

/* The first cell of a window, row by row, that has the largest value. x is at the window's outer
   and inner index. */
JF_INLINE int64_t pool_best(const pool_args &p, const T *x, const pool_window &w)
{
  int64_t best = (w.top * p.width + w.left) * p.inner;
  for (int64_t i = w.top; i < w.bottom; i++)
    for (int64_t j = w.left; j < w.right; j++) {
      const int64_t at = (i * p.width + j) * p.inner;
      if (jf_load(x[at]) > jf_load(x[best])) best = at;
    }
  return best;
}

/* Where an element of a tensor of extents h, w is: outer index, row, column, inner index. */
struct pool_place { int64_t outer, row, column, inner; };
JF_INLINE pool_place pool_place_of(int64_t i, int64_t h, int64_t w, int64_t inner)
{
  return { i / inner / w / h, i / inner / w % h, i / inner % w, i % inner };
}

JF_KERNEL max_pool2d(const pool_args p)
{
  const T *x = (const T *)p.head.data[0];
  T *y = (T *)p.head.data[1];
  JF_EACH(i, p.count) {
    const pool_place at = pool_place_of(i, p.rows, p.columns, p.inner);
    const T *from = x + at.outer * p.height * p.width * p.inner + at.inner;
    y[i] = from[pool_best(p, from, pool_window_at(p, at.row, at.column))];
  }
}

#ifndef JF_POOL_BYTES                    /* bytes have neither means nor gradients */

JF_KERNEL avg_pool2d(const pool_args p)
{
  const T *x = (const T *)p.head.data[0];
  T *y = (T *)p.head.data[1];
  JF_EACH(i, p.count) {
    const pool_place at = pool_place_of(i, p.rows, p.columns, p.inner);
    const T *from = x + at.outer * p.height * p.width * p.inner + at.inner;
    const pool_window w = pool_window_at(p, at.row, at.column);
    double sum = 0;
    for (int64_t r = w.top; r < w.bottom; r++)
      for (int64_t c = w.left; c < w.right; c++)
        sum += (double)jf_load(from[(r * p.width + c) * p.inner]);
    jf_store(&y[i], (A)(sum / (double)((w.bottom - w.top) * (w.right - w.left))));
  }
}

/* The first and last window along an axis that a cell can be in. */
JF_INLINE int64_t pool_first(int64_t cell, int64_t kernel, int64_t stride, int64_t pad)
{
  const int64_t reach = cell + pad - kernel + 1;
  return reach <= 0 ? 0 : (reach + stride - 1) / stride;
}
JF_INLINE int64_t pool_last(int64_t cell, int64_t stride, int64_t pad, int64_t n)
{
  return pool_least((cell + pad) / stride, n - 1);
}

/* data is x, y, dy, dx: a cell gets dy of the windows whose maximum it is. */
JF_KERNEL max_pool2d_grad(const pool_args p)
{
  const T *x = (const T *)p.head.data[0], *dy = (const T *)p.head.data[2];
  T *dx = (T *)p.head.data[3];
  JF_EACH(i, p.count) {
    const pool_place at = pool_place_of(i, p.height, p.width, p.inner);
    const T *from = x + at.outer * p.height * p.width * p.inner + at.inner;
    const T *d = dy + at.outer * p.rows * p.columns * p.inner + at.inner;
    const int64_t own = (at.row * p.width + at.column) * p.inner;
    const int64_t last = pool_last(at.row, p.stride[0], p.pad[0], p.rows);
    const int64_t end = pool_last(at.column, p.stride[1], p.pad[1], p.columns);
    A sum = 0;
    for (int64_t r = pool_first(at.row, p.kernel[0], p.stride[0], p.pad[0]); r <= last; r++)
      for (int64_t c = pool_first(at.column, p.kernel[1], p.stride[1], p.pad[1]); c <= end; c++)
        if (pool_best(p, from, pool_window_at(p, r, c)) == own)
          sum += jf_load(d[(r * p.columns + c) * p.inner]);
    jf_store(&dx[i], sum);
  }
}

/* data is dy, dx. */
JF_KERNEL avg_pool2d_grad(const pool_args p)
{
  const T *dy = (const T *)p.head.data[0];
  T *dx = (T *)p.head.data[1];
  JF_EACH(i, p.count) {
    const pool_place at = pool_place_of(i, p.height, p.width, p.inner);
    const T *d = dy + at.outer * p.rows * p.columns * p.inner + at.inner;
    const int64_t last = pool_last(at.row, p.stride[0], p.pad[0], p.rows);
    const int64_t end = pool_last(at.column, p.stride[1], p.pad[1], p.columns);
    A sum = 0;
    for (int64_t r = pool_first(at.row, p.kernel[0], p.stride[0], p.pad[0]); r <= last; r++)
      for (int64_t c = pool_first(at.column, p.kernel[1], p.stride[1], p.pad[1]); c <= end; c++) {
        const pool_window w = pool_window_at(p, r, c);
        sum += (A)jf_load(d[(r * p.columns + c) * p.inner]) /
               (A)((w.bottom - w.top) * (w.right - w.left));
      }
    jf_store(&dx[i], sum);
  }
}

#endif
#else

extern const char jf_cuda_text_pool[];

static int pool_accepts(const jf_kargs *k)
{
  const jfl_dtype t = k->in[0].dtype;
  const int has_loads = jf_is_float(t) || t == JFL_I8 || t == JFL_U8;
  return has_loads && !((const jf_pool2d *)k->attr)->block;
}

static jfl_status pool_prepare(jf_kargs *k)
{
  const jf_pool2d *a = k->attr;
  const int backward = k->op == &jf_op_max_pool2d_grad || k->op == &jf_op_avg_pool2d_grad;
  const jfl_shape *x = backward ? &k->out[0].shape : &k->in[0].shape;
  const jfl_shape *y = backward ? &k->in[k->n_in - 1].shape : &k->out[0].shape;
  const jfl_dtype t = k->out[0].dtype;
  const jf_cuda_source s = { "pooling", jf_cuda_text_pool,
                             jf_is_float(t) ? NULL : "#define JF_POOL_BYTES\n",
                             { JF_AS_DTYPE("T", t), JF_AS_TYPE("A", jf_cuda_computed(t)) } };
  pool_args p = { .height = x->d[a->axis], .width = x->d[a->axis + 1], .rows = y->d[a->axis],
                  .columns = y->d[a->axis + 1], .inner = 1,
                  .kernel = { a->kernel[0], a->kernel[1] },
                  .stride = { a->stride[0], a->stride[1] }, .pad = { a->pad[0], a->pad[2] },
                  .count = jf_numel(&k->out[0].shape) };
  for (int i = a->axis + 2; i < x->n; i++) p.inner *= x->d[i];
  return jf_cuda_each(k, &s, k->op->name, p.count, &p, sizeof p);
}

JFL_CUDA(cuda_pool2d, JF_CUDA_LAUNCHED("max_pool2d avg_pool2d max_pool2d_grad avg_pool2d_grad",
                                       pool_accepts, pool_prepare))

#endif
