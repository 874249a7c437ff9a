/* Graphs as text: inputs, variables, one node a line, outputs. */
#include "ir/ir.h"


static void print_names(jf_text *t, jfl_value *const *v, int n)
{
  for (int i = 0; i < n; i++) jf_text_add(t, "%s%s", i ? ", " : "", v[i]->name);
}

static void print_value(jf_text *t, const jfl_value *v)
{
  char s[JF_SHAPE_STR];
  jf_text_add(t, "%s: %s %s", v->name, jfl_dtype_name(v->dtype), jf_shape_str(&v->shape, s));
}

/* Prints a node, with its place only if that is not `base`, where most of the job is. */
static void print_node(jf_text *t, const jf_node *n, int base)
{
  jf_text_add(t, "  ");
  for (int i = 0; i < n->n_out; i++) {
    if (i) jf_text_add(t, ", ");
    print_value(t, n->out[i]);
  }
  jf_text_add(t, "%s%s(", n->n_out ? " = " : "", n->op->name);
  print_names(t, n->in, n->n_in);
  jf_text_add(t, ")");
  if (n->op->attr) {
    jf_text_add(t, " {");
    jf_attr_print(t, n->op->attr, n->attr);
    jf_text_add(t, "}");
  }
  if (n->place != base) jf_text_add(t, " at place %d", n->place);
  jf_text_add(t, "\n");
}

/* What the pass update has not turned into nodes yet. */
static void print_training(jf_text *out, const jf_training *t)
{
  if (t->step) return;
  jf_text_add(out, "  minimize ");
  print_names(out, t->loss, t->n_loss);
  jf_text_add(out, " by %s with ", t->name);
  if (t->schedule) {
    jf_text_add(out, "%s {", t->schedule->name);
    jf_attr_print(out, t->schedule->attr, t->schedule_attr);
    jf_text_add(out, "}");
  } else {
    print_names(out, &t->rate, 1);
  }
  jf_text_add(out, ", changing ");
  print_names(out, t->variable, t->n_variable);
  jf_text_add(out, "\n");
}

void jf_graph_print(const jfl_graph *g, jf_text *t)
{
  jf_text_add(t, "%s job %s\n", g->mode == JFL_TRAIN ? "train" : "predict", g->name);
  for (int i = 0; i < g->n_value; i++) {
    const jfl_value *v = g->value[i];
    if (v->origin == JF_RESULT) continue;
    jf_text_add(t, v->origin == JF_INPUT ? "  input " : "  variable ");
    print_value(t, v);
    if (v->plain) jf_text_add(t, ", blocks of %s", jf_shape_str(v->plain, (char[JF_SHAPE_STR]){0}));
    jf_text_add(t, "\n");
  }
  for (int i = 0; i < g->n_node; i++) print_node(t, g->node[i], g->place);
  for (int i = 0; i < g->n_training; i++) print_training(t, g->training[i]);
  for (int i = 0; i < g->n_output; i++) jf_text_add(t, "  return %s\n", g->output[i]->name);
}
