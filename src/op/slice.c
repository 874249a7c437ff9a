/* Cutting a box out of a tensor. */
#include "op/slice.h"
#include "op/layout.h"
#include "op/move.h"

#include <string.h>

static const jf_attr attrs[] = {
  JF_FIELD(jf_slice, begin, INTS, NULL, "the first index on each axis; negative: from the end"),
  JF_FIELD(jf_slice, size, INTS, NULL, "how many on each axis; -1: up to the end"),
  {0},
};
static const jf_attr grad_attrs[] = {
  JF_FIELD(jf_slice_grad, begin, INTS, NULL, "where dy starts on each axis"),
  JF_FIELD(jf_slice_grad, shape, INTS, NULL, "the extents of the result"),
  {0},
};

/* Makes axis i of the box absolute, for an extent of n. */
static jfl_status slice_fit(int i, int64_t n, int64_t *begin, int64_t *size)
{
  const int at_end = *begin == n && (n == 0 || *size == 0);
  if (*begin < -n || (*begin >= n && !at_end))
    return jf_fail(JFL_ESHAPE, "begin %lld is out of range for axis %d of extent %lld",
                   (long long)*begin, i, (long long)n);
  if (*begin < 0) *begin += n;
  if (*size == -1) *size = n - *begin;
  if (*size < 0 || *size > n - *begin)
    return jf_fail(JFL_ESHAPE, "size %lld from %lld does not fit axis %d of extent %lld",
                   (long long)*size, (long long)*begin, i, (long long)n);
  return JFL_OK;
}

static jfl_status slice_infer(jf_infer *c)
{
  jf_slice *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  if (a->begin.n != s->n || a->size.n != s->n)
    return jf_fail(JFL_ESHAPE, "begin and size must have %d numbers, one for each axis of x, got "
                   "%d and %d", s->n, a->begin.n, a->size.n);
  for (int i = 0; i < s->n; i++) JF_TRY(slice_fit(i, s->d[i], &a->begin.v[i], &a->size.v[i]));
  c->dtype[0] = c->in[0]->dtype;
  return jf_shape_from(&a->size, &c->shape[0]);
}

static jfl_status slice_grad_infer(jf_infer *c)
{
  jf_slice_grad *a = c->attr;
  jfl_shape size = c->in[0]->shape;
  if (a->begin.n != size.n || a->shape.n != size.n)
    return jf_fail(JFL_ESHAPE, "begin and shape must have %d numbers, one for each axis of dy, "
                   "got %d and %d", size.n, a->begin.n, a->shape.n);
  for (int i = 0; i < size.n; i++)
    JF_TRY(slice_fit(i, a->shape.v[i], &a->begin.v[i], &size.d[i]));
  c->dtype[0] = c->in[0]->dtype;
  return jf_shape_from(&a->shape, &c->shape[0]);
}

static void slice_grad(jf_gradctx *c)
{
  jf_slice_grad a = { ((const jf_slice *)c->node->attr)->begin, jf_ints_from(&c->in[0]->shape) };
  c->dx[0] = JF_EMIT(c->g, slice_grad, &a, c->dy[0]);
}

static void grad_grad(jf_gradctx *c)
{
  jf_slice a = { ((const jf_slice_grad *)c->node->attr)->begin, jf_ints_from(&c->in[0]->shape) };
  c->dx[0] = JF_EMIT(c->g, slice, &a, c->dy[0]);
}

/* A list of four as one of five, its channels counted in blocks; `last` is for the axis within. */
static jf_ints blocked_list(jf_arena *arena, const jf_ints *list, int64_t block, int64_t last)
{
  int64_t *v = jf_alloc(arena, 5 * sizeof *v);
  memcpy(v, list->v, 4 * sizeof *v);
  v[1] /= block;
  v[4] = last;
  return (jf_ints){ 5, v };
}

/* Whole blocks of channels can be cut out, and put in. */
static int in_blocks(jf_layout *c, jf_ints *begin, jf_ints *size)
{
  int64_t b = c->in[0] == JF_BLOCKED ? jf_layout_block(c) : 0;
  if (!b || begin->v[1] % b || size->v[1] % b) return 0;
  *begin = blocked_list(c->arena, begin, b, 0);
  *size = blocked_list(c->arena, size, b, b);
  jf_layout_all(c, JF_BLOCKED);
  return 1;
}

static int slice_layout(jf_layout *c)
{
  jf_slice *a = c->attr;
  return in_blocks(c, &a->begin, &a->size);
}

static int grad_layout(jf_layout *c)
{
  jf_slice_grad *a = c->attr;
  return in_blocks(c, &a->begin, &a->shape);
}

/* The offset, in elements of a tensor of shape whole, of row `row` of the box at begin. */
static int64_t slice_row_offset(const jfl_shape *whole, const jfl_shape *box, const int64_t *begin,
                          int64_t row)
{
  if (whole->n == 0) return 0;
  int last = whole->n - 1;
  int64_t at = begin[last], step = whole->d[last];
  for (int i = last - 1; i >= 0; i--) {
    at += (begin[i] + row % box->d[i]) * step;
    row /= box->d[i];
    step *= whole->d[i];
  }
  return at;
}

/* Elements of a box that lie side by side. */
static int64_t row_length(const jfl_shape *box) { return box->n ? box->d[box->n - 1] : 1; }

static jfl_status slice_cut(const jf_kargs *k)
{
  const jfl_shape *box = &k->out[0].shape;
  const int64_t *begin = ((const jf_slice *)k->attr)->begin.v;
  size_t size = jfl_dtype_size(k->out[0].dtype), run = (size_t)row_length(box) * size;
  char *y = k->out[0].data;
  for (int64_t i = 0, n = jf_numel(box) / row_length(box); i < n; i++, y += run)
    memcpy(y, (const char *)k->in[0].data
              + (size_t)slice_row_offset(&k->in[0].shape, box, begin, i) * size, run);
  return JFL_OK;
}

static jfl_status paste(const jf_kargs *k)
{
  const jfl_shape *box = &k->in[0].shape, *whole = &k->out[0].shape;
  const int64_t *begin = ((const jf_slice_grad *)k->attr)->begin.v;
  size_t size = jfl_dtype_size(k->out[0].dtype), run = (size_t)row_length(box) * size;
  const char *x = k->in[0].data;
  memset(k->out[0].data, 0, (size_t)jf_numel(whole) * size);
  if (jf_numel(box) == 0) return JFL_OK;
  for (int64_t i = 0, n = jf_numel(box) / row_length(box); i < n; i++, x += run)
    memcpy((char *)k->out[0].data + (size_t)slice_row_offset(whole, box, begin, i) * size, x, run);
  return JFL_OK;
}

static const jf_kernel cut_cpu[JFL_N_DTYPE] = { JF_EVERY_DTYPE(slice_cut) };
static const jf_kernel paste_cpu[JFL_N_DTYPE] = { JF_EVERY_DTYPE(paste) };

JFL_OP(slice, .doc = "The box of x that starts at begin and has the extents size.", .path = "slice",
  .in = {"x"}, .out = {"y"}, .attr = attrs, .attr_size = sizeof(jf_slice),
  .flags = JF_MOVES | JF_KEEPS, .infer = slice_infer, .grad = slice_grad,
  .layout = slice_layout, .cpu = cut_cpu)

JFL_OP(slice_grad, .doc = "dy at begin in a tensor of zeros: the gradient of slice.",
  .in = {"dy"}, .out = {"dx"}, .attr = grad_attrs, .attr_size = sizeof(jf_slice_grad),
  .infer = slice_grad_infer, .grad = grad_grad, .layout = grad_layout, .cpu = paste_cpu)
