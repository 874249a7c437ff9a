/* Statuses and the message of the last failure, one per thread. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_MAX = 1024 };
static _Thread_local char message[MESSAGE_MAX];

const char *jfl_version(void) { return JFL_VERSION; }
const char *jfl_errmsg(void) { return message; }

const char *jfl_status_name(jfl_status s)
{
#define X(id, text) text,
  static const char *const name[] = { "ok", JFL_STATUSES(X) };
#undef X
  return (unsigned)s < JFL_N_STATUS ? name[s] : "unknown status";
}

/* Formats into a second buffer, so that the message itself may be among the arguments. */
jfl_status jf_fail(jfl_status s, const char *fmt, ...)
{
  char buf[MESSAGE_MAX];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(buf, sizeof buf, fmt, ap);
  va_end(ap);
  memcpy(message, buf, sizeof buf);
  return s;
}

jfl_status jf_blame(jfl_status s, const char *fmt, ...)
{
  char prefix[256];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(prefix, sizeof prefix, fmt, ap);
  va_end(ap);
  return jf_fail(s, "%s%s", prefix, message);
}
