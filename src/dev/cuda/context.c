/* Entering a GPU's context, and what a failed call means. */
#include "dev/cuda/cuda.h"

/* Errors after which nothing on the device works any more. */
static int device_is_fatal(jf_cu e)
{
  return e >= JF_CU_FIRST_FATAL && e < JF_CU_LAST_FATAL && e != JF_CU_OUT_OF_RESOURCES;
}

jfl_status jf_cuda_check(jf_cuda *c, jf_cu e, const char *doing)
{
  const char *text = NULL;
  if (!e) return JFL_OK;
  if (e == JF_CU_OUT_OF_MEMORY)
    return jf_fail(JFL_ENOMEM, "out of memory on %s while %s", c->name, doing);
  if (c->api->error_text(e, &text) || !text) text = "unknown error";
  if (device_is_fatal(e)) c->lost = e;
  return jf_fail(JFL_EDEVICE, "%s: %s failed: %s (CUDA error %d)%s", c->name, doing, text, e,
                 c->lost ? "; what it held is lost, and only a new process can use it again" : "");
}

jfl_status jf_cuda_enter(jf_cuda *c)
{
  if (c->forks != jf_forks())
    return jf_fail(JFL_ESTATE, "%s: this process forked from one that uses the device, which is "
                   "not here", c->name);
  if (c->lost)
    return jf_fail(JFL_EDEVICE, "%s: an earlier failure (CUDA error %d) ended it; other devices "
                   "still work, and this one does in a new process", c->name, c->lost);
  return jf_cuda_check(c, c->api->push(c->context), "using it");
}

int jf_cuda_enter_to_end(jf_cuda *c)
{
  return c->forks == jf_forks() && !c->api->push(c->context);
}

void jf_cuda_leave(jf_cuda *c) { c->api->pop(NULL); }
