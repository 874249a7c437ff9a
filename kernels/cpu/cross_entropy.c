/* Softmax and cross entropy against class numbers, lines in parallel. */
#include "op/cross_entropy.h"
#include "op/index.h"

#include "softmax.h"

/* `count` samples of n classes. A part is `span` samples. */
typedef struct samples {
  const jf_tensor *labels;
  const float *x, *dy;             /* logits; dy NULL: all 1 */
  const float *most_in, *inverse_in;
  float scale;
  double smoothing;                /* the share of the label that all classes get alike */
  float *loss, *most, *inverse, *dx;
  int64_t count, n, span;
} samples;

/* What counts as x[label]: it itself, or with smoothing a share of the mean as well. */
JF_BODY double samples_own(const samples *s, int64_t r)
{
  const float *x = s->x + r * s->n;
  const double own = x[jf_index_at(s->labels, r)];
  if (s->smoothing == 0) return own;
  return own + s->smoothing * (jf_sum(x, s->n) / (double)s->n - own);
}

/* loss = log sum exp(x - most) - (x[label] - most) */
JF_BODY void fast_cross_entropy_forward_body(void *ctx, int i)
{
  const samples *s = ctx;
  const int64_t end = jf_to(i, s->span, s->count), n = s->n;
  for (int64_t r = jf_from(i, s->span); r < end; r++) {
    const float *x = s->x + r * n;
    const float most = jf_line_max(x, n);
    const double own = samples_own(s, r), sum = jf_line_exp(x, NULL, n, most);
    s->most[r] = most;
    s->inverse[r] = (float)(1 / sum);
    s->loss[r] = (float)(log(sum) - (own - (double)most));
  }
}
JF_VARIANTS(fast_cross_entropy_forward)

/* dx = dy (exp(x - most) inverse - share); x and dx may be the same memory. */
JF_BODY void samples_line(const float *x, float *dx, int64_t n, float most, float inverse,
                          float share, float dy)
{
  for (int64_t j = 0; j < n; j += JF_LANES) {
    const int64_t lanes = n - j < JF_LANES ? n - j : JF_LANES;
    jf_vec v;
    jf_load_part(x + j, lanes, most, &v);
    v -= most;
    jf_exp(&v);
    v = dy * (v * inverse - share);
    jf_store_part(dx + j, lanes, &v);
  }
}

/* dx = scale dy (p - mass of the label), p = exp(x - most) inverse */
JF_BODY void fast_cross_entropy_backward_body(void *ctx, int i)
{
  const samples *s = ctx;
  const int64_t end = jf_to(i, s->span, s->count), n = s->n;
  const float share = (float)(s->smoothing / (double)n), rest = (float)(1 - s->smoothing);
  for (int64_t r = jf_from(i, s->span); r < end; r++) {
    const float dy = s->dy ? s->scale * s->dy[r] : s->scale;
    float *dx = s->dx + r * n;
    samples_line(s->x + r * n, dx, n, s->most_in[r], s->inverse_in[r], share, dy);
    dx[jf_index_at(s->labels, r)] -= dy * rest;
  }
}
JF_VARIANTS(fast_cross_entropy_backward)

static int fast_cross_entropy_accepts(const jf_kargs *k)
{
  return k->in[1].dtype == JFL_F32 && k->out[0].dtype == JFL_F32 &&
         !((const jf_cross_entropy *)k->attr)->classes;
}

static samples fast_cross_entropy_describe(const jf_kargs *k)
{
  const jfl_shape *x = &k->in[1].shape;
  samples s = { .labels = &k->in[0], .x = k->in[1].data, .n = x->d[x->n - 1] };
  s.smoothing = ((const jf_cross_entropy *)k->attr)->label_smoothing;
  s.count = jf_numel(&k->in[0].shape);
  s.span = s.n < JF_PART / 4 ? JF_PART / 4 / s.n : 1;
  return s;
}

static jfl_status fast_cross_entropy_run(const jf_kargs *k, samples *s, jf_part part)
{
  JF_TRY(jf_check_range(k, JF_WRONG_LABEL, s->labels, s->n));
  jf_run_parts(k, jf_parts(s->count, s->span), part, s);
  return JFL_OK;
}

static jfl_status fast_cross_entropy_forward_run(const jf_kargs *k)
{
  samples s = fast_cross_entropy_describe(k);
  s.loss = k->out[0].data;
  s.most = k->out[1].data;
  s.inverse = k->out[2].data;
  return fast_cross_entropy_run(k, &s, fast_cross_entropy_forward());
}

static jfl_status backward_run(const jf_kargs *k)
{
  samples s = fast_cross_entropy_describe(k);
  s.most_in = k->in[JF_ENTROPY_MOST].data;
  s.inverse_in = k->in[JF_ENTROPY_INVERSE].data;
  s.dy = k->n_in > JF_ENTROPY_DY ? k->in[JF_ENTROPY_DY].data : NULL;
  s.scale = (float)((const jf_cross_entropy *)k->attr)->scale;
  s.dx = k->out[0].data;
  return fast_cross_entropy_run(k, &s, fast_cross_entropy_backward());
}

JFL_CPU(vec_sparse_softmax_cross_entropy, .op = "sparse_softmax_cross_entropy_with_logits",
  .accepts = fast_cross_entropy_accepts, .run = fast_cross_entropy_forward_run)
JFL_CPU(vec_sparse_softmax_cross_entropy_grad, .op = "sparse_softmax_cross_entropy_grad",
  .accepts = fast_cross_entropy_accepts, .run = backward_run)
