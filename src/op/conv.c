/* Convolution over width, over height and width, or over depth too (cross-correlation), and its
   gradients: shape rules and records. */
#include "op/conv.h"
#include "op/attrs.h"
#include "op/layout.h"
#include "op/op.h"
#include "op/reshape.h"
#include "op/window.h"

#include <string.h>

#define SIZE JF_FIELD(jf_conv, size, INTS, NULL, "spatial extents of the result")
#define BIAS                                                                                     \
  { "bias", JF_ATTR_BOOL, offsetof(jf_conv, epilogue.bias), "false", "give dbias too", NULL }
#define ATTRS(n, first, formats)                                                                 \
  JF_ATTRS(attrs_##n, JF_CONV_ATTRS(first, formats))                                             \
  JF_ATTRS(grad_attrs_##n, JF_CONV_ATTRS(first, formats), SIZE)                                  \
  JF_ATTRS(filter_attrs_##n, JF_CONV_ATTRS(first, formats), SIZE, BIAS)
ATTRS(1, "NCW", "NCW NWC")
ATTRS(2, "NCHW", "NCHW NHWC")
ATTRS(3, "NCDHW", "NCDHW NDHWC")

/* The number of the axis of channels, for the records' endings. */
static int conv_line_axis(const jf_node *n) { return jf_conv_channel_axis(n->attr); }

/* The plain shape of these extents. */
static jfl_shape conv_shape(const jf_conv *a, const int64_t d[5])
{
  jfl_shape s = { .n = a->axes + 2, .d = { d[0] } };
  for (int i = 0; i < a->axes; i++) s.d[(a->last ? 1 : 2) + i] = d[5 - a->axes + i];
  s.d[jf_conv_channel_axis(a)] = d[1];
  return s;
}

/* Sets the attributes' stride, dilation and pad, given the spatial extents of input and filter. */
static jfl_status conv_complete(const jf_infer *c, const int64_t *in, const int64_t *filter,
                                jf_window *w)
{
  jf_conv *a = c->attr;
  const int first = 3 - a->axes;
  for (int i = 0; i < first; i++) {
    a->stride[i] = a->dilation[i] = 1;
    a->pad[2 * i] = a->pad[2 * i + 1] = 0;
  }
  *w = (jf_window){ .n = a->axes, .last = a->last };
  JF_TRY(jf_extents("strides", &a->strides, a->axes, a->stride + first));
  JF_TRY(jf_extents("dilations", &a->dilations, a->axes, a->dilation + first));
  for (int i = 0; i < a->axes; i++) {
    w->in[i] = in[first + i];
    w->stride[i] = a->stride[first + i];
    JF_TRY(jf_window_extent(filter[first + i], a->dilation[first + i], &w->extent[i]));
  }
  JF_TRY(jf_window_place(&a->padding, 0, w));
  memcpy(a->pad + 2 * first, w->pad, 2 * (size_t)a->axes * sizeof *w->pad);
  return JFL_OK;
}

/* Gives the extents of input i, which is stored in `form`. */
static jfl_status conv_extents(const jf_infer *c, int i, jf_form form, jf_conv_extents *out)
{
  static const char *const ranks[] = { NULL, "three", "four", "five" };
  const jfl_shape *s = &c->in[i]->shape;
  const jf_conv *a = c->attr;
  jfl_shape plain = *s;
  char buf[JF_SHAPE_STR];
  if (form != JF_PLAIN && !jf_plain_shape(&(jf_packing){ form, a->block }, s, &plain))
    return jf_fail(JFL_ESHAPE, "%s is not in blocks of %lld: %s", c->op->in[i],
                   (long long)a->block, jf_shape_str(s, buf));
  if (plain.n != a->axes + 2)
    return jf_fail_argument(JFL_ESHAPE, c->op->in[i], "must be of %s dimensions, got %s",
                            ranks[a->axes], jf_shape_str(s, buf));
  return *out = jf_conv_extents_of(a, &plain), JFL_OK;
}

static jf_form form_x(const jf_infer *c)
{
  return ((const jf_conv *)c->attr)->block_x ? JF_BLOCKED : JF_PLAIN;
}

static jf_form form_y(const jf_infer *c)
{
  return ((const jf_conv *)c->attr)->block_y ? JF_BLOCKED : JF_PLAIN;
}

static jf_form form_f(const jf_infer *c)
{
  return ((const jf_conv *)c->attr)->packed ? JF_PACKED : JF_PLAIN;
}

/* Reads the format, checks the two operands and gives their extents. */
static jfl_status check_pair(const jf_infer *c, jf_form first, jf_form second, jf_conv_extents *x,
                             jf_conv_extents *y)
{
  jf_conv *a = c->attr;
  a->axes = (int)strlen(a->data_format) - 2;
  a->last = a->data_format[1] != 'C';
  JF_TRY(conv_extents(c, 0, first, x));
  JF_TRY(conv_extents(c, 1, second, y));
  return jf_infer_dtype(c, 1, 0);
}

static jfl_dtype conv_result(const jf_infer *c)
{
  return ((const jf_conv *)c->attr)->f32_result ? JFL_F32 : c->in[0]->dtype;
}

/* Sets the result: it has these extents and is stored in `form`. */
static jfl_status conv_give(jf_infer *c, jf_form form, const int64_t d[5])
{
  const jf_conv *a = c->attr;
  const jfl_shape s = conv_shape(a, d);
  char buf[JF_SHAPE_STR];
  jf_relayout r;
  c->dtype[0] = conv_result(c);
  c->shape[0] = s;
  if (form == JF_PLAIN) return JFL_OK;
  if (!jf_relayout_to(&(jf_packing){ form, a->block }, &s, &r))
    return jf_fail(JFL_ESHAPE, "%s cannot be cut into blocks of %lld", jf_shape_str(&s, buf),
                   (long long)a->block);
  c->shape[0] = r.to;
  return JFL_OK;
}

/* Gives the channels of all groups together. There may be no filters, which any groups divide. */
static jfl_status conv_channels(const jf_conv *a, int64_t of_one, int64_t *channels)
{
  if (of_one && a->groups > INT64_MAX / of_one)
    return jf_fail_argument(JFL_ESHAPE, "groups", "must be at most %lld for %lld channels in each, "
                            "got %lld", (long long)(INT64_MAX / of_one), (long long)of_one,
                            (long long)a->groups);
  *channels = of_one * a->groups;
  return JFL_OK;
}

static jfl_status conv_infer(jf_infer *c)
{
  const jf_conv *a = c->attr;
  jf_conv_extents x, f;
  int64_t channels = 0;
  char s[JF_SHAPE_STR];
  jf_window w;
  JF_TRY(check_pair(c, form_x(c), form_f(c), &x, &f));
  JF_TRY(conv_complete(c, x.d + 2, f.d + 2, &w));
  if (f.d[0] % a->groups)
    return jf_fail_argument(JFL_ESHAPE, "groups", "must divide the %lld filters, got %lld",
                            (long long)f.d[0], (long long)a->groups);
  const jfl_shape filters = conv_shape(a, f.d);
  JF_TRY(conv_channels(a, f.d[1], &channels));
  if (channels != x.d[1])
    return jf_fail_argument(JFL_ESHAPE, c->op->in[0], "must have %lld channels for filters %s, got "
                            "%lld", (long long)channels, jf_shape_str(&filters, s),
                            (long long)x.d[1]);
  int64_t d[5] = { x.d[0], f.d[0], 1, 1, 1 };
  memcpy(d + 5 - a->axes, w.out, (size_t)a->axes * sizeof *d);
  return conv_give(c, form_y(c), d);
}

/* Checks that dy has the spatial extents of the result. */
static jfl_status check_dy(const jf_infer *c, const jf_window *w, const jf_conv_extents *dy)
{
  const jf_conv *a = c->attr;
  jf_conv_extents want = *dy;
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  memcpy(want.d + 5 - a->axes, w->out, (size_t)a->axes * sizeof *w->out);
  if (!memcmp(&want, dy, sizeof want)) return JFL_OK;
  const jfl_shape to = conv_shape(a, want.d), got = conv_shape(a, dy->d);
  return jf_fail_argument(JFL_ESHAPE, "dy", "must be %s, got %s", jf_shape_str(&to, s),
                          jf_shape_str(&got, t));
}

/* Reads the spatial extents of a gradient's result. */
static jfl_status conv_size(jf_conv *a, int64_t size[3])
{
  size[0] = size[1] = 1;
  return jf_extents("size", &a->size, a->axes, size + 3 - a->axes);
}

static jfl_status data_infer(jf_infer *c)
{
  jf_conv *a = c->attr;
  jf_conv_extents f, dy;
  int64_t d[5];
  jf_window w;
  JF_TRY(check_pair(c, form_f(c), form_y(c), &f, &dy));
  JF_TRY(conv_size(a, d + 2));
  JF_TRY(conv_complete(c, d + 2, f.d + 2, &w));
  JF_TRY(check_dy(c, &w, &dy));
  if (dy.d[1] != f.d[0] || f.d[0] % a->groups)
    return jf_fail_argument(JFL_ESHAPE, "dy", "must have a channel for each of %lld filters in "
                            "%lld groups, got %lld", (long long)f.d[0], (long long)a->groups,
                            (long long)dy.d[1]);
  d[0] = dy.d[0];
  JF_TRY(conv_channels(a, f.d[1], &d[1]));
  return conv_give(c, form_x(c), d);
}

static jfl_status filter_infer(jf_infer *c)
{
  jf_conv *a = c->attr;
  jf_conv_extents x, dy;
  int64_t d[5];
  jf_window w;
  JF_TRY(check_pair(c, form_x(c), form_y(c), &x, &dy));
  JF_TRY(conv_size(a, d + 2));
  JF_TRY(conv_complete(c, x.d + 2, d + 2, &w));
  JF_TRY(check_dy(c, &w, &dy));
  if (x.d[1] % a->groups || dy.d[1] % a->groups || x.d[0] != dy.d[0])
    return jf_fail_argument(JFL_ESHAPE, "dy", "must agree with the input in batch size and groups");
  c->shape[1] = (jfl_shape){ 1, { dy.d[1] } };
  c->dtype[1] = conv_result(c);
  c->n_out = a->epilogue.bias ? 2 : 1;
  d[0] = dy.d[1];
  d[1] = x.d[1] / a->groups;
  return conv_give(c, form_f(c), d);
}

/* ---- gradients ---- */

/* The three ops by the number of spatial axes. */
typedef struct conv_family { const jfl_op *forward, *data, *filter; } conv_family;
static const conv_family families[] = {
  [1] = { &jf_op_conv1d, &jf_op_conv1d_data_grad, &jf_op_conv1d_filter_grad },
  [2] = { &jf_op_conv2d, &jf_op_conv2d_data_grad, &jf_op_conv2d_filter_grad },
  [3] = { &jf_op_conv3d, &jf_op_conv3d_data_grad, &jf_op_conv3d_filter_grad },
};

static jfl_value *emit_forward(const jf_gradctx *c, jfl_value *x, jfl_value *filters)
{
  jf_conv a = *(const jf_conv *)c->node->attr;
  a.size = (jf_ints){ 0 };
  a.epilogue.bias = 0;
  return jf_emit(c->g, families[a.axes].forward, &a, JF_IN(x, filters));
}

static jfl_value *emit_data(const jf_gradctx *c, jfl_value *x, jfl_value *filters, jfl_value *dy)
{
  jf_conv a = *(const jf_conv *)c->node->attr;
  const int64_t *size = x->shape.d + (a.last ? 1 : 2);
  a.size = (jf_ints){ a.axes, (int64_t *)size };
  a.epilogue.bias = 0;
  return jf_emit(c->g, families[a.axes].data, &a, JF_IN(filters, dy));
}

static jfl_value *emit_filter(const jf_gradctx *c, jfl_value *x, jfl_value *filters, jfl_value *dy)
{
  jf_conv a = *(const jf_conv *)c->node->attr;
  const int64_t *size = filters->shape.d + (a.last ? 1 : 2);
  a.size = (jf_ints){ a.axes, (int64_t *)size };
  return jf_emit(c->g, families[a.axes].filter, &a, JF_IN(x, dy));
}

static void conv_grad(jf_gradctx *c)
{
  c->dx[0] = emit_data(c, c->in[0], c->in[1], c->dy[0]);
  c->dx[1] = emit_filter(c, c->in[0], c->in[1], c->dy[0]);
}

/* The result is linear in the filters and in dy. */
static void data_grad_grad(jf_gradctx *c)
{
  c->dx[0] = emit_filter(c, c->dy[0], c->in[0], c->in[1]);
  c->dx[1] = emit_forward(c, c->dy[0], c->in[0]);
}

/* Adds the gradient of dbias, one number a channel, to every cell of a gradient of dy. */
static jfl_value *add_line(const jf_gradctx *c, jfl_value *to, jfl_value *line)
{
  const int axis = conv_line_axis(c->node);
  jfl_shape s = { .n = c->in[1]->shape.n };
  for (int i = 0; i < s.n; i++) s.d[i] = i == axis ? c->in[1]->shape.d[i] : 1;
  const jf_broadcast whole = { { s.n, c->in[1]->shape.d } };
  line = jf_emit_view(c->g, line, &s);
  return to ? JF_EMIT(c->g, add, NULL, to, line) : JF_EMIT(c->g, broadcast_to, &whole, line);
}

static void filter_grad_grad(jf_gradctx *c)
{
  if (c->dy[0]) {
    c->dx[0] = emit_data(c, c->in[0], c->dy[0], c->in[1]);
    c->dx[1] = emit_forward(c, c->in[0], c->dy[0]);
  }
  if (c->node->n_out > 1 && c->dy[1]) c->dx[1] = add_line(c, c->dx[1], c->dy[1]);
}

const jf_conv *jf_conv_forward_of(const jf_node *n)
{
  return n->op == &jf_op_conv2d ? n->attr : NULL;
}

/* ---- layouts ---- */

/* The roles of a node's tensors: the number of the input that is x, the filters or y; -1 stands for
   the output. */
typedef struct places { int x, f, y; } places;

static const jfl_shape *shape_at(const jf_layout *c, int i)
{
  return i < 0 ? c->out_shape[0] : c->in_shape[i];
}

static jf_form *form_at(const jf_layout *c, int i) { return i < 0 ? &c->out[0] : &c->in[i]; }

/* The fast loops take groups only if each consists of whole blocks or of a single channel. */
static int groups_fit(int64_t groups, int64_t channels, int64_t filters, int64_t block)
{
  return groups == 1 || (groups == channels && groups == filters)
      || (channels / groups % block == 0 && filters / groups % block == 0);
}

/* Chooses forms for the fast rows: y is in blocks wherever its channels allow it, and x with it. An
   x of at most FEW channels, as in a first layer, stays plain, but the filters are packed. */
enum { FEW = 3 };
int jf_conv_packs(const jf_conv *a, int64_t channels, int64_t filters, int64_t block)
{
  return !a->last && a->groups == 1 && filters && filters % block == 0 &&
         (channels % block == 0 || channels <= FEW);
}

static int arrange(jf_layout *c, places p)
{
  jf_conv *a = c->attr;
  int64_t channels = shape_at(c, p.x)->d[1], filters = shape_at(c, p.y)->d[1], b;
  if (a->last || c->node->in[0]->dtype != JFL_F32 || (b = jf_layout_block(c)) == 0) return 0;
  if (!channels || !filters || !groups_fit(a->groups, channels, filters, b)) return 0;
  a->block = b;
  a->block_y = filters % b == 0;
  a->block_x = channels % b == 0 && (a->block_y || *form_at(c, p.x) == JF_BLOCKED);
  a->packed = jf_conv_packs(a, channels, filters, b);
  if (!a->block_x && !a->block_y) return 0;
  jf_layout_all(c, JF_PLAIN);
  *form_at(c, p.x) = a->block_x ? JF_BLOCKED : JF_PLAIN;
  *form_at(c, p.f) = a->packed ? JF_PACKED : JF_PLAIN;
  *form_at(c, p.y) = a->block_y ? JF_BLOCKED : JF_PLAIN;
  return 1;
}

int jf_conv2d_layout(jf_layout *c)
{
  if (!arrange(c, (places){ 0, 1, -1 })) return 0;
  if (((const jf_conv *)c->attr)->epilogue.residual) c->in[c->node->n_in - 1] = c->out[0];
  return 1;
}

static int data_layout(jf_layout *c) { return arrange(c, (places){ -1, 0, 1 }); }
static int filter_layout(jf_layout *c) { return arrange(c, (places){ 0, -1, 1 }); }

/* Channels are first: whole blocks of those of y make it better. Padding is said in full, since a
   list may name the axes in their order. */
static jf_first conv_first(const jfl_value *y, void *attr)
{
  enum { BLOCK = 8 };          /* the least that there is, so that all ranks decide alike */
  jf_conv *a = attr;
  if (!a->last || y->dtype != JFL_F32) return JF_FIRST_NOT;
  a->data_format = "NCHW";
  a->padding = (jf_pad){ NULL, { 4, a->pad + 2 } };
  return y->shape.d[3] % BLOCK ? JF_FIRST_ALONG : JF_FIRST_BETTER;
}

static jf_first forward_first(const jf_node *n, void *attr) { return conv_first(n->out[0], attr); }
static jf_first data_first(const jf_node *n, void *attr) { return conv_first(n->in[1], attr); }

/* ---- parts ---- */

/* Images, filters with their channels of the result, and channels that all filters read. */
static void conv_signatures(jf_signatures *c)
{
  const jf_conv *a = c->node->attr;
  const int channels = jf_conv_channel_axis(a);
  jf_signature_say(c, "0,B->0");
  if (a->groups > 1) return;
  jf_signature_say(c, "B,0->%d", channels);
  jf_signature_say(c, "%d,%d->P", channels, channels);
}

static void data_signatures(jf_signatures *c)
{
  const jf_conv *a = c->node->attr;
  const int channels = jf_conv_channel_axis(a);
  jf_signature_say(c, "B,0->0");
  if (a->groups > 1) return;
  jf_signature_say(c, "%d,B->%d", channels, channels);
  jf_signature_say(c, "0,%d->P", channels);
}

/* Each image adds to the gradient; where channels of x are split, each part has all of dbias. */
static void filter_signatures(jf_signatures *c)
{
  const jf_conv *a = c->node->attr;
  const int channels = jf_conv_channel_axis(a);
  jf_signature_say(c, "0,0->P,P");
  if (a->groups > 1) return;
  jf_signature_say(c, "B,%d->0,0", channels);
  jf_signature_say(c, "%d,B->%d", channels, channels);
}

/* ---- records ---- */

/* Operations of a forward call or of a gradient: each element of y needs the products of one
   filter. Cells of the padding are counted as if they were computed. */
static double conv_work(const jf_kargs *k, const jf_tensor *f, const jf_tensor *y)
{
  const jf_conv *a = k->attr;
  int64_t filters = f->shape.d[0] * (a->packed ? a->block : 1);
  if (!filters) return 0;
  return 2 * (double)jf_numel(&y->shape) * (double)jf_numel(&f->shape) / (double)filters;
}

static double conv_flop(const jf_kargs *k) { return conv_work(k, &k->in[1], &k->out[0]); }
static double data_flop(const jf_kargs *k) { return conv_work(k, &k->in[0], &k->in[1]); }
static double filter_flop(const jf_kargs *k) { return conv_work(k, &k->out[0], &k->in[1]); }

static jfl_value *conv_scaled(jfl_graph *g, const jf_node *n, jfl_value *filters, jfl_value *line)
{
  return JF_EMIT(g, scale_filters, n->attr, filters, line);
}

/* Of a filter's gradient, which can sum dy. */
static int conv_sum_axis(const jf_node *n, int i) { return i == 1 ? conv_line_axis(n) : -1; }

static const jf_ending ending = { .fused = &jf_op_conv2d_fused, .axis = conv_line_axis,
                                  .epilogue = offsetof(jf_conv, epilogue),
                                  .scaled = conv_scaled };
static const jf_side_sum bias_sum = { NULL, conv_sum_axis, offsetof(jf_conv, epilogue.bias) };

static const jf_mixed mixed = { .inputs = 3, .result = offsetof(jf_conv, f32_result) };

#define FORWARD(n)                                                                          \
  .in = { "input", "filters" }, .out = { "y" }, JF_WITH(attrs_##n, jf_conv),                \
  .infer = conv_infer, .grad = conv_grad, .cpu = JF_KERNELS(JF_EVERY_FLOAT(jf_conv_forward)), \
  .flop = conv_flop, .mixed = &mixed, .signatures = conv_signatures
#define DATA(n)                                                                             \
  .in = { "filters", "dy" }, .out = { "dx" }, JF_WITH(grad_attrs_##n, jf_conv),             \
  .infer = data_infer, .grad = data_grad_grad,                                              \
  .cpu = JF_KERNELS(JF_EVERY_FLOAT(jf_conv_data_grad)),                                       \
  .flop = data_flop, .mixed = &mixed, .signatures = data_signatures
#define FILTER(n)                                                                           \
  .in = { "input", "dy" }, .out = { "dfilters", "dbias" },                                  \
  JF_WITH(filter_attrs_##n, jf_conv), .infer = filter_infer, .grad = filter_grad_grad,      \
  .cpu = JF_KERNELS(JF_EVERY_FLOAT(jf_conv_filter_grad)), .flop = filter_flop,                \
  .side_sum = &bias_sum, .mixed = &mixed, .signatures = filter_signatures

JFL_OP(conv1d, .doc = "Slides filters (out, in / groups, width) over input (N, in, W).",
       .path = "nn.conv1d", FORWARD(1))
JFL_OP(conv2d, .doc = "Slides filters (out, in / groups, height, width) over input (N, in, H, W).",
       .path = "nn.conv2d", FORWARD(2), .ending = &ending, .layout = jf_conv2d_layout,
       .channels_first = forward_first)
JFL_OP(conv3d, .doc = "Slides filters (out, in / groups, depth, height, width) over input (N, in, "
       "D, H, W).", .path = "nn.conv3d", FORWARD(3))

JFL_OP(conv1d_data_grad, .doc = "Gradient of conv1d for its input.", DATA(1))
JFL_OP(conv2d_data_grad, .doc = "Gradient of conv2d for its input.", DATA(2),
       .layout = data_layout, .channels_first = data_first)
JFL_OP(conv3d_data_grad, .doc = "Gradient of conv3d for its input.", DATA(3))

JFL_OP(conv1d_filter_grad, .doc = "Gradient of conv1d for its filters, and for a bias added to it.",
       FILTER(1))
JFL_OP(conv2d_filter_grad, .doc = "Gradient of conv2d for its filters, and for a bias added to it.",
       FILTER(2), .layout = filter_layout)
JFL_OP(conv3d_filter_grad, .doc = "Gradient of conv3d for its filters, and for a bias added to it.",
       FILTER(3))
