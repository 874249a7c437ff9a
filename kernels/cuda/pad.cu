/* pad, its gradient, and triangles of matrices: ops whose results are elements of x inside of some
   border and other numbers outside. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/attrs.h"
#include "op/op.h"
#include "op/pad.h"

#include <stdio.h>
#include <string.h>
#endif

/* data is x, y, or dy, dx. Neighbouring axes without padding are one. x has the extents d, y those
   of `whole`, in which x begins at `before`; an index counts `step` elements of the input. count:
   elements of the result; value: the constant, as often as it fits. */
typedef struct pad_args {
  struct jf_cuda_head head;
  int64_t count, n, mode;
  int64_t d[8], whole[8], before[8], step[8];
  uint64_t value[2];
} pad_args;

/* data is x, y: matrices whose elements from column first + row to below column end + row are kept
   and multiplied by scale, with `fill` elsewhere. */
typedef struct triangle_args {
  struct jf_cuda_head head;
  int64_t count, rows, columns, first, end;
  double fill, scale;
} triangle_args;

/* As jf_pad_mode. */
enum { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

#ifdef JF_DEVICE

/* A source has either V, what is moved, or with NUMBERS T, what is computed. */
#ifndef NUMBERS

/* Where along an axis of extent n what stands at `at` comes from; -1: it is the constant. */
JF_INLINE int64_t pad_from(int64_t mode, int64_t at, int64_t n)
{
  if (at >= 0 && at < n) return at;
  if (mode == PAD_REFLECT) return at < 0 ? -at : 2 * (n - 1) - at;
  if (mode == PAD_REPLICATE) return at < 0 ? 0 : n - 1;
  return mode == PAD_CONSTANT ? -1 : at < 0 ? at + n : at - n;
}

JF_KERNEL pad(const pad_args a)
{
  const V *x = (const V *)a.head.data[0];
  V *y = (V *)a.head.data[1];
  V outside;                       /* its 16 bytes lie in the parameter as words of 8 do */
  memcpy(&outside, a.value, sizeof outside);
  JF_EACH(i, a.count) {
    int64_t rest = i, from = 0, here;
    int inside = 1;
    for (int k = (int)a.n - 1; k >= 0; k--) {
      rest = jf_divide(rest, a.whole[k], &here);
      const int64_t at = pad_from(a.mode, here - a.before[k], a.d[k]);
      inside &= at >= 0;
      from += at * a.step[k];
    }
    if (inside) y[i] = x[from];
    else y[i] = outside;
  }
}

#endif
#ifdef NUMBERS

#ifdef AXES

/* The places along axis k of what was made of element `at` of x: the first one, and the one after
   p, or -1. */
JF_INLINE int64_t pad_first(const pad_args &a, int k, int64_t at)
{
  const int64_t low = a.before[k], own = low + at;
  if (a.mode == PAD_REFLECT && at > 0 && at <= low) return low - at;
  if (a.mode == PAD_REPLICATE && at == 0) return 0;
  return a.mode == PAD_CIRCULAR && own >= a.d[k] ? own - a.d[k] : own;
}

JF_INLINE int64_t pad_next(const pad_args &a, int k, int64_t at, int64_t p)
{
  const int64_t low = a.before[k], n = a.d[k], own = low + at;
  int64_t next = -1;
  if (a.mode == PAD_REPLICATE) {
    if (p < own || at == n - 1) next = p + 1;
  } else if (p < own) {
    next = own;
  } else if (p == own) {
    if (a.mode == PAD_REFLECT && at < n - 1) next = low + 2 * (n - 1) - at;
    if (a.mode == PAD_CIRCULAR) next = own + n;
  }
  return next < a.whole[k] ? next : -1;
}

/* Sums of what was made of each element: of itself, and of what its border repeats it for, in the
   order of places, as the CPU adds them. AXES is the number of axes. */
JF_KERNEL pad_grad(const pad_args a)
{
  const T *dy = (const T *)a.head.data[0];
  T *dx = (T *)a.head.data[1];
  JF_EACH(i, a.count) {
    int64_t at[AXES], p[AXES], rest = i;
    T sum = 0;
    for (int k = AXES - 1; k >= 0; k--) {
      rest = jf_divide(rest, a.d[k], &at[k]);
      p[k] = pad_first(a, k, at[k]);
    }
    for (int more = 1; more;) {
      int64_t from = 0;
      for (int k = 0; k < AXES; k++) from += p[k] * a.step[k];
      sum += dy[from];
      more = 0;
      for (int k = AXES - 1; k >= 0; k--) {
        if (more) continue;
        const int64_t next = pad_next(a, k, at[k], p[k]);
        more = next >= 0;
        p[k] = more ? next : pad_first(a, k, at[k]);
      }
    }
    dx[i] = sum;
  }
}

#endif

JF_KERNEL triangle(const triangle_args a)
{
  const T *x = (const T *)a.head.data[0], fill = (T)a.fill, scale = (T)a.scale;
  T *y = (T *)a.head.data[1];
  JF_EACH(i, a.count) {
    int64_t column, row;
    jf_divide(jf_divide(i, a.columns, &column), a.rows, &row);
    y[i] = column >= row + a.first && column < row + a.end ? (T)(x[i] * scale) : fill;
  }
}

#endif

#else

extern const char jf_cuda_text_pad[];

/* Adds a kernel that computes numbers, along so many axes; 0: it is not told. */
static jfl_status pad_add(jf_kargs *k, int64_t axes, const char *name, int64_t count,
                          const void *args, size_t size)
{
  const jf_cuda_source s = { "pad", jf_cuda_text_pad, NULL,
                             { JF_AS_DTYPE("T", k->in[0].dtype), JF_AS_NUMBER("NUMBERS", 1),
                               JF_AS_NUMBER(axes ? "AXES" : NULL, axes) } };
  return jf_cuda_each(k, &s, name, count, args, size);
}

/* ---- pad ---- */

static pad_args pad_args_of(const jf_kargs *k, const jfl_shape *s, const jfl_shape *t)
{
  const jf_pad_sides *p = k->attr;
  pad_args a = { .count = jf_numel(&k->out[0].shape), .mode = (int64_t)jf_pad_mode_of(p) };
  int plain = 0;                       /* whether the last axis so far has no padding */
  for (int i = 0; i < s->n; i++) {
    const int joins = plain && s->d[i] == t->d[i];
    const int64_t to = joins ? a.n - 1 : a.n++;
    a.d[to] = (joins ? a.d[to] : 1) * s->d[i];
    a.whole[to] = (joins ? a.whole[to] : 1) * t->d[i];
    a.before[to] = p->paddings.v[2 * i];
    plain = s->d[i] == t->d[i];
  }
  if (!a.n) a.d[a.n++] = a.whole[0] = 1;
  return a;
}

/* Makes vectors of elements where the last axis has no padding; gives their size. */
static size_t pad_widen(pad_args *a, size_t size)
{
  enum { VECTOR = 16 };
  const int last = (int)a->n - 1;
  if (a->d[last] != a->whole[last]) return size;
  for (; size < VECTOR && a->d[last] % 2 == 0; size *= 2) {
    a->d[last] /= 2;
    a->whole[last] /= 2;
    a->count /= 2;
  }
  return size;
}

static jfl_status cuda_pad_prepare(jf_kargs *k)
{
  const jfl_dtype t = k->in[0].dtype;
  const size_t size = jfl_dtype_size(t);
  pad_args a = pad_args_of(k, &k->in[0].shape, &k->out[0].shape);
  for (size_t i = 0; i < sizeof a.value / size; i++)
    jfl_number_put(t, a.value, (int64_t)i, ((const jf_pad_sides *)k->attr)->constant_value);
  const size_t vector = pad_widen(&a, size);
  for (int64_t i = a.n - 1, step = 1; i >= 0; step *= a.d[i--]) a.step[i] = step;
  const jf_cuda_source s = { "pad", jf_cuda_text_pad, NULL,
                             { JF_AS_TYPE("V", jf_cuda_moved(vector)) } };
  return jf_cuda_each(k, &s, "pad", a.count, &a, sizeof a);
}

static jfl_status pad_grad_prepare(jf_kargs *k)
{
  pad_args a = pad_args_of(k, &k->out[0].shape, &k->in[0].shape);
  for (int64_t i = a.n - 1, step = 1; i >= 0; step *= a.whole[i--]) a.step[i] = step;
  return pad_add(k, a.n, "pad_grad", a.count, &a, sizeof a);
}

/* ---- triangles ---- */

static jfl_status triangle_prepare(jf_kargs *k)
{
  const int is_upper = k->op == &jf_op_triu;
  const jf_tril *t = k->attr;
  const jfl_shape *s = &k->in[0].shape;
  const int64_t columns = s->d[s->n - 1], rows = s->d[s->n - 2];
  triangle_args a = { .count = jf_numel(s), .rows = rows, .columns = columns,
                      .first = is_upper ? t->diagonal : -rows,
                      .end = is_upper ? columns : t->diagonal + 1,
                      .fill = t->fill_value, .scale = t->scale };
  return pad_add(k, 0, "triangle", a.count, &a, sizeof a);
}

static int pad_accepts_number(const jf_kargs *k)
{
  return k->in[0].dtype != JFL_F16 && k->in[0].dtype != JFL_BF16;
}

static int pad_accepts_float(const jf_kargs *k)
{
  return k->in[0].dtype == JFL_F32 || k->in[0].dtype == JFL_F64;
}

JFL_CUDA(cuda_pad, JF_CUDA_LAUNCHED("pad", NULL, cuda_pad_prepare))
JFL_CUDA(cuda_pad_grad, JF_CUDA_LAUNCHED("pad_grad", pad_accepts_float, pad_grad_prepare))
JFL_CUDA(cuda_triangle,
  JF_CUDA_LAUNCHED("tril triu fused_scale_tril", pad_accepts_number, triangle_prepare))

#endif
