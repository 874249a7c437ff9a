/* What the steps of a plan cost, for those who reckon how long runs take. */
#include "plan/plan.h"

static double cost_bytes(const jfl_value *v)
{
  return (double)jf_numel(&v->shape) * (double)jfl_dtype_size(v->dtype);
}

/* Bytes that a step reads and writes; a value that several of its inputs are is read once. */
static double cost_moved(const jf_step *st)
{
  const jf_node *n = st->node;
  double bytes = jf_call_bytes(&st->k);
  for (int i = 1; i < n->n_in; i++)
    if (jf_reads_before(n, i)) bytes -= cost_bytes(n->in[i]);
  return bytes;
}

/* Whether step n changes a variable by its input i, which follows the variable. */
static int cost_is_gradient(const jf_node *n, int i)
{
  return i > 0 && n->op->flags & JF_EFFECT && jf_mutates(n, i - 1) && !jf_mutates(n, i) &&
         jf_numel(&n->in[i]->shape) == jf_numel(&n->in[i - 1]->shape);
}

/* Bytes of a step's results that later steps take as gradients, directly or through views. */
static double cost_gradients(const jfl_plan *p, int step)
{
  double bytes = 0;
  const jf_node *from = p->step[step].node;
  for (int s = step + 1; s < p->n_step; s++) {
    const jf_node *n = p->step[s].node;
    for (int i = 1; n->op->flags & JF_EFFECT && i < n->n_in; i++)
      if (cost_is_gradient(n, i) && jf_root(n->in[i])->node == from) bytes += cost_bytes(n->in[i]);
  }
  return bytes;
}

int jfl_plan_steps(const jfl_plan *p) { return JF_IS(PLAN, p) ? p->n_step : 0; }

jfl_status jfl_plan_step_at(const jfl_plan *p, int i, jfl_plan_step *out)
{
  JF_NEED(PLAN, p);
  JF_NEED_BELOW(i, p->n_step);
  JF_NEED_POINTER(out);
  const jf_step *st = &p->step[i];
  const jf_node *n = st->node;
  *out = (jfl_plan_step){
    .op = jf_node_title(n), .name = n->name, .kernel = jf_step_kernel(st),
    .device = p->part[st->place].device->name, .flop = n->op->flop ? n->op->flop(&st->k) : 0,
    .bytes = cost_moved(st), .gradient = cost_gradients(p, i), .updates = jf_updates(n),
  };
  for (int k = 0; k < n->n_in; k++)
    if (jf_root(n->in[k])->origin == JF_VARIABLE || cost_is_gradient(n, k))
      out->still += cost_bytes(n->in[k]);
  out->still += out->gradient;
  return JFL_OK;
}

jfl_status jfl_plan_memory(const jfl_plan *p, double *variables, double *temporaries)
{
  JF_NEED(PLAN, p);
  JF_NEED_POINTERS(variables, temporaries);
  *variables = 0;
  for (int i = 0; i < p->n_variable; i++) *variables += cost_bytes(p->variable[i]);
  *temporaries = (double)p->arena_size;
  return JFL_OK;
}
