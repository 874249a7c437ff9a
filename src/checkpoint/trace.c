/* A profile as a file for trace viewers, written as other files of the host's own. */
#include "checkpoint/checkpoint.h"
#include "run/run.h"

static jfl_status trace_put(void *output, const char *text, size_t n)
{
  return jfl_output_write(output, text, n);
}

static jfl_status trace_write(const jfl_profile *p, const char *path)
{
  jfl_output *o;
  JF_TRY(jfl_output_open(path, &o));
  const jfl_status r = jf_profile_tell(p, trace_put, o);
  if (r == JFL_OK) return jfl_output_keep(o);
  jfl_output_drop(o);
  return r;
}

jfl_status jfl_profile_trace(const jfl_profile *p, const char *path)
{
  JF_NEED(PROFILE, p);
  JF_NEED_POINTER(path);
  const jfl_status r = trace_write(p, path);
  return r == JFL_OK ? r : jf_blame(r, "profile: ");
}
