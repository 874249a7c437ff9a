/* What the records of ops say, as tables of Lua. */
#include "bind/bind.h"

static void set_names(lua_State *L, const char *key, const char *const *name, int n)
{
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushstring(L, name[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, key);
}

/* Sets the list of dtypes: of numbers, or, where an op takes no numbers, of blocks. */
static void set_dtypes(lua_State *L, unsigned dtypes)
{
  const char *name[JFL_N_DTYPE];
  int n = 0;
  for (int blocks = 0; blocks < 2 && !n; blocks++)
    for (int t = 0; t < JFL_N_DTYPE; t++)
      if (dtypes >> t & 1 && (jfl_dtype_numbers((jfl_dtype)t) > 1) == blocks)
        name[n++] = jfl_dtype_name((jfl_dtype)t);
  set_names(L, "dtypes", name, n);
}

void jf_set_param(lua_State *L, int i, const jfl_param *p)
{
  lua_createtable(L, 0, 4);
  jf_set_string(L, "name", p->name);
  jf_set_string(L, "type", p->type);
  jf_set_string(L, "default", p->def);
  jf_set_string(L, "doc", p->doc);
  lua_rawseti(L, -2, i + 1);
}

static void push_op(lua_State *L, const jfl_op *op, const jfl_op_info *i)
{
  lua_createtable(L, 0, 12);
  jf_set_string(L, "name", i->name);
  jf_set_string(L, "doc", i->doc);
  jf_set_string(L, "path", i->path);
  jf_set_string(L, "schedule", i->schedule);
  set_names(L, "inputs", i->in, i->n_in);
  set_names(L, "outputs", i->out, i->n_public);
  jf_set_flag(L, "variadic", i->variadic);
  jf_set_flag(L, "optional", i->optional);
  jf_set_flag(L, "many", i->many);
  jf_set_flag(L, "differentiable", i->differentiable);
  jf_set_flag(L, "random", i->random);
  jf_set_flag(L, "effect", i->effect);
  jf_set_flag(L, "elementwise", i->elementwise);
  jf_set_number(L, "key", i->key);
  set_dtypes(L, i->dtypes);
  lua_createtable(L, i->n_param, 0);
  for (int k = 0; k < i->n_param; k++) {
    jfl_param p;
    jfl_op_param(op, k, &p);
    jf_set_param(L, k, &p);
  }
  lua_setfield(L, -2, "params");
}

/* ops(): all of them by name. */
JF_LUA(ops)
{
  const int n = jfl_op_count();
  lua_newtable(L);
  for (int i = 0; i < n; i++) {
    jfl_op_info info;
    jfl_op_describe(jfl_op_at(i), &info);
    push_op(L, jfl_op_at(i), &info);
    lua_setfield(L, -2, info.name);
  }
  return 1;
}

/* op_paths(elementwise): the paths of those that have one by name; on request only of those that
   compute each element of the result from those at its place, and always the same. */
JF_LUA(op_paths)
{
  const int n = jfl_op_count(), elementwise = lua_toboolean(L, 1);
  lua_createtable(L, 0, n);
  for (int i = 0; i < n; i++) {
    jfl_op_info info;
    jfl_op_describe(jfl_op_at(i), &info);
    if (!info.path || (elementwise && (!info.elementwise || info.random))) continue;
    jf_set_string(L, info.name, info.path);
  }
  return 1;
}

/* schedules(): those that compute learning rates, as ops() gives them, in a list. */
JF_LUA(schedules)
{
  const int n = jfl_op_count();
  lua_newtable(L);
  for (int i = 0; i < n; i++) {
    jfl_op_info info;
    jfl_op_describe(jfl_op_at(i), &info);
    if (!info.schedule) continue;
    push_op(L, jfl_op_at(i), &info);
    lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
  }
  return 1;
}
