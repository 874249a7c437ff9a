/* Floats of 16 bits are computed in float32: nodes whose kernels do not take them read conversions
   to float32, and their results are rounded by conversions. Those are elementwise, so fusion makes
   them part of programs, which then read and write 16 bits. A result that only one such node reads
   is not rounded. */
#include "dev/half.h"
#include "pass/pass.h"

typedef struct widener {
  jfl_graph *g;
  const jf_target *target;
  jf_rewrite r;
  char *wide;                  /* by old node: whether it is computed in float32 */
} widener;

/* ---- which nodes ---- */

/* A node that a row serves as it is stays so. */
static int widen_is_wide(const widener *w, jf_node *n)
{
  const jf_kargs k = jf_call_of(w->g->arena, n);
  if (!jf_widens(n->op, &k)) return 0;
  if (!n->tentative) n->tentative = jf_row_for(w->target, n, &k);
  return !n->tentative;
}

/* ---- making them wide ---- */

static void widen_inputs(widener *w, jf_node *n)
{
  for (int k = 0; k < n->n_in; k++) n->in[k] = jf_current(&w->r, n->in[k]);
  for (int k = 0; k < n->n_in && !w->g->err; k++) {
    jfl_value *v = n->in[k];
    if (!jf_is_half(v->dtype)) continue;
    jfl_value *c = jf_emit_cast(w->g, v, JFL_F32);
    for (int j = k; j < n->n_in && c; j++)
      if (n->in[j] == v) n->in[j] = c;
  }
}

static void widen_outputs(widener *w, const jf_node *n)
{
  for (int k = 0; k < n->n_out && !w->g->err; k++) {
    jfl_value *v = n->out[k];
    const jfl_dtype half = v->dtype;
    if (!jf_is_half(half)) continue;
    v->dtype = JFL_F32;
    if (w->r.uses[v->id] == 1 && w->r.reader[v->id] >= 0 && w->wide[w->r.reader[v->id]]) continue;
    jfl_value *c = jf_emit_cast(w->g, v, half);
    if (c) c->name = v->name;
    if (c) jf_replace(&w->r, v, c);
  }
}

static void widen_node(widener *w, jf_node *n)
{
  widen_inputs(w, n);
  n->attr = jf_attr_copy(w->g->arena, n->op->attr, n->op->attr_size, n->attr);
  jf_attr_widen(n->op, n->attr);
  jf_rewrite_keep(&w->r, n);
  widen_outputs(w, n);
}

static int widen_find(widener *w)
{
  const jfl_graph *g = w->g;
  int found = 0;
  w->wide = jf_alloc(g->arena, (size_t)g->n_node);
  for (int i = 0; i < g->n_node; i++) found |= w->wide[i] = (char)widen_is_wide(w, g->node[i]);
  return found;
}

jfl_status jf_pass_widen(jfl_graph *g, const jf_target *target)
{
  widener w = { .g = g, .target = target };
  if (!widen_find(&w)) return g->err;
  jf_rewrite_begin(g, &w.r);
  for (jf_node *n; (n = jf_rewrite_next(&w.r));) {
    if (w.wide[w.r.next - 1]) widen_node(&w, n);
    else jf_rewrite_keep(&w.r, n);
  }
  jf_rewrite_end(&w.r);
  return g->err;
}
