/* Files that the front end writes, which take the place of others once they are whole. */
#include "bind/bind.h"

static void drop_output(void *output) { jfl_output_drop(output); }

/* output_open(path, who): one that is collected before it is kept leaves the old file. */
JF_LUA(output_open)
{
  const char *who = jf_need_string(L, 2, "output_open", "who");
  const char *path = jf_need_string(L, 1, who, "path");
  jf_holder *h = jf_push_holder(L, drop_output);
  return jf_give_held(L, h, jfl_output_open(path, &h->output), who);
}

static jf_holder *need_output(lua_State *L, const char *who)
{
  return jf_need_held(L, drop_output, who, "the file");
}

/* output_write(file, text, who) */
JF_LUA(output_write)
{
  size_t n;
  const char *who = jf_need_string(L, 3, "output_write", "who");
  jfl_output *o = need_output(L, who)->output;
  const char *text = jf_need_bytes(L, 2, who, "text", &n);
  jf_check_for(L, jfl_output_write(o, text, n), who);
  return 0;
}

/* output_rights(file, path, who): it is to have those of the file at that path. */
JF_LUA(output_rights)
{
  const char *who = jf_need_string(L, 3, "output_rights", "who");
  jfl_output *o = need_output(L, who)->output;
  jf_check_for(L, jfl_output_rights(o, jf_need_string(L, 2, who, "path")), who);
  return 0;
}

/* output_keep(file, who) */
JF_LUA(output_keep)
{
  const char *who = jf_need_string(L, 2, "output_keep", "who");
  jf_holder *h = need_output(L, who);
  jfl_output *o = h->output;
  h->p = NULL;
  jf_check_for(L, jfl_output_keep(o), who);
  return 0;
}

/* output_drop(file) */
JF_LUA(output_drop)
{
  return jf_drop_held(need_output(L, "output_drop")), 0;
}
