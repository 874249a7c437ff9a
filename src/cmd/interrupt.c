/* Ctrl-C. The first one sets a debug hook that raises an error, and a flag that what waits in C
   looks at. In code of the front end the hook waits a moment of the processor's time for the user's
   code, where an error is expected. A loop that LuaJIT has compiled sees neither, and no code can
   be run in its place: so where the program still runs after a moment it says so, and another
   Ctrl-C within two seconds ends the process at once. */
#include "cmd/cmd.h"

#include <pthread.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "system/clock.h"

static const double held = 0.2, soon = 0.3, patience = 2;      /* seconds; held: of the thread */

static const char hint[] =
  "\njfl: still running; Ctrl-C again within two seconds ends the program\n";
static const char farewell[] = "jfl: interrupted\n";

/* What the signal handlers share with the program; the owner is the thread that opened it. */
static struct {
  pthread_t owner;
  lua_State *L;
  volatile sig_atomic_t asked;     /* Ctrl-C came and the error was not raised yet */
  volatile double at;              /* when it came, by the thread's own time */
  volatile sig_atomic_t hinted;    /* the hint was shown since */
  volatile double since;           /* when it was */
  volatile sig_atomic_t came;      /* the error was raised */
} state;

/* Seconds that this thread has run: those in which it waits for a core do not count. */
static double own_time(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* SIGALRM after so long; never if that is 0. */
static void set_timer(double seconds)
{
  struct timeval t = { (time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6) };
  setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = t }, NULL);
}

/* On a stack of their own: oneDNN's products of matrices use memory of the heap as their stack, and
   a handler's frame would overwrite what lies before it. */
static void set_handler(int number, void (*handler)(int), int flags)
{
  struct sigaction a = { .sa_handler = handler, .sa_flags = flags | SA_ONSTACK };
  sigaction(number, &a, NULL);
}

static void forget(void)
{
  if (!state.asked)
    return;
  set_timer(0);                  /* the handler stays: a signal may be on its way */
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
  if (!in_front_end(L) || own_time() - state.at > held) raise_error(L);
}

/* The system may run the handler on any thread; another one passes the signal on to the owner. */
static int is_mine(int number)
{
  if (pthread_equal(pthread_self(), state.owner))
    return 1;
  pthread_kill(state.owner, number);
  return 0;
}

static void tell(void)
{
  state.hinted = 1;
  state.since = jf_now();
  if (write(STDERR_FILENO, hint, sizeof hint - 1) < 0) { /* nobody reads it */ }
}

static void on_timer(int number)
{
  if (is_mine(number) && state.asked && !state.hinted)
    tell();
}

static void on_first(void)
{
  state.hinted = 0;
  state.at = own_time();
  state.asked = 1;
  lua_sethook(state.L, hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
  set_handler(SIGALRM, on_timer, SA_RESTART);
  set_timer(soon);
}

/* Nothing is flushed and no callback is run: the handler cannot know what the program was doing. */
static void end_now(void)
{
  if (write(STDERR_FILENO, farewell, sizeof farewell - 1) < 0) { /* nobody reads it */ }
  _exit(128 + SIGINT);
}

static void on_interrupt(int number)
{
  if (!is_mine(number))
    return;
  if (!state.asked) on_first();
  else if (state.hinted && jf_now() - state.since <= patience) end_now();
  else tell();
}

void jf_interrupt_open(lua_State *L)
{
  static _Alignas(64) char stack[1 << 16];
  sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
  state.owner = pthread_self();
  state.L = L;
  jf_set_interrupt(L, &state.asked, raise_error);
}

void jf_interrupt_heed(lua_State *L)
{
  if (state.asked)
    raise_error(L);
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
  struct sigaction before;
  int base = lua_gettop(L) - n_arg - 1;
  lua_State *outer = state.L;
  const int came = state.came;
  sigaction(SIGINT, NULL, &before);
  state.L = L;
  set_handler(SIGINT, on_interrupt, 0);
  int status = lua_pcall(L, n_arg, n_result, handler);
  sigaction(SIGINT, &before, NULL);
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
  int came = state.came;
  state.came = 0;
  return came;
}
