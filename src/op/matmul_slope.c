/* The op matmul_slope: a matrix product times the slope of an activation at what that one read, as
   in the gradient of a layer's inputs. */
#include "op/matmul.h"
#include "op/op.h"

JF_ATTRS(attrs, JF_MATMUL_ATTRS(jf_matmul_slope, product.),
  JF_FIELD(jf_matmul_slope, act, STR, NULL, "the slope, an op such as \"gelu_tanh_slope\""))

/* kept is like the product, but where that is of float32 it may be of the factors' 16 bits. */
static jfl_status matmul_slope_infer(jf_infer *c)
{
  jf_matmul_slope *a = c->attr;
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  const jfl_op *act = jf_activation(a->act);
  const jfl_value *kept = c->in[2];
  JF_TRY(jf_op_matmul.infer(c));
  if (!jf_shape_eq(&kept->shape, &c->shape[0]))
    return jf_fail_argument(JFL_ESHAPE, "kept", "must be %s like the product, got %s",
                            jf_shape_str(&c->shape[0], s), jf_shape_str(&kept->shape, t));
  if (kept->dtype != c->dtype[0] && kept->dtype != c->in[0]->dtype)
    return jf_fail_argument(JFL_EDTYPE, "kept", "must be %s like the product, got %s",
                            jfl_dtype_name(c->dtype[0]), jfl_dtype_name(kept->dtype));
  a->loop = act ? act->loop : NULL;
  if (act && act->loop[JFL_F32]) return JFL_OK;
  return jf_fail(JFL_EINVAL, "'%s' is no elementwise op of one float", a->act);
}

/* y = (a b) act(kept), some elements at a time. */
static jfl_status matmul_slope_matmul(const jf_kargs *k)
{
  enum { SOME = 512 };
  const jf_matmul_slope *a = k->attr;
  const jf_tensor *y = &k->out[0], *kept = &k->in[2];
  const int64_t n = jf_numel(&y->shape), size = (int64_t)jfl_dtype_size(y->dtype);
  double slope[SOME];
  JF_TRY(jf_op_matmul.cpu[y->dtype](k));
  for (int64_t i = 0; i < n && !jf_loop_ends_at(i / SOME, SOME); i += SOME) {
    char *at = (char *)y->data + i * size;
    jf_loop_args of = { .n = n - i < SOME ? n - i : SOME, .step = { 1 }, .out = slope,
                        .in = { (const char *)kept->data + i * size } };
    jf_loop_args times = { .n = of.n, .in = { at, slope }, .step = { 1, 1 }, .out = at };
    a->loop[y->dtype](&of);
    jf_op_multiply.loop[y->dtype](&times);
  }
  return JFL_OK;
}

static const jf_mixed mixed = { .inputs = 7,
                                .result = offsetof(jf_matmul_slope, product.f32_result) };

JFL_OP(matmul_slope, .doc = "matmul times the slope of an activation at what that read.",
       .in = { "a", "b", "kept" }, .out = { "y" },
       JF_WITH(attrs, jf_matmul_slope), .infer = matmul_slope_infer,
       .cpu = JF_KERNELS(JF_EVERY_FLOAT(matmul_slope_matmul)), .mixed = &mixed,
       .flop = jf_matmul_flop)
