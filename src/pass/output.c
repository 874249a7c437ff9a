/* Gives every result memory of its own: a result that is an input, a variable, or in the memory of
   another result becomes a copy. Copies are made before the updates, so a train job returns values
   from before its step. */
#include "pass/pass.h"

jfl_status jf_pass_output(jfl_graph *g, const jf_target *target)
{
  (void)target;
  char *taken = jf_alloc(g->arena, (size_t)g->n_value);
  for (int i = 0; i < g->n_output; i++) {
    const jfl_value *r = jf_root(g->output[i]);
    jf_serve(g, g->output[i]->node);
    if (r->origin != JF_RESULT || taken[r->id])
      g->output[i] = JF_EMIT(g, identity, NULL, g->output[i]);
    else
      taken[r->id] = 1;
    jf_serve(g, NULL);
    if (g->err) return g->err;
  }
  return JFL_OK;
}
