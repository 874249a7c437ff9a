/* The optimizer table, and what optimizers share. */
#include "optim/optim.h"
#include "op/update.h"

#include <string.h>

#define OPTIM(id) extern const jf_optim jf_optim_##id;
#include "gen/optimlist.h"
#undef OPTIM

const jf_optim *const jf_optims[] = {
#define OPTIM(id) &jf_optim_##id,
#include "gen/optimlist.h"
#undef OPTIM
  NULL
};

const jf_optim *jf_optim_find(const char *name)
{
  for (const jf_optim *const *o = jf_optims; *o; o++)
    if (!strcmp((*o)->name, name)) return *o;
  return NULL;
}

static jfl_value *optim_table_slot(const jf_update *u, const char *name)
{
  const jfl_value *p = u->param;
  const char *full = jf_sprintf(u->g->arena, "%s-%s", p->name, name);
  return jf_state_variable(u->g, full, p->dtype, &p->shape);
}

void jf_emit_update(const jf_update *u, const jfl_op *op, const void *attr)
{
  jfl_value *in[JF_MAXIN] = { u->param, u->grad, u->lr };
  size_t n = 3;
  for (int i = 0; i < jf_update_slots(op); i++, n++) in[n] = optim_table_slot(u, op->in[n]);
  if (u->scale) in[n++] = u->scale;
  jf_emit(u->g, op, attr, in, n);
}
