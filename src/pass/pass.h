/* Passes: graph to graph. One file each; the ordered list is in table.c. */
#ifndef JF_PASS_H
#define JF_PASS_H

#include "dev/dev.h"
#include "op/constant.h"
#include "op/op.h"
#include "optim/optim.h"

/* What a graph is compiled for. */
typedef struct jf_target {
  jf_device *const *device; int n_device;    /* by place */
  int reference;  /* plain kernels only: passes that serve fast ones do nothing */
  unsigned off;                      /* bit i: pass i of the table is left out */
  /* What the session keeps a variable in, or NULL where it has no such one yet. */
  const jf_packing *(*variable)(const jfl_session *s, const jfl_variable_spec *v);
  /* Where it keeps it, or JF_DEFAULT_PLACE; both functions may be NULL. */
  int (*variable_place)(const jfl_session *s, const jfl_variable_spec *v);
  const jfl_session *session;
} jf_target;

typedef struct jf_pass {
  const char *name;
  jfl_status (*run)(jfl_graph *g, const jf_target *t);     /* NULL: something that the plan does */
  const char *needs;                 /* what it relies on from the passes before it */
  int optional;                      /* may be switched off: it changes speed alone */
} jf_pass;

extern const jf_pass jf_passes[];    /* ended by a NULL name */

/* Settles the place of each value and node before the passes: variables are where the session keeps
   them, inputs and arrays with the host, all that has no place yet at the one given. */
void jf_resolve_places(jfl_graph *g, int place, const jf_target *t);

/* Runs every pass in order, verifying the graph after each; JFL_DUMP=name prints it to stderr after
   that pass. */
jfl_status jf_run_passes(jfl_graph *g, const jf_target *t);
/* The name of the i-th pass that can be left out, and the bits of all passes of that name; NULL
   past the last. */
const char *jf_pass_optional(int i, unsigned *bits);
/* Reads a list of optional passes to leave out, "-fuse -cse"; "" is none. */
jfl_status jf_passes_off(const char *list, unsigned *off);
/* Whether the pass of that name is left out. */
int jf_pass_is_off(const char *name, unsigned off);

/* ---- rewriting a graph (rewrite.c) ---- */

/* How a value is used, itself and under other shapes: results of the job in its memory, and the
   last old node that reads it, or -1. */
typedef struct jf_use { int results, last; } jf_use;

/* A pass takes the nodes out of the graph, then keeps them one by one, or emits others and says
   what stands for the values it dropped. */
typedef struct jf_rewrite {
  jfl_graph *g;
  jf_node **old; int n_old;
  jfl_value **now; int n_value;      /* now[id]: what stands for a value of the old graph */
  int *uses;                         /* uses[id]: readers in the old graph; losses, results too */
  /* Made when jf_may_replace is first asked, which a pass that asks does before it replaces
     anything: by value id, its use, and the first old node that updates it, n_old if none does. */
  jf_use *use; int n_use, cap_use;
  int *update;
} jf_rewrite;
void jf_rewrite_begin(jfl_graph *g, jf_rewrite *r);
/* What stands for v now. */
jfl_value *jf_current(const jf_rewrite *r, const jfl_value *v);
/* From here on `by` stands for v, in nodes kept later and in the job's losses and results. */
void jf_replace(jf_rewrite *r, const jfl_value *v, jfl_value *by);
/* Whether `by` may stand for v, a value of an old node: results of the job keep memory of their
   own, and no variable is read after its update. */
int jf_may_replace(jf_rewrite *r, const jfl_value *v, const jfl_value *by);
/* Appends an old node, its inputs being what stands for them now. */
void jf_rewrite_keep(jf_rewrite *r, jf_node *n);
/* Puts what stands for them now in place of the job's losses and results. */
void jf_rewrite_end(jf_rewrite *r);

/* ---- tensors of one number (number.c) ---- */

/* Whether n's only output is one number throughout, which is then computed as a run would. */
int jf_compute_number(const jf_node *n, double *value);

/* ---- gradients (grad.c) ---- */

/* Emits the gradients of sum over i of sum(y[i] * dy[i]) with respect to x. adj[id] is then the
   adjoint of value id, or NULL where none flows; it holds n_value entries of the graph as it was at
   the call, all NULL. */
typedef struct jf_backward {
  jfl_value *const *y, *const *dy; int n;
  jfl_value *const *x; int n_x;
} jf_backward;
jfl_status jf_gradients(jfl_graph *g, const jf_backward *b, jfl_value **adj);

/* A constant of v's dtype and shape. */
jfl_value *jf_full_like(jfl_graph *g, const jfl_value *v, double value);

/* The passes, jf_pass_NAME: generated from their definitions. */
#include "gen/passlist.h"

#endif
