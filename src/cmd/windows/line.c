/* Reading lines from a console or a file. Windows edits what is typed and keeps its own history. A
   thread reads, so that callbacks that are due can be run meanwhile; it reads one line each time it
   is asked, as the program may read standard input too. */
#include "cmd/cmd.h"
#include "cmd/windows/console.h"

#include <io.h>
#include <lauxlib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

/* Arguments of read() on the Lua stack. */
enum { PROMPT = 1, COMPLETE, FD, DELIVER };
enum { MOST_TYPED = 4096 };

/* The reader's. `asked` and `has` are events; between them the line belongs to the thread. */
static struct {
  int runs, reads;                 /* whether there is a thread; whether it has been asked */
  HANDLE asked, has;
  char *line;
  size_t n, cap;
  int ended;                       /* there was no line */
} reader;

static void line_add(const char *text, size_t n)
{
  if (reader.n + n > reader.cap) {
    const size_t cap = 2 * (reader.n + n);
    char *more = realloc(reader.line, cap);
    if (!more) return;
    reader.line = more;
    reader.cap = cap;
  }
  memcpy(reader.line + reader.n, text, n);
  reader.n += n;
}

/* Reads what the console gives at once; whether that was all of a line. */
static int line_from_console(HANDLE in)
{
  wchar_t wide[MOST_TYPED];
  char text[4 * MOST_TYPED];
  DWORD n = 0;
  if (!ReadConsoleW(in, wide, MOST_TYPED, &n, NULL) || !n || *wide == 26) {
    reader.ended = n || GetLastError() != ERROR_OPERATION_ABORTED;
    return 1;
  }
  const int size = WideCharToMultiByte(CP_UTF8, 0, wide, (int)n, text, sizeof text, NULL, NULL);
  line_add(text, (size_t)size);
  return wide[n - 1] == L'\n';
}

static int line_from_file(void)
{
  char text[MOST_TYPED];
  if (!fgets(text, sizeof text, stdin)) return reader.ended = !reader.n, 1;
  const size_t n = strlen(text);         /* 0: the line begins with a byte of 0 */
  line_add(text, n);
  return n && text[n - 1] == '\n';
}

static void *line_read_all(void *none)
{
  HANDLE in = GetStdHandle(STD_INPUT_HANDLE);
  DWORD mode;
  const int console = GetConsoleMode(in, &mode);
  (void)none;
  for (;;) {
    WaitForSingleObject(reader.asked, INFINITE);
    while (!(console ? line_from_console(in) : line_from_file())) { }
    while (reader.n && strchr("\r\n", reader.line[reader.n - 1])) reader.n--;
    SetEvent(reader.has);
  }
  return NULL;
}

static void line_ask(void)
{
  pthread_t thread;
  if (!reader.runs) {
    reader.asked = CreateEventW(NULL, FALSE, FALSE, NULL);
    reader.has = CreateEventW(NULL, FALSE, FALSE, NULL);
    reader.runs = !pthread_create(&thread, NULL, line_read_all, NULL);
    if (reader.runs) pthread_detach(thread);
  }
  if (reader.reads) return;
  reader.n = 0;
  reader.ended = 0;
  reader.reads = 1;
  SetEvent(reader.asked);
}

static void line_deliver(lua_State *L, HANDLE due)
{
  ResetEvent(due);
  fflush(stdout);
  lua_pushvalue(L, DELIVER);
  if (jf_interrupt_call(L, 0, 0, 0)) lua_pop(L, 1);
  fflush(stdout);
}

/* Waits for a line, and for callbacks meanwhile; 0: it was given up by Ctrl-C. */
static int line_wait(lua_State *L, HANDLE due)
{
  const HANDLE all[] = { jf_interrupt_typed(), reader.has, due };
  ResetEvent(all[0]);
  for (;;) {
    jf_interrupt_reading(1);
    const DWORD which = WaitForMultipleObjects(due ? 3 : 2, all, FALSE, INFINITE);
    jf_interrupt_reading(0);
    if (which == WAIT_OBJECT_0 + 1) return 1;
    if (which != WAIT_OBJECT_0 + 2) return 0;
    line_deliver(L, due);
  }
}

static int line_read(lua_State *L)
{
  jf_interrupt_heed(L);
  fputs(luaL_checkstring(L, PROMPT), stdout);
  fflush(stdout);
  lua_settop(L, DELIVER);
  line_ask();
  HANDLE due = lua_isnumber(L, FD) ? (HANDLE)(intptr_t)lua_tointeger(L, FD) : NULL;
  if (!line_wait(L, due)) {
    fputs("^C\n", stdout);
    return lua_pushboolean(L, 0), 1;
  }
  reader.reads = 0;
  if (!reader.ended) return lua_pushlstring(L, reader.line, reader.n), 1;
  fputs("\n", stdout);
  lua_pushnil(L);
  lua_pushinteger(L, 0);
  return 2;
}

/* keep(text): the console keeps what was typed. */
static int line_keep(lua_State *L)
{
  luaL_checkstring(L, 1);
  return 0;
}

void jf_push_line_reader(lua_State *L)
{
  setvbuf(stdin, NULL, _IONBF, 0);      /* io.read is to get what is typed, too */
  lua_pushcfunction(L, line_read);
  lua_pushcfunction(L, line_keep);
}

int jf_has_colours(int fd)
{
  const char *none = getenv("NO_COLOR");
  HANDLE out = (HANDLE)_get_osfhandle(fd);
  DWORD mode;
  if (!_isatty(fd) || (none && *none) || !GetConsoleMode(out, &mode)) return 0;
  return SetConsoleMode(out, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}
