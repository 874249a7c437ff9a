/* Optimizers: one record each, and how a step of one becomes nodes of a graph. */
#ifndef JF_OPTIM_H
#define JF_OPTIM_H

#include "op/op.h"
#include "optim/update.h"

struct jf_step_of;

struct jfl_optimizer {
  const char *name, *doc;             /* "SGD" */
  const jf_attr *attr;                /* numbers and booleans */
  size_t attr_size;
  /* Fails where the attributes make no sense together; NULL: all do. */
  jfl_status (*check)(const void *attr);
  /* The formula that a step with these attributes follows. */
  const jf_rule *(*rule)(const void *attr);
  /* Sets the rule's scalars from JF_FIRST_SCALAR on, and may change the rate, for step t, the first
     being 1; NULL: there is nothing to set. */
  void (*scalars)(const void *attr, int64_t t, double *scalar);
  /* Emits the step of a parameter that is more than one formula: it may keep slots of any shape
     (jf_emit_slot), write them by the op assign, and give jf_emit_update another gradient. NULL:
     the step is the formula. */
  void (*emit)(jfl_graph *g, const struct jf_step_of *s);
};

/* Defines an optimizer. The build collects these lines, so they start in column 0. */
#define JFL_OPTIM(id, ...)             \
  extern const jfl_optimizer jf_optim_##id; \
  const jfl_optimizer jf_optim_##id = { .name = #id, __VA_ARGS__ };

extern const jfl_optimizer *const jf_optims[];   /* ended by NULL */
const jfl_optimizer *jf_optim_find(const char *name);

/* The choice of o with that attribute struct. */
jf_optim_choice jf_optim_choose(jfl_graph *g, const jfl_optimizer *o, const void *attr);
/* Finds the record, where a has none yet, and reads the options that a says. */
jfl_status jf_optim_read(jf_arena *arena, jf_optim_choice *a);

/* What the step of one parameter reads. */
typedef struct jf_step_of {
  const jf_optim_choice *choice;
  jfl_value *param, *grad, *scalars;
} jf_step_of;
/* The state variable of a slot, of a shape that may be other than the parameter's. */
jfl_value *jf_emit_slot(jfl_graph *g, const jfl_value *param, const jf_slot *slot,
                        const jfl_shape *shape);
/* Emits the update of one parameter by the formula, with the slots of that. */
void jf_emit_update(jfl_graph *g, const jf_step_of *s);
/* The attributes of an update, or NULL where n is none. */
const jf_update *jf_update_of(const jf_node *n);

#endif
