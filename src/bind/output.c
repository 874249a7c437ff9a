/* Files that the front end writes, which take the place of others once they are whole. */
#include "bind/bind.h"

static void drop_output(void *output) { jfl_output_drop(output); }

/* output_open(path, who): one that is collected before it is kept leaves the old file. */
static int l_output_open(lua_State *L)
{
  const char *who = jf_need_string(L, 2, "output_open", "who");
  const char *path = jf_need_string(L, 1, who, "path");
  jfl_output *o;
  jf_holder *h = jf_push_holder(L, drop_output);
  jf_check_for(L, jfl_output_open(path, &o), who);
  h->p = o;
  return 1;
}

static jf_holder *need_output(lua_State *L, const char *who)
{
  jf_holder *h = jf_test(L, 1, JF_HOLDER);
  if (!h || !h->p || h->drop != drop_output) jf_raise(L, "%s: the file is not open", who);
  return h;
}

/* output_write(file, text, who) */
static int l_output_write(lua_State *L)
{
  size_t n;
  const char *who = jf_need_string(L, 3, "output_write", "who");
  jfl_output *o = need_output(L, who)->p;
  const char *text = jf_need_bytes(L, 2, who, "text", &n);
  jf_check_for(L, jfl_output_write(o, text, n), who);
  return 0;
}

/* output_rights(file, path, who): it is to have those of the file at that path. */
static int l_output_rights(lua_State *L)
{
  const char *who = jf_need_string(L, 3, "output_rights", "who");
  jfl_output *o = need_output(L, who)->p;
  jf_check_for(L, jfl_output_rights(o, jf_need_string(L, 2, who, "path")), who);
  return 0;
}

/* output_keep(file, who) */
static int l_output_keep(lua_State *L)
{
  const char *who = jf_need_string(L, 2, "output_keep", "who");
  jf_holder *h = need_output(L, who);
  jfl_output *o = h->p;
  h->p = NULL;
  jf_check_for(L, jfl_output_keep(o), who);
  return 0;
}

/* output_drop(file) */
static int l_output_drop(lua_State *L)
{
  need_output(L, "output_drop");
  return jf_holder_gc(L);
}

const luaL_Reg jf_output_functions[] = {
  { "output_open", l_output_open }, { "output_write", l_output_write },
  { "output_keep", l_output_keep }, { "output_drop", l_output_drop },
  { "output_rights", l_output_rights }, { NULL, NULL }
};
