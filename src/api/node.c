/* Public entries that tell of what a graph consists. */
#include "api/api.h"

jfl_value *jfl_graph_value(jfl_graph *g, int i)
{
  return JF_IS(GRAPH, g) && i >= 0 && i < g->n_value ? g->value[i] : NULL;
}

jfl_origin jfl_value_origin(const jfl_value *v)
{
  if (!JF_IS(VALUE, v)) return JFL_IS_INPUT;
  return v->origin == JF_INPUT ? JFL_IS_INPUT
         : v->origin == JF_VARIABLE ? JFL_IS_VARIABLE : JFL_IS_RESULT;
}

int jfl_graph_nodes(const jfl_graph *g) { return JF_IS(GRAPH, g) ? g->n_node : 0; }

jfl_status jfl_graph_node(const jfl_graph *g, int i, jfl_node *out)
{
  JF_NEED(GRAPH, g);
  JF_NEED_BELOW(i, g->n_node);
  JF_NEED_POINTER(out);
  const jf_node *n = g->node[i];
  *out = (jfl_node){ n->op->name, n->name, n->in, n->out, n->n_in, n->n_out };
  return JFL_OK;
}

jfl_status jfl_graph_attributes(const jfl_graph *g, int i, char **out)
{
  jf_text t = { 0 };
  JF_NEED(GRAPH, g);
  JF_NEED_BELOW(i, g->n_node);
  JF_NEED_POINTER(out);
  const jf_node *n = g->node[i];
  if (n->op->attr) jf_attr_print(&t, n->op->attr, n->attr);
  return jf_text_take(&t, out);
}
