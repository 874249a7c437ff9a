/* Elements chosen along one axis, by an index for each: dim_gather picks them, dim_scatter_add adds
   to them. */
#include "base/walk.h"
#include "op/attrs.h"
#include "op/constant.h"
#include "op/move.h"
#include "op/reshape.h"

#include <string.h>

JF_ATTRS(attrs,
  JF_FIELD(jf_dim_gather, dim, INT, NULL, "the axis of input that index counts along"))

/* Checks that index has the rank of input, and along other axes than dim no larger extents. */
static jfl_status dim_check(const jf_infer *c)
{
  jf_dim_gather *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape, *ids = &c->in[1]->shape;
  char x[JF_SHAPE_STR], y[JF_SHAPE_STR];
  JF_TRY(jf_check_indices(c, 1));
  JF_TRY(jf_dim(&a->dim, s->n, "dim"));
  int fit = ids->n == s->n;
  for (int i = 0; fit && i < s->n; i++) fit = i == a->dim || ids->d[i] <= s->d[i];
  if (fit) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, "index", "must have %d dimensions, and except for axis %lld "
                          "no larger extents than input %s, got %s", s->n, (long long)a->dim,
                          jf_shape_str(s, x), jf_shape_str(ids, y));
}

static jfl_status dim_gather_infer(jf_infer *c)
{
  JF_TRY(dim_check(c));
  c->dtype[0] = c->in[0]->dtype;
  c->shape[0] = c->in[1]->shape;
  return JFL_OK;
}

static jfl_status dim_scatter_infer(jf_infer *c)
{
  const jfl_dtype t = c->in[0]->dtype;
  JF_TRY(dim_check(c));
  JF_TRY(jf_infer_is(c, 2, t, &c->in[1]->shape, "index"));
  c->dtype[0] = t;
  c->shape[0] = c->in[0]->shape;
  return JFL_OK;
}

static void dim_gather_grad(jf_gradctx *c)
{
  jfl_value *zeros = jf_emit_number(c->g, c->in[0]->dtype, &c->in[0]->shape, 0);
  c->dx[0] = JF_EMIT(c->g, dim_scatter_add, c->node->attr, zeros, c->in[1], c->dy[0]);
}

static void dim_scatter_grad(jf_gradctx *c)
{
  c->dx[0] = c->dy[0];
  c->dx[2] = JF_EMIT(c->g, dim_gather, c->node->attr, c->dy[0], c->in[1]);
}

/* The index's axes as a nest whose one operand is the tensor of input's shape, with steps in
   elements; along dim it does not move. */
typedef struct dim_places {
  jf_nest nest;
  int64_t step[1][JFL_MAXDIM];
  int64_t along;               /* how many elements one index of dim is */
} dim_places;

static void dim_find(const jfl_shape *whole, const jfl_shape *ids, int64_t dim, dim_places *p)
{
  p->nest = (jf_nest){ .n = ids->n, .n_op = 1, .step = p->step };
  jf_dense_steps(whole->n, whole->d, 1, p->step[0]);
  for (int i = 0; i < ids->n; i++) p->nest.d[i] = ids->d[i];
  p->along = p->step[0][dim];
  p->step[0][dim] = 0;
}

#define GATHER(D, T)                                                                \
  static jfl_status dim_gather_##D(const jf_kargs *k)                               \
  {                                                                                 \
    const jf_tensor *ids = &k->in[1];                                               \
    const int64_t dim = ((const jf_dim_gather *)k->attr)->dim;                      \
    const T *x = k->in[0].data;                                                     \
    T *y = k->out[0].data;                                                          \
    dim_places p;                                                                   \
    JF_TRY(jf_check_range(k, JF_WRONG_INDEX, ids, k->in[0].shape.d[dim]));          \
    dim_find(&k->in[0].shape, &ids->shape, dim, &p);                                \
    jf_walk w = jf_walk_at(&p.nest, p.nest.n, 0);                                   \
    for (int64_t j = 0, n = jf_numel(&ids->shape); j < n && !jf_loop_ends_at(j, 1);          \
         j++, jf_walk_next(&w))                                                    \
      y[j] = x[w.off[0] + jf_index_at(ids, j) * p.along];                           \
    return JFL_OK;                                                                  \
  }
GATHER(1, uint8_t)
GATHER(2, uint16_t)
GATHER(4, uint32_t)
GATHER(8, uint64_t)

/* Elements of src are added in their order. */
static jfl_status dim_scatter(const jf_kargs *k)
{
  const jf_tensor *ids = &k->in[1], *out = &k->out[0];
  const int64_t dim = ((const jf_dim_gather *)k->attr)->dim;
  const jf_increasing add = jf_increase[out->dtype];
  const size_t size = jfl_dtype_size(out->dtype);
  const char *u = k->in[2].data;
  char *y = out->data;
  dim_places p;
  JF_TRY(jf_check_range(k, JF_WRONG_INDEX, ids, out->shape.d[dim]));
  if (y != k->in[0].data) memcpy(y, k->in[0].data, (size_t)jf_numel(&out->shape) * size);
  dim_find(&out->shape, &ids->shape, dim, &p);
  jf_walk w = jf_walk_at(&p.nest, p.nest.n, 0);
  for (int64_t j = 0, n = jf_numel(&ids->shape); j < n && !jf_loop_ends_at(j, 1);
       j++, u += size, jf_walk_next(&w))
    add(y + (size_t)(w.off[0] + jf_index_at(ids, j) * p.along) * size, u, 1);
  return JFL_OK;
}

/* Axes other than dim that the index has whole. */
static void dim_signatures(jf_signatures *c, int scatters)
{
  const jf_node *n = c->node;
  const int dim = (int)((const jf_dim_gather *)n->attr)->dim;
  for (int axis = 0; axis < n->in[0]->shape.n; axis++)
    if (axis != dim && n->in[0]->shape.d[axis] == n->in[1]->shape.d[axis])
      jf_signature_along(c, axis);
  jf_signature_say(c, scatters ? "P,B,P->P" : "P,B->P");
  if (!scatters) jf_signature_say(c, "B,%d->%d", dim, dim);
}

static void dim_gather_signatures(jf_signatures *c) { dim_signatures(c, 0); }
static void dim_scatter_signatures(jf_signatures *c) { dim_signatures(c, 1); }

JFL_OP(dim_gather, .doc = "The elements of input whose position along dim index gives.",
  .in = {"input", "index"}, .out = {"y"}, JF_WITH(attrs, jf_dim_gather), .infer = dim_gather_infer,
  .grad = dim_gather_grad, .cpu = JF_KERNELS(JF_BY_SIZE(dim_gather_)),
  .signatures = dim_gather_signatures)

JFL_OP(dim_scatter_add, .doc = "input, plus src at the positions along dim that index gives.",
  .in = {"input", "index", "src"}, .out = {"y"}, JF_WITH(attrs, jf_dim_gather), .inplace = 1,
  .infer = dim_scatter_infer, .grad = dim_scatter_grad,
  .cpu = JF_KERNELS(JF_EVERY_NUM(dim_scatter)), .signatures = dim_scatter_signatures)
