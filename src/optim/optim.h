/* Optimizers: one record each, and how a step of one becomes nodes of a graph. */
#ifndef JF_OPTIM_H
#define JF_OPTIM_H

#include "op/scalar.h"
#include "optim/update.h"

struct jf_step_of;

struct jfl_optimizer {
  jf_tag tag;
  const char *name, *doc;             /* "SGD" */
  const jf_attr *attr;                /* numbers and booleans */
  size_t attr_size;
  /* Fails if attributes in their ranges make no sense together; NULL: all do. */
  jfl_status (*check)(const void *attr);
  /* Gives the rule that a step with these attributes follows; NULL: they all follow `only`. */
  const jf_rule *(*rule)(const void *attr);
  const jf_rule *only;
  const char *text[3];         /* what its rules' scalars need (optim/rule.h); ended by NULL */
  /* Emits the step of one parameter, for optimizers whose step is more than the rule's formula: it
     may keep slots of any shape (jf_emit_slot), write them with the op assign, and give
     jf_emit_update another gradient. NULL: the step is the formula alone. */
  void (*emit)(jfl_graph *g, const struct jf_step_of *s);
};

/* Defines an optimizer. The build collects these lines, so they start in column 0. */
#define JFL_OPTIM(id, ...)             \
  extern const jfl_optimizer jf_optim_##id; \
  const jfl_optimizer jf_optim_##id = { .tag = JF_TAG_OPTIMIZER, .name = #id, __VA_ARGS__ };

extern const jfl_optimizer *const jf_optims[];   /* ended by NULL */
const jfl_optimizer *jf_optim_find(const char *name);

const jf_rule *jf_optim_rule(const jfl_optimizer *o, const void *attr);
/* Chooses optimizer o with the attributes in that struct. */
jf_optim_choice jf_optim_choose(jfl_graph *g, const jfl_optimizer *o, const void *attr);
/* The attribute of optimizers that decay weights; and a copy of attributes in which it is 0. */
#define JF_DECAY_ATTR "weight_decay"
const void *jf_optim_undecayed(jfl_graph *g, const jfl_optimizer *o, const void *attr);
/* Finds the optimizer's record by name unless a has it already, and reads the options in a. */
jfl_status jf_optim_read(jf_arena *arena, jf_optim_choice *a);

/* What the step of one parameter starts from. */
typedef struct jf_step_of {
  const jf_optim_choice *choice;
  jfl_value *param, *grad, *scalars;
  jfl_value *share;            /* of a moving average of the parameter; NULL: it has none */
} jf_step_of;
/* Emits the state variable of a slot; its shape may differ from the parameter's. */
jfl_value *jf_emit_slot(jfl_graph *g, const jfl_value *param, const jf_slot *slot,
                        const jfl_shape *shape);
/* Emits the update of one parameter and of the rule's slots by the rule's formula. */
void jf_emit_update(jfl_graph *g, const jf_step_of *s);
/* The attributes of an update; NULL if n is no update. */
const jf_update *jf_update_of(const jf_node *n);

#endif
