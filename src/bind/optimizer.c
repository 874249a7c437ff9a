/* Optimizers and the learning rates of jobs. */
#include "bind/bind.h"

#include <limits.h>

static void push_optimizer(lua_State *L, const jfl_optimizer *o)
{
  jfl_optimizer_info info;
  jfl_param p;
  jfl_optimizer_describe(o, &info);
  lua_createtable(L, 0, 3);
  jf_set_string(L, "name", info.name);
  jf_set_string(L, "doc", info.doc);
  lua_createtable(L, info.n_param, 0);
  for (int i = 0; i < info.n_param; i++) {
    jfl_optimizer_param(o, i, &p);
    jf_set_param(L, i, &p);
  }
  lua_setfield(L, -2, "params");
}

/* optimizers() -> a list of { name=, doc=, params= } */
JF_LUA(optimizers)
{
  lua_createtable(L, jfl_optimizer_count(), 0);
  for (int i = 0; i < jfl_optimizer_count(); i++) {
    push_optimizer(L, jfl_optimizer_at(i));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* optimizer_check(name, options): fails where the optimizer does not take the options. */
JF_LUA(optimizer_check)
{
  const char *name = jf_need_string(L, 1, "optimizer_check", "name");
  int n = 0;
  const jfl_arg *arg = jf_read_args(L, 2, name, &n);
  const jfl_optimizer *o = jfl_optimizer_find(name);
  if (!o) jf_raise(L, "unknown optimizer '%s'", name);
  jf_check(L, jfl_optimizer_check(o, arg, n));
  return 0;
}

/* schedule_rate(op, options, step) */
JF_LUA(schedule_rate)
{
  const char *name = jf_need_string(L, 1, "schedule_rate", "op");
  const jfl_op *op = jfl_op_find(name);
  if (!op) jf_raise(L, "schedule_rate: op must be a schedule, got '%s'", name);
  double rate = 0;
  int64_t step = jf_need_whole(L, 3, "schedule_rate", "step", 0, 0x1p53);
  int n = 0;
  const jfl_arg *arg = jf_read_args(L, 2, name, &n);
  jf_check(L, jfl_schedule_rate(op, arg, n, step, &rate));
  lua_pushnumber(L, rate);
  return 1;
}

/* The optimizer at argument 2, from 1. */
static int need_index(lua_State *L, const char *who)
{
  return (int)jf_need_whole(L, 2, who, "optimizer", 1, INT_MAX) - 1;
}

/* plan_rate(plan, optimizer) */
JF_LUA(plan_rate)
{
  jf_lplan *p = jf_need_plan(L, 1, "plan_rate");
  double rate = 0;
  jf_check(L, jfl_plan_rate(p->plan, need_index(L, "plan_rate"), &rate));
  lua_pushnumber(L, rate);
  return 1;
}

/* plan_rate_set(plan, optimizer): the rate that the host has set, or nil. */
JF_LUA(plan_rate_set)
{
  jf_lplan *p = jf_need_plan(L, 1, "plan_rate_set");
  double rate = 0;
  int is_set = 0;
  jf_check(L, jfl_plan_rate_set(p->plan, need_index(L, "plan_rate_set"), &is_set, &rate));
  if (is_set) lua_pushnumber(L, rate);
  else lua_pushnil(L);
  return 1;
}

/* plan_set_rate(plan, optimizer, rate | nil) */
JF_LUA(plan_set_rate)
{
  jf_lplan *p = jf_need_plan(L, 1, "plan_set_rate");
  const int none = lua_isnoneornil(L, 3), i = need_index(L, "plan_set_rate");
  const double rate = none ? 0 : jf_need_number(L, 3, "plan_set_rate", "rate");
  jf_check(L, jfl_plan_set_rate(p->plan, i, none ? NULL : &rate));
  return 0;
}
