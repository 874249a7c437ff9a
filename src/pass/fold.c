/* Folding: what is one number throughout is computed now, and what changes nothing goes. Every rule
   keeps each bit of finite and infinite numbers and the signs of zeros, and nan stays nan; but a
   product whose operand was transposed may be summed in another order. What cannot keep them stays:
   x + 0, which turns -0 into 0, and so do float sums and means over axes of extent 1, which start
   from 0; 0 - x likewise; x * 0, x - x and x / x, which are nan for infinities; pow(x, 2),
   reciprocals of what is no power of two, and numbers moved together, which all round anew. */
#include "op/broadcast.h"
#include "op/cast.h"
#include "op/constant.h"
#include "op/matmul.h"
#include "op/move.h"
#include "op/reduce.h"
#include "op/reshape.h"
#include "op/transpose.h"
#include "pass/pass.h"

#include <math.h>
#include <string.h>

/* What stands for the only output of n, or NULL. Nodes it emits are read by nothing yet. */
typedef jfl_value *(*rule)(const jf_rewrite *r, const jf_node *n);

/* The node that makes v, if it is of that op. */
static const jf_node *made_by(const jfl_value *v, const jfl_op *op)
{
  return v->origin == JF_RESULT && v->node->op == op ? v->node : NULL;
}

static int same_shape(const jfl_value *a, const jfl_value *b)
{
  return jf_shape_eq(&a->shape, &b->shape);
}

/* x under the shape of n's output, which has as many elements in the same order. */
static jfl_value *viewed(const jf_rewrite *r, const jf_node *n, jfl_value *x)
{
  jf_reshape a = { jf_ints_from(&n->out[0]->shape) };
  return same_shape(x, n->out[0]) ? x : JF_EMIT(r->g, reshape, &a, x);
}

/* ---- arithmetic ---- */

/* Whether v is that number throughout; 0 and -0 are two. */
static int is_number(const jfl_value *v, double number)
{
  double value;
  return jf_number(v, &value) && !memcmp(&value, &number, sizeof value);
}

/* The other input, where input k is a number that changes nothing in it. */
static jfl_value *beside(const jf_node *n, int k, double number)
{
  return is_number(n->in[k], number) && same_shape(n->in[1 - k], n->out[0]) ? n->in[1 - k] : NULL;
}

/* What v is the negative of, or NULL. */
static jfl_value *negated(const jfl_value *v)
{
  const jf_node *n = made_by(v, &jf_op_negative);
  return n ? n->in[0] : NULL;
}

static jfl_value *negative(const jf_rewrite *r, const jf_node *n)
{
  (void)r;
  return negated(n->in[0]);
}

static jfl_value *fold_add(const jf_rewrite *r, const jf_node *n)
{
  double zero = jf_is_float(n->out[0]->dtype) ? -0.0 : 0.0;
  jfl_value *x = beside(n, 0, zero);
  if (!x) x = beside(n, 1, zero);
  if (x) return x;
  if ((x = negated(n->in[1]))) return JF_EMIT(r->g, subtract, NULL, n->in[0], x);
  if ((x = negated(n->in[0]))) return JF_EMIT(r->g, subtract, NULL, n->in[1], x);
  return NULL;
}

static jfl_value *subtract(const jf_rewrite *r, const jf_node *n)
{
  jfl_value *x = beside(n, 1, 0.0);
  if (x) return x;
  return (x = negated(n->in[1])) ? JF_EMIT(r->g, add, NULL, n->in[0], x) : NULL;
}

static jfl_value *fold_multiply(const jf_rewrite *r, const jf_node *n)
{
  (void)r;
  jfl_value *x = beside(n, 0, 1);
  return x ? x : beside(n, 1, 1);
}

/* Dividing by a power of two is multiplying by its reciprocal, which has as few digits. */
static jfl_value *divide(const jf_rewrite *r, const jf_node *n)
{
  double d;
  int e;
  jfl_value *x = beside(n, 1, 1);
  if (x || !jf_is_float(n->out[0]->dtype) || !jf_number(n->in[1], &d)) return x;
  if (fabs(frexp(d, &e)) != 0.5 || e < -100 || e > 100) return NULL;
  x = jf_emit_number(r->g, n->in[1]->dtype, &n->in[1]->shape, 1 / d);
  return JF_EMIT(r->g, multiply, NULL, n->in[0], x);
}

/* Whether dtype `to` has every number of `from`. */
static int holds_all(jfl_dtype to, jfl_dtype from)
{
  static const int digits[] = { [JFL_F32] = 24, [JFL_F64] = 53, [JFL_F16] = 11, [JFL_BF16] = 8,
                                [JFL_I8] = 8, [JFL_U8] = 8, [JFL_I32] = 32, [JFL_I64] = 64 };
  if (to == from) return 1;
  if (jf_is_float(from)) return jf_is_float(to) && digits[to] > digits[from] && digits[to] >= 24;
  return jf_is_float(to) || to == JFL_I32 || to == JFL_I64 ? digits[to] > digits[from] : 0;
}

/* Through a dtype that keeps every number is not through it. */
static jfl_value *cast(const jf_rewrite *r, const jf_node *n)
{
  jfl_value *x = n->in[0];
  const jf_node *before = made_by(x, &jf_op_cast);
  if (x->dtype == n->out[0]->dtype) return x;
  if (!before || !holds_all(x->dtype, before->in[0]->dtype)) return NULL;
  return JF_EMIT(r->g, cast, n->attr, before->in[0]);
}

/* ---- moving elements ---- */

static jfl_value *itself(const jf_rewrite *r, const jf_node *n)
{
  (void)r;
  return n->in[0];
}

static jfl_value *fold_whole(const jf_rewrite *r, const jf_node *n)
{
  (void)r;
  return same_shape(n->in[0], n->out[0]) ? n->in[0] : NULL;
}

static jfl_value *alone(const jf_rewrite *r, const jf_node *n)
{
  return n->n_in == 1 ? viewed(r, n, n->in[0]) : NULL;
}

/* Of as many elements: the same ones in the same order. */
static jfl_value *as_many(const jf_rewrite *r, const jf_node *n)
{
  int same = jf_numel(&n->in[0]->shape) == jf_numel(&n->out[0]->shape);
  return same ? viewed(r, n, n->in[0]) : NULL;
}

static jfl_value *fold_sum(const jf_rewrite *r, const jf_node *n)
{
  return jf_is_float(n->out[0]->dtype) ? NULL : as_many(r, n);
}

/* A view of a view is one of what lies below. */
static jfl_value *fold_view(const jf_rewrite *r, const jf_node *n)
{
  jfl_value *x = (jfl_value *)jf_root(n->in[0]);
  return x != n->in[0] || same_shape(x, n->out[0]) ? viewed(r, n, x) : NULL;
}

static jfl_value *fold_broadcast(const jf_rewrite *r, const jf_node *n)
{
  const jf_node *before = made_by(n->in[0], &jf_op_broadcast_to);
  if (before) return JF_EMIT(r->g, broadcast_to, n->attr, before->in[0]);
  return as_many(r, n);
}

static const jf_ints *perm_of(const jf_node *n) { return &((const jf_transpose *)n->attr)->perm; }

/* Whether it swaps the last two axes and no others. */
static int swaps_last(const jf_ints *perm)
{
  int last = perm->n - 1;
  for (int i = 0; i < last - 1; i++)
    if (perm->v[i] != i) return 0;
  return last > 0 && perm->v[last] == last - 1;
}

/* (A B)^T = B^T A^T, for a product that nothing else reads. */
static jfl_value *transposed_product(const jf_rewrite *r, const jf_node *n)
{
  const jf_node *product = made_by(n->in[0], &jf_op_matmul);
  if (!product || n->in[0]->id >= r->n_value || r->uses[n->in[0]->id] > 1) return NULL;
  const jf_matmul *p = product->attr;
  jf_matmul a = { !p->transpose_b, !p->transpose_a };
  return JF_EMIT(r->g, matmul, &a, product->in[1], product->in[0]);
}

static jfl_value *transpose(const jf_rewrite *r, const jf_node *n)
{
  const jf_ints *perm = perm_of(n);
  const jf_node *before = made_by(n->in[0], &jf_op_transpose);
  if (jf_keeps_order(perm, &n->in[0]->shape)) return viewed(r, n, n->in[0]);
  if (!before) return swaps_last(perm) ? transposed_product(r, n) : NULL;
  int64_t axes[JFL_MAXDIM];
  jf_transpose both = { { perm->n, axes } };
  for (int i = 0; i < perm->n; i++) axes[i] = perm_of(before)->v[perm->v[i]];
  return JF_EMIT(r->g, transpose, &both, before->in[0]);
}

/* Transposed operands become flags of the product. */
static jfl_value *fold_matmul(const jf_rewrite *r, const jf_node *n)
{
  jf_matmul a = *(const jf_matmul *)n->attr;
  const jf_node *left = made_by(n->in[0], &jf_op_transpose);
  const jf_node *right = made_by(n->in[1], &jf_op_transpose);
  if (left && !swaps_last(perm_of(left))) left = NULL;
  if (right && !swaps_last(perm_of(right))) right = NULL;
  if (!left && !right) return NULL;
  if (left) a.transpose_a = !a.transpose_a;
  if (right) a.transpose_b = !a.transpose_b;
  return JF_EMIT(r->g, matmul, &a, left ? left->in[0] : n->in[0], right ? right->in[0] : n->in[1]);
}

/* ---- operands that are repeated ---- */

/* Whether the op gives the same with the value `small` for input k. */
static int fold_fits(const jf_rewrite *r, const jf_node *n, int k, jfl_value *small)
{
  jfl_value *in[3];
  jf_infer c = { .op = n->op, .arena = r->g->arena, .in = in, .n_in = n->n_in,
                 .attr = jf_attr_copy(r->g->arena, n->op->attr, n->op->attr_size, n->attr) };
  memcpy(in, n->in, (size_t)n->n_in * sizeof *in);
  in[k] = small;
  return !jf_op_infer(&c) && jf_shape_eq(&c.shape[0], &n->out[0]->shape);
}

/* An elementwise op that broadcasts by itself reads what is broadcast, not all its copies. */
static jfl_value *narrow(const jf_rewrite *r, const jf_node *n)
{
  if (!n->op->tile || n->n_in < 2 || n->n_in > 3) return NULL;
  for (int k = 0; k < n->n_in; k++) {
    jfl_value *x = n->in[k], *in[3], number = *x;
    const jf_node *before = made_by(x, &jf_op_broadcast_to);
    double value;
    number.shape = (jfl_shape){ 1, { 1 } };
    int is_many = !before && jf_numel(&x->shape) > 1 && jf_number(x, &value);
    if (!(before || is_many) || !fold_fits(r, n, k, before ? before->in[0] : &number)) continue;
    memcpy(in, n->in, (size_t)n->n_in * sizeof *in);
    in[k] = before ? before->in[0] : jf_emit_number(r->g, x->dtype, &number.shape, value);
    return jf_emit(r->g, n->op, n->attr, in, (size_t)n->n_in);
  }
  return NULL;
}

/* ---- the pass ---- */

static const struct { const jfl_op *op; rule apply; } rules[] = {
  { &jf_op_negative, negative },     { &jf_op_add, fold_add },
  { &jf_op_subtract, subtract },     { &jf_op_multiply, fold_multiply },
  { &jf_op_divide, divide },         { &jf_op_cast, cast },
  { &jf_op_identity, itself },       { &jf_op_slice, fold_whole },
  { &jf_op_concat, alone },          { &jf_op_stack, alone },
  { &jf_op_reduce_max, as_many },    { &jf_op_reduce_min, as_many },
  { &jf_op_reduce_prod, as_many },   { &jf_op_reduce_sum, fold_sum },
  { &jf_op_broadcast_to, fold_broadcast }, { &jf_op_transpose, transpose },
  { &jf_op_matmul, fold_matmul },
};

static jfl_value *fold_apply(const jf_rewrite *r, const jf_node *n)
{
  double value;
  jfl_value *v = NULL;
  if (n->n_out != 1 || n->op == &jf_op_constant) return NULL;
  if (n->op->flags & (JF_RANDOM | JF_EFFECT)) return NULL;
  if (jf_compute_number(n, &value))
    return jf_emit_number(r->g, n->out[0]->dtype, &n->out[0]->shape, value);
  for (size_t i = 0; !v && i < sizeof rules / sizeof *rules; i++)
    if (rules[i].op == n->op) v = rules[i].apply(r, n);
  if (!v && n->op->flags & JF_VIEW) v = fold_view(r, n);
  return v || r->g->err ? v : narrow(r, n);
}

/* Applies rules as long as one fits; a value that was there before is folded already. */
static jfl_value *folded(const jf_rewrite *r, const jf_node *n)
{
  jfl_value *v = NULL, *next;
  while ((next = fold_apply(r, n))) {
    v = next;
    if (v->origin != JF_RESULT || v->id < r->n_value) break;
    n = v->node;
  }
  return v;
}

/* From the first update on nodes stay as they are: what they read, they would read too late. */
static int updates(const jf_node *n)
{
  for (int k = 0; k < n->n_in; k++)
    if (jf_mutates(n, k)) return 1;
  return 0;
}

jfl_status jf_pass_fold(jfl_graph *g, const jf_target *target)
{
  (void)target;
  jf_rewrite r;
  int updated = 0;
  jf_rewrite_begin(g, &r);
  for (int i = 0; i < r.n_old && !g->err; i++) {
    jf_node *n = r.old[i];
    for (int k = 0; k < n->n_in; k++) n->in[k] = jf_current(&r, n->in[k]);
    jf_serve(g, n);
    jfl_value *v = (updated |= updates(n)) ? NULL : folded(&r, n);
    if (v && jf_may_replace(&r, n->out[0], v)) jf_replace(&r, n->out[0], v);
    else jf_rewrite_keep(&r, n);
  }
  jf_serve(g, NULL);
  jf_rewrite_end(&r);
  return g->err;
}
