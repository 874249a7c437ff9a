/* Batch normalization by the mean and variance of each channel, and its gradient. Sums are in
   double. */
#include "op/batch_norm.h"
#include "dev/half.h"
#include "ir/halves.h"
#include "op/attrs.h"
#include "op/cast.h"
#include "op/constant.h"
#include "op/epilogue.h"
#include "op/layout.h"
#include "op/op.h"
#include "op/reduce.h"
#include "op/reshape.h"

#include <math.h>

JF_ATTRS(attrs,
  JF_FIELD(jf_batch_norm, axis, INT, "1", "the axis of channels"),
  JF_RANGE(jf_batch_norm, epsilon, NUM, "0.001", "a number of at least 0", "added to the variance"),
  JF_FIELD(jf_batch_norm, add, BOOL, "false", "then extra is added, which is like x"),
  JF_FIELD(jf_batch_norm, relu, BOOL, "false", "then what is below 0 becomes 0"))

jf_batch_plane jf_batch_plane_of(const jfl_shape *x, const jf_batch_norm *a)
{
  const jf_channels c = jf_channels_at(x, (int)a->axis, a->blocked);
  const int64_t of_one = c.groups * c.inner * c.width;
  return (jf_batch_plane){ of_one ? jf_numel(x) / of_one : 0, c.groups, c.inner, c.width };
}

/* Checks input `of`, the tensor that is normalized, and the attributes; gives the channels. */
static jfl_status batch_norm_channels(const jf_infer *c, int of, int64_t *channels)
{
  jf_batch_norm *a = c->attr;
  const jfl_shape *s = &c->in[of]->shape;
  char buf[JF_SHAPE_STR];
  if (s->n < 2)
    return jf_fail_argument(JFL_ESHAPE, c->op->in[of], "must have two or more axes, got %s",
                            jf_shape_str(s, buf));
  JF_TRY(jf_axis(&a->axis, s->n));
  *channels = s->d[a->axis] * (a->blocked ? s->d[s->n - 1] : 1);
  return JFL_OK;
}

/* Checks that inputs from..to-1 have a number for each channel. */
static jfl_status check_lines(const jf_infer *c, int from, int to, int64_t channels)
{
  for (int i = from; i < to; i++) JF_TRY(jf_infer_line(c, i, channels, "channel"));
  return JFL_OK;
}

/* Checks that there are n inputs, all of the dtype of the first. */
static jfl_status check_all(const jf_infer *c, int n)
{
  if (c->n_in != n) return jf_fail(JFL_EINVAL, "takes %d inputs, got %d", n, c->n_in);
  for (int i = 1; i < n; i++) JF_TRY(jf_infer_dtype(c, i, 0));
  return JFL_OK;
}

static jfl_status batch_norm_infer(jf_infer *c)
{
  const jf_batch_norm *a = c->attr;
  int64_t channels;
  JF_TRY(batch_norm_channels(c, 0, &channels));
  JF_TRY(check_all(c, a->add ? 4 : 3));
  JF_TRY(check_lines(c, 1, 3, channels));
  if (a->add) JF_TRY(jf_infer_shape(c, 3, 0));
  c->shape[0] = c->in[0]->shape;
  c->shape[1] = c->shape[2] = (jfl_shape){ 1, { channels } };
  jf_halves_infer(c, jf_halves_seen(c, 0));
  return JFL_OK;
}

static jfl_status batch_norm_grad_infer(jf_infer *c)
{
  const jf_batch_norm *a = c->attr;
  int64_t channels;
  if (a->add && !a->relu)
    return jf_fail_argument(JFL_EINVAL, "add", "must not be set without relu: the gradient of the "
                            "addend is dy");
  JF_TRY(batch_norm_channels(c, 1, &channels));
  JF_TRY(check_all(c, (a->relu ? 6 : 5) + a->sum));
  JF_TRY(jf_infer_shape(c, 0, 1));
  JF_TRY(check_lines(c, 2, 5, channels));
  if (a->relu) JF_TRY(a->add ? jf_infer_shape(c, 5, 1) : check_lines(c, 5, 6, channels));
  if (a->sum && !jf_shape_eq(&c->in[6]->shape, &c->in[1]->shape))
    return jf_fail(JFL_ESHAPE, "what is added to dy must be of its shape");
  c->n_out = a->add ? 4 : 3;
  for (int i = 0; i < c->n_out; i++)
    c->shape[i] = i % 3 ? (jfl_shape){ 1, { channels } } : c->in[1]->shape;
  jf_halves_infer(c, jf_halves_seen(c, 0));
  return JFL_OK;
}

/* Mean and variance pass no gradient on: they are for moving averages. */
static void batch_norm_grad(jf_gradctx *c)
{
  jf_batch_norm a = *(const jf_batch_norm *)c->node->attr;
  jfl_value *in[6] = { c->dy[0], c->in[0], c->out[1], c->out[2], c->in[1],
                       a.add ? c->out[0] : c->in[2] };
  if (!c->dy[0]) return;
  if (a.add) c->dx[3] = c->dy[0];
  a.add &= a.relu;
  jfl_value *dx = jf_emit(c->g, &jf_op_batch_norm_grad, &a, in, a.relu ? 6 : 5);
  if (!dx) return;
  for (int i = 0; i < dx->node->n_out; i++) c->dx[i] = dx->node->out[i];
}

/* ---- plain kernels: channel after channel, as numbers in scratch ---- */

typedef struct batch_call {
  const jf_batch_norm *a;
  jf_batch_plane p;
  int64_t count;               /* elements of a channel */
} batch_call;

static batch_call batch_norm_call(const jf_kargs *k, const jf_tensor *x)
{
  batch_call b = { k->attr, jf_batch_plane_of(&x->shape, k->attr), 0 };
  b.count = b.p.outer * b.p.inner;
  return b;
}

/* Where element i of channel c is. */
static int64_t element_at(const batch_call *b, int64_t c, int64_t i)
{
  const jf_batch_plane *p = &b->p;
  const int64_t n = i / p->inner;
  return ((n * p->groups + c / p->width) * p->inner + i % p->inner) * p->width + c % p->width;
}

static double batch_number(const jf_tensor *t, int64_t i)
{
  return t->dtype == JFL_F32 ? (double)((const float *)t->data)[i] : ((const double *)t->data)[i];
}

static void batch_put(const jf_tensor *t, int64_t i, double v)
{
  if (t->dtype == JFL_F32) ((float *)t->data)[i] = (float)v;
  else if (t->dtype == JFL_BF16) ((uint16_t *)t->data)[i] = jf_to_bf16((float)v);
  else ((double *)t->data)[i] = v;
}

static void channel_get(const batch_call *b, const jf_tensor *t, int64_t c, double *v)
{
  for (int64_t i = 0; i < b->count && !jf_loop_ends_at(i, 1); i++)
    v[i] = batch_number(t, element_at(b, c, i));
}

static void channel_put(const batch_call *b, const jf_tensor *t, int64_t c, const double *v)
{
  for (int64_t i = 0; i < b->count && !jf_loop_ends_at(i, 1); i++)
    batch_put(t, element_at(b, c, i), v[i]);
}

static void moments_of(const double *x, int64_t n, double *mean, double *variance)
{
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n && !jf_loop_ends_at(i, 1); i++) sum += x[i];
  *mean = n ? sum / (double)n : 0;
  for (int64_t i = 0; i < n && !jf_loop_ends_at(i, 1); i++)
    squares += (x[i] - *mean) * (x[i] - *mean);
  *variance = n ? squares / (double)n : 0;
}

static jfl_status batch_norm_plain(const jf_kargs *k)
{
  const batch_call b = batch_norm_call(k, &k->in[0]);
  double *x = k->scratch, *addend = x + b.count;
  for (int64_t c = 0; c < b.p.groups * b.p.width && !jf_loop_ends_at(c, b.count); c++) {
    double mean, variance;
    channel_get(&b, &k->in[0], c, x);
    if (b.a->add) channel_get(&b, &k->in[3], c, addend);
    moments_of(x, b.count, &mean, &variance);
    batch_put(&k->out[1], c, mean);
    batch_put(&k->out[2], c, variance);
    const double s = sqrt(batch_number(&k->out[2], c) + b.a->epsilon);
    for (int64_t i = 0; i < b.count && !jf_loop_ends_at(i, 1); i++) {
      const double u = x[i] - batch_number(&k->out[1], c);
      x[i] = u * batch_number(&k->in[1], c) / s + batch_number(&k->in[2], c);
      if (b.a->add) x[i] += addend[i];
      if (b.a->relu && x[i] < 0) x[i] = 0;
    }
    channel_put(&b, &k->out[0], c, x);
  }
  return JFL_OK;
}

/* Adds what is added to dy, rounded as a tensor of the sum would be. */
static void batch_norm_sum(const batch_call *b, const jf_kargs *k, int64_t c, double *d,
                           double *extra)
{
  if (!b->a->sum) return;
  channel_get(b, &k->in[6], c, extra);
  for (int64_t i = 0; i < b->count && !jf_loop_ends_at(i, 1); i++) {
    d[i] += extra[i];
    if (k->in[0].dtype == JFL_F32) d[i] = (double)(float)d[i];
  }
}

/* Makes d 0 where relu let nothing pass. u is x - mean, s the standard deviation, extra scratch. */
static void batch_norm_mask(const batch_call *b, const jf_kargs *k, int64_t c, const double *u,
                            double s, double *d, double *extra)
{
  if (b->a->add) channel_get(b, &k->in[5], c, extra);
  for (int64_t i = 0; b->a->relu && i < b->count && !jf_loop_ends_at(i, 1); i++) {
    const double y = b->a->add ? extra[i]
                               : u[i] * batch_number(&k->in[4], c) / s + batch_number(&k->in[5], c);
    if (!(y > 0)) d[i] = 0;
  }
}

/* With d the gradient before relu, M elements in a channel and u = x - mean:
     dbeta = sum d,  dgamma = sum d u / s,  where s = sqrt(variance + epsilon)
     dx = gamma / s (d - dbeta / M - u dgamma / (s M)) */
static jfl_status batch_norm_grad_plain(const jf_kargs *k)
{
  const batch_call b = batch_norm_call(k, &k->in[1]);
  const double count = (double)b.count;
  double *d = k->scratch, *u = d + b.count, *extra = u + b.count;
  for (int64_t c = 0; c < b.p.groups * b.p.width && !jf_loop_ends_at(c, b.count); c++) {
    const double s = sqrt(batch_number(&k->in[3], c) + b.a->epsilon);
    double sum = 0, product = 0;
    channel_get(&b, &k->in[0], c, d);
    batch_norm_sum(&b, k, c, d, extra);
    channel_get(&b, &k->in[1], c, u);
    for (int64_t i = 0; i < b.count && !jf_loop_ends_at(i, 1); i++)
      u[i] -= batch_number(&k->in[2], c);
    batch_norm_mask(&b, k, c, u, s, d, extra);
    if (b.a->add) channel_put(&b, &k->out[3], c, d);
    for (int64_t i = 0; i < b.count && !jf_loop_ends_at(i, 1); i++) {
      sum += d[i];
      product += d[i] * u[i];
    }
    batch_put(&k->out[1], c, product / s);
    batch_put(&k->out[2], c, sum);
    const double scale = batch_number(&k->in[4], c) / s, slope = product / (s * s * count);
    for (int64_t i = 0; i < b.count && !jf_loop_ends_at(i, 1); i++)
      d[i] = scale * (d[i] - sum / count - u[i] * slope);
    channel_put(&b, &k->out[0], c, d);
  }
  return JFL_OK;
}

static size_t batch_norm_scratch(const jf_kargs *k)
{
  return 3 * sizeof(double) * (size_t)batch_norm_call(k, &k->in[0]).count;
}

/* Takes blocks where input `of`, the one that is normalized, was made in blocks. Numbers for each
   channel are in the order of channels in every form. */
static int batch_norm_blocks(jf_layout *c, int of)
{
  jf_batch_norm *a = c->attr;
  if (c->in[of] != JF_BLOCKED || a->axis != 1) return 0;
  const jfl_shape *x = c->in_shape[of];
  for (int i = 0; i < c->node->n_in; i++)
    c->in[i] = jf_shape_eq(c->in_shape[i], x) ? JF_BLOCKED : JF_PLAIN;
  for (int i = 0; i < c->node->n_out; i++)
    c->out[i] = jf_shape_eq(c->out_shape[i], x) ? JF_BLOCKED : JF_PLAIN;
  return a->blocked = 1;
}

static int batch_norm_layout(jf_layout *c) { return batch_norm_blocks(c, 0); }
static int batch_norm_grad_layout(jf_layout *c) { return batch_norm_blocks(c, 1); }

static jf_first batch_norm_first(const jf_node *n, void *attr)
{
  jf_batch_norm *a = attr;
  (void)n;
  if (a->axis != 3) return JF_FIRST_NOT;
  a->axis = 1;
  return JF_FIRST_ALONG;
}

/* x and the addend, and y; in the gradient dy, x, y and what is added to dy, and the results that
   are like x. */
static const jf_mixed mixed = { 0, offsetof(jf_batch_norm, halves), 0x9, 0x1 };
static const jf_mixed grad_mixed = { 0, offsetof(jf_batch_norm, halves), 0x63, 0x9 };

static int batch_norm_sums(const void *attr)
{
  const jf_batch_norm *a = attr;
  return a->add && a->relu && !a->sum;
}
static const jf_sum_in grad_sum = { 0, offsetof(jf_batch_norm, sum), batch_norm_sums };

/* Channels may be split; what is split otherwise has no statistics of its own. */
static void batch_norm_along(jf_signatures *c, const jfl_value *x)
{
  const int axis = (int)((const jf_batch_norm *)c->node->attr)->axis;
  jf_signature *s = jf_signature_add(c);
  for (int i = 0; i < c->node->n_in; i++)
    s->in[i] = JF_ALONG(c->node->in[i]->shape.n == x->shape.n ? axis : 0);
  for (int i = 0; i < c->node->n_out; i++)
    s->out[i] = JF_ALONG(c->node->out[i]->shape.n == x->shape.n ? axis : 0);
}

static void batch_norm_signatures(jf_signatures *c) { batch_norm_along(c, c->node->in[0]); }
static void batch_norm_grad_signatures(jf_signatures *c) { batch_norm_along(c, c->node->in[1]); }

/* ---- as nodes that can be computed on parts of a batch ---- */

#define EMIT(id, ...) JF_EMIT(g, id, NULL, __VA_ARGS__)

/* v in float32, if it has 16 bits. */
static jfl_value *batch_norm_wide(jfl_graph *g, jfl_value *v)
{
  return v->dtype == JFL_F16 || v->dtype == JFL_BF16 ? jf_emit_as(g, v, JFL_F32) : v;
}

/* Means of v, which all devices get, as they do its gradient: they are few, and all parts of x need
   them. */
static jfl_value *batch_norm_mean(jfl_graph *g, const jf_reduce *r, jfl_value *v)
{
  const jf_parallel_cast all = { "broadcast", "broadcast" };
  return JF_EMIT(g, parallel_cast, &all, JF_EMIT(g, reduce_mean, r, v));
}

/* y = gamma d / sqrt(mean(d^2) + epsilon) + beta, where d = x - mean(x), then the rest. */
static void batch_norm_decompose(jfl_graph *g, const jf_node *n, jfl_value *const *in,
                                 jfl_value **out)
{
  const jf_batch_norm *a = n->attr;
  const jfl_dtype t = in[0]->dtype;
  jfl_value *x = batch_norm_wide(g, in[0]);
  int64_t others[JFL_MAXDIM];
  jf_reduce r = { .axis = { 0, others }, .keepdims = 1 };
  jfl_shape line = x->shape;
  for (int i = 0; i < x->shape.n; i++)
    if (i != a->axis) line.d[others[r.axis.n++] = i] = 1;
  jfl_value *mean = batch_norm_mean(g, &r, x);
  jfl_value *d = EMIT(subtract, x, mean);
  jfl_value *variance = batch_norm_mean(g, &r, EMIT(square, d));
  jfl_value *inverse = EMIT(rsqrt, EMIT(add, variance, jf_scalar(g, x->dtype, a->epsilon)));
  jfl_value *gamma = jf_emit_view(g, batch_norm_wide(g, in[1]), &line);
  jfl_value *y = EMIT(multiply, d, EMIT(multiply, inverse, gamma));
  y = EMIT(add, y, jf_emit_view(g, batch_norm_wide(g, in[2]), &line));
  if (a->add) y = EMIT(add, y, batch_norm_wide(g, in[3]));
  if (a->relu) y = EMIT(relu, y);
  out[0] = jf_emit_as(g, y, t);
  out[1] = jf_emit_as(g, jf_emit_view(g, mean, &n->out[1]->shape), t);
  out[2] = jf_emit_as(g, jf_emit_view(g, variance, &n->out[2]->shape), t);
}

JFL_OP(batch_norm, .doc = "x normalized by the mean and variance of each channel, times gamma, "
       "plus beta.", .in = { "x", "gamma", "beta", "extra" }, .out = { "y", "mean", "variance" },
       JF_WITH(attrs, jf_batch_norm), .flags = JF_VARIADIC | JF_OPTIONAL,
       .inplace = 9, .infer = batch_norm_infer, .grad = batch_norm_grad,
       .cpu = JF_KERNELS(JF_EVERY_FLOAT(batch_norm_plain)),
       .scratch = batch_norm_scratch, .layout = batch_norm_layout, .mixed = &mixed,
       .channels_first = batch_norm_first,
       .signatures = batch_norm_signatures, .decompose = batch_norm_decompose)

JFL_OP(batch_norm_grad, .doc = "Gradients of batch_norm for x, gamma, beta and the addend.",
  .in = {"dy", "x", "mean", "variance", "gamma", "extra"},
  .out = {"dx", "dgamma", "dbeta", "daddend"}, JF_WITH(attrs, jf_batch_norm),
  .flags = JF_VARIADIC | JF_OPTIONAL, .inplace = 1, .infer = batch_norm_grad_infer,
  .cpu = JF_KERNELS(JF_EVERY_FLOAT(batch_norm_grad_plain)), .scratch = batch_norm_scratch,
  .layout = batch_norm_grad_layout, .mixed = &grad_mixed, .sum_in = &grad_sum,
  .signatures = batch_norm_grad_signatures)
