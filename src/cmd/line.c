/* Reading lines for the interactive session: libedit on a terminal if it is there, else plain. */
#include "cmd/reader.h"

#include <dlfcn.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int edit_line(line_reader *r)
{
  int n = 0;
  r->edit.set(r->edit.at, EL_PREP_TERM, 1);    /* before the prompt asks for keys */
  if (r->brackets) fputs(PASTE_ON, stdout);
  const char *line = r->edit.gets(r->edit.at, &n);
  if (r->brackets) fputs(PASTE_OFF, stdout);
  r->n_line = 0;
  if (!line || n <= 0 || r->given_up || r->ended)
    return 0;
  if (line[n - 1] == '\n') n--;
  for (int i = 0; i < n; i++)
    if (!jf_add_byte(r, line[i])) return 0;
  return 1;
}

static int plain_line(line_reader *r)
{
  int c;
  fputs(r->prompt, stdout);
  fflush(stdout);
  r->n_line = 0;
  while ((c = jf_next_byte(r)) >= 0 && c != '\n')
    if (!jf_add_byte(r, c)) return 0;
  return c == '\n' || (r->n_line > 0 && !r->given_up && !r->ended);
}

/* Reads a line with our signal handlers, and restores those that were there before. */
static int guarded_line(line_reader *r)
{
  struct sigaction theirs[JF_N_SIGNALS];
  jf_take_over(r, theirs);
  r->held = r->kept = 0;
  int more = r->edit.at ? edit_line(r) : plain_line(r);
  jf_hand_back(r, theirs);
  return more;
}

static int read_line(lua_State *L)
{
  line_reader *r = lua_touserdata(L, lua_upvalueindex(1));
  jf_interrupt_heed(L);
  r->prompt = luaL_checkstring(L, PROMPT);
  lua_settop(L, DELIVER);
  r->fd = lua_isnumber(L, FD) ? (int)lua_tointeger(L, FD) : -1;
  r->L = L;
  jf_reading = r;
  fflush(stderr);
  int more = guarded_line(r);
  if (!more) fputs(r->given_up ? "^C\n" : "\n", stdout);
  fflush(stdout);
  if (r->given_up) return lua_pushboolean(L, 0), 1;
  if (more) return lua_pushlstring(L, r->line, r->n_line), 1;
  lua_pushnil(L);
  lua_pushinteger(L, r->ended);
  return 2;
}

static int remember(const char *text)
{
  history_event event;
  return jf_reading->edit.history(jf_reading->edit.past, &event, H_ENTER, text);
}

/* keep(text): adds text to the history if it was typed at a terminal and is not blank. */
static int line_keep(lua_State *L)
{
  line_reader *r = jf_reading = lua_touserdata(L, lua_upvalueindex(1));
  const char *text = luaL_checkstring(L, 1);
  if (r->edit.at && text[strspn(text, " \t\n")] && jf_history_keep(&r->history, text))
    remember(text);
  return 0;
}

static int line_collect(lua_State *L)
{
  line_reader *r = lua_touserdata(L, 1);
  free(r->line);
  r->line = NULL;
  if (r->edit.at) r->edit.close(r->edit.at);
  if (r->edit.past) r->edit.history_close(r->edit.past);
  r->edit.at = NULL;
  r->edit.past = NULL;
  jf_history_close(&r->history);
  return 0;
}

/* ---- setting up ---- */

/* One function or variable of the library; 0 if it has none such. */
static int line_find(void *lib, const char *name, void *out)
{
  return (*(void **)out = dlsym(lib, name)) != NULL;
}

static int find_editor(editor *e)
{
  void *lib = dlopen(JF_LIBEDIT, RTLD_LAZY | RTLD_LOCAL);
  return lib && line_find(lib, "el_init", &e->open) && line_find(lib, "el_end", &e->close) &&
         line_find(lib, "el_gets", &e->gets) && line_find(lib, "el_set", &e->set) &&
         line_find(lib, "el_source", &e->source) && line_find(lib, "el_line", &e->line) &&
         line_find(lib, "el_insertstr", &e->insert) && line_find(lib, "el_resize", &e->resize) &&
         line_find(lib, "history_init", &e->history_open) &&
         line_find(lib, "history_end", &e->history_close) && line_find(lib, "history", &e->history);
}

/* Stands around what takes no columns; none may come last in a prompt. */
#define HIDDEN "\1"

/* The prompt, whose sign is bold where there are colours. */
static char *prompt_of(EditLine *at)
{
  line_reader *r = jf_reading;
  int sign = (int)strcspn(r->prompt, " ");
  (void)at;
  snprintf(r->painted, sizeof r->painted, r->colours ? HIDDEN "\33[1m" HIDDEN "%.*s"
           HIDDEN "\33[0m" HIDDEN "%s" : "%.*s%s", sign, r->prompt, r->prompt + sign);
  return r->painted;
}

/* Sets the editor up. In a locale of single bytes it would drop what is typed in UTF-8. */
static void line_set_up(line_reader *r)
{
  editor *e = &r->edit;
  history_event event;
  if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1) setlocale(LC_CTYPE, "C.UTF-8");
  e->past = e->history_open();
  e->at = e->past ? e->open("jfl", stdin, stdout, stderr) : NULL;
  if (!e->at)
    return;
  e->history(e->past, &event, H_SETSIZE, 1000);
  e->set(e->at, EL_SIGNAL, 0);
  e->set(e->at, EL_PROMPT_ESC, prompt_of, *HIDDEN);
  e->set(e->at, EL_HIST, e->history, e->past);
  jf_bind_keys(e);
  r->brackets = !jf_is_dumb();
  r->colours = jf_has_colours(STDOUT_FILENO);
  jf_reading = r;
  jf_history_open(&r->history, remember);
}

void jf_push_line_reader(lua_State *L)
{
  line_reader *r = lua_newuserdata(L, sizeof *r);
  memset(r, 0, sizeof *r);
  jf_list_signals(&r->handled);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, line_collect);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  setvbuf(stdin, NULL, _IONBF, 0);      /* io.read is to get what is typed, too */
  if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && find_editor(&r->edit))
    line_set_up(r);
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, line_keep, 1);
  lua_insert(L, -2);
  lua_pushcclosure(L, read_line, 1);
  lua_insert(L, -2);
}
