/* Checks what must hold of every graph; run after each pass. */
#include "ir/ir.h"

#include <string.h>

/* What is known before the current node, by value id: which values exist, which variables were
   updated, and the id of the value whose memory each value uses. */
typedef struct verify_state {
  const jfl_graph *g;
  char *made, *mutated;
  int *root;
} verify_state;

static jfl_status verify_broken(const jf_node *n, const char *what, const char *name)
{
  return jf_fail(JFL_ESTATE, "graph: %s (%s): %s '%s'", n->name, n->op->name, what, name);
}

static jfl_status verify_check_inputs(const verify_state *s, const jf_node *n)
{
  for (int i = 0; i < n->n_in; i++) {
    const jfl_value *v = n->in[i];
    if (v->graph != s->g) return verify_broken(n, "uses a value of another graph", v->name);
    if (v->origin == JF_RESULT && !s->made[v->id])
      return verify_broken(n, "uses before it is made", v->name);
    if (v->place != n->place && s->g->placing == JF_PLACED && !(n->op->flags & JF_TRANSFER))
      return verify_broken(n, "reads from another device", v->name);
    if (s->mutated[s->root[v->id]] && !jf_mutates(n, i))
      return verify_broken(n, "reads after it was updated", v->name);
    if (jf_mutates(n, i) && v->origin != JF_VARIABLE)
      return verify_broken(n, "updates what is no variable", v->name);
  }
  return JFL_OK;
}

/* Runs the record's infer again on a copy of the attributes and checks that it gives the outputs
   that the node has. */
static jfl_status check_outputs(const jf_node *n, jf_arena *scratch)
{
  void *attr = jf_attr_copy(scratch, n->op->attr, n->op->attr_size, n->attr);
  jf_infer c = { .op = n->op, .arena = scratch, .in = n->in, .n_in = n->n_in, .attr = attr };
  JF_TRY(jf_op_infer(&c));
  if (c.n_out != n->n_out)
    return verify_broken(n, "has another number of outputs than", n->op->name);
  for (int i = 0; i < c.n_out; i++)
    if (c.dtype[i] != n->out[i]->dtype || !jf_shape_eq(&c.shape[i], &n->out[i]->shape))
      return verify_broken(n, "has an output that its op does not infer", n->out[i]->name);
  return JFL_OK;
}

static void verify_mark(const verify_state *s, const jf_node *n)
{
  for (int i = 0; i < n->n_out; i++) s->made[n->out[i]->id] = 1;
  if (n->op->flags & JF_VIEW) s->root[n->out[0]->id] = s->root[n->in[0]->id];
  for (int i = 0; i < n->n_in; i++)
    if (jf_mutates(n, i)) s->mutated[n->in[i]->id] = 1;
}

static jfl_status verify_graph(const jfl_graph *g)
{
  size_t n = (size_t)g->n_value;
  verify_state s = { g, jf_alloc(g->arena, n), jf_alloc(g->arena, n), NULL };
  s.root = jf_alloc(g->arena, n * sizeof *s.root);
  for (int i = 0; i < g->n_value; i++) s.root[i] = i;
  for (int i = 0; i < g->n_node; i++) {
    if (i % 64 == 0) jf_arena_ask(g->arena);
    JF_TRY(verify_check_inputs(&s, g->node[i]));
    JF_TRY(check_outputs(g->node[i], g->arena));
    verify_mark(&s, g->node[i]);
  }
  for (int i = 0; i < g->n_output; i++) {
    const jfl_value *v = g->output[i];
    if (v->origin == JF_RESULT && !s.made[v->id])
      return jf_fail(JFL_ESTATE, "graph: result '%s' is never made", v->name);
  }
  return JFL_OK;
}

jfl_status jf_graph_verify(const jfl_graph *g)
{
  const jf_arena_mark before = jf_arena_now(g->arena);
  const jfl_status s = verify_graph(g);
  jf_arena_back(g->arena, before);
  return s;
}
