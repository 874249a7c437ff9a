/* Tensors filled with one number. */
#include "op/constant.h"
#include "op/elementwise.h"
#include "op/move.h"

#include <string.h>

/* The attributes of zeros and ones. */
typedef struct constant_fill { jf_ints shape; jfl_dtype dtype; } constant_fill;

JF_ATTRS(attrs,
  JF_FIELD(jf_constant, value, NUM, NULL, "the number"),
  JF_FIELD(jf_constant, dtype, DTYPE, "float32", "its dtype"),
  JF_FIELD(jf_constant, shape, INTS, "1", "the extents of the result"))
JF_ATTRS(fill_attrs,
  JF_FIELD(constant_fill, shape, INTS, NULL, "the extents of the result"),
  JF_FIELD(constant_fill, dtype, DTYPE, "float32", "its dtype"))

static jfl_status constant_infer(jf_infer *c)
{
  const jf_constant *a = c->attr;
  if (!jf_holds(a->dtype, a->value))
    return jf_fail_argument(JFL_EDATA, "value", "must fit %s, got %.17g",
                            jfl_dtype_name(a->dtype), a->value);
  c->dtype[0] = a->dtype;
  return jf_shape_from(&a->shape, &c->shape[0]);
}

static jfl_status fill_infer(jf_infer *c)
{
  const constant_fill *a = c->attr;
  c->dtype[0] = a->dtype;
  return jf_shape_from(&a->shape, &c->shape[0]);
}

int jf_number(const jfl_value *v, double *out)
{
  const jf_node *n = jf_made_by(v, &jf_op_constant);
  if (n) *out = ((const jf_constant *)n->attr)->value;
  return n != NULL;
}

jfl_value *jf_emit_number(jfl_graph *g, jfl_dtype t, const jfl_shape *s, double value)
{
  jf_constant a;
  memset(&a, 0, sizeof a);      /* clears padding too: constants are compared byte by byte */
  a.value = value;
  a.dtype = t;
  a.shape = jf_ints_from(s);
  return jf_emit(g, &jf_op_constant, &a, NULL, 0);
}

jfl_value *jf_scalar(jfl_graph *g, jfl_dtype t, double value)
{
  return jf_emit_number(g, t, &(jfl_shape){ 1, { 1 } }, value);
}

enum { FILL_SOME = 1 << 14 };    /* elements between two looks at the deadline */

#define FILL(D, T)                                                                  \
  static jfl_status fill_##D(const jf_kargs *k, double value)                       \
  {                                                                                 \
    T *y = k->out[0].data, v;                                                       \
    jfl_number_put(JFL_##D, &v, 0, value);                                          \
    for (int64_t i = 0, n = jf_numel(&k->out[0].shape); i < n && !jf_loop_ends(); i += FILL_SOME) \
      for (int64_t j = i; j < n && j < i + FILL_SOME; j++) y[j] = v;                \
    return JFL_OK;                                                                  \
  }
#define KERNELS(D, T)                                                               \
  static jfl_status value_##D(const jf_kargs *k)                                    \
  {                                                                                 \
    return fill_##D(k, ((const jf_constant *)k->attr)->value);                      \
  }                                                                                 \
  static jfl_status zero_##D(const jf_kargs *k) { return fill_##D(k, 0); }          \
  static jfl_status one_##D(const jf_kargs *k) { return fill_##D(k, 1); }
#define EACH(X) JF_EACH_TYPE(X) X(F16, uint16_t) X(BF16, uint16_t)
EACH(FILL)
EACH(KERNELS)

/* Each device makes its part itself. */
static void source_signatures(jf_signatures *c)
{
  for (int i = 0; i < c->node->out[0]->shape.n; i++) jf_signature_say(c, "->%d", i);
}

static void constant_share(jf_share *s)
{
  ((jf_constant *)s->attr)->shape = jf_ints_from(&s->out[0]);
}

static void fill_share(jf_share *s)
{
  ((constant_fill *)s->attr)->shape = jf_ints_from(&s->out[0]);
}

JFL_OP(constant, .doc = "A tensor filled with value.", .path = "constant", .out = {"y"}, .key = -1,
  JF_WITH(attrs, jf_constant), .infer = constant_infer,
  .cpu = JF_KERNELS(JF_DTYPES(value_)), .signatures = source_signatures, .share = constant_share)

JFL_OP(zeros, .doc = "A tensor filled with 0.", .path = "zeros", .out = {"y"}, .key = -1,
  JF_WITH(fill_attrs, constant_fill), .infer = fill_infer, .flags = JF_FILLS,
  .cpu = JF_KERNELS(JF_DTYPES(zero_)), .signatures = source_signatures, .share = fill_share)

JFL_OP(ones, .doc = "A tensor filled with 1.", .path = "ones", .out = {"y"}, .key = -1,
  JF_WITH(fill_attrs, constant_fill), .infer = fill_infer, .flags = JF_FILLS,
  .cpu = JF_KERNELS(JF_DTYPES(one_)), .signatures = source_signatures, .share = fill_share)

JFL_OP(zeros_like, .doc = "0 in the shape and dtype of like.", .path = "zeros_like", .in = {"like"},
  .out = {"y"}, .infer = jf_infer_same, .flags = JF_FILLS, .grad = jf_grad_flat,
  .cpu = JF_KERNELS(JF_DTYPES(zero_)), .signatures = jf_signatures_pointwise)

JFL_OP(ones_like, .doc = "1 in the shape and dtype of like.", .path = "ones_like", .in = {"like"},
  .out = {"y"}, .infer = jf_infer_same, .flags = JF_FILLS, .grad = jf_grad_flat,
  .cpu = JF_KERNELS(JF_DTYPES(one_)), .signatures = jf_signatures_pointwise)
