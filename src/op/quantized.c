/* Weights that are stored in few bits: quantized_matmul stands for matmul where b is such a weight,
   as quantized_gather (gather.c) for gather. Both give what these give for dequantize(b). */
#include "op/quantized.h"
#include "dev/half.h"
#include "dev/number.h"
#include "op/cast.h"
#include "op/op.h"
#include "op/reshape.h"

#include <string.h>

enum { STRETCH = 256 };        /* numbers that are made floats at once; a multiple of all blocks */

int64_t jf_stored_width(const jf_tensor *w)
{
  return w->shape.d[w->shape.n - 1] * jfl_dtype_numbers(w->dtype);
}

void jf_stored_row(const jf_tensor *w, int64_t r, int64_t from, int64_t n, float *to)
{
  const int block = jfl_dtype_numbers(w->dtype);
  const size_t size = jfl_dtype_size(w->dtype);
  const char *row = (const char *)w->data + (size_t)(r * w->shape.d[w->shape.n - 1]) * size;
  row += (size_t)(from / block) * size;
  if (jf_is_block(w->dtype)) jf_blocks_get(w->dtype, row, n / block, to);
  else if (w->dtype == JFL_F32) memcpy(to, row, (size_t)n * sizeof *to);
  else jf_halves_get(w->dtype, (const uint16_t *)(const void *)row, to, n);
}

/* ---- dequantize ---- */

static jfl_status dequantize_infer(jf_infer *c)
{
  c->dtype[0] = JFL_F32;
  c->shape[0] = jf_shape_numbers(c->in[0]->dtype, &c->in[0]->shape);
  return JFL_OK;
}

static jfl_status dequantize(const jf_kargs *k)
{
  const jf_tensor *x = &k->in[0];
  jf_blocks_get(x->dtype, x->data, jf_numel(&x->shape), k->out[0].data);
  return JFL_OK;
}

/* Along every axis but the last, whose extent is another. */
static void dequantize_signatures(jf_signatures *c)
{
  for (int i = 0; i < c->node->in[0]->shape.n - 1; i++) jf_signature_along(c, i);
}

JFL_OP(dequantize, .doc = "The numbers of quantized weights, in float32.",
       .path = "quantization.dequantize", .in = { "x" }, .out = { "y" }, .flags = JF_BLOCKS,
       .infer = dequantize_infer, .cpu = JF_KERNELS(JF_EVERY_BLOCK(dequantize)),
       .signatures = dequantize_signatures)

/* ---- products ---- */

JF_ATTRS(matmul_attrs, JF_MATMUL_ATTRS(jf_matmul, ))

static jfl_status stored_infer(jf_infer *c)
{
  const jf_matmul *p = c->attr;
  const jfl_value *x = c->in[0], *w = c->in[1];
  const jfl_shape wide = jf_shape_numbers(w->dtype, &w->shape);
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  if (!jf_is_block(w->dtype) && !jf_is_half(w->dtype))
    return jf_fail_argument(JFL_EDTYPE, "w", "must be q8_0, q4_0, q4_k, q6_k, float16 or bfloat16, "
                            "got %s", jfl_dtype_name(w->dtype));
  if (!p->transpose_b || p->transpose_a)
    return jf_fail(JFL_EINVAL, "b of %s is read by rows alone: transpose_b must be true and "
                   "transpose_a false, with b (%s)", jfl_dtype_name(w->dtype),
                   "columns of the result, columns of a");
  if (w->shape.n != 2 || x->shape.n < 2 || x->shape.d[x->shape.n - 1] != wide.d[1])
    return jf_fail(JFL_ESHAPE, "b of %s must have 2 axes, the last like that of a, got a %s and b "
                   "%s", jfl_dtype_name(w->dtype), jf_shape_str(&x->shape, s),
                   jf_shape_str(&wide, t));
  c->dtype[0] = x->dtype;
  c->shape[0] = x->shape;
  c->shape[0].d[x->shape.n - 1] = wide.d[0];
  return JFL_OK;
}

/* Numbers in blocks have no gradient; those of 16 bits have one. */
static void stored_grad(jf_gradctx *c)
{
  jfl_value *x = c->in[0], *w = c->in[1], *dy = c->dy[0];
  const jfl_shape *s = &x->shape;
  const int is_block = jf_is_block(w->dtype);
  jfl_value *wide = is_block ? JF_EMIT(c->g, dequantize, NULL, w)
                             : JF_EMIT(c->g, cast, &(jf_cast){ JFL_F32 }, w);
  const int64_t rows = jf_numel(s) / (s->d[s->n - 1] ? s->d[s->n - 1] : 1);
  dy = jf_emit_view(c->g, dy, &(jfl_shape){ 2, { rows, w->shape.d[0] } });
  jfl_value *dx = JF_EMIT(c->g, matmul, &(jf_matmul){ 0 }, dy, wide);
  c->dx[0] = jf_emit_view(c->g, dx, s);
  if (is_block) return;
  x = jf_emit_view(c->g, x, &(jfl_shape){ 2, { rows, s->d[s->n - 1] } });
  jfl_value *dw = JF_EMIT(c->g, matmul, &(jf_matmul){ .transpose_a = 1 }, dy, x);
  c->dx[1] = JF_EMIT(c->g, cast, &(jf_cast){ w->dtype }, dw);
}

/* Adds n products to each of the sums, one for each row of x. */
static void add_stretch(const float *x, int64_t rows, int64_t width, const float *w, int64_t n,
                        double *sum)
{
  for (int64_t i = 0; i < rows; i++) {
    double s = 0;
    for (int64_t j = 0; j < n; j++) s += (double)x[i * width + j] * (double)w[j];
    sum[i] += s;
  }
}

static jfl_status stored_matmul(const jf_kargs *k)
{
  const jf_tensor *w = &k->in[1];
  const int64_t width = jf_stored_width(w), n = w->shape.d[0];
  const int64_t rows = n ? jf_numel(&k->out[0].shape) / n : 0;
  const float *x = k->in[0].data;
  float part[STRETCH], *y = k->out[0].data;
  double *sum = k->scratch;
  for (int64_t r = 0; r < n && !jf_loop_ends(); r++) {
    memset(sum, 0, (size_t)rows * sizeof *sum);
    for (int64_t at = 0, some; at < width; at += some) {
      some = width - at < STRETCH ? width - at : STRETCH;
      jf_stored_row(w, r, at, some, part);
      add_stretch(x + at, rows, width, part, some, sum);
    }
    for (int64_t i = 0; i < rows; i++) y[i * n + r] = (float)sum[i];
  }
  return JFL_OK;
}

static size_t stored_scratch(const jf_kargs *k)
{
  const int64_t n = k->in[1].shape.d[0];
  return n ? (size_t)(jf_numel(&k->out[0].shape) / n) * sizeof(double) : 0;
}

static double stored_flop(const jf_kargs *k)
{
  return 2 * (double)jf_numel(&k->out[0].shape) * (double)jf_stored_width(&k->in[1]);
}

/* Rows of x; rows of w, which are columns of y. */
static void stored_signatures(jf_signatures *c)
{
  const int last = c->node->in[0]->shape.n - 1;
  for (int i = 0; i < last; i++) jf_signature_say(c, "%d,B->%d", i, i);
  jf_signature_say(c, "B,0->%d", last);
}

JFL_OP(quantized_matmul, .doc = "matmul of a with the rows of b, which are stored in few bits.",
       .in = { "a", "b" }, .out = { "y" }, JF_WITH(matmul_attrs, jf_matmul),
       .flags = JF_BLOCKS | JF_HALVES | JF_INTERNAL, .infer = stored_infer, .grad = stored_grad,
       .cpu = JF_KERNELS([JFL_F32] = stored_matmul), .scratch = stored_scratch,
       .signatures = stored_signatures, .flop = stored_flop)
