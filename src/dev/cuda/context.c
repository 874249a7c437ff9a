/* Entering a GPU's context, and what a failed call means. */
#include "dev/cuda/cuda.h"

/* Errors after which nothing on the device works any more (CUDA runtime API, cudaError: "the
   process must be terminated and relaunched", or the hardware is damaged), and what each means. */
static const struct context_end { jf_cu error; const char *means; } ends[] = {
  { 214, "its memory has an error that it cannot correct; if that comes again, the GPU needs a "
         "reset, or repair" },
  { 220, "its NVLink has an error that it cannot correct; if that comes again, the GPU needs a "
         "reset, or repair" },
  { 226, "the GPU has contained an error of its hardware, or of memory of another GPU" },
  { 700, "a kernel has read or written outside of its memory" },
  { 702, "a kernel ran for longer than this system lets a GPU with a screen work" },
  { 709, "somebody else in this process has ended its context" },
  { 710, "an assertion of a kernel failed" },
  { 714, "a kernel's stack is damaged, or too small" },
  { 715, "a kernel came to an instruction that this GPU does not have" },
  { 716, "a kernel has read or written at an address that is not a multiple of the element" },
  { 717, "a kernel has used an address of another sort of memory" },
  { 718, "a kernel has lost its way (its program counter is wrong)" },
  { 719, "a kernel has ended in an error" },
  { 721, "a kernel has not given back its tensor memory" },
  { 810, "the server that shares the GPU among processes (MPS) has ended this one's part" },
  { 999, "the driver does not know why; the system's log may" },
};

static const struct context_end *context_end_of(jf_cu e)
{
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (ends[i].error == e) return &ends[i];
  return NULL;
}

jfl_status jf_cuda_check(jf_cuda *c, jf_cu e, const char *doing)
{
  const char *text = NULL;
  if (!e) return JFL_OK;
  if (e == JF_CU_OUT_OF_MEMORY)
    return jf_fail(JFL_ENOMEM, "out of memory on %s while %s", c->name, doing);
  if (c->api->error_text(e, &text) || !text) text = "unknown error";
  const struct context_end *end = context_end_of(e);
  if (!end)
    return jf_fail(JFL_EDEVICE, "%s: %s failed: %s (CUDA error %d)", c->name, doing, text, e);
  c->lost = e;
  return jf_fail(JFL_EDEVICE, "%s: %s failed: %s (CUDA error %d): %s; what it held is lost, and "
                 "only a new process can use it again", c->name, doing, text, e, end->means);
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
