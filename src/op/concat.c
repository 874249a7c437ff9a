/* Joining tensors along an axis, a present one or a new one. */
#include "op/layout.h"
#include "op/move.h"
#include "op/reshape.h"
#include "op/slice.h"

#include <string.h>

static const jf_attr attrs[] = {
  JF_FIELD(jf_concat, axis, INT, "0", "the axis along which inputs follow each other"),
  {0},
};
static const jf_attr stack_attrs[] = {
  JF_FIELD(jf_concat, axis, INT, "0", "where the new axis stands in the result"),
  {0},
};

static jfl_status check_input(const jf_infer *c, int i, int64_t free_axis)
{
  const jfl_shape *s = &c->in[0]->shape, *t = &c->in[i]->shape;
  char a[JF_SHAPE_STR], b[JF_SHAPE_STR];
  int fit = s->n == t->n && c->in[i]->dtype == c->in[0]->dtype;
  for (int j = 0; fit && j < s->n; j++) fit = s->d[j] == t->d[j] || j == free_axis;
  if (fit) return JFL_OK;
  return jf_fail(JFL_ESHAPE, "input %d must be %s %s like input 1, got %s %s%s", i + 1,
                 jfl_dtype_name(c->in[0]->dtype), jf_shape_str(s, a),
                 jfl_dtype_name(c->in[i]->dtype), jf_shape_str(t, b),
                 free_axis < 0 ? "" : "; only the extents along axis may differ");
}

static jfl_status concat_infer(jf_infer *c)
{
  jf_concat *a = c->attr;
  c->shape[0] = c->in[0]->shape;
  c->dtype[0] = c->in[0]->dtype;
  JF_TRY(jf_axis(&a->axis, c->shape[0].n));
  for (int i = 1; i < c->n_in; i++) {
    JF_TRY(check_input(c, i, a->axis));
    c->shape[0].d[a->axis] += c->in[i]->shape.d[a->axis];
    JF_TRY(jf_shape_check(&c->shape[0], c->op->out[0]));
  }
  return JFL_OK;
}

static jfl_status stack_infer(jf_infer *c)
{
  jf_concat *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  jfl_shape *y = &c->shape[0];
  if (s->n == JFL_MAXDIM)
    return jf_fail_argument(JFL_ESHAPE, "inputs", "must have fewer than %d dimensions, the most "
                            "there can be", s->n);
  JF_TRY(jf_axis(&a->axis, s->n + 1));
  for (int i = 1; i < c->n_in; i++) JF_TRY(check_input(c, i, -1));
  y->n = s->n + 1;
  for (int i = 0; i < y->n; i++) y->d[i] = i == a->axis ? c->n_in : s->d[i - (i > a->axis)];
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

/* Cuts out of dy `size` indices of the axis from `begin` on. */
static jfl_value *concat_part(jf_gradctx *c, int64_t begin, int64_t size)
{
  int64_t axis = ((const jf_concat *)c->node->attr)->axis;
  jfl_shape box = c->out[0]->shape;
  int64_t from[JFL_MAXDIM] = { 0 };
  jf_slice s = { { box.n, from }, jf_ints_from(&box) };
  from[axis] = begin;
  box.d[axis] = size;
  return JF_EMIT(c->g, slice, &s, c->dy[0]);
}

static void concat_grad(jf_gradctx *c)
{
  int64_t axis = ((const jf_concat *)c->node->attr)->axis, at = 0;
  for (int i = 0; i < c->node->n_in; i++) {
    int64_t m = c->in[i]->shape.d[axis];
    c->dx[i] = concat_part(c, at, m);
    at += m;
  }
}

/* Inputs in blocks of channels can be joined in that form. */
static int concat_layout(jf_layout *c)
{
  if (!jf_layout_blocks(c)) return 0;
  jf_layout_all(c, JF_BLOCKED);
  return 1;
}

static void stack_grad(jf_gradctx *c)
{
  for (int i = 0; i < c->node->n_in; i++)
    c->dx[i] = jf_emit_view(c->g, concat_part(c, i, 1), &c->in[0]->shape);
}

/* concat and stack do the same in memory: for each index before the axis they write one run of each
   input in turn. */
static jfl_status concat_join(const jf_kargs *k)
{
  jf_axes s = jf_axes_at(&k->out[0].shape, ((const jf_concat *)k->attr)->axis);
  size_t size = jfl_dtype_size(k->out[0].dtype), at = 0;
  size_t row = (size_t)(s.m * s.after) * size;
  for (int i = 0; i < k->n_in; i++) {
    size_t run = (size_t)(jf_numel(&k->in[i].shape) / s.before) * size;
    for (int64_t j = 0; j < s.before; j++)
      memcpy((char *)k->out[0].data + (size_t)j * row + at,
             (const char *)k->in[i].data + (size_t)j * run, run);
    at += run;
  }
  return JFL_OK;
}
static const jf_kernel cpu[JFL_N_DTYPE] = { JF_EVERY_DTYPE(concat_join) };

JFL_OP(concat, .doc = "The inputs, one after another along axis.", .path = "concat",
       .in = { "inputs" }, .out = { "y" }, .attr = attrs, .attr_size = sizeof(jf_concat),
       .flags = JF_VARIADIC | JF_KEEPS, .infer = concat_infer, .layout = concat_layout,
       .grad = concat_grad, .cpu = cpu)

JFL_OP(stack, .doc = "The inputs, one after another along a new axis.", .path = "stack",
  .in = {"inputs"}, .out = {"y"}, .attr = stack_attrs, .attr_size = sizeof(jf_concat),
  .flags = JF_VARIADIC | JF_KEEPS, .infer = stack_infer, .grad = stack_grad, .cpu = cpu)
