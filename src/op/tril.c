/* Triangles of matrices, which the last two axes are: the rest gets another number. */
#include "op/attrs.h"
#include "op/op.h"


JF_ATTRS(tril_attrs,
  JF_FIELD(jf_tril, diagonal, INT, "0", "the last diagonal kept, counted from the main one up"),
  JF_FIELD(jf_tril, fill_value, NUM, "0", "the number above it"))
JF_ATTRS(triu_attrs,
  JF_FIELD(jf_tril, diagonal, INT, "0", "the first diagonal kept, counted from the main one up"),
  JF_FIELD(jf_tril, fill_value, NUM, "0", "the number below it"))
JF_ATTRS(scale_attrs,
  JF_FIELD(jf_tril, diagonal, INT, "0", "the last diagonal kept, counted from the main one up"),
  JF_FIELD(jf_tril, fill_value, NUM, "0", "the number above it"),
  JF_FIELD(jf_tril, scale, NUM, "1", "what is kept is multiplied by this"))

static jfl_status tril_infer(jf_infer *c)
{
  jf_tril *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  const jfl_dtype t = c->in[0]->dtype;
  char text[JF_SHAPE_STR];
  JF_TRY(jf_infer_same(c));
  if (s->n < 2)
    return jf_fail_argument(JFL_ESHAPE, "x", "must have two or more axes, got %s",
                            jf_shape_str(s, text));
  if (!jf_holds(t, a->fill_value) || !jf_holds(t, a->scale))
    return jf_fail_argument(JFL_EINVAL, "fill_value", "must fit %s, and so must scale, got %g and "
                            "%g", jfl_dtype_name(t), a->fill_value, a->scale);
  const int64_t most = INT64_C(1) << 48;      /* more than any extent, so that sums fit */
  a->diagonal = a->diagonal < -most ? -most : a->diagonal > most ? most : a->diagonal;
  return JFL_OK;
}

/* What has no factor is given the factor 1. */
static jfl_status tril_infer_plain(jf_infer *c)
{
  ((jf_tril *)c->attr)->scale = 1;
  return tril_infer(c);
}

/* In each row the elements from column `from` to below column `to` are x times scale, all others
   are fill_value. */
#define TRIANGLE(D, T)                                                                   \
  static void tril_row_##D(const jf_tril *a, const T *x, T *y, int64_t n, int64_t from,  \
                           int64_t to)                                                   \
  {                                                                                      \
    const T fill = (T)a->fill_value, scale = (T)a->scale;                                \
    from = from < 0 ? 0 : from > n ? n : from;                                           \
    to = to < from ? from : to > n ? n : to;                                             \
    for (int64_t j = 0; j < from && !jf_loop_ends_at(j, 1); j++) y[j] = fill;            \
    for (int64_t j = from; j < to && !jf_loop_ends_at(j, 1); j++) y[j] = (T)(x[j] * scale); \
    for (int64_t j = to; j < n && !jf_loop_ends_at(j, 1); j++) y[j] = fill;              \
  }                                                                                      \
  static jfl_status triangle_##D(const jf_kargs *k)                                      \
  {                                                                                      \
    const jfl_shape *s = &k->out[0].shape;                                               \
    const int64_t rows = s->d[s->n - 2], n = s->d[s->n - 1], all = n ? jf_numel(s) / n : 0; \
    const int is_upper = k->op == &jf_op_triu;                                           \
    const jf_tril *a = k->attr;                                                          \
    for (int64_t i = 0; i < all && !jf_loop_ends_at(i, n); i++) {                        \
      const int64_t at = i % rows + a->diagonal;                                         \
      tril_row_##D(a, (const T *)k->in[0].data + i * n, (T *)k->out[0].data + i * n, n,  \
                   is_upper ? at : 0, is_upper ? n : at + 1);                            \
    }                                                                                    \
    return JFL_OK;                                                                       \
  }
JF_EACH_TYPE(TRIANGLE)

/* The gradient is the same triangle of dy, and 0 elsewhere. */
static void tril_op_grad(jf_gradctx *c)
{
  jf_tril a = *(const jf_tril *)c->node->attr;
  a.fill_value = 0;
  c->dx[0] = jf_emit(c->g, c->node->op, &a, JF_IN(c->dy[0]));
}

/* All axes but those of the matrices. */
static void tril_signatures(jf_signatures *c)
{
  jf_signatures_but(c, 3u << (c->node->in[0]->shape.n - 2));
}

#define TRIANGLES(attrs_)                                                                \
  .in = {"x"}, .out = {"y"}, JF_WITH(attrs_, jf_tril), .inplace = 1,                     \
  .grad = tril_op_grad, .cpu = JF_KERNELS(JF_TYPES(triangle_)), .signatures = tril_signatures

JFL_OP(tril, .doc = "x, with fill_value above a diagonal of its matrices.",
  .path = "math.tril tril", TRIANGLES(tril_attrs), .infer = tril_infer_plain)

JFL_OP(triu, .doc = "x, with fill_value below a diagonal of its matrices.",
  .path = "math.triu triu", TRIANGLES(triu_attrs), .infer = tril_infer_plain)

JFL_OP(fused_scale_tril, .doc = "x times scale, with fill_value above a diagonal of its matrices.",
  .path = "math.fused_scale_tril", TRIANGLES(scale_attrs), .infer = tril_infer)
