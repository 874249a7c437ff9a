/* Shares of the processor as devices: their kernels are the CPU's. */
#include "dev/cpu/cpu.h"
#include "dev/host.h"
#include "dev/stream.h"

enum { N_CORE = 64 };

static int core_count(void) { return N_CORE; }

static jfl_status core_stream_new(jf_device *d, void **out)
{
  jf_stream *s;
  JF_TRY(jf_stream_new(d->name, 0, &s));
  return *out = s, JFL_OK;
}

JFL_DEVICE(core, JF_HOST, .count = core_count, .rows = jf_cpu_rows,
  .channel_block = jf_cpu_channel_block, .activates = jf_cpu_activates,
  .fused = &jf_cpu_fused_limits, .stream_new = core_stream_new)
