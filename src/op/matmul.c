/* Matrix products, one or a batch. Sums of float32 are accumulated in double. */
#include "op/matmul.h"
#include "op/op.h"
#include "op/transpose.h"

JF_ATTRS(attrs, JF_MATMUL_ATTRS(jf_matmul, ))

static jfl_status check_ranks(const jf_infer *c)
{
  const jfl_shape *a = &c->in[0]->shape, *b = &c->in[1]->shape;
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  int fit = a->n >= 2 && a->n == b->n;
  for (int i = 0; fit && i < a->n - 2; i++) fit = a->d[i] == b->d[i];
  if (fit) return JFL_OK;
  return jf_fail(JFL_ESHAPE, "a %s and b %s must have the same number of dimensions, two or more, "
                 "and agree in all but the last two%s", jf_shape_str(a, s), jf_shape_str(b, t),
                 a->n == 2 && b->n == 1 ? "; flow.expand_dims(b, 1) makes a column of a list" : "");
}

static jfl_status matmul_infer(jf_infer *c)
{
  const jf_matmul *p = c->attr;
  const jfl_shape *a = &c->in[0]->shape, *b = &c->in[1]->shape;
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  JF_TRY(jf_infer_dtype(c, 1, 0));
  JF_TRY(check_ranks(c));
  int last = a->n - 1;
  int64_t columns = a->d[p->transpose_a ? last - 1 : last];
  int64_t rows = b->d[p->transpose_b ? last : last - 1];
  if (columns != rows)
    return jf_fail(JFL_ESHAPE, "a %s%s has %lld columns, but b %s%s has %lld rows",
                   jf_shape_str(a, s), p->transpose_a ? " transposed" : "", (long long)columns,
                   jf_shape_str(b, t), p->transpose_b ? " transposed" : "", (long long)rows);
  c->shape[0] = *a;
  c->shape[0].d[last - 1] = a->d[p->transpose_a ? last : last - 1];
  c->shape[0].d[last] = b->d[p->transpose_b ? last - 1 : last];
  c->dtype[0] = p->f32_result ? JFL_F32 : c->in[0]->dtype;
  return JFL_OK;
}

static jfl_value *matmul_product(jf_gradctx *c, jfl_value *a, jfl_value *b, int ta, int tb)
{
  jf_matmul p = { .transpose_a = ta, .transpose_b = tb };
  return JF_EMIT(c->g, matmul, &p, a, b);
}

static void matmul_grad(jf_gradctx *c)
{
  const jf_matmul *p = c->node->attr;
  jfl_value *a = c->in[0], *b = c->in[1], *dy = c->dy[0];
  int ta = p->transpose_a, tb = p->transpose_b;
  c->dx[0] = ta ? matmul_product(c, b, dy, tb, 1) : matmul_product(c, dy, b, 0, !tb);
  c->dx[1] = tb ? matmul_product(c, dy, a, 1, ta) : matmul_product(c, a, dy, !ta, 0);
}

/* Whether n, a transpose, swaps the last two axes and no others. */
static int swaps_last(const jf_node *n)
{
  const jf_ints *perm = &((const jf_transpose *)n->attr)->perm;
  int last = perm->n - 1;
  for (int i = 0; i < last - 1; i++)
    if (perm->v[i] != i) return 0;
  return last > 0 && perm->v[last] == last - 1;
}

/* The node that makes v, if it swaps the last two axes; else NULL. */
static const jf_node *swapped_last(const jfl_value *v)
{
  const jf_node *n = jf_made_by(v, &jf_op_transpose);
  return n && swaps_last(n) ? n : NULL;
}

/* If an operand is a transpose, reads the transpose's input and sets the flag for it instead. */
static jfl_value *matmul_fold(jf_foldctx *c)
{
  jf_matmul p = *(const jf_matmul *)c->node->attr;
  jfl_value *const *in = c->node->in;
  const jf_node *left = swapped_last(in[0]), *right = swapped_last(in[1]);
  if (!left && !right) return NULL;
  if (left) p.transpose_a = !p.transpose_a;
  if (right) p.transpose_b = !p.transpose_b;
  return JF_EMIT(c->g, matmul, &p, left ? left->in[0] : in[0], right ? right->in[0] : in[1]);
}

/* (A B)^T = B^T A^T. */
jfl_value *jf_fold_transposed(jf_foldctx *c)
{
  const jfl_value *v = c->node->in[0];
  const jf_node *n = jf_made_by(v, &jf_op_matmul);
  if (!n || !swaps_last(c->node) || !c->is_alone(c, v)) return NULL;
  const jf_matmul *p = n->attr;
  jf_matmul a = { .transpose_a = !p->transpose_b, .transpose_b = !p->transpose_a,
                  .f32_result = p->f32_result };
  return JF_EMIT(c->g, matmul, &a, n->in[1], n->in[0]);
}

int jf_matmul_takes_panels(const jf_node *n)
{
  const jf_matmul *p = n->attr;
  const int is_product = n->op == &jf_op_matmul || n->op == &jf_op_matmul_fused;
  return is_product && p->transpose_b && !p->transpose_a && n->in[0]->shape.n == 2;
}

const jfl_op *jf_matmul_sloped(const jf_node *n)
{
  const int may = n->op == &jf_op_matmul && !((const jf_matmul *)n->attr)->panel;
  return may ? &jf_op_matmul_slope : NULL;
}

int jf_matmul_sum_axis(const jf_matmul *p, const jfl_shape *s, int i)
{
  const int first = i ? !p->transpose_b : p->transpose_a;
  return first && s->n == 2 && !p->panel ? 1 : -1;
}

int jf_matmul_columns(const jf_node *n)
{
  if (n->op != &jf_op_matmul) return -1;
  return n->in[1]->shape.n - (((const jf_matmul *)n->attr)->transpose_b ? 2 : 1);
}

/* Rows of a, columns of b, the axes of a batch; and what is summed over, which makes partial
   sums. */
static void matmul_signatures(jf_signatures *c)
{
  const jf_matmul *p = c->node->attr;
  const int last = c->node->out[0]->shape.n - 1;
  for (int i = 0; i < last - 1; i++) jf_signature_along(c, i);
  jf_signature_say(c, "%d,B->-2", p->transpose_a ? -1 : -2);
  jf_signature_say(c, "B,%d->-1", p->transpose_b ? -2 : -1);
  jf_signature_say(c, "%d,%d->P", p->transpose_a ? -2 : -1, p->transpose_b ? -1 : -2);
  jf_signature_say(c, "P,B->P");
  jf_signature_say(c, "B,P->P");
}

enum { WIDTH = 64, DEPTH = 256, LANES = 8 };

/* One product of m x k by k x n: its extents, how far apart a's rows and columns lie, and whether b
   is stored as n x k. */
typedef struct dims { int64_t m, k, n, row, column, panel; int tb; } dims;

static dims dims_of(const jf_kargs *k)
{
  const jf_matmul *p = k->attr;
  const jfl_shape *y = &k->out[0].shape, *a = &k->in[0].shape;
  dims s = { .m = y->d[y->n - 2], .n = y->d[y->n - 1], .tb = p->transpose_b, .panel = p->panel };
  s.k = a->d[p->transpose_a ? a->n - 2 : a->n - 1];
  s.row = p->transpose_a ? 1 : s.k;
  s.column = p->transpose_a ? s.m : 1;
  return s;
}

/* Where b, in panels, has row i of column j. */
static int64_t matmul_in_panels(const dims *s, int64_t i, int64_t j)
{
  return (j / s->panel * s->k + i) * s->panel + j % s->panel;
}

/* The product <a, b> of n elements, summed in lanes. */
#define DOT(D, T, A)                                                   \
  static A dot_##D(const A *a, const T *b, int n)                      \
  {                                                                    \
    A lane[LANES] = { 0 }, sum = 0;                                    \
    int i = 0;                                                         \
    for (; i + LANES <= n; i += LANES)                                 \
      for (int j = 0; j < LANES; j++) lane[j] += a[i + j] * (A)b[i + j]; \
    for (; i < n; i++) sum += a[i] * (A)b[i];                          \
    for (int j = 0; j < LANES; j++) sum += lane[j];                    \
    return sum;                                                        \
  }
/* Adds to acc[0..width) a row of a (`depth` elements from column k0 on) times columns j0 .. of
   b. */
#define BLOCK(D, T, A)                                                              \
  static void block_##D(A *acc, const A *a, const T *b, const dims *s, int64_t k0,  \
                        int depth, int64_t j0, int width)                           \
  {                                                                                 \
    if (s->panel)                                                                   \
      for (int i = 0; i < depth; i++)                                               \
        for (int j = 0; j < width; j++)                                             \
          acc[j] += a[i] * (A)b[matmul_in_panels(s, k0 + i, j0 + j)];               \
    else if (s->tb)                                                                 \
      for (int j = 0; j < width; j++) acc[j] += dot_##D(a, b + (j0 + j) * s->k + k0, depth); \
    else                                                                            \
      for (int i = 0; i < depth; i++) {                                             \
        const T *row = b + (k0 + i) * s->n + j0;                                    \
        for (int j = 0; j < width; j++) acc[j] += a[i] * (A)row[j];                 \
      }                                                                             \
  }
/* Computes columns j0 .. j0 + width of a row of y. */
#define STRETCH(D, T, A)                                                          \
  static void stretch_##D(const T *a, const T *b, T *y, const dims *s, int64_t j0, int width) \
  {                                                                               \
    A acc[WIDTH] = { 0 }, part[DEPTH];                                            \
    for (int64_t k0 = 0; k0 < s->k && !jf_loop_ends_at(k0 / DEPTH, DEPTH * WIDTH); k0 += DEPTH) { \
      int depth = s->k - k0 < DEPTH ? (int)(s->k - k0) : DEPTH;                   \
      for (int i = 0; i < depth; i++) part[i] = (A)a[(k0 + i) * s->column];       \
      block_##D(acc, part, b, s, k0, depth, j0, width);                           \
    }                                                                             \
    for (int j = 0; j < width; j++) y[j0 + j] = (T)acc[j];                        \
  }
#define KERNEL(D, T, A)                                                           \
  static jfl_status matmul_##D(const jf_kargs *k)                                 \
  {                                                                               \
    const dims s = dims_of(k);                                                    \
    const int64_t rows = jf_numel(&k->out[0].shape) / s.n;                        \
    for (int64_t i = 0, ends = 0; i < rows && !ends; i++)                         \
      for (int64_t j = 0; j < s.n && !(ends = jf_loop_ends()); j += WIDTH)        \
        stretch_##D((const T *)k->in[0].data + i / s.m * s.m * s.k + i % s.m * s.row, \
                    (const T *)k->in[1].data + i / s.m * s.k * s.n,               \
                    (T *)k->out[0].data + i * s.n, &s, j,                         \
                    s.n - j < WIDTH ? (int)(s.n - j) : WIDTH);                    \
    return JFL_OK;                                                                \
  }
#define MATMUL(D, T, A) DOT(D, T, A) BLOCK(D, T, A) STRETCH(D, T, A) KERNEL(D, T, A)
MATMUL(F32, float, double)
MATMUL(F64, double, double)
MATMUL(I32, int32_t, uint64_t)
MATMUL(I64, int64_t, uint64_t)

double jf_matmul_flop(const jf_kargs *k)
{
  const jfl_shape *a = &k->in[0].shape;
  int transposed = ((const jf_matmul *)k->attr)->transpose_a;
  return 2 * (double)jf_numel(&k->out[0].shape) * (double)a->d[transposed ? a->n - 2 : a->n - 1];
}

static int matmul_column_axis(const jf_node *n) { return n->out[0]->shape.n - 1; }

static int matmul_side_axis(const jf_node *n, int i)
{
  return jf_matmul_sum_axis(n->attr, &n->in[i]->shape, i);
}

static const jf_ending ending = { .fused = &jf_op_matmul_fused, .kept = &jf_op_matmul_kept,
                                  .epilogue = offsetof(jf_matmul_fused, epilogue),
                                  .axis = matmul_column_axis };
static const jf_side_sum side_sum = { &jf_op_matmul_summed, matmul_side_axis,
                                      offsetof(jf_matmul_summed, of) };

const jf_mixed jf_matmul_mixed = { .inputs = 3, .result = offsetof(jf_matmul, f32_result) };

JFL_OP(matmul, .doc = "The matrix product of a and b; further axes in front make a batch.",
       .path = "matmul linalg.matmul", .in = { "a", "b" }, .out = { "y" },
       JF_WITH(attrs, jf_matmul), .infer = matmul_infer, .grad = matmul_grad, .fold = matmul_fold,
       .cpu = JF_KERNELS(JF_NUMS(matmul_)), .signatures = matmul_signatures, .ending = &ending,
       .side_sum = &side_sum, JF_OF_PRODUCT, .descent = &jf_op_matmul_update,
       .stored = { &jf_op_quantized_matmul, 1 })
