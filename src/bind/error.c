/* Errors of the C module: raised at the user's line, whatever front-end code lies between. */
#include "bind/bind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether it is Lua code that is not the front end's. */
static int is_users(const lua_Debug *ar)
{
  return ar->currentline > 0 && strncmp(ar->source, "=jfl/", 5) != 0;
}

static int blame(lua_State *L, lua_Debug *ar)
{
  lua_getinfo(L, "Sl", ar);
  return is_users(ar);
}

/* Pops a Lua function; gives the line at which it makes its tail call, or `other` if that is not
   known. */
static int tail_line(lua_State *L, int other)
{
  lua_pushliteral(L, "require");
  lua_rawget(L, LUA_GLOBALSINDEX);
  lua_pushliteral(L, "jfl.base.tail");
  int found = !lua_pcall(L, 1, 1, 0);
  lua_insert(L, -2);
  if (found) found = !lua_pcall(L, 1, 1, 0);
  else lua_pop(L, 1);
  int line = found && lua_type(L, -1) == LUA_TNUMBER ? (int)lua_tointeger(L, -1) : other;
  lua_pop(L, 1);
  return line;
}

/* The index of the user's function on the stack of the one that runs it, or 0. */
static int function_index(lua_State *L, lua_Debug *ar)
{
  lua_getinfo(L, "f", ar);
  lua_CFunction f = lua_tocfunction(L, -1);
  lua_pop(L, 1);
  const jf_state *st = jf_state_of(L);
  if (f && f == st->body.run) return st->body.index;
  return f && f == st->callback.run ? st->callback.index : 0;
}

/* For a frame of such a function: the line of the user's function that it called. A tail call has
   taken that function's own frame, so the line is that of the tail call or, if it is not known, the
   first one. */
static int who_called(lua_State *L, lua_Debug *ar)
{
  int i = function_index(L, ar);
  if (!i || !lua_getlocal(L, ar, i)) return 0;
  if (lua_type(L, -1) != LUA_TFUNCTION) return lua_pop(L, 1), 0;
  lua_pushvalue(L, -1);
  lua_getinfo(L, ">S", ar);
  ar->currentline = ar->linedefined;
  if (!is_users(ar)) return lua_pop(L, 1), 0;
  ar->currentline = tail_line(L, ar->linedefined);
  return 1;
}

/* Finds the line of the first caller outside the front end; 0: there is none. */
static int find_line(lua_State *L, lua_Debug *ar)
{
  for (int level = 0; lua_getstack(L, level, ar); level++)
    if (blame(L, ar) || who_called(L, ar)) return 1;
  return 0;
}

const char *jf_where(lua_State *L)
{
  lua_Debug ar;
  if (find_line(L, &ar)) return lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
  return lua_pushliteral(L, ""), "";
}

void jf_set_line(lua_State *L, jfl_graph *g)
{
  lua_Debug ar;
  char line[LUA_IDSIZE + 16];
  const int found = find_line(L, &ar);
  if (found) snprintf(line, sizeof line, "%s:%d", ar.short_src, ar.currentline);
  jf_check(L, jfl_graph_line(g, found ? line : NULL));
}

void jf_make_printable(lua_State *L)
{
  size_t n;
  const char *text = lua_tolstring(L, -1, &n);
  size_t need = jfl_printable(text, n, NULL, 0);
  if (need == n) return;
  char *shown = lua_newuserdata(L, need + 1);
  jfl_printable(text, n, shown, need + 1);
  lua_pushlstring(L, shown, need);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* Puts "train: " before the message on top while train's body runs, unless it begins so. */
static void error_name_job(lua_State *L)
{
  const jf_lgraph *g = jf_state_of(L)->traced;
  const size_t n = g ? strlen(g->job) : 0;
  const char *message = lua_tostring(L, -1);
  if (!g || (!strncmp(message, g->job, n) && !strncmp(message + n, ": ", 2))) return;
  lua_pushfstring(L, "%s: %s", g->job, message);
  lua_replace(L, -2);
}

_Noreturn int jf_raise(lua_State *L, const char *fmt, ...)
{
  va_list ap;
  luaL_checkstack(L, 8, NULL);
  jf_where(L);
  va_start(ap, fmt);
  lua_pushvfstring(L, fmt, ap);
  va_end(ap);
  error_name_job(L);
  lua_concat(L, 2);
  jf_make_printable(L);
  lua_error(L);
  abort();      /* lua_error does not return, which its declaration does not say */
}

void jf_check(lua_State *L, jfl_status s)
{
  jf_check_for(L, s, NULL);
}

void jf_check_for(lua_State *L, jfl_status s, const char *who)
{
  if (s != JFL_OK) jf_raise(L, "%s%s%s", who ? who : "", who ? ": " : "", jfl_errmsg());
}

void jf_check_element(lua_State *L, jfl_status s, const char *what)
{
  const char *element = jfl_error_part(JFL_ERROR_ARGUMENT);
  if (s != JFL_OK && element)
    jf_raise(L, "%s%s %s", what, element, jfl_error_part(JFL_ERROR_TEXT));
  jf_check_for(L, s, what);
}

/* fail(fmt, ...), whose upvalue 2 is string.format. */
int jf_l_fail(lua_State *L)
{
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return jf_raise(L, "%s", lua_tostring(L, -1));
}

JF_LUA(where)
{
  jf_where(L);
  return 1;
}
