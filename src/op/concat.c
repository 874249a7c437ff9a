/* Joining tensors, or parts of them, along an axis, a present one or a new one. */
#include "op/layout.h"
#include "op/move.h"
#include "op/reshape.h"
#include "op/slice.h"
#include "op/split.h"

JF_ATTRS(attrs,
  JF_FIELD(jf_concat, axis, INT, "0", "the axis along which inputs follow each other"))
JF_ATTRS(join_attrs,
  JF_FIELD(jf_join, axis, INT, NULL, "the axis along which parts follow each other"),
  JF_FIELD(jf_join, begin, INTS, NULL, "where the part of each input begins"),
  JF_FIELD(jf_join, size, INTS, NULL, "the extent of the part of each input"))
JF_ATTRS(stack_attrs,
  JF_FIELD(jf_concat, axis, INT, "0", "where the new axis stands in the result"))

static jfl_status check_input(const jf_infer *c, int i, int64_t free_axis)
{
  const jfl_shape *s = &c->in[0]->shape, *t = &c->in[i]->shape;
  char a[JF_SHAPE_STR], b[JF_SHAPE_STR];
  const int same = c->in[i]->dtype == c->in[0]->dtype;
  int fit = same && s->n == t->n;
  for (int j = 0; fit && j < s->n; j++) fit = s->d[j] == t->d[j] || j == free_axis;
  if (fit) return JFL_OK;
  return jf_fail(JFL_ESHAPE, "input %d must be %s %s like input 1, got %s %s%s", i + 1,
                 jfl_dtype_name(c->in[0]->dtype), jf_shape_str(s, a),
                 jfl_dtype_name(c->in[i]->dtype), jf_shape_str(t, b),
                 !same ? "; cast converts" : free_axis < 0 ? ""
                 : "; only the extents along axis may differ");
}

static jfl_status concat_infer(jf_infer *c)
{
  jf_concat *a = c->attr;
  JF_TRY(jf_axis(&a->axis, c->in[0]->shape.n));
  for (int i = 1; i < c->n_in; i++) JF_TRY(check_input(c, i, a->axis));
  return jf_infer_moves(c);
}

static jfl_status stack_infer(jf_infer *c)
{
  jf_concat *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  if (s->n == JFL_MAXDIM)
    return jf_fail_argument(JFL_ESHAPE, "inputs", "must have fewer than %d dimensions, the most "
                            "there can be", s->n);
  JF_TRY(jf_axis(&a->axis, s->n + 1));
  for (int i = 1; i < c->n_in; i++) JF_TRY(check_input(c, i, -1));
  return jf_infer_moves(c);
}

/* Cuts out of dy `size` indices of the axis from `begin` on. */
static jfl_value *concat_part(jf_gradctx *c, int64_t begin, int64_t size)
{
  int64_t axis = ((const jf_concat *)c->node->attr)->axis;
  jfl_shape box = c->out[0]->shape;
  int64_t from[JFL_MAXDIM] = { 0 };
  jf_slice s = { .begin = { box.n, from }, .size = jf_ints_from(&box) };
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

static jf_first concat_first(const jf_node *n, void *attr)
{
  jf_concat *a = attr;
  (void)n;
  a->axis = jf_first_axis(a->axis);
  return JF_FIRST_ALONG;
}

static void stack_grad(jf_gradctx *c)
{
  for (int i = 0; i < c->node->n_in; i++)
    c->dx[i] = jf_emit_view(c->g, concat_part(c, i, 1), &c->in[0]->shape);
}

/* ---- joining parts of tensors ---- */

static jfl_status join_infer(jf_infer *c)
{
  jf_join *a = c->attr;
  if (a->begin.n != c->n_in || a->size.n != c->n_in)
    return jf_fail(JFL_EINVAL, "begin and size must have a number for each of %d inputs, got %d "
                   "and %d", c->n_in, a->begin.n, a->size.n);
  JF_TRY(jf_axis(&a->axis, c->in[0]->shape.n));
  for (int i = 0; i < c->n_in; i++) {
    JF_TRY(check_input(c, i, a->axis));
    const int64_t n = c->in[i]->shape.d[a->axis];
    if (a->begin.v[i] < 0 || a->size.v[i] < 0 || a->size.v[i] > n - a->begin.v[i])
      return jf_fail(JFL_ESHAPE, "begin and size of input %d must lie within its extent %lld",
                     i + 1, (long long)n);
  }
  return jf_infer_moves(c);
}

/* Blocks of channels can be joined if each part consists of whole ones. */
static int join_layout(jf_layout *c)
{
  jf_join *a = c->attr;
  if (!jf_layout_blocks(c)) return 0;
  const int64_t block = a->axis == 1 ? jf_layout_block(c) : 1;
  for (int i = 0; i < a->size.n; i++)
    if (a->begin.v[i] % block || a->size.v[i] % block) return 0;
  for (int i = 0; i < a->size.n; i++) {
    a->begin.v[i] /= block;
    a->size.v[i] /= block;
  }
  jf_layout_all(c, JF_BLOCKED);
  return 1;
}

/* Whether v is the part of another tensor that has `size` indices of the axis, from `begin` on. */
typedef struct concat_piece { jfl_value *of; int64_t begin, size; } concat_piece;

static int concat_of_split(const jfl_value *v, int64_t axis, concat_piece *p)
{
  const jf_split *a = v->node->attr;
  if (a->axis != axis) return 0;
  for (int i = 0; i < v->index; i++) p->begin += a->sizes.v[i];
  return 1;
}

static int concat_of_slice(const jfl_value *v, int64_t axis, concat_piece *p)
{
  const jf_slice *a = v->node->attr;
  for (int i = 0; i < v->shape.n; i++)
    if (i != axis && v->shape.d[i] != v->node->in[0]->shape.d[i]) return 0;
  p->begin = a->begin.v[axis];
  return 1;
}

/* Where input i of a concat comes from: a part that nothing else reads is not copied first. */
static concat_piece concat_source(const jf_foldctx *c, int i)
{
  const int64_t axis = ((const jf_concat *)c->node->attr)->axis;
  jfl_value *v = c->node->in[i];
  concat_piece p = { v, 0, v->shape.d[axis] };
  if (!c->is_alone(c, v)) return p;
  if ((jf_made_by(v, &jf_op_split) && concat_of_split(v, axis, &p)) ||
      (jf_made_by(v, &jf_op_slice) && concat_of_slice(v, axis, &p)))
    p.of = v->node->in[0];
  return p;
}

/* Parts that follow each other in one tensor are one part. */
static jfl_value *concat_fold(jf_foldctx *c)
{
  const int n_in = c->node->n_in;
  jf_join a = { .axis = ((const jf_concat *)c->node->attr)->axis };
  jfl_value **in = jf_alloc(c->g->arena, (size_t)n_in * sizeof *in);
  int64_t *begin = jf_alloc(c->g->arena, 2 * (size_t)n_in * sizeof *begin), *size = begin + n_in;
  int n = 0, cuts = 0;
  for (int i = 0; i < n_in; i++) {
    const concat_piece p = concat_source(c, i);
    cuts += p.of != c->node->in[i];
    if (n && in[n - 1] == p.of && begin[n - 1] + size[n - 1] == p.begin) {
      size[n - 1] += p.size;
      continue;
    }
    in[n] = p.of;
    begin[n] = p.begin;
    size[n++] = p.size;
  }
  if (!cuts) return NULL;
  if (n == 1 && size[0] == in[0]->shape.d[a.axis]) return in[0];
  a.begin = (jf_ints){ n, begin };
  a.size = (jf_ints){ n, size };
  return jf_emit(c->g, &jf_op_join, &a, in, (size_t)n);
}

/* Input i, behind the one before along the axis; with `cut` a part of it. */
static int concat_behind(const jf_kargs *k, int i, jf_move *m, const jf_join *cut)
{
  const int64_t axis = ((const jf_concat *)k->attr)->axis;
  const int64_t begin = i ? m->axis[axis].to.begin + m->axis[axis].extent : 0;
  if (i >= k->n_in) return 0;
  jf_move_whole(m, i, &k->in[i].shape);
  m->axis[axis].to.begin = begin;
  if (!cut) return 1;
  m->axis[axis].from.begin = cut->begin.v[i];
  m->axis[axis].extent = cut->size.v[i];
  return 1;
}

static int concat_moves(const jf_kargs *k, int i, jf_move *m)
{
  return concat_behind(k, i, m, NULL);
}

static int join_moves(const jf_kargs *k, int i, jf_move *m)
{
  return concat_behind(k, i, m, k->attr);
}

static int stack_moves(const jf_kargs *k, int i, jf_move *m)
{
  const int64_t axis = ((const jf_concat *)k->attr)->axis;
  if (i >= k->n_in) return 0;
  jf_move_whole(m, i, &k->in[i].shape);
  for (int j = m->n++; j > axis; j--) {
    m->axis[j] = m->axis[j - 1];
    m->axis[j].to.axis = j;
  }
  m->axis[axis] = (jf_move_axis){ 1, { -1, 0, 1 }, { (int)axis, i, 1 } };
  return 1;
}

JFL_OP(concat, .doc = "The inputs, one after another along axis.", .path = "concat",
       .in = { "inputs" }, .out = { "y" }, JF_WITH(attrs, jf_concat),
       .flags = JF_VARIADIC | JF_KEEPS, .infer = concat_infer, .layout = concat_layout,
       .channels_first = concat_first, .grad = concat_grad, .fold = concat_fold,
       .moves = concat_moves, .cpu = jf_moves_cpu)

JFL_OP(stack, .doc = "The inputs, one after another along a new axis.", .path = "stack",
  .in = {"inputs"}, .out = {"y"}, JF_WITH(stack_attrs, jf_concat), .flags = JF_VARIADIC | JF_KEEPS,
  .infer = stack_infer, .grad = stack_grad, .moves = stack_moves, .cpu = jf_moves_cpu)

JFL_OP(join, .doc = "Parts of the inputs, one after another along axis.", .in = {"inputs"},
  .out = {"y"}, JF_WITH(join_attrs, jf_join), .flags = JF_VARIADIC | JF_INTERNAL,
  .infer = join_infer, .layout = join_layout, .moves = join_moves, .cpu = jf_moves_cpu)
