/* Ops on a few numbers: what their kernels share. */
#include "op/scalar.h"

int jf_scalar_tensors(const jf_kargs *k, void **at)
{
  int n = 0;
  for (int i = 0; i < k->n_in; i++) at[n++] = k->in[i].data;
  for (int i = 0; i < k->n_out; i++) at[n++] = k->out[i].data;
  return n;
}

jfl_status jf_scalar_check(const jf_infer *c)
{
  const int most = JF_SMALL_TENSORS - JF_MAXOUT;
  if (c->n_in <= most) return JFL_OK;
  return jf_fail(JFL_EINVAL, "inputs must be at most %d tensors, got %d", most, c->n_in);
}
