/* How a call of an op is shared among devices, and one device's part of it. */
#include "bind/bind.h"

#include <limits.h>
#include <string.h>

/* A call: the op at argument 1, its arrays in the list at 2, its options in the table at 3. */
typedef struct part_call {
  const jfl_op *op;
  jfl_array **in; int n_in;
  const jfl_arg *arg; int n_arg;
} part_call;

/* The arrays of the list at i; what is pushed holds them. */
static jfl_array **part_arrays(lua_State *L, int i, const char *who, int *n)
{
  luaL_checktype(L, i, LUA_TTABLE);
  *n = (int)lua_objlen(L, i);
  jfl_array **a = lua_newuserdata(L, (size_t)(*n + 1) * sizeof *a);
  for (int k = 0; k < *n; k++) {
    lua_rawgeti(L, i, k + 1);
    a[k] = jf_need_array(L, lua_gettop(L), who)->array;
    lua_pop(L, 1);
  }
  return a;
}

static void part_read(lua_State *L, const char *who, part_call *c)
{
  const char *name = jf_need_string(L, 1, who, "op");
  c->op = jfl_op_find(name);
  if (!c->op) jf_raise(L, "%s: unknown op '%s'", who, name);
  c->in = part_arrays(L, 2, who, &c->n_in);
  c->arg = jf_read_args(L, 3, name, &c->n_arg);
}

/* signatures(op, arrays, options, parts): a text with a line for each. */
JF_LUA(signatures)
{
  const int parts = (int)jf_need_whole(L, 4, "signatures", "parts", 1, INT_MAX);
  part_call c;
  lua_settop(L, 3);
  part_read(L, "signatures", &c);
  jf_holder *h = jf_push_holder(L, jf_drop_text);
  jf_check(L, jfl_op_signatures(c.op, c.in, c.n_in, c.arg, c.n_arg, parts, &h->text));
  lua_pushstring(L, h->text ? h->text : "");
  return 1;
}

/* part(op, arrays, options, own, parts, signature, member): the device's results, in a list.
   Signatures and members count from 1; signature 0 is that of whole arrays. */
JF_LUA(part)
{
  const jfl_share part = {
    .parts = (int)jf_need_whole(L, 5, "part", "parts", 1, INT_MAX),
    .signature = (int)jf_need_whole(L, 6, "part", "signature", 0, INT_MAX) - 1,
    .member = (int)jf_need_whole(L, 7, "part", "member", 1, INT_MAX) - 1
  };
  jfl_array *out[JF_FEW] = { NULL };
  part_call c;
  int n_own, n = 0;
  lua_settop(L, 4);
  part_read(L, "part", &c);
  jfl_array **own = part_arrays(L, 4, "part", &n_own);
  jf_check(L, jfl_op_outputs(c.op, c.in, c.n_in, c.arg, c.n_arg, &n));
  if (n_own != c.n_in || n > JF_FEW)
    jf_raise(L, "part: own must be %d arrays, got %d", c.n_in, n_own);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    jf_push_array(L);
    lua_rawseti(L, -2, i + 1);
  }
  jf_check(L, jfl_eager_part(jf_session(L), c.op, c.in, c.n_in, c.arg, c.n_arg, &part, own, out));
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, -1, i + 1);
    jf_set_array(lua_touserdata(L, -1), out[i]);
    lua_pop(L, 1);
  }
  return 1;
}
