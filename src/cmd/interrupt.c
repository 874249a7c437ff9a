/* Ctrl-C. The first one sets a debug hook that raises an error, and a flag for what waits in C. A
   loop that is compiled sees neither: there a second one within two seconds leaves it for good.

   The handler then jumps out of compiled code only. There the heap of Lua is whole and no C
   function is under way, but the stack of the running thread is stale, so what is left to do is
   done on another thread of the state, without collecting garbage. Between two looks a timer waits
   for the program to be in compiled code, or to reach the hook. */
#include "cmd/cmd.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static const double soon = 0.3, patience = 2;      /* seconds */

static const char hint[] =
  "\njfl: still running; Ctrl-C again within two seconds ends the program\n";

/* What the signal handlers share with the program; the owner is the thread that opened it. */
static struct {
  pthread_t owner;
  lua_State *L, *spare;
  volatile sig_atomic_t asked;     /* Ctrl-C came and the error was not raised yet */
  volatile double since;           /* when Ctrl-C last counted as the first */
  volatile sig_atomic_t ending, hinted, came;
  sigjmp_buf end;
} state;

/* Of the command's own image. */
extern char __executable_start, _end;

/* The compiler places its code where calls reach the command's own, in memory that is of no
   file. */
static int is_compiled(const void *context)
{
  const ucontext_t *u = context;
#if defined __x86_64__
  uintptr_t pc = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
  uintptr_t pc = (uintptr_t)u->uc_mcontext.pc;
#else
  uintptr_t pc = (uintptr_t)&_end + 0 * (uintptr_t)u;
#endif
  uintptr_t first = (uintptr_t)&__executable_start, last = (uintptr_t)&_end;
  return pc < first ? first - pc < INT32_MAX : pc > last && pc - last < INT32_MAX;
}

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* SIGALRM after so long, and again; never if that is 0. */
static void set_timer(double seconds)
{
  struct timeval t = { (time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6) };
  setitimer(ITIMER_REAL, &(struct itimerval){ t, t }, NULL);
}

static void set_handler(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
  struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };
  sigaction(number, &a, NULL);
}

static void forget(void)
{
  if (!state.asked)
    return;
  set_timer(0);                  /* the handler stays: a signal may be on its way */
  state.asked = state.ending = 0;
  lua_sethook(state.L, NULL, 0, 0);
}

/* Raises the error, unless the program shall end. */
static void raise_error(lua_State *L)
{
  int ending = state.ending;
  forget();
  state.came = 1;
  if (ending) siglongjmp(state.end, 1);
  lua_pushliteral(L, "interrupted");
  lua_error(L);
}

static void hook(lua_State *L, lua_Debug *ar)
{
  (void)ar;
  raise_error(L);
}

/* Signals belong to the owner, whichever thread the system picked. */
static int is_mine(int number)
{
  if (pthread_equal(pthread_self(), state.owner))
    return 1;
  pthread_kill(state.owner, number);
  return 0;
}

static void leave_if_possible(const void *context)
{
  if (!is_compiled(context))
    return;
  state.came = 1;
  siglongjmp(state.end, 1);
}

static void tell(void)
{
  state.hinted = 1;
  if (write(STDERR_FILENO, hint, sizeof hint - 1) < 0) { /* nobody reads it */ }
}

static void on_timer(int number, siginfo_t *info, void *context)
{
  (void)info;
  if (!is_mine(number) || !state.asked)
    return;
  if (state.ending) {
    leave_if_possible(context);
  } else if (!state.hinted && is_compiled(context)) {
    state.since = now();
    tell();
  }
}

static void on_first(void)
{
  state.since = now();
  state.hinted = 0;
  state.asked = 1;
  lua_sethook(state.L, hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
  set_handler(SIGALRM, on_timer, SA_RESTART);
  set_timer(soon);
}

static void on_interrupt(int number, siginfo_t *info, void *context)
{
  (void)info;
  if (!is_mine(number))
    return;
  if (!state.asked) {
    on_first();
  } else if (now() - state.since > patience) {
    state.since = now();
    tell();
  } else {
    state.ending = 1;
    signal(SIGINT, SIG_DFL);           /* a third one does without order */
    set_timer(1e-3);
    leave_if_possible(context);
  }
}

void jf_interrupt_open(lua_State *L)
{
  state.owner = pthread_self();
  state.L = L;
  state.spare = lua_newthread(L);
  lua_setfield(L, LUA_REGISTRYINDEX, "jfl.spare");
  jf_set_interrupt(L, &state.asked, raise_error);
}

int jf_interrupt_call(lua_State *L, int n_arg, int n_result, int handler)
{
  struct sigaction before;
  lua_State *outer = state.L;
  sigaction(SIGINT, NULL, &before);
  state.L = L;
  set_handler(SIGINT, on_interrupt, 0);
  int status = lua_pcall(L, n_arg, n_result, handler);
  sigaction(SIGINT, &before, NULL);
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

int jf_interrupt_guard(int (*f)(lua_State *L, void *ctx), int (*last)(lua_State *S, void *ctx),
                       lua_State *L, void *ctx)
{
  if (!sigsetjmp(state.end, 1))
    return f(L, ctx);
  signal(SIGINT, SIG_DFL);
  forget();
  lua_gc(state.spare, LUA_GCSTOP, 0);
  return last(state.spare, ctx);
}
