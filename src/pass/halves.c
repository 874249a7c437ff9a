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

jfl_status jf_call_as(jf_arena *a, const jf_node *n, unsigned halves, jfl_dtype half,
                      jf_kargs *out)
{
  jfl_value *in = jf_alloc(a, (size_t)n->n_in * sizeof *in);
  jfl_value **list = jf_alloc(a, (size_t)n->n_in * sizeof *list);
  for (int i = 0; i < n->n_in; i++) {
    in[i] = *n->in[i];
    list[i] = &in[i];
    if (jf_has_input(halves, i)) in[i].dtype = half;
  }
  jf_infer c = { .op = n->op, .arena = a, .in = list, .n_in = n->n_in,
                 .attr = jf_attr_copy(a, n->op->attr, n->op->attr_size, n->attr) };
  JF_TRY(jf_op_infer(&c));
  *out = (jf_kargs){ .in = jf_tensors_of(a, list, n->n_in), .n_in = n->n_in, .attr = c.attr,
                     .out = jf_alloc(a, (size_t)c.n_out * sizeof *out->out), .n_out = c.n_out };
  for (int i = 0; i < c.n_out; i++)
    out->out[i] = (jf_tensor){ .dtype = c.dtype[i], .shape = c.shape[i] };
  return JFL_OK;
}

int jf_is_one_step(const jf_target *t, const jf_node *n, int wide)
{
  const jfl_graph *g = n->in[0]->graph;
  unsigned halves = 0;
  jf_node with = *n;
  jf_kargs k;
  /* That rounds what products read, so others' work must not become theirs. */
  if (g->mixed == JFL_F16) return 0;
  for (int i = 0; i < n->n_in && i < JF_MAXIN && g->mixed == JFL_BF16; i++)
    if (n->in[i]->dtype == JFL_F32) halves |= 1u << i;
  with.attr = jf_attr_copy(g->arena, n->op->attr, n->op->attr_size, n->attr);
  if (halves && wide) *(int *)(void *)((char *)with.attr + n->op->mixed->result) = 1;
  if (jf_call_as(g->arena, &with, halves, JFL_BF16, &k)) return 0;
  if (!jf_accepts(t->chooser, n->place, n->op, &k)) return 0;
  const jf_kernel_row *row = jf_row_for(t, &with, &k);
  return row && !jf_is_in_two(row);
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
