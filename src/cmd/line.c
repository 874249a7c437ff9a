/* Reading lines for the interactive session: libedit on a terminal if it is there, else plain. */
#include "cmd/cmd.h"

#include <dlfcn.h>
#include <lauxlib.h>
#include <locale.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* The part of libedit's readline interface that is used; NULL without it. */
typedef struct editor {
  char *(*readline)(const char *prompt);
  int (*add_history)(const char *line);
  int (*read_history)(const char *path);
  int (*write_history)(const char *path);
  void (*stifle_history)(int lines);
  char **(*matches)(const char *word, char *(*next)(const char *word, int state));
  char **(**complete)(const char *word, int start, int end);
  const char **word_breaks;
  int *complete_over, *append_character;
} editor;

/* The reader's state, a userdata: whatever Lua raises, the line is freed with it. */
typedef struct reader {
  editor edit;
  char *line;
  size_t cap_line;
  char history[1024];          /* path, or "" */
  void (*on_interrupt)(int);
  lua_State *L;                /* of the call under way */
  struct termios cooked;       /* the terminal's settings while `raw` */
  int raw;
} reader;

/* Arguments of read() on the Lua stack. */
enum { PROMPT = 1, COMPLETE, FD, DELIVER };

static sigjmp_buf given_up;

/* The reader of the line being edited: the editor's hooks have no argument for it. */
static reader *reading;

static void give_up(int number)
{
  (void)number;
  siglongjmp(given_up, 1);
}

/* Calls a Lua function, which a jump must not leave; its errors are dropped. */
static int call(reader *r, int n_arg, int n_result)
{
  signal(SIGINT, r->on_interrupt);
  int status = lua_pcall(r->L, n_arg, n_result, 0);
  signal(SIGINT, give_up);
  if (status) lua_pop(r->L, 1);
  return status == 0;
}

/* The words that complete(word) lists, one a call; freed by the editor. */
static char *next_word(const char *word, int state)
{
  lua_State *L = reading->L;
  if (state == 0) {
    lua_settop(L, DELIVER);
    lua_pushvalue(L, COMPLETE);
    lua_pushstring(L, word);
    if (!call(reading, 1, 1)) return NULL;
  }
  lua_rawgeti(L, DELIVER + 1, state + 1);
  const char *text = lua_tostring(L, -1);
  char *copy = text ? strdup(text) : NULL;
  lua_pop(L, 1);
  return copy;
}

static char **complete(const char *word, int start, int end)
{
  (void)start, (void)end;
  *reading->edit.complete_over = 1;
  *reading->edit.append_character = '\0';
  return lua_isfunction(reading->L, COMPLETE) ? reading->edit.matches(word, next_word) : NULL;
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
  *(void **)&e->matches = dlsym(lib, "rl_completion_matches");
  *(void **)&e->complete = dlsym(lib, "rl_attempted_completion_function");
  *(void **)&e->word_breaks = dlsym(lib, "rl_basic_word_break_characters");
  *(void **)&e->complete_over = dlsym(lib, "rl_attempted_completion_over");
  *(void **)&e->append_character = dlsym(lib, "rl_completion_append_character");
  return e->readline && e->add_history && e->read_history && e->write_history &&
         e->stifle_history && e->matches && e->complete && e->word_breaks && e->complete_over &&
         e->append_character;
}

/* Keys reach the program at once and unechoed, as the editor wants to find them. */
static void set_raw(reader *r)
{
  if (tcgetattr(STDIN_FILENO, &r->cooked)) return;
  struct termios raw = r->cooked;
  raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  r->raw = 1;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

static void set_cooked(reader *r)
{
  if (r->raw) tcsetattr(STDIN_FILENO, TCSADRAIN, &r->cooked);
  r->raw = 0;
}

/* Shows the prompt and, with fd an eventfd, delivers what becomes due until something is typed. */
static void wait_for_key(reader *r, const char *prompt)
{
  struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
                         { .fd = (int)lua_tointeger(r->L, FD), .events = POLLIN } };
  for (;;) {
    fputs(prompt, stdout);
    fflush(stdout);
    set_raw(r);
    int n = poll(p, 2, -1);
    set_cooked(r);
    fputs("\r\33[K", stdout);
    fflush(stdout);
    uint64_t count;
    if (n < 0 || p[0].revents || read(p[1].fd, &count, sizeof count) < 0) return;
    lua_pushvalue(r->L, DELIVER);
    call(r, 0, 0);
  }
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
  const char *prompt = luaL_checkstring(L, PROMPT);
  lua_settop(L, DELIVER);
  signal(SIGINT, SIG_IGN);
  r->L = L;
  reading = r;
  if (sigsetjmp(given_up, 1)) {
    set_cooked(r);
    signal(SIGINT, r->on_interrupt);
    putchar('\n');
    lua_pushboolean(L, 0);
    return 1;
  }
  signal(SIGINT, give_up);
  if (r->edit.readline && lua_isnumber(L, FD)) wait_for_key(r, prompt);
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

/* Sets the editor up. In a locale of single bytes it would drop what is typed in UTF-8. */
static void set_up(reader *r)
{
  const char *home = getenv("HOME");
  if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1) setlocale(LC_CTYPE, "C.UTF-8");
  *r->edit.complete = complete;
  *r->edit.word_breaks = " \t\n\"'<>=~;,+-*/%^#(){}[]";
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
    set_up(r);
  else
    r->edit.readline = NULL;
  lua_pushcclosure(L, read_line, 1);
}
