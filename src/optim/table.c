/* The tables of optimizers and of their slots, and reading the attributes by which ops name an
   optimizer. */
#include "optim/optim.h"

#include <assert.h>
#include <string.h>

#define OPTIM(id) extern const jfl_optimizer jf_optim_##id;
#include "gen/optimlist.h"
#undef OPTIM

const jfl_optimizer *const jf_optims[] = {
#define OPTIM(id) &jf_optim_##id,
#include "gen/optimlist.h"
#undef OPTIM
  NULL
};

const jfl_optimizer *jf_optim_find(const char *name)
{
  for (const jfl_optimizer *const *o = jf_optims; *o; o++)
    if (!strcmp((*o)->name, name)) return *o;
  return NULL;
}

/* ---- slots ---- */

#define RULE(id) extern const jf_slot *const jf_slots_of_##id;
#include "gen/rulelist.h"
#undef RULE

static const jf_slot *const *const slots[] = {
#define RULE(id) &jf_slots_of_##id,
#include "gen/rulelist.h"
#undef RULE
};

const jf_slot jf_accumulated = { "accumulated", JFL_N_DTYPE, 0 };

int jf_is_slot(const char *name)
{
  for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
    for (const jf_slot *s = *slots[i]; s->name; s++)
      if (!strcmp(s->name, name)) return 1;
  return !strcmp(jf_accumulated.name, name);
}

/* ---- attributes ---- */

static double optim_number(const jf_attr *a, const void *attr)
{
  const char *p = (const char *)attr + a->off;
  assert(a->type == JF_ATTR_NUM || a->type == JF_ATTR_BOOL);
  return a->type == JF_ATTR_NUM ? *(const double *)(const void *)p : *(const int *)(const void *)p;
}

const jf_rule *jf_optim_rule(const jfl_optimizer *o, const void *attr)
{
  return o->rule ? o->rule(attr) : o->only;
}

jf_optim_choice jf_optim_choose(jfl_graph *g, const jfl_optimizer *o, const void *attr)
{
  const int n = jf_attr_count(o->attr);
  double *v = jf_alloc(g->arena, (size_t)n * sizeof *v);
  for (int i = 0; i < n; i++) v[i] = optim_number(&o->attr[i], attr);
  return (jf_optim_choice){ o->name, { n, v }, o, attr, jf_optim_rule(o, attr) };
}

const void *jf_optim_undecayed(jfl_graph *g, const jfl_optimizer *o, const void *attr)
{
  char *copy = jf_attr_copy(g->arena, o->attr, o->attr_size, attr);
  for (const jf_attr *a = o->attr; a->name; a++)
    if (!strcmp(a->name, JF_DECAY_ATTR)) *(double *)(void *)(copy + a->off) = 0;
  return copy;
}

jfl_status jf_optim_read(jf_arena *arena, jf_optim_choice *a)
{
  const jfl_optimizer *o = a->optim ? a->optim : jf_optim_find(a->optimizer);
  if (!o)
    return jf_fail_argument(JFL_ENAME, "optimizer", "must be one of the optimizers, got '%.60s'",
                            a->optimizer);
  if (a->options.n > jf_attr_count(o->attr))
    return jf_fail_argument(JFL_EINVAL, "options", "must be the %d numbers of %s, got %d",
                            jf_attr_count(o->attr), o->name, a->options.n);
  jfl_arg *arg = jf_alloc(arena, (size_t)a->options.n * sizeof *arg);
  for (int i = 0; i < a->options.n; i++)
    arg[i] = (jfl_arg){ .name = o->attr[i].name, .number = a->options.v[i],
                        .kind = o->attr[i].type == JF_ATTR_BOOL ? JFL_ARG_BOOL : JFL_ARG_NUMBER };
  void *attr = jf_alloc(arena, o->attr_size);
  JF_TRY(jf_attr_read(arena, NULL, o->attr, arg, a->options.n, attr));
  a->optim = o;
  a->attr = attr;
  a->rule = jf_optim_rule(o, attr);
  return JFL_OK;
}
