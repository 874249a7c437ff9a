/* Folding: computes at compile time what is one number throughout, and removes ops that change
   nothing. The rules are facts and functions in the ops' records. Every rule keeps each bit of
   finite and infinite numbers and the signs of zeros, and nan stays nan; only a product of a
   transposed operand may be summed in another order. What could not keep them is left alone: x + 0
   turns -0 into 0, and so do 0 - x and float sums and means over axes of extent 1, which start from
   0; x * 0, x - x and x / x are nan for infinities; pow(x, 2), reciprocals of numbers that are no
   powers of two, and moving two numbers together would round differently. */
#include "op/reshape.h"
#include "pass/pass.h"

#include <string.h>

typedef struct fold_state { jf_foldctx c; const jf_rewrite *r; } fold_state;

static int fold_is_alone(const jf_foldctx *c, const jfl_value *v)
{
  const jf_rewrite *r = ((const fold_state *)c)->r;
  return v->id < r->n_value && r->uses[v->id] <= 1;
}

/* Whether all elements of v are that number; for floats, 0 and -0 differ. */
static int is_number(const jfl_value *v, double number)
{
  double value;
  if (!jf_number(v, &value)) return 0;
  return jf_is_float(v->dtype) ? !memcmp(&value, &number, sizeof value) : value == number;
}

/* If one input of n is neutral, gives the other one; else NULL. */
static jfl_value *beside_neutral(const jf_node *n)
{
  const jf_neutral *e = &n->op->neutral;
  for (int k = 0; k < n->n_in; k++)
    if (jf_has_input(e->inputs, k) && is_number(n->in[k], e->number)
        && jf_shape_eq(&n->in[1 - k]->shape, &n->out[0]->shape))
      return n->in[1 - k];
  return NULL;
}

/* For an op that keeps all elements in order: emits input 0 as a view of the output's shape. If the
   input is itself a view, the new one is made of what lies below it. */
static jfl_value *fold_kept(jfl_graph *g, const jf_node *n)
{
  const jfl_shape *to = &n->out[0]->shape;
  if (n->op->flags & JF_VIEW) {
    jfl_value *x = (jfl_value *)jf_root(n->in[0]);
    return x != n->in[0] || jf_shape_eq(&x->shape, to) ? jf_emit_view(g, x, to) : NULL;
  }
  const int keeps = n->op->flags & JF_KEEPS && jf_numel(&n->in[0]->shape) == jf_numel(to);
  return keeps ? jf_emit_view(g, n->in[0], to) : NULL;
}

/* ---- operands that are repeated ---- */

/* Whether n would have the same output if `small` replaced input k. */
static int fold_fits(jfl_graph *g, const jf_node *n, int k, jfl_value *small)
{
  jfl_value *in[3];
  jf_infer c = { .op = n->op, .arena = g->arena, .in = in, .n_in = n->n_in,
                 .attr = jf_attr_copy(g->arena, n->op->attr, n->op->attr_size, n->attr) };
  memcpy(in, n->in, (size_t)n->n_in * sizeof *in);
  in[k] = small;
  return !jf_op_infer(&c) && jf_shape_eq(&c.shape[0], &n->out[0]->shape);
}

/* An elementwise op broadcasts by itself, so it reads the input of a broadcast instead of its
   result. */
static jfl_value *narrow(jfl_graph *g, const jf_node *n)
{
  if (!n->op->loop || n->n_in < 2 || n->n_in > 3) return NULL;
  for (int k = 0; k < n->n_in; k++) {
    jfl_value *x = n->in[k], *in[3], number = *x;
    const int repeats = x->origin == JF_RESULT && x->node->op->flags & JF_REPEATS;
    double value;
    number.shape = (jfl_shape){ 1, { 1 } };
    int is_many = !repeats && jf_numel(&x->shape) > 1 && jf_number(x, &value);
    if (!repeats && !is_many) continue;
    if (!fold_fits(g, n, k, repeats ? x->node->in[0] : &number)) continue;
    memcpy(in, n->in, (size_t)n->n_in * sizeof *in);
    in[k] = repeats ? x->node->in[0] : jf_emit_number(g, x->dtype, &number.shape, value);
    return jf_emit(g, n->op, n->attr, in, (size_t)n->n_in);
  }
  return NULL;
}

/* ---- the pass ---- */

/* Gives the value that replaces the only output of n, or NULL. */
static jfl_value *fold_once(const jf_rewrite *r, const jf_node *n)
{
  double value;
  jfl_graph *g = r->g;
  fold_state s = { { g, n, fold_is_alone }, r };
  if (n->n_out != 1 || n->op->flags & (JF_RANDOM | JF_EFFECT | JF_TOGETHER)) return NULL;
  if (jf_number(n->out[0], &value)) return NULL;
  if (jf_compute_number(n, &value))
    return jf_emit_number(g, n->out[0]->dtype, &n->out[0]->shape, value);
  jfl_value *v = beside_neutral(n);
  if (!v && n->op->fold) v = n->op->fold(&s.c);
  if (!v && !g->err) v = fold_kept(g, n);
  return v || g->err ? v : narrow(g, n);
}

/* Applies rules as long as one fits. A value of the old graph has been folded already. */
static jfl_value *folded(const jf_rewrite *r, const jf_node *n)
{
  jfl_value *v = NULL, *next;
  while ((next = fold_once(r, n))) {
    v = next;
    if (v->origin != JF_RESULT || v->id < r->n_value) break;
    n = v->node;
  }
  return v;
}

/* Nodes from the first update on stay as they are: what would replace a copy that they read may be
   a variable that has changed by then. */
jfl_status jf_pass_fold(jfl_graph *g, const jf_target *target)
{
  (void)target;
  jf_rewrite r;
  int updated = 0;
  jf_rewrite_begin(g, &r);
  for (jf_node *n; (n = jf_rewrite_next(&r));) {
    for (int k = 0; k < n->n_in; k++) n->in[k] = jf_current(&r, n->in[k]);
    jfl_value *v = (updated |= jf_updates(n)) ? NULL : folded(&r, n);
    if (v && jf_may_replace(&r, n->out[0], v)) jf_replace(&r, n->out[0], v);
    else jf_rewrite_keep(&r, n);
  }
  jf_rewrite_end(&r);
  return g->err;
}
