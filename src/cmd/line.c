/* Reading lines for the interactive session: libedit on a terminal if it is there, else plain. */
#include "cmd/cmd.h"

#include <dlfcn.h>
#include <lauxlib.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The part of libedit's readline interface that is used; NULL without it. */
typedef struct editor {
  char *(*readline)(const char *prompt);
  int (*add_history)(const char *line);
  int (*read_history)(const char *path);
  int (*write_history)(const char *path);
  void (*stifle_history)(int lines);
} editor;

/* The reader's state, a userdata: whatever Lua raises, the line is freed with it. */
typedef struct reader {
  editor edit;
  char *line;
  size_t cap_line;
  char history[1024];          /* path, or "" */
  void (*on_interrupt)(int);
} reader;

static sigjmp_buf given_up;

static void give_up(int number)
{
  (void)number;
  siglongjmp(given_up, 1);
}

static int find_editor(editor *e)
{
  void *lib = dlopen("libedit.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (!lib)
    return 0;
  *(void **)&e->readline = dlsym(lib, "readline");
  *(void **)&e->add_history = dlsym(lib, "add_history");
  *(void **)&e->read_history = dlsym(lib, "read_history");
  *(void **)&e->write_history = dlsym(lib, "write_history");
  *(void **)&e->stifle_history = dlsym(lib, "stifle_history");
  return e->readline && e->add_history && e->read_history && e->write_history && e->stifle_history;
}

/* The line in r->line, or 0 at the end of input. A blank line is not worth remembering. */
static int edit_line(reader *r, const char *prompt)
{
  free(r->line);
  r->line = NULL;
  r->line = r->edit.readline(prompt);
  if (!r->line)
    return 0;
  if (r->line[strspn(r->line, " \t")]) {
    r->edit.add_history(r->line);
    if (r->history[0])
      r->edit.write_history(r->history);
  }
  return 1;
}

static int plain_line(reader *r, const char *prompt)
{
  fputs(prompt, stdout);
  fflush(stdout);
  ssize_t n = getline(&r->line, &r->cap_line, stdin);
  if (n < 0)
    return 0;
  if (n > 0 && r->line[n - 1] == '\n')
    r->line[n - 1] = '\0';
  return 1;
}

static int read_line(lua_State *L)
{
  reader *r = lua_touserdata(L, lua_upvalueindex(1));
  const char *prompt = luaL_checkstring(L, 1);
  signal(SIGINT, SIG_IGN);
  if (sigsetjmp(given_up, 1)) {
    signal(SIGINT, r->on_interrupt);
    putchar('\n');
    lua_pushboolean(L, 0);
    return 1;
  }
  signal(SIGINT, give_up);
  int more = r->edit.readline ? edit_line(r, prompt) : plain_line(r, prompt);
  signal(SIGINT, r->on_interrupt);
  if (!more)
    putchar('\n');
  lua_pushstring(L, more ? r->line : NULL);
  return 1;
}

static int collect(lua_State *L)
{
  reader *r = lua_touserdata(L, 1);
  free(r->line);
  r->line = NULL;
  return 0;
}

static void load_history(reader *r)
{
  const char *home = getenv("HOME");
  r->edit.stifle_history(1000);
  int n = home ? snprintf(r->history, sizeof r->history, "%s/.jfl_history", home) : 0;
  if (n <= 0 || (size_t)n >= sizeof r->history)
    r->history[0] = '\0';
  else
    r->edit.read_history(r->history);
}

void jf_push_line_reader(lua_State *L, void (*on_interrupt)(int))
{
  reader *r = lua_newuserdata(L, sizeof *r);
  memset(r, 0, sizeof *r);
  r->on_interrupt = on_interrupt;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, collect);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && find_editor(&r->edit))
    load_history(r);
  else
    r->edit.readline = NULL;
  lua_pushcclosure(L, read_line, 1);
}
