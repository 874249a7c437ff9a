/* Ctrl-C as a signal. */
#include "cmd/interrupt.h"

#include <pthread.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static pthread_t owner;            /* the thread that listens */

/* Of the thread's own time: moments in which it waits for a core do not count. */
static double own_time(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void write_error(const char *text, size_t n)
{
  if (write(STDERR_FILENO, text, n) < 0) { /* nobody reads it */ }
}

/* On a stack of their own: oneDNN's products of matrices use memory of the heap as their stack, and
   a handler's frame would overwrite what lies before it. */
static void set_handler(int number, void (*handler)(int), int flags)
{
  struct sigaction a = { .sa_handler = handler, .sa_flags = flags | SA_ONSTACK };
  sigaction(number, &a, NULL);
}

/* The system may run the handler on any thread; another one passes the signal on to the owner. */
static int is_mine(int number)
{
  if (pthread_equal(pthread_self(), owner)) return 1;
  pthread_kill(owner, number);
  return 0;
}

static void on_timer(int number)
{
  if (is_mine(number)) jf_interrupt_is_late();
}

static void on_interrupt(int number)
{
  if (is_mine(number)) jf_interrupt_pressed();
}

/* The handler stays for good: a signal may be on its way. */
static void set_timer(double seconds)
{
  struct timeval t = { (time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6) };
  if (seconds != 0) set_handler(SIGALRM, on_timer, SA_RESTART);
  setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = t }, NULL);
}

static int call_listening(lua_State *L, int n_arg, int n_result, int handler)
{
  struct sigaction before;
  sigaction(SIGINT, NULL, &before);
  set_handler(SIGINT, on_interrupt, 0);
  const int status = lua_pcall(L, n_arg, n_result, handler);
  sigaction(SIGINT, &before, NULL);
  return status;
}

void jf_interrupt_open(lua_State *L)
{
  static const jf_signals signals = { call_listening, own_time, set_timer, write_error };
  static _Alignas(64) char stack[1 << 16];
  sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
  owner = pthread_self();
  jf_interrupt_begin(L, &signals);
}
