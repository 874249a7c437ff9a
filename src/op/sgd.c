/* Parameter updates of stochastic gradient descent, with and without momentum. */
#include "op/sgd.h"
#include "op/op.h"

static const jf_attr sgd_attrs[] = {
  JF_FIELD(jf_sgd_update, weight_decay, NUM, "0", "share of param taken off, per rate"),
  {0},
};
static const jf_attr momentum_attrs[] = {
  JF_FIELD(jf_momentum_update, beta, NUM, "0.9", "how much of the last step is kept"),
  JF_FIELD(jf_momentum_update, weight_decay, NUM, "0", "share of param taken off, per rate"),
  {0},
};

/* grad and slots are like param; lr is float64 (1). */
static jfl_status infer(jf_infer *c)
{
  const jfl_value *param = c->in[0], *lr = c->in[2];
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  for (int i = 1; i < c->n_in; i++)
    if (i != 2 && (c->in[i]->dtype != param->dtype
                   || !jf_shape_eq(&c->in[i]->shape, &param->shape)))
      return jf_fail(JFL_ESHAPE, "%s: param is %s %s but %s is %s %s", c->op->name,
                     jfl_dtype_name(param->dtype), jf_shape_str(&param->shape, s), c->op->in[i],
                     jfl_dtype_name(c->in[i]->dtype), jf_shape_str(&c->in[i]->shape, t));
  if (lr->dtype != JFL_F64 || jf_numel(&lr->shape) != 1)
    return jf_fail(JFL_ESHAPE, "%s: lr must be float64 (1), got %s %s", c->op->name,
                   jfl_dtype_name(lr->dtype), jf_shape_str(&lr->shape, s));
  return JFL_OK;
}

/* w -= lr (g + decay w) */
#define SGD(D, T)                                                               \
  static jfl_status sgd_##D(const jf_kargs *k)                                  \
  {                                                                             \
    T *w = k->in[0].data, decay = (T)((const jf_sgd_update *)k->attr)->weight_decay; \
    const T *g = k->in[1].data, lr = (T)*(const double *)k->in[2].data;             \
    for (int64_t i = 0, n = jf_numel(&k->in[0].shape); i < n; i++)              \
      w[i] -= lr * (g[i] + decay * w[i]);                                       \
    return JFL_OK;                                                              \
  }
/* m = beta m - lr g, w += m - lr decay w */
#define MOMENTUM(D, T)                                                          \
  static jfl_status momentum_##D(const jf_kargs *k)                             \
  {                                                                             \
    const jf_momentum_update *a = k->attr;                                      \
    T *w = k->in[0].data, *m = k->in[3].data;                                   \
    const T *g = k->in[1].data, lr = (T)*(const double *)k->in[2].data, beta = (T)a->beta; \
    for (int64_t i = 0, n = jf_numel(&k->in[0].shape); i < n; i++) {            \
      m[i] = beta * m[i] - lr * g[i];                                           \
      w[i] += m[i] - lr * (T)a->weight_decay * w[i];                            \
    }                                                                           \
    return JFL_OK;                                                              \
  }
JF_EACH_FLOAT(SGD)
JF_EACH_FLOAT(MOMENTUM)
static const jf_kernel sgd_cpu[JFL_N_DTYPE] = { [JFL_F32] = sgd_F32, [JFL_F64] = sgd_F64 };
static const jf_kernel momentum_cpu[JFL_N_DTYPE] = {
  [JFL_F32] = momentum_F32, [JFL_F64] = momentum_F64,
};

JFL_OP(sgd_update, .doc = "param -= lr (grad + weight_decay param).",
  .in = {"param", "grad", "lr"}, .attr = sgd_attrs, .attr_size = sizeof(jf_sgd_update),
  .flags = JF_EFFECT | JF_POINTWISE, .mutates = 1, .infer = infer, .cpu = sgd_cpu)

JFL_OP(momentum_update,
  .doc = "momentum = beta momentum - lr grad; param += momentum - lr weight_decay param.",
  .in = {"param", "grad", "lr", "momentum"}, .attr = momentum_attrs,
  .attr_size = sizeof(jf_momentum_update), .flags = JF_EFFECT | JF_POINTWISE, .mutates = 1 | 8, .infer = infer,
  .cpu = momentum_cpu)
