/* Views: ops that give the same elements under another shape. */
#include "op/reshape.h"
#include "op/move.h"

#include <string.h>

JF_ATTRS(reshape_attrs,
  JF_FIELD(jf_reshape, shape, INTS, NULL, "the new extents; one of them may be -1: what is left"))
JF_ATTRS(flatten_attrs,
  JF_FIELD(jf_flatten, start_dim, INT, "0", "the first of the axes to merge"),
  JF_FIELD(jf_flatten, end_dim, INT, "-1", "the last of them"))
JF_ATTRS(squeeze_attrs,
  JF_FIELD(jf_squeeze, axis, INTS, "none", "axes of extent 1 to drop; all such axes unless given"))
JF_ATTRS(expand_attrs,
  JF_FIELD(jf_expand_dims, axis, INT, NULL, "where the new axis of extent 1 stands in the result"))

static jfl_status reshape_view(jf_infer *c, const jfl_shape *s)
{
  c->shape[0] = *s;
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

/* Replaces the one -1 of a list by the extent that makes the product of all equal to `size`, if
   there is such an extent. *fits says whether the list then has `size` elements. */
static jfl_status fill_rest(jf_ints *list, int64_t size, int *fits)
{
  int64_t known = 1;
  int rest = -1;
  for (int i = 0; i < list->n; i++) {
    if (list->v[i] == -1 && rest >= 0)
      return jf_fail_argument(JFL_ESHAPE, "shape", "must have one extent of -1 at most");
    if (list->v[i] == -1) rest = i;
    else if (list->v[i] < 0 || (size && (list->v[i] < 1 || list->v[i] > size)))
      return jf_fail(JFL_ESHAPE, "extent %lld cannot be one of %lld elements",
                     (long long)list->v[i], (long long)size);
    else if (list->v[i] == 0) known = 0;
    else if (known > 0) known = list->v[i] > size / known ? size + 1 : known * list->v[i];
  }
  *fits = rest < 0 ? known == size : known > 0 && size % known == 0;
  if (rest >= 0 && *fits) list->v[rest] = size / known;
  return JFL_OK;
}

static jfl_status reshape_infer(jf_infer *c)
{
  jf_ints list = ((jf_reshape *)c->attr)->shape;
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  jfl_shape y, wanted;
  int fits = 0;
  int64_t size = jf_numel(&c->in[0]->shape);
  JF_TRY(jf_shape_from(&list, &wanted));
  JF_TRY(fill_rest(&list, size, &fits));
  JF_TRY(jf_shape_from(&list, &y));
  if (!fits)
    return jf_fail(JFL_ESHAPE, "%s has %lld elements, which do not fit %s",
                   jf_shape_str(&c->in[0]->shape, s), (long long)size, jf_shape_str(&wanted, t));
  ((jf_reshape *)c->attr)->shape = list;
  return reshape_view(c, &y);
}

jfl_status jf_dim(int64_t *dim, int rank, const char *argument)
{
  if (*dim < -rank || *dim >= rank)
    return jf_fail_argument(JFL_ESHAPE, argument, "must be from %d to %d, got %lld; axes count "
                            "from 0", -rank, rank - 1, (long long)*dim);
  if (*dim < 0) *dim += rank;
  return JFL_OK;
}

static jfl_status flatten_infer(jf_infer *c)
{
  jf_flatten *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  jfl_shape y = { 0 };
  if (!s->n) return reshape_view(c, &(jfl_shape){ 1, { 1 } });
  JF_TRY(jf_dim(&a->start_dim, s->n, "start_dim"));
  JF_TRY(jf_dim(&a->end_dim, s->n, "end_dim"));
  if (a->start_dim > a->end_dim)
    return jf_fail_argument(JFL_EINVAL, "start_dim", "must be at most end_dim %lld, got %lld",
                            (long long)a->end_dim, (long long)a->start_dim);
  for (int i = 0; i < s->n; i++) {
    if (i > a->start_dim && i <= a->end_dim) y.d[y.n - 1] *= s->d[i];
    else y.d[y.n++] = s->d[i];
  }
  return reshape_view(c, &y);
}

static jfl_status squeeze_infer(jf_infer *c)
{
  jf_squeeze *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  int drop[JFL_MAXDIM] = { 0 };
  jfl_shape y = { 0 };
  char buf[JF_SHAPE_STR];
  for (int i = 0; i < a->axis.n; i++) {
    JF_TRY(jf_axis(&a->axis.v[i], s->n));
    drop[a->axis.v[i]] = 1;
    if (s->d[a->axis.v[i]] != 1)
      return jf_fail(JFL_ESHAPE, "axis %lld of %s is not of extent 1", (long long)a->axis.v[i],
                     jf_shape_str(s, buf));
  }
  for (int i = 0; i < s->n; i++)
    if (!(a->axis.n ? drop[i] : s->d[i] == 1)) y.d[y.n++] = s->d[i];
  return reshape_view(c, y.n || !s->n ? &y : &(jfl_shape){ 1, { 1 } });
}

static jfl_status expand_infer(jf_infer *c)
{
  jf_expand_dims *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  jfl_shape y = { .n = s->n + 1 };
  if (s->n == JFL_MAXDIM)
    return jf_fail_argument(JFL_ESHAPE, "input", "must have fewer than %d dimensions, the most "
                            "there can be", s->n);
  JF_TRY(jf_axis(&a->axis, s->n + 1));
  for (int i = 0; i < y.n; i++) y.d[i] = i == a->axis ? 1 : s->d[i - (i > a->axis)];
  return reshape_view(c, &y);
}

static void reshape_grad(jf_gradctx *c)
{
  c->dx[0] = jf_emit_view(c->g, c->dy[0], &c->in[0]->shape);
}

/* Copies the elements; used where the result cannot share its input's memory. */
static jfl_status reshape_copy(const jf_kargs *k)
{
  size_t n = JF_BYTES_OF(&k->in[0]);
  if (k->out[0].data != k->in[0].data) memcpy(k->out[0].data, k->in[0].data, n);
  return JFL_OK;
}

jfl_value *jf_emit_view(jfl_graph *g, jfl_value *v, const jfl_shape *s)
{
  jf_reshape a = { jf_ints_from(s) };
  return !v || jf_shape_eq(&v->shape, s) ? v : JF_EMIT(g, reshape, &a, v);
}

/* An axis of x may be split where y has one that begins at the same element, as long as the parts
   of both end at the same elements. */
static void reshape_signatures(jf_signatures *c)
{
  const jfl_shape *x = &c->node->in[0]->shape, *y = &c->node->out[0]->shape;
  for (int64_t i = 0, j, before = 1, at; i < x->n; before *= x->d[i++]) {
    for (j = 0, at = 1; j < y->n && (at != before || (y->d[j] == 1 && x->d[i] > 1)); j++)
      at *= y->d[j];
    if (j == y->n || (x->d[i] != y->d[j] && (x->d[i] % c->parts || y->d[j] % c->parts))) continue;
    jf_signature_say(c, "%d->%d", (int)i, (int)j);
  }
}

static void reshape_share(jf_share *s)
{
  ((jf_reshape *)s->attr)->shape = jf_ints_from(&s->out[0]);
}

/* The axes that squeeze drops must be named, or a part of one element would lose its axis too. */
static void squeeze_share(jf_share *s)
{
  jf_squeeze *a = s->attr;
  const jfl_shape *x = &s->node->in[0]->shape;
  if (a->axis.n) return;
  a->axis.v = jf_alloc(s->arena, (size_t)x->n * sizeof *a->axis.v);
  for (int i = 0; i < x->n; i++)
    if (x->d[i] == 1) a->axis.v[a->axis.n++] = i;
}

/* If no axis is dropped, an axis whose part has one element would be. */
static void squeeze_signatures(jf_signatures *c)
{
  const jfl_shape *x = &c->node->in[0]->shape;
  int kept = 0, drops = 0;
  for (int i = 0; i < x->n; i++) drops += x->d[i] == 1;
  reshape_signatures(c);
  for (int i = 0; i < c->n; i++)
    if (drops || x->d[c->signature[i].in[0].axis] >= 2 * c->parts)
      c->signature[kept++] = c->signature[i];
  c->n = kept;
}

#define ATTR(name, T) JF_WITH(name##_attrs, T), .infer = name##_infer
#define VIEW(split) \
  .flags = JF_VIEW, .inplace = 1, .grad = reshape_grad, \
  .cpu = JF_KERNELS(JF_EVERY_DTYPE(reshape_copy)), .signatures = split

JFL_OP(reshape, .doc = "x under another shape of the same size.", .path = "reshape", .in = {"x"},
  .out = {"y"}, ATTR(reshape, jf_reshape), VIEW(reshape_signatures), .share = reshape_share)

JFL_OP(flatten, .doc = "input with the axes from start_dim to end_dim merged into one.",
  .path = "flatten", .in = {"input"}, .out = {"y"}, ATTR(flatten, jf_flatten),
  VIEW(reshape_signatures))

JFL_OP(squeeze, .doc = "input without axes of extent 1.", .path = "squeeze", .in = {"input"},
  .out = {"y"}, ATTR(squeeze, jf_squeeze), VIEW(squeeze_signatures),
  .share = squeeze_share)

JFL_OP(expand_dims, .doc = "input with one more axis, of extent 1.", .path = "expand_dims",
  .in = {"input"}, .out = {"y"}, ATTR(expand, jf_expand_dims), VIEW(reshape_signatures))
