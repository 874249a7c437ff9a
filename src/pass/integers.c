/* Products of numbers that stand for integers (op/integers.h) become products of integers, where
   the device has a kernel for these: with what scales each channel, the bias, a residual, a relu
   and, where that follows, the rounding to integers again, so that values stay integers from one
   convolution to the next. Their tensors have the channels last, as such kernels want them. */
#include "op/attrs.h"
#include "op/cast.h"
#include "op/constant.h"
#include "op/integers.h"
#include "op/layout.h"
#include "op/pad.h"
#include "op/pool2d.h"
#include "op/reduce.h"
#include "op/reshape.h"
#include "pass/pass.h"

/* A scale of integers: that value, or where it is NULL that number. */
typedef struct integer_scale { jfl_value *value; double number; } integer_scale;

/* What is added to the integers that a product gives: others. */
typedef struct integer_sum {
  jfl_dtype first;                       /* of the product's integers; float32: nothing is added */
  int first_zero, zero;
  integer_scale rounds;                  /* by what the product was divided */
  jfl_value *scale;                      /* by what its integers are multiplied */
  jfl_value *with, *with_scale;
} integer_sum;

/* A product and the nodes that become part of it, the last of which is old node number `end`. */
typedef struct integer_chain {
  const jf_node *first, *pool, *view;    /* the last two may be NULL */
  jf_integer_product p;
  jfl_value *x, *x_scale, *factor, *factor_scale;
  int end, relu, x_zero;
  integer_scale scale;                   /* of the integers that come out; neither: none do */
  jfl_dtype to;                          /* of those, as is zero */
  int zero;
  integer_sum sum;
} integer_chain;

typedef struct integer_pass {
  jf_rewrite r;
  jfl_graph *g;
  const jf_target *target;
  const char *still;                     /* by value: it depends on variables alone */
  integer_chain **ends;                  /* by old node: the chain that ends there, or NULL */
} integer_pass;

/* ---- finding chains ---- */

/* The node that alone reads v, if it is that step; gives its number. */
static const jf_node *integer_next(const integer_pass *s, const jfl_value *v, jf_integer_step step,
                                   int *at)
{
  const int i = s->r.reader[v->id];
  if (i < 0 || s->r.uses[v->id] != 1 || jf_integer_step_of(s->r.old[i], v) != step) return NULL;
  *at = i;
  return s->r.old[i];
}

/* Follows v to where it becomes integers again, if it does. A relu, a pool and a view may come
   between. */
static void find_rounding(const integer_pass *s, integer_chain *c, const jfl_value *v)
{
  const jf_node *relu = NULL, *pool = NULL, *view = NULL;
  int at = c->end;
  for (const jf_node *n, *some = c->first; some; v = some ? some->out[0] : v) {
    some = NULL;
    if (!relu && !c->relu && (n = integer_next(s, v, JF_STEP_RELU, &at))) some = relu = n;
    else if (!pool && !view && (n = integer_next(s, v, JF_STEP_POOL, &at))) some = pool = n;
    else if (!view && (n = integer_next(s, v, JF_STEP_VIEW, &at))) some = view = n;
  }
  const jf_node *divide = integer_next(s, v, JF_STEP_DIVIDE, &at);
  if (!divide) return;
  const jf_node *n = integer_next(s, divide->out[0], JF_STEP_ROUND, &at);
  const jf_node *shift = n ? integer_next(s, n->out[0], JF_STEP_SHIFT, &at) : NULL;
  if (!n || !(n = integer_next(s, (shift ? shift : n)->out[0], JF_STEP_CONVERT, &at))) return;
  c->relu |= relu != NULL;
  c->pool = pool;
  c->view = view;
  c->scale.value = jf_integer_divisor(divide, &c->scale.number);
  c->to = n->out[0]->dtype;
  c->zero = shift ? jf_integer_shift(shift) : 0;
  c->end = at;
}

/* The product of integers q and a scale, where nothing else reads q; or NULL. */
static const jfl_value *integers_as_floats(const integer_pass *s, const jfl_value *q,
                                           jfl_value **scale, int *zero)
{
  enum { STEPS = 3 };                    /* a cast, a subtraction and the product */
  const jfl_value *v = q;
  for (int i = 0; i < STEPS; i++) {
    const int at = s->r.reader[v->id];
    if (at < 0 || s->r.uses[v->id] != 1 || s->r.old[at]->n_out != 1) return NULL;
    v = s->r.old[at]->out[0];
    if (jf_integers_of(v, scale, zero) == q) return v;
  }
  return NULL;
}

/* Follows the integers that come out to where they are added to others and become integers again,
   if they are. A relu before the first rounding needs no step of its own where rounding cuts off
   all below 0: to uint8, of which 0 stands for 0. */
static void find_sum(const integer_pass *s, integer_chain *c)
{
  integer_chain sum = *c;
  integer_sum *a = &sum.sum;
  int zero, at;
  if (c->to == JFL_F32 || c->pool || c->view || c->p.residual || c->p.act) return;
  if (c->relu && (c->zero || c->to != JFL_U8)) return;
  const jfl_value *v = integers_as_floats(s, s->r.old[c->end]->out[0], &a->scale, &zero);
  if (!v || zero != c->zero || jf_numel(&a->scale->shape) != 1) return;
  at = s->r.reader[v->id];
  const jf_node *n = at >= 0 && s->r.uses[v->id] == 1 ? s->r.old[at] : NULL;
  if (!n || !(n->op->flags & JF_ADDS) || !jf_shape_eq(&n->in[0]->shape, &n->in[1]->shape)) return;
  a->with = jf_integers_of(n->in[n->in[0] == v], &a->with_scale, &a->zero);
  if (!a->with || jf_numel(&a->with_scale->shape) != 1) return;
  a->first = c->to;
  a->first_zero = c->zero;
  a->rounds = c->scale;
  sum.relu = 0;
  find_rounding(s, &sum, n->out[0]);
  if (sum.end != c->end && !s->ends[sum.end]) *c = sum;
}

/* Whether a scale of n filters has a number for each, or one for all. */
static int scales_filters(const jfl_value *scale, const jfl_value *filters)
{
  const int64_t n = filters->shape.d[0], count = jf_numel(&scale->shape);
  return count == 1 || (count == n && scale->shape.n == filters->shape.n && scale->shape.d[0] == n);
}

static void find_chain(integer_pass *s, int i)
{
  integer_chain c = { .first = s->r.old[i], .end = i, .to = JFL_F32, .sum.first = JFL_F32 };
  const jf_node *n = c.first;
  int factor_zero;
  if (!jf_integer_product_of(n, &c.p)) return;
  c.relu = c.p.relu;
  c.x = jf_integers_of(c.p.x, &c.x_scale, &c.x_zero);
  c.factor = jf_integers_of(c.p.factor, &c.factor_scale, &factor_zero);
  if (!c.x || !c.factor || factor_zero || c.factor->dtype != JFL_I8) return;
  if (jf_numel(&c.x_scale->shape) != 1) return;
  if (!s->still[n->in[1]->id] || !scales_filters(c.factor_scale, c.factor)) return;
  if (jf_numel(&c.factor->shape) > JF_MOST_PRODUCTS * c.factor->shape.d[0]) return;
  if (!c.p.act) find_rounding(s, &c, n->out[0]);
  find_sum(s, &c);
  if (s->ends[c.end]) return;
  s->ends[c.end] = jf_alloc(s->g->arena, sizeof c);
  *s->ends[c.end] = c;
}

/* ---- emitting them ---- */

static jfl_value *now(const integer_pass *s, const jfl_value *v) { return jf_current(&s->r, v); }

static jfl_value *one_number(integer_pass *s, const jfl_value *v)
{
  return jf_emit_view(s->g, now(s, v), &(jfl_shape){ 1, { 1 } });
}

/* A tensor as the op has it: channels last, or the rows of a product as those of one image. */
static jfl_value *as_image(integer_pass *s, const integer_chain *c, const jfl_value *v, int factor)
{
  jfl_value *here = now(s, v);
  const int64_t *d = here->shape.d;
  if (c->p.conv) return c->p.conv->last ? here : jf_emit_turned(s->g, here, 1);
  const jfl_shape rows = { 4, { 1, d[0], 1, d[1] } }, filters = { 4, { d[0], 1, 1, d[1] } };
  return jf_emit_view(s->g, here, factor ? &filters : &rows);
}

/* What the sum of each channel is multiplied by. A bias is divided by that, so that a very small
   number stands for 0. */
static jfl_value *channel_scale(integer_pass *s, const integer_chain *c)
{
  jfl_graph *g = s->g;
  const jfl_shape line = { 1, { c->factor->shape.d[0] } };
  const jfl_value *scale = c->factor_scale;
  const jf_broadcast all = { { 1, (int64_t *)line.d } };
  jfl_value *m = jf_numel(&scale->shape) == line.d[0] ? jf_emit_view(g, now(s, scale), &line)
               : JF_EMIT(g, broadcast_to, &all, one_number(s, scale));
  m = JF_EMIT(g, multiply, NULL, m, one_number(s, c->x_scale));
  if (!c->p.line) return m;
  m = JF_EMIT(g, multiply, NULL, m, jf_emit_view(g, now(s, c->p.line), &line));
  jfl_value *none = JF_EMIT(g, equal, NULL, m, jf_scalar(g, JFL_F32, 0));
  return JF_EMIT(g, where, NULL, none, jf_scalar(g, JFL_F32, 1e-30), m);
}

/* What is added to the sum of each channel: the bias, and what the zero of x adds to each product
   is taken away. */
static jfl_value *channel_bias(integer_pass *s, const integer_chain *c, jfl_value *scale)
{
  int64_t others[] = { 1, 2, 3 };
  jfl_graph *g = s->g;
  const jfl_shape line = { 1, { c->factor->shape.d[0] } };
  jfl_value *bias = c->p.bias
    ? JF_EMIT(g, divide, NULL, jf_emit_view(g, now(s, c->p.bias), &line), scale)
    : jf_emit_number(g, JFL_F32, &line, 0);
  if (!c->x_zero) return bias;
  const jf_reduce rest = { { c->factor->shape.n - 1, others }, 0, 0 };
  jfl_value *sum = JF_EMIT(g, cast, &(jf_cast){ JFL_F32 }, now(s, c->factor));
  sum = JF_EMIT(g, reduce_sum, &rest, sum);
  return JF_EMIT(g, subtract, NULL, bias,
                 JF_EMIT(g, multiply, NULL, sum, jf_scalar(g, JFL_F32, c->x_zero)));
}

/* x with its zero around it, where the convolution pads. */
static jfl_value *with_zeros(integer_pass *s, const integer_chain *c, jfl_value *x)
{
  int64_t sides[8] = { 0 };
  int any = 0;
  for (int i = 0; c->p.conv && i < 4; i++) any |= (sides[2 + i] = c->p.conv->pad[2 + i]) != 0;
  const jf_pad_sides a = { { 8, sides }, "constant", c->x_zero };
  return any && c->x_zero ? JF_EMIT(s->g, pad, &a, x) : x;
}

static jf_quantized_conv integer_attr(integer_pass *s, const integer_chain *c)
{
  jf_quantized_conv a = { .dtype = c->to, .relu = c->relu, .zero = c->zero,
                          .first = c->sum.first, .first_zero = c->sum.first_zero };
  a.conv.data_format = "NHWC";
  a.conv.groups = 1;
  a.conv.padding.word = "VALID";
  if (!c->p.conv) return a;
  a.conv.strides = c->p.conv->strides;
  a.conv.dilations = c->p.conv->dilations;
  a.conv.groups = c->p.conv->groups;
  if (c->x_zero) return a;               /* what is padded is there already */
  int64_t *pad = jf_alloc(s->g->arena, 4 * sizeof *pad);
  for (int i = 0; i < 4; i++) pad[i] = c->p.conv->pad[2 + i];
  a.conv.padding = (jf_pad){ NULL, { 4, pad } };
  return a;
}

/* The scale as one number, or NULL where there is none. */
static jfl_value *scale_number(integer_pass *s, const integer_scale *scale)
{
  const jfl_shape one = { 1, { 1 } };
  if (scale->number > 0) return jf_emit_number(s->g, JFL_F32, &one, scale->number);
  return scale->value ? one_number(s, scale->value) : NULL;
}

/* Sets what is added to the product, and what the sum is multiplied by; `scale`: that of the
   integers that come out, or NULL. The product and the sum are in multiples of the scale of what is
   added, if that is integers. Gives what the product is divided by for that, or NULL. */
static jfl_value *emit_added(integer_pass *s, const integer_chain *c, jfl_value *scale,
                             jfl_value **in, int64_t *zero)
{
  jfl_graph *g = s->g;
  const integer_sum *sum = &c->sum;
  const int rounds = jf_is_byte(sum->first);
  jfl_value *with = sum->with, *unit = sum->with_scale;
  int with_zero = sum->zero;
  if (!rounds) with = jf_integers_of(c->p.residual, &unit, &with_zero);
  if (!with || jf_numel(&unit->shape) != 1) with = NULL;
  jfl_value *one = with ? one_number(s, unit)
                        : jf_emit_number(g, JFL_F32, &(jfl_shape){ 1, { 1 } }, 1);
  *zero = with ? with_zero : 0;
  in[4] = as_image(s, c, with ? with : c->p.residual, 0);
  in[5] = scale ? JF_EMIT(g, divide, NULL, one, scale) : one;
  if (rounds) in[6] = JF_EMIT(g, divide, NULL, one_number(s, sum->scale), one);
  return rounds ? scale_number(s, &sum->rounds) : with ? one : NULL;
}

/* Emits the product; NULL where no row serves it. */
static jfl_value *emit_integers(integer_pass *s, const integer_chain *c)
{
  jfl_graph *g = s->g;
  jfl_value *in[7], *scale = scale_number(s, &c->scale), *unit = scale;
  const int rounds = jf_is_byte(c->sum.first), n = rounds ? 7 : c->p.residual ? 6 : 4;
  jf_quantized_conv a = integer_attr(s, c);
  in[0] = with_zeros(s, c, as_image(s, c, c->x, 0));
  in[1] = as_image(s, c, c->factor, 1);
  in[2] = channel_scale(s, c);
  in[3] = channel_bias(s, c, in[2]);
  if (n > 4) unit = emit_added(s, c, scale, in, &a.residual_zero);
  if (unit) in[2] = JF_EMIT(g, divide, NULL, in[2], unit);
  jfl_value *y = g->err ? NULL : jf_emit(g, &jf_op_quantized_conv2d, &a, in, (size_t)n);
  if (!y) return NULL;
  jf_kargs k = jf_call_of(g->arena, y->node);
  for (int i = 1; i < n; i++)
    if (i != 4) k.in[i].layout.kind = JF_LAYOUT_ANY;
  const jf_kernel_row *row = jf_row_for(s->target, y->node, &k);
  if (!row) return NULL;
  jf_stand_for(y->node, c->first);
  y->node->tentative = row;
  return y;
}

/* Gives the image-like result the order of axes and the shape that the old graph has it in. */
static jfl_value *as_before(integer_pass *s, const integer_chain *c, jfl_value *y)
{
  jfl_graph *g = s->g;
  if (c->p.act) y = jf_emit(g, c->p.act, NULL, JF_IN(y));
  if (c->pool) {
    jf_pool2d a = *(const jf_pool2d *)c->pool->attr;
    a.data_format = "NHWC";
    y = JF_EMIT(g, max_pool2d, &a, y);
  }
  if (!c->p.conv) y = jf_emit_view(g, y, &c->first->out[0]->shape);
  else if (!c->p.conv->last) y = jf_emit_turned(g, y, 0);
  return c->view ? jf_emit_view(g, y, &c->view->out[0]->shape) : y;
}

jfl_status jf_pass_integers(jfl_graph *g, const jf_target *target)
{
  integer_pass s = { .g = g, .target = target, .still = jf_still_values(g) };
  if (!s.still) return JFL_OK;
  jf_rewrite_begin(g, &s.r);
  s.ends = jf_alloc(g->arena, (size_t)s.r.n_old * sizeof *s.ends);
  for (int i = 0; i < s.r.n_old; i++) find_chain(&s, i);
  int any = 0;
  for (jf_node *n; (n = jf_rewrite_next(&s.r));) {
    const integer_chain *c = s.ends[s.r.next - 1];
    jf_rewrite_keep(&s.r, n);
    if (c) jf_serve(g, c->first);
    jfl_value *y = c ? emit_integers(&s, c) : NULL;
    if (y) jf_replace(&s.r, n->out[0], as_before(&s, c, y));
    any |= c != NULL;
  }
  jf_rewrite_end(&s.r);
  return any && !g->err ? jf_pass_dce(g, target) : g->err;
}
