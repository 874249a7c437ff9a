/* Computes values of a region (jfl_graph_recompute) again where gradients need them, so that they
   are not kept until then. */
#include "pass/pass.h"

/* What is known of each value of the graph, by id. */
typedef struct recompute_walk {
  jf_rewrite r;
  char *inner;                 /* it is made in a region, and nothing else of the body reads it */
  char *needed;                /* inner, and gradients need it */
  jfl_value **again;           /* what gradients read in its place, or NULL */
  char *done;                  /* by region: its nodes are there again */
} recompute_walk;

int jf_may_join(const jf_node *a, const jf_node *b)
{
  const jf_node_source *s = &a->source, *t = &b->source;
  if (s->micro_batch != t->micro_batch) return 0;
  if (!s->region && !t->region) return 1;
  if (s->purpose == JF_AGAIN || t->purpose == JF_AGAIN)
    return s->purpose != JF_FORWARD && t->purpose != JF_FORWARD && s->region == t->region;
  return (s->purpose == JF_FORWARD) == (t->purpose == JF_FORWARD);
}

static int recompute_is_forward(const jf_node *n) { return n->source.purpose == JF_FORWARD; }
static int recompute_is_backward(const jf_node *n) { return n->source.purpose == JF_BACKWARD; }

static void recompute_keep(const recompute_walk *w, jfl_value *const *v, int n)
{
  for (int i = 0; i < n; i++) w->inner[v[i]->id] = 0;
}

/* Values that the body's other nodes, variables' updates or the caller read are not inner; nor are
   those of which such a value is a view. */
static void recompute_find_inner(const recompute_walk *w)
{
  const jfl_graph *g = w->r.g;
  for (int i = 0; i < w->r.n_old; i++) {
    const jf_node *n = w->r.old[i];
    const int may_be = n->source.region && recompute_is_forward(n) && !(n->op->flags & JF_EFFECT);
    for (int k = 0; k < n->n_out; k++) w->inner[n->out[k]->id] = (char)may_be;
  }
  recompute_keep(w, g->output, g->n_output);
  for (int i = 0; i < g->n_training; i++) {
    const jf_training *t = g->training[i];
    recompute_keep(w, t->loss, t->n_loss);
    recompute_keep(w, &t->rate, t->rate != NULL);
    recompute_keep(w, &t->own_step, t->own_step != NULL);
  }
  for (int i = w->r.n_old - 1; i >= 0; i--) {
    const jf_node *n = w->r.old[i];
    const int is_kept_view = n->op->flags & JF_VIEW && !w->inner[n->out[0]->id];
    if (!recompute_is_forward(n)) continue;
    for (int k = 0; k < n->n_in; k++) {
      const jf_node *maker = n->in[k]->node;
      if (n->op->flags & JF_EFFECT || (maker && maker->source.region != n->source.region) ||
          (k == 0 && is_kept_view))
        w->inner[n->in[k]->id] = 0;
    }
  }
}

static int recompute_needs(const recompute_walk *w, const jf_node *n)
{
  int any = 0;
  for (int k = 0; k < n->n_out; k++) any |= w->needed[n->out[k]->id];
  return any;
}

/* Gradients need the inner values that they read, and what those are made of. */
static void recompute_find_needed(const recompute_walk *w)
{
  for (int i = w->r.n_old - 1; i >= 0; i--) {
    const jf_node *n = w->r.old[i];
    const int reads = recompute_is_backward(n) || recompute_needs(w, n);
    for (int k = 0; reads && k < n->n_in; k++) w->needed[n->in[k]->id] |= w->inner[n->in[k]->id];
  }
}

/* Adds a node that computes what n does, in the same way, from values that are there again. */
static jfl_status recompute_node(const recompute_walk *w, const jf_node *n)
{
  jf_node *twin;
  jfl_graph *g = w->r.g;
  jfl_value **in = jf_alloc(g->arena, (size_t)n->n_in * sizeof *in);
  for (int k = 0; k < n->n_in; k++) {
    jfl_value *again = w->again[n->in[k]->id];
    in[k] = again ? again : n->in[k];
  }
  jf_serve(g, n);
  JF_TRY(jf_graph_node(g, n->op, n->attr, in, (size_t)n->n_in, NULL, &twin));
  jf_serve(g, NULL);
  twin->place = n->place;
  twin->source.logical = jf_logical_name(n);
  for (int k = 0; k < n->n_out; k++) {
    const jfl_value *v = n->out[k];
    twin->out[k]->place = v->place;
    twin->out[k]->distribution = v->distribution;
    if (w->needed[v->id]) w->again[v->id] = twin->out[k];
  }
  return JFL_OK;
}

static jfl_status recompute_region(recompute_walk *w, int region)
{
  jfl_graph *g = w->r.g;
  w->done[region] = 1;
  g->source.purpose = JF_AGAIN;
  for (int i = 0; i < w->r.n_old; i++) {
    const jf_node *n = w->r.old[i];
    if (recompute_is_forward(n) && n->source.region == region && recompute_needs(w, n))
      JF_TRY(recompute_node(w, n));
  }
  g->source.purpose = JF_FORWARD;
  return JFL_OK;
}

/* Makes a node of the gradients read what is computed again; the first one that does has it
   computed. */
static jfl_status recompute_visit(recompute_walk *w, jf_node *n)
{
  for (int k = 0; k < n->n_in && recompute_is_backward(n); k++) {
    const jfl_value *v = n->in[k];
    if (!w->needed[v->id]) continue;
    const int region = v->node->source.region;
    if (!w->done[region]) JF_TRY(recompute_region(w, region));
    n->in[k] = w->again[v->id];
  }
  jf_rewrite_keep(&w->r, n);
  return JFL_OK;
}

jfl_status jf_pass_recompute(jfl_graph *g, const jf_target *target)
{
  const size_t n_value = (size_t)g->n_value;
  (void)target;
  if (!g->n_region || !g->n_training) return JFL_OK;
  recompute_walk w = { .inner = jf_alloc(g->arena, n_value),
                       .needed = jf_alloc(g->arena, n_value),
                       .again = jf_alloc(g->arena, n_value * sizeof(jfl_value *)),
                       .done = jf_alloc(g->arena, (size_t)g->n_region + 1) };
  jf_rewrite_begin(g, &w.r);
  recompute_find_inner(&w);
  recompute_find_needed(&w);
  for (int i = 0; i < w.r.n_old; i++) JF_TRY(recompute_visit(&w, w.r.old[i]));
  jf_rewrite_end(&w.r);
  return JFL_OK;
}
