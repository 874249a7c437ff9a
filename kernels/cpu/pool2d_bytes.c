/* The largest cells of windows of 8-bit numbers whose channels are the last axis. */
#include "op/pool2d.h"

#include "vector.h"

#include <string.h>

typedef struct byte_pool {
  const jf_pool2d *a;
  const char *x;
  char *y;
  int64_t in[2], out[2], channels;
  int is_signed;
} byte_pool;

#define TAKE_MOST(T)                                                       \
  {                                                                        \
    const T *u = (const T *)x;                                             \
    T *v = (T *)y;                                                         \
    JF_EACH_ALONE for (int64_t c = 0; c < n; c++) v[c] = u[c] > v[c] ? u[c] : v[c]; \
  }
JF_BODY void take_most(const byte_pool *p, const char *x, char *y)
{
  const int64_t n = p->channels;
  if (p->is_signed) TAKE_MOST(int8_t)
  else TAKE_MOST(uint8_t)
}

/* Computes row i of y, of all images. */
JF_BODY void byte_row_body(void *ctx, int i)
{
  const byte_pool *p = ctx;
  const int64_t c = p->channels, image = i / p->out[0];
  const jf_pool_range rows = jf_pool_window(p->a, 0, p->in[0], i % p->out[0]);
  const int64_t cells = p->a->kernel[0] * p->a->kernel[1] * c;
  for (int64_t j = 0; j < p->out[1] && !jf_loop_ends_at(j, cells); j++) {
    char *y = p->y + ((int64_t)i * p->out[1] + j) * c;
    const jf_pool_range columns = jf_pool_window(p->a, 1, p->in[1], j);
    for (int64_t u = rows.lo; u < rows.hi; u++)
      for (int64_t v = columns.lo; v < columns.hi; v++) {
        const char *x = p->x + ((image * p->in[0] + u) * p->in[1] + v) * c;
        if (u == rows.lo && v == columns.lo) memcpy(y, x, (size_t)c);
        else take_most(p, x, y);
      }
  }
}
JF_VARIANTS(byte_row)

static int byte_pool_accepts(const jf_kargs *k)
{
  const jfl_dtype t = k->in[0].dtype;
  const jfl_shape *y = &k->out[0].shape;
  return (t == JFL_I8 || t == JFL_U8) && ((const jf_pool2d *)k->attr)->axis == 1 &&
         y->d[0] * y->d[1] <= INT32_MAX;
}

static jfl_status byte_pool_run(const jf_kargs *k)
{
  const int64_t *x = k->in[0].shape.d, *y = k->out[0].shape.d;
  byte_pool p = { .a = k->attr, .x = k->in[0].data, .y = k->out[0].data, .in = { x[1], x[2] },
                  .out = { y[1], y[2] }, .channels = x[3], .is_signed = k->in[0].dtype == JFL_I8 };
  jf_run_parts(k, (int)(y[0] * y[1]), byte_row(), &p);
  return JFL_OK;
}

JFL_CPU(vec_max_pool2d_bytes, .op = "max_pool2d", .accepts = byte_pool_accepts,
        .run = byte_pool_run, .priority = JF_OWN_FIRST)
