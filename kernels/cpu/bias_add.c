/* Adding a vector along one axis, in parallel. */
#include "op/attrs.h"
#include "op/index.h"

#include "vector.h"

/* x and y seen as (rows, m, inner). A part is `span` rows. */
typedef struct fast_bias_add_plane {
  const float *x, *b;
  float *y;
  int64_t rows, m, inner, span;
} fast_bias_add_plane;

/* y[r, j, l] = x[r, j, l] + b[j]; x and y may be the same memory. */
JF_BODY void across_body(void *ctx, int i)
{
  const fast_bias_add_plane *p = ctx;
  const int64_t to = jf_to(i, p->span, p->rows * p->m), n = p->inner;
  for (int64_t r = jf_from(i, p->span); r < to; r++) {
    const float b = p->b[r % p->m], *x = p->x + r * n;
    float *y = p->y + r * n;
    JF_EACH_ALONE for (int64_t l = 0; l < n; l++) y[l] = x[l] + b;
  }
}
JF_VARIANTS(across)

/* Adds a bias whose axis is the innermost (inner = 1). */
JF_BODY void fast_bias_add_along_body(void *ctx, int i)
{
  const fast_bias_add_plane *p = ctx;
  const int64_t to = jf_to(i, p->span, p->rows), m = p->m;
  const float *b = p->b;
  for (int64_t r = jf_from(i, p->span); r < to; r++) {
    const float *x = p->x + r * m;
    float *y = p->y + r * m;
    JF_EACH_ALONE for (int64_t l = 0; l < m; l++) y[l] = x[l] + b[l];
  }
}
JF_VARIANTS(fast_bias_add_along)

static int fast_bias_add_accepts(const jf_kargs *k) { return k->in[0].dtype == JFL_F32; }

static jfl_status fast_bias_add_run(const jf_kargs *k)
{
  const jf_axes s = jf_axes_at(&k->in[0].shape, ((const jf_bias_add *)k->attr)->axis);
  fast_bias_add_plane p = {
    .x = k->in[0].data, .b = k->in[1].data, .y = k->out[0].data,
    .rows = s.before, .m = s.m, .inner = s.after
  };
  const int64_t lines = p.inner == 1 ? p.rows : p.rows * p.m;
  const int64_t line = p.inner == 1 ? p.m : p.inner;
  p.span = line < JF_PART ? JF_PART / line : 1;
  jf_run_parts(k, jf_parts(lines, p.span), p.inner == 1 ? fast_bias_add_along() : across(), &p);
  return JFL_OK;
}

JFL_CPU(vec_bias_add, .op = "bias_add", .accepts = fast_bias_add_accepts, .run = fast_bias_add_run)
