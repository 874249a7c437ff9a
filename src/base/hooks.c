/* What the host wants to hear of: warnings, and the threads that the library starts. */
#include "base/need.h"

/* Both are set before anything else runs. */
static jfl_log host_log;
static jfl_thread_hooks host_threads;

jfl_status jfl_set_log(const jfl_log *log)
{
  if (log && !log->say)
    return jf_need_told(__func__, jf_fail_argument(JFL_EINVAL, "log", "must have the function say, "
                                                   "got NULL"));
  host_log = log ? *log : (jfl_log){ 0 };
  return JFL_OK;
}

int jfl_warn(const char *text)
{
  static _Thread_local int saying;     /* the host's function may itself call what warns */
  if (jf_need_pointer(__func__, "text", text) || !host_log.say || saying) return 0;
  saying = 1;
  jf_budget *const own = jf_memory_charge(NULL);
  host_log.say(host_log.ud, text);
  jf_memory_charge(own);
  saying = 0;
  return 1;
}

jfl_status jfl_set_thread_hooks(const jfl_thread_hooks *hooks)
{
  host_threads = hooks ? *hooks : (jfl_thread_hooks){ 0 };
  return JFL_OK;
}

void jf_thread_begins(const char *what)
{
  if (host_threads.start) host_threads.start(host_threads.ud, what);
}

void jf_thread_ends(const char *what)
{
  if (host_threads.stop) host_threads.stop(host_threads.ud, what);
}
