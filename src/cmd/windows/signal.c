/* Ctrl-C on Windows, which calls the handler on a thread of its own. */
#include "cmd/interrupt.h"
#include "cmd/windows/console.h"

#include <io.h>
#include <pthread.h>
#include <windows.h>

/* What the handler shares with the program. */
static struct {
  int calls;                       /* calls under way that Ctrl-C stops */
  volatile int reads;              /* a line is being read */
  HANDLE typed;                    /* set at Ctrl-C, for who waits for a line */
} console;

static double console_clock(void) { return (double)GetTickCount64() * 1e-3; }

static void console_say(const char *text, size_t n)
{
  if (_write(2, text, (unsigned)n) < 0) { /* nobody reads it */ }
}

static void *console_watch(void *milliseconds)
{
  Sleep((DWORD)(uintptr_t)milliseconds);
  jf_interrupt_is_late();
  return NULL;
}

static void console_time(double seconds)
{
  pthread_t watch;
  void *milliseconds = (void *)(uintptr_t)(seconds * 1e3);
  if (!milliseconds || pthread_create(&watch, NULL, console_watch, milliseconds)) return;
  pthread_detach(watch);
}

/* Gives whether the event is dealt with; another one ends the process, as its window is closed. */
static BOOL WINAPI console_handler(DWORD event)
{
  if (event != CTRL_C_EVENT) return FALSE;
  SetEvent(console.typed);
  if (console.reads) return TRUE;
  if (!console.calls) return FALSE;
  jf_interrupt_pressed();
  return TRUE;
}

void jf_interrupt_reading(int reads) { console.reads = reads; }
void *jf_interrupt_typed(void) { return console.typed; }

static int console_call(lua_State *L, int n_arg, int n_result, int handler)
{
  console.calls++;
  const int status = lua_pcall(L, n_arg, n_result, handler);
  console.calls--;
  return status;
}

void jf_interrupt_open(lua_State *L)
{
  static const jf_signals signals = { console_call, console_clock, console_time, console_say };
  console.typed = CreateEventW(NULL, FALSE, FALSE, NULL);
  SetConsoleCtrlHandler(console_handler, TRUE);
  jf_interrupt_begin(L, &signals);
}
