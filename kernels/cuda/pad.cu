/* pad, its gradient, and triangles of matrices: ops whose results are elements of x inside of some
   border and other numbers outside. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/op.h"
#include "op/pad.h"
#include "op/tril.h"

#include <stdio.h>
#include <string.h>
#endif

/* data is x, y. Neighbouring axes without padding are one. x has the extents d, y those of `whole`,
   in which x begins at `before`; an index counts `step` elements of x. value: the constant, as often
   as it fits. */
typedef struct pad_args {
  struct jf_cuda_head head;
  int64_t count, n, mode;
  int64_t d[8], whole[8], before[8], step[8];
  uint64_t value[2];
} pad_args;

/* One axis of a gradient: of (outer, m, inner) elements of dy, which begin at byte `from` of number
   at_from of the head's data, (outer, n, inner) are made. */
typedef struct fold_args {
  struct jf_cuda_head head;
  int64_t count, mode, m, n, inner, before;
  int64_t at_from, from, at_to, to;
} fold_args;

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
    else y[i] = *(const V *)a.value;
  }
}

#endif
#ifdef NUMBERS

/* Sums of what was made of each element: of itself, and of what its border repeats it for. */
JF_KERNEL pad_fold(const fold_args a)
{
  const T *dy = (const T *)((const char *)a.head.data[a.at_from] + a.from);
  T *dx = (T *)((char *)a.head.data[a.at_to] + a.to);
  JF_EACH(i, a.count) {
    int64_t lane, at;
    const int64_t outer = jf_divide(jf_divide(i, a.inner, &lane), a.n, &at);
    const T *line = dy + outer * a.m * a.inner + lane;
    const int64_t low = a.before, high = a.before + a.n;
    T sum = line[(low + at) * a.inner];
    int64_t p = -1, q = a.m;           /* other places, before and behind */
    if (a.mode == PAD_REFLECT && at > 0) p = low - at;
    if (a.mode == PAD_REFLECT && at < a.n - 1) q = high + a.n - 2 - at;
    if (a.mode == PAD_CIRCULAR) p = low + at - a.n;
    if (a.mode == PAD_CIRCULAR) q = high + at;
    if (p >= 0) sum += line[p * a.inner];
    if (q < a.m) sum += line[q * a.inner];
    if (a.mode == PAD_REPLICATE && at == 0)
      for (p = 0; p < low; p++) sum += line[p * a.inner];
    if (a.mode == PAD_REPLICATE && at == a.n - 1)
      for (q = high; q < a.m; q++) sum += line[q * a.inner];
    dx[i] = sum;
  }
}

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

static jfl_status pad_add(jf_kargs *k, const char *define, const char *name, int64_t count,
                          const void *args, size_t size)
{
  const jf_cuda_type types[] = { { "T", k->in[0].dtype }, { NULL, JFL_F32 } };
  const jf_cuda_source s = { "pad", jf_cuda_text_pad, define };
  return jf_cuda_prepare(k, &s, types, name, jf_cuda_grid_of(k->device->state, count), args,
                         size);
}

/* ---- pad ---- */

static pad_args pad_args_of(const jf_kargs *k)
{
  const jf_pad_sides *p = k->attr;
  const jfl_shape *s = &k->in[0].shape, *t = &k->out[0].shape;
  pad_args a = { .count = jf_numel(t), .mode = (int64_t)jf_pad_mode_of(p) };
  int plain = 0;                       /* whether the last axis so far has no padding */
  for (int i = 0; i < s->n; i++) {
    const int has_none = s->d[i] == t->d[i];
    const int64_t to = plain && has_none ? a.n - 1 : a.n++;
    a.d[to] = (plain && has_none ? a.d[to] : 1) * s->d[i];
    a.whole[to] = (plain && has_none ? a.whole[to] : 1) * t->d[i];
    a.before[to] = p->paddings.v[2 * i];
    plain = has_none;
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

static jfl_status cuda_pad_prepare(jf_kargs *k, size_t *scratch)
{
  const jfl_dtype t = k->in[0].dtype;
  const size_t size = jfl_dtype_size(t);
  pad_args a = pad_args_of(k);
  char define[32];
  (void)scratch;
  if (a.count == 0) return JFL_OK;
  for (size_t i = 0; i < sizeof a.value / size; i++)
    jfl_number_put(t, a.value, (int64_t)i, ((const jf_pad_sides *)k->attr)->constant_value);
  const size_t vector = pad_widen(&a, size);
  for (int64_t i = a.n - 1, step = 1; i >= 0; step *= a.d[i--]) a.step[i] = step;
  snprintf(define, sizeof define, "typedef %s V;\n", jf_cuda_moved(vector));
  return pad_add(k, define, "pad", a.count, &a, sizeof a);
}

/* ---- its gradient: axis by axis ---- */

/* Adds the launch for axis i, of `count` padded axes the number `number`. Results lie in turn in
   either half of the scratch, whose halves have `half` bytes. */
static jfl_status fold_add(jf_kargs *k, int i, int number, int count, jfl_shape *s, int64_t half)
{
  const jf_pad_sides *p = k->attr;
  fold_args a = { .mode = (int64_t)jf_pad_mode_of(p), .m = s->d[i], .n = k->out[0].shape.d[i],
                  .inner = 1, .before = p->paddings.v[2 * i], .at_from = number ? 2 : 0,
                  .from = number && number % 2 == 0 ? half : 0,
                  .at_to = number + 1 < count ? 2 : 1,
                  .to = number + 1 < count && number % 2 ? half : 0 };
  s->d[i] = a.n;
  for (int j = i + 1; j < s->n; j++) a.inner *= s->d[j];
  a.count = jf_numel(s);
  return pad_add(k, "#define NUMBERS\n", "pad_fold", a.count, &a, sizeof a);
}

static jfl_status pad_grad_prepare(jf_kargs *k, size_t *scratch)
{
  const jfl_shape *x = &k->out[0].shape;
  const int64_t half = jf_numel(&k->in[0].shape) * (int64_t)jfl_dtype_size(k->in[0].dtype);
  jfl_shape s = k->in[0].shape;
  int count = 0, number = 0;
  if (jf_numel(x) == 0) return JFL_OK;
  for (int i = 0; i < s.n; i++) count += s.d[i] != x->d[i];
  *scratch = count > 1 ? 2 * (size_t)half : 0;
  for (int i = s.n - 1; i >= 0; i--)
    if (s.d[i] != x->d[i]) JF_TRY(fold_add(k, i, number++, count, &s, half));
  return JFL_OK;
}

/* Without padding there is nothing to fold. */
static jfl_status pad_grad_run(const jf_kargs *k)
{
  const jf_tensor *dy = &k->in[0];
  if (k->state) return jf_cuda_run(k);
  return jf_cuda_copy(k, k->out[0].data, dy->data,
                      (size_t)jf_numel(&k->out[0].shape) * jfl_dtype_size(dy->dtype));
}

/* ---- triangles ---- */

static jfl_status triangle_prepare(jf_kargs *k, int is_upper)
{
  const jf_tril *t = k->attr;
  const jfl_shape *s = &k->in[0].shape;
  const int64_t columns = s->d[s->n - 1], rows = s->d[s->n - 2];
  triangle_args a = { .count = jf_numel(s), .rows = rows, .columns = columns,
                      .first = is_upper ? t->diagonal : -rows,
                      .end = is_upper ? columns : t->diagonal + 1,
                      .fill = t->fill_value, .scale = t->scale };
  if (a.count == 0) return JFL_OK;
  return pad_add(k, "#define NUMBERS\n", "triangle", a.count, &a, sizeof a);
}

static jfl_status tril_prepare(jf_kargs *k, size_t *scratch)
{
  (void)scratch;
  return triangle_prepare(k, 0);
}

static jfl_status triu_prepare(jf_kargs *k, size_t *scratch)
{
  (void)scratch;
  return triangle_prepare(k, 1);
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
JFL_CUDA(cuda_pad_grad, .op = "pad_grad", .accepts = pad_accepts_float,
  .prepare = pad_grad_prepare, .run = pad_grad_run, .release = jf_free, .priority = 10)
JFL_CUDA(cuda_tril, JF_CUDA_LAUNCHED("tril", pad_accepts_number, tril_prepare))
JFL_CUDA(cuda_triu, JF_CUDA_LAUNCHED("triu", pad_accepts_number, triu_prepare))
JFL_CUDA(cuda_fused_scale_tril,
  JF_CUDA_LAUNCHED("fused_scale_tril", pad_accepts_number, tril_prepare))

#endif
