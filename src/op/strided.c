/* strided_slice takes every so many-th element along each axis, forwards or backwards; its gradient
   puts them back among zeros, and strided_slice_update puts them into another tensor. */
#include "op/strided.h"
#include "op/constant.h"
#include "op/move.h"

#include <string.h>

static const jf_attr attrs[] = {
  JF_FIELD(jf_strided, begin, INTS, NULL, "the first index on each axis; negative: from the end"),
  JF_FIELD(jf_strided, step, INTS, NULL, "what is added to it for the next; negative: backwards"),
  JF_FIELD(jf_strided, size, INTS, NULL, "how many on each axis; -1: as many as there are"),
  {0},
};
static const jf_attr grad_attrs[] = {
  JF_FIELD(jf_strided_grad, begin, INTS, NULL, "the index of dy's first element on each axis"),
  JF_FIELD(jf_strided_grad, step, INTS, NULL, "what is added to it for the next"),
  JF_FIELD(jf_strided_grad, shape, INTS, NULL, "the extents of the result"),
  {0},
};
static const jf_attr update_attrs[] = {
  JF_FIELD(jf_strided_update, begin, INTS, NULL, "the first index of update on each axis of x"),
  JF_FIELD(jf_strided_update, step, INTS, NULL, "what is added to it for the next"),
  {0},
};

/* Makes begin and size of axis i absolute, for an extent of n. */
static jfl_status strided_fit(int i, int64_t n, int64_t *begin, int64_t step, int64_t *size)
{
  const int none = *size == 0 || n == 0;
  if (!step) return jf_fail_argument(JFL_EINVAL, "step", "must not be 0, as on axis %d", i);
  if (*begin < -n || *begin > n || (*begin == n && !none))
    return jf_fail_argument(JFL_ESHAPE, "begin", "%lld is out of range for axis %d of extent %lld",
                            (long long)*begin, i, (long long)n);
  if (*begin < 0) *begin += n;
  const int64_t last = step > 0 ? n - 1 - *begin : *begin;
  const int64_t far = step == INT64_MIN ? INT64_MAX : step < 0 ? -step : step;
  const int64_t most = none ? 0 : last / far + 1;
  if (*size == -1) *size = most;
  if (*size >= 0 && *size <= most) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, "size", "must be from 0 to %lld on axis %d of extent %lld, "
                          "from %lld in steps of %lld, got %lld", (long long)most, i,
                          (long long)n, (long long)*begin, (long long)step, (long long)*size);
}

/* Checks lists of n numbers, one for each axis, and completes them for a tensor of extents d. */
static jfl_status strided_lists(int n, const int64_t *d, const jf_ints *begin, const jf_ints *step,
                                int64_t *size)
{
  if (begin->n != n || step->n != n)
    return jf_fail(JFL_ESHAPE, "begin and step must have %d numbers, one for each axis, got %d "
                   "and %d", n, begin->n, step->n);
  for (int i = 0; i < n; i++) {
    JF_TRY(strided_fit(i, d[i], &begin->v[i], step->v[i], &size[i]));
    if (size[i] < 2) step->v[i] = 1;    /* so that offsets do not overflow */
  }
  return JFL_OK;
}

static jfl_status strided_infer(jf_infer *c)
{
  jf_strided *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  if (a->size.n != s->n)
    return jf_fail_argument(JFL_ESHAPE, "size", "must have %d numbers, one for each axis of x, "
                            "got %d", s->n, a->size.n);
  JF_TRY(strided_lists(s->n, s->d, &a->begin, &a->step, a->size.v));
  c->dtype[0] = c->in[0]->dtype;
  return jf_shape_from(&a->size, &c->shape[0]);
}

static jfl_status strided_grad_infer(jf_infer *c)
{
  jf_strided_grad *a = c->attr;
  jfl_shape size = c->in[0]->shape;
  if (a->shape.n != size.n)
    return jf_fail_argument(JFL_ESHAPE, "shape", "must have %d numbers, one for each axis of dy, "
                            "got %d", size.n, a->shape.n);
  JF_TRY(jf_shape_from(&a->shape, &c->shape[0]));
  JF_TRY(jf_shape_check(&c->shape[0], "shape"));
  c->dtype[0] = c->in[0]->dtype;
  return strided_lists(size.n, a->shape.v, &a->begin, &a->step, size.d);
}

static jfl_status strided_update_infer(jf_infer *c)
{
  jf_strided_update *a = c->attr;
  const jfl_value *x = c->in[0], *u = c->in[1];
  jfl_shape size = u->shape;
  if (u->dtype != x->dtype)
    return jf_fail_argument(JFL_EDTYPE, "update", "must be %s like x, got %s; cast converts",
                            jfl_dtype_name(x->dtype), jfl_dtype_name(u->dtype));
  if (size.n != x->shape.n)
    return jf_fail_argument(JFL_ESHAPE, "update", "must have %d dimensions like x, got %d",
                            x->shape.n, size.n);
  c->dtype[0] = x->dtype;
  c->shape[0] = x->shape;
  return strided_lists(size.n, x->shape.d, &a->begin, &a->step, size.d);
}

static void strided_slice_grad(jf_gradctx *c)
{
  const jf_strided *s = c->node->attr;
  jf_strided_grad a = { s->begin, s->step, jf_ints_from(&c->in[0]->shape) };
  c->dx[0] = JF_EMIT(c->g, strided_slice_grad, &a, c->dy[0]);
}

static void strided_back_grad(jf_gradctx *c)
{
  const jf_strided_grad *s = c->node->attr;
  jf_strided a = { s->begin, s->step, jf_ints_from(&c->in[0]->shape) };
  c->dx[0] = JF_EMIT(c->g, strided_slice, &a, c->dy[0]);
}

static void strided_update_grad(jf_gradctx *c)
{
  const jf_strided_update *s = c->node->attr;
  const jfl_shape *u = &c->in[1]->shape;
  jf_strided a = { s->begin, s->step, jf_ints_from(u) };
  jfl_value *zeros = jf_emit_number(c->g, c->in[1]->dtype, u, 0);
  c->dx[0] = JF_EMIT(c->g, strided_slice_update, s, c->dy[0], zeros);
  c->dx[1] = JF_EMIT(c->g, strided_slice, &a, c->dy[0]);
}

void jf_strided_find(const jfl_shape *whole, const jfl_shape *box, const jf_ints *begin,
                     const jf_ints *step, jf_strided_box *b)
{
  *b = (jf_strided_box){ .nest = { .n = box->n, .n_op = 2, .step = b->step } };
  jf_dense_steps(whole->n, whole->d, 1, b->step[0]);
  jf_dense_steps(box->n, box->d, 1, b->step[1]);
  for (int i = 0; i < box->n; i++) {
    b->nest.d[i] = box->d[i];
    b->begin += begin->v[i] * b->step[0][i];
    b->step[0][i] *= step->v[i];
  }
  jf_nest_join(&b->nest, 0);
}

/* Copies between operand 0 of the nest, a tensor, and operand 1, a box: in the direction in which
   TO and FROM name their pointers. */
#define MOVE(name, D, T, TO, FROM)                                                  \
  static void name##_##D(const jf_strided_box *b, void *whole, void *box)           \
  {                                                                                 \
    const int last = b->nest.n - 1;                                                 \
    const int64_t n = b->nest.d[last], step = b->step[0][last];                     \
    jf_walk w = jf_walk_at(&b->nest, last, 0);                                      \
    do {                                                                            \
      T *x = (T *)whole + b->begin + w.off[0], *y = (T *)box + w.off[1];            \
      for (int64_t i = 0; i < n; i++) TO = FROM;                                    \
    } while (jf_walk_next(&w));                                                     \
  }
#define MOVES(D, T)                                       \
  MOVE(strided_take, D, T, y[i], x[i * step])             \
  MOVE(strided_put, D, T, x[i * step], y[i])              \
  static jfl_status strided_slice_##D(const jf_kargs *k)  \
  {                                                       \
    const jf_strided *a = k->attr;                        \
    jf_strided_box b;                                     \
    jf_strided_find(&k->in[0].shape, &k->out[0].shape, &a->begin, &a->step, &b);  \
    strided_take_##D(&b, k->in[0].data, k->out[0].data);  \
    return JFL_OK;                                        \
  }                                                       \
  static jfl_status strided_back_##D(const jf_kargs *k)   \
  {                                                       \
    const jf_strided_grad *a = k->attr;                   \
    const jf_tensor *y = &k->out[0];                      \
    jf_strided_box b;                                     \
    memset(y->data, 0, (size_t)jf_numel(&y->shape) * sizeof(T));                  \
    if (!jf_numel(&k->in[0].shape)) return JFL_OK;        \
    jf_strided_find(&y->shape, &k->in[0].shape, &a->begin, &a->step, &b);         \
    strided_put_##D(&b, y->data, k->in[0].data);          \
    return JFL_OK;                                        \
  }                                                       \
  static jfl_status strided_update_##D(const jf_kargs *k) \
  {                                                       \
    const jf_strided_update *a = k->attr;                 \
    const jf_tensor *y = &k->out[0];                      \
    jf_strided_box b;                                     \
    if (y->data != k->in[0].data)                         \
      memcpy(y->data, k->in[0].data, (size_t)jf_numel(&y->shape) * sizeof(T));    \
    if (!jf_numel(&k->in[1].shape)) return JFL_OK;        \
    jf_strided_find(&y->shape, &k->in[1].shape, &a->begin, &a->step, &b);         \
    strided_put_##D(&b, y->data, k->in[1].data);          \
    return JFL_OK;                                        \
  }
MOVES(1, uint8_t)
MOVES(2, uint16_t)
MOVES(4, uint32_t)
MOVES(8, uint64_t)
static const jf_kernel slice_cpu[JFL_N_DTYPE] = { JF_BY_SIZE(strided_slice_) };
static const jf_kernel grad_cpu[JFL_N_DTYPE] = { JF_BY_SIZE(strided_back_) };
static const jf_kernel update_cpu[JFL_N_DTYPE] = { JF_BY_SIZE(strided_update_) };

/* The axes that are not taken whole and in order, as bits. */
static unsigned strided_cut(const jf_ints *begin, const jf_ints *step, const jfl_shape *whole,
                            const jfl_shape *part)
{
  unsigned cut = 0;
  for (int i = 0; i < whole->n; i++)
    cut |= (unsigned)(begin->v[i] != 0 || step->v[i] != 1 || whole->d[i] != part->d[i]) << i;
  return cut;
}

static void strided_signatures(jf_signatures *c)
{
  const jf_strided *a = c->node->attr;
  jf_signatures_but(c, strided_cut(&a->begin, &a->step, &c->node->in[0]->shape,
                                   &c->node->out[0]->shape));
}

static void strided_share(jf_share *s)
{
  ((jf_strided *)s->attr)->size = jf_ints_from(&s->out[0]);
}

static void strided_grad_signatures(jf_signatures *c)
{
  const jf_strided_grad *a = c->node->attr;
  jf_signatures_but(c, strided_cut(&a->begin, &a->step, &c->node->out[0]->shape,
                                   &c->node->in[0]->shape));
  jf_signature_say(c, "P->P");
}

static void strided_grad_share(jf_share *s)
{
  ((jf_strided_grad *)s->attr)->shape = jf_ints_from(&s->out[0]);
}

static void strided_update_signatures(jf_signatures *c)
{
  const jf_strided_update *a = c->node->attr;
  jf_signatures_but(c, strided_cut(&a->begin, &a->step, &c->node->in[0]->shape,
                                   &c->node->in[1]->shape));
  jf_signature_say(c, "P,P->P");
}

JFL_OP(strided_slice, .doc = "Elements of x at begin, begin + step, ... along each axis.",
  .in = {"x"}, .out = {"y"}, .attr = attrs,
  .attr_size = sizeof(jf_strided), .flags = JF_MOVES, .infer = strided_infer,
  .grad = strided_slice_grad, .cpu = slice_cpu, .signatures = strided_signatures,
  .share = strided_share)

JFL_OP(strided_slice_grad, .doc = "dy in a tensor of zeros: the gradient of strided_slice.",
  .in = {"dy"}, .out = {"dx"}, .attr = grad_attrs, .attr_size = sizeof(jf_strided_grad),
  .infer = strided_grad_infer, .grad = strided_back_grad, .cpu = grad_cpu,
  .signatures = strided_grad_signatures, .share = strided_grad_share)

JFL_OP(strided_slice_update, .doc = "x with update at begin, begin + step, ... along each axis.",
  .in = {"x", "update"}, .out = {"y"}, .attr = update_attrs,
  .attr_size = sizeof(jf_strided_update), .inplace = 1, .infer = strided_update_infer,
  .grad = strided_update_grad, .cpu = update_cpu, .signatures = strided_update_signatures)
