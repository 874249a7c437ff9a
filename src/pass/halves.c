/* What passes share that deal with floats of 16 bits. */
#include "op/cast.h"
#include "pass/pass.h"

jf_kargs jf_call_of(jf_arena *a, const jf_node *n)
{
  return (jf_kargs){ .in = jf_tensors_of(a, n->in, n->n_in), .n_in = n->n_in,
                     .out = jf_tensors_of(a, n->out, n->n_out), .n_out = n->n_out,
                     .attr = n->attr };
}

const jf_kernel_row *jf_row_for(const jf_target *t, const jf_node *n, const jf_kargs *k)
{
  const jf_choice *choice;
  jfl_graph *g = (n->n_out ? n->out[0] : n->in[0])->graph;
  if (g->err) return NULL;
  g->err = jf_fail_in(jf_choose_ahead(t->chooser, n->place, n->op, k, &choice), JFL_ERROR_OP,
                      n->op->name);
  return g->err ? NULL : choice->row;
}

jfl_value *jf_emit_cast(jfl_graph *g, jfl_value *v, jfl_dtype to)
{
  double number;
  char rounded[8];
  if (jf_number(v, &number)) {
    jfl_number_put(v->dtype, rounded, 0, number);
    return jf_emit_number(g, to, &v->shape, jfl_number_get(v->dtype, rounded, 0));
  }
  const jf_cast a = { to };
  jfl_value *c = JF_EMIT(g, cast, &a, v);
  if (!c) return NULL;
  c->packing = v->packing;
  c->plain = v->plain;
  return c;
}
