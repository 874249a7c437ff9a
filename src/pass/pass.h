/* Passes: graph to graph. One file each; the ordered list is in table.c. */
#ifndef JF_PASS_H
#define JF_PASS_H

#include "choose/choose.h"
#include "op/constant.h"
#include "op/op.h"
#include "optim/optim.h"

/* What a graph is compiled for. */
typedef struct jf_target {
  jf_device *const *device; int n_device;    /* by place */
  jf_chooser *chooser;               /* the plan's, which says what serves a call; its devices are
                                        these */
  int place;                         /* of what the body puts on no device */
  uint64_t off;                      /* bit i: pass i of the table is left out */
  jf_group *const *group; int n_group;       /* by place less JF_GROUPS */
  int rank, n_rank;                  /* of this process, among how many; n_rank 0: it is alone */
  int net;                           /* the place of what exchanges data with other processes, if
                                        there are any */
  /* Gives the packing in which the session keeps the variable, or the piece of one, that a value
     is; NULL if it does not have it yet. */
  const jf_packing *(*variable)(const jfl_session *s, const jfl_value *v);
  /* Gives the place of that variable, or JF_DEFAULT_PLACE, and how it lies there. Both functions
     may be NULL. */
  int (*variable_place)(const jfl_session *s, const jfl_variable_spec *v, jfl_distribution *d);
  const jfl_session *session;
  /* Gives the place of the group which has the members of a place so many times; settles with other
     ranks how they run the job together. Both may change the lists above. NULL: there are no
     micro-batches, or no other ranks. */
  jfl_status (*repeated)(void *host, int place, int turns, int *out);
  jfl_status (*join)(void *host);
  void *host;
} jf_target;

/* Passes that may be switched off, as they change nothing but speed. JF_MERGES: it makes several
   ops one step, so that values between them are seen no more. */
enum { JF_OPTIONAL_PASS = 1, JF_MERGES };

typedef struct jf_pass {
  const char *name;
  jfl_status (*run)(jfl_graph *g, const jf_target *t);     /* NULL: the plan does it */
  const char *needs;                 /* what it relies on from earlier passes */
  int optional;                      /* JF_OPTIONAL_PASS, JF_MERGES, or 0 */
} jf_pass;

extern const jf_pass jf_passes[];    /* ended by a NULL name */

/* Puts variables where the session keeps them, also those that a pass has added since. */
void jf_keep_places(jfl_graph *g, const jf_target *t);

/* Whether a value or a node is on a group of devices. */
int jf_uses_groups(const jfl_graph *g);

/* Runs every pass in order and verifies the graph after each. JFL_DUMP=name prints the graph to
   stderr after that pass. */
jfl_status jf_run_passes(jfl_graph *g, const jf_target *t);
/* The name of optional pass number i, and the bits of all passes of that name; NULL past the
   last. */
const char *jf_pass_optional(int i, uint64_t *bits);
/* Reads a list of optional passes to leave out, such as "-fuse -cse"; "" leaves out none. */
jfl_status jf_passes_off(const char *list, uint64_t *off);
/* The passes that make several ops one step, after which values between them are seen no more. */
uint64_t jf_passes_merging(void);
/* Whether the pass of that name is left out. */
int jf_pass_is_off(const char *name, uint64_t off);

/* ---- rewriting a graph (rewrite.c) ---- */

/* How a value is used, directly and through views: how many results of the job are in its memory,
   and the last old node that reads it, or -1. */
typedef struct jf_use { int results, last; } jf_use;

/* A rewrite: a pass takes all nodes out of the graph, then keeps them one by one or emits others,
   and says which values replace those that it dropped. */
typedef struct jf_rewrite {
  jfl_graph *g;
  jf_node **old; int n_old;
  int next;                          /* number of the old node that jf_rewrite_next gives next */
  jfl_value **now; int n_value;      /* now[id]: the value that replaces a value of the old graph */
  int *uses;                         /* uses[id]: its readers, plus results and losses */
  int *reader;                       /* reader[id]: the last old node that reads it, or -1 */
  /* Made when jf_may_replace is called first, which must be before anything is replaced. By value
     id: its use, and the first old node that updates it (n_old: none). */
  jf_use *use; int n_use, cap_use;
  int *update;
} jf_rewrite;
void jf_rewrite_begin(jfl_graph *g, jf_rewrite *r);
/* The next old node; NULL after the last, or once the graph has an error. What is added until the
   next call is made for that node and inherits its source, unless the pass says otherwise. */
jf_node *jf_rewrite_next(jf_rewrite *r);
/* By value id: whether it depends on variables alone; NULL if the graph changes variables. */
char *jf_still_values(const jfl_graph *g);
/* The value that replaces v, or v itself. */
jfl_value *jf_current(const jf_rewrite *r, const jfl_value *v);
/* The node that makes v, if v has one reader; else NULL. */
const jf_node *jf_sole_maker(const jf_rewrite *r, const jfl_value *v);
/* Makes `by` replace v, in nodes that are kept from now on and in the job's losses and results. */
void jf_replace(jf_rewrite *r, const jfl_value *v, jfl_value *by);
/* Whether `by` may replace v, a value of an old node, so that results of the job keep memory of
   their own and no variable is read after its update. */
int jf_may_replace(jf_rewrite *r, const jfl_value *v, const jfl_value *by);
/* Appends an old node, with its inputs replaced. */
void jf_rewrite_keep(jf_rewrite *r, jf_node *n);
/* Makes emitted values replace the results of an old node, whose name the first one's node gets. */
void jf_rewrite_as(jf_rewrite *r, const jf_node *n, jfl_value *const *out);
/* Replaces the job's losses and results. */
void jf_rewrite_end(jf_rewrite *r);

/* Whether v has a number for each index of that axis of shape s, and else broadcasts to it. */
int jf_runs_along(const jfl_value *v, const jfl_shape *s, int axis);
/* Whether a node of g changes a variable. */
int jf_changes_variables(const jfl_graph *g);

/* ---- values that are computed again (recompute.c) ---- */

/* Whether two nodes may become one. They may not if they are for different parts of the batch, or
   if a value of a region would then be kept, or computed again before the gradients need it. */
int jf_may_join(const jf_node *a, const jf_node *b);

/* ---- floats of 16 bits (halves.c) ---- */

/* The row that will serve n if it is made with these tensors and attributes, or NULL. */
const jf_kernel_row *jf_row_for(const jf_target *t, const jf_node *n, const jf_kargs *k);
/* The node as a call, with tensors that may be changed. */
jf_kargs jf_call_of(jf_arena *a, const jf_node *n);
/* The call that a node like n is once its inputs of `halves` (bit i: input i) are of that dtype;
   fails where its op takes no such call. n may have no outputs yet. */
jfl_status jf_call_as(jf_arena *a, const jf_node *n, unsigned halves, jfl_dtype half,
                      jf_kargs *out);
/* Whether one step does what a node like n would at its place, as mixed precision will have it:
   with results in 16 bits or, if `wide`, in float32. n has no outputs. */
int jf_is_one_step(const jf_target *t, const jf_node *n, int wide);
/* Emits a conversion of v, which looks like v to later passes. */
jfl_value *jf_emit_cast(jfl_graph *g, jfl_value *v, jfl_dtype to);

/* ---- tensors of one number (number.c) ---- */

/* Whether n's only output is one number throughout; if so, computes the number as a run would. */
int jf_compute_number(const jf_node *n, double *value);

/* ---- gradients (grad.c) ---- */

/* Emits the gradients of sum over i of sum(y[i] * dy[i]) with respect to x. adj[id] becomes the
   gradient of value id, or NULL if it has none. adj must hold n_value entries, all NULL: those of
   the graph at the time of the call. */
typedef struct jf_backward {
  jfl_value *const *y, *const *dy; int n;
  jfl_value *const *x; int n_x;
} jf_backward;
jfl_status jf_gradients(jfl_graph *g, const jf_backward *b, jfl_value **adj);

/* Emits a constant of v's dtype and shape. */
jfl_value *jf_full_like(jfl_graph *g, const jfl_value *v, double value);

/* The passes by symbol, jf_pass_NAME, which the build finds by their definitions. */
#include "gen/passlist.h"

#endif
