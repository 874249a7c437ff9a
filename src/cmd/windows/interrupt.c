/* Ctrl-C on Windows, which calls the handler on a thread of its own. It sets a debug hook that
   raises an error, and a flag that what waits in C looks at. A loop that LuaJIT has compiled sees
   neither: where the program still runs after a moment the handler says so, and another Ctrl-C
   within two seconds ends the process at once. */
#include "cmd/cmd.h"
#include "cmd/windows/console.h"

#include <io.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <windows.h>

static const double held = 0.2, soon = 0.3, patience = 2;      /* seconds */

static const char hint[] =
  "\njfl: still running; Ctrl-C again within two seconds ends the program\n";
static const char farewell[] = "jfl: interrupted\n";

/* What the handler shares with the program. */
static struct {
  lua_State *L;
  int calls;                       /* calls under way that Ctrl-C stops */
  volatile sig_atomic_t asked;     /* Ctrl-C came and the error was not raised yet */
  volatile double at;              /* when it came */
  volatile double hinted;          /* when the hint was shown since; 0: it was not */
  volatile sig_atomic_t came;      /* the error was raised */
  volatile int reads;              /* a line is being read */
  HANDLE typed;                    /* set at Ctrl-C, for who waits for a line */
} state;

static double interrupt_now(void) { return (double)GetTickCount64() * 1e-3; }

static void interrupt_forget(void)
{
  if (!state.asked) return;
  state.asked = 0;
  lua_sethook(state.L, NULL, 0, 0);
}

static void interrupt_raise(lua_State *L)
{
  interrupt_forget();
  state.came = 1;
  lua_pushliteral(L, "interrupted");
  lua_error(L);
}

/* Whether the Lua function that runs, maybe by way of C functions, is the front end's. */
static int interrupt_in_front_end(lua_State *L)
{
  lua_Debug ar;
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "S", &ar);
    if (*ar.what != 'C') return !strncmp(ar.source, "=jfl/", 5);
  }
  return 0;
}

static void interrupt_hook(lua_State *L, lua_Debug *ar)
{
  (void)ar;
  if (!interrupt_in_front_end(L) || interrupt_now() - state.at > held) interrupt_raise(L);
}

static void interrupt_say(const char *text, size_t n)
{
  if (_write(2, text, (unsigned)n) < 0) { /* nobody reads it */ }
}

static void interrupt_tell(void)
{
  state.hinted = interrupt_now();
  interrupt_say(hint, sizeof hint - 1);
}

static void *interrupt_watch(void *none)
{
  Sleep((DWORD)(soon * 1e3));
  if (state.asked && !state.hinted) interrupt_tell();
  return none;
}

static void interrupt_first(void)
{
  pthread_t watch;
  state.hinted = 0;
  state.at = interrupt_now();
  state.asked = 1;
  lua_sethook(state.L, interrupt_hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
  if (!pthread_create(&watch, NULL, interrupt_watch, NULL)) pthread_detach(watch);
}

/* Gives whether the event is dealt with; another one ends the process, as its window is closed. */
static BOOL WINAPI interrupt_handler(DWORD event)
{
  if (event != CTRL_C_EVENT) return FALSE;
  SetEvent(state.typed);
  if (state.reads) return TRUE;
  if (!state.calls) return FALSE;
  if (!state.asked) interrupt_first();
  else if (state.hinted && interrupt_now() - state.hinted <= patience) {
    interrupt_say(farewell, sizeof farewell - 1);
    _exit(128 + SIGINT);
  } else interrupt_tell();
  return TRUE;
}

void jf_interrupt_open(lua_State *L)
{
  state.L = L;
  state.typed = CreateEventW(NULL, FALSE, FALSE, NULL);
  SetConsoleCtrlHandler(interrupt_handler, TRUE);
  jf_set_interrupt(L, &state.asked, interrupt_raise);
}

void jf_interrupt_reading(int reads) { state.reads = reads; }
void *jf_interrupt_typed(void) { return state.typed; }

void jf_interrupt_heed(lua_State *L)
{
  if (state.asked) interrupt_raise(L);
}

/* The error for a Ctrl-C that came just before the called function returned to n values. */
static int interrupt_late(lua_State *L, int n)
{
  lua_settop(L, n);
  state.came = 1;
  lua_pushliteral(L, "interrupted");
  return LUA_ERRRUN;
}

int jf_interrupt_call(lua_State *L, int n_arg, int n_result, int handler)
{
  const int base = lua_gettop(L) - n_arg - 1;
  lua_State *outer = state.L;
  state.L = L;
  state.calls++;
  int status = lua_pcall(L, n_arg, n_result, handler);
  state.calls--;
  if (!status && state.asked) status = interrupt_late(L, base);
  interrupt_forget();
  state.L = outer;
  return status;
}

int jf_interrupt_came(void)
{
  const int came = state.came;
  state.came = 0;
  return came;
}
