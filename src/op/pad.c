/* pad puts a border around a tensor; pad_grad adds the gradient of the border to that of the
   elements which it repeats. */
#include "op/pad.h"
#include "op/layout.h"
#include "op/move.h"
#include "op/slice.h"

#include <string.h>

#define MODES "constant reflect replicate circular"
#define MODE_DOC "constant: constant_value; reflect: mirrored, without the edge itself; " \
                 "replicate: the edge again; circular: from the other end"
JF_ATTRS(attrs,
  JF_FIELD(jf_pad_sides, paddings, INTS, NULL,
           "how much goes before and after each axis: two numbers for each"),
  JF_WORD(jf_pad_sides, mode, "constant", MODES, MODE_DOC),
  JF_FIELD(jf_pad_sides, constant_value, NUM, "0", "what constant padding consists of"))
JF_ATTRS(grad_attrs,
  JF_FIELD(jf_pad_sides, paddings, INTS, NULL, "those of pad"),
  JF_WORD(jf_pad_sides, mode, "constant", MODES, MODE_DOC),
  JF_FIELD(jf_pad_sides, constant_value, NUM, "0", "ignored"))

jf_pad_mode jf_pad_mode_of(const jf_pad_sides *a)
{
  switch (a->mode[0]) {
  case 'r': return a->mode[2] == 'f' ? JF_PAD_REFLECT : JF_PAD_REPLICATE;
  case 'c': return a->mode[1] == 'o' ? JF_PAD_CONSTANT : JF_PAD_CIRCULAR;
  default: return JF_PAD_CONSTANT;
  }
}

/* Checks the padding of axis i, whose extent without it is n. */
static jfl_status pad_side(const jf_pad_sides *a, int i, int64_t n)
{
  const jf_pad_mode mode = jf_pad_mode_of(a);
  const int64_t most = mode == JF_PAD_CONSTANT ? (int64_t)1 << 47
                       : mode == JF_PAD_REFLECT ? n - (n > 0)
                       : mode == JF_PAD_CIRCULAR || !n ? n : (int64_t)1 << 47;
  for (int side = 0; side < 2; side++) {
    const int64_t p = a->paddings.v[2 * i + side];
    if (p < 0 || p > most)
      return jf_fail_argument(JFL_ESHAPE, "paddings", "must be from 0 to %lld on axis %d of extent "
                              "%lld in mode %s, got %lld", (long long)most, i, (long long)n,
                              a->mode, (long long)p);
  }
  return JFL_OK;
}

static jfl_status pad_count(const jf_infer *c, const jf_pad_sides *a)
{
  const int n = c->in[0]->shape.n;
  if (a->paddings.n == 2 * n) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, "paddings", "must have two numbers for each of %d axes, got "
                          "%d numbers", n, a->paddings.n);
}

static jfl_status pad_infer(jf_infer *c)
{
  const jf_pad_sides *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  JF_TRY(pad_count(c, a));
  if (!jf_holds(c->in[0]->dtype, a->constant_value))
    return jf_fail_argument(JFL_EDATA, "constant_value", "must fit %s, got %.17g",
                            jfl_dtype_name(c->in[0]->dtype), a->constant_value);
  for (int i = 0; i < s->n; i++) JF_TRY(pad_side(a, i, s->d[i]));
  return jf_infer_moves(c);
}

static jfl_status pad_grad_infer(jf_infer *c)
{
  const jf_pad_sides *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  JF_TRY(pad_count(c, a));
  c->dtype[0] = c->in[0]->dtype;
  c->shape[0] = *s;
  for (int i = 0; i < s->n; i++) {
    const int64_t before = a->paddings.v[2 * i], after = a->paddings.v[2 * i + 1];
    if (before < 0 || after < 0 || before > s->d[i] || after > s->d[i] - before)
      return jf_fail_argument(JFL_ESHAPE, "paddings", "must fit axis %d of extent %lld, got %lld "
                              "and %lld", i, (long long)s->d[i], (long long)before,
                              (long long)after);
    c->shape[0].d[i] -= before + after;
    JF_TRY(pad_side(a, i, c->shape[0].d[i]));
  }
  return JFL_OK;
}

static void pad_to_grad(jf_gradctx *c)
{
  const jf_pad_sides *a = c->node->attr;
  const jfl_shape *s = &c->in[0]->shape;
  int64_t begin[JFL_MAXDIM];
  jf_slice box = { .begin = { s->n, begin }, .size = jf_ints_from(s) };
  for (int i = 0; i < s->n; i++) begin[i] = a->paddings.v[2 * i];
  c->dx[0] = jf_pad_mode_of(a) == JF_PAD_CONSTANT
    ? JF_EMIT(c->g, slice, &box, c->dy[0]) : JF_EMIT(c->g, pad_grad, a, c->dy[0]);
}

static void pad_back_grad(jf_gradctx *c)
{
  jf_pad_sides a = *(const jf_pad_sides *)c->node->attr;
  a.constant_value = 0;
  c->dx[0] = JF_EMIT(c->g, pad, &a, c->dy[0]);
}

/* The index, along an axis of extent n, of what stands `at` from its beginning, which may be
   negative; -1: the constant. */
static int64_t pad_from(jf_pad_mode mode, int64_t at, int64_t n)
{
  if (at >= 0 && at < n) return at;
  if (mode == JF_PAD_REFLECT) return at < 0 ? -at : 2 * (n - 1) - at;
  if (mode == JF_PAD_REPLICATE) return at < 0 ? 0 : n - 1;
  return mode == JF_PAD_CONSTANT ? -1 : at < 0 ? at + n : at - n;
}

/* Gives a box of a border that repeats elements its place in x. */
static void pad_repeat(jf_move *m, const jfl_shape *x, const jf_pad_sides *a)
{
  const jf_pad_mode mode = jf_pad_mode_of(a);
  m->in = 0;
  for (int j = 0; j < x->n; j++) {
    jf_move_axis *axis = &m->axis[j];
    const int64_t n = x->d[j], at = axis->to.begin - a->paddings.v[2 * j];
    const int64_t step = mode == JF_PAD_REFLECT ? -1 : mode == JF_PAD_CIRCULAR;
    axis->from = at ? (jf_side){ j, pad_from(mode, at, n), step } : (jf_side){ j, 0, 1 };
  }
}

static jf_first pad_first(const jf_node *n, void *attr)
{
  (void)n;
  jf_first_list(&((jf_pad_sides *)attr)->paddings, 2);
  return JF_FIRST_ALONG;
}

static int pad_moves(const jf_kargs *k, int i, jf_move *m)
{
  const jf_pad_sides *a = k->attr;
  const jfl_shape *x = &k->in[0].shape;
  jf_border border[JFL_MAXDIM];
  for (int j = 0; j < x->n; j++)
    border[j] = (jf_border){ a->paddings.v[2 * j], a->paddings.v[2 * j + 1] };
  const int more = jf_move_bordered(m, i, x, border, a->constant_value);
  if (jf_pad_mode_of(a) != JF_PAD_CONSTANT) pad_repeat(m, x, a);
  return more;
}

/* A call of pad_grad. The `leading` axes, which have no border, count planes, each of `rows` rows
   of m numbers of dy, and of `size` numbers of dx in rows of n. */
typedef struct pad_back {
  const jf_kargs *k;
  jf_pad_mode mode;
  int planes, leading;
  int64_t n, m, before, rows, size;
} pad_back;

static pad_back pad_back_of(const jf_kargs *k)
{
  const jf_pad_sides *a = k->attr;
  const jfl_shape *s = &k->out[0].shape, *t = &k->in[0].shape;
  const int last = s->n - 1;
  pad_back b = { k, jf_pad_mode_of(a), 1, 0, 1, 1, 0, 1, 1 };
  if (last < 0) return b;
  b.n = s->d[last];
  b.m = t->d[last];
  b.before = a->paddings.v[2 * last];
  for (int i = 0; i < last && s->d[i] == t->d[i] && s->d[i] <= INT32_MAX / (b.planes + 1); i++) {
    b.planes *= (int)s->d[i];
    b.leading = i + 1;
  }
  for (int i = b.leading; i < last; i++) b.rows *= t->d[i];
  for (int i = b.leading; i <= last; i++) b.size *= s->d[i];
  return b;
}

/* The row of dx that row r of dy goes to, in a plane; -1: to none. */
static int64_t pad_row(const pad_back *b, int64_t r)
{
  const jf_ints *p = &((const jf_pad_sides *)b->k->attr)->paddings;
  const jfl_shape *s = &b->k->out[0].shape, *t = &b->k->in[0].shape;
  int64_t row = 0, size = 1;
  for (int i = s->n - 2; i >= b->leading; r /= t->d[i--]) {
    const int64_t at = pad_from(b->mode, r % t->d[i] - p->v[2 * i], s->d[i]);
    if (at < 0) return -1;
    row += at * size;
    size *= s->d[i];
  }
  return row;
}

/* dx[where element j of dy came from] += dy[j] */
#define BACK(D, T)                                                                     \
  static inline void pad_give_##D(const pad_back *b, const T *dy, int64_t j, int64_t to, T *dx) \
  {                                                                                    \
    for (; j < to; j++) {                                                              \
      const int64_t at = pad_from(b->mode, j - b->before, b->n);                       \
      if (at >= 0) dx[at] += dy[j];                                                    \
    }                                                                                  \
  }                                                                                    \
  static void pad_back_plane_##D(void *ctx, int i)                                     \
  {                                                                                    \
    const pad_back *b = ctx;                                                           \
    const int64_t n = b->n, end = b->before + n;                                       \
    const T *restrict dy = (const T *)b->k->in[0].data + i * b->rows * b->m;           \
    T *const plane = (T *)b->k->out[0].data + i * b->size;                             \
    memset(plane, 0, (size_t)b->size * sizeof(T));                                     \
    for (int64_t r = 0; r < b->rows && !jf_loop_ends_at(r, b->m); r++, dy += b->m) {   \
      const int64_t row = pad_row(b, r);                                               \
      if (row < 0) continue;                                                           \
      T *restrict dx = plane + row * n;                                                \
      pad_give_##D(b, dy, 0, b->before, dx);                                           \
      for (int64_t j = 0; j < n; j++) dx[j] += dy[b->before + j];                      \
      pad_give_##D(b, dy, end, b->m, dx);                                              \
    }                                                                                  \
  }                                                                                    \
  static jfl_status pad_back_##D(const jf_kargs *k)                                    \
  {                                                                                    \
    pad_back b = pad_back_of(k);                                                       \
    jf_parallel(k->threads, b.planes, pad_back_plane_##D, &b);                         \
    return JFL_OK;                                                                     \
  }
JF_EACH_FLOAT(BACK)

/* Axes without a border may be split. */
static void pad_signatures(jf_signatures *c)
{
  const jf_ints *p = &((const jf_pad_sides *)c->node->attr)->paddings;
  unsigned wider = 0;
  for (int i = 0; i < p->n; i++) wider |= (unsigned)(p->v[i] != 0) << i / 2;
  jf_signatures_but(c, wider);
}

JFL_OP(pad, .doc = "x with a border.", .path = "pad", .in = {"x"}, .out = {"y"},
  JF_WITH(attrs, jf_pad_sides), .infer = pad_infer, .grad = pad_to_grad, .moves = pad_moves,
  .channels_first = pad_first, .cpu = jf_moves_cpu)

JFL_OP(pad_grad, .doc = "Gradient of pad.", .in = {"dy"}, .out = {"dx"},
  JF_WITH(grad_attrs, jf_pad_sides), .infer = pad_grad_infer, .grad = pad_back_grad,
  .cpu = JF_KERNELS(JF_FLOATS(pad_back_)), .signatures = pad_signatures)

jfl_value *jf_emit_longer(jfl_graph *g, jfl_value *v, int axis, int64_t more)
{
  int64_t sides[2 * JFL_MAXDIM] = { 0 };
  const jf_pad_sides a = { .paddings = { 2 * v->shape.n, sides }, .mode = "constant" };
  sides[2 * axis + 1] = more;
  return JF_EMIT(g, pad, &a, v);
}
