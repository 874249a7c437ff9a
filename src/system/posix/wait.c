/* Signals that a host's poll sees: Linux's eventfd. */
#include "system/system.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

int jf_signal_new(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

void jf_signal_set(int s)
{
  const uint64_t one = 1;
  if (s >= 0 && write(s, &one, sizeof one) < 0) { /* full counter: still readable */ }
}

int jf_signal_clear(int s)
{
  uint64_t count;
  return s >= 0 && read(s, &count, sizeof count) > 0;
}

void jf_signal_renew(int s)
{
  const int own = s >= 0 ? jf_signal_new() : -1;
  if (own < 0) return;
  dup3(own, s, O_CLOEXEC);
  close(own);
}

void jf_signal_free(int s)
{
  if (s >= 0) close(s);
}
