/* slice cuts a box out of a tensor; its gradient puts the box back among zeros. */
#include "op/slice.h"
#include "base/walk.h"
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

/* Makes begin and size of axis i absolute, for an extent of n. */
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

/* Turns a list for (N, C, H, W) into one for (N, C / block, H, W, block); `last` is the entry of
   the last axis. */
static jf_ints blocked_list(jf_arena *arena, const jf_ints *list, int64_t block, int64_t last)
{
  int64_t *v = jf_alloc(arena, 5 * sizeof *v);
  memcpy(v, list->v, 4 * sizeof *v);
  v[1] /= block;
  v[4] = last;
  return (jf_ints){ 5, v };
}

/* If the box consists of whole blocks of channels, the op can run on blocks. */
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

/* How a box lies in a tensor: a nest with two operands, the box and the tensor, with offsets in
   bytes. At each index of its first n axes `bytes` bytes lie side by side in both. */
typedef struct slice_box {
  jf_nest nest;
  int64_t step[2][JFL_MAXDIM];
  int n;
  size_t begin, bytes;         /* begin: offset of the box in the tensor */
} slice_box;

static void slice_find(const jf_tensor *whole, const jf_tensor *box, const jf_ints *begin,
                       slice_box *b)
{
  const int64_t size = (int64_t)jfl_dtype_size(whole->dtype);
  *b = (slice_box){ .nest = { .n = box->shape.n, .n_op = 2, .step = b->step } };
  jf_dense_steps(whole->shape.n, whole->shape.d, size, b->step[0]);
  jf_dense_steps(box->shape.n, box->shape.d, size, b->step[1]);
  for (int i = 0; i < box->shape.n; i++) {
    b->nest.d[i] = box->shape.d[i];
    b->begin += (size_t)(begin->v[i] * b->step[0][i]);
  }
  jf_nest_join(&b->nest, 0);
  const int last = b->nest.n - 1, runs = b->step[0][last] == size && b->step[1][last] == size;
  b->n = b->nest.n - runs;
  b->bytes = (size_t)(runs ? b->nest.d[last] * size : size);
}

static jfl_status slice_cut(const jf_kargs *k)
{
  slice_box b;
  slice_find(&k->in[0], &k->out[0], &((const jf_slice *)k->attr)->begin, &b);
  const char *x = (const char *)k->in[0].data + b.begin;
  char *y = k->out[0].data;
  jf_walk w = jf_walk_at(&b.nest, b.n, 0);
  do memcpy(y + w.off[1], x + w.off[0], b.bytes);
  while (jf_walk_next(&w));
  return JFL_OK;
}

static jfl_status paste(const jf_kargs *k)
{
  slice_box b;
  const jf_tensor *dy = &k->in[0], *dx = &k->out[0];
  memset(dx->data, 0, (size_t)jf_numel(&dx->shape) * jfl_dtype_size(dx->dtype));
  if (jf_numel(&dy->shape) == 0) return JFL_OK;
  slice_find(dx, dy, &((const jf_slice_grad *)k->attr)->begin, &b);
  const char *x = dy->data;
  char *y = (char *)dx->data + b.begin;
  jf_walk w = jf_walk_at(&b.nest, b.n, 0);
  do memcpy(y + w.off[0], x + w.off[1], b.bytes);
  while (jf_walk_next(&w));
  return JFL_OK;
}

static const jf_kernel cut_cpu[JFL_N_DTYPE] = { JF_EVERY_DTYPE(slice_cut) };
static const jf_kernel paste_cpu[JFL_N_DTYPE] = { JF_EVERY_DTYPE(paste) };

/* Axes that are taken whole may be split: those along which the list has the input's extent. */
static void slice_signatures_of(jf_signatures *c, const jf_ints *list)
{
  unsigned cut = 0;
  for (int i = 0; i < list->n; i++)
    cut |= (unsigned)(list->v[i] != c->node->in[0]->shape.d[i]) << i;
  jf_signatures_but(c, cut);
}

static void slice_signatures(jf_signatures *c)
{
  slice_signatures_of(c, &((const jf_slice *)c->node->attr)->size);
}

static void slice_share(jf_share *s)
{
  ((jf_slice *)s->attr)->size = jf_ints_from(&s->out[0]);
}

static void slice_grad_signatures(jf_signatures *c)
{
  slice_signatures_of(c, &((const jf_slice_grad *)c->node->attr)->shape);
  jf_signature_say(c, "P->P");
}

static void slice_grad_share(jf_share *s)
{
  ((jf_slice_grad *)s->attr)->shape = jf_ints_from(&s->out[0]);
}

JFL_OP(slice, .doc = "The box of x that starts at begin and has the extents size.", .path = "slice",
  .in = {"x"}, .out = {"y"}, .attr = attrs, .attr_size = sizeof(jf_slice),
  .flags = JF_MOVES | JF_KEEPS, .infer = slice_infer, .grad = slice_grad,
  .layout = slice_layout, .cpu = cut_cpu, .signatures = slice_signatures, .share = slice_share)

JFL_OP(slice_grad, .doc = "dy at begin in a tensor of zeros: the gradient of slice.",
  .in = {"dy"}, .out = {"dx"}, .attr = grad_attrs, .attr_size = sizeof(jf_slice_grad),
  .infer = slice_grad_infer, .grad = grad_grad, .layout = grad_layout, .cpu = paste_cpu,
  .signatures = slice_grad_signatures, .share = slice_grad_share)
