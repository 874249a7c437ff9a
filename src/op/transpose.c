/* Reordering of axes. */
#include "op/transpose.h"
#include "base/walk.h"
#include "op/matmul.h"
#include "op/move.h"
#include "op/reshape.h"

static const jf_attr attrs[] = {
  JF_FIELD(jf_transpose, perm, INTS, "none", "which axis of a stands where; reversed unless given"),
  {0},
};

static jfl_status transpose_infer(jf_infer *c)
{
  jf_ints *perm = &((jf_transpose *)c->attr)->perm;
  const jfl_shape *s = &c->in[0]->shape;
  int seen[JFL_MAXDIM] = { 0 };
  if (!perm->n) {
    perm->v = jf_alloc(c->arena, (size_t)s->n * sizeof *perm->v);
    for (; perm->n < s->n; perm->n++) perm->v[perm->n] = s->n - 1 - perm->n;
  }
  if (perm->n != s->n)
    return jf_fail_argument(JFL_ESHAPE, "perm", "must name the %d axes of a, got %d", s->n,
                            perm->n);
  c->shape[0].n = s->n;
  for (int i = 0; i < s->n; i++) {
    JF_TRY(jf_dim(&perm->v[i], s->n, "perm"));
    if (seen[perm->v[i]]++)
      return jf_fail_argument(JFL_EINVAL, "perm", "must name each axis once, got axis %lld twice",
                              (long long)perm->v[i]);
    c->shape[0].d[i] = s->d[perm->v[i]];
  }
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

static void transpose_grad(jf_gradctx *c)
{
  const jf_ints *perm = &((const jf_transpose *)c->node->attr)->perm;
  int64_t axes[JFL_MAXDIM];
  jf_transpose back = { { perm->n, axes } };
  for (int i = 0; i < perm->n; i++) axes[perm->v[i]] = i;
  c->dx[0] = JF_EMIT(c->g, transpose, &back, c->dy[0]);
}

static const jf_ints *perm_of(const jf_node *n) { return &((const jf_transpose *)n->attr)->perm; }

/* Two transposes in a row become one; a transpose that leaves elements in their order becomes a
   view. */
static jfl_value *transpose_fold(jf_foldctx *c)
{
  const jf_node *n = c->node, *before = jf_made_by(n->in[0], &jf_op_transpose);
  const jf_ints *perm = perm_of(n);
  if (jf_keeps_order(perm, &n->in[0]->shape))
    return jf_emit_view(c->g, n->in[0], &n->out[0]->shape);
  if (!before) return jf_fold_transposed(c);
  int64_t axes[JFL_MAXDIM];
  jf_transpose both = { { perm->n, axes } };
  for (int i = 0; i < perm->n; i++) axes[i] = perm_of(before)->v[perm->v[i]];
  return JF_EMIT(c->g, transpose, &both, before->in[0]);
}

/* The result y as a nest whose only operand is x; offsets are in elements. */
typedef struct transpose_moves { jf_nest nest; int64_t step[1][JFL_MAXDIM]; } transpose_moves;

static void transpose_find(const jf_kargs *k, transpose_moves *m)
{
  const jf_ints *perm = &((const jf_transpose *)k->attr)->perm;
  const jfl_shape *x = &k->in[0].shape, *y = &k->out[0].shape;
  int64_t step[JFL_MAXDIM];
  m->nest = (jf_nest){ .n = y->n, .n_op = 1, .step = m->step };
  jf_dense_steps(x->n, x->d, 1, step);
  for (int i = 0; i < y->n; i++) {
    m->nest.d[i] = y->d[i];
    m->step[0][i] = step[perm->v[i]];
  }
  jf_nest_join(&m->nest, 0);
}

#define TRANSPOSE(D, T)                                                       \
  static jfl_status transpose_##D(const jf_kargs *k)                          \
  {                                                                           \
    transpose_moves m;                                                        \
    T *y = k->out[0].data;                                                    \
    transpose_find(k, &m);                                                    \
    const int last = m.nest.n - 1;                                            \
    const int64_t n = m.nest.d[last], step = m.step[0][last];                 \
    jf_walk w = jf_walk_at(&m.nest, last, 0);                                 \
    do {                                                                      \
      const T *x = (const T *)k->in[0].data + w.off[0];                       \
      for (int64_t j = 0; j < n; j++) *y++ = x[j * step];                     \
    } while (jf_walk_next(&w));                                               \
    return JFL_OK;                                                            \
  }
TRANSPOSE(1, uint8_t)
TRANSPOSE(2, uint16_t)
TRANSPOSE(4, uint32_t)
TRANSPOSE(8, uint64_t)
static const jf_kernel cpu[JFL_N_DTYPE] = { JF_BY_SIZE(transpose_) };

static void transpose_signatures(jf_signatures *c)
{
  const jf_ints *perm = &((const jf_transpose *)c->node->attr)->perm;
  for (int i = 0; i < perm->n; i++) {
    jf_signature *s = jf_signature_add(c);
    s->in[0] = JF_ALONG((int)perm->v[i]);
    s->out[0] = JF_ALONG(i);
  }
}

JFL_OP(transpose, .doc = "a with its axes in another order.", .path = "transpose", .in = { "a" },
       .out = { "y" }, .attr = attrs, .attr_size = sizeof(jf_transpose), .infer = transpose_infer,
       .flags = JF_MOVES, .fold = transpose_fold, .grad = transpose_grad, .cpu = cpu,
       .signatures = transpose_signatures)
