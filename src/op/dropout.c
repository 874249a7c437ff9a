/* Dropout: zeroes elements at random, so that the others stay right on average. */
#include "op/dropout.h"
#include "op/op.h"

static const jf_attr attrs[] = {
  JF_FIELD(jf_dropout, rate, NUM, NULL, "the share of elements to zero, in [0, 1)"),
  {0},
};

static jfl_status check_rate(const jf_infer *c)
{
  double rate = ((const jf_dropout *)c->attr)->rate;
  if (rate >= 0 && rate < 1) return JFL_OK;
  return jf_fail(JFL_EINVAL, "%s: rate must be in [0, 1), got %g", c->op->name, rate);
}

static jfl_status infer(jf_infer *c)
{
  JF_TRY(check_rate(c));
  JF_TRY(jf_infer_same(c));
  c->shape[1] = c->shape[0];
  c->dtype[1] = JFL_I8;
  return JFL_OK;
}

static jfl_status grad_infer(jf_infer *c)
{
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  JF_TRY(check_rate(c));
  if (c->in[1]->dtype != JFL_I8 || !jf_shape_eq(&c->in[0]->shape, &c->in[1]->shape))
    return jf_fail(JFL_ESHAPE, "%s: mask should be int8 %s, got %s %s", c->op->name,
                   jf_shape_str(&c->in[0]->shape, s), jfl_dtype_name(c->in[1]->dtype),
                   jf_shape_str(&c->in[1]->shape, t));
  c->shape[0] = c->in[0]->shape;
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

static void grad(jf_gradctx *c)
{
  c->dx[0] = JF_EMIT(c->g, dropout_grad, c->node->attr, c->dy[0], c->out[1]);
}

static void draw(const jf_kargs *k, int8_t *mask, int64_t n)
{
  uint32_t least = jf_dropout_threshold(((const jf_dropout *)k->attr)->rate);
  for (int64_t i = 0; i < n; i += 4) {
    jf_philox r = jf_philox_at(k->random.key, k->random.run, (uint64_t)i / 4);
    for (int j = 0; j < 4 && i + j < n; j++) mask[i + j] = (r.w[j] >> 8) >= least;
  }
}

/* y = mask x / (1 - rate) */
#define KEEP(D, T)                                                              \
  static void keep_##D(const jf_kargs *k, const int8_t *mask)                   \
  {                                                                             \
    const T *x = k->in[0].data, scale = (T)(1 / (1 - ((const jf_dropout *)k->attr)->rate)); \
    T *y = k->out[0].data;                                                      \
    for (int64_t i = 0, n = jf_numel(&k->out[0].shape); i < n; i++)             \
      y[i] = mask[i] ? x[i] * scale : 0;                                        \
  }
#define KERNELS(D, T)                                                           \
  static jfl_status forward_##D(const jf_kargs *k)                              \
  {                                                                             \
    draw(k, k->out[1].data, jf_numel(&k->out[1].shape));                        \
    return keep_##D(k, k->out[1].data), JFL_OK;                                 \
  }                                                                             \
  static jfl_status backward_##D(const jf_kargs *k) { return keep_##D(k, k->in[1].data), JFL_OK; }
JF_EACH_FLOAT(KEEP)
JF_EACH_FLOAT(KERNELS)
static const jf_kernel cpu[JFL_N_DTYPE] = { [JFL_F32] = forward_F32, [JFL_F64] = forward_F64 };
static const jf_kernel grad_cpu[JFL_N_DTYPE] = {
  [JFL_F32] = backward_F32, [JFL_F64] = backward_F64,
};

JFL_OP(dropout, .doc = "x with a share of its elements, chosen anew on every run, made 0.",
  .path = "nn.dropout", .in = {"x"}, .out = {"y", "mask"}, .n_public = 1, .attr = attrs,
  .attr_size = sizeof(jf_dropout), .flags = JF_RANDOM, .inplace = 1, .infer = infer, .grad = grad,
  .cpu = cpu)

JFL_OP(dropout_grad, .doc = "Gradient of dropout that used mask.", .in = {"dy", "mask"},
  .out = {"dx"}, .attr = attrs, .attr_size = sizeof(jf_dropout), .flags = JF_POINTWISE, .inplace = 1,
  .infer = grad_infer, .cpu = grad_cpu)
