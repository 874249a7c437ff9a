/* Reading lines for the interactive session: libedit on a terminal if it is there, else plain.

   The signals that matter while a line is read are blocked except while the reader waits, so that
   none interrupts the editor at work. The editor gets its keys from next_key(), which waits for
   keys, signals and callbacks that are due. */
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
#include <wchar.h>

/* The part of libedit's own interface that is used, and its constants. `at` is NULL without it. */
typedef struct EditLine EditLine;
typedef struct History History;
typedef struct { const char *buffer, *cursor, *lastchar; } line_info;
typedef struct { int number; const char *text; } history_event;

enum {
  EL_EDITOR = 2, EL_SIGNAL = 3, EL_BIND = 4, EL_ADDFN = 9, EL_HIST = 10,
  EL_GETCFN = 13, EL_PREP_TERM = 16, EL_REFRESH = 20,
  EL_PROMPT_ESC = 21
};
enum { H_SETSIZE = 1, H_ENTER = 10 };
enum { CC_EOF = 2, CC_REFRESH = 4, CC_ERROR = 6, CC_REDISPLAY = 8 };

typedef struct editor {
  EditLine *at;
  History *past;
  EditLine *(*open)(const char *program, FILE *in, FILE *out, FILE *err);
  void (*close)(EditLine *at), (*resize)(EditLine *at);
  const char *(*gets)(EditLine *at, int *n);
  int (*set)(EditLine *at, int what, ...), (*source)(EditLine *at, const char *path);
  const line_info *(*line)(EditLine *at);
  int (*insert)(EditLine *at, const char *text);
  History *(*history_open)(void);
  void (*history_close)(History *past);
  int (*history)(History *past, history_event *event, int what, ...);
} editor;

enum { LONGEST_KEY = 4, PASTED = 4096 };

/* The reader's state, a userdata: whatever Lua raises, the line is freed with it. */
typedef struct line_reader {
  editor edit;
  jf_history history;
  char *line;
  size_t n_line, cap_line;
  lua_State *L;                /* of the call under way */
  const char *prompt;
  char painted[64];            /* the prompt as the terminal gets it */
  int fd;                      /* of callbacks, or -1 */
  int given_up, ended;         /* ended: by this signal */
  int escape;                  /* how far in a sequence such as that of an arrow key */
  int kept;                    /* a byte that was read too early, or 0 */
  int brackets, colours;       /* whether the terminal may be asked for these */
  char piece[PASTED + LONGEST_KEY + 1];
  wchar_t held;                /* the key after the piece, or 0 */
  sigset_t handled, before;    /* blocked while reading; the mask before that */
} line_reader;

/* Arguments of read() on the Lua stack. */
enum { PROMPT = 1, COMPLETE, FD, DELIVER };

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGCONT, SIGWINCH };
enum { N_SIGNALS = sizeof signals / sizeof *signals };

/* The reader of the line being edited: the editor's hooks have no argument for it. */
static line_reader *reading;

/* The signals that came while the reader waited: bit i stands for entry i of the table. */
static volatile sig_atomic_t arrived;

static void line_note(int number)
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

/* Calls a Lua function with the signals unblocked, so that Ctrl-C interrupts it. Its errors are
   dropped. */
static int line_call(line_reader *r, int n_arg, int n_result)
{
  sigprocmask(SIG_SETMASK, &r->before, NULL);
  int status = jf_interrupt_call(r->L, n_arg, n_result, 0);
  sigprocmask(SIG_BLOCK, &r->handled, NULL);
  if (status) lua_pop(r->L, 1);
  return status == 0;
}

static int line_columns(void)
{
  struct winsize size = { 0 };
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

/* ---- completion ---- */

/* Pushes the results of complete(before): what to insert, and a list of what could follow, which is
   "" where only one thing could. */
static int ask(line_reader *r)
{
  const line_info *line = r->edit.line(r->edit.at);
  lua_settop(r->L, DELIVER);
  if (!lua_isfunction(r->L, COMPLETE))
    return 0;
  lua_pushvalue(r->L, COMPLETE);
  lua_pushlstring(r->L, line->buffer, (size_t)(line->cursor - line->buffer));
  lua_pushinteger(r->L, line_columns());
  return line_call(r, 2, 2) && lua_isstring(r->L, -1) && lua_isstring(r->L, -2);
}

static unsigned char line_complete(EditLine *at, int key)
{
  line_reader *r = reading;
  (void)key;
  if (!ask(r))
    return CC_ERROR;
  const char *rest = lua_tostring(r->L, -2), *list = lua_tostring(r->L, -1);
  if (*rest)
    return r->edit.insert(at, rest) ? CC_ERROR : CC_REFRESH;
  if (!*list)
    return CC_ERROR;
  printf("\n%s\n", list);
  fflush(stdout);
  return CC_REDISPLAY;
}

/* ---- waiting ---- */

/* Moves the place *at, in columns from the beginning of the first row, behind UTF-8 text of n
   bytes. */
static void pass_text(const char *text, size_t n, int columns, int *at)
{
  while (n > 0) {
    wchar_t c;
    int size = mbtowc(&c, text, n), wide = size > 0 ? wcwidth(c) : 1;
    if (size <= 0) size = 1;
    if (*text == '\n') *at += columns - *at % columns;
    else if (*text == '\t') *at += 8 - *at % columns % 8;
    else *at += wide > 0 ? wide : 0;
    text += size;
    n -= (size_t)size;
  }
}

static int is_dumb(void)
{
  const char *term = getenv("TERM");
  return !term || !*term || !strcmp(term, "dumb");
}

int jf_has_colours(int fd)
{
  const char *none = getenv("NO_COLOR");
  return isatty(fd) && !is_dumb() && !(none && *none);
}

/* Clears the prompt and the line from the screen, if the terminal can do that. */
static void clear_line(line_reader *r)
{
  if (!r->edit.at || is_dumb()) {
    putchar('\n');
    return;
  }
  const line_info *line = r->edit.line(r->edit.at);
  int at = 0, columns = line_columns();
  pass_text(r->prompt, strlen(r->prompt), columns, &at);
  pass_text(line->buffer, (size_t)(line->cursor - line->buffer), columns, &at);
  if (at >= columns) printf("\33[%dA", at / columns);
  fputs("\r\33[J", stdout);
}

static void draw_line(line_reader *r)
{
  fflush(stdout);
  if (r->edit.at) {
    r->edit.set(r->edit.at, EL_REFRESH);
    return;
  }
  fputs(r->prompt, stdout);
  fflush(stdout);
}

/* Runs the callbacks that are due. What they print takes the place of the line, which is drawn
   again below. */
static void deliver(line_reader *r)
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
  line_call(r, 0, 0);
  if (terminal) draw_line(r);
  fflush(stdout);
}

/* Acts on the signals that came; gives 0 when the line is given up or the session ends. */
static int heed(line_reader *r)
{
  int size = has_arrived(SIGWINCH), back = has_arrived(SIGCONT);
  r->given_up = has_arrived(SIGINT);
  r->ended = has_arrived(SIGHUP) ? SIGHUP : has_arrived(SIGTERM) ? SIGTERM : 0;
  arrived = 0;
  if (size && r->edit.at) r->edit.resize(r->edit.at);
  if (back && r->edit.at) {
    r->edit.set(r->edit.at, EL_PREP_TERM, 0);      /* the shell may have changed the terminal */
    r->edit.set(r->edit.at, EL_PREP_TERM, 1);
  }
  if (back) draw_line(r);
  return !r->given_up && !r->ended;
}

/* Lets blocked signals through: ppoll does not do so while there is input. */
static void take_signals(const line_reader *r)
{
  static const struct timespec none;
  sigset_t pending;
  if (sigpending(&pending) || sigisemptyset(&pending))
    return;
  for (int number; (number = sigtimedwait(&r->handled, NULL, &none)) > 0;) line_note(number);
}

/* The next byte of standard input; -1 at its end, or when the line was given up. */
static int next_byte(line_reader *r)
{
  unsigned char c;
  for (;;) {
    struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
                           { .fd = r->fd, .events = POLLIN } };
    take_signals(r);
    int n = arrived ? 0 : ppoll(p, 2, NULL, &r->before);
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

/* ---- keys ---- */

enum { FAST = 16 };

/* How many bytes wait to be read. More than a few were pasted, not typed. */
static int waiting(void)
{
  int n = 0;
  return ioctl(STDIN_FILENO, FIONREAD, &n) ? 0 : n;
}

/* Reads a character of UTF-8 into text and ends it there; 0 at the end. A byte that begins another
   one stays to be read. */
static int next_character(line_reader *r, char text[LONGEST_KEY + 1])
{
  int n = 0, c = r->kept ? r->kept : next_byte(r);
  int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
  r->kept = 0;
  if (c < 0) return 0;
  text[n++] = (char)c;
  while (n <= more && (c = next_byte(r)) >= 0 && (c & 0xc0) == 0x80) text[n++] = (char)c;
  if (n <= more && c > 0) r->kept = c;
  text[n] = '\0';
  return c >= 0;
}

/* Its code point, or that of a question mark in a box where it is none. */
static int code_of(const char *text)
{
  int c = (unsigned char)text[0], n = 0;
  while ((text[n + 1] & 0xc0) == 0x80) n++;
  if (c < 0x80 && n == 0) return c;
  if (n == 0 || n > 3 || c >> (6 - n) != (0xff >> (6 - n) & ~1)) return 0xfffd;
  c &= 0x3f >> n;
  for (int i = 1; i <= n; i++) c = c << 6 | (text[i] & 0x3f);
  return c;
}

/* Whether a character belongs to a sequence that begins with escape. */
static int in_sequence(line_reader *r, char c)
{
  int was = r->escape, opens = c == '[' || c == 'O';
  r->escape = c == 27 || (was == 1 && opens) || (was == 2 && !(c >= 64 && c < 127));
  if (r->escape && c != 27) r->escape = 2;
  return was || r->escape;
}

static int is_text(const char *key) { return (unsigned char)key[0] >= ' ' && key[0] != 127; }

/* Terminals that are asked to send these around a text that is pasted. */
#define PASTE_BEGINS "\33[200~"
#define PASTE_ENDS "\33[201~"
#define PASTE_ON "\33[?2004h"
#define PASTE_OFF "\33[?2004l"

static int add_byte(line_reader *r, int c)
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

/* Adds a character of a pasted text to the line in r. Ends of lines come as carriage returns; other
   control characters would move the terminal's cursor. */
static int add_pasted(line_reader *r, const char *text)
{
  static const char unknown[] = "\357\277\275";
  if (*text == '\r') text = "\n";
  if ((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') return 1;
  if (*text == 127) return 1;
  for (const char *s = code_of(text) == 0xfffd ? unknown : text; *s; s++)
    if (!add_byte(r, (unsigned char)*s)) return 0;
  return 1;
}

/* Reads a pasted text up to its end into the line in r; 0 where it does not come. Its last
   character, an escape, stays if memory runs out. */
static int read_paste(line_reader *r)
{
  static const char end[] = PASTE_ENDS;
  char key[LONGEST_KEY + 1];
  size_t seen = 0;                 /* characters of `end` */
  int after_return = 0;
  r->n_line = 0;
  while (end[seen]) {
    if (!next_character(r, key)) return 0;
    if (key[0] == end[seen] && !key[1]) {
      seen++;
      continue;
    }
    for (size_t i = 1; i < seen; i++)
      if (!add_byte(r, end[i])) return 0;
    seen = key[0] == end[0];
    if (!seen && !(after_return && key[0] == '\n') && !add_pasted(r, key)) return 0;
    after_return = key[0] == '\r';
  }
  return add_byte(r, '\0');
}

/* Inserts a pasted text. Where it ends a line, that is entered, so that all of it is one input. */
static unsigned char insert_paste(EditLine *at, int key)
{
  line_reader *r = reading;
  (void)key;
  if (!read_paste(r)) return r->given_up || r->ended ? CC_EOF : CC_ERROR;
  size_t n = r->n_line - 1;
  int enter = n > 0 && r->line[n - 1] == '\n';
  while (n > 0 && r->line[n - 1] == '\n') n--;
  r->line[n] = '\0';
  if (n && r->edit.insert(at, r->line)) return CC_ERROR;
  r->held = enter ? '\r' : 0;
  return CC_REFRESH;
}

/* The key that stands for a pasted piece: a control character that no keyboard sends. */
enum { PIECE_KEY = 0x80 };

static unsigned char insert_piece(EditLine *at, int key)
{
  line_reader *r = reading;
  (void)key;
  int wrong = r->piece[0] && r->edit.insert(at, r->piece);
  r->piece[0] = '\0';
  return wrong ? CC_ERROR : CC_REFRESH;
}

/* The editor's next key. It draws the line for each, so of a text that is pasted it gets all but
   the last character in one piece. A pasted tab does not ask for completion. */
static int next_key(EditLine *at, wchar_t *out)
{
  line_reader *r = reading;
  char key[LONGEST_KEY + 1];
  size_t n = 0;
  (void)at;
  for (*out = r->held; !r->held;) {
    if (!next_character(r, key)) return 0;
    *out = (wchar_t)code_of(key);
    if (in_sequence(r, key[0])) break;
    if (key[0] == '\t' && waiting()) *out = key[0] = ' ';
    if (!is_text(key) || n >= PASTED || waiting() < FAST) break;
    memcpy(r->piece + n, key, strlen(key));
    n += strlen(key);
  }
  r->held = n ? *out : 0;
  r->piece[n] = '\0';
  if (n) *out = PIECE_KEY;
  return 1;
}

/* ---- lines ---- */

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
    if (!add_byte(r, line[i])) return 0;
  return 1;
}

static int plain_line(line_reader *r)
{
  int c;
  fputs(r->prompt, stdout);
  fflush(stdout);
  r->n_line = 0;
  while ((c = next_byte(r)) >= 0 && c != '\n')
    if (!add_byte(r, c)) return 0;
  return c == '\n' || (r->n_line > 0 && !r->given_up && !r->ended);
}

/* Reads a line with our signal handlers, and restores those that were there before. */
static int guarded_line(line_reader *r)
{
  struct sigaction ours = { .sa_handler = line_note }, theirs[N_SIGNALS];
  sigprocmask(SIG_BLOCK, &r->handled, &r->before);
  for (int i = 0; i < N_SIGNALS; i++) sigaction(signals[i], &ours, &theirs[i]);
  arrived = r->given_up = r->ended = 0;
  r->held = r->kept = 0;
  int more = r->edit.at ? edit_line(r) : plain_line(r);
  for (int i = 0; i < N_SIGNALS; i++) sigaction(signals[i], &theirs[i], NULL);
  sigprocmask(SIG_SETMASK, &r->before, NULL);
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

static int remember(const char *text)
{
  history_event event;
  return reading->edit.history(reading->edit.past, &event, H_ENTER, text);
}

/* keep(text): adds text to the history if it was typed at a terminal and is not blank. */
static int line_keep(lua_State *L)
{
  line_reader *r = reading = lua_touserdata(L, lua_upvalueindex(1));
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
  line_reader *r = reading;
  int sign = (int)strcspn(r->prompt, " ");
  (void)at;
  snprintf(r->painted, sizeof r->painted, r->colours ? HIDDEN "\33[1m" HIDDEN "%.*s"
           HIDDEN "\33[0m" HIDDEN "%s" : "%.*s%s", sign, r->prompt, r->prompt + sign);
  return r->painted;
}

static void bind_keys(editor *e)
{
  e->set(e->at, EL_EDITOR, "emacs");
  e->set(e->at, EL_ADDFN, "jfl-complete", "Complete a name", line_complete);
  e->set(e->at, EL_ADDFN, "jfl-insert", "Insert a pasted piece", insert_piece);
  e->set(e->at, EL_ADDFN, "jfl-paste", "Insert a pasted text", insert_paste);
  e->source(e->at, NULL);
  e->set(e->at, EL_BIND, "^I", "jfl-complete", NULL);
  e->set(e->at, EL_BIND, "\\200", "jfl-insert", NULL);
  e->set(e->at, EL_BIND, PASTE_BEGINS, "jfl-paste", NULL);
  e->set(e->at, EL_BIND, "^R", "em-inc-search-prev", NULL);
  e->set(e->at, EL_BIND, "\33[3~", "ed-delete-next-char", NULL);
  e->set(e->at, EL_BIND, "\33[1;5C", "em-next-word", NULL);
  e->set(e->at, EL_BIND, "\33[1;5D", "ed-prev-word", NULL);
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
  e->set(e->at, EL_GETCFN, next_key);
  bind_keys(e);
  r->brackets = !is_dumb();
  r->colours = jf_has_colours(STDOUT_FILENO);
  reading = r;
  jf_history_open(&r->history, remember);
}

void jf_push_line_reader(lua_State *L)
{
  line_reader *r = lua_newuserdata(L, sizeof *r);
  memset(r, 0, sizeof *r);
  sigemptyset(&r->handled);
  for (int i = 0; i < N_SIGNALS; i++) sigaddset(&r->handled, signals[i]);
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
