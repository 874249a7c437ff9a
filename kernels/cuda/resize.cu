/* Pictures at another size, and the gradients: upsample_2d and image_resize. Each pixel is a sum of
   a few neighbours along both axes, whose weights are a table that is made once. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/image.h"

#include <string.h>
#endif

/* An axis: result i of m is the sum over q below width of weight i * width + q times source
   first[i] + q, of n sources. The results that source j is part of are from spans[j] up to
   spans[n + j]. Offsets are in bytes of the table. */
typedef struct resize_axis { int64_t n, m, width, first, weight, spans; } resize_axis;

/* Planes (outer, n, n, inner) become (outer, m, m, inner). data is x, y, or dy, dx. count: elements
   of the result; at_table: number of the head's data. What has a weight of 0 is left out, as it may
   not be finite. */
typedef struct resize_args {
  struct jf_cuda_head head;
  int64_t count, inner, at_table;
  resize_axis y, x;
} resize_args;

#ifdef JF_DEVICE

/* T is the elements' type, A that of sums and weights. */
JF_INLINE const int32_t *resize_firsts(const resize_args &a, const resize_axis &x)
{
  return (const int32_t *)((const char *)a.head.data[a.at_table] + x.first);
}
JF_INLINE const A *resize_weights(const resize_args &a, const resize_axis &x)
{
  return (const A *)((const char *)a.head.data[a.at_table] + x.weight);
}
JF_INLINE const int32_t *resize_spans(const resize_args &a, const resize_axis &x)
{
  return (const int32_t *)((const char *)a.head.data[a.at_table] + x.spans);
}

JF_INLINE void resize_store(float *to, A v) { *to = (float)v; }
JF_INLINE void resize_store(double *to, A v) { *to = (double)v; }
/* Rounded as on the CPU: bytes may lie halfway between two. */
JF_INLINE float resize_part(float a, float b) { return __fmul_rn(a, b); }
JF_INLINE double resize_part(double a, double b) { return __dmul_rn(a, b); }
JF_INLINE void resize_store(uint8_t *to, A v) { *to = (uint8_t)(v + (A)0.5); }

JF_KERNEL resize(const resize_args a)
{
  const T *x = (const T *)a.head.data[0];
  T *y = (T *)a.head.data[1];
  const int32_t *tops = resize_firsts(a, a.y), *lefts = resize_firsts(a, a.x);
  JF_EACH(i, a.count) {
    int64_t lane, column, row;
    int64_t outer = jf_divide(i, a.inner, &lane);
    outer = jf_divide(outer, a.x.m, &column);
    outer = jf_divide(outer, a.y.m, &row);
    const A *down = resize_weights(a, a.y) + row * a.y.width;
    const A *across = resize_weights(a, a.x) + column * a.x.width;
    const T *from = x + ((outer * a.y.n + tops[row]) * a.x.n + lefts[column]) * a.inner + lane;
    A sum = 0;
    for (int64_t q = 0; q < a.x.width; q++) {
      A line = 0;
      if (across[q] == 0) continue;
      for (int64_t p = 0; p < a.y.width; p++)
        if (down[p] != 0)
          line += resize_part(down[p], (A)from[(p * a.x.n + q) * a.inner]);
      sum += resize_part(across[q], line);
    }
    resize_store(&y[i], sum);
  }
}

JF_KERNEL resize_grad(const resize_args a)
{
  const T *dy = (const T *)a.head.data[0];
  T *dx = (T *)a.head.data[1];
  const int32_t *tops = resize_firsts(a, a.y), *lefts = resize_firsts(a, a.x);
  const int32_t *rows = resize_spans(a, a.y), *columns = resize_spans(a, a.x);
  JF_EACH(i, a.count) {
    int64_t lane, column, row;
    int64_t outer = jf_divide(i, a.inner, &lane);
    outer = jf_divide(outer, a.x.n, &column);
    outer = jf_divide(outer, a.y.n, &row);
    A sum = 0;
    for (int64_t r = rows[row]; r < rows[a.y.n + row]; r++) {
      const A down = resize_weights(a, a.y)[r * a.y.width + row - tops[r]];
      const T *line = dy + (outer * a.y.m + r) * a.x.m * a.inner + lane;
      A part = 0;
      if (down == 0) continue;
      for (int64_t c = columns[column]; c < columns[a.x.n + column]; c++) {
        const A across = resize_weights(a, a.x)[c * a.x.width + column - lefts[c]];
        if (across != 0) part += across * (A)line[c * a.inner];
      }
      sum += down * part;
    }
    resize_store(&dx[i], sum);
  }
}

#else

extern const char jf_cuda_text_resize[];

/* The taps of both axes, with weights in double. */
typedef struct resize_taps { jf_taps y, x; } resize_taps;

static size_t resize_put(char *table, size_t at, const void *from, size_t size)
{
  enum { ALIGNMENT = 16 };
  if (table) memcpy(table + at, from, size);
  return at + (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Which results source j is part of: those whose first source is at most j and not so far before
   it that the last one is, too. firsts do not fall. */
static void resize_make_spans(const jf_taps *t, int64_t n, int32_t *spans)
{
  int64_t from = 0, to = 0;
  for (int64_t j = 0; j < n; j++) {
    while (from < t->n && t->first[from] + t->width <= j) from++;
    while (to < t->n && t->first[to] <= j) to++;
    spans[j] = (int32_t)from;
    spans[n + j] = (int32_t)to;
  }
}

/* Lays an axis out in a table from byte `at` on, and writes it, unless the table is NULL; room has
   space for its widest part. Gives the byte behind it. */
static size_t resize_lay_axis(resize_axis *x, const jf_taps *t, int is_double, char *table,
                              size_t at, void *room)
{
  const int64_t n_weight = t->n * t->width;
  int32_t *whole = room;
  float *single = room;
  x->width = t->width;
  x->first = (int64_t)at;
  if (table)
    for (int64_t i = 0; i < t->n; i++) whole[i] = (int32_t)t->first[i];
  at = resize_put(table, at, whole, (size_t)t->n * sizeof *whole);
  x->spans = (int64_t)at;
  if (table) resize_make_spans(t, x->n, whole);
  at = resize_put(table, at, whole, 2 * (size_t)x->n * sizeof *whole);
  x->weight = (int64_t)at;
  if (is_double) return resize_put(table, at, t->weight, (size_t)n_weight * sizeof(double));
  if (table)
    for (int64_t i = 0; i < n_weight; i++) single[i] = (float)t->weight[i];
  return resize_put(table, at, single, (size_t)n_weight * sizeof *single);
}

static size_t resize_lay(resize_args *a, const resize_taps *t, int is_double, char *table,
                         void *room)
{
  const size_t at = resize_lay_axis(&a->y, &t->y, is_double, table, 0, room);
  return resize_lay_axis(&a->x, &t->x, is_double, table, at, room);
}

/* Copies the table to the device. */
static jfl_status resize_keep(jf_kargs *k, resize_args *a, const resize_taps *t, int is_double)
{
  const size_t size = resize_lay(a, t, is_double, NULL, NULL);
  char *table = jf_new(2 * size);
  if (!table) return jf_fail(JFL_ENOMEM, "out of memory");
  resize_lay(a, t, is_double, table, table + size);
  const jfl_status s = jf_cuda_keep(k, table, size);
  jf_free(table);
  return s;
}

/* Gradients are summed in double, as on the CPU: a pixel's is made of many that cancel out. */
static jfl_status resize_make(jf_kargs *k, resize_args *a, const resize_taps *t)
{
  const jfl_dtype type = k->in[0].dtype;
  const char *name = jf_resizes_back(k) ? "resize_grad" : "resize";
  const int is_double = type == JFL_F64 || jf_resizes_back(k);
  const jf_cuda_source s = { "resize", jf_cuda_text_resize, NULL,
                             { JF_AS_DTYPE("T", type),
                               JF_AS_TYPE("A", is_double ? "double" : "float") } };
  a->count = jf_numel(&k->out[0].shape);
  a->at_table = 3;
  if (a->count == 0) return JFL_OK;
  JF_TRY(resize_keep(k, a, t, is_double));
  return jf_cuda_each(k, &s, name, a->count, a, sizeof *a);
}

static jfl_status resize_prepare(jf_kargs *k)
{
  const jf_resizing r = jf_resizing_of(k);
  resize_args a = { .inner = r.inner, .y = { .n = r.h, .m = r.to_h },
                    .x = { .n = r.w, .m = r.to_w } };
  char *room = jf_new(jf_taps_size(&r.y) + jf_taps_size(&r.x));
  if (!room) return jf_fail(JFL_ENOMEM, "out of memory");
  const resize_taps t = { jf_taps_in(&r.y, room), jf_taps_in(&r.x, room + jf_taps_size(&r.y)) };
  const jfl_status s = resize_make(k, &a, &t);
  jf_free(room);
  return s;
}

static int resize_accepts(const jf_kargs *k)
{
  const jfl_dtype t = k->in[0].dtype;
  return t == JFL_F32 || t == JFL_F64 || t == JFL_U8;
}

JFL_CUDA(cuda_resize, .op = "image_resize image_resize_grad upsample_2d upsample_2d_grad",
  .accepts = resize_accepts, .prepare = resize_prepare, .run = jf_cuda_run,
  .release = jf_cuda_release)

#endif
