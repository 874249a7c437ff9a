/* The optimizer table, and what optimizers share. */
#include "optim/optim.h"

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

jfl_value *jf_slot(const jf_update *u, const char *name)
{
  const jfl_value *p = u->param;
  const char *full = jf_sprintf(u->g->arena, "%s-%s", p->name, name);
  return jf_state_variable(u->g, full, p->dtype, &p->shape);
}
