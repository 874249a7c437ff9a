/* The devices that values of a traced graph lie on, and the mirrored view, in Lua. */
#include "bind/bind.h"

#include <string.h>

static const char *const words[] = { "auto", "broadcast", "split", "partial", "mirrored" };

/* members(graph): the name of the place where things are added now, how many devices it has, and
   how many of them are this process's. */
JF_LUA(members)
{
  jfl_members m;
  jf_check(L, jfl_graph_members(jf_need_graph(L, 1, "members")->graph, jf_session(L), &m));
  lua_pushstring(L, m.name);
  lua_pushinteger(L, m.n);
  lua_pushinteger(L, m.n_here);
  return 3;
}

/* mirror(graph, on): whether what the graph gets from here on is in the mirrored view. */
JF_LUA(mirror)
{
  jf_check(L, jfl_graph_mirror(jf_need_graph(L, 1, "mirror")->graph, lua_toboolean(L, 2)));
  return 0;
}

/* change_view(graph, blob, mirrored): the blob in that view. */
JF_LUA(change_view)
{
  const jf_lgraph *g = jf_need_graph(L, 1, "change_view");
  jfl_value *v = jf_need_blob(L, 2, g, "cast_to_current_logical_view: blob")->value;
  lua_getfenv(L, 1);
  jf_lblob *b = jf_push_blob(L, lua_gettop(L));
  jf_set_line(L, g->graph);
  jf_check(L, jfl_graph_change_view(g->graph, jf_session(L), v, lua_toboolean(L, 3), &b->value));
  return 1;
}

/* distribute(blob, word, axis): how an input or a variable lies on several devices. */
JF_LUA(distribute)
{
  const jf_lblob *b = jf_need_blob(L, 1, NULL, "distribute: argument 1");
  const char *name = jf_need_string(L, 2, "distribute", "distribution");
  jfl_distribution d = { JFL_AUTO, 0 };
  while (d.kind <= JFL_MIRRORED && strcmp(name, words[d.kind])) d.kind++;
  if (d.kind > JFL_MIRRORED)
    jf_raise(L, "distribute: distribution must be auto, broadcast, split or mirrored, got '%s'",
             name);
  if (d.kind == JFL_SPLIT) d.axis = (int)jf_need_number(L, 3, "distribute", "axis");
  jf_check(L, jfl_value_distribute(b->value, d));
  return 0;
}

/* distribution(blob): how it lies, and along which axis where it is split. */
JF_LUA(distribution)
{
  const jf_lblob *b = jf_need_blob(L, 1, NULL, "distribution: argument 1");
  jfl_distribution d = jfl_value_distribution(b->value);
  lua_pushstring(L, words[d.kind]);
  if (d.kind != JFL_SPLIT) return 1;
  lua_pushinteger(L, d.axis);
  return 2;
}

/* value_place(blob): the name of the devices that it lies on. */
JF_LUA(value_place)
{
  const jf_lblob *b = jf_need_blob(L, 1, NULL, "value_place: argument 1");
  lua_pushstring(L, jfl_value_place(b->value, jf_session(L)));
  return 1;
}
