/* Dropout: makes elements 0 at random and scales the others so that the mean stays the same. */
#include "op/dropout.h"
#include "op/elementwise.h"

JF_ATTRS(attrs,
  JF_RANGE(jf_dropout, rate, NUM, NULL, JF_BELOW_ONE, "the share of elements to zero, in [0, 1)"))

static jfl_status dropout_infer(jf_infer *c)
{
  JF_TRY(jf_infer_same(c));
  c->shape[1] = c->shape[0];
  c->dtype[1] = JFL_I8;
  return JFL_OK;
}

static jfl_status dropout_grad_infer(jf_infer *c)
{
  JF_TRY(jf_infer_is(c, 1, JFL_I8, &c->in[0]->shape, NULL));
  c->shape[0] = c->in[0]->shape;
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

static void dropout_grad(jf_gradctx *c)
{
  c->dx[0] = JF_EMIT(c->g, dropout_grad, c->node->attr, c->dy[0], c->out[1]);
}

/* Draws the mask for n elements of the tensor from element t->at on. */
static void dropout_draw(const jf_loop_args *t, int8_t *mask)
{
  uint32_t least = jf_dropout_threshold(((const jf_dropout *)t->attr)->rate);
  const int64_t first = t->random.first + t->at;
  for (int64_t i = 0; i < t->n;) {
    jf_philox r = jf_philox_at(t->random.key, t->random.run, (uint64_t)(first + i) / 4);
    for (int64_t j = (first + i) % 4; j < 4 && i < t->n; i++, j++)
      mask[i] = (r.w[j] >> 8) >= least;
  }
}

#define KEPT_IF(kept) kept ? a * (T)(1 / (1 - rate)) : 0
#define KEEP_LOOP(A)                                                         \
  JF_EACH_ALONE for (int64_t i = 0; i < t->n; i++) {                         \
    const T a = (A);                                                         \
    y[i] = KEPT_IF(mask[i]);                                                 \
  }
#define KEEP(D, T_)                                                          \
  JF_BODY void keep_##D##_body(const jf_loop_args *t, const int8_t *mask)    \
  {                                                                          \
    typedef T_ T;                                                            \
    const T *x = t->in[0];                                                   \
    T *y = t->out;                                                           \
    JF_ATTR(jf_dropout, rate)                                                \
    if (t->step[0]) KEEP_LOOP(x[i])                                          \
    else KEEP_LOOP(x[0])                                                     \
  }                                                                          \
  JF_DISPATCH(keep_##D, (const jf_loop_args *t, const int8_t *mask), (t, mask))
#define TILES(D, T)                                                           \
  static void dropout_forward_loop_##D(const jf_loop_args *t)                 \
  {                                                                           \
    dropout_draw(t, t->second);                                               \
    keep_##D(t, t->second);                                                   \
  }                                                                           \
  static void dropout_backward_loop_##D(const jf_loop_args *t) { keep_##D(t, t->in[1]); }
JF_EACH_FLOAT(KEEP)
JF_EACH_FLOAT(TILES)
static const jf_loop loop[JFL_N_DTYPE] = { JF_FLOATS(dropout_forward_loop_) };
static const jf_loop grad_loop[JFL_N_DTYPE] = { JF_FLOATS(dropout_backward_loop_) };

enum { SOME = 1 << 14 };         /* elements between two looks at the deadline */

static void dropout_some(const jf_kargs *k, const jf_loop_args *whole, jf_loop run, int64_t n)
{
  jf_loop_args t = *whole;
  const int64_t at = t.at;
  const size_t first = (size_t)at;
  t.n = n - at < SOME ? n - at : SOME;
  t.out = (char *)t.out + first * jfl_dtype_size(k->out[0].dtype);
  if (t.second) t.second = (char *)t.second + first * jfl_dtype_size(k->out[1].dtype);
  for (int i = 0; i < k->n_in; i++)
    t.in[i] = (const char *)t.in[i] + first * jfl_dtype_size(k->in[i].dtype);
  run(&t);
}

static jfl_status dropout_whole(const jf_kargs *k, jf_loop run)
{
  jf_loop_args t = { .n = jf_numel(&k->out[0].shape), .out = k->out[0].data, .attr = k->attr,
                     .random = k->random };
  for (int i = 0; i < k->n_in; i++) {
    t.in[i] = k->in[i].data;
    t.step[i] = 1;
  }
  if (k->n_out > 1) t.second = k->out[1].data;
  for (int64_t n = t.n; t.at < n && !jf_loop_ends(); t.at += SOME) dropout_some(k, &t, run, n);
  return JFL_OK;
}

static jfl_status dropout_forward(const jf_kargs *k)
{
  return dropout_whole(k, loop[k->in[0].dtype]);
}
static jfl_status dropout_backward(const jf_kargs *k)
{
  return dropout_whole(k, grad_loop[k->in[0].dtype]);
}

/* The formula's `uniform >= rate` agrees with dropout_draw: uniform has 24 random bits, and both
   compare them with the same threshold. */
JFL_OP(dropout, .doc = "x with a share of its elements, chosen anew on every run, made 0.",
       .path = "nn.dropout", .in = { "x" }, .out = { "y", "mask" }, .n_public = 1,
       JF_WITH(attrs, jf_dropout), .flags = JF_RANDOM, .inplace = 1, .infer = dropout_infer,
       .grad = dropout_grad, .cpu = JF_KERNELS(JF_EVERY_FLOAT(dropout_forward)), .loop = loop,
       .expr = JF_STRING(KEPT_IF(uniform >= rate)), .second = "uniform >= rate")

JFL_OP(dropout_grad, .doc = "Gradient of dropout that used mask.", .in = { "dy", "mask" },
       .out = { "dx" }, JF_WITH(attrs, jf_dropout), .inplace = 1,
       .infer = dropout_grad_infer, .cpu = JF_KERNELS(JF_EVERY_FLOAT(dropout_backward)),
       .loop = grad_loop, .expr = JF_STRING(KEPT_IF(b)))
