/* Reading lines for the interactive session: libedit on a terminal if it is there, else plain.

   All signals that matter while a line is read are blocked but for the time that it waits, so that
   nothing is left in the middle: the editor gets its keys from next_key(), which waits for them, for
   callbacks that are due and for signals alike. */
#include "cmd/cmd.h"

#include <dlfcn.h>
#include <errno.h>
#include <lauxlib.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The part of libedit's readline interface that is used; readline is NULL without it. */
typedef struct editor {
  char *(*readline)(const char *prompt);
  int (*add_history)(const char *line);
  void (*stifle_history)(int lines);
  char **(*matches)(const char *word, char *(*next)(const char *word, int state));
  char **(**complete)(const char *word, int start, int end);
  int (**next_key)(FILE *f);
  char *(*copy_text)(int from, int to);
  void (*prepare)(int meta), (*redraw)(void), (*resize)(void);
  const char **word_breaks;
  int *complete_over, *append_character, *point, *catch_signals;
} editor;

/* The reader's state, a userdata: whatever Lua raises, the line is freed with it. */
typedef struct reader {
  editor edit;
  jf_history history;
  char *line;
  size_t n_line, cap_line;
  lua_State *L;                /* of the call under way */
  const char *prompt;
  int fd;                      /* of callbacks, or -1 */
  int given_up, ended;         /* ended: by this signal */
  sigset_t handled, before;    /* blocked while reading; the mask before that */
} reader;

/* Arguments of read() on the Lua stack. */
enum { PROMPT = 1, COMPLETE, FD, DELIVER };

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGCONT, SIGWINCH };
enum { N_SIGNALS = sizeof signals / sizeof *signals };

/* The reader of the line being edited: the editor's hooks have no argument for it. */
static reader *reading;

/* The signals that came while it waited, bit by bit in the order of the table. */
static volatile sig_atomic_t arrived;

static void note(int number)
{
  for (int i = 0; i < N_SIGNALS; i++)
    if (signals[i] == number) arrived |= 1 << i;
}

static int has_arrived(int number)
{
  for (int i = 0; i < N_SIGNALS; i++)
    if (signals[i] == number) return arrived >> i & 1;
  return 0;
}

/* Calls a Lua function as programs are run, with the signals let through; its errors are dropped. */
static int call(reader *r, int n_arg, int n_result)
{
  sigprocmask(SIG_SETMASK, &r->before, NULL);
  int status = jf_interrupt_call(r->L, n_arg, n_result, 0);
  sigprocmask(SIG_BLOCK, &r->handled, NULL);
  if (status) lua_pop(r->L, 1);
  return status == 0;
}

/* ---- completion ---- */

/* The words that complete(before) lists, one a call; freed by the editor. */
static char *next_word(const char *word, int state)
{
  reader *r = reading;
  (void)word;
  if (state == 0) {
    char *before = r->edit.copy_text(0, *r->edit.point);
    lua_settop(r->L, DELIVER);
    lua_pushvalue(r->L, COMPLETE);
    lua_pushstring(r->L, before ? before : "");
    free(before);
    if (!call(r, 1, 1) || !lua_istable(r->L, -1)) return NULL;
  }
  if (lua_gettop(r->L) <= DELIVER)
    return NULL;
  lua_rawgeti(r->L, DELIVER + 1, state + 1);
  const char *text = lua_tostring(r->L, -1);
  char *copy = text ? strdup(text) : NULL;
  lua_pop(r->L, 1);
  return copy;
}

static char **complete(const char *word, int start, int end)
{
  (void)start, (void)end;
  *reading->edit.complete_over = 1;
  *reading->edit.append_character = '\0';
  return lua_isfunction(reading->L, COMPLETE) ? reading->edit.matches(word, next_word) : NULL;
}

/* ---- waiting ---- */

static int columns(void)
{
  struct winsize size = { 0 };
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

/* Characters of UTF-8 text of n bytes. */
static int width(const char *text, size_t n)
{
  int count = 0;
  for (size_t i = 0; i < n; i++) count += (text[i] & 0xc0) != 0x80;
  return count;
}

/* Takes prompt and line off the screen, where that can be done. */
static void clear_line(reader *r)
{
  const char *term = getenv("TERM");
  if (!r->edit.readline || !term || !strcmp(term, "dumb")) {
    putchar('\n');
    return;
  }
  char *before = r->edit.copy_text(0, *r->edit.point);
  int at = width(r->prompt, strlen(r->prompt)) + (before ? width(before, strlen(before)) : 0);
  free(before);
  if (at >= columns()) printf("\33[%dA", at / columns());
  fputs("\r\33[J", stdout);
}

static void draw_line(reader *r)
{
  fflush(stdout);
  if (r->edit.readline) {
    r->edit.redraw();
    return;
  }
  fputs(r->prompt, stdout);
  fflush(stdout);
}

/* Runs the callbacks that are due: what they print takes the place of the line, which comes again. */
static void deliver(reader *r)
{
  uint64_t count;
  if (read(r->fd, &count, sizeof count) < 0 && errno != EAGAIN) {
    r->fd = -1;
    return;
  }
  int terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  if (terminal) clear_line(r);
  fflush(stdout);
  lua_pushvalue(r->L, DELIVER);
  call(r, 0, 0);
  if (terminal) draw_line(r);
  fflush(stdout);
}

/* Heeds the signals that came; 0 when the line is given up or the session ends. */
static int heed(reader *r)
{
  int size = has_arrived(SIGWINCH), back = has_arrived(SIGCONT);
  r->given_up = has_arrived(SIGINT);
  r->ended = has_arrived(SIGHUP) ? SIGHUP : has_arrived(SIGTERM) ? SIGTERM : 0;
  arrived = 0;
  if (r->edit.readline && size) r->edit.resize();
  if (back && r->edit.readline) r->edit.prepare(1);
  if (back) draw_line(r);
  return !r->given_up && !r->ended;
}

/* The next byte of standard input, or -1 at its end or when the line is not wanted any more. */
static int next_byte(reader *r)
{
  unsigned char c;
  for (;;) {
    struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
                           { .fd = r->fd, .events = POLLIN } };
    int n = ppoll(p, 2, NULL, &r->before);
    if (arrived) {
      if (!heed(r)) return -1;
    } else if (n > 0 && p[0].revents) {
      ssize_t got = read(STDIN_FILENO, &c, 1);
      if (got == 1) return c;
      if (got == 0 || errno != EINTR) return -1;
    } else if (n > 0 && p[1].revents) {
      deliver(r);
    } else if (n < 0 && errno != EINTR) {
      return -1;
    }
  }
}

/* Whether more was typed already: then it is pasted, by no hand. */
static int is_pasted(void)
{
  struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
  return poll(&p, 1, 0) > 0 && p.revents & POLLIN;
}

/* The editor's next key, decoded from UTF-8. A pasted tab does not ask for completion. */
static int next_key(FILE *f)
{
  (void)f;
  int c = next_byte(reading);
  if (c == '\t' && is_pasted()) return ' ';
  int more = c >= 0xf0 && c < 0xf8 ? 3 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xc0 && c < 0xe0 ? 1 : 0;
  if (c < 0x80) return c;
  if (!more) return 0xfffd;
  for (c &= 0x3f >> more; more > 0; more--) {
    int next = next_byte(reading);
    if (next < 0) return -1;
    c = c << 6 | (next & 0x3f);
  }
  return c;
}

/* ---- lines ---- */

static int edit_line(reader *r)
{
  free(r->line);
  r->line = r->edit.readline(r->prompt);
  r->n_line = r->line ? strlen(r->line) : 0;
  r->cap_line = r->n_line + 1;
  return r->line != NULL;
}

static int add_byte(reader *r, int c)
{
  if (r->n_line == r->cap_line) {
    size_t cap = r->cap_line ? 2 * r->cap_line : 256;
    char *line = realloc(r->line, cap);
    if (!line)
      return 0;
    r->line = line;
    r->cap_line = cap;
  }
  r->line[r->n_line++] = (char)c;
  return 1;
}

static int plain_line(reader *r)
{
  int c;
  fputs(r->prompt, stdout);
  fflush(stdout);
  r->n_line = 0;
  while ((c = next_byte(r)) >= 0 && c != '\n')
    if (!add_byte(r, c)) return 0;
  return c == '\n' || (r->n_line > 0 && !r->given_up && !r->ended);
}

/* A line with the signals in our hands, and back in those that had them. */
static int guarded_line(reader *r)
{
  struct sigaction ours = { .sa_handler = note }, theirs[N_SIGNALS];
  sigprocmask(SIG_BLOCK, &r->handled, &r->before);
  for (int i = 0; i < N_SIGNALS; i++) sigaction(signals[i], &ours, &theirs[i]);
  arrived = r->given_up = r->ended = 0;
  int more = r->edit.readline ? edit_line(r) : plain_line(r);
  for (int i = 0; i < N_SIGNALS; i++) sigaction(signals[i], &theirs[i], NULL);
  sigprocmask(SIG_SETMASK, &r->before, NULL);
  return more;
}

static int read_line(lua_State *L)
{
  reader *r = lua_touserdata(L, lua_upvalueindex(1));
  r->prompt = luaL_checkstring(L, PROMPT);
  lua_settop(L, DELIVER);
  r->fd = lua_isnumber(L, FD) ? (int)lua_tointeger(L, FD) : -1;
  r->L = L;
  reading = r;
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

/* keep(text): only what was typed at a terminal is remembered, blank lines are not. */
static int keep(lua_State *L)
{
  reader *r = lua_touserdata(L, lua_upvalueindex(1));
  const char *text = luaL_checkstring(L, 1);
  if (!r->edit.readline || !text[strspn(text, " \t\n")])
    return 0;
  r->edit.add_history(text);
  jf_history_keep(&r->history, text);
  return 0;
}

static int collect(lua_State *L)
{
  reader *r = lua_touserdata(L, 1);
  free(r->line);
  r->line = NULL;
  return 0;
}

/* ---- setting up ---- */

/* One function or variable of the library; 0 if it has none such. */
static int find(void *lib, const char *name, void *out)
{
  return (*(void **)out = dlsym(lib, name)) != NULL;
}

static int find_editor(editor *e)
{
  void *lib = dlopen("libedit.so.2", RTLD_LAZY | RTLD_LOCAL);
  return lib && find(lib, "readline", &e->readline) && find(lib, "add_history", &e->add_history) &&
         find(lib, "stifle_history", &e->stifle_history) &&
         find(lib, "rl_completion_matches", &e->matches) &&
         find(lib, "rl_attempted_completion_function", &e->complete) &&
         find(lib, "rl_getc_function", &e->next_key) &&
         find(lib, "rl_copy_text", &e->copy_text) &&
         find(lib, "rl_prep_terminal", &e->prepare) &&
         find(lib, "rl_forced_update_display", &e->redraw) &&
         find(lib, "rl_resize_terminal", &e->resize) &&
         find(lib, "rl_basic_word_break_characters", &e->word_breaks) &&
         find(lib, "rl_attempted_completion_over", &e->complete_over) &&
         find(lib, "rl_completion_append_character", &e->append_character) &&
         find(lib, "rl_point", &e->point) && find(lib, "rl_catch_signals", &e->catch_signals);
}

/* Sets the editor up, before it first looks at its variables. In a locale of single bytes it would
   drop what is typed in UTF-8. */
static void set_up(reader *r)
{
  if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1) setlocale(LC_CTYPE, "C.UTF-8");
  *r->edit.next_key = next_key;
  *r->edit.catch_signals = 0;
  *r->edit.complete = complete;
  *r->edit.word_breaks = " \t\n\"'<>=~;,+-*/%^#(){}[]";
  r->edit.stifle_history(1000);
  jf_history_open(&r->history, r->edit.add_history);
}

void jf_push_line_reader(lua_State *L)
{
  reader *r = lua_newuserdata(L, sizeof *r);
  memset(r, 0, sizeof *r);
  sigemptyset(&r->handled);
  for (int i = 0; i < N_SIGNALS; i++) sigaddset(&r->handled, signals[i]);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, collect);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  setvbuf(stdin, NULL, _IONBF, 0);      /* what is typed is for io.read, too */
  if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && find_editor(&r->edit))
    set_up(r);
  else
    r->edit.readline = NULL;
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, keep, 1);
  lua_insert(L, -2);
  lua_pushcclosure(L, read_line, 1);
  lua_insert(L, -2);
}
