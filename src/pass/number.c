/* Computes tensors that are one number throughout at compile time, with the kernels that a run
   would use. */
#include "pass/pass.h"
#include "system/system.h"

#include <string.h>

/* One element of any dtype. */
typedef union cell { double f64; int64_t i64; char bytes[8]; } cell;

static const jfl_shape one = { 1, { 1 } };
enum { INPUTS = 3 };

static int number_run(const jfl_op *op, const void *attr, jf_tensor *in, int n_in, jf_tensor *out)
{
  jf_kargs k = { .in = in, .out = out, .n_in = n_in, .n_out = 1, .attr = attr, .threads = 1,
                 .op = op };
  const jfl_dtype t = jf_call_key(op, &k);
  return op->cpu && op->cpu[t] && !op->cpu[t](&k);
}

/* Gives the element as a double; returns 0 if a double cannot hold it exactly. */
static int number_load(const jf_tensor *from, double *value)
{
  cell back = { 0 };
  *value = jfl_number_get(from->dtype, from->data, 0);
  jfl_number_put(from->dtype, &back, 0, *value);
  return !memcmp(&back, from->data, jfl_dtype_size(from->dtype));
}

/* Runs the op's plain kernel on inputs of n that are one number each. */
static int number_compute(const jf_node *n, int n_in, const double *v, double *value)
{
  cell x[INPUTS], y = { 0 };
  jf_tensor in[INPUTS], out = { .data = &y, .dtype = n->out[0]->dtype, .shape = one };
  for (int k = 0; k < n_in; k++) {
    in[k] = (jf_tensor){ .data = &x[k], .dtype = n->in[k]->dtype, .shape = one };
    jfl_number_put(in[k].dtype, &x[k], 0, v[k]);
  }
  const unsigned mode = jf_float_usual();
  const int ran = number_run(n->op, n->attr, in, n_in, &out);
  jf_float_restore(mode);
  return !jf_loops_whole(JFL_OK) && ran && number_load(&out, value);
}

int jf_compute_number(const jf_node *n, double *value)
{
  double x[INPUTS] = { 0 };
  if (n->op->flags & JF_FILLS) return number_compute(n, 0, x, value);
  if (n->op->flags & (JF_MOVES | JF_VIEW)) return jf_number(n->in[0], value);
  if (n->op->line || !jf_is_pointwise(n->op) || !n->n_in || n->n_in > INPUTS) return 0;
  for (int k = 0; k < n->n_in; k++)
    if (!jf_number(n->in[k], &x[k])) return 0;
  return number_compute(n, n->n_in, x, value);
}
