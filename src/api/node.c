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

jfl_value *jfl_graph_result(jfl_graph *g, int i)
{
  return JF_IS(GRAPH, g) && i >= 0 && i < g->n_output ? g->output[i] : NULL;
}

const jfl_variable_spec *jfl_value_variable(const jfl_value *v)
{
  return JF_IS(VALUE, v) && v->origin == JF_VARIABLE ? v->variable : NULL;
}

const char *jfl_value_line(const jfl_value *v)
{
  return JF_IS(VALUE, v) ? v->node ? v->node->source.line : v->line : NULL;
}

const char *jfl_graph_node_line(const jfl_graph *g, int i)
{
  return JF_IS(GRAPH, g) && i >= 0 && i < g->n_node ? g->node[i]->source.line : NULL;
}

jfl_status jfl_graph_arguments(const jfl_graph *g, int i, const jfl_arg **out, int *n)
{
  JF_NEED(GRAPH, g);
  JF_NEED_BELOW(i, g->n_node);
  JF_NEED_POINTERS(out, n);
  const jf_node *node = g->node[i];
  const int n_arg = jf_attr_count(node->op->attr);
  const size_t n_number = jf_attr_numbers(node->op->attr, node->attr);
  jfl_arg *arg = jf_new((size_t)n_arg * sizeof *arg + n_number * sizeof(double));
  if (!arg) return jf_fail(JFL_ENOMEM, "out of memory");
  jf_attr_write(node->op->attr, node->attr, arg, (double *)(void *)(arg + n_arg));
  *out = arg;
  *n = n_arg;
  return JFL_OK;
}

void jfl_arguments_free(const jfl_arg *arg) { jf_free((jfl_arg *)arg); }
