/* Fused programs in parallel. */
#include "op/fused.h"

#include "tiles.h"

static jfl_status fast_fused_prepare(jf_kargs *k, size_t *scratch)
{
  jf_machine *m = jf_machine_new(k->attr, jf_vec_tile);
  if (!m) return jf_fail(JFL_ENOMEM, "out of memory");
  *scratch = jf_machine_scratch(m);
  k->state = m;
  return JFL_OK;
}

static jfl_status fast_fused_run(const jf_kargs *k)
{
  jf_machine_run(k->state, k);
  return JFL_OK;
}

JFL_CPU(vec_fused, .op = "fused", .prepare = fast_fused_prepare, .run = fast_fused_run,
        .release = jf_free, .priority = 10)
