/* Softmax and its gradient along the last axis, lines in parallel. */
#include "op/softmax.h"

#include "softmax.h"

/* `count` lines of n elements. A part is `span` lines. */
typedef struct lines {
  const float *a, *b;
  float *y;
  int64_t count, n, span;
} lines;

/* y = exp(a - max) / sum exp(a - max) */
JF_BODY void softmax_body(void *ctx, int i)
{
  const lines *p = ctx;
  const int64_t to = jf_to(i, p->span, p->count), n = p->n;
  for (int64_t r = jf_from(i, p->span); r < to; r++) {
    const float *x = p->a + r * n;
    float *y = p->y + r * n;
    const float scale = (float)(1 / jf_line_exp(x, y, n, jf_line_max(x, n)));
    for (int64_t j = 0; j < n; j++) y[j] *= scale;
  }
}
JF_VARIANTS(softmax)

/* y = a (b - <a, b>), where a is the output of softmax and b is the gradient of that output. */
JF_BODY void fast_softmax_grad_body(void *ctx, int i)
{
  const lines *p = ctx;
  const int64_t to = jf_to(i, p->span, p->count), n = p->n;
  for (int64_t r = jf_from(i, p->span); r < to; r++) {
    const float *a = p->a + r * n, *b = p->b + r * n;
    float *y = p->y + r * n;
    jf_vec u, v, sum = { 0 };
    for (int64_t j = 0; j < n; j += JF_LANES) {
      jf_load_part(a + j, n - j < JF_LANES ? n - j : JF_LANES, 0, &u);
      jf_load_part(b + j, n - j < JF_LANES ? n - j : JF_LANES, 0, &v);
      sum += u * v;
    }
    const float dot = jf_lane_sum(&sum);
    JF_EACH_ALONE for (int64_t j = 0; j < n; j++) y[j] = a[j] * (b[j] - dot);
  }
}
JF_VARIANTS(fast_softmax_grad)

static int fast_softmax_accepts(const jf_kargs *k)
{
  const jf_softmax *a = k->attr;
  return k->in[0].dtype == JFL_F32 && a->axis == k->in[0].shape.n - 1;
}

static jfl_status fast_softmax_run(const jf_kargs *k, jf_part part)
{
  const jfl_shape *s = &k->in[0].shape;
  lines p = {
    .a = k->in[0].data, .b = k->in[k->n_in - 1].data, .y = k->out[0].data, .n = s->d[s->n - 1]
  };
  p.count = jf_numel(s) / p.n;
  p.span = p.n < JF_PART / 4 ? JF_PART / 4 / p.n : 1;
  jf_run_parts(k, jf_parts(p.count, p.span), part, &p);
  return JFL_OK;
}

static jfl_status softmax_run(const jf_kargs *k) { return fast_softmax_run(k, softmax()); }
static jfl_status fast_softmax_grad_run(const jf_kargs *k)
{
  return fast_softmax_run(k, fast_softmax_grad());
}

JFL_CPU(vec_softmax, .op = "softmax", .accepts = fast_softmax_accepts, .run = softmax_run,
        .priority = 10)
JFL_CPU(vec_softmax_grad, .op = "softmax_grad", .accepts = fast_softmax_accepts,
        .run = fast_softmax_grad_run, .priority = 10)
