/* The op quantized_conv2d: what passes make of a convolution or a product of numbers that stand for
   integers. */
#include "op/quantized_conv.h"
#include "op/op.h"

#include <math.h>

JF_ATTRS(attrs,
  JF_CONV_ATTRS("NHWC", "NHWC"),
  JF_FIELD(jf_quantized_conv, dtype, DTYPE, "float32", "of y: float32, int8 or uint8"),
  JF_FIELD(jf_quantized_conv, relu, BOOL, "false", "whether what is below 0 becomes 0"),
  JF_FIELD(jf_quantized_conv, zero, INT, "0", "which of the integers of y stands for 0"),
  JF_FIELD(jf_quantized_conv, first, DTYPE, "float32",
           "int8 or uint8: to what sums are rounded before a residual is added"),
  JF_FIELD(jf_quantized_conv, first_zero, INT, "0", "which of these integers stands for 0"),
  JF_FIELD(jf_quantized_conv, residual_zero, INT, "0", "which integer of the residual does"))

static jfl_status check_line(const jf_infer *c, int i, int64_t n)
{
  const jfl_value *v = c->in[i];
  char s[JF_SHAPE_STR];
  if (v->dtype == JFL_F32 && jf_numel(&v->shape) == n) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, c->op->in[i], "must be float32 (%lld), got %s %s",
                          (long long)n, jfl_dtype_name(v->dtype), jf_shape_str(&v->shape, s));
}

/* Checks what is added: a residual like y, and a number; two if sums are rounded `first`. */
static jfl_status quantized_extra(const jf_infer *c)
{
  const int n = 6 + jf_is_byte(((const jf_quantized_conv *)c->attr)->first);
  const jfl_value *r = c->in[4];
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  if (c->n_in != n)
    return jf_fail_argument(JFL_EINVAL, "extra", "must be a residual and %s, got %d inputs",
                            n > 6 ? "two numbers" : "a number", c->n_in - 4);
  if ((!jf_is_byte(r->dtype) && r->dtype != JFL_F32) || !jf_shape_eq(&r->shape, &c->shape[0]))
    return jf_fail_argument(JFL_ESHAPE, "extra", "must begin with float32, int8 or uint8 %s, got "
                            "%s %s", jf_shape_str(&c->shape[0], s), jfl_dtype_name(r->dtype),
                            jf_shape_str(&r->shape, t));
  for (int i = 5; i < n; i++)
    if (c->in[i]->dtype != JFL_F32 || jf_numel(&c->in[i]->shape) != 1)
      return jf_fail_argument(JFL_ESHAPE, "extra", "must end with %s of float32",
                              n > 6 ? "two numbers" : "one number");
  return JFL_OK;
}

/* Checks the dtype of integers, or float32, and the one of them that stands for 0. */
static jfl_status check_integers(const char *argument, jfl_dtype t, const char *which, int64_t zero)
{
  if (!jf_is_byte(t) && t != JFL_F32)
    return jf_fail_argument(JFL_EDTYPE, argument, "must be float32, int8 or uint8, got %s",
                            jfl_dtype_name(t));
  if (zero >= -255 && zero <= 255 && (!zero || t != JFL_F32)) return JFL_OK;
  return jf_fail_argument(JFL_EINVAL, which, "must be from -255 to 255, and 0 for float32, got "
                          "%lld", (long long)zero);
}

static jfl_status quantized_infer(jf_infer *c)
{
  const jf_quantized_conv *a = c->attr;
  if (!jf_is_byte(c->in[0]->dtype) || c->in[1]->dtype != JFL_I8)
    return jf_fail_argument(JFL_EDTYPE, "x", "must be int8 or uint8 and filters int8, got %s and "
                            "%s", jfl_dtype_name(c->in[0]->dtype), jfl_dtype_name(c->in[1]->dtype));
  JF_TRY(check_integers("dtype", a->dtype, "zero", a->zero));
  JF_TRY(check_integers("first", a->first, "first_zero", a->first_zero));
  JF_TRY(check_integers("extra", c->n_in > 4 ? c->in[4]->dtype : JFL_F32, "residual_zero",
                        a->residual_zero));
  jfl_value x = *c->in[0];
  x.dtype = JFL_I8;                   /* so that conv2d checks the shapes */
  jf_infer pair = *c;
  pair.in = (jfl_value *[]){ &x, c->in[1] };
  pair.n_in = 2;
  JF_TRY(jf_op_conv2d.infer(&pair));
  c->dtype[0] = a->dtype;
  const jfl_shape *f = &c->in[1]->shape;
  if (f->d[1] * f->d[2] * f->d[3] > JF_MOST_PRODUCTS)
    return jf_fail_argument(JFL_ESHAPE, "filters", "must have at most %d numbers each, got %lld",
                            JF_MOST_PRODUCTS, (long long)(f->d[1] * f->d[2] * f->d[3]));
  JF_TRY(check_line(c, 2, c->shape[0].d[3]));
  JF_TRY(check_line(c, 3, c->shape[0].d[3]));
  return c->n_in > 4 || jf_is_byte(a->first) ? quantized_extra(c) : JFL_OK;
}

/* ---- the plain kernel ---- */

/* What a call reads: extents (images, channels, -, height, width) of its tensors. */
typedef struct integers {
  const jf_kargs *k;
  const jf_quantized_conv *a;
  jf_conv_extents x, f, y;
} integers;

static int32_t byte_at(const jf_tensor *t, int64_t i)
{
  return t->dtype == JFL_U8 ? ((const uint8_t *)t->data)[i] : ((const int8_t *)t->data)[i];
}

/* The products of a filter's channels with one cell of x. */
static int32_t cell(const integers *s, int64_t at, int64_t filter)
{
  int32_t sum = 0;
  const int8_t *f = (const int8_t *)s->k->in[1].data + filter;
  for (int64_t c = 0; c < s->f.d[1]; c++) sum += byte_at(&s->k->in[0], at + c) * f[c];
  return sum;
}

/* The products of filter o around cell (i, j) of y in image n. */
static int32_t whole_window(const integers *s, int64_t n, int64_t i, int64_t j, int64_t o)
{
  const jf_conv *a = &s->a->conv;
  const int64_t *x = s->x.d, *f = s->f.d, group = o / (s->y.d[1] / a->groups);
  int32_t sum = 0;
  for (int64_t u = 0; u < f[3]; u++)
    for (int64_t v = 0; v < f[4]; v++) {
      const int64_t row = i * a->stride[1] - a->pad[2] + u * a->dilation[1];
      const int64_t column = j * a->stride[2] - a->pad[4] + v * a->dilation[2];
      if (row < 0 || row >= x[3] || column < 0 || column >= x[4]) continue;
      sum += cell(s, ((n * x[3] + row) * x[4] + column) * x[1] + group * f[1],
                  ((o * f[3] + u) * f[4] + v) * f[1]);
    }
  return sum;
}

static float residual_at(const jf_tensor *t, int64_t i)
{
  return t->dtype == JFL_F32 ? ((const float *)t->data)[i] : (float)byte_at(t, i);
}

/* The integer of that dtype which stands for v, less the one that stands for 0. */
static float rounded(float v, jfl_dtype t, int64_t zero)
{
  const float least = (float)(jf_least_byte(t) - zero), most = least + 255;
  v = rintf(v);
  return v > least ? v < most ? v : most : least;
}

static float number_at(const jf_kargs *k, int i, int64_t at)
{
  return ((const float *)k->in[i].data)[at];
}

static void store(const integers *s, int64_t at, int64_t o, int32_t sum)
{
  const jf_kargs *k = s->k;
  const jf_quantized_conv *a = s->a;
  float v = ((float)sum + number_at(k, 3, o)) * number_at(k, 2, o);
  if (jf_is_byte(a->first)) v = rounded(v, a->first, a->first_zero) * number_at(k, 6, 0);
  if (k->n_in > 4)
    v = (v + (residual_at(&k->in[4], at) - (float)a->residual_zero)) * number_at(k, 5, 0);
  if (a->relu && v < 0) v = 0;
  if (a->dtype == JFL_F32) {
    ((float *)k->out[0].data)[at] = v;
    return;
  }
  v = rounded(v, a->dtype, a->zero) + (float)a->zero;
  if (a->dtype == JFL_U8) ((uint8_t *)k->out[0].data)[at] = (uint8_t)v;
  else ((int8_t *)k->out[0].data)[at] = (int8_t)v;
}

static jfl_status quantized_conv2d(const jf_kargs *k)
{
  const jf_quantized_conv *a = k->attr;
  const integers s = { k, a, jf_conv_extents_of(&a->conv, &k->in[0].shape),
                       jf_conv_extents_of(&a->conv, &k->in[1].shape),
                       jf_conv_extents_of(&a->conv, &k->out[0].shape) };
  const int64_t *y = s.y.d;
  for (int64_t r = 0; r < y[0] * y[3] * y[4] && !jf_loop_ends(); r++)
    for (int64_t o = 0; o < y[1]; o++)
      store(&s, r * y[1] + o, o,
            whole_window(&s, r / (y[3] * y[4]), r / y[4] % y[3], r % y[4], o));
  return JFL_OK;
}

static double quantized_flop(const jf_kargs *k) { return jf_op_conv2d.flop(k); }

/* Images; and filters, if there is one group. */
static void quantized_signatures(jf_signatures *c)
{
  const jf_quantized_conv *a = c->node->attr;
  jf_signature_say(c, "0,B,B,B,0->0");
  if (a->conv.groups == 1) jf_signature_say(c, "B,0,0,0,3->3");
}

JFL_OP(quantized_conv2d, .doc = "conv2d of int8 or uint8 x (N, H, W, in) and int8 filters (out, "
       "height, width, in / groups), plus bias, times scale, a number a channel each.",
       .in = { "x", "filters", "scale", "bias", "extra" }, .out = { "y" },
       JF_WITH(attrs, jf_quantized_conv), .flags = JF_VARIADIC | JF_OPTIONAL,
       .cpu = JF_KERNELS([JFL_I8] = quantized_conv2d, [JFL_U8] = quantized_conv2d),
       .infer = quantized_infer, .signatures = quantized_signatures, .flop = quantized_flop)
