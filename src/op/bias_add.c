/* Adding a vector along one axis. */
#include "op/attrs.h"
#include "op/layout.h"
#include "op/move.h"
#include "op/reduce.h"

#include <string.h>

JF_ATTRS(attrs,
  JF_WORD(jf_bias_add, data_format, "none", "NC NCW NCHW NCDHW NWC NHWC NDHWC",
          "where the channels are: axis 1, unless the last letter is C"))

static jfl_status bias_add_infer(jf_infer *c)
{
  jf_bias_add *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape, *bias = &c->in[1]->shape;
  char v[JF_SHAPE_STR], b[JF_SHAPE_STR];
  int channels_last = a->data_format && strlen(a->data_format) > 2
                   && a->data_format[strlen(a->data_format) - 1] == 'C';
  JF_TRY(jf_infer_dtype(c, 1, 0));
  if (s->n < 2)
    return jf_fail_argument(JFL_ESHAPE, "value", "must have two or more dimensions, got %s",
                            jf_shape_str(s, v));
  a->axis = channels_last ? s->n - 1 : 1;
  if (bias->n != 1 || bias->d[0] != s->d[a->axis])
    return jf_fail_argument(JFL_ESHAPE, "bias", "must be (%lld) for value %s, got %s",
                            (long long)s->d[a->axis], jf_shape_str(s, v), jf_shape_str(bias, b));
  c->shape[0] = *s;
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

static void bias_add_grad(jf_gradctx *c)
{
  const jf_bias_add *a = c->node->attr;
  int64_t others[JFL_MAXDIM];
  jf_reduce r = { .axis = { 0, others } };
  for (int i = 0; i < c->in[0]->shape.n; i++)
    if (i != a->axis) r.axis.v[r.axis.n++] = i;
  c->dx[0] = c->dy[0];
  c->dx[1] = JF_EMIT(c->g, reduce_sum, &r, c->dy[0]);
}

/* On blocks of channels this is an ordinary addition that broadcasts. */
static int bias_add_layout(jf_layout *c)
{
  if (c->in[0] != JF_BLOCKED || ((const jf_bias_add *)c->attr)->axis != 1) return 0;
  c->op = &jf_op_add;
  c->in[1] = JF_CHANNELS;
  c->out[0] = JF_BLOCKED;
  return 1;
}

static jf_first bias_add_first(const jf_node *n, void *attr)
{
  jf_bias_add *a = attr;
  (void)n;
  if (a->axis != 3) return JF_FIRST_NOT;
  a->data_format = "NCHW";
  return JF_FIRST_ALONG;
}

static void bias_add_signatures(jf_signatures *c)
{
  const int axis = ((const jf_bias_add *)c->node->attr)->axis;
  for (int i = 0; i < c->node->in[0]->shape.n; i++)
    jf_signature_say(c, i == axis ? "%d,0->%d" : "%d,B->%d", i, i);
  jf_signature_say(c, "P,P->P");
}

/* y[i, j, l] = x[i, j, l] + b[j], computed by the loop of the op add. */
static jfl_status bias_add_plain(const jf_kargs *k)
{
  const jf_axes s = jf_axes_at(&k->in[0].shape, ((const jf_bias_add *)k->attr)->axis);
  const jfl_dtype type = k->in[0].dtype;
  const int by_row = s.after == 1;           /* b has one element for each of a row of x */
  const int64_t row = by_row ? s.m : s.after, rows = by_row ? s.before : s.before * s.m;
  const size_t size = jfl_dtype_size(type);
  for (int64_t i = 0; i < rows && !jf_loop_ends_at(i, row); i++) {
    const size_t at = (size_t)(i * row) * size, b = by_row ? 0 : (size_t)(i % s.m) * size;
    jf_loop_args t = {
      .n = row, .in = { (const char *)k->in[0].data + at, (const char *)k->in[1].data + b },
      .step = { 1, by_row }, .out = (char *)k->out[0].data + at
    };
    jf_op_add.loop[type](&t);
  }
  return JFL_OK;
}

static const jf_line line = { &jf_op_add, offsetof(jf_bias_add, axis) };

JFL_OP(bias_add, .doc = "value plus bias, which runs along the channels.", .path = "nn.bias_add",
       .in = { "value", "bias" }, .out = { "y" }, JF_WITH(attrs, jf_bias_add), .inplace = 1,
       .infer = bias_add_infer, .grad = bias_add_grad, .layout = bias_add_layout,
       .channels_first = bias_add_first, .line = &line, .signatures = bias_add_signatures,
       .cpu = JF_KERNELS(JF_EVERY_NUM(bias_add_plain)))
