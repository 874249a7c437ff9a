/* Signals that a host can wait for: events that stay set. A handle has 32 bits that count, so it
   fits an int. */
#include "system/system.h"

#include <windows.h>

static HANDLE wait_handle(int s) { return (HANDLE)(intptr_t)s; }

int jf_signal_new(void)
{
  HANDLE h = CreateEventW(NULL, TRUE, FALSE, NULL);
  return h ? (int)(intptr_t)h : -1;
}

void jf_signal_set(int s)
{
  if (s >= 0) SetEvent(wait_handle(s));
}

int jf_signal_clear(int s)
{
  if (s < 0 || WaitForSingleObject(wait_handle(s), 0) != WAIT_OBJECT_0) return 0;
  return ResetEvent(wait_handle(s)) != 0;
}

void jf_signal_renew(int s) { (void)s; }

void jf_signal_free(int s)
{
  if (s >= 0) CloseHandle(wait_handle(s));
}
