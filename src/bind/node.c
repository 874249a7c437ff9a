/* What a graph consists of, as plain tables of Lua. */
#include "bind/bind.h"

static void node_drop_arguments(void *arg) { jfl_arguments_free(arg); }

/* Sets a field of the table on top to an argument's value; one that was left out sets none. */
static void node_set_argument(lua_State *L, const jfl_arg *a)
{
  switch (a->kind) {
  case JFL_ARG_NUMBER: lua_pushnumber(L, a->number); break;
  case JFL_ARG_BOOL: lua_pushboolean(L, a->number != 0); break;
  case JFL_ARG_STRING: lua_pushstring(L, a->string); break;
  case JFL_ARG_LIST:
    lua_createtable(L, a->n_list, 0);
    for (int i = 0; i < a->n_list; i++) {
      lua_pushnumber(L, a->list[i]);
      lua_rawseti(L, -2, i + 1);
    }
    break;
  case JFL_ARG_ARRAY: jf_set_array(jf_push_array(L), jfl_array_ref((jfl_array *)a->array)); break;
  }
  lua_setfield(L, -2, a->name);
}

/* Sets the field `attributes` of the table on top. */
static void node_set_attributes(lua_State *L, const jfl_graph *g, int i)
{
  const jfl_arg *arg;
  int n;
  jf_holder *h = jf_push_holder(L, node_drop_arguments);
  jf_check(L, jfl_graph_arguments(g, i, &arg, &n));
  h->p = (jfl_arg *)arg;
  lua_createtable(L, 0, n);
  for (int k = 0; k < n; k++) node_set_argument(L, &arg[k]);
  lua_setfield(L, -3, "attributes");
  lua_pop(L, 1);
}

/* The table at `values` has that of each value under its address. Pushes that of v, made where
   there is none yet: { name=, dtype=, shape=, line= }, and of a variable { trainable= } too. */
static void node_push_value(lua_State *L, int values, jfl_value *v)
{
  lua_pushlightuserdata(L, v);
  lua_rawget(L, values);
  if (!lua_isnil(L, -1)) return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 5);
  jf_set_string(L, "name", jfl_value_name(v));
  jf_set_string(L, "dtype", jfl_dtype_name(jfl_value_dtype(v)));
  jf_set_string(L, "line", jfl_value_line(v));
  jf_push_shape_of(L, jfl_value_dtype(v), jfl_value_shape(v));
  lua_setfield(L, -2, "shape");
  const jfl_variable_spec *spec = jfl_value_variable(v);
  if (spec) {
    jf_set_flag(L, "trainable", spec->trainable);
  }
  lua_pushlightuserdata(L, v);
  lua_pushvalue(L, -2);
  lua_rawset(L, values);
}

/* Sets a field of the table on top to a list of n values. */
static void node_set_values(lua_State *L, const char *key, int values, jfl_value *const *v, int n)
{
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    node_push_value(L, values, v[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, key);
}

static void node_push(lua_State *L, int values, const jfl_graph *g, int i)
{
  jfl_node node;
  jf_check(L, jfl_graph_node(g, i, &node));
  lua_createtable(L, 0, 6);
  jf_set_string(L, "op", node.op);
  jf_set_string(L, "name", node.name);
  jf_set_string(L, "line", jfl_graph_node_line(g, i));
  node_set_attributes(L, g, i);
  node_set_values(L, "inputs", values, node.in, node.n_in);
  node_set_values(L, "outputs", values, node.out, node.n_out);
}

/* Sets a field of the table on top to the list of the graph's values of an origin. */
static void node_set_origin(lua_State *L, const char *key, int values, jfl_graph *g,
                            jfl_origin origin)
{
  int n = 0;
  lua_newtable(L);
  for (int i = 0; jfl_graph_value(g, i); i++) {
    if (jfl_value_origin(jfl_graph_value(g, i)) != origin) continue;
    node_push_value(L, values, jfl_graph_value(g, i));
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, key);
}

/* graph_parts(graph): { inputs=, variables=, nodes=, results= }, in the order of the description,
   as the graph is now. A value is one table wherever it stands; names are unique. */
JF_LUA(graph_parts)
{
  jfl_graph *g = jf_need_graph(L, 1, "graph_parts")->graph;
  const int n = jfl_graph_nodes(g);
  lua_settop(L, 1);
  luaL_checkstack(L, 32, NULL);
  lua_newtable(L);
  const int values = lua_gettop(L);
  lua_createtable(L, 0, 4);
  node_set_origin(L, "inputs", values, g, JFL_IS_INPUT);
  node_set_origin(L, "variables", values, g, JFL_IS_VARIABLE);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    node_push(L, values, g, i);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "nodes");
  lua_newtable(L);
  for (int i = 0; jfl_graph_result(g, i); i++) {
    node_push_value(L, values, jfl_graph_result(g, i));
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "results");
  return 1;
}
