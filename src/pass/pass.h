/* Passes: graph to graph. One file each; the ordered list is in table.c. */
#ifndef JF_PASS_H
#define JF_PASS_H

#include "op/op.h"
#include "optim/optim.h"

typedef struct jf_pass {
  const char *name;
  jfl_status (*run)(jfl_graph *g);
  const char *needs;                 /* what it relies on from the passes before it */
} jf_pass;

extern const jf_pass jf_passes[];    /* ended by a NULL name */

/* Runs every pass in order, verifying the graph after each; JFL_DUMP=name prints it to stderr after
   that pass. */
jfl_status jf_run_passes(jfl_graph *g);

/* Emits the gradients of sum over i of sum(y[i] * dy[i]) with respect to x. adj[id] is then the adjoint
   of value id, or NULL where none flows; it holds n_value entries of the graph as it was at the call,
   all NULL. */
typedef struct jf_backward {
  jfl_value *const *y, *const *dy; int n;
  jfl_value *const *x; int n_x;
} jf_backward;
jfl_status jf_gradients(jfl_graph *g, const jf_backward *b, jfl_value **adj);

/* A constant of v's dtype and shape. */
jfl_value *jf_full_like(jfl_graph *g, const jfl_value *v, double value);

jfl_status jf_pass_grad(jfl_graph *g);
jfl_status jf_pass_update(jfl_graph *g);
jfl_status jf_pass_output(jfl_graph *g);
jfl_status jf_pass_dce(jfl_graph *g);

#endif
