/* The factor that clips gradients to a global norm (Pascanu et al., "On the difficulty of training
   recurrent neural networks", ICML 2013). Squares are added in double. */
#include "op/clip_scale.h"
#include "op/layout.h"
#include "op/op.h"

#include <math.h>

JF_ATTRS(attrs,
  JF_FIELD(jf_clip_scale, clip, NUM, "0", "the largest norm that is left as it is; 0: any"),
  JF_FIELD(jf_clip_scale, skips, BOOL, "false", "gives -1 where a gradient is not finite"))

static jfl_status clip_scale_infer(jf_infer *c)
{
  const double clip = ((const jf_clip_scale *)c->attr)->clip;
  const jfl_value *by = c->in[JF_CLIP_BY];
  if (!(clip >= 0))
    return jf_fail_argument(JFL_EINVAL, "clip", "must be at least 0, got %.14g", clip);
  if (by->dtype != JFL_F64 || jf_numel(&by->shape) != 1)
    return jf_fail_argument(JFL_ESHAPE, "by", "must be one float64 number");
  for (int i = JF_CLIP_FIRST; i < c->n_in; i++)
    if (!jf_is_float(c->in[i]->dtype))
      return jf_fail(JFL_EDTYPE, "tensor %d must be of floats, got %s", i - JF_CLIP_FIRST,
                     jfl_dtype_name(c->in[i]->dtype));
  c->dtype[0] = JFL_F64;
  c->shape[0] = (jfl_shape){ 1, { 1 } };
  return JFL_OK;
}

double jf_clip_factor(const jf_kargs *k, double squares)
{
  const jf_clip_scale *a = k->attr;
  const double by = *(const double *)k->in[JF_CLIP_BY].data, norm = sqrt(squares) / by;
  if (a->skips && !isfinite(squares)) return -1;
  if (a->clip == 0 || norm <= a->clip) return 1 / by;
  return a->clip / norm / by;
}

#define SQUARES(D, T)                                                             \
  static double squares_##D(const jf_tensor *t)                                   \
  {                                                                               \
    const T *x = t->data;                                                         \
    double sum = 0;                                                               \
    for (int64_t i = 0, n = jf_numel(&t->shape); i < n; i++) sum += (double)x[i] * (double)x[i]; \
    return sum;                                                                   \
  }
JF_EACH_FLOAT(SQUARES)

/* A norm does not depend on the order of elements, so each tensor may stay in the form it has. */
static int clip_scale_layout(jf_layout *c)
{
  int any = 0;
  for (int i = 0; i < c->node->n_in; i++) any |= c->in[i] != JF_PLAIN;
  return any;
}

static jfl_status clip_scale_plain(const jf_kargs *k)
{
  double sum = 0;
  for (int i = JF_CLIP_FIRST; i < k->n_in; i++)
    sum += k->in[i].dtype == JFL_F32 ? squares_F32(&k->in[i]) : squares_F64(&k->in[i]);
  *(double *)k->out[0].data = jf_clip_factor(k, sum);
  return JFL_OK;
}

JFL_OP(clip_scale, .doc = "clip / max(norm, clip) / by; norm is that of all tensors together.",
  .in = {"by", "tensors"}, .out = {"scale"}, JF_WITH(attrs, jf_clip_scale),
  .flags = JF_VARIADIC, .infer = clip_scale_infer, .layout = clip_scale_layout,
  .cpu = JF_KERNELS([JFL_F64] = clip_scale_plain))
