/* Ctrl-C. The first one sets a debug hook that raises an error, and a flag that what waits in C
   looks at. In code of the front end the hook waits a moment for the user's code, where an error is
   expected. A loop that LuaJIT has compiled sees neither, and no code can be run in its place: so
   where the program still runs after a moment it says so, and another Ctrl-C within two seconds
   ends the process at once. */
#include "cmd/interrupt.h"
#include "system/clock.h"

#include <string.h>
#include <unistd.h>

static const double held = 0.2, soon = 0.3, patience = 2;      /* seconds */

static const char hint[] =
  "\njfl: still running; Ctrl-C again within two seconds ends the program\n";
static const char farewell[] = "jfl: interrupted\n";

static const jf_signals *signals;

/* What the handlers share with the program. */
static struct {
  lua_State *L;
  volatile sig_atomic_t asked;     /* Ctrl-C came and the error was not raised yet */
  volatile double at;              /* when it came, by signals->clock */
  volatile sig_atomic_t hinted;    /* the hint was shown since */
  volatile double since;           /* when it was */
  volatile sig_atomic_t came;      /* the error was raised */
} state;

static void forget(void)
{
  if (!state.asked) return;
  signals->time(0);
  state.asked = 0;
  lua_sethook(state.L, NULL, 0, 0);
}

static void raise_error(lua_State *L)
{
  forget();
  state.came = 1;
  lua_pushliteral(L, "interrupted");
  lua_error(L);
}

/* Whether the Lua function that runs, maybe by way of C functions, is the front end's. */
static int in_front_end(lua_State *L)
{
  lua_Debug ar;
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "S", &ar);
    if (*ar.what != 'C') return !strncmp(ar.source, "=jfl/", 5);
  }
  return 0;
}

static void hook(lua_State *L, lua_Debug *ar)
{
  (void)ar;
  if (!in_front_end(L) || signals->clock() - state.at > held) raise_error(L);
}

static void show_hint(void)
{
  state.hinted = 1;
  state.since = jf_now();
  signals->say(hint, sizeof hint - 1);
}

void jf_interrupt_is_late(void)
{
  if (state.asked && !state.hinted) show_hint();
}

/* Nothing is flushed and no callback is run: the handler cannot know what the program was doing. */
static void end_now(void)
{
  signals->say(farewell, sizeof farewell - 1);
  _exit(128 + SIGINT);
}

void jf_interrupt_pressed(void)
{
  if (state.asked && state.hinted && jf_now() - state.since <= patience) end_now();
  if (state.asked) {
    show_hint();
    return;
  }
  state.hinted = 0;
  state.at = signals->clock();
  state.asked = 1;
  lua_sethook(state.L, hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
  signals->time(soon);
}

void jf_interrupt_begin(lua_State *L, const jf_signals *of_system)
{
  signals = of_system;
  state.L = L;
  jf_set_interrupt(L, &state.asked, raise_error);
}

void jf_interrupt_heed(lua_State *L)
{
  if (state.asked) raise_error(L);
}

/* The error for a Ctrl-C that came just before the called function returned to n values. */
static int come_late(lua_State *L, int n)
{
  lua_settop(L, n);
  state.came = 1;
  lua_pushliteral(L, "interrupted");
  return LUA_ERRRUN;
}

int jf_interrupt_call(lua_State *L, int n_arg, int n_result, int handler)
{
  const int base = lua_gettop(L) - n_arg - 1, came = state.came;
  lua_State *outer = state.L;
  state.L = L;
  int status = signals->call(L, n_arg, n_result, handler);
  if (!status && state.asked) status = come_late(L, base);
  if (status == LUA_ERRERR && state.came && !came) {     /* while another error was handled, such */
    lua_pop(L, 1);                                       /* as that of a read that was broken off */
    lua_pushliteral(L, "interrupted");
  }
  forget();
  state.L = outer;
  return status;
}

int jf_interrupt_came(void)
{
  const int came = state.came;
  state.came = 0;
  return came;
}
