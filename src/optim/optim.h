/* Optimizers: hyper-parameters, and how one parameter's update is emitted. */
#ifndef JF_OPTIM_H
#define JF_OPTIM_H

#include "op/op.h"

/* What emit sees for one trained variable. */
typedef struct jf_update {
  jfl_graph *g;
  const void *attr;                   /* the optimizer's attribute struct */
  jfl_value *param, *grad, *lr;       /* lr: float64 (1) */
  jfl_value *scale;                   /* what gradients are multiplied by, float64 (1); NULL: 1 */
} jf_update;

typedef struct jf_optim {
  const char *name, *doc;             /* "SGD" */
  const jf_attr *attr;
  size_t attr_size;
  void (*emit)(const jf_update *u);
} jf_optim;

/* Defines an optimizer. The build collects these lines, so they start in column 0. */
#define JFL_OPTIM(id, ...)             \
  extern const jf_optim jf_optim_##id; \
  const jf_optim jf_optim_##id = { .name = #id, __VA_ARGS__ };

extern const jf_optim *const jf_optims[];   /* NULL-terminated */
const jf_optim *jf_optim_find(const char *name);

/* Emits an update op. Each slot is a variable "<param>-<slot>" of the parameter's shape that starts
   at zero, named after the op's input. */
void jf_emit_update(const jf_update *u, const jfl_op *op, const void *attr);

#endif
